// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The hook that sees acknowledgments go out: a copy of a socket's operations
 * (icsk_af_ops), with a queue_xmit() that tells mpa_rx_ooo.c.
 *
 * TCP reads icsk_af_ops, and MPA installs the copy, with the socket locked. It
 * is removed with the socket locked, or by a callback that finds TCP closed,
 * whose caller may hold no lock: so MPA's functions may still run after the
 * original operations are back, and must read the pointer only once.
 * getsockopt() and setsockopt() read the pointer, and then the operations,
 * without a lock. So a copy never changes once a socket has had it, and lasts
 * until the module's exit, which waits until no task can still use it.
 */
#include <linux/indirect_call_wrapper.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/tcp.h>
#include "mpa_rx_ooo.h"

/**
 * struct mpa_af - operations of an address family
 * @ops: copy of @orig with MPA's functions, for sockets to use
 * @orig: the original operations; NULL if the entry is free
 */
struct mpa_af {
	struct inet_connection_sock_af_ops		ops;
	const struct inet_connection_sock_af_ops	*orig;
};

/* IPv4, IPv6, and IPv4 on IPv6 sockets */
static struct mpa_af mpa_afs[3];
static DEFINE_SPINLOCK(mpa_af_lock);	/* protects making a copy */

/*
 * A socket with MPA's operations must not accept connections: the new sockets
 * would inherit and keep the operations. Normally none listens: a socket is
 * closed before that, and then they are removed. Should one listen all the
 * same, a SYN is dropped here; mpa_af_syn_recv_sock() refuses the ACK of a
 * connection that another listener began: with a SYN cookie, or one that has
 * migrated within a SO_REUSEPORT group.
 */
static int mpa_af_conn_request(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

static bool mpa_af_is_ours(const struct inet_connection_sock_af_ops *ops)
{
	return ops->conn_request == mpa_af_conn_request;
}

static int mpa_af_queue_xmit(struct sock *sk, struct sk_buff *skb,
			     struct flowi *fl)
{
	const struct inet_connection_sock_af_ops *ops;

	mpa_rx_ooo_hear(sk);
	ops = READ_ONCE(inet_csk(sk)->icsk_af_ops);
	if (mpa_af_is_ours(ops))
		ops = container_of(ops, struct mpa_af, ops)->orig;
	return INDIRECT_CALL_1(ops->queue_xmit, ip_queue_xmit, sk, skb, fl);
}

/* True if TCP uses MPA's. Context: any; stable while sk is locked and open. */
bool mpa_af_is_on(const struct sock *sk)
{
	return mpa_af_is_ours(READ_ONCE(inet_csk(sk)->icsk_af_ops));
}

static struct sock * __maybe_unused
mpa_af_syn_recv_sock(const struct sock *sk, struct sk_buff *skb,
		     struct request_sock *req, struct dst_entry *dst,
		     struct request_sock *req_unhash, bool *own_req)
{
	dst_release(dst);
	tcp_listendrop(sk);
	return NULL;
}

/* For kernels that pass a seventh argument: see mpa_compat.h. */
static struct sock * __maybe_unused
mpa_af_syn_recv_sock_init(const struct sock *sk, struct sk_buff *skb,
			  struct request_sock *req, struct dst_entry *dst,
			  struct request_sock *req_unhash, bool *own_req,
			  void (*opt_child_init)(struct sock *newsk,
						 const struct sock *sk))
{
	return mpa_af_syn_recv_sock(sk, skb, req, dst, req_unhash, own_req);
}

/*
 * MPA's copy of @orig; NULL if no entry is free, or if @orig is such a copy
 * itself, since its queue_xmit() would call itself.
 */
static struct mpa_af *mpa_af_of(const struct inet_connection_sock_af_ops *orig)
{
	struct mpa_af *af = mpa_afs;

	lockdep_assert_held(&mpa_af_lock);

	if (mpa_af_is_ours(orig))
		return NULL;
	while (af->orig && af->orig != orig)
		if (++af == mpa_afs + ARRAY_SIZE(mpa_afs))
			return NULL;
	if (!af->orig) {
		af->ops = *orig;
		af->ops.queue_xmit = mpa_af_queue_xmit;
		af->ops.conn_request = mpa_af_conn_request;
		af->ops.syn_recv_sock =
			mpa_syn_recv_sock(mpa_af_syn_recv_sock,
					  mpa_af_syn_recv_sock_init);
		af->orig = orig;
	}
	return af;
}

/* Socket lock held, sk_user_data is a connection. May install nothing. */
void mpa_af_on(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct mpa_af *af;

	sock_owned_by_me(sk);

	spin_lock_bh(&mpa_af_lock);
	af = mpa_af_of(icsk->icsk_af_ops);
	spin_unlock_bh(&mpa_af_lock);
	if (!af)
		return;
	/*
	 * Pairs with the address dependency in tcp_setsockopt() and
	 * tcp_getsockopt(): a reader of the pointer sees a complete copy.
	 */
	smp_store_release(&icsk->icsk_af_ops, &af->ops);
}

/*
 * Socket lock held; or TCP is closed, with or without a lock. Keeps operations
 * that were set by others since.
 */
void mpa_af_off(struct sock *sk)
{
	const struct inet_connection_sock_af_ops **at, *ops;

	at = &inet_csk(sk)->icsk_af_ops;
	ops = READ_ONCE(*at);
	if (mpa_af_is_ours(ops))
		cmpxchg(at, ops, container_of(ops, struct mpa_af, ops)->orig);
}

/*
 * Module unload: no socket has MPA's operations. A task that has read the
 * pointer without a lock may have been preempted, outside of any RCU section.
 */
void mpa_af_exit(void)
{
	synchronize_net();
	synchronize_rcu_tasks();
}
