// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rings of work requests: posting to them, and flushing what is on them.
 *
 * The end of a connection flushes what is posted while there is one, so that it
 * comes after what MPA still has. From then on queue->flushes is set, and
 * posting queues a work item that flushes: a verb must not call the
 * handlers of completions and events, for its caller may hold a lock that they
 * take. Only one at a time flushes, so completions stay in order; what is
 * posted while it flushes is flushed by that one. So ib_drain_qp() always ends,
 * also on a QP that was never connected.
 */
#include <linux/errno.h>
#include <linux/string.h>

#include "rnic.h"

static u16 sqe_flags(const struct rnic_qp *qp, const struct ib_send_wr *wr)
{
	u16 flags = SIW_WQE_VALID;

	if (qp->sig_all || wr->send_flags & IB_SEND_SIGNALED)
		flags |= SIW_WQE_SIGNALLED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		flags |= SIW_WQE_SOLICITED;
	if (wr->send_flags & IB_SEND_FENCE)
		flags |= SIW_WQE_READ_FENCE;
	if (wr->send_flags & IB_SEND_INLINE)
		flags |= SIW_WQE_INLINE;
	return flags;
}

static int sqe_inline(struct siw_sqe *sqe, const struct ib_send_wr *wr)
{
	u8 *to = (u8 *)&sqe->sge[1];
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > RNIC_MAX_INLINE - len)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	sqe->num_sge = 1;
	sqe->sge[0].length = len;
	return 0;
}

static int sqe_sges(struct siw_sqe *sqe, const struct ib_send_wr *wr)
{
	int i;

	if (wr->send_flags & IB_SEND_INLINE)
		return sqe_inline(sqe, wr);
	for (i = 0; i < wr->num_sge; i++)
		sqe->sge[i] = (struct siw_sge) {
			.laddr	= wr->sg_list[i].addr,
			.length	= wr->sg_list[i].length,
			.lkey	= wr->sg_list[i].lkey,
		};
	sqe->num_sge = wr->num_sge;
	return 0;
}

/* A Read has one sink at most (max_sge_rd), which has an STag. */
static bool sges_ok(const struct rnic_qp *qp, const struct ib_send_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > qp->cap.max_send_sge)
		return false;
	if (wr->opcode != IB_WR_RDMA_READ &&
	    wr->opcode != IB_WR_RDMA_READ_WITH_INV)
		return true;
	return wr->num_sge <= 1 && !(wr->send_flags & IB_SEND_INLINE);
}

/* A request of the kernel as an entry, but for its flags */
static int sqe_make(struct rnic_qp *qp, struct siw_sqe *sqe,
		    const struct ib_send_wr *wr)
{
	sqe->id = wr->wr_id;
	sqe->num_sge = 0;
	switch (wr->opcode) {
	case IB_WR_SEND:
		sqe->opcode = SIW_OP_SEND;
		break;
	case IB_WR_SEND_WITH_INV:
		sqe->opcode = SIW_OP_SEND_REMOTE_INV;
		sqe->rkey = wr->ex.invalidate_rkey;
		break;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
	case IB_WR_RDMA_READ_WITH_INV:
		sqe->opcode = wr->opcode == IB_WR_RDMA_WRITE ? SIW_OP_WRITE :
			      wr->opcode == IB_WR_RDMA_READ ? SIW_OP_READ :
			      SIW_OP_READ_LOCAL_INV;
		sqe->raddr = rdma_wr(wr)->remote_addr;
		sqe->rkey = rdma_wr(wr)->rkey;
		break;
	case IB_WR_LOCAL_INV:
		sqe->opcode = SIW_OP_INVAL_STAG;
		sqe->rkey = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_REG_MR:
		sqe->opcode = SIW_OP_REG_MR;
		sqe->base_mr = (uintptr_t)reg_wr(wr)->mr;
		sqe->rkey = reg_wr(wr)->key;
		sqe->access = reg_wr(wr)->access;
		return 0;
	default:
		return -EINVAL;
	}
	return sges_ok(qp, wr) ? sqe_sges(sqe, wr) : -EINVAL;
}

static int sq_post(struct rnic_qp *qp, const struct ib_send_wr *wr)
{
	struct rnic_queue *q = &qp->sq.q;
	struct siw_sqe *sqe = &q->sqe[q->put & (q->size - 1)];
	int err;

	if (sqe->flags & SIW_WQE_VALID)
		return -ENOMEM;
	err = sqe_make(qp, sqe, wr);
	if (err)
		return err;
	/* Pairs with rnic_sqe_take() */
	smp_store_release(&sqe->flags, sqe_flags(qp, wr));
	q->put++;
	return 0;
}

/* The caller has a reference, or is the owner, which has not destroyed it. */
static void flush_later(struct rnic_qp *qp)
{
	refcount_inc(&qp->refs);
	if (!queue_work(rnic_wq, &qp->flush))
		rnic_qp_put(qp);
}

/*
 * Flush @q, one of the two queues of @qp. Others may post for ever: more than a
 * ring is left to the work item.
 */
static void ring_flush(struct rnic_qp *qp, struct rnic_queue *q)
{
	const bool send = q == &qp->sq.q;
	u32 budget = q->size;
	unsigned long flags;
	union {
		struct siw_sqe sqe;
		struct siw_rqe rqe;
	} next;

	if (!q->size)
		return;
	spin_lock_irqsave(&q->lock, flags);
	if (!q->flushes || q->flushing)
		goto unlock;
	q->flushing = true;
	while (budget && (send ? rnic_sqe_take(q, &next.sqe) :
				 rnic_rqe_take(q, &next.rqe))) {
		budget--;
		spin_unlock_irqrestore(&q->lock, flags);
		if (!send)
			rnic_rq_fail(qp, next.rqe.id, SIW_WC_WR_FLUSH_ERR);
		else if (rnic_sqe_complete(qp, &next.sqe,
					   SIW_WC_WR_FLUSH_ERR, 0))
			rnic_cq_notify(to_cq(qp->ib.send_cq));
		spin_lock_irqsave(&q->lock, flags);
	}
	q->flushing = false;
	if (!budget)
		flush_later(qp);
unlock:
	spin_unlock_irqrestore(&q->lock, flags);
}

/* From now on posting flushes: the connection no longer does. */
static void queues_set_flushes(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.q.lock, flags);
	qp->sq.q.flushes = true;
	spin_unlock_irqrestore(&qp->sq.q.lock, flags);
	spin_lock_irqsave(&qp->rq.lock, flags);
	qp->rq.flushes = true;
	spin_unlock_irqrestore(&qp->rq.lock, flags);
}

static void queues_flush(struct rnic_qp *qp)
{
	unsigned long flags;
	bool first;

	ring_flush(qp, &qp->sq.q);
	ring_flush(qp, &qp->rq);
	if (!qp->srq)
		return;
	spin_lock_irqsave(&qp->rq.lock, flags);
	first = !qp->last_wqe;
	qp->last_wqe = true;
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	/* ib_drain_qp() waits for it. */
	if (first)
		rnic_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/* The connection has ended. Connection context, which may call handlers */
void rnic_queues_flush(struct rnic_qp *qp)
{
	queues_set_flushes(qp);
	queues_flush(qp);
}

/* There is no connection, and none will be. Context: any */
void rnic_queues_flush_later(struct rnic_qp *qp)
{
	queues_set_flushes(qp);
	flush_later(qp);
}

/*
 * Flush requests posted after the connection's end, or left by its flush: an
 * application that goes on posting while its QP is flushed rings the doorbell
 * only if the entry before is idle, and so may wait for completions of what is
 * left.
 */
void rnic_queues_flush_work(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(work, struct rnic_qp, flush);

	if (!READ_ONCE(qp->dead))
		queues_flush(qp);
	rnic_qp_put(qp);
}

/*
 * Post requests of the kernel, or, with @wr NULL, the doorbell of user space,
 * which has posted to its ring. The doorbell comes in process context: if the
 * connection is idle, what was posted is sent before it returns.
 */
int rnic_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad)
{
	struct rnic_qp *qp = to_qp(ib);
	struct mpa_conn *conn;
	unsigned long flags;
	bool flush;
	int err = 0;

	if (wr && !qp->kernel)
		err = -EINVAL;
	spin_lock_irqsave(&qp->sq.q.lock, flags);
	if (wr && qp->state < IB_QPS_RTS)
		err = -EINVAL;
	while (wr && !err) {
		err = sq_post(qp, wr);
		if (!err)
			wr = wr->next;
	}
	flush = qp->sq.q.flushes;
	conn = qp->sq.conn;
	if (conn && qp->kernel)
		mpa_kick(conn);
	else if (conn)
		mpa_conn_get(conn);
	spin_unlock_irqrestore(&qp->sq.q.lock, flags);
	if (flush)
		flush_later(qp);
	if (conn && !qp->kernel) {
		mpa_kick_now(conn);
		mpa_conn_put(conn);
	}
	if (err)
		*bad = wr;
	return err;
}

int rnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad)
{
	struct rnic_qp *qp = to_qp(ib);
	int err;

	if (!qp->kernel) {
		*bad = wr;
		return -EINVAL;
	}
	err = rnic_rqes_post(&qp->rq, qp->cap.max_recv_sge, wr, bad);
	/* If it is set only now, the connection flushes what was posted. */
	if (READ_ONCE(qp->rq.flushes))
		flush_later(qp);
	return err;
}

/* A completion of the receive queue that failed */
void rnic_rq_fail(struct rnic_qp *qp, u64 id, u16 status)
{
	struct siw_cqe cqe = {
		.id	= id,
		.opcode	= SIW_OP_RECEIVE,
		.status	= status,
	};

	if (rnic_cq_add(to_cq(qp->ib.recv_cq), qp, &cqe, false))
		rnic_cq_notify(to_cq(qp->ib.recv_cq));
}

/* The next receive request; false if none is posted */
bool rnic_rq_take(struct rnic_qp *qp, struct siw_rqe *rqe)
{
	unsigned long flags;
	bool res;

	if (qp->srq)
		return rnic_srq_take(qp->srq, rqe);
	spin_lock_irqsave(&qp->rq.lock, flags);
	res = rnic_rqe_take(&qp->rq, rqe);
	spin_unlock_irqrestore(&qp->rq.lock, flags);
	return res;
}

/*
 * Complete a send request; an unsignalled one only if it has failed. Returns as
 * rnic_cq_add().
 */
bool rnic_sqe_complete(struct rnic_qp *qp, const struct siw_sqe *wqe,
		       u16 status, u32 bytes)
{
	struct siw_cqe cqe = {
		.id	= wqe->id,
		.opcode	= wqe->opcode < SIW_NUM_OPCODES ? wqe->opcode :
							  SIW_OP_SEND,
		.status	= status,
		.bytes	= bytes,
	};

	if (!status && !(wqe->flags & SIW_WQE_SIGNALLED))
		return false;
	return rnic_cq_add(to_cq(qp->ib.send_cq), qp, &cqe, false);
}
