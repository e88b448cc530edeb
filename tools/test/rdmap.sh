# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# mpa_rdmap: the programs with another mpa_rdmap, and what it makes of segments
# that no good peer would send.

# The case is about mpa_rdmap: what lib.sh does with mpa_ping, it does with that.
rdmap() {
	PING=/sys/kernel/debug/mpa_rdmap
	modprobe mpa_rdmap || fail "no mpa_rdmap"
	trap stop_serving EXIT
	network "${1:-pair}" "${2:-1500}"
}

# connect OPTION...: run it from a; R has the result, the status is kept
connect() {
	local status=0

	[[ " $* " == *" timeout="* ]] || set -- "$@" timeout=$((10 * SLOW))
	command_in a "connect addr=$B4 port=$PORT $*" 2>"$STATE/ping.err" ||
		status=$?
	read_result a result
	return $status
}

connect_ok() {
	connect "$@" || { show_result; fail "connect $*"; }
	expect status=0 reason=ok mismatches=0 mpa_error=0 terminate_tx=none \
		terminate_rx=none
}

served_ok() {
	served
	expect status=0 reason=ok mismatches=0 mpa_error=0 terminate_tx=none \
		terminate_rx=none
}

# The programs, at both ends

# Sizes around the corners: nothing, one octet, one segment and a bit, many
echo_of() {
	local size n=10

	rdmap pair "$1"
	serve app=echo markers="$2" size=1000000 depth=8
	for size in 0 1 3 64 1429 1430 1431 1434 4096 65536 1000000; do
		connect_ok app=echo markers="$2" size=$size count=$n depth=8
		expect iterations=$n messages_tx=$n messages_rx=$n \
			octets_tx=$((n * size)) octets_rx=$((n * size)) \
			markers_tx="$2" markers_rx="$2"
		served_ok
		expect iterations=$n messages_tx=$n messages_rx=$n \
			octets_rx=$((n * size))
	done
}

# A byte that comes back changed is seen: the peer changes one.
echo_differs() {
	local echoed=01000000000000000000000000000000

	rdmap
	peer_server expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$(untagged 4143 0 1 0 "$(pattern 16)")" \
		"fpdu:ulpdu=$(untagged 4143 0 1 0 $echoed)" end:fin
	connect app=echo rev=1 size=16 && fail "it is not the same"
	expect status=-84 reason=mismatch mismatches=1 messages_rx=1
	peer_served
}

rping_of() {
	local size

	rdmap pair 1500
	serve app=rping "$@"
	for size in 1 2 64 1000 4096 65536; do
		connect_ok app=rping count=20 size=$size "$@"
		expect iterations=20 messages_tx=40 messages_rx=40 reads_rx=20 \
			writes_rx=20 octets_tx=$((20 * (size + 32))) \
			octets_rx=$((20 * (size + 32)))
		served_ok
		expect iterations=20 reads_tx=20 writes_tx=20 reads_rx=0 \
			writes_rx=0
	done
}

rdma_once() {
	rdmap pair 1500
	serve app=rdma_server "$@"
	connect_ok app=rdma_client "$@"
	expect iterations=1 octets_tx=16 octets_rx=16
	served_ok
	expect iterations=1 octets_tx=16 octets_rx=16
}

# The passive side speaks first: it may when an RTR is there.
ucmatose_rtr() {
	rdmap pair 1500
	serve app=ucmatose count=200 size=3000
	connect_ok app=ucmatose count=200 size=3000 rtr="$1"
	expect iterations=200 octets_rx=600000 octets_tx=600000 rtr="$1"
	served_ok
	expect iterations=200 octets_rx=600000 octets_tx=600000 rtr="$1"
}

# Without an RTR both sides wait, until time is over; then there is a FIN.
ucmatose_waits() {
	rdmap pair 1500
	serve app=ucmatose timeout=1
	client request expect-reply:r=0 quiet:0.7 end:fin
	served
	expect status=-110 reason=timeout messages_tx=0 terminate_tx=none
}

# negotiated OFFER LIMITS...: ird and ord at both ends
depths() {
	local client=$1 server=$2

	shift 2
	rdmap pair 1500
	# shellcheck disable=SC2086
	serve app=rping $server
	# shellcheck disable=SC2086
	connect_ok app=rping count=3 $client
	expect "ird=$1" "ord=$2" revision=2
	served_ok
	expect "ird=$3" "ord=$4" revision=2
}

# rtr KIND OFFERED TAKEN
rtr_of() {
	rdmap pair 1500
	serve app=echo rtr="$3"
	connect_ok app=echo count=5 rtr="$2"
	expect rtr="$1" messages_tx=5 messages_rx=5
	served_ok
	expect rtr="$1" messages_tx=5 messages_rx=5
}

rtr_mismatch() {
	rdmap pair 1500
	serve app=echo rtr=read
	connect app=echo rtr=send && fail "they have no RTR in common"
	expect mpa_error=7 reason=rtr terminate_tx=2/0/7
	served
	expect reason=terminated terminate_rx=2/0/7 messages_rx=0
}

fallback() {
	rdmap pair 1500
	serve app=echo rev=1
	connect app=echo && fail "the server takes Rev 1 only"
	served
	connect_ok app=echo fallback=1 count=3
	expect revision=1 rtr=none iterations=3
}

sizes_both_ways() {
	rdmap pair 576
	serve app=ucmatose count=50 size=100000
	connect_ok app=ucmatose count=50 size=100000
	expect octets_rx=5000000 octets_tx=5000000
	served_ok
}

many_at_once() {
	local i pids=()

	rdmap pair 1500
	serve app=rping
	for ((i = 0; i < 8; i++)); do
		command_in a "connect addr=$B4 port=$PORT app=rping count=30 \
			size=20000 timeout=$((20 * SLOW))" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || fail "one of eight did not succeed"
	done
}

mistakes() {
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
	grep -q "No such file" "$STATE/mistake" || cat "$STATE/mistake"
}

# Segments by hand

# untagged CONTROL QUEUE MSN MO PAYLOAD [STAG]: a ULPDU in hexadecimal
untagged() {
	printf '%s%08x%08x%08x%08x%s' "$1" "${6:-0}" "$2" "$3" "$4" "${5-}"
}

# tagged CONTROL STAG OFFSET PAYLOAD; OFFSET in hexadecimal
tagged() { printf '%s%08x%016x%s' "$1" "$2" "$((16#$3))" "${4-}"; }

# read_request SINK_STAG SINK_OFFSET SIZE STAG OFFSET [MSN]
read_request() {
	untagged 4141 1 "${6:-1}" 0 "$(printf '%08x%016x%08x%08x%016x' "$1" \
		"$((16#$2))" "$3" "$4" "$((16#$5))")"
}

# terminate LAYER/TYPE/CODE [FLAGS ULPDU HEADER]: with so many octets of the
# ULPDU's header
terminate() {
	local layer type code payload

	IFS=/ read -r layer type code <<<"$1"
	payload=$(printf '%x%x%02x' "$layer" "$type" "$code")
	if (($# > 1)); then
		payload+=$(printf '%s00%04x%s' "$2" $((${#3} / 2)) \
			"${3:0:$4 * 2}")
	else
		payload+=0000
	fi
	untagged 4147 2 1 0 "$payload"
}

# What a Terminate repeats of a ULPDU: the header of a Read Request too where
# it was about protection
complaint() {
	case $1:${2:0:4} in
	2/* | 0/0/*) terminate "$1" ;;
	0/1/*:?141) terminate "$1" e0 "$2" 46 ;;
	*:[89a-f]*) terminate "$1" c0 "$2" 14 ;;
	*) terminate "$1" c0 "$2" 18 ;;
	esac
}

# The octets that an echo sends first
pattern() {
	local i

	for ((i = 0; i < $1; i++)); do
		printf %02x $((i * 7 & 255))
	done
}

# What an rping client says of a buffer: NUMBER STAG SIZE
advert() {
	untagged 4143 0 "$1" 0 \
		"$(printf '%016x%08x%08x' $(($2 << 12)) "$2" "$3")"
}

SOURCE=256		# STags of an rping client with stag=256
SINK=257
GO_ON=$(zeroes 16)	# what rping's server says in between

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
		"expect-fpdu:ulpdu=$(advert 1 $SOURCE 64)" hold "${steps[@]}" \
		push "expect-fpdu:ulpdu=$(complaint "$error" "$ulpdu")" end:fin
	connect rev=1 app=rping stag=$SOURCE size=64 && fail "it was taken"
	expect status=-71 reason=protocol terminate_tx="$error" octets_rx=0
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
		"expect-fpdu:ulpdu=$(complaint "$error" "$ulpdu")" end:fin
	served
	expect status=-71 reason=protocol terminate_tx="$error"
}

# The server echoes before it comes to the mistake, or not at all
echo_too_many() {
	local send=4143

	echo_against 1/2/2 "$(untagged $send 0 1 0 aa)" \
		"$(untagged $send 0 2 0 bb)" "$(untagged $send 0 3 0 cc)"
}

# A ULPDU that is no segment: nothing of it is sent back
echo_short() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 "fpdu:ulpdu=$1" \
		"expect-fpdu:ulpdu=$(terminate 0/2/255)" end:fin
	served
	expect status=-71 reason=protocol terminate_tx=0/2/255 messages_rx=0
}

# All Sends that there are, one of them in two segments
send_variants() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(untagged 4143 0 1 0 aabb)" \
		"expect-fpdu:ulpdu=$(untagged 4143 0 1 0 aabb)" \
		"fpdu:ulpdu=$(untagged 4145 0 2 0 cc)" \
		"expect-fpdu:ulpdu=$(untagged 4143 0 2 0 cc)" \
		"fpdu:ulpdu=$(untagged 0145 0 3 0 dd)" quiet:0.2 \
		"fpdu:ulpdu=$(untagged 4145 0 3 1 ee)" \
		"expect-fpdu:ulpdu=$(untagged 4143 0 3 0 ddee)" \
		"fpdu:ulpdu=$(untagged 7d73 0 4 0 11 4711)" \
		"expect-fpdu:ulpdu=$(untagged 4143 0 4 0 11)" fin end:fin
	served_ok
	expect messages_rx=4 octets_rx=6
}

# A buffer that the client gave away and the server gives back is gone.
invalidated() {
	local control=$1 write

	write=$(tagged c140 $SINK 101000 "$(zeroes 8)")
	rdmap pair 1500
	peer_server expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$(advert 1 $SOURCE 64)" \
		"fpdu:ulpdu=$(untagged 4143 0 1 0 "$GO_ON")" \
		"expect-fpdu:ulpdu=$(advert 2 $SINK 64)" \
		"fpdu:ulpdu=$write" hold \
		"fpdu:ulpdu=$(untagged "$control" 0 2 0 "$GO_ON" $SINK)" \
		"fpdu:ulpdu=$write" push \
		"expect-fpdu:ulpdu=$(complaint 1/1/0 "$write")" end:fin
	connect rev=1 app=rping stag=$SOURCE size=64 count=2 &&
		fail "a buffer that is gone was written"
	expect reason=protocol terminate_tx=1/1/0 writes_rx=1 octets_rx=40
	peer_served
}

# The server has begun on two connections; each has an STag of its own. The
# other one goes on.
other_stream() {
	local error=$1 ulpdu=$2 first before

	rdmap pair 1500
	serve app=rping rev=1 stag=$SOURCE
	before=$(counter b MpaRxUlpdus)
	play request expect-reply:r=0 "fpdu:ulpdu=$(tagged c140 0 0)" \
		pause:$((3 * SLOW)) fin end:fin &
	first=$!
	until (($(counter b MpaRxUlpdus) > before)); do
		kill -0 $first || fail "the first one has gone"
		sleep 0.05
	done
	client request expect-reply:r=0 "fpdu:ulpdu=$ulpdu" \
		"expect-fpdu:ulpdu=$(complaint "$error" "$ulpdu")" end:fin
	served
	expect reason=protocol terminate_tx="$error" octets_rx=0
	wait $first || fail "the other stream was disturbed"
	served_ok
}

# reads_allowed IRD NUMBER: so many at a time are answered
reads_allowed() {
	local i requests=() responses=()

	rdmap pair 1500
	for ((i = 1; i <= $2; i++)); do
		requests+=("fpdu:ulpdu=$(read_request 7 "${i}00" 0 0 0 $i)")
		responses+=("expect-fpdu:ulpdu=$(tagged c142 7 "${i}00")")
	done
	serve app=echo rev=1 ird="$1"
	client request expect-reply:r=0 hold "${requests[@]}" push \
		"${responses[@]}" fin end:fin
	served_ok
}

reads_too_many() {
	local request

	rdmap pair 1500
	serve app=echo rev=1 ird=2
	request=$(read_request 7 300 0 0 0 3)
	client request expect-reply:r=0 hold \
		"fpdu:ulpdu=$(read_request 7 100 0 0 0 1)" \
		"fpdu:ulpdu=$(read_request 7 200 0 0 0 2)" \
		"fpdu:ulpdu=$request" push \
		"expect-fpdu:ulpdu=$(complaint 1/2/2 "$request")" end:fin
	served
	expect status=-71 reason=protocol terminate_tx=1/2/2
}

# Our Read Requests: no more than ORD, which may be none
read_without_ord() {
	rdmap pair 1500
	serve app=rping rev=1 ord=0
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(advert 1 $SOURCE 64)" \
		"expect-fpdu:ulpdu=$(terminate 0/0/0)" end:fin
	served
	expect status=-95 reads_tx=0 terminate_tx=0/0/0
}

# Our server reads 64 octets of the peer, who answers with these. RTR and
# round are by hand, so that the STag of its buffer is known.
response_against() {
	local error=$1 ulpdu

	rdmap pair 1500
	serve app=rping rev=1 stag=$SOURCE
	set -- "${@:2}"
	ulpdu=${*: -1}
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(advert 1 99 64)" \
		"expect-fpdu:ulpdu=$(read_request $SOURCE 100000 64 99 63000)" \
		hold "${@/#/fpdu:ulpdu=}" push \
		"expect-fpdu:ulpdu=$(complaint "$error" "$ulpdu")" end:fin
	served
	expect status=-71 reason=protocol terminate_tx="$error" reads_tx=0
}

# In two segments, and all is well
response_good() {
	rdmap pair 1500
	serve app=rping rev=1 stag=$SOURCE
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(advert 1 99 64)" \
		"expect-fpdu:ulpdu=$(read_request $SOURCE 100000 64 99 63000)" \
		"fpdu:ulpdu=$(tagged 8142 $SOURCE 100000 "$(pattern 40)")" \
		"fpdu:ulpdu=$(tagged c142 $SOURCE 100028 "$(pattern 24)")" \
		"expect-fpdu:ulpdu=$(untagged 4143 0 1 0 "$GO_ON")" \
		"fpdu:ulpdu=$(advert 2 98 64)" \
		"expect-fpdu:ulpdu=$(tagged c140 98 62000 \
			"$(pattern 40)$(pattern 24)")" \
		"expect-fpdu:ulpdu=$(untagged 4143 0 2 0 "$GO_ON")" fin end:fin
	served_ok
	expect iterations=1 reads_tx=1 writes_tx=1 octets_rx=96
}

# Errors of MPA are told by RDMAP.
mpa_error_told() {
	rdmap pair 1500
	serve app=echo rev=1 markers="$3"
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(untagged 4143 0 1 0 aa)" \
		"expect-fpdu:ulpdu=$(untagged 4143 0 1 0 aa)" \
		"fpdu:size=600,$4" \
		"expect-fpdu:ulpdu=$(terminate "$2")" end:fin
	served
	expect reason="$1" terminate_tx="$2" messages_rx=1
}

# terminated_by LAYER/TYPE/CODE SWAPPED OCTETS
terminated_by() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(untagged 4147 2 1 0 "$3")" end:fin
	served
	expect status=-121 reason=terminated terminate_rx="$1" \
		terminate_swapped="$2" terminate_tx=none
}

# The RTR that was agreed on has to come, and be one.
rtr_against() {
	rdmap pair 1500
	serve app=echo rtr=write,read
	client "request:rev=2,s=1,A=1,C=1,ird=1,ord=1" \
		expect-reply:rev=2,s=1,A=1,C=1 "fpdu:ulpdu=$1" \
		"expect-fpdu:ulpdu=$(terminate 2/0/7)" end:fin
	served
	expect reason=protocol terminate_tx=2/0/7 messages_rx=0 rtr=none
}

# rtr_sent KIND FLAGS: the first that our client sends
rtr_sent() {
	rdmap pair 1500
	peer_server expect-request:rev=2,s=1,A=1 \
		"reply:rev=2,s=1,A=1,$2=1,ird=1,ord=1" "expect-fpdu:rtr=$1" \
		rst
	connect app=echo && fail "the peer has reset it"
	expect rtr="$1" reason=reset messages_rx=0
	peer_served
}

# Lifetimes

# The module goes while connections are in the middle of a message.
unload() {
	local i before pids=()

	rdmap pair 1500
	serve app=echo rev=1
	before=$(counter b MpaRxUlpdus)
	for ((i = 0; i < 4; i++)); do
		play request expect-reply:r=0 \
			"fpdu:ulpdu=$(untagged 0143 0 1 0 aa)" end:reset &
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
	connect_ok app=echo count=3
}

# Ended by a signal, a connect is gone at once, and tells the peer.
interrupted() {
	local pid before

	rdmap pair 1500
	before=$(counter a MpaTxUlpdus)
	peer_server expect-request:rev=1 reply \
		"expect-fpdu:ulpdu=$(untagged 4143 0 1 0 "$(pattern 16)")" \
		"expect-fpdu:ulpdu=$(terminate 0/0/0)" end:fin
	# Not by ns: the process is to be the one that writes
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
fin_inside() {
	rdmap pair 1500
	serve app=echo rev=1
	client request expect-reply:r=0 \
		"fpdu:ulpdu=$(untagged 0143 0 1 0 aa)" fin end:fin
	served
	expect status=-103 reason=closed messages_rx=0
}

test_case rdmap.echo.mtu1500 "RFC 5040 5.3, RFC 5041 5" echo_of 1500 0
test_case rdmap.echo.mtu576.markers "RFC 5041 5" echo_of 576 1
test_case rdmap.echo.differs "what came back is compared" echo_differs
test_case rdmap.rping.rev2 "RFC 5040 5.1, 5.2" rping_of
test_case rdmap.rping.rev1 "RFC 5040 5.1, 5.2" rping_of rev=1
test_case rdmap.rping.rev0 "versions 0 of DDP and RDMAP" rping_of rev=0
test_case rdmap.rping.markers "RFC 5040 5.1, 5.2" rping_of markers=1
test_case rdmap.rdma.rev2 "rdma_client and rdma_server" rdma_once
test_case rdmap.rdma.rev1 "rdma_client and rdma_server" rdma_once rev=1
test_case rdmap.ucmatose.send "the passive side first" ucmatose_rtr send
test_case rdmap.ucmatose.write "the passive side first" ucmatose_rtr write
test_case rdmap.ucmatose.read "the passive side first" ucmatose_rtr read
test_case rdmap.ucmatose.waits "a FIN when time is over" ucmatose_waits
test_case rdmap.ucmatose.mtu576 "100000 octets each" sizes_both_ways
test_case rdmap.parallel "many at once" many_at_once
test_case rdmap.mistakes "options" mistakes
test_case rdmap.depths.same "RFC 6581 9.1" depths "ird=3 ord=5" "ird=5 ord=3" \
	3 5 5 3
test_case rdmap.depths.bounded "RFC 6581 9.1" depths "ird=2 ord=9" \
	"ird=4 ord=8" 2 4 4 2
test_case rdmap.rtr.offer "RFC 6581 9.2" rtr_of read send,read read,write
test_case rdmap.rtr.none "RFC 6581 9.2" rtr_of none none send,write,read
test_case rdmap.rtr.mismatch "RFC 6581 8" rtr_mismatch
test_case rdmap.rtr.sent.send "RFC 6581 9.3" rtr_sent send B
test_case rdmap.rtr.sent.write "RFC 6581 9.3" rtr_sent write C
test_case rdmap.rtr.sent.read "RFC 6581 9.3" rtr_sent read D
test_case rdmap.rtr.not "a Send that is not empty" \
	rtr_against "$(untagged 4143 0 1 0 aa)"
test_case rdmap.rtr.other "one that was not agreed on" \
	rtr_against "$(untagged 4143 0 1 0)"
test_case rdmap.rtr.read.octets "a Read that is not empty" \
	rtr_against "$(read_request 1 0 1 1 0)"
test_case rdmap.fallback "to Rev 1" fallback

test_case rdmap.send.variants "RFC 5040 4.1, 5.3" send_variants
test_case rdmap.send.invalidate "RFC 5040 5.3" invalidated 4144
test_case rdmap.send.invalidate.se "RFC 5040 5.3" invalidated 4146
test_case rdmap.read.good "RFC 5040 5.2" response_good
test_case rdmap.read.ird "RFC 5040 6.1" reads_allowed 3 3
test_case rdmap.read.ird.above "RFC 5040 6.1" reads_too_many
test_case rdmap.read.ird.none "RFC 5040 6.1" echo_against 1/2/2 \
	"$(read_request 1 0 0 1 0)"
test_case rdmap.read.ord.none "RFC 5040 6.1" read_without_ord

# NAME ERROR ULPDU: RDMA Writes that go nowhere
while read -r name error stag offset octets; do
	test_case "rdmap.write.$name" "RFC 5041 7.1, 7.2" rping_against \
		"$error" "$(tagged c140 "$stag" "$offset" "$(zeroes "$octets")")"
done <<WRITES
stag		1/1/0	1000	101000	8
stag.zero	1/1/0	0	0	1
access		1/1/0	$SOURCE	100000	8
below		1/1/1	$SINK	100fff	8
behind		1/1/1	$SINK	101040	1
across		1/1/1	$SINK	10103f	2
long		1/1/1	$SINK	101000	65
wrap		1/1/3	$SINK	ffffffffffffffff	2
wrap.into	1/1/3	$SINK	ffffffffffffffc0	64
WRITES
test_case rdmap.write.stream "RFC 5041 8.2" other_stream 1/1/2 \
	"$(tagged c140 $SOURCE 100000 aa)"
test_case rdmap.write.inside "the last octet is ours, the next is not" \
	rping_against 1/1/1 "$(tagged c140 $SINK 101040)" \
	"$(tagged c140 $SINK 101040 aa)"

# NAME ERROR STAG OFFSET SIZE: Read Requests
while read -r name error stag offset size; do
	test_case "rdmap.read.$name" "RFC 5040 4.8, 7.2" rping_against \
		"$error" "$(read_request 9 9000 "$size" "$stag" "$offset")"
done <<READS
stag	0/1/0	1000	100000	8
access	0/1/2	$SINK	101000	8
below	0/1/1	$SOURCE	fffff	8
behind	0/1/1	$SOURCE	100040	1
across	0/1/1	$SOURCE	10003f	2
long	0/1/1	$SOURCE	100000	4294967295
wrap	0/1/4	$SOURCE	ffffffffffffffff	2
READS
test_case rdmap.read.stream "RFC 5040 7.2" other_stream 0/1/3 \
	"$(read_request 9 9000 1 $SOURCE 100000)"

# Headers
test_case rdmap.ddp.version.tagged "RFC 5041 7.2" \
	rping_against 1/1/4 "$(tagged c240 $SINK 101000 aa)"
test_case rdmap.ddp.version.untagged "RFC 5041 7.2" \
	echo_against 1/2/6 "$(untagged 4043 0 1 0 aa)"
test_case rdmap.version "RFC 5040 4.8" \
	echo_against 0/2/5 "$(untagged 4103 0 1 0 aa)"
test_case rdmap.queue "RFC 5041 7.2" \
	echo_against 1/2/1 "$(untagged 4143 3 1 0 aa)"
test_case rdmap.queue.other "RFC 5040 4.1" \
	echo_against 0/2/6 "$(untagged 4143 1 1 0 aa)"
test_case rdmap.opcode.reserved "RFC 5040 4.8" \
	echo_against 0/2/6 "$(untagged 4148 0 1 0 aa)"
test_case rdmap.opcode.tagged "RFC 5040 4.1" \
	echo_against 0/2/6 "$(tagged c143 1 0 aa)"
test_case rdmap.opcode.untagged "RFC 5040 4.1" \
	echo_against 0/2/6 "$(untagged 4140 0 1 0 aa)"
test_case rdmap.msn.first "RFC 5041 4.3, 7.2" \
	echo_against 1/2/3 "$(untagged 4143 0 0 0 aa)"
test_case rdmap.msn.gap "RFC 5041 7.2" \
	echo_against 1/2/3 "$(untagged 4143 0 2 0 aa)"
test_case rdmap.mo "RFC 5041 7.2" \
	echo_against 1/2/4 "$(untagged 4143 0 1 1 aa)"
test_case rdmap.mo.gap "RFC 5041 7.2" echo_against 1/2/4 \
	"$(untagged 0143 0 1 0 aa)" "$(untagged 4143 0 1 2 aa)"
test_case rdmap.long "RFC 5041 7.2" \
	echo_against 1/2/5 "$(untagged 4143 0 1 0 "$(zeroes 65)")"
test_case rdmap.long.second "RFC 5041 7.2" echo_against 1/2/5 \
	"$(untagged 0143 0 1 0 "$(zeroes 64)")" "$(untagged 4143 0 1 64 aa)"
test_case rdmap.buffer "RFC 5041 7.2" echo_too_many
test_case rdmap.short.1 "no header" echo_short 41
test_case rdmap.short.tagged "no header" echo_short "c140$(zeroes 11)"
test_case rdmap.short.untagged "no header" echo_short "4143$(zeroes 15)"
test_case rdmap.invalidate "RFC 5040 5.3" echo_against 0/1/9 \
	"$(untagged 4144 0 1 0 aa 77)"

# Responses
test_case rdmap.response.unasked "RFC 5040 5.2.2" \
	rping_against 0/2/6 "$(tagged c142 $SINK 101000 aa)"
test_case rdmap.response.stag "RFC 5040 5.2.2" response_against 1/1/0 \
	"$(tagged c142 77 100000 "$(zeroes 64)")"
test_case rdmap.response.offset "RFC 5040 5.2.2" response_against 1/1/1 \
	"$(tagged c142 $SOURCE 100001 "$(zeroes 64)")"
test_case rdmap.response.long "RFC 5040 5.2.2" response_against 1/1/1 \
	"$(tagged c142 $SOURCE 100000 "$(zeroes 65)")"
test_case rdmap.response.short "RFC 5040 5.2.2" response_against 0/2/255 \
	"$(tagged c142 $SOURCE 100000 "$(zeroes 63)")"
test_case rdmap.response.open "RFC 5040 5.2.2" response_against 0/2/255 \
	"$(tagged 8142 $SOURCE 100000 "$(zeroes 64)")"
test_case rdmap.response.write "no place for the peer's own Writes" \
	response_against 1/1/0 "$(tagged c140 $SOURCE 100000 "$(zeroes 64)")"

# Terminates
test_case rdmap.told.crc "RFC 5040 6.2.1" mpa_error_told crc 2/0/2 0 crc=bad
test_case rdmap.told.marker "RFC 5040 6.2.1" \
	mpa_error_told marker 2/0/3 1 ptradd=4
while read -r name error swapped octets; do
	test_case "rdmap.terminate.$name" "RFC 5040 4.8" \
		terminated_by "$error" "$swapped" "$octets"
done <<TERMINATES
crc		2/0/2	0	20020000
crc.siw		2/0/2	1	02020000
rtr.siw		2/0/7	1	02070000
bounds		1/1/1	0	1101c000
bounds.siw	1/1/1	1	11010300
stag		0/1/0	0	0100e000
stag.siw	0/1/0	1	10000700
opcode		0/2/6	0	0206c000
opcode.siw	0/2/6	1	20060300
unspecified	0/2/255	0	02ff0000
local		0/0/0	0	00000000
TERMINATES
test_case rdmap.end.inside "FIN in a message" fin_inside
test_case rdmap.unload "with connections" unload
test_case rdmap.interrupted "by a signal" interrupted
