// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* How the peer's stream ends: by a FIN or a reset. */
#include <linux/delay.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

/* FIN between two FPDUs; the sending half goes on. */
static void fin_between(struct conn_test *t)
{
	struct mpa_info info;

	conn_default(t);
	conn_fpdu(t, 600);
	conn_fpdu(t, 1);
	conn_flush(t);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	conn_expect_rx(t, &t->a, 2);
	EXPECT_EQ(t, t->a.end.err, 0);
	EXPECT_EQ(t, t->a.end.pos, t->out_pos);
	EXPECT_EQ(t, t->a.log[t->a.nr_log - 1], EV_ENDED);
	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.state, MPA_STATE_FULL);
	EXPECT_EQ(t, info.rx_pos, t->out_pos);
	EXPECT_EQ(t, info.ulpdus_rx, 2);
	conn_post(t, 900);
	conn_expect_tx(t, 900);
	conn_expect_silence(t);
}

/* FIN after each octet of an incomplete FPDU. */
static void fin_truncated(struct conn_test *t)
{
	u32 n, first, size;

	for (n = 1; n < 20; n++) {
		conn_default(t);
		first = conn_fpdu(t, 40);
		size = conn_fpdu(t, 10);
		conn_write(t, t->buf, first + min(n, size - 1));
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
		conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_TRUNCATED);
		CONN_COUNT(t, &t->a, EV_ULPDUS, 1);
		EXPECT_EQ(t, t->a.end.pos, first);
		EXPECT_NE(t, t->a.end.err, 0);
		conn_reopen(t);
	}
}

/*
 * The stream ends with @arg octets where a marker is due, which are zero unless
 * the row has others.
 */
static void fin_lone_marker(struct conn_test *t)
{
	static const u8 zero[4];
	const u8 *marker = conn_data(t);
	bool whole = !marker && conn_arg(t) == sizeof(zero);

	conn_default(t);
	conn_fpdu(t, 502);	/* 4 + 2 + 502 + 4: the marker is due */
	ASSERT_EQ(t, t->buf_len, 512);
	memcpy(t->buf + t->buf_len, marker ?: zero, conn_arg(t));
	t->buf_len += conn_arg(t);
	conn_flush(t);
	conn_settle(&t->a);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP,
			whole ? MPA_REASON_FIN : MPA_REASON_TRUNCATED);
	conn_expect_rx(t, &t->a, 1);
}

/*
 * On hold a FIN is reported after the ULPDUs before it, which wait; at once if
 * there are none (@arg).
 */
static void fin_held(struct conn_test *t)
{
	u32 nr = conn_arg(t);

	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_C);
	if (nr)
		conn_peer_send(t, 50);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	if (nr) {
		conn_settle(&t->a);
		CONN_COUNT(t, &t->a, EV_ENDED, 0);
		CONN_COUNT(t, &t->a, EV_RECV, 0);
		mpa_resume(t->a.conn);
	}
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	conn_expect_rx(t, &t->a, nr);
	EXPECT_EQ(t, t->a.log[t->a.nr_log - 1], EV_ENDED);
}

/*
 * A reset is reported on hold, and waiting ULPDUs are dropped; @arg: so many,
 * which may be more than the window has room for.
 */
static void fin_held_reset(struct conn_test *t)
{
	u32 i;

	conn_buffers(t, 8192, 200000);
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_C);
	for (i = 0; i < conn_arg(t); i++)
		conn_peer_send(t, 2000);
	conn_settle(&t->a);
	mpa_peer_reset(&t->peer);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, -ECONNRESET);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
	mpa_resume(t->a.conn);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
}

static void fin_until_closed(const struct mpa_conn *conn)
{
	(void)CONN_UNTIL(inet_sk_state_load(conn->sk) == TCP_CLOSE);
}

/* The first recv() returns once TCP is closed. */
static void fin_hook_until_closed(struct mpa_consumer *c,
				  enum consumer_event ev)
{
	if (ev == EV_RECV)
		fin_until_closed(c->conn);
}

/* Full operation, with the work item in recv(), which calls @hook. */
static void fin_begin_inside(struct conn_test *t,
			     void (*hook)(struct mpa_consumer *c,
					  enum consumer_event ev))
{
	t->a.hook = hook;
	conn_default(t);
	conn_peer_send(t, 100);
	ASSERT_TRUE(t, CONN_UNTIL(atomic_read(&t->a.inside)));
}

/* The peer resets. All that it has sent came before that, @nr ULPDUs. */
static void fin_reset(struct conn_test *t, u32 nr, enum mpa_reason reason,
		      int err)
{
	ASSERT_TRUE(t, CONN_UNTIL(conn_all_acked(t)));
	mpa_peer_reset(&t->peer);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	conn_expect_rx(t, &t->a, nr);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, reason);
	EXPECT_EQ(t, t->a.err, err);
}

/*
 * FPDUs that TCP has got before a reset are delivered, then that is reported.
 * The last of them is not complete. @arg: messages to send
 */
static void fin_reset_after(struct conn_test *t)
{
	u32 i, nr = conn_arg(t);

	fin_begin_inside(t, fin_hook_until_closed);
	for (i = 0; i < 3; i++)
		conn_peer_send(t, 10000);
	conn_write(t, t->buf, conn_fpdu(t, 300) - 1);
	conn_post_many(t, nr, 200);
	fin_reset(t, 4, MPA_REASON_RESET, -ECONNRESET);
	conn_expect_statuses(t, &t->a, nr, -ECONNRESET);
}

static int fin_next_until_closed(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	int more = conn_next(tx, max);

	fin_until_closed(msg->conn);
	return more;
}

/* The same, if sendmsg() is the first to notice the reset. */
static void fin_reset_sending(struct conn_test *t)
{
	struct conn_msg *msg;

	conn_default(t);
	msg = conn_source(t, 100);
	msg->tx.next = fin_next_until_closed;
	msg->conn = t->a.conn;
	conn_send(t, msg);
	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(msg->asked)));
	conn_peer_send(t, 500);
	fin_reset(t, 1, MPA_REASON_RESET, -ECONNRESET);
	conn_expect_done(t, &t->a, 1, -ECONNRESET);
}

/* A FIN that TCP has got before a reset is reported, too. */
static void fin_then_reset(struct conn_test *t)
{
	fin_begin_inside(t, fin_hook_until_closed);
	conn_peer_send(t, 100);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	fin_reset(t, 2, MPA_REASON_FIN, -EPIPE);
}

/* The first recv() returns once the FIN has come, others post a message. */
static void fin_hook_post(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != EV_RECV)
		return;
	if (!c->count[EV_RECV])
		(void)CONN_UNTIL(mpa_tcp_has_fin(c->conn->sk));
	else
		conn_post(container_of(c, struct conn_test, a), 200);
}

/*
 * A peer that has closed answers the message by a reset. It comes after TCP has
 * consumed the ULPDUs, and the FIN with the last of them.
 */
static void fin_consumed_reset(struct conn_test *t)
{
	fin_begin_inside(t, fin_hook_post);
	conn_peer_send(t, 100);
	sock_release(t->peer.sock);
	t->peer.sock = NULL;
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	conn_expect_rx(t, &t->a, 2);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
}

/* Answer the FIN by a message and ours, in the same round. */
static void fin_hook_answer(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != EV_ENDED)
		return;
	conn_post(container_of(c, struct conn_test, a), 200);
	c->hook_err = mpa_shutdown(c->conn);
}

/* A peer that has closed answers by a reset, in the round that sends a FIN. */
static void fin_answered_reset(struct conn_test *t)
{
	conn_default(t);
	t->a.hook = fin_hook_answer;
	sock_release(t->peer.sock);
	t->peer.sock = NULL;
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.hook_err, 0);
	/* ksoftirqd may be late: then TCP has sent the FIN before. */
	EXPECT_TRUE(t, t->a.err == -EPIPE || t->a.err == -ECONNRESET);
	CONN_WAIT(t, &t->a, EV_DONE, 1);
}

/*
 * The first recv() returns once TCP is closed, the second late, so that another
 * run of the work item takes what the reset has queued; in the last another
 * user connects the socket again, which queues nothing.
 */
static void fin_hook_reconnect(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev != EV_RECV)
		return;
	fin_until_closed(c->conn);
	if (c->count[EV_RECV] == 1) {
		msleep(20);
	} else if (c->nr_rx == t->nr_out) {
		c->hook_err = conn_disconnect(t->sock[0]) ?:
			      conn_connect_again(t);
		c->hook = NULL;
	}
}

/* After FPDUs before a reset nothing of another user's stream is read. */
static void fin_reset_reconnect(struct conn_test *t)
{
	u32 i;

	conn_buffers(t, 400000, 400000);
	fin_begin_inside(t, fin_hook_reconnect);
	for (i = 0; i < 20; i++)
		conn_peer_send(t, 10000);
	fin_reset(t, 21, MPA_REASON_RESET, -ECONNRESET);
	ASSERT_NULL(t, t->a.hook);
	EXPECT_EQ(t, t->a.hook_err, 0);
}

static const struct conn_row fin_rows[] = {
	{ "TD-01 TD-02 TD-03 ER-02 DD-12 OO-06: between FPDUs", fin_between },
	{ "TD-03 ER-02: inside an FPDU", fin_truncated },
	{ "TD-02: after a marker that nothing follows", fin_lone_marker, 4 },
	{ "TD-03: inside a marker that nothing follows", fin_lone_marker, 3 },
	{ "TD-03: after a marker that is not zero",
	  fin_lone_marker, 4, "\0\0\0\4" },
	{ "TD-02: while delivery is held", fin_held, 1 },
	{ "TD-02: while held, nothing before it", fin_held, 0 },
	{ "TD-03 ER-02: RST after FPDUs", fin_reset_after },
	{ "TD-03 ER-02: RST after FPDUs, and messages to send",
	  fin_reset_after, 3 },
	{ "TD-03 ER-02: RST after FPDUs, while a source is asked",
	  fin_reset_sending },
	{ "TD-02: RST after FPDUs and a FIN", fin_then_reset },
	{ "TD-02: RST after a FIN that was consumed",
	  fin_consumed_reset },
	{ "TD-02: RST that answers what ended() sends", fin_answered_reset },
	{ "RST after FPDUs, then another user connects", fin_reset_reconnect },
	{ "TD-03 ER-02: RST while delivery is held", fin_held_reset, 1 },
	{ "TD-03 ER-02: RST while held and the window is shut",
	  fin_held_reset, 40 },
};

CONN_ROWS(fin);
