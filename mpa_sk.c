// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What TCP calls: the callbacks of a socket that is lent to MPA. Mostly they
 * queue the work item. Also: taking a socket over, and giving it back.
 */
#include <linux/init.h>
#include <linux/kmemleak.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "mpa_rx_ooo.h"

/*
 * The upper layer protocol of sockets lent to MPA. TCP_ULP and sockmap refuse
 * such a socket; otherwise they would exchange its callbacks, and restore those
 * of MPA later. Allocated, since it outlives the module if a socket keeps it.
 */
static struct tcp_ulp_ops *mpa_ulp;
static bool mpa_ulp_kept;

/* The pointer in sk_user_data, which may be another owner's. */
static struct mpa_conn *mpa_sk_user_data(const struct sock *sk)
{
	return (void *)((uintptr_t)sk->sk_user_data & SK_USER_DATA_PTRMASK);
}

static void mpa_sk_state_change(struct sock *sk);

/*
 * Returns the connection if the socket has MPA's callbacks, otherwise NULL.
 * While it has them, sk_user_data is a connection. They are set and
 * restored together, so testing one is enough. The socket lock, the slock or
 * sk_callback_lock is held: mpa_sk_off() owns the socket, which waits for any
 * task that has it locked, and holds sk_callback_lock for writing.
 */
static struct mpa_conn *mpa_sk_conn(const struct sock *sk)
{
	/* Pairs with the release in mpa_sk_unhook(). */
	if (smp_load_acquire(&sk->sk_state_change) != mpa_sk_state_change)
		return NULL;
	return mpa_sk_user_data(sk);
}

/*
 * Socket lock or slock held. TCP sends a segment, maybe a duplicate ACK. After
 * three duplicate ACKs it would delay further ones by up to a millisecond, in
 * which the hole is often filled: so it is told to send the next one at once.
 * The work item is queued if octets after a hole may be searched now.
 */
static void mpa_sk_sending(struct sock *sk)
{
	struct mpa_conn *conn = mpa_sk_conn(sk);

	if (!conn || !mpa_rx_ooo_news(conn) || !mpa_rx_ooo_allowed(conn) ||
	    READ_ONCE(conn->rx.blocked) || READ_ONCE(conn->rx.reported))
		return;
	mpa_tcp_ack_at_once(sk);
	mpa_conn_kick(conn);
}

/*
 * True if TCP has the octets up to rx.wake_at (the FPDU, or first its header),
 * or cannot get more (little window or memory left, urgent data). False while
 * nothing can be passed. A FIN comes with sk_state_change(). Always true before
 * full operation.
 */
static bool mpa_sk_readable(const struct mpa_conn *conn, struct sock *sk)
{
	if (READ_ONCE(conn->state) != MPA_STATE_FULL)
		return true;
	if (READ_ONCE(conn->rx.blocked))
		return false;
	return !before(READ_ONCE(tcp_sk(sk)->rcv_nxt),
		       READ_ONCE(conn->rx.wake_at)) ||
	       READ_ONCE(tcp_sk(sk)->urg_data) ||
	       tcp_epollin_ready(sk, INT_MAX);
}

/*
 * Runner only, with the slock or socket lock held. With @recv pass what has
 * arrived. Then, with @send or if recv() has posted or kicked, send what is
 * posted. Returns false if that is not all: then the work item has to run.
 */
bool mpa_sk_run_here(struct mpa_conn *conn, bool recv, bool send)
{
	u32 flags = conn->conn_flags;
	unsigned int memalloc;
	bool done = true;

	WRITE_ONCE(conn->atomic, true);
	conn->again = send;
	/* Nothing waits for reclaim here: it only gives the reserves. */
	if (conn->sk->sk_allocation & __GFP_NOMEMALLOC)
		flags &= ~MPA_F_MEMALLOC;
	memalloc = mpa_memalloc_save(flags);
	if (recv)
		done = conn->rx.run_here(conn);
	if (done && conn->again && READ_ONCE(conn->tx.run_here))
		done = conn->tx.run_here(conn);
	mpa_memalloc_restore(flags, memalloc);
	WRITE_ONCE(conn->atomic, false);
	return done && !conn->again;
}

/*
 * Slock or socket lock held. Pass what has arrived, in place of the work item.
 * Returns false if that has to run. The caller keeps @conn from being released.
 */
static noinline bool mpa_sk_recv(struct mpa_conn *conn)
{
	u32 news = READ_ONCE(tcp_sk(conn->sk)->rcv_nxt) -
		   READ_ONCE(conn->rx.wake_at);
	bool done;

	/*
	 * mpa_rx_run_here() refuses more than MPA_SOFTIRQ_OCTETS: leave streams
	 * to the work item. If rcv_nxt is before wake_at (urgent data, little
	 * window or memory), @news has wrapped, and is more, too.
	 */
	if (news > MPA_SOFTIRQ_OCTETS || work_pending(&conn->work) ||
	    !mpa_conn_stand_in(conn))
		return false;
	done = mpa_sk_run_here(conn, true, false);
	return !mpa_conn_unclaim(conn) && done;
}

/* Octets have arrived. True if the work item has to run. */
static bool mpa_sk_needs_run(struct mpa_conn *conn, struct sock *sk)
{
	if (mpa_tcp_keep_window_updates(conn))
		return true;
	if (!mpa_sk_readable(conn, sk))
		return mpa_tx_hole_unseen(conn);
	return !READ_ONCE(conn->rx.run_here) || mpa_tx_hole_unseen(conn) ||
	       !mpa_sk_recv(conn);
}

/*
 * Callbacks of the socket. TCP calls them with the slock or the socket lock
 * held, except sk_error_report(), which is also called with no lock (for
 * timestamps, by MSG_ERRQUEUE, when zero-copy pages are dropped): such a caller
 * may have read the pointer before MPA left the socket; and once TCP is closed
 * the previous callbacks may be restored at any time. So each callback looks
 * its connection up and, if there is none, calls the one that the socket has
 * now.
 *
 * This one needs no lock of its own: TCP has the socket locked, and a
 * connection is released after mpa_sk_off() only, which locks it.
 * sk_callback_lock would cost two atomics for each segment, on a line that
 * other CPUs write.
 */
static void mpa_sk_data_ready(struct sock *sk)
{
	void (*ready)(struct sock *sk);
	struct mpa_conn *conn;

	lockdep_assert(lockdep_sock_is_held(sk));
	local_bh_disable();
	conn = mpa_sk_conn(sk);
	ready = READ_ONCE(sk->sk_data_ready);
	if (conn && !mpa_conn_test(conn, MPA_CONN_START)) {
		conn->data_ready(sk);
	} else if (conn) {
		if (mpa_sk_needs_run(conn, sk))
			mpa_conn_kick(conn);
	}
	local_bh_enable();
	if (!conn && ready != mpa_sk_data_ready)
		ready(sk);
}

/* If TCP has no room that MPA can use, have it call again at the next ACK. */
static void mpa_sk_kick_sender(struct mpa_conn *conn, struct sock *sk)
{
	if (READ_ONCE(conn->tx.busy))
		return;
	if (mpa_tcp_has_room(sk))
		mpa_conn_kick(conn);
	else
		mpa_tcp_want_space(sk);
}

static void mpa_sk_write_space(struct sock *sk)
{
	void (*space)(struct sock *sk);
	struct mpa_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = mpa_sk_conn(sk);
	space = READ_ONCE(sk->sk_write_space);
	if (conn) {
		conn->write_space(sk);
		mpa_sk_kick_sender(conn, sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (!conn && space != mpa_sk_write_space)
		space(sk);
}

/*
 * Restore the previous callbacks. Context: as mpa_hook_off().
 *
 * A socket with a file keeps the ULP: a process may be in getsockopt(), which
 * reads the pointer twice without a lock, and may sleep in between. For ss the
 * name is read without a lock, too, but without sleeping: see mpa_sk_exit().
 */
static void mpa_sk_unhook(const struct mpa_conn *conn)
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
	 * Pairs with the acquire in mpa_sk_conn(): a callback that finds no
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
static void mpa_sk_changed(struct mpa_conn *conn)
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
		mpa_sk_unhook(conn);
		mpa_hook_off(conn->sk);
	}
	mpa_conn_kick(conn);
}

static void mpa_sk_state_change(struct sock *sk)
{
	void (*change)(struct sock *sk);
	struct mpa_conn *conn;

	read_lock_bh(&sk->sk_callback_lock);
	conn = mpa_sk_conn(sk);
	change = READ_ONCE(sk->sk_state_change);
	if (conn) {
		conn->state_change(sk);
		mpa_sk_changed(conn);
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
	conn = mpa_sk_conn(sk);
	report = READ_ONCE(sk->sk_error_report);
	if (conn) {
		conn->error_report(sk);
		mpa_sk_changed(conn);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	if (!conn && report != mpa_sk_error_report)
		report(sk);
}

int __init mpa_sk_init(void)
{
	mpa_ulp = kzalloc(sizeof(*mpa_ulp), GFP_KERNEL);
	if (!mpa_ulp)
		return -ENOMEM;
	strscpy(mpa_ulp->name, MPA_ULP_NAME);
	mpa_hook_init(mpa_sk_sending);
	return 0;
}

/*
 * Module unload: no socket has MPA's callbacks or operations. A task that has
 * read such a pointer without a lock may have been preempted, outside of any
 * RCU section.
 */
void mpa_sk_exit(void)
{
	synchronize_net();
	synchronize_rcu_tasks();
	if (mpa_ulp_kept)
		kmemleak_ignore(mpa_ulp);
	else
		kfree(mpa_ulp);
}

/* Socket lock held. Save the settings that mpa_sk_off() restores. */
static void mpa_sk_save(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	conn->allocation = sk->sk_allocation;
	conn->task_frag = sk->sk_use_task_frag;
	conn->nagle = !(tcp_sk(sk)->nonagle & TCP_NAGLE_OFF);
	conn->cork = tcp_sk(sk)->nonagle & TCP_NAGLE_CORK;
	conn->oobinline = sock_flag(sk, SOCK_URGINLINE);
	conn->rcvlowat = sk->sk_rcvlowat;
}

/*
 * Take the socket over. Context: process, takes the socket lock. Returns 0,
 * -ENETDOWN if the namespace is going away, or as mpa_tcp_check().
 */
int mpa_sk_on(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	int err;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	err = mpa_tcp_check(conn->sock);
	/* Last: namespace exit may end a connection that is on the list. */
	if (!err)
		err = mpa_net_enlist(conn);
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
	if (!err) {
		mpa_sk_save(conn);
		mpa_count(conn, ATTACHED);
	}
	release_sock(sk);
	return err;
}

/*
 * Undo mpa_sk_on() and what the start has changed. If TCP had closed, the
 * callbacks were restored before. If sk_user_data shows that the socket has
 * another owner by now, leave its callbacks and settings alone. If the consumer
 * called sk_set_memalloc() or sk_clear_memalloc(), that stays.
 */
void mpa_sk_off(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	bool ours;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (mpa_sk_conn(sk) == conn)
		mpa_sk_unhook(conn);
	ours = mpa_sk_user_data(sk) == conn;
	if (ours)
		rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);

	mpa_hook_off(sk);
	if (!ours)
		goto unlock;
	sk->sk_allocation = (conn->allocation & ~__GFP_MEMALLOC) |
			    (sk->sk_allocation & __GFP_MEMALLOC);
	sk->sk_use_task_frag = conn->task_frag;
	WRITE_ONCE(sk->sk_rcvlowat, conn->rcvlowat);
	sock_valbool_flag(sk, SOCK_URGINLINE, conn->oobinline);
	mpa_tcp_restore_emss(conn);
	if (conn->nagle)
		tcp_sk(sk)->nonagle &= ~TCP_NAGLE_OFF;
	if (conn->cork)
		tcp_sk(sk)->nonagle |= TCP_NAGLE_CORK;
unlock:
	release_sock(sk);
}
