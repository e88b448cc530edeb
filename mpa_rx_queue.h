/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* TCP's two queues of received octets, each as a stream with holes. */
#ifndef _MPA_RX_QUEUE_H
#define _MPA_RX_QUEUE_H

#include <linux/skbuff.h>
#include "mpa_fpdu.h"

struct mpa_conn;
struct sock;

/*
 * skbs after which one mpa_stream.have() gives up: the peer, or a box on the
 * path, has cut an FPDU so small, and going over it would keep the socket
 * locked for long. After a hole such an FPDU is passed in order only; in order,
 * one that was passed before is copied.
 */
#define MPA_QUEUE_SKBS	1024

/* skbs from which one mpa_queue_copy() copies */
#define MPA_QUEUE_COPY	1024

/**
 * struct mpa_queue - one of TCP's two queues; valid while the socket is locked
 * @src: the stream, for the pure functions
 * @sk: the socket
 * @ooo: the tree of octets after holes; otherwise the receive queue
 * @seq: TCP sequence number of an octet
 * @pos: stream position of that octet
 * @skb: the skb found last, or NULL
 * @piece: contiguous octets of an skb, of which some were read last
 * @piece_seq: TCP sequence number of the first octet of @piece
 * @piece_len: length of @piece in octets
 */
struct mpa_queue {
	struct mpa_stream	src;
	struct sock		*sk;
	bool			ooo;
	u32			seq;
	u64			pos;
	struct sk_buff		*skb;
	const u8		*piece;
	u32			piece_seq;
	u32			piece_len;
};

void mpa_queue_init(struct mpa_queue *q, const struct mpa_conn *conn,
		    bool ooo);
u32 mpa_queue_copy(struct mpa_queue *q, u64 pos, void *to, u32 len);
struct sk_buff *mpa_queue_seek(struct mpa_queue *q, u64 pos, u32 *off);

#endif /* _MPA_RX_QUEUE_H */
