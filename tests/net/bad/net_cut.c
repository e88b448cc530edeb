// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * net_cut: a middlebox that cuts TCP segments again.
 *
 *	net_cut SEED DEVICE DEVICE
 *
 * A bridge of two devices. Segments that the sender leaves to its device come as
 * one packet, and leave with another length, which is drawn for each packet,
 * from a single octet to what the MTU allows. The kernel cuts them, as for any
 * packet that leaves by a device without segmentation offload. Sequence numbers
 * do not change, and all other packets pass as they came. On SIGTERM it prints
 * how many segments the sender's device would have made, and how many were made
 * here.
 */
#include <err.h>
#include <linux/virtio_net.h>
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
#include <sys/socket.h>
#include <unistd.h>

#define MTU		1500
#define TINY		16	/* octets, at most, of an eighth of segments */
#define SEGMENTS_MAX	256	/* of a packet: a device queues some 1000 */

static struct {
	struct virtio_net_hdr	hdr;
	uint8_t			octets[1 << 17];
} __attribute__((packed)) packet;

static unsigned long came, made;
static volatile sig_atomic_t ending;

/* Offset of the TCP header, or 0 */
static size_t find_tcp(size_t end)
{
	const struct iphdr *v4 = (void *)(packet.octets + ETH_HLEN);
	const struct ip6_hdr *v6 = (void *)v4;

	if (end < ETH_HLEN + sizeof(*v6) + sizeof(struct tcphdr))
		return 0;
	if (v4->version == 4 && v4->protocol == IPPROTO_TCP)
		return ETH_HLEN + v4->ihl * 4;
	if (v4->version == 6 && v6->ip6_nxt == IPPROTO_TCP)
		return ETH_HLEN + sizeof(*v6);
	return 0;
}

/* The packet is @end octets long, without the padding of short ones. */
static void cut(size_t end)
{
	size_t tcp = find_tcp(end), data, len, size;
	const struct tcphdr *th = (void *)(packet.octets + tcp);

	if (!tcp || th->syn || th->rst || th->urg)
		return;
	data = tcp + th->doff * 4;
	if (end <= data + 1 || end < 60)
		return;
	len = end - data;
	size = 1 + rand() % (rand() % 8 ? MTU + ETH_HLEN - data : TINY);
	if (size < len / SEGMENTS_MAX + 1)
		size = len / SEGMENTS_MAX + 1;
	came += packet.hdr.gso_size ? 1 + (len - 1) / packet.hdr.gso_size : 1;
	made += 1 + (len - 1) / size;
	packet.hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
	if (packet.octets[ETH_HLEN] >> 4 == 4)
		packet.hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
	packet.hdr.gso_size = size;
	packet.hdr.hdr_len = data;
}

static void pass(int from, int to)
{
	ssize_t len;

	while ((len = recv(from, &packet, sizeof(packet), MSG_DONTWAIT)) >
	       (ssize_t)sizeof(packet.hdr)) {
		packet.hdr.flags &= VIRTIO_NET_HDR_F_NEEDS_CSUM;
		cut(len - sizeof(packet.hdr));
		/* A queue may be full: TCP handles the loss. */
		(void)!write(to, &packet, len);
	}
}

static void set_option(int fd, int option, const void *value, socklen_t len)
{
	if (setsockopt(fd, SOL_PACKET, option, value, len))
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
	set_option(fd, PACKET_VNET_HDR, &on, sizeof(on));
	set_option(fd, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	set_option(fd, PACKET_ADD_MEMBERSHIP, &all, sizeof(all));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (struct sockaddr *)&ll, sizeof(ll)))
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
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };

	if (argc != 4)
		errx(2, "usage: net_cut SEED DEVICE DEVICE");
	srand(strtoul(argv[1], NULL, 0));
	fds[0].fd = open_device(argv[2]);
	fds[1].fd = open_device(argv[3]);
	sigaction(SIGTERM, &act, NULL);
	(void)!write(1, "ready\n", 6);
	while (!ending) {
		poll(fds, 2, 1000);
		pass(fds[0].fd, fds[1].fd);
		pass(fds[1].fd, fds[0].fd);
	}
	printf("came=%lu made=%lu\n", came, made);
	return 0;
}
