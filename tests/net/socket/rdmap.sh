# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# mpa_rdmap: its programs against another mpa_rdmap, and its reaction to invalid
# segments.

# Make lib.sh use mpa_rdmap instead of mpa_ping
rdmap() {
	PING=/dev/mpa_rdmap
	modprobe mpa_rdmap || fail "no mpa_rdmap"
	trap rdmap_over EXIT
	network "${1:-pair}" "${2:-1500}"
}

# Unload mpa_rdmap with all connections left: other cases unload mpa
rdmap_over() {
	local status=$?

	stop_serving
	if ! rmmod mpa_rdmap; then
		echo "FAILED: mpa_rdmap does not go"
		status=1
	fi
	exit $status
}

# rdmap_connect OPTION...: run it from a; R has the result, the status is kept
rdmap_connect() {
	local status=0

	[[ " $* " == *" timeout="* ]] || set -- "$@" timeout=$((10 * SLOW))
	command_in a "connect addr=$B4 port=$PORT $*" 2>"$STATE/ping.err" ||
		status=$?
	read_result a result
	return $status
}

rdmap_ok() {
	rdmap_connect "$@" || { show_result; fail "connect $*"; }
	expect status=0 reason=ok mismatches=0 mpa_error=0 terminate_tx=none \
		terminate_rx=none
}

rdmap_served() {
	served
	expect status=0 reason=ok mismatches=0 mpa_error=0 terminate_tx=none \
		terminate_rx=none
}

# The programs, at both ends

# Sizes around the corners: nothing, one octet, one segment and a bit, many
rdmap_echo() {
	local size n=5

	rdmap pair "$1"
	serve app=echo markers="$2" size=100000 depth=8
	for size in 0 1 3 64 1429 1430 1431 1434 4096 65536 100000; do
		rdmap_ok app=echo markers="$2" size=$size count=$n depth=3
		expect iterations=$n messages_tx=$n messages_rx=$n \
			bytes_tx=$((n * size)) bytes_rx=$((n * size)) \
			markers_tx="$2" markers_rx="$2"
		rdmap_served
		expect iterations=$n messages_tx=$n messages_rx=$n \
			bytes_rx=$((n * size))
	done
}

# A byte that comes back changed is seen: the peer changes one.
rdmap_mismatch() {
	local echoed=01000000000000000000000000000000

	rdmap
	peer_server expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 \
			"$(echo_pattern 16)")" \
		"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 $echoed)" end:fin
	rdmap_connect app=echo rev=1 size=16 && fail "a changed echo was accepted"
	expect status=-84 reason=mismatch mismatches=1 messages_rx=1
	peer_served
}

rdmap_rping() {
	local size

	rdmap pair 1500
	serve app=rping "$@"
	for size in 1 2 64 1000 4096 65536; do
		rdmap_ok app=rping count=5 size=$size "$@"
		expect iterations=5 messages_tx=10 messages_rx=10 reads_rx=5 \
			writes_rx=5 bytes_tx=$((5 * (size + 32))) \
			bytes_rx=$((5 * (size + 32)))
		rdmap_served
		expect iterations=5 reads_tx=5 writes_tx=5 reads_rx=0 \
			writes_rx=0
	done
}

rdmap_once() {
	rdmap pair 1500
	serve app=rdma_server "$@"
	rdmap_ok app=rdma_client "$@"
	expect iterations=1 bytes_tx=16 bytes_rx=16
	expect octets_tx=16 octets_rx=16 octets_ooo=0 placed_early=0	# old names
	rdmap_served
	expect iterations=1 bytes_tx=16 bytes_rx=16
}

# The passive side speaks first: it may when an RTR is there.
rdmap_exchange() {
	rdmap pair 1500
	serve app=ucmatose count=50 size=3000
	rdmap_ok app=ucmatose count=50 size=3000 rtr="$1"
	expect iterations=50 bytes_rx=150000 bytes_tx=150000 rtr="$1"
	rdmap_served
	expect iterations=50 bytes_rx=150000 bytes_tx=150000 rtr="$1"
}

# Without an RTR both sides wait until the timeout, then send a FIN
rdmap_timeout() {
	rdmap pair 1500
	serve app=ucmatose timeout=1
	client request expect-reply:r=0 quiet:0.7 end:fin
	served
	expect status=-110 reason=timeout messages_tx=0 terminate_tx=none
}

# negotiated OFFER LIMITS...: ird and ord at both ends
rdmap_depths() {
	local client=$1 server=$2

	shift 2
	rdmap pair 1500
	# shellcheck disable=SC2086
	serve app=rping $server
	# shellcheck disable=SC2086
	rdmap_ok app=rping count=3 $client
	expect "ird=$1" "ord=$2" revision=2
	rdmap_served
	expect "ird=$3" "ord=$4" revision=2
}

# rtr KIND OFFERED TAKEN
rdmap_rtr() {
	rdmap pair 1500
	serve app=echo rtr="$3"
	rdmap_ok app=echo count=5 rtr="$2"
	expect rtr="$1" messages_tx=5 messages_rx=5
	rdmap_served
	expect rtr="$1" messages_tx=5 messages_rx=5
}

# A Read as RTR, though neither side has any use for RDMA Reads
rdmap_rtr_only() {
	rdmap pair 1500
	serve app=echo rtr=read ird=0
	rdmap_ok app=echo count=3 rtr=read ord=0
	expect rtr=read ord=0 iterations=3
	rdmap_served
	expect rtr=read ird=1 iterations=3 reads_rx=0
}

# rtr_read IRD STEP...: the same from an Initiator that leaves its depths to its ULP,
# so that no IRD is raised
rtr_read() {
	rdmap pair 1500
	serve app=echo "ird=$1" rtr=read
	client request:rev=2,s=1,A=1,D=1,ird=16383,ord=16383 \
		expect-reply:rev=2,s=1,A=1,D=1 "${@:2}" end:fin
	served
	expect rtr=read "ird=$1" "reads_rx=$1"
}

rdmap_rtr_read_ird_0() {
	local read

	read=$(seg_read 7 100 0 0 0 2)
	rtr_read 0 "fpdu:ulpdu=$(seg_read 1 0 0 1 0)" \
		"expect-fpdu:ulpdu=$(seg_tagged c142 1 0)" \
		"fpdu:ulpdu=$read" \
		"expect-fpdu:ulpdu=$(seg_complaint 1/2/2 "$read")"
	expect terminate_tx=1/2/2
}

# With the RTR comes as much as IRD allows.
rdmap_rtr_read_ird_1() {
	rtr_read 1 hold "fpdu:ulpdu=$(seg_read 1 0 0 1 0)" \
		"fpdu:ulpdu=$(seg_read 7 100 0 0 0 2)" push \
		"expect-fpdu:ulpdu=$(seg_tagged c142 1 0)" \
		"expect-fpdu:ulpdu=$(seg_tagged c142 7 100)" fin
	expect status=0 terminate_tx=none
}

rdmap_rtr_mismatch() {
	rdmap pair 1500
	serve app=echo rtr=read
	rdmap_connect app=echo rtr=send && fail "they have no RTR in common"
	expect mpa_error=7 reason=rtr terminate_tx=2/0/7
	served
	expect reason=terminated terminate_rx=2/0/7 messages_rx=0
}

# The program cannot begin: fifty other connections hold all STags that its buffers
# try. The server drops their messages, so they wait. The Terminate takes the place of
# the RTR.
rdmap_cannot_begin() {
	local i before

	network pair 1500
	serve mode=sink
	before=$(counter b MpaRxUlpdus)
	rdmap pair 1500
	for ((i = 0; i < 50; i++)); do
		command_in a "connect addr=$B4 port=$PORT app=rping rev=1 \
			stag=256 timeout=$((30 * SLOW))" 2>/dev/null &
	done
	until (($(counter b MpaRxUlpdus) == before + 50)); do
		sleep 0.1
	done
	PORT=$((PORT + 1))
	peer_server "$@"
	rdmap_connect app=rping stag=256 rtr=write && fail "there was an STag"
	expect status=-16 terminate_tx=2/0/5 messages_tx=0
	peer_served
	# Resets the fifty
	PING=/dev/mpa_ping stop_serving
	wait
}

rdmap_fallback() {
	rdmap pair 1500
	serve app=echo rev=1
	rdmap_connect app=echo && fail "the server takes Rev 1 only"
	served
	rdmap_ok app=echo fallback=1 count=3
	expect revision=1 rtr=none iterations=3
}

# A silent peer, and nothing said of time
rdmap_fallback_default() {
	local echoed

	rdmap pair 1500
	same "$(ns a sysctl -n net.mpa.startup_timeout_ms)" 10000 "the limit"
	echoed=$(seg_untagged 4143 0 1 0 "$(echo_pattern 8)")
	peer_server expect-request:rev=2 pause:$((10 - 3 * SLOW / 2)) \
		end:reset again expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$echoed" "fpdu:ulpdu=$echoed" end:fin
	command_in a "connect addr=$B4 port=$PORT size=8 fallback=1" ||
		fail "no way back to Rev 1"
	read_result a result
	expect status=0 revision=1 iterations=1
	peer_served
}

rdmap_large() {
	rdmap pair 576
	serve app=ucmatose count=10 size=100000
	rdmap_ok app=ucmatose count=10 size=100000
	expect bytes_rx=1000000 bytes_tx=1000000
	rdmap_served
}

rdmap_parallel() {
	local i pids=()

	rdmap pair 1500
	serve app=rping
	for ((i = 0; i < 8; i++)); do
		command_in a "connect addr=$B4 port=$PORT app=rping count=10 \
			size=20000 timeout=$((20 * SLOW))" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || fail "one of eight did not succeed"
	done
}

rdmap_invalid_options() {
	local line

	rdmap pair 1500
	for line in "" "connect port=1" "serve" "serve port=70000" \
		"serve port=1 app=none" "serve port=1 app=rdma_client" \
		"connect addr=10.0.0.2 port=1 app=rdma_server" \
		"connect addr=10.0.0.2 port=1 app=rping size=0" \
		"connect addr=10.0.0.2 port=1 rev=1 rtr=send" \
		"connect addr=10.0.0.2 port=1 rtr=send,other" \
		"serve port=1 rtr=none" "serve port=1 fallback=1" \
		"serve port=1 size=1000000 depth=1000" \
		"connect addr=10.0.0.2 port=1 port=1" "stop port=1 size=1"; do
		command_in a "$line" 2>"$STATE/mistake" && fail "$line: taken"
		grep -q "Invalid argument" "$STATE/mistake" ||
			fail "$line: $(cat "$STATE/mistake")"
	done
	command_in a "stop port=1" 2>"$STATE/mistake" && fail "nothing to stop"
	grep -q "No such file" "$STATE/mistake" ||
		fail "stop: $(cat "$STATE/mistake")"
}

# The octets that an echo sends first
echo_pattern() {
	local i

	for ((i = 0; i < $1; i++)); do
		printf %02x $((i * 7 & 255))
	done
}

# rping's advertisement of a buffer: NUMBER STAG SIZE
rping_advert() {
	seg_untagged 4143 0 "$1" 0 \
		"$(printf '%016x%08x%08x' $(($2 << 12)) "$2" "$3")"
}

SOURCE=256		# STags of an rping client with stag=256
SINK=257
GO_ON=$(zeroes 16)	# rping server's go-ahead

# rping_against ERROR ULPDU...: our client, with a buffer of 64 octets to read
# at 100000 and one to write at 101000, gets these; the last is the mistake.
rping_against() {
	local error=$1 steps=() ulpdu

	rdmap pair 1500
	shift
	for ulpdu; do
		steps+=("fpdu:ulpdu=$ulpdu")
	done
	peer_server expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$(rping_advert 1 $SOURCE 64)" hold \
		"${steps[@]}" push \
		"expect-fpdu:ulpdu=$(seg_complaint "$error" "$ulpdu")" end:fin
	rdmap_connect rev=1 app=rping stag=$SOURCE size=64 &&
		fail "it was taken"
	expect status=-71 reason=protocol terminate_tx="$error" bytes_rx=0
	peer_served
}

# echo_against ERROR ULPDU...: our server, with two buffers of 64 octets
echo_against() {
	local error=$1 steps=() ulpdu

	rdmap pair 1500
	serve app=echo rev=1 size=64 depth=2 ird=0
	shift
	for ulpdu; do
		steps+=("fpdu:ulpdu=$ulpdu")
	done
	client request expect-reply:r=0 hold "${steps[@]}" push \
		"expect-fpdu:ulpdu=$(seg_complaint "$error" "$ulpdu")" end:fin
	served
	expect status=-71 reason=protocol terminate_tx="$error"
}

# echo_against_send ERROR ULPDU: a Send of which nothing may be placed
echo_against_send() {
	echo_against "$@"
	expect bytes_rx=0 messages_rx=0
}

# The server echoes before it comes to the mistake, or not at all
echo_too_many() {
	local send=4143

	echo_against 1/2/2 "$(seg_untagged $send 0 1 0 aa)" \
		"$(seg_untagged $send 0 2 0 bb)" \
		"$(seg_untagged $send 0 3 0 cc)"
}

# A ULPDU that is no segment: nothing of it is sent back
echo_short() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 "fpdu:ulpdu=$1" \
		"expect-fpdu:ulpdu=$(seg_terminate 0/2/255)" end:fin
	served
	expect status=-71 reason=protocol terminate_tx=0/2/255 messages_rx=0
}

# All kinds of Send, one of them in two segments
rdmap_sends() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 aabb)" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 aabb)" \
		"fpdu:ulpdu=$(seg_untagged 4145 0 2 0 cc)" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 2 0 cc)" \
		"fpdu:ulpdu=$(seg_untagged 0145 0 3 0 dd)" quiet:0.2 \
		"fpdu:ulpdu=$(seg_untagged 4145 0 3 1 ee)" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 3 0 ddee)" \
		"fpdu:ulpdu=$(seg_untagged 7d73 0 4 0 11 4711)" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 4 0 11)" fin end:fin
	rdmap_served
	expect messages_rx=4 bytes_rx=6
}

# With Rev 0 both layers have version 0.
rdmap_version_rev0() {
	rdmap pair 1500
	serve app=echo rev=1
	client request:rev=0,m=1 expect-reply:rev=0,r=0 \
		"fpdu:ulpdu=$(seg_untagged 4003 0 1 0 aabb)" \
		"expect-fpdu:ulpdu=$(seg_untagged 4003 0 1 0 aabb)" fin end:fin
	rdmap_served
	expect revision=0 messages_rx=1
}

# A buffer that the client gave away and the server gives back is gone.
rdmap_invalidated() {
	local control=$1 write

	write=$(seg_tagged c140 $SINK 101000 "$(zeroes 8)")
	rdmap pair 1500
	peer_server expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$(rping_advert 1 $SOURCE 64)" \
		"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$GO_ON")" \
		"expect-fpdu:ulpdu=$(rping_advert 2 $SINK 64)" \
		"fpdu:ulpdu=$write" hold \
		"fpdu:ulpdu=$(seg_untagged "$control" 0 2 0 "$GO_ON" $SINK)" \
		"fpdu:ulpdu=$write" push \
		"expect-fpdu:ulpdu=$(seg_complaint 1/1/0 "$write")" end:fin
	rdmap_connect rev=1 app=rping stag=$SOURCE size=64 count=2 &&
		fail "a buffer that is gone was written"
	expect reason=protocol terminate_tx=1/1/0 writes_rx=1 bytes_rx=40
	peer_served
}

# The server has two connections with STags of their own. A ULPDU for an STag of the
# first one ends the second one only.
rdmap_stream() {
	local error=$1 ulpdu=$2 first before

	rdmap pair 1500
	serve app=rping rev=1 stag=$SOURCE
	before=$(counter b MpaRxUlpdus)
	play request expect-reply:r=0 "fpdu:ulpdu=$(seg_tagged c140 0 0)" \
		pause:$((3 * SLOW)) fin end:fin &
	first=$!
	until (($(counter b MpaRxUlpdus) > before)); do
		kill -0 $first || fail "the first one has gone"
		sleep 0.05
	done
	client request expect-reply:r=0 "fpdu:ulpdu=$ulpdu" \
		"expect-fpdu:ulpdu=$(seg_complaint "$error" "$ulpdu")" end:fin
	served
	expect reason=protocol terminate_tx="$error" bytes_rx=0
	wait $first || fail "the other stream was disturbed"
	rdmap_served
}

# rdmap_reads IRD NUMBER: NUMBER Read Requests at a time are answered
rdmap_reads() {
	local i requests=() responses=()

	rdmap pair 1500
	for ((i = 1; i <= $2; i++)); do
		requests+=("fpdu:ulpdu=$(seg_read 7 "${i}00" 0 0 0 $i)")
		responses+=("expect-fpdu:ulpdu=$(seg_tagged c142 7 "${i}00")")
	done
	serve app=echo rev=1 ird="$1"
	client request expect-reply:r=0 hold "${requests[@]}" push \
		"${responses[@]}" fin end:fin
	rdmap_served
}

rdmap_reads_above() {
	local request

	rdmap pair 1500
	serve app=echo rev=1 ird=2
	request=$(seg_read 7 300 0 0 0 3)
	client request expect-reply:r=0 hold \
		"fpdu:ulpdu=$(seg_read 7 100 0 0 0 1)" \
		"fpdu:ulpdu=$(seg_read 7 200 0 0 0 2)" \
		"fpdu:ulpdu=$request" push \
		"expect-fpdu:ulpdu=$(seg_complaint 1/2/2 "$request")" end:fin
	served
	expect status=-71 reason=protocol terminate_tx=1/2/2
}

# Our Read Requests: no more than ORD, which may be none
rdmap_no_ord() {
	rdmap pair 1500
	serve app=rping rev=1 ord=0
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(rping_advert 1 $SOURCE 64)" \
		"expect-fpdu:ulpdu=$(seg_terminate 0/0/0)" end:fin
	served
	expect status=-95 reads_tx=0 terminate_tx=0/0/0
}

# response_against ERROR ULPDU...: our server reads 64 octets of the peer, which
# answers with these ULPDUs. RTR and first round are explicit, so that the STag of the
# server's buffer is known.
response_against() {
	local error=$1 ulpdu

	rdmap pair 1500
	serve app=rping rev=1 stag=$SOURCE
	set -- "${@:2}"
	ulpdu=${*: -1}
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(rping_advert 1 99 64)" \
		"expect-fpdu:ulpdu=$(seg_read $SOURCE 100000 64 99 63000)" \
		hold "${@/#/fpdu:ulpdu=}" push \
		"expect-fpdu:ulpdu=$(seg_complaint "$error" "$ulpdu")" end:fin
	served
	expect status=-71 reason=protocol terminate_tx="$error" reads_tx=0
}

# In two segments, and all is well
rdmap_response() {
	rdmap pair 1500
	serve app=rping rev=1 stag=$SOURCE
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(rping_advert 1 99 64)" \
		"expect-fpdu:ulpdu=$(seg_read $SOURCE 100000 64 99 63000)" \
		"fpdu:ulpdu=$(seg_tagged 8142 $SOURCE 100000 \
			"$(echo_pattern 40)")" \
		"fpdu:ulpdu=$(seg_tagged c142 $SOURCE 100028 \
			"$(echo_pattern 24)")" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$GO_ON")" \
		"fpdu:ulpdu=$(rping_advert 2 98 64)" \
		"expect-fpdu:ulpdu=$(seg_tagged c140 98 62000 \
			"$(echo_pattern 40)$(echo_pattern 24)")" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 2 0 "$GO_ON")" \
		fin end:fin
	rdmap_served
	expect iterations=1 reads_tx=1 writes_tx=1 bytes_rx=96
}

# Errors of MPA are told by RDMAP.
rdmap_mpa_error() {
	rdmap pair 1500
	serve app=echo rev=1 markers="$3"
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 aa)" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 aa)" \
		"fpdu:size=600,$4" \
		"expect-fpdu:ulpdu=$(seg_terminate "$2")" end:fin
	served
	expect reason="$1" terminate_tx="$2" messages_rx=1
}

# A consumer cuts long messages for MULPDU: no FPDU is cut by TCP.
rdmap_mulpdu() {
	rdmap routed 1500
	no_probes
	serve app=echo rev=1 markers=1 size=50000 depth=4
	capture_start r ra wire
	rdmap_ok app=echo rev=1 markers=1 size=50000 count=3
	rdmap_served
	capture_stop wire
	walk wire "$A4" 1 1500
	aligned
	((S[fpdus] > 100)) || fail "only ${S[fpdus]} FPDUs"
}

# After code 4 a consumer acts as after code 1: it sends nothing more, not even a
# Terminate message, and the connection is closed
rdmap_no_frame() {
	rdmap
	peer_server expect-request:rev=1 fin end
	rdmap_connect app=echo rev=1 && fail "there was no Reply"
	expect mpa_error=1 terminate_tx=none terminate_rx=none messages_tx=0
	peer_served
	peer_server expect-request:rev=1 "send:${REQ_KEY}40010000" end:reset
	rdmap_connect app=echo rev=1 && fail "that was no Reply"
	expect mpa_error=4 reason=frame terminate_tx=none terminate_rx=none \
		messages_tx=0
	peer_served
}

# rdmap_terminated LAYER/TYPE/CODE SWAPPED OCTETS
rdmap_terminated() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(seg_untagged 4147 2 1 0 "$3")" end:fin
	served
	expect status=-121 reason=terminated terminate_rx="$1" \
		terminate_swapped="$2" terminate_tx=none
}

# The RTR that was agreed on has to come, and be one.
rdmap_rtr_against() {
	rdmap pair 1500
	serve app=echo rtr=write,read
	client "request:rev=2,s=1,A=1,C=1,ird=1,ord=1" \
		expect-reply:rev=2,s=1,A=1,C=1 "fpdu:ulpdu=$1" \
		"expect-fpdu:ulpdu=$(seg_terminate 2/0/7)" end:fin
	served
	expect reason=protocol terminate_tx=2/0/7 messages_rx=0 rtr=none
}

# rdmap_rtr_sent KIND FLAGS: the first that our client sends
rdmap_rtr_sent() {
	rdmap pair 1500
	peer_server expect-request:rev=2,s=1,A=1 \
		"reply:rev=2,s=1,A=1,$2=1,ird=1,ord=1" "expect-fpdu:rtr=$1" \
		rst
	rdmap_connect app=echo && fail "the peer has reset it"
	expect rtr="$1" reason=reset messages_rx=0
	peer_served
}

# Before their turn

# rdmap_ooo NETEM...: a network that reorders or loses packets
rdmap_ooo() {
	rdmap routed 1500
	spoil
	lossy "$@"
}

# Each ULPDU passed out of order was skipped in its place
expect_ooo() {
	((R[ulpdus_ooo] > 0)) || fail "nothing was passed out of order"
	expect "ooo_suppressed=${R[ulpdus_ooo]}" markers_rx=1
}

expect_placed_ooo() {
	expect_ooo
	((R[placed_ooo] > 0 && R[placed_ooo] < R[bytes_ooo])) ||
		fail "${R[placed_ooo]} placed out of order of ${R[bytes_ooo]}"
}

# RDMA Read Responses to the server, RDMA Writes to the client
rdmap_ooo_rping() {
	rdmap_ooo "$@"
	serve app=rping ooo=1
	rdmap_ok app=rping ooo=1 count=10 size=65536 timeout=$((30 * SLOW))
	expect iterations=10 writes_rx=10 reads_rx=10 messages_rx=20 \
		bytes_rx=$((10 * (65536 + 32)))
	expect_placed_ooo
	rdmap_served
	expect iterations=10 writes_tx=10 reads_tx=10 messages_rx=20 \
		bytes_rx=$((10 * (65536 + 32)))
	expect_placed_ooo
}

# Sends wait for their turn: each echo says which it is.
rdmap_ooo_echo() {
	rdmap_ooo "$@"
	serve app=echo ooo=1 size=100000 depth=8
	rdmap_ok app=echo ooo=1 count=10 size=100000 timeout=$((30 * SLOW))
	expect iterations=10 bytes_rx=1000000 placed_ooo=0
	expect_ooo
	rdmap_served
	expect iterations=10 bytes_rx=1000000 placed_ooo=0
	expect_ooo
}

# hole NS DEVICE ULPDU [MORE]: drop the packet with its FPDU, which has MORE octets of
# markers. The marker at 512 identifies the FPDUs after it; they are sent at once,
# because a sender without ACKs slows down.
hole() {
	local octets=$(((${#3} / 2 + 5) / 4 * 4 + 4 + ${4-0}))

	HOLE=("$1" "$2")
	OOO=$(counter "$1" MpaOooUlpdus)
	# The sender tries again soon, however long the hole is there.
	set_sysctl a net.ipv4.tcp_thin_linear_timeouts=1
	set_sysctl b net.ipv4.tcp_thin_linear_timeouts=1
	ns "$1" tc qdisc add dev "$2" clsact || fail "clsact"
	# The headers of IPv4 and of TCP with time stamps
	ns "$1" tc filter add dev "$2" ingress protocol ip u32 \
		match u16 $((20 + 32 + octets)) 0xffff at 2 action drop ||
		fail "no filter"
}

# await_ooo N: wait until N ULPDUs were passed out of order
await_ooo() {
	until (($(counter "${HOLE[0]}" MpaOooUlpdus) == OOO + $1)); do
		kill -0 "$PEER" || fail "the peer has gone"
		sleep 0.05
	done
}

no_hole() {
	ns "${HOLE[0]}" tc qdisc del dev "${HOLE[1]}" clsact
	set_sysctl a net.ipv4.tcp_thin_linear_timeouts=0
	set_sysctl b net.ipv4.tcp_thin_linear_timeouts=0
}

close_hole() {
	await_ooo "$1"
	no_hole
}

# ooo_client NUMBER STEP...: do that with our server; NUMBER ULPDUs come
# before their turn
ooo_client() {
	client "${@:2}" &
	PEER=$!
	close_hole "$1"
	wait $PEER || fail "our server did something else"
	served
	expect ulpdus_ooo="$1"
	expect_ooo
}

# ooo_server NUMBER STEP...: the same with our client, as rping
ooo_server() {
	local closing

	peer_server expect-request:rev=1,m=1 reply "${@:2}"
	close_hole "$1" &
	closing=$!
	rdmap_connect rev=1 app=rping ooo=1 stag=$SOURCE size=1000
	wait $closing || fail "the hole is open"
	peer_served
	expect ulpdus_ooo="$1"
	expect_ooo
}

# The data that rping's server reads from the client in the first round
rping_text() {
	local i

	for ((i = 0; i < $1 - 1; i++)); do
		printf %02x $((33 + i % 94))
	done
	printf 00
}

# An RDMA Write, and the Send that tells of it
rdmap_ooo_write() {
	local text late

	text=$(rping_text 1000)
	late=$(seg_tagged 8140 $SINK 101000 "${text:0:880}")
	rdmap pair 1500
	hole a va "$late"
	ooo_server 2 "expect-fpdu:ulpdu=$(rping_advert 1 $SOURCE 1000)" \
		"fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$GO_ON")" \
		"expect-fpdu:ulpdu=$(rping_advert 2 $SINK 1000)" \
		"fpdu:ulpdu=$late" hold \
		"fpdu:ulpdu=$(seg_tagged c140 $SINK 1011b8 "${text:880}")" \
		"fpdu:ulpdu=$(seg_untagged 4143 0 2 0 "$GO_ON")" push end:fin
	expect status=0 mismatches=0 iterations=1 writes_rx=1 bytes_rx=1032 \
		placed_ooo=560
}

# A mistake waits for its turn, too.
rdmap_ooo_invalid() {
	local late wrong

	late=$(seg_tagged c140 $SINK 101000 "$(zeroes 440)")
	wrong=$(seg_tagged c140 1000 101000 "$(zeroes 64)")
	rdmap pair 1500
	hole a va "$late" 4
	ooo_server 1 "expect-fpdu:ulpdu=$(rping_advert 1 $SOURCE 1000)" \
		"fpdu:ulpdu=$late" "fpdu:ulpdu=$wrong" \
		"expect-fpdu:ulpdu=$(seg_complaint 1/1/0 "$wrong")" end:fin
	expect reason=protocol terminate_tx=1/1/0 writes_rx=1 bytes_rx=440 \
		placed_ooo=0
}

# There was a buffer when it came, and none when it is its turn. Whether the
# client's next Send gets out in between is open.
rdmap_ooo_invalidated() {
	local late

	late=$(seg_untagged 4144 0 1 0 "$GO_ON" $SINK)
	rdmap pair 1500
	hole a va "$late" 4
	ooo_server 1 "expect-fpdu:ulpdu=$(rping_advert 1 $SOURCE 1000)" \
		"fpdu:ulpdu=$late" \
		"fpdu:ulpdu=$(seg_tagged c140 $SINK 101000 "$(zeroes 500)")" \
		end:fin,rest
	expect reason=protocol terminate_tx=1/1/0 writes_rx=0 bytes_rx=16 \
		placed_ooo=500
}

# ooo_read: our server reads 1000 octets of the peer; READ has the steps up to its
# Request, WRITTEN those after the Response, in which OCTETS come back
ooo_read() {
	OCTETS=$(echo_pattern 1000)
	READ=("fpdu:ulpdu=$(rping_advert 1 99 1000)"
		"expect-fpdu:ulpdu=$(seg_read $SOURCE 100000 1000 99 63000)")
	WRITTEN=("expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$GO_ON")"
		"fpdu:ulpdu=$(rping_advert 2 98 1000)"
		"expect-fpdu:ulpdu=$(seg_tagged c140 98 62000 "$OCTETS")"
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 2 0 "$GO_ON")"
		fin end:fin)
	rdmap pair 1500
	serve app=rping rev=1 stag=$SOURCE ooo=1
}

# The last segment of a Read Response, and a Send after it
rdmap_ooo_response() {
	local late

	ooo_read
	late=$(seg_tagged 8142 $SOURCE 100000 "${OCTETS:0:880}")
	hole b vb "$late"
	ooo_client 2 request expect-reply:r=0,m=1 "${READ[@]}" \
		"fpdu:ulpdu=$late" hold \
		"fpdu:ulpdu=$(seg_tagged c142 $SOURCE 1001b8 "${OCTETS:880}")" \
		"${WRITTEN[1]}" push "${WRITTEN[0]}" "${WRITTEN[@]:2}"
	expect status=0 terminate_tx=none iterations=1 reads_tx=1 writes_tx=1 \
		messages_rx=2 bytes_rx=1032 placed_ooo=560
}

# A Read Response that arrives before its Read Request is sent is judged in order
rdmap_ooo_unsolicited() {
	ooo_read
	hole b vb "$(rping_advert 1 99 1000)" 4
	ooo_client 1 request expect-reply:r=0,m=1 "${READ[0]}" \
		"fpdu:ulpdu=$(seg_tagged c142 $SOURCE 100000 "$OCTETS")" \
		"${READ[1]}" "${WRITTEN[@]}"
	expect status=0 terminate_tx=none iterations=1 reads_tx=1 writes_tx=1 \
		bytes_rx=1032 placed_ooo=0
}

# In a buffer of ours, but not where we have asked for something
rdmap_ooo_out_of_bounds() {
	local late wrong

	late=$(seg_tagged 8142 $SOURCE 100000 "$(zeroes 440)")
	wrong=$(seg_tagged 8142 $SOURCE 1003e8 "$(zeroes 64)")
	ooo_read
	hole b vb "$late"
	ooo_client 1 request expect-reply:r=0,m=1 "${READ[@]}" \
		"fpdu:ulpdu=$late" "fpdu:ulpdu=$wrong" \
		"expect-fpdu:ulpdu=$(seg_complaint 1/1/1 "$wrong")" end:fin
	expect reason=protocol terminate_tx=1/1/1 bytes_rx=456 placed_ooo=0
}

# The RTR is late, and the program has not begun.
rdmap_ooo_rtr() {
	local octets rtr

	octets=$(echo_pattern 500)
	rtr=$(seg_untagged 4143 0 1 0)
	rdmap pair 1500
	serve app=echo rtr=send ooo=1
	hole b vb "$rtr" 4
	ooo_client 1 request:rev=2,s=1,A=1,B=1,ird=1,ord=1 \
		expect-reply:rev=2,s=1,A=1,B=1,m=1 "fpdu:ulpdu=$rtr" \
		"fpdu:ulpdu=$(seg_untagged 4143 0 2 0 "$octets")" \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 "$octets")" \
		fin end:fin
	expect status=0 rtr=send messages_rx=1
}

# The connection is reset with the hole open: FPDUs after it have no effect
rdmap_ooo_reset() {
	local late

	late=$(seg_untagged 4143 0 1 0 "$(zeroes 16)")
	rdmap pair 1500
	serve app=echo rev=1 ooo=1
	hole b vb "$late" 4
	client request expect-reply:r=0,m=1 "fpdu:ulpdu=$late" hold \
		"fpdu:ulpdu=$(seg_untagged 4143 0 2 0 "$(zeroes 500)")" \
		"fpdu:ulpdu=$(seg_untagged 4143 0 3 0 aa)" push end:reset &
	PEER=$!
	await_ooo 2
	stop_serving
	wait $PEER || fail "the connection was not reset"
	no_hole
	served
	expect status=-125 ulpdus_ooo=2 ooo_suppressed=0 ulpdus_rx=0 \
		messages_rx=0 bytes_rx=0 placed_ooo=0 terminate_tx=none
}

# Lifetimes

# The module is unloaded while connections are in the middle of a message
rdmap_unload() {
	local i before pids=()

	rdmap pair 1500
	serve app=echo rev=1
	before=$(counter b MpaRxUlpdus)
	for ((i = 0; i < 4; i++)); do
		play request expect-reply:r=0 \
			"fpdu:ulpdu=$(seg_untagged 0143 0 1 0 aa)" end:reset &
		pids+=($!)
	done
	until (($(counter b MpaRxUlpdus) == before + 4)); do
		sleep 0.05
	done
	rmmod mpa_rdmap || fail "the module does not go"
	rm "$STATE/serving"
	for i in "${pids[@]}"; do
		wait "$i" || fail "a connection was not reset"
	done
	rdmap pair 1500
	serve app=echo
	rdmap_ok app=echo count=3
}

# Ended by a signal, a connect is gone at once, and tells the peer.
rdmap_interrupted() {
	local pid before

	rdmap pair 1500
	before=$(counter a MpaTxUlpdus)
	peer_server expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$(seg_untagged 4143 0 1 0 \
			"$(echo_pattern 16)")" \
		"expect-fpdu:ulpdu=$(seg_terminate 0/0/0)" end:fin
	# Not by ns(): the signal has to reach the process that writes
	nsenter --net=/run/netns/a -- bash -c 'echo "$1" >"$2"' - \
		"connect addr=$B4 port=$PORT rev=1 size=16 timeout=100" \
		$PING/cmd 2>/dev/null &
	pid=$!
	until (($(counter a MpaTxUlpdus) > before)); do
		sleep 0.05
	done
	kill $pid
	wait $pid && fail "it was interrupted"
	read_result a result
	expect status=-4 terminate_tx=0/0/0
	peer_served
}

# FIN in the middle of a message, or with nothing to complain of
rdmap_fin_inside() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(seg_untagged 0143 0 1 0 aa)" fin end:fin
	served
	expect status=-103 reason=closed messages_rx=0
}

test_case rdmap.echo.mtu1500 "RFC 5040 5.3, RFC 5041 5" rdmap_echo 1500 0
test_case rdmap.echo.mtu576.markers "RFC 5041 5" rdmap_echo 576 1
test_case rdmap.echo.mismatch "echoes are compared" rdmap_mismatch
test_case rdmap.rping.rev2 "RFC 5040 5.1, 5.2" rdmap_rping
test_case rdmap.rping.rev1 "RFC 5040 5.1, 5.2" rdmap_rping rev=1
test_case rdmap.rping.rev0 "versions 0 of DDP and RDMAP" rdmap_rping rev=0
test_case rdmap.rping.markers "RFC 5040 5.1, 5.2" rdmap_rping markers=1
test_case rdmap.rdma.rev2 "rdma_client and rdma_server" rdmap_once
test_case rdmap.rdma.rev1 "rdma_client and rdma_server" rdmap_once rev=1
test_case rdmap.ucmatose.send "the passive side first" rdmap_exchange send
test_case rdmap.ucmatose.write "the passive side first" rdmap_exchange write
test_case rdmap.ucmatose.read "the passive side first" rdmap_exchange read
test_case rdmap.ucmatose.timeout "a FIN when time is over" rdmap_timeout
test_case rdmap.ucmatose.mtu576 "100000 octets each" rdmap_large
test_case rdmap.parallel "many at once" rdmap_parallel
test_case rdmap.invalid-options "options" rdmap_invalid_options
test_case rdmap.depths.same "RFC 6581 9.1" rdmap_depths "ird=3 ord=5" \
	"ird=5 ord=3" 3 5 5 3
test_case rdmap.depths.bounded "RFC 6581 9.1" rdmap_depths "ird=2 ord=9" \
	"ird=4 ord=8" 2 4 4 2
test_case rdmap.rtr.offer "RFC 6581 9.2" rdmap_rtr read send,read read,write
test_case rdmap.rtr.none "RFC 6581 9.2" rdmap_rtr none none send,write,read
test_case rdmap.rtr.read.only "RFC 6581 9.1" rdmap_rtr_only
test_case rdmap.rtr.read.ird-0 "RFC 6581 9.1" \
	rdmap_rtr_read_ird_0
test_case rdmap.rtr.read.ird-1 "RFC 6581 9.1" rdmap_rtr_read_ird_1
test_case rdmap.rtr.mismatch "RFC 6581 8" rdmap_rtr_mismatch
test_case rdmap.rtr.sent.send "RFC 6581 9.3" rdmap_rtr_sent send B
test_case rdmap.rtr.sent.write "RFC 6581 9.3" rdmap_rtr_sent write C
test_case rdmap.rtr.sent.read "RFC 6581 9.3" rdmap_rtr_sent read D
test_case rdmap.rtr.nonempty-send "a Send that is not empty" \
	rdmap_rtr_against "$(seg_untagged 4143 0 1 0 aa)"
test_case rdmap.rtr.wrong-kind "a kind that was not negotiated" \
	rdmap_rtr_against "$(seg_untagged 4143 0 1 0)"
test_case rdmap.rtr.nonempty-read "a Read that is not empty" \
	rdmap_rtr_against "$(seg_read 1 0 1 1 0)"
test_case rdmap.rtr.local-error "E-36" rdmap_cannot_begin \
	expect-request:rev=2,s=1,A=1,C=1 reply:rev=2,s=1,A=1,C=1 \
	"expect-fpdu:ulpdu=$(seg_terminate 2/0/5)" end:fin
test_case rdmap.fallback "to Rev 1" rdmap_fallback
test_case rdmap.fallback.default "after ten seconds" rdmap_fallback_default

test_case rdmap.send.variants "RFC 5040 4.1, 5.3" rdmap_sends
test_case rdmap.send.invalidate "RFC 5040 5.3" rdmap_invalidated 4144
test_case rdmap.send.invalidate.se "RFC 5040 5.3" rdmap_invalidated 4146
test_case rdmap.read.good "RFC 5040 5.2" rdmap_response
test_case rdmap.read.ird "RFC 5040 6.1" rdmap_reads 3 3
test_case rdmap.read.ird.above "RFC 5040 6.1" rdmap_reads_above
test_case rdmap.read.ird.none "RFC 5040 6.1" echo_against 1/2/2 \
	"$(seg_read 1 0 0 1 0)"
test_case rdmap.read.ord.none "RFC 5040 6.1" rdmap_no_ord

# NAME ERROR ULPDU: RDMA Writes that go nowhere
while read -r name error stag offset octets; do
	test_case "rdmap.write.$name" "RFC 5041 7.1, 7.2" rping_against \
		"$error" "$(seg_tagged c140 "$stag" "$offset" \
			"$(zeroes "$octets")")"
done <<WRITES
stag		1/1/0	1000	101000	8
stag.zero	1/1/0	0	0	1
access		1/1/0	$SOURCE	100000	8
below		1/1/1	$SINK	100fff	8
above		1/1/1	$SINK	101040	1
across		1/1/1	$SINK	10103f	2
long		1/1/1	$SINK	101000	65
wrap		1/1/3	$SINK	ffffffffffffffff	2
wrap.into	1/1/3	$SINK	ffffffffffffffc0	64
WRITES
test_case rdmap.write.stream "RFC 5041 8.2" rdmap_stream 1/1/2 \
	"$(seg_tagged c140 $SOURCE 100000 aa)"
test_case rdmap.write.empty-at-end "no octets at the end, then one after it" \
	rping_against 1/1/1 "$(seg_tagged c140 $SINK 101040)" \
	"$(seg_tagged c140 $SINK 101040 aa)"

# NAME ERROR STAG OFFSET SIZE: Read Requests
while read -r name error stag offset size; do
	test_case "rdmap.read.$name" "RFC 5040 4.8, 7.2" rping_against \
		"$error" "$(seg_read 9 9000 "$size" "$stag" "$offset")"
done <<READS
stag	0/1/0	1000	100000	8
access	0/1/2	$SINK	101000	8
below	0/1/1	$SOURCE	fffff	8
above	0/1/1	$SOURCE	100040	1
across	0/1/1	$SOURCE	10003f	2
long	0/1/1	$SOURCE	100000	4294967295
wrap	0/1/4	$SOURCE	ffffffffffffffff	2
READS
test_case rdmap.read.stream "RFC 5040 7.2" rdmap_stream 0/1/3 \
	"$(seg_read 9 9000 1 $SOURCE 100000)"

# Headers
test_case rdmap.ddp.version.tagged "RFC 5041 7.2" \
	rping_against 1/1/4 "$(seg_tagged c240 $SINK 101000 aa)"
test_case rdmap.ddp.version.untagged "RFC 5041 7.2" \
	echo_against 1/2/6 "$(seg_untagged 4043 0 1 0 aa)"
test_case rdmap.version "RFC 5040 4.8" \
	echo_against 0/2/5 "$(seg_untagged 4103 0 1 0 aa)"
test_case rdmap.version.rev0 "VN-03 VN-04 DD-06 RFC 5040 4.1" rdmap_version_rev0
test_case rdmap.queue "RFC 5041 7.2" \
	echo_against 1/2/1 "$(seg_untagged 4143 3 1 0 aa)"
test_case rdmap.queue.other "RFC 5040 4.1" \
	echo_against 0/2/6 "$(seg_untagged 4143 1 1 0 aa)"
test_case rdmap.opcode.reserved "RFC 5040 4.8" \
	echo_against 0/2/6 "$(seg_untagged 4148 0 1 0 aa)"
test_case rdmap.opcode.tagged "RFC 5040 4.1" \
	echo_against 0/2/6 "$(seg_tagged c143 1 0 aa)"
test_case rdmap.opcode.untagged "RFC 5040 4.1" \
	echo_against 0/2/6 "$(seg_untagged 4140 0 1 0 aa)"
test_case rdmap.msn.first "RFC 5041 4.3, 7.2" \
	echo_against 1/2/3 "$(seg_untagged 4143 0 0 0 aa)"
test_case rdmap.msn.gap "RFC 5041 7.2" \
	echo_against 1/2/3 "$(seg_untagged 4143 0 2 0 aa)"
test_case rdmap.mo "RFC 5041 7.2" \
	echo_against 1/2/4 "$(seg_untagged 4143 0 1 1 aa)"
test_case rdmap.mo.gap "RFC 5041 7.2" echo_against 1/2/4 \
	"$(seg_untagged 0143 0 1 0 aa)" "$(seg_untagged 4143 0 1 2 aa)"
test_case rdmap.long "RFC 5041 7.2" \
	echo_against 1/2/5 "$(seg_untagged 4143 0 1 0 "$(zeroes 65)")"
test_case rdmap.long.second "RFC 5041 7.2" echo_against 1/2/5 \
	"$(seg_untagged 0143 0 1 0 "$(zeroes 64)")" \
	"$(seg_untagged 4143 0 1 64 aa)"
test_case rdmap.buffer "RFC 5041 7.2" echo_too_many
test_case rdmap.short.1 "no header" echo_short 41
test_case rdmap.short.tagged "no header" echo_short "c140$(zeroes 11)"
test_case rdmap.short.untagged "no header" echo_short "4143$(zeroes 15)"
test_case rdmap.invalidate "RFC 5040 5.3" echo_against_send 0/1/9 \
	"$(seg_untagged 4144 0 1 0 aa 77)"
test_case rdmap.invalidate.first "a segment that is not the last" \
	echo_against_send 0/1/9 "$(seg_untagged 0146 0 1 0 aa 77)"

# Responses
test_case rdmap.response.unsolicited "RFC 5040 5.2.2" \
	rping_against 0/2/6 "$(seg_tagged c142 $SINK 101000 aa)"
test_case rdmap.response.stag "RFC 5040 5.2.2" response_against 1/1/0 \
	"$(seg_tagged c142 77 100000 "$(zeroes 64)")"
test_case rdmap.response.offset "RFC 5040 5.2.2" response_against 1/1/1 \
	"$(seg_tagged c142 $SOURCE 100001 "$(zeroes 64)")"
test_case rdmap.response.long "RFC 5040 5.2.2" response_against 1/1/1 \
	"$(seg_tagged c142 $SOURCE 100000 "$(zeroes 65)")"
test_case rdmap.response.short "RFC 5040 5.2.2" response_against 0/2/255 \
	"$(seg_tagged c142 $SOURCE 100000 "$(zeroes 63)")"
test_case rdmap.response.not-last "RFC 5040 5.2.2" response_against 0/2/255 \
	"$(seg_tagged 8142 $SOURCE 100000 "$(zeroes 64)")"
test_case rdmap.response.write "no place for the peer's own Writes" \
	response_against 1/1/0 \
	"$(seg_tagged c140 $SOURCE 100000 "$(zeroes 64)")"

# Before their turn
test_case rdmap.ooo.rping.loss "RFC 5041 5.3, OO-03, OO-17" \
	rdmap_ooo_rping loss 3% delay 5ms
test_case rdmap.ooo.rping.reorder "RFC 5041 5.3, OO-03, OO-17" \
	rdmap_ooo_rping delay 10ms reorder 25% 50%
test_case rdmap.ooo.echo "RFC 5041 5.3, OO-05, OO-17" \
	rdmap_ooo_echo loss 3% delay 5ms
test_case rdmap.ooo.write "RFC 5041 5.3, OO-12" rdmap_ooo_write
test_case rdmap.ooo.response "RFC 5041 5.3, OO-12" rdmap_ooo_response
test_case rdmap.ooo.unsolicited "RFC 5041 5.3" rdmap_ooo_unsolicited
test_case rdmap.ooo.out-of-bounds "RFC 5040 5.2.2" rdmap_ooo_out_of_bounds
test_case rdmap.ooo.invalid-segment "RFC 5041 5.3" rdmap_ooo_invalid
test_case rdmap.ooo.invalidated "RFC 5040 5.3" rdmap_ooo_invalidated
test_case rdmap.ooo.rtr "RFC 6581 9.3" rdmap_ooo_rtr
test_case rdmap.ooo.reset-with-hole "RFC 5041 5.4" rdmap_ooo_reset

# Terminates
test_case rdmap.mpa-error.frame "ER-09" rdmap_no_frame
test_case rdmap.mulpdu "SZ-02 SZ-13" rdmap_mulpdu
test_case rdmap.mpa-error.crc "RFC 5040 6.2.1" rdmap_mpa_error crc 2/0/2 0 crc=bad
test_case rdmap.mpa-error.marker "RFC 5040 6.2.1" \
	rdmap_mpa_error marker 2/0/3 1 ptradd=4
while read -r name error swapped octets; do
	test_case "rdmap.terminate.$name" "RFC 5040 4.8" \
		rdmap_terminated "$error" "$swapped" "$octets"
done <<TERMINATES
crc		2/0/2	0	20020000
crc.siw		2/0/2	1	02020000
frame.siw	2/0/4	1	02040000
ird.siw		2/0/6	1	02060000
rtr.siw		2/0/7	1	02070000
version.alone	0/2/5	0	02050000
buffer.alone	0/2/8	0	02080000
invalidate.alone	0/2/9	0	02090000
bounds		1/1/1	0	1101c000
bounds.siw	1/1/1	1	11010300
stag		0/1/0	0	0100e000
stag.siw	0/1/0	1	10000700
opcode		0/2/6	0	0206c000
opcode.siw	0/2/6	1	20060300
unspecified	0/2/255	0	02ff0000
local		0/0/0	0	00000000
TERMINATES
test_case rdmap.fin-inside-message "FIN in a message" rdmap_fin_inside
test_case rdmap.unload "with connections" rdmap_unload
test_case rdmap.interrupted "by a signal" rdmap_interrupted
