// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Making connections: mpa_listen(), mpa_connect() in all its ways, and with
 * sockets that MPA has not made.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/kthread.h>

#include "races.h"

/* Messages each way where no private data can say how many */
#define IMMEDIATE_QUOTA	12
#define OWN_WAIT	(HZ / 10)

/* The port is at the same offset for IPv4 and IPv6. */
static void set_port(struct sockaddr_storage *addr, u16 port)
{
	((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static struct sockaddr_storage peer_address(const struct race_world *w,
					    enum race_port_kind port)
{
	struct sockaddr_storage addr = w->peer;

	set_port(&addr, w->port + port);
	return addr;
}

static struct sockaddr_storage local_address(const struct race_world *w,
					     enum race_port_kind port)
{
	struct sockaddr_storage addr = { .ss_family = w->peer.ss_family };

	set_port(&addr, w->port + port);
	return addr;
}

static void set_immediate(struct race_end *e)
{
	e->immediate = true;
	e->quota = IMMEDIATE_QUOTA;
	e->peer_quota = IMMEDIATE_QUOTA;
}

/* mpa_connect() */

void race_dial_close(struct race_end *e)
{
	struct mpa_connector *connector = xchg(&e->connector, NULL);

	if (!connector)
		return;
	mpa_connect_close(connector);
	race_count(RACE_N_CONNECT_CLOSED);
	race_end_put(e);
}

/* True if a polite attempt may have this result */
static bool dial_expected(const struct race_end *e, int err)
{
	return e->world->kind != RACE_POLITE || READ_ONCE(e->world->closing) ||
	       err == -ECONNREFUSED;
}

static void dial_made(struct race_end *e, struct socket *sock,
		      struct mpa_conn *conn)
{
	if (!conn) {
		race_end_make(e, sock);
		return;
	}
	race_end_has(e, sock, conn);
	if (e->world->kind != RACE_POLITE && race_chance(&e->rnd, 5))
		race_end_detach(e, true);
}

static void dial_done(void *ctx, struct socket *sock, struct mpa_conn *conn,
		      int err)
{
	struct race_end *e = ctx;
	bool close = race_chance(&e->rnd, 40);

	kref_get(&e->ref);
	if (atomic_inc_return(&e->done) != 1)
		race_found(e, "done() twice");
	if (err && !dial_expected(e, err))
		race_found(e, "done() with %d", err);
	if (err)
		race_end_gone(e);
	else
		dial_made(e, sock, conn);
	if (close)
		race_dial_close(e);
	race_end_put(e);
}

/* mpa_connect(), which may start MPA as well */
static void dial(struct race_end *e, struct rnd_state *rnd,
		 enum race_port_kind port, bool start)
{
	struct race_world *w = e->world;
	bool close = w->kind != RACE_POLITE && race_chance(rnd, 10);
	struct mpa_sock_params params = {
		.net	= w->net,
		.peer	= peer_address(w, port),
		.ctx	= e,
	};
	struct mpa_connector *connector;
	struct mpa_params with;
	u32 pd[2];

	if (start) {
		race_end_params(e, &with, rnd);
		params.start = &with;
		params.pd_len = race_end_pd(e, pd);
		params.pd = pd;
		if (with.rev == MPA_REV_2 && race_chance(rnd, 60))
			params.flags |= MPA_F_FALLBACK;
	}
	/* For the handle */
	kref_get(&e->ref);
	connector = mpa_connect(&params, dial_done);
	if (IS_ERR(connector)) {
		race_end_put(e);
		race_end_gone(e);
		return;
	}
	kref_get(&e->ref);
	xchg(&e->connector, connector);
	if (close)
		race_dial_close(e);
	race_end_put(e);
}

/* Sockets that MPA has not made, and that may not hold the namespace */

static struct socket *own_socket(struct race_world *w)
{
	struct socket *sock;

	if (sock_create_kern(w->net, w->peer.ss_family, SOCK_STREAM,
			     IPPROTO_TCP, &sock))
		return NULL;
	if (race_noref(w))
		sock_no_linger(sock->sk);
	else
		sk_net_refcnt_upgrade(sock->sk);
	sock->sk->sk_rcvtimeo = OWN_WAIT;
	/* One that is given up may have been accepted. */
	if (!race_calm(w))
		sock->sk->sk_sndtimeo = OWN_WAIT * 10;
	return sock;
}

static void dial_own(struct race_end *e, enum race_port_kind port)
{
	struct sockaddr_storage addr = peer_address(e->world, port);
	struct socket *sock = own_socket(e->world);

	if (sock && !kernel_connect(sock, (struct sockaddr *)&addr,
				    sizeof(addr), 0)) {
		race_end_make(e, sock);
		return;
	}
	if (sock)
		sock_release(sock);
	race_end_gone(e);
}

/* race_world_enter() was called. */
static void dial_any(struct race_end *e, struct rnd_state *rnd)
{
	struct race_world *w = e->world;
	u32 pick = race_pick(rnd, w->kind == RACE_WILD ? 100 : 80);

	e->initiator = true;
	if (race_own(w)) {
		e->raw = w->kind == RACE_OWN;
		dial_own(e, RACE_PORT_PEER);
	} else if (pick < 40) {
		dial(e, rnd, RACE_PORT_MPA, true);
	} else if (pick < 55) {
		dial(e, rnd, RACE_PORT_MPA, false);
	} else if (pick < 70) {
		dial_own(e, RACE_PORT_MPA);
	} else if (pick < 80) {
		set_immediate(e);
		dial(e, rnd, RACE_PORT_IMMEDIATE, false);
	} else {
		e->raw = true;
		dial(e, rnd, RACE_PORT_PEER, true);
	}
}

/* Make one more connection, up to the limit. */
void race_dial(struct race_world *w, struct rnd_state *rnd)
{
	struct race_end *e;

	if (atomic_read(&w->nr_ends) > RACE_ENDS / 2 ||
	    !race_world_enter(w, RACE_NO_DIALS))
		return;
	e = race_end_new(w, rnd);
	if (e)
		dial_any(e, rnd);
	race_world_leave(w);
}

/* A connection has come in; a polite peer is not turned away. */
static void dial_accepted(struct race_world *w, enum race_port_kind kind,
			  struct socket *sock, struct rnd_state *rnd)
{
	struct race_end *e;

	while (race_world_enter(w, RACE_NO_ENDS)) {
		e = race_end_new(w, rnd);
		if (e) {
			e->raw = kind == RACE_PORT_RAW || w->kind == RACE_OWN;
			if (kind == RACE_PORT_IMMEDIATE)
				set_immediate(e);
			race_end_make(e, sock);
		}
		race_world_leave(w);
		if (e)
			return;
		usleep_range(5000, 10000);
	}
	sock_release(sock);
}

static int own_run(void *arg)
{
	struct race_world *w = arg;
	struct rnd_state rnd;
	struct socket *sock;

	prandom_seed_state(&rnd, w->seed + 200);
	while (!kthread_should_stop())
		if (!kernel_accept(w->own, &sock, 0))
			dial_accepted(w, RACE_PORT_PEER, sock, &rnd);
	return 0;
}

static int own_listen(struct race_world *w)
{
	struct sockaddr_storage addr = local_address(w, RACE_PORT_PEER);
	struct task_struct *task;
	int err;

	w->own = own_socket(w);
	if (!w->own)
		return -ENOMEM;
	sock_set_reuseaddr(w->own->sk);
	err = kernel_bind(w->own, (struct sockaddr *)&addr, sizeof(addr));
	if (!err)
		err = kernel_listen(w->own, SOMAXCONN);
	if (err)
		return err;
	task = kthread_run(own_run, w, "mpa_races_own");
	if (IS_ERR(task))
		return PTR_ERR(task);
	w->own_thread = task;
	return 0;
}

/* mpa_listen() */

static void port_accepted(void *ctx, struct socket *sock)
{
	struct race_port *port = ctx;

	dial_accepted(port->world, port->kind, sock, &port->rnd);
}

static int port_open(struct race_port *port)
{
	struct mpa_sock_params params = {
		.net	= port->world->net,
		.local	= local_address(port->world, port->kind),
		.ctx	= port,
	};
	struct mpa_listener *listener;

	listener = mpa_listen(&params, port_accepted);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	port->listener = listener;
	return 0;
}

static void port_close(struct race_port *port, bool sync)
{
	if (!port->listener)
		return;
	if (!sync)
		mpa_listen_close(port->listener);
	else if (mpa_listen_close_sync(port->listener))
		race_found(NULL, "mpa_listen_close_sync() has not waited");
	port->listener = NULL;
}

int race_listen(struct race_world *w)
{
	enum race_port_kind i;
	int err = 0;

	if (race_own(w))
		return own_listen(w);
	for (i = 0; i < RACE_PORTS && !err; i++) {
		w->ports[i].world = w;
		w->ports[i].kind = i;
		prandom_seed_state(&w->ports[i].rnd, w->seed + 100 + i);
		err = port_open(&w->ports[i]);
	}
	return err;
}

void race_unlisten(struct race_world *w)
{
	u32 i;

	for (i = 0; i < RACE_PORTS; i++)
		port_close(&w->ports[i], i % 2);
	if (w->own_thread)
		kthread_stop(w->own_thread);
	if (w->own)
		sock_release(w->own);
}

/* One thread only: close a port, and open those that are closed. */
void race_listen_again(struct race_world *w, struct rnd_state *rnd)
{
	u32 i;

	if (w->kind != RACE_WILD)
		return;
	port_close(&w->ports[race_pick(rnd, RACE_PORTS)], race_chance(rnd, 50));
	for (i = 0; i < RACE_PORTS; i++)
		if (!w->ports[i].listener)
			port_open(&w->ports[i]);
}
