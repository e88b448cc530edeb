// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending: from the consumer's messages to TCP.
 *
 * A message waits in tx.queue, in the consumer's memory. When TCP has room, the
 * runner builds a train of FPDUs (mpa_tx_train.c) with no lock held, and gives
 * it to TCP, record by record, in one hold of the socket lock. If one short
 * ULPDU is all, it needs no train: it is framed in that hold. So it can be sent
 * by sk_data_ready(), too, which may not sleep: mpa_tx_run_here().
 *
 * TCP would cut a record of several segments elsewhere than between FPDUs in
 * four cases. MPA avoids them for what it gives to TCP. When TCP cuts octets
 * that it already has, see "An FPDU that is queued can still be cut" in
 * mpa-design.rst.
 *
 * - The record goes past the window that the peer offers. So no train does,
 *   unless it is a single segment's worth, which TCP does not cut there.
 * - SACK blocks take room in each segment, while there are holes in the peer's
 *   octets. Then, and for MPA_SACK_IDLE after the last hole, FPDUs leave room
 *   for SACK blocks.
 * - So does AccECN's option, if both ends have negotiated that.
 * - The EMSS has changed since the train was built.
 *
 * In the last three each segment's worth is given to TCP in a call of its own.
 *
 * In one skb, TCP cuts segments of the EMSS only. FPDUs that do not fill the
 * EMSS would have an skb each, which costs several times as much. So while
 * FPDUs of one length follow each other, MPA lowers the EMSS to the length of
 * as many of them as fit (mpa_tx_set_emss()). The MULPDU stays that of the
 * path's EMSS.
 *
 * A message moves from tx.queue to tx.cur while it is being framed, then to
 * tx.sending, then it is handed back. It is never in two places. tx.pos is the
 * stream position after the last octet framed, tx.sent the one after the last
 * octet that TCP has taken. A message is done when tx.sent has reached its end
 * and, with zero copy, no ubuf is left that begins before its end. If TCP takes
 * only part of a train, the rest is kept; no other train is built before TCP
 * has it.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_conn.h"
#include "mpa_tx_train.h"

/* Most octets of a train, which may be one skb: TCP puts no more into that */
#define MPA_TX_OCTETS	(GSO_LEGACY_MAX_SIZE - MAX_TCP_HEADER - 1)
#define MPA_SACK_IDLE	(4 * HZ)	/* since the last hole */
#define MPA_TX_SHORT_MAX MPA_SOFTIRQ_SEND /* ULPDU to send without a train */
/*
 * A short FPDU fits this EMSS: one of many segments has TCP process the backlog
 * in between, from which sk_data_ready() may have been called.
 */
#define MPA_TX_HERE_EMSS (2 * MPA_TX_SHORT_MAX)

static u64 mpa_tx_sent(const struct mpa_conn *conn)
{
	return atomic64_read(&conn->tx.sent);
}

/*
 * Free the ubufs that nothing refers to, in order. Returns the stream position
 * up to which messages can be handed back: TCP has taken all octets before it,
 * and the network stack has dropped the consumer's pages with them.
 */
static u64 mpa_tx_reap_ubufs(struct mpa_conn *conn)
{
	struct mpa_tx_ubuf *ubuf, *tmp;

	list_for_each_entry_safe(ubuf, tmp, &conn->tx.ubufs, list) {
		if (refcount_read(&ubuf->info.refcnt))
			return min(mpa_tx_sent(conn), ubuf->pos);
		list_del(&ubuf->list);
		kfree(ubuf);
	}
	return mpa_tx_sent(conn);
}

/* Move the messages that end at @pos or before to @done, which is empty. */
static void mpa_tx_take_done(struct mpa_conn *conn, u64 pos,
			     struct list_head *done)
{
	struct mpa_tx *tx;

	list_for_each_entry(tx, &conn->tx.sending, list)
		if (tx->end > pos)
			break;
	/* All of them, if @tx is the list's head by now */
	list_cut_before(done, &conn->tx.sending, &tx->list);
}

/* Move the messages that can be handed back to @done, which is empty. */
void mpa_tx_collect(struct mpa_conn *conn, struct list_head *done)
{
	mpa_tx_take_done(conn, mpa_tx_reap_ubufs(conn), done);
}

/*
 * Full operation. As mpa_tx_reap_ubufs(), but TCP frees the pages of a
 * connection that it has lost as well. Then the messages from the first ubuf on
 * are left for mpa_loop_check_lost() to fail, and do not count as sent. Those
 * before it were copied: the peer may have answered them, and the answer is
 * passed after them.
 */
static u64 mpa_tx_sent_pos(struct mpa_conn *conn)
{
	struct mpa_tx_ubuf *ubuf;
	u64 pos, copied;

	/* Mostly there is none */
	if (list_empty(&conn->tx.ubufs))
		return mpa_tx_sent(conn);
	ubuf = list_first_entry(&conn->tx.ubufs, struct mpa_tx_ubuf, list);
	copied = ubuf->pos;
	pos = mpa_tx_reap_ubufs(conn);
	/*
	 * Pairs with smp_wmb() in tcp_done_with_error(), which sets sk_err
	 * before it drops a ubuf's references.
	 */
	smp_rmb();
	/* sendmsg() may have taken the error off the socket. */
	return conn->rx.closed_err || mpa_tcp_lost(conn->sk) ||
	       mpa_conn_reconnected(conn) ? min(pos, copied) : pos;
}

/* Hand back the messages that are done. Returns true if all in sending were. */
bool mpa_tx_flush(struct mpa_conn *conn)
{
	LIST_HEAD(done);

	if (list_empty(&conn->tx.sending))
		return true;
	mpa_tx_take_done(conn, conn->state == MPA_STATE_CLOSED ?
			       mpa_tx_reap_ubufs(conn) : mpa_tx_sent_pos(conn),
			 &done);
	/* After mpa_detach() they go to released(). */
	if (!list_empty(&done)) {
		if (mpa_conn_enter(conn))
			conn->ops->sent(conn, &done);
		else
			list_splice(&done, &conn->tx.sending);
	}
	return list_empty(&conn->tx.sending);
}

/*
 * True if each message in tx.sending can be handed back, and the network stack
 * has no ubuf of the connection. Says nothing of tx.queue and tx.train.
 */
bool mpa_tx_sending_done(struct mpa_conn *conn)
{
	u64 pos = mpa_tx_reap_ubufs(conn);
	struct mpa_tx *tx;

	list_for_each_entry(tx, &conn->tx.sending, list)
		if (tx->end > pos)
			return false;
	return list_empty(&conn->tx.ubufs);
}

/* True if TCP has not taken all octets of some message that was accepted. */
bool mpa_tx_pending(struct mpa_conn *conn)
{
	return conn->tx.train || conn->tx.cur || !mpa_tx_queue_empty(conn);
}

/*
 * Stop sending. Each message that TCP has not taken whole fails with @err, and
 * with @all, if TCP is lost, each other one that has not been handed back. They
 * are handed back by mpa_tx_flush() or in released().
 */
void mpa_tx_cancel(struct mpa_conn *conn, int err, bool all)
{
	struct mpa_conn_tx *t = &conn->tx;
	u64 sent = mpa_tx_sent(conn);
	struct mpa_tx *tx;

	mpa_train_drop(conn);
	if (t->cur)
		list_add_tail(&t->cur->list, &t->sending);
	t->cur = NULL;

	spin_lock_bh(&conn->lock);
	if (!t->err)
		t->err = err;
	list_splice_tail_init(&t->queue, &t->sending);
	spin_unlock_bh(&conn->lock);

	list_for_each_entry(tx, &t->sending, list) {
		if (tx->status || (sent >= tx->end && !all))
			continue;
		tx->status = err;
		/* So that mpa_tx_collect() takes it once its pages are done */
		tx->end = min(tx->end, sent);
		mpa_count(conn, TX_CANCELED);
	}
}

/*
 * Socket lock held. True if TCP would cut @train elsewhere than it was built
 * for: each segment's worth must be given to it in a call of its own.
 */
static bool mpa_tx_apart(struct mpa_conn *conn, const struct mpa_train *train)
{
	return !train->multi || mpa_tcp_emss(conn) != train->emss ||
	       mpa_tcp_sack_octets(conn->sk);
}

/*
 * Octets of @record, which has several ULPDUs, to give to TCP next: all that
 * are left, or with @apart the rest of a segment. The latter also if TCP has
 * taken part of a segment, so that the next segment begins in an skb of its
 * own.
 */
static u32 mpa_record_next(const struct mpa_record *record, u32 emss,
			   bool apart)
{
	u32 taken = record->octets - record->len;

	if (!apart && !(taken % emss))
		return record->len;
	return min(record->len, emss - taken % emss);
}

/*
 * Add entries of a train to an skb, each as a fragment, also one that spans
 * several contiguous pages: TCP's own functions make a fragment of each page,
 * so an skb would hold fewer FPDUs. Only the octets count in truesize, not a
 * page for each fragment, of which markers make many. A receiver on this host
 * gets the very same skb: with that truesize little would be left of its
 * window.
 */
static int mpa_tx_add_pages(struct sk_buff *skb, struct iov_iter *from,
			    size_t len)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	u32 nr = shinfo->nr_frags, max = mpa_tcp_frags_max();
	size_t left = len;

	for (; left && nr < max; nr++) {
		const struct bio_vec *bv = from->bvec;
		size_t offset = bv->bv_offset + from->iov_offset;
		u32 n = min_t(size_t, left, bv->bv_len - from->iov_offset);
		struct page *page = bv->bv_page + (offset >> PAGE_SHIFT);

		get_page(page);
		/* The consumer's own page may be of the memory reserves. */
		skb_frag_fill_page_desc(&shinfo->frags[nr], page,
					offset_in_page(offset), n);
		mpa_iter_step(from, n);
		left -= n;
	}
	shinfo->nr_frags = nr;
	skb_len_add(skb, len - left);
	return left ? -EMSGSIZE : 0;
}

/*
 * Socket lock held. Give @len octets to TCP. Returns as tcp_sendmsg_locked(),
 * but -ENOMEM in place of -EAGAIN if TCP has no memory: there may be no ACK to
 * wait for. sk_write_space() is ignored during the call: TCP calls it at once
 * in that case, which would requeue the work item at once and spin. TCP copies
 * to the fragment of the CPU, so that the socket has none when it is idle,
 * unless another user of it has left one there.
 */
int mpa_tx_give(struct mpa_conn *conn, struct msghdr *msg, size_t len)
{
	struct sock *sk = conn->sk;
	struct page_frag own;
	int n;

	sock_owned_by_me(sk);

	/* The next round ends the connection. */
	if (mpa_conn_reconnected(conn))
		return -EAGAIN;
	WRITE_ONCE(conn->tx.busy, true);
	own = sk->sk_frag;
	mpa_frag_take(&sk->sk_frag);
	n = tcp_sendmsg_locked(sk, msg, len);
	mpa_frag_give(&sk->sk_frag);
	sk->sk_frag = own;
	WRITE_ONCE(conn->tx.busy, false);
	return n == -EAGAIN && sk_stream_memory_free(sk) ? -ENOMEM : n;
}

/* Socket lock held. Give the next @len octets of a record to TCP. */
static int mpa_tx_send_record(struct mpa_conn *conn, struct mpa_train *train,
			      struct mpa_record *record, u32 len)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR,
		.msg_iter = train->iter,
	};
	int n;

	sock_owned_by_me(conn->sk);

	if (record->zc) {
		msg.msg_flags |= MSG_ZEROCOPY;
		msg.msg_ubuf = &train->ubuf->info;
		msg.sg_from_iter = mpa_tx_add_pages;
	} else if (!train->gather) {
		msg.msg_flags |= MSG_SPLICE_PAGES | MSG_NO_SHARED_FRAGS;
	}
	/* If TCP takes no more, mpa_tx_uncork() has it send this. */
	if (len < record->len || train->first + 1 < train->nr)
		msg.msg_flags |= MSG_MORE;
	iov_iter_truncate(&msg.msg_iter, len);

	n = mpa_tx_give(conn, &msg, len);
	mpa_count(conn, TX_CALLS);
	return n;
}

/* TCP has taken @n octets more. */
static void mpa_tx_sent_add(struct mpa_conn *conn, u32 n)
{
	trace_mpa_sent(conn, mpa_tx_sent(conn), n);
	mpa_count_add(conn, TX_OCTETS, n);
	/*
	 * Only the runner writes tx.sent and ulpdus_tx: no read-modify-write is
	 * needed.
	 */
	atomic64_set(&conn->tx.sent, mpa_tx_sent(conn) + n);
}

/* TCP has taken whole FPDUs: @ulpdus of them, for @segments segments. */
static void mpa_tx_count(struct mpa_conn *conn, u32 segments, u32 ulpdus)
{
	mpa_count_add(conn, TX_SEGMENTS, segments);
	mpa_count_add(conn, TX_ULPDUS, ulpdus);
	atomic64_set(&conn->ulpdus_tx,
		     atomic64_read(&conn->ulpdus_tx) + ulpdus);
}

/* TCP has taken @n of the @len octets of @record that were offered. */
static void mpa_tx_took(struct mpa_conn *conn, struct mpa_train *train,
			struct mpa_record *record, u32 n, u32 len)
{
	u32 segments = 1;

	mpa_tx_sent_add(conn, n);
	record->len -= n;
	if (record->len || train->first + 1 < train->nr)
		iov_iter_advance(&train->iter, n);
	record->started = n < len;
	if (record->started)
		mpa_count(conn, TX_SHORT);
	if (record->len)
		return;
	if (record->ulpdus > 1)
		segments = DIV_ROUND_UP(record->octets, train->emss);
	mpa_tx_count(conn, segments, record->ulpdus);
	train->first++;
}

/*
 * Socket lock held. Give the train to TCP; a record is begun only if TCP is
 * likely to take it whole. Returns 0 if TCP has taken it all, or an error.
 */
static int mpa_tx_push(struct mpa_conn *conn)
{
	struct mpa_train *train = conn->tx.train;
	int n = 0;
	u32 len;

	sock_owned_by_me(conn->sk);

	while (train->first < train->nr) {
		struct mpa_record *record = &train->record[train->first];

		n = -EAGAIN;
		if (!record->started && !mpa_tcp_space(conn->sk))
			break;
		len = record->len;
		if (record->ulpdus > 1)
			len = mpa_record_next(record, train->emss,
					      mpa_tx_apart(conn, train));
		n = mpa_tx_send_record(conn, train, record, len);
		if (n <= 0)
			break;
		mpa_tx_took(conn, train, record, n, len);
	}

	if (train->first < train->nr)
		return n;
	mpa_train_drop(conn);
	return 0;
}

/*
 * Octets of each segment to reserve for SACK blocks and AccECN: the most that
 * they can take, from the first hole in the peer's octets until MPA_SACK_IDLE
 * after the last; otherwise those of AccECN. Context: any.
 */
static u32 mpa_tx_sack(const struct mpa_conn *conn)
{
	const struct mpa_conn_tx *t = &conn->tx;

	if (mpa_tx_hole(conn))
		return READ_ONCE(t->sack_max);
	if (time_after(jiffies, READ_ONCE(t->sack_until)))
		return READ_ONCE(t->accecn);
	return max(READ_ONCE(t->sack), READ_ONCE(t->accecn));
}

/* Octets that FPDUs may fill in a segment of @emss octets. Context: any. */
static u32 mpa_tx_fits(const struct mpa_conn *conn, u32 emss)
{
	return emss - min(mpa_tx_sack(conn), emss / 2);
}

/* The EMSS of the path, less the room reserved for options. Context: any. */
u32 mpa_tx_emss(const struct mpa_conn *conn)
{
	return mpa_tx_fits(conn, mpa_tcp_path_emss(conn));
}

/* True if FPDUs are sent with markers or, before full operation, may be. */
bool mpa_tx_markers(const struct mpa_conn *conn)
{
	/* Pairs with the release in mpa_conn_set_state(): terms are valid. */
	return smp_load_acquire(&conn->state) != MPA_STATE_FULL ||
	       conn->terms.markers_tx;
}

/**
 * mpa_mulpdu() - longest ULPDU whose FPDU fits a TCP segment
 * @conn: connection, before mpa_detach()
 *
 * Follows from the EMSS of the path, as TCP knew it when it last sent, by the
 * formulas of RFC 5044 section 4.5, which allow for the most markers that an
 * FPDU of that length can hold. While there is a hole in what the peer sends,
 * and for four seconds more, the EMSS is reduced by the room for the SACK
 * blocks that report it; where AccECN is in use, always by that for its option.
 * Before full operation, when it is not known whether the peer wants markers,
 * the result allows for them. A longer ULPDU (up to %MPA_ULPDU_MAX) is sent,
 * too, in several segments.
 *
 * Context: any; takes no lock.
 * Return: octets, %MPA_MULPDU_MIN to %MPA_MULPDU_MAX
 */
u32 mpa_mulpdu(const struct mpa_conn *conn)
{
	return mpa_mulpdu_of(mpa_tx_emss(conn), mpa_tx_markers(conn));
}
EXPORT_SYMBOL_GPL(mpa_mulpdu);

/* Runner only. Note a hole, or that there was none for MPA_SACK_IDLE. */
static __always_inline void mpa_tx_note_hole(struct mpa_conn *conn, bool hole)
{
	struct mpa_conn_tx *t = &conn->tx;

	if (hole || mpa_tx_hole(conn)) {
		WRITE_ONCE(t->sack_until, jiffies + MPA_SACK_IDLE);
		WRITE_ONCE(t->sack, t->sack_max);
		/* Pairs with smp_load_acquire() in mpa_tx_hole(). */
		smp_store_release(&t->ooopack,
				  READ_ONCE(tcp_sk(conn->sk)->rcv_ooopack));
	} else if (t->sack && time_after(jiffies, t->sack_until)) {
		WRITE_ONCE(t->sack, 0);
	}
}

/*
 * The EMSS, of at most @path, that FPDUs like the last ones fill exactly. With
 * markers the lengths of FPDUs change with their positions. While room is
 * reserved for options, each segment's worth is a record of its own anyway.
 */
static u32 mpa_tx_filled_emss(const struct mpa_conn *conn, u32 path)
{
	const struct mpa_tx_series *s = &conn->tx.series;

	if (s->count < s->need || s->size > path || conn->terms.markers_tx ||
	    mpa_tx_sack(conn))
		return round_down(path, MPA_ALIGN);
	return rounddown(path, s->size);
}

/* True if @emss is for FPDUs of one length: @path would allow more */
static bool mpa_tx_is_narrow(u32 emss, u32 path)
{
	return emss < round_down(path, MPA_ALIGN);
}

/*
 * Socket lock held. Give TCP the EMSS that the FPDUs fill, @emss being the
 * current one and @path the most. A change also affects what TCP has not sent,
 * or sends again. So it is rounded down to a multiple of four at any time, as
 * FPDUs do not fill another one; lowered further only while TCP has nothing but
 * FPDUs of the series; and raised only when TCP has sent all. Returns the EMSS
 * that TCP has then, or 0 if the next FPDU needs a higher one and TCP still has
 * unsent octets.
 */
static u32 mpa_tx_set_emss(struct mpa_conn *conn, u32 emss, u32 path)
{
	const struct mpa_conn_tx *t = &conn->tx;
	const struct sock *sk = conn->sk;
	u32 want = mpa_tx_filled_emss(conn, path);

	sock_owned_by_me(sk);

	if (want == emss || mpa_tcp_probes_mtu(sk))
		return emss;
	if (mpa_tx_is_narrow(want, path) && want < emss &&
	    mpa_tcp_unacked(sk) > (u32)t->pos - t->series.pos)
		return emss;
	if (want > emss && mpa_tcp_unsent(sk))
		return t->series.count ? emss : 0;
	return mpa_tcp_lower_emss(conn, want);
}

/* Socket lock held. Returns false if there is no room until write_space(). */
static bool mpa_tx_room(struct mpa_conn *conn, struct mpa_tcp_room *room)
{
	struct sock *sk = conn->sk;
	u32 emss = mpa_tcp_emss(conn);
	u32 path = mpa_tcp_path_emss(conn);

	mpa_tx_note_hole(conn, mpa_tcp_sack_octets(sk));
	emss = mpa_tx_set_emss(conn, emss, path);
	if (!emss) {
		mpa_tcp_want_space(sk);
		return false;
	}
	room->emss = mpa_tx_fits(conn, emss);
	room->sack = emss - room->emss;
	room->narrow = mpa_tx_is_narrow(emss, path);
	room->octets = min_t(u32, mpa_tcp_window(sk), MPA_TX_OCTETS);
	return mpa_tcp_space(sk);
}

/*
 * Runner only. Tell the consumer if the MULPDU has changed, also when
 * nothing is sent: it may post ULPDUs of that length next. When room for SACK
 * blocks is no longer needed, the timer may be all that queues the work item.
 */
static void mpa_tx_tell_mulpdu(struct mpa_conn *conn)
{
	u32 emss, mulpdu;

	mpa_tx_note_hole(conn, false);
	if (conn->tx.sack)
		timer_reduce(&conn->timer, conn->tx.sack_until + 1);
	emss = mpa_tx_emss(conn);
	if (emss == conn->tx.emss)
		return;
	conn->tx.emss = emss;
	mulpdu = mpa_mulpdu_of(emss, conn->terms.markers_tx);
	if (mulpdu == conn->mulpdu)
		return;
	conn->mulpdu = mulpdu;
	if (conn->ops->mulpdu && mpa_conn_enter(conn))
		conn->ops->mulpdu(conn, mulpdu);
}

/* Full operation begins. There may be a hole already. */
void mpa_tx_begin(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	lock_sock(sk);
	WRITE_ONCE(conn->tx.ooopack, tcp_sk(sk)->rcv_ooopack);
	WRITE_ONCE(conn->tx.sack_max, mpa_tcp_options_max(sk));
	WRITE_ONCE(conn->tx.accecn, mpa_tcp_accecn_octets(sk));
	conn->tx.series.need = MPA_TX_SERIES;
	conn->mulpdu = mpa_mulpdu_of(mpa_tx_fits(conn, mpa_tcp_emss(conn)),
				     conn->terms.markers_tx);
	release_sock(sk);
}

/*
 * Have TCP send its FIN, if mpa_shutdown() was called and TCP has taken all
 * that is queued. Returns 0, or an error if TCP has no memory for a FIN: it
 * does not try again, so the connection must be reset.
 */
int mpa_tx_send_fin(struct mpa_conn *conn)
{
	if (conn->tx.fin || !mpa_conn_test(conn, MPA_CONN_SHUTDOWN) ||
	    mpa_tx_pending(conn))
		return 0;
	conn->tx.fin = true;
	return mpa_tcp_send_fin(conn);
}

/*
 * True if @tx is a single ULPDU, short, that can be copied without a call. One
 * for zero copy is, if its octets are too few for that.
 */
static bool mpa_tx_is_short(const struct mpa_conn *conn,
			    const struct mpa_tx *tx)
{
	if (tx->flags & MPA_TX_ZEROCOPY &&
	    tx->len >= READ_ONCE(READ_ONCE(conn->mn)->zerocopy_min))
		return false;
	return !mpa_tx_is_source(tx) &&
	       tx->hdr_len + tx->len <= MPA_TX_SHORT_MAX &&
	       (!tx->len || mpa_iter_is_flat(&tx->data));
}

/* The only message queued becomes tx.cur if it is short. True if so. */
static bool mpa_tx_take_short(struct mpa_conn *conn)
{
	struct mpa_tx *tx;

	if (conn->tx.cur)
		return false;
	spin_lock_bh(&conn->lock);
	tx = list_first_entry_or_null(&conn->tx.queue, struct mpa_tx, list);
	if (tx && mpa_tx_is_short(conn, tx) &&
	    list_is_singular(&conn->tx.queue)) {
		list_del(&tx->list);
		conn->tx.cur = tx;
	}
	spin_unlock_bh(&conn->lock);
	return conn->tx.cur;
}

/*
 * Socket lock held. Frame tx.cur in @train->buf, and give it to TCP. If TCP
 * takes none of it, it stays tx.cur. Returns as mpa_tx_give(), of *@size
 * octets.
 */
static int mpa_tx_give_short(struct mpa_conn *conn, struct mpa_train *train,
			     u32 *size)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR,
	};
	struct mpa_tx *tx = conn->tx.cur;
	struct kvec kv;
	struct mpa_enc enc = {
		.pos = conn->tx.pos,
		.kv = &kv, .kv_next = &kv, .kv_end = &kv + 1,
		.buf = train->buf, .buf_end = train->buf + MPA_TRAIN_BUF,
		.markers = conn->terms.markers_tx, .crc = conn->terms.crc,
	};
	int n;

	n = mpa_fpdu_copy(&enc, tx->hdr, tx->hdr_len, &tx->data, tx->len);
	if (n)
		return n;
	*size = kv.iov_len;
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &kv, 1, *size);
	n = mpa_tx_give(conn, &msg, *size);
	mpa_count(conn, TX_CALLS);
	if (n > 0) {
		conn->tx.pos = enc.pos;
		mpa_tx_framed(conn, tx, enc.pos);
		mpa_tx_sent_add(conn, n);
		if (tx->flags & MPA_TX_ZEROCOPY)
			mpa_count(conn, TX_COPIED);
	} else if (tx->len) {
		iov_iter_revert(&tx->data, tx->len);
	}
	return n;
}

/*
 * Socket lock held. Send tx.cur, which is short, without a train: to set that
 * up costs several times as much. There has to be memory for one, for TCP may
 * take a part, and no octet of an FPDU can be left out then.
 */
static int mpa_tx_send_short(struct mpa_conn *conn)
{
	struct mpa_train *train = mpa_spare_take(mpa_conn_gfp(conn));
	struct mpa_tx_series *s = &conn->tx.series;
	u32 size;
	int n;

	if (!train)
		return -ENOMEM;
	n = mpa_tx_give_short(conn, train, &size);
	if (n <= 0) {
		mpa_spare_give(train);
		return n;
	}
	/* It has an skb of its own, and counts for no series. */
	if (size != s->size || s->sources)
		s->count = 0;
	if (n < size) {
		mpa_count(conn, TX_SHORT);
		mpa_train_rest(conn, train, size, n);
		return mpa_tx_push(conn);
	}
	mpa_tx_count(conn, 1, 1);
	mpa_spare_give(train);
	return 0;
}

/*
 * Socket lock held. True if tx.cur is now a short ULPDU that is alone, and TCP
 * has room for it. It is sent whatever the EMSS and the room for options are
 * and, if TCP has nothing unsent, whatever the peer's window is; but not if the
 * EMSS is lowered, since short FPDUs may share an skb then, and mpa_tx_room()
 * has to notice when it need not be lowered any longer.
 */
static bool mpa_tx_next_is_short(struct mpa_conn *conn)
{
	const struct mpa_tx_lowered *low = &conn->tx.lowered;

	if (low->clamp &&
	    (mpa_tx_is_narrow(low->emss, low->path) || mpa_tcp_is_stale(conn)))
		return false;
	return mpa_tcp_has_room(conn->sk) && mpa_tx_take_short(conn);
}

/*
 * Give TCP what is left of the train; then build the next, and give that. That
 * may take long, or call the consumer, and so is done without the socket lock.
 */
static int mpa_tx_step(struct mpa_conn *conn)
{
	struct mpa_tcp_room room;
	struct sock *sk = conn->sk;
	int err = 0;

	lock_sock(sk);
	if (conn->tx.train)
		err = mpa_tx_push(conn);
	if (err)
		goto unlock;
	if (mpa_tx_next_is_short(conn)) {
		err = mpa_tx_send_short(conn);
		goto unlock;
	}
	if (!mpa_tx_room(conn, &room)) {
		err = -EAGAIN;
		goto unlock;
	}
	release_sock(sk);
	err = mpa_train_build(conn, &room);
	lock_sock(sk);
	if (!err && conn->tx.train)
		err = mpa_tx_push(conn);
unlock:
	/* After sending: the ACK goes with what was sent. */
	mpa_tcp_consume(conn);
	release_sock(sk);
	return err;
}

/* TCP takes no more for now: have it send what MSG_MORE has held back. */
static void mpa_tx_uncork(struct mpa_conn *conn)
{
	if (conn->tx.train)
		tcp_sock_set_nodelay(conn->sk);
}

/* CS-29: nothing, not even a marker, is sent before an FPDU is verified. */
static bool mpa_tx_can_step(struct mpa_conn *conn)
{
	return conn->tx.may_send && !conn->tx.err && mpa_tx_pending(conn);
}

/*
 * Runner, in full operation: the sending half's share of a round. True if
 * another round may send more.
 */
bool mpa_tx_run(struct mpa_conn *conn)
{
	int err = 0;

	if (mpa_tx_can_step(conn))
		err = mpa_tx_step(conn);

	if (err == -EAGAIN || err == -ENOMEM) {
		mpa_tx_uncork(conn);
	} else if (err && inet_sk_state_load(conn->sk) == TCP_CLOSE) {
		/*
		 * sendmsg() has taken the error off the socket. The next round
		 * fails with it, once the FPDUs that came before are passed.
		 */
		conn->rx.closed_err = err;
		mpa_tx_flush(conn);
		return true;
	} else if (err) {
		mpa_conn_fail(conn, mpa_tcp_lost(conn->sk) ?
				    MPA_REASON_RESET : MPA_REASON_ABORTED, err);
		return false;
	}
	if (err == -ENOMEM)
		mpa_conn_retry(conn);
	mpa_tx_tell_mulpdu(conn);
	mpa_tx_flush(conn);
	if (mpa_tx_send_fin(conn)) {
		mpa_conn_fail(conn, MPA_REASON_ABORTED, -ENOMEM);
		return false;
	}
	return !err && mpa_tx_can_step(conn);
}

/* Send what is posted. Returns as mpa_tx_run_here(). */
static bool mpa_tx_send_here(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;
	gfp_t allocation = sk->sk_allocation;
	int err;

	/* mpa_tx_tell_mulpdu() may have to call mulpdu(), and set the timer. */
	if (conn->tx.sack || mpa_tx_emss(conn) != conn->tx.emss ||
	    mpa_tcp_lost(sk))
		return false;
	if (!mpa_tx_pending(conn)) {
		/* The network stack may have dropped pages, and kicked. */
		mpa_tx_flush(conn);
		return true;
	}
	if (!mpa_tx_can_step(conn) || conn->tx.train ||
	    conn->tx.emss < MPA_TX_HERE_EMSS || !mpa_tx_next_is_short(conn))
		return false;
	/*
	 * Keep __GFP_MEMALLOC: whether the socket may use the reserves does not
	 * change.
	 */
	WRITE_ONCE(sk->sk_allocation,
		   mpa_conn_gfp(conn) | (allocation & __GFP_MEMALLOC));
	err = mpa_tx_send_short(conn);
	WRITE_ONCE(sk->sk_allocation, allocation);
	if (err)
		return false;
	mpa_tx_flush(conn);
	return true;
}

/*
 * For mpa_sk_run_here(), with the socket lock or slock held. Call run(), and
 * send a short ULPDU that is alone. Returns false if the work item has to go
 * on: with all else, and with what does not succeed at once.
 */
static bool mpa_tx_run_here(struct mpa_conn *conn)
{
	conn->again = false;
	mpa_conn_call_run(conn);
	/* recv() or run() may have detached, aborted or shut down. */
	return mpa_conn_plain(conn, 0) && mpa_tx_send_here(conn);
}

/**
 * mpa_allow_softirq_send() - have an answer of recv() sent where that is called
 * @conn: connection; call it before mpa_resume(), with mpa_allow_softirq()
 *
 * From now on, if a recv() in softirq posts a message or calls mpa_kick(), MPA
 * goes on there: it calls run(), gives TCP what was posted, and calls sent().
 * An answer then waits for no other task. This is only so for a single message
 * that is one ULPDU of at most %MPA_SOFTIRQ_SEND octets, of kvecs or bvecs, no
 * source, and not so long that net.mpa.zerocopy_min lets %MPA_TX_ZEROCOPY have
 * an effect; and if TCP can take it at once, has nothing more to pass, and has
 * its usual EMSS, 512 at least, with no hole in the last four seconds. All else
 * is left to the work item, which calls run() again.
 *
 * The work item, mpa_kick_now() and mpa_send_now() begin likewise, with BH off
 * and under the slock: the first calls recv() for few octets, and each calls
 * run() and sends such a ULPDU. So where a peer on this host answers, that is
 * passed in softirq, too.
 *
 * What mpa_allow_softirq() asks of recv() it also asks of such a run() and
 * sent(), in whatever context: none of the three can tell by in_task() whether
 * it may sleep. sk_allocation is another one while TCP gets such an answer,
 * with the socket locked. RFC 5044 has no counterpart.
 *
 * Context: any; takes no lock. May be called from callbacks.
 */
void mpa_allow_softirq_send(struct mpa_conn *conn)
{
	WRITE_ONCE(conn->tx.run_here, mpa_tx_run_here);
}
EXPORT_SYMBOL_GPL(mpa_allow_softirq_send);

static bool mpa_template_ok(const struct mpa_tx *tx)
{
	const struct mpa_template *t = tx->template;

	return t && tx->hdr && tx->hdr_len <= MPA_TEMPLATE_HDR &&
	       (t->count_size == sizeof(u32) || t->count_size == sizeof(u64)) &&
	       t->count_at + t->count_size <= tx->hdr_len &&
	       tx->len <= iov_iter_count(&tx->data);
}

static int mpa_tx_check(const struct mpa_tx *tx)
{
	if (tx->flags & ~(MPA_TX_ZEROCOPY | MPA_TX_COPY | MPA_TX_TEMPLATE))
		return -EINVAL;
	if (iov_iter_count(&tx->data) &&
	    (iov_iter_rw(&tx->data) != ITER_SOURCE ||
	     user_backed_iter(&tx->data)))
		return -EINVAL;
	if (tx->flags & MPA_TX_TEMPLATE)
		return mpa_template_ok(tx) ? 0 : -EINVAL;
	if (tx->next)
		return 0;
	if (!tx->hdr_len && !tx->len)
		return -EINVAL;
	if (tx->len > MPA_ULPDU_MAX || tx->hdr_len > MPA_ULPDU_MAX - tx->len)
		return -EMSGSIZE;
	return mpa_tx_length_ok(tx, MPA_ULPDU_MAX) ? 0 : -EINVAL;
}

static int mpa_tx_prepare(struct mpa_conn *conn, struct list_head *list)
{
	struct mpa_tx *tx;
	int err;

	if (!conn->ops->sent)
		return -EINVAL;
	list_for_each_entry(tx, list, list) {
		err = mpa_tx_check(tx);
		if (err)
			return err;
		tx->status = 0;
		tx->state = tx->next || tx->flags & MPA_TX_TEMPLATE ?
			    MPA_MSG_SOURCE : 0;
		tx->end = U64_MAX;
		tx->cut = 0;
	}
	return 0;
}

/* Queue messages, and with @get take a reference for a run that sends them. */
int mpa_tx_post(struct mpa_conn *conn, struct list_head *list, bool get)
{
	int err = mpa_tx_prepare(conn, list);

	if (err)
		return err;
	spin_lock_bh(&conn->lock);
	if (conn->state != MPA_STATE_FULL)
		err = -ENOTCONN;
	else if (conn->tx.err ||
		 !mpa_conn_none_set(conn, BIT(MPA_CONN_SHUTDOWN) |
					      BIT(MPA_CONN_ABORT) |
					      BIT(MPA_CONN_DETACH)))
		err = -EPIPE;
	else
		list_splice_tail_init(list, &conn->tx.queue);
	if (!err && get)
		mpa_conn_get(conn);
	spin_unlock_bh(&conn->lock);
	return err;
}

/**
 * mpa_send_list() - send messages
 * @conn: connection in full operation
 * @list: &struct mpa_tx linked by their list member; empty afterwards
 *
 * Each ULPDU becomes one FPDU (RFC 5044 section 3); it is sent or the
 * connection fails. The messages are queued in order, all or none, and belong
 * to MPA until they are handed back in sent() or released(). They are never
 * refused for lack of room: a message that TCP cannot take yet waits in the
 * consumer's memory. A consumer that wants to bound that posts more when
 * messages are handed back. A Responder's messages wait until the first FPDU of
 * the peer has been verified.
 *
 * Context: any with interrupts on; takes conn->lock, does not sleep: the work
 * item does the sending. May be called from callbacks.
 * Return: 0;
 * %-EINVAL: a member of a message is wrong, or there is no sent() callback;
 * %-EMSGSIZE: a ULPDU longer than %MPA_ULPDU_MAX;
 * %-ENOTCONN: not in full operation, or no longer: lost, failed or closed;
 * %-EPIPE: after mpa_shutdown() or mpa_detach(), after mpa_abort() until that
 * has closed the connection, or this Responder may never send
 */
int mpa_send_list(struct mpa_conn *conn, struct list_head *list)
{
	bool runs = mpa_conn_is_runner(conn);
	int err = mpa_tx_post(conn, list, !runs);

	if (err)
		return err;
	if (runs)
		mpa_conn_again(conn, MPA_PHASE_TX);
	else
		mpa_conn_kick_put(conn);
	return 0;
}
EXPORT_SYMBOL_GPL(mpa_send_list);

/**
 * mpa_send() - send a message
 * @conn: connection in full operation
 * @tx: the message
 *
 * As mpa_send_list() with one message (RFC 5044 section 3).
 *
 * Context: as mpa_send_list().
 * Return: 0, %-EINVAL, %-EMSGSIZE, %-ENOTCONN, %-EPIPE, as mpa_send_list()
 */
int mpa_send(struct mpa_conn *conn, struct mpa_tx *tx)
{
	LIST_HEAD(list);
	int err;

	list_add(&tx->list, &list);
	err = mpa_send_list(conn, &list);
	if (err)
		list_del_init(&tx->list);
	return err;
}
EXPORT_SYMBOL_GPL(mpa_send);
