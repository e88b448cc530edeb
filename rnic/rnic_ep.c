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
 * ep->events says which event is next, and rnic_ep_over() gives what is owed,
 * once.
 * Those that are left are in the core alone: see "Not yet" in mpa-rnic.rst.
 *
 * What an endpoint needs of its listener is here as well, the reference and the
 * place among its children, and so are the type of service and the namespace of
 * sockets that connect or listen: rnic_cm.c and rnic_listen.c call this file,
 * never the other way round.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/rdma_cm.h>

#include "rnic.h"

#define WATCH_EVERY	HZ		/* whether the application is alive */

void rnic_listener_put(struct rnic_listener *l)
{
	if (!refcount_dec_and_test(&l->refs))
		return;
	l->cm_id->rem_ref(l->cm_id);
	kfree(l);
}

/* Drop the reference and the device that @orphans holds. */
void rnic_orphans_put(struct rnic_listener *l)
{
	struct ib_device *ib = l->cm_id->device;

	rnic_listener_put(l);
	ib_device_put(ib);
}

void rnic_child_del(struct rnic_ep *ep)
{
	struct rnic_listener *l = ep->listener;
	bool last;

	spin_lock_bh(&l->lock);
	list_del_init(&ep->child);
	last = l->closed && list_empty(&l->children);
	spin_unlock_bh(&l->lock);
	if (last && cancel_delayed_work(&l->orphans))
		rnic_orphans_put(l);
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
		rnic_listener_put(ep->listener);
	ib_device_put(&ep->dev->ib);
	put_pid(ep->owner);
	kfree(ep);
}

/*
 * Takes the handle of mpa_connect(), which the caller closes, if it is of no
 * more use: after done(), which may come before the handle is known, and after
 * an abort, so that done() comes soon.
 */
struct mpa_connector *rnic_ep_take_spent_connector(struct rnic_ep *ep)
{
	struct mpa_connector *connector = NULL;

	lockdep_assert_held(&ep->lock);
	if (ep->attempt_over || ep->aborted)
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
	connector = rnic_ep_take_spent_connector(ep);
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
	bool dying = is_dying(ep->owner), over;

	spin_lock_bh(&ep->lock);
	over = ep->attempt_over;
	if (!dying && !over &&
	    queue_delayed_work(rnic_wq, &ep->watch, WATCH_EVERY))
		rnic_ep_get(ep);
	spin_unlock_bh(&ep->lock);
	if (dying && !over)
		rnic_ep_abort(ep);
	rnic_ep_put(ep);
}

/* Begin to watch the process that connects. */
void rnic_ep_watch_begin(struct rnic_ep *ep)
{
	ep->owner = get_pid(ep->qp->owner);
	rnic_ep_get(ep);
	queue_delayed_work(rnic_wq, &ep->watch, WATCH_EVERY);
}

/* The attempt to connect has ended, or never began. */
void rnic_ep_attempt_over(struct rnic_ep *ep)
{
	struct mpa_connector *connector;

	spin_lock_bh(&ep->lock);
	WRITE_ONCE(ep->attempt_over, true);
	connector = rnic_ep_take_spent_connector(ep);
	spin_unlock_bh(&ep->lock);
	if (connector)
		mpa_connect_close(connector);
	if (cancel_delayed_work(&ep->watch))
		rnic_ep_put(ep);
}

struct rnic_ep *rnic_ep_new(struct rnic_dev *dev, bool initiator)
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

/* Returns true if they were @from: then they are @to now. */
static bool ep_events_change(struct rnic_ep *ep, enum rnic_ep_events from,
			     enum rnic_ep_events to)
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

	if (ep_events_change(ep, RNIC_EVENTS_OWED, RNIC_EVENTS_NONE)) {
		if (ep->initiator) {
			ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, err, NULL);
			return;
		}
		/* Its status is ignored, and without it CLOSE is a BUG(). */
		ep_event(ep, IW_CM_EVENT_ESTABLISHED, err, NULL);
		ep_event(ep, IW_CM_EVENT_CLOSE, 0, NULL);
	} else if (ep_events_change(ep, RNIC_EVENTS_UP, RNIC_EVENTS_NONE)) {
		ep_event(ep, IW_CM_EVENT_CLOSE, 0, NULL);
	}
}

/* QP and endpoint */

/* With a reference, or NULL */
struct rnic_ep *rnic_ep_of(struct rnic_qp *qp)
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
struct rnic_qp *rnic_ep_bind(struct rnic_ep *ep,
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

void rnic_ep_unbind(struct rnic_ep *ep, struct rnic_qp *qp)
{
	rnic_qp_unbind(qp);
	rnic_qp_put(qp);
	rnic_ep_put(ep);
}

/* Callbacks of MPA, which runs one at a time */

/*
 * The kernel writes out no memory through the QP of an application. So that QP
 * does not take from the memory reserves: its peer may never read.
 */
static void ep_forgo_reserves(struct mpa_conn *conn)
{
	struct sock *sk = mpa_conn_socket(conn)->sk;

	lock_sock(sk);
	WRITE_ONCE(sk->sk_allocation, sk->sk_allocation | __GFP_NOMEMALLOC);
	release_sock(sk);
}

static void ep_established(struct mpa_conn *conn,
			   const struct mpa_startup *reply)
{
	struct rnic_ep *ep = mpa_conn_ctx(conn);
	struct mpa_info info;

	if (!ep->qp->kernel)
		ep_forgo_reserves(conn);
	mpa_get_info(conn, &info);
	rnic_count(ep->dev, RNIC_STAT_CONNECTED);
	rnic_qp_up(ep->qp, conn, &info);
	/* Where applications poll the work item may have to wait for a CPU. */
	mpa_allow_softirq(conn);
	mpa_allow_softirq_send(conn);
	if (info.initiator && info.rtr && rnic_tx_rtr(ep->qp, conn, info.rtr))
		mpa_abort(conn);
	if (ep_events_change(ep, RNIC_EVENTS_OWED, RNIC_EVENTS_UP))
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

	/* First: the program may then destroy its QP, which aborts. */
	ep_detach(ep, conn);
	if (ep_events_change(ep, RNIC_EVENTS_OWED, RNIC_EVENTS_NONE))
		ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED, reply);
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

/*
 * True if the core will give a Request for @addr to our device: if that is an
 * address of our netdev, or of a VLAN on it, or of the netdev that ours is a
 * VLAN on (neither has a device then, see link_add()). A VLAN has the hardware
 * address of the netdev below, and so the same link-local address, of which the
 * core finds the older netdev's. Linux hears any address of the host on any
 * netdev. But the core gives a Request to the device whose netdev has the
 * address, while its cm_id stays ours: a program that then answers after our
 * device has gone would have the core use freed memory. Its look-up comes later
 * than this one: an address that moves in between is not seen.
 */
static bool ep_owns(const struct rnic_ep *ep, struct net *net,
		    const struct sockaddr_storage *addr)
{
	struct rdma_dev_addr found = { .net = net };
	struct net_device *ours, *owner;
	bool owns = false;

	ours = ib_device_get_netdev(&ep->dev->ib, 1);
	if (!ours)
		return false;
	if (!rdma_translate_ip((const struct sockaddr *)addr, &found)) {
		rcu_read_lock();
		owner = dev_get_by_index_rcu(net, found.bound_dev_if);
		owns = owner && (owner == ours ||
				 rnic_is_vlan_on(owner, ours) ||
				 rnic_is_vlan_on(ours, owner));
		rcu_read_unlock();
	}
	dev_put(ours);
	return owns;
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
	struct net *net = sock_net(mpa_conn_socket(conn)->sk);
	struct mpa_info info;

	mpa_get_info(conn, &info);
	event.local_addr = info.local;
	event.remote_addr = info.peer;
	v4mapped_to_ipv4(&event.local_addr);
	v4mapped_to_ipv4(&event.remote_addr);
	if (!ep_owns(ep, net, &event.local_addr) ||
	    !child_note_request(l, ep)) {
		ep_refuse(conn);
		return;
	}
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

/*
 * The receive half has ended. An error (codes 2, 3, 6, 7): Terminate, ERR,
 * async event. The peer's FIN, also inside an FPDU: send what is left, then our
 * FIN. If TCP is lost, closed() follows. iw_cm hears of all at rnic_ep_over().
 */
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
	rnic_qp_leave_later(ep->qp);
}

static void ep_closed(struct mpa_conn *conn, int err)
{
	ep_detach(mpa_conn_ctx(conn), conn);
}

/* iw_cm can no longer answer its Request. */
static void child_over(struct rnic_ep *ep)
{
	rnic_child_del(ep);
	if (xa_cmpxchg_bh(&ep->dev->eps, ep->number, ep, NULL, 0) == ep)
		rnic_ep_put(ep);
}

/* Nothing of the connection is left: the end of the phase. */
void rnic_ep_over(struct rnic_ep *ep)
{
	if (ep->qp)
		rnic_qp_over(ep->qp);
	if (ep->cm_id)
		ep_last_events(ep);
	if (ep->qp)
		rnic_ep_unbind(ep, ep->qp);
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
	rnic_ep_over(ep);
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

void rnic_ep_params(struct mpa_params *params, struct rnic_ep *ep,
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
			.rtr	= RNIC_RTR,
		},
	};
}

/* TCP takes an IPv6 socket's class from another field than IPv4's. */
void rnic_sock_set_tos(struct sock *sk, const struct iw_cm_id *cm_id)
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

/*
 * The namespace of one that listens or connects, which rdma_cm holds. iw_cm
 * does not pass it on. But rdma_cm alone calls iw_cm_listen() and
 * iw_cm_connect(), and the context of its cm_ids begins with this.
 */
struct net *rnic_cm_id_net(const struct iw_cm_id *cm_id)
{
	const struct rdma_cm_id *id = cm_id->context;

	return id->route.addr.dev_addr.net;
}
