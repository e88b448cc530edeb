// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decoding of FPDUs. A case sends a stream, whole or damaged, and cuts it into
 * pieces; for each cut the results must be those of the reference.
 */
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
	RX_RUN		= 16,		/* FPDUs of a run */
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

/* The stream */

static void rx_begin(struct rx_model *t, u64 pos, bool markers, bool crc)
{
	t->pos = pos;
	t->markers = markers;
	t->crc = crc;
	t->from_lead = false;
	t->end = 0;
}

static void rx_send(struct rx_model *t, const u8 *ulpdu, u32 len)
{
	t->end += mpa_ref_encode(t->wire + t->end, t->pos + t->end, ulpdu, len,
				 t->markers, t->crc);
}

/* What follows the first @k FPDUs, by the reference; sets t->len[k]. */
static enum mpa_ref_verdict rx_ref_decode(struct rx_model *t, u32 k, u32 *size)
{
	return (t->from_lead ? mpa_ref_decode_drafts : mpa_ref_decode)
		(t->wire + t->at[k], t->end - t->at[k], t->pos + t->at[k],
		 t->markers, t->crc, t->ref_ulpdu + t->from[k],
		 &t->len[k], size);
}

/* Have the reference decode the stream, after each change of it. */
static void rx_reference(struct rx_model *t)
{
	u32 size = 0, k = 0;

	for (t->at[0] = 0, t->from[0] = 0; k < RX_FPDUS; k++) {
		t->verdict = rx_ref_decode(t, k, &size);
		if (t->verdict != MPA_REF_GOOD)
			break;
		t->at[k + 1] = t->at[k] + size;
		t->from[k + 1] = t->from[k] + t->len[k];
	}
	t->nr = k;
	t->next_size = mpa_ref_size(t->pos + t->at[k], t->len[k], t->markers);
}

/* Number of octets of FPDU @k up to and including ULPDU_Length */
static u32 rx_head(const struct rx_model *t, u32 k)
{
	return mpa_ref_head(t->pos + t->at[k], t->markers);
}

static struct mpa_octets rx_octets(const struct rx_model *t)
{
	struct mpa_octets in = { .v = t->piece, .nr = t->nr_pieces };
	u32 i;

	for (i = 0; i < in.nr; i++)
		in.len += in.v[i].iov_len;
	return in;
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

/* The decoder */

static void rx_dec(struct rx_model *t, u32 at, u32 max_frags)
{
	t->dec = (struct mpa_dec) {
		.pos = t->pos + at, .markers = t->markers, .crc = t->crc,
		.from_lead = t->from_lead, .frag = t->frag,
		.max_frags = max_frags,
	};
}

/* Decode as many FPDUs as there are. */
static int rx_decode_run(struct rx_model *t, u64 limit, u32 max, u32 max_frags,
			 u32 *nr)
{
	struct mpa_octets in = rx_octets(t);

	rx_dec(t, 0, max_frags);
	return mpa_fpdu_decode_run(&t->dec, &in, limit, t->run, max, nr);
}

/* Fragments are not empty, and together are the ULPDU of FPDU @k. */
static void rx_expect_ulpdu(struct rx_model *t, u32 k, const struct kvec *frag,
			    u32 nr_frags, const char *what)
{
	const u8 *want = t->ref_ulpdu + t->from[k];
	u32 left = t->len[k];

	for (; nr_frags; nr_frags--, frag++) {
		ASSERT_TRUE_MSG(t, frag->iov_len && frag->iov_len <= left,
				"%s: FPDU %u", what, k);
		ASSERT_EQ_MSG(t, 0, memcmp(frag->iov_base, want, frag->iov_len),
			      "%s: FPDU %u", what, k);
		want += frag->iov_len;
		left -= frag->iov_len;
	}
	ASSERT_EQ_MSG(t, 0, left, "%s: FPDU %u", what, k);
}

/*
 * Exactly the first @want FPDUs were decoded, into consecutive fragments: as
 * many as pieces and markers make.
 */
static void rx_expect_run(struct rx_model *t, u32 want, u32 nr,
			  const char *what)
{
	const struct kvec *frag = t->frag;
	const struct mpa_ulpdu *u = t->run;
	u32 k;

	ASSERT_EQ_MSG(t, want, nr, "%s", what);
	for (k = 0; k < nr; k++, frag += u->nr_frags, u++) {
		ASSERT_EQ_MSG(t, t->pos + t->at[k], u->pos, "%s", what);
		ASSERT_EQ_MSG(t, t->len[k], u->len, "%s", what);
		ASSERT_TRUE_MSG(t, frag == u->frag, "%s", what);
		ASSERT_LE(t, u->nr_frags, t->nr_pieces +
			  (t->markers ? u->len / 508 + 1 : 0));
		rx_expect_ulpdu(t, k, frag, u->nr_frags, what);
	}
	ASSERT_EQ_MSG(t, t->pos + t->at[k], t->dec.pos, "%s", what);
}

/* Why FPDU @k, of which there are @have octets, is bad by the reference */
static enum mpa_reason rx_reason(const struct rx_model *t, u32 k, u32 have)
{
	if (k < t->nr || have < rx_head(t, k))
		return MPA_REASON_NONE;
	if (!mpa_ref_length_ok(t->len[k]))
		return MPA_REASON_LENGTH;
	if (have < t->next_size)
		return MPA_REASON_NONE;
	return t->verdict == MPA_REF_CRC ? MPA_REASON_CRC : MPA_REASON_MARKER;
}

/*
 * Of FPDU @k there are @have octets, too few or bad: no part of it is
 * accessible.
 */
static void rx_expect_end(struct rx_model *t, u32 k, u32 have, int err,
			  const char *what)
{
	enum mpa_reason reason = rx_reason(t, k, have);
	u32 size = rx_head(t, k);

	ASSERT_EQ_MSG(t, reason ? -EBADMSG : -EAGAIN, err, "%s", what);
	ASSERT_EQ_MSG(t, reason, t->dec.reason, "%s", what);
	ASSERT_EQ_MSG(t, 0, t->dec.nr_frags, "%s", what);
	if (have >= size && mpa_ref_length_ok(t->len[k]))
		size = k < t->nr ? t->at[k + 1] - t->at[k] : t->next_size;
	ASSERT_EQ_MSG(t, size, t->dec.size, "%s", what);
}

/* All FPDUs in one call, and one by one */
static void rx_check_pieces(struct rx_model *t, const char *what)
{
	struct mpa_octets in = rx_octets(t);
	u32 have = in.len, k, nr, whole = 0;
	int err;

	while (whole < t->nr && t->at[whole + 1] <= have)
		whole++;
	err = rx_decode_run(t, U64_MAX, RX_FPDUS + 1, RX_FRAGS, &nr);
	rx_expect_run(t, whole, nr, what);
	rx_expect_end(t, whole, have - t->at[whole], err, what);

	for (k = 0; k < whole; k++) {
		rx_dec(t, t->at[k], RX_FRAGS);
		err = mpa_fpdu_decode(&t->dec, &in);
		ASSERT_EQ_MSG(t, 0, err, "%s: FPDU %u", what, k);
		ASSERT_EQ_MSG(t, t->at[k + 1] - t->at[k], t->dec.size, "%s",
			      what);
		ASSERT_EQ_MSG(t, t->len[k], t->dec.len, "%s", what);
		rx_expect_ulpdu(t, k, t->frag, t->dec.nr_frags, what);
		rx_skip(&in, t->dec.size);
	}
	rx_dec(t, t->at[k], RX_FRAGS);
	err = mpa_fpdu_decode(&t->dec, &in);
	rx_expect_end(t, k, in.len, err, what);
}

/*
 * Decode the pieces, the last one in memory of exactly its length: KASAN sees
 * the decoder read past what has arrived.
 */
static void rx_check(struct rx_model *t, const char *what)
{
	struct kvec *last = &t->piece[t->nr_pieces - 1];
	void *wire = last->iov_base;

	last->iov_base = kunit_kmalloc(t->test, last->iov_len, GFP_KERNEL);
	ASSERT_OK(t, last->iov_base);
	memcpy(last->iov_base, wire, last->iov_len);
	rx_check_pieces(t, what);
	kunit_kfree(t->test, last->iov_base);
	last->iov_base = wire;
}

/* Bounds of a run; the pieces are the whole stream. */

/* No FPDU extends past the limit, which is an offset in the stream. */
static void rx_check_limit(struct rx_model *t, u32 limit)
{
	u32 nr, whole = 0;
	char what[32];
	int err;

	snprintf(what, sizeof(what), "limit %u", limit);
	while (whole < t->nr && t->at[whole + 1] <= limit)
		whole++;
	err = rx_decode_run(t, t->pos + limit, RX_FPDUS + 1, RX_FRAGS, &nr);
	rx_expect_run(t, whole, nr, what);
	if (limit == t->at[whole]) {
		ASSERT_EQ_MSG(t, 0, err, "%s", what);
	} else if (whole < t->nr) {
		ASSERT_EQ_MSG(t, -EBADMSG, err, "%s", what);
		ASSERT_EQ_MSG(t, MPA_REASON_MARKER, t->dec.reason, "%s", what);
		ASSERT_EQ_MSG(t, 0, t->dec.nr_frags, "%s", what);
	} else {
		rx_expect_end(t, whole, t->end - t->at[whole], err, what);
	}
}

/* With room for @max results there are no more; @max is at most t->nr. */
static void rx_check_max(struct rx_model *t, u32 max)
{
	u32 nr;
	int err = rx_decode_run(t, U64_MAX, max, RX_FRAGS, &nr);

	ASSERT_EQ_MSG(t, 0, err, "%u results", max);
	rx_expect_run(t, max, nr, "results");
}

/* Returns false if there are enough fragments for all ULPDUs. */
static bool rx_check_room(struct rx_model *t, u32 max_frags)
{
	u32 k, nr, left = max_frags;
	int err;

	rx_decode_run(t, U64_MAX, t->nr, RX_FRAGS, &nr);
	for (k = 0; k < t->nr && t->run[k].nr_frags <= left; k++)
		left -= t->run[k].nr_frags;
	if (k == t->nr)
		return false;
	err = rx_decode_run(t, U64_MAX, t->nr, max_frags, &nr);
	ASSERT_EQ_MSG(t, -ENOBUFS, err, "%u fragments", max_frags);
	rx_expect_run(t, k, nr, "fragments");
	ASSERT_EQ_MSG(t, t->at[k + 1] - t->at[k], t->dec.size, "fragments");
	return true;
}

/* The pieces */

static void rx_piece(struct rx_model *t, u32 from, u32 to)
{
	t->piece[t->nr_pieces++] = (struct kvec) { t->wire + from, to - from };
}

/* One piece of the first @n octets. */
static void rx_whole(struct rx_model *t, u32 n)
{
	t->nr_pieces = 0;
	rx_piece(t, 0, n);
}

/* Pieces of @n octets each. */
static void rx_cut_evenly(struct rx_model *t, u32 n)
{
	u32 at;

	t->nr_pieces = 0;
	for (at = 0; at < t->end; at += n)
		rx_piece(t, at, min(at + n, t->end));
}

/* rx_check() of the first @n octets, in one piece */
static void rx_check_first(struct rx_model *t, u32 n)
{
	char what[32];

	snprintf(what, sizeof(what), "%u octets", n);
	rx_whole(t, n);
	rx_check(t, what);
}

/* Known answers */

MPA_ROWS(fpdu_vector, mpa_fpdu_vectors);

static void rx_known_fpdu(struct kunit *test)
{
	const struct mpa_fpdu_vector *v = test->param_value;
	struct rx_model *t = test->priv;
	u32 k, n;

	rx_begin(t, v->pos, v->markers, v->crc);
	for (k = 0; k < v->nr; k++) {
		if (v->ulpdu)
			mpa_ref_unhex(t->ulpdu, v->ulpdu);
		else
			mpa_ref_pattern(t->ulpdu, v->len[k], k);
		rx_send(t, t->ulpdu, v->len[k]);
	}
	ASSERT_EQ(t, v->size, t->end);
	if (v->wire)
		mpa_ref_unhex(t->wire, v->wire);
	rx_reference(t);
	ASSERT_EQ(t, v->nr, t->nr);
	if (v->nr == 1)
		ASSERT_MEMEQ(t, t->ulpdu, t->ref_ulpdu, v->len[0]);

	for (n = 0; n < v->size; n += 1 + n / 50)
		rx_check_first(t, n);
	rx_check_first(t, v->size);
}

MPA_ROWS(received_vector, mpa_received_vectors);

static void rx_known_verdict(struct kunit *test)
{
	const struct mpa_received_vector *v = test->param_value;
	struct rx_model *t = test->priv;
	u32 n;

	rx_begin(t, v->pos, v->markers, v->crc);
	t->end = mpa_ref_unhex(t->wire, v->wire);
	rx_reference(t);
	ASSERT_EQ(t, v->nr, t->nr);
	ASSERT_EQ(t, v->error ?: MPA_REF_MORE, (u32)t->verdict);
	if (v->ulpdu) {
		n = mpa_ref_unhex(t->ulpdu, v->ulpdu);
		ASSERT_EQ(t, n, t->from[t->nr]);
		ASSERT_MEMEQ(t, t->ulpdu, t->ref_ulpdu, n);
	}
	for (n = 0; n <= t->end; n++)
		rx_check_first(t, n);
}

/* Splits */

struct rx_stream {
	const char	*desc;
	u64		pos;
	u32		len;		/* of one ULPDU; 0: a run of FPDUs */
	bool		markers;
	bool		crc;
};

static const struct rx_stream rx_streams[] = {
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
	{ "RX-01 RX-04 RX-06 RX-15: run, markers", 0, 0, true, true },
	{ "RX-01 RX-04 RX-06 RX-15 MK-12: run, across 2^32",
	  (1ULL << 32) - 700, 0, true, true },
	{ "RX-01 RX-04 RX-06 RX-15 MK-08: run, no markers", 44, 0, false,
	  true },
	{ "RX-01 RX-04 RX-15 CR-21 CR-22: run, CRC off", 500, 0, true, false },
	{ "RX-01 RX-04 RX-15 CR-21 CR-22: run, CRC off, no markers", 0, 0,
	  false, false },
};

MPA_ROWS(rx_stream, rx_streams);

static void rx_send_stream(struct rx_model *t, const struct rx_stream *s)
{
	static const u32 lengths[RX_RUN] = {
		1, 42, 2, 300, 3, 494, 4, 6, 1, 700, 14, 58, 128, 1, 501, 30,
	};
	u32 k;

	rx_begin(t, s->pos, s->markers, s->crc);
	if (s->len)
		rx_send(t, t->ulpdu, s->len);
	for (k = 0; !s->len && k < RX_RUN; k++)
		rx_send(t, t->ulpdu + k, lengths[k]);
	rx_reference(t);
}

/* Two pieces, cut at every octet; and the first of them alone. */
static void rx_split_in_two(struct kunit *test)
{
	struct rx_model *t = test->priv;
	char what[32];
	u32 at;

	rx_send_stream(t, test->param_value);
	for (at = 0; at <= t->end; at++) {
		rx_check_first(t, at);
		snprintf(what, sizeof(what), "cut at %u", at);
		rx_piece(t, at, t->end);
		rx_check(t, what);
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

MPA_ROWS(rx_seed, rx_seeds);

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

/* Cut the first @to octets into random pieces; empty ones are NULL. */
static void rx_cut_random(struct rx_model *t, u32 to, u32 *state)
{
	u32 from = 0, n;

	t->nr_pieces = 0;
	while (from < to) {
		n = mpa_ref_random(state) % (t->nr_pieces % 5 ? 30 : 3000);
		n = min(n, to - from);
		if (t->nr_pieces == RX_PIECES - 1)
			n = to - from;
		rx_piece(t, from, from + n);
		if (!n)
			t->piece[t->nr_pieces - 1].iov_base = NULL;
		from += n;
	}
}

/* A stream arrives in pieces of all sizes. */
static void rx_random_stream(struct kunit *test)
{
	const struct rx_seed *s = test->param_value;
	u32 seed = s->seed ?: get_random_u32() | 1;
	struct rx_model *t = test->priv;
	u32 arrived = 0, len, nr;

	kunit_info(test, "seed %u", seed);
	rx_begin(t, 0, s->markers, s->crc);
	for (nr = 0; nr < RX_FPDUS && t->end < 100000; nr++) {
		len = rx_random_len(&seed);
		rx_send(t, t->ulpdu + mpa_ref_random(&seed) % 40000, len);
	}
	rx_reference(t);
	ASSERT_EQ(t, nr, t->nr);
	while (arrived < t->end) {
		arrived += 1 + mpa_ref_random(&seed) % 6000;
		arrived = min(arrived, t->end);
		rx_cut_random(t, arrived, &seed);
		rx_check(t, s->desc);
	}
}

/* Damage */

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
	{ "ER-04 ER-05 RX-02: FPDUPTR four too large",
	  492, 42, 20, 0x18, false },
	{ "ER-04 ER-05: FPDUPTR four too small", 492, 42, 20, 0x10, false },
	{ "ER-04 MK-04: FPDUPTR from the leading marker",
	  0, 600, 512, 0x200, false },
	{ "ER-04 MK-16: FPDUPTR from the previous marker",
	  0, 1100, 1024, 0x200, false },
	{ "ER-04 MK-18: wrong FPDUPTR before the CRC", 508, 2, 4, 0x8, false },
	{ "ER-04: top bit of FPDUPTR", 492, 42, 20, 0x8014, false },
	{ "MK-04: drafts, FPDUPTR from ULPDU_Length",
	  0, 600, 512, 0x1fc, true, true },
	{ "MK-04: drafts, FPDUPTR from the leading marker",
	  0, 600, 512, 0x200, true, true },
	{ "MK-04: drafts, second marker, before the CRC",
	  0, 1014, 1024, 0x400, true, true },
	{ "ER-04 MK-04: drafts, FPDUPTR from before the leading marker",
	  0, 600, 512, 0x204, false, true },
	{ "ER-04 MK-04: drafts, FPDUPTR from after ULPDU_Length",
	  0, 600, 512, 0x1f8, false, true },
	{ "ER-04 MK-13: drafts, leading marker not zero",
	  512, 42, 0, 4, false, true },
	{ "ER-04 MK-04: drafts, no leading marker",
	  492, 42, 20, 0x18, false, true },
	{ "ER-04 MK-04: drafts, FPDUPTR from a marker that does not lead",
	  492, 600, 532, 0x218, false, true },
};

MPA_ROWS(rx_marker, rx_markers);

/* A wrong marker under a right CRC is code 3, in one piece or in many. */
static void rx_wrong_marker(struct kunit *test)
{
	const struct rx_marker *m = test->param_value;
	struct rx_model *t = test->priv;
	u32 n;

	rx_begin(t, m->pos, true, true);
	t->from_lead = m->from_lead;
	rx_send(t, t->ulpdu, m->len);
	put_unaligned_be32(m->value, t->wire + m->at);
	mpa_ref_fix_crc(t->wire, t->end);
	rx_reference(t);
	ASSERT_EQ(t, m->good ? MPA_REF_MORE : MPA_REF_MARKER, t->verdict);
	/* the last time in one piece */
	for (n = 1; n <= 2 * t->end; n = 2 * n + 1) {
		rx_cut_evenly(t, n);
		rx_check(t, m->desc);
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

MPA_ROWS(rx_length, rx_lengths);

/* ULPDU_Length is checked as soon as both of its octets have arrived. */
static void rx_length_checked(struct kunit *test)
{
	const struct rx_length *l = test->param_value;
	struct rx_model *t = test->priv;
	u32 n;

	rx_begin(t, l->pos, l->markers, true);
	t->end = rx_head(t, 0);
	put_unaligned_be16(l->len, t->wire + t->end - 2);
	rx_reference(t);
	ASSERT_EQ(t, l->good ? MPA_REF_MORE : MPA_REF_MARKER, t->verdict);
	for (n = 0; n <= t->end; n++)
		rx_check_first(t, n);
}

/* Bounds of a run, in two pieces: every one of them */

static void rx_run_limit(struct kunit *test)
{
	struct rx_model *t = test->priv;
	u32 limit;

	rx_send_stream(t, test->param_value);
	rx_whole(t, t->end / 3);
	rx_piece(t, t->end / 3, t->end);
	for (limit = 0; limit <= t->end; limit++)
		rx_check_limit(t, limit);
}

static void rx_run_room(struct kunit *test)
{
	struct rx_model *t = test->priv;
	u32 max;

	rx_send_stream(t, test->param_value);
	rx_whole(t, t->end / 3);
	rx_piece(t, t->end / 3, t->end);
	for (max = 0; max <= t->nr; max++)
		rx_check_max(t, max);
	for (max = 0; rx_check_room(t, max); max++)
		;
	EXPECT_GT(t, max, 0);
}

/* Check the damaged stream in two pieces, cut at FPDU @k; then repair it. */
static void rx_check_bad(struct rx_model *t, u32 k, enum mpa_ref_verdict want,
			 const char *what)
{
	u32 i, at = t->at[k];

	rx_reference(t);
	ASSERT_EQ_MSG(t, k, t->nr, "%s", what);
	ASSERT_EQ_MSG(t, want, t->verdict, "%s", what);
	for (i = 0; i < 4; i++) {
		rx_whole(t, at + i);
		rx_piece(t, at + i, t->end);
		rx_check(t, what);
	}
	rx_send_stream(t, t->test->param_value);
}

/* For each position of a bad FPDU: the ULPDUs before it are decoded. */
static void rx_run_bad(struct kunit *test)
{
	struct rx_model *t = test->priv;
	u32 k, marker, markers = 0;

	rx_send_stream(t, test->param_value);
	for (k = 0; k < t->nr; k++) {
		put_unaligned_be16(0xffff, t->wire + t->at[k] +
				   rx_head(t, k) - 2);
		rx_check_bad(t, k, MPA_REF_MARKER, "length");

		if (t->crc) {
			t->wire[t->at[k + 1] - 1] ^= 1;
			rx_check_bad(t, k, MPA_REF_CRC, "CRC");
		}

		marker = t->at[k] + (-(t->pos + t->at[k]) & 511);
		if (!t->markers || marker >= t->at[k + 1])
			continue;
		t->wire[marker + 3] ^= 8;
		if (t->crc)
			mpa_ref_fix_crc(t->wire + t->at[k],
					t->at[k + 1] - t->at[k]);
		rx_check_bad(t, k, MPA_REF_MARKER, "marker");
		markers++;
	}
	if (t->nr > 1)
		EXPECT_EQ(t, t->markers, markers > 3);
}

static int rx_init(struct kunit *test)
{
	struct rx_model *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	u32 seed = 4405;
	u32 i;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < MPA_ULPDU_MAX; i++)
		t->ulpdu[i] = mpa_ref_random(&seed);
	t->test = test;
	test->priv = t;
	return 0;
}

static void rx_exit(struct kunit *test)
{
	kvfree(test->priv);
}

static struct kunit_case rx_cases[] = {
	KUNIT_CASE_PARAM(rx_known_fpdu, fpdu_vector_gen_params),
	KUNIT_CASE_PARAM(rx_known_verdict, received_vector_gen_params),
	KUNIT_CASE_PARAM(rx_split_in_two, rx_stream_gen_params),
	KUNIT_CASE_PARAM(rx_random_stream, rx_seed_gen_params),
	KUNIT_CASE_PARAM(rx_wrong_marker, rx_marker_gen_params),
	KUNIT_CASE_PARAM(rx_length_checked, rx_length_gen_params),
	KUNIT_CASE_PARAM(rx_run_limit, rx_stream_gen_params),
	KUNIT_CASE_PARAM(rx_run_room, rx_stream_gen_params),
	KUNIT_CASE_PARAM(rx_run_bad, rx_stream_gen_params),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "mpa_rx",
	.init = rx_init,
	.exit = rx_exit,
	.test_cases = rx_cases,
};

kunit_test_suite(rx_suite);
