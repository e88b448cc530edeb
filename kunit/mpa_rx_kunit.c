// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Decoding of FPDUs: known answers, splits, damage. */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "mpa_case.h"
#include "mpa_fpdu.h"
#include "mpa_ref.h"
#include "mpa_vectors.h"
#include "mpa_wire.h"

enum {
	RX_STREAM	= 140 * 1024,
	RX_FRAGS	= 4096,
	RX_PIECES	= 4096,
	RX_RUN		= 16,		/* FPDUs of a run */
};

/**
 * struct rx_test - data of a receive case
 * @dec: decoder under test
 * @frag: fragments for @dec
 * @piece: pieces of the octets received
 * @ulpdu: the ULPDU sent
 * @copy: the ULPDU received, put together
 * @ref_ulpdu: the ULPDU decoded by the reference
 * @wire: octets on the wire
 * @run_at: offset of each FPDU of a run, and the end of the last one
 * @run_len: ULPDU length of each FPDU of a run
 * @run: results of decoding a run
 */
struct rx_test {
	struct mpa_dec	dec;
	struct kvec	frag[RX_FRAGS];
	struct kvec	piece[RX_PIECES];
	u8		ulpdu[MPA_ULPDU_MAX];
	u8		copy[MPA_ULPDU_MAX];
	u8		ref_ulpdu[MPA_ULPDU_MAX];
	u8		wire[RX_STREAM];
	u32		run_at[RX_RUN + 1];
	u32		run_len[RX_RUN];
	struct mpa_ulpdu run[RX_RUN + 1];
};

static int rx_init(struct kunit *test)
{
	struct rx_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	u32 seed = 4405;
	u32 i;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < MPA_ULPDU_MAX; i++)
		t->ulpdu[i] = mpa_ref_random(&seed);
	test->priv = t;
	return 0;
}

static void rx_exit(struct kunit *test)
{
	kvfree(test->priv);
}

static void rx_expect_stream(struct rx_test *t, u64 pos, bool markers,
			     bool crc)
{
	t->dec = (struct mpa_dec) {
		.pos = pos, .markers = markers, .crc = crc,
		.frag = t->frag, .max_frags = RX_FRAGS,
	};
}

/* Decode the first @nr pieces. */
static int rx_decode(struct rx_test *t, u32 nr)
{
	struct mpa_octets in = { .v = t->piece, .nr = nr };
	u32 i;

	for (i = 0; i < nr; i++)
		in.len += t->piece[i].iov_len;
	return mpa_fpdu_decode(&t->dec, &in);
}

/* Decode the first @n octets of the wire, in one piece. */
static int rx_decode_plain(struct rx_test *t, u32 n)
{
	t->piece[0] = (struct kvec) { t->wire, n };
	return rx_decode(t, 1);
}

/* Gather the ULPDU of the last FPDU; its octets must not have been copied. */
static u32 rx_gather(struct kunit *test)
{
	struct rx_test *t = test->priv;
	const u8 *p;
	u32 n = 0;
	u32 i;

	for (i = 0; i < t->dec.nr_frags; i++) {
		p = t->frag[i].iov_base;
		KUNIT_ASSERT_TRUE(test, p >= t->wire &&
				  p < t->wire + RX_STREAM);
		KUNIT_ASSERT_LE(test, n + t->frag[i].iov_len, MPA_ULPDU_MAX);
		memcpy(t->copy + n, p, t->frag[i].iov_len);
		n += t->frag[i].iov_len;
	}
	return n;
}

static void rx_expect_ulpdu(struct kunit *test, int err, u32 size,
			    const u8 *ulpdu, u32 len, const char *what)
{
	struct rx_test *t = test->priv;

	KUNIT_ASSERT_EQ_MSG(test, 0, err, "%s: reason %d", what,
			    t->dec.reason);
	KUNIT_ASSERT_EQ_MSG(test, size, t->dec.size, "%s", what);
	KUNIT_ASSERT_EQ_MSG(test, len, t->dec.len, "%s", what);
	KUNIT_ASSERT_EQ_MSG(test, len, rx_gather(test), "%s", what);
	KUNIT_ASSERT_EQ_MSG(test, 0, memcmp(t->copy, ulpdu, len), "%s", what);
}

/* No part of a bad FPDU is accessible. */
static void rx_expect_bad(struct kunit *test, int err, enum mpa_reason reason,
			  const char *what)
{
	struct rx_test *t = test->priv;

	KUNIT_ASSERT_EQ_MSG(test, -EBADMSG, err, "%s", what);
	KUNIT_ASSERT_EQ_MSG(test, reason, t->dec.reason, "%s", what);
	KUNIT_ASSERT_EQ_MSG(test, 0, t->dec.nr_frags, "%s", what);
}

/* With fewer octets than the FPDU has there is no result and no error. */
static void rx_expect_more(struct kunit *test, int err, u32 have, u32 size)
{
	struct rx_test *t = test->priv;

	KUNIT_ASSERT_EQ_MSG(test, -EAGAIN, err, "%u of %u octets", have, size);
	KUNIT_ASSERT_GT(test, t->dec.size, have);
	KUNIT_ASSERT_LE(test, t->dec.size, size);
	KUNIT_ASSERT_EQ(test, 0, t->dec.nr_frags);
}

static enum mpa_error rx_code(enum mpa_reason reason)
{
	switch (reason) {
	case MPA_REASON_CRC:
		return MPA_ERR_CRC;
	case MPA_REASON_MARKER:
	case MPA_REASON_LENGTH:
		return MPA_ERR_MARKER;
	default:
		return MPA_ERR_NONE;
	}
}

/* Known answers */

KUNIT_ARRAY_PARAM_DESC(fpdu_vector, mpa_fpdu_vectors, desc);

static void rx_known_fpdu(struct kunit *test)
{
	const struct mpa_fpdu_vector *v = test->param_value;
	struct rx_test *t = test->priv;
	u32 n;

	if (v->ulpdu)
		mpa_ref_unhex(t->ulpdu, v->ulpdu);
	else
		mpa_ref_pattern(t->ulpdu, v->len, 0);
	if (v->wire)
		mpa_ref_unhex(t->wire, v->wire);
	else
		mpa_ref_encode(t->wire, v->pos, t->ulpdu, v->len, v->markers,
			       v->crc);

	for (n = 0; n < v->size; n += 1 + n / 50) {
		rx_expect_stream(t, v->pos, v->markers, v->crc);
		rx_expect_more(test, rx_decode_plain(t, n), n, v->size);
	}
	rx_expect_ulpdu(test, rx_decode_plain(t, v->size), v->size, t->ulpdu,
			v->len, "all of it");
	rx_expect_ulpdu(test, rx_decode_plain(t, v->size + 9), v->size,
			t->ulpdu, v->len, "and more");
}

KUNIT_ARRAY_PARAM_DESC(received_vector, mpa_received_vectors, desc);

static void rx_known_verdict(struct kunit *test)
{
	const struct mpa_received_vector *v = test->param_value;
	struct rx_test *t = test->priv;
	u32 done = 0;
	u32 at = 0;
	u32 nr = 0;
	int err;

	mpa_ref_unhex(t->wire, v->wire);
	if (v->ulpdu)
		mpa_ref_unhex(t->ulpdu, v->ulpdu);
	rx_expect_stream(t, v->pos, v->markers, v->crc);
	if (v->error) {
		KUNIT_ASSERT_EQ(test, -EBADMSG, rx_decode_plain(t, v->size));
		KUNIT_EXPECT_EQ(test, v->error, rx_code(t->dec.reason));
		return;
	}
	for (; at < v->size; at += t->dec.size, done += t->dec.len, nr++) {
		t->dec.pos = v->pos + at;
		t->piece[0] = (struct kvec) { t->wire + at, v->size - at };
		err = rx_decode(t, 1);
		KUNIT_ASSERT_EQ(test, 0, err);
		rx_expect_ulpdu(test, err, t->dec.size, t->ulpdu + done,
				t->dec.len, v->desc);
	}
	KUNIT_EXPECT_EQ(test, v->nr, nr);
	KUNIT_EXPECT_EQ(test, v->size, at);
}

/* Splits */

struct rx_fpdu {
	const char	*desc;
	u64		pos;
	u32		len;
	bool		markers;
	bool		crc;
};

static const struct rx_fpdu rx_fpdus[] = {
	{ "RX-10 RX-13: figure 5", 0, 42, true, true },
	{ "RX-10 RX-14: figure 6", 492, 42, true, true },
	{ "RX-10 MK-17: marker after two octets", 508, 6, true, true },
	{ "RX-10 MK-18: marker between PAD and CRC", 0, 504, true, true },
	{ "RX-10 MK-18: marker between ULPDU and CRC", 508, 2, true, true },
	{ "RX-10: smallest FPDU", 4 * 512 + 12, 1, true, true },
	{ "RX-10: no marker, ends at a marker position", 492, 14, true, true },
	{ "RX-10 MK-16: three markers", 1460, 1442, true, true },
	{ "RX-10 MK-12: across 2^32", (1ULL << 32) - 20, 42, true, true },
	{ "RX-10 MK-08: without markers", 508, 301, false, true },
	{ "RX-10 RX-16: 140 octets", 508, 128, true, true },
	{ "RX-10 CR-21: CRC off", 500, 11, true, false },
	{ "RX-10 CR-21: CRC off, no markers", 0, 5, false, false },
};

KUNIT_ARRAY_PARAM_DESC(rx_fpdu, rx_fpdus, desc);

static u32 rx_send(struct rx_test *t, const struct rx_fpdu *f)
{
	rx_expect_stream(t, f->pos, f->markers, f->crc);
	return mpa_ref_encode(t->wire, f->pos, t->ulpdu, f->len, f->markers,
			      f->crc);
}

/* Two pieces, cut at every octet; and the first of them alone. */
static void rx_split_in_two(struct kunit *test)
{
	const struct rx_fpdu *f = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_send(t, f);
	char what[32];
	u32 at;

	for (at = 0; at < size; at++) {
		snprintf(what, sizeof(what), "cut at %u", at);
		rx_expect_more(test, rx_decode_plain(t, at), at, size);
		t->piece[1] = (struct kvec) { t->wire + at, size - at };
		rx_expect_ulpdu(test, rx_decode(t, 2), size, t->ulpdu, f->len,
				what);
	}
}

/*
 * Split every marker, header, PAD and CRC in every way: @n octets at any offset
 * form a piece between two empty pieces.
 */
static void rx_split_out(struct kunit *test)
{
	const struct rx_fpdu *f = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_send(t, f);
	char what[32];
	u32 at;
	u32 n;

	for (n = 1; n <= 5; n++) {
		for (at = 0; at + n <= size; at++) {
			snprintf(what, sizeof(what), "%u at %u", n, at);
			t->piece[0] = (struct kvec) { t->wire, at };
			t->piece[1] = (struct kvec) { t->wire + at, 0 };
			t->piece[2] = (struct kvec) { t->wire + at, n };
			t->piece[3] = (struct kvec) { NULL, 0 };
			t->piece[4] = (struct kvec) { t->wire + at + n,
						      size - at - n };
			rx_expect_ulpdu(test, rx_decode(t, 5), size, t->ulpdu,
					f->len, what);
		}
	}
}

/* Pieces of equal size, from single octets up. */
static void rx_split_evenly(struct kunit *test)
{
	static const u32 sizes[] = { 1, 2, 3, 4, 5, 7, 31, 508, 512 };
	const struct rx_fpdu *f = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_send(t, f);
	char what[32];
	u32 at;
	u32 nr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		snprintf(what, sizeof(what), "pieces of %u", sizes[i]);
		for (at = 0, nr = 0; at < size; at += sizes[i], nr++)
			t->piece[nr] = (struct kvec) {
				t->wire + at, min(sizes[i], size - at),
			};
		rx_expect_ulpdu(test, rx_decode(t, nr), size, t->ulpdu, f->len,
				what);
	}
}

/* The octets may begin at any offset in the first piece. */
static void rx_begins_anywhere(struct kunit *test)
{
	const struct rx_fpdu *f = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_send(t, f);
	struct mpa_octets in = { .v = t->piece, .nr = 2, .len = size };
	u32 off;

	memmove(t->wire + 64, t->wire, size);
	t->piece[0] = (struct kvec) { t->wire, 64 + 3 };
	t->piece[1] = (struct kvec) { t->wire + 64 + 3, size };
	for (off = 60; off <= 64; off++) {
		memmove(t->wire + off, t->wire + 64, size);
		in.off = off;
		rx_expect_ulpdu(test, mpa_fpdu_decode(&t->dec, &in), size,
				t->ulpdu, f->len, "in the middle");
		memmove(t->wire + 64, t->wire + off, size);
	}
}

/* All offsets modulo 512, in slices; lengths around the corners */

struct rx_slice {
	const char	*desc;
	u32		from;
	u64		far;		/* added to each offset */
};

static const struct rx_slice rx_slices[] = {
	{ "MK-13 MK-15: offsets 0 to 124", 0, 0 },
	{ "MK-16: offsets 128 to 252, above 2^33", 128, 1ULL << 33 },
	{ "MK-16: offsets 256 to 380", 256, 1024 * 512 },
	{ "MK-11 MK-12: offsets 384 to 508, below 2^32", 384,
	  (1ULL << 32) - 512 },
};

KUNIT_ARRAY_PARAM_DESC(rx_slice, rx_slices, desc);

static void rx_one_length(struct kunit *test, u64 pos, u32 len)
{
	struct rx_test *t = test->priv;
	char what[64];
	u32 ref_size;
	u32 ref_len;
	u32 size;

	snprintf(what, sizeof(what), "offset %llu, ULPDU of %u", pos, len);
	size = mpa_ref_encode(t->wire, pos, t->ulpdu, len, true, true);
	KUNIT_ASSERT_EQ_MSG(test, MPA_REF_GOOD,
			    mpa_ref_decode(t->wire, size, pos, true, true,
					   t->ref_ulpdu, &ref_len, &ref_size),
			    "%s", what);
	KUNIT_ASSERT_EQ(test, size, ref_size);
	rx_expect_stream(t, pos, true, true);
	rx_expect_more(test, rx_decode_plain(t, size - 1), size - 1, size);
	rx_expect_ulpdu(test, rx_decode_plain(t, size), size, t->ref_ulpdu,
			ref_len, what);
}

/* Lengths 1 to 20, and those whose FPDU ends near one of two markers. */
static void rx_corners(struct kunit *test)
{
	const struct rx_slice *s = test->param_value;
	u32 offset;
	s32 dist;
	s32 near;
	s32 len;
	u32 k;

	for (offset = s->from; offset < s->from + 128; offset += 4) {
		for (len = 1; len <= 20; len++)
			rx_one_length(test, s->far + offset, len);
		dist = (512 - offset) % 512;
		for (k = 0; k < 2; k++, dist += 512) {
			for (near = -10; near <= 10; near++) {
				len = dist - 6 - 4 * k + near;
				if (len > 20)
					rx_one_length(test, s->far + offset,
						      len);
			}
		}
	}
}

/* Random streams */

struct rx_seed {
	const char	*desc;
	u32		seed;		/* 0: a new one each time */
	bool		markers;
	bool		crc;
};

static const struct rx_seed rx_seeds[] = {
	{ "RX-01 RX-04 RX-06 RX-11 RX-15: seed 1", 1, true, true },
	{ "RX-01 RX-12 RX-15: seed 2", 2, true, true },
	{ "RX-01 RX-12 MK-08: seed 3, no markers", 3, false, true },
	{ "RX-01 RX-12 CR-22: seed 4, CRC off", 4, true, false },
	{ "RX-01 RX-12: new seed", 0, true, true },
	{ "RX-01 RX-12: new seed, no markers", 0, false, true },
};

KUNIT_ARRAY_PARAM_DESC(rx_seed, rx_seeds, desc);

/* Lengths: mostly small, some of Ethernet size, a few long ones. */
static u32 rx_random_len(u32 *seed)
{
	switch (mpa_ref_random(seed) % 16) {
	case 0:
		return 1 + mpa_ref_random(seed) % 20000;
	case 1 ... 4:
		return 1 + mpa_ref_random(seed) % 1500;
	default:
		return 1 + mpa_ref_random(seed) % 60;
	}
}

/* Send ULPDUs taken from random offsets in t->ulpdu. */
static u32 rx_send_random(struct rx_test *t, const struct rx_seed *s,
			  u32 *state)
{
	u32 end = 0;
	u32 len;

	while (end < 100000) {
		len = rx_random_len(state);
		end += mpa_ref_encode(t->wire + end, end,
				      t->ulpdu + mpa_ref_random(state) % 40000,
				      len, s->markers, s->crc);
	}
	return end;
}

/* Cut the octets from @from to @to into random pieces. */
static u32 rx_cut_random(struct rx_test *t, u32 from, u32 to, u32 *state)
{
	u32 nr;
	u32 n;

	for (nr = 0; from < to && nr < RX_PIECES; nr++, from += n) {
		n = mpa_ref_random(state) % (nr % 5 ? 30 : 3000);
		if (nr >= RX_PIECES - 1)
			n = to - from;
		n = min(n, to - from);
		t->piece[nr] = (struct kvec) { t->wire + from, n };
	}
	return nr;
}

/*
 * A stream arrives in pieces of all sizes; every ULPDU is decoded, in order, as
 * soon as it is complete.
 */
static void rx_random_stream(struct kunit *test)
{
	const struct rx_seed *s = test->param_value;
	struct rx_test *t = test->priv;
	u32 seed = s->seed ?: get_random_u32() | 1;
	u32 send_state = seed;
	u32 recv_state = seed;
	u32 cut_state = ~seed | 1;
	u32 arrived = 0;
	u32 at = 0;
	u32 nr = 0;
	u32 end;
	u32 len;
	int err;

	kunit_info(test, "seed %u", seed);
	end = rx_send_random(t, s, &send_state);
	while (at < end) {
		rx_expect_stream(t, at, s->markers, s->crc);
		err = rx_decode(t, rx_cut_random(t, at, arrived, &cut_state));
		if (err == -EAGAIN) {
			KUNIT_ASSERT_LT(test, arrived, end);
			KUNIT_ASSERT_GT(test, at + t->dec.size, arrived);
			arrived += 1 + mpa_ref_random(&cut_state) % 3000;
			arrived = min(arrived, end);
			continue;
		}
		len = rx_random_len(&recv_state);
		rx_expect_ulpdu(test, err, t->dec.size,
				t->ulpdu + mpa_ref_random(&recv_state) % 40000,
				len, s->desc);
		at += t->dec.size;
		nr++;
	}
	KUNIT_EXPECT_EQ(test, end, at);
	KUNIT_EXPECT_EQ(test, send_state, recv_state);
	KUNIT_EXPECT_GT(test, nr, 10);
}

/* Damage */

/* With CRC on, every single bit error is detected. */
static void rx_any_bit_wrong(struct kunit *test)
{
	struct rx_fpdu f = *(const struct rx_fpdu *)test->param_value;
	u32 lead = f.markers && f.pos % 512 == 0 ? 4 : 0;
	struct rx_test *t = test->priv;
	bool in_length;
	u32 size;
	u32 bit;
	int err;

	f.crc = true;
	size = rx_send(t, &f);
	for (bit = 0; bit < 8 * size; bit++) {
		in_length = bit / 8 == lead || bit / 8 == lead + 1;
		t->wire[bit / 8] ^= 1 << bit % 8;
		err = rx_decode_plain(t, size);
		if (in_length && err == -EAGAIN)
			err = -EBADMSG;
		else if (!in_length)
			KUNIT_ASSERT_EQ_MSG(test, MPA_REASON_CRC,
					    t->dec.reason, "bit %u", bit);
		KUNIT_ASSERT_EQ_MSG(test, -EBADMSG, err, "bit %u", bit);
		t->wire[bit / 8] ^= 1 << bit % 8;
	}
}

static const struct rx_fpdu rx_crc_off[] = {
	{ "CR-21 CR-22 RX-02: leading marker", 0, 42, true, false },
	{ "CR-21 CR-22 RX-02: marker inside", 492, 42, true, false },
	{ "CR-21 CR-22 ER-05: marker before CRC", 508, 2, true, false },
	{ "CR-21 CR-22 ER-05: two markers", 0, 600, true, false },
	{ "CR-21 CR-22: no markers", 0, 33, false, false },
};

KUNIT_ARRAY_PARAM_DESC(rx_crc_off, rx_crc_off, desc);

/*
 * With CRC off only lengths and markers are checked: for damage to any octet
 * the result must be that of the reference.
 */
static void rx_any_octet_wrong(struct kunit *test)
{
	const struct rx_fpdu *f = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_send(t, f);
	enum mpa_ref_verdict want;
	u32 bad_markers = 0;
	u32 ref_size;
	u32 ref_len;
	u32 at;
	int err;

	for (at = 0; at < size; at++) {
		t->wire[at] ^= 0x05;
		want = mpa_ref_decode(t->wire, size, f->pos, f->markers, false,
				      t->ref_ulpdu, &ref_len, &ref_size);
		err = rx_decode_plain(t, size);
		t->wire[at] ^= 0x05;
		if (want == MPA_REF_MORE) {
			KUNIT_ASSERT_EQ_MSG(test, -EAGAIN, err, "%u", at);
			continue;
		}
		if (want == MPA_REF_GOOD) {
			KUNIT_ASSERT_EQ_MSG(test, 0, err, "%u", at);
			KUNIT_ASSERT_EQ(test, ref_len, t->dec.len);
			KUNIT_ASSERT_EQ(test, ref_size, t->dec.size);
			continue;
		}
		KUNIT_ASSERT_EQ_MSG(test, -EBADMSG, err, "%u", at);
		KUNIT_ASSERT_EQ(test, (u32)want, rx_code(t->dec.reason));
		bad_markers++;
	}
	if (f->markers)
		KUNIT_EXPECT_GT(test, bad_markers, 0);
}

struct rx_marker {
	const char	*desc;
	u64		pos;
	u32		len;
	u32		at;		/* offset of the marker */
	u32		value;		/* new value of the marker */
	bool		good;
	bool		from_lead;	/* valid if counted from there */
};

static const struct rx_marker rx_markers[] = {
	{ "MK-03: RESERVED in a leading marker", 0, 42, 0, 0xffff0000, true },
	{ "MK-03: RESERVED in a marker", 492, 42, 20, 0xbeef0014, true },
	{ "MK-06: low bits of FPDUPTR", 492, 42, 20, 0x00000015, true },
	{ "MK-06: low bits of a zero FPDUPTR", 512, 42, 0, 0x00000003, true },
	{ "MK-06: low bits, second marker", 0, 600, 512, 0x000001ff, true },
	{ "ER-04 MK-13: zero FPDUPTR inside an FPDU", 492, 42, 20, 0, false },
	{ "ER-04 MK-13: leading marker not zero", 512, 42, 0, 0x200, false },
	{ "ER-04 ER-05: FPDUPTR four too large", 492, 42, 20, 0x18, false },
	{ "ER-04 ER-05: FPDUPTR four too small", 492, 42, 20, 0x10, false },
	{ "ER-04 MK-04: FPDUPTR from the leading marker",
	  0, 600, 512, 0x200, false },
	{ "ER-04 MK-16: FPDUPTR from the previous marker",
	  0, 1100, 1024, 0x200, false },
	{ "ER-04 MK-18: wrong FPDUPTR before the CRC", 508, 2, 4, 0x8, false },
	{ "ER-04: top bit of FPDUPTR", 492, 42, 20, 0x8014, false },
	{ "MK-04: drafts, FPDUPTR from ULPDU_Length", 0, 600, 512, 0x1fc, true,
	  true },
	{ "MK-04: drafts, FPDUPTR from the leading marker", 0, 600, 512, 0x200,
	  true, true },
	{ "MK-04: drafts, second marker, before the CRC", 0, 1014, 1024,
	  0x400, true, true },
	{ "ER-04 MK-04: drafts, FPDUPTR from before the leading marker",
	  0, 600, 512,
	  0x204, false, true },
	{ "ER-04 MK-04: drafts, FPDUPTR from after ULPDU_Length",
	  0, 600, 512, 0x1f8,
	  false, true },
	{ "ER-04 MK-13: drafts, leading marker not zero", 512, 42, 0, 4,
	  false, true },
	{ "ER-04 MK-04: drafts, no leading marker", 492, 42, 20, 0x18,
	  false, true },
	{ "ER-04 MK-04: drafts, FPDUPTR from a marker that does not lead",
	  492, 600, 532,
	  0x218, false, true },
};

KUNIT_ARRAY_PARAM_DESC(rx_marker, rx_markers, desc);

/* A wrong marker under a right CRC is code 3, in one piece or in many. */
static void rx_wrong_marker(struct kunit *test)
{
	const struct rx_marker *m = test->param_value;
	struct rx_test *t = test->priv;
	u32 nr;
	u32 size;
	u32 n;

	size = mpa_ref_encode(t->wire, m->pos, t->ulpdu, m->len, true, true);
	put_unaligned_be32(m->value, t->wire + m->at);
	put_unaligned_le32(mpa_ref_crc(t->wire, size - 4),
			   t->wire + size - 4);

	/* the last time in one piece */
	for (n = 1; n <= 2 * size; n = 2 * n + 1) {
		rx_expect_stream(t, m->pos, true, true);
		t->dec.from_lead = m->from_lead;
		for (nr = 0; nr * n < size; nr++)
			t->piece[nr] = (struct kvec) {
				t->wire + nr * n, min(n, size - nr * n),
			};
		if (m->good) {
			rx_expect_ulpdu(test, rx_decode(t, nr), size, t->ulpdu,
					m->len, m->desc);
		} else {
			rx_expect_bad(test, rx_decode(t, nr),
				      MPA_REASON_MARKER, m->desc);
		}
	}
}

struct rx_length {
	const char	*desc;
	u16		len;
	u64		pos;
	bool		markers;
	bool		good;
};

static const struct rx_length rx_lengths[] = {
	{ "ER-15: ULPDU_Length 0", 0, 4, false, false },
	{ "ER-15: ULPDU_Length 0, leading marker", 0, 512, true, false },
	{ "SZ-05: ULPDU_Length 1", 1, 4, false, true },
	{ "SZ-05: ULPDU_Length 1, leading marker", 1, 0, true, true },
	{ "SZ-05: ULPDU_Length 64768", 64768, 4, false, true },
	{ "SZ-05: ULPDU_Length 64768, leading marker", 64768, 512, true, true },
	{ "ER-15: ULPDU_Length 64769", 64769, 4, false, false },
	{ "ER-15: ULPDU_Length 64769, leading marker", 64769, 0, true, false },
	{ "ER-15: ULPDU_Length 65535", 65535, 12, true, false },
};

KUNIT_ARRAY_PARAM_DESC(rx_length, rx_lengths, desc);

/* ULPDU_Length is checked as soon as both of its octets have arrived. */
static void rx_length_checked(struct kunit *test)
{
	const struct rx_length *l = test->param_value;
	u32 lead = l->markers && l->pos % 512 == 0 ? 4 : 0;
	struct rx_test *t = test->priv;
	u32 n;

	put_unaligned_be16(l->len, t->wire + lead);
	for (n = 0; n < lead + 2; n++) {
		rx_expect_stream(t, l->pos, l->markers, true);
		KUNIT_EXPECT_EQ(test, -EAGAIN, rx_decode_plain(t, n));
		KUNIT_EXPECT_EQ(test, lead + 2, t->dec.size);
	}
	rx_expect_stream(t, l->pos, l->markers, true);
	if (!l->good) {
		rx_expect_bad(test, rx_decode_plain(t, n), MPA_REASON_LENGTH,
			      l->desc);
		return;
	}
	KUNIT_EXPECT_EQ(test, -EAGAIN, rx_decode_plain(t, n));
	KUNIT_EXPECT_EQ(test, mpa_ref_size(l->pos, l->len, l->markers),
			t->dec.size);
}

/* CRC on: a bad FPDU is not reported before its last octet has arrived. */
static void rx_verified_whole(struct kunit *test)
{
	struct rx_test *t = test->priv;
	u32 size;
	u32 n;

	size = mpa_ref_encode(t->wire, 0, t->ulpdu, 600, true, true);
	t->wire[3] = 4;		/* leading marker */
	t->wire[100] ^= 1;
	for (n = 6; n < size; n++) {
		rx_expect_stream(t, 0, true, true);
		rx_expect_more(test, rx_decode_plain(t, n), n, size);
		KUNIT_ASSERT_EQ(test, size, t->dec.size);
	}
	rx_expect_bad(test, rx_decode_plain(t, size), MPA_REASON_CRC,
		      "all of it");
}

/* Fragments */

static void rx_too_few_frags(struct kunit *test)
{
	struct rx_test *t = test->priv;
	u32 size;
	u32 nr;
	u32 i;

	size = mpa_ref_encode(t->wire, 0, t->ulpdu, 3000, true, true);
	for (nr = 0; nr * 700 < size; nr++)
		t->piece[nr] = (struct kvec) {
			t->wire + 700 * nr, min(700, size - 700 * nr),
		};
	/* five markers inside, and four cuts */
	for (i = 0; i < 10; i++) {
		rx_expect_stream(t, 0, true, true);
		t->dec.max_frags = i;
		KUNIT_ASSERT_EQ(test, -ENOBUFS, rx_decode(t, nr));
		KUNIT_EXPECT_EQ(test, size, t->dec.size);
	}
	t->dec.max_frags = 10;
	rx_expect_ulpdu(test, rx_decode(t, nr), size, t->ulpdu, 3000, "ten");
	KUNIT_EXPECT_EQ(test, 10, t->dec.nr_frags);
}

/* Octets in one piece and without markers form one fragment. */
static void rx_one_frag(struct kunit *test)
{
	struct rx_test *t = test->priv;
	u32 size;

	size = mpa_ref_encode(t->wire, 508, t->ulpdu, 9000, false, true);
	rx_expect_stream(t, 508, false, true);
	t->dec.max_frags = 1;
	rx_expect_ulpdu(test, rx_decode_plain(t, size), size, t->ulpdu, 9000,
			"one");
	KUNIT_EXPECT_PTR_EQ(test, (void *)t->wire + 2, t->frag[0].iov_base);
}

/* Consecutive FPDUs, decoded in one call */

struct rx_run {
	const char	*desc;
	u64		pos;
	bool		markers;
	bool		crc;
};

static const struct rx_run rx_runs[] = {
	{ "RX-01 RX-04 RX-06 RX-15: markers", 0, true, true },
	{ "RX-01 RX-04 RX-06 RX-15 MK-12: markers, across 2^32",
	  (1ULL << 32) - 700, true, true },
	{ "RX-01 RX-04 RX-06 RX-15 MK-08: no markers", 44, false, true },
	{ "RX-01 RX-04 RX-15 CR-21 CR-22: CRC off", 500, true, false },
	{ "RX-01 RX-04 RX-15 CR-21 CR-22: CRC off, no markers", 0, false,
	  false },
};

KUNIT_ARRAY_PARAM_DESC(rx_run, rx_runs, desc);

/* Send RX_RUN ULPDUs; ULPDU k begins at t->ulpdu[k]. Returns the octets. */
static u32 rx_run_send(struct rx_test *t, const struct rx_run *r)
{
	static const u32 lengths[RX_RUN] = {
		1, 42, 2, 300, 3, 494, 4, 6, 1, 700, 14, 58, 128, 1, 501, 30,
	};
	u32 at = 0;
	u32 k;

	for (k = 0; k < RX_RUN; k++) {
		t->run_at[k] = at;
		t->run_len[k] = lengths[k];
		at += mpa_ref_encode(t->wire + at, r->pos + at, t->ulpdu + k,
				     lengths[k], r->markers, r->crc);
	}
	t->run_at[k] = at;
	return at;
}

/* Number of FPDUs that are whole within the first @have octets */
static u32 rx_run_whole(const struct rx_test *t, u32 have)
{
	u32 k;

	for (k = 0; k < RX_RUN && t->run_at[k + 1] <= have; k++)
		;
	return k;
}

/* The first @have octets, in two pieces cut at @at. */
static void rx_run_cut(struct rx_test *t, struct mpa_octets *in, u32 at,
		       u32 have)
{
	t->piece[0] = (struct kvec) { t->wire, at };
	t->piece[1] = (struct kvec) { NULL, 0 };
	t->piece[2] = (struct kvec) { t->wire + at, have - at };
	*in = (struct mpa_octets) { .v = t->piece, .nr = 3, .len = have };
}

static int rx_run_decode(struct rx_test *t, const struct rx_run *r,
			 const struct mpa_octets *in, u64 limit, u32 max,
			 u32 *nr)
{
	rx_expect_stream(t, r->pos, r->markers, r->crc);
	memset(t->run, 0, sizeof(t->run));
	return mpa_fpdu_decode_run(&t->dec, in, limit, t->run, max, nr);
}

/* Gather ULPDU @k, whose fragments follow those of the ULPDU before it. */
static void rx_run_gather(struct kunit *test, u32 k, const struct kvec *frag)
{
	struct rx_test *t = test->priv;
	const struct mpa_ulpdu *u = &t->run[k];
	u32 n = 0;
	u32 i;

	KUNIT_ASSERT_PTR_EQ(test, frag, u->frag);
	for (i = 0; i < u->nr_frags; i++) {
		KUNIT_ASSERT_LE(test, n + frag[i].iov_len, t->run_len[k]);
		memcpy(t->copy + n, frag[i].iov_base, frag[i].iov_len);
		n += frag[i].iov_len;
	}
	KUNIT_ASSERT_EQ(test, t->run_len[k], n);
	KUNIT_ASSERT_EQ(test, 0, memcmp(t->copy, t->ulpdu + k, n));
}

/* Exactly the first @want ULPDUs have been decoded. */
static void rx_run_expect(struct kunit *test, const struct rx_run *r, u32 nr,
			  u32 want, const char *what)
{
	struct rx_test *t = test->priv;
	const struct kvec *frag = t->frag;
	u32 k;

	KUNIT_ASSERT_EQ_MSG(test, want, nr, "%s", what);
	for (k = 0; k < want; k++) {
		KUNIT_ASSERT_EQ(test, r->pos + t->run_at[k], t->run[k].pos);
		KUNIT_ASSERT_EQ(test, t->run_len[k], t->run[k].len);
		rx_run_gather(test, k, frag);
		frag += t->run[k].nr_frags;
	}
	KUNIT_ASSERT_NULL(test, t->run[k].frag);
	KUNIT_ASSERT_EQ_MSG(test, r->pos + t->run_at[k], t->dec.pos, "%s",
			    what);
}

static void rx_skip(struct mpa_octets *o, size_t n)
{
	o->len -= n;
	n += o->off;
	while (o->nr && n >= o->v->iov_len) {
		n -= o->v->iov_len;
		o->v++;
		o->nr--;
	}
	o->off = n;
}

/* The result must equal that of mpa_fpdu_decode() for FPDU @k. */
static void rx_run_same(struct kunit *test, int err, u32 k,
			const struct mpa_octets *in)
{
	struct rx_test *t = test->priv;
	struct mpa_dec dec = t->dec;
	struct mpa_octets o = *in;

	rx_skip(&o, t->run_at[k]);
	dec.reason = MPA_REASON_NONE;
	KUNIT_ASSERT_EQ(test, mpa_fpdu_decode(&dec, &o), err);
	KUNIT_ASSERT_EQ(test, dec.size, t->dec.size);
	KUNIT_ASSERT_EQ(test, dec.nr_frags, t->dec.nr_frags);
	if (err == -EBADMSG)
		KUNIT_ASSERT_EQ(test, dec.reason, t->dec.reason);
}

/* Cut at every octet; and the octets before the cut alone. */
static void rx_run_split(struct kunit *test)
{
	const struct rx_run *r = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_run_send(t, r);
	struct mpa_octets in;
	char what[32];
	u32 at, nr;
	int err;

	for (at = 0; at <= size; at++) {
		snprintf(what, sizeof(what), "cut at %u", at);
		rx_run_cut(t, &in, at, size);
		err = rx_run_decode(t, r, &in, U64_MAX, RX_RUN, &nr);
		KUNIT_ASSERT_EQ_MSG(test, 0, err, "%s", what);
		rx_run_expect(test, r, nr, RX_RUN, what);

		rx_run_cut(t, &in, at / 2, at);
		err = rx_run_decode(t, r, &in, U64_MAX, RX_RUN + 1, &nr);
		KUNIT_ASSERT_EQ_MSG(test, -EAGAIN, err, "%s", what);
		rx_run_expect(test, r, nr, rx_run_whole(t, at), what);
		rx_run_same(test, err, nr, &in);
	}
}

/* Pieces of equal size, from single octets up. */
static void rx_run_pieces(struct kunit *test)
{
	static const u32 sizes[] = { 1, 2, 3, 5, 17, 508, 513 };
	const struct rx_run *r = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_run_send(t, r);
	struct mpa_octets in = { .v = t->piece, .len = size };
	char what[32];
	u32 at, i, nr;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		snprintf(what, sizeof(what), "pieces of %u", sizes[i]);
		for (at = 0, in.nr = 0; at < size; at += sizes[i], in.nr++)
			t->piece[in.nr] = (struct kvec) {
				t->wire + at, min(sizes[i], size - at),
			};
		KUNIT_ASSERT_EQ_MSG(test, 0,
				    rx_run_decode(t, r, &in, U64_MAX, RX_RUN,
						  &nr), "%s", what);
		rx_run_expect(test, r, nr, RX_RUN, what);
	}
}

/* No FPDU extends past the limit, for every limit. */
static void rx_run_limit(struct kunit *test)
{
	const struct rx_run *r = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_run_send(t, r);
	u32 limit, nr, whole;
	struct mpa_octets in;
	char what[32];
	int err, want;

	rx_run_cut(t, &in, 301, size);
	for (limit = 0; limit <= size; limit++) {
		snprintf(what, sizeof(what), "limit %u", limit);
		whole = rx_run_whole(t, limit);
		want = limit == t->run_at[whole] ? 0 : -EBADMSG;
		err = rx_run_decode(t, r, &in, r->pos + limit, RX_RUN + 1,
				    &nr);
		KUNIT_ASSERT_EQ_MSG(test, want, err, "%s", what);
		rx_run_expect(test, r, nr, whole, what);
		if (!err)
			continue;
		KUNIT_ASSERT_EQ(test, MPA_REASON_MARKER, t->dec.reason);
		KUNIT_ASSERT_EQ(test, 0, t->dec.nr_frags);
	}
}

/* Fewer results, or fewer fragments, than there are ULPDUs. */
static void rx_run_room(struct kunit *test)
{
	const struct rx_run *r = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_run_send(t, r);
	u32 frags, k, max, nr, total;
	struct mpa_octets in;
	int err;

	rx_run_cut(t, &in, t->run_at[5] + 100, size);
	for (max = 0; max <= RX_RUN; max++) {
		err = rx_run_decode(t, r, &in, U64_MAX, max, &nr);
		KUNIT_ASSERT_EQ(test, 0, err);
		rx_run_expect(test, r, nr, max, "results");
	}
	/* now with room for all results */
	total = t->run[RX_RUN - 1].frag + t->run[RX_RUN - 1].nr_frags - t->frag;
	for (frags = 0; frags < total; frags++) {
		rx_run_decode(t, r, &in, U64_MAX, RX_RUN, &nr);
		for (k = 0; t->run[k].frag + t->run[k].nr_frags <=
			    t->frag + frags; k++)
			;
		rx_expect_stream(t, r->pos, r->markers, r->crc);
		memset(t->run, 0, sizeof(t->run));
		t->dec.max_frags = frags;
		err = mpa_fpdu_decode_run(&t->dec, &in, U64_MAX, t->run, RX_RUN,
					  &nr);
		KUNIT_ASSERT_EQ_MSG(test, -ENOBUFS, err, "%u fragments", frags);
		rx_run_expect(test, r, nr, k, "fragments");
		KUNIT_ASSERT_EQ(test, t->run_at[k + 1] - t->run_at[k],
				t->dec.size);
	}
}

/* @nr ULPDUs and then the error of a bad FPDU, in one piece or two. */
static void rx_run_expect_bad(struct kunit *test, const struct rx_run *r,
			      u32 k, enum mpa_reason reason, const char *what)
{
	struct rx_test *t = test->priv;
	u32 size = t->run_at[RX_RUN];
	struct mpa_octets in;
	u32 i, nr;
	int err;

	for (i = 0; i < 4; i++) {
		rx_run_cut(t, &in, t->run_at[k] + i, size);
		err = rx_run_decode(t, r, &in, U64_MAX, RX_RUN, &nr);
		rx_run_expect(test, r, nr, k, what);
		rx_expect_bad(test, err, reason, what);
		rx_run_same(test, err, k, &in);
	}
}

/* For each position of a bad FPDU: the ULPDUs before it are decoded. */
static void rx_run_bad(struct kunit *test)
{
	const struct rx_run *r = test->param_value;
	struct rx_test *t = test->priv;
	u32 at, k, lead;

	rx_run_send(t, r);
	for (k = 0; k < RX_RUN; k++) {
		at = t->run_at[k];
		lead = r->markers && (r->pos + at) % 512 == 0 ? 4 : 0;
		t->wire[at + lead] ^= 0xff;
		rx_run_expect_bad(test, r, k, MPA_REASON_LENGTH, "length");
		t->wire[at + lead] ^= 0xff;
		if (!r->crc)
			continue;
		t->wire[t->run_at[k + 1] - 1] ^= 1;
		rx_run_expect_bad(test, r, k, MPA_REASON_CRC, "CRC");
		t->wire[t->run_at[k + 1] - 1] ^= 1;
	}
}

/* A bad marker under a right CRC, for each FPDU of the run. */
static void rx_run_bad_marker(struct kunit *test)
{
	const struct rx_run *r = test->param_value;
	struct rx_test *t = test->priv;
	u32 size = rx_run_send(t, r);
	u32 at, end, k, nr = 0;

	for (at = -r->pos % 512; r->markers && at < size; at += 512, nr++) {
		k = rx_run_whole(t, at);
		end = t->run_at[k + 1] - 4;
		t->wire[at + 3] ^= 8;
		if (r->crc)
			put_unaligned_le32(mpa_ref_crc(t->wire + t->run_at[k],
						       end - t->run_at[k]),
					   t->wire + end);
		rx_run_expect_bad(test, r, k, MPA_REASON_MARKER, "marker");
		rx_run_send(t, r);
	}
	KUNIT_EXPECT_EQ(test, r->markers, nr > 3);
}

static struct kunit_case rx_cases[] = {
	KUNIT_CASE_PARAM(rx_known_fpdu, fpdu_vector_gen_params),
	KUNIT_CASE_PARAM(rx_known_verdict, received_vector_gen_params),
	KUNIT_CASE_PARAM(rx_split_in_two, rx_fpdu_gen_params),
	KUNIT_CASE_PARAM(rx_split_out, rx_fpdu_gen_params),
	KUNIT_CASE_PARAM(rx_split_evenly, rx_fpdu_gen_params),
	KUNIT_CASE_PARAM(rx_begins_anywhere, rx_fpdu_gen_params),
	KUNIT_CASE_PARAM(rx_corners, rx_slice_gen_params),
	KUNIT_CASE_PARAM(rx_random_stream, rx_seed_gen_params),
	KUNIT_CASE_PARAM(rx_any_bit_wrong, rx_fpdu_gen_params),
	KUNIT_CASE_PARAM(rx_any_octet_wrong, rx_crc_off_gen_params),
	KUNIT_CASE_PARAM(rx_wrong_marker, rx_marker_gen_params),
	KUNIT_CASE_PARAM(rx_length_checked, rx_length_gen_params),
	MPA_CASE(rx_verified_whole,
		 "RX-03 RX-09 CR-19: FPDU verified as a whole"),
	KUNIT_CASE(rx_too_few_frags),
	KUNIT_CASE(rx_one_frag),
	KUNIT_CASE_PARAM(rx_run_split, rx_run_gen_params),
	KUNIT_CASE_PARAM(rx_run_pieces, rx_run_gen_params),
	KUNIT_CASE_PARAM(rx_run_limit, rx_run_gen_params),
	KUNIT_CASE_PARAM(rx_run_room, rx_run_gen_params),
	KUNIT_CASE_PARAM(rx_run_bad, rx_run_gen_params),
	KUNIT_CASE_PARAM(rx_run_bad_marker, rx_run_gen_params),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "mpa_rx",
	.init = rx_init,
	.exit = rx_exit,
	.test_cases = rx_cases,
};

kunit_test_suite(rx_suite);
