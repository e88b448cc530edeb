/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mpa_races, a consumer of MPA that runs all operations concurrently.
 *
 * A world lives in a namespace: threads and a timer, its actors, that pick
 * connections and operations, all from a seed; and listeners. Each of its
 * connections is an end, which records the callbacks and checks that they are
 * allowed. In a polite world no connection is broken off, so all messages have
 * to arrive.
 */
#ifndef _MPA_RACES_H
#define _MPA_RACES_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/prandom.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <net/mpa.h>
#include <net/sock.h>

#define RACE_THREADS	4
#define RACE_ENDS	40	/* of a world */
#define RACE_QUOTA	48	/* messages of a polite end */
#define RACE_LATE	4

/* Senders: a thread, or one of these */
enum race_actor {
	RACE_CALLBACK	= RACE_THREADS,
	RACE_TIMER,
	RACE_ACTORS,
};

/* Ports of a world, as offsets to its first */
enum race_port_kind {
	RACE_PORT_MPA,		/* for MPA's Requests */
	RACE_PORT_IMMEDIATE,	/* for connections without frames */
	RACE_PORT_RAW,		/* for mpa-peer */
	RACE_PORTS,
	/* Where mpa-peer listens, or an own world */
	RACE_PORT_PEER = RACE_PORTS,
};

enum race_world_kind {
	RACE_WILD,
	RACE_POLITE,
	RACE_OWN,	/* wild, without mpa_connect() and mpa_listen() */
	RACE_NOREF,	/* as RACE_OWN, and no socket holds the namespace */
	RACE_NOABORT,	/* as RACE_NOREF, with no aborts before that */
	RACE_KINDS,
};

enum race_quiet {
	RACE_LIVELY,
	RACE_NO_DIALS,		/* connections of others still continue */
	RACE_NO_ENDS,
};

struct race_world;

/* A port where MPA listens */
struct race_port {
	struct race_world	*world;
	enum race_port_kind	kind;
	struct mpa_listener	*listener;
	struct rnd_state	rnd;		/* for accepted() */
};

struct race_thread {
	struct race_world	*world;
	struct task_struct	*task;
	u32			nr;
};

/* A namespace and its connections */
struct race_world {
	struct list_head	list;
	struct net		*net;
	enum race_world_kind	kind;
	struct sockaddr_storage	peer;		/* of the other world */
	u16			port;		/* the first of the ports */
	u32			limit;		/* s for a polite end */
	u32			seed;		/* of all random numbers */

	/* Read-held while an end is made; write-held to set @quiet */
	struct rw_semaphore	creating;
	enum race_quiet		quiet;
	bool			closing;	/* connections are broken off */
	bool			dying;		/* its namespace goes away */
	bool			gone;		/* that has gone */

	struct race_port	ports[RACE_PORTS];
	struct socket		*own;		/* listens, in an own world */
	struct task_struct	*own_thread;	/* accepts there */
	struct race_thread	threads[RACE_THREADS];
	struct timer_list	timer;		/* another actor */
	struct rnd_state	timer_rnd;

	struct xarray		ends;
	u32			next_id;
	atomic_t		nr_ends;
	spinlock_t		lock;		/* protects @kept */
	struct list_head	kept;		/* batches kept after recv() */
	wait_queue_head_t	wait;		/* for @nr_ends and @gone */
	atomic_t		nr_doomed;	/* established at that time */
	atomic_t		nr_aborted;	/* aborted since */
	atomic_t		nr_late;	/* return after @gone */
};

/* race_end.seen: callbacks that came, and work for actors */
enum race_seen {
	RACE_REQUEST,
	RACE_ESTABLISHED,
	RACE_REJECTED,
	RACE_ENDED,
	RACE_CLOSED,
	RACE_RELEASED,
	RACE_OFTEN,		/* the next ones may come more than once */
	RACE_RECV = RACE_OFTEN,
	RACE_SENT,
	RACE_MULPDU,
	RACE_PENDING,		/* a Request is to be answered */
	RACE_ANSWERED,
	RACE_FORCED,		/* broken off: politeness is over */
	RACE_STUCK,		/* has been reported */
	RACE_DOOMED,		/* one of race_world.nr_doomed */
	RACE_GONE,		/* has no connection, or no longer one */
};

enum race_hold { RACE_HELD, RACE_MOVING, RACE_FREE };
enum race_detach { RACE_ATTACHED, RACE_DETACH, RACE_DETACH_SYNC };

/*
 * An end of a connection. References: one until race_end_gone(), one for the
 * handle of mpa_connect(), one for each batch kept, and those of its users.
 */
struct race_end {
	struct kref		ref;
	struct rcu_head		rcu;
	struct race_world	*world;
	u32			id;
	unsigned long		born;		/* jiffies */
	bool			initiator;
	bool			immediate;	/* without startup frames */
	bool			raw;		/* the peer may do anything */
	bool			ooo;		/* ULPDUs out of order */

	/* The task that clears it closes it. */
	struct mpa_connector	*connector;
	atomic_t		done;		/* calls of done() */
	/* Read-held while @conn is used; released() waits for it */
	rwlock_t		use;
	struct mpa_conn		*conn;		/* until released() */
	struct socket		*sock;
	struct rnd_state	rnd;		/* for callbacks */

	unsigned long		seen;		/* enum race_seen */
	atomic_t		inside;		/* callbacks running */
	atomic_t		detach;		/* enum race_detach: right to */
	/* After mpa_detach() returned: 1 + callbacks that may still come */
	atomic_t		left;
	atomic_t		late;		/* callbacks since then */
	atomic_t		hold;		/* enum race_hold: right to */
	atomic_t		held;		/* mpa_hold() returned */
	atomic_t		held_recv;	/* calls of recv() since */

	u32			quota;		/* messages of a polite end */
	u32			peer_quota;	/* those of its peer */
	atomic_t		tickets;	/* that actors began to send */
	atomic_t		accepted;	/* that MPA took */
	atomic_t		out;		/* that MPA has */
	u32			received;	/* complete ones */
	int			status;		/* first error of those back */
	/* The number of the last message, by its actor */
	u32			posted[RACE_ACTORS];
	u32			back[RACE_ACTORS];
	u32			got[RACE_ACTORS];
	/* Octets so far of one that is not complete */
	u32			part[RACE_ACTORS];
	u64			pos;		/* mpa_rx.delivered */
};

/* Counted for the result, which has them in this order */
enum race_counter {
	RACE_N_FOUND,
	RACE_N_ENDS,
	RACE_N_ESTABLISHED,
	RACE_N_REJECTED,
	RACE_N_FIN,
	RACE_N_RESET,
	RACE_N_ABORTED,
	RACE_N_TIMEOUT,
	RACE_N_FAILED,
	RACE_N_COMPLETE,
	RACE_N_SENT,
	RACE_N_CANCELED,
	RACE_N_RECEIVED,
	RACE_N_KEPT_LATE,
	RACE_N_HELD,
	RACE_N_DETACH_SYNC,
	RACE_N_CONNECT_CLOSED,
	RACE_N_REATTACHED,
	RACE_N_SPACES,
	RACE_N_DOOMED,
	RACE_N_LINGERED,
	RACE_N_ACTIONS,
	RACE_COUNTS,
};

extern atomic_t race_counts[RACE_COUNTS];

static inline void race_count(enum race_counter n)
{
	atomic_inc(&race_counts[n]);
}

/* main.c */
__printf(2, 3)
void race_found(const struct race_end *e, const char *fmt, ...);
bool race_world_enter(struct race_world *w, enum race_quiet below);
void race_world_leave(struct race_world *w);

/* 0 to @below - 1 */
static inline u32 race_pick(struct rnd_state *rnd, u32 below)
{
	return prandom_u32_state(rnd) % below;
}

static inline bool race_chance(struct rnd_state *rnd, u32 percent)
{
	return race_pick(rnd, 100) < percent;
}

static inline bool race_noref(const struct race_world *w)
{
	return w->kind == RACE_NOREF || w->kind == RACE_NOABORT;
}

static inline bool race_own(const struct race_world *w)
{
	return w->kind == RACE_OWN || race_noref(w);
}

/* True if we break off no connection */
static inline bool race_calm(const struct race_world *w)
{
	return w->kind == RACE_POLITE || w->kind == RACE_NOABORT;
}

/* end.c */
struct race_end *race_end_new(struct race_world *w, struct rnd_state *rnd);
void race_end_put(struct race_end *e);
void race_end_gone(struct race_end *e);
void race_end_make(struct race_end *e, struct socket *sock);
void race_end_params(struct race_end *e, struct mpa_params *params,
		     struct rnd_state *rnd);
struct race_end *race_end_next(struct race_world *w, unsigned long *id);
struct race_end *race_end_any(struct race_world *w, struct rnd_state *rnd);
struct mpa_conn *race_end_use(struct race_end *e);
void race_end_unuse(struct race_end *e);
void race_end_detach(struct race_end *e, bool in_callback);
void race_end_detach_sync(struct race_end *e);
void race_end_show(struct race_end *e);
bool race_end_polite(const struct race_end *e);
bool race_end_calm(const struct race_end *e);
int race_end_pd(const struct race_end *e, u32 pd[2]);
void race_end_has(struct race_end *e, struct socket *sock,
		  struct mpa_conn *conn);

/* Each end of @w, with a reference for the body of the loop */
#define race_for_each_end(w, e, id) \
	for (id = 0; (e = race_end_next(w, &id)); race_end_put(e))

/* check.c */
int race_check_init(void);
void race_check_info(struct race_end *e, struct mpa_conn *conn);
void race_check_enter(struct race_end *e, enum race_seen what);
void race_check_leave(struct race_end *e);
void race_check_out(struct race_end *e);
void race_check_released(struct race_end *e);
void race_check_time(struct race_world *w);

/* msg.c */
void race_msg_send(struct race_end *e, struct rnd_state *rnd,
		   enum race_actor actor, gfp_t gfp);
void race_msg_back(struct race_end *e, struct list_head *done);
void race_msg_check(struct race_end *e, const struct mpa_rx *rx);

/* act.c */
void race_act(struct race_world *w, struct rnd_state *rnd,
	      enum race_actor actor);
void race_act_callback(struct race_end *e);
void race_act_timer(struct race_world *w);
void race_answer(struct race_end *e, struct rnd_state *rnd);
void race_resume(struct race_end *e);
void race_keep(struct race_end *e, struct mpa_rx *rx);
bool race_put_kept(struct race_world *w);

/* dial.c */
int race_listen(struct race_world *w);
void race_unlisten(struct race_world *w);
void race_listen_again(struct race_world *w, struct rnd_state *rnd);
void race_dial(struct race_world *w, struct rnd_state *rnd);
void race_dial_close(struct race_end *e);

#endif /* _MPA_RACES_H */
