// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receiving in order: from TCP's receive queue to the consumer's recv().
 *
 * Under the socket lock the skbs of the receive queue, from rx.seq on, are
 * cloned into a batch. The clones pin the octets whatever TCP does to the queue
 * afterwards; octets that a process may still write to are copied, and so are
 * few octets, for which a clone would cost more. The work item decodes FPDUs
 * and passes the batch to the consumer with no lock held. When it has been put,
 * its octets are consumed from TCP, in order, which opens the window.
 *
 * An FPDU that is larger than the receive window, or lies in too many pieces
 * for a batch, is first copied into one buffer. In the first case, and while
 * TCP as a whole is short of memory, its octets are consumed while they are
 * copied (rx.copy_consumed), so that the window opens for the rest.
 *
 * Of FPDUs that were passed out of order (mpa_rx_ooo.c) only lengths and
 * markers are checked when the stream reaches them. Then they are consumed like
 * others.
 *
 * If the consumer allows it, sk_data_ready() does all this itself for what has
 * just arrived (mpa_rx_run_here()), and sends the answer (mpa_tx_run_here()):
 * then no other task has to run first.
 *
 * Memory that a peer can make a connection hold: its receive buffer; as much
 * again in rx.pinned, for clones of skbs that TCP has collapsed since and for
 * copies; with MPA_F_OOO as much in ooo.pinned; one copy of an FPDU, at most
 * twice as long as what has arrived of it; and one batch in order, one out of
 * order.
 *
 * rx.pinned is not charged to the socket: TCP has normally charged the same
 * skbs, and charging them twice would halve the window. Instead
 * net.mpa.rx_mem_max bounds the sum over all connections of a namespace, to
 * which copies of FPDUs count as well. At that limit a connection gets no batch
 * while its consumer keeps one, nothing is passed out of order, and an FPDU
 * that is not complete is copied only if TCP could not get the rest of it
 * otherwise. One that is complete, in too many pieces, is always copied.
 */
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_rx_batch.h"
#include "mpa_rx_ooo.h"

#define MPA_RX_FPDUS	1024	/* FPDUs stepped over with the socket locked */
#define MPA_RX_WALK	4096	/* mpa_stream.steps before the last of them */
#define MPA_RX_COPY_MIN	256	/* less than the skb of a single octet takes */

/* Octets needed from rx.pos on to read ULPDU_Length. */
static u32 mpa_rx_header_size(const struct mpa_conn *conn)
{
	if (conn->terms.markers_rx && conn->rx.pos % MPA_MARKER_INTERVAL == 0)
		return MPA_MARKER_SIZE + MPA_LENGTH_SIZE;
	return MPA_LENGTH_SIZE;
}

/* Full operation begins at the first octet that has not been consumed. */
void mpa_rx_begin(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);
	conn->rx.seq = tcp_sk(sk)->copied_seq;
	conn->rx.want = mpa_rx_header_size(conn);
	WRITE_ONCE(conn->rx.wake_at, conn->rx.seq + conn->rx.want);
	mpa_rx_ooo_begin(conn);
	release_sock(sk);
}

/*
 * Socket lock or slock held. Octets in order after rx.seq. A FIN is not
 * counted; if it was consumed with the startup frame, rx.seq is already past
 * it.
 */
static u32 mpa_rx_avail(const struct mpa_conn *conn)
{
	u32 end = tcp_sk(conn->sk)->rcv_nxt - mpa_tcp_has_fin(conn->sk);

	sock_owned_by_me(conn->sk);

	return after(end, conn->rx.seq) ? end - conn->rx.seq : 0;
}

/* Free the batches that were put; their octets are owed to TCP. */
void mpa_rx_reap(struct mpa_conn *conn)
{
	LIST_HEAD(done);

	/*
	 * Mostly there is none: saves the call. Without the lock, since only
	 * the runner adds a batch.
	 */
	if (list_empty_careful(&conn->rx.batches))
		return;
	conn->rx.owed += mpa_batch_reap(conn, &done);
	mpa_batch_free_list(&done);
}

/* Socket lock held. Consume from TCP the octets of batches that were put. */
static void mpa_rx_consume(struct mpa_conn *conn)
{
	mpa_rx_reap(conn);
	if (conn->rx.owed)
		mpa_tcp_consume(conn);
}

/*
 * Socket lock held. Copy up to @len octets from stream position @pos on.
 * Returns how many were copied.
 */
static u32 mpa_rx_copy_octets(struct mpa_conn *conn, u64 pos, void *to, u32 len)
{
	struct mpa_queue q;

	mpa_queue_init(&q, conn, false);
	return mpa_queue_copy(&q, pos, to, len);
}

/* rx.capacity counts to the memory of the namespace, as rx.pinned does. */
static void mpa_rx_set_capacity(struct mpa_conn *conn, u32 capacity)
{
	spin_lock_bh(&conn->lock);
	mpa_net_rx_mem_add(conn->mn, (s64)capacity - conn->rx.capacity);
	conn->rx.capacity = capacity;
	spin_unlock_bh(&conn->lock);
}

/*
 * Socket lock held. Copy until rx.copy has @goal octets of the FPDU, at most
 * rx.want, and consume them if @eat is set. Returns 0, -ENOMEM, -EINPROGRESS
 * if they lie in so many skbs that the lock must be released in between, or
 * -EFAULT if TCP has octets that cannot be read.
 */
static int mpa_rx_copy(struct mpa_conn *conn, u32 goal, bool eat)
{
	struct mpa_conn_rx *rx = &conn->rx;
	u32 n, left, capacity;
	u8 *copy;

	goal = min(goal, rx->want);
	left = goal - rx->copied;
	if (!left)
		return 0;
	/*
	 * Allocate for octets that have arrived, not for what ULPDU_Length
	 * claims: a peer could claim 64 KB on each connection.
	 */
	if (goal > rx->capacity) {
		capacity = max(goal, MPA_RX_COPY_MIN);
		if (goal < rx->want)
			capacity = roundup_pow_of_two(capacity);
		copy = kvrealloc(rx->copy, capacity, mpa_conn_gfp(conn));
		if (!copy)
			return -ENOMEM;
		if (!rx->copy)
			mpa_count(conn, RX_COPIED);
		rx->copy = copy;
		mpa_rx_set_capacity(conn, capacity);
	}

	n = mpa_rx_copy_octets(conn, rx->pos + rx->copied,
			       rx->copy + rx->copied, left);
	if (!n)
		return -EFAULT;
	rx->copied += n;
	if (eat) {
		tcp_read_done(conn->sk, n);
		rx->copy_consumed += n;
	}
	return n < left ? -EINPROGRESS : 0;
}

/*
 * Socket lock held. True if the rest of this FPDU may not arrive before its
 * first octets are consumed: for lack of window, or of memory for TCP. The
 * latter shows as a window of zero when TCP has had to drop a segment; before
 * that, octets are moved out of TCP's memory only while there is room in ours.
 * False while octets before the FPDU are not consumed, and on hold, unless this
 * is the FPDU that lets a Responder send (CS-29).
 */
static bool mpa_rx_stuck(const struct mpa_conn *conn)
{
	if (conn->rx.pinned || conn->rx.owed ||
	    (mpa_conn_test(conn, MPA_CONN_HOLD) && conn->tx.may_send))
		return false;
	return mpa_tcp_window_is_small(conn->sk) ||
	       (tcp_under_memory_pressure(conn->sk) && !mpa_net_rx_full(conn));
}

/*
 * Socket lock held. True if the four octets at rx.pos, which are all that there
 * are, are zero. Some may have been consumed already: these are in rx.copy.
 */
static bool mpa_rx_is_zero_marker(struct mpa_conn *conn)
{
	u32 copied = conn->rx.copied;
	u8 marker[MPA_MARKER_SIZE];

	if (copied)
		memcpy(marker, conn->rx.copy, copied);
	return mpa_rx_copy_octets(conn, conn->rx.pos + copied, marker + copied,
				  sizeof(marker) - copied) ==
	       sizeof(marker) - copied &&
	       !memchr_inv(marker, 0, sizeof(marker));
}

/*
 * Socket lock held. FIN, with @avail octets after the last FPDU. A marker of
 * zero that was sent ahead of an FPDU that never came is tolerated.
 */
static void mpa_rx_end_by_fin(struct mpa_conn *conn, u32 avail)
{
	bool clean = !avail;

	if (avail == MPA_MARKER_SIZE && conn->terms.markers_rx &&
	    conn->rx.pos % MPA_MARKER_INTERVAL == 0)
		clean = mpa_rx_is_zero_marker(conn);
	mpa_conn_end(conn, clean ? MPA_REASON_FIN : MPA_REASON_TRUNCATED, 0);
}

/*
 * Socket lock held. There are fewer than rx.want octets: record how the stream
 * ended, or copy and consume them if the window is too small, or wait. Returns
 * NULL or an ERR_PTR().
 */
static struct mpa_batch *mpa_rx_incomplete(struct mpa_conn *conn, u32 avail)
{
	struct mpa_conn_rx *rx = &conn->rx;
	u32 want = rx->want;
	u64 limit;
	int err;

	/* No wait for the rest of an FPDU that runs into one passed before. */
	limit = mpa_rx_ooo_next_passed(conn, rx->pos);
	if (limit > rx->pos)
		want = min_t(u64, want, limit - rx->pos);
	if (want < rx->want && avail >= want) {
		mpa_conn_end(conn, MPA_REASON_MARKER, 0);
		return NULL;
	}
	if (tcp_sk(conn->sk)->urg_data) {
		mpa_conn_end(conn, MPA_REASON_URGENT, 0);
		return NULL;
	}
	if (mpa_tcp_has_fin(conn->sk)) {
		mpa_rx_end_by_fin(conn, avail);
		return NULL;
	}
	WRITE_ONCE(rx->wake_at, rx->seq + want);
	if (avail == rx->copied || !mpa_rx_stuck(conn))
		return NULL;
	err = mpa_rx_copy(conn, avail, true);
	return ERR_PTR(err);	/* NULL if @err is 0 */
}

/*
 * Apply what the decoder found: new position, error, octets needed next. @err:
 * 0, -EAGAIN: dec->size octets are needed, -ENOBUFS: it has too many fragments,
 * or -EBADMSG: it is wrong, for dec->reason.
 */
static void mpa_rx_decoded(struct mpa_conn *conn, const struct mpa_batch *b,
			   const struct mpa_dec *dec, int err)
{
	struct mpa_conn_rx *rx = &conn->rx;

	rx->pos += b->octets;
	rx->seq += b->octets;
	rx->want = mpa_rx_header_size(conn);
	if (err == -EBADMSG)
		mpa_conn_end(conn, dec->reason, 0);
	else if (err)
		rx->want = dec->size;
	rx->fragmented = err && !b->octets && (b->full || err == -ENOBUFS);
	/* CS-29: a valid FPDU has arrived, so a Responder may send. */
	if (b->octets)
		conn->tx.may_send = true;
}

/*
 * Socket lock held. The stream has reached FPDUs that were passed out of order:
 * skip those that are complete.
 */
static struct mpa_batch *mpa_rx_skip_passed(struct mpa_conn *conn, u32 avail)
{
	struct mpa_dec dec = {
		.pos = conn->rx.pos,
		.markers = true,
		.from_lead = mpa_conn_from_lead(conn),
	};
	struct mpa_queue q;
	struct mpa_batch *b;
	int err = 0;

	b = mpa_batch_alloc(conn);
	if (!b)
		return ERR_PTR(-ENOMEM);
	mpa_queue_init(&q, conn, false);
	while (b->already_passed < MPA_RX_FPDUS && q.src.steps < MPA_RX_WALK &&
	       mpa_rx_ooo_was_passed(conn, dec.pos)) {
		err = mpa_ooo_map_step(conn->ooo.known, &q.src, &dec);
		if (err)
			break;
		dec.pos += dec.size;
		b->octets += dec.size;
		b->already_passed++;
	}
	mpa_rx_decoded(conn, b, &dec, err);
	if (b->already_passed)
		return b;
	mpa_batch_free(b);
	if (err != -EAGAIN)
		return NULL;
	if (avail < conn->rx.want)
		return mpa_rx_incomplete(conn, avail);
	/* It lies in too many skbs for one hold of the lock. */
	conn->rx.fragmented = true;
	return ERR_PTR(-EINPROGRESS);
}

/*
 * Socket lock held. Returns a batch of octets to decode, or of FPDUs stepped
 * over; NULL if there is nothing to do, or the end was recorded; or an
 * ERR_PTR().
 */
static struct mpa_batch *mpa_rx_collect(struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	struct mpa_queue q __uninitialized;
	struct mpa_conn_rx *rx = &conn->rx;
	bool copy = rx->copy || rx->fragmented;
	struct mpa_batch *b;
	u32 avail;
	int err;

	avail = mpa_rx_avail(conn);
	if (tp->urg_data) {
		/* FPDUs before the urgent octet, which skbs may have, too */
		avail = min_t(u32, avail,
			      max_t(s32, tp->urg_seq - rx->seq, 0));
		copy = true;
	}
	if (avail < rx->want)
		return mpa_rx_incomplete(conn, avail);
	if (!copy && mpa_rx_ooo_was_passed(conn, rx->pos))
		return mpa_rx_skip_passed(conn, avail);

	if (copy) {
		err = mpa_rx_copy(conn, rx->want, rx->copy_consumed);
		if (err)
			return ERR_PTR(err);
	}
	b = mpa_batch_alloc(conn);
	if (!b)
		return ERR_PTR(-ENOMEM);
	if (copy) {
		mpa_batch_span(b, rx->copy, rx->copied);
		return b;
	}
	mpa_queue_init(&q, conn, false);
	if (avail <= MPA_BATCH_SHORT)
		err = mpa_batch_copy_short(b, &q, rx->pos, avail, rx->want);
	else
		err = mpa_batch_pin(b, &q, rx->pos, rx->want);
	if (!err)
		return b;
	mpa_batch_free(b);
	return ERR_PTR(err);
}

/*
 * No lock held. Check an FPDU in rx.copy that was passed out of order; its CRC
 * was verified then.
 */
static int mpa_rx_decode_passed(struct mpa_conn *conn, struct mpa_batch *b,
				struct mpa_dec *dec)
{
	struct mpa_octets in = {
		.v = b->span, .nr = b->nr_spans, .len = b->len,
	};
	int err;

	dec->crc = false;
	dec->frag = b->frag;
	dec->max_frags = MPA_BATCH_FRAGS;
	err = mpa_fpdu_decode(dec, &in);
	if (!err)
		err = mpa_ooo_map_reach(conn->ooo.known, dec);
	if (err < 0)
		return err;
	b->octets = dec->size;
	b->already_passed = 1;
	return 0;
}

/*
 * True if the copied FPDU is shorter than what was consumed of it, or longer
 * than it was: a process that shares the pages (splice()) changed ULPDU_Length.
 */
static bool mpa_rx_length_changed(const struct mpa_conn *conn,
				  const struct mpa_batch *b,
				  const struct mpa_dec *dec)
{
	const struct mpa_conn_rx *rx = &conn->rx;

	if (!rx->copy)
		return false;
	if (b->octets)
		return b->octets < rx->copy_consumed;
	return rx->want > mpa_rx_header_size(conn) && dec->size > rx->want;
}

/* Needs no lock. Decode the FPDUs of @b that are whole. */
static __always_inline void mpa_rx_decode(struct mpa_conn *conn,
					  struct mpa_batch *b)
{
	struct mpa_dec dec = {
		.pos = conn->rx.pos,
		.markers = conn->terms.markers_rx,
		.crc = conn->terms.crc,
		.from_lead = mpa_conn_from_lead(conn),
	};
	int err;

	if (mpa_rx_ooo_was_passed(conn, dec.pos))
		err = mpa_rx_decode_passed(conn, b, &dec);
	else
		err = mpa_batch_decode(b, &dec,
				       mpa_rx_ooo_next_passed(conn, dec.pos));
	if (mpa_rx_length_changed(conn, b, &dec)) {
		dec.reason = MPA_REASON_LENGTH;
		err = -EBADMSG;
		b->octets = 0;
	}
	mpa_rx_decoded(conn, b, &dec, err);
	mpa_rx_ooo_forget(conn, conn->rx.pos);
}

static void mpa_rx_forget_copy(struct mpa_conn *conn)
{
	conn->rx.copy = NULL;
	conn->rx.copied = 0;
	mpa_rx_set_capacity(conn, 0);
}

/*
 * Decode the octets of @b, if any are to be decoded, and put the complete FPDUs
 * into rx.ready. TCP has octets up to sequence number @end.
 */
static __always_inline void mpa_rx_make_ready(struct mpa_conn *conn,
					      struct mpa_batch *b, u32 end)
{
	struct mpa_conn_rx *rx = &conn->rx;

	if (!b->already_passed)
		mpa_rx_decode(conn, b);
	if (!b->octets) {
		mpa_batch_free(b);
		return;
	}
	/*
	 * Octets of rx.copy that were consumed are not consumed again.
	 * rx.copy_consumed stays set until mpa_rx_deliver(): a detach before
	 * that must reset TCP (mpa_loop_must_reset()).
	 */
	if (rx->copy) {
		b->copy = rx->copy;
		b->octets -= rx->copy_consumed;
		b->truesize += rx->capacity;
		mpa_rx_forget_copy(conn);
	}
	b->rx.delivered = rx->pos;
	rx->ready = b;
	/*
	 * If TCP had no more octets, and no FIN, than were decoded, a round
	 * after the next delivery would find nothing: sk_data_ready() queues
	 * the work item.
	 */
	rx->dry = rx->seq == end && !conn->ooo.on &&
		  !READ_ONCE(tcp_sk(conn->sk)->urg_data);
	if (rx->dry)
		WRITE_ONCE(rx->wake_at, rx->seq + rx->want);
}

/* Collect octets and decode them. True if another round may find work. */
static bool mpa_rx_fill(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;
	struct mpa_batch *b = NULL;
	u32 end;

	WRITE_ONCE(rx->blocked, false);
	lock_sock(conn->sk);
	if (mpa_conn_reconnected(conn)) {
		b = ERR_PTR(-ECONNRESET);
		goto unlock;
	}
	mpa_tcp_keep_window_updates(conn);
	/* If it were 2 GB old, before() would take it for a later number. */
	WRITE_ONCE(rx->wake_at, rx->seq);
	/* ULPDUs passed before are delivered first: consuming takes time. */
	if (mpa_rx_ooo_was_passed(conn, rx->pos) && (rx->pinned || rx->owed))
		b = mpa_rx_collect(conn);
	if (!b && !rx->end.error) {
		mpa_rx_consume(conn);
		b = mpa_rx_collect(conn);
	}
unlock:
	end = tcp_sk(conn->sk)->rcv_nxt;
	release_sock(conn->sk);

	switch (PTR_ERR_OR_ZERO(b)) {
	case 0:
		break;
	case -EINPROGRESS:
		return true;
	case -ENOMEM:
		/* The consumer may have to know of a loss to free memory. */
		if (rx->closed_err)
			mpa_conn_fail(conn, MPA_REASON_RESET, rx->closed_err);
		else
			mpa_conn_retry(conn);
		return false;
	default:
		mpa_conn_fail(conn, MPA_REASON_RESET, PTR_ERR(b));
		return false;
	}
	if (!b)
		return rx->end.error != MPA_ERR_NONE;
	mpa_rx_make_ready(conn, b, end);
	return true;
}

/* False on hold or after mpa_detach(). */
static __always_inline bool mpa_rx_deliver(struct mpa_conn *conn)
{
	struct mpa_batch *b = conn->rx.ready;

	if (!mpa_conn_enter_recv(conn))
		return false;
	conn->rx.ready = NULL;
	conn->rx.copy_consumed = 0;
	mpa_batch_pass(b);
	return true;
}

/*
 * After ended() nothing is delivered (ER-11), but octets that arrive are
 * consumed, so that TCP gets to the peer's FIN: to close a socket that has
 * unread octets would send a RST, which may overtake our last message.
 */
static void mpa_rx_discard(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	struct tcp_sock *tp = tcp_sk(sk);
	LIST_HEAD(done);

	/* The FPDU that was wrong or cut short may have been copied. */
	if (!conn->rx.discarded)
		mpa_rx_drop(conn);
	lock_sock(sk);
	mpa_batch_reap(conn, &done);
	conn->rx.owed = 0;
	if (tp->copied_seq != tp->rcv_nxt && !mpa_conn_reconnected(conn)) {
		/* Delivered octets that TCP still has are not discarded. */
		if (before(conn->rx.seq, tp->copied_seq))
			conn->rx.seq = tp->copied_seq;
		mpa_count_add(conn, RX_DISCARDED, mpa_rx_avail(conn));
		tcp_read_done(sk, tp->rcv_nxt - tp->copied_seq);
	}
	WRITE_ONCE(conn->rx.wake_at, tp->rcv_nxt + 1);
	release_sock(sk);
	conn->rx.discarded = true;
	mpa_batch_free_list(&done);
}

/*
 * True if the consumer may keep no more memory: on this connection, or all
 * consumers of the namespace together. A connection whose consumer keeps no
 * delivered batch always gets one, whatever is kept on others.
 */
static bool mpa_rx_over_limit(const struct mpa_conn *conn)
{
	u32 pinned = READ_ONCE(conn->rx.pinned);

	return pinned > READ_ONCE(conn->sk->sk_rcvbuf) ||
	       (pinned && mpa_net_rx_full(conn));
}

/*
 * Nothing is passed until a batch is put. mpa_rx_put() queues the work item of
 * its own connection only: for batches of others the timer looks again.
 */
static void mpa_rx_wait_for_limit(struct mpa_conn *conn)
{
	if (READ_ONCE(conn->rx.pinned) > READ_ONCE(conn->sk->sk_rcvbuf) ||
	    mpa_conn_test(conn, MPA_CONN_HOLD))
		return;
	mpa_count(conn, RX_LIMITED);
	timer_reduce(&conn->timer, jiffies + MPA_RX_LIMITED_WAIT);
}

static void mpa_rx_lock_and_consume(struct mpa_conn *conn)
{
	lock_sock(conn->sk);
	if (!mpa_conn_reconnected(conn))
		mpa_tcp_keep_window_updates(conn);
	mpa_rx_consume(conn);
	release_sock(conn->sk);
}

/* Consume octets that were put, though nothing new can be passed. */
static void mpa_rx_block(struct mpa_conn *conn)
{
	WRITE_ONCE(conn->rx.blocked, true);
	conn->rx.dry = false;
	mpa_rx_lock_and_consume(conn);
}

/*
 * No round follows in this run, in full operation: consume what recv() has not
 * kept, unless that was done with the socket lock that sending took.
 */
void mpa_rx_consume_owed(struct mpa_conn *conn)
{
	if (conn->rx.owed || mpa_batch_oldest_done(conn))
		mpa_rx_lock_and_consume(conn);
}

/*
 * True if nothing, not even a FIN, has come since mpa_rx_make_ready() set
 * rx.dry, and the round has no window to see to: mpa_tcp_keep_window_updates().
 */
static bool mpa_rx_is_dry(const struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);

	return READ_ONCE(tp->rcv_nxt) == conn->rx.seq && conn->rx.dry &&
	       !READ_ONCE(conn->rx.nomem) && !conn->rx.ready &&
	       !READ_ONCE(tp->urg_data);
}

/* Runner only. True if there is nothing to receive, consume or report. */
bool mpa_rx_is_idle(const struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	const struct mpa_conn_rx *rx = &conn->rx;

	return READ_ONCE(tp->rcv_nxt) == rx->seq && !READ_ONCE(tp->urg_data) &&
	       !(READ_ONCE(conn->sk->sk_shutdown) & RCV_SHUTDOWN) &&
	       !READ_ONCE(rx->nomem) && !rx->ready && !rx->copy &&
	       !rx->blocked && !rx->owed && !rx->end.error && !conn->ooo.on &&
	       list_empty_careful(&rx->batches);
}

/*
 * Socket lock held. True if TCP has an FPDU or a FIN to pass, and gets nothing
 * more: not if it is alive in spite of an error (IP_RECVERR), nor if another
 * user has disconnected it, which drops what was not read. TCP consumes a FIN
 * with the last octets before it, and it is still to be passed.
 */
static bool mpa_rx_closed_with_more(struct mpa_conn *conn)
{
	const struct mpa_conn_rx *rx = &conn->rx;
	struct sock *sk = conn->sk;

	return sk->sk_state == TCP_CLOSE && !mpa_conn_reconnected(conn) &&
	       !after(tcp_sk(sk)->copied_seq,
		      rx->seq + rx->copy_consumed + mpa_tcp_has_fin(sk)) &&
	       (mpa_rx_avail(conn) >= rx->want || mpa_tcp_has_fin(sk));
}

/*
 * Runner only, once TCP is lost. True if FPDUs or a FIN came before that which
 * are still to be passed, or an end that is still to be reported. False if the
 * consumer has to do something first: it is told of the loss at once.
 */
bool mpa_rx_has_left(struct mpa_conn *conn)
{
	const struct mpa_conn_rx *rx = &conn->rx;
	bool left;

	if (conn->state != MPA_STATE_FULL || rx->reported)
		return false;
	if (rx->end.error && !rx->ready)
		return true;
	if (mpa_conn_test(conn, MPA_CONN_HOLD))
		return false;
	if (rx->ready)
		return true;
	mpa_rx_reap(conn);
	if (mpa_rx_over_limit(conn))
		return false;
	lock_sock(conn->sk);
	left = mpa_rx_closed_with_more(conn);
	release_sock(conn->sk);
	return left;
}

/*
 * Work item, in full operation: the receive half's share of a round. True if
 * another round may find work.
 */
bool mpa_rx_run(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;
	bool more = false;

	if (rx->reported) {
		mpa_rx_discard(conn);
		return false;
	}
	/*
	 * Nothing new: what is owed to TCP is consumed while mpa_tx_step() has
	 * the socket lock, or by mpa_rx_consume_owed().
	 */
	if (mpa_rx_is_dry(conn))
		return false;
	mpa_rx_ooo_pass(conn);
	if (!rx->ready && !rx->end.error) {
		if (mpa_rx_over_limit(conn)) {
			mpa_rx_block(conn);
			if (mpa_rx_over_limit(conn)) {
				mpa_rx_wait_for_limit(conn);
				return false;
			}
		}
		more = mpa_rx_fill(conn);
		if (conn->state == MPA_STATE_CLOSED)
			return false;
	}
	/* Those in ooo.ready come first: rx.ready's Delivery may cover them. */
	if (rx->ready && !conn->ooo.ready && mpa_rx_deliver(conn))
		return !rx->dry;
	if (rx->ready) {
		mpa_rx_block(conn);
		return more;
	}
	if (rx->end.error) {
		/* All before the end was delivered: mpa_loop.c reports it. */
		WRITE_ONCE(rx->blocked, false);
		rx->end_due = true;
		return true;
	}
	return more || mpa_rx_ooo_search(conn);
}

/*
 * True if all that TCP has can be passed without sleeping, and without a round
 * of the work item after it, such as for messages that wait for the first FPDU.
 */
static bool mpa_rx_can_run_here(const struct mpa_conn *conn)
{
	const struct mpa_conn_rx *rx = &conn->rx;
	u32 avail = mpa_rx_avail(conn);

	return mpa_conn_plain(conn, BIT(MPA_CONN_HOLD)) && conn->tx.may_send &&
	       avail >= rx->want && avail <= MPA_SOFTIRQ_OCTETS &&
	       !rx->end.error && !rx->ready && !rx->copy && !rx->fragmented &&
	       !conn->ooo.on && !tcp_sk(conn->sk)->urg_data &&
	       !mpa_rx_over_limit(conn);
}

/*
 * For mpa_sk_run_here(), with the socket lock or slock held. Returns false if a
 * round has to go on: for all that mpa_rx_can_run_here() refuses, and all
 * errors.
 */
static bool mpa_rx_run_here(struct mpa_conn *conn)
{
	struct mpa_batch *b;

	if (!mpa_rx_can_run_here(conn))
		return false;
	/* Why mpa_rx_run() blocked is over, and no round may follow. */
	WRITE_ONCE(conn->rx.blocked, false);
	mpa_rx_consume(conn);
	b = mpa_rx_collect(conn);
	if (IS_ERR_OR_NULL(b))
		return false;
	mpa_rx_make_ready(conn, b, tcp_sk(conn->sk)->rcv_nxt);
	if (!conn->rx.ready || !mpa_rx_deliver(conn))
		return false;
	mpa_rx_consume(conn);
	return conn->rx.dry;
}

/**
 * mpa_allow_softirq() - have recv() called where octets arrive
 * @conn: connection; call it before mpa_resume()
 *
 * From now on recv() is also called from TCP's sk_data_ready(), mostly in
 * softirq, if no more than %MPA_SOFTIRQ_OCTETS have arrived, in order, and
 * nothing else is under way on the connection. A peer's answer then waits for
 * no other task, which may take milliseconds where an application polls. This
 * is never so on a connection that passes ULPDUs out of order (%MPA_F_OOO), nor
 * for a Responder's first FPDU.
 *
 * Such a recv() does not sleep. It runs with BH off (in a task where that
 * processes the socket's backlog), under the slock (or socket lock): it must
 * take no lock under which another task locks a socket. run() does not follow
 * it, unless it calls mpa_kick(). What it posts is sent by the work item, see
 * mpa_allow_softirq_send(). RFC 5044 has no counterpart.
 *
 * Context: any; takes no lock. May be called from callbacks.
 */
void mpa_allow_softirq(struct mpa_conn *conn)
{
	WRITE_ONCE(conn->rx.run_here, mpa_rx_run_here);
}
EXPORT_SYMBOL_GPL(mpa_allow_softirq);

/*
 * Drop octets that were decoded or copied, and not delivered. RX_DISCARDED
 * counts those decoded (which TCP may still have, for the next reader), and
 * those that TCP has no longer.
 */
void mpa_rx_drop(struct mpa_conn *conn)
{
	struct mpa_conn_rx *rx = &conn->rx;

	mpa_count_add(conn, RX_DISCARDED, rx->copy_consumed);
	if (rx->ready) {
		mpa_count_add(conn, RX_DISCARDED, rx->ready->octets);
		mpa_batch_free(rx->ready);
	}
	rx->ready = NULL;
	mpa_rx_ooo_drop(conn);
	kvfree(rx->copy);
	mpa_rx_forget_copy(conn);
	rx->copy_consumed = 0;
}

/*
 * MPA leaves the socket: consume all octets that were delivered, so that the
 * first unread octet is the one after them.
 */
void mpa_rx_finish(struct mpa_conn *conn)
{
	struct mpa_batch *b;

	mpa_rx_drop(conn);
	spin_lock_bh(&conn->lock);
	list_for_each_entry(b, &conn->rx.batches, node) {
		conn->rx.owed += b->octets;
		b->octets = 0;
	}
	spin_unlock_bh(&conn->lock);

	if (!conn->rx.owed || conn->rx.discarded)
		return;
	lock_sock(conn->sk);
	mpa_tcp_consume(conn);
	release_sock(conn->sk);
}

/*
 * Work item, once the connection is released: free batches put since then.
 * mpa_rx_put() cannot: its caller may hold a spinlock, and kvfree() may sleep.
 */
void mpa_rx_free_batches(struct mpa_conn *conn)
{
	LIST_HEAD(done);

	mpa_batch_reap(conn, &done);
	mpa_batch_free_list(&done);
}
