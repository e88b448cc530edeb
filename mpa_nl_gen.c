// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/mpa.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "mpa_nl_gen.h"

#include <uapi/linux/mpa.h>

/* MPA_CMD_CONN_GET - do */
static const struct nla_policy mpa_conn_get_do_nl_policy[MPA_A_CONN_COOKIE + 1] = {
	[MPA_A_CONN_COOKIE] = { .type = NLA_UINT, },
};

/* MPA_CMD_CONN_GET - dump */
static const struct nla_policy mpa_conn_get_dump_nl_policy[MPA_A_CONN_PEER_PORT + 1] = {
	[MPA_A_CONN_LOCAL_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[MPA_A_CONN_PEER_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
};

/* Ops table for mpa */
static const struct genl_split_ops mpa_nl_ops[] = {
	{
		.cmd		= MPA_CMD_CONN_GET,
		.doit		= mpa_nl_conn_get_doit,
		.policy		= mpa_conn_get_do_nl_policy,
		.maxattr	= MPA_A_CONN_COOKIE,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= MPA_CMD_CONN_GET,
		.start		= mpa_nl_conn_get_start,
		.dumpit		= mpa_nl_conn_get_dumpit,
		.policy		= mpa_conn_get_dump_nl_policy,
		.maxattr	= MPA_A_CONN_PEER_PORT,
		.flags		= GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group mpa_nl_mcgrps[] = {
	[MPA_NLGRP_EVENTS] = { "events", },
};

struct genl_family mpa_nl_family __ro_after_init = {
	.name		= MPA_FAMILY_NAME,
	.version	= MPA_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= mpa_nl_ops,
	.n_split_ops	= ARRAY_SIZE(mpa_nl_ops),
	.mcgrps		= mpa_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(mpa_nl_mcgrps),
};
