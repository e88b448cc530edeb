// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Rings of user space, and completion queues */
#include "rnic_kunit.h"

#define RING	4

/* An entry that an application has written before the one in front of it */
static void hole_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct rnic_queue *sq, *rq;
	struct siw_sqe sqe;
	struct siw_rqe rqe;

	rk_qp(rk, RING);
	sq = &rk->qp->sq.q;
	rq = &rk->qp->rq;
	sq->sqe[1].flags = SIW_WQE_VALID;
	rq->rqe[1].flags = SIW_WQE_VALID;
	spin_lock_irq(&sq->lock);
	KUNIT_EXPECT_FALSE(test, rnic_sqe_take(sq, &sqe));
	spin_unlock_irq(&sq->lock);
	spin_lock_irq(&rq->lock);
	KUNIT_EXPECT_FALSE(test, rnic_rqe_take(rq, &rqe));
	spin_unlock_irq(&rq->lock);
}

struct wild_row {
	const char	*desc;
	struct siw_sqe	sqe;	/* without flags: a receive request */
	const char	*want;
	bool		lkey;	/* the elements' lkey is the region's */
};

#define WILD(what...) .sqe = { .id = 7, .flags = SIW_WQE_VALID, what }
#define RECV(what...) .sqe = { .id = 7, what }

static const struct wild_row wild_rows[] = {
	{ "Send", WILD(.opcode = SIW_OP_SEND, .num_sge = 1,
		       .sge = { { RK_IOVA, 8 } }), "", true },
	{ "no element", WILD(.opcode = SIW_OP_SEND), "" },
	{ "6 elements", WILD(.opcode = SIW_OP_WRITE, .num_sge = 6), "" },
	{ "7 elements", WILD(.opcode = SIW_OP_SEND, .num_sge = 7), "7o" },
	{ "255 elements", WILD(.opcode = SIW_OP_WRITE, .num_sge = 255), "7o" },
	{ "Read with 2 elements", WILD(.opcode = SIW_OP_READ, .num_sge = 2),
	  "7o" },
	{ "Read with 255", WILD(.opcode = SIW_OP_READ, .num_sge = 255), "7o" },
	{ "opcode 255", WILD(.opcode = 255), "7o" },
	{ "opcode past the last", WILD(.opcode = SIW_NUM_OPCODES), "7o" },
	{ "immediate data", WILD(.opcode = SIW_OP_SEND_WITH_IMM), "7o" },
	{ "atomic", WILD(.opcode = SIW_OP_COMP_AND_SWAP), "7o" },
	{ "receive", WILD(.opcode = SIW_OP_RECEIVE), "7o" },
	{ "Read Response", WILD(.opcode = SIW_OP_READ_RESPONSE), "7o" },
	{ "REG_MR", WILD(.opcode = SIW_OP_REG_MR, .base_mr = 0xdead), "7o" },
	{ "LOCAL_INV", WILD(.opcode = SIW_OP_INVAL_STAG), "7o" },
	{ "unknown lkey", WILD(.opcode = SIW_OP_SEND, .num_sge = 1,
			       .sge = { { RK_IOVA, 8, 0x77777777 } }), "7p" },
	{ "the kernel's lkey", WILD(.opcode = SIW_OP_SEND, .num_sge = 1,
				    .sge = { { RK_IOVA, 8, 0 } }), "7p" },
	{ "the kernel's lkey, Read", WILD(.opcode = SIW_OP_READ, .num_sge = 1,
					  .sge = { { RK_IOVA, 8, 0 } }), "7p" },
	{ "length past the end", WILD(.opcode = SIW_OP_SEND, .num_sge = 1,
				      .sge = { { RK_IOVA, PAGE_SIZE } }),
	  "7p", true },
	{ "address that wraps", WILD(.opcode = SIW_OP_SEND, .num_sge = 1,
				     .sge = { { -4, 8 } }), "7p", true },
	{ "lengths that wrap", WILD(.opcode = SIW_OP_SEND, .num_sge = 2,
				    .sge = { { RK_IOVA, 8 },
					     { RK_IOVA, -8U } }), "7l", true },
	{ "Read without right", WILD(.opcode = SIW_OP_READ, .num_sge = 1,
				     .sge = { { RK_IOVA, 8 } }), "7p", true },
	{ "inline", .sqe = { .id = 7, .flags = SIW_WQE_VALID | SIW_WQE_INLINE,
			     .opcode = SIW_OP_SEND, .num_sge = 255,
			     .sge = { { 0, 80 } } }, "" },
	{ "inline 81", .sqe = { .id = 7,
				.flags = SIW_WQE_VALID | SIW_WQE_INLINE,
				.opcode = SIW_OP_SEND, .num_sge = 1,
				.sge = { { 0, 81 } } }, "7l" },
	{ "inline 2^32 - 1", .sqe = { .id = 7,
				      .flags = SIW_WQE_VALID | SIW_WQE_INLINE,
				      .opcode = SIW_OP_WRITE, .num_sge = 1,
				      .sge = { { 0, U32_MAX } } }, "7l" },
	{ "inline Read", .sqe = { .id = 7,
				  .flags = SIW_WQE_VALID | SIW_WQE_INLINE,
				  .opcode = SIW_OP_READ, .num_sge = 1,
				  .sge = { { 0, 8 } } }, "7l" },
	{ "all flags", .sqe = { .id = 7, .flags = 0xffff,
				.opcode = SIW_OP_REG_MR, .base_mr = 0xdead },
	  "7o" },
	{ "receive, 7 elements", RECV(.num_sge = 7), "7o" },
	{ "receive, 255 elements", RECV(.num_sge = 255), "7o" },
	{ "receive, unknown lkey", RECV(.num_sge = 1,
					.sge = { { RK_IOVA, 8, 1 } }), "7p" },
	{ "receive, the kernel's lkey", RECV(.num_sge = 1,
					     .sge = { { RK_IOVA, 8, 0 } }),
	  "7p" },
	{ "receive, no right", RECV(.num_sge = 1, .sge = { { RK_IOVA, 8 } }),
	  "7p", true },
	{ "receive, lengths that wrap", RECV(.num_sge = 2,
					     .sge = { { RK_IOVA, 8 },
						      { RK_IOVA, -8U } }),
	  "7p", true },
	{ "receive, no element", RECV(.num_sge = 0), "7l" },
};

MPA_ROWS(wild, wild_rows);

/* A wrong entry moves its QP to ERR, with a Terminate, and nothing else. */
static void wild_test(struct kunit *test)
{
	static const u8 a_send[19] = { 0x41, 0x43, [13] = 1 };
	const struct wild_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	const struct ib_send_wr *bad;
	struct siw_sqe sqe = row->sqe;
	struct rnic_qp *qp;
	u8 octets[256];
	int i;

	rk_mr(rk, PAGE_SIZE, 1, 0);
	rk_qp(rk, RING);
	qp = rk->qp;
	qp->kernel = false;
	rk_up(rk, 1, 1);
	for (i = 0; row->lkey && i < 2; i++)
		sqe.sge[i].lkey = rk->mr->stag;
	if (sqe.flags) {
		qp->sq.q.sqe[0] = sqe;
		KUNIT_EXPECT_EQ(test, 0, rnic_post_send(&qp->ib, NULL, &bad));
		KUNIT_EXPECT_EQ(test, 1, rk->conn.nows);
		KUNIT_EXPECT_EQ(test, 0, rk->conn.refs);
		rnic_sq_run(qp);
		KUNIT_EXPECT_EQ(test, 0, qp->sq.q.sqe[0].flags);
		/* The application writes to the entry: too late */
		memset(qp->sq.q.sqe, 0xff, sizeof(sqe));
		qp->sq.q.sqe[0].flags = 0;
	} else {
		qp->rq.rqe[0].id = sqe.id;
		qp->rq.rqe[0].num_sge = sqe.num_sge;
		memcpy(qp->rq.rqe[0].sge, sqe.sge, sizeof(sqe.sge));
		qp->rq.rqe[0].flags = SIW_WQE_VALID;
		rk_recv(rk, a_send, sizeof(a_send));
	}
	KUNIT_EXPECT_EQ(test, 1, rk->conn.posted);
	if (*row->want) {
		KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_ERR);
		KUNIT_EXPECT_GE(test, rk_pull(rk, sizeof(octets), octets), 22);
		KUNIT_EXPECT_EQ(test, octets[1], 0x47);
		rk_over(rk);
	} else {
		KUNIT_EXPECT_EQ(test, qp->state, IB_QPS_RTS);
		KUNIT_EXPECT_EQ(test, rk_pull(rk, sizeof(octets), octets),
				(sqe.opcode == SIW_OP_WRITE ? 14 : 18) +
				(sqe.num_sge ? sqe.sge[0].length : 0));
		rk_hand_back(rk, 0);
	}
	/* Completions of user space have no pointer. */
	for (i = 0; i < rk->cq.put; i++)
		rk->cq.ring[i].base_qp = &qp->ib;
	KUNIT_EXPECT_STREQ(test, row->want, rk_polled(rk));
}

/* Completion queues */

static void complete_one(struct rnic_kunit *rk, u64 id, u16 status, bool se)
{
	struct siw_cqe cqe = { .id = id, .opcode = SIW_OP_SEND,
			       .status = status };

	if (rnic_cq_add(&rk->cq, rk->qp, &cqe, se))
		rnic_cq_notify(&rk->cq);
}

/*
 * It is full: one event, and what is in it stays. Then it goes on, but the QP
 * whose completion is lost is in ERR.
 */
static void overrun_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	int i;

	rk_qp(rk, RING);
	rk_up(rk, 1, 1);
	rk->cq.put = -3;
	rk->cq.get = -3;
	for (i = 1; i <= 16; i++)
		complete_one(rk, i, SIW_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, 0, rk->async[IB_EVENT_CQ_ERR]);
	rnic_sq_run(rk->qp);
	KUNIT_EXPECT_EQ(test, IB_QPS_RTS, rk->qp->state);
	complete_one(rk, 17, SIW_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, 1, rk->async[IB_EVENT_CQ_ERR]);
	KUNIT_EXPECT_EQ(test, 1, rk->conn.kicks);
	rnic_sq_run(rk->qp);
	KUNIT_EXPECT_EQ(test, IB_QPS_ERR, rk->qp->state);
	KUNIT_EXPECT_EQ(test, 1, rk->async[IB_EVENT_QP_FATAL]);
	complete_one(rk, 18, SIW_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, 1, rk->async[IB_EVENT_CQ_ERR]);
	KUNIT_EXPECT_STREQ(test, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
			   rk_polled(rk));
	KUNIT_EXPECT_EQ(test, 1, rk_stat(rk, RNIC_STAT_CQ_OVERRUN));
	complete_one(rk, 19, SIW_WC_WR_FLUSH_ERR, false);
	KUNIT_EXPECT_STREQ(test, "19f", rk_polled(rk));
	KUNIT_EXPECT_STREQ(test, "", rk_polled(rk));
}

/*
 * A QP goes, and with it its completions in the queue, since its consumer may
 * free the requests that they name. Those of other QPs stay, in order.
 */
static void gone_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct rnic_qp *qp[2];
	int i;

	for (i = 0; i < 2; i++) {
		rk_qp(rk, RING);
		qp[i] = rk->qp;
	}
	rk->cq.put = -3;
	rk->cq.get = -3;
	for (i = 1; i <= 9; i++) {
		rk->qp = qp[i % 3 > 0];
		complete_one(rk, i, SIW_WC_SUCCESS, false);
	}
	rk->qp = qp[1];
	rnic_destroy_qp(&qp[0]->ib, NULL);
	KUNIT_EXPECT_STREQ(test, "1 2 4 5 7 8", rk_polled(rk));
	for (i = 1; i <= 16; i++)
		complete_one(rk, i, SIW_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, 0, rk->async[IB_EVENT_CQ_ERR]);
	KUNIT_EXPECT_STREQ(test, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
			   rk_polled(rk));
}

/* Completions that destroy_qp() itself writes, of one receive request */
static u32 destroy_completes(struct rnic_kunit *rk, bool kernel, bool going)
{
	rk_qp(rk, RING);
	rk_up(rk, 1, 1);
	KUNIT_EXPECT_EQ(rk->test, 0, rk_post_recv(rk, NULL, 0));
	rk->qp->kernel = kernel;
	rk->dev->going = going;
	rk->qp->dead = true;
	rk_over(rk);
	rk->qp->kernel = true;
	return rk->cq.put - rk->cq.get;
}

/* What destroy_qp() itself flushes completes no more. */
static void gone_up_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;

	KUNIT_EXPECT_EQ(test, 0, destroy_completes(rk, true, false));
	KUNIT_EXPECT_STREQ(test, "", rk_polled(rk));
}

/* But an application that polls learns that the device goes. */
static void gone_device_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;

	KUNIT_EXPECT_EQ(test, 1, destroy_completes(rk, false, true));
}

struct arm_row {
	const char			*desc;
	int				flags;	/* 0: not armed */
	bool				solicited;
	u16				status;
	bool				before;	/* one is there already */
	bool				want;
	int				missed;
};

#define MISSED	IB_CQ_REPORT_MISSED_EVENTS

static const struct arm_row arm_rows[] = {
	{ "not armed", 0, true },
	{ "next", IB_CQ_NEXT_COMP, false, .want = true },
	{ "next, solicited", IB_CQ_NEXT_COMP, true, .want = true },
	{ "solicited, plain", IB_CQ_SOLICITED, false },
	{ "solicited, solicited", IB_CQ_SOLICITED, true, .want = true },
	{ "solicited, error", IB_CQ_SOLICITED, false, SIW_WC_WR_FLUSH_ERR,
	  .want = true },
	{ "none missed", IB_CQ_NEXT_COMP | MISSED, false, .want = true },
	{ "missed", IB_CQ_NEXT_COMP | MISSED, false, .before = true,
	  .want = true, .missed = 1 },
	{ "missed, solicited", IB_CQ_SOLICITED | MISSED, false, .before = true,
	  .missed = 1 },
	{ "missed, not asked", IB_CQ_NEXT_COMP, false, .before = true,
	  .want = true },
};

MPA_ROWS(arm, arm_rows);

static void arm_test(struct kunit *test)
{
	const struct arm_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;

	rk_qp(rk, RING);
	if (row->before)
		complete_one(rk, 1, 0, true);
	if (row->flags)
		KUNIT_EXPECT_EQ(test, row->missed,
				rnic_req_notify_cq(&rk->cq.ib, row->flags));
	KUNIT_EXPECT_EQ(test, 0, rk->notified);
	complete_one(rk, 2, row->status, row->solicited);
	KUNIT_EXPECT_EQ(test, row->want, rk->notified);
	/* Once; what it is still armed for is solicited */
	complete_one(rk, 3, 0, true);
	KUNIT_EXPECT_EQ(test, row->want || row->flags, rk->notified);
	complete_one(rk, 4, SIW_WC_WR_FLUSH_ERR, true);
	KUNIT_EXPECT_EQ(test, row->want || row->flags, rk->notified);
}

static int srq_modify(struct rnic_kunit *rk, u32 limit,
		      enum ib_srq_attr_mask mask)
{
	struct ib_srq_attr attr = { .max_wr = 2 * RING, .srq_limit = limit };

	return rnic_modify_srq(&rk->srq->ib, &attr, mask, NULL);
}

/* The owner is told once that fewer requests than the limit are left. */
static void srq_limit_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	const unsigned int *told = rk->async + IB_EVENT_SRQ_LIMIT_REACHED;
	struct ib_srq_attr attr;
	struct siw_rqe rqe;
	u32 i;

	rk_srq(rk, RING);
	KUNIT_ASSERT_EQ(test, 0, rnic_query_srq(&rk->srq->ib, &attr));
	KUNIT_EXPECT_EQ(test, 0, attr.srq_limit);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, srq_modify(rk, 2, IB_SRQ_MAX_WR));
	KUNIT_EXPECT_EQ(test, -EINVAL, srq_modify(rk, RING + 1, IB_SRQ_LIMIT));
	KUNIT_EXPECT_EQ(test, 0, srq_modify(rk, 2, IB_SRQ_LIMIT));
	KUNIT_ASSERT_EQ(test, 0, rnic_query_srq(&rk->srq->ib, &attr));
	KUNIT_EXPECT_EQ(test, RING, attr.max_wr);
	KUNIT_EXPECT_EQ(test, 1, attr.max_sge);
	KUNIT_EXPECT_EQ(test, 2, attr.srq_limit);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 0, rk_post_recv(rk, NULL, 0));
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, rnic_srq_take(rk->srq, &rqe));
		KUNIT_EXPECT_EQ(test, i > 0, *told);
	}
	rnic_query_srq(&rk->srq->ib, &attr);
	KUNIT_EXPECT_EQ(test, 0, attr.srq_limit);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(hole_test),
	KUNIT_CASE_PARAM(wild_test, wild_gen_params),
	KUNIT_CASE(overrun_test),
	KUNIT_CASE(gone_test),
	KUNIT_CASE(gone_up_test),
	KUNIT_CASE(gone_device_test),
	KUNIT_CASE_PARAM(arm_test, arm_gen_params),
	KUNIT_CASE(srq_limit_test),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "mpa_rnic_ring",
	.init = rk_init,
	.exit = rk_exit,
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
