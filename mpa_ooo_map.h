/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * ULPDUs passed out of order, as pure functions: which FPDUs can be found among
 * octets after a hole, and which of them have been passed.
 */
#ifndef _MPA_OOO_MAP_H
#define _MPA_OOO_MAP_H

#include "mpa_fpdu.h"

#define MPA_OOO_RANGES	170	/* so that struct mpa_ooo_map has 4096 octets */
#define MPA_OOO_BUDGET	512	/* steps of one mpa_ooo_map_find() */

/**
 * struct mpa_range - known octets after a hole
 * @from: stream position of the first octet
 * @to: stream position after the last octet
 * @nr: number of FPDUs in the range, all verified and passed. 0: an FPDU that
 *	begins at @from is bad, or disagrees with other ranges, and is not tried
 *	again out of order
 * @reached: how many of the @nr FPDUs the stream has reached
 */
struct mpa_range {
	u64	from;
	u64	to;
	u32	nr;
	u32	reached;
};

/**
 * struct mpa_ooo_map - the known ranges after holes
 * @at: stream position where mpa_ooo_map_find() goes on; %MPA_POS_NONE: none
 * @nr: entries of @range in use
 * @range: the ranges, by position; ranges of passed FPDUs that touch are merged
 */
struct mpa_ooo_map {
	u64			at;
	u32			nr;
	struct mpa_range	range[MPA_OOO_RANGES];
};

bool mpa_ooo_map_find(struct mpa_ooo_map *map, struct mpa_stream *src,
		      struct mpa_dec *dec);
u64 mpa_ooo_map_limit(const struct mpa_ooo_map *map, u64 pos);
void mpa_ooo_map_add_passed(struct mpa_ooo_map *map, u64 from, u64 to, u32 nr);
void mpa_ooo_map_add_bad(struct mpa_ooo_map *map, u64 pos);
u64 mpa_ooo_map_next_passed(struct mpa_ooo_map *map, u64 pos);
void mpa_ooo_map_forget(struct mpa_ooo_map *map, u64 pos);

/* True if the FPDU at @pos was passed out of order. */
static inline bool mpa_ooo_map_was_passed(struct mpa_ooo_map *map, u64 pos)
{
	return mpa_ooo_map_next_passed(map, pos) <= pos;
}

int mpa_ooo_map_reach(struct mpa_ooo_map *map, struct mpa_dec *dec);
int mpa_ooo_map_step(struct mpa_ooo_map *map, struct mpa_stream *src,
		     struct mpa_dec *dec);

#endif /* _MPA_OOO_MAP_H */
