// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* mpa_connect() that starts MPA, and the fallback to Rev 1. */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/ip.h>
#include <net/sock.h>
#include "mpa_conn_test.h"

enum {
	CONNECT_PD	= 40,
	CONNECT_ROUNDS	= 48,
};

static void connect_count(struct conn_sock *s, u32 *what)
{
	spin_lock_bh(&s->lock);
	++*what;
	spin_unlock_bh(&s->lock);
	wake_up_all(&s->wait);
}

static int connect_setup(struct socket *sock, void *ctx)
{
	struct conn_sock *s = ctx;
	struct conn_test *t = container_of(s, struct conn_test, helper);

	/* The case shortens the timeout for the first attempt only. */
	if (s->setups)
		WRITE_ONCE(t->mn->startup_timeout_ms, t->timeout_ms);
	s->made = sock;
	connect_count(s, &s->setups);
	if (s->hook)
		s->hook(s);
	return s->setups > 1 ? s->setup_err : 0;
}

/* Close the handle, unless the end of the case does so at the same time. */
static void connect_close_once(struct conn_sock *s)
{
	struct mpa_connector *connector = xchg(&s->connector, NULL);

	if (connector)
		mpa_connect_close(connector);
}

static void connect_done(void *ctx, struct socket *sock,
			 struct mpa_conn *conn, int err)
{
	struct conn_sock *s = ctx;

	if (s->close_in_done)
		connect_close_once(s);
	if (s->detach_in_done)
		mpa_detach(conn);
	s->conn = conn;
	s->client = sock;
	s->err = err;
	s->waits += conn_may_wait();
	connect_count(s, &s->done);
}

/* Count callbacks of the connection that come before done(): an error. */
static void connect_hook(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (!conn_sock_read(&t->helper, &t->helper.done))
		t->helper.early++;
}

static struct mpa_sock_params connect_params(struct conn_test *t, u32 flags)
{
	return (struct mpa_sock_params) {
		.net	= &init_net,
		.peer	= t->helper.addr,
		.flags	= flags,
		.setup	= connect_setup,
		.ctx	= &t->helper,
		.start	= &t->a.params,
		.pd	= t->pool,
		.pd_len	= CONNECT_PD,
	};
}

/* Set the connection's parameters, and make a listener to connect to. */
static void connect_prepare(struct conn_test *t, u8 rev)
{
	struct mpa_params *params = &t->a.params;

	conn_attach(t, 0);
	conn_reopen(t);
	ASSERT_EQ(t, mpa_peer_listen(&t->opts, &t->sock[1], &t->helper.addr),
		  0);
	params->rev = rev;
	params->flags = MPA_F_MARKERS;
	if (rev == MPA_REV_2)
		params->flags |= MPA_F_ENHANCED;
	params->enhanced = (struct mpa_enhanced) { 5, 7, MPA_RTR_WRITE };
	t->a.hook = connect_hook;
}

/* A loopback address, with a port that no socket has */
static struct sockaddr_storage connect_free_port(struct conn_test *t)
{
	struct sockaddr_storage addr;
	struct socket *sock;

	ASSERT_EQ(t, mpa_peer_listen(&t->opts, &sock, &addr), 0);
	sock_release(sock);
	return addr;
}

static void connect_call(struct conn_test *t, u32 flags)
{
	struct mpa_sock_params params = connect_params(t, flags);
	struct mpa_connector *connector;

	if (t->helper.bound)
		params.local = connect_free_port(t);
	connector = mpa_connect(&params, connect_done);
	ASSERT_OK(t, connector);
	t->helper.connector = connector;
}

/* The raw peer accepts the connection. */
static void connect_accept(struct conn_test *t)
{
	mpa_peer_exit(&t->peer);
	ASSERT_EQ(t, mpa_peer_accept(&t->peer, t->sock[1]), 0);
}

static void connect_expect_request(struct conn_test *t, u8 rev)
{
	static const u8 erd[] = { 0x80, 0x05, 0x80, 0x07 };
	u8 pd[sizeof(erd) + CONNECT_PD];

	if (rev == MPA_REV_1) {
		conn_expect_frame(t, false, PEER_M | PEER_C, 1, t->pool,
				  CONNECT_PD);
		return;
	}
	memcpy(pd, erd, sizeof(erd));
	memcpy(pd + sizeof(erd), t->pool, CONNECT_PD);
	conn_expect_frame(t, false, PEER_M | PEER_C | PEER_S, 2, pd,
			  sizeof(pd));
}

static void connect_get_request(struct conn_test *t, u8 rev)
{
	connect_accept(t);
	connect_expect_request(t, rev);
}

/* Begin an attempt, up to the peer's reading of the Request. */
static void connect_begin(struct conn_test *t, u8 rev, u32 flags)
{
	connect_prepare(t, rev);
	connect_call(t, flags);
	connect_get_request(t, rev);
}

/* An attempt whose first connection the peer closes instead of a Reply. */
static void connect_begin_fin(struct conn_test *t)
{
	connect_begin(t, MPA_REV_2, MPA_F_FALLBACK);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
}

static void connect_reply(struct conn_test *t, u8 rev)
{
	static const u8 pd[] = { 0x80, 0x07, 0x80, 0x05 };

	if (rev == MPA_REV_1)
		conn_peer_frame(t, true, PEER_C, 1, NULL, 0);
	else
		conn_peer_frame(t, true, PEER_C | PEER_S, 2, pd, sizeof(pd));
}

/* Expect one done(). Its socket becomes t->sock[0]. */
static void connect_expect_done(struct conn_test *t, int err)
{
	conn_expect_done_sock(t, err);
	EXPECT_EQ(t, t->helper.early, 0);
	t->sock[0] = t->helper.client;
	t->helper.client = NULL;
}

/* Expect full operation with the raw peer in @rev, after @setups sockets. */
static void connect_expect_full(struct conn_test *t, u8 rev, u32 setups)
{
	struct mpa_info info;

	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	connect_expect_done(t, 0);
	EXPECT_EQ(t, t->helper.setups, setups);
	EXPECT_PTR_EQ(t, t->helper.conn, t->a.conn);
	EXPECT_PTR_EQ(t, mpa_conn_socket(t->a.conn), t->sock[0]);
	EXPECT_PTR_EQ(t, mpa_conn_ctx(t->a.conn), &t->a);
	mpa_get_info(t->a.conn, &info);
	EXPECT_TRUE(t, info.initiator);
	EXPECT_EQ(t, info.rev, rev);
	EXPECT_EQ(t, info.enhanced, rev == MPA_REV_2);
	EXPECT_EQ(t, info.rtr, rev == MPA_REV_2 ? MPA_RTR_WRITE : 0);
	t->rx_markers = true;
	t->crc = true;
	mpa_resume(t->a.conn);
	conn_expect_alive(t, &t->a);
}

static void connect_no_io(struct conn_sock *s)
{
	s->waits += !(current->flags & PF_MEMALLOC_NOIO);
}

/*
 * MPA_F_MEMALLOC of the attempt (@arg) or of the connection makes the call and
 * done() reclaim-safe.
 */
static void connect_memalloc(struct conn_test *t)
{
	u32 flags = conn_arg(t);

	connect_prepare(t, MPA_REV_1);
	if (!flags)
		t->a.params.flags |= MPA_F_MEMALLOC;
	t->helper.hook = connect_no_io;
	connect_call(t, flags);
	connect_get_request(t, MPA_REV_1);
	connect_reply(t, MPA_REV_1);
	connect_expect_full(t, MPA_REV_1, 1);
	EXPECT_EQ(t, t->helper.waits, 0);
}

/* Revision @arg. Closing the handle does not affect the connection. */
static void connect_established(struct conn_test *t)
{
	u8 rev = conn_arg(t);

	connect_begin(t, rev, 0);
	EXPECT_EQ(t, conn_sock_read(&t->helper, &t->helper.done), 0);
	connect_reply(t, rev);
	connect_expect_full(t, rev, 1);
	conn_close_attempt(&t->helper);
	conn_expect_alive(t, &t->a);
	conn_detach(t, &t->a);
	EXPECT_NULL(t, t->sock[0]->sk->sk_user_data);
}

/* mpa_detach() in done(): the only callback is released(). */
static void connect_detached(struct conn_test *t)
{
	connect_begin(t, MPA_REV_2, 0);
	t->helper.detach_in_done = true;
	connect_reply(t, MPA_REV_2);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	connect_expect_done(t, 0);
	EXPECT_EQ(t, t->a.nr_log, 1);
	EXPECT_NULL(t, t->sock[0]->sk->sk_user_data);
	conn_close_attempt(&t->helper);
}

/* A rejecting Reply of Rev 2 causes no fallback. */
static void connect_rejected(struct conn_test *t)
{
	static const u8 pd[] = { 0x80, 0x02, 0x80, 0x14, 1, 2, 3 };

	connect_begin(t, MPA_REV_2, MPA_F_FALLBACK);
	conn_peer_frame(t, true, PEER_C | PEER_R | PEER_S, 2, pd, sizeof(pd));
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
	connect_expect_done(t, 0);
	EXPECT_EQ(t, t->helper.setups, 1);
	EXPECT_EQ(t, t->a.enhanced.ird, 2);
	EXPECT_EQ(t, t->a.enhanced.ord, 20);
	EXPECT_EQ(t, t->a.startup.pd_len, 3);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	conn_expect_silence(t);
}

/* The peer's answer to a Request of Rev 2 */
struct connect_act {
	u32		flags;		/* of mpa_connect() */
	enum mpa_reason	reason;		/* why the connection ends */
	u32		octets;		/* sent of the Reply; FIN if not all */
	u8		reply;		/* its flags */
	u8		rev;
	u8		pd_len;
};

static void connect_act(struct conn_test *t, const struct connect_act *act)
{
	static const u8 pd[] = { 0, 5, 0, 5 };

	mpa_peer_frame(t->buf, true, act->reply, act->rev, pd, act->pd_len);
	if (act->reason == MPA_REASON_KEY)
		t->buf[0] ^= 1;
	conn_write(t, t->buf, act->octets);
	if (act->reason == MPA_REASON_RESET)
		mpa_peer_reset(&t->peer);
	else if (act->octets < 20 + act->pd_len &&
		 act->reason != MPA_REASON_TIMEOUT)
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
}

static void connect_begin_act(struct conn_test *t,
			      const struct connect_act *act)
{
	bool silent = act->reason == MPA_REASON_TIMEOUT;

	connect_prepare(t, MPA_REV_2);
	if (silent)
		WRITE_ONCE(t->mn->startup_timeout_ms, 200);
	connect_call(t, act->flags);
	connect_accept(t);
	/* On a slow machine the startup timer may expire before the Request. */
	if (!silent)
		connect_expect_request(t, MPA_REV_2);
	connect_act(t, act);
}

/* The peer gets a second connection and a Request of Rev 1. */
static void connect_fallback(struct conn_test *t)
{
	unsigned long before;

	conn_attach(t, 0);
	conn_reopen(t);
	before = conn_counter(t, MPA_MIB_FALLBACKS);
	connect_begin_act(t, conn_data(t));
	if (t->peer.sock) {
		EXPECT_NE(t, mpa_peer_read_end(&t->peer), -EAGAIN);
		/* A FIN, or our port would never be in TIME_WAIT. */
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	}
	connect_get_request(t, MPA_REV_1);
	conn_expect_silence(t);
	EXPECT_EQ(t, conn_sock_read(&t->helper, &t->helper.done), 0);
	connect_reply(t, MPA_REV_1);
	connect_expect_full(t, MPA_REV_1, 2);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_FALLBACKS), before + 1);
}

/* The consumer has chosen a local port: the second connection has it, too. */
static void connect_fallback_port(struct conn_test *t)
{
	t->helper.bound = true;
	connect_fallback(t);
}

/* No fallback: without the flag, or at errors not typical of a Rev 1 peer */
static void connect_no_fallback(struct conn_test *t)
{
	const struct connect_act *act = conn_data(t);

	connect_begin_act(t, act);
	CONN_WAIT(t, &t->a, EV_ENDED, 1);
	EXPECT_STREQ(t, mpa_reason_name(t->a.end.reason),
		     mpa_reason_name(act->reason));
	connect_expect_done(t, 0);
	EXPECT_EQ(t, t->helper.setups, 1);
	CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, t->helper.setups, 1);
}

/* A Reply of Rev 2 that negotiation refuses, and a reset right after it. */
static void connect_reset_after_reply(struct conn_test *t)
{
	static const u8 pd[] = { 0, 5, 0, 5 };
	struct sock *sk;

	connect_begin(t, MPA_REV_2, MPA_F_FALLBACK);
	sk = t->helper.made->sk;
	/* Own the socket, so that the work item finds both at once. */
	mpa_peer_own(sk);
	conn_peer_frame(t, true, PEER_C | PEER_S, 2, pd, sizeof(pd));
	mpa_peer_reset(&t->peer);
	mpa_peer_disown(sk);
	conn_expect_end(t, &t->a, MPA_ERR_RTR, MPA_REASON_RTR);
	connect_expect_done(t, 0);
	EXPECT_EQ(t, t->helper.setups, 1);
}

/* The peer also closes the second connection: no third attempt. */
static void connect_fallback_once(struct conn_test *t)
{
	connect_begin_fin(t);
	connect_get_request(t, MPA_REV_1);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	connect_expect_done(t, 0);
	EXPECT_EQ(t, t->helper.setups, 2);
}

/* The Reply to the Request of Rev 1 is the one that is reported. */
static void connect_fallback_rejected(struct conn_test *t)
{
	connect_begin(t, MPA_REV_2, MPA_F_FALLBACK);
	conn_peer_frame(t, true, PEER_C | PEER_R, 1, t->pool, 5);
	connect_get_request(t, MPA_REV_1);
	conn_peer_frame(t, true, PEER_C | PEER_R, 1, t->pool, 7);
	CONN_WAIT(t, &t->a, EV_REJECTED, 1);
	connect_expect_done(t, 0);
	EXPECT_EQ(t, t->helper.setups, 2);
	EXPECT_EQ(t, t->a.startup.pd_len, 7);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	conn_expect_silence(t);
}

/* Errors for done() */

static void connect_stop_listening(struct conn_test *t)
{
	mpa_peer_close(t->sock[1]);
	t->sock[1] = NULL;
}

/* The port is closed: at the first attempt, or (@arg) at the second only. */
static void connect_refused(struct conn_test *t)
{
	if (conn_arg(t))
		connect_begin(t, MPA_REV_2, MPA_F_FALLBACK);
	else
		connect_prepare(t, MPA_REV_2);
	connect_stop_listening(t);
	if (conn_arg(t))
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	else
		connect_call(t, MPA_F_FALLBACK);
	connect_expect_done(t, -ECONNREFUSED);
	EXPECT_EQ(t, t->helper.setups, conn_arg(t) ? 2 : 1);
	EXPECT_EQ(t, t->a.nr_log, 0);
}

/*
 * An attempt that is over, or failed in mpa_connect(), keeps no reference on
 * the namespace. Sockets of other cases may drop theirs at the same time and
 * hide a leak, so many attempts are made.
 */
static void connect_net(struct conn_test *t)
{
	struct mpa_sock_params params;
	unsigned int before;
	u32 i;

	if (!mpa_ns_count(&init_net))
		kunit_skip(t->test, "the initial namespace is not counted");
	connect_prepare(t, MPA_REV_1);
	connect_stop_listening(t);
	params = connect_params(t, 0);
	t->helper.setup_err = -EPERM;
	before = mpa_ns_count(&init_net);
	for (i = 0; i < CONNECT_ROUNDS; i++) {
		t->helper.setups = 0;
		t->helper.done = 0;
		connect_call(t, 0);
		connect_expect_done(t, -ECONNREFUSED);
		conn_close_attempt(&t->helper);
		EXPECT_EQ(t, -EPERM,
			  PTR_ERR_OR_ZERO(mpa_connect(&params,
						      connect_done)));
	}
	EXPECT_LT(t, mpa_ns_count(&init_net), before + CONNECT_ROUNDS / 2);
}

/* @arg: closed in the done() that reports the error */
static void connect_setup_fails(struct conn_test *t)
{
	t->helper.close_in_done = conn_arg(t);
	t->helper.setup_err = -EPERM;
	connect_begin_fin(t);
	connect_expect_done(t, -EPERM);
	EXPECT_EQ(t, t->helper.setups, 2);
	EXPECT_EQ(t, t->a.nr_log, 0);
	mpa_barrier();
	EXPECT_EQ(t, !t->helper.connector, conn_arg(t));
}

/* A positive value of setup() fails nothing. */
static void connect_setup_positive(struct conn_test *t)
{
	t->helper.setup_err = 1;
	connect_begin_fin(t);
	connect_get_request(t, MPA_REV_1);
	connect_reply(t, MPA_REV_1);
	connect_expect_full(t, MPA_REV_1, 2);
}

/* Private data too long for an enhanced frame, but not for one of Rev 0. */
static void connect_pd_too_long(struct conn_test *t)
{
	struct mpa_sock_params params;
	struct mpa_connector *c;

	connect_prepare(t, MPA_REV_2);
	params = connect_params(t, MPA_F_FALLBACK);
	params.pd_len = 509;
	c = mpa_connect(&params, connect_done);
	ASSERT_OK(t, c);
	t->helper.connector = c;
	connect_expect_done(t, -EMSGSIZE);
	EXPECT_EQ(t, t->helper.setups, 1);
	EXPECT_EQ(t, t->a.nr_log, 0);
}

static void connect_refused_params(struct conn_test *t,
				   const struct mpa_sock_params *params,
				   int err)
{
	EXPECT_EQ(t, PTR_ERR_OR_ZERO(mpa_connect(params, connect_done)), err);
	EXPECT_EQ(t, t->helper.done, 0);
	EXPECT_EQ(t, t->helper.setups, 0);
}

static void connect_accepted(void *ctx, struct socket *sock)
{
	sock_release(sock);
}

static void connect_bad_params(struct conn_test *t)
{
	struct mpa_params old = { .rev = MPA_REV_1 };
	struct mpa_ops ops = mpa_consumer_ops;
	struct mpa_sock_params good, bad;

	connect_prepare(t, MPA_REV_2);
	good = connect_params(t, MPA_F_FALLBACK);
	bad = good;
	bad.start = NULL;
	connect_refused_params(t, &bad, -EINVAL);
	bad = good;
	bad.start = &old;
	connect_refused_params(t, &bad, -EINVAL);
	old.ops = &mpa_consumer_ops;
	connect_refused_params(t, &bad, -EINVAL);
	old.rev = MPA_REV_2;
	old.flags = MPA_F_ENHANCED;
	old.enhanced.ird = MPA_DEPTH_ULP + 1;
	connect_refused_params(t, &bad, -EINVAL);
	old.enhanced.ird = 0;
	old.ops = &ops;
	ops.rejected = NULL;
	connect_refused_params(t, &bad, -EINVAL);
	bad = good;
	bad.pd_len = MPA_PD_MAX_REV0 + 1;
	connect_refused_params(t, &bad, -EMSGSIZE);

	/* mpa_listen() does not take parameters for a start. */
	bad = good;
	bad.flags = 0;
	bad.local = good.peer;
	EXPECT_EQ(t, PTR_ERR_OR_ZERO(mpa_listen(&bad, connect_accepted)),
		  -EINVAL);
}

/* Expect one done() with -ECANCELED, and no other callback. */
static void connect_expect_cancelled(struct conn_test *t, u32 setups)
{
	struct conn_sock *s = &t->helper;

	/* Waits for the done() of the closed attempt. */
	mpa_barrier();
	EXPECT_EQ(t, conn_sock_read(s, &s->done), 1);
	connect_expect_done(t, -ECANCELED);
	EXPECT_EQ(t, s->setups, setups);
	EXPECT_EQ(t, t->a.nr_log, 0);
}

/* Closed before TCP is connected: the listener's backlog is full. */
static void connect_close_early(struct conn_test *t)
{
	struct sockaddr_storage addr;
	struct socket *sock;
	u32 i;

	connect_prepare(t, MPA_REV_2);
	addr = t->helper.addr;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(t, 0, mpa_peer_connect(&t->opts, &addr, &sock));
		mpa_peer_close(sock);
	}
	connect_call(t, MPA_F_FALLBACK);
	/* The work item has run: it waits for TCP. */
	mpa_barrier();
	EXPECT_EQ(t, conn_sock_read(&t->helper, &t->helper.done), 0);
	conn_close_attempt(&t->helper);
	connect_expect_cancelled(t, 1);
}

/* Closed before the Reply of the first or (@arg) the second attempt. */
static void connect_close_waiting(struct conn_test *t)
{
	connect_begin(t, MPA_REV_2, MPA_F_FALLBACK);
	if (conn_arg(t)) {
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
		connect_get_request(t, MPA_REV_1);
	}
	EXPECT_EQ(t, conn_sock_read(&t->helper, &t->helper.done), 0);
	conn_close_attempt(&t->helper);
	connect_expect_cancelled(t, conn_arg(t) ? 2 : 1);
	conn_expect_over(t);
}

static void connect_stop_second(struct conn_sock *s)
{
	if (s->setups == 2)
		conn_sock_stop(s);
}

/* Closed while setup() prepares the second socket. */
static void connect_close_between(struct conn_test *t)
{
	t->helper.hook = connect_stop_second;
	connect_begin_fin(t);
	conn_wait_stopped(t);
	conn_close_attempt(&t->helper);
	complete(&t->helper.go);
	connect_expect_cancelled(t, 2);
}

static void connect_held_close(struct sock *sk, long timeout)
{
	struct conn_sock *s = container_of(sk->sk_prot, struct conn_sock,
					   held);

	conn_sock_stop(s);
	WRITE_ONCE(sk->sk_prot, s->prot);
	s->prot->close(sk, timeout);
}

static void connect_hold_close(struct conn_sock *s)
{
	struct sock *sk = s->made->sk;

	if (s->setups != 1)
		return;
	s->prot = READ_ONCE(sk->sk_prot);
	s->held = *s->prot;
	s->held.close = connect_held_close;
	WRITE_ONCE(sk->sk_prot, &s->held);
}

/* Closed while the first socket is being closed. */
static void connect_close_releasing(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;
	const u32 *setups = &s->setups;

	s->hook = connect_hold_close;
	connect_begin_fin(t);
	conn_wait_stopped(t);
	conn_close_attempt(&t->helper);
	/* There is no second attempt; it would begin at once. */
	EXPECT_FALSE(t, wait_event_timeout(s->wait, conn_sock_read(s,
								   setups) > 1,
					   HZ / 5));
	complete(&s->go);
	connect_expect_cancelled(t, 1);
}

/* True if TCP is connected, but mpa_attach() has not taken the socket yet. */
static bool connect_is_attaching(const struct socket *sock)
{
	struct sock *sk = sock->sk;

	return inet_sk_state_load(sk) == TCP_ESTABLISHED &&
	       !READ_ONCE(sk->sk_user_data);
}

/* Runs on another CPU than the attempt. True if it closes in time. */
static long connect_close_attaching(void *arg)
{
	struct conn_test *t = arg;
	struct conn_sock *s = &t->helper;
	bool attaching;
	u64 end;

	spin_lock_bh(&t->mn->lock);
	complete(&s->go);
	end = ktime_get_ns() + 10 * NSEC_PER_SEC;
	do {
		attaching = connect_is_attaching(s->made);
		cpu_relax();
	} while (!attaching && ktime_get_ns() < end);
	mpa_connect_close(s->connector);
	s->connector = NULL;
	spin_unlock_bh(&t->mn->lock);
	return attaching;
}

/* Closed just before mpa_attach() takes the second socket. */
static void connect_close_before_attach(struct conn_test *t)
{
	u32 cpu;

	t->helper.hook = connect_stop_second;
	connect_begin_fin(t);
	conn_wait_stopped(t);
	cpu = cpumask_any_but(cpu_online_mask, t->helper.cpu);
	if (cpu >= nr_cpu_ids) {
		complete(&t->helper.go);
		kunit_skip(t->test, "there is one processor only");
	}
	EXPECT_EQ(t, work_on_cpu(cpu, connect_close_attaching, t), 1);
	connect_expect_cancelled(t, 2);
}

/* Close the handle in the first callback of the connection. */
static void connect_hook_close(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_ESTABLISHED)
		connect_close_once(&t->helper);
}

/*
 * Closed in done() (@arg) or established(): too late, the consumer owns the
 * connection.
 */
static void connect_close_late(struct conn_test *t)
{
	t->helper.close_in_done = conn_arg(t);
	connect_begin(t, MPA_REV_2, MPA_F_FALLBACK);
	if (!conn_arg(t))
		t->a.hook = connect_hook_close;
	connect_reply(t, MPA_REV_2);
	connect_expect_full(t, MPA_REV_2, 1);
	EXPECT_NULL(t, t->helper.connector);
}

/* Closed at any time */

/* The peer closes its first connection, and answers by Rev 1 on the next. */
static void connect_race_accepted(void *ctx, struct socket *sock)
{
	struct conn_sock *s = ctx;
	struct mpa_peer peer = {};
	u8 reply[PEER_FRAME];

	if (s->server || !s->extra++) {
		mpa_peer_close(sock);
		return;
	}
	peer.sock = sock;
	mpa_peer_write(&peer, reply, mpa_peer_frame(reply, true, PEER_C, 1,
						    NULL, 0));
	s->server = sock;
}

static void connect_race_listen(struct conn_test *t)
{
	struct mpa_sock_params params = { .net = &init_net };
	struct mpa_listener *l;

	params.local = t->helper.addr;
	params.ctx = &t->helper;
	l = mpa_listen(&params, connect_race_accepted);
	ASSERT_OK(t, l);
	t->helper.listener = l;
}

/* Expect one done(), with a connection or an error. */
static void connect_race_expect(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;
	u32 told;

	mpa_barrier();
	ASSERT_EQ(t, conn_sock_read(s, &s->done), 1);
	told = mpa_consumer_count(&t->a, EV_ESTABLISHED) +
	       mpa_consumer_count(&t->a, EV_ENDED);
	if (s->err)
		EXPECT_EQ(t, t->a.nr_log, 0);
	else
		EXPECT_GE(t, told, 1);
	EXPECT_EQ(t, !s->client, !!s->err);
	t->sock[0] = s->client;
	s->client = NULL;
}

static void connect_race_reset(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;
	struct mpa_params params = t->a.params;

	mpa_listen_close_sync(s->listener);
	s->listener = NULL;
	if (s->server)
		mpa_peer_close(s->server);
	s->server = NULL;
	conn_reopen(t);
	t->a.params = params;
	t->a.hook = connect_hook;
	s->done = 0;
	s->extra = 0;
	s->setups = 0;
}

static void connect_race(struct conn_test *t)
{
	u32 i;

	connect_prepare(t, MPA_REV_2);
	/* The raw listener only served to find a free port. */
	connect_stop_listening(t);
	for (i = 0; i < CONNECT_ROUNDS; i++) {
		connect_race_listen(t);
		connect_call(t, MPA_F_FALLBACK);
		usleep_range(i * 80, i * 80 + 10);
		conn_close_attempt(&t->helper);
		connect_race_expect(t);
		connect_race_reset(t);
	}
	EXPECT_EQ(t, t->helper.early, 0);
}

#define FALLBACK(title, ...)						\
	{ title, connect_fallback,					\
	  .data = &(const struct connect_act){ MPA_F_FALLBACK, __VA_ARGS__ } }

#define FALLBACK_PORT(title, ...)					\
	{ title, connect_fallback_port,					\
	  .data = &(const struct connect_act){ MPA_F_FALLBACK, __VA_ARGS__ } }

#define NO_FALLBACK(title, ...)						\
	{ title, connect_no_fallback,					\
	  .data = &(const struct connect_act){ __VA_ARGS__ } }

static const struct conn_row connect_rows[] = {
	{ "E-39: established, Rev 1", connect_established, MPA_REV_1 },
	{ "E-37: established, Rev 2", connect_established, MPA_REV_2 },
	{ "reclaim-safe, flag of the attempt",
	  connect_memalloc, MPA_F_MEMALLOC },
	{ "reclaim-safe, flag of the connection", connect_memalloc, 0 },
	{ "E-17: rejected", connect_rejected },
	FALLBACK("E-41: FIN", MPA_REASON_FIN, 0),
	FALLBACK("E-41: FIN inside the key", MPA_REASON_SHORT_FRAME, 9),
	FALLBACK("E-41: FIN inside the private data",
		 MPA_REASON_SHORT_FRAME, 22, PEER_C | PEER_S, 2, 4),
	FALLBACK("E-41: RST", MPA_REASON_RESET, 0),
	FALLBACK("E-41: Rev 1", MPA_REASON_REVISION, 20, PEER_C, 1),
	FALLBACK("E-41: Rev 1, R 1", 0, 20, PEER_C | PEER_R, 1),
	FALLBACK("E-41: Rev 0", MPA_REASON_REVISION, 20, PEER_M | PEER_C, 0),
	FALLBACK_PORT("E-41: FIN, local port given", MPA_REASON_FIN, 0),
	FALLBACK_PORT("E-41: Rev 0, local port given",
		      MPA_REASON_REVISION, 20, PEER_M | PEER_C, 0),
	FALLBACK("E-41: R 1, without S", 0, 20, PEER_C | PEER_R, 2),
	{ "E-41: R 1, twice", connect_fallback_rejected },
	FALLBACK("E-41: silence", MPA_REASON_TIMEOUT, 0),
	{ "E-41: FIN, twice", connect_fallback_once },
	NO_FALLBACK("no MPA_F_FALLBACK: FIN", 0, MPA_REASON_FIN, 0),
	NO_FALLBACK("no MPA_F_FALLBACK: FIN inside the key",
		    0, MPA_REASON_SHORT_FRAME, 9),
	NO_FALLBACK("no MPA_F_FALLBACK: RST", 0, MPA_REASON_RESET, 0),
	NO_FALLBACK("no MPA_F_FALLBACK: Rev 1",
		    0, MPA_REASON_REVISION, 20, PEER_C, 1),
	NO_FALLBACK("no MPA_F_FALLBACK: silence", 0, MPA_REASON_TIMEOUT, 0),
	NO_FALLBACK("CS-34: no fallback: wrong key",
		    MPA_F_FALLBACK, MPA_REASON_KEY, 20),
	NO_FALLBACK("E-42: no fallback: Reply without S",
		    MPA_F_FALLBACK, MPA_REASON_ENHANCED, 20, PEER_C, 2),
	NO_FALLBACK("E-06: no fallback: PD_Length 3", MPA_F_FALLBACK,
		    MPA_REASON_PD_LENGTH, 20, PEER_C | PEER_S, 2, 3),
	NO_FALLBACK("E-31 E-42: no fallback: A is not answered", MPA_F_FALLBACK,
		    MPA_REASON_RTR, 24, PEER_C | PEER_S, 2, 4),
	{ "no fallback: RST after a Reply of Rev 2",
	  connect_reset_after_reply },
	{ "refused", connect_refused, false },
	{ "refused the second time", connect_refused, true },
	{ "refused, namespace reference dropped", connect_net },
	{ "setup() fails the second time", connect_setup_fails, false },
	{ "setup() returns a positive value the second time",
	  connect_setup_positive },
	{ "E-08: 509 octets of private data", connect_pd_too_long },
	{ "parameters of mpa_connect()", connect_bad_params },
	{ "closed before TCP is connected", connect_close_early },
	{ "closed before the Reply", connect_close_waiting, false },
	{ "closed before the second Reply", connect_close_waiting, true },
	{ "closed between the attempts", connect_close_between },
	{ "closed while the first socket is being closed",
	  connect_close_releasing },
	{ "closed before the second mpa_attach()",
	  connect_close_before_attach },
	{ "closed in done()", connect_close_late, true },
	{ "closed in done(), with an error", connect_setup_fails, true },
	{ "closed in established()", connect_close_late, false },
	{ "detached in done()", connect_detached },
	{ "closed at any time", connect_race },
};

CONN_ROWS(connect);
