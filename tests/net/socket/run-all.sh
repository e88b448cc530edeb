#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Run the socket tests in the guest; the result is TAP.
#
# usage: run-all.sh [NAME...]
#
# Without names all run. A name may be a pattern of the shell, ONLY=FILE takes
# names from a file. SHARD=i/n runs each n-th of them. With CASES=DIR the cases are
# those in DIR, whose lib.sh is read after the one here. LONG= is not empty in the long
# form, and for a single case.

TESTS=$(cd "$(dirname "$0")" && pwd)
. "$TESTS/lib.sh"

LIMIT=$((240 * SLOW))	# seconds for a case
[[ -z ${LONG-} ]] || LIMIT=$((4 * LIMIT))
CASES=${CASES:-$TESTS}
names=() ids=() calls=() parts=()

# What a lib.sh may replace

begin_all() { modprobe -a mpa mpa_ping; }
end_all() { links_down; }

# end_case STATUS: after each case, whose output is in $log
end_case() {
	stop_serving
	[[ -s $STATE/network ]] || links_down
	((!$1)) || spoil
}

[[ $CASES == "$TESTS" ]] || . "$CASES/lib.sh"

# test_case NAME IDS FUNCTION [ARGUMENT...]
test_case() {
	names+=("$1")
	ids+=("$2")
	parts+=("$part")
	shift 2
	calls+=("$(printf '%q ' "$@")")
}

for part in "$CASES"/*.sh; do
	[[ $part == */@(lib|run-all).sh ]] || . "$part" ||
		{ echo "Bail out! $part"; exit 1; }
done

wanted() {
	local pattern

	((${#patterns[@]})) || return 0
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 == $pattern ]] && return 0
	done
	return 1
}

diagnose() {
	sed 's/^/# /' "$log"
	dmesg | tail -n 5 | sed 's/^/# kernel: /'
}

# stuck GROUP: what its processes wait for, and the sockets of all namespaces
stuck() {
	local process group name

	for process in /proc/[0-9]*; do
		read -r _ _ group _ < <(sed 's/.*) //' "$process/stat")
		((group == $1)) || continue
		tr '\0' ' ' <"$process/cmdline"
		printf '\n%s\n' "$(cat "$process"/task/*/stack)"
	done
	for name in $(ip netns list | cut -d' ' -f1); do
		echo "sockets in $name:"
		ip netns exec "$name" ss -Htainmo
	done
}

# run_case INDEX
run_case() {
	local CASE=${names[$1]} pid timer ended status
	local what="$CASE ${ids[$1]}"

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
		stuck "$pid" >>"$log" 2>&1
		status=1
	fi
	{ kill -9 -- "-$pid" "-$timer"; wait "$pid" "$timer"; } 2>/dev/null
	case $status in
	0) echo "ok - $what" ;;
	77)
		echo "ok - $what # SKIP $(tail -n 1 "$log")"
		status=0
		;;
	*)
		diagnose
		echo "not ok - $what"
		failed=$((failed + 1))
		;;
	esac
	end_case $status
}

patterns=("$@")
[[ -z ${ONLY-} ]] || mapfile -t patterns < <(grep -v '^#' "$ONLY")
todo=() matched=0
for index in "${!names[@]}"; do
	wanted "${names[$index]}" || continue
	matched=$((matched + 1))
	[[ -z ${SHARD-} ]] ||
		((matched % ${SHARD#*/} == ${SHARD%/*} % ${SHARD#*/})) || continue
	todo+=("$index")
done
echo "1..${#todo[@]}"

begin_all || { echo "Bail out! no modules"; exit 1; }
log=$STATE/log failed=0
set -m
for index in "${todo[@]}"; do
	begun=$EPOCHREALTIME
	run_case "$index"
	took=$((${EPOCHREALTIME/./} - ${begun/./}))
	echo "${names[$index]}: $((took / 1000)) ms" >&2
done
end_all
((failed == 0))
