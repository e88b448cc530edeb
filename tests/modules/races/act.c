// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Operations on ends, by threads, by a timer, and in their own callbacks. */
#include <linux/slab.h>

#include "races.h"

/* Octets received that were kept; of which end */
struct race_kept {
	struct list_head	list;
	struct mpa_rx		*rx;
	struct race_end		*end;
};

void race_keep(struct race_end *e, struct mpa_rx *rx)
{
	struct race_world *w = e->world;
	struct race_kept *kept;

	kept = kmalloc(sizeof(*kept), race_gfp());
	if (!kept)
		return;
	mpa_rx_get(rx);
	kref_get(&e->ref);
	kept->rx = rx;
	kept->end = e;
	race_count(RACE_N_KEPT);
	spin_lock_bh(&w->lock);
	list_add_tail(&kept->list, &w->kept);
	spin_unlock_bh(&w->lock);
}

/* Let go of some that were kept, maybe of a connection that is no more. */
bool race_put_kept(struct race_world *w)
{
	struct race_kept *kept;

	spin_lock_bh(&w->lock);
	kept = list_first_entry_or_null(&w->kept, struct race_kept, list);
	if (kept)
		list_del(&kept->list);
	spin_unlock_bh(&w->lock);
	if (!kept)
		return false;
	if (test_bit(RACE_RELEASED, &kept->end->seen))
		race_count(RACE_N_KEPT_LATE);
	mpa_rx_put(kept->rx);
	race_end_put(kept->end);
	kfree(kept);
	return true;
}

/* Only the task that changed the state calls MPA, so that both agree. */
void race_resume(struct race_end *e)
{
	struct mpa_conn *conn = race_end_use(e);

	if (!conn)
		return;
	if (atomic_cmpxchg(&e->hold, RACE_HELD, RACE_MOVING) == RACE_HELD) {
		atomic_set(&e->held, 0);
		mpa_resume(conn);
		atomic_set(&e->hold, RACE_FREE);
	}
	race_end_unuse(e);
}

static void race_hold(struct race_end *e)
{
	struct mpa_conn *conn = race_end_use(e);

	if (!conn)
		return;
	if (atomic_cmpxchg(&e->hold, RACE_FREE, RACE_MOVING) == RACE_FREE) {
		mpa_hold(conn);
		race_count(RACE_N_HELD);
		atomic_set(&e->held_recv, 0);
		atomic_set(&e->held, 1);
		atomic_set(&e->hold, RACE_HELD);
	}
	race_end_unuse(e);
}

/* Answer a Request, once. */
void race_answer(struct race_end *e, struct rnd_state *rnd)
{
	struct mpa_conn *conn;
	u32 pd[2], len;

	if (!test_and_clear_bit(RACE_PENDING, &e->seen))
		return;
	conn = race_end_use(e);
	if (!conn)
		return;
	len = race_end_pd(e, pd);
	set_bit(RACE_ANSWERED, &e->seen);
	if (race_calm(e->world) || race_chance(rnd, 80))
		mpa_accept(conn, pd, len);
	else
		mpa_reject(conn, pd, len);
	race_end_unuse(e);
}

/* Operations that end or disturb a connection */
static void act_break(struct race_end *e, struct rnd_state *rnd,
		      bool in_callback)
{
	struct mpa_conn *conn = race_end_use(e);
	u32 pick = race_pick(rnd, 100);

	if (!conn)
		return;
	if (pick < 40) {
		mpa_shutdown(conn);
	} else if (pick < 60) {
		mpa_abort(conn);
	} else {
		race_end_unuse(e);
		race_end_detach(e, in_callback);
		return;
	}
	race_end_unuse(e);
}

static void act_watch(struct race_end *e)
{
	struct mpa_conn *conn = race_end_use(e);

	if (!conn)
		return;
	race_check_info(e, conn);
	mpa_mulpdu(conn);
	race_end_unuse(e);
}

/* Nothing more can come but released(). */
static bool act_is_over(const struct race_end *e)
{
	unsigned long seen = READ_ONCE(e->seen);

	return seen & (BIT(RACE_CLOSED) | BIT(RACE_REJECTED)) ||
	       (seen & BIT(RACE_ENDED) && !(seen & BIT(RACE_ESTABLISHED)));
}

/*
 * Only received data wakes half of the polite ends: any other call would hide
 * a lost wake-up.
 */
static bool act_leave_alone(const struct race_end *e)
{
	return race_end_polite(e) && e->id % 2 &&
	       test_bit(RACE_ESTABLISHED, &e->seen) &&
	       atomic_read(&e->hold) == RACE_FREE && !act_is_over(e);
}

static void act_end(struct race_end *e, struct rnd_state *rnd,
		    enum race_actor actor)
{
	bool calm = race_end_calm(e);
	u32 pick = race_pick(rnd, 100);

	if (act_leave_alone(e))
		return;
	if (race_chance(rnd, 50))
		race_answer(e, rnd);
	if (act_is_over(e) && pick < 40)
		race_end_detach(e, false);
	else if (pick < 55)
		race_msg_send(e, rnd, actor, GFP_KERNEL);
	else if (pick < 75)
		race_resume(e);
	else if (pick < 82)
		race_hold(e);
	else if (pick < 90)
		act_watch(e);
	else if (pick < 96 && !calm)
		act_break(e, rnd, false);
	else if (!calm || act_is_over(e))
		race_end_detach_sync(e);
}

/* One thing, by a thread */
void race_act(struct race_world *w, struct rnd_state *rnd,
	      enum race_actor actor)
{
	u32 pick = race_pick(rnd, 100);
	struct race_end *e;

	race_count(RACE_N_ACTIONS);
	race_put_kept(w);
	if (pick < 15)
		race_dial(w, rnd);
	else if (pick < 20)
		race_hang_up(w);
	else if (pick < 23)
		race_raw_unpark(w, race_chance(rnd, 50));
	else if (pick < 24 && !actor)
		race_listen_again(w, rnd);
	else if (pick < 24 && race_chance(rnd, 10))
		mpa_barrier();
	e = race_end_any(w, rnd);
	if (!e)
		return;
	act_end(e, rnd, actor);
	race_end_put(e);
}

/* One thing, in a callback of @e */
void race_act_callback(struct race_end *e)
{
	u32 pick = race_pick(&e->rnd, 100);

	if (pick < 4)
		race_hold(e);
	else if (pick < 8)
		race_resume(e);
	else if (pick < 10)
		act_watch(e);
	else if (pick < 12)
		race_msg_send(e, &e->rnd, RACE_CALLBACK, race_gfp());
	else if (pick < 15 && !race_end_calm(e))
		act_break(e, &e->rnd, true);
}

/* One thing, in softirq */
void race_act_timer(struct race_world *w)
{
	struct rnd_state *rnd = &w->timer_rnd;
	struct race_end *e = race_end_any(w, rnd);
	u32 pick = race_pick(rnd, 100);

	if (!e)
		return;
	if (act_leave_alone(e))
		pick = 100;
	if (pick < 40)
		race_msg_send(e, rnd, RACE_TIMER, GFP_ATOMIC);
	else if (pick < 60)
		race_resume(e);
	else if (pick < 70)
		race_hold(e);
	else if (pick < 80)
		act_watch(e);
	else if (pick < 85)
		race_answer(e, rnd);
	else if (pick < 90 && !race_end_calm(e))
		act_break(e, rnd, false);
	race_end_put(e);
}
