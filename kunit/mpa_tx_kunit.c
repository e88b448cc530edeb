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
};

/* What becomes of the payload */
enum tx_way {
	COPY,		/* mpa_fpdu_encode() copies it */
	TAKE,		/* mpa_fpdu_encode() takes references to its pages */
	GATHER,		/* mpa_fpdu_gather() points to it */
	SHORT,		/* mpa_fpdu_copy() copies it */
};

/* Kind of its iterator */
enum tx_kind { KVEC, BVEC };

struct tx_test {
	struct kunit	*test;
	struct mpa_enc	enc;			/* under test */
	struct bio_vec	bv[TX_ENTRIES];		/* for FPDUs laid out */
	struct kvec	list[TX_ENTRIES];	/* for gathered FPDUs ... */
	u8		around[TX_STREAM];	/* ... headers, pads, CRCs */
	struct page	*page[TX_PAGES];	/* all blocks handed out */
	u32		nr_pages;
	u32		chunk;			/* octets per block */
	u32		left;			/* refill()s that succeed */
	struct page	*payload;		/* of those in @page */
	u8		ulpdu[MPA_ULPDU_MAX];	/* octets of ULPDUs */
	u8		want[TX_STREAM];	/* FPDUs of the reference */
	u32		size;			/* octets in @want */
	u8		have[TX_STREAM];	/* FPDUs of the module */
	struct bio_vec	seg[TX_SEGMENTS];	/* segments of a payload */
	struct kvec	seg_kv[TX_SEGMENTS];
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

static void tx_drop_entries(struct tx_test *t)
{
	while (t->enc.nr)
		put_page(t->enc.bv[--t->enc.nr].bv_page);
}

/* Begin a stream at @pos; keeps memory that is left of another one. */
static void tx_begin(struct tx_test *t, u64 pos, bool markers, bool crc)
{
	tx_drop_entries(t);
	t->size = 0;
	t->enc = (struct mpa_enc) {
		.pos = pos, .markers = markers, .crc = crc,
		.bv = t->bv, .max = TX_ENTRIES,
		.frag = t->enc.frag, .refill = tx_refill,
		.kv = t->list, .kv_next = t->list,
		.kv_end = t->list + TX_ENTRIES,
		.buf = t->around, .buf_end = t->around + TX_STREAM,
	};
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
	tx_begin(t, 0, true, true);
	t->test = test;
	test->priv = t;
	return 0;
}

/* All references must balance. */
static void tx_exit(struct kunit *test)
{
	struct tx_test *t = test->priv;

	if (!t)
		return;
	tx_drop_entries(t);
	if (t->enc.frag.page)
		put_page(t->enc.frag.page);
	while (t->nr_pages) {
		EXPECT_EQ(t, 1, page_count(t->page[--t->nr_pages]));
		put_page(t->page[t->nr_pages]);
	}
	kvfree(t);
}

/* Sending */

/* Have the reference send a ULPDU after those before. */
static void tx_want(struct tx_test *t, u64 pos, const u8 *ulpdu, u32 len)
{
	u32 size = mpa_ref_encode(t->want + t->size, pos, ulpdu, len,
				  t->enc.markers, t->enc.crc);

	ASSERT_EQ(t, size, mpa_fpdu_size(pos, len, t->enc.markers));
	t->size += size;
}

static int tx_lay_out(struct tx_test *t, enum tx_way way, const void *hdr,
		      u32 hdr_len, struct iov_iter *data, u32 len)
{
	if (way == GATHER)
		return mpa_fpdu_gather(&t->enc, hdr, hdr_len, data, len);
	if (way == SHORT)
		return mpa_fpdu_copy(&t->enc, hdr, hdr_len, data, len);
	return mpa_fpdu_encode(&t->enc, hdr, hdr_len, data, len,
			       way == TAKE);
}

/*
 * Send a ULPDU of the first @len octets of t->ulpdu, of which the first
 * @hdr_len are a header that does not outlive the call.
 */
static int tx_send(struct tx_test *t, enum tx_way way, u32 len, u32 hdr_len)
{
	struct kvec kv = {
		.iov_base = t->ulpdu + hdr_len, .iov_len = len - hdr_len,
	};
	u8 hdr[MPA_GATHER_HDR];
	struct iov_iter data;
	int err;

	tx_want(t, t->enc.pos, t->ulpdu, len);
	iov_iter_kvec(&data, ITER_SOURCE, &kv, 1, kv.iov_len);
	memcpy(hdr, t->ulpdu, hdr_len);
	err = tx_lay_out(t, way, hdr, hdr_len, &data, kv.iov_len);
	memset(hdr, 0, sizeof(hdr));
	return err;
}

/*
 * Put the octets laid out together. Entries are not empty, begin in their first
 * page, which they hold, and stay within the memory handed out for copies.
 */
static u32 tx_collect_pages(struct tx_test *t, u32 *in_place)
{
	const struct bio_vec *v;
	u32 n = 0;

	for (v = t->bv; v < t->bv + t->enc.nr; n += v++->bv_len) {
		bool taken = compound_head(v->bv_page) == t->payload;

		ASSERT_GT(t, v->bv_len, 0);
		if (taken)
			ASSERT_LT(t, v->bv_offset, PAGE_SIZE);
		else
			ASSERT_LE(t, v->bv_offset + v->bv_len, t->chunk);
		ASSERT_LE(t, n + v->bv_len, TX_STREAM);
		memcpy(t->have + n, page_address(v->bv_page) + v->bv_offset,
		       v->bv_len);
		if (taken)
			*in_place += v->bv_len;
	}
	return n;
}

static u32 tx_collect_list(struct tx_test *t, u32 *in_place)
{
	const struct kvec *v;
	u32 n = 0;

	for (v = t->list; v < t->enc.kv_next; n += v++->iov_len) {
		const u8 *p = v->iov_base;

		ASSERT_GT(t, v->iov_len, 0);
		ASSERT_LE(t, n + v->iov_len, TX_STREAM);
		memcpy(t->have + n, p, v->iov_len);
		if (p < t->around || p >= t->enc.buf)
			*in_place += v->iov_len;
	}
	return n;
}

/*
 * The octets sent must be the first @size ones of the reference, and @in_place
 * of them not copied.
 */
static void tx_expect_first(struct tx_test *t, enum tx_way way, u32 size,
			    u32 in_place, const char *what)
{
	u32 have, found = 0;
	u32 i;

	have = way >= GATHER ? tx_collect_list(t, &found) :
				  tx_collect_pages(t, &found);
	ASSERT_EQ_MSG(t, size, have, "%s", what);
	for (i = 0; i < size && t->have[i] == t->want[i]; i++)
		;
	ASSERT_EQ_MSG(t, size, i, "%s: octet %u is %02x, not %02x",
		      what, i, t->have[i], t->want[i]);
	ASSERT_EQ_MSG(t, in_place, found, "%s", what);
}

/* Copied FPDUs must be those of the reference. */
static void tx_expect_copied(struct tx_test *t, const char *what)
{
	tx_expect_first(t, COPY, t->size, 0, what);
}

/* Known answers */

MPA_ROWS(fpdu_vector, mpa_fpdu_vectors);

/* Octets of the module and of the reference are those of the vector. */
static void tx_known_fpdu(struct kunit *test)
{
	const struct mpa_fpdu_vector *v = test->param_value;
	u8 want[SHA256_DIGEST_SIZE], have[SHA256_DIGEST_SIZE];
	struct tx_test *t = test->priv;
	u32 k;

	tx_begin(t, v->pos, v->markers, v->crc);
	for (k = 0; k < v->nr; k++) {
		if (v->ulpdu)
			mpa_ref_unhex(t->ulpdu, v->ulpdu);
		else
			mpa_ref_pattern(t->ulpdu, v->len[k], k);
		ASSERT_EQ(t, 0, tx_send(t, COPY, v->len[k], min(v->len[k],
								TX_HDR)));
		EXPECT_EQ(t, v->pos + t->size, t->enc.pos);
	}
	ASSERT_EQ(t, v->size, t->size);
	tx_expect_copied(t, v->desc);
	if (v->wire) {
		mpa_ref_unhex(t->want, v->wire);
		tx_expect_copied(t, "known octets");
		return;
	}
	mpa_ref_unhex(want, v->sha256);
	sha256(t->have, v->size, have);
	EXPECT_MEMEQ(t, have, want, sizeof(want));
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

MPA_ROWS(tx_chunk, tx_chunks);

/* ULPDUs that fill a stream of about @size octets */
static void tx_random_stream(struct tx_test *t, u32 size, u32 seed)
{
	u32 len, k;

	for (k = 0; t->size < size; k++) {
		len = 1 + mpa_ref_random(&seed) % (k % 4 ? 90 : 1500);
		ASSERT_EQ(t, 0, tx_send(t, COPY, len, min(len, TX_HDR)));
		ASSERT_EQ(t, t->size, t->enc.pos);
	}
}

static void tx_chunked(struct kunit *test)
{
	const struct tx_chunk *c = test->param_value;
	struct tx_test *t = test->priv;

	t->chunk = c->chunk;
	tx_begin(t, 0, c->markers, c->crc);
	tx_random_stream(t, min(40000, c->chunk * 200), 18);
	tx_expect_copied(t, c->desc);
}

/* All kinds of payload */

/* A payload of two ULPDUs */
struct tx_source {
	const char	*desc;
	enum tx_way	way;		/* what becomes of it */
	enum tx_kind	kind;		/* of its iterator */
	bool		markers;
	u32		hdr_len;	/* octets of each ULPDU before it */
	u32		len;		/* octets of each ULPDU in it */
	u32		seg;		/* octets per segment */
	u32		gap;		/* octets between two segments */
	u32		nr_empty;	/* empty segments before each one */
};

static const struct tx_source tx_sources[] = {
	{ "FR-01: kvec, one segment", COPY, KVEC, true, 14, 5000, U32_MAX },
	{ "FR-01: kvec, no header", COPY, KVEC, true, 0, 5000, U32_MAX },
	{ "FR-01: kvec, segments of 1", COPY, KVEC, true, 14, 250, 1, 3 },
	{ "FR-01: kvec, segments of 700", COPY, KVEC, true, 18, 5000, 700 },
	{ "FR-01: kvec, empty segments", COPY, KVEC, true, 18, 900, 11, 1, 2 },
	{ "FR-01: bvec, one segment", COPY, BVEC, true, 14, 5000, U32_MAX },
	{ "FR-01: bvec, segments of 13", COPY, BVEC, false, 14, 1800, 13, 40 },
	{ "FR-01: bvec, empty segments",
	  COPY, BVEC, true, 1, 9000, 300, 1, 1 },
	{ "MK-09: pages", TAKE, BVEC, true, 14, 20000, 4096 },
	{ "MK-09: pages, no header", TAKE, BVEC, true, 0, 20000, 4096 },
	{ "MK-08: pages, no markers", TAKE, BVEC, false, 14, 20000, 4096 },
	{ "MK-09: pages, one segment", TAKE, BVEC, true, 18, 20000, U32_MAX },
	{ "MK-08: pages, one segment, no markers",
	  TAKE, BVEC, false, 18, 20000, U32_MAX },
	{ "MK-09: pieces of pages", TAKE, BVEC, true, 14, 5000, 300, 3000 },
	{ "MK-17: pieces of one octet", TAKE, BVEC, true, 2, 250, 1, 1 },
	{ "MK-09: pieces, empty segments",
	  TAKE, BVEC, true, 14, 9000, 150, 500, 2 },
	{ "FR-01 MK-08: gathered kvec, one segment",
	  GATHER, KVEC, false, 14, 5000, U32_MAX },
	{ "FR-01 MK-08: gathered kvec, no header",
	  GATHER, KVEC, false, 0, 5001, U32_MAX },
	{ "FR-01 MK-08: gathered kvec, segments of 1",
	  GATHER, KVEC, false, 14, 250, 1, 3 },
	{ "FR-01 MK-08: gathered kvec, segments of 700",
	  GATHER, KVEC, false, 18, 5002, 700 },
	{ "FR-01 MK-08: gathered kvec, empty segments",
	  GATHER, KVEC, false, 64, 903, 11, 1, 2 },
	{ "FR-01 MK-08: gathered bvec, one segment",
	  GATHER, BVEC, false, 14, 5000, U32_MAX },
	{ "FR-01 MK-08: gathered bvec, segments of 13",
	  GATHER, BVEC, false, 1, 1800, 13, 40 },
	{ "FR-01 MK-08: gathered bvec, pages",
	  GATHER, BVEC, false, 64, 20000, 4096 },
	{ "FR-01 MK-08: gathered bvec, empty segments",
	  GATHER, BVEC, false, 0, 9003, 300, 1, 1 },
	{ "FR-01 MK-08: short kvec", SHORT, KVEC, false, 14, 65, U32_MAX },
	{ "MK-17: short kvec, markers, segments of 7",
	  SHORT, KVEC, true, 18, 231, 7, 1, 1 },
	{ "FR-01: short bvec, no header", SHORT, BVEC, true, 0, 250, 100, 9 },
};

MPA_ROWS(tx_source, tx_sources);

/* Make an iterator of @len octets at @octets, in the segments of @s. */
static void tx_source_iter(struct tx_test *t, const struct tx_source *s,
			   struct iov_iter *data, const u8 *octets, u32 len)
{
	u32 at = 100, nr = 0;
	struct page *page;
	u32 left, n, e;
	u8 *base;

	page = tx_page(t, 32 * PAGE_SIZE);
	ASSERT_NOT_NULL(t, page);
	t->payload = page;
	base = page_address(page);
	for (left = len; left; left -= n) {
		n = min(left, s->seg);
		ASSERT_LE(t, at + n, 32 * PAGE_SIZE);
		ASSERT_LT(t, nr + s->nr_empty, TX_SEGMENTS);
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
	if (s->kind == BVEC)
		iov_iter_bvec(data, ITER_SOURCE, t->seg, nr, len);
	else
		iov_iter_kvec(data, ITER_SOURCE, t->seg_kv, nr, len);
}

/* Two ULPDUs from one payload */
static void tx_send_source(struct tx_test *t, const struct tx_source *s,
			   bool crc)
{
	u64 pos = s->markers ? 0 : 508;
	struct iov_iter data;
	u32 k;

	tx_source_iter(t, s, &data, t->ulpdu + s->hdr_len, 2 * s->len);
	tx_begin(t, pos, s->markers, crc);
	for (k = 0; k < 2; k++) {
		memcpy(t->have, t->ulpdu, s->hdr_len);
		memcpy(t->have + s->hdr_len,
		       t->ulpdu + s->hdr_len + k * s->len, s->len);
		tx_want(t, t->enc.pos, t->have, s->hdr_len + s->len);
		if (s->way == GATHER)
			ASSERT_TRUE(t, mpa_fpdu_can_gather(&t->enc, s->hdr_len,
							   &data, s->len));
		ASSERT_EQ(t, 0, tx_lay_out(t, s->way, t->ulpdu, s->hdr_len,
					   &data, s->len));
	}
	EXPECT_EQ(t, 0, iov_iter_count(&data));
	EXPECT_EQ(t, pos + t->size, t->enc.pos);
	tx_expect_first(t, s->way, t->size, s->way == COPY || s->way == SHORT ?
			0 : 2 * s->len, s->desc);
}

static void tx_from_source(struct kunit *test)
{
	tx_send_source(test->priv, test->param_value, true);
	tx_send_source(test->priv, test->param_value, false);
}

/* After an error the encoder's state is unchanged. */

struct tx_failure {
	const char	*desc;
	enum tx_way	way;
	enum tx_kind	kind;
	bool		second;		/* not the first FPDU */
	bool		entries;	/* no entries; else no memory */
};

static const struct tx_failure tx_failures[] = {
	{ "too few entries, copying", COPY, BVEC, true, true },
	{ "too few entries, pages", TAKE, BVEC, true, true },
	{ "no memory, copying", COPY, BVEC, true, false },
	{ "no memory, pages", TAKE, BVEC, true, false },
	{ "too few entries, gathered kvec", GATHER, KVEC, false, true },
	{ "too few entries, gathered kvec, second FPDU",
	  GATHER, KVEC, true, true },
	{ "too few entries, gathered bvec", GATHER, BVEC, false, true },
	{ "too few entries, gathered bvec, second FPDU",
	  GATHER, BVEC, true, true },
	{ "no memory, gathered", GATHER, KVEC, false, false },
	{ "no memory, gathered, second FPDU", GATHER, KVEC, true, false },
};

MPA_ROWS(tx_failure, tx_failures);

/* Allow @room entries, or blocks or octets of memory, more than @before. */
static void tx_limit(struct tx_test *t, const struct tx_failure *f,
		     const struct mpa_enc *before, u32 room)
{
	if (f->entries) {
		t->enc.max = before->nr + room;
		t->enc.kv_end = before->kv_next + room;
	} else {
		t->left = room;
		t->enc.buf_end = before->buf + room;
		memset(before->buf, 0xa5, 64);
	}
}

/*
 * Repeat with more room each time until it succeeds; returns the number of
 * failures. Nothing is written past the end of the memory.
 */
static u32 tx_until_room(struct tx_test *t, const struct tx_failure *f,
			 struct iov_iter *data, u32 len)
{
	struct mpa_enc before = t->enc;
	int want = f->entries || f->way == GATHER ? -ENOBUFS : -ENOMEM;
	u32 size = t->size, room;
	int err;

	tx_want(t, t->enc.pos, t->ulpdu, 14 + len);
	for (room = 0; room < 200; room++) {
		tx_limit(t, f, &before, room);
		err = tx_lay_out(t, f->way, t->ulpdu, 14, data, len);
		if (!f->entries && room < 64)
			ASSERT_NULL(t, memchr_inv(before.buf + room, 0xa5,
						  64 - room));
		if (!err)
			break;
		ASSERT_EQ(t, want, err);
		ASSERT_EQ(t, before.pos, t->enc.pos);
		ASSERT_EQ(t, before.nr, t->enc.nr);
		ASSERT_PTR_EQ(t, before.kv_next, t->enc.kv_next);
		ASSERT_PTR_EQ(t, before.buf, t->enc.buf);
		ASSERT_EQ(t, len, iov_iter_count(data));
		tx_expect_first(t, f->way, size, f->second && f->way == GATHER ?
				20 : 0, f->desc);
	}
	return room;
}

static void tx_all_or_nothing(struct kunit *test)
{
	const struct tx_failure *f = test->param_value;
	struct tx_source pieces = { .kind = f->kind, .seg = 300, .gap = 600,
				    .nr_empty = f->way == GATHER };
	struct tx_test *t = test->priv;
	u32 in_place = f->way == COPY ? 0 : 1986;
	struct iov_iter data;
	u32 tries;

	t->chunk = f->way == COPY ? 64 : 16;
	tx_begin(t, 0, f->way != GATHER, true);
	if (f->second) {
		ASSERT_EQ(t, 0, tx_send(t, f->way == GATHER ? GATHER : COPY, 21,
					1));
		in_place += f->way == GATHER ? 20 : 0;
	}
	tx_source_iter(t, &pieces, &data, t->ulpdu + 14, 1986);
	tries = tx_until_room(t, f, &data, 1986);
	if (f->way != GATHER)
		EXPECT_GT(t, tries, 1);
	else if (f->entries)
		/* seven pieces, one entry before them and one after */
		EXPECT_EQ(t, 9 - f->second, tries);
	else
		EXPECT_GE(t, tries, 2 + 14 + 4);
	EXPECT_EQ(t, 0, iov_iter_count(&data));
	tx_expect_first(t, f->way, t->size, in_place, f->desc);
}

/*
 * Memory that a failed attempt wrote to is used again: there is an entry for
 * the header, but none for the page.
 */
static void tx_memory_reused(struct kunit *test)
{
	static const struct tx_source pages = { .kind = BVEC, .seg = U32_MAX };
	struct tx_test *t = test->priv;
	struct iov_iter data;

	tx_source_iter(t, &pages, &data, t->ulpdu + 20, 80);
	t->enc.max = 1;
	EXPECT_EQ(t, -ENOBUFS, tx_lay_out(t, TAKE, t->ulpdu, 20, &data, 80));
	EXPECT_EQ(t, 0, t->enc.nr);
	EXPECT_EQ(t, 0, t->enc.frag.offset);

	ASSERT_EQ(t, 0, tx_send(t, COPY, 100, 20));
	EXPECT_EQ(t, t->size, t->enc.frag.offset);
	tx_expect_copied(t, "after a failed attempt");
}

/*
 * With zero copy 15 pages fit into an skb, which has 17 fragments, however
 * little is left of the memory for copies: a short header is not split.
 */
static void tx_header_whole(struct kunit *test)
{
	static const struct tx_source pages = { .kind = BVEC, .seg = U32_MAX };
	static const u32 rooms[] = { 0, 5, 6, 8, 21, 22, 23, 63, 64, 65 };
	/* The payload begins 100 octets after the start of a page. */
	const u32 len = 15 * PAGE_SIZE - 100;
	struct tx_test *t = test->priv;
	u32 i, hdr_len;

	if (len > MPA_ULPDU_MAX - MPA_HDR_WHOLE)
		kunit_skip(test, "no ULPDU has so many pages");
	ASSERT_EQ(t, 0, tx_send(t, COPY, 100, 0));
	for (i = 0; i < 2 * ARRAY_SIZE(rooms); i++) {
		struct iov_iter data;

		hdr_len = i % 2 ? 16 : MPA_HDR_WHOLE;
		tx_begin(t, 4, false, true);
		t->enc.frag.offset = t->enc.frag.size - rooms[i / 2];
		tx_source_iter(t, &pages, &data, t->ulpdu + hdr_len, len);
		tx_want(t, 4, t->ulpdu, hdr_len + len);
		ASSERT_EQ(t, 0, tx_lay_out(t, TAKE, t->ulpdu, hdr_len, &data,
					   len));
		ASSERT_EQ_MSG(t, 3, t->enc.nr, "%u octets left", rooms[i / 2]);
		tx_expect_first(t, TAKE, t->size, len, "pages");
	}
}

/* The iterator's count limits the payload, not the length of its segments. */
static void tx_short_payload(struct kunit *test)
{
	static const struct tx_source pages = { .kind = BVEC, .seg = U32_MAX };
	struct tx_test *t = test->priv;
	struct iov_iter data;
	enum tx_way way;

	for (way = COPY; way <= SHORT; way++) {
		tx_source_iter(t, &pages, &data, t->ulpdu, 200);
		iov_iter_truncate(&data, 99);
		tx_begin(t, 0, way != GATHER, true);
		EXPECT_EQ(t, -EFAULT, tx_lay_out(t, way, NULL, 0, &data, 100));
		EXPECT_EQ(t, 0, t->enc.pos);
		EXPECT_EQ(t, 99, iov_iter_count(&data));
		tx_expect_first(t, way, 0, 0, "nothing");
	}
}

/* A short FPDU takes exactly its length of memory, or nothing. */
static void tx_short_room(struct kunit *test)
{
	struct tx_test *t = test->priv;
	const u32 size = mpa_fpdu_size(508, 99, true);
	u32 room;

	for (room = 0; room <= size; room++) {
		tx_begin(t, 508, true, true);
		memset(t->around, 0xa5, size);
		t->enc.buf_end = t->around + room;
		ASSERT_EQ(t, room < size ? -ENOBUFS : 0, tx_send(t, SHORT, 99,
								 18));
		ASSERT_NULL(t, memchr_inv(t->enc.buf, 0xa5,
					  t->around + size - t->enc.buf));
	}
	tx_expect_first(t, SHORT, size, 0, "enough");
	tx_begin(t, 508, true, true);
	t->enc.kv_end = t->list;
	EXPECT_EQ(t, -ENOBUFS, tx_send(t, SHORT, 99, 18));
	EXPECT_EQ(t, 508, t->enc.pos);
	EXPECT_PTR_EQ(t, &t->around[0], t->enc.buf);
}

/* Gathering requires no markers, a short header and mapped memory. */
static void tx_can_gather(struct kunit *test)
{
	struct tx_test *t = test->priv;
	struct iov_iter data;
	struct bio_vec bv;
	struct kvec kv;

	tx_begin(t, 0, false, true);
	iov_iter_kvec(&data, ITER_SOURCE, &kv, 1, 100);
	EXPECT_TRUE(t, mpa_fpdu_can_gather(&t->enc, 64, &data, 100));
	EXPECT_FALSE(t, mpa_fpdu_can_gather(&t->enc, 65, &data, 100));
	EXPECT_FALSE(t, mpa_fpdu_can_gather(&t->enc, 64, &data, 0));
	iov_iter_bvec(&data, ITER_SOURCE, &bv, 1, 100);
	EXPECT_TRUE(t, mpa_fpdu_can_gather(&t->enc, 0, &data, 1));
	t->enc.markers = true;
	EXPECT_FALSE(t, mpa_fpdu_can_gather(&t->enc, 0, &data, 1));
	t->enc.markers = false;
	iov_iter_xarray(&data, ITER_SOURCE, NULL, 0, 100);
	EXPECT_FALSE(t, mpa_fpdu_can_gather(&t->enc, 0, &data, 1));
}

/* Runs: FPDUs of one length, cut from a message */

enum {
	TX_RUN		= 20,		/* FPDUs */
	TX_RUN_SIZE	= 1448,
	TX_RUN_DATA	= 30000,	/* octets to cut */
};

struct tx_run {
	const char		*desc;
	enum tx_way		way;
	bool			markers;
	bool			crc;
	struct mpa_template	template;
	u32			hdr_len;
	u32			entry;	/* octets of an entry */
};

static const struct tx_run tx_runs[] = {
	{ "gathered, one entry", GATHER, false, true, { 14, 4 }, 18, 30000 },
	{ "gathered, counter of 8", GATHER, false, true, { 6, 8 }, 14, 30000 },
	{ "gathered, counter in front", GATHER, false, true, { 0, 4 }, 32,
	  30000 },
	{ "gathered, without CRC", GATHER, false, false, { 14, 4 }, 18, 30000 },
	{ "gathered, pages", GATHER, false, true, { 14, 4 }, 18, 4096 },
	{ "gathered, short entries", GATHER, false, true, { 14, 4 }, 18, 700 },
	{ "MK-09 MK-16: laid out", COPY, true, true, { 14, 4 }, 18, 30000 },
	{ "MK-09 MK-16: laid out, pages", COPY, true, true, { 6, 8 }, 14,
	  4096 },
	{ "MK-08: laid out, pages", COPY, false, true, { 14, 4 }, 18, 4096 },
	{ "MK-08: taken, one entry", TAKE, false, true, { 14, 4 }, 18, 30000 },
	{ "MK-08: taken, short entries", TAKE, false, true, { 6, 8 }, 14, 700 },
	{ "MK-08: taken, without CRC", TAKE, false, false, { 0, 4 }, 32, 4096 },
};

MPA_ROWS(tx_run, tx_runs);

/* The octets of t->ulpdu from MPA_TEMPLATE_HDR on, in entries */
static void tx_run_data(struct tx_test *t, const struct tx_run *r,
			struct iov_iter *data)
{
	struct tx_source pages = { .kind = BVEC, .seg = r->entry };
	u32 at, n = 0;

	if (r->way == TAKE) {
		tx_source_iter(t, &pages, data, t->ulpdu + MPA_TEMPLATE_HDR,
			       TX_RUN_DATA);
		return;
	}
	for (at = 0; at < TX_RUN_DATA; at += r->entry) {
		t->seg_kv[n].iov_base = t->ulpdu + MPA_TEMPLATE_HDR + at;
		t->seg_kv[n++].iov_len = min(r->entry, TX_RUN_DATA - at);
	}
	iov_iter_kvec(data, ITER_SOURCE, t->seg_kv, n, TX_RUN_DATA);
}

/* Have the reference send @nr FPDUs. Returns how many octets they took. */
static u32 tx_run_want(struct tx_test *t, const struct tx_run *r, u64 pos,
		       u64 count, u32 nr)
{
	u32 at = 0, k, len;
	u8 ulpdu[TX_RUN_SIZE];

	for (k = 0; k < nr; k++, pos += TX_RUN_SIZE, at += len) {
		len = mpa_fpdu_fill(pos, TX_RUN_SIZE, r->markers) - r->hdr_len;
		memcpy(ulpdu, t->ulpdu, r->hdr_len);
		if (r->template.count_size == 8)
			put_unaligned_be64(count + at,
					   ulpdu + r->template.count_at);
		else
			put_unaligned_be32(count + at,
					   ulpdu + r->template.count_at);
		memcpy(ulpdu + r->hdr_len, t->ulpdu + MPA_TEMPLATE_HDR + at,
		       len);
		tx_want(t, pos, ulpdu, r->hdr_len + len);
	}
	return at;
}

/*
 * Headers, CRCs and places of @nr FPDUs, after one at @pos, are those of FPDUs
 * that are sent one by one.
 */
static void tx_run_at(struct tx_test *t, const struct tx_run *r, u64 pos,
		      u32 nr)
{
	struct mpa_cut cut = {
		.template = &r->template, .count = U32_MAX - 5000,
		.hdr_len = r->hdr_len,
	};
	struct iov_iter data;
	u32 n, len, want, in_place;

	tx_begin(t, pos, r->markers, r->crc);
	ASSERT_EQ(t, 0, tx_send(t, r->way == TAKE ? COPY : r->way, 100, 0));
	memcpy(cut.hdr, t->ulpdu, r->hdr_len);
	tx_run_data(t, r, &data);
	want = tx_run_want(t, r, t->enc.pos, cut.count, nr);
	len = mpa_fpdu_fill(0, TX_RUN_SIZE, false) - r->hdr_len;
	if (r->way == GATHER)
		n = mpa_fpdu_gather_run(&t->enc, &cut, &data, len, nr);
	else if (r->way == TAKE)
		n = mpa_fpdu_pages_run(&t->enc, &cut, &data, len, nr,
				       t->enc.max);
	else
		n = mpa_fpdu_encode_run(&t->enc, &cut, &data, TX_RUN_DATA,
					TX_RUN_SIZE, nr);
	ASSERT_EQ(t, nr, n);
	EXPECT_EQ(t, TX_RUN_DATA - want, iov_iter_count(&data));
	EXPECT_EQ(t, U32_MAX - 5000ULL + want, cut.count);
	EXPECT_EQ(t, pos + t->size, t->enc.pos);
	in_place = r->way == GATHER ? 100 + want : r->way == TAKE ? want : 0;
	tx_expect_first(t, r->way, t->size, in_place, r->desc);
}

static void tx_cut_run(struct kunit *test)
{
	tx_run_at(test->priv, test->param_value, 512, TX_RUN);
}

/*
 * Markers before, in and after the header of an FPDU in a run, which begins 108
 * octets after pos.
 */
static void tx_run_header(struct kunit *test)
{
	static const struct tx_run r = {
		"MK-09 MK-16", COPY, true, true, { 24, 8 }, 32, TX_RUN_DATA,
	};
	struct tx_test *t = test->priv;
	u32 pos;

	for (pos = 352; pos <= 512 - 108; pos += 4) {
		t->enc.frag.offset = 0;	/* tx_begin() drops what is there. */
		tx_run_at(t, &r, pos, 1);
	}
}

/* A run ends where there are no entries, no memory, or no octets left. */
static void tx_run_ends(struct kunit *test)
{
	static const struct tx_run r = {
		.template = { 14, 4 }, .hdr_len = 18, .entry = TX_RUN_DATA,
	};
	struct tx_test *t = test->priv;
	struct mpa_cut cut = { .template = &r.template, .hdr_len = 18 };
	struct iov_iter data;

	tx_begin(t, 0, false, true);
	tx_run_data(t, &r, &data);
	t->enc.kv_end = t->enc.kv + 10;
	EXPECT_EQ(t, 4, mpa_fpdu_gather_run(&t->enc, &cut, &data, 1000, 20));
	EXPECT_EQ(t, TX_RUN_DATA - 4000, iov_iter_count(&data));
	EXPECT_EQ(t, 4000, cut.count);

	t->enc.kv_end = t->enc.kv + TX_ENTRIES;
	t->enc.buf_end = t->enc.buf + 100;
	EXPECT_EQ(t, 3, mpa_fpdu_gather_run(&t->enc, &cut, &data, 1000, 20));
	EXPECT_EQ(t, 7000, cut.count);

	tx_begin(t, 0, true, true);
	EXPECT_EQ(t, 0, mpa_fpdu_encode_run(&t->enc, &cut, &data, 9000, 512,
					    20));
	ASSERT_EQ(t, 0, tx_send(t, COPY, 100, 0));
	EXPECT_EQ(t, 1, mpa_fpdu_encode_run(&t->enc, &cut, &data, 968, 512,
					    20));
	EXPECT_EQ(t, 7000 + 968 / 2, cut.count);
}

/*
 * A run in pages ends where another FPDU might need one entry too many, of
 * those allowed or those there are, where there is no memory for its header,
 * and before a page of the slab.
 */
static void tx_run_pages_ends(struct kunit *test)
{
	static const struct tx_run r = {
		.way = TAKE, .template = { 14, 4 }, .hdr_len = 18,
		.entry = 1500,
	};
	struct tx_test *t = test->priv;
	struct mpa_cut cut = { .template = &r.template, .hdr_len = 18 };
	struct iov_iter data;
	void *slab;

	tx_begin(t, 0, false, true);
	tx_run_data(t, &r, &data);
	EXPECT_EQ(t, 0, mpa_fpdu_pages_run(&t->enc, &cut, &data, 1000, 9, 99));
	ASSERT_EQ(t, 0, tx_refill(&t->enc));
	EXPECT_EQ(t, 2, mpa_fpdu_pages_run(&t->enc, &cut, &data, 1000, 9, 6));
	EXPECT_EQ(t, 5, t->enc.nr);
	EXPECT_EQ(t, 2000, cut.count);
	EXPECT_EQ(t, 2 * 1024, t->enc.pos);

	t->enc.frag.offset = t->enc.frag.size - 2 * MPA_CUT_HEAD - 7;
	EXPECT_EQ(t, 1, mpa_fpdu_pages_run(&t->enc, &cut, &data, 1000, 9, 99));
	EXPECT_EQ(t, TX_RUN_DATA - 3000, iov_iter_count(&data));

	slab = kunit_kmalloc(test, 1500, GFP_KERNEL);
	ASSERT_NOT_NULL(t, slab);
	bvec_set_virt(&t->seg[3], slab, 1500);
	t->enc.frag.offset = 0;
	EXPECT_EQ(t, 1, mpa_fpdu_pages_run(&t->enc, &cut, &data, 1000, 9, 99));
	EXPECT_EQ(t, 4000, cut.count);

	/* There is no entry for the CRC. */
	tx_begin(t, 0, false, true);
	tx_run_data(t, &r, &data);
	t->enc.max = 2;
	EXPECT_EQ(t, 0, mpa_fpdu_pages_run(&t->enc, &cut, &data, 1000, 1, 99));
}

struct tx_mulpdu {
	const char	*desc;
	u32		emss;
	u32		with;
	u32		without;
};

static const struct tx_mulpdu tx_mulpdus[] = {
	{ "SZ-03 SZ-15: EMSS 0", 0, 128, 128 },
	{ "SZ-15: EMSS 128", 128, 128, 128 },
	{ "SZ-15: EMSS 136", 136, 128, 130 },
	{ "SZ-15: EMSS 139", 139, 128, 130 },
	{ "SZ-08 SZ-09: EMSS 140", 140, 130, 134 },
	{ "SZ-08 SZ-09: EMSS 141", 141, 130, 134 },
	{ "SZ-08 SZ-09: EMSS 512", 512, 502, 506 },
	{ "SZ-08 SZ-09 SZ-19: EMSS 536", 536, 522, 530 },
	{ "SZ-08 SZ-09 SZ-19: EMSS 1448", 1448, 1430, 1442 },
	{ "SZ-08 SZ-09 SZ-19: EMSS 1460", 1460, 1442, 1454 },
	{ "SZ-08 SZ-09: EMSS 4036", 4036, 3998, 4030 },
	{ "SZ-08 SZ-09: EMSS 8960", 8960, 8882, 8954 },
	{ "SZ-03: EMSS 65483 of the loopback device", 65483, 64768, 64768 },
	{ "SZ-03: EMSS 4294967295", U32_MAX, 64768, 64768 },
};

MPA_ROWS(tx_mulpdu, tx_mulpdus);

static void tx_known_mulpdu(struct kunit *test)
{
	const struct tx_mulpdu *m = test->param_value;

	KUNIT_EXPECT_EQ(test, m->with, mpa_mulpdu_of(m->emss, true));
	KUNIT_EXPECT_EQ(test, m->without, mpa_mulpdu_of(m->emss, false));
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE_PARAM(tx_known_fpdu, fpdu_vector_gen_params),
	KUNIT_CASE_PARAM(tx_chunked, tx_chunk_gen_params),
	KUNIT_CASE_PARAM(tx_from_source, tx_source_gen_params),
	KUNIT_CASE_PARAM(tx_all_or_nothing, tx_failure_gen_params),
	KUNIT_CASE(tx_memory_reused),
	KUNIT_CASE(tx_header_whole),
	KUNIT_CASE(tx_short_payload),
	KUNIT_CASE(tx_short_room),
	KUNIT_CASE(tx_can_gather),
	KUNIT_CASE_PARAM(tx_cut_run, tx_run_gen_params),
	KUNIT_CASE(tx_run_header),
	KUNIT_CASE(tx_run_ends),
	KUNIT_CASE(tx_run_pages_ends),
	KUNIT_CASE_PARAM(tx_known_mulpdu, tx_mulpdu_gen_params),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "mpa_tx",
	.init = tx_init,
	.exit = tx_exit,
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);
