// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The device under test, compiled once more, above a fake of MPA: the functions
 * of net/mpa.h that it calls are those of rnic_fixture.c. What rnic_main.c does
 * the fixture does.
 *
 * Before the device takes one of these locks, or queues a delayed work item, a
 * test may have something else happen, as if another processor had been faster.
 * Whether a namespace may use the device is up to the test as well.
 */
#include <linux/sched.h>
#include <net/sock.h>

#include "../rnic.h"
#include "rnic_kunit.h"

struct rk_race rk_race;
bool rk_no_access;

/* Not with a lock held: there the other processor would wait. */
static void rk_before_lock(void)
{
	void (*other)(void *arg) = rk_race.other;

	if (current != rk_race.task)
		return;
	if (!rk_race.depth++ && other && !rk_race.after--) {
		rk_race.other = NULL;
		rk_race.depth = 0;
		other(rk_race.arg);
		rk_race.depth = 1;
	}
}

static void rk_after_lock(void)
{
	if (current == rk_race.task)
		rk_race.depth--;
}

/* The same with interrupts off: with some locks held they are. */
static void rk_before_queueing(void)
{
	if (irqs_disabled())
		return;
	rk_before_lock();
	rk_after_lock();
}

#define spin_lock_bh(lock)						\
	do {								\
		rk_before_lock();					\
		spin_lock_bh(lock);					\
	} while (0)
#define spin_unlock_bh(lock)						\
	do {								\
		spin_unlock_bh(lock);					\
		rk_after_lock();					\
	} while (0)
#define spin_lock_irq(lock)						\
	do {								\
		rk_before_lock();					\
		spin_lock_irq(lock);					\
	} while (0)
#define spin_unlock_irq(lock)						\
	do {								\
		spin_unlock_irq(lock);					\
		rk_after_lock();					\
	} while (0)
#define queue_delayed_work(wq, work, delay)				\
	({								\
		rk_before_queueing();					\
		queue_delayed_work(wq, work, delay);			\
	})

#define rdma_dev_access_netns(ib, net)					\
	(rdma_dev_access_netns(ib, net) && !rk_no_access)

#include "../rnic_verbs.c"
#include "../rnic_cm.c"
#include "../rnic_listen.c"
#include "../rnic_ep.c"
#include "../rnic_conn.c"
#include "../rnic_ooo.c"
#include "../rnic_rx.c"
#include "../rnic_sq.c"
#include "../rnic_term.c"
#include "../rnic_tx.c"
#include "../rnic_queue.c"
#include "../rnic_srq.c"
#include "../rnic_cq.c"
#include "../rnic_mr.c"
#include "../rnic_ring.c"
#include "../rnic_qp.c"
#include "../ddp_wire.c"

u32 rnic_net_flags(struct net *net)
{
	return 0;
}
