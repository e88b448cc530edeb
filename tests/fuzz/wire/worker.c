// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections of one worker, with the servers or with a client of its own. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

#define COMMANDS	"/dev/mpa_ping/cmd"
#define SERVER_PORT	5100	/* first of consecutive ports */
#define CLIENT_PORT	6000
#define COMMAND_S	600	/* more than the patience for anything */
#define SHOWN		4	/* times that a namespace is shown */

int space_fd[SPACES];
static __thread int space_now = -1;

void enter_space(int space)
{
	if (space == space_now)
		return;
	if (setns(space_fd[space], CLONE_NEWNET))
		misused("setns: %s", strerror(errno));
	space_now = space;
}

/* For the current namespace: late packets may still arrive. */
void space_show(const char *why)
{
	static const char look[] =
		"ss -tinmoe state connected exclude time-wait;"
		"cat /proc/net/sockstat; grep -v ' 0$' /proc/net/mpa_stat;"
		"grep TcpExt /proc/net/netstat";
	static int shown;

	if (__atomic_fetch_add(&shown, 1, __ATOMIC_RELAXED) >= SHOWN)
		return;
	say("shown: %s", why);
	if (system(look))
		say("shown: the commands failed");
}

static struct sockaddr_in address(uint8_t net, int worker, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(0x7f000001 | net << 16 | worker << 8),
	};
}

/* Returns 0 or a negative errno, as the command does. */
static int command_write(const char *line)
{
	int fd = open(COMMANDS, O_WRONLY | O_CLOEXEC), status = 0;

	if (fd < 0)
		misused("%s: %s", COMMANDS, strerror(errno));
	if (write(fd, line, strlen(line)) < 0)
		status = -errno;
	close(fd);
	return status;
}

static void server_do(int i, bool start)
{
	char line[200];
	int status;

	snprintf(line, sizeof(line), "%s port=%d %s", start ? "serve" : "stop",
		 SERVER_PORT + i, start ? setups[i].command : "");
	status = command_write(line);
	if (status)
		misused("%s: %s", line, strerror(-status));
}

/* In each namespace; a server that stops ends its connections. */
void servers_do(bool start)
{
	int i, space;

	for (space = 0; space < SPACES; space++) {
		enter_space(space);
		for (i = 0; i < nr_setups; i++)
			if (setups[i].listens && !setups[i].program)
				server_do(i, start);
	}
}

/* We connect */

static int connect_to(struct worker *w, int setup)
{
	struct sockaddr_in from = address(1, w->id, 0);
	struct sockaddr_in to = address(0, 0, SERVER_PORT + setup);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static const char *run_server(struct worker *w, const struct seed *seed)
{
	int fd = connect_to(w, seed->setup);
	const char *wrong;

	if (fd < 0)
		return "there is no connection to be had";
	wrong = play_run(&w->play, seed, fd);
	return wrong ? wrong : play_judge(&w->play);
}

/* The kernel connects */

/* Another thread, since the write returns when the connection has ended */
static void *command_main(void *arg)
{
	struct worker *w = arg;
	uint64_t n = 1;

	w->status = command_write(w->command);
	if (write(w->over, &n, sizeof(n)) < 0)
		misused("eventfd: %s", strerror(errno));
	return NULL;
}

/* In the namespace of this thread, which the new one inherits */
static void command_begin(struct worker *w, const struct setup *setup)
{
	pthread_t thread;

	w->late = true;
	snprintf(w->command, sizeof(w->command),
		 "ping addr=127.2.%d.1 port=%d timeout=%d %s", w->id,
		 CLIENT_PORT, COMMAND_S, setup->command);
	if (pthread_create(&thread, NULL, command_main, w) ||
	    pthread_detach(thread))
		misused("no more threads");
}

/*
 * Until the command has returned, or the time is over. Further connections of
 * the same client are closed at once.
 */
static bool wait_status(struct worker *w, int listener, long ms)
{
	struct pollfd pfd[2] = { { w->over, POLLIN, 0 },
				 { listener, POLLIN, 0 } };
	long until = now_ms() + ms;
	uint64_t n;

	do {
		if (poll(pfd, 2, ms) < 1)
			continue;
		if (pfd[1].revents)
			close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
		if (pfd[0].revents) {
			w->late = read(w->over, &n, sizeof(n)) != sizeof(n);
			return true;
		}
	} while ((ms = until - now_ms()) > 0);
	return false;
}

static const char *run_client(struct worker *w, const struct seed *seed)
{
	int listener = w->listener[seed->space], fd;
	struct pollfd pfd = { listener, POLLIN, 0 };
	const char *wrong;

	/* Its last one was found not to end, and may be there yet. */
	if (w->late && !wait_status(w, listener, 0))
		return NULL;
	command_begin(w, &setups[seed->setup]);
	if (poll(&pfd, 1, patience) < 1)
		return "the client does not connect";
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return "the client has gone again";
	wrong = play_run(&w->play, seed, fd);
	if (!wait_status(w, listener, patience)) {
		space_show("the client does not end");
		if (!wait_status(w, listener, patience))
			return "the client does not end";
	}
	if (!wrong)
		wrong = play_judge(&w->play);
	return wrong ? wrong : play_judge_status(&w->play, w->status);
}

static unsigned long connections;

static void count(struct worker *w, long began)
{
	w->done++;
	w->last = now_ms() - began;
	if (w->last > w->worst)
		w->worst = w->last;
}

/* Returns NULL, or a violation by the other side. */
const char *worker_run(struct worker *w, const struct seed *seed)
{
	long began = now_ms();
	const char *wrong;

	seed_print(seed, w->slot->text, COVER_TEXT);
	w->slot->number = __atomic_add_fetch(&connections, 1,
					     __ATOMIC_RELAXED);
	enter_space(seed->space);
	wrong = setups[seed->setup].listens ? run_server(w, seed) :
					      run_client(w, seed);
	w->slot->number = 0;
	count(w, began);
	return wrong;
}

/* Good peers of the servers: the kernel's own client, and mpa-peer */

#define GOOD_PING "ping addr=127.0.0.1 port=%d rev=%d size=%u count=%u " \
		  "markers=%u ooo=%u verify=1 timeout=%d"
#define GOOD_PEER "mpa-peer -t %d connect 127.0.0.1 %d split:%u " \
		  "request:rev=%d,m=%u,pdsize=%u expect-reply:r=0 " \
		  "split:%u echo:count=%u,size=%u,step=%u fin end:fin " \
		  ">/root/peer.said"

static int clean_ping(struct worker *w, const struct setup *setup, int port)
{
	uint32_t size = 1 + rnd_below(&w->rnd, 3000);

	snprintf(w->command, sizeof(w->command), GOOD_PING, port, setup->rev,
		 size, 1 + rnd_below(&w->rnd, 20), rnd_below(&w->rnd, 2),
		 rnd_below(&w->rnd, 2), patience / 1000);
	return command_write(w->command);
}

/* Both ends of a Rev 0 connection send markers. */
static int clean_peer(struct worker *w, const struct setup *setup, int port)
{
	uint32_t size = 1 + rnd_below(&w->rnd, 1500);

	if (!rnd_below(&w->rnd, 20))
		size = 60000;
	snprintf(w->command, sizeof(w->command), GOOD_PEER, patience / 1000,
		 port, 1 + rnd_below(&w->rnd, 40), setup->rev ? 1 : 0,
		 setup->rev ? rnd_below(&w->rnd, 2) : 1,
		 rnd_below(&w->rnd, 512), 1 + rnd_below(&w->rnd, size),
		 1 + rnd_below(&w->rnd, 20), size, rnd_below(&w->rnd, 200));
	return system(w->command);
}

/* Returns NULL, or what is wrong. */
const char *worker_clean(struct worker *w)
{
	int setup, failed, port;
	long began = now_ms();

	do {
		setup = rnd_below(&w->rnd, nr_setups);
	} while (!setups[setup].clean);
	port = SERVER_PORT + setup;
	enter_space(rnd_below(&w->rnd, SPACES));
	failed = rnd_below(&w->rnd, 2) ?
		 clean_ping(w, &setups[setup], port) :
		 clean_peer(w, &setups[setup], port);
	count(w, began);
	if (!failed)
		return NULL;
	say("not served: %s", w->command);
	return "a clean peer was not served";
}

static int listen_at(int worker)
{
	struct sockaddr_in at = address(2, worker, CLIENT_PORT);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(fd, 8))
		misused("listen: %s", strerror(errno));
	return fd;
}

/* A connection with itself */
static void make_spill(struct worker *w)
{
	struct sockaddr_in to = address(2, w->id, CLIENT_PORT);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		misused("connect: %s", strerror(errno));
	w->play.spill[0] = fd;
	w->play.spill[1] = accept4(w->listener[0], NULL, NULL, SOCK_CLOEXEC);
}

void worker_init(struct worker *w, int id)
{
	int space;

	w->id = id;
	w->slot = &cover->slots[id];
	w->over = eventfd(0, EFD_CLOEXEC);
	for (space = 0; space < SPACES; space++) {
		enter_space(space);
		w->listener[space] = listen_at(id);
	}
	enter_space(0);
	make_spill(w);
}
