// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Batches that the consumer keeps, and what a detach leaves in the socket. */
#include <net/tcp.h>
#include "mpa_conn_test.h"

/* True if kept batch @i still has the octets of the peer's ULPDU @i. */
static bool keep_kept_same(const struct conn_test *t, u32 i)
{
	return conn_same(t->a.kept[i]->ulpdu, t->pool + i % 256, t->out_len[i]);
}

static void keep_batches(struct conn_test *t, u32 nr)
{
	u32 i;

	t->a.keep = true;
	for (i = 0; i < nr; i++) {
		conn_peer_send(t, 1000);
		CONN_WAIT(t, &t->a, EV_ULPDUS, i + 1);
	}
	ASSERT_EQ(t, t->a.nr_kept, nr);
	t->a.keep = false;
}

/* Kept batches stay unchanged, and are consumed from TCP in order. */
static void keep_put(struct conn_test *t)
{
	u32 consumed, i;

	conn_default(t);
	consumed = conn_consumed(t);
	keep_batches(t, 3);
	conn_peer_send(t, 1000);
	conn_expect_rx(t, &t->a, 4);
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(t, keep_kept_same(t, i));
	EXPECT_EQ(t, conn_consumed(t), consumed);

	mpa_consumer_put(&t->a, 1);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_consumed(t), consumed);
	mpa_consumer_put(&t->a, 0);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_consumed(t) - consumed, t->a.pos[2]);
	EXPECT_TRUE(t, keep_kept_same(t, 2));
	mpa_consumer_put(&t->a, 2);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_consumed(t) - consumed, t->out_pos);
	conn_expect_alive(t, &t->a);
}

/* Kept batches close the window; all ULPDUs are delivered in the end. */
static void keep_window(struct conn_test *t)
{
	u32 i, kept;

	conn_buffers(t, 8192, 200000);
	conn_default(t);
	t->a.keep = true;
	for (i = 0; i < 100; i++)
		conn_peer_send(t, 1000);
	conn_settle(&t->a);
	kept = mpa_consumer_count(&t->a, EV_ULPDUS);
	EXPECT_LT(t, kept, 100);
	EXPECT_GT(t, kept, 0);
	t->a.keep = false;
	mpa_consumer_put_all(&t->a);
	conn_expect_rx(t, &t->a, 100);
}

/*
 * A copied FPDU counts as kept memory. Its octets no longer fill TCP's queue,
 * so nothing else would limit what is passed.
 */
static void keep_copied(struct conn_test *t)
{
	conn_buffers(t, 4096, 200000);
	conn_default(t);
	t->a.keep = true;
	conn_peer_send(t, 20000);
	CONN_WAIT(t, &t->a, EV_ULPDUS, 1);
	t->a.keep = false;
	ASSERT_GT(t, 20000, t->sock[0]->sk->sk_rcvbuf);
	conn_peer_send(t, 100);
	ASSERT_TRUE(t, CONN_UNTIL(conn_all_acked(t)));
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 1);
	mpa_consumer_put(&t->a, 0);
	conn_expect_rx(t, &t->a, 2);
}

/* The window is not opened for an FPDU after one that the consumer keeps. */
static void keep_stuck(struct conn_test *t)
{
	struct sock *sk;
	u32 consumed;

	t->opts.rcvbuf = 8192;	/* with 4096 the limit would be reached */
	t->opts.sndbuf = 200000;
	conn_default(t);
	sk = t->sock[0]->sk;
	consumed = conn_consumed(t);
	keep_batches(t, 1);
	conn_peer_send(t, 20000);
	ASSERT_TRUE(t, CONN_UNTIL(tcp_epollin_ready(sk, INT_MAX)));
	ASSERT_LE(t, READ_ONCE(t->a.conn->rx.pinned), sk->sk_rcvbuf);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_consumed(t), consumed);
	mpa_consumer_put(&t->a, 0);
	conn_expect_rx(t, &t->a, 2);
}

/* Batches that are put after the end count no longer. */
static void keep_closed(struct conn_test *t)
{
	conn_default(t);
	keep_batches(t, 2);
	mpa_peer_reset(&t->peer);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_GT(t, percpu_counter_sum(&t->mn->rx_mem), 0);
	mpa_consumer_put_all(&t->a);
	conn_settle(&t->a);
	EXPECT_EQ(t, percpu_counter_sum(&t->mn->rx_mem), 0);
}

/* Batches outlive the connection. */
static void keep_released(struct conn_test *t)
{
	u32 i;

	conn_default(t);
	keep_batches(t, 2);
	conn_detach(t, &t->a);
	mpa_peer_close(t->sock[0]);
	t->sock[0] = NULL;
	mpa_barrier();
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(t, keep_kept_same(t, i));
		mpa_consumer_put(&t->a, i);
	}
}

/* The detach leaves octets of ULPDUs that were not passed in the socket. */
static void keep_detach_unread(struct conn_test *t)
{
	u32 size;

	conn_default(t);
	conn_peer_send(t, 100);
	conn_peer_send(t, 200);
	conn_expect_rx(t, &t->a, 2);
	mpa_hold(t->a.conn);
	conn_settle(&t->a);
	size = conn_fpdu(t, 300);
	conn_write(t, t->buf, size);
	conn_settle(&t->a);
	conn_detach(t, &t->a);
	conn_expect_left(t, t->buf, size);
}

/* The detach consumes the octets of a batch that the consumer still keeps. */
static void keep_detach_kept(struct conn_test *t)
{
	u32 consumed;

	conn_default(t);
	consumed = conn_consumed(t);
	keep_batches(t, 1);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, conn_consumed(t) - consumed, t->out_pos);
	mpa_consumer_put(&t->a, 0);
	mpa_barrier();
	EXPECT_EQ(t, conn_consumed(t) - consumed, t->out_pos);
}

static const struct conn_row keep_rows[] = {
	{ "kept batches, put out of order", keep_put },
	{ "batches kept up to the window", keep_window },
	{ "batches kept up to the window, copied", keep_copied },
	{ "one batch kept, then an FPDU larger than the window",
	  keep_stuck },
	{ "batches kept after closed()", keep_closed },
	{ "batches kept after released()", keep_released },
	{ "detach, octets not passed yet", keep_detach_unread },
	{ "detach, a batch kept", keep_detach_kept },
};

CONN_ROWS(keep);
