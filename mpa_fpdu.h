/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * FPDUs as pure functions: no socket, no lock, no connection.
 *
 * A stream position counts octets of one direction from the first octet of
 * full operation; markers stand where it is a multiple of 512.
 */
#ifndef _MPA_FPDU_H
#define _MPA_FPDU_H

#include <asm/byteorder.h>
#include <linux/align.h>
#include <linux/bvec.h>
#include <linux/math.h>
#include <linux/mm_types.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/unaligned.h>
#include <net/mpa.h>
#include "mpa_compat.h"
#include "mpa_wire.h"

/* mpa_crc.c APIs: */
extern struct mpa_crc32c mpa_crc;
int mpa_crc_init(void);
void mpa_crc_exit(void);

#define MPA_CRC_INIT	(~0U)

/**
 * mpa_crc_update() - Add octets to a CRC
 * @crc: state after the octets before, %MPA_CRC_INIT if there are none
 * @data: the octets
 * @len: number of octets
 *
 * Return: the new state, not yet inverted
 */
static inline u32 mpa_crc_update(u32 crc, const void *data, size_t len)
{
	return mpa_crc32c(&mpa_crc, crc, data, len);
}

/**
 * mpa_crc_field() - Finish a CRC
 * @crc: state that mpa_crc_update() returned last
 *
 * Return: the CRC field as it stands on the wire, least significant octet
 *	first
 */
static inline __le32 mpa_crc_field(u32 crc)
{
	return cpu_to_le32(~crc);
}

/* State after any octets and their CRC field, if that is right */
#define MPA_CRC_RESIDUE	0xb798b438

/*
 * Offsets in an FPDU count from the first octet of ULPDU_Length, as FPDUPTR
 * does; a leading marker is before it and not counted. FPDUs and markers begin
 * at multiples of four, so a marker never splits ULPDU_Length, PAD or CRC.
 */
enum {
	MPA_ALIGN	= 4,
	/* most octets of framing before the ULPDU */
	MPA_HEAD_MAX	= MPA_MARKER_SIZE + MPA_LENGTH_SIZE,
	/* least room for copies that mpa_enc.refill() makes for TCP */
	MPA_REFILL_MIN	= 64,
	/* longest header that is one piece with the framing, with zero copy */
	MPA_HDR_WHOLE	= MPA_REFILL_MIN - MPA_HEAD_MAX,
	/* entries for the header, and for the CRC, around pages */
	MPA_FRAMING_FRAGS = 2,
};

#define MPA_NO_MARKER	U32_MAX

/* Octets from @pos to the next marker, 0 if one stands at @pos (MK-09) */
static inline u32 mpa_marker_distance(u64 pos)
{
	return -pos & (MPA_MARKER_INTERVAL - 1);
}

/* Markers from @pos to @end, less than 4 GB apart */
static inline u32 mpa_marker_count(u64 pos, u64 end)
{
	return (end + MPA_MARKER_INTERVAL - 1) / MPA_MARKER_INTERVAL -
	       (pos + MPA_MARKER_INTERVAL - 1) / MPA_MARKER_INTERVAL;
}

/* True if a marker stands before ULPDU_Length, and belongs to it (MK-13). */
static inline bool mpa_marker_leads(u64 pos, bool markers)
{
	return markers && !mpa_marker_distance(pos);
}

/* Offset from ULPDU_Length of the first marker that is not a leading one */
static inline u32 mpa_marker_first(u64 pos, bool markers)
{
	if (!markers)
		return MPA_NO_MARKER;
	return mpa_marker_distance(pos) ?: MPA_MARKER_PAYLOAD;
}

/* FR-04 */
static inline u32 mpa_pad_size(u32 len)
{
	return -(MPA_LENGTH_SIZE + len) & (MPA_ALIGN - 1);
}

/**
 * mpa_fpdu_size() - Length of an FPDU
 * @pos: stream position of its first octet, a multiple of four
 * @len: octets of its ULPDU
 * @markers: markers are in use
 *
 * Return: octets on the wire, a leading marker included
 */
static inline u32 mpa_fpdu_size(u64 pos, u32 len, bool markers)
{
	u32 base = ALIGN(MPA_OVERHEAD + len, MPA_ALIGN);
	u32 dist;

	if (!markers)
		return base;
	dist = mpa_marker_distance(pos);
	if (base <= dist)
		return base;
	return base + MPA_MARKER_SIZE *
		      DIV_ROUND_UP(base - dist, MPA_MARKER_PAYLOAD);
}

/* mpa_fpdu.c APIs: */
u32 mpa_fpdu_fill(u64 pos, u32 room, bool markers);
u32 mpa_mulpdu_of(u32 emss, bool markers);

/**
 * mpa_fpdu_exact() - ULPDU_Length of an FPDU that fills some room
 * @pos: stream position of its first octet, a multiple of four
 * @room: octets that the FPDU is to take
 * @markers: markers are in use
 *
 * Return: octets of the longest such ULPDU, at least %MPA_MULPDU_MIN; 0 if
 *	there is none, or one of more than %MPA_ULPDU_MAX octets would fit
 */
static inline u32 mpa_fpdu_exact(u64 pos, u32 room, bool markers)
{
	u64 end = pos + room;
	u32 len = room - MPA_OVERHEAD;

	if (room % MPA_ALIGN)
		return 0;
	if (markers) {
		/* No FPDU ends with a marker. */
		if (!mpa_marker_distance(end - MPA_MARKER_SIZE))
			return 0;
		len -= MPA_MARKER_SIZE * mpa_marker_count(pos, end);
	}
	return len >= MPA_MULPDU_MIN && len <= MPA_ULPDU_MAX ? len : 0;
}

/* mpa_fpdu_enc.c APIs: */

/**
 * struct mpa_enc - FPDUs being laid out for TCP
 * @pos: stream position of the next octet
 * @markers: insert markers
 * @crc: compute CRCs; if not, the field is sent as zero
 * @bv: the octets laid out, in order. One page reference is held for each
 *	entry; an entry that continues the one before is merged into it.
 * @nr: entries in use
 * @max: entries there are
 * @frag: memory for octets that are copied: @frag.size octets in all from the
 *	start of @frag.page, those from @frag.offset on are free
 * @refill: puts a fresh, empty piece of at least %MPA_REFILL_MIN octets into
 *	@frag, keeping or dropping the reference it had on the old one; 0 or a
 *	negative errno
 * @kv: in place of @bv, octets that are gathered: the pieces, in order, which
 *	TCP is to copy
 * @kv_next: first entry of @kv not in use
 * @kv_end: end of @kv
 * @buf: free memory for framing and headers of FPDUs that are gathered, and
 *	whole FPDUs that are short
 * @buf_end: end of that memory
 */
struct mpa_enc {
	u64			pos;
	bool			markers;
	bool			crc;
	u16			nr;
	u16			max;
	struct bio_vec		*bv;
	struct page_frag	frag;
	int			(*refill)(struct mpa_enc *enc);
	struct kvec		*kv;
	struct kvec		*kv_next;
	struct kvec		*kv_end;
	u8			*buf;
	u8			*buf_end;
};

int mpa_fpdu_encode(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		    struct iov_iter *data, u32 len, bool zerocopy);
int mpa_fpdu_gather(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		    struct iov_iter *data, u32 len);
int mpa_fpdu_copy(struct mpa_enc *enc, const void *hdr, u32 hdr_len,
		  struct iov_iter *data, u32 len);

/**
 * struct mpa_cut - header of the ULPDUs that are cut from a message
 * @template: where its counter is
 * @count: the counter of the next ULPDU
 * @hdr_len: octets of the header
 * @hdr: the header; its counter is written when a ULPDU is cut
 */
struct mpa_cut {
	const struct mpa_template	*template;
	u64				count;
	u32				hdr_len;
	u8				hdr[MPA_TEMPLATE_HDR];
};

/* ULPDU_Length and the longest header */
#define MPA_CUT_HEAD	(MPA_LENGTH_SIZE + MPA_TEMPLATE_HDR)

/* Write @count into the header of a ULPDU, which is at @hdr. */
static inline void mpa_template_put(const struct mpa_template *template,
				    void *hdr, u64 count)
{
	if (template->count_size == sizeof(u64))
		put_unaligned_be64(count, hdr + template->count_at);
	else
		put_unaligned_be32(count, hdr + template->count_at);
}

/* Write the counter of the next ULPDU into its header, which is at @hdr. */
static inline void mpa_cut_count(const struct mpa_cut *cut, void *hdr)
{
	mpa_template_put(cut->template, hdr, cut->count);
}

u32 mpa_fpdu_encode_run(struct mpa_enc *enc, struct mpa_cut *cut,
			struct iov_iter *data, u32 left, u32 size, u32 nr);
u32 mpa_iter_entries(const struct iov_iter *iter, u32 len);
u32 mpa_fpdu_pages_run(struct mpa_enc *enc, struct mpa_cut *cut,
		       struct iov_iter *data, u32 len, u32 nr, u32 max);
u32 mpa_fpdu_gather_run(struct mpa_enc *enc, struct mpa_cut *cut,
			struct iov_iter *data, u32 len, u32 nr);

#define MPA_GATHER_HDR	64	/* longest header, copied, in octets */
#define MPA_GATHER_MIN	3	/* entries: head, ULPDU, tail */

/* True if pointers reach all pieces: those of a kvec or a bvec. */
static inline bool mpa_iter_is_flat(const struct iov_iter *iter)
{
	return iov_iter_is_kvec(iter) || iov_iter_is_bvec(iter);
}

/*
 * Advance an ITER_BVEC by @len octets, all of the entry that it stands at. As
 * iov_iter_advance(), in a third of the instructions.
 */
static inline void mpa_iter_step(struct iov_iter *iter, u32 len)
{
	iter->count -= len;
	iter->iov_offset += len;
	if (iter->iov_offset < iter->bvec->bv_len)
		return;
	iter->iov_offset = 0;
	iter->nr_segs--;
	iter->bvec++;
}

/**
 * mpa_fpdu_can_gather() - whether mpa_fpdu_gather() takes an FPDU
 * @enc: encoder
 * @hdr_len: octets of the ULPDU's header
 * @data: the rest of the ULPDU
 * @len: octets of @data that belong to the ULPDU
 *
 * Return: true if it does; otherwise mpa_fpdu_encode() does
 */
static inline bool mpa_fpdu_can_gather(const struct mpa_enc *enc, u32 hdr_len,
				       const struct iov_iter *data, u32 len)
{
	return !enc->markers && len && hdr_len <= MPA_GATHER_HDR &&
	       mpa_iter_is_flat(data);
}

/* mpa_fpdu_dec.c APIs: */

/**
 * struct mpa_octets - consecutive octets of a stream, in pieces
 * @v: the pieces
 * @nr: number of pieces
 * @off: octets to skip at the start of the first piece
 * @len: octets from there to the end of the last piece
 */
struct mpa_octets {
	const struct kvec	*v;
	u32			nr;
	u32			off;
	size_t			len;
};

/**
 * struct mpa_dec - what a receiver knows of a stream, and results of decoding
 * @pos: stream position of the FPDU's first octet (a leading marker, if any)
 * @markers: the sender inserts markers
 * @crc: check CRCs
 * @from_lead: FPDUPTR may count from the FPDU's leading marker, too
 * @frag: gets the pieces of the ULPDU
 * @max_frags: entries of @frag
 * @nr_frags: result: pieces in use
 * @len: result: ULPDU_Length
 * @size: result: octets from @pos to the end of the FPDU. With -EAGAIN the
 *	number of octets needed to get any further.
 * @reason: result: with -EBADMSG, what is wrong
 *
 * flat_run() works on a copy, and copies each result back.
 */
struct mpa_dec {
	u64			pos;
	bool			markers;
	bool			crc;
	bool			from_lead;
	struct kvec		*frag;
	u32			max_frags;
	u32			nr_frags;
	u32			len;
	u32			size;
	enum mpa_reason		reason;
};

/**
 * struct mpa_stream - octets of a stream, maybe with holes
 * @next: returns the stream position of the first octet at or after @pos, or
 *	%MPA_POS_NONE
 * @have: returns how many octets there are from @pos to the next hole; does not
 *	count further than @max
 * @read: copies @len octets from @pos on; @have has said that they are there
 * @steps: skbs that these functions have gone over; they add to it
 */
struct mpa_stream {
	u64	(*next)(struct mpa_stream *src, u64 pos);
	u32	(*have)(struct mpa_stream *src, u64 pos, u32 max);
	void	(*read)(struct mpa_stream *src, u64 pos, void *to, u32 len);
	u32	steps;
};

#define MPA_POS_NONE	U64_MAX

int mpa_fpdu_decode(struct mpa_dec *dec, const struct mpa_octets *in);
int mpa_fpdu_decode_run(struct mpa_dec *dec, const struct mpa_octets *octets,
			u64 limit, struct mpa_ulpdu *ulpdu, u32 max, u32 *nr);
u32 mpa_marker_read(struct mpa_stream *src, u64 pos);
int mpa_fpdu_peek(struct mpa_dec *dec, struct mpa_stream *src, u64 limit);
int mpa_fpdu_check_markers(struct mpa_dec *dec, struct mpa_stream *src);

#endif /* _MPA_FPDU_H */
