# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Deviations of siw from the specification, with the octets; the other end is the test
# peer. It never sends octets that are known to crash siw's kernel:
# - a Reply with S and a PD_Length below 4, or one with a PD_Length of 513
# - a ULPDU_Length shorter than the header it is for
# - flag A, and then no RTR before the end of the connection, or a bad FPDU in
#   the segment of the RTR: the end is reported before the connection is, and
#   cm_work_handler() hits a BUG()

# Accepts, and sends nothing before it has received something
QUIET=(rping -s -a "$B4" -p 7471)
EAGER=(ucmatose -b "$B4")

# hand STEP...: the test peer connects to siw's program; OCTETS is its output
hand() {
	local said status=0

	ROLE=responder
	devices none stock
	record
	theirs "${LISTENER[@]}"
	until_listening 7471
	said=$(ns a mpa-peer -t 20 connect "$B4" 7471 "$@") || status=$?
	record_stop
	echo "$said"
	((!status)) || fail "the peer ended with $status"
	OCTETS=$(tr -d '\n' <<<"$said")
}

# hand_listen STEP...: the same with siw's program as client
hand_listen() {
	local pid status=0

	ROLE=initiator
	devices stock none
	record
	ns b mpa-peer -t 20 listen "$B4" 7471 "$@" >"$STATE/peer" &
	pid=$!
	until_listening 7471
	command ns a rdma_client -s "$B4" >"$STATE/theirs" 2>&1 &
	wait "$pid" || status=$?
	record_stop
	cat "$STATE/peer"
	((!status)) || fail "the peer ended with $status"
	OCTETS=$(sed 1d "$STATE/peer" | tr -d '\n')
}

# judge REV OCTETS FAULTY RIGHT: the octets, and shell patterns for them. A later siw
# may be right; the table shows which pattern matched.
judge() {
	local verdict

	# shellcheck disable=SC2254
	case $2 in
	$3) verdict="fault: ${2:-nothing}, not ${4:-nothing}" ;;
	$4) verdict="no fault: ${2:-nothing}" ;;
	*) fail "$2 is neither $3 nor $4" ;;
	esac
	row "siw, $ROLE" "test peer" "$1" - - - - "$verdict"
}

# reply_to REV FRAME FAULTY RIGHT: the octets after the key of siw's Reply
reply_to() {
	LISTENER=("${QUIET[@]}")
	hand "send:$REQ_KEY$2" "read:$((16 + ${#4} / 2))"
	[[ $OCTETS == "$REP_KEY"* ]] || fail "no Reply: $OCTETS"
	judge "$1" "${OCTETS:32}" "$3" "$4"
}

# More than 256 octets
private_data_refused() {
	LISTENER=("${QUIET[@]}")
	hand "send:${REQ_KEY}40010101$(zeroes 257)" read:20
	judge 1 "${OCTETS:32}" "" 40010000
}

# Before the Initiator's first FPDU
speaks_first() {
	LISTENER=("${EAGER[@]}")
	hand "send:${REQ_KEY}40010000" read:20 read:20
	judge 1 "${OCTETS:40}" "0076414300000000000000000000000100000000" ""
}

# Its Terminate for a bad CRC: layer, type and code
terminate_swapped() {
	local ping

	ping=00164143$(zeroes 11)01$(zeroes 4)70696e67
	LISTENER=("${QUIET[@]}")
	# See late_reply
	hand "send:${REQ_KEY}40010000" read:20 pause:2 \
		"send:${ping}01020304" read:28
	[[ ${OCTETS:40:8} == ????4147 ]] || fail "no Terminate: $OCTETS"
	judge 1 "${OCTETS:80:4}" 0202 2002
}

request_without_crc() {
	hand_listen read:24
	[[ $OCTETS == "$REQ_KEY"* ]] || fail "no Request: $OCTETS"
	judge 2 "${OCTETS:32:4}" 1002 5002
}

# siw's Terminate when the Responder's ORD is above its limit; C is 1
terminate_without_crc() {
	local fpdu

	hand_listen read:24 "send:${REP_KEY}50020004000100c8" read:28
	fpdu=${OCTETS:48}
	[[ $fpdu == 00164147* ]] || fail "no Terminate: $fpdu"
	judge 2 "${fpdu:48}" 00000000 "$(mpa-peer crc "${fpdu:0:48}" | tail -c 9)"
}

# It takes the IRD of a Rev 1 Initiator for 0: rping's RDMA Read is never sent.
reads_nothing() {
	LISTENER=("${QUIET[@]}")
	hand "send:${REQ_KEY}40010000" read:20 pause:2 set:crc=1 \
		"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$(zeroes 16)")" pause:1 \
		read:52
	judge 1 "${OCTETS:40:8}" "" 002e4141
}

test_case fault.reserved "reserved bits of a Request" \
	reply_to 1 47010000 47010000 40010000
test_case fault.reject "the R bit of a Request" \
	reply_to 1 60010000 60010000 40010000
test_case fault.enhanced "the S bit of a Rev 1 Request" \
	reply_to 1 50010000 50010000 40010000
test_case fault.markers "markers asked for" \
	reply_to 1 c0010000 60010000 40010000
test_case fault.depth "IRD and ORD that are the consumer's" \
	reply_to 2 500200043fff3fff 5002000400800080 500200043fff3fff
test_case fault.private_data "257 octets of private data" private_data_refused
test_case fault.first "an FPDU before the Initiator's" speaks_first
test_case fault.read "an RDMA Read with Rev 1" reads_nothing
test_case fault.terminate "layer, type and code of a Terminate" \
	terminate_swapped
test_case fault.crc "a Request that does without CRC" request_without_crc
test_case fault.terminate.crc "the CRC of a Terminate" terminate_without_crc
