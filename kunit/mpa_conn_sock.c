// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* mpa_connect() and mpa_listen() */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/in6.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

enum {
	SOCK_TOS	= 0x10,
	SOCK_CLOSES	= 64,
};

static void sock_accepted(void *ctx, struct socket *sock)
{
	struct conn_sock *s = ctx;

	spin_lock_bh(&s->lock);
	s->waits += conn_may_wait();
	s->accepted++;
	if (s->server)
		s->extra++;
	else
		swap(s->server, sock);
	spin_unlock_bh(&s->lock);
	if (sock)
		sock_release(sock);
	wake_up_all(&s->wait);
	if (s->stop)
		conn_sock_stop(s);
}

static void sock_done(void *ctx, struct socket *sock,
		      struct mpa_conn *conn, int err)
{
	struct conn_sock *s = ctx;

	spin_lock_bh(&s->lock);
	s->waits += conn_may_wait();
	s->client = sock;
	s->err = err;
	s->done++;
	spin_unlock_bh(&s->lock);
	wake_up_all(&s->wait);
}

static int sock_setup(struct socket *sock, void *ctx)
{
	struct conn_sock *s = ctx;

	s->setups++;
	if (s->setup_err)
		return s->setup_err;
	s->made = sock;
	if (s->hook)
		s->hook(s);
	if (s->reuseport)
		sock_set_reuseport(sock->sk);
	WRITE_ONCE(sock->sk->sk_priority, 5);
	return 0;
}

static void sock_loopback(struct sockaddr_storage *addr, bool ipv6, u16 port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	if (ipv6) {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = in6addr_loopback;
		sin6->sin6_port = htons(port);
		return;
	}
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin->sin_port = htons(port);
}

static struct mpa_sock_params sock_params(struct conn_test *t, u16 port)
{
	struct mpa_sock_params params = {
		.net	= &init_net,
		.flags	= t->helper.flags,
		.setup	= sock_setup,
		.ctx	= &t->helper,
	};

	sock_loopback(&params.local, conn_arg(t), port);
	return params;
}

/* Listen on a free port, and return it. */
static u16 sock_listen(struct conn_test *t)
{
	struct mpa_listener *listener = ERR_PTR(-EADDRINUSE);
	struct mpa_sock_params params;
	u16 port;

	for (port = 15044; port < 15144; port++) {
		params = sock_params(t, port);
		listener = mpa_listen(&params, sock_accepted);
		if (listener != ERR_PTR(-EADDRINUSE))
			break;
	}
	ASSERT_OK(t, listener);
	t->helper.listener = listener;
	return port;
}

static void sock_connect(struct conn_test *t, u16 port)
{
	struct mpa_sock_params params = sock_params(t, 0);
	struct mpa_connector *connector;

	sock_loopback(&params.peer, conn_arg(t), port);
	params.local.ss_family = AF_UNSPEC;
	connector = mpa_connect(&params, sock_done);
	ASSERT_OK(t, connector);
	t->helper.connector = connector;
}

static void sock_give(struct conn_test *t)
{
	t->sock[0] = t->helper.client;
	t->sock[1] = t->helper.server;
	t->helper.client = NULL;
	t->helper.server = NULL;
}

/* Connect, accept, start MPA on both ends and send a ULPDU. */
static void sock_connect_listen(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;

	sock_connect(t, sock_listen(t));
	conn_expect_done_sock(t, 0);
	ASSERT_TRUE(t, conn_sock_wait(s, &s->accepted, 1));
	EXPECT_EQ(t, s->setups, 2);
	EXPECT_EQ(t, s->client->sk->sk_priority, 5);
	EXPECT_TRUE(t, s->client->sk->sk_net_refcnt);
	EXPECT_TRUE(t, s->server->sk->sk_net_refcnt);
	EXPECT_NULL(t, s->client->sk->sk_user_data);
	EXPECT_NULL(t, s->server->sk->sk_user_data);
	sock_give(t);
	conn_start_two(t, 0, MPA_F_MARKERS);
	conn_post(t, 5000);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 1);
	EXPECT_EQ(t, 0, memcmp(t->b.rx, t->pool, 5000));
}

/* No callback of mpa_connect() and mpa_listen() may wait for memory. */
static void sock_memalloc(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;

	s->flags = MPA_F_MEMALLOC;
	sock_connect_listen(t);
	EXPECT_EQ(t, s->waits, 0);
}

static int sock_old_fastopen;

static void sock_restore_fastopen(void *net)
{
	WRITE_ONCE(((struct net *)net)->ipv4.sysctl_tcp_fastopen,
		   sock_old_fastopen);
}

/* net.ipv4.tcp_fastopen, until the case ends */
static void sock_set_fastopen(struct conn_test *t, int value)
{
	struct net *net = &init_net;
	int err;

	sock_old_fastopen = net->ipv4.sysctl_tcp_fastopen;
	err = kunit_add_action_or_reset(t->test, sock_restore_fastopen, net);
	ASSERT_EQ(t, err, 0);
	WRITE_ONCE(net->ipv4.sysctl_tcp_fastopen, value);
}

/* Connect with TCP Fast Open: the SYN has octets. Socket lock held. */
static int sock_fastopen_connect(struct sock *sk, u16 port)
{
	struct kvec kv = { .iov_base = "0123456789", .iov_len = 10 };
	struct sockaddr_storage addr;
	struct msghdr msg = {
		.msg_flags = MSG_FASTOPEN | MSG_DONTWAIT,
		.msg_name = &addr,
		.msg_namelen = sizeof(struct sockaddr_in),
	};

	sock_loopback(&addr, false, port);
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &kv, 1, kv.iov_len);
	return tcp_sendmsg_locked(sk, &msg, kv.iov_len);
}

/*
 * Each listening socket takes octets in the SYN, as the administrator has set
 * it. A connection is accepted when its handshake is over, not before: the
 * client's socket is locked, so that its ACK is late.
 */
static void sock_fastopen(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;
	u16 port;
	int err;

	/* both ends, without a cookie; each listening socket */
	sock_set_fastopen(t, 0x607);
	port = sock_listen(t);
	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &s->client);
	ASSERT_EQ(t, err, 0);

	lock_sock(s->client->sk);
	err = sock_fastopen_connect(s->client->sk, port);
	msleep(50);
	EXPECT_EQ(t, conn_sock_read(s, &s->accepted), 0);
	release_sock(s->client->sk);
	EXPECT_EQ(t, err, 10);
	ASSERT_TRUE(t, conn_sock_wait(s, &s->accepted, 1));
	EXPECT_EQ(t, inet_sk_state_load(s->server->sk), TCP_ESTABLISHED);
	EXPECT_EQ(t, inet_sk_state_load(s->client->sk), TCP_ESTABLISHED);
}

/* In setup(): TCP is to connect with the first octets that are sent. */
static void sock_defer_connect(struct conn_sock *s)
{
	int on = 1;

	s->setup_err = s->made->ops->setsockopt(s->made, SOL_TCP,
						TCP_FASTOPEN_CONNECT,
						KERNEL_SOCKPTR(&on),
						sizeof(on));
}

/* setup() has TCP put the connect off: done() gets one that is connected. */
static void sock_fastopen_deferred(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;
	u16 port;

	/* for clients, without a cookie */
	sock_set_fastopen(t, 0x5);
	port = sock_listen(t);
	s->hook = sock_defer_connect;
	sock_connect(t, port);
	conn_expect_done_sock(t, 0);
	EXPECT_EQ(t, s->setup_err, 0);
	EXPECT_EQ(t, inet_sk_state_load(s->client->sk), TCP_ESTABLISHED);
	ASSERT_TRUE(t, conn_sock_wait(s, &s->accepted, 1));
}

/* The listener is closed: done() reports -ECONNREFUSED. */
static void sock_refused(struct conn_test *t)
{
	u16 port = sock_listen(t);

	EXPECT_EQ(t, mpa_listen_close_sync(t->helper.listener), 0);
	t->helper.listener = NULL;
	sock_connect(t, port);
	conn_expect_done_sock(t, -ECONNREFUSED);
}

/* mpa_listen() reports that the address is in use. */
static void sock_in_use(struct conn_test *t)
{
	struct mpa_sock_params params = sock_params(t, sock_listen(t));

	EXPECT_EQ(t, PTR_ERR_OR_ZERO(mpa_listen(&params, sock_accepted)),
		  -EADDRINUSE);
}

static void sock_refuses(struct conn_test *t,
			 const struct mpa_sock_params *params, int err)
{
	EXPECT_EQ(t, err, PTR_ERR_OR_ZERO(mpa_listen(params, sock_accepted)));
	EXPECT_EQ(t, err, PTR_ERR_OR_ZERO(mpa_connect(params, sock_done)));
}

static void sock_refused_params(struct conn_test *t)
{
	struct mpa_sock_params good = sock_params(t, 0), bad;

	sock_loopback(&good.peer, conn_arg(t), 9);
	bad = good;
	bad.flags = BIT(31);
	sock_refuses(t, &bad, -EINVAL);
	bad = good;
	bad.local.ss_family = AF_UNIX;
	sock_refuses(t, &bad, -EAFNOSUPPORT);
	t->helper.setup_err = -EPERM;
	sock_refuses(t, &good, -EPERM);
	EXPECT_EQ(t, t->helper.done, 0);
}

/* A positive value of setup() fails neither call. */
static void sock_setup_positive(struct conn_test *t)
{
	struct mpa_sock_params params = sock_params(t, sock_listen(t));
	struct mpa_connector *connector;
	struct mpa_listener *listener;

	EXPECT_EQ(t, mpa_listen_close_sync(t->helper.listener), 0);
	t->helper.listener = NULL;
	t->helper.setup_err = 1;
	listener = mpa_listen(&params, sock_accepted);
	ASSERT_NE(t, PTR_ERR(listener), 1);
	ASSERT_OK(t, listener);
	t->helper.listener = listener;
	params.peer = params.local;
	params.local.ss_family = AF_UNSPEC;
	connector = mpa_connect(&params, sock_done);
	ASSERT_NE(t, PTR_ERR(connector), 1);
	ASSERT_OK(t, connector);
	t->helper.connector = connector;
	conn_expect_done_sock(t, 0);
	ASSERT_TRUE(t, conn_sock_wait(&t->helper, &t->helper.accepted, 1));
}

/*
 * A consumer may hold the lock of a socket that it serves: MPA's sockets have
 * another class for lockdep.
 */
static void sock_nested(struct conn_test *t)
{
	struct socket *other;
	u16 port;

	ASSERT_EQ(t, sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
				      IPPROTO_TCP, &other), 0);
	lock_sock(other->sk);
	port = sock_listen(t);
	sock_connect(t, port);
	release_sock(other->sk);
	sock_release(other);
	conn_expect_done_sock(t, 0);
}

/* Connect a socket without MPA to @port. */
static void sock_connect_plain(struct conn_test *t, u16 port,
			       struct socket **sock)
{
	struct sockaddr_storage addr;

	sock_loopback(&addr, false, port);
	ASSERT_EQ(t, mpa_peer_connect(&t->opts, &addr, sock), 0);
}

/* Runs on another CPU than accepted(), which returns at the same time. */
static long sock_close_returning(void *arg)
{
	struct conn_sock *s = arg;
	struct mpa_listener *listener = s->listener;

	s->listener = NULL;
	complete(&s->go);
	udelay(s->delay);
	if (s->delay % 2)
		return mpa_listen_close_sync(listener);
	mpa_listen_close(listener);
	return 0;
}

static void sock_close(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;
	u32 cpu;

	sock_connect_plain(t, sock_listen(t), &s->client);
	conn_wait_stopped(t);
	cpu = cpumask_any_but(cpu_online_mask, s->cpu);
	if (cpu >= nr_cpu_ids) {
		complete(&s->go);
		kunit_skip(t->test, "there is one processor only");
	}
	EXPECT_EQ(t, work_on_cpu(cpu, sock_close_returning, s), 0);
	mpa_barrier();
	mpa_peer_close(s->client);
	s->client = NULL;
	mpa_peer_close(s->server);
	s->server = NULL;
}

/* A listener closed as accepted() returns is freed once, and not run again. */
static void sock_close_listener(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;

	s->stop = true;
	for (s->delay = 0; s->delay < SOCK_CLOSES; s->delay++)
		sock_close(t);
	EXPECT_EQ(t, s->extra, 0);
}

/* Make a listener without MPA, on the same port. */
static void sock_listen_plain(struct conn_test *t, u16 port,
			      struct socket **sock)
{
	struct sockaddr_storage addr;

	sock_loopback(&addr, false, port);
	ASSERT_EQ(t, sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
				      IPPROTO_TCP, sock), 0);
	sock_set_reuseport((*sock)->sk);
	ASSERT_EQ(t, kernel_bind(*sock, mpa_sockaddr(&addr),
				 sizeof(struct sockaddr_in)), 0);
	ASSERT_EQ(t, kernel_listen(*sock, 4), 0);
}

/* Close MPA's listener, or (@destroy) tcp_abort() it: sockets migrate. */
static void sock_listener_goes(struct conn_sock *s, bool destroy)
{
	u8 migrate = READ_ONCE(init_net.ipv4.sysctl_tcp_migrate_req);

	WRITE_ONCE(init_net.ipv4.sysctl_tcp_migrate_req, 1);
	if (destroy)
		tcp_abort(s->made->sk, ECONNABORTED);
	mpa_listen_close(s->listener);
	s->listener = NULL;
	complete(&s->go);
	mpa_barrier();
	WRITE_ONCE(init_net.ipv4.sysctl_tcp_migrate_req, migrate);
}

/*
 * Three sockets connect; accepted() of the first takes long. When MPA's
 * listener is closed, the others migrate to another listener, without MPA's
 * callbacks.
 */
static void sock_migrate(struct conn_test *t, bool destroy)
{
	struct conn_sock *s = &t->helper;
	struct socket *far[2], *child;
	u32 i, migrated = 0;
	u16 port;

	s->stop = true;
	s->reuseport = true;
	port = sock_listen(t);
	sock_connect_plain(t, port, &s->client);
	conn_wait_stopped(t);
	for (i = 0; i < ARRAY_SIZE(far); i++)
		sock_connect_plain(t, port, &far[i]);
	sock_listen_plain(t, port, &t->sock[0]);
	sock_listener_goes(s, destroy);
	while (!kernel_accept(t->sock[0], &child, O_NONBLOCK)) {
		EXPECT_PTR_EQ(t, child->sk->sk_data_ready,
			      t->sock[0]->sk->sk_data_ready);
		EXPECT_NULL(t, child->sk->sk_user_data);
		mpa_peer_close(child);
		migrated++;
	}
	EXPECT_GE(t, migrated, 1);
	for (i = 0; i < ARRAY_SIZE(far); i++)
		mpa_peer_close(far[i]);
}

static void sock_migrate_closed(struct conn_test *t)
{
	sock_migrate(t, false);
}

static void sock_migrate_destroyed(struct conn_test *t)
{
	sock_migrate(t, true);
}

/* Only the scope id of a link-local address names a device. */
static void sock_scope(struct conn_test *t)
{
	struct mpa_sock_params params = sock_params(t, 0);
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&params.local;
	struct mpa_listener *listener;

	params.bound_dev_if = init_net.loopback_dev->ifindex;
	sin6->sin6_scope_id = params.bound_dev_if + 1;
	listener = mpa_listen(&params, sock_accepted);
	ASSERT_OK(t, listener);
	t->helper.listener = listener;
	ipv6_addr_set(&sin6->sin6_addr, htonl(0xfe800000), 0, 0, htonl(1));
	EXPECT_EQ(t, -EINVAL, PTR_ERR_OR_ZERO(mpa_listen(&params,
							 sock_accepted)));
}

static const struct conn_row sock_rows[] = {
	{ "DD-09: mpa_connect() and mpa_listen(), IPv4",
	  sock_connect_listen, false },
	{ "DD-09: mpa_connect() and mpa_listen(), IPv6",
	  sock_connect_listen, true },
	{ "reclaim-safe", sock_memalloc },
	{ "octets in the SYN (TCP Fast Open)", sock_fastopen },
	{ "connect put off (TCP Fast Open)", sock_fastopen_deferred },
	{ "refused, IPv4", sock_refused, false },
	{ "refused, IPv6", sock_refused, true },
	{ "address in use", sock_in_use },
	{ "parameters and setup()", sock_refused_params },
	{ "setup() returns a positive value", sock_setup_positive },
	{ "with another socket locked", sock_nested },
	{ "listener closed during accepted()", sock_close_listener },
	{ "listener closed, waiting sockets migrate", sock_migrate_closed },
	{ "listener destroyed, waiting sockets migrate",
	  sock_migrate_destroyed },
	{ "scope id of a local address, IPv6", sock_scope, true },
};

CONN_ROWS(sock);
