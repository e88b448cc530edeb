// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer of MPA for the shell: answers and sends ULPDUs, and measures.
 * Files in debugfs, mpa_ping/; each belongs to the network namespace of who
 * opens it:
 *
 * cmd		commands, written one at a time
 * result	how the last ping went, one key=value a line
 * serve_result	how the last accepted connection went
 * payload	octets for "ping payload=1"; opening it to write starts anew
 * captured	octets that the last connection of "serve capture=1" got
 *
 * Commands:
 *
 * serve port=P [addr=A] [markers=0|1] [rev=0|1|2] [mode=echo|sink]
 *	[pdata=STR|pdatahex=HEX] [reject=0|1] [start=frames|immediate]
 *	[hold=MS] [capture=0|1] [ird=N] [ord=N] [rtr=KINDS] [ooo=0|1]
 *	[place=0|1] [lazy=0|1] [source=0|1] [size=N|mulpdu] [count=N]
 *	[memalloc=0|1]
 *
 *	Returns at once. Each ULPDU is sent back (echo, the default), or
 *	dropped. The Reply's private data is what is given, or a copy of the
 *	Request's. hold= keeps what arrives from being delivered, and so the
 *	window from opening, for that many milliseconds after the start;
 *	lazy=1 (sink only) does so again and again, until the peer has filled
 *	the window or has sent nothing for a while. source=1 (sink only) sends,
 *	too, what a ping with source=1 would; the ping is to be mode=sink then.
 *	With rev=2 Requests of all revisions are taken, those with enhanced
 *	data answered with ird (16), ord (16) and the kinds of RTR given
 *	(send,write,read); the first ULPDU then has to be an RTR, if the peer
 *	has asked for one. It is neither counted nor sent back.
 *
 * stop port=P
 *
 *	Ends all serves on that port, and their connections.
 *
 * ping addr=A port=P [markers=0|1] [rev=0|1|2] [mode=echo|sink]
 *	[size=N|mulpdu] [count=N] [batch=N] [depth=N] [pdata=STR|pdatahex=HEX]
 *	[verify=0|1] [timeout=S] [start=frames|immediate] [zerocopy=0|1]
 *	[source=0|1] [payload=0|1] [ird=N] [ord=N] [rtr=KINDS] [ird_max=N]
 *	[fallback=0|1] [ooo=0|1] [place=0|1] [memalloc=0|1]
 *	[spoil=no|early|late]
 *
 *	Connects, sends count (1) ULPDUs of size (64) octets, batch (1) in a
 *	call and at most depth under way; waits for their echoes, or only until
 *	they have been handed back (sink); closes its half and waits for the
 *	peer's FIN. Lengths and order of the echoes are checked always, each
 *	octet with verify=1. With source=1 MPA cuts ULPDUs that fill a segment
 *	from one message of count * size octets, or, with size=mulpdu, count of
 *	them. payload=1 does that with what was written to payload, in ULPDUs
 *	of at most size octets (mulpdu if none is given); spoil=late changes it
 *	when it has been handed back, spoil=early while MPA has it, which it
 *	must not. The write fails with the status of the result, at the latest
 *	after timeout seconds (10; 30 with fallback=1).
 *	rev=2 is enhanced startup with ird (16) and ord (16); ird may grow up to
 *	ird_max where the peer needs it. With rtr= one kind of those is sent
 *	first, without it there is no RTR. fallback=1 tries Rev 1 after Rev 2.
 *
 * With ooo=1 (of either) ULPDUs are passed out of order, too. They are placed
 * in a buffer by their position in the stream as they come, and acted on, in
 * order, when they are delivered. place=1 alone does that with all in order.
 *
 * memalloc=1 (of either) is what a consumer asks for by which memory is written
 * out: its connection may use the reserves of memory.
 *
 * rtt_*_ns count from posting to the echo, so with more than one ULPDU under
 * way they include its waiting behind the others; depth=1 avoids that. With
 * source=1 they are 0. A ping that waits is ended by a signal (EINTR); it holds
 * the module as any open file does. With zerocopy=1 its end may be late: it
 * waits until the network stack has dropped the pages. A listening socket holds
 * its namespace.
 *
 * Locks: ping_net.lock and servers_lock (a mutex each) are taken alone. A
 * server's lock is taken inside servers_lock, and MPA's inside it. What
 * belongs to one connection needs none: its callbacks run one at a time.
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
 * struct payload_file - payload, being written
 * @net: namespace of who opened it
 * @buf: what was written
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

/* No connection is left: each socket holds the namespace. */
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
