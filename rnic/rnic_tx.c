// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages as DDP segments. MPA cuts a long one by a template, and asks for its
 * octets, 64 KB at a time. The memory is an application's, which may write to
 * it at any time: MPA_TX_COPY.
 *
 * After the first error each message ends with the octets that MPA has, but for
 * the Terminate, and of those that follow nothing is sent. An error of one of
 * our own requests does not end the messages before it.
 */
#include <linux/errno.h>
#include <linux/list.h>

#include "rnic.h"

#define NO_STAG		1	/* not looked at, but some RNICs refuse 0 */
#define MSG_AT_ONCE	65536U	/* octets of a next(); sent after errors, too */

static bool msg_over(const struct rnic_msg *msg)
{
	return msg->qp->stop_messages && msg->kind != RNIC_MSG_TERM;
}

/*
 * Name memory that follows the @nr entries in use, of @max octets at most;
 * fewer if there is no room to name more. Returns how many.
 */
static u32 msg_vecs(struct rnic_msg *msg, u32 max, unsigned int *nr)
{
	struct kvec *vec = msg->vec + *nr;
	u32 len = 0, room;

	max = min(max, msg->left);
	for (; len < max && vec < msg->vec + RNIC_SEG_VECS; vec++) {
		vec->iov_base = rnic_sgl_at(&msg->sgl, &msg->at, &room);
		vec->iov_len = min(max - len, room);
		msg->at.off += vec->iov_len;
		len += vec->iov_len;
	}
	*nr = vec - msg->vec;
	return len;
}

/* Move the memory that MPA has not cut yet to the front; returns entries. */
static unsigned int msg_keep(struct rnic_msg *msg)
{
	const struct iov_iter *data = &msg->tx.data;

	if (!msg->tx.len)
		return 0;
	memmove(msg->vec, data->kvec, data->nr_segs * sizeof(*msg->vec));
	msg->vec->iov_base += data->iov_offset;
	msg->vec->iov_len -= data->iov_offset;
	return data->nr_segs;
}

/* From now on MPA asks for octets of @msg, so an error can end it. */
static void msg_open(struct rnic_msg *msg)
{
	msg->open = true;
	msg->qp->open++;
}

/* MPA has all octets of @msg, or gets no more. */
static void msg_close(struct rnic_msg *msg)
{
	if (msg->open)
		msg->qp->open--;
	msg->open = false;
}

/* The next octets of a message with memory of its own, for MPA to cut */
static int msg_next(struct mpa_tx *tx, u32 max)
{
	struct rnic_msg *msg = container_of(tx, struct rnic_msg, tx);
	unsigned int nr;
	u32 more;

	if (msg_over(msg)) {
		msg_close(msg);
		tx->hdr_len = 0;
		tx->len = 0;
		return 0;
	}
	nr = msg_keep(msg);
	more = msg_vecs(msg, MSG_AT_ONCE - min(tx->len, MSG_AT_ONCE), &nr);
	msg->left -= more;
	msg->given = !msg->left;
	if (msg->given)
		msg_close(msg);
	tx->len += more;
	iov_iter_kvec(&tx->data, ITER_SOURCE, msg->vec, nr, tx->len);
	return !msg->given;
}

/* Have MPA cut a message into segments, the last of which has the L flag. */
static void msg_cut(struct rnic_msg *msg)
{
	struct mpa_tx *tx = &msg->tx;

	tx->flags |= MPA_TX_TEMPLATE;
	tx->template = msg->hdr.tagged ? &rdmap_tagged : &rdmap_untagged;
	tx->next = msg_next;
	tx->hdr = msg->octets;
	tx->hdr_len = rdmap_hdr_write(msg->octets, &msg->hdr);
	tx->len = 0;
	msg_open(msg);
}

/*
 * Prepare a message with memory of its own. One that is shorter than any MULPDU
 * becomes a ULPDU here: MPA does not call next() for it. An error cannot
 * withdraw it, so it must not follow a message that an error may end early: the
 * peer would take that message for complete. A message that follows such a one,
 * is longer, or lies in too many pieces is given to MPA to cut.
 */
static void msg_prepare(struct rnic_msg *msg)
{
	struct mpa_tx *tx = &msg->tx;
	bool whole = !msg->qp->open;
	unsigned int nr = 0;
	u32 len = 0;

	if (whole && msg->left <= MPA_MULPDU_MIN - RDMAP_UNTAGGED_LEN)
		len = msg_vecs(msg, msg->left, &nr);
	if (!whole || len < msg->left) {
		msg->at = (struct rnic_at) {};
		msg_cut(msg);
		return;
	}
	msg->hdr.last = true;
	msg->given = true;
	tx->next = NULL;
	tx->hdr = msg->octets;
	tx->hdr_len = rdmap_hdr_write(msg->octets, &msg->hdr);
	tx->len = len;
	iov_iter_kvec(&tx->data, ITER_SOURCE, msg->vec, nr, len);
}

/*
 * A Read Request, RTR or Terminate: in @octets as a whole, and shorter than any
 * MULPDU. MPA asks for it all the same, so that an error can still withdraw it.
 */
static int msg_control_next(struct mpa_tx *tx, u32 max)
{
	struct rnic_msg *msg = container_of(tx, struct rnic_msg, tx);

	tx->len = 0;
	tx->hdr = msg->octets;
	tx->hdr_len = msg_over(msg) ? 0 : msg->left;
	msg->given = tx->hdr_len;
	msg_close(msg);
	return 0;
}

static void msg_init(struct rnic_qp *qp, struct rnic_msg *msg,
		     enum rnic_msg_kind kind, u8 opcode)
{
	msg->qp = qp;
	msg->kind = kind;
	msg->given = false;
	msg->open = false;
	msg->at = (struct rnic_at) {};
	msg->hdr = (struct rdmap_hdr) {
		.ddp_version	= qp->version,
		.version	= qp->version,
		.opcode		= opcode,
	};
	msg->tx.flags = MPA_TX_COPY;
	msg->left = msg->sgl.len;
}

static void msg_tagged(struct rnic_msg *msg, u32 stag, u64 to)
{
	msg->hdr.tagged = true;
	msg->hdr.stag = stag;
	msg->hdr.to = to;
}

static void msg_untagged(struct rnic_msg *msg, enum rdmap_queue qn)
{
	msg->hdr.qn = qn;
	msg->hdr.msn = msg->qp->msn[qn]++;
}

/* Write the header of a Read Request, RTR or Terminate; returns its length. */
static u32 msg_control_init(struct rnic_msg *msg)
{
	msg->hdr.last = true;
	msg->tx.next = msg_control_next;
	msg_open(msg);
	return rdmap_hdr_write(msg->octets, &msg->hdr);
}

static u8 send_opcode(const struct siw_sqe *wqe)
{
	bool se = wqe->flags & SIW_WQE_SOLICITED;

	if (wqe->opcode == SIW_OP_SEND_REMOTE_INV)
		return se ? RDMAP_OP_SEND_SE_INV : RDMAP_OP_SEND_INV;
	return se ? RDMAP_OP_SEND_SE : RDMAP_OP_SEND;
}

static void read_request(struct rnic_msg *msg, u32 source_stag, u64 source_to)
{
	struct rdmap_read read = {
		.sink_stag	= NO_STAG,
		.source_stag	= source_stag,
		.source_to	= source_to,
		.size		= msg->sgl.len,
	};

	if (msg->sgl.len) {
		read.sink_stag = msg->sgl.sge[0].lkey;
		read.sink_to = msg->sgl.sge[0].laddr;
	}
	msg_untagged(msg, RDMAP_QN_READ);
	msg->left = msg_control_init(msg);
	msg->left += rdmap_read_req_write(msg->octets + msg->left, &read);
}

/* Prepare the message of a slot whose memory is resolved. */
void rnic_tx_wqe(struct rnic_qp *qp, struct rnic_msg *msg)
{
	const struct siw_sqe *wqe = &msg->wqe;

	switch (wqe->opcode) {
	case SIW_OP_WRITE:
		rnic_count(qp->dev, RNIC_STAT_TX_WRITE);
		msg_init(qp, msg, RNIC_MSG_WQE, RDMAP_OP_WRITE);
		msg_tagged(msg, wqe->rkey, wqe->raddr);
		msg_prepare(msg);
		break;
	case SIW_OP_READ:
	case SIW_OP_READ_LOCAL_INV:
		rnic_count(qp->dev, RNIC_STAT_TX_READ);
		msg_init(qp, msg, RNIC_MSG_WQE, RDMAP_OP_READ);
		read_request(msg, wqe->rkey, wqe->raddr);
		break;
	default:
		rnic_count(qp->dev, RNIC_STAT_TX_SEND);
		msg_init(qp, msg, RNIC_MSG_WQE, send_opcode(wqe));
		msg_untagged(msg, RDMAP_QN_SEND);
		if (wqe->opcode == SIW_OP_SEND_REMOTE_INV)
			msg->hdr.stag = wqe->rkey;
		msg_prepare(msg);
	}
}

/*
 * Answer a Read Request from @mr, of which this takes over a user; NULL if no
 * octets are asked for. Returns 0, -ENOSPC: more Read Requests than IRD, or
 * what mpa_send() returned.
 */
int rnic_tx_respond(struct rnic_qp *qp, struct mpa_conn *conn,
		    const struct rdmap_read *read, struct rnic_mr *mr)
{
	struct rnic_msg *msg;
	int err = -ENOSPC;

	if (qp->resp_head - qp->resp_tail == qp->nr_responses)
		goto put;
	msg = &qp->response[qp->resp_head % qp->nr_responses];
	msg->sgl.nr = 1;
	msg->sgl.len = read->size;
	msg->sgl.mr[0] = mr;
	msg->sgl.sge[0] = (struct siw_sge) {
		.laddr	= read->source_to,
		.length	= read->size,
		.lkey	= read->source_stag,
	};
	msg_init(qp, msg, RNIC_MSG_RESPONSE, RDMAP_OP_RESPONSE);
	msg_tagged(msg, read->sink_stag, read->sink_to);
	msg_cut(msg);
	err = mpa_send(conn, &msg->tx);
	if (!err) {
		qp->resp_head++;
		return 0;
	}
	msg->sgl.nr = 0;
	msg_close(msg);
put:
	if (mr)
		rnic_mr_put(mr);
	return err;
}

/* The Initiator's RTR, by RDMA Write or Read: RFC 6581 section 9.2 */
int rnic_tx_rtr(struct rnic_qp *qp, struct mpa_conn *conn, u8 kind)
{
	struct rnic_msg *msg = qp->rtr;

	if (kind == MPA_RTR_WRITE) {
		msg_init(qp, msg, RNIC_MSG_RTR, RDMAP_OP_WRITE);
		msg_tagged(msg, NO_STAG, 0);
		msg->left = msg_control_init(msg);
	} else {
		msg_init(qp, msg, RNIC_MSG_RTR, RDMAP_OP_READ);
		read_request(msg, NO_STAG, 0);
		qp->rtr_unanswered = true;
	}
	return mpa_send(conn, &msg->tx);
}

int rnic_tx_terminate(struct rnic_qp *qp, struct mpa_conn *conn, u32 err,
		      u32 ulpdu_len, const u8 *hdr, u32 hdr_len)
{
	struct rnic_msg *msg = qp->term;
	int res;

	msg_init(qp, msg, RNIC_MSG_TERM, RDMAP_OP_TERMINATE);
	msg_untagged(msg, RDMAP_QN_TERMINATE);
	msg->left = msg_control_init(msg);
	msg->left += rdmap_term_write(msg->octets + msg->left, err, ulpdu_len,
				      hdr, hdr_len);
	res = mpa_send(conn, &msg->tx);
	if (!res)
		rnic_count(qp->dev, RNIC_STAT_TX_TERMINATE);
	return res;
}

/* MPA has handed back a Read Response: the slot is free. */
void rnic_tx_responded(struct rnic_qp *qp, struct rnic_msg *msg)
{
	rnic_sgl_put(&msg->sgl);
	qp->resp_tail++;
	/* If there is one to the RTR, it was handed back before all others. */
	qp->peer_rtr = false;
}
