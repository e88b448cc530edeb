/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mpa_races, a consumer of MPA that runs all operations concurrently.
 *
 * A world lives in a namespace: threads and a timer, its actors, that pick
 * connections and operations, all from a seed; listeners; and peers that speak
 * TCP only. Each of its connections is an end, which records the callbacks and
 * checks that they are allowed. In a polite world no connection is broken off,
 * so all messages have to arrive.
 */
#ifndef _MPA_RACES_H
#define _MPA_RACES_H

#include <linux/bvec.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/prandom.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <net/mpa.h>
#include <net/sock.h>
#include "mpa_compat.h"

#define RACE_THREADS	4
#define RACE_SLOTS	40
#define RACE_QUOTA	48	/* messages of a polite end */
#define RACE_PAGES	4
#define RACE_PARKED	12
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
	RACE_PORT_HOSTILE,	/* for raw peers */
	RACE_PORT_RAW,		/* where raw peers listen */
	RACE_PORTS,
};

enum race_world_kind {
	RACE_WILD,
	RACE_POLITE,
	RACE_OWN,	/* wild, without mpa_connect() and mpa_listen(); peers
			 * are others'
			 */
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

/* A port where MPA listens; @rnd is for accepted() */
struct race_port {
	struct race_world	*world;
	enum race_port_kind	kind;
	struct mpa_listener	*listener;
	struct rnd_state	rnd;
};

/* A thread that acts */
struct race_thread {
	struct race_world	*world;
	struct task_struct	*task;
	u32			nr;
};

/**
 * struct race_world - a namespace and its connections
 * @list: entry in worlds
 * @net: the namespace
 * @peer: address of the other world
 * @port: the first of the ports
 * @kind: permitted operations
 * @limit: seconds that a polite end may take
 * @seed: of all random numbers
 * @creating: read-held while an end is made; write-held to set @quiet
 * @quiet: &enum race_quiet
 * @dying: its namespace goes away, and MPA is about to end its connections
 * @gone: its namespace has gone away
 * @ports: listeners
 * @raw: a listening socket without MPA
 * @raw_thread: accepts on @raw
 * @threads: actors
 * @timer: another actor
 * @timer_rnd: random numbers of @timer
 * @lock: protects @slots to @nr_parked
 * @slots: ends
 * @dials: connections under way
 * @kept: batches kept after recv()
 * @parked: raw sockets left open
 * @nr_parked: number of @parked
 * @wait: for @slots, @nr_dials and @gone
 * @nr_ends: ends that are not gone
 * @nr_dials: done() that have not been called
 * @nr_doomed: ends in full operation when @dying was set
 * @nr_aborted: ends that were aborted since
 * @nr_late: released() that return after the namespace has gone
 */
struct race_world {
	struct list_head	list;
	struct net		*net;
	struct sockaddr_storage	peer;
	u16			port;
	enum race_world_kind	kind;
	u32			limit;
	u32			seed;
	struct rw_semaphore	creating;
	enum race_quiet		quiet;
	bool			dying;
	bool			gone;
	struct race_port	ports[RACE_PORTS];
	struct socket		*raw;
	struct task_struct	*raw_thread;
	struct race_thread	threads[RACE_THREADS];
	struct timer_list	timer;
	struct rnd_state	timer_rnd;
	spinlock_t		lock;	/* protects slots to nr_parked */
	struct race_end		*slots[RACE_SLOTS];
	struct list_head	dials;
	struct list_head	kept;
	struct socket		*parked[RACE_PARKED];
	u32			nr_parked;
	wait_queue_head_t	wait;
	atomic_t		nr_ends;
	atomic_t		nr_dials;
	atomic_t		nr_doomed;
	atomic_t		nr_aborted;
	atomic_t		nr_late;
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
};

enum race_hold { RACE_HELD, RACE_MOVING, RACE_FREE };
enum race_detach { RACE_ATTACHED, RACE_DETACH, RACE_DETACH_SYNC };

/**
 * struct race_end - an end of a connection
 * @ref: for its slot, its connection or the call that makes it, and its users
 * @world: world it belongs to
 * @slot: index in world.slots
 * @id: number in messages
 * @born: jiffies
 * @initiator: it sends the Request
 * @immediate: without startup frames
 * @raw: the peer speaks TCP only, or other terms: any error may come
 * @ooo: it has asked for ULPDUs out of order
 * @use: read-held while @conn is used; released() takes it for writing, so it
 *	cannot return before
 * @conn: connection, until released()
 * @sock: its socket
 * @rnd: random numbers of its callbacks
 * @detach: right to detach: &enum race_detach
 * @left: after mpa_detach() returned: 1 + callbacks that may still come
 * @late: callbacks that came after it
 * @inside: callbacks running
 * @seen: &enum race_seen
 * @hold: right to hold and resume: &enum race_hold
 * @held: mpa_hold() has returned
 * @held_recv: calls of recv() since
 * @quota: messages to send, by a polite end
 * @peer_quota: messages to receive from a polite peer
 * @tickets: messages that an actor has begun to send
 * @accepted: messages that MPA took
 * @out: messages that MPA has
 * @received: complete messages of the peer
 * @status: of messages handed back, the first error
 * @posted: number of the last message of each actor
 * @back: number of the last message handed back
 * @got: number of the last message of each actor of the peer
 * @part: remaining ULPDUs of it begin here, 0 if it is complete
 * @pos: &mpa_rx.delivered
 */
struct race_end {
	struct kref		ref;
	struct race_world	*world;
	u32			slot;
	u32			id;
	unsigned long		born;
	bool			initiator;
	bool			immediate;
	bool			raw;
	bool			ooo;
	rwlock_t		use;
	struct mpa_conn		*conn;
	struct socket		*sock;
	struct rnd_state	rnd;
	atomic_t		detach;
	atomic_t		left;
	atomic_t		late;
	atomic_t		inside;
	unsigned long		seen;
	atomic_t		hold;
	atomic_t		held;
	atomic_t		held_recv;
	u32			quota;
	u32			peer_quota;
	atomic_t		tickets;
	atomic_t		accepted;
	atomic_t		out;
	u32			received;
	int			status;
	u32			posted[RACE_ACTORS];
	u32			back[RACE_ACTORS];
	u32			got[RACE_ACTORS];
	u32			part[RACE_ACTORS];
	u64			pos;
};

/* Counted for the result; names in main.c */
enum race_count {
	RACE_N_FOUND,
	RACE_N_ENDS,
	RACE_N_RELEASED,
	RACE_N_ESTABLISHED,
	RACE_N_REJECTED,
	RACE_N_GRACEFUL,
	RACE_N_RESET,
	RACE_N_ABORTED,
	RACE_N_TIMEOUT,
	RACE_N_FAILED,
	RACE_N_POLITE,
	RACE_N_SENT,
	RACE_N_CANCELED,
	RACE_N_ZEROCOPY,
	RACE_N_SOURCES,
	RACE_N_RECEIVED,
	RACE_N_KEPT,
	RACE_N_KEPT_LATE,
	RACE_N_HELD,
	RACE_N_DETACH_SYNC,
	RACE_N_CONNECT_CLOSED,
	RACE_N_REATTACHED,
	RACE_N_RAW,
	RACE_N_SPACES,
	RACE_N_DOOMED,
	RACE_N_LINGERED,
	RACE_N_ACTIONS,
	RACE_COUNTS,
};

extern atomic_t race_counts[RACE_COUNTS];
extern bool race_closing;	/* worlds are being stopped */

static inline void race_count(enum race_count n)
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

/* end.c */
struct race_end *race_end_new(struct race_world *w, struct rnd_state *rnd);
void race_end_put(struct race_end *e);
void race_end_gone(struct race_end *e);
int race_end_attach(struct race_end *e, struct socket *sock);
void race_end_params(struct race_end *e, struct mpa_params *params,
		     struct rnd_state *rnd);
struct race_end *race_end_any(struct race_world *w, struct rnd_state *rnd);
struct mpa_conn *race_end_use(struct race_end *e);
void race_end_unuse(struct race_end *e);
void race_end_detach(struct race_end *e, bool in_callback);
void race_end_detach_sync(struct race_end *e);
void race_end_force(struct race_end *e);
void race_end_show(struct race_end *e);
bool race_end_polite(const struct race_end *e);
bool race_end_calm(const struct race_end *e);
int race_end_pd(const struct race_end *e, u32 pd[2]);
void race_end_has(struct race_end *e, struct socket *sock,
		  struct mpa_conn *conn);
void race_end_force_all(struct race_world *w);
void race_end_show_all(struct race_world *w);
void race_end_doom_all(struct race_world *w);
u32 race_end_untold(struct race_world *w);

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

/* check.c */
int race_check_init(void);
void race_check_sock(const struct race_end *e);
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
void race_accept(struct race_world *w, enum race_port_kind kind,
		 struct socket *sock, struct rnd_state *rnd);
void race_dial(struct race_world *w, struct rnd_state *rnd);
void race_hang_up(struct race_world *w);

void race_peer(const struct race_world *w, enum race_port_kind port,
	       struct sockaddr_storage *addr);
void race_local(const struct race_world *w, enum race_port_kind port,
		struct sockaddr_storage *addr);

/* raw.c */
struct socket *race_raw_connect(struct race_world *w,
				enum race_port_kind port);
int race_raw_listen(struct race_world *w);
void race_raw_unlisten(struct race_world *w);
void race_raw_client(struct race_world *w, struct rnd_state *rnd);
bool race_raw_unpark(struct race_world *w, bool reset);

#endif /* _MPA_RACES_H */
