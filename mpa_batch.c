// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A batch: pinned or copied octets of TCP's queues, and the ULPDUs found in
 * them. It lasts until the consumer has put it.
 */
#include <kunit/visibility.h>
#include <linux/slab.h>
#include <trace/events/mpa.h>
#include "mpa_batch.h"

struct mpa_batch *mpa_batch_alloc(struct mpa_conn *conn)
{
	struct mpa_batch *b = kmalloc(sizeof(*b), MPA_GFP_QUIET);

	BUILD_BUG_ON(sizeof(*b) > SZ_8K);
	if (!b)
		return NULL;
	memset(b, 0, offsetof(struct mpa_batch, span));
	b->rx.ulpdu = b->ulpdu;
	b->truesize = sizeof(*b);
	refcount_set(&b->ref, 1);
	INIT_LIST_HEAD(&b->node);
	mpa_conn_hold(conn);
	b->conn = conn;
	return b;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_batch_alloc);

/* Let go of the octets. Nobody has dropped them. */
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

void mpa_batch_free(struct mpa_batch *b)
{
	struct mpa_conn *conn = b->conn;

	mpa_batch_unpin(b);
	kfree(b);
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

/* Returns whether there was room. */
bool mpa_batch_span(struct mpa_batch *b, void *data, u32 len)
{
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
 * The same for a fragment from @off on. Pages that are fragments of their own
 * may be neighbours all the same; but nothing may span memory that was not
 * allocated as one.
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

/* Add the octets of @skb from @off on, until the batch is full. */
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

	/* GRO makes lists of one level. */
	skb_walk_frags(skb, frag_skb) {
		if (off < frag_skb->len)
			mpa_batch_add(b, frag_skb, off);
		off -= min(off, frag_skb->len);
	}
}

/*
 * Socket lock held. Add a copy of @len octets of the queue from @pos on, or of
 * as many as there are. A batch has room for one.
 */
int mpa_batch_copy(struct mpa_batch *b, struct mpa_queue *q, u64 pos, u32 len)
{
	len = q->src.have(&q->src, pos, len);
	b->copy = kvmalloc(len, MPA_GFP_QUIET);
	if (!b->copy)
		return -ENOMEM;
	q->src.read(&q->src, pos, b->copy, len);
	b->truesize += len;
	mpa_batch_span(b, b->copy, len);
	mpa_count(b->conn, RX_COPIED);
	return 0;
}

/*
 * The same, where @want octets are needed and what comes next lies in pages
 * that somebody else may write to. What has been verified must not change, so
 * these are copied, and little more than needed: a batch may end much earlier.
 */
static int mpa_batch_copy_shared(struct mpa_batch *b, struct mpa_queue *q,
				 u64 pos, u32 want)
{
	if (b->len >= want)
		return 0;
	return mpa_batch_copy(b, q, pos + b->len,
			      max_t(u32, want, MPA_BATCH_SHARED) - b->len);
}

/*
 * Socket lock held. Clone what is in the queue from @pos on without a hole, of
 * which @want octets are needed at least, unless the batch is full before.
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
		clone = skb_clone(skb, MPA_GFP_QUIET);
		if (!clone)
			return b->len < want ? -ENOMEM : 0;
		clone->dev = NULL;	/* a pointer of the tree, there */
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
 * No lock held. Decode the FPDUs in @b from dec->pos on, as many as are whole,
 * and fit, up to @limit, where one is known to begin.
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

static void mpa_batch_count(const struct mpa_batch *b)
{
	struct mpa_conn *conn = b->conn;
	u32 i, octets = 0;

	mpa_count(conn, RX_BATCHES);
	if (!b->early) {
		mpa_count_add(conn, RX_ULPDUS, b->rx.nr + b->met);
		mpa_count_add(conn, RX_OCTETS,
			      b->rx.delivered - conn->rx.end.pos);
		conn->ulpdus_rx += b->rx.nr + b->met;
		conn->ooo.met += b->met;
		conn->rx.end.pos = b->rx.delivered;
		return;
	}
	for (i = 0; i < b->rx.nr; i++)
		octets += b->ulpdu[i].len;
	mpa_count_add(conn, OOO_ULPDUS, b->rx.nr);
	mpa_count_add(conn, OOO_OCTETS, octets);
	conn->ooo.ulpdus += b->rx.nr;
	conn->ooo.octets += octets;
}

/* Add @more octets to rx.pinned or ooo.pinned, and to the namespace's sum. */
static void mpa_batch_account(const struct mpa_batch *b, s32 more)
{
	u32 *pinned = b->early ? &b->conn->ooo.pinned : &b->conn->rx.pinned;

	lockdep_assert_held(&b->conn->lock);

	WRITE_ONCE(*pinned, *pinned + more);
	mpa_net_rx_mem_add(b->conn->mn, more);
}

/*
 * Move batches that have been put from rx.batches to @done. Returns how many
 * octets can be consumed from TCP, which is in order only.
 */
u32 mpa_batch_reap(struct mpa_conn *conn, struct list_head *done)
{
	bool released = mpa_conn_test(conn, MPA_CONN_RELEASED);
	struct mpa_batch *b, *tmp;
	bool kept = false;
	u32 octets = 0;

	/* Nobody but the work item adds one. */
	if (list_empty_careful(&conn->rx.batches))
		return 0;
	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(b, tmp, &conn->rx.batches, node) {
		if (b->done && (b->early || !kept || released)) {
			octets += b->octets;
			mpa_batch_account(b, -(s32)b->truesize);
			list_move_tail(&b->node, done);
		} else if (!b->early) {
			kept = true;
		}
	}
	spin_unlock_bh(&conn->lock);
	return octets;
}

/* The last reference on a batch is gone: the work item does the rest. */
static void mpa_batch_done(struct mpa_batch *b)
{
	spin_lock_bh(&b->conn->lock);
	b->done = true;
	spin_unlock_bh(&b->conn->lock);
}

/* Work item only, when recv() may be called: call it. */
void mpa_batch_pass(struct mpa_batch *b)
{
	struct mpa_conn *conn = b->conn;

	spin_lock_bh(&conn->lock);
	mpa_batch_count(b);
	list_add_tail(&b->node, &conn->rx.batches);
	mpa_batch_account(b, b->truesize);
	spin_unlock_bh(&conn->lock);

	conn->ops->recv(conn, &b->rx);
	if (b->early)
		trace_mpa_early(conn, b->rx.nr, b->ulpdu->pos, b->end);
	trace_mpa_recv(conn, b->rx.nr, b->rx.delivered);
	if (refcount_dec_and_test(&b->ref))
		mpa_batch_done(b);
}

/**
 * mpa_rx_get() - keep received octets beyond recv()
 * @rx: what recv() was called with
 *
 * The octets stay where they are until mpa_rx_put(). Of what is delivered with
 * the call, the receive window does not open for them or for what comes behind
 * them: a consumer that waits for more while it keeps what it has may wait for
 * ever. What is passed out of order can be kept until it is delivered.
 *
 * Context: from recv(), or with a reference already held; any context.
 */
void mpa_rx_get(struct mpa_rx *rx)
{
	struct mpa_batch *b = container_of(rx, struct mpa_batch, rx);

	refcount_inc(&b->ref);
}
EXPORT_SYMBOL_GPL(mpa_rx_get);

/**
 * mpa_rx_put() - release received octets
 * @rx: what mpa_rx_get() was called with; not used by the consumer afterwards
 *
 * The last one opens the window, later, in the work item. Allowed also after
 * released().
 *
 * Context: any but hard interrupt; takes conn->lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_rx_put(struct mpa_rx *rx)
{
	struct mpa_batch *b = container_of(rx, struct mpa_batch, rx);
	struct mpa_conn *conn = b->conn;

	if (!refcount_dec_and_test(&b->ref))
		return;
	/* mpa_batch_done() lets the work item free @b and its reference. */
	mpa_conn_hold(conn);
	mpa_batch_done(b);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_rx_put);
