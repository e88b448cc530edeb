// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Output of the program. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "say.h"

const char *now_doing;
long now_at = -1;

static void report(const char *prefix, const char *fmt, va_list args)
{
	printf("%s", prefix);
	if (*prefix && now_at >= 0)
		printf("at %ld, ", now_at);
	if (*prefix && now_doing)
		printf("%s: ", now_doing);
	vprintf(fmt, args);
	putchar('\n');
	fflush(stdout);
}

void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report("", fmt, args);
	va_end(args);
}

void give_up(int status, const char *prefix, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	report(prefix, fmt, args);
	va_end(args);
	exit(status);
}
