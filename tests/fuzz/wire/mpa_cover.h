/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared by mpa_cover.ko and the fuzzer, by mmap() of debugfs' mpa_cover. */
#ifndef MPA_COVER_H
#define MPA_COVER_H

#define COVER_PCS	(1u << 18)	/* more than the module's text */
#define COVER_EDGES	(1u << 16)
#define COVER_MAP	(COVER_PCS + COVER_EDGES)
#define COVER_SLOTS	64
#define COVER_TEXT	1000

/* current connection of a worker of the fuzzer */
struct cover_slot {
	/* grows from seed to seed, over all slots; 0: nothing */
	unsigned long	number;
	char		text[COVER_TEXT];	/* the seed */
};

/* coverage */
struct cover {
	/*
	 * 1 for each place in the code that was reached, by the low bits of its
	 * address, then for each pair of consecutive places, hashed
	 */
	unsigned char		map[COVER_MAP];
	/* grows whenever an octet of @map is set */
	unsigned int		fresh;
	/* printed when the kernel panics */
	struct cover_slot	slots[COVER_SLOTS];
};

#endif
