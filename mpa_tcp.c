// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Access to a TCP socket, except for sending (mpa_tx.c, mpa_cm.c), receiving
 * (mpa_rx.c, mpa_rx_queue.c), its callbacks (mpa_sk.c) and operations
 * (mpa_hook.c).
 */
#include <linux/net.h>
#include <net/hotdata.h>
#include <net/inet_connection_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include "mpa_conn.h"

#define MPA_TCP_UNSENT		SZ_64K	/* about a train; mpa_tcp_has_room() */

/* True if the socket has an upper layer protocol, and not one left by MPA. */
static bool mpa_tcp_has_ulp(const struct sock *sk)
{
	const struct tcp_ulp_ops *ulp = inet_csk(sk)->icsk_ulp_ops;

	sock_owned_by_me(sk);

	return ulp && strcmp(ulp->name, MPA_ULP_NAME);
}

/**
 * mpa_tcp_check() - check whether MPA can take a socket
 * @sock: socket
 *
 * Context: socket lock held.
 * Return: 0, %-EPROTOTYPE if it is not TCP, %-ENOTCONN if it is not connected,
 * %-EBUSY if it has another owner
 */
int mpa_tcp_check(struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (!sk_is_tcp(sk))
		return -EPROTOTYPE;
	if (sk->sk_state != TCP_ESTABLISHED && sk->sk_state != TCP_CLOSE_WAIT)
		return -ENOTCONN;
	if (sk->sk_user_data || mpa_tcp_has_ulp(sk))
		return -EBUSY;
	return 0;
}

/*
 * Socket lock held. True if what mpa_tcp_lower_emss() found holds no longer:
 * the MTU has changed, something else has set the EMSS, or the EMSS of the path
 * was bound by half the peer's largest window, which has grown.
 */
bool mpa_tcp_is_stale(const struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	const struct mpa_tx_lowered *low = &conn->tx.lowered;

	sock_owned_by_me(conn->sk);

	if (!low->clamp)
		return false;
	return inet_csk(conn->sk)->icsk_pmtu_cookie != low->mtu ||
	       tp->mss_cache != low->emss ||
	       (tp->max_window != low->window &&
		low->path >= low->window / 2) ||
	       mpa_tcp_probes_mtu(conn->sk);
}

/*
 * Socket lock held. Returns the MSS for now, not reduced for SACK blocks, but
 * maybe by mpa_tcp_lower_emss().
 */
u32 mpa_tcp_emss(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct dst_entry *dst = __sk_dst_get(sk);

	sock_owned_by_me(sk);

	/* As tcp_current_mss() does: the path MTU may have changed. */
	if (dst) {
		u32 mtu = dst_mtu(dst);

		if (mtu != icsk->icsk_pmtu_cookie)
			icsk->icsk_sync_mss(sk, mtu);
	}
	if (mpa_tcp_is_stale(conn))
		mpa_tcp_restore_emss(conn);
	return tcp_sk(sk)->mss_cache;
}

/*
 * The EMSS that the path allows; or that of mpa_tcp_lower_emss() for a moment,
 * and from a change of the MTU until MPA sends. Context: any.
 */
u32 mpa_tcp_path_emss(const struct mpa_conn *conn)
{
	const struct mpa_tx_lowered *low = &conn->tx.lowered;
	u32 emss = READ_ONCE(tcp_sk(conn->sk)->mss_cache);
	u32 mtu = READ_ONCE(inet_csk(conn->sk)->icsk_pmtu_cookie);

	/* Pairs with smp_wmb() in mpa_tcp_lower_emss(). */
	smp_rmb();
	/* With another MTU the path may not allow low->path. */
	if (emss != READ_ONCE(low->emss) || mtu != READ_ONCE(low->mtu))
		return emss;
	return READ_ONCE(low->path);
}

/*
 * Socket lock held. Have TCP cut segments of @emss octets, if the path allows
 * more, also what it has not sent yet. TCP computes its EMSS again at any time,
 * for instance when the peer's window grows, from the MSS that was negotiated:
 * so that is what has to be lowered. Returns the EMSS that TCP has then.
 */
u32 mpa_tcp_lower_emss(struct mpa_conn *conn, u32 emss)
{
	struct inet_connection_sock *icsk = inet_csk(conn->sk);
	struct tcp_sock *tp = tcp_sk(conn->sk);
	struct mpa_tx_lowered *low = &conn->tx.lowered;

	mpa_tcp_restore_emss(conn);
	if (emss >= tp->mss_cache || mpa_conn_reconnected(conn))
		return tp->mss_cache;
	low->clamp = tp->rx_opt.mss_clamp;
	low->window = tp->max_window;
	WRITE_ONCE(low->mtu, icsk->icsk_pmtu_cookie);
	WRITE_ONCE(low->path, tp->mss_cache);
	WRITE_ONCE(low->emss, emss);
	/* Pairs with smp_rmb() in mpa_tcp_path_emss(). */
	smp_wmb();
	tp->rx_opt.mss_clamp = emss + icsk->icsk_ext_hdr_len +
			       tp->tcp_header_len - sizeof(struct tcphdr);
	icsk->icsk_sync_mss(conn->sk, low->mtu);
	/* net.ipv4.tcp_min_snd_mss may forbid it. */
	if (tp->mss_cache != emss) {
		mpa_tcp_restore_emss(conn);
		conn->tx.series.need = MPA_TX_NEVER;
	}
	return tp->mss_cache;
}

/*
 * Socket lock held. Have TCP cut segments as large as the path allows. A socket
 * that another user has reconnected has negotiated an MSS of its own.
 */
void mpa_tcp_restore_emss(struct mpa_conn *conn)
{
	struct inet_connection_sock *icsk = inet_csk(conn->sk);
	struct mpa_tx_lowered *low = &conn->tx.lowered;

	sock_owned_by_me(conn->sk);

	if (!low->clamp)
		return;
	if (!mpa_conn_reconnected(conn)) {
		tcp_sk(conn->sk)->rx_opt.mss_clamp = low->clamp;
		icsk->icsk_sync_mss(conn->sk, icsk->icsk_pmtu_cookie);
	}
	low->clamp = 0;
	WRITE_ONCE(low->emss, 0);
}

/*
 * True if TCP probes the path's MTU on this connection, or may begin to. TCP
 * makes a probe from the pages of queued skbs and drops these skbs with their
 * ubuf_info: a zero-copy message could be handed back while its pages are in a
 * probe that is not yet sent, or not yet read by a receiver on this host.
 */
bool mpa_tcp_probes_mtu(const struct sock *sk)
{
	/* Without a lock: TCP sets this bit only after the sysctl was set. */
	return data_race(!!inet_csk(sk)->icsk_mtup.enabled) ||
	       READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_mtu_probing);
}

/* Octets of a header that options may take beside those in each segment. */
static u32 mpa_tcp_option_room(const struct tcp_sock *tp)
{
	return MAX_TCP_OPTION_SPACE -
	       (tp->tcp_header_len - sizeof(struct tcphdr));
}

/* Octets of an option with @blocks SACK blocks, or as many as fit. */
static u32 mpa_tcp_sack_size(const struct tcp_sock *tp, u32 blocks)
{
	u32 room = mpa_tcp_option_room(tp);

	if (!blocks || room < TCPOLEN_SACK_BASE_ALIGNED + TCPOLEN_SACK_PERBLOCK)
		return 0;
	room -= TCPOLEN_SACK_BASE_ALIGNED;
	return TCPOLEN_SACK_BASE_ALIGNED + TCPOLEN_SACK_PERBLOCK *
	       min_t(u32, blocks, room / TCPOLEN_SACK_PERBLOCK);
}

/*
 * Socket lock held. Octets that SACK blocks take from each segment now, because
 * there is a hole in what the peer sent, or because it sent octets twice.
 */
u32 mpa_tcp_sack_octets(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	sock_owned_by_me(sk);

	return mpa_tcp_sack_size(tp, tp->rx_opt.num_sacks + tp->rx_opt.dsack);
}

/* Socket lock held. Octets that AccECN can take from each segment, or 0. */
u32 mpa_tcp_accecn_octets(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	sock_owned_by_me(sk);

	return min(mpa_accecn_octets(tp), mpa_tcp_option_room(tp));
}

/*
 * Socket lock held. Most octets that SACK blocks and AccECN can take from a
 * segment.
 */
u32 mpa_tcp_options_max(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 octets = mpa_tcp_accecn_octets(sk);

	sock_owned_by_me(sk);

	if (tcp_is_sack(tp))
		octets += mpa_tcp_sack_size(tp, TCP_NUM_SACKS);
	return min(octets, mpa_tcp_option_room(tp));
}

/*
 * Socket lock or slock held. Octets that can be given to TCP without going
 * beyond the window that the peer offers and should not shrink (RFC 9293
 * section 3.8.6).
 */
u32 mpa_tcp_window(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 end = tcp_wnd_end(tp);

	sock_owned_by_me(sk);

	return after(end, tp->write_seq) ? end - tp->write_seq : 0;
}

/* Fragments that TCP puts into one skb */
u32 mpa_tcp_frags_max(void)
{
	return max(READ_ONCE(net_hotdata.sysctl_max_skb_frags), 1);
}

/*
 * Octets of pages that TCP takes into one skb, each page a fragment. Two
 * fragments are left out: the first page may be used from its middle on, and
 * one may end before it is full.
 */
u32 mpa_tcp_pages_max(void)
{
	return (max(mpa_tcp_frags_max(), 2U) - 2) * PAGE_SIZE;
}

/* Octets that TCP has not sent yet. Context: socket lock or slock held. */
u32 mpa_tcp_unsent(const struct sock *sk)
{
	return tcp_sk(sk)->write_seq - tcp_sk(sk)->snd_nxt;
}

/*
 * Octets that TCP has to send, maybe again. Context: any; without the socket
 * lock or slock the result may be old.
 */
u32 mpa_tcp_unacked(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
}

/*
 * True if TCP has room for more. MPA gives TCP little that TCP cannot send yet,
 * since TCP may cut that elsewhere later; but always something, so that TCP can
 * probe a closed window. Context: socket lock or slock held.
 */
bool mpa_tcp_has_room(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 unsent = mpa_tcp_unsent(sk);

	if (!sk_stream_memory_free(sk) || unsent >= MPA_TCP_UNSENT)
		return false;
	return !unsent || mpa_tcp_window(sk) >= tp->mss_cache;
}

/*
 * Socket lock or slock held. Have TCP call write_space(): it tests SOCK_NOSPACE
 * after each ACK, and after sending at other times.
 */
void mpa_tcp_want_space(struct sock *sk)
{
	sock_owned_by_me(sk);

	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

/*
 * Socket lock held. As mpa_tcp_has_room(). If there is no room write_space() is
 * called later.
 */
bool mpa_tcp_space(struct sock *sk)
{
	if (mpa_tcp_has_room(sk))
		return true;
	mpa_tcp_want_space(sk);
	return false;
}

/* tcp_read_sock() calls this for each skb; desc->count is the room left. */
static int mpa_tcp_read_actor(read_descriptor_t *desc, struct sk_buff *skb,
			      unsigned int off, size_t len)
{
	int err;

	len = min(len, desc->count);
	err = skb_copy_bits(skb, off, desc->arg.data + desc->written, len);
	if (err)
		return err;
	desc->written += len;
	desc->count -= len;
	return len;
}

/*
 * Read and consume at most @len octets. Returns how many, 0 at the peer's FIN,
 * -EAGAIN if there are none yet, -EBADMSG if there are none before urgent data,
 * or the error of the connection. Context: process, socket lock not held.
 */
int mpa_tcp_read(struct mpa_conn *conn, void *buf, size_t len)
{
	read_descriptor_t desc = { .arg.data = buf, .count = len };
	struct sock *sk = conn->sk;
	int n = -ECONNRESET;

	lock_sock(sk);
	if (mpa_conn_reconnected(conn))
		goto unlock;
	/* Up to an urgent octet */
	n = tcp_read_sock(sk, &desc, mpa_tcp_read_actor);
	if (n)
		goto unlock;
	n = -EBADMSG;
	if (tcp_sk(sk)->urg_data)
		goto unlock;
	n = mpa_tcp_lost(sk);
	if (!n && !mpa_tcp_has_fin(sk))
		n = -EAGAIN;
unlock:
	release_sock(sk);
	return n;
}

/*
 * Octets received in order and not yet consumed, without the FIN. Context:
 * process, socket lock not held.
 */
u32 mpa_tcp_unread(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 octets;

	lock_sock(sk);
	octets = tp->rcv_nxt - tp->copied_seq;
	if (octets && mpa_tcp_has_fin(sk))
		octets--;
	release_sock(sk);
	return octets;
}

/*
 * Socket lock held. True if the window, or the receive buffer, may have no room
 * for another segment: tcp_epollin_ready() without TCP's memory as a whole.
 */
bool mpa_tcp_window_is_small(const struct sock *sk)
{
	int rcvbuf = READ_ONCE(sk->sk_rcvbuf);

	sock_owned_by_me(sk);

	return tcp_receive_window(tcp_sk(sk)) <=
	       inet_csk(sk)->icsk_ack.rcv_mss ||
	       atomic_read(&sk->sk_rmem_alloc) > rcvbuf - (rcvbuf >> 3);
}

/*
 * Have TCP send its FIN after all that it was given, as kernel_sock_shutdown()
 * does, unless another user of the socket has reconnected it. Returns 0, or
 * -ENOMEM if TCP had no memory for the FIN: it does not try again. Context:
 * process, socket lock not held.
 */
int mpa_tcp_send_fin(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	int state, err = 0;
	u32 end;

	lock_sock(sk);
	if (mpa_conn_reconnected(conn))
		goto unlock;
	end = tcp_sk(sk)->write_seq;
	state = sk->sk_state;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	sk->sk_state_change(sk);
	if ((state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT) &&
	    tcp_sk(sk)->write_seq == end && !mpa_tcp_lost(sk))
		err = -ENOMEM;
unlock:
	release_sock(sk);
	return err;
}

/*
 * Socket lock or slock held, while a duplicate ACK goes out: have TCP send the
 * next one at once, too (RFC 5681 section 4.2). When dup_ack_counter has
 * reached three, TCP delays and compresses duplicate ACKs.
 */
void mpa_tcp_ack_at_once(struct sock *sk)
{
	tcp_sk(sk)->dup_ack_counter = 0;
}

/*
 * Socket lock or slock held. When TCP has no memory for a segment it takes back
 * its receive window (ICSK_ACK_NOMEM). From then on the peer can send nothing
 * above RCV.NXT. If segments after a hole have raised SND.WL1, no window update
 * passes the test against SND.WL1 (RFC 9293 section 3.10.7.4) until the peer's
 * data is read. A consumer that does not read on before it can send would wait
 * forever, so SND.WL1 is lowered to RCV.NXT.
 *
 * TCP calls sk_data_ready() before it drops such a segment. Until TCP builds
 * the ACK with a window of zero, which it may put off until the socket lock is
 * released (TCP_ACK_DEFERRED), an ACK from above the hole can raise SND.WL1
 * again. If so, this returns true and sets rx.nomem: the work item must be
 * queued, to take the socket lock and do this once more.
 */
bool mpa_tcp_keep_window_updates(struct mpa_conn *conn)
{
	struct tcp_sock *tp = tcp_sk(conn->sk);
	bool nomem;

	sock_owned_by_me(conn->sk);

	nomem = inet_csk(conn->sk)->icsk_ack.pending & ICSK_ACK_NOMEM;
	WRITE_ONCE(conn->rx.nomem, nomem);

	if ((nomem || !tcp_receive_window(tp)) &&
	    after(tp->snd_wl1, tp->rcv_nxt))
		tp->snd_wl1 = tp->rcv_nxt;
	return nomem;
}

/*
 * Socket lock held. Consume the octets of batches that were put; none if
 * another user has reconnected the socket, which the next round reports, nor
 * once mpa_rx_discard() has consumed whatever TCP had.
 */
void mpa_tcp_consume(struct mpa_conn *conn)
{
	u32 octets = conn->rx.owed;

	sock_owned_by_me(conn->sk);

	conn->rx.owed = 0;
	if (octets && !conn->rx.discarded && !mpa_conn_reconnected(conn))
		tcp_read_done(conn->sk, octets);
}

/*
 * MPA_F_MEMALLOC: no allocation for the socket may wait for the socket. Keeps
 * what the consumer has set of the memory reserves.
 */
void mpa_tcp_memalloc(struct sock *sk)
{
	const gfp_t reserves = __GFP_MEMALLOC | __GFP_NOMEMALLOC;

	sk->sk_allocation = GFP_NOIO | (sk->sk_allocation & reserves);
	sk->sk_use_task_frag = false;
}

/* No effect if TCP is closed. Context: process, socket lock not held. */
void mpa_tcp_reset(struct sock *sk)
{
	tcp_abort(sk, ECONNABORTED);
}

static void mpa_tcp_address(struct sockaddr_storage *ss, __be32 addr,
			    __be16 port)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = addr;
	sin->sin_port = port;
}

#if IS_ENABLED(CONFIG_IPV6)
static void mpa_tcp_address6(struct sockaddr_storage *ss,
			     const struct in6_addr *addr, __be16 port,
			     int bound_dev_if)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;

	sin6->sin6_family = AF_INET6;
	sin6->sin6_addr = *addr;
	sin6->sin6_port = port;
	sin6->sin6_scope_id = ipv6_iface_scope_id(addr, bound_dev_if);
}
#endif

/* Without a lock: addresses do not change while the connection lives. */
void mpa_tcp_addresses(const struct sock *sk, struct sockaddr_storage *local,
		       struct sockaddr_storage *peer)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(local, 0, sizeof(*local));
	memset(peer, 0, sizeof(*peer));
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		int dev = READ_ONCE(sk->sk_bound_dev_if);

		mpa_tcp_address6(local, &inet6_sk(sk)->saddr,
				 inet->inet_sport, dev);
		mpa_tcp_address6(peer, &sk->sk_v6_daddr, inet->inet_dport, dev);
		return;
	}
#endif
	mpa_tcp_address(local, inet->inet_saddr, inet->inet_sport);
	mpa_tcp_address(peer, inet->inet_daddr, inet->inet_dport);
}
