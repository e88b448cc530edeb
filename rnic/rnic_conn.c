// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A QP and its connection: from the time that they are bound to the flush. */
#include <linux/errno.h>

#include "rnic.h"

/* A QP is bound once. Allocates all that it needs for the connection. */
int rnic_qp_bind(struct rnic_qp *qp, struct rnic_ep *ep, u32 ird, u32 ord)
{
	int err, i;

	spin_lock_irq(&qp->sq.q.lock);
	err = qp->dead || qp->ep || qp->state >= IB_QPS_RTS ? -EINVAL : 0;
	if (!err && READ_ONCE(qp->dev->going))
		err = -ENODEV;
	if (!err)
		qp->ep = ep;
	spin_unlock_irq(&qp->sq.q.lock);
	if (err)
		return err;
	qp->ird = min_t(u32, ird, RNIC_MAX_DEPTH);
	qp->ord = min_t(u32, ord, RNIC_MAX_DEPTH);
	for (i = 0; i < RDMAP_QUEUES; i++) {
		qp->msn[i] = 1;
		qp->rx.msn[i] = 1;
	}
	err = rnic_qp_slots(qp);
	if (err)
		rnic_qp_unbind(qp);
	return err;
}

/*
 * modify_qp(ERR) leaves the flush to the endpoint as long as there is one, also
 * one whose connection never begins.
 */
void rnic_qp_unbind(struct rnic_qp *qp)
{
	bool flush;

	rnic_qp_free_slots(qp);
	spin_lock_irq(&qp->sq.q.lock);
	qp->ep = NULL;
	flush = qp->state == IB_QPS_ERR;
	spin_unlock_irq(&qp->sq.q.lock);
	if (flush)
		rnic_queues_flush_later(qp);
}

/* Full operation has begun. Connection context, as those that follow */
void rnic_qp_up(struct rnic_qp *qp, struct mpa_conn *conn,
		const struct mpa_info *info)
{
	/*
	 * MPA answers an IRD of 0 with 1 if the RTR may be an RDMA Read:
	 * mpa_frame_answer().
	 */
	if (info->enhanced && info->ird <= max(qp->ird, 1U))
		qp->ird = info->ird;
	if (info->enhanced && info->ord <= qp->ord)
		qp->ord = info->ord;
	qp->version = info->rev == MPA_REV_0 ? 0 : 1;
	spin_lock_irq(&qp->sq.q.lock);
	qp->sq.conn = conn;
	if (qp->state < IB_QPS_RTS)
		WRITE_ONCE(qp->state, IB_QPS_RTS);
	spin_unlock_irq(&qp->sq.q.lock);
}

/*
 * From here on no other thread kicks the connection, and MPA delivers no more:
 * it is about to be detached.
 */
void rnic_qp_down(struct rnic_qp *qp)
{
	spin_lock_irq(&qp->sq.q.lock);
	qp->sq.conn = NULL;
	spin_unlock_irq(&qp->sq.q.lock);
	rnic_ooo_drop(qp);
}

/* MPA has handed back all: complete what is left, in order. */
void rnic_qp_over(struct rnic_qp *qp)
{
	rnic_qp_leave_cancel(qp);
	rnic_qp_set_state(qp, IB_QPS_ERR);
	rnic_sq_flush_slots(qp);
	rnic_qp_notify(qp);
	rnic_rx_flush(qp);
	rnic_queues_flush(qp);
}
