#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Hostile peers in the guest: main.c. In its short form all seeds kept and
# some thousands of connections. Where fuzz.conf has left a file for REPLAY, only
# the seed in that.
set -euo pipefail
. "${0%/*}/memory.sh"
. "${0%/*}/netstat.sh"
. "${0%/*}/tap.sh"

BIN=/root/mpa-fuzz
KEPT=(/root/harden.d/seeds/*)
SPACES=(fuzz-a fuzz-b)
SERVERS=()
SHORT=40

# Without mpa_cover, which reports coverage, seeds are drawn without feedback
load() {
	modprobe -q mpa_cover || echo "fuzz: no coverage"
	modprobe -a mpa mpa_ping mpa_rnic
}

leave() {
	local space

	for space in "${SPACES[@]}"; do
		ip netns del "$space"
	done
}

# Many connections, so little is kept of each
spaces() {
	local space

	trap leave EXIT
	for space in "${SPACES[@]}"; do
		ip netns add "$space"
		ip link add "to-$space" type veth peer name link netns "$space"
		ns "$space" ip link set lo up
		ns "$space" sysctl -qw net.mpa.startup_timeout_ms=30000 \
			net.mpa.zerocopy_min=0 \
			net.ipv4.tcp_max_tw_buckets=500
		# TCP challenges each RST after a hole, RFC 5961
		ns "$space" sysctl -qw net.ipv4.tcp_invalid_ratelimit=0
	done
	# Lost octets of a seed stay lost until TCP's timer, which leaves holes
	ns "${SPACES[0]}" sysctl -qw net.ipv4.tcp_recovery=0 \
		net.ipv4.tcp_early_retrans=0
	ns "${SPACES[1]}" sysctl -qw net.mpa.crc=0
	ns "${SPACES[0]}" sysctl -qw net.mpa.ooo=1
	# It listens at the devices of its own namespace
	for space in "${SPACES[@]}"; do
		ns "$space" rdma link add "$space" type mpa netdev lo
		command ns "$space" /root/rdma_echo 5100 &
		SERVERS+=($!)
	done
}

is_debug() { [[ -e /sys/kernel/debug/kmemleak ]]; }

# All is slow on the debug kernel.
fuzz() {
	local options=(-w 48)

	! is_debug || options=(-w 24 -p 300000)
	"$BIN" -s "$SEED" "${options[@]}" "$@"
}

# When nothing is under way
memory() {
	local least now try

	least=$(kernel_kb_at_least)
	for ((try = 0; try < 6; try++)); do
		sleep 0.5
		now=$(kernel_kb_at_least)
		((now >= least)) || least=$now
	done
	echo "$least"
}

sockets() {
	local space

	for space in "${SPACES[@]}"; do
		ns "$space" grep -o '^TCP: inuse [0-9]* orphan [0-9]*' \
			/proc/net/sockstat
	done
}

# judge NAME COMMAND...
judge() {
	local status=0

	"${@:2}" || status=$?
	verdict "$1" $status
}

# 20,000 connections show a leak of 300 octets each, a million one of 8. Allocators
# keep some 1,000 KB now and then, and frees wait for grace periods of RCU, which take
# seconds on a busy machine. The debug kernel has kmemleak instead: KASAN delays frees.
no_growth() {
	local now try allowed=$((4000 + MADE / 10))

	! is_debug || return 0
	((allowed < 8000)) || allowed=8000
	for ((try = 0; try < 30; try++)); do
		now=$(memory)
		((now - BEFORE >= allowed)) || break
		sleep 1
	done
	echo "# memory_before_kb=$BEFORE memory_after_kb=$now waited=$try"
	((now - BEFORE < allowed))
}

no_sockets() {
	local now try

	for ((try = 0; try < 100; try++)); do
		now=$(sockets)
		[[ $now != "$SOCKETS" ]] || return 0
		sleep 0.1
	done
	echo "fuzz: sockets: were $SOCKETS, are $now"
	return 1
}

# How often TCP was short of memory, in both namespaces
tcp_pressures() {
	local space

	for space in "${SPACES[@]}"; do
		ns "$space" cat /proc/net/netstat
	done | tcp_ext TCPMemoryPressures
}

# The seeds kept alone reach more.
enough_reached() { ((PLACES >= 1600)); }

unload() {
	trap - EXIT
	leave
	kill "${SERVERS[@]}"
	wait "${SERVERS[@]}" || true
	rmmod mpa_rnic mpa_ping || return
	no_links && rmmod mpa
}

# With the last reference a namespace goes, and its links with it
no_links() {
	local try

	for ((try = 0; try < 100; try++)); do
		[[ -n $(ip -o link show type veth) ]] || return 0
		sleep 0.1
	done
	echo "fuzz: something holds a namespace"
	return 1
}

figure() { sed -n "s/^# .*\b$1=\([0-9]*\).*/\1/p" "$WORK/said" | tail -n 1; }

# Memory that the servers keep after their first connections is no leak
warm_up() {
	fuzz -n 500 -t 20 "${SPACES[@]}" >"$WORK/warm" || true
	BEFORE=$(memory)
	SOCKETS=$(sockets)
}

run() {
	local limit=(-t "$SHORT")

	((SECONDS_MAX == 0)) || limit=(-t "$SECONDS_MAX")
	((COUNT == 0)) || limit=(-n "$COUNT" -t 86400)
	fuzz "${limit[@]}" -o "$WORK/corpus" "${SPACES[@]}" \
		"${KEPT[@]}" | tee "$WORK/said" || true
	MADE=$(figure connections) PLACES=$(figure places)
	echo "# tcp_pressures=$(tcp_pressures)"
}

replay() {
	local rc=0

	fuzz -r 20 "${SPACES[@]}" /root/replay || rc=$?
	echo "1..4"
	exit $rc
}

main() {
	load
	spaces
	[[ ! -e /root/replay ]] || replay
	warm_up
	run
	cases=4		# those of mpa-fuzz
	judge sockets no_sockets
	judge coverage enough_reached
	judge memory no_growth
	judge unload unload
	all_judged
}

main
