# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# The cases of a part of harden.sh, in the guest. PART has its name.

cases=0 failed=0

# verdict NAME STATUS [WHY]: of a case
verdict() {
	cases=$((cases + 1))
	if (($2 == 0)); then
		echo "ok - $PART.$1"
	else
		failed=$((failed + 1))
		echo "not ok - $PART.$1${3:+: $3}"
	fi
}

# all_judged: after the last case; the part's status
all_judged() {
	echo "1..$cases"
	((failed == 0))
}
