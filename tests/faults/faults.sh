#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Failed allocations: at each place where the module allocates, or calls a function
# of TCP that may allocate. Each place fails once, and then for a while, in a scenario
# that reaches it; afterwards any place fails at random, under traffic. The return
# addresses on the stack select the place, so it fails in any context.
#
# Each scenario has to end in time and without a wrong octet. It ends without an error
# if the connection must survive the fault, otherwise with or without one.
#
# The short form tries a place until one scenario reaches it. The long form tries it
# in all scenarios. The seed determines the random faults; the kernel draws which
# allocations fail.

. "${0%/*}/netstat.sh"
. "${0%/*}/failing.sh"
. "${0%/*}/tap.sh"

PING=/dev/mpa_ping
TRACE=/sys/kernel/tracing
SPACE=faults
ADDRESS=127.0.0.1 SERVER=
PORT=5044
A_WHILE=0.2		# seconds
PATIENT=200		# allocations in a while, where one is tried now and then
WAIT=90			# seconds after which something hangs

# Places whose failure may end the operation; all others have to recover
MAY_FAIL='@(mpa_attach|mpa_conn_alloc|mpa_start_*|mpa_cm_alloc|mpa_cm_copy|mpa_listen|mpa_connect|
mpa_net_init):*|*:@(sock_create_kern|kernel_bind|kernel_listen|kernel_connect)'
MAY_FAIL=${MAY_FAIL//$'\n'/}
# A copy of private data; a FIN that TCP could not allocate
MAY_FAIL+='|mpa_cm_@(run|advance|pd*):*kvmalloc*|*:tcp_shutdown'

findings=0

say() { echo "$SECONDS s: $*"; }

finding() {
	say "FAILED: $*"
	findings=$((findings + 1))
}

bail_out() {
	echo "Bail out! $*"
	exit 1
}

# case_over NAME: it has failed if there was a finding since the last case
case_over() {
	verdict "$1" $findings
	findings=0
}

# Scenarios: options of the server and of the client

declare -A R=() SERVE=() CLIENT=() LOOK=()
SCENARIOS=()

# scenario NAME PLACES SERVE CLIENT: the short form tries it for these places
scenario() {
	SCENARIOS+=("$1")
	LOOK[$1]=$2
	SERVE[$1]=$3
	CLIENT[$1]=$4
}

scenario echo "*" "markers=1" \
	"size=1000 count=24 batch=8 markers=1 pdata=hello"
scenario listen "mpa_listen*|*sock*|accept_*" "" "size=100 count=4"
scenario namespace "mpa_net_*" "" ""
scenario rev2 "*connect*" "rev=2 markers=1" \
	"rev=2 rtr=write fallback=1 size=1000 count=8 pdata=hello"
scenario rev0 "mpa_cm_*" "rev=0" \
	"rev=0 size=500 count=4 pdatahex=$(printf %03000d 0)"
scenario refused "mpa_cm_*|*connect*|starting_*" "rev=1" \
	"rev=2 fallback=1 size=100 count=4"
scenario rejected "mpa_cm_*" "reject=1 pdata=no" "size=100"
scenario immediate "mpa_start_*|mpa_connect*" "start=immediate" \
	"start=immediate size=100 count=8 batch=8"
scenario pages "mpa_t[rx]*" "markers=1" \
	"size=9000 count=8 batch=4 zerocopy=1 markers=1"
scenario source "mpa_t[rx]*" "markers=1" \
	"source=1 size=mulpdu count=60 markers=1"
scenario long "mpa_rx_!(ooo*)" "markers=1" "size=20000 count=2 markers=1"
scenario holes "mpa_rx_ooo_search*|mpa_rx_!(ooo*)" "ooo=1" \
	"ooo=1 size=mulpdu source=1 count=100"
scenario pieces "mpa_rx_ooo_*|mpa_batch_copy*" "ooo=1" "ooo=1 size=20000 count=8 batch=8"
scenario reclaim "mpa_t[rx]*|mpa_batch_*|accept_*" "memalloc=1" \
	"memalloc=1 size=3000 count=16 batch=8 zerocopy=1"
scenario abort "mpa_tcp_*" "markers=1" \
	"mode=sink size=30000 count=4000 batch=16"

# An administrator asks for a connection, and listens for events
scenario netlink "mpa_nl_*" "markers=1" "size=100 count=4"

up_netlink() {
	rm -f "$WORK/monitor"
	mpa monitor >/dev/null 2>"$WORK/monitor" &
	MONITOR=$!
	until grep -qs listening "$WORK/monitor"; do sleep 0.1; done
}

down_netlink() {
	kill $MONITOR
	wait $MONITOR
	grep -q 'events were lost' "$WORK/monitor" ||
		finding "the listener does not know that events were lost"
}

run_netlink() {
	mpa sk 1 2>/dev/null
	ping "$1"
}

# An FPDU is longer than the window
up_long() { sysctl -qw net.ipv4.tcp_rmem="4096 4096 4096"; }
down_long() { sysctl -qw net.ipv4.tcp_rmem="4096 131072 6291456"; }

# One packet in some is late
late() { tc qdisc replace dev "$1" root netem delay "$2" reorder "$3" limit 20000; }

up_holes() { late lo 20ms 95%; }
down_holes() { tc qdisc del dev lo root; }

# An FPDU after a hole has more segments than a batch takes, each in memory of its own
up_pieces() {
	ip netns add $SPACE-far
	ip link add near type veth peer name far netns $SPACE-far
	ip addr add 10.0.0.1/24 dev near
	ip -n $SPACE-far addr add 10.0.0.2/24 dev far
	ip link set near mtu 300 up
	ip -n $SPACE-far link set far mtu 300 up
	nsenter --net=/run/netns/$SPACE-far -- \
		sysctl -qw net.ipv4.tcp_rmem="4096 2000000 4000000"
	ethtool -K near sg off >/dev/null
	# Else the queue has packets of many segments, cut after it
	ip link set near gso_max_segs 1
	ip route replace 10.0.0.0/24 dev near initcwnd 2000 rto_min 3s
	# TCP does not retransmit packets that are only late
	sysctl -qw net.ipv4.tcp_max_reordering=2000 net.ipv4.tcp_reordering=2000 \
		net.ipv4.tcp_recovery=0 net.ipv4.tcp_no_metrics_save=1 \
		net.ipv4.tcp_wmem="4096 2000000 4000000"
	[[ $(sysctl -n net.ipv4.tcp_reordering) == 2000 ]] ||
		finding "TCP retransmits what is only late"
	# Each 256th is: some three FPDUs lie between two of them
	tc qdisc add dev near root handle 1: prio priomap \
		0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	tc qdisc add dev near parent 1:2 netem delay 1500ms
	tc filter add dev near parent 1: protocol ip u32 \
		match u16 0x0040 0x00ff at 4 flowid 1:2
	ADDRESS=10.0.0.2 SERVER=$SPACE-far
}

down_pieces() {
	ADDRESS=127.0.0.1 SERVER=
	sysctl -qw net.ipv4.tcp_reordering=3 net.ipv4.tcp_recovery=1 \
		net.ipv4.tcp_max_reordering=300 \
		net.ipv4.tcp_wmem="4096 16384 4194304"
	ip link del near
	ip netns del $SPACE-far
}

tell() { echo "$*" >$PING/cmd; } 2>/dev/null

# Where the servers are
tell_server() {
	if [[ -z $SERVER ]]; then
		tell "$*"
	else
		# shellcheck disable=SC2016
		nsenter --net="/run/netns/$SERVER" -- \
			bash -c 'echo "$1" >"$2"' - "$*" $PING/cmd
	fi
}

read_result() {
	local key value

	R=([status]=none)
	while IFS='=' read -r key value; do
		[[ -z $key ]] || R[$key]=$value
	done <$PING/result
}

ping() {
	tell "ping addr=$ADDRESS port=$PORT timeout=$WAIT verify=1 $*"
	read_result
}

refused() { R=([status]=-12 [reason]="$1" [mismatches]=0); }

# A listening socket for this one time
run_listen() {
	if ! tell "serve port=$PORT markers=1"; then
		refused "not served"
		return
	fi
	ping "$1"
	tell "stop port=$PORT"
}

run_namespace() {
	if ip netns add $SPACE-new 2>/dev/null; then
		ip netns del $SPACE-new
		R=([status]=0 [reason]=ok [mismatches]=0)
	else
		ip netns del $SPACE-new 2>/dev/null
		refused "no namespace"
	fi
}

# The server stops during the transfer; the client has to notice
run_abort() {
	local client before try

	before=$(stat MpaRxUlpdus)
	ping "$1" &
	client=$!
	# The fault may let none arrive.
	for ((try = 0; try < 20; try++)); do
		[[ $(stat MpaRxUlpdus) == "$before" ]] || break
		sleep 0.1
	done
	tell "stop port=$PORT"
	wait $client
	read_result
	tell "serve port=$PORT ${SERVE[abort]}"
	[[ ${R[reason]} == timeout ]] ||
		R=([status]=0 [reason]=${R[reason]} [mismatches]=${R[mismatches]})
}

run() {
	if declare -F "run_$1" >/dev/null; then
		"run_$1" "${CLIENT[$1]}"
	else
		ping "${CLIENT[$1]}"
	fi
}

current=
enter() {
	[[ $current != "$1" ]] || return 0
	leave
	current=$1
	! declare -F "up_$1" >/dev/null || "up_$1"
	[[ -z ${SERVE[$1]} ]] || tell_server "serve port=$PORT ${SERVE[$1]}" ||
		finding "serve ${SERVE[$1]}"
}

leave() {
	[[ -n $current ]] || return 0
	[[ -z ${SERVE[$current]} ]] || tell_server "stop port=$PORT"
	! declare -F "down_$current" >/dev/null || "down_$current"
	current=
}

# good_status SCENARIO: the client's status without a fault
good_status() { if [[ $1 == rejected ]]; then echo -111; else echo 0; fi; }

# Without a fault all is well
clean() {
	run "$1"
	[[ ${R[status]} == "$(good_status "$1")" && ${R[mismatches]} == 0 ]] ||
		finding "$1 without a fault: ${R[reason]} (${R[status]})"
}

# Places: faults.list says them, see faults.sites

places=()		# name and callee
loads=()		# functions called when the module is loaded
declare -A at=() why=() hit=()

read_places() {
	local section off name callee kind base

	while read -r section off name callee kind; do
		# A chunk for per-CPU memory is made in seldom cases only
		[[ $section.$kind.$callee == .init.*.itself.pcpu_* ||
		   $callee == __percpu_counter_init* ]] ||
			[[ $section.$kind != .init.*.itself ]] ||
			loads+=("$callee")
		[[ $section != .@(init|exit).* ]] || continue
		base=$(<"/sys/module/mpa/sections/$section")
		places+=("$name:$callee")
		printf -v "at[$name:$callee]" '%#x' $((base + off))
		why[$name:$callee]=$kind
	done <"${0%/*}/faults.list"
	((${#places[@]})) || finding "no places"
}

# judge SCENARIO PLACE HOW
judge() {
	local place=${2/+0x*:/:} end="${R[reason]} (${R[status]})"

	hit[$2]=1
	echo "$1 $2 $3 $end" >>"$WORK/ended"
	if [[ ${R[reason]} == timeout ]]; then
		finding "$1, $2 $3: it hangs"
	elif [[ ${R[mismatches]} != 0 ]]; then
		finding "$1, $2 $3: ${R[mismatches]} octets are wrong"
	elif [[ ${R[status]} != "$(good_status "$1")" ]]; then
		# shellcheck disable=SC2053
		[[ $place == @($MAY_FAIL) ]] || finding "$1, $2 $3: $end"
	fi
}

next_address() { printf -v NEXT '%#x' $(($1 + 1)); }

# once SCENARIO PLACE: fail the first allocation there; false if there was none
once() {
	next_address "${at[$2]}"
	arm "${at[$2]}" "$NEXT" 1
	run "$1"
	met || return 1
	judge "$1" "$2" once
}

# On a busy machine a late packet may come before the FPDU after it is whole.
often() {
	local try tries=1

	[[ $1 != pieces || ${why[$2]} != itself ]] || tries=10
	for ((try = 0; try < tries; try++)); do
		! once "$@" || return 0
	done
	return 1
}

# a_while SCENARIO PLACE: fail all of them, for a while. Runs the client in a process
# of its own: the end of another child would interrupt it. Code that retries an
# allocation has to let other tasks run.
a_while() {
	local client begun=${EPOCHREALTIME/.} most

	next_address "${at[$2]}"
	arm "${at[$2]}" "$NEXT" 1000000
	{
		run "$1"
		echo "${R[status]}|${R[mismatches]}|${R[reason]}" >"$WORK/result"
	} &
	client=$!
	sleep $A_WHILE
	count_met
	# On a busy machine it was longer.
	most=$((PATIENT * (${EPOCHREALTIME/.} - begun) / 200000))
	wait $client
	IFS='|' read -r "R[status]" "R[mismatches]" "R[reason]" <"$WORK/result"
	((MET <= most)) ||
		finding "$1, $2: $MET allocations, not $most, without a pause"
	judge "$1" "$2" while
}

# due SCENARIO PLACE: true if it has to be tried
due() {
	# shellcheck disable=SC2053
	if [[ $2 != @(${LOOK[$1]}) ]]; then
		[[ -n $long && $1 != @(namespace|pieces) ]]
	elif [[ -z $long ]]; then
		[[ -z ${hit[$2]-} || $1 == reclaim ]] &&
			[[ $2 != *:@(release_sock|sock_release) ]]
	fi
}

# one_by_one SCENARIO
one_by_one() {
	local place

	enter "$1"
	clean "$1"
	for place in "${places[@]}"; do
		due "$1" "$place" || continue
		often "$1" "$place" || continue
		[[ $1 == @(namespace|abort) ]] || a_while "$1" "$place"
	done
	clean "$1"
	leave
	all_released
	case_over "one.$1"
}

stat() { awk -v name="$1" '$1 == name { print $2 }' /proc/net/mpa_stat; }

# Each connection there was is gone
all_released() {
	local try

	for ((try = 0; try < 600; try++)); do
		[[ $(stat MpaAttached) != "$(stat MpaReleased)" ]] || return 0
		sleep 0.1
	done
	finding "$(stat MpaAttached) connections, $(stat MpaReleased) released"
}

# A place to allocate at that was never met has not been tested
all_met() {
	local place met=0

	for place in "${places[@]}"; do
		if [[ -n ${hit[$place]-} || -n ${at_load[${place#*:}]-} ]]; then
			met=$((met + 1))
		elif [[ ${why[$place]} == itself ]]; then
			finding "$place was never met"
		fi
	done
	for place in "${loads[@]}"; do
		[[ -n ${at_load[$place]-} ]] || finding "$place was never met"
	done
	sort "$WORK/ended" | awk '{ $1 = ""; print }' | sort | uniq -c |
		sed 's/^ */ended: /'
	echo "# places=${#places[@]} met=$met faults=$(wc -l <"$WORK/ended")"
	case_over places
}

# Loading the module

declare -A at_load=()	# functions that failed, called by the module

# load N: fail the N-th allocation below modprobe; false if there were fewer
load() {
	echo >$TRACE/trace
	arm 0xffffffffa0000000 0xffffffffff5fffff 1
	(
		echo "$1" >/proc/self/fail-nth
		exec modprobe mpa
	) 2>/dev/null
	loaded=$?
	met
}

# Trace each failed allocation; the stack shows its caller
trace_load() {
	knob verbose "$1"
	knob verbose_ratelimit_interval_ms 0
	echo "$1" >$TRACE/events/printk/console/enable
	echo "$1" >$TRACE/options/stacktrace
}

# The function above the first address of a module on the stack
callee() {
	awk '$1 == "=>" && ($2 ~ /^0x/ || $3 ~ /^\[/) { print last; exit }
		{ last = $2 }' $TRACE/trace
}

# The kernel says so on its own, with half a page, where a slab cache cannot be
# made, and leaks its name (mm/slab_common.c, mm/slub.c).
spare_caches() {
	local from to

	read -r from to < <(awk -v name=__kmem_cache_create_args '
		$3 == name { from = $1; next }
		from && $1 != from { print "0x" from, "0x" $1; exit }
		' /proc/kallsyms)
	knob reject-start "$from"
	knob reject-end "$to"
}

spare_nothing() {
	knob reject-start 0
	knob reject-end 0
}

one_by_one_load() {
	local n=0 loaded=0 name faults=0

	trace_load 1
	spare_caches
	# An allocation that the module needs is followed by one of kmemleak's
	while n=$((n + (loaded && !${#long} ? 2 : 1))); load $n; do
		name=$(callee)
		echo "load :$name $n. status $loaded" >>"$WORK/ended"
		say "load, allocation $n: status $loaded"
		[[ -z $name ]] || at_load[$name]=1
		faults=$((faults + 1))
		[[ -d /sys/module/mpa ]] || continue
		((!loaded)) || finding "mpa is loaded, and failed ($n)"
		rmmod mpa || finding "mpa does not unload ($n)"
	done
	trace_load 0
	spare_nothing
	[[ -d /sys/module/mpa ]] || finding "mpa does not load"
	((faults > 5)) || finding "only $faults allocations when it is loaded"
	say "at load: ${!at_load[*]}"
	echo "# load=$faults"
	case_over load
}

# At random

# rnd MIN MAX: from the seed alone
rnd() { R1=$(($1 + RANDOM % ($2 - $1 + 1))); }

# Anywhere in the module, except in the consumer's callbacks
arm_anywhere() {
	local kind

	rnd 1 30
	knob probability $R1
	say "at random: $1 to $ADDRESS, $R1 %"
	arm "${text[0]}" "${text[1]}" 1000000000
	rnd 0 3
	for kind in failslab fail_page_alloc; do
		# One time in four each kind alone
		! ((R1 == 0)) || echo 0 >$DEBUGFS/$kind/times
		R1=$((R1 - 1))
	done
	count_left
	ARMED=$LEFT
}

# Resets for which TCP found no memory: the peer hears of nothing
unsaid() {
	{
		cat /proc/net/netstat
		[[ -z $SERVER ]] ||
			nsenter --net="/run/netns/$SERVER" -- cat /proc/net/netstat
	} | tcp_ext TCPAbortFailed
}

# pings NAME: several at the same time; their output is in pings
pings() {
	local i before

	before=$(unsaid)
	for ((i = 0; i < 4; i++)); do
		echo "ping addr=$ADDRESS port=$PORT timeout=$WAIT verify=1 \
${CLIENT[$1]}" >$PING/cmd &
	done 2>"$WORK/pings"
	sleep 0.$((R1 + 5))
	count_met
	wait
	! grep 'Invalid or incomplete' "$WORK/pings" ||
		finding "$1, at random: wrong octets"
	(($(grep -c 'timed out' "$WORK/pings") <= $(unsaid) - before)) ||
		finding "$1, at random: it hangs"
}

at_random() {
	local names=("${SCENARIOS[@]}") rounds=0 met=0

	RANDOM=$SEED
	knob reject-start "${consumer[0]}"
	knob reject-end "${consumer[1]}"
	until ((SECONDS >= $1 && rounds >= 6)); do
		rnd 0 $((${#names[@]} - 1))
		name=${names[R1]}
		[[ $name != @(listen|namespace|abort|rejected|netlink) ]] || continue
		enter "$name"
		rnd 0 1
		((!R1)) || [[ -n $SERVER ]] || ADDRESS=::1
		arm_anywhere "$name"
		rnd 0 4
		pings "$name"
		met=$((met + MET))
		knob probability 100
		clean "$name"
		leave
		ADDRESS=127.0.0.1
		rounds=$((rounds + 1))
	done
	spare_nothing
	all_released
	((met)) || finding "nothing was met at random"
	echo "# random=$rounds met_at_random=$met nomem=$(stat MpaNoMemory)" \
		"short=$(stat MpaTxShort)"
	case_over random
}

# text_of MODULE: where its code begins and ends
text_of() {
	local symbols

	mapfile -t symbols < <(awk -v module="[$1]" '$4 == module && $2 ~ /[tT]/ { print $1 }' \
		/proc/kallsyms | sort)
	printf '%#x\n' "0x${symbols[0]}" $(((0x${symbols[-1]} | 4095) + 1))
}

leaks() {
	echo scan >$DEBUGFS/kmemleak || finding "kmemleak has switched itself off"
	# kmemleak reports objects older than 5 s
	sleep 5.5
	echo scan >$DEBUGFS/kmemleak
	! grep . $DEBUGFS/kmemleak || finding "memory leaks"
	case_over leaks
}

# Nothing holds the modules, nor, once the last process has left, the namespace.
unload() {
	ip netns del $SPACE
	rmmod mpa_ping || finding "mpa_ping does not unload"
	rmmod mpa || finding "mpa does not unload"
	case_over unload
}

# While there is no other namespace, for which the module would allocate as much again
outside() {
	mkdir -p "$WORK"
	: >"$WORK/ended"
	prepare_faults
	one_by_one_load
	declare -p cases failed at_load | sed 's/^declare/& -g/' >"$WORK/load"
	ip netns add $SPACE
	exec nsenter --net=/run/netns/$SPACE -- bash "$0" inside
}

inside() {
	local name left

	modprobe mpa_ping
	sysctl -qw net.mpa.zerocopy_min=0
	ip link set lo up mtu 1500
	ethtool -K lo tso off gso off gro off >/dev/null
	read_places
	mapfile -t text < <(text_of mpa)
	mapfile -t consumer < <(text_of mpa_ping)
	for name in "${SCENARIOS[@]}"; do
		say "one by one: $name"
		one_by_one "$name"
	done
	all_met
	left=$((SECONDS_MAX - SECONDS))
	at_random $((SECONDS + (left > 15 ? left : 15)))
}

main() {
	[[ -d $DEBUGFS/failslab ]] || bail_out "this kernel lets no allocation fail"
	long=
	((SECONDS_MAX == 0)) || long=1
	[[ $1 == inside ]] || outside
	# shellcheck source=/dev/null
	. "$WORK/load"
	inside
	leaks
	unload
	all_judged
}

main "${1-}"
