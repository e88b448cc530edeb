// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work per hold of the socket lock: the test fills TCP's queues with skbs of
 * eight octets and counts the steps taken in them.
 */
#include <kunit/test.h>
#include <linux/net.h>
#include <linux/random.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include "mpa_rx_batch.h"
#include "mpa_case.h"
#include "mpa_ooo_map.h"
#include "mpa_rx_queue.h"
#include "mpa_ref.h"

/* sequence number of the first octet; wraps within the test */
#define QUEUE_SEQ	0xffff8000

enum {
	QUEUE_SKB	= 8,		/* octets in each */
	QUEUE_DATA	= 136 * 1024,
	QUEUE_FPDU	= 1024,		/* an FPDU with a marker inside ... */
	QUEUE_LEN	= 1010,		/* ... has a ULPDU of this length */
};

/**
 * struct queue_test - a socket that has received octets
 * @test: the test, for assertions
 * @conn: its connection, with the members that a queue reads
 * @sock: the socket
 * @map: FPDUs found after holes
 * @data: octets of the stream
 * @nr: number of skbs in the queues
 * @longest: most search steps in one hold of the socket lock
 * @total: search steps in all holds
 */
struct queue_test {
	struct kunit	*test;
	struct mpa_conn	conn;
	struct socket	*sock;
	struct mpa_ooo_map map;
	u8		*data;
	u32		nr;
	u32		longest;
	u32		total;
};

static int queue_init(struct kunit *test)
{
	struct queue_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->test = test;
	test->priv = t;
	t->data = kvmalloc(QUEUE_DATA, GFP_KERNEL);
	if (!t->data)
		return -ENOMEM;
	memset(t->data, 0xff, QUEUE_DATA);
	t->conn.rx.seq = QUEUE_SEQ;
	kref_init(&t->conn.ref);
	return sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
				&t->sock);
}

/* Closing the socket frees its queues. */
static void queue_exit(struct kunit *test)
{
	struct queue_test *t = test->priv;

	if (t && t->sock)
		sock_release(t->sock);
	if (t)
		kvfree(t->data);
}

static void queue_add_behind(struct sock *sk, struct sk_buff *skb)
{
	struct rb_root *root = &tcp_sk(sk)->out_of_order_queue;
	struct rb_node **p = &root->rb_node;
	struct rb_node *parent = NULL;

	while (*p) {
		parent = *p;
		p = &parent->rb_right;
	}
	rb_link_node(&skb->rbnode, parent, p);
	rb_insert_color(&skb->rbnode, root);
}

static void queue_add(struct queue_test *t, struct sk_buff *skb, u32 at,
		      bool behind)
{
	struct sock *sk = t->sock->sk;

	t->conn.sk = sk;
	TCP_SKB_CB(skb)->seq = QUEUE_SEQ + at;
	TCP_SKB_CB(skb)->end_seq = QUEUE_SEQ + at + skb->len;
	lock_sock(sk);
	if (behind) {
		queue_add_behind(sk, skb);
	} else {
		tcp_sk(sk)->copied_seq = QUEUE_SEQ;
		tcp_sk(sk)->rcv_nxt = TCP_SKB_CB(skb)->end_seq;
		__skb_queue_tail(&sk->sk_receive_queue, skb);
	}
	release_sock(sk);
	t->nr++;
}

/* Octets @from to @to of the stream arrive, in that order. */
static void queue_fill(struct queue_test *t, u32 from, u32 to, bool behind)
{
	struct sk_buff *skb;

	for (; from < to; from += QUEUE_SKB) {
		skb = alloc_skb(QUEUE_SKB, GFP_KERNEL);
		ASSERT_NOT_NULL(t, skb);
		skb_put_data(skb, t->data + from, QUEUE_SKB);
		queue_add(t, skb, from, behind);
	}
}

/* One hold of the socket lock; returns true if an FPDU was found. */
static bool queue_find(struct queue_test *t, struct mpa_dec *dec)
{
	struct mpa_queue q;
	bool found;

	*dec = (struct mpa_dec) { .markers = true };
	lock_sock(t->conn.sk);
	mpa_queue_init(&q, &t->conn, true);
	found = mpa_ooo_map_find(&t->map, &q.src, dec);
	release_sock(t->conn.sk);
	t->longest = max(t->longest, q.src.steps);
	t->total += q.src.steps;
	return found;
}

/* Search until an FPDU is found; treat those of the longest ULPDU as bad. */
static bool queue_search(struct queue_test *t, struct mpa_dec *dec)
{
	while (t->map.at != MPA_POS_NONE) {
		if (!queue_find(t, dec))
			continue;
		if (dec->len != MPA_ULPDU_MAX)
			return true;
		mpa_ooo_map_add_bad(&t->map, dec->pos);
	}
	return false;
}

struct queue_claim {
	const char	*desc;
	u32		to;		/* offset at which these FPDUs end */
	bool		limit;		/* ended by passed FPDU, not hole */
};

static const struct queue_claim queue_claims[] = {
	{ "OO-03: longest ULPDU at each marker, before a passed FPDU",
	  512 + 65024, true },
	{ "OO-03: longest ULPDU at each marker, no hole",
	  512 + 131072, false },
};

MPA_ROWS(queue_claim, queue_claims);

/*
 * At each marker there seems to be an FPDU with the longest ULPDU. FPDUs after
 * them are still found, with little work in total and a bounded part of it per
 * hold.
 */
static void queue_search_claims(struct kunit *test)
{
	const struct queue_claim *c = test->param_value;
	struct queue_test *t = test->priv;
	u32 good = c->to + 512;
	struct mpa_dec dec;
	u32 at;

	for (at = 512; at < c->to; at += 512) {
		put_unaligned_be32(0, t->data + at);
		put_unaligned_be16(MPA_ULPDU_MAX, t->data + at + 4);
	}
	ASSERT_EQ(t, 512, mpa_ref_encode(t->data + good, good, t->data, 502,
					 true, true));
	queue_fill(t, 512, c->to, true);
	if (c->limit) {
		mpa_ooo_map_add_passed(&t->map, c->to, good, 1);
		queue_fill(t, c->to, good, true);
	}
	queue_fill(t, good, good + 512, true);
	t->map.at = 0;

	ASSERT_TRUE(t, queue_search(t, &dec));
	EXPECT_EQ(t, good, dec.pos);
	EXPECT_EQ(t, 502, dec.len);
	EXPECT_LE(t, t->longest, MPA_OOO_BUDGET + 4 * MPA_QUEUE_SKBS);
	EXPECT_LE(t, t->total, 6 * t->nr);
}

/* Steps over passed FPDUs read only ULPDU_Length, end and inner marker. */
static void queue_step_over(struct kunit *test)
{
	struct queue_test *t = test->priv;
	u32 at, nr = 64, stepped = 0;
	struct mpa_queue q;
	struct mpa_dec dec;

	for (at = 0; at < nr * QUEUE_FPDU; at += QUEUE_FPDU)
		ASSERT_EQ(t, QUEUE_FPDU, mpa_ref_encode(t->data + at, at,
							t->data + QUEUE_DATA -
							QUEUE_LEN, QUEUE_LEN,
							true, true));
	queue_fill(t, 0, at, false);
	mpa_ooo_map_add_passed(&t->map, 0, at, nr);

	dec = (struct mpa_dec) { .markers = true };
	lock_sock(t->conn.sk);
	mpa_queue_init(&q, &t->conn, false);
	while (stepped < nr && !mpa_ooo_map_step(&t->map, &q.src, &dec)) {
		dec.pos += dec.size;
		stepped++;
	}
	release_sock(t->conn.sk);
	EXPECT_EQ(t, nr, stepped);
	EXPECT_LE(t, q.src.steps, 4 * t->nr);
}

/* All but the last octets were passed, and the consumer keeps them. */
static void queue_near_its_end(struct kunit *test)
{
	struct queue_test *t = test->priv;
	u32 end = 64 * 1024;
	struct mpa_queue q;
	u8 octets[3];
	u32 have;

	t->data[end - 5] = 42;
	queue_fill(t, 0, end, false);
	lock_sock(t->conn.sk);
	mpa_queue_init(&q, &t->conn, false);
	have = q.src.have(&q.src, end - 20, 100);
	q.src.read(&q.src, end - 6, octets, 3);
	release_sock(t->conn.sk);
	EXPECT_EQ(t, 20, have);
	EXPECT_EQ(t, 42, octets[1]);
	EXPECT_LE(t, q.src.steps, 30);
}

/*
 * An FPDU in as many skbs as a queue examines, after any earlier position; in
 * the receive queue and after a hole.
 */
static void queue_have_from_elsewhere(struct kunit *test)
{
	const u32 len = MPA_QUEUE_SKBS * QUEUE_SKB;
	const bool *after_hole = test->param_value;
	struct queue_test *t = test->priv;
	u32 at_end, have, more;
	struct mpa_queue q;

	queue_fill(t, *after_hole ? 512 : 0, 512 + 2 * len, *after_hole);
	lock_sock(t->conn.sk);
	mpa_queue_init(&q, &t->conn, *after_hole);
	at_end = q.src.have(&q.src, 512 + 2 * len - QUEUE_SKB, QUEUE_SKB);
	have = q.src.have(&q.src, 512, len);
	more = q.src.have(&q.src, 512, 2 * len);
	release_sock(t->conn.sk);
	EXPECT_EQ(t, QUEUE_SKB, at_end);
	EXPECT_EQ(t, len, have);
	EXPECT_LE(t, more, len + QUEUE_SKB);
}

static const bool queue_after_hole[] = { false, true };

KUNIT_ARRAY_PARAM(queue_after_hole, queue_after_hole, NULL);

/* The sequence number wraps inside an skb after a hole. */
static void queue_next_wraps(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(2 * QUEUE_SKB, GFP_KERNEL);
	u32 wrap = -QUEUE_SEQ;
	struct queue_test *t = test->priv;
	struct mpa_queue q;
	u64 before, in, beyond;

	ASSERT_NOT_NULL(t, skb);
	skb_put_data(skb, t->data, 2 * QUEUE_SKB);
	queue_add(t, skb, wrap - QUEUE_SKB, true);
	lock_sock(t->conn.sk);
	mpa_queue_init(&q, &t->conn, true);
	before = q.src.next(&q.src, wrap - 100);
	in = q.src.next(&q.src, wrap + 2);
	beyond = q.src.next(&q.src, wrap + QUEUE_SKB);
	release_sock(t->conn.sk);
	EXPECT_EQ(t, before, wrap - QUEUE_SKB);
	EXPECT_EQ(t, in, wrap + 2);
	EXPECT_EQ(t, beyond, MPA_POS_NONE);
}

/* One hold of the socket lock copies a bounded part, the next one the rest. */
static void queue_copy_in_parts(struct kunit *test)
{
	const u32 len = (MPA_QUEUE_COPY + 500) * QUEUE_SKB;
	struct queue_test *t = test->priv;
	u8 *to = kvmalloc(len, GFP_KERNEL);
	struct mpa_queue q;
	u32 first, rest;

	ASSERT_NOT_NULL(t, to);
	get_random_bytes(t->data, len);
	queue_fill(t, 0, len, false);
	lock_sock(t->conn.sk);
	mpa_queue_init(&q, &t->conn, false);
	first = mpa_queue_copy(&q, 0, to, len);
	EXPECT_LE(t, q.src.steps, MPA_QUEUE_COPY + 1);
	rest = mpa_queue_copy(&q, first, to + first, len - first);
	release_sock(t->conn.sk);
	EXPECT_GT(t, rest, 0);
	EXPECT_EQ(t, len, first + rest);
	EXPECT_MEMEQ(t, t->data, to, len);
	kvfree(to);
}

/* Octets adjacent in memory that arrived in different skbs */
static void queue_pin_neighbours(struct kunit *test)
{
	struct queue_test *t = test->priv;
	u32 at, nr = 0, len = 40000;
	struct mpa_batch *b;
	struct sk_buff *skb;
	struct mpa_queue q;
	struct page *page;
	int err;

	page = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(len));
	ASSERT_NOT_NULL(t, page);
	for (at = 0; at < len; at += QUEUE_SKB) {
		skb = alloc_skb(0, GFP_KERNEL);
		if (!skb)
			break;
		get_page(page);
		skb_add_rx_frag(skb, 0, page, at, QUEUE_SKB, QUEUE_SKB);
		queue_add(t, skb, at, false);
	}
	put_page(page);
	ASSERT_EQ(t, len, at);
	b = mpa_batch_alloc(&t->conn);
	ASSERT_NOT_NULL(t, b);
	lock_sock(t->conn.sk);
	mpa_queue_init(&q, &t->conn, false);
	err = mpa_batch_pin(b, &q, 0, len);
	release_sock(t->conn.sk);
	EXPECT_EQ(t, 0, err);
	EXPECT_TRUE(t, b->full);
	EXPECT_EQ(t, 1, b->nr_spans);
	for (skb = b->skbs; skb; skb = skb->next)
		nr++;
	EXPECT_EQ(t, MPA_BATCH_SKBS, nr);
	mpa_batch_free(b);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE_PARAM_ATTR(queue_search_claims, queue_claim_gen_params,
			      { KUNIT_SPEED_SLOW }),
	MPA_CASE(queue_step_over,
		 "OO-17: passed FPDUs in many skbs are stepped over"),
	KUNIT_CASE(queue_near_its_end),
	KUNIT_CASE_PARAM(queue_have_from_elsewhere,
			 queue_after_hole_gen_params),
	KUNIT_CASE(queue_next_wraps),
	KUNIT_CASE(queue_copy_in_parts),
	KUNIT_CASE(queue_pin_neighbours),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "mpa_queue",
	.init = queue_init,
	.exit = queue_exit,
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);
