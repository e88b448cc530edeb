#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Run the cases in the guest; the result is TAP. Each leaves a line of the table
# in out/table, a capture and a log.
#
# usage: guest.sh [PATTERN...]

HERE=$(cd "$(dirname "$0")" && pwd)
TESTS=/root/test
. "$TESTS/lib.sh"
. "$HERE/lib.sh"

LIMIT=240		# seconds for a case
names=() texts=() calls=()

# test_case NAME TEXT FUNCTION [ARGUMENT...]
test_case() {
	names+=("$1")
	texts+=("$2")
	shift 2
	calls+=("$(printf '%q ' "$@")")
}

for part in "$HERE"/*.sh; do
	[[ $part == */@(guest|lib).sh ]] || . "$part"
done

diagnose() {
	sed 's/^/# /' "$log"
	dmesg | tail -n 5 | sed 's/^/# kernel: /'
}

# Nothing may be left that the next case would meet.
after_failure() {
	local port

	for port in 7174 7471; do
		for side in a b; do
			OURS=$side rdmap_do stop "port=$port"
		done
	done
	without_siw >/dev/null
	links_down
}

table_line() {
	[[ -s $STATE/row ]] || return 0
	echo "$CASE"$'\t'"$(<"$STATE/row")" >>"$OUT/table"
}

# run_case INDEX
run_case() {
	local pid timer ended status

	CASE=${names[$1]}
	rm -f "$STATE/row"
	(eval "${calls[$1]}") >"$log" 2>&1 </dev/null &
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
	cp "$log" "$OUT/$CASE.log"
	if ((!status)); then
		echo "ok interop.$CASE ${texts[$1]}"
		table_line
		return
	fi
	diagnose
	echo "not ok interop.$CASE ${texts[$1]}"
	failed=$((failed + 1))
	after_failure
}

wanted() {
	local pattern

	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ ${names[$1]} == $pattern ]] && return
	done
	return 1
}

patterns=("$@")
((${#patterns[@]})) || patterns=('*')
mkdir -p "$OUT"
modprobe -a mpa mpa_ping mpa_rdmap ||
	{ echo "not ok interop.modules no modules of ours"; exit 1; }
dmesg -n 1
log=$STATE/log failed=0
set -m
for index in "${!names[@]}"; do
	wanted "$index" || continue
	begun=$EPOCHREALTIME
	run_case "$index"
	took=$((${EPOCHREALTIME/./} - ${begun/./}))
	echo "${names[$index]}: $((took / 1000)) ms" >&2
done
without_siw
links_down
((!failed))
