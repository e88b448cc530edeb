// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Common code of the targets. With FUZZ_SAY they print their results. */
#include <stdarg.h>
#include "fuzz.h"
#include "mpa_ref.h"

unsigned long fuzz_count[FUZZ_COUNTERS];
u8 fuzz_pool[FUZZ_POOL];
static bool saying;

u32 fuzz_u8(struct fuzz_input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

u32 fuzz_u16(struct fuzz_input *in)
{
	u32 high = fuzz_u8(in);

	return high << 8 | fuzz_u8(in);
}

/* Below @n, which is not 0; of one octet if that will do. */
u32 fuzz_below(struct fuzz_input *in, u32 n)
{
	return (n <= 256 ? fuzz_u8(in) : fuzz_u16(in)) % n;
}

/* Where a stream is: at its beginning, near 2^32, or far. */
u64 fuzz_pos(struct fuzz_input *in)
{
	u32 kind = fuzz_u8(in);
	u64 pos = 4 * (u64)fuzz_u8(in);

	switch (kind % 4) {
	case 0:
		return pos;
	case 1:
		return (1ULL << 32) - 2048 + 4 * pos;
	case 2:
		return (1ULL << 32) - 512 + pos;
	default:
		return ((u64)kind << 40) + pos;
	}
}

/* A separate allocation, so that the sanitizer sees accesses past its end */
void *fuzz_copy(const void *from, size_t n)
{
	void *to = malloc(n);

	memcpy(to, from, n);
	return to;
}

const char *fuzz_reason(enum mpa_reason reason)
{
	static const char * const names[] = {
		[MPA_REASON_NONE]	= "good",
		[MPA_REASON_CRC]	= "crc",
		[MPA_REASON_MARKER]	= "marker",
		[MPA_REASON_LENGTH]	= "length",
		[MPA_REASON_KEY]	= "key",
		[MPA_REASON_ROLE]	= "role",
		[MPA_REASON_REVISION]	= "revision",
		[MPA_REASON_PD_LENGTH]	= "pd-length",
		[MPA_REASON_SHORT]	= "short",
		[MPA_REASON_EARLY]	= "early",
		[MPA_REASON_TRUNCATED]	= "truncated",
		[MPA_REASON_ENHANCED]	= "enhanced",
		[MPA_REASON_IRD]	= "ird",
		[MPA_REASON_RTR]	= "rtr",
	};

	return names[reason] ?: "other";
}

void fuzz_say(const char *fmt, ...)
{
	va_list args;

	if (!saying)
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static void tell_counts(void)
{
	static const char * const names[FUZZ_COUNTERS] = {
		"streams", "FPDUs", "exchanges", "broken", "ooo",
	};
	int i;

	for (i = 0; i < FUZZ_COUNTERS; i++)
		if (fuzz_count[i])
			fprintf(stderr, "counted %lu %s\n", fuzz_count[i],
				names[i]);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	u32 seed = 5044;
	u32 i;

	for (i = 0; i < FUZZ_POOL; i++)
		fuzz_pool[i] = mpa_ref_random(&seed);
	saying = getenv("FUZZ_SAY");
	atexit(tell_counts);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { .p = data, .end = data + size };

	/* libFuzzer's first input is empty. */
	if (size)
		fuzz_one(&in);
	return 0;
}
