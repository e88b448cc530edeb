/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions that the cases of trains and of FPDUs of one length share. */
#ifndef _MPA_CONN_TRAIN_H
#define _MPA_CONN_TRAIN_H

#include <linux/netdevice.h>
#include "mpa_conn_test.h"

enum {
	TRAIN_SEGMENTS	= 2048,
	TRAIN_FPDUS	= 256,
	TRAIN_EMSS	= 1448,		/* of 1460, with timestamps */
	TRAIN_FULL	= 1442,		/* ULPDU that fills a segment */
	TRAIN_SACK	= 28,		/* three blocks, besides timestamps */
};

/* Segments with data that were sent, and their FPDUs */
struct train {
	struct packet_type	tap;	/* called for each packet */
	spinlock_t		lock;	/* nr, seq */
	__be16			port;	/* of the connection */
	u32			base;	/* sequence number of position 0 */
	u32			emss;
	u32			seq[TRAIN_SEGMENTS];
	u32			nr;	/* segments */
	/* positions of FPDUs that the peer received, and of the end */
	u32			pos[TRAIN_FPDUS + 1];
	u32			nr_fpdus;
	/* at train_mark(): MPA_MIB_TX_*, conn_segments() */
	unsigned long		calls;
	unsigned long		segments_given;	/* _SEGMENTS */
	unsigned long		zerocopy;
	u32			sent;
};

void train_mark(struct conn_test *t, struct train *tr);
struct train *train_open_1448(struct conn_test *t, u8 peer_flags);
u32 train_take(struct conn_test *t, struct train *tr);
void train_take_messages(struct conn_test *t, struct train *tr, u32 nr);
void train_take_source(struct conn_test *t, struct train *tr,
		       const struct conn_msg *msg);
struct conn_msg *train_source(struct conn_test *t, u32 len);
void train_expect(struct conn_test *t, struct train *tr, u32 calls,
		  u32 given, u32 segments);
void train_expect_aligned(struct conn_test *t, struct train *tr, u32 end);
void train_expect_mulpdu(struct conn_test *t, u32 mulpdu);
void train_told(struct conn_test *t, u32 times, u32 mulpdu);

#endif /* _MPA_CONN_TRAIN_H */
