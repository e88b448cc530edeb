// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs: sizes, encoder and decoder. RFC 5044 section 4.
 *
 * Offsets in an FPDU count from the first octet of ULPDU_Length, as FPDUPTR
 * does; a leading marker is before it and not counted. FPDUs and markers begin
 * at multiples of four, so a marker never splits ULPDU_Length, PAD or CRC.
 */
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/bvec.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/unaligned.h>
#include "mpa_fpdu.h"
#include "mpa_wire.h"

enum {
	MPA_ALIGN	= 4,
	/* most octets of framing that are laid out in one piece */
	MPA_HEAD_MAX	= MPA_MARKER_SIZE + MPA_LENGTH_SIZE,
	MPA_TAIL_MAX	= MPA_ALIGN + MPA_MARKER_SIZE + MPA_CRC_SIZE,
};

#define MPA_NO_MARKER	U32_MAX

/* octets from @pos to the next marker, 0 if one stands at @pos */
static u32 marker_distance(u64 pos)
{
	return -pos & (MPA_MARKER_INTERVAL - 1);
}

static bool marker_leads(u64 pos, bool markers)
{
	return markers && !marker_distance(pos);
}

/* offset from ULPDU_Length of the first marker that is not a leading one */
static u32 marker_first(u64 pos, bool markers)
{
	if (!markers)
		return MPA_NO_MARKER;
	return marker_distance(pos) ?: MPA_MARKER_PAYLOAD;
}

static u32 pad_size(u32 len)
{
	return -(MPA_LENGTH_SIZE + len) & (MPA_ALIGN - 1);
}

/**
 * mpa_fpdu_size - Length of an FPDU
 * @pos: stream position of its first octet, a multiple of four
 * @len: octets of its ULPDU
 * @markers: markers are in use
 *
 * Return: octets on the wire, a leading marker included
 */
u32 mpa_fpdu_size(u64 pos, u32 len, bool markers)
{
	u32 base = MPA_OVERHEAD + len + pad_size(len);
	u32 dist;

	if (!markers)
		return base;
	dist = marker_distance(pos);
	if (base <= dist)
		return base;
	return base + MPA_MARKER_SIZE *
		      DIV_ROUND_UP(base - dist, MPA_MARKER_PAYLOAD);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_size);

/**
 * mpa_fpdu_fill - The longest ULPDU for some room
 * @pos: stream position where its FPDU begins, a multiple of four
 * @room: octets the FPDU may take
 * @markers: markers are in use
 *
 * Return: octets of the ULPDU, at most %MPA_ULPDU_MAX; 0 when not even one
 *	octet fits
 */
u32 mpa_fpdu_fill(u64 pos, u32 room, bool markers)
{
	u32 dist = marker_distance(pos);

	room = ALIGN_DOWN(min_t(u32, room, MPA_FPDU_MAX), MPA_ALIGN);
	if (markers && room > dist)
		room -= MPA_MARKER_SIZE *
			DIV_ROUND_UP(room - dist, MPA_MARKER_INTERVAL);
	if (room <= MPA_OVERHEAD)
		return 0;
	return min_t(u32, room - MPA_OVERHEAD, MPA_ULPDU_MAX);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_fill);

/**
 * mpa_mulpdu_of - MULPDU by the formulas of section 4.5
 * @emss: effective maximum segment size
 * @markers: allow for the worst number of markers
 *
 * Return: octets, %MPA_MULPDU_MIN to %MPA_MULPDU_MAX
 */
u32 mpa_mulpdu_of(u32 emss, bool markers)
{
	u32 over;

	emss = min_t(u32, emss, 2 * MPA_MULPDU_MAX);
	over = MPA_OVERHEAD + emss % MPA_ALIGN;
	if (markers)
		over += MPA_MARKER_SIZE *
			DIV_ROUND_UP(emss, MPA_MARKER_INTERVAL);
	if (emss < over + MPA_MULPDU_MIN)
		return MPA_MULPDU_MIN;
	return min_t(u32, emss - over, MPA_MULPDU_MAX);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_mulpdu_of);

/*
 * An FPDU being laid out. Octets are copied to @p. [@start, @p) is not yet in
 * enc->bv nor in @crc, so that in the common case both get the FPDU, markers
 * included, as one piece.
 */
struct layout {
	struct mpa_enc	*enc;
	u8		*start;
	u8		*p;
	u8		*end;
	u32		done;		/* octets, from ULPDU_Length on */
	u32		marker;		/* @done at the next marker */
	u32		crc;
	u32		offset;		/* where the FPDU begins in this frag */
};

static void layout_window(struct layout *l)
{
	const struct page_frag *frag = &l->enc->frag;
	u8 *base;

	if (!frag->page) {
		l->p = NULL;
		l->end = NULL;
	} else {
		base = page_address(frag->page);
		l->p = base + frag->offset;
		l->end = base + frag->size;
	}
	l->start = l->p;
	l->offset = frag->offset;
}

static int layout_append(struct mpa_enc *enc, struct page *page, u32 offset,
			 u32 len)
{
	struct bio_vec *last = enc->bv + enc->nr - 1;

	if (enc->nr && last->bv_page == page &&
	    last->bv_offset + last->bv_len == offset) {
		last->bv_len += len;
		return 0;
	}
	if (enc->nr == enc->max)
		return -ENOBUFS;
	get_page(page);
	bvec_set_page(&enc->bv[enc->nr++], page, len, offset);
	return 0;
}

static void layout_sum(struct layout *l, const void *data, u32 len)
{
	if (l->enc->crc)
		l->crc = mpa_crc_update(l->crc, data, len);
}

static int layout_commit(struct layout *l)
{
	struct page_frag *frag = &l->enc->frag;
	u32 len = l->p - l->start;
	int err;

	err = layout_append(l->enc, frag->page, frag->offset, len);
	if (err)
		return err;
	frag->offset += len;
	l->start = l->p;
	return 0;
}

static int layout_flush(struct layout *l)
{
	if (l->start == l->p)
		return 0;
	layout_sum(l, l->start, l->p - l->start);
	return layout_commit(l);
}

static noinline int layout_refill(struct layout *l)
{
	int err;

	err = layout_flush(l);
	if (err)
		return err;
	err = l->enc->refill(l->enc);
	if (err)
		return err;
	layout_window(l);
	return 0;
}

/* make room for @len octets in one piece */
static __always_inline int layout_reserve(struct layout *l, u32 len)
{
	return likely(l->end - l->p >= len) ? 0 : layout_refill(l);
}

static void layout_marker(struct layout *l)
{
	put_unaligned_be32(l->marker & MPA_FPDUPTR_MASK, l->p);
	l->p += MPA_MARKER_SIZE;
	l->done += MPA_MARKER_SIZE;
	l->marker += MPA_MARKER_INTERVAL;
}

static int layout_head(struct layout *l, bool leading, u32 len)
{
	int err;

	err = layout_reserve(l, MPA_HEAD_MAX);
	if (err)
		return err;
	if (leading) {
		put_unaligned_be32(0, l->p);
		l->p += MPA_MARKER_SIZE;
	}
	put_unaligned_be16(len, l->p);
	l->p += MPA_LENGTH_SIZE;
	l->done = MPA_LENGTH_SIZE;
	return 0;
}

/*
 * Write a marker if one is due. Returns how many of @want octets can then be
 * copied to l->p, or an error.
 */
static __always_inline int layout_room(struct layout *l, u32 want)
{
	bool due = l->done == l->marker;
	int err;

	err = layout_reserve(l, due ? MPA_MARKER_SIZE + 1 : 1);
	if (err)
		return err;
	if (due)
		layout_marker(l);
	return min3(want, l->marker - l->done, (u32)(l->end - l->p));
}

static int layout_copy(struct layout *l, const void *from, u32 len)
{
	int n;

	for (; len; len -= n, from += n) {
		n = layout_room(l, len);
		if (n < 0)
			return n;
		memcpy(l->p, from, n);
		l->p += n;
		l->done += n;
	}
	return 0;
}

/*
 * Take up to @want octets of @from that lie in one piece, and return where they
 * are. *@n is their number, 0 if the next entry of @from is empty.
 */
static __always_inline void *iter_take(struct iov_iter *from, u32 want, u32 *n)
{
	const bool is_kvec = iov_iter_is_kvec(from);
	size_t left;
	void *p;

	if (likely(is_kvec)) {
		left = from->kvec->iov_len - from->iov_offset;
		p = from->kvec->iov_base + from->iov_offset;
	} else {
		left = from->bvec->bv_len - from->iov_offset;
		p = page_address(from->bvec->bv_page) +
		    from->bvec->bv_offset + from->iov_offset;
	}
	*n = min_t(size_t, want, left);
	from->count -= *n;
	from->iov_offset += *n;
	if (*n < left)
		return p;
	from->iov_offset = 0;
	from->nr_segs--;
	if (is_kvec)
		from->kvec++;
	else
		from->bvec++;
	return p;
}

static int layout_copy_iter(struct layout *l, struct iov_iter *from, u32 len)
{
	const void *p;
	int err, n;
	u32 k;

	for (; len && mpa_iter_is_flat(from); len -= k) {
		p = iter_take(from, len, &k);
		err = layout_copy(l, p, k);
		if (err)
			return err;
	}
	for (; len; len -= n) {
		n = layout_room(l, len);
		if (n < 0)
			return n;
		if (copy_from_iter(l->p, n, from) != n)
			return -EFAULT;
		l->p += n;
		l->done += n;
	}
	return 0;
}

/*
 * Append up to @len octets of @from, none past the end of the page or entry
 * that it stands at. Returns how many, or an error.
 */
static int layout_page(struct layout *l, struct iov_iter *from, u32 len)
{
	struct page *page;
	size_t offset;
	int err;

	while (from->iov_offset == from->bvec->bv_len) {
		from->bvec++;
		from->nr_segs--;
		from->iov_offset = 0;
	}
	offset = from->bvec->bv_offset + from->iov_offset;
	page = from->bvec->bv_page + (offset >> PAGE_SHIFT);
	offset = offset_in_page(offset);
	len = min3(len, (u32)(from->bvec->bv_len - from->iov_offset),
		   (u32)(PAGE_SIZE - offset));

	err = layout_append(l->enc, page, offset, len);
	if (err)
		return err;
	layout_sum(l, page_address(page) + offset, len);
	iov_iter_advance(from, len);
	l->done += len;
	return len;
}

static int layout_pages(struct layout *l, struct iov_iter *from, u32 len)
{
	int err;
	int n;

	for (; len; len -= n) {
		if (l->done == l->marker) {
			err = layout_reserve(l, MPA_MARKER_SIZE);
			if (err)
				return err;
			layout_marker(l);
		}
		err = layout_flush(l);
		if (err)
			return err;
		n = layout_page(l, from, min(len, l->marker - l->done));
		if (n < 0)
			return n;
	}
	return 0;
}

static int layout_tail(struct layout *l, u32 pad)
{
	__le32 field;
	int err;

	err = layout_reserve(l, MPA_TAIL_MAX);
	if (err)
		return err;
	memset(l->p, 0, MPA_ALIGN);
	l->p += pad;
	l->done += pad;
	if (l->done == l->marker)
		layout_marker(l);

	/* With CRCs off it is still MPA_CRC_INIT: the field becomes zero. */
	layout_sum(l, l->start, l->p - l->start);
	field = mpa_crc_field(l->crc);
	memcpy(l->p, &field, MPA_CRC_SIZE);
	l->p += MPA_CRC_SIZE;
	l->done += MPA_CRC_SIZE;
	return layout_commit(l);
}

static int layout_fpdu(struct layout *l, bool leading, const void *hdr,
		       u32 hdr_len, struct iov_iter *data, u32 len,
		       bool zerocopy)
{
	int err;

	err = layout_head(l, leading, hdr_len + len);
	if (err)
		return err;
	err = layout_copy(l, hdr, hdr_len);
	if (err)
		return err;
	if (zerocopy)
		err = layout_pages(l, data, len);
	else
		err = layout_copy_iter(l, data, len);
	if (err)
		return err;
	return layout_tail(l, pad_size(hdr_len + len));
}

/* An FPDU being copied to memory that has room for all of it */
struct flat {
	u8		*p;		/* the next octet goes here */
	u8		*marker;	/* the next marker goes here */
	u32		fpduptr;	/* FPDUPTR of that marker */
};

static __always_inline void flat_marker(struct flat *f)
{
	put_unaligned_be32(f->fpduptr & MPA_FPDUPTR_MASK, f->p);
	f->p += MPA_MARKER_SIZE;
	f->marker += MPA_MARKER_INTERVAL;
	f->fpduptr += MPA_MARKER_INTERVAL;
}

static __always_inline void flat_copy(struct flat *f, const void *from, u32 len)
{
	u32 n;

	for (; len; len -= n, from += n) {
		if (f->p == f->marker)
			flat_marker(f);
		n = min_t(size_t, len, f->marker - f->p);
		memcpy(f->p, from, n);
		f->p += n;
	}
}

static void flat_begin(struct flat *f, const struct mpa_enc *enc, u8 *p,
		       u32 len)
{
	f->p = p;
	if (marker_leads(enc->pos, enc->markers)) {
		put_unaligned_be32(0, p);
		f->p += MPA_MARKER_SIZE;
	}
	f->fpduptr = marker_first(enc->pos, enc->markers);
	f->marker = f->p + f->fpduptr;
	put_unaligned_be16(len, f->p);
	f->p += MPA_LENGTH_SIZE;
}

static void flat_end(struct flat *f, const struct mpa_enc *enc, const u8 *start,
		     u32 pad)
{
	u32 crc = MPA_CRC_INIT;
	__le32 field;

	if (pad) {
		memset(f->p, 0, pad);
		f->p += pad;
	}
	if (f->p == f->marker)
		flat_marker(f);
	if (enc->crc)
		crc = mpa_crc_update(crc, start, f->p - start);
	field = mpa_crc_field(crc);
	memcpy(f->p, &field, MPA_CRC_SIZE);
}

/* The common case: enc->frag has room for the whole FPDU. */
static int encode_flat(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		       struct iov_iter *data, u32 len, u32 size)
{
	u8 *start = page_address(enc->frag.page) + enc->frag.offset;
	u32 pad = pad_size(hdr_len + len);
	struct flat f;
	const void *p;
	int err;
	u32 n;

	err = layout_append(enc, enc->frag.page, enc->frag.offset, size);
	if (err)
		return err;
	flat_begin(&f, enc, start, hdr_len + len);
	flat_copy(&f, hdr, hdr_len);
	for (; len; len -= n) {
		p = iter_take(data, len, &n);
		flat_copy(&f, p, n);
	}
	flat_end(&f, enc, start, pad);
	enc->frag.offset += size;
	enc->pos += size;
	return 0;
}

/* drop the entries from @nr on, cut the last one left to @last_len octets */
static void enc_truncate(struct mpa_enc *enc, u32 nr, u32 last_len)
{
	while (enc->nr > nr)
		put_page(enc->bv[--enc->nr].bv_page);
	if (nr)
		enc->bv[nr - 1].bv_len = last_len;
}

/**
 * mpa_fpdu_encode - Lay out one FPDU after those already laid out
 * @enc: encoder
 * @hdr: first octets of the ULPDU
 * @hdr_len: octets at @hdr
 * @data: the rest of it; advanced
 * @len: octets to take from @data. @hdr_len + @len is 1 to %MPA_ULPDU_MAX.
 * @zerocopy: @data is an ITER_BVEC, of pages that TCP may hold references to;
 *	take the pages themselves
 *
 * All or nothing: after an error @enc and @data are as they were, except that
 * refill() may have put other memory into @enc->frag.
 *
 * Return: 0; %-ENOBUFS if @enc has too few entries; %-EFAULT if @data has too
 *	few octets; or the error of refill()
 */
int mpa_fpdu_encode(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		    struct iov_iter *data, u32 len, bool zerocopy)
{
	u32 last_len = enc->nr ? enc->bv[enc->nr - 1].bv_len : 0;
	bool leading = marker_leads(enc->pos, enc->markers);
	struct layout l = {
		.enc	= enc,
		.marker	= marker_first(enc->pos, enc->markers),
		.crc	= MPA_CRC_INIT,
	};
	u32 nr = enc->nr;
	size_t count;
	u32 size;
	int err;

	count = len ? iov_iter_count(data) : 0;
	if (count < len)
		return -EFAULT;

	size = mpa_fpdu_size(enc->pos, hdr_len + len, enc->markers);
	if (!zerocopy && enc->frag.page && (!len || mpa_iter_is_flat(data)) &&
	    enc->frag.size - enc->frag.offset >= size)
		return encode_flat(enc, hdr, hdr_len, data, len, size);

	layout_window(&l);
	err = layout_fpdu(&l, leading, hdr, hdr_len, data, len, zerocopy);
	if (unlikely(err)) {
		enc_truncate(enc, nr, last_len);
		enc->frag.offset = l.offset;
		if (len)
			iov_iter_revert(data, count - iov_iter_count(data));
		return err;
	}
	enc->pos += l.done + (leading ? MPA_MARKER_SIZE : 0);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_encode);

/*
 * Add @len octets at @p. If there is an FPDU before, its tail ends at @p, and
 * its last entry grows.
 */
static struct kvec *gather_head(struct mpa_enc *enc, void *p, u32 len)
{
	struct kvec *kv = enc->kv_next;

	if (likely(kv != enc->kv)) {
		kv[-1].iov_len += len;
		return kv;
	}
	kv->iov_base = p;
	kv->iov_len = len;
	return kv + 1;
}

/* Add the ULPDU's octets. Returns NULL if there are too few entries. */
static __always_inline struct kvec *gather_iter(struct mpa_enc *enc,
						struct kvec *kv,
						struct iov_iter *from, u32 len,
						u32 *crc)
{
	u32 left, n;

	/* Mostly the octets are part of one entry. */
	if (likely(iov_iter_is_kvec(from) &&
		   from->kvec->iov_len - from->iov_offset > len)) {
		kv->iov_base = from->kvec->iov_base + from->iov_offset;
		kv->iov_len = len;
		if (enc->crc)
			*crc = mpa_crc_update(*crc, kv->iov_base, len);
		from->iov_offset += len;
		from->count -= len;
		return kv + 1;
	}
	for (left = len; left; left -= n) {
		/* The last entry is for the tail. */
		if (unlikely(kv + 1 >= enc->kv_end)) {
			iov_iter_revert(from, len - left);
			return NULL;
		}
		kv->iov_base = iter_take(from, left, &n);
		kv->iov_len = n;
		if (enc->crc)
			*crc = mpa_crc_update(*crc, kv->iov_base, n);
		if (likely(n))
			kv++;
	}
	return kv;
}

static void gather_tail(struct mpa_enc *enc, struct kvec *kv, u8 *p, u32 pad,
			u32 crc)
{
	__le32 field = 0;

	memset(p, 0, MPA_ALIGN);
	if (enc->crc) {
		if (pad)
			crc = mpa_crc_update(crc, p, pad);
		field = mpa_crc_field(crc);
	}
	memcpy(p + pad, &field, MPA_CRC_SIZE);
	kv->iov_base = p;
	kv->iov_len = pad + MPA_CRC_SIZE;
	enc->kv_next = kv + 1;
	enc->buf = p + pad + MPA_CRC_SIZE;
}

/**
 * mpa_fpdu_gather - List the pieces of an FPDU without markers
 * @enc: encoder
 * @hdr: first octets of the ULPDU, copied
 * @hdr_len: octets at @hdr
 * @data: the rest of it; advanced. The octets stay where they are.
 * @len: octets to take from @data
 *
 * Only for FPDUs that mpa_fpdu_can_gather() allows. All or nothing: after an
 * error @enc and @data are as they were.
 *
 * Return: 0; %-ENOBUFS if @enc has too few entries, or too little memory;
 *	%-EFAULT if @data has too few octets
 */
int mpa_fpdu_gather(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		    struct iov_iter *data, u32 len)
{
	u32 head = MPA_LENGTH_SIZE + hdr_len;
	u32 pad = pad_size(hdr_len + len);
	u32 crc = MPA_CRC_INIT;
	u8 *p = enc->buf;
	struct kvec *kv;

	if (unlikely(iov_iter_count(data) < len))
		return -EFAULT;
	if (enc->buf_end - p < head + MPA_TAIL_MAX ||
	    enc->kv_end - enc->kv_next < MPA_GATHER_MIN)
		return -ENOBUFS;

	put_unaligned_be16(hdr_len + len, p);
	if (hdr_len)
		memcpy(p + MPA_LENGTH_SIZE, hdr, hdr_len);
	if (enc->crc)
		crc = mpa_crc_update(crc, p, head);
	kv = gather_iter(enc, gather_head(enc, p, head), data, len, &crc);
	if (unlikely(!kv)) {
		if (enc->kv_next != enc->kv)
			enc->kv_next[-1].iov_len -= head;
		return -ENOBUFS;
	}
	gather_tail(enc, kv, p + head, pad, crc);
	enc->pos += head + len + pad + MPA_CRC_SIZE;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_gather);

/* A place in octets that may lie in pieces; mostly an FPDU lies in one. */
struct cursor {
	const u8		*p;
	size_t			n;	/* octets left in this piece */
	const struct kvec	*v;	/* this piece; the others follow */
};

static void cursor_init(struct cursor *c, const struct mpa_octets *in)
{
	c->p = in->v->iov_base + in->off;
	c->n = in->v->iov_len - in->off;
	c->v = in->v;
}

/* take octets that lie in one piece: *@n of them, 1 to @want */
static __always_inline const void *cursor_take(struct cursor *c, size_t want,
					       size_t *n)
{
	const u8 *p;

	while (unlikely(!c->n)) {
		c->v++;
		c->p = c->v->iov_base;
		c->n = c->v->iov_len;
	}
	p = c->p;
	*n = min(want, c->n);
	c->p += *n;
	c->n -= *n;
	return p;
}

static noinline const void *cursor_gather(struct cursor *c, void *buf,
					  size_t len)
{
	const void *p;
	size_t done, n;

	for (done = 0; done < len; done += n) {
		p = cursor_take(c, len - done, &n);
		memcpy(buf + done, p, n);
	}
	return buf;
}

/* take @len octets; returns where they are, @buf if not in one piece */
static __always_inline const void *cursor_read(struct cursor *c, void *buf,
					       size_t len)
{
	const void *p = c->p;

	if (unlikely(c->n < len)) {
		/* A copy, so that @c can stay in registers. */
		struct cursor other = *c;

		p = cursor_gather(&other, buf, len);
		*c = other;
		return p;
	}
	c->p += len;
	c->n -= len;
	return p;
}

static __always_inline int decode_bad(struct mpa_dec *dec,
				      enum mpa_reason reason)
{
	dec->reason = reason;
	dec->nr_frags = 0;
	return -EBADMSG;
}

/* @c is by value: the caller's cursor does not move */
static bool decode_crc_ok(const struct mpa_dec *dec, struct cursor c)
{
	size_t left = dec->size - MPA_CRC_SIZE;
	u32 crc = MPA_CRC_INIT;
	__le32 field, buf;
	const void *p;
	size_t n;

	for (; left; left -= n) {
		p = cursor_take(&c, left, &n);
		crc = mpa_crc_update(crc, p, n);
	}
	field = mpa_crc_field(crc);
	p = cursor_read(&c, &buf, sizeof(buf));
	return !memcmp(p, &field, sizeof(field));
}

/* Section 4.3: RESERVED and the low bits of FPDUPTR are ignored. */
static u32 marker_value(const void *marker)
{
	marker += offsetof(struct mpa_marker, fpduptr);
	return get_unaligned_be16(marker) & MPA_FPDUPTR_MASK;
}

/*
 * True if @value counts from the FPDU's leading marker what @fpduptr counts
 * from ULPDU_Length, and this sender may count so.
 */
static noinline bool marker_from_lead(const struct mpa_dec *dec, u32 value,
				      u32 fpduptr)
{
	return dec->from_lead && marker_leads(dec->pos, true) &&
	       value == fpduptr + MPA_MARKER_SIZE;
}

/* True if a marker with @value may stand @fpduptr octets from ULPDU_Length. */
static __always_inline bool marker_ok(const struct mpa_dec *dec, u32 value,
				      u32 fpduptr)
{
	return likely(value == fpduptr) ||
	       marker_from_lead(dec, value, fpduptr);
}

static __always_inline u32 decode_marker(struct cursor *c)
{
	struct mpa_marker marker;

	return marker_value(cursor_read(c, &marker, sizeof(marker)));
}

/*
 * Split the ULPDU into pieces and check the markers between them. Takes all of
 * the FPDU but the CRC.
 */
static __always_inline int decode_pieces(struct mpa_dec *dec, struct cursor *c)
{
	u32 next = marker_first(dec->pos, dec->markers);
	u32 done = MPA_LENGTH_SIZE;
	u32 left = dec->len;
	struct kvec *frag;
	u8 skip[MPA_ALIGN];
	size_t n;

	if (marker_leads(dec->pos, dec->markers) && decode_marker(c))
		return decode_bad(dec, MPA_REASON_MARKER);
	cursor_read(c, skip, MPA_LENGTH_SIZE);

	for (; left; left -= n, done += n) {
		if (done == next) {
			if (!marker_ok(dec, decode_marker(c), next))
				return decode_bad(dec, MPA_REASON_MARKER);
			done += MPA_MARKER_SIZE;
			next += MPA_MARKER_INTERVAL;
		}
		if (dec->nr_frags == dec->max_frags)
			return -ENOBUFS;
		frag = &dec->frag[dec->nr_frags++];
		frag->iov_base = (void *)cursor_take(c, min(left, next - done),
						     &n);
		frag->iov_len = n;
	}

	cursor_read(c, skip, pad_size(dec->len));
	done += pad_size(dec->len);
	if (done == next && !marker_ok(dec, decode_marker(c), next))
		return decode_bad(dec, MPA_REASON_MARKER);
	return 0;
}

/* octets from dec->pos to the end of ULPDU_Length */
static u32 head_size(const struct mpa_dec *dec)
{
	return marker_leads(dec->pos, dec->markers) ? MPA_HEAD_MAX :
						      MPA_LENGTH_SIZE;
}

/* ULPDU_Length: the end of the @size octets at @head */
static u32 head_length(const u8 *head, u32 size)
{
	return get_unaligned_be16(head + size - MPA_LENGTH_SIZE);
}

/* @c is by value: the caller's cursor does not move */
static noinline u32 head_length_spread(struct cursor c, u32 size)
{
	u8 head[MPA_HEAD_MAX];

	return head_length(cursor_gather(&c, head, size), size);
}

static __always_inline int decode_length(struct mpa_dec *dec, u32 len)
{
	dec->len = len;
	if (dec->len < 1 || dec->len > MPA_ULPDU_MAX)
		return decode_bad(dec, MPA_REASON_LENGTH);
	dec->size = mpa_fpdu_size(dec->pos, dec->len, dec->markers);
	return 0;
}

/* decode a whole FPDU that lies in pieces */
static noinline int decode_spread(struct mpa_dec *dec, struct cursor *c)
{
	struct cursor start = *c;
	struct cursor at = *c;
	u8 skip[MPA_CRC_SIZE];
	int err;

	/* Decoded again with more fragments: one CRC pass is enough. */
	err = decode_pieces(dec, &at);
	if (err == -ENOBUFS)
		return err;
	if (dec->crc && !decode_crc_ok(dec, start))
		return decode_bad(dec, MPA_REASON_CRC);
	if (!err)
		cursor_read(&at, skip, MPA_CRC_SIZE);
	*c = at;
	return err;
}

static bool flat_crc_ok(const u8 *p, u32 size)
{
	u32 crc = mpa_crc_update(MPA_CRC_INIT, p, size - MPA_CRC_SIZE);
	__le32 field = mpa_crc_field(crc);

	return !memcmp(p + size - MPA_CRC_SIZE, &field, MPA_CRC_SIZE);
}

/* decode a whole FPDU that lies in one piece, with markers */
static noinline int decode_marked(struct mpa_dec *dec, const u8 *p)
{
	u32 next = marker_first(dec->pos, true);
	const u8 *end = p + dec->size;
	struct kvec *frag = dec->frag;
	struct kvec *frag_end = frag + dec->max_frags;
	bool bad = false;
	const u8 *marker;
	u32 left, n;

	if (marker_leads(dec->pos, true)) {
		bad = marker_value(p);
		p += MPA_MARKER_SIZE;
	}
	marker = p + next;
	p += MPA_LENGTH_SIZE;
	for (left = dec->len; left; left -= n, p += n, frag++) {
		if (p == marker) {
			bad |= !marker_ok(dec, marker_value(p), next);
			p += MPA_MARKER_SIZE;
			marker += MPA_MARKER_INTERVAL;
			next += MPA_MARKER_INTERVAL;
		}
		if (frag == frag_end)
			return -ENOBUFS;
		n = min_t(size_t, left, marker - p);
		frag->iov_base = (void *)p;
		frag->iov_len = n;
	}
	if (p + pad_size(dec->len) == marker)
		bad |= !marker_ok(dec, marker_value(marker), next);

	dec->nr_frags = frag - dec->frag;
	if (dec->crc && !flat_crc_ok(end - dec->size, dec->size))
		return decode_bad(dec, MPA_REASON_CRC);
	return bad ? decode_bad(dec, MPA_REASON_MARKER) : 0;
}

/* decode_marked() with a copy, so that @dec can stay in registers */
static __always_inline int decode_marked_apart(struct mpa_dec *dec, const u8 *p)
{
	struct mpa_dec d = *dec;
	int err = decode_marked(&d, p);

	dec->nr_frags = d.nr_frags;
	dec->reason = d.reason;
	return err;
}

/* decode a whole FPDU that lies in one piece */
static __always_inline int decode_flat(struct mpa_dec *dec, struct cursor *c)
{
	const u8 *p = c->p;

	c->p += dec->size;
	c->n -= dec->size;
	if (dec->markers)
		return decode_marked_apart(dec, p);
	if (unlikely(!dec->max_frags))
		return -ENOBUFS;
	dec->frag->iov_base = (void *)p + MPA_LENGTH_SIZE;
	dec->frag->iov_len = dec->len;
	dec->nr_frags = 1;
	if (dec->crc && !flat_crc_ok(p, dec->size))
		return decode_bad(dec, MPA_REASON_CRC);
	return 0;
}

/* decode_spread() with copies, so that the originals can stay in registers */
static __always_inline int decode_apart(struct mpa_dec *dec, struct cursor *c)
{
	struct mpa_dec d = *dec;
	struct cursor at = *c;
	int err = decode_spread(&d, &at);

	*dec = d;
	*c = at;
	return err;
}

/* as mpa_fpdu_decode(), of @avail octets at @c, from which it takes the FPDU */
static __always_inline int decode_fpdu(struct mpa_dec *dec, struct cursor *c,
				       size_t avail)
{
	u32 len;
	int err;

	dec->nr_frags = 0;
	dec->size = head_size(dec);
	if (avail < dec->size)
		return -EAGAIN;
	len = likely(c->n >= dec->size) ? head_length(c->p, dec->size) :
					  head_length_spread(*c, dec->size);
	err = decode_length(dec, len);
	if (err)
		return err;
	if (avail < dec->size)
		return -EAGAIN;
	if (likely(c->n >= dec->size))
		return decode_flat(dec, c);
	return decode_apart(dec, c);
}

/**
 * mpa_fpdu_decode - Verify one FPDU and find its ULPDU
 * @dec: what is known of the stream, and the results
 * @octets: octets of the stream from @dec->pos on; not changed
 *
 * The pieces of the ULPDU are valid only if 0 is returned: all of the FPDU is
 * there and has been verified. If both are wrong the CRC is reported, not the
 * marker: what a marker says means something only if the CRC is right, or with
 * CRCs off.
 *
 * Return: 0; %-EAGAIN if there are fewer than @dec->size octets; %-EBADMSG for
 *	the @dec->reason; %-ENOBUFS if @dec->max_frags are too few
 */
int mpa_fpdu_decode(struct mpa_dec *dec, const struct mpa_octets *octets)
{
	struct cursor c;

	if (!octets->len) {
		dec->nr_frags = 0;
		dec->size = head_size(dec);
		return -EAGAIN;
	}
	cursor_init(&c, octets);
	return decode_fpdu(dec, &c, octets->len);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_decode);

/**
 * mpa_fpdu_decode_run - Verify FPDUs that follow each other
 * @dec: as for mpa_fpdu_decode(); the results are those of the last FPDU, and
 *	@dec->pos is after the last good one
 * @octets: octets of the stream from @dec->pos on; not changed
 * @limit: stream position where an FPDU is known to begin. An FPDU that ends
 *	past it is bad, even if its CRC and markers are right.
 * @ulpdu: result: the ULPDUs
 * @max: entries of @ulpdu
 * @nr: result: number of ULPDUs
 *
 * Return: 0 if @ulpdu is full, or @limit is reached; otherwise what
 *	mpa_fpdu_decode() returns for the next FPDU
 */
int mpa_fpdu_decode_run(struct mpa_dec *dec, const struct mpa_octets *octets,
			u64 limit, struct mpa_ulpdu *ulpdu, u32 max, u32 *nr)
{
	size_t avail = octets->len;
	struct mpa_dec d = *dec;
	struct cursor c;
	int err = 0;
	u32 n;

	cursor_init(&c, octets);
	for (n = 0; n < max && d.pos < limit; n++, ulpdu++) {
		err = decode_fpdu(&d, &c, avail);
		if (err)
			break;
		if (d.size > limit - d.pos) {
			err = decode_bad(&d, MPA_REASON_MARKER);
			break;
		}
		ulpdu->pos = d.pos;
		ulpdu->len = d.len;
		ulpdu->nr_frags = d.nr_frags;
		ulpdu->frag = d.frag;
		d.frag += d.nr_frags;
		d.max_frags -= d.nr_frags;
		d.pos += d.size;
		avail -= d.size;
	}
	*dec = d;
	*nr = n;
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_decode_run);

/**
 * mpa_fpdu_peek - Find out how long an FPDU is, and whether it is whole
 * @dec: position and markers; gets length and size
 * @src: octets of the stream
 * @limit: stream position where an FPDU is known to begin. An FPDU that ends
 *	past it is bad, and its octets are not looked for.
 *
 * Return: 0; %-EAGAIN if there are fewer than @dec->size octets; %-EBADMSG for
 *	the @dec->reason
 */
int mpa_fpdu_peek(struct mpa_dec *dec, struct mpa_source *src, u64 limit)
{
	u8 head[MPA_HEAD_MAX];
	int err;

	dec->nr_frags = 0;
	dec->size = head_size(dec);
	if (dec->size > limit - dec->pos)
		return decode_bad(dec, MPA_REASON_MARKER);
	if (src->have(src, dec->pos, dec->size) < dec->size)
		return -EAGAIN;
	src->read(src, dec->pos, head, dec->size);
	err = decode_length(dec, head_length(head, dec->size));
	if (err)
		return err;
	if (dec->size > limit - dec->pos)
		return decode_bad(dec, MPA_REASON_MARKER);
	return src->have(src, dec->pos, dec->size) < dec->size ? -EAGAIN : 0;
}

/**
 * mpa_marker_read - Read a marker
 * @src: octets of the stream, with all those of the marker
 * @pos: stream position of the marker
 *
 * Return: FPDUPTR with its two low bits cleared
 */
u32 mpa_marker_read(struct mpa_source *src, u64 pos)
{
	struct mpa_marker marker;

	src->read(src, pos, &marker, sizeof(marker));
	return marker_value(&marker);
}

/**
 * mpa_fpdu_check_markers - Check the markers of an FPDU, and nothing else
 * @dec: results of mpa_fpdu_peek() for a whole FPDU
 * @src: octets of the stream
 *
 * Return: 0, or %-EBADMSG with @dec->reason
 */
int mpa_fpdu_check_markers(struct mpa_dec *dec, struct mpa_source *src)
{
	u32 lead = head_size(dec) - MPA_LENGTH_SIZE;
	u64 length_pos = dec->pos + lead;
	u32 next;

	if (lead && mpa_marker_read(src, dec->pos))
		return decode_bad(dec, MPA_REASON_MARKER);
	for (next = marker_first(dec->pos, dec->markers);
	     next < dec->size - lead; next += MPA_MARKER_INTERVAL)
		if (!marker_ok(dec, mpa_marker_read(src, length_pos + next),
			       next))
			return decode_bad(dec, MPA_REASON_MARKER);
	return 0;
}
