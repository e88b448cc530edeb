// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues. User space polls its ring and arms the queue without the
 * kernel, so an entry is written before the flag that makes it valid, and the
 * flags that arm are looked at after that. Of a ring the device reads nothing
 * else but the VALID flag of the entry that it is about to write.
 */
#include <linux/bottom_half.h>
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

int rnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct rnic_cq *cq = to_cq(ib);
	struct siw_uresp_create_cq resp = {};
	int err;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RNIC_MAX_CQE)
		return -EINVAL;
	err = rnic_object_new(ib->device, RNIC_CQ, RNIC_MAX_CQ);
	if (err)
		return err;
	spin_lock_init(&cq->handler);
	spin_lock_init(&cq->lock);
	cq->size = roundup_pow_of_two(attr->cqe);
	cq->ring = rnic_ring_new(cq->size * sizeof(*cq->ring) +
				 sizeof(*cq->ctrl), udata, &cq->map,
				 &resp.cq_key);
	if (IS_ERR(cq->ring)) {
		rnic_object_gone(ib->device, RNIC_CQ);
		return PTR_ERR(cq->ring);
	}
	cq->ctrl = (struct siw_cq_ctrl *)(cq->ring + cq->size);
	ib->cqe = cq->size;
	if (!udata)
		return 0;
	resp.num_cqe = cq->size;
	err = ib_copy_to_udata(udata, &resp, min(sizeof(resp), udata->outlen));
	if (err)
		rnic_destroy_cq(ib, udata);
	return err;
}

int rnic_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct rnic_cq *cq = to_cq(ib);

	rnic_ring_free(cq->ring, cq->map);
	rnic_object_gone(ib->device, RNIC_CQ);
	return 0;
}

/* True if the queue was armed for this completion; then it is no longer. */
static bool cq_disarm(struct rnic_cq *cq, bool solicited)
{
	u32 want = SIW_NOTIFY_NEXT_COMPLETION;

	if (solicited)
		want |= SIW_NOTIFY_SOLICITED;
	/*
	 * The entry is there before the flags are looked at. Pairs with
	 * smp_mb() in rnic_req_notify_cq(); libsiw, too, arms first, and polls
	 * once more after that.
	 */
	smp_mb();
	if (!(READ_ONCE(cq->ctrl->flags) & want))
		return false;
	WRITE_ONCE(cq->ctrl->flags, SIW_NOTIFY_NOT);
	return true;
}

static bool cq_put(struct rnic_cq *cq, struct rnic_qp *qp,
		   const struct siw_cqe *new)
{
	struct siw_cqe *cqe = &cq->ring[cq->put & (cq->size - 1)];

	if (READ_ONCE(cqe->flags) & SIW_WQE_VALID)
		return false;
	cqe->id = new->id;
	cqe->opcode = new->opcode;
	cqe->status = new->status;
	cqe->bytes = new->bytes;
	cqe->imm_data = new->imm_data;	/* or inval_stag: one union */
	if (qp->kernel)
		cqe->base_qp = &qp->ib;
	else
		cqe->qp_id = qp->ib.qp_num;
	/*
	 * Pairs with smp_load_acquire() in cq_empty(), and with libsiw's load:
	 * a reader that sees VALID sees the entry.
	 */
	smp_store_release(&cqe->flags, new->flags | SIW_WQE_VALID);
	cq->put++;
	return true;
}

static void cq_overrun(struct rnic_cq *cq)
{
	struct ib_event event = {
		.device		= cq->ib.device,
		.element.cq	= &cq->ib,
		.event		= IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
}

/*
 * True if @qp is being destroyed; of a QP of user space only if the device
 * stays: when that goes, an application that only polls learns of it by its
 * completions.
 */
static bool qp_completes_nothing(const struct rnic_qp *qp)
{
	return READ_ONCE(qp->dead) &&
	       (qp->kernel || !READ_ONCE(qp->dev->going));
}

/*
 * Write a completion of @qp, unless that is being destroyed. One that finds no
 * room is lost, and @qp goes to ERR: the consumer would wait for it for ever
 * otherwise. Returns true if the CQ was armed for it, which it no longer is:
 * the caller owes rnic_cq_notify(). Context: any
 */
bool rnic_cq_add(struct rnic_cq *cq, struct rnic_qp *qp,
		 const struct siw_cqe *cqe, bool solicited)
{
	bool notify, lost, overrun;
	unsigned long flags;

	if (qp_completes_nothing(qp))
		return false;
	spin_lock_irqsave(&cq->lock, flags);
	lost = !cq_put(cq, qp, cqe);
	overrun = lost && !cq->overrun;
	cq->overrun |= lost;
	notify = cq_disarm(cq, solicited || cqe->status);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (overrun) {
		rnic_count(qp->dev, RNIC_STAT_CQ_OVERRUN);
		cq_overrun(cq);
	}
	if (lost)
		rnic_qp_cqe_lost(qp);
	return notify;
}

/*
 * Drop the completions of @qp, which is being destroyed: after that its owner
 * may free the memory that they name. Those of an application stay, for the
 * ring is the application's.
 */
void rnic_cq_forget(struct rnic_cq *cq, const struct rnic_qp *qp)
{
	u32 mask = cq->size - 1;
	unsigned long flags;
	u32 n, kept, get;

	if (!qp->kernel)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	get = cq->get;
	/* From the end on: those of others move up, and leave room before */
	for (n = cq->put, kept = n; n != get; n--) {
		const struct siw_cqe *cqe = &cq->ring[(n - 1) & mask];

		if (cqe->base_qp != &qp->ib && --kept != n - 1)
			cq->ring[kept & mask] = *cqe;
	}
	WRITE_ONCE(cq->get, kept);
	for (n = get; n != kept; n++)
		/* Pairs with cq_empty(), as in rnic_poll_cq(). */
		smp_store_release(&cq->ring[n & mask].flags, 0);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Call the consumer's handler: one at a time for a CQ, and never below a verb
 * of a kernel consumer (Documentation/infiniband/core_locking.rst), so what a
 * handler posts calls none. Below an application's doorbell the handler is that
 * of uverbs, whose locks no caller of the doorbell holds.
 * Context: connection, or the work item that flushes; interrupts on
 */
void rnic_cq_notify(struct rnic_cq *cq)
{
	if (!cq->ib.comp_handler)
		return;
	/*
	 * BH off: local_bh_enable() then runs a softirq that the handler has
	 * raised, and in the work item the allocator gives the handler nothing
	 * of the reserves, which PF_MEMALLOC would allow; in softirq it may.
	 */
	spin_lock_bh(&cq->handler);
	cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
	spin_unlock_bh(&cq->handler);
}

/* As rnic_qp_notify() */
void rnic_qp_notify_owed(struct rnic_qp *qp)
{
	if (qp->owed_recv) {
		qp->owed_recv = false;
		rnic_cq_notify(to_cq(qp->ib.recv_cq));
	}
	if (qp->owed_send) {
		qp->owed_send = false;
		rnic_cq_notify(to_cq(qp->ib.send_cq));
	}
}

static const enum ib_wc_status wc_status[SIW_NUM_WC_STATUS] = {
	[SIW_WC_SUCCESS]	= IB_WC_SUCCESS,
	[SIW_WC_LOC_LEN_ERR]	= IB_WC_LOC_LEN_ERR,
	[SIW_WC_LOC_PROT_ERR]	= IB_WC_LOC_PROT_ERR,
	[SIW_WC_LOC_QP_OP_ERR]	= IB_WC_LOC_QP_OP_ERR,
	[SIW_WC_WR_FLUSH_ERR]	= IB_WC_WR_FLUSH_ERR,
	[SIW_WC_BAD_RESP_ERR]	= IB_WC_BAD_RESP_ERR,
	[SIW_WC_LOC_ACCESS_ERR]	= IB_WC_LOC_ACCESS_ERR,
	[SIW_WC_REM_ACCESS_ERR]	= IB_WC_REM_ACCESS_ERR,
	[SIW_WC_REM_INV_REQ_ERR] = IB_WC_REM_INV_REQ_ERR,
	[SIW_WC_GENERAL_ERR]	= IB_WC_GENERAL_ERR,
};

static const enum ib_wc_opcode wc_opcode[SIW_NUM_OPCODES] = {
	[SIW_OP_WRITE]		= IB_WC_RDMA_WRITE,
	[SIW_OP_READ]		= IB_WC_RDMA_READ,
	[SIW_OP_READ_LOCAL_INV]	= IB_WC_RDMA_READ,
	[SIW_OP_SEND]		= IB_WC_SEND,
	[SIW_OP_SEND_REMOTE_INV] = IB_WC_SEND,
	[SIW_OP_RECEIVE]	= IB_WC_RECV,
	[SIW_OP_INVAL_STAG]	= IB_WC_LOCAL_INV,
	[SIW_OP_REG_MR]		= IB_WC_REG_MR,
};

static void cq_wc(struct ib_wc *wc, const struct siw_cqe *cqe)
{
	*wc = (struct ib_wc) {
		.wr_id		= cqe->id,
		.status		= wc_status[cqe->status],
		.opcode		= wc_opcode[cqe->opcode],
		.byte_len	= cqe->bytes,
		.qp		= cqe->base_qp,
	};
	if (cqe->flags & SIW_WQE_REM_INVAL) {
		wc->ex.invalidate_rkey = cqe->inval_stag;
		wc->wc_flags = IB_WC_WITH_INVALIDATE;
	}
}

/* True if there was nothing to poll at some moment during the call. */
static bool cq_empty(const struct rnic_cq *cq)
{
	u32 get = READ_ONCE(cq->get);

	/* Pairs with the release in rnic_poll_cq(); orders the load below. */
	if (smp_load_acquire(&cq->ring[get & (cq->size - 1)].flags) &
	    SIW_WQE_VALID)
		return false;
	/* Another may have polled that entry: then there may be a next. */
	return READ_ONCE(cq->get) == get;
}

static noinline int cq_poll(struct rnic_cq *cq, int num, struct ib_wc *wc)
{
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	for (n = 0; n < num; n++) {
		struct siw_cqe *cqe = &cq->ring[cq->get & (cq->size - 1)];

		if (!(cqe->flags & SIW_WQE_VALID))
			break;
		cq_wc(wc + n, cqe);
		WRITE_ONCE(cq->get, cq->get + 1);
		/* Pairs with cq_empty(): flags are cleared after @get moved. */
		smp_store_release(&cqe->flags, 0);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/* Each handler polls until there is nothing: that needs no lock. */
int rnic_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc)
{
	struct rnic_cq *cq = to_cq(ib);

	return cq_empty(cq) ? 0 : cq_poll(cq, num, wc);
}

int rnic_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct rnic_cq *cq = to_cq(ib);

	/*
	 * One that disarms at this time has the handler called, too. A CQ that
	 * is armed for the next completion is so for a solicited one.
	 */
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP)
		WRITE_ONCE(cq->ctrl->flags, SIW_NOTIFY_SOLICITED |
					    SIW_NOTIFY_NEXT_COMPLETION);
	else
		cmpxchg(&cq->ctrl->flags, SIW_NOTIFY_NOT,
			SIW_NOTIFY_SOLICITED);
	/* Pairs with cq_disarm(): armed before anyone looks for completions. */
	smp_mb();
	return flags & IB_CQ_REPORT_MISSED_EVENTS && !cq_empty(cq);
}
