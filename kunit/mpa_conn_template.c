// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Messages that MPA cuts by a template (MPA_TX_TEMPLATE). */
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include "mpa_conn_test.h"
#include "mpa_ref.h"

enum {
	TEMPLATE_EMSS	= 1448,		/* of 1460, with timestamps */
	TEMPLATE_LAST	= 0x40,
	TEMPLATE_MOST	= 50000,	/* octets of a message */
	TEMPLATE_PIECE	= TEMPLATE_EMSS - 6 - 18,	/* fills a segment */
};

static const struct mpa_template tagged = { 6, 8, TEMPLATE_LAST };
static const struct mpa_template untagged = { 14, 4, TEMPLATE_LAST };
static const struct mpa_template in_front = { 1, 4, 0x81 };

/* A message */
struct templated {
	const struct mpa_template *template;
	u64	count;		/* counter of its first ULPDU */
	u32	hdr_len;
	u32	len;
	u32	chunk;		/* octets for each next(); 0: all at once */
	u16	flags;		/* besides MPA_TX_TEMPLATE */
	bool	markers;
};

/* A source that names its octets piece by piece, of conn_msg.max each */
static int template_next(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	u32 more = min(msg->max, msg->left);

	msg->asked++;
	if (msg->asked == msg->stop) {
		tx->hdr_len = 0;
		tx->len = 0;
		return msg->err;
	}
	msg->left -= more;
	tx->len += more;
	msg->kv.iov_len = tx->len;
	msg->kv.iov_base = (void *)tx->hdr + 256 + msg->len - msg->left -
			   tx->len;
	iov_iter_kvec(&tx->data, ITER_SOURCE, &msg->kv, 1, tx->len);
	return msg->left ? 1 : 0;
}

static void template_counter(const struct mpa_template *template, u8 *hdr,
			     u64 count)
{
	if (template->count_size == 8)
		put_unaligned_be64(count, hdr + template->count_at);
	else
		put_unaligned_be32(count, hdr + template->count_at);
}

/* Header and octets are in the pool, 256 octets from each other. */
static struct conn_msg *template_msg(struct conn_test *t,
				     const struct templated *m)
{
	struct conn_msg *msg = conn_msg(t, m->len);
	u8 *hdr = t->pool;

	*hdr &= ~m->template->last;
	template_counter(m->template, hdr, m->count);
	msg->tx.hdr = hdr;
	msg->tx.hdr_len = m->hdr_len;
	msg->tx.flags = MPA_TX_TEMPLATE | m->flags;
	msg->tx.template = m->template;
	msg->tx.len = m->chunk ? 0 : m->len;
	msg->tx.next = m->chunk ? template_next : NULL;
	msg->max = m->chunk;
	msg->left = m->len;
	msg->kv.iov_base = hdr + 256;
	msg->kv.iov_len = msg->tx.len;
	iov_iter_kvec(&msg->tx.data, ITER_SOURCE, &msg->kv, 1, msg->tx.len);
	return msg;
}

/* The peer receives a ULPDU, of octets from @at on. Returns how many. */
static u32 template_take(struct conn_test *t, const struct templated *m, u32 at)
{
	u32 len = conn_take(t) - m->hdr_len;
	u8 hdr[MPA_TEMPLATE_HDR];

	ASSERT_LE(t, at + len, m->len);
	memcpy(hdr, t->pool, m->hdr_len);
	template_counter(m->template, hdr, m->count + at);
	if (at + len == m->len)
		*hdr |= m->template->last;
	ASSERT_EQ(t, 0, memcmp(t->buf, hdr, m->hdr_len));
	ASSERT_EQ(t, 0, memcmp(t->buf + m->hdr_len, t->pool + 256 + at, len));
	return len;
}

/* Each ULPDU but the last fills a segment. */
static void template_take_all(struct conn_test *t, const struct templated *m)
{
	u32 at = 0, len;
	u64 pos;

	do {
		pos = t->in_pos;
		len = template_take(t, m, at);
		at += len;
		ASSERT_LE(t, t->in_pos - pos, TEMPLATE_EMSS);
		if (at < m->len)
			ASSERT_GT(t, mpa_ref_size(pos, m->hdr_len + len + 1,
						  m->markers), TEMPLATE_EMSS);
	} while (at < m->len);
}

static void template_open(struct conn_test *t, bool markers)
{
	struct mpa_info info;

	t->opts.maxseg = 1460;
	t->opts.sndbuf = 200000;
	conn_full(t, CONN_INITIATOR, 0, PEER_C | (markers ? PEER_M : 0));
	mpa_get_info(t->a.conn, &info);
	ASSERT_EQ(t, info.emss, TEMPLATE_EMSS);
}

/* Headers, octets and lengths of the ULPDUs of the message @data */
static void template_message(struct conn_test *t)
{
	const struct templated *m = conn_data(t);
	u32 calls;

	template_open(t, m->markers);
	calls = conn_counter(t, MPA_MIB_TX_CALLS);
	conn_send(t, template_msg(t, m));
	template_take_all(t, m);
	conn_expect_done(t, &t->a, 1, 0);
	/* All ULPDUs of a train go to TCP in one call. */
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_TX_CALLS) - calls, 1);

	/* The next one begins at its own first octet again. */
	conn_send(t, template_msg(t, m));
	template_take_all(t, m);
	conn_expect_done(t, &t->a, 2, 0);
	conn_expect_silence(t);
}

static const struct templated template_small = {
	&untagged, 0, 18, 5000,
};

/*
 * After an FPDU that leaves @arg octets in the segment: a ULPDU fills them if
 * its header takes at most half of it.
 */
static void template_room(struct conn_test *t)
{
	const struct templated *m = &template_small;
	u32 room = conn_arg(t);
	LIST_HEAD(list);

	template_open(t, false);
	list_add_tail(&conn_msg(t, TEMPLATE_EMSS - room - 6)->tx.list, &list);
	list_add_tail(&template_msg(t, m)->tx.list, &list);
	/* What template_msg() wrote to the pool is part of that FPDU, too. */
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	conn_expect_tx(t, TEMPLATE_EMSS - room - 6);
	EXPECT_EQ(t, template_take(t, m, 0),
		  (room < 36 + 6 ? TEMPLATE_EMSS : room) - 6 - 18);
}

/* Messages in one train, each with its own header */
static void template_list(struct conn_test *t)
{
	static const struct templated m[] = {
		{ &untagged, 70, 18, 3000 },
		{ &tagged, 700, 14, 3000 },
		{ &in_front, 7000, 9, 3000 },
	};
	u8 hdr[ARRAY_SIZE(m)][MPA_TEMPLATE_HDR];
	struct conn_msg *msg;
	LIST_HEAD(list);
	u32 i;

	template_open(t, false);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		msg = template_msg(t, &m[i]);
		memcpy(hdr[i], t->pool, MPA_TEMPLATE_HDR);
		msg->tx.hdr = hdr[i];
		list_add_tail(&msg->tx.list, &list);
	}
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		u32 at = 0;

		memcpy(t->pool, hdr[i], MPA_TEMPLATE_HDR);
		while (at < m[i].len)
			at += template_take(t, &m[i], at);
	}
	conn_expect_done(t, &t->a, ARRAY_SIZE(m), 0);
}

/* It stops early, or fails, with what the second next() returns. */
static void template_stops(struct conn_test *t)
{
	struct templated m = { &untagged, 0, 18, 9000, .chunk = 2000 };
	int err = -(int)conn_arg(t);
	struct conn_msg *msg;
	u32 at = 0;

	template_open(t, false);
	msg = template_msg(t, &m);
	msg->stop = 2;
	msg->err = err;
	conn_send(t, msg);
	if (!err) {
		at = template_take(t, &m, at);
		EXPECT_EQ(t, at, TEMPLATE_EMSS - 6 - 18);
	}
	conn_expect_done(t, &t->a, 1, err);
	EXPECT_EQ(t, msg->asked, 2);
	if (!err)
		conn_expect_silence(t);
}

/* The peer's window is small: a ULPDU that found no room is cut once more. */
static void template_window(struct conn_test *t)
{
	struct templated m = { &tagged, 77, 14, TEMPLATE_MOST,
			       .chunk = conn_arg(t) };

	t->opts.rcvbuf = 8000;
	template_open(t, false);
	mpa_peer_stop(&t->peer);
	conn_send(t, template_msg(t, &m));
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.nr_done, 0);
	mpa_peer_continue(&t->peer);
	template_take_all(t, &m);
	conn_expect_done(t, &t->a, 1, 0);
}

/* A message with its octets in pages, for zero copy */
static struct conn_msg *template_in_pages(struct conn_test *t,
					  const struct templated *m)
{
	struct conn_msg *msg = template_msg(t, m);

	t->page[0] = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(m->len));
	ASSERT_NOT_NULL(t, t->page[0]);
	memcpy(page_address(t->page[0]), t->pool + 256, m->len);
	bvec_set_page(&msg->bv, t->page[0], m->len, 0);
	iov_iter_bvec(&msg->tx.data, ITER_SOURCE, &msg->bv, 1, m->len);
	msg->tx.flags |= MPA_TX_ZEROCOPY;
	return msg;
}

/*
 * Zero copy: a message begins an skb, which its ULPDUs share, also after an
 * FPDU that leaves room in a segment. An skb has room for eight, or one less
 * where a page fragment ends. @arg: octets
 */
static void template_pages(struct conn_test *t)
{
	struct templated m = { &untagged, 9, 18, conn_arg(t) };
	u32 fpdus = DIV_ROUND_UP(m.len, TEMPLATE_PIECE);
	unsigned long zerocopy, calls;
	LIST_HEAD(list);

	template_open(t, false);
	calls = conn_counter(t, MPA_MIB_TX_CALLS);
	list_add_tail(&conn_msg(t, 100)->tx.list, &list);
	zerocopy = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	list_add_tail(&template_in_pages(t, &m)->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	conn_expect_tx(t, 100);
	template_take_all(t, &m);
	conn_expect_done(t, &t->a, 2, 0);
	EXPECT_EQ(t, fpdus,
		  conn_counter(t, MPA_MIB_TX_ZEROCOPY) - zerocopy);
	calls = conn_counter(t, MPA_MIB_TX_CALLS) - calls;
	EXPECT_GE(t, calls, 1 + DIV_ROUND_UP(fpdus, 8));
	EXPECT_LE(t, calls, 1 + DIV_ROUND_UP(fpdus, 7));
}

/*
 * Octets that are not in pages are copied, also where their FPDUs could follow
 * in the record of one with pages, and only the iterator says so. Taken for a
 * struct page, they look like that of a page which TCP may have.
 */
static void template_not_in_pages(struct conn_test *t)
{
	struct templated in_pages = { &untagged, 9, 18, TEMPLATE_PIECE };
	struct templated m = { &untagged, 9, 18, 5 * TEMPLATE_PIECE };
	unsigned long zerocopy, copied;
	struct conn_msg *msg;
	LIST_HEAD(list);

	template_open(t, false);
	memcpy(t->pool + 256, ZERO_PAGE(0), sizeof(struct page));
	zerocopy = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	copied = conn_counter(t, MPA_MIB_TX_COPIED);
	list_add_tail(&template_in_pages(t, &in_pages)->tx.list, &list);
	msg = template_msg(t, &m);
	msg->tx.next = template_next;
	msg->tx.flags |= MPA_TX_ZEROCOPY;
	msg->left = 0;
	list_add_tail(&msg->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	template_take_all(t, &in_pages);
	template_take_all(t, &m);
	conn_expect_done(t, &t->a, 2, 0);
	EXPECT_EQ(t, 1, conn_counter(t, MPA_MIB_TX_ZEROCOPY) - zerocopy);
	EXPECT_EQ(t, 5, conn_counter(t, MPA_MIB_TX_COPIED) - copied);
}

/* Templates that are refused; the message as such is right. */
static void template_wrong(struct conn_test *t)
{
	static const struct mpa_template odd = { 0, 5, 1 };
	static const struct mpa_template none = { 0, 0, 1 };
	static const struct mpa_template past = { 15, 4, 1 };
	static const struct mpa_template far = { 255, 4, 1 };
	static const struct mpa_template *const wrong[] = {
		NULL, &odd, &none, &past, &far,
	};
	struct conn_msg *msg;
	u32 i;

	template_open(t, false);
	msg = template_msg(t, &template_small);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		msg->tx.template = wrong[i];
		EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), -EINVAL);
	}
	msg->tx.template = &untagged;
	msg->tx.hdr_len = MPA_TEMPLATE_HDR + 1;
	EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), -EINVAL);
	msg->tx.hdr_len = 18;
	msg->tx.len = template_small.len + 1;
	EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), -EINVAL);
	msg->tx.len--;
	msg->tx.hdr = NULL;
	EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), -EINVAL);
	msg->tx.hdr = t->pool;
	conn_send(t, msg);
	template_take_all(t, &template_small);
}

/* 20 ULPDUs that fill segments; markers differ in length */
#define FILL(hdr_len)	(20 * (TEMPLATE_EMSS - 6 - (hdr_len)))

static const struct conn_row template_rows[] = {
	{ "TX-06 SZ-02 SZ-11 SZ-13: template, untagged", template_message, 0,
	  &(const struct templated){ &untagged, 0, 18, 20000 } },
	{ "template, tagged", template_message, 0,
	  &(const struct templated){ &tagged, 0x123456789, 14, 20000 } },
	{ "template, markers", template_message, 0,
	  &(const struct templated){ &tagged, 5, 14, 20000, .markers = true } },
	{ "template, the last ULPDU is full", template_message, 0,
	  &(const struct templated){ &untagged, 0, 18, FILL(18) } },
	{ "template, octets by next(), the last ULPDU is full",
	  template_message, 0,
	  &(const struct templated){ &untagged, 0, 18, FILL(18),
				     .chunk = FILL(18) / 4 } },
	{ "template, octets by next()", template_message, 0,
	  &(const struct templated){ &tagged, 1, 14, 20000, .chunk = 4096 } },
	{ "template, octets by next(), markers", template_message, 0,
	  &(const struct templated){ &tagged, 1, 14, 20000, .chunk = 4096,
				     .markers = true } },
	{ "template, octets by next(), may change", template_message, 0,
	  &(const struct templated){ &tagged, 1, 14, 20000, .chunk = 4096,
				     .flags = MPA_TX_COPY } },
	{ "template, octets may change", template_message, 0,
	  &(const struct templated){ &untagged, 3, 18, 20000,
				     .flags = MPA_TX_COPY } },
	{ "template, one ULPDU", template_message, 0,
	  &(const struct templated){ &untagged, 0, 18, 1000 } },
	{ "template, one short ULPDU", template_message, 0,
	  &(const struct templated){ &untagged, 0, 18, 10 } },
	{ "template, no octets", template_message, 0,
	  &(const struct templated){ &tagged, 8, 14, 0 } },
	{ "template, no octets, by next()", template_message, 0,
	  &(const struct templated){ &tagged, 8, 14, 0, .chunk = 1 } },
	{ "template, counter of 4 octets wraps", template_message, 0,
	  &(const struct templated){ &untagged, U32_MAX - 9999, 18, 20000 } },
	{ "template, counter of 8 octets wraps", template_message, 0,
	  &(const struct templated){ &tagged, U64_MAX - 9999, 14, 20000 } },
	{ "template, header of 5 octets", template_message, 0,
	  &(const struct templated){ &in_front, 1, 5, 20000 } },
	{ "template, header of 32 octets", template_message, 0,
	  &(const struct templated){ &in_front, 1, 32, 20000 } },
	{ "SZ-12 SZ-18: template, room in the segment", template_room, 44 },
	{ "SZ-18: template, too little room in the segment",
	  template_room, 40 },
	{ "template, several messages", template_list },
	{ "template, stops early", template_stops, 0 },
	{ "template, next() fails", template_stops, EIO },
	{ "TX-01: template, small window", template_window, 0 },
	{ "TX-01: template, small window, octets by next()",
	  template_window, 3000 },
	{ "template, zero copy", template_pages, PAGE_SIZE },
	{ "TX-04 TX-06: template, zero copy, more than an skb",
	  template_pages, 20 * TEMPLATE_PIECE },
	{ "template, zero copy, octets that are not in pages",
	  template_not_in_pages },
	{ "template that is wrong", template_wrong },
};

CONN_ROWS(template)
