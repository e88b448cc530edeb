// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs: RFC 5044 sections 4 and 5. Markers go in and come out octet by octet:
 * a marker is due wherever the position is a multiple of 512, before the octet
 * that would have been there.
 */
#include <string.h>

#include "peer.h"

#define MARKER_EVERY	512

/* CRC32c, reflected: the contribution of each octet, computed bit by bit */
static uint32_t crc_table[256];

static void crc_make_table(void)
{
	uint32_t crc;
	int i, bit;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
		crc_table[i] = crc;
	}
}

uint32_t crc32c(const uint8_t *octets, size_t len)
{
	uint32_t crc = 0xffffffff;

	if (!crc_table[1])
		crc_make_table();
	while (len--)
		crc = crc >> 8 ^ crc_table[(crc ^ *octets++) & 255];
	return ~crc;
}

static void crc_to_wire(uint32_t crc, uint8_t *to)
{
	int i;

	for (i = 0; i < 4; i++)
		to[i] = crc >> 8 * i;
}

void fpdu_init(struct fpdu *f)
{
	memset(f, 0, sizeof(*f));
	f->stated = -1;
	f->which = -1;
	f->ptr = -1;
}

static uint8_t pattern_octet(unsigned int number, size_t i)
{
	return number * 31 + i * 7 + (i >> 8);
}

void fpdu_pattern(struct fpdu *f, unsigned int number, size_t len)
{
	size_t i;

	f->len = len;
	for (i = 0; i < len; i++)
		f->ulpdu[i] = pattern_octet(number, i);
}

bool fpdu_is_pattern(const struct fpdu *f, unsigned int number, size_t len)
{
	size_t i;

	if (f->len != len)
		return false;
	for (i = 0; i < len; i++)
		if (f->ulpdu[i] != pattern_octet(number, i))
			return false;
	return true;
}

/*
 * The messages that can be an RTR, RFC 6581 section 9.2, with the headers of
 * RFC 5041 section 4 and RFC 5040 section 4. MSN is 1, an STag is 1; @tagged
 * masks the octets of STags and offsets, which another peer may choose; but an
 * STag, whose last octet is at @stags, must not be 0.
 */
static const struct rtr {
	const char	*kind;
	uint8_t		len;
	uint64_t	tagged;
	uint8_t		stags[2];
	uint8_t		octets[46];
} rtrs[] = {
	{ "send", 18, 0, { 0 }, { 0x41, 0x43, [13] = 1 } },
	{ "write", 14, 0x3ffc, { 5 }, { 0xc1, 0x40, [5] = 1 } },
	{ "read", 46, 0x3ffc3ffc0000, { 21, 37 },
	  { 0x41, 0x41, [9] = 1, [13] = 1, [21] = 1, [37] = 1 } },
};

static const struct rtr *rtr_find(const char *kind)
{
	size_t i;

	for (i = 0; i < sizeof(rtrs) / sizeof(*rtrs); i++)
		if (kind && !strcmp(rtrs[i].kind, kind))
			return &rtrs[i];
	misused("rtr is send, write or read");
}

void fpdu_rtr(struct fpdu *f, const char *kind)
{
	const struct rtr *rtr = rtr_find(kind);

	f->len = rtr->len;
	memcpy(f->ulpdu, rtr->octets, rtr->len);
}

static bool is_stag(const uint8_t *last)
{
	return last[-3] || last[-2] || last[-1] || last[0];
}

bool fpdu_is_rtr(const struct fpdu *f, const char *kind)
{
	const struct rtr *rtr = rtr_find(kind);
	size_t i;

	if (f->len != rtr->len)
		return false;
	for (i = 0; i < f->len; i++)
		if (!(rtr->tagged >> i & 1) && f->ulpdu[i] != rtr->octets[i])
			return false;
	for (i = 0; i < 2; i++)
		if (rtr->stags[i] && !is_stag(f->ulpdu + rtr->stags[i]))
			return false;
	return true;
}

/**
 * struct builder - an FPDU under construction
 * @s: stream it belongs to
 * @f: its fields
 * @to: its octets
 * @len: number of octets so far
 * @start: position of the first octet
 * @header: position of its ULPDU_Length, once @begun
 */
struct builder {
	struct stream	*s;
	struct fpdu	*f;
	uint8_t		*to;
	size_t		len;
	uint64_t	start;
	uint64_t	header;
	bool		begun;
};

/* The right FPDUPTR, or the one requested */
static uint16_t marker_ptr(const struct builder *b, bool altered)
{
	uint64_t from = b->s->lead ? b->start : b->header;
	uint16_t ptr = b->begun ? b->s->pos - from : 0;

	if (!altered)
		return ptr;
	return (b->f->ptr < 0 ? ptr : b->f->ptr) + b->f->ptr_add;
}

static void put_marker(struct builder *b)
{
	bool altered = b->f->which < 0 || (size_t)b->f->which == b->f->markers;
	uint16_t reserved = altered ? b->f->reserved : 0;
	uint16_t ptr = marker_ptr(b, altered);
	uint8_t *to = b->to + b->len;

	to[0] = reserved >> 8;
	to[1] = reserved;
	to[2] = ptr >> 8;
	to[3] = ptr;
	b->len += 4;
	b->s->pos += 4;
	b->f->markers++;
}

static void put_octet(struct builder *b, uint8_t octet)
{
	if (b->s->markers && b->s->pos % MARKER_EVERY == 0)
		put_marker(b);
	if (!b->begun) {
		b->begun = true;
		b->header = b->s->pos;
	}
	b->to[b->len++] = octet;
	b->s->pos++;
}

static void fpdu_crc(const struct stream *s, struct fpdu *f,
		     const uint8_t *octets, size_t len)
{
	int i;

	if (!f->crc_given)
		crc_to_wire(s->crc ? crc32c(octets, len) : 0, f->crc);
	for (i = 0; f->crc_bad && i < 4; i++)
		f->crc[i] ^= 0xff;
}

/* Returns the octets written to @to, which has to hold FPDU_SPACE. */
size_t fpdu_build(struct stream *s, struct fpdu *f, uint8_t *to)
{
	struct builder b = { .s = s, .f = f, .to = to, .start = s->pos };
	size_t stated = f->stated < 0 ? f->len : (size_t)f->stated;
	size_t i;

	f->markers = 0;
	put_octet(&b, stated >> 8);
	put_octet(&b, stated);
	for (i = 0; i < f->len; i++)
		put_octet(&b, f->ulpdu[i]);
	for (i = 2 + f->len; i % 4; i++)
		put_octet(&b, f->pad);
	if (s->markers && s->pos % MARKER_EVERY == 0)
		put_marker(&b);
	fpdu_crc(s, f, to, b.len);
	for (i = 0; i < 4; i++)
		put_octet(&b, f->crc[i]);
	return b.len;
}

/**
 * struct taker - an FPDU being read
 * @c: from where
 * @s: the direction
 * @f: result
 * @seen: all octets of it so far, for the CRC
 * @len: how many these are
 * @header: position of its ULPDU_Length, once @begun
 */
struct taker {
	struct conn	*c;
	struct stream	*s;
	struct fpdu	*f;
	uint8_t		seen[FPDU_SPACE];
	size_t		len;
	uint64_t	header;
	bool		begun;
};

static void take_raw(struct taker *t)
{
	if (!conn_read(t->c, t->seen + t->len, 1))
		wrong("%zu octets of an FPDU, then %s: %s", t->len,
		      ending_name(t->c->ended), to_hex(t->seen, t->len));
	t->len++;
	t->s->pos++;
}

static void take_marker(struct taker *t)
{
	uint64_t at = t->s->pos;
	uint16_t ptr = t->begun ? at - t->header : 0;
	const uint8_t *m = t->seen + t->len;
	int i;

	for (i = 0; i < 4; i++)
		take_raw(t);
	if (m[0] || m[1])
		wrong("a marker's RESERVED is %02x%02x", m[0], m[1]);
	if ((m[2] << 8 | m[3]) != ptr)
		wrong("the marker at %llu is %02x%02x, not %04x",
		      (unsigned long long)at, m[2], m[3], ptr);
	t->f->markers++;
}

static uint8_t take_octet(struct taker *t)
{
	if (t->s->markers && t->s->pos % MARKER_EVERY == 0)
		take_marker(t);
	if (!t->begun) {
		t->begun = true;
		t->header = t->s->pos;
	}
	take_raw(t);
	return t->seen[t->len - 1];
}

static void take_crc(struct taker *t)
{
	uint8_t computed[4];
	int i;

	if (t->s->markers && t->s->pos % MARKER_EVERY == 0)
		take_marker(t);
	crc_to_wire(crc32c(t->seen, t->len), computed);
	for (i = 0; i < 4; i++)
		t->f->crc[i] = take_octet(t);
	if (t->s->crc && memcmp(computed, t->f->crc, 4))
		wrong("wrong CRC, ULPDU of %zu octets", t->f->len);
}

/* Read and check an FPDU. Returns false at a FIN in front of it. */
bool fpdu_read(struct conn *c, struct stream *s, struct fpdu *f)
{
	static struct taker t;
	size_t i;

	if (conn_wait(c, c->timeout) && c->ended == FIN &&
	    c->in_from == c->in_to)
		return false;
	fpdu_init(f);
	memset(&t, 0, sizeof(t));
	t.c = c;
	t.s = s;
	t.f = f;
	f->len = take_octet(&t) << 8;
	f->len |= take_octet(&t);
	if (!f->len || f->len > 64768)
		wrong("ULPDU_Length is %zu", f->len);
	for (i = 0; i < f->len; i++)
		f->ulpdu[i] = take_octet(&t);
	for (i = 2 + f->len; i % 4; i++)
		if (take_octet(&t))
			wrong("a pad is not zero");
	take_crc(&t);
	return true;
}

void fpdu_show(const struct fpdu *f)
{
	uint8_t crc[4];

	memcpy(crc, f->crc, sizeof(crc));
	say("fpdu: %zu octets, %zu markers, crc %02x%02x%02x%02x, ulpdu %s",
	    f->len, f->markers, crc[0], crc[1], crc[2], crc[3],
	    to_hex(f->ulpdu, f->len));
}
