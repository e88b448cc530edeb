// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Enhanced startup, RFC 6581: frames and the terms that two ends negotiate. */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "mpa_case.h"
#include "mpa_frame.h"

enum {
	BY_SEND		= MPA_RTR_SEND,
	BY_WRITE	= MPA_RTR_WRITE,
	BY_READ		= MPA_RTR_READ,
	ANY		= BY_SEND | BY_WRITE | BY_READ,
	ULP		= 0x3fff,
	ENH_S		= 0x10,
	ENH_FRAME	= 24,		/* a frame with enhanced data */
};

/* The four octets of section 9, computed from the figure's bit numbers */
static u32 enh_word(bool a, u16 ird, u16 ord, u8 rtr)
{
	u32 word = ird * 0x10000u + ord;

	if (a)
		word += 0x80000000;
	if (rtr & BY_SEND)
		word += 0x40000000;
	if (rtr & BY_WRITE)
		word += 0x8000;
	if (rtr & BY_READ)
		word += 0x4000;
	return word;
}

static void enh_octets(u8 *to, u32 word)
{
	to[0] = word >> 24;
	to[1] = word >> 16;
	to[2] = word >> 8;
	to[3] = word;
}

static u32 enh_read_word(const u8 *from)
{
	return from[0] << 24 | from[1] << 16 | from[2] << 8 | from[3];
}

/* Enhanced data alone: four octets */

struct enh_data {
	const char	*desc;
	u32		word;
	bool		p2p;
	u16		ird;
	u16		ord;
	u8		rtr;
	bool		one_way;	/* received only, never sent */
};

static const struct enh_data enh_datas[] = {
	{ "E-07 E-32 E-34: all zero", 0, 0, 0, 0, 0 },
	{ "E-07: IRD 1, ORD 2", 0x00010002, 0, 1, 2, 0 },
	{ "E-07: IRD and ORD are big endian",
	  0x12342345, 0, 0x1234, 0x2345, 0 },
	{ "E-07: highest IRD and ORD", 0x3ffe3ffe, 0, 0x3ffe, 0x3ffe, 0 },
	{ "E-18 E-20: IRD and ORD 0x3FFF", 0x3fff3fff, 0, ULP, ULP, 0 },
	{ "E-22 E-23: A and B", 0xc0050007, 1, 5, 7, BY_SEND },
	{ "E-22 E-23: A and C", 0x80058007, 1, 5, 7, BY_WRITE },
	{ "E-22 E-23: A and D", 0x80054007, 1, 5, 7, BY_READ },
	{ "E-22 E-23: A, B, C and D", 0xc005c007, 1, 5, 7, ANY },
	{ "E-07 E-23: all bits", 0xffffffff, 1, ULP, ULP, ANY },
	{ "E-35: B without A", 0x40050007, 0, 5, 7, 0, true },
	{ "E-35: C and D without A", 0x0005c007, 0, 5, 7, 0, true },
	{ "E-35 E-43: B, C and D without A", 0x7fffffff, 0, ULP, ULP, 0,
	  true },
	{ "E-43: A without B, C and D", 0x80050007, 1, 5, 7, 0 },
};

KUNIT_ARRAY_PARAM_DESC(enh_data, enh_datas, desc);

static void enh_read(struct kunit *test)
{
	const struct enh_data *d = test->param_value;
	struct mpa_frame frame;
	u8 pd[4];

	memset(&frame, 0xff, sizeof(frame));
	enh_octets(pd, d->word);
	mpa_frame_read_erd(pd, &frame);
	KUNIT_EXPECT_EQ(test, d->p2p, frame.p2p);
	KUNIT_EXPECT_EQ(test, d->ird, frame.erd.ird);
	KUNIT_EXPECT_EQ(test, d->ord, frame.erd.ord);
	KUNIT_EXPECT_EQ(test, d->rtr, frame.erd.rtr);
}

static void enh_write(struct kunit *test)
{
	const struct enh_data *d = test->param_value;
	const struct mpa_frame frame = {
		.flags = ENH_S, .rev = 2, .pd_len = 4, .p2p = d->p2p,
		.erd = { d->ird, d->ord, d->rtr },
	};
	u8 wire[ENH_FRAME + 1];

	memset(wire, 0x5a, sizeof(wire));
	mpa_frame_write(wire, &frame);
	KUNIT_EXPECT_EQ(test, 0x5a, wire[ENH_FRAME]);
	KUNIT_EXPECT_EQ(test, ENH_S, wire[16]);
	KUNIT_EXPECT_EQ(test, 2, wire[17]);
	if (!d->one_way)
		KUNIT_EXPECT_EQ(test, d->word, enh_read_word(wire + 20));
	else
		KUNIT_EXPECT_EQ(test, d->word & 0x3fff3fff,
				enh_read_word(wire + 20));
}

/* All 16-bit values of either half: read, and the valid bits written again */
static void enh_all_words(struct kunit *test)
{
	u32 i, word, want;
	u8 wire[ENH_FRAME];
	u8 pd[4];

	for (i = 0; i < 2 * 65536; i++) {
		struct mpa_frame frame = { .flags = ENH_S, .rev = 2 };

		word = i < 65536 ? i | 0x80000000 : i << 16;
		enh_octets(pd, word);
		mpa_frame_read_erd(pd, &frame);
		mpa_frame_write(wire, &frame);
		want = word & 0x80000000 ? word : word & 0x3fff3fff;
		if (enh_read_word(wire + 20) != want ||
		    frame.erd.ird != (word >> 16) % 0x4000 ||
		    frame.erd.ord != word % 0x4000)
			break;
	}
	KUNIT_EXPECT_EQ(test, 2 * 65536, i);
}

/* A frame without S, or of Rev 1, has 20 octets and no enhanced data. */
static void enh_not_written(struct kunit *test)
{
	struct mpa_frame frame = {
		.flags = 0xef, .rev = 2, .p2p = true, .erd = { 1, 2, ANY },
	};
	u8 wire[ENH_FRAME];
	u8 rev;

	memset(wire, 0x5a, sizeof(wire));
	mpa_frame_write(wire, &frame);
	KUNIT_EXPECT_NULL(test, memchr_inv(wire + 20, 0x5a, 4));
	frame.flags = 0xff;
	for (rev = 0; rev < 2; rev++) {
		frame.rev = rev;
		mpa_frame_write(wire, &frame);
		KUNIT_EXPECT_NULL(test, memchr_inv(wire + 20, 0x5a, 4));
	}
}

/* Requests sent: octets 16 to 23 */

struct enh_request {
	const char		*desc;
	u8			rev;
	bool			enhanced;
	bool			markers;
	bool			crc;
	struct mpa_enhanced	erd;
	u16			pd_len;		/* without the enhanced data */
	u32			fixed;		/* octets 16 to 19 */
	u32			word;		/* octets 20 to 23 */
};

static const struct enh_request enh_requests[] = {
	{ "E-03 E-39: Rev 1, nothing enhanced", 1, 0, 0, 1, { 5, 7, ANY },
	  0, 0x40010000 },
	{ "E-39: Rev 2, nothing enhanced", 2, 0, 0, 1, { 5, 7, ANY },
	  3, 0x40020003 },
	{ "E-01 E-02 E-05 E-22 E-23: all kinds of RTR", 2, 1, 0, 1,
	  { 5, 7, ANY }, 0, 0x50020004, 0xc005c007 },
	{ "E-10 E-32 E-34: no RTR requested", 2, 1, 0, 1, { 5, 7, 0 },
	  0, 0x50020004, 0x00050007 },
	{ "E-10 E-22 E-23: RTR by Send", 2, 1, 0, 1, { 5, 7, BY_SEND },
	  0, 0x50020004, 0xc0050007 },
	{ "E-22 E-23: RTR by RDMA Write", 2, 1, 0, 1, { 5, 7, BY_WRITE },
	  0, 0x50020004, 0x80058007 },
	{ "E-22 E-23: RTR by RDMA Read", 2, 1, 0, 1, { 5, 7, BY_READ },
	  0, 0x50020004, 0x80054007 },
	{ "E-05 E-08: 508 octets of ULP private data",
	  2, 1, 0, 1, { 0, 0, BY_WRITE },
	  508, 0x50020200, 0x80008000 },
	{ "E-01 RF-06: markers, no CRC", 2, 1, 1, 0, { 1, 1, 0 },
	  1, 0x90020005, 0x00010001 },
	{ "E-18 E-20: IRD and ORD left to the ULP", 2, 1, 0, 1,
	  { ULP, ULP, BY_READ }, 0, 0x50020004, 0xbfff7fff },
};

KUNIT_ARRAY_PARAM_DESC(enh_request, enh_requests, desc);

static void enh_send_request(struct kunit *test)
{
	const struct enh_request *r = test->param_value;
	const struct mpa_local_params local = {
		.rev = r->rev, .enhanced = r->enhanced, .erd = r->erd,
		.markers = r->markers, .crc = r->crc,
	};
	struct mpa_frame frame;
	u8 wire[ENH_FRAME];

	memset(&frame, 0xff, sizeof(frame));
	memset(wire, 0, sizeof(wire));
	mpa_frame_request(&local, r->pd_len, &frame);
	mpa_frame_write(wire, &frame);
	KUNIT_EXPECT_EQ(test, 0, memcmp(wire, "MPA ID Req Frame", 16));
	KUNIT_EXPECT_EQ(test, r->fixed, enh_read_word(wire + 16));
	KUNIT_EXPECT_EQ(test, r->word, enh_read_word(wire + 20));
}

/* Replies sent: octets 16 to 23 */

struct enh_answer {
	const char		*desc;
	struct mpa_enhanced	can;
	u32			asked;		/* octets 20 to 23 of Request */
	bool			reject;
	u32			word;		/* octets 20 to 23 of Reply */
};

static const struct enh_answer enh_answers[] = {
	{ "E-12 E-33 E-34: ORD above the peer's IRD", { 9, 9, ANY },
	  0x00050007, 0, 0x00070005 },
	{ "E-12: ORD below the peer's IRD", { 9, 3, ANY },
	  0x00050007, 0, 0x00070003 },
	{ "E-12: IRD below the peer's ORD", { 2, 3, ANY },
	  0x00050007, 0, 0x00020003 },
	{ "E-12: peer's IRD 0", { 9, 9, ANY },
	  0x00000007, 0, 0x00070000 },
	{ "E-18: IRD left to the ULP", { 9, 3, ANY },
	  0x00053fff, 0, 0x3fff0003 },
	{ "E-20: ORD left to the ULP", { 9, 3, ANY },
	  0x3fff0007, 0, 0x00073fff },
	{ "E-18 E-20: IRD and ORD left to the ULP, rejected", { 9, 3, ANY },
	  0x3fff3fff, 1, 0x3fff3fff },
	{ "E-12: IRD and ORD 0x3FFF locally only", { ULP, ULP, ANY },
	  0x00050007, 0, 0x00070005 },
	{ "E-14 E-17: rejected, Reply with the Responder's own IRD and ORD",
	  { 2, 20, ANY },
	  0x00050007, 1, 0x00020014 },
	{ "E-25 E-26 E-27: all offered RTR kinds supported", { 9, 9, ANY },
	  0xc0050007, 0, 0xc0070005 },
	{ "E-25 E-26 E-27: some offered RTR kinds supported",
	  { 9, 9, BY_WRITE | BY_READ }, 0xc005c007, 0, 0x8007c005 },
	{ "E-26: one offered RTR kind supported",
	  { 9, 9, BY_WRITE }, 0xc005c007, 0,
	  0x80078005 },
	{ "E-28 E-29: no offered RTR kind supported",
	  { 9, 9, BY_WRITE | BY_READ },
	  0xc0050007, 0, 0x8007c005 },
	{ "E-29: no offered RTR kind supported, rejected", { 9, 9, BY_SEND },
	  0x80058007, 1, 0xc0090009 },
	{ "E-29 E-43: A without an RTR kind", { 9, 9, BY_SEND }, 0x80050007, 0,
	  0xc0070005 },
	{ "E-13: RTR by RDMA Read needs IRD 1",
	  { 9, 9, BY_READ }, 0x80054000, 0,
	  0x80014005 },
	{ "E-13: RTR by RDMA Read needs IRD 1, local IRD 0",
	  { 0, 9, BY_READ }, 0x80054007, 0, 0x80014005 },
	{ "E-13: no A, IRD 0", { 9, 9, BY_READ }, 0x00050000, 0,
	  0x00000005 },
	{ "E-13: RTR by RDMA Write, IRD 0", { 0, 9, ANY }, 0x80058007, 0,
	  0x80008005 },
	{ "E-33 E-34 E-35: B, C and D without A", { 9, 9, ANY },
	  0x4005c007, 0, 0x00070005 },
};

KUNIT_ARRAY_PARAM_DESC(enh_answer, enh_answers, desc);

static struct mpa_frame enh_frame(bool reply, u32 word)
{
	struct mpa_frame frame = {
		.reply = reply, .flags = 0x50, .rev = 2, .pd_len = 4,
	};
	u8 pd[4];

	enh_octets(pd, word);
	mpa_frame_read_erd(pd, &frame);
	return frame;
}

static void enh_send_reply(struct kunit *test)
{
	const struct enh_answer *a = test->param_value;
	const struct mpa_local_params local = {
		.rev = 2, .crc = true, .enhanced = true, .erd = a->can,
	};
	struct mpa_frame req = enh_frame(false, a->asked);
	u32 fixed = a->reject ? 0x70020011 : 0x50020011;
	struct mpa_frame frame;
	u8 wire[ENH_FRAME];

	memset(&frame, 0xff, sizeof(frame));
	mpa_frame_answer(&local, &req, a->reject, 13, &frame);
	mpa_frame_write(wire, &frame);
	KUNIT_EXPECT_EQ(test, 0, memcmp(wire, "MPA ID Rep Frame", 16));
	KUNIT_EXPECT_EQ(test, fixed, enh_read_word(wire + 16));
	KUNIT_EXPECT_EQ(test, a->word, enh_read_word(wire + 20));
}

/* Replies to Requests without enhanced data */

struct enh_plain {
	const char	*desc;
	u8		asked_flags;
	u8		asked_rev;
	bool		enhanced;	/* enhanced startup is supported */
	u32		fixed;		/* octets 16 to 19 */
};

static const struct enh_plain enh_plains[] = {
	{ "E-37 E-38: Rev 2 without S", 0x40, 2, 1, 0x40020000 },
	{ "E-38 E-39: Rev 2 without S, enhanced startup not supported",
	  0x40, 2, 0,
	  0x40020000 },
	{ "E-04 E-38: Rev 1", 0x40, 1, 1, 0x40010000 },
	{ "E-04 E-38 RF-15: Rev 1, reserved bit in place of S", 0x5f, 1, 1,
	  0x40010000 },
	{ "E-04 E-38 VN-11: Rev 0", 0xc0, 0, 1, 0xc0000000 },
	{ "E-38 VN-11 RF-15: Rev 0, reserved bit in place of S", 0xd0, 0, 1,
	  0xc0000000 },
};

KUNIT_ARRAY_PARAM_DESC(enh_plain, enh_plains, desc);

static void enh_reply_plain(struct kunit *test)
{
	const struct enh_plain *p = test->param_value;
	const struct mpa_local_params local = {
		.rev = 2, .crc = true, .enhanced = p->enhanced,
		.erd = { 5, 7, ANY },
	};
	const struct mpa_frame req = {
		.flags = p->asked_flags, .rev = p->asked_rev,
	};
	struct mpa_frame reply;
	struct mpa_terms terms;
	u8 wire[ENH_FRAME];

	memset(wire, 0x5a, sizeof(wire));
	KUNIT_EXPECT_EQ(test, MPA_REASON_NONE, mpa_frame_judge(&local, &req));
	mpa_frame_answer(&local, &req, false, 0, &reply);
	mpa_frame_write(wire, &reply);
	KUNIT_EXPECT_EQ(test, p->fixed, enh_read_word(wire + 16));
	KUNIT_EXPECT_NULL(test, memchr_inv(wire + 20, 0x5a, 4));
	KUNIT_EXPECT_EQ(test, MPA_REASON_NONE,
			mpa_frame_settle(&local, &reply, &req, &terms));
	KUNIT_EXPECT_EQ(test, p->asked_rev, terms.rev);
	KUNIT_EXPECT_FALSE(test, terms.enhanced);
	KUNIT_EXPECT_EQ(test, 0, terms.ird);
	KUNIT_EXPECT_EQ(test, 0, terms.ord);
	KUNIT_EXPECT_EQ(test, 0, terms.rtr);
}

/* Replies for all combinations of boundary values, by the rules of section 9 */

static const u16 enh_depths[] = { 0, 1, 7, 0x3ffe, ULP };

static u16 enh_want_depth(u16 ours, u16 asked, bool reject)
{
	if (asked == ULP)
		return ULP;
	if (reject || ours < asked)
		return ours;
	return asked;
}

static u32 enh_want_answer(const struct mpa_enhanced *can, bool a, u16 ird,
			   u16 ord, u8 rtr, bool reject)
{
	u16 want_ird = enh_want_depth(can->ird, ord, reject);
	u16 want_ord = enh_want_depth(can->ord, ird, reject);
	u8 want_rtr = can->rtr & rtr ? can->rtr & rtr : can->rtr;

	if (!a)
		return enh_word(false, want_ird, want_ord, 0);
	if (want_rtr & BY_READ && want_ird == 0)
		want_ird = 1;
	return enh_word(true, want_ird, want_ord, want_rtr);
}

static u32 enh_answer_to(const struct mpa_enhanced *can, u32 asked,
			 bool reject)
{
	const struct mpa_local_params local = {
		.rev = 2, .enhanced = true, .erd = *can,
	};
	struct mpa_frame req = enh_frame(false, asked);
	u8 wire[ENH_FRAME];
	struct mpa_frame reply;

	mpa_frame_answer(&local, &req, reject, 0, &reply);
	mpa_frame_write(wire, &reply);
	return enh_read_word(wire + 20);
}

/* Combination @i of four depths: the Initiator's two, the Responder's two */
static void enh_nth_depths(u32 i, u16 *depth)
{
	u32 k;

	for (k = 0; k < 4; k++) {
		depth[k] = enh_depths[i % ARRAY_SIZE(enh_depths)];
		i /= ARRAY_SIZE(enh_depths);
	}
}

enum {
	ENH_DEPTHS	= 5 * 5 * 5 * 5,
	/* RTR kinds of both ends (the Initiator's may be 0), A, rejected */
	ENH_KINDS	= 8 * 8 * 2 * 2,
};

static void enh_answer_case(struct kunit *test, u32 i, u32 k)
{
	bool a = k & 64, reject = k & 128;
	u8 rtr = k % 8, can_rtr = k / 8 % 8;
	struct mpa_enhanced can;
	u16 depth[4];
	u32 asked;

	if (!can_rtr)
		return;
	enh_nth_depths(i, depth);
	can = (struct mpa_enhanced) { depth[2], depth[3], can_rtr };
	asked = enh_word(a, depth[0], depth[1], rtr);
	KUNIT_ASSERT_EQ_MSG(test,
			    enh_want_answer(&can, a, depth[0], depth[1], rtr,
					    reject),
			    enh_answer_to(&can, asked, reject),
			    "asked %08x, IRD %u, ORD %u, kinds %u", asked,
			    can.ird, can.ord, can_rtr);
}

static void enh_all_answers(struct kunit *test)
{
	u32 i, k;

	for (i = 0; i < ENH_DEPTHS; i++)
		for (k = 0; k < ENH_KINDS; k++)
			enh_answer_case(test, i, k);
}

/* Frames accepted */

struct enh_verdict {
	const char	*desc;
	u8		rev;		/* local revision */
	bool		enhanced;
	bool		reply;
	u8		got_flags;
	u8		got_rev;
	u16		pd_len;
	enum mpa_reason	reason;
};

static const struct enh_verdict enh_verdicts[] = {
	{ "E-01 E-37: Request with S", 2, 1, false, 0x50, 2, 4,
	  MPA_REASON_NONE },
	{ "E-37: Reply with S", 2, 1, true, 0x50, 2, 4, MPA_REASON_NONE },
	{ "E-17: rejecting Reply with S", 2, 1, true, 0x70, 2, 4,
	  MPA_REASON_NONE },
	{ "E-08: Request with S, PD_Length 512", 2, 1, false, 0x50, 2, 512,
	  MPA_REASON_NONE },
	{ "E-08: Request with S, PD_Length 513", 2, 1, false, 0x50, 2, 513,
	  MPA_REASON_PD_LENGTH },
	{ "E-08: Reply with S, PD_Length 513", 2, 1, true, 0x50, 2, 513,
	  MPA_REASON_PD_LENGTH },
	{ "E-05 E-06 E-43: Request with S, PD_Length 0", 2, 1, false, 0x50, 2,
	  0, MPA_REASON_PD_LENGTH },
	{ "E-06: Request with S, PD_Length 1", 2, 1, false, 0x50, 2, 1,
	  MPA_REASON_PD_LENGTH },
	{ "E-06: Request with S, PD_Length 2", 2, 1, false, 0x50, 2, 2,
	  MPA_REASON_PD_LENGTH },
	{ "E-06: Request with S, PD_Length 3", 2, 1, false, 0x50, 2, 3,
	  MPA_REASON_PD_LENGTH },
	{ "E-06: Reply with S, PD_Length 0", 2, 1, true, 0x50, 2, 0,
	  MPA_REASON_PD_LENGTH },
	{ "E-06: Reply with S, PD_Length 1", 2, 1, true, 0x50, 2, 1,
	  MPA_REASON_PD_LENGTH },
	{ "E-06: Reply with S, PD_Length 2", 2, 1, true, 0x50, 2, 2,
	  MPA_REASON_PD_LENGTH },
	{ "E-06: Reply with S, PD_Length 3", 2, 1, true, 0x50, 2, 3,
	  MPA_REASON_PD_LENGTH },
	{ "E-37 E-42: Reply without S, Request with S", 2, 1, true, 0x40, 2, 4,
	  MPA_REASON_ENHANCED },
	{ "E-42 CS-27: rejecting Reply without S", 2, 1, true, 0x60, 2, 0,
	  MPA_REASON_NONE },
	{ "E-42 RF-22: rejecting Reply without S, PD_Length 513", 2, 1, true,
	  0x60, 2, 513, MPA_REASON_PD_LENGTH },
	{ "E-38 CS-27: rejecting Reply with S, Request without S", 2, 0, true,
	  0x70, 2, 4, MPA_REASON_NONE },
	{ "E-06: rejecting Reply with S, PD_Length 3", 2, 1, true, 0x70, 2,
	  3, MPA_REASON_PD_LENGTH },
	{ "E-38: Reply with S, Request without S", 2, 0, true, 0x50, 2, 4,
	  MPA_REASON_ENHANCED },
	{ "E-40: Request with S, not supported", 2, 0, false, 0x50, 2, 4,
	  MPA_REASON_ENHANCED },
	{ "E-40: Request with S, PD_Length 0, not supported", 2, 0, false,
	  0x50, 2, 0, MPA_REASON_ENHANCED },
	{ "E-40 RF-18: Request with S, local Rev 1", 1, 0, false, 0x50,
	  2, 4, MPA_REASON_REVISION },
	{ "E-38: Request Rev 2 without S", 2, 1, false, 0x40, 2, 0,
	  MPA_REASON_NONE },
	{ "E-39: Reply Rev 2 without S, Request without S",
	  2, 0, true, 0x40, 2, 0,
	  MPA_REASON_NONE },
	{ "E-39: Reply Rev 1, Request Rev 2 without S", 2, 0, true, 0x40, 1,
	  0, MPA_REASON_NONE },
	{ "E-02 E-42: Reply Rev 1, Request with S", 2, 1, true, 0x40, 1, 0,
	  MPA_REASON_REVISION },
	{ "E-02 E-42: Reply Rev 1 with S, Request with S", 2, 1, true, 0x50, 1,
	  4, MPA_REASON_REVISION },
	{ "E-02: Reply Rev 0, Request with S", 2, 1, true, 0xc0, 0, 0,
	  MPA_REASON_REVISION },
	{ "E-02 CS-27: rejecting Reply Rev 1, Request with S", 2, 1, true,
	  0x60, 1, 0, MPA_REASON_NONE },
	{ "E-02 CS-27: rejecting Reply Rev 0, Request with S", 2, 1, true,
	  0xe0, 0, 0, MPA_REASON_NONE },
	{ "E-02 RF-18: rejecting Reply Rev 3", 2, 1, true, 0x70, 3, 4,
	  MPA_REASON_REVISION },
	{ "E-04: Request Rev 1", 2, 1, false, 0x40, 1, 512, MPA_REASON_NONE },
	{ "E-02 E-04: Request Rev 1, reserved bit in place of S",
	  2, 1, false, 0x50,
	  1, 0, MPA_REASON_NONE },
	{ "E-04: Request Rev 1, enhanced startup not supported",
	  2, 0, false, 0x40, 1,
	  0, MPA_REASON_NONE },
	{ "E-02 RF-15: Request Rev 1, reserved bit in place of S, local Rev 1",
	  1, 0, false, 0x50,
	  1, 3, MPA_REASON_NONE },
	{ "E-02 RF-15: Reply Rev 1, reserved bit in place of S",
	  1, 0, true, 0x50,
	  1, 3, MPA_REASON_NONE },
	{ "E-02 VN-11: Request Rev 0, reserved bit in place of S",
	  2, 1, false, 0xd0,
	  0, 0, MPA_REASON_NONE },
	{ "E-02 RF-18: Request Rev 3", 2, 1, false, 0x50, 3, 4,
	  MPA_REASON_REVISION },
	{ "E-02 RF-18: Reply Rev 3", 2, 1, true, 0x50, 3, 4,
	  MPA_REASON_REVISION },
};

KUNIT_ARRAY_PARAM_DESC(enh_verdict, enh_verdicts, desc);

static void enh_judge(struct kunit *test)
{
	const struct enh_verdict *v = test->param_value;
	const struct mpa_local_params local = {
		.rev = v->rev, .enhanced = v->enhanced, .crc = true,
		.erd = { 5, 7, ANY },
	};
	const struct mpa_frame got = {
		.reply = v->reply, .flags = v->got_flags, .rev = v->got_rev,
		.pd_len = v->pd_len,
	};
	struct mpa_frame last;

	KUNIT_EXPECT_EQ(test, v->reason, mpa_frame_judge(&local, &got));
	KUNIT_EXPECT_FALSE(test, mpa_frame_refuse(&local, &got, &last));
}

/* Terms that the Initiator derives from the Reply */

struct enh_settle {
	const char		*desc;
	struct mpa_enhanced	want;
	u16			ird_max;
	u32			reply;
	enum mpa_reason		reason;
	u16			ird;
	u16			ord;
	u8			rtr;
};

static const struct enh_settle enh_settles[] = {
	{ "E-15: ORD limited to the Responder's IRD", { 5, 7, 0 }, 0,
	  0x00040005, MPA_REASON_NONE, 5, 4, 0 },
	{ "E-15: ORD does not grow", { 5, 7, 0 }, 0,
	  0x00090005, MPA_REASON_NONE, 5, 7, 0 },
	{ "E-15: ORD becomes 0", { 5, 7, 0 }, 0, 0x00000000,
	  MPA_REASON_NONE, 5, 0, 0 },
	{ "E-15: IRD grows to the Responder's ORD", { 5, 7, 0 }, 9,
	  0x00070009, MPA_REASON_NONE, 9, 7, 0 },
	{ "E-16: Responder's ORD above ird_max", { 5, 7, 0 }, 9,
	  0x0007000a, MPA_REASON_IRD, 10, 7, 0 },
	{ "E-16: Responder's ORD above IRD, no ird_max",
	  { 5, 7, 0 }, 0, 0x00070006,
	  MPA_REASON_IRD, 6, 7, 0 },
	{ "E-16: Responder's ORD above IRD, RTR kind not supported",
	  { 5, 7, BY_WRITE }, 0,
	  0xc0070006, MPA_REASON_IRD, 6, 7, 0 },
	{ "E-16: Responder's ORD 0x3FFE, ird_max 0x3FFD",
	  { 0x3ffd, 7, 0 }, 0x3ffd, 0x00073ffe,
	  MPA_REASON_IRD, 0x3ffe, 7, 0 },
	{ "E-19: Responder's IRD 0x3FFF, ORD unchanged", { 5, 7, 0 }, 0,
	  0x3fff0005, MPA_REASON_NONE, 5, 7, 0 },
	{ "E-21: Responder's ORD 0x3FFF, IRD unchanged", { 5, 7, 0 }, 0,
	  0x00073fff, MPA_REASON_NONE, 5, 7, 0 },
	{ "E-18 E-19 E-20 E-21: IRD and ORD left to the ULP",
	  { ULP, ULP, 0 }, 0,
	  0x3fff3fff, MPA_REASON_NONE, ULP, ULP, 0 },
	{ "E-15: ORD left to the ULP, limited by the Responder",
	  { 5, ULP, 0 }, 0, 0x00030005, MPA_REASON_NONE, 5, 3, 0 },
	{ "E-30: RTR by Send", { 5, 7, BY_SEND }, 0, 0xc0070005,
	  MPA_REASON_NONE, 5, 7, BY_SEND },
	{ "E-30: RTR by RDMA Write", { 5, 7, BY_WRITE }, 0, 0x80078005,
	  MPA_REASON_NONE, 5, 7, BY_WRITE },
	{ "E-30: RTR by RDMA Read", { 5, 7, BY_READ }, 0, 0x80074005,
	  MPA_REASON_NONE, 5, 7, BY_READ },
	{ "E-30: RDMA Write preferred to RDMA Read and Send",
	  { 5, 7, ANY }, 0, 0xc007c005,
	  MPA_REASON_NONE, 5, 7, BY_WRITE },
	{ "E-30: RDMA Read preferred to Send", { 5, 7, ANY }, 0, 0xc0074005,
	  MPA_REASON_NONE, 5, 7, BY_READ },
	{ "E-28 E-30: only the RTR kind supported is used",
	  { 5, 7, BY_SEND }, 0, 0xc007c005,
	  MPA_REASON_NONE, 5, 7, BY_SEND },
	{ "E-31: no RTR kind supported", { 5, 7, BY_SEND }, 0, 0x8007c005,
	  MPA_REASON_RTR, 5, 7, 0 },
	{ "E-31 E-43: A without an RTR kind", { 5, 7, ANY }, 0, 0x80070005,
	  MPA_REASON_RTR, 5, 7, 0 },
	{ "E-25 E-31 E-42: Reply without A, Request with A",
	  { 5, 7, ANY }, 0, 0x00070005,
	  MPA_REASON_RTR, 5, 7, 0 },
	{ "E-35 E-42: B, C and D without A", { 5, 7, ANY }, 0, 0x4007c005,
	  MPA_REASON_RTR, 5, 7, 0 },
	{ "E-33: Reply with A, Request without A", { 5, 7, 0 }, 0, 0xc007c005,
	  MPA_REASON_RTR, 5, 7, 0 },
	{ "E-35: B, C and D without A, Request without A", { 5, 7, 0 }, 0,
	  0x4007c005, MPA_REASON_NONE, 5, 7, 0 },
};

KUNIT_ARRAY_PARAM_DESC(enh_settle, enh_settles, desc);

static enum mpa_reason enh_initiate(const struct mpa_enhanced *want,
				    u16 ird_max, u32 word,
				    struct mpa_terms *terms)
{
	const struct mpa_local_params local = {
		.rev = 2, .crc = true, .enhanced = true, .erd = *want,
		.ird_max = ird_max,
	};
	struct mpa_frame reply = enh_frame(true, word);
	struct mpa_frame req;

	mpa_frame_request(&local, 0, &req);
	return mpa_frame_settle(&local, &req, &reply, terms);
}

static void enh_settle_initiator(struct kunit *test)
{
	const struct enh_settle *s = test->param_value;
	struct mpa_terms terms;

	KUNIT_EXPECT_EQ(test, s->reason,
			enh_initiate(&s->want, s->ird_max, s->reply, &terms));
	KUNIT_EXPECT_EQ(test, 2, terms.rev);
	KUNIT_EXPECT_TRUE(test, terms.enhanced);
	KUNIT_EXPECT_TRUE(test, terms.crc);
	KUNIT_EXPECT_EQ(test, s->ird, terms.ird);
	KUNIT_EXPECT_EQ(test, s->ord, terms.ord);
	KUNIT_EXPECT_EQ(test, s->rtr, terms.rtr);
}

/* All enhanced data of a Reply, valid or not, by the rules of section 9 */

static enum mpa_reason enh_want_depths(const struct mpa_enhanced *want,
				       u16 ird_max, u16 ird, u16 ord,
				       struct mpa_terms *terms)
{
	terms->ord = want->ord;
	terms->ird = want->ird;
	if (ird != ULP && ird < want->ord)
		terms->ord = ird;
	if (ord == ULP || ord <= want->ird)
		return MPA_REASON_NONE;
	terms->ird = ord;
	return ord > ird_max ? MPA_REASON_IRD : MPA_REASON_NONE;
}

/* Kinds in order of preference; an IRD of 0 makes RDMA Read the last. */
static enum mpa_reason enh_want_rtr(u8 offered, bool a, u8 flagged, u16 ird,
				    struct mpa_terms *terms)
{
	u8 order[] = { BY_WRITE, BY_READ, BY_SEND };
	u32 i;

	if (!ird)
		swap(order[1], order[2]);
	if (!offered || !a)
		return !offered == !a ? MPA_REASON_NONE : MPA_REASON_RTR;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (offered & order[i] && flagged & order[i]) {
			terms->rtr = order[i];
			return MPA_REASON_NONE;
		}
	return MPA_REASON_RTR;
}

static void enh_settle_case(struct kunit *test, u32 i, u32 k)
{
	u16 ird_max = k & 128 ? 7 : 0;
	u8 offered = k % 8, flagged = k / 8 % 8;
	struct mpa_terms want = {}, terms;
	struct mpa_enhanced erd;
	enum mpa_reason reason;
	bool a = k & 64;
	u16 depth[4];
	u32 word;

	enh_nth_depths(i, depth);
	erd = (struct mpa_enhanced) { depth[0], depth[1], offered };
	word = enh_word(a, depth[2], depth[3], flagged);
	reason = enh_want_depths(&erd, ird_max, depth[2], depth[3], &want);
	if (!reason)
		reason = enh_want_rtr(offered, a, flagged, depth[2], &want);
	KUNIT_ASSERT_EQ_MSG(test, reason,
			    enh_initiate(&erd, ird_max, word, &terms),
			    "reply %08x, IRD %u to %u, kinds %u", word, erd.ird,
			    ird_max, offered);
	KUNIT_ASSERT_EQ(test, want.ird, terms.ird);
	KUNIT_ASSERT_EQ(test, want.ord, terms.ord);
	KUNIT_ASSERT_EQ(test, want.rtr, terms.rtr);
}

static void enh_all_replies(struct kunit *test)
{
	u32 i, k;

	for (i = 0; i < ENH_DEPTHS; i++)
		for (k = 0; k < ENH_KINDS; k++)
			enh_settle_case(test, i, k);
}

/* Two ends of MPA: neither exceeds the other's IRD, both agree */

static bool enh_within(u16 ord, u16 ird)
{
	return ord <= ird || ord == ULP || ird == ULP;
}

static void enh_pair_case(struct kunit *test, u32 i, u32 k)
{
	struct mpa_local_params ini = { .rev = 2, .enhanced = true };
	struct mpa_local_params resp = { .rev = 2, .enhanced = true };
	struct mpa_terms at_ini, at_resp;
	struct mpa_frame req, reply;
	enum mpa_reason reason;
	u16 depth[4];

	enh_nth_depths(i, depth);
	ini.erd = (struct mpa_enhanced) { depth[0], depth[1], k % 8 };
	resp.erd = (struct mpa_enhanced) { depth[2], depth[3], k / 8 };
	mpa_frame_request(&ini, 0, &req);
	mpa_frame_answer(&resp, &req, false, 0, &reply);
	KUNIT_ASSERT_EQ(test, 0, mpa_frame_judge(&resp, &req));
	KUNIT_ASSERT_EQ(test, 0, mpa_frame_judge(&ini, &reply));
	KUNIT_ASSERT_EQ(test, 0,
			mpa_frame_settle(&resp, &reply, &req, &at_resp));
	reason = mpa_frame_settle(&ini, &req, &reply, &at_ini);
	KUNIT_ASSERT_EQ(test, reason == MPA_REASON_RTR,
			ini.erd.rtr && !(ini.erd.rtr & resp.erd.rtr));
	KUNIT_ASSERT_NE(test, MPA_REASON_IRD, reason);
	KUNIT_ASSERT_TRUE(test, enh_within(at_ini.ord, at_resp.ird));
	KUNIT_ASSERT_TRUE(test, enh_within(at_resp.ord, at_ini.ird));
	KUNIT_ASSERT_EQ(test, at_ini.rtr, at_ini.rtr & at_resp.rtr);
	KUNIT_ASSERT_EQ(test, !ini.erd.rtr, !at_resp.rtr);
	KUNIT_ASSERT_EQ(test, !reason && ini.erd.rtr, !!at_ini.rtr);
}

static void enh_all_pairs(struct kunit *test)
{
	u32 i, k;

	for (i = 0; i < ENH_DEPTHS; i++)
		for (k = 8; k < 64; k++)
			enh_pair_case(test, i, k);
}

/* The Responder's own terms: taken from its Reply, or unchanged */

struct enh_own {
	const char		*desc;
	struct mpa_enhanced	can;
	u32			asked;
	u16			ird;
	u16			ord;
	u8			rtr;
};

static const struct enh_own enh_owns[] = {
	{ "E-12: IRD and ORD of its Reply",
	  { 9, 9, BY_WRITE }, 0x80058007, 7, 5,
	  BY_WRITE },
	{ "E-18: ORD 0x3FFF in the Reply, IRD unchanged",
	  { 9, 9, ANY }, 0x00053fff,
	  9, 5, 0 },
	{ "E-20: IRD 0x3FFF in the Reply, ORD unchanged",
	  { 9, 9, ANY }, 0x3fff0007,
	  7, 9, 0 },
	{ "E-13: IRD 1 for an RTR by RDMA Read",
	  { 9, 9, BY_READ }, 0x80054000, 1,
	  5, BY_READ },
	{ "E-30: all RTR kinds of the Reply", { 9, 9, BY_SEND | BY_READ },
	  0xc005c007, 7, 5, BY_SEND | BY_READ },
	{ "E-35: no RTR without A", { 9, 9, ANY }, 0x4005c007, 7, 5, 0 },
};

KUNIT_ARRAY_PARAM_DESC(enh_own, enh_owns, desc);

static void enh_settle_responder(struct kunit *test)
{
	const struct enh_own *o = test->param_value;
	const struct mpa_local_params local = {
		.rev = 2, .enhanced = true, .erd = o->can,
	};
	struct mpa_frame req = enh_frame(false, o->asked);
	struct mpa_frame reply;
	struct mpa_terms terms;

	mpa_frame_answer(&local, &req, false, 0, &reply);
	KUNIT_EXPECT_EQ(test, MPA_REASON_NONE,
			mpa_frame_settle(&local, &reply, &req, &terms));
	KUNIT_EXPECT_TRUE(test, terms.enhanced);
	KUNIT_EXPECT_EQ(test, o->ird, terms.ird);
	KUNIT_EXPECT_EQ(test, o->ord, terms.ord);
	KUNIT_EXPECT_EQ(test, o->rtr, terms.rtr);
}

/* Consumers put these numbers into Terminate messages unchanged. */
static void enh_codes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 5, MPA_ERR_LOCAL);
	KUNIT_EXPECT_EQ(test, 6, MPA_ERR_IRD);
	KUNIT_EXPECT_EQ(test, 7, MPA_ERR_RTR);
}

static struct kunit_case enh_cases[] = {
	KUNIT_CASE_PARAM(enh_read, enh_data_gen_params),
	KUNIT_CASE_PARAM(enh_write, enh_data_gen_params),
	MPA_CASE(enh_all_words, "E-07 E-35: all 16-bit values of either half"),
	MPA_CASE(enh_not_written,
		 "E-02 E-39: no enhanced data without S or in Rev 1"),
	KUNIT_CASE_PARAM(enh_send_request, enh_request_gen_params),
	KUNIT_CASE_PARAM(enh_send_reply, enh_answer_gen_params),
	KUNIT_CASE_PARAM(enh_reply_plain, enh_plain_gen_params),
	MPA_CASE(enh_all_answers,
		 "E-12 E-18 E-20 E-25 E-26 E-27 E-29 E-33 E-34: all Replies"),
	KUNIT_CASE_PARAM(enh_judge, enh_verdict_gen_params),
	KUNIT_CASE_PARAM(enh_settle_initiator, enh_settle_gen_params),
	MPA_CASE(enh_all_replies,
		 "E-15 E-16 E-19 E-21 E-30 E-31 E-43: all Replies received"),
	KUNIT_CASE_PARAM(enh_settle_responder, enh_own_gen_params),
	MPA_CASE(enh_all_pairs, "E-12 E-15 E-24 E-29: all pairs of ends"),
	MPA_CASE(enh_codes, "E-44: values of the error codes"),
	{}
};

static struct kunit_suite enh_suite = {
	.name = "mpa_enhanced",
	.test_cases = enh_cases,
};

kunit_test_suite(enh_suite);
