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

enum {
	TRAIN_SEGMENTS	= 2048,
	TRAIN_FPDUS	= 256,
	TRAIN_EMSS	= 1448,		/* of 1460, with timestamps */
	TRAIN_FULL	= 1442,		/* ULPDU that fills a segment */
	TRAIN_SACK	= 28,		/* three blocks, besides timestamps */
};

/**
 * struct train - segments with data that were sent, and their FPDUs
 * @tap: called for each packet
 * @lock: protects @nr and @seq
 * @port: port of the connection
 * @base: sequence number of the first octet in full operation
 * @emss: EMSS of the connection
 * @seq: sequence numbers of the segments
 * @nr: number of segments
 * @pos: stream positions of the FPDUs, and of the end of the last
 * @nr_fpdus: number of FPDUs that the peer has received
 * @calls: MPA_MIB_TX_CALLS at train_mark()
 * @records: MPA_MIB_TX_RECORDS at train_mark()
 * @sent: conn_segments() at train_mark()
 */
struct train {
	struct packet_type	tap;
	spinlock_t		lock;	/* nr, seq */
	__be16			port;
	u32			base;
	u32			emss;
	u32			seq[TRAIN_SEGMENTS];
	u32			nr;
	u32			pos[TRAIN_FPDUS + 1];
	u32			nr_fpdus;
	unsigned long		calls;
	unsigned long		records;
	u32			sent;
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
static void train_mark(struct conn_test *t, struct train *tr)
{
	tr->calls = conn_counter(t, MPA_MIB_TX_CALLS);
	tr->records = conn_counter(t, MPA_MIB_TX_RECORDS);
	tr->sent = conn_segments(t);
}

/* Open a connection as Initiator, with a tap for its segments. */
static struct train *train_open(struct kunit *test, u8 peer_flags)
{
	struct train *tr = kvzalloc(sizeof(*tr), GFP_KERNEL);
	struct conn_test *t = test->priv;
	struct mpa_info info;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, tr);
	spin_lock_init(&tr->lock);
	tr->tap.type = htons(ETH_P_IP);
	tr->tap.func = train_tap;
	dev_add_pack(&tr->tap);
	err = kunit_add_action_or_reset(test, train_untap, tr);
	KUNIT_ASSERT_EQ(test, err, 0);

	if (!t->opts.sndbuf)
		t->opts.sndbuf = 200000;
	conn_open(test, CONN_INITIATOR, 0, PEER_C | peer_flags);
	mpa_get_info(t->a.conn, &info);
	tr->emss = info.emss;
	tr->base = tcp_sk(t->sock[0]->sk)->write_seq;
	WRITE_ONCE(tr->port, inet_sk(t->sock[0]->sk)->inet_sport);
	train_mark(t, tr);
	return tr;
}

static struct train *train_open_1448(struct kunit *test, u8 peer_flags)
{
	struct conn_test *t = test->priv;
	struct train *tr;

	t->opts.maxseg = 1460;
	tr = train_open(test, peer_flags);
	KUNIT_ASSERT_EQ(test, tr->emss, TRAIN_EMSS);
	return tr;
}

/* The peer receives the next FPDU. */
static u32 train_take(struct kunit *test, struct train *tr)
{
	struct conn_test *t = test->priv;
	u32 len = conn_take(test);

	KUNIT_ASSERT_LT(test, tr->nr_fpdus, TRAIN_FPDUS);
	tr->pos[++tr->nr_fpdus] = t->in_pos;
	return len;
}

/* The peer receives @nr ULPDUs that are messages. */
static void train_take_messages(struct kunit *test, struct train *tr, u32 nr)
{
	struct conn_test *t = test->priv;
	u32 k, len;

	while (nr--) {
		k = t->nr_in;
		len = train_take(test, tr);
		KUNIT_ASSERT_EQ(test, len, t->msg[k].len);
		KUNIT_ASSERT_EQ(test, 0, memcmp(t->buf, t->pool + k % 256,
						len));
	}
}

/* The peer receives all ULPDUs of a source. */
static void train_take_source(struct kunit *test, struct train *tr,
			      const struct conn_msg *msg)
{
	const u8 *octets = msg->kv.iov_base;
	u32 len, at, end = msg->kv.iov_len;

	for (at = 0; at < end; at += len) {
		struct conn_test *t = test->priv;

		len = train_take(test, tr) - CONN_HDR;
		KUNIT_ASSERT_LE(test, at + len, end);
		KUNIT_ASSERT_EQ(test, 0, memcmp(t->buf, msg->tx.hdr, CONN_HDR));
		KUNIT_ASSERT_EQ(test, 0, memcmp(t->buf + CONN_HDR, octets + at,
						len));
	}
}

static struct conn_msg *train_source(struct kunit *test, u32 len)
{
	struct conn_msg *msg = conn_source(test, len);

	conn_send(test, msg);
	return msg;
}

/* Expect these numbers since train_mark(), with all messages handed back. */
static void train_expect(struct kunit *test, struct train *tr, u32 calls,
			 u32 records, u32 segments)
{
	struct conn_test *t = test->priv;

	conn_expect_done(test, &t->a, t->nr_msg, 0);
	KUNIT_EXPECT_EQ(test, calls,
			conn_counter(t, MPA_MIB_TX_CALLS) - tr->calls);
	KUNIT_EXPECT_EQ(test, records,
			conn_counter(t, MPA_MIB_TX_RECORDS) - tr->records);
	KUNIT_EXPECT_EQ(test, segments, conn_segments(t) - tr->sent);
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
static void train_expect_aligned(struct kunit *test, struct train *tr, u32 end)
{
	u32 i, k, pos, size;

	KUNIT_ASSERT_LT(test, tr->nr, TRAIN_SEGMENTS);
	for (i = 0; i < tr->nr; i++) {
		pos = tr->seq[i] - tr->base;
		/* after @end, or in the startup frame */
		if (pos >= end)
			continue;
		k = train_fpdu_at(tr, pos);
		KUNIT_ASSERT_LT(test, k, tr->nr_fpdus);
		size = tr->pos[k + 1] - tr->pos[k];
		if (size <= tr->emss)
			KUNIT_ASSERT_EQ_MSG(test, pos, tr->pos[k], "FPDU %u",
					    k);
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
static void train_expect_apart(struct kunit *test, const struct train *tr)
{
	u32 k;

	for (k = 0; k < tr->nr_fpdus; k++)
		KUNIT_ASSERT_TRUE_MSG(test, train_begins(tr, tr->pos[k]),
				      "FPDU %u", k);
}

/* FPDUs that fill segments go to TCP in one call. @arg: how they are posted */
static void train_full(struct kunit *test, struct conn_test *t)
{
	enum conn_train_full what = conn_arg(test);
	struct train *tr;
	u32 segments;

	tr = train_open_1448(test, what == TRAIN_SOURCE_MARKERS ? PEER_M : 0);
	switch (what) {
	case TRAIN_SOURCE:
	case TRAIN_SOURCE_MARKERS:
		train_source(test, 20 * (TRAIN_FULL - CONN_HDR));
		train_take_source(test, tr, &t->msg[0]);
		break;
	case TRAIN_MESSAGES:
		conn_post_many(test, 20, TRAIN_FULL);
		train_take_messages(test, tr, 20);
		break;
	case TRAIN_PAIRS:
		/* 2 + 718 + 4 */
		conn_post_many(test, 40, 718);
		train_take_messages(test, tr, 40);
		break;
	}
	segments = DIV_ROUND_UP(t->in_pos, TRAIN_EMSS);
	KUNIT_EXPECT_GE(test, segments, 20);
	train_expect(test, tr, 1, segments, segments);
	train_expect_aligned(test, tr, t->in_pos);
}

static struct conn_msg *train_other(struct kunit *test,
				    enum conn_train_between what)
{
	switch (what) {
	case TRAIN_SMALL:
		return conn_msg(test, 100);
	case TRAIN_LONG:
		return conn_msg(test, 5000);
	default:
		return conn_page_msg(test, TRAIN_FULL);
	}
}

/* Another kind of FPDU between full segments. */
static void train_between(struct kunit *test, struct conn_test *t)
{
	enum conn_train_between what = conn_arg(test);
	unsigned long zerocopy;
	struct train *tr;
	LIST_HEAD(list);
	u32 i;

	tr = train_open_1448(test, 0);
	zerocopy = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	for (i = 0; i < 11; i++) {
		struct conn_msg *msg = i == 5 ? train_other(test, what) :
						conn_msg(test, TRAIN_FULL);

		list_add_tail(&msg->tx.list, &list);
	}
	KUNIT_ASSERT_EQ(test, mpa_send_list(t->a.conn, &list), 0);
	train_take_messages(test, tr, 11);
	/* A small FPDU goes to TCP with the full ones before it. */
	train_expect(test, tr, what == TRAIN_SMALL ? 2 : 3, 11,
		     what == TRAIN_LONG ? 14 : 11);
	train_expect_aligned(test, tr, t->in_pos);
	train_expect_apart(test, tr);
	KUNIT_EXPECT_EQ(test, what == TRAIN_PAGES,
			conn_counter(t, MPA_MIB_TX_ZEROCOPY) - zerocopy);
}

/* Zero copy among small FPDUs that would all fit into one segment. */
static void train_pages(struct kunit *test, struct conn_test *t)
{
	unsigned long zerocopy;
	struct train *tr;
	LIST_HEAD(list);

	tr = train_open_1448(test, 0);
	zerocopy = conn_counter(t, MPA_MIB_TX_ZEROCOPY);
	list_add_tail(&conn_msg(test, 100)->tx.list, &list);
	list_add_tail(&conn_msg(test, 200)->tx.list, &list);
	list_add_tail(&conn_page_msg(test, 500)->tx.list, &list);
	list_add_tail(&conn_msg(test, 300)->tx.list, &list);
	KUNIT_ASSERT_EQ(test, mpa_send_list(t->a.conn, &list), 0);
	train_take_messages(test, tr, 4);
	train_expect(test, tr, 3, 3, 3);
	train_expect_aligned(test, tr, t->in_pos);
	KUNIT_EXPECT_EQ(test, 1,
			conn_counter(t, MPA_MIB_TX_ZEROCOPY) - zerocopy);
}

/* No FPDU fills a segment: one call for each. @arg: EMSS less by so much */
static void train_odd(struct kunit *test, struct conn_test *t)
{
	struct conn_msg *msg;
	struct train *tr;
	u32 mulpdu;

	t->opts.maxseg = 1460 - conn_arg(test);
	tr = train_open(test, 0);
	KUNIT_ASSERT_EQ(test, tr->emss, TRAIN_EMSS - conn_arg(test));
	mulpdu = mpa_mulpdu(t->a.conn);
	KUNIT_ASSERT_EQ(test, mulpdu, TRAIN_FULL - 4);
	conn_post_many(test, 10, mulpdu);
	train_take_messages(test, tr, 10);
	train_expect(test, tr, 10, 10, 10);

	msg = train_source(test, 10 * (mulpdu - CONN_HDR));
	train_take_source(test, tr, msg);
	train_expect(test, tr, 20, 20, 20);
	train_expect_aligned(test, tr, t->in_pos);
}

/* More segments than a train has records for, none of them full. */
static void train_many(struct kunit *test, struct conn_test *t)
{
	struct train *tr = train_open_1448(test, 0);

	conn_post_many(test, 60, 800);
	train_take_messages(test, tr, 60);
	train_expect(test, tr, 60, 60, 60);
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
static void train_source_headers(struct kunit *test, struct conn_test *t)
{
	u32 at = 0, hdr_len, i, len;
	struct conn_msg *msg;
	struct train *tr;

	tr = train_open_1448(test, 0);
	msg = conn_msg(test, CONN_HDR + 40000);
	msg->tx.next = train_next_header;
	conn_send(test, msg);
	for (i = 0; i < 25; i++) {
		hdr_len = train_headers[i % ARRAY_SIZE(train_headers)];
		len = train_take(test, tr) - hdr_len;
		KUNIT_ASSERT_EQ(test, hdr_len + len, TRAIN_FULL);
		KUNIT_ASSERT_EQ(test, 0, memcmp(t->buf, t->pool, hdr_len));
		KUNIT_ASSERT_EQ(test, 0, memcmp(t->buf + hdr_len, t->pool +
						CONN_HDR + at, len));
		at += len;
	}
	conn_expect_done(test, &t->a, 1, 0);
	KUNIT_EXPECT_EQ(test, 25, conn_segments(t) - tr->sent);
	train_expect_aligned(test, tr, t->in_pos);
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
static void train_narrow(struct kunit *test, struct conn_test *t)
{
	struct conn_msg *msg;
	struct train *tr;
	u32 i;

	t->opts.maxseg = 100;
	tr = train_open(test, 0);
	KUNIT_ASSERT_LT(test, tr->emss, 128);
	msg = conn_msg(test, CONN_HDR + 4000);
	msg->tx.next = train_next_narrow;
	msg->max = U32_MAX;
	msg->left = tr->emss - 6;
	conn_send(test, msg);
	for (i = 0; i < 20; i++)
		KUNIT_ASSERT_EQ(test, train_take(test, tr), msg->left);
	KUNIT_EXPECT_EQ(test, msg->max, 128);
	train_expect_aligned(test, tr, t->in_pos);
}

/*
 * Wait until octets are unsent with all sent ones acknowledged: the window is
 * shut. Returns the number of unsent octets.
 */
static u32 train_wait_zero_window(struct kunit *test)
{
	struct conn_test *t = test->priv;
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
static void train_window(struct kunit *test, struct conn_test *t)
{
	struct train *tr;
	u32 unsent, end;

	t->opts.rcvbuf = 32768;
	tr = train_open_1448(test, 0);
	conn_post_many(test, 150, TRAIN_FULL);
	unsent = train_wait_zero_window(test);
	KUNIT_EXPECT_GT(test, unsent, 0);
	KUNIT_EXPECT_LE(test, unsent, TRAIN_EMSS);
	/* Without the unsent octets: TCP may send parts of them as probes. */
	end = tcp_sk(t->sock[0]->sk)->write_seq - tr->base - TRAIN_EMSS;
	KUNIT_EXPECT_GT(test, end, 4 * TRAIN_EMSS);
	KUNIT_EXPECT_LT(test, mpa_consumer_done(&t->a), 100);
	train_take_messages(test, tr, 150);
	train_expect_aligned(test, tr, end);
	conn_expect_done(test, &t->a, 150, 0);
}

/* TCP lacks memory for a whole record, and takes it in parts. */
static void train_short(struct kunit *test, struct conn_test *t)
{
	struct train *tr;
	unsigned long taken;

	t->opts.sndbuf = 8192;
	tr = train_open_1448(test, 0);
	taken = conn_counter(t, MPA_MIB_TX_SHORT);
	/* Less than the window: TCP would probe with part of an FPDU. */
	conn_post_many(test, 40, TRAIN_FULL);
	train_take_messages(test, tr, 40);
	conn_expect_done(test, &t->a, 40, 0);
	KUNIT_EXPECT_GT(test, conn_counter(t, MPA_MIB_TX_SHORT), taken);
	KUNIT_EXPECT_EQ(test, 40, conn_segments(t) - tr->sent);
	train_expect_aligned(test, tr, t->in_pos);
}

/*
 * TCP has room for part of a train, and no ACK comes that would make more room:
 * TCP sends all octets it has taken. The RTT is raised to prevent a tail loss
 * probe, which would send the rest as well.
 */
static void train_uncorked(struct kunit *test, struct conn_test *t)
{
	struct train *tr;
	struct sock *sk;

	t->opts.sndbuf = 8192;
	tr = train_open_1448(test, 0);
	sk = t->sock[0]->sk;
	mpa_peer_stop(&t->peer);
	lock_sock(sk);
	tcp_sk(sk)->srtt_us = 8 * USEC_PER_SEC;
	release_sock(sk);
	conn_post_many(test, 40, 1000);
	conn_settle(&t->a);
	lock_sock(sk);
	KUNIT_EXPECT_FALSE(test, sk_stream_memory_free(sk));
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->snd_nxt, tcp_sk(sk)->write_seq);
	release_sock(sk);
	mpa_peer_continue(&t->peer);
	train_take_messages(test, tr, 40);
	conn_expect_done(test, &t->a, 40, 0);
	train_expect_aligned(test, tr, t->in_pos);
}

static void train_put_page(void *page)
{
	put_page(page);
}

/* MPA drops all references on the pages of a train once TCP has taken it. */
static void train_page_refs(struct kunit *test, struct conn_test *t)
{
	const struct mpa_train *laid;
	struct train *tr;
	struct page *page;
	u32 cpu;

	t->opts.sndbuf = 8192;
	tr = train_open_1448(test, 0);
	mpa_peer_stop(&t->peer);
	conn_post_many(test, 80, 300);
	conn_settle(&t->a);
	laid = t->a.conn->tx.train;
	KUNIT_ASSERT_NOT_NULL(test, laid);
	KUNIT_ASSERT_GT(test, laid->enc.nr, 0);
	page = laid->bv[laid->enc.nr - 1].bv_page;
	get_page(page);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, train_put_page,
							   page));
	mpa_peer_continue(&t->peer);
	train_take_messages(test, tr, 80);
	conn_expect_done(test, &t->a, 80, 0);
	/* A CPU frees skbs that another CPU read once it receives a packet. */
	for_each_online_cpu(cpu) {
		set_cpus_allowed_ptr(current, cpumask_of(cpu));
		conn_expect_alive(test, &t->a);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
}

/* Copy the peer's first FPDU: conn_take() overwrites the buffer. */
static u8 *train_first(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u8 *first = kunit_kmalloc(test, gap_at(t, 1), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, first);
	memcpy(first, t->buf, gap_at(t, 1));
	return first;
}

static void train_expect_mulpdu(struct kunit *test, u32 mulpdu)
{
	struct conn_test *t = test->priv;
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_EQ(test, mpa_mulpdu(t->a.conn), mulpdu);
	KUNIT_EXPECT_EQ(test, info.mulpdu, mulpdu);
	KUNIT_EXPECT_EQ(test, info.emss, mulpdu + TRAIN_EMSS - TRAIN_FULL);
}

/* Expect that mulpdu() and mpa_mulpdu() report @mulpdu. */
static void train_told(struct kunit *test, u32 times, u32 mulpdu)
{
	struct conn_test *t = test->priv;

	CONN_WAIT(test, &t->a, EV_MULPDU, times);
	KUNIT_EXPECT_EQ(test, t->a.mulpdu, mulpdu);
	train_expect_mulpdu(test, mulpdu);
}

/*
 * While there is a hole, and for four seconds after it, segments leave room for
 * SACK blocks, TCP gets them one by one, and the MULPDU is smaller.
 */
static void train_sack(struct kunit *test, struct conn_test *t)
{
	const u32 max = TRAIN_FULL - TRAIN_SACK;
	struct conn_msg *msg;
	unsigned long begun;
	struct train *tr;
	u8 *first;

	tr = train_open_1448(test, 0);
	train_expect_mulpdu(test, TRAIN_FULL);
	gap_begin(test);
	gap_fpdus(test, 2, 700);
	first = train_first(test);
	conn_settle(&t->a);
	begun = jiffies;
	gap_put(test, gap_at(t, 1), t->buf_len);
	/* mpa_mulpdu() is smaller at once, although nothing is sent. */
	train_expect_mulpdu(test, max);
	conn_post_many(test, 20, mpa_mulpdu(t->a.conn));
	train_take_messages(test, tr, 20);
	train_expect(test, tr, 20, 20, 20);
	train_told(test, 1, max);
	/* TCP alone cuts a longer FPDU. */
	conn_post(test, 5000);
	KUNIT_ASSERT_EQ(test, train_take(test, tr), 5000);
	train_expect(test, tr, 21, 21, 24);
	msg = train_source(test, 20 * (max - CONN_HDR));
	train_take_source(test, tr, msg);
	KUNIT_EXPECT_EQ(test, msg->max, max);
	train_expect(test, tr, 41, 41, 44);
	train_expect_aligned(test, tr, t->in_pos);

	KUNIT_ASSERT_EQ(test, 0, mpa_inject(&t->inject, 0, first, gap_at(t, 1),
					    0));
	conn_expect_rx(test, &t->a, 2);
	/* Nothing is sent or received from now on. */
	train_told(test, 2, TRAIN_FULL);
	KUNIT_EXPECT_TRUE(test, time_after(jiffies, begun + 4 * HZ));
	train_mark(t, tr);
	msg = train_source(test, 20 * (TRAIN_FULL - CONN_HDR));
	train_take_source(test, tr, msg);
	train_expect(test, tr, 1, 20, 20);
	train_expect_aligned(test, tr, t->in_pos);
}

/* A hole that is filled on hold is noticed as well. */
static void train_sack_held(struct kunit *test, struct conn_test *t)
{
	train_open_1448(test, 0);
	mpa_hold(t->a.conn);
	gap_begin(test);
	gap_fpdus(test, 3, 700);
	gap_put(test, 0, gap_at(t, 1));
	conn_settle(&t->a);
	KUNIT_ASSERT_TRUE(test, READ_ONCE(t->a.conn->rx.blocked));
	gap_put(test, gap_at(t, 2), t->buf_len);
	gap_put(test, gap_at(t, 1), gap_at(t, 2));
	train_told(test, 1, TRAIN_FULL - TRAIN_SACK);
	mpa_resume(t->a.conn);
	conn_expect_rx(test, &t->a, 3);
}

/* Full operation begins with a hole: the first MULPDU is the smaller one. */
static void train_sack_begin(struct kunit *test, struct conn_test *t)
{
	u32 reply;

	t->opts.maxseg = 1460;
	conn_attach(test, 0);
	t->crc = true;
	conn_start(test, CONN_INITIATOR);
	conn_expect_frame(test, false, PEER_C, 1, NULL, 0);
	gap_begin(test);
	reply = mpa_peer_frame(t->buf, true, PEER_C, 1, NULL, 0);
	t->buf_len = reply;
	gap_fpdus(test, 2, 700);
	gap_put(test, reply + gap_at(t, 1), t->buf_len);
	gap_put(test, 0, reply);
	CONN_WAIT(test, &t->a, EV_ESTABLISHED, 1);
	train_expect_mulpdu(test, TRAIN_FULL - TRAIN_SACK);
	conn_settle(&t->a);
	CONN_COUNT(test, &t->a, EV_MULPDU, 0);
	mpa_resume(t->a.conn);
	gap_put(test, reply, reply + gap_at(t, 1));
	conn_expect_rx(test, &t->a, 2);
	CONN_COUNT(test, &t->a, EV_MULPDU, 0);
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

	if (msg->asked == 5)
		train_disturb(container_of(c, struct conn_test, a), msg);
	return conn_next(tx, max);
}

/* The EMSS decreases after layout: a segment still begins with each FPDU. */
static void train_apart(struct kunit *test, struct conn_test *t)
{
	struct conn_msg *msg;
	struct train *tr;

	if (conn_arg(test) == TRAIN_MTU) {
		t->lo_mtu = mpa_peer_lo_mtu(1500);
		KUNIT_ASSERT_GT(test, t->lo_mtu, 1500);
	}
	tr = train_open_1448(test, 0);
	gap_begin(test);
	gap_fpdus(test, 2, 700);
	msg = conn_source(test, 20 * (TRAIN_FULL - CONN_HDR));
	msg->conn = t->a.conn;
	msg->tx.next = train_next_disturbed;
	conn_send(test, msg);
	train_take_source(test, tr, msg);
	KUNIT_EXPECT_EQ(test, msg->err, 0);
	KUNIT_EXPECT_EQ(test, msg->asked, 20);
	/* Each FPDU is a little longer than a segment now. */
	train_expect(test, tr, 20, 20, 40);
	train_expect_apart(test, tr);
}

static const struct conn_row train_rows[] = {
	{ "TX-04 TX-06 SZ-11: source, full segments in one call",
	  train_full, TRAIN_SOURCE },
	{ "TX-04 TX-06 SZ-11: source, full segments in one call, markers",
	  train_full, TRAIN_SOURCE_MARKERS },
	{ "TX-04 TX-06: messages, full segments in one call",
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
	{ "SZ-01 SZ-14: a hole while delivery is held", train_sack_held },
	{ "SZ-01 SZ-09 SZ-14: a hole before full operation", train_sack_begin },
	{ "TX-04 TX-06: a hole while a train is laid out",
	  train_apart, TRAIN_HOLE },
	{ "TX-04 TX-07: the MTU changes while a train is laid out",
	  train_apart, TRAIN_MTU },
};

CONN_ROWS(train);
