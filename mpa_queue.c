// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What TCP has received: its receive queue, a list, and what lies behind
 * holes, a tree. Both are read with the socket locked, and nothing in them is
 * changed. In both, skbs may overlap, so they are entered by sequence number.
 * A FIN is no octet.
 */
#include <net/tcp.h>
#include "mpa_conn.h"
#include "mpa_queue.h"

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
	if (q->behind)
		return skb_rb_next(skb);
	if (skb_queue_is_last(&q->sk->sk_receive_queue, skb))
		return NULL;
	return skb_queue_next(&q->sk->sk_receive_queue, skb);
}

static bool skb_has(const struct sk_buff *skb, u32 seq)
{
	return seq - TCP_SKB_CB(skb)->seq < skb->len;
}

/* The last skb in the tree that begins at or before @seq */
static struct sk_buff *queue_before(struct mpa_queue *q, u32 seq)
{
	struct rb_node *node = tcp_sk(q->sk)->out_of_order_queue.rb_node;
	struct sk_buff *found = NULL;
	struct sk_buff *skb;

	for (; node; q->steps++) {
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
 * The skb in the tree that has @seq, or the first one behind. TCP may join a
 * segment to an skb so that it covers the ones behind it, and leave these
 * where they are; if there are more than MPA_QUEUE_COVERED, there seems to be a
 * hole, and order is waited for.
 */
static struct sk_buff *queue_descend(struct mpa_queue *q, u32 seq)
{
	struct sk_buff *found = queue_before(q, seq);
	struct sk_buff *skb = found;
	int i;

	if (!found)
		return skb_rb_first(&tcp_sk(q->sk)->out_of_order_queue);
	for (i = 0; skb && i < MPA_QUEUE_COVERED; i++, q->steps++) {
		if (skb_has(skb, seq))
			return skb;
		skb = skb_rb_prev(skb);
	}
	return skb_rb_next(found);
}

/* The same in the list, from @skb on, or from the start */
static struct sk_buff *queue_walk(struct mpa_queue *q, struct sk_buff *skb,
				  u32 seq)
{
	if (!skb || before(seq, TCP_SKB_CB(skb)->seq))
		skb = skb_peek(&q->sk->sk_receive_queue);
	for (; skb && !after(skb_end(skb), seq); q->steps++)
		skb = queue_after(q, skb);
	return skb;
}

/* Mostly it is the one we are at, or the next. */
static struct sk_buff *queue_find(struct mpa_queue *q, u32 seq)
{
	struct sk_buff *skb = q->skb;

	q->steps++;
	if (skb && !skb_has(skb, seq))
		skb = queue_after(q, skb);
	if (!skb || !skb_has(skb, seq))
		skb = q->behind ? queue_descend(q, seq) :
				  queue_walk(q, q->skb, seq);
	q->skb = skb;
	return skb;
}

/* The skb that has the octet at @pos, at *@off, or NULL. */
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

/* Keep in mind the piece of @skb that the octet at @off is in, if any is. */
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

/* Do the octets from @seq on lie in that piece? */
static bool queue_noted(const struct mpa_queue *q, u32 seq, u32 len)
{
	u32 off = seq - q->piece_seq;

	return off < q->piece_len && len <= q->piece_len - off;
}

static struct mpa_queue *queue_of(struct mpa_source *src)
{
	return container_of(src, struct mpa_queue, src);
}

static u64 queue_src_next(struct mpa_source *src, u64 pos)
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

static u32 queue_src_have(struct mpa_source *src, u64 pos, u32 max)
{
	struct mpa_queue *q = queue_of(src);
	struct sk_buff *skb;
	u32 have = 0, off;

	if (queue_noted(q, queue_seq(q, pos), max))
		return max;
	while (have < max) {
		skb = mpa_queue_seek(q, pos + have, &off);
		if (!skb)
			return have;
		have += skb->len - off;
	}
	return max;
}

static void queue_src_read(struct mpa_source *src, u64 pos, void *to, u32 len)
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
			/* Too many covered, see queue_descend(). */
			WARN_ON_ONCE(!q->behind);
			memset(to, 0, len);
			return;
		}
		n = min(len, skb->len - off);
		WARN_ON_ONCE(skb_copy_bits(skb, off, to, n));
		queue_note(q, skb, off);
	}
}

/*
 * The octets of @conn in order, or else those @behind a hole. Context: socket
 * lock held, as long as @q is used.
 */
void mpa_queue_init(struct mpa_queue *q, const struct mpa_conn *conn,
		    bool behind)
{
	*q = (struct mpa_queue) {
		.src = {
			.next = queue_src_next,
			.have = queue_src_have,
			.read = queue_src_read,
		},
		.sk	= conn->sk,
		.behind	= behind,
		.seq	= conn->rx.seq,
		.pos	= conn->rx.pos,
	};
	sock_owned_by_me(q->sk);
}
