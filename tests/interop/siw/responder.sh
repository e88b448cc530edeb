# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# siw listens, with the stock programs; we connect.

# theirs_listen PORT PROGRAM...: with siw as it is
theirs_listen() {
	local port=$1

	shift
	record
	theirs "$@"
	until_listening "$port"
}

# good REV CRC: expected result of each successful run
good() {
	expect status=0 reason=ok mismatches=0 revision="$1" crc="$2" \
		markers_tx=0 markers_rx=0 mpa_error=0 terminate_tx=none \
		terminate_rx=none
}

# our_row PROGRAM ROLE [RESULT]: and the expected contents of the capture
our_row() {
	if [[ $2 == responder ]]; then
		want "${R[ulpdus_tx]}+${R[ulpdus_rx]}"
	else
		want "${R[ulpdus_rx]}+${R[ulpdus_tx]}"
	fi
	row "$1" "$2" "${R[revision]}" "${R[crc]}" 0 \
		$((R[messages_tx] + R[messages_rx] + R[writes_tx] + \
		R[writes_rx] + R[reads_tx] + R[reads_rx])) \
		$((R[bytes_tx] + R[bytes_rx])) "${3:-ok}"
}

# to_rdma_server REV CRC
to_rdma_server() {
	ends stock b
	crc "$2"
	theirs_listen 7471 rdma_server
	late_reply
	rdmap port=7471 app=rdma_client rev="$1" timeout=60 || fail "rdma_client"
	theirs_good
	record_stop
	good "$1" "$2"
	expect messages_tx=1 messages_rx=1 bytes_tx=16 bytes_rx=16
	our_row rdma_server responder
}

# to_rping CRC SIZE COUNT [OPTION...]. The status of siw's server is of no use; check
# that it has read and written everything.
to_rping() {
	local crc=$1 size=$2 count=$3 KEPT=$KEPT

	shift 3
	((size < 10000)) || KEPT=$FEW
	ends stock b
	crc "$crc"
	theirs_listen 7174 rping -s -a "$B4" -S "$size"
	late_reply
	rdmap port=7174 app=rping rev=2 size="$size" count="$count" \
		timeout=180 "$@" || { show_theirs; fail "rping"; }
	theirs_ended
	record_stop
	good 2 "$crc"
	expect iterations="$count" reads_rx="$count" writes_rx="$count"
	our_row "rping -s" responder
}

# siw tells its consumer that a Rev 1 Initiator has an IRD of 0, and that sets
# its own ORD to it: the RDMA Read of rping is never sent.
to_rping_rev1() {
	ends stock b
	crc 1
	theirs_listen 7174 rping -s -a "$B4"
	late_reply
	rdmap port=7174 app=rping rev=1 timeout=60 && fail "siw can, now: say so"
	theirs_ended
	record_stop
	expect revision=1 crc=1 messages_tx=1 reads_rx=0 ulpdus_rx=0
	grep -q '^post send error' "$STATE/theirs" || { show_theirs; fail "why?"; }
	our_row "rping -s" responder "siw cannot: no RDMA Read with Rev 1"
}

# to_ucmatose REV CRC SIZE COUNT. Without an RTR they speak first.
to_ucmatose() {
	ends stock b
	crc "$2"
	theirs_listen 7471 ucmatose -b "$B4" -S "$3" -C "$4"
	# With Rev 1 our end waits
	(($1 == 1)) || late_reply
	rdmap port=7471 app=ucmatose rev="$1" size="$3" count="$4" timeout=60 ||
		{ show_theirs; fail "ucmatose"; }
	theirs_good
	record_stop
	good "$1" "$2"
	expect messages_tx="$4" messages_rx="$4" bytes_tx=$(($3 * $4)) \
		bytes_rx=$(($3 * $4))
	our_row "ucmatose" responder
}

# to_rping_rtr RTR
to_rping_rtr() {
	to_rping 1 100 10 rtr="$1"
	expect rtr="$1"
}

# rstream refuses private data that do not begin as its own do
STREAM_PD=01$(zeroes 39)

# to_private REV: rstream replies with its own private data. It is no echo server, and
# ends the connection; without an RTR, see "never" in faults.sh.
to_private() {
	local options=(rev="$1")

	[[ $1 != 2 ]] || options+=(rtr=none)
	ends stock b
	crc 1
	theirs_listen 7471 rstream -b "$B4" -k 1
	late_reply
	rdmap port=7471 app=echo "${options[@]}" pdatahex="$STREAM_PD" timeout=2
	record_stop
	expect revision="$1" crc=1
	like "${R[peer_pdata]}" "01*" "their private data"
	same ${#R[peer_pdata]} 80 "digits of it"
	row rstream responder "$1" 1 0 0 0 "private data both ways"
}

# to_markers REV: siw refuses to send markers, and our consumer reports that
to_markers() {
	ends stock b
	crc 1
	theirs_listen 7471 ucmatose -b "$B4"
	rdmap port=7471 app=ucmatose rev="$1" markers=1 && fail "accepted"
	record_stop
	expect reason=rejected status=-111 ulpdus_tx=0 ulpdus_rx=0
	row ucmatose responder "$1" 1 1 0 0 "rejected"
}

for rev in 1 2; do
	for crc in 1 0; do
		test_case "to.rdma_server.rev$rev.crc$crc" \
			"Rev $rev to rdma_server, C=$crc" \
			to_rdma_server $rev $crc
		test_case "to.ucmatose.rev$rev.crc$crc" \
			"Rev $rev to ucmatose, 1000 messages of 5000 octets, C=$crc" \
			to_ucmatose $rev $crc 5000 1000
	done
done
for size in $SIZES; do
	test_case "to.ucmatose.size$size" \
		"Rev 2 to ucmatose, 100 messages of $size octets" \
		to_ucmatose 2 1 "$size" 100
done
for crc in 1 0; do
	test_case "to.rping.crc$crc" \
		"RDMA Read and Write by rping, 1000 times 64 KB, C=$crc" \
		to_rping $crc 65535 1000
done
test_case to.rping.small "RDMA Read and Write by rping, 1000 times 100 octets" \
	to_rping 1 100 1000
for rtr in write read; do
	test_case "to.rping.rtr.$rtr" "RTR by zero-length RDMA ${rtr^}" \
		to_rping_rtr $rtr
done
for rev in 1 2; do
	test_case "to.private.rev$rev" "Rev $rev to rstream, with private data" \
		to_private $rev
done
for rev in 0 1 2; do
	test_case "to.markers.rev$rev" "Rev $rev with markers, which siw rejects" \
		to_markers $rev
done
test_case to.rping.rev1 "Rev 1 to rping, which cannot" to_rping_rev1
