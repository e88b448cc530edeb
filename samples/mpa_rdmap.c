// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer of MPA that speaks DDP (RFC 5041) and RDMAP (RFC 5040), enough of
 * them for the stock programs of rdma-core to talk to. It uses nothing but
 * include/net/mpa.h, and shows how that is meant to be used. Files in debugfs,
 * mpa_rdmap/; who writes or reads one does so in its own network namespace:
 *
 * cmd		commands, written one at a time
 * result	how the last "connect" went, one key=value a line
 * serve_result	how the last accepted connection went
 *
 * Commands:
 *
 * serve port=P [addr=A] [app=echo|rping|rdma_server|ucmatose] [OPTION...]
 *
 *	Returns at once. Serves connections until "stop", several at a time.
 *
 * stop port=P
 *
 *	Ends all serves on that port, and their connections.
 *
 * connect addr=A port=P [app=echo|rping|rdma_client|ucmatose] [OPTION...]
 *
 *	Connects, does what app= says and closes. The write fails with the
 *	status of the result.
 *
 * Options of both:
 *
 * app=		whose part to play, see below; echo if not given
 * rev=0|1|2	our revision of MPA; 2 if not given, with enhanced startup
 * markers=0|1	want markers in what we receive; 0 if not given
 * ooo=0|1	have segments passed that come behind a hole in the stream; that
 *		takes markers. 0 if not given
 * ird=N ord=N	RDMA Read Requests under way, incoming and outgoing; 16 if not
 *		given. With rev=2 they are negotiated, else they hold as given.
 * rtr=LIST	rev=2: what may be the Initiator's first FPDU, out of
 *		send,write,read with commas between, or none (connect only);
 *		all three if not given. connect: offered, serve: taken.
 * pdata=STR pdatahex=HEX	private data of our Request or Reply
 * size=N count=N	octets of a message, and how many; see below
 * depth=N	echo: messages under way, and buffers for them; 4 if not given
 * timeout=S	seconds for all of a connection; connect: 10, with fallback=1
 *		30, serve: 60
 * stag=N	STags of our buffers are N, N + 1, ...; random if not given
 *
 * Options of connect:
 *
 * ird_max=N	rev=2: IRD may grow up to here where the peer needs it
 * fallback=0|1	rev=2: ask a peer again for Rev 1 if it does not take Rev 2
 * verify=0|1	compare what came back with what was sent; 1 if not given
 *
 * The programs. "They" is the program of that name in rdma-core, or another
 * mpa_rdmap:
 *
 * echo		connect sends count (1) Sends of size (64) octets; serve sends
 *		each back, and has depth buffers of size (65536) octets
 * rping	connect is "rping -c -C count -S size -V", serve "rping -s": the
 *		client names a buffer, the server reads it by RDMA Read; the
 *		client names another, the server writes it by RDMA Write.
 *		count (1), size (64, up to 65536); serve takes what comes
 * rdma_client, rdma_server
 *		one Send of 16 octets each way, the client's first
 * ucmatose	count (10) Sends of size (100) octets each way, the server's
 *		first; both ends have to agree on them (ucmatose -C count -S
 *		size). What it sends is not looked at. A Responder may send
 *		nothing before it has received something, so serve needs a
 *		client that sends an RTR, or waits until the timeout.
 *
 * Results:
 *
 * status	0 or a negative errno
 * reason	the same as a word: ok, refused, rejected, reset, closed,
 *		timeout, crc, marker, frame, ird, rtr, local, memory,
 *		terminated (the peer sent a Terminate), protocol (we did,
 *		because of what the peer sent), mismatch
 * number	counts the results of a side in the namespace: a new one is told
 *		by it
 * iterations	rounds of the program
 * messages_tx messages_rx	Sends
 * writes_tx writes_rx	RDMA Writes
 * reads_tx reads_rx	our RDMA Reads, and the peer's that were answered
 * bytes_tx bytes_rx	payload of all these. RTRs are not counted in any.
 * placed_ooo	bytes of RDMA Writes and RDMA Reads that were placed before
 *		their turn; bytes_rx counts them at their turn
 * mismatches	what came back other than it was sent
 * terminate_tx terminate_rx	layer/type/code, decimal, or none
 * terminate_swapped	1: siw's way, layer and type were the other way round
 * rtr		kind that was sent, or received: send, write, read, or none
 * ird ord	in use
 * revision markers_tx markers_rx emss mulpdu ulpdus_tx ulpdus_rx
 * ulpdus_ooo bytes_ooo ooo_suppressed
 * mpa_error peer_pdata elapsed_ns local peer	as those of mpa_ping
 * octets_tx octets_rx octets_ooo placed_early	bytes_tx and so on: names of
 *		before, printed last
 *
 * What is ours to choose in the protocol: an STag belongs to one connection,
 * and its Tagged Offsets begin at STag * 4096. A connection that goes wrong
 * ends with a Terminate where one can be sent, and our FIN behind it; the peer
 * has two seconds to close its side before the connection is reset.
 *
 * Locks: rdmap_net.lock and servers_lock (a mutex each) are taken alone. A
 * server's lock is taken inside servers_lock, and MPA's inside it. What belongs
 * to one stream needs none: its callbacks run one at a time. But its timer too
 * sends a Terminate and closes: the stream's lock is for that, and MPA's inside
 * it.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "mpa_rdmap.h"
#include "mpa_server.h"

static unsigned int rdmap_net_id __read_mostly;
static struct dentry *rdmap_dir;

struct rdmap_net *rdmap_net(struct net *net)
{
	return net_generic(net, rdmap_net_id);
}

static int rdmap_command(struct net *net, char *line)
{
	struct rdmap_opts opts;
	int err;

	err = rdmap_opts_parse(net, line, &opts);
	if (err)
		return err;
	switch (opts.base.cmd) {
	case RDMAP_CMD_SERVE:
		err = rdmap_server_start(net, &opts);
		break;
	case RDMAP_CMD_STOP:
		err = mpa_server_stop(net, opts.base.port);
		break;
	case RDMAP_CMD_CONNECT:
		err = rdmap_client_run(net, &opts);
		break;
	}
	mpa_opts_free(&opts.base);
	return err;
}

static ssize_t cmd_write(struct file *file, const char __user *buf, size_t len,
			 loff_t *pos)
{
	return mpa_opts_write(buf, len, rdmap_command);
}

static const struct file_operations cmd_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= cmd_write,
	.llseek	= noop_llseek,
};

static int show_last(struct seq_file *seq, enum rdmap_side side)
{
	struct rdmap_net *rn = rdmap_net(mpa_opts_net());

	mutex_lock(&rn->lock);
	if (rn->last[side])
		rdmap_result_show(seq, rn->last[side]);
	mutex_unlock(&rn->lock);
	return 0;
}

static int result_show(struct seq_file *seq, void *unused)
{
	return show_last(seq, RDMAP_SIDE_CONNECT);
}
DEFINE_SHOW_ATTRIBUTE(result);

static int serve_result_show(struct seq_file *seq, void *unused)
{
	return show_last(seq, RDMAP_SIDE_SERVE);
}
DEFINE_SHOW_ATTRIBUTE(serve_result);

static int __net_init rdmap_net_init(struct net *net)
{
	mutex_init(&rdmap_net(net)->lock);
	return 0;
}

/* No connection is left: each socket holds the namespace. */
static void __net_exit rdmap_net_exit(struct net *net)
{
	struct rdmap_net *rn = rdmap_net(net);

	rdmap_result_free(rn->last[RDMAP_SIDE_CONNECT]);
	rdmap_result_free(rn->last[RDMAP_SIDE_SERVE]);
}

static struct pernet_operations rdmap_net_ops = {
	.init	= rdmap_net_init,
	.exit	= rdmap_net_exit,
	.id	= &rdmap_net_id,
	.size	= sizeof(struct rdmap_net),
};

static int __init rdmap_init(void)
{
	int err;

	err = register_pernet_subsys(&rdmap_net_ops);
	if (err)
		return err;
	rdmap_dir = debugfs_create_dir("mpa_rdmap", NULL);
	debugfs_create_file("cmd", 0200, rdmap_dir, NULL, &cmd_fops);
	debugfs_create_file("result", 0400, rdmap_dir, NULL, &result_fops);
	debugfs_create_file("serve_result", 0400, rdmap_dir, NULL,
			    &serve_result_fops);
	return 0;
}

static void __exit rdmap_exit(void)
{
	debugfs_remove(rdmap_dir);
	mpa_server_exit();
	unregister_pernet_subsys(&rdmap_net_ops);
}

module_init(rdmap_init);
module_exit(rdmap_exit);

MODULE_DESCRIPTION("MPA sample consumer: DDP and RDMAP");
MODULE_LICENSE("Dual BSD/GPL");
