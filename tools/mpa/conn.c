// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A connection: its attributes, and their values in words. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <net/if.h>
#include <string.h>
#include "mpa.h"

static const char * const states[] = {
	[MPA_CONN_STATE_ATTACHED]	= "attached",
	[MPA_CONN_STATE_STARTUP]	= "startup",
	[MPA_CONN_STATE_DECIDE]		= "decide",
	[MPA_CONN_STATE_FULL]		= "full",
	[MPA_CONN_STATE_REJECTED]	= "rejected",
	[MPA_CONN_STATE_CLOSED]		= "closed",
};

static const char * const roles[] = {
	[MPA_CONN_ROLE_RESPONDER]	= "responder",
	[MPA_CONN_ROLE_INITIATOR]	= "initiator",
};

static const char * const reasons[] = {
	[MPA_END_REASON_NONE]			= "none",
	[MPA_END_REASON_FIN]			= "fin",
	[MPA_END_REASON_TRUNCATED]		= "truncated",
	[MPA_END_REASON_RESET]			= "reset",
	[MPA_END_REASON_ABORTED]		= "aborted",
	[MPA_END_REASON_CRC]			= "crc",
	[MPA_END_REASON_MARKER]			= "marker",
	[MPA_END_REASON_LENGTH]			= "length",
	[MPA_END_REASON_URGENT]			= "urgent",
	[MPA_END_REASON_KEY]			= "key",
	[MPA_END_REASON_ROLE]			= "role",
	[MPA_END_REASON_REVISION]		= "revision",
	[MPA_END_REASON_PD_LENGTH]		= "pd-length",
	[MPA_END_REASON_SHORT_FRAME]		= "short-frame",
	[MPA_END_REASON_EARLY_OCTETS]		= "early-octets",
	[MPA_END_REASON_TIMEOUT]		= "timeout",
	[MPA_END_REASON_STARTUP_OVERFLOW]	= "startup-overflow",
	[MPA_END_REASON_NO_MEMORY]		= "no-memory",
	[MPA_END_REASON_ENHANCED]		= "enhanced",
	[MPA_END_REASON_IRD]			= "ird",
	[MPA_END_REASON_RTR]			= "rtr",
};

static const struct {
	uint32_t	bit;
	const char	*name;
} flag_names[] = {
	{ MPA_CONN_FLAG_CRC, "crc" },
	{ MPA_CONN_FLAG_MARKERS_TX, "markers-tx" },
	{ MPA_CONN_FLAG_MARKERS_RX, "markers-rx" },
	{ MPA_CONN_FLAG_OOO, "ooo" },
	{ MPA_CONN_FLAG_ENHANCED, "enhanced" },
	{ MPA_CONN_FLAG_MEMALLOC, "memalloc" },
	{ MPA_CONN_FLAG_HOLD, "hold" },
};

/* Sets @conn's address of @attr. Returns false if it has a wrong length. */
static bool parse_address(struct conn *conn, const struct nlattr *attr)
{
	int type = mnl_attr_get_type(attr);
	bool v4 = type == MPA_A_CONN_LOCAL_ADDR4 ||
		  type == MPA_A_CONN_PEER_ADDR4;
	bool local = type == MPA_A_CONN_LOCAL_ADDR4 ||
		     type == MPA_A_CONN_LOCAL_ADDR6;
	size_t len = v4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);

	if (mnl_attr_get_payload_len(attr) != len)
		return false;
	conn->family = v4 ? AF_INET : AF_INET6;
	memcpy(local ? &conn->local : &conn->peer, mnl_attr_get_payload(attr),
	       len);
	return true;
}

static bool parse_number(uint64_t *value, const struct nlattr *attr)
{
	switch (mnl_attr_get_payload_len(attr)) {
	case sizeof(uint16_t):
		*value = mnl_attr_get_u16(attr);
		return true;
	case sizeof(uint32_t):
		*value = mnl_attr_get_u32(attr);
		return true;
	case sizeof(uint64_t):
		*value = mnl_attr_get_u64(attr);
		return true;
	}
	return false;
}

/* Attributes of a newer kernel are skipped. */
static int parse_attr(const struct nlattr *attr, void *arg)
{
	int type = mnl_attr_get_type(attr);
	struct conn *conn = arg;
	bool good;

	if (!type || type > MPA_A_CONN_MAX)
		return MNL_CB_OK;
	switch (type) {
	case MPA_A_CONN_LOCAL_ADDR4:
	case MPA_A_CONN_LOCAL_ADDR6:
	case MPA_A_CONN_PEER_ADDR4:
	case MPA_A_CONN_PEER_ADDR6:
		good = parse_address(conn, attr);
		break;
	default:
		good = parse_number(&conn->num[type], attr);
		break;
	}
	conn->has[type] = true;
	return good ? MNL_CB_OK : MNL_CB_ERROR;
}

/* Returns false if an attribute has a length that none of its kind has. */
bool conn_parse(struct conn *conn, const struct nlmsghdr *nlh)
{
	memset(conn, 0, sizeof(*conn));
	return mnl_attr_parse(nlh, sizeof(struct genlmsghdr), parse_attr,
			      conn) == MNL_CB_OK;
}

bool conn_fits(const struct conn *conn, const struct filter *filter)
{
	if (filter->sport && filter->sport != conn->num[MPA_A_CONN_LOCAL_PORT])
		return false;
	if (filter->dport && filter->dport != conn->num[MPA_A_CONN_PEER_PORT])
		return false;
	return !filter->cookie ||
	       filter->cookie == conn->num[MPA_A_CONN_COOKIE];
}

/* A name may have octets that terminals and readers of JSON do not take. */
static bool plain_name(unsigned int index, char *name)
{
	const unsigned char *c;

	if (!if_indextoname(index, name))
		return false;
	for (c = (unsigned char *)name; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			return false;
	return true;
}

/*
 * The address alone, with its interface if it is a link-local one: by its
 * number if the name has octets that are not printable ASCII
 */
void conn_address(const struct conn *conn, bool peer, char *to, size_t size)
{
	const struct in6_addr *addr = peer ? &conn->peer : &conn->local;
	unsigned int scope = 0;
	char name[IF_NAMESIZE], text[INET6_ADDRSTRLEN];

	if (conn->family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(addr))
		scope = conn->num[MPA_A_CONN_SCOPE_ID];
	if (!conn->family || !inet_ntop(conn->family, addr, text, sizeof(text)))
		snprintf(to, size, "?");
	else if (scope && plain_name(scope, name))
		snprintf(to, size, "%s%%%s", text, name);
	else if (scope)
		snprintf(to, size, "%s%%%u", text, scope);
	else
		snprintf(to, size, "%s", text);
}

/* Address and port, as ss shows them */
void conn_end(const struct conn *conn, char *to, size_t size, bool peer)
{
	int attr = peer ? MPA_A_CONN_PEER_PORT : MPA_A_CONN_LOCAL_PORT;
	char text[TEXT_MAX];

	conn_address(conn, peer, text, sizeof(text));
	snprintf(to, size, conn->family == AF_INET6 ? "[%s]:%" PRIu64 :
		 "%s:%" PRIu64, text, conn->num[attr]);
}

/* The word for the number of an enum; "?" if this command does not know it */
const char *conn_word(const struct conn *conn, int attr)
{
	const char * const *words = states;
	size_t nr = ARRAY_SIZE(states);

	if (attr == MPA_A_CONN_ROLE) {
		words = roles;
		nr = ARRAY_SIZE(roles);
	} else if (attr == MPA_A_CONN_END_REASON) {
		words = reasons;
		nr = ARRAY_SIZE(reasons);
	}
	if (!conn->has[attr])
		return NULL;
	return conn->num[attr] < nr ? words[conn->num[attr]] : "?";
}

void conn_flags(const struct conn *conn, const char *separator, char *to,
		size_t size)
{
	size_t i, len = 0;

	*to = '\0';
	for (i = 0; i < ARRAY_SIZE(flag_names) && len < size; i++)
		if (conn->num[MPA_A_CONN_FLAGS] & flag_names[i].bit)
			len += snprintf(to + len, size - len, "%s%s",
					len ? separator : "",
					flag_names[i].name);
}
