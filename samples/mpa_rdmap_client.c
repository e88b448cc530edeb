// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* "connect": MPA connects and starts, then the program runs. */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "mpa_rdmap.h"

/**
 * struct rdmap_client - a "connect"
 * @stream: its stream
 * @connected: completed when connecting has succeeded or failed, see @err
 * @over: completed when the stream has ended
 * @err: result of connecting
 */
struct rdmap_client {
	struct rdmap_stream	stream;
	struct completion	connected;
	struct completion	over;
	int			err;
};

static void client_over(struct rdmap_stream *s)
{
	complete(&container_of(s, struct rdmap_client, stream)->over);
}

static void client_connected(void *ctx, struct socket *sock,
			     struct mpa_conn *conn, int err)
{
	struct rdmap_client *c = ctx;

	c->stream.sock = sock;
	c->err = err;
	if (conn)
		rdmap_use(&c->stream, conn);
	complete(&c->connected);
}

static struct mpa_connector *client_connect(struct rdmap_client *c)
{
	const struct rdmap_opts *opts = c->stream.opts;
	struct mpa_params start;
	struct mpa_sock_params params = {
		.net		= c->stream.net,
		.peer		= opts->base.addr,
		.bound_dev_if	= opts->base.dev,
		.flags		= opts->fallback ? MPA_F_FALLBACK : 0,
		.setup		= mpa_opts_sock_setup,
		.ctx		= c,
		.start		= &start,
		.pd		= opts->base.pd,
		.pd_len		= opts->base.pd_len,
	};

	rdmap_opts_params(opts, &start);
	start.ops = &rdmap_stream_ops;
	start.ctx = &c->stream;
	return mpa_connect(&params, client_connected);
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
		return "closed";
	case -ENOMEM:
		return "memory";
	default:
		return "refused";
	}
}

/* Returns 0, -ETIMEDOUT, -EINTR, or an error of TCP. */
static int client_wait_connected(struct rdmap_client *c,
				 struct mpa_connector *connector)
{
	long left = (long)(c->stream.deadline - jiffies);

	left = wait_for_completion_interruptible_timeout(&c->connected,
							 max(left, 0L));
	mpa_connect_close(connector);
	if (left <= 0)
		wait_for_completion(&c->connected);
	/* the connection may have been established nevertheless */
	if (!c->err || left > 0)
		return c->err;
	return left ? -EINTR : -ETIMEDOUT;
}

static void client_go(struct rdmap_client *c)
{
	struct mpa_connector *connector = client_connect(c);
	int err = PTR_ERR_OR_ZERO(connector);

	if (!err)
		err = client_wait_connected(c, connector);
	if (err) {
		rdmap_fail(&c->stream, err, early_reason(err));
		return;
	}
	if (!wait_for_completion_interruptible(&c->over))
		return;
	rdmap_interrupt(&c->stream);
	wait_for_completion(&c->over);
}

/* Run a "connect"; returns its status. */
int rdmap_client_run(struct net *net, const struct rdmap_opts *opts)
{
	struct rdmap_client *c;
	int err;

	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	init_completion(&c->connected);
	init_completion(&c->over);
	rdmap_stream_init(&c->stream, net, opts);
	c->stream.over = client_over;
	client_go(c);
	if (!c->stream.res.status && c->stream.res.mismatches)
		rdmap_fail(&c->stream, -EILSEQ, "mismatch");
	err = c->stream.res.status;
	rdmap_result_publish(&c->stream.res, net, RDMAP_SIDE_CONNECT);
	rdmap_stream_free(&c->stream);
	kfree(c);
	return err;
}
