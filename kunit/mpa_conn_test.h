/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Declarations that the cases of suite mpa_conn share. */
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

/**
 * struct conn_run - for a consumer with run()
 * @ops: callbacks of the consumer, with run()
 * @calls: number of calls of run() that have come to their end
 * @more: run() asks for another round that many times
 * @msg: run() posts this message, once
 * @leave: run() detaches
 */
struct conn_run {
	struct mpa_ops		ops;
	u32			calls;
	u32			more;
	struct conn_msg		*msg;
	bool			leave;
};

/* True if an allocation here may wait for memory, or may not use reserves. */
static inline bool conn_may_wait(void)
{
	const unsigned int safe = PF_MEMALLOC | PF_MEMALLOC_NOIO;

	return (current->flags & safe) != safe;
}

/**
 * struct conn_row - a row of a case: a test, or a variant of one
 * @desc: requirement IDs, then what is tested
 * @run: runs the test
 * @arg: variant of the test, for conn_arg()
 * @data: parameters of the test, for conn_data()
 */
struct conn_row {
	const char	*desc;
	void		(*run)(struct conn_test *t);
	u32		arg;
	const void	*data;
};

/* Define the rows of case mpa_conn.@title: those in @title_rows. */
#define CONN_ROWS(title)						\
const void *conn_##title##_rows MPA_KUNIT_PARAMS			\
{									\
	return conn_next_row(title##_rows, ARRAY_SIZE(title##_rows),	\
			     prev, desc);				\
}

/**
 * struct conn_msg - a message to be sent
 * @tx: the message
 * @kv: its payload
 * @bv: its payload, if in pages
 * @len: octets of the ULPDU
 * @conn: source: connection to be detached
 * @left: source: octets not yet passed to MPA
 * @max: source: longest ULPDU that the first call of next() allowed
 * @asked: source: number of calls of next()
 * @stop: source: number of the call that returns @err
 * @err: source: value that this call returns
 */
struct conn_msg {
	struct mpa_tx	tx;
	struct kvec	kv;
	struct bio_vec	bv;
	u32		len;
	struct mpa_conn	*conn;
	u32		left;
	u32		max;
	u32		asked;
	u32		stop;
	int		err;
};

/**
 * struct conn_sock - results of mpa_connect() and mpa_listen()
 * @wait: woken by each callback
 * @lock: protects the fields that callbacks write
 * @listener: to be closed at the end of the case
 * @connector: to be closed at the end of the case
 * @client: socket of done()
 * @server: first socket of accepted()
 * @accepted: number of calls of accepted()
 * @extra: number of other sockets of accepted(), which are closed at once
 * @done: number of calls of done()
 * @err: argument err of done()
 * @setups: number of calls of setup()
 * @setup_err: value that setup() returns
 * @reuseport: setup() sets SO_REUSEPORT
 * @flags: flags of the parameters
 * @waits: number of callbacks in which conn_may_wait() was true
 * @stop: accepted() waits for @go
 * @delay: time between @go and the close of the listener, in microseconds
 * @addr: address to connect to
 * @made: socket of the last setup()
 * @hook: called by setup()
 * @conn: connection of done()
 * @close_in_done: done() closes the handle
 * @detach_in_done: done() detaches the connection
 * @early: number of callbacks of the connection before done()
 * @at: completed when a callback begins to wait for @go
 * @go: completed when that callback may continue
 * @cpu: CPU on which that callback runs
 * @prot: operations of a socket
 * @held: copy of @prot in which one operation is replaced
 */
struct conn_sock {
	wait_queue_head_t	wait;
	spinlock_t		lock;	/* fields that callbacks write */
	struct mpa_listener	*listener;
	struct mpa_connector	*connector;
	struct socket		*client;
	struct socket		*server;
	u32			accepted;
	u32			extra;
	u32			done;
	int			err;
	u32			setups;
	int			setup_err;
	bool			reuseport;
	u32			flags;
	u32			waits;
	bool			stop;
	u32			delay;
	struct sockaddr_storage	addr;
	struct socket		*made;
	void			(*hook)(struct conn_sock *s);
	struct mpa_conn		*conn;
	bool			close_in_done;
	bool			detach_in_done;
	u32			early;
	struct completion	at;
	struct completion	go;
	int			cpu;
	struct proto		*prot;
	struct proto		held;
};

/**
 * struct conn_asker - another user of the socket, who calls getsockopt()
 * @task: calls it, until the end of the case
 * @sock: the socket
 * @answer: result without MPA on the socket
 * @asked: number of calls
 * @wrong: number of calls with another result
 */
struct conn_asker {
	struct task_struct	*task;
	struct socket		*sock;
	int			answer;
	u32			asked;
	u32			wrong;
};

/**
 * struct conn_test - a connection (or two) under test, and the raw peer
 * @test: the test, for assertions
 * @a: consumer of the first connection
 * @b: consumer of the second connection, if there are two
 * @sock: sockets to be closed at the end
 * @peer: the raw peer
 * @helper: for mpa_connect() and mpa_listen()
 * @opts: how the sockets are connected
 * @pool: octets of ULPDUs: number k begins at pool[k % 256]
 * @buf: octets that the peer sends next
 * @buf_len: number of octets in @buf
 * @msg: messages
 * @nr_msg: number of messages posted
 * @nr_plain: number of messages before the first with pages
 * @page: pages for zero copy
 * @rx_markers: the peer inserts markers
 * @tx_markers: the connection inserts markers
 * @crc: CRCs are in use
 * @out_pos: stream position of the peer's next FPDU
 * @nr_out: number of ULPDUs that the peer has sent
 * @out_len: lengths of these ULPDUs
 * @out_from: stream positions of their FPDUs
 * @in_pos: stream position of the next FPDU that the peer receives
 * @nr_in: number of ULPDUs that the peer has received
 * @asker: another user of the socket, who calls getsockopt()
 * @inject: injects segments of @buf into the peer's stream
 * @base: stream position of the first octet of @buf
 * @base_nr: number of ULPDUs that the peer sent before it
 * @mn: MPA's namespace, for its settings
 * @timeout_ms: sysctl before the case, in milliseconds
 * @startup_max: sysctl before the case, if it was changed
 * @crc_sysctl: sysctl before the case
 * @ooo_ack_notify: sysctl before the case
 * @lo_mtu: MTU before the case, if it was changed
 * @shared: other connections, whose callbacks block
 * @run: for a consumer with run()
 */
struct conn_test {
	struct kunit		*test;
	struct mpa_consumer	a;
	struct mpa_consumer	b;
	struct socket		*sock[2];
	struct mpa_peer		peer;
	struct conn_sock	helper;
	struct mpa_peer_opts	opts;
	u8			*pool;
	u8			*buf;
	u32			buf_len;
	struct conn_msg		msg[CONN_MSGS];
	u32			nr_msg;
	u32			nr_plain;
	struct page		*page[CONN_PAGES];
	bool			rx_markers;
	bool			tx_markers;
	bool			crc;
	u64			out_pos;
	u32			nr_out;
	u32			out_len[CONSUMER_ULPDUS];
	u64			out_from[CONSUMER_ULPDUS];
	u64			in_pos;
	u32			nr_in;
	struct conn_asker	asker;
	struct mpa_inject	inject;
	u64			base;
	u32			base_nr;
	struct mpa_net		*mn;
	int			timeout_ms;
	int			startup_max;
	u8			crc_sysctl;
	u8			ooo_ack_notify;
	int			lo_mtu;
	struct blocked		*shared;
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
void conn_begin(struct conn_test *t, enum conn_role role, u32 flags);
void conn_get_request(struct conn_test *t, u32 flags);
void conn_open(struct conn_test *t, enum conn_role role, u32 flags,
	       u8 peer_flags);
void conn_full(struct conn_test *t, enum conn_role role, u32 flags,
	       u8 peer_flags);
void conn_default(struct conn_test *t);
void conn_start_two(struct conn_test *t, u32 a_flags, u32 b_flags);
void conn_two(struct conn_test *t, u32 a_flags, u32 b_flags);
void conn_settle(struct mpa_consumer *c);
int conn_disconnect(struct socket *sock);
u32 conn_unread(const struct conn_test *t);
bool conn_all_acked(const struct conn_test *t);
void conn_detach(struct conn_test *t, struct mpa_consumer *c);
u32 conn_arg(struct conn_test *t);
const void *conn_data(struct conn_test *t);
u32 conn_segments(const struct conn_test *t);
unsigned long conn_fold(const void __percpu *mib, unsigned int field);
unsigned long conn_counter(const struct conn_test *t, enum mpa_mib field);

/* Startup frames of the peer, and of the connection as the peer sees them */
void conn_peer_frame(struct conn_test *t, bool reply, u8 flags, u8 rev,
		     const u8 *pd, u32 pd_len);
void conn_expect_frame(struct conn_test *t, bool reply, u8 flags, u8 rev,
		       const u8 *pd, u32 pd_len);

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
const void *conn_zerocopy_rows MPA_KUNIT_PARAMS;
const void *conn_scribble_rows MPA_KUNIT_PARAMS;
const void *conn_splice_rows MPA_KUNIT_PARAMS;
const void *conn_queue_rows MPA_KUNIT_PARAMS;
const void *conn_end_rows MPA_KUNIT_PARAMS;
const void *conn_borrow_rows MPA_KUNIT_PARAMS;
const void *conn_info_rows MPA_KUNIT_PARAMS;
const void *conn_race_rows MPA_KUNIT_PARAMS;
const void *conn_sock_rows MPA_KUNIT_PARAMS;
const void *conn_enhanced_rows MPA_KUNIT_PARAMS;
const void *conn_connect_rows MPA_KUNIT_PARAMS;
const void *conn_ooo_rows MPA_KUNIT_PARAMS;
const void *conn_ooo_end_rows MPA_KUNIT_PARAMS;
const void *conn_hook_rows MPA_KUNIT_PARAMS;
const void *conn_bounds_rows MPA_KUNIT_PARAMS;
const void *conn_run_rows MPA_KUNIT_PARAMS;

#endif /* _MPA_CONN_TEST_H */
