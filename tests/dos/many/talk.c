// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Well-behaved peers, all of whose octets are known in advance. In each step
 * all connections send before the first one reads, so the server has work on
 * all of them at the same time. What one sends in a step has to fit TCP's
 * buffers.
 */
#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"

struct link {
	int		fd;
	unsigned long	id;
	uint8_t		*octets;	/* sent last, or expected next */
	size_t		len;
};

static struct {
	unsigned long	connections;
	unsigned long	at;
	unsigned long	seed;
	unsigned long	rounds;
	unsigned long	ulpdus;
	unsigned long	size;
	unsigned long	piece;
	bool		vary;
	bool		rst;
	const char	*wait;
} opts;

static struct link *links;
static unsigned long long octets_back;

static void read_options(void)
{
	const char *end = option("end");

	opts.connections = number("connections", 1);
	opts.at = number("at", opts.connections);
	opts.seed = number("seed", 1);
	opts.rounds = number("rounds", 1);
	opts.ulpdus = number("ulpdus", 1);
	opts.size = number("size", 512);
	opts.piece = number("piece", 0);
	opts.vary = number("vary", 0);
	opts.rst = end && !strcmp(end, "rst");
	opts.wait = option("wait");
	if (!opts.size || opts.size > ULPDU_MAX || !opts.at)
		misused("size is 1 to %u, at 1 or more", ULPDU_MAX);
}

/* Random numbers that depend on seed, connection and step alone */
struct dice { unsigned short state[3]; };

static struct dice dice_of(const struct link *l, unsigned long step)
{
	return (struct dice) { { opts.seed + (l->id >> 16), l->id, step } };
}

static size_t dice_roll(struct dice *dice, size_t below)
{
	return nrand48(dice->state) % below;
}

static void dice_fill(struct dice *dice, uint8_t *to, size_t len)
{
	while (len--)
		*to++ = nrand48(dice->state) >> 16;
}

/* Each length of private data, but none and all of it more often */
static size_t make_private_data(const struct link *l, uint8_t *to)
{
	struct dice dice = dice_of(l, 0);
	size_t len = dice_roll(&dice, PD_MAX + 1);

	if (dice_roll(&dice, 4) == 0)
		len = dice_roll(&dice, 2) * PD_MAX;
	dice_fill(&dice, to, len);
	return len;
}

static void make_startup(struct link *l, bool reply)
{
	uint8_t pd[PD_MAX];
	size_t len = make_private_data(l, pd);

	l->len = make_frame(l->octets, reply, pd, len);
}

static void make_round(struct link *l, unsigned long round)
{
	static uint8_t ulpdu[ULPDU_MAX];
	struct dice dice = dice_of(l, round + 1);
	unsigned long i;
	size_t len;

	l->len = 0;
	for (i = 0; i < opts.ulpdus; i++) {
		len = opts.vary ? 1 + dice_roll(&dice, opts.size) : opts.size;
		dice_fill(&dice, ulpdu, len);
		l->len += make_fpdu(l->octets + l->len, ulpdu, len);
	}
}

/* With MSG_EOR TCP adds nothing after a piece to the same segment. */
static void link_send(const struct link *l)
{
	int flags = MSG_NOSIGNAL | (opts.piece ? MSG_EOR : 0);
	size_t piece = opts.piece ? opts.piece : l->len;
	size_t at, len;
	ssize_t n;

	for (at = 0; at < l->len; at += n) {
		len = l->len - at < piece ? l->len - at : piece;
		n = send(l->fd, l->octets + at, len, flags);
		if (n < 0)
			wrong("connection %lu: send: %s", l->id,
			      strerror(errno));
	}
}

static void compare(const struct link *l, const char *step, size_t at,
		    const uint8_t *octets, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (octets[i] != l->octets[at + i])
			wrong("connection %lu, %s, octet %zu: %02x, not %02x",
			      l->id, step, at + i, octets[i],
			      l->octets[at + i]);
}

/* What comes back is what was expected, to the octet. */
static void link_expect(const struct link *l, const char *step)
{
	static uint8_t octets[65536];
	size_t at, len;
	ssize_t n;

	for (at = 0; at < l->len; at += n) {
		len = l->len - at;
		if (len > sizeof(octets))
			len = sizeof(octets);
		n = recv(l->fd, octets, len, 0);
		if (n <= 0)
			wrong("connection %lu, %s: %s", l->id, step,
			      n ? strerror(errno) : "ended too early");
		compare(l, step, at, octets, n);
		octets_back += n;
	}
}

static void links_open(unsigned long first, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++) {
		links[i].id = first + i;
		links[i].fd = server_connect(links[i].id);
		if (links[i].fd < 0)
			wrong("connection %lu: reset", links[i].id);
		make_startup(&links[i], false);
		link_send(&links[i]);
	}
	for (i = 0; i < nr; i++) {
		make_startup(&links[i], true);
		link_expect(&links[i], "Reply");
	}
}

static void links_round(unsigned long round, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++) {
		make_round(&links[i], round);
		link_send(&links[i]);
	}
	for (i = 0; i < nr; i++)
		link_expect(&links[i], "echo");
}

/* After our FIN the server's comes, and no octet before it. */
static void link_end(const struct link *l)
{
	uint8_t octet;
	ssize_t n = recv(l->fd, &octet, 1, 0);

	if (n)
		wrong("connection %lu, at its end: %s", l->id,
		      n < 0 ? strerror(errno) : "an octet too many");
	close(l->fd);
}

static void links_close(unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		if (opts.rst)
			reset(links[i].fd);
		else
			shutdown(links[i].fd, SHUT_WR);
	for (i = 0; i < nr && !opts.rst; i++)
		link_end(&links[i]);
}

static void wait_for_file(void)
{
	say("waiting");
	while (access(opts.wait, F_OK))
		sleep_ms(100);
}

static void links_alloc(void)
{
	size_t room = opts.ulpdus * FPDU_MAX(opts.size) + FRAME_LEN + PD_MAX;
	unsigned long i;

	links = zeroed(opts.at, sizeof(*links));
	for (i = 0; i < opts.at; i++)
		links[i].octets = zeroed(1, room);
}

int talk_main(void)
{
	unsigned long done, nr, round;
	double begun = now();

	read_options();
	links_alloc();
	for (done = 0; done < opts.connections; done += nr) {
		nr = opts.connections - done;
		if (nr > opts.at)
			nr = opts.at;
		links_open(done, nr);
		for (round = 0; round < opts.rounds; round++)
			links_round(round, nr);
		if (opts.wait)
			wait_for_file();
		links_close(nr);
	}
	say("connections=%lu octets=%llu seconds=%.1f", done, octets_back,
	    now() - begun);
	return 0;
}
