// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A train: FPDUs laid out or gathered for TCP, in records. Only the runner uses
 * it.
 *
 * A segment's worth is one FPDU, or several that together fit the EMSS. Those
 * that fill the EMSS exactly follow each other in one record. TCP is given that
 * in one call, mostly; TCP itself or the device (TSO) cuts it after each EMSS
 * octets, which is where FPDUs end. The first segment's worth that does not
 * fill the EMSS ends the record. Each call has MSG_EOR: an skb gets no octets
 * of another record.
 *
 * A train ends when the queue is empty; where TCP's window or MPA_TX_OCTETS
 * would be exceeded (mpa_train_limit()); after MPA_TRAIN_RECORDS records; where
 * fragments or memory run out; before a message that cannot go the same way
 * (gathered or laid out); and where a series of FPDUs of one length ends
 * (mpa_train_end_narrow()). The number of its FPDUs has no limit.
 */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "mpa_conn.h"
#include "mpa_tx_train.h"

#define MPA_TRAIN_GATHER	512	/* least mpa_tx.len to gather */
#define MPA_TRAIN_SHORT	256	/* longest FPDU to copy, of those gathered */

/* Do not touch @ubuf after this: the runner may have freed it. */
static void mpa_tx_ubuf_put(struct mpa_tx_ubuf *ubuf)
{
	struct mpa_conn *conn = ubuf->conn;

	if (refcount_dec_and_test(&ubuf->info.refcnt))
		mpa_conn_kick_put(conn);
}

/* The network stack drops a reference. Context: any. */
static void mpa_tx_ubuf_complete(struct sk_buff *skb, struct ubuf_info *info,
				 bool success)
{
	mpa_tx_ubuf_put(container_of(info, struct mpa_tx_ubuf, info));
}

static const struct ubuf_info_ops mpa_tx_ubuf_ops = {
	.complete	= mpa_tx_ubuf_complete,
};

/*
 * Have a ubuf for the consumer's pages in @train, from the next FPDU on. One
 * for each train, so that pages of several messages share an skb: an skb names
 * one.
 */
static int mpa_train_need_ubuf(struct mpa_conn *conn, struct mpa_train *train)
{
	struct mpa_tx_ubuf *ubuf = train->ubuf;

	if (ubuf)
		return 0;
	ubuf = kmalloc(sizeof(*ubuf), train->gfp);
	if (!ubuf)
		return -ENOMEM;
	ubuf->info = (struct ubuf_info) {
		.ops = &mpa_tx_ubuf_ops,
		.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN,
	};
	refcount_set(&ubuf->info.refcnt, 1);
	ubuf->conn = conn;
	ubuf->pos = train->enc.pos;
	list_add_tail(&ubuf->list, &conn->tx.ubufs);
	mpa_conn_get(conn);
	train->ubuf = ubuf;
	return 0;
}

/*
 * Drop the train's reference. Unlike others this needs no kick: the runner goes
 * on to mpa_tx_reap_ubufs(). If TCP has none, no message waits for that.
 */
static void mpa_train_put_ubuf(struct mpa_train *train)
{
	struct mpa_tx_ubuf *ubuf = train->ubuf;

	if (!ubuf || !refcount_dec_and_test(&ubuf->info.refcnt))
		return;
	list_del(&ubuf->list);
	mpa_conn_put(ubuf->conn);
	kfree(ubuf);
}

void mpa_train_drop(struct mpa_conn *conn)
{
	struct mpa_train *train = conn->tx.train;
	unsigned int i;

	if (!train)
		return;
	for (i = 0; i < train->enc.nr; i++)
		put_page(train->bv[i].bv_page);
	mpa_train_put_ubuf(train);
	mpa_spare_give(train);
	conn->tx.train = NULL;
}

static int mpa_train_refill(struct mpa_enc *enc)
{
	struct mpa_train *train = container_of(enc, struct mpa_train, enc);

	if (!skb_page_frag_refill(MPA_REFILL_MIN, &enc->frag, train->gfp))
		return -ENOMEM;
	return 0;
}

static u32 mpa_train_fill(const struct mpa_train *train, u32 room)
{
	return mpa_fpdu_fill(train->enc.pos, room, train->enc.markers);
}

/* Length of a ULPDU whose FPDU fills a segment at this position, or 0 */
static u32 mpa_train_fit(const struct mpa_train *train)
{
	return mpa_fpdu_exact(train->enc.pos, train->emss, train->enc.markers);
}

static void mpa_train_init(struct mpa_conn *conn, struct mpa_train *train,
			   const struct mpa_tcp_room *room)
{
	BUILD_BUG_ON(sizeof(*train) > MPA_SPARE_SIZE);
	/* One by one: to clear all of it costs more than the rest of this. */
	train->cut_of = NULL;
	train->open = NULL;
	train->ubuf = NULL;
	train->left = 0;
	train->octets = 0;
	train->exact = 0;
	train->first = 0;
	train->nr = 0;
	train->gather = false;
	train->probed = mpa_tcp_probes_mtu(conn->sk);
	train->gfp = mpa_conn_gfp(conn);
	train->emss = room->emss;
	train->narrow = room->narrow;
	train->multi = !room->sack;
	train->room = max(room->octets, room->emss);
	train->pages = mpa_tcp_pages_max();
	train->enc.pos = conn->tx.pos;
	train->enc.markers = conn->terms.markers_tx;
	train->enc.crc = conn->terms.crc;
	train->ungathered = conn->terms.crc ? MPA_TX_COPY : 0;
	train->enc.nr = 0;
	train->enc.bv = train->bv;
	train->enc.max = MPA_TRAIN_BVECS;
	train->enc.frag = (struct page_frag){};
	train->enc.refill = mpa_train_refill;
	train->enc.kv = train->kv;
	train->enc.kv_next = train->kv;
	train->enc.kv_end = train->kv + MPA_TRAIN_KVECS;
	train->enc.buf = train->buf;
	train->enc.buf_end = train->buf + MPA_TRAIN_BUF;
	conn->tx.train = train;
}

/* The next FPDU begins another record. */
static void mpa_record_end(struct mpa_train *train)
{
	train->open = NULL;
	train->left = 0;
}

/*
 * True if it costs less to send the pages of @tx than to copy them. Each page
 * (or contiguous ones together), what lies between two FPDUs, and a marker are
 * a fragment. So an skb holds few segments of a small EMSS, while copies of 64
 * KB share one: with few octets the skbs cost more than the copies.
 */
static bool mpa_train_pages_pay(const struct mpa_conn *conn,
				const struct mpa_train *train,
				const struct mpa_tx *tx)
{
	u32 markers = train->enc.markers ?
		      train->emss / MPA_MARKER_INTERVAL + 1 : 0;
	u32 frags = DIV_ROUND_UP(train->emss, PAGE_SIZE) + 1 + 2 * markers;
	u32 octets = mpa_tcp_frags_max() / frags * train->emss;

	if (!tx->next && !iov_iter_is_bvec(&tx->data))
		return false;
	if (!mpa_tx_is_source(tx))
		octets = tx->len;
	else if (!tx->next)
		octets = min(octets, tx->len);
	return octets >= READ_ONCE(READ_ONCE(conn->mn)->zerocopy_min);
}

/*
 * Most octets of the train. Copies that are laid out take a fragment for each
 * page; how many the consumer's own pages take, mpa_train_pick_record() counts.
 */
static u32 mpa_train_limit(const struct mpa_train *train)
{
	if (train->gather || (train->open && train->open->zc))
		return train->room;
	return min(train->room, train->pages);
}

/*
 * True if the next ULPDU could be too long for the room left. It would wait
 * for the next train, where its length may no longer fit a segment.
 */
static bool mpa_train_full(const struct mpa_train *train)
{
	u32 next = train->left < MPA_MULPDU_MIN ? train->emss : train->left;

	return train->nr && train->octets + next > mpa_train_limit(train);
}

/* The message to frame next, or NULL if there is none or the train is full. */
static struct mpa_tx *mpa_train_next(struct mpa_conn *conn)
{
	struct mpa_train *train = conn->tx.train;
	struct mpa_tx *tx = conn->tx.cur;

	if (tx || mpa_tx_queue_empty(conn))
		return tx;
	spin_lock_bh(&conn->lock);
	tx = list_first_entry_or_null(&conn->tx.queue, struct mpa_tx, list);
	if (tx)
		list_del(&tx->list);
	spin_unlock_bh(&conn->lock);
	conn->tx.cur = tx;
	if (!tx)
		return NULL;
	if (tx->flags & MPA_TX_ZEROCOPY && !(tx->flags & train->ungathered) &&
	    !train->probed && mpa_train_pages_pay(conn, train, tx))
		tx->state |= MPA_MSG_ZEROCOPY;
	if (!train->open ||
	    train->open->zc == !!(tx->state & MPA_MSG_ZEROCOPY))
		return tx;
	mpa_record_end(train);
	return mpa_train_full(train) ? NULL : tx;
}

/*
 * Longest ULPDU for a segment of its own. A consumer is offered MPA_MULPDU_MIN
 * at least (SZ-17, SZ-18).
 */
static u32 mpa_train_own_segment(const struct mpa_train *train)
{
	if (train->exact && !train->enc.markers)
		return train->exact;
	return max_t(u32, MPA_MULPDU_MIN, mpa_train_fill(train, train->emss));
}

/*
 * Longest ULPDU for the room left in this segment or, if less than @least fits,
 * for the next segment.
 */
static u32 mpa_train_max(const struct mpa_train *train, u32 least)
{
	u32 max;

	if (train->left >= least) {
		max = mpa_train_fill(train, train->left);
		if (max >= least)
			return max;
	}
	return mpa_train_own_segment(train);
}

/* Returns what next() does, or -ECANCELED if it may not be called. */
static __always_inline int mpa_train_call_next(struct mpa_conn *conn,
					       struct mpa_tx *tx, u32 max)
{
	int more;

	if (!mpa_conn_enter(conn))
		return -ECANCELED;
	more = tx->next(tx, max);
	/* In MPA these mean: try again. Those of a source are final. */
	if (more == -EAGAIN || more == -ENOMEM || more == -ENOBUFS)
		return -EIO;
	return more;
}

/* Ask a source for a ULPDU. Returns 1, 0 if it has no more, or an error. */
static int mpa_train_ask(struct mpa_conn *conn, struct mpa_tx *tx, u32 max)
{
	int more = mpa_train_call_next(conn, tx, max);

	if (more < 0)
		return more;
	if (!more)
		tx->state |= MPA_MSG_LAST;
	if (!more && !tx->hdr_len && !tx->len)
		return 0;
	if (WARN_ON_ONCE(more > 1 || !(tx->hdr_len + tx->len) ||
			 !mpa_tx_length_ok(tx, max)))
		return -EINVAL;
	return 1;
}

/*
 * Ask for more octets of a message with a template. Returns 1, 0 if the message
 * is to stop here, or an error.
 */
static int mpa_train_ask_data(struct mpa_conn *conn, struct mpa_tx *tx, u32 max)
{
	u32 hdr_len = tx->hdr_len;
	int more = mpa_train_call_next(conn, tx, max);

	if (more < 0)
		return more;
	if (!more && !tx->hdr_len && !tx->len)
		return 0;
	if (WARN_ON_ONCE(more > 1 || tx->hdr_len != hdr_len ||
			 (more && !tx->len) ||
			 tx->len > iov_iter_count(&tx->data)))
		return -EINVAL;
	if (!more)
		tx->state |= MPA_MSG_FINAL;
	return 1;
}

/* True if a message with a template has no octets but the @len it names. */
static bool mpa_tx_len_is_final(const struct mpa_tx *tx)
{
	return !tx->next || tx->state & MPA_MSG_FINAL;
}

static u64 mpa_template_count(const struct mpa_tx *tx)
{
	const void *count = tx->hdr + tx->template->count_at;

	if (tx->template->count_size == sizeof(u64))
		return get_unaligned_be64(count);
	return get_unaligned_be32(count);
}

/* Set up train->cut for all ULPDUs of @tx but the last. */
static void mpa_cut_begin(struct mpa_train *train, const struct mpa_tx *tx)
{
	if (train->cut_of == tx)
		return;
	train->cut_of = tx;
	train->cut.template = tx->template;
	train->cut.count = mpa_template_count(tx) + tx->cut;
	train->cut.hdr_len = tx->hdr_len;
	memcpy(train->cut.hdr, tx->hdr, tx->hdr_len);
}

/* Cut @len octets from @tx, as the next ULPDU, with its header. */
static __always_inline void mpa_cut(struct mpa_train *train,
				    const struct mpa_tx *tx, u32 len,
				    struct mpa_tx_ulpdu *ulpdu)
{
	mpa_cut_count(&train->cut, train->cut.hdr);
	ulpdu->hdr = train->cut.hdr;
	ulpdu->hdr_len = tx->hdr_len;
	ulpdu->len = len;
	ulpdu->last = false;
}

/* The ULPDU that was cut last is framed. */
static __always_inline void mpa_cut_done(struct mpa_train *train,
					 struct mpa_tx *tx, u32 len)
{
	train->cut.count += len;
	tx->cut += len;
	tx->len -= len;
}

/*
 * Least ULPDU to cut to the room that is left in a segment. A message that fits
 * a segment of its own is split only if at least MPA_MULPDU_MIN octets fit:
 * otherwise each of a series of such messages would become two FPDUs.
 */
static u32 mpa_cut_least(const struct mpa_train *train, const struct mpa_tx *tx,
			 u32 whole)
{
	if (tx->len <= whole - tx->hdr_len && mpa_tx_len_is_final(tx))
		return MPA_MULPDU_MIN;
	return 2 * tx->hdr_len;
}

/*
 * The next ULPDU of a message with a template. If the train has no room for it,
 * it is cut once more for the next. Returns as mpa_train_ask().
 */
static int mpa_train_cut(struct mpa_conn *conn, struct mpa_tx *tx,
			 struct mpa_tx_ulpdu *ulpdu)
{
	struct mpa_train *train = conn->tx.train;
	u32 whole = mpa_train_own_segment(train);
	int ret = 1;
	u32 room;

	if (tx->len <= whole - tx->hdr_len && !mpa_tx_len_is_final(tx))
		ret = mpa_train_ask_data(conn, tx, whole);
	if (ret <= 0)
		return ret;
	room = mpa_train_max(train, mpa_cut_least(train, tx, whole)) -
	       tx->hdr_len;
	mpa_cut_begin(train, tx);
	mpa_cut(train, tx, min(tx->len, room), ulpdu);
	ulpdu->last = tx->len <= room && mpa_tx_len_is_final(tx);
	if (ulpdu->last)
		*train->cut.hdr |= tx->template->last;
	else
		tx->state |= MPA_MSG_LONG;
	return 1;
}

/* The next ULPDU of a source. Returns as mpa_train_ask(). */
static int mpa_train_ulpdu(struct mpa_conn *conn, struct mpa_tx *tx,
			   struct mpa_tx_ulpdu *ulpdu)
{
	int more;

	if (tx->flags & MPA_TX_TEMPLATE)
		return mpa_train_cut(conn, tx, ulpdu);
	if (!(tx->state & MPA_MSG_ASKED)) {
		more = mpa_train_ask(conn, tx, mpa_train_max(conn->tx.train,
							     MPA_MULPDU_MIN));
		if (more <= 0)
			return more;
		tx->state |= MPA_MSG_ASKED;
		if (!(tx->state & MPA_MSG_LAST))
			tx->state |= MPA_MSG_LONG;
	}
	*ulpdu = (struct mpa_tx_ulpdu) {
		.hdr = tx->hdr, .hdr_len = tx->hdr_len, .len = tx->len,
		.last = tx->state & MPA_MSG_LAST,
	};
	return 1;
}

/*
 * The most fragments of an skb that the ULPDU's FPDU takes if its @len octets
 * of data are sent from their pages; 0 if these must not be sent, or need more
 * than an skb has.
 */
static u32 mpa_train_frags(struct mpa_conn *conn, const struct mpa_tx *tx,
			   u32 hdr_len, u32 len, u32 size)
{
	u32 most = conn->tx.train->pages / PAGE_SIZE + MPA_FRAMING_FRAGS;
	u32 markers = conn->terms.markers_tx ?
		      size / MPA_MARKER_INTERVAL + 1 : 0;
	u32 frags;

	frags = mpa_iter_entries(&tx->data, len);
	if (!frags)
		return 0;
	/*
	 * A marker is a fragment, and cuts an entry into two. A longer header
	 * may begin in one page fragment and go on in the next ones.
	 */
	frags += 2 * markers + MPA_FRAMING_FRAGS;
	if (hdr_len > MPA_HDR_WHOLE)
		frags += DIV_ROUND_UP(hdr_len, PAGE_SIZE);
	return frags <= most ? frags : 0;
}

static struct mpa_record *mpa_record_begin(struct mpa_train *train, bool zc)
{
	struct mpa_record *record = &train->record[train->nr];

	memset(record, 0, sizeof(*record));
	record->zc = zc;
	return record;
}

/* A record for an FPDU of @size octets, or NULL if the train is full. */
static struct mpa_record *mpa_train_record(struct mpa_train *train, u32 size,
					   bool zc)
{
	struct mpa_record *record = train->open;

	if (train->nr && train->octets + size > mpa_train_limit(train))
		return NULL;
	if (record && record->zc == zc &&
	    (!zc || train->nr < MPA_TRAIN_RECORDS) &&
	    (size <= train->left ||
	     (train->multi && !train->left && size <= train->emss)))
		return record;
	if (train->nr == MPA_TRAIN_RECORDS)
		return NULL;
	return mpa_record_begin(train, zc);
}

/*
 * An FPDU with pages was laid out for @record. Before that train.bv had @nr
 * entries, and the FPDU's header may have been merged into the last of them.
 * Returns the record that it goes to: another one if that is more than an skb
 * can have.
 */
static struct mpa_record *mpa_train_pick_record(struct mpa_train *train,
						struct mpa_record *record,
						u32 nr)
{
	if (record == train->open &&
	    train->enc.nr - record->bv > mpa_tcp_frags_max())
		record = mpa_record_begin(train, record->zc);
	if (record != train->open)
		record->bv = max(nr, 1U) - 1;
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

/*
 * Note an FPDU of @size octets: mpa_tx_set_emss() looks for equal ones. A
 * source of several ULPDUs is cut to fill segments anyway.
 */
static void mpa_train_note(struct mpa_conn_tx *t, u32 size,
			   const struct mpa_tx *tx)
{
	bool fills = !t->train->narrow || t->train->emss % size == 0;
	struct mpa_tx_series *s = &t->series;

	if (tx->state & MPA_MSG_LONG || size != s->size ||
	    s->sources != mpa_tx_is_source(tx))
		s->count = 0;
	if (!s->count)
		s->pos = t->train->enc.pos - size;
	if (!(tx->state & MPA_MSG_LONG) && s->count < MPA_TX_NEVER - 1)
		s->count++;
	s->sources = mpa_tx_is_source(tx);
	s->size = size;
	s->others = fills ? 0 : s->others + 1;
}

/* Account for an FPDU of @size octets that was added. */
static void mpa_train_add(struct mpa_train *train, struct mpa_record *record,
			  u32 size)
{
	if (record != train->open) {
		mpa_record_end(train);
		train->nr++;
		train->open = size > train->emss ? NULL : record;
	}
	if (size <= train->left)
		train->left -= size;
	else if (train->open)
		train->left = train->emss - size;
	mpa_record_add(train, record, size, 1);
}

static void mpa_train_count_copied(struct mpa_conn *conn,
				   const struct mpa_tx *tx, u32 n)
{
	if (tx->flags & MPA_TX_ZEROCOPY)
		mpa_count_add(conn, TX_COPIED, n);
}

/*
 * True if it pays to gather @tx: it follows others in a train that is gathered;
 * or it begins a train, and is large, or is alone, so that a page fragment for
 * it would be too much.
 */
static bool mpa_train_should_gather(const struct mpa_conn *conn,
				    const struct mpa_tx *tx)
{
	const struct mpa_train *train = conn->tx.train;

	return train->gather ||
	       (!train->nr && (tx->len >= MPA_TRAIN_GATHER ||
			       mpa_tx_queue_empty(conn)));
}

/*
 * Gather the ULPDU @p of @tx, or copy its FPDU of @size octets if that is
 * short. Returns 0; -ENOBUFS if the encoder or the flags of @tx do not allow
 * it, or there is no room; or another error.
 */
static int mpa_train_gather(struct mpa_train *train, struct mpa_tx *tx,
			    const struct mpa_tx_ulpdu *p, u32 size)
{
	struct mpa_enc *enc = &train->enc;
	bool flat = !p->len || mpa_iter_is_flat(&tx->data);

	if (tx->state & MPA_MSG_ZEROCOPY)
		return -ENOBUFS;
	if (size <= MPA_TRAIN_SHORT && flat)
		return mpa_fpdu_copy(enc, p->hdr, p->hdr_len, &tx->data,
				     p->len);
	if (tx->flags & train->ungathered ||
	    !mpa_fpdu_can_gather(enc, p->hdr_len, &tx->data, p->len))
		return -ENOBUFS;
	return mpa_fpdu_gather(enc, p->hdr, p->hdr_len, &tx->data, p->len);
}

/* True if ULPDUs of @tx that each fill a segment can follow in this record. */
static bool mpa_train_can_run(const struct mpa_conn *conn,
			      const struct mpa_tx *tx)
{
	const struct mpa_train *train = conn->tx.train;

	if (!train->open || !train->multi || train->left || train->narrow ||
	    !mpa_tx_is_source(tx))
		return false;
	if (tx->state & MPA_MSG_ZEROCOPY)
		return train->open->zc && tx->flags & MPA_TX_TEMPLATE;
	return !(train->gather && tx->flags & train->ungathered) &&
	       !(tx->state & (MPA_MSG_ASKED | MPA_MSG_LAST));
}

/*
 * Open an empty record in a train that has none and is then gathered, if @tx
 * has a ULPDU for it that fills a segment, in one piece: mpa_train_cut_run()
 * takes that.
 */
static void mpa_train_open_gathered(struct mpa_conn *conn,
				    const struct mpa_tx *tx)
{
	struct mpa_train *train = conn->tx.train;
	u32 len = train->exact - tx->hdr_len;

	if (train->nr || !train->multi || train->narrow || !train->exact ||
	    !(tx->flags & MPA_TX_TEMPLATE) || tx->flags & train->ungathered ||
	    tx->state & MPA_MSG_ZEROCOPY || len >= tx->len ||
	    !mpa_fpdu_can_gather(&train->enc, tx->hdr_len, &tx->data, len) ||
	    iov_iter_single_seg_count(&tx->data) < len)
		return;
	train->gather = true;
	train->open = mpa_record_begin(train, false);
	train->nr = 1;
}

/*
 * Lay out or gather the ULPDU @p of @tx. Returns 0, 1 if a train that is
 * gathered cannot have it, or an error.
 */
static __always_inline int mpa_train_try(struct mpa_train *train,
					 struct mpa_tx *tx,
					 const struct mpa_tx_ulpdu *p)
{
	if (!train->gather)
		return mpa_fpdu_encode(&train->enc, p->hdr, p->hdr_len,
				       &tx->data, p->len, false);
	if (!mpa_fpdu_can_gather(&train->enc, p->hdr_len, &tx->data, p->len))
		return 1;
	return mpa_fpdu_gather(&train->enc, p->hdr, p->hdr_len, &tx->data,
			       p->len);
}

/* Add @n ULPDUs of @tx that each fill a segment. */
static void mpa_train_add_full(struct mpa_conn *conn, const struct mpa_tx *tx,
			       u32 n)
{
	struct mpa_train *train = conn->tx.train;

	if (train->open->zc)
		mpa_count_add(conn, TX_ZEROCOPY, n);
	else
		mpa_train_count_copied(conn, tx, n);
	mpa_record_add(train, train->open, n * train->emss, n);
	/*
	 * Also if @n is 0: FPDUs before these fill segments, too, so that no
	 * series of them lowers the EMSS.
	 */
	conn->tx.series.count = 0;
}

/* How many segments there is room for in the train. */
static u32 mpa_train_segments(const struct mpa_train *train)
{
	return (mpa_train_limit(train) - train->octets) / train->emss;
}

/*
 * Fast path for ULPDUs of a source that each fill a segment. One that does not,
 * or has no room here, is left to mpa_train_lay(). Returns 1 if the source has
 * come to its end, 0 if it may have more, or an error.
 */
static int mpa_train_lay_run(struct mpa_conn *conn, struct mpa_tx *tx)
{
	struct mpa_train *train = conn->tx.train;
	u32 most = mpa_train_segments(train);
	struct mpa_tx_ulpdu ulpdu = {};
	int ret = 0;
	u32 n, max;

	for (n = 0; n < most && !(tx->state & MPA_MSG_LAST); n++) {
		/* Without markers it does not depend on the position. */
		max = train->enc.markers ? mpa_train_fit(train) : train->exact;
		if (!max)
			break;
		ret = mpa_train_ask(conn, tx, max);
		if (ret <= 0)
			break;
		ulpdu.hdr = tx->hdr;
		ulpdu.hdr_len = tx->hdr_len;
		ulpdu.len = tx->len;
		ret = tx->hdr_len + tx->len == max ?
		      mpa_train_try(train, tx, &ulpdu) : 1;
		if (ret) {
			tx->state |= MPA_MSG_ASKED;
			break;
		}
	}
	mpa_train_add_full(conn, tx, n);
	if (n || !(tx->state & MPA_MSG_LAST))
		tx->state |= MPA_MSG_LONG;
	if (ret < 0 || tx->state & MPA_MSG_ASKED || !(tx->state & MPA_MSG_LAST))
		return min(ret, 0);
	mpa_tx_framed(conn, tx, train->enc.pos);
	return 1;
}

/*
 * Gather up to @nr ULPDUs of @tx that each fill a segment, but not its last
 * octets. Returns how many.
 */
static u32 mpa_cut_gather(struct mpa_train *train, struct mpa_tx *tx, u32 nr)
{
	u32 len = train->exact - tx->hdr_len;

	if (!train->exact || len >= tx->len ||
	    !mpa_fpdu_can_gather(&train->enc, tx->hdr_len, &tx->data, len))
		return 0;
	return mpa_fpdu_gather_run(&train->enc, &train->cut, &tx->data, len,
				   min(nr, (tx->len - 1) / len));
}

/* As mpa_cut_gather(), laid out in pages of @tx, while the skb can have them */
static u32 mpa_cut_pages(struct mpa_train *train, struct mpa_tx *tx, u32 nr)
{
	u32 most = train->open->bv + mpa_tcp_frags_max();
	u32 len = train->exact - tx->hdr_len;

	if (!train->exact || train->enc.markers || len >= tx->len)
		return 0;
	return mpa_fpdu_pages_run(&train->enc, &train->cut, &tx->data, len,
				  min(nr, (tx->len - 1) / len), most);
}

/*
 * As mpa_train_lay_run() for a message with a template, in one loop of the
 * encoder. Its last octets, of which mpa_train_cut() knows whether others
 * follow, are not for this.
 */
static void mpa_train_cut_run(struct mpa_conn *conn, struct mpa_tx *tx)
{
	struct mpa_train *train = conn->tx.train;
	u32 most = mpa_train_segments(train);
	u64 count;
	u32 n = 0;

	mpa_cut_begin(train, tx);
	count = train->cut.count;
	if (train->open->zc)
		n = mpa_cut_pages(train, tx, most);
	else if (train->gather)
		n = mpa_cut_gather(train, tx, most);
	else if (mpa_iter_is_flat(&tx->data))
		n = mpa_fpdu_encode_run(&train->enc, &train->cut, &tx->data,
					tx->len, train->emss, most);
	tx->cut += train->cut.count - count;
	tx->len -= train->cut.count - count;
	mpa_train_add_full(conn, tx, n);
	if (n)
		tx->state |= MPA_MSG_LONG;
}

/*
 * Lay out or gather the next ULPDU of @tx as an FPDU. Returns 0, also if a
 * source has no more; -ENOBUFS if the train is full; or another error.
 */
static int mpa_train_lay(struct mpa_conn *conn, struct mpa_tx *tx)
{
	struct mpa_train *train = conn->tx.train;
	struct mpa_enc *enc = &train->enc;
	struct mpa_tx_ulpdu p = {
		.hdr = tx->hdr, .hdr_len = tx->hdr_len, .len = tx->len,
		.last = true,
	};
	struct mpa_record *record;
	u32 size, nr = enc->nr;
	struct mpa_tx_ulpdu next;
	int err;
	bool zc;

	if (mpa_tx_is_source(tx)) {
		err = mpa_train_ulpdu(conn, tx, &next);
		if (!err)
			mpa_tx_framed(conn, tx, train->enc.pos);
		if (err <= 0)
			return err;
		/* The address of @next is taken; p can stay in registers. */
		p = next;
	}

	size = mpa_fpdu_size(enc->pos, p.hdr_len + p.len, enc->markers);
	zc = tx->state & MPA_MSG_ZEROCOPY && !train->probed &&
	     mpa_train_frags(conn, tx, p.hdr_len, p.len, size);
	record = mpa_train_record(train, size, zc);
	if (!record)
		return -ENOBUFS;

	/*
	 * Gathered, TCP copies the ULPDU from where it is to few, large
	 * fragments. If pages are given to TCP, each becomes a fragment.
	 */
	err = -ENOBUFS;
	if (mpa_train_should_gather(conn, tx)) {
		err = mpa_train_gather(train, tx, &p, size);
		/* Not if there are too many pieces even for an empty train */
		train->gather = !err || train->nr;
	}
	/*
	 * Laid out, it is in the consumer's pages, or copied to page fragments,
	 * mostly as one piece, so that one CRC pass covers it.
	 */
	if (err == -ENOBUFS && !train->gather) {
		err = zc ? mpa_train_need_ubuf(conn, train) : 0;
		if (!err)
			err = mpa_fpdu_encode(enc, p.hdr, p.hdr_len, &tx->data,
					      p.len, zc);
	}
	if (err)
		return err;
	if (zc)
		record = mpa_train_pick_record(train, record, nr);
	mpa_train_add(train, record, size);
	if (zc) {
		mpa_count(conn, TX_ZEROCOPY);
		/* No octets of a series share an skb with it. */
		conn->tx.series.pos = enc->pos;
	} else {
		mpa_train_note(&conn->tx, size, tx);
		mpa_train_count_copied(conn, tx, 1);
	}
	tx->state &= ~MPA_MSG_ASKED;
	if (tx->flags & MPA_TX_TEMPLATE)
		mpa_cut_done(train, tx, p.len);
	if (p.last)
		mpa_tx_framed(conn, tx, train->enc.pos);
	return 0;
}

/* True if the EMSS that was lowered is for the next ULPDU of @tx, too. */
static bool mpa_train_suits(const struct mpa_conn *conn,
			    const struct mpa_tx *tx)
{
	const struct mpa_train *train = conn->tx.train;

	/* A source fills any segment, unless its only ULPDU is shorter. */
	if (mpa_tx_is_source(tx))
		return conn->tx.series.sources && !(tx->state & MPA_MSG_LONG);
	return mpa_fpdu_size(train->enc.pos, tx->hdr_len + tx->len, false) <=
	       train->emss;
}

/*
 * True if the EMSS that was lowered is not for @tx, or was not for many FPDUs
 * before. Then the series is ended (count and others become 0), so that
 * mpa_tx_set_emss() raises the EMSS, and the next one must be twice as long
 * (need).
 */
static bool mpa_train_end_narrow(struct mpa_conn *conn,
				 const struct mpa_tx *tx)
{
	struct mpa_tx_series *s = &conn->tx.series;

	if (!conn->tx.train->narrow ||
	    (s->others < MPA_TX_SERIES && mpa_train_suits(conn, tx)))
		return false;
	s->count = 0;
	s->others = 0;
	s->need = min(2 * s->need, MPA_TX_SERIES_MAX);
	return true;
}

/*
 * Make @train conn->tx.train: the rest of one FPDU in @train->buf, of whose
 * @size octets TCP has taken @taken. No other FPDU is added.
 */
void mpa_train_rest(struct mpa_conn *conn, struct mpa_train *train, u32 size,
		    u32 taken)
{
	const struct mpa_tcp_room room = { .emss = size };
	struct mpa_record *record;

	mpa_train_init(conn, train, &room);
	train->gather = true;
	record = mpa_record_begin(train, false);
	mpa_record_add(train, record, size, 1);
	record->len -= taken;
	record->started = true;
	train->nr = 1;
	train->kv->iov_base = train->buf + taken;
	train->kv->iov_len = size - taken;
	iov_iter_kvec(&train->iter, ITER_SOURCE, train->kv, 1, size - taken);
}

/*
 * Build a train, as conn->tx.train. Returns 0, also if the train has less than
 * all that is queued; -ENOMEM if there is no memory for any of it; or another
 * negative errno if the connection has failed.
 */
int mpa_train_build(struct mpa_conn *conn, const struct mpa_tcp_room *room)
{
	struct mpa_train *train = mpa_spare_take(mpa_conn_gfp(conn));
	struct mpa_tx *tx;
	int err = 0;

	if (!train)
		return -ENOMEM;
	mpa_train_init(conn, train, room);
	mpa_frag_take(&train->enc.frag);
	train->exact = mpa_train_fit(train);

	while (err >= 0 && !mpa_train_full(train)) {
		tx = mpa_train_next(conn);
		if (!tx || mpa_train_end_narrow(conn, tx))
			break;
		err = 0;
		mpa_train_open_gathered(conn, tx);
		if (mpa_train_can_run(conn, tx)) {
			if (tx->flags & MPA_TX_TEMPLATE)
				mpa_train_cut_run(conn, tx);
			else
				err = mpa_train_lay_run(conn, tx);
			if (err || mpa_train_full(train))
				continue;
		}
		err = mpa_train_lay(conn, tx);
	}

	mpa_frag_give(&train->enc.frag);
	conn->tx.pos = train->enc.pos;
	if (!train->nr) {
		mpa_train_drop(conn);
		return err;
	}
	if (train->gather)
		iov_iter_kvec(&train->iter, ITER_SOURCE, train->kv,
			      train->enc.kv_next - train->kv, train->octets);
	else
		iov_iter_bvec(&train->iter, ITER_SOURCE, train->bv,
			      train->enc.nr, train->octets);
	/* TCP is given what was framed; the rest is tried again after it. */
	return err == -ENOBUFS || err == -ENOMEM ? 0 : min(err, 0);
}
