// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What inet_diag, and so ss, shows of a socket that MPA has: attributes of the
 * netlink family, nested in INET_ULP_INFO_MPA, for administrators only, as the
 * family is.
 *
 * inet_diag calls this with a reference on the socket, and without a lock. The
 * connection may be released at the same time: see mpa_sk_get_conn().
 */
#include <linux/inet_diag.h>
#include <linux/init.h>
#include <net/netlink.h>
#include <net/tcp.h>
#include "mpa_conn.h"

static int mpa_diag_put_terms(struct sk_buff *skb, struct mpa_conn *conn)
{
	struct mpa_info info;

	mpa_get_info(conn, &info);
	return mpa_nl_put_terms(skb, conn, &info);
}

static int mpa_diag_get_info(struct sock *sk, struct sk_buff *skb,
			     bool net_admin)
{
	struct mpa_conn *conn;
	struct nlattr *nest;
	int err;

	if (!net_admin)
		return 0;
	conn = mpa_sk_get_conn(sk);
	if (!conn)
		return 0;
	nest = nla_nest_start_noflag(skb, INET_ULP_INFO_MPA);
	err = nest ? mpa_diag_put_terms(skb, conn) : -EMSGSIZE;
	mpa_conn_put(conn);
	if (err) {
		nla_nest_cancel(skb, nest);
		return err;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/*
 * An upper bound, whether MPA still has the socket or not: this may change
 * before inet_diag calls mpa_diag_get_info().
 */
static size_t mpa_diag_get_info_size(const struct sock *sk, bool net_admin)
{
	if (!net_admin)
		return 0;
	return nla_total_size(0) +		/* INET_ULP_INFO_MPA */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_STATE */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_ROLE */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_REVISION */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_PEER_REVISION */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_FLAGS */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_EMSS */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_MULPDU */
	       nla_total_size(sizeof(u32)) +	/* MPA_A_CONN_IRD */
	       nla_total_size(sizeof(u32));	/* MPA_A_CONN_ORD */
}

void __init mpa_diag_init(void)
{
	struct tcp_ulp_ops *ulp = mpa_sk_ulp();

	ulp->get_info = mpa_diag_get_info;
	ulp->get_info_size = mpa_diag_get_info_size;
}
