// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection: taking over a socket, the work item that runs everything,
 * and giving the socket back.
 *
 * Locks. Order: socket lock or slock -> sk_callback_lock -> conn->lock.
 *
 * - The socket lock is taken by the work item only, and never while it calls
 *   the consumer.
 * - sk_callback_lock is held for writing while the socket's callbacks are
 *   exchanged, for reading while ours run.
 * - conn->lock is innermost. It protects what API functions and the work item
 *   share: state, queue of messages, list of batches.
 * - All else in a connection belongs to the work item, which never runs twice
 *   at once.
 *
 * Lifetime. References are held by
 *
 * - the consumer, from mpa_attach() until released() has returned;
 * - each queued or running work item;
 * - each batch that the consumer has not put;
 * - each zero-copy message of which the network stack may have pages.
 *
 * The socket is the consumer's and outlives all but the batches.
 *
 * Teardown, in mpa_conn_release(): (1) mpa_conn_off() restores the callbacks
 * with the socket lock and the write side of sk_callback_lock held. TCP calls
 * them with the slock or the socket lock held, so none of ours runs or starts
 * again: nothing comes from the socket. (2) Zero-copy messages are waited
 * for, each kicks the work item when it is done: nothing comes from the network
 * stack. A peer that does not read cannot delay that: after a second TCP
 * is reset, which drops its pages, and packets on their way are soon there;
 * but see mpa_detach(). (3) timer_shutdown_sync(): nothing comes
 * from the timer. (4) With RELEASED set under conn->lock a late mpa_rx_put()
 * frees its batch itself. What remains is the consumer, whose last word was
 * mpa_detach().
 */
#include <kunit/visibility.h>
#include <linux/kmemleak.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_early.h"

#define MPA_ROUNDS	16	/* of the work item before it queues itself */
#define MPA_RETRY	(HZ / 50 + 1)
#define MPA_RELEASE	HZ	/* wait for zero-copy pages, then reset */
#define MPA_LIVE_WARN	(10 * HZ)

static struct kmem_cache *mpa_conn_cache;

/*
 * The upper layer protocol of sockets that MPA has. TCP_ULP and sockmap refuse
 * such a socket; otherwise they would exchange its callbacks, and restore those
 * of MPA later. Allocated, since it outlives the module if a socket keeps it.
 */
static struct tcp_ulp_ops *mpa_ulp;
static bool mpa_ulp_kept;

/* Connections whose memory is not yet freed, for mpa_conn_wait_none(). */
static atomic_t mpa_live = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(mpa_live_wait);

/* Connections detached and not yet released, for mpa_barrier(). */
static atomic_t mpa_leaving = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(mpa_leaving_wait);

static void mpa_conn_free(struct kref *ref)
{
	struct mpa_conn *conn = container_of(ref, struct mpa_conn, ref);

	WARN_ON_ONCE(conn->tx.train || conn->tx.cur || conn->tx.frag.page ||
		     conn->rx.ready || conn->rx.copy || conn->ooo.ready);
	kfree(conn->ooo.known);
	kmem_cache_free(mpa_conn_cache, conn);
	if (atomic_dec_and_test(&mpa_live))
		wake_up_all(&mpa_live_wait);
}

int mpa_conn_init(void)
{
	mpa_conn_cache = KMEM_CACHE(mpa_conn, 0);
	if (!mpa_conn_cache)
		return -ENOMEM;
	mpa_ulp = kzalloc(sizeof(*mpa_ulp), GFP_KERNEL);
	if (!mpa_ulp) {
		kmem_cache_destroy(mpa_conn_cache);
		return -ENOMEM;
	}
	strscpy(mpa_ulp->name, MPA_ULP_NAME);
	return 0;
}

/*
 * Wait until the last reference on each connection is dropped. That all are
 * released is not enough: the network stack may have dropped its last reference
 * on a zero-copy message and not yet queued the work item, and a consumer may
 * put a batch later.
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
	if (mpa_ulp_kept)
		kmemleak_ignore(mpa_ulp);
	else
		kfree(mpa_ulp);
	kmem_cache_destroy(mpa_conn_cache);
}

/* Context: any. The caller has a reference or holds off the release. */
void mpa_conn_hold(struct mpa_conn *conn)
{
	kref_get(&conn->ref);
}

/* Context: any. */
void mpa_conn_put(struct mpa_conn *conn)
{
	kref_put(&conn->ref, mpa_conn_free);
}

/*
 * Is it the work item itself that calls, from a callback? An interrupt on top
 * of it is not.
 */
static bool mpa_conn_runs(const struct mpa_conn *conn)
{
	return in_task() && READ_ONCE(conn->runner) == current;
}

/*
 * Have the work item run; uses up a reference of the caller. API functions take
 * it before they let go of what they have done: a callback that comes of it may
 * detach, and released() be over, before they are.
 */
void mpa_conn_kick_put(struct mpa_conn *conn)
{
	if (mpa_conn_runs(conn))
		conn->again = true;
	else if (queue_work(mpa_wq_of(conn->conn_flags), &conn->work))
		return;
	mpa_conn_put(conn);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_conn_kick_put);

/* Have the work item run. Context: any; as mpa_conn_hold(). */
void mpa_conn_kick(struct mpa_conn *conn)
{
	mpa_conn_hold(conn);
	mpa_conn_kick_put(conn);
}

/* Work item only. */
void mpa_conn_set_state(struct mpa_conn *conn, enum mpa_state state)
{
	trace_mpa_state(conn, state);
	if (conn->state == MPA_STATE_STARTUP)
		mpa_net_startup_end(conn);
	spin_lock_bh(&conn->lock);
	/* Pairs with the acquire in mpa_mulpdu(). */
	smp_store_release(&conn->state, state);
	spin_unlock_bh(&conn->lock);
}

/* Memory was short: run again a little later. */
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

/* Is there, or can there be, no more of the FPDU that is waited for? */
static bool mpa_sk_readable(const struct mpa_conn *conn, struct sock *sk)
{
	if (READ_ONCE(conn->state) != MPA_STATE_FULL)
		return true;
	if (READ_ONCE(conn->rx.blocked))
		return false;
	return !before(READ_ONCE(tcp_sk(sk)->rcv_nxt),
		       READ_ONCE(conn->rx.need)) ||
	       READ_ONCE(tcp_sk(sk)->urg_data) ||
	       tcp_epollin_ready(sk, INT_MAX);
}

/*
 * Callbacks of the socket. TCP calls them with the slock or the socket lock
 * held; the few callers that hold neither may find no connection any more.
 */
static void mpa_sk_data_ready(struct sock *sk)
{
	void (*ready)(struct sock *sk);
	struct mpa_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = mpa_conn_of(sk);
	ready = READ_ONCE(sk->sk_data_ready);
	if (conn && !mpa_conn_test(conn, MPA_CONN_START)) {
		conn->data_ready(sk);
	} else if (conn) {
		if (mpa_tcp_keep_window_updates(sk) ||
		    mpa_sk_readable(conn, sk) || mpa_tx_untold(conn))
			mpa_conn_kick(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (!conn && ready != mpa_sk_data_ready)
		ready(sk);
}

/* There may be room; if not for us, TCP is to tell at the next ACK, too. */
static void mpa_conn_room(struct mpa_conn *conn, struct sock *sk)
{
	if (READ_ONCE(conn->tx.busy))
		return;
	if (mpa_tcp_has_room(sk))
		mpa_conn_kick(conn);
	else
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

static void mpa_sk_write_space(struct sock *sk)
{
	void (*space)(struct sock *sk);
	struct mpa_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = mpa_conn_of(sk);
	space = READ_ONCE(sk->sk_write_space);
	if (conn) {
		conn->write_space(sk);
		mpa_conn_room(conn, sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (!conn && space != mpa_sk_write_space)
		space(sk);
}

/* TCP has its callbacks back. */
static void mpa_conn_unhook(const struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	if (conn->sock->file)
		WRITE_ONCE(mpa_ulp_kept, true);
	else
		cmpxchg(&inet_csk(sk)->icsk_ulp_ops, mpa_ulp, NULL);
	WRITE_ONCE(sk->sk_data_ready, conn->data_ready);
	WRITE_ONCE(sk->sk_write_space, conn->write_space);
	WRITE_ONCE(sk->sk_error_report, conn->error_report);
	/*
	 * Pairs with the acquire in mpa_conn_of(): a callback that finds no
	 * connection finds the other callbacks restored.
	 */
	smp_store_release(&sk->sk_state_change, conn->state_change);
}

/*
 * TCP that is closed has no more to tell. But whoever else has the socket may
 * make it listen, although it is borrowed: what it accepts would have our
 * callbacks, and nobody to take them back.
 */
static void mpa_conn_changed(struct mpa_conn *conn)
{
	if (inet_sk_state_load(conn->sk) == TCP_CLOSE) {
		/*
		 * Pairs with the test of GONE in mpa_conn_stranger(): a reader
		 * that sees GONE also sees TCP_CLOSE.
		 */
		smp_mb__before_atomic();
		set_bit(MPA_CONN_GONE, &conn->flags);
		/*
		 * Orders GONE before the restored callbacks: if
		 * tcp_disconnect() calls these, mpa_conn_stranger() must see
		 * GONE when the socket is unlocked.
		 */
		smp_mb__after_atomic();
		mpa_conn_unhook(conn);
		mpa_early_end(conn);
	}
	mpa_conn_kick(conn);
}

static void mpa_sk_state_change(struct sock *sk)
{
	void (*change)(struct sock *sk);
	struct mpa_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = mpa_conn_of(sk);
	change = READ_ONCE(sk->sk_state_change);
	if (conn) {
		conn->state_change(sk);
		mpa_conn_changed(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (!conn && change != mpa_sk_state_change)
		change(sk);
}

static void mpa_sk_error_report(struct sock *sk)
{
	void (*report)(struct sock *sk);
	struct mpa_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = mpa_conn_of(sk);
	report = READ_ONCE(sk->sk_error_report);
	if (conn) {
		conn->error_report(sk);
		mpa_conn_changed(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (!conn && report != mpa_sk_error_report)
		report(sk);
}

/* The pointer in sk_user_data, which may be another owner's. */
static struct mpa_conn *mpa_conn_user_data(const struct sock *sk)
{
	return (void *)((uintptr_t)sk->sk_user_data & SK_USER_DATA_PTRMASK);
}

/*
 * Returns the connection whose callbacks the socket has, or NULL. While the
 * socket has MPA's callbacks, sk_user_data is a connection. They are set and
 * restored together, so testing one is enough. The socket lock, the slock or
 * sk_callback_lock is held.
 */
struct mpa_conn *mpa_conn_of(const struct sock *sk)
{
	/* Pairs with the release in mpa_conn_unhook(). */
	if (smp_load_acquire(&sk->sk_state_change) != mpa_sk_state_change)
		return NULL;
	return mpa_conn_user_data(sk);
}

static int mpa_conn_enlist(struct mpa_conn *conn)
{
	struct mpa_net *mn = conn->mn;
	int err = -ENETDOWN;

	spin_lock_bh(&mn->lock);
	if (!mn->dying) {
		list_add_tail(&conn->net_node, &mn->conns);
		err = 0;
	}
	spin_unlock_bh(&mn->lock);
	return err;
}

/* Socket lock held. */
static int mpa_conn_on(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	int err;

	sock_owned_by_me(sk);

	write_lock_bh(&sk->sk_callback_lock);
	err = mpa_tcp_check(conn->sock);
	/* What is on the list may be ended: no attempt that fails is. */
	if (!err)
		err = mpa_conn_enlist(conn);
	if (err)
		goto unlock;

	conn->data_ready = sk->sk_data_ready;
	conn->write_space = sk->sk_write_space;
	conn->state_change = sk->sk_state_change;
	conn->error_report = sk->sk_error_report;
	/* Sockets that it accepts, should it ever listen, do not have it. */
	__rcu_assign_sk_user_data_with_flags(sk, conn, SK_USER_DATA_NOCOPY);
	WRITE_ONCE(sk->sk_data_ready, mpa_sk_data_ready);
	WRITE_ONCE(sk->sk_write_space, mpa_sk_write_space);
	WRITE_ONCE(sk->sk_state_change, mpa_sk_state_change);
	WRITE_ONCE(sk->sk_error_report, mpa_sk_error_report);
	WRITE_ONCE(inet_csk(sk)->icsk_ulp_ops, mpa_ulp);
unlock:
	write_unlock_bh(&sk->sk_callback_lock);
	return err;
}

/* Undo mpa_conn_on() and what the start has changed. */
static void mpa_conn_off(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	bool ours;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (mpa_conn_of(sk) == conn)
		mpa_conn_unhook(conn);
	ours = mpa_conn_user_data(sk) == conn;
	if (ours)
		sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);

	mpa_early_end(conn);
	if (!ours)
		goto unlock;
	sk->sk_allocation = conn->allocation;
	sk->sk_use_task_frag = conn->task_frag;
	WRITE_ONCE(sk->sk_rcvlowat, conn->rcvlowat);
	if (conn->nagle)
		tcp_sk(sk)->nonagle &= ~TCP_NAGLE_OFF;
	if (conn->cork)
		tcp_sk(sk)->nonagle |= TCP_NAGLE_CORK;
unlock:
	release_sock(sk);
}

/*
 * The namespace may go away before the connection does: from now on count the
 * memory and the events of the connection in mpa_net_none.
 */
static void mpa_conn_leave_net(struct mpa_conn *conn)
{
	s64 pinned;

	spin_lock_bh(&conn->lock);
	pinned = (s64)conn->rx.pinned + conn->ooo.pinned;
	mpa_net_rx_mem_add(conn->mn, -pinned);
	WRITE_ONCE(conn->mn, &mpa_net_none);
	mpa_net_rx_mem_add(&mpa_net_none, pinned);
	spin_unlock_bh(&conn->lock);
}

/*
 * Must be the last step that uses the namespace: its exit waits for this work
 * item only if the connection is on the list, or was when the exit began.
 */
static void mpa_conn_unlist(struct mpa_conn *conn)
{
	struct mpa_net *mn = READ_ONCE(conn->mn);

	mpa_conn_leave_net(conn);
	spin_lock_bh(&mn->lock);
	list_del_init(&conn->net_node);
	spin_unlock_bh(&mn->lock);
}

/*
 * True if another user of the socket closed and reconnected it. Stays true when
 * the new stream is closed, too, for example by MPA's reset. Stable while the
 * socket lock is held. A caller need not report it: mpa_conn_changed() queued
 * the work item when the socket was closed.
 */
bool mpa_conn_stranger(struct mpa_conn *conn)
{
	if (!mpa_conn_test(conn, MPA_CONN_GONE))
		return false;
	if (inet_sk_state_load(conn->sk) != TCP_CLOSE)
		set_bit(MPA_CONN_STRANGER, &conn->flags);
	return mpa_conn_test(conn, MPA_CONN_STRANGER);
}

/*
 * Must TCP be reset when MPA leaves it? TX-01: what was accepted is sent, or
 * the connection fails; nor can a stream be read on that lacks octets. And who
 * was connected behind our back is told, as when that is found earlier.
 */
static bool mpa_conn_broken(struct mpa_conn *conn)
{
	if (mpa_conn_test(conn, MPA_CONN_ABORT))
		return true;
	return conn->state == MPA_STATE_FULL &&
	       (mpa_conn_stranger(conn) || mpa_tx_pending(conn) ||
		(conn->rx.eaten && (conn->rx.ready || !conn->rx.end.error)));
}

/* First part of the release. */
static void mpa_conn_leave_socket(struct mpa_conn *conn)
{
	if (mpa_conn_broken(conn) ||
	    (conn->state == MPA_STATE_FULL && mpa_tx_fin(conn))) {
		mpa_count(conn, RESETS);
		mpa_tcp_reset(conn->sk);
	}
	/* While MPA's callbacks are there, to notice a reconnected socket. */
	mpa_rx_finish(conn);
	mpa_conn_off(conn);
	mpa_cm_free(conn);
	mpa_tx_cancel(conn, -ECANCELED);
	timer_delete_sync(&conn->timer);
	clear_bit(MPA_CONN_TIMEOUT, &conn->flags);
	mod_timer(&conn->timer, jiffies + MPA_RELEASE);
}

/*
 * mpa_detach() was called: the argument why this is safe is at the top of the
 * file. Runs again while zero-copy messages are waited for.
 */
static void mpa_conn_release(struct mpa_conn *conn)
{
	LIST_HEAD(left);

	if (!test_and_set_bit(MPA_CONN_OFF, &conn->flags))
		mpa_conn_leave_socket(conn);
	if (!mpa_tx_idle(conn)) {
		if (test_and_clear_bit(MPA_CONN_TIMEOUT, &conn->flags) ||
		    mpa_conn_test(conn, MPA_CONN_ABORT))
			mpa_tcp_reset(conn->sk);
		return;
	}

	timer_shutdown_sync(&conn->timer);
	mpa_net_startup_end(conn);
	mpa_count(conn, RELEASED);
	/* From now on the namespace does not wait for this work item. */
	mpa_conn_unlist(conn);
	mpa_tx_collect(conn, &left);
	set_bit(MPA_CONN_RELEASED, &conn->flags);
	conn->ops->released(conn, &left);
	complete_all(&conn->done);
	if (atomic_dec_and_test(&mpa_leaving))
		wake_up_all(&mpa_leaving_wait);
	mpa_conn_put(conn);
}

/* Returns the error with which TCP was lost, or 0. */
static int mpa_conn_gone(struct mpa_conn *conn)
{
	/* After a rejection it is not ours to watch. */
	if (conn->state == MPA_STATE_REJECTED)
		return 0;
	if (mpa_conn_stranger(conn))
		return -ECONNRESET;
	/* In startup the octets that came before are looked at first. */
	return conn->state > MPA_STATE_STARTUP ? mpa_tcp_lost(conn->sk) : 0;
}

/* The consumer gave up, or TCP did: true if there is nothing left to run. */
static bool mpa_conn_over(struct mpa_conn *conn)
{
	int err;

	if (conn->state == MPA_STATE_CLOSED)
		return true;
	if (mpa_conn_test(conn, MPA_CONN_ABORT)) {
		mpa_cm_lost(conn, MPA_REASON_ABORTED, -ECANCELED);
		return true;
	}
	err = mpa_conn_gone(conn);
	if (!err)
		return false;
	mpa_cm_lost(conn, MPA_REASON_RESET, err);
	return true;
}

/* Both sides have closed gracefully, and all is reported and handed back. */
static bool mpa_conn_finished(struct mpa_conn *conn)
{
	if (!conn->tx.fin || !conn->rx.reported || !mpa_tx_idle(conn) ||
	    inet_sk_state_load(conn->sk) != TCP_CLOSE)
		return false;
	mpa_conn_set_state(conn, MPA_STATE_CLOSED);
	return true;
}

/* One round; true if another one would find something to do. */
static bool mpa_conn_round(struct mpa_conn *conn)
{
	bool more;

	if (mpa_conn_over(conn)) {
		if (mpa_tx_flush(conn))
			mpa_cm_closed(conn);
		return false;
	}

	switch (conn->state) {
	case MPA_STATE_ATTACHED:
	case MPA_STATE_STARTUP:
	case MPA_STATE_DECIDE:
		return mpa_cm_run(conn);
	case MPA_STATE_FULL:
		more = mpa_rx_run(conn);
		if (conn->state == MPA_STATE_CLOSED)
			return false;
		more = mpa_tx_run(conn) || more;
		return mpa_conn_finished(conn) || more;
	case MPA_STATE_REJECTED:
	case MPA_STATE_CLOSED:
		break;
	}
	return false;
}

/* Returns whether there is more to do after this run's share. */
static bool mpa_conn_run(struct mpa_conn *conn)
{
	u64 deadline = local_clock() + NSEC_PER_MSEC;
	unsigned int i;

	for (i = 0; i < MPA_ROUNDS; i++) {
		conn->again = false;
		if (mpa_conn_test(conn, MPA_CONN_DETACH)) {
			mpa_conn_release(conn);
			return conn->again &&
			       !mpa_conn_test(conn, MPA_CONN_RELEASED);
		}
		if (!mpa_conn_round(conn) && !conn->again)
			return mpa_conn_test(conn, MPA_CONN_DETACH);
		if (local_clock() > deadline)
			break;
	}
	return true;
}

static void mpa_conn_work(struct work_struct *work)
{
	struct mpa_conn *conn = container_of(work, struct mpa_conn, work);
	unsigned int memalloc = mpa_memalloc_save(conn->conn_flags);
	bool more = false;

	WRITE_ONCE(conn->runner, current);
	if (!mpa_conn_test(conn, MPA_CONN_RELEASED))
		more = mpa_conn_run(conn);
	WRITE_ONCE(conn->runner, NULL);
	/* After clearing runner: from now on mpa_rx_put() queues a new run. */
	if (mpa_conn_test(conn, MPA_CONN_RELEASED))
		mpa_rx_free_put(conn);
	mpa_memalloc_restore(conn->conn_flags, memalloc);

	if (more)
		mpa_conn_kick_put(conn);
	else
		mpa_conn_put(conn);
}

/* Values that RFC 6581 section 9 can express. */
bool mpa_enhanced_ok(const struct mpa_enhanced *enhanced, u16 ird_max)
{
	return enhanced->ird <= MPA_DEPTH_ULP &&
	       enhanced->ord <= MPA_DEPTH_ULP && ird_max <= MPA_DEPTH_ULP &&
	       !(enhanced->rtr & ~(MPA_RTR_SEND | MPA_RTR_WRITE |
				   MPA_RTR_READ));
}

bool mpa_params_ok(const struct mpa_params *params)
{
	const struct mpa_ops *ops = params->ops;

	if (!ops || !ops->recv || !ops->ended || !ops->released ||
	    params->rev > MPA_REV_2)
		return false;
	if (params->flags & MPA_F_REV0 && params->rev)
		return false;
	if (params->flags & MPA_F_ENHANCED &&
	    (params->rev < MPA_REV_2 ||
	     !mpa_enhanced_ok(&params->enhanced, params->ird_max)))
		return false;
	return !(params->flags & ~(MPA_F_MARKERS | MPA_F_STRICT |
				   MPA_F_MEMALLOC | MPA_F_ENHANCED |
				   MPA_F_OOO | MPA_F_REV0));
}

/* A revision left out (0) means Rev 1: RFC 5044 section 7.1.1. */
static u8 mpa_params_rev(const struct mpa_params *params)
{
	if (params->flags & MPA_F_REV0)
		return MPA_REV_0;
	return params->rev ?: MPA_REV_1;
}

static struct mpa_conn *mpa_conn_alloc(struct socket *sock,
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
	INIT_WORK(&conn->work, mpa_conn_work);
	conn->flags = BIT(MPA_CONN_HOLD);
	conn->sk = sock->sk;
	conn->sock = sock;
	conn->ops = params->ops;
	conn->ctx = params->ctx;
	conn->mn = mpa_net(sock_net(sock->sk));
	INIT_LIST_HEAD(&conn->net_node);
	INIT_LIST_HEAD(&conn->startup_node);
	conn->conn_flags = params->flags;
	conn->wish.rev = mpa_params_rev(params);
	conn->wish.markers = params->flags & (MPA_F_MARKERS | MPA_F_OOO);
	conn->wish.strict = params->flags & MPA_F_STRICT;
	conn->wish.pd_max = params->pd_max ?: MPA_PD_MAX;
	conn->wish.enhanced = params->flags & MPA_F_ENHANCED;
	conn->wish.erd = params->enhanced;
	conn->wish.ird_max = params->ird_max;
	timer_setup(&conn->timer, mpa_conn_timer, 0);
	init_completion(&conn->done);
	spin_lock_init(&conn->lock);
	conn->terms.rev = MPA_REV_NONE;
	conn->peer_rev = MPA_REV_NONE;
	INIT_LIST_HEAD(&conn->tx.queue);
	INIT_LIST_HEAD(&conn->tx.sending);
	INIT_LIST_HEAD(&conn->rx.batches);
	return conn;
}

/* Socket lock held. What mpa_conn_off() puts back. */
static void mpa_conn_save(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	conn->allocation = sk->sk_allocation;
	conn->task_frag = sk->sk_use_task_frag;
	conn->nagle = !(tcp_sk(sk)->nonagle & TCP_NAGLE_OFF);
	conn->cork = tcp_sk(sk)->nonagle & TCP_NAGLE_CORK;
	conn->rcvlowat = sk->sk_rcvlowat;
}

/**
 * mpa_attach() - put MPA on a connected TCP socket
 * @sock: the consumer's socket, in ESTABLISHED or CLOSE_WAIT
 * @params: what is wanted
 *
 * Replaces the callbacks of the socket and takes its sk_user_data. Nothing is
 * read or sent, and the callbacks that were there go on being called, until
 * one of mpa_start_initiator(), mpa_start_responder() and
 * mpa_start_immediate(): the first unread octet is the first of MPA then
 * (RFC 5044 section 7.1). Which of them is the consumer's choice (CS-11).
 *
 * The socket stays the consumer's, who must neither close nor use it until
 * released(); with that call it comes back, callbacks restored. Nor may a
 * process that it came from and that has a descriptor of it yet: an upper layer
 * protocol set by it (TCP_ULP) would keep our callbacks for its own. One that
 * holds no reference on its namespace is attached and started before that goes
 * away: then the connection ends, started or not.
 *
 * Context: process, may sleep; takes the socket lock.
 * Return: the connection, or an ERR_PTR():
 * %-EINVAL: callbacks missing, unknown flags or revision, or enhanced startup
 * with another revision than 2 or values that do not exist;
 * %-EPROTOTYPE: not a TCP socket;
 * %-ENOTCONN: not connected;
 * %-EBUSY: the socket has another owner (sk_user_data, or a ULP);
 * %-ENETDOWN: the namespace is going away;
 * %-ENOMEM
 */
struct mpa_conn *mpa_attach(struct socket *sock,
			    const struct mpa_params *params)
{
	struct mpa_conn *conn;
	int err;

	if (!mpa_params_ok(params))
		return ERR_PTR(-EINVAL);
	conn = mpa_conn_alloc(sock, params);
	if (!conn)
		return ERR_PTR(-ENOMEM);

	lock_sock(sock->sk);
	err = mpa_conn_on(conn);
	if (!err) {
		mpa_conn_save(conn);
		mpa_count(conn, ATTACHED);
	}
	release_sock(sock->sk);
	if (!err)
		return conn;
	mpa_conn_put(conn);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(mpa_attach);

/* Work item only, in a callback: from now on it is another consumer's. */
void mpa_conn_hand_over(struct mpa_conn *conn, const struct mpa_params *params)
{
	conn->ops = params->ops;
	conn->ctx = params->ctx;
}

/**
 * mpa_conn_ctx() - the consumer's context
 * @conn: connection
 *
 * Context: any.
 * Return: &mpa_params.ctx
 */
void *mpa_conn_ctx(const struct mpa_conn *conn)
{
	return conn->ctx;
}
EXPORT_SYMBOL_GPL(mpa_conn_ctx);

/**
 * mpa_conn_socket() - the consumer's socket
 * @conn: connection
 *
 * Context: any.
 * Return: what was given to mpa_attach(); to be closed by the consumer, in or
 * after released()
 */
struct socket *mpa_conn_socket(const struct mpa_conn *conn)
{
	return conn->sock;
}
EXPORT_SYMBOL_GPL(mpa_conn_socket);

/**
 * mpa_shutdown() - close the sending half
 * @conn: connection in full operation
 *
 * All that is queued is sent first, then TCP's FIN (RFC 5044 section 7.2).
 * Receiving goes on. A second call changes nothing.
 *
 * Context: any but hard interrupt; takes conn->lock, does not sleep. May be
 * called from callbacks.
 * Return: 0, or %-ENOTCONN: not in full operation
 */
int mpa_shutdown(struct mpa_conn *conn)
{
	int err = -ENOTCONN;

	spin_lock_bh(&conn->lock);
	if (conn->state == MPA_STATE_FULL) {
		set_bit(MPA_CONN_SHUTDOWN, &conn->flags);
		mpa_conn_hold(conn);
		err = 0;
	}
	spin_unlock_bh(&conn->lock);
	if (!err)
		mpa_conn_kick_put(conn);
	return err;
}
EXPORT_SYMBOL_GPL(mpa_shutdown);

/**
 * mpa_abort() - reset the connection
 * @conn: connection, in any state
 *
 * The TCP connection is reset (RFC 5044 section 8, code 1: lost). Each message
 * not handed back yet is, in order,
 * with %-ECANCELED; ended() says %MPA_REASON_ABORTED if the receive half had
 * not ended before. All that happens later, in the work item. The consumer
 * still has to mpa_detach().
 *
 * Context: any but hard interrupt; takes no lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_abort(struct mpa_conn *conn)
{
	mpa_conn_hold(conn);
	set_bit(MPA_CONN_ABORT, &conn->flags);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_abort);

/**
 * mpa_detach() - take MPA off the socket
 * @conn: connection, in any state; not used by the consumer afterwards,
 *	except for mpa_rx_put() of batches that it kept
 *
 * After this has returned no callback starts, except, once and last,
 * released(): then none is running, the socket has its callbacks back, and
 * messages that were not handed back are on its list. Octets that were
 * delivered have been consumed from TCP, others have not, those passed out of
 * order included. The TCP connection stays as it is, unless a message had been
 * accepted and was not yet given to TCP, or a part of an FPDU not delivered was
 * consumed, since it is longer than the window, or mpa_abort() came before:
 * then it is reset (RFC 5044 A.1). A FIN that mpa_shutdown() asked for is sent.
 * In the middle of startup part of a frame may have been read or sent. The
 * consumer looks for octets that are there already: its data_ready callback has
 * missed them.
 *
 * released() waits until the network stack has dropped all pages of zero-copy
 * messages. If that takes more than a second, the TCP connection is reset. It
 * does not come before the last packet with them has left the queues of this
 * host: where another namespace is the peer, who rules that may keep packets in
 * a queue of its own for as long as it likes. Do not use %MPA_TX_ZEROCOPY
 * towards a namespace that is not trusted.
 *
 * Context: any but hard interrupt; takes conn->lock, never waits. May be called
 * from callbacks.
 */
void mpa_detach(struct mpa_conn *conn)
{
	mpa_conn_hold(conn);
	spin_lock_bh(&conn->lock);
	if (!test_and_set_bit(MPA_CONN_DETACH, &conn->flags))
		atomic_inc(&mpa_leaving);
	spin_unlock_bh(&conn->lock);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_detach);

/* In a callback of any connection: these share workers. */
static bool mpa_in_callback(void)
{
	struct work_struct *work = current_work();

	return work && work->func == mpa_conn_work;
}

/**
 * mpa_detach_sync() - take MPA off the socket and wait for it
 * @conn: connection for which released() has not been called yet
 *
 * As mpa_detach() (RFC 5044 A.1); returns after released() has returned.
 *
 * Context: process, sleeps. Not from a callback of any connection: that is
 * warned about, and only detaches. No lock may be held that a callback takes.
 * Return: 0, or %-EDEADLK: called from a callback, not waited
 */
int mpa_detach_sync(struct mpa_conn *conn)
{
	might_sleep();

	if (WARN_ON_ONCE(mpa_in_callback())) {
		mpa_detach(conn);
		return -EDEADLK;
	}
	mpa_conn_hold(conn);
	mpa_detach(conn);
	wait_for_completion(&conn->done);
	mpa_conn_put(conn);
	return 0;
}
EXPORT_SYMBOL_GPL(mpa_detach_sync);

/**
 * mpa_barrier() - wait until every detached connection has been released
 *
 * For the module exit of a consumer that detaches without waiting: when each of
 * its connections has been detached, and this has returned, none of its code
 * is running on behalf of MPA, or will. RFC 5044 has nothing of the kind.
 *
 * Context: process, sleeps; not from any callback, done() and accepted()
 * included: that is warned about, and not waited.
 */
void mpa_barrier(void)
{
	const struct work_struct *work = current_work();

	if (WARN_ON_ONCE(mpa_in_callback() ||
			 (work && (mpa_connect_is_work(work) ||
				   mpa_listen_is_work(work)))))
		return;
	/* A connector that was closed may still detach its connection. */
	flush_workqueue(mpa_wq);
	flush_workqueue(mpa_reclaim_wq);
	wait_event(mpa_leaving_wait, !atomic_read(&mpa_leaving));
	/* released() may still be returning. */
	flush_workqueue(mpa_wq);
	flush_workqueue(mpa_reclaim_wq);
}
EXPORT_SYMBOL_GPL(mpa_barrier);

/**
 * mpa_hold() - stop delivery
 * @conn: connection
 *
 * After this has returned no recv() starts until mpa_resume(); one may be
 * running. What arrives, in order or not, stays in TCP's queues, and the window
 * closes when these are full: nothing is lost. A FIN behind octets not
 * delivered is reported after them, a reset at once. RFC 5044 section 5.2
 * leaves flow control to TCP.
 *
 * Context: any but hard interrupt; takes conn->lock, does not sleep. May be
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
 * RFC 5044 section 7.1.2: the consumer enables receiving when it is ready.
 *
 * Context: any but hard interrupt; takes conn->lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_resume(struct mpa_conn *conn)
{
	mpa_conn_hold(conn);
	spin_lock_bh(&conn->lock);
	clear_bit(MPA_CONN_HOLD, &conn->flags);
	spin_unlock_bh(&conn->lock);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_resume);

/* True if FPDUs are sent with markers or, before full operation, may be. */
static bool mpa_conn_tx_markers(const struct mpa_conn *conn)
{
	/* Pairs with the release in mpa_conn_set_state(): terms are valid. */
	return smp_load_acquire(&conn->state) != MPA_STATE_FULL ||
	       conn->terms.markers_tx;
}

/**
 * mpa_mulpdu() - longest ULPDU whose FPDU fits a TCP segment
 * @conn: connection, before released()
 *
 * By the formulas of RFC 5044 section 4.5, which allow for the most markers
 * that an FPDU of that length can hold; from the EMSS of this moment, without
 * regard to SACK blocks, which come and go. Before full operation, when it is
 * not known whether the peer wants markers, it allows for them. A longer ULPDU
 * (up to %MPA_ULPDU_MAX) is sent too, over several segments.
 *
 * Context: any; takes no lock.
 * Return: octets, %MPA_MULPDU_MIN to %MPA_MULPDU_MAX
 */
u32 mpa_mulpdu(const struct mpa_conn *conn)
{
	return mpa_mulpdu_of(mpa_tx_emss(conn), mpa_conn_tx_markers(conn));
}
EXPORT_SYMBOL_GPL(mpa_mulpdu);

/**
 * mpa_get_info() - what is known of a connection
 * @conn: connection, before released()
 * @info: filled in
 *
 * RFC 5044 section 3 (version), 7.1.2 (terms), RFC 6581 section 9.1 (depths).
 *
 * Context: any but hard interrupt; takes conn->lock, does not sleep. May be
 * called from callbacks.
 */
void mpa_get_info(struct mpa_conn *conn, struct mpa_info *info)
{
	memset(info, 0, sizeof(*info));
	spin_lock_bh(&conn->lock);
	info->state = conn->state;
	info->rev = conn->terms.rev;
	info->peer_rev = conn->peer_rev;
	info->initiator = conn->initiator;
	info->markers_tx = conn->terms.markers_tx;
	info->markers_rx = conn->terms.markers_rx;
	info->tx_pos = conn->tx.sent;
	info->rx_pos = conn->rx.end.pos;
	info->ulpdus_tx = conn->ulpdus_tx;
	info->ulpdus_rx = conn->ulpdus_rx;
	info->ulpdus_ooo = conn->ooo.ulpdus;
	info->octets_ooo = conn->ooo.octets;
	info->ooo_suppressed = conn->ooo.met;
	info->enhanced = conn->terms.enhanced;
	info->ird = conn->terms.ird;
	info->ord = conn->terms.ord;
	info->rtr = conn->terms.rtr;
	info->theirs = conn->terms.theirs;
	spin_unlock_bh(&conn->lock);
	info->emss = mpa_tx_emss(conn);
	info->mulpdu = mpa_mulpdu_of(info->emss, mpa_conn_tx_markers(conn));
	mpa_tcp_addresses(conn->sk, &info->local, &info->peer);
}
EXPORT_SYMBOL_GPL(mpa_get_info);

/*
 * The namespace goes away and the connection is still there: end it, and
 * count what it does from now on elsewhere. Context: process.
 */
void mpa_conn_kill(struct mpa_conn *conn)
{
	mpa_conn_leave_net(conn);
	mpa_abort(conn);
	flush_work(&conn->work);
}
