// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A defect for each checker of tests/static/lint.sh, to see that it finds it. */

#include <linux/module.h>
#include <linux/slab.h>

int planted_index(int i);
int planted_null(const int *nowhere);
void *planted_zeroes(size_t len);

/* clang: the value of a comparison is known */
int planted_index(int i)
{
	u8 octet = i;

	return octet == 256;
}

/* clang-tidy, gcc, cppcheck */
int planted_null(const int *nowhere)
{
	if (nowhere)
		return 1;
	return *nowhere;
}

/* coccicheck: kzalloc() */
void *planted_zeroes(size_t len)
{
	void *zeroes;

	zeroes = kmalloc(len, GFP_KERNEL);
	if (!zeroes)
		return NULL;
	memset(zeroes, 0, len);
	return zeroes;
}

MODULE_DESCRIPTION("Defects to be found");
MODULE_LICENSE("Dual BSD/GPL");
