// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Octets: random ones, startup frames, and FPDUs without markers. */
#include <string.h>

#include "many.h"

/* xorshift64* */
static uint64_t dice_next(struct dice *dice)
{
	dice->state ^= dice->state >> 12;
	dice->state ^= dice->state << 25;
	dice->state ^= dice->state >> 27;
	return dice->state * 0x2545f4914f6cdd1dULL;
}

/* The numbers depend on these three only */
void dice_init(struct dice *dice, uint64_t seed, uint64_t a, uint64_t b)
{
	dice->state = (seed + 1) * 0x9e3779b97f4a7c15ULL ^
		      (a + 1) * 0xbf58476d1ce4e5b9ULL ^
		      (b + 1) * 0x94d049bb133111ebULL;
	dice->state |= 1;
	dice_next(dice);
	dice_next(dice);
}

uint32_t dice_roll(struct dice *dice, uint32_t below)
{
	return (dice_next(dice) >> 32) % below;
}

void dice_fill(struct dice *dice, uint8_t *to, size_t len)
{
	uint64_t octets;
	size_t n;

	for (; len; to += n, len -= n) {
		octets = dice_next(dice);
		n = len < sizeof(octets) ? len : sizeof(octets);
		memcpy(to, &octets, n);
	}
}

static uint32_t crc32c(const uint8_t *octets, size_t len)
{
	static uint32_t table[256];
	uint32_t crc = ~0u;
	int i, bit;

	for (i = 0; !table[255] && i < 256; i++)
		for (table[i] = i, bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^
				   (table[i] & 1 ? 0x82f63b78 : 0);
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *octets++) & 255];
	return ~crc;
}

/* C is set, M is not. Returns its length. */
size_t frame_build(uint8_t *to, bool reply, uint8_t rev, const uint8_t *pd,
		   size_t pd_len)
{
	memcpy(to, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	to[16] = 0x40;
	to[17] = rev;
	to[18] = pd_len >> 8;
	to[19] = pd_len;
	if (pd)
		memcpy(to + FRAME, pd, pd_len);
	return FRAME + pd_len;
}

size_t fpdu_build(uint8_t *to, const uint8_t *ulpdu, size_t len)
{
	size_t end = 2 + len;
	uint32_t crc;

	to[0] = len >> 8;
	to[1] = len;
	memcpy(to + 2, ulpdu, len);
	while (end % 4)
		to[end++] = 0;
	crc = crc32c(to, end);
	to[end++] = crc;
	to[end++] = crc >> 8;
	to[end++] = crc >> 16;
	to[end++] = crc >> 24;
	return end;
}
