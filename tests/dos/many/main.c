// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-many: many connections at once, good ones and bad ones.
 *
 *	mpa-many COMMAND ADDRESS PORT [NAME=VALUE]...
 *
 * talk	connections=N at=M seed=S rounds=N ulpdus=N size=N [vary=1] [piece=N]
 *	[together=1] [wait=FILE] [raw=1] [end=fin|rst]
 *	N connections, at most M at a time: a Request with private data of its
 *	own, a comparison of the whole Reply, then ROUNDS times ULPDUS of SIZE
 *	octets (vary: 1 to SIZE), whose echoes are compared. together: all
 *	connect before the first sends. wait: close only when FILE exists;
 *	"waiting" is printed when all could close. piece: octets per segment.
 *	raw: plain TCP, no frames.
 * hold	connections=N [again=1] [rev0=1]
 *	Requests that never complete. again: replace each connection that was
 *	reset. rev0: announce private data of 65535 octets. Until SIGTERM.
 * deaf	connections=N size=N [stop=N] [piece=N]
 *	Send FPDUs forever and never read. stop: send that many octets of the
 *	first FPDU only. Until SIGTERM.
 * drip	ms=N [fpdu=1]
 *	One connection, an octet each N ms: of a Request; fpdu: of an FPDU,
 *	whose echo is compared. Prints the time of the reset.
 * plain	An echo server on plain TCP. Until SIGTERM.
 *
 * sources=N spreads connections over N local addresses, from source=ADDRESS on.
 * Two more commands use no connections:
 *
 *	mpa-many dirty mb=N hex=OCTETS		fill free memory with these
 *	mpa-many search file=FILE hex=OCTETS	count them in FILE
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "many.h"

static char **options;
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
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
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

static void raise_limits(void)
{
	struct rlimit limit = { 200000, 200000 };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		misused("not allowed to open many files");
}

static const struct {
	const char	*name;
	int		(*run)(void);
	bool		net;
} commands[] = {
	{ "talk",	talk_main,	true },
	{ "hold",	hold_main,	true },
	{ "deaf",	deaf_main,	true },
	{ "drip",	drip_main,	true },
	{ "plain",	plain_main,	true },
	{ "dirty",	dirty_main,	false },
	{ "search",	search_main,	false },
};

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = stop };
	size_t i;

	sigaction(SIGTERM, &sa, NULL);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (argc < 2 || strcmp(argv[1], commands[i].name))
			continue;
		if (commands[i].net && argc < 4)
			break;
		options = argv + (commands[i].net ? 4 : 2);
		if (commands[i].net) {
			raise_limits();
			net_init(argv + 2);
		}
		return commands[i].run();
	}
	misused("mpa-many COMMAND ADDRESS PORT [NAME=VALUE]...");
}
