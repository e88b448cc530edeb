// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A QP as others see it: references, state, the connection to kick, events.
 */
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "mpa_compat.h"
#include "rnic.h"

#define LEAVE_TIMEOUT	(3 * HZ)	/* for progress, then the peer's FIN */
#define ERROR_TIMEOUT	(30 * HZ)	/* with progress, after an error */

/* Work of QPs, endpoints and listeners; the module's exit waits for it */
struct workqueue_struct *rnic_wq;

int __init rnic_wq_create(void)
{
	rnic_wq = alloc_workqueue("mpa_rnic", WQ_MEM_RECLAIM | MPA_WQ_PERCPU,
				  0);
	return rnic_wq ? 0 : -ENOMEM;
}

void rnic_wq_destroy(void)
{
	destroy_workqueue(rnic_wq);
}

/*
 * A number of 24 bits, at random as far as it is free: QPs, which iw_cm lets
 * any application name, and STags have to be hard to guess.
 */
int rnic_number(struct xarray *xa, u32 *number, void *object)
{
	const u32 max = 0xffffff;
	u32 from = get_random_u32_inclusive(1, max);
	int err;

	err = xa_alloc(xa, number, object, XA_LIMIT(from, max), GFP_KERNEL);
	if (err == -EBUSY)
		err = xa_alloc(xa, number, object, XA_LIMIT(1, from),
			       GFP_KERNEL);
	return err;
}

/* A QP by its number, with a reference, or NULL */
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn)
{
	struct rnic_qp *qp;

	rcu_read_lock();
	qp = xa_load(&dev->qps, qpn);
	if (qp && !refcount_inc_not_zero(&qp->refs))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/*
 * True if the process that calls may not connect it. Applications name QPs by
 * numbers that anybody can look up. A ULP of the kernel creates and connects
 * its QPs in workers, or both in the process that mounts or configures it.
 */
bool rnic_qp_is_foreign(const struct rnic_qp *qp)
{
	return qp->owner != task_tgid(current) &&
	       !(qp->kernel && current->flags & PF_KTHREAD);
}

/*
 * iw_cm lets any application name any QP, and would use it later, after an
 * accept that follows another. iw_add_ref, which always comes next, is to take
 * a reference. This takes it in its place: so the QP is never without one.
 * In the calling process, with interrupts off
 */
struct ib_qp *rnic_iw_get_qp(struct ib_device *ib, int qpn)
{
	struct rnic_qp *qp = rnic_qp_find(to_rnic(ib), qpn);

	if (!qp)
		return NULL;
	/* If destroy_qp has not set it yet, that waits for this reference. */
	if (!READ_ONCE(qp->dead) && !rnic_qp_is_foreign(qp))
		return &qp->ib;
	rnic_qp_put(qp);
	return NULL;
}

void rnic_qp_put(struct rnic_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->freed);
}

/*
 * End the connection without waiting for the peer: one more round of sending,
 * then mpa_detach(). If TCP has taken all messages by then, it delivers them
 * and a FIN. Otherwise, as when the peer keeps its window shut, the detach
 * resets the connection, and queued messages, a Terminate included, are lost.
 * Returns false if there is no connection in full operation. Context: any
 */
bool rnic_qp_leave(struct rnic_qp *qp)
{
	unsigned long flags;
	bool up;

	spin_lock_irqsave(&qp->sq.q.lock, flags);
	WRITE_ONCE(qp->sq.leave, true);
	up = qp->sq.conn;
	if (up)
		mpa_kick(qp->sq.conn);
	spin_unlock_irqrestore(&qp->sq.q.lock, flags);
	return up;
}

/* True if an error was long ago, however fast the peer takes what is left. */
static bool is_overdue(const struct rnic_qp *qp)
{
	/* Pairs with smp_store_release() in fail_first(). */
	return smp_load_acquire(&qp->failed) &&
	       time_after(jiffies, qp->failed_at + ERROR_TIMEOUT);
}

/*
 * We have sent our FIN, or shall when what was posted is sent: MPA has no time
 * limit for that, nor for the peer's FIN. This one begins again as long as
 * TCP takes octets, or the peer answers Reads; and after an error not for ever.
 * Context: any but hard interrupt
 */
void rnic_qp_leave_later(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.q.lock, flags);
	/* Else rnic_qp_over() has cancelled it, or destroy_qp() has. */
	if (qp->sq.conn && !qp->dead &&
	    queue_delayed_work(rnic_wq, &qp->timeout, LEAVE_TIMEOUT))
		refcount_inc(&qp->refs);
	spin_unlock_irqrestore(&qp->sq.q.lock, flags);
}

static void qp_timeout(struct work_struct *work)
{
	struct rnic_qp *qp = container_of(to_delayed_work(work),
					  struct rnic_qp, timeout);
	unsigned long moved = READ_ONCE(qp->moved);

	if (moved != qp->moved_seen && !is_overdue(qp)) {
		qp->moved_seen = moved;
		rnic_qp_leave_later(qp);
	} else {
		rnic_qp_leave(qp);
	}
	rnic_qp_put(qp);
}

void rnic_qp_init(struct rnic_qp *qp)
{
	refcount_set(&qp->refs, 1);
	init_completion(&qp->freed);
	INIT_DELAYED_WORK(&qp->timeout, qp_timeout);
}

/* The connection is over. */
void rnic_qp_leave_cancel(struct rnic_qp *qp)
{
	if (cancel_delayed_work(&qp->timeout))
		rnic_qp_put(qp);
}

/* States only go forwards: RTS never overwrites ERR. */
bool rnic_qp_set_state(struct rnic_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;
	bool res;

	spin_lock_irqsave(&qp->sq.q.lock, flags);
	res = state > qp->state;
	if (res)
		WRITE_ONCE(qp->state, state);
	spin_unlock_irqrestore(&qp->sq.q.lock, flags);
	return res;
}

/* Context: any */
void rnic_qp_kick(struct rnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.q.lock, flags);
	if (qp->sq.conn)
		mpa_kick(qp->sq.conn);
	spin_unlock_irqrestore(&qp->sq.q.lock, flags);
}

/* Have a QP look for regions that are dying. Context: any */
void rnic_qp_check_dying(struct rnic_qp *qp)
{
	WRITE_ONCE(qp->sq.check_dying, true);
	rnic_qp_kick(qp);
}

/* A completion was lost: that is an error of the QP. Context: any */
void rnic_qp_cqe_lost(struct rnic_qp *qp)
{
	WRITE_ONCE(qp->sq.cqe_lost, true);
	rnic_qp_kick(qp);
}

void rnic_qp_event(struct rnic_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device		= qp->ib.device,
		.element.qp	= &qp->ib,
		.event		= type,
	};

	if (qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}
