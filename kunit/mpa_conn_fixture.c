// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Functions that the cases of suite mpa_conn share. */
#include <linux/bvec.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <net/tcp.h>
#include "mpa_conn_test.h"
#include "mpa_tx_train.h"

static int conn_alloc(struct conn_test *t)
{
	u32 seed = 5044;
	u32 i;

	t->pool = kvmalloc(CONN_POOL, GFP_KERNEL);
	t->buf = kvmalloc(CONN_BUF, GFP_KERNEL);
	if (!t->pool || !t->buf)
		return -ENOMEM;
	for (i = 0; i < CONN_POOL; i++)
		t->pool[i] = mpa_ref_random(&seed);
	return mpa_consumer_init(&t->a) ?: mpa_consumer_init(&t->b);
}

int conn_init(struct kunit *test)
{
	struct conn_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	int err;

	if (!t)
		return -ENOMEM;
	t->test = test;
	test->priv = t;
	init_waitqueue_head(&t->helper.wait);
	spin_lock_init(&t->helper.lock);
	init_completion(&t->helper.at);
	init_completion(&t->helper.go);
	err = mpa_peer_lo_up();
	return err ?: conn_alloc(t);
}

static void conn_check_consumer(struct conn_test *t, struct mpa_consumer *c)
{
	EXPECT_LE(t, mpa_consumer_count(c, EV_RELEASED), 1);
	EXPECT_LE(t, mpa_consumer_count(c, EV_ENDED), 1);
	EXPECT_LE(t, mpa_consumer_count(c, EV_CLOSED), 1);
	EXPECT_EQ(t, c->overlaps, 0);
	/* If the runner did not detach, one may have been about to begin. */
	EXPECT_LE(t, c->late, c->left_inside ? 0 : 1);
	EXPECT_EQ(t, c->disorder, 0);
}

/* Remove the hook, put kept batches, detach. True if released() has come. */
static bool conn_release(struct conn_test *t, struct mpa_consumer *c)
{
	WRITE_ONCE(c->hook, NULL);
	mpa_consumer_put_all(c);
	if (mpa_consumer_detach(c))
		return true;
	KUNIT_FAIL(t->test, "released() does not come; memory is left behind");
	return false;
}

/* Other connections use up net.mpa.rx_mem_max, until the case ends. */
void conn_use_up(struct conn_test *t)
{
	t->others = (s64)t->mn->rx_mem_max + 1;
	percpu_counter_add(&t->mn->rx_mem, t->others);
}

void conn_give_back(struct conn_test *t)
{
	percpu_counter_sub(&t->mn->rx_mem, t->others);
	t->others = 0;
}

static void conn_settings(struct conn_test *t)
{
	if (t->lo_mtu)
		mpa_peer_lo_mtu(t->lo_mtu);
	if (!t->mn)
		return;
	conn_give_back(t);
	WRITE_ONCE(t->mn->rx_mem_max, t->rx_mem_max);
	WRITE_ONCE(t->mn->startup_timeout_ms, t->timeout_ms);
	WRITE_ONCE(t->mn->crc, t->crc_sysctl);
	if (t->startup_max)
		WRITE_ONCE(t->mn->startup_max, t->startup_max);
	WRITE_ONCE(t->mn->ooo_ack_notify, t->ooo_ack_notify);
	WRITE_ONCE(t->mn->zerocopy_min, t->zerocopy_min);
}

/* Close listener and connection attempt: no further sockets are made. */
static void conn_close_helper(struct conn_sock *s)
{
	struct mpa_connector *connector = xchg(&s->connector, NULL);

	if (s->listener)
		mpa_listen_close(s->listener);
	if (!connector)
		return;
	complete_all(&s->go);
	mpa_connect_close(connector);
	mpa_barrier();
}

static void conn_close_sockets(struct conn_sock *s)
{
	mpa_barrier();
	if (s->client)
		mpa_peer_close(s->client);
	if (s->server)
		mpa_peer_close(s->server);
}

static void conn_free(struct conn_test *t)
{
	u32 i;

	mpa_consumer_exit(&t->a);
	mpa_consumer_exit(&t->b);
	for (i = 0; i < CONN_PAGES; i++)
		if (t->page[i])
			put_page(t->page[i]);
	kvfree(t->pool);
	kvfree(t->buf);
	kvfree(t);
}

/* Runs also after an assertion has failed: must free everything. */
void conn_exit(struct kunit *test)
{
	struct conn_test *t = test->priv;
	u32 i;

	if (!t)
		return;
	conn_settings(t);
	if (t->asker.task)
		kthread_stop(t->asker.task);
	conn_close_helper(&t->helper);
	mpa_peer_exit(&t->peer);
	if (!conn_release(t, &t->a) || !conn_release(t, &t->b))
		return;
	conn_close_sockets(&t->helper);
	conn_check_consumer(t, &t->a);
	conn_check_consumer(t, &t->b);
	for (i = 0; i < ARRAY_SIZE(t->sock); i++)
		if (t->sock[i])
			mpa_peer_close(t->sock[i]);
	conn_free(t);
}

u32 conn_sock_read(struct conn_sock *s, const u32 *what)
{
	u32 n;

	spin_lock_bh(&s->lock);
	n = *what;
	spin_unlock_bh(&s->lock);
	return n;
}

bool conn_sock_wait(struct conn_sock *s, const u32 *what, u32 times)
{
	return wait_event_timeout(s->wait, conn_sock_read(s, what) >= times,
				  CONN_PATIENCE);
}

/* Expect one done() of mpa_connect(). */
void conn_expect_done_sock(struct conn_test *t, int err)
{
	struct conn_sock *s = &t->helper;

	ASSERT_TRUE(t, conn_sock_wait(s, &s->done, 1));
	EXPECT_EQ(t, conn_sock_read(s, &s->done), 1);
	ASSERT_EQ(t, s->err, err);
	ASSERT_EQ(t, !s->client, !!err);
}

/* Close the handle of mpa_connect(). */
void conn_close_attempt(struct conn_sock *s)
{
	mpa_connect_close(s->connector);
	s->connector = NULL;
}

/* For a callback: wait here until the case completes @go. */
void conn_sock_stop(struct conn_sock *s)
{
	s->cpu = raw_smp_processor_id();
	complete(&s->at);
	wait_for_completion_timeout(&s->go, CONN_PATIENCE);
}

/* Wait until a callback is in conn_sock_stop(). */
void conn_wait_stopped(struct conn_test *t)
{
	ASSERT_NE(t, 0, wait_for_completion_timeout(&t->helper.at,
						    CONN_PATIENCE));
}

u32 conn_arg(struct conn_test *t)
{
	return ((const struct conn_row *)t->test->param_value)->arg;
}

const void *conn_data(struct conn_test *t)
{
	return ((const struct conn_row *)t->test->param_value)->data;
}

/* Make two connected sockets: sock[0] for the connection, one for the peer. */
void conn_pair(struct conn_test *t)
{
	struct socket *far;
	int err;

	err = mpa_peer_pair(&t->opts, &t->sock[0], &far);
	ASSERT_EQ_MSG(t, err, 0, "no connection on loopback");
	err = mpa_peer_init(&t->peer, far);
	ASSERT_EQ(t, err, 0);
}

/* Drop connection and peer, so that the case can begin again. */
void conn_reopen(struct conn_test *t)
{
	mpa_peer_exit(&t->peer);
	ASSERT_TRUE(t, conn_release(t, &t->a));
	mpa_barrier();
	conn_check_consumer(t, &t->a);
	if (t->sock[0])
		mpa_peer_close(t->sock[0]);
	t->sock[0] = NULL;
	mpa_consumer_exit(&t->a);
	ASSERT_EQ(t, mpa_consumer_init(&t->a), 0);
	t->buf_len = 0;
	t->nr_msg = 0;
	t->out_pos = 0;
	t->nr_out = 0;
	t->in_pos = 0;
	t->nr_in = 0;
}

/* For conn_settings(). Zero copy is for messages of any length here. */
static void conn_note_settings(struct conn_test *t, struct mpa_net *mn)
{
	if (t->mn)
		return;
	t->mn = mn;
	t->timeout_ms = mn->startup_timeout_ms;
	t->rx_mem_max = mn->rx_mem_max;
	t->crc_sysctl = mn->crc;
	t->ooo_ack_notify = mn->ooo_ack_notify;
	t->zerocopy_min = mn->zerocopy_min;
	WRITE_ONCE(mn->zerocopy_min, 0);
}

void conn_attach_to(struct conn_test *t, struct mpa_consumer *c,
		    struct socket *sock, u32 flags)
{
	struct mpa_conn *conn;

	c->params.flags = flags;
	conn = mpa_attach(sock, &c->params);
	ASSERT_OK(t, conn);
	c->conn = conn;
	conn_note_settings(t, conn->mn);
}

/* Attach to sock[0], which is made with a raw peer unless it exists. */
void conn_attach(struct conn_test *t, u32 flags)
{
	if (!t->sock[0])
		conn_pair(t);
	conn_attach_to(t, &t->a, t->sock[0], flags);
}

void conn_start(struct conn_test *t, enum conn_role role)
{
	int err = -EINVAL;

	switch (role) {
	case CONN_INITIATOR:
		err = mpa_start_initiator(t->a.conn, NULL, 0);
		break;
	case CONN_RESPONDER:
		err = mpa_start_responder(t->a.conn, NULL, 0);
		break;
	case CONN_IMMEDIATE:
		err = mpa_start_immediate(t->a.conn);
		break;
	}
	ASSERT_EQ(t, err, 0);
}

/*
 * Start as Responder, with a last streaming message that fills the send buffer:
 * TCP takes no Reply. The case has called conn_buffers(t, 4096, 200000).
 */
void conn_start_full(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;

	ASSERT_EQ(t, mpa_start_responder(t->a.conn, t->pool, 60000), 0);
	conn_settle(&t->a);
	WRITE_ONCE(sk->sk_sndbuf, 1);
	ASSERT_FALSE(t, sk_stream_memory_free(sk));
}

void conn_peer_frame(struct conn_test *t, bool reply, u8 flags, u8 rev,
		     const u8 *pd, u32 pd_len)
{
	conn_write(t, t->buf, mpa_peer_frame(t->buf, reply, flags, rev, pd,
					     pd_len));
}

/* Expect exactly this frame as the next octets that the peer receives. */
void conn_expect_frame(struct conn_test *t, bool reply, u8 flags, u8 rev,
		       const u8 *pd, u32 pd_len)
{
	u32 len = mpa_peer_frame(t->buf, reply, flags, rev, pd, pd_len);

	ASSERT_EQ(t, mpa_peer_read(&t->peer, t->peer.used + len), 0);
	ASSERT_MEMEQ(t, t->peer.in + t->peer.used, t->buf, len);
	t->peer.used += len;
}

/* Flags of the frame that the connection sends */
static u8 conn_flags(const struct conn_test *t, u32 flags)
{
	if (flags & MPA_F_REV0)
		return PEER_M | PEER_C;
	return (flags & (MPA_F_MARKERS | MPA_F_OOO) ? PEER_M : 0) |
	       (t->mn->crc ? PEER_C : 0);
}

/*
 * Attach, unless the case has done so, and start in @role. The peer receives
 * the Request of an Initiator.
 */
void conn_begin(struct conn_test *t, enum conn_role role, u32 flags)
{
	if (!t->a.conn)
		conn_attach(t, flags);
	conn_start(t, role);
	if (role == CONN_INITIATOR)
		conn_expect_frame(t, false, conn_flags(t, flags),
				  flags & MPA_F_REV0 ? 0 : 1, NULL, 0);
}

/* Start as Responder, up to the consumer's decision on a Request. */
void conn_get_request(struct conn_test *t, u32 flags)
{
	conn_begin(t, CONN_RESPONDER, flags);
	conn_peer_frame(t, false, PEER_C, 1, NULL, 0);
	CONN_WAIT(t, &t->a, EV_REQUEST, 1);
}

/*
 * Enter full operation with a raw peer, on hold. Attaches unless the case has
 * done so.
 */
void conn_full(struct conn_test *t, enum conn_role role, u32 flags,
	       u8 peer_flags)
{
	u8 ours;

	conn_begin(t, role, flags);
	ours = conn_flags(t, flags);
	if (role == CONN_IMMEDIATE) {
		ours = PEER_M | PEER_C;
		peer_flags = ours;
	}
	t->rx_markers = ours & PEER_M;
	t->tx_markers = peer_flags & PEER_M;
	t->crc = (ours | peer_flags) & PEER_C;
	if (role == CONN_INITIATOR) {
		conn_peer_frame(t, true, peer_flags, 1, NULL, 0);
	} else if (role == CONN_RESPONDER) {
		conn_peer_frame(t, false, peer_flags, 1, NULL, 0);
		CONN_WAIT(t, &t->a, EV_REQUEST, 1);
		ASSERT_EQ(t, mpa_accept(t->a.conn, NULL, 0), 0);
		conn_expect_frame(t, true, ours | (peer_flags & PEER_C), 1,
				  NULL, 0);
	}
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
}

/* conn_full(), then not on hold. */
void conn_open(struct conn_test *t, enum conn_role role, u32 flags,
	       u8 peer_flags)
{
	conn_full(t, role, flags, peer_flags);
	mpa_resume(t->a.conn);
}

/* For most cases: Initiator, markers and CRC both ways, not on hold. */
void conn_default(struct conn_test *t)
{
	conn_open(t, CONN_INITIATOR, MPA_F_MARKERS, PEER_M | PEER_C);
}

/* Open a connection as Initiator; @arg: it sends markers. */
void conn_open_row(struct conn_test *t)
{
	conn_open(t, CONN_INITIATOR, 0, PEER_C | (conn_arg(t) ? PEER_M : 0));
}

/* Connect t->a, the Initiator, with t->b, on both sockets, not on hold. */
void conn_start_two(struct conn_test *t, u32 a_flags, u32 b_flags)
{
	conn_attach_to(t, &t->a, t->sock[0], a_flags);
	conn_attach_to(t, &t->b, t->sock[1], b_flags);
	ASSERT_EQ(t, mpa_start_responder(t->b.conn, NULL, 0), 0);
	ASSERT_EQ(t, mpa_start_initiator(t->a.conn, NULL, 0), 0);
	CONN_WAIT(t, &t->b, EV_REQUEST, 1);
	ASSERT_EQ(t, mpa_accept(t->b.conn, NULL, 0), 0);
	CONN_WAIT(t, &t->b, EV_ESTABLISHED, 1);
	CONN_WAIT(t, &t->a, EV_ESTABLISHED, 1);
	mpa_resume(t->a.conn);
	mpa_resume(t->b.conn);
}

void conn_two(struct conn_test *t, u32 a_flags, u32 b_flags)
{
	int err = mpa_peer_pair(&t->opts, &t->sock[0], &t->sock[1]);

	ASSERT_EQ(t, err, 0);
	conn_start_two(t, a_flags, b_flags);
}

/* As another user of the socket would do, with AF_UNSPEC. */
int conn_disconnect(struct socket *sock)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };

	return kernel_connect(sock, mpa_sockaddr(&nowhere), sizeof(nowhere), 0);
}

/* Returns the number of octets that TCP has received and that are unread. */
u32 conn_unread(const struct conn_test *t)
{
	const struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);

	return READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);
}

/* Returns the sequence number up to which octets have been consumed. */
u32 conn_consumed(const struct conn_test *t)
{
	return READ_ONCE(tcp_sk(t->sock[0]->sk)->copied_seq);
}

/* True if the connection's TCP has acknowledged all octets of the peer. */
bool conn_all_acked(const struct conn_test *t)
{
	const struct tcp_sock *tp = tcp_sk(t->peer.sock->sk);

	return READ_ONCE(tp->snd_una) == READ_ONCE(tp->write_seq);
}

/* Wait until octets on their way have arrived and the work item is idle. */
void conn_settle(struct mpa_consumer *c)
{
	int i;

	for (i = 0; i < 3; i++) {
		usleep_range(2000, 3000);
		while (work_busy(&c->conn->work))
			flush_work(&c->conn->work);
	}
}

/* A slow guest does not send again what the peer has not acknowledged. */
void conn_never_again(struct conn_test *t)
{
	struct sock *sk = t->sock[0]->sk;

	lock_sock(sk);
	inet_csk(sk)->icsk_rto = TCP_RTO_MAX;
	release_sock(sk);
}

/* Returns the number of segments with data sent, retransmissions excluded. */
u32 conn_segments(const struct conn_test *t)
{
	const struct tcp_sock *tp = tcp_sk(t->sock[0]->sk);

	return tp->data_segs_out - tp->total_retrans;
}

/* As snmp_fold_field(), which is not exported from 7.2 on. */
unsigned long conn_fold(const void __percpu *mib, unsigned int field)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += ((const unsigned long *)per_cpu_ptr(mib, cpu))[field];
	return sum;
}

unsigned long conn_counter(const struct conn_test *t, enum mpa_mib field)
{
	return conn_fold(t->mn->mib, field);
}

void conn_detach(struct conn_test *t, struct mpa_consumer *c)
{
	ASSERT_TRUE(t, mpa_consumer_detach(c));
}

/* Detach, in a callback or in none. */
void conn_leave(struct mpa_consumer *c)
{
	c->left_inside = mpa_conn_is_runner(c->conn);
	mpa_detach(c->conn);
	WRITE_ONCE(c->detached, true);
}

/* A hook: detach in recv(). */
void conn_hook_leave(struct mpa_consumer *c, enum consumer_event ev)
{
	if (ev == EV_RECV)
		conn_leave(c);
}

/* Add an FPDU to the octets that the peer sends next. Returns its length. */
u32 conn_fpdu(struct conn_test *t, u32 len)
{
	u32 size;

	ASSERT_LT(t, t->nr_out, CONSUMER_ULPDUS);
	size = mpa_ref_size(t->out_pos, len, t->rx_markers);
	ASSERT_LE(t, t->buf_len + size, CONN_BUF);
	size = mpa_ref_encode(t->buf + t->buf_len, t->out_pos,
			      t->pool + t->nr_out % 256, len, t->rx_markers,
			      t->crc);
	t->out_from[t->nr_out] = t->out_pos;
	t->out_len[t->nr_out++] = len;
	t->buf_len += size;
	t->out_pos += size;
	return size;
}

/* The peer sends @len octets. */
void conn_write(struct conn_test *t, const void *octets, u32 len)
{
	ASSERT_EQ(t, mpa_peer_write(&t->peer, octets, len), 0);
}

void conn_flush(struct conn_test *t)
{
	conn_write(t, t->buf, t->buf_len);
	t->buf_len = 0;
}

void conn_peer_send(struct conn_test *t, u32 len)
{
	conn_fpdu(t, len);
	conn_flush(t);
}

/* True if a ULPDU has these octets. */
bool conn_same(const struct mpa_ulpdu *ulpdu, const u8 *octets, u32 len)
{
	const struct kvec *frag = ulpdu->frag;
	u32 i, at = 0;

	if (ulpdu->len != len)
		return false;
	for (i = 0; i < ulpdu->nr_frags; at += frag[i++].iov_len)
		if (at + frag[i].iov_len > len ||
		    memcmp(frag[i].iov_base, octets + at, frag[i].iov_len))
			return false;
	return at == len;
}

/* Expect delivery of the first @nr ULPDUs of the peer, and of no others. */
void conn_expect_rx(struct conn_test *t, struct mpa_consumer *c, u32 nr)
{
	u32 k;

	CONN_WAIT(t, c, EV_ULPDUS, nr);
	ASSERT_EQ(t, mpa_consumer_count(c, EV_ULPDUS), nr);
	for (k = 0; k < nr; k++) {
		ASSERT_EQ(t, c->len[k], t->out_len[k]);
		ASSERT_EQ_MSG(t, 0,
			      memcmp(c->rx + c->at[k], t->pool + k % 256,
				     c->len[k]), "ULPDU %u", k);
	}
	ASSERT_EQ(t, c->disorder, 0);
}

/* The peer receives the next FPDU. Returns its length; the ULPDU is in buf. */
u32 conn_take(struct conn_test *t)
{
	struct mpa_peer *peer = &t->peer;
	u32 head = t->tx_markers && t->in_pos % 512 == 0 ? 4 : 0;
	u32 len, got, size;
	u8 *from = peer->in + peer->used;

	ASSERT_EQ(t, mpa_peer_read(peer, peer->used + head + 2), 0);
	len = from[head] * 256 + from[head + 1];
	size = mpa_ref_size(t->in_pos, len, t->tx_markers);
	ASSERT_EQ(t, mpa_peer_read(peer, peer->used + size), 0);
	ASSERT_EQ(t, MPA_REF_GOOD, mpa_ref_decode(from, size, t->in_pos,
						  t->tx_markers, t->crc, t->buf,
						  &got, &size));
	ASSERT_EQ(t, got, len);
	peer->used += size;
	t->in_pos += size;
	t->nr_in++;
	return len;
}

/* Expect that the peer receives the next ULPDU, of @len octets. */
void conn_expect_tx(struct conn_test *t, u32 len)
{
	u32 k = t->nr_in;

	ASSERT_EQ(t, conn_take(t), len);
	ASSERT_EQ_MSG(t, 0, memcmp(t->buf, t->pool + k % 256, len),
		      "ULPDU %u", k);
}

/* Expect that the connection sends no more octets, and no FIN. */
void conn_expect_silence(struct conn_test *t)
{
	if (t->a.conn)
		conn_settle(&t->a);
	ASSERT_EQ(t, t->peer.have, t->peer.used);
	ASSERT_TRUE(t, mpa_peer_silent(&t->peer));
}

/* Expect a FIN of the connection as the next that the peer receives. */
void conn_expect_fin(struct conn_test *t)
{
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), 0);
	EXPECT_EQ(t, t->peer.have, t->peer.used);
}

/* Expect a FIN or a RST of the connection, with no octets before it. */
void conn_expect_over(struct conn_test *t)
{
	EXPECT_NE(t, mpa_peer_read_end(&t->peer), -EAGAIN);
	EXPECT_EQ(t, t->peer.have, t->peer.used);
}

/* After a detach the socket's owner reads these octets, which MPA left. */
void conn_expect_left(struct conn_test *t, const void *octets, u32 len)
{
	struct mpa_peer own = {};

	ASSERT_EQ(t, mpa_peer_init(&own, t->sock[0]), 0);
	EXPECT_EQ(t, mpa_peer_read(&own, len), 0);
	EXPECT_EQ(t, memcmp(own.in, octets, len), 0);
	own.sock = NULL;
	mpa_peer_exit(&own);
}

/* Prepare the next message; the caller posts it. */
struct conn_msg *conn_msg(struct conn_test *t, u32 len)
{
	struct conn_msg *msg;
	u32 k = t->nr_msg;
	u8 *data;

	ASSERT_LT(t, k, CONN_MSGS);
	msg = &t->msg[t->nr_msg++];
	memset(msg, 0, sizeof(*msg));
	data = t->pool + k % 256;
	msg->len = len;
	msg->tx.hdr = data;
	msg->tx.hdr_len = min_t(u32, len, CONN_HDR);
	msg->tx.len = len - msg->tx.hdr_len;
	msg->kv.iov_base = data + msg->tx.hdr_len;
	msg->kv.iov_len = msg->tx.len;
	iov_iter_kvec(&msg->tx.data, ITER_SOURCE, &msg->kv, 1, msg->tx.len);
	return msg;
}

/* Prepare the next message, with its payload in a page for zero copy. */
struct conn_msg *conn_page_msg(struct conn_test *t, u32 len)
{
	struct conn_msg *msg = conn_msg(t, len);
	u32 k = t->nr_msg - 1;

	ASSERT_LT(t, k, CONN_PAGES);
	ASSERT_LE(t, msg->tx.len, PAGE_SIZE);
	if (!t->page[k])
		t->page[k] = alloc_page(GFP_KERNEL);
	ASSERT_NOT_NULL(t, t->page[k]);
	memcpy(page_address(t->page[k]), msg->kv.iov_base, msg->tx.len);
	bvec_set_page(&msg->bv, t->page[k], msg->tx.len, 0);
	iov_iter_bvec(&msg->tx.data, ITER_SOURCE, &msg->bv, 1, msg->tx.len);
	msg->tx.flags = MPA_TX_ZEROCOPY;
	return msg;
}

/*
 * Send a zero-copy message, and take a reference on its ubuf as a clone of its
 * skb would: it cannot be handed back before that is put. @far: the other end.
 */
struct ubuf_info *conn_hold_message(struct conn_test *t, struct mpa_consumer *c,
				    struct socket *far)
{
	struct conn_msg *msg = conn_page_msg(t, 500);
	struct list_head *ubufs = &c->conn->tx.ubufs;
	struct ubuf_info *ubuf = NULL;
	bool sent;

	/* TCP keeps the skb until the other end acknowledges it. */
	mpa_peer_own(far->sk);
	sent = !mpa_send(c->conn, &msg->tx) &&
	       CONN_UNTIL(!list_empty(ubufs));
	if (sent) {
		ubuf = &list_first_entry(ubufs, struct mpa_tx_ubuf, list)->info;
		net_zcopy_get(ubuf);
	}
	mpa_peer_disown(far->sk);
	ASSERT_TRUE(t, sent);
	return ubuf;
}

static void conn_put_page(void *page)
{
	put_page(page);
}

/* Put @page after the case. */
void conn_put_later(struct conn_test *t, struct page *page)
{
	ASSERT_EQ(t, 0, kunit_add_action_or_reset(t->test, conn_put_page,
						  page));
}

void conn_post_many(struct conn_test *t, u32 nr, u32 len)
{
	LIST_HEAD(list);
	u32 i;

	for (i = 0; i < nr; i++)
		list_add_tail(&conn_msg(t, len)->tx.list, &list);
	ASSERT_EQ(t, mpa_send_list(t->a.conn, &list), 0);
	ASSERT_TRUE(t, list_empty(&list));
}

void conn_send(struct conn_test *t, struct conn_msg *msg)
{
	ASSERT_EQ(t, mpa_send(t->a.conn, &msg->tx), 0);
}

struct conn_msg *conn_post(struct conn_test *t, u32 len)
{
	struct conn_msg *msg = conn_msg(t, len);

	conn_send(t, msg);
	return msg;
}

/* Expect @nr messages handed back, in order, the last with @status. */
void conn_expect_done(struct conn_test *t, struct mpa_consumer *c, u32 nr,
		      int status)
{
	u32 i;

	CONN_WAIT(t, c, EV_DONE, nr);
	ASSERT_EQ(t, mpa_consumer_count(c, EV_DONE), nr);
	for (i = 0; i < nr; i++)
		ASSERT_PTR_EQ(t, c->done[i], &t->msg[i].tx);
	if (nr)
		ASSERT_EQ(t, c->done[nr - 1]->status, status);
}

/*
 * Expect @nr messages handed back, in order: first those that TCP took, then
 * one or more with @err.
 */
void conn_expect_statuses(struct conn_test *t, struct mpa_consumer *c, u32 nr,
			  int err)
{
	bool failed = false;
	u32 i;

	conn_expect_done(t, c, nr, err);
	for (i = 0; i < nr; i++) {
		failed = failed || c->done[i]->status;
		ASSERT_EQ_MSG(t, c->done[i]->status,
			      failed ? err : 0, "message %u", i);
	}
}

void conn_expect_end(struct conn_test *t, struct mpa_consumer *c,
		     enum mpa_error error, enum mpa_reason reason)
{
	CONN_WAIT(t, c, EV_ENDED, 1);
	KUNIT_ASSERT_STREQ(t->test, mpa_reason_name(c->end.reason),
			   mpa_reason_name(reason));
	ASSERT_EQ(t, c->end.error, error);
}

/* Expect TCP reset because of the peer's startup frame, without an answer. */
void conn_expect_bad_frame(struct conn_test *t, enum mpa_reason reason)
{
	conn_expect_end(t, &t->a, MPA_ERR_FRAME, reason);
	CONN_WAIT(t, &t->a, EV_CLOSED, 1);
	EXPECT_NE(t, t->a.err, 0);
	EXPECT_EQ(t, mpa_peer_read_end(&t->peer), -ECONNRESET);
	EXPECT_EQ(t, t->peer.have, t->peer.used);
	CONN_COUNT(t, &t->a, EV_REQUEST, 0);
	CONN_COUNT(t, &t->a, EV_ESTABLISHED, 0);
	CONN_COUNT(t, &t->a, EV_REJECTED, 0);
}

/* Expect both halves alive: an FPDU goes through each way. */
void conn_expect_alive(struct conn_test *t, struct mpa_consumer *c)
{
	conn_peer_send(t, 100);
	conn_expect_rx(t, c, t->nr_out);
	conn_post(t, 100);
	conn_expect_tx(t, 100);
	CONN_COUNT(t, c, EV_ENDED, 0);
}
