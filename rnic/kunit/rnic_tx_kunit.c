// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages as segments: each field of each header, and all octets, against what
 * RFC 5041 sections 4 and 5 and RFC 5040 sections 4 and 5 ask for. The lengths
 * for a MULPDU of 1500 are those of the examples in RFC 5041 section 5.2.
 */
#include <linux/unaligned.h>

#include "rnic_kunit.h"

#define MEM	2048
#define STAG	0x12345678
#define TO	16384
#define SINK	(RK_IOVA + 8)
#define PIECE	64
#define PIECES	32

struct row {
	const char		*desc;
	u8			opcode;		/* as on the wire */
	enum ib_wr_opcode	wr;
	u32			max;		/* MULPDU */
	u32			len;
	u32			first;		/* MSN, if it is not 1 */
	u16			want[4];	/* payload of each segment */
	bool			se;
	bool			rev0;
};

#define WR(o, w)	.opcode = RDMAP_OP_##o, .wr = IB_WR_##w
#define A_SEND		WR(SEND, SEND)
#define A_WRITE		WR(WRITE, RDMA_WRITE)
#define A_READ		WR(READ, RDMA_READ)
#define A_RESPONSE	.opcode = RDMAP_OP_RESPONSE, .wr = 0

static const struct row rows[] = {
	{ "SZ-02 SZ-13: Send, MULPDU 1500", A_SEND, 1500, 2048,
	  .want = { 1482, 566 } },
	{ "Write, MULPDU 1500", A_WRITE, 1500, 2048, .want = { 1486, 562 } },
	{ "Response, MULPDU 1500", A_RESPONSE, 1500, 2048,
	  .want = { 1486, 562 } },
	{ "Send that fills a segment", A_SEND, 128, 110, .want = { 110 } },
	{ "Send, an octet more", A_SEND, 128, 111, .want = { 110, 1 } },
	{ "Write that fills three", A_WRITE, 128, 342,
	  .want = { 114, 114, 114 } },
	{ "Send without octets", A_SEND, 128 },
	{ "Write without octets", A_WRITE, 128 },
	{ "Response without octets", A_RESPONSE, 128 },
	{ "Send with SE", WR(SEND_SE, SEND), 128, 111, .want = { 110, 1 },
	  .se = true },
	{ "Send with Invalidate", WR(SEND_INV, SEND_WITH_INV), 128, 111,
	  .want = { 110, 1 } },
	{ "Send with SE and Invalidate", WR(SEND_SE_INV, SEND_WITH_INV), 128,
	  111, .want = { 110, 1 }, .se = true },
	{ "Write with the flag of SE", A_WRITE, 128, 8, .want = { 8 },
	  .se = true },
	{ "Read Request", A_READ, 128, 9, .want = { 28 } },
	{ "Read Request without octets", A_READ, 128, .want = { 28 } },
	{ "Send, MSN wraps", A_SEND, 128, 111, U32_MAX, .want = { 110, 1 } },
	{ "Read Request, MSN wraps", A_READ, 128, 9, U32_MAX, .want = { 28 } },
	{ "Send, Rev 0", A_SEND, 128, 111, .want = { 110, 1 }, .rev0 = true },
	{ "Write, Rev 0", A_WRITE, 128, 8, .want = { 8 }, .rev0 = true },
};

MPA_ROWS(row, rows);

static bool is_tagged(const struct row *row)
{
	return row->opcode == RDMAP_OP_WRITE ||
	       row->opcode == RDMAP_OP_RESPONSE;
}

/* The peer asks for a Response, with an STag of its own. */
static void request(struct rnic_kunit *rk, const struct row *row, u32 msn)
{
	u8 octets[RDMAP_HDR_MAX] = { 0x41, 0x41, [9] = 1 };

	put_unaligned_be32(msn, octets + 10);
	put_unaligned_be32(STAG, octets + 18);
	put_unaligned_be64(TO, octets + 22);
	put_unaligned_be32(row->len, octets + 30);
	put_unaligned_be32(rk->mr->stag, octets + 34);
	put_unaligned_be64(RK_IOVA, octets + 38);
	rk_recv(rk, octets, sizeof(octets));
}

static void post(struct rnic_kunit *rk, const struct row *row)
{
	u64 addr = row->opcode == RDMAP_OP_READ ? SINK : RK_IOVA;
	struct ib_sge sge = { addr, row->len, rk->mr->stag };
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_id		= ++rk->wr_id,
			.sg_list	= &sge,
			.num_sge	= 1,
			.opcode		= row->wr,
			.send_flags	= IB_SEND_SIGNALED |
					  (row->se ? IB_SEND_SOLICITED : 0),
		},
		.remote_addr	= TO,
		.rkey		= STAG,
	};
	const struct ib_send_wr *bad;

	if (row->wr == IB_WR_SEND_WITH_INV)
		wr.wr.ex.invalidate_rkey = STAG;
	KUNIT_ASSERT_EQ(rk->test, 0,
			rnic_post_send(&rk->qp->ib, &wr.wr, &bad));
}

/* Returns the length of the header that a segment has to have. */
static u32 want_hdr(const struct row *row, u32 msn, u32 off, bool last, u8 *hdr)
{
	u8 version = row->rev0 ? 0 : 1;
	bool inv = row->opcode == RDMAP_OP_SEND_INV ||
		   row->opcode == RDMAP_OP_SEND_SE_INV;

	hdr[0] = (is_tagged(row) ? 0x80 : 0) | (last ? 0x40 : 0) | version;
	hdr[1] = version << 6 | row->opcode;
	put_unaligned_be32(inv || is_tagged(row) ? STAG : 0, hdr + 2);
	if (is_tagged(row)) {
		put_unaligned_be64(TO + off, hdr + 6);
		return 14;
	}
	put_unaligned_be32(row->opcode == RDMAP_OP_READ ? 1 : 0, hdr + 6);
	put_unaligned_be32(msn, hdr + 10);
	put_unaligned_be32(off, hdr + 14);
	return 18;
}

/* The Read Request that @row has to send */
static void want_request(struct rnic_kunit *rk, const struct row *row, u8 *to)
{
	put_unaligned_be32(row->len ? rk->mr->stag : 1, to);
	put_unaligned_be64(row->len ? SINK : 0, to + 4);
	put_unaligned_be32(row->len, to + 12);
	put_unaligned_be32(STAG, to + 16);
	put_unaligned_be64(TO, to + 20);
}

static void expect_message(struct rnic_kunit *rk, const struct row *row,
			   u32 msn)
{
	struct mpa_tx *tx = list_first_entry(&rk->conn.tx, struct mpa_tx, list);
	static u8 octets[1500], want[1500];
	struct kunit *test = rk->test;
	u32 off = 0, i, len;
	bool last;

	for (i = 0; !i || row->want[i]; i++) {
		last = !row->want[i + 1];
		len = want_hdr(row, msn, off, last, want);
		memcpy(want + len, rk->mem + 16 + off, row->want[i]);
		if (row->opcode == RDMAP_OP_READ)
			want_request(rk, row, want + len);
		len += row->want[i];
		KUNIT_ASSERT_EQ(test, len, rk_pull(rk, row->max, octets));
		KUNIT_EXPECT_MEMEQ(test, octets, want, len);
		KUNIT_EXPECT_EQ(test, last, !!(tx->state & RK_OVER));
		off += row->want[i];
	}
	/* Handed back without being asked for more */
	rk_hand_back(rk, 0);
}

static enum rnic_stat counter_of(const struct row *row)
{
	switch (row->opcode) {
	case RDMAP_OP_WRITE:
		return RNIC_STAT_TX_WRITE;
	case RDMAP_OP_READ:
		return RNIC_STAT_TX_READ;
	case RDMAP_OP_RESPONSE:
		return RNIC_STAT_RX_READ;
	default:
		return RNIC_STAT_TX_SEND;
	}
}

/* Two of each, so that the second's number, and their order, are seen */
static void message_test(struct kunit *test)
{
	const struct row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	enum rdmap_queue qn = row->opcode == RDMAP_OP_READ ? RDMAP_QN_READ :
							     RDMAP_QN_SEND;
	u32 first = row->first ?: 1;
	struct row second = *row;
	int i;

	if (row->rev0)
		rk->conn.info.rev = MPA_REV_0;
	rk_qp(rk, 4);
	rk_mr(rk, PAGE_SIZE, 1, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ);
	for (i = 0; i < MEM; i++)
		rk->mem[16 + i] = 1 + i % 251;
	rk_up(rk, 2, 2);
	KUNIT_EXPECT_EQ(test, 1, rk->qp->msn[qn]);
	rk->qp->msn[qn] = first;
	/* The second has no octets but for its headers. */
	second.len = 0;
	memset(second.want, 0, sizeof(second.want));
	if (row->opcode == RDMAP_OP_READ)
		second.want[0] = 28;
	if (row->opcode == RDMAP_OP_RESPONSE) {
		request(rk, row, 1);
		request(rk, &second, 2);
	} else {
		post(rk, row);
		post(rk, &second);
		rnic_sq_run(rk->qp);
	}
	KUNIT_ASSERT_EQ(test, 2, rk->conn.posted);
	KUNIT_EXPECT_EQ(test, 2, rk_stat(rk, counter_of(row)));
	expect_message(rk, row, first);
	expect_message(rk, &second, first + 1);
}

/* Octet @k of the region of pieces_test(), whose blocks are in reverse order */
static u8 *piece_at(struct rnic_kunit *rk, u32 k)
{
	u32 i = (16 + k) / PIECE;

	return rk->mem + 2 * (PIECES - 1 - i) * PIECE + (16 + k) % PIECE;
}

/*
 * Memory in more pieces than a message has room to name: it is named in parts,
 * which end inside a segment.
 */
static void pieces_test(struct kunit *test)
{
	static const u32 want[] = { 682, 682, 636 };
	struct row row = { .wr = IB_WR_SEND, .len = 2000 };
	struct rnic_kunit *rk = test->priv;
	static u8 octets[700];
	u32 i, j, k = 0;

	rk_qp(rk, 4);
	rk_mr(rk, PIECE, PIECES, IB_ACCESS_LOCAL_WRITE);
	for (i = 0; i < row.len; i++)
		*piece_at(rk, i) = 1 + i % 251;
	rk_up(rk, 2, 2);
	post(rk, &row);
	rnic_sq_run(rk->qp);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		KUNIT_ASSERT_EQ(test, 18 + want[i],
				rk_pull(rk, sizeof(octets), octets));
		for (j = 0; j < want[i]; j++, k++)
			KUNIT_ASSERT_EQ(test, octets[18 + j], 1 + k % 251);
	}
	rk_hand_back(rk, 0);
}

static const struct row cut_rows[] = {
	{ "Write", A_WRITE, .len = 100000 },
	{ "Send", A_SEND, .len = 100000 },
	{ "Response", A_RESPONSE, .len = 100000 },
	{ "Read Request", A_READ, .len = 8 },
};

MPA_ROWS(cut, cut_rows);

/*
 * An error ends a message before its last segment, or before its first: no
 * other message follows, or the peer would deliver that as if it had got both.
 */
static void cut_test(struct kunit *test)
{
	static const struct row second = { .wr = IB_WR_SEND, .len = 8 };
	const struct row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	static u8 octets[1500];

	rk_qp(rk, 4);
	rk_mr(rk, 2 * PAGE_SIZE, 16, IB_ACCESS_LOCAL_WRITE |
	      IB_ACCESS_REMOTE_READ);
	rk_up(rk, 2, 2);
	if (row->opcode == RDMAP_OP_RESPONSE)
		request(rk, row, 1);
	else
		post(rk, row);
	post(rk, &second);
	rnic_sq_run(rk->qp);
	KUNIT_ASSERT_EQ(test, 2, rk->conn.posted);
	if (row->opcode != RDMAP_OP_READ)
		KUNIT_EXPECT_EQ(test, 1500, rk_pull(rk, 1500, octets));
	rnic_fail(rk->qp, &rk->conn, DDP_ERR_NO_BUFFER, 0, NULL, 0);
	while (rk_pull(rk, 1500, octets))
		KUNIT_EXPECT_FALSE(test, octets[0] & 0x40);
	rk_hand_back(rk, 0);
	KUNIT_EXPECT_EQ(test, 0, rk_pull(rk, 1500, octets));
	rk_hand_back(rk, 0);
	KUNIT_EXPECT_NE(test, 0, rk_pull(rk, 1500, octets));
	KUNIT_EXPECT_EQ(test, 0x47, octets[1]);
	KUNIT_EXPECT_EQ(test, 0, rk->qp->open);
	rk_over(rk);
	KUNIT_EXPECT_STREQ(test, rk_polled(rk),
			   row->opcode == RDMAP_OP_RESPONSE ? "1f" : "1f 2f");
}

/*
 * An RTR is a Write or a Read without octets: RFC 6581 section 9.2. Chelsio's
 * RNICs refuse an STag of 0 in it.
 */
static void rtr_test(struct kunit *test)
{
	static const u8 write[14] = { 0xc1, 0x40, [5] = 1 };
	static const u8 read[46] = { 0x41, 0x41, [9] = 1, [13] = 1, [21] = 1,
				     [37] = 1 };
	struct rnic_kunit *rk = test->priv;
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = 1, .opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED },
	};
	const struct ib_send_wr *bad;
	unsigned int kicks;
	u8 octets[64];

	rk_qp(rk, 4);
	rk_up(rk, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, rnic_tx_rtr(rk->qp, &rk->conn, MPA_RTR_WRITE));
	KUNIT_ASSERT_EQ(test, sizeof(write), rk_pull(rk, 64, octets));
	KUNIT_EXPECT_MEMEQ(test, octets, write, sizeof(write));
	rk_hand_back(rk, 0);
	KUNIT_EXPECT_EQ(test, 0, rnic_tx_rtr(rk->qp, &rk->conn, MPA_RTR_READ));
	KUNIT_ASSERT_EQ(test, sizeof(read), rk_pull(rk, 64, octets));
	KUNIT_EXPECT_MEMEQ(test, octets, read, sizeof(read));
	rk_hand_back(rk, 0);
	/* Its Response belongs to no request. With ORD 1 Reads wait for it. */
	KUNIT_ASSERT_EQ(test, 0, rnic_post_send(&rk->qp->ib, &wr.wr, &bad));
	rnic_sq_run(rk->qp);
	KUNIT_EXPECT_EQ(test, 2, rk->conn.posted);
	kicks = rk->conn.kicks;
	octets[0] = 0xc1;
	octets[1] = 0x42;
	rk_recv(rk, octets, 14);
	KUNIT_EXPECT_FALSE(test, rk->qp->failed);
	KUNIT_EXPECT_STREQ(test, "", rk_polled(rk));
	KUNIT_EXPECT_GT(test, rk->conn.kicks, kicks);
	rnic_sq_run(rk->qp);
	KUNIT_EXPECT_EQ(test, 3, rk->conn.posted);
	rk_hand_back(rk, 0);
	rk_recv(rk, octets, 14);
	KUNIT_EXPECT_STREQ(test, "1", rk_polled(rk));
	rk_recv(rk, octets, 14);
	KUNIT_EXPECT_TRUE(test, rk->qp->failed);
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE_PARAM(message_test, row_gen_params),
	KUNIT_CASE(pieces_test),
	KUNIT_CASE_PARAM(cut_test, cut_gen_params),
	KUNIT_CASE(rtr_test),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "mpa_rnic_tx",
	.init = rk_init,
	.exit = rk_exit,
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);
