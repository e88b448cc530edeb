// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Passing ULPDUs before their turn: from what TCP keeps behind a hole to the
 * consumer's recv(), for placement. See "Out-of-order ULPDUs" in
 * Documentation/networking/mpa-design.rst.
 *
 * A search goes through all that lies behind holes, from the first octet on;
 * known ranges are jumped over. It begins when TCP has queued something there
 * since the last one, and is done in steps, each of which ends with a batch or
 * after some work. FPDUs are found with the socket locked and verified with no
 * lock held, as in order. They become known before they are passed, and are
 * passed before anything that is delivered behind them.
 *
 * All of it belongs to the work item, except mpa_early_hear(), which TCP calls
 * with the socket locked.
 */
#include <linux/slab.h>
#include <net/tcp.h>
#include "mpa_batch.h"
#include "mpa_early.h"

/* Steps of a search that a packet pays for, or a jiffy; mpa_early_paid(). */
#define MPA_EARLY_PACE		256
#define MPA_EARLY_JIFFY		(4000000 / HZ)

/* Without the hook: how long the timer goes on looking when nothing arrives. */
#define MPA_EARLY_IDLE		(HZ / 4)

/* Socket lock held. Full operation begins. */
void mpa_early_begin(struct mpa_conn *conn)
{
	struct sock *sk = conn->sk;

	if (!(conn->conn_flags & MPA_F_OOO) || !conn->terms.markers_rx ||
	    !conn->terms.crc)
		return;
	/* Something may be there already. */
	conn->ooo.seen = tcp_sk(sk)->rcv_ooopack - 1;
	WRITE_ONCE(conn->ooo.on, true);
	/* A closed socket may listen by now: see mpa_conn_changed(). */
	if (READ_ONCE(READ_ONCE(conn->mn)->ooo_hook) &&
	    !mpa_conn_test(conn, MPA_CONN_GONE))
		mpa_af_on(sk);
}

/* Socket lock held. MPA leaves the socket. */
void mpa_early_end(struct mpa_conn *conn)
{
	mpa_af_off(conn->sk);
}

/* Has TCP queued anything behind a hole that was not looked at? */
static bool mpa_early_news(const struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);

	return READ_ONCE(tp->rcv_ooopack) != READ_ONCE(conn->ooo.seen) &&
	       !RB_EMPTY_ROOT(&tp->out_of_order_queue);
}

/* May anything be passed, on hold or with all that the consumer keeps? */
static bool mpa_early_allowed(const struct mpa_conn *conn)
{
	return !mpa_conn_test(conn, MPA_CONN_HOLD) &&
	       READ_ONCE(conn->ooo.pinned) <= READ_ONCE(conn->sk->sk_rcvbuf);
}

/*
 * Socket lock held, or slock: TCP sends a segment, maybe a duplicate ACK. All
 * but the first three of these it would delay, by up to a millisecond, in which
 * the hole is often closed.
 */
void mpa_early_hear(struct sock *sk)
{
	struct mpa_conn *conn = mpa_conn_of(sk);

	if (!conn || !mpa_early_news(conn) || !mpa_early_allowed(conn) ||
	    READ_ONCE(conn->rx.blocked) || READ_ONCE(conn->rx.reported))
		return;
	mpa_tcp_ack_at_once(sk);
	mpa_conn_kick(conn);
}

static bool mpa_early_searching(const struct mpa_conn *conn)
{
	const struct mpa_ooo *known = conn->ooo.known;

	return known && known->at != MPA_POS_NONE;
}

/*
 * A search costs about as much as there is news, unless a peer sends what
 * cannot be identified, in small pieces. So the work of the last search has to
 * be paid for by packets, or by time: they take a small part of a processor.
 */
static bool mpa_early_paid(struct mpa_conn *conn)
{
	u32 news = READ_ONCE(tcp_sk(conn->sk)->rcv_ooopack) - conn->ooo.seen;
	unsigned long due = conn->ooo.begun +
			    conn->ooo.cost / MPA_EARLY_JIFFY + 1;

	if (news >= conn->ooo.cost / MPA_EARLY_PACE ||
	    time_after_eq(jiffies, due))
		return true;
	/* It may be needed before, for something else. */
	timer_reduce(&conn->timer, due);
	return false;
}

/* Without the hook: look again soon, while anything arrives. */
static void mpa_early_poll(struct mpa_conn *conn)
{
	const struct tcp_sock *tp = tcp_sk(conn->sk);
	u32 arrived = READ_ONCE(tp->rcv_nxt) + READ_ONCE(tp->rcv_ooopack);

	if (arrived != conn->ooo.arrived)
		conn->ooo.active = jiffies;
	conn->ooo.arrived = arrived;
	if (time_before(jiffies, conn->ooo.active + MPA_EARLY_IDLE))
		mod_timer(&conn->timer, jiffies + 1);
}

/* Is there anything to be looked for, and may it be passed? */
static bool mpa_early_due(struct mpa_conn *conn)
{
	if (conn->ooo.ready || !mpa_early_allowed(conn) ||
	    mpa_net_rx_full(conn))
		return false;
	if (mpa_early_searching(conn))
		return true;
	return mpa_early_news(conn) && mpa_early_paid(conn);
}

/* Socket lock held. Copy an FPDU that lies in too many pieces. */
static int mpa_early_copy(struct mpa_batch *b, struct mpa_queue *q,
			  const struct mpa_dec *dec)
{
	mpa_batch_unpin(b);
	return mpa_batch_copy(b, q, dec->pos, dec->size);
}

/* Socket lock held. Take the FPDU that was found, and what is behind it. */
static struct mpa_batch *mpa_early_take(struct mpa_conn *conn,
					struct mpa_queue *q,
					const struct mpa_dec *dec)
{
	struct mpa_batch *b;
	int err;

	b = mpa_batch_alloc(conn);
	if (!b)
		return ERR_PTR(-ENOMEM);
	b->early = true;
	err = mpa_batch_pin(b, q, dec->pos, dec->size);
	if (!err && b->len < dec->size)
		err = mpa_early_copy(b, q, dec);
	if (!err)
		return b;
	mpa_batch_free(b);
	if (err == -ENOMEM)
		return ERR_PTR(err);
	mpa_ooo_bad(conn->ooo.known, dec->pos);
	return NULL;
}

/* Socket lock held. A batch to be verified, at @pos; NULL; or an ERR_PTR(). */
static struct mpa_batch *mpa_early_find(struct mpa_conn *conn, u64 *pos)
{
	struct mpa_ooo *known = conn->ooo.known;
	struct mpa_dec dec = { .markers = true };
	struct mpa_batch *b = NULL;
	struct mpa_queue q;

	/* The stream will end in front of it. */
	if (tcp_sk(conn->sk)->urg_data) {
		known->at = MPA_POS_NONE;
		return NULL;
	}
	mpa_queue_init(&q, conn, true);
	if (mpa_ooo_find(known, &q.src, &dec))
		b = mpa_early_take(conn, &q, &dec);
	conn->ooo.cost += q.src.steps;
	if (known->nr == MPA_OOO_RANGES)
		mpa_count(conn, OOO_FULL);
	*pos = dec.pos;
	return b;
}

/* Socket lock held. There is news: begin at the first octet behind a hole. */
static int mpa_early_start(struct mpa_conn *conn)
{
	struct mpa_conn_ooo *ooo = &conn->ooo;

	if (!ooo->known) {
		ooo->known = kzalloc(sizeof(*ooo->known), MPA_GFP_QUIET);
		if (!ooo->known)
			return -ENOMEM;
	}
	WRITE_ONCE(ooo->seen, tcp_sk(conn->sk)->rcv_ooopack);
	ooo->known->at = conn->rx.pos;
	ooo->cost = 0;
	ooo->begun = jiffies;
	return 0;
}

static struct mpa_batch *mpa_early_collect(struct mpa_conn *conn, u64 *pos)
{
	struct mpa_batch *b = NULL;
	int err = 0;

	lock_sock(conn->sk);
	if (mpa_conn_stranger(conn))
		goto unlock;
	/* One at a time. Segments queued since it began start the next. */
	if (!mpa_early_searching(conn))
		err = mpa_early_start(conn);
	if (!err)
		b = mpa_early_find(conn, pos);
unlock:
	release_sock(conn->sk);
	return err ? ERR_PTR(err) : b;
}

/* No lock held. Verify FPDUs from @pos on; from now on they are known. */
static void mpa_early_decode(struct mpa_conn *conn, struct mpa_batch *b,
			     u64 pos)
{
	struct mpa_ooo *known = conn->ooo.known;
	struct mpa_dec dec = {
		.pos = pos,
		.markers = true,
		.crc = true,
		.from_lead = mpa_conn_from_lead(conn),
	};
	int err;

	err = mpa_batch_decode(b, &dec, mpa_ooo_limit(known, pos));
	b->octets = 0;
	if (b->rx.nr) {
		mpa_ooo_passed(known, pos, dec.pos, b->rx.nr);
		b->end = dec.pos;
	} else if (err) {
		mpa_count(conn, OOO_BAD);
		mpa_ooo_bad(known, pos);
	}
}

/*
 * Work item, in full operation, when all that is in order was passed: look
 * behind holes. True if there may be more to be done.
 */
bool mpa_early_look(struct mpa_conn *conn)
{
	struct mpa_batch *b;
	u64 pos;

	if (!conn->ooo.on)
		return false;
	if (!mpa_af_is_on(conn->sk))
		mpa_early_poll(conn);
	if (!mpa_early_due(conn))
		return false;

	b = mpa_early_collect(conn, &pos);
	if (IS_ERR(b)) {
		mpa_conn_retry(conn);
		return false;
	}
	/* There may be news since this search began. */
	if (!b)
		return mpa_early_due(conn);
	mpa_early_decode(conn, b, pos);
	if (b->rx.nr) {
		b->rx.delivered = conn->rx.end.pos;
		conn->ooo.ready = b;
	} else {
		mpa_batch_free(b);
	}
	return true;
}

/* Work item: pass what was found, unless delivery is on hold. */
void mpa_early_pass(struct mpa_conn *conn)
{
	struct mpa_batch *b = conn->ooo.ready;

	if (!b || !mpa_conn_enter_recv(conn))
		return;
	conn->ooo.ready = NULL;
	mpa_batch_pass(b);
}

/* Work item: what was found will not be passed. */
void mpa_early_drop(struct mpa_conn *conn)
{
	if (conn->ooo.ready)
		mpa_batch_free(conn->ooo.ready);
	conn->ooo.ready = NULL;
}
