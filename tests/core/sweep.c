// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Compares the pure core with the reference, exhaustively: all stream offsets
 * modulo 512 against all ULPDU lengths, all split points. One process per
 * slice of the offsets. And damaged FPDUs, at random.
 *
 * usage: sweep [-q] [-j JOBS]	(-q: a sample, in seconds)
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "kunit/mpa_ref.h"
#include "mpa_fpdu.h"
#include "mpa_wire.h"
#include "slices.h"
#include "sweep.h"

enum {
	OFFSETS		= MPA_MARKER_INTERVAL / 4,
	SHORT_MAX	= 1199,		/* every length up to it */
	PIECES		= 4096,
	DATA_PAGE	= SHIM_PAGES / 2,	/* payload for zero copy */
	DATA_SIZE	= 20 * PAGE_SIZE,
	LAP		= OFFSETS * MPA_MARKER_INTERVAL,
};

static unsigned long checks;
static u8 want[MPA_FPDU_MAX + 8];
static u8 have[MPA_FPDU_MAX + 8];
static struct bio_vec out[PIECES];
static struct kvec frag[PIECES];
static u32 chunk = 4 * PAGE_SIZE;

struct tried {
	u64	pos;
	u32	len;
	bool	markers;
	bool	crc;
};

static __printf(2, 3)
void fail(const struct tried *t, const char *what, ...)
{
	va_list args;

	fprintf(stderr, "sweep: offset %llu, ULPDU of %u, markers %d, CRC %d: ",
		(unsigned long long)t->pos, t->len, t->markers, t->crc);
	va_start(args, what);
	vfprintf(stderr, what, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

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

/* Entries are not empty and stay within a chunk, or a page of payload. */
static void check_entries(const struct tried *t, const struct mpa_enc *enc)
{
	const struct bio_vec *v;

	for (v = enc->bv; v < enc->bv + enc->nr; v++)
		if (!v->bv_len || v->bv_offset + v->bv_len >
		    (v->bv_page < &shim_page[DATA_PAGE] ? chunk : PAGE_SIZE))
			fail(t, "encoder: entry of %u octets at %u", v->bv_len,
			     v->bv_offset);
}

static void drop(const struct tried *t, struct mpa_enc *enc)
{
	u32 i;

	while (enc->nr)
		put_page(enc->bv[--enc->nr].bv_page);
	for (i = 0; i < SHIM_PAGES; i++)
		if (shim_page[i].refs)
			fail(t, "%d references to a page left",
			     shim_page[i].refs);
}

/* Encodes with the first @hdr_len octets as header; the result is in @have. */
static void encode(const struct tried *t, u32 hdr_len, struct iov_iter *data,
		   bool zerocopy, u32 size)
{
	struct mpa_enc enc = {
		.pos = t->pos, .markers = t->markers, .crc = t->crc,
		.bv = out, .max = PIECES, .refill = refill,
	};
	int err;
	u32 n;

	err = mpa_fpdu_encode(&enc, ulpdu, hdr_len, data, t->len - hdr_len,
			      zerocopy);
	if (err)
		fail(t, "encoder: error %d", err);
	if (enc.pos != t->pos + size)
		fail(t, "encoder: moved %lld octets, not %u",
		     (long long)(enc.pos - t->pos), size);
	check_entries(t, &enc);
	n = shim_gather(enc.bv, enc.nr, have);
	if (n != size || memcmp(have, want, size))
		fail(t, "encoder: wrong octets, header %u, zero copy %d, chunk %u",
		     hdr_len, zerocopy, chunk);
	drop(t, &enc);
	checks++;
}

static void check_copy(const struct tried *t, u32 hdr_len, u32 size)
{
	struct kvec v = {
		.iov_base = ulpdu + hdr_len, .iov_len = t->len - hdr_len,
	};
	struct iov_iter data = {
		.count = v.iov_len, .kvec = &v, .nr_segs = 1,
	};

	encode(t, hdr_len, &data, false, size);
	if (data.count)
		fail(t, "encoder: %zu octets not taken", data.count);
}

/* The payload in pages, cut into segments of @seg octets. */
static void check_zerocopy(const struct tried *t, u32 hdr_len, u32 seg,
			   u32 size)
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
	encode(t, hdr_len, &data, true, size);
}

static void check_decode(const struct tried *t, const struct kvec *v, u32 nr,
			 u32 size)
{
	struct mpa_octets in = { .v = v, .nr = nr };
	struct mpa_dec dec = {
		.pos = t->pos, .markers = t->markers, .crc = t->crc,
		.frag = frag, .max_frags = PIECES,
	};
	u32 n = 0;
	int err;
	u32 i;

	for (i = 0; i < nr; i++)
		in.len += v[i].iov_len;
	err = mpa_fpdu_decode(&dec, &in);
	if (err)
		fail(t, "decoder: error %d, reason %d, first piece %zu", err,
		     dec.reason, v->iov_len);
	if (dec.len != t->len || dec.size != size)
		fail(t, "decoder: length %u, size %u", dec.len, dec.size);
	for (i = 0; i < dec.nr_frags; n += frag[i++].iov_len)
		if (n + frag[i].iov_len > t->len ||
		    memcmp(frag[i].iov_base, ulpdu + n, frag[i].iov_len))
			fail(t, "decoder: wrong octets, first piece %zu",
			     v->iov_len);
	if (n != t->len)
		fail(t, "decoder: %u octets in fragments", n);
	checks++;
}

/* Nothing may be found in the first @n octets. */
static void check_short(const struct tried *t, u32 n, u32 size)
{
	struct kvec v = { .iov_base = want, .iov_len = n };
	struct mpa_octets in = { .v = &v, .nr = 1, .len = n };
	struct mpa_dec dec = {
		.pos = t->pos, .markers = t->markers, .crc = t->crc,
		.frag = frag, .max_frags = PIECES,
	};
	int err = mpa_fpdu_decode(&dec, &in);

	if (err != -EAGAIN || dec.size <= n || dec.size > size)
		fail(t, "decoder: %d with %u of %u octets, asks for %u", err,
		     n, size, dec.size);
	checks++;
}

static void check_splits(const struct tried *t, u32 step, u32 size)
{
	struct kvec v[3];
	u32 at;

	for (at = 0; at < size; at += step) {
		check_short(t, at, size);
		v[0] = (struct kvec) { want, at };
		v[1] = (struct kvec) { want + at, min(5, size - at) };
		v[2] = (struct kvec) { want + at + v[1].iov_len,
				       size - at - v[1].iov_len };
		check_decode(t, v, 3, size);
	}
}

static void check_pieces(const struct tried *t, u32 n, u32 size)
{
	static struct kvec v[PIECES];
	u32 nr = 0;
	u32 at;

	if (DIV_ROUND_UP(size, n) + 256 > PIECES)
		return;
	for (at = 0; at < size; at += v[nr++].iov_len)
		v[nr] = (struct kvec) { want + at, min(n, size - at) };
	check_decode(t, v, nr, size);
}

static void check_fpdu(u64 pos, u32 len, bool markers, bool crc, u32 step)
{
	const struct tried t = { pos, len, markers, crc };
	static u32 turn;
	struct kvec v;
	u32 size;

	turn++;
	size = mpa_ref_encode(want, pos, ulpdu, len, markers, crc);
	if (mpa_fpdu_size(pos, len, markers) != size)
		fail(&t, "size %u, not %u", mpa_fpdu_size(pos, len, markers),
		     size);

	chunk = 20 * PAGE_SIZE;
	check_copy(&t, 0, size);
	check_copy(&t, turn % (len + 1), size);
	chunk = 16 + turn % 500 + len / 64;
	check_copy(&t, min(14, len), size);
	check_zerocopy(&t, min(14, len), 1 + turn % 600, size);
	chunk = 4 * PAGE_SIZE;
	check_zerocopy(&t, min(18, len), 3 * PAGE_SIZE + 5, size);

	v = (struct kvec) { want, size };
	check_decode(&t, &v, 1, size);
	check_pieces(&t, 1 + turn % 7, size);
	check_pieces(&t, 500 + turn % 1000, size);
	check_splits(&t, step, size);
}

static enum mpa_ref_verdict verdict(const struct mpa_dec *dec, int err)
{
	if (!err)
		return MPA_REF_GOOD;
	if (err == -EAGAIN)
		return MPA_REF_MORE;
	return dec->reason == MPA_REASON_CRC ? MPA_REF_CRC : MPA_REF_MARKER;
}

/* Some octets of an FPDU are wrong, under a right CRC or not. */
static void check_damage(const struct tried *t, u32 *seed)
{
	u32 lead = t->markers && t->pos % MPA_MARKER_INTERVAL == 0 ? 4 : 0;
	struct mpa_dec dec = {
		.pos = t->pos, .markers = t->markers, .crc = t->crc,
		.frag = frag, .max_frags = PIECES,
	};
	static u8 ref_ulpdu[MPA_ULPDU_MAX];
	struct kvec v = { .iov_base = want };
	enum mpa_ref_verdict ref, our;
	u32 size, crc, len, i;

	size = mpa_ref_encode(want, t->pos, ulpdu, t->len, t->markers, t->crc);
	v.iov_len = size + mpa_ref_random(seed) % 8;
	for (i = mpa_ref_random(seed) % 4; i; i--)
		want[mpa_ref_random(seed) % min(size, i * 600)] ^=
			1 << mpa_ref_random(seed) % 8;
	size = mpa_ref_size(t->pos, want[lead] << 8 | want[lead + 1],
			    t->markers);
	if (mpa_ref_random(seed) % 4 && size <= v.iov_len) {
		crc = mpa_ref_crc(want, size - 4);
		for (i = 0; i < 4; i++)
			want[size - 4 + i] = crc >> 8 * i;
	}

	ref = mpa_ref_decode(want, v.iov_len, t->pos, t->markers, t->crc,
			     ref_ulpdu, &len, &size);
	our = verdict(&dec, mpa_fpdu_decode(&dec, &(struct mpa_octets) {
		.v = &v, .nr = 1, .len = v.iov_len,
	}));
	if (ref != our)
		fail(t, "decoder: verdict %d on damage, not %d", our, ref);
	if (!ref && (dec.len != len || dec.size != size))
		fail(t, "decoder: other lengths on damage");
	checks++;
}

static void sweep_damage(u32 slice)
{
	u32 seed = 362436069 + slice;
	u32 i;

	for (i = 0; i < (quick ? 20000 : 2000000); i++) {
		const struct tried t = {
			.pos = 4 * (mpa_ref_random(&seed) % 256),
			.len = 1 + mpa_ref_random(&seed) % (i % 5 ? 90 : 1200),
			.markers = i % 8, .crc = i % 3,
		};

		check_damage(&t, &seed);
	}
}

static void check_fill(u64 pos, bool markers)
{
	u32 room;
	u32 len;

	for (room = 0; room < 70000; room += room < 1600 ? 1 : quick ? 4999 : 97) {
		const struct tried t = { pos, room, markers };

		len = mpa_fpdu_fill(pos, room, markers);
		if (len > MPA_ULPDU_MAX)
			fail(&t, "fill gives %u", len);
		if (len && mpa_ref_size(pos, len, markers) > room)
			fail(&t, "fill gives %u, too long", len);
		if (len < MPA_ULPDU_MAX &&
		    mpa_ref_size(pos, len + 1, markers) <= room)
			fail(&t, "fill gives %u, too short", len);
		checks++;
	}
}

static void check_mulpdu(u64 pos, bool markers)
{
	u32 emss;
	u32 size;

	for (emss = 140; emss < 65536; emss += quick ? 61 : 1) {
		const struct tried t = { pos, emss, markers };

		size = mpa_fpdu_size(pos, mpa_mulpdu_of(emss, markers),
				     markers);
		if (size > emss)
			fail(&t, "FPDU of MULPDU has %u octets", size);
		checks++;
	}
}

/* the lengths around which something falls on a marker */
static bool corner(u32 len)
{
	return (len + 12) % 508 < 24 || (len + 12) % 512 < 24 ||
	       len + 20 > MPA_ULPDU_MAX;
}

static void sweep_offset(u32 offset)
{
	u32 seed = 2463534242u + offset;
	u64 pos = offset;
	u32 len;
	u32 i;

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
	check_mulpdu(offset, true);
}

static void sweep_plain(void)
{
	u32 len;

	for (len = 1; len <= SHORT_MAX; len++) {
		check_fpdu(4 * len, len, false, true, quick ? 37 : 1);
		check_fpdu(4 * len, len, false, false, quick ? 37 : 1);
	}
	check_fill(0, false);
	check_fill(508, false);
	check_mulpdu(0, false);
}

static int run_slice(u32 slice, u32 slices)
{
	u32 i;

	for (i = slice; i < OFFSETS; i += slices)
		sweep_offset(4 * i);
	sweep_damage(slice);
	if (!slice)
		sweep_plain();
	printf("sweep: slice %u of %u: %lu comparisons\n", slice + 1, slices,
	       checks);
	return 0;
}

int main(int argc, char **argv)
{
	return in_slices(argc, argv, "no difference", run_slice);
}
