/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A consumer of RDMA verbs: common declarations. */
#ifndef _BENCH_VERBS_H
#define _BENCH_VERBS_H

#include <linux/completion.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "bench_int.h"

struct sock;

#define VERBS_LIST	64		/* messages posted in one call */
#define VERBS_LISTS	2		/* and how often, until some are sent */

#define VERBS_DEPTH	32		/* Reads under way, at most */

/* How messages go to the other end */
enum verbs_op {
	VERBS_SEND,	/* by Send */
	VERBS_WRITE,	/* by RDMA Write, and a Send that says so */
	VERBS_READ,	/* by RDMA Read of the other end */
};

/**
 * struct verbs_mode - how a transport uses verbs
 * @op: what carries a message
 * @list: messages that are posted in one call
 * @queued: completions run in a work queue
 * @pages: only the last message of each list is signalled
 */
struct verbs_mode {
	enum verbs_op	op;
	u32		list;
	bool		queued;
	bool		pages;
};

/**
 * struct verbs_slot - a message and its place in a queue
 * @cqe: completion handler
 * @conn: connection
 * @sge: octets of the message
 * @recv: work request that receives it
 * @send: work request that sends it, or reads it
 * @tell: of an RDMA Write: the Send that tells the other end of it
 * @next: number of the message after the one sent last
 */
struct verbs_slot {
	struct ib_cqe			cqe;
	struct verbs_conn		*conn;
	struct ib_sge			sge;
	union {
		struct ib_recv_wr	recv;
		struct ib_rdma_wr	send;
	};
	struct ib_send_wr		tell;
	u64				next;
};

/**
 * struct verbs_conn - an end of a connection
 * @end: end of mpa_bench that it serves
 * @id: the connection
 * @pd: protection domain
 * @tx_cq: completions of Sends
 * @rx_cq: completions of receives
 * @mode: how it uses verbs
 * @tx: messages to send, or to read
 * @nr_tx: maximal number of them under way
 * @rx: a message for each part of the ring of @end
 * @nr_rx: number of these
 * @posted: messages posted; written by the posting thread
 * @sent: of these, completed; written by completions
 * @received: messages received, their buffers posted again
 * @start: sequence number at which the stream of TCP began
 * @step: completed after each step of connecting
 * @status: result of the step
 * @ending: the end of the connection is no error
 * @left: siw was detached from the socket
 * @siw_data: siw's sk_user_data
 * @siw_data_ready: siw's sk_data_ready
 * @siw_state_change: siw's sk_state_change
 */
struct verbs_conn {
	struct bench_end	*end;
	struct rdma_cm_id	*id;
	struct ib_pd		*pd;
	struct ib_cq		*tx_cq;
	struct ib_cq		*rx_cq;
	const struct verbs_mode	*mode;
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
struct verbs_conn *verbs_conn_alloc(struct bench_end *end,
				    const struct verbs_mode *mode);
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
