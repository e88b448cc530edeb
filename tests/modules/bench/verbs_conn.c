// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * An end of a connection: its queues and their completions.
 *
 * The receiver posts all parts of its ring in advance, and a Send lands in one
 * of them, which is its final destination: nothing is copied. Completions are
 * handled where the driver reports them, as consumers of MPA handle ULPDUs:
 * receives in the softirq that delivered them, which posts the buffer again
 * before there can be another message. So a buffer is always posted, TCP
 * throttles the sender, and no credits are sent.
 *
 * With @queued they are handled in a work queue, as most consumers do. Then the
 * sender must not run ahead of the receiver: it reads the receiver's progress
 * directly, where a real consumer would be sent credits. That favours siw
 * slightly.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "verbs.h"

#define WCS	8		/* completions asked for at once */

static struct verbs_slot *slot_of(const struct ib_wc *wc)
{
	return container_of(wc->wr_cqe, struct verbs_slot, cqe);
}

void verbs_conn_fail(struct verbs_conn *conn, int err)
{
	if (!READ_ONCE(conn->ending))
		bench_fail(conn->end->run, err);
}

/* Messages are sent, or read, in turn. */
static void message_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_slot *slot = slot_of(wc);
	struct verbs_conn *conn = slot->conn;
	bool read = conn->mode->op == VERBS_READ;

	ib_dma_unmap_single(cq->device, slot->sge.addr, slot->sge.length,
			    read ? DMA_FROM_DEVICE : DMA_TO_DEVICE);
	if (wc->status != IB_WC_SUCCESS) {
		verbs_conn_fail(conn, -EIO);
		return;
	}
	if (read) {
		bench_placed(conn->end, wc->byte_len);
		bench_act(conn->end);
	}
	WRITE_ONCE(conn->sent, slot->next);
	/* Room for another list: the sender may be waiting for it */
	if (slot->next % conn->mode->list == 0)
		bench_wake(read ? conn->end->peer : conn->end);
}

/* A Send without octets has told of an RDMA Write; it fails with that. */
static void message_told(struct ib_cq *cq, struct ib_wc *wc)
{
}

static void received(struct verbs_conn *conn)
{
	WRITE_ONCE(conn->received, conn->received + 1);
	if (conn->mode->queued)
		bench_wake(conn->end->peer);
	bench_act(conn->end);
}

static void message_came(struct ib_cq *cq, struct ib_wc *wc)
{
	struct verbs_slot *slot = slot_of(wc);
	struct verbs_conn *conn = slot->conn;
	bool written = conn->mode->op == VERBS_WRITE;
	int err = 0;

	if (wc->status != IB_WC_SUCCESS)
		err = -EIO;
	else if (wc->byte_len != (written ? 0 : slot->sge.length))
		err = -EPROTO;
	if (!err) {
		bench_placed(conn->end, slot->sge.length);
		err = ib_post_recv(conn->id->qp, &slot->recv, NULL);
	}
	if (err)
		verbs_conn_fail(conn, err);
	else
		received(conn);
}

/* Handle all completions, and request notification of more. */
static void completions(struct ib_cq *cq, void *context)
{
	const int flags = IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS;
	struct ib_wc wc[WCS];
	int i, nr;

	do {
		while ((nr = ib_poll_cq(cq, WCS, wc)) > 0)
			for (i = 0; i < nr; i++)
				wc[i].wr_cqe->done(cq, &wc[i]);
	} while (ib_req_notify_cq(cq, flags) > 0);
}

struct verbs_conn *verbs_conn_alloc(struct bench_end *end,
				    const struct verbs_mode *mode)
{
	struct verbs_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	conn->end = end;
	conn->mode = mode;
	conn->nr_tx = VERBS_LISTS * mode->list;
	conn->nr_rx = end->run->ring_size / end->run->opts.size;
	conn->tx = kvcalloc(conn->nr_tx, sizeof(*conn->tx), GFP_KERNEL);
	conn->rx = kvcalloc(conn->nr_rx, sizeof(*conn->rx), GFP_KERNEL);
	init_completion(&conn->step);
	if (conn->tx && conn->rx)
		return conn;
	verbs_conn_free(conn);
	return NULL;
}

static void init_slot(struct verbs_conn *conn, struct verbs_slot *slot)
{
	slot->conn = conn;
	slot->sge.length = conn->end->run->opts.size;
	/* What an RDMA Read fetches goes to memory that has an STag. */
	slot->sge.lkey = conn->mode->op == VERBS_READ ?
			 conn->pd->unsafe_global_rkey :
			 conn->pd->local_dma_lkey;
}

static void init_tx(struct verbs_conn *conn)
{
	static const enum ib_wr_opcode opcodes[] = {
		[VERBS_SEND]	= IB_WR_SEND,
		[VERBS_WRITE]	= IB_WR_RDMA_WRITE,
		[VERBS_READ]	= IB_WR_RDMA_READ,
	};
	static struct ib_cqe told = { .done = message_told };
	struct verbs_slot *slot = conn->tx;
	u32 nr;

	for (nr = 1; nr <= conn->nr_tx; nr++, slot++) {
		init_slot(conn, slot);
		slot->cqe.done = message_sent;
		slot->send.wr.wr_cqe = &slot->cqe;
		slot->send.wr.sg_list = &slot->sge;
		slot->send.wr.num_sge = 1;
		slot->send.wr.opcode = opcodes[conn->mode->op];
		/*
		 * siw sends others from their pages, with a socket call for
		 * each, and two for the rest of the FPDU: dearer at its EMSS.
		 */
		if (!conn->mode->pages || nr % conn->mode->list == 0)
			slot->send.wr.send_flags = IB_SEND_SIGNALED;
		slot->tell.wr_cqe = &told;
		slot->tell.opcode = IB_WR_SEND;
	}
}

static int post_first(struct verbs_conn *conn, struct verbs_slot *slot,
		      void *buf)
{
	struct ib_device *dev = conn->id->device;
	u64 addr;

	init_slot(conn, slot);
	addr = ib_dma_map_single(dev, buf, slot->sge.length, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, addr))
		return -ENOMEM;
	slot->sge.addr = addr;
	slot->cqe.done = message_came;
	slot->recv.wr_cqe = &slot->cqe;
	slot->recv.sg_list = &slot->sge;
	slot->recv.num_sge = 1;
	return ib_post_recv(conn->id->qp, &slot->recv, NULL);
}

/* Post each part of the ring. */
static int init_rx(struct verbs_conn *conn)
{
	u32 size = conn->end->run->opts.size;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < conn->nr_rx; i++)
		err = post_first(conn, &conn->rx[i],
				 conn->end->ring + i * size);
	return err;
}

static struct ib_cq *new_cq(struct verbs_conn *conn, u32 number)
{
	struct ib_cq_init_attr attr = { .cqe = number };
	struct ib_cq *cq;

	if (conn->mode->queued)
		return ib_alloc_cq(conn->id->device, conn, number, 0,
				   IB_POLL_WORKQUEUE);
	cq = ib_create_cq(conn->id->device, completions, NULL, conn, &attr);
	if (!IS_ERR(cq))
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	return cq;
}

static void free_cq(struct verbs_conn *conn, struct ib_cq *cq)
{
	if (IS_ERR_OR_NULL(cq))
		return;
	if (conn->mode->queued)
		ib_free_cq(cq);
	else
		ib_destroy_cq(cq);
}

/* One of each more than needed, with which they are drained */
static int new_qp(struct verbs_conn *conn)
{
	bool write = conn->mode->op == VERBS_WRITE;
	u32 nr_tx = conn->nr_tx * (write ? 2 : 1) + 2;
	struct ib_qp_init_attr attr = {
		.cap = {
			.max_send_wr = nr_tx,
			.max_recv_wr = conn->nr_rx + 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};

	conn->pd = ib_alloc_pd(conn->id->device,
			       conn->mode->op == VERBS_SEND ? 0 :
			       IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(conn->pd))
		return PTR_ERR(conn->pd);
	conn->tx_cq = new_cq(conn, nr_tx);
	if (IS_ERR(conn->tx_cq))
		return PTR_ERR(conn->tx_cq);
	conn->rx_cq = new_cq(conn, conn->nr_rx + 1);
	if (IS_ERR(conn->rx_cq))
		return PTR_ERR(conn->rx_cq);
	attr.send_cq = conn->tx_cq;
	attr.recv_cq = conn->rx_cq;
	return rdma_create_qp(conn->id, conn->pd, &attr);
}

/* The device is known: allocate the objects that depend on it. */
int verbs_conn_open(struct verbs_conn *conn)
{
	int err = new_qp(conn);

	if (err)
		return err;
	init_tx(conn);
	return init_rx(conn);
}

static void unmap_rx(struct verbs_conn *conn)
{
	struct verbs_slot *slot;

	for (slot = conn->rx; slot < conn->rx + conn->nr_rx; slot++)
		if (slot->sge.addr)
			ib_dma_unmap_single(conn->id->device, slot->sge.addr,
					    slot->sge.length, DMA_FROM_DEVICE);
}

/* Free those of them that exist */
static void free_device_part(struct verbs_conn *conn)
{
	if (conn->id->qp) {
		ib_drain_qp(conn->id->qp);
		rdma_destroy_qp(conn->id);
	}
	if (conn->id->device)
		unmap_rx(conn);
	free_cq(conn, conn->rx_cq);
	free_cq(conn, conn->tx_cq);
	if (!IS_ERR_OR_NULL(conn->pd))
		ib_dealloc_pd(conn->pd);
}

void verbs_conn_free(struct verbs_conn *conn)
{
	if (conn->id) {
		free_device_part(conn);
		rdma_destroy_id(conn->id);
	}
	kvfree(conn->rx);
	kvfree(conn->tx);
	kfree(conn);
}
