// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Graceful close, abort and detach, in any state and from any callback. */
#include <linux/delay.h>
#include <linux/string.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

/* States of a connection when it is detached or aborted */
enum end_state {
	END_ATTACHED,
	END_REQUEST_SENT,
	END_FRAME_PART,
	END_DECIDE,
	END_ACCEPTED,
	END_FULL,
	END_DELIVERING,
	END_SHUTDOWN,
	END_FAILED,
	END_CLOSED,
	END_REJECTED,
	END_NR,
};

static void end_decide(struct kunit *test)
{
	conn_get_request(test, 0);
}

static void end_startup(struct kunit *test, enum end_state state)
{
	struct conn_test *t = test->priv;

	if (state >= END_DECIDE) {
		end_decide(test);
		return;
	}
	conn_attach(test, 0);
	if (state == END_REQUEST_SENT)
		conn_start(test, CONN_INITIATOR);
	if (state != END_FRAME_PART)
		return;
	conn_start(test, CONN_RESPONDER);
	mpa_peer_frame(t->buf, false, PEER_C, 1, NULL, 0);
	conn_write(test, t->buf, 19);
	conn_settle(&t->a);
}

static void end_rejected(struct kunit *test)
{
	struct conn_test *t = test->priv;

	end_decide(test);
	KUNIT_ASSERT_EQ(test, mpa_reject(t->a.conn, NULL, 0), 0);
	CONN_WAIT(test, &t->a, EV_REJECTED, 1);
}

static void end_failed(struct kunit *test)
{
	struct conn_test *t = test->priv;

	conn_default(test);
	conn_write(test, "\0\0\0\0\0\0", 6);
	CONN_WAIT(test, &t->a, EV_ENDED, 1);
}

static void end_reach(struct kunit *test, enum end_state state)
{
	struct conn_test *t = test->priv;

	switch (state) {
	case END_ATTACHED:
	case END_REQUEST_SENT:
	case END_FRAME_PART:
	case END_DECIDE:
		end_startup(test, state);
		break;
	case END_ACCEPTED:
		end_decide(test);
		KUNIT_ASSERT_EQ(test, mpa_accept(t->a.conn, NULL, 0), 0);
		break;
	case END_FULL:
		conn_full(test, CONN_INITIATOR, 0, PEER_C);
		conn_peer_send(test, 100);
		break;
	case END_DELIVERING:
		conn_default(test);
		conn_expect_alive(test, &t->a);
		break;
	case END_SHUTDOWN:
		conn_default(test);
		KUNIT_ASSERT_EQ(test, mpa_shutdown(t->a.conn), 0);
		break;
	case END_FAILED:
		end_failed(test);
		break;
	case END_CLOSED:
		conn_default(test);
		mpa_abort(t->a.conn);
		CONN_WAIT(test, &t->a, EV_CLOSED, 1);
		break;
	case END_REJECTED:
		end_rejected(test);
		break;
	case END_NR:
		break;
	}
}

/* Expect one released(), as the last callback. */
static void end_expect_released(struct kunit *test, struct mpa_consumer *c)
{
	KUNIT_ASSERT_TRUE(test, mpa_consumer_wait(c, EV_RELEASED, 1));
	mpa_barrier();
	CONN_COUNT(test, c, EV_RELEASED, 1);
	KUNIT_EXPECT_EQ(test, c->log[c->nr_log - 1], EV_RELEASED);
}

/* mpa_detach() in each state restores the socket. */
static void end_detach(struct kunit *test, struct conn_test *t)
{
	const u8 options = TCP_NAGLE_OFF | TCP_NAGLE_CORK;
	void (*ready)(struct sock *sk);
	enum end_state state;
	struct sock *sk;
	int lowat;
	u8 nonagle;

	for (state = END_ATTACHED; state < END_NR; state++) {
		conn_pair(test);
		sk = t->sock[0]->sk;
		WRITE_ONCE(sk->sk_rcvlowat, 1000);
		tcp_sock_set_cork(sk, state % 2);
		lowat = sk->sk_rcvlowat;
		nonagle = tcp_sk(sk)->nonagle;
		ready = sk->sk_data_ready;
		end_reach(test, state);
		mpa_detach(t->a.conn);
		end_expect_released(test, &t->a);
		KUNIT_EXPECT_PTR_EQ(test, sk->sk_data_ready, ready);
		KUNIT_EXPECT_NULL(test, sk->sk_user_data);
		KUNIT_EXPECT_EQ(test, sk->sk_rcvlowat, lowat);
		KUNIT_EXPECT_EQ(test, tcp_sk(sk)->nonagle & options,
				nonagle & options);
		conn_reopen(test);
	}
}

/* mpa_detach_sync() in each state returns after released(). */
static void end_detach_sync(struct kunit *test, struct conn_test *t)
{
	enum end_state state;

	for (state = END_ATTACHED; state < END_NR; state++) {
		end_reach(test, state);
		KUNIT_EXPECT_EQ(test, mpa_detach_sync(t->a.conn), 0);
		CONN_COUNT(test, &t->a, EV_RELEASED, 1);
		end_expect_released(test, &t->a);
		conn_reopen(test);
	}
}

/* Expect a reset of the peer, in END_SHUTDOWN possibly after a FIN. */
static void end_expect_reset(struct kunit *test, enum end_state state)
{
	struct conn_test *t = test->priv;
	const struct sock *peer = t->peer.sock->sk;
	int err = mpa_peer_read_end(&t->peer);

	/* A RST may be delayed. */
	if (state == END_SHUTDOWN && !err)
		KUNIT_EXPECT_TRUE(test,
				  CONN_UNTIL(inet_sk_state_load(peer) ==
					     TCP_CLOSE));
	else
		KUNIT_EXPECT_EQ_MSG(test, err, -ECONNRESET, "state %d", state);
}

/* mpa_abort() in each state, twice: TCP is reset. */
static void end_abort(struct kunit *test, struct conn_test *t)
{
	enum end_state state;

	for (state = END_ATTACHED; state < END_REJECTED; state++) {
		end_reach(test, state);
		mpa_abort(t->a.conn);
		mpa_abort(t->a.conn);
		KUNIT_ASSERT_TRUE_MSG(test, mpa_consumer_wait(&t->a, EV_CLOSED,
							      1),
				      "state %d", state);
		CONN_COUNT(test, &t->a, EV_ENDED, 1);
		KUNIT_EXPECT_EQ(test, t->a.err, -ECANCELED);
		if (state != END_FAILED)
			conn_expect_end(test, &t->a, MPA_ERR_TCP,
					MPA_REASON_ABORTED);
		end_expect_reset(test, state);
		conn_reopen(test);
	}
}

/* Disconnect the socket of a connection and make it listen: a misuse. */
static void end_make_listen(struct kunit *test, struct socket *sock)
{
	struct conn_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, conn_disconnect(sock), 0);
	/* Before closed() MPA could still reset the listening socket. */
	CONN_WAIT(test, &t->a, EV_CLOSED, 1);
	KUNIT_ASSERT_EQ(test, kernel_listen(sock, 1), 0);
	WRITE_ONCE(sock->sk->sk_rcvtimeo, 20 * HZ);
}

/* Returns a socket that is connected to @sock, which listens. */
static struct socket *end_connect_to(struct kunit *test, struct socket *sock)
{
	struct conn_test *t = test->priv;
	struct sockaddr_storage addr = {};
	struct socket *peer;

	KUNIT_ASSERT_GT(test, kernel_getsockname(sock,
						 (struct sockaddr *)&addr), 0);
	KUNIT_ASSERT_EQ(test, mpa_peer_connect(&t->opts, &addr, &peer), 0);
	return peer;
}

/* The accepted socket has no callback of MPA. */
static void end_listen(struct kunit *test, struct conn_test *t)
{
	void (*change)(struct sock *sk);
	void (*ready)(struct sock *sk);
	struct socket *peer, *child;

	conn_pair(test);
	ready = t->sock[0]->sk->sk_data_ready;
	change = t->sock[0]->sk->sk_state_change;
	conn_default(test);
	end_make_listen(test, t->sock[0]);
	peer = end_connect_to(test, t->sock[0]);
	KUNIT_ASSERT_EQ(test, kernel_accept(t->sock[0], &child, 0), 0);
	KUNIT_EXPECT_PTR_EQ(test, child->sk->sk_data_ready, ready);
	KUNIT_EXPECT_PTR_EQ(test, child->sk->sk_state_change, change);
	KUNIT_EXPECT_NULL(test, child->sk->sk_user_data);
	mpa_peer_close(child);
	mpa_peer_close(peer);
	conn_expect_end(test, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
}

/* Stay in recv() until the case completes t->helper.go. */
static void end_hook_wait(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_RECV)
		conn_sock_stop(&t->helper);
}

/* Reconnect sock[0] to sock[1], which sends nothing. */
static int end_reconnect_socket(struct conn_test *t)
{
	struct sockaddr_storage addr;
	int err;

	err = mpa_peer_listen(&t->opts, &t->sock[1], &addr);
	return err ?: kernel_connect(t->sock[0], mpa_sockaddr(&addr),
				     sizeof(struct sockaddr_in), 0);
}

/* Expect that the connection is lost, although TCP is connected. */
static void end_expect_reconnected(struct kunit *test)
{
	struct conn_test *t = test->priv;

	conn_expect_end(test, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
	CONN_WAIT(test, &t->a, EV_CLOSED, 1);
	KUNIT_EXPECT_EQ(test, t->a.err, -ECONNRESET);
}

/*
 * Reconnect the socket while the work item is in recv(), which it leaves at
 * t->helper.go: so it never sees TCP closed.
 */
static int end_reconnect_in_recv(struct kunit *test)
{
	struct conn_test *t = test->priv;

	conn_default(test);
	t->a.hook = end_hook_wait;
	conn_peer_send(test, 10);
	conn_wait_stopped(test);
	return conn_disconnect(t->sock[0]) ?: end_reconnect_socket(t);
}

static void end_reconnect(struct kunit *test, struct conn_test *t)
{
	int err = end_reconnect_in_recv(test);

	complete(&t->helper.go);
	KUNIT_ASSERT_EQ(test, err, 0);
	end_expect_reconnected(test);
}

/* Reconnected before the start, which is when MPA looks at the state of TCP. */
static void end_reconnect_start(struct kunit *test, struct conn_test *t)
{
	conn_attach(test, 0);
	KUNIT_ASSERT_EQ(test, conn_disconnect(t->sock[0]), 0);
	conn_settle(&t->a);
	KUNIT_ASSERT_EQ(test, end_reconnect_socket(t), 0);
	conn_start(test, CONN_INITIATOR);
	end_expect_reconnected(test);
}

/*
 * A pending FIN or (@arg) message of the connection is not sent in the new
 * stream.
 */
static void end_reconnect_detach(struct kunit *test, struct conn_test *t)
{
	int err = end_reconnect_in_recv(test);
	struct mpa_peer other;

	if (conn_arg(test))
		conn_post(test, 1000);
	else
		mpa_shutdown(t->a.conn);
	mpa_detach(t->a.conn);
	complete(&t->helper.go);
	end_expect_released(test, &t->a);
	KUNIT_ASSERT_EQ(test, err, 0);
	KUNIT_ASSERT_EQ(test, mpa_peer_accept(&other, t->sock[1]), 0);
	KUNIT_EXPECT_EQ(test, mpa_peer_read_end(&other), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, other.have, 0);
	mpa_peer_exit(&other);
}

/* Octets of the new stream are not consumed in place of kept batches. */
static void end_reconnect_kept(struct kunit *test, struct conn_test *t)
{
	const u8 octets[100] = {};
	struct mpa_peer other;

	conn_default(test);
	t->a.keep = true;
	conn_peer_send(test, 10);
	conn_wait_rx(test, &t->a, 1);
	KUNIT_ASSERT_EQ(test, conn_disconnect(t->sock[0]), 0);
	CONN_WAIT(test, &t->a, EV_CLOSED, 1);
	KUNIT_ASSERT_EQ(test, end_reconnect_socket(t), 0);
	KUNIT_ASSERT_EQ(test, mpa_peer_accept(&other, t->sock[1]), 0);
	KUNIT_EXPECT_EQ(test, mpa_peer_write(&other, octets,
					     sizeof(octets)), 0);
	KUNIT_EXPECT_TRUE(test, CONN_UNTIL(conn_unread(t) == sizeof(octets)));
	mpa_detach(t->a.conn);
	end_expect_released(test, &t->a);
	KUNIT_EXPECT_EQ(test, conn_unread(t), sizeof(octets));
	mpa_peer_exit(&other);
}

/* The connection is lost in a round that would also report a new MULPDU. */
static void end_once(struct kunit *test, struct conn_test *t)
{
	conn_default(test);
	conn_settle(&t->a);
	t->a.conn->rx.seq -= 100;	/* octets that TCP no longer has */
	t->a.conn->mulpdu++;
	mpa_resume(t->a.conn);
	CONN_WAIT(test, &t->a, EV_CLOSED, 1);
	conn_settle(&t->a);
	KUNIT_EXPECT_EQ(test, t->a.err, -EFAULT);
	KUNIT_EXPECT_EQ(test, t->a.log[t->a.nr_log - 1], EV_CLOSED);
}

static void end_hook_detach(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != c->hook_on || READ_ONCE(c->detached))
		return;
	mpa_detach(c->conn);
	WRITE_ONCE(c->detached, true);
}

/* Make all calls that any callback may make. */
static void end_hook_all(struct mpa_consumer *c, enum consumer_event ev)
{
	struct socket *sock = mpa_conn_socket(c->conn);
	struct mpa_info info;

	lock_sock(sock->sk);
	release_sock(sock->sk);
	if (ev == EV_RELEASED)
		return;
	mpa_get_info(c->conn, &info);
	mpa_hold(c->conn);
	mpa_resume(c->conn);
	if (ev != EV_REQUEST)
		mpa_shutdown(c->conn);
	else
		mpa_accept(c->conn, NULL, 0);
}

static void end_hook_abort(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != EV_RELEASED)
		mpa_abort(c->conn);
}

/* Bring the connection to the state from which end_fire() causes @ev. */
static void end_prepare(struct kunit *test, enum consumer_event ev)
{
	switch (ev) {
	case EV_REQUEST:
		conn_attach(test, 0);
		break;
	case EV_REJECTED:
	case EV_ESTABLISHED:
		end_decide(test);
		break;
	default:
		conn_default(test);
		break;
	}
}

static void end_fire(struct kunit *test, enum consumer_event ev)
{
	struct conn_test *t = test->priv;

	switch (ev) {
	case EV_REQUEST:
		conn_peer_frame(test, false, PEER_C, 1, NULL, 0);
		conn_start(test, CONN_RESPONDER);
		break;
	case EV_ESTABLISHED:
		KUNIT_ASSERT_EQ(test, mpa_accept(t->a.conn, NULL, 0), 0);
		break;
	case EV_REJECTED:
		KUNIT_ASSERT_EQ(test, mpa_reject(t->a.conn, NULL, 0), 0);
		break;
	case EV_RECV:
		conn_peer_send(test, 10);
		break;
	case EV_SENT:
		conn_post(test, 10);
		break;
	case EV_ENDED:
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
		break;
	case EV_CLOSED:
		mpa_peer_reset(&t->peer);
		break;
	case EV_RELEASED:
		mpa_detach(t->a.conn);
		break;
	case EV_MULPDU:
	case EV_NR:
		break;
	}
}

static void end_from_callbacks(struct kunit *test,
			       void (*hook)(struct mpa_consumer *c,
					    enum consumer_event ev))
{
	struct conn_test *t = test->priv;
	enum consumer_event ev;

	for (ev = EV_REQUEST; ev < EV_NR; ev++) {
		if (ev == EV_MULPDU)
			continue;
		end_prepare(test, ev);
		t->a.hook_on = ev;
		t->a.hook = hook;
		end_fire(test, ev);
		CONN_WAIT(test, &t->a, ev, 1);
		conn_detach(test, &t->a);
		end_expect_released(test, &t->a);
		conn_reopen(test);
	}
}

static void end_callback_detach(struct kunit *test, struct conn_test *t)
{
	end_from_callbacks(test, end_hook_detach);
}

static void end_callback_all(struct kunit *test, struct conn_test *t)
{
	end_from_callbacks(test, end_hook_all);
}

static void end_callback_abort(struct kunit *test, struct conn_test *t)
{
	end_from_callbacks(test, end_hook_abort);
}

static void end_hook_slow(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != EV_RECV)
		return;
	c->startup.rev = 77;	/* tells the case that recv() is running */
	msleep(200);
	c->startup.rev = 78;
}

/* mpa_detach() does not wait for a callback, mpa_detach_sync() does. */
static void end_running(struct kunit *test, struct conn_test *t)
{
	conn_default(test);
	t->a.hook = end_hook_slow;
	conn_peer_send(test, 10);
	KUNIT_ASSERT_TRUE(test, CONN_UNTIL(READ_ONCE(t->a.startup.rev) == 77));
	if (conn_arg(test)) {
		KUNIT_EXPECT_EQ(test, mpa_detach_sync(t->a.conn), 0);
		KUNIT_EXPECT_EQ(test, t->a.startup.rev, 78);
	} else {
		mpa_detach(t->a.conn);
		KUNIT_EXPECT_EQ(test, READ_ONCE(t->a.startup.rev), 77);
		CONN_COUNT(test, &t->a, EV_RELEASED, 0);
	}
	end_expect_released(test, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.startup.rev, 78);
}

/* Octets and a RST after mpa_detach() cause no callback but released(). */
static void end_no_more(struct kunit *test, struct conn_test *t)
{
	conn_default(test);
	conn_expect_alive(test, &t->a);
	conn_settle(&t->a);
	mpa_detach(t->a.conn);
	WRITE_ONCE(t->a.detached, true);
	conn_peer_send(test, 10);
	mpa_peer_reset(&t->peer);
	end_expect_released(test, &t->a);
	KUNIT_EXPECT_EQ(test, t->a.late, 0);
	KUNIT_EXPECT_EQ(test, mpa_consumer_ulpdus(&t->a), 1);
	CONN_COUNT(test, &t->a, EV_ENDED, 0);
	CONN_COUNT(test, &t->a, EV_CLOSED, 0);
}

/* mpa_barrier() waits for every detached connection. */
static void end_barrier(struct kunit *test, struct conn_test *t)
{
	conn_two(test, 0, 0);
	conn_post(test, 50000);
	mpa_detach(t->b.conn);
	mpa_detach(t->a.conn);
	mpa_barrier();
	CONN_COUNT(test, &t->a, EV_RELEASED, 1);
	CONN_COUNT(test, &t->b, EV_RELEASED, 1);
}

/* Both sides close, one after the other; @arg: the Responder is first. */
static void end_graceful(struct kunit *test, struct conn_test *t)
{
	struct mpa_consumer *first = conn_arg(test) ? &t->b : &t->a;
	struct mpa_consumer *second = conn_arg(test) ? &t->a : &t->b;
	struct mpa_info info;

	conn_two(test, MPA_F_MARKERS, MPA_F_MARKERS);
	conn_post(test, 1000);
	conn_wait_rx(test, &t->b, 1);
	KUNIT_ASSERT_EQ(test, mpa_shutdown(first->conn), 0);
	conn_expect_end(test, second, MPA_ERR_TCP, MPA_REASON_FIN);
	CONN_COUNT(test, second, EV_CLOSED, 0);
	KUNIT_ASSERT_EQ(test, mpa_shutdown(second->conn), 0);
	conn_expect_end(test, first, MPA_ERR_TCP, MPA_REASON_FIN);
	CONN_WAIT(test, first, EV_CLOSED, 1);
	CONN_WAIT(test, second, EV_CLOSED, 1);
	KUNIT_EXPECT_EQ(test, first->err, 0);
	KUNIT_EXPECT_EQ(test, second->err, 0);
	mpa_get_info(first->conn, &info);
	KUNIT_EXPECT_EQ(test, info.state, MPA_STATE_CLOSED);
	KUNIT_EXPECT_EQ(test, mpa_shutdown(first->conn), -ENOTCONN);
}

static void end_check_info(struct kunit *test, enum mpa_state state)
{
	struct conn_test *t = test->priv;
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_EQ(test, info.state, state);
}

static void end_states(struct kunit *test, struct conn_test *t)
{
	static const struct {
		enum end_state at;
		enum mpa_state state;
	} rows[] = {
		{ END_ATTACHED, MPA_STATE_ATTACHED },
		{ END_FRAME_PART, MPA_STATE_STARTUP },
		{ END_DECIDE, MPA_STATE_DECIDE },
		{ END_FULL, MPA_STATE_FULL },
		{ END_REJECTED, MPA_STATE_REJECTED },
		{ END_CLOSED, MPA_STATE_CLOSED },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		end_reach(test, rows[i].at);
		end_check_info(test, rows[i].state);
		conn_reopen(test);
	}
}

/* @arg: IPv6 */
static void end_addresses(struct kunit *test, struct conn_test *t)
{
	struct sockaddr_storage local = {}, peer = {};
	struct mpa_info info;

	t->opts.ipv6 = conn_arg(test);
	conn_default(test);
	conn_expect_alive(test, &t->a);
	KUNIT_ASSERT_GT(test, kernel_getsockname(t->sock[0],
						 (struct sockaddr *)&local),
			0);
	KUNIT_ASSERT_GT(test, kernel_getpeername(t->sock[0],
						 (struct sockaddr *)&peer), 0);
	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_EQ(test, info.local.ss_family,
			conn_arg(test) ? AF_INET6 : AF_INET);
	KUNIT_EXPECT_TRUE(test, info.initiator);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&info.local, &local, sizeof(local)));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&info.peer, &peer, sizeof(peer)));
}

/* Counters of a connection with two ULPDUs each way and a CRC error. */
static void end_counters(struct kunit *test, struct conn_test *t)
{
	static const struct {
		u32 field;
		u32 more;
	} rows[] = {
		{ MPA_MIB_ATTACHED, 1 },
		{ MPA_MIB_ESTABLISHED, 1 },
		{ MPA_MIB_RELEASED, 1 },
		{ MPA_MIB_RX_ULPDUS, 2 },
		{ MPA_MIB_RX_OCTETS, 2 * 28 + 4 },
		{ MPA_MIB_TX_ULPDUS, 2 },
		{ MPA_MIB_TX_OCTETS, 2 * 28 + 4 },
		{ MPA_MIB_REASON + MPA_REASON_CRC, 1 },
		{ MPA_MIB_REASON + MPA_REASON_FIN, 0 },
	};
	unsigned long before[ARRAY_SIZE(rows)];
	u32 i;

	conn_attach(test, 0);
	conn_reopen(test);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		before[i] = conn_counter(t, rows[i].field);
	conn_default(test);
	for (i = 0; i < 2; i++) {
		conn_peer_send(test, 20);
		conn_post(test, 20);
		conn_expect_tx(test, 20);
	}
	conn_fpdu(test, 20);
	t->buf[t->buf_len - 1] ^= 1;
	conn_flush(test);
	conn_expect_end(test, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	conn_reopen(test);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, conn_counter(t, rows[i].field),
				    before[i] + rows[i].more, "counter %u",
				    rows[i].field);
}

/* Returns how many connections there are from @cookie on; @found: cookies. */
static u32 end_find(struct mpa_net *mn, u64 cookie, u64 found[2], u32 max)
{
	struct mpa_conn *conns[2];
	u32 i, nr;

	nr = mpa_net_get_from(mn, cookie, conns, max);
	for (i = 0; i < nr; i++) {
		found[i] = conns[i]->cookie;
		mpa_net_put(conns[i]);
	}
	return nr;
}

/* Two connections in the namespace, found from any cookie on, in order */
static void end_cookies(struct kunit *test, struct conn_test *t)
{
	u64 all[2], found[2];
	struct mpa_net *mn;

	conn_two(test, 0, 0);
	mn = t->a.conn->mn;
	KUNIT_ASSERT_EQ(test, 2, end_find(mn, 0, all, 2));
	KUNIT_EXPECT_GT(test, all[0], 0);
	KUNIT_EXPECT_GT(test, all[1], all[0]);
	KUNIT_EXPECT_EQ(test, all[1], mpa_net_last(mn));

	KUNIT_ASSERT_EQ(test, 1, end_find(mn, 0, found, 1));
	KUNIT_EXPECT_EQ(test, all[0], found[0]);
	KUNIT_EXPECT_EQ(test, 2, end_find(mn, all[0], found, 2));
	KUNIT_ASSERT_EQ(test, 1, end_find(mn, all[0] + 1, found, 2));
	KUNIT_EXPECT_EQ(test, all[1], found[0]);
	KUNIT_EXPECT_EQ(test, 0, end_find(mn, all[1] + 1, found, 2));
}

/* A netlink request reads a connection that is released, its socket closed. */
static void end_cookie_released(struct kunit *test, struct conn_test *t)
{
	struct mpa_conn *conns[3] = {};
	struct mpa_info info;

	conn_default(test);
	KUNIT_ASSERT_EQ(test, 1, mpa_net_get_from(t->mn, 0, conns, 3));
	conn_detach(test, &t->a);
	mpa_peer_close(t->sock[0]);
	t->sock[0] = NULL;
	KUNIT_EXPECT_EQ(test, 0, mpa_net_last(t->mn));
	KUNIT_EXPECT_NE(test, 0, refcount_read(&conns[0]->sk->sk_refcnt));
	mpa_get_info(conns[0], &info);
	KUNIT_EXPECT_EQ(test, info.state, MPA_STATE_FULL);
	mpa_net_put(conns[0]);
	mpa_conn_wait_none();
}

static void end_reasons(struct kunit *test, struct conn_test *t)
{
	int reason, other;

	for (reason = 0; reason <= MPA_REASON_RTR; reason++) {
		KUNIT_ASSERT_NOT_NULL(test, mpa_reason_name(reason));
		for (other = 0; other < reason; other++)
			KUNIT_EXPECT_STRNEQ(test, mpa_reason_name(reason),
					    mpa_reason_name(other));
	}
	KUNIT_EXPECT_STREQ(test, mpa_reason_name(reason), "unknown");
	KUNIT_EXPECT_STREQ(test, mpa_reason_name(-1), "unknown");
}

static const struct conn_row end_rows[] = {
	{ "mpa_detach() in each state", end_detach },
	{ "mpa_detach_sync() in each state", end_detach_sync },
	{ "CS-36 CS-38: mpa_abort() in each state", end_abort },
	{ "another user disconnects the socket, then listens", end_listen },
	{ "another user reconnects the socket", end_reconnect },
	{ "another user reconnects the socket, before the start",
	  end_reconnect_start },
	{ "another user reconnects the socket, FIN pending",
	  end_reconnect_detach, 0 },
	{ "another user reconnects the socket, message pending",
	  end_reconnect_detach, 1 },
	{ "another user reconnects the socket, batches kept",
	  end_reconnect_kept },
	{ "no callback after closed()", end_once },
	{ "mpa_detach() from each callback", end_callback_detach },
	{ "all calls from each callback", end_callback_all },
	{ "CS-36 CS-38: mpa_abort() from each callback", end_callback_abort },
	{ "mpa_detach() while a callback is running", end_running, false },
	{ "mpa_detach_sync() while a callback is running", end_running, true },
	{ "no callback but released() after mpa_detach()", end_no_more },
	{ "mpa_barrier() waits for detached connections", end_barrier },
	{ "TD-01 TD-02: graceful close, Initiator first", end_graceful, 0 },
	{ "TD-01 TD-02: graceful close, Responder first", end_graceful, 1 },
};

CONN_ROWS(end);

static const struct conn_row info_rows[] = {
	{ "states", end_states },
	{ "addresses, IPv4", end_addresses, false },
	{ "addresses, IPv6", end_addresses, true },
	{ "ER-01: counters", end_counters },
	{ "ER-01: names of reasons", end_reasons },
	{ "connections by their cookies", end_cookies },
	{ "a connection released while it is read", end_cookie_released },
};

CONN_ROWS(info);
