/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* FPDUs laid out for TCP, in records; see mpa_train.c. */
#ifndef _MPA_TRAIN_H
#define _MPA_TRAIN_H

#include <linux/bits.h>
#include <linux/bvec.h>
#include <linux/uio.h>
#include "mpa_fpdu.h"

#define MPA_TRAIN_RECORDS	48
#define MPA_TRAIN_BVECS		64
#define MPA_TRAIN_KVECS		128
#define MPA_TRAIN_BUF		2048

/* mpa_tx.state */
enum {
	MPA_TX_CUT	= BIT(0),	/* hdr and len are the next ULPDU's */
	MPA_TX_LAST	= BIT(1),	/* and it is the last one */
	MPA_TX_PAGES	= BIT(2),	/* ubuf is in use */
	MPA_TX_OWN	= BIT(3),	/* we have a reference on ubuf */
};

/**
 * struct mpa_record - octets that TCP takes in one call, whole FPDUs
 * @octets: segments of the train's EMSS, the last one may be shorter; or a
 *	single FPDU that is longer
 * @len: octets of these not given to TCP yet
 * @ulpdus: ULPDUs in it
 * @started: TCP has some of it
 * @zc: message whose pages these are, or NULL: page fragments
 */
struct mpa_record {
	u32			octets;
	u32			len;
	u16			ulpdus;
	bool			started;
	struct mpa_tx		*zc;
};

/**
 * struct mpa_train - records laid out
 * @enc: encoder; its bv is @bv, its kv is @kv
 * @gather: the octets are where @kv says; or else where @bv does
 * @iter: octets not given to TCP yet
 * @emss: EMSS, less room for SACK blocks
 * @grow: segments that are full can be followed by others in their record
 * @exact: length of a ULPDU whose FPDU fills a segment, or 0; with markers it
 *	is another at each position, see mpa_train_exact()
 * @open: record that more can be added to, or NULL
 * @left: octets left in its last segment
 * @room: octets that there may be
 * @pages: the same of pages
 * @octets: octets laid out
 * @first: first record not given to TCP whole
 * @nr: records
 * @record: the records
 * @bv: pages with the octets
 * @kv: octets that TCP copies, the consumer's and those of @buf
 * @buf: what is around ULPDUs
 */
struct mpa_train {
	struct mpa_enc		enc;
	bool			gather;
	struct iov_iter		iter;
	u32			emss;
	bool			grow;
	u32			exact;
	u32			left;
	struct mpa_record	*open;
	u32			room;
	u32			pages;
	u32			octets;
	u16			first;
	u16			nr;
	struct mpa_record	record[MPA_TRAIN_RECORDS];
	union {
		struct bio_vec	bv[MPA_TRAIN_BVECS];
		struct {
			struct kvec	kv[MPA_TRAIN_KVECS];
			u8		buf[MPA_TRAIN_BUF];
		};
	};
};

struct mpa_conn;
struct mpa_tcp_room;

int mpa_train_build(struct mpa_conn *conn, const struct mpa_tcp_room *room);
void mpa_train_drop(struct mpa_conn *conn);
bool mpa_tx_length_ok(const struct mpa_tx *tx, u32 max);
void mpa_tx_ubuf_init(struct mpa_conn *conn, struct mpa_tx *tx);

#endif /* _MPA_TRAIN_H */
