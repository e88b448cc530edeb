// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* An end of a connection: its making, its callbacks, and its end. */
#include <linux/delay.h>
#include <linux/slab.h>

#include "races.h"

#define PD_MAGIC	0x72616365

static void end_free(struct kref *ref)
{
	kfree(container_of(ref, struct race_end, ref));
}

void race_end_put(struct race_end *e)
{
	kref_put(&e->ref, end_free);
}

static int world_slot(struct race_world *w, struct race_end *e)
{
	int i, free = -1;

	spin_lock_bh(&w->lock);
	for (i = 0; i < RACE_SLOTS && free < 0; i++)
		if (!w->slots[i])
			free = i;
	if (free >= 0)
		w->slots[free] = e;
	spin_unlock_bh(&w->lock);
	return free;
}

/* Returns NULL if there is no free slot. Valid until race_end_gone() */
struct race_end *race_end_new(struct race_world *w, struct rnd_state *rnd)
{
	static atomic_t ids = ATOMIC_INIT(0);
	struct race_end *e = kzalloc(sizeof(*e), GFP_KERNEL);
	int slot;

	if (!e)
		return NULL;
	kref_init(&e->ref);
	rwlock_init(&e->use);
	e->world = w;
	e->id = atomic_inc_return(&ids);
	e->born = jiffies;
	e->quota = race_pick(rnd, RACE_QUOTA) + 1;
	/* Delivery begins on hold. */
	atomic_set(&e->held, 1);
	atomic_set(&e->held_recv, 1);
	prandom_seed_state(&e->rnd, prandom_u32_state(rnd));
	slot = world_slot(w, e);
	if (slot < 0) {
		kfree(e);
		return NULL;
	}
	e->slot = slot;
	atomic_inc(&w->nr_ends);
	race_count(RACE_N_ENDS);
	return e;
}

/* It has no connection, or no longer one; the caller must not use it. */
void race_end_gone(struct race_end *e)
{
	struct race_world *w = e->world;

	spin_lock_bh(&w->lock);
	w->slots[e->slot] = NULL;
	spin_unlock_bh(&w->lock);
	race_end_put(e);
	if (atomic_dec_and_test(&w->nr_ends))
		wake_up(&w->wait);
}

/* The end in a slot, with a reference, or NULL */
static struct race_end *end_get(struct race_world *w, u32 slot)
{
	struct race_end *e;

	spin_lock_bh(&w->lock);
	e = w->slots[slot];
	if (e)
		kref_get(&e->ref);
	spin_unlock_bh(&w->lock);
	return e;
}

/* The same of any end */
struct race_end *race_end_any(struct race_world *w, struct rnd_state *rnd)
{
	u32 i, from = race_pick(rnd, RACE_SLOTS);
	struct race_end *e = NULL;

	for (i = 0; i < RACE_SLOTS && !e; i++)
		e = end_get(w, (from + i) % RACE_SLOTS);
	return e;
}

void race_end_each(struct race_world *w, void (*act)(struct race_end *e))
{
	struct race_end *e;
	u32 i;

	for (i = 0; i < RACE_SLOTS; i++) {
		e = end_get(w, i);
		if (!e)
			continue;
		act(e);
		race_end_put(e);
	}
}

/* Its connection, which stays until race_end_unuse(), or NULL */
struct mpa_conn *race_end_use(struct race_end *e)
{
	read_lock_bh(&e->use);
	if (e->conn)
		return e->conn;
	read_unlock_bh(&e->use);
	return NULL;
}

void race_end_unuse(struct race_end *e)
{
	read_unlock_bh(&e->use);
}

/* Many may do that, but none while another waits for it. */
void race_end_detach(struct race_end *e, bool in_callback)
{
	struct mpa_conn *conn;

	if (atomic_cmpxchg(&e->detach, RACE_ATTACHED, RACE_DETACH) ==
	    RACE_DETACH_SYNC)
		return;
	conn = race_end_use(e);
	if (!conn)
		return;
	mpa_detach(conn);
	if (in_callback)
		atomic_set(&e->left, 1);
	else
		atomic_cmpxchg(&e->left, 0, 2);
	race_end_unuse(e);
}

/* The first to detach may wait; the connection cannot go before. */
void race_end_detach_sync(struct race_end *e)
{
	struct mpa_conn *conn;

	conn = race_end_use(e);
	if (!conn)
		return;
	if (atomic_cmpxchg(&e->detach, RACE_ATTACHED, RACE_DETACH_SYNC))
		conn = NULL;
	race_end_unuse(e);
	if (!conn)
		return;
	race_count(RACE_N_DETACH_SYNC);
	if (mpa_detach_sync(conn))
		race_found(e, "mpa_detach_sync() has not waited");
	if (!test_bit(RACE_RELEASED, &e->seen) || atomic_read(&e->inside))
		race_found(e, "mpa_detach_sync() before released()");
}

/* True if all its messages have to arrive */
bool race_end_polite(const struct race_end *e)
{
	return e->world->kind == RACE_POLITE &&
	       !test_bit(RACE_FORCED, &e->seen);
}

/* True if we do not break off its connection */
bool race_end_calm(const struct race_end *e)
{
	return race_calm(e->world) && !test_bit(RACE_FORCED, &e->seen);
}

/* The world comes to an end. */
void race_end_force(struct race_end *e)
{
	struct mpa_conn *conn;

	set_bit(RACE_FORCED, &e->seen);
	conn = race_end_use(e);
	if (!conn)
		return;
	if (e->id % 2)
		mpa_abort(conn);
	race_end_unuse(e);
	race_end_detach(e, false);
}

void race_end_show(struct race_end *e)
{
	struct mpa_info info = {};
	struct mpa_conn *conn = race_end_use(e);
	int tcp = 0;

	if (conn) {
		mpa_get_info(conn, &info);
		tcp = mpa_conn_socket(conn)->sk->sk_state;
		race_end_unuse(e);
	}
	pr_err("mpa_races: end %u, %s, %u ms old: %s, seen %lx, detach %d, hold %d, inside %d, out %d, accepted %d of %u, received %u of %u, state %d, tcp %d, tx %llu, rx %llu\n",
	       e->id, e->initiator ? "initiator" : "responder",
	       jiffies_to_msecs(jiffies - e->born),
	       conn ? "attached" : "no connection", e->seen,
	       atomic_read(&e->detach), atomic_read(&e->hold),
	       atomic_read(&e->inside), atomic_read(&e->out),
	       atomic_read(&e->accepted), e->quota, e->received,
	       e->peer_quota, info.state, tcp, info.tx_pos, info.rx_pos);
}

/* Its namespace is going away. */
static void end_doom(struct race_end *e)
{
	unsigned long seen = READ_ONCE(e->seen);

	if (!(seen & BIT(RACE_ESTABLISHED)) || seen & BIT(RACE_ENDED))
		return;
	set_bit(RACE_DOOMED, &e->seen);
	atomic_inc(&e->world->nr_doomed);
	race_count(RACE_N_DOOMED);
}

void race_end_doom_all(struct race_world *w)
{
	WRITE_ONCE(w->dying, true);
	race_end_each(w, end_doom);
}

/* Returns the number of ends that closed() has yet to be called for */
u32 race_end_untold(struct race_world *w)
{
	struct race_end *e;
	u32 i, nr = 0;

	for (i = 0; i < RACE_SLOTS; i++) {
		e = end_get(w, i);
		if (!e)
			continue;
		nr += !test_bit(RACE_CLOSED, &e->seen) &&
		      atomic_read(&e->detach) == RACE_ATTACHED;
		race_end_put(e);
	}
	return nr;
}

/* It exceeded its time: a wake-up or a message was lost. */
static void end_check_time(struct race_end *e)
{
	unsigned long limit = e->born + e->world->limit * HZ;

	if (!race_end_polite(e) || time_before(jiffies, limit) ||
	    test_and_set_bit(RACE_STUCK, &e->seen))
		return;
	race_found(e, "it is stuck");
	race_end_show(e);
}

void race_check_time(struct race_world *w)
{
	race_end_each(w, end_check_time);
}

/* The private data says how many messages will come. Returns octets. */
int race_end_pd(const struct race_end *e, u32 pd[2])
{
	pd[0] = PD_MAGIC;
	pd[1] = e->quota;
	return 2 * sizeof(u32);
}

static void end_read_pd(struct race_end *e, const struct mpa_startup *s)
{
	const u32 *pd = s ? s->pd : NULL;

	if (pd && s->pd_len == 2 * sizeof(u32) && pd[0] == PD_MAGIC)
		e->peer_quota = pd[1];
	else if (e->world->kind == RACE_POLITE && !e->immediate && s)
		race_found(e, "%u octets of private data", s->pd_len);
}

/* Callbacks */

static void end_leave(struct race_end *e)
{
	race_act_callback(e);
	race_check_leave(e);
}

static void end_request(struct mpa_conn *conn, const struct mpa_startup *req)
{
	struct race_end *e = race_check_enter(conn, RACE_REQUEST);

	end_read_pd(e, req);
	set_bit(RACE_PENDING, &e->seen);
	if (race_chance(&e->rnd, 70))
		race_answer(e, &e->rnd);
	end_leave(e);
}

static void end_established(struct mpa_conn *conn,
			    const struct mpa_startup *reply)
{
	struct race_end *e = race_check_enter(conn, RACE_ESTABLISHED);

	race_count(RACE_N_ESTABLISHED);
	if (reply)
		end_read_pd(e, reply);
	if (race_chance(&e->rnd, 50))
		mpa_allow_softirq(conn);
	if (race_chance(&e->rnd, 50))
		mpa_allow_softirq_send(conn);
	if (race_chance(&e->rnd, 80))
		race_resume(e);
	race_msg_send(e, &e->rnd, RACE_CALLBACK, GFP_KERNEL);
	end_leave(e);
}

static void end_rejected(struct mpa_conn *conn,
			 const struct mpa_startup *reply)
{
	struct race_end *e = race_check_enter(conn, RACE_REJECTED);

	race_count(RACE_N_REJECTED);
	if (race_chance(&e->rnd, 70))
		race_end_detach(e, true);
	end_leave(e);
}

static void end_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct race_end *e = race_check_enter(conn, RACE_RECV);

	race_msg_check(e, rx);
	if (race_chance(&e->rnd, 10))
		race_keep(e, rx);
	/* In softirq run() comes for this, or for what is posted. */
	if (in_softirq() && !(e->id % 2) && race_chance(&e->rnd, 20))
		mpa_kick(conn);
	end_leave(e);
}

static void end_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct race_end *e = race_check_enter(conn, RACE_SENT);

	race_msg_back(e, done);
	if (race_end_polite(e) || race_chance(&e->rnd, 30))
		race_msg_send(e, &e->rnd, RACE_CALLBACK, race_gfp());
	end_leave(e);
}

static void end_mulpdu(struct mpa_conn *conn, u32 mulpdu)
{
	struct race_end *e = race_check_enter(conn, RACE_MULPDU);

	if (mulpdu < MPA_MULPDU_MIN || mulpdu > MPA_MULPDU_MAX)
		race_found(e, "mulpdu(%u)", mulpdu);
	end_leave(e);
}

static void end_run(struct mpa_conn *conn)
{
	struct race_end *e = race_check_enter(conn, RACE_RUN);

	if (race_chance(&e->rnd, 10))
		race_msg_send(e, &e->rnd, RACE_CALLBACK, race_gfp());
	race_check_leave(e);
}

static void end_count(enum mpa_reason reason)
{
	switch (reason) {
	case MPA_REASON_FIN:
		race_count(RACE_N_GRACEFUL);
		break;
	case MPA_REASON_RESET:
		race_count(RACE_N_RESET);
		break;
	case MPA_REASON_ABORTED:
		race_count(RACE_N_ABORTED);
		break;
	case MPA_REASON_TIMEOUT:
		race_count(RACE_N_TIMEOUT);
		break;
	default:
		race_count(RACE_N_FAILED);
	}
}

/* With a peer that is in step no octet can be wrong. */
static bool end_expected(const struct race_end *e, enum mpa_reason reason)
{
	bool startup = !test_bit(RACE_ESTABLISHED, &e->seen);

	switch (reason) {
	case MPA_REASON_FIN:
		return true;
	case MPA_REASON_RESET:
	case MPA_REASON_ABORTED:
	case MPA_REASON_TRUNCATED:
	case MPA_REASON_SHORT_FRAME:
	case MPA_REASON_TIMEOUT:
		return !race_end_polite(e) ||
		       (startup && READ_ONCE(race_closing));
	default:
		return e->raw;
	}
}

/* When its namespace goes away, it is aborted, or its peer was before it. */
static void end_check_exit(struct race_end *e, enum mpa_reason reason)
{
	if (READ_ONCE(e->world->dying) && reason == MPA_REASON_ABORTED)
		atomic_inc(&e->world->nr_aborted);
	if (test_bit(RACE_DOOMED, &e->seen) && e->world->kind == RACE_NOABORT &&
	    reason != MPA_REASON_ABORTED && reason != MPA_REASON_RESET)
		race_found(e, "the namespace went, but ended: %s",
			   mpa_reason_name(reason));
}

static void end_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	struct race_end *e = race_check_enter(conn, RACE_ENDED);

	end_count(end->reason);
	if (!end_expected(e, end->reason))
		race_found(e, "ended: %s, error %d",
			   mpa_reason_name(end->reason), end->err);
	end_check_exit(e, end->reason);
	if (!race_end_polite(e) && race_chance(&e->rnd, 30))
		race_end_detach(e, true);
	end_leave(e);
}

static void end_closed(struct mpa_conn *conn, int err)
{
	struct race_end *e = race_check_enter(conn, RACE_CLOSED);

	if (err && race_end_polite(e) && test_bit(RACE_ESTABLISHED, &e->seen))
		race_found(e, "closed: %d", err);
	if (!err && test_bit(RACE_DOOMED, &e->seen) && race_end_calm(e))
		race_found(e, "the namespace went, but closed gracefully");
	race_check_out(e);
	if (race_chance(&e->rnd, 60))
		race_end_detach(e, true);
	end_leave(e);
}

/* Attach to the same socket again; the peer does not notice. */
static bool end_again(struct race_end *old)
{
	struct race_world *w = old->world;
	struct race_end *e = NULL;

	if (!old->raw || !race_chance(&old->rnd, 40) ||
	    !race_world_enter(w, RACE_NO_DIALS))
		return false;
	e = race_end_new(w, &old->rnd);
	if (e) {
		e->raw = true;
		e->initiator = race_chance(&old->rnd, 50);
		e->immediate = race_chance(&old->rnd, 20);
		if (race_end_attach(e, old->sock)) {
			race_end_gone(e);
			e = NULL;
		} else {
			race_count(RACE_N_REATTACHED);
		}
	}
	race_world_leave(w);
	return e;
}

/*
 * Returns late from a callback, after the namespace has gone: MPA must not use
 * its memory in the namespace any longer.
 */
static void end_linger(struct race_world *w)
{
	wait_event_timeout(w->wait, READ_ONCE(w->gone), 3 * HZ);
	if (!READ_ONCE(w->gone))
		return;
	race_count(RACE_N_LINGERED);
	msleep(500);
}

/* Few, or mpa_barrier() would wait for one or another for ever. */
static bool end_is_late(struct race_end *e)
{
	struct race_world *w = e->world;

	return race_noref(w) && race_chance(&e->rnd, 30) &&
	       atomic_read(&e->detach) != RACE_DETACH_SYNC &&
	       (READ_ONCE(w->dying) ||
		atomic_inc_return(&w->nr_late) <= RACE_LATE);
}

static void end_released(struct mpa_conn *conn, struct list_head *left)
{
	struct race_end *e = race_check_enter(conn, RACE_RELEASED);
	struct race_world *w = e->world;
	bool late = end_is_late(e);

	/* Waits for tasks that use e->conn; none does after this. */
	write_lock_bh(&e->use);
	e->conn = NULL;
	write_unlock_bh(&e->use);
	race_msg_back(e, left);
	race_check_released(e);
	race_count(RACE_N_RELEASED);
	if (!end_again(e)) {
		if (race_noref(w) ||
		    (w->kind == RACE_WILD && race_chance(&e->rnd, 30)))
			sock_no_linger(e->sock->sk);
		sock_release(e->sock);
	}
	race_check_leave(e);
	race_end_gone(e);
	if (late)
		end_linger(w);
}

static const struct mpa_ops end_ops = {
	.request	= end_request,
	.established	= end_established,
	.rejected	= end_rejected,
	.recv		= end_recv,
	.sent		= end_sent,
	.mulpdu		= end_mulpdu,
	.run		= end_run,
	.ended		= end_ended,
	.closed		= end_closed,
	.released	= end_released,
};

/* Responders take all that Initiators may ask for. */
void race_end_params(struct race_end *e, struct mpa_params *params,
		     struct rnd_state *rnd)
{
	*params = (struct mpa_params) {
		.ops = &end_ops,
		.ctx = e,
		.rev = e->initiator ? race_pick(rnd, 3) : MPA_REV_2,
		.enhanced = { .ird = 4, .ord = 4, .rtr = MPA_RTR_WRITE },
	};
	if (params->rev == MPA_REV_0)
		params->flags |= MPA_F_REV0;
	if (race_chance(rnd, 25))
		params->flags |= MPA_F_MARKERS;
	if (race_chance(rnd, 10))
		params->flags |= MPA_F_MEMALLOC;
	if (e->world->kind == RACE_WILD && race_chance(rnd, 20))
		params->flags |= MPA_F_OOO;
	if (params->rev == MPA_REV_2 && (!e->initiator || race_chance(rnd, 40)))
		params->flags |= MPA_F_ENHANCED;
	e->ooo = params->flags & MPA_F_OOO;
}

static int end_start(const struct race_end *e, struct mpa_conn *conn)
{
	u32 pd[2];

	if (e->immediate)
		return mpa_start_immediate(conn);
	if (e->initiator)
		return mpa_start_initiator(conn, pd, race_end_pd(e, pd));
	return mpa_start_responder(conn, NULL, 0);
}

/* Set socket and connection; callbacks may come from now on. */
void race_end_has(struct race_end *e, struct socket *sock,
		  struct mpa_conn *conn)
{
	write_lock_bh(&e->use);
	e->sock = sock;
	e->conn = conn;
	write_unlock_bh(&e->use);
}

/* If it fails the socket is the caller's, and @e is, too. */
int race_end_attach(struct race_end *e, struct socket *sock)
{
	struct mpa_params params;
	struct mpa_conn *conn;
	int err;

	race_end_params(e, &params, &e->rnd);
	conn = mpa_attach(sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	/* From now on it may go at any moment. */
	kref_get(&e->ref);
	race_end_has(e, sock, conn);
	conn = race_end_use(e);
	if (conn) {
		err = end_start(e, conn);
		race_end_unuse(e);
		if (err)
			race_end_detach(e, false);
	}
	race_end_put(e);
	return 0;
}
