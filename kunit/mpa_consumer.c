// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A consumer of MPA that records its callbacks. */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include "mpa_consumer.h"
#include "mpa_ref.h"

#define CONSUMER_PATIENCE	(20 * HZ)

static struct mpa_consumer *consumer_enter(struct mpa_conn *conn,
					   enum consumer_event ev)
{
	struct mpa_consumer *c = mpa_conn_ctx(conn);

	c->cpu = raw_smp_processor_id();
	if (ev == EV_RECV && !in_serving_softirq())
		c->recv_tasks++;
	if (ev == EV_RECV && in_softirq())
		c->softirqs++;
	else if (ev == EV_SENT && c->sends_here && in_softirq())
		c->sent_here++;
	else
		might_sleep();
	/* mpa_connect() has started this connection */
	if (!READ_ONCE(c->conn))
		WRITE_ONCE(c->conn, conn);
	if (atomic_inc_return(&c->inside) != 1)
		c->overlaps++;
	if (READ_ONCE(c->detached) && ev != EV_RELEASED)
		c->late++;
	if (c->count[EV_CLOSED] && ev != EV_RELEASED)
		c->disorder++;
	return c;
}

/* @c must not be touched after released() has been counted. */
static void consumer_leave(struct mpa_consumer *c, enum consumer_event ev)
{
	if (c->hook)
		c->hook(c, ev);
	atomic_dec(&c->inside);
	spin_lock_bh(&c->lock);
	if (c->nr_log < CONSUMER_LOG)
		c->log[c->nr_log++] = ev;
	c->count[ev]++;
	c->count[EV_ULPDUS] = c->nr_rx;
	c->count[EV_OOO] = c->nr_ooo;
	c->count[EV_DELIVERED] = c->delivered;
	c->count[EV_DONE] = c->nr_done;
	wake_up_all(&c->wait);
	spin_unlock_bh(&c->lock);
}

static void consumer_startup(struct mpa_consumer *c,
			     const struct mpa_startup *s)
{
	if (!s)
		return;
	c->startup = *s;
	if (s->pd_len)
		memcpy(c->pd, s->pd, s->pd_len);
	c->startup.pd = c->pd;
	if (s->enhanced) {
		c->enhanced = *s->enhanced;
		c->startup.enhanced = &c->enhanced;
	}
}

static void consumer_request(struct mpa_conn *conn,
			     const struct mpa_startup *req)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_REQUEST);

	consumer_startup(c, req);
	consumer_leave(c, EV_REQUEST);
}

static void consumer_established(struct mpa_conn *conn,
				 const struct mpa_startup *reply)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_ESTABLISHED);
	struct mpa_info info;

	consumer_startup(c, reply);
	mpa_get_info(conn, &info);
	c->markers = info.markers_rx;
	consumer_leave(c, EV_ESTABLISHED);
}

static void consumer_rejected(struct mpa_conn *conn,
			      const struct mpa_startup *reply)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_REJECTED);

	consumer_startup(c, reply);
	consumer_leave(c, EV_REJECTED);
}

/* Number of ULPDUs received below stream position @pos */
static u32 consumer_below(const struct mpa_consumer *c, u64 pos)
{
	u32 i = c->nr_rx;

	while (i && c->pos[i - 1] >= pos)
		i--;
	return i;
}

/* Stream position at which the FPDU of ULPDU @i ends */
static u64 consumer_end(const struct mpa_consumer *c, u32 i)
{
	return c->pos[i] + mpa_ref_size(c->pos[i], c->len[i], c->markers);
}

/* Record a ULPDU whose octets are the last in @rx. */
static void consumer_insert(struct mpa_consumer *c, u64 pos, u32 len)
{
	u32 i = consumer_below(c, pos), after = c->nr_rx - i;

	memmove(c->pos + i + 1, c->pos + i, after * sizeof(*c->pos));
	memmove(c->len + i + 1, c->len + i, after * sizeof(*c->len));
	memmove(c->at + i + 1, c->at + i, after * sizeof(*c->at));
	c->pos[i] = pos;
	c->len[i] = len;
	c->at[i] = c->rx_len - len;
	c->nr_rx++;
	/* it must not overlap the next ULPDU, nor be the same one */
	if (after && consumer_end(c, i) > c->pos[i + 1])
		c->disorder++;
	if (i && consumer_end(c, i - 1) > pos)
		c->disorder++;
}

static void consumer_ulpdu(struct mpa_consumer *c, const struct mpa_ulpdu *u)
{
	u32 i, n = 0;

	if (c->nr_rx == CONSUMER_ULPDUS || c->rx_len + u->len > CONSUMER_RX) {
		c->disorder++;
		return;
	}
	for (i = 0; i < u->nr_frags && n + u->frag[i].iov_len <= u->len; i++) {
		memcpy(c->rx + c->rx_len + n, u->frag[i].iov_base,
		       u->frag[i].iov_len);
		n += u->frag[i].iov_len;
	}
	if (n != u->len || i != u->nr_frags)
		c->disorder++;
	c->rx_len += u->len;
	consumer_insert(c, u->pos, u->len);
}

/* ULPDUs of one call are sorted, and all in order or all out of order. */
static void consumer_ulpdus(struct mpa_consumer *c, const struct mpa_rx *rx)
{
	bool ooo = rx->nr && rx->ulpdu[0].pos >= rx->delivered;
	unsigned int i;

	for (i = 0; i < rx->nr; i++) {
		const struct mpa_ulpdu *u = &rx->ulpdu[i];
		bool ahead = u->pos >= rx->delivered;

		if (u->pos < c->delivered || ahead != ooo)
			c->disorder++;
		if (i && u->pos <= u[-1].pos)
			c->disorder++;
		consumer_ulpdu(c, u);
	}
	if (ooo)
		c->nr_ooo += rx->nr;
	if (!rx->nr && rx->delivered == c->delivered)
		c->disorder++;
}

/*
 * Delivery continues where it stopped, one ULPDU after the other. It may stop
 * inside a ULPDU only if the peer sent the stream again with other contents.
 */
static void consumer_deliver(struct mpa_consumer *c, u64 delivered)
{
	u64 at = c->delivered;
	u32 i = c->nr_delivered;

	for (; at < delivered && i < c->nr_rx && c->pos[i] == at; i++)
		at = consumer_end(c, i);
	if (at < delivered)
		c->disorder++;
	c->nr_delivered = i;
	c->delivered = delivered;
}

static void consumer_keep(struct mpa_consumer *c, struct mpa_rx *rx)
{
	bool ooo = rx->nr && rx->ulpdu[0].pos >= rx->delivered;

	if (!c->keep && !(c->keep_ooo && ooo))
		return;
	if (c->nr_kept == CONSUMER_KEPT)
		return;
	mpa_rx_get(rx);
	c->kept[c->nr_kept++] = rx;
}

static void consumer_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_RECV);
	const struct sock *sk = mpa_conn_socket(conn)->sk;

	c->copied_seq = READ_ONCE(tcp_sk(sk)->copied_seq);
	consumer_ulpdus(c, rx);
	consumer_deliver(c, rx->delivered);
	consumer_keep(c, rx);
	consumer_leave(c, EV_RECV);
}

static void consumer_take(struct mpa_consumer *c, struct list_head *list)
{
	struct mpa_tx *tx, *tmp;

	list_for_each_entry_safe(tx, tmp, list, list) {
		list_del_init(&tx->list);
		if (c->nr_done < CONSUMER_DONE)
			c->done[c->nr_done++] = tx;
	}
}

static void consumer_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_SENT);

	consumer_take(c, done);
	consumer_leave(c, EV_SENT);
}

static void consumer_mulpdu(struct mpa_conn *conn, u32 mulpdu)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_MULPDU);

	c->mulpdu = mulpdu;
	consumer_leave(c, EV_MULPDU);
}

static void consumer_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_ENDED);

	c->end = *end;
	consumer_leave(c, EV_ENDED);
}

static void consumer_closed(struct mpa_conn *conn, int err)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_CLOSED);

	c->err = err;
	consumer_leave(c, EV_CLOSED);
}

static void consumer_released(struct mpa_conn *conn, struct list_head *left)
{
	struct mpa_consumer *c = consumer_enter(conn, EV_RELEASED);
	u32 before = c->nr_done;

	consumer_take(c, left);
	c->left = c->nr_done - before;
	consumer_leave(c, EV_RELEASED);
}

const struct mpa_ops mpa_consumer_ops = {
	.request	= consumer_request,
	.established	= consumer_established,
	.rejected	= consumer_rejected,
	.recv		= consumer_recv,
	.sent		= consumer_sent,
	.mulpdu		= consumer_mulpdu,
	.ended		= consumer_ended,
	.closed		= consumer_closed,
	.released	= consumer_released,
};

int mpa_consumer_init(struct mpa_consumer *c)
{
	memset(c, 0, sizeof(*c));
	init_waitqueue_head(&c->wait);
	spin_lock_init(&c->lock);
	c->params.ops = &mpa_consumer_ops;
	c->params.ctx = c;
	c->pd = kvmalloc(MPA_PD_MAX_REV0, GFP_KERNEL);
	c->rx = kvmalloc(CONSUMER_RX, GFP_KERNEL);
	c->pos = kvcalloc(CONSUMER_ULPDUS, sizeof(*c->pos), GFP_KERNEL);
	c->len = kvcalloc(CONSUMER_ULPDUS, sizeof(*c->len), GFP_KERNEL);
	c->at = kvcalloc(CONSUMER_ULPDUS, sizeof(*c->at), GFP_KERNEL);
	return c->pd && c->rx && c->pos && c->len && c->at ? 0 : -ENOMEM;
}

void mpa_consumer_exit(struct mpa_consumer *c)
{
	kvfree(c->pd);
	kvfree(c->rx);
	kvfree(c->pos);
	kvfree(c->len);
	kvfree(c->at);
}

u64 mpa_consumer_count(struct mpa_consumer *c, enum consumer_event ev)
{
	u64 n;

	spin_lock_bh(&c->lock);
	n = c->count[ev];
	spin_unlock_bh(&c->lock);
	return n;
}

/* Wait until the count of @ev is @count at least. True if it is in time. */
bool mpa_consumer_wait(struct mpa_consumer *c, enum consumer_event ev,
		       u64 count)
{
	return wait_event_timeout(c->wait, mpa_consumer_count(c, ev) >= count,
				  CONSUMER_PATIENCE);
}

/* Put kept batch @i. */
void mpa_consumer_put(struct mpa_consumer *c, u32 i)
{
	struct mpa_rx *rx = c->kept[i];

	c->kept[i] = NULL;
	if (rx)
		mpa_rx_put(rx);
}

void mpa_consumer_put_all(struct mpa_consumer *c)
{
	u32 i;

	for (i = 0; i < c->nr_kept; i++)
		mpa_consumer_put(c, i);
}

/* Detach, and wait for released(). Returns true if it was called in time. */
bool mpa_consumer_detach(struct mpa_consumer *c)
{
	if (!c->conn)
		return true;
	if (!mpa_consumer_count(c, EV_RELEASED)) {
		mpa_detach(c->conn);
		WRITE_ONCE(c->detached, true);
	}
	if (!mpa_consumer_wait(c, EV_RELEASED, 1))
		return false;
	c->conn = NULL;
	return true;
}
