// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Layout of FPDUs, against known answers and the reference. */
#include <crypto/sha2.h>
#include <kunit/test.h>
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/unaligned.h>
#include "mpa_case.h"
#include "mpa_fpdu.h"
#include "mpa_ref.h"
#include "mpa_vectors.h"
#include "mpa_wire.h"

enum {
	TX_ENTRIES	= 2048,
	TX_PAGES	= 2048,
	TX_STREAM	= 140 * 1024,	/* the longest stream of the vectors */
	TX_SEGMENTS	= 512,
	TX_HDR		= 18,		/* an untagged DDP header */
	TX_HDR_LISTED	= 64,		/* longest header gathered */
};

/**
 * struct tx_test - data of a send case
 * @enc: encoder under test
 * @bv: entries for @enc
 * @page: every block of memory handed out, with a reference of the test's
 * @nr_pages: number of blocks in @page
 * @chunk: octets per block handed out
 * @left: number of refill() calls that still succeed
 * @payload: the block of @page that holds a payload
 * @ulpdu: octets of ULPDUs
 * @want: FPDUs encoded by the reference
 * @have: FPDUs encoded by the module, put together
 * @seg: segments of a payload, as bio_vec
 * @seg_kv: segments of a payload, as kvec
 * @list: entries of gathered FPDUs
 * @around: memory for headers, pads and CRCs of gathered FPDUs
 */
struct tx_test {
	struct mpa_enc	enc;
	struct bio_vec	bv[TX_ENTRIES];
	struct page	*page[TX_PAGES];
	u32		nr_pages;
	u32		chunk;
	u32		left;
	struct page	*payload;
	u8		ulpdu[MPA_ULPDU_MAX];
	u8		want[TX_STREAM];
	u8		have[TX_STREAM];
	struct bio_vec	seg[TX_SEGMENTS];
	struct kvec	seg_kv[TX_SEGMENTS];
	struct kvec	list[TX_ENTRIES];
	u8		around[TX_STREAM];
};

static struct page *tx_page(struct tx_test *t, u32 size)
{
	struct page *page;

	if (t->nr_pages == TX_PAGES)
		return NULL;
	page = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(size));
	if (page)
		t->page[t->nr_pages++] = page;
	return page;
}

static int tx_refill(struct mpa_enc *enc)
{
	struct tx_test *t = container_of(enc, struct tx_test, enc);
	struct page *page;

	if (!t->left)
		return -ENOMEM;
	t->left--;
	page = tx_page(t, t->chunk);
	if (!page)
		return -ENOMEM;
	if (enc->frag.page)
		put_page(enc->frag.page);
	get_page(page);
	enc->frag = (struct page_frag) { .page = page, .size = t->chunk };
	return 0;
}

/* Drop the FPDUs laid out; all references must balance. */
static void tx_drop(struct kunit *test)
{
	struct tx_test *t = test->priv;

	while (t->enc.nr)
		put_page(t->enc.bv[--t->enc.nr].bv_page);
	if (t->enc.frag.page)
		put_page(t->enc.frag.page);
	t->enc.frag = (struct page_frag) {};
	while (t->nr_pages) {
		KUNIT_EXPECT_EQ(test, 1,
				page_count(t->page[--t->nr_pages]));
		put_page(t->page[t->nr_pages]);
	}
}

static int tx_init(struct kunit *test)
{
	struct tx_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	u32 seed = 5044;
	u32 i;

	if (!t)
		return -ENOMEM;
	for (i = 0; i < MPA_ULPDU_MAX; i++)
		t->ulpdu[i] = mpa_ref_random(&seed);
	t->chunk = 32768;
	t->left = U32_MAX;
	t->enc = (struct mpa_enc) {
		.markers = true, .crc = true,
		.bv = t->bv, .max = TX_ENTRIES, .refill = tx_refill,
	};
	test->priv = t;
	return 0;
}

static void tx_exit(struct kunit *test)
{
	if (!test->priv)
		return;
	tx_drop(test);
	kvfree(test->priv);
}

static u32 tx_gather(struct tx_test *t)
{
	const struct bio_vec *v;
	u32 n = 0;
	u32 i;

	for (i = 0; i < t->enc.nr; i++) {
		v = &t->bv[i];
		memcpy(t->have + n, page_address(v->bv_page) + v->bv_offset,
		       v->bv_len);
		n += v->bv_len;
	}
	return n;
}

/*
 * Entries are not empty, stay within the memory handed out for copies and, as
 * each holds one reference, within one page of a payload.
 */
static void tx_expect_entries(struct kunit *test)
{
	struct tx_test *t = test->priv;
	const struct bio_vec *v;

	for (v = t->bv; v < t->bv + t->enc.nr; v++) {
		u32 max = t->chunk;

		if (compound_head(v->bv_page) == t->payload)
			max = PAGE_SIZE;
		KUNIT_ASSERT_GT(test, v->bv_len, 0);
		KUNIT_ASSERT_LE(test, v->bv_offset + v->bv_len, max);
	}
}

/* t->have must equal the first @size octets of t->want. */
static void tx_expect_wanted(struct kunit *test, u32 size, const char *what)
{
	struct tx_test *t = test->priv;
	u32 i;

	for (i = 0; i < size && t->have[i] == t->want[i]; i++)
		;
	KUNIT_ASSERT_EQ_MSG(test, size, i, "%s: octet %u is %02x, not %02x",
			    what, i, t->have[i], t->want[i]);
}

/* The FPDUs laid out must equal the first @size octets of t->want. */
static void tx_compare(struct kunit *test, u32 size, const char *what)
{
	tx_expect_entries(test);
	KUNIT_ASSERT_EQ_MSG(test, size, tx_gather(test->priv), "%s", what);
	tx_expect_wanted(test, size, what);
}

/* Lay out a ULPDU of the first @len octets of t->ulpdu, @hdr_len as header. */
static int tx_encode(struct tx_test *t, u32 len, u32 hdr_len)
{
	struct kvec kv = {
		.iov_base = t->ulpdu + hdr_len, .iov_len = len - hdr_len,
	};
	struct iov_iter data;

	iov_iter_kvec(&data, ITER_SOURCE, &kv, 1, kv.iov_len);
	return mpa_fpdu_encode(&t->enc, t->ulpdu, hdr_len, &data,
			       len - hdr_len, false);
}

static void tx_expect_hash(struct kunit *test, const u8 *data, u32 len,
			   const char *const *want_hex)
{
	u8 want[SHA256_DIGEST_SIZE];
	u8 have[SHA256_DIGEST_SIZE];

	KUNIT_ASSERT_EQ(test, sizeof(want), mpa_ref_unhex(want, want_hex));
	sha256(data, len, have);
	KUNIT_EXPECT_MEMEQ(test, have, want, sizeof(want));
}

/* Known answers */

KUNIT_ARRAY_PARAM_DESC(fpdu_vector, mpa_fpdu_vectors, desc);

static void tx_expect_markers(struct kunit *test,
			      const struct mpa_fpdu_vector *v)
{
	struct tx_test *t = test->priv;
	u32 seq;
	u32 i;

	for (i = 0; i < v->nr_markers; i++) {
		KUNIT_EXPECT_EQ(test, v->fpduptr[i],
				get_unaligned_be32(t->have + v->marker_at[i]));
		if (!v->marker_seq)
			continue;
		seq = v->seq_start + (u32)v->pos + v->marker_at[i];
		KUNIT_EXPECT_EQ(test, v->marker_seq[i], seq);
		seq = v->marker_seq[i] - v->fpduptr[i] - v->seq_start;
		if (v->fpduptr[i])
			KUNIT_EXPECT_EQ(test, v->len,
					get_unaligned_be16(t->have + seq -
							   (u32)v->pos));
	}
}

static void tx_known_fpdu(struct kunit *test)
{
	const struct mpa_fpdu_vector *v = test->param_value;
	struct tx_test *t = test->priv;
	static const u8 zero[4];

	if (v->ulpdu)
		mpa_ref_unhex(t->ulpdu, v->ulpdu);
	else
		mpa_ref_pattern(t->ulpdu, v->len, 0);
	t->enc.pos = v->pos;
	t->enc.markers = v->markers;
	t->enc.crc = v->crc;

	KUNIT_EXPECT_EQ(test, v->size,
			mpa_fpdu_size(v->pos, v->len, v->markers));
	KUNIT_ASSERT_EQ(test, 0, tx_encode(t, v->len, min(v->len, TX_HDR)));
	KUNIT_EXPECT_EQ(test, v->pos + v->size, t->enc.pos);
	KUNIT_ASSERT_EQ(test, v->size, tx_gather(t));

	if (v->wire) {
		mpa_ref_unhex(t->want, v->wire);
		KUNIT_EXPECT_MEMEQ(test, t->have, t->want, v->size);
	} else {
		tx_expect_hash(test, t->have, v->size, v->sha256);
	}
	mpa_ref_unhex(t->want, v->crc_field);
	KUNIT_EXPECT_MEMEQ(test, t->have + v->size - 4, t->want, 4);
	/* with a marker directly after it the PAD is four octets earlier */
	if (!v->nr_markers ||
	    v->marker_at[v->nr_markers - 1] != v->size - 8)
		KUNIT_EXPECT_MEMEQ(test, t->have + v->size - 4 - v->pad, zero,
				   v->pad);
	tx_expect_markers(test, v);
}

KUNIT_ARRAY_PARAM_DESC(stream_vector, mpa_stream_vectors, desc);

static void tx_known_stream(struct kunit *test)
{
	const struct mpa_stream_vector *v = test->param_value;
	struct tx_test *t = test->priv;
	u32 at;
	u32 i;

	t->enc.markers = v->markers;
	t->enc.crc = v->crc;
	for (i = 0; i < v->nr; i++) {
		KUNIT_EXPECT_EQ(test, v->pos[i], t->enc.pos);
		mpa_ref_pattern(t->ulpdu, v->len[i], i);
		KUNIT_ASSERT_EQ(test, 0, tx_encode(t, v->len[i], 1));
	}
	KUNIT_EXPECT_EQ(test, v->size, t->enc.pos);
	KUNIT_ASSERT_EQ(test, v->size, tx_gather(t));
	tx_expect_hash(test, t->have, v->size, v->sha256);
	for (i = 0, at = 0; i < v->nr_markers; i++, at += 512)
		KUNIT_EXPECT_EQ(test, v->fpduptr[i],
				get_unaligned_be32(t->have + at));
}

/* All offsets modulo 512, in slices; lengths around the corners */

struct tx_slice {
	const char	*desc;
	u32		from;
	u64		far;		/* added to each offset */
};

static const struct tx_slice tx_slices[] = {
	{ "FR-02 FR-04 MK-07 MK-09: offsets 0 to 60", 0, 0 },
	{ "MK-09 MK-16: offsets 64 to 124", 64, 512 },
	{ "MK-09 MK-16: offsets 128 to 188", 128, 1024 * 512 },
	{ "MK-09 MK-16: offsets 192 to 252", 192, 0 },
	{ "MK-09 MK-16: offsets 256 to 316", 256, 0 },
	{ "MK-09 MK-16: offsets 320 to 380", 320, 0 },
	{ "MK-11 MK-12: offsets 384 to 444, below 2^32", 384,
	  (1ULL << 32) - 512 },
	{ "MK-05 MK-13: offsets 448 to 508, above 2^33", 448, 1ULL << 33 },
};

KUNIT_ARRAY_PARAM_DESC(tx_slice, tx_slices, desc);

static void tx_one_length(struct kunit *test, u64 pos, u32 len)
{
	struct tx_test *t = test->priv;
	char what[64];
	u32 size;

	snprintf(what, sizeof(what), "offset %llu, ULPDU of %u", pos, len);
	size = mpa_ref_encode(t->want, pos, t->ulpdu, len, true, true);
	KUNIT_ASSERT_EQ_MSG(test, size, mpa_fpdu_size(pos, len, true), "%s",
			    what);

	while (t->enc.nr)
		put_page(t->bv[--t->enc.nr].bv_page);
	t->enc.pos = pos;
	KUNIT_ASSERT_EQ_MSG(test, 0, tx_encode(t, len, len % 29 % len), "%s",
			    what);
	KUNIT_ASSERT_EQ_MSG(test, pos + size, t->enc.pos, "%s", what);
	tx_compare(test, size, what);
}

/*
 * Lengths 1 to 40, and those whose FPDU ends up to 16 octets before or after
 * one of the next three markers.
 */
static void tx_corners(struct kunit *test)
{
	const struct tx_slice *s = test->param_value;
	u32 offset;
	s32 dist;
	s32 near;
	s32 len;
	u32 k;

	for (offset = s->from; offset < s->from + 64; offset += 4) {
		for (len = 1; len <= 40; len++)
			tx_one_length(test, s->far + offset, len);
		dist = (512 - offset) % 512;
		for (k = 0; k < 3; k++, dist += 512) {
			for (near = -16; near <= 16; near++) {
				len = dist - 6 - 4 * k + near;
				if (len > 40)
					tx_one_length(test, s->far + offset,
						      len);
			}
		}
	}
}

/* Long ULPDUs */

struct tx_length {
	const char	*desc;
	u64		pos;
	u32		len;
	bool		markers;
};

static const struct tx_length tx_lengths[] = {
	{ "SZ-05 FR-03 MK-16: 64768 octets at 0", 0, 64768, true },
	{ "SZ-05 MK-16: 64768 octets at 12", 12, 64768, true },
	{ "SZ-05 MK-16: 64767 octets at 256", 256, 64767, true },
	{ "SZ-05 MK-16: 64766 octets at 508", 508, 64766, true },
	{ "SZ-05 MK-08: 64768 octets without markers", 0, 64768, false },
	{ "SZ-06: 9000 octets, above the MULPDU of Ethernet",
	  1460, 9000, true },
	{ "SZ-05 FR-08: 1 octet", 4, 1, false },
	{ "SZ-05 FR-08: 2 octets", 512, 2, true },
};

KUNIT_ARRAY_PARAM_DESC(tx_length, tx_lengths, desc);

static void tx_long(struct kunit *test)
{
	const struct tx_length *l = test->param_value;
	struct tx_test *t = test->priv;
	u32 size;

	t->enc.markers = l->markers;
	t->enc.pos = l->pos;
	size = mpa_ref_encode(t->want, l->pos, t->ulpdu, l->len, l->markers,
			      true);
	KUNIT_ASSERT_EQ(test, 0, tx_encode(t, l->len, 0));
	tx_compare(test, size, l->desc);
	KUNIT_EXPECT_EQ(test, size,
			mpa_fpdu_size(l->pos, l->len, l->markers));
}

/* The memory for copies comes in blocks of any size from 16 octets on. */

struct tx_chunk {
	const char	*desc;
	u32		chunk;
	bool		markers;
	bool		crc;
};

static const struct tx_chunk tx_chunks[] = {
	{ "FR-02: chunks of 16 octets", 16, true, true },
	{ "FR-02: chunks of 17 octets", 17, true, true },
	{ "FR-02: chunks of 22 octets, no markers", 22, false, true },
	{ "FR-02: chunks of 31 octets", 31, true, true },
	{ "FR-02: chunks of 100 octets", 100, true, true },
	{ "FR-02: chunks of 508 octets", 508, true, true },
	{ "FR-02: chunks of 512 octets", 512, true, true },
	{ "FR-02: chunks of a page", PAGE_SIZE, true, true },
	{ "FR-02: chunks of 8 pages", 8 * PAGE_SIZE, true, true },
	{ "FR-07 CR-13: chunks of 100 octets, CRC off", 100, true, false },
};

KUNIT_ARRAY_PARAM_DESC(tx_chunk, tx_chunks, desc);

/* ULPDUs that fill a stream of about @size octets; returns its length. */
static u32 tx_random_stream(struct kunit *test, u32 size, u32 seed)
{
	struct tx_test *t = test->priv;
	u32 at = 0;
	u32 len;
	u32 k;

	for (k = 0; at < size; k++) {
		len = 1 + mpa_ref_random(&seed) % (k % 4 ? 90 : 1500);
		at += mpa_ref_encode(t->want + at, t->enc.pos, t->ulpdu, len,
				     t->enc.markers, t->enc.crc);
		KUNIT_ASSERT_EQ(test, 0,
				tx_encode(t, len, min(len, TX_HDR)));
		KUNIT_ASSERT_EQ(test, at, t->enc.pos);
	}
	return at;
}

static void tx_chunked(struct kunit *test)
{
	const struct tx_chunk *c = test->param_value;
	struct tx_test *t = test->priv;
	u32 size;

	t->chunk = c->chunk;
	t->enc.markers = c->markers;
	t->enc.crc = c->crc;
	size = tx_random_stream(test, min(40000, c->chunk * 200), 18);
	tx_compare(test, size, c->desc);
}

/* Octets that continue in the same block share an entry. */
static void tx_merged(struct kunit *test)
{
	struct tx_test *t = test->priv;
	u32 size;

	size = tx_random_stream(test, 20000, 19);
	KUNIT_ASSERT_LT(test, size, t->chunk);
	KUNIT_EXPECT_EQ(test, 1, t->enc.nr);
	KUNIT_EXPECT_EQ(test, size, t->enc.bv[0].bv_len);
	KUNIT_EXPECT_EQ(test, size, t->enc.frag.offset);
	tx_compare(test, size, "in one entry");
}

/* All kinds of payload */

enum tx_kind { TX_KVEC, TX_BVEC, TX_ZEROCOPY };

struct tx_source {
	const char	*desc;
	enum tx_kind	kind;
	bool		markers;
	u32		hdr_len;
	u32		len;
	u32		seg;		/* octets per segment */
	u32		gap;		/* octets between two segments */
	u32		nr_empty;	/* empty segments before each one */
};

static const struct tx_source tx_sources[] = {
	{ "FR-01: kvec, one segment", TX_KVEC, true, 14, 5000, U32_MAX },
	{ "FR-01: kvec, no header", TX_KVEC, true, 0, 5000, U32_MAX },
	{ "FR-01: kvec, segments of 1", TX_KVEC, true, 14, 250, 1, 3 },
	{ "FR-01: kvec, segments of 700", TX_KVEC, true, 18, 5000, 700 },
	{ "FR-01: kvec, empty segments", TX_KVEC, true, 18, 900, 11, 1, 2 },
	{ "FR-01: bvec, one segment", TX_BVEC, true, 14, 5000, U32_MAX },
	{ "FR-01: bvec, segments of 13", TX_BVEC, false, 14, 1800, 13, 40 },
	{ "FR-01: bvec, empty segments", TX_BVEC, true, 1, 9000, 300, 1, 1 },
	{ "MK-09: pages", TX_ZEROCOPY, true, 14, 20000, 4096 },
	{ "MK-09: pages, no header", TX_ZEROCOPY, true, 0, 20000, 4096 },
	{ "MK-08: pages, no markers", TX_ZEROCOPY, false, 14, 20000, 4096 },
	{ "MK-09: pages, one segment", TX_ZEROCOPY, true, 18, 20000, U32_MAX },
	{ "MK-08: pages, one segment, no markers", TX_ZEROCOPY, false, 18,
	  20000, U32_MAX },
	{ "MK-09: pieces of pages", TX_ZEROCOPY, true, 14, 5000, 300, 3000 },
	{ "MK-17: pieces of one octet", TX_ZEROCOPY, true, 2, 250, 1, 1 },
	{ "MK-09: pieces, empty segments", TX_ZEROCOPY, true, 14, 9000, 150,
	  500, 2 },
};

KUNIT_ARRAY_PARAM_DESC(tx_source, tx_sources, desc);

/* Split @len octets at @octets into segments; returns their number. */
static u32 tx_segments(struct kunit *test, const struct tx_source *s,
		       const u8 *octets, u32 len)
{
	struct tx_test *t = test->priv;
	struct page *page;
	u32 at = 100;
	u32 nr = 0;
	u32 left;
	u8 *base;
	u32 n;
	u32 e;

	page = tx_page(t, 32 * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	t->payload = page;
	base = page_address(page);
	for (left = len; left; left -= n) {
		n = min(left, s->seg);
		KUNIT_ASSERT_LE(test, at + n, 32 * PAGE_SIZE);
		KUNIT_ASSERT_LT(test, nr + s->nr_empty, TX_SEGMENTS);
		for (e = 0; e <= s->nr_empty; e++, nr++) {
			bool empty = e < s->nr_empty;
			u32 here = empty ? 8 : at;

			t->seg_kv[nr].iov_base = base + here;
			t->seg_kv[nr].iov_len = empty ? 0 : n;
			bvec_set_page(&t->seg[nr], page + here / PAGE_SIZE,
				      empty ? 0 : n, here % PAGE_SIZE);
		}
		memcpy(base + at, octets + len - left, n);
		at += n + s->gap;
	}
	return nr;
}

/* Number of octets laid out that lie in the payload itself */
static u32 tx_in_place(struct tx_test *t)
{
	u32 n = 0;
	u32 i;

	for (i = 0; i < t->enc.nr; i++)
		if (compound_head(t->bv[i].bv_page) == t->payload)
			n += t->bv[i].bv_len;
	return n;
}

static void tx_from_source(struct kunit *test)
{
	const struct tx_source *s = test->param_value;
	u32 len = s->len;
	struct tx_test *t = test->priv;
	struct iov_iter data;
	u32 size;
	u32 nr;
	u32 k;

	nr = tx_segments(test, s, t->ulpdu + s->hdr_len, 2 * len);
	if (s->kind == TX_KVEC)
		iov_iter_kvec(&data, ITER_SOURCE, t->seg_kv, nr, 2 * len);
	else
		iov_iter_bvec(&data, ITER_SOURCE, t->seg, nr, 2 * len);

	/* twice, as from a source */
	t->enc.markers = s->markers;
	size = mpa_ref_encode(t->want, 0, t->ulpdu, s->hdr_len + len,
			      s->markers, true);
	memmove(t->ulpdu + s->hdr_len, t->ulpdu + s->hdr_len + len, len);
	size += mpa_ref_encode(t->want + size, size, t->ulpdu,
			       s->hdr_len + len, s->markers, true);
	for (k = 0; k < 2; k++)
		KUNIT_ASSERT_EQ(test, 0,
				mpa_fpdu_encode(&t->enc, t->ulpdu, s->hdr_len,
						&data, len,
						s->kind == TX_ZEROCOPY));
	KUNIT_EXPECT_EQ(test, 0, iov_iter_count(&data));
	tx_compare(test, size, s->desc);
	KUNIT_EXPECT_EQ(test, s->kind == TX_ZEROCOPY ? 2 * len : 0,
			tx_in_place(t));
}

static void tx_header_only(struct kunit *test)
{
	struct tx_test *t = test->priv;
	u32 size;

	size = mpa_ref_encode(t->want, 0, t->ulpdu, 28, true, true);
	KUNIT_ASSERT_EQ(test, 0,
			mpa_fpdu_encode(&t->enc, t->ulpdu, 28, NULL, 0,
					false));
	tx_compare(test, size, "header only");
}

/* After an error the encoder's state is unchanged. */

struct tx_failure {
	const char	*desc;
	bool		zerocopy;
	bool		entries;	/* no entries; else no memory */
	int		err;
};

static const struct tx_failure tx_failures[] = {
	{ "too few entries, copying", false, true, -ENOBUFS },
	{ "too few entries, pages", true, true, -ENOBUFS },
	{ "no memory, copying", false, false, -ENOMEM },
	{ "no memory, pages", true, false, -ENOMEM },
};

KUNIT_ARRAY_PARAM_DESC(tx_failure, tx_failures, desc);

static void tx_all_or_nothing(struct kunit *test)
{
	static const struct tx_source pages = { .seg = 300, .gap = 600 };
	const struct tx_failure *f = test->param_value;
	struct tx_test *t = test->priv;
	struct iov_iter data;
	u32 tries = 0;
	u32 first;
	u32 size;
	u32 last;
	int err;
	u32 nr;

	t->chunk = f->zerocopy ? 16 : 64;
	first = mpa_ref_encode(t->want, 0, t->ulpdu, 20, true, true);
	size = first + mpa_ref_encode(t->want + first, first, t->ulpdu, 2000,
				      true, true);
	nr = tx_segments(test, &pages, t->ulpdu + 14, 1986);
	iov_iter_bvec(&data, ITER_SOURCE, t->seg, nr, 1986);

	KUNIT_ASSERT_EQ(test, 0, tx_encode(t, 20, 20));
	nr = t->enc.nr;
	last = t->bv[nr - 1].bv_len;
	do {
		t->left = f->entries ? U32_MAX : tries;
		t->enc.max = f->entries ? nr + tries : TX_ENTRIES;
		err = mpa_fpdu_encode(&t->enc, t->ulpdu, 14, &data, 1986,
				      f->zerocopy);
		if (!err)
			break;
		KUNIT_ASSERT_EQ(test, f->err, err);
		KUNIT_ASSERT_EQ(test, first, t->enc.pos);
		KUNIT_ASSERT_EQ(test, nr, t->enc.nr);
		KUNIT_ASSERT_EQ(test, last, t->bv[nr - 1].bv_len);
		KUNIT_ASSERT_EQ(test, 1986, iov_iter_count(&data));
	} while (tries++ < 100);

	KUNIT_ASSERT_EQ(test, 0, err);
	KUNIT_EXPECT_GT(test, tries, 1);
	KUNIT_EXPECT_EQ(test, 0, iov_iter_count(&data));
	tx_compare(test, size, f->desc);
}

/*
 * Memory that a failed attempt wrote to is used again: there is an entry for
 * the header, but none for the page.
 */
static void tx_memory_reused(struct kunit *test)
{
	static const struct tx_source pages = { .seg = U32_MAX };
	struct tx_test *t = test->priv;
	struct iov_iter data;
	u32 size;
	u32 nr;

	nr = tx_segments(test, &pages, t->ulpdu + 20, 80);
	iov_iter_bvec(&data, ITER_SOURCE, t->seg, nr, 80);
	t->enc.max = 1;
	KUNIT_EXPECT_EQ(test, -ENOBUFS,
			mpa_fpdu_encode(&t->enc, t->ulpdu, 20, &data, 80,
					true));
	KUNIT_EXPECT_EQ(test, 0, t->enc.nr);
	KUNIT_EXPECT_EQ(test, 0, t->enc.frag.offset);

	size = mpa_ref_encode(t->want, 0, t->ulpdu, 100, true, true);
	KUNIT_ASSERT_EQ(test, 0, tx_encode(t, 100, 20));
	KUNIT_EXPECT_EQ(test, size, t->enc.frag.offset);
	tx_compare(test, size, "after a failed attempt");
}

/* The iterator's count limits the payload, not the length of its segments. */
static void tx_short_payload(struct kunit *test)
{
	static const struct tx_source pages = { .seg = U32_MAX };
	struct tx_test *t = test->priv;
	struct iov_iter data;
	int zc;
	u32 nr;

	nr = tx_segments(test, &pages, t->ulpdu, 200);
	for (zc = 0; zc < 2; zc++) {
		iov_iter_bvec(&data, ITER_SOURCE, t->seg, nr, 99);
		KUNIT_EXPECT_EQ(test, -EFAULT,
				mpa_fpdu_encode(&t->enc, NULL, 0, &data, 100,
						zc));
		KUNIT_EXPECT_EQ(test, 0, t->enc.nr);
		KUNIT_EXPECT_EQ(test, 0, t->enc.pos);
		KUNIT_EXPECT_EQ(test, 99, iov_iter_count(&data));
	}
}

/* Gathered FPDUs: TCP copies the ULPDUs */

static void tx_list_begin(struct tx_test *t, bool crc)
{
	t->enc.pos = 508;
	t->enc.markers = false;
	t->enc.crc = crc;
	t->enc.kv = t->list;
	t->enc.kv_next = t->list;
	t->enc.kv_end = t->list + TX_ENTRIES;
	t->enc.buf = t->around;
	t->enc.buf_end = t->around + TX_STREAM;
}

static bool tx_is_around(const struct tx_test *t, const void *p)
{
	return p >= (void *)t->around && p < (void *)t->enc.buf;
}

/*
 * Put the gathered octets together. Returns their number; @copied gets the
 * number of octets that are not in the consumer's memory.
 */
static u32 tx_listed(struct kunit *test, u32 *copied)
{
	struct tx_test *t = test->priv;
	const struct kvec *v;
	u32 n = 0;

	*copied = 0;
	for (v = t->list; v < t->enc.kv_next; v++) {
		KUNIT_ASSERT_GT(test, v->iov_len, 0);
		KUNIT_ASSERT_LE(test, n + v->iov_len, TX_STREAM);
		memcpy(t->have + n, v->iov_base, v->iov_len);
		n += v->iov_len;
		if (tx_is_around(t, v->iov_base))
			*copied += v->iov_len;
	}
	return n;
}

/* t->list must equal the first @size octets of t->want, @inplace not copied. */
static void tx_expect_listed(struct kunit *test, u32 size, u32 inplace,
			     const char *what)
{
	struct tx_test *t = test->priv;
	u32 copied;

	KUNIT_ASSERT_EQ_MSG(test, size, tx_listed(test, &copied), "%s", what);
	tx_expect_wanted(test, size, what);
	KUNIT_ASSERT_EQ_MSG(test, size - inplace, copied, "%s", what);
	KUNIT_ASSERT_EQ_MSG(test, 508 + size, t->enc.pos, "%s", what);
}

/* Gather a ULPDU of the first octets of t->ulpdu, with a copied header. */
static int tx_list(struct tx_test *t, u32 len, u32 hdr_len)
{
	struct kvec kv = {
		.iov_base = t->ulpdu + hdr_len, .iov_len = len - hdr_len,
	};
	u8 hdr[TX_HDR_LISTED];
	struct iov_iter data;
	int err;

	iov_iter_kvec(&data, ITER_SOURCE, &kv, 1, kv.iov_len);
	memcpy(hdr, t->ulpdu, hdr_len);
	err = mpa_fpdu_gather(&t->enc, hdr, hdr_len, &data, kv.iov_len);
	memset(hdr, 0, sizeof(hdr));
	return err;
}

static void tx_list_one(struct kunit *test, u32 len, u32 hdr_len, bool crc)
{
	struct tx_test *t = test->priv;
	char what[48];
	u32 size;

	snprintf(what, sizeof(what), "ULPDU of %u, header of %u", len,
		 hdr_len);
	tx_list_begin(t, crc);
	size = mpa_ref_encode(t->want, 508, t->ulpdu, len, false, crc);
	KUNIT_ASSERT_EQ_MSG(test, 0, tx_list(t, len, hdr_len), "%s", what);
	tx_expect_listed(test, size, len - hdr_len, what);
}

/* All header lengths, with short and long ULPDUs */
static void tx_list_lengths(struct kunit *test)
{
	static const u32 lengths[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 494, 1442, 64704,
	};
	u32 hdr_len;
	u32 i;

	for (hdr_len = 0; hdr_len <= TX_HDR_LISTED; hdr_len++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			if (lengths[i] > 2000 && hdr_len % 9)
				continue;
			tx_list_one(test, hdr_len + lengths[i], hdr_len,
				    lengths[i] != 494);
		}
	}
	tx_list_one(test, 64768, 0, true);
	tx_list_one(test, 64768, 1, true);
	tx_list_one(test, 64767, 14, true);
	tx_list_one(test, 64768, 64, false);
}

/* Consecutive FPDUs: the tail of one and the head of the next are joined. */
static void tx_list_stream(struct kunit *test)
{
	struct tx_test *t = test->priv;
	u32 inplace = 0;
	u32 seed = 20;
	u32 at = 0;
	u32 hdr_len;
	u32 len;
	u32 k;

	tx_list_begin(t, true);
	for (k = 0; k < 60; k++) {
		hdr_len = mpa_ref_random(&seed) % (TX_HDR_LISTED + 1);
		len = 1 + mpa_ref_random(&seed) % (k % 4 ? 90 : 1500);
		inplace += len;
		at += mpa_ref_encode(t->want + at, 508 + at, t->ulpdu,
				     hdr_len + len, false, true);
		KUNIT_ASSERT_EQ(test, 0, tx_list(t, hdr_len + len, hdr_len));
		KUNIT_ASSERT_EQ(test, 2 * (k + 1) + 1,
				t->enc.kv_next - t->enc.kv);
	}
	tx_expect_listed(test, at, inplace, "consecutive");
}

static const struct tx_source tx_lists[] = {
	{ "FR-01 MK-08: kvec, one segment", TX_KVEC, false, 14, 5000, U32_MAX },
	{ "FR-01 MK-08: kvec, no header", TX_KVEC, false, 0, 5001, U32_MAX },
	{ "FR-01 MK-08: kvec, segments of 1", TX_KVEC, false, 14, 250, 1, 3 },
	{ "FR-01 MK-08: kvec, segments of 700", TX_KVEC, false, 18, 5002, 700 },
	{ "FR-01 MK-08: kvec, empty segments", TX_KVEC, false, 64, 903, 11, 1,
	  2 },
	{ "FR-01 MK-08: bvec, one segment", TX_BVEC, false, 14, 5000, U32_MAX },
	{ "FR-01 MK-08: bvec, segments of 13", TX_BVEC, false, 1, 1800, 13,
	  40 },
	{ "FR-01 MK-08: bvec, pages", TX_BVEC, false, 64, 20000, 4096 },
	{ "FR-01 MK-08: bvec, empty segments", TX_BVEC, false, 0, 9003, 300, 1,
	  1 },
};

KUNIT_ARRAY_PARAM_DESC(tx_list, tx_lists, desc);

/* Make an iterator of @len octets at @octets, in the segments of @s. */
static void tx_source_iter(struct kunit *test, const struct tx_source *s,
			   struct iov_iter *data, const u8 *octets, u32 len)
{
	u32 nr = tx_segments(test, s, octets, len);
	struct tx_test *t = test->priv;

	if (s->kind == TX_KVEC)
		iov_iter_kvec(data, ITER_SOURCE, t->seg_kv, nr, len);
	else
		iov_iter_bvec(data, ITER_SOURCE, t->seg, nr, len);
}

static void tx_list_twice(struct kunit *test, const struct tx_source *s,
			  bool crc)
{
	struct tx_test *t = test->priv;
	struct iov_iter data;
	u32 size, k;

	tx_source_iter(test, s, &data, t->ulpdu + s->hdr_len, 2 * s->len);
	tx_list_begin(t, crc);
	size = mpa_ref_encode(t->want, 508, t->ulpdu, s->hdr_len + s->len,
			      false, crc);
	memcpy(t->have, t->ulpdu, s->hdr_len);
	memcpy(t->have + s->hdr_len, t->ulpdu + s->hdr_len + s->len, s->len);
	size += mpa_ref_encode(t->want + size, 508 + size, t->have,
			       s->hdr_len + s->len, false, crc);
	for (k = 0; k < 2; k++) {
		KUNIT_ASSERT_TRUE(test, mpa_fpdu_can_gather(&t->enc, s->hdr_len,
							    &data, s->len));
		KUNIT_ASSERT_EQ(test, 0,
				mpa_fpdu_gather(&t->enc, t->ulpdu, s->hdr_len,
						&data, s->len));
	}
	KUNIT_EXPECT_EQ(test, 0, iov_iter_count(&data));
	tx_expect_listed(test, size, 2 * s->len, s->desc);
}

static void tx_list_from_source(struct kunit *test)
{
	tx_list_twice(test, test->param_value, true);
	tx_list_twice(test, test->param_value, false);
}

/* After an error the encoder's state is unchanged. */

struct tx_list_failure {
	const char	*desc;
	enum tx_kind	kind;
	bool		behind;		/* the second FPDU fails */
	bool		entries;	/* no entries; else no memory */
};

static const struct tx_list_failure tx_list_failures[] = {
	{ "too few entries, kvec", TX_KVEC, false, true },
	{ "too few entries, kvec, second FPDU", TX_KVEC, true, true },
	{ "too few entries, bvec", TX_BVEC, false, true },
	{ "too few entries, bvec, second FPDU", TX_BVEC, true, true },
	{ "no memory", TX_KVEC, false, false },
	{ "no memory, second FPDU", TX_KVEC, true, false },
};

KUNIT_ARRAY_PARAM_DESC(tx_list_failure, tx_list_failures, desc);

static void tx_expect_unlisted(struct kunit *test, const struct mpa_enc *before,
			       u32 size, u32 left,
			       const struct iov_iter *data)
{
	struct tx_test *t = test->priv;
	u32 copied;

	KUNIT_ASSERT_PTR_EQ(test, before->kv_next, t->enc.kv_next);
	KUNIT_ASSERT_PTR_EQ(test, before->buf, t->enc.buf);
	KUNIT_ASSERT_EQ(test, before->pos, t->enc.pos);
	KUNIT_ASSERT_EQ(test, size, tx_listed(test, &copied));
	KUNIT_ASSERT_EQ(test, left, iov_iter_count(data));
}

/*
 * Repeat with one more entry or octet each time until it succeeds; returns the
 * number of failures.
 */
static u32 tx_list_until(struct kunit *test, const struct tx_list_failure *f,
			 struct iov_iter *data, u32 first)
{
	struct tx_test *t = test->priv;
	struct mpa_enc before = t->enc;
	u32 tries;
	int err;

	for (tries = 0; tries < 200; tries++) {
		if (f->entries)
			t->enc.kv_end = before.kv_next + tries;
		else
			t->enc.buf_end = before.buf + tries;
		err = mpa_fpdu_gather(&t->enc, t->ulpdu, 14, data, 1986);
		if (!err)
			break;
		KUNIT_ASSERT_EQ(test, -ENOBUFS, err);
		tx_expect_unlisted(test, &before, first, 1986, data);
	}
	return tries;
}

static void tx_list_all_or_nothing(struct kunit *test)
{
	const struct tx_list_failure *f = test->param_value;
	struct tx_source pieces = { .kind = f->kind, .seg = 300, .gap = 600,
				    .nr_empty = 1 };
	struct tx_test *t = test->priv;
	u32 inplace = 1986;
	struct iov_iter data;
	u32 first = 0;
	u32 tries;
	u32 size;

	tx_source_iter(test, &pieces, &data, t->ulpdu + 14, 1986);
	tx_list_begin(t, true);
	if (f->behind) {
		first = mpa_ref_encode(t->want, 508, t->ulpdu, 21, false,
				       true);
		KUNIT_ASSERT_EQ(test, 0, tx_list(t, 21, 1));
		inplace += 20;
	}
	size = first + mpa_ref_encode(t->want + first, 508 + first, t->ulpdu,
				      2000, false, true);
	tries = tx_list_until(test, f, &data, first);
	/* seven pieces, one entry before them and one after */
	if (f->entries)
		KUNIT_EXPECT_EQ(test, 9 - f->behind, tries);
	else
		KUNIT_EXPECT_GE(test, tries, 2 + 14 + 4);
	KUNIT_EXPECT_EQ(test, 0, iov_iter_count(&data));
	KUNIT_EXPECT_TRUE(test, t->enc.kv_next <= t->enc.kv_end);
	KUNIT_EXPECT_TRUE(test, t->enc.buf <= t->enc.buf_end);
	tx_expect_listed(test, size, inplace, f->desc);
}

/* Nothing is written past the end of the memory. */
static void tx_list_memory(struct kunit *test)
{
	struct tx_test *t = test->priv;
	u32 len;
	u32 n;

	for (len = 20; len < 24; len++) {
		for (n = 0; n < 60; n++) {
			tx_list_begin(t, true);
			memset(t->around, 0xa5, 64);
			t->enc.buf_end = t->around + n;
			tx_list(t, len, 18);
			KUNIT_ASSERT_TRUE(test, t->enc.buf <= t->enc.buf_end);
			KUNIT_ASSERT_NULL(test, memchr_inv(t->around + n, 0xa5,
							   64 - n));
		}
	}
}

static void tx_list_short(struct kunit *test)
{
	struct kvec kv = { .iov_len = 200 };
	struct tx_test *t = test->priv;
	struct mpa_enc before;
	struct iov_iter data;

	kv.iov_base = t->ulpdu;
	iov_iter_kvec(&data, ITER_SOURCE, &kv, 1, 99);
	tx_list_begin(t, true);
	before = t->enc;
	KUNIT_EXPECT_EQ(test, -EFAULT,
			mpa_fpdu_gather(&t->enc, t->ulpdu, 14, &data, 100));
	tx_expect_unlisted(test, &before, 0, 99, &data);
}

/* Gathering requires no markers, a short header and mapped memory. */
static void tx_list_possible(struct kunit *test)
{
	struct tx_test *t = test->priv;
	struct iov_iter data;
	struct bio_vec bv;
	struct kvec kv;

	tx_list_begin(t, true);
	iov_iter_kvec(&data, ITER_SOURCE, &kv, 1, 100);
	KUNIT_EXPECT_TRUE(test, mpa_fpdu_can_gather(&t->enc, 64, &data, 100));
	KUNIT_EXPECT_FALSE(test, mpa_fpdu_can_gather(&t->enc, 65, &data, 100));
	KUNIT_EXPECT_FALSE(test, mpa_fpdu_can_gather(&t->enc, 64, &data, 0));
	iov_iter_bvec(&data, ITER_SOURCE, &bv, 1, 100);
	KUNIT_EXPECT_TRUE(test, mpa_fpdu_can_gather(&t->enc, 0, &data, 1));
	t->enc.markers = true;
	KUNIT_EXPECT_FALSE(test, mpa_fpdu_can_gather(&t->enc, 0, &data, 1));
	t->enc.markers = false;
	iov_iter_xarray(&data, ITER_SOURCE, NULL, 0, 100);
	KUNIT_EXPECT_FALSE(test, mpa_fpdu_can_gather(&t->enc, 0, &data, 1));
}

/* Filling a segment, and MULPDU */

static void tx_fill_one(struct kunit *test, u32 offset, u32 room, bool markers)
{
	u32 len = mpa_fpdu_fill(offset, room, markers);
	u32 size;

	KUNIT_ASSERT_LE(test, len, MPA_ULPDU_MAX);
	size = mpa_fpdu_size(offset, len, markers);
	if (len)
		KUNIT_ASSERT_LE(test, size, room);
	size = mpa_fpdu_size(offset, len + 1, markers);
	if (len < MPA_ULPDU_MAX)
		KUNIT_ASSERT_GT(test, size, room);
}

/* mpa_fpdu_fill() returns the longest ULPDU that fits, at every offset. */
static void tx_fill_is_exact(struct kunit *test)
{
	static const u32 rooms[] = {
		0, 7, 8, 9, 11, 12, 15, 16, 19, 20, 128, 140, 500, 503, 508,
		511, 512, 513, 516, 517, 520, 536, 1020, 1024, 1028, 1032,
		1220, 1440, 1447, 1448, 1460, 4036, 8948, 8960, 65276, 65288,
		65483, 131072, U32_MAX,
	};
	u32 offset;
	u32 i;

	for (offset = 0; offset < 512; offset += 4) {
		for (i = 0; i < ARRAY_SIZE(rooms); i++) {
			tx_fill_one(test, offset, rooms[i], false);
			tx_fill_one(test, offset, rooms[i], true);
		}
	}
}

struct tx_mulpdu {
	const char	*desc;
	u32		emss;
	u32		with;
	u32		without;
};

static const struct tx_mulpdu tx_mulpdus[] = {
	{ "SZ-03 SZ-15: EMSS 0", 0, 128, 128 },
	{ "SZ-15: EMSS 1", 1, 128, 128 },
	{ "SZ-15: EMSS 100", 100, 128, 128 },
	{ "SZ-15: EMSS 127", 127, 128, 128 },
	{ "SZ-15: EMSS 128", 128, 128, 128 },
	{ "SZ-15: EMSS 136", 136, 128, 130 },
	{ "SZ-15: EMSS 139", 139, 128, 130 },
	{ "SZ-08 SZ-09: EMSS 140", 140, 130, 134 },
	{ "SZ-08 SZ-09: EMSS 141", 141, 130, 134 },
	{ "SZ-08 SZ-09: EMSS 512", 512, 502, 506 },
	{ "SZ-08 SZ-09 SZ-19: EMSS 536", 536, 522, 530 },
	{ "SZ-08 SZ-09: EMSS 1220", 1220, 1202, 1214 },
	{ "SZ-08 SZ-09: EMSS 1440", 1440, 1422, 1434 },
	{ "SZ-08 SZ-09 SZ-19: EMSS 1448", 1448, 1430, 1442 },
	{ "SZ-08 SZ-09 SZ-19: EMSS 1460", 1460, 1442, 1454 },
	{ "SZ-08 SZ-09: EMSS 4036", 4036, 3998, 4030 },
	{ "SZ-08 SZ-09: EMSS 8948", 8948, 8870, 8942 },
	{ "SZ-08 SZ-09: EMSS 8960", 8960, 8882, 8954 },
	{ "SZ-03: EMSS 65483 of the loopback device", 65483, 64768, 64768 },
	{ "SZ-03: EMSS 4294967295", U32_MAX, 64768, 64768 },
};

KUNIT_ARRAY_PARAM_DESC(tx_mulpdu, tx_mulpdus, desc);

static void tx_known_mulpdu(struct kunit *test)
{
	const struct tx_mulpdu *m = test->param_value;

	KUNIT_EXPECT_EQ(test, m->with, mpa_mulpdu_of(m->emss, true));
	KUNIT_EXPECT_EQ(test, m->without, mpa_mulpdu_of(m->emss, false));
}

struct tx_emss {
	const char	*desc;
	u32		from;
	u32		to;
	u32		step;
};

static const struct tx_emss tx_emsses[] = {
	{ "SZ-03 SZ-10: EMSS 140 to 600", 140, 600, 1 },
	{ "SZ-03 SZ-10: EMSS 1000 to 1500", 1000, 1500, 1 },
	{ "SZ-03 SZ-10: EMSS 8900 to 9000", 8900, 9000, 1 },
	{ "SZ-03 SZ-10: EMSS 140 to 65535", 140, 65535, 149 },
};

KUNIT_ARRAY_PARAM_DESC(tx_emss, tx_emsses, desc);

/* An FPDU of MULPDU octets never exceeds EMSS, at any stream position. */
static void tx_mulpdu_fits(struct kunit *test)
{
	const struct tx_emss *e = test->param_value;
	u32 mulpdu;
	u32 emss;
	u32 pos;

	for (emss = e->from; emss <= e->to; emss += e->step) {
		KUNIT_ASSERT_LE(test,
				mpa_fpdu_size(0, mpa_mulpdu_of(emss, false),
					      false), emss);
		mulpdu = mpa_mulpdu_of(emss, true);
		KUNIT_ASSERT_GE(test, mulpdu, 128);
		KUNIT_ASSERT_LE(test, mulpdu, 64768);
		for (pos = 0; pos < 512; pos += 4)
			KUNIT_ASSERT_LE(test, mpa_fpdu_size(pos, mulpdu, true),
					emss);
	}
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE_PARAM(tx_known_fpdu, fpdu_vector_gen_params),
	KUNIT_CASE_PARAM(tx_known_stream, stream_vector_gen_params),
	KUNIT_CASE_PARAM(tx_corners, tx_slice_gen_params),
	KUNIT_CASE_PARAM(tx_long, tx_length_gen_params),
	KUNIT_CASE_PARAM(tx_chunked, tx_chunk_gen_params),
	KUNIT_CASE(tx_merged),
	KUNIT_CASE_PARAM(tx_from_source, tx_source_gen_params),
	KUNIT_CASE(tx_header_only),
	KUNIT_CASE_PARAM(tx_all_or_nothing, tx_failure_gen_params),
	KUNIT_CASE(tx_memory_reused),
	KUNIT_CASE(tx_short_payload),
	MPA_CASE(tx_list_lengths,
		 "FR-01 FR-02 FR-05 SZ-05: gathered FPDUs, all lengths"),
	KUNIT_CASE(tx_list_stream),
	KUNIT_CASE_PARAM(tx_list_from_source, tx_list_gen_params),
	KUNIT_CASE_PARAM(tx_list_all_or_nothing, tx_list_failure_gen_params),
	KUNIT_CASE(tx_list_memory),
	KUNIT_CASE(tx_list_short),
	KUNIT_CASE(tx_list_possible),
	MPA_CASE(tx_fill_is_exact, "SZ-11: longest ULPDU for the given room"),
	KUNIT_CASE_PARAM(tx_known_mulpdu, tx_mulpdu_gen_params),
	KUNIT_CASE_PARAM(tx_mulpdu_fits, tx_emss_gen_params),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "mpa_tx",
	.init = tx_init,
	.exit = tx_exit,
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);
