// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue. Its entries are started by run(), a callback that MPA calls
 * in each round of its work item, or of a task that rings the doorbell, or in
 * softirq after a recv() whose handlers post: one at a time. So a lock is
 * needed only for the ring, and for what rnic.h says is under q.lock.
 *
 * Requests start in order. One that has to wait (for a fence, for ORD, for the
 * users of a region) stays in its slot, at sq->head, and those after it wait,
 * too. So does one that fails while Reads before it are under way; it is tried
 * again after them, and may succeed then. Completions are in the order of
 * posting: slots from sq->tail on are completed as far as they are done.
 */
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/vmalloc.h>

#include "rnic.h"

#define RUN_BUDGET	64	/* requests started in one round */

/* What became of a request that was to start */
enum start {
	START_WAIT,	/* it stays in its slot, to be tried again */
	START_SENT,	/* its message is on the list for MPA */
	START_DONE,	/* it needs no message, or has failed */
};

static struct rnic_msg *sq_slot(struct rnic_sq *sq, u32 n)
{
	return &sq->slot[n & (sq->q.size - 1)];
}

static bool is_read(const struct rnic_msg *msg)
{
	return msg->wqe.opcode == SIW_OP_READ ||
	       msg->wqe.opcode == SIW_OP_READ_LOCAL_INV;
}

static void sq_complete(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	while (sq->tail != sq->head) {
		struct rnic_msg *msg = sq_slot(sq, sq->tail);

		if (msg->state != RNIC_MSG_DONE)
			break;
		qp->owed_send |= rnic_sqe_complete(qp, &msg->wqe,
						      msg->status, msg->bytes);
		msg->state = RNIC_MSG_FREE;
		sq->tail++;
	}
}

/* The request of a slot has ended; its completion may have to wait. */
void rnic_sq_done(struct rnic_qp *qp, struct rnic_msg *msg, u16 status)
{
	rnic_sgl_put(&msg->sgl);
	if (msg->state == RNIC_MSG_READING)
		list_del(&msg->reading);
	msg->status = status;
	msg->state = RNIC_MSG_DONE;
	if (is_read(msg) && msg->counted) {
		msg->counted = false;
		qp->sq.reads--;
	}
	sq_complete(qp);
	if (qp->sq.waiting || READ_ONCE(qp->sq.closing))
		rnic_qp_kick(qp);
}

/*
 * The oldest Read whose Read Request is sent, but not answered in full; or NULL
 */
struct rnic_msg *rnic_sq_oldest_read(struct rnic_qp *qp)
{
	return list_first_entry_or_null(&qp->sq.reading, struct rnic_msg,
					reading);
}

/* A Read that has asked for those octets, or NULL */
struct rnic_msg *rnic_sq_read_of(struct rnic_qp *qp, u32 stag, u64 to, u32 len)
{
	struct rnic_msg *msg;

	list_for_each_entry(msg, &qp->sq.reading, reading) {
		const struct siw_sge *sink = &msg->sgl.sge[0];
		u64 off = to - sink->laddr;	/* huge if it is below */

		if (sink->lkey == stag && off <= msg->sgl.len &&
		    len <= msg->sgl.len - off)
			return msg;
	}
	return NULL;
}

/*
 * The peer refuses the Read whose Read Request has this number; if it has made
 * that up, none. It completes in its turn, when the connection is over.
 */
void rnic_sq_refused(struct rnic_qp *qp, u32 msn)
{
	struct rnic_msg *msg;

	list_for_each_entry(msg, &qp->sq.reading, reading)
		if (msg->hdr.msn == msn)
			msg->status = SIW_WC_REM_ACCESS_ERR;
}

/* User space may have written the elements: nothing in them can be trusted. */
static u16 sq_resolve(struct rnic_qp *qp, struct rnic_msg *msg, int access)
{
	struct siw_sqe *wqe = &msg->wqe;
	struct rnic_sgl *sgl = &msg->sgl;
	enum rnic_mr_error err;

	if (wqe->flags & SIW_WQE_INLINE) {
		if (is_read(msg) || wqe->sge[0].length > RNIC_MAX_INLINE)
			return SIW_WC_LOC_LEN_ERR;
		memset(sgl->mr, 0, sizeof(sgl->mr));
		sgl->sge[0].laddr = (uintptr_t)&wqe->sge[1];
		sgl->sge[0].length = wqe->sge[0].length;
		sgl->nr = 1;
		sgl->len = wqe->sge[0].length;
		return 0;
	}
	if (wqe->num_sge > RNIC_MAX_SGE)
		return SIW_WC_LOC_QP_OP_ERR;
	rnic_sgl_set(sgl, wqe->sge, wqe->num_sge);
	err = rnic_sgl_get(sgl, qp, qp->ib.pd, access);
	if (err == RNIC_MR_LEN)
		return SIW_WC_LOC_LEN_ERR;
	return err ? SIW_WC_LOC_PROT_ERR : SIW_WC_SUCCESS;
}

static enum start start_done(struct rnic_msg *msg, u16 status)
{
	msg->status = status;
	return START_DONE;
}

static enum start sq_start_message(struct rnic_qp *qp, struct rnic_msg *msg,
				   struct list_head *list)
{
	u16 status = sq_resolve(qp, msg, 0);

	if (status)
		return start_done(msg, status);
	msg->bytes = msg->sgl.len;
	rnic_tx_wqe(qp, msg);
	list_add_tail(&msg->tx.list, list);
	return START_SENT;
}

/*
 * A Read has one sink at most, which has an STag. An RTR by RDMA Read takes a
 * place of the peer's until it is answered (RFC 6581 section 9.1).
 */
static enum start sq_start_read(struct rnic_qp *qp, struct rnic_msg *msg,
				struct list_head *list)
{
	u16 status;

	if (!qp->ord || msg->wqe.num_sge > 1)
		return start_done(msg, SIW_WC_LOC_QP_OP_ERR);
	if (qp->sq.reads + qp->rtr_unanswered >= qp->ord)
		return START_WAIT;
	status = sq_resolve(qp, msg, IB_ACCESS_LOCAL_WRITE);
	if (!status && msg->sgl.len && !msg->sgl.mr[0]) {
		rnic_sgl_put(&msg->sgl);
		status = SIW_WC_LOC_PROT_ERR;
	}
	if (status)
		return start_done(msg, status);
	msg->bytes = msg->sgl.len;
	msg->responded = 0;
	msg->counted = true;
	qp->sq.reads++;
	rnic_tx_wqe(qp, msg);
	list_add_tail(&msg->tx.list, list);
	return START_SENT;
}

static enum start sq_start_local(struct rnic_qp *qp, struct rnic_msg *msg)
{
	const struct siw_sqe *wqe = &msg->wqe;
	int err;

	if (!qp->kernel)
		return start_done(msg, SIW_WC_LOC_QP_OP_ERR);
	if (wqe->opcode == SIW_OP_REG_MR)
		err = rnic_mr_register(qp->ib.pd,
				       (struct ib_mr *)(uintptr_t)wqe->base_mr,
				       wqe->rkey, wqe->access);
	else
		err = rnic_mr_invalidate(qp->dev, qp->ib.pd, wqe->rkey, 0, qp);
	if (err == -EBUSY)
		return START_WAIT;
	return start_done(msg, err ? SIW_WC_LOC_QP_OP_ERR : SIW_WC_SUCCESS);
}

static enum start sq_start(struct rnic_qp *qp, struct rnic_msg *msg,
			   struct list_head *list)
{
	msg->bytes = 0;
	msg->status = SIW_WC_SUCCESS;
	msg->counted = false;
	if (msg->wqe.flags & SIW_WQE_READ_FENCE && qp->sq.reads)
		return START_WAIT;
	switch (msg->wqe.opcode) {
	case SIW_OP_SEND:
	case SIW_OP_SEND_REMOTE_INV:
	case SIW_OP_WRITE:
		return sq_start_message(qp, msg, list);
	case SIW_OP_READ_LOCAL_INV:
	case SIW_OP_READ:
		return sq_start_read(qp, msg, list);
	case SIW_OP_REG_MR:
	case SIW_OP_INVAL_STAG:
		return sq_start_local(qp, msg);
	default:
		return start_done(msg, SIW_WC_LOC_QP_OP_ERR);
	}
}

/* True if what is posted may be taken from the ring. With its lock */
static bool sq_may_take(const struct rnic_sq *sq)
{
	lockdep_assert_held(&sq->q.lock);
	return !sq->bounded || sq->left;
}

/* Fill the slot at sq->head, unless it holds a request that waited. */
static bool sq_fetch(struct rnic_sq *sq, struct rnic_msg *msg)
{
	unsigned long flags;
	bool res;

	if (msg->state == RNIC_MSG_FETCHED)
		return true;
	/* Without the lock: mostly the ring is empty. A later post kicks. */
	if (!rnic_sqe_ready(&sq->q))
		return false;
	spin_lock_irqsave(&sq->q.lock, flags);
	res = sq_may_take(sq) && rnic_sqe_take(&sq->q, &msg->wqe);
	if (res && sq->bounded)
		sq->left--;
	spin_unlock_irqrestore(&sq->q.lock, flags);
	if (res)
		msg->state = RNIC_MSG_FETCHED;
	return res;
}

static void sq_send(struct rnic_qp *qp, struct list_head *list)
{
	/* Messages that MPA refuses are flushed when the connection is over. */
	if (!list_empty(list))
		mpa_send_list(qp->sq.conn, list);
}

/*
 * True if no request is left to start, one that a handler has just posted
 * included, and no Read is under way.
 */
static bool sq_idle(struct rnic_sq *sq)
{
	unsigned long flags;
	bool res;

	if (sq->waiting || sq->more || sq->reads)
		return false;
	spin_lock_irqsave(&sq->q.lock, flags);
	res = !(sq_may_take(sq) && rnic_sqe_ready(&sq->q));
	spin_unlock_irqrestore(&sq->q.lock, flags);
	return res;
}

/*
 * True if requests may start: not after an error, and in ERR only those counted
 * by modify_qp(SQD), because ULPs drain a QP right after rdma_disconnect().
 */
static bool sq_may_start(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	/*
	 * Pairs with rnic_qp_set_state(), which follows rnic_sq_close() under
	 * q.lock: a reader of ERR sees what that counted before.
	 */
	if (qp->failed || smp_load_acquire(&qp->state) != IB_QPS_ERR)
		return !qp->failed;
	return sq->bounded &&
	       (sq->left || sq_slot(sq, sq->head)->state == RNIC_MSG_FETCHED);
}

/*
 * True if the connection uses a region that dereg_mr() waits for. A free slot
 * uses none, nor does a request that waits at sq->head.
 */
static bool uses_dying(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	u32 n;

	for (n = sq->tail; n != sq->head; n++)
		if (rnic_sgl_dying(&sq_slot(sq, n)->sgl))
			return true;
	for (n = qp->resp_tail; n != qp->resp_head; n++)
		if (rnic_sgl_dying(&qp->response[n % qp->nr_responses].sgl))
			return true;
	return qp->rx.busy && rnic_sgl_dying(&qp->rx.sgl);
}

/*
 * Not in softirq, or in a task with BH off and the socket locked: an
 * application may have 32768 slots in use.
 */
static void sq_end_dying(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;

	if (!READ_ONCE(sq->check_dying))
		return;
	if (in_softirq()) {
		mpa_kick(sq->conn);
		return;
	}
	WRITE_ONCE(sq->check_dying, false);
	if (uses_dying(qp))
		mpa_abort(sq->conn);
}

/*
 * True in the second round after @leave was set: MPA has sent what it could. In
 * softirq, or in a task with BH off, it may have left that to a round.
 */
static bool sq_leaves(struct rnic_sq *sq)
{
	bool res = sq->leaving;

	if (!READ_ONCE(sq->leave))
		return false;
	if (in_softirq()) {
		mpa_kick(sq->conn);
		return false;
	}
	if (!res)
		mpa_kick(sq->conn);
	sq->leaving = true;
	return res;
}

/* Apart from its callers, which mostly do not need the memory for @info */
static noinline void note_moved(struct rnic_qp *qp)
{
	struct mpa_info info;

	mpa_get_info(qp->sq.conn, &info);
	WRITE_ONCE(qp->moved,
		   info.tx_pos + (qp->sq.reads ? info.rx_pos : 0));
}

/*
 * Note how far TCP has taken octets and, while Reads wait, the peer's have been
 * delivered: qp_timeout() leaves if neither moves.
 */
void rnic_sq_note_moved(struct rnic_qp *qp)
{
	if (delayed_work_pending(&qp->timeout))
		note_moved(qp);
}

/*
 * Start what can start. Connection context, in full operation. Returns true if
 * the connection is to be detached.
 */
bool rnic_sq_run(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	int budget = RUN_BUDGET;
	LIST_HEAD(list);

	sq_end_dying(qp);
	rnic_sq_note_moved(qp);
	if (READ_ONCE(sq->cqe_lost))
		rnic_fail(qp, sq->conn, RDMAP_ERR_LOCAL, 0, NULL, 0);
	sq->waiting = false;
	sq->more = false;
	while (sq_may_start(qp)) {
		struct rnic_msg *msg = sq_slot(sq, sq->head);
		enum start start;

		sq->waiting = sq->head - sq->tail == sq->q.size;
		if (sq->waiting || !sq_fetch(sq, msg))
			break;
		sq->more = !budget--;
		if (sq->more)
			break;
		start = sq_start(qp, msg, &list);
		/* One that fails is tried again after the Reads before it. */
		sq->waiting = start == START_WAIT ||
			      (start == START_DONE && msg->status && sq->reads);
		if (sq->waiting)
			break;
		sq->head++;
		msg->state = RNIC_MSG_SENDING;
		if (start == START_SENT)
			continue;
		sq_send(qp, &list);
		INIT_LIST_HEAD(&list);
		if (msg->status)
			rnic_fail_request(qp, sq->conn);
		rnic_sq_done(qp, msg, msg->status);
	}
	sq_send(qp, &list);
	rnic_qp_notify(qp);
	if (sq->more)
		mpa_kick(sq->conn);
	else if (READ_ONCE(sq->closing) && sq_idle(sq))
		mpa_shutdown(sq->conn);
	/* Requests that modify_qp(SQD) counted start first, if none waits. */
	return !(sq->more && READ_ONCE(sq->bounded)) && sq_leaves(sq);
}

static void wqe_sent(struct rnic_qp *qp, struct rnic_msg *msg)
{
	/* Cut short: flushed with the rest */
	if (msg->tx.status || !msg->given)
		return;
	if (msg->counted) {
		msg->state = RNIC_MSG_READING;
		list_add_tail(&msg->reading, &qp->sq.reading);
	} else {
		rnic_sq_done(qp, msg, SIW_WC_SUCCESS);
	}
}

/* MPA hands back messages, in order. Connection context. */
void rnic_sq_sent(struct rnic_qp *qp, struct list_head *done)
{
	struct rnic_msg *msg, *next;

	list_for_each_entry_safe(msg, next, done, tx.list) {
		switch (msg->kind) {
		case RNIC_MSG_WQE:
			wqe_sent(qp, msg);
			break;
		case RNIC_MSG_RESPONSE:
			rnic_tx_responded(qp, msg);
			break;
		case RNIC_MSG_RTR:
		case RNIC_MSG_TERM:
			break;	/* Each is used once. */
		}
	}
	rnic_qp_notify(qp);
}

/*
 * Have a FIN follow what is to be sent. After modify_qp(SQD) that is what is on
 * the ring now: later posts are flushed (RFC 5041 section 6.2.1). After the
 * peer's FIN alone, later posts are still sent until the queue is idle.
 * Context: any
 */
void rnic_sq_close(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->q.lock, flags);
	if (qp->state == IB_QPS_SQD && !sq->bounded) {
		sq->left = rnic_sqe_posted(&sq->q);
		WRITE_ONCE(sq->bounded, true);
	}
	spin_unlock_irqrestore(&sq->q.lock, flags);
	WRITE_ONCE(qp->sq.closing, true);
	rnic_qp_kick(qp);
}

/*
 * The connection is over, and MPA has handed back all messages: complete what
 * has a slot, in order. All of it has failed (RFC 5040 section 6.2.1): also a
 * request that is done, since it waited for one before it that is not, and no
 * success may follow a failure. Connection context.
 */
void rnic_sq_flush_slots(struct rnic_qp *qp)
{
	struct rnic_sq *sq = &qp->sq;
	u32 n;

	if (!sq->slot)
		return;
	sq->waiting = false;
	if (sq_slot(sq, sq->head)->state == RNIC_MSG_FETCHED)
		sq->head++;
	for (n = sq->tail; n != sq->head; n++) {
		struct rnic_msg *msg = sq_slot(sq, n);

		if (msg->state == RNIC_MSG_DONE) {
			msg->status = msg->status ?: SIW_WC_WR_FLUSH_ERR;
			continue;
		}
		rnic_sgl_put(&msg->sgl);
		/* A Read has one if it was refused, or read_done() failed. */
		if (msg->state != RNIC_MSG_READING || !msg->status)
			msg->status = SIW_WC_WR_FLUSH_ERR;
		msg->state = RNIC_MSG_DONE;
	}
	sq->reads = 0;
	INIT_LIST_HEAD(&sq->reading);
	sq_complete(qp);
}

/*
 * Slots for the send queue, and for what else the connection sends: IRD Read
 * Responses and one more, since an RTR by RDMA Read is not counted, an RTR and
 * a Terminate. Comes before anything is sent, which therefore needs no memory.
 * Slots of Responses are used in turn for ever, so their number is a power of
 * two: another one does not divide 2^32, and after that many Responses a slot
 * would come again while MPA has it.
 */
int rnic_qp_slots(struct rnic_qp *qp)
{
	gfp_t gfp = qp->kernel ? GFP_KERNEL : GFP_KERNEL_ACCOUNT;

	INIT_LIST_HEAD(&qp->sq.reading);
	qp->nr_responses = roundup_pow_of_two(max(qp->ird, 1U) + 1);
	qp->sq.slot = __vcalloc(qp->sq.q.size + qp->nr_responses + 2,
				sizeof(*qp->sq.slot), gfp);
	if (!qp->sq.slot)
		return -ENOMEM;
	qp->response = qp->sq.slot + qp->sq.q.size;
	qp->rtr = qp->response + qp->nr_responses;
	qp->term = qp->rtr + 1;
	return 0;
}

void rnic_qp_free_slots(struct rnic_qp *qp)
{
	vfree(qp->sq.slot);
	qp->sq.slot = NULL;
}
