#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Denial of service, and isolation: many connections at once, connections that
# make no progress, and leaks from one connection to another. The other ends
# are mpa-many (many/) and mpa-peer; the module's consumer is mpa_ping.
#
# usage: dos.sh [CASE...]		shell patterns for names
#
# COUNT=N or MINUTES=N selects the long form: full numbers, N (or 20000) connects
# and closes of each kind, and TIME_WAIT expires. With MINUTES the cases repeat until
# the time is over, each round with other octets. The debug kernel makes fewer
# connections, and kmemleak takes the place of measuring memory.
#
# shellcheck disable=SC2016,SC2317
set -uo pipefail
. "${0%/*}/memory.sh"

PING=/sys/kernel/debug/mpa_ping
PORT=5044
CLIENTS=10.77.0.1	# and seven more
SERVER=10.77.1.1
LONG=$((COUNT > 0 || SECONDS_MAX > 0))
SLOW=1
[[ ! -e /sys/kernel/debug/kmemleak ]] || SLOW=4
ONLY=$(IFS='|' && echo "@(${*:-*})")
begun=$SECONDS passed=0 failed=0 DOING=

# pick SHORT LONG
pick() {
	if ((SLOW > 1)); then
		few "$1"
	elif ((LONG)); then
		echo "$2"
	else
		echo "$1"
	fi
}

# few N: N, or a fifth of it on the debug kernel
few() { echo $((SLOW > 1 ? ($1 + 4) / 5 : $1)); }

fail() {
	echo "FAILED: ${DOING:+$DOING: }$*"
	exit 1
}

# figure KEY=VALUE...: for the document
figure() { echo "# $CASE: $*" | tee -a "$WORK/figures"; }

# Kills process groups: killing a function in the background would leave its child
kill_jobs() {
	local group

	for group in $(jobs -p); do
		kill -- "-$group" 2>/dev/null
	done
}

no_clients() { ! pidof mpa-many >/dev/null; }

# run_case NAME FUNCTION ARGUMENT...: in a subshell, so that it may fail
run_case() {
	local status=0

	# shellcheck disable=SC2053
	[[ $1 == $ONLY ]] || return 0
	CASE=$1
	shift
	(
		set -m
		trap kill_jobs EXIT
		"$@"
	) || status=$?
	settle_down
	until_true 10 no_clients || { echo "mpa-many is left"; status=1; }
	if ((status)); then
		dmesg | tail -n 5 | sed 's/^/# kernel: /'
		echo "not ok - dos.$CASE"
		failed=$((failed + 1))
	else
		echo "ok - dos.$CASE"
		passed=$((passed + 1))
	fi
}

# until_true SECONDS COMMAND...
until_true() {
	local end=$((SECONDS + $1 * SLOW))

	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

# Namespaces: clients in dos1, the server in dos2. dos3 and dos4 are a second pair
# with the same addresses.

set_sysctl() {
	local space=$1

	shift
	ns "$space" sysctl -qw "$@" || fail "sysctl $* in $space"
}

pair() {
	local n

	ip netns add "$1" && ip netns add "$2" || return
	ip link add dosa netns "$1" type veth peer name dosb netns "$2"
	for n in {1..8}; do
		ip -n "$1" addr add "10.77.0.$n/16" dev dosa
	done
	ip -n "$2" addr add "$SERVER/16" dev dosb
	ip -n "$1" link set dosa up
	ip -n "$2" link set dosb up
	ip -n "$1" link set lo up
	ip -n "$2" link set lo up
	# Where a case is not about it, however slow all is
	set_sysctl "$2" net.mpa.startup_timeout_ms=600000
}

drop_pairs() {
	local space

	for space in dos1 dos2 dos3 dos4; do
		[[ ! -e /run/netns/$space ]] || ip netns del $space
	done
}

# initial MAX MS: the limits of the initial namespace, which hold for ours
initial() {
	sysctl -qw net.mpa.startup_max="$1" net.mpa.startup_timeout_ms="$2"
}

command_in() { ns "$1" bash -c 'echo "$1" >"$2"' - "$2" $PING/cmd; }
serve() { command_in "$1" "serve port=$PORT ${*:2}" || fail "serve in $1"; }

stop_serving() {
	local space

	for space in dos2 dos4; do
		[[ ! -e /run/netns/$space ]] ||
			command_in $space "stop port=$PORT" 2>/dev/null
	done
}

# After a case all is as before it.
settle_down() {
	stop_serving
	drop_pairs
	until_true 60 gone || echo "# there are still connections"
	pair dos1 dos2
}

gone() { [[ ! -e /run/netns/dos1 && ! -e /run/netns/dos2 ]]; }

counter() {
	ns "$1" awk -v name="$2" '$1 == name { print $2 }' /proc/net/mpa_stat
}

# counted NS NAME AT-LEAST
counted() { (($(counter "$1" "$2") >= $3)); }

# no_more NS: each connection that MPA had was given back
no_more() { (($(counter "$1" MpaAttached) == $(counter "$1" MpaReleased))); }

# Other ends

# many COMMAND [OPTION...]: to the server
many() {
	ns dos1 mpa-many "$1" $SERVER $PORT source=$CLIENTS sources=8 "${@:2}"
}

talk() {
	many talk seed="$SEED" "$@" | tee "$WORK/talk" ||
		fail "talk $*: $(tail -n 1 "$WORK/talk")"
}

# bad COMMAND [OPTION...]: in the background, its last line in $BAD
bad() {
	# Nothing that one before has said is taken for its own, as below
	: >"$WORK/bad"
	ns dos1 mpa-many "$1" $SERVER $PORT \
		source=$CLIENTS sources=8 "${@:2}" >"$WORK/bad" &
	BAD_PID=$!
}

# bad_is KEY [VALUE]: print KEY's last value, or test whether it is VALUE
bad_is() {
	local value

	value=$(sed -n "\$s/.*\\<$1=\([0-9]*\).*/\1/p" "$WORK/bad")
	if (($# > 1)); then [[ $value == "$2" ]]; else echo "${value:-0}"; fi
}

# bad_again: wait for a line printed after this call; mpa-many prints one a second.
# The next line may have been begun before the call, so wait for two.
bad_again() {
	until_true 60 bad_said $(($(wc -l <"$WORK/bad") + 2)) ||
		fail "mpa-many is silent"
}

bad_said() { (($(wc -l <"$WORK/bad") >= $1)); }

bad_stop() {
	kill "$BAD_PID"
	wait "$BAD_PID" || fail "mpa-many: $(tail -n 1 "$WORK/bad")"
}

# Half-open startups

# held NR [OPTION...]: hold NR connections; HELD is the kernel memory for them in KB
held() {
	local before nr=$1

	before=$(kernel_kb_at_least)
	bad hold connections="$nr" "${@:2}"
	until_true 120 bad_is connected "$nr" || fail "held: $(bad_is connected)"
	until_true 60 counted dos2 MpaAttached "$nr" || fail "not all are attached"
	HELD=$(($(kernel_kb_at_least) - before))
}

# Startups below the limit stay open while clean connections are made
half_open() {
	local nr clean=100 each

	nr=$(few 10000)
	set_sysctl dos2 net.mpa.startup_max=20000 \
		net.mpa.startup_timeout_ms=3000000
	serve dos2
	held "$nr"
	each=$((HELD * 1024 / nr))
	talk connections=$clean at=10 rounds=2 ulpdus=4 size=1000 vary=1
	bad_again
	bad_is connected "$nr" || fail "held: $(bad_is connected)"
	bad_stop
	until_true 60 no_more dos2 || fail "not all were released"
	figure held="$nr" clean=$clean octets_each=$each
	((SLOW > 1 || each < 16384)) || fail "$each octets for each of them"
}

# More startups than the limit: the oldest are reset, and no others. Clean connections
# succeed while all those reset connect again and again.
overflow() {
	local room nr clean=100 before

	room=$(few 500)
	nr=$(few 2000)
	set_sysctl dos2 net.mpa.startup_max="$room" \
		net.mpa.startup_timeout_ms=3000000
	serve dos2
	bad hold connections="$nr"
	until_true 60 bad_is gone $((nr - room)) || fail "gone: $(bad_is gone)"
	bad_again
	bad_is connected "$room" || fail "left: $(bad_is connected)"
	(($(counter dos2 MpaErrStartupOverflow) == nr - room)) ||
		fail "MpaErrStartupOverflow"
	bad_stop
	until_true 60 no_more dos2 || fail "not all were released"

	bad hold connections="$nr" again=1
	until_true 60 counted dos2 MpaErrStartupOverflow $((3 * nr)) ||
		fail "no overflow"
	before=$(counter dos2 MpaErrStartupOverflow)
	talk connections=$clean at=10 rounds=2 ulpdus=4 size=1000 vary=1
	before=$(($(counter dos2 MpaErrStartupOverflow) - before))
	bad_stop
	until_true 60 no_more dos2 || fail "not all were released"
	figure room="$room" overflow="$nr" clean=$clean went_meanwhile=$before
	((before > 0)) || fail "there was no overflow"
}

# They end by themselves.
timed_out() {
	local nr=300

	set_sysctl dos2 net.mpa.startup_timeout_ms=$((2000 * SLOW))
	serve dos2
	bad hold connections=$nr
	until_true 60 counted dos2 MpaErrTimeout $nr || fail "not all have ended"
	until_true 60 no_more dos2 || fail "not all were released"
	(($(counter dos2 MpaErrTimeout) == nr)) || fail "more have ended"
	until_true 10 bad_is gone $nr || fail "gone: $(bad_is gone)"
	bad_stop
}

# A Request sent an octet at a time: the timeout covers the whole Request. An FPDU
# has no timeout.
slow_request() {
	local ms=$((2000 * SLOW)) every=$((300 * SLOW)) said octets took

	set_sysctl dos2 net.mpa.startup_timeout_ms=$ms
	serve dos2
	said=$(many drip ms=$every) || fail "$said"
	[[ $said =~ octets=([0-9]+)\ ms=([0-9]+) ]] || fail "$said"
	octets=${BASH_REMATCH[1]} took=${BASH_REMATCH[2]}
	figure timeout_ms=$ms every_ms=$every octets="$octets" ms="$took"
	# The peer starts its clock slightly later
	((octets < 20 && took >= ms * 9 / 10)) || fail "$said"
	(($(counter dos2 MpaErrTimeout) == 1)) || fail "no timeout"
	said=$(many drip fpdu=1 ms="$(pick 60 1000)") || fail "$said"
}

# A header that promises much private data costs no more than others.
long_pdata() {
	local nr each

	set_sysctl dos2 net.mpa.startup_timeout_ms=3000000
	serve dos2
	nr=$(few 2000)
	held "$nr" rev0=1
	each=$((HELD * 1024 / nr))
	bad_stop
	figure held="$nr" octets_each=$each
	((SLOW > 1 || each < 20480)) || fail "$each octets for each of them"
}

# Small pieces

# Runs of the work item that the tracer has recorded
work_runs() {
	awk '/^(entries|overrun):/ { n += $2 } END { print n + 0 }' \
		/sys/kernel/tracing/per_cpu/cpu*/stats
}

# cpu_ticks: of all processors, for everything
cpu_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

# measured COMMAND...: run it; RUNS is the number of work items begun during the run,
# TICKS the time of all processors
measured() {
	local event=/sys/kernel/tracing/events/workqueue/workqueue_execute_start
	local runs ticks

	echo 'function.function == mpa_loop_work' >$event/filter ||
		fail "no filter for work items"
	echo 1 >$event/enable
	runs=$(work_runs)
	ticks=$(cpu_ticks)
	"$@"
	TICKS=$(($(cpu_ticks) - ticks))
	RUNS=$(($(work_runs) - runs))
	echo 0 >$event/enable
}

plain_server() {
	: >"$WORK/plain"
	ns dos2 mpa-many plain $SERVER $PORT >"$WORK/plain" &
	until_true 10 grep -q listening "$WORK/plain" || fail "no plain server"
}

# small OPTION...: a talk with MPA, then one with plain TCP sending the same octets
small() {
	local plain octets batches runs ticks

	serve dos2
	measured talk "$@"
	runs=$RUNS ticks=$TICKS
	octets=$(counter dos2 MpaRxOctets)
	batches=$(counter dos2 MpaRxBatches)
	stop_serving
	until_true 60 no_more dos2 || fail "not all were released"
	plain_server
	measured talk raw=1 "$@"
	plain=$TICKS
	figure octets="$octets" ulpdus="$(counter dos2 MpaRxUlpdus)" \
		batches="$batches" runs="$runs" ticks="$ticks" plain_ticks="$plain"
	OCTETS=$octets BATCHES=$batches RUNS=$runs
}

tiny_segments() {
	local nr

	nr=$(few 20)
	small connections="$nr" rounds=$((LONG ? 40 : 6)) ulpdus=10 size=58 piece=1
	# FPDUs of 64 octets: an octet that completes none wakes no work item, each
	# octet of a Request does
	((RUNS > 0 && RUNS < OCTETS / 10 + nr * 532)) ||
		fail "$RUNS work items for $OCTETS octets"
}

tiny_ulpdus() {
	small connections="$(few 20)" rounds="$(pick 4 40)" ulpdus=1000 size=1
	# 8 octets each; those that came together are passed together
	((RUNS > 0 && RUNS < OCTETS / 8 / 8)) || fail "$RUNS work items for $OCTETS octets"
	((BATCHES < OCTETS / 8 / 20)) || fail "$BATCHES batches for $OCTETS octets"
}

# An FPDU that never completes; its first octets came one to a segment
partial_fpdu() {
	local nr before each

	nr=$(few 200)
	serve dos2
	before=$(kernel_kb_at_least)
	bad deaf connections="$nr" size=60000 stop=300 piece=1
	until_true 120 bad_is stuck "$nr" || fail "stuck: $(bad_is stuck)"
	until_true 60 quiet_for 2 || fail "it goes on: $(tail -n 1 "$WORK/bad")"
	each=$((($(kernel_kb_at_least) - before) * 1024 / nr))
	bad_stop
	until_true 60 no_more dos2 || fail "not all were released"
	figure unfinished="$nr" octets_each=$each
	# A buffer for the FPDU, and 300 skbs of TCP's
	((SLOW > 1 || each < 192 * 1024)) || fail "$each octets for each"
}

# A peer that never reads: the module queues what TCP's buffers hold, and no more
zero_window() {
	local nr=40 space before each octets buffers=$((256 * 1024))

	for space in dos1 dos2; do
		set_sysctl $space net.ipv4.tcp_rmem="4096 65536 $buffers" \
			net.ipv4.tcp_wmem="4096 65536 $buffers"
	done
	serve dos2
	before=$(kernel_kb_at_least)
	bad deaf connections=$nr size=1400
	until_true 60 bad_is stuck $nr || fail "stuck: $(bad_is stuck)"
	until_true 60 quiet_for 3 || fail "it goes on: $(tail -n 1 "$WORK/bad")"
	octets=$(bad_is octets)
	each=$((($(kernel_kb_at_least) - before) * 1024 / nr))
	bad_again
	bad_is octets "$octets" || fail "more was taken"
	talk connections=20 rounds=4 ulpdus=4 size=1000
	bad_stop
	until_true 60 no_more dos2 || fail "not all were released"
	figure deaf=$nr octets_each=$each taken_each=$((octets / nr))
	# Two buffers of the client and one of ours with echoes. They are never all
	# full, which leaves room for the consumer's own copies.
	((SLOW > 1 || each < 3 * buffers)) || fail "$each octets for each"
}

quiet_for() { (($(bad_is still) >= $1)); }

# Many good ones

concurrent() {
	local nr before each

	nr=$(pick 1500 4096)
	serve dos2
	before=$(kernel_kb_at_least)
	rm -f "$WORK/close"
	: >"$WORK/talk"
	many talk seed="$SEED" connections="$nr" together=1 rounds=3 ulpdus=2 \
		size=400 vary=1 wait="$WORK/close" >"$WORK/talk" &
	until_true 200 grep -qE '^(waiting|WRONG)' "$WORK/talk" ||
		fail "$(tail -n 1 "$WORK/talk")"
	each=$((($(kernel_kb_at_least) - before) * 1024 / nr))
	: >"$WORK/close"
	wait $! || fail "$(tail -n 1 "$WORK/talk")"
	tail -n 1 "$WORK/talk"
	until_true 60 no_more dos2 || fail "not all were released"
	(($(counter dos2 MpaEstablished) == nr)) || fail "MpaEstablished"
	(($(counter dos2 MpaRxUlpdus) == nr * 6)) || fail "MpaRxUlpdus"
	figure connections="$nr" octets_each=$each
	((SLOW > 1 || each < 20480)) || fail "$each octets for each of them"
}

# Nothing in TIME_WAIT, and no socket of ours
closed_all() {
	no_more dos2 &&
		! ns dos1 grep -qE '^TCP: .*(inuse|tw) [1-9]' /proc/net/sockstat &&
		! ns dos2 grep -qE '^TCP: .*(inuse|tw) [1-9]' /proc/net/sockstat
}

# churn END: connect and close; no memory stays in use. The caches of allocators
# vary by some 1000 KB.
churn() {
	local end=$1 nr before after=0 limit=2048 first try

	first=$(few 1500)
	nr=$(pick 4000 $((COUNT ? COUNT : 20000)))
	# The long form waits for the end of TIME_WAIT
	((LONG)) || set_sysctl dos1 net.ipv4.tcp_max_tw_buckets=0
	talk_and_close "$first" "$end"
	before=$(kernel_kb_at_least)
	talk_and_close "$nr" "$end"
	for ((try = 0; try < 30; try++)); do
		after=$(kernel_kb_at_least)
		((SLOW == 1 && after - before >= limit)) || break
		sleep 1
	done
	figure connections="$nr" end="$end" grown_kb=$((after - before))
	((SLOW > 1 || after - before < limit)) || fail "it has grown by $((after - before)) KB"
	(($(counter dos2 MpaEstablished) == nr + first)) ||
		fail "MpaEstablished: $(counter dos2 MpaEstablished)"
	# With the last reference the namespaces go, and the link with them
	stop_serving
	ip netns del dos2
	until_true 60 no_link || fail "something holds the server's namespace"
}

no_link() { ! ip -n dos1 link show dosa >/dev/null 2>&1; }

talk_and_close() {
	serve dos2
	talk connections="$1" at=64 rounds=1 ulpdus=1 size=64 vary=1 end="$2"
	stop_serving
	until_true 120 closed_all ||
		fail "left: $(ns dos1 grep TCP: /proc/net/sockstat) / $(ns dos2 \
			grep TCP: /proc/net/sockstat)"
}

# Isolation

second_pair() { pair dos3 dos4 || fail "no second pair"; }

# ping NS OPTION...: from there; its result is in $WORK/result
ping() {
	command_in "$1" "ping addr=$SERVER port=$PORT timeout=$((20 * SLOW)) \
${*:2}" 2>/dev/null
	local status=$?

	ns "$1" cat $PING/result >"$WORK/result"
	return $status
}

has() { grep -qx "$1" "$WORK/result" || fail "no $1: $(paste -sd' ' "$WORK/result")"; }

moved() { ns "$1" awk '$2 > 0 { print $1 }' /proc/net/mpa_stat; }

# Traffic, ends of all kinds and their counters stay where they are.
counters() {
	second_pair
	serve dos2
	talk connections=20 rounds=2 size=500 vary=1
	talk connections=20 end=rst
	ping dos1 rev=0 || fail "no ping"
	[[ -n $(moved dos1) && -n $(moved dos2) ]] || fail "nothing is counted"
	[[ -z $(moved dos3)$(moved dos4) ]] ||
		fail "the others counted $(moved dos3) $(moved dos4)"
}

sysctls() {
	second_pair
	set_sysctl dos3 net.mpa.crc=0
	set_sysctl dos4 net.mpa.crc=0 net.mpa.startup_max=1 \
		net.mpa.startup_timeout_ms=100
	set_sysctl dos2 net.mpa.startup_timeout_ms=3000000
	serve dos2
	serve dos4
	bad hold connections=50
	until_true 60 counted dos2 MpaAttached 50 || fail "no half-open startups"
	ping dos3 size=1000 verify=1 || fail "no ping there"
	(($(counter dos3 MpaNoCrc) == 1)) || fail "CRC is on there"
	ping dos1 size=1000 verify=1 || fail "no ping here"
	(($(counter dos1 MpaNoCrc) == 0)) || fail "CRC is off here"
	ns dos3 mpa-many drip $SERVER $PORT ms=50 >/dev/null || fail "no drip"
	(($(counter dos4 MpaErrTimeout) == 1)) || fail "no timeout there"
	(($(counter dos2 MpaErrTimeout) == 0)) || fail "a timeout here"
	(($(counter dos2 MpaErrStartupOverflow) == 0)) || fail "an overflow here"
	bad_is gone 0 || fail "gone: $(bad_is gone)"
	bad_stop
}

here() {
	ping dos1 || fail "no ping here"
	has peer_pdata=74776f
}

# The same address and port twice
listeners() {
	second_pair
	serve dos2 pdata=two
	serve dos4 pdata=four
	here
	ping dos3 || fail "no ping there"
	has peer_pdata=666f7572
	command_in dos4 "stop port=$PORT"
	! ping dos3 || fail "it still listens"
	has reason=refused
	here
	[[ $(counter dos2 MpaEstablished) == 2 &&
		$(counter dos4 MpaEstablished) == 1 ]] || fail "MpaEstablished"
}

# Each connection gets its own private data and its own ULPDUs back and nothing else,
# in any order of arrival
private_data() {
	local nr

	nr=$(pick 400 2000)
	second_pair
	serve dos2
	serve dos4
	ns dos3 mpa-many talk $SERVER $PORT seed=$((SEED + 1000)) together=1 \
		connections="$nr" rounds=2 size=300 vary=1 >"$WORK/other" &
	talk connections="$nr" together=1 rounds=2 size=300 vary=1
	wait $! || fail "the other pair: $(tail -n 1 "$WORK/other")"
}

# Fill free memory with a pattern: new pages, and objects that other connections have
# freed
POISON=d15ea5edd15ea5ed
poison() {
	local octets

	echo 3 >/proc/sys/vm/drop_caches
	mpa-many dirty hex=$POISON mb=$(($(awk '$1 == "MemFree:" { print $2 }' \
		/proc/meminfo) * 9 / 10240)) || fail "no memory to write over"
	serve dos2
	poison_hex 60000 | xxd -r -p | ns dos1 bash -c "cat >$PING/payload"
	for octets in 8 40 104 232 488 512; do
		ping dos1 pdatahex="$(poison_hex $octets)" payload=1 size=1000 ||
			fail "no ping of $octets octets"
	done
	command_in dos2 "stop port=$PORT"
}

# poison_hex OCTETS
poison_hex() { printf "%$(($1 / 8))s" | sed "s/ /$POISON/g"; }

capture() {
	: >"$WORK/tcpdump"
	ns dos1 tcpdump -i dosa -s 0 -B 16384 \
		--immediate-mode -w "$WORK/wire.pcap" tcp 2>"$WORK/tcpdump" &
	TCPDUMP=$!
	until_true 20 grep -q '^tcpdump: listening' "$WORK/tcpdump" ||
		fail "tcpdump: $(cat "$WORK/tcpdump")"
}

captured() {
	sleep 0.5
	kill "$TCPDUMP"
	wait "$TCPDUMP"
	# tcpdump may miss a packet, but has to capture many
	(($(sed -n 's/ packets captured//p' "$WORK/tcpdump") > 2000)) ||
		fail "tcpdump: $(cat "$WORK/tcpdump")"
}

# Patterns of uninitialised memory: POISON, and on the debug kernel those that
# slub_debug=P leaves in objects
poisons() {
	local slub=/sys/kernel/slab/kmalloc-1k/poison

	echo "${POISON:0:10}"
	[[ ! -e $slub || $(<$slub) == 0 ]] || echo 5a5a5a5a5a 6b6b6b6b6b
}

# found_poison FILE: number of matches
found_poison() {
	local hex found=0 n

	for hex in $(poisons); do
		n=$(mpa-many search file="$1" hex="$hex") || fail "$n"
		found=$((found + ${n#*found=}))
	done
	echo $found
}

# some_hex OCTETS: private data
some_hex() { printf "%0$((2 * $1))d" $((SEED % 100)); }

# initiate FLAGS OCTETS OPTION...: a ping, with OCTETS of private data, to a peer
# that checks each octet of frame, pads and markers
initiate() {
	local request

	request="rev=1,flags=$1,pd=$(some_hex "$2")"
	set -- "${@:3}" pdatahex="$(some_hex "$2")"
	: >"$WORK/peer"
	ns dos2 mpa-peer -t $((10 * SLOW)) listen \
		$SERVER $PORT "expect-request:$request" reply:m=1,c=1 \
		serve end >"$WORK/peer" &
	until_true 10 grep -q '^listening' "$WORK/peer" || fail "no mpa-peer"
	ping dos1 verify=1 "$@" || fail "ping $*: $(<"$WORK/result")"
	wait $! || fail "ping $*: $(tail -n 1 "$WORK/peer")"
}

# respond MARKERS OCTETS: the peer checks a server in the same way
respond() {
	serve dos2 markers="$1"
	ns dos1 mpa-peer -t $((10 * SLOW)) connect $SERVER $PORT \
		request:m=1,c=1,pd="$(some_hex "$2")" \
		expect-reply:rev=1,flags=$((64 + 128 * $1)),pd="$(some_hex "$2")" \
		"echo:count=$(pick 300 1500),size=1,step=1" fin end:fin \
		>"$WORK/peer" || fail "markers=$1: $(tail -n 1 "$WORK/peer")"
	command_in dos2 "stop port=$PORT"
}

# Frames and FPDUs that mpa-peer does not check octet by octet
other_frames() {
	serve dos2
	talk connections=50 rounds=2 ulpdus=4 size=3000 vary=1
	ping dos1 rev=0 pdatahex="$(some_hex 50)" size=501 count=20 ||
		fail "rev 0"
	has "peer_pdata=$(some_hex 50)"
	command_in dos2 "stop port=$PORT"
	serve dos2 rev=2 pdatahex="$(some_hex 60)"
	ping dos1 rev=2 pdatahex="$(some_hex 70)" ird=3 ord=4 rtr=read \
		size=501 count=20 || fail "rev 2"
	has "peer_pdata=$(some_hex 60)"
	command_in dos2 "stop port=$PORT"
	serve dos2 reject=1 pdatahex="$(some_hex 80)"
	! ping dos1 pdatahex="$(some_hex 90)" || fail "it was not rejected"
	has "peer_pdata=$(some_hex 80)"
}

# No uninitialised memory goes onto the wire
wire() {
	local markers flags hex

	poison
	capture
	for markers in 0 1; do
		flags=$((64 + 128 * markers))
		respond $markers 33
		respond $markers 512
		initiate $flags 1 markers=$markers size=777 count=50
		initiate $flags 450 markers=$markers size=1 count=50
		initiate $flags 100 markers=$markers size=9001 count=20 \
			zerocopy=1
		initiate $flags 512 markers=$markers size=20000 count=20 \
			source=1
	done
	other_frames
	captured
	figure octets="$(stat -c %s "$WORK/wire.pcap")" \
		poisons="$(poisons | wc -w)"
	[[ $(found_poison "$WORK/wire.pcap") == 0 ]] ||
		fail "octets of old memory in wire.pcap"
	# They would have been found
	for hex in $(poisons); do
		echo "78$hex${hex:0:2}" | xxd -r -p >"$WORK/proof"
		[[ $(found_poison "$WORK/proof") == [12] ]] ||
			fail "the search is blind for $hex"
	done
}

# all_cases SUFFIX
all_cases() {
	run_case "half-open$1" half_open
	run_case "overflow$1" overflow
	run_case "timeout$1" timed_out
	run_case "slow-request$1" slow_request
	run_case "long-pdata$1" long_pdata
	run_case "tiny-segments$1" tiny_segments
	run_case "tiny-ulpdus$1" tiny_ulpdus
	run_case "partial-fpdu$1" partial_fpdu
	run_case "zero-window$1" zero_window
	run_case "concurrent$1" concurrent
	run_case "churn.fin$1" churn fin
	run_case "churn.rst$1" churn rst
	run_case "isolation.counters$1" counters
	run_case "isolation.sysctls$1" sysctls
	run_case "isolation.listeners$1" listeners
	run_case "isolation.private-data$1" private_data
	run_case "isolation.wire$1" wire
}

main() {
	local round=1

	modprobe -a mpa mpa_ping || exit 1
	initial 1000000 3600000
	pair dos1 dos2 || exit 1
	all_cases ""
	while ((SECONDS - begun < SECONDS_MAX)); do
		round=$((round + 1)) SEED=$((SEED + 1))
		all_cases ".$round"
	done
	drop_pairs
	initial 4096 10000
	echo "1..$((passed + failed))"
	((!failed))
}

main
