# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# The cells: connections under a condition of the matrix, and three of their own; see
# net.sh

# connection SIZE WAY
connection() {
	local SIZE=$1 WAY=$2 events='' began=$SECONDS

	DOING="$1 $2"
	draw
	echo "$DOING: to $TARGET ooo=$OOO zerocopy=$ZERO_COPY"
	rm -f "$LOG.over" "$LOG.met"
	if [[ $EVENTS ]]; then
		slow
		FROM=$(received)
		{ $EVENTS && fast; } &
		events=$!
	fi
	"way_$WAY"
	[[ -z $events ]] || wait "$events" || fail "$EVENTS: status $?"
	[[ -z $events || -e $LOG.met ]] ||
		fail "the stream was over before it was met by $EVENTS"
	[[ $CONDITION != pmtu ]] || check_path "$CHANGES"
	[[ $CONDITION != zero-window ]] || check_hold $((SECONDS - began))
	[[ $WAY == rdma ]] || end $PING
	figure connections 1
}

matrix_cell() {
	local sizes=("$SIZE") ways=("$WAY") size way kind=${CONDITION/#loss-*/loss}

	[[ $SIZE != all ]] || sizes=("${SIZES[@]}")
	[[ $WAY != all ]] || ways=("${WAYS[@]}")
	"condition_$kind"
	for size in "${sizes[@]}"; do
		for way in "${ways[@]}"; do
			connection "$size" "$way"
		done
	done
	settled
	[[ $(type -t "check_$kind") != function ]] || "check_$kind"
}

# More octets than there are sequence numbers
long-stream_cell() {
	local count=67000 mode="echo" options=(verify=1)
	declare -A K=()

	TARGET=127.0.0.1
	spaces a
	setup a ip link set lo mtu 65536
	set_up
	[[ $WAY == two ]] || mode=sink options=()
	PATIENCE=3000
	tell a $PING nothing "$(want_crc)" serve "port=$PORT" \
		"mode=$mode" "markers=$MARKERS" || fail "serve"
	run_ok $PING ping "mode=$mode" "${options[@]}" size=$LONG batch=8 \
		"count=$count"
	figure stream $((count * LONG))
	expect mismatches=0 ulpdus_tx=$count
	figure ms "$((R[elapsed_ns] / 1000000))"
	take "$(in_a cat $PING/serve_result)"
	expect status=0 ulpdus_rx=$count "bytes_rx=$((count * LONG))"
	tell a $PING nothing : stop "port=$PORT"
	counters a
	same "${K[MpaTxUlpdus]} ${K[MpaTxCanceled]}" "${K[MpaRxUlpdus]} 0" \
		"ULPDUs sent, and taken back"
}

# The network drops everything: TCP gives up after its own timeout, and MPA hands all
# messages back
blackhole_cell() {
	local mode=sink

	OCTETS=400000
	[[ $WAY == one ]] || mode="echo"
	chain
	small_windows
	slow
	in_a sysctl -qw net.ipv4.tcp_retries2=4
	in_b sysctl -qw net.ipv4.tcp_retries2=4
	draw
	begin "mode=$mode"
	{ reached 2 && both loss 100%; } &
	! run $PING ping "mode=$mode" size="$SIZE" batch=64 depth=512 \
		count=$((OCTETS / 64)) || fail "all of it got through"
	expect reason=timeout status=-110 mismatches=0
	((R[elapsed_ns] < PATIENCE * 900000000)) || fail "TCP has not given up"
	end $PING
	all_back
}

# Both ends are released, and the sender had its ULPDUs back
all_back() {
	declare -A K=()

	counters b
	same "${K[MpaReleased]}" 1 "released in b"
	counters a
	same "${K[MpaReleased]}" 1 "released in a"
	((K[MpaTxCanceled])) || fail "nothing was handed back"
}

# The peers read no echo until the server's send buffer is full: 16 connections of MPA
# and 16 of plain TCP. The octets in the server's receive buffer take more memory than
# TCP expected when it offered the window, and there are holes: see "A stall of TCP"
# in mpa.rst. All echoes of MPA arrive; those of TCP are counted.
STALL_WAIT=$((15 * SLOW))	# seconds until a peer of plain TCP gives up

stall_cell() {
	local MTU=9000 peers=()
	declare -A K=()

	# The connections, not TCP as a whole, run out of memory
	# shellcheck disable=SC2064
	trap "sysctl -qw net.ipv4.tcp_mem='$(sysctl -n net.ipv4.tcp_mem)'" EXIT
	sysctl -qw net.ipv4.tcp_mem="100000 100000 100000"
	spaces a b
	wires <<<"a va b vb"
	wire_end a va 1.1
	wire_end b vb 1.2
	setup a "sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384' \
		net.ipv4.tcp_wmem='4096 1048576 1048576'"
	setup b "sysctl -qw net.ipv4.tcp_rmem='4096 262144 262144' \
		net.ipv4.tcp_wmem='4096 16384 65536'"
	set_up
	V4=10.0.1.2 V6=fd01::2
	between delay 2ms 1ms loss 3%
	draw
	OOO=$MARKERS
	begin mode=echo
	in_b timeout $((3 * STALL_WAIT)) nc -ll -p $((PORT + 1)) -e cat 2>/dev/null &
	fill $PORT $((4 * STALL_WAIT)) request "expect-reply:m=$MARKERS"
	fill $((PORT + 1)) $STALL_WAIT set:crc=1
	sleep $SLOW
	in_a ethtool -K va tso off gso off >/dev/null
	in_a ip route replace "$TARGET" dev va mtu 1500
	# To probe, with nothing lost, does not take longer than they wait
	sleep $((12 * SLOW))
	between delay 2ms
	sleep $((4 * SLOW))
	diagnose
	wait "${peers[@]}"
	sort "$LOG.$PORT".* | uniq -c
	counters b
	((K[TCPRcvQDrop])) || fail "TCP did not lack memory"
	figure tcp-stalls $((16 - $(echoed $((PORT + 1)))))
	figure lacks "${K[TCPRcvQDrop]}"
	same "$(echoed $PORT)" 16 "connections with all echoes"
	end $PING
	figure connections 16
}

between() { emulate a va "$@" && emulate b vb "$@"; }

# fill PORT SECONDS STEP...: the first FPDUs have enough echoes to fill a's receive buffer.
# All peers of both have to be there, and these sent, when TSO is switched off.
fill() {
	local i

	for ((i = 0; i < 16; i++)); do
		in_a mpa-peer -t "$2" connect "$TARGET" "$1" "${@:3}" \
			hold fpdu:size=1,count=8000 push pause:$((10 * SLOW)) \
			fpdu:size=594,count=600 pause:$((2 * SLOW)) \
			fin end:fin,rest >"$LOG.$1.$i" 2>&1 &
		peers+=($!)
	done
}

# echoed PORT: connections that have all of them back
echoed() { grep -lx "dropped: 424000 octets" "$LOG.$1".* | wc -l; }
