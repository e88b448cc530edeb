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
 * struct mpa_server - a listening socket and its connections; the first member
 *	of what a sample has for that, which is freed with it
 * @list: in servers
 * @net: its namespace
 * @opts: the command, for the sample to set. Its private data is the server's
 *	once that is started.
 * @accepted: adds a connection and starts it, or releases the socket; its
 *	context is the server. For the sample to set
 * @listener: takes connections
 * @ref: one for @list, one for each of @links
 * @lock: protects @links
 * @links: connections
 * @gone: no connection is left
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
 * struct mpa_link - an accepted connection; part of what a sample has for that
 * @list: in mpa_server.links
 * @server: where it belongs
 * @conn: its MPA, there when @accepted returns
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
