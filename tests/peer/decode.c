// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mpa-peer decode: startup frames and FPDUs of all connections of a capture,
 * both ways, to the last octet.
 */
#include <stdio.h>
#include <string.h>

#include "talk.h"

/* A line for each frame and FPDU begins with the ports. */
static void show_line(const struct talk *t, int i, const char *text)
{
	say("%u-%u %s", t->voice[i].side->end.port,
	    t->voice[!i].side->end.port, text);
}

static void show_frame(const struct talk *t, int i)
{
	const uint8_t *frame = t->voice[i].octets;
	char text[64];

	sprintf(text, "%s M=%d C=%d R=%d Rev=%u PD_Length=%u",
		i ? "Reply" : "Request", !!(frame[16] & FLAG_M),
		!!(frame[16] & FLAG_C), !!(frame[16] & FLAG_R), frame[17],
		get16(frame + 18));
	show_line(t, i, text);
}

static void show_fpdus(struct talk *t, int i)
{
	struct voice *v = &t->voice[i];
	static struct fpdu f;
	char text[64];

	while (talk_take(v, &f)) {
		sprintf(text, "FPDU of %zu, %zu markers, CRC %s", f.len,
			f.markers, v->fpdus.crc ? "good" : "unused");
		show_line(t, i, text);
	}
}

/* A reset may cut a stream short anywhere; then some octets may lack. */
static void check_end(const struct talk *t, int i)
{
	const struct voice *v = &t->voice[i];
	bool reset = t->voice[0].side->reset || t->voice[1].side->reset;
	size_t at = v->base + v->fpdus.pos;

	if (!side_complete(v->side, v->len, reset))
		wrong("octets are missing at %zu, from %s", v->len,
		      end_name(&v->side->end));
	if (at < v->len && !reset)
		wrong("the last FPDU is cut short, at %zu", at - v->base);
}

/* Number of the frame that brought the first octets from @at on; 0: none */
static size_t first_frame(const struct side *s, size_t at)
{
	const struct segment *seg;

	for (seg = s->segment; seg < s->segment + s->nr; seg++)
		if (seg->end > at)
			return seg->frame;
	return 0;
}

/* Section 7.1.2: the Initiator sends no FPDU before it has the Reply. */
static void check_order(const struct talk *t)
{
	const struct voice *v = t->voice;
	size_t first = first_frame(v[0].side, v[0].base);

	if (t->frame[1] && first && first < first_frame(v[1].side, 0))
		wrong("the Initiator sends FPDUs before the Reply");
}

/* Flags A to D of both words of a frame, RFC 6581 section 6 */
static const char *letters(const uint8_t *erd, char *to)
{
	static const char names[] = "ABCD";
	int i, n = 0;

	for (i = 0; i < 4; i++)
		if (erd[i & 2] & (i & 1 ? 0x40 : 0x80))
			to[n++] = names[i];
	if (!n)
		to[n++] = '0';
	to[n] = 0;
	return to;
}

static void show_enhanced(const struct talk *t, char *to)
{
	const uint8_t *a = t->voice[0].octets + 20;
	const uint8_t *b = t->voice[1].octets + 20;
	char ours[5], theirs[5];

	sprintf(to, " ird=%d+%d ord=%d+%d rtr=%s+%s",
		get16(a) & 0x3fff, get16(b) & 0x3fff,
		get16(a + 2) & 0x3fff, get16(b + 2) & 0x3fff,
		letters(a, ours), letters(b, theirs));
}

/* The terms, and how much was sent: the Initiator's values come first. */
static void show_words(const struct talk *t)
{
	const struct voice *v = t->voice;
	char text[200];
	int n;

	n = t->frame[0] ? sprintf(text, "rev=%u", v[0].octets[17]) :
			  sprintf(text, "rev=none");
	if (t->frame[1] && v[0].octets[16] & FLAG_S)
		show_enhanced(t, text + n);
	if (!t->established) {
		say("%s reply=%s", text, t->frame[1] ? "reject" : "none");
		return;
	}
	say("%s crc=%d markers=%d+%d fpdus=%zu+%zu octets=%llu+%llu marks=%zu+%zu",
	    text, v[0].fpdus.crc, v[0].fpdus.markers, v[1].fpdus.markers,
	    v[0].nr, v[1].nr, (unsigned long long)v[0].fpdus.pos,
	    (unsigned long long)v[1].fpdus.pos, v[0].markers, v[1].markers);
}

static void decode(const struct connection *c)
{
	struct talk t;
	int i;

	say("%s > %s", end_name(&c->side[0].end), end_name(&c->side[1].end));
	talk_begin(&t, c);
	for (i = 0; i < 2; i++)
		if (t.frame[i])
			show_frame(&t, i);
	check_order(&t);
	for (i = 0; i < 2; i++) {
		show_fpdus(&t, i);
		check_end(&t, i);
	}
	show_words(&t);
	talk_end(&t);
}

/* CAPTURE */
void decode_main(int argc, char **argv)
{
	const struct connection *at;
	struct capture c;
	size_t found = 0;

	if (argc != 1)
		misused("decode CAPTURE");
	capture_read(&c, argv[0]);
	for (at = c.connection; at < c.connection + c.nr; at++) {
		/* One that was refused has nothing to decode. */
		if (!at->side[0].nr && !at->side[1].nr)
			continue;
		decode(at);
		found++;
	}
	if (!found)
		wrong("no MPA connection");
}
