// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Graceful close, abort and detach, in any state and from any callback. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <linux/skbuff.h>
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

static void end_decide(struct conn_test *t)
{
	conn_get_request(t, 0);
}

static void end_startup(struct conn_test *t, enum end_state state)
{
	if (state >= END_DECIDE) {
		end_decide(t);
		return;
	}
	conn_attach(t, 0);
	if (state == END_REQUEST_SENT)
		conn_start(t, CONN_INITIATOR);
	if (state != END_FRAME_PART)
		return;
	conn_start(t, CONN_RESPONDER);
	mpa_peer_frame(t->buf, false, PEER_C, 1, NULL, 0);
	conn_write(t, t->buf, 19);
	conn_settle(&t->a);
}

static void end_rejected(struct conn_test *t)
{
	end_decide(t);
	ASSERT_EQ(t, mpa_reject(t->a.conn, NULL, 0), 0);
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
}

static void end_failed(struct conn_test *t)
{
	conn_default(t);
	conn_write(t, "\0\0\0\0\0\0", 6);
	CONN_WAIT(t, &t->a, EV_ENDED, 1);
}

static void end_reach(struct conn_test *t, enum end_state state)
{
	switch (state) {
	case END_ATTACHED:
	case END_REQUEST_SENT:
	case END_FRAME_PART:
	case END_DECIDE:
		end_startup(t, state);
		break;
	case END_ACCEPTED:
		end_decide(t);
		ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
		break;
	case END_FULL:
		conn_full(t, CONN_INITIATOR, 0, PEER_C);
		conn_peer_send(t, 100);
		break;
	case END_DELIVERING:
		conn_default(t);
		conn_expect_alive(t, &t->a);
		break;
	case END_SHUTDOWN:
		conn_default(t);
		ASSERT_EQ(t, mpa_shutdown(t->a.conn), 0);
		break;
	case END_FAILED:
		end_failed(t);
		break;
	case END_CLOSED:
		conn_default(t);
		mpa_abort(t->a.conn);
		CONN_WAIT(t, &t->a, EV_CLOSED, 1);
		break;
	case END_REJECTED:
		end_rejected(t);
		break;
	case END_NR:
		break;
	}
}

/* Expect one released(), as the last callback. */
static void end_expect_released(struct conn_test *t, struct mpa_consumer *c)
{
	CONN_WAIT(t, c, EV_RELEASED, 1);
	mpa_barrier();
	CONN_COUNT(t, c, EV_RELEASED, 1);
	EXPECT_EQ(t, c->log[c->nr_log - 1], EV_RELEASED);
}

/* mpa_detach(), or (@arg) mpa_detach_sync(): restores the socket. */
static void end_detach(struct conn_test *t)
{
	const u8 options = TCP_NAGLE_OFF | TCP_NAGLE_CORK;
	void (*ready)(struct sock *sk);
	enum end_state state;
	struct sock *sk;
	int lowat;
	u8 nonagle;

	for (state = END_ATTACHED; state < END_NR; state++) {
		conn_pair(t);
		sk = t->sock[0]->sk;
		WRITE_ONCE(sk->sk_rcvlowat, 1000);
		sock_valbool_flag(sk, SOCK_URGINLINE, state % 2);
		tcp_sock_set_cork(sk, state % 2);
		if (state % 3)
			tcp_sock_set_nodelay(sk);
		lowat = sk->sk_rcvlowat;
		nonagle = tcp_sk(sk)->nonagle;
		ready = sk->sk_data_ready;
		end_reach(t, state);
		if (conn_arg(t)) {
			EXPECT_EQ(t, mpa_detach_sync(t->a.conn), 0);
			CONN_COUNT(t, &t->a, EV_RELEASED, 1);
		} else {
			mpa_detach(t->a.conn);
		}
		end_expect_released(t, &t->a);
		EXPECT_PTR_EQ(t, sk->sk_data_ready, ready);
		EXPECT_NULL(t, sk->sk_user_data);
		EXPECT_EQ(t, sk->sk_rcvlowat, lowat);
		EXPECT_EQ(t, sock_flag(sk, SOCK_URGINLINE), state % 2);
		EXPECT_EQ(t, tcp_sk(sk)->nonagle & options, nonagle & options);
		conn_reopen(t);
	}
}

/* Expect a reset of the peer, in END_SHUTDOWN possibly after a FIN. */
static void end_expect_reset(struct conn_test *t, enum end_state state)
{
	const struct sock *peer = t->peer.sock->sk;
	int err = mpa_peer_read_end(&t->peer);

	/* A RST may be delayed. */
	if (state == END_SHUTDOWN && !err)
		EXPECT_TRUE(t,
			    CONN_UNTIL(inet_sk_state_load(peer) == TCP_CLOSE));
	else
		EXPECT_EQ_MSG(t, err, -ECONNRESET, "state %d", state);
}

/* mpa_abort() in each state, twice: TCP is reset. */
static void end_abort(struct conn_test *t)
{
	enum end_state state;

	for (state = END_ATTACHED; state < END_NR; state++) {
		end_reach(t, state);
		mpa_abort(t->a.conn);
		mpa_abort(t->a.conn);
		ASSERT_TRUE_MSG(t, mpa_consumer_wait(&t->a, EV_CLOSED,
						     1),
				"state %d", state);
		CONN_COUNT(t, &t->a, EV_ENDED, 1);
		EXPECT_EQ(t, t->a.err, -ECANCELED);
		if (state != END_FAILED)
			conn_expect_end(t, &t->a, MPA_ERR_TCP,
					MPA_REASON_ABORTED);
		end_expect_reset(t, state);
		conn_reopen(t);
	}
}

/* Disconnect the socket of a connection and make it listen: a misuse. */
static void end_make_listen(struct conn_test *t, struct socket *sock)
{
	ASSERT_EQ(t, conn_disconnect(sock), 0);
	/* Before closed() MPA could still reset the listening socket. */
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	ASSERT_EQ(t, kernel_listen(sock, 1), 0);
	WRITE_ONCE(sock->sk->sk_rcvtimeo, 20 * HZ);
}

/* Returns a socket that is connected to @sock, which listens. */
static struct socket *end_connect_to(struct conn_test *t, struct socket *sock)
{
	struct sockaddr_storage addr = {};
	struct socket *peer;

	ASSERT_GT(t, kernel_getsockname(sock, (struct sockaddr *)&addr), 0);
	ASSERT_EQ(t, mpa_peer_connect(&t->opts, &addr, &peer), 0);
	return peer;
}

/* The accepted socket has no callback of MPA. */
static void end_listen(struct conn_test *t)
{
	void (*change)(struct sock *sk);
	void (*ready)(struct sock *sk);
	struct socket *peer, *child;

	conn_pair(t);
	ready = t->sock[0]->sk->sk_data_ready;
	change = t->sock[0]->sk->sk_state_change;
	conn_default(t);
	end_make_listen(t, t->sock[0]);
	peer = end_connect_to(t, t->sock[0]);
	ASSERT_EQ(t, kernel_accept(t->sock[0], &child, 0), 0);
	EXPECT_PTR_EQ(t, child->sk->sk_data_ready, ready);
	EXPECT_PTR_EQ(t, child->sk->sk_state_change, change);
	EXPECT_NULL(t, child->sk->sk_user_data);
	mpa_peer_close(child);
	mpa_peer_close(peer);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
}

/* Stay in recv() until the case completes t->helper.go. */
static void end_hook_wait(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_RECV)
		conn_sock_stop(&t->helper);
}

/* Reconnect sock[0] to sock[1], which sends nothing. */
int conn_connect_again(struct conn_test *t)
{
	struct sockaddr_storage addr;
	int err;

	err = mpa_peer_listen(&t->opts, &t->sock[1], &addr);
	return err ?: kernel_connect(t->sock[0], mpa_sockaddr(&addr),
				     sizeof(struct sockaddr_in), 0);
}

/* Expect that the connection is lost, although TCP is connected. */
static void end_expect_reconnected(struct conn_test *t)
{
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, -ECONNRESET);
}

/*
 * Reconnect the socket while the work item is in recv(), which it leaves at
 * t->helper.go: so it never sees TCP closed.
 */
static int end_reconnect_in_recv(struct conn_test *t)
{
	conn_default(t);
	t->a.hook = end_hook_wait;
	conn_peer_send(t, 10);
	conn_wait_stopped(t);
	return conn_disconnect(t->sock[0]) ?: conn_connect_again(t);
}

static void end_reconnect(struct conn_test *t)
{
	int err = end_reconnect_in_recv(t);

	complete(&t->helper.go);
	ASSERT_EQ(t, err, 0);
	end_expect_reconnected(t);
}

/* Reconnected before the start, which is when MPA looks at the state of TCP. */
static void end_reconnect_start(struct conn_test *t)
{
	conn_attach(t, 0);
	ASSERT_EQ(t, conn_disconnect(t->sock[0]), 0);
	conn_settle(&t->a);
	ASSERT_EQ(t, conn_connect_again(t), 0);
	conn_start(t, CONN_INITIATOR);
	end_expect_reconnected(t);
}

/*
 * A pending FIN or (@arg) message of the connection is not sent in the new
 * stream.
 */
static void end_reconnect_detach(struct conn_test *t)
{
	int err = end_reconnect_in_recv(t);
	struct mpa_peer other;

	if (conn_arg(t))
		conn_post(t, 1000);
	else
		mpa_shutdown(t->a.conn);
	mpa_detach(t->a.conn);
	complete(&t->helper.go);
	end_expect_released(t, &t->a);
	ASSERT_EQ(t, err, 0);
	ASSERT_EQ(t, mpa_peer_accept(&other, t->sock[1]), 0);
	EXPECT_EQ(t, mpa_peer_read_end(&other), -ECONNRESET);
	EXPECT_EQ(t, other.have, 0);
	mpa_peer_exit(&other);
}

/* Octets of the new stream are not consumed in place of kept batches. */
static void end_reconnect_kept(struct conn_test *t)
{
	const u8 octets[100] = {};
	struct mpa_peer other;

	conn_default(t);
	t->a.keep = true;
	conn_peer_send(t, 10);
	CONN_WAIT(t, &t->a, EV_ULPDUS, 1);
	ASSERT_EQ(t, conn_disconnect(t->sock[0]), 0);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	ASSERT_EQ(t, conn_connect_again(t), 0);
	ASSERT_EQ(t, mpa_peer_accept(&other, t->sock[1]), 0);
	EXPECT_EQ(t, mpa_peer_write(&other, octets, sizeof(octets)), 0);
	EXPECT_TRUE(t, CONN_UNTIL(conn_unread(t) == sizeof(octets)));
	mpa_detach(t->a.conn);
	end_expect_released(t, &t->a);
	EXPECT_EQ(t, conn_unread(t), sizeof(octets));
	mpa_peer_exit(&other);
}

/* The next round that gets as far as sending reports a new MULPDU. */
static void end_change_mulpdu(struct conn_test *t)
{
	conn_settle(&t->a);
	t->a.conn->tx.emss = 0;
	t->a.conn->mulpdu++;
}

/* The connection is lost in a round that would also report a new MULPDU. */
static void end_once(struct conn_test *t)
{
	conn_default(t);
	end_change_mulpdu(t);
	t->a.conn->rx.seq -= 100;	/* octets that TCP no longer has */
	mpa_kick(t->a.conn);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.err, -EFAULT);
	EXPECT_EQ(t, t->a.log[t->a.nr_log - 1], EV_CLOSED);
	CONN_COUNT(t, &t->a, EV_MULPDU, 0);
}

/* The peer answers the message and resets, while mulpdu() runs. */
static void end_hook_answer(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev != EV_MULPDU)
		return;
	conn_peer_send(t, 10);
	mpa_peer_reset(&t->peer);
}

/*
 * TCP is lost right after it has taken a message, and the peer has answered
 * it: sent() comes before that recv(). TCP has taken all of the message.
 */
static void end_answered(struct conn_test *t)
{
	conn_default(t);
	end_change_mulpdu(t);
	t->a.hook = end_hook_answer;
	conn_post(t, 100);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	conn_expect_rx(t, &t->a, 1);
	conn_expect_done(t, &t->a, 1, 0);
	EXPECT_TRUE(t, memchr(t->a.log, EV_SENT, t->a.nr_log) <
		       memchr(t->a.log, EV_RECV, t->a.nr_log));
}

static void end_hook_reset(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_MULPDU)
		mpa_peer_reset(&t->peer);
}

/* Pages that a loss frees, in a round that has begun, do not count as sent. */
static void end_freed(struct conn_test *t)
{
	conn_default(t);
	mpa_peer_stop(&t->peer);
	conn_send(t, conn_page_msg(t, 3000));
	end_change_mulpdu(t);
	t->a.hook = end_hook_reset;
	mpa_kick(t->a.conn);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	conn_expect_statuses(t, &t->a, 1, -ECONNRESET);
}

struct end_hook {
	void (*hook)(struct mpa_consumer *c, enum consumer_event ev);
};

static void end_hook_detach(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != c->hook_on || READ_ONCE(c->detached))
		return;
	conn_leave(c);
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
static void end_prepare(struct conn_test *t, enum consumer_event ev)
{
	switch (ev) {
	case EV_REQUEST:
		conn_attach(t, 0);
		break;
	case EV_REJECTED:
	case EV_ESTABLISHED:
		end_decide(t);
		break;
	default:
		conn_default(t);
		break;
	}
}

static void end_fire(struct conn_test *t, enum consumer_event ev)
{
	switch (ev) {
	case EV_REQUEST:
		conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
		conn_start(t, CONN_RESPONDER);
		break;
	case EV_ESTABLISHED:
		ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
		break;
	case EV_REJECTED:
		ASSERT_EQ(t, mpa_reject(t->a.conn, NULL, 0), 0);
		break;
	case EV_RECV:
		conn_peer_send(t, 10);
		break;
	case EV_SENT:
		conn_post(t, 10);
		break;
	case EV_MULPDU:
		end_change_mulpdu(t);
		mpa_kick(t->a.conn);
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
	default:
		break;
	}
}

/* A callback of each kind in turn runs the hook. */
static void end_from_callbacks(struct conn_test *t)
{
	const struct end_hook *h = conn_data(t);
	enum consumer_event ev;

	for (ev = EV_REQUEST; ev < EV_NR; ev++) {
		end_prepare(t, ev);
		t->a.hook_on = ev;
		t->a.hook = h->hook;
		end_fire(t, ev);
		CONN_WAIT(t, &t->a, ev, 1);
		conn_detach(t, &t->a);
		end_expect_released(t, &t->a);
		conn_reopen(t);
	}
}

static void end_hook_slow(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev != EV_RECV)
		return;
	WRITE_ONCE(c->hook_state, HOOK_BEGUN);
	msleep(600);
	WRITE_ONCE(c->hook_state, HOOK_DONE);
}

/* mpa_detach() does not wait for a callback. */
static void end_running(struct conn_test *t)
{
	conn_default(t);
	t->a.hook = end_hook_wait;
	conn_peer_send(t, 10);
	conn_wait_stopped(t);
	mpa_detach(t->a.conn);
	CONN_COUNT(t, &t->a, EV_RELEASED, 0);
	complete(&t->helper.go);
	end_expect_released(t, &t->a);
}

/* mpa_detach_sync() waits for a callback that is running. */
static void end_running_sync(struct conn_test *t)
{
	conn_default(t);
	t->a.hook = end_hook_slow;
	conn_peer_send(t, 10);
	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(t->a.hook_state) == HOOK_BEGUN));
	EXPECT_EQ(t, mpa_detach_sync(t->a.conn), 0);
	EXPECT_EQ(t, t->a.hook_state, HOOK_DONE);
	end_expect_released(t, &t->a);
}

/* Octets and a RST after mpa_detach() cause no callback but released(). */
static void end_no_more(struct conn_test *t)
{
	conn_default(t);
	conn_expect_alive(t, &t->a);
	conn_settle(&t->a);
	conn_leave(&t->a);
	conn_peer_send(t, 10);
	mpa_peer_reset(&t->peer);
	end_expect_released(t, &t->a);
	EXPECT_EQ(t, t->a.late, 0);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 1);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	CONN_COUNT(t, &t->a, EV_CLOSED, 0);
}

/*
 * A callback of kind @arg detaches, in a round in which MPA would call another
 * callback next.
 */
static void end_leave_due(struct conn_test *t)
{
	conn_default(t);
	t->a.hook_on = conn_arg(t);
	t->a.hook = end_hook_detach;
	end_change_mulpdu(t);
	end_fire(t, conn_arg(t) == EV_ENDED ? EV_CLOSED : conn_arg(t));
	end_expect_released(t, &t->a);
	CONN_COUNT(t, &t->a, conn_arg(t), 1);
	CONN_COUNT(t, &t->a, EV_MULPDU, 0);
	CONN_COUNT(t, &t->a, EV_CLOSED, 0);
}

/* mpa_shutdown() after mpa_detach() sends no FIN on what is given back. */
static void end_no_fin(struct conn_test *t)
{
	conn_default(t);
	mpa_conn_get(t->a.conn);
	t->a.hook = end_hook_slow;
	conn_peer_send(t, 10);
	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(t->a.hook_state) == HOOK_BEGUN));
	conn_leave(&t->a);
	EXPECT_EQ(t, mpa_shutdown(t->a.conn), -ENOTCONN);
	end_expect_released(t, &t->a);
	mpa_conn_put(t->a.conn);
	EXPECT_EQ(t, t->sock[0]->sk->sk_state, TCP_ESTABLISHED);
}

/* Detach a connection that a message keeps from being released. */
static void end_leave_held(struct conn_test *t, struct mpa_consumer *c)
{
	conn_leave(c);
	conn_settle(c);
	CONN_COUNT(t, c, EV_RELEASED, 0);
}

static int end_barrier_thread(void *data)
{
	struct completion *passed = data;

	mpa_barrier();
	complete(passed);
	return 0;
}

/* mpa_barrier() does not wait for connections that are detached after it. */
static void end_barrier_later(struct conn_test *t)
{
	DECLARE_COMPLETION_ONSTACK(passed);
	struct ubuf_info *first, *second;
	struct task_struct *task;

	conn_two(t, 0, 0);
	conn_post(t, 10);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 1);
	first = conn_hold_message(t, &t->a, t->sock[1]);
	second = conn_hold_message(t, &t->b, t->sock[0]);
	task = kthread_create(end_barrier_thread, &passed, "mpa_barrier");
	ASSERT_OK(t, task);
	get_task_struct(task);
	end_leave_held(t, &t->a);
	/* Then the barrier waits for connections, not for a work item. */
	conn_settle(&t->a);
	conn_settle(&t->b);
	wake_up_process(task);
	EXPECT_TRUE(t, CONN_UNTIL(READ_ONCE(task->__state) ==
				  TASK_UNINTERRUPTIBLE));
	end_leave_held(t, &t->b);
	EXPECT_FALSE(t, completion_done(&passed));
	net_zcopy_put(first);
	EXPECT_NE(t, 0, wait_for_completion_timeout(&passed,
						    CONN_PATIENCE));
	CONN_COUNT(t, &t->a, EV_RELEASED, 1);
	CONN_COUNT(t, &t->b, EV_RELEASED, 0);
	net_zcopy_put(second);
	kthread_stop_put(task);
	mpa_barrier();
	CONN_COUNT(t, &t->b, EV_RELEASED, 1);
}

/* Both sides close, one after the other; @arg: the Responder is first. */
static void end_graceful(struct conn_test *t)
{
	struct mpa_consumer *first = conn_arg(t) ? &t->b : &t->a;
	struct mpa_consumer *second = conn_arg(t) ? &t->a : &t->b;
	struct mpa_info info;

	conn_two(t, MPA_F_MARKERS, MPA_F_MARKERS);
	conn_post(t, 1000);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 1);
	ASSERT_EQ(t, mpa_shutdown(first->conn), 0);
	conn_expect_end(t, second, MPA_ERR_TCP, MPA_REASON_FIN);
	CONN_COUNT(t, second, EV_CLOSED, 0);
	ASSERT_EQ(t, mpa_shutdown(second->conn), 0);
	conn_expect_end(t, first, MPA_ERR_TCP, MPA_REASON_FIN);
	CONN_WAIT(t, first, EV_CLOSED, 1);
	CONN_WAIT(t, second, EV_CLOSED, 1);
	EXPECT_EQ(t, first->err, 0);
	EXPECT_EQ(t, second->err, 0);
	mpa_get_info(first->conn, &info);
	EXPECT_EQ(t, info.state, MPA_STATE_CLOSED);
	EXPECT_EQ(t, mpa_shutdown(first->conn), -ENOTCONN);
}

static void end_check_info(struct conn_test *t, enum mpa_state state)
{
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.state, state);
}

static void end_states(struct conn_test *t)
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
		end_reach(t, rows[i].at);
		end_check_info(t, rows[i].state);
		conn_reopen(t);
	}
}

/* @arg: IPv6 */
static void end_addresses(struct conn_test *t)
{
	struct sockaddr_storage local = {}, peer = {};
	struct mpa_info info;

	t->opts.ipv6 = conn_arg(t);
	conn_default(t);
	conn_expect_alive(t, &t->a);
	ASSERT_GT(t, kernel_getsockname(t->sock[0], (struct sockaddr *)&local),
		  0);
	ASSERT_GT(t, kernel_getpeername(t->sock[0], (struct sockaddr *)&peer),
		  0);
	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.local.ss_family, conn_arg(t) ? AF_INET6 : AF_INET);
	EXPECT_TRUE(t, info.initiator);
	EXPECT_EQ(t, 0, memcmp(&info.local, &local, sizeof(local)));
	EXPECT_EQ(t, 0, memcmp(&info.peer, &peer, sizeof(peer)));
}

/* Counters of a connection with two ULPDUs each way and a CRC error. */
static void end_counters(struct conn_test *t)
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

	conn_attach(t, 0);
	conn_reopen(t);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		before[i] = conn_counter(t, rows[i].field);
	conn_default(t);
	for (i = 0; i < 2; i++) {
		conn_peer_send(t, 20);
		conn_post(t, 20);
		conn_expect_tx(t, 20);
	}
	conn_fpdu(t, 20);
	t->buf[t->buf_len - 1] ^= 1;
	conn_flush(t);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	conn_reopen(t);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		EXPECT_EQ_MSG(t, conn_counter(t, rows[i].field),
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
static void end_cookies(struct conn_test *t)
{
	u64 all[2], found[2];
	struct mpa_net *mn;

	conn_two(t, 0, 0);
	mn = t->a.conn->mn;
	ASSERT_EQ(t, 2, end_find(mn, 0, all, 2));
	EXPECT_GT(t, all[0], 0);
	EXPECT_GT(t, all[1], all[0]);
	EXPECT_EQ(t, all[1], mpa_net_last(mn));

	ASSERT_EQ(t, 1, end_find(mn, 0, found, 1));
	EXPECT_EQ(t, all[0], found[0]);
	EXPECT_EQ(t, 2, end_find(mn, all[0], found, 2));
	ASSERT_EQ(t, 1, end_find(mn, all[0] + 1, found, 2));
	EXPECT_EQ(t, all[1], found[0]);
	EXPECT_EQ(t, 0, end_find(mn, all[1] + 1, found, 2));
}

/* A netlink request reads a connection that is released, its socket closed. */
static void end_cookie_released(struct conn_test *t)
{
	struct mpa_conn *conns[3] = {};
	struct mpa_info info;

	conn_default(t);
	ASSERT_EQ(t, 1, mpa_net_get_from(t->mn, 0, conns, 3));
	conn_detach(t, &t->a);
	mpa_peer_close(t->sock[0]);
	t->sock[0] = NULL;
	EXPECT_EQ(t, 0, mpa_net_last(t->mn));
	EXPECT_NE(t, 0, refcount_read(&conns[0]->sk->sk_refcnt));
	mpa_get_info(conns[0], &info);
	EXPECT_EQ(t, info.state, MPA_STATE_FULL);
	mpa_net_put(conns[0]);
	mpa_conn_wait_none();
}

static void end_reasons(struct conn_test *t)
{
	int reason, other;

	for (reason = 0; reason <= MPA_REASON_RTR; reason++) {
		ASSERT_NOT_NULL(t, mpa_reason_name(reason));
		for (other = 0; other < reason; other++)
			KUNIT_EXPECT_STRNEQ(t->test, mpa_reason_name(reason),
					    mpa_reason_name(other));
	}
	EXPECT_STREQ(t, mpa_reason_name(reason), "unknown");
	EXPECT_STREQ(t, mpa_reason_name(-1), "unknown");
}

#define FROM_CALLBACKS(title, fn)					\
	{ title, end_from_callbacks, .data = &(const struct end_hook){ fn } }

static const struct conn_row end_rows[] = {
	{ "mpa_detach() in each state", end_detach, false },
	{ "mpa_detach_sync() in each state", end_detach, true },
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
	{ "an answer, and TCP is lost before sent()", end_answered },
	{ "a reset in mulpdu() fails a message whose pages it frees",
	  end_freed },
	FROM_CALLBACKS("mpa_detach() from each callback", end_hook_detach),
	FROM_CALLBACKS("all calls from each callback", end_hook_all),
	FROM_CALLBACKS("CS-36 CS-38: mpa_abort() from each callback",
		       end_hook_abort),
	{ "mpa_detach() while a callback is running", end_running },
	{ "mpa_detach_sync() while a callback is running", end_running_sync },
	{ "no callback but released() after mpa_detach()", end_no_more },
	{ "mpa_detach() in ended(), closed() next", end_leave_due, EV_ENDED },
	{ "mpa_detach() in recv(), mulpdu() next", end_leave_due, EV_RECV },
	{ "mpa_shutdown() after mpa_detach()", end_no_fin },
	{ "mpa_barrier(), a connection detached after it", end_barrier_later },
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
