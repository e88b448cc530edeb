#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Connections over networks with faults: the part of tests/harden.sh that runs in the
# guest.
#
# usage: net.sh [ROUND=N] [CELL...]
#
# A cell is CONDITION.MARKERS.CRC.SIZE.WAY, like loss-1.m1.c0.mix.two: the condition
# of the network; markers and CRC or not; ULPDUs of 64 octets, of a MULPDU, of 64768
# or of all lengths; sent one way, sent back (two), or by mpa_rdmap. SIZE and WAY
# can be all. SEED, CELL and the round determine the rest (IP version, out-of-order
# passing, zero copy, sequence numbers, offloads). Each octet that arrives is
# compared with the octet sent.
#
# Without cells: SECONDS_MAX=S or COUNT=N runs cells of the matrix for that many
# seconds or up to that number, in an order drawn from SEED; otherwise a short list
# of cells runs. ROUND=N begins with that round. Cells that are named run COUNT
# times, or for SECONDS_MAX, or once.

TESTS=/root/test
# shellcheck source=tests/net/socket/lib.sh
. $TESTS/lib.sh

SEED=${SEED:-1} SECONDS_MAX=${SECONDS_MAX:-0} COUNT=${COUNT:-0} ROUND=0
WORK=${WORK:-/root/kept/net}	# logs of failed cells
TEMP=/tmp/net
RDMAP=/sys/kernel/debug/mpa_rdmap
ISN=/sys/kernel/debug/net_isn	# and net_isn_used
PATIENCE=$((300 * SLOW))	# seconds for all of a connection
LONG=64768

SIZES=(64 mulpdu 64768 mix) WAYS=(one two rdmap)
LOSSES=(loss-0.1 loss-1 loss-3 loss-10 loss-1-both loss-3-both loss-10-both)
CONDITIONS=(clean "${LOSSES[@]}" reorder duplicate corrupt jitter rate flap
	link-down pmtu pmtu-blackhole full-window zero-window resegment bit-flips
	gro combined)

# Each condition but clean and combined (of the losses two), and each size and way, at
# least once, with and without markers and CRC.
# zero-window is first: it takes a minute, mostly idle.
SHORT=(zero-window.m1.c1.mix.one long-stream.m1.c0.any.two pmtu.m1.c1.mulpdu.one
	wrap.m1.c1.any.two blackhole.m1.c1.64.one
	pmtu-blackhole.m0.c1.mix.two flap.m1.c1.mix.two
	loss-1.m1.c1.64768.one loss-3-both.m1.c1.mix.rdmap reorder.m1.c1.mulpdu.two
	duplicate.m1.c0.64.one corrupt.m1.c1.64768.rdmap jitter.m0.c0.64768.two
	rate.m0.c1.mulpdu.rdmap link-down.m0.c0.mix.one full-window.m1.c1.mulpdu.one
	resegment.m1.c1.mix.two bit-flips.m1.c1.64.one gro.m1.c1.64.two
	stall.m0.c1.any.two)

# The current cell; each runs in a subshell

CONDITION='' MARKERS='' CRC='' SIZE='' WAY=''
ISN_A='' ISN_B=''	# where sequence numbers begin
P=		# prefix of its namespaces' names
OCTETS=		# approximate number to send each way
EVENTS=		# function that changes the network during the stream
FROM=0		# b's MpaRxOctets before this connection
V4='' V6='' TARGET=	# addresses of b; the one that is taken
FAMILY=1 OOO=0 ZERO_COPY=0 TRAINS=0 GRO=0 GSO=0 MTU=1500
SERVE=()	# more options for the server
ALTERED=0 RETRANSMITTED=0 PROBES=0	# segments, as TCP counts them

# chance VARIABLE: 0 or 1. Not $(...): a subshell would have another random sequence.
chance() { printf -v "$1" %d $((RANDOM % 2)); }

# parse CELL; all that is drawn depends on it
parse() {
	local rest=${1#loss-0.1.}

	RANDOM=$((16#$(md5sum <<<"$SEED $ROUND $1" | cut -c 1-4)))
	[[ $rest != "$1" ]] || rest=${1#*.}
	CONDITION=${1%".$rest"}
	IFS=. read -r MARKERS CRC SIZE WAY <<<"$rest"
	MARKERS=${MARKERS#m} CRC=${CRC#c}
	chance TRAINS
	chance GRO
	chance GSO
}

# draw: parameters of a connection that the cell does not name
draw() {
	chance FAMILY
	chance OOO
	chance ZERO_COPY
	# Only IPv4 knows a path as narrow as 576 octets
	[[ $CONDITION != pmtu ]] || FAMILY=1
	((MARKERS && CRC)) || OOO=0
	first_number ISN_A
	first_number ISN_B
	TARGET=$V4
	((FAMILY)) || TARGET=$V6
}

# Half of them begin where the sequence numbers are about to end
first_number() {
	if ((RANDOM % 2)); then
		printf -v "$1" %d $((1 + RANDOM * 32768 + RANDOM))
	else
		printf -v "$1" %d $(((1 << 32) - 1 - RANDOM * 16 % 600000))
	fi
}

in_a() { ns "${P}a" "$@"; }
in_b() { ns "${P}b" "$@"; }

# Networks. Starting a process is slow under emulation: LATER collects the commands
# for each namespace, and do_it() runs them in one shell each.

declare -A LATER=()

spaces() {
	local name

	for name; do
		echo "netns add $P$name"
	done | ip -batch - || fail "no namespaces"
	for name; do
		LATER[$name]="ip link set lo up
echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save
echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
echo 1 >/proc/sys/net/ipv6/conf/all/keep_addr_on_down"
	done
}

spaces_gone() {
	local space

	for space in "/run/netns/$P"*; do
		[[ ! -e $space ]] || echo "netns del ${space##*/}"
	done | ip -batch -
}

later() { LATER[$1]+="
${*:2}"; }

do_it() {
	local name

	for name in "${!LATER[@]}"; do
		ns "$P$name" sh -e -c "${LATER[$name]}" || fail "namespace $name"
	done
	LATER=()
}

# wires SPACE DEVICE SPACE DEVICE [OPTION...]: and more of them, a line each
wires() {
	local a va b vb options

	while read -r a va b vb options; do
		echo "link add $va netns $P$a mtu $MTU $options type veth" \
			"peer name $vb netns $P$b mtu $MTU $options"
	done | ip -batch - || fail "no veths"
}

# wire_end SPACE DEVICE NET.HOST [GATEWAY's HOST]: one of two ends, 1 and 2. They
# know each other, for to ask may take longer than a connection waits.
wire_end() {
	local net=${3%.*} host=${3#*.} peer mac

	peer=$((3 - host)) mac=02:00:00:00:0$net
	later "$1" "echo 0 >/proc/sys/net/ipv6/conf/$2/accept_dad"
	later "$1" "ip -batch - <<END
link set dev $2 address $mac:0$host up
addr add 10.0.$3/24 dev $2
addr add fd0$net::$host/64 dev $2 nodad
neigh add 10.0.$net.$peer lladdr $mac:0$peer dev $2 nud permanent
neigh add fd0$net::$peer lladdr $mac:0$peer dev $2 nud permanent
END"
	[[ ! ${4-} ]] || later "$1" "$(routes "$net" "$4")"
}

# routes NET HOST: the commands for default routes
routes() {
	echo "ip route add default via 10.0.$1.$2"
	echo "ip route add default via fd0$1::$2"
}

# offload SPACE DEVICE 0|1 FEATURE...
offload() {
	local feature args=() states=(off on)

	for feature in "${@:4}"; do
		args+=("$feature" "${states[$3]}")
	done
	later "$1" "ethtool -K $2 ${args[*]} >/dev/null"
}

# a, two routers r and s, and b. a and b may use segmentation offloads; between the
# routers each wire segment is a packet of its own.
chain() {
	spaces a r s b
	wires <<-END
		a va r ra
		r rs s sr gso_max_segs 1
		s sb b vb
	END
	wire_end a va 1.1 2
	wire_end r ra 1.2
	wire_end r rs 3.1 2
	wire_end s sr 3.2 1
	wire_end s sb 2.2
	wire_end b vb 2.1 2
	later r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	later s sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	((TRAINS)) || offload a va 0 tso gso
	((TRAINS)) || offload b vb 0 tso gso
	offload b vb "$GRO" gro
	[[ $CONDITION != gro ]] || routers_merge
	do_it
	V4=10.0.2.1 V6=fd02::1
}

routers_merge() {
	offload r rs 1 gro
	offload s sr 1 gro
	offload s sb "$GSO" gso tso
}

# box FLIPS: a and b at the two sides of a box that cuts segments again, and flips a
# bit in FLIPS segments of a million
box() {
	spaces a b m
	wires <<-END
		a va m ma
		b vb m mb
	END
	wire_end a va 1.1
	wire_end b vb 1.2
	# The box cannot offload checksums
	offload a va 0 tx
	offload b vb 0 tx
	later m sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	later m "ip link set dev ma up; ip link set dev mb up"
	do_it
	command ns "${P}m" net_cut "$RANDOM" "$1" ma mb >"$LOG.box" 2>&1 &
	BOX=$!
	trap 'kill $BOX' EXIT
	until grep -q ready "$LOG.box"; do
		kill -0 $BOX || fail "net_cut: $(<"$LOG.box")"
		sleep 0.05
	done
	V4=10.0.1.2 V6=fd01::2
}

# there NETEM..., back NETEM...: emulation for packets to b, and for those to a
there() { emulate s sb "$@"; }
back() { emulate r ra "$@"; }
both() { there "$@" && back "$@"; }

emulate() {
	tc -n "$P$1" qdisc replace dev "$2" root netem "${@:3}" limit 20000 ||
		fail "netem ${*:3}"
}

# Conditions

condition_clean() { chain; }

loss() {
	local share=${1#loss-}

	chain
	there loss "${share%-both}%"
	[[ $1 != *-both ]] || back loss "${share%-both}%"
	case $share in
	10*) OCTETS=150000 ;;
	0.1) OCTETS=3000000 ;;
	esac
}

condition_reorder() { chain; both delay 5ms reorder 25% 50%; }
condition_duplicate() { chain; both duplicate 20%; }
condition_corrupt() { chain; both corrupt 2%; }
condition_jitter() { chain; both delay 20ms 10ms; }

# A queue too short for all that TCP would like to send
condition_rate() {
	chain
	tc -n "${P}s" qdisc replace dev sb root tbf rate 10mbit burst 20kb \
		limit 30kb || fail "tbf"
}

# A link that goes down for a time unknown to both ends
condition_flap() {
	chain
	small_windows
	EVENTS=flap
	OCTETS=400000
}

condition_link-down() {
	condition_flap
	EVENTS=link_down
}

flap() {
	local turn

	for turn in 5 15; do
		reached $turn || return 0
		ip -n "${P}s" link set sb down || return
		sleep $((turn / 5))
		ip -n "${P}s" link set sb up || return
	done
	still_there
}

# The sender's own device goes down, and its routes with it
link_down() {
	reached 10 || return 0
	ip -n "${P}a" link set va down || return
	sleep 2
	ip -n "${P}a" link set va up || return
	in_a sh -e -c "$(routes 1 2)" || return
	still_there
}

# The path MTU shrinks and grows again; both ends cache it for 2 s
condition_pmtu() {
	chain
	small_windows
	in_a sysctl -qw net.ipv4.route.mtu_expires=2 net.ipv6.route.mtu_expires=2
	in_b sysctl -qw net.ipv4.route.mtu_expires=2 net.ipv6.route.mtu_expires=2
	EVENTS=narrow_and_wide
	OCTETS=400000
}

# The same without ICMP errors
condition_pmtu-blackhole() {
	local end

	chain
	small_windows
	for end in a b; do
		ns "$P$end" sysctl -qw net.ipv4.tcp_mtu_probing=1
		tc -n "$P$end" qdisc add dev v$end clsact
		tc -n "$P$end" filter add dev v$end ingress protocol ip prio 1 \
			u32 match ip protocol 1 ff action drop
		# Drops Packet Too Big, not neighbour discovery
		tc -n "$P$end" filter add dev v$end ingress protocol ipv6 prio 2 \
			u32 match u8 58 ff at 6 match u8 2 ff at 40 action drop
	done
	EVENTS=narrow_unseen
	OCTETS=400000
}

# path MTU: between the routers and the two ends
path() {
	ip -n "${P}s" route add 10.0.2.1/32 dev sb mtu "$1" &&
		ip -n "${P}r" route add 10.0.1.1/32 dev ra mtu "$1" &&
		ip -n "${P}s" route add fd02::1/128 dev sb mtu "$1" &&
		ip -n "${P}r" route add fd01::1/128 dev ra mtu "$1"
}

path_wide() {
	ip -n "${P}s" route del 10.0.2.1/32 &&
		ip -n "${P}r" route del 10.0.1.1/32 &&
		ip -n "${P}s" route del fd02::1/128 &&
		ip -n "${P}r" route del fd01::1/128
}

narrowest() { ((FAMILY)) && echo 576 || echo 1280; }

# sender_knows MTU: wait for that
sender_knows() {
	until in_a ss -tinOH "dport = $PORT" | grep -q "pmtu:$1 "; do
		[[ ! -e $LOG.over ]] || return 1
		sleep 0.3
	done
}

# Short messages, a few at a time: the sender may never exceed the path MTU
never_too_long() { [[ $SIZE == 64 && $WAY != one ]]; }

# Fails unless the connection was still open during the event
still_there() {
	[[ -e $LOG.over ]] || echo "met at $SECONDS s" | tee "$LOG.met"
}

# Slow enough that octets are left to send when the event comes
slow() { both delay 5ms rate "${1-256kbit}"; }

# netem keeps the rate that is not given
fast() { both delay 5ms rate 1gbit; }

narrow_and_wide() {
	local mtu

	reached 20 || return 0
	mtu=$(narrowest)
	slow 24kbit
	echo narrow at $SECONDS s
	path "$mtu" || return
	never_too_long || sender_knows "$mtu" || return 0
	noticed || return 0
	echo wide at $SECONDS s
	path_wide || return
	never_too_long || sender_knows "$MTU" || return 0
	still_there
}

# MPA reads TCP's path MTU when it sends the next FPDU, and some FPDUs are long
noticed() {
	local share=20

	[[ $SIZE != mulpdu ]] || share=10
	[[ $SIZE != 64 && $WAY != rdmap ]] || share=2
	FROM=$(received)
	reached $share
}

narrow_unseen() {
	reached 10 || return 0
	path "$(narrowest)" || return
	reached 20 || return 0
	path_wide || return
	still_there
}

small_windows() {
	in_a sysctl -qw net.ipv4.tcp_rmem="4096 32768 32768"
	in_b sysctl -qw net.ipv4.tcp_rmem="4096 32768 32768"
}

# The receiver reads nothing until the window is full
condition_full-window() {
	chain
	small_windows
	SERVE=(lazy=1)
}

# The receiver reads nothing for a minute; for 4 s on all but the first connection
condition_zero-window() {
	chain
	small_windows
	SERVE=(hold=60000)
	OCTETS=200000
}

condition_resegment() { box 0; }
condition_bit-flips() { box 5000; }

# A router puts segments together; it has got some of them twice, or not at all
condition_gro() {
	chain
	emulate r rs loss 1% duplicate 2%
	emulate s sr loss 1% duplicate 2%
}

condition_combined() {
	box 2000
	emulate m ma loss 1% duplicate 5% delay 3ms reorder 10% 50%
	emulate m mb loss 1% duplicate 5% delay 3ms reorder 10% 50%
	OCTETS=300000
}

# Traffic

# Octets that b has received in FPDUs
received() {
	# shellcheck disable=SC2016
	in_b awk '$1 == "MpaRxOctets" { print $2 }' /proc/net/mpa_stat
}

# reached PERCENT: wait until so much of this connection has got to b; fails if it
# is over
reached() {
	# shellcheck disable=SC2016
	in_b sh -c 'while [ ! -e "$1" ]; do
			while read -r name value; do
				[ $name != MpaRxOctets ] || break
			done </proc/net/mpa_stat
			[ "$value" -lt "$2" ] || exit 0
			sleep 0.2
		done
		exit 1' - "$LOG.over" $((FROM + OCTETS * $1 / 100))
}

# tell SPACE DIRECTORY FILE SHELL WORD...: do SHELL there, give the command, and
# show FILE; the status is the command's
tell() {
	# shellcheck disable=SC2016
	ns "$P$1" sh -c 'eval "$3"
		echo "$4" >"$1/cmd"
		status=$?
		cat "$1/$2" 2>/dev/null
		exit $status' - "$2" "$3" "$4" "${*:5}"
}

# take TEXT: a result; R has it
take() {
	local key value

	R=()
	while IFS='=' read -r key value; do
		[[ -z $key ]] || R[$key]=$value
	done <<<"$1"
}

# Server options of the condition, for those servers that have them
serve_options() {
	[[ $WAY == one || ($WAY == two && $CONDITION == zero-window) ]] || SERVE=()
	echo "${SERVE[@]}"
}

# terms NUMBER: where sequence numbers begin, and the wish for CRCs
terms() { echo "echo $1 >$ISN; echo $CRC >/proc/sys/net/mpa/crc"; }

# begin SERVE-OPTION...: the server
begin() {
	local file=$PING

	[[ $WAY != rdmap ]] || file=$RDMAP
	BEFORE=$(tell b $file serve_result "$(terms "$ISN_B")" \
		serve "port=$PORT" "$@" "markers=$MARKERS" "ooo=$OOO" \
		"$(serve_options)") || fail "serve $*"
}

end() { tell b "$1" nothing : stop "port=$PORT" || fail "stop"; }

# Prints the state of a connection that hangs, before its timeout
watch() {
	sleep $((PATIENCE / 2))
	echo "after $((PATIENCE / 2)) s:"
	diagnose
}

# run DIRECTORY COMMAND OPTION...: to the end; R has the result
run() {
	local status=0 watcher text

	watch &
	watcher=$!
	text=$(tell a "$1" result "$(terms "$ISN_A")" "$2" "addr=$TARGET" \
		"port=$PORT" "markers=$MARKERS" "ooo=$OOO" \
		"timeout=$PATIENCE" "${@:3}") || status=$?
	: >"$LOG.over"
	kill $watcher
	take "$text"
	CHANGES=${R[mulpdu_changes]-}
	echo "$2: $(show_result)"
	return $status
}

run_ok() {
	run "$@" || fail "${*:2}: status $?"
	expect status=0 reason=ok
}

wait_served() {
	local try text

	for ((try = 0; try < 200 * SLOW; try++)); do
		text=$(in_b cat "$1/serve_result" 2>/dev/null)
		[[ $text == "$BEFORE" ]] || break
		sleep 0.1
	done
	((try < 200 * SLOW)) || fail "the server has not finished"
	take "$text"
	echo "serve: $(show_result)"
	expect status=0 reason=ok
}

# payload OPTION...: a file that MPA cuts into ULPDUs; SENT is a copy
payload() {
	SENT=$LOG.sent
	in_a sh -c "head -c $OCTETS $TEMP/octets | tee $SENT >$PING/payload"
	run_ok $PING ping mode=sink payload=1 "$@"
}

# ULPDUs of maximal length, which no source makes; their contents are known
long_ones() {
	local count=$((OCTETS / LONG + 1))

	head -c $((count * LONG)) "$TEMP/long" >"$LOG.sent"
	SENT=$LOG.sent
	run_ok $PING ping mode=sink size=$LONG count=$count batch=4 \
		zerocopy=$ZERO_COPY
	expect ulpdus_tx=$count
}

way_one() {
	local ulpdus octets

	begin mode=sink capture=1
	case $SIZE in
	64) payload size=64 ;;
	mulpdu) payload zerocopy=$ZERO_COPY ;;
	64768) long_ones ;;
	mix) payload mix=$((RANDOM + 1)) ;;
	esac
	ulpdus=${R[ulpdus_tx]} octets=$(stat -c %s "$SENT")
	expect "bytes_tx=$octets"
	wait_served $PING
	expect "ulpdus_rx=$ulpdus" "bytes_rx=$octets"
	in_b cat $PING/captured | cmp - "$SENT" ||
		fail "other octets than were sent"
	figure compared "$octets"
}

way_two() {
	local size=("size=$SIZE") count=$((OCTETS / 1500))

	begin mode=echo
	case $SIZE in
	64) count=$((OCTETS / 128)) size+=(batch=32 depth=512) ;;
	64768) count=$((OCTETS / LONG + 1)) ;;
	mix)
		count=$((OCTETS / 8000 + 8))
		size=("size=$LONG" "mix=$((RANDOM + 1))" batch=8)
		;;
	esac
	run_ok $PING ping mode=echo verify=1 "${size[@]}" "count=$count" \
		"zerocopy=$ZERO_COPY"
	expect mismatches=0 "ulpdus_tx=$count" "ulpdus_rx=$count" \
		"bytes_rx=${R[bytes_tx]}"
	figure compared $((R[bytes_rx] * 2))
	wait_served $PING
	expect "ulpdus_rx=$count" "ulpdus_tx=$count"
}

# RDMA Writes and Reads of rping, or Sends; mpa_rdmap compares the octets
way_rdmap() {
	local octets=$SIZE count app="echo"

	case $SIZE in
	mulpdu) octets=1400 ;;
	64768) octets=65536 ;;
	mix) app=rping octets=$((1 + RANDOM * 2)) ;;
	esac
	count=$((OCTETS / octets + 1))
	((count < 1500)) || count=1500
	begin "app=$app" "timeout=$PATIENCE"
	run_ok $RDMAP connect "app=$app" "size=$octets" "count=$count"
	figure compared $((R[bytes_tx] + R[bytes_rx]))
	wait_served $RDMAP
}

# counters SPACE: all of MPA and of TCP there; K has them
counters() {
	local name value text

	text=$(ns "$P$1" cat /proc/net/mpa_stat /proc/net/snmp /proc/net/netstat) ||
		fail "no counters"
	K=()
	while read -r name value; do
		K[$name]=$value
	done < <(awk '/^Mpa/ { print } /^Tcp(Ext)?:/ {
		if ($1 != group) { group = $1; n = split($0, names); next }
		for (i = 2; i <= n; i++) print names[i], $i
		group = "" }' <<<"$text")
}

# Each ULPDU was received once, each message was handed back, all are released
settled() {
	local end try sent=()
	declare -A K=()

	for end in a b; do
		for ((try = 0; try < 100 * SLOW; try++)); do
			counters $end
			((K[MpaReleased] < K[MpaAttached])) || break
			sleep 0.1
		done
		same "${K[MpaReleased]}" "${K[MpaAttached]}" "released in $end"
		same "${K[MpaTxCanceled]}" 0 "ULPDUs taken back in $end"
		same "$(no_errors)" "" "errors counted in $end"
		sent+=("${K[MpaTxUlpdus]}" "${K[MpaRxUlpdus]}")
		figure ulpdus "${K[MpaRxUlpdus]}"
		figure ooo "${K[MpaOooUlpdus]}"
		figure again "${K[RetransSegs]}"
		figure checksums "${K[InCsumErrors]}"
		figure probes "${K[TCPWinProbe]}"
		[[ $end != a ]] || RETRANSMITTED=${K[RetransSegs]} PROBES=${K[TCPWinProbe]}
		ALTERED=$((ALTERED + K[InCsumErrors]))
	done
	same "${sent[0]} ${sent[2]}" "${sent[3]} ${sent[1]}" "ULPDUs sent and received"
}

no_errors() {
	local name

	for name in "${!K[@]}"; do
		[[ $name != MpaErr* ]] || ((!K[$name])) || echo "$name=${K[$name]}"
	done
}

# figure NAME NUMBER: adds to a figure of the whole run
figure() { echo "$1 $2" >>"$LOG.figures"; }

# The path has become narrow, and wide again, and the sender knew.
check_path() {
	[[ $WAY == rdmap ]] || never_too_long || ((CHANGES >= 2)) ||
		fail "MULPDU has changed $CHANGES times"
}

# Checks of single conditions

# The box has made more segments than had come
was_cut() {
	local came made

	kill $BOX
	wait $BOX || fail "net_cut: status $?"
	trap - EXIT
	read -r came made < <(sed -n 's/^came=\(.*\) made=/\1 /p' "$LOG.box")
	figure cut "${made:-0}"
	((made > came)) || fail "of $came segments $made were made"
}

altered() { ((ALTERED)) || fail "no octet was altered"; }

check_resegment() { was_cut; }
check_combined() { was_cut; }
check_bit-flips() { was_cut && altered; }

check_zero-window() {
	[[ $WAY == rdmap ]] || ((PROBES > 3)) || fail "the window was not probed"
}

# check_hold SECONDS: the first connection had its minute
check_hold() {
	[[ $WAY == rdmap || ${SERVE[0]} != hold=60000 ]] || (($1 >= 58)) ||
		fail "delivery was held for less than $1 s"
}

# began_there SPACE NUMBER: NUMBER connections began at the sequence number set
began_there() {
	local used

	used=$(ns "$P$1" cat ${ISN}_used)
	((used >= $2)) ||
		fail "sequence numbers of $used connections of $1 began where they were to"
}

lossy_enough() { ((RETRANSMITTED)) || fail "nothing was sent again"; }

check_loss-3() { lossy_enough; }
check_loss-10() { lossy_enough; }
check_loss-10-both() { lossy_enough; }
check_corrupt() { altered; }

# connection SIZE WAY
connection() {
	local SIZE=$1 WAY=$2 file=$PING events='' began=$SECONDS

	DOING="$1 $2"
	[[ $WAY != rdmap ]] || file=$RDMAP
	draw
	echo "$DOING: to $TARGET ooo=$OOO zerocopy=$ZERO_COPY" \
		"isn=$ISN_A,$ISN_B"
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
	[[ $CONDITION != pmtu ]] || check_path
	[[ $CONDITION != zero-window ]] || check_hold $((SECONDS - began))
	end "$file"
	figure connections 1
	[[ $CONDITION != zero-window ]] || SERVE=(hold=4000)
}

matrix_cell() {
	local sizes=("$SIZE") ways=("$WAY") size way

	[[ $SIZE != all ]] || sizes=("${SIZES[@]}")
	[[ $WAY != all ]] || ways=("${WAYS[@]}")
	OCTETS=800000
	if [[ $CONDITION == loss-* ]]; then
		loss "$CONDITION"
	else
		"condition_$CONDITION"
	fi
	for size in "${sizes[@]}"; do
		for way in "${ways[@]}"; do
			connection "$size" "$way"
		done
	done
	settled
	[[ $(type -t "check_$CONDITION") != function ]] || "check_$CONDITION"
}

# The other cells

# Sequence numbers end at many places in the first octets, one after the other
wrap_cell() {
	local turn

	chain
	both delay 1ms reorder 20%
	draw
	begin mode=echo
	for ((turn = 0; turn < 40; turn++)); do
		ISN_A=$(((1 << 32) - 20 - (turn % 4 ? RANDOM : turn * 64 + 1)))
		in_b sh -c "echo $(((1 << 32) - 20 - RANDOM)) >$ISN"
		run_ok $PING ping verify=1 size=$LONG mix=$((RANDOM + 1)) \
			count=20 batch=10
		expect mismatches=0 ulpdus_rx=20
		figure compared $((R[bytes_rx] * 2))
		figure connections 1
	done
	end $PING
	settled
	began_there a 40
	began_there b 40
}

# More than 2^32 octets, beginning just before the sequence numbers wrap
long-stream_cell() {
	local count=67000 mode="echo" options=(verify=1)
	declare -A K=()

	TARGET=127.0.0.1
	spaces a
	later a ip link set lo mtu 65536
	do_it
	[[ $WAY == two ]] || mode=sink options=()
	PATIENCE=3000
	ISN_A=$(((1 << 32) - 1 - RANDOM))
	tell a $PING nothing "$(terms $ISN_A)" serve "port=$PORT" \
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
	began_there a 2
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
	later a "sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384' \
		net.ipv4.tcp_wmem='4096 1048576 1048576'"
	later b "sysctl -qw net.ipv4.tcp_rmem='4096 262144 262144' \
		net.ipv4.tcp_wmem='4096 16384 65536'"
	do_it
	V4=10.0.1.2 V6=fd01::2
	between delay 2ms 1ms loss 3%
	draw
	OOO=$MARKERS
	begin mode=echo
	in_b timeout $((20 * SLOW)) nc -ll -p $((PORT + 1)) -e cat 2>/dev/null &
	fill $PORT request "expect-reply:m=$MARKERS"
	fill $((PORT + 1)) set:crc=1
	sleep $SLOW
	in_a ethtool -K va tso off gso off >/dev/null
	in_a ip route replace "$TARGET" dev va mtu 1500
	# To probe, with nothing lost, does not take longer than they wait
	sleep $((8 * SLOW))
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

# fill PORT STEP...: the first FPDUs have enough echoes to fill a's receive buffer
fill() {
	local i

	for ((i = 0; i < 16; i++)); do
		in_a mpa-peer -t $((6 * SLOW)) connect "$TARGET" "$@" \
			hold fpdu:size=1,count=8000 push pause:$((6 * SLOW)) \
			fpdu:size=594,count=600 pause:$((2 * SLOW)) \
			fin end:fin,rest >"$LOG.$1.$i" 2>&1 &
		peers+=($!)
	done
}

# echoed PORT: connections that have all of them back
echoed() { grep -lx "dropped: 424000 octets" "$LOG.$1".* | wc -l; }

# cell NAME: run it; call it in a subshell
cell() {
	parse "$1"
	echo "seed $SEED round $ROUND: trains=$TRAINS"
	case $CONDITION in
	long-stream | wrap | blackhole | stall) "${CONDITION}_cell" ;;
	*) matrix_cell ;;
	esac
}

diagnose() {
	local space

	for space in "/run/netns/$P"*; do
		space=${space##*/}
		[[ $space != *[ab] ]] ||
			ns "$space" ss -tinmoHO | sed "s/^/$space /"
		ip -n "$space" -6 route show | sed "s/^/$space /"
		ip -n "$space" neigh show | sed "s/^/$space /"
		tc -n "$space" -s qdisc show | grep -A 2 -E 'netem|tbf'
	done 2>&1 | head -n 60
	dmesg | tail -n 5
}

# run_cell NAME
run_cell() {
	local status=0

	(cell "$1") >"$LOG" 2>&1 || status=1
	: >"$LOG.over"
	((!status)) || diagnose >>"$LOG" 2>&1
	spaces_gone
	return $status
}

# All cells

# cells SIZES WAYS: all cells with these
cells() {
	local condition size way

	for condition in "${CONDITIONS[@]}"; do
		for size in $1; do
			for way in $2; do
				printf "%s.$size.$way\\n" "$condition".m{0,1}.c{0,1}
			done
		done
	done
	printf '%s\n' long-stream.m{0,1}.c{0,1}.any.{one,two} \
		blackhole.m{0,1}.c{0,1}.64.{one,two} \
		wrap.m{0,1}.c{0,1}.any.two stall.m{0,1}.c1.any.two
}

# In a short time, as in a slice of a soak, a cell is a single connection.
cells_of_matrix() {
	if ((SECONDS_MAX && SECONDS_MAX < 600)); then
		cells "${SIZES[*]}" "${WAYS[*]}"
	else
		cells all all
	fi
}

# there_are CELL...: fail now for an unknown cell, not when its turn comes
there_are() {
	local name names

	names=$(cells "${SIZES[*]} all" "${WAYS[*]} all")
	for name; do
		grep -qxF -- "$name" <<<"$names" || {
			echo "there is no cell '$name'" >&2
			exit 2
		}
	done
}

# Octets to send one way; ULPDUs that no source makes have fixed contents
make_octets() {
	local count=$((3000000 / LONG + 2))

	head -c 4000000 /dev/urandom >"$TEMP/octets"
	P=netx
	spaces x
	do_it
	tell x $PING nothing : serve "port=$PORT" mode=sink capture=1
	tell x $PING nothing : ping addr=127.0.0.1 "port=$PORT" mode=sink size=$LONG \
		"count=$count" timeout=60 || fail "no ULPDUs to compare with"
	ns netxx cat $PING/captured >"$TEMP/long"
	tell x $PING nothing : stop "port=$PORT"
	spaces_gone
	same "$(stat -c %s "$TEMP/long")" $((count * LONG)) "octets to compare with"
}

# shuffled: lines in an order that SEED and ROUND say
shuffled() {
	awk -v seed="$SEED" -v round="$ROUND" 'BEGIN { srand(seed * 1000 + round) }
		{ print rand(), $0 }' | sort -n | cut -d " " -f 2-
}

# One cell to a slot; two processors have something to do while TCP waits.
SLOTS=4
pids=() running=() begun=() done_cells=0 failed=0

# ended SLOT STATUS
ended() {
	local log=$TEMP/net$1.log took=$((SECONDS - begun[$1]))

	done_cells=$((done_cells + 1))
	if (($2)); then
		failed=$((failed + 1))
		sed 's/^/    /' "$log"
		cp "$log" "$WORK/${running[$1]}.log"
		echo "not ok - net.${running[$1]}"
	else
		echo "ok - net.${running[$1]}"
	fi
	echo "${running[$1]}: $took s" >&2
	cat "$log.figures" >>"$TEMP/figures" 2>/dev/null
	rm -f "$log" "$log".*
	unset "pids[$1]"
}

# Sets FREE to a free slot, or to nothing
reap() {
	local slot status

	FREE=
	for ((slot = 0; slot < SLOTS; slot++)); do
		if [[ ${pids[$slot]-} ]] && ! kill -0 "${pids[$slot]}" 2>/dev/null; then
			status=0
			wait "${pids[$slot]}" || status=$?
			ended $slot $status
		fi
		[[ ${pids[$slot]-} ]] || FREE=$slot
	done
}

said=0
progress() {
	((SECONDS - said >= 20)) || return 0
	said=$SECONDS
	echo "$SECONDS s, $done_cells cells, $failed failed; running:" \
		"$(for slot in "${!pids[@]}"; do echo -n " ${running[$slot]}"; done)"
}

start() {
	while reap; [[ ! $FREE ]]; do
		sleep 0.1
		progress
	done
	P=net$FREE LOG=$TEMP/net$FREE.log running[FREE]=$1 begun[FREE]=$SECONDS
	run_cell "$1" &
	pids[FREE]=$!
}

finish() {
	while reap; ((${#pids[@]})); do
		sleep 0.1
		progress
	done
	echo "# cells=$done_cells failed=$failed seconds=$SECONDS $(awk '
		{ sum[$1] += $2 }
		END { for (name in sum) printf "%s=%.0f ", name, sum[name] }' \
		"$TEMP/figures")"
	echo "1..$done_cells"
	((!failed))
}

# True if another cell is to be started
more() {
	((COUNT == 0 || started < COUNT)) &&
		((SECONDS_MAX == 0 || SECONDS < SECONDS_MAX))
}

matrix() {
	local name started=0

	while more; do
		while read -r name; do
			more || break
			# These take long without a processor that knows CRC32c
			[[ $name != long-stream.* ]] || ((SLOW == 1 &&
				(!SECONDS_MAX || SECONDS_MAX - SECONDS > 1200))) ||
				continue
			start "$name"
			started=$((started + 1))
		done < <(cells_of_matrix | shuffled)
		ROUND=$((ROUND + 1))
	done
}

# chosen CELL...: each time with another draw
chosen() {
	local name turn

	for ((turn = 0; !turn || turn < COUNT || (!COUNT && SECONDS_MAX); turn++)); do
		for name; do
			((SECONDS_MAX == 0 || SECONDS < SECONDS_MAX)) || return 0
			start "$name"
		done
		ROUND=$((ROUND + 1))
	done
}

main() {
	local name

	if [[ ${1-} == ROUND=* ]]; then
		ROUND=${1#*=}
		shift
	fi
	there_are "$@" "${SHORT[@]}"
	mkdir -p "$WORK" "$TEMP"
	: >"$TEMP/figures"
	modprobe -a mpa mpa_ping mpa_rdmap || exit 1
	[[ -d /sys/module/net_isn ]] || insmod /root/net_isn.ko || exit 1
	make_octets
	echo "seed $SEED"
	if (($#)); then
		chosen "$@"
	elif ((COUNT || SECONDS_MAX)); then
		matrix
	else
		for name in "${SHORT[@]}"; do start "$name"; done
	fi
	finish
}

main "$@"
