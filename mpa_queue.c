// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What TCP has received: its receive queue, a list, and what lies behind
 * holes, a tree. Both are read with the socket locked, and nothing in them is
 * changed. In both, skbs may overlap, so they are entered by sequence number.
 */
#include <net/tcp.h>
#include "mpa_conn.h"
#include "mpa_queue.h"

static u32 queue_seq(const struct mpa_queue *q, u64 pos)
{
	return q->seq + (u32)(pos - q->pos);
}

/* Without the FIN, which is no octet */
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

/* The first skb in the tree that ends behind @seq */
static struct sk_buff *queue_descend(struct mpa_queue *q, u32 seq)
{
	struct rb_node *node = tcp_sk(q->sk)->out_of_order_queue.rb_node;
	struct sk_buff *found = NULL;
	struct sk_buff *skb;

	for (; node; q->steps++) {
		skb = rb_to_skb(node);
		if (after(skb_end(skb), seq)) {
			found = skb;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

/* The same in the list, from @skb on */
static struct sk_buff *queue_walk(struct mpa_queue *q, struct sk_buff *skb,
				  u32 seq)
{
	for (; skb && !after(skb_end(skb), seq); q->steps++)
		skb = queue_after(q, skb);
	return skb;
}

/* The first skb that ends behind @seq. Mostly it is the one we are at. */
static struct sk_buff *queue_find(struct mpa_queue *q, u32 seq)
{
	struct sk_buff *skb = q->skb;

	q->steps++;
	if (skb && before(seq, TCP_SKB_CB(skb)->seq))
		skb = NULL;
	if (skb && !after(skb_end(skb), seq))
		skb = queue_after(q, skb);
	if (!skb && !q->behind)
		skb = skb_peek(&q->sk->sk_receive_queue);
	if (!q->behind)
		skb = queue_walk(q, skb, seq);
	else if (!skb || !after(skb_end(skb), seq))
		skb = queue_descend(q, seq);
	q->skb = skb;
	return skb;
}

/* Does it have the octet at @seq, at *@off, and can it be read? */
static bool skb_has(const struct sk_buff *skb, u32 seq, u32 *off)
{
	*off = seq - TCP_SKB_CB(skb)->seq;
	return *off < skb->len && skb_frags_readable(skb);
}

/* The skb that has the octet at @pos, at *@off, or NULL. */
struct sk_buff *mpa_queue_seek(struct mpa_queue *q, u64 pos, u32 *off)
{
	u32 seq = queue_seq(q, pos);
	struct sk_buff *skb;

	sock_owned_by_me(q->sk);

	skb = queue_find(q, seq);
	return skb && skb_has(skb, seq, off) ? skb : NULL;
}

/* The skb behind @skb that goes on with the octet at @pos, or NULL. */
struct sk_buff *mpa_queue_next(struct mpa_queue *q, struct sk_buff *skb,
			       u64 pos, u32 *off)
{
	u32 seq = queue_seq(q, pos);

	do {
		q->steps++;
		skb = queue_after(q, skb);
	} while (skb && !after(skb_end(skb), seq));
	return skb && skb_has(skb, seq, off) ? skb : NULL;
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

	skb = mpa_queue_seek(q, pos, &off);
	while (skb) {
		have += skb->len - off;
		if (have >= max)
			return max;
		skb = mpa_queue_next(q, skb, pos + have, &off);
	}
	return have;
}

static void queue_src_read(struct mpa_source *src, u64 pos, void *to, u32 len)
{
	struct mpa_queue *q = queue_of(src);
	struct sk_buff *skb;
	u32 off, n;

	for (; len; len -= n, pos += n, to += n) {
		skb = mpa_queue_seek(q, pos, &off);
		if (WARN_ON_ONCE(!skb))
			return;
		n = min(len, skb->len - off);
		WARN_ON_ONCE(skb_copy_bits(skb, off, to, n));
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
