// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A startup: an Initiator and a Responder, each with its parameters, exchange a
 * Request and a Reply; each frame may be altered on its way, and is cut into
 * pieces. Each end has to judge the octets it receives by the letter of the
 * specification. What two ends agree on is compared by KUnit's suite mpa_frame.
 *
 * An input: the parameters of both ends, the private data, then for each frame
 * how it is altered (see alter()) and cut.
 */
#include "fuzz.h"
#include "mpa_frame.h"

enum {
	FRAME_MAX	= MPA_RR_SIZE + 2048,
};

/* a frame on its way */
struct octets {
	u32	len;
	bool	altered;
	u8	at[FRAME_MAX];
};

/* a receiver's result for a frame */
struct received {
	enum mpa_reason		reason;
	struct mpa_frame	frame;
	bool			complete;
};

static u16 some_depth(struct fuzz_input *in)
{
	u32 depth = fuzz_u8(in);

	if (depth >= 254)
		return depth == 255 ? MPA_DEPTH_ULP : MPA_DEPTH_MAX;
	return depth % 64;
}

/* as mpa_attach() and mpa_start_responder() allow it */
static void some_local(struct fuzz_input *in, bool initiator,
		       struct mpa_local_params *local)
{
	u32 bits = fuzz_u8(in);

	*local = (struct mpa_local_params) {
		.rev = fuzz_u8(in) % 3, .markers = bits & 1, .crc = bits & 2,
		.strict = bits & 4, .pd_max = bits & 8 ? 2000 : MPA_PD_MAX,
	};
	local->enhanced = local->rev == 2 && bits & 16;
	if (!local->enhanced)
		return;
	local->erd.ird = some_depth(in);
	local->erd.ord = some_depth(in);
	local->erd.rtr = fuzz_u8(in) % 8;
	if (!initiator && !local->erd.rtr)
		local->erd.rtr = MPA_RTR_WRITE;
	local->ird_max = some_depth(in);
}

/* The frame as its sender gives it to TCP, in memory just as long */
static void send_frame(struct octets *o, const struct mpa_frame *frame)
{
	u32 erd = frame->rev >= 2 && frame->flags & 0x10 ? 4 : 0;
	u8 *head = malloc(20 + erd);

	memset(head, 0xa5, 20 + erd);
	mpa_frame_write(head, frame);
	memcpy(o->at, head, 20 + erd);
	free(head);
	memcpy(o->at + 20 + erd, fuzz_pool, frame->pd_len - erd);
	o->len = 20 + frame->pd_len;
	o->altered = false;
}

/* Change, drop or add octets. */
static void alter(struct octets *o, struct fuzz_input *in)
{
	u32 what, at;

	for (what = fuzz_u8(in) % 8; what && in->p < in->end;
	     what = fuzz_u8(in) % 8) {
		o->altered = true;
		at = fuzz_below(in, 28);
		switch (what) {
		case 1 ... 3:
			o->at[at] = fuzz_u8(in);
			break;
		case 4:
			o->at[at] ^= 1 << fuzz_u8(in) % 8;
			break;
		case 5:
			o->len = min(o->len, fuzz_below(in, FRAME_MAX));
			break;
		case 6:
			o->len = min(o->len + fuzz_u8(in), FRAME_MAX);
			break;
		case 7:		/* the other key, or this one */
			memcpy(o->at, at % 2 ? "MPA ID Req Frame" :
					       "MPA ID Rep Frame", 16);
			break;
		}
	}
}

/* The key by the letter: the error in its first @have octets, if any */
static int ref_key(const struct octets *o, u32 have, bool reply,
		   enum mpa_reason *reason)
{
	const char *ours = reply ? "MPA ID Rep Frame" : "MPA ID Req Frame";
	const char *other = reply ? "MPA ID Req Frame" : "MPA ID Rep Frame";
	bool like_other = true;
	bool good = true;
	u32 i;

	for (i = 0; i < have && i < 16; i++) {
		good &= o->at[i] == ours[i];
		like_other &= o->at[i] == other[i];
	}
	*reason = like_other ? MPA_REASON_ROLE : MPA_REASON_KEY;
	if (!good)
		return -EBADMSG;
	return have < 20 ? -EAGAIN : 0;
}

static int read_head(const struct octets *o, u32 have, bool reply,
		     struct received *r)
{
	u8 *head = fuzz_copy(o->at, have);
	enum mpa_reason reason = MPA_REASON_NONE;
	int want, err;

	err = mpa_frame_read(head, have, reply, &r->frame, &reason);
	want = ref_key(o, have, reply, &r->reason);
	SHIM_ASSERT(err == want, "%u octets: %d, not %d", have, err, want);
	if (err == -EBADMSG)
		SHIM_ASSERT(reason == r->reason, "%u octets: %d", have, reason);
	else
		r->reason = MPA_REASON_NONE;
	free(head);
	return err;
}

/* Which revisions each end may hear: rows are its own, - if it is strict */
static bool ref_rev_ok(const struct mpa_local_params *local, u32 rev,
		       bool reply)
{
	static const char * const requests[] = { "yy ", "-y ", "-yy" };
	static const char * const replies[] = { "y  ", "-y ", "-ey" };
	char c = rev > 2 ? ' ' : (reply ? replies : requests)[local->rev][rev];
	bool plain = !reply || !local->enhanced;

	return c == 'y' || (c == '-' && !local->strict && plain) ||
	       (c == 'e' && plain);
}

static enum mpa_reason ref_judge(const struct mpa_local_params *local,
				 const struct octets *o, bool reply)
{
	bool s = o->at[17] >= 2 && o->at[16] & 0x10;
	u32 pd_len = o->at[18] << 8 | o->at[19];
	u32 pd_max = o->at[17] == 0 ? local->pd_max : 512;
	bool rejects;

	rejects = reply && o->at[16] & 0x20 && o->at[17] <= local->rev;
	if (!rejects && !ref_rev_ok(local, o->at[17], reply))
		return MPA_REASON_REVISION;
	if (!rejects && (reply ? s != local->enhanced : s && !local->enhanced))
		return MPA_REASON_ENHANCED;
	if ((s && pd_len < 4) || pd_len > pd_max)
		return MPA_REASON_PD_LENGTH;
	return MPA_REASON_NONE;
}

/* RFC 6581: A B IRD, C D ORD, as bits */
static void check_erd(const struct octets *o, const struct mpa_frame *frame)
{
	const u8 *erd = o->at + 20;
	u32 rtr = 0;

	if (erd[0] & 0x80)
		rtr = (erd[0] & 0x40 ? MPA_RTR_SEND : 0) |
		      (erd[2] & 0x80 ? MPA_RTR_WRITE : 0) |
		      (erd[2] & 0x40 ? MPA_RTR_READ : 0);
	SHIM_ASSERT(frame->p2p == erd[0] >> 7, "%x", erd[0]);
	SHIM_ASSERT(frame->erd.ird == ((erd[0] & 0x3f) << 8 | erd[1]), "%x",
		    frame->erd.ird);
	SHIM_ASSERT(frame->erd.ord == ((erd[2] & 0x3f) << 8 | erd[3]), "%x",
		    frame->erd.ord);
	SHIM_ASSERT(frame->erd.rtr == rtr, "%x", frame->erd.rtr);
}

static void read_pd(const struct octets *o, struct received *r)
{
	u32 have = o->len - 20;
	u8 *pd;

	if (have < r->frame.pd_len) {
		r->reason = MPA_REASON_SHORT;
		return;
	}
	r->complete = true;
	/* For a Responder an error; an Initiator takes them for FPDUs. */
	if (have > r->frame.pd_len && !r->frame.reply)
		r->reason = MPA_REASON_EARLY;
	if (!mpa_frame_enhanced(&r->frame))
		return;
	pd = fuzz_copy(o->at + 20, r->frame.pd_len);
	mpa_frame_read_erd(pd, &r->frame);
	free(pd);
	check_erd(o, &r->frame);
}

/* Receive a frame in pieces of @piece octets, as mpa_cm.c reads it. */
static void receive(const struct mpa_local_params *local,
		    const struct octets *o, bool reply, u32 piece,
		    struct received *r)
{
	u32 have = 0;
	int err = -EAGAIN;

	*r = (struct received) {};
	while (err == -EAGAIN && have < 20) {
		if (have == o->len) {
			r->reason = MPA_REASON_SHORT;
			return;
		}
		have = min3(have + piece, 20U, o->len);
		err = read_head(o, have, reply, r);
	}
	if (err)
		return;
	SHIM_ASSERT(r->frame.reply == reply && r->frame.flags == o->at[16] &&
		    r->frame.rev == o->at[17] &&
		    r->frame.pd_len == (o->at[18] << 8 | o->at[19]),
		    "flags %x", r->frame.flags);
	r->reason = mpa_frame_judge(local, &r->frame);
	SHIM_ASSERT(r->reason == ref_judge(local, o, reply), "%d", r->reason);
	if (!r->reason)
		read_pd(o, r);
}

/* Private data up to the maximum of the revision */
static u32 some_pd(struct fuzz_input *in, const struct mpa_local_params *local,
		   u32 rev, bool enhanced)
{
	u32 max = rev ? 512 : local->pd_max;
	u32 len = fuzz_u8(in);

	if (enhanced)
		max = 508;
	return len == 255 ? max : len;
}

/* C.2.1: a Reply follows a refused Request of Rev 0, and no other one. */
static void check_refusal(const struct mpa_local_params *local,
			  const struct received *r)
{
	struct mpa_frame last = { .pd_len = 1 };
	bool owed;

	owed = mpa_frame_refuse(local, &r->frame, &last);
	SHIM_ASSERT(owed == (r->reason == MPA_REASON_REVISION &&
			     !r->frame.rev && !r->frame.reply), "reason %d",
		    r->reason);
	if (owed)
		SHIM_ASSERT(last.reply && last.rev == 1 &&
			    last.flags & 0x20 && !last.pd_len,
			    "flags %x", last.flags);
}

/* an exchange, of an Initiator and a Responder */
struct exchange {
	struct mpa_local_params	i;
	struct mpa_local_params	r;
	struct mpa_frame	request;
	struct mpa_frame	reply;
	struct received		asked;
	struct received		answered;
	bool			reject;
	bool			altered;
};

/* The Request; returns the Responder's error, if any. */
static enum mpa_reason ask(struct exchange *x, struct fuzz_input *in, u32 piece)
{
	static struct octets o;
	u32 pd_len = some_pd(in, &x->i, x->i.rev, x->i.enhanced);

	mpa_frame_request(&x->i, pd_len, &x->request);
	send_frame(&o, &x->request);
	alter(&o, in);
	x->altered = o.altered;
	receive(&x->r, &o, false, piece, &x->asked);
	if (!x->asked.reason || x->asked.reason == MPA_REASON_REVISION)
		check_refusal(&x->r, &x->asked);
	return x->asked.reason;
}

/* The Reply; returns the Initiator's error, if any. */
static enum mpa_reason answer(struct exchange *x, struct fuzz_input *in,
			      u32 piece)
{
	const struct mpa_frame *asked = &x->asked.frame;
	static struct octets o;
	u32 pd_len;

	pd_len = some_pd(in, &x->r, min(x->r.rev, asked->rev),
			 mpa_frame_enhanced(asked));
	mpa_frame_answer(&x->r, asked, x->reject, pd_len, &x->reply);
	send_frame(&o, &x->reply);
	alter(&o, in);
	x->altered |= o.altered;
	receive(&x->i, &o, true, piece, &x->answered);
	return x->answered.reason;
}

static enum mpa_reason settle(const struct exchange *x)
{
	struct mpa_terms i, r;
	enum mpa_reason reason;

	reason = mpa_frame_settle(&x->r, &x->reply, &x->asked.frame, &r);
	SHIM_ASSERT(!reason, "%d", reason);
	reason = mpa_frame_settle(&x->i, &x->request, &x->answered.frame, &i);
	SHIM_ASSERT(!reason || reason == MPA_REASON_IRD ||
		    reason == MPA_REASON_RTR, "%d", reason);
	return reason;
}

static enum mpa_reason exchange(struct exchange *x, struct fuzz_input *in)
{
	enum mpa_reason reason;
	u32 cuts;

	some_local(in, true, &x->i);
	some_local(in, false, &x->r);
	cuts = fuzz_u8(in);
	x->reject = fuzz_u8(in) % 8 == 7;
	reason = ask(x, in, 1 + cuts % 16);
	if (!reason)
		reason = answer(x, in, 1 + cuts / 16);
	if (reason || x->answered.frame.flags & 0x20)
		return reason;
	return settle(x);
}

void fuzz_one(struct fuzz_input *in)
{
	struct exchange x = {};

	fuzz_say("%s", fuzz_reason(exchange(&x, in)));
	fuzz_count[FUZZ_EXCHANGES]++;
	fuzz_count[FUZZ_BROKEN] += x.altered;
}
