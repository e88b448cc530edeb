#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The part of bench.sh that runs in the guest and counts instructions: each row
# runs twice; the results are appended to /root/out/rows.
#
# usage: guest.sh quick|full|cpus [PATTERN...]
#
# cpus measures time, in a guest of several processors: see cpus.sh.
# PATTERN, of the shell, selects rows; without it all rows of the mode run.
set -euo pipefail

BENCH=/sys/kernel/debug/mpa_bench
OUT=/root/out
MODE=${1-}
PATTERNS=("${@:2}")
# All transports but siw, which has a file of its own
TRANSPORTS=(tcp mpa mpa-crc mpa-pages mpa-markers tcp-crc tcp-pages ktls)
MEMORY_CONNS=3072	# the first 1024 fill slabs that are half empty

fail() {
	echo "FAILED: $*"
	exit 1
}

# No slow start after idle, and no IPv6 messages in the background
new_space() {
	ip netns add "$1"
	ns "$1" sysctl -qw net.ipv4.tcp_slow_start_after_idle=0 \
		net.ipv6.conf.all.disable_ipv6=1 \
		net.ipv6.conf.default.disable_ipv6=1
	ip -n "$1" link set lo up mtu "$2"
}

network_veth() {
	ip link add va netns a mtu "$1" type veth peer name vb netns b mtu "$1"
	ip -n a addr add 10.0.0.1/24 dev va
	ip -n b addr add 10.0.0.2/24 dev vb
	ip -n a link set va up
	ip -n b link set vb up
	RX=b ADDR=10.0.0.2
}

# Buffers of 256 KB at most. With TCP's limits a window grows for megabytes, so the octets of
# a connection would matter; and 1,024 of them would hold more memory than the guest has.
network_bounded() {
	local space

	network_veth "$1"
	for space in a b; do
		ns $space sysctl -qw net.ipv4.tcp_rmem="4096 131072 262144" \
			net.ipv4.tcp_wmem="4096 16384 262144"
	done
}

# The two NICs of nics.sh. An skb that goes over veth is received as it was sent, so the
# kernel copies zero-copy pages on the way; a NIC reads them, and nothing copies them.
# Their interrupts come at a fixed rate: one that adapts makes rows differ by 5 %.
network_nic() {
	local tries=100

	[[ -d /sys/module/e1000 ]] ||
		insmod /root/nic/e1000.ko InterruptThrottleRate=8000,8000
	# The kernel takes its time to bring them back from a namespace that was deleted
	until [[ -d /sys/class/net/eth0 && -d /sys/class/net/eth1 ]]; do
		((tries--)) || fail "no NICs"
		sleep 0.1
	done
	ip link set eth0 netns a mtu "$1"
	ip link set eth1 netns b mtu "$1"
	ip -n a addr add 10.0.0.1/24 dev eth0
	ip -n b addr add 10.0.0.2/24 dev eth1
	ip -n a link set eth0 up
	ip -n b link set eth1 up
	RX=b ADDR=10.0.0.2
}

# network veth|bounded|nic MTU: namespaces a and b. Connections go from a to RX, to ADDR.
network() {
	local space

	[[ ${NETWORK-} != "$*" ]] || return 0
	for space in a b; do
		[[ ! -e /run/netns/$space ]] || ip netns del $space
		new_space $space "$2"
	done
	"network_$1" "$2"
	NETWORK="$*"
	sleep 10	# until packets and timers of a new link are over
}

# Without CRC only where both ends do not want it
crc() {
	local space

	for space in a b; do
		ns $space sysctl -qw net.mpa.crc="$1"
	done
}

# Connections of a that had no CRC
no_crc() { ns a awk '$1 == "MpaNoCrc" { print $2 }' /proc/net/mpa_stat \
	2>/dev/null || true; }

# bench TRANSPORT OPTION...: runs it; R has the result
bench() {
	local key value text before

	crc "$([[ $1 == mpa ]] && echo 0 || echo 1)"
	before=$(no_crc)
	echo -n "transport=$1 tx_ns=8 rx_ns=9 addr=$ADDR ${*:2}" \
		8</run/netns/a 9<"/run/netns/$RX" >$BENCH/cmd || fail "$*"
	text=$(<$BENCH/result)
	R=()
	while IFS='=' read -r key value; do
		R[$key]=$value
	done <<<"$text"
	# An older module to compare with does not count them
	[[ $1 == mpa* && -n $before ]] || return 0
	if [[ $1 == mpa ]]; then
		(($(no_crc) > before)) || fail "$1: with CRC"
	else
		(($(no_crc) == before)) || fail "$1: without CRC"
	fi
}

# bench_times TIMES TRANSPORT OPTION...: their sums
bench_times() {
	local -A sum=()
	local key time

	for ((time = 0; time < $1; time++)); do
		bench "${@:2}"
		((R[verified])) || return 0
		for key in messages insns fpdus calls segments; do
			sum[$key]=$((${sum[$key]:-0} + ${R[$key]}))
		done
	done
	for key in "${!sum[@]}"; do
		R[$key]=${sum[$key]}
	done
}

# note KEY...: these of R, as part of a line
note() {
	local key

	for key; do
		echo -n " $key=${R[$key]}"
	done
}

# wanted NAME: true if the row is to be measured
wanted() {
	local pattern

	((${#PATTERNS[@]})) || return 0
	for pattern in "${PATTERNS[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 != $pattern ]] || return 0
	done
	return 1
}

say() { echo "$*" | tee -a $OUT/rows; }

# After each row: tests/bench/bench-profile.py needs the symbol addresses
done_with() {
	[[ ! -e /root/bench.profile ]] || cat /proc/kallsyms >$OUT/kallsyms
}

# A receiver that discards in TCP cannot compare: verify first that the transport
# delivers the octets sent
verify() {
	bench "$1" kind=stream size="$2" warm=8 messages=64
	VERIFIED=${R[verified]}
}

# stream_as NAME TRANSPORT NET MTU SIZE PART OCTETS CONNS
stream_as() {
	local messages=$(($7 / $5)) run

	wanted "$1" || return 0
	network "$3" "$4"
	for run in 1 2; do
		[[ $6 == both ]] || verify "$2" "$5"
		bench_times "${9:-1}" "$2" kind=stream size="$5" part="$6" conns="$8" \
			warm=$((messages / 4)) messages="$messages"
		[[ $6 == both ]] || R[verified]=$VERIFIED
		say "row=$1 run=$run kind=stream transport=$2" \
			"net=${3/bounded/veth} mtu=$4" \
			"size=$5 conns=$8 part=$6 octets=$((R[messages] * $5))$(
			note messages insns fpdus calls segments emss_start \
				emss_end verified)"
	done
	done_with
}

# stream TRANSPORT NET MTU SIZE PART OCTETS
stream() {
	local name="stream/$2/$3/$4/$1"

	[[ $5 == both ]] || name+="/$5"
	stream_as "$name" "$@" 1
}

# pingpong TRANSPORT NET SIZE ROUNDS [thread|softirq]: a thread posts, not the upcall; or
# MPA receives and sends in softirq
pingpong() {
	local name="pingpong/$2/$3/$1${5:+/$5}" run

	wanted "$name" || return 0
	network "$2" 1500
	for run in 1 2; do
		bench "$1" kind=pingpong size="$3" warm="$4" messages="$4" \
			${5:+part="$5"}
		say "row=$name run=$run kind=pingpong transport=$1 net=$2" \
			"mtu=1500 size=$3${5:+ part=$5} rounds=${R[messages]}$(
			note insns emss_start emss_end verified)"
	done
	done_with
}

# memory TRANSPORT: memory of an end of an idle connection, without its socket; before
# and after it sent something
memory() {
	local name="memory/$1" run

	wanted "$name" || return 0
	network veth 1500
	for run in 1 2; do
		sleep 30	# memory freed before returns with a delay
		bench "$1" kind=memory conns=$MEMORY_CONNS size=4096
		say "row=$name run=$run kind=memory transport=$1" \
			"conns=$((MEMORY_CONNS - 1024))$(
			note octets_idle octets_used verified)"
	done
	done_with
}

# Each way of receiving has to notice a wrong octet
notices() {
	local transport

	network veth 1500
	for transport in "${TRANSPORTS[@]}"; do
		bench "$transport" kind=stream size=65536 warm=1 messages=8 \
			corrupt=1
		((!R[verified])) || fail "$transport: not noticed"
		bench "$transport" kind=pingpong size=64 messages=640 corrupt=1
		((!R[verified])) || fail "$transport, pingpong: not noticed"
	done
}

# Octets of a row: the cost of a message depends little on its size
octets() {
	case $1 in
	64) echo 524288 ;;
	512) echo 2097152 ;;
	1408) echo 4325376 ;;
	4096) echo 6291456 ;;
	8192) echo 12582912 ;;
	65536) echo 33554432 ;;
	esac
}

streams() {
	local transport

	for transport in "${TRANSPORTS[@]}"; do
		stream "$transport" "$1" "$2" "$3" "$4" "$(octets "$3")"
	done
}

pingpongs() {
	local transport

	for transport in "${TRANSPORTS[@]}"; do
		pingpong "$transport" "$1" "$2" 1000
	done
	pingpong mpa-crc "$1" "$2" 1000 thread
	pingpong mpa-crc "$1" "$2" 1000 softirq
}

# Each connection has 1 MB. The row of one is the sum of 32 runs, one after the other; 1,024
# would exceed TCP's limit for all of them, and have segments dropped.
all_conns() {
	local conns transport

	sysctl -qw net.ipv4.tcp_mem="200000 250000 300000"
	for conns in 1 64 1024; do
		for transport in tcp mpa-crc; do
			stream_as "conns/$conns/$transport" $transport bounded 1500 16384 both \
				$((conns * 1048576)) $conns $((conns == 1 ? 32 : 1))
		done
	done
}

# What zero copy saves. Last, so that no other row runs with the driver loaded but those
# of siw.
nics() {
	TRANSPORTS=(tcp mpa-crc mpa-pages tcp-pages)
	streams nic 9000 65536 both
}

# Where connections run: at the CPU of the thread that sends, where veth leaves packets;
# MPA's share of the senders on CPU 0, of the receivers on others; or what TCP receives at
# either end, ACKs too, on others, by RPS, and MPA's with it.
place() {
	local others="1-$(($(nproc) - 1))" mask

	printf -v mask %x $(((1 << $(nproc)) - 2))
	[[ $1 == rps ]] || mask=0
	ns a sysctl -qw net.mpa.cpus="$([[ $1 != mpa ]] || echo 0)"
	ns b sysctl -qw net.mpa.cpus="$([[ $1 != mpa ]] || echo "$others")"
	# Not by ns, which does not mount the namespace's /sys
	ip netns exec a bash -c "echo $mask >/sys/class/net/va/queues/rx-0/rps_cpus"
	ip netns exec b bash -c "echo $mask >/sys/class/net/vb/queues/rx-0/rps_cpus"
}

cpus() {
	local conns part transport where run name

	network veth 1500
	for conns in 1 1-duplex 8; do
		part=both
		[[ $conns != *-* ]] || part=${conns#*-}
		for where in none rps mpa; do
			place $where
			for transport in tcp mpa mpa-crc; do
				name=cpus/$conns/$transport/$where
				! wanted "$name" || for run in 1 2 3; do
					bench $transport kind=stream size=65536 part=$part \
						conns="${conns%-*}" warm=512 messages=4096
					((R[verified])) || fail "$name: wrong octets"
					say "row=$name run=$run$(note messages ns verified)"
				done
			done
		done
	done
}

quick() {
	TRANSPORTS=(tcp mpa mpa-crc mpa-markers tcp-crc tcp-pages)
	streams veth 1500 65536 both
	streams veth 1500 65536 tx
	TRANSPORTS=(tcp mpa-crc)
	streams veth 1500 64 both
	pingpongs veth 64
	TRANSPORTS=(mpa-crc mpa-pages)
	streams veth 9000 65536 both
	TRANSPORTS=(mpa-pages)
	streams veth 1500 65536 both
	streams veth 9000 8192 both
	TRANSPORTS=(mpa-crc tcp-crc)
	streams veth 1500 512 both
	streams veth 1500 1408 both
	streams veth 9000 4096 both
	streams veth 9000 8192 both
	all_conns
	memory mpa-crc
	nics
}

full() {
	local mtu size

	for mtu in 1500 9000; do
		for size in 65536 8192 4096 1408 512 64; do
			streams veth $mtu $size both
		done
		streams veth $mtu 65536 tx
	done
	pingpongs veth 64
	all_conns
	memory mpa-crc
	memory mpa-markers
	nics
}

main() {
	mkdir -p $OUT
	cat /sys/devices/system/cpu/vulnerabilities/spectre_v2 >$OUT/spectre_v2
	modprobe mpa
	insmod /root/modules/mpa_bench.ko
	sysctl -qw vm.stat_interval=100000 debug.kprobes-optimization=0
	if [[ $MODE == cpus ]]; then
		cpus
		return
	fi
	sleep 60	# until the kernel has calibrated its clocks
	((${#PATTERNS[@]})) || notices
	"$MODE"
	if [[ -e /root/bench/siw.sh ]]; then
		# shellcheck disable=SC1091
		. /root/bench/siw.sh
		siw_rows
	fi
}

declare -A R=()
[[ $MODE == @(quick|full|cpus) ]] || fail "usage: guest.sh quick|full|cpus [PATTERN...]"
main
