#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# RDMA devices whose applications, peers, netdevs and namespaces go away under load. The
# kernel's debugging options look for what is used after its end, and for leaks.
set -uo pipefail
. /root/test/lib.sh
. "${0%/*}/failing.sh"
. "${0%/*}/tap.sh"

ONLY=" $* "		# cases to run; none: all
LONG=${COUNT:-0}	# connections, one after the other
TIMES=$((LONG ? LONG / 500 : 1))	# of a case with load

# check NAME FUNCTION [ARGUMENT...]: it fails by its status, or by fail()
check() {
	local begun=$SECONDS

	[[ $ONLY == "  " || $ONLY == *" $1 "* ]] || return 0
	if ("${@:2}") >"$STATE/log" 2>&1; then
		verdict "$1" 0
		sed -n "s/^# /# life.$1: /p" "$STATE/log"
	else
		verdict "$1" 1
		tail -n 20 "$STATE/log" | cut -c1-200 | sed 's/^/# /'
	fi
	echo "# life.$1: $((SECONDS - begun)) s"
	pkill -9 'rping|ucmatose|rdma_|ib_' 2>/dev/null
	without_devices
}

# The network stays, unless the case has spoilt it.
without_devices() {
	rdma link delete iwa 2>/dev/null
	rdma link delete iwb 2>/dev/null
}

# times FUNCTION: on new devices, under load
times() {
	local i

	for ((i = 0; i < TIMES; i++)); do
		without_devices
		devices
		load
		"$1"
		kill -9 "$CLIENT" "$SERVING" 2>/dev/null
		wait "$CLIENT" "$SERVING"
	done
	return 0
}

devices() {
	network pair 1500
	for side in a b; do
		ns $side rdma link add iw$side type mpa netdev v$side ||
			fail "no device on v$side"
	done
}

# serve_with PORT PROGRAM...: in the background; its pid is SERVING
serve_with() {
	command ns b "${@:2}" >"$STATE/serving" 2>&1 &
	SERVING=$!
	until_true 30 listens b "$1" || fail "$2 does not listen"
}

# load: rping without an end, both ways; the client's pid is CLIENT
load() {
	local before

	before=$(statistic iwa rx_write)
	serve_with 7174 rping -s -a "$B4" -S 20000
	command ns a rping -c -a "$B4" -S 20000 >"$STATE/client" 2>&1 &
	CLIENT=$!
	until_true 30 more_than "$before" || fail "rping does not run"
}

statistic() { rdma statistic show link "$1/1" | grep -o " $2 [0-9]*" | cut -d' ' -f3; }
more_than() { (($(statistic iwa rx_write) > $1 + 10)); }
gone() { ! kill -0 "$1" 2>/dev/null; }
unused() { ! rdma resource | grep -v 'pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0'; }
all_unused() { until_true 20 unused || fail "left: $(rdma resource)"; }

# quick LIMIT COMMAND...
quick() { timeout "$(($1 * SLOW))" "${@:2}" || fail "${*:2}: $?"; }

# told FILE: rping says so. It does not always end then: a completion that it handles after
# the event makes it wait for another, which does not come.
told() { grep -q 'DISCONNECT EVENT' "$STATE/$1"; }

both_end() {
	until_true 10 gone "$CLIENT" || fail "rping -c goes on"
	until_true 10 gone "$SERVING" || fail "rping -s goes on"
}

# Neither waits for applications, and they are told.
module_removed() {
	quick 10 rmmod mpa_rnic
	both_end
	modprobe mpa_rnic
}

link_deleted() {
	quick 3 rdma link delete iwa
	rdma link | grep -q iwa && fail "it is still there"
	until_true 10 gone "$CLIENT" || fail "rping -c goes on"
	until_true 10 told serving || fail "the server is not told"
	kill -9 "$SERVING"
}

netdev_deleted() {
	spoil
	ip -n a link delete va
	until_true 10 no_devices || fail "left: $(rdma link)"
	until_true 10 gone "$CLIENT" || fail "rping -c goes on without a device"
}
no_devices() { [[ -z $(rdma link) ]]; }

# The namespaces end while connections still do.
namespace_deleted() {
	ip netns delete a
	ip netns delete b
	kill -9 "$CLIENT" "$SERVING"
	until_true 10 no_devices || fail "left: $(rdma link)"
	spoil
}

# Connections live on, as those of TCP do.
netdev_down() {
	local before

	ip -n a link set va down
	rdma link show iwa/1 | grep -q 'state DOWN' || fail "not down"
	sleep 1
	ip -n a link set va up
	rdma link show iwa/1 | grep -q 'state ACTIVE' || fail "not up"
	before=$(statistic iwa rx_write)
	until_true 30 more_than "$before" || fail "rping stands still"
}

renamed() {
	spoil
	ip -n a link set va name renamed || fail "no new name"
	ns a rdma link show iwa/1 | grep -q 'netdev renamed' ||
		fail "$(ns a rdma link)"
}

# Where devices belong to namespaces, one is as good as new after it was moved to another.
# The kernel refuses either mode as long as there is a namespace. It is the first case, and
# closes its connections, since those in which a FIN is under way hold theirs for minutes.
moved() {
	until_true 10 rdma system set netns exclusive || fail "not exclusive"
	devices
	rdma dev set iwa netns a || fail "iwa is not moved"
	rdma dev set iwb netns b || fail "iwb is not moved"
	serve_with 7174 rping -s -a "$B4" -V -C 10
	ns a timeout $((20 * SLOW)) rping -c -a "$B4" -V -C 10 || fail "the client: $?"
	wait $SERVING || fail "the server: $?"
	until_true 10 no_sockets || fail "left: $(sockets)"
	ns a rdma link delete iwa
	ns b rdma link delete iwb
	links_down
	until_true 10 rdma system set netns shared || fail "not shared"
}

# Either end is killed, and the other is told.
killed() {
	local i

	devices
	for ((i = 0; i < (LONG ? 50 : 2); i++)); do
		load
		if ((i % 2)); then
			kill -9 "$CLIENT"
			until_true 10 told serving || fail "run $i: the server is not told"
		else
			kill -9 "$SERVING"
			until_true 10 told client || fail "run $i: the client is not told"
		fi
		kill -9 "$CLIENT" "$SERVING" 2>/dev/null
		wait
		all_unused
	done
}

# The peer is there, and says nothing any longer.
silent() {
	devices
	spoil
	load
	ns b tc qdisc add dev vb root netem loss 100% || fail "no netem"
	kill -9 $CLIENT
	until_true 10 unused_of iwa || fail "left: $(rdma resource)"
}
unused_of() { rdma resource | grep "$1:" | grep -q 'qp 0 cm_id 0 mr 0 ctx 0'; }

# Nobody listens, or there is nobody: a connection being made is no reason to stay.
nobody() {
	local pid

	devices
	ns a timeout 20 rdma_client -s "$B4" && fail "connected"
	ip -n a neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va
	command ns a rdma_client -s 10.0.0.9 &
	pid=$!
	sleep 2
	kill -9 $pid
	until_true 3 gone $pid || fail "it cannot be killed"
	all_unused
	command ns a rdma_client -s 10.0.0.9 &
	sleep 2
	quick 3 rdma link delete iwa
	wait
}

# connections N: at once, and each is closed
connections() {
	local options=(-c "$1" -C 1 -S 100)

	serve_with 7471 ucmatose -b "$B4" "${options[@]}"
	ns a timeout $(((60 + $1) * SLOW)) ucmatose -s "$B4" "${options[@]}" ||
		fail "the client: $?"
	wait $SERVING || fail "the server: $?"
	all_unused
}

many() {
	devices
	connections "$1"
}

# again N: connects and closes take neither memory nor ports, and no reference stays
again() {
	local i before after

	devices
	for ((i = 0; i < $1; i += 100)); do
		((i != 200)) || before=$(slab)
		connections 100
	done
	until_true 10 no_sockets || fail "left: $(sockets)"
	until_true 10 no_references || fail "references: $(references)"
	after=$(slab)
	echo "# $before KiB after 200 connections, $after KiB at the end"
	((after - before < 4096)) || fail "$before, then $after KiB"
}
# But for TCP's own TIME_WAIT
sockets() { for side in a b; do ns $side ss -Hta exclude time-wait; done; }
no_sockets() { [[ -z $(sockets) ]]; }
# Each program's context uses mpa_rnic, a moment longer than rdma lists it. Connections do
# not count in the references of mpa.
references() { cat /sys/module/mpa_rnic/refcnt; }
no_references() { [[ $(references) == 0 ]]; }
# In KiB, and with what RCU and KASAN's quarantine hold
slab() { awk '/^(SUnreclaim|VmallocUsed):/ { sum += $2 } END { print sum }' /proc/meminfo; }

# Failing allocations: each place in the module once, in the first of these that reaches it.
# Each may end with an error, but leaves nothing behind, and the next one is as good as new.

# scenarios PLACE: those that may reach it, several times: whether a hole is met is up to
# chance, and a busy machine may not get as far as a connection in the time of a program
scenarios() {
	case $1 in
	rnic_newlink+* | rnic_alloc_hw_port_stats+*) echo link ;;
	rnic_net_*) echo space ;;
	rnic_ooo_*) echo holes holes holes holes holes holes holes holes ;;
	*) echo programs shared programs shared programs shared ;;
	esac
}

try_link() {
	rdma link delete iwa
	command ns a rdma link add iwa type mpa netdev va
}

try_space() {
	ip netns add another && ip netns delete another
}

listens_or_gone() { listens b "$1" || gone "$2"; }

# with PORT SERVER CLIENT: programs, each a list of words. Returns the client's status.
with() {
	local status

	# shellcheck disable=SC2086
	{
		command ns b timeout -s KILL $((10 * SLOW)) $2 &
		until_true 5 listens_or_gone "$1" $! && listens b "$1" &&
			command ns a timeout -s KILL $((10 * SLOW)) $3
	}
	status=$?
	# A server whose client has failed would wait for another
	((!status)) || kill $! 2>/dev/null
	wait
	return $status
}

try_programs() {
	with 7174 "rping -s -a $B4 -V -S 30000 -C 3" "rping -c -a $B4 -V -S 30000 -C 3"
}

try_shared() {
	with 18515 "ib_send_bw -R -n 5 -s 1000 --use-srq -d iwb" \
		"ib_send_bw -R -n 5 -s 1000 --use-srq -d iwa $B4"
}

try_holes() {
	ns a sysctl -qw net.mpa.ooo=1
	ns b sysctl -qw net.mpa.ooo=1
	ns b ethtool -K vb tso off gso off
	ns b tc qdisc add dev vb root netem loss 10% delay 5ms
	try_programs
	ns b tc qdisc del dev vb root
}

# Whatever has failed, the devices are there and of use. The kernel tells of an allocation
# with a trace; here that is no fault, but anything else is.
sound() {
	! dmesg -c | grep -E 'BUG:|WARNING:|KASAN:|UBSAN:|INFO:|refcount_t|unreferenced' ||
		fail "$1: see above"
	ns a rdma link show iwa/1 >/dev/null 2>&1 ||
		ns a rdma link add iwa type mpa netdev va || fail "$1: no device"
	all_unused
}

# fails_at PLACE ADDRESS SCENARIO...: false if none of these reaches it
fails_at() {
	local next scenario

	printf -v next '%#x' $(($2 + 1))
	for scenario in "${@:3}"; do
		arm "$2" "$next" 1
		"try_$scenario"
		count_met
		((!MET)) || echo "$1: $scenario"
		sound "$1, $scenario"
		((!MET)) || return 0
	done
	return 1
}

# Of two places one is for numbers taken already, or for the kernel's ULPs. The other one
# is reached by all programs.
one_of_two() { [[ $1 == rnic_number+* || $1 == rnic_ring_new+*:*vmalloc* ]]; }

faults() {
	local section off name callee kind base at scenarios
	local -A reached=()

	devices
	prepare_faults
	# sound() looks at what the kernel says until "those"
	echo "guest: the time of failing allocations" >/dev/kmsg
	while read -r section off name callee kind; do
		[[ $section.$kind == .text.itself ]] || continue
		# These allocate nothing
		case $callee in *dealloc* | sk_set_memalloc | vmalloc_to_page) continue ;; esac
		# Only the kernel's ULPs call it, and KUnit, which has it fail
		[[ $name != rnic_alloc_mr+* ]] || continue
		read -ra scenarios < <(scenarios "$name")
		! one_of_two "$name:$callee" || scenarios=(programs)
		base=$(<"/sys/module/mpa_rnic/sections/$section")
		printf -v at '%#x' $((base + off))
		if fails_at "$name:$callee" "$at" "${scenarios[@]}"; then
			reached[${name%+*}]=1
		elif ! one_of_two "$name:$callee" ||
			[[ -z ${reached[${name%+*}]-} ]]; then
			fail "nothing reaches $name:$callee"
		fi
	done <"${0%/*}/life.list"
	at_random
	disarm
	echo "guest: those were meant to fail" >/dev/kmsg
	try_programs || fail "no rping afterwards"
}

# Any in the module and what it calls, one in twenty
at_random() {
	local base end i

	base=$(<"/sys/module/mpa_rnic/sections/.text")
	printf -v end '%#x' $((base + $(<"/sys/module/mpa_rnic/coresize")))
	for ((i = 0; i < (LONG ? LONG / 50 : 3); i++)); do
		knob probability 5
		arm "$base" "$end" 100000
		try_programs
		try_shared
		count_met
		echo "at random: $MET"
		knob probability 100
		sound "at random"
	done
}

modprobe mpa_rnic
check moved moved
check module_removed times module_removed
check link_deleted times link_deleted
check netdev_deleted times netdev_deleted
check namespace_deleted times namespace_deleted
check netdev_down times netdev_down
check renamed times renamed
check killed killed
check silent silent
check nobody nobody
# In the short form again has more of them at once
((!LONG)) && [[ $ONLY != *" many "* ]] || check many many $((LONG ? LONG / 10 : 50))
check again again $((LONG ? LONG : 300))
check faults faults
check gone quick 10 rmmod mpa_rnic
links_down
all_judged
