// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages are laid out as FPDUs, copied, as pages, or gathered, sometimes with
 * too few entries and too little memory: the octets are those that the
 * reference sends, the decoder gets the messages back, and a failure has no
 * side effect.
 *
 * An input: options, position, room, then the messages.
 */
#include <sanitizer/asan_interface.h>
#include "fuzz.h"
#include "mpa_ref.h"
#include "sweep.h"

enum {
	MESSAGES	= 32,
	SEGMENTS	= 24,
	ENTRIES		= 64,
	FRAG_PAGES	= 64,
	DATA_PAGE	= FRAG_PAGES,	/* payload for zero copy */
	DATA_PAGES	= 64,
	LEN_MAX		= 6000,
	STREAM_MAX	= MESSAGES * 7000,
};

/* a message: header and payload, the latter in segments, maybe with more */
struct message {
	u32		hdr_len;
	u32		len;
	u32		more;
	u32		asked;		/* of the payload; should be @len */
	u8		*hdr;
	bool		zerocopy;
	struct iov_iter	data;
	struct kvec	kvec[SEGMENTS];
	struct bio_vec	bvec[SEGMENTS];
	u8		ulpdu[LEN_MAX + 512];
};

/* FPDUs laid out */
struct layout {
	struct mpa_enc	enc;
	bool		gather;
	u64		start;
	u32		len;
	u32		nr;
	u32		chunk;
	u32		next_page;
	u32		refills;	/* that still work */
	u32		data;		/* octets of payload pages in use */
	struct message	message[MESSAGES];
	u8		*buf;
	struct bio_vec	*bv;
	struct kvec	*kv;
	u8		want[STREAM_MAX];
	u8		have[STREAM_MAX];
};

static struct layout layout;

/* Memory after a piece is out of bounds. */
static int refill(struct mpa_enc *enc)
{
	struct layout *l = container_of(enc, struct layout, enc);
	u32 pages = DIV_ROUND_UP(l->chunk, PAGE_SIZE);

	if (!l->refills || l->next_page + pages > FRAG_PAGES)
		return -ENOMEM;
	l->refills--;
	enc->frag.page = &shim_page[l->next_page];
	enc->frag.offset = 0;
	enc->frag.size = l->chunk;
	ASAN_UNPOISON_MEMORY_REGION(page_address(enc->frag.page), l->chunk);
	l->next_page += pages;
	return 0;
}

static void begin(struct layout *l, struct fuzz_input *in)
{
	u32 options = fuzz_u8(in);
	u32 entries = 1 + fuzz_below(in, ENTRIES);
	u32 room = fuzz_u16(in) % 4096;

	ASAN_POISON_MEMORY_REGION(shim_mem, FRAG_PAGES * PAGE_SIZE);
	l->start = fuzz_pos(in);
	l->gather = options & 4;
	l->len = 0;
	l->nr = 0;
	l->chunk = 16 + (options & 8 ? 8 : 1) * (fuzz_u16(in) % 2048);
	l->next_page = 0;
	l->data = 0;
	l->refills = options & 16 ? options >> 5 : U32_MAX;
	l->buf = malloc(room);
	l->bv = malloc(entries * sizeof(*l->bv));
	l->kv = malloc(entries * sizeof(*l->kv));
	l->enc = (struct mpa_enc) {
		.pos = l->start, .markers = !l->gather && !(options & 1),
		.crc = !(options & 2), .bv = l->bv, .max = entries,
		.refill = refill, .kv = l->kv, .kv_next = l->kv,
		.kv_end = l->kv + entries, .buf = l->buf,
		.buf_end = l->buf + room,
	};
}

static void discard(struct message *m)
{
	u32 i;

	for (i = 0; i < SEGMENTS; i++)
		free(m->kvec[i].iov_base);
	free(m->hdr);
}

static void drop(struct layout *l, u32 messages)
{
	u32 i;

	while (l->enc.nr)
		put_page(l->bv[--l->enc.nr].bv_page);
	for (i = 0; i < FRAG_PAGES + DATA_PAGES; i++)
		SHIM_ASSERT(!shim_page[i].refs, "page %u: %d references", i,
			    shim_page[i].refs);
	ASAN_UNPOISON_MEMORY_REGION(shim_mem, FRAG_PAGES * PAGE_SIZE);
	for (i = 0; i < messages; i++)
		discard(&l->message[i]);
	free(l->buf);
	free(l->bv);
	free(l->kv);
}

/* The payload in segments, some of them empty */
static void cut_payload(struct layout *l, struct message *m,
			struct fuzz_input *in, bool pages)
{
	u8 *payload = m->ulpdu + m->hdr_len;
	u32 all = m->len + m->more;
	u32 at = l->data + fuzz_u8(in);
	u32 done = 0, nr = 0, n;

	while (done < all) {
		n = fuzz_u8(in);
		n = n >= 192 ? (n - 191) * 64 : n;
		n = min(n, all - done);
		if (nr == SEGMENTS - 1)
			n = all - done;
		if (pages) {
			bvec_set_page(&m->bvec[nr], &shim_page[DATA_PAGE] +
				      at / PAGE_SIZE, n, at % PAGE_SIZE);
			memcpy(shim_mem + DATA_PAGE * PAGE_SIZE + at,
			       payload + done, n);
		} else {
			m->kvec[nr].iov_base = fuzz_copy(payload + done, n);
			m->kvec[nr].iov_len = n;
		}
		at += n + 16;
		done += n;
		nr++;
	}
	l->data = at;
	m->data.nr_segs = nr;
	m->data.count = all;
	if (pages)
		m->data.bvec = m->bvec;
	else
		m->data.kvec = m->kvec;
}

static void compose(struct layout *l, struct message *m, struct fuzz_input *in)
{
	u32 options = fuzz_u8(in);
	u32 len = fuzz_u8(in);

	if (len >= 160)
		len = (len - 159) * 64 + fuzz_u8(in) % 64;
	m->hdr_len = fuzz_u8(in) % (options & 1 ? 100 : 20);
	m->len = min(len, (u32)LEN_MAX);
	if (!m->hdr_len && !m->len)
		m->len = 1;
	m->more = options & 16 ? 1 + options : 0;
	m->asked = m->len + (options & 32 ? m->more + 1 : 0);
	m->zerocopy = options & 2;
	m->data = (struct iov_iter) {};
	memset(m->kvec, 0, sizeof(m->kvec));
	memcpy(m->ulpdu, fuzz_pool + options, m->hdr_len + m->len + m->more);
	m->hdr = fuzz_copy(m->ulpdu, m->hdr_len);
	cut_payload(l, m, in, options & 6);
	m->data.opaque = !(options & 6) && options & 8;
}

static u32 gather_all(const struct layout *l, u8 *to)
{
	const struct kvec *kv;
	u32 n = 0;

	if (!l->gather)
		return shim_gather(l->bv, l->enc.nr, to);
	for (kv = l->kv; kv < l->enc.kv_next; kv++) {
		memcpy(to + n, kv->iov_base, kv->iov_len);
		n += kv->iov_len;
	}
	return n;
}

static void check_stream(struct layout *l)
{
	u32 n = gather_all(l, l->have);

	SHIM_ASSERT(n == l->len, "%u octets, not %u", n, l->len);
	SHIM_ASSERT(!memcmp(l->have, l->want, n), "%u octets", n);
	SHIM_ASSERT(l->enc.pos == l->start + n, "%u octets", n);
}

static int lay(struct layout *l, struct message *m)
{
	if (!l->gather)
		return mpa_fpdu_encode(&l->enc, m->hdr, m->hdr_len, &m->data,
				       m->asked, m->zerocopy);
	if (!mpa_fpdu_can_gather(&l->enc, m->hdr_len, &m->data, m->asked))
		return -EINVAL;
	return mpa_fpdu_gather(&l->enc, m->hdr, m->hdr_len, &m->data, m->asked);
}

/* After an error all is as it was, but for memory that is there now. */
static void check_error(struct layout *l, const struct message *m, int err,
			const struct iov_iter *before)
{
	u8 *rest = malloc(m->len);
	struct iov_iter data = m->data;

	SHIM_ASSERT(err == -ENOBUFS || err == -ENOMEM ||
		    (l->gather && err == -EINVAL) ||
		    (m->asked > m->len && err == -EFAULT), "%d", err);
	SHIM_ASSERT(data.count == before->count, "%zu octets", data.count);
	SHIM_ASSERT(copy_from_iter(rest, m->len, &data) == m->len, "%d", err);
	SHIM_ASSERT(!memcmp(rest, m->ulpdu + m->hdr_len, m->len), "%d", err);
	free(rest);
	check_stream(l);
}

static void add(struct layout *l, struct message *m)
{
	struct iov_iter before = m->data;
	int err;

	err = lay(l, m);
	if (err) {
		check_error(l, m, err, &before);
		fuzz_count[FUZZ_BROKEN]++;
		return;
	}
	SHIM_ASSERT(m->asked == m->len, "%u octets", m->asked);
	SHIM_ASSERT(m->data.count == m->more, "%zu octets", m->data.count);
	l->len += mpa_ref_encode(l->want + l->len, l->start + l->len, m->ulpdu,
				 m->hdr_len + m->len, l->enc.markers,
				 l->enc.crc);
	l->nr++;
	check_stream(l);
}

/* The decoder gets the octets in the pieces in which they were laid out. */
static void receive(struct layout *l)
{
	static struct mpa_ulpdu ulpdu[MESSAGES + 1];
	static struct kvec frag[2048];
	struct kvec v = { l->have, l->len };
	struct mpa_octets in = { .v = &v, .nr = 1, .len = l->len };
	struct mpa_dec dec = {
		.pos = l->start, .markers = l->enc.markers, .crc = l->enc.crc,
		.frag = frag, .max_frags = ARRAY_SIZE(frag),
	};
	u32 nr;
	int err;

	err = mpa_fpdu_decode_run(&dec, &in, MPA_POS_NONE, ulpdu,
				  ARRAY_SIZE(ulpdu), &nr);
	SHIM_ASSERT(err == -EAGAIN && nr == l->nr, "%u of %u: %d", nr, l->nr,
		    err);
	SHIM_ASSERT(dec.pos == l->start + l->len, "%u", l->len);
}

void fuzz_one(struct fuzz_input *in)
{
	struct layout *l = &layout;
	u32 i;

	begin(l, in);
	for (i = 0; i < MESSAGES && in->p < in->end; i++) {
		compose(l, &l->message[i], in);
		add(l, &l->message[i]);
	}
	receive(l);
	fuzz_count[FUZZ_STREAMS]++;
	fuzz_count[FUZZ_FPDUS] += l->nr;
	fuzz_say("%u FPDUs", l->nr);
	drop(l, i);
}
