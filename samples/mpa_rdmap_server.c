// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* "serve": accept connections, each a stream. */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/sock.h>

#include "mpa_rdmap.h"

/**
 * struct rdmap_server - a listening socket and its connections
 * @list: in servers
 * @net: its namespace
 * @opts: the command
 * @listener: takes connections
 * @ref: one for @list, one for each of @links
 * @lock: protects @links
 * @links: connections
 * @gone: no connection is left
 */
struct rdmap_server {
	struct list_head	list;
	struct net		*net;
	struct rdmap_opts	opts;
	struct mpa_listener	*listener;
	refcount_t		ref;
	spinlock_t		lock;	/* protects @links */
	struct list_head	links;
	struct completion	gone;
};

/**
 * struct rdmap_link - an accepted connection
 * @list: in rdmap_server.links
 * @server: where it belongs
 * @stream: its stream
 */
struct rdmap_link {
	struct list_head	list;
	struct rdmap_server	*server;
	struct rdmap_stream	stream;
};

static DEFINE_MUTEX(servers_lock);	/* protects servers */
static LIST_HEAD(servers);

static void server_put(struct rdmap_server *s)
{
	if (refcount_dec_and_test(&s->ref))
		complete(&s->gone);
}

/*
 * Off the list first, where server_close() would find a connection that is
 * released. The result is there before the socket is closed.
 */
static void link_over(struct rdmap_stream *stream)
{
	struct rdmap_link *l = container_of(stream, struct rdmap_link, stream);
	struct rdmap_server *s = l->server;

	spin_lock(&s->lock);
	list_del(&l->list);
	spin_unlock(&s->lock);
	rdmap_result_publish(&stream->res, s->net, RDMAP_SIDE_SERVE);
	rdmap_stream_free(stream);
	kfree(l);
	server_put(s);
}

static struct rdmap_link *link_new(struct rdmap_server *s, struct socket *sock)
{
	struct rdmap_link *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return NULL;
	l->server = s;
	rdmap_stream_init(&l->stream, s->net, &s->opts);
	l->stream.sock = sock;
	l->stream.over = link_over;

	refcount_inc(&s->ref);
	spin_lock(&s->lock);
	list_add_tail(&l->list, &s->links);
	spin_unlock(&s->lock);
	return l;
}

static int link_attach(struct rdmap_link *l)
{
	struct mpa_params params;
	struct mpa_conn *conn;

	rdmap_opts_params(&l->server->opts, &params);
	params.ops = &rdmap_stream_ops;
	params.ctx = &l->stream;
	conn = mpa_attach(l->stream.sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	rdmap_use(&l->stream, conn);
	return 0;
}

static void server_accepted(void *ctx, struct socket *sock)
{
	struct rdmap_link *l;
	int err;

	l = link_new(ctx, sock);
	if (!l) {
		sock_release(sock);
		return;
	}
	err = link_attach(l);
	if (err) {
		rdmap_fail(&l->stream, err, "reset");
		link_over(&l->stream);
		return;
	}
	/* Once it is started, @l is the callbacks'. */
	if (mpa_start_responder(l->stream.conn, NULL, 0))
		mpa_detach(l->stream.conn);
}

static struct mpa_listener *server_listen_at(struct rdmap_server *s,
					     int family)
{
	struct mpa_sock_params params = {
		.net		= s->net,
		.local		= s->opts.base.addr,
		.bound_dev_if	= s->opts.base.dev,
		.setup		= mpa_opts_sock_setup,
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
static struct mpa_listener *server_listen(struct rdmap_server *s)
{
	struct mpa_listener *listener;

	if (s->opts.base.addr.ss_family)
		return server_listen_at(s, AF_UNSPEC);
	listener = server_listen_at(s, AF_INET6);
	if (listener == ERR_PTR(-EAFNOSUPPORT))
		listener = server_listen_at(s, AF_INET);
	return listener;
}

int rdmap_server_start(struct net *net, struct rdmap_opts *opts)
{
	struct rdmap_server *s;
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
static void server_close(struct rdmap_server *s)
{
	struct rdmap_link *l;

	mpa_listen_close_sync(s->listener);

	spin_lock(&s->lock);
	list_for_each_entry(l, &s->links, list) {
		mpa_abort(l->stream.conn);
		mpa_detach(l->stream.conn);
	}
	spin_unlock(&s->lock);

	server_put(s);
	wait_for_completion(&s->gone);
	mpa_opts_free(&s->opts.base);
	kfree(s);
}

static bool server_matches(const struct rdmap_server *s, struct net *net,
			   u32 port)
{
	return !net || (net_eq(s->net, net) && s->opts.base.port == port);
}

/* Close those on a port of a namespace, or all. */
static int servers_close(struct net *net, u32 port)
{
	struct rdmap_server *s, *next;
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

int rdmap_server_stop(struct net *net, const struct rdmap_opts *opts)
{
	return servers_close(net, opts->base.port);
}

void rdmap_server_exit(void)
{
	servers_close(NULL, 0);
}
