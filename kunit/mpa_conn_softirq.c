// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * recv() and its answer in softirq, and what is left to the work item, which
 * does the same with BH off.
 */
#include <linux/delay.h>
#include <linux/net.h>
#include <linux/sched/task.h>
#include <linux/tcp.h>
#include "mpa_conn_test.h"
#include "mpa_tx_train.h"

/* As conn_default() */
static void softirq_open(struct conn_test *t)
{
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_M | PEER_C);
	mpa_allow_softirq(t->a.conn);
	mpa_resume(t->a.conn);
	conn_settle(&t->a);
}

/* Expect that @nr ULPDUs have arrived, and @calls of recv() came in softirq. */
static void softirq_expect(struct conn_test *t, u32 nr, u32 calls)
{
	conn_expect_rx(t, &t->a, nr);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.softirqs, calls);
	EXPECT_EQ(t, conn_unread(t), 0);
	EXPECT_EQ(t, t->a.overlaps, 0);
}

static void softirq_plain(struct conn_test *t)
{
	softirq_open(t);
	conn_peer_send(t, 100);
	softirq_expect(t, 1, 1);
	conn_fpdu(t, 600);
	conn_fpdu(t, 1);
	conn_peer_send(t, 9000);
	softirq_expect(t, 4, 2);
}

static void softirq_parts(struct conn_test *t)
{
	u32 i, size;

	softirq_open(t);
	size = conn_fpdu(t, 3000);
	for (i = 0; i < size; i += 1000) {
		CONN_COUNT(t, &t->a, EV_RECV, 0);
		conn_write(t, t->buf + i, min(1000u, size - i));
		conn_settle(&t->a);
	}
	softirq_expect(t, 1, 1);
}

static void softirq_long(struct conn_test *t)
{
	softirq_open(t);
	conn_peer_send(t, MPA_SOFTIRQ_OCTETS);
	softirq_expect(t, 1, 0);
	conn_peer_send(t, 100);
	softirq_expect(t, 2, 1);
}

static void softirq_hold(struct conn_test *t)
{
	softirq_open(t);
	mpa_hold(t->a.conn);
	conn_peer_send(t, 100);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
	mpa_resume(t->a.conn);
	softirq_expect(t, 1, 0);
}

/* The timer has fired: after a hole, or for lack of memory. */
static void softirq_timer(struct conn_test *t)
{
	softirq_open(t);
	mod_timer(&t->a.conn->timer, jiffies);
	ASSERT_TRUE(t, CONN_UNTIL(mpa_conn_test(t->a.conn, MPA_CONN_TIMEOUT)));
	conn_settle(&t->a);
	conn_peer_send(t, 100);
	softirq_expect(t, 1, 1);
}

/* The work item sends what a Responder had to hold back. */
static void softirq_first(struct conn_test *t)
{
	conn_full(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_M | PEER_C);
	mpa_allow_softirq(t->a.conn);
	mpa_resume(t->a.conn);
	conn_post(t, 100);
	conn_settle(&t->a);
	conn_peer_send(t, 100);
	conn_expect_tx(t, 100);
	softirq_expect(t, 1, 0);
	conn_peer_send(t, 100);
	softirq_expect(t, 2, 1);
}

/* An FPDU, and one with a wrong CRC: ended() comes in the work item. */
static void softirq_bad(struct conn_test *t)
{
	softirq_open(t);
	conn_fpdu(t, 100);
	conn_fpdu(t, 100);
	t->buf[t->buf_len - 1] ^= 1;
	conn_flush(t);
	conn_expect_rx(t, &t->a, 1);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	EXPECT_EQ(t, t->a.softirqs, 1);
}

static void softirq_fin(struct conn_test *t)
{
	softirq_open(t);
	conn_peer_send(t, 100);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_rx(t, &t->a, 1);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	EXPECT_EQ(t, t->a.softirqs, 1);
}

static void softirq_reply(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_RECV)
		c->hook_err = mpa_send(c->conn, &conn_msg(t, 100)->tx);
}

/* What recv() posts, and what becomes of it */
struct softirq_answer {
	u32	len[2];		/* of ULPDUs, each posted by a call */
	u32	flags;		/* MPA_TX_* */
	u32	zerocopy_min;	/* net.mpa.zerocopy_min */
	bool	source;
	bool	now;		/* mpa_send_now() */
	bool	refused;	/* mpa_allow_softirq_send() was not called */
	bool	here;		/* sent() comes in softirq */
};

static void softirq_allow_send(struct mpa_consumer *c)
{
	mpa_allow_softirq_send(c->conn);
	c->sends_here = true;
}

static void softirq_open_send(struct conn_test *t)
{
	/* So that the EMSS does not follow the peer's window */
	if (!t->opts.maxseg)
		t->opts.maxseg = 1460;
	softirq_open(t);
	softirq_allow_send(&t->a);
}

static void softirq_hook_answer(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);
	const struct softirq_answer *answer = conn_data(t);
	struct conn_msg *msg;
	u32 i, len;

	for (i = 0; ev == EV_RECV && i < 2 && answer->len[i]; i++) {
		len = answer->len[i];
		msg = answer->source ? conn_source(t, len - CONN_HDR) :
				       conn_msg(t, len);
		msg->tx.flags |= answer->flags;
		c->hook_err |= answer->now ? mpa_send_now(c->conn, &msg->tx) :
					     mpa_send(c->conn, &msg->tx);
	}
}

static void softirq_answers(struct conn_test *t)
{
	const struct softirq_answer *answer = conn_data(t);
	u32 nr = answer->len[1] ? 2 : 1, i, round;
	unsigned long copied;
	gfp_t allocation;

	if (answer->refused)
		softirq_open(t);
	else
		softirq_open_send(t);
	WRITE_ONCE(t->mn->zerocopy_min, answer->zerocopy_min);
	copied = conn_counter(t, MPA_MIB_TX_COPIED);
	allocation = t->sock[0]->sk->sk_allocation;
	t->a.hook = softirq_hook_answer;
	for (round = 1; round <= 3; round++) {
		conn_peer_send(t, 100);
		for (i = 0; i < nr; i++)
			conn_expect_tx(t, answer->len[i]);
		conn_expect_done(t, &t->a, round * nr, 0);
		softirq_expect(t, round, round);
		EXPECT_EQ(t, t->a.sent_here, answer->here ? round : 0);
	}
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_COPIED) - copied,
		  answer->flags & MPA_TX_ZEROCOPY ? 3 : 0);
	EXPECT_TRUE(t, t->sock[0]->sk->sk_allocation == allocation);
	EXPECT_EQ(t, t->a.hook_err, 0);
}

/* TCP still has octets that are past the peer's window. */
static void softirq_no_room(struct conn_test *t)
{
	conn_buffers(t, 4096, 200000);
	softirq_open_send(t);
	conn_post(t, 60000);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_DONE, 1);
	t->a.hook = softirq_reply;
	conn_peer_send(t, 100);
	softirq_expect(t, 1, 1);
	EXPECT_EQ(t, t->a.sent_here, 0);
	conn_expect_tx(t, 60000);
	conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 2, 0);
}

/* MPA_TX_HERE_EMSS: so that no FPDU is more than a few segments */
static void softirq_low_emss(struct conn_test *t)
{
	t->opts.maxseg = 400;
	softirq_open_send(t);
	t->a.hook = softirq_reply;
	conn_peer_send(t, 100);
	conn_expect_tx(t, 100);
	softirq_expect(t, 1, 1);
	EXPECT_EQ(t, t->a.sent_here, 0);
}

/* A task that has locked the socket passes what has come, when it unlocks. */
static void softirq_backlog(struct conn_test *t)
{
	softirq_open_send(t);
	t->a.hook = softirq_reply;
	mpa_peer_own(t->sock[0]->sk);
	conn_peer_send(t, 100);
	EXPECT_TRUE(t, CONN_UNTIL(READ_ONCE(t->sock[0]->sk->sk_backlog.tail)));
	CONN_COUNT(t, &t->a, EV_RECV, 0);
	mpa_peer_disown(t->sock[0]->sk);
	CONN_COUNT(t, &t->a, EV_DONE, 1);
	conn_expect_tx(t, 100);
	softirq_expect(t, 1, 1);
	EXPECT_EQ(t, t->a.sent_here, 1);
}

static void softirq_hook_chain(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_RECV || (ev == EV_SENT && t->nr_msg < 10))
		c->hook_err |= mpa_send(c->conn, &conn_msg(t, 100)->tx);
}

/*
 * A message that sent() posts is left to the work item: no loop in softirq, nor
 * with BH off, in which each run of the work item sends one. At least two
 * rounds follow.
 */
static void softirq_chain(struct conn_test *t)
{
	u32 i;

	softirq_open_send(t);
	t->a.hook = softirq_hook_chain;
	conn_peer_send(t, 100);
	for (i = 0; i < 10; i++)
		conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 10, 0);
	EXPECT_GE(t, t->a.sent_here, 2);
	EXPECT_LE(t, t->a.sent_here, 4);
	EXPECT_EQ(t, t->a.hook_err, 0);
}

/* A task sends a short ULPDU, by the work item or itself. */
static void softirq_task(struct conn_test *t)
{
	struct sock *sk;
	u32 i;

	softirq_open_send(t);
	sk = t->sock[0]->sk;
	for (i = 1; i <= 3; i++) {
		if (conn_arg(t))
			EXPECT_EQ(t, mpa_send_now(t->a.conn,
						  &conn_msg(t, 100)->tx), 0);
		else
			conn_post(t, 100);
		conn_expect_tx(t, 100);
		conn_expect_done(t, &t->a, i, 0);
		/* Until TCP has the ACK a task leaves all to the work item. */
		EXPECT_TRUE(t, CONN_UNTIL(!tcp_sk(sk)->packets_out));
		conn_settle(&t->a);
	}
	EXPECT_EQ(t, t->a.sent_here, 3);
}

/* Another user of the socket has locked it. */
static void softirq_locked(struct conn_test *t)
{
	softirq_open_send(t);
	mpa_peer_own(t->sock[0]->sk);
	conn_post(t, 100);
	msleep(20);
	CONN_COUNT(t, &t->a, EV_DONE, 0);
	mpa_peer_disown(t->sock[0]->sk);
	conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 1, 0);
	EXPECT_EQ(t, t->a.sent_here, 0);
}

/* One run of the work item finds octets, and a message. */
static void softirq_missed(struct conn_test *t)
{
	softirq_open_send(t);
	ASSERT_NULL(t, cmpxchg(&t->a.conn->runner, NULL, &init_task));
	conn_peer_send(t, 100);
	conn_post(t, 100);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
	xchg(&t->a.conn->runner, NULL);
	mpa_kick(t->a.conn);
	conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 1, 0);
	softirq_expect(t, 1, 1);
	EXPECT_EQ(t, t->a.sent_here, 1);
}

static void softirq_hook_drop(struct mpa_consumer *c, enum consumer_event ev)
{
	struct mpa_tx_ubuf *ubuf;

	if (ev != EV_RECV)
		return;
	ubuf = list_first_entry(&c->conn->tx.ubufs, struct mpa_tx_ubuf, list);
	net_zcopy_put(&ubuf->info);
}

/* The last page of a message goes while recv() runs. */
static void softirq_zerocopy_done(struct conn_test *t)
{
	struct ubuf_info *ubuf;

	softirq_open_send(t);
	ubuf = conn_hold_message(t, &t->a, t->peer.sock);
	conn_expect_tx(t, 500);
	EXPECT_TRUE(t, CONN_UNTIL(refcount_read(&ubuf->refcnt) == 1));
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_DONE, 0);
	t->a.hook = softirq_hook_drop;
	conn_peer_send(t, 100);
	conn_expect_done(t, &t->a, 1, 0);
	softirq_expect(t, 1, 1);
}

enum { SOFTIRQ_ABORT, SOFTIRQ_DETACH, SOFTIRQ_SHUTDOWN };

static void softirq_hook_end(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	softirq_reply(c, ev);
	if (ev != EV_RECV)
		return;
	if (conn_arg(t) == SOFTIRQ_ABORT)
		mpa_abort(c->conn);
	else if (conn_arg(t) == SOFTIRQ_DETACH)
		conn_leave(c);
	else
		c->hook_err = mpa_shutdown(c->conn);
}

/* recv() answers, and ends the connection: the work item sees to both. */
static void softirq_ends(struct conn_test *t)
{
	softirq_open_send(t);
	t->a.hook = softirq_hook_end;
	conn_peer_send(t, 100);
	if (conn_arg(t) == SOFTIRQ_SHUTDOWN) {
		conn_expect_tx(t, 100);
		conn_expect_fin(t);
		conn_expect_done(t, &t->a, 1, 0);
	} else {
		CONN_WAIT(t, &t->a, conn_arg(t) == SOFTIRQ_ABORT ? EV_CLOSED :
			  EV_RELEASED, 1);
		conn_expect_done(t, &t->a, 1, -ECANCELED);
	}
	EXPECT_EQ(t, t->a.softirqs, 1);
	EXPECT_EQ(t, t->a.sent_here, 0);
}

static void softirq_hook_memalloc(struct mpa_consumer *c,
				  enum consumer_event ev)
{
	if (ev == EV_RECV)
		c->hook_err = conn_may_wait();
}

/*
 * An allocation of recv() may use the memory reserves, also in softirq, but not
 * if the socket may not (@arg).
 */
static void softirq_memalloc(struct conn_test *t)
{
	struct sock *sk;

	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS | MPA_F_MEMALLOC,
		  PEER_M | PEER_C);
	sk = t->sock[0]->sk;
	lock_sock(sk);
	if (conn_arg(t))
		sk->sk_allocation |= __GFP_NOMEMALLOC;
	release_sock(sk);
	mpa_allow_softirq(t->a.conn);
	mpa_resume(t->a.conn);
	conn_settle(&t->a);
	t->a.hook = softirq_hook_memalloc;
	conn_peer_send(t, 100);
	softirq_expect(t, 1, 1);
	EXPECT_EQ(t, t->a.hook_err, conn_arg(t));
	EXPECT_TRUE(t, conn_may_wait());
}

static void softirq_leaves(struct conn_test *t)
{
	softirq_open(t);
	t->a.hook = conn_hook_leave;
	conn_peer_send(t, 100);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	EXPECT_EQ(t, t->a.softirqs, 1);
	EXPECT_EQ(t, conn_unread(t), 0);
}

/* Octets that the consumer keeps are consumed after mpa_rx_put(). */
static void softirq_keep(struct conn_test *t)
{
	softirq_open(t);
	t->a.keep = true;
	conn_peer_send(t, 100);
	conn_peer_send(t, 5000);
	conn_expect_rx(t, &t->a, 2);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_unread(t), t->out_pos);
	mpa_consumer_put_all(&t->a);
	softirq_expect(t, 2, 2);
}

/*
 * Others use up the memory of the namespace, and give it back: then octets are
 * passed as before.
 */
static void softirq_limited(struct conn_test *t)
{
	softirq_open_send(t);
	t->a.keep = true;
	conn_peer_send(t, 100);
	conn_expect_rx(t, &t->a, 1);
	conn_use_up(t);
	conn_peer_send(t, 100);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_RECV, 1);
	conn_give_back(t);
	conn_expect_rx(t, &t->a, 2);
	conn_settle(&t->a);
	conn_peer_send(t, 100);
	conn_expect_rx(t, &t->a, 3);
	mpa_consumer_put_all(&t->a);
}

enum { SOFTIRQ_ASK_DETACH, SOFTIRQ_ASK_RESUME, SOFTIRQ_ASK_PUT };

static void softirq_hook_ask(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev != EV_SENT)
		return;
	if (conn_arg(t) == SOFTIRQ_ASK_DETACH)
		conn_leave(c);
	else if (conn_arg(t) == SOFTIRQ_ASK_RESUME)
		mpa_resume(c->conn);
	else
		mpa_consumer_put_all(c);
}

/*
 * sent(), called in mpa_send_now(), asks for what only the work item does:
 * conn_arg() says what.
 */
static void softirq_asks(struct conn_test *t)
{
	softirq_open_send(t);
	t->a.keep = true;
	if (conn_arg(t) == SOFTIRQ_ASK_RESUME)
		mpa_hold(t->a.conn);
	conn_peer_send(t, 100);
	conn_settle(&t->a);
	t->a.hook = softirq_hook_ask;
	EXPECT_EQ(t, mpa_send_now(t->a.conn, &conn_msg(t, 100)->tx), 0);
	conn_expect_tx(t, 100);
	if (conn_arg(t) == SOFTIRQ_ASK_DETACH)
		CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	else if (conn_arg(t) == SOFTIRQ_ASK_RESUME)
		conn_expect_rx(t, &t->a, 1);
	else
		EXPECT_TRUE(t, CONN_UNTIL(!conn_unread(t)));
	mpa_consumer_put_all(&t->a);
}

/* Each ULPDU is answered, up to the number of messages that a test has. */
static void softirq_bounce(struct conn_test *t, struct mpa_consumer *c)
{
	struct conn_msg *msg;

	spin_lock_bh(&t->a.lock);
	msg = t->nr_msg < CONN_MSGS ? conn_msg(t, 1 + t->nr_msg) : NULL;
	spin_unlock_bh(&t->a.lock);
	if (msg)
		c->hook_err |= mpa_send(c->conn, &msg->tx);
}

static void softirq_bounce_a(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev == EV_RECV)
		softirq_bounce(container_of(c, struct conn_test, a), c);
}

static void softirq_bounce_b(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev == EV_RECV)
		softirq_bounce(container_of(c, struct conn_test, b), c);
}

/* Softirq and work item of one connection, and of its peer, in any order */
static void softirq_sibling(struct conn_test *t)
{
	u32 i;

	conn_two(t, 0, 0);
	mpa_allow_softirq(t->a.conn);
	mpa_allow_softirq(t->b.conn);
	for (i = 0; i < 100; i++)
		conn_post(t, 64 * i + 1);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 100);
	EXPECT_EQ(t, t->b.disorder, 0);
	EXPECT_EQ(t, t->b.overlaps, 0);
}

static void softirq_open_two(struct conn_test *t)
{
	conn_two(t, 0, 0);
	mpa_allow_softirq(t->a.conn);
	mpa_allow_softirq(t->b.conn);
	softirq_allow_send(&t->a);
	softirq_allow_send(&t->b);
}

/* Both ends answer, until all messages that a test has were passed. */
static void softirq_bounce_all(struct conn_test *t)
{
	t->a.hook = softirq_bounce_a;
	t->b.hook = softirq_bounce_b;
	conn_post(t, 1);
	ASSERT_TRUE(t, CONN_UNTIL(mpa_consumer_count(&t->a, EV_ULPDUS) +
				  mpa_consumer_count(&t->b, EV_ULPDUS) ==
				  CONN_MSGS));
}

/* Both ends answer, mostly in softirq. */
static void softirq_pingpong(struct conn_test *t)
{
	softirq_open_two(t);
	softirq_bounce_all(t);
	ASSERT_TRUE(t, CONN_UNTIL(mpa_consumer_count(&t->a, EV_DONE) +
				  mpa_consumer_count(&t->b, EV_DONE) ==
				  CONN_MSGS));
	conn_settle(&t->a);
	conn_settle(&t->b);
	EXPECT_EQ(t, t->a.hook_err | t->b.hook_err, 0);
	EXPECT_EQ(t, t->a.disorder + t->b.disorder, 0);
	EXPECT_EQ(t, t->a.overlaps + t->b.overlaps, 0);
	EXPECT_GT(t, t->a.sent_here + t->b.sent_here, 0);
}

/*
 * On one host, too, answers are passed in softirq: what a work item sends, with
 * BH off, is received when its run has ended.
 */
static void softirq_stays(struct conn_test *t)
{
	u32 tasks;

	softirq_open_two(t);
	/* The first FPDU to a Responder is left to its work item. */
	conn_post(t, 1);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 1);
	conn_settle(&t->a);
	conn_settle(&t->b);
	tasks = t->a.recv_tasks + t->b.recv_tasks;
	softirq_bounce_all(t);
	conn_settle(&t->a);
	conn_settle(&t->b);
	EXPECT_EQ(t, t->a.recv_tasks + t->b.recv_tasks, tasks);
}

static const struct softirq_answer softirq_one = {
	.len = { 100 }, .here = true,
};

static const struct softirq_answer softirq_now = {
	.len = { 100 }, .now = true, .here = true,
};

static const struct softirq_answer softirq_short = {
	.len = { 256 }, .here = true,
};

static const struct softirq_answer softirq_not_short = { .len = { 257 } };

static const struct softirq_answer softirq_two = { .len = { 100, 50 } };

static const struct softirq_answer softirq_source = {
	.len = { 100 }, .source = true,
};

static const struct softirq_answer softirq_zerocopy = {
	.len = { 100 }, .flags = MPA_TX_ZEROCOPY,
};

static const struct softirq_answer softirq_few = {
	.len = { 100 }, .flags = MPA_TX_ZEROCOPY, .zerocopy_min = 100,
	.here = true,
};

static const struct softirq_answer softirq_refused = {
	.len = { 100 }, .refused = true,
};

static const struct conn_row softirq_rows[] = {
	{ "recv() in softirq", softirq_plain },
	{ "an FPDU in parts", softirq_parts },
	{ "more than MPA_SOFTIRQ_OCTETS", softirq_long },
	{ "on hold", softirq_hold },
	{ "after the timer", softirq_timer },
	{ "CS-29 the first FPDU", softirq_first },
	{ "a wrong CRC", softirq_bad },
	{ "a FIN", softirq_fin },
	{ "recv() sends, the work item as well", softirq_answers,
	  .data = &softirq_refused },
	{ "recv() sends in softirq", softirq_answers, .data = &softirq_one },
	{ "recv() sends at once", softirq_answers, .data = &softirq_now },
	{ "recv() sends 256 octets", softirq_answers, .data = &softirq_short },
	{ "recv() sends 257 octets", softirq_answers,
	  .data = &softirq_not_short },
	{ "recv() sends two ULPDUs", softirq_answers, .data = &softirq_two },
	{ "recv() sends a source", softirq_answers, .data = &softirq_source },
	{ "recv() sends by zero copy", softirq_answers,
	  .data = &softirq_zerocopy },
	{ "recv() sends too few octets for zero copy", softirq_answers,
	  .data = &softirq_few },
	{ "recv() sends while TCP has no room", softirq_no_room },
	{ "recv() sends at an EMSS of 400", softirq_low_emss },
	{ "recv() sends, called from the backlog", softirq_backlog },
	{ "sent() sends", softirq_chain },
	{ "a task posts", softirq_task },
	{ "a task sends at once", softirq_task, true },
	{ "a task posts while another has the socket", softirq_locked },
	{ "octets and a message in one run", softirq_missed },
	{ "the last page is dropped in recv()", softirq_zerocopy_done },
	{ "recv() sends and aborts", softirq_ends, SOFTIRQ_ABORT },
	{ "recv() sends and detaches", softirq_ends, SOFTIRQ_DETACH },
	{ "recv() sends and shuts down", softirq_ends, SOFTIRQ_SHUTDOWN },
	{ "recv() detaches", softirq_leaves },
	{ "MPA_F_MEMALLOC", softirq_memalloc },
	{ "MPA_F_MEMALLOC, __GFP_NOMEMALLOC", softirq_memalloc, true },
	{ "the consumer keeps octets", softirq_keep },
	{ "others use up the memory", softirq_limited },
	{ "sent() at once detaches", softirq_asks, SOFTIRQ_ASK_DETACH },
	{ "sent() at once resumes", softirq_asks, SOFTIRQ_ASK_RESUME },
	{ "sent() at once puts", softirq_asks, SOFTIRQ_ASK_PUT },
	{ "both ends at once", softirq_sibling },
	{ "both ends answer", softirq_pingpong },
	{ "answers on one host stay in softirq", softirq_stays },
};

CONN_ROWS(softirq);
