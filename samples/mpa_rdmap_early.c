// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP segments that have come before their turn, which MPA finds behind a hole
 * in TCP's stream and passes once. The payload of RDMA Writes and RDMA Read
 * Responses is placed as it comes (RFC 5041 section 5.3); nothing else is done,
 * counted or told before Delivery has come to the segment. Then it is taken
 * like one that has just arrived, all checks included: what is between may
 * have changed what they say. So this is kept of it:
 *
 * - placed: the headers
 * - not placed: all of it. That is what is not tagged, what came before an RTR
 *   was taken, and what did not pass a check, as it may at its turn.
 *
 * None can be refused. But all are octets of TCP's receive window, each of them
 * once, so that is what bounds them: a struct rdmap_early, and the octets of
 * the ULPDU, for the 8 octets or more of its FPDU. Where there is no memory for
 * one the connection is reset.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rbtree.h>

#include "mpa_rdmap.h"

/**
 * struct rdmap_early - a segment whose turn is still to come
 * @node: in rdmap_stream.early
 * @pos: its position
 * @len: octets of its ULPDU
 * @placed: the payload was placed, and is not here
 * @kept: octets of the ULPDU that are here
 * @octets: these
 */
struct rdmap_early {
	struct rb_node	node;
	u64		pos;
	u32		len;
	bool		placed;
	u32		kept;
	u8		octets[] __counted_by(kept);
};

static bool early_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct rdmap_early, node)->pos <
	       rb_entry(b, struct rdmap_early, node)->pos;
}

static struct rdmap_early *early_first(const struct rdmap_stream *s)
{
	return rb_entry_safe(rb_first_cached(&s->early), struct rdmap_early,
			     node);
}

/* Is it for what a Read Request under way has asked for? */
static bool is_asked_for(const struct rdmap_stream *s,
			 const struct rdmap_seg *seg)
{
	const struct rdmap_msg *msg;
	u64 off;

	list_for_each_entry(msg, &s->reads, list) {
		/* Far above any size if it is below */
		off = seg->hdr.to - msg->read.sink_to;
		if (seg->hdr.stag == msg->read.sink_stag &&
		    off <= msg->read.size && seg->len <= msg->read.size - off)
			return true;
	}
	return false;
}

/* What has to be allowed for it to be placed now; 0: it has to wait. */
static u32 early_access(const struct rdmap_stream *s,
			const struct rdmap_seg *seg)
{
	switch (seg->hdr.opcode) {
	case RDMAP_OP_WRITE:
		return RDMAP_REMOTE_WRITE;
	case RDMAP_OP_RESPONSE:
		return is_asked_for(s, seg) ? RDMAP_READ_SINK : 0;
	default:
		return 0;
	}
}

/* Returns whether it was placed. Before an RTR is taken there is nowhere. */
static bool early_place(struct rdmap_stream *s, const struct mpa_ulpdu *ulpdu)
{
	struct rdmap_seg seg;
	u32 access;
	void *to;

	if (!s->begun)
		return false;
	if (!rdmap_seg_get(&seg, ulpdu) ||
	    rdmap_hdr_check(&seg.hdr, s->version))
		return false;
	access = early_access(s, &seg);
	if (!access || rdmap_sink_find(s, &seg, access, &to))
		return false;
	rdmap_ulpdu_copy(ulpdu, seg.hdr_len, to, seg.len);
	s->res.placed_early += seg.len;
	return true;
}

/* It cannot be had once more, and there is no going on without it. */
static void early_lost(struct rdmap_stream *s)
{
	s->deaf = true;
	rdmap_fail(s, -ENOMEM, "memory");
	mpa_abort(s->conn);
}

/* @ulpdu is passed before its turn. */
void rdmap_early_keep(struct rdmap_stream *s, const struct mpa_ulpdu *ulpdu)
{
	bool placed = early_place(s, ulpdu);
	struct rdmap_early *early;
	u32 kept = ulpdu->len;

	if (placed)
		kept = min_t(u32, kept, RDMAP_HDR_MAX);
	early = kvmalloc(struct_size(early, octets, kept), GFP_KERNEL);
	if (!early) {
		early_lost(s);
		return;
	}
	early->pos = ulpdu->pos;
	early->len = ulpdu->len;
	early->placed = placed;
	early->kept = kept;
	rdmap_ulpdu_copy(ulpdu, 0, early->octets, kept);
	rb_add_cached(&early->node, &s->early, early_before);
}

static void early_take(struct rdmap_stream *s, struct rdmap_early *early)
{
	const struct kvec frag = {
		.iov_base	= early->octets,
		.iov_len	= early->kept,
	};
	const struct mpa_ulpdu ulpdu = {
		.pos		= early->pos,
		.len		= early->len,
		.nr_frags	= 1,
		.frag		= &frag,
	};

	rdmap_take(s, &ulpdu, early->placed);
}

/* All below @delivered have their turn now, in the order of the stream. */
void rdmap_early_turn(struct rdmap_stream *s, u64 delivered)
{
	struct rdmap_early *early;

	while ((early = early_first(s)) && early->pos < delivered) {
		rb_erase_cached(&early->node, &s->early);
		early_take(s, early);
		kvfree(early);
	}
}

/* The connection is gone, and no turn will come: as if they had never been. */
void rdmap_early_drop(struct rdmap_stream *s)
{
	struct rdmap_early *early, *next;

	rbtree_postorder_for_each_entry_safe(early, next, &s->early.rb_root,
					     node)
		kvfree(early);
	s->early = RB_ROOT_CACHED;
}
