// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-many: many connections at once, good ones and bad ones.
 *
 *	mpa-many COMMAND ADDRESS PORT [NAME=VALUE]...
 *
 * talk	connections=N at=M seed=S rounds=N ulpdus=N size=N [vary=1] [piece=N]
 *	[wait=FILE] [end=fin|rst]
 *	N connections, M (all) at a time. Those M all send a Request with
 *	private data of their own, then compare their Replies; then ROUNDS
 *	times they all send ULPDUS of SIZE octets (vary: 1 to SIZE), then
 *	compare the echoes. wait: print "waiting", and close when FILE exists.
 *	piece: octets per segment.
 * hold	connections=N [again=1] [rev0=1]
 *	Requests that never complete. again: replace each connection that was
 *	reset. rev0: announce private data of 65535 octets. Until SIGTERM.
 * flood	connections=N size=N [stop=N] [piece=N]
 *	Send FPDUs forever and never read. stop: send that many octets of the
 *	first FPDU only. Until SIGTERM.
 *
 * sources=N spreads connections over N local addresses, from source=ADDRESS on.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"

static char **options;
static struct sockaddr_in server, source;
static unsigned long sources;
static volatile sig_atomic_t stopped;

const char *option(const char *name)
{
	size_t len = strlen(name);
	char **at;

	for (at = options; *at; at++)
		if (!strncmp(*at, name, len) && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

unsigned long number(const char *name, unsigned long otherwise)
{
	const char *text = option(name);
	unsigned long value;
	char *end;

	if (!text)
		return otherwise;
	value = strtoul(text, &end, 0);
	if (end == text || *end)
		misused("%s=%s: no number", name, text);
	return value;
}

double now(void)
{
	return now_ms() / 1e3;
}

void *zeroed(size_t nr, size_t size)
{
	void *memory = calloc(nr, size);

	if (!memory)
		wrong("no memory");
	return memory;
}

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

bool told_to_stop(void)
{
	return stopped;
}

static void set_address(struct sockaddr_in *to, const char *text)
{
	to->sin_family = AF_INET;
	if (text && inet_pton(AF_INET, text, &to->sin_addr) != 1)
		misused("%s is no address", text);
}

/* TCP chooses the port when it knows both addresses. */
static void bind_source(int fd, unsigned long id)
{
	struct sockaddr_in from = source;
	int one = 1;

	if (!from.sin_addr.s_addr)
		return;
	from.sin_addr.s_addr =
		htonl(ntohl(from.sin_addr.s_addr) + id % sources);
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)))
		wrong("bind: %s", strerror(errno));
}

int server_connect(unsigned long id)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	struct timeval minute = { .tv_sec = 60 };

	if (fd < 0)
		wrong("socket: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof(minute));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &minute, sizeof(minute));
	bind_source(fd, id);
	if (!connect(fd, (struct sockaddr *)&server, sizeof(server)))
		return fd;
	if (errno != ECONNRESET && errno != ECONNABORTED && errno != EINTR)
		wrong("connect %lu: %s", id, strerror(errno));
	close(fd);
	return -1;
}

void reset(int fd)
{
	struct linger linger = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

size_t make_frame(uint8_t *to, bool reply, const uint8_t *pd, size_t pd_len)
{
	memcpy(to, frame_key(reply), 16);
	to[16] = FLAG_C;
	to[17] = 1;
	put16(to + 18, pd_len);
	if (pd_len)
		memcpy(to + FRAME_LEN, pd, pd_len);
	return FRAME_LEN + pd_len;
}

size_t make_fpdu(uint8_t *to, const uint8_t *ulpdu, size_t len)
{
	return mpa_ref_encode(to, 0, ulpdu, len, false, true);
}

static const struct {
	const char	*name;
	int		(*run)(void);
} commands[] = {
	{ "talk",	talk_main },
	{ "hold",	hold_main },
	{ "flood",	flood_main },
};

int main(int argc, char **argv)
{
	struct rlimit files = { 200000, 200000 };
	struct sigaction sa = { .sa_handler = stop };
	size_t i;

	if (argc < 4)
		misused("mpa-many COMMAND ADDRESS PORT [NAME=VALUE]...");
	options = argv + 4;
	set_address(&server, argv[2]);
	server.sin_port = htons(atoi(argv[3]));
	set_address(&source, option("source"));
	sources = number("sources", 1);
	sigaction(SIGTERM, &sa, NULL);
	if (setrlimit(RLIMIT_NOFILE, &files))
		misused("not allowed to open many files");
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run();
	misused("no command %s", argv[1]);
}
