/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Request and Reply frames and the terms they settle, as pure functions:
 * RFC 5044 section 7.1 and Appendix C, RFC 6581.
 */
#ifndef _MPA_FRAME_H
#define _MPA_FRAME_H

#include <linux/types.h>
#include <net/mpa.h>
#include "mpa_wire.h"

/**
 * struct mpa_local_params - what this end asks for and accepts
 * @rev: revision to announce
 * @markers: ask for markers in what this end receives
 * @crc: ask for CRCs
 * @strict: refuse Rev 0 peers (unless @rev is 0)
 * @pd_max: most octets of private data of a Rev 0 frame, sent or received; 0
 *	(unit tests only): MPA_PD_MAX
 * @enhanced: with Rev 2, enhanced startup
 * @erd: with @enhanced, what the Initiator asks for or the Responder can do
 * @ird_max: highest IRD that the Initiator can have
 */
struct mpa_local_params {
	u8	rev;
	bool	markers;
	bool	crc;
	bool	strict;
	u16	pd_max;
	bool	enhanced;
	u16	ird_max;
	struct mpa_enhanced erd;
};

/**
 * struct mpa_frame - the fields of a Request or Reply
 * @reply: a Reply, not a Request
 * @flags: MPA_RR_M and so on; reserved bits as received
 * @rev: revision
 * @pd_len: octets of private data, those of @erd included
 * @p2p: flag A; @p2p and @erd are valid if mpa_frame_enhanced()
 * @erd: enhanced data; no kinds of RTR without flag A
 */
struct mpa_frame {
	bool	reply;
	u8	flags;
	u8	rev;
	u16	pd_len;
	bool	p2p;
	struct mpa_enhanced erd;
};

/**
 * struct mpa_terms - what a Request and its Reply have settled
 * @rev: revision; also the DDP and RDMAP version, but for Rev 2 that is 1
 * @crc: CRCs in both directions
 * @markers_tx: this end inserts markers
 * @markers_rx: the peer inserts markers
 * @enhanced: RFC 6581 was used; @ird, @ord, @rtr and @theirs come from it
 * @ird: RDMA Read Requests that the peer may have outstanding
 * @ord: RDMA Read Requests that this end may have outstanding
 * @rtr: Initiator: the kind of RTR to send; Responder: kinds that may arrive
 * @theirs: the peer's enhanced data
 */
struct mpa_terms {
	s8	rev;
	bool	crc;
	bool	markers_tx;
	bool	markers_rx;
	bool	enhanced;
	u16	ird;
	u16	ord;
	u8	rtr;
	struct mpa_enhanced theirs;
};

/* True if private data begins with enhanced data. S is reserved in Rev 1. */
static inline bool mpa_frame_enhanced(const struct mpa_frame *frame)
{
	return frame->rev >= MPA_REV_2 && frame->flags & MPA_RR_S;
}

/* mpa_frame.c APIs: */
void mpa_frame_write(void *buf, const struct mpa_frame *frame);
int mpa_frame_read(const void *buf, size_t have, bool reply,
		   struct mpa_frame *frame, enum mpa_reason *reason);
void mpa_frame_read_erd(const void *pd, struct mpa_frame *frame);
void mpa_frame_request(const struct mpa_local_params *local, u16 pd_len,
		       struct mpa_frame *req);
enum mpa_reason mpa_frame_judge(const struct mpa_local_params *local,
				const struct mpa_frame *got);
void mpa_frame_answer(const struct mpa_local_params *local,
		      const struct mpa_frame *req, bool reject, u16 pd_len,
		      struct mpa_frame *reply);
bool mpa_frame_refuse(const struct mpa_local_params *local,
		      const struct mpa_frame *req, struct mpa_frame *reply);
enum mpa_reason mpa_frame_settle(const struct mpa_local_params *local,
				 const struct mpa_frame *ours,
				 const struct mpa_frame *theirs,
				 struct mpa_terms *terms);
bool mpa_enhanced_ok(const struct mpa_enhanced *enhanced, u16 ird_max);

#endif /* _MPA_FRAME_H */
