// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The options of mpa_ping's commands. */
#include <linux/container_of.h>
#include <linux/jhash.h>
#include <linux/math.h>
#include <linux/stddef.h>

#include "mpa_ping.h"

#define SERVE	PING_CMD_SERVE
#define STOP	PING_CMD_STOP
#define PING	PING_CMD_PING

/* Most ULPDUs in one call */
#define BATCH_MAX	1024

#define RTR_ALL	(MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ)

static int parse_size(const struct mpa_option *option, struct mpa_opts *opts,
		      char *val)
{
	if (strcmp(val, "mulpdu"))
		return mpa_opts_number(option, opts, val);
	container_of(opts, struct ping_opts, base)->size = 0;
	return 0;
}

#define OPTION(_name, _cmds, _parse)					\
	.name = #_name, .cmds = (_cmds), .parse = (_parse),		\
	.offset = offsetof(struct ping_opts, _name)

#define NUMBER(_name, _cmds, _min, _max) {				\
	OPTION(_name, _cmds, mpa_opts_number),				\
	.min = (_min), .max = (_max),					\
}

static const struct mpa_option options[] = {
	{ .name = "addr", .cmds = SERVE | PING, .parse = mpa_opts_addr },
	{ .name = "port", .cmds = SERVE | STOP | PING,
	  .parse = mpa_opts_number, .min = 1, .max = U16_MAX,
	  .offset = offsetof(struct ping_opts, base.port) },
	NUMBER(markers, SERVE | PING, 0, 1),
	NUMBER(ooo, SERVE | PING, 0, 1),
	NUMBER(place, SERVE | PING, 0, 1),
	NUMBER(memalloc, SERVE | PING, 0, 1),
	NUMBER(strict, SERVE | PING, 0, 1),
	NUMBER(rev, SERVE | PING, 0, 2),
	{ OPTION(mode, SERVE | PING, mpa_opts_word),
	  .words = { "echo", "sink" } },
	{ .name = "start", .cmds = SERVE | PING, .parse = mpa_opts_word,
	  .offset = offsetof(struct ping_opts, immediate),
	  .words = { "frames", "immediate" } },
	{ .name = "pdata", .cmds = SERVE | PING, .parse = mpa_opts_pdata },
	{ .name = "pdatahex", .cmds = SERVE | PING,
	  .parse = mpa_opts_pdatahex },
	NUMBER(reject, SERVE, 0, 1),
	NUMBER(hold, SERVE, 0, 600 * MSEC_PER_SEC),
	NUMBER(capture, SERVE, 0, 1),
	NUMBER(lazy, SERVE, 0, 1),
	{ OPTION(size, SERVE | PING, parse_size), .min = 1,
	  .max = MPA_ULPDU_MAX },
	NUMBER(mix, PING, 0, U32_MAX),
	NUMBER(count, SERVE | PING, 0, U32_MAX),
	NUMBER(batch, PING, 1, BATCH_MAX),
	NUMBER(depth, PING, 1, 64 * BATCH_MAX),
	NUMBER(verify, PING, 0, 1),
	NUMBER(timeout, PING, 1, 3600),
	NUMBER(zerocopy, PING, 0, 1),
	NUMBER(source, SERVE | PING, 0, 1),
	NUMBER(payload, PING, 0, 1),
	{ OPTION(spoil, PING, mpa_opts_word),
	  .words = { "no", "early", "late" } },
	NUMBER(ird, SERVE | PING, 0, MPA_DEPTH_ULP),
	NUMBER(ord, SERVE | PING, 0, MPA_DEPTH_ULP),
	{ OPTION(rtr, SERVE | PING, mpa_opts_word_list),
	  .words = { "send", "write", "read" } },
	NUMBER(ird_max, PING, 0, MPA_DEPTH_ULP),
	NUMBER(fallback, PING, 0, 1),
};

static const struct mpa_command commands[] = {
	{ "serve", SERVE, { "port" } },
	{ "stop", STOP, { "port" } },
	{ "ping", PING, { "addr", "port" } },
};

static const struct mpa_syntax syntax = {
	.options	= options,
	.nr_options	= ARRAY_SIZE(options),
	.commands	= commands,
	.nr_commands	= ARRAY_SIZE(commands),
};

static bool given(const struct ping_opts *opts, const char *name)
{
	return mpa_opts_given(&syntax, &opts->base, name);
}

/* start=immediate has no frames to negotiate with. */
static int check_immediate(const struct ping_opts *opts)
{
	static const char * const none[] = { "rev", "pdata", "pdatahex",
					     "reject" };
	int i;

	if (!opts->immediate)
		return 0;
	for (i = 0; i < ARRAY_SIZE(none); i++)
		if (given(opts, none[i]))
			return mpa_opts_complain("start=immediate: no %s",
						 none[i]);
	return opts->markers ? 0 :
	       mpa_opts_complain("start=immediate: no markers=0");
}

/* Options of Rev 2 only; a Responder must accept at least one kind of RTR. */
static int check_enhanced(const struct ping_opts *opts)
{
	static const char * const only[] = { "ird", "ord", "rtr", "ird_max",
					     "fallback" };
	int i;

	for (i = 0; i < ARRAY_SIZE(only); i++)
		if (opts->rev != MPA_REV_2 && given(opts, only[i]))
			return mpa_opts_complain("%s: only with rev=2",
						 only[i]);
	if (opts->base.cmd == SERVE && !opts->rtr)
		return mpa_opts_complain("rtr=none: only with ping");
	return 0;
}

/* ULPDUs passed out of order must be placed. */
static int check_place(const struct ping_opts *opts)
{
	return opts->place || !opts->ooo ? 0 :
	       mpa_opts_complain("ooo=1: no place=0");
}

/* size= and count= apply to source=1, which requires a peer without echoes. */
static int check_serve(const struct ping_opts *opts)
{
	static const char * const only[] = { "size", "count" };
	int i;

	if (opts->base.cmd != SERVE)
		return 0;
	for (i = 0; i < ARRAY_SIZE(only); i++)
		if (!opts->source && given(opts, only[i]))
			return mpa_opts_complain("serve %s: only with source=1",
						 only[i]);
	if (opts->source && opts->mode != PING_MODE_SINK)
		return mpa_opts_complain("serve source=1: only with mode=sink");
	return opts->lazy && opts->mode != PING_MODE_SINK ?
	       mpa_opts_complain("lazy=1: only with mode=sink") : 0;
}

static int check_ping(const struct ping_opts *opts)
{
	if (opts->base.cmd != PING)
		return 0;
	if (opts->payload && given(opts, "count"))
		return mpa_opts_complain("payload=1: no count");
	if (!opts->payload && opts->spoil)
		return mpa_opts_complain("spoil: only with payload=1");
	if (opts->depth && opts->depth < opts->batch)
		return mpa_opts_complain("depth=%u: less than batch",
					 opts->depth);
	return 0;
}

static int check_opts(const struct ping_opts *opts)
{
	static const u32 pd_max[] = {
		MPA_PD_MAX_REV0, MPA_PD_MAX, MPA_PD_MAX_ENHANCED,
	};
	u32 max = pd_max[opts->rev];
	int err;

	if (opts->base.pd_len > max)
		return mpa_opts_complain("private data of %u octets, above %u",
					 opts->base.pd_len, max);
	err = check_immediate(opts) ?: check_enhanced(opts);
	return err ?: check_place(opts) ?: check_serve(opts) ?:
	       check_ping(opts);
}

/* Defaults that depend on other options */
static void set_defaults(struct ping_opts *opts)
{
	if (opts->immediate && !given(opts, "markers"))
		opts->markers = 1;
	if (!given(opts, "place"))
		opts->place = opts->ooo;
	if (opts->base.cmd == SERVE && !given(opts, "rtr"))
		opts->rtr = RTR_ALL;
	if (opts->payload && !given(opts, "size"))
		opts->size = 0;
	/* a fallback may first take net.mpa.startup_timeout_ms */
	if (!given(opts, "timeout"))
		opts->timeout = opts->fallback ? 30 : 10;
}

/* Parse a command. @line is changed. */
int ping_opts_parse(struct net *net, char *line, struct ping_opts *opts)
{
	int err;

	*opts = (struct ping_opts) {
		.rev		= MPA_REV_1,
		.size		= 64,
		.count		= 1,
		.batch		= 1,
		.ird		= 16,
		.ord		= 16,
	};
	err = mpa_opts_parse(&syntax, net, line, &opts->base);
	if (err)
		return err;
	set_defaults(opts);
	err = check_opts(opts);
	if (err)
		mpa_opts_free(&opts->base);
	return err;
}

/* Set the parameters that come from the command. */
void ping_opts_params(const struct ping_opts *opts, struct mpa_params *params)
{
	params->flags = opts->markers ? MPA_F_MARKERS : 0;
	params->flags |= opts->ooo ? MPA_F_OOO : 0;
	params->flags |= opts->memalloc ? MPA_F_MEMALLOC : 0;
	params->flags |= opts->strict ? MPA_F_STRICT : 0;
	params->flags |= opts->rev == MPA_REV_0 ? MPA_F_REV0 : 0;
	params->rev = opts->rev;
	params->pd_max = MPA_PD_MAX_REV0;
	if (opts->rev != MPA_REV_2)
		return;
	params->flags |= MPA_F_ENHANCED;
	params->enhanced.ird = opts->ird;
	params->enhanced.ord = opts->ord;
	params->enhanced.rtr = opts->rtr;
	params->ird_max = opts->ird_max;
}

/* Length of ULPDU @seq: @max, or with mix= random and at most @max */
u32 ping_opts_len(const struct ping_opts *opts, u64 seq, u32 max)
{
	u32 rnd = jhash_2words(seq, seq >> 32, opts->mix);

	return opts->mix ? 1 + reciprocal_scale(rnd, max >> rnd % 8) : max;
}
