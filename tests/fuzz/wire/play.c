// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A seed, done on a socket. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

#define SEND_MS		500	/* for the other side's window */
#define PAUSE_MS	30

int patience = 120000;

static bool is_over(const struct play *p)
{
	return p->reset || p->lost || p->fin;
}

/* Receiving */

/* Octets that do not fit are read and dropped, so that the connection ends. */
static ssize_t read_some(struct play *p)
{
	static __thread uint8_t dropped[65536];
	size_t room = IN_SPACE - p->nr_in;
	ssize_t n;

	if (!room)
		return recv(p->fd, dropped, sizeof(dropped), MSG_DONTWAIT);
	n = recv(p->fd, p->in + p->nr_in, room, MSG_DONTWAIT);
	if (n > 0)
		p->nr_in += n;
	return n;
}

/* Read all octets available now */
static void read_all(struct play *p)
{
	ssize_t n = 1;

	if (p->deaf)
		return;
	while (n > 0)
		n = read_some(p);
	if (!n)
		p->fin = true;
	else if (errno != EAGAIN)
		p->lost = true;
}

/* Wait for anything, and read it; returns false when the time was over. */
bool pump(struct play *p, short what, long until)
{
	struct pollfd pfd = { p->fd, what | (p->deaf ? 0 : POLLIN), 0 };
	long left = until - now_ms();
	int n;

	if (is_over(p) || left < 0)
		return false;
	n = poll(&pfd, 1, left);
	if (n > 0 && pfd.revents & (POLLIN | POLLERR | POLLHUP)) {
		if (p->deaf && pfd.revents & (POLLERR | POLLHUP))
			p->lost = true;
		read_all(p);
	}
	return n > 0;
}

/* Sending */

void sent(struct play *p, const uint8_t *octets, size_t n)
{
	if (n > OUT_SPACE - p->nr_out) {
		p->lost_track = true;
		return;
	}
	memcpy(p->out + p->nr_out, octets, n);
	p->nr_out += n;
}

void send_piece(struct play *p, const uint8_t *octets, size_t len)
{
	long until = now_ms() + SEND_MS;
	ssize_t n;

	while (len && !p->reset && !p->lost && !p->shut) {
		n = send(p->fd, octets, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			sent(p, octets, n);
			octets += n;
			len -= n;
		} else if (errno != EAGAIN) {
			p->lost = errno == ECONNRESET || p->lost;
			p->lost_track = true;
			read_all(p);
			return;
		} else if (!pump(p, POLLOUT, until)) {
			p->lost_track = true;
			return;
		}
	}
}

/* Each octet left in the socket pins the 32 KB page fragment it is in. */
void spill_drain(struct play *p)
{
	static __thread uint8_t octets[4096];

	while (recv(p->spill[1], octets, sizeof(octets), MSG_DONTWAIT) > 0)
		;
}

/*
 * Sends of a thread use consecutive memory, even on different sockets, and TCP
 * merges adjacent octets. Use up some memory between two sends.
 */
void send_apart(struct play *p)
{
	static const uint8_t octets[16];

	if (send(p->spill[0], octets, sizeof(octets),
		 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		spill_drain(p);
}

void pause_ms(struct play *p, uint32_t ms)
{
	long until = now_ms() + (ms < PAUSE_MS ? ms : PAUSE_MS);

	while (now_ms() < until && pump(p, 0, until))
		;
}

/*
 * A socket under repair queues octets as if they had been sent. So they are
 * lost, octets after them are received after a hole, and TCP retransmits them.
 */
void send_lost(struct play *p, const uint8_t *octets, size_t len)
{
	const int on = 1, queue = TCP_SEND_QUEUE, off = -1;

	setsockopt(p->fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on));
	setsockopt(p->fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue,
		   sizeof(queue));
	send_piece(p, octets, len);
	setsockopt(p->fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off));
	/* That went with it. */
	setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

/* The ends */

void end_with_fin(struct play *p)
{
	if (!p->reset && !p->shut)
		shutdown(p->fd, SHUT_WR);
	p->shut = true;
}

/* In these states Linux closes a socket without sending an RST. */
static bool says_rst(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	return info.tcpi_state != TCP_LAST_ACK &&
	       info.tcpi_state != TCP_CLOSING;
}

static void close_with(struct play *p, bool rst)
{
	struct linger linger = { 1, 0 };

	if (p->fd < 0)
		return;
	if (rst && says_rst(p->fd))
		setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &linger,
			   sizeof(linger));
	close(p->fd);
	p->fd = -1;
}

void end_with_rst(struct play *p)
{
	p->reset = true;
	close_with(p, true);
}

/*
 * Set the terms that both frames negotiate: RFC 5044 section 7.1.1, and
 * Appendix C for a Rev 0 peer, which sends markers in any case. The kernel's
 * Request comes before our Reply.
 */
void settle(struct play *p)
{
	const uint8_t *ours = p->out, *theirs = p->in;
	bool rev0, listens = setups[p->seed->setup].listens;

	if (p->settled || p->nr_in < FRAME_LEN || p->nr_out < FRAME_LEN ||
	    p->nr_in < frame_len(theirs))
		return;
	rev0 = !theirs[17] || !ours[17];
	p->settled = true;
	p->to.markers = theirs[16] & FLAG_M || rev0;
	p->from.markers = ours[16] & FLAG_M ||
			  (listens && theirs[17] < ours[17]);
	p->to.crc = theirs[16] & FLAG_C || ours[16] & FLAG_C || rev0;
	p->from.crc = p->to.crc;
	p->taken = frame_len(theirs);
}

/* Returns whether it is over. */
static bool wait_end(struct play *p)
{
	long late = now_ms() + patience / 2;

	while (pump(p, 0, late))
		;
	if (is_over(p))
		return true;
	space_show("the other side does not end it");
	while (pump(p, 0, late + patience / 2))
		;
	return is_over(p);
}

/*
 * Our FIN makes the other side close, in any state. Without it the other side
 * would stay silent forever in full operation, so silence applies to startup.
 */
static const char *finish(struct play *p)
{
	p->deaf = false;
	if (!p->silent || p->settled)
		end_with_fin(p);
	if (wait_end(p))
		return NULL;
	if (p->silent && !p->shut && p->nr_in >= FRAME_LEN) {
		end_with_fin(p);
		if (wait_end(p))
			return NULL;
	}
	return "the other side does not end it";
}

static void begin(struct play *p, const struct seed *seed, int fd)
{
	const struct setup *setup = &setups[seed->setup];
	int one = 1;

	memset(&p->nr_pending, 0, offsetof(struct play, pending) -
	       offsetof(struct play, nr_pending));
	p->seed = seed;
	p->fd = fd;
	p->to = (struct stream) { .crc = true, .markers = setup->immediate };
	p->from = p->to;
	p->settled = setup->immediate;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Closes @fd. Returns NULL, or a violation by the other side. */
const char *play_run(struct play *p, const struct seed *seed, int fd)
{
	const char *wrong = NULL;
	int i;

	begin(p, seed, fd);
	for (i = 0; i < seed->nr && !p->reset; i++)
		ops[seed->step[i].op].run(p, &seed->step[i]);
	if (!p->reset)
		wrong = finish(p);
	settle(p);
	close_with(p, wrong);
	return wrong;
}
