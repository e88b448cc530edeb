// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Decoding and checking FPDUs. RFC 5044 sections 4 and 5. */
#include <kunit/visibility.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/unaligned.h>
#include "mpa_fpdu.h"
#include "mpa_wire.h"

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
	return dec->from_lead && mpa_marker_leads(dec->pos, true) &&
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
	u32 next = mpa_marker_first(dec->pos, dec->markers);
	u32 done = MPA_LENGTH_SIZE;
	u32 left = dec->len;
	struct kvec *frag;
	u8 skip[MPA_ALIGN];
	size_t n;

	if (mpa_marker_leads(dec->pos, dec->markers) && decode_marker(c))
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

	cursor_read(c, skip, mpa_pad_size(dec->len));
	done += mpa_pad_size(dec->len);
	if (done == next && !marker_ok(dec, decode_marker(c), next))
		return decode_bad(dec, MPA_REASON_MARKER);
	return 0;
}

/* octets from dec->pos to the end of ULPDU_Length */
static u32 head_size(const struct mpa_dec *dec)
{
	return mpa_marker_leads(dec->pos, dec->markers) ? MPA_HEAD_MAX :
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
	u32 next = mpa_marker_first(dec->pos, true);
	const u8 *end = p + dec->size;
	struct kvec *frag = dec->frag;
	struct kvec *frag_end = frag + dec->max_frags;
	bool bad = false;
	const u8 *marker;
	u32 left, n;

	if (mpa_marker_leads(dec->pos, true)) {
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
	if (p + mpa_pad_size(dec->len) == marker)
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
int mpa_fpdu_peek(struct mpa_dec *dec, struct mpa_stream *src, u64 limit)
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
u32 mpa_marker_read(struct mpa_stream *src, u64 pos)
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
int mpa_fpdu_check_markers(struct mpa_dec *dec, struct mpa_stream *src)
{
	u32 lead = head_size(dec) - MPA_LENGTH_SIZE;
	u64 length_pos = dec->pos + lead;
	u32 next;

	if (lead && mpa_marker_read(src, dec->pos))
		return decode_bad(dec, MPA_REASON_MARKER);
	for (next = mpa_marker_first(dec->pos, dec->markers);
	     next < dec->size - lead; next += MPA_MARKER_INTERVAL)
		if (!marker_ok(dec, mpa_marker_read(src, length_pos + next),
			       next))
			return decode_bad(dec, MPA_REASON_MARKER);
	return 0;
}
