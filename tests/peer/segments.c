// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-peer segments: alignment of the FPDUs that one end of a connection sent
 * to its TCP segments, and why a segment does not hold whole ones.
 *
 * The FPDUs are found by following lengths and markers from the first octet of
 * full operation on; their markers and CRCs have to be right. Each transmission
 * of a segment with payload counts. Offsets are those of the stream of TCP,
 * including the startup frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "peer.h"

#define FRAME_LEN	20
#define MARKER_EVERY	512
#define PAUSE		180000	/* us; TCP's probes come no sooner */
#define SHOWN		40	/* segments in detail */

/* Why a segment ends, or begins, inside an FPDU */
enum cause {
	NONE,
	EDGE,
	PROBE,
	SACK,
	OTHER_SACK,
	FULL,
	SHORT,
	ACKED,
	UNKNOWN,
	CAUSES
};

static const char * const cause_names[CAUSES] = {
	[EDGE]		= "cut at the window's edge",
	[PROBE]		= "sent again after a pause: a probe",
	[SACK]		= "full, with SACK blocks in it",
	[OTHER_SACK]	= "as if full with SACK blocks, which are not in it",
	[FULL]		= "full, without SACK blocks",
	[SHORT]		= "less than full, short of the window's edge",
	[ACKED]		= "begins where it was acknowledged up to",
	[UNKNOWN]	= "begins where no segment had ended",
};

/* Properties of an offset */
#define CAUSE		0x0f	/* why a segment ended there first */
#define AT_EDGE		0x40	/* the window ended there once */
#define BEGINS		0x80	/* an FPDU begins, or would */

enum place { WHOLE, CUT, REST, BETWEEN, PLACES };

/* Segments that are not as they should be, by cause */
struct row {
	size_t	place[PLACES];
	size_t	again;
};

struct judge {
	const struct capture	*c;
	uint8_t		*octets;	/* sent */
	uint8_t		*mark;		/* of each, and of the end */
	size_t		len;
	size_t		base;		/* of full operation */
	bool		markers;
	bool		crc;
	size_t		fpdus;
	size_t		markers_seen;

	size_t		segments;
	size_t		begin;		/* with an FPDU */
	size_t		aligned;	/* and hold whole ones */
	size_t		again;
	size_t		again_aligned;
	size_t		full;		/* to less than 8 octets */
	size_t		tight;		/* the window had no room for another */
	uint64_t	last;		/* time of the segment before */
	struct row	row[CAUSES];
	bool		verbose;
	size_t		shown;
};

static uint16_t get16(const uint8_t *from)
{
	return from[0] << 8 | from[1];
}

/* FPDUs */

static bool marker_due(const struct judge *j, size_t at)
{
	return j->markers && (at - j->base) % MARKER_EVERY == 0;
}

static void need(const struct judge *j, size_t end)
{
	if (end > j->len)
		wrong("the last FPDU is cut short");
}

static void check_marker(struct judge *j, size_t at, size_t header)
{
	const uint8_t *m = j->octets + at;
	uint16_t ptr = at > header ? at - header : 0;

	need(j, at + 4);
	if (get16(m) || get16(m + 2) != ptr)
		wrong("the marker at %zu is %04x%04x, not %08x", at - j->base,
		      get16(m), get16(m + 2), ptr);
	j->markers_seen++;
}

static void check_crc(const struct judge *j, size_t at, size_t end)
{
	uint32_t crc = mpa_ref_crc(j->octets + at, end - 4 - at);
	int i;

	for (i = 0; i < 4; i++)
		if (j->octets[end - 4 + i] != (uint8_t)(crc >> 8 * i))
			wrong("wrong CRC in the FPDU at %zu", at - j->base);
}

/* Where the FPDU at @at ends */
static size_t follow_fpdu(struct judge *j, size_t at)
{
	size_t header = marker_due(j, at) ? at + 4 : at, end = at;
	size_t left, step;

	need(j, header + 2);
	left = get16(j->octets + header);
	if (!left || left > 64768)
		wrong("ULPDU_Length %zu at %zu", left, at - j->base);
	left = ((2 + left + 3) & ~(size_t)3) + 4;
	for (; left; left -= step) {
		if (marker_due(j, end)) {
			check_marker(j, end, header);
			end += 4;
		}
		step = MARKER_EVERY - (end - j->base) % MARKER_EVERY;
		if (!j->markers || step > left)
			step = left;
		end += step;
	}
	need(j, end);
	if (j->crc)
		check_crc(j, at, end);
	j->fpdus++;
	return end;
}

static void follow(struct judge *j)
{
	size_t at = j->base;

	while (at < j->len) {
		j->mark[at] |= BEGINS;
		at = follow_fpdu(j, at);
	}
	j->mark[at] |= BEGINS;
}

/* Startup */

static bool is_frame(const uint8_t *octets, size_t len)
{
	return len >= FRAME_LEN && (!memcmp(octets, "MPA ID Req Frame", 16) ||
				    !memcmp(octets, "MPA ID Rep Frame", 16));
}

static void agree(struct judge *j)
{
	uint8_t theirs[FRAME_LEN];
	size_t len = capture_octets(&j->c->in, theirs, sizeof(theirs));

	if (!is_frame(j->octets, j->len)) {
		/* An immediate start: RFC 5044 has markers and CRC then. */
		j->markers = true;
		j->crc = true;
		return;
	}
	if (!is_frame(theirs, len))
		wrong("no startup frame of the other end");
	j->base = FRAME_LEN + get16(j->octets + 18);
	j->markers = theirs[16] & FLAG_M;
	j->crc = (theirs[16] | j->octets[16]) & FLAG_C;
}

/* Segments */

static size_t payload(const struct segment *s)
{
	return s->end - s->at;
}

/* Octets that the segment could still hold; 0: full */
static size_t room(const struct judge *j, const struct segment *s)
{
	return j->c->full - s->length;
}

/* As if SACK blocks that it does not have took room */
static bool other_sack(const struct judge *j, const struct segment *s)
{
	size_t lacks = room(j, s) + s->sack;

	return lacks == 12 || lacks == 20 || lacks == 28 || lacks == 36;
}

static enum cause why_ends(const struct judge *j, const struct segment *s)
{
	if (j->mark[s->end] & CAUSE)
		return j->mark[s->end] & CAUSE;
	if (!room(j, s))
		return s->sack ? SACK : FULL;
	if (j->mark[s->end] & AT_EDGE)
		return s->time - j->last > PAUSE ? PROBE : EDGE;
	return other_sack(j, s) ? OTHER_SACK : SHORT;
}

static enum cause why_begins(const struct judge *j, const struct segment *s)
{
	if (j->mark[s->at] & CAUSE)
		return j->mark[s->at] & CAUSE;
	return s->at == s->acked ? ACKED : UNKNOWN;
}

static void show(struct judge *j, const struct segment *s, enum cause cause)
{
	size_t first = s->at, last = s->end, next = s->end;

	if (!j->verbose || j->shown++ >= SHOWN)
		return;
	while (!(j->mark[first] & BEGINS))
		first--;
	while (!(j->mark[last] & BEGINS))
		last--;
	while (!(j->mark[next] & BEGINS))
		next++;
	say("%10llu us, offset %zu%s: %zu octets (room for %zu more, SACK %u), begins at octet %zu of an FPDU, ends after %zu of %zu; window %lld past the end: %s",
	    (unsigned long long)(s->time % 1000000000),
	    (size_t)s->at - j->base, s->again ? " again" : "", payload(s),
	    room(j, s), s->sack, (size_t)s->at - first, (size_t)s->end - last,
	    next - last, (long long)(s->edge - s->end), cause_names[cause]);
}

static enum place place_of(const struct judge *j, const struct segment *s)
{
	bool begins = j->mark[s->at] & BEGINS, ends = j->mark[s->end] & BEGINS;

	if (ends)
		return begins ? WHOLE : REST;
	return begins ? CUT : BETWEEN;
}

static void judge_bad(struct judge *j, const struct segment *s,
		      enum place place)
{
	enum cause cause = place == REST ? why_begins(j, s) : why_ends(j, s);

	j->row[cause].place[place]++;
	j->row[cause].again += s->again;
	if (place != REST)
		j->mark[s->end] = (j->mark[s->end] & ~CAUSE) | cause;
	show(j, s, cause);
}

static void judge_segment(struct judge *j, const struct segment *s)
{
	enum place place;

	if (memcmp(j->octets + s->at, s->octets, payload(s)))
		wrong("a retransmission differs at %zu",
		      (size_t)s->at - j->base);
	if (s->edge <= j->len)
		j->mark[s->edge] |= AT_EDGE;
	if (s->end <= j->base)
		return;
	place = place_of(j, s);
	j->segments++;
	j->again += s->again;
	j->full += room(j, s) < 8;
	j->tight += s->edge < s->end + payload(s);
	j->begin += place == WHOLE || place == CUT;
	j->aligned += place == WHOLE;
	j->again_aligned += s->again && place == WHOLE;
	if (place != WHOLE)
		judge_bad(j, s, place);
}

static void show_table(const struct judge *j)
{
	enum cause i;

	say("%8s%8s%8s%8s", "first", "between", "rest", "again");
	for (i = NONE + 1; i < CAUSES; i++) {
		const struct row *row = &j->row[i];

		if (row->place[CUT] || row->place[BETWEEN] || row->place[REST])
			say("%8zu%8zu%8zu%8zu  %s", row->place[CUT],
			    row->place[BETWEEN], row->place[REST], row->again,
			    cause_names[i]);
	}
}

static void judge_init(struct judge *j, const struct capture *c)
{
	memset(j, 0, sizeof(*j));
	j->c = c;
	j->len = c->out.highest;
	j->octets = malloc(j->len + 1);
	j->mark = calloc(j->len + 1, 1);
	if (!j->octets || !j->mark)
		wrong("no memory");
	if (capture_octets(&c->out, j->octets, j->len) < j->len)
		wrong("octets are missing in the capture");
}

/* [verbose] CAPTURE ADDRESS */
void segments_main(int argc, char **argv)
{
	struct capture c;
	struct judge j;
	size_t i;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[0], "verbose")))
		misused("segments [verbose] CAPTURE ADDRESS");
	capture_read(&c, argv[argc - 2], argv[argc - 1]);
	judge_init(&j, &c);
	j.verbose = argc == 3;
	agree(&j);
	follow(&j);
	for (i = 0; i < c.out.nr; i++) {
		judge_segment(&j, &c.out.segment[i]);
		j.last = c.out.segment[i].time;
	}
	if (j.verbose)
		show_table(&j);
	say("segments=%zu begin=%zu aligned=%zu again=%zu again_aligned=%zu full=%zu tight=%zu fpdus=%zu markers=%zu octets=%zu",
	    j.segments, j.begin, j.aligned, j.again, j.again_aligned, j.full,
	    j.tight, j.fpdus, j.markers_seen, j.len - j.base);
	free(j.octets);
	free(j.mark);
}
