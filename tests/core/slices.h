/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SLICES_H
#define _SLICES_H

#include <net/mpa.h>

extern bool quick;			/* a sample, in seconds */
extern u8 ulpdu[MPA_ULPDU_MAX];		/* octets at random */

int in_slices(int argc, char **argv, const char *good,
	      int (*slice)(u32 slice, u32 slices));

#endif /* _SLICES_H */
