// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Request and Reply frames, and the terms that two ends negotiate with them.
 *
 * Tables have octets 16 to 19 of a frame (flags, revision, PD_Length) as one
 * number, and octets 20 to 23 (the enhanced data of RFC 6581) as another.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "mpa_case.h"
#include "mpa_frame.h"

enum {
	REQUEST		= false,
	REPLY		= true,
	BY_SEND		= MPA_RTR_SEND,
	BY_WRITE	= MPA_RTR_WRITE,
	BY_READ		= MPA_RTR_READ,
	ANY		= BY_SEND | BY_WRITE | BY_READ,
	ULP		= 0x3fff,
	FRAME_ENHANCED	= 24,		/* with enhanced data */
	UNTOUCHED	= 0x5a5a5a5a,
};

#define ENHANCED(...) \
	{ .rev = 2, .crc = true, .enhanced = true, .erd = { __VA_ARGS__ } }

/* The keys of section 7.1: "MPA ID Req Frame" and "MPA ID Rep Frame" */
static const u8 frame_keys[][16] = {
	[REQUEST] = {
		0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
		0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	},
	[REPLY] = {
		0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
		0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	},
};

static void frame_octets(u8 *to, bool reply, u32 fixed)
{
	memcpy(to, frame_keys[reply], 16);
	put_unaligned_be32(fixed, to + 16);
}

/* The frame that has these octets */
static struct mpa_frame frame_of(bool reply, u32 fixed, u32 erd)
{
	struct mpa_frame frame = {
		.reply = reply, .flags = fixed >> 24, .rev = fixed >> 16,
		.pd_len = fixed,
	};
	u8 pd[4];

	put_unaligned_be32(erd, pd);
	mpa_frame_read_erd(pd, &frame);
	return frame;
}

/* Enhanced data is @erd; without S or in Rev 1 there is none. */
static void frame_expect(struct kunit *test, const struct mpa_frame *frame,
			 bool reply, u32 fixed, u32 erd)
{
	u8 want[20], wire[FRAME_ENHANCED + 4];

	memset(wire, 0x5a, sizeof(wire));
	mpa_frame_write(wire, frame);
	frame_octets(want, reply, fixed);
	KUNIT_EXPECT_MEMEQ(test, wire, want, sizeof(want));
	KUNIT_EXPECT_EQ(test, erd, get_unaligned_be32(wire + 20));
	KUNIT_EXPECT_EQ(test, UNTOUCHED, get_unaligned_be32(wire + 24));
}

/* The key */

struct frame_role {
	const char	*desc;
	bool		reply;
};

static const struct frame_role frame_roles[] = {
	{ "RF-03: Responder, Request expected", REQUEST },
	{ "CS-30 RF-05: Initiator, Reply expected", REPLY },
};

MPA_ROWS(frame_role, frame_roles);

/*
 * Read the first @have octets, in memory of exactly that length: KASAN sees one
 * octet read too many.
 */
static int frame_read_first(struct kunit *test, const u8 *wire, u32 have,
			    struct mpa_frame *frame, enum mpa_reason *reason)
{
	const struct frame_role *r = test->param_value;
	u8 *exact = kunit_kmalloc(test, have, GFP_KERNEL);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, exact);
	memcpy(exact, wire, have);
	err = mpa_frame_read(exact, have, r->reply, frame, reason);
	kunit_kfree(test, exact);
	return err;
}

/*
 * A wrong octet of the key fails as it arrives; the tenth tells Reply from
 * Request. With a right key the frame is read once all 20 octets are there.
 */
static void frame_wrong_key(struct kunit *test)
{
	const struct frame_role *r = test->param_value;
	struct mpa_frame frame;
	u8 wire[20];
	u32 have, bit;

	for (bit = 0; bit <= 16 * 8; bit++) {
		frame_octets(wire, r->reply, 0xfefefdfc);
		wire[bit / 8] ^= 1 << bit % 8;
		for (have = 0; have <= 20; have++) {
			enum mpa_reason want = MPA_REASON_NONE;
			enum mpa_reason reason = MPA_REASON_NONE;

			/* 'p' and 'q' differ in one bit */
			if (have > bit / 8 && bit < 16 * 8)
				want = bit == 9 * 8 ? MPA_REASON_ROLE :
						      MPA_REASON_KEY;
			KUNIT_ASSERT_EQ(test, want ? -EBADMSG :
					bit < 16 * 8 || have < 20 ? -EAGAIN : 0,
					frame_read_first(test, wire, have,
							 &frame, &reason));
			KUNIT_ASSERT_EQ(test, want, reason);
		}
	}
	KUNIT_EXPECT_EQ(test, r->reply, frame.reply);
	KUNIT_EXPECT_EQ(test, 0xff, frame.flags);
	KUNIT_EXPECT_EQ(test, 0xfe, frame.rev);
	KUNIT_EXPECT_EQ(test, 0xfdfc, frame.pd_len);
}

/* Replies sent, with 13 octets of private data */

struct frame_reply {
	const char		*desc;
	struct mpa_local_params	local;
	bool			reject;
	u32			asked;		/* the Request */
	u32			fixed;
};

static const struct frame_reply frame_replies[] = {
	{ "RF-12 RF-14 RF-15: other bits of the Request ignored, not copied",
	  { .rev = 1, .crc = true }, 0, 0x7f010000, 0x4001000d },
	{ "VN-11: Request Rev 0, rejected",
	  { .rev = 1, .crc = true }, 1, 0xc0000000, 0xe000000d },
	{ "E-38 E-39: Rev 2 without S, enhanced startup not supported",
	  { .rev = 2, .crc = true, .erd = { 5, 7, ANY } }, 0, 0x40020000,
	  0x4002000d },
};

MPA_ROWS(frame_reply, frame_replies);

static void frame_reply(struct kunit *test)
{
	const struct frame_reply *r = test->param_value;
	struct mpa_frame req = frame_of(REQUEST, r->asked, 0);
	struct mpa_frame frame;

	KUNIT_EXPECT_EQ(test, MPA_REASON_NONE,
			mpa_frame_judge(&r->local, &req));
	memset(&frame, 0xff, sizeof(frame));
	mpa_frame_answer(&r->local, &req, r->reject, 13, &frame);
	frame_expect(test, &frame, REPLY, r->fixed, UNTOUCHED);
}

/* Frames accepted */

static const struct mpa_local_params
	rev0		= { .rev = 0, .crc = true },
	rev0_strict	= { .rev = 0, .crc = true, .strict = true },
	rev0_pd_10	= { .rev = 0, .crc = true, .pd_max = 10 },
	rev1		= { .rev = 1, .crc = true },
	rev1_strict	= { .rev = 1, .crc = true, .strict = true },
	rev1_pd_10	= { .rev = 1, .crc = true, .pd_max = 10 },
	rev1_pd_65535	= { .rev = 1, .crc = true, .pd_max = 65535 },
	rev2		= { .rev = 2, .crc = true },
	rev2_strict	= { .rev = 2, .crc = true, .strict = true },
	enhanced	= ENHANCED(5, 7, ANY);

struct frame_verdict {
	const char			*desc;
	const struct mpa_local_params	*local;
	bool				reply;
	u32				fixed;
	enum mpa_reason			reason;
};

static const struct frame_verdict frame_verdicts[] = {
	{ "RF-15: Reply, reserved bits set",
	  &rev1, REPLY, 0x1f010000, MPA_REASON_NONE },
	{ "VN-09: Request Rev 0, strict, local Rev 2",
	  &rev2_strict, REQUEST, 0x00000000, MPA_REASON_REVISION },
	{ "RF-18: Request Rev 255, private data too long",
	  &rev1_strict, REQUEST, 0x00ff0258, MPA_REASON_REVISION },
	{ "VN-15: local Rev 0 and strict, Request Rev 0",
	  &rev0_strict, REQUEST, 0x00000000, MPA_REASON_NONE },
	{ "RF-18: local Rev 0, Request Rev 2",
	  &rev0, REQUEST, 0x00020000, MPA_REASON_REVISION },
	{ "VN-10: Reply Rev 0, strict, Request Rev 2 without S",
	  &rev2_strict, REPLY, 0x00000000, MPA_REASON_REVISION },
	{ "CS-27: rejecting Reply Rev 0, strict",
	  &rev1_strict, REPLY, 0xe0000000, MPA_REASON_NONE },
	{ "RF-18: rejecting Reply Rev 2",
	  &rev1, REPLY, 0x20020000, MPA_REASON_REVISION },
	{ "local Rev 0, rejecting Reply Rev 1",
	  &rev0, REPLY, 0x20010000, MPA_REASON_REVISION },
	{ "RF-22: Request Rev 1, limit for Rev 0 above 512",
	  &rev1_pd_65535, REQUEST, 0x00010201, MPA_REASON_PD_LENGTH },
	{ "RF-21: Request Rev 1, limit for Rev 0 below 512",
	  &rev1_pd_10, REQUEST, 0x00010200, MPA_REASON_NONE },
	{ "RF-25: Request Rev 0, above a low limit",
	  &rev0_pd_10, REQUEST, 0x0000000b, MPA_REASON_PD_LENGTH },
	{ "RF-22: Request Rev 0, no limit given, 513 octets",
	  &rev1, REQUEST, 0x00000201, MPA_REASON_PD_LENGTH },
	{ "E-06: rejecting Reply with S, PD_Length 3",
	  &rev2, REPLY, 0x70020003, MPA_REASON_PD_LENGTH },
	{ "E-42 RF-22: rejecting Reply without S, PD_Length 513",
	  &enhanced, REPLY, 0x60020201, MPA_REASON_PD_LENGTH },
	{ "E-38 CS-27: rejecting Reply with S, Request without S",
	  &rev2, REPLY, 0x70020004, MPA_REASON_NONE },
	{ "E-40: Request with S, PD_Length 0, not supported",
	  &rev2, REQUEST, 0x50020000, MPA_REASON_ENHANCED },
	{ "E-02: Reply Rev 0, Request with S",
	  &enhanced, REPLY, 0xc0000000, MPA_REASON_REVISION },
	{ "E-04: Request Rev 1, enhanced startup not supported",
	  &rev2, REQUEST, 0x40010000, MPA_REASON_NONE },
	{ "E-02 VN-11: Request Rev 0, reserved bit in place of S",
	  &enhanced, REQUEST, 0xd0000000, MPA_REASON_NONE },
};

MPA_ROWS(frame_verdict, frame_verdicts);

/* Appendix C.2.1: only a refused Request of Rev 0 gets a last Reply. */
static void frame_judge(struct kunit *test)
{
	const struct frame_verdict *v = test->param_value;
	enum mpa_reason reason = MPA_REASON_NONE;
	struct mpa_frame got, last;
	bool answered;
	u8 wire[20];

	frame_octets(wire, v->reply, v->fixed);
	KUNIT_ASSERT_EQ(test, 0, mpa_frame_read(wire, sizeof(wire), v->reply,
						&got, &reason));
	KUNIT_EXPECT_EQ(test, v->reason, mpa_frame_judge(v->local, &got));
	answered = !got.reply && !got.rev && v->reason == MPA_REASON_REVISION;
	KUNIT_ASSERT_EQ(test, answered,
			mpa_frame_refuse(v->local, &got, &last));
	if (answered)
		frame_expect(test, &last, REPLY, 0x60010000, UNTOUCHED);
}

/* Figures 15 to 17: the terms of each pair of ends; CRC by section 7.1 */

static const struct mpa_local_params
	rdmac		= { .rev = 0, .crc = true, .markers = true },
	strict_0	= { .rev = 1, .crc = true, .strict = true },
	strict_1	= { .rev = 1, .crc = true, .strict = true,
			    .markers = true },
	permissive_0	= { .rev = 1, .crc = true },
	permissive_1	= { .rev = 1, .crc = true, .markers = true },
	rdmac_no_crc	= { .rev = 0 },
	permissive_no_crc = { .rev = 1 };

/**
 * struct frame_pair - two ends and the terms they agree on
 * @desc: test description
 * @ini: the Initiator
 * @resp: the Responder
 * @rev: revision in use, -1 if there is no connection
 * @m_to_ini: the Responder inserts markers
 * @m_to_resp: the Initiator inserts markers
 */
struct frame_pair {
	const char			*desc;
	const struct mpa_local_params	*ini;
	const struct mpa_local_params	*resp;
	int				rev;
	bool				m_to_ini;
	bool				m_to_resp;
};

static const struct frame_pair frame_pairs[] = {
	{ "VN-06: RDMAC, RDMAC", &rdmac, &rdmac, 0, 1, 1 },
	{ "VN-09: RDMAC, strict M=0", &rdmac, &strict_0, -1 },
	{ "VN-09: RDMAC, strict M=1", &rdmac, &strict_1, -1 },
	{ "VN-06: strict M=0, RDMAC", &strict_0, &rdmac, -1 },
	{ "VN-06: strict M=1, RDMAC", &strict_1, &rdmac, -1 },
	{ "VN-06: strict M=0, strict M=1", &strict_0, &strict_1, 1, 0, 1 },
	{ "VN-06: strict M=1, strict M=0", &strict_1, &strict_0, 1, 1, 0 },
	{ "VN-11 VN-13: RDMAC, permissive M=0",
	  &rdmac, &permissive_0, 0, 1, 1 },
	{ "VN-11: RDMAC, permissive M=1", &rdmac, &permissive_1, 0, 1, 1 },
	{ "VN-17: strict M=0, permissive M=1",
	  &strict_0, &permissive_1, 1, 0, 1 },
	{ "VN-17: permissive M=1, strict M=0",
	  &permissive_1, &strict_0, 1, 1, 0 },
	{ "VN-07: RDMAC, C=0", &rdmac_no_crc, &permissive_no_crc, 0, 1, 1 },
	{ "VN-07: C=0, RDMAC", &permissive_no_crc, &rdmac_no_crc, 0, 1, 1 },
};

MPA_ROWS(frame_pair, frame_pairs);

/* Transfer @frame into @got; returns the receiver's verdict. */
static enum mpa_reason frame_transfer(struct kunit *test,
				      const struct mpa_frame *frame,
				      const struct mpa_local_params *receiver,
				      struct mpa_frame *got)
{
	enum mpa_reason reason;
	u8 wire[FRAME_ENHANCED];

	mpa_frame_write(wire, frame);
	KUNIT_ASSERT_EQ(test, 0,
			mpa_frame_read(wire, 20, frame->reply, got, &reason));
	return mpa_frame_judge(receiver, got);
}

/* Run the exchange; returns false if either end gives up. */
static bool frame_negotiate(struct kunit *test, const struct frame_pair *p,
			    struct mpa_terms *at_ini,
			    struct mpa_terms *at_resp)
{
	struct mpa_frame req, got_req, reply, got_reply;

	mpa_frame_request(p->ini, 0, &req);
	if (frame_transfer(test, &req, p->resp, &got_req)) {
		/* the Initiator must reject it for the same reason */
		KUNIT_ASSERT_TRUE(test,
				  mpa_frame_refuse(p->resp, &got_req, &reply));
		KUNIT_EXPECT_EQ(test, MPA_REASON_REVISION,
				frame_transfer(test, &reply, p->ini,
					       &got_reply));
		return false;
	}
	mpa_frame_answer(p->resp, &got_req, false, 0, &reply);
	if (frame_transfer(test, &reply, p->ini, &got_reply))
		return false;
	mpa_frame_settle(p->ini, &req, &got_reply, at_ini);
	mpa_frame_settle(p->resp, &reply, &got_req, at_resp);
	return true;
}

static void frame_pair(struct kunit *test)
{
	const struct frame_pair *p = test->param_value;
	struct mpa_terms at_ini, at_resp;

	if (!frame_negotiate(test, p, &at_ini, &at_resp)) {
		KUNIT_EXPECT_EQ(test, -1, p->rev);
		return;
	}
	KUNIT_EXPECT_EQ(test, p->rev, at_ini.rev);
	KUNIT_EXPECT_EQ(test, p->rev, at_resp.rev);
	KUNIT_EXPECT_EQ(test, p->m_to_ini, at_ini.markers_rx);
	KUNIT_EXPECT_EQ(test, p->m_to_ini, at_resp.markers_tx);
	KUNIT_EXPECT_EQ(test, p->m_to_resp, at_ini.markers_tx);
	KUNIT_EXPECT_EQ(test, p->m_to_resp, at_resp.markers_rx);
	KUNIT_EXPECT_TRUE(test, at_ini.crc);
	KUNIT_EXPECT_TRUE(test, at_resp.crc);
}

/* A peer of Rev 0 that is no RDMAC: it chooses M and C freely */

struct frame_rev0 {
	const char	*desc;
	bool		reply;
	u32		fixed;
};

static const struct frame_rev0 frame_rev0s[] = {
	{ "RF-07 VN-07 VN-14: Rev 0 Reply, M=0 and C=0", REPLY, 0x00000000 },
	{ "RF-07 VN-13: Rev 0 Request with M=0", REQUEST, 0x40000000 },
};

MPA_ROWS(frame_rev0, frame_rev0s);

/* C.2.5 and section (d) 4: CRC is on, and markers are expected. */
static void frame_rev0(struct kunit *test)
{
	const struct frame_rev0 *r = test->param_value;
	struct mpa_frame theirs = frame_of(r->reply, r->fixed, 0);
	const struct mpa_local_params local = { .rev = 1 };
	struct mpa_terms terms;
	struct mpa_frame ours;

	if (r->reply)
		mpa_frame_request(&local, 0, &ours);
	else
		mpa_frame_answer(&local, &theirs, false, 0, &ours);
	mpa_frame_settle(&local, &ours, &theirs, &terms);
	KUNIT_EXPECT_EQ(test, 0, terms.rev);
	KUNIT_EXPECT_TRUE(test, terms.crc);
	KUNIT_EXPECT_TRUE(test, terms.markers_rx);
	KUNIT_EXPECT_FALSE(test, terms.markers_tx);
}

static enum mpa_reason frame_initiate(const struct mpa_enhanced *want,
				      u16 ird_max, u32 reply_erd,
				      struct mpa_terms *terms)
{
	const struct mpa_local_params local = {
		.rev = 2, .crc = true, .enhanced = true, .erd = *want,
		.ird_max = ird_max,
	};
	struct mpa_frame reply = frame_of(REPLY, 0x50020004, reply_erd);
	struct mpa_frame req;

	mpa_frame_request(&local, 0, &req);
	return mpa_frame_settle(&local, &req, &reply, terms);
}

/* All combinations of boundary values, by the rules of RFC 6581 section 9 */

/**
 * struct frame_mix - enhanced data of both ends
 * @ird: IRD of the Initiator
 * @ord: ORD of the Initiator
 * @resp_ird: IRD of the Responder
 * @resp_ord: ORD of the Responder
 * @rtr: kinds of RTR of the Initiator
 * @resp_rtr: kinds of RTR of the Responder
 * @a: flag A is set
 * @other: one more bit, for the test's use
 */
struct frame_mix {
	u16	ird;
	u16	ord;
	u16	resp_ird;
	u16	resp_ord;
	u8	rtr;
	u8	resp_rtr;
	bool	a;
	bool	other;
};

/* The four octets of section 9, computed from the figure's bit numbers */
static u32 ref_erd(bool a, u16 ird, u16 ord, u8 rtr)
{
	u32 octets = ird * 0x10000u + ord;

	if (a)
		octets += 0x80000000;
	if (rtr & BY_SEND)
		octets += 0x40000000;
	if (rtr & BY_WRITE)
		octets += 0x8000;
	if (rtr & BY_READ)
		octets += 0x4000;
	return octets;
}

static u16 ref_reply_depth(u16 ours, u16 asked, bool reject)
{
	if (asked == ULP)
		return ULP;
	if (reject || ours < asked)
		return ours;
	return asked;
}

/* The Responder's Reply; @m->other: it rejects */
static u32 ref_reply(const struct frame_mix *m)
{
	u16 ird = ref_reply_depth(m->resp_ird, m->ord, m->other);
	u16 ord = ref_reply_depth(m->resp_ord, m->ird, m->other);
	u8 rtr = m->resp_rtr & m->rtr ? m->resp_rtr & m->rtr : m->resp_rtr;

	if (!m->a)
		return ref_erd(false, ird, ord, 0);
	if (rtr & BY_READ && ird == 0)
		ird = 1;
	return ref_erd(true, ird, ord, rtr);
}

/* Its own terms are those of its Reply, except depths left to the ULP. */
static void frame_check_reply(struct kunit *test, const struct frame_mix *m)
{
	const struct mpa_local_params local =
		ENHANCED(m->resp_ird, m->resp_ord, m->resp_rtr);
	u32 asked = ref_erd(m->a, m->ird, m->ord, m->rtr);
	struct mpa_frame req = frame_of(REQUEST, 0x50020004, asked);
	u32 want = ref_reply(m);
	u8 wire[FRAME_ENHANCED];
	struct mpa_frame reply;
	struct mpa_terms terms;

	/* Without A the kinds are ignored. */
	KUNIT_ASSERT_EQ(test, m->a ? m->rtr : 0, req.erd.rtr);
	if (!m->resp_rtr)
		return;
	mpa_frame_answer(&local, &req, m->other, 0, &reply);
	mpa_frame_write(wire, &reply);
	KUNIT_ASSERT_EQ_MSG(test, want, get_unaligned_be32(wire + 20),
			    "asked %08x, IRD %u, ORD %u, kinds %u", asked,
			    m->resp_ird, m->resp_ord, m->resp_rtr);
	KUNIT_ASSERT_EQ(test, MPA_REASON_NONE,
			mpa_frame_settle(&local, &reply, &req, &terms));
	KUNIT_ASSERT_TRUE(test, terms.enhanced);
	KUNIT_ASSERT_EQ(test, terms.ird,
			m->ord == ULP ? m->resp_ird : want >> 16 & ULP);
	KUNIT_ASSERT_EQ(test, terms.ord,
			m->ird == ULP ? m->resp_ord : want & ULP);
	KUNIT_ASSERT_EQ(test, terms.rtr, reply.erd.rtr);
}

static enum mpa_reason ref_depths(const struct frame_mix *m, u16 ird_max,
				  struct mpa_terms *terms)
{
	terms->ord = m->ord;
	terms->ird = m->ird;
	if (m->resp_ird != ULP && m->resp_ird < m->ord)
		terms->ord = m->resp_ird;
	if (m->resp_ord == ULP || m->resp_ord <= m->ird)
		return MPA_REASON_NONE;
	terms->ird = m->resp_ord;
	return m->resp_ord > ird_max ? MPA_REASON_IRD : MPA_REASON_NONE;
}

/* Kinds in order of preference; an IRD of 0 allows no RDMA Read. */
static enum mpa_reason ref_rtr(const struct frame_mix *m,
			       struct mpa_terms *terms)
{
	static const u8 order[] = { BY_WRITE, BY_READ, BY_SEND };
	u32 i;

	if (!m->rtr || !m->a)
		return !m->rtr == !m->a ? MPA_REASON_NONE : MPA_REASON_RTR;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (m->rtr & order[i] && m->resp_rtr & order[i] &&
		    (order[i] != BY_READ || m->resp_ird)) {
			terms->rtr = order[i];
			return MPA_REASON_NONE;
		}
	return MPA_REASON_RTR;
}

/* Any enhanced data of a Reply, valid or not */
static void frame_check_terms(struct kunit *test, const struct frame_mix *m)
{
	const struct mpa_enhanced ours = { m->ird, m->ord, m->rtr };
	u32 erd = ref_erd(m->a, m->resp_ird, m->resp_ord, m->resp_rtr);
	u16 ird_max = m->other ? 7 : 0;
	struct mpa_terms want = {}, terms;
	enum mpa_reason reason;

	reason = ref_depths(m, ird_max, &want);
	if (!reason)
		reason = ref_rtr(m, &want);
	KUNIT_ASSERT_EQ_MSG(test, reason,
			    frame_initiate(&ours, ird_max, erd, &terms),
			    "reply %08x, IRD %u to %u, kinds %u", erd, m->ird,
			    ird_max, m->rtr);
	KUNIT_ASSERT_EQ(test, 2, terms.rev);
	KUNIT_ASSERT_TRUE(test, terms.enhanced);
	KUNIT_ASSERT_TRUE(test, terms.crc);
	KUNIT_ASSERT_EQ(test, want.ird, terms.ird);
	KUNIT_ASSERT_EQ(test, want.ord, terms.ord);
	KUNIT_ASSERT_EQ(test, want.rtr, terms.rtr);
}

static bool ref_within(u16 ord, u16 ird)
{
	return ord <= ird || ord == ULP || ird == ULP;
}

/* Two ends of MPA: neither exceeds the other's IRD, both agree. */
static void frame_check_pair(struct kunit *test, const struct frame_mix *m)
{
	const struct mpa_local_params ini = ENHANCED(m->ird, m->ord, m->rtr);
	const struct mpa_local_params resp =
		ENHANCED(m->resp_ird, m->resp_ord, m->resp_rtr);
	struct mpa_terms at_ini, at_resp;
	struct mpa_frame req, reply;
	u8 wire[FRAME_ENHANCED];
	enum mpa_reason reason;

	if (!m->resp_rtr || m->a || m->other)
		return;
	mpa_frame_request(&ini, 0, &req);
	mpa_frame_write(wire, &req);
	KUNIT_ASSERT_EQ(test, 0x50020004, get_unaligned_be32(wire + 16));
	KUNIT_ASSERT_EQ(test, ref_erd(m->rtr, m->ird, m->ord, m->rtr),
			get_unaligned_be32(wire + 20));
	mpa_frame_answer(&resp, &req, false, 0, &reply);
	KUNIT_ASSERT_EQ(test, 0, mpa_frame_judge(&resp, &req));
	KUNIT_ASSERT_EQ(test, 0, mpa_frame_judge(&ini, &reply));
	KUNIT_ASSERT_EQ(test, 0,
			mpa_frame_settle(&resp, &reply, &req, &at_resp));
	reason = mpa_frame_settle(&ini, &req, &reply, &at_ini);
	KUNIT_ASSERT_EQ(test, reason == MPA_REASON_RTR,
			m->rtr && !(m->rtr & m->resp_rtr));
	KUNIT_ASSERT_NE(test, MPA_REASON_IRD, reason);
	KUNIT_ASSERT_TRUE(test, ref_within(at_ini.ord, at_resp.ird));
	KUNIT_ASSERT_TRUE(test, ref_within(at_resp.ord, at_ini.ird));
	KUNIT_ASSERT_EQ(test, at_ini.rtr, at_ini.rtr & at_resp.rtr);
	KUNIT_ASSERT_EQ(test, !m->rtr, !at_resp.rtr);
	KUNIT_ASSERT_EQ(test, !reason && m->rtr, !!at_ini.rtr);
}

struct frame_all {
	const char	*desc;
	void		(*check)(struct kunit *test, const struct frame_mix *m);
};

static const struct frame_all frame_alls[] = {
	{ "E-12 E-13 E-14 E-18 E-20 E-25 E-26 E-27 E-28 E-29 E-35: Replies",
	  frame_check_reply },
	{ "E-15 E-16 E-19 E-21 E-30 E-31 E-33 E-42 E-43: Replies received",
	  frame_check_terms },
	{ "E-10 E-12 E-15 E-24 E-29 E-32 E-34: pairs of ends",
	  frame_check_pair },
};

MPA_ROWS(frame_all, frame_alls);

static void frame_all(struct kunit *test)
{
	static const u16 depths[] = { 0, 1, 7, 0x3ffe, ULP };
	const struct frame_all *all = test->param_value;
	u32 i, k;

	for (i = 0; i < 5 * 5 * 5 * 5; i++)
		for (k = 0; k < 8 * 8 * 2 * 2; k++)
			all->check(test, &(struct frame_mix) {
				.ird = depths[i % 5],
				.ord = depths[i / 5 % 5],
				.resp_ird = depths[i / 25 % 5],
				.resp_ord = depths[i / 125],
				.rtr = k % 8,
				.resp_rtr = k / 8 % 8,
				.a = k & 64,
				.other = k & 128,
			});
}

/* Consumers put these numbers into Terminate messages unchanged. */
static void frame_codes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 5, MPA_ERR_LOCAL);
	KUNIT_EXPECT_EQ(test, 6, MPA_ERR_IRD);
	KUNIT_EXPECT_EQ(test, 7, MPA_ERR_RTR);
}

static struct kunit_case frame_cases[] = {
	KUNIT_CASE_PARAM(frame_wrong_key, frame_role_gen_params),
	KUNIT_CASE_PARAM(frame_reply, frame_reply_gen_params),
	KUNIT_CASE_PARAM(frame_judge, frame_verdict_gen_params),
	KUNIT_CASE_PARAM(frame_pair, frame_pair_gen_params),
	KUNIT_CASE_PARAM(frame_rev0, frame_rev0_gen_params),
	KUNIT_CASE_PARAM(frame_all, frame_all_gen_params),
	MPA_CASE(frame_codes, "E-44: values of the error codes"),
	{}
};

static struct kunit_suite frame_suite = {
	.name = "mpa_frame",
	.test_cases = frame_cases,
};

kunit_test_suite(frame_suite);
