// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The socket that siw has below a connection, and does not show. */
#include <linux/in.h>
#include <linux/net.h>
#include <net/inet_hashtables.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "mpa_compat.h"
#include "verbs.h"

static struct sock *lookup(const struct rdma_addr *addr, struct net *net)
{
	const struct sockaddr_in *src, *dst;

	src = (const struct sockaddr_in *)&addr->src_addr;
	dst = (const struct sockaddr_in *)&addr->dst_addr;
	if (src->sin_family != AF_INET)
		return NULL;
	return mpa_lookup_established(net, dst->sin_addr.s_addr, dst->sin_port,
				      src->sin_addr.s_addr, src->sin_port, 0);
}

/*
 * It lasts as long as the connection. The device on MPA takes another port than
 * that of RDMA CM if TCP has a socket there; RDMA CM does not know which.
 */
int verbs_sock_find(struct verbs_conn *conn, struct net *net)
{
	struct sock *sk = lookup(&conn->id->route.addr, net);

	if (!sk)
		return -EADDRINUSE;
	conn->end->sock = sk->sk_socket;
	conn->start = tcp_sk(sk)->write_seq;
	sock_gen_put(sk);
	return 0;
}

/* Let siw hear no more of it, as if it were a socket like any other. */
int verbs_sock_leave(struct verbs_conn *conn)
{
	struct sock *sk = conn->end->sock->sk;
	struct socket *other;
	int err;

	err = sock_create_kern(sock_net(sk), PF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &other);
	if (err)
		return err;
	write_lock_bh(&sk->sk_callback_lock);
	conn->siw_data = sk->sk_user_data;
	conn->siw_data_ready = sk->sk_data_ready;
	conn->siw_state_change = sk->sk_state_change;
	sk->sk_data_ready = other->sk->sk_data_ready;
	sk->sk_state_change = other->sk->sk_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	sock_release(other);
	conn->left = true;
	return 0;
}

/* siw is to end it. */
void verbs_sock_return(struct verbs_conn *conn)
{
	struct sock *sk;

	if (!conn->left)
		return;
	sk = conn->end->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = conn->siw_data;
	sk->sk_data_ready = conn->siw_data_ready;
	sk->sk_state_change = conn->siw_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}
