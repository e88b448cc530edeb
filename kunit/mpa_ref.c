// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* FPDUs by the letter of RFC 5044, octet by octet. */
#include "mpa_ref.h"

/* Section 4.4: reflected polynomial 0x11edc6f41, one bit at a time. */
u32 mpa_ref_crc(const u8 *data, size_t len)
{
	u32 crc = 0xffffffff;
	int bit;

	while (len--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

/* Make the CRC of an altered FPDU right. */
void mpa_ref_fix_crc(u8 *fpdu, u32 size)
{
	u32 sum = mpa_ref_crc(fpdu, size - 4);
	u32 i;

	for (i = 0; i < 4; i++)
		fpdu[size - 4 + i] = sum >> 8 * i;
}

/* A sender that writes octets; counts them only if @to is NULL. */
struct ref_sender {
	u8	*to;
	u32	sent;
	u64	pos;
	u64	length_pos;
	bool	in_fpdu;
	bool	markers;
};

static void ref_octet(struct ref_sender *s, u8 octet)
{
	if (s->to)
		s->to[s->sent] = octet;
	s->sent++;
	s->pos++;
}

static void ref_due_marker(struct ref_sender *s)
{
	u32 fpduptr = 0;

	if (!s->markers || s->pos % 512)
		return;
	if (s->in_fpdu)
		fpduptr = s->pos - s->length_pos;
	ref_octet(s, 0);
	ref_octet(s, 0);
	ref_octet(s, fpduptr / 256);
	ref_octet(s, fpduptr % 256);
}

static void ref_send(struct ref_sender *s, u8 octet)
{
	ref_due_marker(s);
	if (!s->in_fpdu) {
		s->in_fpdu = true;
		s->length_pos = s->pos;
	}
	ref_octet(s, octet);
}

static void ref_body(struct ref_sender *s, const u8 *ulpdu, u32 len)
{
	u32 i;

	ref_send(s, len / 256);
	ref_send(s, len % 256);
	for (i = 0; i < len; i++)
		ref_send(s, ulpdu ? ulpdu[i] : 0);
	for (i = 2 + len; i % 4; i++)
		ref_send(s, 0);
	ref_due_marker(s);
}

/* Number of octets of an FPDU up to and including ULPDU_Length */
u32 mpa_ref_head(u64 pos, bool markers)
{
	return markers && pos % 512 == 0 ? 6 : 2;
}

bool mpa_ref_length_ok(u32 len)
{
	return len >= 1 && len <= 64768;
}

/* Size of the FPDU, found by encoding without output. */
u32 mpa_ref_size(u64 pos, u32 len, bool markers)
{
	struct ref_sender s = { .pos = pos, .markers = markers };

	ref_body(&s, NULL, len);
	return s.sent + 4;
}

/* Returns the length of the FPDU. */
u32 mpa_ref_encode(u8 *to, u64 pos, const u8 *ulpdu, u32 len, bool markers,
		   bool crc)
{
	struct ref_sender s = { .to = to, .pos = pos, .markers = markers };
	u32 sum = 0;
	int i;

	ref_body(&s, ulpdu, len);
	if (crc)
		sum = mpa_ref_crc(to, s.sent);
	for (i = 0; i < 32; i += 8)
		ref_octet(&s, sum >> i);
	return s.sent;
}

/* A receiver that removes markers, and reports bad ones at the end. */
struct ref_receiver {
	const u8	*from;
	u32		have;
	u32		taken;
	u64		pos;
	u64		fpdu_pos;
	u64		length_pos;
	bool		in_fpdu;
	bool		markers;
	bool		drafts;
	bool		starved;
	bool		bad_marker;
};

static u8 ref_take(struct ref_receiver *r)
{
	if (r->taken == r->have) {
		r->starved = true;
		return 0;
	}
	r->pos++;
	return r->from[r->taken++];
}

static void ref_take_marker(struct ref_receiver *r)
{
	u64 back = 0, back_drafts = 0;
	u32 fpduptr;

	if (!r->markers || r->pos % 512)
		return;
	if (r->in_fpdu) {
		back = r->pos - r->length_pos;
		back_drafts = r->drafts ? r->pos - r->fpdu_pos : back;
	}
	ref_take(r);
	ref_take(r);
	fpduptr = ref_take(r) * 256;
	fpduptr += ref_take(r);
	fpduptr -= fpduptr % 4;
	if (fpduptr != back && fpduptr != back_drafts)
		r->bad_marker = true;
}

static u8 ref_take_body(struct ref_receiver *r)
{
	ref_take_marker(r);
	if (!r->in_fpdu) {
		r->in_fpdu = true;
		r->length_pos = r->pos;
	}
	return ref_take(r);
}

static enum mpa_ref_verdict ref_decode(struct ref_receiver *r, bool crc,
				       u8 *ulpdu, u32 *len, u32 *size)
{
	u32 covered;
	u32 sum = 0;
	u32 i;

	*len = ref_take_body(r) * 256;
	*len += ref_take_body(r);
	if (r->starved)
		return MPA_REF_MORE;
	if (!mpa_ref_length_ok(*len))
		return MPA_REF_MARKER;

	for (i = 0; i < *len; i++)
		ulpdu[i] = ref_take_body(r);
	for (i = 2 + *len; i % 4; i++)
		ref_take_body(r);
	ref_take_marker(r);
	covered = r->taken;
	for (i = 0; i < 32; i += 8)
		sum |= (u32)ref_take(r) << i;
	if (r->starved)
		return MPA_REF_MORE;

	*size = r->taken;
	if (crc && sum != mpa_ref_crc(r->from, covered))
		return MPA_REF_CRC;
	return r->bad_marker ? MPA_REF_MARKER : MPA_REF_GOOD;
}

/**
 * mpa_ref_decode - decode an FPDU
 * @from: octets received
 * @have: number of octets at @from
 * @pos: stream position of the first octet
 * @markers: markers are in use
 * @crc: CRCs are checked
 * @ulpdu: result: the ULPDU
 * @len: result: length of the ULPDU
 * @size: result: size of the FPDU
 *
 * Return: what a receiver must do with the octets
 */
enum mpa_ref_verdict mpa_ref_decode(const u8 *from, u32 have, u64 pos,
				    bool markers, bool crc, u8 *ulpdu,
				    u32 *len, u32 *size)
{
	struct ref_receiver r = {
		.from = from, .have = have, .pos = pos, .fpdu_pos = pos,
		.markers = markers,
	};

	return ref_decode(&r, crc, ulpdu, len, size);
}

/* mpa_ref_decode() if FPDUPTR may also count from the FPDU's first octet */
enum mpa_ref_verdict mpa_ref_decode_drafts(const u8 *from, u32 have, u64 pos,
					   bool markers, bool crc, u8 *ulpdu,
					   u32 *len, u32 *size)
{
	struct ref_receiver r = {
		.from = from, .have = have, .pos = pos, .fpdu_pos = pos,
		.markers = markers, .drafts = true,
	};

	return ref_decode(&r, crc, ulpdu, len, size);
}

/* The ULPDUs of the known-answer vectors */
void mpa_ref_pattern(u8 *to, u32 len, u32 first)
{
	u32 i;

	for (i = 0; i < len; i++)
		to[i] = first + i;
}

static u8 ref_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Lower-case hexadecimal lines, NULL after the last. Returns the octets. */
u32 mpa_ref_unhex(u8 *to, const char *const *lines)
{
	const char *c;
	u32 n = 0;

	for (; *lines; lines++)
		for (c = *lines; *c; c += 2)
			to[n++] = ref_digit(c[0]) << 4 | ref_digit(c[1]);
	return n;
}

/* xorshift32: equal seeds give equal octets on all machines */
u32 mpa_ref_random(u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}
