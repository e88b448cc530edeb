// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The decoder gets a stream of FPDUs, in one piece, in many, an octet too few:
 * each of its paths has to have the reference's result, by the model of the KUnit
 * suite.
 *
 * An input: options, position, how it is cut, then the peer's FPDUs, one by
 * one; see send_one().
 */
#include "fuzz.h"
#include "mpa_rx_model.h"

enum {
	STREAM_FULL	= 4 * 1024,	/* then no more are sent */
	FPDUS		= 40,
	PIECES		= 256,
};

static struct kunit test;
static bool had_long;
static u32 last;			/* where the last FPDU begins */

/* The peer */

static void send_fpdu(struct rx_model *m, u32 len)
{
	last = m->end;
	rx_send(m, fuzz_pool + m->end % 1021, len);
}

static void fix_crc(struct rx_model *m)
{
	mpa_ref_fix_crc(m->wire + last, m->end - last);
}

/* The length decides where the CRC is, so that may be where nothing was. */
static void send_length(struct rx_model *m, u32 len)
{
	u64 pos = m->pos + m->end;
	u32 head = mpa_ref_head(pos, m->markers);
	u32 size = mpa_ref_size(pos, len, m->markers);

	send_fpdu(m, 1 + len % 200);
	put_unaligned_be16(len, m->wire + last + head - 2);
	if (last + size > STREAM_FULL)
		return;
	while (m->end < last + size)
		m->wire[m->end++] = 0;
	mpa_ref_fix_crc(m->wire + last, size);
}

/* Some marker of the last FPDU, if it has one */
static void break_marker(struct rx_model *m, struct fuzz_input *in)
{
	u32 first = last + -(m->pos + last) % 512;
	u32 at = first + 512 * fuzz_below(in, 4);

	if (!m->markers || at + 8 > m->end)
		return;
	m->wire[at + 2] = fuzz_u8(in);
	m->wire[at + 3] = fuzz_u8(in);
	/* a reading of the drafts, or nearly so */
	if (m->wire[at + 3] == 255)
		put_unaligned_be16(at - last, m->wire + at + 2);
}

static void break_octet(struct rx_model *m, struct fuzz_input *in)
{
	u32 at = last + fuzz_below(in, m->end - last);

	m->wire[at] ^= fuzz_u8(in);
}

static void send_raw(struct rx_model *m, struct fuzz_input *in)
{
	u32 n = 1 + fuzz_below(in, 64);

	while (n--)
		m->wire[m->end++] = fuzz_u8(in);
}

static u32 some_length(struct fuzz_input *in)
{
	u32 len = fuzz_u16(in);

	if (had_long || fuzz_u8(in) != 255)
		return 1 + len % 1600;
	had_long = true;
	return 1 + len % 64768;
}

/* One FPDU, or something that is none. */
static void send_one(struct rx_model *m, struct fuzz_input *in)
{
	u32 what = fuzz_u8(in) % 16;

	switch (what) {
	case 0 ... 7:
		send_fpdu(m, 1 + fuzz_u8(in));
		break;
	case 8:
		send_fpdu(m, some_length(in));
		break;
	case 9:		/* it ends near a marker */
		send_fpdu(m, 1 + (-(m->pos + m->end) % 512 + 500 +
				  fuzz_u8(in) % 32) % 512);
		break;
	case 10:
	case 11:
		send_fpdu(m, 1 + fuzz_below(in, 700));
		break_octet(m, in);
		if (what == 11)
			fix_crc(m);
		break;
	case 12:
		send_length(m, fuzz_u16(in));
		break;
	case 13:
		send_fpdu(m, 1 + fuzz_below(in, 1500));
		break_marker(m, in);
		fix_crc(m);
		break;
	case 14:
		send_raw(m, in);
		break;
	case 15:	/* the last octets are not sent */
		m->end -= min(1 + fuzz_u8(in), m->end - last);
		break;
	}
}

static void send_stream(struct rx_model *m, struct fuzz_input *in)
{
	u32 nr;

	had_long = false;
	last = 0;
	for (nr = 0; nr < FPDUS && m->end < STREAM_FULL; nr++) {
		if (in->p == in->end)
			break;
		send_one(m, in);
	}
	rx_reference(m);
}

/* Cuts. With @kind 2 some pieces are empty. */

#define IN_ONE_PIECE	(4 * RX_STREAM)

static u32 piece_size(const struct rx_model *m, u32 kind, bool first, u32 *seed)
{
	u32 least = DIV_ROUND_UP(m->end, PIECES - 2);

	switch (kind % 4) {
	case 0:
		return max(1 + kind / 4, least);
	case 1:		/* segments */
		return 1448 - (first ? 4 * *seed % 1448 : 0);
	case 2:
		return mpa_ref_random(seed) % 3 ? mpa_ref_random(seed) % 700 :
						  mpa_ref_random(seed) % 12;
	default:	/* near markers */
		return 512 - (first ? (m->pos + *seed) % 512 : 0);
	}
}

/* Cut the first @to octets; the sanitizer knows the ends of the pieces. */
static void cut(struct rx_model *m, u32 to, u32 kind, u32 seed)
{
	u32 at = 0, n;

	m->nr_pieces = 0;
	do {
		n = min(piece_size(m, kind, !m->nr_pieces, &seed), to - at);
		if (m->nr_pieces == PIECES - 1)
			n = to - at;
		m->piece[m->nr_pieces++] = (struct kvec) {
			fuzz_copy(m->wire + at, n), n };
		at += n;
	} while (at < to);
}

static void discard(struct rx_model *m)
{
	while (m->nr_pieces)
		free(m->piece[--m->nr_pieces].iov_base);
}

static void check_first(struct rx_model *m, u32 n)
{
	cut(m, n, IN_ONE_PIECE, 0);
	rx_check(m, "in one piece");
	discard(m);
}

/* All but some octets of an FPDU, and of those after it */
static void check_prefixes(struct rx_model *m, u32 seed)
{
	u32 k = seed % (m->nr + 1);
	u32 size = (k < m->nr ? m->at[k + 1] : m->end) - m->at[k];

	if (!size)
		return;
	check_first(m, m->at[k] + size - 1);
	check_first(m, m->at[k] + seed / 7 % size);
	check_first(m, m->at[k] + min(size - 1, seed / 7 % 7));
}

static void check_cut(struct rx_model *m, u32 kind, u32 seed)
{
	cut(m, m->end, kind, seed | 1);
	rx_check(m, "in pieces");
	switch (seed / 3 % 3) {
	case 0:
		rx_check_room(m, seed / 9 % 256);
		break;
	case 1:
		rx_check_max(m, seed / 9 % (m->nr + 1));
		break;
	case 2:
		rx_check_limit(m, seed / 9 % (m->end + 1));
		break;
	}
	discard(m);
}

/* Length and markers alone, as for ULPDUs already passed out of order */

struct flat_source {
	struct mpa_stream	src;
	const struct rx_model	*m;
};

static u32 flat_have(struct mpa_stream *src, u64 pos, u32 max)
{
	const struct rx_model *m = container_of(src, struct flat_source, src)->m;

	return min_t(u64, max, m->pos + m->end - pos);
}

static void flat_read(struct mpa_stream *src, u64 pos, void *to, u32 len)
{
	const struct rx_model *m = container_of(src, struct flat_source, src)->m;

	SHIM_ASSERT(pos >= m->pos && pos + len <= m->pos + m->end, "%u", len);
	memcpy(to, m->wire + (pos - m->pos), len);
}

/* A wrong CRC is not seen, so the reference decides without. */
static void check_peek(struct rx_model *m, u32 k)
{
	struct flat_source flat = {
		.src = { .have = flat_have, .read = flat_read }, .m = m,
	};
	u32 size;
	int err;

	rx_dec(m, m->at[k], 0);
	err = mpa_fpdu_peek(&m->dec, &flat.src, MPA_POS_NONE);
	if (k == m->nr && (m->verdict == MPA_REF_MORE || err)) {
		rx_expect_end(m, k, m->end - m->at[k], err, "peek");
		return;
	}
	size = k < m->nr ? m->at[k + 1] - m->at[k] : m->next_size;
	SHIM_ASSERT(!err && m->dec.len == m->len[k] && m->dec.size == size,
		    "FPDU %u: %d", k, err);
	err = mpa_fpdu_check_markers(&m->dec, &flat.src);
	SHIM_ASSERT(!err == !rx_ref_decode(m, k, false, &size),
		    "FPDU %u: %d", k, err);
}

static void count(const struct rx_model *m)
{
	u32 rest = m->end - m->at[m->nr];
	enum mpa_reason reason = rx_reason(m, m->nr, rest);

	if (!reason && rest)
		reason = MPA_REASON_TRUNCATED;
	fuzz_count[FUZZ_STREAMS]++;
	fuzz_count[FUZZ_FPDUS] += m->nr;
	fuzz_count[FUZZ_BROKEN] += reason != MPA_REASON_NONE;
	fuzz_say("%u FPDUs, %s", m->nr, fuzz_reason(reason));
}

void fuzz_one(struct fuzz_input *in)
{
	u32 options = fuzz_u8(in);
	u32 seed = fuzz_u16(in);
	u32 kind = fuzz_u8(in);
	struct rx_model *m;

	if (!test.priv && rx_model_init(&test))
		abort();
	m = test.priv;
	rx_begin(m, fuzz_pos(in), !(options & 1), !(options & 2));
	m->from_lead = options & 4;
	send_stream(m, in);
	count(m);

	check_cut(m, IN_ONE_PIECE, 3 * seed);
	check_peek(m, seed % (m->nr + 1));
	check_peek(m, m->nr);
	check_prefixes(m, seed);
	check_cut(m, kind, seed);
}
