// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-peer segments: alignment of the FPDUs that one end of a connection sent
 * to its TCP segments, and why a segment does not hold whole ones.
 *
 * The FPDUs are those of the stream, and have to be right. Each transmission of
 * a segment with payload counts. Offsets are those of the stream of TCP,
 * including the startup frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talk.h"

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
	const struct voice *v;		/* of the connection at hand */
	uint8_t		*mark;		/* of each octet, and of the end */
	unsigned int	packet;		/* maximal length of an IP packet */
	uint64_t	last;		/* time of the segment before */

	size_t		segments;
	size_t		begin;		/* with an FPDU */
	size_t		aligned;	/* and hold whole ones */
	size_t		again;
	size_t		again_aligned;
	size_t		full;		/* to less than 8 octets */
	size_t		tight;		/* the window had no room for another */
	size_t		fpdus;
	size_t		markers;
	size_t		octets;
	unsigned int	longest;	/* IP packet */
	struct row	row[CAUSES];
	bool		verbose;
	size_t		shown;
};

static void follow(struct judge *j, struct voice *v)
{
	static struct fpdu f;

	do {
		j->mark[v->base + v->fpdus.pos] |= BEGINS;
	} while (talk_take(v, &f));
	if (v->base + v->fpdus.pos < v->len)
		wrong("the last FPDU is cut short");
	j->fpdus += v->nr;
	j->markers += v->markers;
	j->octets += v->fpdus.pos;
}

/* Segments */

static size_t payload(const struct segment *s)
{
	return s->end - s->at;
}

/* Octets that the segment could still hold; 0: full */
static size_t room(const struct judge *j, const struct segment *s)
{
	return j->packet - s->length;
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
	    (size_t)s->at - j->v->base, s->again ? " again" : "", payload(s),
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

	if (s->edge <= j->v->len)
		j->mark[s->edge] |= AT_EDGE;
	if (s->end < j->v->base && room(j, s))
		wrong("the startup frame is cut at %zu", (size_t)s->end);
	if (s->end <= j->v->base)
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

static void judge_side(struct judge *j, struct voice *v, unsigned int packet)
{
	const struct side *s = v->side;
	size_t i;

	if (v->len < s->highest)
		wrong("octets are missing in the capture");
	if (!packet)
		wrong("the capture lacks a SYN");
	if (s->longest > packet)
		wrong("a packet of %u octets, where %u are allowed",
		      s->longest, packet);
	if (s->longest > j->longest)
		j->longest = s->longest;
	j->v = v;
	j->packet = packet;
	j->last = 0;
	j->mark = calloc(v->len + 1, 1);
	if (!j->mark)
		wrong("no memory");
	follow(j, v);
	for (i = 0; i < s->nr; i++) {
		judge_segment(j, &s->segment[i]);
		j->last = s->segment[i].time;
	}
	free(j->mark);
}

/* Judge what @address sent. Returns the number of connections. */
static size_t judge_all(struct judge *j, const struct capture *c,
			const struct end *address)
{
	const struct connection *at;
	size_t found = 0;
	struct talk t;
	int i;

	for (at = c->connection; at < c->connection + c->nr; at++)
		for (i = 0; i < 2; i++) {
			if (!at->side[i].nr || !side_is(&at->side[i], address))
				continue;
			talk_begin(&t, at);
			judge_side(j, &t.voice[i], connection_full(at));
			talk_end(&t);
			found++;
		}
	return found;
}

/* [verbose] CAPTURE ADDRESS */
void segments_main(int argc, char **argv)
{
	struct judge j = { 0 };
	struct capture c;
	struct end address;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[0], "verbose")))
		misused("segments [verbose] CAPTURE ADDRESS");
	if (!end_parse(&address, argv[argc - 1]))
		misused("%s is no address", argv[argc - 1]);
	capture_read(&c, argv[argc - 2]);
	j.verbose = argc == 3;
	if (!judge_all(&j, &c, &address))
		wrong("no connection of %s", argv[argc - 1]);
	if (j.verbose)
		show_table(&j);
	say("segments=%zu begin=%zu aligned=%zu again=%zu again_aligned=%zu full=%zu tight=%zu fpdus=%zu markers=%zu octets=%zu longest=%u",
	    j.segments, j.begin, j.aligned, j.again, j.again_aligned, j.full,
	    j.tight, j.fpdus, j.markers, j.octets, j.longest);
}
