// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A hook in the operations of a socket (icsk_af_ops) that sees acknowledgments
 * go out: TCP sends one for each segment that it queues after a hole.
 *
 * The hook is a queue_xmit() in a copy of the operations. TCP reads
 * icsk_af_ops, and MPA installs the copy, with the socket locked. It is removed
 * with the socket locked, or by a callback that finds TCP closed, whose caller
 * may hold no lock: so MPA's functions may still run after the original
 * operations are back, and must read the pointer only once. getsockopt() and
 * setsockopt() read the pointer, and then the operations, without a lock. So a
 * copy never changes once a socket has had it, and lasts until the module's
 * exit, which waits until no task can still use it: see mpa_sk_exit().
 */
#include <linux/indirect_call_wrapper.h>
#include <linux/init.h>
#include <linux/spinlock.h>
#include <net/inet_connection_sock.h>
#include <net/ip.h>
#include <net/tcp.h>
#include "mpa_conn.h"

/**
 * struct mpa_hook - operations of an address family
 * @ops: copy of @orig with MPA's functions, for sockets to use
 * @orig: the original operations; NULL if the entry is free
 */
struct mpa_hook {
	struct inet_connection_sock_af_ops		ops;
	const struct inet_connection_sock_af_ops	*orig;
};

/* IPv4, IPv6, and IPv4 on IPv6 sockets */
static struct mpa_hook mpa_hooks[3];
static DEFINE_SPINLOCK(mpa_hook_lock);	/* protects filling it */

/* Told when TCP sends, with the socket lock or the slock held. */
static void (*mpa_hook_sending)(struct sock *sk) __ro_after_init;

/*
 * A socket with MPA's operations must not accept connections: the new sockets
 * would inherit and keep the operations. Normally none listens: a socket is
 * closed before that, and then they are removed. Should one listen all the
 * same, a SYN is dropped here; mpa_hook_syn_recv_sock() refuses the ACK of a
 * connection that another listener began: with a SYN cookie, or one that has
 * migrated within a SO_REUSEPORT group.
 */
static int mpa_hook_conn_request(struct sock *sk, struct sk_buff *skb)
{
	return 0;
}

static bool mpa_hook_is_ours(const struct inet_connection_sock_af_ops *ops)
{
	return ops->conn_request == mpa_hook_conn_request;
}

static int mpa_hook_queue_xmit(struct sock *sk, struct sk_buff *skb,
			       struct flowi *fl)
{
	const struct inet_connection_sock_af_ops *ops;

	mpa_hook_sending(sk);
	ops = READ_ONCE(inet_csk(sk)->icsk_af_ops);
	if (mpa_hook_is_ours(ops))
		ops = container_of(ops, struct mpa_hook, ops)->orig;
	return INDIRECT_CALL_1(ops->queue_xmit, ip_queue_xmit, sk, skb, fl);
}

/* True if TCP uses the hook. Stable while sk is locked and open. */
bool mpa_hook_is_on(const struct sock *sk)
{
	return mpa_hook_is_ours(READ_ONCE(inet_csk(sk)->icsk_af_ops));
}

static struct sock * __maybe_unused
mpa_hook_syn_recv_sock(const struct sock *sk, struct sk_buff *skb,
		       struct request_sock *req, struct dst_entry *dst,
		       struct request_sock *req_unhash, bool *own_req)
{
	dst_release(dst);
	tcp_listendrop(sk);
	return NULL;
}

/* For kernels that pass a seventh argument: see mpa_compat.h. */
static struct sock * __maybe_unused
mpa_hook_syn_recv_sock_init(const struct sock *sk, struct sk_buff *skb,
			    struct request_sock *req, struct dst_entry *dst,
			    struct request_sock *req_unhash, bool *own_req,
			    void (*opt_child_init)(struct sock *newsk,
						   const struct sock *sk))
{
	return mpa_hook_syn_recv_sock(sk, skb, req, dst, req_unhash, own_req);
}

/*
 * MPA's copy of @orig; NULL if no entry is free, or if @orig is such a copy
 * itself, since its queue_xmit() would call itself.
 */
static struct mpa_hook *
mpa_hook_of(const struct inet_connection_sock_af_ops *orig)
{
	struct mpa_hook *af = mpa_hooks;

	lockdep_assert_held(&mpa_hook_lock);

	if (mpa_hook_is_ours(orig))
		return NULL;
	while (af->orig && af->orig != orig)
		if (++af == mpa_hooks + ARRAY_SIZE(mpa_hooks))
			return NULL;
	if (!af->orig) {
		af->ops = *orig;
		af->ops.queue_xmit = mpa_hook_queue_xmit;
		af->ops.conn_request = mpa_hook_conn_request;
		af->ops.syn_recv_sock =
			mpa_syn_recv_sock(mpa_hook_syn_recv_sock,
					  mpa_hook_syn_recv_sock_init);
		af->orig = orig;
	}
	return af;
}

/* Socket lock held, sk_user_data is a connection. No effect without a copy. */
void mpa_hook_on(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct mpa_hook *af;

	sock_owned_by_me(sk);

	spin_lock_bh(&mpa_hook_lock);
	af = mpa_hook_of(icsk->icsk_af_ops);
	spin_unlock_bh(&mpa_hook_lock);
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
void mpa_hook_off(struct sock *sk)
{
	const struct inet_connection_sock_af_ops **at, *ops;

	at = &inet_csk(sk)->icsk_af_ops;
	ops = READ_ONCE(*at);
	if (mpa_hook_is_ours(ops))
		cmpxchg(at, ops, container_of(ops, struct mpa_hook, ops)->orig);
}

void __init mpa_hook_init(void (*sending)(struct sock *sk))
{
	mpa_hook_sending = sending;
}
