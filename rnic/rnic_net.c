// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Settings of RDMA devices in a network namespace, beside those of MPA */
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "rnic.h"

struct rnic_net {
	u8			markers;
	u8			ooo;
	struct ctl_table	table[2];
	struct ctl_table_header	*sysctl;
};

static unsigned int rnic_net_id;

/* Flags for the connections of a namespace: net.mpa.markers, net.mpa.ooo */
u32 rnic_net_flags(struct net *net)
{
	const struct rnic_net *rn = net_generic(net, rnic_net_id);
	u32 flags = 0;

	if (READ_ONCE(rn->markers))
		flags |= MPA_F_MARKERS;
	if (READ_ONCE(rn->ooo))
		flags |= MPA_F_OOO;
	return flags;
}

static struct ctl_table __net_init rnic_net_switch(const char *name, u8 *value)
{
	return (struct ctl_table) {
		.procname	= name,
		.data		= value,
		.maxlen		= sizeof(*value),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	};
}

static int __net_init rnic_net_init(struct net *net)
{
	struct rnic_net *rn = net_generic(net, rnic_net_id);

	rn->table[0] = rnic_net_switch("markers", &rn->markers);
	rn->table[1] = rnic_net_switch("ooo", &rn->ooo);
	rn->sysctl = register_net_sysctl_sz(net, "net/mpa", rn->table,
					    ARRAY_SIZE(rn->table));
	return rn->sysctl ? 0 : -ENOMEM;
}

static void __net_exit rnic_net_exit(struct net *net)
{
	struct rnic_net *rn = net_generic(net, rnic_net_id);

	unregister_net_sysctl_table(rn->sysctl);
}

static struct pernet_operations rnic_net_ops = {
	.init	= rnic_net_init,
	.exit	= rnic_net_exit,
	.id	= &rnic_net_id,
	.size	= sizeof(struct rnic_net),
};

int __init rnic_net_register(void)
{
	return register_pernet_subsys(&rnic_net_ops);
}

void rnic_net_unregister(void)
{
	unregister_pernet_subsys(&rnic_net_ops);
}
