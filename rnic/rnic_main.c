// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module: devices, and the netdevs they are on.
 *
 * ib_unregister_driver() would take siw's devices along, as rmmod siw takes
 * ours. So the module has a list of its own. A device leaves it when the core
 * frees it, and the exit goes on until the list is empty.
 */
#include <linux/errno.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <net/addrconf.h>
#include <rdma/iw_portmap.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_netlink.h>

#include "rnic.h"

#define NO_EVENT	((enum ib_event_type)-1)	/* of the port, yet */

static LIST_HEAD(devices);
static DEFINE_SPINLOCK(devices_lock);

static bool port_is_up(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

static int rnic_query_port(struct ib_device *ib, u32 port,
			   struct ib_port_attr *attr)
{
	struct net_device *netdev;
	int err;

	err = ib_get_eth_speed(ib, port, &attr->active_speed,
			       &attr->active_width);
	if (err)
		return err;
	netdev = ib_device_get_netdev(ib, port);
	if (!netdev)
		return -ENODEV;
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = U32_MAX;
	/* 0: the netdev has no limit. */
	attr->max_mtu = ib_mtu_int_to_enum(netdev->max_mtu ?: ETH_MAX_MTU);
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(netdev->mtu));
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->state = IB_PORT_DOWN;
	attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	if (port_is_up(netdev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	}
	dev_put(netdev);
	return 0;
}

static int rnic_port_immutable(struct ib_device *ib, u32 port,
			       struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int rnic_query_gid(struct ib_device *ib, u32 port, int index,
			  union ib_gid *gid)
{
	*gid = to_rnic(ib)->gid;
	return 0;
}

/* Unregistered, or never registered: no other op is called after this. */
static void rnic_dealloc(struct ib_device *ib)
{
	struct rnic_dev *dev = to_rnic(ib);

	xa_destroy(&dev->qps);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->eps);
	free_percpu(dev->stats);
	spin_lock(&devices_lock);
	list_del(&dev->link);
	spin_unlock(&devices_lock);
}

/* rnic_iw_get_qp() has taken it. */
static void rnic_add_ref(struct ib_qp *ib)
{
}

static void rnic_rem_ref(struct ib_qp *ib)
{
	rnic_qp_put(to_qp(ib));
}

static const struct ib_device_ops rnic_ops = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_SIW,
	.uverbs_abi_ver		= SIW_ABI_VERSION,

	.alloc_hw_port_stats	= rnic_alloc_hw_port_stats,
	.alloc_mr		= rnic_alloc_mr,
	.alloc_pd		= rnic_alloc_pd,
	.alloc_ucontext		= rnic_alloc_ucontext,
	.create_cq		= rnic_create_cq,
	.create_qp		= rnic_create_qp,
	.create_srq		= rnic_create_srq,
	.dealloc_driver		= rnic_dealloc,
	.dealloc_pd		= rnic_dealloc_pd,
	.dealloc_ucontext	= rnic_dealloc_ucontext,
	.dereg_mr		= rnic_dereg_mr,
	.destroy_cq		= rnic_destroy_cq,
	.destroy_qp		= rnic_destroy_qp,
	.destroy_srq		= rnic_destroy_srq,
	.disassociate_ucontext	= rnic_disassociate_ucontext,
	.fill_res_cq_entry	= rnic_fill_res_cq,
	.fill_res_mr_entry	= rnic_fill_res_mr,
	.fill_res_qp_entry	= rnic_fill_res_qp,
	.get_dma_mr		= rnic_get_dma_mr,
	.get_hw_stats		= rnic_get_hw_stats,
	.get_port_immutable	= rnic_port_immutable,
	.iw_accept		= rnic_iw_accept,
	.iw_add_ref		= rnic_add_ref,
	.iw_connect		= rnic_iw_connect,
	.iw_create_listen	= rnic_iw_create_listen,
	.iw_destroy_listen	= rnic_iw_destroy_listen,
	.iw_get_qp		= rnic_iw_get_qp,
	.iw_reject		= rnic_iw_reject,
	.iw_rem_ref		= rnic_rem_ref,
	.map_mr_sg		= rnic_map_mr_sg,
	.mmap			= rnic_mmap,
	.mmap_free		= rnic_mmap_free,
	.modify_qp		= rnic_modify_qp,
	.modify_srq		= rnic_modify_srq,
	.poll_cq		= rnic_poll_cq,
	.post_recv		= rnic_post_recv,
	.post_send		= rnic_post_send,
	.post_srq_recv		= rnic_post_srq_recv,
	.query_device		= rnic_query_device,
	.query_gid		= rnic_query_gid,
	.query_port		= rnic_query_port,
	.query_qp		= rnic_query_qp,
	.query_srq		= rnic_query_srq,
	.reg_user_mr		= mpa_reg_user_mr(rnic_reg_user_mr,
						  rnic_reg_user_mr_dmah),
	.req_notify_cq		= rnic_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, rnic_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, rnic_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, rnic_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, rnic_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rnic_ucontext, ib),
};

static struct rnic_dev *dev_new(struct net_device *netdev)
{
	struct rnic_dev *dev = ib_alloc_device(rnic_dev, ib);

	if (!dev)
		return NULL;
	dev->stats = alloc_percpu(struct rnic_stats);
	if (!dev->stats) {
		ib_dealloc_device(&dev->ib);
		return NULL;
	}
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->eps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	/* lo has an address of zeros: as a GID the core takes it for none. */
	if (is_zero_ether_addr(netdev->dev_addr))
		eth_random_addr(dev->gid.raw);
	else
		memcpy(dev->gid.raw, netdev->dev_addr, ETH_ALEN);
	addrconf_addr_eui48((u8 *)&dev->ib.node_guid, dev->gid.raw);
	dev->ib.node_type = RDMA_NODE_RNIC;
	strscpy(dev->ib.node_desc, "iWARP on MPA", sizeof(dev->ib.node_desc));
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = num_possible_cpus();
	dev->ib.uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	dev->ib.iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(dev->ib.iw_ifname, netdev->name, sizeof(dev->ib.iw_ifname));
	ib_set_device_ops(&dev->ib, &rnic_ops);
	spin_lock(&devices_lock);
	list_add(&dev->link, &devices);
	spin_unlock(&devices_lock);
	return dev;
}

/*
 * True if a VLAN on @netdev, or the netdev that it is a VLAN on, has a device.
 * To the core a device serves the VLANs on its netdev, too, and one on a VLAN
 * the netdev below. Of two such it would use the older one for the addresses of
 * both.
 */
static bool related_has_device(const struct net_device *netdev)
{
	struct net_device *other;
	struct rnic_dev *dev;
	bool has = false;

	spin_lock(&devices_lock);
	list_for_each_entry(dev, &devices, link) {
		other = ib_device_get_netdev(&dev->ib, 1);
		if (!other)
			continue;
		has = has || rnic_is_vlan_on(other, netdev) ||
		      rnic_is_vlan_on(netdev, other);
		dev_put(other);
	}
	spin_unlock(&devices_lock);
	return has;
}

static int link_add(const char *name, struct net_device *netdev)
{
	struct ib_device *other;
	struct rnic_dev *dev;
	int err;

	if (netdev->addr_len != ETH_ALEN)
		return -EINVAL;
	/* iw_cm would refuse to connect and to listen. */
	if (strlen(name) >= IWPM_DEVNAME_SIZE)
		return -ENAMETOOLONG;
	if (related_has_device(netdev))
		return -EEXIST;
	other = ib_device_get_by_netdev(netdev, RDMA_DRIVER_SIW);
	if (other) {
		ib_device_put(other);
		return -EEXIST;
	}
	dev = dev_new(netdev);
	if (!dev)
		return -ENOMEM;
	/* So that udev leaves it; a parent would have it named after that. */
	ib_mark_name_assigned_by_user(&dev->ib);
	err = ib_device_set_netdev(&dev->ib, netdev, 1);
	if (!err)
		err = ib_register_device(&dev->ib, name, NULL);
	if (err)
		ib_dealloc_device(&dev->ib);
	return err;
}

/* The core calls it for several at once: a netdev has one device. */
static int rnic_newlink(const char *name, struct net_device *netdev)
{
	static DEFINE_MUTEX(lock);
	int err;

	mutex_lock(&lock);
	err = link_add(name, netdev);
	mutex_unlock(&lock);
	return err;
}

/*
 * True if the RDMA core gives this netdev's port events: newer ones do, but not
 * for bonds and teams.
 */
static bool core_gives_events(const struct net_device *netdev)
{
	return MPA_PORT_EVENTS && !netif_is_lag_master(netdev) &&
	       !netif_is_lag_port(netdev);
}

/* Under RTNL */
static void port_changed(struct rnic_dev *dev, const struct net_device *netdev)
{
	struct ib_event event = {
		.device			= &dev->ib,
		.element.port_num	= 1,
		.event			= port_is_up(netdev) ?
					  IB_EVENT_PORT_ACTIVE :
					  IB_EVENT_PORT_ERR,
	};

	if (core_gives_events(netdev) || event.event == dev->port_event)
		return;
	dev->port_event = event.event;
	ib_dispatch_event(&event);
}

/*
 * True if this module made @ib. The owner does not tell: it is NULL for every
 * driver that is built in.
 */
static bool is_ours(const struct ib_device *ib)
{
	return ib->ops.alloc_pd == rnic_alloc_pd;
}

/* The device goes: what nothing else would end, or only later */
static void device_give_up(struct rnic_dev *dev)
{
	rnic_cm_give_up(dev);
	rnic_listen_give_up(dev);
}

static void device_event(struct rnic_dev *dev, unsigned long event,
			 const struct net_device *netdev)
{
	struct ib_device *ib = &dev->ib;

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_changed(dev, netdev);
		break;
	case NETDEV_CHANGENAME:
		strscpy(ib->iw_ifname, netdev->name, sizeof(ib->iw_ifname));
		break;
	case NETDEV_UNREGISTER:
		device_give_up(dev);
		ib_unregister_device_queued(ib);
		break;
	}
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);
	struct ib_device *ib;

	ib = ib_device_get_by_netdev(netdev, RDMA_DRIVER_SIW);
	if (!ib)
		return NOTIFY_OK;
	if (is_ours(ib))
		device_event(to_rnic(ib), event, netdev);
	ib_device_put(ib);
	return NOTIFY_OK;
}

/*
 * It is new, or has come to another namespace. The oldest client is called
 * first: rdma_cm has added it by now.
 */
static int client_add(struct ib_device *ib)
{
	if (!is_ours(ib))
		return 0;
	/* Of its netdev's changes until now it has not heard. */
	to_rnic(ib)->port_event = NO_EVENT;
	WRITE_ONCE(to_rnic(ib)->going, false);
	WRITE_ONCE(to_rnic(ib)->added, true);
	return 0;
}

/*
 * A client's remove() is the only call that comes when "rdma link delete" has a
 * device go, or it leaves its namespace. The youngest client is called first.
 * rdma_cm's waits for its cm_ids: it is older, by rnic_needs. A ULP's may wait,
 * too: where it can be known earlier that a device goes, attempts end earlier.
 */
static void client_remove(struct ib_device *ib, void *data)
{
	if (!is_ours(ib))
		return;
	WRITE_ONCE(to_rnic(ib)->added, false);
	device_give_up(to_rnic(ib));
}

static struct ib_client client = {
	.name	= "mpa_rnic",
	.add	= client_add,
	.remove	= client_remove,
};

static struct notifier_block netdev_nb = { .notifier_call = netdev_event };

static struct rdma_link_ops link_ops = {
	.type		= "mpa",
	.newlink	= rnic_newlink,
};

static struct rnic_dev *first_device(void)
{
	struct rnic_dev *dev;

	spin_lock(&devices_lock);
	dev = list_first_entry_or_null(&devices, struct rnic_dev, link);
	if (dev)
		get_device(&dev->ib.dev);
	spin_unlock(&devices_lock);
	return dev;
}

static int __init rnic_init(void)
{
	int err = rnic_wq_create();

	if (err)
		return err;
	err = rnic_net_register();
	if (err)
		goto destroy_wq;
	err = ib_register_client(&client);
	if (err)
		goto unregister_net;
	err = register_netdevice_notifier(&netdev_nb);
	if (err)
		goto unregister_client;
	rdma_link_register(&link_ops);
	/* As mpa: without it nothing tells when the exit is safe. */
	if (IS_ENABLED(CONFIG_PREEMPTION) && !IS_ENABLED(CONFIG_TASKS_RCU))
		__module_get(THIS_MODULE);
	return 0;
unregister_client:
	ib_unregister_client(&client);
unregister_net:
	rnic_net_unregister();
destroy_wq:
	rnic_wq_destroy();
	return err;
}

static void __exit rnic_exit(void)
{
	struct rnic_dev *dev;

	rdma_link_unregister(&link_ops);
	unregister_netdevice_notifier(&netdev_nb);
	while ((dev = first_device())) {
		device_give_up(dev);
		ib_unregister_device(&dev->ib);
		put_device(&dev->ib.dev);
	}
	ib_unregister_client(&client);
	/* done() and accepted() may still be running */
	mpa_barrier();
	/* A task that unregistered one may be preempted in rnic_dealloc(). */
	synchronize_rcu_tasks();
	rnic_net_unregister();
	rnic_wq_destroy();
}

/*
 * Events and references of cm_ids are given back in functions of iw_cm, below
 * rdma_cm, also after the last program has closed: a symbol has both stay.
 */
static const void *const rnic_needs __used = rdma_reject_msg;

MODULE_AUTHOR("the mpa project");
MODULE_VERSION("0.1");
MODULE_DESCRIPTION("iWARP RDMA device on MPA");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS_RDMA_LINK("mpa");
module_init(rnic_init);
module_exit(rnic_exit);
