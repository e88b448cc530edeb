// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Trains: the FPDUs that TCP gets in one call, and where it cuts them. */
#include <linux/delay.h>
#include <linux/ip.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <net/tcp.h>
#include "mpa_conn_ooo.h"
#include "mpa_conn_train.h"
#include "mpa_tx_train.h"

/* The event while a train is laid out */
enum conn_train_apart {
	TRAIN_HOLE,		/* a hole in the peer's stream */
	TRAIN_MTU,		/* the path MTU decreases */
};

/* The FPDU between full segments */
enum conn_train_between {
	TRAIN_SMALL,
	TRAIN_LONG,		/* longer than a segment */
	TRAIN_PAGES,		/* zero copy */
};

/* The messages to be sent */
enum conn_train_full {
	TRAIN_SOURCE,
	TRAIN_SOURCE_MARKERS,
	TRAIN_MESSAGES,
	TRAIN_PAIRS,		/* two FPDUs fill a segment */
};

/* Record the segments of an skb: with GSO there may be several. */
static void train_note(struct train *tr, const struct sk_buff *skb)
{
	u32 seq, end, len, gso = skb_shinfo(skb)->gso_size;
	const struct iphdr *iph = ip_hdr(skb);
	const struct tcphdr *th;
	struct tcphdr buf;

	th = skb_header_pointer(skb, 4 * iph->ihl, sizeof(buf), &buf);
	if (iph->protocol != IPPROTO_TCP || !th || th->source != tr->port)
		return;
	len = ntohs(iph->tot_len) - 4 * iph->ihl - 4 * th->doff;
	seq = ntohl(th->seq);
	end = seq + len;

	spin_lock_bh(&tr->lock);
	for (; before(seq, end) && tr->nr < TRAIN_SEGMENTS; seq += gso ?: len)
		tr->seq[tr->nr++] = seq;
	spin_unlock_bh(&tr->lock);
}

static int train_tap(struct sk_buff *skb, struct net_device *dev,
		     struct packet_type *tap, struct net_device *orig)
{
	train_note(container_of(tap, struct train, tap), skb);
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static void train_untap(void *data)
{
	struct train *tr = data;

	dev_remove_pack(&tr->tap);
	kvfree(tr);
}

/* Record the counters; nothing is being sent. */
void train_mark(struct conn_test *t, struct train *tr)
{
	tr->calls = conn_counter(t, MPA_MIB_TX_CALLS);
	tr->segments_given = conn_counter(t, MPA_MIB_TX_SEGMENTS);
	tr->zerocopy = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	tr->sent = conn_segments(t);
}

/* Open a connection as Initiator, with a tap for its segments. */
static struct train *train_open(struct conn_test *t, u8 peer_flags)
{
	struct train *tr = kvzalloc(sizeof(*tr), GFP_KERNEL);
	struct mpa_info info;
	int err;

	ASSERT_NOT_NULL(t, tr);
	spin_lock_init(&tr->lock);
	tr->tap.type = htons(ETH_P_IP);
	tr->tap.func = train_tap;
	dev_add_pack(&tr->tap);
	err = kunit_add_action_or_reset(t->test, train_untap, tr);
	ASSERT_EQ(t, err, 0);

	if (!t->opts.sndbuf)
		t->opts.sndbuf = 200000;
	conn_open(t, CONN_INITIATOR, 0, PEER_C | peer_flags);
	mpa_get_info(t->a.conn, &info);
	tr->emss = info.emss;
	tr->base = tcp_sk(t->sock[0]->sk)->write_seq;
	WRITE_ONCE(tr->port, inet_sk(t->sock[0]->sk)->inet_sport);
	train_mark(t, tr);
	return tr;
}

struct train *train_open_1448(struct conn_test *t, u8 peer_flags)
{
	struct train *tr;

	t->opts.maxseg = 1460;
	tr = train_open(t, peer_flags);
	ASSERT_EQ(t, tr->emss, TRAIN_EMSS);
	return tr;
}

/* The peer receives the next FPDU. */
u32 train_take(struct conn_test *t, struct train *tr)
{
	u32 len = conn_take(t);

	ASSERT_LT(t, tr->nr_fpdus, TRAIN_FPDUS);
	tr->pos[++tr->nr_fpdus] = t->in_pos;
	return len;
}

/* The peer receives @nr ULPDUs that are messages. */
void train_take_messages(struct conn_test *t, struct train *tr, u32 nr)
{
	u32 k, len;

	while (nr--) {
		k = t->nr_in;
		len = train_take(t, tr);
		ASSERT_EQ(t, len, t->msg[k].len);
		ASSERT_EQ(t, 0, memcmp(t->buf, t->pool + k % 256, len));
	}
}

/* The peer receives all ULPDUs of a source. */
void train_take_source(struct conn_test *t, struct train *tr,
		       const struct conn_msg *msg)
{
	const u8 *octets = msg->kv.iov_base;
	u32 len, at, end = msg->kv.iov_len;

	for (at = 0; at < end; at += len) {
		len = train_take(t, tr) - CONN_HDR;
		ASSERT_LE(t, at + len, end);
		ASSERT_EQ(t, 0, memcmp(t->buf, msg->tx.hdr, CONN_HDR));
		ASSERT_EQ(t, 0, memcmp(t->buf + CONN_HDR, octets + at, len));
	}
}

struct conn_msg *train_source(struct conn_test *t, u32 len)
{
	struct conn_msg *msg = conn_source(t, len);

	conn_send(t, msg);
	return msg;
}

/* Expect these numbers since train_mark(), with all messages handed back. */
void train_expect(struct conn_test *t, struct train *tr, u32 calls,
		  u32 given, u32 segments)
{
	conn_expect_done(t, &t->a, t->nr_msg, 0);
	EXPECT_EQ(t, calls, conn_counter(t, MPA_MIB_TX_CALLS) - tr->calls);
	EXPECT_EQ(t, given,
		  conn_counter(t, MPA_MIB_TX_SEGMENTS) - tr->segments_given);
	EXPECT_EQ(t, segments, conn_segments(t) - tr->sent);
}

static void train_expect_zerocopy(struct conn_test *t, const struct train *tr,
				  u32 nr)
{
	EXPECT_EQ(t, nr, conn_counter(t, MPA_MIB_TX_ZEROCOPY) - tr->zerocopy);
}

/* Returns the FPDU in which the octet at @pos lies. */
static u32 train_fpdu_at(const struct train *tr, u32 pos)
{
	u32 k;

	for (k = 0; k < tr->nr_fpdus && pos >= tr->pos[k + 1]; k++)
		;
	return k;
}

/*
 * Expect that segments of the first @end octets begin with an FPDU, or inside
 * one that is longer than the EMSS.
 */
void train_expect_aligned(struct conn_test *t, struct train *tr, u32 end)
{
	u32 i, k, pos, size;

	ASSERT_LT(t, tr->nr, TRAIN_SEGMENTS);
	for (i = 0; i < tr->nr; i++) {
		pos = tr->seq[i] - tr->base;
		/* after @end, or in the startup frame */
		if (pos >= end)
			continue;
		k = train_fpdu_at(tr, pos);
		ASSERT_LT(t, k, tr->nr_fpdus);
		size = tr->pos[k + 1] - tr->pos[k];
		if (size <= tr->emss)
			ASSERT_EQ_MSG(t, pos, tr->pos[k], "FPDU %u", k);
	}
}

static bool train_begins(const struct train *tr, u32 pos)
{
	u32 i;

	for (i = 0; i < tr->nr; i++)
		if (tr->seq[i] - tr->base == pos)
			return true;
	return false;
}

/* Expect that a segment begins with each FPDU. */
static void train_expect_apart(struct conn_test *t, const struct train *tr)
{
	u32 k;

	for (k = 0; k < tr->nr_fpdus; k++)
		ASSERT_TRUE_MSG(t, train_begins(tr, tr->pos[k]),
				"FPDU %u", k);
}

/* A source of @len octets in contiguous pages */
static struct conn_msg *train_paged_source(struct conn_test *t, u32 len)
{
	struct conn_msg *msg = conn_source(t, len);
	struct page *page;

	page = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(len));
	ASSERT_NOT_NULL(t, page);
	conn_put_later(t, page);
	memcpy(page_address(page), msg->kv.iov_base, len);
	bvec_set_page(&msg->bv, page, len, 0);
	iov_iter_bvec(&msg->tx.data, ITER_SOURCE, &msg->bv, 1, len);
	msg->tx.flags = MPA_TX_ZEROCOPY;
	return msg;
}

/*
 * The FPDUs of a source with pages share an skb, and so a call, until its
 * fragments are used up. The contiguous pages of an FPDU are one fragment, and
 * so is the framing between two FPDUs.
 */
static void train_source_pages(struct conn_test *t)
{
	unsigned long calls;
	struct conn_msg *msg;
	struct train *tr;

	tr = train_open_1448(t, 0);
	msg = train_paged_source(t, 20 * (TRAIN_FULL - CONN_HDR));
	conn_send(t, msg);
	train_take_source(t, tr, msg);
	conn_expect_done(t, &t->a, t->nr_msg, 0);
	train_expect_zerocopy(t, tr, 20);
	/* 8, 8 and 4 FPDUs; a page fragment may end before one is full */
	calls = conn_counter(t, MPA_MIB_TX_CALLS) - tr->calls;
	EXPECT_GE(t, calls, 3);
	EXPECT_LE(t, calls, 4);
	train_expect(t, tr, calls, 20, 20);
	train_expect_aligned(t, tr, t->in_pos);
	EXPECT_TRUE(t, CONN_UNTIL(page_count(msg->bv.bv_page) == 1));
}

/*
 * Pages of two sources share an skb, and the segment in which one ends and the
 * other begins; both are handed back.
 */
static void train_pages_shared(struct conn_test *t)
{
	struct conn_msg *first, *second;
	LIST_HEAD(list);
	struct train *tr;

	tr = train_open_1448(t, 0);
	first = train_paged_source(t, 5 * TRAIN_FULL / 2);
	second = train_paged_source(t, 7 * TRAIN_FULL / 2);
	list_add_tail(&first->tx.list, &list);
	list_add_tail(&second->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	train_take_source(t, tr, first);
	train_take_source(t, tr, second);
	EXPECT_EQ(t, tr->nr_fpdus, 8);
	train_expect(t, tr, 1, 7, 7);
	train_expect_aligned(t, tr, t->in_pos);
	EXPECT_TRUE(t, CONN_UNTIL(page_count(first->bv.bv_page) == 1));
	EXPECT_TRUE(t, CONN_UNTIL(page_count(second->bv.bv_page) == 1));
}

/* A source has a ULPDU in slab memory, which is copied, and one in pages. */
static void train_pages_mixed(struct conn_test *t)
{
	u32 len = TRAIN_FULL - CONN_HDR;
	struct conn_msg *msg;
	struct bio_vec bv[2];
	struct train *tr;
	u8 *slab;

	tr = train_open_1448(t, 0);
	msg = train_paged_source(t, 2 * len);
	slab = kunit_kmalloc(t->test, len, GFP_KERNEL);
	ASSERT_NOT_NULL(t, slab);
	memcpy(slab, msg->kv.iov_base, len);
	bvec_set_page(bv, virt_to_page(slab), len, offset_in_page(slab));
	bvec_set_page(bv + 1, msg->bv.bv_page, len, len);
	iov_iter_bvec(&msg->tx.data, ITER_SOURCE, bv, 2, 2 * len);
	conn_send(t, msg);
	train_take_source(t, tr, msg);
	train_expect(t, tr, 2, 2, 2);
}

/* A source that is copied does not join one with pages that stopped. */
static void train_pages_stopped(struct conn_test *t)
{
	struct conn_msg *msg, *behind;
	LIST_HEAD(list);
	struct train *tr;
	u32 i;

	tr = train_open_1448(t, 0);
	msg = train_paged_source(t, 10 * (TRAIN_FULL - CONN_HDR));
	msg->stop = 6;
	behind = conn_source(t, 5 * (TRAIN_FULL - CONN_HDR));
	list_add_tail(&msg->tx.list, &list);
	list_add_tail(&behind->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(t, train_take(t, tr), TRAIN_FULL);
	train_take_source(t, tr, behind);
	train_expect(t, tr, 2, 10, 10);
	train_expect_aligned(t, tr, t->in_pos);
}

/* FPDUs that fill segments go to TCP in one call. @arg: how they are posted */
static void train_full(struct conn_test *t)
{
	enum conn_train_full what = conn_arg(t);
	struct train *tr;
	u32 segments;

	tr = train_open_1448(t, what == TRAIN_SOURCE_MARKERS ? PEER_M : 0);
	switch (what) {
	case TRAIN_SOURCE:
	case TRAIN_SOURCE_MARKERS:
		train_source(t, 20 * (TRAIN_FULL - CONN_HDR));
		train_take_source(t, tr, &t->msg[0]);
		break;
	case TRAIN_MESSAGES:
		conn_post_many(t, 20, TRAIN_FULL);
		train_take_messages(t, tr, 20);
		break;
	case TRAIN_PAIRS:
		/* 2 + 718 + 4 */
		conn_post_many(t, 40, 718);
		train_take_messages(t, tr, 40);
		break;
	}
	segments = DIV_ROUND_UP(t->in_pos, TRAIN_EMSS);
	EXPECT_GE(t, segments, 20);
	train_expect(t, tr, 1, segments, segments);
	train_expect_aligned(t, tr, t->in_pos);
}

static struct conn_msg *train_other(struct conn_test *t,
				    enum conn_train_between what)
{
	switch (what) {
	case TRAIN_SMALL:
		return conn_msg(t, 100);
	case TRAIN_LONG:
		return conn_msg(t, 5000);
	default:
		return conn_page_msg(t, TRAIN_FULL);
	}
}

/* Another kind of FPDU between full segments. */
static void train_between(struct conn_test *t)
{
	enum conn_train_between what = conn_arg(t);
	struct train *tr;
	LIST_HEAD(list);
	u32 i;

	tr = train_open_1448(t, 0);
	for (i = 0; i < 11; i++) {
		struct conn_msg *msg = i == 5 ? train_other(t, what) :
						conn_msg(t, TRAIN_FULL);

		list_add_tail(&msg->tx.list, &list);
	}
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	train_take_messages(t, tr, 11);
	/* A small FPDU goes to TCP with the full ones before it. */
	train_expect(t, tr, what == TRAIN_SMALL ? 2 : 3, 11,
		     what == TRAIN_LONG ? 14 : 11);
	train_expect_aligned(t, tr, t->in_pos);
	train_expect_apart(t, tr);
	train_expect_zerocopy(t, tr, what == TRAIN_PAGES);
}

/* Zero copy among small FPDUs that would all fit into one segment. */
static void train_pages(struct conn_test *t)
{
	struct train *tr;
	LIST_HEAD(list);

	tr = train_open_1448(t, 0);
	list_add_tail(&conn_msg(t, 100)->tx.list, &list);
	list_add_tail(&conn_msg(t, 200)->tx.list, &list);
	list_add_tail(&conn_page_msg(t, 500)->tx.list, &list);
	list_add_tail(&conn_msg(t, 300)->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	train_take_messages(t, tr, 4);
	train_expect(t, tr, 3, 3, 3);
	train_expect_aligned(t, tr, t->in_pos);
	train_expect_zerocopy(t, tr, 1);
}

/* FPDUs fill the multiple of four below the EMSS. @arg: EMSS less by so much */
static void train_odd(struct conn_test *t)
{
	struct conn_msg *msg;
	struct train *tr;
	u32 mulpdu;

	t->opts.maxseg = 1460 - conn_arg(t);
	tr = train_open(t, 0);
	ASSERT_EQ(t, tr->emss, TRAIN_EMSS - conn_arg(t));
	mulpdu = mpa_mulpdu(t->a.conn);
	ASSERT_EQ(t, mulpdu, TRAIN_FULL - 4);
	conn_post_many(t, 10, mulpdu);
	train_take_messages(t, tr, 10);
	train_expect(t, tr, 1, 10, 10);

	msg = train_source(t, 10 * (mulpdu - CONN_HDR));
	train_take_source(t, tr, msg);
	train_expect(t, tr, 2, 20, 20);
	train_expect_aligned(t, tr, t->in_pos);
}

void train_expect_mulpdu(struct conn_test *t, u32 mulpdu)
{
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, mpa_mulpdu(t->a.conn), mulpdu);
	EXPECT_EQ(t, info.mulpdu, mulpdu);
	EXPECT_EQ(t, info.emss, mulpdu + TRAIN_EMSS - TRAIN_FULL);
}

/* Expect that mulpdu() and mpa_mulpdu() report @mulpdu. */
void train_told(struct conn_test *t, u32 times, u32 mulpdu)
{
	CONN_WAIT(t, &t->a, EV_MULPDU, times);
	EXPECT_EQ(t, t->a.mulpdu, mulpdu);
	train_expect_mulpdu(t, mulpdu);
}

/* More segments than a train has records for, none of them full. */
static void train_many(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, 0);
	LIST_HEAD(list);
	u32 i;

	for (i = 0; i < 60; i++)
		list_add_tail(&conn_msg(t, 800 + 4 * (i % 2))->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	train_take_messages(t, tr, 60);
	train_expect(t, tr, 60, 60, 60);
}

static const u16 train_headers[] = { CONN_HDR, 64, 65, TRAIN_FULL, 0 };

/* A source of full ULPDUs whose headers differ in length. */
static int train_next_header(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);

	tx->hdr_len = train_headers[msg->asked++ % ARRAY_SIZE(train_headers)];
	tx->len = max - tx->hdr_len;
	return msg->asked < 25;
}

/* Each ULPDU is gathered or laid out by the length of its own header. */
static void train_source_headers(struct conn_test *t)
{
	u32 at = 0, hdr_len, i, len;
	struct conn_msg *msg;
	struct train *tr;

	tr = train_open_1448(t, 0);
	msg = conn_msg(t, CONN_HDR + 40000);
	msg->tx.next = train_next_header;
	conn_send(t, msg);
	for (i = 0; i < 25; i++) {
		hdr_len = train_headers[i % ARRAY_SIZE(train_headers)];
		len = train_take(t, tr) - hdr_len;
		ASSERT_EQ(t, hdr_len + len, TRAIN_FULL);
		ASSERT_EQ(t, 0, memcmp(t->buf, t->pool, hdr_len));
		ASSERT_EQ(t, 0, memcmp(t->buf + hdr_len,
				       t->pool + CONN_HDR + at, len));
		at += len;
	}
	conn_expect_done(t, &t->a, 1, 0);
	EXPECT_EQ(t, 25, conn_segments(t) - tr->sent);
	train_expect_aligned(t, tr, t->in_pos);
}

/* A source of ULPDUs that fill a segment, although longer ones are allowed. */
static int train_next_narrow(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);

	msg->max = min(max, msg->max);
	tx->hdr_len = 0;
	tx->len = msg->left;
	return ++msg->asked < 20;
}

/* A source is never offered less than 128 octets. */
static void train_narrow(struct conn_test *t)
{
	struct conn_msg *msg;
	struct train *tr;
	u32 i;

	t->opts.maxseg = 100;
	tr = train_open(t, 0);
	ASSERT_LT(t, tr->emss, 128);
	msg = conn_msg(t, CONN_HDR + 4000);
	msg->tx.next = train_next_narrow;
	msg->max = U32_MAX;
	msg->left = tr->emss - 6;
	conn_send(t, msg);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(t, train_take(t, tr), msg->left);
	EXPECT_EQ(t, msg->max, 128);
	train_expect_aligned(t, tr, t->in_pos);
}

/*
 * Wait until octets are unsent with all sent ones acknowledged: the window is
 * shut. Returns the number of unsent octets.
 */
static u32 train_wait_zero_window(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	unsigned long end = jiffies + 20 * HZ;
	u32 unsent = 0;

	while (!unsent && time_before(jiffies, end)) {
		conn_settle(&t->a);
		lock_sock(sk);
		if (!tp->packets_out)
			unsent = tp->write_seq - tp->snd_nxt;
		release_sock(sk);
	}
	return unsent;
}

/*
 * The peer does not read. TCP gets octets that fit the window, and one
 * segment's worth for window probes.
 */
static void train_window(struct conn_test *t)
{
	struct train *tr;
	u32 unsent, end;

	t->opts.rcvbuf = 32768;
	tr = train_open_1448(t, 0);
	conn_post_many(t, 150, TRAIN_FULL);
	unsent = train_wait_zero_window(t);
	EXPECT_GT(t, unsent, 0);
	EXPECT_LE(t, unsent, TRAIN_EMSS);
	/* Without the unsent octets: TCP may send parts of them as probes. */
	end = tcp_sk(t->sock[0]->sk)->write_seq - tr->base - TRAIN_EMSS;
	EXPECT_GT(t, end, 4 * TRAIN_EMSS);
	EXPECT_LT(t, mpa_consumer_count(&t->a, EV_DONE), 100);
	train_take_messages(t, tr, 150);
	train_expect_aligned(t, tr, end);
	conn_expect_done(t, &t->a, 150, 0);
}

/* TCP lacks memory for a whole record, and takes it in parts. */
static void train_short(struct conn_test *t)
{
	struct train *tr;
	unsigned long taken;

	t->opts.sndbuf = 8192;
	tr = train_open_1448(t, 0);
	taken = conn_counter(t, MPA_MIB_TX_SHORT);
	/* Less than the window: TCP would probe with part of an FPDU. */
	conn_post_many(t, 40, TRAIN_FULL);
	train_take_messages(t, tr, 40);
	conn_expect_done(t, &t->a, 40, 0);
	EXPECT_GT(t, conn_counter(t, MPA_MIB_TX_SHORT), taken);
	EXPECT_EQ(t, 40, conn_segments(t) - tr->sent);
	train_expect_aligned(t, tr, t->in_pos);
}

/*
 * TCP has room for part of a train, and no ACK comes that would make more room:
 * TCP sends all octets it has taken. RTT and RTO are raised: a tail loss probe
 * would send the rest as well, and after a timeout TCP would send too little.
 */
static void train_uncorked(struct conn_test *t)
{
	struct train *tr;
	struct sock *sk;

	t->opts.sndbuf = 8192;
	tr = train_open_1448(t, 0);
	sk = t->sock[0]->sk;
	mpa_peer_stop(&t->peer);
	lock_sock(sk);
	tcp_sk(sk)->srtt_us = 8 * USEC_PER_SEC;
	inet_csk(sk)->icsk_rto = TCP_RTO_MAX;
	release_sock(sk);
	conn_post_many(t, 40, 1000);
	conn_settle(&t->a);
	lock_sock(sk);
	EXPECT_FALSE(t, sk_stream_memory_free(sk));
	EXPECT_EQ(t, tcp_sk(sk)->snd_nxt, tcp_sk(sk)->write_seq);
	release_sock(sk);
	mpa_peer_continue(&t->peer);
	train_take_messages(t, tr, 40);
	conn_expect_done(t, &t->a, 40, 0);
	train_expect_aligned(t, tr, t->in_pos);
}

/* The CPU's page fragment goes on to another page: an FPDU has filled it. */
static void train_fill_frag(struct conn_test *t)
{
	struct conn_msg *msg = conn_msg(t, 40000);

	/* In this task, so on this CPU, unless octets are on the way */
	msg->tx.flags = MPA_TX_COPY;
	ASSERT_EQ(t, mpa_send_now(t->a.conn, &msg->tx), 0);
	conn_expect_tx(t, 40000);
}

/* MPA drops all references on the pages of a train once TCP has taken it. */
static void train_page_refs(struct conn_test *t)
{
	const struct mpa_train *laid;
	struct train *tr;
	struct page *page;
	u32 cpu, i;

	t->opts.sndbuf = 8192;
	tr = train_open_1448(t, 0);
	mpa_peer_stop(&t->peer);
	conn_post_many(t, 80, 300);
	conn_settle(&t->a);
	laid = t->a.conn->tx.train;
	ASSERT_NOT_NULL(t, laid);
	ASSERT_GT(t, laid->enc.nr, 0);
	page = laid->bv[laid->enc.nr - 1].bv_page;
	get_page(page);
	conn_put_later(t, page);
	mpa_peer_continue(&t->peer);
	train_take_messages(t, tr, 80);
	conn_expect_done(t, &t->a, 80, 0);
	/* A CPU frees skbs that another CPU read once it receives a packet. */
	for (i = 0; i < 16 && page_count(page) > 1; i++) {
		cpu = i % num_online_cpus();
		set_cpus_allowed_ptr(current, cpumask_of(cpu));
		train_fill_frag(t);
		conn_expect_alive(t, &t->a);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	EXPECT_EQ(t, page_count(page), 1);
}

/* Copy the peer's first FPDU: conn_take() overwrites the buffer. */
static u8 *train_first(struct conn_test *t)
{
	u8 *first = kunit_kmalloc(t->test, gap_at(t, 1), GFP_KERNEL);

	ASSERT_NOT_NULL(t, first);
	memcpy(first, t->buf, gap_at(t, 1));
	return first;
}

/*
 * While there is a hole, and for four seconds after it, segments leave room for
 * SACK blocks, TCP gets them one by one, and the MULPDU is smaller.
 */
static void train_sack(struct conn_test *t)
{
	const u32 max = TRAIN_FULL - TRAIN_SACK;
	struct conn_msg *msg;
	unsigned long begun;
	struct train *tr;
	u8 *first;

	tr = train_open_1448(t, 0);
	if (conn_arg(t)) {
		mpa_allow_softirq(t->a.conn);
		mpa_allow_softirq_send(t->a.conn);
		t->a.sends_here = true;
	}
	train_expect_mulpdu(t, TRAIN_FULL);
	gap_begin(t);
	gap_fpdus(t, 2, 700);
	first = train_first(t);
	conn_settle(&t->a);
	begun = jiffies;
	gap_put(t, gap_at(t, 1), t->buf_len);
	/* mpa_mulpdu() is smaller at once, although nothing is sent. */
	train_expect_mulpdu(t, max);
	conn_post_many(t, 20, mpa_mulpdu(t->a.conn));
	train_take_messages(t, tr, 20);
	train_expect(t, tr, 20, 20, 20);
	train_told(t, 1, max);
	/* TCP alone cuts a longer FPDU. */
	conn_post(t, 5000);
	ASSERT_EQ(t, train_take(t, tr), 5000);
	train_expect(t, tr, 21, 21, 24);
	msg = train_source(t, 20 * (max - CONN_HDR));
	train_take_source(t, tr, msg);
	EXPECT_EQ(t, msg->max, max);
	train_expect(t, tr, 41, 41, 44);
	train_expect_aligned(t, tr, t->in_pos);

	ASSERT_EQ(t, 0, mpa_inject(&t->inject, 0, first, gap_at(t, 1), 0));
	conn_expect_rx(t, &t->a, 2);
	/* Nothing is sent or received from now on. */
	train_told(t, 2, TRAIN_FULL);
	EXPECT_TRUE(t, time_after(jiffies, begun + 4 * HZ));
	train_mark(t, tr);
	msg = train_source(t, 20 * (TRAIN_FULL - CONN_HDR));
	train_take_source(t, tr, msg);
	train_expect(t, tr, 1, 20, 20);
	train_expect_aligned(t, tr, t->in_pos);
}

/* A hole that is filled on hold is noticed as well. */
static void train_sack_held(struct conn_test *t)
{
	train_open_1448(t, 0);
	mpa_hold(t->a.conn);
	gap_begin(t);
	gap_fpdus(t, 3, 700);
	gap_put(t, 0, gap_at(t, 1));
	conn_settle(&t->a);
	ASSERT_TRUE(t, READ_ONCE(t->a.conn->rx.blocked));
	gap_put(t, gap_at(t, 2), t->buf_len);
	gap_put(t, gap_at(t, 1), gap_at(t, 2));
	train_told(t, 1, TRAIN_FULL - TRAIN_SACK);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 3);
}

/* Full operation begins with a hole: the first MULPDU is the smaller one. */
static void train_sack_begin(struct conn_test *t)
{
	u32 reply;

	t->opts.maxseg = 1460;
	conn_attach(t, 0);
	t->crc = true;
	conn_start(t, CONN_INITIATOR);
	conn_expect_frame(t, false, PEER_C, 1, NULL, 0);
	gap_begin(t);
	reply = mpa_peer_frame(t->buf, true, PEER_C, 1, NULL, 0);
	t->buf_len = reply;
	gap_fpdus(t, 2, 700);
	gap_put(t, reply + gap_at(t, 1), t->buf_len);
	gap_put(t, 0, reply);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	train_expect_mulpdu(t, TRAIN_FULL - TRAIN_SACK);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_MULPDU, 0);
	mpa_resume(t->a.conn);
	gap_put(t, reply, reply + gap_at(t, 1));
	conn_expect_rx(t, &t->a, 2);
	CONN_COUNT(t, &t->a, EV_MULPDU, 0);
}

static void train_disturb(struct conn_test *t, struct conn_msg *msg)
{
	u32 from = gap_at(t, 1);

	if (t->lo_mtu)
		msg->err = min(0, mpa_peer_lo_mtu(1300));
	else
		msg->err = mpa_inject(&t->inject, from, t->buf + from,
				      t->buf_len - from, 0);
}

static int train_next_disturbed(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	struct mpa_consumer *c = mpa_conn_ctx(msg->conn);

	/* No callback has the socket lock. */
	if (sock_owned_by_user_nocheck(msg->conn->sk))
		c->overlaps++;
	if (msg->asked == 5)
		train_disturb(container_of(c, struct conn_test, a), msg);
	return conn_next(tx, max);
}

/* The EMSS decreases after layout: a segment still begins with each FPDU. */
static void train_apart(struct conn_test *t)
{
	struct conn_msg *msg;
	struct train *tr;

	if (conn_arg(t) == TRAIN_MTU) {
		t->lo_mtu = mpa_peer_lo_mtu(1500);
		ASSERT_GT(t, t->lo_mtu, 1500);
	}
	tr = train_open_1448(t, 0);
	gap_begin(t);
	gap_fpdus(t, 2, 700);
	msg = conn_source(t, 20 * (TRAIN_FULL - CONN_HDR));
	msg->conn = t->a.conn;
	msg->tx.next = train_next_disturbed;
	msg->tx.hdr_len = 0;
	msg->tx.len = 0;
	conn_send(t, msg);
	train_take_source(t, tr, msg);
	EXPECT_EQ(t, msg->err, 0);
	EXPECT_EQ(t, msg->asked, 20);
	/* Each FPDU is a little longer than a segment now. */
	train_expect(t, tr, 20, 20, 40);
	train_expect_apart(t, tr);
}

static const struct conn_row train_rows[] = {
	{ "TX-04 TX-06 SZ-11: source, full segments in one call",
	  train_full, TRAIN_SOURCE },
	{ "TX-04 TX-06 SZ-11: source, full segments in one call, markers",
	  train_full, TRAIN_SOURCE_MARKERS },
	{ "TX-02 TX-04 TX-06 SZ-10: messages, full segments in one call",
	  train_full, TRAIN_MESSAGES },
	{ "TX-03 TX-04 TX-10: two messages a segment, in one call",
	  train_full, TRAIN_PAIRS },
	{ "TX-04 TX-06: a small FPDU ends a run of full segments",
	  train_between, TRAIN_SMALL },
	{ "TX-04 TX-07: an FPDU longer than the EMSS in its own call",
	  train_between, TRAIN_LONG },
	{ "TX-04 TX-06: zero copy in its own call",
	  train_between, TRAIN_PAGES },
	{ "TX-04 TX-06 TX-10: zero copy among small FPDUs", train_pages },
	{ "TX-04 TX-06: zero copy, a source", train_source_pages },
	{ "TX-04 TX-06 TX-10: zero copy, two sources", train_pages_shared },
	{ "zero copy, a source with a part in slab memory", train_pages_mixed },
	{ "TX-04 TX-06: zero copy, a source that stops", train_pages_stopped },
	{ "TX-04 TX-06: EMSS no multiple of four", train_odd, 1 },
	{ "TX-04 TX-06: EMSS no multiple of four, but of two", train_odd, 2 },
	{ "TX-03 TX-04: more segments than records", train_many },
	{ "TX-04 TX-06: source, headers of all lengths", train_source_headers },
	{ "SZ-15: source, EMSS below the least MULPDU", train_narrow },
	{ "TX-04 TX-06: the window shuts", train_window },
	{ "TX-01 TX-04 TX-06: TCP takes part of a record", train_short },
	{ "TCP takes part of a train", train_uncorked },
	{ "references on the pages of a train", train_page_refs },
	{ "TX-04 TX-06 SZ-01 SZ-09 SZ-14: room for SACK blocks", train_sack },
	{ "room for SACK blocks, with sending in softirq", train_sack, true },
	{ "SZ-01 SZ-14: a hole while delivery is held", train_sack_held },
	{ "SZ-01 SZ-09 SZ-14: a hole before full operation", train_sack_begin },
	{ "TX-04 TX-06: a hole while a train is laid out",
	  train_apart, TRAIN_HOLE },
	{ "TX-04 TX-07: the MTU changes while a train is laid out",
	  train_apart, TRAIN_MTU },
};

CONN_ROWS(train);
