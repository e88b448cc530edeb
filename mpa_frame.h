/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Request and Reply frames and what they settle, as pure functions:
 * RFC 5044 section 7.1 and Appendix C, RFC 6581.
 */
#ifndef _MPA_FRAME_H
#define _MPA_FRAME_H

#include <linux/types.h>
#include <net/mpa.h>
#include "mpa_wire.h"

/**
 * struct mpa_wish - what this end wants, and will put up with
 * @rev: revision to announce
 * @markers: we want markers in what we receive
 * @crc: we want CRCs
 * @strict: refuse Rev 0 peers (unless @rev is 0)
 * @pd_max: most private data to take from a Rev 0 peer
 * @enhanced: with Rev 2, enhanced startup
 * @erd: for that, what we want (Initiator) or can do (Responder)
 * @ird_max: highest IRD that we can have
 */
struct mpa_wish {
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
 * @reply: it is a Reply
 * @flags: MPA_RR_M and so on; reserved bits as they are
 * @rev: revision
 * @pd_len: octets of private data, those of @erd included
 * @p2p: flag A; valid where mpa_frame_enhanced(), as is the next
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
 * struct mpa_terms - what two frames have settled
 * @rev: revision, also the DDP and RDMAP version
 * @crc: CRCs in both directions
 * @markers_tx: we insert markers
 * @markers_rx: the peer inserts markers
 * @enhanced: by RFC 6581; the next four come from it
 * @ird: RDMA Read Requests that the peer may have under way
 * @ord: RDMA Read Requests that we may have under way
 * @rtr: Initiator: the RTR to send; Responder: those that may come
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

/* Does enhanced data lead the private data? In Rev 1 the bit is reserved. */
static inline bool mpa_frame_enhanced(const struct mpa_frame *frame)
{
	return frame->rev >= MPA_REV_2 && frame->flags & MPA_RR_S;
}

/* mpa_frame.c APIs: */
void mpa_frame_write(void *buf, const struct mpa_frame *frame);
int mpa_frame_read(const void *buf, size_t have, bool reply,
		   struct mpa_frame *frame, enum mpa_reason *reason);
void mpa_frame_read_erd(const void *pd, struct mpa_frame *frame);
void mpa_frame_request(const struct mpa_wish *wish, u16 pd_len,
		       struct mpa_frame *req);
enum mpa_reason mpa_frame_judge(const struct mpa_wish *wish,
				const struct mpa_frame *got);
void mpa_frame_answer(const struct mpa_wish *wish,
		      const struct mpa_frame *req, bool reject, u16 pd_len,
		      struct mpa_frame *reply);
bool mpa_frame_refuse(const struct mpa_wish *wish,
		      const struct mpa_frame *req, struct mpa_frame *reply);
enum mpa_reason mpa_frame_settle(const struct mpa_wish *wish,
				 const struct mpa_frame *ours,
				 const struct mpa_frame *theirs,
				 struct mpa_terms *terms);

#endif /* _MPA_FRAME_H */
