// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ULPDUs after a hole in the stream are found, and passed exactly once. */
#include <linux/delay.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "mpa_conn_ooo.h"
#include "mpa_ooo_map.h"

/* Why nothing is passed out of order */
enum conn_ooo_off {
	OOO_OFF_FLAG,		/* without MPA_F_OOO, with markers */
	OOO_OFF_MARKERS,	/* without MPA_F_OOO and markers */
	OOO_OFF_CRC,		/* with MPA_F_OOO, without CRC */
};

/* How TCP processes the segment for which it has no memory */
enum conn_ooo_drop {
	OOO_DROP_LOCKED	= BIT(0),	/* in the backlog */
	OOO_DROP_RUN	= BIT(1),	/* the work item runs before an ACK */
	OOO_DROP_DRY	= BIT(2),	/* all before it is passed and kept */
};

/* Steps of a search per second without packets; see mpa_rx_ooo_paid() */
#define OOO_STEPS	4000000

/* From here on the case injects the segments of the peer. */
void gap_begin(struct conn_test *t)
{
	t->buf_len = 0;
	t->base = t->out_pos;
	t->base_nr = t->nr_out;
	mpa_inject_begin(&t->inject, t->peer.sock);
}

void gap_open(struct conn_test *t, enum conn_role role, u32 flags)
{
	conn_open(t, role, flags, PEER_M | PEER_C);
	gap_begin(t);
}

/* For most cases: Initiator with MPA_F_OOO, not on hold. */
void gap_default(struct conn_test *t)
{
	gap_open(t, CONN_INITIATOR, MPA_F_OOO);
}

/* Octets @from to @to of the buffer arrive as a segment. */
void gap_put_as(struct conn_test *t, u32 from, u32 to, u32 flags)
{
	ASSERT_EQ(t, mpa_inject(&t->inject, from, t->buf + from, to - from,
				flags), 0);
}

void gap_put(struct conn_test *t, u32 from, u32 to)
{
	gap_put_as(t, from, to, 0);
}

/* Octets @from to @to of the buffer arrive in segments of @chunk octets. */
void gap_put_split(struct conn_test *t, u32 from, u32 to, u32 chunk)
{
	for (; from < to; from += chunk)
		gap_put(t, from, min(from + chunk, to));
}

void gap_fpdus(struct conn_test *t, u32 nr, u32 len)
{
	while (nr--)
		conn_fpdu(t, len);
}

/* Stream position of FPDU @k, or of the end of the last one. */
u64 gap_pos(const struct conn_test *t, u32 k)
{
	return k < t->nr_out ? t->out_from[k] : t->out_pos;
}

/* Offset of FPDU @k in the buffer. */
u32 gap_at(const struct conn_test *t, u32 k)
{
	return gap_pos(t, k) - t->base;
}

/* Expect that ULPDU @i of those passed is number @k of those sent. */
void gap_same(struct conn_test *t, u32 i, u32 k)
{
	const struct mpa_consumer *c = &t->a;

	ASSERT_EQ(t, c->pos[i], gap_pos(t, k));
	ASSERT_EQ(t, c->len[i], t->out_len[k]);
	ASSERT_EQ_MSG(t, 0,
		      memcmp(c->rx + c->at[i], t->pool + k % 256, c->len[i]),
		      "ULPDU %u", k);
}

/* Expect that ULPDUs @from to @to, and no others, are passed out of order. */
void gap_ooo(struct conn_test *t, u32 from, u32 to)
{
	u32 i, nr = to - from;

	CONN_WAIT(t, &t->a, EV_OOO, nr);
	conn_settle(&t->a);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_OOO), nr);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_ULPDUS), t->base_nr + nr);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_DELIVERED), t->base);
	for (i = 0; i < nr; i++)
		gap_same(t, t->base_nr + i, from + i);
	ASSERT_EQ(t, t->a.disorder, 0);
}

/* Expect that no ULPDU after the hole is passed. */
void gap_none(struct conn_test *t)
{
	conn_settle(&t->a);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_ULPDUS), t->base_nr);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_OOO), 0);
}

static void ooo_info(struct conn_test *t)
{
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.markers_rx, t->rx_markers);
	EXPECT_EQ(t, info.rx_pos, t->out_pos);
	EXPECT_EQ(t, info.ulpdus_rx, t->nr_out);
	EXPECT_EQ(t, info.ulpdus_ooo, t->a.nr_ooo);
	EXPECT_EQ(t, info.ooo_suppressed, t->a.nr_ooo);
}

/* Expect that all ULPDUs of the peer are passed, once, and delivered. */
void gap_all(struct conn_test *t)
{
	CONN_WAIT(t, &t->a, EV_DELIVERED, t->out_pos);
	conn_expect_rx(t, &t->a, t->nr_out);
	ASSERT_EQ(t, t->a.delivered, t->out_pos);
	ooo_info(t);
}

/* gap_all(); then the peer's own TCP goes on. */
void gap_alive(struct conn_test *t)
{
	gap_all(t);
	t->buf_len = 0;
	conn_expect_alive(t, &t->a);
}

/* All of @nr ULPDUs but the first arrive, and are passed after that hole. */
void gap_hole(struct conn_test *t, u32 nr, u32 len)
{
	u32 second = t->base_nr + 1;

	gap_fpdus(t, nr, len);
	gap_put(t, gap_at(t, second), t->buf_len);
	gap_ooo(t, second, t->nr_out);
}

/* Open a connection, and have three ULPDUs passed after a hole. */
void gap_three(struct conn_test *t)
{
	gap_default(t);
	gap_hole(t, 4, 700);
}

/* ULPDUs after a hole are passed; once it is filled, they are delivered. */
static void ooo_found(struct conn_test *t, u32 flags)
{
	struct mpa_info info;

	gap_default(t);
	gap_fpdus(t, 4, 700);
	gap_put_as(t, gap_at(t, 1), gap_at(t, 3), flags);
	gap_ooo(t, 1, 3);
	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.rx_pos, 0);
	EXPECT_EQ(t, info.ulpdus_rx, 0);
	EXPECT_EQ(t, info.ulpdus_ooo, 2);
	EXPECT_EQ(t, info.octets_ooo, 1400);
	EXPECT_EQ(t, info.ooo_suppressed, 0);

	gap_put_as(t, gap_at(t, 3), t->buf_len, flags);
	gap_ooo(t, 1, 4);
	gap_put_as(t, 0, gap_at(t, 1), flags);
	gap_alive(t);
	EXPECT_EQ(t, t->a.nr_ooo, 3);
}

static void ooo_after_hole(struct conn_test *t)
{
	ooo_found(t, conn_arg(t));
}

static void ooo_ipv6(struct conn_test *t)
{
	t->opts.ipv6 = true;
	ooo_found(t, 0);
}

/* Open a connection that passes nothing out of order. */
static void ooo_open_off(struct conn_test *t, enum conn_ooo_off why)
{
	if (why != OOO_OFF_CRC) {
		gap_open(t, CONN_INITIATOR,
			 why == OOO_OFF_FLAG ? MPA_F_MARKERS : 0);
		return;
	}
	conn_attach(t, MPA_F_OOO);
	WRITE_ONCE(t->mn->crc, 0);
	conn_open(t, CONN_INITIATOR, MPA_F_OOO, PEER_M);
	gap_begin(t);
}

static void ooo_off(struct conn_test *t)
{
	ooo_open_off(t, conn_arg(t));
	gap_fpdus(t, 4, 700);
	gap_put(t, gap_at(t, 1), t->buf_len);
	/* Longer than a delayed ACK of TCP, and a search of MPA, may take. */
	msleep(50);
	gap_none(t);
	gap_put(t, 0, gap_at(t, 1));
	gap_alive(t);
	EXPECT_EQ(t, t->a.nr_ooo, 0);
}

/* When the hole is closed they are delivered before octets are consumed. */
static void ooo_at_once(struct conn_test *t)
{
	u32 copied;

	gap_three(t);
	copied = conn_consumed(t);
	gap_put(t, 0, gap_at(t, 1));
	gap_all(t);
	EXPECT_EQ(t, t->a.copied_seq, copied);
	gap_alive(t);
}

const void *gap_af_ops(const struct socket *sock)
{
	return READ_ONCE(inet_csk(sock->sk)->icsk_af_ops);
}

/* ULPDUs after a hole have arrived before full operation. */
static void ooo_startup(struct conn_test *t)
{
	u32 second;

	conn_begin(t, CONN_INITIATOR, MPA_F_OOO);
	gap_begin(t);
	t->rx_markers = true;
	t->crc = true;
	t->buf_len = mpa_peer_frame(t->buf, true, PEER_C, 1, NULL, 0);
	second = t->buf_len + conn_fpdu(t, 700);
	conn_fpdu(t, 700);
	gap_put(t, second, t->buf_len);
	gap_put(t, 0, PEER_FRAME);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	gap_none(t);
	mpa_resume(t->a.conn);
	gap_ooo(t, 1, 2);
	gap_put(t, PEER_FRAME, second);
	gap_alive(t);
}

/* The connection has sent its FIN; the peer goes on sending. */
static void ooo_shutdown(struct conn_test *t)
{
	gap_default(t);
	ASSERT_EQ(t, mpa_shutdown(t->a.conn), 0);
	ASSERT_EQ(t, mpa_peer_read_end(&t->peer), 0);
	gap_hole(t, 4, 700);
	gap_put(t, 0, gap_at(t, 1));
	gap_all(t);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, 0);
}

/* True if, after a hole, the third FPDU is passed within some 200 ms. */
static bool ooo_found_in_time(struct conn_test *t)
{
	u32 ooo = mpa_consumer_count(&t->a, EV_OOO), i;

	gap_begin(t);
	gap_fpdus(t, 3, 700);
	gap_put(t, 0, gap_at(t, t->base_nr + 1));
	conn_settle(&t->a);
	gap_put(t, gap_at(t, t->base_nr + 2), t->buf_len);
	for (i = 0; i < 100 && mpa_consumer_count(&t->a, EV_OOO) == ooo; i++)
		usleep_range(2000, 4000);
	gap_put(t, gap_at(t, t->base_nr + 1), gap_at(t, t->base_nr + 2));
	gap_all(t);
	return mpa_consumer_count(&t->a, EV_OOO) > ooo;
}

/*
 * Without the hook MPA searches after holes while octets arrive. If the test is
 * slow, that time may be over, so it tries repeatedly; with @arg each time at
 * the first hole of a connection.
 */
static void ooo_timer(struct conn_test *t)
{
	const void *ops;
	u32 i;

	conn_attach(t, MPA_F_OOO);
	WRITE_ONCE(t->mn->ooo_ack_notify, 0);
	ops = gap_af_ops(t->sock[0]);
	gap_default(t);
	EXPECT_PTR_EQ(t, gap_af_ops(t->sock[0]), ops);
	for (i = 0; i < 20; i++) {
		if (ooo_found_in_time(t))
			break;
		if (!conn_arg(t))
			continue;
		conn_reopen(t);
		gap_default(t);
	}
	EXPECT_LT(t, i, 20);
	gap_alive(t);
}

/* The segments of a stream arrive in random order, some octets twice. */
static void ooo_shuffled(struct conn_test *t)
{
	u32 seed = conn_arg(t), i, n, from, left = 40;
	u8 order[40];

	gap_default(t);
	for (i = 0; i < 100; i++)
		conn_fpdu(t, 1 + mpa_ref_random(&seed) % 500);
	for (i = 0; i < left; i++)
		order[i] = i;
	while (left) {
		n = mpa_ref_random(&seed) % left;
		from = t->buf_len * order[n] / 40;
		i = t->buf_len * (order[n] + 1) / 40;
		order[n] = order[--left];
		gap_put(t, from - mpa_ref_random(&seed) % (from / 2 + 1) / 8,
			i);
		if (left == 20)
			CONN_WAIT(t, &t->a, EV_OOO, 1);
	}
	gap_alive(t);
}

/* Single octets, @arg: the last one first. */
static void ooo_octets(struct conn_test *t)
{
	u32 i, from, nr;

	gap_default(t);
	conn_fpdu(t, 60);
	conn_fpdu(t, 560);
	conn_fpdu(t, 60);
	from = gap_at(t, 1);
	nr = t->buf_len - from;
	for (i = 0; i < nr; i++) {
		u32 at = conn_arg(t) ? t->buf_len - 1 - i : from + i;

		gap_put(t, at, at + 1);
	}
	gap_ooo(t, 1, 3);
	gap_put_split(t, 0, from, 1);
	gap_alive(t);
}

/* Set sk_rcvbuf. Returns the previous value. */
int gap_rcvbuf(struct conn_test *t, int to)
{
	struct sock *sk = t->sock[0]->sk;
	int was;

	lock_sock(sk);
	was = sk->sk_rcvbuf;
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, to);
	release_sock(sk);
	return was;
}

/* Open a connection with a larger window and receive buffer than usual. */
void gap_widen(struct conn_test *t)
{
	u32 i;

	conn_buffers(t, 212992, 212992);
	conn_open(t, CONN_INITIATOR, MPA_F_OOO, PEER_C);
	gap_rcvbuf(t, SZ_4M);
	for (i = 0; i < 12; i++)
		conn_peer_send(t, 30000);
	conn_expect_rx(t, &t->a, 12);
	gap_begin(t);
}

/* The longest possible FPDU, in segments of @arg octets. */
static void ooo_long(struct conn_test *t)
{
	u32 first;

	gap_widen(t);
	first = t->base_nr;
	conn_fpdu(t, 40);
	conn_fpdu(t, MPA_ULPDU_MAX);
	conn_fpdu(t, 500);
	gap_put_split(t, gap_at(t, first + 1), t->buf_len, conn_arg(t));
	gap_ooo(t, first + 1, first + 3);
	gap_put(t, 0, gap_at(t, first + 1));
	gap_alive(t);
}

/* The same without a hole: a batch of its own, longer than others. */
static void ooo_long_in_order(struct conn_test *t)
{
	u32 first;

	gap_widen(t);
	first = t->base_nr;
	conn_fpdu(t, MPA_ULPDU_MAX);
	gap_put_split(t, gap_at(t, first), t->buf_len, conn_arg(t));
	gap_alive(t);
}

/*
 * An FPDU without other markers begins with a marker, which arrives after the
 * rest.
 */
static void ooo_leading(struct conn_test *t)
{
	gap_default(t);
	conn_fpdu(t, 502);
	gap_fpdus(t, 2, 700);
	ASSERT_EQ(t, gap_at(t, 1), 512);
	gap_put(t, 516, t->buf_len);
	gap_ooo(t, 2, 3);
	gap_put(t, 512 - conn_arg(t), 516);
	gap_ooo(t, 1, 3);
	gap_put(t, 0, 512);
	gap_alive(t);
}

/* More FPDUs than a batch holds, or than one round steps over. */
static void ooo_many(struct conn_test *t)
{
	u32 i;

	gap_default(t);
	conn_fpdu(t, 100);
	conn_fpdu(t, 500);
	for (i = 2; i < 800; i++)
		conn_fpdu(t, 1 + i % 30);
	gap_put_split(t, gap_at(t, 1), t->buf_len, 1400);
	gap_ooo(t, 1, 800);
	gap_put(t, 0, gap_at(t, 1));
	gap_alive(t);
}

/* Clone TCP's skbs, so that TCP does not join them when the hole is filled. */
void gap_clone(struct conn_test *t, struct sk_buff_head *clones)
{
	struct sock *sk = t->sock[0]->sk;
	struct sk_buff *skb, *clone;

	lock_sock(sk);
	skb_rbtree_walk(skb, &tcp_sk(sk)->out_of_order_queue) {
		clone = skb_clone(skb, GFP_KERNEL);
		if (clone)
			__skb_queue_tail(clones, clone);
	}
	release_sock(sk);
}

/*
 * Each octet in an skb of its own: MPA does not keep the socket locked while it
 * steps over thousands of them, or (@arg) copies them for a single FPDU.
 */
static void ooo_scattered(struct conn_test *t)
{
	bool single = conn_arg(t);
	struct sk_buff_head clones;
	u32 at, recvs;

	__skb_queue_head_init(&clones);
	gap_default(t);
	gap_rcvbuf(t, SZ_16M);
	gap_fpdus(t, single ? 2 : 9, single ? 5000 : 640);
	for (at = t->buf_len; at-- > gap_at(t, 1);)
		gap_put(t, at, at + 1);
	/* Most are in the backlog: a slow guest takes them out for a minute. */
	lock_sock(t->sock[0]->sk);
	release_sock(t->sock[0]->sk);
	if (!single)
		gap_ooo(t, 1, 9);
	gap_clone(t, &clones);
	recvs = mpa_consumer_count(&t->a, EV_RECV);
	gap_put(t, 0, gap_at(t, 1));
	gap_all(t);
	/* recv() once for the first FPDU; at once, once for all others. */
	if (!single)
		EXPECT_GT(t, mpa_consumer_count(&t->a, EV_RECV), recvs + 2);
	__skb_queue_purge(&clones);
}

/* More ranges than are recorded: ULPDUs of the rest are passed in order. */
static void ooo_bounded(struct conn_test *t)
{
	u32 i, first, nr = MPA_OOO_RANGES + 20;
	unsigned long full;

	gap_widen(t);
	full = conn_counter(t, MPA_MIB_OOO_FULL);
	first = t->base_nr;
	for (i = 0; i < nr; i++) {
		conn_fpdu(t, 30);
		conn_fpdu(t, 512);
	}
	for (i = 0; i < nr; i++)
		gap_put(t, gap_at(t, first + 2 * i + 1), gap_at(t,
								first + 2 * i +
								2));
	CONN_WAIT(t, &t->a, EV_OOO, MPA_OOO_RANGES);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_OOO, MPA_OOO_RANGES);
	EXPECT_GT(t, conn_counter(t, MPA_MIB_OOO_FULL), full);
	for (i = 0; i < nr; i++)
		gap_put(t, gap_at(t, first + 2 * i), gap_at(t,
							    first + 2 * i + 1));
	gap_alive(t);
}

/* Every second octet of @from to @to of the buffer arrives. */
static void ooo_put_odd(struct conn_test *t, u32 from, u32 to)
{
	for (from |= 1; from < to; from += 2)
		gap_put(t, from, from + 1);
}

/* True once all octets that have arrived have been searched. */
static bool ooo_searched(struct conn_test *t)
{
	const struct mpa_conn_ooo *ooo = &t->a.conn->ooo;
	u32 i;

	for (i = 0; i < 10000; i++) {
		conn_settle(&t->a);
		if (READ_ONCE(ooo->seen) ==
		    READ_ONCE(tcp_sk(t->sock[0]->sk)->rcv_ooopack) &&
		    ooo->known->at == MPA_POS_NONE)
			return true;
	}
	return false;
}

/*
 * No FPDU is found among single octets, and searching all of them for each one
 * that arrives would keep a CPU busy: searches are limited by their cost.
 */
static void ooo_paced(struct conn_test *t)
{
	u32 i, first, at = 6000, steps = 0;
	unsigned long begun;

	gap_widen(t);
	gap_fpdus(t, 10, 700);
	ooo_put_odd(t, 0, at);
	ASSERT_TRUE(t, ooo_searched(t));
	begun = t->a.conn->ooo.begun;
	first = t->a.conn->ooo.cost;
	for (i = 0; i < 10; i++, at += 2) {
		steps += t->a.conn->ooo.cost;
		ooo_put_odd(t, at, at + 2);
		ASSERT_TRUE(t, ooo_searched(t));
	}
	EXPECT_GT(t, steps, 10 * 3000);
	/* The cost is that of one search, not of all before it. */
	EXPECT_LT(t, t->a.conn->ooo.cost, 2 * first);
	EXPECT_GE(t, t->a.conn->ooo.begun - begun, steps / (OOO_STEPS / HZ));
	gap_put(t, 0, t->buf_len);
	gap_alive(t);
}

/*
 * A delayed search runs when its time has come, although no packet arrives. The
 * timer for SACK blocks, four seconds after a hole, would be too late.
 */
static void ooo_due(struct conn_test *t)
{
	unsigned long begun;

	gap_default(t);
	gap_fpdus(t, 3, 700);
	begun = jiffies;
	gap_put(t, gap_at(t, 1), gap_at(t, 2));
	gap_ooo(t, 1, 2);
	/* As if the last search had cost a quarter of a second */
	t->a.conn->ooo.begun = jiffies;
	t->a.conn->ooo.cost = OOO_STEPS / 4;
	gap_put(t, gap_at(t, 2), t->buf_len);
	EXPECT_TRUE(t, mpa_consumer_wait(&t->a, EV_OOO, 2));
	EXPECT_TRUE(t, time_before(jiffies, begun + 4 * HZ));
	gap_put(t, 0, gap_at(t, 1));
	gap_alive(t);
}

/* Alter the ULPDUs of FPDUs @from to @to, but not length, markers and CRC. */
void gap_alter(struct conn_test *t, u32 from, u32 to)
{
	u32 k, i;

	for (k = from; k < to; k++)
		for (i = gap_at(t, k) + 6; i < gap_at(t, k + 1) - 7; i++)
			if ((t->base + i) % 512 >= 4)
				t->buf[i] ^= 0x55;
}

/* True if a kept ULPDU has the octets that the peer sent first. */
static bool ooo_kept_ulpdu(const struct conn_test *t,
			   const struct mpa_ulpdu *u)
{
	u32 k = t->base_nr;

	while (gap_pos(t, k) < u->pos)
		k++;
	return conn_same(u, t->pool + k % 256, t->out_len[k]);
}

void gap_kept_same(struct conn_test *t)
{
	const struct mpa_rx *rx;
	u32 i, j;

	ASSERT_GT(t, t->a.nr_kept, 0);
	for (i = 0; i < t->a.nr_kept; i++) {
		rx = t->a.kept[i];
		for (j = 0; j < rx->nr; j++)
			ASSERT_TRUE(t, ooo_kept_ulpdu(t, rx->ulpdu + j));
	}
}

/*
 * Passed ULPDUs are received again with other octets, which are ignored. @arg:
 * in one segment with the hole, so that TCP puts them into the stream.
 */
static void ooo_altered(struct conn_test *t)
{
	u32 hole;

	gap_default(t);
	t->a.keep_ooo = true;
	gap_hole(t, 4, 700);
	hole = conn_arg(t) ? 0 : gap_at(t, 1) - 9;
	gap_alter(t, 1, 4);
	gap_put(t, hole, t->buf_len);
	if (hole) {
		gap_ooo(t, 1, 4);
		gap_put(t, 0, hole);
	}
	gap_all(t);
	gap_kept_same(t);
	gap_alive(t);
}

/* Segments that overlap each other in every way. */
static void ooo_overlap(struct conn_test *t)
{
	static const u16 seg[][2] = {
		{ 1500, 1700 }, { 1400, 1600 }, { 1650, 2100 }, { 1500, 1700 },
		{ 1450, 1650 }, { 1300, 2500 }, { 2499, 2501 }, { 2400, 2800 },
		{ 1300, 2800 }, { 900, 1000 }, { 800, 1350 }, { 700, 900 },
	};
	u32 i;

	gap_default(t);
	gap_fpdus(t, 7, 393);	/* 401 to 405 octets each */
	ASSERT_GT(t, t->buf_len, 2800);
	for (i = 0; i < ARRAY_SIZE(seg); i++)
		gap_put(t, seg[i][0], seg[i][1]);
	gap_ooo(t, 2, 6);
	gap_put(t, 10, 750);
	gap_ooo(t, 1, 6);
	gap_put(t, 0, 800);
	gap_put(t, 2600, t->buf_len);
	gap_alive(t);
}

/*
 * TCP joins a segment to a small skb before it, and leaves in its queue the
 * skbs that it covers then. On hold: TCP would not join to an skb with a clone.
 */
static void ooo_covered(struct conn_test *t)
{
	u32 at;

	gap_default(t);
	gap_fpdus(t, 4, 700);
	at = gap_at(t, 1);
	mpa_hold(t->a.conn);
	conn_settle(&t->a);
	gap_put(t, at + 50, at + 60);
	gap_put(t, at + 65, at + 80);
	gap_put_as(t, at + 60, t->buf_len, INJECT_PAGES);
	EXPECT_GT(t, gap_queued(t), t->buf_len - at - 50);
	mpa_resume(t->a.conn);
	gap_ooo(t, 2, 4);
	gap_put(t, 0, at + 50);
	gap_alive(t);
}

/* More covered skbs than MPA looks for, and an FPDU that has to be copied. */
static void ooo_covered_many(struct conn_test *t)
{
	u32 at, i, joined;

	gap_default(t);
	gap_fpdus(t, 2, 700);
	gap_fpdus(t, 1, 8000);
	at = gap_at(t, 1);
	joined = gap_at(t, 2) + 600;
	mpa_hold(t->a.conn);
	conn_settle(&t->a);
	gap_put(t, at + 50, at + 60);
	for (i = 0; i < 12; i++)
		gap_put(t, at + 65 + 20 * i, at + 75 + 20 * i);
	gap_put_as(t, at + 60, joined, INJECT_PAGES);
	gap_put_split(t, joined, t->buf_len, 200);
	EXPECT_EQ(t, gap_queued(t), t->buf_len - at - 50 + 120);
	mpa_resume(t->a.conn);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_OOO, 0);
	gap_put(t, 0, at + 50);
	gap_alive(t);
}

/* Octets in TCP's out-of-order queue. */
u32 gap_queued(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;
	struct sk_buff *skb;
	u32 octets = 0;

	lock_sock(sk);
	skb_rbtree_walk(skb, &tcp_sk(sk)->out_of_order_queue)
		octets += skb->len;
	release_sock(sk);
	return octets;
}

/* 100 octets at @at arrive; TCP drops all octets after them to take these. */
void gap_drop(struct conn_test *t, u32 at)
{
	int rcvbuf = gap_rcvbuf(t, SOCK_MIN_RCVBUF);

	gap_put(t, at, at + 100);
	ASSERT_EQ(t, gap_queued(t), 100);
	gap_rcvbuf(t, rcvbuf);
}

/* TCP drops the octets after a hole, and then receives other ones. */
static void ooo_dropped(struct conn_test *t)
{
	gap_default(t);
	gap_fpdus(t, 4, 2000);
	gap_put(t, gap_at(t, 1), gap_at(t, 3));
	gap_ooo(t, 1, 3);
	gap_drop(t, 100);
	gap_ooo(t, 1, 3);
	gap_alter(t, 1, 3);
	gap_put(t, gap_at(t, 1), t->buf_len);
	gap_ooo(t, 1, 4);
	gap_put(t, 0, gap_at(t, 1));
	gap_alive(t);
}

/* Repeat octets @from to @to, in order, until TCP has room for them. */
static void ooo_repeat(struct conn_test *t, u32 from, u32 to)
{
	struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);
	u32 i;

	for (i = 0; i < 1000; i++) {
		gap_put(t, from, to);
		conn_settle(&t->a);
		if (!before(READ_ONCE(tp->rcv_nxt), t->inject.seq + to))
			return;
	}
	KUNIT_FAIL(t->test, "TCP does not take octet %u", from);
}

/* Wait until the peer's window is zero and all octets are acknowledged. */
static void ooo_wait_zero_window(struct conn_test *t)
{
	struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);

	EXPECT_TRUE(t, CONN_UNTIL(!READ_ONCE(tp->snd_wnd) &&
				  !READ_ONCE(tp->packets_out)));
	conn_settle(&t->a);
}

/* Socket lock held. Have TCP process the only segment of the backlog. */
static void ooo_process_backlog(struct sock *sk)
{
	struct sk_buff *skb;

	spin_lock_bh(&sk->sk_lock.slock);
	skb = sk->sk_backlog.head;
	sk->sk_backlog.head = NULL;
	sk->sk_backlog.tail = NULL;
	spin_unlock_bh(&sk->sk_lock.slock);
	skb_mark_not_on_list(skb);
	/* The inline sk_backlog_rcv() calls what no module can link to. */
	sk->sk_backlog_rcv(sk, skb);
}

/*
 * TCP has no memory for FPDU 1, which fills the hole. Then an ACK from after
 * the hole arrives.
 */
static void ooo_retract(struct conn_test *t, u32 how)
{
	struct sock *sk = t->sock[0]->sk;

	gap_rcvbuf(t, 1);
	/* Nested: mpa_inject() locks the peer's socket to make a segment. */
	if (how & OOO_DROP_LOCKED)
		lock_sock_nested(sk, SINGLE_DEPTH_NESTING);
	gap_put(t, gap_at(t, 1), gap_at(t, 2));
	if (how & OOO_DROP_RUN) {
		ooo_process_backlog(sk);
		/* The work item must wait for the socket lock now. */
		msleep(50);
	}
	gap_put(t, t->buf_len, t->buf_len);
	if (how & OOO_DROP_LOCKED)
		release_sock(sk);
	ASSERT_EQ(t, gap_queued(t), 0);
	ASSERT_EQ(t, tcp_sk(sk)->rcv_nxt, t->inject.seq + gap_at(t, 1));
}

/*
 * TCP has no memory for a segment: it drops those after the hole as well, and
 * retracts its window, while the peer's window is zero. The peer's window
 * updates then begin at the hole, below the sequence number of the last update
 * (SND.WL1). If the segment waits in the backlog, TCP processes an ACK from
 * after the hole before it announces the window.
 */
static void ooo_window_retracted(struct conn_test *t)
{
	u32 i, how = conn_arg(t);

	conn_buffers(t, 8192, 16384);
	gap_open(t, CONN_INITIATOR, 0);
	gap_fpdus(t, 4, 1000);
	if (how & OOO_DROP_DRY)
		t->a.keep = true;
	else
		mpa_hold(t->a.conn);
	gap_put(t, 0, gap_at(t, 1));
	conn_post_many(t, 8, 8000);
	ooo_wait_zero_window(t);
	ASSERT_EQ(t, t->a.conn->rx.dry, !!(how & OOO_DROP_DRY));
	gap_put(t, gap_at(t, 2), t->buf_len);
	ooo_retract(t, how);

	for (i = 0; i < 8; i++)
		conn_expect_tx(t, 8000);
	conn_expect_done(t, &t->a, 8, 0);
	if (!(how & OOO_DROP_DRY))
		mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 1);
	mpa_consumer_put_all(&t->a);
}

/*
 * TCP drops passed octets and receives them again. The FPDU is larger than the
 * receive buffer, so it is copied.
 */
static void ooo_copied(struct conn_test *t)
{
	unsigned long copied;
	u32 at;

	gap_default(t);
	conn_fpdu(t, 300);
	conn_fpdu(t, 9000);
	conn_fpdu(t, 300);
	gap_put(t, gap_at(t, 1), t->buf_len);
	gap_ooo(t, 1, 3);
	copied = conn_counter(t, MPA_MIB_RX_COPIED);
	gap_rcvbuf(t, SOCK_MIN_RCVBUF);
	gap_put(t, 100, 200);
	ASSERT_EQ(t, gap_queued(t), 100);
	gap_alter(t, 1, 3);
	for (at = 0; at < t->buf_len; at += 900)
		ooo_repeat(t, at, min(at + 900, t->buf_len));
	gap_all(t);
	EXPECT_GT(t, conn_counter(t, MPA_MIB_RX_COPIED), copied);
}

/* TCP's sequence number wraps, at various stream positions. */
static void ooo_wrap(struct conn_test *t)
{
	u32 at;

	for (at = 1; at < 2900; at += 131) {
		t->opts.seq = -(20 + at);
		gap_default(t);
		gap_fpdus(t, 4, 700);
		/* It also wraps between the end of an FPDU and of its skb. */
		gap_put(t, gap_at(t, 2) - 150, t->buf_len);
		gap_put(t, gap_at(t, 1), gap_at(t, 2) - 150);
		gap_ooo(t, 1, 4);
		gap_put(t, 0, gap_at(t, 1));
		gap_alive(t);
		ASSERT_LT(t, tcp_sk(t->sock[0]->sk)->rcv_nxt, t->opts.seq);
		conn_reopen(t);
	}
}

static const struct conn_row ooo_rows[] = {
	{ "OO-01 OO-03 OO-04 OO-05 OO-17 RX-07 RX-08: after a hole",
	  ooo_after_hole, 0 },
	{ "OO-03 OO-04 OO-05 OO-17: after a hole, in pages",
	  ooo_after_hole, INJECT_PAGES },
	{ "OO-03 OO-04 OO-05 OO-17: after a hole, IPv6", ooo_ipv6 },
	{ "OO-03 OO-05 OO-17: after a hole, before full operation",
	  ooo_startup },
	{ "OO-03 OO-05 OO-17: after a hole, after our FIN", ooo_shutdown },
	{ "OO-03 OO-04 OO-05 OO-17: after a hole, without the hook",
	  ooo_timer, 0 },
	{ "OO-03 OO-04 OO-05 OO-17: after the first hole, without the hook",
	  ooo_timer, 1 },
	{ "OO-16: not asked for", ooo_off, OOO_OFF_FLAG },
	{ "OO-16: not asked for, no markers", ooo_off, OOO_OFF_MARKERS },
	{ "OO-16: without CRC", ooo_off, OOO_OFF_CRC },
	{ "OO-09 OO-17: any order, some twice", ooo_shuffled, 1 },
	{ "OO-09 OO-17: another order, some twice", ooo_shuffled, 2 },
	{ "OO-03 OO-19: single octets", ooo_octets, 0, .slow = true },
	{ "OO-03 OO-19: single octets, the last one first",
	  ooo_octets, 1, .slow = true },
	{ "OO-03 OO-19: 64768 octets in segments of 500", ooo_long, 500 },
	{ "OO-03 OO-19: 64768 octets in segments of 8000", ooo_long, 8000 },
	{ "RX-13: 64768 octets in segments of 8000, no hole",
	  ooo_long_in_order, 8000 },
	{ "OO-03 MK-16 RX-07: a leading marker arrives alone", ooo_leading, 0 },
	{ "OO-03 MK-16: a leading marker arrives later", ooo_leading, 200 },
	{ "OO-03 OO-20: 800 FPDUs", ooo_many },
	{ "more skbs than one round steps over",
	  ooo_scattered, false, .slow = true },
	{ "RX-10 RX-16: more skbs than one round copies",
	  ooo_scattered, true, .slow = true },
	{ "OO-17: more pieces than are remembered", ooo_bounded, .slow = true },
	{ "OO-17: delivered at once when the hole is closed", ooo_at_once },
	{ "searches without result are rate limited",
	  ooo_paced, .slow = true },
	{ "a delayed search runs without another packet", ooo_due },
	{ "OO-09: received again with other octets", ooo_altered, 0 },
	{ "OO-09: the hole is closed with other octets", ooo_altered, 1 },
	{ "OO-09: segments overlap", ooo_overlap },
	{ "OO-09: segments cover others", ooo_covered },
	{ "OO-09: segments cover many others", ooo_covered_many },
	{ "OO-09: dropped by TCP, received again with other octets",
	  ooo_dropped },
	{ "TCP retracts its window while the peer's is zero",
	  ooo_window_retracted, 0 },
	{ "TCP retracts its window, segment in the backlog",
	  ooo_window_retracted, OOO_DROP_LOCKED },
	{ "TCP retracts its window, delivered octets are kept",
	  ooo_window_retracted, OOO_DROP_DRY },
	{ "TCP retracts its window, octets are kept, in the backlog",
	  ooo_window_retracted, OOO_DROP_DRY | OOO_DROP_LOCKED },
	{ "TCP retracts its window, octets are kept, a run before an ACK",
	  ooo_window_retracted,
	  OOO_DROP_DRY | OOO_DROP_LOCKED | OOO_DROP_RUN },
	{ "OO-09: dropped by TCP, received again, copied", ooo_copied },
	{ "OO-03 OO-04 MK-12: sequence number wraps", ooo_wrap },
};

CONN_ROWS(ooo);
