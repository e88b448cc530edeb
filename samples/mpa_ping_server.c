// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* "serve": accept connections, send each ULPDU back or drop it. */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "mpa_ping.h"

/*
 * Limit of echoes under way, at which delivery is put on hold. The receive
 * buffer bounds their octets, this their number.
 */
#define PENDING_MAX	4096

/* Limit of copied octets, which the receive buffer does not bound */
#define COPIED_MAX	SZ_4M

/* Time that a peer has to close after a Terminate message */
#define DRAIN		(2 * HZ)

/* Time without new octets after which lazy=1 resumes delivery */
#define QUIET		(HZ / 5)

static DEFINE_MUTEX(servers_lock);	/* protects servers */
static LIST_HEAD(servers);

/**
 * struct ping_server - a listening socket and its connections
 * @list: entry in servers
 * @net: namespace of the listening socket
 * @opts: the command
 * @listener: listener of MPA
 * @ref: one reference for @list, one for each of @links
 * @lock: protects @links
 * @links: list of connections
 * @gone: completed when no connection is left
 */
struct ping_server {
	struct list_head	list;
	struct net		*net;
	struct ping_opts	opts;
	struct mpa_listener	*listener;
	refcount_t		ref;
	spinlock_t		lock;	/* protects @links */
	struct list_head	links;
	struct completion	gone;
};

/**
 * struct ping_link - an accepted connection
 * @list: entry in ping_server.links
 * @server: server that accepted it
 * @conn: its MPA connection, set when server_accepted() returns
 * @sock: its socket
 * @hold: timer of hold= and of the pauses of lazy=1
 * @drain: ends the wait for the FIN of a refused peer
 * @res: result so far
 * @capture: octets received, or NULL
 * @place: buffer where ULPDUs are placed; NULL: processed without a copy
 * @delivered: stream position up to which placed ULPDUs may be processed
 * @pending: number of ULPDUs posted and not handed back
 * @copied: octets of those ULPDUs that are copies
 * @held: delivery is on hold until @pending and @copied are lower
 * @first: the first ULPDU of enhanced startup is still outstanding
 * @refused: that ULPDU was invalid; later ones are dropped
 * @ended: the receive half has ended
 * @published: the result has been published
 * @came: sequence number up to which the peer has sent, for lazy=1
 * @quiet: time of the last change of @came, jiffies
 * @source: message that the server sends itself, for source=1
 * @rdma: the answer to an RTR, or a Terminate message
 */
struct ping_link {
	struct list_head	list;
	struct ping_server	*server;
	struct mpa_conn		*conn;
	struct socket		*sock;
	struct timer_list	hold;
	struct timer_list	drain;
	struct ping_result	res;
	struct ping_buf		*capture;
	struct ping_place	*place;
	u64			delivered;
	u64			pending;
	u64			copied;
	bool			held;
	bool			first;
	bool			refused;
	bool			ended;
	bool			published;
	u32			came;
	unsigned long		quiet;
	struct ping_source	source;
	struct ping_rdma	rdma;
};

struct echo_batch;

/**
 * struct echo - a ULPDU to be sent back
 * @tx: the message
 * @batch: the batch of its octets
 */
struct echo {
	struct mpa_tx		tx;
	struct echo_batch	*batch;
};

/**
 * struct echo_batch - ULPDUs to be sent back
 * @rx: the batch, or NULL
 * @copy: the copy, stored after @echo
 * @left: number of @echo not handed back
 * @echo: one message per ULPDU
 *
 * Either a batch, sent from where its ULPDUs lie: the window opens when the
 * batch is put, so the receive buffer bounds the memory. Or a copy of a ULPDU
 * that was placed, because the peer may overwrite its place during sending.
 */
struct echo_batch {
	struct mpa_rx		*rx;
	struct kvec		copy;
	unsigned int		left;
	struct echo		echo[];
};

static const struct ping_opts *link_opts(const struct ping_link *l)
{
	return &l->server->opts;
}

static void link_publish(struct ping_link *l)
{
	struct net *net = l->server->net;

	if (l->published)
		return;
	l->published = true;
	if (l->conn)
		mpa_get_info(l->conn, &l->res.info);
	if (l->capture)
		ping_net_captured(net, ping_buf_get(l->capture));
	ping_result_publish(&l->res, net, PING_SIDE_SERVE);
}

/*
 * The connection is done. Publishes the result before sending our FIN, so that
 * a task that waits for the FIN finds it. Do not use @l after this.
 */
static void link_finish(struct ping_link *l)
{
	link_publish(l);
	if (!l->res.status)
		mpa_shutdown(l->conn);
	mpa_detach(l->conn);
}

static void link_fail(struct ping_link *l, int status, const char *reason)
{
	ping_result_fail(&l->res, status, reason);
	link_finish(l);
}

static void link_request(struct mpa_conn *conn, const struct mpa_startup *req)
{
	struct ping_link *l = mpa_conn_ctx(conn);
	const struct ping_opts *opts = link_opts(l);
	const void *pd = opts->has_pd ? opts->pd : req->pd;
	u32 len = opts->has_pd ? opts->pd_len : req->pd_len;
	int err;

	ping_result_peer(&l->res, req);
	if (opts->reject) {
		ping_result_fail(&l->res, -ECONNREFUSED, "rejected");
		link_publish(l);
		err = mpa_reject(conn, pd, len);
	} else {
		err = mpa_accept(conn, pd, len);
	}
	if (err)
		link_fail(l, err, "closed");
}

/* lazy=1: pass no more ULPDUs until link_is_due() */
static void link_pause(struct ping_link *l)
{
	l->quiet = jiffies;
	mpa_hold(l->conn);
	mod_timer(&l->hold, jiffies + 1);
}

/* True if the peer filled the window, ended, or sent nothing for a while */
static bool link_is_due(struct ping_link *l)
{
	const struct sock *sk = l->sock->sk;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 came = READ_ONCE(tp->rcv_nxt);

	if (came != l->came)
		l->quiet = jiffies;
	l->came = came;
	return tcp_receive_window(tp) < 2 * inet_csk(sk)->icsk_ack.rcv_mss ||
	       READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN ||
	       time_after(jiffies, l->quiet + QUIET);
}

static void link_hold_timer(struct timer_list *timer)
{
	struct ping_link *l = container_of(timer, struct ping_link, hold);

	if (link_opts(l)->lazy && !link_is_due(l))
		mod_timer(&l->hold, jiffies + 1);
	else
		mpa_resume(l->conn);
}

static void link_drain_timer(struct timer_list *timer)
{
	struct ping_link *l = container_of(timer, struct ping_link, drain);

	mpa_abort(l->conn);
	mpa_detach(l->conn);
}

/* Send the server's own message; MPA waits for the peer's first FPDU. */
static int link_post_source(struct ping_link *l)
{
	int err;

	if (!link_opts(l)->source)
		return 0;
	ping_source_init(&l->source, link_opts(l), ping_pattern());
	if (!l->source.left)
		return 0;
	err = ping_source_post(&l->source, l->conn);
	l->pending += !err;
	return err;
}

static void link_established(struct mpa_conn *conn,
			     const struct mpa_startup *reply)
{
	struct ping_link *l = mpa_conn_ctx(conn);
	u32 hold = link_opts(l)->hold;
	int err;

	mpa_get_info(conn, &l->res.info);
	l->first = l->res.info.enhanced;
	err = ping_place_init(&l->place, link_opts(l), conn) ?:
	      link_post_source(l);
	if (err) {
		link_fail(l, err, "closed");
		return;
	}
	if (!hold) {
		mpa_resume(conn);
		return;
	}
	mpa_hold(conn);
	mod_timer(&l->hold, jiffies + msecs_to_jiffies(hold));
}

/* Drop an echo that is no longer under way; the last one frees the batch. */
static void echo_drop(struct ping_link *l, struct echo *echo)
{
	struct echo_batch *batch = echo->batch;

	l->pending--;
	l->copied -= batch->copy.iov_len;
	if (--batch->left)
		return;
	if (batch->rx)
		mpa_rx_put(batch->rx);
	kvfree(batch);
}

static void echo_done(struct ping_link *l, struct echo *echo)
{
	if (echo->tx.status) {
		ping_result_fail(&l->res, echo->tx.status, "reset");
	} else {
		l->res.ulpdus_tx++;
		l->res.bytes_tx += echo->tx.len;
	}
	echo_drop(l, echo);
}

static void source_done(struct ping_link *l)
{
	l->pending--;
	if (l->source.tx.status) {
		ping_result_fail(&l->res, l->source.tx.status, "reset");
		return;
	}
	l->res.ulpdus_tx += l->source.pieces;
	l->res.bytes_tx += l->source.octets;
}

static void echo_done_list(struct ping_link *l, struct list_head *done)
{
	struct mpa_tx *tx, *next;

	list_for_each_entry_safe(tx, next, done, list) {
		list_del(&tx->list);
		if (tx == &l->rdma.tx)
			l->pending--;
		else if (tx == &l->source.tx)
			source_done(l);
		else
			echo_done(l, container_of(tx, struct echo, tx));
	}
}

static void echo_init(struct echo *echo, struct echo_batch *batch,
		      const struct kvec *frag, u32 nr_frags, u32 len)
{
	echo->batch = batch;
	echo->tx.len = len;
	iov_iter_kvec(&echo->tx.data, ITER_SOURCE, frag, nr_frags, len);
}

/* Add the ULPDUs of @rx, from index @first, to @list. */
static int echo_batch_add(struct ping_link *l, struct mpa_rx *rx,
			  unsigned int first, struct list_head *list)
{
	unsigned int i, nr = rx->nr - first;
	const struct mpa_ulpdu *ulpdu;
	struct echo_batch *batch;

	if (!nr)
		return 0;
	batch = kvzalloc(struct_size(batch, echo, nr), GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	mpa_rx_get(rx);
	batch->rx = rx;
	batch->left = nr;
	l->pending += nr;
	for (i = 0; i < nr; i++) {
		ulpdu = &rx->ulpdu[first + i];
		echo_init(&batch->echo[i], batch, ulpdu->frag, ulpdu->nr_frags,
			  ulpdu->len);
		list_add_tail(&batch->echo[i].tx.list, list);
	}
	return 0;
}

/* Add a copy of @ulpdu to @list. */
static int echo_copy_add(struct ping_link *l, const struct mpa_ulpdu *ulpdu,
			 struct list_head *list)
{
	struct echo_batch *batch;
	struct iov_iter from;
	size_t size;

	size = struct_size(batch, echo, 1);
	batch = kvmalloc(size + ulpdu->len, GFP_KERNEL);
	if (!batch)
		return -ENOMEM;
	memset(batch, 0, size);
	batch->copy.iov_base = (void *)batch + size;
	iov_iter_kvec(&from, ITER_SOURCE, ulpdu->frag, ulpdu->nr_frags,
		      ulpdu->len);
	batch->copy.iov_len = copy_from_iter(batch->copy.iov_base, ulpdu->len,
					     &from);
	batch->left = 1;
	l->pending++;
	l->copied += batch->copy.iov_len;
	echo_init(batch->echo, batch, &batch->copy, 1, ulpdu->len);
	list_add_tail(&batch->echo->tx.list, list);
	return 0;
}

/* True if too many echoes are under way */
static bool link_is_full(const struct ping_link *l)
{
	return l->pending > PENDING_MAX || l->copied > COPIED_MAX;
}

/* True if there is room for more echoes */
static bool link_has_room(const struct ping_link *l)
{
	return l->pending <= PENDING_MAX / 2 && l->copied <= COPIED_MAX / 2;
}

/* Send the echoes in @list, or drop them if @err is set. */
static int link_send(struct ping_link *l, struct list_head *list, int err)
{
	struct mpa_tx *tx, *next;

	if (!err && !list_empty(list))
		err = mpa_send_list(l->conn, list);
	list_for_each_entry_safe(tx, next, list, list)
		echo_drop(l, container_of(tx, struct echo, tx));
	if (!err && link_is_full(l)) {
		l->held = true;
		mpa_hold(l->conn);
	}
	return err;
}

/* Octets that do not fit into the buffer are not captured. */
static void link_capture(struct ping_link *l, const struct mpa_ulpdu *ulpdu)
{
	u32 i;

	for (i = 0; i < ulpdu->nr_frags; i++)
		if (ping_buf_append(l->capture, ulpdu->frag[i].iov_base,
				    ulpdu->frag[i].iov_len))
			return;
}

static int link_send_rdma(struct ping_link *l)
{
	int err = mpa_send(l->conn, &l->rdma.tx);

	l->pending += !err;
	return err;
}

/*
 * Enhanced startup failed. Publishes the result; the connection ends with the
 * peer's FIN, so that no RST overtakes octets we have sent, or after a timeout.
 */
static void link_refuse(struct ping_link *l, enum mpa_error error)
{
	l->refused = true;
	l->res.mpa_error = error;
	ping_result_fail(&l->res, -EPROTO, "frame");
	link_publish(l);
	mpa_shutdown(l->conn);
	mod_timer(&l->drain, jiffies + DRAIN);
}

/*
 * The first ULPDU of enhanced startup: an RTR of a kind that our Reply allows,
 * if one was negotiated, or the Terminate message of an Initiator that cannot
 * use our Reply. Returns 1 if it was one of these, 0 if not, or a negative
 * errno.
 */
static int link_first(struct ping_link *l, const struct mpa_ulpdu *ulpdu)
{
	enum mpa_error error = ping_rdma_terminated(ulpdu);
	u8 allowed = l->res.info.rtr;
	u8 kind = ping_rdma_rtr_kind(ulpdu);

	l->first = false;
	if (error) {
		link_refuse(l, error);
		return 1;
	}
	if (!allowed)
		return 0;
	if (!(kind & allowed)) {
		ping_rdma_terminate(&l->rdma, MPA_ERR_RTR);
		link_send_rdma(l);
		link_refuse(l, MPA_ERR_RTR);
		return 1;
	}
	if (kind != MPA_RTR_READ)
		return 1;
	ping_rdma_response(&l->rdma, ulpdu);
	return link_send_rdma(l) ?: 1;
}

/*
 * Handle the first ULPDU of enhanced startup. Returns 1 if the ULPDU is one of
 * the ping's, which is counted here, 0 if not, or a negative errno.
 */
static int link_take(struct ping_link *l, const struct mpa_ulpdu *ulpdu)
{
	int taken = l->first ? link_first(l, ulpdu) : 0;

	if (taken || l->refused)
		return min(taken, 0);
	l->res.ulpdus_rx++;
	l->res.bytes_rx += ulpdu->len;
	if (l->capture)
		link_capture(l, ulpdu);
	return 1;
}

static bool link_is_echo(const struct ping_link *l)
{
	return link_opts(l)->mode == PING_MODE_ECHO;
}

/* ULPDUs that are passed in order are delivered as well. */
static int link_act(struct ping_link *l, struct mpa_rx *rx)
{
	unsigned int i, first = 0;
	LIST_HEAD(list);
	int err = 0;

	for (i = 0; i < rx->nr; i++) {
		err = link_take(l, &rx->ulpdu[i]);
		if (err < 0)
			return err;
		first += !err;
	}
	if (link_is_echo(l))
		err = echo_batch_add(l, rx, first, &list);
	return link_send(l, &list, min(err, 0));
}

/* Process delivered ULPDUs from where they were placed, while there is room. */
static int link_act_placed(struct ping_link *l)
{
	const struct mpa_ulpdu *ulpdu;
	LIST_HEAD(list);
	int err = 0;

	while (err >= 0 && !link_is_full(l)) {
		ulpdu = ping_place_next(l->place, l->delivered);
		if (!ulpdu)
			break;
		err = link_take(l, ulpdu);
		if (err > 0 && link_is_echo(l))
			err = echo_copy_add(l, ulpdu, &list);
	}
	return link_send(l, &list, min(err, 0));
}

static void link_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct ping_link *l = mpa_conn_ctx(conn);
	int err;

	if (link_opts(l)->lazy)
		link_pause(l);
	l->delivered = rx->delivered;
	if (l->place)
		err = ping_place_put(l->place, rx) ?: link_act_placed(l);
	else
		err = link_act(l, rx);
	if (err)
		link_fail(l, err, "closed");
}

/* Echoes were handed back: process ULPDUs that had to wait. */
static int link_go_on(struct ping_link *l)
{
	int err = 0;

	if (!l->held || !link_has_room(l))
		return 0;
	l->held = false;
	if (l->place)
		err = link_act_placed(l);
	if (!err && !l->held)
		mpa_resume(l->conn);
	return err;
}

static void link_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct ping_link *l = mpa_conn_ctx(conn);
	int err;

	echo_done_list(l, done);
	err = link_go_on(l);
	if (err)
		link_fail(l, err, "closed");
	else if (l->ended && !l->pending)
		link_finish(l);
}

static void link_mulpdu(struct mpa_conn *conn, u32 mulpdu)
{
	struct ping_link *l = mpa_conn_ctx(conn);

	l->res.mulpdu_changes++;
}

static void link_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	struct ping_link *l = mpa_conn_ctx(conn);

	l->ended = true;
	/* a FIN during startup, or in place of an RTR, is an error */
	if (end->err || (l->first && l->res.info.rtr))
		ping_result_end(&l->res, end);
	if (!l->pending || (l->res.status && !l->refused))
		link_finish(l);
}

/* Our rejecting Reply is being sent; the connection is closed after it. */
static void link_rejected(struct mpa_conn *conn,
			  const struct mpa_startup *reply)
{
	mpa_detach(conn);
}

/* The connection and its resources are gone; @s may be freed after this. */
static void server_put(struct ping_server *s)
{
	if (refcount_dec_and_test(&s->ref))
		complete(&s->gone);
}

static void link_free(struct ping_link *l)
{
	struct ping_server *s = l->server;

	/* Before the socket is released: server_close() uses what is listed. */
	spin_lock(&s->lock);
	list_del(&l->list);
	spin_unlock(&s->lock);
	sock_release(l->sock);
	ping_buf_put(l->capture);
	ping_place_free(l->place);
	kvfree(l->res.pd);
	kfree(l);
	server_put(s);
}

static void link_released(struct mpa_conn *conn, struct list_head *left)
{
	struct ping_link *l = mpa_conn_ctx(conn);

	timer_shutdown_sync(&l->hold);
	timer_shutdown_sync(&l->drain);
	echo_done_list(l, left);
	if (!l->published)	/* "stop", or the module is unloaded */
		ping_result_fail(&l->res, -ECANCELED, "closed");
	link_publish(l);
	link_free(l);
}

static const struct mpa_ops link_ops = {
	.request	= link_request,
	.established	= link_established,
	.rejected	= link_rejected,
	.recv		= link_recv,
	.sent		= link_sent,
	.mulpdu		= link_mulpdu,
	.ended		= link_ended,
	.released	= link_released,
};

static struct ping_link *link_new(struct ping_server *s, struct socket *sock)
{
	struct ping_link *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return NULL;
	if (s->opts.capture) {
		l->capture = ping_buf_alloc();
		if (!l->capture) {
			kfree(l);
			return NULL;
		}
	}
	l->sock = sock;
	timer_setup(&l->hold, link_hold_timer, 0);
	timer_setup(&l->drain, link_drain_timer, 0);
	ping_result_init(&l->res);
	l->server = s;
	refcount_inc(&s->ref);
	spin_lock(&s->lock);
	list_add_tail(&l->list, &s->links);
	spin_unlock(&s->lock);
	return l;
}

static int link_attach(struct ping_link *l)
{
	struct mpa_params params = {
		.ops	= &link_ops,
		.ctx	= l,
	};
	struct mpa_conn *conn;

	ping_opts_params(link_opts(l), &params);
	conn = mpa_attach(l->sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	l->conn = conn;
	return 0;
}

/* Once started, @l belongs to the callbacks. */
static void link_start(struct ping_link *l)
{
	int err;

	if (link_opts(l)->immediate)
		err = mpa_start_immediate(l->conn);
	else
		err = mpa_start_responder(l->conn, NULL, 0);
	if (err)
		link_fail(l, err, "closed");
}

static void server_accepted(void *ctx, struct socket *sock)
{
	struct ping_server *s = ctx;
	struct ping_link *l;
	int err;

	l = link_new(s, sock);
	if (!l) {
		sock_release(sock);
		return;
	}
	err = link_attach(l);
	if (!err) {
		link_start(l);
		return;
	}
	ping_result_fail(&l->res, err, "reset");
	link_publish(l);
	link_free(l);
}

static struct mpa_listener *server_listen_at(struct ping_server *s, int family)
{
	struct mpa_sock_params params = {
		.net		= s->net,
		.local		= s->opts.addr,
		.bound_dev_if	= s->opts.dev,
		.setup		= ping_sock_setup,
		.ctx		= s,
	};
	/* the port is at the same offset in both families */
	struct sockaddr_in *sin = (struct sockaddr_in *)&params.local;

	if (family) {
		sin->sin_family = family;
		sin->sin_port = htons(s->opts.port);
	}
	return mpa_listen(&params, server_accepted);
}

/* Any address: :: accepts IPv4 as well, unless net.ipv6.bindv6only is set. */
static struct mpa_listener *server_listen(struct ping_server *s)
{
	struct mpa_listener *listener;

	if (s->opts.addr.ss_family)
		return server_listen_at(s, AF_UNSPEC);
	listener = server_listen_at(s, AF_INET6);
	if (listener == ERR_PTR(-EAFNOSUPPORT))
		listener = server_listen_at(s, AF_INET);
	return listener;
}

/* On success the server owns the private data of @opts. */
int ping_server_start(struct net *net, struct ping_opts *opts)
{
	struct ping_server *s;
	int err;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->net = net;
	s->opts = *opts;
	refcount_set(&s->ref, 1);
	spin_lock_init(&s->lock);
	INIT_LIST_HEAD(&s->links);
	init_completion(&s->gone);

	mutex_lock(&servers_lock);
	s->listener = server_listen(s);
	err = PTR_ERR_OR_ZERO(s->listener);
	if (!err)
		list_add(&s->list, &servers);
	mutex_unlock(&servers_lock);
	if (err)
		kfree(s);
	else
		opts->pd = NULL;
	return err;
}

/*
 * 1. Stop the listener. No connection is added after that, and none is between
 *    accept and start.
 * 2. Reset the connections on the list. Each stays valid while it is there.
 * 3. Wait until the last connection has been released.
 */
static void server_close(struct ping_server *s)
{
	struct ping_link *l;

	mpa_listen_close_sync(s->listener);

	spin_lock(&s->lock);
	list_for_each_entry(l, &s->links, list) {
		mpa_abort(l->conn);
		mpa_detach(l->conn);
	}
	spin_unlock(&s->lock);

	server_put(s);
	wait_for_completion(&s->gone);
	ping_opts_free(&s->opts);
	kfree(s);
}

/* Close the servers on a port of a namespace, or all if @net is NULL. */
int ping_server_stop(struct net *net, u32 port)
{
	struct ping_server *s, *next;
	LIST_HEAD(closing);

	mutex_lock(&servers_lock);
	list_for_each_entry_safe(s, next, &servers, list)
		if (!net || (net_eq(s->net, net) && s->opts.port == port))
			list_move(&s->list, &closing);
	mutex_unlock(&servers_lock);
	if (list_empty(&closing))
		return -ENOENT;
	list_for_each_entry_safe(s, next, &closing, list)
		server_close(s);
	return 0;
}

/* Close all servers. No callback is running when it returns. */
void ping_server_exit(void)
{
	ping_server_stop(NULL, 0);
	/* the last released() may still be returning */
	mpa_barrier();
}
