// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The work item of a connection. In each round it runs the connection manager
 * (startup) or both halves (full operation). It alone tears a connection down
 * and reports its end. A task that calls mpa_kick_now() or mpa_send_now() may
 * stand in for it, to send, and sk_data_ready() to receive and to send what
 * recv() answers: that saves a switch to another task.
 *
 * Teardown, in mpa_loop_release(), hands all messages back: of their octets TCP
 * has copies of its own, or pages that (2) waits for, and mpa_tx_cancel() drops
 * the train. It closes all ways to the connection:
 *
 * (1) The socket: mpa_sk_off() restores its callbacks with the socket lock
 * and the write side of sk_callback_lock held. MPA's callbacks use the
 * connection under one of them, and only while the socket has them.
 * (2) The network stack: dropping the last reference on zero-copy pages queues
 * the work item, which goes on when none is left. A peer that does not read
 * cannot delay this: after a second TCP is reset, which drops its pages, and
 * packets in flight arrive soon (for the exception see mpa_detach()).
 * (3) The timer: timer_shutdown_sync(). Then only the consumer can queue the
 * work item: by mpa_rx_put(), or with a reference by a late mpa_kick() or
 * mpa_send_now(), which finds DETACH or RELEASED.
 * (4) RELEASED is set before released() is called: from then on the work item
 * touches neither socket nor namespace and calls no callback. A later
 * mpa_rx_put() queues it once more, to free the batch: freeing may sleep, and
 * the caller of mpa_rx_put() may hold a spinlock.
 */
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_conn.h"

#define MPA_ROUNDS	16	/* of one run of the work item, at most */
#define MPA_SPINS	10000	/* below 1 ms, for a short run to end */
#define MPA_RELEASE_WAIT HZ	/* for zero-copy pages, then reset */

/* Log an end, unless its code is 1: that of a FIN, a reset or an abort. */
static void mpa_loop_log(struct mpa_conn *conn)
{
	struct sockaddr_storage local, peer;

	if (conn->rx.end.error == MPA_ERR_TCP)
		return;
	mpa_tcp_addresses(conn->sk, &local, &peer);
	net_info_ratelimited("mpa: peer %pISpc, local %pISpc: error %d (%s)\n",
			     &peer, &local, conn->rx.end.error,
			     mpa_reason_name(conn->rx.end.reason));
}

/* Tell the consumer, once, how the receive half ended. */
static void mpa_loop_report(struct mpa_conn *conn)
{
	struct mpa_end *end = &conn->rx.end;

	if (conn->rx.reported || !mpa_conn_enter(conn))
		return;
	end->pos = conn->rx.delivered;
	/* Pairs with the acquire in mpa_nl_put_end(), which reads rx.end. */
	smp_store_release(&conn->rx.reported, true);
	trace_mpa_ended(conn, end);
	mpa_nl_ended(conn);
	SNMP_INC_STATS(READ_ONCE(conn->mn)->mib, MPA_MIB_REASON + end->reason);
	mpa_loop_log(conn);
	conn->ops->ended(conn, end);
}

/* The receive half has ended, and all ULPDUs before the end were delivered. */
static void mpa_loop_rx_ended(struct mpa_conn *conn)
{
	/* CS-29: without a valid FPDU this Responder may never send. */
	if (!conn->tx.may_send)
		mpa_tx_cancel(conn, -EPIPE, false);
	mpa_loop_report(conn);
}

/*
 * MPA_STATE_CLOSED: report the end, hand every message back, and then report,
 * once, that the connection is closed. Zero-copy messages are handed back when
 * the network stack has dropped their pages, which queues the work item.
 */
static void mpa_loop_closed(struct mpa_conn *conn)
{
	mpa_net_startup_end(conn);
	mpa_rx_reap(conn);
	if (conn->rx.closed_err) {
		mpa_rx_drop(conn);
		mpa_tx_cancel(conn, conn->rx.closed_err, true);
	}
	mpa_loop_report(conn);
	if (!mpa_tx_flush(conn) ||
	    test_and_set_bit(MPA_CONN_CLOSED_CALLED, &conn->flags))
		return;
	if (conn->ops->closed && mpa_conn_enter(conn))
		conn->ops->closed(conn, conn->rx.closed_err);
}

/*
 * True if TCP must be reset when MPA leaves it: after mpa_abort(); or, in full
 * operation, if a message was accepted and not sent (TX-01: it is sent, or the
 * connection fails); if octets were consumed and not delivered, for the
 * consumer could not read on (after ended() it reads nothing more); or if
 * another user has reconnected the socket.
 */
static bool mpa_loop_must_reset(struct mpa_conn *conn)
{
	if (mpa_conn_test(conn, MPA_CONN_ABORT))
		return true;
	return conn->state == MPA_STATE_FULL &&
	       (mpa_conn_reconnected(conn) || mpa_tx_pending(conn) ||
		(conn->rx.copy_consumed && !conn->rx.reported));
}

/* First part of the release, which runs once. */
static void mpa_loop_leave_socket(struct mpa_conn *conn)
{
	/* A FIN that is due is sent now; that fails for lack of memory. */
	bool reset = mpa_loop_must_reset(conn) ||
		     (conn->state == MPA_STATE_FULL && mpa_tx_send_fin(conn));

	/* One that has failed since mpa_detach() counts as no other end. */
	if (reset || (conn->state == MPA_STATE_CLOSED && !conn->rx.reported &&
		      conn->rx.closed_err))
		mpa_count(conn, RESETS);
	if (reset)
		mpa_tcp_reset(conn->sk);
	else
		mpa_cm_leave(conn);
	/* Before mpa_sk_off(): MPA's callbacks notice a reconnected socket. */
	mpa_rx_finish(conn);
	mpa_sk_off(conn);
	mpa_cm_free(conn);
	mpa_tx_cancel(conn, -ECANCELED, reset);
	timer_delete_sync(&conn->timer);
	clear_bit(MPA_CONN_TIMEOUT, &conn->flags);
	/* Bounds the wait for zero-copy pages. */
	mod_timer(&conn->timer, jiffies + MPA_RELEASE_WAIT);
}

/*
 * mpa_detach() was called. The comment at the top of the file says why this is
 * safe. Runs again until all zero-copy messages are done.
 */
static void mpa_loop_release(struct mpa_conn *conn)
{
	LIST_HEAD(left);
	int err;

	if (!test_and_set_bit(MPA_CONN_OFF, &conn->flags))
		mpa_loop_leave_socket(conn);
	if (!mpa_tx_sending_done(conn)) {
		mpa_rx_reap(conn);
		if (test_and_clear_bit(MPA_CONN_TIMEOUT, &conn->flags) ||
		    mpa_conn_test(conn, MPA_CONN_ABORT)) {
			mpa_tcp_reset(conn->sk);
			mpa_tx_cancel(conn, -ECANCELED, true);
		}
		return;
	}
	/*
	 * A loss drops pages, too. Pairs as in mpa_tx_sent_pos(). Messages that
	 * failed before keep their status.
	 */
	smp_rmb();
	err = mpa_tcp_lost(conn->sk);
	if (err)
		mpa_tx_cancel(conn, err, true);

	timer_shutdown_sync(&conn->timer);
	mpa_net_startup_end(conn);
	mpa_count(conn, RELEASED);
	if (!conn->rx.reported)
		mpa_nl_ended(conn);
	/* After this the namespace does not wait for this work item. */
	mpa_net_unlist(conn);
	mpa_tx_collect(conn, &left);
	set_bit(MPA_CONN_RELEASED, &conn->flags);
	conn->ops->released(conn, &left);
	mpa_conn_drop_consumer(conn);
}

/* End a connection that was aborted, reconnected or lost. */
static void mpa_loop_check_lost(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;

	if (conn->state == MPA_STATE_CLOSED)
		return;
	if (mpa_conn_test(conn, MPA_CONN_ABORT)) {
		mpa_conn_fail(conn, MPA_REASON_ABORTED, -ECANCELED);
		return;
	}
	/* After a rejection TCP is the consumer's concern. */
	if (conn->state == MPA_STATE_REJECTED)
		return;
	if (!rx->closed_err && mpa_conn_reconnected(conn))
		rx->closed_err = -ECONNRESET;
	/* In startup mpa_cm.c notices a loss, after the octets before it. */
	if (!rx->closed_err && conn->state > MPA_STATE_STARTUP)
		rx->closed_err = mpa_tcp_lost(conn->sk);
	if (rx->closed_err && !mpa_rx_has_left(conn))
		mpa_conn_fail(conn, MPA_REASON_RESET, rx->closed_err);
}

/*
 * Enter MPA_STATE_CLOSED if both sides closed and all is handed back. Returns
 * true if TCP was lost in this round: in another one mpa_loop_check_lost()
 * finds that.
 */
static bool mpa_loop_finish(struct mpa_conn *conn)
{
	if (!conn->tx.fin || !conn->rx.reported || !mpa_tx_sending_done(conn) ||
	    inet_sk_state_load(conn->sk) != TCP_CLOSE)
		return false;
	if (mpa_tcp_lost(conn->sk))
		return true;
	mpa_conn_set_state(conn, MPA_STATE_CLOSED);
	return false;
}

/* Full operation. Returns true if another round may find something to do. */
static bool mpa_loop_full(struct mpa_conn *conn)
{
	bool more;

	conn->phase = MPA_PHASE_RX;
	more = mpa_rx_run(conn);
	if (conn->rx.end_due && !conn->rx.reported)
		mpa_loop_rx_ended(conn);
	mpa_conn_call_run(conn);
	/* Nothing is sent after mpa_abort(), which has asked for a round. */
	if (mpa_conn_test(conn, MPA_CONN_ABORT))
		return more;
	/*
	 * Nothing can be sent, nor can it in MPA_STATE_CLOSED, which has an
	 * error. If nothing is left to pass either, have one more round, in
	 * which mpa_loop_check_lost() ends the connection: TCP may make no
	 * further call that queues the work item.
	 */
	if (conn->rx.closed_err || mpa_tcp_lost(conn->sk))
		return more || !mpa_rx_has_left(conn);
	/* Before sending: mpa_tx_step() consumes rx.owed with its lock. */
	if (!more)
		mpa_rx_reap(conn);
	more = mpa_tx_run(conn) || more;
	if (conn->state != MPA_STATE_FULL)
		return more;
	/* After sending: the ACK goes with what was sent. */
	if (!more)
		mpa_rx_consume_owed(conn);
	return mpa_loop_finish(conn) || more;
}

/*
 * Run one round. The halves and the connection manager record how a connection
 * ended; here it is torn down and reported. Returns true if another round may
 * find something to do.
 */
static bool mpa_loop_round(struct mpa_conn *conn)
{
	bool more = false;

	mpa_loop_check_lost(conn);
	switch (conn->state) {
	case MPA_STATE_ATTACHED:
	case MPA_STATE_STARTUP:
	case MPA_STATE_DECIDE:
		more = mpa_cm_run(conn);
		break;
	case MPA_STATE_FULL:
		more = mpa_loop_full(conn);
		break;
	case MPA_STATE_REJECTED:
	case MPA_STATE_CLOSED:
		break;
	}
	if (conn->state != MPA_STATE_CLOSED)
		return more;
	mpa_loop_closed(conn);
	return false;
}

/*
 * Run for MPA_ROUNDS, or 1 ms after the first, at most: most runs have but one,
 * and need no clock. Returns true if there is more to do.
 */
static bool mpa_loop_run(struct mpa_conn *conn)
{
	u64 now, deadline = 0;
	unsigned int i;

	for (i = 0; i < MPA_ROUNDS; i++) {
		conn->again = false;
		if (mpa_conn_test(conn, MPA_CONN_DETACH)) {
			mpa_loop_release(conn);
			/* The work item has a reference of its own. */
			return conn->again &&
			       !mpa_conn_test(conn, MPA_CONN_RELEASED);
		}
		if (!mpa_loop_round(conn) && !conn->again)
			return mpa_conn_test(conn, MPA_CONN_DETACH);
		now = local_clock();
		if (!i)
			deadline = now + NSEC_PER_MSEC;
		else if (now > deadline)
			break;
	}
	return true;
}

/*
 * With few octets to pass, or a short ULPDU to send, do as sk_data_ready():
 * with the slock held, and without rounds. BH stays off until the run has
 * ended. The answer of a peer on this host, which the same CPU may receive as
 * soon as BH is on, then finds neither a runner nor a locked socket: it is
 * passed in softirq, as those of other hosts are. Returns false if there is
 * more to do; otherwise there is no runner any longer.
 */
static bool mpa_loop_run_here(struct mpa_conn *conn, bool recv)
{
	struct sock *sk = conn->sk;
	bool done;

	if (!READ_ONCE(conn->rx.run_here) || !READ_ONCE(conn->tx.run_here) ||
	    !mpa_conn_plain(conn, 0) || READ_ONCE(conn->rx.nomem) ||
	    mpa_tx_hole_unseen(conn))
		return false;
	local_bh_disable();
	bh_lock_sock(sk);
	done = !sock_owned_by_user(sk) &&
	       mpa_sk_run_here(conn, recv && !mpa_rx_is_idle(conn), true);
	bh_unlock_sock(sk);
	if (done && mpa_conn_unclaim(conn))
		mpa_conn_kick(conn);
	local_bh_enable();
	return done;
}

void mpa_loop_work(struct work_struct *work)
{
	struct mpa_conn *conn = container_of(work, struct mpa_conn, work);
	unsigned int memalloc = mpa_memalloc_save(conn->conn_flags);
	bool claimed, more = false;

	/* If a task stands in for this, it queues this again at its end. */
	claimed = mpa_conn_claim_work(conn);
	if (claimed && !mpa_conn_test(conn, MPA_CONN_RELEASED)) {
		claimed = !mpa_loop_run_here(conn, true);
		more = claimed && mpa_loop_run(conn);
	}
	if (claimed)
		more |= mpa_conn_unclaim(conn);
	/* A batch put before this is freed here; one put later queues a run. */
	if (mpa_conn_test(conn, MPA_CONN_RELEASED))
		mpa_rx_free_batches(conn);
	mpa_memalloc_restore(conn->conn_flags, memalloc);

	if (more)
		mpa_conn_kick_put(conn);
	else
		mpa_conn_put(conn);
}

/* True if @work is a connection's work item, which calls its callbacks. */
bool mpa_loop_is_work(const struct work_struct *work)
{
	return work->func == mpa_loop_work;
}

/*
 * The caller may be answering octets that a short run on another CPU is still
 * passing. Such a run ends soon, where the work item may have to wait for a
 * CPU.
 */
static bool mpa_loop_stand_in(struct mpa_conn *conn)
{
	unsigned int spins = MPA_SPINS;

	while (!mpa_conn_stand_in(conn)) {
		if (!READ_ONCE(conn->atomic) || need_resched() || !spins--)
			return false;
		cpu_relax();
	}
	return true;
}

/*
 * One round without receiving. Returns true if the work item has to run: also
 * if callbacks of a short run before this have asked for it. After a loss
 * mpa_tx_flush() is called once, as it does not know again which pages that has
 * freed.
 */
static bool mpa_loop_send(struct mpa_conn *conn)
{
	mpa_conn_call_run(conn);
	return mpa_conn_test(conn, MPA_CONN_ABORT) || conn->rx.closed_err ||
	       mpa_tcp_lost(conn->sk) || mpa_tx_run(conn) || conn->again ||
	       conn->state != MPA_STATE_FULL;
}

/*
 * Stand in for the work item for one round, without receiving. Drops the
 * caller's reference. With octets on the way it is left to the work item:
 * messages that are posted until that runs share skbs and calls of TCP.
 */
static void mpa_loop_now_put(struct mpa_conn *conn)
{
	bool claimed = true, more = true;
	unsigned int memalloc;

	might_sleep();

	if (!mpa_loop_stand_in(conn)) {
		mpa_conn_kick_put(conn);
		return;
	}
	memalloc = mpa_memalloc_save(conn->conn_flags);
	conn->again = false;
	if (mpa_conn_plain(conn, 0) && !mpa_tcp_unacked(conn->sk)) {
		claimed = !mpa_loop_run_here(conn, false);
		more = claimed && mpa_loop_send(conn);
	}
	if (claimed)
		more |= mpa_conn_unclaim(conn);
	mpa_memalloc_restore(conn->conn_flags, memalloc);
	if (more)
		mpa_conn_kick_put(conn);
	else
		mpa_conn_put(conn);
}

/**
 * mpa_kick_now() - as mpa_kick(), at once if possible
 * @conn: connection on which the caller has a reference, or which it keeps from
 *	being released
 *
 * If nothing is under way on the connection, the caller's task stands in for
 * the work item: it calls run(), and next() of sources, sends what is posted,
 * and calls sent() and mulpdu(), before this returns. The peer then has the
 * octets sooner by a switch to another task. Otherwise, as when TCP waits for
 * an ACK, the work item does it: what is posted until it runs is sent together.
 *
 * Context: process, sleeps: takes the socket lock, and conn->lock. The caller
 * holds no lock that a callback takes. In a callback of @conn it is mpa_kick().
 * A callback of another connection must call that: callbacks of @conn, called
 * in it, could do as much for a third one, and so on, until the stack is full.
 * RFC 5044 has no counterpart.
 */
void mpa_kick_now(struct mpa_conn *conn)
{
	if (mpa_conn_is_runner(conn)) {
		mpa_conn_again(conn, MPA_PHASE_RUN);
		return;
	}
	mpa_conn_get(conn);
	mpa_loop_now_put(conn);
}
EXPORT_SYMBOL_GPL(mpa_kick_now);

/**
 * mpa_send_now() - as mpa_send(), at once if possible
 * @conn: connection as for mpa_kick_now()
 * @tx: the message
 *
 * As mpa_send(), followed by what mpa_kick_now() does: @tx may have been handed
 * back when this returns (RFC 5044 section 3).
 *
 * Context: as mpa_kick_now(); in a callback of @conn it is mpa_send(), which
 * callbacks of other connections must call.
 * Return: 0, %-EINVAL, %-EMSGSIZE, %-ENOTCONN, %-EPIPE, as mpa_send_list()
 */
int mpa_send_now(struct mpa_conn *conn, struct mpa_tx *tx)
{
	bool runs = mpa_conn_is_runner(conn);
	LIST_HEAD(list);
	int err;

	list_add(&tx->list, &list);
	err = mpa_tx_post(conn, &list, !runs);
	if (err)
		list_del_init(&tx->list);
	else if (runs)
		mpa_conn_again(conn, MPA_PHASE_TX);
	else
		mpa_loop_now_put(conn);
	return err;
}
EXPORT_SYMBOL_GPL(mpa_send_now);
