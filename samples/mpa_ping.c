// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer of MPA for the shell: sends ULPDUs, echoes them, and measures.
 * README.md explains its files in debugfs, their commands and the results.
 *
 * An open file holds a reference on the module, a listening socket one on its
 * namespace.
 *
 * Locks: ping_net.lock, servers_lock (a mutex each) and the lock of a server
 * are not nested. MPA's locks are taken inside the last two. The data of a
 * connection needs no lock: its callbacks run one at a time.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "mpa_ping.h"
#include "mpa_server.h"

static unsigned int ping_net_id __read_mostly;
static struct dentry *ping_dir;

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

static int ping_command(struct net *net, char *line)
{
	struct ping_opts opts;
	int err;

	err = ping_opts_parse(net, line, &opts);
	if (err)
		return err;
	switch (opts.base.cmd) {
	case PING_CMD_SERVE:
		err = ping_server_start(net, &opts);
		break;
	case PING_CMD_STOP:
		err = mpa_server_stop(net, opts.base.port);
		break;
	case PING_CMD_PING:
		err = ping_client_run(net, &opts);
		break;
	}
	mpa_opts_free(&opts.base);
	return err;
}

static ssize_t cmd_write(struct file *file, const char __user *buf, size_t len,
			 loff_t *pos)
{
	return mpa_opts_write(buf, len, ping_command);
}

static const struct file_operations cmd_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= cmd_write,
	.llseek	= noop_llseek,
};

static int show_last(struct seq_file *seq, enum ping_side side)
{
	struct ping_net *pn = ping_net(mpa_opts_net());

	mutex_lock(&pn->lock);
	if (pn->last[side])
		ping_result_show(seq, pn->last[side]);
	mutex_unlock(&pn->lock);
	return 0;
}

static int result_show(struct seq_file *seq, void *unused)
{
	return show_last(seq, PING_SIDE_PING);
}
DEFINE_SHOW_ATTRIBUTE(result);

static int serve_result_show(struct seq_file *seq, void *unused)
{
	return show_last(seq, PING_SIDE_SERVE);
}
DEFINE_SHOW_ATTRIBUTE(serve_result);

/**
 * struct payload_file - "payload", opened for writing
 * @net: namespace of the task that opened it
 * @buf: octets written so far
 */
struct payload_file {
	struct net	*net;
	struct ping_buf	*buf;
};

static int payload_open(struct inode *inode, struct file *file)
{
	struct payload_file *pf;

	pf = kmalloc(sizeof(*pf), GFP_KERNEL);
	if (!pf)
		return -ENOMEM;
	pf->buf = ping_buf_alloc();
	if (!pf->buf) {
		kfree(pf);
		return -ENOMEM;
	}
	pf->net = get_net(mpa_opts_net());
	file->private_data = pf;
	return 0;
}

static ssize_t payload_write(struct file *file, const char __user *from,
			     size_t len, loff_t *pos)
{
	struct payload_file *pf = file->private_data;
	size_t room;
	void *to;

	if (!len)
		return 0;
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
	struct ping_net *pn = ping_net(mpa_opts_net());

	mutex_lock(&pn->lock);
	file->private_data = ping_buf_get(pn->captured);
	mutex_unlock(&pn->lock);
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

static void __init ping_debugfs_init(void)
{
	ping_dir = debugfs_create_dir("mpa_ping", NULL);
	debugfs_create_file("cmd", 0200, ping_dir, NULL, &cmd_fops);
	debugfs_create_file("result", 0400, ping_dir, NULL, &result_fops);
	debugfs_create_file("serve_result", 0400, ping_dir, NULL,
			    &serve_result_fops);
	debugfs_create_file("payload", 0200, ping_dir, NULL, &payload_fops);
	debugfs_create_file("captured", 0400, ping_dir, NULL, &captured_fops);
}

static int __init ping_init(void)
{
	int err;

	err = ping_client_init();
	if (err)
		return err;
	err = register_pernet_subsys(&ping_net_ops);
	if (err) {
		ping_client_exit();
		return err;
	}
	ping_debugfs_init();
	return 0;
}

static void __exit ping_exit(void)
{
	debugfs_remove(ping_dir);
	mpa_server_exit();
	unregister_pernet_subsys(&ping_net_ops);
	ping_client_exit();
}

module_init(ping_init);
module_exit(ping_exit);

MODULE_DESCRIPTION("MPA sample consumer: send, echo and measure ULPDUs");
MODULE_LICENSE("Dual BSD/GPL");
