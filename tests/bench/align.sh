#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The part of bench.sh that runs in the guest and judges the alignment of FPDUs to
# TCP segments: each segment that a sender put on the wire, including retransmissions.
# Senders are captured on their own link, with all offloads off: the stack cuts where
# TCP said, before the router loses one packet in a hundred.
#
# usage: align.sh [full|quick] [ROW...]
#
# A line for each row goes to /root/out/rows.
set -euo pipefail

TESTS=/root/test
# shellcheck disable=SC1091
. "$TESTS/lib.sh"

OUT=/root/out
DELAY=1ms	# one way, where there is loss

# NAME TRAFFIC LOSS SLOW MTU ADDRESS MARKERS OCTETS [LENGTH]; octets of each
# direction, loss in percent. SLOW is the size of a slow receiver's buffer, or 0: as it
# is. With LENGTH messages are ULPDUs of so many octets, not sources.
ROWS="
none/oneway		oneway 0 -       1500 4 0 22000000
none/twoway		twoway 0 -       1500 4 0 12000000
loss1/oneway		oneway 1 -       1500 4 0 22000000
loss1/twoway		twoway 1 -       1500 4 0 18000000
slow/oneway		oneway 0 0       1500 4 0 22000000
slow-small/oneway	oneway 0 262144  1500 4 0 22000000
slow/twoway		twoway 0 262144  1500 4 0 12000000
slow-loss1/oneway	oneway 1 65536   1500 4 0 22000000
none/oneway/markers	oneway 0 -       1500 4 1 22000000
loss1/twoway/markers	twoway 1 -       1500 4 1 18000000
slow/oneway/markers	oneway 0 262144  1500 4 1 22000000
none/oneway/9000	oneway 0 -       9000 4 0 40000000
loss1/oneway/9000	oneway 1 -       9000 4 0 40000000
loss1/twoway/9000	twoway 1 -       9000 4 0 30000000
slow/oneway/9000	oneway 0 1048576 9000 4 0 40000000
loss1/twoway/ipv6	twoway 1 -       1500 6 0 18000000
loss1/oneway/1408	oneway 1 -       1500 4 0 22528000 1408
slow/oneway/1408	oneway 0 0       1500 4 0 22528000 1408
loss1/oneway/9000/4096	oneway 1 -       9000 4 0 40960000 4096
"
QUICK="none/oneway loss1/oneway loss1/twoway slow/oneway"

# capture SPACE DEVICE: capture at that end. tcpdump runs at low priority, so that it
# does not take the processor from the connection.
capture() {
	rm -f "$STATE/$2.err"
	command ns "$1" tcpdump -i "$2" -s 9100 -B 65536 \
		-w "$STATE/$2.pcap" tcp 2>"$STATE/$2.err" &
	tcpdumps+=($!)
	until grep -q '^tcpdump: listening' "$STATE/$2.err" 2>/dev/null; do
		sleep 0.1
	done
	renice -n 19 "$!" >/dev/null
}

captures_end() {
	local device

	sleep 3
	kill "${tcpdumps[@]}"
	wait "${tcpdumps[@]}" || true
	tcpdumps=()
	for device; do
		grep -q '^0 packets dropped by kernel' "$STATE/$device.err" ||
			fail "tcpdump: $(<"$STATE/$device.err")"
	done
}

# path LOSS: loss in both directions
path() {
	local device

	(($1)) || return 0
	for device in ra rb; do
		ns r tc qdisc replace dev $device root netem delay $DELAY \
			loss "$1%" limit 100000
	done
}

# judge DEVICE ADDRESS: add the segments that ADDRESS sent to $sum
judge() {
	local said pair

	said=$(mpa-peer segments "$STATE/$1.pcap" "$2") || fail "$1: $said"
	for pair in $said; do
		sum[${pair%%=*}]=$((${sum[${pair%%=*}]-0} + ${pair#*=}))
	done
}

# prepare SLOW: sysctls and options of both servers; answers in $server
prepare() {
	local space

	server=("markers=$markers" mode=sink)
	for space in a b; do
		# No metrics of the route from an earlier row
		set_sysctl $space net.ipv4.tcp_no_metrics_save=1
	done
	[[ $1 != - ]] || return 0
	server+=(lazy=1)
	(($1 == 0)) || set_sysctl b "net.ipv4.tcp_rmem=4096 $1 $1"
}

# row NAME TRAFFIC LOSS SLOW MTU ADDRESS MARKERS OCTETS [LENGTH]
row() {
	local name=$1 traffic=$2 loss=$3 slow=$4 mtu=$5 markers=$7
	local octets=$(($8 / part))
	local bulk=(source=1 size=50000 "count=$((octets / 50000))") server=()
	local from=$A4 to=$B4 devices=(va) tcpdumps=() key
	local -A sum=()

	[[ -z ${9-} ]] || bulk=("size=$9" "count=$((octets / $9))")
	prepare "$slow"
	path "$loss"
	[[ $6 != 6 ]] || from=$A6 to=$B6
	[[ $traffic == oneway ]] || server+=("${bulk[@]}")
	serve "${server[@]}"
	capture a va
	[[ $traffic == oneway ]] || { capture b vb; devices+=(vb); }
	ping_ok "$to" "markers=$markers" mode=sink "${bulk[@]}" timeout=3000
	[[ $traffic == oneway ]] || expect "bytes_rx=$octets"
	served
	expect status=0 reason=ok "bytes_rx=$octets"
	captures_end "${devices[@]}"
	stop_serving
	judge va "$from"
	[[ $traffic == oneway ]] || judge vb "$to"
	[[ $slow == - || $loss != 0 ]] || ((sum[tight] * 100 > sum[segments])) ||
		fail "$name: the window was hardly ever full: ${sum[tight]}"
	printf 'row=align/%s run=1 kind=align transport=%s net=veth mtu=%d size=%d traffic=%s loss=%d slow=%d verified=1' \
		"$name" "$( ((markers)) && echo mpa-markers || echo mpa-crc)" \
		"$mtu" "${9:-50000}" "$traffic" "$loss" "$([[ $slow == - ]]; echo $?)"
	for key in segments aligned begin again again_aligned full tight fpdus octets; do
		printf ' %s=%d' "$key" "${sum[$key]}"
	done
	echo
	rm "$STATE"/v[ab].pcap
}

wanted() { [[ $1 && (-z $only || " $only " == *" $1 "*) ]]; }

main() {
	local fields line

	case ${1-} in
	quick) only=$QUICK part=2 ;;
	*) only=${*:2} ;;
	esac
	mkdir -p $OUT
	modprobe -a mpa mpa_ping
	while read -r -a fields; do
		wanted "${fields[0]-}" || continue
		network routed "${fields[4]}"
		spoil
		line=$(row "${fields[@]}") || { echo "$line" >&2; exit 1; }
		echo "$line" >>$OUT/rows
		echo "$line" >&2
	done <<<"$ROWS"
	links_down
}

only='' part=1
main "$@"
