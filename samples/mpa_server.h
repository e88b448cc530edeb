/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The listening sockets of a sample, and their connections. */
#ifndef _MPA_SERVER_H
#define _MPA_SERVER_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <net/mpa.h>

#include "mpa_opts.h"

/**
 * struct mpa_server - a listening socket and its connections
 * @list: entry in servers
 * @net: namespace of the listening socket
 * @opts: the command; set by the sample. Its private data belongs to the server
 *	once that is started.
 * @accepted: adds a connection and starts it, or releases the socket; its
 *	context is the server. Set by the sample.
 * @listener: listener of MPA
 * @ref: one reference for @list, one for each of @links
 * @lock: protects @links
 * @links: list of connections
 * @gone: completed when no connection is left
 *
 * The first member of a sample's own server, which is freed with it.
 */
struct mpa_server {
	struct list_head	list;
	struct net		*net;
	struct mpa_opts		*opts;
	void			(*accepted)(void *ctx, struct socket *sock);
	struct mpa_listener	*listener;
	refcount_t		ref;
	spinlock_t		lock;	/* protects @links */
	struct list_head	links;
	struct completion	gone;
};

/**
 * struct mpa_link - an accepted connection; part of the link of a sample
 * @list: entry in mpa_server.links
 * @server: server that accepted it
 * @conn: its MPA connection, set when @accepted returns
 */
struct mpa_link {
	struct list_head	list;
	struct mpa_server	*server;
	struct mpa_conn		*conn;
};

int mpa_server_start(struct mpa_server *s, struct net *net);
int mpa_server_stop(struct net *net, u32 port);
void mpa_server_exit(void);
void mpa_server_put(struct mpa_server *s);
void mpa_link_add(struct mpa_link *l, struct mpa_server *s);
void mpa_link_remove(struct mpa_link *l);

#endif /* _MPA_SERVER_H */
