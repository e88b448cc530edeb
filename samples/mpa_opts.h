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
 * struct mpa_opts - what all samples have; the first member of their options
 * @cmd: which command; one bit
 * @given: options that were there, by their place in the table
 * @addr_text: what addr= says, while the command is taken apart
 * @addr: where to listen, or to connect to; family AF_UNSPEC: anywhere
 * @dev: device that the address named, or 0
 * @port: its port, host byte order
 * @has_pd: private data was given, even if none
 * @pd: private data
 * @pd_len: octets of it
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
 * struct mpa_option - an option
 * @name: what is before the "="
 * @cmds: commands that have it
 * @parse: reads what is behind it; has complained if it fails
 * @offset: where the value goes in the options of the sample
 * @min: smallest number
 * @max: largest number
 * @words: or these words, for 0, 1, ...
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
 * @needs: options that it cannot do without
 */
struct mpa_command {
	const char	*name;
	unsigned int	cmd;
	const char	*needs[2];
};

/**
 * struct mpa_syntax - the commands of a sample
 * @options: the options of all commands
 * @nr_options: how many
 * @commands: the commands
 * @nr_commands: how many
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
struct net *mpa_opts_net(void);
ssize_t mpa_opts_write(const char __user *from, size_t len,
		       int (*run)(struct net *net, char *line));
int mpa_opts_sock_setup(struct socket *sock, void *ctx);

/* For struct mpa_option */
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
