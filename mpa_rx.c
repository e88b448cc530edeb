// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving: from TCP's receive queue to the consumer's recv().
 *
 * The source is the receive queue from rx.seq on. Under the socket lock its
 * skbs are cloned into a batch, which pins the octets whatever TCP does to the
 * queue afterwards; nothing is consumed. FPDUs are decoded with no lock held,
 * the batch is passed to the consumer, and when it has been put its octets are
 * consumed from TCP, in order, which opens the window.
 *
 * An FPDU that is larger than the receive window, or lies in more pieces than
 * a batch has room for, is copied together in one buffer first. In the first
 * case its octets have to be consumed at once (rx.eaten), so that the window
 * lets the rest in.
 *
 * Memory that a peer can make a connection hold: its receive buffer; as much
 * again in clones of skbs that TCP has collapsed since (rx.pinned); one buffer
 * of MPA_FPDU_MAX octets; one batch.
 */
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_conn.h"

#define MPA_BATCH_ULPDUS	32
#define MPA_BATCH_SPANS		24
#define MPA_BATCH_FRAGS		168	/* for the longest ULPDU, and more */

/**
 * struct mpa_batch - octets of one or more FPDUs
 * @rx: what the consumer sees
 * @conn: a reference is held
 * @node: in mpa_conn_rx.batches once passed to the consumer
 * @ref: recv() in progress, and mpa_rx_get()
 * @done: the last reference has been put; protected by conn->lock
 * @full: there was no room for all octets of the queue
 * @octets: to be consumed from TCP when done
 * @truesize: memory this pins
 * @nr_spans: entries of @span in use
 * @nr_frags: entries of @frag in use
 * @len: octets in @span
 * @skbs: the clones
 * @copy: or else the buffer
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
	u32			octets;
	u32			truesize;
	u32			nr_spans;
	u32			nr_frags;
	u32			len;
	struct sk_buff		*skbs;
	u8			*copy;
	struct kvec		span[MPA_BATCH_SPANS];
	struct kvec		frag[MPA_BATCH_FRAGS];
	struct mpa_ulpdu	ulpdu[MPA_BATCH_ULPDUS];
};

static struct mpa_batch *mpa_batch_alloc(struct mpa_conn *conn)
{
	struct mpa_batch *b = kmalloc(sizeof(*b), GFP_KERNEL);

	BUILD_BUG_ON(sizeof(*b) > SZ_4K);
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

static void mpa_batch_free(struct mpa_batch *b)
{
	kfree_skb_list(b->skbs);
	kvfree(b->copy);
	mpa_conn_put(b->conn);
	kfree(b);
}

/* Returns whether there was room. */
static bool mpa_batch_span(struct mpa_batch *b, void *data, u32 len)
{
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
		if (off < len &&
		    !mpa_batch_span(b, skb_frag_address(frag) + off, len - off))
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
 * Socket lock held. Clone what is in the receive queue from @seq on, of which
 * @want octets are needed at least; skbs may overlap, so each is entered by
 * sequence number.
 */
static int mpa_batch_pin(struct mpa_batch *b, struct sock *sk, u32 seq,
			 u32 want)
{
	struct sk_buff *skb, *clone;

	sock_owned_by_me(sk);

	skb_queue_walk(&sk->sk_receive_queue, skb) {
		u32 off = seq + b->len - TCP_SKB_CB(skb)->seq;

		if (off >= skb->len)
			continue;
		if (!skb_frags_readable(skb))
			return -EFAULT;
		clone = skb_clone(skb, GFP_KERNEL);
		if (!clone)
			return b->len < want ? -ENOMEM : 0;
		clone->next = b->skbs;
		b->skbs = clone;
		b->truesize += skb->truesize;
		mpa_batch_add(b, clone, off);
		if (b->full)
			break;
	}
	return b->len ? 0 : -EFAULT;
}

/* An FPDU has been decoded. */
static void mpa_batch_ulpdu(struct mpa_batch *b, const struct mpa_dec *dec)
{
	struct mpa_ulpdu *ulpdu = &b->ulpdu[b->rx.nr++];

	ulpdu->pos = dec->pos;
	ulpdu->len = dec->len;
	ulpdu->nr_frags = dec->nr_frags;
	ulpdu->frag = dec->frag;
	b->nr_frags += dec->nr_frags;
	b->octets += dec->size;
}

/* Octets from which the ULPDU_Length at rx.pos can be read. */
static u32 mpa_rx_header(const struct mpa_conn *conn)
{
	if (conn->terms.markers_rx && conn->rx.pos % MPA_MARKER_INTERVAL == 0)
		return MPA_MARKER_SIZE + MPA_LENGTH_SIZE;
	return MPA_LENGTH_SIZE;
}

/* Full operation begins at the first octet that has not been consumed. */
void mpa_rx_begin(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);
	conn->rx.seq = tcp_sk(sk)->copied_seq;
	conn->rx.want = mpa_rx_header(conn);
	WRITE_ONCE(conn->rx.need, conn->rx.seq + conn->rx.want);
	release_sock(sk);
}

/*
 * Socket lock held. Octets behind rx.seq; the FIN, which may have been consumed
 * with the startup frame, is not one.
 */
static u32 mpa_rx_avail(const struct mpa_conn *conn)
{
	u32 end = tcp_sk(conn->sk)->rcv_nxt - mpa_tcp_fin(conn->sk);

	return after(end, conn->rx.seq) ? end - conn->rx.seq : 0;
}

/* Move batches that have been put from rx.batches to @done. */
static u32 mpa_rx_reap(struct mpa_conn *conn, struct list_head *done)
{
	struct mpa_batch *b, *tmp;
	u32 octets = 0;

	spin_lock_bh(&conn->lock);
	list_for_each_entry_safe(b, tmp, &conn->rx.batches, node) {
		if (!b->done)
			break;
		octets += b->octets;
		conn->rx.pinned -= b->truesize;
		list_move_tail(&b->node, done);
	}
	spin_unlock_bh(&conn->lock);
	return octets;
}

static void mpa_batch_free_list(struct list_head *list)
{
	struct mpa_batch *b, *tmp;

	list_for_each_entry_safe(b, tmp, list, node)
		mpa_batch_free(b);
}

/* Socket lock held. Consume from TCP what the consumer has put. */
static void mpa_rx_consume(struct mpa_conn *conn)
{
	LIST_HEAD(done);
	u32 octets;

	sock_owned_by_me(conn->sk);

	octets = mpa_rx_reap(conn, &done);
	if (octets)
		tcp_read_done(conn->sk, octets);
	mpa_batch_free_list(&done);
}

/* Socket lock held. Copy @len octets from sequence number @seq on. */
static int mpa_rx_copy_octets(struct sock *sk, u32 seq, u8 *to, u32 len)
{
	struct sk_buff *skb;
	u32 off, n;

	sock_owned_by_me(sk);

	if (!len)
		return 0;
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		off = seq - TCP_SKB_CB(skb)->seq;
		if (off >= skb->len)
			continue;
		n = min(len, skb->len - off);
		if (skb_copy_bits(skb, off, to, n))
			return -EFAULT;
		seq += n;
		to += n;
		len -= n;
		if (!len)
			return 0;
	}
	return -EFAULT;
}

/*
 * Socket lock held. Add to the buffer until it has @goal octets of the FPDU,
 * and with @eat consume them.
 */
static int mpa_rx_copy(struct mpa_conn *conn, u32 goal, bool eat)
{
	struct mpa_conn_rx *rx = &conn->rx;
	u32 n;
	int err;

	if (!rx->copy) {
		/* The length is not known from the header alone. */
		rx->capacity = rx->want > mpa_rx_header(conn) ? rx->want :
							MPA_FPDU_MAX;
		rx->copy = kvmalloc(rx->capacity, GFP_KERNEL);
		if (!rx->copy)
			return -ENOMEM;
		mpa_count(conn, RX_COPIED);
	}

	n = min(goal, rx->want) - rx->copied;
	err = mpa_rx_copy_octets(conn->sk, rx->seq + rx->copied,
				 rx->copy + rx->copied, n);
	if (err)
		return err;
	rx->copied += n;
	if (eat) {
		tcp_read_done(conn->sk, n);
		rx->eaten += n;
	}
	return 0;
}

/*
 * Socket lock held. Is the window too small for the rest of this FPDU to come
 * in? Only if all before it has been consumed is that for us to change.
 */
static bool mpa_rx_stuck(const struct mpa_conn *conn)
{
	return tcp_epollin_ready(conn->sk, INT_MAX) &&
	       list_empty(&conn->rx.batches) &&
	       !mpa_conn_test(conn, MPA_CONN_HOLD);
}

/*
 * Socket lock held. FIN, with @avail octets behind the last FPDU: a marker of
 * zero that was sent ahead of an FPDU that never came is tolerated.
 */
static void mpa_rx_fin(struct mpa_conn *conn, u32 avail)
{
	bool clean = !avail;
	__be32 marker;

	if (avail == MPA_MARKER_SIZE && !conn->rx.eaten &&
	    conn->terms.markers_rx && conn->rx.pos % MPA_MARKER_INTERVAL == 0)
		clean = !mpa_rx_copy_octets(conn->sk, conn->rx.seq,
					    (u8 *)&marker, sizeof(marker)) &&
			!marker;
	mpa_cm_end(conn, clean ? MPA_REASON_FIN : MPA_REASON_TRUNCATED, 0);
}

/* Socket lock held. The FPDU as far as it has been copied, or NULL. */
static struct mpa_batch *mpa_rx_take_copy(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;
	struct mpa_batch *b;

	if (rx->copied < rx->want)
		return NULL;
	b = mpa_batch_alloc(conn);
	if (!b)
		return ERR_PTR(-ENOMEM);
	mpa_batch_span(b, rx->copy, rx->copied);
	return b;
}

/*
 * Socket lock held. Fewer octets are there than would be of use: end of the
 * stream, or a window that has to be opened, or just wait.
 */
static struct mpa_batch *mpa_rx_short(struct mpa_conn *conn, u32 avail)
{
	struct mpa_conn_rx *rx = &conn->rx;
	int err;

	if (mpa_tcp_fin(conn->sk)) {
		mpa_rx_fin(conn, avail);
		return NULL;
	}
	WRITE_ONCE(rx->need, rx->seq + rx->want);
	if (avail == rx->copied || !mpa_rx_stuck(conn))
		return NULL;
	err = mpa_rx_copy(conn, avail, true);
	return ERR_PTR(err);
}

/*
 * Socket lock held. Octets to decode, NULL if there are not enough, or an
 * ERR_PTR().
 */
static struct mpa_batch *mpa_rx_collect(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;
	struct mpa_batch *b;
	u32 avail;
	int err;

	if (tcp_sk(conn->sk)->urg_data) {
		mpa_cm_end(conn, MPA_REASON_URGENT, 0);
		return NULL;
	}
	avail = mpa_rx_avail(conn);
	if (avail < rx->want)
		return mpa_rx_short(conn, avail);

	if (rx->copy || rx->fragmented) {
		err = mpa_rx_copy(conn, rx->want, rx->eaten);
		return err ? ERR_PTR(err) : mpa_rx_take_copy(conn);
	}
	b = mpa_batch_alloc(conn);
	if (!b)
		return ERR_PTR(-ENOMEM);
	err = mpa_batch_pin(b, conn->sk, rx->seq, rx->want);
	if (!err)
		return b;
	mpa_batch_free(b);
	return ERR_PTR(err);
}

/* What the decoder said when it stopped. */
static void mpa_rx_decoded(struct mpa_conn *conn, const struct mpa_batch *b,
			   const struct mpa_dec *dec, int err)
{
	struct mpa_conn_rx *rx = &conn->rx;

	rx->pos += b->octets;
	rx->seq += b->octets;
	rx->want = mpa_rx_header(conn);
	if (err == -EBADMSG)
		mpa_cm_end(conn, dec->reason, 0);
	else if (err)
		rx->want = dec->size;
	rx->fragmented = err && !b->rx.nr && (b->full || err == -ENOBUFS);
	/* CS-29: the Responder has heard an FPDU. */
	if (b->rx.nr)
		conn->tx.gate = true;
}

/* No lock held. Decode the FPDUs in @b, as many as are whole. */
static void mpa_rx_decode(struct mpa_conn *conn, struct mpa_batch *b)
{
	struct mpa_octets in = {
		.v = b->span, .nr = b->nr_spans, .len = b->len,
	};
	struct mpa_dec dec = {
		.pos = conn->rx.pos,
		.markers = conn->terms.markers_rx,
		.crc = conn->terms.crc,
	};
	int err = 0;

	while (b->rx.nr < MPA_BATCH_ULPDUS) {
		dec.frag = b->frag + b->nr_frags;
		dec.max_frags = MPA_BATCH_FRAGS - b->nr_frags;
		err = mpa_fpdu_decode(&dec, &in);
		if (err)
			break;
		mpa_batch_ulpdu(b, &dec);
		mpa_octets_advance(&in, dec.size);
		dec.pos += dec.size;
	}
	mpa_rx_decoded(conn, b, &dec, err);
}

/* The buffer goes with the batch, and with it what is to be consumed. */
static void mpa_rx_give_copy(struct mpa_conn *conn, struct mpa_batch *b)
{
	struct mpa_conn_rx *rx = &conn->rx;

	if (!rx->copy || !b->rx.nr)
		return;
	b->copy = rx->copy;
	b->octets -= rx->eaten;
	b->truesize += rx->capacity;
	rx->copy = NULL;
	rx->copied = 0;
	rx->eaten = 0;
}

/* Find octets and decode them; returns whether that got us any further. */
static bool mpa_rx_fill(struct mpa_conn *conn)
{
	struct mpa_batch *b;

	WRITE_ONCE(conn->rx.blocked, false);
	lock_sock(conn->sk);
	mpa_rx_consume(conn);
	b = mpa_rx_collect(conn);
	release_sock(conn->sk);

	if (b == ERR_PTR(-ENOMEM)) {
		mpa_conn_retry(conn);
		return false;
	}
	if (IS_ERR(b)) {
		mpa_cm_lost(conn, MPA_REASON_RESET, PTR_ERR(b));
		return false;
	}
	if (!b)
		return conn->rx.end.error;

	mpa_rx_decode(conn, b);
	mpa_rx_give_copy(conn, b);
	if (!b->rx.nr) {
		mpa_batch_free(b);
		return true;
	}
	b->rx.delivered = conn->rx.pos;
	conn->rx.ready = b;
	return true;
}

/* The last reference on a batch is gone. Context: any but hard interrupt. */
static void mpa_batch_done(struct mpa_batch *b, bool kick)
{
	struct mpa_conn *conn = b->conn;
	bool released;

	/* The batch and its own reference may go with the unlock. */
	mpa_conn_hold(conn);
	spin_lock_bh(&conn->lock);
	b->done = true;
	released = mpa_conn_test(conn, MPA_CONN_RELEASED);
	if (released)
		list_del(&b->node);
	spin_unlock_bh(&conn->lock);

	if (released)
		mpa_batch_free(b);
	if (kick && !released)
		mpa_conn_kick_put(conn);
	else
		mpa_conn_put(conn);
}

static bool mpa_rx_deliver(struct mpa_conn *conn)
{
	struct mpa_batch *b = conn->rx.ready;

	if (!mpa_conn_enter_recv(conn))
		return false;

	conn->rx.ready = NULL;
	trace_mpa_recv(conn, b->rx.nr, b->rx.delivered);
	mpa_count(conn, RX_BATCHES);
	mpa_count_add(conn, RX_ULPDUS, b->rx.nr);
	mpa_count_add(conn, RX_OCTETS, b->rx.delivered - conn->rx.end.pos);
	spin_lock_bh(&conn->lock);
	list_add_tail(&b->node, &conn->rx.batches);
	conn->rx.pinned += b->truesize;
	conn->rx.end.pos = b->rx.delivered;
	conn->ulpdus_rx += b->rx.nr;
	spin_unlock_bh(&conn->lock);

	conn->ops->recv(conn, &b->rx);
	if (refcount_dec_and_test(&b->ref))
		mpa_batch_done(b, false);
	return true;
}

/*
 * After an error: nothing is delivered any more (ER-11), but what arrives is
 * read, so that the peer's FIN is seen and closing does not mean a reset that
 * overtakes our last message.
 */
static void mpa_rx_discard(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	LIST_HEAD(done);
	u32 octets;

	lock_sock(sk);
	mpa_rx_reap(conn, &done);
	octets = tcp_sk(sk)->rcv_nxt - tcp_sk(sk)->copied_seq;
	if (octets)
		tcp_read_done(sk, octets);
	mpa_count_add(conn, RX_DISCARDED, octets);
	WRITE_ONCE(conn->rx.need, tcp_sk(sk)->rcv_nxt + 1);
	release_sock(sk);
	conn->rx.discarded = true;
	mpa_batch_free_list(&done);
}

/* The receive half has ended and all before was delivered. */
static bool mpa_rx_ended(struct mpa_conn *conn)
{
	/* CS-29: this Responder will never be allowed to send. */
	if (!conn->tx.gate)
		mpa_tx_cancel(conn, -EPIPE);
	mpa_cm_report(conn);
	return true;
}

/* Has the consumer kept as much as it may? */
static bool mpa_rx_overdrawn(const struct mpa_conn *conn)
{
	return READ_ONCE(conn->rx.pinned) > READ_ONCE(conn->sk->sk_rcvbuf);
}

/* Consume what has been put although nothing new can be passed. */
static void mpa_rx_blocked(struct mpa_conn *conn)
{
	WRITE_ONCE(conn->rx.blocked, true);
	lock_sock(conn->sk);
	mpa_rx_consume(conn);
	release_sock(conn->sk);
}

/* Work item, in full operation: one step. True if there may be another. */
bool mpa_rx_run(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;
	bool more = false;

	if (rx->reported) {
		mpa_rx_discard(conn);
		return false;
	}
	if (!rx->ready && !rx->end.error) {
		if (mpa_rx_overdrawn(conn)) {
			mpa_rx_blocked(conn);
			if (mpa_rx_overdrawn(conn))
				return false;
		}
		more = mpa_rx_fill(conn);
	}
	if (rx->ready && mpa_rx_deliver(conn))
		return true;
	if (rx->ready)
		mpa_rx_blocked(conn);
	else if (rx->end.error && !rx->reported)
		more = mpa_rx_ended(conn);
	return more;
}

/* What has been decoded will not be delivered. */
void mpa_rx_drop(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;

	if (rx->ready) {
		mpa_count_add(conn, RX_DISCARDED, rx->ready->octets);
		mpa_batch_free(rx->ready);
	}
	rx->ready = NULL;
	kvfree(rx->copy);
	rx->copy = NULL;
	rx->copied = 0;
	rx->eaten = 0;
}

/*
 * MPA leaves the socket: consume all that has been passed to the consumer, so
 * that the first unread octet is the one behind it.
 */
void mpa_rx_finish(struct mpa_conn *conn)
{
	struct mpa_batch *b;
	u32 octets = 0;

	mpa_rx_drop(conn);
	spin_lock_bh(&conn->lock);
	list_for_each_entry(b, &conn->rx.batches, node) {
		octets += b->octets;
		b->octets = 0;
	}
	spin_unlock_bh(&conn->lock);

	if (!octets || conn->rx.discarded)
		return;
	lock_sock(conn->sk);
	tcp_read_done(conn->sk, octets);
	release_sock(conn->sk);
}

/* From now on a batch is freed by whoever puts it last. */
void mpa_rx_release(struct mpa_conn *conn)
{
	struct mpa_batch *b, *tmp;
	LIST_HEAD(done);

	spin_lock_bh(&conn->lock);
	set_bit(MPA_CONN_RELEASED, &conn->flags);
	list_for_each_entry_safe(b, tmp, &conn->rx.batches, node)
		if (b->done)
			list_move_tail(&b->node, &done);
	spin_unlock_bh(&conn->lock);
	mpa_batch_free_list(&done);
}

/**
 * mpa_rx_get() - keep received octets beyond recv()
 * @rx: what recv() was called with
 *
 * The octets stay where they are until mpa_rx_put(), and the receive window
 * does not open for them or for what comes behind them: a consumer that waits
 * for more while it keeps what it has may wait for ever.
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

	if (refcount_dec_and_test(&b->ref))
		mpa_batch_done(b, true);
}
EXPORT_SYMBOL_GPL(mpa_rx_put);
