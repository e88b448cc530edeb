# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Enhanced startup, RFC 6581: negotiation, the RTR, and the fallback to Rev 1

# untagged OPCODE QN: header of the first message of a queue
untagged() { echo "414${1}00000000${2}0000000100000000"; }

SEND=$(untagged 3 00000000)
WRITE=c140000000010000000000000000
READ=$(untagged 1 00000001)$(zeroes 16)00000001$(zeroes 8)
# RDMA Read of no octets with a sink STag
READ_TO=$(untagged 1 00000001)112233445566778899aabbcc00000000$(zeroes 12)
ANSWER=c142$(zeroes 12)
ANSWER_TO=c142112233445566778899aabbcc

TERMINATE=$(untagged 7 00000002)20	# then code and two octets

# depths IRD ORD IRD ORD: those of ping and of serve; then the negotiated ones
depths() {
	network pair 1500
	serve rev=2 "ird=$3" "ord=$4"
	ping_ok "$B4" rev=2 "ird=$1" "ord=$2" size=100 count=3
	expect revision=2 enhanced=1 "ird=$5" "ord=$6" "peer_ird=$9" \
		"peer_ord=${10}" rtr=none peer_rtr=none ulpdus_rx=3
	served
	expect revision=2 enhanced=1 "ird=$7" "ord=$8" "peer_ird=$1" \
		"peer_ord=$2" rtr=none peer_rtr=none ulpdus_rx=3
}

# An RTR by RDMA Read needs one where the Initiator has asked for none
depth_for_rtr() {
	network pair 1500
	serve rev=2 ird=0
	ping_ok "$B4" rev=2 rtr=read ord=0
	expect rtr=read ord=0 peer_ird=1
	served
	expect rtr=read ird=1 peer_ord=0
}

# kind KIND PING-OPTION...: that RTR and nothing else comes first; it is not
# counted
kind() {
	local kind=$1 answered=0 before after

	shift
	[[ $kind != read ]] || answered=1
	before=$(counter a MpaRxUlpdus)
	after=$(counter b MpaRxUlpdus)
	ping_ok "$B4" rev=2 "rtr=$kind" size=300 count=10 verify=1 "$@"
	expect enhanced=1 "rtr=$kind" "peer_rtr=$kind" ulpdus_tx=10 \
		ulpdus_rx=10 bytes_tx=3000 bytes_rx=3000
	grown a MpaRxUlpdus "$before" $((10 + answered))
	grown b MpaRxUlpdus "$after" 11
	served
	expect status=0 "rtr=$kind" "peer_rtr=$kind" ulpdus_rx=10 ulpdus_tx=10
}

# kind_with KIND CRC: with all combinations of markers
kind_with() {
	local ours theirs

	network pair 1500
	spoil
	set_sysctl a "net.mpa.crc=$2"
	set_sysctl b "net.mpa.crc=$2"
	for theirs in 0 1; do
		serve rev=2 "markers=$theirs"
		for ours in 0 1; do
			kind "$1" "markers=$ours"
			expect "crc=$2" "markers_tx=$ours" "markers_rx=$theirs"
		done
		stop_serving
	done
}

kind_into_sink() {
	local kind

	network pair 1500
	serve rev=2 mode=sink capture=1
	for kind in send write read; do
		ping_ok "$B4" rev=2 "rtr=$kind" mode=sink size=500 count=4
		expect "rtr=$kind" ulpdus_tx=4 ulpdus_rx=0
		served
		expect ulpdus_rx=4 bytes_rx=2000
		same "$(ns b cat "$PING/captured" | wc -c)" 2000 "octets captured"
	done
	# An RTR alone
	ping_ok "$B4" rev=2 rtr=read count=0
	expect ulpdus_tx=0 ulpdus_rx=0
	served
	expect status=0 ulpdus_rx=0
}

# chosen OFFERED SUPPORTED IN-REPLY SENT
chosen() {
	network pair 1500
	serve rev=2 "rtr=$2"
	ping_ok "$B4" rev=2 "rtr=$1" count=5 verify=1
	expect "rtr=$4" "peer_rtr=$3" ulpdus_rx=5
	served
	expect "rtr=$3" "peer_rtr=$1" ulpdus_rx=5
}

# pdata_size OCTETS
pdata_size() {
	local hex

	network pair 1500
	hex=$(head -c "$1" /dev/urandom | xxd -p | tr -d '\n')
	serve rev=2
	ping_ok "$B4" rev=2 rtr=send ${hex:+pdatahex=$hex}
	expect enhanced=1 peer_pdata="$hex"
	served
	expect enhanced=1 peer_pdata="$hex"
}

pdata_too_long() {
	local hex

	network pair 1500
	hex=$(zeroes 509)
	serve rev=2
	ping_to "$B4" rev=2 "pdatahex=$hex" && fail "509 octets were taken"
	ping_ok "$B4" rev=1 "pdatahex=$hex"
	expect revision=1 peer_pdata="$hex"
	command_in b "serve port=$((PORT + 1)) rev=2 pdatahex=$hex" 2>/dev/null &&
		fail "509 octets were taken by a server"
	return 0
}

enhanced_reject() {
	network pair 1500
	serve rev=2 reject=1 pdata=no ird=7 ord=8
	ping_to "$B4" rev=2 rtr=send ird=3 ord=4 && fail "that is no success"
	expect reason=rejected peer_pdata=6e6f mpa_error=0 ulpdus_tx=0 \
		peer_ird=7 peer_ord=8
	served
	expect reason=rejected peer_ird=3 peer_ord=4 peer_rtr=send
	client "send:${REQ_KEY}5002000480030004" \
		"data:${REP_KEY}70020006c007c0086e6f" end:fin
}

# Request and Reply have S, or neither has
mixed_revisions() {
	local rev

	network pair 1500
	serve rev=2
	for rev in 0 1; do
		ping_ok "$B4" "rev=$rev" size=1000 count=5 verify=1
		expect "revision=$rev" enhanced=0 ird=0 ord=0 rtr=none \
			"markers_rx=$((1 - rev))"
		served
		expect "revision=$rev" enhanced=0 ird=0 ord=0 rtr=none
	done
	# In Rev 1 the bit of S is reserved
	client "send:${REQ_KEY}50010000" "data:${REP_KEY}40010000" \
		"send:$FPDU" "data:$FPDU"
	served
	expect status=0 revision=1 ulpdus_rx=1
	# Rev 2 without S
	client "send:${REQ_KEY}40020002abcd" "data:${REP_KEY}40020002abcd" \
		"send:$FPDU" "data:$FPDU"
	served
	expect status=0 revision=2 enhanced=0 peer_pdata=abcd ulpdus_rx=1
}

# answered REQUEST REPLY ULPDU...: octets of a Request and of its Reply after the key,
# and messages that the server takes without a reply
answered() {
	local request=$1 reply=$2 ulpdu steps=(set:crc=1)

	network pair 1500
	shift 2
	serve rev=2 mode=sink "rtr=${KINDS:-send,write,read}"
	for ulpdu; do
		steps+=("fpdu:ulpdu=$ulpdu")
	done
	client "send:${REQ_KEY}$request" "data:${REP_KEY}$reply" \
		"${steps[@]}" fin end:fin
	served
	expect status=0 enhanced=1
}

# An RTR may have FPDUs right after it, or come octet by octet
rtr_accepted() {
	local rtr answer

	network pair 1500
	serve rev=2 mode=sink
	for rtr in "$SEND" "$WRITE" "$READ"; do
		answer=
		[[ $rtr != "$READ" ]] || answer=expect-fpdu:ulpdu=$ANSWER
		client "send:${REQ_KEY}50020004c010c010" \
			"data:${REP_KEY}50020004c010c010" set:crc=1 hold \
			"fpdu:ulpdu=$rtr" fpdu:count=2 push ${answer:+"$answer"} fin \
			end:fin
		served
		expect status=0 ulpdus_rx=2 bytes_rx=84
	done
	client "send:${REQ_KEY}50020004c010c010" \
		"data:${REP_KEY}50020004c010c010" set:crc=1 dribble \
		"fpdu:ulpdu=$WRITE" fpdu fin end:fin
	served
	expect status=0 ulpdus_rx=1
}

# Reserved bits count for nothing, nor does the STag of no octets
rtr_reserved_bits() {
	KINDS="send" answered 50020004c0100010 50020004c0100010 \
		"7d73ffffffff${SEND:12}"
	expect ulpdus_rx=0
	stop_serving
	KINDS="write" answered 500200048010c010 5002000480108010 \
		"fd70$(zeroes 12)"
	expect ulpdus_rx=0
	stop_serving
	KINDS="write" answered 500200048010c010 5002000480108010 \
		"c140ffffffffffffffffffffffff" "$WRITE"
	expect ulpdus_rx=1
}

# The Responder's first message is the answer to a RDMA Read
rtr_answered() {
	network pair 1500
	serve rev=2 mode=sink
	client "send:${REQ_KEY}5002000480104010" \
		"data:${REP_KEY}5002000480104010" quiet:0.5 set:crc=1 \
		"fpdu:ulpdu=$READ_TO" "expect-fpdu:ulpdu=$ANSWER_TO" \
		quiet:0.5 fin end:fin
	served
	expect status=0 rtr=read ulpdus_rx=0 ulpdus_tx=0
}

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

# accepted_reply REQUEST REPLY STEP...: the same, but the ping succeeds
accepted_reply() {
	peer_server "data:${REQ_KEY}$1" quiet:0.5 "send:${REP_KEY}$2" \
		set:crc=1 "${@:3}" data:002a read:46 end:fin
	ping_ok "$B4" rev=2 mode=sink size=42 count=1 "${OPTIONS[@]}"
	expect enhanced=1 ulpdus_tx=1 ulpdus_rx=0
	peer_served
}

# terminated CODE REQUEST REPLY OPTION...: the Terminate message, and the end
terminated() {
	local OPTIONS=("${@:4}")

	network pair 1500
	reply "$2" "$3" "expect-fpdu:ulpdu=${TERMINATE}${1}0000" end:fin
	expect "mpa_error=$((10#$1))" reason=frame ulpdus_tx=0 ulpdus_rx=0
}

# More than we asked for, but not more than we can have
ird_grows() {
	local OPTIONS=(ird=10 ird_max=20)

	network pair 1500
	accepted_reply 50020004000a0010 5002000400100014
	expect ird=20 ord=16 peer_ird=16 peer_ord=20
}

# Without A the other flags mean nothing
flags_without_a() {
	local OPTIONS=()

	answered 500200044010c010 5002000400100010 "4143$(zeroes 40)"
	expect rtr=none peer_rtr=none ulpdus_rx=1
	stop_serving
	accepted_reply 5002000400100010 500200044010c010
	expect rtr=none peer_rtr=none
}

# The RTR is first, and the answer to it is owed: its absence is a fault
rtr_answer() {
	local OPTIONS=(rtr=read)

	network pair 1500
	accepted_reply 5002000480104010 5002000480104010 \
		"expect-fpdu:ulpdu=$READ" "fpdu:ulpdu=$ANSWER"
	expect mismatches=0 rtr=read
	reply 5002000480104010 5002000480104010 \
		"expect-fpdu:ulpdu=$READ" read:48 fin end:fin
	expect reason=mismatch mismatches=1
}

# Back to Rev 1

# refused_rev REV: a Responder that does not know Rev 2 resets
refused_rev() {
	network pair 1500
	serve "rev=$1"
	ping_to "$B4" rev=2 && fail "Rev 2 was taken"
	expect reason=reset mpa_error=1 enhanced=0 ulpdus_tx=0
	served
	expect reason=frame mpa_error=4
	ping_ok "$B4"
}

# falls_back REV: a Responder that does not know Rev 2, then a second connection by REV
falls_back() {
	local before

	network pair 1500
	serve "rev=$1" pdata=old
	before=$(counter a MpaFallbacks)
	ping_ok "$B4" rev=2 fallback=1 rtr=read pdata=new size=1000 count=5 \
		verify=1
	expect "revision=$1" enhanced=0 ird=0 ord=0 rtr=none ulpdus_rx=5 \
		peer_pdata=6f6c64
	grown a MpaFallbacks "$before" 1
	served
}

# A silent peer, and nothing said of time: it suffices for both connections.
falls_back_by_default() {
	network pair 1500
	same "$(ns a sysctl -n net.mpa.startup_timeout_ms)" 10000 "the limit"
	peer_server "data:${REQ_KEY}50020006c0100010abcd" pause:$((10 - 3 * SLOW / 2)) end:reset again \
		"data:${REQ_KEY}40010002abcd" "send:${REP_KEY}40010000" \
		data:002a read:46 end:fin
	command_in a "ping addr=$B4 port=$PORT rev=2 fallback=1 rtr=send \
		mode=sink size=42 pdatahex=abcd" || fail "no way back to Rev 1"
	read_result a result
	expect status=0 revision=1 enhanced=0 ulpdus_tx=1
	peer_served
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

# None of ours: the Reply has another kind, and the Terminate message ends it
terminate_on_wire() {
	local OURS THEIRS OPTIONS=(rtr=write)

	streams rtr=send size=42 count=1
	expect mpa_error=7
	after OURS "${REQ_KEY}50020004c0100010" "the Request"
	same "$OURS" "$(mpa-peer crc "0016${TERMINATE}070000")" "the Terminate"
	same "$THEIRS" "${REP_KEY}5002000480108010" "the Reply"
	orderly_close wire
}

# Markers begin after the frames, with the RTR
markers_on_wire() {
	local OURS THEIRS OPTIONS=(markers=1)

	streams markers=1 rtr=write pdata=wxyz size=1000 count=30
	walk wire "$A4" 1 1500
	aligned
	same "${S[fpdus]}" 31 "FPDUs"
	walk wire "$B4" 1 1500
	same "${S[fpdus]}" 30 "FPDUs of the echo"
	after OURS "${REQ_KEY}d0020008801080107778797a" "the Request"
	after OURS "$(mpa-peer crc "00000000000e$WRITE")" "the RTR"
	after THEIRS "${REP_KEY}d0020008801080107778797a" "the Reply"
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

# Options of ping and of serve; depths of the ping, of the server, of the Reply. KUnit
# has many more.
while read -r name row; do
	# shellcheck disable=SC2086
	test_case "enhanced.depths.$name" "E-01 E-02 E-05 E-07 E-11 E-12 E-15 \
E-17 E-18 E-19 E-20 E-21 E-32 E-33 E-34 E-37 E-43" depths $row
done <<-ROWS
	none-asked 0 0 16 16  0 0 0 0  0 0
	more-asked 20 30 4 8  20 4 4 8  4 8
	one-way 0 12 12 7  0 12 12 0  12 0
	ulp 16383 16383 7 9  16383 16383 7 9  16383 16383
ROWS
test_case enhanced.depths.rtr "E-13 E-30" depth_for_rtr

for name in send write read; do
	for crc in 0 1; do
		test_case "enhanced.rtr.$name.crc$crc" "E-10 E-22 E-23 E-24 E-25 \
E-26 E-30" kind_with $name $crc
	done
done
test_case enhanced.rtr.sink "E-09 E-30" kind_into_sink
test_case enhanced.rtr.all "E-23 E-26 E-27 E-30" \
	chosen send,write,read send,write,read send,write,read write
test_case enhanced.rtr.some "E-23 E-26 E-27 E-30" \
	chosen send,write,read send,read send,read read
test_case enhanced.rtr.one-common "E-26 E-28 E-30" \
	chosen send,write send,read send send
test_case enhanced.rtr.accepted "E-30 E-43" rtr_accepted
test_case enhanced.rtr.reserved "E-30 E-43" rtr_reserved_bits
test_case enhanced.rtr.answered "E-09 E-30" rtr_answered
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

for size in 0 1 3 507 508; do
	test_case "enhanced.pdata.$size" "E-01 E-05 E-08" pdata_size $size
done
test_case enhanced.pdata.too-long "E-08" pdata_too_long
test_case enhanced.reject "E-14 E-17 E-37" enhanced_reject
test_case enhanced.mixed-revisions "E-03 E-04 E-38 E-39" mixed_revisions
test_case enhanced.flags "E-34 E-35" flags_without_a
# Frames that cannot be are in hostile.sh
test_case enhanced.reply.no-a "E-42 E-31 E-44" terminated 07 \
	5002000480108010 5002000400108010 rtr=write
test_case enhanced.reply.a "E-33 E-31 E-44" terminated 07 \
	5002000400100010 5002000480108010
test_case enhanced.reply.no-kind "E-29 E-31 E-44" terminated 07 \
	5002000480108010 5002000480100010 rtr=write
test_case enhanced.reply.other-kind "E-29 E-31 E-44" terminated 07 \
	5002000480104010 50020004c0108010 rtr=read
test_case enhanced.reply.ord "E-16 E-44" terminated 06 \
	5002000400100010 5002000400100011
test_case enhanced.reply.ord-above-max "E-15 E-16 E-44" terminated 06 \
	5002000480058010 5002000480108009 ird=5 ird_max=8 rtr=write
test_case enhanced.reply.ord-in-max "E-15" ird_grows
test_case enhanced.reply.answer "E-09 E-30" rtr_answer

for rev in 0 1; do
	test_case "enhanced.refused.$rev" "E-40" refused_rev $rev
	test_case "enhanced.fallback.$rev" "E-41" falls_back $rev
done
test_case enhanced.fallback.default "E-41" falls_back_by_default

test_case enhanced.wire.read "E-01 E-05 E-07 E-22 E-23 E-25 E-26 E-30 E-37" \
	read_on_wire
test_case enhanced.wire.write "E-07 E-18 E-19 E-23 E-25 E-30" write_on_wire
test_case enhanced.wire.send "E-07 E-22 E-25 E-30" send_on_wire
test_case enhanced.wire.terminate "E-29 E-31 E-44" terminate_on_wire
test_case enhanced.wire.markers "E-05 E-30" markers_on_wire
test_case enhanced.invalid-options "E-07 E-08 E-24" invalid_options
