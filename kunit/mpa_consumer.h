/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A consumer of MPA that records its callbacks. */
#ifndef _MPA_CONSUMER_H
#define _MPA_CONSUMER_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <net/mpa.h>

enum consumer_event {
	EV_REQUEST,
	EV_ESTABLISHED,
	EV_REJECTED,
	EV_RECV,
	EV_SENT,
	EV_MULPDU,
	EV_ENDED,
	EV_CLOSED,
	EV_RELEASED,
	EV_NR,
	/* no callbacks, but what they have handed over */
	EV_ULPDUS = EV_NR,
	EV_OOO,			/* ULPDUs passed out of order */
	EV_DELIVERED,		/* stream position: mpa_rx.delivered */
	EV_DONE,		/* messages handed back */
	EV_COUNTS,
};

enum {
	CONSUMER_RX	= 1024 * 1024,
	CONSUMER_ULPDUS	= 4096,
	CONSUMER_DONE	= 256,
	CONSUMER_LOG	= 64,
	CONSUMER_KEPT	= 64,
};

/**
 * struct mpa_consumer - a connection and a record of its callbacks
 * @conn: the connection; set by the first callback, if not before
 * @params: given to mpa_attach()
 * @hook: called at the end of each callback; may call any API function
 * @hook_on: for the hook: callback in which it acts
 * @hook_err: for the hook: result of the call it made
 * @keep: keep every batch in @kept
 * @keep_ooo: keep every batch that was passed out of order
 * @wait: woken by each callback
 * @lock: protects @count and all members written before @count is raised
 * @count: callbacks that have returned, per kind, and what they handed over
 * @log: kinds of the callbacks that have returned, in order
 * @nr_log: number of entries in @log
 * @inside: callbacks running now; more than one is a fault
 * @overlaps: number of times that two callbacks ran at once
 * @detached: mpa_detach() has returned
 * @late: callbacks, but released(), that began after mpa_detach()
 * @startup: private data length, revision and marker bit of the peer
 * @pd: octets of the private data
 * @enhanced: the peer's enhanced data, if any
 * @end: argument of ended()
 * @err: argument of closed()
 * @mulpdu: last argument of mulpdu()
 * @markers: true if the peer inserts markers
 * @rx: octets of all ULPDUs, in the order in which they were passed
 * @rx_len: number of octets in @rx
 * @pos: stream position of each ULPDU, sorted
 * @len: length of each ULPDU in @pos, in octets
 * @at: offset in @rx of each ULPDU in @pos
 * @nr_rx: number of ULPDUs
 * @nr_ooo: number of ULPDUs that were passed out of order
 * @delivered: last value of mpa_rx.delivered
 * @nr_delivered: number of ULPDUs below @delivered
 * @disorder: number of faults: ULPDUs misplaced, incomplete or passed twice,
 *	Delivery of octets not passed, callbacks but released() after closed()
 * @kept: batches kept
 * @nr_kept: number of batches in @kept
 * @done: messages handed back, in order
 * @nr_done: number of messages in @done
 * @left: number of messages in @done that released() handed back
 */
struct mpa_consumer {
	struct mpa_conn		*conn;
	struct mpa_params	params;
	void			(*hook)(struct mpa_consumer *c,
					enum consumer_event ev);
	enum consumer_event	hook_on;
	int			hook_err;
	bool			keep;
	bool			keep_ooo;
	wait_queue_head_t	wait;
	spinlock_t		lock;	/* protects @count, see there */
	u64			count[EV_COUNTS];
	u8			log[CONSUMER_LOG];
	u32			nr_log;
	atomic_t		inside;
	u32			overlaps;
	bool			detached;
	u32			late;
	struct mpa_startup	startup;
	u8			*pd;
	struct mpa_enhanced	enhanced;
	struct mpa_end		end;
	int			err;
	u32			mulpdu;
	bool			markers;
	u8			*rx;
	u32			rx_len;
	u64			*pos;
	u32			*len;
	u32			*at;
	u32			nr_rx;
	u32			nr_ooo;
	u64			delivered;
	u32			nr_delivered;
	u32			disorder;
	struct mpa_rx		*kept[CONSUMER_KEPT];
	u32			nr_kept;
	struct mpa_tx		*done[CONSUMER_DONE];
	u32			nr_done;
	u32			left;
};

extern const struct mpa_ops mpa_consumer_ops;

int mpa_consumer_init(struct mpa_consumer *c);
void mpa_consumer_exit(struct mpa_consumer *c);
u64 mpa_consumer_count(struct mpa_consumer *c, enum consumer_event ev);
bool mpa_consumer_wait(struct mpa_consumer *c, enum consumer_event ev,
		       u64 count);
void mpa_consumer_put(struct mpa_consumer *c, u32 i);
void mpa_consumer_put_all(struct mpa_consumer *c);
bool mpa_consumer_detach(struct mpa_consumer *c);

#endif /* _MPA_CONSUMER_H */
