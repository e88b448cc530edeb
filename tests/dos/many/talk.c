// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Well-behaved peers, all of whose octets are known in advance. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"

#define PATIENCE	60	/* seconds without anything happening */

enum state { CONNECT, REPLY, READY, ROUND, DONE, CLOSE };

struct link {
	int		fd;
	unsigned long	id;
	enum state	state;
	unsigned long	round;
	uint8_t		*out;		/* octets to send in this step */
	size_t		out_len;
	size_t		out_done;
	uint8_t		*in;		/* octets expected in this step */
	size_t		in_len;
	size_t		in_done;
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
	bool		together;
	bool		raw;
	bool		rst;
	const char	*wait;
} opts;

static struct {
	int		epoll;
	unsigned long	opened;
	unsigned long	closed;
	unsigned long	ready;		/* in READY, or past it */
	unsigned long	done;		/* in DONE, or past it */
	bool		begun;
	bool		may_close;
	unsigned long long octets;
	double		last;		/* something has happened */
} all;

static struct link *links;
static uint8_t *scratch;		/* a ULPDU */

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
	opts.together = number("together", 0);
	opts.raw = number("raw", 0);
	opts.rst = end && !strcmp(end, "rst");
	opts.wait = option("wait");
	if (!opts.size || opts.size > 64768 || !opts.at)
		misused("size is 1 to 64768, at 1 or more");
	if (opts.at > opts.connections)
		opts.at = opts.connections;
	if ((opts.together || opts.wait) && opts.at != opts.connections)
		misused("together and wait are for all at a time");
}

/* Room for a frame or a round of FPDUs */
static size_t room(void)
{
	size_t fpdus = opts.ulpdus * FPDU_MAX(opts.size);

	return fpdus > FRAME + PD_MAX ? fpdus : FRAME + PD_MAX;
}

/* Private data is as long and as short as may be, one next to the other. */
static void link_frames(struct link *l)
{
	uint8_t pd[PD_MAX];
	struct dice dice;
	size_t len;

	dice_init(&dice, opts.seed, l->id, 0);
	len = dice_roll(&dice, PD_MAX + 1);
	if (dice_roll(&dice, 4) == 0)
		len = dice_roll(&dice, 2) * PD_MAX;
	dice_fill(&dice, pd, len);
	l->out_len = frame_build(l->out, false, 1, pd, len);
	l->in_len = frame_build(l->in, true, 1, pd, len);
}

static void link_fpdus(struct link *l)
{
	struct dice dice;
	unsigned long i;
	size_t len;

	dice_init(&dice, opts.seed, l->id, l->round);
	l->out_len = 0;
	for (i = 0; i < opts.ulpdus; i++) {
		len = opts.vary ? 1 + dice_roll(&dice, opts.size) : opts.size;
		dice_fill(&dice, scratch, len);
		l->out_len += fpdu_build(l->out + l->out_len, scratch, len);
	}
	memcpy(l->in, l->out, l->out_len);
	l->in_len = l->out_len;
}

static void link_step(struct link *l, enum state state)
{
	l->state = state;
	l->out_done = 0;
	l->in_done = 0;
	l->out_len = 0;
	l->in_len = 0;
	if (state == REPLY && !opts.raw)
		link_frames(l);
	else if (state == ROUND)
		link_fpdus(l);
}

static void link_open(struct link *l)
{
	l->id = all.opened++;
	l->round = 0;
	l->fd = net_connect(l->id);
	link_step(l, CONNECT);
	epoll_watch(all.epoll, l->fd, l);
}

static void link_close(struct link *l)
{
	if (opts.rst)
		net_reset(l->fd);
	else
		close(l->fd);
	l->fd = -1;
	all.closed++;
	if (all.opened < opts.connections)
		link_open(l);
}

/* Returns whether anything has been sent. */
static bool link_send(struct link *l)
{
	ssize_t n;

	if (l->out_done == l->out_len)
		return false;
	n = net_send(l->fd, l->out + l->out_done, l->out_len - l->out_done,
		     opts.piece);
	if (n < 0 && errno != EAGAIN)
		wrong("connection %lu, round %lu: send: %s", l->id, l->round,
		      strerror(errno));
	if (n <= 0)
		return false;
	l->out_done += n;
	return true;
}

static void link_compare(const struct link *l, const uint8_t *octets, size_t n)
{
	size_t i;

	if (n > l->in_len - l->in_done)
		wrong("connection %lu, round %lu: %zu octets too many", l->id,
		      l->round, n - (l->in_len - l->in_done));
	for (i = 0; i < n; i++)
		if (octets[i] != l->in[l->in_done + i])
			wrong("connection %lu, round %lu, octet %zu: %02x, not %02x",
			      l->id, l->round, l->in_done + i, octets[i],
			      l->in[l->in_done + i]);
}

/* Returns whether anything has come. */
static bool link_recv(struct link *l)
{
	static uint8_t octets[65536];
	ssize_t n = recv(l->fd, octets, sizeof(octets), 0);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0 || (!n && l->state != CLOSE))
		wrong("connection %lu, state %d, round %lu: %s", l->id, l->state,
		      l->round, n ? strerror(errno) : "ended too early");
	if (!n) {
		link_close(l);
		return false;
	}
	link_compare(l, octets, n);
	l->in_done += n;
	all.octets += n;
	return true;
}

/* All octets of this step have been sent and received. */
static void link_next(struct link *l)
{
	switch (l->state) {
	case CONNECT:
		link_step(l, REPLY);
		break;
	case REPLY:
		all.ready++;
		link_step(l, READY);
		break;
	case READY:
		if (!opts.together || all.begun)
			link_step(l, ROUND);
		break;
	case ROUND:
		if (++l->round < opts.rounds) {
			link_step(l, ROUND);
			break;
		}
		all.done++;
		link_step(l, DONE);
		break;
	case DONE:
		if (opts.wait && !all.may_close)
			break;
		link_step(l, CLOSE);
		if (opts.rst)
			link_close(l);
		else
			shutdown(l->fd, SHUT_WR);
		break;
	case CLOSE:
		break;
	}
}

/* Returns whether there may be more to do; @l may be another connection then. */
static bool link_work(struct link *l)
{
	unsigned long id = l->id, round = l->round;
	enum state before = l->state;
	bool more = link_send(l);

	if (before != CONNECT)
		more = link_recv(l) || more;
	if (l->fd < 0 || l->id != id)
		return false;
	if (l->out_done == l->out_len && l->in_done == l->in_len)
		link_next(l);
	if (l->fd < 0 || l->id != id)
		return false;
	return more || l->state != before || l->round != round;
}

static void link_go(struct link *l)
{
	if (l->fd < 0)
		return;
	while (link_work(l))
		;
}

static void link_event(struct link *l, uint32_t events)
{
	all.last = now();
	if (l->state == CONNECT) {
		int err = net_error(l->fd);

		if (err)
			wrong("connection %lu: %s", l->id, strerror(err));
		if (!(events & EPOLLOUT))
			return;
	}
	link_go(l);
}

static void all_go(void)
{
	unsigned long i;

	for (i = 0; i < opts.at; i++)
		link_go(&links[i]);
}

/* Continue connections that wait for all others */
static void look_around(void)
{
	static double told = -1;

	if (told < 0)
		told = now();
	if (opts.together && !all.begun && all.ready == opts.connections) {
		all.begun = true;
		say("all %lu are connected", all.ready);
		all_go();
	}
	if (opts.wait && !all.may_close && all.done == opts.connections) {
		all.may_close = !access(opts.wait, F_OK);
		all.last = now();
		if (all.may_close)
			all_go();
	}
	if (now() - told < 5)
		return;
	told = now();
	say("%s: %lu opened, %lu ready, %lu done, %lu closed",
	    all.done == opts.connections ? "waiting" : "talking", all.opened,
	    all.ready, all.done, all.closed);
}

static void links_init(void)
{
	unsigned long i;

	all.epoll = epoll_new();
	all.last = now();
	scratch = malloc(opts.size);
	links = calloc(opts.at, sizeof(*links));
	if (!links || !scratch)
		wrong("no memory");
	for (i = 0; i < opts.at; i++) {
		links[i].out = malloc(room());
		links[i].in = malloc(room());
		if (!links[i].out || !links[i].in)
			wrong("no memory");
		link_open(&links[i]);
	}
}

int talk_main(void)
{
	struct epoll_event ev[64];
	double begun = now();
	int i, n;

	read_options();
	links_init();
	while (all.closed < opts.connections) {
		n = epoll_wait(all.epoll, ev, 64, 200);
		for (i = 0; i < n; i++)
			link_event(ev[i].data.ptr, ev[i].events);
		look_around();
		if (now() - all.last > PATIENCE)
			wrong("nothing happens: %lu ready, %lu done, %lu closed",
			      all.ready, all.done, all.closed);
	}
	say("connections=%lu octets=%llu seconds=%.1f", all.closed, all.octets,
	    now() - begun);
	return 0;
}
