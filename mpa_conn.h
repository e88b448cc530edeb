/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection and its parts; internal to the module. */
#ifndef _MPA_CONN_H
#define _MPA_CONN_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/percpu_counter.h>
#include <linux/rbtree.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
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
struct mpa_ooo_map;
struct mpa_train;

/* Counters of a network namespace; mpa_mib_list in mpa_net.c names them. */
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
	MPA_MIB_DATA_WITH_REPLY, /* accepting Replies with octets after them */
	MPA_MIB_TX_ULPDUS,
	MPA_MIB_TX_OCTETS,
	MPA_MIB_TX_CALLS,
	MPA_MIB_TX_SEGMENTS,
	MPA_MIB_TX_ZEROCOPY,
	MPA_MIB_TX_COPIED,	/* ULPDUs copied despite MPA_TX_ZEROCOPY */
	MPA_MIB_TX_SHORT,	/* times that TCP took less than offered */
	MPA_MIB_TX_CANCELED,	/* messages that failed */
	MPA_MIB_RX_ULPDUS,
	MPA_MIB_RX_OCTETS,
	MPA_MIB_RX_BATCHES,
	MPA_MIB_RX_COPIED,	/* copies of FPDUs, but for short ones */
	MPA_MIB_RX_DISCARDED,	/* octets not delivered */
	MPA_MIB_RX_LIMITED,	/* deliveries put off by net.mpa.rx_mem_max */
	MPA_MIB_OOO_ULPDUS,	/* passed out of order */
	MPA_MIB_OOO_OCTETS,
	MPA_MIB_OOO_BAD,	/* bad FPDUs after a hole */
	MPA_MIB_OOO_FULL,	/* searches with the list of ranges full */
	MPA_MIB_RESETS,		/* TCP connections reset at the detach */
	MPA_MIB_NOMEM,		/* allocations that failed and are retried */
	MPA_MIB_REASON,		/* one per enum mpa_reason: stays last */
	MPA_MIB_MAX = MPA_MIB_REASON + MPA_REASON_RTR + 1,
};

struct mpa_stats {
	unsigned long	mibs[MPA_MIB_MAX];
};

/**
 * struct mpa_net - MPA's state in a network namespace
 * @net: the namespace; NULL in mpa_net_none
 * @lock: protects @conns, @startups, @nr_startups, @dying and @last_cpu
 * @conns: all attached connections, ordered by their cookies
 * @startups: Responders in @conns without a complete Request, oldest first
 * @nr_startups: number of entries in @startups
 * @dying: the namespace is going away: @conns and @startups are closed to
 *	new entries
 * @mib: counters
 * @sysctl: registered table of net.mpa
 * @crc: net.mpa.crc, the C bit of the frames that this end sends
 * @ooo_ack_notify: net.mpa.ooo_ack_notify, see mpa_hook.c
 * @startup_timeout_ms: net.mpa.startup_timeout_ms
 * @startup_max: net.mpa.startup_max
 * @rx_mem_max: net.mpa.rx_mem_max, in octets
 * @rx_mem: memory in octets that batches which consumers keep pin, and that
 *	copies of FPDUs take: the sum of rx.pinned, ooo.pinned and rx.capacity
 *	over the connections
 * @zerocopy_min: net.mpa.zerocopy_min, in octets
 * @cpus: net.mpa.cpus
 * @last_cpu: the last that a connection got of @cpus, or -1; protected by @lock
 */
struct mpa_net {
	struct net		*net;
	spinlock_t		lock;	/* protects conns to dying, last_cpu */
	struct rb_root		conns;
	struct list_head	startups;
	int			nr_startups;
	bool			dying;
	struct mpa_stats __percpu *mib;
	struct ctl_table_header	*sysctl;
	u8			crc;
	u8			ooo_ack_notify;
	int			startup_timeout_ms;
	int			startup_max;
	unsigned long		rx_mem_max;
	struct percpu_counter	rx_mem;
	unsigned int		zerocopy_min;
	struct cpumask		*cpus;
	int			last_cpu;
};

/* Bits of mpa_conn.flags; set and cleared atomically. */
enum mpa_flag {
	MPA_CONN_START,		/* an mpa_start_*() has succeeded */
	MPA_CONN_ACCEPT,	/* mpa_accept() has succeeded */
	MPA_CONN_REJECT,	/* mpa_reject() has succeeded */
	MPA_CONN_HOLD,		/* until mpa_resume(), and from mpa_hold() on */
	MPA_CONN_SHUTDOWN,	/* mpa_shutdown() was called */
	MPA_CONN_ABORT,		/* mpa_abort() was called */
	MPA_CONN_DETACH,	/* mpa_detach(): only released() is called */
	MPA_CONN_CLOSED_CALLED,	/* closed() was called, unless detached */
	MPA_CONN_GONE,		/* TCP closed: its callbacks are restored */
	MPA_CONN_RECONNECTED,	/* another user reconnected the socket */
	MPA_CONN_OFF,		/* MPA has begun to leave the socket */
	MPA_CONN_RELEASED,	/* released() is running or has returned */
	MPA_CONN_TIMEOUT,	/* the timer has fired */
	MPA_CONN_STARTUP_OVERFLOW, /* startup_max exceeded: to be ended */
	MPA_CONN_MISSED,	/* the work item found another runner */
};

#define MPA_TX_NEVER	U32_MAX

/**
 * struct mpa_tx_lowered - the EMSS that TCP got in place of that of the path
 * @emss: EMSS that mpa_tcp_lower_emss() gave TCP, or 0; mpa_mulpdu() reads
 *	@emss, @path and @mtu without a lock
 * @path: EMSS of the path
 * @mtu: path MTU
 * @window: largest window that the peer had announced
 * @clamp: MSS that was negotiated, while TCP has @emss in its place; or 0
 */
struct mpa_tx_lowered {
	u32	emss;
	u32	path;
	u32	mtu;
	u32	window;
	u32	clamp;
};

/**
 * struct mpa_tx_series - FPDUs of equal length, for which the EMSS is lowered
 * @size: octets of each of the last FPDUs
 * @count: how many FPDUs of that length there were in a row, without short ones
 *	that were sent alone; 0 if the EMSS must be that of the path for the
 *	next one
 * @pos: while @count is not 0, stream position after the last octet that is
 *	not of the series: where it began, or after a zero-copy FPDU among it.
 *	32 bits: a series of more than 4 GB counts as shorter, which does no
 *	harm
 * @need: how long a series must be to lower the EMSS: more after each that
 *	ended, MPA_TX_NEVER once TCP has refused one: no series lowers it again
 * @others: how many FPDUs in a row do not fill segments of the lowered EMSS
 * @sources: each FPDU of the series is all that a source had
 */
struct mpa_tx_series {
	u32	size;
	u32	count;
	u32	pos;
	u32	need;
	u32	others;
	bool	sources;
};

/**
 * struct mpa_conn_tx - sending half
 * @queue: messages posted; protected by mpa_conn.lock
 * @sending: messages framed or failed and not yet handed back, in order;
 *	written by the runner only, as are all members but @queue and @run_here
 * @cur: message being framed, or NULL
 * @train: FPDUs not yet taken by TCP, or NULL
 * @ubufs: &struct mpa_tx_ubuf of trains with pages of the consumer, in order
 * @pos: stream position after the last octet framed
 * @sent: stream position after the last octet given to TCP
 * @ooopack: tcp_sock.rcv_ooopack when a hole was last seen; mpa_mulpdu() reads
 *	@ooopack, @sack_until, @sack and @sack_max without a lock
 * @sack_until: jiffies until which room is reserved for SACK blocks
 * @sack: octets reserved for SACK blocks and AccECN in each segment while
 *	@sack_until has not passed
 * @sack_max: most octets that they can take; constant in MPA_STATE_FULL
 * @accecn: octets reserved for AccECN in each segment; constant in
 *	MPA_STATE_FULL
 * @emss: as mpa_tx_emss(), when mpa_conn.mulpdu was last looked at; or 0
 * @lowered: what TCP got in place of the EMSS of the path
 * @series: FPDUs of equal length
 * @may_send: FPDUs may be sent (CS-29)
 * @fin: TCP was asked to send its FIN
 * @busy: tcp_sendmsg_locked() is running: ignore the write_space() it causes
 * @err: negative errno why nothing more is sent, or 0
 * @run_here: for mpa_sk_run_here(): calls run(), and sends a short ULPDU that
 *	is alone. Returns false if the work item has to run. NULL until
 *	mpa_allow_softirq_send() sets it, in any context
 */
struct mpa_conn_tx {
	struct list_head	queue;
	struct list_head	sending;
	struct mpa_tx		*cur;
	struct mpa_train	*train;
	struct list_head	ubufs;
	u64			pos;
	atomic64_t		sent;
	u32			ooopack;
	unsigned long		sack_until;
	u32			sack;
	u32			sack_max;
	u32			accecn;
	u32			emss;
	struct mpa_tx_lowered	lowered;
	struct mpa_tx_series	series;
	bool			may_send;
	bool			fin;
	bool			busy;
	int			err;
	bool			(*run_here)(struct mpa_conn *conn);
};

/**
 * struct mpa_conn_rx - receive half
 * @batches: passed to the consumer, in order or out of order, that recv() has
 *	kept or that come after such a one, until mpa_batch_reap() takes them;
 *	protected by mpa_conn.lock
 * @ready: batch decoded and not yet passed, or NULL; written by the runner
 *	only, as are all members but @batches, @nomem and @run_here
 * @dry: TCP had nothing after @ready
 * @nomem: TCP had no memory for a segment, and may not have announced a window
 *	of zero yet; written with the socket lock or slock held
 * @fragmented: the next FPDU lies in too many pieces for a batch: copy it
 * @copy: buffer that the next FPDU is copied to, or NULL
 * @copied: octets in @copy
 * @copy_consumed: octets in @copy, or in the copy of @ready, already consumed
 * @capacity: size of @copy in octets; protected by mpa_conn.lock, like @pinned
 * @want: octets from @seq on that the next step of decoding needs
 * @seq: TCP sequence number after the last FPDU decoded
 * @wake_at: TCP sequence number up to which octets must have come for
 *	sk_data_ready() to queue the work item
 * @pos: stream position of @seq
 * @delivered: stream position up to which all was delivered
 * @end: how the receive half ended, once end.error is set; end.pos once it is
 *	reported
 * @end_due: all ULPDUs before the end were delivered: ended() is due
 * @reported: ended() has been called
 * @discarded: mpa_rx_discard() has consumed what arrived after the end
 * @blocked: nothing can be passed: on hold, or the consumer keeps too much
 * @pinned: octets of memory that @batches passed in order pin, by truesize
 * @owed: octets of batches that were put and freed, to be consumed from TCP
 * @closed_err: for closed(): 0, or negative errno of the loss, also while what
 *	came before that is passed
 * @run_here: for mpa_sk_run_here(): receives. Returns false if a round has to
 *	follow. NULL until mpa_allow_softirq() sets it, in any context
 */
struct mpa_conn_rx {
	struct list_head	batches;
	struct mpa_batch	*ready;
	bool			dry;
	bool			nomem;
	bool			fragmented;
	u8			*copy;
	u32			copied;
	u32			copy_consumed;
	u32			capacity;
	u32			want;
	u32			seq;
	u32			wake_at;
	u64			pos;
	u64			delivered;
	struct mpa_end		end;
	bool			end_due;
	bool			reported;
	bool			discarded;
	bool			blocked;
	u32			pinned;
	u32			owed;
	int			closed_err;
	bool			(*run_here)(struct mpa_conn *conn);
};

/**
 * struct mpa_conn_ooo - receive half, out of order; written by the runner only
 * @on: ULPDUs are passed out of order
 * @known: what is known of octets after holes; allocated for the first search
 * @ready: batch decoded and not yet passed, or NULL
 * @seen: tcp_sock.rcv_ooopack when the last search began
 * @cost: steps of the last search
 * @begun: jiffies when the last search began
 * @arrived: without the hook: rcv_nxt + rcv_ooopack at the last look
 * @active: without the hook: jiffies when @arrived last changed
 * @pinned: octets of memory that batches passed out of order pin, by truesize
 * @ulpdus: ULPDUs passed out of order; protected by mpa_conn.lock, like
 *	@octets and @delivered
 * @octets: octets of @ulpdus, without framing
 * @delivered: of @ulpdus, those delivered since
 */
struct mpa_conn_ooo {
	bool			on;
	struct mpa_ooo_map	*known;
	struct mpa_batch	*ready;
	u32			seen;
	u32			cost;
	unsigned long		begun;
	u32			arrived;
	unsigned long		active;
	u32			pinned;
	u64			ulpdus;
	u64			octets;
	u64			delivered;
};

/*
 * How far the current round has come, in full operation. Before that, and
 * between rounds, MPA_PHASE_TX: so each kick asks for another round then.
 */
enum mpa_phase { MPA_PHASE_RX, MPA_PHASE_RUN, MPA_PHASE_TX };

/**
 * struct mpa_conn - a connection; locks and lifetime in mpa_conn.c
 * @ref: references, see "Lifetime" in mpa_conn.c
 * @runner: task that runs rounds, that of @work or one that stands in for it;
 *	in softirq, the task that was interrupted; or NULL
 * @again: there has to be another round; used by @runner only, as @phase
 * @atomic: @runner may not sleep; written by @runner only
 * @phase: see &enum mpa_phase
 * @mulpdu: MULPDU that the consumer was last told
 * @ulpdus_tx: ULPDUs given to TCP
 * @ulpdus_rx: ULPDUs delivered
 * @cm: startup in progress, or NULL
 * @flags: bits of &enum mpa_flag; this and what follows up to @ctx is read
 *	wherever octets arrive or are posted, and seldom written: so it shares
 *	no cache line with what each run writes
 * @state: written by the runner only
 * @conn_flags: MPA_F_* of the consumer
 * @cpu: where @work runs, or WORK_CPU_UNBOUND: where packets arrive
 * @sk: sk of @sock
 * @data_ready: sk_data_ready of the socket before the attach
 * @write_space: sk_write_space of the socket before the attach
 * @ops: the consumer's callbacks
 * @ctx: the consumer's context
 * @sock: the consumer's socket
 * @mn: state of the namespace; of mpa_net_none after mpa_net_leave()
 * @state_change: sk_state_change of the socket before the attach
 * @error_report: sk_error_report of the socket before the attach
 * @cookie: the cookie of @sk, which ss shows as well; 0 before the attach
 * @net_node: entry in mpa_net.conns; protected by mpa_net.lock
 * @startup_node: entry in mpa_net.startups, or empty; protected by mpa_net.lock
 * @nagle: Nagle's algorithm was on before the attach
 * @cork: TCP_CORK was set before the attach
 * @oobinline: SO_OOBINLINE was set before the attach
 * @rcvlowat: sk_rcvlowat of the socket before the attach
 * @allocation: sk_allocation of the socket before the attach
 * @task_frag: sk_use_task_frag of the socket before the attach
 * @local: what this end asks for and accepts; its crc is set at the start
 * @work: work item of the connection; sk_data_ready() looks whether it is
 *	pending, so it is not beside what each run writes
 * @timer: for startup, drain, retries after a failed allocation or at
 *	net.mpa.rx_mem_max, searches after holes, the end of the room for SACK
 *	blocks, and the release
 * @done: completed when released() has returned
 * @lock: protects @state, @terms, @peer_rev, @initiator, @cm and the consumer's
 *	answer in it, local.erd, local.ird_max, tx.queue, tx.err, rx.batches,
 *	what is pinned, what was delivered, and changes of @mn. Flags that stop
 *	callbacks or posts are set under it, but for MPA_CONN_ABORT.
 * @terms: what was negotiated; constant in MPA_STATE_FULL
 * @peer_rev: revision of the peer's frame
 * @initiator: this end sends the Request
 * @leaving: which of the counters of mpa_barrier() it is in, once detached;
 *	protected by mpa_leaving_lock
 * @tx: sending half
 * @rx: receive half, in order
 * @ooo: receive half, out of order
 */
struct mpa_conn {
	struct kref		ref;
	struct task_struct	*runner;
	bool			again;
	bool			atomic;
	enum mpa_phase		phase;
	u32			mulpdu;
	atomic64_t		ulpdus_tx;
	u64			ulpdus_rx;
	struct mpa_cm		*cm;

	unsigned long		flags ____cacheline_aligned_in_smp;
	enum mpa_state		state;
	u32			conn_flags;
	int			cpu;
	struct sock		*sk;
	void			(*data_ready)(struct sock *sk);
	void			(*write_space)(struct sock *sk);
	const struct mpa_ops	*ops;
	void			*ctx;

	struct socket		*sock;
	struct mpa_net		*mn;
	void			(*state_change)(struct sock *sk);
	void			(*error_report)(struct sock *sk);
	u64			cookie;
	struct rb_node		net_node;
	struct list_head	startup_node;

	bool			nagle;
	bool			cork;
	bool			oobinline;
	int			rcvlowat;
	bool			task_frag;
	gfp_t			allocation;
	struct mpa_local_params	local;
	struct work_struct	work;
	struct timer_list	timer;
	struct completion	done;

	spinlock_t		lock;	/* protects what API functions share */
	struct mpa_terms	terms;
	s16			peer_rev;
	bool			initiator;
	u8			leaving;
	struct mpa_conn_tx	tx;
	struct mpa_conn_rx	rx;
	struct mpa_conn_ooo	ooo;
};

/* Until what net.mpa.rx_mem_max has put off is tried again: 20 ms at least */
#define MPA_RX_LIMITED_WAIT	(HZ / 50 + 1)

/* mpa_net.c APIs: */
int mpa_net_register(void);
void mpa_net_unregister(void);
void mpa_net_exit_none(void);
struct mpa_net *mpa_net(struct net *net);
int mpa_net_startup_timeout(const struct mpa_net *mn);
void mpa_net_startup_begin(struct mpa_conn *conn);
void mpa_net_startup_end(struct mpa_conn *conn);
void mpa_net_rx_mem_add(struct mpa_net *mn, s64 octets);
bool mpa_net_rx_full(const struct mpa_conn *conn);
int mpa_net_enlist(struct mpa_conn *conn);
void mpa_net_unlist(struct mpa_conn *conn);
u64 mpa_net_last(struct mpa_net *mn);
unsigned int mpa_net_get_from(struct mpa_net *mn, u64 cookie,
			      struct mpa_conn **conns, unsigned int max);
void mpa_net_put(struct mpa_conn *conn);

#define mpa_count(conn, field) \
	SNMP_INC_STATS(READ_ONCE((conn)->mn)->mib, MPA_MIB_##field)
#define mpa_count_add(conn, field, n) \
	SNMP_ADD_STATS(READ_ONCE((conn)->mn)->mib, MPA_MIB_##field, \
		       (unsigned long)(n))

#define MPA_ULP_NAME	"mpa"	/* of sockets that MPA has, for TCP_ULP */

/* mpa_conn.c APIs: */
extern struct workqueue_struct *mpa_wq;
extern struct workqueue_struct *mpa_reclaim_wq;
int mpa_conn_init(void);
void mpa_conn_wait_none(void);
void mpa_conn_exit(void);
struct mpa_conn *mpa_conn_alloc(struct socket *sock,
				const struct mpa_params *params);
void mpa_conn_kick(struct mpa_conn *conn);
void mpa_conn_kick_put(struct mpa_conn *conn);
bool mpa_conn_stand_in(struct mpa_conn *conn);
bool mpa_conn_claim_missed(struct mpa_conn *conn);
bool mpa_conn_is_runner(const struct mpa_conn *conn);
void mpa_conn_again(struct mpa_conn *conn, enum mpa_phase phase);
void *mpa_spare_take(gfp_t gfp);
void mpa_spare_give(void *spare);
void mpa_spare_exit(void);
void mpa_conn_retry(struct mpa_conn *conn);
void mpa_conn_set_state(struct mpa_conn *conn, enum mpa_state state);
void mpa_conn_end(struct mpa_conn *conn, enum mpa_reason reason, int err);
void mpa_conn_fail(struct mpa_conn *conn, enum mpa_reason reason, int err);
void mpa_conn_drop_consumer(struct mpa_conn *conn);
void mpa_conn_wait_left(void);

static inline bool mpa_conn_test(const struct mpa_conn *conn,
				 enum mpa_flag flag)
{
	return test_bit_acquire(flag, &conn->flags);
}

/* conn->lock held. Octets of memory that batches and copies take. */
static inline s64 mpa_conn_pinned(const struct mpa_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return (s64)conn->rx.pinned + conn->ooo.pinned + conn->rx.capacity;
}

/* Become the runner of @conn. Returns false if there is one. */
static inline bool mpa_conn_claim(struct mpa_conn *conn)
{
	return !cmpxchg(&conn->runner, NULL, current);
}

/* For the work item: as mpa_conn_claim(), or be queued again by the runner. */
static inline bool mpa_conn_claim_work(struct mpa_conn *conn)
{
	if (likely(mpa_conn_claim(conn) &&
		   !mpa_conn_test(conn, MPA_CONN_MISSED)))
		return true;
	return mpa_conn_claim_missed(conn);
}

/*
 * The run of the runner has ended. Returns true if the work item found this
 * runner and returned.
 */
static inline bool mpa_conn_unclaim(struct mpa_conn *conn)
{
	/*
	 * Pairs with smp_mb__after_atomic() in mpa_conn_claim_missed(): one of
	 * the two sees the other.
	 */
	xchg(&conn->runner, NULL);
	return mpa_conn_test(conn, MPA_CONN_MISSED);
}

/*
 * True if another user of the socket closed and reconnected it. Stays true when
 * the new stream is closed, too, for example by MPA's reset. Stable while the
 * socket lock is held. A caller need not report it: mpa_sk_changed() queued
 * the work item when the socket was closed.
 */
static inline bool mpa_conn_reconnected(struct mpa_conn *conn)
{
	if (!mpa_conn_test(conn, MPA_CONN_GONE))
		return false;
	if (inet_sk_state_load(conn->sk) != TCP_CLOSE)
		set_bit(MPA_CONN_RECONNECTED, &conn->flags);
	return mpa_conn_test(conn, MPA_CONN_RECONNECTED);
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

/* True if no flag of @mask is set. */
static inline bool mpa_conn_none_set(const struct mpa_conn *conn,
				     unsigned long mask)
{
	/*
	 * Pairs with the unlock in the function that sets a flag: if the runner
	 * has seen what a caller did after that, it sees the flag, too, and
	 * starts no callback. If it looked before, the callback counts as
	 * running.
	 */
	return !(smp_load_acquire(&conn->flags) & mask);
}

/*
 * Runner only. Returns true if a callback may start. It counts as running
 * then: an mpa_detach() from now on does not stop it.
 */
static inline bool mpa_conn_enter(const struct mpa_conn *conn)
{
	return mpa_conn_none_set(conn, BIT(MPA_CONN_DETACH));
}

/* As mpa_conn_enter(), for recv(), which mpa_hold() stops, too. */
static inline bool mpa_conn_enter_recv(const struct mpa_conn *conn)
{
	return mpa_conn_none_set(conn, BIT(MPA_CONN_DETACH) |
				       BIT(MPA_CONN_HOLD));
}

/*
 * Runner only, before sending: what the consumer posts is sent in the same
 * round.
 */
static __always_inline void mpa_conn_call_run(struct mpa_conn *conn)
{
	conn->phase = MPA_PHASE_RUN;
	if (conn->state == MPA_STATE_FULL && conn->ops->run &&
	    mpa_conn_enter(conn))
		conn->ops->run(conn);
	conn->phase = MPA_PHASE_TX;
}

#define MPA_SPARE_SIZE	SZ_8K	/* a batch, or a train */

/* For allocations that are retried, or of which a peer chose the size */
#define MPA_GFP_QUIET	(GFP_KERNEL | __GFP_NOWARN)

/*
 * Runner only: as MPA_GFP_QUIET, for what sk_data_ready() allocates, too. The
 * consumer may keep its socket from the memory reserves.
 */
static inline gfp_t mpa_conn_gfp(const struct mpa_conn *conn)
{
	gfp_t gfp = READ_ONCE(conn->sk->sk_allocation) & __GFP_NOMEMALLOC;

	return gfp | (conn->atomic ? GFP_ATOMIC | __GFP_NOWARN : MPA_GFP_QUIET);
}

/* True if the peer's FIN has been received. */
static inline bool mpa_tcp_has_fin(const struct sock *sk)
{
	return sock_flag(sk, SOCK_DONE);
}

/* Returns 0, or the error with which TCP lost the connection. */
static inline int mpa_tcp_lost(const struct sock *sk)
{
	int err = READ_ONCE(sk->sk_err);

	if (err)
		return -err;
	if (inet_sk_state_load(sk) == TCP_CLOSE && !mpa_tcp_has_fin(sk))
		return -ECONNRESET;
	return 0;
}

/* Flags of a connection that only the work item may run */
#define MPA_CONN_SPECIAL (BIT(MPA_CONN_SHUTDOWN) | BIT(MPA_CONN_ABORT) | \
			  BIT(MPA_CONN_DETACH) | BIT(MPA_CONN_GONE))

/*
 * Runner only. True if what stands in for the work item may run the connection,
 * if none of @flags is set either. Then the socket exists: DETACH comes before
 * released(). An end that is due comes first: after codes 6 and 7 the consumer
 * does not know the connection before.
 */
static inline bool mpa_conn_plain(const struct mpa_conn *conn,
				  unsigned long flags)
{
	return conn->state == MPA_STATE_FULL &&
	       (!conn->rx.end.error || conn->rx.reported) &&
	       mpa_conn_none_set(conn, MPA_CONN_SPECIAL | flags);
}

/* Runner only, which takes messages. True if no message is queued. */
static inline bool mpa_tx_queue_empty(const struct mpa_conn *conn)
{
	/* One may be added at this time: the work item is queued after that. */
	return data_race(list_empty_careful(&conn->tx.queue));
}

/* Runner only. All of tx.cur is framed, up to position @end. */
static inline void mpa_tx_framed(struct mpa_conn *conn, struct mpa_tx *tx,
				 u64 end)
{
	tx->end = end;
	conn->tx.cur = NULL;
	list_add_tail(&tx->list, &conn->tx.sending);
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
 * For the runner. With MPA_F_MEMALLOC no allocation waits for reclaim either,
 * which may need this connection to write memory out; it may use the reserves.
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

/* mpa_attach.c APIs: */
bool mpa_params_ok(const struct mpa_params *params);

/* mpa_loop.c APIs: */
void mpa_loop_work(struct work_struct *work);
bool mpa_loop_is_work(const struct work_struct *work);

/* mpa_sk.c APIs: */
int mpa_sk_init(void);
void mpa_sk_exit(void);
int mpa_sk_on(struct mpa_conn *conn);
void mpa_sk_off(struct mpa_conn *conn);
bool mpa_sk_run_here(struct mpa_conn *conn, bool recv, bool send);

/* mpa_hook.c APIs: */
void mpa_hook_init(void (*sending)(struct sock *sk));
void mpa_hook_on(struct sock *sk);
void mpa_hook_off(struct sock *sk);
bool mpa_hook_is_on(const struct sock *sk);

/* mpa_cm.c APIs: */
bool mpa_cm_run(struct mpa_conn *conn);
void mpa_cm_leave(struct mpa_conn *conn);
void mpa_cm_free(struct mpa_conn *conn);

/* mpa_nl.c APIs: */
int mpa_nl_register(void);
void mpa_nl_unregister(void);
void mpa_nl_established(struct mpa_conn *conn);
void mpa_nl_ended(struct mpa_conn *conn);

/* mpa_tx.c APIs: */
void mpa_tx_begin(struct mpa_conn *conn);
u32 mpa_tx_emss(const struct mpa_conn *conn);
bool mpa_tx_markers(const struct mpa_conn *conn);
bool mpa_tx_run(struct mpa_conn *conn);
void mpa_tx_cancel(struct mpa_conn *conn, int err, bool all);
void mpa_tx_collect(struct mpa_conn *conn, struct list_head *done);
bool mpa_tx_flush(struct mpa_conn *conn);
bool mpa_tx_pending(struct mpa_conn *conn);
bool mpa_tx_sending_done(struct mpa_conn *conn);
int mpa_tx_send_fin(struct mpa_conn *conn);
int mpa_tx_give(struct mpa_conn *conn, struct msghdr *msg, size_t len);
int mpa_tx_post(struct mpa_conn *conn, struct list_head *list, bool get);

/*
 * True if the peer's octets have a hole, or had one since mpa_tx_note_hole()
 * last saw one. Context: any.
 */
static inline bool mpa_tx_hole(const struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);

	/*
	 * Pairs with smp_store_release() in mpa_tx_note_hole(): a reader that
	 * sees the new ooopack also sees the sack_until and sack of that hole.
	 */
	return smp_load_acquire(&conn->tx.ooopack) !=
	       READ_ONCE(tp->rcv_ooopack) || READ_ONCE(tp->rx_opt.num_sacks);
}

/* True if mpa_tx_note_hole() has yet to note a hole. Context: any. */
static inline bool mpa_tx_hole_unseen(const struct mpa_conn *conn)
{
	return READ_ONCE(conn->tx.sack) != READ_ONCE(conn->tx.sack_max) &&
	       mpa_tx_hole(conn);
}

/* mpa_rx.c APIs: */
void mpa_rx_begin(struct mpa_conn *conn);
bool mpa_rx_run(struct mpa_conn *conn);
bool mpa_rx_is_idle(const struct mpa_conn *conn);
bool mpa_rx_has_left(struct mpa_conn *conn);
void mpa_rx_drop(struct mpa_conn *conn);
void mpa_rx_reap(struct mpa_conn *conn);
void mpa_rx_consume_owed(struct mpa_conn *conn);
void mpa_rx_finish(struct mpa_conn *conn);
void mpa_rx_free_batches(struct mpa_conn *conn);

/* mpa_sock.c APIs: */
int mpa_addr_len(const struct sockaddr_storage *addr);
bool mpa_family_ok(unsigned short family);
bool mpa_sock_params_ok(const struct mpa_sock_params *params, u32 flags);
int mpa_sock_make(const struct mpa_sock_params *params, bool listen,
		  struct socket **res);

/* mpa_listen.c APIs: */
bool mpa_listen_is_work(const struct work_struct *work);

/* mpa_connect.c APIs: */
bool mpa_connect_is_work(const struct work_struct *work);

/**
 * struct mpa_tcp_room - what TCP can be given
 * @emss: octets of a segment that FPDUs may fill
 * @sack: octets of a segment reserved for SACK blocks and AccECN, not counted
 *	in @emss
 * @narrow: @emss was lowered for FPDUs of one length
 * @octets: octets of all segments together; a single segment may be longer
 */
struct mpa_tcp_room {
	u32	emss;
	u32	sack;
	bool	narrow;
	u32	octets;
};

/* mpa_tcp.c APIs: */
int mpa_tcp_check(struct socket *sock);
bool mpa_tcp_is_stale(const struct mpa_conn *conn);
u32 mpa_tcp_emss(struct mpa_conn *conn);
u32 mpa_tcp_path_emss(const struct mpa_conn *conn);
u32 mpa_tcp_lower_emss(struct mpa_conn *conn, u32 emss);
void mpa_tcp_restore_emss(struct mpa_conn *conn);
u32 mpa_tcp_unsent(const struct sock *sk);
u32 mpa_tcp_unacked(const struct sock *sk);
void mpa_tcp_want_space(struct sock *sk);
bool mpa_tcp_probes_mtu(const struct sock *sk);
u32 mpa_tcp_sack_octets(const struct sock *sk);
u32 mpa_tcp_accecn_octets(const struct sock *sk);
u32 mpa_tcp_options_max(const struct sock *sk);
u32 mpa_tcp_window(const struct sock *sk);
u32 mpa_tcp_frags_max(void);
u32 mpa_tcp_pages_max(void);
bool mpa_tcp_has_room(const struct sock *sk);
bool mpa_tcp_space(struct sock *sk);
int mpa_tcp_read(struct mpa_conn *conn, void *buf, size_t len);
u32 mpa_tcp_unread(struct sock *sk);
void mpa_tcp_consume(struct mpa_conn *conn);
bool mpa_tcp_window_is_small(const struct sock *sk);
int mpa_tcp_send_fin(struct mpa_conn *conn);
void mpa_tcp_ack_at_once(struct sock *sk);
bool mpa_tcp_keep_window_updates(struct mpa_conn *conn);
void mpa_tcp_memalloc(struct sock *sk);
void mpa_tcp_reset(struct sock *sk);
void mpa_tcp_addresses(const struct sock *sk, struct sockaddr_storage *local,
		       struct sockaddr_storage *peer);

#endif /* _MPA_CONN_H */
