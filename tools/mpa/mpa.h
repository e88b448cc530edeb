/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The command mpa: connections and events of the kernel's MPA. */
#ifndef _TOOLS_MPA_H
#define _TOOLS_MPA_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/netlink.h>
#include <linux/mpa.h>

#define TEXT_MAX	128
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * struct conn - a connection, as a message of the kernel has it
 * @has: attributes that the message has, by number
 * @num: values of those that are numbers
 * @local: address of this end
 * @peer: the peer's address
 * @family: AF_INET, AF_INET6, or 0 if there are no addresses
 */
struct conn {
	bool		has[MPA_A_CONN_MAX + 1];
	uint64_t	num[MPA_A_CONN_MAX + 1];
	struct in6_addr	local;
	struct in6_addr	peer;
	int		family;
};

/**
 * struct filter - which connections to show; 0 stands for all
 * @sport: port of this end
 * @dport: the peer's port
 * @cookie: cookie of the socket
 */
struct filter {
	uint16_t	sport;
	uint16_t	dport;
	uint64_t	cookie;
};

/* Called for each message; @cmd is MPA_CMD_*. */
typedef void (*conn_fn)(uint8_t cmd, const struct conn *conn, void *arg);

/* conn.c */
bool conn_parse(struct conn *conn, const struct nlmsghdr *nlh);
bool conn_fits(const struct conn *conn, const struct filter *filter);
void conn_address(const struct conn *conn, bool peer, char *to, size_t size);
void conn_end(const struct conn *conn, char *to, size_t size, bool peer);
const char *conn_word(const struct conn *conn, int attr);
void conn_flags(const struct conn *conn, const char *separator, char *to,
		size_t size);

/* json.c */
void json_conn(FILE *to, const struct conn *conn, const char *event,
	       const char *indent);

/* table.c */
struct table *table_new(void);
void table_add(struct table *table, const struct conn *conn);
void table_print(const struct table *table);
void event_print(const struct conn *conn, const char *event);

/* netlink.c: these print why they failed, and return false. */
struct netlink;
struct netlink *netlink_open(void);
void netlink_close(struct netlink *nl);
bool netlink_show(struct netlink *nl, const struct filter *filter, conn_fn fn,
		  void *arg);
bool netlink_monitor(struct netlink *nl, const struct filter *filter,
		     conn_fn fn, void *arg);

/* For memory that the command cannot do without: ends it if there is none. */
void *or_die(void *memory);

#endif /* _TOOLS_MPA_H */
