// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Sockets that do not block. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"

static struct sockaddr_in peer, source;
static unsigned long sources;

void net_init(char **argv)
{
	const char *from = option("source");

	peer.sin_family = AF_INET;
	peer.sin_port = htons(atoi(argv[1]));
	if (inet_pton(AF_INET, argv[0], &peer.sin_addr) != 1)
		misused("%s is no address", argv[0]);
	source.sin_family = AF_INET;
	if (from && inet_pton(AF_INET, from, &source.sin_addr) != 1)
		misused("%s is no address", from);
	sources = number("sources", 1);
}

static int net_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		wrong("socket: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* A port is taken for the pair of addresses, when both are known */
static void net_bind(int fd, unsigned long id)
{
	struct sockaddr_in from = source;
	int one = 1;

	if (!from.sin_addr.s_addr)
		return;
	from.sin_addr.s_addr =
		htonl(ntohl(from.sin_addr.s_addr) + id % sources);
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)))
		wrong("bind: %s", strerror(errno));
}

int net_connect(unsigned long id)
{
	int fd = net_socket();

	net_bind(fd, id);
	if (connect(fd, (struct sockaddr *)&peer, sizeof(peer)) &&
	    errno != EINPROGRESS)
		wrong("connect %lu: %s", id, strerror(errno));
	return fd;
}

int net_listen(void)
{
	int fd = net_socket();
	int one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&peer, sizeof(peer)) ||
	    listen(fd, 4096))
		wrong("listen: %s", strerror(errno));
	return fd;
}

int net_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

void net_reset(int fd)
{
	struct linger linger = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

/* Not an error of ours: the other side has ended the connection. */
bool net_refused(int err)
{
	return err == ECONNRESET || err == EPIPE || err == ECONNREFUSED;
}

int epoll_new(void)
{
	int epoll = epoll_create1(0);

	if (epoll < 0)
		wrong("epoll: %s", strerror(errno));
	return epoll;
}

/* Edge-triggered: the caller continues until an operation would block */
void epoll_watch(int epoll, int fd, void *data)
{
	struct epoll_event ev = {
		.events		= EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr	= data,
	};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev))
		wrong("epoll: %s", strerror(errno));
}

/* With MSG_EOR TCP adds nothing after them to the same segment. */
ssize_t net_send(int fd, const uint8_t *octets, size_t len, size_t piece)
{
	int flags = MSG_NOSIGNAL;
	size_t done;
	ssize_t n;

	if (!piece)
		return send(fd, octets, len, flags);
	for (done = 0; done < len; done += n) {
		n = send(fd, octets + done,
			 len - done < piece ? len - done : piece,
			 flags | MSG_EOR);
		if (n < 0)
			return done ? (ssize_t)done : n;
	}
	return done;
}
