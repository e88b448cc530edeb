// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * net_cut: a middlebox that resegments TCP streams.
 *
 *	net_cut SEED FLIPS DEVICE DEVICE
 *
 * A bridge of two devices. Octets of consecutive segments of a connection are
 * joined as they arrive, and leave in segments of random length, from a single
 * octet to the longest seen in that direction. Sequence numbers do not change.
 * In FLIPS of a million segments a bit of the payload is flipped after the
 * checksum was computed. All other packets pass unchanged. On SIGTERM it prints
 * how many such segments came, and how many it made of them.
 */
#include <arpa/inet.h>
#include <err.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAME_MAX	65536	/* octets put together, headers included */
#define WAIT_MS		2	/* for more to put together */
#define LOOK_MS		1000	/* for the end to come */
#define TINY		16	/* octets of a short piece, at most */

struct segment {
	uint8_t octets[FRAME_MAX];
	size_t ip, tcp, data;	/* where these begin */
	size_t end;
};

/* One way through the box */
struct way {
	int from, to;
	size_t mss;
	bool held;
	struct segment seg;
};

static struct way ways[2];
static uint64_t state;
static uint32_t flips;
static unsigned long came, made;
static volatile sig_atomic_t ending;

static uint32_t random_below(uint32_t limit)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % limit;
}

static struct tcphdr *tcp_of(struct segment *seg)
{
	return (struct tcphdr *)(seg->octets + seg->tcp);
}

static bool is_ipv4(const struct segment *seg)
{
	return seg->octets[seg->ip] >> 4 == 4;
}

static uint32_t sum_of(const uint8_t *octets, size_t len, uint32_t sum)
{
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += octets[i] << 8 | octets[i + 1];
	return len & 1 ? sum + (octets[i] << 8) : sum;
}

static uint16_t sum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

/* Set the lengths and checksums of a segment whose octets have changed */
static void seal(struct segment *seg)
{
	uint8_t *ip = seg->octets + seg->ip;
	size_t len = seg->end - seg->tcp;
	uint32_t pseudo = IPPROTO_TCP + len;
	struct iphdr *v4 = (struct iphdr *)ip;

	if (is_ipv4(seg)) {
		put16(ip + 2, seg->end - seg->ip);
		v4->check = 0;
		v4->check = sum_fold(sum_of(ip, seg->tcp - seg->ip, 0));
		pseudo = sum_of(ip + 12, 8, pseudo);
	} else {
		put16(ip + 4, len);
		pseudo = sum_of(ip + 8, 32, pseudo);
	}
	tcp_of(seg)->check = 0;
	tcp_of(seg)->check = sum_fold(sum_of(ip + seg->tcp - seg->ip, len,
					     pseudo));
}

static void flip(struct segment *seg)
{
	size_t at = seg->data + random_below(seg->end - seg->data);

	seg->octets[at] ^= 1 << random_below(8);
}

/* A device may be down, or a queue full: TCP handles the loss. */
static void forward(struct way *way, const void *octets, size_t len)
{
	(void)!write(way->to, octets, len);
}

static size_t piece_len(const struct way *way, size_t left)
{
	size_t max = random_below(8) ? way->mss : TINY;
	size_t len = 1 + random_below(max);

	return len < left ? len : left;
}

/* Send @len of the held octets, from @off on; @last: up to their end */
static void send_piece(struct way *way, size_t off, size_t len, bool last)
{
	static struct segment piece;
	struct segment *seg = &way->seg;
	struct tcphdr *th;

	piece.ip = seg->ip;
	piece.tcp = seg->tcp;
	piece.data = seg->data;
	piece.end = seg->data + len;
	memcpy(piece.octets, seg->octets, seg->data);
	memcpy(piece.octets + seg->data, seg->octets + seg->data + off, len);
	th = tcp_of(&piece);
	th->seq = htonl(ntohl(th->seq) + off);
	th->psh &= last;
	th->fin &= last;
	seal(&piece);
	if (random_below(1000000) < flips)
		flip(&piece);
	forward(way, piece.octets, piece.end);
	made++;
}

static void flush(struct way *way)
{
	size_t off, len, all = way->seg.end - way->seg.data;

	if (!way->held)
		return;
	way->held = false;
	for (off = 0; off < all; off += len) {
		len = piece_len(way, all - off);
		send_piece(way, off, len, off + len == all);
	}
}

/* Returns the offset of the TCP header, or 0; @end is the end of the packet */
static size_t find_tcp(const struct segment *seg, size_t *end)
{
	const uint8_t *ip = seg->octets + seg->ip;

	if (seg->end < seg->ip + 40)
		return 0;
	if (is_ipv4(seg)) {
		*end = seg->ip + (ip[2] << 8 | ip[3]);
		/* No fragments */
		if (ip[9] != IPPROTO_TCP || ip[6] & 0x3f || ip[7])
			return 0;
		return seg->ip + (ip[0] & 15) * 4;
	}
	*end = seg->ip + 40 + (ip[4] << 8 | ip[5]);
	return ip[0] >> 4 == 6 && ip[6] == IPPROTO_TCP ? seg->ip + 40 : 0;
}

/* True if it has octets of a connection, and no flags that need their place */
static bool has_octets(struct segment *seg)
{
	size_t end = 0;

	seg->ip = ETH_HLEN;
	seg->tcp = find_tcp(seg, &end);
	if (!seg->tcp || end > seg->end ||
	    seg->tcp + sizeof(struct tcphdr) > end)
		return false;
	seg->end = end;
	seg->data = seg->tcp + tcp_of(seg)->doff * 4;
	return seg->data < end && !tcp_of(seg)->syn && !tcp_of(seg)->rst &&
	       !tcp_of(seg)->urg;
}

/* True if @seg begins where @held ends */
static bool goes_on(struct segment *held, struct segment *seg)
{
	uint32_t end = ntohl(tcp_of(held)->seq) + held->end - held->data;
	size_t addresses = is_ipv4(seg) ? 12 : 8;

	return held->data == seg->data && !tcp_of(held)->fin &&
	       ntohl(tcp_of(seg)->seq) == end &&
	       held->end + seg->end - seg->data <= FRAME_MAX &&
	       !memcmp(held->octets + held->ip + addresses,
		       seg->octets + seg->ip + addresses,
		       seg->tcp - seg->ip - addresses + 4);
}

/* Append @seg to the held octets; its header is the newer one. */
static void join(struct segment *held, struct segment *seg)
{
	uint32_t seq = tcp_of(held)->seq;
	size_t len = seg->end - seg->data;

	memcpy(held->octets, seg->octets, seg->data);
	tcp_of(held)->seq = seq;
	memcpy(held->octets + held->end, seg->octets + seg->data, len);
	held->end += len;
}

static void take(struct way *way, struct segment *seg)
{
	if (!has_octets(seg)) {
		flush(way);
		forward(way, seg->octets, seg->end);
		return;
	}
	came++;
	if (seg->end - seg->data > way->mss)
		way->mss = seg->end - seg->data;
	if (way->held && goes_on(&way->seg, seg)) {
		join(&way->seg, seg);
		return;
	}
	flush(way);
	memcpy(&way->seg, seg, sizeof(*seg));
	way->held = true;
}

static void drain(struct way *way)
{
	static struct segment seg;
	ssize_t len;

	while ((len = recv(way->from, seg.octets, FRAME_MAX,
			   MSG_DONTWAIT)) > 0) {
		seg.end = len;
		take(way, &seg);
	}
}

static void set_option(int fd, int level, int option, const void *value,
		       socklen_t len)
{
	if (setsockopt(fd, level, option, value, len))
		err(1, "option %d", option);
}

static int open_device(const char *name)
{
	struct sockaddr_ll ll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(name),
	};
	struct packet_mreq all = {
		.mr_ifindex = ll.sll_ifindex,
		.mr_type = PACKET_MR_PROMISC,
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0), on = 1, room = 8 << 20;

	if (fd < 0 || !ll.sll_ifindex)
		err(1, "%s", name);
	set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	set_option(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
	set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
		err(1, "%s", name);
	return fd;
}

static void stop(int signal)
{
	ending = signal;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = stop };
	struct pollfd fds[2];
	int i;

	if (argc != 5)
		errx(2, "usage: net_cut SEED FLIPS DEVICE DEVICE");
	state = strtoull(argv[1], NULL, 0);
	flips = strtoul(argv[2], NULL, 0);
	for (i = 0; i < 2; i++) {
		ways[i].mss = TINY;
		ways[i].from = open_device(argv[3 + i]);
		ways[!i].to = ways[i].from;
		fds[i] = (struct pollfd){ ways[i].from, POLLIN, 0 };
	}
	sigaction(SIGTERM, &act, NULL);
	(void)!write(1, "ready\n", 6);
	while (!ending) {
		poll(fds, 2, ways[0].held || ways[1].held ? WAIT_MS : LOOK_MS);
		for (i = 0; i < 2; i++)
			if (fds[i].revents)
				drain(&ways[i]);
			else
				flush(&ways[i]);
	}
	printf("came=%lu made=%lu\n", came, made);
	return 0;
}
