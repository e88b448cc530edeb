// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* STags and memory regions: checks, states, invalidation, copies */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>
#include "rnic_kunit.h"

#define MR_LEN	(3 * PAGE_SIZE - 32)	/* of the region of these tests */
#define ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ)

static struct rnic_mr *get(struct rnic_kunit *rk, struct ib_pd *pd, u32 stag,
			   int access, u64 addr, u64 len,
			   enum rnic_mr_error *err)
{
	return rnic_mr_get(rk->dev, pd, stag, access, addr, len, err);
}

struct check_row {
	const char		*desc;
	int			has;	/* rights of the region */
	int			needs;	/* rights of the use */
	s64			from;	/* offset from the first octet */
	u64			len;
	u32			stag;	/* bits that are wrong */
	bool			other;	/* protection domain */
	enum rnic_mr_error	want;
};

#define LW	IB_ACCESS_LOCAL_WRITE
#define RW	IB_ACCESS_REMOTE_WRITE
#define RR	IB_ACCESS_REMOTE_READ

static const struct check_row check_rows[] = {
	{ "first octet", ALL, RW, 0, 1 },
	{ "last octet", ALL, RW, MR_LEN - 1, 1 },
	{ "all octets", ALL, RW, 0, MR_LEN },
	{ "no octet at the start", ALL, RW, 0, 0 },
	{ "no octet at the end", ALL, RW, MR_LEN, 0 },
	{ "octet before", ALL, RW, -1, 1, .want = RNIC_MR_BOUNDS },
	{ "octet after", ALL, RW, MR_LEN, 1, .want = RNIC_MR_BOUNDS },
	{ "no octet before", ALL, RW, -1, 0, .want = RNIC_MR_BOUNDS },
	{ "no octet after", ALL, RW, MR_LEN + 1, 0, .want = RNIC_MR_BOUNDS },
	{ "one octet more", ALL, RW, 0, MR_LEN + 1, .want = RNIC_MR_BOUNDS },
	{ "begins before", ALL, RW, -1, 2, .want = RNIC_MR_BOUNDS },
	{ "ends after", ALL, RW, MR_LEN - 1, 2, .want = RNIC_MR_BOUNDS },
	{ "up to 2^64 - 1", ALL, RW, 0, U64_MAX - RK_IOVA,
	  .want = RNIC_MR_BOUNDS },
	{ "up to 2^64", ALL, RW, 0, -RK_IOVA, .want = RNIC_MR_WRAP },
	{ "wraps into it", ALL, RW, -RK_IOVA - 16, RK_IOVA + 32,
	  .want = RNIC_MR_WRAP },
	{ "wraps in front of it", ALL, RW, -RK_IOVA - 1, 2,
	  .want = RNIC_MR_WRAP },
	{ "key", ALL, RW, 0, 1, .stag = 0x02, .want = RNIC_MR_STAG },
	{ "key of before", ALL, RW, 0, 1, .stag = 0x01, .want = RNIC_MR_STAG },
	{ "unknown index", ALL, RW, 0, 1, .stag = 0x100,
	  .want = RNIC_MR_STAG },
	{ "unknown index, highest bit", ALL, RW, 0, 1, .stag = 0x80000000,
	  .want = RNIC_MR_STAG },
	{ "other domain", ALL, RW, 0, 1, .other = true, .want = RNIC_MR_PD },
	{ "other domain before rights", LW, RR, 0, 1, .other = true,
	  .want = RNIC_MR_PD },
	{ "wrong key before domain", ALL, RW, 0, 1, .stag = 2, .other = true,
	  .want = RNIC_MR_STAG },
	{ "Write without right", LW | RR, RW, 0, 1, .want = RNIC_MR_ACCESS },
	{ "Write with right alone", RW, RW, 0, 1 },
	{ "Read source without right", LW | RW, RR, 0, 1,
	  .want = RNIC_MR_ACCESS },
	{ "Read source with right alone", RR, RR, 0, 1 },
	{ "Read sink without right", RR | RW, LW, 0, 1,
	  .want = RNIC_MR_ACCESS },
	{ "Read sink with right alone", LW, LW, 0, 1 },
	{ "source of a Send", 0, 0, 0, 1 },
	{ "rights before bounds", LW, RR, -1, 1, .want = RNIC_MR_ACCESS },
};

MPA_ROWS(check, check_rows);

static void check_test(struct kunit *test)
{
	const struct check_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	enum rnic_mr_error err;
	struct rnic_mr *mr;

	rk_mr(rk, PAGE_SIZE, 3, row->has);
	mr = get(rk, row->other ? &rk->other_pd : &rk->pd,
		 rk->mr->stag ^ row->stag, row->needs, RK_IOVA + row->from,
		 row->len, &err);
	KUNIT_EXPECT_EQ(test, row->want, err);
	KUNIT_EXPECT_PTR_EQ(test, mr, row->want ? NULL : rk->mr);
	KUNIT_EXPECT_EQ(test, atomic_read(&rk->mr->users), mr ? 2 : 1);
	if (mr)
		rnic_mr_put(mr);
}

static void expect_use_at(struct rnic_kunit *rk, u32 stag, u64 addr,
			  bool usable)
{
	enum rnic_mr_error err;
	struct rnic_mr *mr = get(rk, &rk->pd, stag, RW, addr, 1, &err);

	KUNIT_EXPECT_EQ(rk->test, err, usable ? RNIC_MR_OK : RNIC_MR_STAG);
	if (mr)
		rnic_mr_put(mr);
}

static void expect_use(struct rnic_kunit *rk, u32 stag, bool usable)
{
	expect_use_at(rk, stag, RK_IOVA, usable);
}

enum place { MEM, LOW, HIGH, VMALLOC };

static const struct global_row {
	const char		*desc;
	int			needs;
	enum place		place;
	s64			from;
	u64			len;
	enum rnic_mr_error	want;
} global_rows[] = {
	{ "octets", RW, MEM, 0, 100 },
	{ "octets of two pages", RR, MEM, PAGE_SIZE - 1, 2 },
	{ "all of it", RW | RR, MEM, 0, 4 * PAGE_SIZE },
	{ "last octet of memory", RR, HIGH, -1, 1 },
	{ "first octet after memory", RR, HIGH, 0, 1, RNIC_MR_BOUNDS },
	{ "memory, and beyond", RR, HIGH, -PAGE_SIZE, PAGE_SIZE + 1,
	  RNIC_MR_BOUNDS },
	{ "beyond, by several pages", RW, HIGH, -2 * PAGE_SIZE, 4 * PAGE_SIZE,
	  RNIC_MR_BOUNDS },
	{ "memory of an address of its own", RW, VMALLOC, 0, 1,
	  RNIC_MR_BOUNDS },
	{ "much at a time", RR, LOW, 0, SZ_16M },
	{ "too much at a time", RR, LOW, 0, SZ_16M + 1, RNIC_MR_BOUNDS },
	{ "below memory", RR, LOW, -1, 2, RNIC_MR_BOUNDS },
	{ "our own use is not looked at", LW, HIGH, 0, 1 },
};

MPA_ROWS(global, global_rows);

/* Addresses that a peer names with the STag of all memory */
static void global_test(struct kunit *test)
{
	static const u64 nowhere[] = {
		0, 1, PAGE_SIZE, RK_IOVA, 1ULL << 47, 1ULL << 63, -PAGE_SIZE
	};
	const struct global_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	enum rnic_mr_error err;
	struct rnic_mr *mr, *used;
	u64 place[4], i;
	void *far;

	/* As on s390 */
	if (!PAGE_OFFSET && row->place == LOW && row->from)
		kunit_skip(test, "nothing is below memory");
	far = vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, far);
	rk_mr(rk, PAGE_SIZE, 2, ALL);
	mr = to_mr(rnic_get_dma_mr(&rk->pd, RW | RR));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	place[MEM] = (uintptr_t)rk->mem;
	place[LOW] = PAGE_OFFSET;
	place[HIGH] = (uintptr_t)high_memory;
	place[VMALLOC] = (uintptr_t)far;
	used = get(rk, &rk->pd, mr->stag, row->needs,
		   place[row->place] + row->from, row->len, &err);
	KUNIT_EXPECT_EQ(test, row->want, err);
	if (used)
		rnic_mr_put(used);
	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		if (nowhere[i] >= PAGE_OFFSET && nowhere[i] < place[HIGH])
			continue;
		KUNIT_EXPECT_NULL_MSG(test, get(rk, &rk->pd, mr->stag, RW,
						nowhere[i], 1, &err),
				      "%llx", nowhere[i]);
	}
	rk_mr_free(rk, mr);
	vfree(far);
}

/* A fast registration from its allocation to its second use */
static void state_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct ib_mr *ib = rnic_alloc_mr(&rk->pd, IB_MR_TYPE_MEM_REG, 1);
	struct rnic_mr *mr = to_mr(ib);
	u32 stag = ib->rkey;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ib);
	ib->iova = RK_IOVA;
	ib->length = 1;
	ib->page_size = PAGE_SIZE;
	/* Without a list of blocks */
	KUNIT_EXPECT_NE(test, 0, rnic_mr_register(&rk->pd, ib, stag + 7, RW));
	mr->nr_next = 1;
	expect_use(rk, stag, false);
	KUNIT_EXPECT_NE(test, 0, rnic_mr_register(&rk->other_pd, ib, stag, RW));
	KUNIT_EXPECT_NE(test, 0, rnic_mr_register(&rk->pd, ib, stag + 256, RW));
	expect_use(rk, stag, false);
	KUNIT_EXPECT_EQ(test, 0, rnic_mr_register(&rk->pd, ib, stag + 7, RW));
	expect_use(rk, stag, false);
	expect_use(rk, stag + 7, true);
	/* Registered already */
	KUNIT_EXPECT_NE(test, 0, rnic_mr_register(&rk->pd, ib, stag + 8, RW));
	expect_use(rk, stag + 7, true);
	KUNIT_EXPECT_EQ(test, 0, rnic_mr_invalidate(rk->dev, &rk->pd, stag + 7,
						    0, NULL));
	expect_use(rk, stag + 7, false);
	KUNIT_EXPECT_EQ(test, 0, rnic_mr_register(&rk->pd, ib, stag + 8, RR));
	expect_use(rk, stag + 7, false);
	KUNIT_EXPECT_EQ(test, mr->access, RR);
	rk_mr_free(rk, mr);
	expect_use(rk, stag + 8, false);
}

enum kind { FAST, DMA };

struct inv_row {
	const char	*desc;
	enum kind	kind;
	u32		stag;	/* bits that are wrong */
	bool		other;	/* protection domain */
	bool		user;	/* somebody uses it */
	bool		own;	/* no peer may use it */
	bool		local;	/* LOCAL_INV, not a peer's */
	int		more;	/* times */
	int		want;
	bool		valid;	/* afterwards */
};

static const struct inv_row inv_rows[] = {
	{ "fast registration", FAST },
	{ "key", FAST, .stag = 1, .want = -EINVAL, .valid = true },
	{ "index", FAST, .stag = 0x100, .want = -EINVAL, .valid = true },
	{ "other domain", FAST, .other = true, .want = -EINVAL, .valid = true },
	{ "in use", FAST, .user = true, .want = -EBUSY },
	{ "twice, by its owner", FAST, .local = true, .more = 1 },
	{ "no right for a peer", FAST, .own = true, .want = -EINVAL,
	  .valid = true },
	{ "shared by all connections of the domain", DMA, .want = -EINVAL,
	  .valid = true },
};

MPA_ROWS(inv, inv_rows);

static void inv_test(struct kunit *test)
{
	const struct inv_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	struct rnic_mr *mr, *user = NULL;
	enum rnic_mr_error err;
	u32 stag;
	int n;

	rk_mr(rk, PAGE_SIZE, 1, row->own ? IB_ACCESS_LOCAL_WRITE : ALL);
	mr = rk->mr;
	if (row->kind == DMA)
		mr = to_mr(rnic_get_dma_mr(&rk->pd, ALL));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	stag = mr->stag;
	if (row->user)
		user = get(rk, &rk->pd, stag, RW, RK_IOVA, 1, &err);
	for (n = 0; n <= row->more; n++)
		KUNIT_EXPECT_EQ(test, row->want,
				rnic_mr_invalidate(rk->dev, row->other ?
						   &rk->other_pd : &rk->pd,
						   stag ^ row->stag,
						   row->local ? 0 : RR | RW,
						   NULL));
	KUNIT_EXPECT_EQ(test, row->valid, mr->valid);
	if (!row->own)
		expect_use_at(rk, stag, row->kind == DMA ?
			      (uintptr_t)rk->mem : RK_IOVA, row->valid);
	if (user) {
		/* The fields of a region in use stay */
		KUNIT_EXPECT_NE(test, 0, rnic_mr_register(&rk->pd, &mr->ib,
							  stag, ALL));
		rnic_mr_put(user);
	}
	KUNIT_EXPECT_EQ(test, row->valid, atomic_read(&mr->users));
	if (row->kind == DMA)
		rk_mr_free(rk, mr);
}

/*
 * LOCAL_INVs of some of three QPs wait for a user of the region: when it goes
 * each of these is kicked, and one that waits alone is the only one.
 */
static void waiters_test(struct kunit *test)
{
	int waiting = *(const int *)test->param_value, i;
	struct rnic_kunit *rk = test->priv;
	struct mpa_conn conn[3] = {};
	enum rnic_mr_error err;
	struct rnic_qp *qp[3];
	struct rnic_mr *user;

	rk_mr(rk, PAGE_SIZE, 1, ALL);
	user = get(rk, &rk->pd, rk->mr->stag, RW, RK_IOVA, 1, &err);
	KUNIT_ASSERT_NOT_NULL(test, user);
	for (i = 0; i < 3; i++) {
		rk_qp(rk, 4);
		qp[i] = rk->qp;
		qp[i]->sq.conn = conn + i;
	}
	for (i = 0; i < 2 * waiting; i++)
		KUNIT_EXPECT_EQ(test, -EBUSY,
				rnic_mr_invalidate(rk->dev, &rk->pd,
						   rk->mr->stag, 0,
						   qp[i % waiting]));
	rnic_mr_put(user);
	for (i = 0; i < 3; i++) {
		if (i < waiting || waiting == 1)
			KUNIT_EXPECT_EQ(test, i < waiting, conn[i].kicks);
		qp[i]->sq.conn = NULL;
	}
	KUNIT_EXPECT_EQ(test, 0, rk->mr->waiter);
	for (i = 0; i < 2; i++)
		rnic_destroy_qp(&qp[i]->ib, NULL);
}

static const int waiters_rows[] = { 1, 2, 3 };
KUNIT_ARRAY_PARAM(waiters, waiters_rows, NULL);

/* An STag does not tell what the next one is. */
static void stag_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct ib_mr *ib[32];
	int i, near = 0;

	for (i = 0; i < ARRAY_SIZE(ib); i++) {
		ib[i] = rnic_alloc_mr(&rk->pd, IB_MR_TYPE_MEM_REG, 1);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ib[i]);
		if (i && abs((int)(ib[i]->rkey >> 8) -
			     (int)(ib[i - 1]->rkey >> 8)) < 4096)
			near++;
	}
	/* By chance one of 2048 is. */
	KUNIT_EXPECT_LT(test, near, 4);
	while (i--)
		rk_mr_free(rk, to_mr(ib[i]));
}

static void gaps_place(struct rnic_mr *mr, u64 addr, const char *octets)
{
	struct rnic_payload from = { .p = octets };

	rnic_mr_place(mr, addr, &from, strlen(octets));
}

/* Entries of any address and length, one of them empty */
static void gaps_test(struct kunit *test)
{
	struct rnic_kunit *rk = test->priv;
	struct ib_mr *ib = rnic_alloc_mr(&rk->pd, IB_MR_TYPE_SG_GAPS, 4);
	char *mem = kunit_kzalloc(test, 32, GFP_KERNEL);
	const struct { int at, len; } entries[] = {
		{ 1, 3 }, { 10, 0 }, { 20, 5 }, { 8, 2 },
	};
	struct scatterlist sg[ARRAY_SIZE(entries)];
	unsigned int offset = 1;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ib);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	sg_init_table(sg, ARRAY_SIZE(sg));
	for (i = 0; i < ARRAY_SIZE(sg); i++) {
		sg_dma_address(&sg[i]) = (uintptr_t)mem + entries[i].at;
		sg_dma_len(&sg[i]) = entries[i].len;
	}
	ib->page_size = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, 4, rnic_map_mr_sg(ib, sg, 4, &offset));
	KUNIT_EXPECT_EQ(test, 0, offset);
	KUNIT_EXPECT_EQ(test, 9, ib->length);
	KUNIT_EXPECT_EQ(test, (uintptr_t)mem + 2, ib->iova);
	KUNIT_EXPECT_EQ(test, 0, rnic_mr_register(&rk->pd, ib, ib->rkey, RW));
	gaps_place(to_mr(ib), ib->iova, "abcdefghi");
	gaps_place(to_mr(ib), ib->iova + 1, "BC");
	gaps_place(to_mr(ib), ib->iova + 8, "I");
	KUNIT_EXPECT_MEMEQ(test, mem, "\0\0aB\0\0\0\0hI", 11);
	KUNIT_EXPECT_MEMEQ(test, mem + 19, "\0Cdefg\0", 8);
	rk_mr_free(rk, to_mr(ib));
}

/*
 * A list of more entries than the region takes: it has the first, and cannot be
 * registered for octets of the others.
 */
static void more_test(struct kunit *test)
{
	bool gaps = *(const int *)test->param_value;
	struct rnic_kunit *rk = test->priv;
	struct ib_mr *ib = rnic_alloc_mr(&rk->pd, gaps ? IB_MR_TYPE_SG_GAPS :
						  IB_MR_TYPE_MEM_REG, 1);
	struct scatterlist sg[2];
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ib);
	sg_init_table(sg, ARRAY_SIZE(sg));
	for (i = 0; i < ARRAY_SIZE(sg); i++) {
		sg_dma_address(sg + i) = (4 - 2 * i) * PAGE_SIZE;
		sg_dma_len(sg + i) = PAGE_SIZE;
	}
	ib->page_size = PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, 1, rnic_map_mr_sg(ib, sg, ARRAY_SIZE(sg), NULL));
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, ib->length);
	KUNIT_EXPECT_EQ(test, 4 * PAGE_SIZE, ib->iova);
	if (!gaps) {
		ib->length = PAGE_SIZE + 1;
		KUNIT_EXPECT_NE(test, 0, rnic_mr_register(&rk->pd, ib,
							  ib->rkey, RW));
		ib->length = PAGE_SIZE;
		ib->iova++;
		KUNIT_EXPECT_NE(test, 0, rnic_mr_register(&rk->pd, ib,
							  ib->rkey, RW));
		ib->iova--;
	}
	KUNIT_EXPECT_EQ(test, 0, rnic_mr_register(&rk->pd, ib, ib->rkey, RW));
	rk_mr_free(rk, to_mr(ib));
}

static const int more_rows[] = { false, true };
KUNIT_ARRAY_PARAM(more, more_rows, NULL);

/* The kernel's ULPs alone call it: each of its allocations fails once. */
static void nomem_test(struct kunit *test)
{
#ifdef CONFIG_FAULT_INJECTION
	struct rnic_kunit *rk = test->priv;
	int nth = 0, failed = 0, left;
	struct ib_mr *ib;

	do {
		current->fail_nth = ++nth;
		ib = rnic_alloc_mr(&rk->pd, IB_MR_TYPE_SG_GAPS, 4);
		left = current->fail_nth;
		current->fail_nth = 0;
		/* Those of kmemleak may fail without harm. */
		if (!IS_ERR(ib)) {
			rk_mr_free(rk, to_mr(ib));
			continue;
		}
		KUNIT_EXPECT_PTR_EQ(test, ib, ERR_PTR(-ENOMEM));
		failed++;
	} while (!left);
	if (!failed)
		kunit_skip(test, "failslab spares allocations that can wait");
	/* The MR, and its two lists of blocks */
	KUNIT_EXPECT_GE(test, failed, 3);
#else
	kunit_skip(test, "this kernel lets no allocation fail");
#endif
}

struct copy_row {
	const char	*desc;
	u32		block;	/* 0: the DMA region */
	u32		nr;
	u32		off;
	u32		len;
};

static const struct copy_row copy_rows[] = {
	{ "an octet", PAGE_SIZE, 3, 5, 1 },
	{ "first octet", PAGE_SIZE, 3, 0, 1 },
	{ "last octet", PAGE_SIZE, 3, MR_LEN - 1, 1 },
	{ "up to the edge", PAGE_SIZE, 3, 1, PAGE_SIZE - 17 },
	{ "octet at the edge", PAGE_SIZE, 3, PAGE_SIZE - 17, 1 },
	{ "octet past the edge", PAGE_SIZE, 3, PAGE_SIZE - 16, 1 },
	{ "over the edge", PAGE_SIZE, 3, PAGE_SIZE - 17, 2 },
	{ "over two edges", PAGE_SIZE, 3, PAGE_SIZE - 19, PAGE_SIZE + 5 },
	{ "a block", PAGE_SIZE, 3, PAGE_SIZE - 16, PAGE_SIZE },
	{ "all", PAGE_SIZE, 3, 0, MR_LEN },
	{ "inside a block of two pages", 2 * PAGE_SIZE, 2, PAGE_SIZE - 20, 33 },
	{ "over the edge of two pages", 2 * PAGE_SIZE, 2, 2 * PAGE_SIZE - 30,
	  21 },
	{ "all of one block", PAGE_SIZE, 1, 0, PAGE_SIZE - 32 },
	{ "kernel addresses", 0, 3, PAGE_SIZE - 19, PAGE_SIZE + 5 },
};

MPA_ROWS(copy, copy_rows);

/* Where an octet of rk_mr() is: blocks go backwards, with gaps */
static u32 place_of(u32 block, u32 nr, u32 off)
{
	u32 at = off + 16;

	return 2 * (nr - 1 - at / block) * block + at % block;
}

/* Octets go where they belong, and nothing else changes; and they come back. */
static void copy_test(struct kunit *test)
{
	const struct copy_row *row = test->param_value;
	u32 block = row->block ?: PAGE_SIZE, size = 2 * row->nr * block, i;
	u32 done = 0, room, part;
	struct rnic_kunit *rk = test->priv;
	u8 *octets, *want, *back;
	struct rnic_payload from;
	struct rnic_at at = {};
	struct rnic_sgl sgl;
	struct rnic_mr *mr;
	u64 to;

	octets = kunit_kzalloc(test, row->len, GFP_KERNEL);
	back = kunit_kzalloc(test, row->len, GFP_KERNEL);
	want = kunit_kzalloc(test, size, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, octets && want && back);
	rk_mr(rk, block, row->nr, ALL);
	mr = rk->mr;
	to = RK_IOVA + row->off;
	if (!row->block) {
		/* As ib_alloc_pd() does; it is a sink of Reads, too. */
		mr = to_mr(rnic_get_dma_mr(&rk->pd, RW | RR));
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
		KUNIT_EXPECT_TRUE(test, mr->access & LW);
		to = (uintptr_t)rk->mem + row->off;
	}
	for (i = 0; i < row->len; i++) {
		octets[i] = 1 + i % 251;
		want[row->block ? place_of(block, row->nr, row->off + i) :
				  row->off + i] = octets[i];
	}
	from.p = octets;
	rnic_mr_place(mr, to, &from, row->len);
	KUNIT_EXPECT_MEMEQ(test, rk->mem, want, size);

	/* An empty element, then two that meet in the middle */
	sgl = (struct rnic_sgl) {
		.sge	= { { to, 0, 1 },
			    { to, row->len / 2, mr->stag },
			    { to + row->len / 2, row->len - row->len / 2,
			      mr->stag } },
		.mr	= { NULL, mr, mr },
		.nr	= 3,
		.len	= row->len,
	};
	for (; done < row->len; done += part) {
		void *octet = rnic_sgl_at(&sgl, &at, &room);

		KUNIT_ASSERT_NE(test, 0, room);
		KUNIT_ASSERT_LE(test, room, row->len - done);
		part = min(room, 777U);
		memcpy(back + done, octet, part);
		at.off += part;
	}
	KUNIT_EXPECT_MEMEQ(test, back, octets, row->len);
	if (!row->block)
		rk_mr_free(rk, mr);
}

/*
 * Patience with a peer, of regions deregistered one after the other: w if
 * dereg_mr() waits before it has connections end, - if not
 */
struct patience_row {
	const char	*desc;
	bool		user;
	bool		going;	/* the device */
	const char	*want;
};

static const struct patience_row patience_rows[] = {
	{ "the kernel's", .want = "ww" },
	{ "an application's", true, .want = "w--" },
	{ "the device goes", .going = true, .want = "--" },
};

MPA_ROWS(patience, patience_rows);

struct dereg {
	struct work_struct		work;
	struct rnic_kunit		*rk;
	const struct patience_row	*row;
	struct rnic_ucontext		ctx;
};

static void dereg_work(struct work_struct *work)
{
	struct dereg *dereg = container_of(work, struct dereg, work);
	struct uverbs_attr_bundle attrs = { .context = &dereg->ctx.ib };

	rnic_dereg_mr(&dereg->rk->mr->ib,
		      dereg->row->user ? &attrs.driver_udata : NULL);
}

/* True if dereg_mr() of a region with a user has waited */
static bool dereg_waits(struct dereg *dereg)
{
	struct rnic_kunit *rk = dereg->rk;
	unsigned long begun;
	int i;

	rk_mr(rk, PAGE_SIZE, 1, ALL);
	atomic_inc(&rk->mr->users);
	begun = jiffies;
	INIT_WORK_ONSTACK(&dereg->work, dereg_work);
	schedule_work(&dereg->work);
	for (i = 0; i < 500 && !READ_ONCE(rk->mr->dying); i++)
		msleep(20);
	begun = jiffies - begun;
	rnic_mr_put(rk->mr);
	flush_work(&dereg->work);
	destroy_work_on_stack(&dereg->work);
	free_pages((unsigned long)rk->mem, get_order(2 * PAGE_SIZE));
	rk->mr = NULL;
	return begun >= HZ;
}

static void patience_test(struct kunit *test)
{
	const struct patience_row *row = test->param_value;
	struct rnic_kunit *rk = test->priv;
	struct dereg dereg = { .rk = rk, .row = row };
	const char *want;
	bool waits;
	int tries;

	rk->dev->going = row->going;
	for (want = row->want; *want; want++) {
		/* A busy machine may be late, but not each time. */
		for (tries = *want == '-' ? 5 : 1; tries; tries--) {
			waits = dereg_waits(&dereg);
			if (!waits)
				break;
		}
		KUNIT_EXPECT_EQ_MSG(test, *want == 'w', waits, "%s", want);
	}
	/* In a while it is patient again. */
	if (row->user) {
		dereg.ctx.timed_out -= 10 * HZ;
		KUNIT_EXPECT_TRUE(test, dereg_waits(&dereg));
	}
	rk->dev->going = false;
}

static struct kunit_case mr_cases[] = {
	KUNIT_CASE_PARAM(check_test, check_gen_params),
	KUNIT_CASE_PARAM(global_test, global_gen_params),
	KUNIT_CASE(state_test),
	KUNIT_CASE_PARAM(inv_test, inv_gen_params),
	KUNIT_CASE_PARAM(waiters_test, waiters_gen_params),
	KUNIT_CASE_PARAM(patience_test, patience_gen_params),
	KUNIT_CASE_PARAM(copy_test, copy_gen_params),
	KUNIT_CASE(gaps_test),
	KUNIT_CASE_PARAM(more_test, more_gen_params),
	KUNIT_CASE(nomem_test),
	KUNIT_CASE(stag_test),
	{}
};

static struct kunit_suite mr_suite = {
	.name = "mpa_rnic_mr",
	.init = rk_init,
	.exit = rk_exit,
	.test_cases = mr_cases,
};

kunit_test_suite(mr_suite);
