// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A raw TCP peer on the loopback device. */
#include <linux/bvec.h>
#include <linux/delay.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sockptr.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "mpa_compat.h"
#include "mpa_peer.h"

/* Bound for an answer on any kernel; no test waits this long on success */
#define PEER_PATIENCE	(20 * HZ)

int mpa_peer_lo_up(void)
{
	struct net_device *lo = init_net.loopback_dev;
	int err;

	rtnl_lock();
	err = dev_change_flags(lo, lo->flags | IFF_UP, NULL);
	rtnl_unlock();
	return err;
}

/* Set the MTU of lo; returns the previous MTU, or a negative errno. */
int mpa_peer_lo_mtu(int mtu)
{
	struct net_device *lo = init_net.loopback_dev;
	int old = lo->mtu;
	int err;

	rtnl_lock();
	err = dev_set_mtu(lo, mtu);
	rtnl_unlock();
	return err ?: old;
}

static int peer_setsockopt(struct socket *sock, int level, int name, int value)
{
	sockptr_t optval = KERNEL_SOCKPTR(&value);

	if (!value)
		return 0;
	if (level == SOL_SOCKET)
		return sock_setsockopt(sock, level, name, optval,
				       sizeof(value));
	return READ_ONCE(sock->ops)->setsockopt(sock, level, name, optval,
						sizeof(value));
}

static int peer_setup(struct socket *sock, const struct mpa_peer_opts *opts)
{
	int err;

	WRITE_ONCE(sock->sk->sk_rcvtimeo, PEER_PATIENCE);
	WRITE_ONCE(sock->sk->sk_sndtimeo, PEER_PATIENCE);
	err = peer_setsockopt(sock, SOL_TCP, TCP_MAXSEG, opts->maxseg);
	err = err ?: peer_setsockopt(sock, SOL_SOCKET, SO_RCVBUF,
				     opts->rcvbuf);
	return err ?: peer_setsockopt(sock, SOL_SOCKET, SO_SNDBUF,
				      opts->sndbuf);
}

static int peer_create(const struct mpa_peer_opts *opts, struct socket **sock)
{
	int err = sock_create_kern(&init_net, opts->ipv6 ? AF_INET6 : AF_INET,
				   SOCK_STREAM, IPPROTO_TCP, sock);

	if (err)
		return err;
	err = peer_setup(*sock, opts);
	if (err)
		sock_release(*sock);
	return err;
}

static int peer_loopback(const struct mpa_peer_opts *opts,
			 struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (opts->ipv6) {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;

		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = in6addr_loopback;
		return sizeof(*sin6);
	}
	addr->ss_family = AF_INET;
	((struct sockaddr_in *)addr)->sin_addr.s_addr =
		htonl(INADDR_LOOPBACK);
	return sizeof(struct sockaddr_in);
}

/* A socket bound to a free port; with TCP_REPAIR_ON in repair mode */
static int peer_bind(const struct mpa_peer_opts *opts, int repair,
		     struct socket **sock, struct sockaddr_storage *addr)
{
	int len = peer_loopback(opts, addr);
	int err = peer_create(opts, sock);

	if (err)
		return err;
	err = peer_setsockopt(*sock, SOL_TCP, TCP_REPAIR, repair);
	err = err ?: kernel_bind(*sock, mpa_sockaddr(addr), len);
	if (!err)
		err = kernel_getsockname(*sock, (struct sockaddr *)addr);
	if (err < 0)
		sock_release(*sock);
	return min(err, 0);
}

/* A listener whose connections the test accepts itself, and its address */
int mpa_peer_listen(const struct mpa_peer_opts *opts, struct socket **sock,
		    struct sockaddr_storage *addr)
{
	int err = peer_bind(opts, TCP_REPAIR_OFF, sock, addr);

	if (err)
		return err;
	err = kernel_listen(*sock, 1);
	if (err)
		sock_release(*sock);
	return err;
}

/* A socket that is connected to a listener */
int mpa_peer_connect(const struct mpa_peer_opts *opts,
		     struct sockaddr_storage *addr, struct socket **sock)
{
	int len = opts->ipv6 ? sizeof(struct sockaddr_in6) :
			       sizeof(struct sockaddr_in);
	int err = peer_create(opts, sock);

	if (err)
		return err;
	err = kernel_connect(*sock, mpa_sockaddr(addr), len, 0);
	if (err)
		sock_release(*sock);
	return err;
}

/* Set the sequence numbers of the next octet sent and received. */
static int peer_repair_seq(struct socket *sock, u32 snd, u32 rcv)
{
	int err;

	err = peer_setsockopt(sock, SOL_TCP, TCP_REPAIR_QUEUE, TCP_RECV_QUEUE);
	err = err ?: peer_setsockopt(sock, SOL_TCP, TCP_QUEUE_SEQ, rcv);
	err = err ?: peer_setsockopt(sock, SOL_TCP, TCP_REPAIR_QUEUE,
				     TCP_SEND_QUEUE);
	return err ?: peer_setsockopt(sock, SOL_TCP, TCP_QUEUE_SEQ, snd);
}

/* Set the window values that a handshake would have set. */
static int peer_repair_window(struct socket *sock, u32 seq)
{
	struct tcp_repair_window window = {
		.snd_wl1 = seq, .snd_wnd = 32768, .max_window = 32768,
		.rcv_wnd = 32768, .rcv_wup = seq,
	};
	int err;

	err = READ_ONCE(sock->ops)->setsockopt(sock, SOL_TCP,
					       TCP_REPAIR_WINDOW,
					       KERNEL_SOCKPTR(&window),
					       sizeof(window));
	return err ?: peer_setsockopt(sock, SOL_TCP, TCP_REPAIR,
				      TCP_REPAIR_OFF_NO_WP);
}

/* Connect without a handshake. */
static int peer_repair_connect(struct socket *a, struct sockaddr_storage *to_a,
			       struct socket *b, struct sockaddr_storage *to_b,
			       u32 seq)
{
	int len = sizeof(struct sockaddr_in);
	int err;

	err = peer_repair_seq(a, seq, seq);
	err = err ?: peer_repair_seq(b, seq, seq);
	err = err ?: kernel_connect(a, mpa_sockaddr(to_b), len, 0);
	err = err ?: kernel_connect(b, mpa_sockaddr(to_a), len, 0);
	err = err ?: peer_repair_window(a, seq);
	return err ?: peer_repair_window(b, seq);
}

/* Connect two sockets whose sequence numbers both start at opts->seq. */
static int peer_pair_at(const struct mpa_peer_opts *opts,
			struct socket **client, struct socket **server)
{
	struct sockaddr_storage addr[2];
	int err;

	err = peer_bind(opts, TCP_REPAIR_ON, client, &addr[0]);
	if (err)
		return err;
	err = peer_bind(opts, TCP_REPAIR_ON, server, &addr[1]);
	if (err)
		goto release_client;
	err = peer_repair_connect(*client, &addr[0], *server, &addr[1],
				  opts->seq);
	if (!err)
		return 0;
	sock_release(*server);
release_client:
	sock_release(*client);
	return err;
}

#if IS_ENABLED(CONFIG_SYN_COOKIES)
/* Initial sequence number of a SYN+ACK with a cookie; our SYN had seq - 1. */
static u32 peer_cookie(const struct sockaddr_in *from,
		       const struct sockaddr_in *to, u32 seq)
{
	struct iphdr iph = {
		.saddr = from->sin_addr.s_addr, .daddr = to->sin_addr.s_addr,
	};
	struct tcphdr th = {
		.source = from->sin_port, .dest = to->sin_port,
		.seq = htonl(seq - 1),
	};
	u16 mss = 1460;

	return __cookie_v4_init_sequence(&iph, &th, &mss);
}

/*
 * Connect a socket over IPv4 with a SYN cookie of @listener's port: its first
 * segment is the ACK. Marks @listener as having sent cookies recently, as if
 * another listener on the port had sent this one.
 */
int mpa_peer_cookie(const struct mpa_peer_opts *opts, struct socket *listener,
		    struct socket **sock)
{
	struct sockaddr_storage from, to;
	u32 seq = 5044, cookie;
	int err;

	peer_loopback(opts, &to);
	((struct sockaddr_in *)&to)->sin_port =
		inet_sk(listener->sk)->inet_sport;
	rcu_read_lock();
	tcp_synq_overflow(listener->sk);
	rcu_read_unlock();

	err = peer_bind(opts, TCP_REPAIR_ON, sock, &from);
	if (err)
		return err;
	cookie = peer_cookie((struct sockaddr_in *)&from,
			     (struct sockaddr_in *)&to, seq);
	err = peer_repair_seq(*sock, seq, cookie + 1);
	err = err ?: kernel_connect(*sock, mpa_sockaddr(&to),
				    sizeof(struct sockaddr_in), 0);
	err = err ?: peer_repair_window(*sock, cookie + 1);
	if (err)
		sock_release(*sock);
	return err;
}
#else
int mpa_peer_cookie(const struct mpa_peer_opts *opts, struct socket *listener,
		    struct socket **sock)
{
	return -EOPNOTSUPP;
}
#endif

static int peer_accept(struct socket *listener, struct socket **server)
{
	int err = kernel_accept(listener, server, 0);

	if (err)
		return err;
	WRITE_ONCE((*server)->sk->sk_rcvtimeo, PEER_PATIENCE);
	WRITE_ONCE((*server)->sk->sk_sndtimeo, PEER_PATIENCE);
	return 0;
}

/* Connect two sockets. */
int mpa_peer_pair(const struct mpa_peer_opts *opts, struct socket **client,
		  struct socket **server)
{
	struct sockaddr_storage addr;
	struct socket *listener;
	int err;

	if (opts->seq)
		return peer_pair_at(opts, client, server);
	err = mpa_peer_listen(opts, &listener, &addr);
	if (err)
		return err;
	err = mpa_peer_connect(opts, &addr, client);
	if (!err) {
		err = peer_accept(listener, server);
		if (err)
			sock_release(*client);
	}
	sock_release(listener);
	return err;
}

int mpa_peer_init(struct mpa_peer *peer, struct socket *sock)
{
	peer->in = kvmalloc(PEER_IN, GFP_KERNEL);
	if (!peer->in)
		return -ENOMEM;
	peer->sock = sock;
	peer->have = 0;
	peer->used = 0;
	tcp_sock_set_nodelay(sock->sk);
	return 0;
}

/* Accept the next connection of a listener made by mpa_peer_listen(). */
int mpa_peer_accept(struct mpa_peer *peer, struct socket *listener)
{
	struct socket *sock;
	int err = peer_accept(listener, &sock);

	if (err)
		return err;
	err = mpa_peer_init(peer, sock);
	if (err)
		mpa_peer_close(sock);
	return err;
}

/* Close at once with a reset, leaving no TIME_WAIT socket. */
void mpa_peer_close(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

/* Returns true if no other task owned the socket. */
static bool sock_own(struct sock *sk)
{
	bool was_free;

	spin_lock_bh(&sk->sk_lock.slock);
	was_free = !sk->sk_lock.owned;
	sk->sk_lock.owned = true;
	spin_unlock_bh(&sk->sk_lock.slock);
	return was_free;
}

static void sock_disown(struct sock *sk)
{
	spin_lock_bh(&sk->sk_lock.slock);
	sk->sk_lock.owned = false;
	spin_unlock_bh(&sk->sk_lock.slock);
}

/*
 * Own the socket lock without lockdep: the test, while it is owner, waits for
 * tasks that take the lock of another socket. Takes the lock only while it is
 * free, because the present owner would not notice that it lost the lock.
 */
void mpa_peer_own(struct sock *sk)
{
	while (!sock_own(sk))
		usleep_range(100, 200);
}

void mpa_peer_disown(struct sock *sk)
{
	sock_disown(sk);
	/* process the segments that arrived while the socket was owned */
	lock_sock(sk);
	release_sock(sk);
}

/* From now on TCP accepts and acknowledges nothing from the other end. */
void mpa_peer_stop(struct mpa_peer *peer)
{
	peer->stopped = true;
	mpa_peer_own(peer->sock->sk);
}

void mpa_peer_continue(struct mpa_peer *peer)
{
	if (!peer->stopped)
		return;
	peer->stopped = false;
	mpa_peer_disown(peer->sock->sk);
}

/*
 * Of a peer that has stopped TCP acknowledges nothing before the reset either.
 * mpa_peer_close() would have it look at what has come since first.
 */
void mpa_peer_reset(struct mpa_peer *peer)
{
	struct sock *sk = peer->sock->sk;

	if (peer->stopped) {
		WRITE_ONCE(sk->sk_lingertime, 0);
		sock_set_flag(sk, SOCK_LINGER);
		sock_disown(sk);
		sock_release(peer->sock);
	} else {
		mpa_peer_close(peer->sock);
	}
	peer->sock = NULL;
}

void mpa_peer_exit(struct mpa_peer *peer)
{
	if (peer->sock)
		mpa_peer_reset(peer);
	kvfree(peer->in);
	peer->in = NULL;
}

int mpa_peer_write(struct mpa_peer *peer, const void *buf, u32 len)
{
	u32 done = 0;

	while (done < len) {
		struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
		struct kvec iov = {
			.iov_base = (void *)buf + done,
			.iov_len = len - done,
		};
		int n = kernel_sendmsg(peer->sock, &msg, &iov, 1, len - done);

		if (n < 0)
			return n;
		done += n;
	}
	return 0;
}

/* Write in segments of @chunk octets. */
int mpa_peer_write_split(struct mpa_peer *peer, const u8 *buf, u32 len,
			 u32 chunk)
{
	u32 done, n;
	int err;

	for (done = 0; done < len; done += n) {
		n = min(chunk, len - done);
		err = mpa_peer_write(peer, buf + done, n);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Send the first octets of @page without a copy. @shared: mark the page as
 * writable by others, as splice() does.
 */
int mpa_peer_write_page(struct mpa_peer *peer, struct page *page, u32 len,
			bool shared)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL | MSG_SPLICE_PAGES };
	struct bio_vec bv;
	int n;

	if (!shared)
		msg.msg_flags |= MSG_NO_SHARED_FRAGS;
	bvec_set_page(&bv, page, len, 0);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, len);
	n = sock_sendmsg(peer->sock, &msg);
	if (n >= 0 && n < len)
		return -EIO;
	return min(n, 0);
}

/* Send one piece of at most a page, in a page of its own. */
static int peer_write_piece(struct mpa_peer *peer, const u8 *buf, u32 len,
			    bool shared)
{
	struct page *page = alloc_page(GFP_KERNEL);
	int err;

	if (!page)
		return -ENOMEM;
	memcpy(page_address(page), buf, len);
	err = mpa_peer_write_page(peer, page, len, shared);
	put_page(page);
	return err;
}

/*
 * Write in pieces of @chunk octets that cannot be coalesced: each piece stays a
 * fragment of its own, however TCP merges the segments.
 */
int mpa_peer_write_scattered(struct mpa_peer *peer, const u8 *buf, u32 len,
			     u32 chunk, bool shared)
{
	u32 done, n;
	int err;

	for (done = 0; done < len; done += n) {
		n = min(chunk, len - done);
		err = peer_write_piece(peer, buf + done, n, shared);
		if (err)
			return err;
	}
	return 0;
}

int mpa_peer_urgent(struct mpa_peer *peer, u8 octet)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL | MSG_OOB };
	struct kvec iov = { .iov_base = &octet, .iov_len = 1 };

	return min(0, kernel_sendmsg(peer->sock, &msg, &iov, 1, 1));
}

static int peer_recv(struct mpa_peer *peer, u32 len, int flags)
{
	struct msghdr msg = { .msg_flags = flags };
	struct kvec iov = {
		.iov_base = peer->in + peer->have, .iov_len = len,
	};
	int n = kernel_recvmsg(peer->sock, &msg, &iov, 1, len, flags);

	if (n > 0)
		peer->have += n;
	return n;
}

/* Read until @until octets have arrived; -ENODATA if the FIN came first. */
int mpa_peer_read(struct mpa_peer *peer, u32 until)
{
	int n;

	if (until > PEER_IN)
		return -ENOSPC;
	while (peer->have < until) {
		n = peer_recv(peer, until - peer->have, 0);
		if (n <= 0)
			return n ?: -ENODATA;
	}
	return 0;
}

/* Read up to the end of the stream; returns 0 for a FIN, or the error. */
int mpa_peer_read_end(struct mpa_peer *peer)
{
	int n;

	do {
		if (peer->have == PEER_IN)
			return -ENOSPC;
		n = peer_recv(peer, PEER_IN - peer->have, 0);
	} while (n > 0);
	return n;
}

/* True if no octet, FIN or error has arrived */
bool mpa_peer_silent(struct mpa_peer *peer)
{
	return peer_recv(peer, 1, MSG_DONTWAIT) == -EAGAIN;
}

/* RFC 5044 Figure 8. Returns its length. */
u32 mpa_peer_frame(u8 *to, bool reply, u8 flags, u8 rev, const u8 *pd,
		   u32 pd_len)
{
	static const u8 request[] = {
		0x4d, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52,
		0x65, 0x71, 0x20, 0x46, 0x72, 0x61, 0x6d, 0x65,
	};

	memcpy(to, request, sizeof(request));
	if (reply)
		to[9] = 0x70;
	to[16] = flags;
	to[17] = rev;
	to[18] = pd_len / 256;
	to[19] = pd_len % 256;
	if (pd)
		memcpy(to + 20, pd, pd_len);
	return pd ? 20 + pd_len : 20;
}
