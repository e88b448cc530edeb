# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Common functions of the cases, on top of net/socket/lib.sh: namespaces a, where clients
# run, and b, where servers do, with an RDMA device in each, or none.

OUT=/root/out
COPIES=/root/copies
names_pair
LIMIT=240		# seconds for a case
KEPT=20000		# packets of a case that are captured
FEW=5000		# of one that has a hundred thousand
REV=2 CRC=1 MARKERS=0	# of the connections
PORTS='5044|7174|7471|7475|18515|47592'

# The runner: each case leaves a line of the table in out/table, a capture and a log.

begin_all() {
	mkdir -p "$OUT"
	modprobe -a mpa mpa_ping mpa_rnic
}

end_all() {
	without_devices
	links_down
}

end_case() {
	cp "$log" "$OUT/$CASE.log"
	if (($1)); then
		without_devices
	elif [[ -s $STATE/row ]]; then
		echo "$CASE"$'\t'"$(<"$STATE/row")" >>"$OUT/table"
	fi
	rm -f "$STATE/row"
}

without_devices() {
	rdma link delete iwa 2>/dev/null
	rdma link delete iwb 2>/dev/null
	rm -f "$STATE/devices"
	links_down
	# It holds on to connections for a moment
	[[ ! -d /sys/module/siw ]] ||
		until_true 30 rmmod siw 2>/dev/null || fail "siw does not unload"
}

load_siw() {
	if [[ $1 == stock ]]; then
		modprobe siw
	else
		insmod "$COPIES/$1/siw.ko"
	fi
}

# device SIDE KIND: mpa, siw as it is (stock), the name of a copy of siw, or none
device() {
	local type=siw

	case $2 in
	none) return ;;
	mpa) type=mpa ;;
	*) [[ -d /sys/module/siw ]] || load_siw "$2" || fail "no siw ($2)" ;;
	esac
	ns "$1" rdma link add "iw$1" type $type netdev "v$1" ||
		fail "no device of type $type in $1"
}

# devices KIND_A KIND_B [MTU]
devices() {
	local key="$*" side

	KINDS="$1 to $2"
	if [[ $(cat "$STATE/devices" 2>/dev/null) != "$key" ]]; then
		without_devices
		network pair "${3:-1500}"
		# No offloads: captured packets are those of the wire
		for side in a b; do
			ns $side ethtool -K v$side tso off gso off gro off \
				>/dev/null
		done
		device a "$1"
		device b "$2"
		echo "$key" >"$STATE/devices"
	fi
	names_pair
	# A program that was killed takes its time
	until_true 30 free "$PORTS" || fail "somebody still listens"
	ns b tc qdisc del dev vb root 2>/dev/null
	OURS=a REV=2 CRC=1 MARKERS=0
	[[ $1 == @(mpa|none) ]] || OURS=b
	[[ $1 != rev1 ]] || REV=1
}

# both SYSCTL=VALUE: in both namespaces, until the case is over
both() {
	set_sysctl a "$1"
	set_sysctl b "$1"
	rm -f "$STATE/devices"
	case $1 in
	*markers=*) MARKERS=${1#*=} ;;
	*crc=*) CRC=${1#*=} ;;
	esac
}

listening() { ns b netstat -ltn | grep -qE ":($1) "; }

free() { ! listening "$1"; }

# until_listening PORT
until_listening() {
	until_true 30 listening "$1" || { show_theirs; fail "no listener on $1"; }
}

# theirs PROGRAM...: run it in b, with its output in a file
theirs() {
	command ns b "$@" >"$STATE/theirs" 2>&1 &
	PROGRAM=$!
}

# serves PORT PROGRAM...: a server of the case, in b
serves() {
	theirs "${@:2}"
	until_listening "$1"
	[[ $KINDS == *"to mpa" ]] || late_reply
}

# siw installs its callbacks only after its Reply: an FPDU that arrives in between
# stays unread until the next segment. Delay the Replies of all CONNECTIONS.
late_reply() {
	local before

	# One of a try before may still wait for a connection that was refused
	[[ -z ${LATE-} ]] || kill "$LATE" 2>/dev/null
	before=$(counter a MpaEstablished)
	ns b tc qdisc replace dev vb root netem delay 300ms limit 10000 ||
		fail "no delay"
	{
		until (($(counter a MpaEstablished) >= before + ${CONNECTIONS:-1})); do
			sleep 0.02
		done
		ns b tc qdisc change dev vb root netem delay 0ms limit 10000
	} &
	LATE=$!
}

until_peer_listens() {
	until_true 30 grep -q '^listening' "$STATE/server" ||
		fail "mpa-peer does not listen"
}

show_theirs() {
	echo "the program in b said:"
	cut -c1-200 "$STATE/theirs" | tail -n 20
}

# theirs_ended: wait for the program in b; its status is STATUS
theirs_ended() {
	STATUS=0
	wait "$PROGRAM" || STATUS=$?
}

theirs_good() {
	theirs_ended
	((!STATUS)) && return
	show_theirs
	fail "the program in b ended with $STATUS"
}

# asks PROGRAM...: a client, in a
asks() {
	local status=0

	ns a timeout $((LIMIT / 2)) "$@" >"$STATE/ours" 2>&1 || status=$?
	((!status)) && return
	cut -c1-200 "$STATE/ours" | tail -n 20
	show_theirs
	fail "$1 ended with $status"
}

# counted SIDE NAME: a counter of its device
counted() {
	ns "$1" rdma statistic show link "iw$1/1" | grep -o "$2 [0-9]*" | cut -d' ' -f2
}

# Segments of DDP and RDMAP

# seg_untagged CONTROL QUEUE MSN MO PAYLOAD [STAG]: a ULPDU in hexadecimal
seg_untagged() {
	printf '%s%08x%08x%08x%08x%s' "$1" "${6:-0}" "$2" "$3" "$4" "${5-}"
}

# seg_tagged CONTROL STAG OFFSET PAYLOAD; OFFSET in hexadecimal
seg_tagged() { printf '%s%08x%016x%s' "$1" "$2" "$((16#$3))" "${4-}"; }

# seg_read SINK_STAG SINK_OFFSET SIZE STAG OFFSET [MSN]
seg_read() {
	seg_untagged 4141 1 "${6:-1}" 0 \
		"$(printf '%08x%016x%08x%08x%016x' "$1" "$((16#$2))" \
			"$3" "$4" "$((16#$5))")"
}

# seg_terminate LAYER/TYPE/CODE [FLAGS ULPDU HEADER]: HEADER is the number of octets
# of the ULPDU's header to include
seg_terminate() {
	local layer type code payload

	IFS=/ read -r layer type code <<<"$1"
	payload=$(printf '%x%x%02x' "$layer" "$type" "$code")
	if (($# > 1)); then
		payload+=$(printf '%s00%04x%s' "$2" $((${#3} / 2)) \
			"${3:0:$4 * 2}")
	else
		payload+=0000
	fi
	seg_untagged 4147 2 1 0 "$payload"
}

# The part of a ULPDU that a Terminate repeats: after a protection error also the
# header of a Read Request
seg_complaint() {
	case $1:${2:0:4} in
	2/* | 0/0/*) seg_terminate "$1" ;;
	0/1/*:?141) seg_terminate "$1" e0 "$2" 46 ;;
	*:[89a-f]*) seg_terminate "$1" c0 "$2" 14 ;;
	*) seg_terminate "$1" c0 "$2" 18 ;;
	esac
}

# Captures

record() {
	SENT=$(counter $OURS MpaTxUlpdus) GOT=$(counter $OURS MpaRxUlpdus)
	capture_start b vb wire -s 9100 -B 65536 -U -c "$KEPT" -w "$OUT/$CASE.pcap"
}

record_stop() {
	capture_stop wire
	cut_capture
}

# Number of the packet before the last change of direction
last_turn() {
	tcpdump -nn -r "$1" tcp 2>/dev/null | awk '
	match($0, /seq [0-9]+:[0-9]+/) {
		split(substr($0, RSTART + 4, RLENGTH - 4), seq, ":")
		# Sent again
		if (seq[2] <= end[$3])
			next
		end[$3] = seq[2]
		if ($3 != from)
			turn = before
		from = $3
		before = NR
	}
	END { print turn }'
}

# A capture that is full ends anywhere. In rping one side sends at a time: cut the
# capture where all messages are complete.
cut_capture() {
	local pcap=$OUT/$CASE.pcap

	CUT=
	grep -q "^$KEPT packets captured" "$STATE/wire.err" || return 0
	CUT=1
	tcpdump -r "$pcap" -c "$(last_turn "$pcap")" -w "$pcap.cut" \
		2>/dev/null || fail "the capture is not cut"
	mv "$pcap.cut" "$pcap"
}

# captured_as [WORD...]: what the decoders must find in the capture of one connection:
# its terms, and as many FPDUs as our end has counted, the Initiator's first
captured_as() {
	local decoder=tshark sent got words

	record_stop
	((!MARKERS)) || decoder=reference
	words="rev=$REV crc=$CRC markers=$MARKERS+$MARKERS"
	sent=$(($(counter $OURS MpaTxUlpdus) - SENT))
	got=$(($(counter $OURS MpaRxUlpdus) - GOT))
	if [[ $CUT ]]; then
		:
	elif [[ $OURS == a ]]; then
		words+=" fpdus=$sent+$got"
	else
		words+=" fpdus=$got+$sent"
	fi
	echo "$words decoder=$decoder $*" >"$OUT/$CASE.want"
}

# The table

# row ENDS PROGRAM REVISION CRC MARKERS MESSAGES OCTETS RESULT
row() {
	local IFS=$'\t'

	echo "$*" >"$STATE/row"
}

# passed PROGRAM MESSAGES OCTETS [RESULT]
passed() {
	row "$KINDS" "$1" "$REV" "$CRC" "$MARKERS" "$2" "$3" "${4:-ok}"
}
