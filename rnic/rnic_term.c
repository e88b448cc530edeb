// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Errors. The first one wins, of either direction: it determines the Terminate
 * and the async event, and puts the QP into ERR. After that the peer's segments
 * are dropped, and each long message ends, so that the Terminate goes out soon.
 * Messages of one short segment that MPA already has are sent before it, unless
 * they follow one that is cut short.
 */
#include <linux/jiffies.h>

#include "rnic.h"

static enum ib_event_type event_of(u32 err)
{
	u8 layer = rdmap_err_layer(err), type = rdmap_err_type(err);

	if (layer == RDMAP_LAYER_RDMA && type == RDMAP_TYPE_PROTECTION)
		return IB_EVENT_QP_ACCESS_ERR;
	if (layer == RDMAP_LAYER_DDP && type == RDMAP_TYPE_TAGGED)
		return IB_EVENT_QP_ACCESS_ERR;
	if (layer == RDMAP_LAYER_RDMA && type == RDMAP_TYPE_LOCAL)
		return IB_EVENT_QP_FATAL;
	return IB_EVENT_QP_REQ_ERR;
}

static bool fail_first(struct rnic_qp *qp)
{
	if (qp->failed)
		return false;
	qp->failed_at = jiffies;
	/* Pairs with smp_load_acquire() in is_overdue(). */
	smp_store_release(&qp->failed, true);
	rnic_qp_set_state(qp, IB_QPS_ERR);
	return true;
}

static void fail(struct rnic_qp *qp, struct mpa_conn *conn, u32 err,
		 u32 ulpdu_len, const u8 *hdr, u32 hdr_len)
{
	/* None is sent after our FIN, or before a Responder has had an FPDU. */
	if (rnic_tx_terminate(qp, conn, err, ulpdu_len, hdr, hdr_len)) {
		mpa_abort(conn);
	} else {
		mpa_shutdown(conn);
		rnic_qp_leave_later(qp);
	}
	rnic_qp_event(qp, event_of(err));
}

/*
 * An error that this end has found; @hdr is of the ULPDU in error, or NULL.
 * Connection context, in full operation, as the one that follows.
 */
void rnic_fail(struct rnic_qp *qp, struct mpa_conn *conn, u32 err,
	       u32 ulpdu_len, const u8 *hdr, u32 hdr_len)
{
	if (!fail_first(qp))
		return;
	qp->stop_messages = true;
	fail(qp, conn, err, ulpdu_len, hdr, hdr_len);
}

/*
 * A request of the send queue cannot be executed: the Terminate is sent in its
 * place (RFC 5040 section 7.1), after those that were executed.
 */
void rnic_fail_request(struct rnic_qp *qp, struct mpa_conn *conn)
{
	if (fail_first(qp))
		fail(qp, conn, RDMAP_ERR_LOCAL, 0, NULL, 0);
}

/* The peer's Terminate: none is sent in answer to it, only our FIN. */
void rnic_terminated(struct rnic_qp *qp, struct mpa_conn *conn, u32 err)
{
	rnic_count(qp->dev, RNIC_STAT_RX_TERMINATE);
	if (!fail_first(qp))
		return;
	qp->stop_messages = true;
	mpa_shutdown(conn);
	rnic_qp_leave_later(qp);
	rnic_qp_event(qp, event_of(err));
}
