// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A connection: taking over a socket, the work item that runs everything,
 * and giving the socket back.
 *
 * Locks. Order: socket lock or slock -> sk_callback_lock -> conn->lock.
 *
 * - The socket lock is taken by mpa_attach() and by the work item, which does
 *   not hold it while it calls the consumer.
 * - sk_callback_lock is held for writing while the socket's callbacks are
 *   exchanged, for reading while those of MPA run. A callback that finds TCP
 *   closed restores all of them under the read side; others that do so at the
 *   same time write the same values.
 * - conn->lock is innermost. It protects what API functions and the work item
 *   share: state, queue of messages, list of batches.
 * - Everything else in a connection belongs to the work item, which never runs
 *   twice at once.
 *
 * Lifetime. References are held by
 *
 * - the consumer, from mpa_attach() until released() has returned;
 * - each queued or running work item;
 * - each batch that the consumer has not put;
 * - each zero-copy message whose pages the network stack may still have.
 *
 * The socket belongs to the consumer, which may close it in or after
 * released(): MPA no longer uses it then. Batches stay valid without it.
 * mpa_live counts connections until their memory is freed: the module's exit
 * waits for that, see mpa_main.c.
 *
 * Teardown, in mpa_conn_release(), closes all ways to the connection:
 *
 * (1) The socket: mpa_conn_off() restores its callbacks with the socket lock
 * and the write side of sk_callback_lock held. MPA's callbacks use the
 * connection under the read side, and only while the socket has them.
 * (2) The network stack: the last reference on a zero-copy message queues the
 * work item, which goes on when none is left. A peer that does not read cannot
 * delay this: after MPA_RELEASE TCP is reset, which drops its pages, and
 * packets in flight arrive soon (for the exception see mpa_detach()).
 * (3) The timer: timer_shutdown_sync(). Now only the consumer could call in,
 * and mpa_detach() is its last call, except for mpa_rx_put().
 * (4) RELEASED is set before released() is called: from then on the work item
 * touches neither socket nor namespace and calls no callback. A later
 * mpa_rx_put() queues it once more, to free the batch: freeing may sleep, and
 * the caller of mpa_rx_put() may hold a spinlock.
 */
#include <kunit/visibility.h>
#include <linux/kmemleak.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_rx_ooo.h"

#define MPA_ROUNDS	16	/* of one run of the work item, at most */
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

/* Context: any. The caller has a reference or prevents the release. */
void mpa_conn_get(struct mpa_conn *conn)
{
	kref_get(&conn->ref);
}

/* Context: any. */
void mpa_conn_put(struct mpa_conn *conn)
{
	kref_put(&conn->ref, mpa_conn_free);
}

/*
 * True if the caller runs in the work item, that is, in a callback; false in an
 * interrupt on top of it.
 */
static bool mpa_conn_runs(const struct mpa_conn *conn)
{
	return in_task() && READ_ONCE(conn->runner) == current;
}

/*
 * Queue the work item, or from inside it ask for another round; consumes a
 * reference of the caller. API functions take that reference before they
 * unlock: a callback may detach, and released() may return, before the API
 * function does.
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

/* As mpa_conn_kick_put(), with a new reference. Context: as mpa_conn_get(). */
void mpa_conn_kick(struct mpa_conn *conn)
{
	mpa_conn_get(conn);
	mpa_conn_kick_put(conn);
}

/* Work item only. */
void mpa_conn_set_state(struct mpa_conn *conn, enum mpa_state state)
{
	trace_mpa_state(conn, state);
	if (conn->state == MPA_STATE_STARTUP)
		mpa_net_startup_end(conn);
	spin_lock_bh(&conn->lock);
	/* Pairs with mpa_conn_tx_markers(): a reader of FULL sees the terms. */
	smp_store_release(&conn->state, state);
	spin_unlock_bh(&conn->lock);
}

/* An allocation failed: run again after MPA_RETRY. */
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

/*
 * True if the awaited FPDU is complete or cannot grow any further (little
 * window or memory left, urgent data). A FIN comes with sk_state_change().
 * Always true before full operation.
 */
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
 * held, except sk_error_report(), which is also called with no lock (for
 * timestamps, by MSG_ERRQUEUE, when zero-copy pages are dropped): such a caller
 * may have read the pointer before MPA left the socket. So each callback looks
 * its connection up under sk_callback_lock and, if there is none, calls the
 * callback that the socket has now.
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

/* If TCP has no room that MPA can use, have it call again at the next ACK. */
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

/*
 * Restore TCP's callbacks. Context: as mpa_af_off().
 *
 * A socket with a file keeps the ULP: a process may be in getsockopt(), which
 * reads the pointer twice without a lock, and may sleep in between. For ss the
 * name is read without a lock, too, but without sleeping: see mpa_af_exit().
 */
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
 * Once TCP is closed its callbacks must be restored: another user of the socket
 * may make it listen, although MPA has it, and sockets accepted from it would
 * inherit MPA's callbacks and operations, and keep them. MPA needs none then: a
 * closed TCP reports and sends nothing more.
 */
static void mpa_conn_changed(struct mpa_conn *conn)
{
	if (inet_sk_state_load(conn->sk) == TCP_CLOSE) {
		/*
		 * Pairs with the test of GONE in mpa_conn_reconnected(): a
		 * reader that sees GONE also sees TCP_CLOSE.
		 */
		smp_mb__before_atomic();
		set_bit(MPA_CONN_GONE, &conn->flags);
		/*
		 * Orders GONE before the restored callbacks: if
		 * tcp_disconnect() calls these, mpa_conn_reconnected() must see
		 * GONE when the socket is unlocked.
		 */
		smp_mb__after_atomic();
		mpa_conn_unhook(conn);
		mpa_rx_ooo_end(conn);
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
	/* Last: namespace exit may end a connection that is on the list. */
	if (!err)
		err = mpa_conn_enlist(conn);
	if (err)
		goto unlock;

	conn->data_ready = sk->sk_data_ready;
	conn->write_space = sk->sk_write_space;
	conn->state_change = sk->sk_state_change;
	conn->error_report = sk->sk_error_report;
	/* NOCOPY: should the socket ever listen, what it accepts has none. */
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

/*
 * Undo mpa_conn_on() and what the start has changed. If TCP had closed, the
 * callbacks were restored before. If sk_user_data shows that the socket has
 * another owner by now, leave its callbacks and settings alone.
 */
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

	mpa_rx_ooo_end(conn);
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
bool mpa_conn_reconnected(struct mpa_conn *conn)
{
	if (!mpa_conn_test(conn, MPA_CONN_GONE))
		return false;
	if (inet_sk_state_load(conn->sk) != TCP_CLOSE)
		set_bit(MPA_CONN_RECONNECTED, &conn->flags);
	return mpa_conn_test(conn, MPA_CONN_RECONNECTED);
}

/*
 * True if TCP must be reset when MPA leaves it: after mpa_abort(); if a message
 * was accepted and not sent (TX-01: it is sent, or the connection fails); if
 * octets were consumed and not delivered, for the consumer could not read on;
 * or if the socket is reconnected, as when the work item finds that earlier.
 */
static bool mpa_conn_broken(struct mpa_conn *conn)
{
	if (mpa_conn_test(conn, MPA_CONN_ABORT))
		return true;
	return conn->state == MPA_STATE_FULL &&
	       (mpa_conn_reconnected(conn) || mpa_tx_pending(conn) ||
		(conn->rx.eaten && (conn->rx.ready || !conn->rx.end.error)));
}

/* First part of the release, which runs once. */
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
 * mpa_detach() was called. The comment at the top of the file says why this is
 * safe. Runs again until all zero-copy messages are done.
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
	/* After a rejection TCP is the consumer's concern. */
	if (conn->state == MPA_STATE_REJECTED)
		return 0;
	if (mpa_conn_reconnected(conn))
		return -ECONNRESET;
	/* Startup first reads the octets that came before the loss. */
	return conn->state > MPA_STATE_STARTUP ? mpa_tcp_lost(conn->sk) : 0;
}

/* End a connection that was aborted or lost. True if it is closed now. */
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

/* Enter MPA_STATE_CLOSED if both sides closed and all is handed back. */
static bool mpa_conn_finished(struct mpa_conn *conn)
{
	if (!conn->tx.fin || !conn->rx.reported || !mpa_tx_idle(conn) ||
	    inet_sk_state_load(conn->sk) != TCP_CLOSE)
		return false;
	mpa_conn_set_state(conn, MPA_STATE_CLOSED);
	return true;
}

/* Run one round. Returns true if another one may find something to do. */
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

/* Run for MPA_ROUNDS or 1 ms at most. Returns true if there is more to do. */
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

/* True if RFC 6581 section 9 can express the values. */
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
	INIT_LIST_HEAD(&conn->rx.batches);
	return conn;
}

/* Socket lock held. Save the settings that mpa_conn_off() restores. */
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
 * @params: what the consumer asks of the connection
 *
 * Replaces the callbacks of the socket and takes its sk_user_data. Nothing is
 * read or sent before the start, that is, mpa_start_initiator(),
 * mpa_start_responder() or mpa_start_immediate(), of which the consumer calls
 * one (CS-11). The first octet unread at the start is MPA's first (RFC 5044
 * section 7.1). The previous sk_data_ready() is called until the start, the
 * other previous callbacks until released(). From the start until released()
 * TCP_NODELAY is set, TCP_CORK is not set, and SO_RCVLOWAT is 1, whatever they
 * were before.
 *
 * The socket stays the consumer's, but must be neither closed nor used before
 * released(), when it has its callbacks back. Until then, or until TCP closes,
 * its upper layer protocol (TCP_ULP) is "mpa", and no other can be set. If it
 * has a file, it keeps "mpa" until it is closed, and can be attached again. If
 * the socket holds no reference on its namespace, it must be attached and
 * started before the namespace goes away, which ends the connection, started or
 * not.
 *
 * Context: process, may sleep; takes the socket lock.
 * Return: the connection, or an ERR_PTR():
 * %-EINVAL: callbacks missing, unknown flags or revision, %MPA_F_REV0 with a
 * revision, or enhanced startup with a revision other than 2 or with values
 * that do not exist;
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

/* Work item only, in a callback: give the connection to another consumer. */
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
 * Return: the socket given to mpa_attach(); the consumer closes it, in or after
 * released()
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
 * Messages that are queued are sent first, then TCP's FIN (RFC 5044 section
 * 7.2). Receiving continues. A second call has no effect.
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
		mpa_conn_get(conn);
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
 * Resets the TCP connection (RFC 5044 section 8, code 1: lost). Messages not
 * yet handed back are handed back in order, with %-ECANCELED. ended() reports
 * %MPA_REASON_ABORTED unless it was called before. All this happens later, in
 * the work item. The consumer must still call mpa_detach().
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

/**
 * mpa_detach() - take MPA off the socket
 * @conn: connection, in any state; the consumer must not use it afterwards,
 *	except for mpa_rx_put() of batches that it kept
 *
 * After this has returned no callback starts but released(), which is called
 * once. Then no other callback is running, the socket has its callbacks back,
 * and messages not yet handed back are on the list of released(). Octets that
 * were delivered have been consumed from TCP; others have not, including those
 * passed out of order. The consumer must look for octets that are in the socket
 * already: its data_ready callback was not called for them.
 *
 * The TCP connection is reset (RFC 5044 A.1) if a message was accepted and is
 * not yet given to TCP, if part of an FPDU that is longer than the window was
 * consumed and the FPDU is not delivered, if mpa_abort() was called before, if
 * TCP has no memory for the FIN that mpa_shutdown() asked for, or if another
 * user reconnected the socket. Otherwise it stays as it is, and that FIN is
 * sent. In startup part of a frame may have been read or sent.
 *
 * released() waits until the network stack has finished with all pages of zero-
 * copy messages, see &struct mpa_tx. If that takes more than a second, the TCP
 * connection is reset. Even then released() waits until the last packet with
 * such pages has left the queues of this host. If the peer is another namespace
 * on this host, its administrator can keep the packets queued indefinitely: do
 * not use %MPA_TX_ZEROCOPY towards a namespace that is not trusted.
 *
 * Context: any but hard interrupt; takes conn->lock, never waits. May be called
 * from callbacks.
 */
void mpa_detach(struct mpa_conn *conn)
{
	mpa_conn_get(conn);
	spin_lock_bh(&conn->lock);
	if (!test_and_set_bit(MPA_CONN_DETACH, &conn->flags))
		atomic_inc(&mpa_leaving);
	spin_unlock_bh(&conn->lock);
	mpa_conn_kick_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_detach);

/* True in a callback of any connection. */
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
 * Context: process, sleeps; no lock may be held that a callback takes. Must not
 * be called from a callback of any connection: then it warns, and detaches
 * without waiting.
 * Return: 0, or %-EDEADLK: called from a callback
 */
int mpa_detach_sync(struct mpa_conn *conn)
{
	might_sleep();

	if (WARN_ON_ONCE(mpa_in_callback())) {
		mpa_detach(conn);
		return -EDEADLK;
	}
	mpa_conn_get(conn);
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
 * its connections has been detached, and this has returned, MPA neither runs
 * its code nor will call it again. RFC 5044 has no counterpart.
 *
 * This waits for callbacks of all consumers, which may wait for memory. So it
 * must not be called by a task that memory reclaim depends on, such as a work
 * item of a %WQ_MEM_RECLAIM queue.
 *
 * Context: process, sleeps. Must not be called from any callback, including
 * done() and accepted(): then it warns, and returns without waiting.
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
 * After this has returned no recv() starts until mpa_resume(); one may still be
 * running. Octets that arrive, in order or not, stay in TCP's queues, and the
 * window closes when these are full: nothing is lost. A FIN is reported after
 * the octets before it have been delivered, a reset at once. RFC 5044 section
 * 5.2 leaves flow control to TCP.
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
	mpa_conn_get(conn);
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
 * Follows from the current EMSS by the formulas of RFC 5044 section 4.5, which
 * allow for the most markers that an FPDU of that length can hold. While there
 * is a hole in what the peer sends, and for four seconds more, the EMSS is
 * reduced by the room for the SACK blocks that report it. Before full
 * operation, when it is not known whether the peer wants markers, the result
 * allows for them. A longer ULPDU (up to %MPA_ULPDU_MAX) is sent, too, in
 * several segments.
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
 * mpa_get_info() - get a snapshot of a connection
 * @conn: connection, before released()
 * @info: result
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
	info->bytes_ooo = conn->ooo.octets;
	info->ooo_suppressed = conn->ooo.delivered;
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
 * The namespace goes away before the connection: abort it, and from now on
 * count its memory and events in mpa_net_none. Context: process, sleeps.
 */
void mpa_conn_kill(struct mpa_conn *conn)
{
	mpa_conn_leave_net(conn);
	mpa_abort(conn);
	flush_work(&conn->work);
}
