// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Request and Reply frames: RFC 5044 section 7.1 and Appendix C, RFC 6581.
 *
 * Rev 0 stands for an RDMAC peer: this end always sends M=1 and C=1 then, and
 * CRCs are always on.
 */
#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/string.h>
#include "mpa_frame.h"

static const char *frame_key(bool reply)
{
	return reply ? MPA_KEY_REPLY : MPA_KEY_REQUEST;
}

static u8 frame_flags(u8 rev, bool markers, bool crc)
{
	if (rev == MPA_REV_0)
		return MPA_RR_M | MPA_RR_C;
	return (markers ? MPA_RR_M : 0) | (crc ? MPA_RR_C : 0);
}

static void frame_write_erd(struct mpa_erd *erd, const struct mpa_frame *frame)
{
	u16 ird = frame->erd.ird, ord = frame->erd.ord;

	if (frame->p2p)
		ird |= MPA_ERD_A;
	if (frame->erd.rtr & MPA_RTR_SEND)
		ird |= MPA_ERD_B;
	if (frame->erd.rtr & MPA_RTR_WRITE)
		ord |= MPA_ERD_C;
	if (frame->erd.rtr & MPA_RTR_READ)
		ord |= MPA_ERD_D;
	erd->ird = cpu_to_be16(ird);
	erd->ord = cpu_to_be16(ord);
}

/**
 * mpa_frame_write - Write a frame for the wire, up to the ULP's private data
 * @buf: result: %MPA_RR_SIZE octets, and %MPA_ERD_SIZE more if
 *	mpa_frame_enhanced()
 * @frame: the fields
 */
void mpa_frame_write(void *buf, const struct mpa_frame *frame)
{
	struct mpa_rr *rr = buf;

	memcpy(rr->key, frame_key(frame->reply), sizeof(rr->key));
	rr->flags = frame->flags;
	rr->rev = frame->rev;
	rr->pd_len = cpu_to_be16(frame->pd_len);
	if (mpa_frame_enhanced(frame))
		frame_write_erd(buf + MPA_RR_SIZE, frame);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_write);

/**
 * mpa_frame_read - Read the fixed part of a frame
 * @buf: octets of the frame
 * @have: number of octets in @buf
 * @reply: a Reply is expected, not a Request
 * @frame: result: the fields
 * @reason: result: with -EBADMSG, what is wrong. %MPA_REASON_ROLE if the peer
 *	has the same role as this end (section 7.1.2 rule 8).
 *
 * Return: 0; %-EAGAIN if there are fewer than %MPA_RR_SIZE octets, and all of
 *	them are good; %-EBADMSG as soon as an octet of the key is wrong (RF-03,
 *	RF-05)
 */
int mpa_frame_read(const void *buf, size_t have, bool reply,
		   struct mpa_frame *frame, enum mpa_reason *reason)
{
	const struct mpa_rr *rr = buf;
	size_t n = min(have, sizeof(rr->key));

	if (memcmp(rr->key, frame_key(reply), n)) {
		*reason = memcmp(rr->key, frame_key(!reply), n) ?
			  MPA_REASON_KEY : MPA_REASON_ROLE;
		return -EBADMSG;
	}
	if (have < MPA_RR_SIZE)
		return -EAGAIN;

	frame->reply = reply;
	frame->flags = rr->flags;
	frame->rev = rr->rev;
	frame->pd_len = be16_to_cpu(rr->pd_len);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_read);

/**
 * mpa_frame_read_erd - Read the enhanced data of a frame
 * @pd: private data of the frame, of %MPA_ERD_SIZE octets at least
 * @frame: fields of the fixed part; p2p and erd are filled in. Without flag A
 *	the kinds of RTR are ignored (RFC 6581 section 9.2).
 */
void mpa_frame_read_erd(const void *pd, struct mpa_frame *frame)
{
	const struct mpa_erd *erd = pd;
	u16 ird = be16_to_cpu(erd->ird);
	u16 ord = be16_to_cpu(erd->ord);
	u8 rtr = 0;

	if (ird & MPA_ERD_B)
		rtr |= MPA_RTR_SEND;
	if (ord & MPA_ERD_C)
		rtr |= MPA_RTR_WRITE;
	if (ord & MPA_ERD_D)
		rtr |= MPA_RTR_READ;
	frame->p2p = ird & MPA_ERD_A;
	frame->erd.ird = ird & MPA_ERD_DEPTH;
	frame->erd.ord = ord & MPA_ERD_DEPTH;
	frame->erd.rtr = frame->p2p ? rtr : 0;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_read_erd);

static void frame_add_erd(struct mpa_frame *frame,
			  const struct mpa_enhanced *erd, bool p2p)
{
	frame->flags |= MPA_RR_S;
	frame->pd_len += MPA_ERD_SIZE;
	frame->p2p = p2p;
	frame->erd = *erd;
	if (!p2p)
		frame->erd.rtr = 0;
}

/**
 * mpa_frame_request - Make this end's Request
 * @local: what this end asks for
 * @pd_len: octets of private data of the ULP
 * @req: result
 */
void mpa_frame_request(const struct mpa_local_params *local, u16 pd_len,
		       struct mpa_frame *req)
{
	*req = (struct mpa_frame) {
		.flags	= frame_flags(local->rev, local->markers, local->crc),
		.rev	= local->rev,
		.pd_len	= pd_len,
	};
	if (local->enhanced)
		frame_add_erd(req, &local->erd, local->erd.rtr);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_request);

/*
 * True if a Request of revision @rev can be answered, by figures 15 to 17. A
 * Rev 0 Responder answers a Rev 1 Request with Rev 0.
 */
static bool frame_request_rev_ok(const struct mpa_local_params *local, u8 rev)
{
	if (rev == MPA_REV_0)
		return local->rev == MPA_REV_0 || !local->strict;
	return rev == MPA_REV_1 ||
	       (rev == MPA_REV_2 && local->rev == MPA_REV_2);
}

/*
 * True if a Reply of revision @rev is acceptable. A Request of Rev 2 without
 * enhanced data does not differ from one of Rev 1 (RFC 6581 section 6): then a
 * Reply of Rev 1 or, from an RDMAC peer, of Rev 0 is acceptable, too.
 */
static bool frame_reply_rev_ok(const struct mpa_local_params *local, u8 rev)
{
	if (rev == local->rev)
		return true;
	if (rev > local->rev || local->enhanced)
		return false;
	return rev == MPA_REV_1 || !local->strict;
}

static bool frame_rev_ok(const struct mpa_local_params *local,
			 const struct mpa_frame *got)
{
	return got->reply ? frame_reply_rev_ok(local, got->rev) :
			    frame_request_rev_ok(local, got->rev);
}

/*
 * True if @got has enhanced data, or none, as RFC 6581 section 10 says: a Reply
 * has it if and only if the Request had it; an end that does not support it
 * refuses a Request with it.
 */
static bool frame_enhanced_ok(const struct mpa_local_params *local,
			      const struct mpa_frame *got)
{
	if (got->reply)
		return mpa_frame_enhanced(got) == local->enhanced;
	return local->enhanced || !mpa_frame_enhanced(got);
}

/*
 * True if a Reply rejects: section 7.1.2 rule 3 leaves TCP open then, even if
 * nothing else in the Reply is usable. But its format must be known: a Reply of
 * a revision above that of our Request is an error.
 */
static bool frame_rejects(const struct mpa_local_params *local,
			  const struct mpa_frame *got)
{
	return got->reply && got->flags & MPA_RR_R && got->rev <= local->rev;
}

/**
 * mpa_frame_judge - Check whether a frame is acceptable
 * @local: what this end asked for and accepts
 * @got: the frame received
 *
 * A Reply that rejects is acceptable with or without S, and with any revision
 * up to that of our Request. S and the revision tell where its private data
 * begins.
 *
 * Return: %MPA_REASON_NONE, %MPA_REASON_REVISION, %MPA_REASON_ENHANCED or
 * %MPA_REASON_PD_LENGTH
 */
enum mpa_reason mpa_frame_judge(const struct mpa_local_params *local,
				const struct mpa_frame *got)
{
	u16 pd_max = MPA_PD_MAX;

	if (!frame_rejects(local, got)) {
		if (!frame_rev_ok(local, got))
			return MPA_REASON_REVISION;
		if (!frame_enhanced_ok(local, got))
			return MPA_REASON_ENHANCED;
	}
	if (mpa_frame_enhanced(got) && got->pd_len < MPA_ERD_SIZE)
		return MPA_REASON_PD_LENGTH;
	if (got->rev == MPA_REV_0 && local->pd_max)
		pd_max = local->pd_max;
	if (got->pd_len > pd_max)
		return MPA_REASON_PD_LENGTH;
	return MPA_REASON_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_judge);

/*
 * RFC 6581 section 9.1: neither depth is above what the other end can use, and
 * a depth left to the ULP stays so. A rejecting Reply says what this end needs.
 */
static u16 answer_depth(u16 ours, u16 asked, bool reject)
{
	if (asked == MPA_DEPTH_ULP)
		return MPA_DEPTH_ULP;
	return reject ? ours : min(ours, asked);
}

/*
 * Section 9.2: the kinds of RTR that both ends support or, if there are none,
 * all of ours. An RTR by RDMA Read needs an IRD of at least 1.
 */
static void frame_answer_erd(const struct mpa_local_params *local,
			     const struct mpa_frame *req, bool reject,
			     struct mpa_frame *reply)
{
	const struct mpa_enhanced *asked = &req->erd;
	struct mpa_enhanced erd = {
		.ird = answer_depth(local->erd.ird, asked->ord, reject),
		.ord = answer_depth(local->erd.ord, asked->ird, reject),
		.rtr = local->erd.rtr & asked->rtr ?: local->erd.rtr,
	};

	if (req->p2p && erd.rtr & MPA_RTR_READ && !erd.ird)
		erd.ird = 1;
	frame_add_erd(reply, &erd, req->p2p);
}

/**
 * mpa_frame_answer - Make this end's Reply to an acceptable Request
 * @local: what this end asks for and accepts
 * @req: the Request
 * @reject: the consumer rejects @req
 * @pd_len: octets of private data of the ULP
 * @reply: result. C is also set if the peer asked for CRCs: they will be on,
 *	and there are peers that insist on C=1.
 */
void mpa_frame_answer(const struct mpa_local_params *local,
		      const struct mpa_frame *req, bool reject, u16 pd_len,
		      struct mpa_frame *reply)
{
	bool crc = local->crc || (req->flags & MPA_RR_C);
	u8 rev = min(local->rev, req->rev);

	*reply = (struct mpa_frame) {
		.reply	= true,
		.flags	= frame_flags(rev, local->markers, crc) |
			  (reject ? MPA_RR_R : 0),
		.rev	= rev,
		.pd_len	= pd_len,
	};
	if (mpa_frame_enhanced(req))
		frame_answer_erd(local, req, reject, reply);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_answer);

/**
 * mpa_frame_refuse - Make the last Reply to a Rev 0 Request that is refused
 * @local: what this end asks for and accepts
 * @req: the peer's frame
 * @reply: result: Rev 1, rejecting, without private data
 *
 * Appendix C.2.1: a strict Responder sends it to an RDMAC Initiator, and then
 * closes the connection. A Request of a revision above ours gets no Reply: it
 * is improperly formatted (section 7.1.2 rule 2, RFC 6581 section 10), and
 * Initiators of Rev 2 try again with Rev 1 only after a reset.
 *
 * Return: true if this Reply is to be sent
 */
bool mpa_frame_refuse(const struct mpa_local_params *local,
		      const struct mpa_frame *req, struct mpa_frame *reply)
{
	if (req->reply || req->rev != MPA_REV_0 || frame_rev_ok(local, req))
		return false;
	*reply = (struct mpa_frame) {
		.reply	= true,
		.flags	= frame_flags(MPA_REV_1, local->markers, local->crc) |
			  MPA_RR_R,
		.rev	= MPA_REV_1,
	};
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_refuse);

/* The Responder's values are in its Reply, except depths left to the ULP. */
static void settle_responder(const struct mpa_local_params *local,
			     const struct mpa_enhanced *ours,
			     struct mpa_terms *terms)
{
	terms->ird = ours->ird == MPA_DEPTH_ULP ? local->erd.ird : ours->ird;
	terms->ord = ours->ord == MPA_DEPTH_ULP ? local->erd.ord : ours->ord;
	terms->rtr = ours->rtr;
}

/* E-15, E-16: ORD is at most their IRD, IRD at least their ORD. */
static enum mpa_reason settle_depths(const struct mpa_local_params *local,
				     const struct mpa_enhanced *theirs,
				     struct mpa_terms *terms)
{
	terms->ird = local->erd.ird;
	terms->ord = local->erd.ord;
	if (theirs->ird != MPA_DEPTH_ULP)
		terms->ord = min(terms->ord, theirs->ird);
	if (theirs->ord == MPA_DEPTH_ULP || theirs->ord <= terms->ird)
		return MPA_REASON_NONE;
	terms->ird = theirs->ord;
	return theirs->ord <= local->ird_max ? MPA_REASON_NONE : MPA_REASON_IRD;
}

/*
 * The Initiator chooses the RTR (E-30). RDMA Write comes first because it uses
 * nothing of the Responder: no Receive, no place in a queue. RDMA Read uses a
 * place in a queue: it comes before Send, and not at all if the Responder has
 * none (its IRD is 0).
 */
static enum mpa_reason settle_rtr(const struct mpa_frame *ours,
				  const struct mpa_frame *theirs,
				  struct mpa_terms *terms)
{
	u8 both = ours->erd.rtr & theirs->erd.rtr;

	if (!theirs->erd.ird)
		both &= ~MPA_RTR_READ;
	if (ours->p2p != theirs->p2p || (ours->p2p && !both))
		return MPA_REASON_RTR;
	if (both & MPA_RTR_WRITE)
		terms->rtr = MPA_RTR_WRITE;
	else if (both & MPA_RTR_READ)
		terms->rtr = MPA_RTR_READ;
	else
		terms->rtr = both;
	return MPA_REASON_NONE;
}

static enum mpa_reason settle_erd(const struct mpa_local_params *local,
				  const struct mpa_frame *ours,
				  const struct mpa_frame *theirs,
				  struct mpa_terms *terms)
{
	enum mpa_reason reason;

	terms->enhanced = true;
	terms->theirs = theirs->erd;
	if (ours->reply) {
		settle_responder(local, &ours->erd, terms);
		return MPA_REASON_NONE;
	}
	reason = settle_depths(local, &theirs->erd, terms);
	return reason ?: settle_rtr(ours, theirs, terms);
}

/**
 * mpa_frame_settle - Get the terms from a Request and its Reply
 * @local: what this end asks for and accepts
 * @ours: the frame that this end sent
 * @theirs: the frame that it received
 * @terms: result
 *
 * Return: %MPA_REASON_NONE; or, as Initiator, %MPA_REASON_IRD or
 * %MPA_REASON_RTR: full operation with these terms, but only to send a
 * Terminate message, by RFC 6581 sections 9.1 and 9.2
 */
enum mpa_reason mpa_frame_settle(const struct mpa_local_params *local,
				 const struct mpa_frame *ours,
				 const struct mpa_frame *theirs,
				 struct mpa_terms *terms)
{
	*terms = (struct mpa_terms) {};
	terms->rev = min(ours->rev, theirs->rev);
	terms->crc = (ours->flags | theirs->flags) & MPA_RR_C ||
		     terms->rev == MPA_REV_0;
	/*
	 * As Rev 0 Responder to a Rev 1 Request this end inserts them even if M
	 * is 0.
	 */
	terms->markers_tx = theirs->flags & MPA_RR_M ||
			    (ours->reply && ours->rev < theirs->rev);
	/* An RDMAC peer inserts them whatever our Request says (C.2.5). */
	terms->markers_rx = ours->flags & MPA_RR_M ||
			    terms->rev == MPA_REV_0;
	if (!mpa_frame_enhanced(ours))
		return MPA_REASON_NONE;
	return settle_erd(local, ours, theirs, terms);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_settle);

/* True if RFC 6581 section 9 can express the values. */
bool mpa_enhanced_ok(const struct mpa_enhanced *enhanced, u16 ird_max)
{
	return enhanced->ird <= MPA_DEPTH_ULP &&
	       enhanced->ord <= MPA_DEPTH_ULP && ird_max <= MPA_DEPTH_MAX &&
	       !(enhanced->rtr & ~(MPA_RTR_SEND | MPA_RTR_WRITE |
				   MPA_RTR_READ));
}
