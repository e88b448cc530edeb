// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* "echo": the server sends each message back. Not a program of rdma-core. */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "mpa_rdmap.h"

/**
 * struct echo_slot - a message and a receive buffer
 * @recv: the buffer
 * @msg: the message
 */
struct echo_slot {
	struct rdmap_recv	recv;
	struct rdmap_msg	msg;
};

/**
 * struct echo - either side of an echo
 * @posted: client: messages sent
 * @echoed: client: messages that came back
 * @octets: memory of the buffers and of the client's messages
 * @nr: number of slots
 * @slot: the slots; message n of a client uses slot n % @nr
 */
struct echo {
	u32			posted;
	u32			echoed;
	u8			*octets;
	u32			nr;
	struct echo_slot	slot[] __counted_by(nr);
};

static void echo_free(struct rdmap_stream *s)
{
	struct echo *e = s->app_data;

	if (!e)
		return;
	kvfree(e->octets);
	kvfree(e);
}

/* Allocate a receive buffer per slot, and a message buffer if @client. */
static struct echo *echo_new(struct rdmap_stream *s, bool client)
{
	u32 nr = s->opts->depth, size = s->opts->size;
	struct echo *e;
	u32 i;

	e = kvzalloc(struct_size(e, slot, nr), GFP_KERNEL);
	if (!e)
		return NULL;
	s->app_data = e;
	e->nr = nr;
	/* at most RDMAP_ECHO_MAX; one more, as the size may be 0 */
	e->octets = kvzalloc((size_t)nr * size * (1 + client) + 1, GFP_KERNEL);
	if (!e->octets)
		return NULL;
	for (i = 0; i < nr; i++) {
		e->slot[i].recv.mem = e->octets + (size_t)i * size;
		e->slot[i].recv.size = size;
		e->slot[i].msg.mem = e->octets + (size_t)(nr + i) * size;
		rdmap_post_recv(s, &e->slot[i].recv);
	}
	return e;
}

/* Client */

static void echo_fill(u8 *mem, u32 len, u32 number)
{
	u32 i;

	for (i = 0; i < len; i++)
		mem[i] = i * 7 + (i >> 8) + number * 31;
}

/* A slot is free when its message was handed back and its echo has arrived. */
static bool echo_may_post(const struct rdmap_stream *s, const struct echo *e)
{
	return e->posted < s->opts->count && e->posted - e->echoed < e->nr &&
	       !e->slot[e->posted % e->nr].msg.busy;
}

static void echo_step(struct rdmap_stream *s)
{
	struct echo *e = s->app_data;
	struct rdmap_msg *msg;

	while (!s->deaf && echo_may_post(s, e)) {
		msg = &e->slot[e->posted % e->nr].msg;
		msg->len = s->opts->size;
		echo_fill(msg->mem, msg->len, e->posted);
		e->posted++;
		rdmap_app_send(s, msg);
	}
	if (e->echoed == s->opts->count && !s->idle)
		rdmap_app_close(s);
}

static int echo_client_begin(struct rdmap_stream *s)
{
	if (!echo_new(s, true))
		return -ENOMEM;
	echo_step(s);
	return 0;
}

static void echo_client_received(struct rdmap_stream *s,
				 struct rdmap_recv *recv)
{
	struct echo *e = s->app_data;
	struct rdmap_msg *msg = &e->slot[e->echoed % e->nr].msg;

	if (e->echoed == e->posted) {
		rdmap_app_fail(s, -EPROTO);
		return;
	}
	if (recv->len != msg->len ||
	    (s->opts->verify && memcmp(recv->mem, msg->mem, msg->len)))
		s->res.mismatches++;
	e->echoed++;
	s->res.iterations++;
	rdmap_post_recv(s, recv);
	echo_step(s);
}

static void echo_client_sent(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	echo_step(s);
}

const struct rdmap_app rdmap_echo_client = {
	.begin		= echo_client_begin,
	.received	= echo_client_received,
	.sent		= echo_client_sent,
	.end		= echo_free,
};

/* Server */

static int echo_server_begin(struct rdmap_stream *s)
{
	s->idle = true;
	return echo_new(s, false) ? 0 : -ENOMEM;
}

/* Echo from the receive buffer, which is posted again after sending. */
static void echo_server_received(struct rdmap_stream *s,
				 struct rdmap_recv *recv)
{
	struct echo_slot *slot = container_of(recv, struct echo_slot, recv);

	slot->msg.mem = recv->mem;
	slot->msg.len = recv->len;
	rdmap_app_send(s, &slot->msg);
}

static void echo_server_sent(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	struct echo_slot *slot = container_of(msg, struct echo_slot, msg);

	s->res.iterations++;
	rdmap_post_recv(s, &slot->recv);
}

const struct rdmap_app rdmap_echo_server = {
	.begin		= echo_server_begin,
	.received	= echo_server_received,
	.sent		= echo_server_sent,
	.end		= echo_free,
};
