// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Time of messages of 64 KB over a TCP connection of this machine, sent and
 * received by one thread: without CRC; with one digest for the message, as
 * NVMe over TCP has (E of the benchmark); and as FPDUs that fill the EMSS, with
 * CRC (C). The ways take turns, so that what else runs here slows all of them.
 *
 * The framing is MPA's own, as of a message with a template. What the receiver
 * has is verified in its buffer, and not copied from there: in the kernel, too,
 * octets are copied once after TCP.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/uio.h>
#include <unistd.h>
#include "mpa_fpdu.h"
#include "mpa_wire.h"
#include "native.h"
#include "sweep.h"

enum {
	HEADER		= 18,		/* of an untagged DDP segment */
	COUNT_AT	= 14,		/* its message offset */
	TIMESTAMPS	= 12,		/* octets of TCP's option */
	MESSAGE		= 65536,
	FPDUS		= 64,		/* of a message, at most */
	ROOM		= 2 * MESSAGE,
	SOCKBUF		= 4 * MESSAGE,
	MESSAGES	= 8,		/* of a way in its turn */
	TURNS		= 201,
};

struct way {
	const char	*what;
	void		(*send)(void);
	void		(*receive)(void);
};

static int tx = -1, rx = -1;
static u32 emss;
static u64 tx_pos, rx_pos;
static u8 message[MESSAGE], place[ROOM];
static u8 around[FPDUS * 2 * HEADER];

static void die(const char *what)
{
	fprintf(stderr, "loopback: %s: %m\n", what);
	exit(1);
}

static void put(struct kvec *v, u32 nr, size_t len)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)v, .msg_iovlen = nr };

	if (sendmsg(tx, &msg, 0) != (ssize_t)len)
		die("sendmsg");
}

static void take(size_t len)
{
	if (recv(rx, place, len, MSG_WAITALL) != (ssize_t)len)
		die("recv");
}

static void send_plain(void)
{
	put(&(struct kvec) { message, MESSAGE }, 1, MESSAGE);
}

static void receive_plain(void)
{
	take(MESSAGE);
}

static void send_digest(void)
{
	u32 crc = crc32c(~0, message, MESSAGE);
	struct kvec v[] = { { message, MESSAGE }, { &crc, sizeof(crc) } };

	put(v, 2, MESSAGE + sizeof(crc));
}

static void receive_digest(void)
{
	u32 crc;

	take(MESSAGE + sizeof(crc));
	memcpy(&crc, place + MESSAGE, sizeof(crc));
	if (crc != crc32c(~0, place, MESSAGE))
		die("the digest is wrong");
}

/* Octets of the message in an FPDU that fills the EMSS */
static u32 whole(void)
{
	return mpa_fpdu_fill(0, emss, false) - HEADER;
}

static u32 framed(void)
{
	u32 rest = MESSAGE % whole();

	return MESSAGE / whole() * emss +
	       (rest ? mpa_fpdu_size(0, HEADER + rest, false) : 0);
}

static void send_fpdus(void)
{
	static const struct mpa_template template = {
		.count_at = COUNT_AT, .count_size = sizeof(u32), .last = 0x40,
	};
	struct mpa_cut cut = { .template = &template, .hdr_len = HEADER };
	struct kvec v = { message, MESSAGE }, pieces[3 * FPDUS];
	struct iov_iter data = { .kvec = &v, .nr_segs = 1, .count = MESSAGE };
	struct mpa_enc enc = {
		.pos = tx_pos, .crc = true,
		.kv = pieces, .kv_next = pieces, .kv_end = pieces + 3 * FPDUS,
		.buf = around, .buf_end = around + sizeof(around),
	};
	u32 nr = MESSAGE / whole(), rest = MESSAGE % whole();

	if (mpa_fpdu_gather_run(&enc, &cut, &data, whole(), nr) != nr)
		die("gather");
	if (rest) {
		mpa_cut_count(&cut, cut.hdr);
		cut.hdr[0] |= template.last;
		if (mpa_fpdu_gather(&enc, cut.hdr, HEADER, &data, rest))
			die("gather the last");
	}
	put(pieces, enc.kv_next - pieces, framed());
	tx_pos = enc.pos;
}

static void receive_fpdus(void)
{
	struct kvec v = { place, framed() };
	struct mpa_octets in = { .v = &v, .nr = 1, .len = framed() };
	struct mpa_ulpdu ulpdu[FPDUS];
	struct kvec frag[FPDUS];
	struct mpa_dec dec = {
		.pos = rx_pos, .crc = true, .frag = frag, .max_frags = FPDUS,
	};
	u64 end = rx_pos + in.len;
	u32 nr;

	take(framed());
	if (mpa_fpdu_decode_run(&dec, &in, end, ulpdu, FPDUS, &nr) ||
	    nr != DIV_ROUND_UP(MESSAGE, whole()))
		die("an FPDU is wrong");
	rx_pos = dec.pos;
}

static const struct way ways[] = {
	{ "loopback-tcp", send_plain, receive_plain },
	{ "loopback-tcp-crc", send_digest, receive_digest },
	{ "loopback-mpa-crc", send_fpdus, receive_fpdus },
};

#define WAYS	(sizeof(ways) / sizeof(*ways))

static void set(int sock, int level, int name, int val)
{
	if (setsockopt(sock, level, name, &val, sizeof(val)))
		die("setsockopt");
}

/* Segments of the EMSS, and room for a message whose receiver comes later */
static int make(void)
{
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	if (sock < 0)
		die("socket");
	set(sock, SOL_SOCKET, SO_SNDBUF, SOCKBUF);
	set(sock, SOL_SOCKET, SO_RCVBUF, SOCKBUF);
	set(sock, IPPROTO_TCP, TCP_MAXSEG, emss + TIMESTAMPS);
	return sock;
}

static void open_pair(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);
	int listener = make();

	tx = make();
	if (bind(listener, (void *)&addr, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&addr, &len) ||
	    connect(tx, (void *)&addr, len))
		die("connect");
	rx = accept(listener, NULL, NULL);
	if (rx < 0)
		die("accept");
	set(tx, IPPROTO_TCP, TCP_NODELAY, 1);
	close(listener);
}

/* ns for a message */
static u64 turn(const struct way *way)
{
	u64 start = native_now();
	int i;

	for (i = 0; i < MESSAGES; i++) {
		way->send();
		way->receive();
	}
	return (native_now() - start) / MESSAGES;
}

static void measure(double *median)
{
	static u64 ns[WAYS][TURNS];
	unsigned int way;
	int i;

	for (i = -1; i < TURNS; i++)		/* the first is to warm up */
		for (way = 0; way < WAYS; way++)
			ns[way][max(i, 0)] = turn(&ways[way]);
	for (way = 0; way < WAYS; way++)
		median[way] = native_median(ns[way], TURNS);
}

void loopback_run(int run)
{
	static const u32 mss[] = { 1448, 8948 };
	double ns[WAYS];
	unsigned int i, way;

	for (i = 0; i < sizeof(message); i++)
		message[i] = i * 7 ^ i >> 8;
	for (i = 0; i < 2; i++) {
		emss = mss[i];
		open_pair();
		measure(ns);
		close(tx);
		close(rx);
		for (way = 0; way < WAYS; way++)
			native_row(ways[way].what, emss, "contiguous", run,
				   ns[way]);
		fprintf(stderr, "C/E at an EMSS of %u: %.3f\n", emss,
			ns[2] / ns[1]);
	}
}
