// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ULPDUs passed out of order: errors, ends of the stream and of the connection.
 */
#include <linux/delay.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>
#include <net/tcp.h>
#include "mpa_conn_ooo.h"

/* Compute the CRC of FPDU @k again. */
static void ooo_new_crc(struct conn_test *t, u32 k)
{
	mpa_ref_fix_crc(t->buf + gap_at(t, k), gap_at(t, k + 1) - gap_at(t, k));
}

/* Expect an end before ULPDUs passed ooo: only @delivered are delivered. */
static void ooo_undelivered(struct conn_test *t, u32 delivered)
{
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.end.pos, gap_pos(t, delivered));
	EXPECT_EQ(t, t->a.delivered, gap_pos(t, delivered));
	EXPECT_EQ(t, t->a.nr_delivered, delivered);
	EXPECT_EQ(t, t->a.disorder, 0);
}

/* Expect the end of the receive half; the sending half still works. */
static void ooo_failed(struct conn_test *t, enum mpa_error error,
		       enum mpa_reason reason, u32 delivered)
{
	u32 passed;

	conn_expect_end(t, &t->a, error, reason);
	ooo_undelivered(t, delivered);
	passed = mpa_consumer_count(&t->a, EV_ULPDUS);
	gap_put_as(t, 0, t->buf_len, 0);
	conn_post(t, 200);
	conn_expect_tx(t, 200);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_ULPDUS, passed);
	EXPECT_EQ(t, t->a.delivered, t->a.end.pos);
}

/*
 * The third FPDU is bad: it is not passed, but those after it are found. @arg:
 * a good one is received before the stream reaches it.
 */
static void ooo_bad_crc(struct conn_test *t)
{
	gap_default(t);
	gap_fpdus(t, 5, 700);
	gap_alter(t, 2, 3);
	gap_put(t, gap_at(t, 1), t->buf_len);
	CONN_WAIT(t, &t->a, EV_OOO, 3);
	conn_settle(&t->a);
	ASSERT_EQ(t, mpa_consumer_count(&t->a, EV_OOO), 3);
	gap_same(t, 0, 1);
	gap_same(t, 1, 3);
	gap_same(t, 2, 4);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	if (!conn_arg(t)) {
		gap_put(t, 0, gap_at(t, 1));
		ooo_failed(t, MPA_ERR_CRC, MPA_REASON_CRC, 2);
		return;
	}
	gap_alter(t, 2, 3);
	gap_put(t, 0, t->buf_len);
	gap_alive(t);
}

/*
 * ULPDU_Length of the second FPDU, in the hole, is @arg. It leads into a passed
 * FPDU, or beyond all octets received: an error at once, without waiting.
 */
static void ooo_into(struct conn_test *t)
{
	gap_default(t);
	gap_fpdus(t, 4, 700);
	gap_put(t, gap_at(t, 2), t->buf_len);
	gap_ooo(t, 2, 4);
	put_unaligned_be16(conn_arg(t), t->buf + gap_at(t, 1));
	gap_put(t, 0, gap_at(t, 2));
	ooo_failed(t, MPA_ERR_MARKER, MPA_REASON_MARKER, 1);
}

/*
 * ULPDU_Length of the second FPDU leads into a passed FPDU, and has been read
 * before the hole. From then on TCP has to wake MPA when the hole is filled.
 * @arg: TCP drops the passed FPDU.
 */
static void ooo_into_late(struct conn_test *t)
{
	const struct mpa_conn_rx *rx;
	u32 seen, second;

	gap_default(t);
	rx = &t->a.conn->rx;
	gap_fpdus(t, 4, 2000);
	seen = gap_at(t, 1) + 10;
	put_unaligned_be16(9000, t->buf + gap_at(t, 1));
	gap_put(t, 0, seen);
	CONN_WAIT(t, &t->a, EV_ULPDUS, 1);
	gap_put(t, gap_at(t, 2), t->buf_len);
	CONN_WAIT(t, &t->a, EV_OOO, 2);
	second = gap_at(t, 2) - gap_at(t, 1);
	EXPECT_TRUE(t, CONN_UNTIL(READ_ONCE(rx->wake_at) - rx->seq == second));
	if (conn_arg(t))
		gap_drop(t, seen + 100);
	gap_put(t, seen, gap_at(t, 2));
	ooo_failed(t, MPA_ERR_MARKER, MPA_REASON_MARKER, 1);
}

/* Lengthen FPDU @k by @more: its CRC, which is right, lies in the next one. */
static void ooo_lengthen(struct conn_test *t, u32 k, u32 more)
{
	u32 from = gap_at(t, k), crc = gap_at(t, k + 1) - 4 + more;

	put_unaligned_be16(t->out_len[k] + more, t->buf + from);
	put_unaligned_le32(mpa_ref_crc(t->buf + from, crc - from),
			   t->buf + crc);
	ooo_new_crc(t, k + 1);
}

/*
 * A length leads into a passed FPDU, where a CRC is found that is right (@arg):
 * the length is the error. If the CRC is wrong, the CRC is the error.
 */
static void ooo_into_crc(struct conn_test *t)
{
	gap_default(t);
	gap_fpdus(t, 2, 300);
	gap_fpdus(t, 2, 500);
	ooo_lengthen(t, 1, 40);
	ASSERT_GT(t, roundup(gap_at(t, 2), 512), gap_at(t, 2) + 40);
	gap_put(t, gap_at(t, 2), t->buf_len);
	CONN_WAIT(t, &t->a, EV_OOO, 2);
	if (!conn_arg(t))
		t->buf[gap_at(t, 1) + 20] ^= 1;
	gap_put(t, 0, gap_at(t, 2));
	if (conn_arg(t))
		ooo_failed(t, MPA_ERR_MARKER, MPA_REASON_MARKER, 1);
	else
		ooo_failed(t, MPA_ERR_CRC, MPA_REASON_CRC, 1);
}

/*
 * The segment that fills the hole has another marker for a passed FPDU, with a
 * right CRC.
 */
static void ooo_changed_marker(struct conn_test *t)
{
	u32 marker;

	gap_three(t);
	marker = roundup(gap_at(t, 2), 512);
	ASSERT_LT(t, marker, gap_at(t, 3));
	t->buf[marker + 3] ^= 4;
	ooo_new_crc(t, 2);
	gap_put(t, 0, t->buf_len);
	ooo_failed(t, MPA_ERR_MARKER, MPA_REASON_MARKER, 2);
}

/* FPDU @k has a leading marker; let the markers after it count from there. */
static void ooo_from_lead(struct conn_test *t, u32 k)
{
	u32 from = gap_at(t, k), size = gap_at(t, k + 1) - from;
	u32 marker;

	ASSERT_EQ(t, gap_pos(t, k) % 512, 0);
	ASSERT_GT(t, size, 512);
	for (marker = 512; marker < size; marker += 512)
		put_unaligned_be32(marker, t->buf + from + marker);
	ooo_new_crc(t, k);
}

/* Open a connection: Rev 0 as Responder, no startup frames, or Rev 1. */
static void ooo_open_rev(struct conn_test *t, s8 rev)
{
	if (rev != MPA_REV_0) {
		gap_open(t,
			 rev == MPA_REV_NONE ? CONN_IMMEDIATE : CONN_INITIATOR,
			 MPA_F_OOO);
		return;
	}
	conn_begin(t, CONN_RESPONDER, MPA_F_OOO);
	conn_peer_frame(t, false, PEER_M | PEER_C, 0, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
	ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
	conn_expect_frame(t, true, PEER_M | PEER_C, 0, NULL, 0);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	t->crc = true;
	t->rx_markers = true;
	t->tx_markers = true;
	mpa_resume(t->a.conn);
	gap_begin(t);
}

/*
 * The peer counts FPDUPTR from leading markers. @arg: the revision in use. One
 * FPDU arrives after a hole, in one segment, the other in order, in many.
 */
static void ooo_count_from_lead(struct conn_test *t)
{
	s8 rev = (s8)conn_arg(t);
	u32 at;

	ooo_open_rev(t, rev);
	conn_fpdu(t, 502);
	conn_fpdu(t, 1008);
	conn_fpdu(t, 1008);
	ooo_from_lead(t, 1);
	ooo_from_lead(t, 2);
	gap_put(t, gap_at(t, 1), gap_at(t, 2));
	if (rev == MPA_REV_1)
		gap_none(t);
	else
		gap_ooo(t, 1, 2);
	for (at = gap_at(t, 2); at < t->buf_len; at += 100)
		gap_put(t, at, min(at + 100, t->buf_len - 1));
	gap_put(t, 0, gap_at(t, 1));
	if (rev == MPA_REV_1) {
		ooo_failed(t, MPA_ERR_MARKER, MPA_REASON_MARKER, 1);
		return;
	}
	gap_put(t, t->buf_len - 1, t->buf_len);
	gap_alive(t);
}

/*
 * The segment that fills the hole has length @arg for a passed FPDU. It leads
 * beyond the passed FPDUs; or later not to the beginning of the next FPDU.
 */
static void ooo_changed_length(struct conn_test *t)
{
	u32 len = conn_arg(t);

	gap_three(t);
	put_unaligned_be16(len, t->buf + gap_at(t, 2));
	gap_put(t, 0, t->buf_len);
	CONN_WAIT(t, &t->a, EV_ENDED, 1);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.end.error, MPA_ERR_MARKER);
	EXPECT_EQ(t, t->a.end.pos, t->a.delivered);
	EXPECT_GE(t, t->a.delivered, gap_pos(t, 2));
	EXPECT_LE(t, t->a.delivered, gap_pos(t, 3));
	EXPECT_EQ(t, t->a.nr_rx, 4);
}

/* On hold nothing is passed, neither in order nor out of order. */
static void ooo_hold(struct conn_test *t)
{
	conn_full(t, CONN_INITIATOR, MPA_F_OOO, PEER_C);
	gap_begin(t);
	gap_fpdus(t, 4, 700);
	gap_put(t, gap_at(t, 1), gap_at(t, 2));
	gap_none(t);
	mpa_resume(t->a.conn);
	gap_ooo(t, 1, 2);
	mpa_hold(t->a.conn);
	gap_put(t, gap_at(t, 2), t->buf_len);
	gap_ooo(t, 1, 2);
	mpa_resume(t->a.conn);
	gap_ooo(t, 1, 4);
	mpa_hold(t->a.conn);
	gap_put(t, 0, gap_at(t, 1));
	gap_ooo(t, 1, 4);
	mpa_resume(t->a.conn);
	gap_alive(t);
}

/* Expect no clones of TCP's skbs after MPA has left the socket. */
static void ooo_unshared(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;
	struct sk_buff *skb;

	mpa_barrier();
	lock_sock(sk);
	skb_rbtree_walk(skb, &tcp_sk(sk)->out_of_order_queue)
		EXPECT_FALSE(t, skb_cloned(skb));
	release_sock(sk);
}

/* After the detach, the socket's owner reads all octets from the hole on. */
static void ooo_detach(struct conn_test *t)
{
	gap_three(t);
	conn_detach(t, &t->a);
	ooo_unshared(t);
	EXPECT_EQ(t, gap_queued(t), t->buf_len - gap_at(t, 1));
	EXPECT_EQ(t, t->a.delivered, 0);
	EXPECT_EQ(t, t->a.nr_rx, 3);

	gap_put(t, 0, gap_at(t, 1));
	conn_expect_left(t, t->buf, t->buf_len);
}

/* Expect TCP closed, and none of the three passed ULPDUs delivered. */
static void ooo_lost(struct conn_test *t, enum mpa_reason reason)
{
	conn_expect_end(t, &t->a, MPA_ERR_TCP, reason);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	ooo_undelivered(t, 0);
	EXPECT_EQ(t, t->a.nr_rx, 3);
}

static void ooo_abort(struct conn_test *t)
{
	gap_three(t);
	mpa_abort(t->a.conn);
	ooo_lost(t, MPA_REASON_ABORTED);
}

static void ooo_reset(struct conn_test *t)
{
	gap_three(t);
	mpa_peer_reset(&t->peer);
	ooo_lost(t, MPA_REASON_RESET);
}

/* A FIN in the hole, @arg octets before the passed ULPDUs. */
static void ooo_fin_in_hole(struct conn_test *t)
{
	gap_three(t);
	gap_put_as(t, 0, gap_at(t, 1) - conn_arg(t), INJECT_FIN);
	conn_expect_end(t, &t->a, MPA_ERR_TCP,
			conn_arg(t) ? MPA_REASON_TRUNCATED : MPA_REASON_FIN);
	ooo_undelivered(t, conn_arg(t) ? 0 : 1);
	conn_post(t, 900);
	conn_expect_tx(t, 900);
}

/* A FIN after the hole is reported in order; @arg octets before it lack. */
static void ooo_fin_after_hole(struct conn_test *t)
{
	bool cut = conn_arg(t);

	gap_three(t);
	if (cut) {
		conn_fpdu(t, 700);
		gap_put(t, gap_at(t, 4), t->buf_len - conn_arg(t));
	}
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	gap_ooo(t, 1, 4);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
	gap_put(t, 0, gap_at(t, 1));
	conn_expect_end(t, &t->a, MPA_ERR_TCP,
			cut ? MPA_REASON_TRUNCATED : MPA_REASON_FIN);
	ooo_undelivered(t, 4);
	conn_expect_rx(t, &t->a, 4);
	conn_post(t, 900);
	conn_expect_tx(t, 900);
}

/* Urgent data after the hole is an error at once. */
static void ooo_urgent(struct conn_test *t)
{
	gap_three(t);
	conn_fpdu(t, 700);
	gap_put_as(t, gap_at(t, 4), t->buf_len, INJECT_URGENT);
	conn_expect_end(t, &t->a, MPA_ERR_MARKER, MPA_REASON_URGENT);
	ooo_undelivered(t, 0);
}

/* Batches kept after Delivery (@arg 0), or after released(). */
static void ooo_keep(struct conn_test *t)
{
	u32 first;

	gap_default(t);
	first = conn_consumed(t);
	t->a.keep_ooo = true;
	gap_hole(t, 4, 700);
	gap_put(t, 0, gap_at(t, 1));
	gap_all(t);
	conn_settle(&t->a);
	EXPECT_EQ(t, conn_consumed(t) - first, t->buf_len);
	gap_kept_same(t);
	if (conn_arg(t)) {
		conn_detach(t, &t->a);
		mpa_peer_close(t->sock[0]);
		t->sock[0] = NULL;
		mpa_barrier();
		gap_kept_same(t);
	}
	mpa_consumer_put_all(&t->a);
	if (!conn_arg(t))
		gap_alive(t);
}

/* Three FPDUs, two after a hole. Returns how many were passed out of order. */
static u32 ooo_round(struct conn_test *t)
{
	u32 ooo = mpa_consumer_count(&t->a, EV_OOO);

	gap_begin(t);
	gap_fpdus(t, 3, 1000);
	gap_put_as(t, gap_at(t, t->base_nr + 1), t->buf_len, INJECT_PAGES);
	conn_settle(&t->a);
	ooo = mpa_consumer_count(&t->a, EV_OOO) - ooo;
	gap_put(t, 0, gap_at(t, t->base_nr + 1));
	gap_all(t);
	return ooo;
}

/* Once kept batches fill the receive buffer, nothing is passed out of order. */
static void ooo_keep_much(struct conn_test *t)
{
	u32 i, kept;

	t->opts.rcvbuf = 32768;
	gap_default(t);
	t->a.keep_ooo = true;
	for (i = 0; i < CONSUMER_KEPT && ooo_round(t); i++)
		;
	kept = t->a.nr_kept;
	EXPECT_GT(t, kept, 2);
	EXPECT_LT(t, kept, CONSUMER_KEPT);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(t, ooo_round(t), 0);
	for (i = 0; i < kept; i++)
		mpa_consumer_put(&t->a, i);
	EXPECT_EQ(t, ooo_round(t), 2);
	gap_alive(t);
}

/* A Responder may send once the first FPDU has been received in order. */
static void ooo_may_send(struct conn_test *t)
{
	gap_open(t, CONN_RESPONDER, MPA_F_OOO);
	conn_post(t, 300);
	gap_hole(t, 4, 700);
	conn_expect_silence(t);
	gap_put(t, 0, gap_at(t, 1));
	gap_all(t);
	conn_expect_tx(t, 300);
	conn_expect_done(t, &t->a, 1, 0);
}

/* The connection also sends while there is a hole. */
static void ooo_two_way(struct conn_test *t)
{
	u32 i, k;

	gap_default(t);
	gap_fpdus(t, 20, 700);
	for (k = 1; k < 20; k++) {
		conn_post_many(t, 5, 400);
		gap_put(t, gap_at(t, k), gap_at(t, k + 1));
	}
	gap_ooo(t, 1, 20);
	gap_put(t, 0, gap_at(t, 1));
	gap_all(t);
	for (i = 0; i < 95; i++)
		conn_expect_tx(t, 400);
	gap_alive(t);
}

/* MPA never sees segments that TCP drops. */
static void ooo_stray(struct conn_test *t)
{
	u32 from, len;

	gap_default(t);
	gap_fpdus(t, 4, 700);
	from = gap_at(t, 1);
	len = t->buf_len - from;
	gap_put_as(t, from, t->buf_len, INJECT_BAD_SUM);
	ASSERT_EQ(t, mpa_inject(&t->inject, from + SZ_1M, t->buf + from, len,
				INJECT_STRAY), 0);
	ASSERT_EQ(t, mpa_inject(&t->inject, from - SZ_1M, t->buf + from, len,
				INJECT_STRAY), 0);
	gap_none(t);
	EXPECT_EQ(t, gap_queued(t), 0);
	gap_put(t, from, t->buf_len);
	gap_ooo(t, 1, 4);
	gap_put(t, 0, from);
	gap_alive(t);
}

/**
 * struct ooo_arrivals - segments that arrive while the case does something else
 * @work: injects the segments
 * @t: the case
 * @seed: seed of their order
 */
struct ooo_arrivals {
	struct work_struct	work;
	struct conn_test	*t;
	u32			seed;
};

static void ooo_arrive_all(struct work_struct *work)
{
	struct ooo_arrivals *a = container_of(work, struct ooo_arrivals, work);
	struct conn_test *t = a->t;
	u32 i, at, len = t->buf_len / 16;

	for (i = 0; i < 24; i++) {
		at = mpa_ref_random(&a->seed) % 16 * len;
		mpa_inject(&t->inject, at, t->buf + at, len, 0);
	}
}

static void ooo_race_round(struct conn_test *t, struct ooo_arrivals *a, u32 n)
{
	bool released;
	u32 i;

	gap_default(t);
	t->a.keep_ooo = n & 1;
	a->seed = n;
	gap_fpdus(t, 16, 500);
	queue_work(mpa_unbound_wq, &a->work);
	for (i = 0; i < n; i++) {
		mpa_hold(t->a.conn);
		udelay(i % 8 * 5);
		mpa_resume(t->a.conn);
		udelay(i % 16 * 5);
	}
	released = mpa_consumer_detach(&t->a);
	flush_work(&a->work);
	ASSERT_TRUE(t, released);
	EXPECT_LE(t, t->a.nr_delivered, t->a.nr_rx);
	mpa_consumer_put_all(&t->a);
	ooo_unshared(t);
}

/* The connection is detached at any time. */
static void ooo_race(struct conn_test *t)
{
	struct ooo_arrivals *a = kunit_kzalloc(t->test, sizeof(*a), GFP_KERNEL);
	u32 i;

	ASSERT_NOT_NULL(t, a);
	a->t = t;
	INIT_WORK(&a->work, ooo_arrive_all);
	for (i = 0; i < 60; i++) {
		ooo_race_round(t, a, i);
		conn_reopen(t);
	}
}

/* A batch passed out of order is freed before a delivered one that is kept. */
static void ooo_put(struct conn_test *t)
{
	gap_default(t);
	t->a.keep = true;
	conn_peer_send(t, 700);
	conn_expect_rx(t, &t->a, 1);
	gap_begin(t);
	gap_hole(t, 2, 700);
	EXPECT_GT(t, t->a.conn->ooo.pinned, 0);
	mpa_consumer_put(&t->a, 1);
	conn_settle(&t->a);
	EXPECT_EQ(t, t->a.conn->ooo.pinned, 0);
	EXPECT_GT(t, t->a.conn->rx.pinned, 0);
	mpa_consumer_put(&t->a, 0);
	t->a.keep = false;
	gap_put(t, 0, gap_at(t, 2));
	gap_alive(t);
}

static const struct conn_row ooo_end_rows[] = {
	{ "OO-03 MK-04: FPDUPTR from the leading marker, no startup frames",
	  ooo_count_from_lead, (u8)MPA_REV_NONE },
	{ "OO-03 MK-04: FPDUPTR from the leading marker, Rev 0",
	  ooo_count_from_lead, MPA_REV_0 },
	{ "ER-04 MK-04: FPDUPTR from the leading marker, Rev 1",
	  ooo_count_from_lead, MPA_REV_1 },
	{ "OO-03 ER-03: bad CRC, reported in order", ooo_bad_crc, 0 },
	{ "OO-03: bad CRC, received again before the stream reaches it",
	  ooo_bad_crc, 1 },
	{ "ER-04 ER-06: a length leads into a passed FPDU",
	  ooo_into_crc, true },
	{ "ER-03: a length leads into a passed FPDU, bad CRC",
	  ooo_into_crc, false },
	{ "ER-04 ER-06: a length leads beyond the octets received",
	  ooo_into, 5000 },
	{ "ER-04 ER-06: a length leads beyond the window",
	  ooo_into, MPA_ULPDU_MAX },
	{ "ER-04 ER-06: a length before the hole leads into a passed FPDU",
	  ooo_into_late, false },
	{ "ER-04 ER-06: a length leads into a passed FPDU that TCP drops",
	  ooo_into_late, true },
	{ "ER-04: a marker of a passed FPDU changes", ooo_changed_marker },
	{ "ER-04: the length of a passed FPDU grows",
	  ooo_changed_length, 2000 },
	{ "ER-04: the length of a passed FPDU shrinks",
	  ooo_changed_length, 600 },
	{ "ER-04 ER-15: the length of a passed FPDU becomes 0",
	  ooo_changed_length, 0 },
	{ "nothing is passed on hold", ooo_hold },
	{ "OO-17: detach", ooo_detach },
	{ "OO-17: mpa_abort()", ooo_abort },
	{ "OO-17 TD-03 ER-02: reset by the peer", ooo_reset },
	{ "OO-06 OO-17 TD-02: FIN in the hole", ooo_fin_in_hole, 0 },
	{ "OO-06 OO-17 TD-03: FIN in the hole, inside an FPDU",
	  ooo_fin_in_hole, 5 },
	{ "OO-06 TD-02: FIN after the hole", ooo_fin_after_hole, 0 },
	{ "OO-06 TD-03: FIN after the hole, inside an FPDU",
	  ooo_fin_after_hole, 5 },
	{ "urgent data after the hole", ooo_urgent },
	{ "batches kept after Delivery", ooo_keep, 0 },
	{ "batches kept after released()", ooo_keep, 1 },
	{ "batches kept up to the receive buffer", ooo_keep_much },
	{ "batch put while a delivered one is kept", ooo_put },
	{ "CS-29 OO-01: the first FPDU in order", ooo_may_send },
	{ "OO-03: two-way traffic", ooo_two_way },
	{ "OO-08: segments that TCP does not take", ooo_stray },
	{ "detach, segments in any order", ooo_race, .slow = true },
};

CONN_ROWS(ooo_end);
