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

/* How far a hook has come that a case waits for */
enum consumer_hook { HOOK_NONE, HOOK_BEGUN, HOOK_DONE };

enum {
	CONSUMER_RX	= 1024 * 1024,
	CONSUMER_ULPDUS	= 4096,
	CONSUMER_DONE	= 256,
	CONSUMER_LOG	= 64,
	CONSUMER_KEPT	= 64,
};

/* A connection and a record of its callbacks */
struct mpa_consumer {
	struct mpa_conn		*conn;		/* set by the first callback */
	struct mpa_params	params;		/* given to mpa_attach() */
	/* called at the end of each callback; may call any API function */
	void			(*hook)(struct mpa_consumer *c,
					enum consumer_event ev);
	enum consumer_event	hook_on;	/* callback in which it acts */
	int			hook_err;	/* result of the call it made */
	enum consumer_hook	hook_state;	/* of a hook that takes time */
	bool			keep;		/* keep every batch */
	bool			keep_ooo;	/* those passed out of order */
	wait_queue_head_t	wait;		/* woken by each callback */
	spinlock_t		lock;		/* see @count */
	/*
	 * Callbacks that have returned, and what they handed over. Whoever
	 * reads @count with the lock also sees all members below.
	 */
	u64			count[EV_COUNTS];
	u8			log[CONSUMER_LOG];	/* callbacks */
	u32			nr_log;
	atomic_t		inside;		/* callbacks running now */
	u32			overlaps;	/* times that two ran at once */
	u32			softirqs;	/* recv() with BH off */
	u32			recv_tasks;	/* recv() in a task */
	bool			sends_here;	/* mpa_allow_softirq_send() */
	u32			sent_here;	/* sent() with BH off */
	unsigned int		cpu;		/* of the last callback */
	bool			detached;	/* mpa_detach() has returned */
	bool			left_inside;	/* mpa_detach() in a callback */
	u32			late;		/* began after it */
	/* arguments of the last callbacks */
	struct mpa_startup	startup;
	u8			*pd;
	struct mpa_enhanced	enhanced;
	struct mpa_end		end;
	int			err;		/* of closed() */
	u32			mulpdu;
	bool			markers;	/* the peer inserts markers */
	/* octets of ULPDUs, as passed */
	u8			*rx;
	u32			rx_len;
	/* ULPDUs: stream positions, in order; lengths; offsets in @rx */
	u64			*pos;
	u32			*len;
	u32			*at;
	u32			nr_rx;
	u32			nr_ooo;		/* passed out of order */
	u64			delivered;	/* last mpa_rx.delivered */
	u32			copied_seq;	/* TCP's, at the last recv() */
	u32			nr_delivered;	/* ULPDUs below it */
	/*
	 * Faults: ULPDUs misplaced, incomplete or passed twice, Delivery of
	 * octets not passed, callbacks but released() after closed()
	 */
	u32			disorder;
	struct mpa_rx		*kept[CONSUMER_KEPT];
	u32			nr_kept;
	struct mpa_tx		*done[CONSUMER_DONE];	/* in order */
	u32			nr_done;
	u32			left;		/* those that released() gave */
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
