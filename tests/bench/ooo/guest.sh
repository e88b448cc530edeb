#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The part of ooo.sh that runs in the guest: a connection for each line of
# /root/rows; captures and results go to /root/out.
#
# usage: guest.sh lossy|cost
set -euo pipefail

TESTS=/root/test
. $TESTS/lib.sh

TRACE=/sys/kernel/tracing
OUT=/root/out

# serve_as MODE: the receiver passes ULPDUs in order only, or out of order as
# well; it hears of them by the hook, or has to look
serve_as() {
	local what="ooo=1" hook=1

	[[ $1 != in-order ]] || what="markers=1 place=1"
	[[ $1 != look ]] || hook=0
	set_sysctl b net.mpa.ooo_ack_notify=$hook
	serve mode=sink "$what"
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

trace_on() {
	echo 65536 >$TRACE/buffer_size_kb
	echo tai >$TRACE/trace_clock
	echo 1 >$TRACE/events/mpa/mpa_recv/enable
	echo 1 >$TRACE/events/mpa/mpa_recv_ooo/enable
}

trace_save() {
	grep -qx 'overrun: 0' $TRACE/per_cpu/cpu0/stats || fail "events are lost"
	grep -v '^#' $TRACE/trace >"$1"
}

# Capture the packets that reach the receiver. tcpdump runs at low priority, so that
# it does not take the processor from the connection, and gets packets in batches.
capture() {
	rm -f "$STATE/tcpdump"
	command ns b tcpdump -i vb -s 80 -B 65536 \
		--time-stamp-precision=nano -w "$1" "tcp and src $A4" \
		2>"$STATE/tcpdump" &
	tcpdump=$!
	until grep -qs '^tcpdump: listening' "$STATE/tcpdump"; do
		sleep 0.1
	done
	renice -n 19 "$tcpdump" >/dev/null
}

capture_end() {
	sleep 3
	kill "$tcpdump"
	wait "$tcpdump" || true
	grep -q '^0 packets dropped by kernel' "$STATE/tcpdump" ||
		fail "tcpdump: $(<"$STATE/tcpdump")"
}

# path RATE LOSS DELAY: loss and a slow link on the way to the receiver, the
# delay on both ways
path() {
	local rate=()

	[[ $1 == any ]] || rate=(rate "$1")
	ns r tc qdisc replace dev rb root netem delay "$3ms" loss "$2%" \
		"${rate[@]}" limit 100000
	ns r tc qdisc replace dev ra root netem delay "$3ms" limit 100000
}

# lossy NAME MODE RATE LOSS DELAY SIZE OCTETS
lossy() {
	local key

	network routed 1500
	path "$3" "$4" "$5"
	serve_as "$2"
	echo >$TRACE/trace
	capture "$OUT/$1.pcap"
	send "$6" "$7"
	capture_end
	trace_save "$OUT/$1.trace"
	for key in "${!R[@]}"; do
		echo "$key=${R[$key]}"
	done >"$OUT/$1.result"
	stop_serving
}

# The time, in which each instruction takes 1 ns, less that of waiting
busy() {
	awk '/^now at/ { now = $3 } /idle_sleeptime/ { idle = $3 }
		END { printf "%.0f\n", now - idle }' /proc/timer_list
}

# cost NAME MODE NETWORK SIZE OCTETS: instructions of sending and receiving OCTETS,
# then six times as many; the difference excludes fixed costs. An earlier connection
# takes the costs of the first one.
cost() {
	local octets before

	network "$3" 1500
	for octets in 1000000 "$5" $(($5 * 6)); do
		serve_as "$2"
		before=$(busy)
		send "$4" "$octets"
		echo "$(($(busy) - before)) ${R[bytes_rx]}"
		stop_serving
	done | tail -n 2 >"$OUT/$1.cost"
}

main() {
	local row

	mkdir -p $OUT
	modprobe -a mpa mpa_ping
	[[ $1 != lossy ]] || trace_on
	while read -r -a row; do
		"$1" "${row[@]}"
		echo "${row[*]}" >&2
	done </root/rows
	links_down
}

main "$@"
