// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A run: its phases and their results. */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "bench_int.h"
#include "mark.h"

#define TIMEOUT		(120 * HZ)
#define SETTLE_MS	100	/* more than an ACK is delayed */
#define MEMORY_FIRST	1024	/* connections that fill partial slabs */

bool bench_stopped(const struct bench_run *run)
{
	return READ_ONCE(run->stopped);
}
EXPORT_SYMBOL_GPL(bench_stopped);

void bench_fail(struct bench_run *run, int err)
{
	if (bench_stopped(run))
		return;
	cmpxchg(&run->err, 0, err);
	complete(&run->done);
}
EXPORT_SYMBOL_GPL(bench_fail);

static u64 segments(const struct bench_run *run)
{
	u64 sum = 0;
	u32 i;

	if (!run->ends[0].sock)
		return run->sk ? tcp_sk(run->sk)->data_segs_out : 0;
	for (i = 0; i < run->nr; i++)
		sum += tcp_sk(run->ends[2 * i].sock->sk)->data_segs_out;
	return sum;
}

static u64 fpdus(struct bench_run *run)
{
	u64 sum = 0;
	u32 i;

	if (!run->transport->fpdus)
		return 0;
	for (i = 0; i < run->nr; i++)
		sum += run->transport->fpdus(&run->ends[2 * i]);
	return sum;
}

static u32 emss(const struct bench_run *run)
{
	struct socket *sock = run->ends[0].sock;
	struct sock *sk = sock ? sock->sk : run->sk;

	return sk ? tcp_sk(sk)->mss_cache : 0;
}

static void counts_read(struct bench_run *run, struct bench_counts *counts)
{
	counts->fpdus = fpdus(run);
	counts->segments = segments(run);
	counts->insns = bench_count_insns();
	counts->ns = ktime_get_ns();
}

/* Until all is quiet. With it the timer tick is where it always is. */
static void settle(void)
{
	msleep(SETTLE_MS);
}

static void want(struct bench_end *end, u32 nr)
{
	end->want = end->rx_pos + (u64)nr * end->run->opts.size;
}

static void stream_begin(struct bench_end *tx, u32 nr)
{
	want(tx->peer, nr);
	WRITE_ONCE(tx->to_post, nr);
	bench_wake(tx);
}

static int phase_begin(struct bench_run *run, u32 nr)
{
	bool pingpong = run->opts.kind == BENCH_PINGPONG;
	struct bench_end *tx;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < run->nr; i++) {
		tx = &run->ends[2 * i];
		if (pingpong) {
			want(tx, nr);
			err = run->transport->post(tx, 1);
		} else {
			stream_begin(tx, nr);
		}
		if (run->opts.duplex)
			stream_begin(tx->peer, nr);
	}
	return err;
}

/* Parts of a phase: who sends in a stream, and who receives, has one. */
static u32 parts(const struct bench_run *run)
{
	if (run->opts.kind == BENCH_PINGPONG)
		return run->nr;
	return (run->opts.duplex ? 4 : 2) * run->nr;
}

/* Each connection sends @nr messages, or each end of it with @duplex. */
static int phase(struct bench_run *run, u32 nr, struct bench_counts *counts)
{
	struct bench_counts before, after;
	int err;

	settle();
	reinit_completion(&run->done);
	atomic_set(&run->busy, parts(run));
	counts_read(run, &before);
	MARK(MARK_BEGIN);
	err = phase_begin(run, nr);
	if (err)
		return err;
	if (!wait_for_completion_timeout(&run->done, TIMEOUT))
		return run->err ?: -ETIMEDOUT;
	settle();
	/* A connection that has failed may have no socket to ask. */
	if (run->err)
		return run->err;
	MARK(MARK_END);
	counts_read(run, &after);
	counts->messages = (u64)nr * run->nr;
	counts->insns = after.insns - before.insns;
	counts->ns = after.ns - before.ns;
	counts->fpdus = after.fpdus - before.fpdus;
	counts->segments = after.segments - before.segments;
	return 0;
}

/* Compare all rings; says whether nothing was wrong, so far. */
static bool verified(struct bench_run *run)
{
	bool bad = false;
	u32 i;

	for (i = 0; i < 2 * run->nr && !run->opts.sink; i++) {
		bench_ring_check(&run->ends[i]);
		bad |= run->ends[i].bad;
	}
	return !bad;
}

/* The phase that is not measured; the first one finds the socket. */
static int phase_checked(struct bench_run *run, u32 nr,
			 struct bench_counts *counts)
{
	int err;

	err = bench_calls_start(run->tx_net);
	if (err)
		return err;
	run->check = !run->opts.sink;
	err = phase(run, nr, counts);
	run->check = false;
	counts->calls = bench_calls_stop(&run->sk);
	return err;
}

static u32 per_conn(const struct bench_run *run, u32 messages)
{
	return DIV_ROUND_UP(messages, run->opts.conns);
}

/* The measured phases. */
static int measure(struct bench_run *run, u32 messages)
{
	struct bench_counts *counts = &run->result.counts;
	struct bench_counts few, many;
	int err;

	err = phase(run, DIV_ROUND_UP(messages, 4), &few);
	if (!err)
		err = phase(run, messages, &many);
	if (err)
		return err;
	counts->messages = many.messages - few.messages;
	counts->insns = many.insns - few.insns;
	counts->ns = many.ns - few.ns;
	run->result.verified = verified(run);
	return 0;
}

static int traffic(struct bench_run *run)
{
	struct bench_result *res = &run->result;
	struct bench_counts counts;
	u32 warm, nr;
	int err;

	err = bench_threads_start(run);
	if (!err)
		err = phase_checked(run, 1, &counts);
	if (err)
		return err;
	res->emss_start = emss(run);
	warm = per_conn(run, run->opts.warm);
	err = phase(run, warm, &counts);
	if (!err)
		err = measure(run, max(per_conn(run, run->opts.messages), 2u));
	if (err)
		return err;
	nr = div_u64(res->counts.messages, run->nr);
	err = phase_checked(run, nr, &counts);
	if (err)
		return err;
	counts.insns = res->counts.insns;
	counts.ns = res->counts.ns;
	res->counts = counts;
	res->emss_end = emss(run);
	res->verified &= verified(run);
	return 0;
}

/* A message on each connection, by this thread alone: others take memory. */
static int use_conns(struct bench_run *run)
{
	struct bench_end *rx;
	int err = 0;
	u32 i;

	reinit_completion(&run->done);
	atomic_set(&run->busy, run->nr);
	for (i = 0; !err && i < run->nr; i++) {
		rx = &run->ends[2 * i + 1];
		rx->want = run->opts.size;
		err = run->transport->post(rx->peer, 1);
		while (!err && run->transport->recv && rx->rx_pos < rx->want)
			err = run->transport->recv(rx);
	}
	if (!err && !wait_for_completion_timeout(&run->done, TIMEOUT))
		err = -ETIMEDOUT;
	return err ?: run->err;
}

/* Memory of an end, without the consumers' own */
static u32 memory_of_end(struct bench_run *run, u64 before)
{
	u32 ends = 2 * (run->opts.conns - MEMORY_FIRST);

	settle();
	return div_u64(bench_count_memory() - run->own - before, ends);
}

/* Memory of a transport; the first ends fill partial slabs. */
static int memory(struct bench_run *run)
{
	u32 nr = run->opts.conns;
	u64 before;
	int err;

	if (nr <= MEMORY_FIRST || !run->transport->attach)
		return -EINVAL;
	err = bench_conns_open(run, nr) ?:
	      bench_conns_attach(run, 0, MEMORY_FIRST);
	if (err)
		return err;
	settle();
	before = bench_count_memory() - run->own;
	err = bench_conns_attach(run, MEMORY_FIRST, nr);
	if (err)
		return err;
	run->result.octets_idle = memory_of_end(run, before);
	err = use_conns(run);
	run->result.octets_used = memory_of_end(run, before);
	run->result.verified = verified(run);
	return err;
}

static int run_conns(struct bench_run *run)
{
	int err;

	if (run->opts.kind == BENCH_MEMORY)
		return memory(run);
	err = bench_conns_open(run, run->opts.conns);
	return err ?: traffic(run);
}

static int run_ends(struct bench_run *run)
{
	int err;

	run->ends = kvcalloc(2 * run->opts.conns, sizeof(*run->ends),
			     GFP_KERNEL);
	if (!run->ends)
		return -ENOMEM;
	init_completion(&run->done);
	bench_data_corrupt(run->opts.corrupt);
	err = run_conns(run);
	bench_conns_close(run);
	kvfree(run->ends);
	return err;
}

static int run_nets(struct bench_run *run)
{
	int err;

	run->tx_net = get_net_ns_by_fd(run->opts.tx_ns);
	if (IS_ERR(run->tx_net))
		return PTR_ERR(run->tx_net);
	run->rx_net = get_net_ns_by_fd(run->opts.rx_ns);
	err = PTR_ERR_OR_ZERO(run->rx_net);
	if (!err) {
		err = run_ends(run);
		put_net(run->rx_net);
	}
	put_net(run->tx_net);
	return err;
}

/* Octets of a ring in use: messages never go across its edge. */
static u32 ring_size(const struct bench_opts *opts)
{
	u32 most = opts->kind == BENCH_MEMORY ? opts->size : BENCH_RING;

	return most / opts->size * opts->size;
}

int bench_run(const struct bench_opts *opts, struct bench_result *result)
{
	struct bench_run run = {
		.opts		= *opts,
		.ring_size	= ring_size(opts),
	};
	int err;

	run.transport = bench_transport_get(opts->transport);
	if (!run.transport)
		return -ENOENT;
	/* The thread of a pull transport receives and posts in any case */
	if ((opts->thread || opts->softirq) &&
	    (run.transport->recv || opts->kind != BENCH_PINGPONG))
		err = -EINVAL;
	else if (opts->duplex && opts->kind != BENCH_STREAM)
		err = -EINVAL;
	else
		err = run_nets(&run);
	module_put(run.transport->owner);
	*result = run.result;
	return err;
}
