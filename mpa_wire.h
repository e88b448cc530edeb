/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* MPA on the wire: RFC 5044 sections 4 and 7.1.1, RFC 6581 */
#ifndef _MPA_WIRE_H
#define _MPA_WIRE_H

#include <linux/bits.h>
#include <linux/types.h>

/* Section 4.2: at each multiple of MPA_MARKER_INTERVAL octets of the stream */
struct mpa_marker {
	__be16	reserved;
	__be16	fpduptr;	/* octets from ULPDU_Length; 0: leads */
};

/* Section 4.1: ULPDU_Length, ULPDU, PAD to a multiple of four, CRC */
enum {
	MPA_MARKER_INTERVAL	= 512,
	MPA_MARKER_SIZE		= sizeof(struct mpa_marker),
	MPA_MARKER_PAYLOAD	= MPA_MARKER_INTERVAL - MPA_MARKER_SIZE,
	MPA_FPDUPTR_MASK	= 0xfffc,
	MPA_LENGTH_SIZE		= sizeof(__be16),
	MPA_CRC_SIZE		= sizeof(__le32),
	MPA_OVERHEAD		= MPA_LENGTH_SIZE + MPA_CRC_SIZE,
	/* ULPDU of MPA_ULPDU_MAX octets with its pad and 128 markers */
	MPA_FPDU_MAX		= 65288,
};

/* Section 7.1.1: Request or Reply frame, followed by pd_len octets */
struct mpa_rr {
	u8	key[16];
	u8	flags;
	u8	rev;
	__be16	pd_len;
};

enum {
	MPA_RR_M	= BIT(7),	/* markers wanted */
	MPA_RR_C	= BIT(6),	/* CRC wanted */
	MPA_RR_R	= BIT(5),	/* rejected */
	MPA_RR_S	= BIT(4),	/* Rev 2: struct mpa_erd comes first */
	MPA_RR_SIZE	= sizeof(struct mpa_rr),
};

/* RFC 6581 section 9: first octets of the private data if S is set */
struct mpa_erd {
	__be16	ird;
	__be16	ord;
};

enum {
	MPA_ERD_A	= BIT(15),	/* in ird: peer-to-peer, with an RTR */
	MPA_ERD_B	= BIT(14),	/* in ird: RTR by Send */
	MPA_ERD_C	= BIT(15),	/* in ord: RTR by RDMA Write */
	MPA_ERD_D	= BIT(14),	/* in ord: RTR by RDMA Read */
	MPA_ERD_DEPTH	= 0x3fff,
	MPA_ERD_SIZE	= sizeof(struct mpa_erd),
};

#define MPA_KEY_REQUEST	"MPA ID Req Frame"
#define MPA_KEY_REPLY	"MPA ID Rep Frame"

#endif /* _MPA_WIRE_H */
