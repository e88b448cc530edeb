/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mpa_bench: the same traffic over different transports, and its cost.
 *
 * A run is a number of connections, each a pair of ends: messages of one size
 * go from the tx end to the rx end (stream), or there and back (pingpong). A
 * transport connects a pair and carries messages; everything else is done
 * here, identically for all transports. Other modules may add transports with
 * bench_transport_register().
 *
 * A run has phases. Each phase sends a number of messages and ends when the
 * last of them has arrived; between phases nothing is under way and nothing is
 * measured. The first phases bring windows, slabs and other state to a steady
 * state. A short and a long phase follow: the difference of their instructions
 * is the cost that grows with the amount. The last phase is not measured: it
 * compares each octet as it arrives, and counts calls of tcp_sendmsg_locked().
 * After a measured phase the octets still in the ring are compared.
 *
 * Sending: a thread for each tx end calls ->post() with the number of messages
 * of the phase. ->post() takes the octets of each from bench_message(), and
 * sleeps in bench_wait() while the transport has no room; the transport calls
 * bench_wake() when there is room. There is no polling.
 *
 * Receiving: octets go to the ring of the end, in order, those of a message
 * never across its edge. A pull transport (like TCP) has ->recv(): a thread for
 * each receiving end calls it in a loop, and it sleeps until there is data. A
 * push transport has no thread: it takes octets in its upcalls, and wakes a
 * thread only at the end of a phase; consumers of MPA, or of verbs, work like
 * this. Both put octets where bench_room() says, report them with
 * bench_placed(), and call bench_act() once per call or upcall, which sends the
 * answer in a pingpong: ->post() of one message is then called from ->recv() or
 * the upcall, with none under way in that direction, and must not sleep.
 *
 * Context: process context everywhere, or softirq for push transports, which
 * make one call at a time for each end.
 */
#ifndef _BENCH_H
#define _BENCH_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/wait.h>

/*
 * Octets of a ring, one run of pages. RDMA Writes come without leave: a recv()
 * of MPA may place some 100 KB before it tells of the first message among them.
 */
#define BENCH_RING	(256 << 10)
#define BENCH_SIZE_MAX	(64 << 10)	/* octets of a message */
#define BENCH_PERIOD	(64 * 1021)	/* of the pattern, octets */

struct bench_run;

/**
 * struct bench_end - one end of a connection
 * @run: the run it belongs to
 * @peer: the other end
 * @priv: private data of the transport
 * @sock: the TCP socket, if the transport has it
 * @sender: thread that sends
 * @receiver: thread that receives
 * @wait: the threads wait here for an event at this end
 * @to_post: messages for the thread to post
 * @tx_off: position of the next message in the pattern
 * @ring: received octets, BENCH_RING octets in consecutive pages
 * @ring_pos: position in @ring of the next octet
 * @rx_pos: octets received in total
 * @answered: rx_pos up to which bench_act() has acted
 * @want: rx_pos at which the phase ends
 * @bad: a received octet was wrong
 */
struct bench_end {
	struct bench_run	*run;
	struct bench_end	*peer;
	void			*priv;
	struct socket		*sock;
	struct task_struct	*sender;
	struct task_struct	*receiver;
	wait_queue_head_t	wait;
	u32			to_post;
	u32			tx_off;
	u8			*ring;
	u32			ring_pos;
	u64			rx_pos;
	u64			answered;
	u64			want;
	bool			bad;
};

/**
 * struct bench_transport - carries messages
 * @list: entry in the list of registered transports
 * @name: transport= of the command
 * @owner: module of the transport
 * @open: connect a pair, as the run says; returns 0 with both ends ready to post
 *	and to receive, or a negative errno with nothing left. May sleep.
 * @attach: the second half of @open if the first one is bench_tcp_connect(); on
 *	error the sockets stay open. NULL: not available (kind=memory fails).
 * @post: post @nr messages; returns 0 or a negative errno
 * @recv: pull: wait for octets and take them; returns 0 or a negative errno,
 *	also after @shut. NULL: push.
 * @sink: from now on TCP discards what arrives at the rx end, on its @sock; the
 *	layer above TCP has to detach from that end. NULL: not possible
 *	(part=tx fails).
 * @shut: make @post and @recv return, at both ends
 * @close: release both ends; threads have ended, no upcall may follow
 * @fpdus: FPDUs (records) that @tx has sent; NULL: the transport has none
 */
struct bench_transport {
	struct list_head	list;
	const char		*name;
	struct module		*owner;
	int (*open)(struct bench_end *tx, struct bench_end *rx);
	int (*attach)(struct bench_end *tx, struct bench_end *rx);
	int (*post)(struct bench_end *end, u32 nr);
	int (*recv)(struct bench_end *end);
	int (*sink)(struct bench_end *rx);
	void (*shut)(struct bench_end *tx, struct bench_end *rx);
	void (*close)(struct bench_end *tx, struct bench_end *rx);
	u64 (*fpdus)(struct bench_end *tx);
};

void bench_transport_register(struct bench_transport *transport);
void bench_transport_unregister(struct bench_transport *transport);

void bench_fail(struct bench_run *run, int err);	/* end it */

/* Connect a pair of TCP sockets for @tx and @rx; @sock of both is set. */
int bench_tcp_connect(struct bench_end *tx, struct bench_end *rx);

/* Octets of the next message of @end, in lowmem */
const void *bench_message(struct bench_end *end);

/* Where the next octets go, and how many may at once. */
void *bench_room(struct bench_end *end, u32 *len);
/* @len octets are there. */
void bench_placed(struct bench_end *end, u32 len);
void bench_act(struct bench_end *end);

/* @p is the consumer's own memory, and not to be measured. */
void bench_own(struct bench_end *end, const void *p);

/* True if the run is over */
bool bench_stopped(const struct bench_run *run);

static inline void bench_wake(struct bench_end *end)
{
	if (wq_has_sleeper(&end->wait))
		wake_up(&end->wait);
}

/* Sleep until @condition, or the end of the run; says whether it is true. */
#define bench_wait(end, condition)					\
({									\
	struct bench_end *_end = (end);					\
									\
	wait_event_idle(_end->wait,					\
			(condition) || bench_stopped(_end->run));	\
	!bench_stopped(_end->run);					\
})

#endif /* _BENCH_H */
