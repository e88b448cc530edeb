// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Zero copy: which messages are sent so, and when their pages are free. */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

/* Expect that only the case has references on the pages. */
static void zerocopy_expect_free(struct conn_test *t)
{
	u32 i;

	for (i = 0; i < CONN_PAGES; i++)
		if (t->page[i])
			EXPECT_TRUE(t, CONN_UNTIL(page_count(t->page[i]) == 1));
}

/*
 * Post plain messages, then @nr messages with pages, one by one. The latter
 * stay in TCP: the peer acknowledges nothing. If TCP sent one again by then, in
 * a slow guest, it would take no others.
 */
static void zerocopy_send(struct conn_test *t, u32 nr)
{
	unsigned long before;
	u32 i;

	t->opts.sndbuf = 200000;
	conn_open_row(t);
	conn_never_again(t);
	mpa_peer_stop(&t->peer);
	before = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	t->nr_plain = CONN_PAGES - nr;
	conn_post_many(t, t->nr_plain, 3000);
	for (i = 0; i < nr; i++)
		conn_send(t, conn_page_msg(t, 3000));
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_ZEROCOPY) - before, nr);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_DONE), t->nr_plain);
	for (i = t->nr_plain; i < CONN_PAGES; i++)
		ASSERT_GT(t, page_count(t->page[i]), 1);
}

/* Expect all messages back, with @err all that zerocopy_send() left in TCP. */
static void zerocopy_expect_failed(struct conn_test *t, int err)
{
	u32 i;

	conn_expect_done(t, &t->a, t->nr_msg, err);
	for (i = t->nr_plain; i < t->nr_msg; i++)
		EXPECT_EQ(t, t->a.done[i]->status, err);
}

/* A detach that has to wait for pages, longer than the second it would take */
static void zerocopy_begin_detach(struct conn_test *t)
{
	struct mpa_conn *conn = t->a.conn;

	mpa_conn_get(conn);
	mpa_detach(conn);
	flush_work(&conn->work);
	mod_timer(&conn->timer, jiffies + 100 * HZ);
	mpa_conn_put(conn);
	CONN_COUNT(t, &t->a, EV_RELEASED, 0);
}

/*
 * A message is handed back once the stack has dropped its pages. TCP accounts
 * for their octets, not for a page per fragment.
 */
static void zerocopy_pages(struct conn_test *t)
{
	u32 i;

	zerocopy_send(t, CONN_PAGES / 2);
	EXPECT_LT(t, READ_ONCE(t->a.conn->sk->sk_wmem_queued),
		  2 * 3000 * CONN_PAGES);
	conn_post(t, 50);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_DONE, t->nr_plain);
	mpa_peer_continue(&t->peer);
	for (i = 0; i < CONN_PAGES; i++)
		conn_expect_tx(t, 3000);
	conn_expect_tx(t, 50);
	conn_expect_alive(t, &t->a);
	conn_expect_done(t, &t->a, t->nr_msg, 0);
	zerocopy_expect_free(t);
}

/* Messages in slab and vmalloc memory are copied, and handed back at once. */
static void zerocopy_copied(struct conn_test *t)
{
	u8 *slab = kunit_kmalloc(t->test, 1024, GFP_KERNEL);
	struct conn_msg *msg;
	unsigned long before;

	ASSERT_NOT_NULL(t, slab);
	conn_open_row(t);
	before = conn_counter(t, MPA_MIB_TX_COPIED);
	msg = conn_msg(t, 3000);
	msg->tx.flags = MPA_TX_ZEROCOPY;
	conn_send(t, msg);

	msg = conn_msg(t, CONN_HDR + 1024);
	memcpy(slab, msg->kv.iov_base, 1024);
	bvec_set_page(&msg->bv, virt_to_page(slab), 1024,
		      offset_in_page(slab));
	iov_iter_bvec(&msg->tx.data, ITER_SOURCE, &msg->bv, 1, 1024);
	msg->tx.flags = MPA_TX_ZEROCOPY;
	conn_send(t, msg);
	conn_expect_done(t, &t->a, 2, 0);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_COPIED) - before, 2);
	memset(slab, 0, 1024);
	conn_expect_tx(t, 3000);
	conn_expect_tx(t, CONN_HDR + 1024);
}

/*
 * Send 15 pages' worth of octets, beginning @skip octets after @page, each page
 * an entry, and a header of @hdr_len octets.
 */
static void zerocopy_15_pages(struct conn_test *t, struct page *page, u32 skip,
			      u32 hdr_len)
{
	struct conn_msg *msg = conn_msg(t, hdr_len + 15 * PAGE_SIZE);
	struct bio_vec *bv;
	u32 i;

	bv = kunit_kcalloc(t->test, 16, sizeof(*bv), GFP_KERNEL);
	ASSERT_NOT_NULL(t, bv);
	for (i = 0; i < 16; i++)
		bvec_set_page(bv + i, page + i, PAGE_SIZE, 0);
	msg->tx.hdr_len = hdr_len;
	msg->tx.len = 15 * PAGE_SIZE;
	memcpy(page_address(page) + skip, msg->tx.hdr + hdr_len, msg->tx.len);
	iov_iter_bvec(&msg->tx.data, ITER_SOURCE, bv, 16, skip + msg->tx.len);
	iov_iter_advance(&msg->tx.data, skip);
	msg->tx.flags = MPA_TX_ZEROCOPY;
	conn_send(t, msg);
	conn_expect_tx(t, msg->len);
	conn_expect_done(t, &t->a, t->nr_msg, 0);
}

/*
 * Messages with more entries than an skb has room for, besides header and CRC,
 * are copied: 15 fit, but not 16, nor 15 that markers (@arg) cut in pieces, nor
 * 15 with a header that may be in two pieces itself.
 */
static void zerocopy_limit(struct conn_test *t)
{
	unsigned int order = get_order(16 * PAGE_SIZE);
	unsigned long before;
	struct page *page;

	if (15 * PAGE_SIZE > MPA_ULPDU_MAX)
		kunit_skip(t->test, "no ULPDU has so many pages");
	page = alloc_pages(GFP_KERNEL | __GFP_COMP, order);
	ASSERT_NOT_NULL(t, page);
	conn_put_later(t, page);
	t->opts.sndbuf = 200000;
	conn_open_row(t);
	before = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	zerocopy_15_pages(t, page, 0, MPA_HDR_WHOLE);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_ZEROCOPY) - before,
		  !conn_arg(t));
	zerocopy_15_pages(t, page, 0, MPA_HDR_WHOLE + 1);
	zerocopy_15_pages(t, page, 100, CONN_HDR);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_ZEROCOPY) - before,
		  !conn_arg(t));
}

/*
 * Each marker takes a fragment and cuts a page in two. With 15 fragments, 7
 * markers leave room for one page, 8 do not.
 */
static void zerocopy_pieces(struct conn_test *t)
{
	unsigned long before;
	struct conn_msg *msg;
	u32 i;

	conn_open_row(t);
	before = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	for (i = 0; i < 2; i++) {
		msg = conn_page_msg(t, i ? 3700 : 3500);
		conn_send(t, msg);
		conn_expect_tx(t, msg->len);
		EXPECT_EQ(t, 1, conn_counter(t, MPA_MIB_TX_ZEROCOPY) - before);
	}
	conn_expect_done(t, &t->a, 2, 0);
}

/* released() comes once the pages are free, not before. */
static void zerocopy_detach(struct conn_test *t)
{
	u32 i;

	zerocopy_send(t, 2);
	zerocopy_begin_detach(t);
	mpa_peer_continue(&t->peer);
	for (i = 0; i < CONN_PAGES; i++)
		conn_expect_tx(t, 3000);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, t->a.left, 2);
	conn_expect_done(t, &t->a, t->nr_msg, 0);
	zerocopy_expect_free(t);
}

/* A silent peer delays released() by a second at most. */
static void zerocopy_detach_reset(struct conn_test *t)
{
	unsigned long began;

	zerocopy_send(t, 2);
	began = jiffies;
	conn_detach(t, &t->a);
	EXPECT_TRUE(t, time_before(jiffies, began + 10 * HZ));
	EXPECT_EQ(t, t->a.left, 2);
	zerocopy_expect_failed(t, -ECANCELED);
	zerocopy_expect_free(t);
	mpa_peer_continue(&t->peer);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
}

/* The detach resets TCP for messages that are not sent yet. */
static void zerocopy_detach_behind(struct conn_test *t)
{
	zerocopy_send(t, 2);
	conn_post_many(t, 4, 60000);
	conn_settle(&t->a);
	conn_detach(t, &t->a);
	zerocopy_expect_failed(t, -ECANCELED);
	zerocopy_expect_free(t);
}

/* The peer resets before the pages are free. */
static void zerocopy_detach_lost(struct conn_test *t)
{
	zerocopy_send(t, 2);
	zerocopy_begin_detach(t);
	mpa_peer_reset(&t->peer);
	conn_detach(t, &t->a);
	zerocopy_expect_failed(t, -ECONNRESET);
	zerocopy_expect_free(t);
}

/* The peer resets instead of reading. */
static void zerocopy_reset(struct conn_test *t)
{
	zerocopy_send(t, 2);
	mpa_peer_reset(&t->peer);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	zerocopy_expect_failed(t, -ECONNRESET);
	zerocopy_expect_free(t);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, t->a.left, 0);
}

/* mpa_abort() while TCP has pages: handed back once they are free. */
static void zerocopy_abort(struct conn_test *t)
{
	zerocopy_send(t, 2);
	mpa_abort(t->a.conn);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	zerocopy_expect_failed(t, -ECANCELED);
	zerocopy_expect_free(t);
}

/* recv() posts two messages and detaches, so no sent() can follow. */
static void zerocopy_hook_leave(struct mpa_consumer *c, enum consumer_event ev)
{
	struct conn_test *t = container_of(c, struct conn_test, a);
	LIST_HEAD(list);

	if (ev != EV_RECV)
		return;
	list_add_tail(&t->msg[0].tx.list, &list);
	list_add_tail(&t->msg[1].tx.list, &list);
	c->hook_err = mpa_send_list(c->conn, &list);
	conn_leave(c);
}

/* released() hands back in order what sent() could not, and what is in use. */
static void zerocopy_detach_order(struct conn_test *t)
{
	conn_open_row(t);
	/* One train: the first is not so long that MPA would gather it. */
	conn_msg(t, 300);
	conn_page_msg(t, 3000);
	mpa_hold(t->a.conn);
	conn_peer_send(t, 10);
	conn_settle(&t->a);
	mpa_peer_stop(&t->peer);
	mpa_conn_get(t->a.conn);
	t->a.hook = zerocopy_hook_leave;
	mpa_resume(t->a.conn);
	CONN_WAIT(t, &t->a, EV_RECV, 1);
	EXPECT_EQ(t, t->a.hook_err, 0);
	flush_work(&t->a.conn->work);
	mpa_conn_put(t->a.conn);
	CONN_COUNT(t, &t->a, EV_RELEASED, 0);
	EXPECT_GT(t, page_count(t->page[1]), 1);
	mpa_peer_continue(&t->peer);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, t->a.left, 2);
	conn_expect_done(t, &t->a, 2, 0);
}

/*
 * A message of fewer octets than net.mpa.zerocopy_min is copied; so is a source
 * if an skb with segments of this EMSS has no room for so many.
 */
static void zerocopy_few(struct conn_test *t)
{
	/* Segments of 1448 octets, each a page and a header */
	u32 skb = MAX_SKB_FRAGS / 2 * 1448;
	unsigned long before, copied;
	struct conn_msg *msg;
	u32 i;

	t->opts.maxseg = 1460;
	conn_open_row(t);
	before = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	WRITE_ONCE(t->mn->zerocopy_min, 2000);
	for (i = 0; i < 2; i++) {
		msg = conn_page_msg(t, CONN_HDR + 1999 + i);
		conn_send(t, msg);
		conn_expect_tx(t, msg->len);
		EXPECT_EQ(t, i, conn_counter(t, MPA_MIB_TX_ZEROCOPY) - before);
	}
	copied = conn_counter(t, MPA_MIB_TX_COPIED);
	conn_send(t, conn_page_msg(t, 100));
	conn_expect_tx(t, 100);
	EXPECT_TRUE(t, CONN_UNTIL(conn_counter(t, MPA_MIB_TX_COPIED) - copied ==
				  1));
	for (i = 0; i < 2; i++) {
		WRITE_ONCE(t->mn->zerocopy_min, skb + 1 - i);
		msg = conn_page_msg(t, 2000);
		msg->left = msg->tx.len;
		msg->tx.next = conn_next;
		conn_send(t, msg);
		conn_settle(&t->a);
		EXPECT_EQ(t, 1 + 2 * i, conn_counter(t, MPA_MIB_TX_ZEROCOPY) -
			  before);
	}
}

static const struct conn_row zerocopy_rows[] = {
	{ "pages, handed back when they are free", zerocopy_pages, false },
	{ "pages with markers, handed back when they are free",
	  zerocopy_pages, true },
	{ "slab and vmalloc are copied", zerocopy_copied },
	{ "more pages than an skb has room for", zerocopy_limit, false },
	{ "more pages than an skb has room for, markers",
	  zerocopy_limit, true },
	{ "a page that markers cut into too many pieces",
	  zerocopy_pieces, true },
	{ "fewer octets than net.mpa.zerocopy_min", zerocopy_few },
	{ "detach", zerocopy_detach },
	{ "detach, and the peer does not read", zerocopy_detach_reset },
	{ "detach, and later messages wait", zerocopy_detach_behind },
	{ "detach, then reset by the peer", zerocopy_detach_lost },
	{ "detach before sent(), in order", zerocopy_detach_order },
	{ "reset by the peer", zerocopy_reset },
	{ "abort", zerocopy_abort },
};

CONN_ROWS(zerocopy);
