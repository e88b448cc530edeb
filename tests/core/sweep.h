/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _SWEEP_H
#define _SWEEP_H

#include "shim.h"

enum {
	SHIM_PAGES	= 1024,
};

extern struct page shim_page[SHIM_PAGES];
extern u8 shim_mem[SHIM_PAGES * PAGE_SIZE];

#endif /* _SWEEP_H */
