// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A command:
 *
 * transport=NAME kind=stream|pingpong|memory tx_ns=FD rx_ns=FD addr=IPV4
 *	[size=N] [conns=N] [warm=N] [messages=N]
 *	[part=both|tx|duplex|thread|softirq] [corrupt=0|1]
 *
 * The connections go from namespace tx_ns, a file descriptor of the writer, to
 * addr in rx_ns. warm and messages are for all connections together. With
 * part=tx the receivers discard in TCP; with part=duplex both ends send as many
 * messages. In a pingpong, with part=thread threads post, not the upcalls; with
 * part=softirq MPA calls these in softirq, and sends there. corrupt=1 sends one
 * wrong octet, which the receiver has to notice.
 */
#include <linux/inet.h>
#include <linux/string.h>

#include "bench_int.h"

static const char *const kinds[] = {
	[BENCH_STREAM]		= "stream",
	[BENCH_PINGPONG]	= "pingpong",
	[BENCH_MEMORY]		= "memory",
};

static const char *const parts[] = {
	"both", "tx", "thread", "softirq", "duplex"
};

static int parse_u32(const char *val, u32 *to, u32 min, u32 max)
{
	int err = kstrtou32(val, 10, to);

	if (!err && (*to < min || *to > max))
		err = -ERANGE;
	return err;
}

static int parse_addr(const char *val, struct bench_opts *opts)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&opts->addr;

	sin->sin_family = AF_INET;
	return in4_pton(val, -1, (u8 *)&sin->sin_addr, -1, NULL) ? 0 : -EINVAL;
}

static int parse_word(const char *val, const char *const *words, size_t nr)
{
	return match_string(words, nr, val);
}

static int parse_name(const char *val, struct bench_opts *opts)
{
	ssize_t len = strscpy(opts->transport, val, sizeof(opts->transport));

	return min_t(ssize_t, len, 0);
}

static int parse_kind(const char *val, struct bench_opts *opts)
{
	int kind = parse_word(val, kinds, ARRAY_SIZE(kinds));

	opts->kind = kind;
	return min(kind, 0);
}

static int parse_part(const char *val, struct bench_opts *opts)
{
	int part = parse_word(val, parts, ARRAY_SIZE(parts));

	opts->sink = part == 1;
	opts->thread = part == 2;
	opts->softirq = part == 3;
	opts->duplex = part == 4;
	return min(part, 0);
}

static int parse_option(const char *name, const char *val,
			struct bench_opts *opts)
{
	if (!strcmp(name, "transport"))
		return parse_name(val, opts);
	if (!strcmp(name, "kind"))
		return parse_kind(val, opts);
	if (!strcmp(name, "tx_ns"))
		return parse_u32(val, &opts->tx_ns, 0, INT_MAX);
	if (!strcmp(name, "rx_ns"))
		return parse_u32(val, &opts->rx_ns, 0, INT_MAX);
	if (!strcmp(name, "addr"))
		return parse_addr(val, opts);
	if (!strcmp(name, "size"))
		return parse_u32(val, &opts->size, 1, BENCH_SIZE_MAX);
	if (!strcmp(name, "conns"))
		return parse_u32(val, &opts->conns, 1, 65536);
	if (!strcmp(name, "warm"))
		return parse_u32(val, &opts->warm, 1, INT_MAX);
	if (!strcmp(name, "messages"))
		return parse_u32(val, &opts->messages, 1, INT_MAX);
	if (!strcmp(name, "part"))
		return parse_part(val, opts);
	if (!strcmp(name, "corrupt"))
		return kstrtobool(val, &opts->corrupt);
	return -EINVAL;
}

int bench_opts_parse(char *line, struct bench_opts *opts)
{
	char *name, *val;
	int err;

	*opts = (struct bench_opts) {
		.size		= 64,
		.conns		= 1,
		.warm		= 64,
		.messages	= 256,
	};
	while ((val = strsep(&line, " "))) {
		name = strsep(&val, "=");
		if (!val)
			return -EINVAL;
		err = parse_option(name, val, opts);
		if (err)
			return err;
	}
	return opts->addr.ss_family ? 0 : -EDESTADDRREQ;
}
