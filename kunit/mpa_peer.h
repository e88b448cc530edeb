/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The other end of a connection: a plain TCP socket on the loopback device,
 * which the test reads and writes octet by octet. Shares no code with the
 * module.
 */
#ifndef _MPA_PEER_H
#define _MPA_PEER_H

#include <linux/net.h>
#include <linux/types.h>

struct page;

enum {
	PEER_IN		= 512 * 1024,
	PEER_FRAME	= 20,		/* Request or Reply, no private data */
	PEER_M		= 0x80,
	PEER_C		= 0x40,
	PEER_R		= 0x20,
	PEER_S		= 0x10,
};

/* A raw end of a TCP connection */
struct mpa_peer {
	struct socket	*sock;
	u8		*in;		/* octets read */
	u32		have;		/* number of them */
	u32		used;		/* those that the test has examined */
	bool		stopped;	/* see mpa_peer_stop() */
};

/* How two ends are connected; 0: TCP's default */
struct mpa_peer_opts {
	bool	ipv6;		/* ::1, not 127.0.0.1 */
	int	maxseg;		/* TCP_MAXSEG of both ends, */
	int	rcvbuf;		/* SO_RCVBUF, */
	int	sndbuf;		/* SO_SNDBUF */
	u32	seq;		/* initial sequence numbers; IPv4 only */
};

int mpa_peer_lo_up(void);
int mpa_peer_lo_mtu(int mtu);
int mpa_peer_listen(const struct mpa_peer_opts *opts, struct socket **sock,
		    struct sockaddr_storage *addr);
int mpa_peer_connect(const struct mpa_peer_opts *opts,
		     struct sockaddr_storage *addr, struct socket **sock);
int mpa_peer_pair(const struct mpa_peer_opts *opts, struct socket **client,
		  struct socket **server);
int mpa_peer_cookie(const struct mpa_peer_opts *opts, struct socket *listener,
		    struct socket **sock);
int mpa_peer_init(struct mpa_peer *peer, struct socket *sock);
int mpa_peer_accept(struct mpa_peer *peer, struct socket *listener);
void mpa_peer_exit(struct mpa_peer *peer);
void mpa_peer_close(struct socket *sock);
void mpa_peer_reset(struct mpa_peer *peer);
void mpa_peer_own(struct sock *sk);
void mpa_peer_disown(struct sock *sk);
void mpa_peer_stop(struct mpa_peer *peer);
void mpa_peer_continue(struct mpa_peer *peer);
int mpa_peer_write(struct mpa_peer *peer, const void *buf, u32 len);
int mpa_peer_write_split(struct mpa_peer *peer, const u8 *buf, u32 len,
			 u32 chunk);
int mpa_peer_write_page(struct mpa_peer *peer, struct page *page, u32 len,
			bool shared);
int mpa_peer_write_scattered(struct mpa_peer *peer, const u8 *buf, u32 len,
			     u32 chunk, bool shared);
int mpa_peer_urgent(struct mpa_peer *peer, u8 octet);
int mpa_peer_read(struct mpa_peer *peer, u32 until);
int mpa_peer_read_end(struct mpa_peer *peer);
bool mpa_peer_silent(struct mpa_peer *peer);
u32 mpa_peer_frame(u8 *to, bool reply, u8 flags, u8 rev, const u8 *pd,
		   u32 pd_len);

#endif /* _MPA_PEER_H */
