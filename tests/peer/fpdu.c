// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* FPDUs: built by the reference of kunit/, altered, and compared with it. */
#include <string.h>

#include "peer.h"

#define MARKER_EVERY	512

static bool marker_due(const struct stream *s, size_t at)
{
	return s->markers && (s->pos + at) % MARKER_EVERY == 0;
}

/* Octets of an FPDU before its ULPDU_Length */
static size_t lead(const struct stream *s)
{
	return marker_due(s, 0) ? 4 : 0;
}

static size_t pad_of(size_t len)
{
	return -(2 + len) & 3;
}

/* Its user has written the octets of the ULPDU, or will. */
void fpdu_init(struct fpdu *f)
{
	memset(&f->len, 0, sizeof(*f) - offsetof(struct fpdu, len));
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

static void alter_marker(const struct fpdu *f, uint8_t *marker)
{
	if (f->which >= 0 && (size_t)f->which != f->markers)
		return;
	put16(marker, f->reserved);
	if (f->ptr >= 0)
		put16(marker + 2, f->ptr);
	put16(marker + 2, get16(marker + 2) + f->ptr_add);
}

static void alter_markers(const struct stream *s, struct fpdu *f, uint8_t *to,
			  size_t len)
{
	size_t at;

	f->markers = 0;
	for (at = -s->pos % MARKER_EVERY; s->markers && at < len;
	     at += MARKER_EVERY) {
		if (s->lead && at)
			put16(to + at + 2, at);
		alter_marker(f, to + at);
		f->markers++;
	}
}

/* @end is where the CRC field begins. */
static void alter_pad(const struct stream *s, const struct fpdu *f,
		      uint8_t *to, size_t end)
{
	if (marker_due(s, end - 4))
		end -= 4;
	memset(to + end - pad_of(f->len), f->pad, pad_of(f->len));
}

static void put_crc(const struct stream *s, struct fpdu *f, uint8_t *to,
		    size_t end)
{
	uint32_t crc = s->crc ? mpa_ref_crc(to, end) : 0;
	int i;

	for (i = 0; i < 4; i++) {
		if (!f->crc_given)
			f->crc[i] = crc >> 8 * i;
		if (f->crc_bad)
			f->crc[i] ^= 0xff;
		to[end + i] = f->crc[i];
	}
}

/* Returns the octets written to @to, which has to hold FPDU_SPACE. */
size_t fpdu_build(struct stream *s, struct fpdu *f, uint8_t *to)
{
	size_t len = mpa_ref_encode(to, s->pos, f->ulpdu, f->len, s->markers,
				    false);

	if (f->stated >= 0)
		put16(to + lead(s), f->stated);
	alter_pad(s, f, to, len - 4);
	alter_markers(s, f, to, len - 4);
	put_crc(s, f, to, len - 4);
	s->pos += len;
	return len;
}

static void check_marker(const struct stream *s, size_t at, const uint8_t *has,
			 const uint8_t *due)
{
	if (memcmp(has, due, 4))
		wrong("the marker at %llu is %s, not %04x%04x",
		      (unsigned long long)s->pos + at, to_hex(has, 4),
		      get16(due), get16(due + 2));
}

/* Everything before the CRC has to be as the reference sends it. */
static void compare(const struct stream *s, const struct fpdu *f,
		    const uint8_t *octets)
{
	static uint8_t built[FPDU_SPACE];
	size_t end = mpa_ref_encode(built, s->pos, f->ulpdu, f->len,
				    s->markers, false) - 4;
	size_t at = 0;

	while (at < end && octets[at] == built[at])
		at++;
	if (at == end)
		return;
	at &= ~(size_t)3;
	if (marker_due(s, at))
		check_marker(s, at, octets + at, built + at);
	wrong("a pad is not zero, in the FPDU at %llu",
	      (unsigned long long)s->pos);
}

/*
 * Take the first FPDU of @octets, all of which has to be right. Returns its
 * size, or 0 if @octets end before it does.
 */
size_t fpdu_take(struct stream *s, struct fpdu *f, const uint8_t *octets,
		 size_t have)
{
	enum mpa_ref_verdict verdict;
	u32 len, size;

	verdict = mpa_ref_decode(octets, have, s->pos, s->markers, s->crc,
				 f->ulpdu, &len, &size);
	if (lead(s) && have >= 4)
		check_marker(s, 0, octets, (const uint8_t[4]) { 0 });
	if (verdict == MPA_REF_MORE)
		return 0;
	if (!len || len > ULPDU_MAX)
		wrong("ULPDU_Length is %u, in the FPDU at %llu", len,
		      (unsigned long long)s->pos);
	f->len = len;
	compare(s, f, octets);
	if (verdict != MPA_REF_GOOD)
		wrong("wrong CRC, in the FPDU at %llu: ULPDU of %u octets",
		      (unsigned long long)s->pos, len);
	memcpy(f->crc, octets + size - 4, 4);
	f->markers = (size - (2 + len + pad_of(len) + 4)) / 4;
	s->pos += size;
	return size;
}

/* Read @len octets of an FPDU, of which there are @have. */
static void need(struct conn *c, uint8_t *octets, size_t have, size_t len)
{
	have += conn_read(c, octets + have, len - have);
	if (have < len)
		wrong("%zu octets of an FPDU, then %s: %s", have,
		      ending_name(c->ended), to_hex(octets, have));
}

/* Read and check an FPDU. Returns false at a FIN in front of it. */
bool fpdu_read(struct conn *c, struct stream *s, struct fpdu *f)
{
	static uint8_t octets[FPDU_SPACE];
	size_t head = lead(s) + 2, size;

	if (conn_wait(c, c->timeout) && c->ended == FIN &&
	    c->in_from == c->in_to)
		return false;
	fpdu_init(f);
	need(c, octets, 0, head);
	/* Fails at once if that cannot be the head of one. */
	fpdu_take(s, f, octets, head);
	size = mpa_ref_size(s->pos, get16(octets + head - 2), s->markers);
	need(c, octets, head, size);
	fpdu_take(s, f, octets, size);
	return true;
}

void fpdu_show(const struct fpdu *f)
{
	say("fpdu: %zu octets, %zu markers, crc %02x%02x%02x%02x, ulpdu %s",
	    f->len, f->markers, f->crc[0], f->crc[1], f->crc[2], f->crc[3],
	    to_hex(f->ulpdu, f->len));
}
