# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# The server's reaction to FPDUs that a client builds octet by octet

# received MARKERS OCTETS...: connect, start without (0) or with (1) markers towards
# the server, send each piece ("crc:HEX" appends a CRC); R has the server's result
received() {
	local flags=40 steps=() piece

	serve mode=sink "markers=$1"
	(($1)) && flags=c0
	shift
	for piece; do
		case $piece in
		crc:*) steps+=("send:$(mpa-peer crc "${piece#*:}")") ;;
		*:*) steps+=("$piece") ;;
		*) steps+=("send:$piece") ;;
		esac
	done
	client "send:${REQ_KEY}40010000" "data:${REP_KEY}${flags}010000" \
		"${steps[@]}"
	served
}

# accepted ULPDUS MARKERS OCTETS...
accepted() {
	local count=$1

	network pair 1500
	shift
	received "$@"
	expect status=0 reason=ok "ulpdus_rx=$count"
}

# refuses ERROR REASON COUNTER ULPDUS MARKERS OCTETS...
refuses() {
	local error=$1 reason=$2 counter=$3 count=$4 before

	network pair 1500
	before=$(counter b "$counter")
	shift 4
	received "$@"
	expect "mpa_error=$error" "reason=$reason" "ulpdus_rx=$count"
	grown b "$counter" "$before" 1
}

crc_field_ignored() {
	local good

	network pair 1500
	spoil
	set_sysctl b net.mpa.crc=0
	serve mode=echo
	good=${FPDU:0:88}
	client "send:${REQ_KEY}00010000" "data:${REP_KEY}00010000" \
		"send:${good}deadbeef" "data:${good}00000000"
	served
	expect crc=0 ulpdus_rx=1
}

# The same with C = 1 on our side only: the field counts
crc_field_checked() {
	network pair 1500
	spoil
	set_sysctl b net.mpa.crc=0
	serve mode=sink
	client "send:${REQ_KEY}40010000" "data:${REP_KEY}40010000" \
		"send:${FPDU:0:88}deadbeef" end
	served
	expect crc=1 mpa_error=2 reason=crc ulpdus_rx=0
}

# Nothing is passed before the last octet is there
incomplete() {
	local before

	network pair 1500
	serve mode=echo
	before=$(counter b MpaRxUlpdus)
	client "send:${REQ_KEY}40010000" "data:${REP_KEY}40010000" \
		"send:${FPDU:0:94}" quiet:0.5 "send:${FPDU:94}" "data:$FPDU"
	served
	grown b MpaRxUlpdus "$before" 1
}

# A tail, two whole FPDUs and a head come in one segment
mixed_segment() {
	network pair 1500
	serve mode=sink
	client "send:${REQ_KEY}40010000" "data:${REP_KEY}40010000" \
		"send:${FPDU:0:50}" pause:0.2 \
		"send:${FPDU:50}$FPDU$FPDU${FPDU:0:20}" pause:0.2 \
		"send:${FPDU:20}"
	served
	expect status=0 ulpdus_rx=4 bytes_rx=168
}

many() { local n; for ((n = 0; n < $1; n++)); do echo -n "$FPDU"; done; }

BAD_CRC=${FPDU:0:88}00112233
# A ULPDU of 1 octet and a pad that is not zero
PADDED=crc:0001aa5b
LEADING=crc:00000000${FPDU:0:88}
RESERVED=crc:dead0000${FPDU:0:88}
LOW_BITS=crc:00000003${FPDU:0:88}
POINTER=crc:00000008${FPDU:0:88}
# ULPDU 502 ends on a marker position
TO_BOUNDARY=crc:0000000001f6$(zeroes 502)
# ULPDU 504: a marker between pad and CRC
BEFORE_CRC=crc:0000000001f8$(zeroes 504)0000000001fc
NEXT=crc:00000000002a4143$(zeroes 40)

test_case fpdu.plain "TD-02 CR-14 CR-15 CR-18 CR-19" accepted 1 0 "$FPDU"
test_case fpdu.one-octet-segments "RX-10 RX-11 RX-12 RX-13 RX-16" \
	accepted 1 0 "dribble:$FPDU"
test_case fpdu.many "RX-06 RX-15 FR-01" accepted 20 0 "$(many 20)"
test_case fpdu.pad "FR-06" accepted 1 0 "$PADDED"
test_case fpdu.marker.leading "CR-17 MK-19" accepted 1 1 "$LEADING"
test_case fpdu.marker.reserved "MK-03" accepted 1 1 "$RESERVED"
test_case fpdu.marker.low-bits "MK-06" accepted 1 1 "$LOW_BITS"
test_case fpdu.marker.boundary "MK-13 MK-14" accepted 2 1 "$TO_BOUNDARY" "$NEXT"
test_case fpdu.marker.at-end "TD-02" accepted 1 1 "$TO_BOUNDARY" 00000000
test_case fpdu.marker.before-crc "CR-16 MK-16" accepted 1 1 "$BEFORE_CRC"
test_case fpdu.incomplete "RX-03 RX-09 OO-03 DD-07" incomplete
test_case fpdu.several-in-segment "RX-14 RX-15" mixed_segment

# More of these are in hostile.sh
test_case error.crc "ER-01 ER-03 ER-11 CR-20 RX-03 RX-05" \
	refuses 2 crc MpaErrCrc 0 0 "$BAD_CRC$FPDU"
test_case error.marker "ER-01 ER-04 ER-05 ER-11" \
	refuses 3 marker MpaErrMarker 0 1 "$POINTER" "$NEXT"
test_case error.truncated "ER-01 ER-02 TD-03 OO-06" \
	refuses 1 closed MpaErrTruncated 1 0 "$FPDU${FPDU:0:40}"
test_case crc.field.ignored "CR-11 CR-21 CR-22 RF-09 FR-07 CR-13" \
	crc_field_ignored
test_case crc.field.checked "CR-05 CR-10 RF-10" crc_field_checked
