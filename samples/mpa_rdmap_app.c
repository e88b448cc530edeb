// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The programs of either side, and functions that they share. */
#include <linux/errno.h>
#include <linux/mm.h>

#include "mpa_rdmap.h"

/* [program][connects] */
static const struct rdmap_app * const apps[RDMAP_PROGRAMS][2] = {
	[RDMAP_ECHO]		= { &rdmap_echo_server, &rdmap_echo_client },
	[RDMAP_RPING]		= { &rdmap_rping_server, &rdmap_rping_client },
	[RDMAP_UCMATOSE]	= { &rdmap_exchange, &rdmap_exchange },
	[RDMAP_RDMA_CLIENT]	= { NULL, &rdmap_exchange },
	[RDMAP_RDMA_SERVER]	= { &rdmap_exchange, NULL },
};

const struct rdmap_app *rdmap_app(const struct rdmap_opts *opts)
{
	return apps[opts->app][opts->base.cmd == RDMAP_CMD_CONNECT];
}

/* End the stream: a protocol error of the peer, or a local failure. */
void rdmap_app_fail(struct rdmap_stream *s, int err)
{
	rdmap_fail(s, err, err == -EPROTO ? "protocol" : "closed");
	rdmap_finish(s, RDMAP_ERR_LOCAL, NULL);
}

/* Send the octets of @msg. */
void rdmap_app_send(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	int err;

	msg->opcode = RDMAP_OP_SEND;
	err = rdmap_post(s, msg);
	if (err)
		rdmap_app_fail(s, err);
}

/* All is done, on the side that closes first. */
void rdmap_app_close(struct rdmap_stream *s)
{
	s->idle = true;
	rdmap_close(s);
}

void rdmap_app_free(struct rdmap_stream *s)
{
	kvfree(s->app_data);
}
