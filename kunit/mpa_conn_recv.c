// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Receiving: from the peer's segments to recv(), and errors in the stream. */
#include <linux/tcp.h>
#include <linux/unaligned.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

#define RECV_HALF	(MPA_ULPDU_MAX / 2)	/* octets of an FPDU */

/* Wait until the work item has processed all octets that have arrived. */
static void recv_flush_work(struct conn_test *t)
{
	while (work_busy(&t->a.conn->work))
		flush_work(&t->a.conn->work);
}

static void recv_write(struct conn_test *t, u32 from, u32 to)
{
	conn_write(t, t->buf + from, to - from);
	recv_flush_work(t);
}

static void recv_held(struct conn_test *t)
{
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_C);
	conn_peer_send(t, 100);
	conn_peer_send(t, 900);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 2);
	EXPECT_EQ(t, t->a.pos[0], 0);
	EXPECT_EQ(t, t->a.pos[1], mpa_ref_size(0, 100, true));
	EXPECT_EQ(t, t->a.delivered, t->out_pos);

	mpa_hold(t->a.conn);
	conn_settle(&t->a);
	conn_peer_send(t, 100);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 2);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 3);
}

/* mpa_resume() before full operation: that does not begin on hold. */
static void recv_resumed_early(struct conn_test *t)
{
	conn_attach(t, MPA_F_MARKERS);
	mpa_resume(t->a.conn);
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_C);
	conn_peer_send(t, 100);
	conn_expect_rx(t, &t->a, 1);
}

/* On hold the window closes; after mpa_resume() all ULPDUs are delivered. */
static void recv_held_window(struct conn_test *t)
{
	u32 i, nr = 60, consumed;

	conn_buffers(t, 8192, 200000);
	conn_full(t, CONN_INITIATOR, 0, PEER_C);
	consumed = conn_consumed(t);
	for (i = 0; i < nr; i++)
		conn_peer_send(t, 2000);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_consumed(t), consumed);
	EXPECT_LT(t, tcp_sk(t->sock[0]->sk)->rcv_nxt - consumed, t->out_pos);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 0);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, nr);
}

/* FPDUs with a marker inside, in two segments, cut after each octet. */
static void recv_split(struct conn_test *t)
{
	bool markers = conn_arg(t);
	u32 cut, at, size, nr = 0;

	conn_open(t, CONN_INITIATOR, markers ? MPA_F_MARKERS : 0, PEER_C);
	for (cut = 1; cut < 516; cut++) {
		size = conn_fpdu(t, 500);
		at = min(cut, size - 1);
		recv_write(t, 0, at);
		ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_ULPDUS), nr);
		recv_write(t, at, size);
		t->buf_len = 0;
		nr++;
		CONN_WAIT(t, &t->a, EV_ULPDUS, nr);
	}
	conn_expect_rx(t, &t->a, nr);
}

/* A segment with a tail, whole FPDUs and a head: only the head waits. */
static void recv_mixed(struct conn_test *t)
{
	u32 first, end;

	conn_default(t);
	first = conn_fpdu(t, 300);
	conn_fpdu(t, 200);
	conn_fpdu(t, 3);
	end = t->buf_len;
	conn_fpdu(t, 400);
	recv_write(t, 0, first - 100);
	recv_write(t, first - 100, end + 50);
	CONN_WAIT(t, &t->a, EV_ULPDUS, 3);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 3);
	recv_write(t, end + 50, t->buf_len);
	t->buf_len = 0;
	conn_expect_rx(t, &t->a, 4);
}

/* FPDUs that are longer than the window can ever be; @arg: markers */
static void recv_window(struct conn_test *t)
{
	conn_buffers(t, 4096, 200000);
	conn_open(t, CONN_INITIATOR, conn_arg(t) ? MPA_F_MARKERS : 0, PEER_C);
	conn_fpdu(t, 100);
	conn_fpdu(t, MPA_ULPDU_MAX);
	conn_fpdu(t, 100);
	conn_fpdu(t, 20000);
	conn_flush(t);
	conn_expect_rx(t, &t->a, 4);
	conn_expect_alive(t, &t->a);
}

/* An FPDU in more pieces than a batch has room for is copied. */
static void recv_pieces(struct conn_test *t)
{
	unsigned long copied;

	conn_buffers(t, 200000, 200000);
	conn_default(t);
	copied = conn_counter(t, MPA_MIB_RX_COPIED);
	conn_fpdu(t, 100);
	conn_fpdu(t, MPA_ULPDU_MAX);
	conn_fpdu(t, 100);
	ASSERT_EQ(t, mpa_peer_write_scattered(&t->peer, t->buf, t->buf_len, 700,
					      false), 0);
	t->buf_len = 0;
	conn_expect_rx(t, &t->a, 3);
	EXPECT_GT(t, conn_counter(t, MPA_MIB_RX_COPIED), copied);
	conn_expect_alive(t, &t->a);
}

/*
 * An FPDU that is longer than the window arrives, but for its last @left
 * octets, and part of it is consumed. Returns its length.
 */
static u32 recv_but(struct conn_test *t, u32 len, u32 left)
{
	u32 size, consumed;

	conn_buffers(t, 4096, 200000);
	conn_default(t);
	consumed = conn_consumed(t);
	size = conn_fpdu(t, len);
	conn_write(t, t->buf, size - left);
	ASSERT_TRUE(t, CONN_UNTIL(conn_all_acked(t)));
	KUNIT_ASSERT_GE(t->test, conn_consumed(t) - consumed, 8192);
	conn_settle(&t->a);
	return size;
}

static u32 recv_half(struct conn_test *t)
{
	return recv_but(t, MPA_ULPDU_MAX, RECV_HALF);
}

static void recv_window_truncated(struct conn_test *t)
{
	unsigned long discarded;
	u32 size;

	size = recv_half(t);
	discarded = conn_counter(t, MPA_MIB_RX_DISCARDED);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_TRUNCATED);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 0);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_RX_DISCARDED) - discarded,
		  size - RECV_HALF);
	conn_post(t, 100);
	conn_expect_tx(t, 100);
	/* The peer has closed, so the detach need not reset TCP. */
	conn_detach(t, &t->a);
	kernel_sock_shutdown(t->sock[0], SHUT_WR);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), 0);
}

static void recv_hook_leave(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev == EV_ENDED)
		conn_leave(c);
}

/* Nor if it comes in ended(), when the copy is still there. */
static void recv_window_truncated_leave(struct conn_test *t)
{
	t->a.hook = recv_hook_leave;
	recv_half(t);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	kernel_sock_shutdown(t->sock[0], SHUT_WR);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), 0);
}

/* Its copy is not kept after ended(), and the detach does not reset TCP. */
static void recv_window_crc(struct conn_test *t)
{
	unsigned long resets, discarded;
	u32 size;

	size = recv_half(t);
	EXPECT_GT(t, t->a.conn->rx.capacity, 0);
	discarded = conn_counter(t, MPA_MIB_RX_DISCARDED);
	t->buf[size - 100] ^= 1;
	conn_write(t, t->buf + size - RECV_HALF, RECV_HALF);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 0);
	conn_settle(&t->a);
	EXPECT_NULL(t, t->a.conn->rx.copy);
	EXPECT_EQ(t, t->a.conn->rx.capacity, 0);
	EXPECT_EQ(t, percpu_counter_sum(&t->mn->rx_mem), 0);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_RX_DISCARDED) - discarded, size);
	resets = conn_counter(t, MPA_MIB_RESETS);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_RESETS), resets);
}

/* Part of an FPDU was consumed but not delivered: the detach resets TCP. */
static void recv_window_detach(struct conn_test *t)
{
	recv_half(t);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
}

/* The same if the FPDU is complete, but not delivered because of a hold. */
static void recv_window_detach_held(struct conn_test *t)
{
	/* On hold nothing is consumed: all but the end must arrive before. */
	u32 size = recv_but(t, 20000, 100);

	mpa_hold(t->a.conn);
	conn_write(t, t->buf + size - 100, 100);
	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(t->a.conn->rx.ready)));
	conn_detach(t, &t->a);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
}

/* On hold nothing is consumed, not even of an FPDU longer than the window. */
static void recv_window_held(struct conn_test *t)
{
	u32 consumed;

	conn_buffers(t, 4096, 200000);
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_C);
	consumed = conn_consumed(t);
	conn_peer_send(t, MPA_ULPDU_MAX);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_consumed(t), consumed);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 1);
}

static void recv_hook_hold(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev == EV_RECV)
		mpa_hold(c->conn);
}

/* mpa_hold() in recv(): no other recv() before mpa_resume(). */
static void recv_hold_inside(struct conn_test *t)
{
	u32 i;

	conn_default(t);
	t->a.hook = recv_hook_hold;
	for (i = 0; i < 5; i++) {
		conn_peer_send(t, 100);
		conn_settle(&t->a);
		CONN_COUNT(t, &t->a, EV_RECV, i + 1);
		conn_peer_send(t, 100);
		conn_settle(&t->a);
		CONN_COUNT(t, &t->a, EV_RECV, i + 1);
		mpa_resume(t->a.conn);
		conn_settle(&t->a);
		CONN_COUNT(t, &t->a, EV_RECV, i + 2);
		t->a.count[EV_RECV]--;
		mpa_resume(t->a.conn);
	}
	conn_expect_rx(t, &t->a, 10);
}

/*
 * TCP's sequence number wraps @arg and more octets into full operation: in
 * every part of an FPDU in turn.
 */
static void recv_wrap(struct conn_test *t)
{
	u32 at, i;

	for (at = conn_arg(t); at < conn_arg(t) + 24; at += 2) {
		t->opts.seq = -(20 + at);
		conn_default(t);
		for (i = 0; i < 60; i++)
			conn_fpdu(t, 15);
		conn_flush(t);
		conn_expect_rx(t, &t->a, 60);
		conn_settle(&t->a);
		conn_post_many(t, 60, 15);
		for (i = 0; i < 60; i++)
			conn_expect_tx(t, 15);
		ASSERT_LT(t, conn_consumed(t), t->opts.seq);
		conn_reopen(t);
	}
}

/* Before any FPDU is sent: move both stream positions to @pos. */
static void recv_far(struct conn_test *t, u64 pos)
{
	struct mpa_conn *conn = t->a.conn;

	conn_settle(&t->a);
	conn->rx.pos = pos;
	conn->tx.pos = pos;
	atomic64_set(&conn->tx.sent, pos);
	t->a.delivered = pos;
	t->out_pos = pos;
	t->in_pos = pos;
}

/*
 * The stream positions pass 2^@arg: check markers, and the positions of
 * batches, of kept batches, of FPDUs sent and of messages handed back.
 */
static void recv_long_streams(struct conn_test *t)
{
	u64 past = 1ULL << conn_arg(t);
	struct mpa_info info;
	u32 at, i;

	for (at = 0; at < 2048; at += 292) {
		conn_full(t, CONN_INITIATOR, MPA_F_OOO, PEER_M | PEER_C);
		recv_far(t, past - at);
		mpa_resume(t->a.conn);
		for (i = 0; i < 40; i++)
			conn_fpdu(t, 100 + i);
		conn_flush(t);
		conn_expect_rx(t, &t->a, 40);
		ASSERT_EQ(t, t->a.pos[0], past - at);
		ASSERT_EQ(t, t->a.delivered, t->out_pos);
		conn_post_many(t, 40, 100);
		for (i = 0; i < 40; i++)
			conn_expect_tx(t, 100);
		CONN_WAIT(t, &t->a, EV_DONE, 40);
		mpa_get_info(t->a.conn, &info);
		ASSERT_EQ(t, info.tx_pos, t->in_pos);
		conn_reopen(t);
	}
}

/*
 * For 2 GB there was always another FPDU in TCP's queue: the octets that were
 * last waited for seem to be to come, and sk_data_ready() would say nothing of
 * those that come while a batch is decoded.
 */
static void recv_long_busy(struct conn_test *t)
{
	struct mpa_conn *conn;
	u32 i;

	conn_full(t, CONN_INITIATOR, 0, PEER_C);
	conn = t->a.conn;
	WRITE_ONCE(conn->rx.wake_at, conn->rx.seq - BIT(31) - 1);
	for (i = 0; i < 100; i++)
		conn_fpdu(t, 40);
	conn_flush(t);
	mpa_kick(conn);
	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(conn->rx.ready)));
	ASSERT_FALSE(t, conn->rx.dry);
	EXPECT_FALSE(t, before(tcp_sk(conn->sk)->rcv_nxt, conn->rx.wake_at));
	mpa_resume(conn);
	conn_expect_rx(t, &t->a, 100);
}

/* Expect the end of the receive half; the sending half closes gracefully. */
static void recv_failed(struct conn_test *t, enum mpa_error error,
			enum mpa_reason reason)
{
	conn_expect_end(t, &t->a, error, reason);
	EXPECT_EQ(t, t->a.end.err,
		  reason == MPA_REASON_CRC ? -EBADMSG : -EPROTO);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 1);
	EXPECT_EQ(t, t->a.end.pos, t->a.delivered);
	conn_expect_silence(t);

	conn_post(t, 200);
	conn_expect_tx(t, 200);
	EXPECT_EQ(t, mpa_shutdown(t->a.conn), 0);
	conn_expect_fin(t);
	CONN_COUNT(t, &t->a, EV_CLOSED, 0);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 1);
}

/* Send one more FPDU, with a wrong CRC. */
static void recv_send_bad(struct conn_test *t)
{
	conn_fpdu(t, 40);
	t->buf[t->buf_len - 1] ^= 1;
	conn_flush(t);
}

/* The peer sends more than a window of octets, then its FIN. */
static void recv_send_window(struct conn_test *t)
{
	u32 i;

	for (i = 0; i < 40; i++)
		conn_peer_send(t, 2000);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
}

/* Expect that MPA has discarded these octets, and received the FIN. */
static void recv_discarded(struct conn_test *t)
{
	ASSERT_EQ(t, mpa_shutdown(t->a.conn), 0);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, 0);
}

/* After an error, octets that arrive are discarded, and counted. */
static void recv_discard(struct conn_test *t)
{
	unsigned long before;

	conn_buffers(t, 8192, 200000);
	conn_default(t);
	before = conn_counter(t, MPA_MIB_RX_DISCARDED);
	recv_send_bad(t);
	recv_send_window(t);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	/* TCP keeps what arrives as it closes. */
	ASSERT_TRUE(t, CONN_UNTIL(conn_all_acked(t)));
	conn_settle(&t->a);
	recv_discarded(t);
	CONN_COUNT(t, &t->a, EV_RECV, 0);
	EXPECT_EQ(t, t->out_pos, conn_counter(t,
					      MPA_MIB_RX_DISCARDED) - before);
}

/* A batch that the consumer keeps was delivered: it does not count. */
static void recv_discard_kept(struct conn_test *t)
{
	unsigned long before;
	u64 kept;

	conn_default(t);
	t->a.keep = true;
	before = conn_counter(t, MPA_MIB_RX_DISCARDED);
	conn_fpdu(t, 40);
	conn_flush(t);
	CONN_WAIT(t, &t->a, EV_ULPDUS, 1);
	kept = t->out_pos;
	recv_send_bad(t);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->out_pos - kept, conn_counter(t,
						     MPA_MIB_RX_DISCARDED) -
		  before);
}

/* After an error found on hold, octets that arrive are discarded. */
static void recv_discard_held(struct conn_test *t)
{
	conn_buffers(t, 8192, 200000);
	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_M | PEER_C);
	/* In one write: both are decoded before the hold is noticed. */
	conn_fpdu(t, 40);
	recv_send_bad(t);
	conn_settle(&t->a);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_ENDED), 0);
	mpa_resume(t->a.conn);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	conn_settle(&t->a);
	recv_send_window(t);
	recv_discarded(t);
	CONN_COUNT(t, &t->a, EV_RECV, 1);
}

/* Make only the last skb unreadable; TCP does not join it with others. */
static void recv_last_unreadable(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;
	struct sk_buff *skb;

	lock_sock(sk);
	skb_queue_walk(&sk->sk_receive_queue, skb)
		skb->unreadable = skb_queue_is_last(&sk->sk_receive_queue, skb);
	release_sock(sk);
}

/* Octets in device memory, which another user of the socket may bind to it. */
static void recv_unreadable(struct conn_test *t)
{
	u32 half;

	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_M | PEER_C);
	conn_peer_send(t, 40);
	conn_settle(&t->a);
	half = conn_fpdu(t, 400) / 2;
	recv_write(t, 0, half);
	recv_last_unreadable(t);
	recv_write(t, half, t->buf_len);
	recv_last_unreadable(t);
	mpa_resume(t->a.conn);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, -EFAULT);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 1);
}

/**
 * struct recv_bad - an error in the second of three FPDUs
 * @len: octets of each ULPDU
 * @at: octet that is altered; the first FPDU begins at 0
 * @by: bits that are inverted
 * @new_crc: the CRC is computed again
 * @error: reported error
 * @reason: its reason
 */
struct recv_bad {
	u32		len;
	u32		at;
	u8		by;
	bool		new_crc;
	enum mpa_error	error;
	enum mpa_reason	reason;
};

static void recv_bad(struct conn_test *t)
{
	const struct recv_bad *bad = conn_data(t);
	u32 from;

	conn_default(t);
	from = conn_fpdu(t, bad->len);
	conn_fpdu(t, bad->len);
	ASSERT_GT(t, bad->at, from);
	t->buf[bad->at] ^= bad->by;
	if (bad->new_crc)
		mpa_ref_fix_crc(t->buf + from, t->buf_len - from);
	conn_fpdu(t, bad->len);
	conn_flush(t);
	recv_failed(t, bad->error, bad->reason);
}

/* ULPDU_Length @arg is an error at once, without waiting for more octets. */
static void recv_bad_length(struct conn_test *t)
{
	conn_default(t);
	conn_fpdu(t, 40);
	put_unaligned_be16(conn_arg(t), t->buf + t->buf_len);
	t->buf_len += 2;
	conn_flush(t);
	recv_failed(t, MPA_ERR_MARKER, MPA_REASON_LENGTH);
}

static void recv_urgent(struct conn_test *t)
{
	conn_default(t);
	conn_peer_send(t, 40);
	conn_expect_rx(t, &t->a, 1);
	ASSERT_EQ(t, mpa_peer_urgent(&t->peer, 0), 0);
	conn_expect_end(t, &t->a, MPA_ERR_MARKER, MPA_REASON_URGENT);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 1);
}

/* FPDUs before the one with the urgent octet are delivered first. */
static void recv_urgent_after(struct conn_test *t)
{
	u32 i, size;

	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_C);
	for (i = 0; i < 4; i++) {
		conn_peer_send(t, 700);
		conn_settle(&t->a);
	}
	size = conn_fpdu(t, 700);
	conn_write(t, t->buf, size - 1);
	ASSERT_EQ(t, mpa_peer_urgent(&t->peer, t->buf[size - 1]), 0);
	conn_settle(&t->a);
	mpa_resume(t->a.conn);
	conn_expect_end(t, &t->a, MPA_ERR_MARKER, MPA_REASON_URGENT);
	conn_expect_rx(t, &t->a, 4);
}

/*
 * A later urgent octet takes the mark from those before, which are octets as
 * others then. TCP would skip one of those up to which all was consumed, unless
 * SO_OOBINLINE is set.
 */
static void recv_urgent_again(struct conn_test *t)
{
	struct sock *sk;
	u32 size;

	conn_default(t);
	sk = t->sock[0]->sk;
	conn_peer_send(t, 40);
	conn_expect_rx(t, &t->a, 1);
	conn_settle(&t->a);
	size = conn_fpdu(t, 40);
	mpa_peer_own(sk);
	EXPECT_EQ(t, mpa_peer_urgent(&t->peer, t->buf[0]), 0);
	EXPECT_EQ(t, mpa_peer_urgent(&t->peer, t->buf[1]), 0);
	conn_write(t, t->buf + 2, size - 2);
	EXPECT_EQ(t, mpa_peer_urgent(&t->peer, 0), 0);
	mpa_peer_disown(sk);
	conn_expect_end(t, &t->a, MPA_ERR_MARKER, MPA_REASON_URGENT);
	conn_expect_rx(t, &t->a, 2);
}

/* An urgent octet is announced, and nothing arrives after that. */
static void recv_urgent_ahead(struct conn_test *t)
{
	struct tcp_sock *tp;

	conn_full(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_C);
	conn_peer_send(t, 700);
	/* Now this one is decoded, and the next one is not. */
	conn_settle(&t->a);
	conn_peer_send(t, 700);
	conn_settle(&t->a);
	tp = tcp_sk(t->sock[0]->sk);
	lock_sock(t->sock[0]->sk);
	tp->urg_seq = tp->rcv_nxt + 10;
	tp->urg_data = TCP_URG_NOTYET;
	release_sock(t->sock[0]->sk);
	mpa_resume(t->a.conn);
	conn_expect_end(t, &t->a, MPA_ERR_MARKER, MPA_REASON_URGENT);
	conn_expect_rx(t, &t->a, 2);
}

/* Reserved bits and pad are ignored, if the CRC is right. */
static void recv_ignored(struct conn_test *t)
{
	u32 from;

	conn_default(t);
	from = conn_fpdu(t, 400);
	conn_fpdu(t, 401);
	t->buf[512] = 0xde;
	t->buf[513] = 0xad;
	t->buf[515] |= 3;
	t->buf[t->buf_len - 5] = 0x55;	/* pad: 2 + 401 + 1 */
	mpa_ref_fix_crc(t->buf + from, t->buf_len - from);
	conn_flush(t);
	conn_expect_rx(t, &t->a, 2);
	conn_expect_alive(t, &t->a);
}

/* Messages that a Responder posts wait for the first FPDU of the peer. */
static void may_send_first(struct conn_test *t)
{
	conn_full(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_M | PEER_C);
	if (!conn_arg(t))
		mpa_resume(t->a.conn);
	conn_post(t, 300);
	conn_post(t, 5);
	conn_expect_silence(t);
	CONN_COUNT(t, &t->a, EV_DONE, 0);
	conn_fpdu(t, 64);
	recv_write(t, 0, t->buf_len - 1);
	conn_expect_silence(t);
	recv_write(t, t->buf_len - 1, t->buf_len);
	t->buf_len = 0;
	conn_expect_tx(t, 300);
	conn_expect_tx(t, 5);
	conn_expect_done(t, &t->a, 2, 0);
	CONN_COUNT(t, &t->a, EV_ULPDUS, conn_arg(t) ? 0 : 1);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 1);
}

/*
 * Also on hold the first FPDU may be longer than the window: it is verified,
 * which takes consuming it, since nothing can be sent before.
 */
static void may_send_window(struct conn_test *t)
{
	conn_buffers(t, 4096, 200000);
	conn_full(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_C);
	conn_post(t, 300);
	conn_peer_send(t, MPA_ULPDU_MAX);
	conn_expect_tx(t, 300);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 0);
	mpa_resume(t->a.conn);
	conn_expect_rx(t, &t->a, 1);
}

/* After an invalid first FPDU a Responder sends nothing at all. */
static void may_send_bad(struct conn_test *t)
{
	conn_open(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_M | PEER_C);
	conn_post(t, 300);
	conn_post(t, 300);
	conn_fpdu(t, 64);
	t->buf[20] ^= 1;
	conn_fpdu(t, 64);
	conn_flush(t);
	conn_expect_end(t, &t->a, MPA_ERR_CRC, MPA_REASON_CRC);
	conn_expect_done(t, &t->a, 2, -EPIPE);
	EXPECT_EQ(t, t->a.done[0]->status, -EPIPE);
	EXPECT_EQ(t, mpa_send(t->a.conn, &conn_msg(t, 10)->tx), -EPIPE);
	conn_expect_silence(t);
	CONN_COUNT(t, &t->a, EV_ULPDUS, 0);
}

/* The peer's FIN arrives before any FPDU. */
static void may_send_fin(struct conn_test *t)
{
	conn_open(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_M | PEER_C);
	conn_post(t, 300);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	conn_expect_done(t, &t->a, 1, -EPIPE);
	conn_expect_silence(t);
}

/* mpa_shutdown() before the first FPDU: the FIN follows the queued messages. */
static void may_send_shutdown(struct conn_test *t)
{
	conn_open(t, CONN_RESPONDER, MPA_F_MARKERS, PEER_M | PEER_C);
	conn_post(t, 300);
	ASSERT_EQ(t, mpa_shutdown(t->a.conn), 0);
	conn_expect_silence(t);
	conn_peer_send(t, 64);
	conn_expect_tx(t, 300);
	conn_expect_fin(t);
}

static const struct conn_row recv_rows[] = {
	{ "DD-01 DD-07 OO-04 OO-05: held on entry, hold and resume",
	  recv_held },
	{ "mpa_resume() before full operation", recv_resumed_early },
	{ "RX-13: held, the window closes", recv_held_window },
	{ "RX-03 RX-09 RX-10 RX-13 RX-14: split after each octet, markers",
	  recv_split, true, .slow = true },
	{ "RX-03 RX-09 RX-10 RX-13 RX-14: split after each octet",
	  recv_split, false, .slow = true },
	{ "RX-01 RX-06 RX-15 OO-03: tail, whole FPDUs, head", recv_mixed },
	{ "RX-12 RX-13: FPDU in more pieces than a batch has room for",
	  recv_pieces },
	{ "RX-16 FR-01 SZ-05 DD-02 DD-04: FPDU larger than the window",
	  recv_window, false },
	{ "RX-16 DD-03 DD-04 MK-16: FPDU larger than the window, markers",
	  recv_window, true },
	{ "TD-03: FPDU larger than the window, cut short",
	  recv_window_truncated },
	{ "FPDU larger than the window, FIN inside it, detach in ended()",
	  recv_window_truncated_leave },
	{ "ER-03: FPDU larger than the window, CRC", recv_window_crc },
	{ "FPDU larger than the window, detach", recv_window_detach },
	{ "FPDU larger than the window, held, detach",
	  recv_window_detach_held },
	{ "FPDU larger than the window, held", recv_window_held },
	{ "mpa_hold() from recv()", recv_hold_inside },
	{ "MK-03 MK-06 FR-06: reserved octets and pad", recv_ignored },
	{ "MK-11 MK-12: sequence number wraps in the first FPDUs",
	  recv_wrap, 1, .slow = true },
	{ "MK-11 MK-12: sequence number wraps around the second marker",
	  recv_wrap, 496, .slow = true },
	{ "2 GB after octets were last waited for", recv_long_busy },
	{ "MK-11 MK-12 MK-09: both streams pass 2^31", recv_long_streams, 31 },
	{ "MK-11 MK-12 MK-09: both streams pass 2^32", recv_long_streams, 32 },
	{ "MK-11 MK-12 MK-09: both streams pass 2^48", recv_long_streams, 48 },
};

CONN_ROWS(recv);

#define BAD(title, ...)						\
	{ title, recv_bad, .data = &(const struct recv_bad){ __VA_ARGS__ } }

static const struct conn_row error_rows[] = {
	BAD("ER-01 ER-03 ER-11 ER-12 ER-13 ER-14 TD-04 RX-05 CR-20: wrong CRC",
	    40, 80, 0x10, false, MPA_ERR_CRC, MPA_REASON_CRC),
	BAD("ER-01 ER-04 ER-05 ER-11 ER-12 RX-02: wrong marker, right CRC",
	    400, 515, 4, true, MPA_ERR_MARKER, MPA_REASON_MARKER),
	BAD("ER-03 MK-18: damaged marker is a CRC error",
	    400, 515, 4, false, MPA_ERR_CRC, MPA_REASON_CRC),
	{ "ER-15 RX-04: ULPDU_Length 0", recv_bad_length, 0 },
	{ "ER-15 RX-04 SE-12: ULPDU_Length 64769", recv_bad_length, 64769 },
	{ "ER-15 RX-04: ULPDU_Length 65535", recv_bad_length, 65535 },
	{ "urgent data", recv_urgent },
	{ "urgent data after FPDUs", recv_urgent_after },
	{ "urgent data again", recv_urgent_again },
	{ "urgent data announced after FPDUs", recv_urgent_ahead },
	{ "TD-03 ER-11: FIN after more octets than the window", recv_discard },
	{ "TD-03 ER-11: FIN after more octets than the window, on hold",
	  recv_discard_held },
	{ "ER-11: discarded octets, a batch is kept", recv_discard_kept },
	{ "the rest of an FPDU in device memory", recv_unreadable },
};

CONN_ROWS(error);

static const struct conn_row may_send_rows[] = {
	{ "CS-23 CS-29: from the first FPDU on", may_send_first, false },
	{ "CS-29: from the first FPDU on, on hold", may_send_first, true },
	{ "CS-29: a first FPDU longer than the window, on hold",
	  may_send_window },
	{ "CS-29: a bad first FPDU", may_send_bad },
	{ "CS-29: FIN before the first FPDU", may_send_fin },
	{ "CS-29: mpa_shutdown() before the first FPDU", may_send_shutdown },
};

CONN_ROWS(may_send);
