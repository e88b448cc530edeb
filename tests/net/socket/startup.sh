# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Limits of startup: how many connections may be in it, and for how long. KUnit has each
# pair of frames (mpa_frame, mpa_conn.exchange) and the errors (mpa_conn.frame).

# silent_clients N: connect one after the other; each expects to be reset
silent_clients() {
	local number attached

	attached=$(counter b MpaAttached)
	for ((number = 1; number <= $1; number++)); do
		command ns a mpa-peer -t $((30 * SLOW)) connect "$B4" "$PORT" \
			"send:${REQ_KEY:0:number*2}" end:reset &
		SILENT[number]=$!
		until_grown b MpaAttached "$attached" $number
	done
}

initial_sysctl() { sysctl -qw "net.mpa.$1" || fail "sysctl $1"; }

initial_defaults() {
	initial_sysctl startup_max=4096
	initial_sysctl startup_timeout_ms=10000
}

# More clients than there is room for: those that came first have to go, and
# one that sends its Request is served all the while
overflow() {
	local room=$1 number

	trap initial_defaults EXIT
	network pair 1500
	spoil
	initial_sysctl startup_timeout_ms=60000
	set_sysctl b net.mpa.startup_timeout_ms=60000
	initial_sysctl startup_max="$2"
	set_sysctl b net.mpa.startup_max="$3"
	serve mode=echo
	silent_clients 5
	for ((number = 1; number <= 5 - room; number++)); do
		wait "${SILENT[number]}" || fail "client $number was not reset"
	done
	until_grown b MpaErrStartupOverflow 0 $((5 - room))
	grown b MpaErrStartupOverflow 0 $((5 - room))
	ping_ok "$B4" size=100 count=5 verify=1
	wait "${SILENT[number]}" || fail "client $number was not reset"
	grown b MpaErrStartupOverflow 0 $((6 - room))
	for ((number++; number <= 5; number++)); do
		kill "${SILENT[number]}" || fail "client $number was reset"
	done
}

initial_timeout() {
	local before

	trap initial_defaults EXIT
	network pair 1500
	spoil
	initial_sysctl startup_timeout_ms=800
	set_sysctl b net.mpa.startup_timeout_ms=60000
	before=$(counter b MpaErrTimeout)
	serve mode=echo
	client end:reset
	served
	expect mpa_error=4 reason=timeout
	grown b MpaErrTimeout "$before" 1
}

limits_refused() {
	local value

	network pair 1500
	for value in 0 -1 2147483648 x; do
		ns b sysctl -qw net.mpa.startup_max=$value 2>/dev/null &&
			fail "startup_max=$value was taken"
	done
	same "$(ns b sysctl -n net.mpa.startup_max)" 4096 "startup_max"
}

test_case overflow "SE-13" overflow 2 4096 2
test_case overflow.initial "" overflow 3 3 1000
test_case overflow.values "" limits_refused
test_case timeout.initial "CS-31 CS-32" initial_timeout
