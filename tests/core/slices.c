// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Exhaustive tests use all processors: one process for each slice. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "kunit/mpa_ref.h"
#include "slices.h"

bool quick;
u8 ulpdu[MPA_ULPDU_MAX];

/* usage: [-q] [-j JOBS]; returns main()'s status. */
int in_slices(int argc, char **argv, const char *good,
	      int (*slice)(u32 slice, u32 slices))
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

	fflush(stdout);
	for (i = 0; i < jobs; i++) {
		child = fork();
		if (!child)
			exit(slice(i, jobs));
		if (child < 0)
			status = 1;
	}
	while (wait(&child) > 0)
		if (child)
			status = 1;
	printf("%s: %s\n", program_invocation_short_name,
	       status ? "FAILED" : good);
	return status;
}
