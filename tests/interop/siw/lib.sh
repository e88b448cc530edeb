# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Common functions of the cases, on top of net/socket/lib.sh: two ends of a network, a
# which connects and b which listens, with siw at one and our module at the other.

RDMAP=/dev/mpa_rdmap
OUT=/root/out
COPIES=/root/copies
names_pair
LIMIT=240		# seconds for a case
KEPT=20000		# packets of a case that are captured
FEW=5000		# of one that has a hundred thousand
SIZES="1 63 1441 16384 65535"

# The runner: each case leaves a line of the table in out/table, a capture and a log.

begin_all() {
	mkdir -p "$OUT"
	modprobe -a mpa mpa_ping mpa_rdmap
}

end_all() {
	without_siw
	links_down
}

end_case() {
	cp "$log" "$OUT/$CASE.log"
	if (($1)); then
		after_failure
	elif [[ -s $STATE/row ]]; then
		echo "$CASE"$'\t'"$(<"$STATE/row")" >>"$OUT/table"
	fi
	rm -f "$STATE/row"
}

# Nothing may be left that the next case would meet.
after_failure() {
	local port

	for port in 7174 7471; do
		for side in a b; do
			OURS=$side rdmap_do stop "port=$port"
		done
	done
	without_siw >/dev/null
	links_down
}

# ends KIND SIDE: siw of that kind (stock, or a copy's name) on that side
ends() {
	local key="$1 $2" dev

	network pair 1500
	if [[ $(cat "$STATE/siw" 2>/dev/null) != "$key" ]]; then
		without_siw
		# No offloads: captured packets are those of the wire
		for dev in a:va b:vb; do
			ns "${dev%:*}" ethtool -K "${dev#*:}" \
				tso off gso off gro off >/dev/null
		done
		load_siw "$1" || fail "siw ($1) does not load"
		ns "$2" rdma link add siw0 type siw netdev "v$2" ||
			fail "no siw on $2"
		echo "$key" >"$STATE/siw"
	fi
	until_nobody_listens
	ns b tc qdisc del dev vb root 2>/dev/null
	OURS=a THEIRS=b
	[[ $2 == b ]] || OURS=b THEIRS=a
}

load_siw() {
	if [[ $1 == stock ]]; then
		modprobe siw
	else
		insmod "$COPIES/$1/siw.ko"
	fi
}

# It holds on to connections for a moment
without_siw() {
	rm -f "$STATE/siw"
	[[ -d /sys/module/siw ]] || return 0
	rdma link delete siw0 2>/dev/null
	until_true 30 rmmod siw 2>/dev/null || fail "siw does not unload"
}

# crc 0|1: our net.mpa.crc
crc() { set_sysctl "$OURS" "net.mpa.crc=$1"; }

# Their programs

# theirs PROGRAM...: run it on their side, with its output in a log
theirs() {
	command ns "$THEIRS" "$@" >"$STATE/theirs" 2>&1 &
	PROGRAM=$!
}

arrived() { (($(counter "$OURS" MpaAttached) > $1)); }

# theirs_connects PROGRAM...: run it until TCP has connected it to us. Right after siw was
# loaded, a program was seen to end without having sent a SYN.
theirs_connects() {
	local before try

	before=$(counter "$OURS" MpaAttached)
	for ((try = 0; try < 3; try++)); do
		theirs "$@"
		until_true 10 arrived "$before" && return
		kill -9 "$PROGRAM" 2>/dev/null
		theirs_ended
		echo "their program has not connected, status $STATUS:"
		show_theirs
	done
	fail "their program does not connect"
}

listening() { ns b netstat -ltn | grep -qE ":($1) "; }

# A program that was killed takes its time
until_nobody_listens() {
	until_true 30 free '7174|7471' || fail "somebody still listens"
}

free() { ! listening "$1"; }

# until_listening PORT
until_listening() {
	until_true 30 listening "$1" || { show_theirs; fail "no listener on $1"; }
}

show_theirs() {
	# rping -v shows all of its data
	echo "their program said:"
	cut -c1-200 "$STATE/theirs" | tail -n 20
}

# theirs_ended: wait for their program; its status is STATUS
theirs_ended() {
	STATUS=0
	wait "$PROGRAM" || STATUS=$?
}

theirs_good() {
	theirs_ended
	((!STATUS)) && return
	show_theirs
	fail "their program ended with $STATUS"
}

# Us

# rdmap_do COMMAND OPTION...
rdmap_do() {
	# stop comes after the connection whose R[crc] is read
	[[ $1 == stop ]] || note_no_crc "$OURS"
	ns "$OURS" bash -c 'echo "$1" >"$2"' - "$*" $RDMAP/cmd \
		2>"$STATE/rdmap.err"
}

# rdmap OPTION...: connect to them; R is the result
rdmap() {
	local status=0

	rdmap_do connect "addr=$B4" "$@" || status=$?
	PING=$RDMAP read_result "$OURS" result
	show_result
	return $status
}

# rdmap_serve OPTION...: serve one connection
rdmap_serve() {
	BEFORE=$(ns "$OURS" cat $RDMAP/serve_result 2>/dev/null)
	rdmap_do serve "$@" || fail "serve $*: $(cat "$STATE/rdmap.err")"
}

# rdmap_served PORT: R is the result of the connection
rdmap_served() {

	for ((try = 0; try < 100; try++)); do
		[[ $(ns "$OURS" cat $RDMAP/serve_result 2>/dev/null) == "$BEFORE" ]] ||
			break
		sleep 0.05
	done
	((try < 100)) || { show_theirs; fail "no connection was served"; }
	rdmap_do stop "port=$1"
	PING=$RDMAP read_result "$OURS" serve_result
	show_result
}

# siw installs its callbacks only after its Reply: an FPDU that arrives in between
# stays unread until the next segment. Delay the Reply.
late_reply() {
	local before

	before=$(counter a MpaEstablished)
	ns b tc qdisc add dev vb root netem delay 100ms limit 10000 ||
		fail "no delay"
	{
		until (($(counter a MpaEstablished) > before)); do
			sleep 0.02
		done
		ns b tc qdisc change dev vb root netem delay 0ms limit 10000
	} &
}

# Captures

record() {
	rm -f "$STATE/tcpdump"
	command ns b tcpdump -i vb -s 2000 -B 65536 \
		--immediate-mode -U -c "$KEPT" -w "$OUT/$CASE.pcap" tcp \
		2>"$STATE/tcpdump" &
	RECORDER=$!
	until_true 30 grep -q '^tcpdump: listening' "$STATE/tcpdump" ||
		fail "tcpdump does not start"
}

record_stop() {
	until_true 30 all_captured "$RECORDER" "$STATE/tcpdump" ||
		fail "tcpdump is late: $(cat "$STATE/tcpdump")"
	kill "$RECORDER" 2>/dev/null
	wait "$RECORDER"
	grep -q '^0 packets dropped by kernel' "$STATE/tcpdump" ||
		fail "tcpdump lost packets: $(cat "$STATE/tcpdump")"
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
	grep -q "^$KEPT packets captured" "$STATE/tcpdump" || return 0
	CUT=1
	tcpdump -r "$pcap" -c "$(last_turn "$pcap")" -w "$pcap.cut" \
		2>/dev/null || fail "the capture is not cut"
	mv "$pcap.cut" "$pcap"
}

# want FPDUS: the decoders' expected results for the capture; the numbers of FPDUs,
# the Initiator's first, if all of them were captured
want() {
	local words="rev=${R[revision]} crc=${R[crc]} markers=0+0 decoder=tshark"

	[[ -n $CUT ]] || words+=" fpdus=$1"
	echo "$words" >"$OUT/$CASE.want"
}

# seen FILTER: how many packets of the capture are of that kind
seen() { tcpdump -nn -r "$OUT/$CASE.pcap" "$1" 2>/dev/null | wc -l; }

none_seen() { (($(seen "$1") == 0)) || fail "$1: $(seen "$1") packets"; }

# The table

# row PROGRAM ROLE REVISION CRC MARKERS MESSAGES OCTETS RESULT
row() {
	local IFS=$'\t'

	echo "$*" >"$STATE/row"
}
