// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints, each of one connection, from iw_connect or the accepted socket
 * until released(); and the events that iw_cm gets.
 *
 * An endpoint has a reference for its phase (connecting, or having a
 * connection), one for the QP's pointer, one for its number, by which iw_cm
 * names a Responder's until it answers, and one for @watch while that is
 * queued. Only the endpoint itself detaches, in closed(), rejected() and run();
 * other code that wants it to end aborts, or asks run() to leave.
 *
 * iw_cm has BUG()s for events out of order: CLOSE before CONNECT_REPLY or
 * ESTABLISHED, and any event after iw_accept or iw_connect has failed.
 * ep->events says what was given, and ep_over() gives what is owed, once.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>

#include "rnic.h"

#define SYN_RETRIES	3		/* destroying a cm_id waits for it */

#define ORPHAN_TIMEOUT	(3 * HZ)	/* for an answer without a listener */

#define WATCH_EVERY	HZ		/* whether the application is alive */

enum ep_events {
	EVENTS_NONE,	/* no cm_id, or it wants no event */
	EVENTS_OWED,	/* CONNECT_REPLY or ESTABLISHED is due */
	EVENTS_UP,	/* CLOSE is due */
};

/**
 * struct rnic_listener - a listening cm_id
 * @refs: iw_cm's, and one for each endpoint that it has accepted
 * @cm_id: with a reference
 * @mpa: MPA's listener, or NULL
 * @lock: protects @children and @closed
 * @children: endpoints that iw_cm has not answered
 * @closed: no more children
 * @orphans: aborts those that are not answered; has a reference, and the device
 */
struct rnic_listener {
	refcount_t		refs;
	struct iw_cm_id		*cm_id;
	struct mpa_listener	*mpa;
	spinlock_t		lock;	/* protects @children and @closed */
	struct list_head	children;
	bool			closed;
	struct delayed_work	orphans;
};

/**
 * struct rnic_ep - an endpoint
 * @refs: of its phase, its QP, its number and @watch
 * @dev: its device, which is not unregistered before the endpoint is gone
 * @lock: protects @conn, @aborted, @events, @connector, @connected; held when
 *	@watch queues itself again. child_start() sets @conn under the
 *	listener's lock instead, before any callback can come
 * @conn: until it is detached
 * @aborted: rnic_ep_abort() was called, maybe before there was a connection
 * @events: what iw_cm has been given
 * @cm_id: with a reference, once connecting or accepted
 * @qp: with a reference, likewise
 * @listener: of a Responder, with a reference until the endpoint is freed: an
 *	answer may meet the end of the connection
 * @child: in its list
 * @number: by which iw_cm names it, or 0; with a reference until the end
 * @requested: iw_cm has its Request; under the listener's lock
 * @answered: iw_cm has accepted or rejected it
 * @initiator: it has called iw_connect
 * @err: how the connection ended
 * @connector: from the return of mpa_connect() until done() or an abort
 * @connected: the attempt to connect has ended, or never began
 * @owner: of an Initiator with a QP of user space: the process
 * @watch: looks whether @owner dies, until done(); has a reference
 */
struct rnic_ep {
	refcount_t		refs;
	struct rnic_dev		*dev;
	spinlock_t		lock;	/* protects what is said above */
	struct mpa_conn		*conn;
	bool			aborted;
	enum ep_events		events;
	struct iw_cm_id		*cm_id;
	struct rnic_qp		*qp;
	struct rnic_listener	*listener;
	struct list_head	child;
	u32			number;
	bool			requested;
	bool			answered;
	bool			initiator;
	int			err;
	struct mpa_connector	*connector;
	bool			connected;
	struct pid		*owner;
	struct delayed_work	watch;
};

static void listener_put(struct rnic_listener *l)
{
	if (!refcount_dec_and_test(&l->refs))
		return;
	l->cm_id->rem_ref(l->cm_id);
	kfree(l);
}

/* Its children are answered, or aborted. */
static void orphans_put(struct rnic_listener *l)
{
	struct ib_device *ib = l->cm_id->device;

	listener_put(l);
	ib_device_put(ib);
}

static void child_del(struct rnic_ep *ep)
{
	struct rnic_listener *l = ep->listener;
	bool last;

	spin_lock_bh(&l->lock);
	list_del_init(&ep->child);
	last = l->closed && list_empty(&l->children);
	spin_unlock_bh(&l->lock);
	if (last && cancel_delayed_work(&l->orphans))
		orphans_put(l);
}

void rnic_ep_get(struct rnic_ep *ep)
{
	refcount_inc(&ep->refs);
}

void rnic_ep_put(struct rnic_ep *ep)
{
	if (!refcount_dec_and_test(&ep->refs))
		return;
	if (ep->listener)
		listener_put(ep->listener);
	ib_device_put(&ep->dev->ib);
	put_pid(ep->owner);
	kfree(ep);
}

/*
 * Takes the handle of mpa_connect(), which the caller closes, if it is of no
 * more use: after done(), which may come before the handle is known, and after
 * an abort, so that done() comes soon.
 */
static struct mpa_connector *ep_spent_connector(struct rnic_ep *ep)
{
	struct mpa_connector *connector = NULL;

	lockdep_assert_held(&ep->lock);
	if (ep->connected || ep->aborted)
		swap(connector, ep->connector);
	return connector;
}

/*
 * Abort the connection; an attempt to connect is cancelled. Context: any but
 * hard interrupt
 */
void rnic_ep_abort(struct rnic_ep *ep)
{
	struct mpa_connector *connector;

	spin_lock_bh(&ep->lock);
	ep->aborted = true;
	if (ep->conn)
		mpa_abort(ep->conn);
	connector = ep_spent_connector(ep);
	spin_unlock_bh(&ep->lock);
	if (connector)
		mpa_connect_close(connector);
}

/* True if the process is being killed, or has ended. */
static bool is_dying(struct pid *pid)
{
	struct task_struct *task;
	bool res;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	res = !task || READ_ONCE(task->signal->flags) & SIGNAL_GROUP_EXIT;
	rcu_read_unlock();
	return res;
}

/*
 * When an application dies while it connects, the RDMA core waits for
 * CONNECT_REPLY before anything that would tell us. Ends with done().
 */
static void ep_watch(struct work_struct *work)
{
	struct rnic_ep *ep = container_of(to_delayed_work(work),
					  struct rnic_ep, watch);
	bool dying = is_dying(ep->owner), connected;

	spin_lock_bh(&ep->lock);
	connected = ep->connected;
	if (!dying && !connected &&
	    queue_delayed_work(rnic_wq, &ep->watch, WATCH_EVERY))
		rnic_ep_get(ep);
	spin_unlock_bh(&ep->lock);
	if (dying && !connected)
		rnic_ep_abort(ep);
	rnic_ep_put(ep);
}

/* Begin to watch the process that connects. */
static void ep_watch_begin(struct rnic_ep *ep)
{
	ep->owner = get_pid(ep->qp->owner);
	rnic_ep_get(ep);
	queue_delayed_work(rnic_wq, &ep->watch, WATCH_EVERY);
}

static struct rnic_ep *ep_new(struct rnic_dev *dev, bool initiator)
{
	struct rnic_ep *ep;

	if (!ib_device_try_get(&dev->ib))
		return NULL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep) {
		ib_device_put(&dev->ib);
		return NULL;
	}
	refcount_set(&ep->refs, 1);
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->child);
	INIT_DELAYED_WORK(&ep->watch, ep_watch);
	ep->dev = dev;
	ep->initiator = initiator;
	return ep;
}

/* Events */

static int ep_event(struct rnic_ep *ep, enum iw_cm_event_type type, int status,
		    const struct mpa_startup *startup)
{
	struct iw_cm_event event = {
		.event		= type,
		.status		= status,
		.local_addr	= ep->cm_id->m_local_addr,
		.remote_addr	= ep->cm_id->m_remote_addr,
	};
	int err;

	if (startup) {
		event.private_data = (void *)startup->pd;
		event.private_data_len = min_t(u32, startup->pd_len, U8_MAX);
	}
	if (ep->qp) {
		event.ird = min_t(u32, ep->qp->ird, U8_MAX);
		event.ord = min_t(u32, ep->qp->ord, U8_MAX);
	}
	err = ep->cm_id->event_handler(ep->cm_id, &event);
	if (err != -ENOMEM || !event.private_data_len)
		return err;
	/* Not taken; without private data it needs no memory. */
	event.private_data = NULL;
	event.private_data_len = 0;
	return ep->cm_id->event_handler(ep->cm_id, &event);
}

static bool ep_events_from(struct rnic_ep *ep, enum ep_events from,
			   enum ep_events to)
{
	bool res;

	spin_lock_bh(&ep->lock);
	res = ep->events == from;
	if (res)
		ep->events = to;
	spin_unlock_bh(&ep->lock);
	return res;
}

/* Give the events that are still owed. */
static void ep_last_events(struct rnic_ep *ep)
{
	int err = ep->err ?: -ECONNRESET;

	if (ep_events_from(ep, EVENTS_OWED, EVENTS_NONE)) {
		if (ep->initiator) {
			ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, err, NULL);
			return;
		}
		/* Its status is ignored, and without it CLOSE is a BUG(). */
		ep_event(ep, IW_CM_EVENT_ESTABLISHED, err, NULL);
		ep_event(ep, IW_CM_EVENT_CLOSE, 0, NULL);
	} else if (ep_events_from(ep, EVENTS_UP, EVENTS_NONE)) {
		ep_event(ep, IW_CM_EVENT_CLOSE, 0, NULL);
	}
}

/* QP and endpoint */

/* With a reference, or NULL */
struct rnic_ep *rnic_qp_ep(struct rnic_qp *qp)
{
	struct rnic_ep *ep;

	spin_lock_irq(&qp->sq.q.lock);
	ep = qp->ep;
	if (ep)
		rnic_ep_get(ep);
	spin_unlock_irq(&qp->sq.q.lock);
	return ep;
}

/* With a reference, and one on the endpoint for the QP's pointer */
static struct rnic_qp *ep_bind(struct rnic_ep *ep,
			       const struct iw_cm_conn_param *param)
{
	struct rnic_qp *qp = rnic_qp_find(ep->dev, param->qpn);
	int err;

	if (!qp)
		return ERR_PTR(-EINVAL);
	err = -EINVAL;
	if (!rnic_qp_is_foreign(qp))
		err = rnic_qp_bind(qp, ep, param->ird, param->ord);
	if (err) {
		rnic_qp_put(qp);
		return ERR_PTR(err);
	}
	rnic_ep_get(ep);
	return qp;
}

static void ep_unbind(struct rnic_ep *ep, struct rnic_qp *qp)
{
	rnic_qp_unbind(qp);
	rnic_qp_put(qp);
	rnic_ep_put(ep);
}

/* A Responder's number, until it is accepted; then provider_data is a QP. */
static bool has_number(const struct iw_cm_id *cm_id)
{
	return xa_is_value(cm_id->provider_data);
}

/*
 * From the number of iw_cm, with a reference, or NULL; it can be answered once.
 * iw_cm has one call at a time.
 */
static struct rnic_ep *ep_answer(struct iw_cm_id *cm_id)
{
	struct rnic_dev *dev = to_rnic(cm_id->device);
	struct rnic_ep *ep;

	xa_lock_bh(&dev->eps);
	ep = xa_load(&dev->eps, xa_to_value(cm_id->provider_data));
	if (ep && ep->answered)
		ep = NULL;
	if (ep) {
		ep->answered = true;
		rnic_ep_get(ep);
	}
	xa_unlock_bh(&dev->eps);
	if (ep)
		child_del(ep);
	return ep;
}

/* Callbacks of MPA, which runs one at a time */

static void ep_up(struct rnic_ep *ep, struct mpa_conn *conn)
{
	struct mpa_info info;

	mpa_get_info(conn, &info);
	rnic_count(ep->dev, RNIC_STAT_CONNECTED);
	rnic_qp_up(ep->qp, conn, &info);
	/* Where applications poll the work item may have to wait for a CPU. */
	mpa_allow_softirq(conn);
	if (info.initiator && info.rtr && rnic_tx_rtr(ep->qp, conn, info.rtr))
		mpa_abort(conn);
}

static void ep_established(struct mpa_conn *conn,
			   const struct mpa_startup *reply)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);

	ep_up(ep, conn);
	if (ep_events_from(ep, EVENTS_OWED, EVENTS_UP))
		ep_event(ep, ep->initiator ? IW_CM_EVENT_CONNECT_REPLY :
					     IW_CM_EVENT_ESTABLISHED, 0, reply);
	mpa_resume(conn);
	mpa_kick(conn);
}

/*
 * Clear ep->conn first: from then on iw_accept fails, so ep->qp and ep->cm_id
 * no longer change.
 */
static void ep_detach(struct rnic_ep *ep, struct mpa_conn *conn)
{
	spin_lock_bh(&ep->lock);
	ep->conn = NULL;
	spin_unlock_bh(&ep->lock);
	if (ep->qp)
		rnic_qp_down(ep->qp);
	mpa_detach(conn);
}

static void ep_rejected(struct mpa_conn *conn, const struct mpa_startup *reply)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);

	if (ep_events_from(ep, EVENTS_OWED, EVENTS_NONE))
		ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED, reply);
	ep_detach(ep, conn);
}

/* Returns false if the listener has gone: iw_cm will not answer. */
static bool child_note_request(struct rnic_listener *l, struct rnic_ep *ep)
{
	spin_lock_bh(&l->lock);
	ep->requested = !l->closed;
	spin_unlock_bh(&l->lock);
	return ep->requested;
}

/* Rejecting needs memory. */
static void ep_refuse(struct mpa_conn *conn)
{
	if (mpa_reject(conn, NULL, 0))
		mpa_abort(conn);
}

/*
 * A listener on :: hears IPv4, too: its sockets then have v4-mapped addresses.
 * The core refuses those, as no netdev has one.
 */
static void v4mapped_to_ipv4(struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;
	struct sockaddr_in ipv4 = { .sin_family = AF_INET };

	if (ss->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&sin6->sin6_addr))
		return;
	ipv4.sin_port = sin6->sin6_port;
	ipv4.sin_addr.s_addr = sin6->sin6_addr.s6_addr32[3];
	memset(ss, 0, sizeof(*ss));
	*sin = ipv4;
}

static void ep_request(struct mpa_conn *conn, const struct mpa_startup *req)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);
	struct rnic_listener *l = ep->listener;
	struct iw_cm_event event = {
		.event		= IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data	= xa_mk_value(ep->number),
		.private_data	= (void *)req->pd,
		.private_data_len = min_t(u32, req->pd_len, U8_MAX),
		.ird		= RNIC_MAX_DEPTH,
		.ord		= RNIC_MAX_DEPTH,
	};
	struct mpa_info info;

	if (!child_note_request(l, ep)) {
		ep_refuse(conn);
		return;
	}
	mpa_get_info(conn, &info);
	event.local_addr = info.local;
	event.remote_addr = info.peer;
	v4mapped_to_ipv4(&event.local_addr);
	v4mapped_to_ipv4(&event.remote_addr);
	if (req->enhanced && req->enhanced->ird != MPA_DEPTH_ULP)
		event.ird = min_t(u16, req->enhanced->ird, U8_MAX);
	if (req->enhanced && req->enhanced->ord != MPA_DEPTH_ULP)
		event.ord = min_t(u16, req->enhanced->ord, U8_MAX);
	if (l->cm_id->event_handler(l->cm_id, &event))
		ep_refuse(conn);
}

static void ep_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);

	rnic_rx_recv(ep->qp, conn, rx);
}

static void ep_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);

	rnic_sq_sent(ep->qp, done);
}

static void ep_run(struct mpa_conn *conn)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);

	if (rnic_sq_run(ep->qp))
		ep_detach(ep, conn);
}

/* The peer's FIN: send what is left, then ours. iw_cm hears of it at CLOSE. */
static void ep_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);
	struct mpa_info info;

	ep->err = end->err;
	mpa_get_info(conn, &info);
	if (info.state != MPA_STATE_FULL)
		return;
	if (end->error > MPA_ERR_TCP) {
		/* Its Reply was wrong: full operation without established() */
		if (!ep->qp->sq.conn)
			rnic_qp_up(ep->qp, conn, &info);
		rnic_fail(ep->qp, conn, RDMAP_ERR_MPA(end->error), 0, NULL, 0);
		return;
	}
	rnic_sq_close(ep->qp);
	rnic_qp_close_soon(ep->qp);
}

static void ep_closed(struct mpa_conn *conn, int err)
{
	ep_detach(mpa_conn_ctx(conn), conn);
}

/* iw_cm can no longer answer its Request. */
static void child_over(struct rnic_ep *ep)
{
	child_del(ep);
	if (xa_cmpxchg_bh(&ep->dev->eps, ep->number, ep, NULL, 0) == ep)
		rnic_ep_put(ep);
}

/* Nothing of the connection is left: the end of the phase. */
static void ep_over(struct rnic_ep *ep)
{
	if (ep->qp)
		rnic_qp_over(ep->qp);
	if (ep->cm_id)
		ep_last_events(ep);
	if (ep->qp)
		ep_unbind(ep, ep->qp);
	/* Before the cm_id may go: ep_accepted() finds this one by it. */
	if (ep->listener)
		child_over(ep);
	if (ep->cm_id)
		ep->cm_id->rem_ref(ep->cm_id);
	rnic_ep_put(ep);
}

static void ep_released(struct mpa_conn *conn, struct list_head *left)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);

	if (ep->qp)
		rnic_sq_sent(ep->qp, left);
	sock_release(mpa_conn_socket(conn));
	ep_over(ep);
}

static const struct mpa_ops ep_ops = {
	.request	= ep_request,
	.established	= ep_established,
	.rejected	= ep_rejected,
	.recv		= ep_recv,
	.sent		= ep_sent,
	.ended		= ep_ended,
	.closed		= ep_closed,
	.run		= ep_run,
	.released	= ep_released,
};

static void ep_params(struct mpa_params *params, struct rnic_ep *ep,
		      struct net *net, u32 ird, u32 ord)
{
	*params = (struct mpa_params) {
		.ops		= &ep_ops,
		.ctx		= ep,
		.flags		= MPA_F_MEMALLOC | MPA_F_ENHANCED |
			  rnic_net_flags(net),
		.rev		= MPA_REV_2,
		.enhanced	= {
			.ird	= ird,
			.ord	= ord,
			.rtr	= MPA_RTR_WRITE | MPA_RTR_READ,
		},
	};
}

/* What iw_cm calls */

/*
 * For this socket TCP takes packets that are in the memory reserves; for others
 * it drops them. The static key that this turns on stays on, as with nvme-tcp,
 * nbd and iscsi_tcp: turning it on takes jump_label_mutex, and the loader of
 * modules allocates under that. Only the first connection does so, when no
 * memory is written out through a QP yet.
 */
static void sock_set_reserves(struct sock *sk)
{
	lock_sock(sk);
	sk_set_memalloc(sk);
	release_sock(sk);
}

/* TCP takes an IPv6 socket's class from another field than IPv4's. */
static void sock_set_tos(struct sock *sk, const struct iw_cm_id *cm_id)
{
	if (!cm_id->tos_set)
		return;
	ip_sock_set_tos(sk, cm_id->tos);
	if (sk->sk_family != AF_INET6)
		return;
	lock_sock(sk);
	inet6_sk(sk)->tclass = cm_id->tos & ~INET_ECN_MASK;
	release_sock(sk);
}

static int connect_setup(struct socket *sock, void *ctx)
{
	struct rnic_ep *ep = ctx;

	/* Memory may be written out through a QP of the kernel. */
	if (ep->qp->kernel)
		sock_set_reserves(sock->sk);
	sock_set_reuseaddr(sock->sk);
	/* If ep_any_port() leaves it to TCP: one that is free for this peer */
	inet_set_bit(BIND_ADDRESS_NO_PORT, sock->sk);
	sock_set_tos(sock->sk, ep->cm_id);
	return tcp_sock_set_syncnt(sock->sk, SYN_RETRIES);
}

/* The attempt to connect has ended, or never began. */
static void ep_attempt_over(struct rnic_ep *ep)
{
	struct mpa_connector *connector;

	spin_lock_bh(&ep->lock);
	ep->connected = true;
	connector = ep_spent_connector(ep);
	spin_unlock_bh(&ep->lock);
	if (connector)
		mpa_connect_close(connector);
	if (cancel_delayed_work(&ep->watch))
		rnic_ep_put(ep);
}

static void ep_done(void *ctx, struct socket *sock, struct mpa_conn *conn,
		    int err)
{
	struct rnic_ep *ep = ctx;

	ep_attempt_over(ep);
	if (err) {
		ep->err = err;
		ep_over(ep);
		return;
	}
	spin_lock_bh(&ep->lock);
	ep->conn = conn;
	if (ep->aborted)
		mpa_abort(conn);
	spin_unlock_bh(&ep->lock);
}

/*
 * rdma_cm picks the port of an Initiator at random and does not look at TCP, of
 * which a socket may have it. Any other will do, then. A program that has bound
 * a port outside of this range wants that one.
 */
static bool ep_any_port(struct mpa_sock_params *sock)
{
	/* sin6_port lies there, too */
	struct sockaddr_in *local = (struct sockaddr_in *)&sock->local;
	int port = ntohs(local->sin_port), low, high;

	inet_get_local_port_range(sock->net, &low, &high);
	if (port < low || port > high)
		return false;
	local->sin_port = 0;
	return true;
}

static int ep_connect(struct rnic_ep *ep, const struct iw_cm_conn_param *param)
{
	struct mpa_sock_params sock = {
		.local	= ep->cm_id->m_local_addr,
		.peer	= ep->cm_id->m_remote_addr,
		.flags	= MPA_F_MEMALLOC | MPA_F_FALLBACK,
		.setup	= connect_setup,
		.ctx	= ep,
		.pd	= param->private_data,
		.pd_len	= param->private_data_len,
	};
	struct mpa_connector *connector;
	struct mpa_params params;
	struct net_device *netdev;

	netdev = ib_device_get_netdev(&ep->dev->ib, 1);
	if (!netdev)
		return -ENODEV;
	sock.net = dev_net(netdev);
	ep_params(&params, ep, sock.net, ep->qp->ird, ep->qp->ord);
	sock.start = &params;
	connector = mpa_connect(&sock, ep_done);
	if ((connector == ERR_PTR(-EADDRINUSE) ||
	     connector == ERR_PTR(-EADDRNOTAVAIL)) && ep_any_port(&sock))
		connector = mpa_connect(&sock, ep_done);
	dev_put(netdev);
	if (IS_ERR(connector))
		return PTR_ERR(connector);
	spin_lock_bh(&ep->lock);
	ep->connector = connector;
	connector = ep_spent_connector(ep);
	spin_unlock_bh(&ep->lock);
	if (connector)
		mpa_connect_close(connector);
	return 0;
}

int rnic_iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_qp *qp;
	struct rnic_ep *ep;
	int err;

	if (param->private_data_len > MPA_PD_MAX_ENHANCED)
		return -EINVAL;
	ep = ep_new(to_rnic(cm_id->device), true);
	if (!ep)
		return -ENOMEM;
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	ep->events = EVENTS_OWED;
	/* done() may end it before mpa_connect() returns */
	rnic_ep_get(ep);
	qp = ep_bind(ep, param);
	err = PTR_ERR_OR_ZERO(qp);
	if (!err) {
		ep->qp = qp;
		if (!qp->kernel)
			ep_watch_begin(ep);
		err = ep_connect(ep, param);
		if (err) {
			ep_attempt_over(ep);
			ep_unbind(ep, qp);
		}
	}
	if (err) {
		cm_id->rem_ref(cm_id);
		rnic_ep_put(ep);
	}
	rnic_ep_put(ep);
	return err;
}

/*
 * The device goes: attempts to connect end, and none begins. The core waits for
 * their CONNECT_REPLY before it tells applications, or takes their QPs away.
 */
void rnic_cm_give_up(struct rnic_dev *dev)
{
	unsigned long number;
	struct rnic_ep *ep;
	struct rnic_qp *qp;
	void *entry;

	/* Before sq.q.lock is taken: rnic_qp_bind() sees it, or has bound. */
	WRITE_ONCE(dev->going, true);
	xa_for_each(&dev->qps, number, entry) {
		/* destroy_qp has ended the attempt of one freed since then. */
		qp = rnic_qp_find(dev, number);
		if (!qp)
			continue;
		ep = rnic_qp_ep(qp);
		if (ep && ep->initiator && !READ_ONCE(ep->connected))
			rnic_ep_abort(ep);
		if (ep)
			rnic_ep_put(ep);
		rnic_qp_put(qp);
	}
}

static void ep_set_accepted(struct rnic_ep *ep, struct rnic_qp *qp,
			    struct iw_cm_id *cm_id, enum ep_events events)
{
	ep->qp = qp;
	WRITE_ONCE(ep->cm_id, cm_id);
	ep->events = events;
}

/*
 * A Responder writes no memory out, but an Initiator on this host may write its
 * memory to it. Such an Initiator sends from the reserves, and without this TCP
 * would drop each retransmission as well. A peer elsewhere must not be able to
 * use the reserves up. The QP is not known earlier; no memory was written out.
 */
static void ep_set_reserves(struct rnic_ep *ep, const struct iw_cm_id *cm_id)
{
	struct rdma_dev_addr addr = {};
	struct sock *sk = NULL;

	spin_lock_bh(&ep->lock);
	if (ep->conn) {
		sk = mpa_conn_socket(ep->conn)->sk;
		sock_hold(sk);
	}
	spin_unlock_bh(&ep->lock);
	if (!sk)
		return;
	addr.net = sock_net(sk);
	if (!rdma_translate_ip((const struct sockaddr *)&cm_id->m_remote_addr,
			       &addr))
		sock_set_reserves(sk);
	sock_put(sk);
}

/*
 * The connection can end at any time. If it has ended, this fails and no event
 * comes; otherwise ep_over() finds QP and cm_id, and gives the events owed.
 */
static int ep_accept(struct rnic_ep *ep, struct rnic_qp *qp,
		     struct iw_cm_id *cm_id,
		     const struct iw_cm_conn_param *param)
{
	struct mpa_enhanced enhanced = {
		.ird	= qp->ird,
		.ord	= qp->ord,
		.rtr	= MPA_RTR_WRITE | MPA_RTR_READ,
	};
	int err = -ECONNRESET;

	spin_lock_bh(&ep->lock);
	if (ep->conn)
		err = mpa_set_enhanced(ep->conn, &enhanced, 0);
	if (!err) {
		/* established() may come before mpa_accept() returns. */
		ep_set_accepted(ep, qp, cm_id, EVENTS_OWED);
		err = mpa_accept(ep->conn, param->private_data,
				 param->private_data_len);
		if (err)
			ep_set_accepted(ep, NULL, NULL, EVENTS_NONE);
	}
	spin_unlock_bh(&ep->lock);
	return err;
}

/* By its cm_id, once it is accepted; with a reference, or NULL */
static struct rnic_ep *ep_accepted(struct iw_cm_id *cm_id)
{
	struct rnic_dev *dev = to_rnic(cm_id->device);
	unsigned long number;
	struct rnic_ep *ep;

	xa_lock_bh(&dev->eps);
	xa_for_each(&dev->eps, number, ep)
		if (READ_ONCE(ep->cm_id) == cm_id)
			break;
	if (ep)
		rnic_ep_get(ep);
	xa_unlock_bh(&dev->eps);
	return ep;
}

static void ep_abort_accepted(struct iw_cm_id *cm_id)
{
	struct rnic_ep *ep = ep_accepted(cm_id);

	if (!ep)
		return;
	rnic_ep_abort(ep);
	rnic_ep_put(ep);
}

/*
 * iw_cm lets a second accept follow until it has handled ESTABLISHED, and has a
 * BUG() if that one fails. So this always succeeds. iw_cm now holds a reference
 * on the QP named here, and has lost the pointer to the first QP with its
 * reference, which is dropped here. If the QPs differ, the connection is
 * aborted: at its CLOSE iw_cm drops the new reference, for which destroy_qp()
 * waits.
 */
static int accept_again(struct iw_cm_id *cm_id,
			const struct iw_cm_conn_param *param)
{
	struct rnic_qp *before = cm_id->provider_data;
	struct rnic_qp *qp;

	/* It has its number as long as iw_cm has a reference. */
	qp = rnic_qp_find(to_rnic(cm_id->device), param->qpn);
	cm_id->provider_data = qp;
	if (qp != before)
		ep_abort_accepted(cm_id);
	if (before)
		rnic_qp_put(before);
	if (qp)
		rnic_qp_put(qp);
	return 0;
}

/* After an error the connection is ended. */
int rnic_iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param)
{
	struct rnic_ep *ep;
	struct rnic_qp *qp;
	int err;

	if (!has_number(cm_id))
		return accept_again(cm_id, param);
	ep = ep_answer(cm_id);
	if (!ep)
		return -ECONNRESET;
	qp = ep_bind(ep, param);
	err = PTR_ERR_OR_ZERO(qp);
	if (!err) {
		if (qp->kernel)
			ep_set_reserves(ep, cm_id);
		cm_id->add_ref(cm_id);
		err = ep_accept(ep, qp, cm_id, param);
		if (err) {
			cm_id->rem_ref(cm_id);
			ep_unbind(ep, qp);
		}
	}
	if (err)
		rnic_ep_abort(ep);
	else
		cm_id->provider_data = qp;	/* iw_cm has a reference */
	rnic_ep_put(ep);
	return err;
}

/*
 * iw_cm lets a reject follow an accept, and then it has a BUG() for each event
 * that comes.
 */
static int ep_mute(struct iw_cm_id *cm_id)
{
	struct rnic_ep *ep = ep_accepted(cm_id);

	if (!ep)
		return -ECONNRESET;
	spin_lock_bh(&ep->lock);
	ep->events = EVENTS_NONE;
	spin_unlock_bh(&ep->lock);
	rnic_ep_abort(ep);
	rnic_ep_put(ep);
	return 0;
}

int rnic_iw_reject(struct iw_cm_id *cm_id, const void *pd, u8 len)
{
	struct rnic_ep *ep;
	int err = -ECONNRESET;

	if (!has_number(cm_id))
		return ep_mute(cm_id);
	ep = ep_answer(cm_id);
	if (!ep)
		return err;
	spin_lock_bh(&ep->lock);
	if (ep->conn)
		err = mpa_reject(ep->conn, pd, len);
	if (err && ep->conn)
		mpa_abort(ep->conn);
	spin_unlock_bh(&ep->lock);
	rnic_ep_put(ep);
	return err;
}

/* A child is on the listener's list until iw_cm answers its Request. */
static int child_start(struct rnic_listener *l, struct rnic_ep *ep,
		       struct socket *sock)
{
	struct mpa_params params;
	struct mpa_conn *conn;
	int err = 0;

	ep_params(&params, ep, sock_net(sock->sk), RNIC_MAX_DEPTH,
		  RNIC_MAX_DEPTH);
	conn = mpa_attach(sock, &params);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	spin_lock_bh(&l->lock);
	ep->conn = conn;
	if (l->closed)
		err = -ECANCELED;
	else
		list_add(&ep->child, &l->children);
	spin_unlock_bh(&l->lock);
	if (!err)
		err = mpa_start_responder(conn, NULL, 0);
	if (err)
		mpa_abort(conn);
	return 0;
}

static void listen_accepted(void *ctx, struct socket *sock)
{
	struct rnic_listener *l = ctx;
	struct rnic_dev *dev = to_rnic(l->cm_id->device);
	struct rnic_ep *ep = ep_new(dev, false);

	if (!ep) {
		sock_release(sock);
		return;
	}
	rnic_ep_get(ep);		/* the number's */
	refcount_inc(&l->refs);
	ep->listener = l;
	/* A number in use by a cm_id for long must not come again. */
	if (xa_alloc_cyclic_bh(&dev->eps, &ep->number, ep, XA_LIMIT(1, INT_MAX),
			       &dev->next_ep, GFP_KERNEL) < 0)
		rnic_ep_put(ep);	/* ep->number may be another's */
	else if (!child_start(l, ep, sock))
		return;
	else if (xa_erase_bh(&dev->eps, ep->number))
		rnic_ep_put(ep);
	rnic_ep_put(ep);
	sock_release(sock);
}

static int listen_setup(struct socket *sock, void *ctx)
{
	struct rnic_listener *l = ctx;

	sock_set_tos(sock->sk, l->cm_id);
	if (l->cm_id->afonly && sock->sk->sk_family == AF_INET6)
		return ip6_sock_set_v6only(sock->sk);
	return 0;
}

static bool is_wildcard(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;

	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&sin6->sin6_addr);
	return sin->sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool is_loopback(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;

	if (addr->ss_family == AF_INET6)
		return ipv6_addr_loopback(&sin6->sin6_addr);
	return ipv4_is_loopback(sin->sin_addr.s_addr);
}

/*
 * rdma_cm has each device listen to a loopback address, or fails. TCP lets one
 * socket, and what arrives there arrives on lo: other devices have no socket.
 */
static bool needs_no_socket(const struct net_device *netdev,
			    const struct sockaddr_storage *addr)
{
	return is_loopback(addr) && !(netdev->flags & IFF_LOOPBACK);
}

/*
 * Close the list, and abort unanswered children: all if @requested, otherwise
 * only those without a Request. Returns true if unanswered ones remain.
 */
static bool children_abort(struct rnic_listener *l, bool requested)
{
	struct rnic_ep *ep;
	bool left = false;

	spin_lock_bh(&l->lock);
	l->closed = true;
	list_for_each_entry(ep, &l->children, child) {
		if (requested || !ep->requested)
			rnic_ep_abort(ep);
		else
			left = true;
	}
	spin_unlock_bh(&l->lock);
	return left;
}

static void listen_orphans(struct work_struct *work)
{
	struct rnic_listener *l = container_of(to_delayed_work(work),
					       struct rnic_listener, orphans);

	children_abort(l, true);
	orphans_put(l);
}

/* A wildcard listener hears its own netdev only. */
int rnic_iw_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct rnic_dev *dev = to_rnic(cm_id->device);
	struct mpa_sock_params params = {
		.local	= cm_id->m_local_addr,
		.backlog = max(backlog, 0),
		.flags	= MPA_F_MEMALLOC,
		.setup	= listen_setup,
	};
	struct net_device *netdev;
	struct rnic_listener *l;

	netdev = ib_device_get_netdev(&dev->ib, 1);
	if (!netdev)
		return -ENODEV;
	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l) {
		dev_put(netdev);
		return -ENOMEM;
	}
	refcount_set(&l->refs, 1);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->children);
	INIT_DELAYED_WORK(&l->orphans, listen_orphans);
	cm_id->add_ref(cm_id);
	l->cm_id = cm_id;
	params.ctx = l;
	params.net = dev_net(netdev);
	if (is_wildcard(&params.local))
		params.bound_dev_if = netdev->ifindex;
	if (!needs_no_socket(netdev, &params.local))
		l->mpa = mpa_listen(&params, listen_accepted);
	dev_put(netdev);
	if (IS_ERR(l->mpa)) {
		int err = PTR_ERR(l->mpa);

		listener_put(l);
		return err;
	}
	cm_id->provider_data = l;
	return 0;
}

/*
 * An application may answer a Request without a listener. But iw_cm drops those
 * that are still queued for the listener, and never answers them.
 */
int rnic_iw_destroy_listen(struct iw_cm_id *cm_id)
{
	struct rnic_listener *l = cm_id->provider_data;

	if (l->mpa)
		mpa_listen_close_sync(l->mpa);
	if (children_abort(l, false) && ib_device_try_get(cm_id->device)) {
		queue_delayed_work(rnic_wq, &l->orphans, ORPHAN_TIMEOUT);
		return 0;
	}
	children_abort(l, true);
	listener_put(l);
	return 0;
}
