#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Run the socket tests in the guest; the result is TAP.
#
# usage: run-all.sh [NAME...]
#
# Without names all run. A name may be a pattern of the shell, ONLY=FILE takes
# names from a file. SHARD=i/n runs each n-th of them.

TESTS=$(cd "$(dirname "$0")" && pwd)
[[ -e $TESTS/lib.sh ]] || TESTS=$TESTS/test
[[ -e $TESTS/lib.sh ]] || { echo "Bail out! no lib.sh"; exit 1; }
. "$TESTS/lib.sh"

LIMIT=$((120 * SLOW))	# seconds for a case
CASES=${CASES:-$TESTS}
names=() ids=() calls=() parts=()

# test_case NAME IDS FUNCTION [ARGUMENT...]
test_case() {
	names+=("$1")
	ids+=("$2")
	parts+=("$part")
	shift 2
	calls+=("$(printf '%q ' "$@")")
}

for part in "$TESTS"/*.sh; do
	[[ $part == */@(lib|run-all).sh ]] || . "$part"
done

wanted() {
	local name=${names[$1]} pattern

	((${#patterns[@]})) || return 0
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $name == $pattern ]] && return 0
	done
	return 1
}

diagnose() {
	sed 's/^/# /' "$log"
	dmesg | tail -n 5 | sed 's/^/# kernel: /'
}

# run_case INDEX
run_case() {
	local what="${names[$1]} ${ids[$1]}" pid timer ended status

	dmesg -n 1
	rm -f "$STATE/server"
	# Source the file again: a later file may define a function of the same name
	(
		test_case() { :; }
		. "${parts[$1]}" && eval "${calls[$1]}"
	) >"$log" 2>&1 </dev/null &
	pid=$!
	sleep "$LIMIT" &
	timer=$!
	wait -n -p ended "$pid" "$timer"
	status=$?
	if [[ $ended == "$timer" ]]; then
		echo "FAILED: not done in $LIMIT s" >>"$log"
		status=1
	fi
	{ kill -9 -- "-$pid" "-$timer"; wait "$pid" "$timer"; } 2>/dev/null
	stop_serving
	[[ -s $STATE/network ]] || links_down
	case $status in
	0) echo "ok - $what" ;;
	77) echo "ok - $what # SKIP $(tail -n 1 "$log")" ;;
	*)
		diagnose
		echo "not ok - $what"
		failed=$((failed + 1))
		spoil
		;;
	esac
}

patterns=("$@")
[[ -z ${ONLY-} ]] || mapfile -t patterns < <(grep -v '^#' "$ONLY")
todo=() matched=0
for index in "${!names[@]}"; do
	wanted "$index" || continue
	matched=$((matched + 1))
	[[ -z ${SHARD-} ]] ||
		((matched % ${SHARD#*/} == ${SHARD%/*} % ${SHARD#*/})) || continue
	todo+=("$index")
done
echo "1..${#todo[@]}"

modprobe -a mpa mpa_ping || { echo "Bail out! no mpa_ping"; exit 1; }
log=$STATE/log failed=0
set -m
for index in "${todo[@]}"; do
	begun=$EPOCHREALTIME
	run_case "$index"
	took=$((${EPOCHREALTIME/./} - ${begun/./}))
	echo "${names[$index]}: $((took / 1000)) ms" >&2
done
links_down
((failed == 0))
