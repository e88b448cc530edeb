// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA, used as DDP uses it: a message is cut into ULPDUs that fill segments,
 * unless it fits one, and each has the header of an untagged DDP segment;
 * messages posted together go in a list. recv() reads the headers, and copies
 * the payload to the ring.
 */
#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <net/mpa.h>

#include "bench_int.h"

#define SLOTS_MIN	16
#define SLOTS_MAX	4096
#define L_FLAG		0x40	/* in the first octet of a header */
#define NOT_LAST	cpu_to_be16(0x0143)	/* a Send that goes on */
#define LAST		cpu_to_be16(L_FLAG << 8 | 0x0143)
#define TIMEOUT		(30 * HZ)

/* RFC 5041, section 4.3, with the octets that RDMAP has in it */
struct ddp_untagged {
	__be16	control;
	__be32	stag;
	__be32	qn;
	__be32	msn;
	__be32	mo;
} __packed;

/**
 * struct mpa_slot - a message under way
 * @tx: the message
 * @hdr: header of its next ULPDU
 * @kv: its octets
 * @bv: or, with zero copy, their pages
 */
struct mpa_slot {
	struct mpa_tx		tx;
	struct ddp_untagged	hdr;
	union {
		struct kvec	kv;
		struct bio_vec	bv;
	};
};

/**
 * struct mpa_side - the state of an end
 * @end: the end
 * @conn: its connection; NULL once it is detached
 * @ready: completed when @err is known
 * @err: 0 if established, or negative errno
 * @pages: zero copy
 * @nr: slots, a power of 2
 * @posted: messages posted
 * @done: messages handed back
 * @mo: octets received of the message
 * @slot: a ring of them
 */
struct mpa_side {
	struct bench_end	*end;
	struct mpa_conn		*conn;
	struct completion	ready;
	int			err;
	bool			pages;
	u32			nr;
	u32			posted;
	u32			done;
	u32			mo;
	struct mpa_slot		slot[];
};

static u32 slots(const struct bench_end *end)
{
	u32 nr = clamp(BENCH_CALL_OCTETS / end->run->opts.size,
		       SLOTS_MIN, SLOTS_MAX);

	return end->run->opts.kind == BENCH_STREAM ? rounddown_pow_of_two(nr) :
	       1;
}

static u32 slots_free(const struct mpa_side *m)
{
	return m->nr - (m->posted - READ_ONCE(m->done));
}

/* MPA cuts a message by the message offset, and sets the L flag in the last. */
static const struct mpa_template template = {
	.count_at	= offsetof(struct ddp_untagged, mo),
	.count_size	= sizeof(__be32),
	.last		= L_FLAG,
};

/* The pages of a message lie in a row. */
static void slot_data(struct mpa_slot *slot, const void *from, u32 size,
		      bool pages)
{
	if (pages) {
		bvec_set_virt(&slot->bv, (void *)from, size);
		iov_iter_bvec(&slot->tx.data, ITER_SOURCE, &slot->bv, 1, size);
		return;
	}
	slot->kv.iov_base = (void *)from;
	slot->kv.iov_len = size;
	iov_iter_kvec(&slot->tx.data, ITER_SOURCE, &slot->kv, 1, size);
}

static struct mpa_tx *slot_fill(struct mpa_side *m, u32 nr, bool cut)
{
	struct mpa_slot *slot = &m->slot[nr & (m->nr - 1)];
	u32 size = m->end->run->opts.size;

	slot->hdr = (struct ddp_untagged) {
		.control = cut ? NOT_LAST : LAST,
		.msn	= cpu_to_be32(nr + 1),
	};
	slot->tx.hdr = &slot->hdr;
	slot->tx.hdr_len = sizeof(slot->hdr);
	slot->tx.len = size;
	slot->tx.flags = (cut ? MPA_TX_TEMPLATE : 0) |
			 (m->pages ? MPA_TX_ZEROCOPY : 0);
	slot->tx.next = NULL;
	slot->tx.template = &template;
	slot_data(slot, bench_message(m->end), size, m->pages);
	return &slot->tx;
}

static int post_list(struct mpa_side *m, u32 nr)
{
	u32 most = mpa_mulpdu(m->conn) - sizeof(struct ddp_untagged);
	bool cut = m->end->run->opts.size > most;
	LIST_HEAD(list);
	u32 i;

	for (i = 0; i < nr; i++)
		list_add_tail(&slot_fill(m, m->posted + i, cut)->list, &list);
	m->posted += nr;
	if (m->end->run->opts.thread && nr == 1)
		return mpa_send_now(m->conn, list_first_entry(&list,
							      struct mpa_tx,
							      list));
	return mpa_send_list(m->conn, &list);
}

static int mpa_post(struct bench_end *end, u32 nr)
{
	struct mpa_side *m = end->priv;
	int err = 0;
	u32 n;

	for (; nr && !err; nr -= n) {
		n = min3(nr, slots_free(m), (u32)BENCH_CALL);
		if (n)
			err = post_list(m, n);
		else if (!bench_wait(end, slots_free(m) >= m->nr / 2))
			break;
	}
	return err;
}

static void end_ready(struct mpa_side *m, int err)
{
	m->err = err;
	complete(&m->ready);
	if (err)
		bench_fail(m->end->run, err);
}

static void op_request(struct mpa_conn *conn, const struct mpa_startup *req)
{
	struct mpa_side *m = mpa_conn_ctx(conn);
	int err = mpa_accept(conn, NULL, 0);

	if (err)
		end_ready(m, err);
}

static void op_established(struct mpa_conn *conn,
			   const struct mpa_startup *reply)
{
	struct mpa_side *m = mpa_conn_ctx(conn);
	const struct bench_opts *opts = &m->end->run->opts;

	if (opts->thread || opts->softirq) {
		mpa_allow_softirq(conn);
		mpa_allow_softirq_send(conn);
	}
	end_ready(m, 0);
	mpa_resume(conn);
}

static void op_rejected(struct mpa_conn *conn, const struct mpa_startup *reply)
{
	end_ready(mpa_conn_ctx(conn), -ECONNREFUSED);
}

/*
 * True if the header is that of the octets from *@mo on of the message; then
 * *@mo is moved on.
 */
static bool take_hdr(const struct mpa_ulpdu *ulpdu, u32 *mo)
{
	const struct ddp_untagged *hdr = ulpdu->frag->iov_base;
	/* Not cleared for each FPDU: only a header in pieces needs them. */
	struct ddp_untagged copy __uninitialized;
	struct iov_iter iter __uninitialized;

	if (ulpdu->frag->iov_len < sizeof(*hdr)) {
		iov_iter_kvec(&iter, ITER_SOURCE, ulpdu->frag, ulpdu->nr_frags,
			      ulpdu->len);
		if (copy_from_iter(&copy, sizeof(copy), &iter) != sizeof(copy))
			return false;
		hdr = &copy;
	}
	if (be32_to_cpu(hdr->mo) != *mo)
		return false;
	*mo = hdr->control == LAST ? 0 : *mo + ulpdu->len - sizeof(*hdr);
	return true;
}

/* Copy the @len octets after the header: mostly they are one piece. */
static void place_ulpdu(u8 *to, const struct mpa_ulpdu *ulpdu, u32 len)
{
	const struct kvec *frag = ulpdu->frag, *end = frag + ulpdu->nr_frags;
	size_t n, skip = sizeof(struct ddp_untagged);

	if (likely(ulpdu->nr_frags == 1)) {
		memcpy(to, frag->iov_base + skip, len);
		return;
	}
	for (; frag < end && frag->iov_len <= skip; frag++)
		skip -= frag->iov_len;
	for (; frag < end; frag++, to += n) {
		n = frag->iov_len - skip;
		memcpy(to, frag->iov_base + skip, n);
		skip = 0;
	}
}

/*
 * ULPDUs up to @last, or up to the edge of the ring, or to one that is wrong;
 * returns the first left.
 */
static const struct mpa_ulpdu *place_ulpdus(struct mpa_side *m,
					    const struct mpa_ulpdu *ulpdu,
					    const struct mpa_ulpdu *last)
{
	u8 *begin, *to, *edge;
	u32 len, mo = m->mo;

	begin = bench_room(m->end, &len);
	edge = begin + len;
	for (to = begin; ulpdu < last; ulpdu++, to += len) {
		len = ulpdu->len - sizeof(struct ddp_untagged);
		if (len > edge - to || !take_hdr(ulpdu, &mo))
			break;
		place_ulpdu(to, ulpdu, len);
	}
	m->mo = mo;
	bench_placed(m->end, to - begin);
	return ulpdu;
}

static void op_recv(struct mpa_conn *conn, struct mpa_rx *rx)
{
	const struct mpa_ulpdu *ulpdu = rx->ulpdu, *last = ulpdu + rx->nr;
	struct mpa_side *m = mpa_conn_ctx(conn);
	const struct mpa_ulpdu *from;

	while (ulpdu < last) {
		from = ulpdu;
		ulpdu = place_ulpdus(m, from, last);
		if (ulpdu == from) {	/* not what was sent next */
			bench_fail(m->end->run, -EPROTO);
			return;
		}
	}
	bench_act(m->end);
}

static void op_sent(struct mpa_conn *conn, struct list_head *done)
{
	struct mpa_side *m = mpa_conn_ctx(conn);
	struct mpa_tx *tx;
	u32 nr = 0;

	list_for_each_entry(tx, done, list) {
		if (tx->status)
			bench_fail(m->end->run, tx->status);
		nr++;
	}
	WRITE_ONCE(m->done, m->done + nr);
	if (slots_free(m) >= m->nr / 2)
		bench_wake(m->end);
}

static void op_ended(struct mpa_conn *conn, const struct mpa_end *end)
{
}

static void op_released(struct mpa_conn *conn, struct list_head *left)
{
}

static const struct mpa_ops bench_mpa_ops = {
	.request	= op_request,
	.established	= op_established,
	.rejected	= op_rejected,
	.recv		= op_recv,
	.sent		= op_sent,
	.ended		= op_ended,
	.released	= op_released,
};

static int end_attach(struct bench_end *end, u32 flags)
{
	struct mpa_params params = {
		.ops	= &bench_mpa_ops,
		.flags	= flags,
		.rev	= MPA_REV_1,	/* older commits took 0 for Rev 0 */
	};
	u32 nr = slots(end);
	struct mpa_side *m;

	m = kvzalloc(struct_size(m, slot, nr), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->end = end;
	m->nr = nr;
	init_completion(&m->ready);
	params.ctx = m;
	m->conn = mpa_attach(end->sock, &params);
	if (IS_ERR(m->conn)) {
		int err = PTR_ERR(m->conn);

		kvfree(m);
		return err;
	}
	end->priv = m;
	if (end->run->opts.kind == BENCH_MEMORY)
		bench_own(end, m);
	return 0;
}

static void end_detach(struct bench_end *end)
{
	struct mpa_side *m = end->priv;

	if (m && m->conn)
		mpa_detach_sync(m->conn);
	if (m)
		m->conn = NULL;
}

static void end_free(struct bench_end *end)
{
	end_detach(end);
	kvfree(end->priv);
	end->priv = NULL;
}

static void mpa_close(struct bench_end *tx, struct bench_end *rx)
{
	end_free(tx);
	end_free(rx);
	bench_tcp_close(tx, rx);
}

/* The markers are those of the row; the use of CRCs is for the guest to see. */
static int end_check(struct bench_end *end, bool markers)
{
	struct mpa_side *m = end->priv;
	struct mpa_info info;

	if (!wait_for_completion_timeout(&m->ready, TIMEOUT))
		return -ETIMEDOUT;
	if (m->err)
		return m->err;
	mpa_get_info(m->conn, &info);
	if (info.markers_tx != markers || info.markers_rx != markers)
		return -EPROTOTYPE;
	return 0;
}

static int start(struct bench_end *tx, struct bench_end *rx)
{
	struct mpa_side *mtx = tx->priv, *mrx = rx->priv;

	return mpa_start_responder(mrx->conn, NULL, 0) ?:
	       mpa_start_initiator(mtx->conn, NULL, 0);
}

static int attach(struct bench_end *tx, struct bench_end *rx, bool markers)
{
	u32 flags = markers ? MPA_F_MARKERS : 0;
	int err;

	err = end_attach(tx, flags) ?: end_attach(rx, flags);
	if (!err)
		err = start(tx, rx);
	if (!err)
		err = end_check(tx, markers) ?: end_check(rx, markers);
	if (err) {
		end_free(tx);
		end_free(rx);
	}
	return err;
}

static int plain_attach(struct bench_end *tx, struct bench_end *rx)
{
	return attach(tx, rx, false);
}

static int pages_attach(struct bench_end *tx, struct bench_end *rx)
{
	struct mpa_side *m;
	int err = attach(tx, rx, false);

	if (!err) {
		m = tx->priv;
		m->pages = true;
	}
	return err;
}

static int markers_attach(struct bench_end *tx, struct bench_end *rx)
{
	return attach(tx, rx, true);
}

static int mpa_open(struct bench_end *tx, struct bench_end *rx)
{
	int err;

	err = bench_tcp_connect(tx, rx);
	if (err)
		return err;
	err = tx->run->transport->attach(tx, rx);
	if (err)
		bench_tcp_close(tx, rx);
	return err;
}

static int mpa_sink(struct bench_end *rx)
{
	end_detach(rx);
	return 0;
}

/* Posting ends with the run, and nothing else waits. */
static void mpa_shut(struct bench_end *tx, struct bench_end *rx)
{
	kernel_sock_shutdown(rx->sock, SHUT_RDWR);
}

static u64 mpa_fpdus(struct bench_end *tx)
{
	struct mpa_side *m = tx->priv;
	struct mpa_info info;

	mpa_get_info(m->conn, &info);
	return info.ulpdus_tx;
}

#define BENCH_MPA(_name, _attach) {	\
	.name	= _name,		\
	.owner	= THIS_MODULE,		\
	.open	= mpa_open,		\
	.attach	= _attach,		\
	.post	= mpa_post,		\
	.sink	= mpa_sink,		\
	.shut	= mpa_shut,		\
	.close	= mpa_close,		\
	.fpdus	= mpa_fpdus,		\
}

struct bench_transport bench_mpa = BENCH_MPA("mpa", plain_attach);
struct bench_transport bench_mpa_crc = BENCH_MPA("mpa-crc", plain_attach);
struct bench_transport bench_mpa_pages = BENCH_MPA("mpa-pages", pages_attach);
struct bench_transport bench_mpa_markers =
	BENCH_MPA("mpa-markers", markers_attach);
