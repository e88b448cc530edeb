// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* FPDUs found after holes: arrivals in any order, damage, hostile streams. */
#include <kunit/test.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "mpa_case.h"
#include "mpa_ooo_model.h"
#include "mpa_wire.h"

/* Short streams in three segments, in every order */

struct ooo_short {
	const char	*desc;
	u64		start;
	u16		len[6];		/* ULPDU lengths; 0 ends them */
	u32		step;		/* octets between cuts */
	bool		marker;		/* the stream has a marker */
};

static const struct ooo_short ooo_shorts[] = {
	{ "OO-03 OO-17 OO-20 RX-07 RX-08: marker in the second of four", 476,
	  { 10, 30, 5, 14 }, 1, true },
	{ "OO-03 OO-17: leading marker", 5 * 512 - 32, { 26, 12, 1, 9 }, 1,
	  true },
	{ "OO-03 OO-17 RX-07: marker before the CRC", (1ULL << 32) - 36,
	  { 8, 18, 11, 2 }, 1, true },
	{ "OO-03 OO-17: from the start of the stream",
	  0, { 20, 6, 460, 14, 1 }, 13,
	  true },
	{ "OO-03 OO-17: marker in the last FPDU, after two octets",
	  4 * 512 - 44,
	  { 2, 25, 6 }, 1, true },
	{ "OO-19: no marker, nothing found", (7ULL << 40) + 4,
	  { 12, 1, 20, 9 }, 1, false },
	{ "OO-03 OO-17: two markers in one FPDU", (1ULL << 33) - 500,
	  { 14, 980, 14, 40 }, 23, true },
	{ "OO-03 OO-17: marker in each FPDU", 512 - 24, { 400, 520, 504 }, 29,
	  true },
};

MPA_ROWS(ooo_short, ooo_shorts);

static void ooo_send_lens(struct ooo_model *m, u64 start, const u16 *len)
{
	ooo_begin(m, start);
	while (*len)
		ooo_send(m, *len++);
}

/* The stream, cut at @cut[], in all orders; @cut[0] is its start. */
static void ooo_play_orders(struct ooo_model *m, const u32 *cut)
{
	static const u8 orders[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	const u8 *order;
	u32 ooo = 0;
	u32 i;
	u32 k;

	for (k = 0; k < ARRAY_SIZE(orders); k++) {
		order = orders[k];
		ooo_rewind(m);
		for (i = 0; i < 3; i++)
			ooo_arrive(m, cut[order[i]], cut[order[i] + 1]);
		ooo_expect_all(m);
		ooo += m->ooo;
	}
	m->what[2] += ooo;
}

static void ooo_three_segments(struct kunit *test)
{
	const struct ooo_short *s = test->param_value;
	struct ooo_model *m = test->priv;
	u32 cut[4] = {};

	ooo_send_lens(m, s->start, s->len);
	cut[3] = m->end;
	for (cut[1] = 1; cut[1] < m->end; cut[1] += s->step) {
		for (cut[2] = cut[1] + 1; cut[2] < m->end; cut[2] += s->step) {
			m->what[0] = cut[1];
			m->what[1] = cut[2];
			ooo_play_orders(m, cut);
		}
	}
	EXPECT_EQ(m, s->marker, m->what[2] > 0);
}

/* Long streams over a bad network */

/**
 * struct ooo_net - a sender and its network
 * @desc: test description
 * @seed: random seed; 0: a new one each time
 * @start: stream position of the first octet
 * @octets: approximate length of the stream
 * @longest: longest ULPDU
 * @segment: longest segment
 * @window: most octets sent and not received
 * @loss: percentage of segments that are lost
 * @again: percentage of segments sent again, cut differently
 * @drop: percentage of steps in which TCP drops octets after the hole
 */
struct ooo_net {
	const char	*desc;
	u32		seed;
	u64		start;
	u32		octets;
	u32		longest;
	u32		segment;
	u32		window;
	u32		loss;
	u32		again;
	u32		drop;
};

static const struct ooo_net ooo_nets[] = {
	{ "OO-03 OO-17 OO-20: Ethernet", 1, 0, 90000, 1430, 1460, 30000, 10,
	  10, 1 },
	{ "OO-03 OO-09 OO-17: many FPDUs in a segment, across 2^32", 2,
	  (1ULL << 32) - 30000, 60000, 60, 1460, 30000, 20, 20, 2 },
	{ "OO-03 OO-17 OO-19: FPDUs larger than a segment", 3, 1ULL << 50,
	  120000, 20000, 1460, 60000, 20, 10, 1 },
	{ "OO-03 OO-17: the longest FPDUs", 4, (1ULL << 32) - 70000, 220000,
	  64768, 9000, 200000, 15, 10, 0 },
	{ "OO-03 OO-09 OO-17: small segments", 5, 4, 30000, 900, 200, 12000,
	  25, 25, 3 },
	{ "OO-09 OO-17: queue dropped often", 6, (1ULL << 31) - 20000, 50000,
	  700, 1000, 20000, 20, 20, 20 },
	{ "OO-03 OO-09 OO-17: new seed", 0, 0, 50000, 1000, 1460, 30000, 20,
	  20, 5 },
};

MPA_ROWS(ooo_net, ooo_nets);

static u32 ooo_below(u32 *state, u32 bound)
{
	return mpa_ref_random(state) % bound;
}

/* Lengths: small, arbitrary, or the longest */
static u32 ooo_random_len(u32 *state, u32 longest)
{
	switch (ooo_below(state, 4)) {
	case 0:
		return 1 + ooo_below(state, min(longest, 40));
	case 1:
		return longest;
	default:
		return 1 + ooo_below(state, longest);
	}
}

/* Send the segment from @from to @to; it may be lost. */
static u32 ooo_segment(struct ooo_model *m, const struct ooo_net *n, u32 from,
		       u32 to, u32 *state)
{
	u32 len = 1 + ooo_below(state, n->segment);

	if (ooo_below(state, 2))
		len = n->segment;
	to = min(to, from + len);
	if (ooo_below(state, 100) >= n->loss)
		ooo_arrive_as(m, from, to, m->sent, ooo_below(state, 2));
	return to;
}

/* Send new octets, resend some with other cuts, or resend the first missing. */
static u32 ooo_next_segment(struct ooo_model *m, const struct ooo_net *n,
			    u32 sent, u32 *state)
{
	u32 from = m->next - min(m->next, 2000);

	if (sent > from && ooo_below(state, 100) < n->again)
		ooo_segment(m, n, from + ooo_below(state, sent - from), sent,
			    state);
	if (ooo_below(state, 100) < n->drop)
		ooo_drop(m, m->next + ooo_below(state, n->window));
	if (sent < m->end && sent - m->next < n->window)
		return ooo_segment(m, n, sent, m->end, state);
	ooo_segment(m, n, m->next, sent, state);
	return sent;
}

static void ooo_bad_network(struct kunit *test)
{
	const struct ooo_net *n = test->param_value;
	struct ooo_model *m = test->priv;
	u32 state = n->seed ?: get_random_u32() | 1;
	u32 sent = 0;

	kunit_info(test, "seed %u", state);
	ooo_begin(m, n->start);
	while (m->end < n->octets)
		ooo_send(m, ooo_random_len(&state, n->longest));
	while (m->next < m->end)
		sent = ooo_next_segment(m, n, sent, &state);
	ooo_expect_all(m);
	if (n->seed)
		EXPECT_GT(m, m->ooo, m->end / 20);
}

/* Damaged FPDUs, before the stream reaches them */

struct ooo_damage {
	const char	*desc;
	u64		start;
	u16		len[6];
	u32		victim;		/* index of the damaged FPDU */
	bool		marker;		/* the victim has a marker */
};

static const struct ooo_damage ooo_damages[] = {
	{ "OO-03 OO-17 ER-04: marker inside the FPDU",
	  476, { 10, 30, 5, 14, 508 }, 1,
	  true },
	{ "OO-03 OO-17 ER-04: leading marker", 5 * 512 - 32,
	  { 26, 12, 1, 520 }, 1, true },
	{ "OO-03 OO-17 ER-04: marker before the CRC", (1ULL << 32) - 40,
	  { 12, 18, 10, 700 }, 1, true },
	{ "OO-03 OO-17: no marker in the FPDU",
	  512 - 20, { 10, 20, 30, 40, 420 },
	  3, false },
};

MPA_ROWS(ooo_damage, ooo_damages);

static const u8 ooo_wrong[] = { 0x01, 0x04, 0x80, 0xff };

/* Send the stream of a case; returns memory for a damaged copy. */
static u8 *ooo_send_damage(struct ooo_model *m, u32 *victim)
{
	const struct ooo_damage *d = m->test->param_value;
	u8 *stream;
	u32 i;

	ooo_send_lens(m, d->start, d->len);
	for (*victim = 0, i = 0; i < d->victim; i++)
		*victim += m->size[*victim / 4];
	stream = kunit_kmalloc(m->test, m->end, GFP_KERNEL);
	ASSERT_NOT_NULL(m, stream);
	return stream;
}

/* Make the CRC of the FPDU at @at right; its ULPDU_Length may have changed. */
static void ooo_fix_crc(struct ooo_model *m, u8 *stream, u32 at)
{
	u32 head = mpa_ref_head(m->start + at, true);
	u32 len = get_unaligned_be16(stream + at + head - 2);
	u32 size = mpa_ref_size(m->start + at, len, true);

	if (mpa_ref_length_ok(len) && at + size <= m->end)
		mpa_ref_fix_crc(stream + at, size);
}

/* The whole stream arrives as in @stream, in one of four orders. */
static void ooo_arrive_damaged(struct ooo_model *m, const u8 *stream,
			       u32 order, u32 at)
{
	u32 cut[] = { 0, 8, at, at + 8, m->end };
	static const u8 first[][2] = {
		{ 1, 4 }, { 2, 4 }, { 3, 4 }, { 1, 3 },
	};

	ooo_arrive_as(m, cut[first[order][0]], cut[first[order][1]], stream,
		      true);
	ooo_arrive_as(m, 3, m->end, stream, true);
	ooo_arrive_as(m, 0, m->end, stream, true);
	ooo_expect_verdict(m);
}

/* Damage each octet of an FPDU, with a wrong CRC and with a right one. */
static void ooo_wrong_octet(struct kunit *test)
{
	const struct ooo_damage *d = test->param_value;
	struct ooo_model *m = test->priv;
	u32 seen[MPA_REASON_RTR + 1] = {};
	u32 ooo = 0;
	u8 *stream;
	u32 at;
	u32 i;
	u32 k;

	stream = ooo_send_damage(m, &at);
	for (i = at; i < at + m->size[at / 4]; i++) {
		for (k = 0; k < 4 * 2 * 4; k++) {
			memcpy(stream, m->sent, m->end);
			stream[i] ^= ooo_wrong[k % 4];
			if (k / 4 % 2)
				ooo_fix_crc(m, stream, at);
			m->what[0] = i;
			m->what[1] = k;
			ooo_rewind(m);
			ooo_arrive_damaged(m, stream, k / 8, at);
			seen[m->reason]++;
			ooo += m->ooo;
		}
	}
	EXPECT_GT(m, seen[MPA_REASON_CRC], 0);
	EXPECT_GT(m, seen[MPA_REASON_LENGTH], 0);
	EXPECT_GT(m, seen[MPA_REASON_NONE], 0);
	EXPECT_EQ(m, d->marker, seen[MPA_REASON_MARKER] > 0);
	EXPECT_GT(m, ooo, 0);
}

/* Pass all FPDUs after octet 8, then drop their octets from TCP's queue. */
static void ooo_pass_and_drop(struct ooo_model *m)
{
	ooo_rewind(m);
	ooo_arrive(m, 8, m->end);
	OOO_ASSERT_LT(m, 0, m->ooo);
	ooo_drop(m, 0);
}

/*
 * FPDUs that were passed arrive again with one octet altered. The ULPDUs passed
 * stay valid; altered lengths or markers are an error.
 */
static void ooo_altered_octet(struct kunit *test)
{
	struct ooo_model *m = test->priv;
	u32 seen[MPA_REASON_RTR + 1] = {};
	u32 first = 0;
	u8 *stream;
	u32 at;
	u32 i;
	u32 k;

	stream = ooo_send_damage(m, &at);
	for (i = 8; i < m->end; i++) {
		for (k = 0; k < 4 * 2; k++) {
			memcpy(stream, m->sent, m->end);
			stream[i] ^= ooo_wrong[k % 4];
			m->what[0] = i;
			m->what[1] = k;
			ooo_pass_and_drop(m);
			first = m->end - m->ooo;
			if (k / 4)
				ooo_arrive_as(m, 8, m->end, stream, true);
			ooo_arrive_as(m, 0, m->end, stream, true);
			ooo_expect_verdict(m);
			if (i >= first)
				ASSERT_NE(m, MPA_REASON_CRC, m->reason);
			seen[m->reason]++;
		}
	}
	EXPECT_GT(m, seen[MPA_REASON_NONE], 0);
	EXPECT_GT(m, seen[MPA_REASON_MARKER], 0);
	EXPECT_LE(m, seen[MPA_REASON_CRC], (first - 8) * 8);
}

/*
 * FPDUs that were passed, and the one before them, arrive again with other
 * lengths and right CRCs, so that only the number of FPDUs can show the
 * difference.
 */
static void ooo_altered_length(struct kunit *test)
{
	struct ooo_model *m = test->priv;
	u32 disagreed = 0;
	u8 *stream;
	u32 head;
	u32 len;
	u32 at;

	stream = ooo_send_damage(m, &at);
	for (at = 0; at < m->end; at += m->size[at / 4]) {
		head = mpa_ref_head(m->start + at, true);
		for (len = 0; len < 1100; len += 1 + len / 200) {
			memcpy(stream, m->sent, m->end);
			put_unaligned_be16(len, stream + at + head - 2);
			ooo_fix_crc(m, stream, at);
			m->what[0] = at;
			m->what[1] = len;
			ooo_pass_and_drop(m);
			ooo_arrive_as(m, 0, m->end, stream, true);
			ooo_expect_verdict(m);
			disagreed += m->reason == MPA_REASON_MARKER;
		}
	}
	EXPECT_GT(m, disagreed, 0);
}

/* FPDUs that a hostile peer hides inside others */

struct ooo_hidden {
	const char	*desc;
	u64		start;
	u32		from;		/* first octet after the hole */
	u32		error;		/* where the error is expected */
};

static const struct ooo_hidden ooo_hiddens[] = {
	{ "OO-17 ER-04 ER-06: hidden FPDU passed, FPDU around it is bad",
	  3 * 512 + 4, 36, 16 },
	{ "OO-17 ER-04 ER-06: FPDU around it is whole but not found",
	  3 * 512 + 4, 8, 16 },
	{ "OO-17 ER-04 ER-06: FPDU around it passed out of order",
	  4 * 512 - 32, 8, 328 },
	{ "OO-17 ER-04 ER-06: FPDU around it passed in order",
	  3 * 512 + 4, 0, 324 },
};

MPA_ROWS(ooo_hidden, ooo_hiddens);

enum {
	OOO_OUTER	= 16,
	OOO_INNER	= 40,
};

/*
 * Four FPDUs. The ULPDU of the second contains another FPDU, followed by zeros;
 * the marker in the third points to it.
 */
static u8 *ooo_send_hidden(struct ooo_model *m, u64 start)
{
	u32 first = -start & 511;
	u8 ulpdu[300] = {};
	u8 *stream;
	u32 third;
	u32 off;

	ooo_begin(m, start);
	ooo_send(m, 10);
	off = OOO_INNER - OOO_OUTER - 2 - (first < OOO_INNER ? 4 : 0);
	mpa_ref_encode(ulpdu + off, start + OOO_INNER, m->pool, 14, true,
		       true);
	ooo_send_ulpdu(m, ulpdu, sizeof(ulpdu));
	third = m->end;
	ooo_send(m, 400);
	ooo_send(m, 30);

	stream = kunit_kmalloc(m->test, m->end, GFP_KERNEL);
	ASSERT_NOT_NULL(m, stream);
	memcpy(stream, m->sent, m->end);
	while (first < third)
		first += 512;
	put_unaligned_be32(first - OOO_INNER, stream + first);
	ooo_fix_crc(m, stream, third);
	return stream;
}

static void ooo_hidden_fpdu(struct kunit *test)
{
	const struct ooo_hidden *h = test->param_value;
	struct ooo_model *m = test->priv;
	u8 *stream = ooo_send_hidden(m, h->start);
	u32 i;

	for (i = 0; i < 9; i++) {
		ooo_rewind(m);
		ooo_arrive_as(m, h->from, m->end, stream, true);
		if (h->from)
			EXPECT_GT(m, m->ooo, 0);
		ooo_arrive_as(m, 0, m->end, stream, true);
		EXPECT_EQ(m, MPA_REASON_MARKER, m->reason);
		EXPECT_EQ(m, h->error, m->at);
	}
}

/* The search alone */

/* Fill octets after a hole in which no marker points to an FPDU. */
static void ooo_fill(struct ooo_model *m, u64 start, u32 end)
{
	ooo_begin(m, start);
	m->end = end;
	m->behind = true;
	memset(m->data, 0xff, end);
	memset(m->have + 8, 1, end - 8);
}

static bool ooo_find_first(struct ooo_model *m, struct mpa_dec *dec)
{
	*dec = (struct mpa_dec) { .markers = true };
	m->map.nr = 0;
	m->map.at = m->start;
	return mpa_ooo_map_find(&m->map, &m->src, dec);
}

struct ooo_start {
	const char	*desc;
	u64		start;
	u32		hole;		/* hole after this octet; 0: none */
};

static const struct ooo_start ooo_starts[] = {
	{ "OO-03: first octets of the stream", 0 },
	{ "OO-03: across 2^32", (1ULL << 32) - 1024 },
	{ "OO-03: at stream position 2^55", 1ULL << 55 },
	{ "OO-03: across a hole", 1ULL << 20, 100 * 512 + 99 },
};

MPA_ROWS(ooo_start, ooo_starts);

/*
 * Any FPDUPTR. Every possible ULPDU_Length reads 16. An FPDU is not found if it
 * would contain an earlier marker that does not point to it.
 */
static void ooo_any_fpduptr(struct kunit *test)
{
	const struct ooo_start *s = test->param_value;
	struct ooo_model *m = test->priv;
	u32 first = s->hole ? s->hole + 1 : 8;
	u32 marker = 128 * 512;
	struct mpa_dec dec;
	u32 fpduptr;
	bool found;
	u32 fpdu;
	u32 i;

	ooo_fill(m, s->start, marker + 64);
	m->have[s->hole] = 0;
	for (i = 0; i < m->end; i += 2)
		if (i % 512 > 3)
			put_unaligned_be16(16, m->data + i);
	for (fpduptr = 0; fpduptr < 65536; fpduptr++) {
		m->what[0] = fpduptr;
		put_unaligned_be32(fpduptr | 0xabc00000, m->data + marker);
		fpdu = marker - (fpduptr - fpduptr % 4);
		found = fpdu > marker - 508 && fpdu <= marker && fpdu >= first;
		OOO_ASSERT_EQ(m, found, ooo_find_first(m, &dec));
		if (found) {
			OOO_ASSERT_EQ(m, m->start + fpdu, dec.pos);
			OOO_ASSERT_EQ(m, 16, dec.len);
			OOO_ASSERT_EQ(m, mpa_ref_size(dec.pos, 16, true),
				      dec.size);
		}
		if (fpduptr > 2100 && fpduptr < 63000)
			fpduptr += 36;
	}
}

/*
 * A search that finds only bad candidates is split into bounded steps, and ends
 * where they have used up all ranges.
 */
static void ooo_steps(struct kunit *test)
{
	struct ooo_model *m = test->priv;
	u32 bad = MPA_OOO_RANGES + 20;
	struct mpa_dec dec;
	u64 last;
	u32 i;

	ooo_fill(m, 0, (bad + 1) * 512);
	for (i = 1; i <= bad; i++)
		memset(m->data + i * 512, 0, 6);
	EXPECT_FALSE(m, ooo_find_first(m, &dec));
	EXPECT_LT(m, m->map.nr, MPA_OOO_RANGES);
	EXPECT_NE(m, MPA_POS_NONE, m->map.at);
	EXPECT_LT(m, m->src.steps, MPA_OOO_BUDGET + 10);
	EXPECT_FALSE(m, mpa_ooo_map_find(&m->map, &m->src, &dec));
	EXPECT_EQ(m, MPA_OOO_RANGES, m->map.nr);
	EXPECT_EQ(m, MPA_POS_NONE, m->map.at);

	/* ranges without an FPDU, and one with an FPDU */
	ooo_fill(m, 4, 200 * 100);
	for (i = 0; i < m->end; i += 40)
		m->have[i] = 0;
	m->what[1] = 39 * 512 - 4;
	put_unaligned_be32(0, m->data + m->what[1]);
	put_unaligned_be16(2, m->data + m->what[1] + 4);
	memset(m->have + m->what[1], 1, 20);
	m->map.at = m->start;
	m->map.nr = 0;
	do {
		last = m->map.at;
		m->src.steps = 0;
		m->what[2] = mpa_ooo_map_find(&m->map, &m->src, &dec);
		OOO_ASSERT_LT(m, m->src.steps, MPA_OOO_BUDGET + 10);
		OOO_ASSERT_LT(m, last, m->map.at);
	} while (!m->what[2] && m->map.at != MPA_POS_NONE);
	EXPECT_TRUE(m, m->what[2]);
	EXPECT_EQ(m, m->start + m->what[1], dec.pos);
}

/* Bounds */

enum {
	OOO_BLOCK	= 512,	/* an FPDU with its leading marker ... */
	OOO_BLOCK_LEN	= 502,	/* ... has a ULPDU of this length */
};

static void ooo_send_blocks(struct ooo_model *m, u64 start, u32 nr)
{
	ooo_begin(m, start);
	while (nr--)
		ooo_send(m, OOO_BLOCK_LEN);
}

static void ooo_arrive_block(struct ooo_model *m, u32 nr)
{
	ooo_arrive(m, nr * OOO_BLOCK, (nr + 1) * OOO_BLOCK);
}

/* More ranges than the map can hold: FPDUs wait until ranges are freed. */
static void ooo_ranges_used_up(struct kunit *test)
{
	u32 nr = MPA_OOO_RANGES + 30;
	struct ooo_model *m = test->priv;
	u32 ooo;
	u32 i;

	ooo_send_blocks(m, 3ULL << 31, 2 * nr);
	for (i = 0; i < nr; i++) {
		ooo_arrive_block(m, 2 * i + 1);
		ooo = min(i + 1, MPA_OOO_RANGES);
		ASSERT_EQ(m, ooo * OOO_BLOCK, m->ooo);
		ASSERT_EQ(m, ooo, m->map.nr);
	}
	/* an FPDU that would join two ranges has to wait as well */
	ooo_arrive_block(m, 100);
	EXPECT_EQ(m, MPA_OOO_RANGES, m->map.nr);

	/* passing into the free range frees two ranges */
	ooo_arrive_block(m, 0);
	EXPECT_EQ(m, (MPA_OOO_RANGES + 3) * OOO_BLOCK, m->ooo);
	EXPECT_TRUE(m, m->full);
	for (i = 1; i < nr; i++)
		ooo_arrive_block(m, 2 * i);
	EXPECT_GT(m, m->ooo, nr * OOO_BLOCK);
	ooo_expect_all(m);
}

/* An FPDU without a marker is found after a known one that TCP dropped. */
static void ooo_follows_dropped(struct kunit *test)
{
	struct ooo_model *m = test->priv;

	ooo_begin(m, 512 - 40);
	ooo_send(m, 20);
	ooo_send(m, 20);
	ooo_send(m, 20);
	ooo_arrive(m, 28, 60);
	EXPECT_EQ(m, 32, m->ooo);
	ooo_drop(m, 0);
	ooo_arrive(m, 60, m->end);
	EXPECT_EQ(m, 60, m->ooo);
	ooo_arrive(m, 28, 60);
	EXPECT_EQ(m, 60, m->ooo);
	ooo_arrive(m, 0, m->end);
	ooo_expect_all(m);
}

/* The map alone */

/**
 * struct ooo_sequence - FPDUs as the stream reaches them
 * @desc: test description
 * @nr: number of FPDUs passed before, at positions 100 to 140
 * @fpdu: position and size of each FPDU reached
 * @result: 0: new; 1: passed; -1: disagrees with what was passed
 */
struct ooo_sequence {
	const char	*desc;
	u32		nr;
	u32		fpdu[4][2];
	int		result[4];
};

static const struct ooo_sequence ooo_sequences[] = {
	{ "OO-17: two passed FPDUs, equal sizes",
	  2, { { 100, 20 }, { 120, 20 }, { 140, 8 } },
	  { 1, 1, 0 } },
	{ "OO-17: two passed FPDUs, unequal sizes",
	  2, { { 100, 8 }, { 108, 32 }, { 140, 8 } },
	  { 1, 1, 0 } },
	{ "OO-17: new FPDU before a passed one",
	  1, { { 60, 40 }, { 100, 40 }, { 140, 8 } },
	  { 0, 1, 0 } },
	{ "OO-17 ER-04: one FPDU, two passed", 2, { { 100, 40 } }, { -1 } },
	{ "OO-17 ER-04: two FPDUs, one passed", 1, { { 100, 20 } }, { -1 } },
	{ "OO-17 ER-04: two FPDUs, three passed", 3,
	  { { 100, 16 }, { 116, 24 } }, { 1, -1 } },
	{ "OO-17 ER-04: three FPDUs, two passed", 2,
	  { { 100, 16 }, { 116, 12 } }, { 1, -1 } },
	{ "OO-17 ER-04: second FPDU extends past the passed range",
	  2, { { 100, 20 }, { 120, 24 } },
	  { 1, -1 } },
	{ "OO-17 ER-04: FPDU extends far past the passed range",
	  1, { { 100, 400 } }, { -1 } },
	{ "OO-17 ER-04: FPDU overlaps the start of the passed range",
	  1, { { 80, 24 } }, { -1 } },
	{ "OO-17 ER-04: FPDU covers the passed range",
	  1, { { 80, 200 } }, { -1 } },
	{ "OO-17 ER-04: FPDU from before the passed range to its end",
	  1, { { 80, 60 } }, { -1 } },
};

MPA_ROWS(ooo_sequence, ooo_sequences);

static void ooo_reach(struct kunit *test)
{
	const struct ooo_sequence *t = test->param_value;
	struct ooo_model *m = test->priv;
	struct mpa_dec dec;
	int want = 0;
	u32 i;

	mpa_ooo_map_add_bad(&m->map, 64);
	mpa_ooo_map_add_passed(&m->map, 100, 140, t->nr);
	for (i = 0; i < 4 && t->fpdu[i][1]; i++) {
		dec = (struct mpa_dec) {
			.pos = t->fpdu[i][0], .size = t->fpdu[i][1],
		};
		want = t->result[i] < 0 ? -EBADMSG : t->result[i];
		ASSERT_EQ(m, want, mpa_ooo_map_reach(&m->map, &dec));
		if (want < 0)
			EXPECT_EQ(m, MPA_REASON_MARKER, dec.reason);
	}
	if (want >= 0)
		EXPECT_EQ(m, 0, m->map.nr);
}

static struct kunit_case ooo_cases[] = {
	KUNIT_CASE_PARAM_ATTR(ooo_three_segments, ooo_short_gen_params,
			      { KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM(ooo_bad_network, ooo_net_gen_params),
	KUNIT_CASE_PARAM(ooo_wrong_octet, ooo_damage_gen_params),
	KUNIT_CASE_PARAM_ATTR(ooo_altered_octet, ooo_damage_gen_params,
			      { KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM(ooo_altered_length, ooo_damage_gen_params),
	KUNIT_CASE_PARAM(ooo_hidden_fpdu, ooo_hidden_gen_params),
	KUNIT_CASE_PARAM_ATTR(ooo_any_fpduptr, ooo_start_gen_params,
			      { KUNIT_SPEED_SLOW }),
	KUNIT_CASE(ooo_steps),
	KUNIT_CASE(ooo_ranges_used_up),
	KUNIT_CASE(ooo_follows_dropped),
	KUNIT_CASE_PARAM(ooo_reach, ooo_sequence_gen_params),
	{}
};

static struct kunit_suite ooo_suite = {
	.name = "mpa_ooo_map",
	.init = ooo_model_init,
	.exit = ooo_model_exit,
	.test_cases = ooo_cases,
};

kunit_test_suite(ooo_suite);
