/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The kernel's types, for kunit/mpa_ref.[ch] in user space. */
#ifndef MPA_TYPES_H
#define MPA_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#endif
