// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The message of source=1 and payload=1, which MPA cuts into ULPDUs. */
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "mpa_ping.h"

/* Hash of the lengths of ULPDUs, in order */
u32 ping_source_lengths(u32 hash, u32 len)
{
	return hash * 31 + len;
}

static u32 source_piece(const struct ping_source *src, u32 max)
{
	if (src->opts->payload && src->opts->size)
		max = min(max, src->opts->size);
	return min_t(u64, ping_opts_len(src->opts, src->pieces, max),
		     src->left);
}

/* The pattern is in @bv twice: any ULPDU fits after the one before. */
static void source_pattern(struct ping_source *src, struct mpa_tx *tx)
{
	iov_iter_bvec(&tx->data, ITER_SOURCE, src->bv,
		      2 * PING_PATTERN_SIZE / PAGE_SIZE, 2 * PING_PATTERN_SIZE);
	iov_iter_advance(&tx->data, src->taken % PING_PATTERN_SIZE);
	src->taken += tx->len;
}

/* MPA asks for a ULPDU of at most @max octets. */
static int source_next(struct mpa_tx *tx, u32 max)
{
	struct ping_source *src = container_of(tx, struct ping_source, tx);
	u32 len = source_piece(src, max);

	src->hdr = cpu_to_be64(src->pieces);
	tx->hdr = &src->hdr;
	tx->hdr_len = ping_hdr_len(src->opts, len);
	tx->len = len - tx->hdr_len;
	if (!src->opts->payload)
		source_pattern(src, tx);

	src->pieces++;
	src->octets += len;
	src->left -= len;
	src->lengths = ping_source_lengths(src->lengths, len);
	/* without a size, count= ends the message */
	if (!src->opts->size && !src->opts->payload)
		return src->pieces < src->opts->count;
	return src->left > 0;
}

/* @data is the payload or the pattern, and must outlive @src. */
void ping_source_init(struct ping_source *src, const struct ping_opts *opts,
		      const struct ping_buf *data)
{
	u64 size = opts->size ?: MPA_ULPDU_MAX;

	src->opts = opts;
	src->bv = data->bv;
	src->left = opts->payload ? data->len : size * opts->count;
}

int ping_source_post(struct ping_source *src, struct mpa_conn *conn)
{
	src->tx.next = source_next;
	src->tx.flags = src->opts->zerocopy ? MPA_TX_ZEROCOPY : 0;
	if (src->opts->payload)
		iov_iter_bvec(&src->tx.data, ITER_SOURCE, src->bv,
			      DIV_ROUND_UP(src->left, PAGE_SIZE), src->left);
	return mpa_send(conn, &src->tx);
}
