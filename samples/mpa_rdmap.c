// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer of MPA that implements as much of DDP (RFC 5041) and RDMAP (RFC
 * 5040) as the programs of rdma-core need. Of MPA it uses only
 * include/net/mpa.h, and shows how to use it. It has these files in
 * /dev/mpa_rdmap. Each belongs to the network namespace of the task that opens
 * it:
 *
 * cmd		commands, written one at a time
 * result	result of the last "connect", one key=value per line
 * serve_result	result of the last accepted connection
 *
 * Commands:
 *
 * serve port=P [addr=A] [app=echo|rping|rdma_server|ucmatose] [OPTION...]
 *
 *	Returns at once. Serves connections until "stop", several at a time.
 *
 * stop port=P
 *
 *	Ends all serve commands on that port, and their connections.
 *
 * connect addr=A port=P [app=echo|rping|rdma_client|ucmatose] [OPTION...]
 *
 *	Connects, runs the program app= and closes. The write fails with the
 *	status of the result.
 *
 * Options of both:
 *
 * app=		program to run, see below; default: echo
 * rev=0|1|2	our revision of MPA; default: 2, with enhanced startup
 * markers=0|1	ask the peer for markers; default: 0
 * ooo=0|1	pass segments out of order, which requires markers; default: 0
 * ird=N ord=N	RDMA Read Requests under way, incoming and outgoing; default:
 *		16. Negotiated with rev=2, otherwise used as given.
 * rtr=LIST	rev=2: kinds of RTR that connect offers and serve accepts:
 *		send,write,read separated by commas, or none (connect only);
 *		default: all three
 * pdata=STR pdatahex=HEX	private data of our Request or Reply
 * size=N count=N	octets of a message, and number of messages; see below
 * depth=N	echo: messages under way, and buffers for them; default: 4
 * timeout=S	limit for the whole connection, in seconds; default: connect
 *		10, with fallback=1 30, serve 60
 * stag=N	STags of our buffers are N, N + 1, ...; default: random
 *
 * Options of connect:
 *
 * ird_max=N	rev=2: value up to which IRD may grow if the peer needs it
 * fallback=0|1	rev=2: try Rev 1 if the peer does not accept Rev 2
 * verify=0|1	compare the octets that come back with those sent; default: 1
 *
 * Programs. The peer is the program of that name in rdma-core, or another
 * mpa_rdmap:
 *
 * echo		connect sends count (1) Sends of size (64) octets; serve sends
 *		each back, and has depth buffers of size (65536) octets
 * rping	connect is "rping -c -C count -S size -V", serve "rping -s": the
 *		client names a buffer, the server reads it by RDMA Read; the
 *		client names another, the server writes it by RDMA Write.
 *		count (1), size (64, up to 65536); serve accepts any of these
 * rdma_client, rdma_server
 *		one Send of 16 octets each way, the client's first
 * ucmatose	count (10) Sends of size (100) octets each way, the server's
 *		first; both ends have to agree on them (ucmatose -C count -S
 *		size). The octets received are not checked. A Responder must
 *		not send before it has received an FPDU, so serve needs a
 *		client that sends an RTR, or waits until the timeout.
 *
 * Results:
 *
 * status	0 or a negative errno
 * reason	a word for status: ok, refused, rejected, reset, closed,
 *		timeout, crc, marker, frame, ird, rtr, local, memory,
 *		terminated (the peer sent a Terminate), protocol (we sent one,
 *		because of an error of the peer), mismatch
 * number	number of this result, counted per side in the namespace; tells
 *		a new result from an old one
 * iterations	rounds of the program
 * messages_tx messages_rx	Sends
 * writes_tx writes_rx	RDMA Writes
 * reads_tx reads_rx	our RDMA Reads, and the peer's that were answered
 * bytes_tx bytes_rx	payload of all these messages; RTRs are not counted
 * placed_ooo	bytes of RDMA Writes and RDMA Reads that were placed out of
 *		order; bytes_rx counts them when they are delivered
 * mismatches	number of messages that came back altered
 * terminate_tx terminate_rx	layer/type/code, decimal, or none
 * terminate_swapped	1: layer and type were swapped, as siw does
 * rtr		kind of RTR sent or received: send, write, read, or none
 * ird ord	values in use
 * revision markers_tx markers_rx emss mulpdu ulpdus_tx ulpdus_rx
 * ulpdus_ooo bytes_ooo ooo_suppressed
 * mpa_error peer_pdata elapsed_ns local peer	as in mpa_ping
 * octets_tx octets_rx octets_ooo placed_early	old names of bytes_tx, bytes_rx,
 *		bytes_ooo and placed_ooo, printed last
 *
 * Choices that the protocol leaves open: an STag belongs to one connection, and
 * its Tagged Offsets begin at STag * 4096. After an error the connection ends
 * with a Terminate, if one can be sent, and our FIN; the peer has two seconds
 * to close its side before the connection is reset.
 *
 * Locks: rdmap_net.lock and servers_lock (a mutex each) are taken alone. A
 * server's lock is taken inside servers_lock, and MPA's inside it. The data of
 * a stream needs no lock, because its callbacks run one at a time. Its timer,
 * however, also sends a Terminate and closes: the stream's lock serializes
 * that, and MPA's locks are taken inside it.
 */
#include <linux/module.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "mpa_dev.h"
#include "mpa_rdmap.h"
#include "mpa_server.h"

static unsigned int rdmap_net_id __read_mostly;

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

static void show_last(struct seq_file *seq, struct net *net,
		      enum rdmap_side side)
{
	struct rdmap_net *rn = rdmap_net(net);

	mutex_lock(&rn->lock);
	if (rn->last[side])
		rdmap_result_show(seq, rn->last[side]);
	mutex_unlock(&rn->lock);
}

static void result_show(struct seq_file *seq, struct net *net)
{
	show_last(seq, net, RDMAP_SIDE_CONNECT);
}

static void serve_result_show(struct seq_file *seq, struct net *net)
{
	show_last(seq, net, RDMAP_SIDE_SERVE);
}

static int __net_init rdmap_net_init(struct net *net)
{
	mutex_init(&rdmap_net(net)->lock);
	return 0;
}

/* No connection is left: each socket holds a reference on the namespace. */
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

static struct mpa_dev rdmap_devs[] = {
	{ MPA_DEV("mpa_rdmap", "cmd", &mpa_dev_fops), .run = rdmap_command },
	{ MPA_DEV("mpa_rdmap", "result", &mpa_dev_fops), .show = result_show },
	{ MPA_DEV("mpa_rdmap", "serve_result", &mpa_dev_fops),
	  .show = serve_result_show },
};

static int __init rdmap_init(void)
{
	int err;

	err = register_pernet_subsys(&rdmap_net_ops);
	if (err)
		return err;
	err = mpa_dev_register(rdmap_devs, ARRAY_SIZE(rdmap_devs));
	if (err)
		unregister_pernet_subsys(&rdmap_net_ops);
	return err;
}

static void __exit rdmap_exit(void)
{
	mpa_dev_unregister(rdmap_devs, ARRAY_SIZE(rdmap_devs));
	mpa_server_exit();
	unregister_pernet_subsys(&rdmap_net_ops);
}

module_init(rdmap_init);
module_exit(rdmap_exit);

MODULE_AUTHOR("the mpa project");
MODULE_DESCRIPTION("MPA sample consumer: DDP and RDMAP");
MODULE_LICENSE("Dual BSD/GPL");
