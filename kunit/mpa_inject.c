// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP segments built by the test. They pass through IP and TCP. TCP has
 * processed them when mpa_inject() returns, unless another task holds the
 * socket lock: then TCP processes them, in order, when the lock is released.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>
#include "mpa_inject.h"

/* The receive buffers of cases have room for so much, also with large pages. */
#define INJECT_TRUESIZE(len)	ALIGN(len, SZ_4K)

/* Octet 0 is the next one that @from would send. */
void mpa_inject_begin(struct mpa_inject *in, struct socket *from)
{
	in->from = from;
	lock_sock(from->sk);
	in->seq = tcp_sk(from->sk)->write_seq;
	release_sock(from->sk);
}

/*
 * Socket lock held. Set @from's send state as if it had sent all octets before
 * @end, so that it accepts ACKs for them and continues at @end.
 */
static void inject_sent(struct sock *from, u32 end)
{
	struct tcp_sock *tp = tcp_sk(from);

	if (!after(end, tp->write_seq))
		return;
	WRITE_ONCE(tp->write_seq, end);
	WRITE_ONCE(tp->snd_nxt, end);
	tp->pushed_seq = end;
}

/*
 * A header without options: Linux accepts segments without a timestamp even if
 * timestamps were negotiated.
 */
static void inject_header(struct tcphdr *th, struct sock *from, u32 seq,
			  u32 len, u32 flags)
{
	struct tcp_sock *tp = tcp_sk(from);

	memset(th, 0, sizeof(*th));
	th->source = inet_sk(from)->inet_sport;
	th->dest = inet_sk(from)->inet_dport;
	th->seq = htonl(seq);
	th->ack_seq = htonl(tp->rcv_nxt);
	th->doff = sizeof(*th) / 4;
	th->ack = 1;
	th->fin = !!(flags & INJECT_FIN);
	th->window = htons(min_t(u32, tcp_receive_window(tp) >>
				 tp->rx_opt.rcv_wscale, U16_MAX));
	if (flags & INJECT_URGENT) {
		th->urg = 1;
		th->urg_ptr = htons(len);
	}
}

static int inject_pages(struct sk_buff *skb, const u8 *data, u32 len)
{
	struct page *page;
	u32 n;

	for (; len; len -= n, data += n) {
		if (skb_shinfo(skb)->nr_frags == MAX_SKB_FRAGS)
			return -EMSGSIZE;
		page = alloc_page(GFP_KERNEL);
		if (!page)
			return -ENOMEM;
		n = min_t(u32, len, PAGE_SIZE);
		memcpy(page_address(page), data, n);
		skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, n,
				INJECT_TRUESIZE(n));
	}
	return 0;
}

/* In a page that its owner may still write to; the skb is marked as shared. */
static int inject_shared(struct sk_buff *skb, struct page *page,
			 const u8 *data, u32 len)
{
	if (!page || len > PAGE_SIZE)
		return -EMSGSIZE;
	get_page(page);
	memcpy(page_address(page), data, len);
	skb_add_rx_frag(skb, 0, page, 0, len, INJECT_TRUESIZE(len));
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return 0;
}

/* Allocate an skb with the payload and room for the headers. */
static struct sk_buff *inject_alloc(struct mpa_inject *in, const void *data,
				    u32 len, u32 flags)
{
	bool pages = flags & (INJECT_PAGES | INJECT_SHARED);
	struct sk_buff *skb;
	int err = 0;

	skb = alloc_skb(MAX_TCP_HEADER + (pages ? 0 : len), GFP_KERNEL);
	if (!skb)
		return ERR_PTR(-ENOMEM);
	skb_reserve(skb, MAX_TCP_HEADER);
	if (flags & INJECT_SHARED)
		err = inject_shared(skb, in->page, data, len);
	else if (pages)
		err = inject_pages(skb, data, len);
	else
		skb_put_data(skb, data, len);
	if (!err)
		return skb;
	kfree_skb(skb);
	return ERR_PTR(err);
}

static void inject_ipv4(struct sk_buff *skb, const struct sock *from)
{
	struct tcphdr *th = tcp_hdr(skb);
	__be32 saddr = inet_sk(from)->inet_saddr;
	__be32 daddr = inet_sk(from)->inet_daddr;
	struct iphdr *iph;

	th->check = tcp_v4_check(skb->len, saddr, daddr,
				 skb_checksum(skb, 0, skb->len, 0));
	iph = skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	memset(iph, 0, sizeof(*iph));
	iph->version = 4;
	iph->ihl = sizeof(*iph) / 4;
	iph->tot_len = htons(skb->len);
	iph->ttl = 64;
	iph->protocol = IPPROTO_TCP;
	iph->saddr = saddr;
	iph->daddr = daddr;
	ip_send_check(iph);
	skb->protocol = htons(ETH_P_IP);
}

#if IS_ENABLED(CONFIG_IPV6)
static void inject_ipv6(struct sk_buff *skb, const struct sock *from)
{
	const struct in6_addr *saddr = &from->sk_v6_rcv_saddr;
	const struct in6_addr *daddr = &from->sk_v6_daddr;
	struct tcphdr *th = tcp_hdr(skb);
	struct ipv6hdr *hdr;

	th->check = csum_ipv6_magic(saddr, daddr, skb->len, IPPROTO_TCP,
				    skb_checksum(skb, 0, skb->len, 0));
	hdr = skb_push(skb, sizeof(*hdr));
	skb_reset_network_header(skb);
	memset(hdr, 0, sizeof(*hdr));
	hdr->version = 6;
	hdr->payload_len = htons(skb->len - sizeof(*hdr));
	hdr->nexthdr = IPPROTO_TCP;
	hdr->hop_limit = 64;
	hdr->saddr = *saddr;
	hdr->daddr = *daddr;
	skb->protocol = htons(ETH_P_IPV6);
}
#else
static void inject_ipv6(struct sk_buff *skb, const struct sock *from)
{
}
#endif

/* As if sent on the loopback device, with the route of the connection */
static int inject_receive(struct sk_buff *skb, struct sock *from)
{
	struct dst_entry *dst = sk_dst_get(from);
	int res;

	if (!dst) {
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	skb_dst_set(skb, dst);
	skb->dev = sock_net(from)->loopback_dev;
	skb->pkt_type = PACKET_HOST;
	skb_reset_mac_header(skb);

	local_bh_disable();
	res = netif_receive_skb(skb);
	local_bh_enable();
	return res == NET_RX_SUCCESS ? 0 : -EIO;
}

/* Socket lock held. */
static void inject_headers(struct mpa_inject *in, struct sk_buff *skb, u32 at,
			   u32 flags)
{
	struct sock *from = in->from->sk;
	u32 seq = in->seq + at, len = skb->len;

	if (!(flags & INJECT_STRAY))
		inject_sent(from, seq + len + !!(flags & INJECT_FIN));
	skb_push(skb, sizeof(struct tcphdr));
	skb_reset_transport_header(skb);
	inject_header(tcp_hdr(skb), from, seq, len, flags);
	if (from->sk_family == AF_INET6)
		inject_ipv6(skb, from);
	else
		inject_ipv4(skb, from);
	if (flags & INJECT_BAD_SUM)
		tcp_hdr(skb)->check ^= (__force __sum16)htons(1);
}

/**
 * mpa_inject() - put a segment into a connection
 * @in: the stream
 * @at: offset in the stream of the segment's first octet
 * @data: octets of the segment
 * @len: number of octets
 * @flags: INJECT_*
 *
 * Return: 0, or a negative errno if the segment could not be built. Does not
 * tell how TCP processed it.
 */
int mpa_inject(struct mpa_inject *in, u32 at, const void *data, u32 len,
	       u32 flags)
{
	struct sk_buff *skb = inject_alloc(in, data, len, flags);

	if (IS_ERR(skb))
		return PTR_ERR(skb);
	lock_sock(in->from->sk);
	inject_headers(in, skb, at, flags);
	release_sock(in->from->sk);
	return inject_receive(skb, in->from->sk);
}
