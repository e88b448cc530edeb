// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Request and Reply frames, and the terms that two ends negotiate with them. */
#include <kunit/test.h>
#include <linux/string.h>
#include "mpa_case.h"
#include "mpa_frame.h"
#include "mpa_ref.h"
#include "mpa_vectors.h"

static const u8 cm_request_key[16] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
};

static const u8 cm_reply_key[16] = {
	0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
	0x65, 0x70, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
};

static void cm_octets(u8 *to, bool reply, u8 flags, u8 rev, u16 pd_len)
{
	memcpy(to, reply ? cm_reply_key : cm_request_key, 16);
	to[16] = flags;
	to[17] = rev;
	to[18] = pd_len >> 8;
	to[19] = pd_len;
}

/* Known answers */

KUNIT_ARRAY_PARAM_DESC(frame_vector, mpa_frame_vectors, desc);

static void cm_known_frame(struct kunit *test)
{
	const struct mpa_frame_vector *v = test->param_value;
	struct mpa_local_params local = {
		.rev = 1, .crc = true, .strict = v->strict,
	};
	enum mpa_reason reason = MPA_REASON_NONE;
	struct mpa_frame frame;
	u8 wire[1024];
	int err;

	KUNIT_ASSERT_LE(test, v->size, sizeof(wire));
	mpa_ref_unhex(wire, v->wire);
	err = mpa_frame_read(wire, 20, v->reply, &frame, &reason);
	if (err) {
		KUNIT_EXPECT_EQ(test, -EBADMSG, err);
		KUNIT_EXPECT_FALSE(test, v->valid);
		KUNIT_EXPECT_NE(test, MPA_REASON_NONE, reason);
		return;
	}
	KUNIT_EXPECT_EQ(test, v->reply, frame.reply);
	KUNIT_EXPECT_EQ(test, wire[16], frame.flags);
	KUNIT_EXPECT_EQ(test, wire[17], frame.rev);
	KUNIT_EXPECT_EQ(test, v->size, 20 + frame.pd_len);
	reason = mpa_frame_judge(&local, &frame);
	KUNIT_EXPECT_EQ(test, v->valid, reason == MPA_REASON_NONE);
}

/* The key */

struct cm_role {
	const char	*desc;
	bool		reply;
};

static const struct cm_role cm_roles[] = {
	{ "RF-03: Responder, Request expected", false },
	{ "RF-05: Initiator, Reply expected", true },
};

KUNIT_ARRAY_PARAM_DESC(cm_role, cm_roles, desc);

/* A wrong octet fails as it arrives; the tenth tells Reply from Request. */
static void cm_wrong_key(struct kunit *test)
{
	const struct cm_role *r = test->param_value;
	enum mpa_reason reason;
	struct mpa_frame frame;
	u8 wire[20];
	u32 have;
	u32 bit;

	for (bit = 0; bit < 16 * 8; bit++) {
		cm_octets(wire, r->reply, 0x40, 1, 0);
		wire[bit / 8] ^= 1 << bit % 8;
		for (have = 0; have <= 20; have++) {
			reason = MPA_REASON_NONE;
			if (have <= bit / 8) {
				KUNIT_ASSERT_EQ(test, -EAGAIN,
						mpa_frame_read(wire, have,
							       r->reply,
							       &frame,
							       &reason));
				continue;
			}
			KUNIT_ASSERT_EQ(test, -EBADMSG,
					mpa_frame_read(wire, have, r->reply,
						       &frame, &reason));
			/* 'p' and 'q' differ in one bit */
			KUNIT_ASSERT_EQ(test,
					bit == 9 * 8 ? MPA_REASON_ROLE :
						       MPA_REASON_KEY,
					reason);
		}
	}
}

/* Two Initiators or two Responders: an error as of the tenth octet. */
static void cm_wrong_role(struct kunit *test)
{
	const struct cm_role *r = test->param_value;
	enum mpa_reason reason;
	struct mpa_frame frame;
	u8 wire[20];
	u32 have;
	int err;

	cm_octets(wire, !r->reply, 0x40, 1, 0);
	for (have = 0; have <= 20; have++) {
		reason = MPA_REASON_NONE;
		err = mpa_frame_read(wire, have, r->reply, &frame, &reason);
		KUNIT_EXPECT_EQ(test, have < 10 ? -EAGAIN : -EBADMSG, err);
		if (have >= 10)
			KUNIT_EXPECT_EQ(test, MPA_REASON_ROLE, reason);
	}
}

/* A frame is read only once all of its 20 octets have arrived. */
static void cm_in_parts(struct kunit *test)
{
	const struct cm_role *r = test->param_value;
	enum mpa_reason reason = MPA_REASON_NONE;
	struct mpa_frame frame;
	u8 wire[20];
	u32 have;

	cm_octets(wire, r->reply, 0xff, 0xfe, 0xfdfc);
	for (have = 0; have < 20; have++) {
		memset(&frame, 0x5a, sizeof(frame));
		KUNIT_EXPECT_EQ(test, -EAGAIN,
				mpa_frame_read(wire, have, r->reply, &frame,
					       &reason));
		KUNIT_EXPECT_EQ(test, 0x5a, frame.rev);
	}
	KUNIT_ASSERT_EQ(test, 0,
			mpa_frame_read(wire, have, r->reply, &frame, &reason));
	KUNIT_EXPECT_EQ(test, r->reply, frame.reply);
	KUNIT_EXPECT_EQ(test, 0xff, frame.flags);
	KUNIT_EXPECT_EQ(test, 0xfe, frame.rev);
	KUNIT_EXPECT_EQ(test, 0xfdfc, frame.pd_len);
	KUNIT_EXPECT_EQ(test, MPA_REASON_NONE, reason);
}

/* Frames sent: every octet */

struct cm_sent {
	const char	*desc;
	u8		rev;
	bool		markers;
	bool		crc;
	bool		reject;
	u16		pd_len;
	u8		asked_flags;	/* in the Request; for Replies */
	u8		asked_rev;
	u8		flags;		/* in the frame sent */
	u8		want_rev;
};

static const struct cm_sent cm_requests[] = {
	{
		.desc = "RF-01 RF-02 RF-16 CR-04 RF-11 RF-14 VN-01: Rev 1",
		.rev = 1, .crc = true,
		.flags = 0x40, .want_rev = 1,
	},
	{
		.desc = "RF-06 RF-14: Rev 1, markers",
		.rev = 1, .crc = true, .markers = true,
		.flags = 0xc0, .want_rev = 1,
	},
	{
		.desc = "CR-03 RF-11 VN-01: Rev 1, CRC off by administrator",
		.rev = 1,
		.flags = 0x00, .want_rev = 1,
	},
	{
		.desc = "RF-20 RF-21: Rev 1, private data",
		.rev = 1, .crc = true, .pd_len = 0x0102,
		.flags = 0x40, .want_rev = 1,
	},
	{
		.desc = "VN-01 VN-16 VN-07: Rev 0 always has M and C",
		.rev = 0,
		.flags = 0xc0, .want_rev = 0,
	},
};

KUNIT_ARRAY_PARAM_DESC(cm_request, cm_requests, desc);

static struct mpa_local_params cm_local(const struct cm_sent *s)
{
	return (struct mpa_local_params) {
		.rev = s->rev, .markers = s->markers, .crc = s->crc,
	};
}

static void cm_expect_sent(struct kunit *test, const struct cm_sent *s,
			   const struct mpa_frame *frame, bool reply)
{
	struct mpa_rr rr;
	u8 want[20];

	memset(&rr, 0xff, sizeof(rr));
	mpa_frame_write(&rr, frame);
	cm_octets(want, reply, s->flags, s->want_rev, s->pd_len);
	KUNIT_EXPECT_EQ(test, sizeof(want), sizeof(rr));
	KUNIT_EXPECT_MEMEQ(test, &rr, want, sizeof(want));
}

static void cm_send_request(struct kunit *test)
{
	const struct cm_sent *s = test->param_value;
	struct mpa_local_params local = cm_local(s);
	struct mpa_frame frame;

	memset(&frame, 0xff, sizeof(frame));
	mpa_frame_request(&local, s->pd_len, &frame);
	cm_expect_sent(test, s, &frame, false);
}

static const struct cm_sent cm_replies[] = {
	{
		.desc = "RF-01 RF-04 RF-13 RF-16: Rev 1, accepted",
		.rev = 1, .crc = true,
		.asked_flags = 0x40, .asked_rev = 1,
		.flags = 0x40, .want_rev = 1,
	},
	{
		.desc = "RF-13: Rev 1, rejected, private data",
		.rev = 1, .crc = true, .reject = true, .pd_len = 512,
		.asked_flags = 0x40, .asked_rev = 1,
		.flags = 0x60, .want_rev = 1,
	},
	{
		.desc = "RF-06 MK-21: M set, Request without M",
		.rev = 1, .crc = true, .markers = true,
		.asked_flags = 0x40, .asked_rev = 1,
		.flags = 0xc0, .want_rev = 1,
	},
	{
		.desc = "RF-06 MK-21: M clear, Request with M",
		.rev = 1, .crc = true,
		.asked_flags = 0xc0, .asked_rev = 1,
		.flags = 0x40, .want_rev = 1,
	},
	{
		.desc = "RF-14: other bits of the Request not copied",
		.rev = 1, .crc = true,
		.asked_flags = 0x7f, .asked_rev = 1,
		.flags = 0x40, .want_rev = 1,
	},
	{
		.desc = "RF-10: C set, Request with C, local CRC off",
		.rev = 1,
		.asked_flags = 0x40, .asked_rev = 1,
		.flags = 0x40, .want_rev = 1,
	},
	{
		.desc = "RF-09 CR-03: C clear, CRC off at both ends",
		.rev = 1,
		.asked_flags = 0x00, .asked_rev = 1,
		.flags = 0x00, .want_rev = 1,
	},
	{
		.desc = "CR-05: C set, Request without C",
		.rev = 1, .crc = true,
		.asked_flags = 0x00, .asked_rev = 1,
		.flags = 0x40, .want_rev = 1,
	},
	{
		.desc = "VN-11 VN-13: Request Rev 0, M and C always set",
		.rev = 1,
		.asked_flags = 0x00, .asked_rev = 0,
		.flags = 0xc0, .want_rev = 0,
	},
	{
		.desc = "VN-11: Request Rev 0, rejected",
		.rev = 1, .crc = true, .reject = true,
		.asked_flags = 0xc0, .asked_rev = 0,
		.flags = 0xe0, .want_rev = 0,
	},
	{
		.desc = "VN-05 VN-15: local Rev 0, Request Rev 1",
		.rev = 0,
		.asked_flags = 0x40, .asked_rev = 1,
		.flags = 0xc0, .want_rev = 0,
	},
};

KUNIT_ARRAY_PARAM_DESC(cm_reply, cm_replies, desc);

static void cm_send_reply(struct kunit *test)
{
	const struct cm_sent *s = test->param_value;
	const struct mpa_frame req = {
		.flags = s->asked_flags, .rev = s->asked_rev, .pd_len = 77,
	};
	struct mpa_local_params local = cm_local(s);
	struct mpa_frame frame;

	memset(&frame, 0xff, sizeof(frame));
	mpa_frame_answer(&local, &req, s->reject, s->pd_len, &frame);
	cm_expect_sent(test, s, &frame, true);
}

/* Frames accepted */

struct cm_verdict {
	const char	*desc;
	u8		rev;		/* local revision */
	bool		strict;
	u16		pd_max;
	bool		reply;
	u8		got_flags;
	u8		got_rev;
	u16		pd_len;
	enum mpa_reason	reason;
	int		last_reply;	/* octets 16, 17; -1: no Reply */
};

static const struct cm_verdict cm_verdicts[] = {
	{
		.desc = "RF-17 RF-19: Request Rev 1",
		.rev = 1, .got_rev = 1,
		.last_reply = -1,
	},
	{
		.desc = "RF-12 RF-15: Request, all other bits set",
		.rev = 1, .got_rev = 1, .got_flags = 0x3f,
		.last_reply = -1,
	},
	{
		.desc = "RF-15: Reply, reserved bits set",
		.rev = 1, .reply = true, .got_rev = 1, .got_flags = 0x1f,
		.last_reply = -1,
	},
	{
		.desc = "VN-02 VN-11: Request Rev 0, permissive",
		.rev = 1, .got_rev = 0,
		.last_reply = -1,
	},
	{
		.desc = "VN-09 RF-18: Request Rev 0, strict",
		.rev = 1, .strict = true, .got_rev = 0,
		.reason = MPA_REASON_REVISION,
		.last_reply = 0x6001,
	},
	{
		.desc = "VN-09: Request Rev 0, strict, local Rev 2",
		.rev = 2, .strict = true, .got_rev = 0,
		.reason = MPA_REASON_REVISION,
		.last_reply = 0x6001,
	},
	{
		.desc = "RF-18: Request Rev 2",
		.rev = 1, .got_rev = 2,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "RF-18: Request Rev 255, private data too long",
		.rev = 1, .strict = true, .got_rev = 255, .pd_len = 600,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "VN-15: local Rev 0, Request Rev 1",
		.rev = 0, .got_rev = 1,
		.last_reply = -1,
	},
	{
		.desc = "VN-15: local Rev 0 and strict, Request Rev 0",
		.rev = 0, .strict = true, .got_rev = 0,
		.last_reply = -1,
	},
	{
		.desc = "RF-18: local Rev 0, Request Rev 2",
		.rev = 0, .got_rev = 2,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "VN-14: Reply Rev 0, permissive",
		.rev = 1, .reply = true, .got_rev = 0,
		.last_reply = -1,
	},
	{
		.desc = "RF-18: Reply Rev 0, strict",
		.rev = 1, .strict = true, .reply = true, .got_rev = 0,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "VN-14: Reply Rev 0, Request Rev 2 without S",
		.rev = 2, .reply = true, .got_rev = 0,
		.last_reply = -1,
	},
	{
		.desc = "VN-10: Reply Rev 0, strict, Request Rev 2 without S",
		.rev = 2, .strict = true, .reply = true, .got_rev = 0,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "CS-27: rejecting Reply Rev 0, strict",
		.rev = 1, .strict = true, .reply = true, .got_rev = 0,
		.got_flags = 0xe0,
		.last_reply = -1,
	},
	{
		.desc = "RF-18: rejecting Reply Rev 2",
		.rev = 1, .reply = true, .got_rev = 2, .got_flags = 0x20,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "RF-18: Reply Rev 2",
		.rev = 1, .reply = true, .got_rev = 2,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "VN-18 RF-18: local Rev 0, Reply Rev 1",
		.rev = 0, .reply = true, .got_rev = 1,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "local Rev 0, rejecting Reply Rev 1",
		.rev = 0, .reply = true, .got_rev = 1, .got_flags = 0x20,
		.reason = MPA_REASON_REVISION,
		.last_reply = -1,
	},
	{
		.desc = "RF-13: rejecting Reply Rev 1",
		.rev = 1, .reply = true, .got_rev = 1, .got_flags = 0x20,
		.pd_len = 512,
		.last_reply = -1,
	},
	{
		.desc = "RF-21: Request, 512 octets of private data",
		.rev = 1, .got_rev = 1, .pd_len = 512,
		.last_reply = -1,
	},
	{
		.desc = "RF-22 RF-24: Request, 513 octets",
		.rev = 1, .got_rev = 1, .pd_len = 513,
		.reason = MPA_REASON_PD_LENGTH,
		.last_reply = -1,
	},
	{
		.desc = "RF-22 RF-26: Reply, 65535 octets",
		.rev = 1, .reply = true, .got_rev = 1, .pd_len = 65535,
		.reason = MPA_REASON_PD_LENGTH,
		.last_reply = -1,
	},
	{
		.desc = "RF-22: Request Rev 1, limit for Rev 0 above 512",
		.rev = 1, .pd_max = 65535, .got_rev = 1, .pd_len = 513,
		.reason = MPA_REASON_PD_LENGTH,
		.last_reply = -1,
	},
	{
		.desc = "RF-21: Request Rev 1, limit for Rev 0 below 512",
		.rev = 1, .pd_max = 10, .got_rev = 1, .pd_len = 512,
		.last_reply = -1,
	},
	{
		.desc = "RF-21: Request Rev 0, up to the limit",
		.rev = 1, .pd_max = 2000, .got_rev = 0, .pd_len = 2000,
		.last_reply = -1,
	},
	{
		.desc = "RF-25: Request Rev 0, above the limit",
		.rev = 1, .pd_max = 2000, .got_rev = 0, .pd_len = 2001,
		.reason = MPA_REASON_PD_LENGTH,
		.last_reply = -1,
	},
	{
		.desc = "RF-25: Request Rev 0, above a low limit",
		.rev = 0, .pd_max = 10, .got_rev = 0, .pd_len = 11,
		.reason = MPA_REASON_PD_LENGTH,
		.last_reply = -1,
	},
	{
		.desc = "RF-21: Request Rev 0, no limit given, 512 octets",
		.rev = 1, .got_rev = 0, .pd_len = 512,
		.last_reply = -1,
	},
	{
		.desc = "RF-22: Request Rev 0, no limit given, 513 octets",
		.rev = 1, .got_rev = 0, .pd_len = 513,
		.reason = MPA_REASON_PD_LENGTH,
		.last_reply = -1,
	},
};

KUNIT_ARRAY_PARAM_DESC(cm_verdict, cm_verdicts, desc);

static void cm_judge(struct kunit *test)
{
	const struct cm_verdict *v = test->param_value;
	struct mpa_local_params local = {
		.rev = v->rev, .strict = v->strict, .pd_max = v->pd_max,
		.crc = true,
	};
	struct mpa_frame got = {
		.reply = v->reply, .flags = v->got_flags, .rev = v->got_rev,
		.pd_len = v->pd_len,
	};
	struct mpa_frame last;
	u8 want[20];
	u8 have[20];

	KUNIT_EXPECT_EQ(test, v->reason, mpa_frame_judge(&local, &got));
	KUNIT_ASSERT_EQ(test, v->last_reply != -1,
			mpa_frame_refuse(&local, &got, &last));
	if (v->last_reply == -1)
		return;
	mpa_frame_write((struct mpa_rr *)have, &last);
	cm_octets(want, true, (u16)v->last_reply >> 8, v->last_reply, 0);
	KUNIT_EXPECT_MEMEQ(test, have, want, sizeof(want));
}

/* Figures 15 to 17: the terms of each pair of ends */

enum cm_type { RDMAC, STRICT, PERMISSIVE };

struct cm_pair {
	const char	*desc;
	enum cm_type	ini;
	bool		ini_m;
	enum cm_type	resp;
	bool		resp_m;
	int		version;	/* -1: no connection */
	bool		m_to_ini;
	bool		m_to_resp;
};

static const struct cm_pair cm_pairs[] = {
	{ "VN-06: RDMAC, RDMAC", RDMAC, 1, RDMAC, 1,
	  0, 1, 1 },
	{ "VN-09: RDMAC, strict M=0", RDMAC, 1, STRICT, 0, -1 },
	{ "VN-09: RDMAC, strict M=1", RDMAC, 1, STRICT, 1, -1 },
	{ "VN-06: strict M=0, RDMAC", STRICT, 0, RDMAC, 1, -1 },
	{ "VN-06: strict M=1, RDMAC", STRICT, 1, RDMAC, 1, -1 },
	{ "VN-06: strict M=0, strict M=0", STRICT, 0, STRICT, 0, 1, 0, 0 },
	{ "VN-06: strict M=0, strict M=1", STRICT, 0, STRICT, 1, 1, 0, 1 },
	{ "VN-06: strict M=1, strict M=0", STRICT, 1, STRICT, 0, 1, 1, 0 },
	{ "VN-06: strict M=1, strict M=1", STRICT, 1, STRICT, 1, 1, 1, 1 },
	{ "VN-11 VN-13: RDMAC, permissive M=0", RDMAC, 1,
	  PERMISSIVE, 0, 0, 1, 1 },
	{ "VN-11: RDMAC, permissive M=1", RDMAC, 1, PERMISSIVE, 1, 0, 1, 1 },
	{ "VN-05 VN-14: permissive M=0, RDMAC", PERMISSIVE, 0, RDMAC, 1,
	  0, 1, 1 },
	{ "VN-05 VN-14: permissive M=1, RDMAC", PERMISSIVE, 1, RDMAC, 1,
	  0, 1, 1 },
	{ "VN-06: permissive M=0, permissive M=0", PERMISSIVE, 0,
	  PERMISSIVE, 0, 1, 0, 0 },
	{ "VN-06: permissive M=0, permissive M=1", PERMISSIVE, 0,
	  PERMISSIVE, 1, 1, 0, 1 },
	{ "VN-06: permissive M=1, permissive M=0", PERMISSIVE, 1,
	  PERMISSIVE, 0, 1, 1, 0 },
	{ "VN-06: permissive M=1, permissive M=1", PERMISSIVE, 1,
	  PERMISSIVE, 1, 1, 1, 1 },
	{ "VN-17: strict M=0, permissive M=0", STRICT, 0, PERMISSIVE, 0,
	  1, 0, 0 },
	{ "VN-17: strict M=0, permissive M=1", STRICT, 0, PERMISSIVE, 1,
	  1, 0, 1 },
	{ "VN-17: strict M=1, permissive M=0", STRICT, 1, PERMISSIVE, 0,
	  1, 1, 0 },
	{ "VN-17: strict M=1, permissive M=1", STRICT, 1, PERMISSIVE, 1,
	  1, 1, 1 },
	{ "VN-17: permissive M=0, strict M=0", PERMISSIVE, 0, STRICT, 0,
	  1, 0, 0 },
	{ "VN-17: permissive M=0, strict M=1", PERMISSIVE, 0, STRICT, 1,
	  1, 0, 1 },
	{ "VN-17: permissive M=1, strict M=0", PERMISSIVE, 1, STRICT, 0,
	  1, 1, 0 },
	{ "VN-17: permissive M=1, strict M=1", PERMISSIVE, 1, STRICT, 1,
	  1, 1, 1 },
};

KUNIT_ARRAY_PARAM_DESC(cm_pair, cm_pairs, desc);

static struct mpa_local_params cm_local_of(enum cm_type type, bool markers,
					   bool crc)
{
	return (struct mpa_local_params) {
		.rev = type == RDMAC ? 0 : 1, .strict = type == STRICT,
		.markers = markers, .crc = crc,
	};
}

/* Transfer @frame into @got; returns the receiver's verdict. */
static enum mpa_reason cm_transfer(struct kunit *test,
				   const struct mpa_frame *frame, bool reply,
				   const struct mpa_local_params *receiver,
				   struct mpa_frame *got)
{
	enum mpa_reason reason;
	struct mpa_rr rr;

	mpa_frame_write(&rr, frame);
	KUNIT_ASSERT_EQ(test, 0,
			mpa_frame_read(&rr, sizeof(rr), reply, got, &reason));
	return mpa_frame_judge(receiver, got);
}

/* Run the exchange; returns false if either end gives up. */
static bool cm_negotiate(struct kunit *test, const struct mpa_local_params *ini,
			 const struct mpa_local_params *resp,
			 struct mpa_terms *at_ini, struct mpa_terms *at_resp)
{
	struct mpa_frame got_reply;
	struct mpa_frame got_req;
	struct mpa_frame reply;
	struct mpa_frame req;

	mpa_frame_request(ini, 0, &req);
	if (cm_transfer(test, &req, false, resp, &got_req)) {
		/* the Initiator must reject it for the same reason */
		KUNIT_ASSERT_TRUE(test,
				  mpa_frame_refuse(resp, &got_req, &reply));
		KUNIT_EXPECT_EQ(test, MPA_REASON_REVISION,
				cm_transfer(test, &reply, true, ini,
					    &got_reply));
		return false;
	}
	mpa_frame_answer(resp, &got_req, false, 0, &reply);
	if (cm_transfer(test, &reply, true, ini, &got_reply))
		return false;
	mpa_frame_settle(ini, &req, &got_reply, at_ini);
	mpa_frame_settle(resp, &reply, &got_req, at_resp);
	return true;
}

static void cm_figures(struct kunit *test)
{
	const struct cm_pair *p = test->param_value;
	struct mpa_local_params resp = cm_local_of(p->resp, p->resp_m, true);
	struct mpa_local_params ini = cm_local_of(p->ini, p->ini_m, true);
	struct mpa_terms at_resp;
	struct mpa_terms at_ini;

	if (!cm_negotiate(test, &ini, &resp, &at_ini, &at_resp)) {
		KUNIT_EXPECT_EQ(test, -1, p->version);
		return;
	}
	KUNIT_EXPECT_EQ(test, p->version, at_ini.rev);
	KUNIT_EXPECT_EQ(test, p->version, at_resp.rev);
	KUNIT_EXPECT_EQ(test, p->m_to_ini, at_ini.markers_rx);
	KUNIT_EXPECT_EQ(test, p->m_to_ini, at_resp.markers_tx);
	KUNIT_EXPECT_EQ(test, p->m_to_resp, at_ini.markers_tx);
	KUNIT_EXPECT_EQ(test, p->m_to_resp, at_resp.markers_rx);
	KUNIT_EXPECT_TRUE(test, at_ini.crc);
	KUNIT_EXPECT_TRUE(test, at_resp.crc);
}

struct cm_crc {
	const char	*desc;
	enum cm_type	ini;
	bool		ini_c;
	enum cm_type	resp;
	bool		resp_c;
	bool		crc;
};

static const struct cm_crc cm_crcs[] = {
	{ "CR-05 CR-11 RF-09: C=0, C=0", STRICT, 0, STRICT, 0, 0 },
	{ "CR-05 CR-10 RF-10: C=0, C=1", STRICT, 0, STRICT, 1, 1 },
	{ "CR-05 CR-10 RF-10: C=1, C=0", STRICT, 1, STRICT, 0, 1 },
	{ "RF-10: C=1, C=1", STRICT, 1, STRICT, 1, 1 },
	{ "VN-07: RDMAC, C=0", RDMAC, 0, PERMISSIVE, 0, 1 },
	{ "VN-07: C=0, RDMAC", PERMISSIVE, 0, RDMAC, 0, 1 },
};

KUNIT_ARRAY_PARAM_DESC(cm_crc, cm_crcs, desc);

static void cm_crc_is_or(struct kunit *test)
{
	const struct cm_crc *c = test->param_value;
	struct mpa_local_params resp = cm_local_of(c->resp, false, c->resp_c);
	struct mpa_local_params ini = cm_local_of(c->ini, false, c->ini_c);
	struct mpa_terms at_resp;
	struct mpa_terms at_ini;

	KUNIT_ASSERT_TRUE(test, cm_negotiate(test, &ini, &resp, &at_ini,
					     &at_resp));
	KUNIT_EXPECT_EQ(test, c->crc, at_ini.crc);
	KUNIT_EXPECT_EQ(test, c->crc, at_resp.crc);
}

/* A peer of rddp-01 has Rev 0 and chooses M and C freely, section (d) 4. */
static void cm_rddp_initiator(struct kunit *test)
{
	const struct mpa_local_params local = { .rev = 1, .crc = true };
	const struct mpa_frame req = { .rev = 0, .flags = MPA_RR_C };
	struct mpa_frame reply;
	struct mpa_terms terms;

	mpa_frame_answer(&local, &req, false, 0, &reply);
	mpa_frame_settle(&local, &reply, &req, &terms);
	KUNIT_EXPECT_EQ(test, 0, terms.rev);
	KUNIT_EXPECT_TRUE(test, terms.crc);
	KUNIT_EXPECT_TRUE(test, terms.markers_rx);
	KUNIT_EXPECT_FALSE(test, terms.markers_tx);
}

/* C.2.5: CRC and markers are on, whatever the flags of a Rev 0 Reply. */
static void cm_rev0_reply(struct kunit *test)
{
	const struct mpa_frame theirs = { .reply = true, .rev = 0 };
	const struct mpa_frame ours = { .rev = 1 };
	const struct mpa_local_params local = { .rev = 1 };
	struct mpa_terms terms;

	mpa_frame_settle(&local, &ours, &theirs, &terms);
	KUNIT_EXPECT_EQ(test, 0, terms.rev);
	KUNIT_EXPECT_TRUE(test, terms.crc);
	KUNIT_EXPECT_TRUE(test, terms.markers_rx);
	KUNIT_EXPECT_FALSE(test, terms.markers_tx);
}

static struct kunit_case cm_cases[] = {
	KUNIT_CASE_PARAM(cm_known_frame, frame_vector_gen_params),
	KUNIT_CASE_PARAM(cm_wrong_key, cm_role_gen_params),
	KUNIT_CASE_PARAM(cm_wrong_role, cm_role_gen_params),
	KUNIT_CASE_PARAM(cm_in_parts, cm_role_gen_params),
	KUNIT_CASE_PARAM(cm_send_request, cm_request_gen_params),
	KUNIT_CASE_PARAM(cm_send_reply, cm_reply_gen_params),
	KUNIT_CASE_PARAM(cm_judge, cm_verdict_gen_params),
	KUNIT_CASE_PARAM(cm_figures, cm_pair_gen_params),
	KUNIT_CASE_PARAM(cm_crc_is_or, cm_crc_gen_params),
	MPA_CASE(cm_rev0_reply, "RF-07 VN-07 VN-14: Rev 0 Reply, M=0 and C=0"),
	MPA_CASE(cm_rddp_initiator, "RF-07 VN-13: Rev 0 Request with M=0"),
	{}
};

static struct kunit_suite cm_suite = {
	.name = "mpa_cm",
	.test_cases = cm_cases,
};

kunit_test_suite(cm_suite);
