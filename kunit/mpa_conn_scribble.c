// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer changes the memory of a message before, or right after, it is
 * handed back. Over loopback, where the receiver gets TCP's pages themselves.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/string.h>
#include "mpa_conn_test.h"

/* How FPDUs are sent */
enum conn_scribble {
	SCRIBBLE_COPIED,	/* MPA copies, then computes the CRC */
	SCRIBBLE_GATHERED,	/* TCP copies after the CRC is computed */
	SCRIBBLE_PAGES,		/* zero copy */
	SCRIBBLE_COPY,		/* MPA_TX_COPY in place of gathering */
	SCRIBBLE_COPY_PAGES,	/* MPA_TX_COPY in place of zero copy */
};

enum {
	SCRIBBLE_LEN	= 1000,
	SCRIBBLE_NR	= 4,		/* in a page */
	SCRIBBLE_AT	= SCRIBBLE_LEN + 300,
	SCRIBBLE_TIMES	= 100,
};

static u8 *scribble_page(struct conn_test *t)
{
	if (!t->page[0])
		t->page[0] = alloc_page(GFP_KERNEL);
	ASSERT_NOT_NULL(t, t->page[0]);
	memcpy(page_address(t->page[0]), t->pool, PAGE_SIZE);
	return page_address(t->page[0]);
}

/* Prepare a message with its payload in the page, for zero copy or not. */
static struct conn_msg *scribble_msg(struct conn_test *t, u32 len)
{
	struct conn_msg *msg = conn_msg(t, len);
	u32 variant = conn_arg(t);

	msg->tx.hdr_len = 0;
	msg->tx.len = len;
	msg->kv.iov_base = scribble_page(t);
	msg->kv.iov_len = len;
	iov_iter_kvec(&msg->tx.data, ITER_SOURCE, &msg->kv, 1, len);
	if (variant == SCRIBBLE_COPY || variant == SCRIBBLE_COPY_PAGES)
		msg->tx.flags = MPA_TX_COPY;
	if (variant != SCRIBBLE_PAGES && variant != SCRIBBLE_COPY_PAGES)
		return msg;
	bvec_set_page(&msg->bv, t->page[0], len, 0);
	iov_iter_bvec(&msg->tx.data, ITER_SOURCE, &msg->bv, 1, len);
	msg->tx.flags |= MPA_TX_ZEROCOPY;
	return msg;
}

/* True if the octets are copied before the CRC is computed. */
static bool scribble_copied(struct conn_test *t)
{
	return conn_arg(t) != SCRIBBLE_GATHERED &&
	       conn_arg(t) != SCRIBBLE_PAGES;
}

/* FPDUs with markers are copied, FPDUs without are gathered. */
static void scribble_start(struct conn_test *t)
{
	conn_two(t, 0, conn_arg(t) == SCRIBBLE_COPIED ? MPA_F_MARKERS : 0);
}

/*
 * Change the second ULPDU when the third is asked for: the second has been laid
 * out, but not yet been given to TCP.
 */
static int scribble_next(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	u8 *data = msg->kv.iov_base;

	if (msg->asked == 2)
		data[SCRIBBLE_AT] ^= 1;
	tx->len = SCRIBBLE_LEN;
	return ++msg->asked < SCRIBBLE_NR;
}

static struct conn_msg *scribble_source(struct conn_test *t)
{
	struct conn_msg *msg = scribble_msg(t, SCRIBBLE_NR * SCRIBBLE_LEN);

	msg->tx.next = scribble_next;
	conn_send(t, msg);
	return msg;
}

/* Expect @nr ULPDUs with the octets of the pool. */
static void scribble_expect(struct conn_test *t, u32 nr)
{
	CONN_WAIT(t, &t->b, EV_ULPDUS, nr);
	ASSERT_EQ(t, mpa_consumer_count(&t->b, EV_ULPDUS), nr);
	ASSERT_EQ(t, 0, memcmp(t->b.rx, t->pool, nr * SCRIBBLE_LEN));
}

/*
 * A copied ULPDU is sent unchanged. One that TCP copies after the CRC has been
 * computed, or sends without a copy, has a wrong CRC and is not delivered.
 */
static void scribble_laid_out(struct conn_test *t)
{
	struct conn_msg *msg;

	scribble_start(t);
	msg = scribble_source(t);
	if (scribble_copied(t)) {
		scribble_expect(t, SCRIBBLE_NR);
	} else {
		conn_expect_end(t, &t->b, MPA_ERR_CRC, MPA_REASON_CRC);
		scribble_expect(t, 1);
	}
	EXPECT_EQ(t, msg->asked, SCRIBBLE_NR);
}

/* Two ULPDUs that fill segments; the first is changed once it is laid out. */
static int scribble_full_next(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	u8 *data = msg->kv.iov_base;

	if (msg->asked == 1)
		data[0] ^= 1;
	tx->len = max;
	return ++msg->asked < 2;
}

/* A message with MPA_TX_COPY right after one that was gathered */
static void scribble_behind(struct conn_test *t)
{
	struct conn_msg *msg;
	LIST_HEAD(list);
	u32 len;

	t->opts.maxseg = 1460;
	scribble_start(t);
	len = mpa_mulpdu(t->a.conn);
	list_add_tail(&conn_msg(t, len)->tx.list, &list);
	msg = scribble_msg(t, 2 * len);
	msg->tx.next = scribble_full_next;
	list_add_tail(&msg->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 3);
	ASSERT_EQ(t, t->b.rx_len, 3 * len);
	EXPECT_EQ(t, 0, memcmp(t->b.rx + len, t->pool, 2 * len));
}

/* A ULPDU in the same page, of which the first octet is changed then. */
static int scribble_first_next(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	u8 *data = msg->kv.iov_base;

	data[0] ^= 1;
	return 0;
}

/*
 * A message with MPA_TX_COPY and a template begins a train, and is changed when
 * a source that follows it is asked for a ULPDU.
 */
static void scribble_template(struct conn_test *t)
{
	static const struct mpa_template untagged = { 14, sizeof(u32), 0x40 };
	const u32 hdr_len = 18;
	struct conn_msg *msg;
	LIST_HEAD(list);
	u32 len;

	t->opts.maxseg = 1460;
	scribble_start(t);
	len = mpa_mulpdu(t->a.conn) - hdr_len;
	msg = scribble_msg(t, 2 * len + 100);
	msg->tx.flags |= MPA_TX_TEMPLATE;
	msg->tx.template = &untagged;
	msg->tx.hdr = t->pool;
	msg->tx.hdr_len = hdr_len;
	list_add_tail(&msg->tx.list, &list);
	msg = scribble_msg(t, 100);
	msg->tx.next = scribble_first_next;
	list_add_tail(&msg->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 4);
	EXPECT_EQ(t, 0, memcmp(t->b.rx + hdr_len, t->pool, len));
}

/* Without CRC the change is not detected. */
static void scribble_no_crc(struct conn_test *t)
{
	u32 i;

	conn_attach(t, 0);
	WRITE_ONCE(t->mn->crc, 0);
	conn_full(t, CONN_INITIATOR, 0, 0);
	scribble_source(t);
	t->pool[SCRIBBLE_AT] ^= 1;
	for (i = 0; i < SCRIBBLE_NR; i++) {
		ASSERT_EQ(t, conn_take(t), SCRIBBLE_LEN);
		EXPECT_EQ(t, 0, memcmp(t->buf, t->pool + i * SCRIBBLE_LEN,
				       SCRIBBLE_LEN));
	}
}

/* Expect the octets as sent in the batch that the receiver keeps. */
static void scribble_check_kept(struct conn_test *t)
{
	EXPECT_TRUE(t, conn_same(t->b.kept[0]->ulpdu, t->pool, SCRIBBLE_LEN));
}

/*
 * A change after the receiver has verified the FPDU does not change the
 * receiver's batch, which does not share the sender's pages.
 */
static void scribble_kept(struct conn_test *t)
{
	struct conn_msg *msg;

	scribble_start(t);
	t->b.keep = true;
	msg = scribble_msg(t, SCRIBBLE_LEN);
	conn_send(t, msg);
	scribble_expect(t, 1);
	memset(page_address(t->page[0]), 0x5a, PAGE_SIZE);
	scribble_check_kept(t);
	conn_expect_done(t, &t->a, 1, 0);
	scribble_check_kept(t);
	t->b.keep = false;
	mpa_consumer_put(&t->b, 0);
}

/* A change after the message is handed back does not change sent octets. */
static void scribble_handed_back(struct conn_test *t)
{
	struct conn_msg *msg;

	scribble_start(t);
	mpa_hold(t->b.conn);
	msg = scribble_msg(t, SCRIBBLE_LEN);
	conn_send(t, msg);
	conn_expect_done(t, &t->a, 1, 0);
	memset(page_address(t->page[0]), 0x5a, PAGE_SIZE);
	mpa_resume(t->b.conn);
	scribble_expect(t, 1);
}

static bool scribble_over(struct conn_test *t, u32 nr)
{
	return mpa_consumer_count(&t->a, EV_DONE) == nr ||
	       mpa_consumer_count(&t->b, EV_ENDED);
}

/* Invert all octets of the page repeatedly until the message is handed back. */
static void scribble_once(struct conn_test *t)
{
	unsigned long until = jiffies + 10 * HZ;
	struct conn_msg *msg = scribble_msg(t, SCRIBBLE_NR * SCRIBBLE_LEN);
	unsigned long *word = msg->kv.iov_base;
	u32 i;

	conn_send(t, msg);
	while (!scribble_over(t, t->nr_msg)) {
		ASSERT_TRUE(t, time_before(jiffies, until));
		for (i = 0; i < PAGE_SIZE / sizeof(*word); i++)
			WRITE_ONCE(word[i], ~READ_ONCE(word[i]));
		cond_resched();
	}
}

/* Expect that each octet delivered was in that memory at some time. */
static void scribble_check(struct conn_test *t)
{
	u32 len = SCRIBBLE_NR * SCRIBBLE_LEN;
	u32 nr = mpa_consumer_count(&t->b, EV_ULPDUS);
	u32 i;

	EXPECT_EQ(t, t->b.disorder, 0);
	for (i = 0; i < nr * len; i++) {
		u8 octet = t->b.rx[i], was = t->pool[i % len];

		ASSERT_TRUE(t, octet == was || octet == (u8)~was);
	}
	kunit_info(t->test, "%u of %u messages, then %s", nr, SCRIBBLE_TIMES,
		   mpa_reason_name(t->b.end.reason));
}

/* Changes at any time between mpa_send() and sent(). */
static void scribble_race(struct conn_test *t)
{
	u32 i;

	scribble_start(t);
	for (i = 0; i < SCRIBBLE_TIMES; i++) {
		if (mpa_consumer_count(&t->b, EV_ENDED))
			break;
		scribble_once(t);
	}
	if (scribble_copied(t))
		CONN_WAIT(t, &t->b, EV_ULPDUS, i);
	conn_settle(&t->b);
	scribble_check(t);
	if (mpa_consumer_count(&t->b, EV_ENDED))
		conn_expect_end(t, &t->b, MPA_ERR_CRC, MPA_REASON_CRC);
}

static const struct conn_row scribble_rows[] = {
	{ "changed after layout: copied", scribble_laid_out, SCRIBBLE_COPIED },
	{ "changed after layout: MPA_TX_COPY",
	  scribble_laid_out, SCRIBBLE_COPY },
	{ "changed after layout: MPA_TX_COPY, pages",
	  scribble_laid_out, SCRIBBLE_COPY_PAGES },
	{ "changed after layout: MPA_TX_COPY behind a gathered message",
	  scribble_behind, SCRIBBLE_COPY },
	{ "changed after layout: MPA_TX_COPY with a template",
	  scribble_template, SCRIBBLE_COPY },
	{ "ER-03: changed after layout: gathered",
	  scribble_laid_out, SCRIBBLE_GATHERED },
	{ "ER-03: changed after layout: pages",
	  scribble_laid_out, SCRIBBLE_PAGES },
	{ "CR-21: changed after layout: no CRC", scribble_no_crc },
	{ "changed after sent(): copied",
	  scribble_handed_back, SCRIBBLE_COPIED },
	{ "changed after sent(): gathered",
	  scribble_handed_back, SCRIBBLE_GATHERED },
	{ "changed after sent(): pages", scribble_handed_back, SCRIBBLE_PAGES },
	{ "changed after verification: copied",
	  scribble_kept, SCRIBBLE_COPIED },
	{ "changed after verification: gathered",
	  scribble_kept, SCRIBBLE_GATHERED },
	{ "changed after verification: pages", scribble_kept, SCRIBBLE_PAGES },
	{ "changed continuously: copied", scribble_race, SCRIBBLE_COPIED },
	{ "changed continuously: MPA_TX_COPY", scribble_race, SCRIBBLE_COPY },
	{ "changed continuously: MPA_TX_COPY, pages",
	  scribble_race, SCRIBBLE_COPY_PAGES },
	{ "changed continuously: gathered", scribble_race, SCRIBBLE_GATHERED },
	{ "changed continuously: pages", scribble_race, SCRIBBLE_PAGES },
};

CONN_ROWS(scribble);
