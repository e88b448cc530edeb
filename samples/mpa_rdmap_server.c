// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* "serve": accept connections; each gets a stream. */
#include <linux/err.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "mpa_rdmap.h"
#include "mpa_server.h"

/**
 * struct rdmap_server - a listening socket and its connections
 * @base: server data of all samples; the first member
 * @opts: the command
 */
struct rdmap_server {
	struct mpa_server	base;
	struct rdmap_opts	opts;
};

/**
 * struct rdmap_link - an accepted connection
 * @base: link data of all samples
 * @stream: its stream
 */
struct rdmap_link {
	struct mpa_link		base;
	struct rdmap_stream	stream;
};

/* Publishes the result before the socket is closed. */
static void link_over(struct rdmap_stream *stream)
{
	struct rdmap_link *l = container_of(stream, struct rdmap_link, stream);
	struct mpa_server *s = l->base.server;

	mpa_link_remove(&l->base);
	rdmap_result_publish(&stream->res, s->net, RDMAP_SIDE_SERVE);
	rdmap_stream_free(stream);
	kfree(l);
	mpa_server_put(s);
}

static struct rdmap_link *link_new(struct rdmap_server *s, struct socket *sock)
{
	struct rdmap_link *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return NULL;
	rdmap_stream_init(&l->stream, s->base.net, &s->opts);
	l->stream.sock = sock;
	l->stream.over = link_over;
	mpa_link_add(&l->base, &s->base);
	return l;
}

static int link_attach(struct rdmap_link *l)
{
	struct mpa_params params;
	struct mpa_conn *conn;

	rdmap_opts_params(l->stream.opts, &params);
	params.ops = &rdmap_stream_ops;
	params.ctx = &l->stream;
	conn = mpa_attach(l->stream.sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	l->base.conn = conn;
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
	/* once started, @l belongs to the callbacks */
	if (mpa_start_responder(l->stream.conn, NULL, 0))
		mpa_detach(l->stream.conn);
}

/* On success the server owns the private data of @opts. */
int rdmap_server_start(struct net *net, struct rdmap_opts *opts)
{
	struct rdmap_server *s;
	int err;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->base.opts = &s->opts.base;
	s->base.accepted = server_accepted;
	err = mpa_server_start(&s->base, net);
	if (err)
		kfree(s);
	else
		opts->base.pd = NULL;
	return err;
}
