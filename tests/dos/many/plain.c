// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Echo on plain TCP, for comparison. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "many.h"

struct echo {
	int	fd;
	uint8_t	octets[65536];
	size_t	from;
	size_t	to;
};

static struct echo *echo_new(int fd)
{
	struct echo *e = calloc(1, sizeof(*e));

	if (!e)
		wrong("no memory");
	e->fd = fd;
	return e;
}

static void echo_close(struct echo *e)
{
	close(e->fd);
	free(e);
}

static void echo_event(struct echo *e)
{
	ssize_t n;

	for (;;) {
		while (e->from < e->to) {
			n = net_send(e->fd, e->octets + e->from,
				     e->to - e->from, 0);
			if (n < 0 && errno == EAGAIN)
				return;
			if (n < 0) {
				echo_close(e);
				return;
			}
			e->from += n;
		}
		n = recv(e->fd, e->octets, sizeof(e->octets), 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			echo_close(e);
			return;
		}
		e->from = 0;
		e->to = n;
	}
}

int plain_main(void)
{
	int epoll = epoll_new(), listener = net_listen(), fd, i, n;
	struct epoll_event ev[64];

	epoll_watch(epoll, listener, NULL);
	say("listening");
	while (!told_to_stop()) {
		n = epoll_wait(epoll, ev, 64, 200);
		for (i = 0; i < n; i++)
			if (ev[i].data.ptr)
				echo_event(ev[i].data.ptr);
		while ((fd = accept4(listener, NULL, NULL,
				     SOCK_NONBLOCK)) >= 0)
			epoll_watch(epoll, fd, echo_new(fd));
	}
	return 0;
}
