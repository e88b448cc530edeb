/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A device, one QP and one connection of a fake MPA, for the suites */
#ifndef _RNIC_KUNIT_H
#define _RNIC_KUNIT_H

#include <kunit/test.h>

#include "../../kunit/mpa_row.h"
#include "../rnic.h"

#define RK_IOVA		0x7f0000100010ULL	/* of rk_mr() */
#define RK_EVENTS	20			/* types of async events */

/* The connection: what the device has asked MPA for, and what MPA answers */
struct mpa_conn {
	const struct mpa_ops	*ops;
	void			*ctx;
	struct socket		*sock;
	struct mpa_info		info;
	struct list_head	tx;	/* messages that MPA has */
	unsigned int		posted;	/* messages so far */
	unsigned int		kicks;
	unsigned int		nows;	/* by mpa_kick_now() */
	int			refs;	/* by mpa_conn_get() */
	unsigned int		shutdowns;
	unsigned int		aborts;
	unsigned int		detached;
	unsigned int		resumed;
	int			batches; /* kept by mpa_rx_get() */
	unsigned int		handles; /* of mpa_connect() and mpa_listen() */
	bool			live;	/* attached, and not detached */
	bool			ended;
	bool			ends_late; /* mpa_set_enhanced() succeeds */
	bool			accepted;
	bool			rejected;
	int			err;	/* of mpa_connect() and mpa_listen() */
	int			send_err;	/* of mpa_send() */
	mpa_connected_fn	done;
	int			(*setup)(struct socket *sock, void *ctx);
	void			(*listen)(void *ctx, struct socket *sock);
	void			*listen_ctx;
};

struct rnic_kunit {
	struct kunit		*test;
	struct rnic_dev		*dev;
	struct ib_pd		pd;
	struct ib_pd		other_pd;
	struct rnic_cq		cq;
	struct rnic_srq		*srq;
	struct rnic_qp		*qp;
	struct rnic_mr		*mr;
	u8			*mem;	/* of @mr */
	struct mpa_conn		conn;
	bool			up;
	unsigned int		async[RK_EVENTS];
	unsigned int		notified;
	struct task_struct	*caller; /* of a verb */
	void			(*on_notify)(struct rnic_kunit *rk);
	u64			wr_id;	/* of the last request */
	char			said[128];
	u8			opcode[16];	/* 1 + that of request n % 16 */
	struct ib_wc		wc;	/* the last one polled */
};

/* @other is called before a lock, or queueing, @after those that come first. */
struct rk_race {
	struct task_struct	*task;
	void			(*other)(void *arg);
	void			*arg;
	int			after;
	int			depth;
};

extern struct rk_race rk_race;

/* The device belongs to another namespace, and the core keeps devices apart. */
extern bool rk_no_access;

int rk_init(struct kunit *test);
void rk_settle(struct rnic_kunit *rk);
void rk_exit(struct kunit *test);
void rk_qp(struct rnic_kunit *rk, u32 wr);
void rk_srq(struct rnic_kunit *rk, u32 wr);
void rk_up(struct rnic_kunit *rk, u32 ird, u32 ord);
void rk_over(struct rnic_kunit *rk);
void rk_mr(struct rnic_kunit *rk, u32 block, u32 nr, int access);
void rk_mr_free(struct rnic_kunit *rk, struct rnic_mr *mr);
int rk_post_recv(struct rnic_kunit *rk, void *to, u32 len);
void rk_recv(struct rnic_kunit *rk, const u8 *octets, u32 len);
/* mpa_tx.state of a message that MPA has */
enum {
	RK_WHOLE	= BIT(0),	/* next() has no more octets */
	RK_OVER		= BIT(1),	/* all of it is sent */
};

u32 rk_pull(struct rnic_kunit *rk, u32 max, u8 *octets);
void rk_hand_back(struct rnic_kunit *rk, int status);
const char *rk_polled(struct rnic_kunit *rk);
u64 rk_stat(struct rnic_kunit *rk, enum rnic_stat stat);

#endif /* _RNIC_KUNIT_H */
