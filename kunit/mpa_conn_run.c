// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer with its own send queue: run(), mpa_kick(), mpa_kick_now() and
 * long sources.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/net.h>
#include "mpa_conn_test.h"

enum run_context {
	RUN_TASK,
	RUN_BH_OFF,
	RUN_IRQS_OFF,
	RUN_HARD_IRQ,
	RUN_NOW,	/* mpa_kick_now() */
};

enum {
	RUN_AGAIN	= 100,
	RUN_ULPDUS	= 200,
	RUN_LONG_ULPDUS	= 135000,
};

static u32 run_calls(const struct conn_test *t)
{
	return READ_ONCE(t->run.calls);
}

static void run_kick(struct conn_test *t)
{
	if (conn_arg(t) == RUN_NOW)
		mpa_kick_now(t->a.conn);
	else
		mpa_kick(t->a.conn);
}

static void run_run(struct mpa_conn *conn)
{
	struct mpa_consumer *c = mpa_conn_ctx(conn);
	struct conn_test *t = container_of(c, struct conn_test, a);
	struct conn_msg *msg = READ_ONCE(t->run.msg);

	if (atomic_inc_return(&c->inside) != 1)
		c->overlaps++;
	if (READ_ONCE(c->detached) || c->count[EV_CLOSED])
		c->late++;
	if (msg) {
		WRITE_ONCE(t->run.msg, NULL);
		c->hook_err = mpa_send(conn, &msg->tx);
	}
	if (t->run.more) {
		t->run.more--;
		run_kick(t);
	}
	if (t->run.hook)
		t->run.hook(t);
	if (READ_ONCE(t->run.leave))
		conn_leave(c);
	atomic_dec(&c->inside);
	t->run.task = current;
	WRITE_ONCE(t->run.calls, t->run.calls + 1);
}

static void run_init(struct conn_test *t)
{
	t->run.ops = mpa_consumer_ops;
	t->run.ops.run = run_run;
	t->a.params.ops = &t->run.ops;
}

/* A connection in full operation with nothing to do. */
static void run_open(struct conn_test *t)
{
	run_init(t);
	conn_default(t);
	conn_settle(&t->a);
}

struct run_irq {
	struct irq_work	work;
	struct mpa_conn	*conn;
	bool		hard;
};

static void run_irq(struct irq_work *work)
{
	struct run_irq *irq = container_of(work, struct run_irq, work);

	irq->hard = in_hardirq();
	mpa_kick(irq->conn);
}

static void run_kick_hard(struct conn_test *t, struct mpa_conn *conn)
{
	struct run_irq irq = {
		.work	= IRQ_WORK_INIT_HARD(run_irq),
		.conn	= conn,
	};

	ASSERT_TRUE(t, irq_work_queue(&irq.work));
	irq_work_sync(&irq.work);
	EXPECT_TRUE(t, irq.hard);
}

/* Each call of mpa_kick() is followed by one of run(). */
static void run_contexts(struct conn_test *t)
{
	unsigned long flags;
	u32 i, before;

	run_open(t);
	for (i = 0; i < 3; i++) {
		before = run_calls(t);
		switch (conn_arg(t)) {
		case RUN_TASK:
			mpa_kick(t->a.conn);
			break;
		case RUN_BH_OFF:
			local_bh_disable();
			mpa_kick(t->a.conn);
			local_bh_enable();
			break;
		case RUN_IRQS_OFF:
			local_irq_save(flags);
			mpa_kick(t->a.conn);
			local_irq_restore(flags);
			break;
		case RUN_HARD_IRQ:
			run_kick_hard(t, t->a.conn);
			break;
		}
		ASSERT_TRUE(t, CONN_UNTIL(run_calls(t) > before));
		conn_settle(&t->a);
	}
}

/* What run() posts is sent without another kick. */
static void run_posts(struct conn_test *t)
{
	u32 before;

	run_open(t);
	WRITE_ONCE(t->run.msg, conn_msg(t, 100));
	before = run_calls(t);
	mpa_kick(t->a.conn);
	conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 1, 0);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.hook_err, 0);
	/* The round that has sent it, and one because mpa_send() asks for it */
	EXPECT_LE(t, run_calls(t) - before, 2);
}

/* A run() that kicks comes again each time, and then no more. */
static void run_again(struct conn_test *t)
{
	u32 before;

	run_open(t);
	before = run_calls(t);
	t->run.more = RUN_AGAIN;
	run_kick(t);
	ASSERT_TRUE(t, CONN_UNTIL(run_calls(t) - before > RUN_AGAIN));
	conn_settle(&t->a);
	EXPECT_EQ(t, run_calls(t) - before, RUN_AGAIN + 1);
}

/* Not before full operation, then without another kick. */
static void run_early(struct conn_test *t)
{
	run_init(t);
	conn_attach(t, 0);
	run_kick(t);
	conn_settle(&t->a);
	EXPECT_EQ(t, run_calls(t), 0);
	conn_full(t, CONN_IMMEDIATE, 0, 0);
	EXPECT_TRUE(t, CONN_UNTIL(run_calls(t)));
}

/* On hold, and when the receive half has ended */
static void run_halves(struct conn_test *t)
{
	u32 before;

	run_open(t);
	mpa_hold(t->a.conn);
	before = run_calls(t);
	run_kick(t);
	EXPECT_TRUE(t, CONN_UNTIL(run_calls(t) > before));

	mpa_resume(t->a.conn);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	CONN_WAIT(t, &t->a, EV_ENDED, 1);
	conn_settle(&t->a);
	before = run_calls(t);
	run_kick(t);
	EXPECT_TRUE(t, CONN_UNTIL(run_calls(t) > before));
}

static void run_shut(struct conn_test *t)
{
	mpa_shutdown(t->a.conn);
}

/* A run() that closes its half each time is not called for that. */
static void run_shuts(struct conn_test *t)
{
	u32 before;

	run_open(t);
	t->run.hook = run_shut;
	before = run_calls(t);
	mpa_kick(t->a.conn);
	conn_expect_fin(t);
	msleep(50);
	/* The first, one that sends the FIN, and one for the peer's ACK */
	EXPECT_LE(t, run_calls(t) - before, 3);
}

static void run_resume(struct conn_test *t)
{
	mpa_resume(t->a.conn);
}

/* Nor is a run() that resumes delivery each time. */
static void run_resumes(struct conn_test *t)
{
	u32 before;

	run_open(t);
	t->run.hook = run_resume;
	before = run_calls(t);
	mpa_kick(t->a.conn);
	EXPECT_TRUE(t, CONN_UNTIL(run_calls(t) > before));
	msleep(50);
	EXPECT_LE(t, run_calls(t) - before, 2);
}

/* Not after closed(). */
static void run_closed(struct conn_test *t)
{
	u32 before;

	run_open(t);
	mpa_abort(t->a.conn);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	conn_settle(&t->a);
	before = run_calls(t);
	run_kick(t);
	conn_settle(&t->a);
	EXPECT_EQ(t, run_calls(t), before);
}

/* run() may detach; it does not come again, though it has kicked. */
static void run_leaves(struct conn_test *t)
{
	u32 before;

	run_open(t);
	before = run_calls(t);
	t->run.more = 1;
	WRITE_ONCE(t->run.leave, true);
	run_kick(t);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	EXPECT_EQ(t, run_calls(t) - before, 1);
}

/* All was done before the call returned, without the work item. */
static void now_expect_done(struct conn_test *t)
{
	EXPECT_PTR_EQ(t, t->run.task, current);
	CONN_COUNT(t, &t->a, EV_DONE, 1);
	EXPECT_FALSE(t, work_busy(&t->a.conn->work));
	conn_expect_tx(t, 100);
}

static void now_kick(struct conn_test *t)
{
	run_open(t);
	WRITE_ONCE(t->run.msg, conn_msg(t, 100));
	mpa_kick_now(t->a.conn);
	now_expect_done(t);
}

static void now_send(struct conn_test *t)
{
	run_open(t);
	EXPECT_EQ(t, 0, mpa_send_now(t->a.conn, &conn_msg(t, 100)->tx));
	now_expect_done(t);
}

/* With octets on the way the work item does it: it may send more together. */
static void now_busy(struct conn_test *t)
{
	conn_buffers(t, 4096, 200000);
	run_open(t);
	conn_post(t, 60000);
	conn_settle(&t->a);
	ASSERT_NE(t, tcp_sk(t->sock[0]->sk)->snd_una,
		  tcp_sk(t->sock[0]->sk)->write_seq);
	t->run.task = NULL;
	EXPECT_EQ(t, 0, mpa_send_now(t->a.conn, &conn_msg(t, 100)->tx));
	EXPECT_PTR_NE(t, t->run.task, current);
	conn_expect_tx(t, 60000);
	conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 2, 0);
}

static void now_let_miss(struct conn_test *t)
{
	t->run.hook = NULL;
	conn_peer_send(t, 100);
	EXPECT_TRUE(t, CONN_UNTIL(mpa_conn_test(t->a.conn, MPA_CONN_MISSED)));
	CONN_COUNT(t, &t->a, EV_RECV, 0);
}

/* The work item does not run beside a task that stands in for it, but after. */
static void now_missed(struct conn_test *t)
{
	run_open(t);
	t->run.hook = now_let_miss;
	mpa_kick_now(t->a.conn);
	CONN_WAIT(t, &t->a, EV_RECV, 1);
	EXPECT_FALSE(t, t->run.hook);
}

/* A reference allows calls after released(); they do nothing. */
static void now_released(struct conn_test *t)
{
	struct mpa_conn *conn;
	u32 before;

	run_open(t);
	conn = t->a.conn;
	mpa_conn_get(conn);
	conn_detach(t, &t->a);
	before = run_calls(t);
	mpa_kick_now(conn);
	EXPECT_EQ(t, -EPIPE, mpa_send_now(conn, &conn_msg(t, 100)->tx));
	flush_work(&conn->work);
	EXPECT_EQ(t, run_calls(t), before);
	mpa_conn_put(conn);
}

static const u8 *run_octets(const struct conn_test *t, u32 nr)
{
	return t->pool + nr % 256;
}

static void run_reset_peer(struct conn_test *t)
{
	t->run.hook = NULL;
	mpa_peer_reset(&t->peer);
}

/* TCP has a message with a page, which the peer does not acknowledge. */
static void run_open_page(struct conn_test *t)
{
	run_open(t);
	mpa_peer_stop(&t->peer);
	conn_send(t, conn_page_msg(t, 3000));
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_DONE, 0);
}

/* A round that has begun does not take pages freed by a reset for sent. */
static void run_reset(struct conn_test *t)
{
	run_open_page(t);
	t->run.hook = run_reset_peer;
	run_kick(t);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_FALSE(t, t->run.hook);
	conn_expect_statuses(t, &t->a, 1, -ECONNRESET);
}

static void run_after_ended(struct conn_test *t)
{
	CONN_COUNT(t, &t->a, EV_ENDED, 1);
}

/*
 * As after startup with code 7, of which ended() is the first that the consumer
 * hears: a task that stands in for the work item does not call run() before.
 */
static void run_end_due(struct conn_test *t)
{
	struct mpa_conn *conn;

	run_open(t);
	conn = t->a.conn;
	conn->rx.end.error = MPA_ERR_RTR;
	conn->rx.end.reason = MPA_REASON_RTR;
	conn->rx.end_due = true;
	t->run.hook = run_after_ended;
	mpa_kick_now(conn);
	CONN_WAIT(t, &t->a, EV_ENDED, 1);
	EXPECT_TRUE(t, CONN_UNTIL(run_calls(t) > 0));
}

static void run_abort(struct conn_test *t)
{
	t->run.hook = NULL;
	mpa_abort(t->a.conn);
}

/* Nothing is sent in the round in which run() has called mpa_abort(). */
static void run_aborts(struct conn_test *t)
{
	run_open(t);
	t->run.hook = run_abort;
	WRITE_ONCE(t->run.msg, conn_msg(t, 100));
	run_kick(t);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.hook_err, 0);
	conn_expect_statuses(t, &t->a, 1, -ECANCELED);
}

/* A detach after mpa_abort() does not make a message sent. */
static void run_aborts_leaves(struct conn_test *t)
{
	run_open_page(t);
	t->run.hook = run_abort;
	WRITE_ONCE(t->run.leave, true);
	run_kick(t);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	EXPECT_EQ(t, t->a.left, 1);
	conn_expect_statuses(t, &t->a, 1, -ECANCELED);
}

/* Not in the round whose recv() detaches either */
static void run_left(struct conn_test *t)
{
	u32 before;

	run_open(t);
	before = run_calls(t);
	t->a.hook = conn_hook_leave;
	conn_peer_send(t, 100);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	EXPECT_EQ(t, run_calls(t), before);
}

/* Each ULPDU from an iterator of its own, all in the same array */
static int run_next(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	struct conn_test *t = container_of(mpa_conn_ctx(msg->conn),
					   struct conn_test, a);

	msg->kv.iov_base = (void *)run_octets(t, msg->asked);
	msg->kv.iov_len = max - CONN_HDR;
	iov_iter_kvec(&tx->data, ITER_SOURCE, &msg->kv, 1, msg->kv.iov_len);
	tx->hdr_len = CONN_HDR;
	tx->len = msg->kv.iov_len;
	return ++msg->asked < RUN_ULPDUS;
}

static void run_source(struct conn_test *t)
{
	struct conn_msg *msg;
	u32 i, len;

	t->opts.maxseg = 1460;
	conn_open(t, CONN_INITIATOR, 0, conn_arg(t));
	msg = conn_msg(t, CONN_HDR);
	msg->tx.next = run_next;
	msg->conn = t->a.conn;
	conn_send(t, msg);
	for (i = 0; i < RUN_ULPDUS; i++) {
		len = conn_take(t);
		ASSERT_GT(t, len, CONN_HDR);
		ASSERT_EQ(t, 0, memcmp(t->buf + CONN_HDR, run_octets(t, i),
				       len - CONN_HDR));
	}
	conn_expect_done(t, &t->a, 1, 0);
	EXPECT_EQ(t, msg->asked, RUN_ULPDUS);
}

static int run_long_next(struct mpa_tx *tx, u32 max)
{
	run_next(tx, max);
	return container_of(tx, struct conn_msg, tx)->asked < RUN_LONG_ULPDUS;
}

static int run_drop(struct conn_test *t, void *to, u32 len, int flags)
{
	struct kvec iov = { .iov_base = to, .iov_len = len };
	struct msghdr msg = {};

	return kernel_recvmsg(t->peer.sock, &msg, &iov, 1, len, flags);
}

/* Read an FPDU, but only its length. Returns that of the ULPDU. */
static u32 run_take_long(struct conn_test *t)
{
	__be16 len = 0;
	u32 left;
	int n;

	ASSERT_EQ(t, 2, run_drop(t, &len, sizeof(len), MSG_WAITALL));
	left = round_up(sizeof(len) + be16_to_cpu(len), 4) + 4 - sizeof(len);
	for (; left; left -= n) {
		n = run_drop(t, NULL, left, MSG_TRUNC);
		ASSERT_GT(t, n, 0);
	}
	return be16_to_cpu(len);
}

/* Neither a position nor a length is of 32 bits. */
static void run_long_source(struct conn_test *t)
{
	struct conn_msg *msg;
	u64 total = 0;
	u32 i;

	conn_buffers(t, SZ_4M, SZ_4M);
	conn_open(t, CONN_INITIATOR, 0, 0);
	msg = conn_msg(t, CONN_HDR);
	msg->tx.next = run_long_next;
	msg->conn = t->a.conn;
	conn_send(t, msg);
	for (i = 0; i < RUN_LONG_ULPDUS; i++)
		total += run_take_long(t);
	conn_expect_done(t, &t->a, 1, 0);
	EXPECT_EQ(t, msg->asked, RUN_LONG_ULPDUS);
	EXPECT_GT(t, total, U32_MAX);
}

static void run_hook_kick(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);

	if (ev == EV_RECV)
		run_kick(t);
}

/* recv() kicks in softirq: run() comes there, and what it posts is sent. */
static void run_softirq(struct conn_test *t)
{
	u32 before;

	run_init(t);
	t->opts.maxseg = 1460;
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_M | PEER_C);
	mpa_allow_softirq(t->a.conn);
	mpa_allow_softirq_send(t->a.conn);
	t->a.sends_here = true;
	mpa_resume(t->a.conn);
	conn_settle(&t->a);
	t->a.hook = run_hook_kick;
	WRITE_ONCE(t->run.msg, conn_msg(t, 100));
	before = run_calls(t);
	conn_peer_send(t, 100);
	conn_expect_tx(t, 100);
	conn_expect_done(t, &t->a, 1, 0);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.hook_err, 0);
	EXPECT_EQ(t, run_calls(t) - before, 1);
	EXPECT_EQ(t, t->a.sent_here, 1);
	/* Asked in softirq for another round, it comes in the work item. */
	t->run.more = 1;
	conn_peer_send(t, 100);
	ASSERT_TRUE(t, CONN_UNTIL(run_calls(t) - before == 3));
	conn_settle(&t->a);
	EXPECT_EQ(t, run_calls(t) - before, 3);
	EXPECT_EQ(t, t->a.softirqs, 2);
}

static const struct conn_row run_rows[] = {
	{ "mpa_kick() in a task", run_contexts, RUN_TASK },
	{ "mpa_kick() with BH off", run_contexts, RUN_BH_OFF },
	{ "mpa_kick() with interrupts off", run_contexts, RUN_IRQS_OFF },
	{ "mpa_kick() in a hard interrupt", run_contexts, RUN_HARD_IRQ },
	{ "run() posts", run_posts },
	{ "run() asks for another round", run_again },
	{ "run() asks for another round at once", run_again, RUN_NOW },
	{ "mpa_kick() before full operation", run_early },
	{ "mpa_kick_now() before full operation", run_early, RUN_NOW },
	{ "run() on hold, and after ended()", run_halves },
	{ "run() at once on hold, and after ended()", run_halves, RUN_NOW },
	{ "run() closes its half each time", run_shuts },
	{ "run() resumes delivery each time", run_resumes },
	{ "no run() after closed()", run_closed },
	{ "no run() at once after closed()", run_closed, RUN_NOW },
	{ "run() detaches", run_leaves },
	{ "run() at once detaches", run_leaves, RUN_NOW },
	{ "run() posts, and aborts", run_aborts },
	{ "run() at once posts, and aborts", run_aborts, RUN_NOW },
	{ "run() aborts and detaches", run_aborts_leaves },
	{ "mpa_kick_now() sends", now_kick },
	{ "mpa_send_now() sends", now_send },
	{ "mpa_send_now() with octets on the way", now_busy },
	{ "the work item finds a task in its place", now_missed },
	{ "mpa_kick_now() after released()", now_released },
	{ "recv() in softirq kicks", run_softirq },
	{ "recv() in softirq kicks at once", run_softirq, RUN_NOW },
	{ "recv() detaches: no run()", run_left },
	{ "a reset in run() fails a message whose pages it frees", run_reset },
	{ "an end is due: ended() before run()", run_end_due },
	{ "a source replaces its iterator", run_source, PEER_C },
	{ "a source replaces its iterator, markers",
	  run_source, PEER_C | PEER_M },
	{ "a source of 4 GB", run_long_source, .named = true },
};

CONN_ROWS(run);
