// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* MPA in a captured connection: RFC 5044 section 7.1, RFC 6581 section 6. */
#include <stdlib.h>
#include <string.h>

#include "talk.h"

static const char * const kinds[] = { "Request", "Reply" };

static bool is_frame(const struct voice *v, int side)
{
	return v->len >= 16 && !memcmp(v->octets, frame_key(side), 16);
}

/* A frame has to be whole and as its sender has to build it. */
static void check_frame(struct voice *v, int side)
{
	const char *kind = kinds[side];
	const uint8_t *frame = v->octets;
	uint8_t reserved = 0x0f;
	unsigned int pd_len;

	if (v->len < FRAME_LEN)
		wrong("the %s is cut short", kind);
	pd_len = get16(frame + 18);
	if (frame[17] > 2)
		wrong("the %s has revision %u", kind, frame[17]);
	if (frame[17] < 2)
		reserved |= FLAG_S;
	if (!side)
		reserved |= FLAG_R;
	if (frame[16] & reserved)
		wrong("the %s has flags %02x", kind, frame[16]);
	if (frame[17] && pd_len > PD_MAX)
		wrong("the %s has %u octets of private data", kind, pd_len);
	if (frame[16] & FLAG_S && pd_len < 4)
		wrong("the %s has S, and PD_Length %u", kind, pd_len);
	v->base = FRAME_LEN + pd_len;
	if (v->len < v->base)
		wrong("the %s is cut short", kind);
}

/* Section 7.1.1; with Rev 0 markers and CRC are always in use, Appendix C. */
static void agree(struct talk *t)
{
	const uint8_t *request = t->voice[0].octets;
	const uint8_t *reply = t->voice[1].octets;
	bool rev0 = !reply[17];
	bool crc = (request[16] | reply[16]) & FLAG_C || rev0;

	if (request[17] != reply[17] || (request[16] ^ reply[16]) & FLAG_S)
		wrong("a Request of revision %u with flags %02x, a Reply of revision %u with %02x",
		      request[17], request[16], reply[17], reply[16]);
	t->rejected = reply[16] & FLAG_R;
	t->voice[0].fpdus = (struct stream) {
		.markers = reply[16] & FLAG_M || rev0, .crc = crc,
	};
	t->voice[1].fpdus = (struct stream) {
		.markers = request[16] & FLAG_M || rev0, .crc = crc,
	};
}

/* Without a Reply that accepts, there is nothing after the frames. */
static void check_nothing_more(const struct talk *t)
{
	const struct voice *v;

	for (v = t->voice; v < t->voice + 2; v++)
		if (v->len > v->base)
			wrong("%zu octets after the startup frame",
			      v->len - v->base);
}

/* Read the startup. Without one there are markers and CRC. */
void talk_begin(struct talk *t, const struct connection *c)
{
	const struct stream immediate = { .markers = true, .crc = true };
	struct voice *v;
	int i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < 2; i++) {
		v = &t->voice[i];
		v->side = &c->side[i];
		v->len = side_octets(v->side, &v->octets);
		t->frame[i] = is_frame(v, i);
		v->fpdus = immediate;
		if (t->frame[i])
			check_frame(v, i);
	}
	if (t->frame[0] && t->frame[1])
		agree(t);
	else if (t->frame[1] || (t->frame[0] && t->voice[1].len))
		wrong("the startup is not a Request and a Reply");
	t->established = t->frame[0] == t->frame[1] && !t->rejected;
	if (!t->established)
		check_nothing_more(t);
}

/* The next FPDU. Returns false at the end, or if it is cut short there. */
bool talk_take(struct voice *v, struct fpdu *f)
{
	size_t at = v->base + v->fpdus.pos;

	if (at == v->len || !fpdu_take(&v->fpdus, f, v->octets + at,
				       v->len - at))
		return false;
	v->nr++;
	v->markers += f->markers;
	return true;
}

void talk_end(struct talk *t)
{
	free(t->voice[0].octets);
	free(t->voice[1].octets);
}
