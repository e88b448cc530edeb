// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* recv() in softirq, and what is left to the work item. */
#include <linux/net.h>
#include "mpa_conn_test.h"

/* As conn_default() */
static void softirq_open(struct conn_test *t)
{
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_M | PEER_C);
	mpa_allow_softirq(t->a.conn);
	mpa_resume(t->a.conn);
	conn_settle(&t->a);
}

/* Expect that @nr ULPDUs have arrived, and @calls of recv() came in softirq. */
static void softirq_expect(struct conn_test *t, u32 nr, u32 calls)
{
	conn_expect_rx(t, &t->a, nr);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.softirqs, calls);
	EXPECT_EQ(t, conn_unread(t), 0);
	EXPECT_EQ(t, t->a.overlaps, 0);
}

static void softirq_plain(struct conn_test *t)
{
	softirq_open(t);
	conn_peer_send(t, 100);
	softirq_expect(t, 1, 1);
	conn_fpdu(t, 600);
	conn_fpdu(t, 1);
	conn_peer_send(t, 9000);
	softirq_expect(t, 4, 2);
}

static void softirq_parts(struct conn_test *t)
{
	u32 i, size;

	softirq_open(t);
	size = conn_fpdu(t, 3000);
	for (i = 0; i < size; i += 1000) {
		CONN_COUNT(t, &t->a, EV_RECV, 0);
		conn_write(t, t->buf + i, min(1000u, size - i));
		conn_settle(&t->a);
	}
	softirq_expect(t, 1, 1);
}

static void softirq_long(struct conn_test *t)
{
	softirq_open(t);
	conn_peer_send(t, MPA_SOFTIRQ_OCTETS);
	softirq_expect(t, 1, 0);
	conn_peer_send(t, 100);
	softirq_expect(t, 2, 1);
}

static void softirq_hold(struct conn_test *t)
{
	softirq_open(t);
	mpa_hold(t->a.conn);
	conn_peer_send(t, 100);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
	mpa_resume(t->a.conn);
	softirq_expect(t, 1, 0);
}

/* The timer has fired: after a hole, or for lack of memory. */
static void softirq_timer(struct conn_test *t)
{
	softirq_open(t);
	mod_timer(&t->a.conn->timer, jiffies);
	ASSERT_TRUE(t, CONN_UNTIL(mpa_conn_test(t->a.conn, MPA_CONN_TIMEOUT)));
	conn_settle(&t->a);
	conn_peer_send(t, 100);
	softirq_expect(t, 1, 1);
}

/* The work item sends what a Responder had to hold back. */
static void softirq_first(struct conn_test *t)
{
	conn_full(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_M | PEER_C);
	mpa_allow_softirq(t->a.conn);
	mpa_resume(t->a.conn);
	conn_post(t, 100);
	conn_settle(&t->a);
	conn_peer_send(t, 100);
	conn_expect_tx(t, 100);
	softirq_expect(t, 1, 0);
	conn_peer_send(t, 100);
	softirq_expect(t, 2, 1);
}

/* An FPDU, and one with a wrong CRC: ended() comes in the work item. */
static void softirq_bad(struct conn_test *t)
{
	softirq_open(t);
	conn_fpdu(t, 100);
	conn_fpdu(t, 100);
	t->buf[t->buf_len - 1] ^= 1;
	conn_flush(t);
	conn_expect_rx(t, &t->a, 1);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	EXPECT_EQ(t, t->a.softirqs, 1);
}

static void softirq_fin(struct conn_test *t)
{
	softirq_open(t);
	conn_peer_send(t, 100);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_rx(t, &t->a, 1);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	EXPECT_EQ(t, t->a.softirqs, 1);
}

static void softirq_reply(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_RECV)
		c->hook_err = mpa_send(c->conn, &conn_msg(t, 100)->tx);
}

static void softirq_sends(struct conn_test *t)
{
	softirq_open(t);
	t->a.hook = softirq_reply;
	conn_peer_send(t, 100);
	conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 1, 0);
	EXPECT_EQ(t, t->a.hook_err, 0);
	EXPECT_EQ(t, t->a.softirqs, 1);
}

static void softirq_hook_memalloc(struct mpa_consumer *c,
				  enum consumer_event ev)
{
	if (ev == EV_RECV)
		c->hook_err = conn_may_wait();
}

/*
 * An allocation of recv() may use the memory reserves, also in softirq, but not
 * if the socket may not (@arg).
 */
static void softirq_memalloc(struct conn_test *t)
{
	struct sock *sk;

	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS | MPA_F_MEMALLOC,
		  PEER_M | PEER_C);
	sk = t->sock[0]->sk;
	lock_sock(sk);
	if (conn_arg(t))
		sk->sk_allocation |= __GFP_NOMEMALLOC;
	release_sock(sk);
	mpa_allow_softirq(t->a.conn);
	mpa_resume(t->a.conn);
	conn_settle(&t->a);
	t->a.hook = softirq_hook_memalloc;
	conn_peer_send(t, 100);
	softirq_expect(t, 1, 1);
	EXPECT_EQ(t, t->a.hook_err, conn_arg(t));
	EXPECT_TRUE(t, conn_may_wait());
}

static void softirq_leaves(struct conn_test *t)
{
	softirq_open(t);
	t->a.hook = conn_hook_leave;
	conn_peer_send(t, 100);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	EXPECT_EQ(t, t->a.softirqs, 1);
	EXPECT_EQ(t, conn_unread(t), 0);
}

/* Octets that the consumer keeps are consumed after mpa_rx_put(). */
static void softirq_keep(struct conn_test *t)
{
	softirq_open(t);
	t->a.keep = true;
	conn_peer_send(t, 100);
	conn_peer_send(t, 5000);
	conn_expect_rx(t, &t->a, 2);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_unread(t), t->out_pos);
	mpa_consumer_put_all(&t->a);
	softirq_expect(t, 2, 2);
}

/* Softirq and work item of one connection, and of its peer, in any order */
static void softirq_sibling(struct conn_test *t)
{
	u32 i;

	conn_two(t, 0, 0);
	mpa_allow_softirq(t->a.conn);
	mpa_allow_softirq(t->b.conn);
	for (i = 0; i < 100; i++)
		conn_post(t, 64 * i + 1);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 100);
	EXPECT_EQ(t, t->b.disorder, 0);
	EXPECT_EQ(t, t->b.overlaps, 0);
}

static const struct conn_row softirq_rows[] = {
	{ "recv() in softirq", softirq_plain },
	{ "an FPDU in parts", softirq_parts },
	{ "more than MPA_SOFTIRQ_OCTETS", softirq_long },
	{ "on hold", softirq_hold },
	{ "after the timer", softirq_timer },
	{ "CS-29 the first FPDU", softirq_first },
	{ "a wrong CRC", softirq_bad },
	{ "a FIN", softirq_fin },
	{ "recv() sends", softirq_sends },
	{ "recv() detaches", softirq_leaves },
	{ "MPA_F_MEMALLOC", softirq_memalloc },
	{ "MPA_F_MEMALLOC, __GFP_NOMEMALLOC", softirq_memalloc, true },
	{ "the consumer keeps octets", softirq_keep },
	{ "both ends at once", softirq_sibling },
};

CONN_ROWS(softirq);
