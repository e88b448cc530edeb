// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP segments that are delivered. A segment is checked completely before any
 * of its octets are placed, and placed from the memory where MPA has it: the
 * only copy, unless the segment had to wait for its delivery. Each function
 * that takes a segment returns the error for a Terminate, or 0.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uio.h>

#include "mpa_rdmap.h"

/* Copy @len octets of a ULPDU from @off on. Callers have checked the length. */
void rdmap_ulpdu_copy(const struct mpa_ulpdu *ulpdu, u32 off, void *to,
		      u32 len)
{
	struct iov_iter iter;

	iov_iter_kvec(&iter, ITER_SOURCE, ulpdu->frag, ulpdu->nr_frags,
		      ulpdu->len);
	iov_iter_advance(&iter, off);
	WARN_ON_ONCE(copy_from_iter(to, len, &iter) != len);
}

static void place(const struct rdmap_seg *seg, void *to)
{
	if (!seg->placed)
		rdmap_ulpdu_copy(seg->ulpdu, seg->hdr_len, to, seg->len);
}

/* Untagged segments must be in order, per queue. */
static u32 check_order(const struct rdmap_stream *s,
		       const struct rdmap_seg *seg, u32 mo)
{
	if (seg->hdr.msn != s->msn_rx[seg->hdr.qn])
		return DDP_ERR_MSN;
	if (seg->hdr.mo != mo)
		return DDP_ERR_MO;
	return 0;
}

static bool is_invalidating(const struct rdmap_seg *seg)
{
	return seg->hdr.opcode == RDMAP_OP_SEND_INV ||
	       seg->hdr.opcode == RDMAP_OP_SEND_SE_INV;
}

static void send_complete(struct rdmap_stream *s, struct rdmap_recv *recv)
{
	list_del(&recv->list);
	recv->len = s->mo;
	s->mo = 0;
	s->msn_rx[RDMAP_QN_SEND]++;
	s->res.rx.messages++;
	if (s->app->received)
		s->app->received(s, recv);
}

static u32 take_send(struct rdmap_stream *s, const struct rdmap_seg *seg)
{
	struct rdmap_region *done_with = NULL;
	struct rdmap_recv *recv;
	u32 err;

	err = check_order(s, seg, s->mo);
	if (err)
		return err;
	recv = list_first_entry_or_null(&s->recvs, struct rdmap_recv, list);
	if (!recv)
		return DDP_ERR_NO_BUFFER;
	if (seg->len > recv->size - s->mo)
		return DDP_ERR_TOO_LONG;
	if (is_invalidating(seg))
		err = rdmap_region_yield(s, seg->hdr.stag, &done_with);
	if (err)
		return err;
	place(seg, recv->mem + s->mo);
	s->mo += seg->len;
	s->res.rx.octets += seg->len;
	if (!seg->hdr.last)
		return 0;
	if (done_with)
		rdmap_region_invalidate(done_with);
	send_complete(s, recv);
	return 0;
}

/*
 * Translate an error of RDMAP into one of DDP. DDP has no error for access
 * rights: the STag is reported as not valid.
 */
static u32 tagged_err(u32 err)
{
	switch (err) {
	case RDMAP_ERR_BOUNDS:
		return DDP_ERR_TAGGED_BOUNDS;
	case RDMAP_ERR_STREAM:
		return DDP_ERR_TAGGED_STREAM;
	case RDMAP_ERR_WRAP:
		return DDP_ERR_TAGGED_WRAP;
	default:
		return DDP_ERR_TAGGED_STAG;
	}
}

/* Find and check the buffer for the payload of a tagged segment. */
u32 rdmap_sink_find(struct rdmap_stream *s, const struct rdmap_seg *seg,
		    u32 access, void **to)
{
	const struct rdmap_hdr *hdr = &seg->hdr;
	struct rdmap_region *region;
	u32 err;

	err = rdmap_region_find(s, hdr->stag, &region);
	if (err)
		return tagged_err(err);
	if (!(region->access & access))
		return tagged_err(RDMAP_ERR_ACCESS);
	err = rdmap_region_check(region, hdr->to, seg->len);
	if (err)
		return tagged_err(err);
	*to = region->mem + (hdr->to - region->base);
	return 0;
}

/* A segment without payload is not checked (RFC 5041 section 7.1). */
static u32 place_tagged(struct rdmap_stream *s, const struct rdmap_seg *seg,
			u32 access)
{
	void *to;
	u32 err;

	if (!seg->len)
		return 0;
	err = rdmap_sink_find(s, seg, access, &to);
	if (err)
		return err;
	place(seg, to);
	s->res.rx.octets += seg->len;
	return 0;
}

static u32 take_write(struct rdmap_stream *s, const struct rdmap_seg *seg)
{
	u32 err = place_tagged(s, seg, RDMAP_REMOTE_WRITE);

	if (!err && seg->hdr.last)
		s->res.rx.writes++;
	return err;
}

/* The Response must match the oldest Read Request. */
static u32 check_response(const struct rdmap_msg *msg,
			  const struct rdmap_seg *seg)
{
	const struct rdmap_read *read = &msg->read;
	u32 left = read->size - msg->done;
	bool ends;

	if (seg->len > left)
		return DDP_ERR_TAGGED_BOUNDS;
	ends = seg->len == left;
	if (seg->hdr.last != ends)
		return RDMAP_ERR_UNSPECIFIED;
	if (!seg->len)
		return 0;
	if (seg->hdr.stag != read->sink_stag)
		return DDP_ERR_TAGGED_STAG;
	if (seg->hdr.to != read->sink_to + msg->done)
		return DDP_ERR_TAGGED_BOUNDS;
	return 0;
}

static u32 take_response(struct rdmap_stream *s, const struct rdmap_seg *seg)
{
	struct rdmap_msg *msg;
	u32 err;

	msg = list_first_entry_or_null(&s->reads, struct rdmap_msg, list);
	if (!msg)
		return RDMAP_ERR_OPCODE;
	err = check_response(msg, seg);
	if (!err)
		err = place_tagged(s, seg, RDMAP_READ_SINK);
	if (err)
		return err;
	msg->done += seg->len;
	if (seg->hdr.last)
		rdmap_read_done(s, msg);
	return 0;
}

/* Find the source of a Read Request; a request for no octets names none. */
static u32 find_source(struct rdmap_stream *s, const struct rdmap_read *read,
		       void **mem)
{
	struct rdmap_region *region;
	u32 err;

	*mem = NULL;
	if (!read->size)
		return 0;
	err = rdmap_region_find(s, read->source_stag, &region);
	if (err)
		return err;
	if (!(region->access & RDMAP_REMOTE_READ))
		return RDMAP_ERR_ACCESS;
	err = rdmap_region_check(region, read->source_to, read->size);
	if (!err)
		*mem = region->mem + (read->source_to - region->base);
	return err;
}

/* This queue has as many buffers as our IRD, and one for an RTR. */
static u32 take_request(struct rdmap_stream *s, const struct rdmap_seg *seg,
			bool is_rtr)
{
	struct rdmap_read read;
	void *mem;
	u32 err;

	err = check_order(s, seg, 0);
	if (err)
		return err;
	if (!is_rtr && s->answering >= s->res.ird)
		return DDP_ERR_NO_BUFFER;
	if (seg->len > RDMAP_READ_LEN)
		return DDP_ERR_TOO_LONG;
	if (seg->len < RDMAP_READ_LEN || !seg->hdr.last)
		return RDMAP_ERR_UNSPECIFIED;
	s->msn_rx[RDMAP_QN_READ]++;
	rdmap_read_get(&read, seg->octets + seg->hdr_len);
	err = find_source(s, &read, &mem);
	if (err)
		return err;
	return rdmap_answer(s, &read, mem, is_rtr) ? RDMAP_ERR_LOCAL : 0;
}

static u32 take_read(struct rdmap_stream *s, const struct rdmap_seg *seg)
{
	return take_request(s, seg, false);
}

/* The peer gives up, and expects only our FIN. */
static u32 take_terminate(struct rdmap_stream *s, const struct rdmap_seg *seg)
{
	u32 err;

	err = check_order(s, seg, 0);
	if (err)
		return err;
	s->res.term_rx = rdmap_term_get(seg->octets + seg->hdr_len,
					seg->nr_octets - seg->hdr_len,
					&s->res.term_swapped);
	rdmap_fail(s, -EREMOTEIO, "terminated");
	set_bit(RDMAP_TERMINATED, &s->flags);
	rdmap_finish(s, 0, NULL);
	return 0;
}

static u32 (*const takers[RDMAP_OPS])(struct rdmap_stream *s,
				      const struct rdmap_seg *seg) = {
	[RDMAP_OP_WRITE]	= take_write,
	[RDMAP_OP_READ]		= take_read,
	[RDMAP_OP_RESPONSE]	= take_response,
	[RDMAP_OP_SEND]		= take_send,
	[RDMAP_OP_SEND_INV]	= take_send,
	[RDMAP_OP_SEND_SE]	= take_send,
	[RDMAP_OP_SEND_SE_INV]	= take_send,
	[RDMAP_OP_TERMINATE]	= take_terminate,
};

/* Kind of RTR of a segment, or 0 */
static u8 rtr_kind(const struct rdmap_seg *seg)
{
	static const u8 no_read[4];

	if (!seg->hdr.last)
		return 0;
	switch (seg->hdr.opcode) {
	case RDMAP_OP_SEND:
		return seg->len ? 0 : MPA_RTR_SEND;
	case RDMAP_OP_WRITE:
		return seg->len ? 0 : MPA_RTR_WRITE;
	case RDMAP_OP_READ:
		/* RDMA Read Message Size, after the Data Sink */
		if (seg->len != RDMAP_READ_LEN ||
		    memcmp(seg->octets + seg->hdr_len + 12, no_read, 4))
			return 0;
		return MPA_RTR_READ;
	}
	return 0;
}

/* The RTR is handled here: it takes no buffer of the program. */
static u32 take_rtr(struct rdmap_stream *s, const struct rdmap_seg *seg)
{
	u8 kind = rtr_kind(seg);
	u32 err;

	if (!(kind & s->await_rtr))
		return RDMAP_ERR_MPA(MPA_ERR_RTR);
	s->await_rtr = 0;
	s->res.rtr = kind;
	if (kind == MPA_RTR_WRITE)
		return 0;
	if (kind == MPA_RTR_READ)
		return take_request(s, seg, true);
	err = check_order(s, seg, 0);
	if (!err)
		s->msn_rx[RDMAP_QN_SEND]++;
	return err;
}

/* Read the headers. Returns false if there are none, so none are sent back. */
bool rdmap_seg_get(struct rdmap_seg *seg, const struct mpa_ulpdu *ulpdu)
{
	seg->ulpdu = ulpdu;
	seg->nr_octets = min_t(u32, ulpdu->len, sizeof(seg->octets));
	rdmap_ulpdu_copy(ulpdu, 0, seg->octets, seg->nr_octets);
	seg->hdr_len = rdmap_hdr_get(&seg->hdr, seg->octets, seg->nr_octets);
	if (!seg->hdr_len) {
		seg->nr_octets = 0;
		return false;
	}
	seg->len = ulpdu->len - seg->hdr_len;
	return true;
}

static u32 take_seg(struct rdmap_stream *s, struct rdmap_seg *seg,
		    const struct mpa_ulpdu *ulpdu)
{
	u32 err;

	if (!rdmap_seg_get(seg, ulpdu))
		return RDMAP_ERR_UNSPECIFIED;
	err = rdmap_hdr_check(&seg->hdr, s->version);
	if (err)
		return err;
	if (s->await_rtr && seg->hdr.opcode != RDMAP_OP_TERMINATE)
		return take_rtr(s, seg);
	return takers[seg->hdr.opcode](s, seg);
}

/* A Terminate repeats the DDP header, and the header of a Read Request. */
static void trim_headers(struct rdmap_seg *seg)
{
	if (!seg->nr_octets)
		return;
	if (seg->hdr.tagged || seg->hdr.opcode != RDMAP_OP_READ ||
	    seg->nr_octets < RDMAP_HDR_MAX)
		seg->nr_octets = seg->hdr_len;
}

static void refuse(struct rdmap_stream *s, struct rdmap_seg *seg, u32 err)
{
	trim_headers(seg);
	rdmap_fail(s, -EPROTO, "protocol");
	rdmap_finish(s, err, seg);
}

/* Process @ulpdu, now delivered; its payload may have been placed before. */
void rdmap_take(struct rdmap_stream *s, const struct mpa_ulpdu *ulpdu,
		bool placed)
{
	struct rdmap_seg seg = { .placed = placed };
	u32 err;

	if (!s->begun)
		rdmap_begin(s);
	if (s->deaf)
		return;
	err = take_seg(s, &seg, ulpdu);
	if (err)
		refuse(s, &seg, err);
}

/* Delivery is by position, in whatever order segments were passed. */
void rdmap_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	struct rdmap_stream *s = mpa_conn_ctx(conn);
	const struct mpa_ulpdu *ulpdu = rx->ulpdu;
	unsigned int i;

	for (i = 0; i < rx->nr && !s->deaf; i++, ulpdu++) {
		if (ulpdu->pos >= rx->delivered) {
			rdmap_ooo_keep(s, ulpdu);
			continue;
		}
		rdmap_ooo_turn(s, ulpdu->pos);
		rdmap_take(s, ulpdu, false);
	}
	rdmap_ooo_turn(s, rx->delivered);
}
