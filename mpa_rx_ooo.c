// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Passing ULPDUs out of order: from TCP's queue of octets after holes to the
 * consumer's recv(), for placement. See "Out-of-order ULPDUs" in
 * Documentation/networking/mpa-design.rst.
 *
 * A search goes over all octets after holes, and jumps over known ranges. It
 * begins when TCP has queued segments there since the last one began, and is
 * done in parts, each of which ends with a batch or when its budget is used up.
 * FPDUs are found with the socket locked, and verified with no lock held, as in
 * order. They become a known range before they are passed, and are passed
 * before anything after them is delivered.
 *
 * Everything here runs in the work item. TCP's acknowledgments of octets after
 * holes queue it: see mpa_sk_sending().
 */
#include <linux/slab.h>
#include <net/tcp.h>
#include "mpa_rx_batch.h"
#include "mpa_rx_ooo.h"

/* Search budget, in steps: for each packet received, and for each jiffy. */
#define MPA_RX_OOO_PACE		256
#define MPA_RX_OOO_JIFFY	(4000000 / HZ)

/* Without the hook: jiffies from the last arrival until the timer stops. */
#define MPA_RX_OOO_IDLE		(HZ / 4)

/* Socket lock held. Full operation begins. */
void mpa_rx_ooo_begin(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	sock_owned_by_me(sk);

	if (!(conn->conn_flags & MPA_F_OOO) || !conn->terms.markers_rx ||
	    !conn->terms.crc)
		return;
	/* Octets after a hole may be there already: begin a search. */
	conn->ooo.seen = tcp_sk(sk)->rcv_ooopack - 1;
	WRITE_ONCE(conn->ooo.on, true);
	/* A closed socket may listen by now: see mpa_sk_changed(). */
	if (READ_ONCE(READ_ONCE(conn->mn)->ooo_ack_notify) &&
	    !mpa_conn_test(conn, MPA_CONN_GONE))
		mpa_hook_on(sk);
}

static bool mpa_rx_ooo_searching(const struct mpa_conn *conn)
{
	const struct mpa_ooo_map *known = conn->ooo.known;

	return known && known->at != MPA_POS_NONE;
}

/*
 * True if packets received, or time, have paid for the last search. Its cost is
 * in proportion to the new octets, unless the peer sends small pieces in which
 * no FPDU can be identified: that is kept to a small part of a CPU.
 */
static bool mpa_rx_ooo_paid(struct mpa_conn *conn)
{
	u32 news = READ_ONCE(tcp_sk(conn->sk)->rcv_ooopack) - conn->ooo.seen;
	unsigned long due = conn->ooo.begun +
			    conn->ooo.cost / MPA_RX_OOO_JIFFY + 1;

	if (news >= conn->ooo.cost / MPA_RX_OOO_PACE ||
	    time_after_eq(jiffies, due))
		return true;
	/* The timer may be due before that, for another purpose. */
	timer_reduce(&conn->timer, due);
	return false;
}

/* Without the hook: run again in a jiffy, while octets arrive. */
static void mpa_rx_ooo_poll(struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	u32 arrived = READ_ONCE(tp->rcv_nxt) + READ_ONCE(tp->rcv_ooopack);

	if (arrived != conn->ooo.arrived)
		conn->ooo.active = jiffies;
	conn->ooo.arrived = arrived;
	if (time_before(jiffies, conn->ooo.active + MPA_RX_OOO_IDLE))
		mod_timer(&conn->timer, jiffies + 1);
}

/*
 * True if there may be FPDUs to find, and they may be passed. If only memory of
 * other connections prevents that, the timer looks again.
 */
static bool mpa_rx_ooo_due(struct mpa_conn *conn)
{
	bool searching = mpa_rx_ooo_searching(conn);

	if (conn->ooo.ready || !mpa_rx_ooo_allowed(conn))
		return false;
	if (!searching && !mpa_rx_ooo_news(conn))
		return false;
	if (mpa_net_rx_full(conn)) {
		mpa_count(conn, RX_LIMITED);
		timer_reduce(&conn->timer, jiffies + MPA_RX_LIMITED_WAIT);
		return false;
	}
	return searching || mpa_rx_ooo_paid(conn);
}

/* Socket lock held. Pin or copy the FPDU found, with octets after it. */
static struct mpa_batch *mpa_rx_ooo_take(struct mpa_conn *conn,
					 struct mpa_queue *q,
					 const struct mpa_dec *dec)
{
	struct mpa_batch *b;
	int err;

	b = mpa_batch_alloc(conn);
	if (!b)
		return ERR_PTR(-ENOMEM);
	b->ooo = true;
	err = mpa_batch_pin(b, q, dec->pos, dec->size);
	if (!err && b->len < dec->size) {
		/* It has too many pieces to be pinned. */
		mpa_batch_unpin(b);
		err = mpa_batch_copy(b, q, dec->pos, dec->size);
	}
	if (!err)
		return b;
	mpa_batch_free(b);
	if (err == -ENOMEM)
		return ERR_PTR(err);
	mpa_ooo_map_add_bad(conn->ooo.known, dec->pos);
	return NULL;
}

/* Socket lock held. A batch to verify, from *@pos on; NULL; or an ERR_PTR(). */
static struct mpa_batch *mpa_rx_ooo_find(struct mpa_conn *conn, u64 *pos)
{
	struct mpa_ooo_map *known = conn->ooo.known;
	struct mpa_dec dec = { .markers = true };
	struct mpa_batch *b = NULL;
	struct mpa_queue q;

	/* Urgent data: the stream ends before any of these octets. */
	if (tcp_sk(conn->sk)->urg_data) {
		known->at = MPA_POS_NONE;
		return NULL;
	}
	mpa_queue_init(&q, conn, true);
	if (mpa_ooo_map_find(known, &q.src, &dec))
		b = mpa_rx_ooo_take(conn, &q, &dec);
	conn->ooo.cost += q.src.steps;
	if (known->nr == MPA_OOO_RANGES)
		mpa_count(conn, OOO_FULL);
	*pos = dec.pos;
	return b;
}

/*
 * Begin a search at the first octet after a hole, or go on with the one under
 * way. Returns as mpa_rx_ooo_find().
 */
static struct mpa_batch *mpa_rx_ooo_collect(struct mpa_conn *conn, u64 *pos)
{
	struct mpa_conn_ooo *ooo = &conn->ooo;
	struct mpa_batch *b = NULL;

	lock_sock(conn->sk);
	if (mpa_conn_reconnected(conn))
		goto unlock;
	/* One at a time. Segments queued since it began start the next. */
	if (!mpa_rx_ooo_searching(conn)) {
		if (!ooo->known)
			ooo->known = kzalloc(sizeof(*ooo->known),
					     mpa_conn_gfp(conn));
		if (!ooo->known) {
			b = ERR_PTR(-ENOMEM);
			goto unlock;
		}
		WRITE_ONCE(ooo->seen, tcp_sk(conn->sk)->rcv_ooopack);
		ooo->known->at = conn->rx.pos;
		ooo->cost = 0;
		ooo->begun = jiffies;
	}
	b = mpa_rx_ooo_find(conn, pos);
unlock:
	release_sock(conn->sk);
	return b;
}

/* No lock held. Verify FPDUs from @pos on, and enter them as known. */
static void mpa_rx_ooo_decode(struct mpa_conn *conn, struct mpa_batch *b,
			      u64 pos)
{
	struct mpa_ooo_map *known = conn->ooo.known;
	struct mpa_dec dec = {
		.pos = pos,
		.markers = true,
		.crc = true,
		.from_lead = mpa_conn_from_lead(conn),
	};
	int err;

	err = mpa_batch_decode(b, &dec, mpa_ooo_map_limit(known, pos));
	b->octets = 0;
	if (b->rx.nr) {
		mpa_ooo_map_add_passed(known, pos, dec.pos, b->rx.nr);
		b->end = dec.pos;
	} else if (err) {
		mpa_count(conn, OOO_BAD);
		mpa_ooo_map_add_bad(known, pos);
	}
}

/*
 * Work item, in full operation, when all FPDUs in order were passed: look for
 * FPDUs after holes. True if another call may find work.
 */
bool mpa_rx_ooo_search(struct mpa_conn *conn)
{
	struct mpa_batch *b;
	u64 pos;

	if (!conn->ooo.on)
		return false;
	if (!mpa_hook_is_on(conn->sk))
		mpa_rx_ooo_poll(conn);
	if (!mpa_rx_ooo_due(conn))
		return false;

	b = mpa_rx_ooo_collect(conn, &pos);
	if (IS_ERR(b)) {
		mpa_conn_retry(conn);
		return false;
	}
	/* Octets may have arrived since this search began. */
	if (!b)
		return mpa_rx_ooo_due(conn);
	mpa_rx_ooo_decode(conn, b, pos);
	if (b->rx.nr) {
		b->rx.delivered = conn->rx.delivered;
		conn->ooo.ready = b;
	} else {
		mpa_batch_free(b);
	}
	return true;
}

/* Work item: pass the batch that was found, unless delivery is on hold. */
void mpa_rx_ooo_pass(struct mpa_conn *conn)
{
	struct mpa_batch *b = conn->ooo.ready;

	if (!b || !mpa_conn_enter_recv(conn))
		return;
	conn->ooo.ready = NULL;
	mpa_batch_pass(b);
}

/* Work item: drop the batch that was found. */
void mpa_rx_ooo_drop(struct mpa_conn *conn)
{
	if (conn->ooo.ready)
		mpa_batch_free(conn->ooo.ready);
	conn->ooo.ready = NULL;
}
