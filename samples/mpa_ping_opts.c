// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Commands and their options. */
#include <linux/ctype.h>
#include <linux/errno.h>
#include <linux/hex.h>
#include <linux/inet.h>
#include <linux/kstrtox.h>
#include <linux/netdevice.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "mpa_ping.h"

#define SERVE	PING_CMD_SERVE
#define STOP	PING_CMD_STOP
#define PING	PING_CMD_PING

/* A number of ULPDUs in one call that still makes sense */
#define BATCH_MAX	1024

/**
 * struct ping_option - an option
 * @name: what is before the "="
 * @cmds: commands that have it
 * @parse: reads what is behind it; has complained if it fails
 * @offset: where the value goes in struct ping_opts
 * @min: smallest number
 * @max: largest number
 * @words: or these words, for 0, 1, ...
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

/* One line in the log for a mistyped command */
static __printf(1, 2) int complain(const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	if (__ratelimit(&complaints))
		pr_notice("mpa_ping: %pV\n", &vaf);
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

static int parse_word(const struct ping_option *option,
		      struct ping_opts *opts, char *val)
{
	int i = match_string(option->words, ARRAY_SIZE(option->words), val);

	if (i < 0)
		return complain("%s=%s: neither %s nor %s", option->name, val,
				option->words[0], option->words[1]);
	*option_value(option, opts) = i;
	return 0;
}

static int parse_size(const struct ping_option *option,
		      struct ping_opts *opts, char *val)
{
	if (strcmp(val, "mulpdu"))
		return parse_number(option, opts, val);
	opts->size = 0;
	return 0;
}

/* Kinds of RTR, with commas between them */
static int parse_rtr(const struct ping_option *option, struct ping_opts *opts,
		     char *val)
{
	char *name;
	int i;

	while ((name = strsep(&val, ","))) {
		i = match_string(ping_rtr_names, PING_RTR_KINDS, name);
		if (i < 0)
			return complain("rtr: \"%s\" is no kind of RTR", name);
		if (opts->rtr & BIT(i))
			return complain("rtr: %s given twice", name);
		opts->rtr |= BIT(i);
	}
	return 0;
}

static int parse_pdata(const struct ping_option *option,
		       struct ping_opts *opts, char *val)
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
		return complain("pdatahex: not pairs of hexadecimal digits");
	return 0;
}

/* The part behind "%" names a device, whatever the address is. */
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

static int resolve(struct net *net, struct ping_opts *opts, char *val)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&opts->addr;
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

#define OPT_ADDR	0	/* its place in the table */

#define NUMBER(_name, _cmds, _min, _max) {			\
	.name = #_name, .cmds = (_cmds), .parse = parse_number,	\
	.offset = offsetof(struct ping_opts, _name),		\
	.min = (_min), .max = (_max),				\
}

#define WORD(_name, _cmds, _field, ...) {			\
	.name = #_name, .cmds = (_cmds), .parse = parse_word,	\
	.offset = offsetof(struct ping_opts, _field),		\
	.words = { __VA_ARGS__ },				\
}

static const struct ping_option options[] = {
	[OPT_ADDR] = { .name = "addr", .cmds = SERVE | PING },
	NUMBER(port, SERVE | STOP | PING, 1, U16_MAX),
	NUMBER(markers, SERVE | PING, 0, 1),
	NUMBER(rev, SERVE | PING, 0, 2),
	WORD(mode, SERVE | PING, mode, "echo", "sink"),
	WORD(start, SERVE | PING, immediate, "frames", "immediate"),
	{ .name = "pdata", .cmds = SERVE | PING, .parse = parse_pdata },
	{ .name = "pdatahex", .cmds = SERVE | PING, .parse = parse_pdatahex },
	NUMBER(reject, SERVE, 0, 1),
	NUMBER(hold, SERVE, 0, 600 * MSEC_PER_SEC),
	NUMBER(capture, SERVE, 0, 1),
	{ .name = "size", .cmds = PING, .parse = parse_size,
	  .offset = offsetof(struct ping_opts, size),
	  .min = 1, .max = MPA_ULPDU_MAX },
	NUMBER(count, PING, 0, U32_MAX),
	NUMBER(batch, PING, 1, BATCH_MAX),
	NUMBER(depth, PING, 1, 64 * BATCH_MAX),
	NUMBER(verify, PING, 0, 1),
	NUMBER(timeout, PING, 1, 3600),
	NUMBER(zerocopy, PING, 0, 1),
	NUMBER(source, PING, 0, 1),
	NUMBER(payload, PING, 0, 1),
	NUMBER(ird, SERVE | PING, 0, MPA_DEPTH_ULP),
	NUMBER(ord, SERVE | PING, 0, MPA_DEPTH_ULP),
	{ .name = "rtr", .cmds = SERVE | PING, .parse = parse_rtr },
	NUMBER(ird_max, PING, 0, MPA_DEPTH_ULP),
	NUMBER(fallback, PING, 0, 1),
};

static const struct {
	const char	*name;
	enum ping_cmd	cmd;
	const char	*needs[2];
} commands[] = {
	{ "serve", SERVE, { "port" } },
	{ "stop", STOP, { "port" } },
	{ "ping", PING, { "addr", "port" } },
};

static int find_option(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].name, name))
			return i;
	return -ENOENT;
}

static bool given(const struct ping_opts *opts, const char *name)
{
	int i = find_option(name);

	return i >= 0 && (opts->given & BIT(i));
}

static int parse_option(struct ping_opts *opts, const char *cmd, char *token,
			char **addr)
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
	if (i == OPT_ADDR) {
		*addr = val;
		return 0;
	}
	return options[i].parse(&options[i], opts, val);
}

/* An immediate start has nothing to negotiate. */
static int check_immediate(const struct ping_opts *opts)
{
	static const char * const none[] = { "rev", "pdata", "pdatahex",
					     "reject" };
	int i;

	if (!opts->immediate)
		return 0;
	for (i = 0; i < ARRAY_SIZE(none); i++)
		if (given(opts, none[i]))
			return complain("start=immediate: no %s", none[i]);
	return opts->markers ? 0 : complain("start=immediate: no markers=0");
}

/* What only Rev 2 has; a server takes every kind of RTR if not told. */
static int check_enhanced(struct ping_opts *opts)
{
	static const char * const only[] = { "ird", "ord", "rtr", "ird_max",
					     "fallback" };
	int i;

	for (i = 0; i < ARRAY_SIZE(only); i++)
		if (opts->rev != MPA_REV_2 && given(opts, only[i]))
			return complain("%s: needs rev=2", only[i]);
	if (opts->cmd == SERVE && !opts->rtr)
		opts->rtr = BIT(PING_RTR_KINDS) - 1;
	return 0;
}

static int check_ping(struct ping_opts *opts)
{
	if (opts->cmd != PING)
		return 0;
	if (opts->payload && given(opts, "count"))
		return complain("payload=1: no count");
	if (opts->payload && !given(opts, "size"))
		opts->size = 0;
	if (opts->depth && opts->depth < opts->batch)
		return complain("depth=%u: less than batch", opts->depth);
	return 0;
}

static u32 pd_max(u32 rev)
{
	switch (rev) {
	case MPA_REV_0:
		return MPA_PD_MAX_REV0;
	case MPA_REV_1:
		return MPA_PD_MAX;
	default:
		return MPA_PD_MAX_ENHANCED;
	}
}

static int check_opts(struct ping_opts *opts)
{
	u32 max = pd_max(opts->rev);
	int err;

	if (opts->pd_len > max)
		return complain("%u octets of private data, %u is the most",
				opts->pd_len, max);
	err = check_immediate(opts);
	if (!err)
		err = check_enhanced(opts);
	return err ?: check_ping(opts);
}

static void set_defaults(struct ping_opts *opts)
{
	*opts = (struct ping_opts) {
		.rev		= MPA_REV_1,
		.size		= 64,
		.count		= 1,
		.batch		= 1,
		.timeout	= 10,
		.ird		= 16,
		.ord		= 16,
	};
}

static char *next_token(char **line)
{
	char *token;

	do
		token = strsep(line, " \t\n");
	while (token && !*token);
	return token;
}

static int find_command(const char *name)
{
	int i;

	for (i = 0; name && i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return i;
	return complain("%s: neither serve nor stop nor ping", name ?: "");
}

static int check_needs(const struct ping_opts *opts, int cmd)
{
	const char *need;
	int i;

	for (i = 0; i < ARRAY_SIZE(commands[cmd].needs); i++) {
		need = commands[cmd].needs[i];
		if (need && !given(opts, need))
			return complain("%s: no %s", commands[cmd].name, need);
	}
	return 0;
}

static int parse(struct net *net, char *line, struct ping_opts *opts)
{
	int cmd = find_command(next_token(&line));
	char *addr = NULL;
	char *token;
	int err;

	if (cmd < 0)
		return cmd;
	opts->cmd = commands[cmd].cmd;
	while ((token = next_token(&line))) {
		err = parse_option(opts, commands[cmd].name, token, &addr);
		if (err)
			return err;
	}
	err = check_needs(opts, cmd);
	if (!err && addr)
		err = resolve(net, opts, addr);
	if (opts->immediate && !given(opts, "markers"))
		opts->markers = 1;
	return err ?: check_opts(opts);
}

/* Take a command apart. @line is changed. */
int ping_opts_parse(struct net *net, char *line, struct ping_opts *opts)
{
	int err;

	set_defaults(opts);
	err = parse(net, line, opts);
	if (err)
		ping_opts_free(opts);
	return err;
}

/* The part of the parameters that comes from the command */
void ping_opts_params(const struct ping_opts *opts, struct mpa_params *params)
{
	params->flags = opts->markers ? MPA_F_MARKERS : 0;
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

void ping_opts_free(struct ping_opts *opts)
{
	kvfree(opts->pd);
	opts->pd = NULL;
}
