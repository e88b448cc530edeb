// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory and time that a peer can take from one connection: FPDUs that must be
 * copied, FPDUs passed out of order that the stream reaches in many pieces, and
 * FPDUs that the peer does not acknowledge.
 */
#include <net/tcp.h>
#include "mpa_conn_ooo.h"

enum {
	BOUNDS_COPY_MIN	= 256,
	BOUNDS_STEPS	= 1024,		/* FPDUs stepped over in one hold */
	BOUNDS_PIECE	= 16,
	BOUNDS_UNACKED	= 100,		/* messages */
	BOUNDS_PAGES	= 256,
};

/* Pages that TCP keeps for what it has not sent, or not had acknowledged */
struct bounds_pages {
	struct page	*page[BOUNDS_PAGES];
	u32		nr;
	size_t		octets;		/* of memory, not of the stream */
};

/* Memory that the connection takes. */
static s64 bounds_mem(const struct conn_test *t)
{
	return percpu_counter_sum(&t->mn->rx_mem) - t->others;
}

/* With conn_arg() other connections use up net.mpa.rx_mem_max. */
static void bounds_use_up(struct conn_test *t)
{
	if (conn_arg(t))
		conn_use_up(t);
}

/* Octets @from to @to of the buffer arrive and are processed. */
static void bounds_arrive(struct conn_test *t, u32 from, u32 to)
{
	conn_write(t, t->buf + from, to - from);
	ASSERT_TRUE(t, CONN_UNTIL(conn_all_acked(t)));
	conn_settle(&t->a);
}

/* The FPDU of @size octets of which @from have arrived is delivered. */
static void bounds_delivered(struct conn_test *t, u32 from, u32 size)
{
	conn_write(t, t->buf + from, size - from);
	t->buf_len = 0;
	conn_expect_rx(t, &t->a, 1);
	conn_settle(&t->a);
	EXPECT_EQ(t, bounds_mem(t), 0);
	conn_expect_alive(t, &t->a);
}

/*
 * An FPDU longer than the window. Its copy takes memory for what has arrived,
 * not for what ULPDU_Length claims; and it arrives though other connections
 * have used up the limit.
 */
static void bounds_copied(struct conn_test *t)
{
	static const u32 ends[] = { 1, 10, 300, 3000, 20000, 40000 };
	u32 i, size, from = 0;

	conn_buffers(t, 4096, 200000);
	conn_default(t);
	bounds_use_up(t);
	size = conn_fpdu(t, MPA_ULPDU_MAX);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		bounds_arrive(t, from, ends[i]);
		from = ends[i];
		EXPECT_LE(t, bounds_mem(t), max_t(u32, 2 * from,
						  BOUNDS_COPY_MIN));
	}
	EXPECT_GE(t, bounds_mem(t), 30000);
	bounds_delivered(t, from, size);
}

/* The connection is detached with part of an FPDU copied. */
static void bounds_copied_detach(struct conn_test *t)
{
	t->opts.rcvbuf = 4096;
	conn_default(t);
	conn_fpdu(t, MPA_ULPDU_MAX);
	bounds_arrive(t, 0, 20000);
	EXPECT_GE(t, bounds_mem(t), 10000);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, bounds_mem(t), 0);
}

static long bounds_tcp_mem[2];

static void bounds_end_pressure(void *arg)
{
	struct proto *prot = arg;

	memcpy(prot->sysctl_mem, bounds_tcp_mem, sizeof(bounds_tcp_mem));
	WRITE_ONCE(*prot->memory_pressure, 0);
}

/* TCP as a whole is short of memory, as it is above the second of tcp_mem. */
static void bounds_begin_pressure(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;
	struct proto *prot = sk->sk_prot;

	memcpy(bounds_tcp_mem, prot->sysctl_mem, sizeof(bounds_tcp_mem));
	ASSERT_EQ(t, 0, kunit_add_action_or_reset(t->test, bounds_end_pressure,
						  prot));
	/* TCP counts in parts for each processor: the sum may be negative. */
	prot->sysctl_mem[0] = LONG_MIN;
	prot->sysctl_mem[1] = LONG_MIN;
	prot->enter_memory_pressure(sk);
	ASSERT_TRUE(t, tcp_under_memory_pressure(sk));
}

/*
 * TCP is short of memory, but the window is open. MPA takes the first octets of
 * an FPDU out of TCP's memory, into less of its own; not if other connections
 * have used up the limit, since the FPDU arrives without that.
 */
static void bounds_pressure(struct conn_test *t)
{
	u32 size, part = 10;

	conn_buffers(t, SZ_512K, 200000);
	t->opts.maxseg = 1400;
	conn_default(t);
	bounds_use_up(t);
	bounds_begin_pressure(t);
	size = conn_fpdu(t, 40000);
	bounds_arrive(t, 0, part);
	EXPECT_TRUE(t, tcp_under_memory_pressure(t->sock[0]->sk));
	EXPECT_EQ(t, t->a.conn->rx.copied, conn_arg(t) ? 0 : part);
	EXPECT_EQ(t, bounds_mem(t), conn_arg(t) ? 0 : BOUNDS_COPY_MIN);
	bounds_delivered(t, part, size);
}

/*
 * TCP is short of memory. MPA has taken @arg of four zero octets, where a
 * marker is due, when the rest of them and the FIN arrive.
 */
static void bounds_pressure_marker(struct conn_test *t)
{
	static const u8 marker[MPA_MARKER_SIZE];
	u32 first = conn_arg(t);

	conn_default(t);
	bounds_begin_pressure(t);
	memcpy(t->buf, marker, sizeof(marker));
	bounds_arrive(t, 0, first);
	EXPECT_EQ(t, t->a.conn->rx.copy_consumed, first);
	/* The FIN comes with the rest. */
	tcp_sock_set_cork(t->peer.sock->sk, true);
	if (first < sizeof(marker))
		conn_write(t, marker, sizeof(marker) - first);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	EXPECT_EQ(t, t->a.end.err, 0);
}

/* As before, with a marker that is not zero: no clean end. */
static void bounds_pressure_wrong(struct conn_test *t)
{
	conn_default(t);
	bounds_begin_pressure(t);
	memcpy(t->buf, "\0\0\0\4", MPA_MARKER_SIZE);
	bounds_arrive(t, 0, MPA_MARKER_SIZE);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_TRUNCATED);
}

/* The connection is detached when MPA has taken the first octets of an FPDU. */
static void bounds_pressure_detach(struct conn_test *t)
{
	unsigned long resets;

	conn_default(t);
	bounds_begin_pressure(t);
	resets = conn_counter(t, MPA_MIB_RESETS);
	conn_fpdu(t, 1000);
	bounds_arrive(t, 0, 100);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_RESETS), resets + 1);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
}

/*
 * Nothing is passed out of order while other connections use up the limit, but
 * all is delivered in order; once they do not, it is, although nothing arrives.
 */
static void bounds_ooo(struct conn_test *t)
{
	gap_default(t);
	/* No timer for the end of the room for SACK blocks */
	WRITE_ONCE(t->a.conn->tx.sack_max, 0);
	bounds_use_up(t);
	gap_fpdus(t, 4, 700);
	gap_put(t, gap_at(t, 1), t->buf_len);
	gap_none(t);
	gap_put(t, 0, gap_at(t, 1));
	gap_all(t);
	gap_begin(t);
	gap_fpdus(t, 4, 700);
	gap_put(t, gap_at(t, t->base_nr + 1), t->buf_len);
	gap_none(t);
	conn_give_back(t);
	gap_ooo(t, t->base_nr + 1, t->base_nr + 4);
	gap_put(t, 0, gap_at(t, t->base_nr + 1));
	gap_alive(t);
}

/*
 * An FPDU that was passed out of order, dropped by TCP and received again in
 * many pieces: MPA does not step over it in one hold of the socket lock, but
 * copies it.
 */
static void bounds_passed_pieces(struct conn_test *t)
{
	struct sk_buff_head clones;
	unsigned long copied;
	u32 at, from, first;

	__skb_queue_head_init(&clones);
	gap_widen(t);
	gap_rcvbuf(t, SZ_16M);
	first = t->base_nr;
	conn_fpdu(t, 40);
	conn_fpdu(t, MPA_ULPDU_MAX);
	conn_fpdu(t, 500);
	from = gap_at(t, first + 1);
	gap_put_split(t, from, t->buf_len, 8000);
	gap_ooo(t, first + 1, first + 3);
	gap_drop(t, from);
	copied = conn_counter(t, MPA_MIB_RX_COPIED);
	for (at = t->buf_len - t->buf_len % BOUNDS_PIECE; at > from;
	     at -= BOUNDS_PIECE)
		gap_put(t, at, min(at + BOUNDS_PIECE, t->buf_len));
	gap_clone(t, &clones);
	gap_put(t, 0, from + BOUNDS_PIECE);
	gap_alive(t);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_RX_COPIED), copied + 1);
	__skb_queue_purge(&clones);
}

/* Clone the last skb received, so that TCP does not append to it. */
static void bounds_clone_last(struct conn_test *t, struct sk_buff_head *clones)
{
	struct sock *sk = t->sock[0]->sk;
	struct sk_buff *skb, *clone = NULL;

	lock_sock(sk);
	skb = skb_peek_tail(&sk->sk_receive_queue);
	if (skb)
		clone = skb_clone(skb, GFP_KERNEL);
	if (clone)
		__skb_queue_tail(clones, clone);
	release_sock(sk);
}

/*
 * An FPDU in pages that a process may write to, in more pieces than are looked
 * at in one hold of the lock.
 */
static void bounds_shared_pieces(struct conn_test *t)
{
	struct sk_buff_head clones;
	u32 at;

	__skb_queue_head_init(&clones);
	gap_default(t);
	gap_rcvbuf(t, SZ_16M);
	conn_fpdu(t, 30000);
	for (at = 0; at < t->buf_len; at += BOUNDS_PIECE) {
		t->inject.page = alloc_page(GFP_KERNEL);
		ASSERT_NOT_NULL(t, t->inject.page);
		gap_put_as(t, at, min(at + BOUNDS_PIECE, t->buf_len),
			   INJECT_SHARED);
		put_page(t->inject.page);
		bounds_clone_last(t, &clones);
	}
	EXPECT_GT(t, skb_queue_len(&clones), BOUNDS_STEPS);
	gap_alive(t);
	__skb_queue_purge(&clones);
}

/* Not more than BOUNDS_STEPS FPDUs are stepped over in one hold of the lock. */
static void bounds_passed_many(struct conn_test *t)
{
	u32 first, recvs, nr = 3 * BOUNDS_STEPS;

	gap_widen(t);
	first = t->base_nr;
	conn_fpdu(t, 10);
	/* A search begins at an FPDU with a marker. */
	conn_fpdu(t, 600);
	gap_fpdus(t, nr - 1, 10);
	gap_put_split(t, gap_at(t, first + 1), t->buf_len, 8000);
	gap_ooo(t, first + 1, first + 1 + nr);
	recvs = mpa_consumer_count(&t->a, EV_RECV);
	gap_put(t, 0, gap_at(t, first + 1));
	gap_all(t);
	recvs = mpa_consumer_count(&t->a, EV_RECV) - recvs;
	/* One of them for the first FPDU */
	EXPECT_GE(t, recvs, 1 + nr / BOUNDS_STEPS);
	gap_alive(t);
}

static void bounds_add_page(struct bounds_pages *pages, struct page *page)
{
	u32 i;

	page = compound_head(page);
	for (i = 0; i < pages->nr; i++)
		if (pages->page[i] == page)
			return;
	if (pages->nr == BOUNDS_PAGES)
		return;
	pages->page[pages->nr++] = page;
	pages->octets += page_size(page);
}

static void bounds_add_skb(struct bounds_pages *pages, struct sk_buff *skb)
{
	int i;

	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++)
		bounds_add_page(pages,
				skb_frag_page(&skb_shinfo(skb)->frags[i]));
}

/* Socket lock held. */
static void bounds_add_all(struct bounds_pages *pages, struct sock *sk)
{
	struct sk_buff *skb;

	skb_rbtree_walk(skb, &sk->tcp_rtx_queue)
		bounds_add_skb(pages, skb);
	skb_queue_walk(&sk->sk_write_queue, skb)
		bounds_add_skb(pages, skb);
}

/*
 * The peer withholds its ACKs, while messages are posted one at a time. TCP's
 * references keep whole pages, of which each message takes but a part; @arg:
 * the connection sends markers, so that MPA lays the FPDUs out.
 */
static void bounds_unacked(struct conn_test *t)
{
	struct bounds_pages *pages;
	struct sock *sk;
	u32 i;

	pages = kunit_kzalloc(t->test, sizeof(*pages), GFP_KERNEL);
	ASSERT_NOT_NULL(t, pages);
	conn_buffers(t, 0, SZ_1M);
	t->opts.maxseg = 1460;
	conn_open_row(t);
	conn_settle(&t->a);
	sk = t->sock[0]->sk;
	mpa_peer_stop(&t->peer);
	for (i = 0; i < BOUNDS_UNACKED; i++) {
		conn_post(t, 300);
		CONN_WAIT(t, &t->a, EV_DONE, i + 1);
	}
	lock_sock(sk);
	bounds_add_all(pages, sk);
	EXPECT_GE(t, tcp_sk(sk)->write_seq - tcp_sk(sk)->snd_una,
		  300 * BOUNDS_UNACKED);
	EXPECT_GT(t, pages->nr, 0);
	EXPECT_LE(t, pages->octets, 2 * sk->sk_wmem_queued + SZ_64K);
	release_sock(sk);
	mpa_peer_continue(&t->peer);
	for (i = 0; i < BOUNDS_UNACKED; i++)
		conn_expect_tx(t, 300);
}

static const struct conn_row bounds_rows[] = {
	{ "a copied FPDU takes memory as it arrives", bounds_copied, false },
	{ "a copied FPDU arrives, net.mpa.rx_mem_max used up",
	  bounds_copied, true },
	{ "detach, an FPDU partly copied", bounds_copied_detach },
	{ "TCP short of memory, part of an FPDU", bounds_pressure, false },
	{ "TCP short of memory, net.mpa.rx_mem_max used up",
	  bounds_pressure, true },
	{ "TD-02: TCP short of memory, a marker that nothing follows",
	  bounds_pressure_marker, MPA_MARKER_SIZE },
	{ "TD-02: TCP short of memory, part of a marker, then the rest",
	  bounds_pressure_marker, 2 },
	{ "TD-03: TCP short of memory, a marker that is not zero",
	  bounds_pressure_wrong },
	{ "TCP short of memory, detach", bounds_pressure_detach },
	{ "after a hole, net.mpa.rx_mem_max used up for some time",
	  bounds_ooo, true },
	{ "a passed FPDU, dropped by TCP, comes again in many pieces",
	  bounds_passed_pieces, .slow = true },
	{ "an FPDU in many pieces that a process may write to",
	  bounds_shared_pieces, .slow = true },
	{ "3072 passed FPDUs reached at once", bounds_passed_many },
	{ "a peer that sends no ACK", bounds_unacked, false },
	{ "a peer that sends no ACK, markers", bounds_unacked, true },
};

CONN_ROWS(bounds);
