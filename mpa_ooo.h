/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ULPDUs passed before their turn, as pure functions: which FPDUs can be found
 * among octets behind a hole, and what has been passed of them.
 */
#ifndef _MPA_OOO_H
#define _MPA_OOO_H

#include "mpa_fpdu.h"

#define MPA_OOO_RANGES	170	/* so that struct mpa_ooo has 4096 octets */
#define MPA_OOO_BUDGET	64	/* steps of a mpa_ooo_find() */

/**
 * struct mpa_range - octets behind a hole of which we know
 * @from: stream position of the first
 * @to: behind the last
 * @nr: whole FPDUs, verified and passed; 0: an FPDU that begins here is bad, or
 *	disagrees with what is known, and is left to its turn
 * @met: of @nr, those that the stream has come to
 */
struct mpa_range {
	u64	from;
	u64	to;
	u32	nr;
	u32	met;
};

/**
 * struct mpa_ooo - what has been found behind holes
 * @at: where mpa_ooo_find() goes on; %MPA_POS_NONE: it came to the end
 * @nr: ranges in use
 * @range: the ranges, by position; those of FPDUs passed do not touch
 */
struct mpa_ooo {
	u64			at;
	u32			nr;
	struct mpa_range	range[MPA_OOO_RANGES];
};

bool mpa_ooo_find(struct mpa_ooo *ooo, struct mpa_source *src,
		  struct mpa_dec *dec);
u64 mpa_ooo_limit(const struct mpa_ooo *ooo, u64 pos);
void mpa_ooo_passed(struct mpa_ooo *ooo, u64 from, u64 to, u32 nr);
void mpa_ooo_bad(struct mpa_ooo *ooo, u64 pos);
u64 mpa_ooo_next_passed(struct mpa_ooo *ooo, u64 pos);
void mpa_ooo_forget(struct mpa_ooo *ooo, u64 pos);

/* Was the ULPDU of the FPDU at @pos passed before? */
static inline bool mpa_ooo_was_passed(struct mpa_ooo *ooo, u64 pos)
{
	return mpa_ooo_next_passed(ooo, pos) <= pos;
}

int mpa_ooo_meet(struct mpa_ooo *ooo, struct mpa_dec *dec);
int mpa_ooo_step(struct mpa_ooo *ooo, struct mpa_source *src,
		 struct mpa_dec *dec);

#endif /* _MPA_OOO_H */
