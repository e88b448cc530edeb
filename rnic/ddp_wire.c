// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* DDP segments and RDMAP messages as octets; pure functions. */
#include <linux/bits.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "ddp_wire.h"

/* First octet, of DDP; its other bits are reserved */
#define DDP_TAGGED	BIT(7)
#define DDP_LAST	BIT(6)
#define DDP_VERSION	GENMASK(1, 0)

/* Second octet, of RDMAP */
#define RDMAP_VERSION_SHIFT	6
#define RDMAP_OPCODE		GENMASK(3, 0)

/* Third octet of a Terminate: parts of the segment in error that follow */
#define TERM_LENGTH	BIT(7)
#define TERM_DDP	BIT(6)
#define TERM_RDMAP	BIT(5)
#define TERM_HDRCT	(TERM_LENGTH | TERM_DDP | TERM_RDMAP)
#define TERM_HAS_HDR	(TERM_LENGTH | TERM_DDP)
#define SIW_HAS_HDR	(BIT(0) | BIT(1))	/* siw mirrors them */

/*
 * How messages of each opcode go. rdmap_hdr_read() gives tagged ones queue 0.
 */
static const struct {
	bool	tagged;
	u8	qn;
} ops[RDMAP_OPS] = {
	[RDMAP_OP_WRITE]	= { .tagged = true },
	[RDMAP_OP_READ]		= { .qn = RDMAP_QN_READ },
	[RDMAP_OP_RESPONSE]	= { .tagged = true },
	[RDMAP_OP_SEND]		= { .qn = RDMAP_QN_SEND },
	[RDMAP_OP_SEND_INV]	= { .qn = RDMAP_QN_SEND },
	[RDMAP_OP_SEND_SE]	= { .qn = RDMAP_QN_SEND },
	[RDMAP_OP_SEND_SE_INV]	= { .qn = RDMAP_QN_SEND },
	[RDMAP_OP_TERMINATE]	= { .qn = RDMAP_QN_TERMINATE },
};

/* Tagged segments count in their TO, untagged ones in their MO. */
const struct mpa_template rdmap_tagged = {
	.count_at = 6, .count_size = sizeof(u64), .last = DDP_LAST,
};

const struct mpa_template rdmap_untagged = {
	.count_at = 14, .count_size = sizeof(u32), .last = DDP_LAST,
};

/* Write a header; returns its length. */
u32 rdmap_hdr_write(u8 *octets, const struct rdmap_hdr *hdr)
{
	octets[0] = hdr->ddp_version;
	if (hdr->tagged)
		octets[0] |= DDP_TAGGED;
	if (hdr->last)
		octets[0] |= DDP_LAST;
	octets[1] = hdr->version << RDMAP_VERSION_SHIFT | hdr->opcode;
	put_unaligned_be32(hdr->stag, octets + 2);
	if (hdr->tagged) {
		put_unaligned_be64(hdr->to, octets + 6);
		return RDMAP_TAGGED_LEN;
	}
	put_unaligned_be32(hdr->qn, octets + 6);
	put_unaligned_be32(hdr->msn, octets + 10);
	put_unaligned_be32(hdr->mo, octets + 14);
	return RDMAP_UNTAGGED_LEN;
}

/* Read a header; returns its length, or 0 if @len octets do not hold it. */
u32 rdmap_hdr_read(struct rdmap_hdr *hdr, const u8 *octets, u32 len)
{
	u32 hdr_len;

	if (!len)
		return 0;
	hdr_len = octets[0] & DDP_TAGGED ? RDMAP_TAGGED_LEN :
					   RDMAP_UNTAGGED_LEN;
	if (len < hdr_len)
		return 0;
	hdr->last = octets[0] & DDP_LAST;
	hdr->tagged = octets[0] & DDP_TAGGED;
	hdr->ddp_version = octets[0] & DDP_VERSION;
	hdr->version = octets[1] >> RDMAP_VERSION_SHIFT;
	hdr->opcode = octets[1] & RDMAP_OPCODE;
	hdr->stag = get_unaligned_be32(octets + 2);
	if (hdr->tagged) {
		hdr->to = get_unaligned_be64(octets + 6);
		hdr->qn = 0;
		hdr->msn = 0;
		hdr->mo = 0;
		return hdr_len;
	}
	hdr->to = 0;
	hdr->qn = get_unaligned_be32(octets + 6);
	hdr->msn = get_unaligned_be32(octets + 10);
	hdr->mo = get_unaligned_be32(octets + 14);
	return hdr_len;
}

/*
 * Check a header without knowledge of the stream, apart from the version, which
 * both layers share. Checks DDP first. Returns an error or 0.
 */
u32 rdmap_hdr_check(const struct rdmap_hdr *hdr, u8 version)
{
	if (hdr->ddp_version != version)
		return hdr->tagged ? DDP_ERR_TAGGED_VERSION : DDP_ERR_VERSION;
	if (!hdr->tagged && hdr->qn >= RDMAP_QUEUES)
		return DDP_ERR_QN;
	if (hdr->version != version)
		return RDMAP_ERR_VERSION;
	if (hdr->opcode >= RDMAP_OPS ||
	    hdr->tagged != ops[hdr->opcode].tagged ||
	    hdr->qn != ops[hdr->opcode].qn)
		return RDMAP_ERR_OPCODE;
	return 0;
}

u32 rdmap_read_req_write(u8 *octets, const struct rdmap_read *read)
{
	put_unaligned_be32(read->sink_stag, octets);
	put_unaligned_be64(read->sink_to, octets + 4);
	put_unaligned_be32(read->size, octets + 12);
	put_unaligned_be32(read->source_stag, octets + 16);
	put_unaligned_be64(read->source_to, octets + 20);
	return RDMAP_READ_LEN;
}

void rdmap_read_req_read(struct rdmap_read *read, const u8 *octets)
{
	read->sink_stag = get_unaligned_be32(octets);
	read->sink_to = get_unaligned_be64(octets + 4);
	read->size = get_unaligned_be32(octets + 12);
	read->source_stag = get_unaligned_be32(octets + 16);
	read->source_to = get_unaligned_be64(octets + 20);
}

/* RFC 5040 figure 10: true if a Terminate repeats the headers for this error */
static bool err_has_hdr(u32 err)
{
	if (rdmap_err_layer(err) == RDMAP_LAYER_RDMA)
		return rdmap_err_type(err) != RDMAP_TYPE_LOCAL;
	return rdmap_err_layer(err) == RDMAP_LAYER_DDP;
}

static bool err_has_read(u32 err)
{
	return rdmap_err_layer(err) == RDMAP_LAYER_RDMA &&
	       rdmap_err_type(err) == RDMAP_TYPE_PROTECTION;
}

/*
 * Write the part of a Terminate after its DDP header. @hdr holds the headers of
 * the segment in error, a ULPDU of @ulpdu_len octets; @hdr_len is 0 if there is
 * none, and %RDMAP_HDR_MAX for a Read Request. Returns the length.
 */
u32 rdmap_term_write(u8 *octets, u32 err, u32 ulpdu_len, const u8 *hdr,
		     u32 hdr_len)
{
	put_unaligned_be32((err & 0xffff) << 16, octets);
	if (!hdr_len || !err_has_hdr(err))
		return 4;
	octets[2] = TERM_LENGTH | TERM_DDP;
	if (hdr_len == RDMAP_HDR_MAX) {
		if (err_has_read(err))
			octets[2] |= TERM_RDMAP;
		else
			hdr_len = RDMAP_UNTAGGED_LEN;
	}
	put_unaligned_be16(ulpdu_len, octets + 4);
	memcpy(octets + 6, hdr, hdr_len);
	return 6 + hdr_len;
}

static u32 swap_nibbles(u32 err)
{
	return RDMAP_ERR(rdmap_err_type(err), rdmap_err_layer(err),
			 rdmap_err_code(err));
}

/*
 * Linux siw on little-endian machines swaps layer and type, and mirrors the
 * bits that tell what follows. If such bits are set they show it, because the
 * mirrored ones are reserved. If none is set nothing follows, and the only
 * errors that siw sends so are those of MPA. As received, CRC (2) and FRAME (4)
 * are no errors of RDMAP. IRD (6) and RTR (7) are, and a peer that omits the
 * headers has them read as MPA's: 0/2/6 (opcode) and 0/2/7 (catastrophic)
 * cannot be told from those.
 */
static bool term_is_swapped(u32 err, u8 bits)
{
	if (bits)
		return !(bits & TERM_HDRCT);
	switch (err) {
	case RDMAP_ERR_RDMA(OPERATION, MPA_ERR_CRC):
	case RDMAP_ERR_RDMA(OPERATION, MPA_ERR_FRAME):
	case RDMAP_ERR_RDMA(OPERATION, MPA_ERR_IRD):
	case RDMAP_ERR_RDMA(OPERATION, MPA_ERR_RTR):
		return true;
	default:
		return false;
	}
}

/* Returns the error in a Terminate, or 0 if it is too short. */
u32 rdmap_term_read(const u8 *octets, u32 len, bool *swapped)
{
	u32 err;

	if (len < 4)
		return 0;
	err = BIT(16) | get_unaligned_be16(octets);
	*swapped = term_is_swapped(err, octets[2]);
	return *swapped ? swap_nibbles(err) : err;
}

/*
 * Read the header of the Read Request that a Terminate refuses, for error @err.
 * Returns false if it refuses none, or does not repeat the header. (Of the same
 * type is an STag that cannot be invalidated, which is of a Send.)
 */
bool rdmap_term_refused(struct rdmap_hdr *hdr, const u8 *octets, u32 len,
			u32 err, bool swapped)
{
	u8 has_hdr = swapped ? SIW_HAS_HDR : TERM_HAS_HDR;

	return err_has_read(err) && err != RDMAP_ERR_INVALIDATE &&
	       len > 6 && (octets[2] & has_hdr) == has_hdr &&
	       rdmap_hdr_read(hdr, octets + 6, len - 6) && !hdr->tagged &&
	       hdr->qn == RDMAP_QN_READ;
}
