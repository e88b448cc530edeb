// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Compares the pure core with the reference, exhaustively, one process per slice of
 * the stream offsets.
 *
 * lengths: all stream offsets modulo 512 against all ULPDU lengths, all split points.
 *
 * bits: the decoder's reaction to wrong bits in an FPDU, including markers, header,
 * PAD and CRC. Bits are counted in the order of CRC32c, from the least significant one
 * of an octet on.
 *
 * - Each single bit of short FPDUs and each short burst, all patterns.
 * - With CRC off, the bits that are detected nevertheless.
 *
 * usage: sweep [-q] [-j JOBS] [lengths | bits]		(-q: a sample, in seconds)
 */
#include <getopt.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kunit/mpa_ref.h"
#include "mpa_fpdu.h"
#include "mpa_wire.h"
#include "sweep.h"

enum {
	OFFSETS		= MPA_MARKER_INTERVAL / 4,
	SHORT_MAX	= 1199,		/* every length up to it */
	PIECES		= 4096,
	DATA_PAGE	= SHIM_PAGES / 2,	/* payload for zero copy */
	DATA_SIZE	= 20 * PAGE_SIZE,
	LAP		= OFFSETS * MPA_MARKER_INTERVAL,
	AFTER		= 2048,		/* octets of the stream after an FPDU */
};

/* the FPDU that is tried, in want[], with further octets after it */
struct tried {
	u64	pos;
	u32	len;
	bool	markers;
	bool	crc;
	u32	size;
};

#define EXPECT(t, condition, fmt, ...)					\
	SHIM_ASSERT(condition,						\
		    "offset %llu, ULPDU of %u, markers %d, CRC %d: " fmt, \
		    (unsigned long long)(t)->pos, (t)->len, (t)->markers, \
		    (t)->crc, ##__VA_ARGS__)

static bool quick;
static u8 ulpdu[MPA_ULPDU_MAX];		/* octets at random */
static unsigned long checks;
static u8 want[MPA_FPDU_MAX + AFTER];
static u8 have[MPA_FPDU_MAX + 8];
static struct bio_vec out[PIECES];
static struct kvec frag[PIECES];
static u32 chunk;

static struct tried try(u64 pos, u32 len, bool markers, bool crc)
{
	struct tried t = { pos, len, markers, crc };

	t.size = mpa_ref_encode(want, pos, ulpdu, len, markers, crc);
	memcpy(want + t.size, ulpdu, AFTER);
	return t;
}

/* Encoding */

/* pieces of @chunk octets, each at the beginning of a page */
static int refill(struct mpa_enc *enc)
{
	u32 pages = DIV_ROUND_UP(chunk, PAGE_SIZE);
	static u32 next;

	if (next + pages > DATA_PAGE)
		next = 0;
	enc->frag.page = &shim_page[next];
	enc->frag.offset = 0;
	enc->frag.size = chunk;
	next += pages;
	return 0;
}

/*
 * Encodes with the first @hdr_len octets as header. Entries must not be empty, and
 * stay within a chunk, or the payload; no reference on a page may be left.
 */
static void encode(const struct tried *t, u32 hdr_len, struct iov_iter *data,
		   bool zerocopy)
{
	struct mpa_enc enc = {
		.pos = t->pos, .markers = t->markers, .crc = t->crc,
		.bv = out, .max = PIECES, .refill = refill,
	};
	u32 n, i;
	int err;

	err = mpa_fpdu_encode(&enc, ulpdu, hdr_len, data, t->len - hdr_len,
			      zerocopy);
	EXPECT(t, !err && enc.pos == t->pos + t->size, "%d", err);
	for (i = 0; i < enc.nr; i++)
		EXPECT(t, out[i].bv_len && out[i].bv_offset + out[i].bv_len <=
		       (out[i].bv_page < &shim_page[DATA_PAGE] ? chunk : DATA_SIZE),
		       "entry %u", i);
	n = shim_gather(enc.bv, enc.nr, have);
	EXPECT(t, n == t->size && !memcmp(have, want, n),
	       "header %u, zero copy %d, chunk %u", hdr_len, zerocopy, chunk);
	while (enc.nr)
		put_page(enc.bv[--enc.nr].bv_page);
	for (i = 0; i < SHIM_PAGES; i++)
		EXPECT(t, !shim_page[i].refs, "page %u", i);
	checks++;
}

static void check_copy(const struct tried *t, u32 hdr_len)
{
	struct kvec v = {
		.iov_base = ulpdu + hdr_len, .iov_len = t->len - hdr_len,
	};
	struct iov_iter data = {
		.count = v.iov_len, .kvec = &v, .nr_segs = 1,
	};

	encode(t, hdr_len, &data, false);
	EXPECT(t, !data.count, "%zu octets not taken", data.count);
}

/* The payload in pages, cut into segments of @seg octets. */
static void check_zerocopy(const struct tried *t, u32 hdr_len, u32 seg)
{
	static struct bio_vec v[PIECES];
	struct iov_iter data = { .bvec = v };
	u32 left = t->len - hdr_len;
	u32 at = 0;

	for (; left; left -= v[data.nr_segs++].bv_len) {
		bvec_set_page(&v[data.nr_segs],
			      &shim_page[DATA_PAGE + at / PAGE_SIZE],
			      min(seg, left), at % PAGE_SIZE);
		memcpy(shim_mem + DATA_PAGE * PAGE_SIZE + at,
		       ulpdu + hdr_len + data.count, min(seg, left));
		data.count += min(seg, left);
		at += min(seg, left) + 16;
		if (data.nr_segs + 1 == PIECES || at + seg > DATA_SIZE)
			return;
	}
	encode(t, hdr_len, &data, true);
}

/* Decoding */

static int decode(const struct tried *t, const struct kvec *v, u32 nr,
		  struct mpa_dec *dec)
{
	struct mpa_octets in = { .v = v, .nr = nr };
	u32 i;

	*dec = (struct mpa_dec) {
		.pos = t->pos, .markers = t->markers, .crc = t->crc,
		.frag = frag, .max_frags = PIECES,
	};
	for (i = 0; i < nr; i++)
		in.len += v[i].iov_len;
	checks++;
	return mpa_fpdu_decode(dec, &in);
}

static void check_decode(const struct tried *t, const struct kvec *v, u32 nr)
{
	struct mpa_dec dec;
	int err = decode(t, v, nr, &dec);
	u32 n = 0, i;

	EXPECT(t, !err && dec.len == t->len && dec.size == t->size,
	       "%d, reason %d, first piece %zu", err, dec.reason, v->iov_len);
	for (i = 0; i < dec.nr_frags; n += frag[i++].iov_len)
		EXPECT(t, n + frag[i].iov_len <= t->len &&
		       !memcmp(frag[i].iov_base, ulpdu + n, frag[i].iov_len),
		       "fragment %u, first piece %zu", i, v->iov_len);
	EXPECT(t, n == t->len, "%u octets in fragments", n);
}

/* In three pieces, the second a short one; nothing may be found in the first alone */
static void check_splits(const struct tried *t, u32 step)
{
	struct mpa_dec dec;
	struct kvec v[3];
	u32 at;
	int err;

	for (at = 0; at < t->size; at += step) {
		v[0] = (struct kvec) { want, at };
		v[1] = (struct kvec) { want + at, min(5, t->size - at) };
		v[2] = (struct kvec) { want + at + v[1].iov_len,
				       t->size - at - v[1].iov_len };
		err = decode(t, v, 1, &dec);
		EXPECT(t, err == -EAGAIN && dec.size > at &&
		       dec.size <= t->size, "%u octets: %d", at, err);
		check_decode(t, v, 3);
	}
}

static void check_pieces(const struct tried *t, u32 n)
{
	static struct kvec v[PIECES];
	u32 nr = 0;
	u32 at;

	if (DIV_ROUND_UP(t->size, n) + 256 > PIECES)
		return;
	for (at = 0; at < t->size; at += v[nr++].iov_len)
		v[nr] = (struct kvec) { want + at, min(n, t->size - at) };
	check_decode(t, v, nr);
}

/* Lengths */

static void check_fpdu(u64 pos, u32 len, bool markers, bool crc, u32 step)
{
	const struct tried t = try(pos, len, markers, crc);
	static u32 turn;

	turn++;
	EXPECT(&t, mpa_fpdu_size(pos, len, markers) == t.size, "%u", t.size);
	chunk = 20 * PAGE_SIZE;
	check_copy(&t, 0);
	check_copy(&t, turn % (len + 1));
	chunk = 16 + turn % 500 + len / 64;
	check_copy(&t, min(14, len));
	check_zerocopy(&t, min(14, len), 1 + turn % 600);
	chunk = 4 * PAGE_SIZE;
	check_zerocopy(&t, min(18, len), 3 * PAGE_SIZE + 5);

	check_pieces(&t, t.size);
	check_pieces(&t, 1 + turn % 7);
	check_pieces(&t, 500 + turn % 1000);
	check_splits(&t, step);
}

/* The longest ULPDU for some room */
static void check_room(u64 pos, u32 room, bool markers)
{
	u32 len = mpa_fpdu_fill(pos, room, markers);
	u32 size = len ? mpa_ref_size(pos, len, markers) : 0;
	const struct tried t = { pos, room, markers };

	EXPECT(&t, len <= MPA_ULPDU_MAX && size <= room, "%u is too long", len);
	size = mpa_ref_size(pos, len + 1, markers);
	EXPECT(&t, len == MPA_ULPDU_MAX || size > room, "%u is too short", len);
	checks++;
}

/* That, and the MULPDU of each EMSS */
static void check_fill(u64 pos, bool markers)
{
	u32 room;

	for (room = 0; room < 70000; room += room < 1600 ? 1 : quick ? 4999 : 97)
		check_room(pos, room, markers);
	check_room(pos, U32_MAX, markers);
	for (room = 140; room < 65536; room += quick && room > 9000 ? 149 : 1) {
		const struct tried t = { pos, room, markers };

		EXPECT(&t, mpa_fpdu_size(pos, mpa_mulpdu_of(room, markers),
					 markers) <= room, "MULPDU");
		checks++;
	}
}

/* the lengths around which something falls on a marker */
static bool corner(u32 len)
{
	return (len + 12) % 508 < 24 || (len + 12) % 512 < 24 ||
	       len + 20 > MPA_ULPDU_MAX;
}

static void sweep_lengths(u32 offset)
{
	u32 seed = 2463534242u + offset;
	u64 pos = offset;
	u32 len, i;

	for (len = 1; len <= SHORT_MAX; len++) {
		if (quick && len > 20 && !(corner(len) && len % 4 == 1))
			continue;
		check_fpdu(pos, len, true, true, quick ? 37 : 1);
		/* the same stream at positions beyond 32 bits */
		pos += LAP;
		if (pos < 1ULL << 33)
			pos += 1ULL << 30;
	}
	for (i = 0; i < (quick ? 2 : 60); i++) {
		len = 1 + mpa_ref_random(&seed) % MPA_ULPDU_MAX;
		check_fpdu(pos, len, true, i % 4, 1 + len / 50);
		check_fpdu(pos, len, false, i % 4, 1 + len / 50);
	}
	for (len = MPA_ULPDU_MAX - (quick ? 0 : 20); len <= MPA_ULPDU_MAX;
	     len++)
		check_fpdu(pos, len, true, true, 997);
	check_fill(offset, true);
	if (offset && offset != 508)
		return;
	check_fill(offset, false);
	for (len = 1; len <= SHORT_MAX; len++)
		check_fpdu(4 * len, len, false, offset, quick ? 37 : 1);
}

/* Bits */

/* True if bits from @at on are in ULPDU_Length */
static bool in_length(const struct tried *t, u32 at, u32 pattern)
{
	u32 length = t->markers && t->pos % MPA_MARKER_INTERVAL == 0 ? 4 : 0;
	u32 last = at + 31 - __builtin_clz(pattern);

	return at / 8 < length + 2 && last / 8 >= length;
}

static void invert(u32 at, u32 pattern)
{
	for (; pattern; pattern >>= 1, at++)
		want[at / 8] ^= (pattern & 1) << at % 8;
}

/* The decoder's result with these bits wrong, in two pieces, with octets after it */
static int decode_wrong(const struct tried *t, u32 at, u32 pattern, u32 cut,
			struct mpa_dec *dec)
{
	const struct kvec v[] = {
		{ want, cut }, { want + cut, t->size + AFTER - cut },
	};
	int err;

	invert(at, pattern);
	err = decode(t, v, 2, dec);
	invert(at, pattern);
	return err;
}

/*
 * Wrong bits are a wrong CRC; in ULPDU_Length they may also be a bad one, or
 * ask for more octets.
 */
static void expect_caught(const struct tried *t, u32 at, u32 pattern, u32 cut)
{
	struct mpa_dec dec;
	int err = decode_wrong(t, at, pattern, cut, &dec);
	bool caught = err == -EBADMSG && dec.reason == MPA_REASON_CRC;

	if (in_length(t, at, pattern))
		caught |= err == -EAGAIN || (err == -EBADMSG &&
					     dec.reason == MPA_REASON_LENGTH);
	EXPECT(t, caught, "bits %x from %u on: %d, reason %d", pattern, at, err,
	       dec.reason);
}

/* All bursts of up to @bits bits, those of one bit in two pieces as well */
static void check_bits(u64 pos, u32 len, bool markers, u32 bits)
{
	const struct tried t = try(pos, len, markers, true);
	u32 at, pattern, span;

	for (pattern = 1; pattern < 1u << bits; pattern += 2) {
		span = 32 - __builtin_clz(pattern);
		for (at = 0; at + span <= 8 * t.size; at++) {
			expect_caught(&t, at, pattern, t.size);
			if (span == 1)
				expect_caught(&t, at, 1, 1 + at % (t.size - 1));
		}
	}
}

/* FPDUPTR without its low bits, of the marker that bit @at may be in */
static bool in_fpduptr(const struct tried *t, u32 at)
{
	u32 in_marker = (t->pos + at / 8) % MPA_MARKER_INTERVAL;

	return t->markers && (in_marker == 2 || (in_marker == 3 && at % 8 > 1));
}

/* With CRC off, all other bits pass unnoticed. */
static void check_no_crc(u64 pos, u32 len, bool markers)
{
	const struct tried t = try(pos, len, markers, false);
	struct mpa_dec dec;
	bool caught;
	u32 at;
	int err;

	for (at = 0; at < 8 * t.size; at++) {
		if (in_length(&t, at, 1))
			continue;
		err = decode_wrong(&t, at, 1, t.size, &dec);
		caught = err == -EBADMSG && dec.reason == MPA_REASON_MARKER;
		EXPECT(&t, in_fpduptr(&t, at) ? caught : !err,
		       "bit %u: %d, reason %d", at, err, dec.reason);
	}
}

static void sweep_bits(u32 offset, bool markers)
{
	u64 pos = offset + (offset % 12 ? 0 : (1ULL << 32) - 1024);
	u32 step = quick ? 37 : 1;
	u32 len;

	for (len = 1; len <= 128; len += step) {
		check_bits(pos, len, markers, 1);
		check_no_crc(pos, len, markers);
	}
	/* those that put a marker near an end */
	for (len = 480; len <= 540; len += 4 * step)
		check_bits(pos, len, markers, 1);
	check_bits(pos, 1, markers, quick ? 12 : 16);
	check_bits(pos, 42, markers, quick ? 7 : 14);
	if (!quick)
		check_bits(pos, 1440, markers, 1);
}

/* A slice of what is named, or of all */
static void run_slice(const char *only, u32 slice, u32 slices)
{
	u32 i;

	for (i = slice; i < OFFSETS; i += slices) {
		if (!only || !strcmp(only, "lengths"))
			sweep_lengths(4 * i);
		if ((!only || !strcmp(only, "bits")) && (!quick || i % 13 == 0)) {
			sweep_bits(4 * i, true);
			if (i < 2)
				sweep_bits(4 * i, false);
		}
	}
	printf("sweep: slice %u of %u: %lu comparisons\n", slice + 1, slices,
	       checks);
}

int main(int argc, char **argv)
{
	u32 jobs = sysconf(_SC_NPROCESSORS_ONLN);
	u32 seed = 88172645;
	int status = 0;
	int child;
	u32 i;
	int c;

	while ((c = getopt(argc, argv, "qj:")) != -1) {
		if (c == 'q')
			quick = true;
		else if (c == 'j' && atoi(optarg) > 0)
			jobs = atoi(optarg);
		else
			return 2;
	}
	for (i = 0; i < sizeof(ulpdu); i++)
		ulpdu[i] = mpa_ref_random(&seed);

	for (i = 0; i < jobs; i++) {
		child = fork();
		if (!child) {
			run_slice(argv[optind], i, jobs);
			return 0;
		}
		if (child < 0)
			status = 1;
	}
	while (wait(&child) > 0)
		if (child)
			status = 1;
	printf("sweep: %s\n", status ? "FAILED" : "no difference");
	return status;
}
