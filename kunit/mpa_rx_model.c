// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What the decoder makes of a stream of FPDUs; see mpa_rx_model.h. */
#include <linux/mm.h>
#include <linux/string.h>
#include "mpa_case.h"
#include "mpa_rx_model.h"

int rx_model_init(struct kunit *test)
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

void rx_model_exit(struct kunit *test)
{
	kvfree(test->priv);
}

/* The stream */

void rx_begin(struct rx_model *t, u64 pos, bool markers, bool crc)
{
	t->pos = pos;
	t->markers = markers;
	t->crc = crc;
	t->from_lead = false;
	t->end = 0;
}

void rx_send(struct rx_model *t, const u8 *ulpdu, u32 len)
{
	t->end += mpa_ref_encode(t->wire + t->end, t->pos + t->end, ulpdu, len,
				 t->markers, t->crc);
}

/* What follows the first @k FPDUs, by the reference; sets t->len[k]. */
enum mpa_ref_verdict rx_ref_decode(struct rx_model *t, u32 k, bool crc,
				   u32 *size)
{
	return (t->from_lead ? mpa_ref_decode_drafts : mpa_ref_decode)
		(t->wire + t->at[k], t->end - t->at[k], t->pos + t->at[k],
		 t->markers, crc, t->ref_ulpdu + t->from[k], &t->len[k], size);
}

/* Have the reference decode the stream, after each change of it. */
void rx_reference(struct rx_model *t)
{
	u32 size = 0, k = 0;

	for (t->at[0] = 0, t->from[0] = 0; k < RX_FPDUS; k++) {
		t->verdict = rx_ref_decode(t, k, t->crc, &size);
		if (t->verdict != MPA_REF_GOOD)
			break;
		t->at[k + 1] = t->at[k] + size;
		t->from[k + 1] = t->from[k] + t->len[k];
	}
	t->nr = k;
	t->next_size = mpa_ref_size(t->pos + t->at[k], t->len[k], t->markers);
}

/* Number of octets of FPDU @k up to and including ULPDU_Length */
u32 rx_head(const struct rx_model *t, u32 k)
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

void rx_dec(struct rx_model *t, u32 at, u32 max_frags)
{
	t->dec = (struct mpa_dec) {
		.pos = t->pos + at, .markers = t->markers, .crc = t->crc,
		.from_lead = t->from_lead, .frag = t->frag,
		.max_frags = max_frags,
	};
}

/* Decode as many FPDUs as there are. */
int rx_decode_run(struct rx_model *t, u64 limit, u32 max, u32 max_frags,
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

/* Exactly the first @want FPDUs were decoded, into consecutive fragments. */
void rx_expect_run(struct rx_model *t, u32 want, u32 nr, const char *what)
{
	const struct kvec *frag = t->frag;
	const struct mpa_ulpdu *u = t->run;
	u32 k;

	ASSERT_EQ_MSG(t, want, nr, "%s", what);
	for (k = 0; k < nr; k++, frag += u->nr_frags, u++) {
		ASSERT_EQ_MSG(t, t->pos + t->at[k], u->pos, "%s", what);
		ASSERT_EQ_MSG(t, t->len[k], u->len, "%s", what);
		ASSERT_TRUE_MSG(t, frag == u->frag, "%s", what);
		rx_expect_ulpdu(t, k, frag, u->nr_frags, what);
	}
	ASSERT_EQ_MSG(t, t->pos + t->at[k], t->dec.pos, "%s", what);
}

/* Why FPDU @k, of which there are @have octets, is bad by the reference */
enum mpa_reason rx_reason(const struct rx_model *t, u32 k, u32 have)
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
void rx_expect_end(struct rx_model *t, u32 k, u32 have, int err,
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
void rx_check(struct rx_model *t, const char *what)
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
void rx_check_limit(struct rx_model *t, u32 limit)
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
void rx_check_max(struct rx_model *t, u32 max)
{
	u32 nr;
	int err = rx_decode_run(t, U64_MAX, max, RX_FRAGS, &nr);

	ASSERT_EQ_MSG(t, 0, err, "%u results", max);
	rx_expect_run(t, max, nr, "results");
}

/* Returns false if there are enough fragments for all ULPDUs. */
bool rx_check_room(struct rx_model *t, u32 max_frags)
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
