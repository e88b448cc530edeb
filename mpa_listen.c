// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening for consumers. The rest of MPA does not depend on it; a consumer
 * may as well bring sockets that it has accepted itself.
 *
 * Locks, outermost first:
 *
 * socket lock		taken by functions of the socket layer, never directly
 * wait queue's lock	of the listening socket: held when it calls
 *			listen_wake()
 * listener->lock	innermost: @closed, and queueing the work item for it
 *
 * The work item holds none of them when it calls the consumer.
 *
 * The listener waits on the socket as poll() does; the socket keeps TCP's
 * callbacks. Sockets that wait to be accepted inherit these, and may migrate to
 * another listener of the SO_REUSEPORT group at any time, also when an
 * administrator destroys this one (net.ipv4.tcp_migrate_req, or a BPF program).
 * A callback of this module would migrate with them, and could be called after
 * the module is gone.
 */
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/mpa.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "mpa_compat.h"
#include "mpa_conn.h"

#define ACCEPT_BUDGET	64		/* sockets accepted in one run */
#define ACCEPT_RETRY	(HZ / 10)	/* after a failed accept */

/**
 * struct mpa_listener - a listening socket
 * @refs: one for the consumer's handle, one for @work until it has released
 *	@sock
 * @lock: protects @closed, and orders it before queueing @work
 * @closed: mpa_listen_close() was called
 * @gone: completed when @sock has been released
 * @sock: the listening socket; released by @work
 * @work: accepts connections; delayed for a retry
 * @worker: task that may be in accepted(), for the deadlock check of
 *	mpa_listen_close_sync()
 * @flags: flags of struct mpa_sock_params
 * @wait: entry in the wait queue of @sock
 * @accepted: the consumer's callback
 * @ctx: the consumer's context
 */
struct mpa_listener {
	refcount_t		refs;
	spinlock_t		lock;	/* protects @closed */
	bool			closed;
	struct completion	gone;
	struct socket		*sock;
	struct delayed_work	work;
	struct task_struct	*worker;
	u32			flags;
	struct wait_queue_entry	wait;
	void			(*accepted)(void *ctx, struct socket *sock);
	void			*ctx;
};

/* The socket wakes its waiters. Context: any, with interrupts off. */
static int listen_wake(struct wait_queue_entry *wait, unsigned int mode,
		       int flags, void *key)
{
	struct mpa_listener *l = container_of(wait, struct mpa_listener, wait);

	mod_delayed_work(mpa_wq_of(l->flags), &l->work, 0);
	return 0;
}

static void listener_put(struct mpa_listener *l)
{
	if (refcount_dec_and_test(&l->refs))
		kfree(l);
}

/*
 * Work item only. Once this returns true, the work item calls accepted() no
 * longer, and listener_close() has queued it.
 */
static bool listener_closed(struct mpa_listener *l)
{
	bool closed;

	spin_lock_bh(&l->lock);
	closed = l->closed;
	spin_unlock_bh(&l->lock);
	return closed;
}

/*
 * Work item only, after the close:
 * 1. TCP no longer wakes the listener. It could do so by listen_wake() only,
 *    which runs under the wait queue's lock.
 * 2. The work item does not stay queued.
 * 3. Nothing else refers to the socket.
 */
static void listener_release(struct mpa_listener *l)
{
	remove_wait_queue(sk_sleep(l->sock->sk), &l->wait);
	cancel_delayed_work(&l->work);
	sock_release(l->sock);
	complete_all(&l->gone);
	listener_put(l);
}

static int accept_one(struct mpa_listener *l)
{
	struct socket *sock;
	int err;

	err = kernel_accept(l->sock, &sock, O_NONBLOCK);
	if (err)
		return err;
	if (listener_closed(l)) {
		sock_release(sock);
		return -ECANCELED;
	}
	l->accepted(l->ctx, sock);
	return 0;
}

static void accept_work(struct work_struct *work)
{
	struct mpa_listener *l = container_of(to_delayed_work(work),
					      struct mpa_listener, work);
	int budget = ACCEPT_BUDGET;
	unsigned int memalloc;
	int err;

	memalloc = mpa_memalloc_save(l->flags);
	WRITE_ONCE(l->worker, current);
	do {
		err = accept_one(l);
		cond_resched();
	} while (!err && --budget);
	WRITE_ONCE(l->worker, NULL);
	mpa_memalloc_restore(l->flags, memalloc);
	if (listener_closed(l)) {
		listener_release(l);
		return;
	}

	/* EAGAIN: none left. EINVAL: another user shut the socket down. */
	if (err == -EAGAIN || err == -EINVAL)
		return;
	queue_delayed_work(mpa_wq_of(l->flags), &l->work,
			   err ? ACCEPT_RETRY : 0);
}

/* True if @work calls accepted(). */
bool mpa_listen_is_work(const struct work_struct *work)
{
	return work->func == accept_work;
}

static int listen_start(struct mpa_listener *l,
			const struct mpa_sock_params *params)
{
	int err;

	err = mpa_sock_make(params, true, &l->sock);
	if (err)
		return err;
	if (l->sock->sk->sk_user_data) {
		err = -EBUSY;
		goto release;
	}
	add_wait_queue(sk_sleep(l->sock->sk), &l->wait);
	err = kernel_listen(l->sock, params->backlog ?: SOMAXCONN);
	if (!err) {
		/*
		 * No TCP Fast Open: kernel_accept() would return sockets in
		 * SYN_RECV, which mpa_attach() refuses.
		 */
		fastopen_queue_tune(l->sock->sk, 0);
		return 0;
	}
	remove_wait_queue(sk_sleep(l->sock->sk), &l->wait);
	cancel_delayed_work_sync(&l->work);
release:
	sock_release(l->sock);
	return err;
}

static struct mpa_listener *
listener_new(const struct mpa_sock_params *params,
	     void (*accepted)(void *ctx, struct socket *sock))
{
	struct mpa_listener *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return NULL;
	refcount_set(&l->refs, 2);
	spin_lock_init(&l->lock);
	init_completion(&l->gone);
	INIT_DELAYED_WORK(&l->work, accept_work);
	init_waitqueue_func_entry(&l->wait, listen_wake);
	l->flags = params->flags;
	l->accepted = accepted;
	l->ctx = params->ctx;
	return l;
}

/**
 * mpa_listen - accept TCP connections for mpa_attach()
 * @params: address and socket options; except @ctx, not used after the return
 * @accepted: called for each connection, one at a time, in process context
 *	and with no lock held. @sock is the consumer's, which closes it with
 *	sock_release(); its callbacks and sk_user_data are those of TCP.
 *
 * The caller holds a reference on the namespace, or knows that it stays; the
 * listening socket and each accepted one have one of their own. SO_REUSEADDR
 * is set. A socket bound to the IPv6 wildcard address takes IPv4 too, unless
 * setup() or net.ipv6.bindv6only sets IPV6_V6ONLY. TCP Fast Open is off,
 * whatever setup() or net.ipv4.tcp_fastopen says: a connection is accepted when
 * it is ESTABLISHED, not before. accepted() may run before this function
 * returns. RFC 5044 section 2 leaves all this to the consumer.
 *
 * When accepting fails, for example for lack of memory, it is tried again until
 * no connection waits. An administrator can destroy the listening socket (ss
 * -K): then accepted() is called no longer, and nothing tells.
 *
 * With port 0 TCP chooses one. When this function has returned, and before
 * mpa_listen_close(), kernel_getsockname() tells it, of the socket that setup()
 * was given; nothing else may be done with that.
 *
 * Context: process context.
 * Return:
 * * a handle for mpa_listen_close(), or an ERR_PTR():
 * * %-EINVAL: bad flags or start; no @net; a negative @bound_dev_if or
 *   @backlog; or @bound_dev_if and the scope id of a link-local address name
 *   different devices
 * * %-EAFNOSUPPORT: the local address is neither IPv4 nor IPv6
 * * %-EBUSY: setup() has set the socket's sk_user_data
 * * %-ENOMEM: out of memory
 * * what setup(), bind or listen returned: %-EADDRINUSE, %-EADDRNOTAVAIL,
 *   %-ENODEV, ...
 */
struct mpa_listener *
mpa_listen(const struct mpa_sock_params *params,
	   void (*accepted)(void *ctx, struct socket *sock))
{
	struct mpa_listener *l;
	unsigned int noio;
	int err = -ENOMEM;

	if (!mpa_sock_params_ok(params, MPA_F_MEMALLOC) || params->start)
		return ERR_PTR(-EINVAL);
	if (!mpa_family_ok(params->local.ss_family))
		return ERR_PTR(-EAFNOSUPPORT);

	noio = mpa_noio_save(params->flags);
	l = listener_new(params, accepted);
	if (l)
		err = listen_start(l, params);
	mpa_noio_restore(params->flags, noio);
	if (!err)
		return l;
	kfree(l);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(mpa_listen);

static void listener_close(struct mpa_listener *l)
{
	spin_lock_bh(&l->lock);
	l->closed = true;
	mod_delayed_work(mpa_wq_of(l->flags), &l->work, 0);
	spin_unlock_bh(&l->lock);
}

/**
 * mpa_listen_close - stop listening
 * @listener: the handle; no longer valid afterwards
 *
 * After this has returned no accepted() starts, except one that the work item
 * was already about to call: it counts as running. mpa_barrier() waits for one
 * that is running. The address becomes free a little later.
 * Connections that wait to be accepted are reset, those already accepted are
 * not affected. RFC 5044 has no counterpart.
 *
 * Context: any that may take a spinlock with BHs off, also accepted() and the
 * callbacks of connections. Never waits.
 */
void mpa_listen_close(struct mpa_listener *listener)
{
	listener_close(listener);
	listener_put(listener);
}
EXPORT_SYMBOL_GPL(mpa_listen_close);

/**
 * mpa_listen_close_sync - stop listening, and wait until that is done
 * @listener: the handle; no longer valid afterwards
 *
 * As mpa_listen_close(); returns when no accepted() is running and the address
 * is free. RFC 5044 has no counterpart.
 *
 * Context: process context, sleeps. Must not be called from accepted(), which
 * would wait for itself: then it warns and does not wait. Nor from any other
 * callback: see &struct mpa_ops.
 * Return: 0, or %-EDEADLK: called from accepted()
 */
int mpa_listen_close_sync(struct mpa_listener *listener)
{
	bool self = READ_ONCE(listener->worker) == current;

	might_sleep();

	listener_close(listener);
	if (!WARN_ON_ONCE(self))
		wait_for_completion(&listener->gone);
	listener_put(listener);
	return self ? -EDEADLK : 0;
}
EXPORT_SYMBOL_GPL(mpa_listen_close_sync);
