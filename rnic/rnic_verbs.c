// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Protection domains and QPs: what the RDMA core calls.
 *
 * A QP has references of its owner, of iw_cm, of its endpoint, and of its work
 * items @timeout and @flush while they are queued. destroy_qp refuses further
 * binding and further references of iw_cm. It has the connection leave
 * (rnic_qp_leave()), or aborts it if that is not in full operation yet. Then it
 * drops its own reference and waits for the others. The peer cannot delay that:
 * the device uses no zero copy, so released() waits for nothing. An application
 * can delay its own, see mpa-rnic.rst, "Not yet". The number stays until then:
 * accept_again() finds the QP that iw_cm has by it.
 */
#include <linux/errno.h>
#include <linux/pid.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

int rnic_query_device(struct ib_device *ib, struct ib_device_attr *attr,
		      struct ib_udata *udata)
{
	/* Newer kernels have none when they register the device. */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	*attr = (struct ib_device_attr) {
		.sys_image_guid		= ib->node_guid,
		.max_mr_size		= U64_MAX,
		.page_size_cap		= PAGE_SIZE,
		.vendor_id		= RNIC_VENDOR_ID,
		.device_cap_flags	= IB_DEVICE_MEM_MGT_EXTENSIONS,
		.kernel_cap_flags	= IBK_LOCAL_DMA_LKEY |
					  IBK_SG_GAPS_REG |
					  IBK_ALLOW_USER_UNREG,
		.max_qp			= RNIC_MAX_QP,
		.max_qp_wr		= RNIC_MAX_WR,
		.max_send_sge		= RNIC_MAX_SGE,
		.max_recv_sge		= RNIC_MAX_SGE,
		.max_sge_rd		= 1,
		.max_cq			= RNIC_MAX_CQ,
		.max_cqe		= RNIC_MAX_CQE,
		.max_mr			= RNIC_MAX_MR,
		.max_pd			= RNIC_MAX_PD,
		.max_srq		= RNIC_MAX_SRQ,
		.max_srq_wr		= RNIC_MAX_SRQ_WR,
		.max_srq_sge		= RNIC_MAX_SGE,
		.max_qp_rd_atom		= RNIC_MAX_DEPTH,
		.max_qp_init_rd_atom	= RNIC_MAX_DEPTH,
		.max_res_rd_atom	= RNIC_MAX_DEPTH * RNIC_MAX_QP,
		.max_fast_reg_page_list_len = RNIC_MAX_FR_PAGES,
	};
	return 0;
}

int rnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return rnic_object_new(pd->device, RNIC_PD, RNIC_MAX_PD);
}

int rnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	rnic_object_gone(pd->device, RNIC_PD);
	return 0;
}

static int qp_check(const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (init->create_flags || init->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > RNIC_MAX_WR || cap->max_recv_wr > RNIC_MAX_WR ||
	    cap->max_send_sge > RNIC_MAX_SGE ||
	    cap->max_recv_sge > RNIC_MAX_SGE ||
	    cap->max_inline_data > RNIC_MAX_INLINE)
		return -EINVAL;
	return init->send_cq && init->recv_cq ? 0 : -EINVAL;
}

/* libsiw takes no key of a queue that is not there for an error: it is 0. */
static int qp_recv(struct rnic_qp *qp, const struct ib_qp_init_attr *init,
		   struct ib_udata *udata, u64 *key)
{
	if (!init->srq)
		return rnic_queue_new(&qp->rq, init->cap.max_recv_wr,
				      sizeof(struct siw_rqe), udata, key);
	qp->srq = to_srq(init->srq);
	spin_lock_init(&qp->rq.lock);
	return 0;
}

static int qp_reply(struct rnic_qp *qp, struct ib_udata *udata,
		    struct siw_uresp_create_qp *resp)
{
	if (!udata)
		return 0;
	resp->qp_id = qp->ib.qp_num;
	resp->num_sqe = qp->sq.q.size;
	resp->num_rqe = qp->rq.size;
	return ib_copy_to_udata(udata, resp,
				min(sizeof(*resp), udata->outlen));
}

int rnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init,
		   struct ib_udata *udata)
{
	struct siw_uresp_create_qp resp = {};
	struct rnic_qp *qp = to_qp(ib);
	int err;

	/* Not used then (ibv_create_qp(3)), and the caller is told so. */
	if (init->srq) {
		init->cap.max_recv_wr = 0;
		init->cap.max_recv_sge = 0;
	}
	err = qp_check(init);
	if (!err)
		err = rnic_object_new(ib->device, RNIC_QP, RNIC_MAX_QP);
	if (err)
		return err;
	init->cap.max_inline_data = RNIC_MAX_INLINE;
	qp->dev = to_rnic(ib->device);
	qp->kernel = !udata;
	qp->owner = get_task_pid(current, PIDTYPE_TGID);
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->cap = init->cap;
	qp->state = IB_QPS_INIT;
	rnic_qp_init(qp);
	INIT_WORK(&qp->flush, rnic_queues_flush_work);
	err = rnic_queue_new(&qp->sq.q, init->cap.max_send_wr,
			     sizeof(struct siw_sqe), udata, &resp.sq_key);
	if (err)
		goto uncount;
	err = qp_recv(qp, init, udata, &resp.rq_key);
	if (err)
		goto free_sq;
	/*
	 * Reserved only: the reply may fail, and with the number iw_cm, for
	 * any application, takes references.
	 */
	err = rnic_number(&qp->dev->qps, &ib->qp_num, NULL);
	if (err)
		goto free_rq;
	err = qp_reply(qp, udata, &resp);
	if (!err)
		err = xa_err(xa_store(&qp->dev->qps, ib->qp_num, qp,
				      GFP_KERNEL));
	if (!err)
		return 0;
	xa_erase(&qp->dev->qps, ib->qp_num);
free_rq:
	rnic_ring_free(qp->rq.rqe, qp->rq.map);
free_sq:
	rnic_ring_free(qp->sq.q.sqe, qp->sq.q.map);
uncount:
	put_pid(qp->owner);
	rnic_object_gone(ib->device, RNIC_QP);
	return err;
}

/*
 * A Terminate that is on its way is not cut off: its timer ends it. Nor are
 * messages from before modify_qp(SQD) or the peer's FIN.
 */
static void qp_to_error(struct rnic_qp *qp)
{
	struct rnic_ep *ep;

	/* From now on no endpoint is bound. */
	rnic_qp_set_state(qp, IB_QPS_ERR);
	ep = rnic_ep_of(qp);
	if (!ep) {
		rnic_queues_flush_later(qp);
		return;
	}
	if (!READ_ONCE(qp->failed) &&
	    !(READ_ONCE(qp->sq.closing) && rnic_qp_leave(qp)))
		rnic_ep_abort(ep);
	rnic_ep_put(ep);
}

/*
 * The connection alone moves a QP to RTS; SQD is iw_cm's graceful close. iWARP
 * has neither RESET nor RTR: a new QP is in INIT, as with other RNICs.
 *
 * librdmacm's rdma_disconnect() begins with SQD, with nothing else in @mask,
 * and fails if that does. So it does not if the QP has gone to ERR before.
 */
static int qp_to_state(struct rnic_qp *qp, enum ib_qp_state state, int mask)
{
	enum ib_qp_state now = READ_ONCE(qp->state);

	switch (state) {
	case IB_QPS_RESET:
	case IB_QPS_INIT:
		return now == IB_QPS_INIT ? 0 : -EINVAL;
	case IB_QPS_RTR:
		return now <= IB_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_RTS:
		return now == IB_QPS_RTS ? 0 : -EINVAL;
	case IB_QPS_SQD:
		if (now < IB_QPS_RTS)
			return -EINVAL;
		if (!rnic_qp_set_state(qp, IB_QPS_SQD))
			return mask == IB_QP_STATE ||
			       READ_ONCE(qp->state) == IB_QPS_SQD ? 0 : -EINVAL;
		rnic_sq_close(qp);
		rnic_qp_leave_later(qp);
		return 0;
	case IB_QPS_ERR:
		qp_to_error(qp);
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * If the state cannot change nothing else does: ibv_modify_qp(3). Attributes
 * that only InfiniBand has are ignored, and so are the depths, as programs set
 * them by its rules. But these two would promise something.
 */
int rnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	struct rnic_qp *qp = to_qp(ib);
	int err = 0;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS ||
	    mask & (IB_QP_CAP | IB_QP_EN_SQD_ASYNC_NOTIFY))
		return -EOPNOTSUPP;
	if (mask & IB_QP_STATE)
		err = qp_to_state(qp, attr->qp_state, mask);
	if (!err && mask & IB_QP_ACCESS_FLAGS)
		WRITE_ONCE(qp->access, attr->qp_access_flags);
	return err;
}

int rnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct net_device *netdev = ib_device_get_netdev(ib->device, 1);
	struct rnic_qp *qp = to_qp(ib);

	*attr = (struct ib_qp_attr) {
		.qp_state		= READ_ONCE(qp->state),
		.cur_qp_state		= READ_ONCE(qp->state),
		.qp_access_flags	= READ_ONCE(qp->access),
		.cap			= qp->cap,
		.max_rd_atomic		= qp->ord,
		.max_dest_rd_atomic	= qp->ird,
		.port_num		= 1,
	};
	if (netdev) {
		attr->path_mtu =
			ib_mtu_int_to_enum(READ_ONCE(netdev->mtu));
		dev_put(netdev);
	}
	init->qp_type = ib->qp_type;
	init->send_cq = ib->send_cq;
	init->recv_cq = ib->recv_cq;
	init->srq = ib->srq;
	init->cap = qp->cap;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	return 0;
}

int rnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct rnic_qp *qp = to_qp(ib);
	struct rnic_ep *ep;

	spin_lock_irq(&qp->sq.q.lock);
	WRITE_ONCE(qp->dead, true);
	spin_unlock_irq(&qp->sq.q.lock);
	/*
	 * A qp_timeout() that runs has its own reference, and does not queue
	 * itself once @dead is set.
	 */
	rnic_qp_leave_cancel(qp);
	ep = rnic_ep_of(qp);
	if (ep) {
		if (!rnic_qp_leave(qp))
			rnic_ep_abort(ep);
		rnic_ep_put(ep);
	}
	rnic_qp_put(qp);
	wait_for_completion(&qp->freed);
	rnic_cq_forget(to_cq(ib->send_cq), qp);
	rnic_cq_forget(to_cq(ib->recv_cq), qp);
	xa_erase(&qp->dev->qps, ib->qp_num);
	/*
	 * rnic_qp_find() may still look at its references. A process that exits
	 * waits here for each QP that it had.
	 */
	synchronize_rcu_expedited();
	rnic_ring_free(qp->rq.rqe, qp->rq.map);
	rnic_ring_free(qp->sq.q.sqe, qp->sq.q.map);
	put_pid(qp->owner);
	rnic_object_gone(ib->device, RNIC_QP);
	return 0;
}
