// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners, each of one cm_id: the socket, the endpoints accepted from it, and
 * those that iw_cm has not answered when it destroys the listener.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "rnic.h"

#define ORPHAN_TIMEOUT	(60 * HZ)	/* for an answer without a listener */

/* A child is on the listener's list until iw_cm answers its Request. */
static int child_start(struct rnic_listener *l, struct rnic_ep *ep,
		       struct socket *sock)
{
	struct mpa_params params;
	struct mpa_conn *conn;
	int err = 0;

	rnic_ep_params(&params, ep, sock_net(sock->sk), RNIC_MAX_DEPTH,
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
	/* The abort ends it: closed() detaches, released() frees @sock, @ep. */
	if (err)
		mpa_abort(conn);
	return 0;
}

static void listen_accepted(void *ctx, struct socket *sock)
{
	struct rnic_listener *l = ctx;
	struct rnic_dev *dev = to_rnic(l->cm_id->device);
	struct rnic_ep *ep = rnic_ep_new(dev, false);
	int err;

	if (!ep) {
		sock_release(sock);
		return;
	}
	rnic_ep_get(ep);		/* the number's */
	refcount_inc(&l->refs);
	ep->listener = l;
	/* A number in use by a cm_id for long must not come again. */
	err = xa_alloc_cyclic_bh(&dev->eps, &ep->number, ep,
				 XA_LIMIT(1, INT_MAX), &dev->next_ep,
				 GFP_KERNEL);
	if (err >= 0) {
		if (!child_start(l, ep, sock))
			return;
		xa_erase_bh(&dev->eps, ep->number);
	}
	rnic_ep_put(ep);		/* the number's */
	rnic_ep_put(ep);
	sock_release(sock);
}

static int listen_setup(struct socket *sock, void *ctx)
{
	struct rnic_listener *l = ctx;

	/* For the sockets that it accepts, which inherit it */
	sock_set_keepalive(sock->sk);
	rnic_sock_set_tos(sock->sk, l->cm_id);
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
 * True if this device must not listen, though rdma_cm has each device listen to
 * all addresses, or to a loopback address, or fails. A device serves no peer of
 * another namespace than the listener's, whose ports are not the listener's to
 * take. Where the RDMA core keeps devices apart, rdma_cm refuses each Request
 * that comes by a device of another namespace than the listener's. To a
 * loopback address TCP lets one socket listen, and what arrives there arrives
 * on lo: other devices have none.
 */
static bool needs_no_socket(const struct iw_cm_id *cm_id,
			    const struct net_device *netdev)
{
	const struct net *net = rnic_cm_id_net(cm_id);

	return !net_eq(dev_net(netdev), net) ||
	       !rdma_dev_access_netns(cm_id->device, net) ||
	       (is_loopback(&cm_id->m_local_addr) &&
		!(netdev->flags & IFF_LOOPBACK));
}

/*
 * Close the list, and abort unanswered children: all if @requested, or if the
 * device goes, otherwise only those without a Request. If unanswered ones
 * remain, this queues @orphans and returns true. It does so under the lock: the
 * last one may be answered at once, and rnic_child_del() then has to find it
 * queued. rnic_listen_give_up() takes the lock after the device is marked:
 * either that sees the list closed, or this the mark.
 */
static bool children_abort(struct rnic_listener *l, bool requested)
{
	struct rnic_ep *ep;
	bool left = false;

	spin_lock_bh(&l->lock);
	l->closed = true;
	if (READ_ONCE(to_rnic(l->cm_id->device)->going))
		requested = true;
	list_for_each_entry(ep, &l->children, child) {
		if (requested || !ep->requested)
			rnic_ep_abort(ep);
		else
			left = true;
	}
	if (left)
		queue_delayed_work(rnic_wq, &l->orphans, ORPHAN_TIMEOUT);
	spin_unlock_bh(&l->lock);
	return left;
}

static void listen_orphans(struct work_struct *work)
{
	struct rnic_listener *l = container_of(to_delayed_work(work),
					       struct rnic_listener, orphans);

	children_abort(l, true);
	rnic_orphans_put(l);
}

/*
 * True if a listener is to do without its socket: the device is being added,
 * and rdma_cm has it listen for each listener on all addresses, for which a
 * loopback address stands, too. If one fails, as when TCP has its port, rdma_cm
 * does not use the device at all, of which "rdma link add" says nothing.
 */
static bool goes_without(struct rnic_dev *dev,
			 const struct sockaddr_storage *addr, int err)
{
	/* sin6_port lies there, too */
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;

	if (READ_ONCE(dev->added) || !(is_wildcard(addr) || is_loopback(addr)))
		return false;
	dev_warn(&dev->ib.dev, "error %d: no listener on port %u here\n",
		 err, ntohs(sin->sin_port));
	return true;
}

/* A wildcard listener hears its own netdev only. */
int rnic_iw_create_listen(struct iw_cm_id *cm_id, int backlog)
{
	struct rnic_dev *dev = to_rnic(cm_id->device);
	struct mpa_sock_params params = {
		.net	= rnic_cm_id_net(cm_id),
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
	if (is_wildcard(&params.local))
		params.bound_dev_if = netdev->ifindex;
	if (!needs_no_socket(cm_id, netdev))
		l->mpa = mpa_listen(&params, listen_accepted);
	dev_put(netdev);
	if (IS_ERR(l->mpa)) {
		int err = PTR_ERR(l->mpa);

		l->mpa = NULL;
		if (!goes_without(dev, &params.local, err)) {
			rnic_listener_put(l);
			return err;
		}
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
	bool held;

	if (l->mpa)
		mpa_listen_close_sync(l->mpa);
	held = ib_device_try_get(cm_id->device);	/* for @orphans */
	if (children_abort(l, !held))
		return 0;
	if (held)
		ib_device_put(cm_id->device);
	rnic_listener_put(l);
	return 0;
}

static void orphan_abort(struct rnic_ep *ep)
{
	struct rnic_listener *l = ep->listener;

	spin_lock_bh(&l->lock);
	if (l->closed && !list_empty(&ep->child))
		rnic_ep_abort(ep);
	spin_unlock_bh(&l->lock);
}

/*
 * The device goes, as rnic_cm_give_up() has noted: Requests without a listener
 * are not answered any longer, as each would hold it.
 */
void rnic_listen_give_up(struct rnic_dev *dev)
{
	unsigned long number;
	struct rnic_ep *ep;

	xa_lock_bh(&dev->eps);
	xa_for_each(&dev->eps, number, ep)
		orphan_abort(ep);
	xa_unlock_bh(&dev->eps);
}
