/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Declarations that the cases of suite mpa_conn share. What rows are made of:
 *
 * - a startup that succeeds, or is rejected: two frames in exchange_rows
 * - one that fails: mpa_conn_start.c, or mpa_conn_enhanced.c for Rev 2
 * - full operation: conn_default(), or conn_open() with a role and flags; then
 *   conn_peer_send(), conn_expect_rx(), conn_post(), conn_expect_tx(), and
 *   conn_expect_end() or conn_expect_alive()
 * - octets after a hole: gap_default(), gap_hole(), or gap_fpdus(), gap_put()
 *   and gap_ooo(); gap_alive()
 * - MPA on both ends: conn_two()
 * - sockets that MPA makes: mpa_conn_sock.c; with a start, mpa_conn_connect.c
 *
 * A row's function gets conn_arg() (@arg in its comment) or conn_data() of its
 * row.
 */
#ifndef _MPA_CONN_TEST_H
#define _MPA_CONN_TEST_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/sched.h>
#include <net/mpa.h>
#include <net/sock.h>
#include "mpa_case.h"
#include "mpa_conn.h"
#include "mpa_consumer.h"
#include "mpa_inject.h"
#include "mpa_peer.h"
#include "mpa_ref.h"

#define CONN_PATIENCE	(20 * HZ)

enum {
	CONN_POOL	= 65536 + 256,
	CONN_BUF	= 512 * 1024,
	CONN_MSGS	= 256,
	CONN_HDR	= 18,		/* untagged header of DDP */
	CONN_PAGES	= 16,
};

/* How a connection is started */
enum conn_role {
	CONN_INITIATOR,
	CONN_RESPONDER,
	CONN_IMMEDIATE,
};

struct conn_test;

/* For a consumer with run() */
struct conn_run {
	struct mpa_ops		ops;	/* callbacks, with run() */
	u32			calls;	/* of run() that have returned */
	u32			more;	/* times that run() asks for a round */
	struct task_struct	*task;	/* in which run() came last */
	void			(*hook)(struct conn_test *t);	/* in run() */
	struct conn_msg		*msg;	/* posted by run(), once */
	bool			leave;	/* run() detaches */
};

/* True if an allocation here may wait for memory, or may not use reserves. */
static inline bool conn_may_wait(void)
{
	const unsigned int safe = PF_MEMALLOC | PF_MEMALLOC_NOIO;

	return (current->flags & safe) != safe;
}

/* A row of a case: a test, or a variant of one */
struct conn_row {
	const char	*desc;	/* requirement IDs, then what is tested */
	void		(*run)(struct conn_test *t);
	u32		arg;	/* variant of the test, for conn_arg() */
	const void	*data;	/* parameters of the test, for conn_data() */
	bool		slow;	/* not run where parameter slow is 0 */
	bool		named;	/* takes long: runs only if it is named */
};

/* Define the rows of case mpa_conn.@title: those in @title_rows. */
#define CONN_ROWS(title)						\
const void *conn_##title##_rows MPA_KUNIT_PARAMS			\
{									\
	return conn_next_row(title##_rows, ARRAY_SIZE(title##_rows),	\
			     prev, desc);				\
}

/* Octets of a peer that closes the connection in its startup */
struct conn_bad {
	enum conn_role	role;		/* of the connection */
	u8		peer_flags;	/* of the peer's frame */
	u8		peer_rev;
	u16		pd_len;
	enum mpa_reason	reason;		/* of the end */
	u32		flags;		/* of the connection */
	u8		rev;		/* of the connection; 0: the default */
	u32		pd_max;		/* 0: the default */
	bool		same_role;	/* the frame is of the same role */
	bool		early;		/* with an octet after the frame */
	const char	*octets;	/* in place of the frame */
	bool		urgent;		/* urgent data in place of the frame */
};

/* A row of conn_bad_start(), with the members of struct conn_bad */
#define CONN_BAD(title, ...)						\
	{ title, conn_bad_start,					\
	  .data = &(const struct conn_bad){ __VA_ARGS__ } }

/* A message to be sent */
struct conn_msg {
	struct mpa_tx	tx;
	struct kvec	kv;	/* its payload */
	struct bio_vec	bv;	/* its payload, if in pages */
	u32		len;	/* octets of the ULPDU */
	/* for a source: */
	struct mpa_conn	*conn;	/* to be detached */
	u32		left;	/* octets not yet passed to MPA */
	u32		max;	/* longest ULPDU for the first next() */
	u32		asked;	/* number of calls of next() */
	u32		stop;	/* number of the call that returns @err */
	int		err;
};

/* Results of mpa_connect() and mpa_listen() */
struct conn_sock {
	wait_queue_head_t	wait;		/* woken by each callback */
	spinlock_t		lock;		/* what callbacks write */
	/* closed at the end of the case */
	struct mpa_listener	*listener;
	struct mpa_connector	*connector;
	struct socket		*client;	/* of done() */
	struct socket		*server;	/* the first of accepted() */
	/* calls of callbacks, and what they got and return */
	u32			accepted;
	u32			extra;		/* others, closed at once */
	u32			done;
	int			err;		/* of done() */
	u32			setups;
	int			setup_err;	/* returned by setup() */
	u32			waits;		/* calls with conn_may_wait() */
	u32			early;		/* callbacks before done() */
	struct socket		*made;		/* of the last setup() */
	struct mpa_conn		*conn;		/* of done() */
	/* what they do besides */
	bool			reuseport;	/* setup() sets SO_REUSEPORT */
	void			(*hook)(struct conn_sock *s);	/* in setup() */
	bool			close_in_done;	/* closes the handle */
	bool			detach_in_done;
	bool			stop;		/* accepted() waits for @go */
	struct completion	at;		/* a callback waits for @go */
	struct completion	go;
	int			cpu;		/* on which it waits */
	u32			delay;		/* from @go to close, in us */
	/* parameters */
	u32			flags;
	bool			bound;		/* to a port of the case */
	struct sockaddr_storage	addr;		/* to connect to */
	/* operations of a socket, and a copy with one of them replaced */
	struct proto		*prot;
	struct proto		held;
};

/* Another user of the socket, who calls getsockopt() until the case ends */
struct conn_asker {
	struct task_struct	*task;
	struct socket		*sock;
	int			answer;	/* without MPA on the socket */
	u32			asked;	/* number of calls */
	u32			wrong;	/* calls with another answer */
};

/* A connection (or two) under test, and the raw peer */
struct conn_test {
	struct kunit		*test;
	struct mpa_consumer	a;		/* of the first connection */
	struct mpa_consumer	b;		/* of the second, if any */
	struct socket		*sock[2];	/* closed at the end */
	struct mpa_peer		peer;
	struct conn_sock	helper;		/* mpa_connect(), _listen() */
	struct mpa_peer_opts	opts;		/* of the sockets */
	u8			*pool;		/* ULPDU k is at [k % 256] */
	u8			*buf;		/* the peer sends this next */
	u32			buf_len;
	/* messages of the connection; @nr_plain: before the first with pages */
	struct conn_msg		msg[CONN_MSGS];
	u32			nr_msg;
	u32			nr_plain;
	struct page		*page[CONN_PAGES];
	/* in use: markers of the peer, of the connection, CRCs */
	bool			rx_markers;
	bool			tx_markers;
	bool			crc;
	/* ULPDUs that the peer has sent; @out_from: positions of FPDUs */
	u64			out_pos;
	u32			nr_out;
	u32			out_len[CONSUMER_ULPDUS];
	u64			out_from[CONSUMER_ULPDUS];
	/* ULPDUs that the peer has received */
	u64			in_pos;
	u32			nr_in;
	/* segments of @buf, injected; @buf begins there in the peer's stream */
	struct mpa_inject	inject;
	u64			base;
	u32			base_nr;
	/* settings before the case; 0: not changed */
	struct mpa_net		*mn;
	int			timeout_ms;
	int			startup_max;
	unsigned long		rx_mem_max;
	u8			crc_sysctl;
	u8			ooo_ack_notify;
	unsigned int		zerocopy_min;
	int			lo_mtu;
	s64			others;		/* added to rx_mem */
	struct conn_asker	asker;
	struct blocked		*shared;	/* connections that block */
	struct conn_run		run;
};

#define CONN_WAIT(t, c, ev, times) \
	ASSERT_TRUE(t, mpa_consumer_wait(c, ev, times))

#define CONN_COUNT(t, c, ev, times) \
	EXPECT_EQ(t, mpa_consumer_count(c, ev), times)

/* True once @cond holds; false if it does not within some 10 seconds. */
#define CONN_UNTIL(cond)						\
({									\
	u32 _tries = 10000;						\
									\
	while (!(cond) && --_tries)					\
		usleep_range(1000, 2000);				\
	_tries > 0;							\
})

static inline void conn_buffers(struct conn_test *t, int rcvbuf, int sndbuf)
{
	t->opts.rcvbuf = rcvbuf;
	t->opts.sndbuf = sndbuf;
}

/* The helper's callbacks: counters, and a wait for the case in one of them */
u32 conn_sock_read(struct conn_sock *s, const u32 *what);
bool conn_sock_wait(struct conn_sock *s, const u32 *what, u32 times);
void conn_sock_stop(struct conn_sock *s);
void conn_expect_done_sock(struct conn_test *t, int err);
void conn_close_attempt(struct conn_sock *s);
void conn_wait_stopped(struct conn_test *t);

int conn_init(struct kunit *test);
void conn_exit(struct kunit *test);

/* Connections */
void conn_pair(struct conn_test *t);
void conn_reopen(struct conn_test *t);
void conn_attach_to(struct conn_test *t, struct mpa_consumer *c,
		    struct socket *sock, u32 flags);
void conn_attach(struct conn_test *t, u32 flags);
void conn_start(struct conn_test *t, enum conn_role role);
void conn_start_full(struct conn_test *t);
void conn_begin(struct conn_test *t, enum conn_role role, u32 flags);
void conn_get_request(struct conn_test *t, u32 flags);
void conn_open(struct conn_test *t, enum conn_role role, u32 flags,
	       u8 peer_flags);
void conn_full(struct conn_test *t, enum conn_role role, u32 flags,
	       u8 peer_flags);
void conn_default(struct conn_test *t);
void conn_open_row(struct conn_test *t);
void conn_start_two(struct conn_test *t, u32 a_flags, u32 b_flags);
void conn_two(struct conn_test *t, u32 a_flags, u32 b_flags);
void conn_settle(struct mpa_consumer *c);
int conn_disconnect(struct socket *sock);
int conn_connect_again(struct conn_test *t);
void conn_never_again(struct conn_test *t);
u32 conn_unread(const struct conn_test *t);
u32 conn_consumed(const struct conn_test *t);
bool conn_all_acked(const struct conn_test *t);
void conn_detach(struct conn_test *t, struct mpa_consumer *c);
void conn_leave(struct mpa_consumer *c);
void conn_hook_leave(struct mpa_consumer *c, enum consumer_event ev);
u32 conn_arg(struct conn_test *t);
const void *conn_data(struct conn_test *t);
u32 conn_segments(const struct conn_test *t);
unsigned long conn_fold(const void __percpu *mib, unsigned int field);
unsigned long conn_counter(const struct conn_test *t, enum mpa_mib field);
void conn_use_up(struct conn_test *t);
void conn_give_back(struct conn_test *t);

/* Startup frames of the peer, and of the connection as the peer sees them */
void conn_peer_frame(struct conn_test *t, bool reply, u8 flags, u8 rev,
		     const u8 *pd, u32 pd_len);
void conn_expect_frame(struct conn_test *t, bool reply, u8 flags, u8 rev,
		       const u8 *pd, u32 pd_len);
void conn_bad_start(struct conn_test *t);

/* FPDUs of the peer, and of the connection as the peer sees them */
u32 conn_fpdu(struct conn_test *t, u32 len);
void conn_write(struct conn_test *t, const void *octets, u32 len);
void conn_flush(struct conn_test *t);
void conn_peer_send(struct conn_test *t, u32 len);
bool conn_same(const struct mpa_ulpdu *ulpdu, const u8 *octets, u32 len);
void conn_expect_rx(struct conn_test *t, struct mpa_consumer *c, u32 nr);
u32 conn_take(struct conn_test *t);
void conn_expect_tx(struct conn_test *t, u32 len);
void conn_expect_silence(struct conn_test *t);
void conn_expect_fin(struct conn_test *t);
void conn_expect_over(struct conn_test *t);
void conn_expect_left(struct conn_test *t, const void *octets, u32 len);

/* Messages of the connection */
struct conn_msg *conn_msg(struct conn_test *t, u32 len);
struct conn_msg *conn_page_msg(struct conn_test *t, u32 len);
struct ubuf_info *conn_hold_message(struct conn_test *t, struct mpa_consumer *c,
				    struct socket *far);
void conn_put_later(struct conn_test *t, struct page *page);
void conn_post_many(struct conn_test *t, u32 nr, u32 len);
void conn_send(struct conn_test *t, struct conn_msg *msg);
struct conn_msg *conn_post(struct conn_test *t, u32 len);
int conn_next(struct mpa_tx *tx, u32 max);
struct conn_msg *conn_source(struct conn_test *t, u32 len);
void conn_expect_done(struct conn_test *t, struct mpa_consumer *c, u32 nr,
		      int status);
void conn_expect_statuses(struct conn_test *t, struct mpa_consumer *c, u32 nr,
			  int err);
void conn_expect_end(struct conn_test *t, struct mpa_consumer *c,
		     enum mpa_error error, enum mpa_reason reason);
void conn_expect_bad_frame(struct conn_test *t, enum mpa_reason reason);
void conn_expect_alive(struct conn_test *t, struct mpa_consumer *c);

const void *conn_next_row(const struct conn_row *rows, size_t nr,
			  const void *prev, char *desc);

/* The rows of each case, see CONN_ROWS() */
const void *conn_attach_rows MPA_KUNIT_PARAMS;
const void *conn_exchange_rows MPA_KUNIT_PARAMS;
const void *conn_startup_rows MPA_KUNIT_PARAMS;
const void *conn_frame_rows MPA_KUNIT_PARAMS;
const void *conn_timeout_rows MPA_KUNIT_PARAMS;
const void *conn_overflow_rows MPA_KUNIT_PARAMS;
const void *conn_shared_rows MPA_KUNIT_PARAMS;
const void *conn_reject_rows MPA_KUNIT_PARAMS;
const void *conn_recv_rows MPA_KUNIT_PARAMS;
const void *conn_keep_rows MPA_KUNIT_PARAMS;
const void *conn_error_rows MPA_KUNIT_PARAMS;
const void *conn_fin_rows MPA_KUNIT_PARAMS;
const void *conn_may_send_rows MPA_KUNIT_PARAMS;
const void *conn_send_rows MPA_KUNIT_PARAMS;
const void *conn_train_rows MPA_KUNIT_PARAMS;
const void *conn_series_rows MPA_KUNIT_PARAMS;
const void *conn_template_rows MPA_KUNIT_PARAMS;
const void *conn_zerocopy_rows MPA_KUNIT_PARAMS;
const void *conn_scribble_rows MPA_KUNIT_PARAMS;
const void *conn_splice_rows MPA_KUNIT_PARAMS;
const void *conn_queue_rows MPA_KUNIT_PARAMS;
const void *conn_end_rows MPA_KUNIT_PARAMS;
const void *conn_borrow_rows MPA_KUNIT_PARAMS;
const void *conn_info_rows MPA_KUNIT_PARAMS;
const void *conn_sock_rows MPA_KUNIT_PARAMS;
const void *conn_enhanced_rows MPA_KUNIT_PARAMS;
const void *conn_connect_rows MPA_KUNIT_PARAMS;
const void *conn_ooo_rows MPA_KUNIT_PARAMS;
const void *conn_ooo_end_rows MPA_KUNIT_PARAMS;
const void *conn_hook_rows MPA_KUNIT_PARAMS;
const void *conn_bounds_rows MPA_KUNIT_PARAMS;
const void *conn_run_rows MPA_KUNIT_PARAMS;
const void *conn_softirq_rows MPA_KUNIT_PARAMS;
const void *conn_cpu_rows MPA_KUNIT_PARAMS;

#endif /* _MPA_CONN_TEST_H */
