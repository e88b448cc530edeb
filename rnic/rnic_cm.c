// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What iw_cm asks for, except to listen: to connect, accept and reject. Also
 * how attempts to connect end when the device goes.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>

#include "rnic.h"

#define SYN_RETRIES	3		/* destroying a cm_id waits for it */

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

static int connect_setup(struct socket *sock, void *ctx)
{
	struct rnic_ep *ep = ctx;

	/* Memory may be written out through a QP of the kernel. */
	if (ep->qp->kernel)
		sock_set_reserves(sock->sk);
	sock_set_reuseaddr(sock->sk);
	/* A connection that is idle, or that waits, has no other time limit. */
	sock_set_keepalive(sock->sk);
	/* If ep_any_port() leaves it to TCP: one that is free for this peer */
	inet_set_bit(BIND_ADDRESS_NO_PORT, sock->sk);
	rnic_sock_set_tos(sock->sk, ep->cm_id);
	return tcp_sock_set_syncnt(sock->sk, SYN_RETRIES);
}

static void ep_done(void *ctx, struct socket *sock, struct mpa_conn *conn,
		    int err)
{
	struct rnic_ep *ep = ctx;

	rnic_ep_attempt_over(ep);
	if (err) {
		ep->err = err;
		rnic_ep_over(ep);
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

/* True if the netdev is in that namespace. */
static bool ep_net_is(const struct rnic_ep *ep, const struct net *net)
{
	struct net_device *netdev = ib_device_get_netdev(&ep->dev->ib, 1);
	bool res;

	if (!netdev)
		return false;
	res = net_eq(dev_net(netdev), net);
	dev_put(netdev);
	return res;
}

/* In rdma_cm's namespace, which it holds: the netdev may move to another. */
static int ep_connect(struct rnic_ep *ep, const struct iw_cm_conn_param *param)
{
	struct mpa_sock_params sock = {
		.net	= rnic_cm_id_net(ep->cm_id),
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

	if (!ep_net_is(ep, sock.net))
		return -ENODEV;
	rnic_ep_params(&params, ep, sock.net, ep->qp->ird, ep->qp->ord);
	sock.start = &params;
	connector = mpa_connect(&sock, ep_done);
	if ((connector == ERR_PTR(-EADDRINUSE) ||
	     connector == ERR_PTR(-EADDRNOTAVAIL)) && ep_any_port(&sock))
		connector = mpa_connect(&sock, ep_done);
	if (IS_ERR(connector))
		return PTR_ERR(connector);
	spin_lock_bh(&ep->lock);
	ep->connector = connector;
	connector = rnic_ep_take_spent_connector(ep);
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
	ep = rnic_ep_new(to_rnic(cm_id->device), true);
	if (!ep)
		return -ENOMEM;
	cm_id->add_ref(cm_id);
	ep->cm_id = cm_id;
	ep->events = RNIC_EVENTS_OWED;
	qp = rnic_ep_bind(ep, param);
	if (IS_ERR(qp)) {
		err = PTR_ERR(qp);
		goto put_cm_id;
	}
	ep->qp = qp;
	/* done() may end it before mpa_connect() returns */
	rnic_ep_get(ep);
	if (!qp->kernel)
		rnic_ep_watch_begin(ep);
	err = ep_connect(ep, param);
	if (err)
		goto unbind;
	rnic_ep_put(ep);
	return 0;

unbind:
	rnic_ep_attempt_over(ep);
	rnic_ep_unbind(ep, qp);
	rnic_ep_put(ep);
put_cm_id:
	cm_id->rem_ref(cm_id);
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

	/*
	 * Pairs with rnic_qp_bind(), which looks under sq.q.lock: a QP that was
	 * bound before that is found below.
	 */
	WRITE_ONCE(dev->going, true);
	xa_for_each(&dev->qps, number, entry) {
		/* destroy_qp has ended the attempt of one freed since then. */
		qp = rnic_qp_find(dev, number);
		if (!qp)
			continue;
		ep = rnic_ep_of(qp);
		if (ep && ep->initiator && !READ_ONCE(ep->attempt_over))
			rnic_ep_abort(ep);
		if (ep)
			rnic_ep_put(ep);
		rnic_qp_put(qp);
	}
}

/*
 * True until iw_accept: provider_data is the number of a Responder's endpoint;
 * then it is a QP.
 */
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
		rnic_child_del(ep);
	return ep;
}

static void ep_set_accepted(struct rnic_ep *ep, struct rnic_qp *qp,
			    struct iw_cm_id *cm_id, enum rnic_ep_events events)
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

/* An answer comes too late as soon as MPA knows that the connection ends. */
static int answer_error(int err)
{
	return err == -EALREADY || err == -ENOTCONN ? -ECONNRESET : err;
}

/*
 * The connection can end at any time. If it has ended, this fails and no event
 * comes; otherwise rnic_ep_over() finds QP and cm_id, and gives the events that
 * are owed.
 */
static int ep_accept(struct rnic_ep *ep, struct rnic_qp *qp,
		     struct iw_cm_id *cm_id,
		     const struct iw_cm_conn_param *param)
{
	struct mpa_enhanced enhanced = {
		.ird	= qp->ird,
		.ord	= qp->ord,
		.rtr	= RNIC_RTR,
	};
	int err = -ECONNRESET;

	spin_lock_bh(&ep->lock);
	if (ep->conn)
		err = mpa_set_enhanced(ep->conn, &enhanced, 0);
	if (!err) {
		/* established() may come before mpa_accept() returns. */
		ep_set_accepted(ep, qp, cm_id, RNIC_EVENTS_OWED);
		err = mpa_accept(ep->conn, param->private_data,
				 param->private_data_len);
		if (err)
			ep_set_accepted(ep, NULL, NULL, RNIC_EVENTS_NONE);
	}
	spin_unlock_bh(&ep->lock);
	return answer_error(err);
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

/* Abort a connection after its accept; @mute: iw_cm no longer gets events. */
static int ep_abort_accepted(struct iw_cm_id *cm_id, bool mute)
{
	struct rnic_ep *ep = ep_accepted(cm_id);

	if (!ep)
		return -ECONNRESET;
	if (mute) {
		spin_lock_bh(&ep->lock);
		ep->events = RNIC_EVENTS_NONE;
		spin_unlock_bh(&ep->lock);
	}
	rnic_ep_abort(ep);
	rnic_ep_put(ep);
	return 0;
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
		ep_abort_accepted(cm_id, false);
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
	qp = rnic_ep_bind(ep, param);
	if (IS_ERR(qp)) {
		err = PTR_ERR(qp);
		goto abort;
	}
	if (qp->kernel)
		ep_set_reserves(ep, cm_id);
	cm_id->add_ref(cm_id);
	err = ep_accept(ep, qp, cm_id, param);
	if (err)
		goto unbind;
	cm_id->provider_data = qp;	/* iw_cm has a reference */
	rnic_ep_put(ep);
	return 0;

unbind:
	cm_id->rem_ref(cm_id);
	rnic_ep_unbind(ep, qp);
abort:
	rnic_ep_abort(ep);
	rnic_ep_put(ep);
	return err;
}

/*
 * iw_cm lets a reject follow an accept, and then it has a BUG() for each event
 * that comes.
 */
int rnic_iw_reject(struct iw_cm_id *cm_id, const void *pd, u8 len)
{
	struct rnic_ep *ep;
	int err = -ECONNRESET;

	if (!has_number(cm_id))
		return ep_abort_accepted(cm_id, true);
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
	return answer_error(err);
}
