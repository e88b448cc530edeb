// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The connections of a run, and their threads. */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/slab.h>

#include "bench_int.h"

static int end_init(struct bench_run *run, struct bench_end *end,
		    struct bench_end *peer)
{
	end->run = run;
	end->peer = peer;
	init_waitqueue_head(&end->wait);
	end->ring = alloc_pages_exact(run->ring_size, GFP_KERNEL);
	return end->ring ? 0 : -ENOMEM;
}

static void end_exit(struct bench_end *end)
{
	if (end->ring)
		free_pages_exact(end->ring, end->run->ring_size);
}

/* Where memory is looked at, MPA is attached later. */
static int connect_pair(struct bench_run *run, struct bench_end *tx,
			struct bench_end *rx)
{
	if (run->opts.kind == BENCH_MEMORY)
		return bench_tcp_connect(tx, rx);
	return run->transport->open(tx, rx);
}

static int conn_sink(struct bench_run *run, struct bench_end *rx)
{
	int err;

	if (!run->transport->sink)
		return -EOPNOTSUPP;
	err = run->transport->sink(rx);
	if (!err)
		bench_tcp_sink(rx);
	return err;
}

static int conn_open(struct bench_run *run, struct bench_end *tx,
		     struct bench_end *rx)
{
	int err;

	err = end_init(run, tx, rx);
	if (!err)
		err = end_init(run, rx, tx);
	if (!err)
		err = connect_pair(run, tx, rx);
	if (err) {
		end_exit(tx);
		end_exit(rx);
		return err;
	}
	run->nr++;
	return run->opts.sink ? conn_sink(run, rx) : 0;
}

int bench_conns_open(struct bench_run *run, u32 nr)
{
	int err = 0;

	while (!err && run->nr < nr)
		err = conn_open(run, &run->ends[2 * run->nr],
				&run->ends[2 * run->nr + 1]);
	return err;
}

/* Attach the layer above TCP to connections @first to @nr. */
int bench_conns_attach(struct bench_run *run, u32 first, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = first; !err && i < nr; i++)
		err = run->transport->attach(&run->ends[2 * i],
					     &run->ends[2 * i + 1]);
	return err;
}

void bench_own(struct bench_end *end, const void *p)
{
	end->run->own += ksize(p);
}
EXPORT_SYMBOL_GPL(bench_own);

/* An end has done its part of the phase. */
static void part_done(struct bench_run *run)
{
	if (atomic_dec_and_test(&run->busy))
		complete(&run->done);
}

/* Post the messages of each phase, or each message of a pingpong. */
static int sender(void *arg)
{
	struct bench_end *end = arg;
	struct bench_run *run = end->run;
	int err;
	u32 nr;

	while (bench_wait(end, READ_ONCE(end->to_post))) {
		nr = end->to_post;
		end->to_post = 0;
		err = run->transport->post(end, nr);
		if (err)
			bench_fail(run, err);
		else if (run->opts.kind != BENCH_PINGPONG)
			part_done(run);
	}
	return 0;
}

static int receiver(void *arg)
{
	struct bench_end *end = arg;
	struct bench_run *run = end->run;
	int err = 0;

	while (!err && !bench_stopped(run))
		err = run->transport->recv(end);
	if (err)
		bench_fail(run, err);
	return 0;
}

/* This end has received all octets of the phase. */
static void received_all(struct bench_end *end)
{
	end->answered = end->rx_pos;
	if (end->rx_pos > end->want && !end->run->opts.sink)
		bench_fail(end->run, -EPROTO);
	part_done(end->run);
}

static void act_pingpong(struct bench_end *end)
{
	int err;

	if (end->rx_pos - end->answered < end->run->opts.size)
		return;
	if (end->want && end->rx_pos >= end->want) {
		received_all(end);
		return;
	}
	end->answered = end->rx_pos;
	if (end->run->opts.thread) {
		WRITE_ONCE(end->to_post, 1);
		bench_wake(end);
		return;
	}
	err = end->run->transport->post(end, 1);
	if (err)
		bench_fail(end->run, err);
}

void bench_act(struct bench_end *end)
{
	if (end->run->opts.kind == BENCH_PINGPONG)
		act_pingpong(end);
	else if (end->rx_pos >= end->want && end->answered < end->want)
		received_all(end);
}
EXPORT_SYMBOL_GPL(bench_act);

static int thread_start(struct task_struct **thread, struct bench_end *end,
			int (*fn)(void *), const char *name)
{
	struct task_struct *task = kthread_create(fn, end, "bench_%s", name);

	if (IS_ERR(task))
		return PTR_ERR(task);
	*thread = get_task_struct(task);
	wake_up_process(task);
	return 0;
}

/* In a pingpong the one that receives sends as well, unless @thread is set. */
static int threads_start(struct bench_run *run, struct bench_end *tx,
			 struct bench_end *rx)
{
	bool receive = run->transport->recv && !run->opts.sink;
	bool stream = run->opts.kind == BENCH_STREAM;
	int err = 0;

	if (stream || run->opts.thread)
		err = thread_start(&tx->sender, tx, sender, "tx");
	if (!err && (run->opts.duplex || run->opts.thread))
		err = thread_start(&rx->sender, rx, sender, "tx");
	if (!err && receive && (!stream || run->opts.duplex))
		err = thread_start(&tx->receiver, tx, receiver, "rx");
	if (!err && receive)
		err = thread_start(&rx->receiver, rx, receiver, "rx");
	return err;
}

int bench_threads_start(struct bench_run *run)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < run->nr; i++)
		err = threads_start(run, &run->ends[2 * i],
				    &run->ends[2 * i + 1]);
	return err;
}

static void thread_stop(struct task_struct *task)
{
	if (!task)
		return;
	kthread_stop(task);
	put_task_struct(task);
}

static void threads_stop(struct bench_end *end)
{
	wake_up_all(&end->wait);
	thread_stop(end->sender);
	thread_stop(end->receiver);
}

void bench_conns_close(struct bench_run *run)
{
	struct bench_end *tx, *rx;
	u32 i;

	WRITE_ONCE(run->stopped, true);
	for (i = 0; i < run->nr; i++) {
		tx = &run->ends[2 * i];
		rx = tx + 1;
		run->transport->shut(tx, rx);
		threads_stop(tx);
		threads_stop(rx);
		if (run->opts.sink && rx->sock)
			bench_tcp_unsink(rx);
		run->transport->close(tx, rx);
		end_exit(tx);
		end_exit(rx);
	}
}
