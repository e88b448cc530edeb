// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Plain TCP, used as efficiently as possible; and the same with a digest after
 * each message, like NVMe over TCP: one crc32c() pass on each side. tcp-pages
 * sends as nvme-tcp does as well: TCP takes the pages of a message, and copies
 * only the digest, which takes a call of its own.
 */
#include <linux/bvec.h>
#include <linux/crc32c.h>
#include <linux/in.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <uapi/linux/tls.h>

#include "bench_int.h"
#include "mpa_compat.h"

#define RECV_MAX	BENCH_SIZE_MAX	/* octets in a call */
#define SINK_LOW	256000u		/* octets to discard at once */

/**
 * struct tcp_end - the state of an end
 * @crc: of the octets received of the message
 * @got: octets received of the message
 * @wire: the digest, as it comes
 * @wire_got: octets of it
 * @digest: those of the messages of a call
 * @kv: the messages, and the digests
 */
struct tcp_end {
	u32		crc;
	u32		got;
	__le32		wire;
	u32		wire_got;
	__le32		digest[BENCH_CALL];
	struct kvec	kv[2 * BENCH_CALL];
};

static int create(struct net *net, struct socket **sock)
{
	int err = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
				   sock);

	if (!err)
		sock_no_linger((*sock)->sk);
	return err;
}

static int listen_at(struct bench_run *run, struct socket **sock,
		     struct sockaddr_storage *addr)
{
	int err;

	err = create(run->rx_net, sock);
	if (err)
		return err;
	*addr = run->opts.addr;
	err = kernel_bind(*sock, mpa_sockaddr(addr),
			  sizeof(struct sockaddr_in));
	if (!err)
		err = kernel_listen(*sock, 1);
	if (!err)
		err = kernel_getsockname(*sock, (struct sockaddr *)addr);
	if (err < 0) {
		sock_release(*sock);
		return err;
	}
	return 0;
}

static int connect_to(struct bench_run *run, struct sockaddr_storage *addr,
		      struct socket **sock)
{
	int err;

	err = create(run->tx_net, sock);
	if (err)
		return err;
	err = kernel_connect(*sock, mpa_sockaddr(addr),
			     sizeof(struct sockaddr_in), 0);
	if (err) {
		sock_release(*sock);
		*sock = NULL;
	}
	return err;
}

int bench_tcp_connect(struct bench_end *tx, struct bench_end *rx)
{
	struct sockaddr_storage addr;
	struct socket *listener;
	int err;

	err = listen_at(tx->run, &listener, &addr);
	if (err)
		return err;
	err = connect_to(tx->run, &addr, &tx->sock);
	if (!err)
		err = kernel_accept(listener, &rx->sock, 0);
	sock_release(listener);
	if (err) {
		bench_tcp_close(tx, rx);
		return err;
	}
	sock_no_linger(rx->sock->sk);
	tcp_sock_set_nodelay(tx->sock->sk);
	tcp_sock_set_nodelay(rx->sock->sk);
	return 0;
}
EXPORT_SYMBOL_GPL(bench_tcp_connect);

static void release(struct bench_end *end)
{
	if (end->sock)
		sock_release(end->sock);
	end->sock = NULL;
}

void bench_tcp_close(struct bench_end *tx, struct bench_end *rx)
{
	release(tx);
	release(rx);
}

/* With it all calls that wait return. */
void bench_tcp_shut(struct bench_end *tx, struct bench_end *rx)
{
	kernel_sock_shutdown(tx->sock, SHUT_RDWR);
	kernel_sock_shutdown(rx->sock, SHUT_RDWR);
}

static void ends_close(struct bench_end *tx, struct bench_end *rx)
{
	kvfree(rx->priv);
	kvfree(tx->priv);
	bench_tcp_close(tx, rx);
}

static int end_init(struct bench_end *end)
{
	struct tcp_end *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	t->crc = ~0;
	end->priv = t;
	return 0;
}

static int ends_open(struct bench_end *tx, struct bench_end *rx)
{
	int err = end_init(tx) ?: end_init(rx) ?: bench_tcp_connect(tx, rx);

	if (err)
		ends_close(tx, rx);
	return err;
}

/* MSG_MORE tells TCP that it may fill its segments. */
static int send(struct bench_end *end, struct msghdr *msg, size_t len,
		bool more)
{
	int sent;

	msg->msg_flags |= MSG_NOSIGNAL | (more ? MSG_MORE : 0);
	sent = sock_sendmsg(end->sock, msg);
	if (sent < 0)
		return bench_stopped(end->run) ? 0 : sent;
	return sent == len || bench_stopped(end->run) ? 0 : -EIO;
}

/* Number of messages, of @nr, to pass in one call */
static u32 post_nr(const struct bench_end *end, u32 nr)
{
	return min3(nr, (u32)BENCH_CALL,
		    (u32)BENCH_CALL_OCTETS / end->run->opts.size);
}

static int tcp_post(struct bench_end *end, u32 nr)
{
	u32 size = end->run->opts.size;
	struct tcp_end *t = end->priv;
	struct msghdr msg = { };
	int err = 0;
	u32 i, n;

	for (; !err && nr; nr -= n) {
		n = post_nr(end, nr);
		for (i = 0; i < n; i++) {
			t->kv[i].iov_base = (void *)bench_message(end);
			t->kv[i].iov_len = size;
		}
		msg.msg_flags = 0;
		iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, t->kv, n, n * size);
		err = send(end, &msg, n * size, nr > n);
	}
	return err;
}

static int receive(struct bench_end *end, void *to, size_t len, int flags)
{
	struct kvec kv = { .iov_base = to, .iov_len = len };
	struct msghdr msg = { };
	int got;

	got = kernel_recvmsg(end->sock, &msg, &kv, 1, len, flags);
	if (bench_stopped(end->run))
		return 0;
	return got ?: -ECONNRESET;
}

static int tcp_recv(struct bench_end *end)
{
	u32 room;
	void *to = bench_room(end, &room);
	int got = receive(end, to, min_t(u32, room, RECV_MAX), 0);

	if (got <= 0)
		return got;
	bench_placed(end, got);
	bench_act(end);
	return 0;
}

static int sink_actor(read_descriptor_t *desc, struct sk_buff *skb,
		      unsigned int off, size_t len)
{
	struct bench_end *end = desc->arg.data;

	end->rx_pos += len;
	return len;
}

/*
 * Socket locked, by its owner or by the softirq that has octets for it. A
 * receiver that copies them comes to find many; if this one did not wait for as
 * many the sender would be told of each segment.
 */
static void sink(struct sock *sk, struct bench_end *end)
{
	read_descriptor_t desc = { .arg.data = end, .count = 1 };
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 inq = tp->rcv_nxt - tp->copied_seq;

	if (inq < min(SINK_LOW, tp->rcv_wnd / 2) &&
	    end->rx_pos + inq < end->want)
		return;
	tcp_read_sock(sk, &desc, sink_actor);
	bench_act(end);
}

static void sink_data_ready(struct sock *sk)
{
	struct bench_end *end;

	read_lock_bh(&sk->sk_callback_lock);
	end = sk->sk_user_data;
	if (end)
		sink(sk, end);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Discard received octets; the layer above TCP has detached. */
void bench_tcp_sink(struct bench_end *end)
{
	struct sock *sk = end->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = end;
	WRITE_ONCE(sk->sk_data_ready, sink_data_ready);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/* Nothing is done with @end after it. */
void bench_tcp_unsink(struct bench_end *end)
{
	struct sock *sk = end->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

static int tcp_no_sink(struct bench_end *rx)
{
	return 0;
}

static void digest_fill(struct bench_end *end, struct kvec *kv, __le32 *digest)
{
	u32 size = end->run->opts.size;

	kv[0].iov_base = (void *)bench_message(end);
	kv[0].iov_len = size;
	*digest = cpu_to_le32(~crc32c(~0, kv[0].iov_base, size));
	kv[1].iov_base = digest;
	kv[1].iov_len = sizeof(*digest);
}

static int digest_post(struct bench_end *end, u32 nr)
{
	u32 len = end->run->opts.size + sizeof(__le32);
	struct tcp_end *t = end->priv;
	struct msghdr msg = { };
	int err = 0;
	u32 i, n;

	for (; !err && nr; nr -= n) {
		n = post_nr(end, nr);
		for (i = 0; i < n; i++)
			digest_fill(end, &t->kv[2 * i], &t->digest[i]);
		msg.msg_flags = 0;
		iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, t->kv, 2 * n,
			      n * len);
		err = send(end, &msg, n * len, nr > n);
	}
	return err;
}

/* The pages of a message lie in a row. */
static int pages_post(struct bench_end *end, u32 nr)
{
	u32 size = end->run->opts.size;
	struct tcp_end *t = end->priv;
	struct msghdr msg = { };
	struct bio_vec bv;
	int err = 0;

	for (; !err && nr; nr--) {
		digest_fill(end, t->kv, t->digest);
		bvec_set_virt(&bv, t->kv[0].iov_base, size);
		msg.msg_flags = MSG_SPLICE_PAGES;
		iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bv, 1, size);
		err = send(end, &msg, size, true);
		if (err)
			break;
		msg.msg_flags = 0;
		iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &t->kv[1], 1,
			      sizeof(__le32));
		err = send(end, &msg, sizeof(__le32), nr > 1);
	}
	return err;
}

static int digest_check(struct bench_end *end, struct tcp_end *d)
{
	if (le32_to_cpu(d->wire) != ~d->crc)
		return -EBADMSG;
	d->crc = ~0;
	d->got = 0;
	d->wire_got = 0;
	bench_act(end);
	return 0;
}

/* The rest of a message and its digest in one call, as far as they are here. */
static int digest_recv(struct bench_end *end)
{
	struct tcp_end *d = end->priv;
	struct msghdr msg = { };
	struct kvec kv[2];
	u32 room, n;
	int got;

	kv[0].iov_base = bench_room(end, &room);
	kv[0].iov_len = end->run->opts.size - d->got;
	kv[1].iov_base = (void *)&d->wire + d->wire_got;
	kv[1].iov_len = sizeof(d->wire) - d->wire_got;
	got = kernel_recvmsg(end->sock, &msg, kv, 2,
			     kv[0].iov_len + kv[1].iov_len, 0);
	if (bench_stopped(end->run))
		return 0;
	if (got <= 0)
		return got ?: -ECONNRESET;
	n = min_t(u32, got, end->run->opts.size - d->got);
	d->crc = crc32c(d->crc, bench_room(end, &room), n);
	bench_placed(end, n);
	d->got += n;
	d->wire_got += got - n;
	return d->wire_got == sizeof(d->wire) ? digest_check(end, d) : 0;
}

/* Kernel TLS 1.2 with AES-128-GCM; both directions use the same keys. */
static int tls_start(struct socket *sock)
{
	struct tls12_crypto_info_aes_gcm_128 info = {
		.info.version		= TLS_1_2_VERSION,
		.info.cipher_type	= TLS_CIPHER_AES_GCM_128,
		.key			= "benchmark of MPA",
	};
	static const int option[] = { TLS_TX, TLS_RX };
	unsigned int i;
	int err;

	err = do_sock_setsockopt(sock, false, SOL_TCP, TCP_ULP,
				 KERNEL_SOCKPTR("tls"), sizeof("tls"));
	for (i = 0; !err && i < ARRAY_SIZE(option); i++)
		err = do_sock_setsockopt(sock, false, SOL_TLS, option[i],
					 KERNEL_SOCKPTR(&info), sizeof(info));
	return err;
}

static int tls_open(struct bench_end *tx, struct bench_end *rx)
{
	int err;

	err = ends_open(tx, rx);
	if (err)
		return err;
	err = tls_start(tx->sock);
	/* A sink reads below TLS */
	if (!err && !rx->run->opts.sink)
		err = tls_start(rx->sock);
	if (err)
		ends_close(tx, rx);
	return err;
}

#define BENCH_TCP(_name, _open, _post, _recv) {	\
	.name	= _name,			\
	.owner	= THIS_MODULE,			\
	.open	= _open,			\
	.post	= _post,			\
	.recv	= _recv,			\
	.sink	= tcp_no_sink,			\
	.shut	= bench_tcp_shut,		\
	.close	= ends_close,			\
}

struct bench_transport bench_tcp =
	BENCH_TCP("tcp", ends_open, tcp_post, tcp_recv);
struct bench_transport bench_tcp_crc =
	BENCH_TCP("tcp-crc", ends_open, digest_post, digest_recv);
struct bench_transport bench_tcp_pages =
	BENCH_TCP("tcp-pages", ends_open, pages_post, digest_recv);
struct bench_transport bench_ktls =
	BENCH_TCP("ktls", tls_open, tcp_post, tcp_recv);
