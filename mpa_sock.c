// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP sockets for mpa_connect() and mpa_listen(). The rest of MPA does not
 * depend on them; a consumer may as well bring its own sockets.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include <net/mpa.h>
#include <net/sock.h>

#include "mpa_compat.h"
#include "mpa_conn.h"

static struct lock_class_key mpa_sk_key[2];
static struct lock_class_key mpa_slock_key[2];

/* Own lock classes: the consumer may hold the lock of another socket. */
static void sock_set_lock_class(struct sock *sk)
{
	if (!IS_ENABLED(CONFIG_DEBUG_LOCK_ALLOC))
		return;
	if (WARN_ON_ONCE(!sock_allow_reclassification(sk)))
		return;
	if (sk->sk_family == AF_INET)
		sock_lock_init_class_and_name(sk, "slock-AF_INET-MPA",
					      &mpa_slock_key[0],
					      "sk_lock-AF_INET-MPA",
					      &mpa_sk_key[0]);
	else
		sock_lock_init_class_and_name(sk, "slock-AF_INET6-MPA",
					      &mpa_slock_key[1],
					      "sk_lock-AF_INET6-MPA",
					      &mpa_sk_key[1]);
}

int mpa_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

bool mpa_family_ok(unsigned short family)
{
	return family == AF_INET ||
	       (IS_ENABLED(CONFIG_IPV6) && family == AF_INET6);
}

/* Returns the device that the scope id of a link-local address names, or 0. */
static int addr_dev(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family != AF_INET6 ||
	    !(ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL))
		return 0;
	return sin6->sin6_scope_id;
}

/*
 * Refuses a scope id that names another device than bound_dev_if: bind() would
 * let the scope id prevail. connect() checks the peer's address itself.
 */
static int sock_bind_dev(struct sock *sk, const struct mpa_sock_params *params)
{
	int scope = addr_dev(&params->local);
	int err;

	if (!params->bound_dev_if)
		return 0;
	err = sock_bindtoindex(sk, params->bound_dev_if, true);
	if (!err && scope && !sk_dev_equal_l3scope(sk, scope))
		err = -EINVAL;
	return err;
}

/*
 * setup() may have set TCP_FASTOPEN_CONNECT: TCP would only seem to connect,
 * and send its SYN with the first octets. mpa_attach() refuses such a socket.
 */
static void sock_connect_at_once(struct sock *sk)
{
	lock_sock(sk);
	tcp_sk(sk)->fastopen_connect = 0;
	release_sock(sk);
}

static int sock_configure(struct socket *sock,
			  const struct mpa_sock_params *params, bool listen)
{
	struct sockaddr_storage local = params->local;
	struct sock *sk = sock->sk;
	int err;

	if (params->flags & MPA_F_MEMALLOC)
		mpa_tcp_memalloc(sk);
	if (listen)
		sock_set_reuseaddr(sk);
	err = sock_bind_dev(sk, params);
	if (!err && params->setup)
		err = min(params->setup(sock, params->ctx), 0);
	if (!listen)
		sock_connect_at_once(sk);
	if (err || local.ss_family == AF_UNSPEC)
		return err;
	return kernel_bind(sock, mpa_sockaddr(&local),
			   mpa_addr_len(&local));
}

/* Make a socket, configure it, and bind it if there is a local address. */
int mpa_sock_make(const struct mpa_sock_params *params, bool listen,
		  struct socket **res)
{
	int family = listen ? params->local.ss_family : params->peer.ss_family;
	int err;

	err = sock_create_kern(params->net, family, SOCK_STREAM, IPPROTO_TCP,
			       res);
	if (err)
		return err;
	/*
	 * TCP's timers outlive the close and need the namespace. Comes before
	 * any lock_sock(), because it allocates.
	 */
	mpa_net_refcnt_upgrade((*res)->sk);
	sock_set_lock_class((*res)->sk);
	err = sock_configure(*res, params, listen);
	if (err)
		sock_release(*res);
	return err;
}

bool mpa_sock_params_ok(const struct mpa_sock_params *params, u32 flags)
{
	return params->net && !(params->flags & ~flags) &&
	       params->backlog >= 0 && params->bound_dev_if >= 0;
}
