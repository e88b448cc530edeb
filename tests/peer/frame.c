// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Request and Reply: RFC 5044 section 7.1.1, RFC 6581 sections 6 and 9. */
#include <stdio.h>
#include <string.h>

#include "peer.h"

/* Fields of a frame by name; a number of one bit or more */
static const struct {
	const char	*name;
	int		number;
	uint16_t	mask;
} fields[] = {
	{ "m",		FLAGS,		FLAG_M },
	{ "c",		FLAGS,		FLAG_C },
	{ "r",		FLAGS,		FLAG_R },
	{ "s",		FLAGS,		FLAG_S },
	{ "res",	FLAGS,		0x0f },
	{ "flags",	FLAGS,		0xff },
	{ "rev",	REV,		0xff },
	{ "len",	PD_LENGTH,	0xffff },
	{ "A",		IRD_WORD,	0x8000 },
	{ "B",		IRD_WORD,	0x4000 },
	{ "ird",	IRD_WORD,	0x3fff },
	{ "C",		ORD_WORD,	0x8000 },
	{ "D",		ORD_WORD,	0x4000 },
	{ "ord",	ORD_WORD,	0x3fff },
};

#define FIELDS		((int)(sizeof(fields) / sizeof(*fields)))
#define ENHANCED_ROWS	0x3f00	/* those from "A" on */

static int field_find(const char *name)
{
	int i;

	for (i = 0; i < FIELDS; i++)
		if (!strcmp(fields[i].name, name))
			return i;
	return -1;
}

/* The distance of the lowest bit */
static int shift_of(uint16_t mask)
{
	int shift = 0;

	while (!(mask >> shift & 1))
		shift++;
	return shift;
}

static unsigned int frame_get(const struct frame *f, int i)
{
	return (f->number[fields[i].number] & fields[i].mask) >>
	       shift_of(fields[i].mask);
}

static void frame_set(struct frame *f, int i, const char *value)
{
	int shift = shift_of(fields[i].mask);
	uint16_t *number = &f->number[fields[i].number];
	long n = field_number(fields[i].name, value, fields[i].mask >> shift);

	*number = (*number & ~fields[i].mask) | n << shift;
	f->given |= 1u << i;
}

/* Fields that are no numbers */
static void frame_set_other(struct frame *f, const char *name,
			    const char *value)
{
	if (!strcmp(name, "key")) {
		if (field_hex(name, value, f->key, 16) != 16)
			misused("a key has 16 octets");
	} else if (!strcmp(name, "badkey")) {
		f->key[field_number(name, value, 15)] ^= 0x20;
	} else if (!strcmp(name, "pd")) {
		f->pd_len = field_hex(name, value, f->pd, sizeof(f->pd));
		f->pd_given = true;
	} else if (!strcmp(name, "pdsize")) {
		f->pd_len = field_number(name, value, sizeof(f->pd) - 4);
		memset(f->pd, 0xa5, f->pd_len);
		f->pd_given = true;
	} else {
		misused("a frame has no field %s", name);
	}
}

static void frame_parse(struct frame *f, char *text)
{
	char *name, *value;
	int i;

	while (field_next(&text, &name, &value)) {
		i = field_find(name);
		if (i >= 0)
			frame_set(f, i, value);
		else
			frame_set_other(f, name, value);
	}
	f->enhanced = f->given & ENHANCED_ROWS;
}

static size_t frame_build(const struct frame *f, uint8_t *to)
{
	size_t len = FRAME_LEN;

	memcpy(to, f->key, 16);
	to[16] = f->number[FLAGS];
	to[17] = f->number[REV];
	put16(to + 18, f->number[PD_LENGTH]);
	if (f->enhanced) {
		put16(to + 20, f->number[IRD_WORD]);
		put16(to + 22, f->number[ORD_WORD]);
		len = 24;
	}
	memcpy(to + len, f->pd, f->pd_len);
	return len + f->pd_len;
}

/* C = 1, Rev 1 and the true length, unless @text says otherwise */
void frame_send(struct conn *c, struct frame *f, bool reply, char *text)
{
	static uint8_t octets[FRAME_LEN + 4 + sizeof(f->pd)];

	memset(f, 0, sizeof(*f));
	memcpy(f->key, frame_key(reply), 16);
	f->number[FLAGS] = FLAG_C;
	f->number[REV] = 1;
	frame_parse(f, text);
	if (!(f->given & 1u << field_find("len")))
		f->number[PD_LENGTH] = f->pd_len + (f->enhanced ? 4 : 0);
	conn_send(c, octets, frame_build(f, octets));
}

static void frame_need(struct conn *c, uint8_t *to, size_t len)
{
	size_t have = conn_read(c, to, len);

	if (have < len)
		wrong("%zu octets of %zu, then %s; the last: %s", have, len,
		      ending_name(c->ended), to_hex(to, have));
}

static void frame_read(struct conn *c, struct frame *f)
{
	uint8_t head[FRAME_LEN], words[4];

	frame_need(c, head, sizeof(head));
	memcpy(f->key, head, 16);
	f->number[FLAGS] = head[16];
	f->number[REV] = head[17];
	f->number[PD_LENGTH] = get16(head + 18);
	f->pd_len = f->number[PD_LENGTH];
	f->enhanced = f->number[FLAGS] & FLAG_S && f->pd_len >= 4;
	if (f->enhanced) {
		frame_need(c, words, sizeof(words));
		f->number[IRD_WORD] = get16(words);
		f->number[ORD_WORD] = get16(words + 2);
		f->pd_len -= 4;
	}
	frame_need(c, f->pd, f->pd_len);
}

static void frame_show(const struct frame *f, bool reply)
{
	char text[200];
	int i, n = 0, end = f->enhanced ? FIELDS : field_find("A");

	for (i = 0; i < end; i++)
		n += sprintf(text + n, " %s=%u", fields[i].name,
			     frame_get(f, i));
	say("%s:%s pd=%s", reply ? "reply" : "request", text,
	    to_hex(f->pd, f->pd_len));
}

/* Everything that @wanted names is in @f. */
static void frame_compare(const struct frame *f, const struct frame *wanted)
{
	int i;

	if (wanted->enhanced && !f->enhanced)
		wrong("no enhanced data");
	for (i = 0; i < FIELDS; i++)
		if (wanted->given & 1u << i &&
		    frame_get(f, i) != frame_get(wanted, i))
			wrong("%s is %u, not %u", fields[i].name,
			      frame_get(f, i), frame_get(wanted, i));
	if (wanted->pd_given &&
	    (f->pd_len != wanted->pd_len ||
	     memcmp(f->pd, wanted->pd, f->pd_len)))
		wrong("other private data");
}

/* Read a frame of the other side, and compare it with the fields in @text. */
void frame_expect(struct conn *c, struct frame *f, bool reply, char *text)
{
	static struct frame wanted;

	memset(&wanted, 0, sizeof(wanted));
	memcpy(wanted.key, frame_key(reply), 16);
	frame_parse(&wanted, text);
	memset(f, 0, sizeof(*f));
	frame_read(c, f);
	frame_show(f, reply);
	if (memcmp(f->key, wanted.key, 16))
		wrong("the key is %s", to_hex(f->key, 16));
	frame_compare(f, &wanted);
}
