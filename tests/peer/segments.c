// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-peer segments: alignment of the FPDUs that one end of a connection sent
 * to its TCP segments.
 *
 * The FPDUs are those of the stream, and have to be right. Each transmission of
 * a segment with payload counts. Offsets are those of the stream of TCP,
 * including the startup frame.
 */
#include <stdio.h>
#include <stdlib.h>

#include "talk.h"

struct judge {
	size_t		base;		/* of FPDUs, of the connection at hand */
	bool		*begins;	/* an FPDU begins, or would */
	unsigned int	packet;		/* maximal length of an IP packet */

	size_t		segments;
	size_t		aligned;	/* begin with an FPDU, hold whole ones */
	size_t		again;
	size_t		full;		/* to less than 8 octets */
	size_t		tight;		/* the window had no room for another */
	size_t		fpdus;
	size_t		markers;
	size_t		octets;
	unsigned int	longest;	/* IP packet */
};

static void follow(struct judge *j, struct voice *v)
{
	static struct fpdu f;

	do {
		j->begins[v->base + v->fpdus.pos] = true;
	} while (talk_take(v, &f));
	if (v->base + v->fpdus.pos < v->len)
		wrong("the last FPDU is cut short");
	j->fpdus += v->nr;
	j->markers += v->markers;
	j->octets += v->fpdus.pos;
}

static void judge_segment(struct judge *j, const struct segment *s)
{
	size_t room = j->packet - s->length;

	if (s->end < j->base && room)
		wrong("the startup frame is cut at %zu", (size_t)s->end);
	if (s->end <= j->base)
		return;
	j->segments++;
	j->again += s->again;
	j->full += room < 8;
	j->tight += s->edge < 2 * s->end - s->at;
	j->aligned += j->begins[s->at] && j->begins[s->end];
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
	j->base = v->base;
	j->packet = packet;
	j->begins = calloc(v->len + 1, sizeof(*j->begins));
	if (!j->begins)
		wrong("no memory");
	follow(j, v);
	for (i = 0; i < s->nr; i++)
		judge_segment(j, &s->segment[i]);
	free(j->begins);
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

/* CAPTURE ADDRESS */
void segments_main(int argc, char **argv)
{
	struct judge j = { 0 };
	struct capture c;
	struct end address;

	if (argc != 2 || !end_parse(&address, argv[1]))
		misused("segments CAPTURE ADDRESS");
	capture_read(&c, argv[0]);
	if (!judge_all(&j, &c, &address))
		wrong("no connection of %s", argv[1]);
	say("segments=%zu aligned=%zu again=%zu full=%zu tight=%zu fpdus=%zu markers=%zu octets=%zu longest=%u",
	    j.segments, j.aligned, j.again, j.full, j.tight, j.fpdus,
	    j.markers, j.octets, j.longest);
}
