# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# The server's reaction to FPDUs that a client builds octet by octet

# refuses ERROR REASON COUNTER ULPDUS MARKERS OCTETS...: start without (0) or with (1)
# markers towards the server, send each piece ("crc:HEX" appends a CRC)
refuses() {
	local error=$1 reason=$2 counter=$3 count=$4 markers=$5
	local before flags=40 steps=() piece

	network pair 1500
	before=$(counter b "$counter")
	serve mode=sink "markers=$markers"
	((!markers)) || flags=c0
	for piece in "${@:6}"; do
		[[ $piece != crc:* ]] || piece=$(mpa-peer crc "${piece#crc:}")
		steps+=("send:$piece")
	done
	client "send:${REQ_KEY}40010000" "data:${REP_KEY}${flags}010000" \
		"${steps[@]}"
	served
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

BAD_CRC=${FPDU:0:88}00112233
POINTER=crc:00000008${FPDU:0:88}
NEXT=crc:00000000002a4143$(zeroes 40)

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
