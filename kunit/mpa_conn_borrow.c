// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Another user of an attached socket disconnects it, makes it listen, or
 * reconnects it; and a later owner uses a socket after the detach.
 */
#include <linux/delay.h>
#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/tcp.h>
#include "mpa_conn_ooo.h"

/* What MPA does when the socket is reconnected */
enum conn_borrow {
	BORROW_STARTUP,		/* reads a frame */
	BORROW_BLOCKED,		/* consumes octets of batches, on hold */
	BORROW_DISCARD,		/* discards octets after an error */
};

#define BORROW_UNREAD	100		/* octets of the new stream */

/* Each of the four callbacks of the later owner */
static void borrow_called(struct sock *sk)
{
	u32 *calls = sk->sk_user_data;

	++*calls;
}

/**
 * struct borrow_callbacks - callbacks of a socket
 * @ready: sk_data_ready
 * @space: sk_write_space
 * @change: sk_state_change
 * @report: sk_error_report
 */
struct borrow_callbacks {
	void	(*ready)(struct sock *sk);
	void	(*space)(struct sock *sk);
	void	(*change)(struct sock *sk);
	void	(*report)(struct sock *sk);
};

static void borrow_save(const struct sock *sk, struct borrow_callbacks *cb)
{
	cb->ready = sk->sk_data_ready;
	cb->space = sk->sk_write_space;
	cb->change = sk->sk_state_change;
	cb->report = sk->sk_error_report;
}

static void borrow_set(struct sock *sk, const struct borrow_callbacks *cb,
		       void *data)
{
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, cb->ready);
	WRITE_ONCE(sk->sk_write_space, cb->space);
	WRITE_ONCE(sk->sk_state_change, cb->change);
	WRITE_ONCE(sk->sk_error_report, cb->report);
	sk->sk_user_data = data;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

static const struct borrow_callbacks borrow_owner = {
	borrow_called, borrow_called, borrow_called, borrow_called,
};

/*
 * A caller without a lock reads a callback of MPA before the detach, and calls
 * it once the socket has another owner: the owner's callback is called.
 * sk_data_ready() is called with the socket locked only.
 */
static void borrow_late_callbacks(struct conn_test *t)
{
	struct borrow_callbacks ours, orig;
	struct sock *sk;
	u32 *calls;

	calls = kunit_kzalloc(t->test, sizeof(struct mpa_conn), GFP_KERNEL);
	ASSERT_NOT_NULL(t, calls);
	conn_default(t);
	sk = t->sock[0]->sk;
	borrow_save(sk, &ours);
	conn_detach(t, &t->a);
	mpa_barrier();

	borrow_save(sk, &orig);
	borrow_set(sk, &borrow_owner, calls);
	ours.report(sk);
	EXPECT_EQ(t, *calls, 1);
	ours.change(sk);
	EXPECT_EQ(t, *calls, 2);
	ours.space(sk);
	EXPECT_EQ(t, *calls, 3);
	lock_sock(sk);
	ours.ready(sk);
	release_sock(sk);
	EXPECT_EQ(t, *calls, 4);
	borrow_set(sk, &orig, NULL);
}

/* A disconnected socket gets another owner before the detach. */
static void borrow_other_owner(struct conn_test *t)
{
	struct borrow_callbacks orig, now;
	struct sock *sk;
	u32 *calls;

	calls = kunit_kzalloc(t->test, sizeof(*calls), GFP_KERNEL);
	ASSERT_NOT_NULL(t, calls);
	conn_pair(t);
	sk = t->sock[0]->sk;
	borrow_save(sk, &orig);
	conn_default(t);
	ASSERT_EQ(t, conn_disconnect(t->sock[0]), 0);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	borrow_set(sk, &borrow_owner, calls);
	WRITE_ONCE(sk->sk_rcvlowat, 7);
	sk->sk_allocation = GFP_NOIO;
	sk->sk_use_task_frag = false;
	conn_detach(t, &t->a);
	mpa_barrier();
	borrow_save(sk, &now);
	EXPECT_EQ(t, 0, memcmp(&now, &borrow_owner, sizeof(now)));
	EXPECT_PTR_EQ(t, sk->sk_user_data, calls);
	EXPECT_EQ(t, sk->sk_rcvlowat, 7);
	EXPECT_TRUE(t, sk->sk_allocation == GFP_NOIO);
	EXPECT_FALSE(t, sk->sk_use_task_frag);
	borrow_set(sk, &orig, NULL);
}

/*
 * Socket lock held. Reconnects the socket and receives BORROW_UNREAD octets.
 * The new peer does not exist: TCP_REPAIR makes TCP assume it, and the octets.
 */
static int borrow_reconnect(struct conn_test *t)
{
	struct kvec iov = { .iov_base = t->pool, .iov_len = BORROW_UNREAD };
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(9),
	};
	struct socket *sock = t->sock[0];
	struct tcp_sock *tp = tcp_sk(sock->sk);
	struct msghdr msg = {};
	int err;

	err = __inet_stream_connect(sock, mpa_sockaddr(&nowhere),
				    sizeof(nowhere), 0, 0);
	tp->repair = 1;
	err = err ?: __inet_stream_connect(sock, mpa_sockaddr(&sin),
					   sizeof(sin), O_NONBLOCK, 0);
	tp->repair_queue = TCP_RECV_QUEUE;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, BORROW_UNREAD);
	err = err ?: tcp_sendmsg_locked(sock->sk, &msg, BORROW_UNREAD);
	tp->repair = 0;
	return err;
}

/*
 * Socket lock held; releases it. While the work item waits for the lock,
 * another user reconnects the socket.
 */
static void borrow_reconnect_waiting(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;
	bool waits = CONN_UNTIL(wq_has_sleeper(&sk->sk_lock.wq));
	int n = borrow_reconnect(t);

	release_sock(sk);
	ASSERT_TRUE(t, waits);
	ASSERT_EQ(t, n, BORROW_UNREAD);
}

/* The socket is reconnected at the moment when the work item unlocks it. */
static void borrow_release_cb(struct sock *sk)
{
	struct conn_test *t = container_of(sk->sk_prot, struct conn_test,
					   helper.held);

	WRITE_ONCE(sk->sk_prot, t->helper.prot);
	set_bit(MPA_CONN_GONE, &t->a.conn->flags);
	t->helper.prot->release_cb(sk);
}

/*
 * Reconnected after the work item has looked for octets in order: it does not
 * search after holes in the new stream, where it would find a bad FPDU.
 */
static void borrow_search(struct conn_test *t)
{
	struct conn_sock *s = &t->helper;
	unsigned long bad;
	struct sock *sk;

	gap_default(t);
	gap_fpdus(t, 2, 700);
	gap_alter(t, 1, 2);
	conn_settle(&t->a);
	bad = conn_counter(t, MPA_MIB_OOO_BAD);
	sk = t->sock[0]->sk;
	s->prot = READ_ONCE(sk->sk_prot);
	s->held = *s->prot;
	s->held.release_cb = borrow_release_cb;
	WRITE_ONCE(sk->sk_prot, &s->held);
	gap_put(t, gap_at(t, 1), t->buf_len);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_OOO_BAD), bad);
}

/* Bring the connection to the point where the next round does @at. */
static void borrow_prepare(struct conn_test *t, enum conn_borrow at)
{
	u32 i;

	switch (at) {
	case BORROW_STARTUP:
		conn_begin(t, CONN_RESPONDER, 0);
		break;
	case BORROW_BLOCKED:
		conn_default(t);
		t->a.keep = true;
		/* One batch is put before the reconnect, one is kept. */
		for (i = 1; i <= 2; i++) {
			conn_peer_send(t, 10);
			CONN_WAIT(t, &t->a, EV_ULPDUS, i);
		}
		mpa_hold(t->a.conn);
		conn_peer_send(t, 10);
		break;
	case BORROW_DISCARD:
		conn_default(t);
		conn_fpdu(t, 10);
		t->buf[t->buf_len - 1] ^= 1;
		conn_flush(t);
		CONN_WAIT(t, &t->a, EV_ENDED, 1);
		break;
	}
	conn_settle(&t->a);
}

/* A pending FIN is not sent in the new stream. */
static void borrow_fin(struct conn_test *t)
{
	struct sock *sk;

	conn_default(t);
	conn_settle(&t->a);
	sk = t->sock[0]->sk;
	lock_sock(sk);
	/* As mpa_shutdown(), but only mpa_detach() queues the work item. */
	set_bit(MPA_CONN_SHUTDOWN, &t->a.conn->flags);
	mpa_detach(t->a.conn);
	borrow_reconnect_waiting(t);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, sk->sk_state, TCP_ESTABLISHED);
	EXPECT_EQ(t, sk->sk_shutdown, 0);
}

/*
 * The socket is reconnected while the work item waits for its lock: no octet of
 * the new stream is consumed, then or later.
 */
static void borrow_reconnected(struct conn_test *t)
{
	enum conn_borrow at = conn_arg(t);
	struct sock *sk;

	borrow_prepare(t, at);
	sk = t->sock[0]->sk;
	lock_sock(sk);
	if (at == BORROW_BLOCKED)
		mpa_consumer_put(&t->a, 0);
	else
		mpa_kick(t->a.conn);
	borrow_reconnect_waiting(t);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, conn_unread(t), BORROW_UNREAD);
	conn_detach(t, &t->a);
	mpa_barrier();
	EXPECT_EQ(t, conn_unread(t), BORROW_UNREAD);
}

static const struct conn_row borrow_rows[] = {
	{ "callbacks read before the detach, called after it",
	  borrow_late_callbacks },
	{ "disconnected, then callbacks of another owner", borrow_other_owner },
	{ "reconnected: MPA searches after holes", borrow_search },
	{ "reconnected: MPA sends its FIN", borrow_fin },
	{ "reconnected: MPA reads a frame",
	  borrow_reconnected, BORROW_STARTUP },
	{ "reconnected: MPA consumes on hold",
	  borrow_reconnected, BORROW_BLOCKED },
	{ "reconnected: MPA discards after an error",
	  borrow_reconnected, BORROW_DISCARD },
};

CONN_ROWS(borrow);
