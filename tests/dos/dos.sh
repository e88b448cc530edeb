#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Denial of service, and isolation: many connections at once, connections that
# make no progress, and old memory that leaks to the wire. The other ends
# are mpa-many (many/) and mpa-peer; the module's consumer is mpa_ping.
#
# usage: dos.sh [CASE...]		shell patterns for names
#
# COUNT=N or MINUTES=N selects the long form: full numbers. With MINUTES the cases
# repeat until the time is over, each round with other octets. The debug kernel makes
# fewer connections, and kmemleak takes the place of measuring memory.
#
# shellcheck disable=SC2034,SC2317
TESTS=/root/test
# shellcheck source=tests/net/socket/lib.sh
. $TESTS/lib.sh
# shellcheck source=tests/runner/memory.sh
. "${0%/*}/memory.sh"
# shellcheck source=tests/runner/tap.sh
. "${0%/*}/tap.sh"
# shellcheck source=tests/dos/startup.sh
. /root/dos/startup.sh
# shellcheck source=tests/dos/flow.sh
. /root/dos/flow.sh
# shellcheck source=tests/dos/isolation.sh
. /root/dos/isolation.sh

A4=10.77.0.1		# and seven more
B4=10.77.1.1
LONG=$((COUNT > 0 || SECONDS_MAX > 0))
ONLY=$(IFS='|' && echo "@(${*:-*})")
begun=$SECONDS

# pick SHORT LONG
pick() { few $((LONG && SLOW == 1 ? $2 : $1)); }

# few N: N, or a fifth of it on the debug kernel
few() { echo $((SLOW > 1 ? ($1 + 4) / 5 : $1)); }

# figure KEY=VALUE...: for the document
figure() { echo "# $CASE: $*" | tee -a "$WORK/figures"; }

# pair: clients in the namespace a, the server in b
pair() {
	local n

	new_space a b || return
	ip link add va netns a type veth peer name vb netns b
	for n in {1..8}; do
		echo "addr add 10.77.0.$n/16 dev va"
	done | ip -n a -batch -
	ip -n a link set va up
	ip -n b addr add $B4/16 dev vb
	ip -n b link set vb up
	# However slow all is
	set_sysctl b net.mpa.startup_timeout_ms=3000000
}

# After a case all is as before it.
settle_down() {
	local space

	for space in a b; do
		[[ -e /run/netns/$space ]] || continue
		ns $space sh -c "echo 'stop port=$PORT' >$PING/cmd" 2>/dev/null
		ip netns pids $space | xargs -r kill 2>/dev/null
		ip netns del $space
	done
	pair
}

# limits STARTUPS MS: those of the initial namespace hold for the others
limits() {
	sysctl -qw net.mpa.startup_max="$1" net.mpa.startup_timeout_ms="$2"
}

start_server() { command_in "$1" "serve port=$PORT ${*:2}" || fail "serve in $1"; }
stop_server() { command_in "$1" "stop port=$PORT"; }

# counted NAME AT-LEAST: the server's
counted() { (($(counter b "$1") >= $2)); }

released() { (($(counter b MpaAttached) == $(counter b MpaReleased))); }
all_released() { until_true 120 released || fail "not all were released"; }

# bounded OCTETS LIMIT: memory of each connection; kmemleak's own is not measured
bounded() { ((SLOW > 1 || $1 < $2)) || fail "$1 octets for each of them"; }

# Other ends

# many COMMAND [OPTION...]: to the server
many() { ns a mpa-many "$1" $B4 $PORT source=$A4 sources=8 "${@:2}"; }

talk() {
	many talk seed="$SEED" "$@" >"$WORK/talk" ||
		fail "talk $*: $(tail -n 1 "$WORK/talk")"
	tail -n 1 "$WORK/talk"
}

# bad COMMAND [OPTION...]: in the background, its last line in $WORK/bad
bad() {
	: >"$WORK/bad"
	# Not many(): the pid has to be mpa-many's
	nsenter --net=/run/netns/a -- mpa-many "$1" $B4 $PORT \
		source=$A4 sources=8 "${@:2}" >"$WORK/bad" &
	BAD_PID=$!
}

# bad_is KEY [VALUE]: print KEY's last value, or test whether it is VALUE
bad_is() {
	local value

	value=$(sed -n "\$s/.*\\<$1=\([0-9]*\).*/\1/p" "$WORK/bad")
	if (($# > 1)); then [[ $value == "$2" ]]; else echo "${value:-0}"; fi
}

# bad_again: wait for a line printed after this call. The next one may have been
# begun before it, so wait for two.
bad_again() {
	until_true 120 bad_said $(($(wc -l <"$WORK/bad") + 2)) ||
		fail "mpa-many is silent"
}

bad_said() { (($(wc -l <"$WORK/bad") >= $1)); }

bad_stop() {
	kill "$BAD_PID"
	wait "$BAD_PID" || fail "mpa-many: $(tail -n 1 "$WORK/bad")"
	all_released
}

# run_case NAME FUNCTION ARGUMENT...: in a subshell, so that it may fail
run_case() {
	# shellcheck disable=SC2053
	[[ $1 == $ONLY ]] || return 0
	CASE=$1
	if ("${@:2}"); then
		verdict "$CASE" 0
	else
		dmesg | tail -n 5 | sed 's/^/# kernel: /'
		verdict "$CASE" 1
	fi
	settle_down
}

# all_cases SUFFIX
all_cases() {
	run_case "half-open$1" half_open
	run_case "overflow$1" overflow
	run_case "long-pdata$1" long_pdata
	run_case "tiny-segments$1" tiny_segments
	run_case "tiny-ulpdus$1" tiny_ulpdus
	run_case "partial-fpdu$1" partial_fpdu
	run_case "zero-window$1" zero_window
	run_case "concurrent$1" concurrent
	run_case "dumps$1" dumps
	run_case "isolation.wire$1" wire
}

main() {
	local round=1

	modprobe -a mpa mpa_ping || exit 1
	limits 1000000 3600000
	pair || exit 1
	all_cases ""
	while ((SECONDS - begun < SECONDS_MAX)); do
		round=$((round + 1)) SEED=$((SEED + 1))
		all_cases ".$round"
	done
	ip netns del a
	ip netns del b
	limits 4096 10000
	all_judged
}

main
