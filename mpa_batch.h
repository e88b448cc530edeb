/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Octets on their way to the consumer. */
#ifndef _MPA_BATCH_H
#define _MPA_BATCH_H

#include <linux/refcount.h>
#include <linux/skbuff.h>
#include "mpa_conn.h"
#include "mpa_queue.h"

#define MPA_BATCH_ULPDUS	64
#define MPA_BATCH_OCTETS	SZ_32K	/* to pin more is of no use */
#define MPA_BATCH_SHARED	SZ_4K	/* the same, of octets to be copied */
#define MPA_BATCH_SPANS		32
#define MPA_BATCH_SKBS		256	/* several may share a span */
#define MPA_BATCH_FRAGS		288	/* the longest ULPDU needs fewer */

/**
 * struct mpa_batch - octets of one or more FPDUs
 * @rx: what the consumer sees
 * @conn: a reference is held
 * @node: in mpa_conn_rx.batches once passed to the consumer
 * @ref: recv() in progress, and mpa_rx_get()
 * @done: the last reference has been put; protected by conn->lock
 * @full: there was no room for all octets of the queue
 * @early: passed before their turn; nothing is consumed from TCP
 * @end: stream position behind an early batch
 * @octets: to be consumed from TCP when done
 * @met: ULPDUs among these that were passed before, and are not in @ulpdu
 * @truesize: memory this pins
 * @nr_spans: entries of @span in use
 * @len: octets in @span
 * @folio: what the last entry of @span lies in, if it is a fragment's
 * @skbs: the clones
 * @copy: a buffer for octets that were copied, or NULL
 * @span: where the octets lie
 * @frag: where the octets of the ULPDUs lie
 * @ulpdu: the ULPDUs
 */
struct mpa_batch {
	struct mpa_rx		rx;
	struct mpa_conn		*conn;
	struct list_head	node;
	refcount_t		ref;
	bool			done;
	bool			full;
	bool			early;
	u64			end;
	u32			octets;
	u32			met;
	u32			truesize;
	u32			nr_spans;
	u32			len;
	struct folio		*folio;
	struct sk_buff		*skbs;
	u8			*copy;
	struct kvec		span[MPA_BATCH_SPANS];
	struct kvec		frag[MPA_BATCH_FRAGS];
	struct mpa_ulpdu	ulpdu[MPA_BATCH_ULPDUS];
};

struct mpa_batch *mpa_batch_alloc(struct mpa_conn *conn);
void mpa_batch_free(struct mpa_batch *b);
void mpa_batch_unpin(struct mpa_batch *b);
void mpa_batch_free_list(struct list_head *list);
bool mpa_batch_span(struct mpa_batch *b, void *data, u32 len);
int mpa_batch_copy(struct mpa_batch *b, struct mpa_queue *q, u64 pos, u32 len);
int mpa_batch_pin(struct mpa_batch *b, struct mpa_queue *q, u64 pos, u32 want);
int mpa_batch_decode(struct mpa_batch *b, struct mpa_dec *dec, u64 limit);
void mpa_batch_pass(struct mpa_batch *b);
u32 mpa_batch_reap(struct mpa_conn *conn, struct list_head *done);

#endif /* _MPA_BATCH_H */
