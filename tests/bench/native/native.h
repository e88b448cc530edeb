/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the parts of the native benchmark share. */
#ifndef _NATIVE_H
#define _NATIVE_H

#include "shim.h"

/* native.c */
u64 native_now(void);
u64 native_median(u64 *ns, u32 nr);
void native_row(const char *what, u32 octets, const char *layout, int run,
		double ns);

/* loopback.c */
void loopback_run(int run);

#endif /* _NATIVE_H */
