// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Seeing acknowledgments go out: operations of an address family, with a
 * queue_xmit() that tells mpa_early.c.
 *
 * TCP reads inet_connection_sock.icsk_af_ops with the socket locked, as it is
 * when they are exchanged here, so none of ours is running once the old ones
 * are back. But getsockopt() and setsockopt() read the pointer, and then from
 * what it points to, without a lock. So a copy is never changed or given back
 * before the module goes; it then waits until nobody can have the pointer any
 * more.
 */
#include <linux/indirect_call_wrapper.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include "mpa_early.h"

/**
 * struct mpa_af - operations of an address family
 * @ops: a copy, that TCP may use
 * @orig: the real ones
 */
struct mpa_af {
	struct inet_connection_sock_af_ops		ops;
	const struct inet_connection_sock_af_ops	*orig;
};

/* IPv4, IPv6, and IPv4 on IPv6 sockets */
static struct mpa_af mpa_afs[3];
static DEFINE_SPINLOCK(mpa_af_lock);	/* for a copy that is being made */

static int mpa_af_queue_xmit(struct sock *sk, struct sk_buff *skb,
			     struct flowi *fl)
{
	const struct mpa_af *af = container_of(inet_csk(sk)->icsk_af_ops,
					       struct mpa_af, ops);

	mpa_early_hear(sk);
	return INDIRECT_CALL_1(af->orig->queue_xmit, ip_queue_xmit, sk, skb,
			       fl);
}

/* Does TCP use ours? Context: any; certain with the socket locked only. */
bool mpa_af_is_on(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_af_ops)->queue_xmit ==
	       mpa_af_queue_xmit;
}

/*
 * A socket that was disconnected may be made to listen while it is ours. What
 * it accepts would have our operations, and nobody to take them back.
 */
static int mpa_af_conn_request(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

/* Our copy of @orig, or NULL if there are more kinds than we know of. */
static struct mpa_af *mpa_af_of(const struct inet_connection_sock_af_ops *orig)
{
	struct mpa_af *af = mpa_afs;

	lockdep_assert_held(&mpa_af_lock);

	while (af->orig && af->orig != orig)
		if (++af == mpa_afs + ARRAY_SIZE(mpa_afs))
			return NULL;
	if (!af->orig) {
		af->ops = *orig;
		af->ops.queue_xmit = mpa_af_queue_xmit;
		af->ops.conn_request = mpa_af_conn_request;
		af->orig = orig;
	}
	return af;
}

/* Socket lock held, sk_user_data is a connection. May leave things alone. */
void mpa_af_on(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct mpa_af *af;

	sock_owned_by_me(sk);

	/* There mpa_af_exit() has nothing that waits for preempted tasks. */
	if (IS_ENABLED(CONFIG_PREEMPTION) && !IS_ENABLED(CONFIG_TASKS_RCU))
		return;
	spin_lock_bh(&mpa_af_lock);
	af = mpa_af_of(icsk->icsk_af_ops);
	spin_unlock_bh(&mpa_af_lock);
	if (!af)
		return;
	/* Pairs with the address dependency of who reads it without a lock. */
	smp_store_release(&icsk->icsk_af_ops, &af->ops);
}

/* Socket lock held. Operations that somebody has put there since stay. */
void mpa_af_off(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	sock_owned_by_me(sk);

	if (mpa_af_is_on(sk))
		WRITE_ONCE(icsk->icsk_af_ops,
			   container_of(icsk->icsk_af_ops, struct mpa_af,
					ops)->orig);
}

/*
 * The module goes; no socket has our operations any more. Who has read the
 * pointer without a lock may have been preempted, outside of any RCU section.
 */
void mpa_af_exit(void)
{
	synchronize_net();
	synchronize_rcu_tasks();
}
