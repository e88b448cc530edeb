// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sending: from the consumer's messages to TCP.
 *
 * A message waits in tx.queue, in memory of the consumer's. When TCP has room,
 * the work item lays a train of FPDUs out in page fragments, with no lock held,
 * and gives it to TCP, record by record, with the socket locked once.
 *
 * A segment's worth is an FPDU, or several that fit the EMSS together. Those
 * that fill it exactly follow each other in one record, which TCP takes in one
 * call and cuts, late or in the device, where they end: at each EMSS octets.
 * The first that does not ends the record, with MSG_EOR, so that no octet of
 * another joins it.
 *
 * TCP cuts elsewhere when a record goes beyond the window that the peer offers,
 * so none does; and when SACK blocks take room, that is while there are holes
 * in what the peer sends. Then, and for a while, room for them is left and each
 * segment's worth is a record of its own, which is never cut.
 *
 * A message goes queue -> (cur, if it is a source) -> sending -> handed back,
 * and is never in two places. tx.pos is the stream position behind what is
 * laid out, tx.sent behind what TCP has taken; a message is done when tx.sent
 * has reached its end and, with zero copy, its ubuf has no reference left.
 * A train that TCP takes only part of is kept; there is never a second one.
 */
#include <linux/net.h>
#include <linux/slab.h>
#include <net/tcp.h>
#include <trace/events/mpa.h>
#include "mpa_conn.h"

#define MPA_TRAIN_RECORDS	48
#define MPA_TRAIN_BVECS		64
#define MPA_TRAIN_KVECS		128
#define MPA_TRAIN_BUF		2048
#define MPA_TRAIN_GATHER	512	/* octets of a ULPDU */
/* What TCP puts into one skb at most; else it begins another in between. */
#define MPA_TRAIN_OCTETS	(GSO_LEGACY_MAX_SIZE - MAX_TCP_HEADER - 1)
#define MPA_REFILL_MIN		64
#define MPA_SACK_CALM		(4 * HZ)	/* since the last hole */

/* mpa_tx.state */
enum {
	MPA_TX_CUT	= BIT(0),	/* hdr and len are the next ULPDU's */
	MPA_TX_LAST	= BIT(1),	/* and it is the last one */
	MPA_TX_PAGES	= BIT(2),	/* ubuf is in use */
	MPA_TX_OWN	= BIT(3),	/* we have a reference on ubuf */
};

/**
 * struct mpa_record - octets that TCP takes in one call, whole FPDUs
 * @octets: segments of the train's EMSS, the last one may be shorter; or a
 *	single FPDU that is longer
 * @len: octets of these not given to TCP yet
 * @ulpdus: ULPDUs in it
 * @started: TCP has some of it
 * @zc: message whose pages these are, or NULL: page fragments
 */
struct mpa_record {
	u32			octets;
	u32			len;
	u16			ulpdus;
	bool			started;
	struct mpa_tx		*zc;
};

/**
 * struct mpa_train - records laid out
 * @enc: encoder; its bv is @bv, its kv is @kv
 * @gather: the octets are where @kv says; or else where @bv does
 * @iter: octets not given to TCP yet
 * @emss: EMSS, less room for SACK blocks
 * @grow: segments that are full can be followed by others in their record
 * @exact: length of a ULPDU whose FPDU fills a segment, or 0; with markers it
 *	is another at each position, see mpa_tx_exact()
 * @open: record that more can be added to, or NULL
 * @left: octets left in its last segment
 * @room: octets that there may be
 * @pages: the same of pages
 * @octets: octets laid out
 * @first: first record not given to TCP whole
 * @nr: records
 * @record: the records
 * @bv: pages with the octets
 * @kv: octets that TCP copies, the consumer's and those of @buf
 * @buf: what is around ULPDUs
 */
struct mpa_train {
	struct mpa_enc		enc;
	bool			gather;
	struct iov_iter		iter;
	u32			emss;
	bool			grow;
	u32			exact;
	u32			left;
	struct mpa_record	*open;
	u32			room;
	u32			pages;
	u32			octets;
	u16			first;
	u16			nr;
	struct mpa_record	record[MPA_TRAIN_RECORDS];
	union {
		struct bio_vec	bv[MPA_TRAIN_BVECS];
		struct {
			struct kvec	kv[MPA_TRAIN_KVECS];
			u8		buf[MPA_TRAIN_BUF];
		};
	};
};

/*
 * A reference on the message's ubuf is gone; with the last one the message
 * is the work item's. Nothing of it may be touched afterwards.
 */
static void mpa_tx_ubuf_put(struct mpa_tx *tx)
{
	struct mpa_conn *conn = tx->conn;

	if (refcount_dec_and_test(&tx->ubuf.refcnt))
		mpa_conn_kick_put(conn);
}

/* The network stack drops its reference. Context: any. */
static void mpa_tx_ubuf_complete(struct sk_buff *skb, struct ubuf_info *ubuf,
				 bool success)
{
	mpa_tx_ubuf_put(container_of(ubuf, struct mpa_tx, ubuf));
}

static const struct ubuf_info_ops mpa_tx_ubuf_ops = {
	.complete	= mpa_tx_ubuf_complete,
};

/* The message's own pages are going to be given to TCP. */
static void mpa_tx_ubuf_init(struct mpa_conn *conn, struct mpa_tx *tx)
{
	if (tx->state & MPA_TX_PAGES)
		return;
	tx->state |= MPA_TX_PAGES | MPA_TX_OWN;
	tx->ubuf.ops = &mpa_tx_ubuf_ops;
	tx->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&tx->ubuf.refcnt, 1);
	mpa_conn_hold(conn);
}

/* Is everything of @tx over, so that it can be handed back? */
static bool mpa_tx_done(const struct mpa_conn *conn, struct mpa_tx *tx)
{
	if (conn->tx.sent < tx->end)
		return false;
	if (tx->state & MPA_TX_OWN) {
		tx->state &= ~MPA_TX_OWN;
		mpa_tx_ubuf_put(tx);
	}
	return !(tx->state & MPA_TX_PAGES) || !refcount_read(&tx->ubuf.refcnt);
}

/* Move what can be handed back, in order, to @done. */
void mpa_tx_collect(struct mpa_conn *conn, struct list_head *done)
{
	struct mpa_tx *tx, *tmp;

	list_for_each_entry_safe(tx, tmp, &conn->tx.sending, list) {
		if (!mpa_tx_done(conn, tx))
			break;
		list_move_tail(&tx->list, done);
	}
}

/* Hand back what can be. Returns whether nothing is left to be. */
bool mpa_tx_flush(struct mpa_conn *conn)
{
	LIST_HEAD(done);

	if (list_empty(&conn->tx.sending))
		return true;
	/* Otherwise released() gets them. */
	if (mpa_conn_test(conn, MPA_CONN_DETACH))
		return false;
	mpa_tx_collect(conn, &done);
	if (!list_empty(&done)) {
		if (mpa_conn_enter(conn))
			conn->ops->sent(conn, &done);
		else
			list_splice(&done, &conn->tx.sending);
	}
	return list_empty(&conn->tx.sending);
}

/* Is no message waiting for the network stack to drop its pages? */
bool mpa_tx_idle(const struct mpa_conn *conn)
{
	struct mpa_tx *tx;

	list_for_each_entry(tx, &conn->tx.sending, list)
		if (!mpa_tx_done(conn, tx))
			return false;
	return true;
}

static bool mpa_tx_queued(struct mpa_conn *conn)
{
	/* Who adds one has the work item run again. */
	return conn->tx.cur || !list_empty_careful(&conn->tx.queue);
}

/* Has a message been accepted and not been given to TCP whole? */
bool mpa_tx_pending(struct mpa_conn *conn)
{
	return conn->tx.train || mpa_tx_queued(conn);
}

static void mpa_train_free(struct mpa_train *train)
{
	unsigned int i;

	for (i = 0; i < train->enc.nr; i++)
		put_page(train->bv[i].bv_page);
	kfree(train);
}

static void mpa_tx_drop_train(struct mpa_conn *conn)
{
	if (conn->tx.train)
		mpa_train_free(conn->tx.train);
	conn->tx.train = NULL;
}

/* A connection that is idle keeps no memory for sending. */
static void mpa_tx_drop_frag(struct mpa_conn *conn)
{
	if (conn->tx.frag.page)
		put_page(conn->tx.frag.page);
	conn->tx.frag.page = NULL;
}

/*
 * No more is sent: each message that TCP has not taken whole fails with @err,
 * and if the connection is lost each one that has not been handed back. They
 * are handed back by mpa_tx_flush() or released().
 */
void mpa_tx_cancel(struct mpa_conn *conn, int err)
{
	struct mpa_conn_tx *t = &conn->tx;
	struct mpa_tx *tx;

	mpa_tx_drop_train(conn);
	mpa_tx_drop_frag(conn);
	if (t->cur)
		list_add_tail(&t->cur->list, &t->sending);
	t->cur = NULL;

	spin_lock_bh(&conn->lock);
	if (!t->err)
		t->err = err;
	list_splice_tail_init(&t->queue, &t->sending);
	spin_unlock_bh(&conn->lock);

	list_for_each_entry(tx, &t->sending, list) {
		if (tx->status ||
		    (t->sent >= tx->end && conn->state != MPA_STATE_CLOSED))
			continue;
		tx->status = err;
		tx->end = min(tx->end, t->sent);
		mpa_count(conn, TX_CANCELED);
	}
}

static int mpa_train_refill(struct mpa_enc *enc)
{
	if (!skb_page_frag_refill(MPA_REFILL_MIN, &enc->frag, MPA_GFP_QUIET))
		return -ENOMEM;
	return 0;
}

static u32 mpa_tx_fill(const struct mpa_train *train, u32 room)
{
	return mpa_fpdu_fill(train->enc.pos, room, train->enc.markers);
}

/* Length of a ULPDU whose FPDU fills a segment at this position, or 0 */
static u32 mpa_tx_fit(const struct mpa_train *train)
{
	u32 len = mpa_tx_fill(train, train->emss);

	if (len < MPA_MULPDU_MIN ||
	    mpa_fpdu_size(train->enc.pos, len, train->enc.markers) !=
	    train->emss)
		return 0;
	return len;
}

static struct mpa_train *mpa_train_alloc(struct mpa_conn *conn,
					 const struct mpa_tcp_room *room)
{
	struct mpa_train *train = kmalloc(sizeof(*train), MPA_GFP_QUIET);

	if (!train)
		return NULL;
	memset(train, 0, offsetof(struct mpa_train, record));
	train->emss = room->emss;
	train->grow = !room->sack;
	train->room = max(room->octets, room->emss);
	train->pages = mpa_tcp_pages_max();
	train->enc.pos = conn->tx.pos;
	train->enc.markers = conn->terms.markers_tx;
	train->enc.crc = conn->terms.crc;
	train->enc.bv = train->bv;
	train->enc.max = MPA_TRAIN_BVECS;
	train->enc.frag = conn->tx.frag;
	train->enc.refill = mpa_train_refill;
	train->enc.kv = train->kv;
	train->enc.kv_next = train->kv;
	train->enc.kv_end = train->kv + MPA_TRAIN_KVECS;
	train->enc.buf = train->buf;
	train->enc.buf_end = train->buf + MPA_TRAIN_BUF;
	train->exact = mpa_tx_fit(train);
	return train;
}

/* The message to lay out next, or NULL. */
static struct mpa_tx *mpa_tx_next(struct mpa_conn *conn)
{
	struct mpa_tx *tx = conn->tx.cur;

	if (tx || list_empty_careful(&conn->tx.queue))
		return tx;
	spin_lock_bh(&conn->lock);
	tx = list_first_entry_or_null(&conn->tx.queue, struct mpa_tx, list);
	if (tx)
		list_del(&tx->list);
	spin_unlock_bh(&conn->lock);
	conn->tx.cur = tx;
	return tx;
}

/*
 * L: the longest ULPDU for the room left in this segment, or, if that is of
 * little use (SZ-17, SZ-18), for the next one.
 */
static u32 mpa_tx_max(const struct mpa_train *train)
{
	u32 max;

	if (train->left >= MPA_MULPDU_MIN) {
		max = mpa_tx_fill(train, train->left);
		if (max >= MPA_MULPDU_MIN)
			return max;
	}
	return max_t(u32, MPA_MULPDU_MIN, mpa_tx_fill(train, train->emss));
}

static bool mpa_tx_length_ok(const struct mpa_tx *tx, u32 max)
{
	if (tx->hdr_len > max || tx->len > max - tx->hdr_len)
		return false;
	return (tx->hdr || !tx->hdr_len) &&
	       tx->len <= iov_iter_count(&tx->data);
}

/* Ask a source. Returns 1 if there is a ULPDU, 0 if no more, or an error. */
static int mpa_tx_ask(struct mpa_conn *conn, struct mpa_tx *tx, u32 max)
{
	int more;

	if (!mpa_conn_enter(conn))
		return -ECANCELED;
	more = tx->next(tx, max);
	if (more < 0)
		return more;
	if (!more)
		tx->state |= MPA_TX_LAST;
	if (!more && !tx->hdr_len && !tx->len)
		return 0;
	if (WARN_ON_ONCE(!(tx->hdr_len + tx->len) ||
			 !mpa_tx_length_ok(tx, max)))
		return -EINVAL;
	return 1;
}

/* Make hdr, hdr_len and len of @tx its next ULPDU; returns as mpa_tx_ask(). */
static int mpa_tx_cut(struct mpa_conn *conn, struct mpa_tx *tx)
{
	int ret = 1;

	if (tx->state & MPA_TX_CUT)
		return 1;
	if (tx->next)
		ret = mpa_tx_ask(conn, tx, mpa_tx_max(conn->tx.train));
	else
		tx->state |= MPA_TX_LAST;
	if (ret > 0)
		tx->state |= MPA_TX_CUT;
	return ret;
}

/*
 * Pages in the first @len octets of @iter, or 0 if one of them must not be
 * given away (slab), or there are too many for an skb anyway.
 */
static unsigned int mpa_tx_count_pages(const struct iov_iter *iter, u32 len)
{
	const struct bio_vec *bv = iter->bvec;
	size_t skip = iter->iov_offset;
	unsigned int nr = 0;

	for (; len; bv++, skip = 0) {
		u32 n = min_t(size_t, len, bv->bv_len - skip);
		size_t off = bv->bv_offset + skip;
		unsigned int pages;

		if (!n)
			continue;
		pages = DIV_ROUND_UP(offset_in_page(off) + n, PAGE_SIZE);
		if (nr + pages > MAX_SKB_FRAGS ||
		    !sendpages_ok(bv->bv_page, n, off))
			return 0;
		nr += pages;
		len -= n;
	}
	return nr;
}

/* Can, and shall, the ULPDU's own pages be sent? All in one skb. */
static bool mpa_tx_zerocopy(struct mpa_conn *conn, const struct mpa_tx *tx,
			    u32 size)
{
	u32 markers = conn->terms.markers_tx ?
		      size / MPA_MARKER_INTERVAL + 1 : 0;
	unsigned int pages;

	if (!(tx->flags & MPA_TX_ZEROCOPY) || !tx->len)
		return false;
	if (!iov_iter_is_bvec(&tx->data))
		return false;
	pages = mpa_tx_count_pages(&tx->data, tx->len);
	/* Each marker cuts a page in two; then header and CRC. */
	return pages && pages + 2 * markers + 2 <= MAX_SKB_FRAGS;
}

static u32 mpa_train_limit(const struct mpa_train *train)
{
	return train->gather ? train->room :
			       min(train->room, train->pages);
}

/* A record for an FPDU of @size octets, or NULL if the train is full. */
static struct mpa_record *mpa_train_record(struct mpa_train *train, u32 size,
					   struct mpa_tx *zc)
{
	struct mpa_record *record = train->open;

	if (train->nr && train->octets + size > mpa_train_limit(train))
		return NULL;
	if (record && !zc &&
	    (size <= train->left ||
	     (train->grow && !train->left && size <= train->emss)))
		return record;
	if (train->nr == MPA_TRAIN_RECORDS)
		return NULL;
	record = &train->record[train->nr];
	memset(record, 0, sizeof(*record));
	record->zc = zc;
	return record;
}

static void mpa_record_add(struct mpa_train *train, struct mpa_record *record,
			   u32 octets, u32 ulpdus)
{
	record->octets += octets;
	record->len += octets;
	record->ulpdus += ulpdus;
	train->octets += octets;
}

/* An FPDU of @size octets has been laid out. */
static void mpa_train_add(struct mpa_train *train, struct mpa_record *record,
			  u32 size)
{
	if (record != train->open) {
		train->nr++;
		train->open = record->zc || size > train->emss ? NULL : record;
		train->left = 0;
	}
	if (size <= train->left)
		train->left -= size;
	else if (train->open)
		train->left = train->emss - size;
	mpa_record_add(train, record, size, 1);
}

/* The message is laid out to its end. */
static void mpa_tx_laid_out(struct mpa_conn *conn, struct mpa_tx *tx)
{
	tx->end = conn->tx.train->enc.pos;
	conn->tx.cur = NULL;
	list_add_tail(&tx->list, &conn->tx.sending);
}

/*
 * Lay one FPDU out in page fragments, or with @zc in the consumer's pages: with
 * all its markers in one piece, for the CRC.
 */
static int mpa_tx_encode(struct mpa_conn *conn, struct mpa_tx *tx, bool zc)
{
	struct mpa_train *train = conn->tx.train;
	int err;

	if (train->gather)
		return -ENOBUFS;
	err = mpa_fpdu_encode(&train->enc, tx->hdr, tx->hdr_len, &tx->data,
			      tx->len, zc);
	if (err)
		return err;
	if (zc) {
		mpa_tx_ubuf_init(conn, tx);
		mpa_count(conn, TX_ZEROCOPY);
	} else if (tx->flags & MPA_TX_ZEROCOPY) {
		mpa_count(conn, TX_COPIED);
	}
	return 0;
}

/*
 * Have TCP copy the ULPDU from where it is. That lies in few, large pieces
 * then, while of pages that are given to it each is one.
 */
static int mpa_tx_gather(struct mpa_train *train, struct mpa_tx *tx)
{
	if (train->nr && !train->gather)
		return -ENOBUFS;
	train->gather = true;
	return mpa_fpdu_gather(&train->enc, tx->hdr, tx->hdr_len, &tx->data,
			       tx->len);
}

static __always_inline bool mpa_tx_is_gatherable(const struct mpa_train *train,
						 const struct mpa_tx *tx)
{
	return !(tx->flags & MPA_TX_ZEROCOPY) &&
	       mpa_fpdu_can_gather(&train->enc, tx->hdr_len, &tx->data,
				   tx->len);
}

/* For a small one that is alone a page fragment is too much, too. */
static bool mpa_tx_can_gather(const struct mpa_conn *conn,
			      const struct mpa_tx *tx)
{
	const struct mpa_train *train = conn->tx.train;

	return (train->gather || tx->len >= MPA_TRAIN_GATHER ||
		(!train->nr && list_empty_careful(&conn->tx.queue))) &&
	       mpa_tx_is_gatherable(train, tx);
}

/* Lay one FPDU out. Returns 0, -ENOBUFS if the train is full, or an error. */
static int mpa_tx_fpdu(struct mpa_conn *conn, struct mpa_tx *tx)
{
	struct mpa_train *train = conn->tx.train;
	u32 size = mpa_fpdu_size(train->enc.pos, tx->hdr_len + tx->len,
				 train->enc.markers);
	bool zc = mpa_tx_zerocopy(conn, tx, size);
	struct mpa_record *record;
	int err = -ENOBUFS;

	record = mpa_train_record(train, size, zc ? tx : NULL);
	if (!record)
		return -ENOBUFS;

	if (mpa_tx_can_gather(conn, tx))
		err = mpa_tx_gather(train, tx);
	if (err == -ENOBUFS) {
		/* In too many pieces for an empty train. */
		if (!train->nr)
			train->gather = false;
		err = mpa_tx_encode(conn, tx, zc);
	}
	if (err)
		return err;
	mpa_train_add(train, record, size);
	tx->state &= ~MPA_TX_CUT;
	return 0;
}

/* Can segments of one ULPDU each of @tx follow what is there? */
static bool mpa_tx_can_run(const struct mpa_conn *conn,
			   const struct mpa_tx *tx)
{
	const struct mpa_train *train = conn->tx.train;

	return train->open && train->grow && !train->left &&
	       tx->next && !(tx->flags & MPA_TX_ZEROCOPY) &&
	       !(tx->state & (MPA_TX_CUT | MPA_TX_LAST));
}

/* Returns 0, 1 if the ULPDU is not one of a run of @len octets each, or why. */
static int mpa_tx_add(struct mpa_train *train, struct mpa_tx *tx, u32 len)
{
	if (tx->hdr_len + tx->len != len ||
	    (train->gather && !mpa_tx_is_gatherable(train, tx)))
		return 1;
	if (train->gather)
		return mpa_fpdu_gather(&train->enc, tx->hdr, tx->hdr_len,
				       &tx->data, tx->len);
	return mpa_fpdu_encode(&train->enc, tx->hdr, tx->hdr_len, &tx->data,
			       tx->len, false);
}

/* ULPDU_Length of the next FPDU for it to fill a segment, or 0 */
static u32 mpa_tx_exact(const struct mpa_train *train)
{
	return train->enc.markers ? mpa_tx_fit(train) : train->exact;
}

/*
 * The common case, in little time: ULPDUs of a source that each fill a segment.
 * One that does not, or does not fit, is left to mpa_tx_lay(). Returns 1 if the
 * source has come to its end, 0, or why not.
 */
static int mpa_tx_lay_run(struct mpa_conn *conn, struct mpa_tx *tx)
{
	struct mpa_train *train = conn->tx.train;
	u32 most = (mpa_train_limit(train) - train->octets) / train->emss;
	int ret = 0;
	u32 n, max;

	for (n = 0; n < most && !(tx->state & MPA_TX_LAST); n++) {
		max = mpa_tx_exact(train);
		if (!max)
			break;
		ret = mpa_tx_ask(conn, tx, max);
		if (ret <= 0)
			break;
		ret = mpa_tx_add(train, tx, max);
		if (ret) {
			tx->state |= MPA_TX_CUT;
			break;
		}
	}
	mpa_record_add(train, train->open, n * train->emss, n);
	if (ret < 0 || tx->state & MPA_TX_CUT || !(tx->state & MPA_TX_LAST))
		return min(ret, 0);
	mpa_tx_laid_out(conn, tx);
	return 1;
}

/* Lay out one ULPDU of @tx. Returns 0, or why not. */
static int mpa_tx_lay(struct mpa_conn *conn, struct mpa_tx *tx)
{
	int ret = mpa_tx_cut(conn, tx);

	if (ret < 0)
		return ret;
	if (ret) {
		ret = mpa_tx_fpdu(conn, tx);
		if (ret)
			return ret;
	}
	if (tx->state & MPA_TX_LAST)
		mpa_tx_laid_out(conn, tx);
	return 0;
}

/*
 * Could a ULPDU that MPA asks for be too long for what is left? It would have
 * to wait, and may not fit any more when its turn comes.
 */
static bool mpa_train_full(const struct mpa_train *train)
{
	u32 next = train->left < MPA_MULPDU_MIN ? train->emss : train->left;

	return train->nr && train->octets + next > mpa_train_limit(train);
}

/*
 * Lay a train out. Returns 0, also if TCP can be given less than everything
 * that is queued, or a negative errno if the connection has failed.
 */
static int mpa_tx_build(struct mpa_conn *conn, const struct mpa_tcp_room *room)
{
	struct mpa_train *train = mpa_train_alloc(conn, room);
	struct mpa_tx *tx;
	int err = 0;

	if (!train)
		return -ENOMEM;
	conn->tx.train = train;

	while (err >= 0 && !mpa_train_full(train)) {
		tx = mpa_tx_next(conn);
		if (!tx)
			break;
		err = mpa_tx_can_run(conn, tx) ? mpa_tx_lay_run(conn, tx) : 0;
		if (!err && !mpa_train_full(train))
			err = mpa_tx_lay(conn, tx);
	}

	conn->tx.frag = train->enc.frag;
	conn->tx.pos = train->enc.pos;
	if (!train->nr) {
		mpa_tx_drop_train(conn);
		return err;
	}
	if (train->gather)
		iov_iter_kvec(&train->iter, ITER_SOURCE, train->kv,
			      train->enc.kv_next - train->kv, train->octets);
	else
		iov_iter_bvec(&train->iter, ITER_SOURCE, train->bv,
			      train->enc.nr, train->octets);
	/* What has been laid out goes first, then this is tried again. */
	return err == -ENOBUFS || err == -ENOMEM ? 0 : min(err, 0);
}

/*
 * Socket lock held. Would TCP cut segments elsewhere than they were laid out?
 * Then each is given to it by itself.
 */
static bool mpa_tx_apart(struct mpa_conn *conn, const struct mpa_train *train)
{
	return !train->grow || mpa_tcp_emss(conn->sk) != train->emss ||
	       mpa_tcp_sack_octets(conn->sk);
}

/*
 * What is left of @record, or of its first segment. That also where TCP has
 * taken part of it: what follows is to begin in an skb of its own.
 */
static u32 mpa_record_piece(const struct mpa_record *record, u32 emss,
			    bool apart)
{
	u32 taken = record->octets - record->len;

	if (record->ulpdus == 1 || (!apart && !(taken % emss)))
		return record->len;
	return min(record->len, emss - taken % emss);
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
		msg.msg_ubuf = &record->zc->ubuf;
	} else if (!train->gather) {
		msg.msg_flags |= MSG_SPLICE_PAGES | MSG_NO_SHARED_FRAGS;
	}
	/* If nothing follows after all, mpa_tx_uncork() lets it go. */
	if (len < record->len || train->first + 1 < train->nr)
		msg.msg_flags |= MSG_MORE;
	iov_iter_truncate(&msg.msg_iter, len);

	conn->tx.busy = true;
	n = tcp_sendmsg_locked(conn->sk, &msg, len);
	conn->tx.busy = false;
	mpa_count(conn, TX_CALLS);
	return n;
}

static u32 mpa_record_segments(const struct mpa_record *record, u32 emss)
{
	if (record->ulpdus == 1)
		return 1;
	return DIV_ROUND_UP(record->octets, emss);
}

/* TCP has taken @n octets of @record, of the @len that were offered. */
static void mpa_tx_took(struct mpa_conn *conn, struct mpa_train *train,
			struct mpa_record *record, u32 n, u32 len)
{
	trace_mpa_sent(conn, conn->tx.sent, n);
	record->len -= n;
	if (record->len || train->first + 1 < train->nr)
		iov_iter_advance(&train->iter, n);
	record->started = n < len;
	mpa_count_add(conn, TX_OCTETS, n);
	spin_lock_bh(&conn->lock);
	conn->tx.sent += n;
	if (!record->len)
		conn->ulpdus_tx += record->ulpdus;
	spin_unlock_bh(&conn->lock);

	if (record->started)
		mpa_count(conn, TX_SHORT);
	if (record->len)
		return;
	mpa_count_add(conn, TX_RECORDS,
		      mpa_record_segments(record, train->emss));
	mpa_count_add(conn, TX_ULPDUS, record->ulpdus);
	train->first++;
}

/*
 * Socket lock held. Give the train to TCP; a record is begun only if it is
 * likely to be taken whole. Returns 0, -EAGAIN, or an error.
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
		len = mpa_record_piece(record, train->emss,
				       mpa_tx_apart(conn, train));
		n = mpa_tx_send_record(conn, train, record, len);
		/* No ACK to wait for: memory was short. */
		if (n == -EAGAIN && sk_stream_memory_free(conn->sk))
			n = -ENOMEM;
		if (n <= 0)
			break;
		mpa_tx_took(conn, train, record, n, len);
	}

	if (train->first < train->nr)
		return n;
	mpa_tx_drop_train(conn);
	return 0;
}

/*
 * Socket lock held. Octets of each segment to leave for SACK blocks: as many as
 * they may take, from the first hole in what the peer sends until a while after
 * the last.
 */
static u32 mpa_tx_sack(struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	struct mpa_conn_tx *t = &conn->tx;

	if (t->ooopack != tp->rcv_ooopack || mpa_tcp_sack_octets(conn->sk)) {
		t->ooopack = tp->rcv_ooopack;
		t->calm = jiffies + MPA_SACK_CALM;
		t->sack = mpa_tcp_sack_max(conn->sk);
	} else if (t->sack && time_after(jiffies, t->calm)) {
		t->sack = 0;
	}
	return t->sack;
}

/* Socket lock held. What can TCP be given? If nothing, write_space() comes. */
static bool mpa_tx_room(struct mpa_conn *conn, struct mpa_tcp_room *room)
{
	struct sock *sk = conn->sk;
	u32 emss = mpa_tcp_emss(sk);

	room->sack = min(mpa_tx_sack(conn), emss / 2);
	room->emss = emss - room->sack;
	room->octets = min_t(u32, mpa_tcp_window(sk), MPA_TRAIN_OCTETS);
	return mpa_tcp_space(sk);
}

static void mpa_tx_tell_mulpdu(struct mpa_conn *conn)
{
	u32 mulpdu = mpa_mulpdu(conn);

	if (mulpdu == conn->mulpdu)
		return;
	conn->mulpdu = mulpdu;
	if (conn->ops->mulpdu && mpa_conn_enter(conn))
		conn->ops->mulpdu(conn, mulpdu);
}

/* Full operation begins. */
void mpa_tx_begin(struct mpa_conn *conn)
{
	lock_sock(conn->sk);
	conn->mulpdu = mpa_mulpdu_of(mpa_tcp_emss(conn->sk),
				     conn->terms.markers_tx);
	conn->tx.ooopack = tcp_sk(conn->sk)->rcv_ooopack;
	release_sock(conn->sk);
}

/*
 * The FIN comes behind everything that is queued. Returns 0, or an error if
 * there will be none: nobody could wait for it.
 */
int mpa_tx_fin(struct mpa_conn *conn)
{
	if (conn->tx.fin || !mpa_conn_test(conn, MPA_CONN_SHUTDOWN) ||
	    mpa_tx_pending(conn))
		return 0;
	conn->tx.fin = true;
	return mpa_tcp_send_fin(conn->sock);
}

/* Push what is laid out, build the next train, push that. */
static int mpa_tx_step(struct mpa_conn *conn)
{
	struct mpa_tcp_room room;
	struct sock *sk = conn->sk;
	bool space;
	int err = 0;

	lock_sock(sk);
	if (conn->tx.train)
		err = mpa_tx_push(conn);
	space = !err && mpa_tx_room(conn, &room);
	release_sock(sk);

	if (!space)
		return err ?: -EAGAIN;

	err = mpa_tx_build(conn, &room);
	if (err || !conn->tx.train)
		return err;
	lock_sock(sk);
	err = mpa_tx_push(conn);
	release_sock(sk);
	return err;
}

/* TCP takes no more for now: let it send what MSG_MORE has held back. */
static void mpa_tx_uncork(struct mpa_conn *conn)
{
	if (conn->tx.train)
		tcp_sock_set_nodelay(conn->sk);
}

/* Work item, in full operation: one step. True if there may be another. */
bool mpa_tx_run(struct mpa_conn *conn)
{
	int err = 0;

	/* CS-29: nothing, not a marker, before the first FPDU of the peer. */
	if (conn->tx.gate && !conn->tx.err && mpa_tx_pending(conn))
		err = mpa_tx_step(conn);

	if (err == -EAGAIN || err == -ENOMEM) {
		mpa_tx_uncork(conn);
	} else if (err) {
		mpa_cm_lost(conn, mpa_tcp_lost(conn->sk) ? MPA_REASON_RESET :
							   MPA_REASON_ABORTED,
			    err);
		return false;
	}
	if (err == -ENOMEM)
		mpa_conn_retry(conn);
	mpa_tx_tell_mulpdu(conn);
	mpa_tx_flush(conn);
	if (mpa_tx_fin(conn)) {
		mpa_cm_lost(conn, MPA_REASON_ABORTED, -ENOMEM);
		return false;
	}
	if (!mpa_tx_pending(conn))
		mpa_tx_drop_frag(conn);
	return !err && conn->tx.gate && !conn->tx.err && mpa_tx_pending(conn);
}

static int mpa_tx_check(const struct mpa_tx *tx)
{
	if (tx->flags & ~MPA_TX_ZEROCOPY)
		return -EINVAL;
	if (iov_iter_count(&tx->data) &&
	    (iov_iter_rw(&tx->data) != ITER_SOURCE ||
	     user_backed_iter(&tx->data)))
		return -EINVAL;
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
		tx->state = 0;
		tx->end = U64_MAX;
		tx->conn = conn;
	}
	return 0;
}

/**
 * mpa_send_list() - send messages
 * @conn: connection in full operation
 * @list: &struct mpa_tx linked by their list member; empty afterwards
 *
 * Each ULPDU becomes one FPDU (RFC 5044 section 3); it is sent or the
 * connection fails. The messages are queued in order, all or none, and belong
 * to MPA until they are handed back in sent() or released(). They are never
 * refused for lack of room: what TCP cannot take stays in the consumer's
 * memory, and messages handed back are the consumer's sign that it may send
 * more. A Responder's messages wait until the first FPDU of the peer has been
 * verified.
 *
 * Context: any but hard interrupt; takes conn->lock, does not sleep: the work
 * item does the sending. May be called from callbacks.
 * Return: 0;
 * %-EINVAL: a member of a message is wrong, or there is no sent() callback;
 * %-EMSGSIZE: a ULPDU longer than %MPA_ULPDU_MAX;
 * %-ENOTCONN: not in full operation;
 * %-EPIPE: after mpa_shutdown(), mpa_abort() or mpa_detach(), or the sending
 * half has failed
 */
int mpa_send_list(struct mpa_conn *conn, struct list_head *list)
{
	int err = mpa_tx_prepare(conn, list);

	if (err)
		return err;

	spin_lock_bh(&conn->lock);
	if (conn->state != MPA_STATE_FULL)
		err = -ENOTCONN;
	else if (conn->tx.err || mpa_conn_test(conn, MPA_CONN_SHUTDOWN) ||
		 mpa_conn_test(conn, MPA_CONN_ABORT) ||
		 mpa_conn_test(conn, MPA_CONN_DETACH))
		err = -EPIPE;
	else
		list_splice_tail_init(list, &conn->tx.queue);
	if (!err)
		mpa_conn_hold(conn);
	spin_unlock_bh(&conn->lock);

	if (!err)
		mpa_conn_kick_put(conn);
	return err;
}
EXPORT_SYMBOL_GPL(mpa_send_list);

/**
 * mpa_send() - send a message
 * @conn: connection in full operation
 * @tx: the message
 *
 * As mpa_send_list() with one message.
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
