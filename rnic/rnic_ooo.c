// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ULPDUs that MPA has passed out of order, until they are delivered.
 *
 * MPA passes each once, so what is not kept is lost. Their octets stay where
 * TCP has them, since TCP keeps them itself until the hole is filled, and MPA
 * passes no more once they exceed the receive buffer. All this is used in
 * MPA's callbacks only, and is gone before the connection is detached.
 */
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "rnic.h"

/**
 * struct rnic_batch - what one call of recv() has passed
 * @rx: the argument of recv(), with a reference
 * @left: of @ulpdu, those that are not delivered
 * @ulpdu: its ULPDUs
 */
struct rnic_batch {
	struct mpa_rx		*rx;
	unsigned int		left;
	struct rnic_ooo_ulpdu	ulpdu[];
};

static bool ooo_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct rnic_ooo_ulpdu, node)->ulpdu->pos <
	       rb_entry(b, struct rnic_ooo_ulpdu, node)->ulpdu->pos;
}

/*
 * Keep the ULPDUs of a call. Returns one struct for each, in their order, or
 * NULL if there is no memory.
 */
struct rnic_ooo_ulpdu *rnic_ooo_keep(struct rnic_qp *qp, struct mpa_rx *rx)
{
	/* recv() must not wait for memory. */
	gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN;
	struct rnic_batch *batch;
	unsigned int i;

	if (!qp->kernel)
		gfp |= __GFP_NOMEMALLOC;	/* see ep_forgo_reserves() */
	batch = kzalloc(struct_size(batch, ulpdu, rx->nr), gfp);
	if (!batch)
		return NULL;
	mpa_rx_get(rx);
	batch->rx = rx;
	batch->left = rx->nr;
	for (i = 0; i < rx->nr; i++) {
		struct rnic_ooo_ulpdu *u = batch->ulpdu + i;

		u->batch = batch;
		u->ulpdu = rx->ulpdu + i;
		rb_add_cached(&u->node, &qp->rx.ooo, ooo_before);
	}
	return batch->ulpdu;
}

/* The first that is kept, if it begins below @delivered; or NULL */
struct rnic_ooo_ulpdu *rnic_ooo_first(const struct rnic_qp *qp, u64 delivered)
{
	struct rnic_ooo_ulpdu *u;

	u = rb_entry_safe(rb_first_cached(&qp->rx.ooo), struct rnic_ooo_ulpdu,
			  node);
	return u && u->ulpdu->pos < delivered ? u : NULL;
}

/* It is delivered, and is not valid any longer. */
void rnic_ooo_done(struct rnic_qp *qp, struct rnic_ooo_ulpdu *u)
{
	struct rnic_batch *batch = u->batch;

	rb_erase_cached(&u->node, &qp->rx.ooo);
	if (--batch->left)
		return;
	mpa_rx_put(batch->rx);
	kfree(batch);
}

/* The connection is over: the others are never delivered. */
void rnic_ooo_drop(struct rnic_qp *qp)
{
	struct rnic_ooo_ulpdu *u;

	while ((u = rnic_ooo_first(qp, U64_MAX)))
		rnic_ooo_done(qp, u);
}
