// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ULPDUs passed out of order: finding FPDUs after a hole, and keeping account
 * of them. RFC 5044 sections 4.3, 6 and A.3 to A.5.
 *
 * An octet that was passed never counts as new again, from whichever queue it
 * comes and however often: this alone ensures that a ULPDU is passed once.
 */
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "mpa_ooo_map.h"
#include "mpa_wire.h"

/* Index of the first range that ends after @pos, or map->nr. */
static u32 range_index(const struct mpa_ooo_map *map, u64 pos)
{
	u32 low = 0, high = map->nr, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (map->range[mid].to <= pos)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void range_remove(struct mpa_ooo_map *map, u32 i, u32 nr)
{
	map->nr -= nr;
	memmove(map->range + i, map->range + i + nr,
		(map->nr - i) * sizeof(*map->range));
}

static void range_insert(struct mpa_ooo_map *map, u32 i, u64 from, u64 to,
			 u32 nr)
{
	memmove(map->range + i + 1, map->range + i,
		(map->nr - i) * sizeof(*map->range));
	map->range[i] = (struct mpa_range){ .from = from, .to = to, .nr = nr };
	map->nr++;
}

/* True if the range before @i is one of FPDUs passed, and ends at @pos. */
static bool range_ends_at(const struct mpa_ooo_map *map, u32 i, u64 pos)
{
	return i && map->range[i - 1].nr && map->range[i - 1].to == pos;
}

/**
 * mpa_ooo_map_limit - Where the next known range begins
 * @map: the known ranges
 * @pos: stream position, in no range
 *
 * Return: stream position, or %MPA_POS_NONE
 */
u64 mpa_ooo_map_limit(const struct mpa_ooo_map *map, u64 pos)
{
	u32 i = range_index(map, pos);

	return i < map->nr ? map->range[i].from : MPA_POS_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_limit);

/**
 * mpa_ooo_map_add_passed - Remember FPDUs that are passed out of order
 * @map: the known ranges; has room for one more
 * @from: stream position where the first FPDU begins
 * @to: where the last one ends, at most mpa_ooo_map_limit() of @from
 * @nr: number of FPDUs
 *
 * The search goes on after them.
 */
void mpa_ooo_map_add_passed(struct mpa_ooo_map *map, u64 from, u64 to, u32 nr)
{
	u32 i = range_index(map, from);
	struct mpa_range *next = map->range + i;

	map->at = to;
	if (range_ends_at(map, i, from)) {
		i--;
		map->range[i].to = to;
		map->range[i].nr += nr;
	} else {
		range_insert(map, i, from, to, nr);
		next++;
	}
	if (next == map->range + map->nr || !next->nr || next->from != to)
		return;
	map->range[i].to = next->to;
	map->range[i].nr += next->nr;
	range_remove(map, i + 1, 1);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_add_passed);

/**
 * mpa_ooo_map_add_bad - Remember not to try an FPDU again
 * @map: the known ranges; has room for one more
 * @pos: stream position where the FPDU begins, in no range
 *
 * The search goes on inside the FPDU: its length may be wrong.
 */
void mpa_ooo_map_add_bad(struct mpa_ooo_map *map, u64 pos)
{
	range_insert(map, range_index(map, pos), pos, pos + MPA_MARKER_SIZE, 0);
	map->at = pos + MPA_MARKER_SIZE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_add_bad);

/*
 * Read the next marker. If it is below @limit, and the first marker of an FPDU
 * that begins at or after map->at, move map->at to that FPDU and return true.
 * Otherwise move map->at past the marker, to @limit, or past the octets if they
 * end before the marker does. A marker that points further back is ignored: an
 * FPDU that begins there is found by its own first marker, or it is bad.
 */
static bool ooo_find_marker(struct mpa_ooo_map *map, struct mpa_stream *src,
			    u64 limit)
{
	u64 marker = ALIGN(map->at, MPA_MARKER_INTERVAL);
	u32 n = marker + MPA_MARKER_SIZE - map->at;
	u32 fpduptr, have;

	if (marker >= limit) {
		map->at = limit;
		return false;
	}
	have = src->have(src, map->at, n);
	if (have < n) {
		map->at += max(have, 1);
		return false;
	}
	fpduptr = mpa_marker_read(src, marker);
	/* An FPDU right after a marker would begin with that marker. */
	if (fpduptr <= marker - map->at && fpduptr < MPA_MARKER_PAYLOAD) {
		map->at = marker - fpduptr;
		return true;
	}
	map->at = marker + MPA_MARKER_SIZE;
	return false;
}

/* True if a whole FPDU is at map->at; otherwise map->at moves on. */
static bool ooo_try(struct mpa_ooo_map *map, struct mpa_stream *src, u64 limit,
		    struct mpa_dec *dec)
{
	int err;

	dec->pos = map->at;
	err = mpa_fpdu_peek(dec, src, limit);
	if (err == -EBADMSG)
		mpa_ooo_map_add_bad(map, dec->pos);
	else if (err == -EAGAIN)
		map->at += max(src->have(src, map->at, dec->size), 1);
	return map->at == dec->pos;
}

/* One step of the search, from map->at, where there is an octet. */
static bool ooo_search(struct mpa_ooo_map *map, struct mpa_stream *src,
		       struct mpa_dec *dec)
{
	u32 i = range_index(map, map->at);
	u64 limit = i < map->nr ? map->range[i].from : MPA_POS_NONE;

	if (limit <= map->at) {
		map->at = map->range[i].to;
		return false;
	}
	if (!range_ends_at(map, i, map->at) &&
	    !ooo_find_marker(map, src, limit))
		return false;
	return ooo_try(map, src, limit, dec);
}

/**
 * mpa_ooo_map_find - Find an FPDU after a hole
 * @map: the known ranges; the search goes on from @map->at
 * @src: the octets after holes
 * @dec: markers are in use; gets position, length and size of the FPDU
 *
 * The FPDU is whole and overlaps no known range; a marker, or the end of an
 * FPDU passed before, says that it begins there. It is not verified: the caller
 * does that, and then calls mpa_ooo_map_add_passed() or mpa_ooo_map_add_bad().
 *
 * Work is bounded in pieces of memory, not in octets: the search stops when
 * @src has counted %MPA_OOO_BUDGET steps.
 *
 * Return: true if an FPDU was found. If not, @map->at is %MPA_POS_NONE when the
 *	search is over or no range is free; otherwise the search can go on
 */
bool mpa_ooo_map_find(struct mpa_ooo_map *map, struct mpa_stream *src,
		      struct mpa_dec *dec)
{
	u32 begun = src->steps;

	while (src->steps - begun < MPA_OOO_BUDGET) {
		if (map->nr < ARRAY_SIZE(map->range))
			map->at = src->next(src, map->at);
		else
			map->at = MPA_POS_NONE;
		if (map->at == MPA_POS_NONE)
			return false;
		if (ooo_search(map, src, dec))
			return map->nr < ARRAY_SIZE(map->range);
	}
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_find);

/* The first range of passed FPDUs that ends after @pos, or NULL. */
static struct mpa_range *passed_range(struct mpa_ooo_map *map, u64 pos)
{
	u32 i;

	for (i = range_index(map, pos); i < map->nr; i++)
		if (map->range[i].nr)
			return map->range + i;
	return NULL;
}

/**
 * mpa_ooo_map_next_passed - Where the next FPDUs that were passed begin
 * @map: the known ranges
 * @pos: stream position that the stream has reached
 *
 * Return: where the first range of passed FPDUs that ends after @pos begins, or
 *	%MPA_POS_NONE; @pos or less if the FPDU at @pos was passed
 */
u64 mpa_ooo_map_next_passed(struct mpa_ooo_map *map, u64 pos)
{
	const struct mpa_range *r = passed_range(map, pos);

	return r ? r->from : MPA_POS_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_next_passed);

/**
 * mpa_ooo_map_forget - Remove ranges that the stream has left
 * @map: the known ranges; those that end at or before @pos are removed
 * @pos: stream position that the stream has reached
 */
void mpa_ooo_map_forget(struct mpa_ooo_map *map, u64 pos)
{
	range_remove(map, 0, range_index(map, pos));
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_forget);

static int ooo_disagrees(struct mpa_dec *dec)
{
	dec->reason = MPA_REASON_MARKER;
	return -EBADMSG;
}

/**
 * mpa_ooo_map_reach - The stream has reached an FPDU
 * @map: the known ranges; those up to the end of the FPDU are removed
 * @dec: position and size of the FPDU
 *
 * Return: 0 if it is new, 1 if it was passed out of order; %-EBADMSG if it
 *	disagrees with the FPDUs that were
 */
int mpa_ooo_map_reach(struct mpa_ooo_map *map, struct mpa_dec *dec)
{
	struct mpa_range *r = passed_range(map, dec->pos);
	u64 end = dec->pos + dec->size;
	bool passed, last;

	passed = r && r->from <= dec->pos;
	if (passed) {
		last = ++r->reached == r->nr;
		if (last ? end != r->to : end >= r->to)
			return ooo_disagrees(dec);
	} else if (r && r->from < end) {
		return ooo_disagrees(dec);
	}
	mpa_ooo_map_forget(map, end);
	return passed;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_reach);

/**
 * mpa_ooo_map_step - Step over an FPDU that was passed out of order
 * @map: the known ranges
 * @src: octets of the stream
 * @dec: its position, in a range of passed FPDUs; gets length and size
 *
 * The stream has reached it. Checks only its length and its markers.
 *
 * Return: 0; %-EAGAIN if there are fewer than @dec->size octets; %-EBADMSG for
 *	the @dec->reason
 */
int mpa_ooo_map_step(struct mpa_ooo_map *map, struct mpa_stream *src,
		     struct mpa_dec *dec)
{
	u64 limit = passed_range(map, dec->pos)->to;
	int err;

	err = mpa_fpdu_peek(dec, src, limit);
	if (!err)
		err = mpa_fpdu_check_markers(dec, src);
	if (!err && mpa_ooo_map_reach(map, dec) < 0)
		return -EBADMSG;
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_map_step);
