// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ULPDUs that arrive behind a hole in the stream. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <linux/unaligned.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "mpa_compat.h"
#include "mpa_conn_test.h"
#include "mpa_ooo.h"

/* From here on the peer's octets are put into the stream by hand. */
static void ooo_begin(struct kunit *test)
{
	struct conn_test *t = test->priv;

	t->buf_len = 0;
	t->base = t->out_pos;
	t->base_nr = t->nr_out;
	mpa_inject_begin(&t->inject, t->peer.sock);
}

static void ooo_open(struct kunit *test, enum conn_role role, u32 flags)
{
	struct conn_test *t = test->priv;

	conn_full(test, role, flags, PEER_M | PEER_C);
	mpa_resume(t->a.conn);
	ooo_begin(test);
}

/* What most cases need: Initiator, ULPDUs wanted also out of order. */
static void ooo_default(struct kunit *test)
{
	ooo_open(test, CONN_INITIATOR, MPA_F_OOO);
}

/* Octets @from to @to of the buffer arrive as a segment. */
static void ooo_put_as(struct kunit *test, u32 from, u32 to, u32 flags)
{
	struct conn_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, mpa_inject(&t->inject, from, t->buf + from,
					 to - from, flags), 0);
}

static void ooo_put(struct kunit *test, u32 from, u32 to)
{
	ooo_put_as(test, from, to, 0);
}

/* In segments of @chunk octets. */
static void ooo_put_split(struct kunit *test, u32 from, u32 to, u32 chunk)
{
	for (; from < to; from += chunk)
		ooo_put(test, from, min(from + chunk, to));
}

static void ooo_fpdus(struct kunit *test, u32 nr, u32 len)
{
	while (nr--)
		conn_fpdu(test, len);
}

/* Stream position of FPDU @k, or where the last one ends. */
static u64 ooo_pos(const struct conn_test *t, u32 k)
{
	return k < t->nr_out ? t->out_from[k] : t->out_pos;
}

/* Where FPDU @k is in the buffer. */
static u32 ooo_at(const struct conn_test *t, u32 k)
{
	return ooo_pos(t, k) - t->base;
}

/* Put the CRC of FPDU @k right again. */
static void ooo_new_crc(struct conn_test *t, u32 k)
{
	u32 from = ooo_at(t, k), len = ooo_at(t, k + 1) - from - 4;

	put_unaligned_le32(mpa_ref_crc(t->buf + from, len),
			   t->buf + from + len);
}

/* ULPDU @i of those passed is what the peer sent as number @k. */
static void ooo_same(struct kunit *test, u32 i, u32 k)
{
	struct conn_test *t = test->priv;
	const struct mpa_consumer *c = &t->a;

	KUNIT_ASSERT_EQ(test, c->pos[i], ooo_pos(t, k));
	KUNIT_ASSERT_EQ(test, c->len[i], t->out_len[k]);
	KUNIT_ASSERT_EQ_MSG(test, 0, memcmp(c->rx + c->at[i],
					    t->pool + k % 256, c->len[i]),
			    "ULPDU %u", k);
}

/* Number @from to @to, and no other, have been passed before their turn. */
static void ooo_early(struct kunit *test, u32 from, u32 to)
{
	struct conn_test *t = test->priv;
	u32 i, nr = to - from;

	KUNIT_ASSERT_TRUE(test, mpa_consumer_wait_early(&t->a, nr));
	conn_settle(&t->a);
	KUNIT_ASSERT_EQ(test, mpa_consumer_early(&t->a), nr);
	KUNIT_ASSERT_EQ(test, mpa_consumer_ulpdus(&t->a), t->base_nr + nr);
	KUNIT_ASSERT_EQ(test, mpa_consumer_delivered(&t->a), t->base);
	for (i = 0; i < nr; i++)
		ooo_same(test, t->base_nr + i, from + i);
	KUNIT_ASSERT_EQ(test, t->a.disorder, 0);
}

/* Nothing of what lies behind the hole has been passed. */
static void ooo_none(struct kunit *test)
{
	struct conn_test *t = test->priv;

	conn_settle(&t->a);
	KUNIT_ASSERT_EQ(test, mpa_consumer_ulpdus(&t->a), t->base_nr);
	KUNIT_ASSERT_EQ(test, mpa_consumer_early(&t->a), 0);
}

static void ooo_info(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_EQ(test, info.rx_pos, t->out_pos);
	KUNIT_EXPECT_EQ(test, info.ulpdus_rx, t->nr_out);
	KUNIT_EXPECT_EQ(test, info.ulpdus_ooo, t->a.nr_early);
	KUNIT_EXPECT_EQ(test, info.ooo_suppressed, t->a.nr_early);
}

/* All that the peer has sent has been passed, and delivered. */
static void ooo_all(struct kunit *test)
{
	struct conn_test *t = test->priv;

	KUNIT_ASSERT_TRUE(test, mpa_consumer_wait_delivered(&t->a,
							    t->out_pos));
	conn_expect_rx(test, &t->a, t->nr_out);
	KUNIT_ASSERT_EQ(test, t->a.delivered, t->out_pos);
	ooo_info(test);
}

/* The same; and the peer goes on by itself. */
static void ooo_alive(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_all(test);
	t->buf_len = 0;
	conn_expect_alive(test, &t->a);
}

/* Three ULPDUs have been passed behind a hole. */
static void ooo_three(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_default(test);
	ooo_fpdus(test, 4, 700);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	ooo_early(test, 1, 4);
}

/* Behind a hole: passed. The hole closes: delivered. @arg: segments. */
static void ooo_found(struct kunit *test, u32 flags)
{
	struct conn_test *t = test->priv;
	struct mpa_info info;

	ooo_default(test);
	ooo_fpdus(test, 4, 700);
	ooo_put_as(test, ooo_at(t, 1), ooo_at(t, 3), flags);
	ooo_early(test, 1, 3);
	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_TRUE(test, info.ooo);
	KUNIT_EXPECT_EQ(test, info.rx_pos, 0);
	KUNIT_EXPECT_EQ(test, info.ulpdus_rx, 0);
	KUNIT_EXPECT_EQ(test, info.ulpdus_ooo, 2);
	KUNIT_EXPECT_EQ(test, info.octets_ooo, 1400);
	KUNIT_EXPECT_EQ(test, info.ooo_suppressed, 0);

	ooo_put_as(test, ooo_at(t, 3), t->buf_len, flags);
	ooo_early(test, 1, 4);
	ooo_put_as(test, 0, ooo_at(t, 1), flags);
	ooo_alive(test);
	KUNIT_EXPECT_EQ(test, t->a.nr_early, 3);
}

void conn_ooo_found(struct kunit *test)
{
	ooo_found(test, conn_arg(test));
}

void conn_ooo_ipv6(struct kunit *test)
{
	struct conn_test *t = test->priv;

	t->opts.ipv6 = true;
	ooo_found(test, 0);
}

/* For conn_ooo_off(): why nothing is passed behind a hole. */
static void ooo_open_off(struct kunit *test, enum conn_ooo_off why)
{
	struct conn_test *t = test->priv;

	if (why != OOO_OFF_CRC) {
		ooo_open(test, CONN_INITIATOR,
			 why == OOO_OFF_FLAG ? MPA_F_MARKERS : 0);
		return;
	}
	conn_attach(test, MPA_F_OOO);
	WRITE_ONCE(t->mn->crc, 0);
	conn_full(test, CONN_INITIATOR, MPA_F_OOO, PEER_M);
	mpa_resume(t->a.conn);
	ooo_begin(test);
}

void conn_ooo_off(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_info info;

	ooo_open_off(test, conn_arg(test));
	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_FALSE(test, info.ooo);
	ooo_fpdus(test, 4, 700);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	/* Longer than TCP waits with an ACK, and we with looking. */
	msleep(50);
	ooo_none(test);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_alive(test);
	KUNIT_EXPECT_EQ(test, t->a.nr_early, 0);
}

static const void *ooo_af_ops(const struct socket *sock)
{
	return READ_ONCE(inet_csk(sock->sk)->icsk_af_ops);
}

/* What is behind a hole was there before full operation. */
void conn_ooo_startup(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 second;

	conn_attach(test, MPA_F_OOO);
	conn_start(test, CONN_INITIATOR);
	conn_expect_frame(test, false, PEER_M | PEER_C, 1, NULL, 0);
	ooo_begin(test);
	t->rx_markers = true;
	t->crc = true;
	t->buf_len = mpa_peer_frame(t->buf, true, PEER_C, 1, NULL, 0);
	second = t->buf_len + conn_fpdu(test, 700);
	conn_fpdu(test, 700);
	ooo_put(test, second, t->buf_len);
	ooo_put(test, 0, PEER_FRAME);
	CONN_WAIT(test, &t->a, EV_ESTABLISHED, 1);
	ooo_none(test);
	mpa_resume(t->a.conn);
	ooo_early(test, 1, 2);
	ooo_put(test, PEER_FRAME, second);
	ooo_alive(test);
}

/* We have sent our FIN; the peer goes on. */
void conn_ooo_shutdown(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_default(test);
	KUNIT_ASSERT_EQ(test, mpa_shutdown(t->a.conn), 0);
	KUNIT_ASSERT_EQ(test, mpa_peer_read_end(&t->peer), 0);
	ooo_fpdus(test, 4, 700);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	ooo_early(test, 1, 4);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_all(test);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_expect_end(test, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
	CONN_WAIT(test, &t->a, EV_CLOSED, 1);
	KUNIT_EXPECT_EQ(test, t->a.err, 0);
}

/* Of three FPDUs the second is the hole: is the third passed in a while? */
static bool ooo_in_a_while(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 early = mpa_consumer_early(&t->a), i;

	ooo_begin(test);
	ooo_fpdus(test, 3, 700);
	ooo_put(test, 0, ooo_at(t, t->base_nr + 1));
	conn_settle(&t->a);
	ooo_put(test, ooo_at(t, t->base_nr + 2), t->buf_len);
	for (i = 0; i < 100 && mpa_consumer_early(&t->a) == early; i++)
		usleep_range(2000, 4000);
	ooo_put(test, ooo_at(t, t->base_nr + 1), ooo_at(t, t->base_nr + 2));
	ooo_all(test);
	return mpa_consumer_early(&t->a) > early;
}

/*
 * Without the hook the connection looks behind holes by itself as long as
 * anything arrives; for a test that is slow that may be over.
 */
void conn_ooo_timer(struct kunit *test)
{
	struct conn_test *t = test->priv;
	const void *ops;
	u32 i;

	conn_attach(test, MPA_F_OOO);
	WRITE_ONCE(t->mn->ooo_hook, 0);
	ops = ooo_af_ops(t->sock[0]);
	ooo_default(test);
	KUNIT_EXPECT_PTR_EQ(test, ooo_af_ops(t->sock[0]), ops);
	for (i = 0; i < 20; i++)
		if (ooo_in_a_while(test))
			break;
	KUNIT_EXPECT_LT(test, i, 20);
	ooo_alive(test);
}

/* The flag sets M in our frame, in each role. */
void conn_ooo_frame(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_info info;

	ooo_open(test, conn_arg(test), MPA_F_OOO);
	mpa_get_info(t->a.conn, &info);
	KUNIT_EXPECT_TRUE(test, info.ooo);
	KUNIT_EXPECT_TRUE(test, info.markers_rx);
	ooo_fpdus(test, 1, 100);
	ooo_put(test, 0, t->buf_len);
	ooo_alive(test);
}

/* FPDUs and segments of a short stream; both as many. */
#define OOO_SHORT	5

/**
 * struct ooo_short - a short stream, cut into segments
 * @pos: where each FPDU begins; then where the last ends
 * @cut: where each segment begins; then where the last ends
 * @have: segments that have arrived
 * @found: FPDUs that must have been passed
 */
struct ooo_short {
	u64	pos[OOO_SHORT + 1];
	u64	cut[OOO_SHORT + 1];
	u32	have;
	u32	found;
};

/* Octets @from to @to have arrived in one piece, and none just before. */
static void ooo_find(struct ooo_short *s, u64 from, u64 to, bool in_order)
{
	bool known = in_order;
	u32 k;

	for (k = 0; k < OOO_SHORT; k++) {
		u64 marker = roundup(s->pos[k], 512);

		if (s->pos[k] < from)
			continue;
		if (marker < s->pos[k + 1] && marker + 4 <= to)
			known = true;
		if (known && s->pos[k + 1] <= to)
			s->found |= BIT(k);
	}
}

/* Whatever can be found must be: in order, or from the first marker on. */
static void ooo_find_all(struct ooo_short *s)
{
	u32 i, from = 0;

	for (i = 0; i <= OOO_SHORT; i++) {
		if (i < OOO_SHORT && s->have & BIT(i))
			continue;
		if (from < i)
			ooo_find(s, s->cut[from], s->cut[i], !from);
		from = i + 1;
	}
}

/* FPDUs of the short stream that have been passed. */
static u32 ooo_passed(const struct conn_test *t, const struct ooo_short *s)
{
	u32 i, k, passed = 0;

	for (i = t->base_nr; i < t->a.nr_rx; i++)
		for (k = 0; k < OOO_SHORT; k++)
			if (t->a.pos[i] == s->pos[k])
				passed |= BIT(k);
	return passed;
}

/* Where segment @i of try @n begins. */
static u32 ooo_cut(const struct conn_test *t, enum conn_ooo_cut how, u32 n,
		   u32 i)
{
	u32 even = t->buf_len * i / OOO_SHORT;
	u32 seed = n * OOO_SHORT + i;

	if (!i || i == OOO_SHORT)
		return even;
	switch (how) {
	case OOO_CUT_FPDUS:
		return ooo_at(t, t->base_nr + i);
	case OOO_CUT_NEAR:
		return ooo_at(t, t->base_nr + i) + n % 13 - 6;
	case OOO_CUT_EVEN:
		return even;
	default:
		return even + mpa_ref_random(&seed) % (t->buf_len / OOO_SHORT);
	}
}

static void ooo_make_short(struct kunit *test, struct ooo_short *s, u32 n)
{
	struct conn_test *t = test->priv;
	u32 i;

	ooo_begin(test);
	for (i = 0; i < OOO_SHORT; i++)
		conn_fpdu(test, 310 + (n * 7 + i * 13) % 64);
	for (i = 0; i <= OOO_SHORT; i++) {
		s->pos[i] = ooo_pos(t, t->base_nr + i);
		s->cut[i] = t->base + ooo_cut(t, conn_arg(test), n, i);
	}
	s->have = 0;
	s->found = 0;
}

/* Segment @i arrives: all that can be passed now is, and nothing else. */
static void ooo_arrive(struct kunit *test, struct ooo_short *s, u32 n, u32 i)
{
	struct conn_test *t = test->priv;
	u32 nr;

	ooo_put_as(test, s->cut[i] - t->base, s->cut[i + 1] - t->base,
		   n & 1 ? INJECT_PAGES : 0);
	s->have |= BIT(i);
	ooo_find_all(s);
	nr = t->base_nr + hweight32(s->found);
	KUNIT_ASSERT_TRUE_MSG(test, mpa_consumer_wait_ulpdus(&t->a, nr),
			      "try %u, segments %x", n, s->have);
	KUNIT_ASSERT_EQ_MSG(test, ooo_passed(t, s), s->found,
			    "try %u, segments %x", n, s->have);
}

/* Of the segments that are left, number @n. */
static u32 ooo_pick(u32 *left, u32 n)
{
	u32 i = 0;

	while (!(*left & BIT(i)) || n--)
		i++;
	*left &= ~BIT(i);
	return i;
}

/* All orders in which five segments can arrive; @arg: where they are cut. */
void conn_ooo_orders(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 n, i, order, left;
	struct ooo_short s;

	ooo_default(test);
	for (n = 0; n < 120; n++) {
		ooo_make_short(test, &s, n);
		left = BIT(OOO_SHORT) - 1;
		order = n;
		for (i = OOO_SHORT; i; i--) {
			ooo_arrive(test, &s, n, ooo_pick(&left, order % i));
			order /= i;
		}
		KUNIT_ASSERT_TRUE(test,
				  mpa_consumer_wait_delivered(&t->a,
							      t->out_pos));
	}
	ooo_alive(test);
	KUNIT_EXPECT_GT(test, t->a.nr_early, 120);
}

/* A stream in segments that arrive in any order, some of them twice. */
void conn_ooo_shuffled(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 seed = conn_arg(test), i, n, from, left = 40;
	u8 order[40];

	ooo_default(test);
	for (i = 0; i < 100; i++)
		conn_fpdu(test, 1 + mpa_ref_random(&seed) % 500);
	for (i = 0; i < left; i++)
		order[i] = i;
	while (left) {
		n = mpa_ref_random(&seed) % left;
		from = t->buf_len * order[n] / 40;
		i = t->buf_len * (order[n] + 1) / 40;
		order[n] = order[--left];
		ooo_put(test, from - mpa_ref_random(&seed) % (from / 2 + 1) / 8,
			i);
		if (left == 20)
			KUNIT_ASSERT_TRUE(test,
					  mpa_consumer_wait_early(&t->a, 1));
	}
	ooo_alive(test);
}

/* Single octets, @arg: the last one first. */
void conn_ooo_octets(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i, from, nr;

	ooo_default(test);
	conn_fpdu(test, 60);
	conn_fpdu(test, 560);
	conn_fpdu(test, 60);
	from = ooo_at(t, 1);
	nr = t->buf_len - from;
	for (i = 0; i < nr; i++) {
		u32 at = conn_arg(test) ? t->buf_len - 1 - i : from + i;

		ooo_put(test, at, at + 1);
	}
	ooo_early(test, 1, 3);
	ooo_put_split(test, 0, from, 1);
	ooo_alive(test);
}

/* Set how much the socket may hold; returns how much it was. */
static int ooo_rcvbuf(struct conn_test *t, int to)
{
	struct sock *sk = t->sock[0]->sk;
	int was;

	lock_sock(sk);
	was = sk->sk_rcvbuf;
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, to);
	release_sock(sk);
	return was;
}

/* The window becomes larger than in other cases, and the buffer ample. */
static void ooo_widen(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i;

	t->opts.rcvbuf = 212992;
	t->opts.sndbuf = 212992;
	conn_full(test, CONN_INITIATOR, MPA_F_OOO, PEER_C);
	mpa_resume(t->a.conn);
	ooo_rcvbuf(t, SZ_4M);
	for (i = 0; i < 12; i++)
		conn_peer_send(test, 30000);
	conn_expect_rx(test, &t->a, 12);
	ooo_begin(test);
}

/* The longest FPDU there is, in segments of @arg octets. */
void conn_ooo_long(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 first;

	ooo_widen(test);
	first = t->base_nr;
	conn_fpdu(test, 40);
	conn_fpdu(test, MPA_ULPDU_MAX);
	conn_fpdu(test, 500);
	ooo_put_split(test, ooo_at(t, first + 1), t->buf_len, conn_arg(test));
	ooo_early(test, first + 1, first + 3);
	ooo_put(test, 0, ooo_at(t, first + 1));
	ooo_alive(test);
}

/*
 * An FPDU begins with a marker, which comes later than the rest, and to which
 * no other marker points.
 */
void conn_ooo_leading(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_default(test);
	conn_fpdu(test, 502);
	ooo_fpdus(test, 2, 700);
	KUNIT_ASSERT_EQ(test, ooo_at(t, 1), 512);
	ooo_put(test, 516, t->buf_len);
	ooo_early(test, 2, 3);
	ooo_put(test, 512 - conn_arg(test), 516);
	ooo_early(test, 1, 3);
	ooo_put(test, 0, 512);
	ooo_alive(test);
}

/* More FPDUs than fit into a batch, or are stepped over at a time. */
void conn_ooo_many(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i;

	ooo_default(test);
	conn_fpdu(test, 100);
	conn_fpdu(test, 500);
	for (i = 2; i < 800; i++)
		conn_fpdu(test, 1 + i % 30);
	ooo_put_split(test, ooo_at(t, 1), t->buf_len, 1400);
	ooo_early(test, 1, 800);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_alive(test);
}

/* More pieces than are remembered: what is passed of the rest is in order. */
void conn_ooo_bounded(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i, first, nr = MPA_OOO_RANGES + 20;

	ooo_widen(test);
	first = t->base_nr;
	for (i = 0; i < nr; i++) {
		conn_fpdu(test, 30);
		conn_fpdu(test, 512);
	}
	for (i = 0; i < nr; i++)
		ooo_put(test, ooo_at(t, first + 2 * i + 1),
			ooo_at(t, first + 2 * i + 2));
	KUNIT_ASSERT_TRUE(test, mpa_consumer_wait_early(&t->a,
							MPA_OOO_RANGES));
	conn_settle(&t->a);
	KUNIT_EXPECT_EQ(test, mpa_consumer_early(&t->a), MPA_OOO_RANGES);
	for (i = 0; i < nr; i++)
		ooo_put(test, ooo_at(t, first + 2 * i),
			ooo_at(t, first + 2 * i + 1));
	ooo_alive(test);
}

/* Alter the ULPDUs of FPDUs @from to @to, but no length, marker or CRC. */
static void ooo_alter(struct conn_test *t, u32 from, u32 to)
{
	u32 k, i;

	for (k = from; k < to; k++)
		for (i = ooo_at(t, k) + 6; i < ooo_at(t, k + 1) - 7; i++)
			if ((t->base + i) % 512 >= 4)
				t->buf[i] ^= 0x55;
}

/* Of the ULPDUs kept, all are what the peer has sent first. */
static bool ooo_kept_ulpdu(const struct conn_test *t,
			   const struct mpa_ulpdu *u)
{
	const u8 *was;
	u32 k = t->base_nr, i;

	while (ooo_pos(t, k) < u->pos)
		k++;
	was = t->pool + k % 256;
	for (i = 0; i < u->nr_frags; i++) {
		if (memcmp(u->frag[i].iov_base, was, u->frag[i].iov_len))
			return false;
		was += u->frag[i].iov_len;
	}
	return was == t->pool + k % 256 + t->out_len[k];
}

static void ooo_kept_same(struct kunit *test)
{
	struct conn_test *t = test->priv;
	const struct mpa_rx *rx;
	u32 i, j;

	KUNIT_ASSERT_GT(test, t->a.nr_kept, 0);
	for (i = 0; i < t->a.nr_kept; i++) {
		rx = t->a.kept[i];
		for (j = 0; j < rx->nr; j++)
			KUNIT_ASSERT_TRUE(test, ooo_kept_ulpdu(t,
							       rx->ulpdu + j));
	}
}

/*
 * What was passed comes again with other octets: they are of no interest. @arg:
 * they come with what closes the hole, and TCP puts them into the stream.
 */
void conn_ooo_altered(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 hole;

	ooo_default(test);
	t->a.keep_early = true;
	ooo_fpdus(test, 4, 700);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	ooo_early(test, 1, 4);
	hole = conn_arg(test) ? 0 : ooo_at(t, 1) - 9;
	ooo_alter(t, 1, 4);
	ooo_put(test, hole, t->buf_len);
	if (hole) {
		ooo_early(test, 1, 4);
		ooo_put(test, 0, hole);
	}
	ooo_all(test);
	ooo_kept_same(test);
	ooo_alive(test);
}

/* Segments that overlap each other in every way. */
void conn_ooo_overlap(struct kunit *test)
{
	static const u16 seg[][2] = {
		{ 1500, 1700 }, { 1400, 1600 }, { 1650, 2100 }, { 1500, 1700 },
		{ 1450, 1650 }, { 1300, 2500 }, { 2499, 2501 }, { 2400, 2800 },
		{ 1300, 2800 }, { 900, 1000 }, { 800, 1350 }, { 700, 900 },
	};
	struct conn_test *t = test->priv;
	u32 i;

	ooo_default(test);
	ooo_fpdus(test, 7, 393);	/* 401 to 405 octets each */
	KUNIT_ASSERT_GT(test, t->buf_len, 2800);
	for (i = 0; i < ARRAY_SIZE(seg); i++)
		ooo_put(test, seg[i][0], seg[i][1]);
	ooo_early(test, 2, 6);
	ooo_put(test, 10, 750);
	ooo_early(test, 1, 6);
	ooo_put(test, 0, 800);
	ooo_put(test, 2600, t->buf_len);
	ooo_alive(test);
}

/* Octets in TCP's out-of-order queue. */
static u32 ooo_queued(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;
	struct sk_buff *skb;
	u32 octets = 0;

	lock_sock(sk);
	for (skb = skb_rb_first(&tcp_sk(sk)->out_of_order_queue); skb;
	     skb = skb_rb_next(skb))
		octets += skb->len;
	release_sock(sk);
	return octets;
}

/* TCP drops what it has behind the hole, and receives other octets then. */
void conn_ooo_dropped(struct kunit *test)
{
	struct conn_test *t = test->priv;
	int rcvbuf;

	ooo_default(test);
	ooo_fpdus(test, 4, 2000);
	ooo_put(test, ooo_at(t, 1), ooo_at(t, 3));
	ooo_early(test, 1, 3);
	rcvbuf = ooo_rcvbuf(t, SOCK_MIN_RCVBUF);
	ooo_put(test, 100, 200);
	KUNIT_ASSERT_EQ(test, ooo_queued(t), 100);
	ooo_rcvbuf(t, rcvbuf);

	ooo_early(test, 1, 3);
	ooo_alter(t, 1, 3);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	ooo_early(test, 1, 4);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_alive(test);
}

/* TCP takes octets @from to @to in order, as soon as it has room. */
static void ooo_press(struct kunit *test, u32 from, u32 to)
{
	struct conn_test *t = test->priv;
	struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);
	u32 i;

	for (i = 0; i < 1000; i++) {
		ooo_put(test, from, to);
		conn_settle(&t->a);
		if (!before(READ_ONCE(tp->rcv_nxt), t->inject.seq + to))
			return;
	}
	KUNIT_FAIL(test, "TCP does not take octet %u", from);
}

/*
 * What was passed is dropped by TCP, received again, and then larger than what
 * the socket may hold, so that it is copied together.
 */
void conn_ooo_copied(struct kunit *test)
{
	struct conn_test *t = test->priv;
	unsigned long copied;
	u32 at;

	ooo_default(test);
	conn_fpdu(test, 300);
	conn_fpdu(test, 9000);
	conn_fpdu(test, 300);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	ooo_early(test, 1, 3);
	copied = snmp_fold_field(t->mn->mib, MPA_MIB_RX_COPIED);
	ooo_rcvbuf(t, SOCK_MIN_RCVBUF);
	ooo_put(test, 100, 200);
	KUNIT_ASSERT_EQ(test, ooo_queued(t), 100);
	ooo_alter(t, 1, 3);
	for (at = 0; at < t->buf_len; at += 900)
		ooo_press(test, at, min(at + 900, t->buf_len));
	ooo_all(test);
	KUNIT_EXPECT_GT(test, snmp_fold_field(t->mn->mib, MPA_MIB_RX_COPIED),
			copied);
}

/* TCP's sequence number wraps at each place in turn. */
void conn_ooo_wrap(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 at;

	for (at = 1; at < 2900; at += 131) {
		t->opts.seq = -(20 + at);
		ooo_default(test);
		ooo_fpdus(test, 4, 700);
		ooo_put(test, ooo_at(t, 2) - 50, t->buf_len);
		ooo_put(test, ooo_at(t, 1), ooo_at(t, 2) - 50);
		ooo_early(test, 1, 4);
		ooo_put(test, 0, ooo_at(t, 1));
		ooo_alive(test);
		KUNIT_ASSERT_LT(test, tcp_sk(t->sock[0]->sk)->rcv_nxt,
				t->opts.seq);
		conn_reopen(test);
	}
}

/* The stream ends in front of what was passed early: never delivered. */
static void ooo_undelivered(struct kunit *test, u32 delivered)
{
	struct conn_test *t = test->priv;

	conn_settle(&t->a);
	KUNIT_EXPECT_EQ(test, t->a.end.pos, ooo_pos(t, delivered));
	KUNIT_EXPECT_EQ(test, t->a.delivered, ooo_pos(t, delivered));
	KUNIT_EXPECT_EQ(test, t->a.nr_delivered, delivered);
	KUNIT_EXPECT_EQ(test, t->a.disorder, 0);
}

/* The receive half has failed; the other still works. */
static void ooo_failed(struct kunit *test, enum mpa_error error,
		       enum mpa_reason reason, u32 delivered)
{
	struct conn_test *t = test->priv;
	u32 passed;

	conn_expect_end(test, &t->a, error, reason);
	ooo_undelivered(test, delivered);
	passed = mpa_consumer_ulpdus(&t->a);
	ooo_put_as(test, 0, t->buf_len, 0);
	conn_post(test, 200);
	conn_expect_tx(test, 200);
	conn_settle(&t->a);
	KUNIT_EXPECT_EQ(test, mpa_consumer_ulpdus(&t->a), passed);
	KUNIT_EXPECT_EQ(test, t->a.delivered, t->a.end.pos);
}

/*
 * The third FPDU is bad: it is not passed, what follows is found behind it.
 * @arg: it comes again and is good, before its turn.
 */
void conn_ooo_bad_crc(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_default(test);
	ooo_fpdus(test, 5, 700);
	ooo_alter(t, 2, 3);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	KUNIT_ASSERT_TRUE(test, mpa_consumer_wait_early(&t->a, 3));
	conn_settle(&t->a);
	KUNIT_ASSERT_EQ(test, mpa_consumer_early(&t->a), 3);
	ooo_same(test, 0, 1);
	ooo_same(test, 1, 3);
	ooo_same(test, 2, 4);
	KUNIT_EXPECT_EQ(test, mpa_consumer_count(&t->a, EV_ENDED), 0);
	if (!conn_arg(test)) {
		ooo_put(test, 0, ooo_at(t, 1));
		ooo_failed(test, MPA_ERR_CRC, MPA_REASON_CRC, 2);
		return;
	}
	ooo_alter(t, 2, 3);
	ooo_put(test, 0, t->buf_len);
	ooo_alive(test);
}

/*
 * ULPDU_Length of the second FPDU, in the hole, is @arg. It leads into what was
 * passed, or beyond all there is: nobody waits for that.
 */
void conn_ooo_into(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_default(test);
	ooo_fpdus(test, 4, 700);
	ooo_put(test, ooo_at(t, 2), t->buf_len);
	ooo_early(test, 2, 4);
	put_unaligned_be16(conn_arg(test), t->buf + ooo_at(t, 1));
	ooo_put(test, 0, ooo_at(t, 2));
	ooo_failed(test, MPA_ERR_MARKER, MPA_REASON_MARKER, 1);
}

/* Make FPDU @k longer by @more, with its CRC, right, inside of the next one. */
static void ooo_lengthen(struct conn_test *t, u32 k, u32 more)
{
	u32 from = ooo_at(t, k), crc = ooo_at(t, k + 1) - 4 + more;

	put_unaligned_be16(t->out_len[k] + more, t->buf + from);
	put_unaligned_le32(mpa_ref_crc(t->buf + from, crc - from),
			   t->buf + crc);
	ooo_new_crc(t, k + 1);
}

/*
 * The same with a CRC that is right (@arg), which is found in what was passed.
 * With one that is wrong, that is the error.
 */
void conn_ooo_into_crc(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_default(test);
	ooo_fpdus(test, 2, 300);
	ooo_fpdus(test, 2, 500);
	ooo_lengthen(t, 1, 40);
	KUNIT_ASSERT_GT(test, roundup(ooo_at(t, 2), 512), ooo_at(t, 2) + 40);
	ooo_put(test, ooo_at(t, 2), t->buf_len);
	KUNIT_ASSERT_TRUE(test, mpa_consumer_wait_early(&t->a, 2));
	if (!conn_arg(test))
		t->buf[ooo_at(t, 1) + 20] ^= 1;
	ooo_put(test, 0, ooo_at(t, 2));
	if (conn_arg(test))
		ooo_failed(test, MPA_ERR_MARKER, MPA_REASON_MARKER, 1);
	else
		ooo_failed(test, MPA_ERR_CRC, MPA_REASON_CRC, 1);
}

/*
 * What closes the hole has, for what was passed, another length or another
 * marker, and a CRC that is right.
 */
void conn_ooo_changed_marker(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 marker;

	ooo_three(test);
	marker = roundup(ooo_at(t, 2), 512);
	KUNIT_ASSERT_LT(test, marker, ooo_at(t, 3));
	t->buf[marker + 3] ^= 4;
	ooo_new_crc(t, 2);
	ooo_put(test, 0, t->buf_len);
	ooo_failed(test, MPA_ERR_MARKER, MPA_REASON_MARKER, 2);
}

/*
 * @arg: the other length. It leads beyond what was passed; or it is seen later
 * that it does not lead to where the next FPDU begins.
 */
void conn_ooo_changed_length(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 len = conn_arg(test);

	ooo_three(test);
	put_unaligned_be16(len, t->buf + ooo_at(t, 2));
	ooo_put(test, 0, t->buf_len);
	CONN_WAIT(test, &t->a, EV_ENDED, 1);
	conn_settle(&t->a);
	KUNIT_EXPECT_EQ(test, t->a.end.error, MPA_ERR_MARKER);
	KUNIT_EXPECT_EQ(test, t->a.end.pos, t->a.delivered);
	KUNIT_EXPECT_GE(test, t->a.delivered, ooo_pos(t, 2));
	KUNIT_EXPECT_LE(test, t->a.delivered, ooo_pos(t, 3));
	KUNIT_EXPECT_EQ(test, t->a.nr_rx, 4);
}

/* On hold nothing is passed, whether in order or not. */
void conn_ooo_hold(struct kunit *test)
{
	struct conn_test *t = test->priv;

	conn_full(test, CONN_INITIATOR, MPA_F_OOO, PEER_C);
	ooo_begin(test);
	ooo_fpdus(test, 4, 700);
	ooo_put(test, ooo_at(t, 1), ooo_at(t, 2));
	ooo_none(test);
	mpa_resume(t->a.conn);
	ooo_early(test, 1, 2);
	mpa_hold(t->a.conn);
	ooo_put(test, ooo_at(t, 2), t->buf_len);
	ooo_early(test, 1, 2);
	mpa_resume(t->a.conn);
	ooo_early(test, 1, 4);
	mpa_hold(t->a.conn);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_early(test, 1, 4);
	mpa_resume(t->a.conn);
	ooo_alive(test);
}

/* MPA has left the socket: nobody holds what TCP has behind holes. */
static void ooo_unshared(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct sock *sk = t->sock[0]->sk;
	struct sk_buff *skb;

	mpa_barrier();
	lock_sock(sk);
	for (skb = skb_rb_first(&tcp_sk(sk)->out_of_order_queue); skb;
	     skb = skb_rb_next(skb))
		KUNIT_EXPECT_FALSE(test, skb_cloned(skb));
	release_sock(sk);
}

/* The owner of the socket reads all from the hole on. */
void conn_ooo_detach(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct mpa_peer own = {};

	ooo_three(test);
	conn_detach(test, &t->a);
	ooo_unshared(test);
	KUNIT_EXPECT_EQ(test, ooo_queued(t), t->buf_len - ooo_at(t, 1));
	KUNIT_EXPECT_EQ(test, t->a.delivered, 0);
	KUNIT_EXPECT_EQ(test, t->a.nr_rx, 3);

	ooo_put(test, 0, ooo_at(t, 1));
	KUNIT_ASSERT_EQ(test, mpa_peer_init(&own, t->sock[0]), 0);
	KUNIT_EXPECT_EQ(test, mpa_peer_read(&own, t->buf_len), 0);
	KUNIT_EXPECT_EQ(test, memcmp(own.in, t->buf, t->buf_len), 0);
	own.sock = NULL;
	mpa_peer_exit(&own);
}

void conn_ooo_abort(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_three(test);
	mpa_abort(t->a.conn);
	conn_expect_end(test, &t->a, MPA_ERR_TCP, MPA_REASON_ABORTED);
	CONN_WAIT(test, &t->a, EV_CLOSED, 1);
	ooo_undelivered(test, 0);
	KUNIT_EXPECT_EQ(test, t->a.nr_rx, 3);
}

void conn_ooo_reset(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_three(test);
	mpa_peer_reset(&t->peer);
	conn_expect_end(test, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
	CONN_WAIT(test, &t->a, EV_CLOSED, 1);
	ooo_undelivered(test, 0);
	KUNIT_EXPECT_EQ(test, t->a.nr_rx, 3);
}

/* A FIN where the hole is, @arg octets before what was passed. */
void conn_ooo_fin_before(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_three(test);
	ooo_put_as(test, 0, ooo_at(t, 1) - conn_arg(test), INJECT_FIN);
	conn_expect_end(test, &t->a, MPA_ERR_TCP, conn_arg(test) ?
			MPA_REASON_TRUNCATED : MPA_REASON_FIN);
	ooo_undelivered(test, conn_arg(test) ? 0 : 1);
	conn_post(test, 900);
	conn_expect_tx(test, 900);
}

/* A FIN behind the hole waits for all before it; @arg octets are missing. */
void conn_ooo_fin_behind(struct kunit *test)
{
	struct conn_test *t = test->priv;
	bool cut = conn_arg(test);

	ooo_three(test);
	if (cut) {
		conn_fpdu(test, 700);
		ooo_put(test, ooo_at(t, 4), t->buf_len - conn_arg(test));
	}
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	ooo_early(test, 1, 4);
	KUNIT_EXPECT_EQ(test, mpa_consumer_count(&t->a, EV_ENDED), 0);
	ooo_put(test, 0, ooo_at(t, 1));
	conn_expect_end(test, &t->a, MPA_ERR_TCP,
			cut ? MPA_REASON_TRUNCATED : MPA_REASON_FIN);
	ooo_undelivered(test, 4);
	conn_expect_rx(test, &t->a, 4);
	conn_post(test, 900);
	conn_expect_tx(test, 900);
}

/* Urgent data behind the hole is no better than before it. */
void conn_ooo_urgent(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_three(test);
	conn_fpdu(test, 700);
	ooo_put_as(test, ooo_at(t, 4), t->buf_len, INJECT_URGENT);
	conn_expect_end(test, &t->a, MPA_ERR_MARKER, MPA_REASON_URGENT);
	ooo_undelivered(test, 0);
}

/* Kept past Delivery (@arg 0), or past released(). */
void conn_ooo_keep(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i, first;

	ooo_default(test);
	first = tcp_sk(t->sock[0]->sk)->copied_seq;
	t->a.keep_early = true;
	ooo_fpdus(test, 4, 700);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	ooo_early(test, 1, 4);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_all(test);
	conn_settle(&t->a);
	KUNIT_EXPECT_EQ(test, tcp_sk(t->sock[0]->sk)->copied_seq - first,
			t->buf_len);
	ooo_kept_same(test);
	if (conn_arg(test)) {
		conn_detach(test, &t->a);
		mpa_peer_close(t->sock[0]);
		t->sock[0] = NULL;
		mpa_barrier();
		ooo_kept_same(test);
	}
	for (i = 0; i < t->a.nr_kept; i++)
		mpa_consumer_put(&t->a, i);
	if (!conn_arg(test))
		ooo_alive(test);
}

/* Three FPDUs, two of them behind a hole. Returns how many were passed early */
static u32 ooo_round(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 early = mpa_consumer_early(&t->a);

	ooo_begin(test);
	ooo_fpdus(test, 3, 1000);
	ooo_put_as(test, ooo_at(t, t->base_nr + 1), t->buf_len, INJECT_PAGES);
	conn_settle(&t->a);
	early = mpa_consumer_early(&t->a) - early;
	ooo_put(test, 0, ooo_at(t, t->base_nr + 1));
	ooo_all(test);
	return early;
}

/* More kept than the receive buffer: no more of that, but all in order. */
void conn_ooo_keep_much(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i, kept;

	t->opts.rcvbuf = 32768;
	ooo_default(test);
	t->a.keep_early = true;
	for (i = 0; i < CONSUMER_KEPT && ooo_round(test); i++)
		;
	kept = t->a.nr_kept;
	KUNIT_EXPECT_GT(test, kept, 2);
	KUNIT_EXPECT_LT(test, kept, CONSUMER_KEPT);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, ooo_round(test), 0);
	for (i = 0; i < kept; i++)
		mpa_consumer_put(&t->a, i);
	KUNIT_EXPECT_EQ(test, ooo_round(test), 2);
	ooo_alive(test);
}

/* A Responder may send when the first FPDU has come in its turn. */
void conn_ooo_gate(struct kunit *test)
{
	struct conn_test *t = test->priv;

	ooo_open(test, CONN_RESPONDER, MPA_F_OOO);
	ooo_fpdus(test, 4, 700);
	conn_post(test, 300);
	ooo_put(test, ooo_at(t, 1), t->buf_len);
	ooo_early(test, 1, 4);
	conn_expect_silence(test);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_all(test);
	conn_expect_tx(test, 300);
	conn_expect_done(test, &t->a, 1, 0);
}

/* We send, too, while there is a hole. */
void conn_ooo_two_way(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i, k;

	ooo_default(test);
	ooo_fpdus(test, 20, 700);
	for (k = 1; k < 20; k++) {
		conn_post_many(test, 5, 400);
		ooo_put(test, ooo_at(t, k), ooo_at(t, k + 1));
	}
	ooo_early(test, 1, 20);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_all(test);
	for (i = 0; i < 95; i++)
		conn_expect_tx(test, 400);
	ooo_alive(test);
}

/* What TCP does not take never gets here. */
void conn_ooo_stray(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 from, len;

	ooo_default(test);
	ooo_fpdus(test, 4, 700);
	from = ooo_at(t, 1);
	len = t->buf_len - from;
	ooo_put_as(test, from, t->buf_len, INJECT_BAD_SUM);
	KUNIT_ASSERT_EQ(test, mpa_inject(&t->inject, from + SZ_1M,
					 t->buf + from, len, INJECT_STRAY), 0);
	KUNIT_ASSERT_EQ(test, mpa_inject(&t->inject, from - SZ_1M,
					 t->buf + from, len, INJECT_STRAY), 0);
	ooo_none(test);
	KUNIT_EXPECT_EQ(test, ooo_queued(t), 0);
	ooo_put(test, from, t->buf_len);
	ooo_early(test, 1, 4);
	ooo_put(test, 0, from);
	ooo_alive(test);
}

/* An IPv6 socket, connected to the IPv4 socket of the peer. */
static void ooo_pair_mapped(struct kunit *test)
{
	struct sockaddr_storage addr = {}, to = {};
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&to;
	struct conn_test *t = test->priv;
	struct socket *listener;
	int err;

	KUNIT_ASSERT_EQ(test, 0, mpa_peer_listen(&t->opts, &listener, &addr));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = ((struct sockaddr_in *)&addr)->sin_port;
	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &sin6->sin6_addr);
	err = sock_create_kern(&init_net, AF_INET6, SOCK_STREAM, IPPROTO_TCP,
			       &t->sock[0]);
	err = err ?: kernel_connect(t->sock[0], mpa_sockaddr(&to),
				    sizeof(*sin6), 0);
	err = err ?: mpa_peer_accept(&t->peer, listener);
	sock_release(listener);
	KUNIT_ASSERT_EQ(test, err, 0);
}

static void ooo_pair(struct kunit *test, enum conn_ooo_family family)
{
	struct conn_test *t = test->priv;

	t->opts.ipv6 = family == OOO_IPV6;
	if (family == OOO_MAPPED)
		ooo_pair_mapped(test);
	else
		conn_pair(test);
}

/* The socket has its own operations again when it is given back. */
void conn_ooo_af_ops(struct kunit *test)
{
	struct conn_test *t = test->priv;
	const void *ops;

	ooo_pair(test, conn_arg(test));
	ops = ooo_af_ops(t->sock[0]);
	ooo_three(test);
	KUNIT_EXPECT_PTR_NE(test, ooo_af_ops(t->sock[0]), ops);
	conn_detach(test, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, ooo_af_ops(t->sock[0]), ops);
}

/* An IPv6 socket that talks IPv4 becomes an IPv4 one. */
static int ooo_addrform(struct socket *sock)
{
	int val = PF_INET;

	return READ_ONCE(sock->ops)->setsockopt(sock, SOL_IPV6, IPV6_ADDRFORM,
						KERNEL_SOCKPTR(&val),
						sizeof(val));
}

/* Operations that the socket has been given meanwhile are left alone. */
void conn_ooo_addrform(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct socket *sock;

	ooo_pair(test, OOO_MAPPED);
	sock = t->sock[0];
	ooo_three(test);
	KUNIT_ASSERT_EQ(test, ooo_addrform(sock), 0);
	KUNIT_EXPECT_PTR_EQ(test, ooo_af_ops(sock), ooo_af_ops(t->peer.sock));
	conn_fpdu(test, 700);
	ooo_put(test, ooo_at(t, 4), t->buf_len);
	ooo_put(test, 0, ooo_at(t, 1));
	ooo_alive(test);
	conn_detach(test, &t->a);
	KUNIT_EXPECT_PTR_EQ(test, ooo_af_ops(sock), ooo_af_ops(t->peer.sock));
}

/* The operations of the address family are asked, and refuse this level. */
static int ooo_ask_once(struct socket *sock)
{
	return READ_ONCE(sock->ops)->getsockopt(sock, SOL_RAW, 0, NULL, NULL);
}

static int ooo_ask(void *arg)
{
	struct conn_asker *asker = arg;
	struct socket *sock = asker->sock;
	const struct proto_ops *ops = READ_ONCE(sock->ops);
	int ttl = 40;

	while (!kthread_should_stop()) {
		if (ooo_ask_once(sock) != asker->answer)
			asker->wrong++;
		ttl ^= 1;
		if (ops->setsockopt(sock, SOL_IP, IP_TTL, KERNEL_SOCKPTR(&ttl),
				    sizeof(ttl)) ||
		    READ_ONCE(inet_sk(sock->sk)->uc_ttl) != ttl)
			asker->wrong++;
		WRITE_ONCE(asker->asked, asker->asked + 1);
		cond_resched();
	}
	return 0;
}

/* Attached to the same socket again, for another stream. */
static void ooo_again(struct kunit *test)
{
	struct conn_test *t = test->priv;

	t->out_pos = 0;
	t->nr_out = 0;
	mpa_consumer_exit(&t->a);
	KUNIT_ASSERT_EQ(test, mpa_consumer_init(&t->a), 0);
	ooo_open(test, CONN_IMMEDIATE, MPA_F_OOO);
}

static void ooo_attach_detach(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct conn_asker *asker = &t->asker;
	u32 i, asked;

	for (i = 0; i < 30; i++) {
		asked = READ_ONCE(asker->asked);
		ooo_again(test);
		ooo_fpdus(test, 3, 700);
		ooo_put(test, ooo_at(t, 1), t->buf_len);
		KUNIT_ASSERT_TRUE(test, mpa_consumer_wait_early(&t->a, 2));
		ooo_put(test, 0, ooo_at(t, 1));
		ooo_all(test);
		conn_detach(test, &t->a);
		while (READ_ONCE(asker->asked) - asked < 2)
			usleep_range(50, 100);
	}
}

/* getsockopt() reads the operations without a lock. */
void conn_ooo_sockopt(struct kunit *test)
{
	struct conn_test *t = test->priv;
	struct task_struct *task;

	ooo_pair(test, conn_arg(test));
	t->asker.sock = t->sock[0];
	t->asker.answer = ooo_ask_once(t->sock[0]);
	KUNIT_ASSERT_LT(test, t->asker.answer, 0);
	task = kthread_run(ooo_ask, &t->asker, "mpa_kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	t->asker.task = task;
	ooo_attach_detach(test);
	KUNIT_EXPECT_EQ(test, READ_ONCE(t->asker.wrong), 0);
}

/**
 * struct ooo_arrivals - segments that arrive while something else is done
 * @work: makes them arrive
 * @t: the case
 * @seed: their order
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

static void ooo_race_round(struct kunit *test, struct ooo_arrivals *a, u32 n)
{
	struct conn_test *t = test->priv;
	bool released;
	u32 i;

	ooo_default(test);
	t->a.keep_early = n & 1;
	a->seed = n;
	ooo_fpdus(test, 16, 500);
	queue_work(system_unbound_wq, &a->work);
	for (i = 0; i < n; i++) {
		mpa_hold(t->a.conn);
		udelay(i % 8 * 5);
		mpa_resume(t->a.conn);
		udelay(i % 16 * 5);
	}
	released = mpa_consumer_detach(&t->a);
	flush_work(&a->work);
	KUNIT_ASSERT_TRUE(test, released);
	KUNIT_EXPECT_LE(test, t->a.nr_delivered, t->a.nr_rx);
	for (i = 0; i < t->a.nr_kept; i++)
		mpa_consumer_put(&t->a, i);
	ooo_unshared(test);
}

/* Detached at any time. */
void conn_ooo_race(struct kunit *test)
{
	struct ooo_arrivals *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, a);
	a->t = test->priv;
	INIT_WORK(&a->work, ooo_arrive_all);
	for (i = 0; i < 60; i++) {
		ooo_race_round(test, a, i);
		conn_reopen(test);
	}
}
