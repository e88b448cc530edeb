/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Batches: ULPDUs for one recv(), and the memory that holds them. */
#ifndef _MPA_RX_BATCH_H
#define _MPA_RX_BATCH_H

#include <linux/refcount.h>
#include <linux/skbuff.h>
#include "mpa_conn.h"
#include "mpa_rx_queue.h"

#define MPA_BATCH_ULPDUS	64
#define MPA_BATCH_OCTETS	SZ_32K	/* enough to pin at once */
#define MPA_BATCH_SHARED	SZ_4K	/* enough to copy at once */
#define MPA_BATCH_SPANS		32
#define MPA_BATCH_SKBS		256	/* several may share a span */
#define MPA_BATCH_FRAGS		288	/* the longest ULPDU needs fewer */
#define MPA_BATCH_SHORT		256	/* octets that are copied, not pinned */

/**
 * struct mpa_batch - octets of one or more FPDUs
 * @rx: the argument of recv()
 * @conn: the connection, of which a reference is held
 * @node: in mpa_conn_rx.batches if it stays after recv()
 * @ref: one until recv() has returned, and one for each mpa_rx_get()
 * @done: of one in mpa_conn_rx.batches: the last reference has been put; set
 *	under conn->lock
 * @full: the batch has no room for more octets
 * @ooo: passed out of order; nothing is consumed from TCP
 * @end: with @ooo: stream position after the last FPDU
 * @octets: octets to consume from TCP once the last reference has been put
 * @already_passed: number of FPDUs in @octets whose ULPDUs were passed out of
 *	order; they are not in @ulpdu
 * @truesize: memory that the batch pins, in octets
 * @nr_spans: entries of @span in use
 * @len: octets in @span
 * @folio: folio of the last entry of @span, if that is an skb fragment
 * @skbs: list of the clones, linked by skb->next
 * @copy: buffer with octets that were copied, or NULL
 * @span: the pieces of memory in which the octets lie
 * @frag: the pieces in which the ULPDUs lie
 * @ulpdu: the ULPDUs
 * @octets_short: few octets that were copied
 */
struct mpa_batch {
	struct mpa_rx		rx;
	struct mpa_conn		*conn;
	struct list_head	node;
	refcount_t		ref;
	bool			done;
	bool			full;
	bool			ooo;
	u64			end;
	u32			octets;
	u32			already_passed;
	u32			truesize;
	u32			nr_spans;
	u32			len;
	struct folio		*folio;
	struct sk_buff		*skbs;
	u8			*copy;
	struct kvec		span[MPA_BATCH_SPANS];
	struct kvec		frag[MPA_BATCH_FRAGS];
	struct mpa_ulpdu	ulpdu[MPA_BATCH_ULPDUS];
	u8			octets_short[MPA_BATCH_SHORT];
};

struct mpa_batch *mpa_batch_alloc(struct mpa_conn *conn);
void mpa_batch_free(struct mpa_batch *b);
void mpa_batch_unpin(struct mpa_batch *b);
void mpa_batch_free_list(struct list_head *list);
bool mpa_batch_span(struct mpa_batch *b, void *data, u32 len);
int mpa_batch_copy(struct mpa_batch *b, struct mpa_queue *q, u64 pos, u32 len);
int mpa_batch_copy_short(struct mpa_batch *b, struct mpa_queue *q, u64 pos,
			 u32 len, u32 want);
int mpa_batch_pin(struct mpa_batch *b, struct mpa_queue *q, u64 pos, u32 want);
int mpa_batch_decode(struct mpa_batch *b, struct mpa_dec *dec, u64 limit);
void mpa_batch_pass(struct mpa_batch *b);
bool mpa_batch_oldest_done(struct mpa_conn *conn);
u32 mpa_batch_reap(struct mpa_conn *conn, struct list_head *done);

#endif /* _MPA_RX_BATCH_H */
