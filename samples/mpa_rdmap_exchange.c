// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * "rdma_client", "rdma_server" and "ucmatose": one side sends all its messages;
 * the other side does so after it has received them. Then the first side
 * closes. rdma_client sends first, and so does the side of ucmatose that
 * serves.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>

#include "mpa_rdmap.h"

#define RDMA_SIZE	16	/* of rdma_client, rdma_server: octets */

/**
 * struct exchange - either side of an exchange
 * @first: this side sends first
 * @size: octets of a message
 * @count: messages each way
 * @posted: messages posted
 * @sent: messages handed back
 * @received: messages received
 * @recv: receive buffer of all messages, whose contents are ignored
 * @octets: @size octets to send, then those of @recv
 * @nr: number of messages under way
 * @msg: message n is in n % @nr
 */
struct exchange {
	bool			first;
	u32			size;
	u32			count;
	u32			posted;
	u32			sent;
	u32			received;
	struct rdmap_recv	recv;
	u8			*octets;
	u32			nr;
	struct rdmap_msg	msg[] __counted_by(nr);
};

static void exchange_free(struct rdmap_stream *s)
{
	struct exchange *x = s->app_data;

	if (!x)
		return;
	kvfree(x->octets);
	kvfree(x);
}

static bool is_connecting(const struct rdmap_stream *s)
{
	return s->opts->base.cmd == RDMAP_CMD_CONNECT;
}

static struct exchange *exchange_new(struct rdmap_stream *s)
{
	const struct rdmap_opts *opts = s->opts;
	struct exchange *x;
	u32 i;

	x = kvzalloc(struct_size(x, msg, opts->depth), GFP_KERNEL);
	if (!x)
		return NULL;
	s->app_data = x;
	x->nr = opts->depth;
	if (opts->app == RDMAP_UCMATOSE) {
		x->first = !is_connecting(s);
		x->size = opts->size;
		x->count = opts->count;
	} else {
		x->first = is_connecting(s);
		x->size = RDMA_SIZE;
		x->count = 1;
	}
	/* one more, as the size may be 0 */
	x->octets = kvzalloc(2 * (size_t)x->size + 1, GFP_KERNEL);
	if (!x->octets)
		return NULL;
	for (i = 0; i < x->size; i++)
		x->octets[i] = 'a' + i % 26;
	x->recv.mem = x->octets + x->size;
	x->recv.size = x->size;
	return x;
}

static bool exchange_may_post(const struct exchange *x)
{
	return (x->first || x->received == x->count) &&
	       x->posted < x->count && x->posted - x->sent < x->nr;
}

static void exchange_step(struct rdmap_stream *s)
{
	struct exchange *x = s->app_data;
	struct rdmap_msg *msg;

	while (!s->deaf && exchange_may_post(x)) {
		msg = &x->msg[x->posted++ % x->nr];
		msg->mem = x->octets;
		msg->len = x->size;
		rdmap_app_send(s, msg);
	}
	if (s->idle || x->sent < x->count || x->received < x->count)
		return;
	if (x->first)
		rdmap_app_close(s);
	else
		s->idle = true;	/* the other side closes */
}

static int exchange_begin(struct rdmap_stream *s)
{
	struct exchange *x = exchange_new(s);

	if (!x)
		return -ENOMEM;
	rdmap_post_recv(s, &x->recv);
	exchange_step(s);
	return 0;
}

static void exchange_received(struct rdmap_stream *s, struct rdmap_recv *recv)
{
	struct exchange *x = s->app_data;

	if (x->received == x->count) {
		rdmap_app_fail(s, -EPROTO);
		return;
	}
	if (recv->len != x->size)
		s->res.mismatches++;
	x->received++;
	s->res.iterations++;
	rdmap_post_recv(s, recv);
	exchange_step(s);
}

static void exchange_sent(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	struct exchange *x = s->app_data;

	x->sent++;
	exchange_step(s);
}

const struct rdmap_app rdmap_exchange = {
	.begin		= exchange_begin,
	.received	= exchange_received,
	.sent		= exchange_sent,
	.end		= exchange_free,
};
