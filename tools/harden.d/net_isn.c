// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where the sequence numbers of TCP begin.
 *
 * What is written to /sys/kernel/debug/net_isn is the initial sequence number
 * of all connections made in the writer's namespace from then on, and of those
 * accepted by sockets that began to listen after the first write; 0 leaves it
 * to TCP again. TCP chooses none for a socket that has one already, and takes
 * that of a SYN for one of a connection in TIME_WAIT.
 *
 * The module stays: sockets that were accepted have its operations.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

static unsigned int isn_net_id;

static u32 *isn_of(const struct net *net)
{
	return net_generic(net, isn_net_id);
}

static struct inet_connection_sock_af_ops isn_ops[2];
static int (*isn_request[2])(struct sock *sk, struct sk_buff *skb);

static int isn_conn_request(struct sock *sk, struct sk_buff *skb)
{
	u32 isn = READ_ONCE(*isn_of(sock_net(sk)));

	if (isn)
		TCP_SKB_CB(skb)->tcp_tw_isn = isn;
	return isn_request[sk->sk_family == AF_INET6](sk, skb);
}

/* The operations of IPv6 are no module's to name, so those there are copied. */
static void isn_listen(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	bool v6 = sk->sk_family == AF_INET6;

	if (icsk->icsk_af_ops->conn_request == isn_conn_request)
		return;
	isn_request[v6] = icsk->icsk_af_ops->conn_request;
	isn_ops[v6] = *icsk->icsk_af_ops;
	isn_ops[v6].conn_request = isn_conn_request;
	icsk->icsk_af_ops = &isn_ops[v6];
}

/* The tracepoint inet_sock_set_state */
static void isn_set_state(void *data, const struct sock *sk, int from, int to)
{
	u32 isn = READ_ONCE(*isn_of(sock_net(sk)));

	if (!isn || sk->sk_protocol != IPPROTO_TCP)
		return;
	if (to == TCP_SYN_SENT)
		WRITE_ONCE(tcp_sk((struct sock *)sk)->write_seq, isn);
	else if (to == TCP_LISTEN)
		isn_listen((struct sock *)sk);
}

static int isn_get(void *data, u64 *value)
{
	*value = READ_ONCE(*isn_of(current->nsproxy->net_ns));
	return 0;
}

static int isn_set(void *data, u64 value)
{
	WRITE_ONCE(*isn_of(current->nsproxy->net_ns), value);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(isn_fops, isn_get, isn_set, "%llu\n");

static struct pernet_operations isn_net_ops = {
	.id	= &isn_net_id,
	.size	= sizeof(u32),
};

static void isn_trace(struct tracepoint *tp, void *err)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		*(int *)err = tracepoint_probe_register(tp, isn_set_state,
							NULL);
}

static int __init isn_init(void)
{
	int err;

	err = register_pernet_subsys(&isn_net_ops);
	if (err)
		return err;
	err = -ENOENT;
	for_each_kernel_tracepoint(isn_trace, &err);
	if (err) {
		unregister_pernet_subsys(&isn_net_ops);
		return err;
	}
	debugfs_create_file("net_isn", 0600, NULL, NULL, &isn_fops);
	return 0;
}
module_init(isn_init);

MODULE_DESCRIPTION("Initial sequence numbers of TCP for tests");
MODULE_LICENSE("Dual BSD/GPL");
