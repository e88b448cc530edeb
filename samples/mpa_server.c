// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The listening sockets of a sample, and their connections. */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "mpa_server.h"

static DEFINE_MUTEX(servers_lock);	/* protects servers */
static LIST_HEAD(servers);

/* The connection and its resources are gone; @s may be freed after this. */
void mpa_server_put(struct mpa_server *s)
{
	if (refcount_dec_and_test(&s->ref))
		complete(&s->gone);
}

/* Only called in accepted() */
void mpa_link_add(struct mpa_link *l, struct mpa_server *s)
{
	l->server = s;
	refcount_inc(&s->ref);
	spin_lock(&s->lock);
	list_add_tail(&l->list, &s->links);
	spin_unlock(&s->lock);
}

/*
 * Call before the socket is released and before released() returns, because
 * server_close() uses the connections on the list. Call mpa_server_put()
 * afterwards.
 */
void mpa_link_remove(struct mpa_link *l)
{
	spin_lock(&l->server->lock);
	list_del(&l->list);
	spin_unlock(&l->server->lock);
}

static struct mpa_listener *server_listen_at(struct mpa_server *s, int family)
{
	struct mpa_sock_params params = {
		.net		= s->net,
		.local		= s->opts->addr,
		.bound_dev_if	= s->opts->dev,
		.setup		= mpa_opts_sock_setup,
		.ctx		= s,
	};
	/* the port is at the same offset in both families */
	struct sockaddr_in *sin = (struct sockaddr_in *)&params.local;

	if (family) {
		sin->sin_family = family;
		sin->sin_port = htons(s->opts->port);
	}
	return mpa_listen(&params, s->accepted);
}

/* Any address: :: accepts IPv4 as well, unless net.ipv6.bindv6only is set. */
static struct mpa_listener *server_listen(struct mpa_server *s)
{
	struct mpa_listener *listener;

	if (s->opts->addr.ss_family)
		return server_listen_at(s, AF_UNSPEC);
	listener = server_listen_at(s, AF_INET6);
	if (listener == ERR_PTR(-EAFNOSUPPORT))
		listener = server_listen_at(s, AF_INET);
	return listener;
}

/* On failure the caller still owns @s. */
int mpa_server_start(struct mpa_server *s, struct net *net)
{
	int err;

	s->net = net;
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
	return err;
}

/*
 * 1. Stop the listener. No connection is added after that, and none is between
 *    accept and start.
 * 2. Reset the connections on the list. Each stays valid while it is there.
 * 3. Wait until the last connection has been released.
 */
static void server_close(struct mpa_server *s)
{
	struct mpa_link *l;

	mpa_listen_close_sync(s->listener);

	spin_lock(&s->lock);
	list_for_each_entry(l, &s->links, list) {
		mpa_abort(l->conn);
		mpa_detach(l->conn);
	}
	spin_unlock(&s->lock);

	mpa_server_put(s);
	wait_for_completion(&s->gone);
	mpa_opts_free(s->opts);
	kfree(s);
}

static bool server_matches(const struct mpa_server *s, struct net *net,
			   u32 port)
{
	return !net || (net_eq(s->net, net) && s->opts->port == port);
}

static int servers_close(struct net *net, u32 port)
{
	struct mpa_server *s, *next;
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

/* Close the servers on a port of a namespace, and their connections. */
int mpa_server_stop(struct net *net, u32 port)
{
	return servers_close(net, port);
}

/* Close all servers. No callback is running when it returns. */
void mpa_server_exit(void)
{
	servers_close(NULL, 0);
	/* the last released() may still be returning */
	mpa_barrier();
}
