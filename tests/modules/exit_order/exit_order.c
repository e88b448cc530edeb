// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exit_order: delays a task that is about to queue a connection's work item.
 *
 * When tc frees the packets of a qdisc it may drop the last reference on
 * zero-copy pages. mpa_tx_ubuf_put() then calls mpa_conn_kick_put(), before
 * which tc has to wait here, once, while @stage is 1: a preemptible kernel may
 * delay it as long. A kprobe handler cannot sleep, so it makes the task execute
 * another function first. The kernel must not optimize the probe: it cannot
 * redirect a task then.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static int stage;	/* 0: tc has not come, 1: it waits, 2: it goes on */
module_param(stage, int, 0644);

static struct kprobe exit_order_probe;

static void exit_order_wait(void *conn)
{
	while (READ_ONCE(stage) == 1)
		msleep(20);
	((void (*)(void *))exit_order_probe.addr)(conn);
}

/* In a softirq on top of tc nothing may sleep. */
static int exit_order_enter(struct kprobe *probe, struct pt_regs *regs)
{
	if (softirq_count() || strcmp(current->comm, "tc") ||
	    cmpxchg(&stage, 0, 1))
		return 0;
	instruction_pointer_set(regs, (unsigned long)exit_order_wait);
	return 1;
}

static int __init exit_order_init(void)
{
	exit_order_probe.symbol_name = "mpa_conn_kick_put";
	exit_order_probe.pre_handler = exit_order_enter;
	return register_kprobe(&exit_order_probe);
}

static void __exit exit_order_exit(void)
{
	unregister_kprobe(&exit_order_probe);
}

module_init(exit_order_init);
module_exit(exit_order_exit);
MODULE_DESCRIPTION("Delays a task that is about to queue a work item of MPA");
MODULE_LICENSE("Dual BSD/GPL");
