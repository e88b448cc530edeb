// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-peer: a scripted MPA peer, for valid and for invalid behaviour.
 *
 * mpa-peer.1 describes its commands and steps.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"

#define ACCEPT_MS	30000	/* the other side may have much to do before */

struct endpoint {
	struct sockaddr_storage address;
	socklen_t len;
};

static struct peer peer;
static struct endpoint own;		/* or that of the other side */
static int listener = -1;
static int timeout = 5000;

static void no_connection(const char *what)
{
	say("NO CONNECTION: %s: %s", what, strerror(errno));
	exit(3);
}

static void set_address(struct endpoint *e, const char *host, uint16_t port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&e->address;
	struct sockaddr_in *in = (struct sockaddr_in *)&e->address;

	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		e->len = sizeof(*in);
		return;
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		misused("%s is no address", host);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	e->len = sizeof(*in6);
}

static int new_socket(const struct endpoint *e)
{
	int fd = socket(e->address.ss_family, SOCK_STREAM, 0);

	if (fd < 0)
		no_connection("socket");
	return fd;
}

static int connect_out(const struct endpoint *e)
{
	int fd = new_socket(e);

	if (connect(fd, (const struct sockaddr *)&e->address, e->len))
		no_connection("connect");
	return fd;
}

static void listen_in(void)
{
	struct sockaddr_in6 got = { 0 };
	socklen_t len = sizeof(got);
	int one = 1;

	listener = new_socket(&own);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&own.address, own.len) ||
	    listen(listener, 8) ||
	    getsockname(listener, (struct sockaddr *)&got, &len))
		no_connection("listen");
	say("listening %u", ntohs(got.sin6_port));
}

static int accept_in(void)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	int fd = -1;

	errno = ETIMEDOUT;
	if (poll(&pfd, 1, ACCEPT_MS) > 0)
		fd = accept(listener, NULL, NULL);
	if (fd < 0)
		no_connection("accept");
	return fd;
}

static void begin(void)
{
	memset(&peer, 0, sizeof(peer));
	conn_init(&peer.conn, listener < 0 ? connect_out(&own) : accept_in(),
		  timeout);
}

/* @from with each % replaced; 64 KB of octets and more fit */
static char *fill_in(const char *from, long number)
{
	static char step[2 * FPDU_SPACE + 100];
	size_t n = 0;

	for (; *from && n < sizeof(step) - 24; from++) {
		if (*from == '%' && number >= 0)
			n += sprintf(step + n, "%ld", number);
		else
			step[n++] = *from;
	}
	if (*from)
		misused("a step is too long");
	step[n] = 0;
	return step;
}

static void run(char **steps, long number)
{
	now_at = number;
	now_doing = "connect";
	begin();
	for (; *steps; steps++) {
		now_doing = *steps;
		if (!strcmp(*steps, "again")) {
			conn_close(&peer.conn);
			begin();
		} else {
			step_run(&peer, fill_in(*steps, number));
		}
	}
	conn_close(&peer.conn);
}

static void crc_main(int argc, char **argv)
{
	static uint8_t octets[FPDU_SPACE];
	uint8_t sum[4];
	uint32_t crc;
	size_t len;
	int i;

	if (argc != 1)
		misused("crc HEX");
	len = field_hex("crc", argv[0], octets, sizeof(octets));
	crc = mpa_ref_crc(octets, len);
	for (i = 0; i < 4; i++)
		sum[i] = crc >> 8 * i;
	say("%s%s", argv[0], to_hex(sum, 4));
}

/* Commands that make no connection */
static const struct {
	const char	*name;
	void		(*run)(int argc, char **argv);
} offline[] = {
	{ "segments", segments_main },
	{ "decode", decode_main },
	{ "crc", crc_main },
};

static bool run_offline(int argc, char **argv)
{
	size_t i;

	for (i = 0; argc && i < sizeof(offline) / sizeof(*offline); i++)
		if (!strcmp(argv[0], offline[i].name)) {
			now_doing = argv[0];
			offline[i].run(argc - 1, argv + 1);
			return true;
		}
	return false;
}

static void set_range(const char *text, long *from, long *to)
{
	char end;

	if (sscanf(text, "%ld..%ld%c", from, to, &end) != 2 || *from < 0 ||
	    *to < *from)
		misused("%s is no range", text);
}

/* Returns the status if nothing was wrong. */
static int finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "mpa-peer: the output could not be written\n");
	return 1;
}

int main(int argc, char **argv)
{
	long from = -1, to = -1;
	int option;

	now_doing = "options";
	while ((option = getopt(argc, argv, "+t:f:")) >= 0) {
		if (option == 't')
			timeout = field_seconds("-t", optarg);
		else if (option == 'f')
			set_range(optarg, &from, &to);
		else
			return 2;
	}
	argv += optind;
	if (run_offline(argc - optind, argv))
		return finish();
	if (argc - optind < 3 ||
	    (strcmp(argv[0], "connect") && strcmp(argv[0], "listen")))
		misused("connect or listen, ADDRESS PORT STEP...");
	set_address(&own, argv[1], field_number("port", argv[2], 65535));
	if (!strcmp(argv[0], "listen"))
		listen_in();
	for (; from <= to; from++)
		run(argv + 3, from);
	return finish();
}
