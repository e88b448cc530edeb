/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What TCP has received, as a source of octets. */
#ifndef _MPA_QUEUE_H
#define _MPA_QUEUE_H

#include <linux/skbuff.h>
#include "mpa_fpdu.h"

struct mpa_conn;
struct sock;

/**
 * struct mpa_queue - one of TCP's two queues; valid while the socket is locked
 * @src: for the pure functions
 * @sk: the socket
 * @behind: what lies behind a hole, otherwise what is in order
 * @seq: TCP sequence number ...
 * @pos: ... and the stream position that belongs to it
 * @skb: where we are
 * @piece: octets of an skb that were looked at last
 * @piece_seq: where they begin
 * @piece_len: how many
 * @steps: how much was looked at
 */
struct mpa_queue {
	struct mpa_source	src;
	struct sock		*sk;
	bool			behind;
	u32			seq;
	u64			pos;
	struct sk_buff		*skb;
	const u8		*piece;
	u32			piece_seq;
	u32			piece_len;
	u32			steps;
};

void mpa_queue_init(struct mpa_queue *q, const struct mpa_conn *conn,
		    bool behind);
struct sk_buff *mpa_queue_seek(struct mpa_queue *q, u64 pos, u32 *off);

#endif /* _MPA_QUEUE_H */
