// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs for TCP: laid out in pages, or gathered from where their octets are.
 * RFC 5044 section 4.
 */
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/bvec.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/unaligned.h>
#include "mpa_fpdu.h"
#include "mpa_wire.h"

/* Most octets of framing that are laid out in one piece, after the ULPDU */
#define MPA_TAIL_MAX	(MPA_ALIGN + MPA_MARKER_SIZE + MPA_CRC_SIZE)

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

static __always_inline void layout_window(struct layout *l)
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

/* CR-15 to CR-17: from the leading marker, if any, to the pad. */
static void layout_sum(struct layout *l, const void *data, u32 len)
{
	if (l->enc->crc && len)
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

/* MK-02, MK-04: reserved bits are zero, FPDUPTR counts from ULPDU_Length. */
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
 * Append up to @len octets of @from, none past the end of the entry that it
 * stands at, which may span several contiguous pages. Returns how many, or an
 * error.
 */
static __always_inline int layout_entry(struct layout *l, struct iov_iter *from,
					u32 len)
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
	len = min_t(size_t, len, from->bvec->bv_len - from->iov_offset);

	err = layout_append(l->enc, page, offset, len);
	if (err)
		return err;
	layout_sum(l, page_address(page) + offset, len);
	mpa_iter_step(from, len);
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
		n = layout_entry(l, from, min(len, l->marker - l->done));
		if (n < 0)
			return n;
	}
	return 0;
}

/* FR-05, CR-13: a pad of zero, and a CRC field in any case. */
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

	/* One fragment of the skb for both */
	err = zerocopy && hdr_len <= MPA_HDR_WHOLE ?
	      layout_reserve(l, MPA_HEAD_MAX + hdr_len) : 0;
	if (!err)
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
	return layout_tail(l, mpa_pad_size(hdr_len + len));
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

/* Octets from @f->p to the next marker */
static __always_inline size_t flat_room(const struct flat *f)
{
	return f->marker - f->p;
}

/* A marker is written when an octet follows it, or by flat_end(). */
static __always_inline void flat_copy(struct flat *f, const void *from, u32 len)
{
	size_t left = len, room;

	for (; left > flat_room(f); left -= room, from += room) {
		room = flat_room(f);
		memcpy(f->p, from, room);
		f->p += room;
		flat_marker(f);
	}
	memcpy(f->p, from, left);
	f->p += left;
}

/* Copy the header of @cut, to an FPDU that is longer than cut->hdr. */
static __always_inline void flat_copy_cut(struct flat *f,
					  const struct mpa_cut *cut)
{
	if (unlikely(flat_room(f) < cut->hdr_len)) {
		flat_copy(f, cut->hdr, cut->hdr_len);
		return;
	}
	/*
	 * A constant length, so that no function is called. Octets after
	 * hdr_len are old memory: the ULPDU, a marker or the CRC overwrites
	 * them.
	 */
	memcpy(f->p, cut->hdr, MPA_TEMPLATE_HDR);
	f->p += cut->hdr_len;
}

static __always_inline void flat_copy_iter(struct flat *f,
					   struct iov_iter *from, u32 len)
{
	const void *p;
	u32 n;

	for (; len; len -= n) {
		p = iter_take(from, len, &n);
		flat_copy(f, p, n);
	}
}

static __always_inline void flat_begin(struct flat *f, u64 pos, bool markers,
				       u8 *p, u32 len)
{
	f->p = p;
	if (mpa_marker_leads(pos, markers)) {
		put_unaligned_be32(0, p);
		f->p += MPA_MARKER_SIZE;
	}
	f->fpduptr = mpa_marker_first(pos, markers);
	f->marker = f->p + f->fpduptr;
	put_unaligned_be16(len, f->p);
	f->p += MPA_LENGTH_SIZE;
}

/* As layout_tail() */
static __always_inline void flat_end(struct flat *f, bool with_crc,
				     const u8 *start, u32 pad)
{
	u32 crc = MPA_CRC_INIT;
	__le32 field;

	if (pad) {
		memset(f->p, 0, pad);
		f->p += pad;
	}
	if (f->p == f->marker)
		flat_marker(f);
	if (with_crc)
		crc = mpa_crc_update(crc, start, f->p - start);
	field = mpa_crc_field(crc);
	memcpy(f->p, &field, MPA_CRC_SIZE);
}

/* Copy a whole FPDU to @start. */
static __always_inline void flat_fpdu(const struct mpa_enc *enc, u8 *start,
				      const void *hdr, u32 hdr_len,
				      struct iov_iter *data, u32 len)
{
	struct flat f;

	flat_begin(&f, enc->pos, enc->markers, start, hdr_len + len);
	flat_copy(&f, hdr, hdr_len);
	flat_copy_iter(&f, data, len);
	flat_end(&f, enc->crc, start, mpa_pad_size(hdr_len + len));
}

/* The common case: enc->frag has room for the whole FPDU. */
static int encode_flat(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		       struct iov_iter *data, u32 len, u32 size)
{
	u8 *start = page_address(enc->frag.page) + enc->frag.offset;
	int err;

	err = layout_append(enc, enc->frag.page, enc->frag.offset, size);
	if (err)
		return err;
	flat_fpdu(enc, start, hdr, hdr_len, data, len);
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
	bool leading = mpa_marker_leads(enc->pos, enc->markers);
	struct layout l = {
		.enc	= enc,
		.marker	= mpa_marker_first(enc->pos, enc->markers),
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

/**
 * mpa_fpdu_encode_run - Lay out FPDUs of one length, cut from a message
 * @enc: encoder
 * @cut: header of their ULPDUs; its counter is advanced
 * @data: their octets, which mpa_iter_is_flat(); advanced
 * @left: octets of @data; the last one is not taken
 * @size: length of each FPDU
 * @nr: most FPDUs
 *
 * Return: the number of FPDUs laid out, less than @nr if @left is reached, if
 *	the next FPDU cannot have that length, or if mpa_fpdu_encode() has to
 *	lay it out, for lack of room in @enc->frag
 */
u32 mpa_fpdu_encode_run(struct mpa_enc *enc, struct mpa_cut *cut,
			struct iov_iter *data, u32 left, u32 size, u32 nr)
{
	/* Not read again for each FPDU, as after writing to the frag */
	const bool markers = enc->markers, crc = enc->crc;
	struct page_frag *frag = &enc->frag;
	u64 pos = enc->pos;
	struct flat f;
	u32 n, len;
	u8 *start;

	if (!frag->page || enc->nr == enc->max)
		return 0;
	nr = min(nr, (frag->size - frag->offset) / size);
	start = page_address(frag->page) + frag->offset;
	for (n = 0; n < nr; n++, start += size, pos += size) {
		len = mpa_fpdu_exact(pos, size, markers);
		if (!len || len - cut->hdr_len >= left)
			break;
		flat_begin(&f, pos, markers, start, len);
		mpa_cut_count(cut, cut->hdr);
		flat_copy_cut(&f, cut);
		len -= cut->hdr_len;
		flat_copy_iter(&f, data, len);
		/* Without a pad, since it fills @size */
		flat_end(&f, crc, start, 0);
		cut->count += len;
		left -= len;
	}
	enc->pos = pos;
	/* There is an entry for them. */
	if (n)
		layout_append(enc, frag->page, frag->offset, n * size);
	frag->offset += n * size;
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_encode_run);

/**
 * mpa_iter_entries() - Count the entries that some octets are in
 * @iter: where they are
 * @len: octets, from where @iter stands
 *
 * Return: the number; 0 if they are not in pages (ITER_BVEC), if a page of them
 *	must not be given to TCP (slab), or if there are too many for an skb
 */
u32 mpa_iter_entries(const struct iov_iter *iter, u32 len)
{
	const struct bio_vec *bv = iter->bvec;
	size_t skip = iter->iov_offset;
	u32 n, nr = 0;

	if (!iov_iter_is_bvec(iter))
		return 0;
	for (; len; bv++, skip = 0) {
		n = min_t(size_t, len, bv->bv_len - skip);
		if (!n)
			continue;
		if (nr == MAX_SKB_FRAGS ||
		    !sendpages_ok(bv->bv_page, n, bv->bv_offset + skip))
			return 0;
		nr++;
		len -= n;
	}
	return nr;
}

/**
 * mpa_fpdu_pages_run - Lay out FPDUs of one length in the pages of a message
 * @enc: encoder, without markers
 * @cut: header of their ULPDUs; its counter is advanced
 * @data: their octets, as for mpa_fpdu_encode() with zero copy; advanced. It
 *	has as many as are asked for.
 * @len: octets to take from @data for each, so many that none has a pad
 * @nr: number of FPDUs
 * @max: entries that @enc may have in use afterwards, if there are so many
 *
 * As mpa_fpdu_encode() for each FPDU.
 *
 * Return: the number of FPDUs laid out, less than @nr if the next one might
 *	exceed @max or has a page that TCP must not be given, or if
 *	mpa_fpdu_encode() has to lay it out, for lack of room in @enc->frag
 */
u32 mpa_fpdu_pages_run(struct mpa_enc *enc, struct mpa_cut *cut,
		       struct iov_iter *data, u32 len, u32 nr, u32 max)
{
	u32 head = MPA_LENGTH_SIZE + cut->hdr_len;
	struct layout l = { .enc = enc };
	u32 n, frags, left;
	__le32 field;

	layout_window(&l);
	max = min_t(u32, max, enc->max);
	/* Each header is copied as if it were the longest. */
	nr = min_t(size_t, nr, (l.end - l.p) / (MPA_CUT_HEAD + MPA_CRC_SIZE));
	for (n = 0; n < nr; n++) {
		frags = mpa_iter_entries(data, len);
		if (!frags || enc->nr + frags + MPA_FRAMING_FRAGS > max)
			break;
		put_unaligned_be16(cut->hdr_len + len, l.p);
		/* Octets after hdr_len are overwritten, or TCP gets none. */
		memcpy(l.p + MPA_LENGTH_SIZE, cut->hdr, MPA_TEMPLATE_HDR);
		mpa_cut_count(cut, l.p + MPA_LENGTH_SIZE);
		l.crc = MPA_CRC_INIT;
		layout_sum(&l, l.p, head);
		l.p += head;
		/*
		 * The CRC field before it, too: one entry for both. This and
		 * what follows cannot fail, as there are entries left.
		 */
		layout_commit(&l);
		for (left = len; left; left -= layout_entry(&l, data, left))
			;
		field = mpa_crc_field(l.crc);
		memcpy(l.p, &field, MPA_CRC_SIZE);
		l.p += MPA_CRC_SIZE;
		cut->count += len;
	}
	if (n)
		layout_commit(&l);
	enc->pos += n * (head + len + MPA_CRC_SIZE);
	return n;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_pages_run);

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

/* Lay out the tail at @p, with @kv for it. Returns where it ends. */
static __always_inline u8 *gather_tail(const struct mpa_enc *enc,
				       struct kvec *kv, u8 *p, u32 pad, u32 crc)
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
	return p + pad + MPA_CRC_SIZE;
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
	u32 pad = mpa_pad_size(hdr_len + len);
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
	enc->buf = gather_tail(enc, kv, p + head, pad, crc);
	enc->kv_next = kv + 1;
	enc->pos += head + len + pad + MPA_CRC_SIZE;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_gather);

/*
 * How many FPDUs gather_run() can list, at most @nr: as there is room for, and
 * as have their @len octets in the entry where @data stands.
 */
static u32 gather_run_max(const struct mpa_enc *enc,
			  const struct iov_iter *data, u32 len, u32 nr)
{
	/* The first FPDU of a train needs an entry for its head. */
	u32 entries = enc->kv_end - enc->kv_next - (enc->kv_next == enc->kv);
	u32 octets = enc->buf_end - enc->buf;
	size_t left;

	left = iov_iter_is_kvec(data) ? data->kvec->iov_len :
					data->bvec->bv_len;
	left -= data->iov_offset;
	nr = min3(nr, entries / 2, octets / (MPA_CUT_HEAD + MPA_CRC_SIZE));
	return min_t(size_t, nr, left / len);
}

/*
 * Write the CRC fields of the FPDUs from @kv to @end: two entries for each, its
 * data, and its field with the next one's head. @same octets of each head are
 * those of the first: the CRC of the others is quick if they are a multiple of
 * eight.
 */
static void gather_sum(const struct kvec *kv, const struct kvec *end, u32 head,
		       u32 same)
{
	u32 crc_same = mpa_crc_update(MPA_CRC_INIT, kv[1].iov_base - head,
				      same);
	__le32 field;
	u32 crc;
	u8 *p;

	for (; kv < end; kv += 2) {
		p = kv[1].iov_base;
		crc = mpa_crc_update(crc_same, p - head + same, head - same);
		crc = mpa_crc_update(crc, kv->iov_base, kv->iov_len);
		field = mpa_crc_field(crc);
		memcpy(p, &field, MPA_CRC_SIZE);
	}
}

/*
 * List @nr FPDUs without a pad, of which each has @len octets of data, from
 * @from on.
 */
static void gather_run(struct mpa_enc *enc, struct mpa_cut *cut,
		       const void *from, u32 len, u32 nr)
{
	/* Copies: after writing to the buffer they would be read again. */
	const struct mpa_template template = *cut->template;
	u32 differ = ALIGN(cut->hdr_len - template.count_at, 8U);
	u32 head = MPA_LENGTH_SIZE + cut->hdr_len;
	struct kvec *begin = gather_head(enc, enc->buf, head);
	struct kvec *kv = begin, *end = begin + 2 * nr;
	u32 size = head + MPA_CRC_SIZE;
	u8 first[MPA_CUT_HEAD];
	u64 count = cut->count;
	u8 *p = enc->buf;

	put_unaligned_be16(cut->hdr_len + len, first);
	memcpy(first + MPA_LENGTH_SIZE, cut->hdr, MPA_TEMPLATE_HDR);
	for (; kv < end; kv += 2, from += len, p += size, count += len) {
		/*
		 * Constant lengths, so that no function is called. Octets after
		 * @head are overwritten, or TCP gets none.
		 */
		memcpy(p, first, MPA_CUT_HEAD);
		mpa_template_put(&template, p + MPA_LENGTH_SIZE, count);
		memset(p + head, 0, MPA_CRC_SIZE);
		kv[0] = (struct kvec) { (void *)from, len };
		kv[1] = (struct kvec) { p + head, size };
	}
	kv[-1].iov_len -= head;		/* No head follows the last field. */
	if (enc->crc)
		gather_sum(begin, end, head, head - min(head, differ));
	cut->count = count;
	enc->pos += nr * (size + len);
	enc->kv_next = kv;
	enc->buf = p;
}

/**
 * mpa_fpdu_gather_run - List the pieces of FPDUs of one length, cut likewise
 * @enc: encoder
 * @cut: header of their ULPDUs; its counter is advanced
 * @data: their octets; advanced. It has as many as are asked for.
 * @len: octets to take from @data for each, so many that none has a pad
 * @nr: number of FPDUs
 *
 * As mpa_fpdu_gather() for each FPDU.
 *
 * Return: the number of FPDUs listed, less than @nr if @enc has too few entries
 *	or too little memory
 */
u32 mpa_fpdu_gather_run(struct mpa_enc *enc, struct mpa_cut *cut,
			struct iov_iter *data, u32 len, u32 nr)
{
	u32 done, n, taken;
	const void *from;

	for (done = 0; done < nr; done += n) {
		n = gather_run_max(enc, data, len, nr - done);
		if (likely(n)) {
			from = iter_take(data, n * len, &taken);
			gather_run(enc, cut, from, len, n);
			continue;
		}
		mpa_cut_count(cut, cut->hdr);
		if (mpa_fpdu_gather(enc, cut->hdr, cut->hdr_len, data, len))
			break;
		cut->count += len;
		n = 1;
	}
	return done;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_gather_run);

/**
 * mpa_fpdu_copy - Copy an FPDU to the encoder's own memory
 * @enc: encoder
 * @hdr: first octets of the ULPDU
 * @hdr_len: octets at @hdr
 * @data: the rest of it, which mpa_iter_is_flat(); advanced
 * @len: octets to take from @data
 *
 * For a short FPDU that is gathered: it becomes one piece, also with markers,
 * and what changes at @data afterwards cannot make its CRC wrong. All or
 * nothing, as mpa_fpdu_gather().
 *
 * Return: 0; %-ENOBUFS if @enc has too few entries, or too little memory;
 *	%-EFAULT if @data has too few octets
 */
int mpa_fpdu_copy(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		  struct iov_iter *data, u32 len)
{
	u32 size = mpa_fpdu_size(enc->pos, hdr_len + len, enc->markers);
	u8 *start = enc->buf;

	if (len && unlikely(iov_iter_count(data) < len))
		return -EFAULT;
	if (enc->buf_end - start < size || enc->kv_next == enc->kv_end)
		return -ENOBUFS;
	flat_fpdu(enc, start, hdr, hdr_len, data, len);
	enc->kv_next = gather_head(enc, start, size);
	enc->buf += size;
	enc->pos += size;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_copy);
