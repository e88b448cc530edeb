# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# mpa_ping connects to programs on siw: startup frames that the device does not send.

STREAM_PD=01$(zeroes 39)	# rstream refuses private data that begin otherwise

# pings REV CRC PROGRAM OPTION...: to PROGRAM on siw. R is the result, STATUS the status;
# what the capture has to hold
pings() {
	devices none stock
	both "net.mpa.crc=$2"
	REV=$1 PORT=7471
	record
	# shellcheck disable=SC2086
	serves 7471 $3
	STATUS=0
	ping_to "$B4" "rev=$1" "${@:4}" || STATUS=$?
	show_result
}

# echoed REV CRC [OPTION...]: rdma_server answers a Send of 16 octets, all zero, by the
# same one.
echoed() {
	devices none stock
	seg_untagged 4143 0 1 0 "$(zeroes 16)" | xxd -r -p |
		ns a sh -c "cat >$PING/payload"
	pings "$1" "$2" rdma_server payload=1 size=34 "${@:3}"
	((!STATUS)) || { show_theirs; fail "status $STATUS"; }
	expect reason=ok revision="$1" crc="$2" ulpdus_tx=1 ulpdus_rx=1 \
		mismatches=0
	captured_as
	passed rdma_server 2 32
}

# private_data REV: both ways
private_data() {
	pings "$1" 1 "rstream -b $B4 -k 1" "pdatahex=$STREAM_PD" count=0
	record_stop
	expect revision="$1"
	like "${R[peer_pdata]}" "01*" "siw's private data"
	same ${#R[peer_pdata]} 80 "digits of it"
	passed rstream 0 0 "private data both ways"
}

# no_markers REV: which siw does not send
no_markers() {
	pings "$1" 1 "rdma_server" markers=1
	record_stop
	((STATUS)) || fail "accepted"
	expect reason=rejected ulpdus_tx=0 ulpdus_rx=0
	MARKERS=1
	passed rdma_server 0 0 rejected
}

for crc in 1 0; do
	test_case "ping.rev1.crc$crc" "Rev 1" echoed 1 $crc
	test_case "ping.rev2.crc$crc" "Rev 2 without an RTR" echoed 2 $crc
done
for rtr in write read; do
	test_case "ping.rtr.$rtr" "RTR by RDMA ${rtr^}" echoed 2 1 "rtr=$rtr"
done
for rev in 1 2; do
	test_case "ping.private.rev$rev" "private data" private_data $rev
done
for rev in 0 1 2; do
	test_case "ping.markers.rev$rev" "markers asked for" no_markers $rev
done
