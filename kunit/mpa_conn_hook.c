// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The hook on outgoing ACKs: MPA's copies of a socket's operations, when they
 * are set and removed, and who else reads, copies or replaces them then.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include "mpa_compat.h"
#include "mpa_conn_ooo.h"

/* Address family of the socket */
enum hook_family {
	HOOK_IPV4,
	HOOK_IPV6,
	HOOK_MAPPED,		/* IPv6 socket, IPv4-mapped address */
};

/* Begin out-of-order receiving. Returns MPA's icsk_af_ops; @orig: TCP's. */
static const void *hook_begin(struct conn_test *t, const void **orig)
{
	const void *ours;

	conn_pair(t);
	*orig = gap_af_ops(t->sock[0]);
	gap_three(t);
	ours = gap_af_ops(t->sock[0]);
	KUNIT_ASSERT_PTR_NE(t->test, ours, *orig);
	return ours;
}

/* Disconnect the socket, and make it listen: with @ops, unless it is NULL. */
static void hook_listen(struct conn_test *t, const void *ops)
{
	struct sock *sk = t->sock[0]->sk;

	ASSERT_EQ(t, conn_disconnect(t->sock[0]), 0);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	if (ops)
		WRITE_ONCE(inet_csk(sk)->icsk_af_ops, ops);
	ASSERT_EQ(t, kernel_listen(t->sock[0], 2), 0);
	WRITE_ONCE(sk->sk_rcvtimeo, CONN_PATIENCE);
}

/* The ACK of a SYN cookie arrives, followed by data. */
static void hook_cookie(struct conn_test *t)
{
	struct socket *sock;

	if (!IS_ENABLED(CONFIG_SYN_COOKIES))
		kunit_skip(t->test, "TCP sends no SYN cookies");
	mpa_peer_exit(&t->peer);
	ASSERT_EQ(t, 0, mpa_peer_cookie(&t->opts, t->sock[0], &sock));
	ASSERT_EQ(t, mpa_peer_init(&t->peer, sock), 0);
	conn_write(t, t->pool, 10);
}

/* The accepted socket works, without any callback or operations of MPA. */
static void hook_listen_cookie(struct conn_test *t)
{
	struct mpa_peer child = {};
	const void *orig;

	hook_begin(t, &orig);
	hook_listen(t, NULL);
	EXPECT_PTR_EQ(t, gap_af_ops(t->sock[0]), orig);
	hook_cookie(t);
	ASSERT_EQ(t, mpa_peer_accept(&child, t->sock[0]), 0);
	EXPECT_PTR_EQ(t, gap_af_ops(child.sock), orig);
	EXPECT_NULL(t, child.sock->sk->sk_user_data);
	EXPECT_EQ(t, mpa_peer_read(&child, 10), 0);
	EXPECT_EQ(t, mpa_peer_write(&child, t->pool, 10), 0);
	EXPECT_EQ(t, mpa_peer_read(&t->peer, 10), 0);
	mpa_peer_exit(&child);
}

static unsigned long hook_drops(void)
{
	return conn_fold(init_net.mib.net_statistics, LINUX_MIB_LISTENDROPS);
}

/* A socket that listens with MPA's operations accepts nothing. */
static void hook_ops_left(struct conn_test *t)
{
	unsigned long drops = hook_drops();
	struct socket *child;
	const void *orig;

	hook_listen(t, hook_begin(t, &orig));
	hook_cookie(t);
	EXPECT_TRUE(t, CONN_UNTIL(hook_drops() != drops));
	EXPECT_EQ(t, kernel_accept(t->sock[0], &child, O_NONBLOCK), -EAGAIN);
	conn_detach(t, &t->a);
	EXPECT_PTR_EQ(t, gap_af_ops(t->sock[0]), orig);
}

/* Disconnected before full operation: MPA's operations are not set. */
static void hook_late_begin(struct conn_test *t)
{
	const void *orig;

	conn_attach(t, MPA_F_OOO);
	orig = gap_af_ops(t->sock[0]);
	ASSERT_EQ(t, conn_disconnect(t->sock[0]), 0);
	conn_settle(&t->a);
	conn_start(t, CONN_IMMEDIATE);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_PTR_EQ(t, gap_af_ops(t->sock[0]), orig);
}

/* Set MPA's operations @ops, and @data, on a socket that MPA has left. */
static void hook_put_ops(struct conn_test *t, const void *ops, void *data)
{
	struct sock *sk = t->sock[0]->sk;

	lock_sock(sk);
	WRITE_ONCE(inet_csk(sk)->icsk_af_ops, ops);
	sk->sk_user_data = data;
	release_sock(sk);
}

/*
 * With MPA's operations, and another owner or none, the socket sends. The
 * detach after the next attach restores TCP's own operations.
 */
static void hook_ops_foreign(struct conn_test *t)
{
	struct mpa_peer own = {};
	const void *ours, *orig;
	u8 *data;

	data = kunit_kzalloc(t->test, sizeof(struct mpa_conn), GFP_KERNEL);
	ASSERT_NOT_NULL(t, data);
	ours = hook_begin(t, &orig);
	conn_detach(t, &t->a);
	own.sock = t->sock[0];
	hook_put_ops(t, ours, NULL);
	EXPECT_EQ(t, mpa_peer_write(&own, t->pool, 10), 0);
	hook_put_ops(t, ours, data);
	EXPECT_EQ(t, mpa_peer_write(&own, t->pool, 10), 0);
	EXPECT_NULL(t, memchr_inv(data, 0, sizeof(struct mpa_conn)));

	hook_put_ops(t, ours, NULL);
	mpa_barrier();
	mpa_consumer_exit(&t->a);
	ASSERT_EQ(t, mpa_consumer_init(&t->a), 0);
	conn_attach(t, MPA_F_OOO);
	conn_start(t, CONN_IMMEDIATE);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	conn_post(t, 100);
	CONN_WAIT(t, &t->a, EV_SENT, 1);
	conn_detach(t, &t->a);
	EXPECT_PTR_EQ(t, gap_af_ops(t->sock[0]), orig);
}

/* Connect an IPv6 socket to the IPv4 socket of the peer. */
static void hook_pair_mapped(struct conn_test *t)
{
	struct sockaddr_storage addr = {}, to = {};
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&to;
	struct socket *listener;
	int err;

	ASSERT_EQ(t, 0, mpa_peer_listen(&t->opts, &listener, &addr));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = ((struct sockaddr_in *)&addr)->sin_port;
	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &sin6->sin6_addr);
	err = sock_create_kern(&init_net, AF_INET6, SOCK_STREAM, IPPROTO_TCP,
			       &t->sock[0]);
	err = err ?: kernel_connect(t->sock[0], mpa_sockaddr(&to),
				    sizeof(*sin6), 0);
	err = err ?: mpa_peer_accept(&t->peer, listener);
	sock_release(listener);
	ASSERT_EQ(t, err, 0);
}

static void hook_pair(struct conn_test *t, enum hook_family family)
{
	t->opts.ipv6 = family == HOOK_IPV6;
	if (family == HOOK_MAPPED)
		hook_pair_mapped(t);
	else
		conn_pair(t);
}

/* The detach restores the operations of the socket. */
static void hook_restored(struct conn_test *t)
{
	const void *ops;

	hook_pair(t, conn_arg(t));
	ops = gap_af_ops(t->sock[0]);
	gap_three(t);
	EXPECT_PTR_NE(t, gap_af_ops(t->sock[0]), ops);
	conn_detach(t, &t->a);
	EXPECT_PTR_EQ(t, gap_af_ops(t->sock[0]), ops);
}

/* Make an IPv6 socket with an IPv4-mapped address an IPv4 socket. */
static int hook_addrform(struct socket *sock)
{
	int val = PF_INET;

	return READ_ONCE(sock->ops)->setsockopt(sock, SOL_IPV6, IPV6_ADDRFORM,
						KERNEL_SOCKPTR(&val),
						sizeof(val));
}

/* The detach leaves operations alone that IPV6_ADDRFORM has set. */
static void hook_change_family(struct conn_test *t)
{
	struct socket *sock;

	hook_pair(t, HOOK_MAPPED);
	sock = t->sock[0];
	gap_three(t);
	ASSERT_EQ(t, hook_addrform(sock), 0);
	EXPECT_PTR_EQ(t, gap_af_ops(sock), gap_af_ops(t->peer.sock));
	conn_fpdu(t, 700);
	gap_put(t, gap_at(t, 4), t->buf_len);
	gap_put(t, 0, gap_at(t, 1));
	gap_alive(t);
	conn_detach(t, &t->a);
	EXPECT_PTR_EQ(t, gap_af_ops(sock), gap_af_ops(t->peer.sock));
}

/* getsockopt() reaches icsk_af_ops, which refuse this level. */
static int hook_ask_once(struct socket *sock)
{
	return READ_ONCE(sock->ops)->getsockopt(sock, SOL_RAW, 0, NULL, NULL);
}

static int hook_ask(void *arg)
{
	struct conn_asker *asker = arg;
	struct socket *sock = asker->sock;
	const struct proto_ops *ops = READ_ONCE(sock->ops);
	int ttl = 40;

	while (!kthread_should_stop()) {
		if (hook_ask_once(sock) != asker->answer)
			asker->wrong++;
		ttl ^= 1;
		if (ops->setsockopt(sock, SOL_IP, IP_TTL, KERNEL_SOCKPTR(&ttl),
				    sizeof(ttl)) ||
		    READ_ONCE(inet_sk(sock->sk)->uc_ttl) != ttl)
			asker->wrong++;
		WRITE_ONCE(asker->asked, asker->asked + 1);
		cond_resched();
	}
	return 0;
}

/* Attach to the same socket again, with stream positions from 0. */
static void hook_again(struct conn_test *t)
{
	t->out_pos = 0;
	t->nr_out = 0;
	mpa_consumer_exit(&t->a);
	ASSERT_EQ(t, mpa_consumer_init(&t->a), 0);
	gap_open(t, CONN_IMMEDIATE, MPA_F_OOO);
}

static void hook_attach_detach(struct conn_test *t)
{
	struct conn_asker *asker = &t->asker;
	u32 i, asked;

	for (i = 0; i < 30; i++) {
		asked = READ_ONCE(asker->asked);
		hook_again(t);
		gap_fpdus(t, 3, 700);
		gap_put(t, gap_at(t, 1), t->buf_len);
		CONN_WAIT(t, &t->a, EV_OOO, 2);
		gap_put(t, 0, gap_at(t, 1));
		gap_all(t);
		conn_detach(t, &t->a);
		while (READ_ONCE(asker->asked) - asked < 2)
			usleep_range(50, 100);
	}
}

/* getsockopt() reads the operations without a lock. */
static void hook_sockopt(struct conn_test *t)
{
	struct task_struct *task;

	hook_pair(t, conn_arg(t));
	t->asker.sock = t->sock[0];
	t->asker.answer = hook_ask_once(t->sock[0]);
	ASSERT_LT(t, t->asker.answer, 0);
	task = kthread_run(hook_ask, &t->asker, "mpa_kunit");
	ASSERT_FALSE(t, IS_ERR(task));
	t->asker.task = task;
	hook_attach_detach(t);
	EXPECT_EQ(t, READ_ONCE(t->asker.wrong), 0);
}

static const struct conn_row hook_rows[] = {
	{ "disconnected, then listening, SYN cookie", hook_listen_cookie },
	{ "listening with MPA's operations, SYN cookie", hook_ops_left },
	{ "disconnected before full operation", hook_late_begin },
	{ "MPA's operations, another owner or none", hook_ops_foreign },
	{ "operations are restored, IPv4", hook_restored, HOOK_IPV4 },
	{ "operations are restored, IPv6", hook_restored, HOOK_IPV6 },
	{ "operations are restored, IPv4 mapped", hook_restored, HOOK_MAPPED },
	{ "operations replaced by IPV6_ADDRFORM", hook_change_family },
	{ "attach and detach under getsockopt(), IPv4",
	  hook_sockopt, HOOK_IPV4 },
	{ "attach and detach under getsockopt(), IPv6",
	  hook_sockopt, HOOK_IPV6 },
	{ "attach and detach under getsockopt(), IPv4 mapped",
	  hook_sockopt, HOOK_MAPPED },
};

CONN_ROWS(hook);
