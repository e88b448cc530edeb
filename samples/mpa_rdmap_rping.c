// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * "rping". A round:
 *
 *	client		server
 *	Send: source ->
 *	    <- RDMA Read of source
 *		     <- Send: go on
 *	Send: sink ->
 *	    <- RDMA Write to sink
 *			<- Send: done
 *
 * Each Send contains an address, an STag and a length: of a buffer of the
 * client, if the Send names one. The buffer holds text that ends with a zero:
 * the server of rdma-core writes back the text up to there.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "mpa_rdmap.h"

/**
 * struct rping_info - contents of a Send
 * @to: Tagged Offset, an address in rdma-core
 * @stag: STag
 * @len: length in octets
 */
struct rping_info {
	__be64	to;
	__be32	stag;
	__be32	len;
};

#define RPING_HALVES	2

/**
 * struct rping - either side of rping
 * @second: the second half of a round is under way
 * @reading: server: the RDMA Read is under way
 * @len: server: length of that RDMA Read in octets
 * @source: client: buffer that the server reads
 * @sink: client: buffer that the server writes; server: its only buffer
 * @info_rx: contents of the last Send received
 * @recv: receive buffer at @info_rx
 * @info: contents of our Sends, per half; the server names no buffer
 * @send: the Sends, per half
 * @rdma: server: the RDMA Read and the RDMA Write
 * @octets: memory of the buffers
 */
struct rping {
	bool			second;
	bool			reading;
	u32			len;
	struct rdmap_region	*source;
	struct rdmap_region	*sink;
	struct rping_info	info_rx;
	struct rdmap_recv	recv;
	struct rping_info	info[RPING_HALVES];
	struct rdmap_msg	send[RPING_HALVES];
	struct rdmap_msg	rdma[RPING_HALVES];
	u8			octets[];
};

static struct rping *rping_new(struct rdmap_stream *s, size_t octets)
{
	struct rping *r;
	int i;

	r = kvzalloc(struct_size(r, octets, octets), GFP_KERNEL);
	if (!r)
		return NULL;
	s->app_data = r;
	for (i = 0; i < RPING_HALVES; i++) {
		r->send[i].mem = &r->info[i];
		r->send[i].len = sizeof(r->info[i]);
	}
	r->recv.mem = &r->info_rx;
	r->recv.size = sizeof(r->info_rx);
	rdmap_post_recv(s, &r->recv);
	return r;
}

/* Client */

/* Printable text, different in each round */
static void rping_fill(u8 *mem, u32 len, u64 round)
{
	u32 i, c = (u32)round % 94;

	for (i = 0; i + 1 < len; i++, c = c == 93 ? 0 : c + 1)
		mem[i] = '!' + c;
	mem[i] = 0;
}

/* Name a buffer to the server: one with new text to read, or one to write. */
static void rping_advertise(struct rdmap_stream *s)
{
	struct rping *r = s->app_data;
	struct rdmap_region *region = r->second ? r->sink : r->source;
	struct rping_info *info = &r->info[r->second];

	if (r->second)
		memset(region->mem, 0, region->len);
	else
		rping_fill(region->mem, region->len, s->res.iterations);
	info->to = cpu_to_be64(region->base);
	info->stag = cpu_to_be32(region->stag);
	info->len = cpu_to_be32(region->len);
	rdmap_app_send(s, &r->send[r->second]);
}

static void rping_next(struct rdmap_stream *s)
{
	if (s->res.iterations < s->opts->count)
		rping_advertise(s);
	else
		rdmap_app_close(s);
}

static int rping_client_begin(struct rdmap_stream *s)
{
	u32 size = s->opts->size;
	struct rping *r;

	r = rping_new(s, 2 * (size_t)size);
	if (!r)
		return -ENOMEM;
	r->source = rdmap_region_new(s, r->octets, size, RDMAP_REMOTE_READ);
	if (IS_ERR(r->source))
		return PTR_ERR(r->source);
	r->sink = rdmap_region_new(s, r->octets + size, size,
				   RDMAP_REMOTE_WRITE);
	if (IS_ERR(r->sink))
		return PTR_ERR(r->sink);
	rping_next(s);
	return 0;
}

static void rping_check(struct rdmap_stream *s, const struct rping *r)
{
	if (s->opts->verify &&
	    memcmp(r->source->mem, r->sink->mem, r->source->len))
		s->res.mismatches++;
	s->res.iterations++;
}

/* The server has read or written the buffer. */
static void rping_client_received(struct rdmap_stream *s,
				  struct rdmap_recv *recv)
{
	struct rping *r = s->app_data;

	if (s->idle || recv->len != sizeof(r->info_rx)) {
		rdmap_app_fail(s, -EPROTO);
		return;
	}
	rdmap_post_recv(s, recv);
	if (r->second)
		rping_check(s, r);
	r->second = !r->second;
	if (r->second)
		rping_advertise(s);
	else
		rping_next(s);
}

const struct rdmap_app rdmap_rping_client = {
	.begin		= rping_client_begin,
	.received	= rping_client_received,
	.end		= rdmap_app_free,
};

/* Server */

static int rping_server_begin(struct rdmap_stream *s)
{
	struct rping *r = rping_new(s, RDMAP_RPING_MAX);

	if (!r)
		return -ENOMEM;
	s->idle = true;
	r->sink = rdmap_region_new(s, r->octets, RDMAP_RPING_MAX,
				   RDMAP_READ_SINK);
	return PTR_ERR_OR_ZERO(r->sink);
}

static int rping_read(struct rdmap_stream *s, struct rping *r, u32 len)
{
	struct rdmap_msg *msg = &r->rdma[0];

	if (len > RDMAP_RPING_MAX)
		return -EPROTO;
	msg->read = (struct rdmap_read) {
		.sink_stag	= r->sink->stag,
		.sink_to	= r->sink->base,
		.size		= len,
		.source_stag	= be32_to_cpu(r->info_rx.stag),
		.source_to	= be64_to_cpu(r->info_rx.to),
	};
	r->len = len;
	return rdmap_post_read(s, msg);
}

/* Write the octets read, as far as there is room, and then send "done". */
static int rping_write(struct rdmap_stream *s, struct rping *r, u32 len)
{
	struct rdmap_msg *msg = &r->rdma[1];
	int err;

	msg->opcode = RDMAP_OP_WRITE;
	msg->stag = be32_to_cpu(r->info_rx.stag);
	msg->to = be64_to_cpu(r->info_rx.to);
	msg->mem = r->sink->mem;
	msg->len = min(len, r->len);
	err = rdmap_post(s, msg);
	if (err)
		return err;
	rdmap_app_send(s, &r->send[1]);
	return 0;
}

static void rping_server_received(struct rdmap_stream *s,
				  struct rdmap_recv *recv)
{
	struct rping *r = s->app_data;
	u32 len = be32_to_cpu(r->info_rx.len);
	int err = -EPROTO;

	/* an error while the RDMA Read of this round is under way */
	if (recv->len != sizeof(r->info_rx) || r->reading) {
		rdmap_app_fail(s, err);
		return;
	}
	rdmap_post_recv(s, recv);
	if (!r->second) {
		s->idle = false;
		r->reading = true;
		err = rping_read(s, r, len);
	} else {
		err = rping_write(s, r, len);
		s->idle = true;
		s->res.iterations++;
	}
	r->second = !r->second;
	if (err)
		rdmap_app_fail(s, err);
}

/* The text has been read: send "go on". */
static void rping_server_read(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	struct rping *r = s->app_data;

	r->reading = false;
	rdmap_app_send(s, &r->send[0]);
}

const struct rdmap_app rdmap_rping_server = {
	.begin		= rping_server_begin,
	.received	= rping_server_received,
	.read		= rping_server_read,
	.end		= rdmap_app_free,
};
