/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * mpa_bench: the same traffic over one transport or another, and what it costs.
 *
 * A run is a number of connections, each a pair of ends: messages of one size
 * go from the tx end to the rx end (stream), or there and back (pingpong). A
 * transport connects a pair and carries messages; all else is done here, alike
 * for all of them, and modules of their own may bring further transports with
 * bench_transport_register().
 *
 * A run has phases. In each, so many messages are sent, and it is over when the
 * last of them has arrived; then nothing is under way, and nothing is measured
 * until the next one begins. The first phases bring windows, slabs and the rest
 * to a steady state; then come a short and a long one, whose difference in
 * instructions is free of what does not grow with the amount; last is one that
 * is not measured, in which each octet is compared as it arrives, and calls of
 * tcp_sendmsg_locked() are counted. In the measured phases the octets that are
 * still in the ring are compared at the end.
 *
 * Sending: a thread for each tx end calls ->post() with the number of messages
 * of the phase. ->post() takes the octets of each from bench_message(), and
 * sleeps, in bench_wait(), while the transport has no room; whoever makes room
 * calls bench_wake(). Nobody polls.
 *
 * Receiving: octets go to the ring of the end, in order, those of a message
 * never across its edge. A transport that is asked (pull, as TCP is) has
 * ->recv(), which is called in a loop by a thread for each end that receives,
 * and sleeps until there is something. One that calls (push) does without a
 * thread: it takes octets wherever it is told of them, and so wakes no thread
 * but when a phase is over; that is how a consumer of MPA, or of verbs, is
 * made. Both say what they have taken with bench_place(), which copies, or
 * bench_placed(), where they are in the ring already, and once per call or
 * upcall with bench_act(), which sends the answer in a pingpong: ->post() of
 * one message is then called from ->recv() or the upcall, with none under way
 * in that direction, and must not sleep.
 *
 * Context: process context everywhere, or softirq for push transports, of whose
 * calls one at a time is made for each end.
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

#define BENCH_RING	(128 << 10)	/* octets of a ring, one run of pages */
#define BENCH_SIZE_MAX	(64 << 10)	/* octets of a message */
#define BENCH_PERIOD	(64 * 1021)	/* of the pattern, octets */

struct bench_run;
struct net;

/**
 * struct bench_end - one end of a connection
 * @run: the run it belongs to
 * @peer: the other end
 * @priv: the transport's own
 * @sock: the TCP socket, if the transport has it
 * @thread: sends, or receives
 * @wait: who waits for something to happen at this end
 * @to_post: messages that the thread is to post
 * @tx_off: where in the pattern the next message begins
 * @ring: what was received, BENCH_RING octets in consecutive pages
 * @ring_pos: where the next octet goes
 * @rx_pos: octets received, in all
 * @answered: rx_pos up to where bench_act() has acted
 * @want: rx_pos at which the phase is over
 * @bad: an octet was not what it should be
 */
struct bench_end {
	struct bench_run	*run;
	struct bench_end	*peer;
	void			*priv;
	struct socket		*sock;
	struct task_struct	*thread;
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
 * @list: of those registered
 * @name: as in transport= of the command
 * @owner: its module
 * @open: connect a pair, from @tx in bench_tx_net() to bench_addr() in
 *	bench_rx_net(); returns 0 with both ends ready to post and to receive,
 *	or a negative errno with nothing left. May sleep.
 * @attach: the second half of @open where the first one is bench_tcp_connect();
 *	on error the sockets are left. NULL: it is not (kind=memory fails).
 * @post: post @nr messages of bench_size() octets; returns 0 or a negative
 *	errno
 * @recv: pull: wait for octets and take them; returns 0 or a negative errno,
 *	also after @shut. NULL: push.
 * @sink: from now on what arrives at the rx end is discarded in TCP, as its
 *	@sock tells of it: whatever is above TCP is to leave that end. NULL:
 *	not possible (part=tx fails).
 * @shut: make @post and @recv return, at both ends
 * @close: let go of both; threads have ended, no upcall may come after it
 * @fpdus: FPDUs (records) that @tx has sent; NULL: there are none
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

/* The run, for transports */
struct net *bench_tx_net(const struct bench_run *run);
struct net *bench_rx_net(const struct bench_run *run);
const struct sockaddr_storage *bench_addr(const struct bench_run *run);
u32 bench_size(const struct bench_run *run);	/* octets of a message */
u32 bench_ring_size(const struct bench_run *run); /* in use, whole messages */
bool bench_is_pingpong(const struct bench_run *run);
void bench_fail(struct bench_run *run, int err);	/* end it */

/* Connect a pair of TCP sockets for @tx and @rx; @sock of both is set. */
int bench_tcp_connect(struct bench_end *tx, struct bench_end *rx);

/* Octets of the next message of @end: bench_size() of them in lowmem. */
const void *bench_message(struct bench_end *end);

/* Where the next octets go, and how many may at once. */
void *bench_room(struct bench_end *end, u32 *len);
/* @len octets are there, at bench_room(); or are copied there. */
void bench_placed(struct bench_end *end, u32 len);
void bench_place(struct bench_end *end, const void *from, u32 len);
void bench_act(struct bench_end *end);

/* @p is memory of the consumer's own, not of what is measured. */
void bench_own(struct bench_end *end, const void *p);

/* Is the run over? */
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
