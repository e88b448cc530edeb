// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP segments passed out of order: MPA finds them after a hole in TCP's
 * stream, and passes each once. The payload of RDMA Writes and RDMA Read
 * Responses is placed as it arrives (RFC 5041 section 5.3). A segment is
 * counted and processed, all checks included, when it is delivered: segments
 * before it may change the result of a check, for example by invalidating an
 * STag. Until then a struct rdmap_ooo keeps
 *
 * - of a segment that was placed, the headers
 * - of any other segment, the whole ULPDU: it is untagged, or arrived before
 *   the RTR, or failed a check that it may pass when it is delivered
 *
 * No segment can be refused. TCP's receive window bounds the memory, as it
 * contains each segment once: one struct rdmap_ooo and the octets of the ULPDU
 * for an FPDU of at least 8 octets. If there is no memory for a segment, the
 * connection is reset.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rbtree.h>

#include "mpa_rdmap.h"

/**
 * struct rdmap_ooo - a segment that is not delivered yet
 * @node: in rdmap_stream.ooo
 * @pos: stream position of its FPDU
 * @len: length of its ULPDU in octets
 * @placed: the payload was placed, and is not here
 * @kept: number of octets kept
 * @octets: the first @kept octets of the ULPDU
 */
struct rdmap_ooo {
	struct rb_node	node;
	u64		pos;
	u32		len;
	bool		placed;
	u32		kept;
	u8		octets[] __counted_by(kept);
};

static bool ooo_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct rdmap_ooo, node)->pos <
	       rb_entry(b, struct rdmap_ooo, node)->pos;
}

static struct rdmap_ooo *ooo_first(const struct rdmap_stream *s)
{
	return rb_entry_safe(rb_first_cached(&s->ooo), struct rdmap_ooo,
			     node);
}

/* True if a Read Request under way has asked for this segment */
static bool is_asked_for(const struct rdmap_stream *s,
			 const struct rdmap_seg *seg)
{
	const struct rdmap_msg *msg;
	u64 off;

	list_for_each_entry(msg, &s->reads, list) {
		/* wraps to more than any size if it is below */
		off = seg->hdr.to - msg->read.sink_to;
		if (seg->hdr.stag == msg->read.sink_stag &&
		    off <= msg->read.size && seg->len <= msg->read.size - off)
			return true;
	}
	return false;
}

/* Access rights needed to place the segment now; 0: it must wait */
static u32 ooo_access(const struct rdmap_stream *s,
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

/* Returns true if the segment was placed. Places nothing before an RTR. */
static bool ooo_place(struct rdmap_stream *s, const struct mpa_ulpdu *ulpdu)
{
	struct rdmap_seg seg;
	u32 access;
	void *to;

	if (!s->begun)
		return false;
	if (!rdmap_seg_get(&seg, ulpdu) ||
	    rdmap_hdr_check(&seg.hdr, s->version))
		return false;
	access = ooo_access(s, &seg);
	if (!access || rdmap_sink_find(s, &seg, access, &to))
		return false;
	rdmap_ulpdu_copy(ulpdu, seg.hdr_len, to, seg.len);
	s->res.placed_ooo += seg.len;
	return true;
}

/* A segment is passed only once, so the stream cannot continue without it. */
static void ooo_lost(struct rdmap_stream *s)
{
	s->deaf = true;
	rdmap_fail(s, -ENOMEM, "memory");
	mpa_abort(s->conn);
}

/* Keep a ULPDU that was passed out of order. */
void rdmap_ooo_keep(struct rdmap_stream *s, const struct mpa_ulpdu *ulpdu)
{
	bool placed = ooo_place(s, ulpdu);
	struct rdmap_ooo *ooo;
	u32 kept = ulpdu->len;

	if (placed)
		kept = min_t(u32, kept, RDMAP_HDR_MAX);
	ooo = kvmalloc(struct_size(ooo, octets, kept), GFP_KERNEL);
	if (!ooo) {
		ooo_lost(s);
		return;
	}
	ooo->pos = ulpdu->pos;
	ooo->len = ulpdu->len;
	ooo->placed = placed;
	ooo->kept = kept;
	rdmap_ulpdu_copy(ulpdu, 0, ooo->octets, kept);
	rb_add_cached(&ooo->node, &s->ooo, ooo_before);
}

static void ooo_take(struct rdmap_stream *s, struct rdmap_ooo *ooo)
{
	const struct kvec frag = {
		.iov_base	= ooo->octets,
		.iov_len	= ooo->kept,
	};
	const struct mpa_ulpdu ulpdu = {
		.pos		= ooo->pos,
		.len		= ooo->len,
		.nr_frags	= 1,
		.frag		= &frag,
	};

	rdmap_take(s, &ulpdu, ooo->placed);
}

/* Process all segments below @delivered, in stream order. */
void rdmap_ooo_turn(struct rdmap_stream *s, u64 delivered)
{
	struct rdmap_ooo *ooo;

	while ((ooo = ooo_first(s)) && ooo->pos < delivered) {
		rb_erase_cached(&ooo->node, &s->ooo);
		ooo_take(s, ooo);
		kvfree(ooo);
	}
}

/* The connection has ended: free the segments that were not delivered. */
void rdmap_ooo_drop(struct rdmap_stream *s)
{
	struct rdmap_ooo *ooo, *next;

	rbtree_postorder_for_each_entry_safe(ooo, next, &s->ooo.rb_root,
					     node)
		kvfree(ooo);
	s->ooo = RB_ROOT_CACHED;
}
