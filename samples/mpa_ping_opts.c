// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The commands, "command name=value ...", and their options. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/hex.h>
#include <linux/inet.h>
#include <linux/jhash.h>
#include <linux/kstrtox.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "mpa_ping.h"

#define SERVE	PING_CMD_SERVE
#define STOP	PING_CMD_STOP
#define PING	PING_CMD_PING

/* Most ULPDUs in one call */
#define BATCH_MAX	1024

#define RTR_ALL	(MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ)

/**
 * struct ping_option - an option of a command
 * @name: its name, before the "="
 * @cmds: bits of the commands that accept it
 * @parse: parses the value after the "="; logs the error on failure
 * @offset: offset of the value in struct ping_opts
 * @min: smallest valid number
 * @max: largest valid number
 * @words: if set, valid words in place of numbers, for 0, 1, ...
 */
struct ping_option {
	const char	*name;
	unsigned int	cmds;
	int		(*parse)(const struct ping_option *option,
				 struct ping_opts *opts, char *val);
	size_t		offset;
	u32		min;
	u32		max;
	const char	*words[3];
};

static DEFINE_RATELIMIT_STATE(complaints, 5 * HZ, 100);

/* Log one line about a mistyped command. */
static __printf(1, 2) int complain(const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	if (__ratelimit(&complaints))
		pr_notice("%pV\n", &vaf);
	va_end(args);
	return -EINVAL;
}

static u32 *option_value(const struct ping_option *option,
			 struct ping_opts *opts)
{
	return (void *)opts + option->offset;
}

static int parse_number(const struct ping_option *option,
			struct ping_opts *opts, char *val)
{
	u32 *res = option_value(option, opts);

	if (kstrtou32(val, 10, res) || *res < option->min || *res > option->max)
		return complain("%s=%s: not a number from %u to %u",
				option->name, val, option->min, option->max);
	return 0;
}

static int find_word(const struct ping_option *option, const char *val)
{
	int i = match_string(option->words, ARRAY_SIZE(option->words), val);

	if (i < 0)
		return complain("%s=%s: unknown", option->name, val);
	return i;
}

static int parse_word(const struct ping_option *option, struct ping_opts *opts,
		      char *val)
{
	int i = find_word(option, val);

	if (i < 0)
		return i;
	*option_value(option, opts) = i;
	return 0;
}

/* One bit per word; words are separated by commas, or "none". */
static int parse_word_list(const struct ping_option *option,
			   struct ping_opts *opts, char *val)
{
	u32 *res = option_value(option, opts);
	char *word;
	int i;

	*res = 0;
	if (!strcmp(val, "none"))
		return 0;
	while ((word = strsep(&val, ","))) {
		i = find_word(option, word);
		if (i < 0)
			return i;
		*res |= BIT(i);
	}
	return 0;
}

static int parse_pdata(const struct ping_option *option, struct ping_opts *opts,
		       char *val)
{
	if (opts->has_pd)
		return complain("private data given twice");
	opts->has_pd = true;
	opts->pd_len = strlen(val);
	opts->pd = kvmalloc(opts->pd_len + 1, GFP_KERNEL);
	if (!opts->pd)
		return -ENOMEM;
	memcpy(opts->pd, val, opts->pd_len);
	return 0;
}

static int parse_pdatahex(const struct ping_option *option,
			  struct ping_opts *opts, char *val)
{
	int err = parse_pdata(option, opts, val);

	if (err)
		return err;
	opts->pd_len /= 2;
	if (strlen(val) % 2 || hex2bin(opts->pd, val, opts->pd_len))
		return complain("pdatahex: not pairs of digits");
	return 0;
}

/* Resolved after parsing, when the port is known */
static int parse_addr(const struct ping_option *option, struct ping_opts *opts,
		      char *val)
{
	opts->addr_text = val;
	return 0;
}

/* The part after "%" names a device, for either address family. */
static int parse_dev(struct net *net, struct ping_opts *opts, const char *name)
{
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_name_rcu(net, name);
	if (dev)
		opts->dev = dev->ifindex;
	rcu_read_unlock();
	if (!dev && (kstrtoint(name, 10, &opts->dev) || opts->dev <= 0))
		return complain("addr: no device %s", name);
	return 0;
}

static int resolve(struct net *net, struct ping_opts *opts)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&opts->addr;
	char *val = opts->addr_text;
	char *dev = strchr(val, '%');
	char port[8];
	int err;

	if (dev) {
		*dev++ = 0;
		err = parse_dev(net, opts, dev);
		if (err)
			return err;
	}
	snprintf(port, sizeof(port), "%u", opts->port);
	if (inet_pton_with_scope(net, AF_UNSPEC, val, port, &opts->addr))
		return complain("addr=%s: not an address", val);
	if (sin6->sin6_family != AF_INET6)
		return 0;
	if (!opts->dev &&
	    ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		return complain("addr=%s: needs %%device", val);
	sin6->sin6_scope_id = opts->dev;
	return 0;
}

static int parse_size(const struct ping_option *option, struct ping_opts *opts,
		      char *val)
{
	if (strcmp(val, "mulpdu"))
		return parse_number(option, opts, val);
	opts->size = 0;
	return 0;
}

#define OPTION(_name, _cmds, _parse)					\
	.name = #_name, .cmds = (_cmds), .parse = (_parse),		\
	.offset = offsetof(struct ping_opts, _name)

#define NUMBER(_name, _cmds, _min, _max) {				\
	OPTION(_name, _cmds, parse_number),				\
	.min = (_min), .max = (_max),					\
}

static const struct ping_option options[] = {
	{ .name = "addr", .cmds = SERVE | PING, .parse = parse_addr },
	{ .name = "port", .cmds = SERVE | STOP | PING,
	  .parse = parse_number, .min = 1, .max = U16_MAX,
	  .offset = offsetof(struct ping_opts, port) },
	NUMBER(markers, SERVE | PING, 0, 1),
	NUMBER(ooo, SERVE | PING, 0, 1),
	NUMBER(place, SERVE | PING, 0, 1),
	NUMBER(memalloc, SERVE | PING, 0, 1),
	NUMBER(strict, SERVE | PING, 0, 1),
	NUMBER(rev, SERVE | PING, 0, 2),
	{ OPTION(mode, SERVE | PING, parse_word),
	  .words = { "echo", "sink" } },
	{ .name = "start", .cmds = SERVE | PING, .parse = parse_word,
	  .offset = offsetof(struct ping_opts, immediate),
	  .words = { "frames", "immediate" } },
	{ .name = "pdata", .cmds = SERVE | PING, .parse = parse_pdata },
	{ .name = "pdatahex", .cmds = SERVE | PING,
	  .parse = parse_pdatahex },
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
	NUMBER(ird, SERVE | PING, 0, MPA_DEPTH_ULP),
	NUMBER(ord, SERVE | PING, 0, MPA_DEPTH_ULP),
	{ OPTION(rtr, SERVE | PING, parse_word_list),
	  .words = { "send", "write", "read" } },
	NUMBER(ird_max, PING, 0, MPA_DEPTH_MAX),
	NUMBER(fallback, PING, 0, 1),
};

static int find_option(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].name, name))
			return i;
	return -ENOENT;
}

/* True if the option of that name was given */
static bool given(const struct ping_opts *opts, const char *name)
{
	int i = find_option(name);

	return i >= 0 && (opts->given & BIT(i));
}

static int parse_option(struct ping_opts *opts, const char *cmd, char *token)
{
	char *val = strchr(token, '=');
	int i;

	if (!val)
		return complain("%s: no value", token);
	*val++ = 0;
	i = find_option(token);
	if (i < 0 || !(options[i].cmds & opts->cmd))
		return complain("%s: has no option %s", cmd, token);
	if (opts->given & BIT(i))
		return complain("%s: given twice", token);
	opts->given |= BIT(i);
	return options[i].parse(&options[i], opts, val);
}

static char *next_token(char **line)
{
	char *token;

	do
		token = strsep(line, " \t\n");
	while (token && !*token);
	return token;
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
			return complain("start=immediate: not with %s",
					none[i]);
	return opts->markers ? 0 :
	       complain("start=immediate: not with markers=0");
}

/* Options of Rev 2 only; a Responder must accept at least one kind of RTR. */
static int check_enhanced(const struct ping_opts *opts)
{
	static const char * const only[] = { "ird", "ord", "rtr", "ird_max",
					     "fallback" };
	int i;

	for (i = 0; i < ARRAY_SIZE(only); i++)
		if (opts->rev != MPA_REV_2 && given(opts, only[i]))
			return complain("%s: only with rev=2", only[i]);
	if (opts->cmd == SERVE && !opts->rtr)
		return complain("rtr=none: only with ping");
	return 0;
}

/* ULPDUs passed out of order must be placed. */
static int check_place(const struct ping_opts *opts)
{
	return opts->place || !opts->ooo ? 0 :
	       complain("ooo=1: not with place=0");
}

/* size= and count= apply to source=1, which requires a peer without echoes. */
static int check_serve(const struct ping_opts *opts)
{
	static const char * const only[] = { "size", "count" };
	int i;

	if (opts->cmd != SERVE)
		return 0;
	for (i = 0; i < ARRAY_SIZE(only); i++)
		if (!opts->source && given(opts, only[i]))
			return complain("serve %s: only with source=1",
					only[i]);
	if (opts->source && opts->mode != PING_MODE_SINK)
		return complain("serve source=1: only with mode=sink");
	return opts->lazy && opts->mode != PING_MODE_SINK ?
	       complain("lazy=1: only with mode=sink") : 0;
}

static int check_ping(const struct ping_opts *opts)
{
	if (opts->cmd != PING)
		return 0;
	if (opts->payload && given(opts, "count"))
		return complain("payload=1: not with count");
	if (opts->depth && opts->depth < opts->batch)
		return complain("depth=%u: less than batch", opts->depth);
	return 0;
}

static int check_opts(const struct ping_opts *opts)
{
	static const u32 pd_max[] = {
		MPA_PD_MAX_REV0, MPA_PD_MAX, MPA_PD_MAX_ENHANCED,
	};
	u32 max = pd_max[opts->rev];
	int err;

	if (opts->pd_len > max)
		return complain("private data of %u octets, above %u",
				opts->pd_len, max);
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
	if (opts->cmd == SERVE && !given(opts, "rtr"))
		opts->rtr = RTR_ALL;
	if (opts->payload && !given(opts, "size"))
		opts->size = 0;
	/* a fallback may first take net.mpa.startup_timeout_ms */
	if (!given(opts, "timeout"))
		opts->timeout = opts->fallback ? 30 : 10;
}

static int parse_command(struct net *net, char *line, struct ping_opts *opts)
{
	/* by bit of enum ping_cmd */
	static const char * const cmds[] = { "serve", "stop", "ping" };
	const char *cmd = next_token(&line) ?: "";
	int i = match_string(cmds, ARRAY_SIZE(cmds), cmd);
	char *token;
	int err = 0;

	if (i < 0)
		return complain("'%s': no such command", cmd);
	opts->cmd = BIT(i);
	while (!err && (token = next_token(&line)))
		err = parse_option(opts, cmd, token);
	if (err)
		return err;
	if (!opts->port)
		return complain("%s: port is missing", cmd);
	if (opts->cmd == PING && !opts->addr_text)
		return complain("%s: addr is missing", cmd);
	err = opts->addr_text ? resolve(net, opts) : 0;
	if (err)
		return err;
	set_defaults(opts);
	return check_opts(opts);
}

/* Parse a command. @line is changed. On failure there is nothing to free. */
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
	err = parse_command(net, line, opts);
	opts->addr_text = NULL;
	if (err)
		ping_opts_free(opts);
	return err;
}

void ping_opts_free(struct ping_opts *opts)
{
	kvfree(opts->pd);
	opts->pd = NULL;
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
