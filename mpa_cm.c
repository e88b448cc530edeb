// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connection manager: startup (RFC 5044 section 7.1, RFC 6581).
 *
 * Everything up to mpa_cm_run() runs in the work item. Below it mpa_start_*(),
 * mpa_accept() and mpa_reject() set, under conn->lock, a flag for the work
 * item. The octets to be sent are in &mpa_cm.out, which is the work item's once
 * the flag is set. mpa_set_enhanced() changes conn->local, under conn->lock; it
 * fails once the work item may read what it changes: after START (Initiator),
 * ACCEPT or REJECT.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_conn.h"

#define MPA_DRAIN_TIME		(HZ / 2)
#define MPA_DRAIN_OCTETS	SZ_64K

enum mpa_cm_step {
	MPA_CM_STREAM,		/* sending the last streaming message */
	MPA_CM_REQUEST,		/* sending our Request */
	MPA_CM_HEADER,		/* reading the peer's frame */
	MPA_CM_PD,		/* reading the private data of that frame */
	MPA_CM_DECIDE,		/* waiting for the consumer's answer */
	MPA_CM_REPLY,		/* sending our Reply */
	MPA_CM_REFUSAL,		/* sending the Reply that refuses Rev 0 */
	MPA_CM_DRAIN,		/* FIN sent, waiting for the peer's */
};

/**
 * struct mpa_cm - a startup in progress
 * @step: the current step
 * @immediate: mpa_start_immediate(): no frames
 * @ours: the frame that this end sends
 * @peer: the frame that the peer has sent
 * @out: octets to send; a frame begins with room for its header
 * @out_len: octets in @out
 * @out_done: octets of @out given to TCP
 * @header: fixed part of the peer's frame
 * @have: octets read into @header
 * @pd: private data of the peer's frame, in @pd_small or allocated
 * @pd_small: room for the private data of all revisions but Rev 0, so that a
 *	frame of these is never refused for lack of memory
 * @pd_room: size of @pd in octets
 * @pd_have: octets read into @pd
 * @drained: octets dropped after this end's FIN
 * @reason: why the peer's frame was refused
 * @deadline: when to stop waiting for the peer, in jiffies
 */
struct mpa_cm {
	enum mpa_cm_step	step;
	bool			immediate;
	struct mpa_frame	ours;
	struct mpa_frame	peer;
	u8			*out;
	u32			out_len;
	u32			out_done;
	u8			header[MPA_RR_SIZE];
	u32			have;
	u8			*pd;
	u8			pd_small[MPA_PD_MAX];
	u32			pd_room;
	u32			pd_have;
	u32			drained;
	enum mpa_reason		reason;
	unsigned long		deadline;
};

/* cm->out is allocated, or the header: see mpa_cm_refuse(). */
static void mpa_cm_free_out(struct mpa_cm *cm)
{
	if (cm->out != cm->header)
		kfree(cm->out);
	cm->out = NULL;
}

/* Work item only. */
void mpa_cm_free(struct mpa_conn *conn)
{
	struct mpa_cm *cm;

	spin_lock_bh(&conn->lock);
	cm = conn->cm;
	conn->cm = NULL;
	spin_unlock_bh(&conn->lock);
	if (!cm)
		return;
	mpa_cm_free_out(cm);
	if (cm->pd != cm->pd_small)
		kvfree(cm->pd);
	kfree(cm);
}

static void mpa_cm_timer_set(struct mpa_conn *conn, unsigned long delay)
{
	clear_bit(MPA_CONN_TIMEOUT, &conn->flags);
	conn->cm->deadline = jiffies + delay;
	mod_timer(&conn->timer, conn->cm->deadline);
}

static void mpa_cm_timer_start(struct mpa_conn *conn)
{
	unsigned int ms = mpa_net_startup_timeout(READ_ONCE(conn->mn));

	mpa_cm_timer_set(conn, msecs_to_jiffies(ms));
}

static void mpa_cm_timer_stop(struct mpa_conn *conn)
{
	timer_delete_sync(&conn->timer);
	clear_bit(MPA_CONN_TIMEOUT, &conn->flags);
}

/*
 * Startup has failed: error code 4, or the peer has closed. This and other
 * functions of a step return true if another step may be possible at once.
 */
static bool mpa_cm_end(struct mpa_conn *conn, enum mpa_reason reason)
{
	mpa_cm_timer_stop(conn);
	/* A FIN during startup is an error. */
	mpa_conn_end(conn, reason, reason == MPA_REASON_FIN ? -ECONNRESET : 0);
	conn->rx.closed_err = conn->rx.end.err;
	mpa_conn_set_state(conn, MPA_STATE_CLOSED);
	return false;
}

static bool mpa_cm_reset(struct mpa_conn *conn, enum mpa_reason reason)
{
	mpa_tcp_reset(conn->sk);
	return mpa_cm_end(conn, reason);
}

/* Octets of a frame before the ULP's private data. */
static u32 mpa_cm_headroom(bool enhanced)
{
	return MPA_RR_SIZE + (enhanced ? MPA_ERD_SIZE : 0);
}

/* Write our frame into cm->out, before the ULP's private data. */
static void mpa_cm_frame(struct mpa_conn *conn)
{
	struct mpa_cm *cm = conn->cm;

	mpa_frame_write(cm->out, &cm->ours);
	trace_mpa_frame(conn, true, cm->ours.flags, cm->ours.rev,
			cm->ours.pd_len);
}

/*
 * Close gracefully: a reset could make the peer lose octets that it has not
 * read, so read until its FIN before the socket is given back. If TCP has no
 * memory for our FIN, the drain timer resets the connection.
 */
static bool mpa_cm_begin_drain(struct mpa_conn *conn)
{
	mpa_tcp_send_fin(conn);
	mpa_cm_timer_set(conn, MPA_DRAIN_TIME);
	conn->cm->step = MPA_CM_DRAIN;
	return true;
}

/*
 * Refuse the peer's frame by a reset. If it is refused because it is of Rev 0,
 * Appendix C.2 applies: a Responder sends a last Reply, and either role closes
 * gracefully. The Reply is written over the peer's header: it needs no memory.
 * Not so an Initiator of Rev 2, which that appendix does not know: after its
 * FIN the local port would be in TIME_WAIT, and mpa_connect() may need it for
 * the fallback to Rev 1.
 */
static bool mpa_cm_refuse(struct mpa_conn *conn, enum mpa_reason reason)
{
	struct mpa_cm *cm = conn->cm;

	if (reason != MPA_REASON_REVISION || cm->peer.rev != MPA_REV_0 ||
	    (conn->initiator && conn->local.rev == MPA_REV_2))
		return mpa_cm_reset(conn, reason);
	cm->reason = reason;
	if (!mpa_frame_refuse(&conn->local, &cm->peer, &cm->ours))
		return mpa_cm_begin_drain(conn);

	cm->out = cm->header;
	cm->out_len = sizeof(cm->header);
	cm->out_done = 0;
	mpa_cm_frame(conn);
	cm->step = MPA_CM_REFUSAL;
	return true;
}

/*
 * After our FIN: read and drop octets until the peer's FIN. More of them than
 * MPA_DRAIN_OCTETS, or an error, resets the connection.
 */
static bool mpa_cm_drain(struct mpa_conn *conn)
{
	struct mpa_cm *cm = conn->cm;
	u8 sink[64];
	int n;

	while (cm->drained < MPA_DRAIN_OCTETS) {
		n = mpa_tcp_read(conn, sink, sizeof(sink));
		if (n == -EAGAIN)
			return false;
		if (!n)
			return mpa_cm_end(conn, cm->reason);
		if (n < 0)
			break;
		cm->drained += n;
		mpa_count_add(conn, RX_DISCARDED, n);
	}
	return mpa_cm_reset(conn, cm->reason);
}

/* Returns how many octets TCP took, or an error, as mpa_tx_give(). */
static int mpa_cm_write(struct mpa_conn *conn, void *octets, size_t len)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR,
	};
	struct kvec iov = { .iov_base = octets, .iov_len = len };
	int n;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, len);
	lock_sock(conn->sk);
	n = mpa_tx_give(conn, &msg, len);
	release_sock(conn->sk);
	return n;
}

static void mpa_cm_established(struct mpa_conn *conn,
			       const struct mpa_startup *reply)
{
	mpa_count(conn, ESTABLISHED);
	if (conn->terms.rev == MPA_REV_0)
		mpa_count(conn, REV0);
	if (!conn->terms.crc)
		mpa_count(conn, NO_CRC);
	if (conn->terms.enhanced)
		mpa_count(conn, ENHANCED);
	mpa_nl_established(conn);
	if (conn->ops->established && mpa_conn_enter(conn))
		conn->ops->established(conn, reply);
}

/*
 * Enter MPA_STATE_FULL (RFC 5044 section 7.1.2), with delivery on hold. If
 * enhanced startup failed the consumer may still send a Terminate message.
 */
static bool mpa_cm_establish(struct mpa_conn *conn,
			     const struct mpa_startup *reply)
{
	const struct mpa_cm *cm = conn->cm;
	enum mpa_reason reason = MPA_REASON_NONE;
	struct mpa_terms terms = {
		.rev = MPA_REV_NONE,
		.crc = true, .markers_tx = true, .markers_rx = true,
	};

	mpa_cm_timer_stop(conn);
	if (!cm->immediate)
		reason = mpa_frame_settle(&conn->local, &cm->ours, &cm->peer,
					  &terms);

	spin_lock_bh(&conn->lock);
	conn->terms = terms;
	spin_unlock_bh(&conn->lock);
	/* CS-29: a Responder first has to receive a valid FPDU. */
	conn->tx.may_send = cm->immediate || conn->initiator;
	mpa_tx_begin(conn);
	mpa_rx_begin(conn);
	trace_mpa_terms(conn, terms.rev, terms.crc, terms.markers_tx,
			terms.markers_rx);
	mpa_conn_set_state(conn, MPA_STATE_FULL);
	if (reason)
		mpa_conn_end(conn, reason, 0);
	else
		mpa_cm_established(conn, reply);
	mpa_cm_free(conn);
	return true;
}

static void mpa_cm_describe_peer(const struct mpa_cm *cm, struct mpa_startup *s)
{
	bool enhanced = mpa_frame_enhanced(&cm->peer);
	u32 erd = enhanced ? MPA_ERD_SIZE : 0;

	s->pd = cm->peer.pd_len > erd ? cm->pd + erd : NULL;
	s->pd_len = cm->peer.pd_len - erd;
	s->rev = cm->peer.rev;
	s->markers = cm->peer.flags & MPA_RR_M;
	s->enhanced = enhanced ? &cm->peer.erd : NULL;
}

/* The consumer accepts or rejects, now or later; no timer runs. */
static bool mpa_cm_got_request(struct mpa_conn *conn)
{
	struct mpa_startup req;

	/* CS-24: the Initiator must send nothing before it has our Reply. */
	if (mpa_tcp_unread(conn->sk))
		return mpa_cm_reset(conn, MPA_REASON_EARLY);

	mpa_cm_timer_stop(conn);
	mpa_cm_describe_peer(conn->cm, &req);
	conn->cm->step = MPA_CM_DECIDE;
	mpa_net_startup_end(conn);
	mpa_conn_set_state(conn, MPA_STATE_DECIDE);
	if (mpa_conn_enter(conn))
		conn->ops->request(conn, &req);
	return true;
}

/* CS-19, CS-27: MPA is over, and TCP stays open. */
static bool mpa_cm_rejected(struct mpa_conn *conn,
			    const struct mpa_startup *reply)
{
	mpa_cm_timer_stop(conn);
	mpa_conn_set_state(conn, MPA_STATE_REJECTED);
	if (conn->ops->rejected && mpa_conn_enter(conn))
		conn->ops->rejected(conn, reply);
	return false;
}

static bool mpa_cm_got_reply(struct mpa_conn *conn)
{
	struct mpa_startup reply;

	mpa_cm_describe_peer(conn->cm, &reply);
	if (!(conn->cm->peer.flags & MPA_RR_R)) {
		if (mpa_tcp_unread(conn->sk))
			mpa_count(conn, DATA_WITH_REPLY);
		return mpa_cm_establish(conn, &reply);
	}

	mpa_count(conn, REJECTS_RECEIVED);
	return mpa_cm_rejected(conn, &reply);
}

/*
 * Read octets @have to @len into @buf. Returns how many were read, or 0 if the
 * work item has to wait or the connection is over.
 */
static int mpa_cm_read(struct mpa_conn *conn, u8 *buf, u32 have, u32 len)
{
	int n = mpa_tcp_read(conn, buf + have, len - have);

	if (n > 0 || n == -EAGAIN)
		return max(n, 0);
	if (n == -EBADMSG)
		mpa_cm_reset(conn, MPA_REASON_URGENT);
	else if (n < 0)
		mpa_conn_fail(conn, MPA_REASON_RESET, n);
	else if (conn->cm->have)
		mpa_cm_reset(conn, MPA_REASON_SHORT_FRAME);
	else
		mpa_cm_reset(conn, MPA_REASON_FIN);
	return 0;
}

/*
 * Make room for more private data, twice what was read, if there is none: a
 * header alone must not make MPA allocate all that it announces. Returns false
 * if memory is short.
 */
static bool mpa_cm_pd_grow(struct mpa_cm *cm)
{
	u32 room = min_t(u32, 2 * cm->pd_room, cm->peer.pd_len);
	u8 *pd;

	if (cm->pd_have < cm->pd_room)
		return true;
	pd = kvmalloc(room, MPA_GFP_QUIET);
	if (!pd)
		return false;
	memcpy(pd, cm->pd, cm->pd_have);
	if (cm->pd != cm->pd_small)
		kvfree(cm->pd);
	cm->pd = pd;
	cm->pd_room = room;
	return true;
}

/* Read the private data: then the peer's frame is complete. */
static bool mpa_cm_pd(struct mpa_conn *conn)
{
	struct mpa_cm *cm = conn->cm;
	struct mpa_frame *peer = &cm->peer;
	int n;

	while (cm->pd_have < peer->pd_len) {
		if (!mpa_cm_pd_grow(cm))
			return mpa_cm_reset(conn, MPA_REASON_NOMEM);
		n = mpa_cm_read(conn, cm->pd, cm->pd_have,
				min_t(u32, cm->pd_room, peer->pd_len));
		if (!n)
			return false;
		cm->pd_have += n;
	}
	if (mpa_frame_enhanced(peer))
		mpa_frame_read_erd(cm->pd, peer);
	return peer->reply ? mpa_cm_got_reply(conn) : mpa_cm_got_request(conn);
}

/* Octets are checked as they arrive: a wrong one closes at once (CS-37). */
static bool mpa_cm_header(struct mpa_conn *conn)
{
	struct mpa_cm *cm = conn->cm;
	enum mpa_reason reason;
	int n, err;

	do {
		n = mpa_cm_read(conn, cm->header, cm->have, MPA_RR_SIZE);
		if (!n)
			return false;
		cm->have += n;
		err = mpa_frame_read(cm->header, cm->have, conn->initiator,
				     &cm->peer, &reason);
	} while (err == -EAGAIN);
	if (err)
		return mpa_cm_reset(conn, reason);

	trace_mpa_frame(conn, false, cm->peer.flags, cm->peer.rev,
			cm->peer.pd_len);
	spin_lock_bh(&conn->lock);
	conn->peer_rev = cm->peer.rev;
	spin_unlock_bh(&conn->lock);
	reason = mpa_frame_judge(&conn->local, &cm->peer);
	if (reason)
		return mpa_cm_refuse(conn, reason);
	cm->pd = cm->pd_small;
	cm->pd_room = sizeof(cm->pd_small);
	cm->step = MPA_CM_PD;
	return true;
}

/* Returns true when the consumer has answered and a Reply can be sent. */
static bool mpa_cm_decide(struct mpa_conn *conn)
{
	bool reject = mpa_conn_test(conn, MPA_CONN_REJECT);
	struct mpa_cm *cm = conn->cm;

	if (mpa_tcp_unread(conn->sk))
		return mpa_cm_reset(conn, MPA_REASON_EARLY);
	if (!reject && !mpa_conn_test(conn, MPA_CONN_ACCEPT))
		return false;

	mpa_frame_answer(&conn->local, &cm->peer, reject, cm->out_len -
			 mpa_cm_headroom(mpa_frame_enhanced(&cm->peer)),
			 &cm->ours);
	mpa_cm_frame(conn);
	mpa_cm_timer_start(conn);
	cm->step = MPA_CM_REPLY;
	return true;
}

/* Give cm->out to TCP; when TCP has all of it, go on to the next step. */
static bool mpa_cm_send(struct mpa_conn *conn)
{
	struct mpa_cm *cm = conn->cm;

	while (cm->out_done < cm->out_len) {
		int n = mpa_cm_write(conn, cm->out + cm->out_done,
				     cm->out_len - cm->out_done);
		if (n == -ENOMEM)
			mpa_conn_retry(conn);
		else if (n < 0 && n != -EAGAIN)
			mpa_conn_fail(conn, MPA_REASON_RESET, n);
		if (n < 0)
			return false;
		cm->out_done += n;
	}
	mpa_cm_free_out(cm);

	switch (cm->step) {
	case MPA_CM_STREAM:
	case MPA_CM_REQUEST:
		cm->step = MPA_CM_HEADER;
		return true;
	case MPA_CM_REPLY:
		if (!mpa_conn_test(conn, MPA_CONN_REJECT))
			return mpa_cm_establish(conn, NULL);
		mpa_count(conn, REJECTS_SENT);
		return mpa_cm_rejected(conn, NULL);
	case MPA_CM_REFUSAL:
		return mpa_cm_begin_drain(conn);
	default:
		return false;
	}
}

/* mpa_sk_off() restores these options. */
static void mpa_cm_options(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	/* TCP_CORK would hold back our frames and FPDUs for up to 200 ms. */
	tcp_sock_set_nodelay(sk);
	tcp_sock_set_cork(sk, false);
	lock_sock(sk);
	/* With a higher value TCP would not report the first octets. */
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	/* TCP would skip an urgent octet when the next one comes. */
	sock_set_flag(sk, SOCK_URGINLINE);
	/*
	 * A task that stands in for the work item may be about to copy octets
	 * of another socket to its page fragment: in a page fault, or in memory
	 * reclaim. See mpa_tx_give().
	 */
	sk->sk_use_task_frag = false;
	if (conn->conn_flags & MPA_F_MEMALLOC)
		mpa_tcp_memalloc(sk);
	release_sock(sk);
}

/* An mpa_start_*() has been called. */
static bool mpa_cm_begin(struct mpa_conn *conn)
{
	struct mpa_cm *cm = conn->cm;

	mpa_cm_options(conn);
	if (cm->immediate)
		return mpa_cm_establish(conn, NULL);

	conn->local.crc = READ_ONCE(READ_ONCE(conn->mn)->crc);
	if (conn->initiator) {
		mpa_frame_request(&conn->local, cm->out_len -
				  mpa_cm_headroom(conn->local.enhanced),
				  &cm->ours);
		mpa_cm_frame(conn);
	}
	mpa_conn_set_state(conn, MPA_STATE_STARTUP);
	mpa_cm_timer_start(conn);
	/* Remote peers create Responders at will, consumers the Initiators. */
	if (!conn->initiator)
		mpa_net_startup_begin(conn);
	return true;
}

/* Stop waiting for the peer. If its frame was refused, report that. */
static bool mpa_cm_give_up(struct mpa_conn *conn, enum mpa_reason reason)
{
	if (conn->cm->step == MPA_CM_DRAIN || conn->cm->step == MPA_CM_REFUSAL)
		reason = conn->cm->reason;
	return mpa_cm_reset(conn, reason);
}

static bool mpa_cm_advance(struct mpa_conn *conn)
{
	switch (conn->cm->step) {
	case MPA_CM_STREAM:
	case MPA_CM_REQUEST:
	case MPA_CM_REPLY:
	case MPA_CM_REFUSAL:
		return mpa_cm_send(conn);
	case MPA_CM_HEADER:
		return mpa_cm_header(conn);
	case MPA_CM_PD:
		return mpa_cm_pd(conn);
	case MPA_CM_DECIDE:
		return mpa_cm_decide(conn);
	case MPA_CM_DRAIN:
		return mpa_cm_drain(conn);
	}
	return false;
}

/*
 * Work item, in MPA_STATE_ATTACHED, _STARTUP and _DECIDE: one step. Returns
 * true if another one may be possible at once.
 */
bool mpa_cm_run(struct mpa_conn *conn)
{
	if (!mpa_conn_test(conn, MPA_CONN_START))
		return false;
	if (conn->state == MPA_STATE_ATTACHED)
		return mpa_cm_begin(conn);
	/* The timer may have fired before the deadline, for a retry. */
	if (test_and_clear_bit(MPA_CONN_TIMEOUT, &conn->flags) &&
	    time_before(jiffies, conn->cm->deadline))
		mod_timer(&conn->timer, conn->cm->deadline);
	if (mpa_cm_advance(conn))
		return true;
	if (conn->state > MPA_STATE_DECIDE)
		return false;
	/*
	 * Tested after all that has arrived was read, since the work item may
	 * run late. A frame that is not complete by now gets no more time:
	 * single octets do not put the deadline off. The consumer's answer has
	 * no deadline.
	 */
	if (conn->cm->step != MPA_CM_DECIDE &&
	    time_after_eq(jiffies, conn->cm->deadline))
		return mpa_cm_give_up(conn, MPA_REASON_TIMEOUT);
	if (conn->state == MPA_STATE_STARTUP &&
	    mpa_conn_test(conn, MPA_CONN_STARTUP_OVERFLOW))
		return mpa_cm_give_up(conn, MPA_REASON_STARTUP_OVERFLOW);
	return false;
}

/*
 * Work item, at the detach: the consumer has rejected the Request before. Send
 * the Reply, if TCP takes it at once: without it the peer would not know why
 * the connection is of no use. Not once TCP was closed: the socket may be
 * another user's by now.
 */
void mpa_cm_leave(struct mpa_conn *conn)
{
	while (conn->state == MPA_STATE_DECIDE &&
	       mpa_conn_test(conn, MPA_CONN_REJECT) &&
	       !mpa_conn_test(conn, MPA_CONN_GONE) && mpa_cm_advance(conn))
		;
}

/* Most private data of the ULP that a frame of revision @rev may carry. */
static u32 mpa_cm_pd_max(const struct mpa_conn *conn, u8 rev, bool enhanced)
{
	if (enhanced)
		return MPA_PD_MAX_ENHANCED;
	return rev == MPA_REV_0 ? conn->local.pd_max : MPA_PD_MAX;
}

/* Copy private data or a message, after @headroom octets. Context: any. */
static u8 *mpa_cm_copy(const void *data, size_t len, size_t headroom)
{
	u8 *out = kmalloc(headroom + len, GFP_ATOMIC | __GFP_NOWARN);

	if (out && len)
		memcpy(out + headroom, data, len);
	return out;
}

static int mpa_cm_start(struct mpa_conn *conn, struct mpa_cm *cm,
			bool initiator)
{
	bool ok;

	spin_lock_bh(&conn->lock);
	ok = conn->state == MPA_STATE_ATTACHED &&
	     !mpa_conn_test(conn, MPA_CONN_START) &&
	     !mpa_conn_test(conn, MPA_CONN_DETACH);
	if (ok) {
		conn->cm = cm;
		conn->initiator = initiator;
		/* Pairs with mpa_conn_test(): a reader of START sees cm. */
		smp_mb__before_atomic();
		set_bit(MPA_CONN_START, &conn->flags);
		mpa_conn_get(conn);
	}
	spin_unlock_bh(&conn->lock);
	if (!ok) {
		kfree(cm->out);
		kfree(cm);
		return -EALREADY;
	}
	mpa_conn_kick_put(conn);
	return 0;
}

/* A startup that begins with sending @data, after @headroom octets. */
static struct mpa_cm *mpa_cm_alloc(const void *data, size_t len,
				   size_t headroom, enum mpa_cm_step step)
{
	struct mpa_cm *cm = kzalloc(sizeof(*cm), GFP_ATOMIC);

	if (!cm)
		return NULL;
	cm->step = step;
	cm->out_len = headroom + len;
	if (!cm->out_len)
		return cm;
	cm->out = mpa_cm_copy(data, len, headroom);
	if (!cm->out) {
		kfree(cm);
		return NULL;
	}
	return cm;
}

/**
 * mpa_set_enhanced() - change what enhanced startup asks for or answers
 * @conn: connection attached with %MPA_F_ENHANCED: an Initiator that has not
 *	been started, or a Responder that has not answered the Request
 * @enhanced: replaces &mpa_params.enhanced; a Responder usually knows it only
 *	after it has seen the Request. The depths in a rejecting Reply are those
 *	that it would have needed.
 * @ird_max: replaces &mpa_params.ird_max
 *
 * RFC 6581 section 9.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks, also from request().
 * Return: 0, %-EINVAL: a depth or kind of RTR that does not exist, a started
 * Responder without a kind of RTR, or no %MPA_F_ENHANCED, %-EALREADY: too late
 */
int mpa_set_enhanced(struct mpa_conn *conn, const struct mpa_enhanced *enhanced,
		     u16 ird_max)
{
	bool started;
	int err = 0;

	if (!conn->local.enhanced || !mpa_enhanced_ok(enhanced, ird_max))
		return -EINVAL;
	spin_lock_bh(&conn->lock);
	started = mpa_conn_test(conn, MPA_CONN_START);
	if (conn->state > MPA_STATE_DECIDE || (started && conn->initiator) ||
	    READ_ONCE(conn->flags) & (BIT(MPA_CONN_ACCEPT) |
				      BIT(MPA_CONN_REJECT)))
		err = -EALREADY;
	else if (started && !enhanced->rtr)
		err = -EINVAL;
	if (!err) {
		conn->local.erd = *enhanced;
		conn->local.ird_max = ird_max;
	}
	spin_unlock_bh(&conn->lock);
	return err;
}
EXPORT_SYMBOL_GPL(mpa_set_enhanced);

/**
 * mpa_start_initiator() - start MPA with a Request frame
 * @conn: connection, attached and not started
 * @pd: private data for the Request; copied
 * @len: octets of @pd: up to %MPA_PD_MAX, for Rev 0 up to &mpa_params.pd_max,
 *	for enhanced startup up to %MPA_PD_MAX_ENHANCED
 *
 * RFC 5044 section 7.1.2: sends the Request, waits for the Reply for at most
 * the time in the sysctl net.mpa.startup_timeout_ms, and enters full
 * operation. One of established(), rejected() and ended() follows. After
 * ended() with %MPA_ERR_IRD or %MPA_ERR_RTR, from enhanced startup, the
 * consumer can still send (a Terminate message) before it closes.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks.
 * Return: 0, %-EINVAL: no rejected() callback, %-EMSGSIZE: too much private
 * data, %-EALREADY: started, detached or ended before, %-ENOMEM
 */
int mpa_start_initiator(struct mpa_conn *conn, const void *pd, size_t len)
{
	bool enhanced = conn->local.enhanced;
	struct mpa_cm *cm;

	if (!conn->ops->rejected)
		return -EINVAL;
	if (len > mpa_cm_pd_max(conn, conn->local.rev, enhanced))
		return -EMSGSIZE;
	cm = mpa_cm_alloc(pd, len, mpa_cm_headroom(enhanced), MPA_CM_REQUEST);
	if (!cm)
		return -ENOMEM;
	return mpa_cm_start(conn, cm, true);
}
EXPORT_SYMBOL_GPL(mpa_start_initiator);

/**
 * mpa_start_responder() - wait for the peer's Request frame
 * @conn: connection, attached and not started
 * @msg: last streaming message (RFC 5044 section 7.1.5), sent before waiting
 *	for the Request; copied. NULL if there is none.
 * @len: octets of @msg, up to %MPA_PD_MAX_REV0
 *
 * RFC 5044 section 7.1.2: waits for the Request for at most the time in the
 * sysctl net.mpa.startup_timeout_ms, and calls request() with it. When more
 * than net.mpa.startup_max connections of the namespace wait, the one that has
 * waited longest ends, with %MPA_REASON_STARTUP_OVERFLOW. Messages can be sent
 * in full operation, from established() on; they stay queued until the first
 * FPDU of the peer has been verified: the Initiator's ULP has to send first.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks.
 * Return: 0, %-EINVAL: no request() callback, or enhanced startup without any
 * kind of RTR, %-EMSGSIZE: message too long, %-EALREADY: started, detached or
 * ended before, %-ENOMEM
 */
int mpa_start_responder(struct mpa_conn *conn, const void *msg, size_t len)
{
	struct mpa_cm *cm;

	if (!conn->ops->request ||
	    (conn->local.enhanced && !conn->local.erd.rtr))
		return -EINVAL;
	if (len > MPA_PD_MAX_REV0)
		return -EMSGSIZE;
	cm = mpa_cm_alloc(msg, len, 0, MPA_CM_STREAM);
	if (!cm)
		return -ENOMEM;
	return mpa_cm_start(conn, cm, false);
}
EXPORT_SYMBOL_GPL(mpa_start_responder);

/**
 * mpa_start_immediate() - full operation without startup frames
 * @conn: connection, attached and not started
 *
 * As in draft-culley-iwarp-mpa section 8.1: markers and CRC are on in both
 * directions, and either end may send first. established() follows.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks.
 * Return: 0, %-EALREADY: started, detached or ended before, %-ENOMEM
 */
int mpa_start_immediate(struct mpa_conn *conn)
{
	struct mpa_cm *cm = mpa_cm_alloc(NULL, 0, 0, MPA_CM_STREAM);

	if (!cm)
		return -ENOMEM;
	cm->immediate = true;
	return mpa_cm_start(conn, cm, false);
}
EXPORT_SYMBOL_GPL(mpa_start_immediate);

/*
 * conn->lock held. Returns 0 if there is a Request that can be answered with
 * @len octets of private data, or an error.
 */
static int mpa_cm_may_answer(const struct mpa_conn *conn, size_t len)
{
	const struct mpa_cm *cm = conn->cm;

	lockdep_assert_held(&conn->lock);
	if (conn->state != MPA_STATE_DECIDE || !cm ||
	    READ_ONCE(conn->flags) & (BIT(MPA_CONN_ACCEPT) |
				      BIT(MPA_CONN_REJECT) |
				      BIT(MPA_CONN_DETACH)))
		return -ENOTCONN;
	if (len > mpa_cm_pd_max(conn, min(cm->peer.rev, conn->local.rev),
				mpa_frame_enhanced(&cm->peer)))
		return -EMSGSIZE;
	return 0;
}

static int mpa_cm_answer(struct mpa_conn *conn, const void *pd, size_t len,
			 enum mpa_flag flag)
{
	u32 headroom;
	u8 *out;
	int err;

	spin_lock_bh(&conn->lock);
	err = mpa_cm_may_answer(conn, len);
	if (err)
		goto unlock;
	headroom = mpa_cm_headroom(mpa_frame_enhanced(&conn->cm->peer));
	out = mpa_cm_copy(pd, len, headroom);
	if (!out) {
		err = -ENOMEM;
		goto unlock;
	}
	conn->cm->out = out;
	conn->cm->out_len = headroom + len;
	conn->cm->out_done = 0;
	/* Pairs with mpa_conn_test(): a reader of the flag sees cm->out. */
	smp_mb__before_atomic();
	set_bit(flag, &conn->flags);
	mpa_conn_get(conn);
unlock:
	spin_unlock_bh(&conn->lock);
	if (!err)
		mpa_conn_kick_put(conn);
	return err;
}

/**
 * mpa_accept() - accept a Request
 * @conn: connection whose request() has been called
 * @pd: private data for the Reply; copied
 * @len: octets of @pd: up to %MPA_PD_MAX, for Rev 0 up to &mpa_params.pd_max,
 *	for a Request with enhanced data up to %MPA_PD_MAX_ENHANCED
 *
 * Sends the Reply and enters full operation (RFC 5044 section 7.1.2 rule 2);
 * established() follows. The depths and the kinds of RTR in a Reply with
 * enhanced data follow from &mpa_params.enhanced and from the Request by the
 * rules of RFC 6581 section 9; mpa_get_info() has the result.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep. May be
 * called from callbacks, also from request().
 * Return: 0, %-ENOTCONN: there is no Request to answer, or the connection has
 * ended, %-EMSGSIZE: too much private data, %-ENOMEM
 */
int mpa_accept(struct mpa_conn *conn, const void *pd, size_t len)
{
	return mpa_cm_answer(conn, pd, len, MPA_CONN_ACCEPT);
}
EXPORT_SYMBOL_GPL(mpa_accept);

/**
 * mpa_reject() - reject a Request
 * @conn: connection whose request() has been called
 * @pd: private data for the Reply; copied
 * @len: octets of @pd, as for mpa_accept()
 *
 * Sends the Reply with R=1; rejected() follows. MPA does nothing more on the
 * connection then; mpa_detach() gives the TCP connection, still open, back to
 * the consumer (RFC 5044 section 7.1.2 rule 2). That may be called at once: a
 * Reply that TCP has room for is still sent.
 *
 * Context: as mpa_accept().
 * Return: 0, %-ENOTCONN, %-EMSGSIZE, %-ENOMEM, as mpa_accept()
 */
int mpa_reject(struct mpa_conn *conn, const void *pd, size_t len)
{
	return mpa_cm_answer(conn, pd, len, MPA_CONN_REJECT);
}
EXPORT_SYMBOL_GPL(mpa_reject);
