// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counting: instructions, socket calls, memory.
 *
 * In a guest that counts instructions, a tick of the time stamp counter is one
 * instruction; while the guest is idle the counter jumps to the next timer,
 * which is subtracted. There is one processor.
 */
#include <linux/kprobes.h>
#include <linux/mmzone.h>
#include <linux/vmstat.h>
#include <net/sock.h>
#include <trace/events/power.h>

#include "bench_int.h"
#include "mark.h"

static u64 idle_since;
static u64 idle;

static void count_cpu_idle(void *data, unsigned int state, unsigned int cpu)
{
	if (state != PWR_EVENT_EXIT) {
		idle_since = get_cycles();
		MARK(MARK_IDLE);
	} else {
		MARK(MARK_BUSY);
		idle += get_cycles() - idle_since;
	}
}

u64 bench_count_insns(void)
{
	return get_cycles() - READ_ONCE(idle);
}

static struct net *calls_net;
static struct sock *calls_sk;
static u64 calls;

static int count_call(struct kprobe *probe, struct pt_regs *regs)
{
	struct sock *sk = (struct sock *)regs_get_kernel_argument(regs, 0);

	if (sock_net(sk) == calls_net) {
		calls_sk = sk;
		calls++;
	}
	return 0;
}

static struct kprobe calls_probe;

/* Count the calls of tcp_sendmsg_locked() in @net. */
int bench_calls_start(struct net *net)
{
	calls_probe = (struct kprobe) {
		.symbol_name	= "tcp_sendmsg_locked",
		.pre_handler	= count_call,
	};
	calls_net = net;
	calls_sk = NULL;
	calls = 0;
	return register_kprobe(&calls_probe);
}

/* Number of calls; @sk is the socket of the last one. */
u64 bench_calls_stop(struct sock **sk)
{
	unregister_kprobe(&calls_probe);
	*sk = calls_sk;
	return calls;
}

/* Octets of memory in use, without per-CPU page lists */
u64 bench_count_memory(void)
{
	struct pglist_data *node = NODE_DATA(0);
	u64 free = 0;
	int cpu, i;

	for (i = 0; i < MAX_NR_ZONES; i++) {
		struct zone *zone = &node->node_zones[i];

		if (!populated_zone(zone))
			continue;
		free += zone_page_state_snapshot(zone, NR_FREE_PAGES);
		for_each_online_cpu(cpu)
			free += per_cpu_ptr(zone->per_cpu_pageset, cpu)->count;
	}
	return (totalram_pages() - free) << PAGE_SHIFT;
}

int bench_count_init(void)
{
	return register_trace_cpu_idle(count_cpu_idle, NULL);
}

void bench_count_exit(void)
{
	unregister_trace_cpu_idle(count_cpu_idle, NULL);
	tracepoint_synchronize_unregister();
}
