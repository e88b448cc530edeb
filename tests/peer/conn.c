// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Octets: how they are split on sending, receiving, and the end. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

/* Between pieces that have to arrive separately */
#define PIECE_MS	2

void sleep_ms(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

const char *ending_name(enum ending ending)
{
	static const char * const names[] = { "open", "fin", "reset", "gone" };

	return names[ending];
}

/* Each send is a segment of its own, and each wait has a timeout. */
void conn_init(struct conn *c, int fd, int timeout)
{
	struct timeval tv = { timeout / 1000, timeout % 1000 * 1000 };
	int one = 1;

	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->timeout = timeout;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

void conn_close(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->ended = GONE;
}

void conn_act(struct conn *c, enum action action)
{
	struct linger linger = { 1, 0 };

	if (c->fd < 0)
		return;
	if (action == SEND_FIN)
		shutdown(c->fd, SHUT_WR);
	if (action != SEND_RST)
		return;
	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	conn_close(c);
}

/* A reset shows here, too; octets received before can still be read. */
static void conn_send_now(struct conn *c, const uint8_t *octets, size_t len)
{
	ssize_t n;

	for (; len && !c->reset; octets += n, len -= n) {
		n = send(c->fd, octets, len, MSG_NOSIGNAL);
		if (n < 0 && (errno == ECONNRESET || errno == EPIPE)) {
			c->reset = true;
			return;
		}
		if (n < 0)
			wrong("send: %s", strerror(errno));
		c->sent += n;
	}
}

static void conn_reach_limit(struct conn *c)
{
	c->cut = true;
	conn_act(c, c->at_limit);
}

/* As far as the limit lets it */
static void conn_send_piece(struct conn *c, const uint8_t *octets, size_t len)
{
	if (c->cut)
		return;
	if (!c->limited || c->sent + len < c->limit) {
		conn_send_now(c, octets, len);
		return;
	}
	conn_send_now(c, octets, c->limit - c->sent);
	conn_reach_limit(c);
}

static void conn_send_pieces(struct conn *c, const uint8_t *octets, size_t len,
			     size_t first, size_t rest)
{
	size_t n;

	for (n = first; len; octets += n, len -= n, n = rest) {
		if (n > len)
			n = len;
		conn_send_piece(c, octets, n);
		if (n < len)
			sleep_ms(PIECE_MS);
	}
}

static void conn_hold(struct conn *c, const uint8_t *octets, size_t len)
{
	if (len > sizeof(c->held) - c->held_len)
		misused("too much to hold back");
	memcpy(c->held + c->held_len, octets, len);
	c->held_len += len;
}

void conn_send(struct conn *c, const uint8_t *octets, size_t len)
{
	if (c->holding)
		conn_hold(c, octets, len);
	else if (c->dribble)
		conn_send_pieces(c, octets, len, 1, 1);
	else
		conn_send_pieces(c, octets, len, c->split ? c->split : len,
				 len);
	if (!c->holding)
		c->split = 0;
}

/* Held octets go in one piece, unless they are to be split. */
void conn_push(struct conn *c)
{
	c->holding = false;
	conn_send(c, c->held, c->held_len);
	c->held_len = 0;
}

/* @limit octets more */
void conn_limit(struct conn *c, size_t limit, enum action action)
{
	c->limited = true;
	c->limit = c->sent + limit;
	c->at_limit = action;
	if (!limit)
		conn_reach_limit(c);
}

static void conn_receive(struct conn *c)
{
	ssize_t n;

	if (c->in_from == c->in_to) {
		c->in_from = 0;
		c->in_to = 0;
	}
	if (c->in_to == sizeof(c->in))
		return;
	n = recv(c->fd, c->in + c->in_to, sizeof(c->in) - c->in_to, 0);
	if (n > 0)
		c->in_to += n;
	else if (!n)
		c->ended = c->reset ? RESET : FIN;
	else if (errno == ECONNRESET || errno == EPIPE || errno == ETIMEDOUT)
		c->ended = RESET;
	else
		wrong("recv: %s", strerror(errno));
}

/* True if octets came, or the other side ended it, within @ms */
bool conn_wait(struct conn *c, int ms)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
	long left, until = now_ms() + ms;

	while (c->in_from == c->in_to && c->ended == OPEN) {
		left = until - now_ms();
		if (poll(&pfd, 1, left > 0 ? left : 0) > 0)
			conn_receive(c);
		else if (left <= 0)
			return false;
	}
	return true;
}

/* Returns fewer than @len octets at the end of the stream, or of the time. */
size_t conn_read(struct conn *c, uint8_t *to, size_t len)
{
	size_t have = 0, n;

	while (have < len && conn_wait(c, c->timeout)) {
		n = c->in_to - c->in_from;
		if (!n)
			break;
		if (n > len - have)
			n = len - have;
		memcpy(to + have, c->in + c->in_from, n);
		c->in_from += n;
		have += n;
	}
	return have;
}
