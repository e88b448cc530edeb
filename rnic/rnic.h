/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An RDMA device on MPA; Documentation/networking/mpa-rnic.rst has its design.
 *
 * Locks, outermost first:
 *
 * lock in rnic_newlink()	one link after the other (a mutex)
 * devices_lock		the list of devices; ib_device_get_netdev(), which takes
 *			a lock of the core, is called under it
 * cq->handler		held while the consumer's handler runs, which may post
 *			(BH off)
 * dev->eps' xa_lock	endpoints by number (BH off)
 * listener->lock	its endpoints without an answer (BH off)
 * ep->lock		the endpoint's events and connection (BH off)
 * MPA's conn->lock	taken by functions of MPA; of the locks here only
 *			ep->lock is held then
 * dev->qps' xa_lock	QPs by number, in mr_end_users()
 * queue->lock		a ring; the send queue's: qp->state, ep, conn
 *			(interrupts off)
 * mr->lock		changes of a registration (interrupts off)
 * cq->lock		a CQ's ring (interrupts off)
 *
 * recv(), run() and sent() may run under the slock (or socket lock), in softirq
 * or in a task with BH off: that lock is above all of those here.
 *
 * All else of a bound QP (slots, Reads, the message being received) is used in
 * MPA's callbacks only, of which one runs at a time.
 */
#ifndef _RNIC_H
#define _RNIC_H

#include <linux/completion.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/mpa.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/siw-abi.h>

#include "mpa_compat.h"
#include "ddp_wire.h"

#include MPA_UMEM_HEADER

/*
 * Not an assigned OUI. It is rxe's, too: SPDK asks for no Send with Invalidate
 * then, of which libsiw sends the wrong STag.
 */
#define RNIC_VENDOR_ID		0xffffff

/* The limits of siw at least: programs ask for what they know from it. */
#define RNIC_MAX_QP		(100 * 1024)
#define RNIC_MAX_WR		(32 * 1024)	/* of one queue */
#define RNIC_MAX_SRQ		RNIC_MAX_QP
#define RNIC_MAX_SRQ_WR		(10 * RNIC_MAX_WR)
#define RNIC_MAX_PD		RNIC_MAX_QP
#define RNIC_MAX_CQ		RNIC_MAX_QP
#define RNIC_MAX_MR		(10 * RNIC_MAX_QP)
#define RNIC_MAX_CQE		(100 * RNIC_MAX_WR)
#define RNIC_MAX_SGE		SIW_MAX_SGE
#define RNIC_MAX_INLINE		SIW_MAX_INLINE
#define RNIC_MAX_DEPTH		128		/* IRD and ORD */
#define RNIC_MAX_FR_PAGES	512
#define RNIC_SEG_VECS		20		/* memory that MPA has */
#define RNIC_REMOTE_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

/* RTRs that either end offers and takes */
#define RNIC_RTR		(MPA_RTR_WRITE | MPA_RTR_READ)

struct ib_dmah;
struct rnic_ep;

/* Counters for "rdma statistic"; of messages unless the entry says otherwise */
enum rnic_stat {
	RNIC_STAT_CONNECTED,	/* connections that reached full operation */
	RNIC_STAT_TX_SEND,
	RNIC_STAT_TX_WRITE,
	RNIC_STAT_TX_READ,	/* Read Requests; RX_READ as well */
	RNIC_STAT_TX_TERMINATE,
	RNIC_STAT_RX_SEND,
	RNIC_STAT_RX_WRITE,
	RNIC_STAT_RX_READ,
	RNIC_STAT_RX_TERMINATE,
	RNIC_STAT_RX_AHEAD,	/* segments placed after a hole */
	RNIC_STAT_CQ_OVERRUN,
	RNIC_STATS,
};

/* Objects of which a device has a limited number */
enum rnic_object {
	RNIC_PD,
	RNIC_CQ,
	RNIC_QP,
	RNIC_SRQ,
	RNIC_MR,
	RNIC_OBJECTS,
};

struct rnic_stats {
	u64	n[RNIC_STATS];
};

/**
 * struct rnic_dev - an RDMA device on a netdev
 * @ib: what the RDMA core knows
 * @siw: not used. If siw is loaded, its notifier of netdev events takes this
 *	for a device of its own, by the driver's number, and writes the port's
 *	state here in kernels that still have one there
 * @link: in the list of devices
 * @qps: QPs by number
 * @mrs: memory regions by STag without its key
 * @objects: how many there are of each kind
 * @eps: Responders' endpoints by the number that iw_cm knows
 * @next_ep: number of the next
 * @gid: the hardware address of the netdev
 * @going: it is being unregistered, or moved to another namespace: no QP is
 *	bound any longer. Set by rnic_cm_give_up(), cleared when the core has
 *	moved it
 * @added: the core has added it, to rdma_cm, too. Cleared when the core removes
 *	it, or moves it to another namespace
 * @port_event: the last one given
 * @stats: counters
 */
struct rnic_dev {
	struct ib_device	ib;
	u8			siw[128];
	struct list_head	link;
	struct xarray		qps;
	struct xarray		mrs;
	atomic_t		objects[RNIC_OBJECTS];
	struct xarray		eps;
	u32			next_ep;
	union ib_gid		gid;
	bool			going;
	bool			added;
	enum ib_event_type	port_event;
	struct rnic_stats __percpu *stats;
};

/* @timed_out: jiffies when dereg_mr() lost patience with a peer; 0: never */
struct rnic_ucontext {
	struct ib_ucontext	ib;
	u64			timed_out;
};

struct rnic_pd { struct ib_pd ib; };

/**
 * struct rnic_map - memory that user space can map
 * @entry: what the RDMA core keeps of it
 * @mem: zeroed, charged to the caller; lives as long as what it belongs to
 */
struct rnic_map {
	struct rdma_user_mmap_entry	entry;
	void				*mem;
};

/**
 * struct rnic_cq - a completion queue
 * @ib: what the RDMA core knows
 * @handler: held while the consumer's handler runs
 * @lock: protects @ring, @put, @get and @overrun; @ctrl is armed without it
 * @ring: entries, which user space may have mapped; followed by @ctrl
 * @ctrl: what the CQ is armed for; user space writes to it
 * @map: @ring for user space, or NULL
 * @size: entries, a power of two
 * @put: where the next completion goes
 * @get: where poll_cq() is; kernel only
 * @overrun: reported once
 */
struct rnic_cq {
	struct ib_cq		ib;
	spinlock_t		handler; /* one handler of a CQ at a time */
	spinlock_t		lock;	/* ring, put, get, overrun */
	struct siw_cqe		*ring;
	struct siw_cq_ctrl	*ctrl;
	struct rnic_map		*map;
	u32			size;
	u32			put;
	u32			get;
	bool			overrun;
};

/**
 * struct rnic_mr - a memory region
 * @ib: what the RDMA core knows
 * @rcu: for readers of &rnic_dev.mrs
 * @users: 1 while valid, and 1 for each user; 0: no code reads the rest
 * @idle: woken when @users has become 0
 * @lock: protects @valid, @waiter, and what REG_MR changes: @stag, @access,
 *	@iova, @len, @block, @shift, @first, @nr_blocks
 * @valid: the 1 in @users is there
 * @waiter: number of the QP to kick when @users becomes 0, or 0: its LOCAL_INV
 *	waits for that. No reference, or destroy_qp() would wait for users. The
 *	LOCAL_INVs of several QPs: U32_MAX, for all of the domain
 * @dying: dereg_mr() has lost its patience: connections that use it end
 * @pd: protection domain
 * @stag: STag with its key
 * @access: IB_ACCESS_*
 * @iova: address or Tagged Offset of the first octet
 * @len: octets
 * @block: kernel addresses of the blocks, of 1 << @shift octets each; NULL: an
 *	address is a kernel address. With @gaps each has a length of its own,
 *	and after @max_blocks addresses are the offsets at which they begin
 * @gaps: registered with gaps (IB_MR_TYPE_SG_GAPS)
 * @shift: see @block
 * @first: where in the first block the first octet is
 * @nr_blocks: entries of @block
 * @max_blocks: room in @block and @next
 * @next: blocks of map_mr_sg(), for the next REG_MR
 * @nr_next: entries of @next
 * @umem: pages of user space
 */
struct rnic_mr {
	struct ib_mr		ib;
	struct rcu_head		rcu;
	atomic_t		users;
	wait_queue_head_t	idle;
	spinlock_t		lock;	/* valid, waiter, changes by REG_MR */
	bool			valid;
	u32			waiter;
	bool			dying;
	struct ib_pd		*pd;
	u32			stag;
	int			access;
	u64			iova;
	u64			len;
	u64			*block;
	bool			gaps;
	u8			shift;
	u64			first;
	u32			nr_blocks;
	u32			max_blocks;
	u64			*next;
	u32			nr_next;
	struct ib_umem		*umem;
};

/* Why memory cannot be used */
enum rnic_mr_error {
	RNIC_MR_OK,
	RNIC_MR_STAG,		/* no such STag, or an invalid one */
	RNIC_MR_PD,		/* of another protection domain */
	RNIC_MR_ACCESS,
	RNIC_MR_WRAP,
	RNIC_MR_BOUNDS,
	RNIC_MR_LEN,		/* more octets than a message can have */
};

/**
 * struct rnic_sgl - memory of a work request
 * @sge: its elements
 * @mr: the region of each, with a user; NULL: a kernel address
 * @nr: elements
 * @len: octets of all; U32_MAX if a receive request has room for more
 */
struct rnic_sgl {
	struct siw_sge	sge[RNIC_MAX_SGE];
	struct rnic_mr	*mr[RNIC_MAX_SGE];
	u8		nr;
	u32		len;
};

/* A place in an sgl */
struct rnic_at {
	u8	i;	/* element */
	u32	off;	/* octet of that */
};

enum rnic_msg_kind {
	RNIC_MSG_WQE,		/* a slot of the send queue */
	RNIC_MSG_RESPONSE,	/* answers a Read Request */
	RNIC_MSG_RTR,
	RNIC_MSG_TERM,
};

/* States of a slot of the send queue */
enum rnic_msg_state {
	RNIC_MSG_FREE,
	RNIC_MSG_FETCHED,	/* has to wait before it can start */
	RNIC_MSG_SENDING,	/* MPA has it */
	RNIC_MSG_READING,	/* a Read waits for its Response */
	RNIC_MSG_DONE,		/* its completion waits for those before it */
};

/**
 * struct rnic_msg - a message of RDMAP, or a local operation
 * @tx: what MPA has of it
 * @qp: its QP
 * @kind: what it is for
 * @state: of a slot: &enum rnic_msg_state
 * @wqe: of a slot: the work request, a copy; inline data are in it
 * @status: of a slot: &enum siw_wc_status; of a Read under way: 0, or that of a
 *	refusal, or of a sink that could not be invalidated
 * @given: all of its octets have been given to MPA
 * @open: counts in the QP's @open
 * @counted: a Read that is one of sq.reads
 * @bytes: of a slot: octets, for the completion
 * @responded: of a Read: octets that have come
 * @reading: of a Read: in rnic_sq.reading
 * @hdr: header of its first segment
 * @sgl: memory that it is sent from, or that a Read writes to
 * @at: where in @sgl the octets begin that MPA does not have
 * @left: octets of @sgl that MPA does not have; of a Read Request, RTR or
 *	Terminate: octets in @octets
 * @octets: the header; all of a Read Request, RTR or Terminate
 * @vec: memory that MPA has
 */
struct rnic_msg {
	struct mpa_tx		tx;
	struct rnic_qp		*qp;
	u8			kind;
	u8			state;
	bool			counted;
	bool			given;
	bool			open;
	u16			status;
	u32			bytes;
	u32			responded;
	struct list_head	reading;
	struct siw_sqe		wqe;
	struct rdmap_hdr	hdr;
	struct rnic_sgl		sgl;
	struct rnic_at		at;
	u32			left;
	u8			octets[RDMAP_TERM_MAX];
	struct kvec		vec[RNIC_SEG_VECS];
};

/**
 * struct rnic_queue - a ring of work requests
 * @lock: protects what follows but @size; with interrupts off
 * @sqe: the ring of a send queue
 * @rqe: the ring of a receive queue
 * @map: the ring for user space, or NULL
 * @size: entries, a power of two; 0: there is no such queue
 * @put: where the kernel's next request goes; not used for user space
 * @get: the next to take
 * @flushes: no connection flushes any longer: posting has it done
 * @flushing: a task or work item flushes
 */
struct rnic_queue {
	spinlock_t		lock;	/* protects all but @size */
	union {
		struct siw_sqe	*sqe;
		struct siw_rqe	*rqe;
	};
	struct rnic_map		*map;
	u32			size;
	u32			put;
	u32			get;
	bool			flushes;
	bool			flushing;
};

/**
 * struct rnic_srq - a receive queue that QPs share
 * @ib: what the RDMA core knows
 * @q: the ring
 * @kernel: work requests come from the kernel
 * @max_wr: as asked for
 * @max_sge: elements of a request
 * @limit: fewer requests than that are an event, once; 0: not armed. Under
 *	q.lock
 */
struct rnic_srq {
	struct ib_srq		ib;
	struct rnic_queue	q;
	bool			kernel;
	u32			max_wr;
	u32			max_sge;
	u32			limit;
};

/**
 * struct rnic_sq - a send queue
 * @q: the ring
 * @conn: connection to kick; written under q.lock, in MPA's callbacks only,
 *	which read it without; all others read it under q.lock
 * @slot: as many as the ring has entries; allocated when the QP is bound
 * @head: the next slot to fill
 * @tail: the oldest slot without a completion
 * @reads: Reads under way, those whose Read Request MPA still has among them
 * @reading: Reads whose Read Request is sent
 * @closing: a FIN follows what was posted before. As @bounded, @leave and
 *	@cqe_lost, set in any context and never cleared
 * @bounded: modify_qp(SQD): only @left requests start after it. With @left
 *	written under q.lock; run() reads it without, too: after ERR, or where a
 *	round later is soon enough
 * @leave: detach without waiting for the peer, once what has been started is
 *	with TCP; under q.lock
 * @cqe_lost: a completion found no room in its CQ
 * @left: requests on the ring at modify_qp(SQD) that have not started
 * @check_dying: set by dereg_mr(), cleared by run() in the work item: end the
 *	connection if a slot uses a dying region. No lock: if run() misses one,
 *	dereg_mr() asks again after a second
 * @leaving: one round has passed since @leave was set. As @waiting and @more,
 *	used by run() and the callbacks of MPA alone
 * @waiting: the send queue has stopped for something that will kick it
 * @more: it has stopped because its budget is spent
 */
struct rnic_sq {
	struct rnic_queue	q;
	struct mpa_conn		*conn;
	struct rnic_msg		*slot;
	u32			head;
	u32			tail;
	u32			reads;
	struct list_head	reading;
	bool			closing;
	bool			bounded;
	bool			leave;
	bool			cqe_lost;
	u32			left;
	bool			check_dying;
	bool			leaving;
	bool			waiting;
	bool			more;
};

/**
 * struct rnic_ooo_ulpdu - a ULPDU that was passed out of order
 * @node: in rnic_rx.ooo
 * @batch: what it was passed with
 * @ulpdu: the ULPDU
 * @placed: its payload is where it belongs
 */
struct rnic_ooo_ulpdu {
	struct rb_node		node;
	struct rnic_batch	*batch;
	const struct mpa_ulpdu	*ulpdu;
	bool			placed;
};

/**
 * struct rnic_payload - octets of a segment that are to be placed
 * @p: they are one piece, which begins here; or NULL
 * @iter: then they are here
 */
struct rnic_payload {
	const void		*p;
	struct iov_iter		iter;
};

/**
 * struct rnic_rx - receiving
 * @msn: number that the next message of each queue has
 * @begun: the first ULPDU has been delivered
 * @ooo: ULPDUs passed out of order and not delivered yet, by position
 * @ahead: position of the last ULPDU that was placed out of order, or 0
 * @late_from: lowest Tagged Offset of what was copied at Delivery, or copied
 *	again, and lies before @ahead in the stream
 * @late_to: past the highest one; 0: there is none
 * @mo: octets of the Send under way that have been placed
 * @busy: @sgl is that of a receive request
 * @status: of that request if the connection ends now
 * @id: of that request
 * @at: where the next octet goes
 * @sgl: memory of it
 * @mr: region of the last RDMA Write, with a user, during recv() only; or NULL
 */
struct rnic_rx {
	u32		msn[RDMAP_QUEUES];
	bool		begun;
	struct rb_root_cached	ooo;
	u64		ahead;
	u64		late_from;
	u64		late_to;
	u32		mo;
	bool		busy;
	u16		status;
	u64		id;
	struct rnic_at	at;
	struct rnic_sgl	sgl;
	struct rnic_mr	*mr;
};

/**
 * struct rnic_qp - a queue pair
 * @ib: what the RDMA core knows
 * @dev: its device
 * @refs: the owner's, iw_cm's, the endpoint's, and one for each of @timeout and
 *	@flush that is queued
 * @freed: completed when @refs is 0
 * @timeout: leaves a connection whose peer does not close; has a reference
 * @flush: flushes what is posted after the connection's end, or left by its
 *	flush; has a reference
 * @dead: destroy_qp() has begun; under sq.q.lock
 * @ep: endpoint, with a reference; under sq.q.lock
 * @state: under sq.q.lock; INIT, RTS, SQD, ERR, forwards only
 * @kernel: work requests come from the kernel
 * @owner: the process that created it
 * @sig_all: each request of the send queue has a completion
 * @access: of modify_qp(): what peers may do, see rnic_qp_lets()
 * @cap: limits
 * @sq: send queue
 * @rq: receive queue; without entries if there is @srq
 * @last_wqe: IB_EVENT_QP_LAST_WQE_REACHED was given; under rq.lock
 * @srq: shared receive queue, or NULL
 * @rx: receiving
 * @version: of DDP and RDMAP
 * @rtr_unanswered: the Response to an RTR by RDMA Read is to come
 * @msn: the next message's number, for each queue
 * @ird: Read Requests that the peer may have under way
 * @ord: Reads that may be under way
 * @response: slots for Read Responses, in the order of the requests
 * @nr_responses: how many: IRD + 1 at least, a power of two
 * @resp_head: the next to use
 * @resp_tail: the oldest that MPA has
 * @term: Terminate
 * @rtr: Ready to Receive
 * @owed_send: the handler of the send queue's CQ is to be called when the
 *	callback of MPA ends
 * @owed_recv: that of the receive queue's CQ
 * @failed: an error was found: later ones are ignored
 * @failed_at: when, in jiffies
 * @stop_messages: after an error: messages end with the octets that MPA has
 * @peer_rtr: an RTR by RDMA Read is answered: one Read Request more than @ird
 * @moved: stream position up to which TCP has taken octets, plus that up to
 *	which the peer's were delivered if it owes us Read Responses, while
 *	@timeout is pending
 * @moved_seen: @moved when @timeout last ran
 * @open: messages in MPA that an error would still end; connection context
 */
struct rnic_qp {
	struct ib_qp		ib;
	struct rnic_dev		*dev;
	refcount_t		refs;
	struct completion	freed;
	struct delayed_work	timeout;
	struct work_struct	flush;
	bool			dead;
	struct rnic_ep		*ep;
	enum ib_qp_state	state;
	bool			kernel;
	struct pid		*owner;
	bool			sig_all;
	int			access;
	struct ib_qp_cap	cap;
	struct rnic_sq		sq;
	struct rnic_queue	rq;
	bool			last_wqe;
	struct rnic_srq		*srq;
	struct rnic_rx		rx;
	u8			version;
	bool			rtr_unanswered;
	u32			msn[RDMAP_QUEUES];
	u32			ird;
	u32			ord;
	struct rnic_msg		*response;
	u32			nr_responses;
	u32			resp_head;
	u32			resp_tail;
	struct rnic_msg		*term;
	struct rnic_msg		*rtr;
	bool			owed_send;
	bool			owed_recv;
	bool			failed;
	unsigned long		failed_at;
	bool			stop_messages;
	bool			peer_rtr;
	unsigned long		moved;
	unsigned long		moved_seen;
	u32			open;
};

/* What iw_cm is to get of an endpoint */
enum rnic_ep_events {
	RNIC_EVENTS_NONE,	/* no cm_id, or it wants no event */
	RNIC_EVENTS_OWED,	/* CONNECT_REPLY or ESTABLISHED is due */
	RNIC_EVENTS_UP,		/* CLOSE is due */
};

/**
 * struct rnic_listener - a listening cm_id
 * @refs: iw_cm's, and one for each endpoint that it has accepted
 * @cm_id: with a reference
 * @mpa: MPA's listener, or NULL
 * @lock: protects @children and @closed; held when @orphans is queued
 * @children: endpoints that iw_cm has not answered
 * @closed: no more children
 * @orphans: aborts those that are not answered; has a reference, and the device
 */
struct rnic_listener {
	refcount_t		refs;
	struct iw_cm_id		*cm_id;
	struct mpa_listener	*mpa;
	spinlock_t		lock;	/* protects @children and @closed */
	struct list_head	children;
	bool			closed;
	struct delayed_work	orphans;
};

/**
 * struct rnic_ep - an endpoint
 * @refs: of its phase, its QP, its number and @watch
 * @dev: its device, which is not unregistered before the endpoint is gone
 * @lock: protects @conn, @aborted, @events, @connector, @attempt_over; held
 *	when @watch queues itself again. child_start() sets @conn under the
 *	listener's lock instead, before any callback can come
 * @conn: until it is detached
 * @aborted: rnic_ep_abort() was called, maybe before there was a connection
 * @events: which event iw_cm is to get next
 * @cm_id: with a reference, once connecting or accepted
 * @qp: with a reference, likewise
 * @listener: of a Responder, with a reference until the endpoint is freed: an
 *	answer may meet the end of the connection
 * @child: in its list
 * @number: by which iw_cm names it, or 0; with a reference until the end
 * @requested: iw_cm has its Request; under the listener's lock
 * @answered: iw_cm has accepted or rejected it; under the xa_lock of dev->eps
 * @initiator: it has called iw_connect
 * @err: how the connection ended
 * @connector: from the return of mpa_connect() until done() or an abort
 * @attempt_over: of an Initiator: the attempt to connect has ended, well or
 *	not, or never began
 * @owner: of an Initiator with a QP of user space: the process
 * @watch: looks whether @owner dies, until done(); has a reference
 */
struct rnic_ep {
	refcount_t		refs;
	struct rnic_dev		*dev;
	spinlock_t		lock;	/* conn to attempt_over, see @lock */
	struct mpa_conn		*conn;
	bool			aborted;
	enum rnic_ep_events	events;
	struct iw_cm_id		*cm_id;
	struct rnic_qp		*qp;
	struct rnic_listener	*listener;
	struct list_head	child;
	u32			number;
	bool			requested;
	bool			answered;
	bool			initiator;
	int			err;
	struct mpa_connector	*connector;
	bool			attempt_over;
	struct pid		*owner;
	struct delayed_work	watch;
};

static inline struct rnic_dev *to_rnic(struct ib_device *ib)
{
	return container_of(ib, struct rnic_dev, ib);
}

/* Account for an object of which there may be @max. */
static inline int rnic_object_new(struct ib_device *ib, enum rnic_object kind,
				  int max)
{
	atomic_t *nr = &to_rnic(ib)->objects[kind];

	if (atomic_inc_return(nr) <= max)
		return 0;
	atomic_dec(nr);
	return -ENOMEM;
}

static inline void rnic_object_gone(struct ib_device *ib, enum rnic_object kind)
{
	atomic_dec(&to_rnic(ib)->objects[kind]);
}

static inline void rnic_count(struct rnic_dev *dev, enum rnic_stat stat)
{
	this_cpu_inc(dev->stats->n[stat]);
}

static inline bool rnic_is_vlan_on(const struct net_device *vlan,
				   const struct net_device *netdev)
{
	return is_vlan_dev(vlan) && vlan_dev_real_dev(vlan) == netdev;
}

/* True if ULPDUs that were passed out of order wait for their Delivery. */
static inline bool rnic_ooo_any(const struct rnic_qp *qp)
{
	return !RB_EMPTY_ROOT(&qp->rx.ooo.rb_root);
}

/* Copy the next @len octets of @from. */
static inline void rnic_payload_take(struct rnic_payload *from, void *to,
				     u32 len)
{
	if (likely(from->p)) {
		memcpy(to, from->p, len);
		from->p += len;
	} else {
		WARN_ON_ONCE(copy_from_iter(to, len, &from->iter) != len);
	}
}

static inline struct rnic_cq *to_cq(struct ib_cq *ib)
{
	return container_of(ib, struct rnic_cq, ib);
}

static inline struct rnic_mr *to_mr(struct ib_mr *ib)
{
	return container_of(ib, struct rnic_mr, ib);
}

static inline struct rnic_qp *to_qp(struct ib_qp *ib)
{
	return container_of(ib, struct rnic_qp, ib);
}

static inline struct rnic_srq *to_srq(struct ib_srq *ib)
{
	return container_of(ib, struct rnic_srq, ib);
}

/*
 * True if peers may do this by the QP's own rights, beside those of the region.
 * With 0 they may do all: rdma_cm sets that for an application's Initiator, and
 * nothing else later.
 */
static inline bool rnic_qp_lets(const struct rnic_qp *qp, int access)
{
	int given = READ_ONCE(qp->access);

	return !given || given & access;
}

/* The domain of the regions that receive requests name */
static inline struct ib_pd *rnic_recv_pd(const struct rnic_qp *qp)
{
	return qp->srq ? qp->srq->ib.pd : qp->ib.pd;
}

/* rnic_verbs.c */
int rnic_query_device(struct ib_device *ib, struct ib_device_attr *attr,
		      struct ib_udata *udata);
int rnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int rnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata);
int rnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init,
		   struct ib_udata *udata);
int rnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int rnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int rnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);

/* rnic_conn.c */
int rnic_qp_bind(struct rnic_qp *qp, struct rnic_ep *ep, u32 ird, u32 ord);
void rnic_qp_unbind(struct rnic_qp *qp);
void rnic_qp_up(struct rnic_qp *qp, struct mpa_conn *conn,
		const struct mpa_info *info);
void rnic_qp_down(struct rnic_qp *qp);
void rnic_qp_over(struct rnic_qp *qp);

/* rnic_qp.c */
extern struct workqueue_struct *rnic_wq;
int rnic_wq_create(void);
void rnic_wq_destroy(void);
void rnic_qp_init(struct rnic_qp *qp);
void rnic_qp_leave_later(struct rnic_qp *qp);
void rnic_qp_leave_cancel(struct rnic_qp *qp);
int rnic_number(struct xarray *xa, u32 *number, void *object);
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn);
bool rnic_qp_is_foreign(const struct rnic_qp *qp);
struct ib_qp *rnic_iw_get_qp(struct ib_device *ib, int qpn);
void rnic_qp_put(struct rnic_qp *qp);
bool rnic_qp_set_state(struct rnic_qp *qp, enum ib_qp_state state);
bool rnic_qp_leave(struct rnic_qp *qp);
void rnic_qp_kick(struct rnic_qp *qp);
void rnic_qp_check_dying(struct rnic_qp *qp);
void rnic_qp_cqe_lost(struct rnic_qp *qp);
void rnic_qp_event(struct rnic_qp *qp, enum ib_event_type type);

/* rnic_srq.c */
int rnic_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init,
		    struct ib_udata *udata);
int rnic_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rnic_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int rnic_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);
int rnic_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);
bool rnic_srq_take(struct rnic_srq *srq, struct siw_rqe *rqe);

/* rnic_stat.c */
struct rdma_hw_stats *rnic_alloc_hw_port_stats(struct ib_device *ib, u32 port);
int rnic_get_hw_stats(struct ib_device *ib, struct rdma_hw_stats *stats,
		      u32 port, int index);
int rnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *ib);
int rnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *ib);
int rnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *ib);

/* rnic_net.c */
u32 rnic_net_flags(struct net *net);
int rnic_net_register(void);
void rnic_net_unregister(void);

/* rnic_ring.c */
int rnic_alloc_ucontext(struct ib_ucontext *ctx, struct ib_udata *udata);
void rnic_dealloc_ucontext(struct ib_ucontext *ctx);
void rnic_disassociate_ucontext(struct ib_ucontext *ctx);
int rnic_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma);
void rnic_mmap_free(struct rdma_user_mmap_entry *entry);
void *rnic_ring_new(size_t size, struct ib_udata *udata, struct rnic_map **map,
		    u64 *key);
void rnic_ring_free(void *mem, struct rnic_map *map);
int rnic_queue_new(struct rnic_queue *q, u32 wr, size_t entry,
		   struct ib_udata *udata, u64 *key);
int rnic_rqes_post(struct rnic_queue *q, u32 max_sge,
		   const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);
bool rnic_sqe_take(struct rnic_queue *q, struct siw_sqe *sqe);
u32 rnic_sqe_posted(const struct rnic_queue *q);
bool rnic_rqe_take(struct rnic_queue *q, struct siw_rqe *rqe);

/* True if there is an entry to take. Context: any; only a hint without lock */
static inline bool rnic_sqe_ready(const struct rnic_queue *q)
{
	u32 next = READ_ONCE(q->get);

	return READ_ONCE(q->sqe[next & (q->size - 1)].flags) & SIW_WQE_VALID;
}

/* rnic_cq.c */
int rnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int rnic_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int rnic_poll_cq(struct ib_cq *ib, int num, struct ib_wc *wc);
int rnic_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);
void rnic_cq_forget(struct rnic_cq *cq, const struct rnic_qp *qp);
bool rnic_cq_add(struct rnic_cq *cq, struct rnic_qp *qp,
		 const struct siw_cqe *cqe, bool solicited);
void rnic_cq_notify(struct rnic_cq *cq);
void rnic_qp_notify_owed(struct rnic_qp *qp);

/*
 * Call the handlers that completions of this callback owe. A handler may post,
 * or cause what owes another one later. Connection context.
 */
static inline void rnic_qp_notify(struct rnic_qp *qp)
{
	if (qp->owed_recv || qp->owed_send)
		rnic_qp_notify_owed(qp);
}

/* rnic_mr.c */
struct ib_mr *rnic_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 len, u64 virt,
			       int access, struct ib_udata *udata);
struct ib_mr *rnic_reg_user_mr_dmah(struct ib_pd *pd, u64 start, u64 len,
				    u64 virt, int access, struct ib_dmah *dmah,
				    struct ib_udata *udata);
struct ib_mr *rnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max);
int rnic_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int nents,
		   unsigned int *offset);
int rnic_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
enum rnic_mr_error rnic_mr_check(const struct rnic_mr *mr, struct ib_pd *pd,
				 u32 stag, int access, u64 addr, u64 len);
struct rnic_mr *rnic_mr_get(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
			    int access, u64 addr, u64 len,
			    enum rnic_mr_error *err);
void rnic_mr_put(struct rnic_mr *mr);
void *rnic_mr_at(const struct rnic_mr *mr, u64 addr, u32 *room);
void rnic_mr_place(const struct rnic_mr *mr, u64 addr,
		   struct rnic_payload *from, u32 len);
int rnic_mr_register(struct ib_pd *pd, struct ib_mr *ib, u32 key, int access);
int rnic_mr_invalidate(struct rnic_dev *dev, struct ib_pd *pd, u32 stag,
		       int access, struct rnic_qp *waiter);

/* Copy @nr elements of a request. Mostly there is one: copied without a loop */
static inline void rnic_sgl_set(struct rnic_sgl *sgl, const struct siw_sge *sge,
				u8 nr)
{
	u8 i;

	sgl->sge[0] = sge[0];
	for (i = 1; i < nr; i++)
		sgl->sge[i] = sge[i];
	sgl->nr = nr;
}

enum rnic_mr_error rnic_sgl_get(struct rnic_sgl *sgl, struct rnic_qp *qp,
				struct ib_pd *pd, int access);
bool rnic_sgl_dying(const struct rnic_sgl *sgl);
void rnic_sgl_put(struct rnic_sgl *sgl);
void *rnic_sgl_find(const struct rnic_sgl *sgl, struct rnic_at *at, u32 *room);

/*
 * Where the octet at @at is, and how many follow it there; the caller moves
 * @at on. The sgl must have octets left.
 */
static inline void *rnic_sgl_at(const struct rnic_sgl *sgl, struct rnic_at *at,
				u32 *room)
{
	const struct siw_sge *sge = &sgl->sge[at->i];

	if (sgl->mr[at->i] || at->off == sge->length)
		return rnic_sgl_find(sgl, at, room);
	*room = sge->length - at->off;
	return (void *)(uintptr_t)(sge->laddr + at->off);
}

/* rnic_sq.c */
bool rnic_sq_run(struct rnic_qp *qp);
void rnic_sq_note_moved(struct rnic_qp *qp);
void rnic_sq_sent(struct rnic_qp *qp, struct list_head *done);
void rnic_sq_done(struct rnic_qp *qp, struct rnic_msg *msg, u16 status);
void rnic_sq_refused(struct rnic_qp *qp, u32 msn);
void rnic_sq_close(struct rnic_qp *qp);
void rnic_sq_flush_slots(struct rnic_qp *qp);
struct rnic_msg *rnic_sq_oldest_read(struct rnic_qp *qp);
struct rnic_msg *rnic_sq_read_of(struct rnic_qp *qp, u32 stag, u64 to,
				 u32 len);
int rnic_qp_slots(struct rnic_qp *qp);
void rnic_qp_free_slots(struct rnic_qp *qp);

/* rnic_queue.c */
int rnic_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int rnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
bool rnic_sqe_complete(struct rnic_qp *qp, const struct siw_sqe *wqe,
		       u16 status, u32 bytes);
void rnic_rq_fail(struct rnic_qp *qp, u64 id, u16 status);
bool rnic_rq_take(struct rnic_qp *qp, struct siw_rqe *rqe);
void rnic_queues_flush(struct rnic_qp *qp);
void rnic_queues_flush_later(struct rnic_qp *qp);
void rnic_queues_flush_work(struct work_struct *work);

/* rnic_tx.c */
void rnic_tx_wqe(struct rnic_qp *qp, struct rnic_msg *msg);
int rnic_tx_respond(struct rnic_qp *qp, struct mpa_conn *conn,
		    const struct rdmap_read *read, struct rnic_mr *mr);
int rnic_tx_rtr(struct rnic_qp *qp, struct mpa_conn *conn, u8 kind);
int rnic_tx_terminate(struct rnic_qp *qp, struct mpa_conn *conn, u32 err,
		      u32 ulpdu_len, const u8 *hdr, u32 hdr_len);
void rnic_tx_responded(struct rnic_qp *qp, struct rnic_msg *msg);

/* rnic_rx.c */
void rnic_rx_recv(struct rnic_qp *qp, struct mpa_conn *conn,
		  struct mpa_rx *rx);
void rnic_rx_flush(struct rnic_qp *qp);

/* rnic_ooo.c */
struct rnic_ooo_ulpdu *rnic_ooo_keep(struct rnic_qp *qp, struct mpa_rx *rx);
struct rnic_ooo_ulpdu *rnic_ooo_first(const struct rnic_qp *qp, u64 delivered);
void rnic_ooo_done(struct rnic_qp *qp, struct rnic_ooo_ulpdu *u);
void rnic_ooo_drop(struct rnic_qp *qp);

/* rnic_term.c */
void rnic_fail(struct rnic_qp *qp, struct mpa_conn *conn, u32 err,
	       u32 ulpdu_len, const u8 *hdr, u32 hdr_len);
void rnic_fail_request(struct rnic_qp *qp, struct mpa_conn *conn);
void rnic_terminated(struct rnic_qp *qp, struct mpa_conn *conn, u32 err);

/* rnic_cm.c */
int rnic_iw_connect(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int rnic_iw_accept(struct iw_cm_id *cm_id, struct iw_cm_conn_param *param);
int rnic_iw_reject(struct iw_cm_id *cm_id, const void *pd, u8 len);
void rnic_cm_give_up(struct rnic_dev *dev);

/* rnic_listen.c */
int rnic_iw_create_listen(struct iw_cm_id *cm_id, int backlog);
int rnic_iw_destroy_listen(struct iw_cm_id *cm_id);
void rnic_listen_give_up(struct rnic_dev *dev);

/* rnic_ep.c */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev, bool initiator);
void rnic_ep_get(struct rnic_ep *ep);
void rnic_ep_put(struct rnic_ep *ep);
void rnic_ep_abort(struct rnic_ep *ep);
struct mpa_connector *rnic_ep_take_spent_connector(struct rnic_ep *ep);
void rnic_ep_watch_begin(struct rnic_ep *ep);
void rnic_ep_attempt_over(struct rnic_ep *ep);
struct rnic_ep *rnic_ep_of(struct rnic_qp *qp);
struct rnic_qp *rnic_ep_bind(struct rnic_ep *ep,
			     const struct iw_cm_conn_param *param);
void rnic_ep_unbind(struct rnic_ep *ep, struct rnic_qp *qp);
void rnic_ep_over(struct rnic_ep *ep);
void rnic_ep_params(struct mpa_params *params, struct rnic_ep *ep,
		    struct net *net, u32 ird, u32 ord);
void rnic_sock_set_tos(struct sock *sk, const struct iw_cm_id *cm_id);
struct net *rnic_cm_id_net(const struct iw_cm_id *cm_id);
void rnic_child_del(struct rnic_ep *ep);
void rnic_listener_put(struct rnic_listener *l);
void rnic_orphans_put(struct rnic_listener *l);

#endif /* _RNIC_H */
