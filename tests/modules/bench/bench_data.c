// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The octets that are sent, and those expected.
 *
 * The stream of an end repeats a pattern without structure; its period is no
 * multiple of a message's or a segment's size, so that a misplaced octet is a
 * wrong one. Messages are sent from one copy of it, and received octets are
 * compared with another.
 */
#include <linux/gfp.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "bench_int.h"

/* A message, or a ring's worth at once, may begin anywhere in the period */
#define PATTERN_SIZE	(BENCH_PERIOD + BENCH_SIZE_MAX)

static u8 *source;
static u8 *expected;

static void fill(u8 *to)
{
	struct rnd_state rnd;
	u32 at;

	prandom_seed_state(&rnd, 5044);
	prandom_bytes_state(&rnd, to, BENCH_PERIOD);
	for (at = BENCH_PERIOD; at < PATTERN_SIZE; at++)
		to[at] = to[at - BENCH_PERIOD];
}

int bench_data_init(void)
{
	source = alloc_pages_exact(PATTERN_SIZE, GFP_KERNEL);
	expected = alloc_pages_exact(PATTERN_SIZE, GFP_KERNEL);
	if (!source || !expected) {
		bench_data_exit();
		return -ENOMEM;
	}
	fill(source);
	fill(expected);
	return 0;
}

void bench_data_exit(void)
{
	if (source)
		free_pages_exact(source, PATTERN_SIZE);
	if (expected)
		free_pages_exact(expected, PATTERN_SIZE);
}

/* Send one wrong octet, or none. */
void bench_data_corrupt(bool corrupt)
{
	source[BENCH_PERIOD / 2] = expected[BENCH_PERIOD / 2] ^ corrupt;
}

const void *bench_message(struct bench_end *end)
{
	const u8 *from = source + end->tx_off;

	end->tx_off = (end->tx_off + end->run->opts.size) % BENCH_PERIOD;
	return from;
}
EXPORT_SYMBOL_GPL(bench_message);

/* True if the @len octets at @at of the ring are those of position @pos */
static bool is_expected(const struct bench_end *end, u32 at, u64 pos, u32 len)
{
	u32 off, n;

	for (; len; at += n, pos += n, len -= n) {
		div_u64_rem(pos, BENCH_PERIOD, &off);
		n = min_t(u32, len, BENCH_SIZE_MAX);
		if (memcmp(end->ring + at, expected + off, n))
			return false;
	}
	return true;
}

/* Compare the octets in the ring, the latest ones received. */
void bench_ring_check(struct bench_end *end)
{
	u32 ring_size = end->run->ring_size;
	u64 pos = end->rx_pos - min_t(u64, end->rx_pos, ring_size);
	u32 at, len;

	for (; pos < end->rx_pos; pos += len) {
		div_u64_rem(pos, ring_size, &at);
		len = min(ring_size - at, (u32)(end->rx_pos - pos));
		if (!is_expected(end, at, pos, len))
			end->bad = true;
	}
}

void *bench_room(struct bench_end *end, u32 *len)
{
	*len = end->run->ring_size - end->ring_pos;
	return end->ring + end->ring_pos;
}
EXPORT_SYMBOL_GPL(bench_room);

void bench_placed(struct bench_end *end, u32 len)
{
	if (end->run->check &&
	    !is_expected(end, end->ring_pos, end->rx_pos, len))
		end->bad = true;
	end->rx_pos += len;
	end->ring_pos += len;
	if (end->ring_pos == end->run->ring_size)
		end->ring_pos = 0;
}
EXPORT_SYMBOL_GPL(bench_placed);
