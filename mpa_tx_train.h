/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* FPDUs for TCP, in records; see mpa_tx_train.c. */
#ifndef _MPA_TX_TRAIN_H
#define _MPA_TX_TRAIN_H

#include <linux/bits.h>
#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include "mpa_fpdu.h"

#define MPA_TX_SERIES		32	/* equal FPDUs that lower the EMSS */
#define MPA_TX_SERIES_MAX	1024	/* that many, after many changes */
/* With all of these a train still fits MPA_SPARE_SIZE. */
#define MPA_TRAIN_RECORDS	48
#define MPA_TRAIN_BVECS		64
#define MPA_TRAIN_KVECS		128
#define MPA_TRAIN_BUF		2048

/* mpa_tx.state */
enum {
	/* without a template: */
	MPA_MSG_ASKED	= BIT(0),	/* hdr and len: ULPDU not framed yet */
	MPA_MSG_LAST	= BIT(1),	/* no ULPDU follows it */
	/* with or without: */
	MPA_MSG_LONG	= BIT(2),	/* a source of several ULPDUs */
	MPA_MSG_FINAL	= BIT(3),	/* next() has no more octets */
	MPA_MSG_SOURCE	= BIT(4),	/* may become several ULPDUs */
	MPA_MSG_ZEROCOPY = BIT(5),	/* its own pages go to TCP */
};

/**
 * struct mpa_tx_ulpdu - a ULPDU to lay out
 * @hdr: its first octets
 * @hdr_len: how many
 * @len: octets of mpa_tx.data that follow
 * @last: no ULPDU of the message follows
 */
struct mpa_tx_ulpdu {
	const void		*hdr;
	u32			hdr_len;
	u32			len;
	bool			last;
};

/**
 * struct mpa_tx_ubuf - what TCP's skbs with pages of a train refer to
 * @info: its references are the train's and the network stack's
 * @list: link of mpa_conn_tx.ubufs
 * @conn: the connection, with a reference while @info has one
 * @pos: stream position of the first FPDU that may be in the consumer's pages
 */
struct mpa_tx_ubuf {
	struct ubuf_info	info;
	struct list_head	list;
	struct mpa_conn		*conn;
	u64			pos;
};

/**
 * struct mpa_record - whole FPDUs that may share skbs
 * @octets: length: segments of the train's EMSS, of which the last may be
 *	shorter, or a single FPDU that is longer than the EMSS
 * @len: octets that TCP has not taken yet
 * @ulpdus: number of ULPDUs
 * @bv: with zero copy, index of the first entry of train.bv
 * @started: TCP took only part of the octets that it was last offered
 * @zc: the ULPDUs are in the consumer's own pages (zero copy)
 */
struct mpa_record {
	u32			octets;
	u32			len;
	u16			ulpdus;
	u16			bv;
	bool			started;
	bool			zc;
};

/**
 * struct mpa_train - FPDUs laid out or gathered, in records
 * @enc: encoder; its bv is @bv, its kv is @kv
 * @iter: octets that TCP has not taken yet
 * @cut: how the message @cut_of is cut, if that has a template
 * @cut_of: that message, or NULL
 * @open: record that FPDUs can be added to, or NULL
 * @ubuf: for the records with the consumer's own pages, or NULL
 * @left: octets left in the last segment of @open
 * @octets: octets in the train so far
 * @exact: length of a ULPDU whose FPDU fills a segment, or 0. Not used with
 *	markers, where it depends on the position: see mpa_train_fit().
 * @first: index of the first record that TCP has not taken whole
 * @nr: number of records
 * @gather: the octets are listed in @kv; otherwise in @bv
 * @probed: TCP may take pages for a probe of the path's MTU
 * @narrow: the EMSS was lowered for FPDUs of one length
 * @multi: a record may have several segments
 * @ungathered: MPA_TX_* of messages whose octets must not go to TCP as they are
 * @emss: octets that FPDUs may fill in a segment: the EMSS, less the room
 *	reserved for SACK blocks and AccECN
 * @room: most octets of the train
 * @pages: most octets of the train if it is given to TCP as pages
 * @gfp: to allocate page fragments with
 * @record: the records
 * @bv: page fragments and, with zero copy, the consumer's pages
 * @kv: octets that TCP copies, the consumer's and those of @buf
 * @buf: framing and ULPDU headers of a train that is gathered, and whole FPDUs
 *	that are short
 */
struct mpa_train {
	struct mpa_enc		enc;
	struct iov_iter		iter;
	struct mpa_cut		cut;
	const struct mpa_tx	*cut_of;
	struct mpa_record	*open;
	struct mpa_tx_ubuf	*ubuf;
	u32			left;
	u32			octets;
	u32			exact;
	u16			first;
	u16			nr;
	bool			gather;
	bool			probed;
	bool			narrow;
	bool			multi;
	u16			ungathered;
	u32			emss;
	u32			room;
	u32			pages;
	gfp_t			gfp;
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
void mpa_train_rest(struct mpa_conn *conn, struct mpa_train *train, u32 size,
		    u32 taken);
void mpa_train_drop(struct mpa_conn *conn);

/* mpa_tx_frag.c APIs: */
void mpa_frag_take(struct page_frag *frag);
void mpa_frag_give(struct page_frag *frag);
void mpa_frag_exit(void);

static inline bool mpa_tx_is_source(const struct mpa_tx *tx)
{
	return tx->state & MPA_MSG_SOURCE;
}

/* True if @tx describes octets that are there, at most @max of them (SZ-04). */
static inline bool mpa_tx_length_ok(const struct mpa_tx *tx, u32 max)
{
	if (tx->hdr_len > max || tx->len > max - tx->hdr_len)
		return false;
	return (tx->hdr || !tx->hdr_len) &&
	       tx->len <= iov_iter_count(&tx->data);
}

#endif /* _MPA_TX_TRAIN_H */
