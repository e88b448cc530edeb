// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Uninitialised memory: fill free memory with a pattern, and search for it. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "many.h"

static size_t pattern(uint8_t *to, size_t max)
{
	const char *hex = option("hex") ?: "";
	size_t len = 0;

	for (; sscanf(hex, "%2hhx", to + len) == 1 && len < max - 1; hex += 2)
		len++;
	if (!len)
		misused("hex=OCTETS");
	return len;
}

/* The kernel gets the pages back as they are. */
int dirty_main(void)
{
	size_t at, len, size = number("mb", 64) << 20;
	uint8_t octets[64], *memory;

	len = pattern(octets, sizeof(octets));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		wrong("no memory");
	for (at = 0; at + len <= size; at += len)
		memcpy(memory + at, octets, len);
	return 0;
}

int search_main(void)
{
	const char *name = option("file") ?: "";
	size_t len, keep = 0, n, found = 0, total = 0;
	static uint8_t buf[1 << 20];
	FILE *file = fopen(name, "rb");
	uint8_t octets[64], *at;

	len = pattern(octets, sizeof(octets));
	if (!file)
		misused("cannot read %s", name);
	while ((n = fread(buf + keep, 1, sizeof(buf) - keep, file)) > 0) {
		total += n;
		n += keep;
		for (at = buf; (at = memmem(at, buf + n - at, octets, len));
		     at++)
			found++;
		keep = n < len - 1 ? n : len - 1;
		memmove(buf, buf + n - keep, keep);
	}
	say("octets=%zu found=%zu", total, found);
	return 0;
}
