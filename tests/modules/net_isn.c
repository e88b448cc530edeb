// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Initial sequence numbers of TCP.
 *
 * A number written to /sys/kernel/debug/net_isn is the initial sequence number
 * of all connections made in the writer's namespace afterwards, and of those
 * accepted by sockets that began to listen after the first write; 0 restores
 * TCP's own choice. TCP chooses none for a socket that has one already, and
 * uses that of a SYN for a connection in TIME_WAIT. net_isn_used is the number
 * of connections in the namespace that began with a number set here.
 *
 * Listening sockets use operations of this module, and hold a reference on it.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <net/inet_connection_sock.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

static unsigned int isn_net_id;

/**
 * struct isn_net - a namespace
 * @first: where sequence numbers begin, or 0
 * @used: how often TCP was given that
 */
struct isn_net {
	u32		first;
	atomic_t	used;
};

static struct isn_net *isn_of(const struct net *net)
{
	return net_generic(net, isn_net_id);
}

/* Where those of a connection begin that is made just now, or 0 */
static u32 isn_use(const struct sock *sk)
{
	struct isn_net *in = isn_of(sock_net(sk));
	u32 first = READ_ONCE(in->first);

	if (first)
		atomic_inc(&in->used);
	return first;
}

/* For IPv4 and IPv6: TCP's operations, and a copy with our conn_request() */
static const struct inet_connection_sock_af_ops *isn_tcp[2];
static struct inet_connection_sock_af_ops isn_ops[2];

static bool isn_family(const struct sock *sk)
{
	return sk->sk_family == AF_INET6;
}

static int isn_conn_request(struct sock *sk, struct sk_buff *skb)
{
	u32 isn = isn_use(sk);

	if (isn)
		TCP_SKB_CB(skb)->tcp_tw_isn = isn;
	return isn_tcp[isn_family(sk)]->conn_request(sk, skb);
}

/* Modules cannot name IPv6's operations, so copy them from a socket. */
static void isn_listen(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	bool v6 = isn_family(sk);

	__module_get(THIS_MODULE);
	isn_tcp[v6] = icsk->icsk_af_ops;
	isn_ops[v6] = *icsk->icsk_af_ops;
	isn_ops[v6].conn_request = isn_conn_request;
	icsk->icsk_af_ops = &isn_ops[v6];
}

/* A socket is made of one that listens, or no longer listens. */
static void isn_give_back(struct sock *sk, int state)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	bool v6 = isn_family(sk);

	if (icsk->icsk_af_ops != &isn_ops[v6])
		return;
	icsk->icsk_af_ops = isn_tcp[v6];
	if (state == TCP_CLOSE)
		module_put(THIS_MODULE);
}

/* The tracepoint inet_sock_set_state */
static void isn_set_state(void *data, const struct sock *const_sk, int from,
			  int to)
{
	struct sock *sk = (struct sock *)const_sk;
	u32 isn = READ_ONCE(isn_of(sock_net(sk))->first);

	if (sk->sk_protocol != IPPROTO_TCP)
		return;
	if (to == TCP_SYN_RECV || to == TCP_CLOSE)
		isn_give_back(sk, to);
	else if (isn && to == TCP_SYN_SENT)
		WRITE_ONCE(tcp_sk(sk)->write_seq, isn_use(sk));
	else if (isn && to == TCP_LISTEN)
		isn_listen(sk);
}

static int isn_get(void *data, u64 *value)
{
	*value = READ_ONCE(isn_of(current->nsproxy->net_ns)->first);
	return 0;
}

static int isn_set(void *data, u64 value)
{
	WRITE_ONCE(isn_of(current->nsproxy->net_ns)->first, value);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(isn_fops, isn_get, isn_set, "%llu\n");

static int isn_used_get(void *data, u64 *value)
{
	*value = atomic_read(&isn_of(current->nsproxy->net_ns)->used);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(isn_used_fops, isn_used_get, NULL, "%llu\n");

static struct pernet_operations isn_net_ops = {
	.id	= &isn_net_id,
	.size	= sizeof(struct isn_net),
};

static void isn_find(struct tracepoint *tp, void *found)
{
	if (!strcmp(tp->name, "inet_sock_set_state"))
		*(struct tracepoint **)found = tp;
}

static struct tracepoint *isn_trace;
static struct dentry *isn_file, *isn_used_file;

static int __init isn_init(void)
{
	int err;

	for_each_kernel_tracepoint(isn_find, &isn_trace);
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
	isn_used_file = debugfs_create_file("net_isn_used", 0400, NULL, NULL,
					    &isn_used_fops);
	return 0;
}
module_init(isn_init);

static void __exit isn_exit(void)
{
	debugfs_remove(isn_used_file);
	debugfs_remove(isn_file);
	tracepoint_probe_unregister(isn_trace, isn_set_state, NULL);
	tracepoint_synchronize_unregister();
	unregister_pernet_subsys(&isn_net_ops);
}
module_exit(isn_exit);

MODULE_DESCRIPTION("Initial sequence numbers of TCP for tests");
MODULE_LICENSE("Dual BSD/GPL");
