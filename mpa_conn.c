// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The connection as an object: references, the work item's queue, state, how
 * the connection ended, and the flags by which API functions tell the work item
 * what to do. The work item is in mpa_loop.c.
 *
 * Locks. Order: socket lock or slock -> sk_callback_lock, and socket lock or
 * slock -> conn->lock; neither of these two is taken under the other. More are
 * in mpa-design.rst, "Contexts and locks".
 *
 * - The socket lock is taken by mpa_attach() and by the runner, which calls the
 *   consumer without it. mpa_sk_run_here() alone calls recv(), run() and
 *   sent() with the socket locked: from sk_data_ready(), and in a task with
 *   BH off from mpa_loop_run_here().
 * - The socket lock and sk_callback_lock, for writing, are held while the
 *   socket's callbacks are exchanged. sk_callback_lock is held for reading
 *   while those of MPA run, but for sk_data_ready(), which is always called
 *   with the socket locked. A callback that finds TCP closed restores all of
 *   them under the read side; others that do so at the same time write the
 *   same values.
 * - conn->lock protects what API functions and the runner share: see struct
 *   mpa_conn. Under it mpa_detach() takes mpa_leaving_lock, the innermost.
 * - Everything else in a connection belongs to its runner, see
 *   mpa_conn_claim(). That is the task of the work item, or what stands in for
 *   it: a task in mpa_kick_now() or mpa_send_now(), or sk_data_ready().
 *
 * Lifetime. References are held by
 *
 * - the consumer, from mpa_attach() until released() has returned, and by
 *   mpa_conn_get();
 * - each queued or running work item, and each task that stands in for it;
 * - each batch, until its memory is freed;
 * - each train of whose zero-copy pages the network stack may still have some;
 * - a netlink request that is reading it, see mpa_net_get_from().
 *
 * The socket belongs to the consumer, which may close it in or after
 * released(): MPA no longer uses it then. Batches stay valid without it.
 * mpa_live counts connections until their memory is freed: the module's exit
 * waits for that, see mpa_main.c.
 */
#include <kunit/visibility.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include "mpa_conn.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mpa.h>

#define MPA_RETRY	(HZ / 50 + 1)	/* 20 ms at least */
#define MPA_LIVE_WARN	(10 * HZ)

/*
 * Workqueues of connections, attempts to connect and listeners: mpa_reclaim_wq
 * for those with MPA_F_MEMALLOC, mpa_wq for all others; see mpa_wq_of().
 *
 * Connections with MPA_F_MEMALLOC must make progress without new memory, so
 * their queue has a rescuer. It runs work items one at a time, and none of them
 * may wait for memory: in a common queue one could, and a connection later in
 * the queue may have to write that memory out. Nor may callbacks that block use
 * up the max_active of these connections. Ordinary connections may wait for
 * memory, hence for a new worker, and need no rescuer.
 *
 * Both queues are per CPU: packets are processed where they arrive, or on the
 * CPU of mpa_set_cpu() or net.mpa.cpus. Each has the default max_active;
 * therefore a callback must not wait for another one of its queue, see &struct
 * mpa_ops.
 */
struct workqueue_struct *mpa_wq;
struct workqueue_struct *mpa_reclaim_wq;

static struct kmem_cache *mpa_conn_cache;

/* Connections whose memory is not yet freed, for mpa_conn_wait_none(). */
static atomic_t mpa_live = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(mpa_live_wait);

/*
 * Connections detached and not yet released, for mpa_barrier(). One counter has
 * those detached since the last barrier began, which has exchanged the two; it
 * waits for those in the other.
 */
static DEFINE_SPINLOCK(mpa_leaving_lock);	/* mpa_leaving, _current */
static unsigned int mpa_leaving[2];
static u8 mpa_leaving_current;
static DECLARE_WAIT_QUEUE_HEAD(mpa_leaving_wait);
static DEFINE_MUTEX(mpa_barrier_mutex);		/* one barrier at a time */

static void mpa_conn_free(struct kref *ref)
{
	struct mpa_conn *conn = container_of(ref, struct mpa_conn, ref);

	WARN_ON_ONCE(conn->tx.train || conn->tx.cur || conn->rx.ready ||
		     conn->rx.copy || conn->ooo.ready ||
		     !list_empty(&conn->tx.ubufs));
	kfree(conn->ooo.known);
	kmem_cache_free(mpa_conn_cache, conn);
	if (atomic_dec_and_test(&mpa_live))
		wake_up_all(&mpa_live_wait);
}

int __init mpa_conn_init(void)
{
	/* sk_user_data uses the lowest bits of the pointer. */
	mpa_conn_cache = KMEM_CACHE(mpa_conn, SLAB_HWCACHE_ALIGN);
	if (!mpa_conn_cache)
		return -ENOMEM;
	mpa_wq = alloc_workqueue("mpa", MPA_WQ_PERCPU, 0);
	if (!mpa_wq)
		goto destroy_cache;
	mpa_reclaim_wq = alloc_workqueue("mpa_reclaim",
					 WQ_MEM_RECLAIM | MPA_WQ_PERCPU, 0);
	if (!mpa_reclaim_wq)
		goto destroy_wq;
	return 0;

destroy_wq:
	destroy_workqueue(mpa_wq);
destroy_cache:
	kmem_cache_destroy(mpa_conn_cache);
	return -ENOMEM;
}

/*
 * Wait until the last reference on each connection is dropped. That all are
 * released is not enough: the network stack may have dropped its last reference
 * on zero-copy pages and not yet queued the work item, and a consumer may put a
 * batch later.
 */
void mpa_conn_wait_none(void)
{
	while (!wait_event_timeout(mpa_live_wait, !atomic_read(&mpa_live),
				   MPA_LIVE_WARN))
		pr_warn("mpa: waiting for %d connections to be put\n",
			atomic_read(&mpa_live));
}
EXPORT_SYMBOL_IF_KUNIT(mpa_conn_wait_none);

void mpa_conn_exit(void)
{
	WARN_ON(atomic_read(&mpa_live));
	destroy_workqueue(mpa_reclaim_wq);
	destroy_workqueue(mpa_wq);
	kmem_cache_destroy(mpa_conn_cache);
}

/**
 * mpa_conn_get() - take a reference on a connection
 * @conn: connection
 *
 * Until mpa_conn_put() the connection stays in memory, also after released():
 * from then on functions that send fail, and others have no effect. The socket
 * and the consumer's context do not stay: after mpa_detach() mpa_get_info() and
 * mpa_mulpdu(), which read the socket, must not be called, nor mpa_conn_ctx()
 * and mpa_conn_socket() after released(). RFC 5044 has no counterpart.
 *
 * Context: any. The caller has a reference, or prevents the release.
 */
void mpa_conn_get(struct mpa_conn *conn)
{
	kref_get(&conn->ref);
}
EXPORT_SYMBOL_GPL(mpa_conn_get);

/**
 * mpa_conn_put() - drop a reference of mpa_conn_get()
 * @conn: connection, which may be freed
 *
 * RFC 5044 has no counterpart.
 *
 * Context: any.
 */
void mpa_conn_put(struct mpa_conn *conn)
{
	kref_put(&conn->ref, mpa_conn_free);
}
EXPORT_SYMBOL_GPL(mpa_conn_put);

/*
 * Claim the runner in place of the work item. Returns false if there is one, or
 * if the work item found one and has not run since: others cannot starve it.
 */
bool mpa_conn_stand_in(struct mpa_conn *conn)
{
	return !READ_ONCE(conn->runner) &&
	       !mpa_conn_test(conn, MPA_CONN_MISSED) && mpa_conn_claim(conn);
}

/*
 * For the work item, which has found another runner or MISSED set. If this
 * returns false, the runner queues it again.
 */
bool mpa_conn_claim_missed(struct mpa_conn *conn)
{
	if (READ_ONCE(conn->runner) != current) {
		set_bit(MPA_CONN_MISSED, &conn->flags);
		/* Pairs with xchg() in mpa_conn_unclaim(): one must see it. */
		smp_mb__after_atomic();
		if (!mpa_conn_claim(conn))
			return false;
	}
	clear_bit(MPA_CONN_MISSED, &conn->flags);
	return true;
}

/*
 * True in the runner: in its task, or in softirq below mpa_sk_run_here(), which
 * sets @atomic. In any other interrupt @runner may be the interrupted task.
 */
bool mpa_conn_is_runner(const struct mpa_conn *conn)
{
	if (READ_ONCE(conn->runner) != current)
		return false;
	if (in_task())
		return true;
	return READ_ONCE(conn->atomic) && !in_hardirq() && !in_nmi();
}
EXPORT_SYMBOL_IF_KUNIT(mpa_conn_is_runner);

/*
 * Queue the work item, or in the runner ask for another round; drops the
 * caller's reference. API functions take that reference before they unlock: a
 * callback may detach, and released() may return, before the API function does.
 */
void mpa_conn_kick_put(struct mpa_conn *conn)
{
	if (mpa_conn_is_runner(conn))
		conn->again = true;
	else if (queue_work_on(READ_ONCE(conn->cpu),
			       mpa_wq_of(conn->conn_flags), &conn->work))
		return;
	mpa_conn_put(conn);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_conn_kick_put);

/*
 * In a callback, with mpa_conn_is_runner(). Ask for another round, unless the
 * current one has not reached @phase yet.
 */
void mpa_conn_again(struct mpa_conn *conn, enum mpa_phase phase)
{
	if (conn->phase >= phase)
		conn->again = true;
}

/*
 * As mpa_conn_kick_put(), with a new reference. Context: as mpa_conn_get(). A
 * work item that is queued already will see all that led to this: while octets
 * arrive faster than it runs, CPUs do not contend for @ref and @work.
 */
void mpa_conn_kick(struct mpa_conn *conn)
{
	/*
	 * Pairs with the barrier of process_one_work() after it has cleared
	 * PENDING, for which queue_work() would have one, too.
	 */
	smp_mb();
	if (work_pending(&conn->work))
		return;
	mpa_conn_get(conn);
	mpa_conn_kick_put(conn);
}

/* Runner only. */
void mpa_conn_set_state(struct mpa_conn *conn, enum mpa_state state)
{
	lockdep_assert(READ_ONCE(conn->runner) == current);
	trace_mpa_state(conn, state);
	spin_lock_bh(&conn->lock);
	/* Pairs with mpa_tx_markers(): a reader of FULL sees the terms. */
	smp_store_release(&conn->state, state);
	spin_unlock_bh(&conn->lock);
}

/*
 * Memory for a batch and a train, of each CPU: they come and go with each short
 * message, and the allocator would cost as much as to decode it. A softirq may
 * receive a batch while the task that it interrupts has a train.
 */
struct mpa_spares {
	void	*first;
	void	*second;
};

static DEFINE_PER_CPU(struct mpa_spares, mpa_spares);

/* Memory of MPA_SPARE_SIZE octets, or NULL. Context: as @gfp. */
void *mpa_spare_take(gfp_t gfp)
{
	return this_cpu_xchg(mpa_spares.first, NULL) ?:
	       this_cpu_xchg(mpa_spares.second, NULL) ?:
	       kmalloc(MPA_SPARE_SIZE, gfp);
}

/*
 * Leave that memory to this CPU, or free it. KASAN is to see a consumer that
 * reads octets which it no longer has. Context: any but hard interrupt.
 */
void mpa_spare_give(void *spare)
{
	if (IS_ENABLED(CONFIG_KASAN) ||
	    (this_cpu_cmpxchg(mpa_spares.first, NULL, spare) &&
	     this_cpu_cmpxchg(mpa_spares.second, NULL, spare)))
		kfree(spare);
}

/* Module unload: no connection is left. */
void mpa_spare_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		kfree(per_cpu(mpa_spares.first, cpu));
		kfree(per_cpu(mpa_spares.second, cpu));
	}
}

/**
 * mpa_set_cpu() - choose the CPU of a connection
 * @conn: connection, which the caller keeps from being released
 * @cpu: number of a CPU that is online; or -1: where packets arrive
 *
 * The work item runs there, unless it is running or queued elsewhere when it is
 * queued again: callbacks, CRCs and copies, and what TCP sends in its calls.
 * TCP receives where packets arrive, and there recv() in softirq is called, and
 * its answer sent; tasks that call mpa_send_now() or mpa_kick_now() send where
 * they are. Replaces what net.mpa.cpus has chosen at the attach. If the CPU
 * goes offline, the work item runs on others. RFC 5044 has no counterpart.
 *
 * Context: any; takes no lock, does not sleep.
 * Return: 0, or %-EINVAL: there is no such CPU, or it is offline
 */
int mpa_set_cpu(struct mpa_conn *conn, int cpu)
{
	if (cpu == -1)
		cpu = WORK_CPU_UNBOUND;
	else if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	WRITE_ONCE(conn->cpu, cpu);
	return 0;
}
EXPORT_SYMBOL_GPL(mpa_set_cpu);

/*
 * An allocation failed: run again after MPA_RETRY. A timer that was due sooner
 * is put off until then, which does no harm: each run sets what it needs.
 */
void mpa_conn_retry(struct mpa_conn *conn)
{
	mpa_count(conn, NOMEM);
	mod_timer(&conn->timer, jiffies + MPA_RETRY);
}

static void mpa_conn_timer(struct timer_list *timer)
{
	struct mpa_conn *conn = timer_container_of(conn, timer, timer);

	set_bit(MPA_CONN_TIMEOUT, &conn->flags);
	mpa_conn_kick(conn);
}

/* A revision left out (0) means Rev 1: RFC 5044 section 7.1.1. */
static u8 mpa_params_rev(const struct mpa_params *params)
{
	if (params->flags & MPA_F_REV0)
		return MPA_REV_0;
	return params->rev ?: MPA_REV_1;
}

/* With one reference, the consumer's. The caller sets @work and @mn. */
struct mpa_conn *mpa_conn_alloc(struct socket *sock,
				const struct mpa_params *params)
{
	bool memalloc = params->flags & MPA_F_MEMALLOC;
	struct mpa_conn *conn;

	conn = kmem_cache_zalloc(mpa_conn_cache,
				 memalloc ? GFP_NOIO : GFP_KERNEL);
	if (!conn)
		return NULL;

	atomic_inc(&mpa_live);
	kref_init(&conn->ref);
	conn->flags = BIT(MPA_CONN_HOLD);
	conn->phase = MPA_PHASE_TX;
	conn->cpu = WORK_CPU_UNBOUND;
	conn->sk = sock->sk;
	conn->sock = sock;
	conn->ops = params->ops;
	conn->ctx = params->ctx;
	RB_CLEAR_NODE(&conn->net_node);
	INIT_LIST_HEAD(&conn->startup_node);
	conn->conn_flags = params->flags;
	conn->local.rev = mpa_params_rev(params);
	conn->local.markers = params->flags & (MPA_F_MARKERS | MPA_F_OOO);
	conn->local.strict = params->flags & MPA_F_STRICT;
	conn->local.pd_max = params->pd_max ?: MPA_PD_MAX;
	conn->local.enhanced = params->flags & MPA_F_ENHANCED;
	conn->local.erd = params->enhanced;
	conn->local.ird_max = params->ird_max;
	timer_setup(&conn->timer, mpa_conn_timer, 0);
	init_completion(&conn->done);
	spin_lock_init(&conn->lock);
	conn->terms.rev = MPA_REV_NONE;
	conn->peer_rev = MPA_REV_NONE;
	INIT_LIST_HEAD(&conn->tx.queue);
	INIT_LIST_HEAD(&conn->tx.sending);
	INIT_LIST_HEAD(&conn->tx.ubufs);
	INIT_LIST_HEAD(&conn->rx.batches);
	return conn;
}

/* By reason: RFC 5044 section 8, RFC 6581 section 8 */
static const struct {
	const char	*name;
	enum mpa_error	error;
	int		err;	/* where the caller has none */
} mpa_reasons[] = {
	[MPA_REASON_NONE]	= { "none", MPA_ERR_NONE, 0 },
	[MPA_REASON_FIN]	= { "fin", MPA_ERR_TCP, 0 },
	[MPA_REASON_TRUNCATED]	= { "truncated", MPA_ERR_TCP, -EPROTO },
	[MPA_REASON_RESET]	= { "reset", MPA_ERR_TCP, -EPROTO },
	[MPA_REASON_ABORTED]	= { "aborted", MPA_ERR_TCP, -EPROTO },
	[MPA_REASON_CRC]	= { "crc", MPA_ERR_CRC, -EBADMSG },
	[MPA_REASON_MARKER]	= { "marker", MPA_ERR_MARKER, -EPROTO },
	[MPA_REASON_LENGTH]	= { "length", MPA_ERR_MARKER, -EPROTO },
	[MPA_REASON_URGENT]	= { "urgent", MPA_ERR_MARKER, -EPROTO },
	[MPA_REASON_KEY]	= { "key", MPA_ERR_FRAME, -EPROTO },
	[MPA_REASON_ROLE]	= { "role", MPA_ERR_FRAME, -EPROTO },
	[MPA_REASON_REVISION]	= { "revision", MPA_ERR_FRAME, -EPROTO },
	[MPA_REASON_PD_LENGTH]	= { "pd-length", MPA_ERR_FRAME, -EPROTO },
	[MPA_REASON_SHORT_FRAME] = { "short-frame", MPA_ERR_FRAME, -EPROTO },
	[MPA_REASON_EARLY]	= { "early-octets", MPA_ERR_FRAME, -EPROTO },
	[MPA_REASON_TIMEOUT]	= { "timeout", MPA_ERR_FRAME, -ETIMEDOUT },
	[MPA_REASON_STARTUP_OVERFLOW] = {
		"startup-overflow", MPA_ERR_FRAME, -ECONNABORTED,
	},
	[MPA_REASON_NOMEM]	= { "no-memory", MPA_ERR_FRAME, -ENOMEM },
	[MPA_REASON_ENHANCED]	= { "enhanced", MPA_ERR_FRAME, -EPROTO },
	[MPA_REASON_IRD]	= { "ird", MPA_ERR_IRD, -EPROTO },
	[MPA_REASON_RTR]	= { "rtr", MPA_ERR_RTR, -EPROTO },
};

static_assert(ARRAY_SIZE(mpa_reasons) == MPA_REASON_RTR + 1);

/**
 * mpa_reason_name() - name of a reason
 * @reason: reason
 *
 * RFC 5044 has no counterpart.
 *
 * Context: any.
 * Return: a constant string
 */
const char *mpa_reason_name(enum mpa_reason reason)
{
	if (reason >= ARRAY_SIZE(mpa_reasons))
		return "unknown";
	return mpa_reasons[reason].name;
}
EXPORT_SYMBOL_GPL(mpa_reason_name);

/*
 * Note how the receive half ended; mpa_loop.c tells the consumer. With @err 0
 * it is the errno of @reason.
 */
void mpa_conn_end(struct mpa_conn *conn, enum mpa_reason reason, int err)
{
	conn->rx.end.reason = reason;
	conn->rx.end.error = mpa_reasons[reason].error;
	/* The octets of startup are those of frames, not of FPDUs. */
	if (reason == MPA_REASON_URGENT && conn->state <= MPA_STATE_DECIDE)
		conn->rx.end.error = MPA_ERR_FRAME;
	conn->rx.end.err = err ?: mpa_reasons[reason].err;
}

/*
 * Runner only. The connection is over in both directions: reset TCP, and
 * enter MPA_STATE_CLOSED, in which mpa_loop.c hands everything back and reports
 * this. Octets not delivered and a FIN not reported are dropped.
 */
void mpa_conn_fail(struct mpa_conn *conn, enum mpa_reason reason, int err)
{
	mpa_tcp_reset(conn->sk);
	if (!conn->rx.reported)
		mpa_conn_end(conn, reason, err);
	conn->rx.closed_err = err;
	mpa_conn_set_state(conn, MPA_STATE_CLOSED);
}

/**
 * mpa_kick() - ask for a round of the work item
 * @conn: connection, which the caller keeps from being released
 *
 * In full operation run() is called at least once after this, see &struct
 * mpa_ops; several calls may have one run() in common. Before full operation
 * run() comes when that begins; afterwards it no longer comes. RFC 5044 has no
 * counterpart.
 *
 * Context: any, also hard interrupt or interrupts off; takes no lock of MPA,
 * does not sleep. May be called from callbacks.
 */
void mpa_kick(struct mpa_conn *conn)
{
	if (mpa_conn_is_runner(conn))
		mpa_conn_again(conn, MPA_PHASE_RUN);
	else
		mpa_conn_kick(conn);
}
EXPORT_SYMBOL_GPL(mpa_kick);

/**
 * mpa_shutdown() - close the sending half
 * @conn: connection in full operation
 *
 * Messages that are queued are sent first, then TCP's FIN (RFC 5044 section
 * 7.2). Receiving continues. A second call has no effect.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks.
 * Return: 0, or %-ENOTCONN: not in full operation, or after mpa_detach()
 */
int mpa_shutdown(struct mpa_conn *conn)
{
	int err = -ENOTCONN;
	bool kick = false;

	spin_lock_bh(&conn->lock);
	if (conn->state == MPA_STATE_FULL &&
	    !mpa_conn_test(conn, MPA_CONN_DETACH)) {
		/*
		 * Only a change asks for a round: a run() that calls this each
		 * time would have rounds for ever.
		 */
		kick = !test_and_set_bit(MPA_CONN_SHUTDOWN, &conn->flags);
		if (kick)
			mpa_conn_get(conn);
		err = 0;
	}
	spin_unlock_bh(&conn->lock);
	if (kick)
		mpa_conn_kick_put(conn);
	return err;
}
EXPORT_SYMBOL_GPL(mpa_shutdown);

/**
 * mpa_abort() - reset the connection
 * @conn: connection, in any state
 *
 * Resets the TCP connection (RFC 5044 section 8, code 1: lost). Messages not
 * yet handed back are handed back in order, with %-ECANCELED; but 0, if this is
 * called in next() or mulpdu(), for what TCP has taken by then. ended() reports
 * %MPA_REASON_ABORTED unless it was called before, or MPA finds another end in
 * the round that is running. All this happens later, in the work item. The
 * consumer must still call mpa_detach().
 *
 * Context: any but hard interrupt; takes no lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_abort(struct mpa_conn *conn)
{
	mpa_conn_get(conn);
	set_bit(MPA_CONN_ABORT, &conn->flags);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_abort);

/* conn->lock held. mpa_barrier() waits for @conn from now on. */
static void mpa_conn_begin_leaving(struct mpa_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	spin_lock(&mpa_leaving_lock);
	conn->leaving = mpa_leaving_current;
	mpa_leaving[conn->leaving]++;
	spin_unlock(&mpa_leaving_lock);
}

static void mpa_conn_end_leaving(struct mpa_conn *conn)
{
	bool last;

	spin_lock_bh(&mpa_leaving_lock);
	last = !--mpa_leaving[conn->leaving];
	spin_unlock_bh(&mpa_leaving_lock);
	if (last)
		wake_up_all(&mpa_leaving_wait);
}

/**
 * mpa_detach() - take MPA off the socket
 * @conn: connection, in any state; the consumer must not use it afterwards,
 *	except for mpa_conn_ctx() and mpa_conn_socket() until released()
 *	returns, mpa_rx_put() of batches that it kept, and with a reference as
 *	mpa_conn_get() says
 *
 * After this has returned no callback starts but released(), which is called
 * once. A callback that MPA is about to call counts as running. In released()
 * no other callback is running, the socket has its callbacks back, and messages
 * not yet handed back are on the list of released(). Octets that were delivered
 * have been consumed from TCP; others have not, including those passed out of
 * order; but after ended() in full operation MPA reads and drops all that the
 * peer sends. The consumer must look for octets that are in the socket already:
 * its data_ready callback was not called for them.
 *
 * The TCP connection is reset (RFC 5044 A.1) if a message was accepted, is not
 * yet given to TCP and has not failed, if part of an FPDU was consumed and the
 * FPDU is not delivered (one that is longer than the window; while TCP as a
 * whole is short of memory any) and ended() has not come, if mpa_abort() was
 * called before, and maybe if it is called later, before released(), if TCP has
 * no memory for the FIN that mpa_shutdown() asked for, or, in full operation,
 * if another user reconnected the socket. Otherwise it stays as it is, and that
 * FIN is sent. In startup part of a frame may have been read or sent, and right
 * after mpa_reject() TCP is reset if the peer has sent more than its Request.
 *
 * released() waits until the network stack has finished with all pages of zero-
 * copy messages, see &struct mpa_tx. If that takes more than a second, the TCP
 * connection is reset. Even then released() waits until the last packet with
 * such pages has left the queues of this host. If the peer is another namespace
 * on this host, its administrator can keep the packets queued indefinitely: do
 * not use %MPA_TX_ZEROCOPY towards a namespace that is not trusted. If TCP is
 * lost, or reset, before released(), no message is on its list with status 0,
 * unless another user has connected the socket again by then.
 *
 * Context: any with interrupts on; takes conn->lock, never waits. May be called
 * from callbacks.
 */
void mpa_detach(struct mpa_conn *conn)
{
	mpa_conn_get(conn);
	spin_lock_bh(&conn->lock);
	/* Counted first: the runner may release it once it sees the flag. */
	if (!mpa_conn_test(conn, MPA_CONN_DETACH)) {
		mpa_conn_begin_leaving(conn);
		set_bit(MPA_CONN_DETACH, &conn->flags);
	}
	spin_unlock_bh(&conn->lock);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_detach);

/* released() has returned: drop the consumer's reference. */
void mpa_conn_drop_consumer(struct mpa_conn *conn)
{
	complete_all(&conn->done);
	mpa_conn_end_leaving(conn);
	mpa_conn_put(conn);
}

static bool mpa_conn_none_leaving(u8 counter)
{
	bool none;

	spin_lock_bh(&mpa_leaving_lock);
	none = !mpa_leaving[counter];
	spin_unlock_bh(&mpa_leaving_lock);
	return none;
}

/*
 * Wait until every connection that was detached before has left. Those that are
 * detached from now on count in the other counter. That is zero: the barrier
 * before this one has waited for it, and nothing was counted there since.
 */
void mpa_conn_wait_left(void)
{
	u8 old;

	mutex_lock(&mpa_barrier_mutex);
	spin_lock_bh(&mpa_leaving_lock);
	old = mpa_leaving_current;
	mpa_leaving_current = !old;
	spin_unlock_bh(&mpa_leaving_lock);
	wait_event(mpa_leaving_wait, mpa_conn_none_leaving(old));
	mutex_unlock(&mpa_barrier_mutex);
}

/**
 * mpa_hold() - stop delivery
 * @conn: connection
 *
 * After this has returned no recv() starts until mpa_resume(); one may still be
 * running, and one that MPA is about to call counts as running. Octets that
 * arrive, in order or not, stay in TCP's queues, and the window closes when
 * these are full: nothing is lost. Two FPDUs alone are consumed, if they are
 * longer than the window, or TCP is short of memory: one of which a part was
 * consumed before, and a Responder's first, which is verified on hold as well,
 * since nothing can be sent before. A FIN is reported after the octets before
 * it have been delivered, a reset at once. RFC 5044 section 5.2 leaves flow
 * control to TCP.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_hold(struct mpa_conn *conn)
{
	spin_lock_bh(&conn->lock);
	set_bit(MPA_CONN_HOLD, &conn->flags);
	spin_unlock_bh(&conn->lock);
}
EXPORT_SYMBOL_GPL(mpa_hold);

/**
 * mpa_resume() - begin or continue delivery
 * @conn: connection; full operation begins on hold
 *
 * RFC 5044 section 7.1.2: the consumer enables receiving when it is ready. No
 * effect if delivery is not on hold. A call before full operation is for the
 * hold with which that begins: recv() may then follow established() at once.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_resume(struct mpa_conn *conn)
{
	bool kick;

	spin_lock_bh(&conn->lock);
	/*
	 * Only a change asks for a round: a run() that calls this each time
	 * would have rounds for ever.
	 */
	kick = test_and_clear_bit(MPA_CONN_HOLD, &conn->flags);
	if (kick)
		mpa_conn_get(conn);
	spin_unlock_bh(&conn->lock);
	if (kick)
		mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_resume);
