# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Startups that are never complete: what they cost, and how they end; see dos.sh

# held NR [OPTION...]: hold NR connections; HELD is the kernel's memory for each, in
# octets, both ends and the files of mpa-many included
held() {
	local before nr=$1

	before=$(kernel_kb_at_least)
	bad hold connections="$nr" "${@:2}"
	until_true 120 bad_is connected "$nr" || fail "held: $(bad_is connected)"
	until_true 120 counted MpaAttached "$nr" || fail "not all are attached"
	HELD=$((($(kernel_kb_at_least) - before) * 1024 / nr))
}

clean_connections() {
	talk connections=100 at=10 rounds=2 ulpdus=4 size=1000 vary=1
}

# Startups below the limit stay open while clean connections are made
half_open() {
	local nr

	nr=$(few 10000)
	set_sysctl b net.mpa.startup_max=20000
	start_server b
	held "$nr"
	clean_connections
	bad_again
	bad_is connected "$nr" || fail "held: $(bad_is connected)"
	bad_stop
	figure held="$nr" clean=100 octets_each=$HELD
	bounded $HELD 16384
}

# More startups than the limit: the oldest are reset, and no others. Clean connections
# succeed while all those reset connect again and again; one may be the oldest where the
# machine is late, but not in three tries.
overflow() {
	local room nr before try

	room=$(few 500)
	nr=$(few 2000)
	set_sysctl b net.mpa.startup_max="$room"
	start_server b
	bad hold connections="$nr"
	until_true 120 bad_is gone $((nr - room)) || fail "gone: $(bad_is gone)"
	bad_again
	bad_is connected "$room" || fail "left: $(bad_is connected)"
	same "$(counter b MpaErrStartupOverflow)" $((nr - room)) \
		MpaErrStartupOverflow
	bad_stop

	bad hold connections="$nr" again=1
	until_true 120 counted MpaErrStartupOverflow $((3 * nr)) || fail "no overflow"
	before=$(counter b MpaErrStartupOverflow)
	for ((try = 1; try < 4; try++)); do (clean_connections) && break; done
	((try < 4)) || fail "clean connections are reset"
	before=$(($(counter b MpaErrStartupOverflow) - before))
	bad_stop
	figure room="$room" overflow="$nr" clean=100 reset_meanwhile=$before
	((before > 0)) || fail "there was no overflow"
}

# A header that announces much private data costs no more than others.
long_pdata() {
	local nr

	nr=$(few 2000)
	start_server b
	held "$nr" rev0=1
	bad_stop
	figure held="$nr" octets_each=$HELD
	bounded $HELD 20480
}
