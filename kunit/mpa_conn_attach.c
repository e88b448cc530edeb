// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Attaching to a socket, and what stays as it was until the start. */
#include <linux/file.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

/* Callbacks of the previous owner */
enum {
	ATTACH_READY,
	ATTACH_SPACE,
	ATTACH_CHANGE,
	ATTACH_REPORT,
	ATTACH_NR,
};

static unsigned long attach_called;	/* those that were called */

static void attach_data_ready(struct sock *sk)
{
	set_bit(ATTACH_READY, &attach_called);
}

static void attach_write_space(struct sock *sk)
{
	set_bit(ATTACH_SPACE, &attach_called);
}

static void attach_state_change(struct sock *sk)
{
	set_bit(ATTACH_CHANGE, &attach_called);
}

static void attach_error_report(struct sock *sk)
{
	set_bit(ATTACH_REPORT, &attach_called);
}

static void attach_own(struct sock *sk)
{
	WRITE_ONCE(attach_called, 0);
	WRITE_ONCE(sk->sk_data_ready, attach_data_ready);
	WRITE_ONCE(sk->sk_write_space, attach_write_space);
	WRITE_ONCE(sk->sk_state_change, attach_state_change);
	WRITE_ONCE(sk->sk_error_report, attach_error_report);
}

/* As TCP does; only sk_data_ready() is easily had from the peer. */
static void attach_call_back(struct sock *sk)
{
	lock_sock(sk);
	sk->sk_write_space(sk);
	sk->sk_state_change(sk);
	sk->sk_error_report(sk);
	release_sock(sk);
}

static void attach_refused(struct conn_test *t, struct socket *sock, int err)
{
	void (*ready)(struct sock *sk) = sock->sk->sk_data_ready;
	void *owner = sock->sk->sk_user_data;

	EXPECT_EQ(t, PTR_ERR_OR_ZERO(mpa_attach(sock, &t->a.params)), err);
	EXPECT_PTR_EQ(t, sock->sk->sk_data_ready, ready);
	EXPECT_PTR_EQ(t, sock->sk->sk_user_data, owner);
}

static void attach_not_tcp(struct conn_test *t)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP,
				   &sock);

	ASSERT_EQ(t, err, 0);
	attach_refused(t, sock, -EPROTOTYPE);
	sock_release(sock);
}

static void attach_not_connected(struct conn_test *t)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
				   IPPROTO_TCP, &sock);

	ASSERT_EQ(t, err, 0);
	attach_refused(t, sock, -ENOTCONN);
	EXPECT_EQ(t, kernel_listen(sock, 1), 0);
	attach_refused(t, sock, -ENOTCONN);
	sock_release(sock);
}

static void attach_user_data(struct conn_test *t)
{
	conn_pair(t);
	t->sock[0]->sk->sk_user_data = t;
	attach_refused(t, t->sock[0], -EBUSY);
	t->sock[0]->sk->sk_user_data = NULL;
}

static int attach_set_ulp(struct conn_test *t)
{
	char name[] = "tls";
	int err;

	err = READ_ONCE(t->sock[0]->ops)->setsockopt(t->sock[0], SOL_TCP,
						     TCP_ULP,
						     KERNEL_SOCKPTR(name),
						     sizeof(name));
	if (err == -ENOENT)
		kunit_skip(t->test, "this kernel has no TLS");
	return err;
}

static void attach_ulp(struct conn_test *t)
{
	conn_pair(t);
	ASSERT_EQ(t, attach_set_ulp(t), 0);
	attach_refused(t, t->sock[0], -EBUSY);
}

/* Another ULP on top would restore MPA's callbacks after the detach. */
static void attach_no_ulp(struct conn_test *t)
{
	conn_attach(t, 0);
	EXPECT_EQ(t, attach_set_ulp(t), -EEXIST);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, attach_set_ulp(t), 0);
}

/* MPA's ULP stays: a process may be reading it. It permits another attach. */
static void attach_ulp_kept(struct conn_test *t)
{
	struct file *file;

	conn_pair(t);
	file = sock_alloc_file(t->sock[0], 0, NULL);
	ASSERT_OK(t, file);
	conn_attach(t, 0);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, attach_set_ulp(t), -EEXIST);
	conn_attach_to(t, &t->b, t->sock[0], 0);
	conn_detach(t, &t->b);
	t->sock[0] = NULL;
	fput(file);
}

static void attach_twice(struct conn_test *t)
{
	conn_attach(t, 0);
	attach_refused(t, t->sock[0], -EBUSY);
	EXPECT_PTR_EQ(t, mpa_conn_socket(t->a.conn), t->sock[0]);
	EXPECT_PTR_EQ(t, mpa_conn_ctx(t->a.conn), &t->a);
}

static void attach_params(struct conn_test *t)
{
	struct mpa_ops no_recv = mpa_consumer_ops;
	struct mpa_ops no_ended = mpa_consumer_ops;
	struct mpa_ops no_released = mpa_consumer_ops;
	const struct mpa_params good = t->a.params, bad[] = {
		{ .ops = NULL },
		{ .ops = good.ops, .rev = MPA_REV_2 + 1 },
		{ .ops = good.ops, .flags = BIT(31) },
		{ .ops = good.ops, .flags = MPA_F_REV0, .rev = MPA_REV_1 },
		{ .ops = &no_recv },
		{ .ops = &no_ended },
		{ .ops = &no_released },
	};
	u32 i;

	no_recv.recv = NULL;
	no_ended.ended = NULL;
	no_released.released = NULL;
	conn_pair(t);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		t->a.params = bad[i];
		attach_refused(t, t->sock[0], -EINVAL);
	}
	t->a.params = good;
}

/* Callbacks that a role needs are checked when the role is taken. */
static void attach_callbacks(struct conn_test *t)
{
	struct mpa_ops ops = *t->a.params.ops;
	struct conn_msg *msg = conn_msg(t, 10);

	ops.request = NULL;
	ops.rejected = NULL;
	ops.sent = NULL;
	t->a.params.ops = &ops;
	conn_attach(t, 0);
	EXPECT_EQ(t, mpa_start_initiator(t->a.conn, NULL, 0), -EINVAL);
	EXPECT_EQ(t, mpa_start_responder(t->a.conn, NULL, 0), -EINVAL);
	EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), -EINVAL);
	conn_detach(t, &t->a);
	t->a.params.ops = &mpa_consumer_ops;
}

/* Before the start MPA reads nothing, and calls the previous callbacks. */
static void attach_untouched(struct conn_test *t)
{
	static const char hello[] = "streaming";
	struct mpa_peer own = {};
	struct sock *sk;

	conn_pair(t);
	own.sock = t->sock[0];
	sk = own.sock->sk;
	attach_own(sk);
	conn_attach(t, 0);

	conn_write(t, hello, 9);
	attach_call_back(sk);
	conn_settle(&t->a);
	EXPECT_EQ(t, READ_ONCE(attach_called), GENMASK(ATTACH_NR - 1, 0));
	conn_expect_left(t, hello, 9);
	EXPECT_EQ(t, mpa_peer_write(&own, hello, 9), 0);
	ASSERT_EQ(t, mpa_peer_read(&t->peer, 9), 0);
	EXPECT_EQ(t, memcmp(t->peer.in, hello, 9), 0);
	t->peer.used = 9;

	conn_start(t, CONN_INITIATOR);
	conn_expect_frame(t, false, PEER_C, 1, NULL, 0);
	conn_peer_frame(t, true, PEER_C, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	conn_detach(t, &t->a);
	EXPECT_PTR_EQ(t, sk->sk_data_ready, &attach_data_ready);
}

static const struct conn_row attach_rows[] = {
	{ "DD-09: not TCP", attach_not_tcp },
	{ "DD-09: not connected, listening", attach_not_connected },
	{ "DD-09: sk_user_data has an owner", attach_user_data },
	{ "DD-09: a ULP is on the socket", attach_ulp },
	{ "no TCP ULP can be set on an attached socket", attach_no_ulp },
	{ "a socket with a file keeps MPA's ULP after detach",
	  attach_ulp_kept },
	{ "DD-09: MPA is attached already", attach_twice },
	{ "CS-08: parameters: callbacks, revision, flags", attach_params },
	{ "parameters: request(), sent()", attach_callbacks },
	{ "CS-01 CS-04 CS-39: nothing is touched before the start",
	  attach_untouched },
};

CONN_ROWS(attach);
