// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The EMSS that MPA lowers for FPDUs of one length that do not fill segments */
#include <net/tcp.h>
#include "mpa_conn_ooo.h"
#include "mpa_conn_train.h"

#define SERIES_FPDU	1416	/* octets of an FPDU of 1408 */

/* What comes after FPDUs of one length */
enum conn_series_after {
	AFTER_SOURCE,
	AFTER_LONG,		/* FPDUs too long for the EMSS lowered */
	AFTER_UNSENT,		/* the same, while TCP has not sent all */
	AFTER_HOLE,		/* a hole in the peer's stream */
	AFTER_MTU,		/* TCP itself computes the lowered EMSS */
	AFTER_OTHER_MTU,	/* TCP could have a larger one */
	AFTER_SHORT,		/* FPDUs that do not fill the EMSS lowered */
};

/* After 20 FPDUs in one call, 20 more of @len octets go in another. */
static void series_after(struct conn_test *t, struct train *tr, u32 len)
{
	conn_post_many(t, 20, len);
	train_take_messages(t, tr, 20);
	train_expect(t, tr, 2, 40, 40);
}

/* TCP computes its EMSS, for another path MTU unless @mtu is 0. */
static void series_sync(struct sock *sk, u32 mtu, u32 window)
{
	lock_sock(sk);
	tcp_sk(sk)->max_window = window;
	inet_csk(sk)->icsk_sync_mss(sk, mtu ?: inet_csk(sk)->icsk_pmtu_cookie);
	release_sock(sk);
}

/* The path MTU comes to allow @more octets than the EMSS that was lowered. */
static void series_other_mtu(struct conn_test *t, struct train *tr, u32 more)
{
	struct sock *sk = t->sock[0]->sk;

	t->lo_mtu = mpa_peer_lo_mtu(SERIES_FPDU + more + 52);
	ASSERT_GT(t, t->lo_mtu, 0);
	/* As TCP does when it is told: nothing of MPA runs. */
	series_sync(sk, SERIES_FPDU + more + 52, tcp_sk(sk)->max_window);
	train_expect_mulpdu(t, 1408 + 2);
	series_after(t, tr, 1408);
	train_expect_mulpdu(t, 1408 + 2 + more);
	if (more)
		return;
	conn_post(t, TRAIN_FULL);
	ASSERT_EQ(t, train_take(t, tr), TRAIN_FULL);
	tr->emss = SERIES_FPDU;
}

/*
 * FPDUs of one length go in one call, although they do not fill the EMSS of the
 * path: MPA lowers it, until they end, and no longer than that.
 */
static void series_length(struct conn_test *t)
{
	enum conn_series_after what = conn_arg(t);
	struct train *tr = train_open_1448(t, 0);
	struct sock *sk = t->sock[0]->sk;
	u32 emss = TRAIN_EMSS, i;
	struct conn_msg *msg;

	/* one more than MPA_TX_SERIES */
	conn_post_many(t, 33, 1408);
	train_take_messages(t, tr, 33);
	conn_expect_done(t, &t->a, t->nr_msg, 0);
	train_mark(t, tr);
	conn_post_many(t, 20, 1408);
	train_take_messages(t, tr, 20);
	train_expect(t, tr, 1, 20, 20);
	/* As an ACK does that announces the largest window so far */
	series_sync(sk, 0, tcp_sk(sk)->max_window);
	EXPECT_EQ(t, tcp_sk(sk)->mss_cache, SERIES_FPDU);
	train_expect_mulpdu(t, TRAIN_FULL);

	switch (what) {
	case AFTER_SOURCE:
		msg = train_source(t, 20 * (TRAIN_FULL - CONN_HDR));
		train_take_source(t, tr, msg);
		train_expect(t, tr, 2, 40, 40);
		break;
	case AFTER_LONG:
		series_after(t, tr, TRAIN_FULL);
		break;
	case AFTER_UNSENT:
		mpa_peer_stop(&t->peer);
		tcp_snd_cwnd_set(tcp_sk(sk), 10);
		conn_post_many(t, 40, 1408);
		conn_post_many(t, 5, TRAIN_FULL);
		conn_settle(&t->a);
		EXPECT_TRUE(t, before(tcp_sk(sk)->snd_nxt,
				      tcp_sk(sk)->write_seq));
		EXPECT_EQ(t, tcp_sk(sk)->write_seq - tr->base,
			  (u32)t->in_pos + 40 * SERIES_FPDU);
		mpa_peer_continue(&t->peer);
		train_take_messages(t, tr, 45);
		break;
	case AFTER_HOLE:
		gap_begin(t);
		gap_fpdus(t, 2, 700);
		gap_put(t, gap_at(t, 1), t->buf_len);
		conn_post_many(t, 20, 1408);
		train_take_messages(t, tr, 20);
		train_expect(t, tr, 21, 40, 40);
		train_expect_mulpdu(t, TRAIN_FULL - TRAIN_SACK);
		break;
	case AFTER_MTU:
	case AFTER_OTHER_MTU:
		emss = SERIES_FPDU;
		series_other_mtu(t, tr, what == AFTER_MTU ? 0 : 20);
		break;
	case AFTER_SHORT:
		for (i = 0; i < 34; i++)
			conn_post(t, 800 + 4 * (i % 2));
		train_take_messages(t, tr, 34);
		break;
	}
	EXPECT_EQ(t, tcp_sk(sk)->mss_cache, emss);
	train_expect_aligned(t, tr, t->in_pos);
}

/* @nr sources, each of one ULPDU of @len octets; or MPA cuts by @template */
static void series_send_sources(struct conn_test *t, struct train *tr, u32 nr,
				u32 len, const struct mpa_template *template)
{
	u32 i, first = t->nr_msg;
	struct conn_msg *msg;
	LIST_HEAD(list);

	for (i = 0; i < nr; i++) {
		msg = conn_source(t, len - CONN_HDR);
		if (template) {
			msg->tx.flags = MPA_TX_TEMPLATE;
			msg->tx.template = template;
			msg->tx.next = NULL;
		}
		list_add_tail(&msg->tx.list, &list);
	}
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	for (i = 0; i < nr; i++)
		train_take_source(t, tr, &t->msg[first + i]);
}

/*
 * Sources of one ULPDU and one length count like messages. @arg: length of the
 * ULPDUs. Of a source that is longer, only the first ULPDU has the length of
 * the EMSS that was lowered.
 */
static void series_sources(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, 0);
	struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);
	u32 len = conn_arg(t), size = mpa_ref_size(0, len, false);
	u32 before;

	series_send_sources(t, tr, 33, len, conn_data(t));
	conn_expect_done(t, &t->a, t->nr_msg, 0);
	train_mark(t, tr);
	series_send_sources(t, tr, 20, len, conn_data(t));
	train_expect(t, tr, 1, 20, 20);
	EXPECT_EQ(t, tp->mss_cache, size);

	before = t->in_pos;
	train_take_source(t, tr, train_source(t, 20000));
	EXPECT_EQ(t, tp->mss_cache, TRAIN_EMSS);
	EXPECT_EQ(t, tr->pos[tr->nr_fpdus - 1] - before,
		  size + 13 * TRAIN_EMSS);
	train_expect_aligned(t, tr, t->in_pos);
}

/* The EMSS is lowered also while TCP has always some of that length unsent. */
static void series_loaded(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, 0);
	struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);

	mpa_peer_stop(&t->peer);
	tcp_snd_cwnd_set(tp, 10);
	conn_post_many(t, 40, 1408);
	conn_settle(&t->a);
	conn_post(t, 1408);
	conn_settle(&t->a);
	EXPECT_TRUE(t, before(tp->snd_nxt, tp->write_seq));
	EXPECT_EQ(t, tp->mss_cache, SERIES_FPDU);
	mpa_peer_continue(&t->peer);
	train_take_messages(t, tr, 41);
	train_expect_aligned(t, tr, t->in_pos);
}

/* As SO_MAX_PACING_RATE: TCP keeps some unsent, with an open window. */
static void series_pace(struct conn_test *t, u32 rate)
{
	struct sock *sk = t->sock[0]->sk;

	lock_sock(sk);
	sk->sk_max_pacing_rate = rate;
	sk->sk_pacing_rate = rate;
	sk->sk_pacing_status = SK_PACING_NEEDED;
	release_sock(sk);
}

/* It is not lowered while that would cut others, which TCP has unsent. */
static void series_behind(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, 0);
	struct sock *sk = t->sock[0]->sk;

	series_pace(t, 200000);
	t->a.conn->tx.series.need = 8;
	conn_post_many(t, 20, TRAIN_FULL);
	conn_post_many(t, 80, 1408);
	train_take_messages(t, tr, 100);
	EXPECT_EQ(t, tcp_sk(sk)->mss_cache, SERIES_FPDU);
	train_expect_aligned(t, tr, t->in_pos);
}

/*
 * Nor while it would cut one sent with zero copy, in the middle of the others:
 * TCP, which sends the first ten segments at once, has it unsent.
 */
static void series_zerocopy(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, 0);
	LIST_HEAD(list);
	u32 i;

	series_pace(t, 100000);
	/* Not reached before that one */
	t->a.conn->tx.series.need = CONN_PAGES;
	for (i = 0; i < 120; i++)
		list_add_tail(i == CONN_PAGES - 1 ?
			      &conn_page_msg(t, TRAIN_FULL)->tx.list :
			      &conn_msg(t, 1408)->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	train_take_messages(t, tr, 120);
	EXPECT_EQ(t, tcp_sk(t->sock[0]->sk)->mss_cache, SERIES_FPDU);
	train_expect_aligned(t, tr, t->in_pos);
}

/* FPDUs of one length for which the EMSS is not lowered */
static void series_kept(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, conn_arg(t));
	LIST_HEAD(list);
	u32 i;

	/* With markers an FPDU of 1010 octets has always two: 1024. */
	t->a.conn->tx.series.need = CONN_PAGES / 2;
	for (i = 0; i < CONN_PAGES; i++)
		list_add_tail(conn_arg(t) ? &conn_msg(t, 1010)->tx.list :
					    &conn_page_msg(t, 1408)->tx.list,
			      &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	train_take_messages(t, tr, CONN_PAGES);
	conn_post(t, 800);
	train_take_messages(t, tr, 1);
	EXPECT_EQ(t, tcp_sk(t->sock[0]->sk)->mss_cache, TRAIN_EMSS);
}

/*
 * TCP never sends more in a segment than half of the largest window. An EMSS
 * that MPA has rounded grows with that. @arg: the next ULPDU
 */
static void series_odd_window(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, 0);
	struct sock *sk = t->sock[0]->sk;

	series_sync(sk, 0, 2050);
	conn_post(t, 800);
	train_take_messages(t, tr, 1);
	EXPECT_EQ(t, tcp_sk(sk)->mss_cache, 1024);
	CONN_WAIT(t, &t->a, EV_MULPDU, 1);
	series_sync(sk, 0, 65536);
	conn_post(t, conn_arg(t));
	train_take_messages(t, tr, 1);
	train_told(t, 2, TRAIN_FULL);
	EXPECT_EQ(t, tcp_sk(sk)->mss_cache, TRAIN_EMSS);
}

/* The socket that MPA leaves has the EMSS of the path. */
static void series_detached(struct conn_test *t)
{
	struct train *tr = train_open_1448(t, 0);

	conn_post_many(t, 33, 1408);
	train_take_messages(t, tr, 33);
	conn_post(t, 1408);
	train_take_messages(t, tr, 1);
	EXPECT_LT(t, tcp_sk(t->sock[0]->sk)->mss_cache, TRAIN_EMSS);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, tcp_sk(t->sock[0]->sk)->mss_cache, TRAIN_EMSS);
}

static const struct conn_row series_rows[] = {
	{ "TX-04 TX-06 SZ-09 SZ-11: messages of one length, then a source",
	  series_length, AFTER_SOURCE },
	{ "TX-04 TX-06 SZ-09: messages of one length, then longer ones",
	  series_length, AFTER_LONG },
	{ "TX-04 TX-06: messages of one length, unsent, then longer ones",
	  series_length, AFTER_UNSENT },
	{ "TX-04 TX-06 SZ-01: messages of one length, then a hole",
	  series_length, AFTER_HOLE },
	{ "SZ-14 SZ-20: messages of one length, then a smaller path MTU",
	  series_length, AFTER_MTU },
	{ "SZ-09 SZ-14: messages of one length, then another path MTU",
	  series_length, AFTER_OTHER_MTU },
	{ "messages of one length, then many of others",
	  series_length, AFTER_SHORT },
	{ "TX-04 TX-06 SZ-11: sources of one ULPDU and length, then longer",
	  series_sources, 1408 },
	{ "TX-04 TX-06 SZ-11: templates of one ULPDU and length, then a source",
	  series_sources, 1360,
	  &(const struct mpa_template){ .count_size = sizeof(u32) } },
	{ "TX-04 TX-06: messages of one length, of which TCP keeps some unsent",
	  series_loaded },
	{ "TX-04 TX-06: messages of one length, after longer ones, unsent",
	  series_behind },
	{ "TX-04 TX-06: messages of one length, zero copy among them, unsent",
	  series_zerocopy },
	{ "TX-04 TX-06: zero-copy messages of one length", series_kept },
	{ "TX-04 TX-06: messages of one length with markers",
	  series_kept, PEER_M },
	{ "SZ-09 SZ-14: half the peer's window, no multiple of four, grows",
	  series_odd_window, 800 },
	{ "SZ-09 SZ-14: half the peer's window grows, then a short ULPDU",
	  series_odd_window, 64 },
	{ "messages of one length, then the socket alone",
	  series_detached },
};

CONN_ROWS(series);
