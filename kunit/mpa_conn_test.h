/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Declarations that the cases of suite mpa_conn share. */
#ifndef _MPA_CONN_TEST_H
#define _MPA_CONN_TEST_H

#include <kunit/test.h>
#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/sched.h>
#include <net/mpa.h>
#include <net/sock.h>
#include "mpa_conn.h"
#include "mpa_consumer.h"
#include "mpa_inject.h"
#include "mpa_peer.h"
#include "mpa_ref.h"

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

/* For conn_enh_bad(): the fault of a frame */
enum conn_enh_bad {
	ENH_BAD_NO_S,		/* Reply without S */
	ENH_BAD_REV_1,		/* Reply of Rev 1 */
	ENH_BAD_REV_1_S,	/* Reply of Rev 1, with S, which is reserved */
	ENH_BAD_REV_3,		/* Reply of Rev 3 */
	ENH_BAD_S,		/* Reply with S to a Request without */
	ENH_BAD_REQUEST,	/* Request with S, not supported */
	ENH_BAD_PD_513,		/* Request with 513 octets */
	ENH_BAD_PD_513_REPLY,	/* Reply with 513 octets */
};

/* For conn_enh_error(): why negotiation fails */
enum conn_enh_error {
	ENH_ERROR_IRD,
	ENH_ERROR_RTR,		/* no kind in common */
	ENH_ERROR_NO_A,		/* A in the Request only */
	ENH_ERROR_A,		/* A in the Reply only */
};

/* For conn_connect_*(): the peer's answer to a Request of Rev 2 */
enum conn_connect_act {
	CONNECT_FIN,
	CONNECT_FIN_IN_KEY,
	CONNECT_FIN_IN_PD,
	CONNECT_RESET,
	CONNECT_REV_1,		/* Reply of Rev 1 */
	CONNECT_REV_1_R,	/* rejecting Reply of Rev 1 */
	CONNECT_REV_0,		/* Reply of Rev 0 */
	CONNECT_NO_S_R,		/* rejecting Reply of Rev 2 without S */
	CONNECT_SILENT,
	CONNECT_NO_KEY,
	CONNECT_NO_S,
	CONNECT_SHORT_PD,
	CONNECT_NO_A,
};

/* For conn_ooo_off(): why nothing is passed out of order */
enum conn_ooo_off {
	OOO_OFF_FLAG,		/* without MPA_F_OOO, with markers */
	OOO_OFF_MARKERS,	/* without MPA_F_OOO and markers */
	OOO_OFF_CRC,		/* with MPA_F_OOO, without CRC */
};

/* For conn_ooo_orders(): where a short stream is cut into segments */
enum conn_ooo_cut {
	OOO_CUT_FPDUS,		/* between FPDUs */
	OOO_CUT_NEAR,		/* up to 6 octets off the end of an FPDU */
	OOO_CUT_EVEN,		/* in equal parts */
	OOO_CUT_RANDOM,
};

/* For conn_ooo_af_ops(): address family of the socket */
enum conn_ooo_family {
	OOO_IPV4,
	OOO_IPV6,
	OOO_MAPPED,		/* IPv6 socket, IPv4-mapped address */
};

/* For conn_borrow_reconnect(): what MPA does when the socket is reconnected */
enum conn_borrow {
	BORROW_STARTUP,		/* reads a frame */
	BORROW_BLOCKED,		/* consumes octets of batches, on hold */
	BORROW_DISCARD,		/* discards octets after an error */
};

/* For conn_train_full(): the messages to be sent */
enum conn_train_full {
	TRAIN_SOURCE,
	TRAIN_SOURCE_MARKERS,
	TRAIN_MESSAGES,
	TRAIN_PAIRS,		/* two FPDUs fill a segment */
};

/* For conn_train_between(): the FPDU between full segments */
enum conn_train_between {
	TRAIN_SMALL,
	TRAIN_LONG,		/* longer than a segment */
	TRAIN_PAGES,		/* zero copy */
};

/* For conn_train_apart(): the event while a train is laid out */
enum conn_train_apart {
	TRAIN_HOLE,		/* a hole in the peer's stream */
	TRAIN_MTU,		/* the path MTU decreases */
};

/* For conn_scribble_*(): how FPDUs are sent */
enum conn_scribble {
	SCRIBBLE_COPIED,	/* MPA copies, then computes the CRC */
	SCRIBBLE_GATHERED,	/* TCP copies after the CRC is computed */
	SCRIBBLE_PAGES,		/* zero copy */
};

/* True if an allocation here may wait for memory, or may not use reserves. */
static inline bool conn_may_wait(void)
{
	const unsigned int safe = PF_MEMALLOC | PF_MEMALLOC_NOIO;

	return (current->flags & safe) != safe;
}

/**
 * struct conn_row - parameters of a test case
 * @desc: requirement IDs, then what is tested
 * @run: runs the test
 * @arg: variant of the test, for conn_arg()
 */
struct conn_row {
	const char	*desc;
	void		(*run)(struct kunit *test);
	u32		arg;
};

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
 */
struct conn_test {
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
};

#define CONN_WAIT(test, c, ev, times) \
	KUNIT_ASSERT_TRUE(test, mpa_consumer_wait(c, ev, times))

int conn_init(struct kunit *test);
void conn_exit(struct kunit *test);

/* Connections */
void conn_pair(struct kunit *test);
void conn_reopen(struct kunit *test);
void conn_attach_to(struct kunit *test, struct mpa_consumer *c,
		    struct socket *sock, u32 flags);
void conn_attach(struct kunit *test, u32 flags);
void conn_start(struct kunit *test, enum conn_role role);
void conn_full(struct kunit *test, enum conn_role role, u32 flags,
	       u8 peer_flags);
void conn_default(struct kunit *test);
void conn_start_two(struct kunit *test, u32 a_flags, u32 b_flags);
void conn_two(struct kunit *test, u32 a_flags, u32 b_flags);
void conn_settle(struct mpa_consumer *c);
void conn_detach(struct kunit *test, struct mpa_consumer *c);
u32 conn_arg(struct kunit *test);
u32 conn_segments(const struct conn_test *t);
unsigned long conn_counter(const struct conn_test *t, enum mpa_mib field);

/* Startup frames of the peer, and of the connection as the peer sees them */
void conn_peer_frame(struct kunit *test, bool reply, u8 flags, u8 rev,
		     const u8 *pd, u32 pd_len);
void conn_expect_frame(struct kunit *test, bool reply, u8 flags, u8 rev,
		       const u8 *pd, u32 pd_len);

/* FPDUs of the peer, and of the connection as the peer sees them */
u32 conn_fpdu(struct kunit *test, u32 len);
void conn_flush(struct kunit *test);
void conn_peer_send(struct kunit *test, u32 len);
void conn_expect_rx(struct kunit *test, struct mpa_consumer *c, u32 nr);
u32 conn_take(struct kunit *test);
void conn_expect_tx(struct kunit *test, u32 len);
void conn_expect_silence(struct kunit *test);

/* Messages of the connection */
struct conn_msg *conn_msg(struct kunit *test, u32 len);
struct conn_msg *conn_page_msg(struct kunit *test, u32 len);
void conn_post_many(struct kunit *test, u32 nr, u32 len);
struct conn_msg *conn_post(struct kunit *test, u32 len);
int conn_next(struct mpa_tx *tx, u32 max);
struct conn_msg *conn_source(struct kunit *test, u32 len);
void conn_expect_done(struct kunit *test, struct mpa_consumer *c, u32 nr,
		      int status);
void conn_expect_statuses(struct kunit *test, struct mpa_consumer *c, u32 nr,
			  int err);
void conn_expect_end(struct kunit *test, struct mpa_consumer *c,
		     enum mpa_error error, enum mpa_reason reason);
void conn_expect_alive(struct kunit *test, struct mpa_consumer *c);

/* mpa_conn_start.c */
void conn_attach_not_tcp(struct kunit *test);
void conn_attach_not_connected(struct kunit *test);
void conn_attach_user_data(struct kunit *test);
void conn_attach_ulp(struct kunit *test);
void conn_attach_no_ulp(struct kunit *test);
void conn_attach_ulp_kept(struct kunit *test);
void conn_attach_twice(struct kunit *test);
void conn_attach_params(struct kunit *test);
void conn_attach_callbacks(struct kunit *test);
void conn_attach_untouched(struct kunit *test);
void conn_start_cork(struct kunit *test);
void conn_start_rev_unset(struct kunit *test);
void conn_start_unread(struct kunit *test);
void conn_start_streaming(struct kunit *test);
void conn_start_wrong_state(struct kunit *test);
void conn_start_initiator(struct kunit *test);
void conn_start_responder(struct kunit *test);
void conn_start_pd_too_long(struct kunit *test);
void conn_start_rev0_pd(struct kunit *test);
void conn_start_rev0_pd_over(struct kunit *test);
void conn_start_dribble(struct kunit *test);
void conn_start_immediately(struct kunit *test);
void conn_start_last_message(struct kunit *test);
void conn_start_key(struct kunit *test);
void conn_start_key_prefix(struct kunit *test);
void conn_start_role(struct kunit *test);
void conn_start_pd_513(struct kunit *test);
void conn_start_revision_reply(struct kunit *test);
void conn_start_revision_request(struct kunit *test);
void conn_start_strict_request(struct kunit *test);
void conn_start_refusal_fin(struct kunit *test);
void conn_start_refusal_stays(struct kunit *test);
void conn_start_refusal_flood(struct kunit *test);
void conn_start_strict_reply(struct kunit *test);
void conn_start_truncated(struct kunit *test);
void conn_start_gone(struct kunit *test);
void conn_start_early(struct kunit *test);
void conn_start_early_decide(struct kunit *test);
void conn_start_urgent(struct kunit *test);
void conn_start_vectors(struct kunit *test);
void conn_start_timeout(struct kunit *test);
void conn_start_timeout_initiator(struct kunit *test);
void conn_start_timeout_retry(struct kunit *test);
void conn_start_timeout_dribble(struct kunit *test);
void conn_start_late(struct kunit *test);
void conn_start_no_timer(struct kunit *test);
void conn_start_crc(struct kunit *test);
void conn_start_markers(struct kunit *test);
void conn_start_rev0_request(struct kunit *test);
void conn_start_rev0_reply(struct kunit *test);
void conn_start_rev0_responder(struct kunit *test);
void conn_start_rev0_initiator(struct kunit *test);
void conn_start_close_wait(struct kunit *test);
void conn_start_request_fin(struct kunit *test);
void conn_start_reply_fin(struct kunit *test);
void conn_start_timeout_send(struct kunit *test);
void conn_start_rejected(struct kunit *test);
void conn_start_reject(struct kunit *test);
void conn_start_data_with_reply(struct kunit *test);

/* mpa_conn_overflow.c */
void conn_overflow_oldest(struct kunit *test);
void conn_overflow_room(struct kunit *test);
void conn_overflow_lowered(struct kunit *test);
void conn_overflow_decide(struct kunit *test);
void conn_overflow_initiator(struct kunit *test);
void conn_overflow_late(struct kunit *test);
void conn_overflow_refused(struct kunit *test);
void conn_overflow_refusal_unsent(struct kunit *test);
void conn_overflow_leave(struct kunit *test);

/* mpa_conn_shared.c */
void conn_shared_blocked(struct kunit *test);
void conn_shared_put_atomic(struct kunit *test);
void conn_shared_late_put(struct kunit *test);
void conn_shared_mtu_probe(struct kunit *test);
void conn_shared_rx_mem(struct kunit *test);
void conn_shared_rx_mem_others(struct kunit *test);
void conn_shared_rx_mem_released(struct kunit *test);

/* mpa_conn_recv.c */
void conn_recv_held(struct kunit *test);
void conn_recv_held_window(struct kunit *test);
void conn_recv_split(struct kunit *test);
void conn_recv_chunks(struct kunit *test);
void conn_recv_last_octet(struct kunit *test);
void conn_recv_mixed(struct kunit *test);
void conn_recv_many(struct kunit *test);
void conn_recv_window(struct kunit *test);
void conn_recv_pieces(struct kunit *test);
void conn_recv_window_truncated(struct kunit *test);
void conn_recv_window_crc(struct kunit *test);
void conn_recv_window_detach(struct kunit *test);
void conn_recv_window_detach_held(struct kunit *test);
void conn_recv_window_held(struct kunit *test);
void conn_recv_hold_inside(struct kunit *test);
void conn_recv_lengths(struct kunit *test);
void conn_recv_wrap(struct kunit *test);
void conn_recv_far(struct kunit *test);
void conn_recv_keep(struct kunit *test);
void conn_recv_keep_window(struct kunit *test);
void conn_recv_keep_copied(struct kunit *test);
void conn_recv_keep_stuck(struct kunit *test);
void conn_recv_keep_released(struct kunit *test);
void conn_recv_discard(struct kunit *test);
void conn_recv_discard_held(struct kunit *test);
void conn_recv_unreadable(struct kunit *test);
void conn_recv_bad_crc(struct kunit *test);
void conn_recv_bad_marker(struct kunit *test);
void conn_recv_bad_marker_crc(struct kunit *test);
void conn_recv_bad_length(struct kunit *test);
void conn_recv_urgent(struct kunit *test);
void conn_recv_ignored(struct kunit *test);
void conn_recv_fin(struct kunit *test);
void conn_recv_truncated(struct kunit *test);
void conn_recv_lone_marker(struct kunit *test);
void conn_recv_lone_marker_wrong(struct kunit *test);
void conn_recv_held_fin(struct kunit *test);
void conn_recv_held_only_fin(struct kunit *test);
void conn_recv_held_reset(struct kunit *test);
void conn_recv_held_full_reset(struct kunit *test);
void conn_recv_detach_unread(struct kunit *test);
void conn_recv_detach_kept(struct kunit *test);
void conn_may_send_first(struct kunit *test);
void conn_may_send_bad(struct kunit *test);
void conn_may_send_fin(struct kunit *test);
void conn_may_send_shutdown(struct kunit *test);

/* mpa_conn_send.c */
void conn_send_lengths(struct kunit *test);
void conn_send_refused(struct kunit *test);
void conn_send_aligned(struct kunit *test);
void conn_send_packed(struct kunit *test);
void conn_send_nodelay(struct kunit *test);
void conn_send_source(struct kunit *test);
void conn_send_source_room(struct kunit *test);
void conn_send_source_stops(struct kunit *test);
void conn_send_source_fails(struct kunit *test);
void conn_send_source_again(struct kunit *test);
void conn_send_source_no_memory(struct kunit *test);
void conn_send_source_no_room(struct kunit *test);
void conn_send_source_detach(struct kunit *test);
void conn_send_source_twice(struct kunit *test);
void conn_send_credit(struct kunit *test);
void conn_send_threads(struct kunit *test);
void conn_send_backpressure(struct kunit *test);
void conn_send_atomic(struct kunit *test);
void conn_send_memalloc(struct kunit *test);
void conn_send_mulpdu(struct kunit *test);
void conn_send_mtu(struct kunit *test);
void conn_send_mtu_source(struct kunit *test);
void conn_send_both(struct kunit *test);
void conn_zerocopy_pages(struct kunit *test);
void conn_zerocopy_weight(struct kunit *test);
void conn_zerocopy_copied(struct kunit *test);
void conn_zerocopy_limit(struct kunit *test);
void conn_zerocopy_pieces(struct kunit *test);
void conn_zerocopy_detach(struct kunit *test);
void conn_zerocopy_detach_reset(struct kunit *test);
void conn_zerocopy_reset(struct kunit *test);
void conn_zerocopy_abort(struct kunit *test);
void conn_queue_abort(struct kunit *test);
void conn_queue_detach(struct kunit *test);
void conn_queue_detach_again(struct kunit *test);
void conn_queue_reset(struct kunit *test);
void conn_queue_shutdown(struct kunit *test);

/* mpa_conn_scribble.c */
void conn_scribble_laid_out(struct kunit *test);
void conn_scribble_no_crc(struct kunit *test);
void conn_scribble_handed_back(struct kunit *test);
void conn_scribble_kept(struct kunit *test);
void conn_scribble_race(struct kunit *test);

/* mpa_conn_splice.c */
void conn_splice_pieces(struct kunit *test);
void conn_splice_window(struct kunit *test);
void conn_splice_kept(struct kunit *test);
void conn_splice_ooo(struct kunit *test);
void conn_splice_all(struct kunit *test);
void conn_splice_own(struct kunit *test);

/* mpa_conn_train.c */
void conn_train_full(struct kunit *test);
void conn_train_between(struct kunit *test);
void conn_train_pages(struct kunit *test);
void conn_train_odd(struct kunit *test);
void conn_train_many(struct kunit *test);
void conn_train_headers(struct kunit *test);
void conn_train_narrow(struct kunit *test);
void conn_train_window(struct kunit *test);
void conn_train_short(struct kunit *test);
void conn_train_uncorked(struct kunit *test);
void conn_train_page_refs(struct kunit *test);
void conn_train_sack(struct kunit *test);
void conn_train_sack_held(struct kunit *test);
void conn_train_sack_begin(struct kunit *test);
void conn_train_apart(struct kunit *test);

/* mpa_conn_end.c */
void conn_end_detach(struct kunit *test);
void conn_end_detach_sync(struct kunit *test);
void conn_end_abort(struct kunit *test);
void conn_end_listen(struct kunit *test);
void conn_end_reconnect(struct kunit *test);
void conn_end_reconnect_start(struct kunit *test);
void conn_end_reconnect_detach(struct kunit *test);
void conn_end_reconnect_kept(struct kunit *test);
void conn_end_once(struct kunit *test);
void conn_end_callback_detach(struct kunit *test);
void conn_end_callback_all(struct kunit *test);
void conn_end_callback_abort(struct kunit *test);
void conn_end_running(struct kunit *test);
void conn_end_no_more(struct kunit *test);
void conn_end_barrier(struct kunit *test);
void conn_end_graceful(struct kunit *test);
void conn_end_states(struct kunit *test);
void conn_end_addresses(struct kunit *test);
void conn_end_counters(struct kunit *test);
void conn_end_reasons(struct kunit *test);

/* mpa_conn_borrow.c */
void conn_borrow_cookie(struct kunit *test);
void conn_borrow_ops_left(struct kunit *test);
void conn_borrow_late_begin(struct kunit *test);
void conn_borrow_ops_foreign(struct kunit *test);
void conn_borrow_late_callbacks(struct kunit *test);
void conn_borrow_owner(struct kunit *test);
void conn_borrow_search(struct kunit *test);
void conn_borrow_fin(struct kunit *test);
void conn_borrow_reconnect(struct kunit *test);

/* mpa_conn_race.c */
void conn_race_reset(struct kunit *test);
void conn_race_reset_abort(struct kunit *test);
void conn_race_close(struct kunit *test);
void conn_race_put(struct kunit *test);
void conn_race_write(struct kunit *test);

/* mpa_conn_sock.c */
void conn_sock_connect(struct kunit *test);
void conn_sock_memalloc(struct kunit *test);
void conn_sock_refused(struct kunit *test);
void conn_sock_in_use(struct kunit *test);
void conn_sock_params(struct kunit *test);
void conn_sock_cancel(struct kunit *test);
void conn_sock_nested(struct kunit *test);
void conn_sock_close(struct kunit *test);
void conn_sock_migrate(struct kunit *test);
void conn_sock_migrate_destroyed(struct kunit *test);

/* mpa_conn_enhanced.c */
void conn_enh_initiator(struct kunit *test);
void conn_enh_responder(struct kunit *test);
void conn_enh_accept_early(struct kunit *test);
void conn_enh_pd_too_long(struct kunit *test);
void conn_enh_dribble(struct kunit *test);
void conn_enh_short(struct kunit *test);
void conn_enh_bad(struct kunit *test);
void conn_enh_refused(struct kunit *test);
void conn_enh_old_request(struct kunit *test);
void conn_enh_plain(struct kunit *test);
void conn_enh_rev1(struct kunit *test);
void conn_enh_error(struct kunit *test);
void conn_enh_rtr(struct kunit *test);
void conn_enh_may_send(struct kunit *test);
void conn_enh_two(struct kunit *test);
void conn_enh_set_initiator(struct kunit *test);
void conn_enh_set_responder(struct kunit *test);
void conn_enh_set_late(struct kunit *test);
void conn_enh_reject(struct kunit *test);
void conn_enh_rejected(struct kunit *test);
void conn_enh_rejected_plain(struct kunit *test);
void conn_enh_params(struct kunit *test);

/* mpa_conn_connect.c */
void conn_connect_established(struct kunit *test);
void conn_connect_memalloc(struct kunit *test);
void conn_connect_rejected(struct kunit *test);
void conn_connect_fallback(struct kunit *test);
void conn_connect_no_flag(struct kunit *test);
void conn_connect_other_error(struct kunit *test);
void conn_connect_reset_behind(struct kunit *test);
void conn_connect_fallback_once(struct kunit *test);
void conn_connect_fallback_rejected(struct kunit *test);
void conn_connect_refused(struct kunit *test);
void conn_connect_net(struct kunit *test);
void conn_connect_setup_fails(struct kunit *test);
void conn_connect_pd_too_long(struct kunit *test);
void conn_connect_params(struct kunit *test);
void conn_connect_detached(struct kunit *test);
void conn_connect_close_early(struct kunit *test);
void conn_connect_close_waiting(struct kunit *test);
void conn_connect_close_between(struct kunit *test);
void conn_connect_close_releasing(struct kunit *test);
void conn_connect_close_attaching(struct kunit *test);
void conn_connect_close_in_done(struct kunit *test);
void conn_connect_close_in_error(struct kunit *test);
void conn_connect_close_in_callback(struct kunit *test);
void conn_connect_race(struct kunit *test);

/* mpa_conn_ooo.c */
void conn_ooo_found(struct kunit *test);
void conn_ooo_ipv6(struct kunit *test);
void conn_ooo_off(struct kunit *test);
void conn_ooo_startup(struct kunit *test);
void conn_ooo_shutdown(struct kunit *test);
void conn_ooo_timer(struct kunit *test);
void conn_ooo_frame(struct kunit *test);
void conn_ooo_orders(struct kunit *test);
void conn_ooo_shuffled(struct kunit *test);
void conn_ooo_octets(struct kunit *test);
void conn_ooo_long(struct kunit *test);
void conn_ooo_leading(struct kunit *test);
void conn_ooo_many(struct kunit *test);
void conn_ooo_scattered(struct kunit *test);
void conn_ooo_bounded(struct kunit *test);
void conn_ooo_paced(struct kunit *test);
void conn_ooo_due(struct kunit *test);
void conn_ooo_altered(struct kunit *test);
void conn_ooo_overlap(struct kunit *test);
void conn_ooo_covered(struct kunit *test);
void conn_ooo_covered_many(struct kunit *test);
void conn_ooo_dropped(struct kunit *test);
void conn_ooo_window_retracted(struct kunit *test);
void conn_ooo_copied(struct kunit *test);
void conn_ooo_wrap(struct kunit *test);

/* mpa_conn_ooo_end.c */
void conn_ooo_bad_crc(struct kunit *test);
void conn_ooo_into(struct kunit *test);
void conn_ooo_into_late(struct kunit *test);
void conn_ooo_into_crc(struct kunit *test);
void conn_ooo_changed_marker(struct kunit *test);
void conn_ooo_from_lead(struct kunit *test);
void conn_ooo_changed_length(struct kunit *test);
void conn_ooo_hold(struct kunit *test);
void conn_ooo_detach(struct kunit *test);
void conn_ooo_abort(struct kunit *test);
void conn_ooo_reset(struct kunit *test);
void conn_ooo_fin_before(struct kunit *test);
void conn_ooo_fin_behind(struct kunit *test);
void conn_ooo_urgent(struct kunit *test);
void conn_ooo_keep(struct kunit *test);
void conn_ooo_keep_much(struct kunit *test);
void conn_ooo_rx_mem(struct kunit *test);
void conn_ooo_may_send(struct kunit *test);
void conn_ooo_two_way(struct kunit *test);
void conn_ooo_stray(struct kunit *test);
void conn_ooo_af_ops(struct kunit *test);
void conn_ooo_addrform(struct kunit *test);
void conn_ooo_sockopt(struct kunit *test);
void conn_ooo_race(struct kunit *test);

/* mpa_conn_bounds.c */
void conn_bounds_copy(struct kunit *test);
void conn_bounds_copy_detach(struct kunit *test);
void conn_bounds_pressure(struct kunit *test);
void conn_bounds_passed_pieces(struct kunit *test);
void conn_bounds_shared_pieces(struct kunit *test);
void conn_bounds_passed_many(struct kunit *test);

#endif /* _MPA_CONN_TEST_H */
