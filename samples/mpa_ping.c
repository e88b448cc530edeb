// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer of MPA for the shell: sends ULPDUs, echoes them, and measures.
 * mpa_ping.md explains its files in /dev/mpa_ping, commands and results.
 *
 * The files are misc devices and not in debugfs, which a kernel in lockdown
 * closes. An open file holds a reference on the module and on its namespace, a
 * listening socket one on its namespace.
 *
 * Locks: ping_net.lock, servers_lock (a mutex each) and the lock of a server
 * are not nested. MPA's locks are taken inside the last two. The data of a
 * connection needs no lock: its callbacks run one at a time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/sock.h>

#include "mpa_ping.h"

/* Private data in hexadecimal, and the rest of the command */
#define CMD_MAX		(2 * MPA_PD_MAX_REV0 + 4096)

static unsigned int ping_net_id __read_mostly;

struct ping_net *ping_net(struct net *net)
{
	return net_generic(net, ping_net_id);
}

struct ping_buf *ping_net_payload(struct net *net)
{
	struct ping_net *pn = ping_net(net);
	struct ping_buf *buf;

	mutex_lock(&pn->lock);
	buf = ping_buf_get(pn->payload);
	mutex_unlock(&pn->lock);
	return buf;
}

static void net_set_buf(struct ping_net *pn, struct ping_buf **to,
			struct ping_buf *buf)
{
	mutex_lock(&pn->lock);
	swap(*to, buf);
	mutex_unlock(&pn->lock);
	ping_buf_put(buf);
}

void ping_net_captured(struct net *net, struct ping_buf *buf)
{
	net_set_buf(ping_net(net), &ping_net(net)->captured, buf);
}

/* Keepalive: detects a peer that has vanished. */
int ping_sock_setup(struct socket *sock, void *ctx)
{
	sock_set_keepalive(sock->sk);
	return 0;
}

static int ping_command(struct net *net, char *line)
{
	struct ping_opts opts;
	int err;

	err = ping_opts_parse(net, line, &opts);
	if (err)
		return err;
	switch (opts.cmd) {
	case PING_CMD_SERVE:
		err = ping_server_start(net, &opts);
		break;
	case PING_CMD_STOP:
		err = ping_server_stop(net, opts.port);
		break;
	case PING_CMD_PING:
		err = ping_client_run(net, &opts);
		break;
	}
	ping_opts_free(&opts);
	return err;
}

static void show_last(struct seq_file *seq, struct net *net,
		      enum ping_side side)
{
	struct ping_net *pn = ping_net(net);

	mutex_lock(&pn->lock);
	if (pn->last[side])
		ping_result_show(seq, pn->last[side]);
	mutex_unlock(&pn->lock);
}

/**
 * struct ping_dev - a file of commands or results
 * @misc: its device
 * @run: runs a command, one line in each write(), which it may change; or NULL
 * @side: if there is no @run, read() returns the last result of this side
 *
 * Both act on the network namespace of the task that opened the file.
 */
struct ping_dev {
	struct miscdevice	misc;
	int			(*run)(struct net *net, char *line);
	enum ping_side		side;
};

/**
 * struct ping_file - an open file
 * @dev: its device
 * @net: namespace of the task that opened it
 */
struct ping_file {
	const struct ping_dev	*dev;
	struct net		*net;
};

/*
 * A reference on the namespace of the task that opens a file. The capability is
 * the host's: memalloc=1 may use memory that all of it depends on.
 */
static struct net *file_net_get(void)
{
	return capable(CAP_NET_ADMIN) ? get_net(current->nsproxy->net_ns) :
					ERR_PTR(-EPERM);
}

static int ping_file_show(struct seq_file *seq, void *unused)
{
	struct ping_file *pf = seq->private;

	if (!pf->dev->run)
		show_last(seq, pf->net, pf->dev->side);
	return 0;
}

static int ping_file_open(struct inode *inode, struct file *file)
{
	struct ping_file *pf = kmalloc(sizeof(*pf), GFP_KERNEL);
	int err;

	if (!pf)
		return -ENOMEM;
	pf->dev = container_of(file->private_data, struct ping_dev, misc);
	pf->net = file_net_get();
	err = PTR_ERR_OR_ZERO(pf->net);
	if (err)
		goto free;
	file->private_data = NULL;	/* seq_open() warns otherwise */
	err = single_open(file, ping_file_show, pf);
	if (!err)
		return 0;
	put_net(pf->net);
free:
	kfree(pf);
	return err;
}

static ssize_t ping_file_write(struct file *file, const char __user *from,
			       size_t len, loff_t *pos)
{
	struct seq_file *seq = file->private_data;
	struct ping_file *pf = seq->private;
	char *line;
	int err;

	if (!pf->dev->run)
		return -EINVAL;
	if (len > CMD_MAX)
		return -E2BIG;
	line = kvmalloc(len + 1, GFP_KERNEL);
	if (!line)
		return -ENOMEM;
	line[len] = 0;
	err = -EFAULT;
	if (copy_from_user(line, from, len))
		goto free;
	/* Or the rest of the command would be left out */
	err = -EINVAL;
	if (strlen(line) == len)
		err = pf->dev->run(pf->net, line);
free:
	kvfree(line);
	return err ?: len;
}

static int ping_file_release(struct inode *inode, struct file *file)
{
	struct seq_file *seq = file->private_data;
	struct ping_file *pf = seq->private;

	put_net(pf->net);
	kfree(pf);
	return single_release(inode, file);
}

static const struct file_operations ping_file_fops = {
	.owner		= THIS_MODULE,
	.open		= ping_file_open,
	.read		= seq_read,
	.write		= ping_file_write,
	.release	= ping_file_release,
	.llseek		= seq_lseek,
};

/**
 * struct payload_file - "payload", opened for writing
 * @net: namespace of the task that opened it
 * @lock: protects @buf: two tasks may write at once
 * @buf: octets written so far
 */
struct payload_file {
	struct net	*net;
	struct mutex	lock;	/* protects @buf */
	struct ping_buf	*buf;
};

static int payload_open(struct inode *inode, struct file *file)
{
	struct payload_file *pf;
	int err = -ENOMEM;

	/* The close would leave an empty payload. */
	if (!(file->f_mode & FMODE_WRITE))
		return -EINVAL;
	pf = kmalloc(sizeof(*pf), GFP_KERNEL);
	if (!pf)
		return err;
	mutex_init(&pf->lock);
	pf->buf = ping_buf_alloc();
	if (!pf->buf)
		goto free;
	pf->net = file_net_get();
	err = PTR_ERR_OR_ZERO(pf->net);
	if (err)
		goto put;
	file->private_data = pf;
	return 0;

put:
	ping_buf_put(pf->buf);
free:
	kfree(pf);
	return err;
}

static ssize_t payload_write(struct file *file, const char __user *from,
			     size_t len, loff_t *pos)
{
	struct payload_file *pf = file->private_data;
	size_t room;
	void *to;

	if (!len)
		return 0;
	guard(mutex)(&pf->lock);
	to = ping_buf_tail(pf->buf, &room);
	if (IS_ERR(to))
		return PTR_ERR(to);
	len = min(len, room);
	if (copy_from_user(to, from, len))
		return -EFAULT;
	pf->buf->len += len;
	return len;
}

static int payload_release(struct inode *inode, struct file *file)
{
	struct payload_file *pf = file->private_data;
	struct ping_net *pn = ping_net(pf->net);

	net_set_buf(pn, &pn->payload, pf->buf);
	put_net(pf->net);
	kfree(pf);
	return 0;
}

static const struct file_operations payload_fops = {
	.owner		= THIS_MODULE,
	.open		= payload_open,
	.write		= payload_write,
	.release	= payload_release,
	.llseek		= noop_llseek,
};

static int captured_open(struct inode *inode, struct file *file)
{
	struct net *net = file_net_get();
	struct ping_net *pn;

	if (IS_ERR(net))
		return PTR_ERR(net);
	pn = ping_net(net);
	mutex_lock(&pn->lock);
	file->private_data = ping_buf_get(pn->captured);
	mutex_unlock(&pn->lock);
	put_net(net);
	return 0;
}

static ssize_t captured_read(struct file *file, char __user *to, size_t len,
			     loff_t *pos)
{
	struct ping_buf *buf = file->private_data;
	size_t off = *pos;

	if (!buf || *pos < 0 || *pos >= buf->len)
		return 0;
	len = min3(len, buf->len - off, PAGE_SIZE - offset_in_page(off));
	if (copy_to_user(to, page_address(buf->bv[off / PAGE_SIZE].bv_page) +
			 offset_in_page(off), len))
		return -EFAULT;
	*pos += len;
	return len;
}

static int captured_release(struct inode *inode, struct file *file)
{
	ping_buf_put(file->private_data);
	return 0;
}

static const struct file_operations captured_fops = {
	.owner		= THIS_MODULE,
	.open		= captured_open,
	.read		= captured_read,
	.release	= captured_release,
	.llseek		= default_llseek,
};

static int __net_init ping_net_init(struct net *net)
{
	mutex_init(&ping_net(net)->lock);
	return 0;
}

/* No connection is left: each socket holds a reference on the namespace. */
static void __net_exit ping_net_exit(struct net *net)
{
	struct ping_net *pn = ping_net(net);

	ping_result_free(pn->last[PING_SIDE_PING]);
	ping_result_free(pn->last[PING_SIDE_SERVE]);
	ping_buf_put(pn->payload);
	ping_buf_put(pn->captured);
}

static struct pernet_operations ping_net_ops = {
	.init	= ping_net_init,
	.exit	= ping_net_exit,
	.id	= &ping_net_id,
	.size	= sizeof(struct ping_net),
};

#define PING_DEV(_name, _nodename, _fops)				\
	.misc = {							\
		.minor		= MISC_DYNAMIC_MINOR,			\
		.name		= (_name),				\
		.nodename	= (_nodename),				\
		.mode		= 0600,					\
		.fops		= (_fops),				\
	}

static struct ping_dev ping_devs[] = {
	{ PING_DEV("mpa_ping_cmd", "mpa_ping/cmd", &ping_file_fops),
	  .run = ping_command },
	{ PING_DEV("mpa_ping_result", "mpa_ping/result", &ping_file_fops),
	  .side = PING_SIDE_PING },
	{ PING_DEV("mpa_ping_serve_result", "mpa_ping/serve_result",
		   &ping_file_fops),
	  .side = PING_SIDE_SERVE },
	{ PING_DEV("mpa_ping_payload", "mpa_ping/payload", &payload_fops) },
	{ PING_DEV("mpa_ping_captured", "mpa_ping/captured", &captured_fops) },
};

/*
 * The last step of the init. Fails only if nothing was registered: as soon as a
 * device exists it may be open, and then init must not fail.
 */
static int ping_devs_register(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(ping_devs); i++) {
		err = misc_register(&ping_devs[i].misc);
		if (err && !i)
			return err;
		if (err)
			pr_err("no /dev/%s: %d\n", ping_devs[i].misc.nodename,
			       err);
	}
	return 0;
}

static int __init ping_init(void)
{
	int err;

	err = ping_client_init();
	if (err)
		return err;
	err = register_pernet_subsys(&ping_net_ops);
	if (err)
		goto exit_client;
	err = ping_devs_register();
	if (err)
		goto exit_net;
	return 0;

exit_net:
	unregister_pernet_subsys(&ping_net_ops);
exit_client:
	ping_client_exit();
	return err;
}

static void __exit ping_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ping_devs); i++)
		if (!IS_ERR_OR_NULL(ping_devs[i].misc.this_device))
			misc_deregister(&ping_devs[i].misc);
	ping_server_exit();
	unregister_pernet_subsys(&ping_net_ops);
	ping_client_exit();
}

module_init(ping_init);
module_exit(ping_exit);

MODULE_AUTHOR("the mpa project");
MODULE_VERSION("0.1");
MODULE_DESCRIPTION("MPA sample consumer: send, echo and measure ULPDUs");
MODULE_LICENSE("Dual BSD/GPL");
