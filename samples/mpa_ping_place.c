// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ULPDUs are placed by stream position as they are passed, and processed in
 * order.
 *
 * The buffer is a ring of pages, indexed by the position modulo its size. At
 * the position of an FPDU it holds the ULPDU's length in two octets, as in the
 * FPDU, and then its octets, so they never extend to the next FPDU. A bitmap
 * with one bit per position where an FPDU can begin marks ULPDUs that were
 * placed and not processed yet: a sorted list that no peer can make grow.
 */
#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "mpa_ping.h"

#define PLACE_UNIT	4	/* FPDUs are padded to it: RFC 5044, 4 */
#define PLACE_LENGTH	sizeof(u16)
#define PLACE_FRAGS	(DIV_ROUND_UP(MPA_ULPDU_MAX, PAGE_SIZE) + 1)

/* Room for the FPDU received last, which the window does not bound */
#define PLACE_MIN	SZ_128K

/**
 * struct ping_place - ring buffer where ULPDUs are placed
 * @from: stream position below which all ULPDUs were handed out
 * @size: size of the ring in octets, a power of two
 * @page: its pages, allocated when first written to
 * @begins: bitmap of ULPDUs placed and not handed out, one bit per %PLACE_UNIT
 *	octets of the ring
 * @ulpdu: the ULPDU handed out last
 * @frag: its fragments
 */
struct ping_place {
	u64			from;
	u64			size;
	u8			**page;
	unsigned long		*begins;
	struct mpa_ulpdu	ulpdu;
	struct kvec		frag[PLACE_FRAGS];
};

/*
 * Two receive windows: one after the delivered position, and one of ULPDUs that
 * are delivered and not processed yet.
 */
static u64 place_size(struct sock *sk)
{
	u64 rcvbuf = max(READ_ONCE(sk->sk_rcvbuf),
			 READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[2]));

	return roundup_pow_of_two(2 * max_t(u64, rcvbuf, PLACE_MIN));
}

static struct ping_place *place_new(struct sock *sk)
{
	struct ping_place *place;

	place = kzalloc(sizeof(*place), GFP_KERNEL);
	if (!place)
		return NULL;
	place->size = place_size(sk);
	place->page = kvcalloc(place->size / PAGE_SIZE, sizeof(*place->page),
			       GFP_KERNEL);
	place->begins = kvcalloc(BITS_TO_LONGS(place->size / PLACE_UNIT),
				 sizeof(*place->begins), GFP_KERNEL);
	if (place->page && place->begins)
		return place;
	ping_place_free(place);
	return NULL;
}

/* With place=1; @place is to be freed. */
int ping_place_init(struct ping_place **place, const struct ping_opts *opts,
		    struct mpa_conn *conn)
{
	if (!opts->place)
		return 0;
	*place = place_new(mpa_conn_socket(conn)->sk);
	return *place ? 0 : -ENOMEM;
}

void ping_place_free(struct ping_place *place)
{
	u64 i;

	if (!place)
		return;
	for (i = 0; place->page && i < place->size / PAGE_SIZE; i++)
		free_page((unsigned long)place->page[i]);
	kvfree(place->page);
	kvfree(place->begins);
	kfree(place);
}

static unsigned long place_bit(const struct ping_place *place, u64 pos)
{
	return (pos & (place->size - 1)) / PLACE_UNIT;
}

/* Address of octet @pos, with @room octets in its page; NULL without memory */
static u8 *place_at(struct ping_place *place, u64 pos, size_t *room)
{
	size_t off = pos & (place->size - 1);
	u8 **page = &place->page[off / PAGE_SIZE];

	if (!*page)
		*page = (u8 *)__get_free_page(GFP_KERNEL);
	*room = PAGE_SIZE - offset_in_page(off);
	return *page ? *page + offset_in_page(off) : NULL;
}

static int place_octets(struct ping_place *place, u64 pos,
			const struct mpa_ulpdu *ulpdu)
{
	struct iov_iter from;
	size_t room;
	u8 *to;

	iov_iter_kvec(&from, ITER_SOURCE, ulpdu->frag, ulpdu->nr_frags,
		      ulpdu->len);
	while (iov_iter_count(&from)) {
		to = place_at(place, pos, &room);
		if (!to)
			return -ENOMEM;
		pos += copy_from_iter(to, room, &from);
	}
	return 0;
}

/*
 * MPA passes each ULPDU once, never below its Delivery, and at most a receive
 * window ahead of it.
 */
static int place_check(const struct ping_place *place,
		       const struct mpa_ulpdu *ulpdu)
{
	if (ulpdu->pos % PLACE_UNIT)
		return -EINVAL;
	if (ulpdu->pos < place->from)
		return -ESTALE;
	if (ulpdu->pos + PLACE_LENGTH + ulpdu->len - place->from > place->size)
		return -ENOBUFS;
	return test_bit(place_bit(place, ulpdu->pos), place->begins) ? -EEXIST :
								       0;
}

static int place_put(struct ping_place *place, const struct mpa_ulpdu *ulpdu)
{
	size_t room;
	u16 *len;
	int err;

	err = place_check(place, ulpdu);
	if (err)
		return err;
	len = (u16 *)place_at(place, ulpdu->pos, &room);
	if (!len)
		return -ENOMEM;
	*len = ulpdu->len;
	err = place_octets(place, ulpdu->pos + PLACE_LENGTH, ulpdu);
	if (!err)
		__set_bit(place_bit(place, ulpdu->pos), place->begins);
	return err;
}

/* Place all ULPDUs passed, whether delivered or not. */
int ping_place_put(struct ping_place *place, const struct mpa_rx *rx)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < rx->nr && !err; i++)
		err = place_put(place, &rx->ulpdu[i]);
	return err;
}

/* The ULPDU placed at @pos: its length, then its octets */
static const struct mpa_ulpdu *place_get(struct ping_place *place, u64 pos)
{
	struct mpa_ulpdu *ulpdu = &place->ulpdu;
	struct kvec *frag = place->frag;
	size_t room, left;

	ulpdu->pos = pos;
	ulpdu->len = *(u16 *)place_at(place, pos, &room);
	ulpdu->frag = frag;
	pos += PLACE_LENGTH;
	for (left = ulpdu->len; left; left -= frag++->iov_len) {
		frag->iov_base = place_at(place, pos, &room);
		frag->iov_len = min(left, room);
		pos += frag->iov_len;
	}
	ulpdu->nr_frags = frag - place->frag;
	return ulpdu;
}

/* Skip positions where no ULPDU begins; returns true if one was found. */
static bool place_skip(struct ping_place *place, u64 delivered)
{
	unsigned long bit, end, found;

	while (place->from < delivered) {
		bit = place_bit(place, place->from);
		end = min(bit + DIV_ROUND_UP(delivered - place->from,
					     PLACE_UNIT),
			  place->size / PLACE_UNIT);
		found = find_next_bit(place->begins, end, bit);
		place->from += (found - bit) * PLACE_UNIT;
		if (found < end)
			return true;
	}
	return false;
}

/*
 * The next ULPDU to process, in stream order, or NULL if there is none below
 * @delivered. It stays valid until the next call, or until more is placed.
 */
const struct mpa_ulpdu *ping_place_next(struct ping_place *place, u64 delivered)
{
	u64 pos;

	if (!place_skip(place, delivered))
		return NULL;
	pos = place->from;
	__clear_bit(place_bit(place, pos), place->begins);
	place->from += PLACE_UNIT;
	return place_get(place, pos);
}
