// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The decoder's reaction to wrong bits in an FPDU, including markers, header,
 * PAD and CRC. Bits are counted in the order of CRC32c, from the least
 * significant one of an octet on, or as RFC 5044 draws them, from the most
 * significant one on: a burst is a different one then. In the former order,
 * CRC32c detects every burst of up to 32 bits, in the latter all but the two in
 * misses[].
 *
 * usage: integrity [-q] [-j JOBS]	(-q: a sample, in seconds)
 *
 * - Each single bit, and each short burst, all patterns, through the decoder.
 * - Each burst of up to 32 bits, all patterns, by linear algebra: the
 *   contributions of the bits of a window to the CRC are linearly independent,
 *   so no pattern of them contributes nothing.
 * - Random bursts of up to 32 bits, through the decoder, to confirm the former.
 * - With CRC off, the bits that are detected nevertheless.
 */
#include <stdarg.h>
#include "kunit/mpa_ref.h"
#include "mpa_fpdu.h"
#include "mpa_wire.h"
#include "shim.h"
#include "slices.h"

enum {
	PHASES		= MPA_MARKER_INTERVAL / 4,
	BEHIND		= 2048,		/* octets after the FPDU */
	FRAGS		= 512,
	BITS		= 32,		/* of the longest burst */
};

/* an FPDU and its bits */
struct fpdu {
	u64	pos;
	u32	len;
	bool	markers;
	bool	crc;
	u32	size;
	u32	length_at;		/* where ULPDU_Length is */
	u8	*wire;
};

enum order { AS_CRC, AS_DRAWN };

/* Bursts as drawn that no CRC32c can see, and at which bit of an octet */
struct miss {
	u32	bit;
	u32	pattern;
};

static const struct miss misses[] = {
	{ 1, 0xdfe3d4a3 }, { 7, 0x9fad8381 },
};

static struct {
	unsigned long flips;
	unsigned long bursts;
	unsigned long windows;
	unsigned long samples;
	unsigned long unchecked;
} nr;

static u8 wire[MPA_FPDU_MAX + BEHIND];
static struct kvec frag[FRAGS];

static __printf(2, 3) __attribute__((__noreturn__))
void fail(const struct fpdu *f, const char *what, ...)
{
	va_list args;

	fprintf(stderr, "offset %llu, ULPDU of %u, markers %d, CRC %d: ",
		(unsigned long long)f->pos, f->len, f->markers, f->crc);
	va_start(args, what);
	vfprintf(stderr, what, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static int decode(const struct fpdu *f, u32 behind, u32 cut,
		  enum mpa_reason *reason)
{
	struct kvec v[2] = {
		{ f->wire, cut }, { f->wire + cut, f->size + behind - cut },
	};
	struct mpa_octets in = { .v = v, .nr = 2, .len = f->size + behind };
	struct mpa_dec dec = {
		.pos = f->pos, .markers = f->markers, .crc = f->crc,
		.frag = frag, .max_frags = FRAGS,
	};
	int err;

	err = mpa_fpdu_decode(&dec, &in);
	*reason = dec.reason;
	return err;
}

/* with further octets of the stream after it */
static struct fpdu send_fpdu(u64 pos, u32 len, bool markers, bool crc)
{
	struct fpdu f = {
		.pos = pos, .len = len, .markers = markers, .crc = crc,
		.wire = wire,
	};
	enum mpa_reason reason;

	f.size = mpa_ref_encode(wire, pos, ulpdu, len, markers, crc);
	memcpy(wire + f.size, ulpdu + 1000, BEHIND);
	if (markers && pos % MPA_MARKER_INTERVAL == 0)
		f.length_at = MPA_MARKER_SIZE;
	if (decode(&f, BEHIND, f.size, &reason))
		fail(&f, "reason %d without a wrong bit", reason);
	return f;
}

/* The octet and the bit in it of bit @i in some order */
static u32 octet_of(u32 i)
{
	return i / 8;
}

static u8 mask_of(u32 i, enum order order)
{
	return order == AS_CRC ? 1 << i % 8 : 0x80 >> i % 8;
}

/* Change the bits from @at on that @pattern has; again, and they are back. */
static void invert(const struct fpdu *f, u32 at, u32 pattern, enum order order)
{
	for (; pattern; pattern >>= 1, at++)
		if (pattern & 1)
			f->wire[octet_of(at)] ^= mask_of(at, order);
}

static bool is_miss(u32 at, u32 pattern)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(misses); i++)
		if (misses[i].bit == at % 8 && misses[i].pattern == pattern)
			return true;
	return false;
}

static bool may_miss(u32 at)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(misses); i++)
		if (misses[i].bit == at % 8)
			return true;
	return false;
}

static bool in_length(const struct fpdu *f, u32 at, u32 pattern)
{
	u32 last = at + 31 - __builtin_clz(pattern);

	return octet_of(at) < f->length_at + 2 &&
	       octet_of(last) >= f->length_at;
}

/*
 * Wrong bits are a wrong CRC; in ULPDU_Length they may also be a bad one, or
 * ask for more octets.
 */
static void expect_caught(const struct fpdu *f, u32 at, u32 pattern,
			  enum order order, u32 cut)
{
	enum mpa_reason reason;
	int err;

	invert(f, at, pattern, order);
	err = decode(f, BEHIND, cut, &reason);
	invert(f, at, pattern, order);
	if (err == -EBADMSG && reason == MPA_REASON_CRC)
		return;
	if (!in_length(f, at, pattern) || !err ||
	    (err == -EBADMSG && reason != MPA_REASON_LENGTH))
		fail(f, "bits %x from %u on (order %d): %d, reason %d", pattern,
		     at, order, err, reason);
}

static void sweep_flips(const struct fpdu *f)
{
	u32 at;

	for (at = 0; at < 8 * f->size; at++) {
		expect_caught(f, at, 1, AS_CRC, f->size);
		expect_caught(f, at, 1, AS_CRC, 1 + at % (f->size - 1));
		nr.flips++;
	}
}

/* All bursts of @bits bits that begin and end with a wrong bit */
static void sweep_bursts_of(const struct fpdu *f, u32 bits, enum order order)
{
	u32 ends = 1 | 1 << (bits - 1);
	u32 at, inside;

	for (at = 0; at + bits <= 8 * f->size; at++) {
		for (inside = 0; inside < 1u << (bits - 2); inside++)
			expect_caught(f, at, ends | inside << 1, order,
				      f->size);
		nr.bursts += 1u << (bits - 2);
	}
}

static void sweep_bursts(const struct fpdu *f, u32 max_bits)
{
	u32 bits;

	for (bits = 2; bits <= max_bits; bits++) {
		sweep_bursts_of(f, bits, AS_CRC);
		sweep_bursts_of(f, bits, AS_DRAWN);
	}
}

/* Contribution of a bit to the CRC: computed by the core, or its own field */
static u32 syndrome(const struct fpdu *f, u32 at, enum order order)
{
	static u8 zeroes[MPA_FPDU_MAX];
	u32 covered = f->size - MPA_CRC_SIZE;
	u32 octet = octet_of(at);
	u32 crc;

	if (octet >= covered)
		return (u32)mask_of(at, order) << 8 * (octet - covered);
	zeroes[octet] = mask_of(at, order);
	crc = mpa_crc_update(0, zeroes + octet, covered - octet);
	zeroes[octet] = 0;
	return crc;
}

static bool independent(const u32 *vectors, u32 n)
{
	u32 basis[BITS] = {};
	u32 i, v, top;

	for (i = 0; i < n; i++) {
		v = vectors[i];
		while (v) {
			top = 31 - __builtin_clz(v);
			if (!basis[top])
				break;
			v ^= basis[top];
		}
		if (!v)
			return false;
		basis[top] = v;
	}
	return true;
}

/*
 * Every 32 consecutive bits from bit @from on. As drawn, 31 of them are always
 * independent, and 32 unless there is a miss.
 */
static void sweep_windows(const struct fpdu *f, u32 from, u32 to,
			  enum order order)
{
	u32 window[BITS] = {};
	u32 at, first;
	bool missed;

	for (at = from; at < to; at++) {
		memmove(window, window + 1, sizeof(window) - sizeof(*window));
		window[BITS - 1] = syndrome(f, at, order);
		if (at - from < BITS - 1)
			continue;
		first = at + 1 - BITS;
		missed = order == AS_DRAWN && may_miss(first);
		if (independent(window, BITS) == missed ||
		    !independent(window, BITS - 1))
			fail(f, "bits %u to %u (order %d) hide a burst", first,
			     at, order);
		nr.windows++;
	}
}

static void sweep_all_windows(const struct fpdu *f)
{
	sweep_windows(f, 0, 8 * f->size, AS_CRC);
	sweep_windows(f, 0, 8 * f->size, AS_DRAWN);
}

/* The same for some parts of it */
static void sample_windows(const struct fpdu *f, u32 *seed)
{
	u32 bits = 8 * f->size;
	u32 at = mpa_ref_random(seed) % (bits - 256);

	sweep_windows(f, at, at + 256, AS_CRC);
	sweep_windows(f, at, at + 256, AS_DRAWN);
	sweep_windows(f, bits - 256, bits, AS_CRC);
	sweep_windows(f, bits - 256, bits, AS_DRAWN);
}

/* 1 to 32 bits anywhere, in one piece or in two */
static void sample_bursts(const struct fpdu *f, u32 times, u32 *seed)
{
	u32 bits, at, pattern;

	for (; times; times--, nr.samples++) {
		bits = 1 + mpa_ref_random(seed) % BITS;
		at = mpa_ref_random(seed) % (8 * f->size - bits + 1);
		pattern = mpa_ref_random(seed) >> (BITS - bits);
		pattern |= 1 | 1u << (bits - 1);
		if (!is_miss(at, pattern))
			expect_caught(f, at, pattern,
				      times % 2 ? AS_CRC : AS_DRAWN,
				      times % 3 ? f->size : at / 8);
	}
}

/* Check the known misses. */
static void show_misses(const struct fpdu *f)
{
	enum mpa_reason reason;
	u32 i, at;

	for (i = 0; i < ARRAY_SIZE(misses); i++) {
		at = 8 * (f->length_at + 2) + misses[i].bit;
		invert(f, at, misses[i].pattern, AS_DRAWN);
		if (decode(f, 0, f->size, &reason))
			fail(f, "miss %u is none", i);
		invert(f, at, misses[i].pattern, AS_DRAWN);
	}
}

/* FPDUPTR without its low bits, of the marker that octet @at may be in */
static bool in_fpduptr(const struct fpdu *f, u32 at, u8 mask)
{
	u32 in_marker = (f->pos + at) % MPA_MARKER_INTERVAL;

	return f->markers && (in_marker == 2 || (in_marker == 3 && mask > 2));
}

/* With CRC off, all other bits pass unnoticed. */
static void sweep_unchecked(const struct fpdu *f)
{
	enum mpa_reason reason;
	u32 at;
	int err;

	for (at = 0; at < 8 * f->size; at++) {
		if (in_length(f, at, 1))
			continue;
		invert(f, at, 1, AS_CRC);
		err = decode(f, BEHIND, f->size, &reason);
		invert(f, at, 1, AS_CRC);
		if (in_fpduptr(f, at / 8, mask_of(at, AS_CRC)) ?
		    err != -EBADMSG || reason != MPA_REASON_MARKER : err)
			fail(f, "bit %u: %d, reason %d", at, err, reason);
		nr.unchecked++;
	}
}

/* Every length that is short, and some that put a marker near an end */
static void sweep_short(u64 pos, bool markers)
{
	u32 step = quick ? 37 : 1;
	struct fpdu f;
	u32 len;

	for (len = 1; len <= 128; len += step) {
		f = send_fpdu(pos, len, markers, true);
		sweep_flips(&f);
		sweep_all_windows(&f);
		f = send_fpdu(pos, len, markers, false);
		sweep_unchecked(&f);
	}
	for (len = 480; len <= 540; len += 4 * step) {
		f = send_fpdu(pos, len + pos % 4, markers, true);
		sweep_flips(&f);
		sweep_all_windows(&f);
	}
}

/* All patterns of a short burst through the decoder */
static void sweep_patterns(u64 pos, bool markers)
{
	struct fpdu f;

	f = send_fpdu(pos, 1, markers, true);
	sweep_bursts(&f, quick ? 12 : 16);
	f = send_fpdu(pos, 42, markers, true);
	sweep_bursts(&f, quick ? 7 : 14);
	if (pos % MPA_MARKER_INTERVAL < 400)
		show_misses(&f);
}

/* MULPDU of Ethernet and of jumbo frames, the longest */
static void sweep_long(u64 pos, bool markers, u32 *seed)
{
	static const u32 lens[] = { 1440, 8920, MPA_ULPDU_MAX };
	struct fpdu f;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		f = send_fpdu(pos, lens[i], markers, true);
		sample_windows(&f, seed);
		sample_bursts(&f, (quick ? 3000000 : 60000000) / f.size, seed);
		if (f.size < 2000 && !quick) {
			sweep_flips(&f);
			sweep_all_windows(&f);
		}
	}
}

/* All windows of the longest one, once, shared by all slices */
static void sweep_longest(u32 slice, u32 slices)
{
	struct fpdu f = send_fpdu(492, MPA_ULPDU_MAX, true, true);
	u32 part = DIV_ROUND_UP(8 * f.size, slices);
	u32 from = slice * part;
	u32 to = min(from + part + BITS - 1, 8 * f.size);

	sweep_windows(&f, from, to, AS_CRC);
	sweep_windows(&f, from, to, AS_DRAWN);
}

static int run_slice(u32 slice, u32 slices)
{
	u32 seed = 521288629 + slice;
	u32 step = quick ? 13 : 1;
	u32 i;

	for (i = slice; i < PHASES; i += slices) {
		u64 pos = 4 * i + (i % 3 ? 0 : (1ULL << 32) - 1024);

		if (i % step)
			continue;
		sweep_short(pos, true);
		sweep_patterns(pos, true);
		sweep_long(pos, true, &seed);
	}
	if (!slice) {
		sweep_short(0, false);
		sweep_patterns(4, false);
		sweep_long(8, false, &seed);
	}
	if (!quick)
		sweep_longest(slice, slices);
	printf("integrity: slice %u of %u: decoded with %lu wrong bits, %lu bursts, %lu at random, %lu bits and no CRC; %lu windows of 32 bits\n",
	       slice + 1, slices, nr.flips, nr.bursts, nr.samples,
	       nr.unchecked, nr.windows);
	return 0;
}

int main(int argc, char **argv)
{
	return in_slices(argc, argv, "all caught", run_slice);
}
