// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Which program is whose part, and what the programs have in common. */
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

/* It cannot go on; the peer may have done something strange, or we. */
void rdmap_app_fail(struct rdmap_stream *s, int err)
{
	rdmap_fail(s, err, err == -EPROTO ? "protocol" : "closed");
	rdmap_finish(s, RDMAP_ERR_LOCAL, NULL);
}

/* A Send of what @msg has */
void rdmap_app_send(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	int err;

	msg->opcode = RDMAP_OP_SEND;
	err = rdmap_post(s, msg);
	if (err)
		rdmap_app_fail(s, err);
}

/* All is done, for the side that is the first to close. */
void rdmap_app_close(struct rdmap_stream *s)
{
	s->idle = true;
	rdmap_close(s);
}

void rdmap_app_free(struct rdmap_stream *s)
{
	kvfree(s->app_data);
}
