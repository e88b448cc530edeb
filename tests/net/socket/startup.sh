# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Startup with MPA at both ends: revisions, private data, rejection, limits. KUnit has
# each pair of frames (mpa_frame, mpa_conn.exchange), errors.sh has the errors.

# Appendix C: M of both ends, Rev of the Request and of the Reply; then the outcome
revisions() {
	local ours=$1 request=$2 theirs=$3 reply=$4 version=$5 in=$6 out=$7

	network pair 1500
	serve markers="$theirs" rev="$reply" mode=echo
	ping_ok "$B4" markers="$ours" rev="$request" size=1000 count=10 verify=1
	expect revision="$version" markers_rx="$in" markers_tx="$out" crc=1
	served
	expect revision="$version" markers_rx="$out" markers_tx="$in" crc=1
}

private_data() {
	local hex

	network pair 1500
	hex=$(head -c 512 /dev/urandom | xxd -p | tr -d '\n')
	serve mode=echo
	ping_ok "$B4" "pdatahex=$hex"
	expect peer_pdata="$hex"
	served
	expect peer_pdata="$hex"
}

reject() {
	network pair 1500
	serve mode=echo reject=1 pdata=no
	ping_to "$B4" && fail "a rejected ping is no success"
	expect reason=rejected peer_pdata=6e6f mpa_error=0 ulpdus_tx=0
	same "$(counter a MpaRejectsReceived)" 1 "rejects received"
	same "$(counter b MpaRejectsSent)" 1 "rejects sent"
	spoil
}

immediate() {
	network pair 1500
	serve start=immediate mode=echo
	ping_ok "$B4" start=immediate size=1000 count=20 verify=1
	expect revision=none crc=1 markers_tx=1 markers_rx=1 ulpdus_rx=20
	served
	expect revision=none crc=1 markers_tx=1 markers_rx=1 ulpdus_rx=20
}

# An end that expects no startup frames gets one
immediate_mismatch() {
	network pair 1500
	serve mode=echo
	ping_to "$B4" start=immediate timeout=$((5 * SLOW)) && fail "started without frames"
	served
	expect mpa_error=4 reason=frame
}

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

test_case revision.0-1.markers "VN-11 VN-13" revisions 1 0 1 1 0 1 1
test_case revision.1-0 "VN-05 VN-14 DD-05" revisions 0 1 0 0 0 1 1
test_case pdata "CS-14 CS-22 RF-01 RF-20 RF-21 RF-23 CS-09 MK-20" private_data
test_case reject "CS-17 CS-18 CS-27 RF-13" reject
test_case immediate "CS-02 CS-05 MK-10" immediate
test_case immediate.mismatch "VN-08 CS-16 CS-34" immediate_mismatch
test_case overflow "SE-13" overflow 2 4096 2
test_case overflow.initial "" overflow 3 3 1000
test_case overflow.values "" limits_refused
test_case timeout.initial "CS-31 CS-32" initial_timeout
