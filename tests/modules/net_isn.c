// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Initial sequence numbers of TCP.
 *
 * A number written to /sys/kernel/debug/net_isn is the initial sequence number
 * of all connections that are made from now on in the writer's namespace; 0
 * restores TCP's own choice, which remains that of sockets that accept. Reading
 * gives the number of connections of the namespace that began so.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

static unsigned int isn_net_id;

struct isn_net {
	u32		first;	/* where sequence numbers begin, or 0 */
	atomic_t	used;
};

static struct isn_net *isn_of(const struct net *net)
{
	return net_generic(net, isn_net_id);
}

/* TCP chooses no number for a socket that has one when it sends the SYN. */
static void isn_set_state(void *data, const struct sock *sk, int from, int to)
{
	struct isn_net *in = isn_of(sock_net(sk));
	u32 first = READ_ONCE(in->first);

	if (!first || sk->sk_protocol != IPPROTO_TCP || to != TCP_SYN_SENT)
		return;
	WRITE_ONCE(tcp_sk((struct sock *)sk)->write_seq, first);
	atomic_inc(&in->used);
}

static int isn_get(void *data, u64 *value)
{
	*value = atomic_read(&isn_of(current->nsproxy->net_ns)->used);
	return 0;
}

static int isn_set(void *data, u64 value)
{
	WRITE_ONCE(isn_of(current->nsproxy->net_ns)->first, value);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(isn_fops, isn_get, isn_set, "%llu\n");

static struct pernet_operations isn_net_ops = {
	.id	= &isn_net_id,
	.size	= sizeof(struct isn_net),
};

static struct tracepoint *isn_trace;
static struct dentry *isn_file;

/* Its symbol is not exported. */
static void isn_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		isn_trace = tp;
}

static int __init isn_init(void)
{
	int err;

	for_each_kernel_tracepoint(isn_find, NULL);
	if (!isn_trace)
		return -ENOENT;
	err = register_pernet_subsys(&isn_net_ops);
	if (err)
		return err;
	err = tracepoint_probe_register(isn_trace, isn_set_state, NULL);
	if (err) {
		unregister_pernet_subsys(&isn_net_ops);
		return err;
	}
	isn_file = debugfs_create_file("net_isn", 0600, NULL, NULL, &isn_fops);
	return 0;
}
module_init(isn_init);

static void __exit isn_exit(void)
{
	debugfs_remove(isn_file);
	tracepoint_probe_unregister(isn_trace, isn_set_state, NULL);
	tracepoint_synchronize_unregister();
	unregister_pernet_subsys(&isn_net_ops);
}
module_exit(isn_exit);

MODULE_DESCRIPTION("Initial sequence numbers of TCP for tests");
MODULE_LICENSE("Dual BSD/GPL");
