/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* DDP segments and RDMAP messages as octets: RFC 5041, RFC 5040. */
#ifndef _DDP_WIRE_H
#define _DDP_WIRE_H

#include <linux/types.h>
#include <net/mpa.h>

#define RDMAP_TAGGED_LEN	14	/* DDP header, tagged */
#define RDMAP_UNTAGGED_LEN	18
#define RDMAP_READ_LEN		28	/* payload of a Read Request */
#define RDMAP_HDR_MAX		(RDMAP_UNTAGGED_LEN + RDMAP_READ_LEN)
/* DDP header, Terminate Control, length, and headers of the segment in error */
#define RDMAP_TERM_MAX		(RDMAP_UNTAGGED_LEN + 6 + RDMAP_HDR_MAX)

enum rdmap_op {
	RDMAP_OP_WRITE		= 0,
	RDMAP_OP_READ		= 1,	/* Read Request */
	RDMAP_OP_RESPONSE	= 2,	/* Read Response */
	RDMAP_OP_SEND		= 3,
	RDMAP_OP_SEND_INV	= 4,
	RDMAP_OP_SEND_SE	= 5,
	RDMAP_OP_SEND_SE_INV	= 6,
	RDMAP_OP_TERMINATE	= 7,
	RDMAP_OPS,
};

enum rdmap_queue {
	RDMAP_QN_SEND,
	RDMAP_QN_READ,
	RDMAP_QN_TERMINATE,
	RDMAP_QUEUES,
};

/**
 * struct rdmap_hdr - header of a DDP segment
 * @last: the L flag
 * @tagged: the T flag
 * @ddp_version: version of DDP
 * @version: version of RDMAP
 * @opcode: &enum rdmap_op, or an unknown one
 * @stag: tagged: STag of the buffer; untagged: STag to invalidate
 * @to: tagged: Tagged Offset
 * @qn: untagged: queue number
 * @msn: untagged: message sequence number
 * @mo: untagged: message offset
 */
struct rdmap_hdr {
	bool	last;
	bool	tagged;
	u8	ddp_version;
	u8	version;
	u8	opcode;
	u32	stag;
	u64	to;
	u32	qn;
	u32	msn;
	u32	mo;
};

/**
 * struct rdmap_read - contents of a Read Request
 * @sink_stag: STag to write to
 * @sink_to: Tagged Offset to write to
 * @size: number of octets
 * @source_stag: STag to read
 * @source_to: Tagged Offset to read from
 */
struct rdmap_read {
	u32	sink_stag;
	u64	sink_to;
	u32	size;
	u32	source_stag;
	u64	source_to;
};

/* Layer that found an error, and its error types */
enum {
	RDMAP_LAYER_RDMA	= 0,
	RDMAP_LAYER_DDP		= 1,
	RDMAP_LAYER_LLP		= 2,
};

enum {
	RDMAP_TYPE_LOCAL	= 0,
	RDMAP_TYPE_PROTECTION	= 1,	/* RDMA */
	RDMAP_TYPE_OPERATION	= 2,	/* RDMA */
	RDMAP_TYPE_TAGGED	= 1,	/* DDP */
	RDMAP_TYPE_UNTAGGED	= 2,	/* DDP */
	RDMAP_TYPE_MPA		= 0,	/* LLP */
};

/*
 * An error as in the Terminate Control field: layer, type, code. The bit above
 * them tells error 0/0/0 from no error.
 */
#define RDMAP_ERR(layer, type, code) \
	(BIT(16) | (layer) << 12 | (type) << 8 | (code))
#define RDMAP_ERR_RDMA(type, code) \
	RDMAP_ERR(RDMAP_LAYER_RDMA, RDMAP_TYPE_##type, code)
#define RDMAP_ERR_DDP(type, code) \
	RDMAP_ERR(RDMAP_LAYER_DDP, RDMAP_TYPE_##type, code)
#define RDMAP_ERR_MPA(code) \
	RDMAP_ERR(RDMAP_LAYER_LLP, RDMAP_TYPE_MPA, code)

/* RFC 5040 section 4.8 */
#define RDMAP_ERR_LOCAL		RDMAP_ERR_RDMA(LOCAL, 0)
#define RDMAP_ERR_STAG		RDMAP_ERR_RDMA(PROTECTION, 0)
#define RDMAP_ERR_BOUNDS	RDMAP_ERR_RDMA(PROTECTION, 1)
#define RDMAP_ERR_ACCESS	RDMAP_ERR_RDMA(PROTECTION, 2)
#define RDMAP_ERR_STREAM	RDMAP_ERR_RDMA(PROTECTION, 3)
#define RDMAP_ERR_WRAP		RDMAP_ERR_RDMA(PROTECTION, 4)
#define RDMAP_ERR_INVALIDATE	RDMAP_ERR_RDMA(PROTECTION, 9)
#define RDMAP_ERR_VERSION	RDMAP_ERR_RDMA(OPERATION, 5)
#define RDMAP_ERR_OPCODE	RDMAP_ERR_RDMA(OPERATION, 6)
#define RDMAP_ERR_UNSPECIFIED	RDMAP_ERR_RDMA(OPERATION, 0xff)

/* RFC 5041 section 7.2 */
#define DDP_ERR_TAGGED_STAG	RDMAP_ERR_DDP(TAGGED, 0)
#define DDP_ERR_TAGGED_BOUNDS	RDMAP_ERR_DDP(TAGGED, 1)
#define DDP_ERR_TAGGED_STREAM	RDMAP_ERR_DDP(TAGGED, 2)
#define DDP_ERR_TAGGED_WRAP	RDMAP_ERR_DDP(TAGGED, 3)
#define DDP_ERR_TAGGED_VERSION	RDMAP_ERR_DDP(TAGGED, 4)
#define DDP_ERR_QN		RDMAP_ERR_DDP(UNTAGGED, 1)
#define DDP_ERR_NO_BUFFER	RDMAP_ERR_DDP(UNTAGGED, 2)
#define DDP_ERR_MSN		RDMAP_ERR_DDP(UNTAGGED, 3)
#define DDP_ERR_MO		RDMAP_ERR_DDP(UNTAGGED, 4)
#define DDP_ERR_TOO_LONG	RDMAP_ERR_DDP(UNTAGGED, 5)
#define DDP_ERR_VERSION		RDMAP_ERR_DDP(UNTAGGED, 6)

static inline u8 rdmap_err_layer(u32 err) { return err >> 12 & 15; }
static inline u8 rdmap_err_type(u32 err) { return err >> 8 & 15; }
static inline u8 rdmap_err_code(u32 err) { return err & 255; }

extern const struct mpa_template rdmap_tagged;
extern const struct mpa_template rdmap_untagged;

u32 rdmap_hdr_write(u8 *octets, const struct rdmap_hdr *hdr);
u32 rdmap_hdr_read(struct rdmap_hdr *hdr, const u8 *octets, u32 len);
u32 rdmap_hdr_check(const struct rdmap_hdr *hdr, u8 version);
u32 rdmap_read_req_write(u8 *octets, const struct rdmap_read *read);
void rdmap_read_req_read(struct rdmap_read *read, const u8 *octets);
u32 rdmap_term_write(u8 *octets, u32 err, u32 ulpdu_len, const u8 *hdr,
		     u32 hdr_len);
u32 rdmap_term_read(const u8 *octets, u32 len, bool *swapped);
bool rdmap_term_refused(struct rdmap_hdr *hdr, const u8 *octets, u32 len,
			u32 err, bool swapped);

#endif /* _DDP_WIRE_H */
