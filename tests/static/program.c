// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A defect for both analyzers of programs, as planted.c has for the others. */

int planted_null(const int *nowhere)
{
	if (nowhere)
		return 1;
	return *nowhere;
}
