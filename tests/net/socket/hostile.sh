# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2054
# Peers that misbehave, in both roles. Each misbehaviour has the outcome that
# the specification names, and right after it a good connection works.

# Steps of a well-behaved peer
GOOD=(request expect-reply:r=0,rev=1 echo:count=2,size=700 fin end:fin)
GOOD_REPLY=(expect-request:r=0,rev=1 reply serve)

# A shell that stays in a namespace: starting a process for each of many small
# commands would take too long

# stay NS: let it be there
stay() {
	# shellcheck disable=SC2016
	coproc STAY { ns "$1" bash -c '
		while read -r verb rest; do
			case $verb in
			see)
				mapfile -t lines <"$rest"
				printf "%s\n" "${lines[@]}"
				;;
			ping)
				echo "ping $rest" 2>/dev/null >"$0/cmd"
				echo $?
				;;
			esac
			echo .
		done' "$PING"; }
	see "$PING/serve_result"
	LAST=${SEEN[*]}
}

# there VERB REST: its answer is in SEEN
there() {
	local line

	SEEN=()
	echo "$*" >&"${STAY[1]}"
	while read -r line <&"${STAY[0]}" && [[ $line != . ]]; do
		SEEN+=("$line")
	done
}

see() { there see "$1"; }

see_result() {
	local line

	see "$PING/$1"
	R=()
	for line in "${SEEN[@]}"; do
		[[ -z $line ]] || R[${line%%=*}]=${line#*=}
	done
}

# As served()
finished() {
	until_true 30 finished_another ||
		fail "the server has not finished a connection"
	LAST=${SEEN[*]}
}

finished_another() {
	see_result serve_result
	[[ ${SEEN[*]} != "$LAST" ]]
}

# errors_from: count from here on
errors_from() {
	see /proc/net/mpa_stat
	WAS=("${SEEN[@]}")
}

errors_now() {
	local i now was

	see /proc/net/mpa_stat
	ERRORS=
	for i in "${!SEEN[@]}"; do
		[[ ${SEEN[i]} == Mpa@(End|Err)* ]] || continue
		now=${SEEN[i]##*[[:space:]]} was=${WAS[i]##*[[:space:]]}
		((now == was)) ||
			ERRORS+="${SEEN[i]%%[[:space:]]*}+$((now - was)) "
	done
	ERRORS=${ERRORS% }
}

# errors WANTED: the ends and errors that were counted, all of them. Some are
# counted after the peer has seen them.
errors() {
	until_true 30 errors_are "$1" || same "$ERRORS" "$1" "ends and errors"
}

errors_are() {
	errors_now
	[[ $ERRORS == "$1" ]]
}

# Our side is the Responder

hostile_server() {
	network pair 1500
	serve mode=echo "$@"
	stay b
}

good_client() {
	client "${GOOD[@]}"
	finished
	expect status=0 reason=ok mpa_error=0 ulpdus_rx=2 ulpdus_tx=2
}

# bad_client NAME ERROR REASON COUNTER STEP...: a client does so; the server
# says ERROR and REASON, counts it, and no ULPDU has got through, or $ULPDUS
bad_client() {
	DOING=$1
	errors_from
	client "${@:5}"
	finished
	expect "mpa_error=$2" "reason=$3" "ulpdus_rx=${ULPDUS:-0}"
	good_client
	errors "MpaEndFin+1 $4+1"
	DOING=
}

# bad_clients NAME RANGE COUNTS STEP...: clients do so with each number of RANGE
# for %, and well after each of these
bad_clients() {
	DOING=$1
	errors_from
	RANGE=$2 client "${@:4}" again "${GOOD[@]}"
	errors "$3"
	finished
	DOING=
}

bad_requests() {
	local rev len

	hostile_server
	bad_clients "an octet of the key" 0..15 "MpaEndFin+16 MpaErrKey+16" \
		request:badkey=% end:reset
	bad_client "a Reply" 4 frame MpaErrRole reply end:reset
	bad_client "zeroes" 4 frame MpaErrKey "send:$(zeroes 100)" end:reset
	bad_client "an FPDU" 4 frame MpaErrKey fpdu end:reset
	bad_client "a marker and an FPDU" 4 frame MpaErrKey \
		immediate fpdu end:reset
	for rev in 2 255; do
		bad_client "revision $rev" 4 frame MpaErrRevision \
			request:rev=$rev end:reset
	done
	bad_client "a revision, dribbled" 4 frame MpaErrRevision dribble \
		request:rev=9 end:reset
	for len in 513 65535; do
		bad_client "PD_Length $len" 4 frame MpaErrPdLength \
			request:len=$len end:reset
	done
	bad_client "513 octets of private data" 4 frame MpaErrPdLength \
		request:pdsize=513 end:reset
	bad_client "PD_Length too long" 4 frame MpaErrShortFrame \
		request:pd=aabb,len=4 fin end:reset
	bad_client "PD_Length too short" 4 frame MpaErrEarlyOctets \
		request:pd=aabbccdd,len=2 end:reset
	bad_client "an octet after the Request" 4 frame MpaErrEarlyOctets \
		hold request send:00 push end:reset
	bad_client "two Requests" 4 frame MpaErrEarlyOctets \
		hold request request push end:reset
	bad_client "an FPDU after the Request" 4 frame MpaErrEarlyOctets \
		hold request:pd=0102 fpdu push end:reset
}

# The connection ends at each octet of a Request
truncated_requests() {
	local at

	hostile_server
	bad_clients "FIN at an octet" 0..23 "MpaEndFin+25 MpaErrShortFrame+23" \
		limit:%,fin request:pd=00010203 end:reset
	for at in 0 1 16 17 19 20 23; do
		DOING="RST at octet $at"
		client limit:$at,rst request:pd=00010203
		finished
		expect reason=reset ulpdus_rx=0
		good_client
	done
	DOING="FIN after the Request"
	client request fin expect-reply:r=0 end:fin
	finished
	expect status=0 reason=ok ulpdus_rx=0
	good_client
}

# No Request, part of one, or one that does not come in time
slow_requests() {
	local at

	network pair 1500
	spoil
	set_sysctl b net.mpa.startup_timeout_ms=$((1000 * SLOW))
	serve mode=echo
	stay b
	for at in 0 15 19 23; do
		bad_client "silence at octet $at" 4 timeout MpaErrTimeout \
			limit:$at,silence request:pd=00010203 end:reset
	done
	DOING="an octet now and then"
	set_sysctl b net.mpa.startup_timeout_ms=$((4000 * SLOW))
	client send:4d pause:$((3 * SLOW)) send:50 end:reset
	finished
	expect mpa_error=4 reason=timeout
	# The second octet did not restart the timeout
	((${R[elapsed_ns]} < 6500000000 * SLOW)) || { show_result; fail "late"; }
	good_client
}

# FPDUs of 48 octets without markers, 52 with a leading one
OPEN=(request expect-reply:r=0)

bad_fpdus() {
	local len

	hostile_server
	bad_client "CRC" 2 crc MpaErrCrc "${OPEN[@]}" fpdu:crc=bad end
	bad_client "CRC of zeroes" 2 crc MpaErrCrc "${OPEN[@]}" \
		fpdu:crc=00000000 end
	ULPDUS=3 bad_client "CRC of the fourth" 2 crc MpaErrCrc "${OPEN[@]}" \
		echo:count=3 fpdu:crc=bad end
	bad_client "CRC, then good FPDUs" 2 crc MpaErrCrc "${OPEN[@]}" \
		hold fpdu:crc=bad fpdu:count=3 push end
	for len in 0 64769 65535; do
		bad_client "ULPDU_Length $len" 3 marker MpaErrLength \
			"${OPEN[@]}" fpdu:len=$len end
	done
	bad_client "ULPDU_Length 4 too long" 2 crc MpaErrCrc "${OPEN[@]}" \
		hold fpdu:len=46 fpdu push end
	bad_client "ULPDU_Length 4 too short" 2 crc MpaErrCrc "${OPEN[@]}" \
		fpdu:len=38 end
	bad_client "ULPDU_Length too long, then FIN" 1 closed MpaErrTruncated \
		"${OPEN[@]}" fpdu:len=46 fin end
	bad_client "garbage" 3 marker MpaErrLength "${OPEN[@]}" \
		"send:$(zeroes 100 | tr 0 f)" end
	bad_client "a second Request" 1 closed MpaErrTruncated "${OPEN[@]}" \
		request fin end
	bad_client "markers that were not negotiated" 3 marker MpaErrLength \
		"${OPEN[@]}" set:out=1 fpdu end
	bad_clients "a bit of ULPDU_Length" 0..1 \
		"MpaEndFin+2 MpaErrTruncated+2" "${OPEN[@]}" fpdu:flip=% fin end
}

truncated_fpdus() {
	local at

	hostile_server
	bad_clients "FIN at an octet" 1..47 "MpaEndFin+47 MpaErrTruncated+47" \
		"${OPEN[@]}" limit:%,fin fpdu end
	for at in 0 1 2 43 47; do
		bad_client "RST at octet $at" 1 reset MpaErrReset "${OPEN[@]}" \
			limit:$at,rst fpdu
	done
	DOING="FIN after an FPDU"
	client "${OPEN[@]}" fpdu:count=3 fin expect-fpdu:count=3 end:fin
	finished
	expect status=0 reason=ok ulpdus_rx=3 ulpdus_tx=3
	DOING="FIN after the Reply"
	client "${OPEN[@]}" fin end:fin
	finished
	expect status=0 reason=ok ulpdus_rx=0
	good_client
}

bad_markers() {
	hostile_server markers=1
	bad_client "FPDUPTR of the leading one" 3 marker MpaErrMarker \
		"${OPEN[@]}" fpdu:ptr=4 end
	bad_client "FPDUPTR 0 inside" 3 marker MpaErrMarker "${OPEN[@]}" \
		fpdu:size=1000,ptr=0 end
	bad_client "FPDUPTR 4 more" 3 marker MpaErrMarker "${OPEN[@]}" \
		fpdu:size=1000,marker=1,ptradd=4 end
	bad_client "FPDUPTR from the leading marker on" 3 marker MpaErrMarker \
		"${OPEN[@]}" fpdu:size=1000,marker=1,ptr=512 end
	bad_client "FPDUPTR and CRC" 2 crc MpaErrCrc "${OPEN[@]}" \
		fpdu:ptr=4,crc=bad end
	ULPDUS=20 bad_client "FPDUPTR of the 21st" 3 marker MpaErrMarker \
		"${OPEN[@]}" echo:count=20,size=700 \
		fpdu:size=700,ptradd=0x100 end
	bad_client "no markers" 2 crc MpaErrCrc "${OPEN[@]}" set:out=0 \
		fpdu:size=1000,count=5 end
	# Where only a marker came, the stream ends between two FPDUs
	bad_clients "FIN at an octet" 1..51 "MpaEndFin+52 MpaErrTruncated+50" \
		"${OPEN[@]}" limit:%,fin fpdu end
	DOING="ignored fields"
	client "${OPEN[@]}" fpdu:size=1000,ptradd=3,reserved=0xbeef \
		expect-fpdu:size=1000 echo:size=999 fin end:fin
	finished
	expect status=0 reason=ok ulpdus_rx=2
	good_client
}

# With CRC off a marker is the only check
bad_markers_without_crc() {
	local GOOD=("${GOOD[@]}") OPEN=(request:c=0 expect-reply:r=0,c=0)

	GOOD[0]=request:c=0
	network pair 1500
	spoil
	set_sysctl b net.mpa.crc=0
	serve mode=echo markers=1
	stay b
	bad_client "FPDUPTR 4 more" 3 marker MpaErrMarker "${OPEN[@]}" \
		fpdu:size=1000,marker=1,ptradd=4 end
	bad_client "FPDUPTR 0 inside, any CRC" 3 marker MpaErrMarker \
		"${OPEN[@]}" fpdu:size=1000,marker=1,ptr=0,crc=12345678 end
	bad_client "ULPDU_Length 0" 3 marker MpaErrLength "${OPEN[@]}" \
		fpdu:len=0 end
	DOING="any CRC"
	client "${OPEN[@]}" fpdu:crc=12345678 expect-fpdu fin end:fin
	finished
	expect status=0 ulpdus_rx=1
	(($(counter b MpaNoCrc) > 0)) || fail "CRC is on"
}

# FPDUs split at any octet are received
split_fpdus() {
	hostile_server markers=1
	RANGE=1..23 client split:% request:pd=01020304,m=1 \
		expect-reply:r=0,m=1,pd=01020304 echo fin end:fin
	client dribble request:m=1 expect-reply echo:size=600 whole \
		echo:size=42,split=every fin end:fin
	finished
	expect status=0 reason=ok
	((SLOW > 1)) || client request expect-reply echo:size=504,split=every \
		fin end:fin
	good_client
}

# Rev 0: markers and CRC are used in any case
bad_rev0() {
	local open=(request:rev=0,m=1 expect-reply:rev=0,m=1,c=1,r=0)

	hostile_server
	bad_client "CRC" 2 crc MpaErrCrc "${open[@]}" fpdu:crc=bad end
	bad_client "CRC, with C=0" 2 crc MpaErrCrc request:rev=0,m=1,c=0 \
		expect-reply:rev=0,m=1,c=1 fpdu:crc=00000000 end
	bad_client "FPDUPTR" 3 marker MpaErrMarker "${open[@]}" \
		fpdu:size=1000,marker=1,ptradd=8 end
	bad_client "FPDUPTR of the leading one" 3 marker MpaErrMarker \
		"${open[@]}" fpdu:size=1000,marker=0,ptradd=4 end
	bad_client "no markers" 2 crc MpaErrCrc "${open[@]}" set:out=0 \
		fpdu:size=1000,count=5 end
	bad_client "PD_Length too long" 4 frame MpaErrShortFrame \
		request:rev=0,m=1,len=65535 fin end:reset
	bad_client "a Reply" 4 frame MpaErrRole reply:rev=0,m=1 end:reset
	DOING="M=0"
	client request:rev=0,m=0 expect-reply:rev=0,m=1,c=1 set:in=0 \
		echo:size=1000 fin end:fin
	finished
	expect status=0 revision=0 markers_rx=1 markers_tx=0
	DOING="FPDUPTR from leading markers"
	client "${open[@]}" set:lead=1 echo:count=20,size=502,step=508 fin \
		end:fin
	finished
	expect status=0 revision=0 ulpdus_rx=20
	DOING="much private data"
	client request:rev=0,m=1,pdsize=2000 \
		expect-reply:rev=0,m=1,pdsize=2000 echo:size=1000 fin end:fin
	finished
	expect status=0 revision=0 ulpdus_rx=1
}

# To refuse it is left to a consumer's choice (RFC 5044 C.2)
strict_request() {
	hostile_server strict=1
	bad_client "a Request of Rev 0" 4 frame MpaErrRevision \
		request:rev=0,m=1 expect-reply:rev=1,r=1,pdsize=0 end:fin
}

strict_reply() {
	hostile_client
	PINGED=(strict=1)
	bad_server "a Reply of Rev 0" 4 frame "MpaEndFin+1 MpaErrRevision+1" \
		reply:rev=0,m=1 end:fin
}

bad_immediate() {
	local GOOD=(immediate echo:count=2,size=700 fin end:fin)

	hostile_server start=immediate
	bad_client "a Request" 1 closed MpaErrTruncated request fin end
	bad_client "no marker" 2 crc MpaErrCrc set:crc=1 \
		fpdu:size=1000,count=5 end
	bad_client "FPDUPTR" 3 marker MpaErrMarker immediate fpdu:ptr=8 end
	bad_client "FPDUPTR 8 more" 3 marker MpaErrMarker immediate \
		fpdu:size=1000,marker=1,ptradd=8 end
	DOING="FPDUPTR from leading markers"
	client immediate set:lead=1 echo:count=20,size=502,step=508 fin end:fin
	finished
	expect status=0 ulpdus_rx=20
	bad_client "CRC" 2 crc MpaErrCrc immediate fpdu:crc=bad end
	bad_client "FIN" 1 closed MpaErrTruncated immediate limit:3,fin fpdu end
}

# Our side is the Initiator, with the options in PINGED

PINGED=()

hostile_client() {
	network pair 1500
	stay a
}

# ping_here OPTION...: R has the result, the status is kept
ping_here() {
	local status

	there ping "addr=$B4 port=$PORT timeout=$((${TIME:-30} * SLOW))" \
		"${PINGED[*]}" "$*"
	status=${SEEN[0]}
	see_result result
	return "$status"
}

good_ping() {
	ping_here count=2 size=700 verify=1 ||
		{ show_result; fail "a good ping"; }
	expect status=0 reason=ok mpa_error=0 mismatches=0
}

# bad_pings COUNT ERROR REASON: COUNT pings that fail, with a good one after each
bad_pings() {
	local n

	for ((n = 0; n < $1; n++)); do
		ping_here && fail "ping $n was taken"
		expect "mpa_error=$2" "reason=$3"
		good_ping
	done
}

# bad_server NAME ERROR REASON COUNTS STEP...: a server runs STEPs after our Request;
# the ping fails with ERROR and REASON. COUNTS are counted, including the good ping.
bad_server() {
	DOING=$1
	errors_from
	peer_server expect-request:r=0,res=0 "${@:5}" again "${GOOD_REPLY[@]}"
	bad_pings 1 "$2" "$3"
	peer_served
	errors "$4"
	DOING=
}

# bad_servers NAME RANGE ERROR REASON COUNTS STEP...: with each number of RANGE
bad_servers() {
	DOING=$1
	errors_from
	RANGE=$2 peer_server expect-request "${@:6}" again "${GOOD_REPLY[@]}"
	bad_pings $((${2#*..} - ${2%..*} + 1)) "$3" "$4"
	peer_served
	errors "$5"
	DOING=
}

bad_replies_frame() {
	local rev len

	hostile_client
	bad_servers "an octet of the key" 0..15 4 frame \
		"MpaEndFin+16 MpaErrKey+16" reply:badkey=% end:reset
	bad_server "a Request" 4 frame "MpaEndFin+1 MpaErrRole+1" \
		request end:reset
	bad_server "an FPDU" 4 frame "MpaEndFin+1 MpaErrKey+1" fpdu end:reset
	for rev in 2 255; do
		bad_server "revision $rev" 4 frame \
			"MpaEndFin+1 MpaErrRevision+1" reply:rev=$rev end:reset
	done
	bad_server "a rejected revision" 4 frame \
		"MpaEndFin+1 MpaErrRevision+1" reply:rev=2,r=1 end:reset
	for len in 513 65535; do
		bad_server "PD_Length $len" 4 frame \
			"MpaEndFin+1 MpaErrPdLength+1" reply:len=$len end:reset
	done
	bad_server "PD_Length too long" 4 frame \
		"MpaEndFin+1 MpaErrShortFrame+1" reply:pd=aabb,len=4 fin \
		end:reset
	bad_server "no Reply" 1 closed "MpaEndFin+2" fin end:reset
	bad_server "RST inside" 1 reset "MpaEndFin+1 MpaErrReset+1" \
		limit:9,rst reply
	# Octets after the Reply are parsed as FPDUs
	bad_server "PD_Length too short" 3 marker "MpaEndFin+1 MpaErrLength+1" \
		reply:pd=aabbffff,len=2 end:rest
	bad_server "a rejection" 0 rejected "MpaEndFin+1" reply:r=1,pd=0102 \
		end:fin
}

slow_replies() {
	local at

	hostile_client
	spoil
	set_sysctl a net.mpa.startup_timeout_ms=$((1000 * SLOW))
	for at in 0 19 23; do
		bad_server "silence at octet $at" 4 timeout \
			"MpaEndFin+1 MpaErrTimeout+1" limit:$at,silence \
			reply:pd=00010203 end:reset
	done
}

# What FPDUs are bad does not depend on the role: above
bad_echoes() {
	hostile_client
	bad_server "CRC" 2 crc "MpaEndFin+1 MpaErrCrc+1" reply expect-fpdu \
		fpdu:crc=bad end:rest
	bad_server "another ULPDU" 0 mismatch "MpaEndFin+2" reply expect-fpdu \
		fpdu end:fin
	bad_server "no echo but FIN" 1 closed "MpaEndFin+2" reply expect-fpdu \
		fin end:rest
	TIME=2 bad_server "silence" 0 timeout "MpaEndFin+1" reply expect-fpdu \
		end:rest
	bad_servers "FIN at an octet" 1..47 1 closed \
		"MpaEndFin+47 MpaErrTruncated+47" reply expect-fpdu \
		limit:%,fin fpdu end:rest
}

# Enhanced startup, RFC 6581, as Responder
GOOD_REV2=(request:rev=2,s=1,ird=4,ord=5,A=1,B=1,D=1
	expect-reply:rev=2,s=1,r=0,ird=5,ord=4,A=1,B=1,C=0,D=1
	fpdu:rtr=send echo:count=2,size=700 fin end:fin)

bad_requests_rev2() {
	local at GOOD=("${GOOD_REV2[@]}")
	local request=${GOOD[0]}

	hostile_server rev=2
	for at in 0 1 2 3; do
		bad_client "S, PD_Length $at" 4 frame MpaErrPdLength \
			"request:rev=2,s=1,pdsize=$at" end:reset
		bad_client "S, PD_Length $at, more octets" 4 frame \
			MpaErrPdLength "request:rev=2,s=1,pdsize=100,len=$at" \
			end:reset
	done
	bad_client "509 octets after enhanced data" 4 frame MpaErrPdLength \
		"$request,pdsize=509" end:reset
	bad_client "revision 3" 4 frame MpaErrRevision request:rev=3,s=1,ird=1 \
		end:reset
	bad_client "an RTR after the Request" 4 frame MpaErrEarlyOctets \
		hold "$request" set:crc=1 fpdu:rtr=send push end:reset
	bad_clients "FIN at an octet" 0..27 "MpaEndFin+29 MpaErrShortFrame+27" \
		limit:%,fin "$request,pd=00010203" end:reset
	DOING="a Request in pieces"
	RANGE=1..27 client split:% "$request,pd=00010203" "${GOOD[@]:1}"
}

# The RTR is an FPDU like any other
bad_rtrs() {
	local GOOD=("${GOOD_REV2[@]}")
	local open=("${GOOD[@]:0:2}")

	hostile_server rev=2 markers=1
	bad_client "CRC" 2 crc MpaErrCrc "${open[@]}" fpdu:rtr=read,crc=bad end
	bad_client "FPDUPTR" 3 marker MpaErrMarker "${open[@]}" \
		fpdu:rtr=send,ptr=4 end
	bad_client "ULPDU_Length 0" 3 marker MpaErrLength "${open[@]}" \
		fpdu:ulpdu=00,len=0 end
	bad_client "RST" 1 reset MpaErrReset "${open[@]}" rst
	bad_client "RST inside" 1 reset MpaErrReset "${open[@]}" \
		limit:9,rst fpdu:rtr=send
	bad_clients "FIN at an octet" 5..27 "MpaEndFin+23 MpaErrTruncated+23" \
		"${open[@]}" limit:%,fin fpdu:rtr=send end
	DOING="in pieces"
	RANGE=1..27 client "${open[@]}" split:% "${GOOD[@]:2}"
	finished
	DOING="nothing before it"
	client "${open[@]}" quiet:1 "${GOOD[@]:2}"
	finished
	expect status=0 rtr=send,read ulpdus_rx=2
}

# As Initiator

bad_replies_rev2() {
	local at reply=reply:rev=2,s=1,ird=16,ord=16,A=1,C=1
	local GOOD_REPLY=(expect-request:rev=2,s=1,ird=16,ord=16,A=1,B=0,C=1,D=0
		"$reply" expect-fpdu:rtr=write serve)
	local end="MpaEndFin+1"

	hostile_client
	PINGED=(rev=2 rtr=write)
	for at in 0 1 2 3; do
		bad_server "S, PD_Length $at" 4 frame "$end MpaErrPdLength+1" \
			"reply:rev=2,s=1,pdsize=$at" end:reset
		bad_server "S, PD_Length $at, more octets" 4 frame \
			"$end MpaErrPdLength+1" \
			"reply:rev=2,s=1,pdsize=100,len=$at" end:reset
	done
	bad_server "S is missing" 4 frame "$end MpaErrEnhanced+1" \
		reply:rev=2,pd=00000000 end:reset
	bad_server "revision 1" 4 frame "$end MpaErrRevision+1" \
		reply:rev=1 end:reset
	bad_server "revision 1, S" 4 frame "$end MpaErrRevision+1" \
		reply:rev=1,s=1,pd=00100010 end:reset
	bad_server "509 octets after enhanced data" 4 frame \
		"$end MpaErrPdLength+1" "$reply,pdsize=509" end:reset
	bad_server "A is not answered" 7 frame "$end MpaErrRtr+1" \
		"${reply/A=1/A=0}" expect-fpdu end:fin
	bad_server "ORD above our IRD" 6 frame "$end MpaErrIrd+1" \
		"${reply/ord=16/ord=17}" expect-fpdu end:fin
	bad_servers "FIN at an octet" 1..27 4 frame \
		"MpaEndFin+27 MpaErrShortFrame+27" limit:%,fin \
		"$reply,pd=00010203" end:reset
	DOING="a Reply in pieces"
	RANGE=1..27 peer_server expect-request split:% "$reply,pd=00010203" \
		expect-fpdu:rtr=write serve
	for ((at = 1; at < 28; at++)); do
		good_ping
		expect peer_pdata=00010203 rtr=write
	done
	peer_served
}

test_case hostile.request "RF-03 RF-17 RF-18 RF-21 RF-22 RF-24 RF-26 CS-16 \
CS-24 CS-30 CS-34 CS-37 ER-08 SE-12" bad_requests
test_case hostile.request.truncated "RF-22 RF-26 CS-16 ER-02 ER-08 TD-02" truncated_requests
test_case hostile.request.slow "CS-31 CS-32 ER-08 SE-13" slow_requests
test_case hostile.fpdu "ER-03 ER-11 ER-15 CR-10 CR-20 RX-04 SE-12" bad_fpdus
test_case hostile.fpdu.truncated "ER-02 TD-01 TD-02 TD-03 OO-06" truncated_fpdus
test_case hostile.marker "ER-03 ER-04 ER-05 MK-03 MK-06 MK-13 MK-16 MK-18" \
	bad_markers
test_case hostile.marker.no-crc "CR-21 ER-04 ER-05 RF-09" \
	bad_markers_without_crc
test_case hostile.split "RX-10 RX-11 RX-12 RX-13 RX-16 CS-15" split_fpdus
test_case hostile.rev0 "VN-07 VN-11 VN-13 RF-21 ER-03 ER-04" bad_rev0
test_case hostile.strict.request "VN-09" strict_request
test_case hostile.strict.reply "VN-10" strict_reply
test_case hostile.immediate "CS-05 MK-10 ER-03 ER-04 VN-08" bad_immediate
test_case hostile.reply "RF-05 RF-17 RF-18 RF-21 RF-22 RF-24 RF-26 CS-25 \
CS-26 CS-27 CS-30 CS-34 ER-02 ER-08" bad_replies_frame
test_case hostile.reply.slow "CS-32 ER-08" slow_replies
test_case hostile.echo "ER-02 ER-03 ER-15 TD-02 TD-03" bad_echoes
test_case hostile.request.rev2 "E-06 E-08 E-43 CS-16 ER-08" bad_requests_rev2
test_case hostile.rtr "E-09 E-43 CS-29 ER-02 ER-03 ER-04" bad_rtrs
test_case hostile.reply.rev2 "E-02 E-06 E-08 E-16 E-31 E-42 E-43 E-44 CS-26 ER-08" \
	bad_replies_rev2
