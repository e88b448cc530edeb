// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The options of mpa_rdmap's commands. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>

#include "mpa_rdmap.h"

#define SERVE	RDMAP_CMD_SERVE
#define STOP	RDMAP_CMD_STOP
#define CONNECT	RDMAP_CMD_CONNECT

#define RTR_ALL	(MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ)

#define OPTION(_name, _cmds, _parse)					\
	.name = #_name, .cmds = (_cmds), .parse = (_parse),		\
	.offset = offsetof(struct rdmap_opts, _name)

#define NUMBER(_name, _cmds, _min, _max) {				\
	OPTION(_name, _cmds, mpa_opts_number),				\
	.min = (_min), .max = (_max),					\
}

static const struct mpa_option options[] = {
	{ .name = "addr", .cmds = SERVE | CONNECT, .parse = mpa_opts_addr },
	{ .name = "port", .cmds = SERVE | STOP | CONNECT,
	  .parse = mpa_opts_number, .min = 1, .max = U16_MAX,
	  .offset = offsetof(struct rdmap_opts, base.port) },
	{ OPTION(app, SERVE | CONNECT, mpa_opts_word),
	  .words = { "echo", "rping", "ucmatose", "rdma_client",
		     "rdma_server" } },
	NUMBER(rev, SERVE | CONNECT, 0, 2),
	NUMBER(markers, SERVE | CONNECT, 0, 1),
	NUMBER(ooo, SERVE | CONNECT, 0, 1),
	NUMBER(ird, SERVE | CONNECT, 0, MPA_DEPTH_MAX),
	NUMBER(ord, SERVE | CONNECT, 0, MPA_DEPTH_MAX),
	{ OPTION(rtr, SERVE | CONNECT, mpa_opts_word_list),
	  .words = { "send", "write", "read" } },
	{ .name = "pdata", .cmds = SERVE | CONNECT, .parse = mpa_opts_pdata },
	{ .name = "pdatahex", .cmds = SERVE | CONNECT,
	  .parse = mpa_opts_pdatahex },
	NUMBER(size, SERVE | CONNECT, 0, RDMAP_SIZE_MAX),
	NUMBER(count, SERVE | CONNECT, 0, U32_MAX),
	NUMBER(depth, SERVE | CONNECT, 1, 1024),
	NUMBER(timeout, SERVE | CONNECT, 1, 3600),
	NUMBER(stag, SERVE | CONNECT, 1, U32_MAX - 2),
	NUMBER(ird_max, CONNECT, 0, MPA_DEPTH_MAX),
	NUMBER(fallback, CONNECT, 0, 1),
	NUMBER(verify, CONNECT, 0, 1),
};

static const struct mpa_command commands[] = {
	{ "serve", SERVE, { "port" } },
	{ "stop", STOP, { "port" } },
	{ "connect", CONNECT, { "addr", "port" } },
};

static const struct mpa_syntax syntax = {
	.options	= options,
	.nr_options	= ARRAY_SIZE(options),
	.commands	= commands,
	.nr_commands	= ARRAY_SIZE(commands),
};

static bool given(const struct rdmap_opts *opts, const char *name)
{
	return mpa_opts_given(&syntax, &opts->base, name);
}

/*
 * A fallback takes the whole first startup if the peer is silent: by default of
 * net.mpa.startup_timeout_ms as long as the limit for a connect without a
 * fallback.
 */
static u32 default_timeout(const struct rdmap_opts *opts)
{
	if (opts->base.cmd == SERVE)
		return 60;
	return opts->fallback ? 30 : 10;
}

/* Defaults of the rdma-core programs */
static void set_app_defaults(struct rdmap_opts *opts)
{
	u32 size = 64, count = 1;

	if (opts->app == RDMAP_UCMATOSE) {
		size = 100;
		count = 10;
	} else if (opts->app == RDMAP_ECHO && opts->base.cmd == SERVE) {
		size = SZ_64K;
	}
	if (!given(opts, "size"))
		opts->size = size;
	if (!given(opts, "count"))
		opts->count = count;
	if (!given(opts, "timeout"))
		opts->timeout = default_timeout(opts);
	if (!given(opts, "rtr"))
		opts->rtr = RTR_ALL;
}

static int check_app(const struct rdmap_opts *opts)
{
	if (opts->app == RDMAP_RPING &&
	    (opts->size < 1 || opts->size > RDMAP_RPING_MAX))
		return mpa_opts_complain("size=%u: rping has 1 to %u octets",
					 opts->size, RDMAP_RPING_MAX);
	if (opts->app == RDMAP_ECHO &&
	    (u64)opts->size * opts->depth > RDMAP_ECHO_MAX)
		return mpa_opts_complain("size=%u depth=%u: above %u octets",
					 opts->size, opts->depth,
					 RDMAP_ECHO_MAX);
	if (opts->app == RDMAP_RDMA_SERVER && opts->base.cmd != SERVE)
		return mpa_opts_complain("app=rdma_server: only with serve");
	if (opts->app == RDMAP_RDMA_CLIENT && opts->base.cmd != CONNECT)
		return mpa_opts_complain("app=rdma_client: only with connect");
	return 0;
}

static int check_startup(const struct rdmap_opts *opts)
{
	static const u32 pd_max[] = {
		MPA_PD_MAX_REV0, MPA_PD_MAX, MPA_PD_MAX_ENHANCED,
	};

	if (opts->base.pd_len > pd_max[opts->rev])
		return mpa_opts_complain("private data of %u octets, above %u",
					 opts->base.pd_len, pd_max[opts->rev]);
	if (opts->fallback && opts->rev != MPA_REV_2)
		return mpa_opts_complain("fallback=1: only with rev=2");
	if ((given(opts, "rtr") || opts->ird_max) && opts->rev != MPA_REV_2)
		return mpa_opts_complain("rtr, ird_max: only with rev=2");
	if (!opts->rtr && opts->base.cmd == SERVE)
		return mpa_opts_complain("rtr=none: only with connect");
	return 0;
}

/* Parse a command. @line is changed. */
int rdmap_opts_parse(struct net *net, char *line, struct rdmap_opts *opts)
{
	int err;

	*opts = (struct rdmap_opts) {
		.rev	= MPA_REV_2,
		.ird	= RDMAP_DEPTH,
		.ord	= RDMAP_DEPTH,
		.depth	= 4,
		.verify	= 1,
	};
	err = mpa_opts_parse(&syntax, net, line, &opts->base);
	if (err || opts->base.cmd == STOP)
		return err;
	set_app_defaults(opts);
	err = check_app(opts) ?: check_startup(opts);
	if (err)
		mpa_opts_free(&opts->base);
	return err;
}

/* Set the parameters for MPA. */
void rdmap_opts_params(const struct rdmap_opts *opts,
		       struct mpa_params *params)
{
	*params = (struct mpa_params) {
		.flags	= opts->markers ? MPA_F_MARKERS : 0,
		.rev	= opts->rev,
		.pd_max	= MPA_PD_MAX_REV0,
	};
	if (opts->ooo)
		params->flags |= MPA_F_OOO;
	if (opts->rev == MPA_REV_0)
		params->flags |= MPA_F_REV0;
	if (opts->rev != MPA_REV_2)
		return;
	params->flags |= MPA_F_ENHANCED;
	params->enhanced.ird = opts->ird;
	params->enhanced.ord = opts->ord;
	params->enhanced.rtr = opts->rtr;
	params->ird_max = opts->ird_max;
}
