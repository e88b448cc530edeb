// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The decoder gets a stream of FPDUs, in one piece, in many, an octet too few:
 * each of its paths has to have the reference's result.
 *
 * An input: options, position, how it is cut, then the peer's FPDUs, one by
 * one; see send_one().
 */
#include "fuzz.h"
#include "mpa_ref.h"

enum {
	STREAM_FULL	= 4 * 1024,	/* then no more are sent */
	STREAM_MAX	= STREAM_FULL + 2 * 66 * 1024,
	FPDUS		= 40,
	FRAGS		= 1024,
	PIECES		= 256,
};

struct stream {
	u64	start;
	bool	markers;
	bool	crc;
	bool	drafts;			/* FPDUPTR also from leading markers */
	bool	had_long;
	u32	last;			/* where the last FPDU begins */
	u32	len;
	u8	wire[STREAM_MAX];
};

/* The reference's result */
struct truth {
	u32	nr;
	u32	at[FPDUS + 1];
	u32	len[FPDUS + 1];
	u32	size[FPDUS + 1];
	u32	from[FPDUS + 1];	/* in @ulpdu */
	enum mpa_ref_verdict verdict;	/* on the octets after those */
	u8	ulpdu[STREAM_MAX + 65536];
};

static struct stream stream;
static struct truth truth;

/* The peer */

static void send_fpdu(struct stream *s, u32 len)
{
	s->last = s->len;
	s->len += mpa_ref_encode(s->wire + s->len, s->start + s->len,
				 fuzz_pool + s->len % 1021, len, s->markers,
				 s->crc);
}

static u32 lead(const struct stream *s, u32 at)
{
	return s->markers && (s->start + at) % 512 == 0 ? 4 : 0;
}

/* The length decides where the CRC is, so that may be where nothing was. */
static void send_length(struct stream *s, u32 len)
{
	u8 *length;
	u32 size;

	send_fpdu(s, 1 + len % 200);
	length = s->wire + s->last + lead(s, s->last);
	length[0] = len >> 8;
	length[1] = len;
	size = mpa_ref_size(s->start + s->last, len, s->markers);
	if (s->last + size > STREAM_FULL)
		return;
	while (s->len < s->last + size)
		s->wire[s->len++] = 0;
	fuzz_fix_crc(s->wire + s->last, size);
}

/* Some marker of the last FPDU, if it has one */
static void break_marker(struct stream *s, struct fuzz_input *in)
{
	u32 first = s->last + -(s->start + s->last) % 512;
	u32 at = first + 512 * fuzz_below(in, 4);

	if (!s->markers || at + 8 > s->len)
		return;
	s->wire[at + 2] = fuzz_u8(in);
	s->wire[at + 3] = fuzz_u8(in);
	if (s->wire[at + 3] != 255)
		return;
	/* a reading of the drafts, or nearly so */
	s->wire[at + 2] = (at - s->last) >> 8;
	s->wire[at + 3] = at - s->last;
}

static void break_octet(struct stream *s, struct fuzz_input *in)
{
	u32 at = s->last + fuzz_below(in, s->len - s->last);

	s->wire[at] ^= fuzz_u8(in);
}

static void send_raw(struct stream *s, struct fuzz_input *in)
{
	u32 n = 1 + fuzz_below(in, 64);

	while (n--)
		s->wire[s->len++] = fuzz_u8(in);
}

static u32 some_length(struct stream *s, struct fuzz_input *in)
{
	u32 len = fuzz_u16(in);

	if (s->had_long || fuzz_u8(in) != 255)
		return 1 + len % 1600;
	s->had_long = true;
	return 1 + len % 64768;
}

/* One FPDU, or something that is none. */
static void send_one(struct stream *s, struct fuzz_input *in)
{
	u32 what = fuzz_u8(in) % 16;

	switch (what) {
	case 0 ... 7:
		send_fpdu(s, 1 + fuzz_u8(in));
		break;
	case 8:
		send_fpdu(s, some_length(s, in));
		break;
	case 9:		/* it ends near a marker */
		send_fpdu(s, 1 + (-(s->start + s->len) % 512 + 500 +
				  fuzz_u8(in) % 32) % 512);
		break;
	case 10:
	case 11:
		send_fpdu(s, 1 + fuzz_below(in, 700));
		break_octet(s, in);
		if (what == 11)
			fuzz_fix_crc(s->wire + s->last, s->len - s->last);
		break;
	case 12:
		send_length(s, fuzz_u16(in));
		break;
	case 13:
		send_fpdu(s, 1 + fuzz_below(in, 1500));
		break_marker(s, in);
		fuzz_fix_crc(s->wire + s->last, s->len - s->last);
		break;
	case 14:
		send_raw(s, in);
		break;
	case 15:	/* the last octets are not sent */
		s->len -= min(1 + fuzz_u8(in), s->len - s->last);
		break;
	}
}

static void send_stream(struct stream *s, struct fuzz_input *in)
{
	u32 nr;

	s->had_long = false;
	s->last = 0;
	s->len = 0;
	for (nr = 0; nr < FPDUS && s->len < STREAM_FULL; nr++) {
		if (in->p == in->end)
			break;
		send_one(s, in);
	}
}

static enum mpa_ref_verdict ref_decode(const struct stream *s, u32 at,
				       u32 have, bool crc, u8 *ulpdu,
				       u32 *len, u32 *size)
{
	return (s->drafts ? mpa_ref_decode_drafts : mpa_ref_decode)
		(s->wire + at, have, s->start + at, s->markers, crc, ulpdu,
		 len, size);
}

/* An FPDU that exceeds the room is not received. */
static void find_truth(struct stream *s, struct truth *t)
{
	u32 from = 0, at = 0, n;

	for (n = 0;; n++) {
		if (n == FPDUS)
			s->len = at;
		t->at[n] = at;
		t->from[n] = from;
		t->verdict = ref_decode(s, at, s->len - at, s->crc,
					t->ulpdu + from, &t->len[n],
					&t->size[n]);
		if (t->verdict != MPA_REF_GOOD)
			break;
		at += t->size[n];
		from += t->len[n];
	}
	t->nr = n;
}

/* The decoder */

static void dec_init(const struct stream *s, struct mpa_dec *dec, u32 at,
		     struct kvec *frag, u32 max)
{
	*dec = (struct mpa_dec) {
		.pos = s->start + at, .markers = s->markers, .crc = s->crc,
		.from_lead = s->drafts, .frag = frag, .max_frags = max,
	};
}

static void check_ulpdu(const struct truth *t, u32 k, const struct kvec *frag,
			u32 nr_frags)
{
	u32 i, n = 0;

	for (i = 0; i < nr_frags; n += frag[i++].iov_len) {
		SHIM_ASSERT(frag[i].iov_len && n + frag[i].iov_len <= t->len[k],
			    "FPDU %u", k);
		SHIM_ASSERT(!memcmp(frag[i].iov_base, t->ulpdu + t->from[k] + n,
				    frag[i].iov_len), "FPDU %u", k);
	}
	SHIM_ASSERT(n == t->len[k], "FPDU %u", k);
}

static bool length_bad(u32 len)
{
	return !len || len > 64768;
}

static enum mpa_reason truth_reason(const struct truth *t)
{
	switch (t->verdict) {
	case MPA_REF_CRC:
		return MPA_REASON_CRC;
	case MPA_REF_MARKER:
		return length_bad(t->len[t->nr]) ? MPA_REASON_LENGTH :
						   MPA_REASON_MARKER;
	default:
		return MPA_REASON_NONE;
	}
}

/* The verdict on the octets after the good FPDUs */
static void check_end(const struct stream *s, const struct truth *t,
		      const struct mpa_dec *dec, int err)
{
	SHIM_ASSERT(dec->pos == s->start + t->at[t->nr], "at %llu",
		    (unsigned long long)dec->pos);
	if (t->verdict == MPA_REF_MORE) {
		SHIM_ASSERT(err == -EAGAIN, "%d", err);
		SHIM_ASSERT(dec->size > s->len - t->at[t->nr], "%u", dec->size);
	} else if (t->verdict != MPA_REF_GOOD) {
		SHIM_ASSERT(err == -EBADMSG, "%d", err);
		SHIM_ASSERT(dec->reason == truth_reason(t), "%d", dec->reason);
	}
	if (err)
		SHIM_ASSERT(!dec->nr_frags, "%u", dec->nr_frags);
}

static void check_one(const struct stream *s, const struct truth *t, u32 k,
		      const struct mpa_octets *in)
{
	struct kvec frag[FRAGS];
	struct mpa_dec dec;
	int err;

	dec_init(s, &dec, t->at[k], frag, FRAGS);
	err = mpa_fpdu_decode(&dec, in);
	if (k == t->nr) {
		check_end(s, t, &dec, err);
		return;
	}
	SHIM_ASSERT(!err, "FPDU %u: %d, reason %d", k, err, dec.reason);
	SHIM_ASSERT(dec.len == t->len[k] && dec.size == t->size[k], "FPDU %u",
		    k);
	check_ulpdu(t, k, frag, dec.nr_frags);
}

/* The first @n octets of an FPDU: nothing comes of it but a bad length. */
static void check_prefix(const struct stream *s, const struct truth *t, u32 k,
			 u32 n)
{
	u32 head = 2 + lead(s, t->at[k]);
	struct kvec v = { fuzz_copy(s->wire + t->at[k], n), n };
	struct mpa_octets in = { .v = &v, .nr = 1, .len = n };
	struct mpa_dec dec;
	int err;

	dec_init(s, &dec, t->at[k], NULL, 0);
	err = mpa_fpdu_decode(&dec, &in);
	free(v.iov_base);
	if (n >= head && length_bad(t->len[k])) {
		SHIM_ASSERT(err == -EBADMSG, "%d", err);
		SHIM_ASSERT(dec.reason == MPA_REASON_LENGTH, "%d", dec.reason);
		return;
	}
	SHIM_ASSERT(err == -EAGAIN && dec.size > n, "%u octets: %d", n, err);
	SHIM_ASSERT(n >= head || dec.size == head, "asks for %u", dec.size);
}

static void check_prefixes(const struct stream *s, const struct truth *t,
			   u32 seed)
{
	u32 k = seed % (t->nr + 1);
	u32 size = s->len - t->at[k];

	if (k < t->nr || t->verdict == MPA_REF_CRC)
		size = t->size[k];
	else if (t->verdict == MPA_REF_MARKER && !length_bad(t->len[k]))
		size = t->size[k];
	if (!size)
		return;
	check_prefix(s, t, k, size - 1);
	check_prefix(s, t, k, seed / 7 % size);
	check_prefix(s, t, k, min(size - 1, seed / 7 % 7));
}

/* All FPDUs at once, limited in fragments, ULPDUs and octets (@limit) */
struct run {
	u32			max_frags;
	u32			max;
	u64			limit;
	struct kvec		frag[FRAGS];
	struct mpa_ulpdu	ulpdu[FPDUS + 1];
	u32			nr;
	u32			nr_frags;	/* of those that are good */
};

static void check_run_ulpdus(const struct stream *s, const struct truth *t,
			     struct run *r)
{
	const struct mpa_ulpdu *u = r->ulpdu;
	u32 k;

	SHIM_ASSERT(r->nr <= t->nr, "%u", r->nr);
	r->nr_frags = 0;
	for (k = 0; k < r->nr; k++, u++) {
		SHIM_ASSERT(u->pos == s->start + t->at[k], "FPDU %u", k);
		SHIM_ASSERT(u->len == t->len[k], "FPDU %u", k);
		SHIM_ASSERT(u->frag == r->frag + r->nr_frags, "FPDU %u", k);
		check_ulpdu(t, k, u->frag, u->nr_frags);
		r->nr_frags += u->nr_frags;
	}
	SHIM_ASSERT(r->nr_frags <= r->max_frags, "%u", r->nr_frags);
}

/* A good one would go beyond the limit: so it is bad. */
static bool runs_into(const struct stream *s, const struct truth *t,
		      const struct run *r)
{
	u64 end = s->start + t->at[r->nr] + t->size[r->nr];

	return r->nr < t->nr && end > r->limit;
}

static void check_run(const struct stream *s, const struct truth *t,
		      const struct mpa_octets *in, struct run *r)
{
	struct mpa_dec dec;
	int err;

	dec_init(s, &dec, 0, r->frag, r->max_frags);
	err = mpa_fpdu_decode_run(&dec, in, r->limit, r->ulpdu, r->max, &r->nr);
	check_run_ulpdus(s, t, r);
	SHIM_ASSERT(dec.pos == s->start + t->at[r->nr], "%u", r->nr);
	if (!err)
		SHIM_ASSERT(r->nr == r->max || dec.pos == r->limit, "%u",
			    r->nr);
	else if (err == -ENOBUFS)
		SHIM_ASSERT(r->max_frags < FRAGS, "after %u", r->nr);
	else if (runs_into(s, t, r))
		SHIM_ASSERT(err == -EBADMSG && dec.reason == MPA_REASON_MARKER,
			    "%d", err);
	else
		check_end(s, t, &dec, err);
}

static void check_runs(const struct stream *s, const struct truth *t,
		       const struct mpa_octets *in, u32 seed)
{
	static struct run r;
	u32 needed;

	r.max_frags = FRAGS;
	r.max = FPDUS + 1;
	r.limit = MPA_POS_NONE;
	check_run(s, t, in, &r);
	SHIM_ASSERT(r.nr == t->nr, "%u", r.nr);
	needed = r.nr_frags;

	switch (seed % 3) {
	case 0:
		if (!needed)
			break;
		r.max_frags = seed % needed;
		check_run(s, t, in, &r);
		SHIM_ASSERT(r.nr < t->nr, "%u", r.nr);
		break;
	case 1:
		r.max = seed % (t->nr + 1);
		check_run(s, t, in, &r);
		SHIM_ASSERT(r.nr == r.max, "%u", r.nr);
		break;
	case 2:
		r.limit = s->start + seed % (s->len + 1);
		check_run(s, t, in, &r);
		break;
	}
}

/* Length and markers alone, as for ULPDUs already passed out of order */

struct flat_source {
	struct mpa_source	src;
	const struct stream	*s;
};

static u32 flat_have(struct mpa_source *src, u64 pos, u32 max)
{
	const struct stream *s = container_of(src, struct flat_source, src)->s;

	return min_t(u64, max, s->start + s->len - pos);
}

static void flat_read(struct mpa_source *src, u64 pos, void *to, u32 len)
{
	const struct stream *s = container_of(src, struct flat_source, src)->s;

	SHIM_ASSERT(pos >= s->start && pos + len <= s->start + s->len, "%u",
		    len);
	memcpy(to, s->wire + (pos - s->start), len);
}

static void check_peek(const struct stream *s, const struct truth *t, u32 k)
{
	struct flat_source flat = {
		.src = { .have = flat_have, .read = flat_read }, .s = s,
	};
	static u8 ulpdu[65536];
	struct mpa_dec dec;
	u32 len, size;
	int err;

	dec_init(s, &dec, t->at[k], NULL, 0);
	err = mpa_fpdu_peek(&dec, &flat.src, MPA_POS_NONE);
	if (k == t->nr && (t->verdict == MPA_REF_MORE || err)) {
		check_end(s, t, &dec, err);
		return;
	}
	SHIM_ASSERT(!err && dec.len == t->len[k] && dec.size == t->size[k],
		    "FPDU %u: %d", k, err);
	err = mpa_fpdu_check_markers(&dec, &flat.src);
	SHIM_ASSERT(!err == !ref_decode(s, t->at[k], dec.size, false, ulpdu,
					&len, &size), "FPDU %u: %d", k, err);
}

/* Cuts. With @kind 2 some pieces are empty. */

#define IN_ONE_PIECE	(4 * STREAM_MAX)

static u32 piece_size(const struct stream *s, u32 kind, bool first, u32 *seed)
{
	u32 least = DIV_ROUND_UP(s->len, PIECES - 2);

	switch (kind % 4) {
	case 0:
		return max(1 + kind / 4, least);
	case 1:		/* segments */
		return 1448 - (first ? 4 * *seed % 1448 : 0);
	case 2:
		return mpa_ref_random(seed) % 3 ? mpa_ref_random(seed) % 700 :
						  mpa_ref_random(seed) % 12;
	default:	/* near markers */
		return 512 - (first ? (s->start + *seed) % 512 : 0);
	}
}

static u32 cut(const struct stream *s, struct kvec *v, u32 kind, u32 seed)
{
	u32 at = 0, nr = 0, n;

	do {
		n = min(piece_size(s, kind, !nr, &seed), s->len - at);
		if (nr == PIECES - 1)
			n = s->len - at;
		v[nr].iov_base = fuzz_copy(s->wire + at, n);
		v[nr++].iov_len = n;
		at += n;
	} while (at < s->len);
	return nr;
}

/* The octets from @at on */
static struct mpa_octets octets_from(const struct stream *s,
				     const struct kvec *v, u32 nr, u32 at)
{
	struct mpa_octets in = { .v = v, .nr = nr, .len = s->len - at };

	for (; in.nr > 1 && at >= in.v->iov_len; in.v++, in.nr--)
		at -= in.v->iov_len;
	in.off = at;
	return in;
}

static void check_cut(const struct stream *s, const struct truth *t, u32 kind,
		      u32 seed)
{
	struct kvec v[PIECES];
	struct mpa_octets in;
	u32 nr, k, i;

	nr = cut(s, v, kind, seed | 1);
	for (k = 0; k <= t->nr; k++) {
		in = octets_from(s, v, nr, t->at[k]);
		check_one(s, t, k, &in);
	}
	in = octets_from(s, v, nr, 0);
	check_runs(s, t, &in, seed / 3);
	for (i = 0; i < nr; i++)
		free(v[i].iov_base);
}

static void count(const struct stream *s, const struct truth *t)
{
	bool truncated = t->verdict == MPA_REF_MORE && t->at[t->nr] < s->len;

	fuzz_count[FUZZ_STREAMS]++;
	fuzz_count[FUZZ_FPDUS] += t->nr;
	fuzz_count[FUZZ_BROKEN] += truncated || truth_reason(t);
	fuzz_say("%u FPDUs, %s", t->nr,
		 fuzz_reason(truncated ? MPA_REASON_TRUNCATED :
					 truth_reason(t)));
}

void fuzz_one(struct fuzz_input *in)
{
	struct stream *s = &stream;
	struct truth *t = &truth;
	u32 options = fuzz_u8(in);
	u32 seed = fuzz_u16(in);
	u32 kind = fuzz_u8(in);

	s->markers = !(options & 1);
	s->crc = !(options & 2);
	s->drafts = options & 4;
	s->start = fuzz_pos(in);
	send_stream(s, in);
	find_truth(s, t);
	count(s, t);

	check_cut(s, t, IN_ONE_PIECE, 3 * seed);
	check_peek(s, t, seed % (t->nr + 1));
	check_peek(s, t, t->nr);
	check_prefixes(s, t, seed);
	check_cut(s, t, kind, seed);
}
