// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* mpa_connect() that starts MPA, and falls back to Rev 1. */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/ip.h>
#include <net/sock.h>
#include "mpa_conn_test.h"

enum {
	CONNECT_PD	= 40,
	CONNECT_PATIENCE = 20 * HZ,
	CONNECT_ROUNDS	= 48,
};

static u32 connect_read(struct conn_sock *s, const u32 *what)
{
	u32 n;

	spin_lock_bh(&s->lock);
	n = *what;
	spin_unlock_bh(&s->lock);
	return n;
}

static bool connect_wait(struct conn_sock *s, const u32 *what, u32 times)
{
	return wait_event_timeout(s->wait, connect_read(s, what) >= times,
				  CONNECT_PATIENCE);
}

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

	/* The second attempt is not to run into what the first one had to. */
	if (s->setups)
		WRITE_ONCE(t->mn->startup_timeout_ms, t->timeout_ms);
	s->made = sock;
	connect_count(s, &s->setups);
	if (s->hook)
		s->hook(s);
	return s->setups > 1 ? s->setup_err : 0;
}

/* Where the end of the case may come at the same time. */
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

/* No callback of the connection comes before done(). */
static void connect_hook(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (!connect_read(&t->helper, &t->helper.done))
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

/* What the connection asks for, and a listener to ask. */
static void connect_prepare(struct kunit *test, u8 rev)
{
	struct conn_test *t = test->priv;
	struct mpa_params *params = &t->a.params;

	conn_attach(test, 0);
	conn_reopen(test);
	KUNIT_ASSERT_EQ(test, mpa_peer_listen(&t->opts, &t->sock[1],
					      &t->helper.addr), 0);
	params->rev = rev;
	params->flags = MPA_F_MARKERS;
	if (rev == MPA_REV_2)
		params->flags |= MPA_F_ENHANCED;
	params->enhanced = (struct mpa_enhanced) { 5, 7, MPA_RTR_WRITE };
	t->a.hook = connect_hook;
}

static void connect_call(struct kunit *test, u32 flags)
{
	struct conn_test *t = test->priv;
	struct mpa_sock_params params = connect_params(t, flags);
	struct mpa_connector *connector = mpa_connect(&params, connect_done);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, connector);
	t->helper.connector = connector;
}

/* The connection that is asked for becomes the peer's. */
static void connect_accept(struct kunit *test)
{
	struct conn_test *t = test->priv;

	mpa_peer_exit(&t->peer);
	KUNIT_ASSERT_EQ(test, mpa_peer_accept(&t->peer, t->sock[1]), 0);
}

static void connect_expect_request(struct kunit *test, u8 rev)
{
	struct conn_test *t = test->priv;
	static const u8 erd[] = { 0x80, 0x05, 0x80, 0x07 };
	u8 pd[sizeof(erd) + CONNECT_PD];

	if (rev == MPA_REV_1) {
		conn_expect_frame(test, false, PEER_M | PEER_C, 1, t->pool,
				  CONNECT_PD);
		return;
	}
	memcpy(pd, erd, sizeof(erd));
	memcpy(pd + sizeof(erd), t->pool, CONNECT_PD);
	conn_expect_frame(test, false, PEER_M | PEER_C | PEER_S, 2, pd,
			  sizeof(pd));
}

/* An attempt whose Request the peer has read. */
static void connect_begin(struct kunit *test, u8 rev, u32 flags)
{
	connect_prepare(test, rev);
	connect_call(test, flags);
	connect_accept(test);
	connect_expect_request(test, rev);
}

static void connect_reply(struct kunit *test, u8 rev)
{
	static const u8 pd[] = { 0x80, 0x07, 0x80, 0x05 };

	if (rev == MPA_REV_1)
		conn_peer_frame(test, true, PEER_C, 1, NULL, 0);
	else
		conn_peer_frame(test, true, PEER_C | PEER_S, 2, pd,
				sizeof(pd));
}

/* done() has been called once; the socket is the case's. */
static void connect_expect_done(struct kunit *test, int err)
{
	struct conn_test *t = test->priv;
	struct conn_sock *s = &t->helper;

	KUNIT_ASSERT_TRUE(test, connect_wait(s, &s->done, 1));
	KUNIT_EXPECT_EQ(test, connect_read(s, &s->done), 1);
	KUNIT_ASSERT_EQ(test, s->err, err);
	KUNIT_ASSERT_EQ(test, !s->client, !!err);
	KUNIT_EXPECT_EQ(test, s->early, 0);
	t->sock[0] = s->client;
	s->client = NULL;
}

static void connect_close(struct kunit *test)
{
	struct conn_test *t = test->priv;

	mpa_connect_close(t->helper.connector);
	t->helper.connector = NULL;
}

/* Full operation with the raw peer, by @rev, after @setups sockets. */
static void connect_expect_full(struct kunit *test, u8 rev, u32 setups)
{
	struct conn_test *t = test->priv;
	struct mpa_info info;

	CONN_WAIT(test, &t->a, EV_ESTABLISHED, 1);
	connect_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, t->helper.setups, setups);
	KUNIT_EXPECT_PTR_EQ(test, t->helper.conn, t->a.conn);
	KUNIT_EXPECT_PTR_EQ(test, mpa_conn_socket(t->a.conn), t->sock[0]);
	KUNIT_EXPECT_PTR_EQ(test, mpa_conn_ctx(t->a.conn), &t->a);
	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_TRUE(test, info.initiator);
	KUNIT_EXPECT_EQ(test, info.rev, rev);
	KUNIT_EXPECT_EQ(test, info.enhanced, rev == MPA_REV_2);
	KUNIT_EXPECT_EQ(test, info.rtr, rev == MPA_REV_2 ? MPA_RTR_WRITE : 0);
	t->rx_markers = true;
	t->crc = true;
	mpa_resume(t->a.conn);
	conn_expect_alive(test, &t->a);
}

/* done() of a reclaim-safe one, though it did not ask for it in start. */
void conn_connect_memalloc(struct kunit *test)
{
	struct conn_test *t = test->priv;

	connect_begin(test, MPA_REV_1, MPA_F_MEMALLOC);
	connect_reply(test, MPA_REV_1);
	connect_expect_full(test, MPA_REV_1, 1);
	KUNIT_EXPECT_EQ(test, t->helper.waits, 0);
}

/* By revision @arg; the handle means nothing to the connection. */
void conn_connect_established(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u8 rev = conn_arg(test);

	connect_begin(test, rev, 0);
	KUNIT_EXPECT_EQ(test, connect_read(&t->helper, &t->helper.done), 0);
	connect_reply(test, rev);
	connect_expect_full(test, rev, 1);
	connect_close(test);
	conn_expect_alive(test, &t->a);
	conn_detach(test, &t->a);
	KUNIT_EXPECT_NULL(test, t->sock[0]->sk->sk_user_data);
}

/* Detached in done(): the only callback is released(). */
void conn_connect_detached(struct kunit *test)
{
	struct conn_test *t = test->priv;

	connect_begin(test, MPA_REV_2, 0);
	t->helper.detach_in_done = true;
	connect_reply(test, MPA_REV_2);
	CONN_WAIT(test, &t->a, EV_RELEASED, 1);
	connect_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, t->a.nr_log, 1);
	KUNIT_EXPECT_NULL(test, t->sock[0]->sk->sk_user_data);
	connect_close(test);
}

/* A Reply that rejects is no reason to ask again. */
void conn_connect_rejected(struct kunit *test)
{
	static const u8 pd[] = { 0x80, 0x02, 0x80, 0x14, 1, 2, 3 };
	struct conn_test *t = test->priv;

	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	conn_peer_frame(test, true, PEER_C | PEER_R | PEER_S, 2, pd,
			sizeof(pd));
	CONN_WAIT(test, &t->a, EV_REJECTED, 1);
	connect_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 1);
	KUNIT_EXPECT_EQ(test, t->a.enhanced.ird, 2);
	KUNIT_EXPECT_EQ(test, t->a.enhanced.ord, 20);
	KUNIT_EXPECT_EQ(test, t->a.startup.pd_len, 3);
	KUNIT_EXPECT_EQ(test, mpa_consumer_count(&t->a, EV_ENDED), 0);
	conn_expect_silence(test);
}

/* What the peer does with the Request of Rev 2. */

struct connect_act {
	u32		octets;		/* of the frame; then FIN, if less */
	u8		flags;
	u8		rev;
	u8		pd_len;
	bool		reset;
	bool		silent;
	enum mpa_reason	reason;
};

static const struct connect_act connect_acts[] = {
	[CONNECT_FIN] = { .reason = MPA_REASON_FIN },
	[CONNECT_FIN_IN_KEY] = { .octets = 9, .reason = MPA_REASON_SHORT },
	[CONNECT_FIN_IN_PD] = { .octets = 22, .flags = PEER_C | PEER_S,
				.rev = 2, .pd_len = 4,
				.reason = MPA_REASON_SHORT },
	[CONNECT_RESET] = { .reset = true, .reason = MPA_REASON_RESET },
	[CONNECT_REV_1] = { .octets = 20, .flags = PEER_C, .rev = 1,
			    .reason = MPA_REASON_REVISION },
	[CONNECT_REV_1_R] = { .octets = 20, .flags = PEER_C | PEER_R,
			      .rev = 1 },
	[CONNECT_REV_0] = { .octets = 20, .flags = PEER_M | PEER_C,
			    .reason = MPA_REASON_REVISION },
	[CONNECT_NO_S_R] = { .octets = 20, .flags = PEER_C | PEER_R,
			     .rev = 2 },
	[CONNECT_SILENT] = { .silent = true, .reason = MPA_REASON_TIMEOUT },
	[CONNECT_NO_KEY] = { .octets = 20, .reason = MPA_REASON_KEY },
	[CONNECT_NO_S] = { .octets = 20, .flags = PEER_C, .rev = 2,
			   .reason = MPA_REASON_ENHANCED },
	[CONNECT_SHORT_PD] = { .octets = 20, .flags = PEER_C | PEER_S,
			       .rev = 2, .pd_len = 3,
			       .reason = MPA_REASON_PD_LENGTH },
	[CONNECT_NO_A] = { .octets = 24, .flags = PEER_C | PEER_S, .rev = 2,
			   .pd_len = 4, .reason = MPA_REASON_RTR },
};

static void connect_act(struct kunit *test, const struct connect_act *act)
{
	static const u8 pd[] = { 0, 5, 0, 5 };
	struct conn_test *t = test->priv;

	mpa_peer_frame(t->buf, true, act->flags, act->rev, pd, act->pd_len);
	if (act->reason == MPA_REASON_KEY)
		t->buf[0] ^= 1;
	KUNIT_ASSERT_EQ(test, mpa_peer_write(&t->peer, t->buf, act->octets),
			0);
	if (act->reset)
		mpa_peer_reset(&t->peer);
	else if (act->octets < 20 + act->pd_len && !act->silent)
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
}

static void connect_begin_act(struct kunit *test, u32 flags)
{
	const struct connect_act *act = &connect_acts[conn_arg(test)];
	struct conn_test *t = test->priv;

	connect_prepare(test, MPA_REV_2);
	if (act->silent)
		WRITE_ONCE(t->mn->startup_timeout_ms, 200);
	connect_call(test, flags);
	connect_accept(test);
	/* On a slow machine the timer may be first. */
	if (!act->silent)
		connect_expect_request(test, MPA_REV_2);
	connect_act(test, act);
}

/* It is asked again, as one that knows Rev 1 only. */
void conn_connect_fallback(struct kunit *test)
{
	struct conn_test *t = test->priv;
	unsigned long before;

	conn_attach(test, 0);
	conn_reopen(test);
	before = snmp_fold_field(t->mn->mib, MPA_MIB_FALLBACKS);
	connect_begin_act(test, MPA_F_FALLBACK);
	if (t->peer.sock)
		KUNIT_EXPECT_NE(test, mpa_peer_read_end(&t->peer), -EAGAIN);
	connect_accept(test);
	connect_expect_request(test, MPA_REV_1);
	conn_expect_silence(test);
	KUNIT_EXPECT_EQ(test, connect_read(&t->helper, &t->helper.done), 0);
	connect_reply(test, MPA_REV_1);
	connect_expect_full(test, MPA_REV_1, 2);
	KUNIT_EXPECT_EQ(test, mpa_consumer_count(&t->a, EV_ENDED), 0);
	KUNIT_EXPECT_EQ(test, snmp_fold_field(t->mn->mib, MPA_MIB_FALLBACKS),
			before + 1);
}

static void connect_no_fallback(struct kunit *test, u32 flags)
{
	const struct connect_act *act = &connect_acts[conn_arg(test)];
	struct conn_test *t = test->priv;

	connect_begin_act(test, flags);
	CONN_WAIT(test, &t->a, EV_ENDED, 1);
	KUNIT_EXPECT_STREQ(test, mpa_reason_name(t->a.end.reason),
			   mpa_reason_name(act->reason));
	connect_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 1);
	KUNIT_EXPECT_EQ(test, mpa_consumer_count(&t->a, EV_ESTABLISHED), 0);
	conn_detach(test, &t->a);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 1);
}

/* Nobody asked for it. */
void conn_connect_no_flag(struct kunit *test)
{
	connect_no_fallback(test, 0);
}

/* It is no sign of a peer that is old. */
void conn_connect_other_error(struct kunit *test)
{
	connect_no_fallback(test, MPA_F_FALLBACK);
}

/* A Reply of Rev 2 that does not do, and a reset right behind it. */
void conn_connect_reset_behind(struct kunit *test)
{
	static const u8 pd[] = { 0, 5, 0, 5 };
	struct conn_test *t = test->priv;
	struct sock *sk;

	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	sk = t->helper.made->sk;
	/* The work item sees both at once. */
	mpa_peer_own(sk);
	conn_peer_frame(test, true, PEER_C | PEER_S, 2, pd, sizeof(pd));
	mpa_peer_reset(&t->peer);
	mpa_peer_disown(sk);
	CONN_WAIT(test, &t->a, EV_ENDED, 1);
	connect_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 1);
}

/* A peer that knows Rev 1 only, and has enough of it at the second time. */
void conn_connect_fallback_once(struct kunit *test)
{
	struct conn_test *t = test->priv;

	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	connect_accept(test);
	connect_expect_request(test, MPA_REV_1);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(test, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	connect_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 2);
}

/* The Reply to the Request of Rev 1 is the one that counts. */
void conn_connect_fallback_rejected(struct kunit *test)
{
	struct conn_test *t = test->priv;

	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	conn_peer_frame(test, true, PEER_C | PEER_R, 1, t->pool, 5);
	connect_accept(test);
	connect_expect_request(test, MPA_REV_1);
	conn_peer_frame(test, true, PEER_C | PEER_R, 1, t->pool, 7);
	CONN_WAIT(test, &t->a, EV_REJECTED, 1);
	connect_expect_done(test, 0);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 2);
	KUNIT_EXPECT_EQ(test, t->a.startup.pd_len, 7);
	KUNIT_EXPECT_EQ(test, mpa_consumer_count(&t->a, EV_ENDED), 0);
	conn_expect_silence(test);
}

/* Errors for done() */

static void connect_stop_listening(struct conn_test *t)
{
	mpa_peer_close(t->sock[1]);
	t->sock[1] = NULL;
}

/* Nobody listens: the first time, or @arg, only the second time. */
void conn_connect_refused(struct kunit *test)
{
	struct conn_test *t = test->priv;

	if (conn_arg(test))
		connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	else
		connect_prepare(test, MPA_REV_2);
	connect_stop_listening(t);
	if (conn_arg(test))
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	else
		connect_call(test, MPA_F_FALLBACK);
	connect_expect_done(test, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, t->helper.setups, conn_arg(test) ? 2 : 1);
	KUNIT_EXPECT_EQ(test, t->a.nr_log, 0);
}

/*
 * An attempt that is over, or failed in mpa_connect(), keeps no reference on
 * the namespace. Sockets of other cases may give up theirs at the same time, so
 * there are many attempts.
 */
void conn_connect_net(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_sock_params params;
	unsigned int before;
	u32 i;

	connect_prepare(test, MPA_REV_1);
	connect_stop_listening(t);
	params = connect_params(t, 0);
	t->helper.setup_err = -EPERM;
	before = refcount_read(&init_net.ns.count);
	for (i = 0; i < CONNECT_ROUNDS; i++) {
		t->helper.setups = 0;
		t->helper.done = 0;
		connect_call(test, 0);
		connect_expect_done(test, -ECONNREFUSED);
		connect_close(test);
		KUNIT_EXPECT_EQ(test, -EPERM,
				PTR_ERR_OR_ZERO(mpa_connect(&params,
							    connect_done)));
	}
	KUNIT_EXPECT_LT(test, refcount_read(&init_net.ns.count),
			before + CONNECT_ROUNDS / 2);
}

void conn_connect_setup_fails(struct kunit *test)
{
	struct conn_test *t = test->priv;

	t->helper.setup_err = -EPERM;
	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	connect_expect_done(test, -EPERM);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 2);
	KUNIT_EXPECT_EQ(test, t->a.nr_log, 0);
}

/* Too much private data for what is started, though not for any frame. */
void conn_connect_pd_too_long(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_sock_params params;
	struct mpa_connector *c;

	connect_prepare(test, MPA_REV_2);
	params = connect_params(t, MPA_F_FALLBACK);
	params.pd_len = 509;
	c = mpa_connect(&params, connect_done);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c);
	t->helper.connector = c;
	connect_expect_done(test, -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 1);
	KUNIT_EXPECT_EQ(test, t->a.nr_log, 0);
}

static void connect_refused_params(struct kunit *test,
				   const struct mpa_sock_params *params,
				   int err)
{
	struct conn_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mpa_connect(params,
							  connect_done)), err);
	KUNIT_EXPECT_EQ(test, t->helper.done, 0);
	KUNIT_EXPECT_EQ(test, t->helper.setups, 0);
}

static void connect_accepted(void *ctx, struct socket *sock)
{
	sock_release(sock);
}

void conn_connect_params(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_params old = { .rev = MPA_REV_1 };
	struct mpa_ops ops = mpa_consumer_ops;
	struct mpa_sock_params good, bad;

	connect_prepare(test, MPA_REV_2);
	good = connect_params(t, MPA_F_FALLBACK);
	bad = good;
	bad.start = NULL;
	connect_refused_params(test, &bad, -EINVAL);
	bad = good;
	bad.start = &old;
	connect_refused_params(test, &bad, -EINVAL);
	old.ops = &mpa_consumer_ops;
	connect_refused_params(test, &bad, -EINVAL);
	old.rev = MPA_REV_2;
	old.flags = MPA_F_ENHANCED;
	old.enhanced.ird = MPA_DEPTH_ULP + 1;
	connect_refused_params(test, &bad, -EINVAL);
	old.enhanced.ird = 0;
	old.ops = &ops;
	ops.rejected = NULL;
	connect_refused_params(test, &bad, -EINVAL);
	bad = good;
	bad.pd_len = MPA_PD_MAX_REV0 + 1;
	connect_refused_params(test, &bad, -EMSGSIZE);

	/* Listening starts nothing. */
	bad = good;
	bad.flags = 0;
	bad.local = good.peer;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(mpa_listen(&bad,
							 connect_accepted)),
			-EINVAL);
}

/* Cancelled: exactly one done(), and no other callback. */
static void connect_expect_cancelled(struct kunit *test, u32 setups)
{
	struct conn_test *t = test->priv;
	struct conn_sock *s = &t->helper;

	/* It waits for a done() that is to come. */
	mpa_barrier();
	KUNIT_EXPECT_EQ(test, connect_read(s, &s->done), 1);
	connect_expect_done(test, -ECANCELED);
	KUNIT_EXPECT_EQ(test, s->setups, setups);
	KUNIT_EXPECT_EQ(test, t->a.nr_log, 0);
}

/* Before TCP is connected: the listener answers no more. */
void conn_connect_close_early(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct sockaddr_storage addr;
	struct socket *sock;
	u32 i;

	connect_prepare(test, MPA_REV_2);
	addr = t->helper.addr;
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET,
						       SOCK_STREAM,
						       IPPROTO_TCP, &sock), 0);
		KUNIT_EXPECT_EQ(test, kernel_connect(sock, mpa_sockaddr(&addr),
						     sizeof(struct sockaddr_in),
						     0), 0);
		mpa_peer_close(sock);
	}
	connect_call(test, MPA_F_FALLBACK);
	/* The work item has run: it waits for TCP. */
	mpa_barrier();
	KUNIT_EXPECT_EQ(test, connect_read(&t->helper, &t->helper.done), 0);
	connect_close(test);
	connect_expect_cancelled(test, 1);
}

/* While the Reply is waited for, of the first or, @arg, the second attempt. */
void conn_connect_close_waiting(struct kunit *test)
{
	struct conn_test *t = test->priv;

	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	if (conn_arg(test)) {
		kernel_sock_shutdown(t->peer.sock, SHUT_WR);
		connect_accept(test);
		connect_expect_request(test, MPA_REV_1);
	}
	KUNIT_EXPECT_EQ(test, connect_read(&t->helper, &t->helper.done), 0);
	connect_close(test);
	connect_expect_cancelled(test, conn_arg(test) ? 2 : 1);
	KUNIT_EXPECT_NE(test, mpa_peer_read_end(&t->peer), -EAGAIN);
	KUNIT_EXPECT_EQ(test, t->peer.have, t->peer.used);
}

/* Stop here until the case says go. */
static void connect_stop(struct conn_sock *s)
{
	s->cpu = raw_smp_processor_id();
	complete(&s->at);
	wait_for_completion_timeout(&s->go, CONNECT_PATIENCE);
}

static void connect_expect_stop(struct kunit *test)
{
	struct conn_test *t = test->priv;

	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&t->helper.at,
							  CONNECT_PATIENCE),
			0);
}

static void connect_stop_second(struct conn_sock *s)
{
	if (s->setups == 2)
		connect_stop(s);
}

/* While the second connection is being made. */
void conn_connect_close_between(struct kunit *test)
{
	struct conn_test *t = test->priv;

	t->helper.hook = connect_stop_second;
	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	connect_expect_stop(test);
	connect_close(test);
	complete(&t->helper.go);
	connect_expect_cancelled(test, 2);
}

static void connect_held_close(struct sock *sk, long timeout)
{
	struct conn_sock *s = container_of(sk->sk_prot, struct conn_sock,
					   held);

	connect_stop(s);
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

/* While the first socket is being closed. */
void conn_connect_close_releasing(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct conn_sock *s = &t->helper;
	const u32 *setups = &s->setups;

	s->hook = connect_hold_close;
	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	connect_expect_stop(test);
	connect_close(test);
	/* Nothing comes of it now; if it did, it would do so at once. */
	KUNIT_EXPECT_FALSE(test, wait_event_timeout(s->wait,
						    connect_read(s, setups) > 1,
						    HZ / 5));
	complete(&s->go);
	connect_expect_cancelled(test, 1);
}

/* TCP is connected, and the attempt waits to put MPA on the socket. */
static bool connect_is_attaching(const struct socket *sock)
{
	struct sock *sk = sock->sk;

	return inet_sk_state_load(sk) == TCP_ESTABLISHED &&
	       !READ_ONCE(sk->sk_user_data);
}

/* On another processor than the attempt. Returns whether it was in time. */
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

/* Just before MPA is put on the second socket. */
void conn_connect_close_attaching(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 cpu;

	t->helper.hook = connect_stop_second;
	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	connect_expect_stop(test);
	cpu = cpumask_any_but(cpu_online_mask, t->helper.cpu);
	if (cpu >= nr_cpu_ids) {
		complete(&t->helper.go);
		kunit_skip(test, "there is one processor only");
	}
	KUNIT_EXPECT_EQ(test, work_on_cpu(cpu, connect_close_attaching, t), 1);
	connect_expect_cancelled(test, 2);
}

/* In done(): it is too late, the connection is the consumer's. */
void conn_connect_close_in_done(struct kunit *test)
{
	struct conn_test *t = test->priv;

	t->helper.close_in_done = true;
	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	connect_reply(test, MPA_REV_2);
	connect_expect_full(test, MPA_REV_2, 1);
	KUNIT_EXPECT_NULL(test, t->helper.connector);
}

/* In a done() that has an error. */
void conn_connect_close_in_error(struct kunit *test)
{
	struct conn_test *t = test->priv;

	t->helper.close_in_done = true;
	t->helper.setup_err = -EPERM;
	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	connect_expect_done(test, -EPERM);
	mpa_barrier();
	KUNIT_EXPECT_NULL(test, t->helper.connector);
}

/* In the first callback of the connection. */
static void connect_hook_close(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_ESTABLISHED)
		connect_close_once(&t->helper);
}

void conn_connect_close_in_callback(struct kunit *test)
{
	struct conn_test *t = test->priv;

	connect_begin(test, MPA_REV_2, MPA_F_FALLBACK);
	t->a.hook = connect_hook_close;
	connect_reply(test, MPA_REV_2);
	connect_expect_full(test, MPA_REV_2, 1);
	KUNIT_EXPECT_NULL(test, t->helper.connector);
}

/* Closed at any time */

/* A peer that closes first, and answers a Request of Rev 1 then. */
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

static void connect_race_listen(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_sock_params params = { .net = &init_net };
	struct mpa_listener *l;

	params.local = t->helper.addr;
	params.ctx = &t->helper;
	l = mpa_listen(&params, connect_race_accepted);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, l);
	t->helper.listener = l;
}

/* done() has come once, with a connection or without. */
static void connect_race_expect(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct conn_sock *s = &t->helper;
	u32 told;

	mpa_barrier();
	KUNIT_ASSERT_EQ(test, connect_read(s, &s->done), 1);
	told = mpa_consumer_count(&t->a, EV_ESTABLISHED) +
	       mpa_consumer_count(&t->a, EV_ENDED);
	if (s->err)
		KUNIT_EXPECT_EQ(test, t->a.nr_log, 0);
	else
		KUNIT_EXPECT_GE(test, told, 1);
	KUNIT_EXPECT_EQ(test, !s->client, !!s->err);
	t->sock[0] = s->client;
	s->client = NULL;
}

static void connect_race_reset(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct conn_sock *s = &t->helper;
	struct mpa_params params = t->a.params;

	mpa_listen_close_sync(s->listener);
	s->listener = NULL;
	if (s->server)
		mpa_peer_close(s->server);
	s->server = NULL;
	conn_reopen(test);
	t->a.params = params;
	t->a.hook = connect_hook;
	s->done = 0;
	s->extra = 0;
	s->setups = 0;
}

void conn_connect_race(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i;

	connect_prepare(test, MPA_REV_2);
	/* The raw listener has found a port that is free. */
	connect_stop_listening(t);
	for (i = 0; i < CONNECT_ROUNDS; i++) {
		connect_race_listen(test);
		connect_call(test, MPA_F_FALLBACK);
		usleep_range(i * 80, i * 80 + 10);
		connect_close(test);
		connect_race_expect(test);
		connect_race_reset(test);
	}
	KUNIT_EXPECT_EQ(test, t->helper.early, 0);
}
