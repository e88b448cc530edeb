#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The second guest of a pair: does what at_b() of cases/lib.sh asks for, a line each: PART
# COMMAND [ARGUMENT...]
TESTS=/root/test CASES=/root/ulps
. $TESTS/lib.sh
. $CASES/lib.sh
test_case() { :; }

# answer: stdin and stdout are the connection
answer() {
	local line

	read -r line
	[[ $line != *' exit' ]] || exit 9
	(
		# That of the case again: a later one may define the same names
		for part in "$CASES"/*.sh "$CASES/${line%% *}.sh"; do
			[[ $part == */lib.sh || ! -e $part ]] || . "$part"
		done
		eval "${line#* }"
	) 2>&1
	echo "status $?"
}

if [[ ${1-} == answer ]]; then
	answer
else
	begin_all
	# Not -ll: that ignores SIGCHLD, and so does what it starts, and "timeout" then fails
	until nc -l -p 9100 -e /root/b.sh answer; (($? == 9)); do sleep 0.1; done &
	meet 0 || exit
	wait
fi
