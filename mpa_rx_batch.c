// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A batch: pinned or copied octets of TCP's queues, and the ULPDUs found in
 * them. It lasts until the consumer has put it.
 */
#include <kunit/visibility.h>
#include <linux/slab.h>
#include <trace/events/mpa.h>
#include "mpa_rx_batch.h"

struct mpa_batch *mpa_batch_alloc(struct mpa_conn *conn)
{
	struct mpa_batch *b = mpa_spare_take(mpa_conn_gfp(conn));

	BUILD_BUG_ON(sizeof(*b) > MPA_SPARE_SIZE);
	if (!b)
		return NULL;
	memset(b, 0, offsetof(struct mpa_batch, span));
	b->rx.ulpdu = b->ulpdu;
	b->truesize = sizeof(*b);
	refcount_set(&b->ref, 1);
	INIT_LIST_HEAD(&b->node);
	mpa_conn_get(conn);
	b->conn = conn;
	return b;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_batch_alloc);

/* Drop the octets. Context: as mpa_batch_free(). */
void mpa_batch_unpin(struct mpa_batch *b)
{
	struct sk_buff *skb;

	b->nr_spans = 0;
	b->folio = NULL;
	b->len = 0;
	b->truesize = sizeof(*b);
	kvfree(b->copy);
	b->copy = NULL;
	while ((skb = b->skbs)) {
		b->skbs = skb->next;
		skb_mark_not_on_list(skb);
		consume_skb(skb);
	}
}

/*
 * Context: process, or softirq: vfree() of a copy defers its work then. Not
 * under a spinlock with BH on: there vfree() would sleep.
 */
void mpa_batch_free(struct mpa_batch *b)
{
	struct mpa_conn *conn = b->conn;

	mpa_batch_unpin(b);
	mpa_spare_give(b);
	/* Last: the module's exit waits for connections, not for batches. */
	mpa_conn_put(conn);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_batch_free);

void mpa_batch_free_list(struct list_head *list)
{
	struct mpa_batch *b, *tmp;

	list_for_each_entry_safe(b, tmp, list, node)
		mpa_batch_free(b);
}

/* Add a piece of memory. Returns false if there is no room. */
bool mpa_batch_span(struct mpa_batch *b, void *data, u32 len)
{
	/* First: after a piece without room nothing may join the last one. */
	b->folio = NULL;
	if (b->nr_spans == MPA_BATCH_SPANS) {
		b->full = true;
		return false;
	}
	b->span[b->nr_spans].iov_base = data;
	b->span[b->nr_spans].iov_len = len;
	b->nr_spans++;
	b->len += len;
	return true;
}

/*
 * Add a fragment of an skb from @off on, joined to the last piece if it follows
 * that in the same folio. Pages of two allocations may be adjacent as well, but
 * no piece may span both.
 */
static bool mpa_batch_frag(struct mpa_batch *b, const skb_frag_t *frag, u32 off)
{
	struct folio *folio = page_folio(skb_frag_page(frag));
	struct kvec *last = b->span + b->nr_spans - 1;
	void *data = skb_frag_address(frag) + off;
	u32 len = skb_frag_size(frag) - off;

	if (b->folio == folio && last->iov_base + last->iov_len == data) {
		last->iov_len += len;
		b->len += len;
		return true;
	}
	if (!mpa_batch_span(b, data, len))
		return false;
	b->folio = folio;
	return true;
}

/* Add the octets of @skb from @off on, or as many as there is room for. */
static void mpa_batch_add(struct mpa_batch *b, struct sk_buff *skb, u32 off)
{
	u32 len = skb_headlen(skb);
	struct sk_buff *frag_skb;
	unsigned int i;

	if (off < len && !mpa_batch_span(b, skb->data + off, len - off))
		return;
	off -= min(off, len);

	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		len = skb_frag_size(frag);
		if (off < len && !mpa_batch_frag(b, frag, off))
			return;
		off -= min(off, len);
	}

	/* GRO builds lists of one level only: this recurses once. */
	skb_walk_frags(skb, frag_skb) {
		if (off < frag_skb->len)
			mpa_batch_add(b, frag_skb, off);
		off -= min(off, frag_skb->len);
	}
}

/*
 * Socket lock held. Add a copy of @len octets of the queue from @pos on, or of
 * as many as there are. A batch can have one copy.
 */
int mpa_batch_copy(struct mpa_batch *b, struct mpa_queue *q, u64 pos, u32 len)
{
	len = q->src.have(&q->src, pos, len);
	b->copy = kvmalloc(len, mpa_conn_gfp(b->conn));
	if (!b->copy)
		return -ENOMEM;
	q->src.read(&q->src, pos, b->copy, len);
	b->truesize += len;
	mpa_batch_span(b, b->copy, len);
	mpa_count(b->conn, RX_COPIED);
	return 0;
}

/*
 * Socket lock held. Copy the @len octets of the queue from @pos on, at most
 * MPA_BATCH_SHORT, of which @want are needed: that is cheaper than a clone.
 */
int mpa_batch_copy_short(struct mpa_batch *b, struct mpa_queue *q, u64 pos,
			 u32 len, u32 want)
{
	len = mpa_queue_copy(q, pos, b->octets_short, len);
	mpa_batch_span(b, b->octets_short, len);
	return len >= want ? 0 : -EFAULT;
}

/*
 * Socket lock held. The next octets lie in pages that a process may write to.
 * Verified octets must not change, so these are copied if the batch lacks some
 * of @want. Copies until the batch has @want or MPA_BATCH_SHARED octets,
 * whichever is more: its FPDUs may end long before the rest. Stops after
 * MPA_QUEUE_SKBS skbs: if the batch still lacks some of @want, it counts as
 * full, and mpa_rx_copy() copies the FPDU.
 */
static int mpa_batch_copy_shared(struct mpa_batch *b, struct mpa_queue *q,
				 u64 pos, u32 want)
{
	int err;

	if (b->len >= want)
		return 0;
	err = mpa_batch_copy(b, q, pos + b->len,
			     max_t(u32, want, MPA_BATCH_SHARED) - b->len);
	if (!err && b->len < want)
		b->full = true;
	return err;
}

/*
 * Socket lock held. Clone the skbs of the queue from @pos on, up to a hole. At
 * least @want octets are needed, but the batch may be full before: for lack of
 * spans, or since MPA_BATCH_SKBS is the most for one hold of the lock.
 */
int mpa_batch_pin(struct mpa_batch *b, struct mpa_queue *q, u64 pos, u32 want)
{
	struct sk_buff *skb, *clone;
	u32 off, skbs = 0;
	int err;

	while (!b->full && b->len < max_t(u32, want, MPA_BATCH_OCTETS)) {
		skb = mpa_queue_seek(q, pos + b->len, &off);
		if (!skb)
			break;
		if (unlikely(skb_has_shared_frag(skb))) {
			err = mpa_batch_copy_shared(b, q, pos, want);
			if (err)
				return err;
			break;
		}
		clone = skb_clone(skb, mpa_conn_gfp(b->conn));
		if (!clone)
			return b->len < want ? -ENOMEM : 0;
		clone->dev = NULL;	/* shares storage with rbnode */
		clone->next = b->skbs;
		b->skbs = clone;
		b->truesize += skb->truesize;
		mpa_batch_add(b, clone, off);
		if (++skbs == MPA_BATCH_SKBS)
			b->full = true;
	}
	return b->len >= want || b->full ? 0 : -EFAULT;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_batch_pin);

/*
 * Needs no lock. Decode the FPDUs of @b from dec->pos on that are whole, as
 * many as fit, up to @limit, where an FPDU is known to begin.
 */
int mpa_batch_decode(struct mpa_batch *b, struct mpa_dec *dec, u64 limit)
{
	struct mpa_octets in = {
		.v = b->span, .nr = b->nr_spans, .len = b->len,
	};
	u64 pos = dec->pos;
	int err;

	dec->frag = b->frag;
	dec->max_frags = MPA_BATCH_FRAGS;
	err = mpa_fpdu_decode_run(dec, &in, limit, b->ulpdu, MPA_BATCH_ULPDUS,
				  &b->rx.nr);
	b->octets = dec->pos - pos;
	return err;
}

/* conn->lock held. Count @b, which is passed next. */
static void mpa_batch_count(const struct mpa_batch *b)
{
	struct mpa_conn *conn = b->conn;
	u32 i, octets = 0;

	lockdep_assert_held(&conn->lock);

	mpa_count(conn, RX_BATCHES);
	if (!b->ooo) {
		mpa_count_add(conn, RX_ULPDUS, b->rx.nr + b->already_passed);
		mpa_count_add(conn, RX_OCTETS,
			      b->rx.delivered - conn->rx.delivered);
		conn->ulpdus_rx += b->rx.nr + b->already_passed;
		conn->ooo.delivered += b->already_passed;
		conn->rx.delivered = b->rx.delivered;
		return;
	}
	for (i = 0; i < b->rx.nr; i++)
		octets += b->ulpdu[i].len;
	mpa_count_add(conn, OOO_ULPDUS, b->rx.nr);
	mpa_count_add(conn, OOO_OCTETS, octets);
	conn->ooo.ulpdus += b->rx.nr;
	conn->ooo.octets += octets;
}

/*
 * conn->lock held. Add @more octets to rx.pinned or ooo.pinned, and to the
 * namespace's sum.
 */
static void mpa_batch_account(const struct mpa_batch *b, s32 more)
{
	u32 *pinned = b->ooo ? &b->conn->ooo.pinned : &b->conn->rx.pinned;

	lockdep_assert_held(&b->conn->lock);

	WRITE_ONCE(*pinned, *pinned + more);
	mpa_net_rx_mem_add(b->conn->mn, more);
}

/* Runner only. True if the oldest batch has been put. */
bool mpa_batch_oldest_done(struct mpa_conn *conn)
{
	const struct mpa_batch *b;

	b = list_first_entry_or_null(&conn->rx.batches, struct mpa_batch, node);
	return b && READ_ONCE(b->done);
}

/*
 * Runner only; after the release the work item, which is then alone. Move
 * batches that have been put from rx.batches to @done; of those in order only
 * the ones before the first that the consumer keeps, unless the connection has
 * been released. Returns the octets to consume from TCP.
 */
u32 mpa_batch_reap(struct mpa_conn *conn, struct list_head *done)
{
	bool released = mpa_conn_test(conn, MPA_CONN_RELEASED);
	struct mpa_batch *b, *tmp;
	bool kept = false;
	u32 octets = 0;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(b, tmp, &conn->rx.batches, node) {
		if (b->done && (b->ooo || !kept || released)) {
			octets += b->octets;
			mpa_batch_account(b, -(s32)b->truesize);
			list_move_tail(&b->node, done);
		} else if (!b->ooo) {
			kept = true;
		}
	}
	spin_unlock_bh(&conn->lock);
	return octets;
}

/*
 * Runner only, after mpa_conn_enter_recv(). A batch that recv() has not kept is
 * freed at once, unless there is one before it, maybe kept: then its octets
 * have to wait.
 */
void mpa_batch_pass(struct mpa_batch *b)
{
	struct mpa_conn *conn = b->conn;
	bool done;

	spin_lock_bh(&conn->lock);
	mpa_batch_count(b);
	spin_unlock_bh(&conn->lock);

	conn->ops->recv(conn, &b->rx);
	if (b->ooo)
		trace_mpa_recv_ooo(conn, b->rx.nr, b->ulpdu->pos, b->end);
	trace_mpa_recv(conn, b->rx.nr, b->rx.delivered);
	/* Only the runner, which this is, frees it, whoever puts it last. */
	done = refcount_dec_and_test(&b->ref);
	if (done && list_empty(&conn->rx.batches)) {
		conn->rx.owed += b->octets;
		mpa_batch_free(b);
		return;
	}
	spin_lock_bh(&conn->lock);
	if (done)
		WRITE_ONCE(b->done, true);
	list_add_tail(&b->node, &conn->rx.batches);
	mpa_batch_account(b, b->truesize);
	spin_unlock_bh(&conn->lock);
}

/**
 * mpa_rx_get() - keep received octets after recv() has returned
 * @rx: the argument of recv()
 *
 * The octets stay where they are until mpa_rx_put(). Until then the receive
 * window does not open for octets that the call delivers, nor for any after
 * them: a consumer that keeps them while it waits for more may wait forever.
 * ULPDUs passed out of order can be kept until they are delivered. RFC 5044 has
 * no counterpart.
 *
 * Context: in recv(), or any with a reference already held; does not sleep.
 */
void mpa_rx_get(struct mpa_rx *rx)
{
	struct mpa_batch *b = container_of(rx, struct mpa_batch, rx);

	refcount_inc(&b->ref);
}
EXPORT_SYMBOL_GPL(mpa_rx_get);

/**
 * mpa_rx_put() - release received octets
 * @rx: the argument of mpa_rx_get(); not used by the consumer afterwards
 *
 * After the last one the work item consumes octets that were delivered, in
 * order, which opens the receive window. Allowed after released(), too: then
 * the work item frees the octets, and calls no callback. RFC 5044 has no
 * counterpart.
 *
 * Context: any with interrupts on, also with a spinlock held; takes conn->lock,
 * does not sleep. May be called from callbacks.
 */
void mpa_rx_put(struct mpa_rx *rx)
{
	struct mpa_batch *b = container_of(rx, struct mpa_batch, rx);
	struct mpa_conn *conn = b->conn;

	if (!refcount_dec_and_test(&b->ref))
		return;
	/* Once @done is set, the runner may free @b and its reference. */
	mpa_conn_get(conn);
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(b->done, true);
	spin_unlock_bh(&conn->lock);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_rx_put);
