// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ULPDUs of the peer, verified by MPA: checks, placement and Delivery. A
 * segment is checked completely before any of its octets are placed. Each
 * function that takes one returns the error for a Terminate, or 0.
 *
 * The payload of RDMA Writes and Read Responses that arrive after a hole in the
 * TCP stream is placed at once (RFC 5041 section 5.3), except that of a Write's
 * last segment. All else is done, and the checks are repeated, when a segment
 * is delivered: those before it may change the result, for example by
 * invalidating an STag. A segment that fails its checks early is not placed
 * early, and no error yet.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "rnic.h"

/* A segment, with the first octets of its ULPDU */
struct seg {
	const struct mpa_ulpdu	*ulpdu;
	struct mpa_conn		*conn;
	struct rdmap_hdr	hdr;
	u32			hdr_len;
	u32			len;	/* octets of payload */
	bool			placed;	/* they are where they belong */
	u32			nr_octets;
	const u8		*octets;
	u8			copy[RDMAP_HDR_MAX];
};

/* Mostly the payload is one piece: no iterator is needed. */
static void payload_of(const struct seg *seg, struct rnic_payload *from)
{
	const struct mpa_ulpdu *ulpdu = seg->ulpdu;

	if (likely(ulpdu->nr_frags == 1)) {
		from->p = ulpdu->frag->iov_base + seg->hdr_len;
		return;
	}
	from->p = NULL;
	iov_iter_kvec(&from->iter, ITER_SOURCE, ulpdu->frag, ulpdu->nr_frags,
		      ulpdu->len);
	iov_iter_advance(&from->iter, seg->hdr_len);
}

/*
 * DDP has no error for rights: the STag is reported as not valid (RFC 5041
 * section 7.2).
 */
static u32 tagged_error(enum rnic_mr_error err)
{
	switch (err) {
	case RNIC_MR_OK:
		return 0;
	case RNIC_MR_BOUNDS:
		return DDP_ERR_TAGGED_BOUNDS;
	case RNIC_MR_WRAP:
		return DDP_ERR_TAGGED_WRAP;
	case RNIC_MR_PD:
		return DDP_ERR_TAGGED_STREAM;
	default:
		return DDP_ERR_TAGGED_STAG;
	}
}

/* RFC 5040 section 4.8 */
static u32 read_error(enum rnic_mr_error err)
{
	switch (err) {
	case RNIC_MR_OK:
		return 0;
	case RNIC_MR_BOUNDS:
		return RDMAP_ERR_BOUNDS;
	case RNIC_MR_WRAP:
		return RDMAP_ERR_WRAP;
	case RNIC_MR_PD:
		return RDMAP_ERR_STREAM;
	case RNIC_MR_ACCESS:
		return RDMAP_ERR_ACCESS;
	default:
		return RDMAP_ERR_STAG;
	}
}

/* True if a segment before it may have been copied over it at Delivery. */
static bool is_late(const struct rnic_rx *rx, const struct seg *seg)
{
	return seg->hdr.to < rx->late_to &&
	       seg->hdr.to + seg->len > rx->late_from;
}

static void late_add(struct rnic_rx *rx, const struct seg *seg)
{
	u64 from = seg->hdr.to;

	rx->late_from = rx->late_to ? min(rx->late_from, from) : from;
	rx->late_to = max(rx->late_to, from + seg->len);
}

/*
 * Copy the payload to a region that the caller uses and has checked, unless
 * that was done out of order. Of segments that have octets for one place the
 * last of the stream prevails, so it is copied again after those before it.
 */
static void place_tagged(struct rnic_rx *rx, const struct rnic_mr *mr,
			 const struct seg *seg)
{
	struct rnic_payload from __uninitialized;

	if (seg->placed && !is_late(rx, seg))
		return;
	payload_of(seg, &from);
	rnic_mr_place(mr, seg->hdr.to, &from, seg->len);
	if (seg->ulpdu->pos < rx->ahead)
		late_add(rx, seg);
}

/* End the use of the region of the last Write: others may wait for that. */
static void write_end(struct rnic_rx *rx)
{
	if (!rx->mr)
		return;
	rnic_mr_put(rx->mr);
	rx->mr = NULL;
}

/*
 * The segments of a Write have one region, and each is checked against it. To
 * find it, and to become its user, is for the first: for it and all that follow
 * in a call of recv().
 */
static u32 write_place(struct rnic_qp *qp, const struct seg *seg)
{
	const struct rdmap_hdr *hdr = &seg->hdr;
	struct rnic_rx *rx = &qp->rx;
	enum rnic_mr_error err;

	if (!rx->mr || rnic_mr_check(rx->mr, qp->ib.pd, hdr->stag,
				     IB_ACCESS_REMOTE_WRITE, hdr->to,
				     seg->len)) {
		write_end(rx);
		if (!rnic_qp_lets(qp, IB_ACCESS_REMOTE_WRITE))
			return tagged_error(RNIC_MR_ACCESS);
		rx->mr = rnic_mr_get(qp->dev, qp->ib.pd, hdr->stag,
				     IB_ACCESS_REMOTE_WRITE, hdr->to, seg->len,
				     &err);
		if (!rx->mr)
			return tagged_error(err);
	}
	place_tagged(rx, rx->mr, seg);
	return 0;
}

/* A segment without octets names no buffer (RFC 5041 section 5). */
static u32 take_write(struct rnic_qp *qp, const struct seg *seg)
{
	if (seg->hdr.last)
		rnic_count(qp->dev, RNIC_STAT_RX_WRITE);
	return seg->len ? write_place(qp, seg) : 0;
}

/* The RTR by RDMA Read is answered first, by a Response without octets. */
static u32 take_rtr_response(struct rnic_qp *qp, const struct seg *seg)
{
	if (seg->len || !seg->hdr.last)
		return DDP_ERR_TAGGED_BOUNDS;
	qp->rtr_unanswered = false;
	if (qp->sq.waiting)
		rnic_qp_kick(qp);	/* else no run() in softirq */
	return 0;
}

static u32 read_done(struct rnic_qp *qp, struct rnic_msg *msg)
{
	u32 stag = msg->wqe.num_sge ? msg->wqe.sge[0].lkey : 0;

	rnic_sgl_put(&msg->sgl);	/* before it invalidates its own sink */
	if (msg->wqe.opcode == SIW_OP_READ_LOCAL_INV && stag &&
	    rnic_mr_invalidate(qp->dev, qp->ib.pd, stag, 0, NULL)) {
		/* Left to the flush: later requests may be done, and succeed */
		msg->status = SIW_WC_LOC_PROT_ERR;
		return RDMAP_ERR_LOCAL;
	}
	rnic_sq_done(qp, msg, SIW_WC_SUCCESS);
	return 0;
}

/*
 * A Read Response: must fit the unfilled rest of the oldest Read. Its last
 * segment may be one without octets.
 */
static u32 take_response(struct rnic_qp *qp, const struct seg *seg)
{
	struct rnic_msg *msg = rnic_sq_oldest_read(qp);
	const struct siw_sge *sink;
	u32 left;

	if (qp->rtr_unanswered)
		return take_rtr_response(qp, seg);
	/* Its Read Request is not sent: the peer has made it up. */
	if (!msg)
		return RDMAP_ERR_OPCODE;
	left = msg->sgl.len - msg->responded;
	if (seg->len > left)
		return DDP_ERR_TAGGED_BOUNDS;
	if (seg->hdr.last && seg->len < left)
		return RDMAP_ERR_UNSPECIFIED;
	sink = &msg->sgl.sge[0];
	if (seg->len && seg->hdr.stag != sink->lkey)
		return DDP_ERR_TAGGED_STAG;
	if (seg->len && seg->hdr.to != sink->laddr + msg->responded)
		return DDP_ERR_TAGGED_BOUNDS;
	if (seg->len)
		place_tagged(&qp->rx, msg->sgl.mr[0], seg);
	msg->responded += seg->len;
	return seg->hdr.last ? read_done(qp, msg) : 0;
}

/* Untagged segments come in order, for each queue. */
static u32 check_order(const struct rnic_qp *qp, const struct seg *seg, u32 mo)
{
	if (seg->hdr.msn != qp->rx.msn[seg->hdr.qn])
		return DDP_ERR_MSN;
	if (seg->hdr.mo != mo)
		return DDP_ERR_MO;
	return 0;
}

/*
 * A consumer may count on posting a request again in the handler of its
 * completion, before the next message needs one: call what is owed first.
 */
static bool recv_take(struct rnic_qp *qp, struct siw_rqe *rqe)
{
	if (likely(rnic_rq_take(qp, rqe)))
		return true;
	rnic_qp_notify(qp);
	return rnic_rq_take(qp, rqe);
}

/* Take a receive request for the Send that begins. */
static u32 recv_begin(struct rnic_qp *qp)
{
	struct rnic_rx *rx = &qp->rx;
	struct siw_rqe rqe __uninitialized;
	enum rnic_mr_error err;

	if (!recv_take(qp, &rqe))
		return DDP_ERR_NO_BUFFER;
	rx->busy = true;
	rx->id = rqe.id;
	rx->mo = 0;
	rx->at = (struct rnic_at) {};
	rx->status = SIW_WC_LOC_QP_OP_ERR;
	if (rqe.num_sge > RNIC_MAX_SGE)
		return RDMAP_ERR_LOCAL;
	rnic_sgl_set(&rx->sgl, rqe.sge, rqe.num_sge);
	err = rnic_sgl_get(&rx->sgl, qp, rnic_recv_pd(qp),
			   IB_ACCESS_LOCAL_WRITE);
	rx->status = err ? SIW_WC_LOC_PROT_ERR : SIW_WC_WR_FLUSH_ERR;
	return err ? RDMAP_ERR_LOCAL : 0;
}

static void recv_place(struct rnic_rx *rx, const struct seg *seg)
{
	struct rnic_payload from __uninitialized;
	u32 left, part;

	payload_of(seg, &from);
	for (left = seg->len; left; left -= part) {
		void *to = rnic_sgl_at(&rx->sgl, &rx->at, &part);

		part = min(left, part);
		rnic_payload_take(&from, to, part);
		rx->at.off += part;
	}
	rx->mo += seg->len;
}

static bool is_invalidating(u8 opcode)
{
	return opcode == RDMAP_OP_SEND_INV || opcode == RDMAP_OP_SEND_SE_INV;
}

static void recv_complete(struct rnic_qp *qp, const struct seg *seg)
{
	struct rnic_rx *rx = &qp->rx;
	struct siw_cqe cqe = {
		.id	= rx->id,
		.opcode	= SIW_OP_RECEIVE,
		.bytes	= rx->mo,
	};
	u8 opcode = seg->hdr.opcode;

	if (is_invalidating(opcode)) {
		cqe.flags = SIW_WQE_REM_INVAL;
		cqe.inval_stag = seg->hdr.stag;
	}
	rx->busy = false;
	rx->mo = 0;
	rx->msn[RDMAP_QN_SEND]++;
	rnic_count(qp->dev, RNIC_STAT_RX_SEND);
	qp->owed_recv |= rnic_cq_add(to_cq(qp->ib.recv_cq), qp, &cqe,
				     opcode == RDMAP_OP_SEND_SE ||
				     opcode == RDMAP_OP_SEND_SE_INV);
}

static u32 take_send(struct rnic_qp *qp, const struct seg *seg)
{
	struct rnic_rx *rx = &qp->rx;
	u32 err;

	err = check_order(qp, seg, rx->mo);
	if (err)
		return err;
	if (!rx->busy)
		err = recv_begin(qp);
	if (err)
		return err;
	if (seg->len > rx->sgl.len - rx->mo) {
		rx->status = SIW_WC_LOC_LEN_ERR;
		return DDP_ERR_TOO_LONG;
	}
	recv_place(rx, seg);
	if (!seg->hdr.last)
		return 0;
	rnic_sgl_put(&rx->sgl);	/* before it invalidates its own buffer */
	if (is_invalidating(seg->hdr.opcode) &&
	    rnic_mr_invalidate(qp->dev, qp->ib.pd, seg->hdr.stag,
			       RNIC_REMOTE_ACCESS, NULL)) {
		rx->status = SIW_WC_REM_INV_REQ_ERR;
		return RDMAP_ERR_INVALIDATE;
	}
	recv_complete(qp, seg);
	return 0;
}

static u32 take_read_request(struct rnic_qp *qp, const struct seg *seg)
{
	struct rnic_mr *mr = NULL;
	enum rnic_mr_error mr_err;
	struct rdmap_read read;
	int tx_err;
	bool rtr;
	u32 err;

	err = check_order(qp, seg, 0);
	if (err)
		return err;
	if (seg->len > RDMAP_READ_LEN)
		return DDP_ERR_TOO_LONG;
	if (seg->len < RDMAP_READ_LEN || !seg->hdr.last)
		return RDMAP_ERR_UNSPECIFIED;
	rdmap_read_req_read(&read, seg->octets + seg->hdr_len);
	/* The first may be an RTR, which is not one of IRD. */
	rtr = qp->rx.msn[RDMAP_QN_READ] == 1 && !read.size;
	if (qp->resp_head - qp->resp_tail >= qp->ird + (rtr || qp->peer_rtr))
		return DDP_ERR_NO_BUFFER;
	qp->peer_rtr |= rtr;
	qp->rx.msn[RDMAP_QN_READ]++;
	rnic_count(qp->dev, RNIC_STAT_RX_READ);
	if (read.size && !rnic_qp_lets(qp, IB_ACCESS_REMOTE_READ))
		return RDMAP_ERR_ACCESS;
	if (read.size) {
		mr = rnic_mr_get(qp->dev, qp->ib.pd, read.source_stag,
				 IB_ACCESS_REMOTE_READ, read.source_to,
				 read.size, &mr_err);
		if (!mr)
			return read_error(mr_err);
	}
	tx_err = rnic_tx_respond(qp, seg->conn, &read, mr);
	/* -EPIPE: the Read Request has crossed our FIN. That is no error. */
	return tx_err && tx_err != -EPIPE ? RDMAP_ERR_LOCAL : 0;
}

/*
 * Note which Read the peer refuses by a Terminate, whose octets after the
 * header are @octets. siw repeats another number than the Read Request had, but
 * is known to refuse a Read only after it has answered those before it.
 */
static void take_refusal(struct rnic_qp *qp, const u8 *octets, u32 len, u32 err,
			 bool swapped)
{
	struct rnic_msg *oldest = rnic_sq_oldest_read(qp);
	struct rdmap_hdr hdr;

	if (oldest && rdmap_term_refused(&hdr, octets, len, err, swapped))
		rnic_sq_refused(qp, swapped ? oldest->hdr.msn : hdr.msn);
}

static u32 take_terminate(struct rnic_qp *qp, const struct seg *seg)
{
	const u8 *octets = seg->octets + seg->hdr_len;
	u32 len = seg->nr_octets - seg->hdr_len;
	bool swapped = false;
	u32 err;

	err = check_order(qp, seg, 0);
	if (err)
		return err;
	if (!seg->hdr.last)
		return RDMAP_ERR_UNSPECIFIED;
	err = rdmap_term_read(octets, len, &swapped);
	take_refusal(qp, octets, len, err, swapped);
	rnic_terminated(qp, seg->conn, err);
	return 0;
}

static u32 (*const takers[RDMAP_OPS])(struct rnic_qp *qp,
				      const struct seg *seg) = {
	[RDMAP_OP_WRITE]	= take_write,
	[RDMAP_OP_READ]		= take_read_request,
	[RDMAP_OP_RESPONSE]	= take_response,
	[RDMAP_OP_SEND]		= take_send,
	[RDMAP_OP_SEND_INV]	= take_send,
	[RDMAP_OP_SEND_SE]	= take_send,
	[RDMAP_OP_SEND_SE_INV]	= take_send,
	[RDMAP_OP_TERMINATE]	= take_terminate,
};

/* The first octets of the ULPDU are copied unless they lie in one piece. */
static void seg_octets(struct seg *seg)
{
	const struct kvec *first = seg->ulpdu->frag;
	struct iov_iter iter __uninitialized;

	seg->nr_octets = min_t(u32, seg->ulpdu->len, sizeof(seg->copy));
	seg->octets = first->iov_base;
	if (likely(first->iov_len >= seg->nr_octets))
		return;
	seg->octets = seg->copy;
	iov_iter_kvec(&iter, ITER_SOURCE, first, seg->ulpdu->nr_frags,
		      seg->ulpdu->len);
	WARN_ON_ONCE(copy_from_iter(seg->copy, seg->nr_octets, &iter) !=
		     seg->nr_octets);
}

static void seg_get(struct seg *seg)
{
	seg_octets(seg);
	seg->hdr_len = rdmap_hdr_read(&seg->hdr, seg->octets, seg->nr_octets);
	seg->len = seg->ulpdu->len - seg->hdr_len;
}

static u32 take_seg(struct rnic_qp *qp, struct seg *seg)
{
	u32 err;

	seg_get(seg);
	/* seg->hdr is set if there is a header: otherwise @err is. */
	err = seg->hdr_len ? rdmap_hdr_check(&seg->hdr, qp->version) :
			     RDMAP_ERR_UNSPECIFIED;
	if (err || seg->hdr.opcode != RDMAP_OP_WRITE)
		write_end(&qp->rx);
	return err ?: takers[seg->hdr.opcode](qp, seg);
}

/*
 * Octets of the headers that a Terminate repeats: also those of a Read Request
 */
static u32 term_len(const struct seg *seg)
{
	if (seg->hdr_len && !seg->hdr.tagged &&
	    seg->hdr.opcode == RDMAP_OP_READ &&
	    seg->nr_octets == RDMAP_HDR_MAX)
		return RDMAP_HDR_MAX;
	return seg->hdr_len;
}

static void deliver(struct rnic_qp *qp, struct mpa_conn *conn,
		    const struct mpa_ulpdu *ulpdu, bool placed)
{
	/* To fill it with zeroes would cost more than the rest of this. */
	struct seg seg __uninitialized;
	u32 err;

	seg.ulpdu = ulpdu;
	seg.conn = conn;
	seg.placed = placed;
	err = take_seg(qp, &seg);
	qp->rx.begun = true;
	if (err)
		rnic_fail(qp, conn, err, seg.ulpdu->len, seg.octets,
			  term_len(&seg));
}

/* Deliver the ULPDUs passed out of order that begin below @delivered. */
static void deliver_ooo(struct rnic_qp *qp, struct mpa_conn *conn,
			u64 delivered)
{
	struct rnic_ooo_ulpdu *u;

	while (rnic_ooo_any(qp) && !qp->failed &&
	       (u = rnic_ooo_first(qp, delivered))) {
		deliver(qp, conn, u->ulpdu, u->placed);
		rnic_ooo_done(qp, u);
	}
}

/* Returns true if the payload is placed; false leaves all to Delivery. */
static bool place_ooo(struct rnic_qp *qp, const struct mpa_ulpdu *ulpdu)
{
	struct seg seg = { .ulpdu = ulpdu };
	const struct rnic_msg *read;

	seg_get(&seg);
	if (!seg.hdr_len || !seg.len || rdmap_hdr_check(&seg.hdr, qp->version))
		return false;
	switch (seg.hdr.opcode) {
	case RDMAP_OP_WRITE:
		/* A program may poll memory for the last octet of a Write. */
		return !seg.hdr.last && !write_place(qp, &seg);
	case RDMAP_OP_RESPONSE:
		read = rnic_sq_read_of(qp, seg.hdr.stag, seg.hdr.to, seg.len);
		if (read)
			place_tagged(&qp->rx, read->sgl.mr[0], &seg);
		return read;
	default:
		return false;
	}
}

/*
 * Place what can be placed of a call. Nothing before the first FPDU, which may
 * be an RTR; nor a ULPDU that was overtaken by one that is placed: that may
 * have octets for the same place.
 */
static void place_batch(struct rnic_qp *qp, const struct mpa_rx *rx,
			struct rnic_ooo_ulpdu *u)
{
	unsigned int i;

	for (i = 0; i < rx->nr && qp->rx.begun; i++) {
		if (rx->ulpdu[i].pos < qp->rx.ahead)
			continue;
		u[i].placed = place_ooo(qp, rx->ulpdu + i);
		if (u[i].placed) {
			qp->rx.ahead = rx->ulpdu[i].pos;
			rnic_count(qp->dev, RNIC_STAT_RX_AHEAD);
		}
	}
	write_end(&qp->rx);
}

static void recv_ooo(struct rnic_qp *qp, struct mpa_conn *conn,
		     struct mpa_rx *rx)
{
	struct rnic_ooo_ulpdu *u;

	/* All that was placed out of order before is delivered. */
	if (!rnic_ooo_any(qp))
		qp->rx.late_to = 0;
	u = rnic_ooo_keep(qp, rx);
	if (u)
		place_batch(qp, rx, u);
	else
		rnic_fail(qp, conn, RDMAP_ERR_LOCAL, 0, NULL, 0);
}

void rnic_rx_recv(struct rnic_qp *qp, struct mpa_conn *conn, struct mpa_rx *rx)
{
	unsigned int i;

	if (qp->failed)
		return;
	if (rx->nr && rx->ulpdu->pos >= rx->delivered) {
		recv_ooo(qp, conn, rx);
		return;
	}
	/* None passed out of order lies between two of a call. */
	if (rx->nr)
		deliver_ooo(qp, conn, rx->ulpdu->pos);
	for (i = 0; i < rx->nr && !qp->failed; i++)
		deliver(qp, conn, rx->ulpdu + i, false);
	deliver_ooo(qp, conn, rx->delivered);
	write_end(&qp->rx);
	/* run() need not follow a call in softirq. */
	if (qp->sq.reads)
		rnic_sq_note_moved(qp);
	/* Once for the whole call: most handlers poll everything there is. */
	rnic_qp_notify(qp);
}

/* The connection is over: the receive request of a Send that is cut short */
void rnic_rx_flush(struct rnic_qp *qp)
{
	struct rnic_rx *rx = &qp->rx;

	if (!rx->busy)
		return;
	rnic_sgl_put(&rx->sgl);
	rx->busy = false;
	rnic_rq_fail(qp, rx->id, rx->status);
}
