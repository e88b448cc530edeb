# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Connections in full operation: small pieces, peers that do not read, and many at
# once; see dos.sh

# Runs of the work item that the tracer has recorded
work_runs() {
	awk '/^(entries|overrun):/ { n += $2 } END { print n + 0 }' \
		/sys/kernel/tracing/per_cpu/cpu*/stats
}

# measured_talk OPTION...: OCTETS received in full operation, BATCHES passed, and
# RUNS of work items begun
measured_talk() {
	local event=/sys/kernel/tracing/events/workqueue/workqueue_execute_start

	start_server b
	echo 'function.function == mpa_loop_work' >$event/filter ||
		fail "no filter for work items"
	echo 1 >$event/enable
	RUNS=$(work_runs)
	talk "$@"
	RUNS=$(($(work_runs) - RUNS))
	echo 0 >$event/enable
	OCTETS=$(counter b MpaRxOctets)
	BATCHES=$(counter b MpaRxBatches)
	figure octets="$OCTETS" ulpdus="$(counter b MpaRxUlpdus)" \
		batches="$BATCHES" runs=$RUNS
}

tiny_segments() {
	local nr

	nr=$(few 20)
	measured_talk connections="$nr" rounds=$((LONG ? 40 : 6)) ulpdus=10 \
		size=58 piece=1
	# FPDUs of 64 octets: an octet that completes none wakes no work item, each
	# octet of a Request does
	((RUNS > 0 && RUNS < OCTETS / 10 + nr * 532)) ||
		fail "$RUNS work items for $OCTETS octets"
}

tiny_ulpdus() {
	measured_talk connections="$(few 20)" rounds="$(pick 4 40)" ulpdus=1000 size=1
	# 8 octets each; those that came together are passed together
	((RUNS > 0 && RUNS < OCTETS / 8 / 8)) || fail "$RUNS work items for $OCTETS octets"
	((BATCHES < OCTETS / 8 / 20)) || fail "$BATCHES batches for $OCTETS octets"
}

# flood NR SECONDS OPTION...: peers that send and never read, until nothing more was
# taken for so long; FLOODED is the kernel's memory for each, in octets
flood() {
	local before

	start_server b
	before=$(kernel_kb_at_least)
	bad flood connections="$1" "${@:3}"
	until_true 120 bad_is stuck "$1" || fail "stuck: $(bad_is stuck)"
	until_true 120 quiet_for "$2" || fail "it goes on: $(tail -n 1 "$WORK/bad")"
	FLOODED=$((($(kernel_kb_at_least) - before) * 1024 / $1))
}

quiet_for() { (($(bad_is still) >= $1)); }

# An FPDU that never completes; its first octets came one to a segment
partial_fpdu() {
	local nr

	nr=$(few 200)
	flood "$nr" 2 size=60000 stop=300 piece=1
	bad_stop
	figure unfinished="$nr" octets_each=$FLOODED
	# A buffer for the FPDU, and 300 skbs of TCP's
	bounded $FLOODED $((192 * 1024))
}

# No more is taken for a while. TCP's probes may find room after seconds.
taken_alike() {
	local octets

	octets=$(bad_is octets)
	bad_again
	bad_is octets "$octets"
}

# A peer that never reads: the module queues what TCP's buffers hold, and no more
zero_window() {
	local nr=40 space octets buffers=$((256 * 1024))

	for space in a b; do
		set_sysctl $space net.ipv4.tcp_rmem="4096 65536 $buffers"
		set_sysctl $space net.ipv4.tcp_wmem="4096 65536 $buffers"
	done
	flood $nr 3 size=1400
	until_true 120 taken_alike || fail "more is taken"
	octets=$(bad_is octets)
	talk connections=20 rounds=4 ulpdus=4 size=1000
	bad_stop
	figure flooding=$nr octets_each=$FLOODED taken_each=$((octets / nr))
	# Two buffers of the client and one of ours with echoes. They are never all
	# full, which leaves room for the consumer's own copies.
	bounded $FLOODED $((3 * buffers))
}

# All connect before the first sends an FPDU
concurrent() {
	local nr before each

	nr=$(pick 1500 4096)
	start_server b
	before=$(kernel_kb_at_least)
	rm -f "$WORK/close"
	: >"$WORK/talk"
	many talk seed="$SEED" connections="$nr" rounds=3 ulpdus=2 \
		size=400 vary=1 wait="$WORK/close" >"$WORK/talk" &
	until_true 120 grep -qE '^(waiting|WRONG)' "$WORK/talk" ||
		fail "the connections make no progress"
	each=$((($(kernel_kb_at_least) - before) * 1024 / nr))
	: >"$WORK/close"
	wait $! || fail "$(tail -n 1 "$WORK/talk")"
	tail -n 1 "$WORK/talk"
	all_released
	same "$(counter b MpaEstablished)" "$nr" MpaEstablished
	same "$(counter b MpaRxUlpdus)" $((nr * 6)) MpaRxUlpdus
	figure connections="$nr" octets_each=$each
	bounded $each 20480
}

# cookies FILE: put those of the server's connections there, as a dump has them
cookies() {
	ns b mpa -j | jq '.[].cookie' >"$1" || fail "no dump"
	sort -nuc "$1" || fail "a dump is not in order, or has one twice"
}

# cost WORD...: what "mpa WORD..." takes: seconds, and KB of memory
cost() {
	{ command time -f '%e:%M' nsenter --net=/run/netns/b -- mpa "$@" >/dev/null; } 2>&1
}

# Dumps while connections come and go: each that stays is in every dump, once
dumps() {
	local nr round begun came table json none

	nr=$(pick 1500 10000)
	start_server b
	rm -f "$WORK/close"
	: >"$WORK/talk"
	many talk seed="$SEED" connections="$nr" rounds=1 size=100 \
		wait="$WORK/close" >"$WORK/talk" &
	until_true 120 grep -qE '^(waiting|WRONG)' "$WORK/talk" ||
		fail "the connections make no progress"
	cookies "$WORK/held"
	same "$(wc -l <"$WORK/held")" "$nr" "connections"
	table=$(cost) || fail "mpa: $table"
	json=$(cost -j) || fail "mpa -j: $json"
	none=$(cost sport 1) || fail "mpa sport 1: $none"
	figure table="$table" json="$json" none_fits="$none"
	while [[ ! -e $WORK/close ]]; do
		many talk connections=100 rounds=1 size=10 end=rst >/dev/null
	done &
	until_true 120 counted MpaEstablished $((nr + 100)) || fail "none comes and goes"
	begun=${EPOCHREALTIME/.}
	came=$(counter b MpaEstablished)
	for ((round = 0; round < 8; round++)); do
		cookies "$WORK/now.$round"
		same "$(grep -vxFf "$WORK/now.$round" "$WORK/held")" "" "missing in a dump"
	done
	begun=$(((${EPOCHREALTIME/.} - begun) / 8000))
	came=$(($(counter b MpaEstablished) - came))
	: >"$WORK/close"
	wait
	figure held="$nr" came_meanwhile=$came ms_each=$begun
	((came)) || fail "none came and went during the dumps"
	all_released
	same "$(ns b mpa -j)" "[]" "connections left"
}
