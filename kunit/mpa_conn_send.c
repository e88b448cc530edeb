// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Sending: from the consumer's messages to segments. */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"

static void send_lengths(struct conn_test *t)
{
	static const u32 len[] = {
		1, 2, 3, 4, 5, 17, 18, 19, 128, 500, 501, 502, 503, 504, 505,
		506, 507, 508, 509, 510, 511, 512, 1442, 20000, 64768,
	};
	struct mpa_info info;
	u32 i;

	conn_open_row(t);
	for (i = 0; i < ARRAY_SIZE(len); i++)
		conn_post(t, len[i]);
	for (i = 0; i < ARRAY_SIZE(len); i++)
		conn_expect_tx(t, len[i]);
	conn_expect_done(t, &t->a, ARRAY_SIZE(len), 0);
	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, info.ulpdus_tx, ARRAY_SIZE(len));
	EXPECT_EQ(t, info.tx_pos, t->in_pos);
	conn_expect_silence(t);
	/* An idle connection keeps no memory for sending. */
	EXPECT_NULL(t, t->a.conn->tx.train);
	EXPECT_NULL(t, t->sock[0]->sk->sk_frag.page);
}

static void send_refused(struct conn_test *t, struct conn_msg *msg, int err)
{
	EXPECT_EQ(t, mpa_send(t->a.conn, &msg->tx), err);
}

/* mpa_send() refuses invalid messages, and sends nothing of them. */
static void send_refused_messages(struct conn_test *t)
{
	struct conn_msg *msg, *user;
	LIST_HEAD(list);

	conn_open_row(t);
	send_refused(t, conn_msg(t, 0), -EINVAL);
	msg = conn_msg(t, MPA_ULPDU_MAX);
	msg->tx.len++;
	send_refused(t, msg, -EMSGSIZE);
	msg->tx.len = U32_MAX;
	send_refused(t, msg, -EMSGSIZE);
	msg = conn_msg(t, 100);
	msg->tx.flags = BIT(15);
	send_refused(t, msg, -EINVAL);
	msg = conn_msg(t, 100);
	msg->tx.hdr = NULL;
	send_refused(t, msg, -EINVAL);
	msg = conn_msg(t, 100);
	msg->tx.len++;
	send_refused(t, msg, -EINVAL);
	msg = conn_msg(t, 100);
	iov_iter_kvec(&msg->tx.data, ITER_DEST, &msg->kv, 1, msg->tx.len);
	send_refused(t, msg, -EINVAL);
	user = conn_msg(t, 100);
	iov_iter_ubuf(&user->tx.data, ITER_SOURCE, NULL, user->tx.len);
	send_refused(t, user, -EINVAL);

	/* One bad message in a list: none is accepted. */
	list_add_tail(&conn_msg(t, 10)->tx.list, &list);
	list_add_tail(&msg->tx.list, &list);
	EXPECT_EQ(t, mpa_send_list(t->a.conn, &list), -EINVAL);
	EXPECT_EQ(t, list_count_nodes(&list), 2);
	conn_expect_silence(t);
	CONN_COUNT(t, &t->a, EV_DONE, 0);
	CONN_COUNT(t, &t->a, EV_ENDED, 0);
}

/* Small FPDUs share segments, and none is cut. */
static void send_packed(struct conn_test *t)
{
	u32 i, before;

	t->opts.maxseg = 1460;
	conn_open_row(t);
	before = conn_segments(t);
	/* 508 octets with CRC; with a marker sometimes 512: two a segment */
	conn_post_many(t, 40, 500);
	for (i = 0; i < 40; i++)
		conn_expect_tx(t, 500);
	EXPECT_EQ(t, conn_segments(t) - before, 20);
}

/*
 * TCP takes a segment at a time of a message that is alone and short: what is
 * left of the FPDU goes into a train. It comes whole, with its neighbours.
 */
static void send_short_rest(struct conn_test *t)
{
	unsigned long calls;
	struct sock *sk;
	u32 i;

	t->opts.maxseg = 88;
	conn_open_row(t);
	conn_settle(&t->a);
	calls = conn_counter(t, MPA_MIB_TX_SHORT);
	sk = t->sock[0]->sk;
	for (i = 0; i < 3; i++) {
		lock_sock(sk);
		sk->sk_gso_max_segs = 1;
		tcp_sk(sk)->gso_segs = 1;
		WRITE_ONCE(sk->sk_sndbuf, 1);
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
		release_sock(sk);
		conn_post(t, 254 + i);
		conn_expect_tx(t, 254 + i);
		conn_expect_done(t, &t->a, i + 1, 0);
	}
	EXPECT_GE(t, conn_counter(t, MPA_MIB_TX_SHORT) - calls, 3);
}

/* No Nagle: a small FPDU is sent although another is not acknowledged. */
static void send_nodelay(struct conn_test *t)
{
	const struct tcp_sock *tp;
	u32 i, before;

	conn_open_row(t);
	tp = tcp_sk(t->sock[0]->sk);
	conn_never_again(t);
	mpa_peer_stop(&t->peer);
	before = READ_ONCE(tp->snd_nxt);
	for (i = 0; i < 5; i++) {
		if (i)
			EXPECT_NE(t, READ_ONCE(tp->packets_out), 0);
		conn_post(t, 20);
		conn_settle(&t->a);
		/* 2 + 20 + 2 + 4 */
		EXPECT_EQ(t, READ_ONCE(tp->snd_nxt) - before, (i + 1) * 28);
	}
	mpa_peer_continue(&t->peer);
	for (i = 0; i < 5; i++)
		conn_expect_tx(t, 20);
}

/* A source: the longest ULPDU that fits, each with its own header. */
int conn_next(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);

	msg->asked++;
	if (msg->asked == 1)
		msg->max = max;
	tx->hdr_len = 0;
	tx->len = 0;
	if (msg->asked == msg->stop)
		return msg->err;
	tx->hdr_len = CONN_HDR;
	tx->len = min(msg->left, max - CONN_HDR);
	msg->left -= tx->len;
	return msg->left ? 1 : 0;
}

/* Prepare a source of @len octets besides the headers. */
struct conn_msg *conn_source(struct conn_test *t, u32 len)
{
	struct conn_msg *msg = conn_msg(t, len + CONN_HDR);

	msg->tx.next = conn_next;
	msg->left = len;
	return msg;
}

/* The length offered to a source is exact: the ULPDU fills the segment. */
static void send_source(struct conn_test *t)
{
	u32 len, before, nr = 0, at = 0;
	struct conn_msg *msg;
	struct mpa_info info;

	t->opts.maxseg = 1460;
	conn_open_row(t);
	mpa_get_info(t->a.conn, &info);
	before = conn_segments(t);
	msg = conn_source(t, 50000);
	conn_send(t, msg);
	while (at < 50000) {
		u64 pos = t->in_pos;

		len = conn_take(t);
		nr++;
		ASSERT_EQ(t, memcmp(t->buf, msg->tx.hdr, CONN_HDR), 0);
		ASSERT_EQ(t, 0, memcmp(t->buf + CONN_HDR,
				       t->pool + CONN_HDR + at,
				       len - CONN_HDR));
		at += len - CONN_HDR;
		ASSERT_LE(t, t->in_pos - pos, info.emss);
		if (at == 50000)
			break;
		ASSERT_GT(t, mpa_ref_size(pos, len + 1, t->tx_markers),
			  info.emss);
	}
	EXPECT_EQ(t, msg->asked, nr);
	EXPECT_EQ(t, conn_segments(t) - before, nr);
	conn_expect_done(t, &t->a, 1, 0);
}

/*
 * Room after a small FPDU is offered to a source unless it is too small. @arg:
 * octets left in the segment.
 */
static void send_source_room(struct conn_test *t)
{
	u32 room = conn_arg(t);
	struct conn_msg *msg;
	struct mpa_info info;
	LIST_HEAD(list);
	u32 emss;

	t->opts.maxseg = 1460;
	conn_full(t, CONN_INITIATOR, 0, PEER_C);
	mpa_get_info(t->a.conn, &info);
	emss = info.emss;
	list_add_tail(&conn_msg(t, emss - room - 6)->tx.list, &list);
	msg = conn_source(t, 5000);
	list_add_tail(&msg->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	conn_expect_tx(t, emss - room - 6);
	conn_take(t);
	EXPECT_EQ(t, msg->max, (room < 128 + 6 ? emss : room) - 6);
	EXPECT_GE(t, msg->max, 128);
}

/* A source stops early; the message posted after it is sent. */
static void send_source_stops(struct conn_test *t)
{
	struct conn_msg *msg;

	t->opts.maxseg = 1460;
	conn_open_row(t);
	msg = conn_source(t, 50000);
	msg->stop = 3;
	conn_send(t, msg);
	conn_take(t);
	conn_take(t);
	t->nr_in = 1;
	conn_post(t, 77);
	conn_expect_tx(t, 77);
	conn_expect_done(t, &t->a, 2, 0);
	EXPECT_EQ(t, t->a.done[0]->status, 0);
	EXPECT_EQ(t, msg->asked, 3);

	/* A source may have nothing at all. */
	msg = conn_source(t, 10);
	msg->stop = 1;
	conn_send(t, msg);
	conn_expect_done(t, &t->a, 3, 0);
	conn_expect_silence(t);
}

/*
 * Error @arg of the first or a later call of next() fails the connection. MPA
 * does not try again, whichever error it is.
 */
static void send_source_error(struct conn_test *t)
{
	struct conn_msg *msg;
	u32 stop;

	for (stop = 1; stop <= 3; stop += 2) {
		t->opts.maxseg = 1460;
		conn_open_row(t);
		mpa_hold(t->a.conn);
		msg = conn_source(t, 10000);
		msg->stop = stop;
		msg->err = -(int)conn_arg(t);
		conn_send(t, msg);
		conn_expect_done(t, &t->a, 1, -EIO);
		CONN_WAIT(t, &t->a, EV_CLOSED, 1);
		EXPECT_EQ(t, t->a.err, -EIO);
		EXPECT_EQ(t, msg->asked, stop);
		CONN_COUNT(t, &t->a, EV_ENDED, 1);
		EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
		EXPECT_EQ(t, mpa_send(t->a.conn, &conn_msg(t, 9)->tx),
			  -ENOTCONN);
		conn_reopen(t);
	}
}

static int send_next_detach(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);

	if (msg->asked == 3)
		mpa_detach(msg->conn);
	return conn_next(tx, max);
}

/* A source may detach its connection in next(). */
static void send_source_detach(struct conn_test *t)
{
	struct conn_msg *msg;
	unsigned long resets;

	t->opts.maxseg = 1460;
	conn_open_row(t);
	resets = conn_counter(t, MPA_MIB_RESETS);
	msg = conn_source(t, 60000);
	msg->tx.next = send_next_detach;
	msg->conn = t->a.conn;
	conn_send(t, msg);
	CONN_WAIT(t, &t->a, EV_RELEASED, 1);
	conn_expect_done(t, &t->a, 1, -ECANCELED);
	EXPECT_EQ(t, msg->asked, 4);
	EXPECT_EQ(t, t->a.left, 1);
	t->a.conn = NULL;
	EXPECT_EQ(t, conn_counter(t, MPA_MIB_RESETS), resets + 1);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
}

/* The peer resets before TCP gets the ULPDU. */
static int send_next_reset(struct mpa_tx *tx, u32 max)
{
	struct conn_msg *msg = container_of(tx, struct conn_msg, tx);
	struct mpa_consumer *c = mpa_conn_ctx(msg->conn);
	struct conn_test *t = container_of(c, struct conn_test, a);
	const struct sock *sk = t->sock[0]->sk;

	mpa_peer_reset(&t->peer);
	EXPECT_TRUE(t, CONN_UNTIL(inet_sk_state_load(sk) == TCP_CLOSE));
	return conn_next(tx, max);
}

/*
 * sendmsg() notices the reset first: it takes the error from the socket. After
 * the peer's FIN, which is not reported on hold, that is -EPIPE. The reset has
 * also freed the pages of a message before it (@arg).
 */
static void send_source_reset(struct conn_test *t)
{
	struct conn_msg *msg;

	conn_full(t, CONN_INITIATOR, 0, 0);
	conn_peer_send(t, 40);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	conn_settle(&t->a);
	ASSERT_EQ(t, t->sock[0]->sk->sk_state, TCP_CLOSE_WAIT);
	if (conn_arg(t)) {
		mpa_peer_stop(&t->peer);
		conn_send(t, conn_page_msg(t, 3000));
		conn_settle(&t->a);
		CONN_COUNT(t, &t->a, EV_DONE, 0);
	}
	msg = conn_source(t, 400);
	msg->tx.next = send_next_reset;
	msg->conn = t->a.conn;
	conn_send(t, msg);
	conn_expect_done(t, &t->a, t->nr_msg, -EPIPE);
	EXPECT_EQ(t, t->a.done[0]->status, -EPIPE);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
}

/* Post a message again that was handed back, with the same data. */
static void send_repost(struct conn_test *t, struct conn_msg *msg)
{
	iov_iter_kvec(&msg->tx.data, ITER_SOURCE, &msg->kv, 1, msg->kv.iov_len);
	msg->left = msg->kv.iov_len;
	msg->asked = 0;
	conn_send(t, msg);
}

/* A source that is posted again begins with its first octet. */
static void send_source_twice(struct conn_test *t)
{
	struct conn_msg *msg;
	u32 i, at;

	t->opts.maxseg = 1460;
	conn_open_row(t);
	msg = conn_source(t, 5000);
	for (i = 0; i < 2; i++) {
		send_repost(t, msg);
		for (at = 0; at < 5000; at += conn_take(t) - CONN_HDR)
			;
		EXPECT_EQ(t, at, 5000);
		CONN_WAIT(t, &t->a, EV_DONE, i + 1);
	}
}

/*
 * Messages that TCP has no room for, not even for one of them, wait in the
 * consumer's memory.
 */
static void send_backpressure(struct conn_test *t)
{
	struct sock *sk;
	u32 i;

	conn_buffers(t, 8192, 16384);
	conn_open_row(t);
	sk = t->sock[0]->sk;
	conn_post_many(t, 12, 40000);
	conn_settle(&t->a);
	EXPECT_LT(t, mpa_consumer_count(&t->a, EV_DONE), 12);
	EXPECT_LT(t, READ_ONCE(sk->sk_wmem_queued),
		  2 * READ_ONCE(sk->sk_sndbuf) + 65536);
	for (i = 0; i < 12; i++)
		conn_expect_tx(t, 40000);
	conn_expect_done(t, &t->a, 12, 0);
}

/* Record an error if an allocation in a callback may wait for memory. */
static void send_memalloc_hook(struct mpa_consumer *c, enum consumer_event ev)
{
	if (conn_may_wait())
		c->hook_err = -EDEADLK;
}

/*
 * A reclaim-safe connection works like others, and restores its socket. The
 * work item may use memory reserves all the time, callbacks included, and
 * packets may where the consumer has called sk_set_memalloc(); and neither if
 * it has set __GFP_NOMEMALLOC (@arg).
 */
static void send_memalloc(struct conn_test *t)
{
	gfp_t kept = conn_arg(t) ? __GFP_NOMEMALLOC : 0;
	struct sock *sk;
	gfp_t allocation;
	bool task_frag;

	conn_pair(t);
	sk = t->sock[0]->sk;
	sk_set_memalloc(sk);
	sk->sk_allocation |= kept;
	allocation = sk->sk_allocation;
	task_frag = sk->sk_use_task_frag;
	t->a.hook = send_memalloc_hook;
	conn_open(t, CONN_INITIATOR, MPA_F_MARKERS | MPA_F_MEMALLOC,
		  PEER_M | PEER_C);
	EXPECT_FALSE(t, sk->sk_allocation & __GFP_IO);
	EXPECT_TRUE(t, sk->sk_allocation & __GFP_MEMALLOC);
	EXPECT_TRUE(t, (sk->sk_allocation & __GFP_NOMEMALLOC) == kept);
	EXPECT_TRUE(t, (mpa_conn_gfp(t->a.conn) & __GFP_NOMEMALLOC) == kept);
	EXPECT_FALSE(t, sk->sk_use_task_frag);
	conn_expect_alive(t, &t->a);
	CONN_WAIT(t, &t->a, EV_RECV, 1);
	CONN_WAIT(t, &t->a, EV_SENT, 1);
	conn_detach(t, &t->a);
	EXPECT_TRUE(t, sk->sk_allocation == allocation);
	EXPECT_EQ(t, sk->sk_use_task_frag, task_frag);
	EXPECT_EQ(t, t->a.hook_err, 0);
	lock_sock(sk);
	sk->sk_allocation &= ~__GFP_NOMEMALLOC;
	sk_clear_memalloc(sk);
	release_sock(sk);
}

/*
 * mpa_send_now() leaves the page fragment of its task alone: the task may be
 * about to write to it, for another socket. @arg: MPA_F_*
 */
static void send_task_frag(struct conn_test *t)
{
	struct page_frag saved, used;
	struct conn_msg *msg;
	struct page *page;
	struct sock *sk;
	int err;

	conn_open(t, CONN_INITIATOR, conn_arg(t), PEER_C);
	conn_settle(&t->a);
	sk = t->sock[0]->sk;
	EXPECT_FALSE(t, sk->sk_use_task_frag);
	msg = conn_msg(t, 100);
	page = alloc_page(GFP_KERNEL);
	ASSERT_NOT_NULL(t, page);

	saved = current->task_frag;
	/* With another reference, so that it is not filled from its start. */
	get_page(page);
	current->task_frag = (struct page_frag){
		.page = page, .offset = 64, .size = PAGE_SIZE,
	};
	err = mpa_send_now(t->a.conn, &msg->tx);
	used = current->task_frag;
	current->task_frag = saved;
	EXPECT_EQ(t, err, 0);
	EXPECT_PTR_EQ(t, used.page, page);
	EXPECT_EQ(t, used.offset, 64);
	put_page(page);
	put_page(page);

	/* It was sent in this task, and an idle socket keeps no page. */
	CONN_COUNT(t, &t->a, EV_DONE, 1);
	conn_expect_tx(t, 100);
	conn_settle(&t->a);
	EXPECT_NULL(t, sk->sk_frag.page);
	conn_detach(t, &t->a);
	EXPECT_TRUE(t, sk->sk_use_task_frag);
}

/* The MULPDU by the formulas of RFC 5044 section 4.5. */
static u32 send_formula(u32 emss, bool markers)
{
	int mulpdu = emss - 6 - emss % 4;

	if (markers)
		mulpdu -= 4 * ((emss + 511) / 512);
	return clamp(mulpdu, 128, 64768);
}

static void send_check_mulpdu(struct conn_test *t)
{
	struct mpa_info info;

	mpa_get_info(t->a.conn, &info);
	EXPECT_EQ(t, mpa_mulpdu(t->a.conn), send_formula(info.emss,
							 t->tx_markers));
	EXPECT_EQ(t, info.mulpdu, mpa_mulpdu(t->a.conn));
	EXPECT_EQ(t, info.emss, tcp_sk(t->sock[0]->sk)->mss_cache);
}

static void send_mulpdu(struct conn_test *t)
{
	static const int maxseg[] = { 100, 140, 152, 548, 1460, 8960, 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(maxseg); i++) {
		t->opts.maxseg = maxseg[i];
		conn_open_row(t);
		send_check_mulpdu(t);
		conn_post(t, mpa_mulpdu(t->a.conn));
		conn_expect_tx(t, t->msg[0].len);
		/* ULPDUs longer than the MULPDU are sent as well. */
		conn_post(t, min(t->msg[0].len + 1, MPA_ULPDU_MAX));
		conn_expect_tx(t, t->msg[1].len);
		conn_expect_alive(t, &t->a);
		conn_reopen(t);
	}
}

/* The path MTU decreases, and increases again. */
static void send_mtu(struct conn_test *t)
{
	conn_open_row(t);
	ASSERT_GT(t, mpa_mulpdu(t->a.conn), 1500);
	t->lo_mtu = mpa_peer_lo_mtu(1500);
	ASSERT_GT(t, t->lo_mtu, 1500);
	conn_post(t, 64768);
	CONN_WAIT(t, &t->a, EV_MULPDU, 1);
	conn_expect_tx(t, 64768);
	EXPECT_EQ(t, t->a.mulpdu, send_formula(1448, t->tx_markers));
	send_check_mulpdu(t);
	conn_expect_alive(t, &t->a);

	ASSERT_EQ(t, mpa_peer_lo_mtu(t->lo_mtu), 1500);
	t->lo_mtu = 0;
	conn_post(t, 500);
	CONN_WAIT(t, &t->a, EV_MULPDU, 2);
	conn_expect_tx(t, 500);
	EXPECT_GT(t, t->a.mulpdu, 1500);
	send_check_mulpdu(t);
}

/* The first FPDU after the change already fits the new EMSS. */
static void send_mtu_source(struct conn_test *t)
{
	struct conn_msg *msg;

	conn_open_row(t);
	t->lo_mtu = mpa_peer_lo_mtu(1500);
	ASSERT_GT(t, t->lo_mtu, 1500);
	msg = conn_source(t, 5000);
	conn_send(t, msg);
	conn_take(t);
	EXPECT_LE(t, t->in_pos, 1448);
	EXPECT_GE(t, msg->max, 1430);
}

/*
 * TCP has no memory for a short message, which MPA has laid out then, and lays
 * out again. A socket has its first 4 KB (tcp_wmem) in any case, and all that
 * it wants unless SO_SNDBUF was set.
 */
static void send_no_memory(struct conn_test *t)
{
	static long none[3] = { LONG_MIN, LONG_MIN, LONG_MIN };
	struct conn_sock *s = &t->helper;
	unsigned long before;
	struct sock *sk;
	u32 nr, i;

	t->opts.sndbuf = 200000;
	conn_default(t);
	sk = t->sock[0]->sk;
	mpa_peer_stop(&t->peer);
	conn_post(t, 8000);
	conn_settle(&t->a);
	CONN_COUNT(t, &t->a, EV_DONE, 1);
	before = conn_counter(t, MPA_MIB_NOMEM);
	s->prot = READ_ONCE(sk->sk_prot);
	s->held = *s->prot;
	s->held.sysctl_mem = none;
	WRITE_ONCE(sk->sk_prot, &s->held);
	/* The first ones find memory that the socket has left. */
	for (nr = 0; nr < 20 && conn_counter(t, MPA_MIB_NOMEM) == before;
	     nr++) {
		conn_post(t, 200);
		conn_settle(&t->a);
	}
	WRITE_ONCE(sk->sk_prot, s->prot);
	EXPECT_LT(t, nr, 20);
	CONN_COUNT(t, &t->a, EV_DONE, nr);
	mpa_peer_continue(&t->peer);
	conn_expect_tx(t, 8000);
	for (i = 0; i < nr; i++)
		conn_expect_tx(t, 200);
	conn_expect_done(t, &t->a, nr + 1, 0);
}

/* Post more messages than TCP has room for; the peer does not read. */
static void send_queue(struct conn_test *t, u32 nr, u32 len)
{
	conn_buffers(t, 8192, 16384);
	conn_open_row(t);
	conn_post_many(t, nr, len);
	conn_settle(&t->a);
	ASSERT_LT(t, mpa_consumer_count(&t->a, EV_DONE), nr);
}

static void queue_abort(struct conn_test *t)
{
	send_queue(t, 30, 16000);
	mpa_abort(t->a.conn);
	EXPECT_EQ(t, mpa_send(t->a.conn, &conn_msg(t, 9)->tx), -EPIPE);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.log[t->a.nr_log - 1], EV_CLOSED);
	conn_expect_statuses(t, &t->a, 30, -ECANCELED);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_ABORTED);
	EXPECT_EQ(t, t->a.end.err, -ECANCELED);
	EXPECT_EQ(t, t->a.err, -ECANCELED);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, t->a.left, 0);
}

/*
 * TX-01: an accepted message is sent, or the connection fails. @arg: octets of
 * each message; MPA lays out short ones in a page of its own.
 */
static void queue_detach(struct conn_test *t)
{
	u32 done, nr = 250;

	send_queue(t, nr, conn_arg(t));
	done = mpa_consumer_count(&t->a, EV_DONE);
	conn_detach(t, &t->a);
	EXPECT_EQ(t, t->a.left, nr - done);
	conn_expect_statuses(t, &t->a, nr, -ECANCELED);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
}

/* A message posted again is not counted as sent because of the first time. */
static void queue_detach_again(struct conn_test *t)
{
	struct conn_msg *msg;

	conn_buffers(t, 8192, 16384);
	conn_open_row(t);
	msg = conn_post(t, 900);
	conn_expect_tx(t, 900);
	conn_expect_done(t, &t->a, 1, 0);
	conn_post_many(t, 30, 16000);
	send_repost(t, msg);
	conn_settle(&t->a);
	conn_detach(t, &t->a);
	ASSERT_PTR_EQ(t, t->a.done[t->a.nr_done - 1], &msg->tx);
	EXPECT_EQ(t, msg->tx.status, -ECANCELED);
}

static void queue_reset(struct conn_test *t)
{
	send_queue(t, 30, 16000);
	mpa_peer_reset(&t->peer);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	conn_expect_statuses(t, &t->a, 30, -ECONNRESET);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_RESET);
	EXPECT_EQ(t, t->a.err, -ECONNRESET);
	EXPECT_EQ(t, mpa_send(t->a.conn, &conn_msg(t, 9)->tx), -ENOTCONN);
}

/* mpa_shutdown(): the FIN follows the queued messages; receiving goes on. */
static void queue_shutdown(struct conn_test *t)
{
	u32 i;

	send_queue(t, 25, 16000);
	EXPECT_EQ(t, mpa_shutdown(t->a.conn), 0);
	EXPECT_EQ(t, mpa_shutdown(t->a.conn), 0);
	EXPECT_EQ(t, mpa_send(t->a.conn, &conn_msg(t, 9)->tx), -EPIPE);
	for (i = 0; i < 25; i++)
		conn_expect_tx(t, 16000);
	conn_expect_fin(t);
	conn_expect_done(t, &t->a, 25, 0);
	conn_peer_send(t, 700);
	conn_expect_rx(t, &t->a, 1);
	CONN_COUNT(t, &t->a, EV_CLOSED, 0);
	kernel_sock_shutdown(t->peer.sock, SHUT_WR);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_EQ(t, t->a.err, 0);
	conn_expect_end(t, &t->a, MPA_ERR_TCP, MPA_REASON_FIN);
}

static const struct conn_row send_rows[] = {
	{ "FR-01 FR-02 FR-05 SZ-05 DD-01: lengths", send_lengths, false },
	{ "FR-01 FR-02 FR-05 SZ-05 MK-09 MK-14 MK-16: lengths, markers",
	  send_lengths, true },
	{ "SZ-04 SZ-05: invalid messages are refused", send_refused_messages },
	{ "TX-03 TX-10: small FPDUs, whole", send_packed, false },
	{ "TX-03 TX-10: small FPDUs with markers, whole", send_packed, true },
	{ "TX-04: a short message that TCP takes in part",
	  send_short_rest, false },
	{ "TX-04: a short message that TCP takes in part, markers",
	  send_short_rest, true },
	{ "TX-08: no Nagle", send_nodelay },
	{ "SZ-11 SZ-13 TX-06: source, exact length offered",
	  send_source, false },
	{ "SZ-11 SZ-13 TX-06: source, exact length offered, markers",
	  send_source, true },
	{ "SZ-17 SZ-18: little room left in the segment",
	  send_source_room, 132 },
	{ "SZ-12 TX-10: some room left in the segment", send_source_room, 136 },
	{ "source that stops early", send_source_stops },
	{ "TX-01: source that fails", send_source_error, EIO },
	{ "TX-01: source that fails: -EAGAIN", send_source_error, EAGAIN },
	{ "TX-01: source that fails: -ENOMEM", send_source_error, ENOMEM },
	{ "TX-01: source that fails: -ENOBUFS", send_source_error, ENOBUFS },
	{ "TX-01: source that detaches", send_source_detach },
	{ "the peer resets during the call of a source",
	  send_source_reset, false },
	{ "the peer resets during the call of a source, after zero copy",
	  send_source_reset, true },
	{ "source posted again", send_source_twice },
	{ "backpressure", send_backpressure },
	{ "no memory for a short message", send_no_memory },
	{ "reclaim-safe", send_memalloc, false },
	{ "reclaim-safe, kept from the reserves", send_memalloc, true },
	{ "the task's page fragment", send_task_frag, 0 },
	{ "the task's page fragment, reclaim-safe",
	  send_task_frag, MPA_F_MEMALLOC },
	{ "SZ-01 SZ-03 SZ-06 SZ-09 SZ-15 SZ-16 SZ-19 SZ-20: MULPDU",
	  send_mulpdu, false },
	{ "SZ-01 SZ-03 SZ-06 SZ-08 SZ-15 SZ-16 SZ-19 SZ-20: MULPDU, markers",
	  send_mulpdu, true },
	{ "FR-09 SZ-14 SZ-22 TX-07 TX-12: the MTU changes", send_mtu, false },
	{ "FR-09 SZ-14 SZ-22 TX-07 TX-12: the MTU changes, markers",
	  send_mtu, true },
	{ "SZ-14 SZ-22 TX-07: the MTU changes, source", send_mtu_source },
};

CONN_ROWS(send);

static const struct conn_row queue_rows[] = {
	{ "TX-01: mpa_abort()", queue_abort },
	{ "TX-01: mpa_detach()", queue_detach, 16000 },
	{ "TX-01: mpa_detach(), short messages", queue_detach, 400 },
	{ "TX-01: detach, a message posted again", queue_detach_again },
	{ "TX-01 ER-02: reset by the peer", queue_reset },
	{ "TX-01 TD-01: mpa_shutdown()", queue_shutdown },
};

CONN_ROWS(queue);
