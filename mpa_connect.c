// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa_connect(): makes a TCP connection for mpa_attach(), and can start MPA on
 * it, by Rev 1 if the peer does not take Rev 2. It uses mpa_attach() as any
 * other consumer does.
 *
 * Locks. The first two come one under the other, and so do the last two:
 *
 * socket lock		taken by functions of the socket layer, never directly
 * sk_callback_lock	held for writing while the callback and sk_user_data are
 *			set or restored, for reading by the callback
 *
 * connector->lock	state of the attempt
 * conn->lock		taken by mpa_detach()
 *
 * The work items hold none of them when they call the consumer.
 *
 * Lifetime. While TCP connects, the attempt belongs to its work item, and then
 * to the callbacks of its connection, which run one at a time; the work item
 * does nothing in that state. connector->conn is valid under connector->lock in
 * CONNECT_STARTING: the connection is handed over, or released, only after the
 * state has changed.
 */
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/mpa.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "mpa_compat.h"
#include "mpa_conn.h"

enum connect_state {
	CONNECT_NEW,		/* mpa_connect() is running */
	CONNECT_PENDING,	/* TCP connects, the work item checks on it */
	CONNECT_STARTING,	/* MPA is being started on it */
	CONNECT_AGAIN,		/* the work item makes another connection */
	CONNECT_DONE,		/* done() is being or has been called */
};

/**
 * struct mpa_connector - an attempt to connect
 * @refs: one for the consumer's handle, one for a queued or running @work, one
 *	for the connection in CONNECT_STARTING. An attempt that is not done has
 *	at least one of them.
 * @lock: protects @state, @cancelled and @conn
 * @state: state of the attempt
 * @cancelled: mpa_connect_close() was called
 * @work: checks the state of the attempt and advances it
 * @params: parameters of mpa_connect(). With @starts the attempt holds a
 *	reference on their namespace until done().
 * @sock: socket of the attempt, until done()
 * @state_change: the socket's own callback
 * @done: the consumer's callback
 * @starts: MPA is to be started
 * @ns_tracker: of the reference on the namespace, with @starts
 * @start: with @starts: parameters of the MPA connection
 * @pd: with @starts: private data of the Request, or NULL
 * @conn: in CONNECT_STARTING: the MPA connection
 * @again: the connection is given up for one by Rev 1
 * @err: errno for done() if MPA could not be started
 */
struct mpa_connector {
	refcount_t		refs;
	spinlock_t		lock;	/* protects @state, @cancelled, @conn */
	enum connect_state	state;
	bool			cancelled;
	struct work_struct	work;
	struct mpa_sock_params	params;
	struct socket		*sock;
	void			(*state_change)(struct sock *sk);
	mpa_connected_fn	done;
	bool			starts;
	netns_tracker		ns_tracker;
	struct mpa_params	start;
	void			*pd;
	struct mpa_conn		*conn;
	bool			again;
	int			err;
};

static void connector_put(struct mpa_connector *c)
{
	if (!refcount_dec_and_test(&c->refs))
		return;
	kfree(c->pd);
	kfree(c);
}

/* Queue the work item. Context: any; the caller keeps @c from being freed. */
static void connector_kick(struct mpa_connector *c)
{
	refcount_inc(&c->refs);
	if (!queue_work(mpa_wq_of(c->params.flags), &c->work))
		connector_put(c);
}

/* Enter @state; if the attempt is cancelled, CONNECT_DONE, and return false. */
static bool connector_advance(struct mpa_connector *c, enum connect_state state)
{
	bool cancelled;

	spin_lock_bh(&c->lock);
	cancelled = c->cancelled;
	c->state = cancelled ? CONNECT_DONE : state;
	c->conn = NULL;
	spin_unlock_bh(&c->lock);
	return !cancelled;
}

/* Only with @starts: between two connections no socket holds the namespace. */
static void connector_put_net(struct mpa_connector *c)
{
	if (c->starts)
		put_net_track(c->params.net, &c->ns_tracker);
}

/* In CONNECT_DONE: call done(), with the socket or with an error. */
static void connector_done(struct mpa_connector *c, struct mpa_conn *conn,
			   int err)
{
	struct socket *sock = c->sock;

	c->sock = NULL;
	if (err && sock) {
		sock_release(sock);
		sock = NULL;
	}
	connector_put_net(c);
	c->done(c->params.ctx, sock, conn, err);
}

/*
 * A caller may have read this callback just before it was restored, and call it
 * when the socket has another owner. Only while the socket has this callback is
 * sk_user_data a connector.
 */
static void connect_state_change(struct sock *sk)
{
	void (*chain)(struct sock *sk);
	struct mpa_connector *c;

	read_lock_bh(&sk->sk_callback_lock);
	chain = sk->sk_state_change;
	if (chain == connect_state_change) {
		c = sk->sk_user_data;
		chain = c->state_change;
		connector_kick(c);
	}
	read_unlock_bh(&sk->sk_callback_lock);
	chain(sk);
}

static int connect_hook(struct mpa_connector *c)
{
	struct sock *sk = c->sock->sk;
	int err = -EBUSY;

	write_lock_bh(&sk->sk_callback_lock);
	if (!sk->sk_user_data) {
		c->state_change = sk->sk_state_change;
		rcu_assign_sk_user_data(sk, c);
		WRITE_ONCE(sk->sk_state_change, connect_state_change);
		err = 0;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	return err;
}

static void connect_unhook(struct mpa_connector *c)
{
	struct sock *sk = c->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_state_change, c->state_change);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
}

/* A repeated call returns the state of the first: -EALREADY while connecting */
static int connect_call(struct mpa_connector *c)
{
	struct sockaddr_storage peer = c->params.peer;
	int err = kernel_connect(c->sock, mpa_sockaddr(&peer),
				 mpa_addr_len(&peer), O_NONBLOCK);

	return err == -EISCONN ? 0 : err;
}

/* Make a socket and connect it. If that succeeds the work item goes on. */
static int connect_start(struct mpa_connector *c)
{
	int err;

	err = mpa_sock_make(&c->params, false, &c->sock);
	if (err)
		goto forget;
	err = connect_hook(c);
	if (err)
		goto release;
	err = connect_call(c);
	if (!err || err == -EINPROGRESS) {
		spin_lock_bh(&c->lock);
		c->state = CONNECT_PENDING;
		spin_unlock_bh(&c->lock);
		connector_kick(c);
		return 0;
	}
	connect_unhook(c);
release:
	sock_release(c->sock);
forget:
	c->sock = NULL;
	return err;
}

/* Starting MPA: callbacks of the connection until the outcome is known */

/*
 * The outcome is known: hand the connection over to the consumer, and call
 * done(). True if the consumer's callback may follow: done() may have detached
 * the connection.
 */
static bool starting_hand_over(struct mpa_conn *conn)
{
	struct mpa_connector *c = mpa_conn_ctx(conn);

	if (!connector_advance(c, CONNECT_DONE)) {
		mpa_detach(conn);
		return false;
	}
	/* In a callback: no other one runs. */
	conn->ops = c->start.ops;
	conn->ctx = c->start.ctx;
	connector_done(c, conn, 0);
	connector_put(c);
	return mpa_conn_enter(conn);
}

static void starting_established(struct mpa_conn *conn,
				 const struct mpa_startup *reply)
{
	if (starting_hand_over(conn) && conn->ops->established)
		conn->ops->established(conn, reply);
}

/* True if a failed startup by Rev 2 may be followed by one by Rev 1. */
static bool starting_may_fall_back(const struct mpa_connector *c)
{
	return c->params.flags & MPA_F_FALLBACK && c->start.rev == MPA_REV_2;
}

static void starting_again(struct mpa_conn *conn)
{
	struct mpa_connector *c = mpa_conn_ctx(conn);

	mpa_count(conn, FALLBACKS);
	c->again = true;
	/* Until its FIN is acknowledged it would have the port that we need. */
	mpa_abort(conn);
	mpa_detach(conn);
}

/*
 * True if the peer rejected a Request that it did not understand. A peer that
 * knows Rev 2 rejects by Rev 2, and with enhanced data if the Request had it
 * (RFC 6581 section 10). A peer that rejected the private data rejects the Rev
 * 1 Request, too.
 */
static bool starting_misread(const struct mpa_connector *c,
			     const struct mpa_startup *reply)
{
	return reply->rev < MPA_REV_2 ||
	       (c->start.flags & MPA_F_ENHANCED && !reply->enhanced);
}

static void starting_rejected(struct mpa_conn *conn,
			      const struct mpa_startup *reply)
{
	const struct mpa_connector *c = mpa_conn_ctx(conn);

	if (starting_may_fall_back(c) && starting_misread(c, reply))
		starting_again(conn);
	else if (starting_hand_over(conn))
		conn->ops->rejected(conn, reply);
}

/*
 * True if a peer that does not know Rev 2 may have ended the startup like this
 * (RFC 6581 section 10). One that has accepted by Rev 2 knows it: what is wrong
 * with its Reply is reported before a loss that follows.
 */
static bool starting_is_old(const struct mpa_conn *conn,
			    enum mpa_reason reason)
{
	if (!starting_may_fall_back(mpa_conn_ctx(conn)))
		return false;
	switch (reason) {
	case MPA_REASON_FIN:
	case MPA_REASON_SHORT_FRAME:
	case MPA_REASON_RESET:
	case MPA_REASON_REVISION:
	case MPA_REASON_TIMEOUT:
		return true;
	default:
		return false;
	}
}

static void starting_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	if (starting_is_old(conn, end->reason))
		starting_again(conn);
	else if (starting_hand_over(conn))
		conn->ops->ended(conn, end);
}

/* Delivery is on hold until the consumer calls mpa_resume(). */
static void starting_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	WARN_ON_ONCE(1);
}

/* Not handed over: cancelled, failed to start, or to be connected again. */
static void starting_released(struct mpa_conn *conn, struct list_head *left)
{
	struct mpa_connector *c = mpa_conn_ctx(conn);

	/* First: in CONNECT_AGAIN the work item may use c->sock at once. */
	if (c->again) {
		sock_release(c->sock);
		c->sock = NULL;
	}
	if (c->again && connector_advance(c, CONNECT_AGAIN))
		connector_kick(c);
	else if (connector_advance(c, CONNECT_DONE))
		connector_done(c, NULL, c->err);
	else
		connector_done(c, NULL, -ECANCELED);
	connector_put(c);
}

static const struct mpa_ops starting_ops = {
	.established	= starting_established,
	.rejected	= starting_rejected,
	.recv		= starting_recv,
	.ended		= starting_ended,
	.released	= starting_released,
};

/* TCP is connected, the state is CONNECT_STARTING. */
static int starting_begin(struct mpa_connector *c)
{
	struct mpa_params params = c->start;
	struct mpa_conn *conn;
	int err = -ECANCELED;
	bool cancelled;

	params.ops = &starting_ops;
	params.ctx = c;
	conn = mpa_attach(c->sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);

	/* With c->conn set or MPA started, it may be released at any time. */
	mpa_conn_get(conn);
	refcount_inc(&c->refs);
	spin_lock_bh(&c->lock);
	c->conn = conn;
	cancelled = c->cancelled;
	spin_unlock_bh(&c->lock);

	if (!cancelled)
		err = mpa_start_initiator(conn, c->pd, c->params.pd_len);
	if (err) {
		c->err = err;
		mpa_detach(conn);
	}
	mpa_conn_put(conn);
	return 0;
}

/* The work item */

static void connect_finish(struct mpa_connector *c, int err)
{
	enum connect_state state = c->starts && !err ? CONNECT_STARTING :
						       CONNECT_DONE;

	if (!connector_advance(c, state)) {
		err = -ECANCELED;
		state = CONNECT_DONE;
	}
	connect_unhook(c);
	if (state == CONNECT_STARTING) {
		err = starting_begin(c);
		if (!err)
			return;
		if (!connector_advance(c, CONNECT_DONE))
			err = -ECANCELED;
	}
	connector_done(c, NULL, err);
}

/* Connect to the peer once more, now by Rev 1. */
static void connect_again(struct mpa_connector *c)
{
	int err = -ECANCELED;

	c->again = false;
	c->start.rev = MPA_REV_1;
	c->start.flags &= ~MPA_F_ENHANCED;
	if (connector_advance(c, CONNECT_AGAIN))
		err = connect_start(c);
	if (!err)
		return;
	if (!connector_advance(c, CONNECT_DONE))
		err = -ECANCELED;
	connector_done(c, NULL, err);
}

static void connect_work(struct work_struct *work)
{
	struct mpa_connector *c = container_of(work, struct mpa_connector,
					       work);
	u32 flags = c->params.flags;
	enum connect_state state;
	unsigned int memalloc;
	bool cancelled;
	int err;

	memalloc = mpa_memalloc_save(flags);
	spin_lock_bh(&c->lock);
	state = c->state;
	cancelled = c->cancelled;
	spin_unlock_bh(&c->lock);

	if (state == CONNECT_PENDING) {
		err = cancelled ? -ECANCELED : connect_call(c);
		if (err != -EALREADY)
			connect_finish(c, err);
	} else if (state == CONNECT_AGAIN) {
		connect_again(c);
	}
	connector_put(c);
	mpa_memalloc_restore(flags, memalloc);
}

/* True if @work calls done(). */
bool mpa_connect_is_work(const struct work_struct *work)
{
	return work->func == connect_work;
}

static int connector_set_start(struct mpa_connector *c,
			       const struct mpa_sock_params *params)
{
	if (!params->start)
		return 0;
	c->start = *params->start;
	/*
	 * The connection's work item calls done(), and the attempt must not
	 * wait where the connection must not.
	 */
	c->start.flags |= params->flags & MPA_F_MEMALLOC;
	c->params.flags |= params->start->flags & MPA_F_MEMALLOC;
	if (params->pd_len) {
		c->pd = kmemdup(params->pd, params->pd_len, GFP_KERNEL);
		if (!c->pd)
			return -ENOMEM;
	}
	c->starts = true;
	get_net_track(params->net, &c->ns_tracker, GFP_KERNEL);
	return 0;
}

static struct mpa_connector *
connector_new(const struct mpa_sock_params *params,
	      mpa_connected_fn done)
{
	struct mpa_connector *c;

	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return NULL;
	refcount_set(&c->refs, 1);
	spin_lock_init(&c->lock);
	INIT_WORK(&c->work, connect_work);
	c->params = *params;
	c->done = done;
	if (connector_set_start(c, params)) {
		kfree(c);
		return NULL;
	}
	return c;
}

static int connect_check(const struct mpa_sock_params *params)
{
	const struct mpa_params *start = params->start;
	unsigned short local = params->local.ss_family;

	if (!mpa_sock_params_ok(params, MPA_F_MEMALLOC | MPA_F_FALLBACK))
		return -EINVAL;
	if (start && (!mpa_params_ok(start) || !start->ops->rejected))
		return -EINVAL;
	if (start && params->pd_len > MPA_PD_MAX_REV0)
		return -EMSGSIZE;
	if (params->flags & MPA_F_FALLBACK &&
	    !(start && start->rev == MPA_REV_2))
		return -EINVAL;
	if (!mpa_family_ok(params->peer.ss_family) ||
	    (local != AF_UNSPEC && local != params->peer.ss_family))
		return -EAFNOSUPPORT;
	return 0;
}

/**
 * mpa_connect - make a TCP connection for mpa_attach()
 * @params: addresses and socket options; except @ctx, not used after the return
 * @done: called exactly once if the call succeeds, in process context and with
 *	no lock held: with @err 0 and a connected @sock that is the consumer's
 *	from then on, or with a negative errno and no socket: %-ECONNREFUSED,
 *	%-ETIMEDOUT, %-EHOSTUNREACH, ... from TCP, what mpa_attach() or
 *	mpa_start_initiator() returned, %-ECANCELED after mpa_connect_close().
 *
 * With &mpa_sock_params.start the attempt continues when TCP is connected: MPA
 * is started as Initiator, by RFC 5044 section 7.1.2 or RFC 6581. When the
 * outcome is known, done() passes on the socket, and with it the connection
 * @conn (NULL otherwise), as if the consumer had called mpa_attach(). One of
 * the consumer's callbacks established(), rejected() and ended() follows at
 * once, unless done() detaches the connection. So done() need do nothing if
 * @err is 0; otherwise none of these callbacks comes.
 *
 * With %MPA_F_FALLBACK a peer that does not take a Rev 2 Request (RFC 6581
 * section 10) is sent one Rev 1 Request, with the same private data and without
 * enhanced data, on a new TCP connection, for which setup() is called again;
 * &mpa_info.rev tells which revision is in use.
 *
 * The caller holds a reference on the namespace, or knows that it stays; the
 * socket has one of its own. The consumer closes the socket with
 * sock_release(). Without start, its callbacks and sk_user_data are those of
 * TCP when done() is called. TCP_FASTOPEN_CONNECT is off, whatever setup() has
 * set: the socket of done() is connected.
 *
 * done() may run before this function returns. The returned handle stays
 * valid until mpa_connect_close(), which must be called exactly once for every
 * handle, whether or not done() has been called.
 *
 * Context: process context. Does not wait for the peer.
 * Return:
 * * a handle, or an ERR_PTR() (done() is never called then):
 * * %-EINVAL: bad flags or start; no @net; a negative @bound_dev_if or
 *   @backlog; or @bound_dev_if and the scope id of a link-local address name
 *   different devices
 * * %-EAFNOSUPPORT: neither IPv4 nor IPv6, or @local of another family
 * * %-EBUSY: setup() has set the socket's sk_user_data
 * * %-EMSGSIZE: more private data than any frame can hold
 * * %-ENOMEM: out of memory
 * * what setup(), bind or connect returned: %-EADDRINUSE, %-ENETUNREACH,
 *   %-ENODEV, ...
 */
struct mpa_connector *mpa_connect(const struct mpa_sock_params *params,
				  mpa_connected_fn done)
{
	u32 flags = params->flags;
	struct mpa_connector *c;
	unsigned int noio;
	int err;

	err = connect_check(params);
	if (err)
		return ERR_PTR(err);

	err = -ENOMEM;
	if (params->start)
		flags |= params->start->flags & MPA_F_MEMALLOC;
	noio = mpa_noio_save(flags);
	c = connector_new(params, done);
	if (c)
		err = connect_start(c);
	mpa_noio_restore(flags, noio);
	if (!err)
		return c;
	if (c) {
		connector_put_net(c);
		connector_put(c);
	}
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(mpa_connect);

/**
 * mpa_connect_close - give up a handle of mpa_connect()
 * @connector: the handle; no longer valid afterwards
 *
 * If done() has not been called and is not about to be, the attempt is
 * cancelled, and done() is called soon, with %-ECANCELED. A socket that done()
 * has passed on, and its connection, are not affected. RFC 5044 has no
 * counterpart.
 *
 * Context: any that may take a spinlock with BHs off, also done(). Never
 * waits; mpa_barrier() waits for a done() that has not been called yet.
 */
void mpa_connect_close(struct mpa_connector *connector)
{
	spin_lock_bh(&connector->lock);
	connector->cancelled = true;
	if (connector->state == CONNECT_STARTING && connector->conn)
		mpa_detach(connector->conn);
	else if (connector->state != CONNECT_DONE)
		connector_kick(connector);
	spin_unlock_bh(&connector->lock);
	connector_put(connector);
}
EXPORT_SYMBOL_GPL(mpa_connect_close);
