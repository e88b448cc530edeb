// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Time of the framing core for an FPDU, on this machine and with the kernel's
 * CRC: ns per FPDU with everything in the cache, the median of many
 * repetitions. Also the number of passes in which the CRC is computed: one,
 * with any markers, as long as the FPDU is in one piece.
 *
 * Rows for tests/bench/bench.sh go to stdout, a table to stderr. Status 1 if there are
 * more passes than expected.
 *
 * Layouts:
 *	contiguous	no markers
 *	pieces		from marker to marker
 *	laid-out	with markers, inserted between the octets, then one pass
 */
#include <nmmintrin.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "mpa_fpdu.h"
#include "mpa_wire.h"
#include "native.h"
#include "sweep.h"

enum {
	HEADER		= 18,		/* of an untagged DDP segment */
	ROOM		= 4 * PAGE_SIZE,
	WARM_UP		= 20,
	REPETITIONS	= 201,
	BATCH_NS	= 50000,
	FRAGS		= 32,
	PCL_BREAKEVEN	= 512,		/* as in the kernel's glue */
};

/* The kernel's own, arch/x86/crypto/crc32c-pcl-intel-asm_64.S */
unsigned int crc_pcl(const u8 *buffer, int len, unsigned int crc);
/* tests/core/shim.c */
u32 crc32c_by_table(u32 crc, const void *data, unsigned int len);

struct job {
	const char	*what;
	const char	*layout;
	void		(*run)(void);
	bool		markers;
	bool		crc;
	u32		passes;		/* of the CRC that there should be */
};

/* The FPDU measured: @size octets at @pos, and its ULPDU */
static u64 pos;
static u32 size;
static u32 len;
static const struct job *job;
static u32 passes;
static u32 result;		/* of the job, so that it is done */

/*
 * The destination of copies is half a page from their source, modulo a page: at
 * the same offset or right after it copies take ten times as long.
 */
static _Alignas(PAGE_SIZE) u8 apart[ROOM + PAGE_SIZE / 2];
static u8 *const ulpdu = apart + PAGE_SIZE / 2;
static _Alignas(PAGE_SIZE) u8 buffer[ROOM];
static _Alignas(64) u8 fpdu[ROOM];
static struct bio_vec bv[1];

static void die(const char *what)
{
	fprintf(stderr, "native: %s, FPDU of %u: %s\n", job ? job->what : "",
		size, what);
	exit(1);
}

static u32 crc_by_instruction(u32 crc, const u8 *p, unsigned int n)
{
	u64 sum = crc;
	u64 octets;

	for (; n >= sizeof(octets); n -= sizeof(octets), p += sizeof(octets)) {
		memcpy(&octets, p, sizeof(octets));
		sum = _mm_crc32_u64(sum, octets);
	}
	while (n--)
		sum = _mm_crc32_u8(sum, *p++);
	return sum;
}

u32 crc32c(u32 crc, const void *data, unsigned int n)
{
	passes++;
	if (n >= PCL_BREAKEVEN)
		return crc_pcl(data, n, crc);
	return crc_by_instruction(crc, data, n);
}

/* octets from @at of the FPDU to its next marker, or the end */
static u32 to_marker(u32 at)
{
	u32 n = MPA_MARKER_INTERVAL - (pos + at) % MPA_MARKER_INTERVAL;

	return min(n, size - MPA_CRC_SIZE - at);
}

static void copy(void)
{
	memcpy(buffer, ulpdu, size);
}

static void copy_pieces(void)
{
	u32 from = 0;
	u32 at = 0;
	u32 n;

	for (; at < size - MPA_CRC_SIZE; at += n, from += n) {
		if (!((pos + at) % MPA_MARKER_INTERVAL)) {
			put_unaligned_be32(at, buffer + at);
			at += MPA_MARKER_SIZE;
		}
		n = to_marker(at);
		memcpy(buffer + at, ulpdu + from, n);
	}
}

static void crc_contiguous(void)
{
	result = crc32c(MPA_CRC_INIT, fpdu, size - MPA_CRC_SIZE);
}

static void crc_pieces(void)
{
	u32 crc = MPA_CRC_INIT;
	u32 at = 0;
	u32 n;

	for (; at < size - MPA_CRC_SIZE; at += n) {
		n = to_marker(at);
		if (n == MPA_MARKER_INTERVAL) {
			crc = crc32c(crc, fpdu + at, MPA_MARKER_SIZE);
			at += MPA_MARKER_SIZE;
			n -= MPA_MARKER_SIZE;
		}
		crc = crc32c(crc, fpdu + at, n);
	}
	result = crc;
}

static void crc_laid_out(void)
{
	copy_pieces();
	result = crc32c(MPA_CRC_INIT, buffer, size - MPA_CRC_SIZE);
}

static int refill(struct mpa_enc *enc)
{
	die("wants more memory");
	return -1;
}

/* Where encode() puts the FPDU: shim_mem is not aligned. */
static u8 *laid_out(void)
{
	return shim_mem + (-(unsigned long)shim_mem & (PAGE_SIZE - 1));
}

static void encode(void)
{
	struct kvec v = { .iov_base = ulpdu + HEADER, .iov_len = len - HEADER };
	struct iov_iter data = { .kvec = &v, .nr_segs = 1, .count = v.iov_len };
	struct mpa_enc enc = {
		.pos = pos, .markers = job->markers, .crc = job->crc,
		.bv = bv, .max = 1, .refill = refill,
		.frag = { .page = shim_page, .offset = laid_out() - shim_mem,
			  .size = 2 * ROOM },
	};

	if (mpa_fpdu_encode(&enc, ulpdu, HEADER, &data, len - HEADER, false))
		die("encode");
	result = enc.nr;
	put_page(shim_page);
}

/* Its pieces, copied as TCP does */
static void gather(void)
{
	struct kvec v = { .iov_base = ulpdu + HEADER, .iov_len = len - HEADER };
	struct iov_iter data = { .kvec = &v, .nr_segs = 1, .count = v.iov_len };
	struct kvec pieces[FRAGS];
	u8 around[2 * HEADER];
	struct mpa_enc enc = {
		.pos = pos, .crc = job->crc,
		.kv = pieces, .kv_next = pieces, .kv_end = pieces + FRAGS,
		.buf = around, .buf_end = around + sizeof(around),
	};
	struct kvec *kv;
	u8 *to = buffer;

	if (mpa_fpdu_gather(&enc, ulpdu, HEADER, &data, len - HEADER))
		die("gather");
	for (kv = pieces; kv < enc.kv_next; to += kv++->iov_len)
		memcpy(to, kv->iov_base, kv->iov_len);
	result = to - buffer;
}

static void verify(void)
{
	struct kvec v = { .iov_base = fpdu, .iov_len = size };
	struct mpa_octets in = { .v = &v, .nr = 1, .len = size };
	struct kvec frag[FRAGS];
	struct mpa_dec dec = {
		.pos = pos, .markers = job->markers, .crc = job->crc,
		.frag = frag, .max_frags = FRAGS,
	};

	if (mpa_fpdu_decode(&dec, &in) || dec.len != len)
		die("verify");
	result = dec.nr_frags;
}

static const struct job jobs[] = {
	{ "copy", "contiguous", copy },
	{ "copy", "pieces", copy_pieces, .markers = true },
	{ "crc", "contiguous", crc_contiguous, .crc = true, .passes = 1 },
	{ "crc", "pieces", crc_pieces, .markers = true, .crc = true },
	{ "crc", "laid-out", crc_laid_out, .markers = true, .crc = true,
	  .passes = 1 },
	{ "encode", "contiguous", encode, .crc = true, .passes = 1 },
	{ "encode", "laid-out", encode, .markers = true, .crc = true,
	  .passes = 1 },
	/* of the header, and of the rest */
	{ "gather", "contiguous", gather, .crc = true, .passes = 2 },
	{ "verify", "contiguous", verify, .crc = true, .passes = 1 },
	{ "verify", "laid-out", verify, .markers = true, .crc = true,
	  .passes = 1 },
	{ "encode-no-crc", "contiguous", encode },
	{ "encode-no-crc", "laid-out", encode, .markers = true },
	{ "gather-no-crc", "contiguous", gather },
	{ "verify-no-crc", "contiguous", verify },
	{ "verify-no-crc", "laid-out", verify, .markers = true },
};

/*
 * The FPDU of the job: the longest one that has @octets at most, and stands
 * where one of each size has a marker inside.
 */
static void prepare(u32 octets)
{
	u32 crc;

	pos = 7 * octets;
	len = mpa_fpdu_fill(pos, octets, job->markers);
	size = mpa_fpdu_size(pos, len, job->markers);
	if (size != octets)
		die("no ULPDU fills it");
	encode();
	memcpy(fpdu, laid_out(), size);
	if (job->run == gather) {
		gather();
		if (result != size || memcmp(fpdu, buffer, size))
			die("not the encoded octets");
	}
	crc = crc32c_by_table(MPA_CRC_INIT, fpdu, size - MPA_CRC_SIZE);
	if (job->crc &&
	    (crc32c(MPA_CRC_INIT, fpdu, size - MPA_CRC_SIZE) != crc ||
	     memcmp(&(__le32) { mpa_crc_field(crc) },
		    fpdu + size - MPA_CRC_SIZE, MPA_CRC_SIZE)))
		die("the CRC is wrong");
}

u64 native_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* ns for @n FPDUs */
static u64 batch(u32 n)
{
	u64 start = native_now();

	while (n--) {
		job->run();
		asm volatile("" : : "r"(result) : "memory");
	}
	return native_now() - start;
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

u64 native_median(u64 *ns, u32 nr)
{
	qsort(ns, nr, sizeof(*ns), compare);
	return ns[nr / 2];
}

/* A row for tests/bench/bench.sh */
void native_row(const char *what, u32 octets, const char *layout, int run,
		double ns)
{
	printf("row=native/%s/%u/%s run=%d kind=native ", what, octets, layout,
	       run);
	printf("what=%s size=%u layout=%s ns=%.1f\n", what, octets, layout, ns);
}

/* ns per FPDU */
static double measure(void)
{
	u64 ns[REPETITIONS];
	u32 n = 1;
	u32 i;

	while (batch(n) < BATCH_NS)
		n *= 2;
	for (i = 0; i < WARM_UP; i++)
		batch(n);
	for (i = 0; i < REPETITIONS; i++)
		ns[i] = batch(n);
	return (double)native_median(ns, REPETITIONS) / n;
}

static u32 count_passes(void)
{
	passes = 0;
	job->run();
	return passes;
}

static bool run_job(u32 octets, int run)
{
	double ns;
	u32 n;

	prepare(octets);
	n = count_passes();
	ns = measure();
	native_row(job->what, size, job->layout, run, ns);
	fprintf(stderr, "%-14s %5u %-11s %8.1f %7u\n", job->what, size,
		job->layout, ns, n);
	if (job->passes && n != job->passes) {
		fprintf(stderr, "native: %u passes of the CRC, not %u\n", n,
			job->passes);
		return false;
	}
	return true;
}

/* To the last processor: other tasks are less likely to run there */
static void pin(void)
{
	cpu_set_t set;
	int cpu = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu--;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int main(void)
{
	static const u32 sizes[] = { 72, 1448, 8948 };
	bool good = true;
	int run, i;
	u32 k;

	pin();
	for (i = 0; i < (int)ROOM; i++)
		ulpdu[i] = i * 7 ^ i >> 8;
	for (run = 1; run <= 2; run++) {
		fprintf(stderr, "%-14s %5s %-11s %8s %7s\n", "ns of", "size",
			"layout", "ns", "passes");
		for (i = 0; i < (int)(sizeof(jobs) / sizeof(*jobs)); i++) {
			job = &jobs[i];
			for (k = 0; k < 3; k++)
				good &= run_job(sizes[k], run);
		}
		loopback_run(run);
	}
	return !good;
}
