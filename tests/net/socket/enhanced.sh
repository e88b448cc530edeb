# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Enhanced startup, RFC 6581: octets on the wire, and what mpa_ping itself does: it sends
# and checks the RTR, sends a Terminate, and falls back to Rev 1. KUnit has the
# negotiation.

# untagged OPCODE QN: header of the first message of a queue
untagged() { echo "414${1}00000000${2}0000000100000000"; }

SEND=$(untagged 3 00000000)
WRITE=c140000000010000000000000000
READ=$(untagged 1 00000001)$(zeroes 16)00000001$(zeroes 8)
ANSWER=c142$(zeroes 12)

TERMINATE=$(untagged 7 00000002)20	# then code and two octets

# rtr_refused KINDS ULPDU...: ULPDUs that a server of these kinds refuses as RTR
rtr_refused() {
	local allowed=$1 ulpdu

	network pair 1500
	serve rev=2 "rtr=$allowed"
	shift
	for ulpdu; do
		client "send:${REQ_KEY}50020004c010c010" read:24 set:crc=1 \
			hold "fpdu:ulpdu=$ulpdu" fpdu push \
			"expect-fpdu:ulpdu=${TERMINATE}070000" end:fin
		served
		expect reason=frame mpa_error=7 ulpdus_rx=0 ulpdus_tx=0
	done
	ping_ok "$B4" rev=2 "rtr=$allowed" count=3
	served
	expect status=0 ulpdus_rx=3
}

# half_closed NS: number of connections to the server of which the peer has
# closed its half
half_closed() {
	ns "$1" awk -v port="$(printf %04X "$PORT")" \
		'$3 ~ ":" port "$" && $4 == "08" { n++ } END { print n + 0 }' \
		/proc/net/tcp
}

# A peer that reads the Terminate message and the FIN, and stays, is reset.
rtr_silent() {
	local peer

	network pair 1500
	serve rev=2 rtr=write
	play "request:rev=2,s=1,A=1,C=1" expect-reply:rev=2,s=1,A=1,C=1 \
		"fpdu:ulpdu=$SEND" "expect-fpdu:ulpdu=${TERMINATE}070000" \
		end:fin pause:$((20 * SLOW)) &
	peer=$!
	served
	expect reason=frame mpa_error=7
	until (($(half_closed a))); do
		kill -0 $peer || fail "the peer has gone"
		sleep 0.05
	done
	while (($(half_closed a))); do
		kill -0 $peer || fail "there was no reset"
		sleep 0.1
	done
	kill $peer || fail "the peer has gone"
}

# An Initiator that ends before its RTR, or says why it does not send one
rtr_missing() {
	network pair 1500
	serve rev=2
	client "send:${REQ_KEY}5002000480108010" \
		"data:${REP_KEY}5002000480108010" fin end
	served
	expect reason=closed mpa_error=1 ulpdus_rx=0
	client "send:${REQ_KEY}5002000400100010" \
		"data:${REP_KEY}5002000400100010" set:crc=1 \
		"fpdu:ulpdu=${TERMINATE}060000" end:fin
	served
	expect reason=frame mpa_error=6 ulpdus_rx=0
}

# reply REQUEST REPLY STEP...: octets after the key in our Request and in the peer's
# Reply, and further steps of the peer; the ping fails
reply() {
	peer_server "data:${REQ_KEY}$1" "send:${REP_KEY}$2" set:crc=1 "${@:3}"
	ping_to "$B4" rev=2 mode=sink size=42 count=1 "${OPTIONS[@]}" &&
		fail "the Reply $2 was taken"
	peer_served
}

# terminated CODE COUNTER REQUEST REPLY OPTION...: the Terminate message, and the end
terminated() {
	local before OPTIONS=("${@:5}")

	network pair 1500
	before=$(counter a "$2")
	reply "$3" "$4" "expect-fpdu:ulpdu=${TERMINATE}${1}0000" end:fin
	expect "mpa_error=$((10#$1))" reason=frame ulpdus_tx=0 ulpdus_rx=0
	grown a "$2" "$before" 1
}

without_s() {
	local before OPTIONS=()

	network pair 1500
	before=$(counter a MpaErrEnhanced)
	reply 5002000400100010 40020000 end:reset
	expect mpa_error=4 reason=frame
	grown a MpaErrEnhanced "$before" 1
}

# The RTR is first, and the answer to it is owed: its absence is a fault
rtr_answer() {
	local asked=5002000480104010 OPTIONS=(rtr=read)

	network pair 1500
	peer_server "data:${REQ_KEY}$asked" quiet:0.5 "send:${REP_KEY}$asked" \
		set:crc=1 "expect-fpdu:ulpdu=$READ" "fpdu:ulpdu=$ANSWER" \
		data:002a read:46 end:fin
	ping_ok "$B4" rev=2 mode=sink size=42 count=1 "${OPTIONS[@]}"
	expect enhanced=1 rtr=read ulpdus_tx=1 ulpdus_rx=0
	peer_served
	reply $asked $asked "expect-fpdu:ulpdu=$READ" read:48 fin end:fin
	expect reason=mismatch mismatches=1
}

# A Responder that does not know Rev 2 resets; then a second connection by Rev 1
falls_back() {
	local before

	network pair 1500
	serve rev=1 pdata=old
	before=$(counter a MpaFallbacks)
	ping_ok "$B4" rev=2 fallback=1 rtr=read pdata=new size=1000 count=5 \
		verify=1
	expect revision=1 enhanced=0 ird=0 ord=0 rtr=none ulpdus_rx=5 \
		peer_pdata=6f6c64
	grown a MpaFallbacks "$before" 1
	served
}

# On the wire

# streams PING-OPTION...: run a ping with a capture on the router's wire; OURS and
# THEIRS are the octets of both sides
streams() {
	network routed 1500
	no_probes
	serve rev=2 "${OPTIONS[@]}"
	capture_start r ra wire
	ping_to "$B4" rev=2 "$@" || true
	served
	capture_stop wire
	stop_serving
	read_result a result
	OURS=$(payloads wire "$A4" | tr -d '\n')
	THEIRS=$(payloads wire "$B4" | tr -d '\n')
}

# The rest of both streams is the one FPDU of the ping
one_fpdu() {
	same "${#OURS}" 96 "hex digits of the first FPDU"
	like "$OURS" "002a0000000000000000*" "the first FPDU"
	same "$OURS" "$(mpa-peer crc "${OURS:0:88}")" "its CRC"
	same "$THEIRS" "$OURS" "its echo"
}

# after STREAM OCTETS WHAT: compare and remove the beginning of OURS or THEIRS
after() {
	local -n stream=$1

	same "${stream:0:${#2}}" "$2" "$3"
	stream=${stream:${#2}}
}

read_on_wire() {
	local OURS THEIRS OPTIONS=(ird=8 ord=9)

	streams ird=5 ord=6 rtr=read,send pdata=ab size=42 count=1
	expect status=0 ird=5 ord=6 peer_ird=6 peer_ord=5 rtr=read
	after OURS "${REQ_KEY}50020006c00540066162" "the Request"
	after OURS 002e41410000000000000001000000010000000000000000000000000000000000000000000000010000000000000000ba10e3c9 \
		"the RTR"
	after THEIRS "${REP_KEY}50020006c00640056162" "the Reply"
	after THEIRS "$(mpa-peer crc "000e$ANSWER")" "the RDMA Read Response"
	one_fpdu
}

write_on_wire() {
	local OURS THEIRS OPTIONS=(rtr=write ird=16383 ord=0)

	streams ird=0 ord=16383 rtr=read,write,send size=42 count=1
	expect status=0 ird=0 ord=16383 peer_ird=16383 peer_ord=0 rtr=write
	after OURS "${REQ_KEY}50020004c000ffff" "the Request"
	after OURS 000ec140000000010000000000000000ebd34c5f "the RTR"
	after THEIRS "${REP_KEY}50020004bfff8000" "the Reply"
	one_fpdu
}

send_on_wire() {
	local OURS THEIRS OPTIONS=()

	streams rtr=send size=42 count=1
	after OURS "${REQ_KEY}50020004c0100010" "the Request"
	after OURS 0012414300000000000000000000000100000000587be8c4 "the RTR"
	after THEIRS "${REP_KEY}50020004c0100010" "the Reply"
	one_fpdu
}

invalid_options() {
	refused_commands <<-LINES
		ping addr=$B4 port=$PORT rev=3
		ping addr=$B4 port=$PORT ird=1
		ping addr=$B4 port=$PORT rev=1 ord=1
		ping addr=$B4 port=$PORT rev=0 rtr=send
		ping addr=$B4 port=$PORT rev=1 ird_max=0
		ping addr=$B4 port=$PORT fallback=0
		ping addr=$B4 port=$PORT start=immediate ird=1
		ping addr=$B4 port=$PORT start=immediate rev=2
		ping addr=$B4 port=$PORT rev=2 ird=16384
		ping addr=$B4 port=$PORT rev=2 ord=16384
		ping addr=$B4 port=$PORT rev=2 ird=-1
		ping addr=$B4 port=$PORT rev=2 ird_max=16384
		ping addr=$B4 port=$PORT rev=2 rtr=
		ping addr=$B4 port=$PORT rev=2 rtr=receive
		ping addr=$B4 port=$PORT rev=2 rtr=send,
		ping addr=$B4 port=$PORT rev=2 rtr=send,none
		ping addr=$B4 port=$PORT rev=2 fallback=2
		ping addr=$B4 port=$PORT rev=2 pdatahex=$(zeroes 509)
		serve port=$PORT ord=1
		serve port=$PORT rev=2 rtr=
		serve port=$PORT rev=2 rtr=none
		serve port=$PORT rev=2 ird_max=1
		serve port=$PORT rev=2 fallback=1
		serve port=$PORT rev=2 pdatahex=$(zeroes 509)
		stop port=$PORT rev=2
	LINES
}

test_case enhanced.rtr.missing "E-16 E-31 E-43" rtr_missing
test_case enhanced.rtr.silent "a peer that does not close" rtr_silent
test_case enhanced.rtr.wrong-kind "E-31 E-43" \
	rtr_refused write "$SEND" "$READ" "$ANSWER"
# Version of DDP, of RDMAP; not the last segment; tagged; QN, MSN, MO; too long;
# another opcode
test_case enhanced.rtr.bad-send "E-43" rtr_refused send \
	"40${SEND:2}" "4103${SEND:4}" "01${SEND:2}" "c1${SEND:2}" \
	"$(untagged 3 00000001)" "${SEND:0:20}00000002${SEND:28}" \
	"${SEND:0:28}00000001" "${SEND}00" "$(untagged 5 00000000)" 00
test_case enhanced.rtr.bad-write "E-43" rtr_refused write \
	"41${WRITE:2}" "c0${WRITE:2}" "c100${WRITE:4}" "81${WRITE:2}" \
	"${WRITE}00" "${WRITE:0:26}"
test_case enhanced.rtr.bad-read "E-43" rtr_refused read \
	"$(untagged 1 00000000)${READ:36}" "${READ:0:60}00000004${READ:68}" \
	"${READ:0:90}" "${READ}00" "c1${READ:2}" "$(untagged 2 00000001)${READ:36}"
test_case enhanced.reply.no-s "E-42" without_s
test_case enhanced.reply.no-kind "E-29 E-31 E-44" terminated 07 MpaErrRtr \
	5002000480108010 5002000480100010 rtr=write
test_case enhanced.reply.ord "E-16 E-44" terminated 06 MpaErrIrd \
	5002000400100010 5002000400100011
test_case enhanced.reply.answer "E-09 E-30 TX-17" rtr_answer
test_case enhanced.fallback "E-40 E-41" falls_back
test_case enhanced.wire.read "E-01 E-05 E-07 E-10 E-11 E-12 E-17 E-22 E-23 E-25 E-26 \
E-30 E-37" read_on_wire
test_case enhanced.wire.write "E-07 E-18 E-19 E-23 E-25 E-27 E-30" write_on_wire
test_case enhanced.wire.send "E-07 E-22 E-25 E-30" send_on_wire
test_case enhanced.invalid-options "E-07 E-08 E-24" invalid_options
