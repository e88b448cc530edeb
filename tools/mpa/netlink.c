// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Requests to the kernel, and its answers. */
#include <errno.h>
#include <limits.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include "mpa.h"

/* The group "notify" of the family nlctrl has that family's number. */
#define GROUP_NOTIFY	GENL_ID_CTRL

/* How much longer the queue of events is made than net.core.rmem_default */
#define QUEUE_FACTOR	16

/**
 * struct netlink - a socket, and the numbers of the kernel's family
 * @sock: the socket
 * @seq: sequence number of the last request
 * @family: number of the family mpa
 * @group: number of the group of its events
 * @gone: the kernel has said that the family is gone
 * @filter: which connections to tell of
 * @nr: number of connections told of
 * @fn: called for each connection
 * @arg: for @fn
 * @buf: messages received
 */
struct netlink {
	struct mnl_socket	*sock;
	unsigned int		seq;
	uint16_t		family;
	uint32_t		group;
	bool			gone;
	const struct filter	*filter;
	size_t			nr;
	conn_fn			fn;
	void			*arg;
	char			buf[32768];
};

static const char unloaded[] = "the module mpa was unloaded";

static void complain(const char *what)
{
	if (errno == EPERM || errno == EACCES)
		fprintf(stderr, "mpa: %s: CAP_NET_ADMIN is needed\n", what);
	else
		fprintf(stderr, "mpa: %s: %s\n", what, strerror(errno));
}

static struct nlmsghdr *request(struct netlink *nl, void *buf, uint16_t type,
				uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++nl->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = MPA_FAMILY_VERSION;
	return nlh;
}

/* Send @nlh, and call @fn for each answer. Returns false with errno set. */
static bool ask(struct netlink *nl, const struct nlmsghdr *nlh, mnl_cb_t fn,
		void *arg)
{
	unsigned int port = mnl_socket_get_portid(nl->sock);
	ssize_t len;
	int more;

	if (mnl_socket_sendto(nl->sock, nlh, nlh->nlmsg_len) < 0)
		return false;
	do {
		len = mnl_socket_recvfrom(nl->sock, nl->buf, sizeof(nl->buf));
		if (len < 0)
			return false;
		more = mnl_cb_run(nl->buf, len, nl->seq, port, fn, arg);
		if (more < 0)
			return false;
	} while (more);
	return true;
}

static void find_group(struct netlink *nl, const struct nlattr *groups)
{
	const struct nlattr *group, *attr;

	mnl_attr_for_each_nested(group, groups) {
		const char *name = "";
		uint32_t id = 0;

		mnl_attr_for_each_nested(attr, group) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME)
				name = mnl_attr_get_str(attr);
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID)
				id = mnl_attr_get_u32(attr);
		}
		if (!strcmp(name, MPA_MCGRP_EVENTS))
			nl->group = id;
	}
}

static int family_cb(const struct nlmsghdr *nlh, void *arg)
{
	struct netlink *nl = arg;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID)
			nl->family = mnl_attr_get_u16(attr);
		if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GROUPS)
			find_group(nl, attr);
	}
	return MNL_CB_OK;
}

/* Returns false with errno set: ENOENT if the module is not loaded. */
static bool find_family(struct netlink *nl)
{
	char buf[256];
	struct nlmsghdr *nlh = request(nl, buf, GENL_ID_CTRL,
				       CTRL_CMD_GETFAMILY, NLM_F_ACK);

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, MPA_FAMILY_NAME);
	if (!ask(nl, nlh, family_cb, nl))
		return false;
	errno = EBADMSG;
	return nl->family && nl->group;
}

/* Returns NULL with errno set: ENOENT if the module is not loaded. */
static struct netlink *new_netlink(void)
{
	struct netlink *nl = or_die(calloc(1, sizeof(*nl)));
	int err;

	nl->seq = time(NULL);
	nl->sock = mnl_socket_open(NETLINK_GENERIC);
	if (nl->sock &&
	    mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) == 0 &&
	    find_family(nl))
		return nl;
	err = errno;
	netlink_close(nl);
	errno = err;
	return NULL;
}

/* A socket for requests of the namespace that the command runs in, or NULL */
struct netlink *netlink_open(void)
{
	struct netlink *nl = new_netlink();

	if (!nl && errno == ENOENT)
		fprintf(stderr, "mpa: the module mpa is not loaded\n");
	else if (!nl)
		complain("asking for the family mpa");
	return nl;
}

void netlink_close(struct netlink *nl)
{
	if (nl->sock)
		mnl_socket_close(nl->sock);
	free(nl);
}

/*
 * Learn whether the family has lost the number that @nl knows: a module that is
 * loaded again gets another one. Returns false if that cannot be told.
 */
static bool check_family(struct netlink *nl)
{
	struct netlink *now = new_netlink();

	if (!now && errno != ENOENT) {
		complain("asking for the family mpa");
		return false;
	}
	nl->gone = !now || now->family != nl->family;
	if (now)
		netlink_close(now);
	return true;
}

static int conn_cb(const struct nlmsghdr *nlh, void *arg)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	struct netlink *nl = arg;
	struct conn conn;

	if (nlh->nlmsg_type != nl->family)
		return MNL_CB_OK;
	if (!conn_parse(&conn, nlh)) {
		errno = EBADMSG;
		return MNL_CB_ERROR;
	}
	if (conn_fits(&conn, nl->filter)) {
		nl->nr++;
		nl->fn(genl->cmd, &conn, nl->arg);
	}
	return MNL_CB_OK;
}

/* Call @fn for each connection that fits @filter. */
bool netlink_show(struct netlink *nl, const struct filter *filter, conn_fn fn,
		  void *arg)
{
	uint16_t flags = filter->cookie ? NLM_F_ACK : NLM_F_DUMP;
	char buf[256];
	struct nlmsghdr *nlh = request(nl, buf, nl->family, MPA_CMD_CONN_GET,
				       flags);

	if (filter->cookie) {
		mnl_attr_put_u64(nlh, MPA_A_CONN_COOKIE, filter->cookie);
	} else {
		if (filter->sport)
			mnl_attr_put_u16(nlh, MPA_A_CONN_LOCAL_PORT,
					 filter->sport);
		if (filter->dport)
			mnl_attr_put_u16(nlh, MPA_A_CONN_PEER_PORT,
					 filter->dport);
	}
	nl->filter = filter;	/* with a cookie the kernel looks at no port */
	nl->nr = 0;
	nl->fn = fn;
	nl->arg = arg;
	if (ask(nl, nlh, conn_cb, nl)) {
		if (!filter->cookie || nl->nr)
			return true;
		errno = ENOENT;
	}
	/* The kernel says so, too, if no family has the number any longer. */
	if (errno != ENOENT)
		complain("asking for connections");
	else if (check_family(nl))
		fprintf(stderr, "mpa: %s\n",
			nl->gone ? unloaded : "no such connection");
	return false;
}

static bool join(struct netlink *nl, uint32_t group)
{
	if (mnl_socket_setsockopt(nl->sock, NETLINK_ADD_MEMBERSHIP, &group,
				  sizeof(group)) == 0)
		return true;
	complain("listening for events");
	return false;
}

/*
 * A queue of several thousand events, of which the default takes some 160:
 * connections may end in a burst, and the reader of our output may be slow.
 */
static void enlarge_queue(struct netlink *nl)
{
	int fd = mnl_socket_get_fd(nl->sock), size = 0;
	socklen_t len = sizeof(size);

	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &len);
	if (size > INT_MAX / QUEUE_FACTOR)
		return;
	size = size / 2 * QUEUE_FACTOR;	/* the kernel doubles what it gets */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
}

static int ctrl_cb(const struct nlmsghdr *nlh, struct netlink *nl)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (genl->cmd != CTRL_CMD_DELFAMILY)
		return MNL_CB_OK;
	mnl_attr_for_each(attr, nlh, sizeof(*genl)) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_get_u16(attr) == nl->family)
			nl->gone = true;
	}
	return MNL_CB_OK;
}

static int event_cb(const struct nlmsghdr *nlh, void *arg)
{
	if (nlh->nlmsg_type == GENL_ID_CTRL)
		return ctrl_cb(nlh, arg);
	return conn_cb(nlh, arg);
}

/*
 * Call @fn for each event that fits @filter, until something fails or the
 * module is unloaded.
 */
bool netlink_monitor(struct netlink *nl, const struct filter *filter,
		     conn_fn fn, void *arg)
{
	struct pollfd pfd = { .fd = mnl_socket_get_fd(nl->sock),
			      .events = POLLIN };
	bool lost = false;
	ssize_t len;

	nl->filter = filter;
	nl->fn = fn;
	nl->arg = arg;
	enlarge_queue(nl);
	if (!join(nl, GROUP_NOTIFY) || !join(nl, nl->group))
		return false;
	/* The module may have been unloaded before the first join() */
	if (!check_family(nl))
		return false;
	if (!nl->gone)
		fprintf(stderr, "mpa: listening\n");
	while (!nl->gone) {
		/*
		 * The kernel says at once that the queue has overflown, and
		 * then drops everything, the notice of the end too, until the
		 * queue is empty.
		 */
		if (lost && poll(&pfd, 1, 0) == 0) {
			lost = false;
			fprintf(stderr, "mpa: events were lost up to here\n");
			if (!check_family(nl))
				return false;
			continue;
		}
		len = mnl_socket_recvfrom(nl->sock, nl->buf, sizeof(nl->buf));
		if (len < 0 && errno == ENOBUFS) {
			lost = true;
			continue;
		}
		if (len < 0 ||
		    mnl_cb_run(nl->buf, len, 0, 0, event_cb, nl) < 0) {
			complain("receiving events");
			return false;
		}
		if (ferror(stdout))
			return false;
	}
	fprintf(stderr, "mpa: %s\n", unloaded);
	return false;
}
