// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ULPDUs passed before their turn: finding FPDUs behind a hole, and keeping
 * account of them. RFC 5044 sections 4.3, 6 and A.3 to A.5.
 *
 * An octet that was passed is never looked at as a new one again, wherever it
 * comes from: this alone is what makes passing happen once.
 */
#include <kunit/visibility.h>
#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "mpa_ooo.h"
#include "mpa_wire.h"

/* An FPDU begins no further in front of a marker that points to it. */
#define MPA_OOO_MARKERS	(MPA_FPDU_MAX / MPA_MARKER_INTERVAL + 2)

/* The first range that ends behind @pos, or ooo->nr. */
static u32 range_index(const struct mpa_ooo *ooo, u64 pos)
{
	u32 low = 0, high = ooo->nr, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (ooo->range[mid].to <= pos)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void range_remove(struct mpa_ooo *ooo, u32 i, u32 nr)
{
	ooo->nr -= nr;
	memmove(ooo->range + i, ooo->range + i + nr,
		(ooo->nr - i) * sizeof(*ooo->range));
}

static void range_insert(struct mpa_ooo *ooo, u32 i, u64 from, u64 to, u32 nr)
{
	memmove(ooo->range + i + 1, ooo->range + i,
		(ooo->nr - i) * sizeof(*ooo->range));
	ooo->range[i] = (struct mpa_range){ .from = from, .to = to, .nr = nr };
	ooo->nr++;
}

/* Does the range before @i, of FPDUs passed, end at @pos? */
static bool range_ends_at(const struct mpa_ooo *ooo, u32 i, u64 pos)
{
	return i && ooo->range[i - 1].nr && ooo->range[i - 1].to == pos;
}

/**
 * mpa_ooo_limit - Where octets that nothing is known of end
 * @ooo: what is known
 * @pos: stream position, in no range
 *
 * Return: where the next range begins, or %MPA_POS_NONE
 */
u64 mpa_ooo_limit(const struct mpa_ooo *ooo, u64 pos)
{
	u32 i = range_index(ooo, pos);

	return i < ooo->nr ? ooo->range[i].from : MPA_POS_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_limit);

/**
 * mpa_ooo_passed - Remember FPDUs that are passed before their turn
 * @ooo: what is known; has room for a range
 * @from: stream position where the first begins
 * @to: where the last ends, at most mpa_ooo_limit() of @from
 * @nr: how many
 *
 * The search goes on behind them.
 */
void mpa_ooo_passed(struct mpa_ooo *ooo, u64 from, u64 to, u32 nr)
{
	u32 i = range_index(ooo, from);
	struct mpa_range *next = ooo->range + i;

	ooo->at = to;
	if (range_ends_at(ooo, i, from)) {
		i--;
		ooo->range[i].to = to;
		ooo->range[i].nr += nr;
	} else {
		range_insert(ooo, i, from, to, nr);
		next++;
	}
	if (next == ooo->range + ooo->nr || !next->nr || next->from != to)
		return;
	ooo->range[i].to = next->to;
	ooo->range[i].nr += next->nr;
	range_remove(ooo, i + 1, 1);
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_passed);

/**
 * mpa_ooo_bad - Remember not to try an FPDU again
 * @ooo: what is known; has room for a range
 * @pos: stream position where the FPDU begins, in no range
 *
 * The search goes on inside of it: its length may be what is wrong.
 */
void mpa_ooo_bad(struct mpa_ooo *ooo, u64 pos)
{
	range_insert(ooo, range_index(ooo, pos), pos, pos + MPA_MARKER_SIZE, 0);
	ooo->at = pos + MPA_MARKER_SIZE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_bad);

/*
 * Where the FPDU begins that the marker at @pos points to; above @pos if that
 * is before the stream.
 */
static u64 marked_fpdu(struct mpa_source *src, u64 pos)
{
	u32 fpduptr = mpa_marker_read(src, pos);
	u64 fpdu = pos - fpduptr;

	/* Its leading marker belongs to it. */
	if (fpduptr && fpdu % MPA_MARKER_INTERVAL == MPA_MARKER_SIZE)
		fpdu -= MPA_MARKER_SIZE;
	return fpdu;
}

/*
 * Find the first FPDU at or behind ooo->at that a marker below @limit points
 * to, and go there. Otherwise go to the end of the octets that it was not found
 * in.
 */
static bool ooo_find_marker(struct mpa_ooo *ooo, struct mpa_source *src,
			    u64 limit)
{
	u64 marker = ALIGN(ooo->at, MPA_MARKER_INTERVAL);
	u64 seen = ooo->at;
	u64 fpdu;
	u32 i, n;

	for (i = 0; i < MPA_OOO_MARKERS && marker < limit; i++) {
		n = marker + MPA_MARKER_SIZE - seen;
		if (src->have(src, seen, n) < n)
			break;
		fpdu = marked_fpdu(src, marker);
		if (fpdu >= ooo->at && fpdu <= marker) {
			ooo->at = fpdu;
			return true;
		}
		seen += n;
		marker += MPA_MARKER_INTERVAL;
	}
	n = max(src->have(src, seen, MPA_MARKER_INTERVAL), 1);
	ooo->at = min(seen + n, limit);
	return false;
}

/* Is there a whole FPDU at ooo->at? Otherwise go on behind it. */
static bool ooo_try(struct mpa_ooo *ooo, struct mpa_source *src, u64 limit,
		    struct mpa_dec *dec)
{
	int err;

	dec->pos = ooo->at;
	err = mpa_fpdu_peek(dec, src);
	if (err == -EBADMSG || dec->size > limit - dec->pos)
		mpa_ooo_bad(ooo, dec->pos);
	else if (err == -EAGAIN)
		ooo->at += max(src->have(src, ooo->at, dec->size), 1);
	return ooo->at == dec->pos;
}

/* One step of the search from ooo->at, where an octet is. */
static bool ooo_search(struct mpa_ooo *ooo, struct mpa_source *src,
		       struct mpa_dec *dec)
{
	u32 i = range_index(ooo, ooo->at);
	u64 limit = i < ooo->nr ? ooo->range[i].from : MPA_POS_NONE;

	if (limit <= ooo->at) {
		ooo->at = ooo->range[i].to;
		return false;
	}
	if (!range_ends_at(ooo, i, ooo->at) &&
	    !ooo_find_marker(ooo, src, limit))
		return false;
	return ooo_try(ooo, src, limit, dec);
}

/**
 * mpa_ooo_find - Find an FPDU behind a hole
 * @ooo: what is known; the search goes on from @ooo->at
 * @src: the octets behind holes
 * @dec: markers are in use; gets position, length and size of the FPDU
 *
 * It is whole, a marker or an FPDU passed before says that it begins there,
 * it was not looked at yet, and it does not run into one that was. It has not
 * been verified. The caller does so, and then calls mpa_ooo_passed() or
 * mpa_ooo_bad().
 *
 * Return: whether there is one. If not, @ooo->at is %MPA_POS_NONE when the
 *	search is over, or no range is left; otherwise it can be called again
 */
bool mpa_ooo_find(struct mpa_ooo *ooo, struct mpa_source *src,
		  struct mpa_dec *dec)
{
	u32 i;

	for (i = 0; i < MPA_OOO_BUDGET; i++) {
		if (ooo->nr < ARRAY_SIZE(ooo->range))
			ooo->at = src->next(src, ooo->at);
		else
			ooo->at = MPA_POS_NONE;
		if (ooo->at == MPA_POS_NONE)
			return false;
		if (ooo_search(ooo, src, dec))
			return ooo->nr < ARRAY_SIZE(ooo->range);
	}
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_find);

/* The first range of FPDUs passed that ends behind @pos, or NULL. */
static struct mpa_range *passed_range(struct mpa_ooo *ooo, u64 pos)
{
	u32 i;

	for (i = range_index(ooo, pos); i < ooo->nr; i++)
		if (ooo->range[i].nr)
			return ooo->range + i;
	return NULL;
}

/**
 * mpa_ooo_next_passed - Where the stream comes to FPDUs that were passed
 * @ooo: what is known
 * @pos: stream position up to which the stream has come
 *
 * Return: where a range of them begins that ends behind @pos, or
 *	%MPA_POS_NONE; @pos or less if the FPDU at @pos was passed
 */
u64 mpa_ooo_next_passed(struct mpa_ooo *ooo, u64 pos)
{
	const struct mpa_range *r = passed_range(ooo, pos);

	return r ? r->from : MPA_POS_NONE;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_next_passed);

/**
 * mpa_ooo_forget - The stream has come this far
 * @ooo: what is known; forgets what lies behind
 * @pos: stream position
 */
void mpa_ooo_forget(struct mpa_ooo *ooo, u64 pos)
{
	range_remove(ooo, 0, range_index(ooo, pos));
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_forget);

static int ooo_disagrees(struct mpa_dec *dec)
{
	dec->reason = MPA_REASON_MARKER;
	return -EBADMSG;
}

/**
 * mpa_ooo_meet - The stream has come to an FPDU
 * @ooo: what is known; what is behind the stream is forgotten
 * @dec: its position and size
 *
 * Return: 0 if it is new, 1 if its ULPDU was passed before; %-EBADMSG if it
 *	disagrees with what was passed
 */
int mpa_ooo_meet(struct mpa_ooo *ooo, struct mpa_dec *dec)
{
	struct mpa_range *r = passed_range(ooo, dec->pos);
	u64 end = dec->pos + dec->size;
	bool passed, last;

	passed = r && r->from <= dec->pos;
	if (passed) {
		last = ++r->met == r->nr;
		if (last ? end != r->to : end >= r->to)
			return ooo_disagrees(dec);
	} else if (r && r->from < end) {
		return ooo_disagrees(dec);
	}
	mpa_ooo_forget(ooo, end);
	return passed;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_meet);

/**
 * mpa_ooo_step - The stream has come to an FPDU that was passed before
 * @ooo: what is known
 * @src: octets of the stream
 * @dec: its position, in a range of FPDUs passed; gets length and size
 *
 * Looks at its length and its markers, and at nothing else.
 *
 * Return: 0; %-EAGAIN if there are fewer than @dec->size octets; %-EBADMSG for
 *	the @dec->reason
 */
int mpa_ooo_step(struct mpa_ooo *ooo, struct mpa_source *src,
		 struct mpa_dec *dec)
{
	int err;

	err = mpa_fpdu_peek(dec, src);
	if (err == -EBADMSG)
		return err;
	/* If it leads too far, do not wait until all of it is there. */
	if (dec->size > passed_range(ooo, dec->pos)->to - dec->pos)
		return ooo_disagrees(dec);
	if (!err)
		err = mpa_fpdu_check_markers(dec, src);
	if (!err && mpa_ooo_meet(ooo, dec) < 0)
		return -EBADMSG;
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(mpa_ooo_step);
