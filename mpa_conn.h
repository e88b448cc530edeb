/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection and its parts; internal to the module. */
#ifndef _MPA_CONN_H
#define _MPA_CONN_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/percpu_counter.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/tcp.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/mpa.h>
#include <net/net_namespace.h>
#include <net/snmp.h>
#include <net/sock.h>
#include "mpa_compat.h"
#include "mpa_fpdu.h"
#include "mpa_frame.h"

struct mpa_cm;
struct mpa_batch;
struct mpa_ooo;
struct mpa_train;

/* Counters of a namespace; names in mpa_main.c. */
enum mpa_mib {
	MPA_MIB_ATTACHED,
	MPA_MIB_RELEASED,
	MPA_MIB_ESTABLISHED,
	MPA_MIB_REJECTS_SENT,
	MPA_MIB_REJECTS_RECEIVED,
	MPA_MIB_REV0,
	MPA_MIB_NO_CRC,
	MPA_MIB_ENHANCED,
	MPA_MIB_FALLBACKS,
	MPA_MIB_GLUED,		/* octets behind an accepting Reply */
	MPA_MIB_TX_ULPDUS,
	MPA_MIB_TX_OCTETS,
	MPA_MIB_TX_CALLS,
	MPA_MIB_TX_RECORDS,
	MPA_MIB_TX_ZEROCOPY,
	MPA_MIB_TX_COPIED,	/* asked for zero copy, copied all the same */
	MPA_MIB_TX_SHORT,	/* TCP took part of a record */
	MPA_MIB_TX_CANCELED,	/* messages handed back unsent */
	MPA_MIB_RX_ULPDUS,
	MPA_MIB_RX_OCTETS,
	MPA_MIB_RX_BATCHES,
	MPA_MIB_RX_COPIED,	/* copies of octets received */
	MPA_MIB_RX_DISCARDED,	/* octets not delivered */
	MPA_MIB_RX_LIMITED,	/* deliveries put off by net.mpa.rx_mem_max */
	MPA_MIB_OOO_ULPDUS,	/* passed out of order */
	MPA_MIB_OOO_OCTETS,
	MPA_MIB_OOO_BAD,	/* FPDUs not good, behind a hole */
	MPA_MIB_OOO_FULL,	/* too many holes, not looked behind */
	MPA_MIB_RESETS,		/* of TCP, when MPA left it */
	MPA_MIB_NOMEM,		/* allocations to be tried again */
	MPA_MIB_REASON,		/* one for each enum mpa_reason from here on */
	MPA_MIB_MAX = MPA_MIB_REASON + MPA_REASON_RTR + 1,
};

struct mpa_stats {
	unsigned long	mibs[MPA_MIB_MAX];
};

/**
 * struct mpa_net - what MPA has in a namespace
 * @lock: protects @conns, @startups, @nr_startups and @dying
 * @conns: all connections that are attached
 * @startups: of these, Responders without a complete Request, oldest first
 * @nr_startups: how many
 * @dying: no more of them
 * @mib: counters
 * @sysctl: handle of the table in net.mpa
 * @crc: C bit of our frames, net.mpa.crc
 * @ooo_hook: net.mpa.ooo_hook
 * @startup_timeout_ms: net.mpa.startup_timeout_ms
 * @startup_max: net.mpa.startup_max
 */
struct mpa_net {
	spinlock_t		lock;	/* protects the next four */
	struct list_head	conns;
	struct list_head	startups;
	int			nr_startups;
	bool			dying;
	struct mpa_stats __percpu *mib;
	struct ctl_table_header	*sysctl;
	u8			crc;
	u8			ooo_hook;
	int			startup_timeout_ms;
	int			startup_max;
	unsigned long		rx_mem_max;
	struct percpu_counter	rx_mem;
};

/* Bits of mpa_conn.flags; set and cleared atomically. */
enum mpa_flag {
	MPA_CONN_START,		/* a mpa_start_*() was accepted */
	MPA_CONN_ACCEPT,	/* mpa_accept(), to be carried out */
	MPA_CONN_REJECT,	/* mpa_reject(), to be carried out */
	MPA_CONN_HOLD,		/* no recv() */
	MPA_CONN_SHUTDOWN,	/* mpa_shutdown() */
	MPA_CONN_ABORT,		/* mpa_abort() */
	MPA_CONN_DETACH,	/* mpa_detach(): no callback but released() */
	MPA_CONN_CLOSED,	/* closed() has been called */
	MPA_CONN_GONE,		/* TCP has closed, and tells no more */
	MPA_CONN_STRANGER,	/* another user reconnected the socket */
	MPA_CONN_OFF,		/* the socket's callbacks are restored */
	MPA_CONN_RELEASED,	/* released() has been or is being called */
	MPA_CONN_TIMEOUT,	/* the timer has fired */
	MPA_CONN_CROWDED,	/* no place to wait for a Request any longer */
};

/**
 * struct mpa_conn_tx - sending half
 * @queue: messages posted; protected by mpa_conn.lock
 * @sending: messages laid out, in order; all that follows is the work item's
 * @cur: source in progress, or NULL
 * @train: octets laid out and not yet given to TCP, or NULL
 * @frag: page fragment being filled
 * @pos: stream position behind the last octet laid out
 * @sent: stream position behind the last octet given to TCP
 * @ooopack: tcp_sock.rcv_ooopack when it was last looked at
 * @calm: jiffies until which room is left for SACK blocks
 * @sack: octets left for them in each segment
 * @gate: FPDUs may be sent (CS-29)
 * @fin: the FIN has been sent
 * @busy: inside tcp_sendmsg_locked(): write_space() is our own doing
 * @err: why no more can be sent
 */
struct mpa_conn_tx {
	struct list_head	queue;
	struct list_head	sending;
	struct mpa_tx		*cur;
	struct mpa_train	*train;
	struct page_frag	frag;
	u64			pos;
	u64			sent;
	u32			ooopack;
	unsigned long		calm;
	u32			sack;
	u32			sack_max;
	bool			gate;
	bool			fin;
	bool			busy;
	int			err;
};

/**
 * struct mpa_conn_rx - receiving half
 * @batches: passed to the consumer and not yet consumed from TCP, early ones
 *	among them;
 *	protected by mpa_conn.lock
 * @ready: decoded, not yet passed; all that follows is the work item's
 * @copy: FPDU that is being copied together, or NULL
 * @copied: octets in @copy
 * @eaten: of these, or of a copy in @ready, consumed from TCP
 * @capacity: room in @copy
 * @fragmented: the next FPDU lies in too many pieces, copy it
 * @want: octets from @seq needed to get further
 * @seq: TCP sequence number behind the last FPDU decoded
 * @need: sk_data_ready() below this sequence number is of no use
 * @pos: stream position that belongs to @seq
 * @end: how it ended; valid once end.error is set
 * @reported: ended() has been called
 * @discarded: after the end everything has been consumed
 * @blocked: nothing to be done with what arrives: on hold, or too much kept
 * @pinned: memory held by @batches in order, in terms of skb truesize
 * @err: errno of the loss, for closed()
 */
struct mpa_conn_rx {
	struct list_head	batches;
	struct mpa_batch	*ready;
	u8			*copy;
	u32			copied;
	u32			eaten;
	u32			capacity;
	bool			fragmented;
	u32			want;
	u32			seq;
	u32			need;
	u64			pos;
	struct mpa_end		end;
	bool			reported;
	bool			discarded;
	bool			blocked;
	u32			pinned;
	int			err;
};

/**
 * struct mpa_conn_ooo - ULPDUs passed before their turn; the work item's,
 * except where mpa_conn.lock is named
 * @on: it is done at all
 * @known: what is known of octets behind holes; made when there are any
 * @ready: decoded, not yet passed
 * @seen: tcp_sock.rcv_ooopack as of the last search
 * @cost: steps of that search
 * @begun: jiffies when it began
 * @arrived: without the hook: how much had come when the timer was set
 * @active: without the hook: when something had come last
 * @pinned: memory held by early batches, as rx.pinned
 * @ulpdus: passed; under mpa_conn.lock, as the next two
 * @octets: of these
 * @met: of @ulpdus, those that the stream has come to
 */
struct mpa_conn_ooo {
	bool			on;
	struct mpa_ooo		*known;
	struct mpa_batch	*ready;
	u32			seen;
	u32			cost;
	unsigned long		begun;
	u32			arrived;
	unsigned long		active;
	u32			pinned;
	u64			ulpdus;
	u64			octets;
	u64			met;
};

/**
 * struct mpa_conn - a connection; locks and lifetime in mpa_conn.c
 * @ref: see "Lifetime"
 * @work: runs everything
 * @runner: who runs it just now, or NULL
 * @again: it is to look at everything once more; the runner's
 * @flags: &enum mpa_flag
 * @sk: the consumer's socket
 * @sock: the same
 * @ops: the consumer's callbacks
 * @ctx: the consumer's context
 * @mn: the namespace
 * @net_node: in mpa_net.conns
 * @startup_node: in mpa_net.startups, or empty; under mpa_net.lock
 * @data_ready: what the socket had before
 * @state_change: the same
 * @write_space: the same
 * @error_report: the same
 * @conn_flags: MPA_F_* of the consumer
 * @nagle: the socket had Nagle on
 * @rcvlowat: sk_rcvlowat of the socket before
 * @allocation: sk_allocation of the socket before
 * @task_frag: sk_use_task_frag of the socket before
 * @wish: what our frames say; the CRC bit is filled in at start
 * @timer: startup, drain, retry after a failed allocation, and looking behind
 *	holes
 * @done: released() has returned
 * @lock: protects @state, @cm's answer, tx.queue and rx.batches, positions
 *	and numbers of ULPDUs
 * @state: written by the work item only, under @lock
 * @cm: startup in progress, or NULL
 * @terms: what was negotiated; constant in MPA_STATE_FULL
 * @peer_rev: revision of the peer's frame
 * @initiator: we sent the Request
 * @mulpdu: as the consumer knows it
 * @ulpdus_tx: ULPDUs given to TCP
 * @ulpdus_rx: ULPDUs delivered
 * @tx: sending half
 * @rx: receiving half
 * @ooo: the same, out of order
 */
struct mpa_conn {
	struct kref		ref;
	struct work_struct	work;
	struct task_struct	*runner;
	bool			again;
	unsigned long		flags;
	struct sock		*sk;
	struct socket		*sock;
	const struct mpa_ops	*ops;
	void			*ctx;
	struct mpa_net		*mn;
	struct list_head	net_node;
	struct list_head	startup_node;

	void			(*data_ready)(struct sock *sk);
	void			(*state_change)(struct sock *sk);
	void			(*write_space)(struct sock *sk);
	void			(*error_report)(struct sock *sk);

	u32			conn_flags;
	bool			nagle;
	bool			cork;
	int			rcvlowat;
	bool			task_frag;
	gfp_t			allocation;
	struct mpa_wish		wish;
	struct timer_list	timer;
	struct completion	done;

	spinlock_t		lock;	/* see above */
	enum mpa_state		state;
	struct mpa_cm		*cm;
	struct mpa_terms	terms;
	s16			peer_rev;
	bool			initiator;
	u32			mulpdu;
	u64			ulpdus_tx;
	u64			ulpdus_rx;
	struct mpa_conn_tx	tx;
	struct mpa_conn_rx	rx;
	struct mpa_conn_ooo	ooo;
};

/* mpa_main.c APIs: */
extern struct workqueue_struct *mpa_wq;
extern struct workqueue_struct *mpa_reclaim_wq;
extern struct mpa_net mpa_net_none;
struct mpa_net *mpa_net(struct net *net);
int mpa_net_startup_max(const struct mpa_net *mn);
int mpa_net_startup_timeout(const struct mpa_net *mn);
void mpa_net_startup_begin(struct mpa_conn *conn);
void mpa_net_rx_mem_add(struct mpa_net *mn, s64 octets);
bool mpa_net_rx_full(const struct mpa_conn *conn);
void mpa_net_startup_end(struct mpa_conn *conn);

#define mpa_count(conn, field) \
	SNMP_INC_STATS(READ_ONCE((conn)->mn)->mib, MPA_MIB_##field)
#define mpa_count_add(conn, field, n) \
	SNMP_ADD_STATS(READ_ONCE((conn)->mn)->mib, MPA_MIB_##field, \
		       (unsigned long)(n))

#define MPA_ULP_NAME	"mpa"	/* of sockets that MPA has, for TCP_ULP */

/* mpa_conn.c APIs: */
int mpa_conn_init(void);
void mpa_conn_wait_none(void);
void mpa_conn_exit(void);
void mpa_conn_kick(struct mpa_conn *conn);
void mpa_conn_kick_put(struct mpa_conn *conn);
void mpa_conn_hold(struct mpa_conn *conn);
void mpa_conn_put(struct mpa_conn *conn);
void mpa_conn_set_state(struct mpa_conn *conn, enum mpa_state state);
void mpa_conn_retry(struct mpa_conn *conn);
struct mpa_conn *mpa_conn_of(const struct sock *sk);
bool mpa_conn_stranger(struct mpa_conn *conn);
void mpa_conn_kill(struct mpa_conn *conn);
void mpa_conn_hand_over(struct mpa_conn *conn, const struct mpa_params *params);
bool mpa_enhanced_ok(const struct mpa_enhanced *enhanced, u16 ird_max);
bool mpa_params_ok(const struct mpa_params *params);

static inline bool mpa_conn_test(const struct mpa_conn *conn,
				 enum mpa_flag flag)
{
	return test_bit_acquire(flag, &conn->flags);
}

/*
 * True if the peer may count FPDUPTR from the beginning of the FPDU, a leading
 * marker included, as the two drafts say. From Rev 1 on FPDUPTR counts from
 * ULPDU_Length.
 */
static inline bool mpa_conn_from_lead(const struct mpa_conn *conn)
{
	return conn->terms.rev == MPA_REV_0 ||
	       conn->terms.rev == MPA_REV_NONE;
}

static inline bool mpa_conn_enter_unless(const struct mpa_conn *conn,
					 unsigned long mask)
{
	/*
	 * Pairs with the unlock in who sets a flag: what the work item learns
	 * of behind that does not make it start a callback. One that has looked
	 * before counts as running.
	 */
	return !(smp_load_acquire(&conn->flags) & mask);
}

/*
 * Work item only: may a callback start? If so it counts as running, and a
 * mpa_detach() from now on does not stop it.
 */
static inline bool mpa_conn_enter(const struct mpa_conn *conn)
{
	return mpa_conn_enter_unless(conn, BIT(MPA_CONN_DETACH));
}

/* The same for recv(), which mpa_hold() stops too. */
static inline bool mpa_conn_enter_recv(const struct mpa_conn *conn)
{
	return mpa_conn_enter_unless(conn, BIT(MPA_CONN_DETACH) |
					   BIT(MPA_CONN_HOLD));
}

/* For allocations that are retried, or of which a peer chose the size */
#define MPA_GFP_QUIET	(GFP_KERNEL | __GFP_NOWARN)

/* Is no message queued? Work item only, which takes them. */
static inline bool mpa_tx_queue_empty(const struct mpa_conn *conn)
{
	/* Maybe not any more: who adds one has the work item run again. */
	return data_race(list_empty_careful(&conn->tx.queue));
}

/* Returns the workqueue of a connection, connector or listener with @flags. */
static inline struct workqueue_struct *mpa_wq_of(u32 flags)
{
	return flags & MPA_F_MEMALLOC ? mpa_reclaim_wq : mpa_wq;
}

/* With MPA_F_MEMALLOC no allocation waits for I/O, maybe the consumer's own. */
static inline unsigned int mpa_noio_save(u32 flags)
{
	return flags & MPA_F_MEMALLOC ? memalloc_noio_save() : 0;
}

static inline void mpa_noio_restore(u32 flags, unsigned int saved)
{
	if (flags & MPA_F_MEMALLOC)
		memalloc_noio_restore(saved);
}

/*
 * The same in a work item: nor must it wait for memory that others write out
 * by it. It may use the reserves.
 */
static inline unsigned int mpa_memalloc_save(u32 flags)
{
	if (!(flags & MPA_F_MEMALLOC))
		return 0;
	return memalloc_flags_save(PF_MEMALLOC | PF_MEMALLOC_NOIO);
}

static inline void mpa_memalloc_restore(u32 flags, unsigned int saved)
{
	if (flags & MPA_F_MEMALLOC)
		memalloc_flags_restore(saved);
}

/* mpa_cm.c APIs: */
bool mpa_cm_run(struct mpa_conn *conn);
void mpa_cm_lost(struct mpa_conn *conn, enum mpa_reason reason, int err);
void mpa_cm_end(struct mpa_conn *conn, enum mpa_reason reason, int err);
void mpa_cm_free(struct mpa_conn *conn);
void mpa_cm_report(struct mpa_conn *conn);
void mpa_cm_closed(struct mpa_conn *conn);

/* mpa_tx.c APIs: */
void mpa_tx_begin(struct mpa_conn *conn);
u32 mpa_tx_emss(const struct mpa_conn *conn);
bool mpa_tx_untold(const struct mpa_conn *conn);
bool mpa_tx_run(struct mpa_conn *conn);
void mpa_tx_cancel(struct mpa_conn *conn, int err);
void mpa_tx_collect(struct mpa_conn *conn, struct list_head *done);
bool mpa_tx_flush(struct mpa_conn *conn);
bool mpa_tx_pending(struct mpa_conn *conn);
bool mpa_tx_idle(const struct mpa_conn *conn);
int mpa_tx_fin(struct mpa_conn *conn);
int mpa_tx_give(struct mpa_conn *conn, struct msghdr *msg, size_t len);

/* mpa_rx.c APIs: */
void mpa_rx_begin(struct mpa_conn *conn);
bool mpa_rx_run(struct mpa_conn *conn);
void mpa_rx_drop(struct mpa_conn *conn);
void mpa_rx_finish(struct mpa_conn *conn);
void mpa_rx_free_put(struct mpa_conn *conn);

/* mpa_sock.c APIs: */
int mpa_addr_len(const struct sockaddr_storage *addr);
bool mpa_family_ok(unsigned short family);
bool mpa_sock_params_ok(const struct mpa_sock_params *params, u32 flags);
int mpa_sock_make(const struct mpa_sock_params *params, bool listen,
		  struct socket **res);
bool mpa_listen_is_work(const struct work_struct *work);

/* mpa_connect.c APIs: */
bool mpa_connect_is_work(const struct work_struct *work);

/**
 * struct mpa_tcp_room - what TCP can be given
 * @emss: octets of a segment
 * @sack: left for SACK blocks in each, beside these
 * @octets: in segments that follow each other; a single one may be longer
 */
struct mpa_tcp_room {
	u32	emss;
	u32	sack;
	u32	octets;
};

/* mpa_tcp.c APIs: */
int mpa_tcp_check(struct socket *sock);
u32 mpa_tcp_emss(struct sock *sk);
bool mpa_tcp_probes_mtu(const struct sock *sk);
u32 mpa_tcp_sack_octets(const struct sock *sk);
u32 mpa_tcp_sack_max(const struct sock *sk);
u32 mpa_tcp_window(const struct sock *sk);
u32 mpa_tcp_pages_max(void);
bool mpa_tcp_has_room(const struct sock *sk);
bool mpa_tcp_space(struct sock *sk);
int mpa_tcp_read(struct mpa_conn *conn, void *buf, size_t len);
u32 mpa_tcp_unread(struct sock *sk);
bool mpa_tcp_fin(const struct sock *sk);
int mpa_tcp_send_fin(struct mpa_conn *conn);
void mpa_tcp_ack_at_once(struct sock *sk);
bool mpa_tcp_keep_window_updates(struct sock *sk);
int mpa_tcp_lost(const struct sock *sk);
void mpa_tcp_memalloc(struct sock *sk);
void mpa_tcp_reset(struct sock *sk);
void mpa_tcp_addresses(const struct sock *sk, struct sockaddr_storage *local,
		       struct sockaddr_storage *peer);

#endif /* _MPA_CONN_H */
