// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A seed, done on a socket. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define FRAME_MS	100	/* for the other side's frame */
#define SEND_MS		500	/* for the other side's window */
#define PIECES		400	/* in one push */
#define PAUSE_MS	30

int patience = 120000;

long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static bool is_over(const struct play *p)
{
	return p->reset || p->lost || p->fin;
}

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
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
static bool pump(struct play *p, short what, long until)
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

static void sent(struct play *p, const uint8_t *octets, size_t n)
{
	if (n > OUT_SPACE - p->nr_out) {
		p->lost_track = true;
		return;
	}
	memcpy(p->out + p->nr_out, octets, n);
	p->nr_out += n;
}

static void send_piece(struct play *p, const uint8_t *octets, size_t len)
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
static void spill_drain(struct play *p)
{
	static __thread uint8_t octets[4096];

	while (recv(p->spill[1], octets, sizeof(octets), MSG_DONTWAIT) > 0)
		;
}

/*
 * Sends of a thread use consecutive memory, even on different sockets, and TCP
 * merges adjacent octets. Use up some memory between two sends.
 */
static void send_apart(struct play *p)
{
	static const uint8_t octets[16];

	if (send(p->spill[0], octets, sizeof(octets),
		 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		spill_drain(p);
}

static void pause_ms(struct play *p, uint32_t ms)
{
	long until = now_ms() + at_most(ms, PAUSE_MS);

	while (now_ms() < until && pump(p, 0, until))
		;
}

/*
 * A socket under repair queues octets as if they had been sent. So they are
 * lost, octets after them are received after a hole, and TCP retransmits them.
 */
static void send_lost(struct play *p, const uint8_t *octets, size_t len)
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

/*
 * The beginning may be lost. Then the rest goes in two pieces at most: three
 * duplicate ACKs would fill the hole before MPA looks past it.
 */
static void do_push(struct play *p, const uint32_t *arg)
{
	size_t at = 0, n, piece = arg[0], pieces = 0;

	if (arg[2] && arg[2] < p->nr_pending) {
		send_lost(p, p->pending, arg[2]);
		at = arg[2];
		n = (p->nr_pending - at + 1) / 2;
		if (piece && piece < n)
			piece = n;
	}
	for (; at < p->nr_pending; at += n) {
		n = p->nr_pending - at;
		if (piece && n > piece && ++pieces < PIECES)
			n = piece;
		send_piece(p, p->pending + at, n);
		if (arg[3])
			send_apart(p);
		if (arg[1] && pieces < 20)
			pause_ms(p, arg[1]);
	}
	if (arg[3])
		spill_drain(p);
	p->nr_pending = 0;
}

/* Putting octets together */

static void append(struct play *p, const uint8_t *octets, size_t n)
{
	n = at_most(n, OUT_SPACE - p->nr_pending);
	memcpy(p->pending + p->nr_pending, octets, n);
	p->nr_pending += n;
}

static void put16(uint8_t *to, uint16_t value)
{
	to[0] = value >> 8;
	to[1] = value;
}

static void do_frame(struct play *p, const uint32_t *arg)
{
	uint32_t pd = at_most(arg[3], 65535), len = 20;
	bool enhanced = arg[6] || arg[7];
	uint8_t *octets = p->built;

	memcpy(octets, arg[0] ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	if (arg[5])
		octets[(arg[5] - 1) % 16] ^= 1 << arg[5] / 16 % 8;
	octets[16] = arg[1];
	octets[17] = arg[2];
	put16(octets + 18, pd + 4 * enhanced + arg[4]);
	if (enhanced) {
		put16(octets + 20, arg[6]);
		put16(octets + 22, arg[7]);
		len += 4;
	}
	memset(octets + len, 0xa5, pd);
	append(p, octets, len + pd);
}

static void put32(uint8_t *to, uint32_t value)
{
	put16(to, value >> 16);
	put16(to + 2, value);
}

/* DDP segments: T, L and the version; RDMAP's version and opcode; queue */
static const struct {
	uint8_t	ddp;
	uint8_t	rdmap;
	uint8_t	queue;
} kinds[] = {
	{ 0x41, 0x43, 0 }, { 0x01, 0x43, 0 }, { 0xc1, 0x40, 0 },
	{ 0x41, 0x41, 1 }, { 0xc1, 0x42, 0 }, { 0x41, 0x47, 2 },
	{ 0x41, 0x44, 0 }, { 0x81, 0x40, 0 },
};

#define DDP_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* Returns the octets of the header. */
static size_t ddp_header(uint8_t *to, uint32_t kind, uint32_t msn)
{
	kind = (kind - 1) % DDP_KINDS;
	memset(to, 0, 46);
	to[0] = kinds[kind].ddp;
	to[1] = kinds[kind].rdmap;
	put32(to + 2, 1);
	if (to[0] & 0x80)
		return 14;
	put32(to + 6, kinds[kind].queue);
	put32(to + 10, kinds[kind].queue ? 1 : msn);
	if (kinds[kind].queue != 1)
		return 18;
	put32(to + 18, 1);
	put32(to + 30, 64);
	put32(to + 34, 2);
	return 46;
}

static void make_ulpdu(struct play *p, const uint32_t *arg)
{
	size_t size = at_most(arg[0], ULPDU_SPACE), head = 0;
	struct fpdu *f = &p->fpdu;

	fpdu_pattern(f, p->fpdus, size);
	if (arg[2])
		head = ddp_header(f->ulpdu, arg[2], p->fpdus + 1);
	if (f->len < head)
		f->len = head;
	if (arg[2] % 16 == 4)
		f->len = head;
	if (arg[8] && f->len)
		f->ulpdu[arg[7] % f->len] ^= arg[8];
}

/* As fpdu_init(), but for the octets, which are many */
static void begin_fpdu(struct fpdu *f)
{
	memset(&f->len, 0, sizeof(*f) - offsetof(struct fpdu, len));
	f->stated = -1;
	f->which = -1;
	f->ptr = -1;
}

static void put_fpdu(struct play *p, uint32_t lie, uint32_t crc)
{
	struct fpdu *f = &p->fpdu;

	if (lie)
		f->stated = (f->len + lie) & 0xffff;
	f->crc_bad = crc % 4 == 1;
	f->crc_given = crc % 4 == 2;
	append(p, p->built, fpdu_build(&p->to, f, p->built));
	p->fpdus++;
}

static void do_fpdu(struct play *p, const uint32_t *arg)
{
	uint32_t i, n = at_most(arg[1], 40);

	for (i = 0; i < n && p->nr_pending < OUT_SPACE / 2; i++) {
		begin_fpdu(&p->fpdu);
		make_ulpdu(p, arg);
		p->fpdu.ptr_add = arg[5];
		p->fpdu.pad = arg[6];
		p->fpdu.reserved = arg[9];
		p->fpdu.which = (long)arg[10] - 1;
		put_fpdu(p, arg[3], arg[4]);
	}
}

/* Take the next FPDU of the other side into @f, if it is there and good. */
static bool next_fpdu(struct play *p, struct fpdu *f)
{
	u32 len, size;

	if (mpa_ref_decode(p->in + p->taken, p->nr_in - p->taken, p->from.pos,
			   p->from.markers, false, f->ulpdu, &len, &size))
		return false;
	f->len = len;
	p->from.pos += size;
	p->taken += size;
	return true;
}

static void do_echo(struct play *p, const uint32_t *arg)
{
	uint32_t i, n = at_most(arg[0], 100);
	long until = now_ms() + FRAME_MS;

	if (!p->settled)
		return;
	for (i = 0; i < n && p->nr_pending < OUT_SPACE / 2; i++) {
		begin_fpdu(&p->fpdu);
		while (!next_fpdu(p, &p->fpdu))
			if (!pump(p, 0, until))
				return;
		p->fpdu.ptr_add = arg[3];
		put_fpdu(p, arg[2], arg[1]);
	}
}

static void do_raw(struct play *p, const uint32_t *arg)
{
	uint32_t i, n = at_most(arg[1], 70000), state = arg[0] | 1;
	uint8_t octet = arg[0];

	for (i = 0; i < n; i++) {
		state = state * 1664525 + 1013904223;
		if (arg[2])
			octet = state >> 24;
		append(p, &octet, 1);
	}
}

/* Operations on pending octets */

static void do_set(struct play *p, const uint32_t *arg)
{
	if (p->nr_pending >= 2)
		put16(p->pending + arg[0] % (p->nr_pending - 1), arg[1]);
}

static void do_flip(struct play *p, const uint32_t *arg)
{
	if (p->nr_pending)
		p->pending[arg[0] % p->nr_pending] ^= 1 << arg[1] % 8;
}

static void do_dup(struct play *p, const uint32_t *arg)
{
	size_t at, n;

	if (!p->nr_pending)
		return;
	at = arg[0] % p->nr_pending;
	n = at_most(arg[1], p->nr_pending - at);
	if (n <= OUT_SPACE / 2 && at + n <= OUT_SPACE - p->nr_pending)
		append(p, p->pending + at, n);
}

static void do_swap(struct play *p, const uint32_t *arg)
{
	size_t at, n, i;
	uint8_t octet;

	if (p->nr_pending < 2)
		return;
	at = arg[0] % (p->nr_pending - 1);
	n = at_most(arg[1] ? arg[1] : 1, (p->nr_pending - at) / 2);
	for (i = at; i < at + n; i++) {
		octet = p->pending[i];
		p->pending[i] = p->pending[i + n];
		p->pending[i + n] = octet;
	}
}

/* The other side's frame, and the ends */

/*
 * Set the terms that both frames negotiate: RFC 5044 section 7.1.1, and
 * Appendix C for a Rev 0 peer, which sends markers in any case. The kernel's
 * Request comes before our Reply.
 */
static void settle(struct play *p)
{
	const uint8_t *ours = p->out, *theirs = p->in;
	bool rev0, listens = setups[p->seed->setup].listens;
	size_t len = 20;

	if (p->settled || p->nr_in < len)
		return;
	len += theirs[18] << 8 | theirs[19];
	if (p->nr_in < len || p->nr_out < 20)
		return;
	rev0 = !theirs[17] || !ours[17];
	p->settled = true;
	p->to.markers = theirs[16] & FLAG_M || rev0;
	p->from.markers = ours[16] & FLAG_M ||
			  (listens && theirs[17] < ours[17]);
	p->to.crc = theirs[16] & FLAG_C || ours[16] & FLAG_C || rev0;
	p->from.crc = p->to.crc;
	p->taken = len;
}

/* A Request is nothing to wait for longer; a Reply settles it. */
static bool has_frame(struct play *p)
{
	settle(p);
	return p->settled || (!setups[p->seed->setup].listens &&
			      p->nr_in >= 20);
}

static void do_await(struct play *p)
{
	long until = now_ms() + FRAME_MS;

	while (!has_frame(p) && pump(p, 0, until))
		;
}

static void do_take(struct play *p, const uint32_t *arg)
{
	long until = now_ms() + at_most(arg[1], 200);
	size_t wanted = p->nr_in + at_most(arg[0], 100000);

	while (p->nr_in < wanted && pump(p, 0, until))
		;
}

static void do_urgent(struct play *p, const uint32_t *arg)
{
	uint8_t octet = arg[0];

	p->urgent = true;
	if (send(p->fd, &octet, 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
		sent(p, &octet, 1);
}

static void do_fin(struct play *p)
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
	return info.tcpi_state != TCP_LAST_ACK && info.tcpi_state != TCP_CLOSING;
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

static void do_rst(struct play *p)
{
	p->reset = true;
	close_with(p, true);
}

static void do_step(struct play *p, const struct step *step)
{
	const uint32_t *arg = step->arg;

	switch (step->op) {
	case OP_FRAME:
		do_frame(p, arg);
		break;
	case OP_FPDU:
		do_fpdu(p, arg);
		break;
	case OP_ECHO:
		do_echo(p, arg);
		break;
	case OP_RAW:
		do_raw(p, arg);
		break;
	case OP_SET:
		do_set(p, arg);
		break;
	case OP_FLIP:
		do_flip(p, arg);
		break;
	case OP_CUT:
		p->nr_pending -= at_most(arg[0], p->nr_pending);
		break;
	case OP_DUP:
		do_dup(p, arg);
		break;
	case OP_SWAP:
		do_swap(p, arg);
		break;
	case OP_PUSH:
		do_push(p, arg);
		settle(p);
		break;
	case OP_AWAIT:
		do_await(p);
		break;
	case OP_TAKE:
		do_take(p, arg);
		break;
	case OP_PAUSE:
		pause_ms(p, arg[0]);
		break;
	case OP_URGENT:
		do_urgent(p, arg);
		break;
	case OP_DEAF:
		p->deaf = true;
		break;
	case OP_FIN:
		do_fin(p);
		break;
	case OP_RST:
		do_rst(p);
		break;
	case OP_SILENCE:
		p->silent = true;
		break;
	case OPS:
		break;
	}
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
		do_fin(p);
	if (wait_end(p))
		return NULL;
	if (p->silent && !p->shut && p->nr_in >= 20) {
		do_fin(p);
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
		do_step(p, &seed->step[i]);
	if (!p->reset)
		wrong = finish(p);
	settle(p);
	close_with(p, wrong);
	return wrong;
}
