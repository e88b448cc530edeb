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

/* go to the next octet, which exists */
static __always_inline void cursor_next(struct cursor *c)
{
	while (unlikely(!c->n)) {
		c->v++;
		c->p = c->v->iov_base;
		c->n = c->v->iov_len;
	}
}

/* take octets that lie in one piece: *@n of them, 1 to @want */
static const void *cursor_take(struct cursor *c, size_t want, size_t *n)
{
	const u8 *p;

	cursor_next(c);
	p = c->p;
	*n = min(want, c->n);
	c->p += *n;
	c->n -= *n;
	return p;
}

/* copy @len octets that do not lie in one piece to @buf; returns that */
static noinline const void *cursor_copy(struct cursor *c, void *buf,
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

	if (unlikely(c->n < len))
		return cursor_copy(c, buf, len);
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

/* The FPDU is good: @ulpdu gets its ULPDU, and @dec is after it. */
static __always_inline void decode_done(struct mpa_dec *dec,
					struct mpa_ulpdu *ulpdu)
{
	ulpdu->pos = dec->pos;
	ulpdu->len = dec->len;
	ulpdu->nr_frags = dec->nr_frags;
	ulpdu->frag = dec->frag;
	dec->frag += dec->nr_frags;
	dec->max_frags -= dec->nr_frags;
	dec->pos += dec->size;
}

/*
 * CR-19: the CRC covers what the sender sums, including a pad that is not zero
 * (FR-06). @c is by value: the caller's cursor does not move.
 */
static bool decode_crc_ok(const struct mpa_dec *dec, struct cursor c)
{
	size_t left = dec->size;
	u32 crc = MPA_CRC_INIT;
	const void *p;
	size_t n;

	for (; left; left -= n) {
		p = cursor_take(&c, left, &n);
		crc = mpa_crc_update(crc, p, n);
	}
	return crc == MPA_CRC_RESIDUE;
}

/* MK-03, MK-06: RESERVED and the low bits of FPDUPTR are ignored. */
static u32 marker_value(const void *marker)
{
	marker += offsetof(struct mpa_marker, fpduptr);
	return get_unaligned_be16(marker) & MPA_FPDUPTR_MASK;
}

/*
 * True if a marker with @value may stand @fpduptr octets from ULPDU_Length.
 * Some senders count from the FPDU's leading marker.
 */
static __always_inline bool marker_ok(const struct mpa_dec *dec, u32 value,
				      u32 fpduptr)
{
	return likely(value == fpduptr) ||
	       (dec->from_lead && mpa_marker_leads(dec->pos, true) &&
		value == fpduptr + MPA_MARKER_SIZE);
}

static u32 decode_marker(struct cursor *c)
{
	struct mpa_marker marker;

	return marker_value(cursor_read(c, &marker, sizeof(marker)));
}

/*
 * Split the ULPDU into pieces and check the markers between them. Takes all of
 * the FPDU but the CRC.
 */
static int decode_ulpdu(struct mpa_dec *dec, struct cursor *c)
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

/* As head_length(). @c is by value: the caller's cursor does not move. */
static u32 head_read(struct cursor c, u32 size)
{
	u8 head[MPA_HEAD_MAX];

	return head_length(cursor_read(&c, head, size), size);
}

static __always_inline int decode_length(struct mpa_dec *dec, u32 len)
{
	dec->len = len;
	if (dec->len < 1 || dec->len > MPA_ULPDU_MAX)
		return decode_bad(dec, MPA_REASON_LENGTH);
	dec->size = mpa_fpdu_size(dec->pos, dec->len, dec->markers);
	return 0;
}

/* decode a whole FPDU that may lie in pieces */
static int decode_pieces(struct mpa_dec *dec, struct cursor *c)
{
	struct cursor start = *c;
	struct cursor at = *c;
	u8 skip[MPA_CRC_SIZE];
	int err;

	/* Decoded again with more fragments: one CRC pass is enough. */
	err = decode_ulpdu(dec, &at);
	if (err == -ENOBUFS)
		return err;
	if (dec->crc && !decode_crc_ok(dec, start))
		return decode_bad(dec, MPA_REASON_CRC);
	if (!err)
		cursor_read(&at, skip, MPA_CRC_SIZE);
	*c = at;
	return err;
}

/*
 * Find the ULPDU of a whole FPDU at @p, in one piece, with markers. Returns
 * false if a marker is bad, or dec->frag may be too short.
 */
static __always_inline bool flat_marked(struct mpa_dec *dec, const u8 *p)
{
	u32 next = mpa_marker_first(dec->pos, true);
	u32 n = min(dec->len, next - MPA_LENGTH_SIZE);
	struct kvec *frag = dec->frag;
	u32 left = dec->len;
	const u8 *begin;

	if (dec->max_frags < 2 + dec->size / MPA_MARKER_INTERVAL)
		return false;
	if (mpa_marker_leads(dec->pos, true)) {
		if (marker_value(p))
			return false;
		p += MPA_MARKER_SIZE;
	}
	begin = p;
	for (p += MPA_LENGTH_SIZE; ; p += MPA_MARKER_SIZE) {
		frag->iov_base = (void *)p;
		frag->iov_len = n;
		frag++;
		p += n;
		left -= n;
		if (!left)
			break;
		if (!marker_ok(dec, marker_value(p), next))
			return false;
		next += MPA_MARKER_INTERVAL;
		n = min_t(u32, left, MPA_MARKER_PAYLOAD);
	}
	dec->nr_frags = frag - dec->frag;
	p += mpa_pad_size(dec->len);
	return p != begin + next || marker_ok(dec, marker_value(p), next);
}

/* As flat_marked(), without markers. The caller has a fragment for each. */
static __always_inline bool flat_unmarked(struct mpa_dec *dec, const u8 *p)
{
	dec->frag->iov_base = (void *)p + MPA_LENGTH_SIZE;
	dec->frag->iov_len = dec->len;
	dec->nr_frags = 1;
	return true;
}

/* As decode_crc_ok() */
static bool flat_crc_ok(const u8 *p, u32 size)
{
	return mpa_crc_update(MPA_CRC_INIT, p, size) == MPA_CRC_RESIDUE;
}

/*
 * True if there is a good FPDU in the @left octets at @p. Gives the reason if
 * only the CRC is wrong.
 */
static __always_inline bool flat_fpdu(struct mpa_dec *dec, const u8 *p,
				      size_t left)
{
	const size_t head = head_size(dec);

	if (left < head || decode_length(dec, head_length(p, head)) ||
	    left < dec->size)
		return false;
	if (!(dec->markers ? flat_marked(dec, p) : flat_unmarked(dec, p)))
		return false;
	if (likely(!dec->crc || flat_crc_ok(p, dec->size)))
		return true;
	decode_bad(dec, MPA_REASON_CRC);
	return false;
}

/*
 * Decode FPDUs that are whole in one piece, as most are. Stops before one that
 * is not, or is bad, or ends past @limit: decode_fpdu() finds out which. If
 * only its CRC is wrong, @dec says so already: a peer could have each summed
 * twice otherwise. @markers is a constant, so that both variants have their
 * state in registers. For the same reason results are written to @dec one by
 * one at the end: a new one must be, too.
 */
static __always_inline u32 flat_run(struct mpa_dec *dec, struct cursor *c,
				    u64 limit, struct mpa_ulpdu *ulpdu,
				    u32 max, const bool markers)
{
	size_t left = min_t(u64, c->n, limit - dec->pos);
	struct mpa_dec d = *dec;
	const u8 *p = c->p;
	u32 n;

	d.markers = markers;
	d.reason = 0;
	/* Without markers each ULPDU is one fragment. */
	if (!markers)
		max = min(max, d.max_frags);
	for (n = 0; n < max && flat_fpdu(&d, p, left); n++) {
		decode_done(&d, ulpdu++);
		p += d.size;
		left -= d.size;
	}
	c->n -= p - c->p;
	c->p = p;
	dec->pos = d.pos;
	dec->frag = d.frag;
	dec->max_frags = d.max_frags;
	dec->reason = d.reason;
	if (unlikely(d.reason)) {
		dec->nr_frags = 0;
		dec->len = d.len;
		dec->size = d.size;
	}
	return n;
}

static noinline u32
flat_run_unmarked(struct mpa_dec *dec, struct cursor *c, u64 limit,
		  struct mpa_ulpdu *ulpdu, u32 max)
{
	return flat_run(dec, c, limit, ulpdu, max, false);
}

static noinline u32 flat_run_marked(struct mpa_dec *dec, struct cursor *c,
				    u64 limit, struct mpa_ulpdu *ulpdu, u32 max)
{
	return flat_run(dec, c, limit, ulpdu, max, true);
}

/* no octet of the next FPDU is there */
static int decode_none(struct mpa_dec *dec)
{
	dec->nr_frags = 0;
	dec->size = head_size(dec);
	return -EAGAIN;
}

/* as mpa_fpdu_decode(), of @avail octets at @c, from which it takes the FPDU */
static int decode_fpdu(struct mpa_dec *dec, struct cursor *c, size_t avail)
{
	int err;

	dec->nr_frags = 0;
	dec->size = head_size(dec);
	if (avail < dec->size)
		return -EAGAIN;
	err = decode_length(dec, head_read(*c, dec->size));
	if (err)
		return err;
	if (avail < dec->size)
		return -EAGAIN;
	return decode_pieces(dec, c);
}

/* As decode_fpdu(), where an FPDU that ends past @limit is bad */
static int decode_next(struct mpa_dec *dec, struct cursor *c, size_t avail,
		       u64 limit, struct mpa_ulpdu *ulpdu)
{
	int err = decode_fpdu(dec, c, avail);

	if (err)
		return err;
	if (dec->size > limit - dec->pos)
		return decode_bad(dec, MPA_REASON_MARKER);
	decode_done(dec, ulpdu);
	return 0;
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

	if (!octets->len)
		return decode_none(dec);
	cursor_init(&c, octets);
	return decode_fpdu(dec, &c, octets->len);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_fpdu_decode);

/**
 * mpa_fpdu_decode_run - Verify FPDUs that follow each other
 * @dec: as for mpa_fpdu_decode(); with an error the results are those of the
 *	FPDU that has it. @dec->pos is after the last good one.
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
	const u64 end = dec->pos + octets->len;
	struct cursor c;
	u32 n = 0, flat;
	int err = 0;

	cursor_init(&c, octets);
	while (!err && n < max && dec->pos < limit) {
		if (dec->pos == end) {
			err = decode_none(dec);
			break;
		}
		cursor_next(&c);
		flat = dec->markers ?
			flat_run_marked(dec, &c, limit, ulpdu + n, max - n) :
			flat_run_unmarked(dec, &c, limit, ulpdu + n, max - n);
		n += flat;
		if (dec->reason == MPA_REASON_CRC) {
			err = -EBADMSG;
		} else if (!flat) {
			err = decode_next(dec, &c, end - dec->pos, limit,
					  ulpdu + n);
			n += !err;
		}
	}
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
