/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* mpa-many: thousands of MPA connections from user space, see main.c. */
#ifndef MPA_MANY_H
#define MPA_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../peer/peer.h"

#define FPDU_MAX(size)	((size) + 9)

/* Options, "name=value" */
const char *option(const char *name);
unsigned long number(const char *name, unsigned long otherwise);
double now(void);
void *zeroed(size_t nr, size_t size);
bool told_to_stop(void);

/* A socket that blocks for up to a minute; -1 if it was reset already */
int server_connect(unsigned long id);
void reset(int fd);

/* C is set, M is not. These return the length. */
size_t make_frame(uint8_t *to, bool reply, const uint8_t *pd, size_t pd_len);
size_t make_fpdu(uint8_t *to, const uint8_t *ulpdu, size_t len);

int talk_main(void);
int hold_main(void);
int flood_main(void);

#endif
