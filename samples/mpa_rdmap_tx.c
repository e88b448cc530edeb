// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending messages. Each is a source: MPA asks for its next DDP segment when
 * there is room for one, and gives the largest length.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "mpa_rdmap.h"

/* Responses not handed back at which delivery is put on hold */
#define ANSWERS_MAX	256

static bool is_tagged(const struct rdmap_msg *msg)
{
	return msg->opcode == RDMAP_OP_WRITE ||
	       msg->opcode == RDMAP_OP_RESPONSE;
}

static enum rdmap_queue queue_of(const struct rdmap_msg *msg)
{
	return msg->opcode == RDMAP_OP_READ ? RDMAP_QN_READ : RDMAP_QN_SEND;
}

/* Write the header of the next segment; returns its length. */
static u32 msg_hdr(struct rdmap_msg *msg, bool last)
{
	struct rdmap_hdr hdr = {
		.last		= last,
		.tagged		= is_tagged(msg),
		.ddp_version	= msg->stream->version,
		.version	= msg->stream->version,
		.opcode		= msg->opcode,
	};

	if (hdr.tagged) {
		hdr.stag = msg->stag;
		hdr.to = msg->to + msg->done;
	} else {
		hdr.qn = queue_of(msg);
		hdr.msn = msg->msn;
		hdr.mo = msg->done;
	}
	return rdmap_hdr_put(msg->hdr, &hdr);
}

/* A Read Request in one segment; its length is far below any MULPDU. */
static int read_next(struct mpa_tx *tx, struct rdmap_msg *msg)
{
	u32 len = msg_hdr(msg, true);

	tx->hdr = msg->hdr;
	tx->hdr_len = len + rdmap_read_put(msg->hdr + len, &msg->read);
	msg->cut = true;
	return 0;
}

/* MPA asks for a ULPDU of at most @max octets. */
static int msg_next(struct mpa_tx *tx, u32 max)
{
	struct rdmap_msg *msg = container_of(tx, struct rdmap_msg, tx);
	struct rdmap_stream *s = msg->stream;
	u32 hdr_len = is_tagged(msg) ? RDMAP_TAGGED_LEN : RDMAP_UNTAGGED_LEN;
	bool last;

	tx->hdr_len = 0;
	tx->len = 0;
	if (test_bit(RDMAP_TERMINATED, &s->flags))
		return 0;
	if (msg->opcode == RDMAP_OP_READ)
		return read_next(tx, msg);

	tx->len = min(max - hdr_len, msg->len - msg->done);
	last = msg->done + tx->len == msg->len;
	tx->hdr = msg->hdr;
	tx->hdr_len = msg_hdr(msg, last);
	msg->done += tx->len;
	msg->cut = last;
	/* from now on the peer may know, and ask for more */
	if (last && msg->opcode == RDMAP_OP_RESPONSE && !msg->is_rtr)
		s->answering--;
	return !last;
}

static int msg_send(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	int err;

	if (msg->busy)
		return -EBUSY;
	msg->stream = s;
	msg->done = 0;
	msg->cut = false;
	msg->kv.iov_base = msg->mem;
	msg->kv.iov_len = msg->len;
	iov_iter_kvec(&msg->tx.data, ITER_SOURCE, &msg->kv, 1, msg->len);
	msg->tx.flags = 0;
	msg->tx.next = msg_next;
	if (!is_tagged(msg))
		msg->msn = s->msn_tx[queue_of(msg)]++;
	err = mpa_send(s->conn, &msg->tx);
	if (!err)
		msg->busy = true;
	return err;
}

/* Post a Send or RDMA Write. The stream owns @msg and octets until sent(). */
int rdmap_post(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	return msg_send(s, msg);
}

static void read_init(struct rdmap_msg *msg)
{
	msg->opcode = RDMAP_OP_READ;
	msg->mem = NULL;
	msg->len = 0;
	msg->answered = false;
}

/*
 * Post the RDMA Read described by @msg->read, into a buffer of ours. The stream
 * owns @msg until read(). Returns -EBUSY if as many are under way as ORD
 * allows: a request that waited here would be overtaken by messages posted
 * later, but messages must go in the order of their posting (RFC 5040 section
 * 5.5). The program can try again in read().
 */
int rdmap_post_read(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	int err;

	if (!s->res.ord)
		return -EOPNOTSUPP;
	if (s->nr_reads >= s->res.ord)
		return -EBUSY;
	read_init(msg);
	err = msg_send(s, msg);
	if (err)
		return err;
	list_add_tail(&msg->list, &s->reads);
	s->nr_reads++;
	return 0;
}

/* A Read is complete after its Response, and when its Request is handed back */
static void read_finish(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	if (!msg->answered || msg->busy || msg == &s->rtr)
		return;
	s->res.tx.reads++;
	if (s->app->read)
		s->app->read(s, msg);
}

/* The Response to the oldest of our Read Requests has arrived. */
void rdmap_read_done(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	list_del(&msg->list);
	if (msg != &s->rtr)
		s->nr_reads--;
	msg->answered = true;
	read_finish(s, msg);
}

/* Post the RTR: the first message, without payload, of the negotiated kind. */
int rdmap_post_rtr(struct rdmap_stream *s, u8 rtr)
{
	struct rdmap_msg *msg = &s->rtr;

	s->res.rtr = rtr;
	switch (rtr) {
	case MPA_RTR_READ:
		/* not checked, but some hardware rejects an STag of 0 */
		msg->read.sink_stag = 1;
		msg->read.source_stag = 1;
		read_init(msg);
		/* negotiated, so it does not count against ORD */
		list_add_tail(&msg->list, &s->reads);
		break;
	case MPA_RTR_WRITE:
		msg->opcode = RDMAP_OP_WRITE;
		msg->stag = 1;
		break;
	default:
		msg->opcode = RDMAP_OP_SEND;
		break;
	}
	return msg_send(s, msg);
}

/* Post the Response to a Read Request of the peer, or to its RTR. */
int rdmap_answer(struct rdmap_stream *s, const struct rdmap_read *read,
		 void *mem, bool is_rtr)
{
	struct rdmap_msg *msg;
	int err;

	msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	if (!msg) {
		rdmap_fail(s, -ENOMEM, "memory");
		return -ENOMEM;
	}
	msg->opcode = RDMAP_OP_RESPONSE;
	msg->owned = true;
	msg->is_rtr = is_rtr;
	msg->mem = mem;
	msg->len = read->size;
	msg->stag = read->sink_stag;
	msg->to = read->sink_to;
	err = msg_send(s, msg);
	if (err) {
		rdmap_fail(s, err, "closed");
		kfree(msg);
		return err;
	}
	s->answering += !is_rtr;
	if (++s->answers >= ANSWERS_MAX && !s->held) {
		s->held = true;
		mpa_hold(s->conn);
	}
	return 0;
}

static void answer_sent(struct rdmap_stream *s, struct rdmap_msg *msg)
{
	kfree(msg);
	if (--s->answers < ANSWERS_MAX / 2 && s->held) {
		s->held = false;
		mpa_resume(s->conn);
	}
}

static void count_sent(struct rdmap_stream *s, const struct rdmap_msg *msg)
{
	struct rdmap_count *tx = &s->res.tx;

	switch (msg->opcode) {
	case RDMAP_OP_WRITE:
		tx->writes++;
		break;
	case RDMAP_OP_SEND:
		tx->messages++;
		break;
	case RDMAP_OP_RESPONSE:
		s->res.rx.reads += !msg->is_rtr;
		break;
	}
	tx->octets += msg->len;
}

static void msg_sent(struct rdmap_stream *s, struct rdmap_msg *msg, bool app)
{
	msg->busy = false;
	if (msg->tx.status || !msg->cut || msg == &s->rtr)
		app = false;
	else
		count_sent(s, msg);
	if (msg->owned)
		answer_sent(s, msg);
	else if (app && msg->opcode == RDMAP_OP_READ)
		read_finish(s, msg);
	else if (app && s->app->sent)
		s->app->sent(s, msg);
}

static void take_back(struct rdmap_stream *s, struct list_head *done, bool app)
{
	struct mpa_tx *tx, *next;

	list_for_each_entry_safe(tx, next, done, list) {
		list_del(&tx->list);
		if (tx != &s->term)
			msg_sent(s, container_of(tx, struct rdmap_msg, tx),
				 app);
		else if (!tx->status)
			s->res.term_tx = s->term_err;
	}
}

void rdmap_sent(struct mpa_conn *conn, struct list_head *done)
{
	take_back(mpa_conn_ctx(conn), done, true);
}

/* The connection has ended: take messages back without telling the program. */
void rdmap_take_back(struct rdmap_stream *s, struct list_head *left)
{
	take_back(s, left, false);
}

/*
 * Send a Terminate; sources under way stop at their next segment. @seg is the
 * segment in error, or NULL. Called once, under the stream's lock.
 */
int rdmap_terminate(struct rdmap_stream *s, u32 err,
		    const struct rdmap_seg *seg)
{
	const struct rdmap_hdr hdr = {
		.last		= true,
		.ddp_version	= s->version,
		.version	= s->version,
		.opcode		= RDMAP_OP_TERMINATE,
		.qn		= RDMAP_QN_TERMINATE,
		.msn		= 1,
	};
	u8 *octets = s->term_octets;
	u32 len;

	set_bit(RDMAP_TERMINATED, &s->flags);
	s->term_err = err;
	len = rdmap_hdr_put(octets, &hdr);
	len += rdmap_term_put(octets + len, err, seg ? seg->ulpdu->len : 0,
			      seg ? seg->octets : NULL,
			      seg ? seg->nr_octets : 0);
	s->term.hdr = octets;
	s->term.hdr_len = len;
	return mpa_send(s->conn, &s->term);
}
