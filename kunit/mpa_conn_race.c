// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* mpa_detach() races with another call or event that ends the connection. */
#include <linux/delay.h>
#include <linux/workqueue.h>
#include "mpa_conn_test.h"

/**
 * struct race_work - an act that races with the case
 * @work: performs the act
 * @t: the case
 * @act: the act
 * @delay_us: delay before the act, in microseconds
 */
struct race_work {
	struct work_struct	work;
	struct conn_test	*t;
	void			(*act)(struct conn_test *t);
	u32			delay_us;
};

static void race_run(struct work_struct *work)
{
	struct race_work *w = container_of(work, struct race_work, work);

	udelay(w->delay_us);
	w->act(w->t);
}

static void race_peer_reset(struct conn_test *t)
{
	mpa_peer_reset(&t->peer);
}

static void race_peer_close(struct conn_test *t)
{
	kernel_sock_shutdown(t->peer.sock, SHUT_RDWR);
}

static void race_peer_write(struct conn_test *t)
{
	mpa_peer_write(&t->peer, t->buf, t->buf_len);
}

static void race_put(struct conn_test *t)
{
	mpa_consumer_put_all(&t->a);
}

static void race_nothing(struct conn_test *t)
{
}

/* Open a connection with traffic both ways, and batches kept. */
static void race_begin(struct conn_test *t)
{
	u32 i;

	conn_default(t);
	t->a.keep = true;
	for (i = 0; i < 3; i++)
		conn_peer_send(t, 1000);
	conn_expect_rx(t, &t->a, 3);
	t->a.keep = false;
	conn_post_many(t, 20, 5000);
	for (i = 0; i < 20; i++)
		conn_fpdu(t, 700);
}

/**
 * struct race_acts - what races with mpa_detach()
 * @act: done in a work item
 * @here: done just before mpa_detach(), in the same task
 */
struct race_acts {
	void	(*act)(struct conn_test *t);
	void	(*here)(struct conn_test *t);
};

static void race(struct conn_test *t)
{
	const struct race_acts *acts = conn_data(t);
	struct race_work work = { .t = t, .act = acts->act };
	u32 i;

	INIT_WORK_ONSTACK(&work.work, race_run);
	for (i = 0; i < 24; i++) {
		race_begin(t);
		work.delay_us = i * 40;
		queue_work(mpa_unbound_wq, &work.work);
		acts->here(t);
		mpa_detach(t->a.conn);
		flush_work(&work.work);
		if (!mpa_consumer_wait(&t->a, EV_RELEASED, 1))
			break;
		mpa_barrier();
		if (t->a.nr_done != t->nr_msg)
			break;
		t->a.conn = NULL;
		conn_reopen(t);
	}
	destroy_work_on_stack(&work.work);
	EXPECT_EQ_MSG(t, i, 24, "lost in round %u", i);
}

static void race_abort(struct conn_test *t)
{
	mpa_abort(t->a.conn);
}

static void race_shutdown(struct conn_test *t)
{
	mpa_shutdown(t->a.conn);
}

static void race_hold(struct conn_test *t)
{
	u32 i;

	for (i = 0; i < 10; i++) {
		mpa_hold(t->a.conn);
		mpa_resume(t->a.conn);
	}
}

#define RACE(title, ...)						\
	{ title, race, .data = &(const struct race_acts){ __VA_ARGS__ } }

static const struct conn_row race_rows[] = {
	RACE("detach, reset by the peer", race_peer_reset, race_nothing),
	RACE("detach, abort, reset by the peer", race_peer_reset, race_abort),
	RACE("detach, shutdown, closed by the peer", race_peer_close,
	     race_shutdown),
	RACE("detach, batches put", race_put, race_nothing),
	RACE("detach, hold and resume, data", race_peer_write, race_hold),
};

CONN_ROWS(race);
