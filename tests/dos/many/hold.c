// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Peers that make no progress: their Request is never complete, or they never
 * read. A line each second says how they are.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"

static bool second_over(void)
{
	static double told;

	if (now() - told < 1 && !told_to_stop())
		return false;
	told = now();
	return true;
}

/* Requests that are never complete */

static struct pollfd *held;
static unsigned long opened, gone;

/* From no octet at all to all but one; or a header that announces a lot */
static void send_part(int fd, unsigned long id)
{
	uint8_t frame[FRAME_LEN];
	size_t len = id % FRAME_LEN;

	make_frame(frame, false, NULL, 0);
	if (number("rev0", 0)) {
		frame[17] = 0;
		frame[18] = 255;
		frame[19] = 255;
		len = FRAME_LEN;
	}
	/* Fails if the server has reset it already: poll() will say so. */
	(void)!send(fd, frame, len, MSG_NOSIGNAL);
}

static void hold_open(struct pollfd *p)
{
	unsigned long id = opened++;

	p->events = POLLIN;
	p->fd = server_connect(id);
	if (p->fd < 0)
		gone++;
	else
		send_part(p->fd, id);
}

/* The server has ended some, or has none to end for a while. */
static void hold_look(unsigned long nr)
{
	unsigned long i;

	poll(held, nr, 200);
	for (i = 0; i < nr; i++) {
		if (held[i].fd >= 0 && held[i].revents) {
			close(held[i].fd);
			held[i].fd = -1;
			gone++;
		}
		if (held[i].fd < 0 && number("again", 0))
			hold_open(&held[i]);
	}
}

int hold_main(void)
{
	unsigned long i, nr = number("connections", 1);

	held = zeroed(nr, sizeof(*held));
	for (i = 0; i < nr; i++)
		hold_open(&held[i]);
	while (!told_to_stop()) {
		hold_look(nr);
		if (second_over())
			say("connected=%lu opened=%lu gone=%lu", opened - gone,
			    opened, gone);
	}
	return 0;
}

/* FPDUs without end, whose echoes are not read */

static int *fds;
static size_t *sent;			/* octets of the FPDU under way */
static uint8_t fpdu[FPDU_MAX(ULPDU_MAX)];
static size_t fpdu_len;
static unsigned long long taken;	/* octets, by TCP */

static int flood_open(unsigned long id)
{
	uint8_t frame[FRAME_LEN];
	int fd = server_connect(id);

	if (fd < 0 ||
	    send(fd, frame, make_frame(frame, false, NULL, 0), 0) != FRAME_LEN ||
	    recv(fd, frame, FRAME_LEN, MSG_WAITALL) != FRAME_LEN)
		wrong("connection %lu: no Reply", id);
	return fd;
}

/* Returns false if TCP takes no more of them, or they are at the stop. */
static bool flood_send(unsigned long i)
{
	size_t left = number("stop", fpdu_len) - sent[i];
	size_t piece = number("piece", 0);
	ssize_t n;

	n = send(fds[i], fpdu + sent[i], piece && piece < left ? piece : left,
		 MSG_NOSIGNAL | MSG_DONTWAIT | (piece ? MSG_EOR : 0));
	if (n < 0 && errno != EAGAIN)
		wrong("connection %lu: send: %s", i, strerror(errno));
	if (n <= 0)
		return false;
	taken += n;
	sent[i] += n;
	if (sent[i] == fpdu_len)
		sent[i] = 0;
	return true;
}

static void flood(unsigned long nr)
{
	double last = now();
	unsigned long i, stuck;

	while (!told_to_stop()) {
		for (stuck = 0, i = 0; i < nr; i++) {
			if (!flood_send(i)) {
				stuck++;
				continue;
			}
			while (flood_send(i))
				;
			last = now();
		}
		if (second_over())
			say("stuck=%lu octets=%llu still=%.0f", stuck, taken,
			    now() - last);
		sleep_ms(20);
	}
}

int flood_main(void)
{
	unsigned long i, nr = number("connections", 1);
	static uint8_t ulpdu[ULPDU_MAX];
	size_t size = number("size", 1024);

	if (!size || size > sizeof(ulpdu))
		misused("size is 1 to %zu", sizeof(ulpdu));
	fpdu_len = make_fpdu(fpdu, ulpdu, size);
	fds = zeroed(nr, sizeof(*fds));
	sent = zeroed(nr, sizeof(*sent));
	for (i = 0; i < nr; i++)
		fds[i] = flood_open(i);
	flood(nr);
	return 0;
}
