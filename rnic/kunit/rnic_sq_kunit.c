// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queues: order of starts and of completions, fences, ORD, flush */
#include "rnic_kunit.h"

#define SQ_SIZE	4

static int post(struct rnic_kunit *rk, char op)
{
	struct rnic_mr *mr = rk->mr;
	struct ib_sge sge = {
		.addr	= op == 'W' ? (uintptr_t)rk->mem : RK_IOVA,
		.length	= 8,
		.lkey	= op == 'X' ? 0x1234567 : op == 'W' ? 0 : mr->stag,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id		= ++rk->wr_id,
			.sg_list	= &sge,
			.num_sge	= 1,
			.opcode		= IB_WR_SEND,
			.send_flags	= op == 's' ? 0 : IB_SEND_SIGNALED,
		},
		.remote_addr	= 0x1000,
		.rkey		= 0x4711,
	};
	enum ib_wc_opcode completed = IB_WC_SEND;
	const struct ib_send_wr *bad;

	switch (op) {
	case 'W':
		wr.wr.opcode = IB_WR_RDMA_WRITE;
		completed = IB_WC_RDMA_WRITE;
		break;
	case 'R':
		wr.wr.opcode = IB_WR_RDMA_READ;
		completed = IB_WC_RDMA_READ;
		break;
	case 'V':
		wr.wr.opcode = IB_WR_RDMA_READ_WITH_INV;
		completed = IB_WC_RDMA_READ;
		break;
	case 'F':
		wr.wr.send_flags |= IB_SEND_FENCE;
		break;
	case 'I':
		wr.wr.opcode = IB_WR_LOCAL_INV;
		wr.wr.ex.invalidate_rkey = mr->stag;
		completed = IB_WC_LOCAL_INV;
		break;
	}
	rk->opcode[rk->wr_id % ARRAY_SIZE(rk->opcode)] = 1 + completed;
	return rnic_post_send(&rk->qp->ib, &wr.wr, &bad);
}

static void post_again(struct rnic_kunit *rk)
{
	rk->on_notify = NULL;
	KUNIT_EXPECT_EQ(rk->test, 0, post(rk, 'S'));
}

static void recv_again(struct rnic_kunit *rk)
{
	rk->on_notify = NULL;
	KUNIT_EXPECT_EQ(rk->test, 0, rk_post_recv(rk, NULL, 0));
}

/* The peer answers the oldest Read: half of it, or what is left. */
static void respond(struct rnic_kunit *rk, bool all)
{
	struct rnic_msg *msg = rnic_sq_oldest_read(rk->qp);
	struct rdmap_hdr hdr = {
		.last		= all,
		.tagged		= true,
		.ddp_version	= 1,
		.version	= 1,
		.opcode		= RDMAP_OP_RESPONSE,
	};
	u8 octets[32] = {};
	u32 len;

	KUNIT_ASSERT_NOT_NULL(rk->test, msg);
	hdr.stag = msg->sgl.sge[0].lkey;
	hdr.to = msg->sgl.sge[0].laddr + msg->responded;
	len = rdmap_hdr_write(octets, &hdr);
	rk_recv(rk, octets, len + (all ? 8 - msg->responded : 4));
}

/* A Send of two octets, or its first half */
static void send(struct rnic_kunit *rk, bool all)
{
	u8 octets[20] = { all ? 0x41 : 0x01, 0x43, [13] = 1 };

	rk_recv(rk, octets, sizeof(octets));
}

static void terminate(struct rnic_kunit *rk)
{
	static const u8 octets[22] = { 0x41, 0x47, [9] = 2, [13] = 1,
				       [18] = 0x11, [19] = 0x01 };

	rk_recv(rk, octets, sizeof(octets));
}

static int modify(struct rnic_kunit *rk, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return rnic_modify_qp(&rk->qp->ib, &attr, IB_QP_STATE, NULL);
}

static void to_error(struct rnic_kunit *rk)
{
	KUNIT_EXPECT_EQ(rk->test, 0, modify(rk, IB_QPS_ERR));
}

static enum ib_qp_state state_of(struct rnic_kunit *rk)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_EXPECT_EQ(rk->test, 0, rnic_query_qp(&rk->qp->ib, &attr,
						   IB_QP_STATE, &init));
	return attr.qp_state;
}

/*
 * A row's steps. Requests: S Send, s unsignalled, F fenced, W Write, R Read,
 * V Read that invalidates its sink, I LOCAL_INV of the sink of Reads, X Send
 * from an unknown STag; q receive, of 8 octets.
 *
 * . round of MPA's work item		t MPA has sent the oldest message
 * p it has taken all of it		T it has sent a part, and ends it
 * A each request is signalled		h half of the oldest Read's Response
 * r (rest of) that Response		b half a Send comes, B a whole one
 * x the peer's Terminate comes
 * c the connection comes up		! the connection ends
 * E modify_qp(ERR)			P post one more when notified; Q receive
 * k kicked since the last round	n not kicked
 * # no room in the ring		0..9 messages that MPA has had
 * d a FIN is due after what is posted	D it was sent, e not yet
 * L modify_qp(ERR) of one that has an endpoint: it leaves
 * C the peer's FIN has come
 * z the sink of Reads loses its right, or has it again
 * m the sink of Reads moves to another domain
 */
static void step(struct rnic_kunit *rk, char c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };
	struct kunit *test = rk->test;
	u8 octets[64];

	/* A verb calls no handler; all others stand for MPA. */
	rk->caller = NULL;
	if (strchr("EqdFILRSVWXs", c)) {
		rk->caller = current;
		rnic_req_notify_cq(&rk->cq.ib, IB_CQ_NEXT_COMP);
	}
	switch (c) {
	case '.':
		rk->conn.kicks = 0;
		rnic_sq_run(rk->qp);
		break;
	case 't':
		rk_hand_back(rk, 0);
		break;
	case 'p':
		rk_pull(rk, 64, octets);
		break;
	case 'A':
		rk->qp->sig_all = true;
		break;
	case 'T':
		rk_hand_back(rk, -ECANCELED);
		break;
	case 'h':
	case 'r':
		respond(rk, c == 'r');
		break;
	case 'b':
	case 'B':
		send(rk, c == 'B');
		break;
	case 'x':
		terminate(rk);
		break;
	case 'c':
		rk_up(rk, 1, rk->qp->ord);
		break;
	case '!':
		rk_over(rk);
		break;
	case 'E':
		to_error(rk);
		break;
	case 'L':
		rnic_qp_set_state(rk->qp, IB_QPS_ERR);
		KUNIT_EXPECT_TRUE(test, rnic_qp_leave(rk->qp));
		break;
	case 'P':
	case 'Q':
		rk->on_notify = c == 'P' ? post_again : recv_again;
		rnic_req_notify_cq(&rk->cq.ib, IB_CQ_NEXT_COMP);
		break;
	case 'q':
		KUNIT_EXPECT_EQ(test, 0, rk_post_recv(rk, rk->mem, 8));
		break;
	case 'k':
		KUNIT_EXPECT_GT(test, rk->conn.kicks, 0);
		break;
	case 'n':
		KUNIT_EXPECT_EQ(test, rk->conn.kicks, 0);
		break;
	case '#':
		KUNIT_EXPECT_EQ(test, -ENOMEM, post(rk, 'S'));
		rk->wr_id--;
		break;
	case 'd':
		KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(&rk->qp->ib, &attr,
							IB_QP_STATE, NULL));
		break;
	case 'C':
		rnic_sq_close(rk->qp);
		break;
	case 'D':
	case 'e':
		KUNIT_EXPECT_EQ(test, c == 'D', rk->conn.shutdowns);
		break;
	case 'z':
		rk->mr->access ^= IB_ACCESS_LOCAL_WRITE;
		break;
	case 'm':
		rk->mr->pd = &rk->other_pd;
		break;
	case '0' ... '9':
		KUNIT_EXPECT_EQ(test, c - '0', rk->conn.posted);
		break;
	default:
		KUNIT_EXPECT_EQ(test, 0, post(rk, c));
	}
	/* It flushes requests that are posted after the end. */
	rk_settle(rk);
}

struct row {
	const char	*desc;
	u32		ord;
	const char	*steps;
	const char	*want;	/* completions, see rk_polled() */
	bool		srq;
};

static const struct row rows[] = {
	{ "order", 1, "cSWS.3ttt", "1 2 3" },
	{ "unsignalled", 1, "cSsS.3ttt", "1 3" },
	{ "unsignalled last", 1, "cSs.2tt", "1" },
	{ "unsignalled on a QP that signals all", 1, "cAss.2tt", "1 2" },
	{ "no round, no start", 1, "cS0", "" },
	{ "sent one by one", 1, "cSSS.3t", "1" },
	{ "Read alone", 1, "cR.1tr", "1" },
	{ "Read in two segments", 1, "cR.1thr", "1" },
	{ "half a Response", 1, "cR.1th", "" },
	{ "Send waits for a Read", 1, "cRS.2tt", "" },
	{ "Send after a Read", 1, "cRS.2ttr", "1 2" },
	{ "unsignalled Read", 2, "cRsS.3tttr", "1 3" },
	{ "fence without a Read", 1, "cFF.2tt", "1 2" },
	{ "fence", 1, "cRF.1tn.1rk.2t", "1 2" },
	{ "fence waits for both", 2, "cRRF.2ttrk.2rk.3t", "1 2 3" },
	{ "fence is no fence for those before", 1, "cRSF.2ttrk.3t", "1 2 3" },
	{ "fence holds up those after", 1, "cRFS.1trk.3tt", "1 2 3" },
	{ "ORD 1", 1, "cRR.1t.1rk.2tr", "1 2" },
	{ "ORD 1, Send between", 1, "cRSR.2ttrk.3tr", "1 2 3" },
	{ "ORD 2", 2, "cRRR.2ttrk.3trr", "1 2 3" },
	{ "ORD 0", 0, "cS.pR.t!", "1 2o" },
	{ "ring of 4", 1, "cSSSS#.4ttttSS.6tt", "1 2 3 4 5 6" },
	{ "slots of 4", 1, "cSSSS.SS.4tk.5ttttk.6t", "1 2 3 4 5 6" },
	{ "LOCAL_INV", 1, "cI.0", "1" },
	{ "LOCAL_INV after a Send in MPA", 1, "cWI.1", "" },
	{ "LOCAL_INV, whose handler posts, after the peer's FIN", 1,
	  "cPIC.e!", "1 2f" },
	{ "LOCAL_INV, then sent", 1, "cWI.1t", "1 2" },
	{ "LOCAL_INV waits for its Send", 1, "cSI.1ntk.", "1 2" },
	{ "LOCAL_INV waits for its Read", 1, "cRIW.1tn.1rk.2t", "1 2 3" },
	{ "Read that invalidates its sink", 1, "cV.1trI.", "1 2" },
	{ "Read that cannot invalidate its sink, after a Read, before a Send",
	  2, "cRVS.3mtttrr!", "1 2p 3f" },
	{ "use after LOCAL_INV", 1, "cIS.!", "1 2p" },
	{ "Read after LOCAL_INV", 1, "cIR.!", "1 2p" },
	{ "error after a Send", 1, "cSXS.2T!", "1f 2p 3f" },
	{ "error after a Send that is sent", 1, "cS.pXS.t!", "1 2p 3f" },
	{ "error after a Read", 1, "cRXS.1t.rk.!", "1 2p 3f" },
	{ "error after a Read that is not answered", 1, "cRXS.1t.!",
	  "1f 2f 3f" },
	{ "error after unsignalled", 1, "cs.pX.t!", "2p" },
	{ "flush, not connected", 1, "E", "" },
	{ "flush of what comes after", 1, "ESsq", "1f 2f 3f" },
	{ "flush of receives, not connected", 1, "qqESq", "1f 2f 3f 4f" },
	{ "flush from the ring", 1, "cSsS!", "1f 2f 3f" },
	{ "flush in MPA", 1, "cSsS.3!", "1f 2f 3f" },
	{ "flush of one cut short", 1, "cSSS.tT!", "1 2f 3f" },
	{ "flush at a fence", 1, "cRFS.1t!", "1f 2f 3f" },
	{ "flush at ORD", 1, "cRRS.1t!", "1f 2f 3f" },
	{ "flush at LOCAL_INV", 1, "cSIS.1!", "1f 2f 3f" },
	{ "flush of a Read that has failed, and was tried again", 2,
	  "cR.1tzR.1z.2t!", "1f 2f" },
	{ "flush with half a Response", 1, "cR.1thS!", "1f 2f" },
	{ "flush with all slots full", 1, "cSSSS.SS.4!", "1f 2f 3f 4f 5f 6f" },
	{ "flush of done ones that wait", 1, "cRS.2tt!", "1f 2f" },
	{ "flush, then post", 1, "cS!SsS", "1f 2f 3f 4f" },
	{ "post while it flushes", 1, "cPS!", "1f 2f" },
	{ "post while a full ring is flushed", 1, "cPSSSS!", "1f 2f 3f 4f 5f" },
	{ "receives", 1, "cqqq!", "1f 2f 3f" },
	{ "receive while it flushes", 1, "cQqqqq!", "1f 2f 3f 4f 5f" },
	{ "receive under way", 1, "cqqb!q", "1f 2f 3f" },
	{ "both queues", 1, "cqSqS.!", "2f 4f 1f 3f" },
	{ "shared, under way", 1, "cqqb!", "1f", true },
	{ "shared, none under way", 1, "cqq!", "", true },
	{ "shared, not connected", 1, "qE", "", true },
	{ "shared, to error twice", 1, "qEE", "", true },
	{ "FIN at once", 1, "cd.D", "" },
	{ "FIN after a Send", 1, "cSd.1Dt", "1" },
	{ "FIN after a Read", 1, "cRd.1et.erk.D", "1" },
	{ "FIN after a fence", 1, "cRFd.1et.erk.2D", "1" },
	{ "no request after that", 1, "cSdSS.1Dt!", "1 2f 3f" },
	{ "nor while a Read is under way", 1, "cRSdS.2tteS.2r.2D!",
	  "1 2 3f 4f" },
	{ "nor from a full ring", 1, "cSSSSd.SS.4etttt.4D!",
	  "1 2 3 4 5f 6f" },
	{ "nor if an error follows at once", 1, "cSSdSL.2Dtt!", "1 2 3f" },
	{ "an error, no FIN before", 1, "cSL.0!", "1f" },
	{ "a Send comes after our FIN", 1, "cqd.DB", "1" },
	{ "peer's Terminate", 1, "cSS.2tx!", "1 2f" },
	{ "nothing is sent after it", 1, "cSx.0!S", "1f 2f" },
};

MPA_ROWS(row, rows);

static void order_test(struct kunit *test)
{
	const struct row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	const char *c;

	if (row->srq)
		rk_srq(rk, SQ_SIZE);
	rk_qp(rk, SQ_SIZE);
	rk_mr(rk, PAGE_SIZE, 1, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
	rnic_qp_set_state(rk->qp, IB_QPS_INIT);
	rk->qp->ord = row->ord;
	/* Numbers of entries and slots wrap */
	rk->qp->sq.q.get = -2;
	rk->qp->sq.q.put = -2;
	rk->qp->rq.get = -2;
	rk->qp->rq.put = -2;
	for (c = row->steps; *c; c++)
		step(rk, *c);
	KUNIT_EXPECT_STREQ(test, row->want, rk_polled(rk));
	KUNIT_EXPECT_EQ(test, row->srq,
			rk->async[IB_EVENT_QP_LAST_WQE_REACHED]);
	KUNIT_EXPECT_EQ(test, strchr(row->want, 'o') || strchr(row->want, 'p'),
			rk->async[IB_EVENT_QP_FATAL]);
	if (row->srq) {
		/* The next request is left for others */
		struct siw_rqe rqe;

		KUNIT_EXPECT_TRUE(test, rnic_srq_take(rk->srq, &rqe));
	}
}

/*
 * A Terminate of the peer with what follows its DDP header: the control field,
 * and the header that it repeats. By default that is of a Read Request.
 */
struct refusal_row {
	const char	*desc;
	u8		ctrl[3];
	u8		msn;
	const char	*want;
	u8		less;	/* octets of the header that are missing */
	u8		first;	/* octet of the header */
	u8		qn;
};

static const struct refusal_row refusal_rows[] = {
	{ "the first Read", { 0x01, 0x00, 0xe0 }, 1, "1r 2f 3f 4f" },
	{ "the second", { 0x01, 0x01, 0xe0 }, 2, "1f 2r 3f 4f" },
	{ "without RDMAP's header", { 0x01, 0x04, 0xc0 }, 2, "1f 2r 3f 4f" },
	{ "for another reason", { 0x01, 0xff, 0xe0 }, 1, "1r 2f 3f 4f" },
	{ "reserved bits", { 0x01, 0x02, 0xff }, 2, "1f 2r 3f 4f" },
	{ "one not sent yet", { 0x01, 0x00, 0xe0 }, 3, "1f 2f 3f 4f" },
	{ "one of before", { 0x01, 0x00, 0xe0 }, 0, "1f 2f 3f 4f" },
	{ "no header", { 0x01, 0x00 }, 1, "1f 2f 3f 4f", .less = 18 },
	{ "a header that no bit tells of", { 0x01, 0x00, 0x80 }, 1,
	  "1f 2f 3f 4f" },
	{ "no length", { 0x01, 0x00, 0x40 }, 1, "1f 2f 3f 4f" },
	{ "bits, and no header", { 0x01, 0x00, 0xe0 }, 1, "1f 2f 3f 4f",
	  .less = 18 },
	{ "bits alone", { 0x01, 0x00, 0xe0 }, 1, "1f 2f 3f 4f", .less = 20 },
	{ "header cut short", { 0x01, 0x00, 0xe0 }, 1, "1f 2f 3f 4f",
	  .less = 1 },
	{ "tagged header", { 0x01, 0x00, 0xe0 }, 1, "1f 2f 3f 4f",
	  .first = 0xc1 },
	{ "header of another queue", { 0x01, 0x00, 0xe0 }, 1, "1f 2f 3f 4f",
	  .qn = RDMAP_QN_TERMINATE },
	{ "an STag not to invalidate", { 0x01, 0x09, 0xc0 }, 1,
	  "1f 2f 3f 4f" },
	{ "local error", { 0x00, 0x00, 0xc0 }, 1, "1f 2f 3f 4f" },
	{ "too many Reads", { 0x12, 0x02, 0xc0 }, 1, "1f 2f 3f 4f" },
	/* It repeats the length as number. */
	{ "siw", { 0x10, 0x00, 0x07 }, 8, "1r 2f 3f 4f" },
	{ "siw, number of the second", { 0x10, 0x01, 0x07 }, 2, "1r 2f 3f 4f" },
	{ "siw, no length", { 0x10, 0x00, 0x02 }, 1, "1f 2f 3f 4f" },
	{ "siw, an STag not to invalidate", { 0x10, 0x09, 0x07 }, 1,
	  "1f 2f 3f 4f" },
};

MPA_ROWS(refusal, refusal_rows);

/*
 * A Read that the peer refuses completes with that, in its turn, and all other
 * requests as after any Terminate, the Send that was sent too. The last Read
 * waits for ORD.
 */
static void refusal_test(struct kunit *test)
{
	const struct refusal_row *row = test->param_value;
	u8 octets[18 + 6 + 18] = {
		0x41, 0x47, [9] = RDMAP_QN_TERMINATE, [13] = 1,
		[24] = row->first ?: 0x41, [25] = 0x41,
		[33] = row->qn ?: RDMAP_QN_READ, [37] = row->msn,
	};
	struct rnic_kunit *rk = test->priv;
	const char *c;

	memcpy(octets + 18, row->ctrl, sizeof(row->ctrl));
	rk_qp(rk, SQ_SIZE);
	rk_mr(rk, PAGE_SIZE, 1, IB_ACCESS_LOCAL_WRITE);
	rk->qp->ord = 2;
	for (c = "cRRSR.ttt"; *c; c++)
		step(rk, *c);
	rk_recv(rk, octets, sizeof(octets) - row->less);
	rk_over(rk);
	KUNIT_EXPECT_STREQ(test, row->want, rk_polled(rk));
}

/* rdma_destroy_qp() of kernel consumers drains first, connected or not. */
static void refuse_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;

	rk_qp(rk, SQ_SIZE);
	rk_mr(rk, PAGE_SIZE, 1, IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, -EINVAL, post(rk, 'S'));
	KUNIT_EXPECT_EQ(test, 0, rk_post_recv(rk, NULL, 0));
	rk->qp->kernel = false;
	rk_up(rk, 1, 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, post(rk, 'S'));
	KUNIT_EXPECT_EQ(test, -EINVAL, rk_post_recv(rk, NULL, 0));
	rk->qp->kernel = true;
	rk_over(rk);
	KUNIT_EXPECT_STREQ(test, "2f", rk_polled(rk));
}

struct post_row {
	const char		*desc;
	enum ib_wr_opcode	opcode;
	int			num_sge;
	int			flags;
	int			want;
	u32			len[2];	/* of the elements */
};

static const struct post_row post_rows[] = {
	{ "Read with one element", IB_WR_RDMA_READ, 1 },
	{ "Read without an element", IB_WR_RDMA_READ },
	{ "Read with two", IB_WR_RDMA_READ, 2, 0, -EINVAL },
	{ "Read that invalidates, with two", IB_WR_RDMA_READ_WITH_INV, 2, 0,
	  -EINVAL },
	{ "inline Read", IB_WR_RDMA_READ, 1, IB_SEND_INLINE, -EINVAL },
	{ "inline Read that invalidates", IB_WR_RDMA_READ_WITH_INV, 1,
	  IB_SEND_INLINE, -EINVAL },
	{ "Write with two", IB_WR_RDMA_WRITE, 2 },
	{ "inline Write", IB_WR_RDMA_WRITE, 1, IB_SEND_INLINE },
	{ "inline, two elements", IB_WR_SEND, 2, IB_SEND_INLINE, 0, { 3, 5 } },
	{ "80 octets inline", IB_WR_SEND, 2, IB_SEND_INLINE, 0, { 40, 40 } },
	{ "81 octets inline", IB_WR_SEND, 2, IB_SEND_INLINE, -EINVAL,
	  { 40, 41 } },
	{ "Send with 7", IB_WR_SEND, RNIC_MAX_SGE + 1, 0, -EINVAL },
	{ "Send with -1", IB_WR_SEND, -1, 0, -EINVAL },
	{ "opcode that iWARP does not have", IB_WR_ATOMIC_CMP_AND_SWP, 1, 0,
	  -EINVAL },
};

MPA_ROWS(post, post_rows);

/* A request of the kernel that no connection could execute is not posted. */
static void post_test(struct kunit *test)
{
	const struct post_row *row = test->param_value;
	u8 octets[128], want[128];
	struct ib_sge sge[RNIC_MAX_SGE + 1] = {
		{ (uintptr_t)octets, row->len[0] },
		{ (uintptr_t)octets + 64, row->len[1] },
	};
	struct rnic_kunit *rk = test->priv;
	struct ib_rdma_wr wr = {
		.wr = {
			.sg_list	= sge,
			.num_sge	= row->num_sge,
			.opcode		= row->opcode,
			.send_flags	= row->flags,
		},
	};
	const struct ib_send_wr *bad = NULL;
	struct siw_sqe *sqe;
	int i;

	for (i = 0; i < sizeof(octets); i++)
		octets[i] = i;
	rk_qp(rk, SQ_SIZE);
	rk_up(rk, 1, 1);
	KUNIT_EXPECT_EQ(test, row->want,
			rnic_post_send(&rk->qp->ib, &wr.wr, &bad));
	KUNIT_EXPECT_PTR_EQ(test, bad, row->want ? &wr.wr : NULL);
	KUNIT_EXPECT_EQ(test, !row->want, rnic_sqe_ready(&rk->qp->sq.q));
	if (row->want || !(row->flags & IB_SEND_INLINE))
		return;
	sqe = rk->qp->sq.q.sqe;
	memcpy(want, octets, row->len[0]);
	memcpy(want + row->len[0], octets + 64, row->len[1]);
	KUNIT_EXPECT_EQ(test, row->len[0] + row->len[1], sqe->sge[0].length);
	KUNIT_EXPECT_MEMEQ(test, (u8 *)&sqe->sge[1], want, sqe->sge[0].length);
}

struct recv_row {
	const char	*desc;
	int		num_sge;
	u32		before;	/* requests on the queue */
	bool		srq;
	int		want;
};

static const struct recv_row recv_rows[] = {
	{ "6 elements", RNIC_MAX_SGE },
	{ "7 elements", RNIC_MAX_SGE + 1, .want = -EINVAL },
	{ "-1 elements", -1, .want = -EINVAL },
	{ "the last that fits", 1, SQ_SIZE - 1 },
	{ "one more", 1, SQ_SIZE, .want = -ENOMEM },
	{ "to a QP with an SRQ", 1, .srq = true, .want = -EINVAL },
};

MPA_ROWS(recv, recv_rows);

/* The kernel's receive requests; those that were posted before are not lost. */
static void post_recv_test(struct kunit *test)
{
	const struct recv_row *row = test->param_value;
	struct ib_sge sge[RNIC_MAX_SGE + 1] = {};
	struct rnic_kunit *rk = test->priv;
	struct ib_recv_wr wr = { .sg_list = sge, .num_sge = row->num_sge };
	const struct ib_recv_wr *bad = NULL;
	u32 i;

	if (row->srq)
		rk_srq(rk, SQ_SIZE);
	rk_qp(rk, SQ_SIZE);
	for (i = 0; i < row->before; i++)
		KUNIT_ASSERT_EQ(test, 0, rk_post_recv(rk, NULL, 0));
	KUNIT_EXPECT_EQ(test, row->want,
			rnic_post_recv(&rk->qp->ib, &wr, &bad));
	KUNIT_EXPECT_PTR_EQ(test, bad, row->want ? &wr : NULL);
	if (row->before) {
		KUNIT_EXPECT_EQ(test, 1, rk->qp->rq.rqe[0].id);
		KUNIT_EXPECT_EQ(test, SQ_SIZE, rk->qp->rq.put);
	}
}

/* What query_qp() tells: the only port, its MTU, the depths settled by MPA */
static void depth_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	rk_qp(rk, SQ_SIZE);
	rk->conn.info.enhanced = true;
	rk->conn.info.ird = 3;
	rk->conn.info.ord = 2;
	rk_up(rk, 5, 4);
	KUNIT_EXPECT_EQ(test, 0, rnic_query_qp(&rk->qp->ib, &attr, 0, &init));
	KUNIT_EXPECT_EQ(test, 3, attr.max_dest_rd_atomic);
	KUNIT_EXPECT_EQ(test, 2, attr.max_rd_atomic);
	KUNIT_EXPECT_EQ(test, 1, attr.port_num);
	KUNIT_EXPECT_EQ(test, IB_MTU_4096, attr.path_mtu);
}

/*
 * A Reply to a peer that may send an RTR by RDMA Read says an IRD of 1, also
 * for an application that wants none: RFC 6581 section 9.2.
 */
static void rtr_depth_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;

	rk_qp(rk, SQ_SIZE);
	rk->conn.info.enhanced = true;
	rk->conn.info.ird = 1;
	rk_up(rk, 0, 0);
	KUNIT_EXPECT_EQ(test, 1, rk->qp->ird);
	/* The RTR's answer, and one more */
	KUNIT_EXPECT_EQ(test, 2, rk->qp->nr_responses);
}

/* A QP with an SRQ has no receive requests of its own. */
static void srq_query_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	rk_srq(rk, SQ_SIZE);
	rk_qp(rk, SQ_SIZE);
	KUNIT_EXPECT_EQ(test, 0, rnic_query_qp(&rk->qp->ib, &attr, 0, &init));
	KUNIT_EXPECT_EQ(test, SQ_SIZE, attr.cap.max_send_wr);
	KUNIT_EXPECT_EQ(test, 0, attr.cap.max_recv_wr);
	KUNIT_EXPECT_EQ(test, 0, attr.cap.max_recv_sge);
}

/* Only a connection moves a QP to RTS: what is posted after that is sent. */
static void modify_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;

	rk_qp(rk, SQ_SIZE);
	KUNIT_EXPECT_EQ(test, IB_QPS_INIT, state_of(rk));
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_RESET));
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_INIT));
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_RTR));
	KUNIT_EXPECT_EQ(test, -EINVAL, modify(rk, IB_QPS_RTS));
	KUNIT_EXPECT_EQ(test, -EINVAL, modify(rk, IB_QPS_SQD));
	KUNIT_EXPECT_EQ(test, IB_QPS_INIT, state_of(rk));
	rk_up(rk, 1, 1);
	KUNIT_EXPECT_EQ(test, IB_QPS_RTS, state_of(rk));
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_RTS));
	KUNIT_EXPECT_EQ(test, -EINVAL, modify(rk, IB_QPS_INIT));
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_SQD));
	KUNIT_EXPECT_EQ(test, IB_QPS_SQD, state_of(rk));
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_SQD));
	rk_over(rk);
	KUNIT_EXPECT_EQ(test, IB_QPS_ERR, state_of(rk));
	/* rdma_disconnect(), when the peer has been first */
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_SQD));
	KUNIT_EXPECT_EQ(test, IB_QPS_ERR, state_of(rk));
	KUNIT_EXPECT_EQ(test, -EINVAL, modify(rk, IB_QPS_RESET));
	KUNIT_EXPECT_EQ(test, -EINVAL, modify(rk, IB_QPS_RTS));
}

static int access_of(struct rnic_kunit *rk)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_EXPECT_EQ(rk->test, 0, rnic_query_qp(&rk->qp->ib, &attr,
						   IB_QP_ACCESS_FLAGS, &init));
	return attr.qp_access_flags;
}

/* A call that is refused changes nothing. */
static void modify_access_test(struct kunit *test)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.qp_access_flags = IB_ACCESS_REMOTE_READ,
	};
	struct rnic_kunit *rk = test->priv;
	struct ib_qp *ib;

	rk_qp(rk, SQ_SIZE);
	ib = &rk->qp->ib;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rnic_modify_qp(ib, &attr, IB_QP_STATE |
				       IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, 0, access_of(rk));
	KUNIT_EXPECT_EQ(test, 0,
			rnic_modify_qp(ib, &attr, IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_READ, access_of(rk));
	attr.qp_state = IB_QPS_INIT;
	attr.qp_access_flags = IB_ACCESS_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(ib, &attr, IB_QP_STATE |
						IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_WRITE, access_of(rk));
	attr.qp_access_flags = 0;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			rnic_modify_qp(ib, &attr, IB_QP_ACCESS_FLAGS |
				       IB_QP_CAP, NULL));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			rnic_modify_qp(ib, &attr, IB_QP_ACCESS_FLAGS |
				       IB_QP_EN_SQD_ASYNC_NOTIFY, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_WRITE, access_of(rk));
	rk_up(rk, 1, 1);
	attr.qp_state = IB_QPS_SQD;
	attr.qp_access_flags = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(ib, &attr, IB_QP_STATE |
						IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_READ, access_of(rk));
	attr.qp_access_flags = IB_ACCESS_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_qp(ib, &attr, IB_QP_STATE |
						IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_WRITE, access_of(rk));
	rk_over(rk);
	attr.qp_access_flags = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rnic_modify_qp(ib, &attr, IB_QP_STATE |
				       IB_QP_ACCESS_FLAGS, NULL));
	KUNIT_EXPECT_EQ(test, IB_ACCESS_REMOTE_WRITE, access_of(rk));
}

/* An application that goes on while its QP is flushed rings no doorbell. */
static void fill_again(struct rnic_kunit *rk)
{
	rk->on_notify = NULL;
	rk->qp->sq.q.sqe[0].id = SQ_SIZE + 1;
	rk->qp->sq.q.sqe[0].flags = SIW_WQE_VALID;
}

static void rest_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	int i;

	rk_qp(rk, SQ_SIZE);
	rk->qp->kernel = false;
	for (i = 0; i < SQ_SIZE; i++) {
		rk->qp->sq.q.sqe[i].id = i + 1;
		rk->qp->sq.q.sqe[i].flags = SIW_WQE_VALID;
	}
	rk->on_notify = fill_again;
	rnic_req_notify_cq(&rk->cq.ib, IB_CQ_NEXT_COMP);
	to_error(rk);
	rk_settle(rk);
	/* Completions of user space have no pointer. */
	for (i = 0; i < rk->cq.put; i++)
		rk->cq.ring[i].base_qp = &rk->qp->ib;
	KUNIT_EXPECT_STREQ(test, "1f 2f 3f 4f 5f", rk_polled(rk));
}

struct late_row {
	const char	*desc;
	bool		progress;	/* octets have moved */
	bool		fails;
	bool		long_ago;
	bool		want;		/* it leaves */
	bool		reads;		/* those of a Read Response */
	bool		over;		/* the connection has ended by then */
};

static const struct late_row late_rows[] = {
	{ "FIN, no progress", .want = true },
	{ "FIN, progress", .progress = true },
	{ "error, no progress", .fails = true, .want = true },
	{ "error, progress", .progress = true, .fails = true },
	{ "error long ago, progress", true, true, true, true },
	{ "FIN, a Read, progress", .progress = true, .reads = true },
	{ "FIN, a Read, no progress", .reads = true, .want = true },
	{ "over, progress", .progress = true, .over = true },
};

MPA_ROWS(late, late_rows);

/* Queued messages wait for the peer; after an error not for ever. */
static void late_test(struct kunit *test)
{
	const struct late_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	struct work_struct *work;
	struct mpa_rx rx = {};

	rk_qp(rk, SQ_SIZE);
	work = &rk->qp->timeout.work;
	rk_mr(rk, PAGE_SIZE, 1, IB_ACCESS_LOCAL_WRITE);
	rk_up(rk, 1, 1);
	KUNIT_ASSERT_EQ(test, 0, post(rk, row->reads ? 'R' : 'S'));
	KUNIT_ASSERT_EQ(test, 0, post(rk, 'S'));
	rnic_sq_run(rk->qp);
	if (row->fails)
		rnic_fail_request(rk->qp, &rk->conn);
	else
		KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_SQD));
	if (row->long_ago)
		rk->qp->failed_at -= 60 * HZ;
	if (row->progress && row->reads)
		rk->conn.info.rx_pos++;
	else if (row->progress)
		rk->conn.info.tx_pos++;
	/* In softirq, which run() need not follow */
	if (row->reads)
		rnic_rx_recv(rk->qp, &rk->conn, &rx);
	else
		rnic_sq_run(rk->qp);
	if (row->over)
		rnic_qp_down(rk->qp);
	rnic_qp_leave_cancel(rk->qp);
	refcount_inc(&rk->qp->refs);
	work->func(work);
	KUNIT_EXPECT_EQ(test, row->want, rk->qp->sq.leave);
	KUNIT_EXPECT_EQ(test, !row->want && !row->over,
			delayed_work_pending(&rk->qp->timeout));
}

#define MANY	200	/* requests, more than one round starts */

/* All requests from before modify_qp(SQD) start, in rounds; then it leaves. */
static void rounds_test(struct kunit *test)
{
	static const unsigned int started[] = { 64, 128, 192, MANY };
	struct rnic_kunit *rk = test->priv;
	int i;

	rk_qp(rk, 256);
	rk_mr(rk, PAGE_SIZE, 1, IB_ACCESS_LOCAL_WRITE);
	rk_up(rk, 1, 1);
	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_EQ(test, 0, post(rk, 's'));
	KUNIT_EXPECT_EQ(test, 0, modify(rk, IB_QPS_SQD));
	step(rk, 'L');
	for (i = 0; i < ARRAY_SIZE(started); i++) {
		rk->conn.kicks = 0;
		KUNIT_EXPECT_FALSE(test, rnic_sq_run(rk->qp));
		KUNIT_EXPECT_EQ(test, started[i], rk->conn.posted);
		KUNIT_EXPECT_GT(test, rk->conn.kicks, 0);
		KUNIT_EXPECT_EQ(test, started[i] == MANY, rk->conn.shutdowns);
	}
	/* A run() in softirq is no round: MPA need not have sent anything. */
	rk->conn.kicks = 0;
	local_bh_disable();
	KUNIT_EXPECT_FALSE(test, rnic_sq_run(rk->qp));
	local_bh_enable();
	KUNIT_EXPECT_GT(test, rk->conn.kicks, 0);
	KUNIT_EXPECT_TRUE(test, rnic_sq_run(rk->qp));
	for (i = 0; i < MANY; i++)
		rk_hand_back(rk, 0);
}

static struct kunit_case sq_cases[] = {
	KUNIT_CASE_PARAM(order_test, row_gen_params),
	KUNIT_CASE_PARAM(refusal_test, refusal_gen_params),
	KUNIT_CASE(modify_test),
	KUNIT_CASE(modify_access_test),
	KUNIT_CASE_PARAM(post_test, post_gen_params),
	KUNIT_CASE_PARAM(post_recv_test, recv_gen_params),
	KUNIT_CASE(depth_test),
	KUNIT_CASE(rtr_depth_test),
	KUNIT_CASE(srq_query_test),
	KUNIT_CASE(rest_test),
	KUNIT_CASE_PARAM(late_test, late_gen_params),
	KUNIT_CASE(refuse_test),
	KUNIT_CASE(rounds_test),
	{}
};

static struct kunit_suite sq_suite = {
	.name = "mpa_rnic_sq",
	.init = rk_init,
	.exit = rk_exit,
	.test_cases = sq_cases,
};

kunit_test_suite(sq_suite);
