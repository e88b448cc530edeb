// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * "ping": connect, send ULPDUs, check their echoes.
 *
 * ULPDU number s begins with s, in eight octets if it is long enough. The other
 * octets are those of a fixed pattern (or of the payload), so no octet is
 * written per ULPDU. Everything after the connect runs in callbacks, so echoes
 * are received while there is more to send.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "mpa_ping.h"

#define PATTERN_STEP	509		/* offset between two ULPDUs */
#define DEPTH		256		/* default of depth= */

/**
 * struct ping_slot - a message under way
 * @tx: the message
 * @client: the ping that it belongs to
 * @hdr: first octets of the ULPDU: its number
 * @len: length of the ULPDU in octets
 * @posted: time at which it was posted
 */
struct ping_slot {
	struct mpa_tx		tx;
	struct ping_client	*client;
	__be64			hdr;
	u32			len;
	ktime_t			posted;
};

/**
 * struct ping_client - a ping
 * @net: namespace it belongs to
 * @opts: the command
 * @deadline: time limit of the command, jiffies
 * @connected: @sock or @connect_err is set; with fallback=1 @conn as well
 * @sock: socket of the connection
 * @connect_err: errno if connecting failed
 * @conn: MPA on @sock
 * @over: completed when the connection has ended, with @finished
 * @finished: @res is final
 * @shut: sending half closed; only the peer's FIN is outstanding
 * @response: the peer owes a Response to our RTR
 * @rdma: our RTR, or the Terminate message
 * @res: result so far
 * @place: buffer where ULPDUs are placed, or NULL
 * @data: source of the octets: the pattern or the payload
 * @source: the message of source=1 and payload=1
 * @slots: ring of @depth slots; ULPDU s uses slot s % @depth
 * @depth: most ULPDUs under way
 * @messages: number of messages to post
 * @posted: number of messages posted
 * @sent: number of messages handed back
 * @echoed: number of ULPDUs echoed
 * @rx_off: offset in @data after the echoes received
 * @rx_lengths: hash of the lengths of the echoes, in order
 */
struct ping_client {
	struct net		*net;
	const struct ping_opts	*opts;
	unsigned long		deadline;
	struct completion	connected;
	struct socket		*sock;
	int			connect_err;
	struct mpa_conn		*conn;
	struct completion	over;
	bool			finished;
	bool			shut;
	bool			response;
	struct ping_rdma	rdma;
	struct ping_result	res;

	struct ping_place	*place;
	struct ping_buf		*data;
	struct ping_source	source;
	struct ping_slot	*slots;
	u32			depth;
	u64			messages;
	u64			posted;
	u64			sent;
	u64			echoed;
	u64			rx_off;
	u32			rx_lengths;
};

/* The pattern, twice: a ULPDU may begin anywhere in the first half. */
static struct ping_buf *pattern;

static bool is_source(const struct ping_client *p)
{
	return p->opts->source || p->opts->payload;
}

static bool is_echo(const struct ping_client *p)
{
	return p->opts->mode == PING_MODE_ECHO;
}

/* Octets of a number before the data; the payload is sent without a number. */
u32 ping_hdr_len(const struct ping_opts *opts, u32 len)
{
	return !opts->payload && len >= sizeof(__be64) ? sizeof(__be64) : 0;
}

static void client_over(struct ping_client *p)
{
	if (p->finished)
		return;
	p->finished = true;
	p->res.elapsed = ktime_to_ns(ktime_sub(ktime_get(), p->res.start));
	mpa_get_info(p->conn, &p->res.info);
	complete(&p->over);
}

static void client_fail(struct ping_client *p, int status, const char *reason)
{
	ping_result_fail(&p->res, status, reason);
	client_over(p);
}

/* Sending */

static size_t plain_offset(u64 seq)
{
	return (seq * PATTERN_STEP) % PING_PATTERN_SIZE;
}

static void slot_set_data(struct ping_slot *slot, size_t off, size_t len)
{
	unsigned int first = off / PAGE_SIZE;
	struct iov_iter *iter = &slot->tx.data;

	iov_iter_bvec(iter, ITER_SOURCE, pattern->bv + first,
		      pattern->nr - first, offset_in_page(off) + len);
	iov_iter_advance(iter, offset_in_page(off));
}

/* The slot of the ULPDU of that number */
static struct ping_slot *slot_of(struct ping_client *p, u64 seq)
{
	u32 nr;

	div_u64_rem(seq, p->depth, &nr);
	return &p->slots[nr];
}

static struct ping_slot *slot_fill(struct ping_client *p, u64 seq)
{
	struct ping_slot *slot = slot_of(p, seq);
	u32 max = p->opts->size ?: mpa_mulpdu(p->conn);
	u32 len = ping_opts_len(p->opts, seq, max);

	slot->client = p;
	slot->len = len;
	slot->hdr = cpu_to_be64(seq);
	slot->tx.next = NULL;
	slot->tx.flags = p->opts->zerocopy ? MPA_TX_ZEROCOPY : 0;
	slot->tx.hdr = &slot->hdr;
	slot->tx.hdr_len = ping_hdr_len(p->opts, len);
	slot->tx.len = len - slot->tx.hdr_len;
	slot_set_data(slot, plain_offset(seq), slot->tx.len);
	slot->posted = ktime_get();
	return slot;
}

/* A slot is free when its message was handed back and its echo has arrived. */
static u64 client_room(const struct ping_client *p)
{
	u64 freed = is_echo(p) ? min(p->sent, p->echoed) : p->sent;

	return p->depth - (p->posted - freed);
}

static void client_post(struct ping_client *p)
{
	u64 n, i;
	int err;

	while (p->posted < p->messages) {
		LIST_HEAD(list);

		n = min_t(u64, p->opts->batch, p->messages - p->posted);
		if (client_room(p) < n)
			return;
		for (i = 0; i < n; i++)
			list_add_tail(&slot_fill(p, p->posted + i)->tx.list,
				      &list);
		err = mpa_send_list(p->conn, &list);
		if (err) {
			client_fail(p, err, "closed");
			return;
		}
		p->posted += n;
	}
}

static void client_post_source(struct ping_client *p)
{
	int err = ping_source_post(&p->source, p->conn);

	if (err)
		client_fail(p, err, "closed");
	else
		p->posted++;
}

static bool client_done(const struct ping_client *p)
{
	if (p->sent < p->messages)
		return false;
	return !is_echo(p) ||
	       p->echoed == (is_source(p) ? p->source.pieces : p->messages);
}

/* Post as much as possible; close the sending half when all is done. */
static void client_step(struct ping_client *p)
{
	int err;

	if (p->finished || p->shut)
		return;
	if (!is_source(p))
		client_post(p);
	else if (p->posted < p->messages)
		client_post_source(p);
	if (p->finished || !client_done(p))
		return;
	p->shut = true;
	if (is_echo(p) && p->rx_lengths != p->source.lengths)
		p->res.mismatches++;
	err = mpa_shutdown(p->conn);
	if (err)
		client_fail(p, err, "closed");
}

static void client_handed_back(struct ping_client *p, struct mpa_tx *tx)
{
	p->sent++;
	if (tx->status)		/* ended() gives the reason */
		return;
	if (is_source(p)) {
		p->res.ulpdus_tx += p->source.pieces;
		p->res.bytes_tx += p->source.octets;
	} else {
		p->res.ulpdus_tx++;
		p->res.bytes_tx += container_of(tx, struct ping_slot, tx)->len;
	}
}

static void client_take_back(struct ping_client *p, struct list_head *done)
{
	struct mpa_tx *tx, *next;

	list_for_each_entry_safe(tx, next, done, list) {
		list_del(&tx->list);
		if (tx != &p->rdma.tx)
			client_handed_back(p, tx);
	}
}

static void client_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct ping_client *p = mpa_conn_ctx(conn);

	client_take_back(p, done);
	client_step(p);
}

/* Receiving */

static size_t echo_offset(const struct ping_client *p)
{
	if (!is_source(p))
		return plain_offset(p->echoed);
	return p->opts->payload ? p->rx_off : p->rx_off % PING_PATTERN_SIZE;
}

/* Compare the number and, with verify=1, all octets after it. */
static bool echo_differs(const struct ping_client *p,
			 const struct mpa_ulpdu *ulpdu)
{
	const __be64 hdr = cpu_to_be64(p->echoed);
	u32 hlen = ping_hdr_len(p->opts, ulpdu->len);
	size_t off = echo_offset(p);
	const struct kvec *frag;
	size_t pos = 0, n;
	u32 i;

	for (i = 0; i < ulpdu->nr_frags; i++, pos += frag->iov_len) {
		frag = &ulpdu->frag[i];
		n = pos < hlen ? min(frag->iov_len, hlen - pos) : 0;
		if (memcmp(frag->iov_base, (u8 *)&hdr + pos, n))
			return true;
		if (p->opts->verify && n < frag->iov_len &&
		    ping_buf_differs(p->data, off + pos + n - hlen,
				     frag->iov_base + n, frag->iov_len - n))
			return true;
	}
	return false;
}

static void echo_take(struct ping_client *p, const struct mpa_ulpdu *ulpdu,
		      ktime_t now)
{
	struct ping_slot *slot = slot_of(p, p->echoed);
	bool bad = echo_differs(p, ulpdu);

	if (!is_source(p)) {
		bad |= ulpdu->len != slot->len;
		ping_result_rtt(&p->res,
				ktime_to_ns(ktime_sub(now, slot->posted)));
	} else {
		p->rx_lengths = ping_source_lengths(p->rx_lengths, ulpdu->len);
		p->rx_off += ulpdu->len - ping_hdr_len(p->opts, ulpdu->len);
	}
	p->res.mismatches += bad;
	p->echoed++;
}

static void client_take(struct ping_client *p, const struct mpa_ulpdu *ulpdu,
			ktime_t now)
{
	u64 expected = is_source(p) ? p->source.pieces : p->posted;

	/* the answer to our RTR comes before all echoes */
	if (p->response && ping_rdma_is_response(ulpdu)) {
		p->response = false;
		return;
	}
	p->res.ulpdus_rx++;
	p->res.bytes_rx += ulpdu->len;
	if (!is_echo(p))
		return;
	if (p->echoed < expected)
		echo_take(p, ulpdu, now);
	else
		p->res.mismatches++;
}

/* Place the ULPDUs passed, then process those that are delivered. */
static int client_take_placed(struct ping_client *p, const struct mpa_rx *rx,
			      ktime_t now)
{
	const struct mpa_ulpdu *ulpdu;
	int err;

	err = ping_place_put(p->place, rx);
	if (err)
		return err;
	while ((ulpdu = ping_place_next(p->place, rx->delivered)))
		client_take(p, ulpdu, now);
	return 0;
}

static void client_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct ping_client *p = mpa_conn_ctx(conn);
	ktime_t now = ktime_get();
	unsigned int i;
	int err = 0;

	if (p->place)
		err = client_take_placed(p, rx, now);
	for (i = 0; !p->place && i < rx->nr; i++)
		client_take(p, &rx->ulpdu[i], now);
	if (err)
		client_fail(p, err, "closed");
	client_step(p);
}

/* The other callbacks */

/* RFC 6581 section 9.3: the RTR is the first message. */
static int client_send_rtr(struct ping_client *p)
{
	mpa_get_info(p->conn, &p->res.info);
	if (!p->res.info.rtr)
		return 0;
	p->response = p->res.info.rtr == MPA_RTR_READ;
	ping_rdma_rtr(&p->rdma, p->res.info.rtr);
	return mpa_send(p->conn, &p->rdma.tx);
}

static void client_established(struct mpa_conn *conn,
			       const struct mpa_startup *reply)
{
	struct ping_client *p = mpa_conn_ctx(conn);
	int err;

	if (reply)
		ping_result_peer(&p->res, reply);
	err = ping_place_init(&p->place, p->opts, conn) ?: client_send_rtr(p);
	if (err) {
		client_fail(p, err, "closed");
		return;
	}
	mpa_resume(conn);
	client_step(p);
}

static void client_rejected(struct mpa_conn *conn,
			    const struct mpa_startup *reply)
{
	struct ping_client *p = mpa_conn_ctx(conn);

	ping_result_peer(&p->res, reply);
	client_fail(p, -ECONNREFUSED, "rejected");
}

static void client_mulpdu(struct mpa_conn *conn, u32 mulpdu)
{
	struct ping_client *p = mpa_conn_ctx(conn);

	p->res.mulpdu_changes++;
}

/* RFC 6581 section 8: send a Terminate, then close; closed() ends the ping. */
static void client_terminate(struct ping_client *p, const struct mpa_end *end)
{
	p->shut = true;
	ping_result_end(&p->res, end);
	ping_rdma_terminate(&p->rdma, end->error);
	if (mpa_send(p->conn, &p->rdma.tx) || mpa_shutdown(p->conn))
		client_over(p);
}

static void client_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	struct ping_client *p = mpa_conn_ctx(conn);

	if (end->error == MPA_ERR_IRD || end->error == MPA_ERR_RTR) {
		client_terminate(p, end);
		return;
	}
	if (end->reason != MPA_REASON_FIN || !p->shut)
		ping_result_end(&p->res, end);
	else
		p->res.mismatches += p->response;
	if (p->res.mismatches)
		ping_result_fail(&p->res, -EILSEQ, "mismatch");
	client_over(p);
}

static void client_closed(struct mpa_conn *conn, int err)
{
	client_over(mpa_conn_ctx(conn));
}

static void client_released(struct mpa_conn *conn, struct list_head *left)
{
	client_take_back(mpa_conn_ctx(conn), left);
}

static const struct mpa_ops client_ops = {
	.established	= client_established,
	.rejected	= client_rejected,
	.recv		= client_recv,
	.sent		= client_sent,
	.mulpdu		= client_mulpdu,
	.ended		= client_ended,
	.closed		= client_closed,
	.released	= client_released,
};

/* Task that writes the command */

/* Returns 0, -ETIMEDOUT at the deadline, or -EINTR. */
static int client_wait(const struct ping_client *p, struct completion *what)
{
	long left = (long)(p->deadline - jiffies);

	left = wait_for_completion_interruptible_timeout(what, max(left, 0L));
	if (left > 0)
		return 0;
	return left ? -EINTR : -ETIMEDOUT;
}

/* Reason for a failure before MPA had a connection */
static const char *early_reason(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "timeout";
	case -ECONNRESET:
		return "reset";
	case -EINTR:
	case -ENOMEM:
		return "closed";
	default:
		return "refused";
	}
}

/* With fallback=1 @conn is set. */
static void client_connected(void *ctx, struct socket *sock,
			     struct mpa_conn *conn, int err)
{
	struct ping_client *p = ctx;

	p->sock = sock;
	p->conn = conn;
	p->connect_err = err;
	complete_all(&p->connected);
}

static void client_params(struct ping_client *p, struct mpa_params *params)
{
	*params = (struct mpa_params) {
		.ops	= &client_ops,
		.ctx	= p,
	};
	ping_opts_params(p->opts, params);
}

static int client_connect(struct ping_client *p)
{
	const struct ping_opts *opts = p->opts;
	struct mpa_sock_params params = {
		.net		= p->net,
		.peer		= opts->addr,
		.bound_dev_if	= opts->dev,
		.setup		= ping_sock_setup,
		.ctx		= p,
		.pd		= opts->pd,
		.pd_len		= opts->pd_len,
	};
	struct mpa_connector *connector;
	struct mpa_params start;
	int err;

	client_params(p, &start);
	params.flags = start.flags & MPA_F_MEMALLOC;
	if (opts->fallback) {
		params.flags |= MPA_F_FALLBACK;
		params.start = &start;
	}
	connector = mpa_connect(&params, client_connected);
	if (IS_ERR(connector))
		return PTR_ERR(connector);
	err = client_wait(p, &p->connected);
	mpa_connect_close(connector);
	wait_for_completion(&p->connected);
	return err ?: p->connect_err;
}

/* Start MPA, unless mpa_connect() has started it. */
static int client_attach(struct ping_client *p)
{
	const struct ping_opts *opts = p->opts;
	struct mpa_params params;
	struct mpa_conn *conn;

	if (p->conn)
		return 0;
	client_params(p, &params);
	conn = mpa_attach(p->sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	p->conn = conn;
	if (opts->immediate)
		return mpa_start_immediate(conn);
	return mpa_start_initiator(conn, opts->pd, opts->pd_len);
}

static void client_detach(struct ping_client *p)
{
	struct mpa_info info;

	mpa_get_info(p->conn, &info);
	mpa_detach_sync(p->conn);
	if (!p->finished)
		p->res.info = info;
}

/* Run the whole ping. A failure reported by a callback takes precedence. */
static void client_go(struct ping_client *p)
{
	const char *reason;
	int err;

	err = client_connect(p);
	reason = early_reason(err);
	if (!err) {
		err = client_attach(p);
		reason = "reset";
	}
	if (!err) {
		err = client_wait(p, &p->over);
		reason = err == -ETIMEDOUT ? "timeout" : "closed";
	}
	if (p->conn)
		client_detach(p);
	if (err && !p->finished)
		ping_result_fail(&p->res, err, reason);
}

/* Close a failed connection at once. */
static void client_close(struct ping_client *p)
{
	if (!p->sock)
		return;
	if (p->res.status && p->res.info.state != MPA_STATE_REJECTED)
		sock_no_linger(p->sock->sk);
	sock_release(p->sock);
}

static int client_init_data(struct ping_client *p)
{
	const struct ping_opts *opts = p->opts;

	p->data = opts->payload ? ping_net_payload(p->net) :
				  ping_buf_get(pattern);
	if (!p->data || !p->data->len)
		return -ENODATA;
	p->messages = opts->count;
	p->depth = max(opts->depth ?: DEPTH, opts->batch);
	p->depth = is_source(p) ? 1 : clamp(p->depth, 1, max(opts->count, 1));
	p->slots = kvcalloc(p->depth, sizeof(*p->slots), GFP_KERNEL);
	if (!p->slots)
		return -ENOMEM;
	if (is_source(p)) {
		ping_source_init(&p->source, opts, p->data);
		p->messages = p->source.left ? 1 : 0;
	}
	return 0;
}

static struct ping_client *client_new(struct net *net,
				      const struct ping_opts *opts)
{
	struct ping_client *p;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return NULL;
	p->net = net;
	p->opts = opts;
	p->deadline = jiffies + opts->timeout * HZ;
	init_completion(&p->connected);
	init_completion(&p->over);
	ping_result_init(&p->res);
	return p;
}

static void client_free(struct ping_client *p)
{
	ping_place_free(p->place);
	ping_buf_put(p->data);
	kvfree(p->slots);
	kvfree(p->res.pd);
	kfree(p);
}

/* Nothing to send: fail before connecting. */
static void client_refuse(struct ping_client *p, int err)
{
	if (err == -ENODATA)
		pr_notice("mpa_ping: payload=1: nothing was written to \"payload\"\n");
	ping_result_fail(&p->res, err, "closed");
}

/* Run a ping; returns its status. */
int ping_client_run(struct net *net, const struct ping_opts *opts)
{
	struct ping_client *p;
	int err;

	p = client_new(net, opts);
	if (!p)
		return -ENOMEM;
	err = client_init_data(p);
	if (!err)
		client_go(p);
	else
		client_refuse(p, err);
	client_close(p);
	err = p->res.status;
	ping_result_publish(&p->res, net, PING_SIDE_PING);
	client_free(p);
	return err;
}

const struct ping_buf *ping_pattern(void)
{
	return pattern;
}

static int pattern_fill(struct ping_buf *buf, void *octets)
{
	struct rnd_state rnd;
	int err;

	prandom_seed_state(&rnd, 5044);
	prandom_bytes_state(&rnd, octets, PING_PATTERN_SIZE);
	err = ping_buf_append(buf, octets, PING_PATTERN_SIZE);
	return err ?: ping_buf_append(buf, octets, PING_PATTERN_SIZE);
}

int ping_client_init(void)
{
	void *octets = kvmalloc(PING_PATTERN_SIZE, GFP_KERNEL);
	int err = -ENOMEM;

	pattern = ping_buf_alloc();
	if (pattern && octets)
		err = pattern_fill(pattern, octets);
	kvfree(octets);
	if (err)
		ping_buf_put(pattern);
	return err;
}

void ping_client_exit(void)
{
	ping_buf_put(pattern);
}
