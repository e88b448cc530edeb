// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Headers against octets written by hand from RFC 5041 section 4 and RFC 5040
 * section 4, and Terminates against RFC 5040 figures 9 and 10.
 */
#include "rnic_kunit.h"

struct hdr_row {
	const char		*desc;
	u8			octets[RDMAP_UNTAGGED_LEN];
	u32			len;
	struct rdmap_hdr	hdr;
	bool			rsvd;	/* reserved bits, ignored */
};

#define UNTAGGED(op, l) .last = (l), .ddp_version = 1, .version = 1, \
	.opcode = RDMAP_OP_##op
#define WRITE_HDR(l) .tagged = true, .last = (l), .ddp_version = 1, \
	.version = 1, .opcode = RDMAP_OP_WRITE

static const struct hdr_row hdr_rows[] = {
	{ "RDMA Write", { 0xc1, 0x40, 0x12, 0x34, 0x56, 0x78,
	  0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08 }, 14,
	  { WRITE_HDR(true), .stag = 0x12345678,
	    .to = 0x0102030405060708 } },
	{ "RDMA Write, not last", { 0x81, 0x40, 0xff, 0xff, 0xff, 0xff,
	  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, 14,
	  { WRITE_HDR(false), .stag = 0xffffffff, .to = U64_MAX } },
	{ "Read Request", { 0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 1,
	  0x01, 0x02, 0x03, 0x04, 0, 0, 0, 0 }, 18,
	  { UNTAGGED(READ, true), .qn = 1, .msn = 0x01020304 } },
	{ "Send", { 0x01, 0x43, 0, 0, 0, 0, 0, 0, 0, 0,
	  0xff, 0xff, 0xff, 0xff, 0x10, 0x20, 0x30, 0x40 }, 18,
	  { UNTAGGED(SEND, false), .msn = U32_MAX, .mo = 0x10203040 } },
	{ "Send with Invalidate", { 0x41, 0x44, 0xaa, 0xbb, 0xcc, 0xdd,
	  0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 }, 18,
	  { UNTAGGED(SEND_INV, true), .stag = 0xaabbccdd, .msn = 1 } },
	{ "Send with SE", { 0x41, 0x45, 0, 0, 0, 0,
	  0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 }, 18,
	  { UNTAGGED(SEND_SE, true), .msn = 1 } },
	{ "Send with SE and Invalidate", { 0x41, 0x46, 0, 0, 0, 1,
	  0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 }, 18,
	  { UNTAGGED(SEND_SE_INV, true), .stag = 1, .msn = 1 } },
	{ "reserved bits, tagged", { 0xfd, 0x70, 0, 0, 0, 1,
	  0, 0, 0, 0, 0, 0, 0, 2 }, 14,
	  { WRITE_HDR(true), .stag = 1, .to = 2 }, true },
	{ "reserved bits, untagged", { 0x7d, 0x73, 0, 0, 0, 0,
	  0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 }, 18,
	  { UNTAGGED(SEND, true), .msn = 1 }, true },
};

MPA_ROWS(hdr, hdr_rows);

static void hdr_test(struct kunit *test)
{
	const struct hdr_row *row = test->param_value;
	const struct rdmap_hdr *want = &row->hdr;
	struct rdmap_hdr hdr;
	u8 octets[32];
	u32 len;

	if (!row->rsvd) {
		memset(octets, 0x5a, sizeof(octets));
		KUNIT_EXPECT_EQ(test, row->len, rdmap_hdr_write(octets, want));
		KUNIT_EXPECT_MEMEQ(test, octets, row->octets, row->len);
		KUNIT_EXPECT_EQ(test, octets[row->len], 0x5a);
	}
	for (len = 0; len < row->len; len++)
		KUNIT_EXPECT_EQ(test, 0,
				rdmap_hdr_read(&hdr, row->octets, len));
	memset(&hdr, 0x5a, sizeof(hdr));
	KUNIT_ASSERT_EQ(test, len, rdmap_hdr_read(&hdr, row->octets, len));
	KUNIT_EXPECT_EQ(test, hdr.last, want->last);
	KUNIT_EXPECT_EQ(test, hdr.tagged, want->tagged);
	KUNIT_EXPECT_EQ(test, hdr.ddp_version, want->ddp_version);
	KUNIT_EXPECT_EQ(test, hdr.version, want->version);
	KUNIT_EXPECT_EQ(test, hdr.opcode, want->opcode);
	KUNIT_EXPECT_EQ(test, hdr.stag, want->stag);
	KUNIT_EXPECT_EQ(test, hdr.to, want->to);
	KUNIT_EXPECT_EQ(test, hdr.qn, want->qn);
	KUNIT_EXPECT_EQ(test, hdr.msn, want->msn);
	KUNIT_EXPECT_EQ(test, hdr.mo, want->mo);
}

/* Control octets, queue; then layer and type in one octet, and code */
struct check_row {
	const char	*desc;
	u8		ddp, rdmap;
	u32		qn;
	u8		version;
	u16		want;		/* 0xffff: none */
};

static const struct check_row check_rows[] = {
	{ "Write",			0xc1, 0x40, 0, 1, 0xffff },
	{ "Write, version 0",		0xc0, 0x00, 0, 0, 0xffff },
	{ "Send, version 0",		0x40, 0x03, 0, 0, 0xffff },
	{ "Terminate",			0x41, 0x47, 2, 1, 0xffff },
	{ "DDP 0 tagged",		0xc0, 0x40, 0, 1, 0x1104 },
	{ "DDP 2 tagged",		0xc2, 0x40, 0, 1, 0x1104 },
	{ "DDP 3 tagged",		0xc3, 0x40, 0, 1, 0x1104 },
	{ "DDP 1 tagged, of version 0",	0xc1, 0x00, 0, 0, 0x1104 },
	{ "DDP 0 untagged",		0x40, 0x43, 0, 1, 0x1206 },
	{ "DDP 2 untagged",		0x42, 0x43, 0, 1, 0x1206 },
	{ "DDP 0 untagged, bad queue",	0x40, 0x43, 9, 1, 0x1206 },
	{ "queue 3",			0x41, 0x43, 3, 1, 0x1201 },
	{ "queue 2^32 - 1",		0x41, 0x43, U32_MAX, 1, 0x1201 },
	{ "queue 3, RDMAP 0",		0x41, 0x03, 3, 1, 0x1201 },
	{ "RDMAP 0 tagged",		0xc1, 0x00, 0, 1, 0x0205 },
	{ "RDMAP 2 untagged",		0x41, 0x83, 0, 1, 0x0205 },
	{ "RDMAP 3, bad opcode",	0x41, 0xcf, 0, 1, 0x0205 },
	{ "RDMAP 1 of version 0",	0x40, 0x43, 0, 0, 0x0205 },
	{ "opcode 8",			0x41, 0x48, 0, 1, 0x0206 },
	{ "opcode 15",			0x41, 0x4f, 0, 1, 0x0206 },
	{ "opcode 8 tagged",		0xc1, 0x48, 0, 1, 0x0206 },
	{ "Write untagged",		0x41, 0x40, 0, 1, 0x0206 },
	{ "Read Request tagged",	0xc1, 0x41, 0, 1, 0x0206 },
	{ "Read Response untagged",	0x41, 0x42, 0, 1, 0x0206 },
	{ "Send tagged",		0xc1, 0x43, 0, 1, 0x0206 },
	{ "Terminate tagged",		0xc1, 0x47, 0, 1, 0x0206 },
	{ "Send on queue 1",		0x41, 0x43, 1, 1, 0x0206 },
	{ "Send with SE on queue 2",	0x41, 0x45, 2, 1, 0x0206 },
	{ "Read Request on queue 0",	0x41, 0x41, 0, 1, 0x0206 },
	{ "Read Request on queue 2",	0x41, 0x41, 2, 1, 0x0206 },
	{ "Terminate on queue 0",	0x41, 0x47, 0, 1, 0x0206 },
	{ "Terminate on queue 1",	0x41, 0x47, 1, 1, 0x0206 },
};

MPA_ROWS(check, check_rows);

static void check_test(struct kunit *test)
{
	const struct check_row *row = test->param_value;
	u8 octets[RDMAP_UNTAGGED_LEN] = { row->ddp, row->rdmap };
	struct rdmap_hdr hdr;
	u32 err;

	put_unaligned_be32(row->qn, octets + 6);
	KUNIT_ASSERT_NE(test, 0, rdmap_hdr_read(&hdr, octets, sizeof(octets)));
	err = rdmap_hdr_check(&hdr, row->version);
	if (row->want == 0xffff)
		KUNIT_EXPECT_EQ(test, 0, err);
	else
		KUNIT_EXPECT_EQ(test, BIT(16) | row->want, err);
}

/* RFC 5040 figure 10: the third octet tells what follows. */
struct term_row {
	const char	*desc;
	u32		err;
	u32		hdr_len;
	u8		want[3];
	u32		want_len;
};

static const struct term_row term_rows[] = {
	{ "local, a Send", RDMAP_ERR_LOCAL, 18, { 0x00, 0x00, 0x00 }, 4 },
	{ "CRC", RDMAP_ERR_MPA(MPA_ERR_CRC), 0, { 0x20, 0x02, 0x00 }, 4 },
	{ "marker", RDMAP_ERR_MPA(MPA_ERR_MARKER), 0, { 0x20, 0x03, 0x00 }, 4 },
	{ "tagged", DDP_ERR_TAGGED_WRAP, 14, { 0x11, 0x03, 0xc0 }, 6 + 14 },
	{ "MSN", DDP_ERR_MSN, 18, { 0x12, 0x03, 0xc0 }, 6 + 18 },
	{ "MSN, Read Request", DDP_ERR_MSN, 46, { 0x12, 0x03, 0xc0 }, 6 + 18 },
	{ "opcode", RDMAP_ERR_OPCODE, 14, { 0x02, 0x06, 0xc0 }, 6 + 14 },
	{ "RDMAP version, Read Request", RDMAP_ERR_VERSION, 46,
	  { 0x02, 0x05, 0xc0 }, 6 + 18 },
	{ "invalidate", RDMAP_ERR_INVALIDATE, 18, { 0x01, 0x09, 0xc0 },
	  6 + 18 },
	{ "STag, Read Request", RDMAP_ERR_STAG, 46, { 0x01, 0x00, 0xe0 },
	  6 + 46 },
};

MPA_ROWS(term, term_rows);

static void term_test(struct kunit *test)
{
	const struct term_row *row = test->param_value;
	u8 octets[RDMAP_TERM_MAX], hdr[RDMAP_HDR_MAX];
	u32 i, len, got;
	bool swapped;

	for (i = 0; i < sizeof(hdr); i++)
		hdr[i] = 100 + i;
	memset(octets, 0x5a, sizeof(octets));
	len = rdmap_term_write(octets, row->err, 0xabcd, hdr, row->hdr_len);
	KUNIT_ASSERT_EQ(test, row->want_len, len);
	KUNIT_EXPECT_MEMEQ(test, octets, row->want, 3);
	KUNIT_EXPECT_EQ(test, octets[3], 0);
	KUNIT_EXPECT_EQ(test, octets[len], 0x5a);
	if (len > 4) {
		KUNIT_EXPECT_EQ(test, 0xabcd, get_unaligned_be16(octets + 4));
		KUNIT_EXPECT_MEMEQ(test, octets + 6, hdr, len - 6);
	}
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0, rdmap_term_read(octets, i, &swapped));
	got = rdmap_term_read(octets, len, &swapped);
	KUNIT_EXPECT_EQ(test, row->err, got);
	KUNIT_EXPECT_FALSE(test, swapped);
}

/*
 * Those of the peer. siw has layer and type the other way round, and mirrors
 * the bits after the code.
 */
struct got_row {
	const char	*desc;
	u8		octets[4];
	u32		err;
	bool		swapped;
};

static const struct got_row got_rows[] = {
	{ "CRC", { 0x20, 0x02 }, RDMAP_ERR_MPA(MPA_ERR_CRC) },
	{ "CRC, siw", { 0x02, 0x02 }, RDMAP_ERR_MPA(MPA_ERR_CRC), true },
	{ "frame, siw", { 0x02, 0x04 }, RDMAP_ERR_MPA(MPA_ERR_FRAME), true },
	{ "IRD, siw", { 0x02, 0x06 }, RDMAP_ERR_MPA(MPA_ERR_IRD), true },
	{ "RTR, siw", { 0x02, 0x07 }, RDMAP_ERR_MPA(MPA_ERR_RTR), true },
	{ "version, no headers", { 0x02, 0x05 }, RDMAP_ERR_VERSION },
	{ "code 8, no headers", { 0x02, 0x08 }, RDMAP_ERR_RDMA(OPERATION, 8) },
	{ "code 9, no headers", { 0x02, 0x09 }, RDMAP_ERR_RDMA(OPERATION, 9) },
	{ "STag", { 0x01, 0x00, 0xe0 }, RDMAP_ERR_STAG },
	{ "STag, siw", { 0x10, 0x00, 0x07 }, RDMAP_ERR_STAG, true },
	{ "opcode", { 0x02, 0x06, 0xc0 }, RDMAP_ERR_OPCODE },
	{ "opcode, siw", { 0x20, 0x06, 0x03 }, RDMAP_ERR_OPCODE, true },
	{ "queue, siw", { 0x21, 0x01, 0x06 }, DDP_ERR_QN, true },
	{ "unspecified", { 0x02, 0xff }, RDMAP_ERR_UNSPECIFIED },
	{ "local", { 0x00, 0x00 }, RDMAP_ERR_LOCAL },
};

MPA_ROWS(got, got_rows);

static void got_test(struct kunit *test)
{
	const struct got_row *row = test->param_value;
	bool swapped;

	KUNIT_EXPECT_EQ(test, row->err,
			rdmap_term_read(row->octets, 4, &swapped));
	KUNIT_EXPECT_EQ(test, row->swapped, swapped);
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE_PARAM(hdr_test, hdr_gen_params),
	KUNIT_CASE_PARAM(check_test, check_gen_params),
	KUNIT_CASE_PARAM(term_test, term_gen_params),
	KUNIT_CASE_PARAM(got_test, got_gen_params),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "mpa_rnic_wire",
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
