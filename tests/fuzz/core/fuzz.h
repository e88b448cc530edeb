/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Common code of the targets of fuzz-core.sh. An input is not the octets on
 * the wire but describes how to make them: mostly valid, with right CRCs, then
 * broken. So a fuzzer without knowledge of CRCs gets past them.
 */
#ifndef _FUZZ_H
#define _FUZZ_H

#include "tests/core/shim.h"
#include "mpa_fpdu.h"

enum {
	FUZZ_POOL	= 65536 + 1024,
};

/* an input, being used up; then it is all zeroes */
struct fuzz_input {
	const u8	*p;
	const u8	*end;
};

/* counters, printed at the end */
enum fuzz_counter {
	FUZZ_STREAMS,
	FUZZ_FPDUS,
	FUZZ_EXCHANGES,		/* of startup frames */
	FUZZ_BROKEN,		/* streams, exchanges or FPDUs */
	FUZZ_OOO,		/* streams with something passed out of order */
	FUZZ_COUNTERS,
};

extern unsigned long fuzz_count[FUZZ_COUNTERS];
extern u8 fuzz_pool[FUZZ_POOL];

u32 fuzz_u8(struct fuzz_input *in);
u32 fuzz_u16(struct fuzz_input *in);
u32 fuzz_below(struct fuzz_input *in, u32 n);
u64 fuzz_pos(struct fuzz_input *in);
void *fuzz_copy(const void *from, size_t n);
const char *fuzz_reason(enum mpa_reason reason);

__printf(1, 2) void fuzz_say(const char *fmt, ...);

/* The target: run an input. */
void fuzz_one(struct fuzz_input *in);

/* called by libFuzzer */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif /* _FUZZ_H */
