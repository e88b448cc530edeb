// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module: init, exit, and mpa_barrier(), for the exit of its consumers.
 *
 * Teardown of the module, in mpa_exit(). No consumer is loaded any longer, so
 * every connection has been released and every socket has its callbacks back.
 * Three kinds of task may still execute code of this module:
 *
 * - the network stack, preempted between dropping its last reference on
 *   zero-copy pages and queueing the work item;
 * - a caller of a socket callback, or a reader of the socket's operations
 *   without a lock, preempted in there;
 * - work items.
 *
 * (1) mpa_nl_unregister(): no request looks at a connection. Then
 * mpa_net_unregister(): no namespace refers to a connection.
 * (2) mpa_conn_wait_none(): waits for the last reference on each connection. A
 * task of the first kind holds one until it has queued the work item, or found
 * it queued; so does a work item until it is about to return, and a batch that
 * a consumer has kept past released(). From now on nothing is queued.
 * (3) mpa_sk_exit(): waits for an RCU grace period, then for one of RCU tasks.
 * Every task of the first two kinds has left this module's text and data. This
 * must follow (2): after its last mpa_conn_put() a task still executes
 * instructions of this module.
 * (4) mpa_conn_exit() destroys the workqueues: all work items have returned.
 * This must follow (2), or a task of the first kind would queue on a freed
 * workqueue.
 * (5) Free what all of them used.
 *
 * A preemptible kernel without TASKS_RCU cannot wait as (3) does. There the
 * module stays loaded. On PREEMPT_RT a task counts as quiescent while it waits
 * for a spinlock: one in a callback of the socket, before that has the first
 * lock, is not waited for.
 */
#include <linux/module.h>
#include "mpa_conn.h"
#include "mpa_tx_train.h"

/* As in Kconfig, which a build out of the kernel's tree does not look at. */
#if !defined(CONFIG_INET) || !defined(CONFIG_PROC_FS) || \
	!defined(CONFIG_SYSCTL) || defined(CONFIG_HIGHMEM)
#error "mpa needs CONFIG_INET, PROC_FS and SYSCTL, and no HIGHMEM"
#endif

/**
 * mpa_barrier() - wait until every detached connection has been released
 *
 * For the module exit of a consumer that detaches without waiting: when each of
 * its connections has been detached, and this has returned, MPA neither runs
 * its code nor will call it again. It waits for connections of all consumers
 * that were detached before, not for those that are detached later. RFC 5044
 * has no counterpart.
 *
 * This waits for callbacks of all consumers, which may wait for memory. So it
 * must not be called by a task that memory reclaim depends on, such as a work
 * item of a %WQ_MEM_RECLAIM queue.
 *
 * Context: process, sleeps. Must not be called from any callback, including
 * done() and accepted(): then it warns, and returns without waiting; but in one
 * that mpa_kick_now() or mpa_send_now() calls it waits for ever, and in one in
 * softirq it sleeps in atomic context.
 */
void mpa_barrier(void)
{
	const struct work_struct *work = current_work();

	might_sleep();

	if (WARN_ON_ONCE(work && (mpa_loop_is_work(work) ||
				  mpa_connect_is_work(work) ||
				  mpa_listen_is_work(work))))
		return;
	/* A connector that was closed may still detach its connection. */
	flush_workqueue(mpa_wq);
	flush_workqueue(mpa_reclaim_wq);
	mpa_conn_wait_left();
	/* released() may still be returning. */
	flush_workqueue(mpa_wq);
	flush_workqueue(mpa_reclaim_wq);
}
EXPORT_SYMBOL_GPL(mpa_barrier);

static int __init mpa_init(void)
{
	int err = mpa_crc_init();

	if (err)
		return err;
	err = mpa_sk_init();
	if (err)
		goto exit_crc;
	err = mpa_conn_init();
	if (err)
		goto exit_sk;
	err = mpa_net_register();
	if (err)
		goto exit_conn;
	err = mpa_nl_register();
	if (err)
		goto exit_net;
	if (IS_ENABLED(CONFIG_PREEMPTION) && !IS_ENABLED(CONFIG_TASKS_RCU))
		__module_get(THIS_MODULE);
	return 0;

exit_net:
	mpa_net_unregister();
	mpa_net_exit_none();
exit_conn:
	mpa_conn_exit();
exit_sk:
	mpa_sk_exit();
exit_crc:
	mpa_crc_exit();
	return err;
}

/* The comment at the top of the file says why this order is safe. */
static void __exit mpa_exit(void)
{
	mpa_nl_unregister();
	mpa_net_unregister();
	mpa_conn_wait_none();
	mpa_sk_exit();
	mpa_conn_exit();
	mpa_net_exit_none();
	mpa_frag_exit();
	mpa_spare_exit();
	mpa_crc_exit();
}

module_init(mpa_init);
module_exit(mpa_exit);
MODULE_AUTHOR("the mpa project");
MODULE_VERSION("0.1");
MODULE_DESCRIPTION("iWARP Marker PDU Aligned Framing for TCP (RFC 5044)");
MODULE_LICENSE("Dual BSD/GPL");
MPA_CRC32C_SOFTDEP;
