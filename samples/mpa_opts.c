// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Commands of a sample, and their options. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/hex.h>
#include <linux/inet.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/sock.h>

#include "mpa_opts.h"

static DEFINE_RATELIMIT_STATE(complaints, 5 * HZ, 100);

/* Log one line about a mistyped command. */
int mpa_opts_complain(const char *fmt, ...)
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

static u32 *option_value(const struct mpa_option *option,
			 struct mpa_opts *opts)
{
	return (void *)opts + option->offset;
}

int mpa_opts_number(const struct mpa_option *option, struct mpa_opts *opts,
		    char *val)
{
	u32 *res = option_value(option, opts);

	if (kstrtou32(val, 10, res) || *res < option->min || *res > option->max)
		return mpa_opts_complain("%s=%s: not a number from %u to %u",
					 option->name, val, option->min,
					 option->max);
	return 0;
}

static int find_word(const struct mpa_option *option, const char *val)
{
	int i = match_string(option->words, ARRAY_SIZE(option->words), val);

	if (i < 0)
		return mpa_opts_complain("%s=%s: unknown", option->name, val);
	return i;
}

int mpa_opts_word(const struct mpa_option *option, struct mpa_opts *opts,
		  char *val)
{
	int i = find_word(option, val);

	if (i < 0)
		return i;
	*option_value(option, opts) = i;
	return 0;
}

/* One bit per word; words are separated by commas, or "none". */
int mpa_opts_word_list(const struct mpa_option *option, struct mpa_opts *opts,
		       char *val)
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

int mpa_opts_pdata(const struct mpa_option *option, struct mpa_opts *opts,
		   char *val)
{
	if (opts->has_pd)
		return mpa_opts_complain("private data given twice");
	opts->has_pd = true;
	opts->pd_len = strlen(val);
	opts->pd = kvmalloc(opts->pd_len + 1, GFP_KERNEL);
	if (!opts->pd)
		return -ENOMEM;
	memcpy(opts->pd, val, opts->pd_len);
	return 0;
}

int mpa_opts_pdatahex(const struct mpa_option *option, struct mpa_opts *opts,
		      char *val)
{
	int err = mpa_opts_pdata(option, opts, val);

	if (err)
		return err;
	opts->pd_len /= 2;
	if (strlen(val) % 2 || hex2bin(opts->pd, val, opts->pd_len))
		return mpa_opts_complain("pdatahex: not pairs of digits");
	return 0;
}

/* Resolved after parsing, when the port is known */
int mpa_opts_addr(const struct mpa_option *option, struct mpa_opts *opts,
		  char *val)
{
	opts->addr_text = val;
	return 0;
}

/* The part after "%" names a device, for either address family. */
static int parse_dev(struct net *net, struct mpa_opts *opts, const char *name)
{
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_name_rcu(net, name);
	if (dev)
		opts->dev = dev->ifindex;
	rcu_read_unlock();
	if (!dev && (kstrtoint(name, 10, &opts->dev) || opts->dev <= 0))
		return mpa_opts_complain("addr: no device %s", name);
	return 0;
}

static int resolve(struct net *net, struct mpa_opts *opts)
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
		return mpa_opts_complain("addr=%s: not an address", val);
	if (sin6->sin6_family != AF_INET6)
		return 0;
	if (!opts->dev &&
	    ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		return mpa_opts_complain("addr=%s: needs %%device", val);
	sin6->sin6_scope_id = opts->dev;
	return 0;
}

static int find_option(const struct mpa_syntax *syntax, const char *name)
{
	int i;

	for (i = 0; i < syntax->nr_options; i++)
		if (!strcmp(syntax->options[i].name, name))
			return i;
	return -ENOENT;
}

/* True if the option of that name was given */
bool mpa_opts_given(const struct mpa_syntax *syntax,
		    const struct mpa_opts *opts, const char *name)
{
	int i = find_option(syntax, name);

	return i >= 0 && (opts->given & BIT(i));
}

static int parse_option(const struct mpa_syntax *syntax, struct mpa_opts *opts,
			const char *cmd, char *token)
{
	const struct mpa_option *option;
	char *val = strchr(token, '=');
	int i;

	if (!val)
		return mpa_opts_complain("%s: no value", token);
	*val++ = 0;
	i = find_option(syntax, token);
	if (i < 0 || !(syntax->options[i].cmds & opts->cmd))
		return mpa_opts_complain("%s: has no option %s", cmd, token);
	if (opts->given & BIT(i))
		return mpa_opts_complain("%s: given twice", token);
	opts->given |= BIT(i);
	option = &syntax->options[i];
	return option->parse(option, opts, val);
}

static char *next_token(char **line)
{
	char *token;

	do
		token = strsep(line, " \t\n");
	while (token && !*token);
	return token;
}

static const struct mpa_command *find_command(const struct mpa_syntax *syntax,
					      const char *name)
{
	int i;

	for (i = 0; name && i < syntax->nr_commands; i++)
		if (!strcmp(syntax->commands[i].name, name))
			return &syntax->commands[i];
	mpa_opts_complain("%s: no such command", name ?: "");
	return NULL;
}

static int check_needs(const struct mpa_syntax *syntax,
		       const struct mpa_opts *opts,
		       const struct mpa_command *cmd)
{
	const char *need;
	int i;

	for (i = 0; i < ARRAY_SIZE(cmd->needs); i++) {
		need = cmd->needs[i];
		if (need && !mpa_opts_given(syntax, opts, need))
			return mpa_opts_complain("%s: no %s", cmd->name, need);
	}
	return 0;
}

/*
 * Parse a command. @line is changed; @opts holds the defaults. On failure there
 * is nothing to free.
 */
int mpa_opts_parse(const struct mpa_syntax *syntax, struct net *net,
		   char *line, struct mpa_opts *opts)
{
	const struct mpa_command *cmd;
	char *token;
	int err = 0;

	cmd = find_command(syntax, next_token(&line));
	if (!cmd)
		return -EINVAL;
	opts->cmd = cmd->cmd;
	while (!err && (token = next_token(&line)))
		err = parse_option(syntax, opts, cmd->name, token);
	if (!err)
		err = check_needs(syntax, opts, cmd);
	if (!err && opts->addr_text)
		err = resolve(net, opts);
	opts->addr_text = NULL;
	if (err)
		mpa_opts_free(opts);
	return err;
}

void mpa_opts_free(struct mpa_opts *opts)
{
	kvfree(opts->pd);
	opts->pd = NULL;
}

/* Keepalive: detects a peer that has vanished. */
int mpa_opts_sock_setup(struct socket *sock, void *ctx)
{
	sock_set_keepalive(sock->sk);
	return 0;
}
