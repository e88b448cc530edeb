// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The files of a sample. They are misc devices and not in debugfs, which a
 * kernel in lockdown closes.
 *
 * An open file holds a reference on the module and on its namespace.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/mpa.h>
#include <net/net_namespace.h>

#include "mpa_dev.h"

/* Private data in hexadecimal, and the rest of the command */
#define CMD_MAX		(2 * MPA_PD_MAX_REV0 + 4096)

/**
 * struct dev_file - an open file
 * @dev: its device
 * @net: namespace of the task that opened it
 */
struct dev_file {
	const struct mpa_dev	*dev;
	struct net		*net;
};

/*
 * A reference on the namespace of the task that opens a file. The capability is
 * the host's: memalloc=1 may use memory that all of it depends on.
 */
struct net *mpa_dev_net_get(void)
{
	return capable(CAP_NET_ADMIN) ? get_net(current->nsproxy->net_ns) :
					ERR_PTR(-EPERM);
}

static int dev_show(struct seq_file *seq, void *unused)
{
	struct dev_file *df = seq->private;

	if (df->dev->show)
		df->dev->show(seq, df->net);
	return 0;
}

static int dev_open(struct inode *inode, struct file *file)
{
	struct dev_file *df = kmalloc(sizeof(*df), GFP_KERNEL);
	int err;

	if (!df)
		return -ENOMEM;
	df->dev = container_of(file->private_data, struct mpa_dev, misc);
	df->net = mpa_dev_net_get();
	err = PTR_ERR_OR_ZERO(df->net);
	if (err)
		goto free;
	file->private_data = NULL;	/* seq_open() warns otherwise */
	err = single_open(file, dev_show, df);
	if (!err)
		return 0;
	put_net(df->net);
free:
	kfree(df);
	return err;
}

static ssize_t dev_write(struct file *file, const char __user *from, size_t len,
			 loff_t *pos)
{
	struct seq_file *seq = file->private_data;
	struct dev_file *df = seq->private;
	char *line;
	int err;

	if (!df->dev->run)
		return -EINVAL;
	if (len > CMD_MAX)
		return -E2BIG;
	line = kvmalloc(len + 1, GFP_KERNEL);
	if (!line)
		return -ENOMEM;
	line[len] = 0;
	err = -EFAULT;
	if (!copy_from_user(line, from, len))
		err = df->dev->run(df->net, line);
	kvfree(line);
	return err ?: len;
}

static int dev_release(struct inode *inode, struct file *file)
{
	struct seq_file *seq = file->private_data;
	struct dev_file *df = seq->private;

	put_net(df->net);
	kfree(df);
	return single_release(inode, file);
}

const struct file_operations mpa_dev_fops = {
	.owner		= THIS_MODULE,
	.open		= dev_open,
	.read		= seq_read,
	.write		= dev_write,
	.release	= dev_release,
	.llseek		= seq_lseek,
};

/*
 * The last step of a module's init. Fails only if nothing was registered: as
 * soon as a device exists it may be open, and then init must not fail.
 */
int mpa_dev_register(struct mpa_dev *devs, unsigned int nr)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		err = misc_register(&devs[i].misc);
		if (err && !i)
			return err;
		if (err)
			pr_err("no /dev/%s: %d\n", devs[i].misc.nodename, err);
	}
	return 0;
}

void mpa_dev_unregister(struct mpa_dev *devs, unsigned int nr)
{
	while (nr--)
		if (!IS_ERR_OR_NULL(devs[nr].misc.this_device))
			misc_deregister(&devs[nr].misc);
}
