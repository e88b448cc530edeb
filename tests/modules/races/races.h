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

/* a namespace and its connections */
struct race_world {
	struct list_head	list;	/* entry in worlds */
	struct net		*net;	/* the namespace */
	struct sockaddr_storage	peer;	/* address of the other world */
	u16			port;	/* the first of the ports */
	enum race_world_kind	kind;	/* permitted operations */
	u32			limit;	/* seconds that a polite end may take */
	u32			seed;	/* of all random numbers */
	/* read-held while an end is made; write-held to set @quiet */
	struct rw_semaphore	creating;
	enum race_quiet		quiet;	/* &enum race_quiet */
	/* its namespace goes away, and MPA is about to end its connections */
	bool			dying;
	bool			gone;	/* its namespace has gone away */
	struct race_port	ports[RACE_PORTS];	/* listeners */
	struct socket		*raw;	/* a listening socket without MPA */
	struct task_struct	*raw_thread;	/* accepts on @raw */
	struct race_thread	threads[RACE_THREADS];	/* actors */
	struct timer_list	timer;	/* another actor */
	struct rnd_state	timer_rnd;	/* random numbers of @timer */
	spinlock_t		lock;	/* protects @slots to @nr_parked */
	struct race_end		*slots[RACE_SLOTS];	/* ends */
	struct list_head	dials;	/* connections under way */
	struct list_head	kept;	/* batches kept after recv() */
	/* raw sockets left open */
	struct socket		*parked[RACE_PARKED];
	u32			nr_parked;	/* number of @parked */
	wait_queue_head_t	wait;	/* for @slots, @nr_dials and @gone */
	atomic_t		nr_ends;	/* ends that are not gone */
	/* done() that have not been called */
	atomic_t		nr_dials;
	/* ends in full operation when @dying was set */
	atomic_t		nr_doomed;
	/* ends that were aborted since */
	atomic_t		nr_aborted;
	/* released() that return after the namespace has gone */
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
	RACE_RUN,
	RACE_PENDING,		/* a Request is to be answered */
	RACE_ANSWERED,
	RACE_FORCED,		/* broken off: politeness is over */
	RACE_STUCK,		/* has been reported */
	RACE_DOOMED,		/* one of race_world.nr_doomed */
};

/* In recv(), run() and sent(), which may come in softirq */
static inline gfp_t race_gfp(void)
{
	return in_softirq() ? GFP_ATOMIC : GFP_KERNEL;
}

enum race_hold { RACE_HELD, RACE_MOVING, RACE_FREE };
enum race_detach { RACE_ATTACHED, RACE_DETACH, RACE_DETACH_SYNC };

/* an end of a connection */
struct race_end {
	/* for its slot, its connection or the call that makes it, its users */
	struct kref		ref;
	struct race_world	*world;	/* world it belongs to */
	u32			slot;	/* index in world.slots */
	u32			id;	/* number in messages */
	unsigned long		born;	/* jiffies */
	bool			initiator;	/* it sends the Request */
	bool			immediate;	/* without startup frames */
	/* the peer speaks TCP only, or other terms: any error may come */
	bool			raw;
	/* it has asked for ULPDUs out of order */
	bool			ooo;
	/*
	 * read-held while @conn is used; released() takes it for writing, so it
	 * cannot return before
	 */
	rwlock_t		use;
	struct mpa_conn		*conn;	/* connection, until released() */
	struct socket		*sock;	/* its socket */
	struct rnd_state	rnd;	/* random numbers of its callbacks */
	atomic_t		detach;	/* right to detach: &enum race_detach */
	/* after mpa_detach() returned: 1 + callbacks that may still come */
	atomic_t		left;
	atomic_t		late;	/* callbacks that came after it */
	atomic_t		inside;	/* callbacks running */
	unsigned long		seen;	/* &enum race_seen */
	/* right to hold and resume: &enum race_hold */
	atomic_t		hold;
	atomic_t		held;	/* mpa_hold() has returned */
	atomic_t		held_recv;	/* calls of recv() since */
	u32			quota;	/* messages to send, by a polite end */
	/* messages to receive from a polite peer */
	u32			peer_quota;
	/* messages that an actor has begun to send */
	atomic_t		tickets;
	atomic_t		accepted;	/* messages that MPA took */
	atomic_t		out;	/* messages that MPA has */
	atomic_t		nows;	/* threads that send at once */
	/* complete messages of the peer */
	u32			received;
	/* of messages handed back, the first error */
	int			status;
	/* number of the last message of each actor */
	u32			posted[RACE_ACTORS];
	/* number of the last message handed back */
	u32			back[RACE_ACTORS];
	/* number of the last message of each actor of the peer */
	u32			got[RACE_ACTORS];
	/* remaining ULPDUs of it begin here, 0 if it is complete */
	u32			part[RACE_ACTORS];
	u64			pos;	/* &mpa_rx.delivered */
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
void race_end_each(struct race_world *w, void (*act)(struct race_end *e));
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
struct race_end *race_check_enter(struct mpa_conn *conn, enum race_seen what);
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
