// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues: a ring of receive requests that QPs take from. What
 * is on it when a QP ends stays for the others.
 */
#include <linux/bottom_half.h>
#include <linux/errno.h>

#include "rnic.h"

static int srq_reply(struct rnic_srq *srq, struct ib_udata *udata, u64 key)
{
	struct siw_uresp_create_srq resp = {
		.num_rqe	= srq->q.size,
		.srq_key	= key,
	};

	if (!udata)
		return 0;
	return ib_copy_to_udata(udata, &resp,
				min(sizeof(resp), udata->outlen));
}

/* A limit to begin with does not matter: ibv_create_srq(3). */
int rnic_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	const struct ib_srq_attr *attr = &init->attr;
	struct rnic_srq *srq = to_srq(ib);
	u64 key = 0;
	int err;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->max_wr || attr->max_wr > RNIC_MAX_SRQ_WR ||
	    attr->max_sge > RNIC_MAX_SGE)
		return -EINVAL;
	err = rnic_object_new(ib->device, RNIC_SRQ, RNIC_MAX_SRQ);
	if (err)
		return err;
	srq->kernel = !udata;
	srq->max_wr = attr->max_wr;
	srq->max_sge = attr->max_sge;
	err = rnic_queue_new(&srq->q, attr->max_wr, sizeof(struct siw_rqe),
			     udata, &key);
	if (err)
		goto uncount;
	err = srq_reply(srq, udata, key);
	if (!err)
		return 0;
	rnic_ring_free(srq->q.rqe, srq->q.map);
uncount:
	rnic_object_gone(ib->device, RNIC_SRQ);
	return err;
}

/* Only the limit can change, not the size. */
int rnic_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct rnic_srq *srq = to_srq(ib);

	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->max_wr)
		return -EINVAL;
	spin_lock_irq(&srq->q.lock);
	WRITE_ONCE(srq->limit, attr->srq_limit);
	spin_unlock_irq(&srq->q.lock);
	return 0;
}

int rnic_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	struct rnic_srq *srq = to_srq(ib);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

int rnic_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct rnic_srq *srq = to_srq(ib);

	rnic_ring_free(srq->q.rqe, srq->q.map);
	rnic_object_gone(ib->device, RNIC_SRQ);
	return 0;
}

int rnic_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	struct rnic_srq *srq = to_srq(ib);

	if (!srq->kernel) {
		*bad = wr;
		return -EINVAL;
	}
	return rnic_rqes_post(&srq->q, srq->max_sge, wr, bad);
}

/*
 * True once if fewer requests than the limit are left. With the lock. Those
 * that are posted follow each other from @get: the one at the limit is valid if
 * there are so many.
 */
static bool srq_is_low(struct rnic_srq *srq)
{
	const struct rnic_queue *q = &srq->q;
	u32 last = q->get + srq->limit - 1;

	lockdep_assert_held(&q->lock);
	if (!srq->limit ||
	    READ_ONCE(q->rqe[last & (q->size - 1)].flags) & SIW_WQE_VALID)
		return false;
	WRITE_ONCE(srq->limit, 0);
	return true;
}

/* The next receive request; false if none is posted. Connection context */
bool rnic_srq_take(struct rnic_srq *srq, struct siw_rqe *rqe)
{
	struct ib_event event = {
		.device		= srq->ib.device,
		.element.srq	= &srq->ib,
		.event		= IB_EVENT_SRQ_LIMIT_REACHED,
	};
	unsigned long flags;
	bool res, low;

	spin_lock_irqsave(&srq->q.lock, flags);
	res = rnic_rqe_take(&srq->q, rqe);
	low = srq_is_low(srq);
	spin_unlock_irqrestore(&srq->q.lock, flags);
	/* With BH off it takes nothing from the reserves: rnic_cq_notify() */
	if (low && srq->ib.event_handler) {
		local_bh_disable();
		srq->ib.event_handler(&event, srq->ib.srq_context);
		local_bh_enable();
	}
	return res;
}
