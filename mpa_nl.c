// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Netlink: connections shown to the administrator of a namespace, and events.
 * Documentation/netlink/specs/mpa.yaml specifies the messages; mpa_nl_gen.c is
 * generated from it.
 *
 * Hostile input: requests come from processes. Each needs CAP_NET_ADMIN in the
 * user namespace that owns the network namespace of its socket, and so does
 * joining the group of events, and the process that opened a socket which gets
 * an event. The generated policies check attributes before functions here are
 * called. A request sees its own namespace only.
 *
 * Locks: mpa_net.lock is held to look a cookie up, and to get at most
 * MPA_NL_CHUNK connections, however many there are and whatever the filter.
 * conn->lock is held to copy numbers. No lock is held while a message is filled
 * in, except the mutex of the netlink socket that asks. A reference keeps the
 * connection and its socket while that goes on, see mpa_net_get_from().
 *
 * A dump goes by the order of cookies, and remembers the next one, not a place
 * in the tree. So a connection that exists from its begin to its end is listed
 * once, whatever comes and goes, and NLM_F_DUMP_INTR, which asks the reader to
 * begin again, is never set. It ends at what was the highest cookie at its
 * begin: new connections cannot keep it going.
 *
 * Events are sent by the work item, for which no reader may make a difference:
 * nothing is done unless there is one, in any namespace, and no allocation
 * waits, or takes reserves. An event lost so is reported to the readers in its
 * namespace as -ENOBUFS.
 */
#include <linux/capability.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <net/genetlink.h>
#include <net/netlink.h>
#include "mpa_conn.h"
#include "mpa_nl_gen.h"

#define MPA_NL_CHUNK	16	/* connections taken at once for a dump */

/* Upper bound of a message: no attribute is longer than an IPv6 address. */
#define MPA_NL_SIZE \
	(MPA_A_CONN_MAX * nla_total_size(sizeof(struct in6_addr)))

#define MPA_NL_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

/**
 * struct mpa_nl_dump - a dump under way
 * @next: cookie to go on from
 * @last: cookie to stop after
 * @local_port: port of this end, or 0 for all
 * @peer_port: the peer's port, or 0 for all
 */
struct mpa_nl_dump {
	u64	next;
	u64	last;
	u16	local_port;
	u16	peer_port;
};

static_assert(sizeof(struct mpa_nl_dump) <=
	      sizeof_field(struct netlink_callback, ctx));

/* The numbers of states and reasons are those of include/net/mpa.h. */
#define MPA_NL_SAME(uapi, kernel) static_assert((int)(uapi) == (int)(kernel))
#define MPA_NL_STATE(name) \
	MPA_NL_SAME(MPA_CONN_STATE_##name, MPA_STATE_##name)
#define MPA_NL_REASON(uapi, kernel) \
	MPA_NL_SAME(MPA_END_REASON_##uapi, MPA_REASON_##kernel)

MPA_NL_STATE(ATTACHED);
MPA_NL_STATE(STARTUP);
MPA_NL_STATE(DECIDE);
MPA_NL_STATE(FULL);
MPA_NL_STATE(REJECTED);
MPA_NL_STATE(CLOSED);
MPA_NL_REASON(NONE, NONE);
MPA_NL_REASON(FIN, FIN);
MPA_NL_REASON(TRUNCATED, TRUNCATED);
MPA_NL_REASON(RESET, RESET);
MPA_NL_REASON(ABORTED, ABORTED);
MPA_NL_REASON(CRC, CRC);
MPA_NL_REASON(MARKER, MARKER);
MPA_NL_REASON(LENGTH, LENGTH);
MPA_NL_REASON(URGENT, URGENT);
MPA_NL_REASON(KEY, KEY);
MPA_NL_REASON(ROLE, ROLE);
MPA_NL_REASON(REVISION, REVISION);
MPA_NL_REASON(PD_LENGTH, PD_LENGTH);
MPA_NL_REASON(SHORT_FRAME, SHORT_FRAME);
MPA_NL_REASON(EARLY_OCTETS, EARLY);
MPA_NL_REASON(TIMEOUT, TIMEOUT);
MPA_NL_REASON(STARTUP_OVERFLOW, STARTUP_OVERFLOW);
MPA_NL_REASON(NO_MEMORY, NOMEM);
MPA_NL_REASON(ENHANCED, ENHANCED);
MPA_NL_REASON(IRD, IRD);
MPA_NL_REASON(RTR, RTR);

static int mpa_nl_put_addresses(struct sk_buff *skb,
				const struct mpa_info *info)
{
	const struct sockaddr_in6 *local6 = (const void *)&info->local;
	const struct sockaddr_in6 *peer6 = (const void *)&info->peer;
	const struct sockaddr_in *local = (const void *)&info->local;
	const struct sockaddr_in *peer = (const void *)&info->peer;
	u32 scope = peer6->sin6_scope_id ?: local6->sin6_scope_id;

	/* Both kinds of address have the port in the same place. */
	if (nla_put_u16(skb, MPA_A_CONN_LOCAL_PORT, ntohs(local->sin_port)) ||
	    nla_put_u16(skb, MPA_A_CONN_PEER_PORT, ntohs(peer->sin_port)))
		return -EMSGSIZE;
	if (info->local.ss_family == AF_INET)
		return nla_put_in_addr(skb, MPA_A_CONN_LOCAL_ADDR4,
				       local->sin_addr.s_addr) ?:
		       nla_put_in_addr(skb, MPA_A_CONN_PEER_ADDR4,
				       peer->sin_addr.s_addr);
	if (scope && nla_put_u32(skb, MPA_A_CONN_SCOPE_ID, scope))
		return -EMSGSIZE;
	return nla_put_in6_addr(skb, MPA_A_CONN_LOCAL_ADDR6,
				&local6->sin6_addr) ?:
	       nla_put_in6_addr(skb, MPA_A_CONN_PEER_ADDR6, &peer6->sin6_addr);
}

/* @info has only what consumers are told; the rest is read from @conn. */
static u32 mpa_nl_flags(struct mpa_conn *conn, const struct mpa_info *info)
{
	u32 flags = 0;

	if (conn->conn_flags & MPA_F_MEMALLOC)
		flags |= MPA_CONN_FLAG_MEMALLOC;
	if (mpa_conn_test(conn, MPA_CONN_HOLD))
		flags |= MPA_CONN_FLAG_HOLD;
	if (info->state != MPA_STATE_FULL && info->state != MPA_STATE_CLOSED)
		return flags;
	if (info->markers_tx)
		flags |= MPA_CONN_FLAG_MARKERS_TX;
	if (info->markers_rx)
		flags |= MPA_CONN_FLAG_MARKERS_RX;
	if (info->enhanced)
		flags |= MPA_CONN_FLAG_ENHANCED;
	spin_lock_bh(&conn->lock);
	if (conn->terms.crc)
		flags |= MPA_CONN_FLAG_CRC;
	spin_unlock_bh(&conn->lock);
	/* Set before full operation, and never changed */
	if (conn->ooo.on)
		flags |= MPA_CONN_FLAG_OOO;
	return flags;
}

/* False before the start, and with mpa_start_immediate(). */
static bool mpa_nl_has_role(const struct mpa_conn *conn,
			    const struct mpa_info *info)
{
	return info->state != MPA_STATE_ATTACHED &&
	       mpa_conn_test(conn, MPA_CONN_START) &&
	       !(info->rev == MPA_REV_NONE && info->markers_tx);
}

static int mpa_nl_put_terms(struct sk_buff *skb, struct mpa_conn *conn,
			    const struct mpa_info *info)
{
	u32 role = info->initiator ? MPA_CONN_ROLE_INITIATOR :
				     MPA_CONN_ROLE_RESPONDER;

	if (nla_put_u32(skb, MPA_A_CONN_STATE, info->state) ||
	    nla_put_u32(skb, MPA_A_CONN_FLAGS, mpa_nl_flags(conn, info)) ||
	    nla_put_u32(skb, MPA_A_CONN_EMSS, info->emss) ||
	    nla_put_u32(skb, MPA_A_CONN_MULPDU, info->mulpdu))
		return -EMSGSIZE;
	if (mpa_nl_has_role(conn, info) &&
	    nla_put_u32(skb, MPA_A_CONN_ROLE, role))
		return -EMSGSIZE;
	if (info->rev != MPA_REV_NONE &&
	    nla_put_u32(skb, MPA_A_CONN_REVISION, info->rev))
		return -EMSGSIZE;
	if (info->peer_rev != MPA_REV_NONE &&
	    nla_put_u32(skb, MPA_A_CONN_PEER_REVISION, info->peer_rev))
		return -EMSGSIZE;
	if (!info->enhanced)
		return 0;
	return nla_put_u32(skb, MPA_A_CONN_IRD, info->ird) ?:
	       nla_put_u32(skb, MPA_A_CONN_ORD, info->ord);
}

static u32 mpa_nl_pinned(struct mpa_conn *conn)
{
	s64 pinned;

	spin_lock_bh(&conn->lock);
	pinned = mpa_conn_pinned(conn);
	spin_unlock_bh(&conn->lock);
	return min_t(s64, pinned, U32_MAX);
}

static int mpa_nl_put_counters(struct sk_buff *skb, struct mpa_conn *conn,
			       const struct mpa_info *info)
{
	const struct {
		int	attr;
		u64	value;
	} counters[] = {
		{ MPA_A_CONN_TX_OCTETS, info->tx_pos },
		{ MPA_A_CONN_TX_ULPDUS, info->ulpdus_tx },
		{ MPA_A_CONN_RX_OCTETS, info->rx_pos },
		{ MPA_A_CONN_RX_ULPDUS, info->ulpdus_rx },
		{ MPA_A_CONN_OOO_ULPDUS, info->ulpdus_ooo },
		{ MPA_A_CONN_OOO_OCTETS, info->octets_ooo },
		{ MPA_A_CONN_OOO_DELIVERED, info->ooo_suppressed },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		if (nla_put_uint(skb, counters[i].attr, counters[i].value))
			return -EMSGSIZE;
	return nla_put_u32(skb, MPA_A_CONN_RX_PINNED, mpa_nl_pinned(conn));
}

static int mpa_nl_put_end(struct sk_buff *skb, struct mpa_conn *conn, u8 cmd)
{
	const struct mpa_end *end = &conn->rx.end;

	/* Pairs with the release in mpa_loop_report(): the end is complete. */
	if (smp_load_acquire(&conn->rx.reported))
		return nla_put_u32(skb, MPA_A_CONN_END_REASON, end->reason) ?:
		       nla_put_u32(skb, MPA_A_CONN_END_CODE, end->error) ?:
		       nla_put_u32(skb, MPA_A_CONN_END_ERRNO, -end->err);
	if (cmd == MPA_CMD_CONN_ENDED_NTF)
		return nla_put_u32(skb, MPA_A_CONN_END_REASON,
				   MPA_END_REASON_NONE);
	return 0;
}

/**
 * struct mpa_nl_to - where a message goes
 * @portid: port of the netlink socket, or 0 for an event
 * @seq: sequence number of the request, or 0
 * @flags: NLM_F_*
 * @cmd: MPA_CMD_*
 */
struct mpa_nl_to {
	u32	portid;
	u32	seq;
	int	flags;
	u8	cmd;
};

/* The caller has a reference, as of mpa_net_get_from(), or is the work item. */
static int mpa_nl_fill(struct sk_buff *skb, struct mpa_conn *conn,
		       const struct mpa_nl_to *to)
{
	struct mpa_info info;
	void *hdr;

	hdr = genlmsg_put(skb, to->portid, to->seq, &mpa_nl_family, to->flags,
			  to->cmd);
	if (!hdr)
		return -EMSGSIZE;
	mpa_get_info(conn, &info);
	if (nla_put_uint(skb, MPA_A_CONN_COOKIE, conn->cookie) ||
	    mpa_nl_put_addresses(skb, &info) ||
	    mpa_nl_put_terms(skb, conn, &info) ||
	    mpa_nl_put_counters(skb, conn, &info) ||
	    mpa_nl_put_end(skb, conn, to->cmd)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/*
 * True if the sender of @skb is an administrator of its namespace. Not left to
 * the netlink core: the schema of specifications of Linux 6.12 has the flag for
 * that (uns-admin-perm) for older families only.
 */
static bool mpa_nl_allowed(struct sk_buff *skb)
{
	return netlink_ns_capable(skb, sock_net(skb->sk)->user_ns,
				  CAP_NET_ADMIN);
}

/* MPA_CMD_CONN_GET of one connection, by its cookie */
int mpa_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct mpa_nl_to to = {
		.portid = info->snd_portid, .seq = info->snd_seq,
		.cmd = MPA_CMD_CONN_GET,
	};
	struct mpa_conn *conn;
	struct sk_buff *reply;
	int err = -ENOENT;
	u64 cookie;

	if (!mpa_nl_allowed(skb))
		return -EPERM;
	if (GENL_REQ_ATTR_CHECK(info, MPA_A_CONN_COOKIE))
		return -EINVAL;
	reply = genlmsg_new(MPA_NL_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;

	cookie = nla_get_uint(info->attrs[MPA_A_CONN_COOKIE]);
	if (mpa_net_get_from(mpa_net(genl_info_net(info)), cookie, &conn, 1)) {
		if (conn->cookie == cookie)
			err = mpa_nl_fill(reply, conn, &to);
		mpa_net_put(conn);
	}
	if (!err)
		return genlmsg_reply(reply, info);
	nlmsg_free(reply);
	return err;
}

static u16 mpa_nl_port(const struct nlattr *attr)
{
	return attr ? nla_get_u16(attr) : 0;
}

int mpa_nl_conn_get_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = genl_info_dump(cb)->attrs;
	struct mpa_nl_dump *dump = (void *)cb->ctx;

	if (!mpa_nl_allowed(cb->skb))
		return -EPERM;
	dump->next = 0;
	dump->last = mpa_net_last(mpa_net(sock_net(cb->skb->sk)));
	dump->local_port = mpa_nl_port(attrs[MPA_A_CONN_LOCAL_PORT]);
	dump->peer_port = mpa_nl_port(attrs[MPA_A_CONN_PEER_PORT]);
	return 0;
}

static bool mpa_nl_match(const struct mpa_nl_dump *dump, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (dump->local_port && dump->local_port != ntohs(inet->inet_sport))
		return false;
	return !dump->peer_port || dump->peer_port == ntohs(inet->inet_dport);
}

/*
 * Put the @nr connections into @skb until it is full, and their references.
 * Returns 0, or -EMSGSIZE: @dump goes on with the one that did not fit.
 */
static int mpa_nl_put_chunk(struct sk_buff *skb, struct mpa_nl_dump *dump,
			    struct mpa_conn **conns, unsigned int nr,
			    const struct mpa_nl_to *to)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr; i++) {
		struct mpa_conn *conn = conns[i];

		if (!err && conn->cookie <= dump->last &&
		    mpa_nl_match(dump, conn->sk))
			err = mpa_nl_fill(skb, conn, to);
		if (!err)
			dump->next = conn->cookie + 1;
		mpa_net_put(conn);
	}
	return err;
}

/* MPA_CMD_CONN_GET of all connections, or those that fit a filter */
int mpa_nl_conn_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct mpa_nl_to to = {
		.portid = NETLINK_CB(cb->skb).portid,
		.seq = cb->nlh->nlmsg_seq,
		.flags = NLM_F_MULTI,
		.cmd = MPA_CMD_CONN_GET,
	};
	struct mpa_net *mn = mpa_net(sock_net(skb->sk));
	struct mpa_nl_dump *dump = (void *)cb->ctx;
	struct mpa_conn *conns[MPA_NL_CHUNK];
	unsigned int nr;
	int err = 0;

	while (!err && dump->next <= dump->last) {
		nr = mpa_net_get_from(mn, dump->next, conns, ARRAY_SIZE(conns));
		if (!nr)
			break;
		err = mpa_nl_put_chunk(skb, dump, conns, nr, &to);
		cond_resched();
	}
	return err && skb->len ? skb->len : err;
}

/*
 * Returns 1 to keep an event from @sk, unless the process that opened it was an
 * administrator of the event's namespace, which @user_ns owns. The netlink core
 * checks a process that joins the group, but not one that has joined its number
 * before the module was loaded. Called with the table of sockets locked, from
 * which a socket is taken before it loses its struct socket and its file.
 */
static int mpa_nl_keep_from(struct sock *sk, struct sk_buff *skb, void *user_ns)
{
	const struct file *file = sk->sk_socket->file;

	/* A socket of the kernel has no file. */
	return !file || !file_ns_capable(file, user_ns, CAP_NET_ADMIN);
}

/* Work item only, until the release. */
static void mpa_nl_event(struct mpa_conn *conn, u8 cmd)
{
	struct net *net = READ_ONCE(conn->mn)->net;
	const struct mpa_nl_to to = { .cmd = cmd };
	struct sk_buff *skb;

	/* The namespace is going away, or no process listens in any. */
	if (!net || !genl_has_listeners(&mpa_nl_family, net, MPA_NLGRP_EVENTS))
		return;
	skb = genlmsg_new(MPA_NL_SIZE, MPA_NL_GFP);
	if (!skb) {
		genl_set_err(&mpa_nl_family, net, 0, MPA_NLGRP_EVENTS,
			     -ENOBUFS);
		return;
	}
	if (WARN_ON_ONCE(mpa_nl_fill(skb, conn, &to))) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_multicast_netns_filtered(&mpa_nl_family, net, skb, 0,
					 MPA_NLGRP_EVENTS, MPA_NL_GFP,
					 mpa_nl_keep_from, net->user_ns);
}

/* Work item only. @conn has entered full operation. */
void mpa_nl_established(struct mpa_conn *conn)
{
	mpa_nl_event(conn, MPA_CMD_CONN_ESTABLISHED_NTF);
}

/* Work item only. The end of @conn is reported, or never will be. */
void mpa_nl_ended(struct mpa_conn *conn)
{
	mpa_nl_event(conn, MPA_CMD_CONN_ENDED_NTF);
}

/* In place of the generated table, which has no flags: see "Hostile input". */
static const struct genl_multicast_group mpa_nl_groups[] = {
	[MPA_NLGRP_EVENTS] = {
		.name	= MPA_MCGRP_EVENTS,
		.flags	= GENL_MCAST_CAP_NET_ADMIN,
	},
};

int __init mpa_nl_register(void)
{
	mpa_nl_family.mcgrps = mpa_nl_groups;
	return genl_register_family(&mpa_nl_family);
}

void mpa_nl_unregister(void)
{
	genl_unregister_family(&mpa_nl_family);
}
