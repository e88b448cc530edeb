/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A consumer of MPA that writes down what it is told. */
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
};

enum {
	CONSUMER_RX	= 1024 * 1024,
	CONSUMER_ULPDUS	= 4096,
	CONSUMER_DONE	= 256,
	CONSUMER_LOG	= 64,
	CONSUMER_KEPT	= 64,
};

/**
 * struct mpa_consumer - a connection and what has become of it
 * @conn: the connection; set by the first callback, if not before
 * @params: given to mpa_attach()
 * @hook: called at the end of each callback; may call any API function
 * @hook_on: for the hook: the callback in which it is to act
 * @hook_err: for the hook: what a call has returned
 * @keep: keep each batch, in @kept
 * @keep_ooo: keep each batch that was passed out of order
 * @wait: woken by each callback
 * @lock: protects @count and what was written before it was raised
 * @count: callbacks that have returned, per kind
 * @seen_rx: @nr_rx as of then
 * @seen_ooo: @nr_ooo as of then
 * @seen_delivered: @delivered as of then
 * @seen_done: @nr_done as of then
 * @log: the same, in order
 * @nr_log: entries
 * @inside: callbacks running just now; more than one is a fault
 * @overlaps: that happened
 * @detached: mpa_detach() has returned
 * @late: callbacks, but released(), that began after that
 * @startup: octets of private data, revision, marker bit
 * @pd: the private data
 * @enhanced: the enhanced data, where there is any
 * @end: what ended() said
 * @err: what closed() said
 * @mulpdu: what mulpdu() said last
 * @markers: the peer inserts markers
 * @rx: octets of all ULPDUs, as they were passed
 * @rx_len: how many
 * @pos: stream position of each ULPDU, in the order of the stream
 * @len: length of each of these
 * @at: where its octets are in @rx
 * @nr_rx: ULPDUs
 * @nr_ooo: of these, passed out of order
 * @delivered: the last mpa_rx.delivered
 * @nr_delivered: ULPDUs below it
 * @disorder: a ULPDU was not where it had to be, was passed twice, or was not
 *	whole, or Delivery was of what had not been passed; or closed() was not
 *	the last callback before released()
 * @kept: batches kept
 * @nr_kept: how many
 * @done: messages handed back, in order
 * @nr_done: how many
 * @left: of these, in released()
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
	spinlock_t		lock;	/* see above */
	u32			count[EV_NR];
	u32			seen_rx;
	u32			seen_ooo;
	u64			seen_delivered;
	u32			seen_done;
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
u32 mpa_consumer_count(struct mpa_consumer *c, enum consumer_event ev);
u32 mpa_consumer_ulpdus(struct mpa_consumer *c);
u32 mpa_consumer_ooo(struct mpa_consumer *c);
u64 mpa_consumer_delivered(struct mpa_consumer *c);
u32 mpa_consumer_done(struct mpa_consumer *c);
bool mpa_consumer_wait(struct mpa_consumer *c, enum consumer_event ev,
		       u32 times);
bool mpa_consumer_wait_ulpdus(struct mpa_consumer *c, u32 nr);
bool mpa_consumer_wait_ooo(struct mpa_consumer *c, u32 nr);
bool mpa_consumer_wait_delivered(struct mpa_consumer *c, u64 pos);
bool mpa_consumer_wait_done(struct mpa_consumer *c, u32 nr);
void mpa_consumer_put(struct mpa_consumer *c, u32 i);
bool mpa_consumer_detach(struct mpa_consumer *c);

#endif /* _MPA_CONSUMER_H */
