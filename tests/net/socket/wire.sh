# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# The octets on the wire, captured at the router. Loss and reordering are in net/bad.

# Emulation is late at times; TCP would then repeat a segment, and the SACK
# block for it split one of the other direction.
no_probes() {
	local space

	for space in a b; do
		set_sysctl $space net.ipv4.tcp_early_retrans=0
		set_sysctl $space net.ipv4.tcp_dsack=0
	done
}

# on_wire MARKERS PING-OPTION...: run a ping and capture it on the router's
# wire from a, where nothing was lost yet
on_wire() {
	local markers=$1

	network routed "${MTU:-1500}"
	no_probes
	serve "markers=$markers" mode="${MODE:-sink}"
	capture_start r ra wire
	shift
	ping_ok "$B4" "markers=$markers" mode="${MODE:-sink}" "$@"
	served
	capture_stop wire
	stop_serving
}

aligned() {
	((S[segments] > 0 && S[segments] == S[aligned])) ||
		fail "${S[aligned]} of ${S[segments]} segments hold whole FPDUs only"
}

# Long ULPDUs: one FPDU to a segment, no segment longer than it may be
full_segments() {
	local mtu=$1 markers=$2 count=$(($1 > 1500 ? 40 : 150))

	MTU=$mtu on_wire "$markers" size=mulpdu count=$count batch=50
	walk wire "$A4" "$markers" "$mtu"
	aligned
	same "${S[segments]} ${S[fpdus]}" "$count $count" "segments and FPDUs"
	((!markers || S[markers] > count)) ||
		fail "only ${S[markers]} markers"
}

# Small ones: alone at once, or several whole ones to a segment
small_ones() {
	on_wire 1 size=100 count=400 batch=100
	walk wire "$A4" 1 1500
	aligned
	same "${S[fpdus]}" 400 "FPDUs"
	((S[segments] < 200)) ||
		fail "${S[segments]} segments for 400 small FPDUs"
	# By the formula, independent of the room left in the current segment
	expect mulpdu=1430
}

one_at_a_time() {
	MODE="echo" on_wire 1 size=100 count=50 depth=1
	walk wire "$A4" 1 1500
	aligned
	same "${S[segments]} ${S[fpdus]}" "50 50" "segments and FPDUs"
	walk wire "$B4" 1 1500
	aligned
	same "${S[fpdus]}" 50 "FPDUs of the echo"
	# Nagle would hold each until the last is acknowledged, 40 ms later
	((${R[elapsed_ns]} < 5000000000)) || fail "that took ${R[elapsed_ns]} ns"
}

# Each length of pad, and markers at many places
odd_sizes() {
	local size

	network routed 1500
	no_probes
	serve markers=1 mode=echo
	capture_start r ra wire
	for size in 1 2 3 251 502 503 1001; do
		ping_ok "$B4" markers=1 size=$size count=40 batch=20
	done
	capture_stop wire
	walk wire "$A4" 1 1500
	aligned
	same "${S[fpdus]}" 280 "FPDUs"
	walk wire "$B4" 1 1500
	aligned
	same "${S[fpdus]}" 280 "FPDUs of the echo"
}

# Longer than a segment: the FPDU is cut, the next begins a segment again
long_ones() {
	# No more than the first window: TCP cuts a segment at its edge
	on_wire 1 size=9000 count=6
	walk wire "$A4" 1 1500
	# 9000 octets and 18 markers in segments of 1448
	same "${S[segments]}" 42 "segments"
}

# The startup frames: compared octet by octet, each in one segment of its own
frames_on_wire() {
	local private lines

	private=$(printf '%01024d' 7)
	on_wire 1 "pdatahex=$private" size=42 count=1
	mapfile -t lines < <(payloads wire "$A4")
	same "${lines[0]}" "${REQ_KEY}c0010200$private" "the Request"
	like "${lines[1]}" "00000000002a*" "the first FPDU"
	same "${#lines[@]}" 2 "segments of the Initiator"
	mapfile -t lines < <(payloads wire "$B4")
	same "${lines[*]}" "${REP_KEY}c0010200$private" "the Reply"
	# The octets of a frame do not move the markers.
	walk wire "$A4" 1 1500
	aligned
}

no_markers_on_wire() {
	local lines

	on_wire 0 size=42 count=1
	mapfile -t lines < <(payloads wire "$A4")
	same "${lines[0]}" "${REQ_KEY}40010000" "the Request"
	like "${lines[1]}" "002a*" "the first FPDU"
	same "${#lines[1]}" 96 "hex digits of the first FPDU"
}

# With CRC off the FPDU has the same length
no_crc_on_wire() {
	local lines

	network routed 1500
	set_sysctl a net.mpa.crc=0
	set_sysctl b net.mpa.crc=0
	on_wire 0 size=42 count=1
	spoil
	expect crc=0
	mapfile -t lines < <(payloads wire "$A4")
	same "${lines[0]}" "${REQ_KEY}00010000" "the Request"
	same "${#lines[1]}" 96 "hex digits of the first FPDU"
	same "$(payloads wire "$B4")" "${REP_KEY}00010000" "the Reply"
}

ipv6_on_wire() {
	network routed 1500
	serve markers=1 mode=sink
	capture_start r ra wire
	ping_ok "$B6" markers=1 mode=sink size=mulpdu count=100 batch=10
	capture_stop wire
	walk wire "$A6" 1 1500
	aligned
	same "${S[fpdus]}" 100 "FPDUs"
}

# The FIN comes after the last FPDU; TCP sets DF and uses SACK
tcp_bits() {
	local text

	on_wire 1 size=3000 count=20 batch=20
	text=$(tcpdump -r "$STATE/wire.pcap" -nn -v "src host $A4" 2>/dev/null)
	grep -q 'sackOK' <<<"$text" || fail "no SACK in the SYN"
	grep -q 'flags \[none\].*proto TCP' <<<"$text" && fail "DF is not set"
	tcpdump -r "$STATE/wire.pcap" -nn -S "src host $A4" 2>/dev/null |
		awk '{ fin = /Flags \[[^]]*F/; match($0, /length [0-9]+/)
			len = substr($0, RSTART + 7, RLENGTH - 7) + 0
			if (ended && len) late++
			if (fin) ended++ }
			END { exit !ended || late }' ||
		fail "no FIN, or octets after it"
}

for mtu in 576 1500 9000; do
	test_case "wire.full.mtu$mtu" "TX-02 TX-06 TX-15 SZ-10 SZ-13 SZ-23 MK-09 \
MK-13" full_segments $mtu 1
done
test_case wire.full.no-markers "TX-02 TX-06 SZ-09 RF-07" full_segments 1500 0
test_case wire.packed "TX-03 TX-02 MK-17 SZ-17" small_ones
test_case wire.single "TX-04 TX-08 MK-16" one_at_a_time
test_case wire.sizes "FR-03 FR-04 FR-05 FR-08 MK-01 MK-02 MK-04 MK-05 MK-11" \
	odd_sizes
test_case wire.long "SZ-16 TX-12" long_ones
test_case wire.frames "RF-01 RF-02 RF-04 RF-14 MK-19 MK-20 CS-06 CS-03 CS-11" \
	frames_on_wire
test_case wire.no-markers "MK-19 RF-07 RF-16" no_markers_on_wire
test_case wire.no-crc "FR-07 CR-13 CR-03 RF-09" no_crc_on_wire
test_case wire.ipv6 "TX-02 MK-09" ipv6_on_wire
test_case wire.tcp "TX-16 OO-13 TD-01" tcp_bits
