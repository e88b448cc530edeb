// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA in each network namespace: its connections, the limit on startups, the
 * memory that consumers keep, counters (mpa_stat) and sysctls (net.mpa).
 */
#include <kunit/visibility.h>
#include <linux/init.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/sock_diag.h>
#include <linux/swap.h>
#include <linux/sysctl.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include "mpa_conn.h"

/* As many as TCP queues by default for a listener that does not accept */
#define MPA_STARTUP_MAX	SOMAXCONN

/*
 * Fewer octets cost less to copy than an skb of their own does: the default of
 * net.mpa.zerocopy_min (mpa-performance.rst, "Effect of single design choices")
 */
#define MPA_ZEROCOPY_MIN	SZ_16K

/* Octets by which each processor's share of mpa_net.rx_mem may be off */
#define MPA_RX_MEM_BATCH	SZ_256K

static unsigned int mpa_net_id __read_mostly;

/*
 * Stands for the namespace of connections that have left theirs, because it is
 * going away or because they are being released.
 */
static struct mpa_net mpa_net_none = {
	.lock			= __SPIN_LOCK_UNLOCKED(mpa_net_none.lock),
	.conns			= RB_ROOT,
	.startups		= LIST_HEAD_INIT(mpa_net_none.startups),
	.dying			= true,
	.crc			= 1,
	.ooo_ack_notify		= 1,
	/* Any will do: its connections are aborted or being released. */
	.startup_timeout_ms	= 1,
};

struct mpa_net *mpa_net(struct net *net)
{
	return net_generic(net, mpa_net_id);
}

/* The limits of the initial namespace hold in all others, too. */
static int mpa_net_startup_max(const struct mpa_net *mn)
{
	return min(READ_ONCE(mn->startup_max),
		   READ_ONCE(mpa_net(&init_net)->startup_max));
}

int mpa_net_startup_timeout(const struct mpa_net *mn)
{
	return min(READ_ONCE(mn->startup_timeout_ms),
		   READ_ONCE(mpa_net(&init_net)->startup_timeout_ms));
}

/* Context: any. */
void mpa_net_rx_mem_add(struct mpa_net *mn, s64 octets)
{
	percpu_counter_add_batch(&mn->rx_mem, octets, MPA_RX_MEM_BATCH);
}

/*
 * Runner only: the exit of the namespace waits for runners. True if the
 * batches kept by consumers in the namespace, and FPDUs being copied, take more
 * than net.mpa.rx_mem_max.
 * False with MPA_F_MEMALLOC: other consumers may wait for such a connection
 * before they put their batches.
 */
bool mpa_net_rx_full(const struct mpa_conn *conn)
{
	struct mpa_net *mn = READ_ONCE(conn->mn);
	unsigned long max = min3(READ_ONCE(mn->rx_mem_max),
				 READ_ONCE(mpa_net(&init_net)->rx_mem_max),
				 (unsigned long)LONG_MAX);

	if (conn->conn_flags & MPA_F_MEMALLOC)
		return false;
	/* Exact near the limit: it adds up the shares of all processors. */
	return __percpu_counter_compare(&mn->rx_mem, max,
					MPA_RX_MEM_BATCH) > 0;
}

/* mn->lock held */
static void mpa_net_startup_del(struct mpa_net *mn, struct mpa_conn *conn)
{
	lockdep_assert_held(&mn->lock);
	if (list_empty(&conn->startup_node))
		return;
	list_del_init(&conn->startup_node);
	mn->nr_startups--;
}

/* Unlists and returns the oldest, with a reference, if too many wait. */
static struct mpa_conn *mpa_net_startup_surplus(struct mpa_net *mn)
{
	struct mpa_conn *conn = NULL;

	spin_lock_bh(&mn->lock);
	if (mn->nr_startups > mpa_net_startup_max(mn)) {
		conn = list_first_entry(&mn->startups, struct mpa_conn,
					startup_node);
		mpa_net_startup_del(mn, conn);
		mpa_conn_get(conn);
	}
	spin_unlock_bh(&mn->lock);
	return conn;
}

/*
 * A Responder begins to wait for its Request. If too many do, the oldest one
 * ends, in its own work item, not this one: a serious peer has sent its Request
 * within a round trip. More than one ends only after the limit was lowered.
 */
void mpa_net_startup_begin(struct mpa_conn *conn)
{
	struct mpa_net *mn = READ_ONCE(conn->mn);
	struct mpa_conn *oldest;

	spin_lock_bh(&mn->lock);
	if (!mn->dying) {
		list_add_tail(&conn->startup_node, &mn->startups);
		mn->nr_startups++;
	}
	spin_unlock_bh(&mn->lock);

	while ((oldest = mpa_net_startup_surplus(mn))) {
		set_bit(MPA_CONN_STARTUP_OVERFLOW, &oldest->flags);
		mpa_conn_kick_put(oldest);
		cond_resched();
	}
}

/* @conn has its Request, or has ended. May be called more than once. */
void mpa_net_startup_end(struct mpa_conn *conn)
{
	struct mpa_net *mn = READ_ONCE(conn->mn);

	spin_lock_bh(&mn->lock);
	mpa_net_startup_del(mn, conn);
	spin_unlock_bh(&mn->lock);
}

#define MPA_REASON_ITEM(name, reason) \
	SNMP_MIB_ITEM(name, MPA_MIB_REASON + MPA_REASON_##reason)

static const struct snmp_mib mpa_mib_list[] = {
	SNMP_MIB_ITEM("MpaAttached", MPA_MIB_ATTACHED),
	SNMP_MIB_ITEM("MpaReleased", MPA_MIB_RELEASED),
	SNMP_MIB_ITEM("MpaEstablished", MPA_MIB_ESTABLISHED),
	SNMP_MIB_ITEM("MpaRejectsSent", MPA_MIB_REJECTS_SENT),
	SNMP_MIB_ITEM("MpaRejectsReceived", MPA_MIB_REJECTS_RECEIVED),
	SNMP_MIB_ITEM("MpaRev0", MPA_MIB_REV0),
	SNMP_MIB_ITEM("MpaNoCrc", MPA_MIB_NO_CRC),
	SNMP_MIB_ITEM("MpaEnhanced", MPA_MIB_ENHANCED),
	SNMP_MIB_ITEM("MpaFallbacks", MPA_MIB_FALLBACKS),
	SNMP_MIB_ITEM("MpaDataWithReply", MPA_MIB_DATA_WITH_REPLY),
	SNMP_MIB_ITEM("MpaTxUlpdus", MPA_MIB_TX_ULPDUS),
	SNMP_MIB_ITEM("MpaTxOctets", MPA_MIB_TX_OCTETS),
	SNMP_MIB_ITEM("MpaTxCalls", MPA_MIB_TX_CALLS),
	SNMP_MIB_ITEM("MpaTxSegments", MPA_MIB_TX_SEGMENTS),
	SNMP_MIB_ITEM("MpaTxZeroCopy", MPA_MIB_TX_ZEROCOPY),
	SNMP_MIB_ITEM("MpaTxCopied", MPA_MIB_TX_COPIED),
	SNMP_MIB_ITEM("MpaTxShort", MPA_MIB_TX_SHORT),
	SNMP_MIB_ITEM("MpaTxCanceled", MPA_MIB_TX_CANCELED),
	SNMP_MIB_ITEM("MpaRxUlpdus", MPA_MIB_RX_ULPDUS),
	SNMP_MIB_ITEM("MpaRxOctets", MPA_MIB_RX_OCTETS),
	SNMP_MIB_ITEM("MpaRxBatches", MPA_MIB_RX_BATCHES),
	SNMP_MIB_ITEM("MpaRxCopied", MPA_MIB_RX_COPIED),
	SNMP_MIB_ITEM("MpaRxDiscarded", MPA_MIB_RX_DISCARDED),
	SNMP_MIB_ITEM("MpaRxLimited", MPA_MIB_RX_LIMITED),
	SNMP_MIB_ITEM("MpaOooUlpdus", MPA_MIB_OOO_ULPDUS),
	SNMP_MIB_ITEM("MpaOooOctets", MPA_MIB_OOO_OCTETS),
	SNMP_MIB_ITEM("MpaOooBad", MPA_MIB_OOO_BAD),
	SNMP_MIB_ITEM("MpaOooFull", MPA_MIB_OOO_FULL),
	SNMP_MIB_ITEM("MpaResets", MPA_MIB_RESETS),
	SNMP_MIB_ITEM("MpaNoMemory", MPA_MIB_NOMEM),
	MPA_REASON_ITEM("MpaEndFin", FIN),
	MPA_REASON_ITEM("MpaErrTruncated", TRUNCATED),
	MPA_REASON_ITEM("MpaErrReset", RESET),
	MPA_REASON_ITEM("MpaErrAborted", ABORTED),
	MPA_REASON_ITEM("MpaErrCrc", CRC),
	MPA_REASON_ITEM("MpaErrMarker", MARKER),
	MPA_REASON_ITEM("MpaErrLength", LENGTH),
	MPA_REASON_ITEM("MpaErrUrgent", URGENT),
	MPA_REASON_ITEM("MpaErrKey", KEY),
	MPA_REASON_ITEM("MpaErrRole", ROLE),
	MPA_REASON_ITEM("MpaErrRevision", REVISION),
	MPA_REASON_ITEM("MpaErrPdLength", PD_LENGTH),
	MPA_REASON_ITEM("MpaErrShortFrame", SHORT_FRAME),
	MPA_REASON_ITEM("MpaErrEarlyOctets", EARLY),
	MPA_REASON_ITEM("MpaErrTimeout", TIMEOUT),
	MPA_REASON_ITEM("MpaErrStartupOverflow", STARTUP_OVERFLOW),
	MPA_REASON_ITEM("MpaErrNoMemory", NOMEM),
	MPA_REASON_ITEM("MpaErrEnhanced", ENHANCED),
	MPA_REASON_ITEM("MpaErrIrd", IRD),
	MPA_REASON_ITEM("MpaErrRtr", RTR),
};

/* snmp_fold_field() is not exported from 7.2 on. */
static unsigned long mpa_stat_fold(const struct mpa_net *mn, unsigned int field)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(mn->mib, cpu)->mibs[field]);
	return sum;
}

static int mpa_stat_show(struct seq_file *seq, void *v)
{
	struct mpa_net *mn = mpa_net(seq->private);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mpa_mib_list); i++)
		seq_printf(seq, "%-24s %lu\n", mpa_mib_list[i].name,
			   mpa_stat_fold(mn, mpa_mib_list[i].entry));
	seq_printf(seq, "%-24s %lld\n", "MpaRxPinned",
		   percpu_counter_sum_positive(&mn->rx_mem));
	return 0;
}

static const struct ctl_table mpa_sysctls[] = {
	{
		.procname	= "crc",
		.data		= (void *)offsetof(struct mpa_net, crc),
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
	{
		.procname	= "ooo_ack_notify",
		.data		= (void *)offsetof(struct mpa_net,
						   ooo_ack_notify),
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
	{
		.procname	= "startup_timeout_ms",
		.data		= (void *)offsetof(struct mpa_net,
						   startup_timeout_ms),
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ONE,
		.extra2		= SYSCTL_INT_MAX,
	},
	{
		.procname	= "startup_max",
		.data		= (void *)offsetof(struct mpa_net, startup_max),
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= proc_dointvec_minmax,
		.extra1		= SYSCTL_ONE,
		.extra2		= SYSCTL_INT_MAX,
	},
	{
		.procname	= "rx_mem_max",
		.data		= (void *)offsetof(struct mpa_net, rx_mem_max),
		.maxlen		= sizeof(unsigned long),
		.mode		= 0644,
		.proc_handler	= proc_doulongvec_minmax,
	},
	{
		.procname	= "zerocopy_min",
		.data		= (void *)offsetof(struct mpa_net,
						   zerocopy_min),
		.maxlen		= sizeof(unsigned int),
		.mode		= 0644,
		.proc_handler	= proc_douintvec,
	},
	{	/* Last: mpa_sysctl_init() completes it. */
		.procname	= "cpus",
		.data		= (void *)offsetof(struct mpa_net, cpus),
		.mode		= 0444,
		.proc_handler	= proc_do_large_bitmap,
	},
};

static int mpa_sysctl_init(struct net *net, struct mpa_net *mn)
{
	struct ctl_table *table;
	unsigned int i;

	table = kmemdup(mpa_sysctls, sizeof(mpa_sysctls), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(mpa_sysctls); i++)
		table[i].data = (void *)mn + (size_t)mpa_sysctls[i].data;
	/* A container's root has no say in what other CPUs do. */
	if (net->user_ns == &init_user_ns)
		table[i - 1].mode = 0644;
	table[i - 1].maxlen = nr_cpu_ids;

	mn->sysctl = register_net_sysctl_sz(net, "net/mpa", table,
					    ARRAY_SIZE(mpa_sysctls));
	if (!mn->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void mpa_sysctl_exit(struct mpa_net *mn)
{
	const struct ctl_table *table = mn->sysctl->ctl_table_arg;

	unregister_net_sysctl_table(mn->sysctl);
	kfree(table);
}

static int __net_init mpa_net_init(struct net *net)
{
	struct mpa_net *mn = mpa_net(net);
	int err;

	mn->net = net;
	spin_lock_init(&mn->lock);
	mn->conns = RB_ROOT;
	INIT_LIST_HEAD(&mn->startups);
	mn->crc = 1;
	mn->ooo_ack_notify = 1;
	mn->startup_timeout_ms = 10 * MSEC_PER_SEC;
	mn->startup_max = MPA_STARTUP_MAX;
	/* As net.ipv4.tcp_mem[1], the threshold of TCP's memory pressure */
	mn->rx_mem_max = max(nr_free_buffer_pages() / 16, 128UL) << PAGE_SHIFT;
	mn->zerocopy_min = MPA_ZEROCOPY_MIN;
	mn->last_cpu = -1;

	mn->cpus = kzalloc(cpumask_size(), GFP_KERNEL);
	if (!mn->cpus)
		return -ENOMEM;
	err = -ENOMEM;
	mn->mib = alloc_percpu(struct mpa_stats);
	if (!mn->mib)
		goto free_cpus;
	err = percpu_counter_init(&mn->rx_mem, 0, GFP_KERNEL);
	if (err)
		goto free_mib;
	err = mpa_sysctl_init(net, mn);
	if (err)
		goto destroy_rx_mem;
	err = -ENOMEM;
	if (!proc_create_net_single("mpa_stat", 0444, net->proc_net,
				    mpa_stat_show, NULL))
		goto exit_sysctl;
	return 0;

exit_sysctl:
	mpa_sysctl_exit(mn);
destroy_rx_mem:
	percpu_counter_destroy(&mn->rx_mem);
free_mib:
	free_percpu(mn->mib);
free_cpus:
	kfree(mn->cpus);
	return err;
}

static struct mpa_conn *mpa_net_entry(const struct rb_node *node)
{
	return rb_entry_safe(node, struct mpa_conn, net_node);
}

static bool mpa_net_before(struct rb_node *a, const struct rb_node *b)
{
	return mpa_net_entry(a)->cookie < mpa_net_entry(b)->cookie;
}

/* mn->lock held. No effect if @conn is not listed. */
static void mpa_net_del(struct mpa_net *mn, struct mpa_conn *conn)
{
	lockdep_assert_held(&mn->lock);
	if (RB_EMPTY_NODE(&conn->net_node))
		return;
	rb_erase(&conn->net_node, &mn->conns);
	RB_CLEAR_NODE(&conn->net_node);
}

/*
 * Unlists and returns a connection that is not released yet, with a reference,
 * or NULL; no other is listed from now on. Only kernel sockets without a
 * reference on their namespace have any.
 */
static struct mpa_conn *mpa_net_take_first(struct mpa_net *mn)
{
	struct mpa_conn *conn;

	spin_lock_bh(&mn->lock);
	mn->dying = true;
	conn = mpa_net_entry(rb_first(&mn->conns));
	if (conn) {
		mpa_net_del(mn, conn);
		mpa_net_startup_del(mn, conn);
		mpa_conn_get(conn);
	}
	spin_unlock_bh(&mn->lock);
	return conn;
}

/*
 * mn->lock held. A CPU of net.mpa.cpus, which a process may be writing: in turn
 * each of those online.
 */
static int mpa_net_next_cpu(struct mpa_net *mn)
{
	unsigned int cpu;

	lockdep_assert_held(&mn->lock);
	cpu = cpumask_next_and(mn->last_cpu, mn->cpus, cpu_online_mask);
	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first_and(mn->cpus, cpu_online_mask);
	if (cpu >= nr_cpu_ids)
		return WORK_CPU_UNBOUND;
	mn->last_cpu = cpu;
	return cpu;
}

int mpa_net_enlist(struct mpa_conn *conn)
{
	struct mpa_net *mn = conn->mn;
	int err = -ENETDOWN;
	u32 cookie[2];

	sock_diag_save_cookie(conn->sk, cookie);
	conn->cookie = (u64)cookie[1] << 32 | cookie[0];

	spin_lock_bh(&mn->lock);
	if (!mn->dying) {
		rb_add(&conn->net_node, &mn->conns, mpa_net_before);
		conn->cpu = mpa_net_next_cpu(mn);
		err = 0;
	}
	spin_unlock_bh(&mn->lock);
	return err;
}

/*
 * The namespace may go away before the connection does: from now on count its
 * memory, and what it counts, in mpa_net_none.
 */
static void mpa_net_leave(struct mpa_conn *conn)
{
	s64 pinned;

	spin_lock_bh(&conn->lock);
	pinned = mpa_conn_pinned(conn);
	mpa_net_rx_mem_add(conn->mn, -pinned);
	WRITE_ONCE(conn->mn, &mpa_net_none);
	mpa_net_rx_mem_add(&mpa_net_none, pinned);
	spin_unlock_bh(&conn->lock);
}

/*
 * Must be the last step that uses the namespace: its exit waits for this work
 * item only if the connection is on the list, or was when the exit began.
 */
void mpa_net_unlist(struct mpa_conn *conn)
{
	struct mpa_net *mn = READ_ONCE(conn->mn);

	mpa_net_leave(conn);
	spin_lock_bh(&mn->lock);
	mpa_net_del(mn, conn);
	spin_unlock_bh(&mn->lock);
}

/* Returns the highest cookie of a listed connection, or 0. */
u64 mpa_net_last(struct mpa_net *mn)
{
	struct mpa_conn *conn;
	u64 cookie;

	spin_lock_bh(&mn->lock);
	conn = mpa_net_entry(rb_last(&mn->conns));
	cookie = conn ? conn->cookie : 0;
	spin_unlock_bh(&mn->lock);
	return cookie;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_net_last);

/* mn->lock held. Returns the first connection from @cookie on, or NULL. */
static struct mpa_conn *mpa_net_search(struct mpa_net *mn, u64 cookie)
{
	struct rb_node *node = mn->conns.rb_node;
	struct mpa_conn *found = NULL;

	lockdep_assert_held(&mn->lock);
	while (node) {
		struct mpa_conn *conn = mpa_net_entry(node);

		if (conn->cookie < cookie) {
			node = node->rb_right;
		} else {
			found = conn;
			node = node->rb_left;
		}
	}
	return found;
}

/*
 * Get up to @max connections from @cookie on, in the order of their cookies.
 * Each has a reference, and so has its socket: what is listed is not released
 * yet, so both exist, but the connection may be released and the consumer may
 * close the socket once mn->lock is dropped. mpa_net_put() drops both.
 */
unsigned int mpa_net_get_from(struct mpa_net *mn, u64 cookie,
			      struct mpa_conn **conns, unsigned int max)
{
	struct mpa_conn *conn;
	unsigned int nr = 0;

	spin_lock_bh(&mn->lock);
	conn = mpa_net_search(mn, cookie);
	while (conn && nr < max) {
		mpa_conn_get(conn);
		sock_hold(conn->sk);
		conns[nr++] = conn;
		conn = mpa_net_entry(rb_next(&conn->net_node));
	}
	spin_unlock_bh(&mn->lock);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_net_get_from);

void mpa_net_put(struct mpa_conn *conn)
{
	sock_put(conn->sk);
	mpa_conn_put(conn);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_net_put);

/*
 * The namespace goes away before the connection: abort it, and from now on
 * count its memory, and what it counts, in mpa_net_none. Context: process,
 * sleeps.
 */
static void mpa_net_kill(struct mpa_conn *conn)
{
	mpa_net_leave(conn);
	mpa_abort(conn);
	flush_work(&conn->work);
	/* It may have found another runner, which still used the namespace. */
	while (mpa_conn_test(conn, MPA_CONN_MISSED))
		schedule_timeout_uninterruptible(1);
	flush_work(&conn->work);
}

static void __net_exit mpa_net_pre_exit(struct net *net)
{
	struct mpa_conn *conn;

	while ((conn = mpa_net_take_first(mpa_net(net)))) {
		mpa_net_kill(conn);
		mpa_conn_put(conn);
	}
}

static void __net_exit mpa_net_exit(struct net *net)
{
	struct mpa_net *mn = mpa_net(net);

	remove_proc_entry("mpa_stat", net->proc_net);
	mpa_sysctl_exit(mn);
	/* Memory that batches still pin is counted in mpa_net_none. */
	WARN_ON_ONCE(percpu_counter_sum(&mn->rx_mem));
	percpu_counter_destroy(&mn->rx_mem);
	free_percpu(mn->mib);
	kfree(mn->cpus);
}

static struct pernet_operations mpa_net_ops = {
	.init		= mpa_net_init,
	.pre_exit	= mpa_net_pre_exit,
	.exit		= mpa_net_exit,
	.id		= &mpa_net_id,
	.size		= sizeof(struct mpa_net),
};

int __init mpa_net_register(void)
{
	int err;

	mpa_net_none.mib = alloc_percpu(struct mpa_stats);
	if (!mpa_net_none.mib)
		return -ENOMEM;
	err = percpu_counter_init(&mpa_net_none.rx_mem, 0, GFP_KERNEL);
	if (err)
		goto free_mib;
	err = register_pernet_subsys(&mpa_net_ops);
	if (err)
		goto destroy_rx_mem;
	return 0;

destroy_rx_mem:
	percpu_counter_destroy(&mpa_net_none.rx_mem);
free_mib:
	free_percpu(mpa_net_none.mib);
	return err;
}

void mpa_net_unregister(void)
{
	unregister_pernet_subsys(&mpa_net_ops);
}

/* No connection is left. */
void mpa_net_exit_none(void)
{
	WARN_ON_ONCE(percpu_counter_sum(&mpa_net_none.rx_mem));
	percpu_counter_destroy(&mpa_net_none.rx_mem);
	free_percpu(mpa_net_none.mib);
}
