// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages: each sender numbers its own. A message is handed back once, in the
 * order of its sender, and arrives once, in that order.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "races.h"

#define MSG_MAGIC	0x6d736721
#define MSG_SMALL	600
#define MSG_LARGE	20000
#define MSG_GONE	0xdb		/* in pages that were handed back */

/* In front of each ULPDU */
struct msg_hdr {
	__be32	magic;
	__be16	actor;
	u8	fill;			/* of all that follows */
	u8	last;			/* of its message */
	__be32	seq;
	__be32	part;			/* octets of the message before */
};

/* a message */
struct race_msg {
	struct mpa_tx		tx;	/* message of MPA */
	struct race_end		*end;	/* end that sends it */
	enum race_actor		actor;	/* actor that sends it */
	u32			seq;	/* its number */
	struct msg_hdr		hdr;	/* header of the ULPDU */
	u32			rest;	/* octets left of a source */
	struct kvec		kv;	/* octets in memory */
	void			*data;	/* memory of @kv */
	struct bio_vec		bv[RACE_PAGES];	/* octets in pages */
	struct page		*page[RACE_PAGES];	/* pages of @bv */
	u32			nr_pages;	/* number of pages */
	u32			len;	/* octets in total */
};

static u8 msg_fill(enum race_actor actor, u32 seq)
{
	return seq * 7 + actor;
}

static void msg_free(struct race_msg *m)
{
	u32 i;

	for (i = 0; i < m->nr_pages; i++) {
		memset(page_address(m->page[i]), MSG_GONE, PAGE_SIZE);
		put_page(m->page[i]);
	}
	if (m->data)
		memset(m->data, MSG_GONE, m->len);
	kvfree(m->data);
	kfree(m);
}

static int msg_next(struct mpa_tx *tx, u32 max)
{
	struct race_msg *m = container_of(tx, struct race_msg, tx);

	if (atomic_read(&m->end->inside))
		race_found(m->end, "next() during a callback");
	m->hdr.part = cpu_to_be32(m->len - m->rest);
	tx->hdr = &m->hdr;
	tx->hdr_len = sizeof(m->hdr);
	tx->len = min_t(u32, m->rest, max - sizeof(m->hdr));
	m->rest -= tx->len;
	m->hdr.last = !m->rest;
	return !m->hdr.last;
}

/* Pages of their own, some octets of each */
static int msg_pages(struct race_msg *m, struct rnd_state *rnd, gfp_t gfp)
{
	u32 nr = race_pick(rnd, RACE_PAGES) + 1;
	u32 off, n;

	while (m->nr_pages < nr) {
		struct page *page = alloc_page(gfp);

		if (!page)
			return -ENOMEM;
		memset(page_address(page), m->hdr.fill, PAGE_SIZE);
		off = race_pick(rnd, 512);
		n = race_pick(rnd, PAGE_SIZE - 512) + 1;
		bvec_set_page(&m->bv[m->nr_pages], page, n, off);
		m->page[m->nr_pages++] = page;
		m->len += n;
	}
	iov_iter_bvec(&m->tx.data, ITER_SOURCE, m->bv, nr, m->len);
	m->tx.flags = MPA_TX_ZEROCOPY;
	return 0;
}

static int msg_octets(struct race_msg *m, u32 len, gfp_t gfp)
{
	m->data = kvmalloc(len, gfp);
	if (!m->data)
		return -ENOMEM;
	memset(m->data, m->hdr.fill, len);
	m->len = len;
	m->kv.iov_base = m->data;
	m->kv.iov_len = len;
	iov_iter_kvec(&m->tx.data, ITER_SOURCE, &m->kv, 1, len);
	return 0;
}

static int msg_make(struct race_msg *m, struct rnd_state *rnd, gfp_t gfp)
{
	u32 len = race_pick(rnd, MSG_SMALL) + 1;

	if (gfp != GFP_KERNEL)
		return msg_octets(m, len, gfp);
	if (race_chance(rnd, 20))
		return msg_pages(m, rnd, gfp);
	if (race_chance(rnd, 20))
		len = race_pick(rnd, MSG_LARGE) + 1;
	return msg_octets(m, len, gfp);
}

static struct race_msg *msg_new(struct race_end *e, struct rnd_state *rnd,
				enum race_actor actor, gfp_t gfp)
{
	struct race_msg *m = kzalloc(sizeof(*m), gfp);

	if (!m)
		return NULL;
	m->end = e;
	m->actor = actor;
	m->seq = ++e->posted[actor];
	m->hdr.magic = cpu_to_be32(MSG_MAGIC);
	m->hdr.actor = cpu_to_be16(actor);
	m->hdr.seq = cpu_to_be32(m->seq);
	m->hdr.fill = msg_fill(actor, m->seq);
	m->hdr.last = true;
	if (msg_make(m, rnd, gfp)) {
		e->posted[actor]--;
		msg_free(m);
		return NULL;
	}
	m->tx.hdr = &m->hdr;
	m->tx.hdr_len = sizeof(m->hdr);
	m->tx.len = m->len;
	if (gfp == GFP_KERNEL && race_chance(rnd, 20)) {
		m->rest = m->len;
		m->tx.next = msg_next;
	}
	return m;
}

/* MPA has not taken them, so no callback can follow. */
static void msg_take_back(struct race_end *e, struct list_head *list,
			  enum race_actor actor)
{
	struct race_msg *m, *tmp;

	list_for_each_entry_safe(m, tmp, list, tx.list) {
		e->posted[actor]--;
		atomic_dec(&e->tickets);
		msg_free(m);
	}
}

/* A ticket for each message, of those that a polite end may send */
static bool msg_ticket(struct race_end *e)
{
	u32 limit = e->world->kind == RACE_POLITE ? e->quota : U16_MAX;

	if ((u32)atomic_inc_return(&e->tickets) <= limit)
		return true;
	atomic_dec(&e->tickets);
	return false;
}

/* Up to four messages; returns how many. */
static u32 msg_list(struct race_end *e, struct rnd_state *rnd,
		    enum race_actor actor, gfp_t gfp, struct list_head *list)
{
	u32 want = race_chance(rnd, 60) ? 1 : 1 + race_pick(rnd, 4);
	struct race_msg *m;
	u32 nr;

	for (nr = 0; nr < want && msg_ticket(e); nr++) {
		m = msg_new(e, rnd, actor, gfp);
		if (!m) {
			atomic_dec(&e->tickets);
			break;
		}
		list_add_tail(&m->tx.list, list);
	}
	return nr;
}

static int msg_send_one(struct mpa_conn *conn, struct list_head *list,
			bool now)
{
	struct mpa_tx *tx = list_first_entry(list, struct mpa_tx, list);
	int err;

	list_del(&tx->list);
	err = now ? mpa_send_now(conn, tx) : mpa_send(conn, tx);
	if (err)
		list_add(&tx->list, list);
	return err;
}

/*
 * Counted before the call, since they may be handed back before it returns. The
 * actor that posts the last message of a polite end closes its half.
 */
static void msg_post(struct race_end *e, struct mpa_conn *conn,
		     struct list_head *list, u32 nr, bool now)
{
	int err;

	atomic_add(nr, &e->out);
	if (nr > 1)
		err = mpa_send_list(conn, list);
	else
		err = msg_send_one(conn, list, now);
	if (err)
		atomic_sub(nr, &e->out);
	else if (atomic_add_return(nr, &e->accepted) == e->quota &&
		 e->world->kind == RACE_POLITE)
		mpa_shutdown(conn);
}

/* Each actor has its own numbers, so that none waits for another. */
void race_msg_send(struct race_end *e, struct rnd_state *rnd,
		   enum race_actor actor, gfp_t gfp)
{
	struct mpa_conn *conn;
	LIST_HEAD(list);
	u32 nr;

	/* mpa_send() would fail */
	if (!test_bit(RACE_ESTABLISHED, &e->seen))
		return;
	nr = msg_list(e, rnd, actor, gfp, &list);
	conn = nr ? race_end_use(e) : NULL;
	if (conn && gfp == GFP_KERNEL && race_chance(rnd, 50)) {
		/* That sleeps: the connection may be released first. */
		atomic_inc(&e->nows);
		mpa_conn_get(conn);
		race_end_unuse(e);
		msg_post(e, conn, &list, nr, true);
		mpa_conn_put(conn);
		atomic_dec_return_release(&e->nows);
	} else if (conn) {
		msg_post(e, conn, &list, nr, false);
		race_end_unuse(e);
	}
	msg_take_back(e, &list, actor);
}

static void msg_done(struct race_end *e, struct race_msg *m)
{
	int status = m->tx.status;

	if (m->end != e)
		race_found(e, "a message of end %u", m->end->id);
	if (m->seq != e->back[m->actor] + 1)
		race_found(e, "message %u of %d handed back after %u", m->seq,
			   m->actor, e->back[m->actor]);
	e->back[m->actor] = m->seq;
	if (!status && e->status)
		race_found(e, "a message was sent after one that failed");
	if (status && race_end_polite(e))
		race_found(e, "a message has failed: %d", status);
	if (!e->status)
		e->status = status;
	if (!status && m->tx.next && m->rest)
		race_found(e, "%u octets of a source are left", m->rest);
	race_count(status ? RACE_N_CANCELED : RACE_N_SENT);
	if (m->nr_pages)
		race_count(RACE_N_ZEROCOPY);
	if (m->tx.next)
		race_count(RACE_N_SOURCES);
	atomic_dec(&e->out);
}

/* In callbacks only: these are back. */
void race_msg_back(struct race_end *e, struct list_head *done)
{
	struct race_msg *m, *tmp;

	list_for_each_entry_safe(m, tmp, done, tx.list) {
		list_del(&m->tx.list);
		msg_done(e, m);
		msg_free(m);
	}
}

/* True if the octets after the header are right, in all pieces of the ULPDU */
static bool msg_filled(const struct mpa_ulpdu *u, u8 fill)
{
	u32 skip = sizeof(struct msg_hdr);
	u32 i;

	for (i = 0; i < u->nr_frags; i++) {
		const struct kvec *v = &u->frag[i];
		u32 n = min_t(u32, skip, v->iov_len);

		if (memchr_inv(v->iov_base + n, fill, v->iov_len - n))
			return false;
		skip -= n;
	}
	return true;
}

static bool msg_header(const struct mpa_ulpdu *u, struct msg_hdr *hdr)
{
	struct iov_iter iter;

	if (u->len < sizeof(*hdr))
		return false;
	iov_iter_kvec(&iter, ITER_SOURCE, u->frag, u->nr_frags, u->len);
	return copy_from_iter(hdr, sizeof(*hdr), &iter) == sizeof(*hdr) &&
	       hdr->magic == cpu_to_be32(MSG_MAGIC) &&
	       be16_to_cpu(hdr->actor) < RACE_ACTORS;
}

static void msg_in_turn(struct race_end *e, const struct mpa_ulpdu *u,
			const struct msg_hdr *hdr)
{
	u32 actor = be16_to_cpu(hdr->actor), seq = be32_to_cpu(hdr->seq);
	u32 part = be32_to_cpu(hdr->part);
	bool more = e->part[actor];

	if (part != e->part[actor] || seq != e->got[actor] + !more)
		race_found(e, "message %u of %u from octet %u, after %u, %u",
			   seq, actor, part, e->got[actor], e->part[actor]);
	e->got[actor] = seq;
	e->part[actor] = hdr->last ? 0 : part + u->len - sizeof(*hdr);
	if (hdr->last) {
		e->received++;
		race_count(RACE_N_RECEIVED);
	}
}

static void msg_arrived(struct race_end *e, const struct mpa_ulpdu *u)
{
	struct msg_hdr hdr;

	if (!msg_header(u, &hdr)) {
		if (!e->raw)
			race_found(e, "not a message of ours");
		return;
	}
	if (!msg_filled(u, hdr.fill) ||
	    hdr.fill != msg_fill(be16_to_cpu(hdr.actor), be32_to_cpu(hdr.seq)))
		race_found(e, "other octets in message %u of %u",
			   be32_to_cpu(hdr.seq), be16_to_cpu(hdr.actor));
	/* ULPDUs passed out of order break the sequence. */
	if (!e->ooo && !e->raw)
		msg_in_turn(e, u, &hdr);
}

/* In recv(): check the messages received */
void race_msg_check(struct race_end *e, const struct mpa_rx *rx)
{
	u32 i;

	if (rx->delivered < e->pos)
		race_found(e, "delivered %llu after %llu", rx->delivered,
			   e->pos);
	e->pos = rx->delivered;
	for (i = 0; i < rx->nr; i++)
		msg_arrived(e, &rx->ulpdu[i]);
}
