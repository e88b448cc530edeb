// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* "serve": accept connections, send each ULPDU back or drop it. */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <net/sock.h>

#include "mpa_ping.h"

/* Echoes under way above which no more ULPDUs are taken. The receive buffer
 * bounds their octets; this bounds how many messages these can be cut into.
 */
#define PENDING_MAX	4096

/* How long a peer may take to close, behind a Terminate message */
#define DRAIN		(2 * HZ)

/**
 * struct ping_server - a listening socket and its connections
 * @list: in servers
 * @net: its namespace
 * @opts: the command
 * @listener: takes connections
 * @ref: one for @list, one for each of @links
 * @lock: protects @links
 * @links: connections
 * @gone: no connection is left
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
 * @list: in ping_server.links
 * @server: where it belongs
 * @sock: its socket
 * @conn: its MPA
 * @hold: ends hold=
 * @drain: ends the wait for the FIN of a peer that was refused
 * @res: how it goes
 * @capture: what was received, or NULL
 * @pending: ULPDUs posted and not handed back
 * @held: delivery is on hold until there are fewer
 * @first: the first ULPDU of enhanced startup is still to come
 * @refused: it was none; what comes behind it is dropped
 * @ended: nothing more is received
 * @published: the result is out
 * @rdma: an answer to an RTR, or a Terminate message
 */
struct ping_link {
	struct list_head	list;
	struct ping_server	*server;
	struct socket		*sock;
	struct mpa_conn		*conn;
	struct timer_list	hold;
	struct timer_list	drain;
	struct ping_result	res;
	struct ping_buf		*capture;
	u64			pending;
	bool			held;
	bool			first;
	bool			refused;
	bool			ended;
	bool			published;
	struct ping_rdma	rdma;
};

struct echo_batch;

/**
 * struct echo - a ULPDU on its way back
 * @tx: the message
 * @batch: what its octets belong to
 */
struct echo {
	struct mpa_tx		tx;
	struct echo_batch	*batch;
};

/**
 * struct echo_batch - ULPDUs that came together and are sent from where they
 * lie. So memory is bounded by what TCP lets the peer send: the window opens
 * when the batch is put.
 * @rx: the batch
 * @left: of @echo, still to be handed back
 * @echo: a message for each
 */
struct echo_batch {
	struct mpa_rx		*rx;
	unsigned int		left;
	struct echo		echo[];
};

static DEFINE_MUTEX(servers_lock);	/* protects servers */
static LIST_HEAD(servers);

static void server_put(struct ping_server *s)
{
	if (refcount_dec_and_test(&s->ref))
		complete(&s->gone);
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
 * It is over. The result is there before our FIN is, so that whoever waits
 * for that FIN finds it. Nothing is to be done with @l after this.
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
	const struct ping_opts *opts = &l->server->opts;
	const void *pd = opts->base.has_pd ? opts->base.pd : req->pd;
	u32 len = opts->base.has_pd ? opts->base.pd_len : req->pd_len;
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

static void link_hold_timer(struct timer_list *timer)
{
	struct ping_link *l = container_of(timer, struct ping_link, hold);

	mpa_resume(l->conn);
}

static void link_drain_timer(struct timer_list *timer)
{
	struct ping_link *l = container_of(timer, struct ping_link, drain);

	mpa_abort(l->conn);
	mpa_detach(l->conn);
}

static void link_established(struct mpa_conn *conn,
			     const struct mpa_startup *reply)
{
	struct ping_link *l = mpa_conn_ctx(conn);
	u32 hold = l->server->opts.hold;

	mpa_get_info(conn, &l->res.info);
	l->first = l->res.info.enhanced;
	if (!hold) {
		mpa_resume(conn);
		return;
	}
	mpa_hold(conn);
	mod_timer(&l->hold, jiffies + msecs_to_jiffies(hold));
}

static void echo_done(struct ping_link *l, struct echo *echo)
{
	struct echo_batch *batch = echo->batch;

	l->pending--;
	if (echo->tx.status) {
		ping_result_fail(&l->res, echo->tx.status, "reset");
	} else {
		l->res.ulpdus_tx++;
		l->res.bytes_tx += echo->tx.len;
	}
	if (--batch->left)
		return;
	mpa_rx_put(batch->rx);
	kvfree(batch);
}

static void echo_done_list(struct ping_link *l, struct list_head *done)
{
	struct mpa_tx *tx, *next;

	list_for_each_entry_safe(tx, next, done, list) {
		list_del(&tx->list);
		if (tx == &l->rdma.tx)
			l->pending--;
		else
			echo_done(l, container_of(tx, struct echo, tx));
	}
}

static void echo_init(struct echo *echo, const struct mpa_ulpdu *ulpdu)
{
	echo->tx.len = ulpdu->len;
	iov_iter_kvec(&echo->tx.data, ITER_SOURCE, ulpdu->frag,
		      ulpdu->nr_frags, ulpdu->len);
}

static struct echo_batch *echo_batch_new(struct mpa_rx *rx, unsigned int first,
					 struct list_head *list)
{
	unsigned int i, nr = rx->nr - first;
	struct echo_batch *batch;

	batch = kvzalloc(struct_size(batch, echo, nr), GFP_KERNEL);
	if (!batch)
		return NULL;
	batch->rx = rx;
	batch->left = nr;
	for (i = 0; i < nr; i++) {
		batch->echo[i].batch = batch;
		echo_init(&batch->echo[i], &rx->ulpdu[first + i]);
		list_add_tail(&batch->echo[i].tx.list, list);
	}
	return batch;
}

static int link_echo(struct ping_link *l, struct mpa_rx *rx, unsigned int first)
{
	struct echo_batch *batch;
	LIST_HEAD(list);
	int err;

	if (first == rx->nr)
		return 0;
	batch = echo_batch_new(rx, first, &list);
	if (!batch)
		return -ENOMEM;
	mpa_rx_get(rx);
	l->pending += batch->left;
	err = mpa_send_list(l->conn, &list);
	if (err) {
		l->pending -= batch->left;
		mpa_rx_put(rx);
		kvfree(batch);
		return err;
	}
	if (l->pending > PENDING_MAX) {
		l->held = true;
		mpa_hold(l->conn);
	}
	return 0;
}

/* What does not fit into the buffer is not captured. */
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
 * Enhanced startup has failed here. The result is out, and the connection ends
 * with the peer's FIN, so that no RST overtakes what we have said; a peer that
 * does not close is not waited for.
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
 * if there is to be one, or the Terminate message of an Initiator that cannot
 * do with our Reply. Returns if it was taken, or an errno.
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

/* The ULPDUs of @rx from @first on are the ping's. */
static int link_take(struct ping_link *l, struct mpa_rx *rx, unsigned int first)
{
	unsigned int i;

	for (i = first; i < rx->nr; i++) {
		l->res.ulpdus_rx++;
		l->res.bytes_rx += rx->ulpdu[i].len;
		if (l->capture)
			link_capture(l, &rx->ulpdu[i]);
	}
	if (l->server->opts.mode == PING_MODE_ECHO)
		return link_echo(l, rx, first);
	return 0;
}

/* MPA reads TCP in order, so all that is passed is delivered as well. */
static void link_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct ping_link *l = mpa_conn_ctx(conn);
	int first = 0, err = 0;

	if (l->first && rx->nr)
		first = link_first(l, rx->ulpdu);
	if (first < 0)
		err = first;
	else if (!l->refused)
		err = link_take(l, rx, first);
	if (err)
		link_fail(l, err, "closed");
}

static void link_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct ping_link *l = mpa_conn_ctx(conn);

	echo_done_list(l, done);
	if (l->held && l->pending <= PENDING_MAX / 2) {
		l->held = false;
		mpa_resume(conn);
	}
	if (l->ended && !l->pending)
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
	/* A FIN in startup is an error, too, and one instead of an RTR */
	if (end->err || (l->first && l->res.info.rtr))
		ping_result_end(&l->res, end);
	if (!l->pending || (l->res.status && !l->refused))
		link_finish(l);
}

/* Our rejecting Reply is on its way; the connection is closed behind it. */
static void link_rejected(struct mpa_conn *conn,
			  const struct mpa_startup *reply)
{
	mpa_detach(conn);
}

static void link_free(struct ping_link *l)
{
	struct ping_server *s = l->server;

	spin_lock(&s->lock);
	list_del(&l->list);
	spin_unlock(&s->lock);
	sock_release(l->sock);
	ping_buf_put(l->capture);
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
	if (!l->published)	/* "stop", or the module goes */
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
	l->server = s;
	l->sock = sock;
	timer_setup(&l->hold, link_hold_timer, 0);
	timer_setup(&l->drain, link_drain_timer, 0);
	ping_result_init(&l->res);

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

	ping_opts_params(&l->server->opts, &params);
	conn = mpa_attach(l->sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	l->conn = conn;
	return 0;
}

/* Once it is started, @l is the callbacks'. */
static void link_start(struct ping_link *l)
{
	int err;

	if (l->server->opts.immediate)
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
		.local		= s->opts.base.addr,
		.bound_dev_if	= s->opts.base.dev,
		.setup		= ping_sock_setup,
		.ctx		= s,
	};
	/* The same place in both families */
	struct sockaddr_in *sin = (struct sockaddr_in *)&params.local;

	if (family) {
		sin->sin_family = family;
		sin->sin_port = htons(s->opts.base.port);
	}
	return mpa_listen(&params, server_accepted);
}

/* Anywhere: :: takes IPv4 as well, unless net.ipv6.bindv6only says no. */
static struct mpa_listener *server_listen(struct ping_server *s)
{
	struct mpa_listener *listener;

	if (s->opts.base.addr.ss_family)
		return server_listen_at(s, AF_UNSPEC);
	listener = server_listen_at(s, AF_INET6);
	if (listener == ERR_PTR(-EAFNOSUPPORT))
		listener = server_listen_at(s, AF_INET);
	return listener;
}

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
		opts->base.pd = NULL;	/* now it is the server's */
	return err;
}

/*
 * 1. No connection is added any more, and none is between accept and start.
 * 2. Each one that is there is reset; a connection stays valid while it is on
 *    the list.
 * 3. The last one to be released says so.
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
	mpa_opts_free(&s->opts.base);
	kfree(s);
}

static bool server_matches(const struct ping_server *s, struct net *net,
			   u32 port)
{
	return !net || (net_eq(s->net, net) && s->opts.base.port == port);
}

/* Close those on a port of a namespace, or all. */
static int servers_close(struct net *net, u32 port)
{
	struct ping_server *s, *next;
	LIST_HEAD(closing);

	mutex_lock(&servers_lock);
	list_for_each_entry_safe(s, next, &servers, list)
		if (server_matches(s, net, port))
			list_move(&s->list, &closing);
	mutex_unlock(&servers_lock);
	if (list_empty(&closing))
		return -ENOENT;
	list_for_each_entry_safe(s, next, &closing, list)
		server_close(s);
	return 0;
}

int ping_server_stop(struct net *net, const struct ping_opts *opts)
{
	return servers_close(net, opts->base.port);
}

void ping_server_exit(void)
{
	servers_close(NULL, 0);
	/* The last released() may still be returning. */
	mpa_barrier();
}
