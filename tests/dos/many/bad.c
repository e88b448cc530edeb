// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Peers that take and do not give: never ready, never reading, ever so slow. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"

#define IN_FLIGHT	256	/* connections that are being made */

struct bad {
	int		fd;
	unsigned long	id;
	bool		connected;
	bool		asked;
	bool		stuck;
	size_t		done;		/* octets sent, or of the FPDU */
	size_t		in;		/* octets of the Reply */
};

static struct {
	int		epoll;
	unsigned long	opened;
	unsigned long	connected;	/* just now */
	unsigned long	gone;		/* reset, or ended otherwise */
	unsigned long	stuck;
	unsigned long long octets;
	double		last;		/* octets were taken */
} all;

static uint8_t fpdu[FPDU_MAX(64768)];
static size_t fpdu_len;

static void bad_open(struct bad *b)
{
	memset(b, 0, sizeof(*b));
	b->id = all.opened++;
	b->fd = net_connect(b->id);
	epoll_watch(all.epoll, b->fd, b);
}

static void bad_gone(struct bad *b)
{
	all.connected -= b->connected;
	all.stuck -= b->stuck;
	all.gone++;
	close(b->fd);
	b->fd = -1;
	if (number("again", 0))
		bad_open(b);
}

/* Returns false if the connect is not complete or has failed. */
static bool bad_connected(struct bad *b, uint32_t events)
{
	int err = net_error(b->fd);

	if (err && !net_refused(err))
		wrong("connection %lu: %s", b->id, strerror(err));
	if (err || events & (EPOLLHUP | EPOLLRDHUP)) {
		bad_gone(b);
		return false;
	}
	if (!b->connected && events & EPOLLOUT) {
		b->connected = true;
		all.connected++;
	}
	return b->connected;
}

/* From no octet at all to all but one; or a header that promises a lot */
static size_t hold_octets(const struct bad *b, uint8_t *to)
{
	frame_build(to, false, 1, NULL, 0);
	if (!number("rev0", 0))
		return b->id % FRAME;
	to[17] = 0;
	to[18] = 255;
	to[19] = 255;
	return FRAME;
}

static void hold_event(struct bad *b)
{
	uint8_t frame[FRAME];
	size_t len = hold_octets(b, frame);

	if (b->done || !len)
		return;
	b->done = len;
	/* The next event reports a failure */
	send(b->fd, frame, len, MSG_NOSIGNAL);
}

/* Returns whether any octets were taken. */
static bool deaf_send_some(struct bad *b)
{
	size_t stop = number("stop", fpdu_len);
	ssize_t n = net_send(b->fd, fpdu + b->done, stop - b->done,
			     number("piece", 0));

	if (n <= 0)
		return false;
	b->done += n;
	if (b->done == fpdu_len)
		b->done = 0;
	all.octets += n;
	all.last = now();
	return true;
}

static void deaf_send(struct bad *b)
{
	errno = EAGAIN;
	while (deaf_send_some(b))
		;
	if (!b->stuck && errno == EAGAIN) {
		b->stuck = true;
		all.stuck++;
	}
}

/* The Reply is the only thing that it takes */
static void deaf_event(struct bad *b)
{
	uint8_t frame[FRAME];
	ssize_t n;

	if (!b->asked)
		send(b->fd, frame, frame_build(frame, false, 1, NULL, 0),
		     MSG_NOSIGNAL);
	b->asked = true;
	if (b->in < FRAME) {
		n = recv(b->fd, frame, FRAME - b->in, 0);
		b->in += n > 0 ? n : 0;
		if (b->in < FRAME)
			return;
	}
	deaf_send(b);
}

static void bad_say(bool last)
{
	static double told;

	if (!last && now() - told < 1)
		return;
	told = now();
	say("connected=%lu opened=%lu gone=%lu stuck=%lu octets=%llu still=%.0f",
	    all.connected, all.opened, all.gone, all.stuck, all.octets,
	    now() - all.last);
}

static int bad_run(void (*event)(struct bad *b))
{
	unsigned long made = 0, nr = number("connections", 1);
	struct bad *bads = calloc(nr, sizeof(*bads)), *b;
	struct epoll_event ev[64];
	int i, n;

	if (!bads)
		wrong("no memory");
	all.epoll = epoll_new();
	all.last = now();
	while (!told_to_stop()) {
		while (made < nr &&
		       all.opened - all.connected - all.gone < IN_FLIGHT)
			bad_open(&bads[made++]);
		n = epoll_wait(all.epoll, ev, 64, 200);
		for (i = 0; i < n; i++) {
			b = ev[i].data.ptr;
			if (bad_connected(b, ev[i].events))
				event(b);
		}
		bad_say(false);
	}
	bad_say(true);
	return 0;
}

int hold_main(void)
{
	return bad_run(hold_event);
}

int deaf_main(void)
{
	static uint8_t ulpdu[64768];
	size_t size = number("size", 1024);
	struct dice dice;

	if (!size || size > sizeof(ulpdu))
		misused("size is 1 to 64768");
	dice_init(&dice, 1, 0, 0);
	dice_fill(&dice, ulpdu, size);
	fpdu_len = fpdu_build(fpdu, ulpdu, size);
	if (number("stop", 1) > fpdu_len)
		misused("stop is inside the first FPDU");
	return bad_run(deaf_event);
}

/* A connection that waits */
static int drip_connect(void)
{
	int fd = net_connect(0);
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	if (poll(&pfd, 1, 10000) != 1 || net_error(fd))
		wrong("no connection");
	return fd;
}

/* Wait for up to @ms for @len octets; returns how many came, or -errno */
static int drip_read(int fd, uint8_t *to, int len, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int n, done = 0;

	while (done < len && poll(&pfd, 1, ms) == 1) {
		n = recv(fd, to + done, len - done, 0);
		if (n < 0)
			return -errno;
		if (!n)
			return -EPIPE;
		done += n;
	}
	return done;
}

static void drip_startup(int fd)
{
	uint8_t frame[FRAME];

	if (send(fd, frame, frame_build(frame, false, 1, NULL, 0),
		 MSG_NOSIGNAL) != FRAME ||
	    drip_read(fd, frame, FRAME, 10000) != FRAME)
		wrong("no Reply");
}

int drip_main(void)
{
	unsigned long ms = number("ms", 1000);
	uint8_t octets[64], back[64], ulpdu[40] = "drip";
	bool full = number("fpdu", 0);
	int fd = drip_connect();
	int i, len, got = 0;
	double begun;

	if (full)
		drip_startup(fd);
	len = full ? fpdu_build(octets, ulpdu, sizeof(ulpdu)) :
		     frame_build(octets, false, 1, NULL, 0);
	begun = now();
	for (i = 0; i < len && got >= 0; i++) {
		if (send(fd, octets + i, 1, MSG_NOSIGNAL) != 1)
			break;
		got = drip_read(fd, back, i == len - 1 ? len : 1,
				i == len - 1 ? 10000 : (int)ms);
	}
	if (full && (got != len || memcmp(octets, back, len)))
		wrong("octet %d: %d came back", i, got);
	say("octets=%d ms=%.0f back=%d", i, (now() - begun) * 1000, got);
	return 0;
}
