/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A stream of FPDUs, right or wrong, in any pieces: the decoder's results have
 * to be those of the reference. A test case supplies stream and pieces.
 */
#ifndef _MPA_RX_MODEL_H
#define _MPA_RX_MODEL_H

#include <kunit/test.h>
#include "mpa_fpdu.h"
#include "mpa_ref.h"
#include "mpa_wire.h"

enum {
	RX_STREAM	= 140 * 1024,
	RX_FPDUS	= 512,
	RX_FRAGS	= 4096,
	RX_PIECES	= 4096,
};

/* A stream, the reference's results, and the decoder */
struct rx_model {
	struct kunit	*test;
	u64		pos;		/* stream position of @wire */
	bool		markers;
	bool		crc;
	bool		from_lead;	/* FPDUPTR may count from there */
	u32		end;		/* octets in @wire */
	u32		nr;		/* good FPDUs at the start of it */
	enum mpa_ref_verdict verdict;	/* on what follows them, */
	u32		next_size;	/* which by its length has this size */
	/* of each good FPDU, and of what follows them */
	u32		at[RX_FPDUS + 1];	/* offset in @wire */
	u32		len[RX_FPDUS + 1];	/* ULPDU_Length */
	u32		from[RX_FPDUS + 1];	/* offset in @ref_ulpdu */
	struct mpa_dec	dec;		/* under test */
	struct kvec	frag[RX_FRAGS];
	struct mpa_ulpdu	run[RX_FPDUS + 1];
	struct kvec	piece[RX_PIECES];	/* octets received */
	u32		nr_pieces;
	u8		ulpdu[MPA_ULPDU_MAX];	/* source of ULPDUs */
	u8		wire[RX_STREAM];
	/* ULPDUs by the reference, with room for a false length */
	u8		ref_ulpdu[RX_STREAM + MPA_ULPDU_MAX];
};

int rx_model_init(struct kunit *test);
void rx_model_exit(struct kunit *test);

void rx_begin(struct rx_model *t, u64 pos, bool markers, bool crc);
void rx_send(struct rx_model *t, const u8 *ulpdu, u32 len);
enum mpa_ref_verdict rx_ref_decode(struct rx_model *t, u32 k, bool crc,
				   u32 *size);
void rx_reference(struct rx_model *t);
u32 rx_head(const struct rx_model *t, u32 k);

void rx_dec(struct rx_model *t, u32 at, u32 max_frags);
int rx_decode_run(struct rx_model *t, u64 limit, u32 max, u32 max_frags,
		  u32 *nr);
void rx_expect_run(struct rx_model *t, u32 want, u32 nr, const char *what);
enum mpa_reason rx_reason(const struct rx_model *t, u32 k, u32 have);
void rx_expect_end(struct rx_model *t, u32 k, u32 have, int err,
		   const char *what);
void rx_check(struct rx_model *t, const char *what);
void rx_check_limit(struct rx_model *t, u32 limit);
void rx_check_max(struct rx_model *t, u32 max);
bool rx_check_room(struct rx_model *t, u32 max_frags);

#endif /* _MPA_RX_MODEL_H */
