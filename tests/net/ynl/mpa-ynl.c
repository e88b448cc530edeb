// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-ynl [COOKIE]: connections, or one of them, got by code that the kernel's
 * generator has made of the specification of the netlink family, which judges
 * every attribute by its type there. Shares no code with the command mpa. A
 * line has a connection.
 *
 * mpa-ynl opener UID: joins the group of events, as root, with a socket that
 * the user UID has opened, and prints a line for each message.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "mpa-user.h"
#include "ynl.h"

static void print_conn(const struct mpa_conn_get_rsp *conn)
{
	printf("cookie=%llu local_port=%u peer_port=%u state=%s flags=%#x rx_ulpdus=%llu rx_octets=%llu",
	       (unsigned long long)conn->cookie, conn->local_port,
	       conn->peer_port, mpa_conn_state_str(conn->state), conn->flags,
	       (unsigned long long)conn->rx_ulpdus,
	       (unsigned long long)conn->rx_octets);
	if (conn->_present.role)
		printf(" role=%s", mpa_conn_role_str(conn->role));
	if (conn->_present.end_reason)
		printf(" end_reason=%s", mpa_end_reason_str(conn->end_reason));
	putchar('\n');
}

static int get(struct ynl_sock *ys, __u64 cookie)
{
	struct mpa_conn_get_req req = {};
	struct mpa_conn_get_rsp *conn;

	mpa_conn_get_req_set_cookie(&req, cookie);
	conn = mpa_conn_get(ys, &req);
	if (!conn)
		return 1;
	print_conn(conn);
	mpa_conn_get_rsp_free(conn);
	return 0;
}

static int dump(struct ynl_sock *ys)
{
	struct mpa_conn_get_req_dump req = {};
	struct mpa_conn_get_list *conns = mpa_conn_get_dump(ys, &req);

	if (!conns)
		return 1;
	ynl_dump_foreach(conns, conn)
		print_conn(conn);
	mpa_conn_get_list_free(conns);
	return 0;
}

/* Without a UID of 0 this drops, and takes back, the effective capabilities. */
static int listen_as(uid_t opener)
{
	struct ynl_error error;
	struct ynl_sock *ys;
	char buf[8192];

	if (seteuid(opener))
		return 1;
	ys = ynl_sock_create(&ynl_mpa_family, &error);
	if (seteuid(0) || !ys || ynl_subscribe(ys, "events"))
		return 1;
	setlinebuf(stdout);
	puts("listening");
	while (recv(ynl_socket_get_fd(ys), buf, sizeof(buf), 0) > 0)
		puts("event");
	return 1;
}

int main(int argc, char **argv)
{
	struct ynl_error error;
	struct ynl_sock *ys;
	int status;

	if (argc == 3 && !strcmp(argv[1], "opener"))
		return listen_as(atoi(argv[2]));
	ys = ynl_sock_create(&ynl_mpa_family, &error);
	if (!ys) {
		fprintf(stderr, "mpa-ynl: %s\n", error.msg);
		return 1;
	}
	status = argc > 1 ? get(ys, strtoull(argv[1], NULL, 10)) : dump(ys);
	if (status)
		fprintf(stderr, "mpa-ynl: %s\n", ys->err.msg);
	ynl_sock_destroy(ys);
	return status;
}
