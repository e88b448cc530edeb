// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP's two queues of received octets: the receive queue, a list, and the
 * queue of octets after holes, a tree. MPA reads them with the socket locked,
 * and changes nothing. Skbs may overlap in both, so octets are looked up by
 * sequence number. A FIN is not an octet.
 */
#include <kunit/visibility.h>
#include <net/tcp.h>
#include "mpa_conn.h"
#include "mpa_rx_queue.h"

#define MPA_QUEUE_COVERED	8

static u32 queue_seq(const struct mpa_queue *q, u64 pos)
{
	return q->seq + (u32)(pos - q->pos);
}

static u32 skb_end(const struct sk_buff *skb)
{
	return TCP_SKB_CB(skb)->seq + skb->len;
}

static struct sk_buff *queue_after(const struct mpa_queue *q,
				   struct sk_buff *skb)
{
	if (q->ooo)
		return skb_rb_next(skb);
	if (skb_queue_is_last(&q->sk->sk_receive_queue, skb))
		return NULL;
	return skb_queue_next(&q->sk->sk_receive_queue, skb);
}

static bool skb_has(const struct sk_buff *skb, u32 seq)
{
	return seq - TCP_SKB_CB(skb)->seq < skb->len;
}

/* The last skb in the tree that begins at or before @seq, or NULL. */
static struct sk_buff *queue_before(struct mpa_queue *q, u32 seq)
{
	struct rb_node *node = tcp_sk(q->sk)->out_of_order_queue.rb_node;
	struct sk_buff *found = NULL;
	struct sk_buff *skb;

	for (; node; q->src.steps++) {
		skb = rb_to_skb(node);
		if (after(TCP_SKB_CB(skb)->seq, seq)) {
			node = node->rb_left;
		} else {
			found = skb;
			node = node->rb_right;
		}
	}
	return found;
}

/*
 * The skb in the tree that has @seq, or the first one after @seq. TCP may
 * append a segment to an skb, so that it covers skbs after it, and leave these
 * in the tree. If they are more than MPA_QUEUE_COVERED, there seems to be a
 * hole, and the octets are passed in order only.
 */
static struct sk_buff *queue_descend(struct mpa_queue *q, u32 seq)
{
	struct sk_buff *found = queue_before(q, seq);
	struct sk_buff *skb = found;
	int i;

	if (!found)
		return skb_rb_first(&tcp_sk(q->sk)->out_of_order_queue);
	for (i = 0; skb && i < MPA_QUEUE_COVERED; i++, q->src.steps++) {
		if (skb_has(skb, seq))
			return skb;
		skb = skb_rb_prev(skb);
	}
	return skb_rb_next(found);
}

/* The first or the last skb in the list, whichever is nearer to @seq. */
static struct sk_buff *queue_end(const struct mpa_queue *q, u32 seq)
{
	const struct tcp_sock *tp = tcp_sk(q->sk);

	if (seq - tp->copied_seq > tp->rcv_nxt - seq)
		return skb_peek_tail(&q->sk->sk_receive_queue);
	return skb_peek(&q->sk->sk_receive_queue);
}

/*
 * The first skb in the list that ends after @seq. Along the list the ends of
 * the skbs rise; their beginnings need not. Walks both ways: the markers of an
 * FPDU are read after its last octet was looked up.
 */
static struct sk_buff *queue_walk(struct mpa_queue *q, u32 seq)
{
	const struct sk_buff_head *list = &q->sk->sk_receive_queue;
	struct sk_buff *skb = q->skb ?: queue_end(q, seq);
	struct sk_buff *prev;

	for (; skb && !after(skb_end(skb), seq); q->src.steps++)
		skb = queue_after(q, skb);
	for (; skb && !skb_queue_is_first(list, skb); q->src.steps++) {
		prev = skb_queue_prev(list, skb);
		if (!after(skb_end(prev), seq))
			break;
		skb = prev;
	}
	return skb;
}

/* Mostly it is the skb found last, or the next one. */
static struct sk_buff *queue_find(struct mpa_queue *q, u32 seq)
{
	struct sk_buff *skb = q->skb;

	q->src.steps++;
	if (skb && !skb_has(skb, seq))
		skb = queue_after(q, skb);
	if (!skb || !skb_has(skb, seq))
		skb = q->ooo ? queue_descend(q, seq) : queue_walk(q, seq);
	q->skb = skb;
	return skb;
}

/* The skb that has the octet at @pos, at *@off; NULL if none can be read. */
struct sk_buff *mpa_queue_seek(struct mpa_queue *q, u64 pos, u32 *off)
{
	u32 seq = queue_seq(q, pos);
	struct sk_buff *skb;

	sock_owned_by_me(q->sk);

	skb = queue_find(q, seq);
	if (!skb || !skb_has(skb, seq) || !skb_frags_readable(skb))
		return NULL;
	*off = seq - TCP_SKB_CB(skb)->seq;
	return skb;
}

/* Mostly all octets lie in the first fragment: saves the walk. */
static void queue_copy_bits(const struct sk_buff *skb, u32 off, void *to,
			    u32 len)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;
	u32 head = skb_headlen(skb);

	if (skb_shinfo(skb)->nr_frags && off >= head &&
	    off - head + len <= skb_frag_size(frag))
		memcpy(to, skb_frag_address(frag) + (off - head), len);
	else
		WARN_ON_ONCE(skb_copy_bits(skb, off, to, len));
}

/*
 * Copy @len octets from @pos on, but not from more than MPA_QUEUE_COPY skbs.
 * Returns how many were copied: 0 if there are none. Context: socket lock held.
 */
u32 mpa_queue_copy(struct mpa_queue *q, u64 pos, void *to, u32 len)
{
	u32 begun = 0, done = 0, off, n;
	struct sk_buff *skb;

	do {
		skb = mpa_queue_seek(q, pos + done, &off);
		if (!skb)
			break;
		/* To find the first is not part of the budget. */
		if (!done)
			begun = q->src.steps;
		n = min(len - done, skb->len - off);
		queue_copy_bits(skb, off, to + done, n);
		done += n;
	} while (done < len && q->src.steps - begun < MPA_QUEUE_COPY);
	return done;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_queue_copy);

/* Remember the piece of @skb that has the octet at @off; none in frag lists. */
static void queue_note(struct mpa_queue *q, const struct sk_buff *skb, u32 off)
{
	u32 from = 0, len = skb_headlen(skb);
	const skb_frag_t *frag;
	unsigned int i;

	q->piece = skb->data;
	for (i = 0; off >= from + len; i++) {
		if (i == skb_shinfo(skb)->nr_frags) {
			len = 0;
			break;
		}
		frag = &skb_shinfo(skb)->frags[i];
		from += len;
		len = skb_frag_size(frag);
		q->piece = skb_frag_address(frag);
	}
	q->piece_seq = TCP_SKB_CB(skb)->seq + from;
	q->piece_len = len;
}

/* True if @len octets from @seq on lie in the piece remembered. */
static bool queue_noted(const struct mpa_queue *q, u32 seq, u32 len)
{
	u32 off = seq - q->piece_seq;

	return off < q->piece_len && len <= q->piece_len - off;
}

static struct mpa_queue *queue_of(struct mpa_stream *src)
{
	return container_of(src, struct mpa_queue, src);
}

static u64 queue_src_next(struct mpa_stream *src, u64 pos)
{
	struct mpa_queue *q = queue_of(src);
	u32 seq = queue_seq(q, pos);
	struct sk_buff *skb;

	skb = queue_find(q, seq);
	if (!skb)
		return MPA_POS_NONE;
	if (!after(TCP_SKB_CB(skb)->seq, seq))
		return pos;
	return pos + (TCP_SKB_CB(skb)->seq - seq);
}

/*
 * Octets in more than MPA_QUEUE_SKBS skbs are treated as if a hole followed:
 * a longer walk would keep the socket locked for as long as a peer likes.
 */
static u32 queue_src_have(struct mpa_stream *src, u64 pos, u32 max)
{
	struct mpa_queue *q = queue_of(src);
	u32 have = 0, begun = 0, off;
	struct sk_buff *skb;

	if (queue_noted(q, queue_seq(q, pos), max))
		return max;
	while (have < max) {
		if (have && src->steps - begun >= MPA_QUEUE_SKBS)
			return have;
		skb = mpa_queue_seek(q, pos + have, &off);
		if (!skb)
			return have;
		/* The walk to the first octet is not part of the budget. */
		if (!have)
			begun = src->steps;
		have += skb->len - off;
	}
	return max;
}

static void queue_src_read(struct mpa_stream *src, u64 pos, void *to, u32 len)
{
	struct mpa_queue *q = queue_of(src);
	u32 seq = queue_seq(q, pos);
	struct sk_buff *skb;
	u32 off, n;

	if (queue_noted(q, seq, len)) {
		memcpy(to, q->piece + (seq - q->piece_seq), len);
		return;
	}
	for (; len; len -= n, pos += n, to += n) {
		skb = mpa_queue_seek(q, pos, &off);
		if (!skb) {
			/* Too many are covered: see queue_descend(). */
			WARN_ON_ONCE(!q->ooo);
			memset(to, 0, len);
			return;
		}
		n = min(len, skb->len - off);
		queue_copy_bits(skb, off, to, n);
		queue_note(q, skb, off);
	}
}

/*
 * The octets of @conn in order, or with @ooo those after holes. The socket
 * stays locked while @q is used.
 */
void mpa_queue_init(struct mpa_queue *q, const struct mpa_conn *conn,
		    bool ooo)
{
	q->src.next = queue_src_next;
	q->src.have = queue_src_have;
	q->src.read = queue_src_read;
	q->src.steps = 0;
	q->sk = conn->sk;
	q->ooo = ooo;
	q->seq = conn->rx.seq;
	q->pos = conn->rx.pos;
	q->skb = NULL;
	q->piece_len = 0;	/* no piece yet */
	sock_owned_by_me(q->sk);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_queue_init);
