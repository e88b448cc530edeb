// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer of MPA for the shell: sends ULPDUs, echoes them, and measures.
 * README.md explains its files in /dev/mpa_ping, commands and results.
 *
 * An open file holds a reference on the module and on a namespace, a listening
 * socket one on its namespace.
 *
 * Locks: ping_net.lock, servers_lock (a mutex each) and the lock of a server
 * are not nested. MPA's locks are taken inside the last two. The data of a
 * connection needs no lock: its callbacks run one at a time.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "mpa_dev.h"
#include "mpa_ping.h"
#include "mpa_server.h"

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

static void show_last(struct seq_file *seq, struct net *net,
		      enum ping_side side)
{
	struct ping_net *pn = ping_net(net);

	mutex_lock(&pn->lock);
	if (pn->last[side])
		ping_result_show(seq, pn->last[side]);
	mutex_unlock(&pn->lock);
}

static void result_show(struct seq_file *seq, struct net *net)
{
	show_last(seq, net, PING_SIDE_PING);
}

static void serve_result_show(struct seq_file *seq, struct net *net)
{
	show_last(seq, net, PING_SIDE_SERVE);
}

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
	int err = -ENOMEM;

	pf = kmalloc(sizeof(*pf), GFP_KERNEL);
	if (!pf)
		return err;
	pf->buf = ping_buf_alloc();
	if (!pf->buf)
		goto free;
	pf->net = mpa_dev_net_get();
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
	struct net *net = mpa_dev_net_get();
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

static struct mpa_dev ping_devs[] = {
	{ MPA_DEV("mpa_ping", "cmd", &mpa_dev_fops), .run = ping_command },
	{ MPA_DEV("mpa_ping", "result", &mpa_dev_fops), .show = result_show },
	{ MPA_DEV("mpa_ping", "serve_result", &mpa_dev_fops),
	  .show = serve_result_show },
	{ MPA_DEV("mpa_ping", "payload", &payload_fops) },
	{ MPA_DEV("mpa_ping", "captured", &captured_fops) },
};

static int __init ping_init(void)
{
	int err;

	err = ping_client_init();
	if (err)
		return err;
	err = register_pernet_subsys(&ping_net_ops);
	if (err)
		goto exit_client;
	err = mpa_dev_register(ping_devs, ARRAY_SIZE(ping_devs));
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
	mpa_dev_unregister(ping_devs, ARRAY_SIZE(ping_devs));
	mpa_server_exit();
	unregister_pernet_subsys(&ping_net_ops);
	ping_client_exit();
}

module_init(ping_init);
module_exit(ping_exit);

MODULE_AUTHOR("the mpa project");
MODULE_DESCRIPTION("MPA sample consumer: send, echo and measure ULPDUs");
MODULE_LICENSE("Dual BSD/GPL");
