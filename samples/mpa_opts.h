/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Commands of a sample, and their options: "command name=value ...". */
#ifndef _MPA_OPTS_H
#define _MPA_OPTS_H

#include <linux/compiler.h>
#include <linux/socket.h>
#include <linux/types.h>

struct net;
struct socket;

/**
 * struct mpa_opts - options of all samples; first member of a sample's options
 * @cmd: bit of the command
 * @given: options that were given: one bit per index in the table
 * @addr_text: value of addr=, until it is resolved
 * @addr: address to listen on or to connect to; AF_UNSPEC: any
 * @dev: ifindex of the device that the address names, or 0
 * @port: port, host byte order
 * @has_pd: private data was given; it may be empty
 * @pd: private data
 * @pd_len: length of @pd in octets
 */
struct mpa_opts {
	unsigned int		cmd;
	unsigned long		given;
	char			*addr_text;
	struct sockaddr_storage	addr;
	int			dev;
	u32			port;
	bool			has_pd;
	u8			*pd;
	u32			pd_len;
};

/**
 * struct mpa_option - an option of a command
 * @name: its name, before the "="
 * @cmds: bits of the commands that accept it
 * @parse: parses the value after the "="; logs the error on failure
 * @offset: offset of the value in the sample's options
 * @min: smallest valid number
 * @max: largest valid number
 * @words: if set, valid words in place of numbers, for 0, 1, ...
 */
struct mpa_option {
	const char	*name;
	unsigned int	cmds;
	int		(*parse)(const struct mpa_option *option,
				 struct mpa_opts *opts, char *val);
	size_t		offset;
	u32		min;
	u32		max;
	const char	*words[6];
};

/**
 * struct mpa_command - a command
 * @name: its name
 * @cmd: its bit
 * @needs: options that must be given
 */
struct mpa_command {
	const char	*name;
	unsigned int	cmd;
	const char	*needs[2];
};

/**
 * struct mpa_syntax - the commands of a sample
 * @options: the options of all commands
 * @nr_options: number of options
 * @commands: the commands
 * @nr_commands: number of commands
 */
struct mpa_syntax {
	const struct mpa_option		*options;
	unsigned int			nr_options;
	const struct mpa_command	*commands;
	unsigned int			nr_commands;
};

__printf(1, 2) int mpa_opts_complain(const char *fmt, ...);
bool mpa_opts_given(const struct mpa_syntax *syntax,
		    const struct mpa_opts *opts, const char *name);
int mpa_opts_parse(const struct mpa_syntax *syntax, struct net *net,
		   char *line, struct mpa_opts *opts);
void mpa_opts_free(struct mpa_opts *opts);
int mpa_opts_sock_setup(struct socket *sock, void *ctx);

/* Parsers for struct mpa_option */
int mpa_opts_number(const struct mpa_option *option, struct mpa_opts *opts,
		    char *val);
int mpa_opts_word(const struct mpa_option *option, struct mpa_opts *opts,
		  char *val);
int mpa_opts_word_list(const struct mpa_option *option, struct mpa_opts *opts,
		       char *val);
int mpa_opts_addr(const struct mpa_option *option, struct mpa_opts *opts,
		  char *val);
int mpa_opts_pdata(const struct mpa_option *option, struct mpa_opts *opts,
		   char *val);
int mpa_opts_pdatahex(const struct mpa_option *option, struct mpa_opts *opts,
		      char *val);

#endif /* _MPA_OPTS_H */
