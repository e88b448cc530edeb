#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2016
# Races and lifetimes: mpa_races (tests/modules/races) runs all operations concurrently and
# checks the results; namespaces and modules are removed at the same time.
set -euo pipefail

FILES=/sys/kernel/debug/mpa_races
KCSAN=/sys/kernel/debug/kcsan
PLACE=$(cd "$(dirname "$0")" && pwd)
. "$PLACE/tap.sh"
declare -A total=()

slow() { [[ -e /sys/kernel/debug/kmemleak || -e $KCSAN ]]; }

# Seconds that a polite connection may take
patience() { if [[ -e $KCSAN ]]; then echo 600; else echo 90; fi; }

# Seconds of chaos, namespaces and reloads of one round
plan() {
	chaos=15 spaces=2 reloads=3
	slow || chaos=10
	((!SECONDS_MAX)) || chaos=60 spaces=10 reloads=$((SECONDS_MAX / 6))
	((reloads <= 100)) || reloads=100
	((!COUNT)) || reloads=$COUNT
}

# The only source of random numbers here
RANDOM=$((SEED % 32768))

counted() { awk -F= -v name="$1" '$1 == name { print $2 }' $FILES/result; }

# command_in NS WORD...: a command to mpa_races, in a namespace
command_in() {
	ns "$1" bash -c 'echo "$1" >"$2"' - "${*:2}" $FILES/cmd
}

space() {
	ip netns add "$1"
	ip -n "$1" link set lo up
	mpa_sysctl "$1" zerocopy_min=0
}

mpa_sysctl() { ns "$1" sysctl -qw "net.mpa.$2"; }

# pair A B NET: two namespaces and a link that loses a packet now and then
pair() {
	space "$1"
	space "$2"
	ip link add "v$1" netns "$1" type veth peer name "v$2" netns "$2"
	ip -n "$1" addr add "10.9.$3.1/24" dev "v$1"
	ip -n "$2" addr add "10.9.$3.2/24" dev "v$2"
	ip -n "$1" addr add "fd09:$3::1/64" dev "v$1" nodad
	ip -n "$2" addr add "fd09:$3::2/64" dev "v$2" nodad
	ip -n "$1" link set "v$1" up
	ip -n "$2" link set "v$2" up
	tc -n "$1" qdisc add dev "v$1" root netem delay 1ms loss 0.5% limit 5000
}

load() {
	modprobe mpa
	[[ -d /sys/module/mpa_races ]] || insmod "$PLACE/mpa_races.ko"
}

# Adds the counters to those of the whole run
add_up() {
	local name value

	# In one read: a growing number would shift those after it
	while IFS='=' read -r name value; do
		total[$name]=$((${total[$name]-0} + value))
	done <<<"$(<$FILES/result)"
}

show() {
	echo "races: $1: $(counted ends) ends, $(counted established) established," \
		"$(counted complete) complete, $(counted found) findings"
}

# Until something is so: wait_for SECONDS COMMAND...
wait_for() {
	local tries=$(($1 * 5))

	shift
	until "$@"; do
		((tries-- > 0)) || return 1
		sleep 0.2
	done
}

# Every connection was given back.
all_released() {
	local ns attached released

	for ns; do
		attached=$(stat_of "$ns" MpaAttached)
		released=$(stat_of "$ns" MpaReleased)
		[[ -n $attached && $attached == "$released" ]] ||
			{ echo "$ns: $attached attached, $released released"
			return 1; }
	done
}

stat_of() {
	ns "$1" awk -v name="$2" '$1 == name { print $2 }' /proc/net/mpa_stat
}

# Others end connections as well, those that are not polite, at the end that has connected.
# The other one may wait to be accepted, and the kernel warns if its listener closes while
# it is destroyed (6.12, inet_csk_listen_stop(), also without MPA).
destroy() {
	local sockets

	sockets=$(for ns in races-a races-b; do
			ns $ns ss -HKtn 'dport < :8000'
		done | wc -l)
	total[destroyed]=$((${total[destroyed]-0} + sockets))
}

# The first round is wild over IPv4 and polite over IPv6, the next the other way.
start_chaos() {
	local net=10.9.1. lo=::1

	(($1 % 2)) || net=fd09:1:: lo=127.0.0.1
	command_in races-b start wild ${net}1 7000 $((SEED + 1000 * $1)) \
		"$(patience)" &&
	command_in races-a start wild ${net}2 7000 $((SEED + 1000 * $1 + 300)) \
		"$(patience)" &&
	command_in races-c start polite $lo 7000 \
		$((SEED + 1000 * $1 + 600)) "$(patience)"
}

# chaos ROUND SECONDS: longer, on a slow machine, until all of it has happened once
chaos() {
	local end=$((SECONDS + $2)) limit=$((SECONDS + 10 * $2)) last=$SECONDS

	start_chaos "$1" || return
	while ((SECONDS < end)) ||
		{ ((SECONDS < limit)) && [[ -n $(missing) ]]; }; do
		sleep 1
		destroy
		((SECONDS - last < 10)) || { show "round $1"; last=$SECONDS; }
	done
	echo stop >$FILES/cmd
	show "round $1"
}

# Deletes namespaces under connections whose sockets hold no reference.
# namespaces ROUND COUNT
namespaces() {
	local n gone doomed kinds=(noref noabort) addresses=(127.0.0.1 ::1)

	gone=$(counted namespaces_gone) doomed=$(counted established_at_exit)
	for ((n = 0; n < $2; n++)); do
		namespace "races-x$n" "${kinds[n % 2]}" \
			"${addresses[n / 2 % 2]}" \
			$((SEED + 1000 * $1 + 20 * n)) || return
	done
	wait_for 240 at_least namespaces_gone $((gone + $2)) || return
	show "$2 namespaces"
	# Without an established connection there would be nothing to report
	at_least established_at_exit $((doomed + $2))
}

# namespace NAME KIND ADDRESS SEED
namespace() {
	local before

	before=$(counted established)
	space "$1"
	command_in "$1" start "$2" "$3" 7000 "$4" "$(patience)" || return
	wait_for 60 at_least established $((before + 8)) || return
	sleep "0.$((RANDOM % 5))"
	ip netns del "$1"
}

at_least() { (($(counted "$1") >= $2)); }

# Peers of others, which stay while modules come and go. play STEP...
play() {
	while [[ -e $WORK/peers ]]; do
		mpa-peer -t 1 "$@" >/dev/null 2>&1 || :
		sleep 0.3
	done
}

peers() {
	play -f 1..9 connect 10.9.2.1 7003 request pause:0.05 \
		fpdu:count=4,size=300 pause:0.1 &
	play connect 10.9.2.1 7003 request:m=1 expect-reply fpdu:size=2000 \
		fin pause:0.5 &
	play -f 1..9 connect 10.9.2.1 7003 request:rev=2 pause:0.05 \
		fpdu:size=100 rst &
	play -f 1..9 listen 10.9.2.2 7003 expect-request reply \
		fpdu:count=3,size=200 pause:0.1 &
	wait
}

# Sockets of TCP without an owner
lingering() {
	ns races-d ss -Htan | awk '
		/^(FIN-WAIT|TIME-WAIT|LAST-ACK|CLOSING)/ { n++ }
		END { print n + 0 }'
}

# unload MODULE: nothing may be in its way
unload() {
	timeout 120 rmmod "$1" || { echo "rmmod $1: status $?"; return 1; }
}

# The consumer is unloaded under traffic and MPA at once after it.
reload_once() {
	load
	command_in races-d start own 10.9.2.2 7000 $((SEED + 5 * $1)) \
		"$(patience)" || return
	sleep "0.$((RANDOM % 9 + 1))"
	add_up
	unload mpa_races || return
	unload mpa || return
	reloaded=$((reloaded + 1))
	left=$((left + $(lingering)))
}

# reload COUNT
reload() {
	local n

	pair races-d races-e 2
	: >"$WORK/peers"
	unload mpa || return
	ns races-e bash -c "WORK=$WORK; $(declare -f play peers); peers" &
	for ((n = 1; n <= $1; n++)); do
		reload_once "$n" || break
		((n % 5)) || echo "races: reload $n of $1"
	done
	rm "$WORK/peers"
	wait
	# Of a few it may be that none has lingered.
	((reloaded == $1 && (left > 0 || $1 < 20)))
}

# Number of accesses that KCSAN watched
kcsan_watched() { awk '$1 == "setup_watchpoints:" { print $2 }' $KCSAN; }

# Reports of KCSAN count if an unmarked access of MPA's is part of them. Reports
# between two places in TCP, which reads much without its lock, are only kept, if MPA
# called them.
kcsan() {
	echo "# kcsan_watched=$(kcsan_watched)"
	(($(kcsan_watched) >= 1000)) || { echo "races: KCSAN did not look"; return 1; }
	dmesg | awk -v ours="$WORK/kcsan" '
	function done() {
		if (text ~ /\[mpa(_races)?\]/)
			printf "%s", text >(mine ? ours : ours ".called")
		found += mine
		inside = 0
	}
	/BUG: KCSAN/ { text = ""; mine = access = 0; inside = 1; all++ }
	inside { text = text $0 "\n" }
	inside && access && /\[mpa(_races)?\]$/ { mine = 1 }
	inside { access = /(read|write) to 0x/ }
	inside && /\] =====/ { done() }
	END {
		printf "# kcsan_reports=%d kcsan_ours=%d\n", all, found
		exit found > 0
	}'
}

# Few accesses are watched unless one asks for more
kcsan_on() {
	echo 300 >/sys/module/kcsan/parameters/skip_watch
	echo on >$KCSAN
}

findings() { dmesg | grep -c 'mpa_races: FOUND' || true; }

# judge NAME FINDINGS-BEFORE STATUS
judge() {
	local new

	new=$(($(findings) - $2))
	verdict "$1" $(($3 || new)) "status $3, $new findings"
	(($3 == 0 && new == 0)) ||
		dmesg | grep mpa_races | tail -n 20 | sed 's/^/# /' || true
}

# part NAME COMMAND...
part() {
	local before status=0

	before=$(findings)
	"${@:2}" || status=$?
	judge "$1" "$before" "$status"
}

chaos_rounds() {
	local round=0

	until ((round && SECONDS >= SECONDS_MAX)); do
		chaos $((round += 1)) "$chaos" || return
		namespaces "$round" "$spaces" || return
	done
	add_up
	[[ -z $(missing) ]] || { echo "races: no $(missing | xargs)"; return 1; }
	all_released races-a races-b races-c
}

# What has not happened yet: where nothing is under way, nothing is broken either.
missing() {
	local name names=(established complete rejected held ended_fin ended_reset
		ended_aborted messages_sent messages_canceled detach_sync
		destroyed)

	# In a few seconds no peer may have been silent for long enough
	((!SECONDS_MAX)) || names+=(ended_timeout)
	for name in "${names[@]}"; do
		(($(counted "$name") + ${total[$name]-0} > 0)) || echo "$name"
	done
}

figures() {
	local name

	for name in "${!total[@]}"; do
		echo "# $name=${total[$name]}"
	done | sort
	echo "# reloads=$reloaded lingering=$left"
}

main() {
	plan
	[[ ! -e $KCSAN ]] || kcsan_on
	dmesg -n 1
	load
	pair races-a races-b 1
	space races-c
	for ns in races-a races-b; do
		mpa_sysctl "$ns" startup_timeout_ms=700
	done
	# A polite startup may last as long as its connection: a slow machine took over
	# 10 s. The first namespace's time is a limit to the others'.
	sysctl -qw "net.mpa.startup_timeout_ms=$(patience)000"
	mpa_sysctl races-c "startup_timeout_ms=$(patience)000"
	part chaos chaos_rounds
	unload mpa_races
	part reload reload "$reloads"
	[[ ! -e $KCSAN ]] || part kcsan kcsan
	for ns in $(ip netns list | grep -o '^races-[a-z0-9]*'); do
		ip netns del "$ns"
	done
	figures
	all_judged
}

reloaded=0 left=0
main
