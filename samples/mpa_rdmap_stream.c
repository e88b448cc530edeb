// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A stream: the callbacks of its connection, and its end. A stream always ends
 * in these steps: our last message, our FIN, the peer's FIN, mpa_detach(),
 * released(). Timeouts bound the steps that depend on the peer.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "mpa_rdmap.h"

#define DRAIN	(2 * HZ)	/* time that the peer has to close */

/* Only the first failure is recorded. The timer calls this as well. */
void rdmap_fail(struct rdmap_stream *s, int status, const char *reason)
{
	if (test_and_set_bit(RDMAP_FAILED, &s->flags))
		return;
	s->res.status = status;
	s->res.reason = reason;
}

/*
 * Send a Terminate with @err unless that is 0, and close; the peer has a while
 * to close as well. Callbacks and the timer may both call this: the first call
 * does it, and the lock keeps the FIN after the Terminate. Returns 0, a
 * negative errno, or 1 if the stream was ending already.
 */
static int stream_end(struct rdmap_stream *s, u32 err,
		      const struct rdmap_seg *seg)
{
	int told = 0, closed = 1;

	spin_lock_bh(&s->lock);
	if (!test_and_set_bit(RDMAP_ENDING, &s->flags)) {
		if (err)
			told = rdmap_terminate(s, err, seg);
		closed = mpa_shutdown(s->conn);
		mod_timer(&s->timer, jiffies + DRAIN);
	}
	spin_unlock_bh(&s->lock);
	return told ?: closed;
}

/* End the stream after a failure, in a callback. */
void rdmap_finish(struct rdmap_stream *s, u32 err, const struct rdmap_seg *seg)
{
	s->deaf = true;
	stream_end(s, err, seg);
}

/* The program is done: send our FIN after all messages posted. */
void rdmap_close(struct rdmap_stream *s)
{
	int err = mpa_shutdown(s->conn);

	if (err)
		rdmap_fail(s, err, "closed");
}

/* A Responder that still waits for the first FPDU can only send a FIN. */
static u32 time_over(const struct rdmap_stream *s)
{
	return READ_ONCE(s->begun) ? RDMAP_ERR_LOCAL : 0;
}

/* Softirq: neither a Terminate nor mpa_abort() sleeps. */
static void stream_timer(struct timer_list *timer)
{
	struct rdmap_stream *s = container_of(timer, struct rdmap_stream,
					      timer);
	int err;

	rdmap_fail(s, -ETIMEDOUT, "timeout");
	err = stream_end(s, time_over(s), NULL);
	/* a callback was faster and has restarted the timer */
	if (!err || (err > 0 && timer_pending(timer)))
		return;
	mpa_abort(s->conn);
	mpa_detach(s->conn);
}

/* A signal has arrived: end the stream as at the deadline. */
void rdmap_interrupt(struct rdmap_stream *s)
{
	rdmap_fail(s, -EINTR, "closed");
	mod_timer(&s->timer, jiffies);
}

/* Post a buffer for a Send; buffers are used in the order of posting. */
void rdmap_post_recv(struct rdmap_stream *s, struct rdmap_recv *recv)
{
	list_add_tail(&recv->list, &s->recvs);
}

/* Without negotiation the administrators of both ends must agree. */
static u16 depth_in_use(const struct mpa_info *info, u16 negotiated, u16 given)
{
	if (!info->enhanced || negotiated == MPA_DEPTH_ULP)
		return given;
	return negotiated;
}

static void stream_negotiated(struct rdmap_stream *s)
{
	const struct mpa_info *info = &s->res.info;

	mpa_get_info(s->conn, &s->res.info);
	/* both layers are version 1 in RFC 5040, version 0 in RDMAC */
	s->version = info->rev != MPA_REV_0;
	s->res.ird = depth_in_use(info, info->ird, s->opts->ird);
	s->res.ord = depth_in_use(info, info->ord, s->opts->ord);
	if (!info->initiator)
		s->await_rtr = info->rtr;
}

/* Up to here this was enhanced startup: RFC 6581 section 9.3. */
static u32 begin_error(const struct mpa_info *info)
{
	return info->enhanced ? RDMAP_ERR_MPA(MPA_ERR_LOCAL) : RDMAP_ERR_LOCAL;
}

/*
 * The program begins, after our RTR. A Responder's program begins when the
 * first FPDU has arrived: MPA would hold its messages until then, and our FIN
 * after them.
 */
void rdmap_begin(struct rdmap_stream *s)
{
	const struct mpa_info *info = &s->res.info;
	int err = 0;

	WRITE_ONCE(s->begun, true);
	if (info->initiator && info->rtr)
		err = rdmap_post_rtr(s, info->rtr);
	if (!err)
		err = s->app->begin(s);
	if (!err)
		return;
	rdmap_fail(s, err, err == -ENOMEM ? "memory" : "closed");
	rdmap_finish(s, begin_error(info), NULL);
}

/* Attach the stream to its connection, and start the deadline. */
void rdmap_use(struct rdmap_stream *s, struct mpa_conn *conn)
{
	s->conn = conn;
	mod_timer(&s->timer, s->deadline);
}

static void stream_request(struct mpa_conn *conn,
			   const struct mpa_startup *req)
{
	struct rdmap_stream *s = mpa_conn_ctx(conn);
	const struct mpa_opts *opts = &s->opts->base;
	int err;

	rdmap_result_peer(&s->res, req);
	err = mpa_accept(conn, opts->pd, opts->pd_len);
	if (!err)
		return;
	rdmap_fail(s, err, "closed");
	mpa_detach(conn);
}

static void stream_established(struct mpa_conn *conn,
			       const struct mpa_startup *reply)
{
	struct rdmap_stream *s = mpa_conn_ctx(conn);

	if (reply)
		rdmap_result_peer(&s->res, reply);
	stream_negotiated(s);
	if (s->res.info.initiator)
		rdmap_begin(s);
	mpa_resume(conn);
}

static void stream_rejected(struct mpa_conn *conn,
			    const struct mpa_startup *reply)
{
	struct rdmap_stream *s = mpa_conn_ctx(conn);

	rdmap_result_peer(&s->res, reply);
	rdmap_fail(s, -ECONNREFUSED, "rejected");
	mpa_detach(conn);
}

static const char *end_reason(const struct mpa_end *end)
{
	static const char * const words[] = {
		[MPA_ERR_CRC]		= "crc",
		[MPA_ERR_MARKER]	= "marker",
		[MPA_ERR_FRAME]		= "frame",
		[MPA_ERR_LOCAL]		= "local",
		[MPA_ERR_IRD]		= "ird",
		[MPA_ERR_RTR]		= "rtr",
	};

	if (end->reason == MPA_REASON_TIMEOUT || end->err == -ETIMEDOUT)
		return "timeout";
	if (end->reason == MPA_REASON_RESET)
		return "reset";
	return words[end->error] ?: "closed";
}

/* RFC 5040 section 6.2.1: report errors of the LLP to the peer. */
static u32 end_terminate(const struct mpa_end *end)
{
	switch (end->error) {
	case MPA_ERR_CRC:
	case MPA_ERR_MARKER:
	case MPA_ERR_IRD:
	case MPA_ERR_RTR:
		return RDMAP_ERR_MPA(end->error);
	default:
		return 0;
	}
}

/* True if the peer closed between two messages and the program expects it */
static bool end_is_clean(const struct rdmap_stream *s,
			 const struct mpa_end *end)
{
	return end->reason == MPA_REASON_FIN && !end->err && s->idle &&
	       !s->mo && list_empty(&s->reads);
}

static void stream_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
	struct rdmap_stream *s = mpa_conn_ctx(conn);
	u32 err = end_terminate(end);

	s->clean = end_is_clean(s, end);
	if (s->clean) {
		mpa_shutdown(conn);
		return;
	}
	s->res.mpa_error = end->error;
	rdmap_fail(s, end->err ?: -ECONNABORTED, end_reason(end));
	if (err || end->reason == MPA_REASON_FIN ||
	    end->reason == MPA_REASON_TRUNCATED)
		rdmap_finish(s, err, NULL);
	else
		mpa_detach(conn);
}

static void stream_closed(struct mpa_conn *conn, int err)
{
	if (err)
		rdmap_fail(mpa_conn_ctx(conn), err, "reset");
	mpa_detach(conn);
}

static void stream_released(struct mpa_conn *conn, struct list_head *left)
{
	struct rdmap_stream *s = mpa_conn_ctx(conn);

	/* @timer knows the connection; after this no code uses it */
	timer_shutdown_sync(&s->timer);
	rdmap_take_back(s, left);
	if (!s->clean)	/* "stop", or the module is unloaded */
		rdmap_fail(s, -ECANCELED, "closed");
	mpa_get_info(conn, &s->res.info);
	s->over(s);
}

const struct mpa_ops rdmap_stream_ops = {
	.request	= stream_request,
	.established	= stream_established,
	.rejected	= stream_rejected,
	.recv		= rdmap_recv,
	.sent		= rdmap_sent,
	.ended		= stream_ended,
	.closed		= stream_closed,
	.released	= stream_released,
};

void rdmap_stream_init(struct rdmap_stream *s, struct net *net,
		       const struct rdmap_opts *opts)
{
	s->net = net;
	s->opts = opts;
	s->app = rdmap_app(opts);
	s->deadline = jiffies + opts->timeout * HZ;
	s->version = 1;
	s->msn_tx[RDMAP_QN_SEND] = 1;
	s->msn_tx[RDMAP_QN_READ] = 1;
	s->msn_rx[RDMAP_QN_SEND] = 1;
	s->msn_rx[RDMAP_QN_READ] = 1;
	s->msn_rx[RDMAP_QN_TERMINATE] = 1;
	INIT_LIST_HEAD(&s->recvs);
	INIT_LIST_HEAD(&s->regions);
	s->ooo = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&s->reads);
	spin_lock_init(&s->lock);
	timer_setup(&s->timer, stream_timer, 0);
	rdmap_result_init(&s->res);
}

/* Free the program's data and the socket; a failed connection is reset. */
void rdmap_stream_free(struct rdmap_stream *s)
{
	rdmap_ooo_drop(s);
	rdmap_regions_free(s);
	if (s->app->end)
		s->app->end(s);
	if (s->sock)
		sock_release(s->sock);
	kvfree(s->res.pd);
}
