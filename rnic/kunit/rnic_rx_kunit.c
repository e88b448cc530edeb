// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Segments of the peer on a connection: what is placed, and the Terminate that
 * RFC 5040 section 7.2 and RFC 5041 section 7.1 want for each fault.
 */
#include "rnic_kunit.h"

#define LEN	(PAGE_SIZE - 32)	/* of the region that the peer knows */

enum { NO_RIGHT = 1, OTHER_PD, BAD_STAG };

/*
 * A segment. @to counts from the region's start. The payload is @mo + 1, @mo +
 * 2 and so on, except that of a Read Request.
 */
struct seg {
	u8	op;
	bool	more;	/* not the last */
	u8	msn;
	u8	mo;
	u16	len;
	s64	to;
	u32	size;	/* that a Read Request asks for */
	u8	stag;	/* what is wrong with it */
};

struct row {
	const char	*desc;
	struct seg	seg[4];
	u8		want[3];	/* Terminate Control */
	u8		event;		/* async event */
	const char	*wcs;		/* completions, as rk_polled() */
	u8		responses;
	u8		reads;		/* under way, of 8 octets each */
	bool		rev0;		/* of MPA: version 0 of DDP and RDMAP */
};

/*
 * S: Send, W: RDMA Write, R: Read Request, A: Read Response (answer)
 * _MORE: not the last segment; _FROM: the payload begins with another octet;
 * _BAD: (s) is wrong with its STag
 */
#define S(n, o, l)	{ RDMAP_OP_SEND, .msn = (n), .mo = (o), .len = (l) }
#define S_MORE(n, o, l)	{ RDMAP_OP_SEND, true, (n), (o), (l) }
#define W(t, l)		{ RDMAP_OP_WRITE, .to = (t), .len = (l) }
#define W_MORE(t, l)	{ RDMAP_OP_WRITE, true, .to = (t), .len = (l) }
#define W_MORE_FROM(o, t, l) \
			{ RDMAP_OP_WRITE, true, .mo = (o), .to = (t), \
			  .len = (l) }
#define W_BAD(s)	{ RDMAP_OP_WRITE, .len = 8, .stag = (s) }
#define R(n, t, s)	{ RDMAP_OP_READ, .msn = (n), .len = RDMAP_READ_LEN, \
			  .to = (t), .size = (s) }
#define R_BAD(s)	{ RDMAP_OP_READ, .msn = 1, .len = RDMAP_READ_LEN, \
			  .size = 8, .stag = (s) }
#define A(t, l)		{ RDMAP_OP_RESPONSE, .to = (t), .len = (l) }
#define A_MORE(t, l)	{ RDMAP_OP_RESPONSE, true, .to = (t), .len = (l) }
#define A_FROM(o, t, l)	{ RDMAP_OP_RESPONSE, .mo = (o), .to = (t), .len = (l) }
#define RIGHTS		(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ)
#define ACCESS_ERR	IB_EVENT_QP_ACCESS_ERR
#define REQ_ERR		IB_EVENT_QP_REQ_ERR

static const struct row rows[] = {
	{ "Send", { S(1, 0, 20) }, .wcs = "1" },
	{ "Send without octets", { S(1, 0, 0) }, .wcs = "1" },
	{ "two Sends", { S(1, 0, 20), S(2, 0, 1) }, .wcs = "1 2" },
	{ "Send in three segments",
	  { S_MORE(1, 0, 7), S_MORE(1, 7, 8), S(1, 15, 5) }, .wcs = "1" },
	{ "Send begins with MSN 2", { S(2, 0, 1) }, { 0x12, 0x03, 0xc0 },
	  REQ_ERR, "" },
	{ "Send begins with MSN 0", { S(0, 0, 1) }, { 0x12, 0x03, 0xc0 },
	  REQ_ERR, "" },
	{ "MSN again", { S(1, 0, 1), S(1, 0, 1) }, { 0x12, 0x03, 0xc0 },
	  REQ_ERR, "1" },
	{ "MSN of a second segment", { S_MORE(1, 0, 1), S(2, 1, 1) },
	  { 0x12, 0x03, 0xc0 }, REQ_ERR, "1f" },
	{ "MO of a first segment", { S(1, 1, 1) }, { 0x12, 0x04, 0xc0 },
	  REQ_ERR, "" },
	{ "MO too small", { S_MORE(1, 0, 4), S(1, 3, 1) }, { 0x12, 0x04, 0xc0 },
	  REQ_ERR, "1f" },
	{ "MO too large", { S_MORE(1, 0, 4), S(1, 5, 1) }, { 0x12, 0x04, 0xc0 },
	  REQ_ERR, "1f" },
	{ "too long", { S(1, 0, 21) }, { 0x12, 0x05, 0xc0 }, REQ_ERR, "1l" },
	{ "second segment too long", { S_MORE(1, 0, 20), S(1, 20, 1) },
	  { 0x12, 0x05, 0xc0 }, REQ_ERR, "1l" },
	{ "no buffer", { S(1, 0, 1), S(2, 0, 1), S(3, 0, 1) },
	  { 0x12, 0x02, 0xc0 }, REQ_ERR, "1 2" },
	{ "invalidates", { { RDMAP_OP_SEND_INV, .msn = 1 } }, .wcs = "1" },
	{ "invalidates a wrong STag",
	  { { RDMAP_OP_SEND_INV, .msn = 1, .stag = BAD_STAG } },
	  { 0x01, 0x09, 0xc0 }, ACCESS_ERR, "1i" },
	{ "invalidates an STag of another domain",
	  { { RDMAP_OP_SEND_SE_INV, .msn = 1, .stag = OTHER_PD } },
	  { 0x01, 0x09, 0xc0 }, ACCESS_ERR, "1i" },
	{ "invalidates again",
	  { { RDMAP_OP_SEND_INV, .msn = 1 },
	    { RDMAP_OP_SEND_INV, .msn = 2 } },
	  { 0x01, 0x09, 0xc0 }, ACCESS_ERR, "1 2i" },
	{ "Write after it was invalidated",
	  { { RDMAP_OP_SEND_SE_INV, .msn = 1 }, W(0, 1) },
	  { 0x11, 0x00, 0xc0 }, ACCESS_ERR, "1" },
	{ "Write", { W(0, 8), W(LEN - 8, 8) }, .wcs = "" },
	{ "Write, not last", { W_MORE(0, 8) }, .wcs = "" },
	{ "Write without octets, wrong STag",
	  { { RDMAP_OP_WRITE, .stag = BAD_STAG } }, .wcs = "" },
	{ "Write, wrong STag", { W_BAD(BAD_STAG) }, { 0x11, 0x00, 0xc0 },
	  ACCESS_ERR, "" },
	{ "Write, no right", { W_BAD(NO_RIGHT) }, { 0x11, 0x00, 0xc0 },
	  ACCESS_ERR, "" },
	{ "Write, another domain", { W_BAD(OTHER_PD) }, { 0x11, 0x02, 0xc0 },
	  ACCESS_ERR, "" },
	{ "Write before the base", { W(-1, 8) }, { 0x11, 0x01, 0xc0 },
	  ACCESS_ERR, "" },
	{ "Write past the bound", { W(LEN - 7, 8) }, { 0x11, 0x01, 0xc0 },
	  ACCESS_ERR, "" },
	{ "Write that wraps", { W(-RK_IOVA - 4, 8) }, { 0x11, 0x03, 0xc0 },
	  ACCESS_ERR, "" },
	{ "Read Request", { R(1, 0, LEN) }, .wcs = "", .responses = 1 },
	{ "VN-03 VN-04 DD-06: Rev 0, Read Request", { R(1, 0, LEN) },
	  .wcs = "", .responses = 1, .rev0 = true },
	{ "VN-03 VN-04 DD-06: Rev 0, wrong STag", { W_BAD(BAD_STAG) },
	  { 0x11, 0x00, 0xc0 }, ACCESS_ERR, "", .rev0 = true },
	{ "IRD Read Requests", { R(1, 0, 1), R(2, 0, 0) }, .wcs = "",
	  .responses = 2 },
	{ "an RTR, and IRD Read Requests",
	  { R(1, 0, 0), R(2, 0, 1), R(3, 0, 1) }, .wcs = "", .responses = 3 },
	{ "Read Requests past IRD", { R(1, 0, 1), R(2, 0, 1), R(3, 0, 1) },
	  { 0x12, 0x02, 0xc0 }, REQ_ERR, "", 2 },
	{ "an RTR, and Read Requests past IRD",
	  { R(1, 0, 0), R(2, 0, 1), R(3, 0, 1), R(4, 0, 1) },
	  { 0x12, 0x02, 0xc0 }, REQ_ERR, "", 3 },
	{ "Read Request, MSN", { R(2, 0, 1) }, { 0x12, 0x03, 0xc0 }, REQ_ERR,
	  "" },
	{ "Read Request, MO",
	  { { RDMAP_OP_READ, .msn = 1, .mo = 1, .len = RDMAP_READ_LEN } },
	  { 0x12, 0x04, 0xc0 }, REQ_ERR, "" },
	{ "Read Request, 29 octets",
	  { { RDMAP_OP_READ, .msn = 1, .len = RDMAP_READ_LEN + 1 } },
	  { 0x12, 0x05, 0xc0 }, REQ_ERR, "" },
	{ "Read Request, 27 octets",
	  { { RDMAP_OP_READ, .msn = 1, .len = RDMAP_READ_LEN - 1 } },
	  { 0x02, 0xff, 0xc0 }, REQ_ERR, "" },
	{ "Read Request, not last",
	  { { RDMAP_OP_READ, true, .msn = 1, .len = RDMAP_READ_LEN } },
	  { 0x02, 0xff, 0xc0 }, REQ_ERR, "" },
	{ "Read of no octets, wrong STag",
	  { { RDMAP_OP_READ, .msn = 1, .len = RDMAP_READ_LEN,
	      .stag = BAD_STAG } }, .wcs = "", .responses = 1 },
	{ "Read, wrong STag", { R_BAD(BAD_STAG) }, { 0x01, 0x00, 0xe0 },
	  ACCESS_ERR, "" },
	{ "Read, no right", { R_BAD(NO_RIGHT) }, { 0x01, 0x02, 0xe0 },
	  ACCESS_ERR, "" },
	{ "Read, another domain", { R_BAD(OTHER_PD) }, { 0x01, 0x03, 0xe0 },
	  ACCESS_ERR, "" },
	{ "Read past the bound", { R(1, 1, LEN) }, { 0x01, 0x01, 0xe0 },
	  ACCESS_ERR, "" },
	{ "Read that wraps", { R(1, -RK_IOVA - 1, 2) }, { 0x01, 0x04, 0xe0 },
	  ACCESS_ERR, "" },
	{ "Response", { A(0, 8) }, .wcs = "1", .reads = 1 },
	{ "Response in two segments", { A_MORE(0, 3), A(3, 5) }, .wcs = "1",
	  .reads = 1 },
	{ "Response that nobody asked for", { A(0, 8) }, { 0x02, 0x06, 0xc0 },
	  REQ_ERR, "" },
	{ "Response again", { A(0, 8), A(0, 8) }, { 0x02, 0x06, 0xc0 },
	  REQ_ERR, "1", .reads = 1 },
	{ "Response too long", { A(0, 9) }, { 0x11, 0x01, 0xc0 }, ACCESS_ERR,
	  "1f", .reads = 1 },
	{ "Response too short", { A(0, 7) }, { 0x02, 0xff, 0xc0 }, REQ_ERR,
	  "1f", .reads = 1 },
	{ "Response too short, no octets in the last segment",
	  { A_MORE(0, 7), A(7, 0) }, { 0x02, 0xff, 0xc0 }, REQ_ERR, "1f",
	  .reads = 1 },
	{ "Response, L flag missing", { A_MORE(0, 8) }, .wcs = "", .reads = 1 },
	{ "Response, no octets in the last segment",
	  { A_MORE(0, 8), A(8, 0) }, .wcs = "1", .reads = 1 },
	{ "Response, octets after the last", { A_MORE(0, 8), A(8, 1) },
	  { 0x11, 0x01, 0xc0 }, ACCESS_ERR, "1f", .reads = 1 },
	{ "Response, L flag missing, then that of the next Read",
	  { A_MORE(0, 8), A(0, 8) }, { 0x11, 0x01, 0xc0 }, ACCESS_ERR, "1f 1f",
	  .reads = 2 },
	{ "Response, wrong STag",
	  { { RDMAP_OP_RESPONSE, .len = 8, .stag = BAD_STAG } },
	  { 0x11, 0x00, 0xc0 }, ACCESS_ERR, "1f", .reads = 1 },
	{ "Response to another place", { A(1, 8) }, { 0x11, 0x01, 0xc0 },
	  ACCESS_ERR, "1f", .reads = 1 },
	{ "Response, second segment again", { A_MORE(0, 4), A(0, 4) },
	  { 0x11, 0x01, 0xc0 }, ACCESS_ERR, "1f", .reads = 1 },
	{ "Terminate, not last",
	  { { RDMAP_OP_TERMINATE, true, .msn = 1, .len = 4 } },
	  { 0x02, 0xff, 0xc0 }, REQ_ERR, "" },
};

MPA_ROWS(row, rows);

/* A QP, a region that the peer knows, and a connection */
static void rk_begin(struct rnic_kunit *rk, int rights, u32 ird, u32 ord)
{
	rk_qp(rk, 4);
	rk_mr(rk, PAGE_SIZE, 1, rights);
	rk_up(rk, ird, ord);
}

static u32 stag_of(struct rnic_kunit *rk, const struct seg *seg)
{
	u32 stag = rk->mr->stag;

	return seg->stag == BAD_STAG ? stag ^ 0x80 : stag;
}

static u32 queue_of(const struct seg *seg)
{
	switch (seg->op) {
	case RDMAP_OP_READ:
		return RDMAP_QN_READ;
	case RDMAP_OP_TERMINATE:
		return RDMAP_QN_TERMINATE;
	default:
		return RDMAP_QN_SEND;
	}
}

/* The ULPDU of a segment; its payload tells the places of the octets. */
static u32 ulpdu(struct rnic_kunit *rk, const struct seg *seg, u8 *octets)
{
	struct rdmap_hdr hdr = {
		.last		= !seg->more,
		.tagged		= seg->op == RDMAP_OP_WRITE ||
				  seg->op == RDMAP_OP_RESPONSE,
		.ddp_version	= rk->qp->version,
		.version	= rk->qp->version,
		.opcode		= seg->op,
		.stag		= stag_of(rk, seg),
		.to		= RK_IOVA + seg->to,
		.qn		= queue_of(seg),
		.msn		= seg->msn,
		.mo		= seg->mo,
	};
	struct rdmap_read read = {
		.sink_stag	= 0x1234,
		.size		= seg->size,
		.source_stag	= hdr.stag,
		.source_to	= hdr.to,
	};
	u32 len = rdmap_hdr_write(octets, &hdr), i;

	for (i = 0; i < seg->len; i++)
		octets[len + i] = 1 + seg->mo + i;
	if (seg->op == RDMAP_OP_READ)
		rdmap_read_req_write(octets + len, &read);
	return len + seg->len;
}

static void read_start(struct rnic_kunit *rk)
{
	struct ib_sge sge = { RK_IOVA, 8, rk->mr->stag };
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED },
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(rk->test, 0,
			rnic_post_send(&rk->qp->ib, &wr.wr, &bad));
	rnic_sq_run(rk->qp);
	rk_hand_back(rk, 0);
	rk->conn.posted = 0;
}

static void expect_terminate(struct rnic_kunit *rk, const struct row *row,
			     const u8 *sent, u32 len)
{
	u32 hdr_len = row->want[2] & 0x20 ? 46 : sent[0] & 0x80 ? 14 : 18;
	struct kunit *test = rk->test;
	u8 octets[128];

	KUNIT_ASSERT_EQ(test, 18 + 6 + hdr_len, rk_pull(rk, 128, octets));
	KUNIT_EXPECT_EQ(test, octets[0], row->rev0 ? 0x40 : 0x41);
	KUNIT_EXPECT_EQ(test, octets[1], row->rev0 ? 0x07 : 0x47);
	KUNIT_EXPECT_EQ(test, octets[9], RDMAP_QN_TERMINATE);
	KUNIT_EXPECT_EQ(test, octets[13], 1);
	KUNIT_EXPECT_MEMEQ(test, octets + 18, row->want, 3);
	KUNIT_EXPECT_EQ(test, octets[22] << 8 | octets[23], len);
	KUNIT_EXPECT_MEMEQ(test, octets + 24, sent, hdr_len);
	KUNIT_EXPECT_EQ(test, 1, rk->conn.shutdowns);
	KUNIT_EXPECT_EQ(test, 0, rk->conn.aborts);
	KUNIT_EXPECT_EQ(test, rk->qp->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, 1, rk->async[row->event]);
	KUNIT_EXPECT_EQ(test, 1, rk_stat(rk, RNIC_STAT_TX_TERMINATE));
}

/* The Responses, in the versions of the connection; none after an error */
static void expect_responses(struct rnic_kunit *rk, const struct row *row,
			     bool bad)
{
	u8 octets[128];
	u32 i, len;

	for (i = 0; i < row->responses; i++) {
		len = rk_pull(rk, 128, octets);
		KUNIT_EXPECT_EQ(rk->test, bad, len < RDMAP_TAGGED_LEN);
		if (len) {
			KUNIT_EXPECT_EQ(rk->test, octets[0] & 3, !row->rev0);
			KUNIT_EXPECT_EQ(rk->test, octets[1],
					row->rev0 ? 0x02 : 0x42);
		}
		rk_hand_back(rk, 0);
	}
}

/* The last completion, which is of a Send that was received */
static void expect_received(struct rnic_kunit *rk, const struct seg *seg)
{
	bool inv = seg->op == RDMAP_OP_SEND_INV ||
		   seg->op == RDMAP_OP_SEND_SE_INV;

	KUNIT_EXPECT_EQ(rk->test, IB_WC_RECV, rk->wc.opcode);
	KUNIT_EXPECT_EQ(rk->test, inv ? IB_WC_WITH_INVALIDATE : 0,
			rk->wc.wc_flags);
	if (inv)
		KUNIT_EXPECT_EQ(rk->test, stag_of(rk, seg),
				rk->wc.ex.invalidate_rkey);
}

static void seg_test(struct kunit *test)
{
	const struct row *row = test->param_value;
	bool bad = row->want[0] || row->want[1], pd = false;
	struct rnic_kunit *rk = test->priv;
	int rights = RIGHTS;
	const struct seg *seg;
	u8 mem[2][24] = {};
	u8 octets[128];
	u32 len = 0, total = 0, i;

	for (seg = row->seg; seg < row->seg + 4; seg++) {
		if (seg->stag == NO_RIGHT)
			rights = seg->op == RDMAP_OP_READ ?
				 IB_ACCESS_REMOTE_WRITE : IB_ACCESS_REMOTE_READ;
		pd = pd || seg->stag == OTHER_PD;
	}
	if (row->rev0)
		rk->conn.info.rev = MPA_REV_0;
	rk_begin(rk, rights, 2, row->reads ?: 1);
	for (i = 0; i < row->reads; i++)
		read_start(rk);
	for (i = 0; i < 2 && !row->reads; i++)
		rk_post_recv(rk, mem[i], 20);
	if (pd)
		rk->mr->pd = &rk->other_pd;
	for (seg = row->seg; seg < row->seg + 4; seg++) {
		if (!seg->op && !seg->len && !seg->stag)
			break;
		KUNIT_EXPECT_FALSE(test, rk->qp->failed);
		len = ulpdu(rk, seg, octets);
		rk_recv(rk, octets, len);
		total = seg->mo + seg->len;
	}
	KUNIT_EXPECT_EQ(test, bad, rk->qp->failed);
	KUNIT_EXPECT_EQ(test, row->responses + bad, rk->conn.posted);
	expect_responses(rk, row, bad);
	/* The first octets of the region, and of the first receive */
	if (!bad && row->seg[0].len && row->seg[0].op != RDMAP_OP_READ)
		for (i = 0; i < (row->reads ? 8 : row->seg[0].len); i++)
			KUNIT_EXPECT_EQ(test, row->seg[0].op == RDMAP_OP_SEND ?
					mem[0][i] : rk->mem[16 + i],
					1 + (i < row->seg[0].len ? i :
					     i - row->seg[0].len));
	KUNIT_EXPECT_EQ(test, 0, mem[0][20]);
	/* A segment that is refused is not placed */
	if (bad && row->seg[0].op == RDMAP_OP_WRITE)
		KUNIT_EXPECT_PTR_EQ(test, NULL,
				    memchr_inv(rk->mem, 0, 2 * PAGE_SIZE));
	if (bad) {
		expect_terminate(rk, row, octets, len);
		/* Later segments are dropped, and there is one Terminate. */
		rk_recv(rk, octets, len);
		KUNIT_EXPECT_EQ(test, row->responses + 1, rk->conn.posted);
		rk->qp->rq.get = rk->qp->rq.put;
		rk_over(rk);
	}
	rk->mr->pd = &rk->pd;
	KUNIT_EXPECT_STREQ(test, row->wcs, rk_polled(rk));
	if (!bad && row->seg[0].op == RDMAP_OP_SEND)
		KUNIT_EXPECT_EQ(test, total, rk->wc.byte_len);
	if (!bad && *row->wcs && !row->reads)
		expect_received(rk, row->seg);
	if (!bad)
		KUNIT_EXPECT_EQ(test, row->responses,
				rk_stat(rk, RNIC_STAT_RX_READ));
}

static const struct qp_access {
	const char	*desc;
	int		given;
	bool		read;
	bool		lets;
} qp_accesses[] = {
	{ "rdma_cm's for an Initiator, Write", 0, false, true },
	{ "rdma_cm's for an Initiator, Read", 0, true, true },
	{ "rdma_cm's, Write", IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	  false, true },
	{ "rdma_cm's, Read", IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
	  true, true },
	{ "to write, Write", IB_ACCESS_REMOTE_WRITE, false, true },
	{ "to write, Read", IB_ACCESS_REMOTE_WRITE, true, false },
	{ "to read, Write", IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ,
	  false, false },
	{ "to read, Read", IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ,
	  true, true },
	{ "none, Write", IB_ACCESS_LOCAL_WRITE, false, false },
	{ "none, Read", IB_ACCESS_LOCAL_WRITE, true, false },
};

MPA_ROWS(qp_access, qp_accesses);

/* modify_qp() takes rights away, of all regions; the RTRs need none. */
static void qp_access_test(struct kunit *test)
{
	static const struct row wants[2] = {
		{ "Write", { W(0, 8) }, { 0x11, 0x00, 0xc0 }, ACCESS_ERR },
		{ "Read", { R(2, 0, 8) }, { 0x01, 0x02, 0xe0 }, ACCESS_ERR },
	};
	static const struct seg rtrs[2] = { W(0, 0), R(1, 0, 0) };
	const struct qp_access *row = test->param_value;
	const struct row *want = wants + row->read;
	struct ib_qp_attr attr = { .qp_access_flags = row->given };
	struct rnic_kunit *rk = test->priv;
	u8 octets[128];
	u32 len;

	rk_mr(rk, PAGE_SIZE, 1, RIGHTS);
	rk_qp(rk, 4);
	KUNIT_ASSERT_EQ(test, 0, rnic_modify_qp(&rk->qp->ib, &attr,
						IB_QP_ACCESS_FLAGS, NULL));
	rk_up(rk, 2, 1);
	rk_recv(rk, octets, ulpdu(rk, rtrs, octets));
	rk_recv(rk, octets, ulpdu(rk, rtrs + 1, octets));
	rk_hand_back(rk, 0);
	len = ulpdu(rk, want->seg, octets);
	rk_recv(rk, octets, len);
	KUNIT_EXPECT_EQ(test, !row->lets, rk->qp->failed);
	KUNIT_EXPECT_EQ(test, row->lets && !row->read ? 1 : 0, rk->mem[16]);
	if (!row->lets)
		expect_terminate(rk, want, octets, len);
}

/* After MSN 2^32 - 1 comes 0. */
static void wrap_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	u8 octets[18] = { 0x41, 0x43 };
	u32 msn;

	rk_qp(rk, 4);
	rk_up(rk, 1, 1);
	rk->qp->rx.msn[RDMAP_QN_SEND] = -1;
	for (msn = -1; msn != 1; msn++) {
		rk_post_recv(rk, NULL, 0);
		memset(octets + 10, msn, 4);
		rk_recv(rk, octets, sizeof(octets));
	}
	KUNIT_EXPECT_FALSE(test, rk->qp->failed);
	KUNIT_EXPECT_STREQ(test, "1 2", rk_polled(rk));
}

/* MPA has the oldest of 2^32 Responses when the next one comes. */
static void response_wrap_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct seg seg = R(1, 0, 8);
	struct mpa_tx *first;
	LIST_HEAD(sending);
	u8 octets[64];

	rk_begin(rk, RIGHTS, 2, 1);
	rk->qp->resp_head = -1;
	rk->qp->resp_tail = -1;
	rk_recv(rk, octets, ulpdu(rk, &seg, octets));
	KUNIT_ASSERT_EQ(test, 1, rk->conn.posted);
	first = list_first_entry(&rk->conn.tx, struct mpa_tx, list);
	list_replace_init(&rk->conn.tx, &sending);
	seg.msn = 2;
	rk_recv(rk, octets, ulpdu(rk, &seg, octets));
	KUNIT_ASSERT_EQ(test, 2, rk->conn.posted);
	KUNIT_ASSERT_PTR_NE(test, &first->list, rk->conn.tx.next);
	list_splice(&sending, &rk->conn.tx);
	rk_hand_back(rk, 0);
	rk_hand_back(rk, 0);
	KUNIT_EXPECT_EQ(test, 1, rk->qp->resp_tail);
}

/* A Send invalidates the region that it was received into. */
static void own_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct ib_sge sge = { .addr = RK_IOVA, .length = 8 };
	struct ib_recv_wr wr = { .wr_id = 1, .num_sge = 1 };
	struct seg seg = { RDMAP_OP_SEND_INV, .msn = 1, .len = 8 };
	const struct ib_recv_wr *bad;
	u8 octets[32];

	rk_begin(rk, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ, 1, 1);
	sge.lkey = rk->mr->stag;
	wr.sg_list = &sge;
	KUNIT_ASSERT_EQ(test, 0, rnic_post_recv(&rk->qp->ib, &wr, &bad));
	rk_recv(rk, octets, ulpdu(rk, &seg, octets));
	KUNIT_EXPECT_EQ(test, rk->mem[16 + 7], 8);
	KUNIT_EXPECT_FALSE(test, rk->mr->valid);
	KUNIT_EXPECT_STREQ(test, "1", rk_polled(rk));
	expect_received(rk, &seg);
}

/* MPA refuses to send the Response to a Read Request. */
struct refused_row {
	const char	*desc;
	int		err;	/* of mpa_send() */
	struct seg	seg;
	bool		want;	/* it is an error */
};

static const struct refused_row refused_rows[] = {
	{ "the Request has crossed our FIN", -EPIPE, R(1, 0, 8) },
	{ "a wrong one has crossed it", -EPIPE, R_BAD(BAD_STAG), true },
	{ "the connection is over", -ENOTCONN, R(1, 0, 8), true },
};

MPA_ROWS(refused, refused_rows);

static void refused_test(struct kunit *test)
{
	const struct refused_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	u8 octets[64];

	rk_begin(rk, RIGHTS, 2, 1);
	rk->conn.send_err = row->err;
	rk_recv(rk, octets, ulpdu(rk, &row->seg, octets));
	KUNIT_EXPECT_EQ(test, row->want, rk->qp->failed);
	/* No Terminate can be sent either: without a FIN there is a reset. */
	KUNIT_EXPECT_EQ(test, row->want, rk->conn.aborts);
	KUNIT_EXPECT_EQ(test, 0, rk_stat(rk, RNIC_STAT_TX_TERMINATE));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&rk->mr->users));
	KUNIT_EXPECT_EQ(test, 0, rk->qp->response[0].sgl.nr);
}

struct dereg {
	struct work_struct work;
	struct rnic_kunit *rk;
};

static void dereg_work(struct work_struct *work)
{
	struct dereg *dereg = container_of(work, struct dereg, work);

	rnic_dereg_mr(&dereg->rk->mr->ib, NULL);
	dereg->rk->mr = NULL;
}

/* dereg_mr() does not wait for a peer: it has a connection that uses it end. */
static void dereg_in_use(struct rnic_kunit *rk)
{
	struct dereg dereg = { .rk = rk };
	struct kunit *test = rk->test;
	int i;

	rnic_qp_check_dying(rk->qp);
	rnic_sq_run(rk->qp);
	KUNIT_EXPECT_EQ(test, 0, rk->conn.aborts);
	INIT_WORK_ONSTACK(&dereg.work, dereg_work);
	schedule_work(&dereg.work);
	for (i = 0; i < 500 && !READ_ONCE(rk->qp->sq.check_dying); i++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, rk->qp->sq.check_dying);
	/* Not in softirq: there may be many slots to look at. */
	rk->conn.kicks = 0;
	local_bh_disable();
	rnic_sq_run(rk->qp);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, rk->qp->sq.check_dying);
	KUNIT_EXPECT_GT(test, rk->conn.kicks, 0);
	KUNIT_EXPECT_EQ(test, 0, rk->conn.aborts);
	rnic_sq_run(rk->qp);
	KUNIT_EXPECT_EQ(test, 1, rk->conn.aborts);
	rk_over(rk);
	flush_work(&dereg.work);
	destroy_work_on_stack(&dereg.work);
	free_pages((unsigned long)rk->mem, get_order(2 * PAGE_SIZE));
}

/* The source of a Read Response that MPA has */
static void read_dereg_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct seg seg = R(1, 0, 8);
	u8 octets[64];

	rk_begin(rk, RIGHTS, 2, 1);
	rk_recv(rk, octets, ulpdu(rk, &seg, octets));
	KUNIT_ASSERT_EQ(test, 1, rk->conn.posted);
	dereg_in_use(rk);
}

/* The sink of a Read that the peer has not answered */
static void sink_dereg_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;

	rk_begin(rk, RIGHTS, 1, 1);
	read_start(rk);
	dereg_in_use(rk);
	KUNIT_EXPECT_STREQ(test, "1f", rk_polled(rk));
}

/*
 * Receive requests of an SRQ name regions of its domain. If such a region is
 * deregistered in the middle of a Send, that does not wait for the rest of it.
 */
static void srq_pd_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct ib_sge sge = { .addr = RK_IOVA, .length = 8 };
	struct ib_recv_wr wr = { .wr_id = 1, .num_sge = 1 };
	struct seg seg = { RDMAP_OP_SEND, .msn = 1, .len = 4, .more = true };
	const struct ib_recv_wr *bad;
	u8 octets[32];

	rk_srq(rk, 4);
	rk_qp(rk, 4);
	rk_mr(rk, PAGE_SIZE, 1, IB_ACCESS_LOCAL_WRITE);
	rk->qp->ib.pd = &rk->other_pd;
	sge.lkey = rk->mr->stag;
	wr.sg_list = &sge;
	rk_up(rk, 1, 1);
	KUNIT_ASSERT_EQ(test, 0, rnic_post_srq_recv(&rk->srq->ib, &wr, &bad));
	rk_recv(rk, octets, ulpdu(rk, &seg, octets));
	KUNIT_EXPECT_FALSE(test, rk->qp->failed);
	KUNIT_EXPECT_EQ(test, rk->mem[16 + 3], 4);
	dereg_in_use(rk);
	rk->qp->ib.pd = &rk->pd;
	KUNIT_EXPECT_STREQ(test, "1f", rk_polled(rk));
}

/* A receive request with room for more octets than a message can have */
static void room_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	u8 mem[8] = {}, octets[32];
	struct ib_sge sge[3] = {
		{ .addr = (uintptr_t)mem, .length = U32_MAX },
		{ .addr = (uintptr_t)mem, .length = 1 },
		{ .addr = (uintptr_t)mem, .length = U32_MAX },
	};
	struct ib_recv_wr wr = { .wr_id = 1, .sg_list = sge, .num_sge = 3 };
	struct seg seg = S(1, 0, 8);
	const struct ib_recv_wr *bad;

	rk_begin(rk, RIGHTS, 1, 1);
	KUNIT_ASSERT_EQ(test, 0, rnic_post_recv(&rk->qp->ib, &wr, &bad));
	rk_recv(rk, octets, ulpdu(rk, &seg, octets));
	KUNIT_EXPECT_EQ(test, U32_MAX, rk->qp->rx.sgl.len);
	KUNIT_EXPECT_EQ(test, 8, mem[7]);
	KUNIT_EXPECT_STREQ(test, "1", rk_polled(rk));
	KUNIT_EXPECT_EQ(test, 8, rk->wc.byte_len);
}

/*
 * Segments in the order of their arrival: those past the hole are passed out of
 * order, and delivered once it is filled.
 */
struct ooo_row {
	const char	*desc;
	struct seg	seg[5];
	const char	*order;
	const char	*early;		/* those that are placed at once */
	u8		want[3];	/* Terminate Control, at the end */
	const char	*wcs;
	u8		reads;		/* under way, of 8 octets each */
};

/* The first FPDU, which may be an RTR */
#define RTR		{ RDMAP_OP_WRITE }

static const struct ooo_row ooo_rows[] = {
	{ "OO-12: Write, and the Send that tells of it",
	  { RTR, W_MORE(0, 8), W_MORE(8, 8), W(16, 8), S(1, 0, 4) }, "04321",
	  "2", .wcs = "1" },
	{ "the last segment of a Write", { RTR, W_MORE(0, 8), W(8, 8) }, "021",
	  "", .wcs = "" },
	{ "Send in three segments",
	  { RTR, S_MORE(1, 0, 7), S_MORE(1, 7, 8), S(1, 15, 5) }, "0321", "",
	  .wcs = "1" },
	{ "Response", { RTR, A_MORE(0, 3), A(3, 5) }, "021", "2", .wcs = "1",
	  .reads = 1 },
	{ "Response to no Read", { RTR, W(0, 8), A(8, 8) }, "021", "",
	  { 0x02, 0x06, 0xc0 }, "" },
	{ "Response to another place", { RTR, A_MORE(0, 3), A(9, 5) }, "021",
	  "", { 0x11, 0x01, 0xc0 }, "1f", .reads = 1 },
	{ "Write, wrong STag",
	  { RTR, W(8, 8),
	    { RDMAP_OP_WRITE, true, .len = 8, .stag = BAD_STAG } }, "021", "",
	  { 0x11, 0x00, 0xc0 }, "" },
	{ "Write, invalidated by the Send before it",
	  { RTR, { RDMAP_OP_SEND_SE_INV, .msn = 1 }, W_MORE(0, 8) }, "021", "2",
	  { 0x11, 0x00, 0xc0 }, "1" },
	{ "before the first FPDU", { RTR, W_MORE(0, 8) }, "10", "", .wcs = "" },
	{ "the hole stays", { RTR, S(1, 0, 1), S(2, 0, 1), W_MORE(8, 8) },
	  "032", "3", .wcs = "" },
	{ "two Writes to one place, the first in the hole",
	  { RTR, W(0, 8), W_MORE_FROM(20, 0, 8) }, "021", "2", .wcs = "" },
	{ "two Writes to one place, swapped after a hole",
	  { RTR, W(16, 8), W_MORE(0, 8), W_MORE_FROM(20, 0, 8) }, "0321", "3",
	  .wcs = "" },
	{ "Writes that overlap the next one each, the first in the hole",
	  { RTR, W(0, 8), W_MORE_FROM(20, 4, 8), W_MORE_FROM(40, 8, 8) },
	  "0231", "23", .wcs = "" },
	{ "two Writes to one place, later than one to another in the hole",
	  { RTR, W(16, 8), W_MORE(0, 8), W_MORE_FROM(20, 0, 8) }, "0231", "23",
	  .wcs = "" },
	{ "two Writes to one place, the last segment of the first after a hole",
	  { RTR, W_MORE(16, 8), W(0, 8), W_MORE_FROM(20, 0, 8) }, "0231", "3",
	  .wcs = "" },
	{ "two Reads of one sink, the first Response in the hole",
	  { RTR, A(0, 8), A_FROM(20, 0, 8) }, "021", "2", .wcs = "1 1",
	  .reads = 2 },
};

MPA_ROWS(ooo, ooo_rows);

/* True if a later tagged segment, delivered as well, begins where @nr does. */
static bool is_overwritten(const struct ooo_row *row, u32 nr, u32 delivered)
{
	const struct seg *seg = row->seg + nr;
	u32 i;

	for (i = nr + 1; i < delivered; i++)
		if (seg->op != RDMAP_OP_SEND && row->seg[i].op == seg->op &&
		    row->seg[i].to == seg->to)
			return true;
	return false;
}

static void ooo_test(struct kunit *test)
{
	const struct ooo_row *row = test->param_value;
	struct row term = { .event = row->want[0] == 0x11 ? ACCESS_ERR :
							    REQ_ERR };
	struct rnic_kunit *rk = test->priv;
	u32 arrived = 0, delivered = 0, i;
	struct mpa_ulpdu ulpdus[5] = {};
	u8 octets[5][64], mem[2][24];
	struct kvec frags[5];
	const char *c;

	rk_begin(rk, RIGHTS, 2, 2);
	for (i = 0; i < row->reads; i++)
		read_start(rk);
	for (i = 0; i < 2 && !row->reads; i++)
		rk_post_recv(rk, mem[i], 20);
	for (c = row->order; *c; c++) {
		u32 nr = *c - '0';
		u8 *at = rk->mem + 16 + row->seg[nr].to;
		struct mpa_rx rx = { .ulpdu = ulpdus + nr, .nr = 1 };

		KUNIT_EXPECT_FALSE(test, rk->qp->failed);
		frags[nr].iov_base = octets[nr];
		frags[nr].iov_len = ulpdu(rk, row->seg + nr, octets[nr]);
		ulpdus[nr] = (struct mpa_ulpdu) {
			.pos = nr, .len = frags[nr].iov_len,
			.nr_frags = 1, .frag = frags + nr,
		};
		arrived |= BIT(nr);
		delivered = ffz(arrived);
		rx.delivered = delivered;
		rnic_rx_recv(rk->qp, &rk->conn, &rx);
		if (nr > delivered)
			KUNIT_EXPECT_EQ(test, !!strchr(row->early, *c),
					*at == 1 + row->seg[nr].mo);
	}
	for (i = 1; i < delivered && !row->want[2]; i++) {
		const struct seg *seg = row->seg + i;

		if (is_overwritten(row, i, delivered))
			continue;
		KUNIT_EXPECT_EQ(test, 1 + seg->mo, seg->op == RDMAP_OP_SEND ?
				mem[0][seg->mo] : rk->mem[16 + seg->to]);
	}
	if (row->want[2]) {
		memcpy(term.want, row->want, sizeof(term.want));
		KUNIT_ASSERT_EQ(test, 1, rk->conn.posted);
		expect_terminate(rk, &term, octets[delivered - 1],
				 ulpdus[delivered - 1].len);
		rk->qp->rq.get = rk->qp->rq.put;
		rk_over(rk);
	}
	KUNIT_EXPECT_STREQ(test, row->wcs, rk_polled(rk));
	if (rk->up)
		rnic_qp_down(rk->qp);
	KUNIT_EXPECT_EQ(test, 0, rk->conn.batches);
}

/* A header that is cut short has none to repeat. */
static void short_test(struct kunit *test)
{
	static const u8 want[] = { 0x02, 0xff, 0x00, 0x00 };
	static const u8 octets[18] = { 0x41, 0x43, [13] = 1 };
	struct rnic_kunit *rk = test->priv;
	u8 term[128];

	rk_qp(rk, 4);
	rk_up(rk, 1, 1);
	rk_recv(rk, octets, 17);
	KUNIT_ASSERT_EQ(test, 1, rk->conn.posted);
	KUNIT_EXPECT_EQ(test, 22, rk_pull(rk, 128, term));
	KUNIT_EXPECT_MEMEQ(test, term + 18, want, 4);
}

/* The peer's Terminate is answered by a FIN alone. */
static void terminated_test(struct kunit *test)
{
	static const u8 octets[22] = { 0x41, 0x47, [9] = 2, [13] = 1,
				       [18] = 0x11, [19] = 0x01 };
	struct rnic_kunit *rk = test->priv;

	rk_qp(rk, 4);
	rk_up(rk, 1, 1);
	rk_recv(rk, octets, sizeof(octets));
	/* The first error wins. */
	rnic_fail(rk->qp, &rk->conn, RDMAP_ERR_MPA(MPA_ERR_CRC), 0, NULL, 0);
	KUNIT_EXPECT_EQ(test, 0, rk->conn.posted);
	KUNIT_EXPECT_EQ(test, 1, rk->conn.shutdowns);
	KUNIT_EXPECT_EQ(test, 1, rk->async[IB_EVENT_QP_ACCESS_ERR]);
	KUNIT_EXPECT_EQ(test, 0, rk->async[IB_EVENT_QP_REQ_ERR]);
	KUNIT_EXPECT_EQ(test, rk->qp->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, 1, rk_stat(rk, RNIC_STAT_RX_TERMINATE));
	/* The peer may never take what is left, nor send its FIN. */
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&rk->qp->timeout));
}

static void post_again(struct rnic_kunit *rk)
{
	if (rk->notified == 1)
		KUNIT_EXPECT_EQ(rk->test, 0, rk_post_recv(rk, NULL, 0));
	rnic_req_notify_cq(&rk->cq.ib, IB_CQ_NEXT_COMP);
}

/*
 * Two Sends in one call of recv(): the handler is called once, but before the
 * second if that needs the request which the handler posts.
 */
static void notify_test(struct kunit *test)
{
	static const u8 octets[2][18] = {
		{ 0x41, 0x43, [13] = 1 }, { 0x41, 0x43, [13] = 2 },
	};
	static const struct kvec frag[2] = {
		{ (void *)octets[0], 18 }, { (void *)octets[1], 18 },
	};
	static const struct mpa_ulpdu both[2] = {
		{ 0, 18, 1, frag }, { 40, 18, 1, frag + 1 },
	};
	struct mpa_rx rx = { .ulpdu = both, .nr = 2, .delivered = 80 };
	struct rnic_kunit *rk = test->priv;
	int requests = *(const int *)test->param_value;

	rk_qp(rk, 4);
	rk_up(rk, 1, 1);
	while (requests--)
		KUNIT_ASSERT_EQ(test, 0, rk_post_recv(rk, NULL, 0));
	rk->on_notify = post_again;
	rnic_req_notify_cq(&rk->cq.ib, IB_CQ_NEXT_COMP);
	rnic_rx_recv(rk->qp, &rk->conn, &rx);
	KUNIT_EXPECT_EQ(test, 3 - *(const int *)test->param_value,
			rk->notified);
	KUNIT_EXPECT_STREQ(test, "1 2", rk_polled(rk));
	KUNIT_EXPECT_EQ(test, rk->qp->state, IB_QPS_RTS);
}

static const int notify_requests[] = { 1, 2 };
KUNIT_ARRAY_PARAM(notify, notify_requests, NULL);

/* A queue that is armed for solicited completions is told of no others. */
static void solicited_test(struct kunit *test)
{
	static const struct seg segs[] = {
		{ RDMAP_OP_SEND, .msn = 1 }, { RDMAP_OP_SEND_SE, .msn = 2 },
		{ RDMAP_OP_SEND_SE_INV, .msn = 3 },
	};
	struct rnic_kunit *rk = test->priv;
	u8 octets[32];
	int i;

	rk_begin(rk, RIGHTS, 1, 1);
	for (i = 0; i < ARRAY_SIZE(segs); i++) {
		KUNIT_ASSERT_EQ(test, 0, rk_post_recv(rk, NULL, 0));
		rnic_req_notify_cq(&rk->cq.ib, IB_CQ_SOLICITED);
		rk_recv(rk, octets, ulpdu(rk, segs + i, octets));
		KUNIT_EXPECT_EQ(test, i, rk->notified);
	}
	KUNIT_EXPECT_STREQ(test, "1 2 3", rk_polled(rk));
}

static void invalidate_again(struct rnic_kunit *rk)
{
	/* The region has no user while a handler runs. */
	if (rk->notified == 1)
		KUNIT_EXPECT_EQ(rk->test, 0,
				rnic_mr_invalidate(rk->dev, &rk->pd,
						   rk->mr->stag, 0, NULL));
	post_again(rk);
}

/*
 * Segments of RDMA Writes that come in one call of recv() are each checked: one
 * past the end; or one after an invalidation by the handler of a Send.
 */
static void write_test(struct kunit *test)
{
	static const u64 offset[] = { 0, PAGE_SIZE };
	u64 last = offset[*(const int *)test->param_value];
	static const u8 send[2][18] = {
		{ 0x41, 0x43, [13] = 1 }, { 0x41, 0x43, [13] = 2 },
	};
	u8 write[2][15] = {
		{ 0xc1, 0x40, [14] = 1 }, { 0xc1, 0x40, [14] = 2 },
	};
	const struct kvec frag[4] = {
		{ write[0], 15 }, { (void *)send[0], 18 },
		{ (void *)send[1], 18 }, { write[1], 15 },
	};
	const struct mpa_ulpdu ulpdus[4] = {
		{ 0, 15, 1, frag },
		last ? (struct mpa_ulpdu){ 40, 15, 1, frag + 3 } :
		       (struct mpa_ulpdu){ 40, 18, 1, frag + 1 },
		{ 80, 18, 1, frag + 2 }, { 120, 15, 1, frag + 3 },
	};
	struct mpa_rx rx = { .ulpdu = ulpdus, .nr = 1, .delivered = 160 };
	struct rnic_kunit *rk = test->priv;

	rk_begin(rk, RIGHTS, 1, 1);
	put_unaligned_be32(rk->mr->stag, write[0] + 2);
	put_unaligned_be64(RK_IOVA, write[0] + 6);
	put_unaligned_be32(rk->mr->stag, write[1] + 2);
	put_unaligned_be64(RK_IOVA + last, write[1] + 6);
	KUNIT_ASSERT_EQ(test, 0, rk_post_recv(rk, NULL, 0));
	rk->on_notify = invalidate_again;
	rnic_req_notify_cq(&rk->cq.ib, IB_CQ_NEXT_COMP);
	rnic_rx_recv(rk->qp, &rk->conn, &rx);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&rk->mr->users));
	rx.nr = last ? 2 : 4;
	rnic_rx_recv(rk->qp, &rk->conn, &rx);
	KUNIT_EXPECT_EQ(test, 1, rk->mem[16]);
	KUNIT_EXPECT_EQ(test, 0, rk->mem[16 + PAGE_SIZE]);
	KUNIT_EXPECT_TRUE(test, rk->qp->failed);
	KUNIT_EXPECT_EQ(test, last ? 1 : 0, atomic_read(&rk->mr->users));
}

static const int write_rows[] = { 0, 1 };
KUNIT_ARRAY_PARAM(write, write_rows, NULL);

static struct kunit_case rx_cases[] = {
	KUNIT_CASE_PARAM(seg_test, row_gen_params),
	KUNIT_CASE_PARAM(qp_access_test, qp_access_gen_params),
	KUNIT_CASE(wrap_test),
	KUNIT_CASE(response_wrap_test),
	KUNIT_CASE(own_test),
	KUNIT_CASE_PARAM(refused_test, refused_gen_params),
	KUNIT_CASE(read_dereg_test),
	KUNIT_CASE(sink_dereg_test),
	KUNIT_CASE(srq_pd_test),
	KUNIT_CASE(room_test),
	KUNIT_CASE_PARAM(ooo_test, ooo_gen_params),
	KUNIT_CASE(short_test),
	KUNIT_CASE(terminated_test),
	KUNIT_CASE_PARAM(notify_test, notify_gen_params),
	KUNIT_CASE(solicited_test),
	KUNIT_CASE_PARAM(write_test, write_gen_params),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "mpa_rnic_rx",
	.init = rk_init,
	.exit = rk_exit,
	.test_cases = rx_cases,
};

kunit_test_suite(rx_suite);
