// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ULPDUs that MPA has passed out of order, until they are delivered.
 *
 * MPA passes each once, so what is not kept is lost. Their octets stay where
 * TCP has them, since TCP keeps them itself until the hole is filled, and MPA
 * passes no more once they exceed the receive buffer. All this belongs to the
 * connection's context, and is gone before the connection is detached.
 */
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "rnic.h"

/**
 * struct rnic_batch - what one call of recv() has passed
 * @rx: the argument of recv(), with a reference
 * @left: of @ahead, those that are not delivered
 * @ahead: its ULPDUs
 */
struct rnic_batch {
	struct mpa_rx		*rx;
	unsigned int		left;
	struct rnic_ahead	ahead[];
};

static bool ahead_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct rnic_ahead, node)->ulpdu->pos <
	       rb_entry(b, struct rnic_ahead, node)->ulpdu->pos;
}

/*
 * Keep the ULPDUs of a call. Returns one struct for each, in their order, or
 * NULL if there is no memory.
 */
struct rnic_ahead *rnic_ooo_keep(struct rnic_qp *qp, struct mpa_rx *rx)
{
	struct rnic_batch *batch;
	unsigned int i;

	/* recv() must not wait for memory. */
	batch = kzalloc(struct_size(batch, ahead, rx->nr),
			GFP_NOWAIT | __GFP_NOWARN);
	if (!batch)
		return NULL;
	mpa_rx_get(rx);
	batch->rx = rx;
	batch->left = rx->nr;
	for (i = 0; i < rx->nr; i++) {
		struct rnic_ahead *ahead = batch->ahead + i;

		ahead->batch = batch;
		ahead->ulpdu = rx->ulpdu + i;
		rb_add_cached(&ahead->node, &qp->rx.ahead, ahead_before);
	}
	return batch->ahead;
}

/* The first that is kept, if it begins below @delivered; or NULL */
struct rnic_ahead *rnic_ooo_first(const struct rnic_qp *qp, u64 delivered)
{
	struct rnic_ahead *ahead;

	ahead = rb_entry_safe(rb_first_cached(&qp->rx.ahead),
			      struct rnic_ahead, node);
	return ahead && ahead->ulpdu->pos < delivered ? ahead : NULL;
}

/* It is delivered, and is not valid any longer. */
void rnic_ooo_done(struct rnic_qp *qp, struct rnic_ahead *ahead)
{
	struct rnic_batch *batch = ahead->batch;

	rb_erase_cached(&ahead->node, &qp->rx.ahead);
	if (--batch->left)
		return;
	mpa_rx_put(batch->rx);
	kfree(batch);
}

/* The connection is over: the others are never delivered. */
void rnic_ooo_drop(struct rnic_qp *qp)
{
	struct rnic_ahead *ahead;

	while ((ahead = rnic_ooo_first(qp, U64_MAX)))
		rnic_ooo_done(qp, ahead);
}
