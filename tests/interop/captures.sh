#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2154
# Capture mpa_ping with all combinations of terms, for decode.sh. This runs in a
# guest of tests/vm, with tests/net/socket in /root/test:
#
#	tests/vm/run --file tests/net/socket:root/test \
#		--get /root/captures:build/captures -- tests/interop/captures.sh
#	tests/interop/decode.sh build/captures/*.pcap
#
# Another script of the same guest may call it as well; it leaves only
# /root/captures: NAME.pcap, and NAME.want with the terms that mpa_ping reports and
# tests/interop/decode.sh has to find, a line for each connection.
set -euo pipefail

TESTS=/root/test
. "$TESTS/lib.sh"
set +e			# lib.sh does not count on it, but calls fail()

OUT=/root/captures

connect() {
	network routed 1500
	no_probes
	set_sysctl a "net.mpa.crc=$1"
	set_sysctl b "net.mpa.crc=$1"
}

# mpa_ping's report of a connection, in the words of decode.sh. It does not count
# an RTR and, if that is a Read Request, the Response.
want() {
	local rtr=0 answer=0

	[[ ${R[rtr]} == none ]] || rtr=1
	[[ ${R[rtr]} != read ]] || answer=1
	echo "rev=${R[revision]} crc=${R[crc]}" \
		"markers=${R[markers_tx]}+${R[markers_rx]}" \
		"fpdus=$((R[ulpdus_tx] + rtr))+$((R[ulpdus_rx] + answer)) $*"
}

# capture NAME CRC DECODER SERVER CLIENT: pings with the options of PINGS, a line for
# each, and those of CLIENT, to a server with those of SERVER. DECODER is tshark where
# that has to agree with the reference.
capture() {
	local name=$1 crc=$2 decoder=$3 options pings

	mapfile -t pings <<<"$PINGS"
	echo "capture $name"
	connect "$crc"
	# shellcheck disable=SC2086
	serve mode=echo $4
	capture_start r ra capture
	for options in "${pings[@]}"; do
		# shellcheck disable=SC2086
		ping_ok "$B4" verify=1 timeout=60 $options $5
		want "decoder=$decoder" >>"$OUT/$name.want"
	done
	capture_stop capture
	stop_serving
	mv "$STATE/capture.pcap" "$OUT/$name.pcap"
}

# An FPDU to a segment. Of those of one size, with markers, the 127th is the
# first that could end on a marker's position.
single() {
	local PINGS='size=1 count=100 depth=1
size=600 count=100 depth=1
size=mulpdu count=100 depth=1'

	capture "single-$1" "${@:2}"
}

# Several to a segment, and one in several segments
batches() {
	local PINGS='size=42 count=300 batch=100
size=mulpdu count=60 batch=20
size=9000 count=20 batch=10'

	capture "batch-$1" "${@:2}"
}

lossy() {
	local device

	connect 1
	for device in ra rb; do
		ns r tc qdisc replace dev $device root netem loss 2% limit 10000
	done
	batches "$@"
	links_down
}

# enhanced NAME DECODER OPTION...: IRD and ORD out of those that are asked for,
# and each kind of RTR
enhanced() {
	local name=$1 decoder=$2 PINGS='count=20 depth=1 ird=9 ord=3
count=20 depth=1 rtr=send
count=20 depth=1 rtr=write
count=20 depth=1 rtr=read'

	capture "$name" 1 "$decoder" "rev=2 ird=5 ord=7 $3" "rev=2 $4"
	sed -i '1s/$/ ird=9+3 ord=3+7 rtr=0+0/; 2s/$/ rtr=AB+AB/
		3s/$/ rtr=AC+AC/; 4s/$/ rtr=AD+AD/' "$OUT/$name.want"
}

# all_terms NAME OPTIONS: markers in none, both and one direction, CRC or not
all_terms() {
	local name=$1 crc

	for crc in 1 0; do
		single "$name-none-crc$crc" $crc tshark "$2" "$2"
		single "$name-both-crc$crc" $crc tshark \
			"markers=1 $2" "markers=1 $2"
		single "$name-there-crc$crc" $crc reference "markers=1 $2" "$2"
		single "$name-back-crc$crc" $crc reference "$2" "markers=1 $2"
		batches "$name-none-crc$crc" $crc tshark "$2" "$2"
		batches "$name-both-crc$crc" $crc reference \
			"markers=1 $2" "markers=1 $2"
		batches "$name-there-crc$crc" $crc reference \
			"markers=1 $2" "$2"
	done
}

modprobe mpa_ping
rm -rf $OUT
mkdir -p $OUT
all_terms rev1 rev=1
single rev0 1 reference rev=0 rev=0
batches rev0 1 reference rev=0 rev=0
single rev2 1 tshark "rev=2 markers=1" "rev=2 markers=1"
batches rev2 1 tshark rev=2 rev=2
enhanced rev2-rtr-none tshark "" ""
enhanced rev2-rtr-both reference markers=1 markers=1
enhanced rev2-rtr-there reference markers=1 ""
single immediate 1 reference start=immediate start=immediate
batches immediate 1 reference start=immediate start=immediate
lossy loss-none 1 tshark "" ""
lossy loss-both 1 reference markers=1 markers=1
links_down
