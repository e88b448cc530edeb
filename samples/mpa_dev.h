/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The files of a sample: misc devices in /dev/SAMPLE/. */
#ifndef _MPA_DEV_H
#define _MPA_DEV_H

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/seq_file.h>

struct net;

/**
 * struct mpa_dev - a file of a sample
 * @misc: its device
 * @run: runs a command, one line in each write(), which it may change; or NULL
 * @show: prints what read() returns; or NULL
 *
 * Both act on the network namespace of the task that opened the file.
 */
struct mpa_dev {
	struct miscdevice	misc;
	int			(*run)(struct net *net, char *line);
	void			(*show)(struct seq_file *seq, struct net *net);
};

#define MPA_DEV(_sample, _name, _fops)					\
	.misc = {							\
		.minor		= MISC_DYNAMIC_MINOR,			\
		.name		= _sample "_" _name,			\
		.nodename	= _sample "/" _name,			\
		.mode		= 0600,					\
		.fops		= (_fops),				\
	}

extern const struct file_operations mpa_dev_fops;

struct net *mpa_dev_net_get(void);
int mpa_dev_register(struct mpa_dev *devs, unsigned int nr);
void mpa_dev_unregister(struct mpa_dev *devs, unsigned int nr);

#endif /* _MPA_DEV_H */
