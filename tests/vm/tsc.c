// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Print the frequency of this machine's time stamp counter in kHz. QEMU without
 * KVM shows the guest this very counter, and a guest that is short of processor
 * time cannot find out for itself.
 */

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct point {
	uint64_t ticks;
	uint64_t ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Both clocks at one time: of many readings the one that took least. */
static struct point read_both(void)
{
	uint64_t least = UINT64_MAX;
	struct point best = { 0 };
	int i;

	for (i = 0; i < 1000; i++) {
		uint64_t before = __rdtsc();
		uint64_t ns = now_ns();
		uint64_t after = __rdtsc();

		if (after - before >= least)
			continue;
		least = after - before;
		best.ticks = before + least / 2;
		best.ns = ns;
	}
	return best;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 300000000 };
	struct point a, b;

	a = read_both();
	nanosleep(&pause, NULL);
	b = read_both();
	printf("%.0f\n", (b.ticks - a.ticks) * 1e6 / (b.ns - a.ns));
	return 0;
}
