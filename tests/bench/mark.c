// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* usage: mark begin|end: delimits the code that tests/bench/bench-profile.py counts */
#include <string.h>
#include "mark.h"

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "begin"))
		MARK(MARK_BEGIN);
	else if (argc == 2 && !strcmp(argv[1], "end"))
		MARK(MARK_END);
	else
		return 2;
	return 0;
}
