// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Making connections: mpa_listen(), mpa_connect() in all its ways. */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/slab.h>

#include "races.h"

/* Messages each way where no private data can say how many */
#define IMMEDIATE_QUOTA	12

/* a mpa_connect() */
struct race_dial {
	/* for the handle, for done(), and for world.dials */
	struct kref		ref;
	struct list_head	list;	/* entry in world.dials */
	struct race_world	*world;	/* world of the connection */
	struct race_end		*end;	/* for the connection */
	/* the handle; the task that clears it closes it */
	struct mpa_connector	*connector;
	atomic_t		done;	/* number of calls of done() */
};

static void dial_free(struct kref *ref)
{
	kfree(container_of(ref, struct race_dial, ref));
}

static void dial_put(struct race_dial *d)
{
	kref_put(&d->ref, dial_free);
}

static void dial_close(struct race_dial *d)
{
	struct mpa_connector *connector = xchg(&d->connector, NULL);

	if (!connector)
		return;
	mpa_connect_close(connector);
	race_count(RACE_N_CONNECT_CLOSED);
	dial_put(d);
}

/* Close a handle; returns false if there is none. */
static bool hang_up(struct race_world *w, bool polite)
{
	struct race_dial *d;

	spin_lock_bh(&w->lock);
	d = list_first_entry_or_null(&w->dials, struct race_dial, list);
	if (d && polite && !atomic_read(&d->done))
		d = NULL;
	if (d)
		list_del(&d->list);
	spin_unlock_bh(&w->lock);
	if (!d)
		return false;
	dial_close(d);
	dial_put(d);
	return true;
}

void race_hang_up(struct race_world *w)
{
	if (!READ_ONCE(race_closing)) {
		hang_up(w, w->kind == RACE_POLITE);
		return;
	}
	while (hang_up(w, false))
		;
}

/* True if a polite attempt may have this result */
static bool dial_expected(const struct race_dial *d, int err)
{
	return d->world->kind != RACE_POLITE || READ_ONCE(race_closing) ||
	       err == -ECONNREFUSED;
}

static void dial_made(struct race_dial *d, struct socket *sock,
		      struct mpa_conn *conn)
{
	struct race_end *e = d->end;
	bool polite = d->world->kind == RACE_POLITE;

	if (conn) {
		race_end_has(e, sock, conn);
		if (!polite && race_chance(&e->rnd, 5))
			race_end_detach(e, true);
	} else if (race_end_attach(e, sock)) {
		sock_release(sock);
		race_end_gone(e);
	}
}

static void dial_done(void *ctx, struct socket *sock, struct mpa_conn *conn,
		      int err)
{
	struct race_dial *d = ctx;
	struct race_world *w = d->world;
	bool close = race_chance(&d->end->rnd, 40);

	if (atomic_inc_return(&d->done) != 1)
		race_found(d->end, "done() twice");
	if (err && !dial_expected(d, err))
		race_found(d->end, "done() with %d", err);
	if (err)
		race_end_gone(d->end);
	else
		dial_made(d, sock, conn);
	if (close)
		dial_close(d);
	dial_put(d);
	if (atomic_dec_and_test(&w->nr_dials))
		wake_up(&w->wait);
}

static struct race_dial *dial_new(struct race_world *w, struct race_end *e)
{
	struct race_dial *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (!d)
		return NULL;
	kref_init(&d->ref);
	kref_get(&d->ref);
	kref_get(&d->ref);
	d->world = w;
	d->end = e;
	atomic_inc(&w->nr_dials);
	return d;
}

/* The call has failed: no handle, no done(). */
static void dial_failed(struct race_dial *d)
{
	struct race_world *w = d->world;

	race_end_gone(d->end);
	kfree(d);
	if (atomic_dec_and_test(&w->nr_dials))
		wake_up(&w->wait);
}

static void dial_called(struct race_dial *d, struct mpa_connector *connector,
			bool close)
{
	struct race_world *w = d->world;

	xchg(&d->connector, connector);
	if (close)
		dial_close(d);
	spin_lock_bh(&w->lock);
	list_add_tail(&d->list, &w->dials);
	spin_unlock_bh(&w->lock);
}

/* The port is at the same offset for IPv4 and IPv6. */
static void race_port(const struct race_world *w, enum race_port_kind port,
		      struct sockaddr_storage *addr)
{
	((struct sockaddr_in *)addr)->sin_port = htons(w->port + port);
}

/* Where others listen */
void race_peer(const struct race_world *w, enum race_port_kind port,
	       struct sockaddr_storage *addr)
{
	*addr = w->peer;
	race_port(w, port, addr);
}

/* Where we do */
void race_local(const struct race_world *w, enum race_port_kind port,
		struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->ss_family = w->peer.ss_family;
	race_port(w, port, addr);
}

/* mpa_connect(), which may start MPA as well */
static void dial(struct race_world *w, struct race_end *e,
		 struct rnd_state *rnd, enum race_port_kind port, bool start)
{
	struct mpa_sock_params params = { .net = w->net };
	struct mpa_connector *connector;
	struct race_dial *d = dial_new(w, e);
	bool close = w->kind != RACE_POLITE && race_chance(rnd, 10);
	struct mpa_params with;
	u32 pd[2];

	if (!d) {
		race_end_gone(e);
		return;
	}
	race_peer(w, port, &params.peer);
	params.ctx = d;
	if (start) {
		race_end_params(e, &with, rnd);
		params.start = &with;
		params.pd_len = race_end_pd(e, pd);
		params.pd = pd;
		if (with.rev == MPA_REV_2 && race_chance(rnd, 60))
			params.flags |= MPA_F_FALLBACK;
	}
	connector = mpa_connect(&params, dial_done);
	if (IS_ERR(connector))
		dial_failed(d);
	else
		dial_called(d, connector, close);
}

/* A socket that MPA has not made */
static void dial_own(struct race_world *w, struct race_end *e,
		     enum race_port_kind port)
{
	struct socket *sock = race_raw_connect(w, port);

	if (!sock) {
		race_end_gone(e);
	} else if (race_end_attach(e, sock)) {
		sock_release(sock);
		race_end_gone(e);
	}
}

static void end_immediate(struct race_end *e)
{
	e->immediate = true;
	e->quota = IMMEDIATE_QUOTA;
	e->peer_quota = IMMEDIATE_QUOTA;
}

/* race_world_enter() was called. */
static void dial_any(struct race_world *w, struct race_end *e,
		     struct rnd_state *rnd)
{
	u32 pick = race_pick(rnd, w->kind == RACE_WILD ? 100 : 80);

	e->initiator = true;
	if (race_own(w)) {
		e->raw = w->kind == RACE_OWN;
		dial_own(w, e, RACE_PORT_RAW);
	} else if (pick < 40) {
		dial(w, e, rnd, RACE_PORT_MPA, true);
	} else if (pick < 55) {
		dial(w, e, rnd, RACE_PORT_MPA, false);
	} else if (pick < 70) {
		dial_own(w, e, RACE_PORT_MPA);
	} else if (pick < 80) {
		end_immediate(e);
		dial(w, e, rnd, RACE_PORT_IMMEDIATE, false);
	} else {
		e->raw = true;
		dial(w, e, rnd, RACE_PORT_RAW, true);
	}
}

/* Make one more connection, up to the limit. */
void race_dial(struct race_world *w, struct rnd_state *rnd)
{
	struct race_end *e;

	if (atomic_read(&w->nr_ends) > RACE_SLOTS / 2 ||
	    !race_world_enter(w, RACE_NO_DIALS))
		return;
	if (w->kind == RACE_WILD && race_chance(rnd, 25)) {
		race_raw_client(w, rnd);
	} else {
		e = race_end_new(w, rnd);
		if (e)
			dial_any(w, e, rnd);
	}
	race_world_leave(w);
}

static void accept_one(struct race_world *w, struct race_end *e,
		       enum race_port_kind kind, struct socket *sock)
{
	e->raw = kind == RACE_PORT_HOSTILE || w->kind == RACE_OWN;
	if (kind == RACE_PORT_IMMEDIATE)
		end_immediate(e);
	if (race_end_attach(e, sock)) {
		sock_release(sock);
		race_end_gone(e);
	}
}

/* A connection has come in; a polite peer is not turned away. */
void race_accept(struct race_world *w, enum race_port_kind kind,
		 struct socket *sock, struct rnd_state *rnd)
{
	struct race_end *e;

	while (race_world_enter(w, RACE_NO_ENDS)) {
		e = race_end_new(w, rnd);
		if (e)
			accept_one(w, e, kind, sock);
		race_world_leave(w);
		if (e)
			return;
		usleep_range(5000, 10000);
	}
	sock_release(sock);
}

static void port_accepted(void *ctx, struct socket *sock)
{
	struct race_port *port = ctx;

	race_accept(port->world, port->kind, sock, &port->rnd);
}

static int port_open(struct race_port *port)
{
	struct race_world *w = port->world;
	struct mpa_sock_params params = {
		.net	= w->net,
		.ctx	= port,
	};
	struct mpa_listener *listener;

	race_local(w, port->kind, &params.local);
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

	for (i = 0; i < RACE_PORT_RAW && !err; i++) {
		w->ports[i].world = w;
		w->ports[i].kind = i;
		prandom_seed_state(&w->ports[i].rnd, w->seed + 100 + i);
		if (!race_own(w))
			err = port_open(&w->ports[i]);
	}
	return err;
}

void race_unlisten(struct race_world *w)
{
	u32 i;

	for (i = 0; i < RACE_PORT_RAW; i++)
		port_close(&w->ports[i], i % 2);
}

/* One thread only: close a port, and open those that are closed. */
void race_listen_again(struct race_world *w, struct rnd_state *rnd)
{
	u32 i;

	if (w->kind != RACE_WILD)
		return;
	port_close(&w->ports[race_pick(rnd, RACE_PORT_RAW)],
		   race_chance(rnd, 50));
	for (i = 0; i < RACE_PORT_RAW; i++)
		if (!w->ports[i].listener)
			port_open(&w->ports[i]);
}
