/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A consumer of RDMA verbs: what its parts share. */
#ifndef _BENCH_VERBS_H
#define _BENCH_VERBS_H

#include <linux/completion.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "bench.h"

struct sock;

#define VERBS_LIST	64		/* Sends that are posted in one call */
#define VERBS_LISTS	2		/* and how often, until some are sent */

/**
 * struct verbs_slot - a message and its place in a queue
 * @cqe: what is called when it is sent or has come
 * @conn: whose it is
 * @sge: where its octets are
 * @recv: has it received
 * @send: sends it
 * @next: number of the message behind the one sent last
 */
struct verbs_slot {
	struct ib_cqe			cqe;
	struct verbs_conn		*conn;
	struct ib_sge			sge;
	union {
		struct ib_recv_wr	recv;
		struct ib_send_wr	send;
	};
	u64				next;
};

/**
 * struct verbs_conn - an end of a connection
 * @end: for whom it is made
 * @id: the connection
 * @pd: protection domain
 * @tx_cq: what has been sent
 * @rx_cq: what has come
 * @list: Sends that are posted in one call
 * @queued: completions are taken in a work queue
 * @tx: messages to send
 * @nr_tx: how many may be under way
 * @rx: a message for each part of the ring of @end
 * @nr_rx: how many these are
 * @posted: messages sent or under way; who posts
 * @sent: how many have been sent; completions
 * @received: how many have come, and their places been posted again
 * @start: where the stream of TCP began
 * @step: a step of connecting is done
 * @status: its outcome
 * @ending: that the connection ends is no error
 * @left: what comes is not siw's any more
 * @siw_data: what siw had in the socket then
 * @siw_data_ready: the same
 * @siw_state_change: the same
 */
struct verbs_conn {
	struct bench_end	*end;
	struct rdma_cm_id	*id;
	struct ib_pd		*pd;
	struct ib_cq		*tx_cq;
	struct ib_cq		*rx_cq;
	u32			list;
	bool			queued;
	struct verbs_slot	*tx;
	u32			nr_tx;
	struct verbs_slot	*rx;
	u32			nr_rx;
	u64			posted;
	u64			sent;
	u64			received;
	u32			start;
	struct completion	step;
	int			status;
	bool			ending;
	bool			left;
	void			*siw_data;
	void			(*siw_data_ready)(struct sock *sk);
	void			(*siw_state_change)(struct sock *sk);
};

/* verbs_conn.c */
struct verbs_conn *verbs_conn_alloc(struct bench_end *end, u32 list,
				    bool queued);
int verbs_conn_open(struct verbs_conn *conn);
void verbs_conn_free(struct verbs_conn *conn);
void verbs_conn_fail(struct verbs_conn *conn, int err);

/* verbs_cm.c */
int verbs_connect(struct verbs_conn *tx, struct verbs_conn *rx);
void verbs_disconnect(struct verbs_conn *conn);

/* verbs_sock.c */
int verbs_sock_find(struct verbs_conn *conn, struct net *net);
int verbs_sock_leave(struct verbs_conn *conn);
void verbs_sock_return(struct verbs_conn *conn);

#endif /* _BENCH_VERBS_H */
