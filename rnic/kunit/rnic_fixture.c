// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The fake of MPA, and what each suite starts from */
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "mpa_compat.h"
#include "rnic_kunit.h"

static struct mpa_conn *rk_conn;	/* of the test that runs */

int mpa_send(struct mpa_conn *conn, struct mpa_tx *tx)
{
	if (conn->send_err)
		return conn->send_err;
	tx->state = 0;
	tx->end = 0;
	list_add_tail(&tx->list, &conn->tx);
	conn->posted++;
	return 0;
}

int mpa_send_list(struct mpa_conn *conn, struct list_head *list)
{
	struct mpa_tx *tx;

	if (conn->send_err)
		return conn->send_err;
	list_for_each_entry(tx, list, list) {
		tx->state = 0;
		tx->end = 0;
	}
	conn->posted += list_count_nodes(list);
	list_splice_tail_init(list, &conn->tx);
	return 0;
}

void mpa_kick(struct mpa_conn *conn)
{
	conn->kicks++;
}

void mpa_kick_now(struct mpa_conn *conn)
{
	conn->nows++;
}

void mpa_conn_get(struct mpa_conn *conn)
{
	conn->refs++;
}

void mpa_conn_put(struct mpa_conn *conn)
{
	conn->refs--;
}

void mpa_allow_softirq(struct mpa_conn *conn)
{
}

void mpa_allow_softirq_send(struct mpa_conn *conn)
{
}

int mpa_shutdown(struct mpa_conn *conn)
{
	conn->shutdowns++;
	return 0;
}

void mpa_abort(struct mpa_conn *conn)
{
	conn->aborts++;
}

void mpa_detach(struct mpa_conn *conn)
{
	conn->detached++;
	conn->live = false;
}

void mpa_resume(struct mpa_conn *conn)
{
	conn->resumed++;
}

void *mpa_conn_ctx(const struct mpa_conn *conn)
{
	return conn->ctx;
}

struct socket *mpa_conn_socket(const struct mpa_conn *conn)
{
	return conn->sock;
}

void mpa_get_info(struct mpa_conn *conn, struct mpa_info *info)
{
	*info = conn->info;
}

int mpa_set_enhanced(struct mpa_conn *conn, const struct mpa_enhanced *enhanced,
		     u16 ird_max)
{
	return conn->ended && !conn->ends_late ? -EALREADY : 0;
}

int mpa_accept(struct mpa_conn *conn, const void *pd, size_t len)
{
	if (conn->ended || conn->accepted || conn->rejected)
		return -ENOTCONN;
	conn->accepted = true;
	return 0;
}

int mpa_reject(struct mpa_conn *conn, const void *pd, size_t len)
{
	if (conn->ended || conn->accepted || conn->rejected)
		return -ENOTCONN;
	conn->rejected = true;
	return 0;
}

struct mpa_conn *mpa_attach(struct socket *sock,
			    const struct mpa_params *params)
{
	rk_conn->ops = params->ops;
	rk_conn->ctx = params->ctx;
	rk_conn->sock = sock;
	rk_conn->live = true;
	return rk_conn;
}

int mpa_start_responder(struct mpa_conn *conn, const void *msg, size_t len)
{
	return 0;
}

struct mpa_connector *mpa_connect(const struct mpa_sock_params *params,
				  mpa_connected_fn done)
{
	struct mpa_conn *conn = rk_conn;

	if (conn->err)
		return ERR_PTR(conn->err);
	conn->ops = params->start->ops;
	conn->ctx = params->ctx;
	conn->done = done;
	conn->setup = params->setup;
	conn->handles++;
	return (struct mpa_connector *)conn;
}

void mpa_rx_get(struct mpa_rx *rx)
{
	rk_conn->batches++;
}

void mpa_rx_put(struct mpa_rx *rx)
{
	rk_conn->batches--;
}

void mpa_connect_close(struct mpa_connector *connector)
{
	rk_conn->handles--;
}

struct mpa_listener *
mpa_listen(const struct mpa_sock_params *params,
	   void (*accepted)(void *ctx, struct socket *sock))
{
	if (rk_conn->err)
		return ERR_PTR(rk_conn->err);
	rk_conn->listen = accepted;
	rk_conn->listen_ctx = params->ctx;
	rk_conn->setup = params->setup;
	rk_conn->handles++;
	return (struct mpa_listener *)rk_conn;
}

int mpa_listen_close_sync(struct mpa_listener *listener)
{
	rk_conn->handles--;
	return 0;
}

/* The device */

static void rk_async(struct rnic_kunit *rk, const struct ib_event *event)
{
	KUNIT_ASSERT_LT(rk->test, event->event, RK_EVENTS);
	KUNIT_EXPECT_PTR_NE(rk->test, rk->caller, current);
	rk->async[event->event]++;
}

static void rk_async_event(struct ib_event *event, void *context)
{
	rk_async(context, event);
}

static void rk_completion(struct ib_cq *cq, void *context)
{
	struct rnic_kunit *rk = context;

	rk->notified++;
	KUNIT_EXPECT_PTR_NE(rk->test, rk->caller, current);
	if (rk->on_notify)
		rk->on_notify(rk);
}

static void rk_cq(struct rnic_kunit *rk, u32 cqe)
{
	struct ib_cq_init_attr attr = { .cqe = cqe };

	rk->cq.ib.device = &rk->dev->ib;
	rk->cq.ib.comp_handler = rk_completion;
	rk->cq.ib.event_handler = rk_async_event;
	rk->cq.ib.cq_context = rk;
	KUNIT_ASSERT_EQ(rk->test, 0, rnic_create_cq(&rk->cq.ib, &attr, NULL));
}

/* Ends what rk_init() has begun, however far that went. */
int rk_init(struct kunit *test)
{
	struct rnic_kunit *rk = kunit_kzalloc(test, sizeof(*rk), GFP_KERNEL);
	struct rnic_dev *dev = ib_alloc_device(rnic_dev, ib);

	KUNIT_ASSERT_NOT_NULL(test, rk);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	test->priv = rk;
	rk->test = test;
	rk->dev = dev;
	dev->stats = alloc_percpu(struct rnic_stats);
	KUNIT_ASSERT_TRUE(test, !!dev->stats);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->eps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	dev->ib.phys_port_cnt = 1;
	refcount_set(&dev->ib.refcount, 1);
	KUNIT_ASSERT_EQ(test, 0, ib_device_set_netdev(&dev->ib,
						      init_net.loopback_dev,
						      1));
	rk->pd.device = &dev->ib;
	rk->other_pd.device = &dev->ib;
	INIT_LIST_HEAD(&rk->conn.tx);
	rk->conn.info.rev = MPA_REV_2;
	rk_conn = &rk->conn;
	rnic_wq = alloc_workqueue("mpa_rnic_kunit", MPA_WQ_PERCPU, 1);
	KUNIT_ASSERT_NOT_NULL(test, rnic_wq);
	rk_cq(rk, 16);
	rk_race = (struct rk_race) { .task = current };
	return 0;
}

/*
 * Wait for the device's work items. That which flushes may queue itself again,
 * or a handler that it calls does: flush_workqueue() does not wait for that.
 */
void rk_settle(struct rnic_kunit *rk)
{
	do {
		flush_workqueue(rnic_wq);
	} while (work_busy(&rk->qp->flush));
}

void rk_exit(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct rnic_dev *dev = rk ? rk->dev : NULL;
	int i;

	if (!dev || !rk->cq.ring)
		return;
	rk_race.task = NULL;
	rk_over(rk);
	if (rk->mr)
		rk_mr_free(rk, rk->mr);
	if (rk->qp) {
		rnic_qp_unbind(rk->qp);
		rk_settle(rk);
		KUNIT_EXPECT_EQ(test, 1, refcount_read(&rk->qp->refs));
		if (refcount_read(&rk->qp->refs) == 1)
			rnic_destroy_qp(&rk->qp->ib, NULL);
	}
	if (rk->srq)
		rnic_destroy_srq(&rk->srq->ib, NULL);
	rnic_destroy_cq(&rk->cq.ib, NULL);
	destroy_workqueue(rnic_wq);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->qps));
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->mrs));
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->eps));
	for (i = 0; i < RNIC_OBJECTS; i++)
		KUNIT_EXPECT_EQ_MSG(test, 0, atomic_read(&dev->objects[i]),
				    "kind %d", i);
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&dev->ib.refcount));
	refcount_set(&dev->ib.refcount, 0);
	free_percpu(dev->stats);
	ib_dealloc_device(&dev->ib);
	rcu_barrier();
}

void rk_srq(struct rnic_kunit *rk, u32 wr)
{
	struct ib_srq_init_attr init = {
		.srq_type	= IB_SRQT_BASIC,
		.attr		= { .max_wr = wr, .max_sge = 1,
				    .srq_limit = U32_MAX /* ignored */ },
	};

	rk->srq = kunit_kzalloc(rk->test, sizeof(*rk->srq), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rk->test, rk->srq);
	rk->srq->ib.device = &rk->dev->ib;
	rk->srq->ib.pd = &rk->pd;
	rk->srq->ib.event_handler = rk_async_event;
	rk->srq->ib.srq_context = rk;
	KUNIT_ASSERT_EQ(rk->test, 0,
			rnic_create_srq(&rk->srq->ib, &init, NULL));
}

/* A QP of the kernel, with queues of @wr requests, not connected */
void rk_qp(struct rnic_kunit *rk, u32 wr)
{
	struct ib_qp_init_attr init = {
		.qp_type	= IB_QPT_RC,
		.send_cq	= &rk->cq.ib,
		.recv_cq	= &rk->cq.ib,
		.srq		= rk->srq ? &rk->srq->ib : NULL,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr	= wr,
			/* Ignored if there is an SRQ */
			.max_recv_wr	= rk->srq ? U32_MAX : wr,
			.max_send_sge	= RNIC_MAX_SGE,
			.max_recv_sge	= rk->srq ? U32_MAX : RNIC_MAX_SGE,
		},
	};
	struct rnic_qp *qp;

	qp = kunit_kzalloc(rk->test, sizeof(*qp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rk->test, qp);
	qp->ib.device = &rk->dev->ib;
	qp->ib.pd = &rk->pd;
	qp->ib.send_cq = init.send_cq;
	qp->ib.recv_cq = init.recv_cq;
	qp->ib.event_handler = rk_async_event;
	qp->ib.qp_context = rk;
	KUNIT_ASSERT_EQ(rk->test, 0, rnic_create_qp(&qp->ib, &init, NULL));
	rk->qp = qp;
	KUNIT_EXPECT_EQ(rk->test, rk->srq ? 0 : wr, init.cap.max_recv_wr);
	KUNIT_EXPECT_EQ(rk->test, rk->srq ? 0 : RNIC_MAX_SGE,
			init.cap.max_recv_sge);
}

void rk_up(struct rnic_kunit *rk, u32 ird, u32 ord)
{
	KUNIT_ASSERT_EQ(rk->test, 0, rnic_qp_bind(rk->qp, NULL, ird, ord));
	rnic_qp_up(rk->qp, &rk->conn, &rk->conn.info);
	rk->up = true;
}

/* The connection ends, and MPA hands back what it has. */
void rk_over(struct rnic_kunit *rk)
{
	struct mpa_tx *tx;

	if (!rk->up)
		return;
	rk->up = false;
	rnic_qp_down(rk->qp);
	list_for_each_entry(tx, &rk->conn.tx, list)
		tx->status = -ECANCELED;
	rnic_sq_sent(rk->qp, &rk->conn.tx);
	INIT_LIST_HEAD(&rk->conn.tx);
	rnic_qp_over(rk->qp);
}

/*
 * A fast registration from RK_IOVA on, of @nr blocks that are not adjacent; the
 * first octet is 16 octets into the first block, the last 16 before the end.
 */
void rk_mr(struct rnic_kunit *rk, u32 block, u32 nr, int access)
{
	struct scatterlist sg[32];
	struct ib_mr *ib;
	u32 i;

	KUNIT_ASSERT_LE(rk->test, nr, ARRAY_SIZE(sg));
	/* A multiple of the block, and each second block is not in the list */
	rk->mem = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
					 get_order(2 * nr * block));
	KUNIT_ASSERT_NOT_NULL(rk->test, rk->mem);
	ib = rnic_alloc_mr(&rk->pd, IB_MR_TYPE_MEM_REG, nr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(rk->test, ib);
	rk->mr = to_mr(ib);
	sg_init_table(sg, nr);
	for (i = 0; i < nr; i++) {
		u32 from = i ? 0 : 16;

		/* Backwards */
		sg_dma_address(sg + i) = (uintptr_t)rk->mem + from +
					 2 * (nr - 1 - i) * block;
		sg_dma_len(sg + i) = block - from - (i == nr - 1 ? 16 : 0);
	}
	ib->page_size = block;
	KUNIT_ASSERT_EQ(rk->test, nr, rnic_map_mr_sg(ib, sg, nr, NULL));
	ib->iova = RK_IOVA;
	KUNIT_ASSERT_EQ(rk->test, 0, rnic_mr_register(&rk->pd, ib,
						      ib->rkey | 1, access));
}

/* A user that was forgotten would be waited for. */
void rk_mr_free(struct rnic_kunit *rk, struct rnic_mr *mr)
{
	int users = atomic_read(&mr->users);

	KUNIT_EXPECT_EQ(rk->test, mr->valid ? 1 : 0, users);
	if (users > mr->valid)
		return;
	if (mr == rk->mr)
		free_pages((unsigned long)rk->mem,
			   get_order(2 * mr->max_blocks * mr->ib.page_size));
	rnic_dereg_mr(&mr->ib, NULL);
}

int rk_post_recv(struct rnic_kunit *rk, void *to, u32 len)
{
	struct ib_sge sge = { .addr = (uintptr_t)to, .length = len };
	struct ib_recv_wr wr = {
		.wr_id		= ++rk->wr_id,
		.sg_list	= &sge,
		.num_sge	= len ? 1 : 0,
	};
	const struct ib_recv_wr *bad;

	if (rk->srq)
		return rnic_post_srq_recv(&rk->srq->ib, &wr, &bad);
	return rnic_post_recv(&rk->qp->ib, &wr, &bad);
}

/* A ULPDU of the peer, in two fragments */
void rk_recv(struct rnic_kunit *rk, const u8 *octets, u32 len)
{
	struct kvec frag[2] = {
		{ (void *)octets, len / 3 },
		{ (void *)octets + len / 3, len - len / 3 },
	};
	struct mpa_ulpdu ulpdu = { .len = len, .nr_frags = 2, .frag = frag };
	struct mpa_rx rx = { .ulpdu = &ulpdu, .nr = 1, .delivered = 1 };

	rnic_rx_recv(rk->qp, &rk->conn, &rx);
}

/* A ULPDU of up to @max octets of a message with a template, as MPA cuts it */
static u32 rk_cut(struct rnic_kunit *rk, struct mpa_tx *tx, u32 max, u8 *octets)
{
	const struct mpa_template *t = tx->template;
	u8 *count = octets + t->count_at;
	u32 room = max - tx->hdr_len;
	u32 len;

	if (tx->len <= room && !(tx->state & RK_WHOLE) && !tx->next(tx, max))
		tx->state |= RK_WHOLE;
	len = min(tx->len, room);
	if (len == tx->len && tx->state & RK_WHOLE)
		tx->state |= RK_OVER;
	if (!tx->hdr_len)
		return 0;
	memcpy(octets, tx->hdr, tx->hdr_len);
	if (t->count_size == 8)
		put_unaligned_be64(get_unaligned_be64(count) + tx->end, count);
	else
		put_unaligned_be32(get_unaligned_be32(count) + tx->end, count);
	if (tx->state & RK_OVER)
		*octets |= t->last;
	if (len)
		KUNIT_EXPECT_EQ(rk->test, len,
				copy_from_iter(octets + tx->hdr_len, len,
					       &tx->data));
	tx->end += len;
	tx->len -= len;
	return tx->hdr_len + len;
}

/*
 * One ULPDU of up to @max octets of the oldest message. Returns its length; 0:
 * the message is over.
 */
u32 rk_pull(struct rnic_kunit *rk, u32 max, u8 *octets)
{
	struct mpa_tx *tx = list_first_entry(&rk->conn.tx, struct mpa_tx, list);

	KUNIT_ASSERT_FALSE(rk->test, list_empty(&rk->conn.tx));
	if (tx->state & RK_OVER)
		return 0;
	if (tx->flags & MPA_TX_TEMPLATE)
		return rk_cut(rk, tx, max, octets);
	if (!tx->next || !tx->next(tx, max))
		tx->state = RK_OVER;
	KUNIT_EXPECT_LE(rk->test, tx->hdr_len + tx->len, max);
	memcpy(octets, tx->hdr, tx->hdr_len);
	if (tx->len)
		KUNIT_EXPECT_EQ(rk->test, tx->len,
				copy_from_iter(octets + tx->hdr_len, tx->len,
					       &tx->data));
	return tx->hdr_len + tx->len;
}

/* MPA has sent the oldest message, or has not. */
void rk_hand_back(struct rnic_kunit *rk, int status)
{
	struct mpa_tx *tx = list_first_entry(&rk->conn.tx, struct mpa_tx, list);
	LIST_HEAD(done);
	u8 octets[256];

	while (!status && rk_pull(rk, sizeof(octets), octets))
		;
	KUNIT_ASSERT_FALSE(rk->test, list_empty(&rk->conn.tx));
	tx->status = status;
	list_move(&tx->list, &done);
	rnic_sq_sent(rk->qp, &done);
}

/* The completions: numbers of the requests, with a letter if they failed */
const char *rk_polled(struct rnic_kunit *rk)
{
	static const char letter[IB_WC_GENERAL_ERR + 1] = {
		[IB_WC_LOC_LEN_ERR]	= 'l',
		[IB_WC_LOC_QP_OP_ERR]	= 'o',
		[IB_WC_LOC_PROT_ERR]	= 'p',
		[IB_WC_WR_FLUSH_ERR]	= 'f',
		[IB_WC_REM_INV_REQ_ERR]	= 'i',
		[IB_WC_REM_ACCESS_ERR]	= 'r',
	};
	struct ib_wc *wc = &rk->wc;
	int len = 0;
	u8 opcode;

	rk->said[0] = '\0';
	while (rnic_poll_cq(&rk->cq.ib, 1, wc)) {
		len += scnprintf(rk->said + len, sizeof(rk->said) - len,
				 "%s%llu", len ? " " : "", wc->wr_id);
		if (wc->status)
			len += scnprintf(rk->said + len, sizeof(rk->said) - len,
					 "%c", letter[wc->status] ?: '?');
		KUNIT_EXPECT_PTR_EQ(rk->test, wc->qp, &rk->qp->ib);
		opcode = rk->opcode[wc->wr_id % ARRAY_SIZE(rk->opcode)];
		if (opcode && !wc->status)
			KUNIT_EXPECT_EQ(rk->test, opcode, 1 + wc->opcode);
	}
	return rk->said;
}

u64 rk_stat(struct rnic_kunit *rk, enum rnic_stat stat)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(rk->dev->stats, cpu)->n[stat];
	return sum;
}

char *mpa_row = "*";
module_param_named(row, mpa_row, charp, 0444);
MODULE_PARM_DESC(row, "pattern for the rows of tables to be run");

MODULE_DESCRIPTION("KUnit tests of the RDMA device on MPA");
MODULE_LICENSE("Dual BSD/GPL");
