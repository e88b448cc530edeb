#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The part of tests/bench/bench-profile.py that runs in the guest, for rows that are not
# the benchmark's: between the marks mpa_ping sends some octets, then six times
# as many.
#
# usage: profile-guest.sh mpa-ping/SIZE/NETWORK/MARKERS
set -euo pipefail

TESTS=/root/test
. $TESTS/lib.sh

OUT=/root/out
OCTETS=4000000

# The time, in which each instruction takes 1 ns, less that of waiting
busy() {
	awk '/^now at/ { now = $3 } /idle_sleeptime/ { idle = $3 }
		END { printf "%.0f\n", now - idle }' /proc/timer_list
}

# send SIZE OCTETS: in ULPDUs that fill segments, or in ULPDUs of SIZE octets, which
# MPA packs if they are small. R is the receiver's result.
send() {
	local how=(source=1 size=1000 "count=$(($2 / 1000))")

	[[ $1 == mulpdu ]] ||
		how=("size=$1" "count=$(($2 / $1))" batch=64 depth=4096)
	ping_ok "$B4" mode=sink "${how[@]}" timeout=3000 || fail "ping"
	served
	expect status=0 reason=ok
}

# measure SIZE OCTETS: a line "octets= fpdus= insns="
measure() {
	local before fpdus

	fpdus=$(counter a MpaTxUlpdus)
	before=$(busy)
	/root/mark begin
	send "$1" "$2"
	/root/mark end
	echo "octets=${R[bytes_rx]}" \
		"insns=$(($(busy) - before))" \
		"fpdus=$(($(counter a MpaTxUlpdus) - fpdus))"
}

main() {
	local size network markers octets

	IFS=/ read -r _ size network markers <<<"$1"
	mkdir -p $OUT
	modprobe -a mpa mpa_ping
	network "${network:-pair}" 1500
	for octets in 1000000 $OCTETS $((OCTETS * 6)); do
		serve mode=sink "markers=${markers:-0}" place=1
		measure "${size:-mulpdu}" "$octets"
		stop_serving
	done >$OUT/measured
	cat /proc/kallsyms >$OUT/kallsyms
	links_down
}

main "$@"
