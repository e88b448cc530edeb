// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Startup up to full operation. */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

/* TCP_CORK of the previous owner must not hold back what MPA sends. */
static void start_cork(struct conn_test *t)
{
	struct tcp_sock *tp;

	conn_pair(t);
	tp = tcp_sk(t->sock[0]->sk);
	tcp_sock_set_cork(t->sock[0]->sk, true);
	conn_attach(t, 0);
	EXPECT_TRUE(t, tp->nonagle & TCP_NAGLE_CORK);
	conn_start(t, CONN_INITIATOR);
	conn_expect_frame(t, false, PEER_C, 1, NULL, 0);
	EXPECT_FALSE(t, tp->nonagle & TCP_NAGLE_CORK);
	conn_peer_frame(t, true, PEER_C | PEER_R, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
	conn_detach(t, &t->a);
	EXPECT_TRUE(t, tp->nonagle & TCP_NAGLE_CORK);
	EXPECT_FALSE(t, tp->nonagle & TCP_NAGLE_OFF);
}

/* Octets that arrive before the start are the first of the frame. */
static void start_unread(struct conn_test *t)
{
	conn_attach(t, 0);
	conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	conn_settle(&t->a);
	conn_start(t, CONN_RESPONDER);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
}

/* The consumer leaves streaming data unread: MPA does not skip it. */
static void start_streaming(struct conn_test *t)
{
	u8 reply[PEER_FRAME];

	conn_attach(t, 0);
	conn_write(t, "streaming", 9);
	conn_start(t, CONN_INITIATOR);
	conn_expect_frame(t, false, PEER_C, 1, NULL, 0);
	mpa_peer_frame(reply, true, PEER_C, 1, NULL, 0);
	mpa_peer_write(&t->peer, reply, sizeof(reply));
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_KEY);
	CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
}

static void start_wrong_state(struct conn_test *t)
{
	struct conn_msg *msg = conn_msg(t, 10);

	conn_attach(t, 0);
	EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), -ENOTCONN);
	EXPECT_EQ(t, mpa_shutdown(t->a.conn), -ENOTCONN);
	EXPECT_EQ(t, mpa_accept(t->a.conn, NULL, 0), -ENOTCONN);
	EXPECT_EQ(t, mpa_reject(t->a.conn, NULL, 0), -ENOTCONN);
	conn_start(t, CONN_INITIATOR);
	EXPECT_EQ(t, mpa_start_initiator(t->a.conn, NULL, 0), -EALREADY);
	EXPECT_EQ(t, mpa_start_responder(t->a.conn, NULL, 0), -EALREADY);
	EXPECT_EQ(t, mpa_start_immediate(t->a.conn), -EALREADY);
	EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), -ENOTCONN);
	conn_expect_frame(t, false, PEER_C, 1, NULL, 0);
	conn_expect_silence(t);
}

/* After the end no outcome of a startup would follow. */
static void start_ended(struct conn_test *t)
{
	conn_attach(t, 0);
	mpa_abort(t->a.conn);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, mpa_start_initiator(t->a.conn, NULL, 0), -EALREADY);
	EXPECT_EQ(t, mpa_start_responder(t->a.conn, NULL, 0), -EALREADY);
	EXPECT_EQ(t, mpa_start_immediate(t->a.conn), -EALREADY);
}

/* Without startup frames the first octets each way are a marker. */
static void start_immediately(struct conn_test *t)
{
	struct mpa_info info;

	conn_full(t, CONN_IMMEDIATE, 0, 0);
	conn_expect_silence(t);
	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.rev, MPA_REV_NONE);
	EXPECT_EQ(t, info.peer_rev, MPA_REV_NONE);
	EXPECT_TRUE(t, t->a.conn->terms.crc);
	EXPECT_TRUE(t, info.markers_tx);
	EXPECT_TRUE(t, info.markers_rx);
	/* Neither end waits for the other. */
	conn_post(t, 700);
	conn_expect_tx(t, 700);
	EXPECT_NULL(t, memchr_inv(t->peer.in, 0, 4));
	mpa_resume(t->a.conn);
	conn_peer_send(t, 700);
	conn_expect_rx(t, &t->a, 1);
}

/* RFC 5044 section 7.1.5: a last message in streaming mode */
static void start_last_message(struct conn_test *t)
{
	conn_attach(t, 0);
	ASSERT_EQ(t, mpa_start_responder(t->a.conn, t->pool, 3000), 0);
	ASSERT_EQ(t, mpa_peer_read(&t->peer, 3000), 0);
	EXPECT_EQ(t, memcmp(t->peer.in, t->pool, 3000), 0);
	t->peer.used = 3000;
	conn_expect_silence(t);
	conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	conn_expect_frame(t, true, PEER_C, 1, NULL, 0);
}

/* Start. The peer receives the Request of an Initiator. */
static void start_bad_begin(struct conn_test *t, const struct conn_bad *bad)
{
	static const u8 erd[] = { 0x80, 0, 0x80, 0 };
	bool enhanced = bad->flags & MPA_F_ENHANCED;

	t->a.params.rev = bad->rev;
	t->a.params.pd_max = bad->pd_max;
	if (bad->rev)
		t->a.params.enhanced.rtr = MPA_RTR_WRITE;
	if (bad->role == CONN_RESPONDER || bad->rev < MPA_REV_2) {
		conn_begin(t, bad->role, bad->flags);
		return;
	}
	conn_attach(t, bad->flags);
	conn_start(t, bad->role);
	conn_expect_frame(t, false, PEER_C | (enhanced ? PEER_S : 0), 2, erd,
			  enhanced ? sizeof(erd) : 0);
}

static void start_bad_send(struct conn_test *t, const struct conn_bad *bad)
{
	bool reply = (bad->role == CONN_INITIATOR) != bad->same_role;
	u32 len;

	if (bad->urgent) {
		ASSERT_EQ(t, mpa_peer_urgent(&t->peer, 0x4d), 0);
		return;
	}
	len = mpa_peer_frame(t->buf, reply, bad->peer_flags, bad->peer_rev,
			     t->pool, bad->pd_len);
	if (bad->octets) {
		len = strlen(bad->octets);
		memcpy(t->buf, bad->octets, len);
	}
	if (bad->early)
		t->buf[len++] = 0;
	conn_write(t, t->buf, len);
}

/* The row's frame, or what comes in its place, closes the connection. */
void conn_bad_start(struct conn_test *t)
{
	const struct conn_bad *bad = conn_data(t);

	start_bad_begin(t, bad);
	start_bad_send(t, bad);
	conn_expect_bad_frame(t, bad->reason);
}

/* A key with one wrong octet, for each of its octets. */
static void start_key(struct conn_test *t)
{
	bool initiator = conn_arg(t) == CONN_INITIATOR;
	u32 i, len;

	for (i = 0; i < 16; i++) {
		conn_begin(t, conn_arg(t), 0);
		len = mpa_peer_frame(t->buf, initiator, PEER_C, 1, NULL, 0);
		t->buf[i] ^= 0x20;
		conn_write(t, t->buf, len);
		conn_expect_bad_frame(t, MPA_REASON_KEY);
		conn_reopen(t);
	}
}

/* A strict Responder refuses a Request of Rev 0. */
static void start_refuse(struct conn_test *t)
{
	conn_begin(t, CONN_RESPONDER, MPA_F_STRICT);
	conn_peer_frame(t, false, PEER_C, 0, NULL, 0);
	conn_expect_frame(t, true, PEER_C | PEER_R, 1, NULL, 0);
}

/* A strict Responder answers a Rev 0 Request with Rev 1, then closes. */
static void start_strict_request(struct conn_test *t)
{
	conn_begin(t, CONN_RESPONDER, MPA_F_STRICT);
	conn_peer_frame(t, false, PEER_M | PEER_C, 0, t->pool, 100);
	conn_expect_frame(t, true, PEER_C | PEER_R, 1, NULL, 0);
	conn_expect_fin(t);
	mpa_peer_reset(&t->peer);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	CONN_COUNT(t, &t->a, EV_REQUEST, 0);
}

/* The peer closes after the refusal: both sides close gracefully. */
static void start_refusal_fin(struct conn_test *t)
{
	start_refuse(t);
	ASSERT_EQ(t, mpa_peer_read_end(&t->peer), 0);
	EXPECT_EQ(t, kernel_sock_shutdown(t->peer.sock, SHUT_WR), 0);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	EXPECT_EQ(t, READ_ONCE(t->peer.sock->sk->sk_err), 0);
}

/* Expect an end for a refused frame, and a reset of the peer. */
static void start_expect_refusal_reset(struct conn_test *t)
{
	const struct sock *peer = t->peer.sock->sk;

	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_TRUE(t, CONN_UNTIL(inet_sk_state_load(peer) == TCP_CLOSE));
}

/* A peer that does not close is reset, long before the startup timer. */
static void start_refusal_stays(struct conn_test *t)
{
	unsigned long began = jiffies;

	conn_attach(t, MPA_F_STRICT);
	WRITE_ONCE(t->mn->startup_timeout_ms, 60 * MSEC_PER_SEC);
	start_refuse(t);
	start_expect_refusal_reset(t);
	EXPECT_TRUE(t, time_before(jiffies, began + 10 * HZ));
}

/* A peer that goes on sending after the refusal is reset after 64 KB. */
static void start_refusal_flood(struct conn_test *t)
{
	unsigned long before;

	conn_attach(t, MPA_F_STRICT);
	before = conn_counter(t, MPA_MIB_RX_DISCARDED);
	start_refuse(t);
	/* At once: MPA waits for more for half a second only. */
	mpa_peer_write(&t->peer, t->buf, 2 * SZ_64K);
	start_expect_refusal_reset(t);
	before = conn_counter(t, MPA_MIB_RX_DISCARDED) - before;
	EXPECT_GE(t, before, SZ_64K);
	EXPECT_LE(t, before, SZ_64K + 64);
}

static void start_strict_reply(struct conn_test *t)
{
	conn_begin(t, CONN_INITIATOR, MPA_F_STRICT);
	/* Unread private data must not turn the close into a reset. */
	conn_peer_frame(t, true, PEER_M | PEER_C, 0, t->pool, 100);
	conn_expect_fin(t);
	EXPECT_EQ(t, kernel_sock_shutdown(t->peer.sock, SHUT_WR), 0);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_REVISION);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, READ_ONCE(t->peer.sock->sk->sk_err), 0);
}

/* The peer's FIN arrives inside its frame, after each octet in turn. */
static void start_truncated(struct conn_test *t)
{
	bool initiator = conn_arg(t) == CONN_INITIATOR;
	u8 frame[PEER_FRAME + 10];
	u32 len = mpa_peer_frame(frame, initiator, PEER_C, 1, t->pool, 10);
	u32 n;

	for (n = 1; n < len; n += n < 15 ? 5 : 1) {
		conn_begin(t, conn_arg(t), 0);
		conn_write(t, frame, n);
		ASSERT_EQ(t, kernel_sock_shutdown(t->peer.sock, SHUT_WR), 0);
		conn_expect_end(t, &t->a, MPA_ERR_FRAME,
				MPA_REASON_SHORT_FRAME);
		CONN_WAIT(t, &t->a, EV_CLOSED, 1);
		conn_reopen(t);
	}
}

/* The peer closes or resets before it sends any octet. */
static void start_gone(struct conn_test *t)
{
	bool fin = conn_arg(t);

	conn_begin(t, CONN_RESPONDER, 0);
	conn_settle(&t->a);
	if (fin)
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	else
		mpa_peer_reset(&t->peer);
	conn_expect_end(t, &t->a, MPA_ERR_TCP,
			fin ? MPA_REASON_FIN : MPA_REASON_RESET);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
}

/* CS-24: an octet arrives while the consumer decides. */
static void start_early_decide(struct conn_test *t)
{
	conn_get_request(t, 0);
	conn_write(t, "", 1);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_EARLY);
	EXPECT_EQ(t, mpa_accept(t->a.conn, NULL, 0), -ENOTCONN);
	conn_expect_over(t);
}

/* No answer after mpa_detach(), though the release waits for the socket. */
static void start_detached_decide(struct conn_test *t)
{
	struct sock *sk;

	conn_get_request(t, 0);
	sk = t->sock[0]->sk;
	lock_sock(sk);
	conn_leave(&t->a);
	EXPECT_EQ(t, mpa_accept(t->a.conn, NULL, 0), -ENOTCONN);
	release_sock(sk);
	conn_detach(t, &t->a);
}

/*
 * Only @arg octets of the Request arrive. If the row has data, the timer also
 * runs for another purpose, as it does when memory is short.
 */
static void start_timeout(struct conn_test *t)
{
	unsigned long began;
	u8 frame[PEER_FRAME];

	mpa_peer_frame(frame, false, PEER_C, 1, NULL, 0);
	conn_attach(t, 0);
	WRITE_ONCE(t->mn->startup_timeout_ms, 300);
	if (conn_arg(t))
		conn_write(t, frame, conn_arg(t));
	began = jiffies;
	conn_start(t, CONN_RESPONDER);
	if (conn_data(t)) {
		conn_settle(&t->a);
		mod_timer(&t->a.conn->timer, jiffies);
	}
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_TIMEOUT);
	EXPECT_EQ(t, t->a.end.err, -ETIMEDOUT);
	EXPECT_TRUE(t, time_after_eq(jiffies, began + msecs_to_jiffies(300)));
	EXPECT_NE(t, mpa_peer_read_end(&t->peer), -EAGAIN);
}

/*
 * Single octets that keep arriving do not extend the startup timeout. Those of
 * the frame before them, if any, come at once.
 */
static void start_timeout_dribble(struct conn_test *t)
{
	u8 frame[PEER_FRAME + 512];
	u32 begin = conn_arg(t);
	u32 i;

	mpa_peer_frame(frame, false, PEER_C, 1, t->pool, 512);
	conn_attach(t, 0);
	WRITE_ONCE(t->mn->startup_timeout_ms, 200);
	if (begin)
		conn_write(t, frame, begin);
	conn_start(t, CONN_RESPONDER);
	for (i = begin; i < begin + 8 * PEER_FRAME; i++) {
		if (mpa_peer_write(&t->peer, frame + i, 1))
			break;
		if (mpa_consumer_count(&t->a, EV_ENDED))
			break;
		msleep(50);
	}
	EXPECT_LT(t, i, begin + 8 * PEER_FRAME);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_TIMEOUT);
}

/*
 * Own the socket while the startup timer is still running. True if that was in
 * time.
 */
static bool start_own_before_timer(struct conn_test *t)
{
	struct mpa_conn *conn = t->a.conn;
	u32 i;

	for (i = 0; i < 1000 && !timer_pending(&conn->timer); i++)
		usleep_range(100, 200);
	mpa_peer_own(t->sock[0]->sk);
	if (timer_pending(&conn->timer))
		return true;
	mpa_peer_disown(t->sock[0]->sk);
	return false;
}

/* A frame that arrives in time is read, however late the work item runs. */
static void start_late(struct conn_test *t)
{
	bool reply = conn_arg(t) == CONN_INITIATOR;
	bool owned = false;
	u32 ms, i;

	for (ms = 100; !owned && ms <= 12800; ms *= 2) {
		if (t->a.conn)
			conn_reopen(t);
		conn_attach(t, 0);
		WRITE_ONCE(t->mn->startup_timeout_ms, ms);
		conn_start(t, conn_arg(t));
		owned = start_own_before_timer(t);
	}
	ASSERT_TRUE(t, owned);
	/* The work item waits for the socket lock from now on. */
	conn_peer_frame(t, reply, PEER_C, 1, t->pool, 40);
	for (i = 0; i < 30000 && timer_pending(&t->a.conn->timer); i++)
		usleep_range(1000, 2000);
	mpa_peer_disown(t->sock[0]->sk);
	CONN_WAIT(t, &t->a, reply ? EV_ESTABLISHED : EV_REQUEST, 1);
	EXPECT_EQ(t, t->a.startup.pd_len, 40);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
}

/* There is no timeout while the consumer decides. */
static void start_no_timer(struct conn_test *t)
{
	conn_attach(t, 0);
	WRITE_ONCE(t->mn->startup_timeout_ms, 100);
	conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	conn_start(t, CONN_RESPONDER);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	EXPECT_FALSE(t, timer_pending(&t->a.conn->timer));
	msleep(250);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	WRITE_ONCE(t->mn->startup_timeout_ms, t->timeout_ms);
	ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	EXPECT_FALSE(t, timer_pending(&t->a.conn->timer));
	conn_expect_frame(t, true, PEER_C, 1, NULL, 0);
}

/* Detach; expect the callbacks restored, and TCP in working order. */
static void start_given_back(struct conn_test *t,
			     void (*ready)(struct sock *sk), const u8 *unread,
			     u32 len)
{
	struct mpa_peer own = { .sock = t->sock[0] };

	conn_detach(t, &t->a);
	EXPECT_PTR_EQ(t, t->sock[0]->sk->sk_data_ready, ready);
	EXPECT_NULL(t, t->sock[0]->sk->sk_user_data);
	conn_expect_left(t, unread, len);
	EXPECT_EQ(t, mpa_peer_write(&own, "still TCP", 9), 0);
	ASSERT_EQ(t, mpa_peer_read(&t->peer, t->peer.used + 9), 0);
	EXPECT_EQ(t, memcmp(t->peer.in + t->peer.used, "still TCP", 9), 0);
}

/* The peer has closed its sending half before mpa_attach(). */
static void start_close_wait(struct conn_test *t)
{
	conn_pair(t);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	usleep_range(2000, 3000);
	conn_begin(t, CONN_INITIATOR, 0);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_NE(t, t->a.err, 0);
}

/*
 * A FIN right after the Request, or while the consumer decides: it is accepted,
 * then reported as the end.
 */
static void start_request_fin(struct conn_test *t)
{
	conn_attach(t, 0);
	conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	if (!conn_arg(t))
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	usleep_range(2000, 3000);
	conn_start(t, CONN_RESPONDER);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	if (conn_arg(t))
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_settle(&t->a);
	ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	conn_expect_frame(t, true, PEER_C, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	EXPECT_EQ(t, mpa_send(t->a.conn, &conn_msg(t, 9)->tx), -EPIPE);
	EXPECT_EQ(t, mpa_shutdown(t->a.conn), 0);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, 0);
}

/* Reply and FIN arrive at once, with (@arg) or without an FPDU. */
static void start_reply_fin(struct conn_test *t)
{
	conn_begin(t, CONN_INITIATOR, 0);
	t->crc = true;
	t->buf_len = mpa_peer_frame(t->buf, true, PEER_C, 1, NULL, 0);
	if (conn_arg(t))
		conn_fpdu(t, 600);
	conn_flush(t);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	mpa_resume(t->a.conn);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	conn_expect_rx(t, &t->a, conn_arg(t));
	conn_post(t, 100);
	conn_expect_tx(t, 100);
}

/* TCP has no room for the whole Request, and the peer does not read. */
static void start_timeout_send(struct conn_test *t)
{
	conn_buffers(t, 4096, 4096);
	t->a.params.pd_max = MPA_PD_MAX_REV0;
	conn_attach(t, MPA_F_REV0);
	WRITE_ONCE(t->mn->startup_timeout_ms, 200);
	ASSERT_EQ(t, mpa_start_initiator(t->a.conn, t->pool, 65535), 0);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_TIMEOUT);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
}

/* TCP has no room for the Reply: its time begins with mpa_accept(). */
static void start_timeout_reply(struct conn_test *t)
{
	conn_buffers(t, 4096, 200000);
	conn_attach(t, 0);
	conn_start_full(t);
	conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	WRITE_ONCE(t->mn->startup_timeout_ms, 200);
	ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, MPA_REASON_TIMEOUT);
	CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
}

/* A Reply with R = 1; the octets after it are left to the consumer. */
static void start_rejected(struct conn_test *t)
{
	void (*ready)(struct sock *sk);
	unsigned long before;
	u32 len;

	conn_pair(t);
	ready = t->sock[0]->sk->sk_data_ready;
	conn_begin(t, CONN_INITIATOR, 0);
	before = conn_counter(t, MPA_MIB_REJECTS_RECEIVED);
	len = mpa_peer_frame(t->buf, true, PEER_C | PEER_R, 1, t->pool, 30);
	memcpy(t->buf + len, "why not", 7);
	conn_write(t, t->buf, len + 7);
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
	ASSERT_EQ(t, t->a.startup.pd_len, 30);
	EXPECT_EQ(t, memcmp(t->a.pd, t->pool, 30), 0);
	CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_REJECTS_RECEIVED), before + 1);
	conn_expect_silence(t);
	start_given_back(t, ready, "why not", 7);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
}

/* Urgent data after a Reply that rejects is the consumer's concern, too. */
static void start_rejected_urgent(struct conn_test *t)
{
	u32 len;

	conn_begin(t, CONN_INITIATOR, 0);
	len = mpa_peer_frame(t->buf, true, PEER_C | PEER_R, 1, NULL, 0);
	/* So that the work item finds both */
	mpa_peer_own(t->sock[0]->sk);
	conn_write(t, t->buf, len);
	EXPECT_EQ(t, mpa_peer_urgent(&t->peer, 0), 0);
	mpa_peer_disown(t->sock[0]->sk);
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
}

/* After a rejection TCP is the consumer's concern, also when it is lost. */
static void start_rejected_reset(struct conn_test *t)
{
	const struct sock *sk;

	conn_get_request(t, 0);
	sk = t->sock[0]->sk;
	ASSERT_EQ(t, mpa_reject(t->a.conn, NULL, 0), 0);
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
	mpa_peer_reset(&t->peer);
	EXPECT_TRUE(t, CONN_UNTIL(inet_sk_state_load(sk) == TCP_CLOSE));
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	CONN_COUNT(t, &t->a, EV_CLOSED, 0);
}

/* mpa_reject(), with @arg octets of private data. */
static void start_reject(struct conn_test *t)
{
	void (*ready)(struct sock *sk);
	unsigned long before;

	conn_pair(t);
	ready = t->sock[0]->sk->sk_data_ready;
	conn_get_request(t, MPA_F_MARKERS);
	before = conn_counter(t, MPA_MIB_REJECTS_SENT);
	ASSERT_EQ(t, mpa_reject(t->a.conn, t->pool, conn_arg(t)), 0);
	conn_expect_frame(t, true, PEER_M | PEER_C | PEER_R, 1, t->pool,
			  conn_arg(t));
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_REJECTS_SENT), before + 1);
	conn_expect_silence(t);
	conn_write(t, "all right", 9);
	conn_settle(&t->a);
	start_given_back(t, ready, "all right", 9);
	CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
}

static void start_hook_reject(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != EV_REQUEST)
		return;
	c->hook_err = mpa_reject(c->conn, "no", 2);
	conn_leave(c);
}

/* mpa_detach() follows mpa_reject(), in request(): the Reply is sent. */
static void start_reject_detach(struct conn_test *t)
{
	t->a.hook = start_hook_reject;
	conn_get_request(t, 0);
	EXPECT_EQ(t, t->a.hook_err, 0);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	CONN_COUNT(t, &t->a, EV_REJECTED, 0);
	conn_expect_frame(t, true, PEER_C | PEER_R, 1, "no", 2);
	EXPECT_TRUE(t, mpa_peer_silent(&t->peer));
}

/* The same, but another user connects the socket again in between. */
static void start_hook_reconnect(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev != EV_REQUEST)
		return;
	c->hook_err = mpa_reject(c->conn, "no", 2) ?:
		      conn_disconnect(t->sock[0]) ?: conn_connect_again(t);
	mpa_peer_exit(&t->peer);
	c->hook_err = c->hook_err ?: mpa_peer_accept(&t->peer, t->sock[1]) ?:
		      mpa_peer_write(&t->peer, "new", 3);
	(void)CONN_UNTIL(conn_unread(t) == 3);
	conn_leave(c);
}

static void start_reject_reconnect(struct conn_test *t)
{
	const struct sock *sk;

	conn_pair(t);
	sk = t->sock[0]->sk;
	t->a.hook = start_hook_reconnect;
	conn_get_request(t, 0);
	EXPECT_EQ(t, t->a.hook_err, 0);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	EXPECT_EQ(t, inet_sk_state_load(sk), TCP_ESTABLISHED);
	EXPECT_EQ(t, conn_unread(t), 3);
	EXPECT_EQ(t, tcp_sk(sk)->data_segs_out, 0);
}

/* FPDUs right after an accepting Reply wait until mpa_resume(). */
static void start_data_with_reply(struct conn_test *t)
{
	unsigned long before;

	conn_begin(t, CONN_INITIATOR, MPA_F_MARKERS);
	before = conn_counter(t, MPA_MIB_DATA_WITH_REPLY);
	t->rx_markers = true;
	t->crc = true;
	t->buf_len = mpa_peer_frame(t->buf, true, PEER_C, 1, t->pool, 3);
	conn_fpdu(t, 600);
	conn_fpdu(t, 1);
	conn_flush(t);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 0);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_DATA_WITH_REPLY), before + 1);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 2);
}

static const struct conn_row startup_rows[] = {
	{ "TX-08: TCP_CORK set before the start", start_cork },
	{ "CS-01 CS-03: a Request that arrived before the start",
	  start_unread },
	{ "CS-41: streaming data that was not read", start_streaming },
	{ "CS-11: calls in the wrong state", start_wrong_state },
	{ "CS-11: ended before it is started", start_ended },
	CONN_BAD("RF-21 RF-22: Rev 0, more than the consumer allows",
		 CONN_RESPONDER, PEER_M | PEER_C, 0, 1001, MPA_REASON_PD_LENGTH,
		 .pd_max = 1000),
	{ "CS-05 MK-10 MK-19: no startup frames", start_immediately },
	{ "CS-42: last streaming message", start_last_message },
	{ "CS-28: FPDUs together with the Reply", start_data_with_reply },
	{ "TD-02: FIN after the Request", start_request_fin, 0 },
	{ "TD-02: FIN while the consumer decides", start_request_fin, 1 },
	{ "TD-02: FIN after the Reply", start_reply_fin, 0 },
	{ "TD-02: FPDU and FIN after the Reply", start_reply_fin, 1 },
	{ "ER-02: FIN before MPA was attached", start_close_wait },
};

CONN_ROWS(startup);

static const struct conn_row frame_rows[] = {
	{ "CS-16 CS-34 CS-37 RF-03 ER-08: wrong key in a Request",
	  start_key, CONN_RESPONDER },
	{ "CS-25 CS-26 CS-34 RF-05 ER-08: wrong key in a Reply",
	  start_key, CONN_INITIATOR },
	CONN_BAD("CS-37 RF-03 VN-08: first octets of another protocol",
		 CONN_RESPONDER, .reason = MPA_REASON_KEY, .octets = "GET "),
	CONN_BAD("CS-12 CS-30: Initiator meets Initiator",
		 CONN_INITIATOR, PEER_C, 1, 0, MPA_REASON_ROLE,
		 .same_role = true),
	CONN_BAD("CS-30: Responder gets a Reply",
		 CONN_RESPONDER, PEER_C, 1, 0, MPA_REASON_ROLE,
		 .same_role = true),
	CONN_BAD("RF-22 RF-24 RF-26: Request, PD_Length 513",
		 CONN_RESPONDER, PEER_C, 1, 513, MPA_REASON_PD_LENGTH),
	CONN_BAD("RF-22 RF-24 RF-26: Reply, PD_Length 513",
		 CONN_INITIATOR, PEER_C, 1, 513, MPA_REASON_PD_LENGTH),
	CONN_BAD("CS-16 RF-17 RF-18: Request, Rev 2",
		 CONN_RESPONDER, PEER_C, 2, 100, MPA_REASON_REVISION),
	CONN_BAD("CS-16 RF-17 RF-18: Request, Rev 255",
		 CONN_RESPONDER, PEER_C, 255, 100, MPA_REASON_REVISION),
	{ "VN-09: strict, Request, Rev 0", start_strict_request },
	{ "VN-09 TD-05: peer closes after the refusal", start_refusal_fin },
	{ "VN-09: peer does not close after the refusal", start_refusal_stays },
	{ "VN-09: peer goes on sending after the refusal",
	  start_refusal_flood },
	CONN_BAD("RF-17 RF-18: Reply, Rev 2",
		 CONN_INITIATOR, PEER_C, 2, 0, MPA_REASON_REVISION),
	CONN_BAD("RF-17 RF-18: Reply, Rev 255",
		 CONN_INITIATOR, PEER_C, 255, 0, MPA_REASON_REVISION),
	{ "VN-10 TD-05: strict, Reply, Rev 0", start_strict_reply },
	CONN_BAD("RF-18 VN-18: Rev 0 Initiator, Reply, Rev 1",
		 CONN_INITIATOR, PEER_M | PEER_C, 1, 0, MPA_REASON_REVISION,
		 .flags = MPA_F_REV0),
	{ "RF-22: FIN inside a Request", start_truncated, CONN_RESPONDER },
	{ "RF-22: FIN inside a Reply", start_truncated, CONN_INITIATOR },
	{ "ER-02: FIN instead of a Request", start_gone, true },
	{ "ER-02: RST instead of a Request", start_gone, false },
	CONN_BAD("CS-24 RF-22: octets after a Request",
		 CONN_RESPONDER, PEER_C, 1, 0, MPA_REASON_EARLY,
		 .early = true),
	{ "CS-24: octets while the consumer decides", start_early_decide },
	{ "mpa_accept() after mpa_detach()", start_detached_decide },
	CONN_BAD("CS-16: urgent data instead of a Request",
		 CONN_RESPONDER, .reason = MPA_REASON_URGENT, .urgent = true),
	CONN_BAD("CS-26: urgent data instead of a Reply",
		 CONN_INITIATOR, .reason = MPA_REASON_URGENT, .urgent = true),
};

CONN_ROWS(frame);

static const struct conn_row timeout_rows[] = {
	{ "CS-31: no Request", start_timeout, 0 },
	{ "CS-32: 19 octets of a Request", start_timeout, 19 },
	{ "no Request, timer also used for an allocation retry",
	  start_timeout, 0, "retry" },
	{ "CS-32: a Request that arrives too slowly",
	  start_timeout_dribble, 0 },
	{ "CS-32: private data that arrive too slowly",
	  start_timeout_dribble, PEER_FRAME },
	{ "CS-32: a Request that the peer does not read", start_timeout_send },
	{ "CS-31: a Reply that TCP does not take", start_timeout_reply },
	{ "CS-31: a Request in time, read late", start_late, CONN_RESPONDER },
	{ "CS-32: a Reply in time, read late", start_late, CONN_INITIATOR },
	{ "CS-31: no timeout while the consumer decides", start_no_timer },
};

CONN_ROWS(timeout);

static const struct conn_row reject_rows[] = {
	{ "CS-20 CS-27 RF-13: Reply with R 1", start_rejected },
	{ "CS-20 CS-27: Reply with R 1, then urgent data",
	  start_rejected_urgent },
	{ "CS-17 CS-19 CS-20: mpa_reject()", start_reject, 0 },
	{ "CS-18 CS-38: mpa_reject(), private data", start_reject, 512 },
	{ "CS-17: mpa_reject() and mpa_detach() at once", start_reject_detach },
	{ "mpa_reject(), then another user connects", start_reject_reconnect },
	{ "RST after a rejection", start_rejected_reset },
};

CONN_ROWS(reject);
