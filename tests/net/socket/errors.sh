# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Each error that a peer can make: what the server is told, what is counted, and how the
# peer sees the end. KUnit has the errors in all their forms; in make fuzz peers make
# them on sockets, with a good connection after each.

# refuses ERROR REASON COUNTER ULPDUS STEP...: a client does so, and the server, which
# asks for markers, is told after so many ULPDUs
refuses() {
	local before

	network pair 1500
	before=$(counter b "$3")
	serve mode=echo markers=1
	client "${@:5}"
	served
	expect "mpa_error=$1" "reason=$2" "ulpdus_rx=$4"
	grown b "$3" "$before" 1
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

OPEN=(request "expect-reply:r=0,m=1")

test_case error.key "CS-16 CS-30 CS-34 CS-37 ER-08 RF-03" \
	refuses 4 frame MpaErrKey 0 request:badkey=15 end:reset
test_case error.role "CS-30 CS-34 ER-08" refuses 4 frame MpaErrRole 0 reply end:reset
test_case error.revision "ER-08 RF-17 RF-18" \
	refuses 4 frame MpaErrRevision 0 request:rev=255 end:reset
test_case error.pd-length "ER-08 RF-22 RF-24 RF-26" \
	refuses 4 frame MpaErrPdLength 0 request:len=513 end:reset
test_case error.short-frame "ER-08 RF-22 RF-26 TD-02" \
	refuses 4 frame MpaErrShortFrame 0 limit:19,fin request end:reset
test_case error.early-octets "CS-24 ER-08" \
	refuses 4 frame MpaErrEarlyOctets 0 hold request fpdu push end:reset
test_case error.length "ER-15 RX-04 SE-12" \
	refuses 3 marker MpaErrLength 0 "${OPEN[@]}" fpdu:len=64769 end
test_case error.crc "ER-01 ER-03 ER-11 CR-20 RX-03 RX-05" \
	refuses 2 crc MpaErrCrc 0 "${OPEN[@]}" hold fpdu:crc=bad fpdu push end
test_case error.marker "ER-01 ER-04 ER-05 ER-11" \
	refuses 3 marker MpaErrMarker 0 "${OPEN[@]}" fpdu:ptr=4 end
test_case error.truncated "ER-01 ER-02 TD-03 OO-06" \
	refuses 1 closed MpaErrTruncated 1 "${OPEN[@]}" echo limit:40,fin fpdu end
test_case error.reset "ER-02 TD-03" \
	refuses 1 reset MpaErrReset 0 "${OPEN[@]}" limit:9,rst fpdu
test_case crc.field.ignored "CR-11 CR-21 CR-22 RF-09 FR-07 CR-13" \
	crc_field_ignored
test_case crc.field.checked "CR-05 CR-10 RF-10" crc_field_checked
