// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A peer on this host changes pages after TCP has sent them. Over loopback and
 * veth the receive queue has these pages.
 */
#include <linux/mm.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>
#include <net/ip.h>
#include "mpa_rx_batch.h"
#include "mpa_conn_ooo.h"

enum {
	SPLICE_PIECE	= 7,
	SPLICE_PIECES	= 40,		/* more than a batch has room for */
	SPLICE_MORE	= 60000,	/* octets after the FPDU */
};

static struct page *splice_page(struct conn_test *t)
{
	t->page[0] = alloc_page(GFP_KERNEL);
	ASSERT_NOT_NULL(t, t->page[0]);
	return t->page[0];
}

/* Send octets of the buffer in a page that the peer keeps. */
static void splice_write(struct conn_test *t, u32 from, u32 len, bool shared)
{
	struct page *page = splice_page(t);

	memcpy(page_address(page), t->buf + from, len);
	ASSERT_EQ(t, mpa_peer_write_page(&t->peer, page, len, shared), 0);
}

/* Write another length to the page, and if it has room, such an FPDU. */
static void splice_change(struct conn_test *t, u32 len)
{
	u8 *to = page_address(t->page[0]);

	if (len > PAGE_SIZE / 2)
		put_unaligned_be16(len, to);
	else
		mpa_ref_encode(to, t->out_from[t->nr_out - 1], t->pool, len,
			       t->rx_markers, t->crc);
}

/* Send the buffer from @from on, and more octets than any FPDU can have. */
static void splice_rest(struct conn_test *t, u32 from)
{
	conn_write(t, t->buf + from, t->buf_len - from);
	conn_write(t, t->pool, SPLICE_MORE);
}

/* Wait until MPA waits for an FPDU of @size octets, and has copied none. */
static void splice_waits(struct conn_test *t, u32 size)
{
	const struct mpa_conn_rx *rx = &t->a.conn->rx;

	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(rx->want) == size));
	conn_settle(&t->a);
	ASSERT_NULL(t, rx->copy);
}

/* Expect @nr ULPDUs and an error; the sending half closes gracefully. */
static void splice_failed(struct conn_test *t, u32 nr)
{
	conn_expect_end(t, &t->a, MPA_ERR_MARKER, MPA_REASON_LENGTH);
	CONN_COUNT(t, &t->a, EV_ULPDUS, nr);
	conn_post(t, 100);
	conn_expect_tx(t, 100);
	ASSERT_EQ(t, mpa_shutdown(t->a.conn), 0);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), 0);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, 0);
}

/* Wait until all octets of the peer are in the receive queue. */
static void splice_arrived(struct conn_test *t)
{
	const struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);
	u32 end = tcp_sk(t->peer.sock->sk)->write_seq;

	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(tp->rcv_nxt) == end));
}

/* On hold, MPA decodes one FPDU, but not the octets after it. */
static void splice_hold(struct conn_test *t)
{
	conn_full(t, CONN_INITIATOR, 0, PEER_C);
	conn_peer_send(t, 100);
	ASSERT_TRUE(t, CONN_UNTIL(READ_ONCE(t->a.conn->rx.ready)));
}

/*
 * The head of an FPDU comes in more pieces than a batch has room for, so that
 * the FPDU is copied. The copy has another length.
 */
static void splice_pieces(struct conn_test *t)
{
	u32 head = SPLICE_PIECES * SPLICE_PIECE;
	u32 size;

	conn_buffers(t, 200000, 200000);
	splice_hold(t);
	size = conn_fpdu(t, 3994);
	splice_write(t, 0, SPLICE_PIECE, false);
	ASSERT_EQ(t, 0, mpa_peer_write_scattered(&t->peer,
						 t->buf + SPLICE_PIECE,
						 head - SPLICE_PIECE,
						 SPLICE_PIECE, false));
	splice_arrived(t);
	mpa_resume(t->a.conn);
	splice_waits(t, size);
	ASSERT_TRUE(t, t->a.conn->rx.fragmented);

	splice_change(t, conn_arg(t));
	splice_rest(t, head);
	splice_failed(t, 1);
}

/* An FPDU longer than the window is copied, and consumed, in steps. */
static void splice_window(struct conn_test *t)
{
	u32 head = 100, size;

	conn_buffers(t, 4096, 200000);
	conn_open(t, CONN_INITIATOR, 0, PEER_C);
	size = conn_fpdu(t, 20000);
	splice_write(t, 0, head, false);
	splice_waits(t, size);

	splice_change(t, conn_arg(t));
	splice_rest(t, head);
	splice_failed(t, 0);
}

/* True if the kept batch has the octets that the peer sent. */
static bool splice_kept_same(const struct conn_test *t)
{
	return conn_same(t->a.kept[0]->ulpdu, t->pool, t->out_len[0]);
}

/* The last octets of an FPDU, or all, are changed after it is verified. */
static void splice_kept(struct conn_test *t)
{
	u32 size, last;

	conn_buffers(t, 200000, 200000);
	conn_default(t);
	t->a.keep = true;
	size = conn_fpdu(t, conn_arg(t));
	last = min(size, 2000);
	conn_write(t, t->buf, size - last);
	splice_write(t, size - last, last, true);
	t->buf_len = 0;
	conn_expect_rx(t, &t->a, 1);
	/* A batch is counted only after recv() has returned. */
	EXPECT_TRUE(t, CONN_UNTIL(READ_ONCE(t->a.conn->rx.pinned) >=
				  sizeof(struct mpa_batch) + size));
	EXPECT_TRUE(t, splice_kept_same(t));
	memset(page_address(t->page[0]), 0x5a, PAGE_SIZE);
	EXPECT_TRUE(t, splice_kept_same(t));

	t->a.keep = false;
	mpa_consumer_put(&t->a, 0);
	conn_expect_alive(t, &t->a);
}

/*
 * Octets are changed after they are passed out of order. When the stream
 * reaches them, MPA checks only lengths and markers, which have not changed.
 */
static void splice_ooo(struct conn_test *t)
{
	u32 from, len;

	gap_default(t);
	t->a.keep_ooo = true;
	t->inject.page = splice_page(t);
	gap_fpdus(t, 4, 700);
	from = gap_at(t, 1);
	len = t->buf_len - from;
	gap_put_as(t, from, t->buf_len, INJECT_SHARED);
	gap_ooo(t, 1, 4);

	gap_alter(t, 1, 4);
	memcpy(page_address(t->inject.page), t->buf + from, len);
	gap_kept_same(t);
	gap_put(t, 0, from);
	gap_all(t);
	gap_kept_same(t);
	mpa_consumer_put_all(&t->a);
	gap_alive(t);
}

/* All octets arrive in shared pages; @arg: size of the receive buffer. */
static void splice_all(struct conn_test *t)
{
	u32 i;

	t->opts.rcvbuf = conn_arg(t);
	t->opts.sndbuf = 200000;
	conn_default(t);
	for (i = 0; i < 500; i++)
		conn_fpdu(t, 1 + i % 20);
	conn_fpdu(t, MPA_ULPDU_MAX);
	for (i = 0; i < 20; i++)
		conn_fpdu(t, 1000 + 100 * i);
	ASSERT_EQ(t, mpa_peer_write_scattered(&t->peer, t->buf, t->buf_len, 700,
					      true), 0);
	t->buf_len = 0;
	conn_expect_rx(t, &t->a, 521);
	conn_expect_alive(t, &t->a);
}

/* No process can write to pages that MPA or write() sends: no copy. */
static void splice_own(struct conn_test *t)
{
	unsigned long copied;

	conn_two(t, 0, MPA_F_MARKERS);
	copied = conn_fold(t->a.conn->mn->mib, MPA_MIB_RX_COPIED);
	conn_post(t, 100);
	conn_post(t, 1000);
	conn_send(t, conn_page_msg(t, 1000));
	conn_post(t, 20000);
	CONN_WAIT(t, &t->b, EV_ULPDUS, 4);
	EXPECT_EQ(t, copied, conn_fold(t->a.conn->mn->mib, MPA_MIB_RX_COPIED));
}

static const struct conn_row splice_rows[] = {
	{ "ER-15: length raised before the copy, many pieces",
	  splice_pieces, 60000 },
	{ "ER-15: length raised before the copy, small window",
	  splice_window, 60000 },
	{ "ER-15: length lowered before the copy, small window",
	  splice_window, 40 },
	{ "RX-03 RX-05: changed after verification", splice_kept, 1000 },
	{ "RX-03 RX-05: last octets changed after verification",
	  splice_kept, 20000 },
	{ "RX-03 RX-05: changed after passing out of order", splice_ooo },
	{ "RX-01: FPDUs of all lengths", splice_all, 200000 },
	{ "RX-01: FPDUs of all lengths, small window", splice_all, 4096 },
	{ "octets that MPA has sent are not copied", splice_own },
};

CONN_ROWS(splice);
