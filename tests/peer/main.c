// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-peer: a scripted MPA peer, for valid and for invalid behaviour.
 *
 *	mpa-peer [-t SECONDS] [-f FROM..TO] connect ADDRESS PORT STEP...
 *	mpa-peer [-t SECONDS] [-f FROM..TO] listen ADDRESS PORT STEP...
 *	mpa-peer [-t SECONDS] [-f FROM..TO] relay ADDRESS PORT SERVER PORT WHAT
 *	mpa-peer segments [verbose] CAPTURE ADDRESS
 *	mpa-peer decode CAPTURE
 *	mpa-peer payloads CAPTURE ADDRESS
 *	mpa-peer crc HEX
 *
 * The steps run in order on a TCP connection, made or accepted. Each wait has
 * a limit of SECONDS (5). With -f all steps run once for each number from FROM
 * to TO, on a connection each, with % replaced by the number. listen first
 * prints "listening PORT"; PORT may be 0.
 *
 * The status is 0 if everything matched the steps, 1 if not (the last line
 * begins with WRONG), 2 for an error in the command (MISUSED), 3 without a
 * connection.
 *
 * relay accepts connections at ADDRESS and passes all octets on to SERVER and
 * back, but flips a bit of octet N: with there:N on the way to the server, with
 * back:N on the way from it.
 *
 * The next three read captures of tcpdump that begin before the SYN. Startup
 * frames and FPDUs in them have to be right to the last octet, or the status
 * is 1.
 *
 * segments counts the TCP segments from ADDRESS that begin with an FPDU and
 * hold only whole ones (aligned), the retransmissions (again), those without
 * room for 8 octets more (full), and those after which the window had no room
 * for another one as long (tight). verbose: also why others are not aligned,
 * with the first of them.
 *
 * decode prints the frames and FPDUs of each connection, and a line with its
 * terms; the Initiator's values come first. payloads prints the octets of each
 * segment from ADDRESS. crc prints HEX and its CRC32c.
 *
 * Octets:
 *	send:HEX	send these
 *	read:N		read N octets, and print those that came
 *	data:HEX	expect these
 * How octets leave:
 *	hold, push	all steps between send in one piece, at push
 *	dribble, whole	each octet in a segment of its own from here on, or not
 *	dribble:HEX	send these so
 *	split:N		split the next octets to be sent after N octets
 *	limit:N,fin	send N further octets, then FIN (rst: RST,
 *			silence: nothing); from there on skip all steps but
 *			those on time and ends
 * Time and ends:
 *	pause:S		wait S seconds
 *	quiet:S		for S seconds no octets come, and no end
 *	fin, rst	end our half, or reset the connection
 *	end[:fin|reset][,rest]
 *			the other side ends it so, and no octets come before;
 *			rest: octets that come before are dropped
 *	again		drop the connection, and continue on a new one
 * Startup:
 *	request:FIELDS, reply:FIELDS
 *			send such a frame: m, c, r, s, res, or flags for all
 *			of them; rev; len (PD_Length); A, B, ird, C, D, ord
 *			(RFC 6581; sent if one is named); pd=HEX or
 *			pdsize=N (private data after these); key=HEX,
 *			badkey=N (octet N is wrong). The defaults are c=1,
 *			rev=1 and the right len.
 *	expect-request:FIELDS, expect-reply:FIELDS
 *			such a frame comes; other fields may have any value
 *	immediate	no frames: markers both ways and CRC
 *	set:out=,in=,crc=,lead=
 *			markers sent, markers received and CRC, 0 or 1; to
 *			override the terms of the frames. lead=1: FPDUPTR counts
 *			from an FPDU's leading marker
 * Full operation:
 *	fpdu:FIELDS	send one: size=N, ulpdu=HEX or rtr=send|write|read (an
 *			RDMAP message of length 0); len (ULPDU_Length), pad
 *			(its octets), crc=bad or crc=HEX; ptr or ptradd (a
 *			FPDUPTR, and a summand to it) and reserved of all
 *			its markers, or of marker=N; flip=N (a bit of octet N);
 *			count=N, step=N (each longer by N)
 *	expect-fpdu[:FIELDS]
 *			a valid one comes, equal to the one that fpdu sends for
 *			size, ulpdu, rtr, count, step
 *	echo:FIELDS	send FPDUs, all are echoed: count, size, step, batch;
 *			or size, and split=every: one for each place to split it
 *	serve[:count=N]	send back each FPDU, up to N of them or to FIN
 *
 * For example, a Rev 1 Initiator that sends a bad CRC and then waits:
 *
 *	mpa-peer connect 10.0.0.2 5044 request expect-reply:r=0 \
 *		fpdu:size=42,crc=bad quiet:1
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
static struct peer relayed;		/* to @server */
static struct endpoint own;		/* or that of the other side */
static struct endpoint server;
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

static void relay(const char *what, long number)
{
	now_at = number;
	now_doing = "relay";
	begin();
	memset(&relayed, 0, sizeof(relayed));
	conn_init(&relayed.conn, connect_out(&server), timeout);
	relay_run(&peer.conn, &relayed.conn, fill_in(what, number));
	conn_close(&peer.conn);
	conn_close(&relayed.conn);
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
	{ "payloads", payloads_main },
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

	if (sscanf(text, "%ld..%ld%c", from, to, &end) != 2 || *from < 0)
		misused("%s is no range", text);
}

int main(int argc, char **argv)
{
	long from = -1, to = -1;
	bool relaying;
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
		return 0;
	relaying = argc - optind == 6 && !strcmp(argv[0], "relay");
	if (!relaying && (argc - optind < 3 || (strcmp(argv[0], "connect") &&
						strcmp(argv[0], "listen"))))
		misused("connect or listen, ADDRESS PORT STEP...");
	set_address(&own, argv[1], field_number("port", argv[2], 65535));
	if (relaying)
		set_address(&server, argv[3],
			    field_number("port", argv[4], 65535));
	if (relaying || !strcmp(argv[0], "listen"))
		listen_in();
	for (; from <= to; from++) {
		if (relaying)
			relay(argv[5], from);
		else
			run(argv + 3, from);
	}
	return 0;
}
