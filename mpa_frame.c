// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Request and Reply frames: RFC 5044 section 7.1 and Appendix C.
 *
 * Rev 0 stands for an RDMAC peer: M and C are always 1 in what we send then,
 * and CRCs are always on.
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

/**
 * mpa_frame_write - The fixed part of a frame as it is on the wire
 * @rr: where to
 * @frame: what it says
 */
void mpa_frame_write(struct mpa_rr *rr, const struct mpa_frame *frame)
{
	memcpy(rr->key, frame_key(frame->reply), sizeof(rr->key));
	rr->flags = frame->flags;
	rr->rev = frame->rev;
	rr->pd_len = cpu_to_be16(frame->pd_len);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_write);

/**
 * mpa_frame_read - Read the fixed part of a frame
 * @buf: its octets
 * @have: how many of them there are
 * @reply: a Reply is expected, not a Request
 * @frame: result: what it says
 * @reason: result: with -EBADMSG, what is wrong. %MPA_REASON_ROLE when the
 *	peer has our own role (section 7.1.2 rule 8).
 *
 * Return: 0; %-EAGAIN if there are fewer than %MPA_RR_SIZE octets, all of
 *	them good so far; %-EBADMSG as soon as an octet of the key is wrong
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
 * mpa_frame_request - Our Request
 * @wish: what we want
 * @pd_len: octets of private data
 * @req: result
 */
void mpa_frame_request(const struct mpa_wish *wish, u16 pd_len,
		       struct mpa_frame *req)
{
	*req = (struct mpa_frame) {
		.flags	= frame_flags(wish->rev, wish->markers, wish->crc),
		.rev	= wish->rev,
		.pd_len	= pd_len,
	};
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_request);

/* Figures 15 to 17. A Rev 0 Responder answers a Rev 1 Request with Rev 0. */
static bool frame_rev_ok(const struct mpa_wish *wish,
			 const struct mpa_frame *got)
{
	switch (got->rev) {
	case MPA_REV_0:
		return wish->rev == MPA_REV_0 || !wish->strict;
	case MPA_REV_1:
		return wish->rev == MPA_REV_1 || !got->reply;
	default:
		return false;
	}
}

/**
 * mpa_frame_judge - Is a frame acceptable?
 * @wish: what we want
 * @got: what came
 *
 * A revision that we cannot use is an error in a rejecting Reply, too: it is
 * what a Responder says last when our revision means nothing to it, before it
 * closes the connection (Appendix C.2.1).
 *
 * Return: %MPA_REASON_NONE, %MPA_REASON_REVISION or %MPA_REASON_PD_LENGTH
 */
enum mpa_reason mpa_frame_judge(const struct mpa_wish *wish,
				const struct mpa_frame *got)
{
	u16 pd_max = MPA_PD_MAX;

	if (!frame_rev_ok(wish, got))
		return MPA_REASON_REVISION;
	if (got->rev == MPA_REV_0 && wish->pd_max)
		pd_max = wish->pd_max;
	if (got->pd_len > pd_max)
		return MPA_REASON_PD_LENGTH;
	return MPA_REASON_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_judge);

/**
 * mpa_frame_answer - Our Reply to an acceptable Request
 * @wish: what we want
 * @req: the Request
 * @reject: the consumer rejects it
 * @pd_len: octets of private data
 * @reply: result. C is also set when the peer asked for CRCs: that is what
 *	will be, and there are peers that insist on reading it.
 */
void mpa_frame_answer(const struct mpa_wish *wish,
		      const struct mpa_frame *req, bool reject, u16 pd_len,
		      struct mpa_frame *reply)
{
	bool crc = wish->crc || (req->flags & MPA_RR_C);
	u8 rev = min(wish->rev, req->rev);

	*reply = (struct mpa_frame) {
		.reply	= true,
		.flags	= frame_flags(rev, wish->markers, crc) |
			  (reject ? MPA_RR_R : 0),
		.rev	= rev,
		.pd_len	= pd_len,
	};
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_answer);

/**
 * mpa_frame_refuse - The Reply owed to a Request of a useless revision
 * @wish: what we want
 * @req: the Request
 * @reply: result: our revision, rejecting, without private data
 *
 * The connection is closed after it: Appendix C.2.1.
 *
 * Return: true if a Reply is owed; false for all other errors, and to a Reply
 */
bool mpa_frame_refuse(const struct mpa_wish *wish,
		      const struct mpa_frame *req, struct mpa_frame *reply)
{
	if (req->reply || frame_rev_ok(wish, req))
		return false;
	*reply = (struct mpa_frame) {
		.reply	= true,
		.flags	= frame_flags(wish->rev, wish->markers, wish->crc) |
			  MPA_RR_R,
		.rev	= wish->rev,
	};
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_refuse);

/**
 * mpa_frame_settle - What two frames have agreed on
 * @ours: the frame we sent
 * @theirs: the one we received
 * @terms: result
 */
void mpa_frame_settle(const struct mpa_frame *ours,
		      const struct mpa_frame *theirs, struct mpa_terms *terms)
{
	terms->rev = min(ours->rev, theirs->rev);
	terms->crc = (ours->flags | theirs->flags) & MPA_RR_C ||
		     terms->rev == MPA_REV_0;
	/* As an RDMAC Responder we insert them whatever the Request says. */
	terms->markers_tx = theirs->flags & MPA_RR_M ||
			    (ours->reply && ours->rev < theirs->rev);
	/* An RDMAC peer inserts them whatever our Request says: C.2.5 */
	terms->markers_rx = ours->flags & MPA_RR_M ||
			    terms->rev == MPA_REV_0;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_frame_settle);
