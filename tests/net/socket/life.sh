# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Ends of all kinds, races with them, counters, and commands with mistakes.

half_close() {
	network pair 1500
	serve mode=echo
	capture_start b vb close
	ping_ok "$B4" size=1000 count=5 verify=1
	served
	expect status=0 reason=ok ulpdus_tx=5
	capture_stop close
	orderly_close close
}

# The network drops all packets during startup; the ping's timeout ends it
black_hole() {
	local begun=$SECONDS

	network pair 1500
	spoil
	serve mode=echo
	ns b tc qdisc replace dev vb root netem loss 100%
	ping_to "$B4" timeout=2 && fail "it works without a link"
	expect reason=timeout
	((SECONDS - begun < 25 * SLOW)) || fail "that took $((SECONDS - begun)) s"
}

# traffic NUMBER: of pings, all of them under way
traffic() {
	local count before

	before=$(counter a MpaEstablished)
	for ((count = 0; count < $1; count++)); do
		command_in a "ping addr=$B4 port=$PORT size=5000 count=2000 \
batch=16 timeout=$((20 * SLOW))" 2>/dev/null &
	done
	until_grown a MpaEstablished "$before" "$1"
}

stop_under_traffic() {
	network pair 1500
	spoil
	serve mode=echo markers=1
	traffic 4
	command_in b "stop port=$PORT" || fail "stop"
	rm "$STATE/serving"
	wait
	ping_to "$B4" && fail "the server still answers"
	return 0
}

# Clients made by hand keep sending while the modules go
unload_under_traffic() {
	local round number

	for round in 1 2 3; do
		links_down
		network pair 1500
		spoil
		serve mode=echo markers=0
		for number in 1 2 3; do
			play "send:${REQ_KEY}40010000" read:20 \
				"send:$(for ((n = 0; n < 40; n++)); do
					echo -n "$FPDU"
				done)" pause:0.$((number * round)) \
				"send:$FPDU" pause:0.5 >/dev/null &
		done
		until_grown b MpaRxUlpdus 0 1
		sleep 0.$((round * 2))
		rm "$STATE/serving"
		reload
		wait
	done
}

# A startup that hangs does not keep the module
unload_in_startup() {
	links_down
	network pair 1500
	spoil
	serve mode=echo
	play "send:${REQ_KEY:0:10}" pause:$((5 * SLOW)) &
	until_grown b MpaAttached 0 1
	rm "$STATE/serving"
	reload
}

# The namespaces go while data flows; then the modules still can
namespaces_gone() {
	network pair 1500
	spoil
	serve mode=echo
	traffic 3
	ip netns del b
	ip netns del a
	rm -f "$STATE/serving"
	wait
	reload
}

counters() {
	network pair 1500
	spoil
	links_down
	network pair 1500
	serve markers=1 mode=echo
	ping_ok "$B4" size=1000 count=10
	ping_ok "$B4" size=1000 count=10 rev=0
	served
	same "$(counter a MpaEstablished)" 2 MpaEstablished
	same "$(counter a MpaTxUlpdus)" 20 MpaTxUlpdus
	same "$(counter a MpaRxUlpdus)" 20 MpaRxUlpdus
	same "$(counter a MpaTxOctets)" "$(counter b MpaRxOctets)" octets
	same "$(counter b MpaRev0)" 1 MpaRev0
	same "$(counter a MpaErrCrc)" 0 MpaErrCrc
	same "$(counter a MpaAttached)" "$(counter a MpaReleased)" released
	# A namespace has its own
	same "$(awk '$1 == "MpaAttached" { print $2 }' /proc/net/mpa_stat)" \
		"${HERE-0}" "MpaAttached of the first namespace"
}

invalid_commands() {
	refused_commands <<-LINES
		png addr=$B4 port=1
		ping addr=$B4
		ping port=$PORT
		ping addr=$B4 port=$PORT colour=red
		ping addr=$B4 port=0
		ping addr=$B4 port=65536
		ping addr=$B4 port=$PORT markers=2
		ping addr=$B4 port=$PORT rev=7
		ping addr=$B4 port=$PORT mode=both
		ping addr=10.0.0.300 port=$PORT
		ping addr=fe80::1%none port=$PORT
		ping addr=$B4 port=$PORT count=x
		ping addr=$B4 port=$PORT size=-1
		ping addr=$B4 port=$PORT pdatahex=abc
		ping addr=$B4 port=$PORT pdatahex=zz
		ping addr=$B4 port=$PORT start=immediate rev=1
		ping addr=$B4 port=$PORT start=immediate pdata=x
		ping addr=$B4 port=$PORT start=immediate markers=0
		serve port=$PORT start=immediate reject=1
		serve port=$PORT reject=2
		serve port=$PORT mode=sink lazy=2
		serve port=$PORT lazy=1
		serve port=$PORT mode=sink size=1000
		serve port=$PORT source=1
		serve mode=echo
		stop port=
	LINES
}

# A connection's trace, in words
trace_events() {
	local dir=/sys/kernel/tracing word

	network pair 1500
	echo >$dir/trace
	echo 1 >$dir/events/mpa/enable
	serve mode=echo
	ping_ok "$B4" count=3
	served
	echo 0 >$dir/events/mpa/enable
	cp $dir/trace "$STATE/trace"
	for word in 'mpa_frame: .* tx flags=0x40 rev=1 pd_len=0' \
		'mpa_frame: .* rx flags=0x40 rev=1 pd_len=0' \
		'mpa_state: .* state=startup' 'mpa_state: .* state=full' \
		'mpa_terms: .* rev=1 crc=1 markers_tx=0 markers_rx=0' \
		'mpa_sent: .* pos=0 octets=' 'mpa_recv: .* ulpdus=' \
		'mpa_ended: .* error=1 reason=fin err=0'; do
		grep -q "$word" "$STATE/trace" ||
			fail "no '$word' in the trace: $(cat "$STATE/trace")"
	done
}

# A valid command, and the names in its result
result_names() {
	local name

	network pair 1500
	serve mode=echo
	ping_ok "$B4" count=50 depth=1
	for name in status reason revision markers_tx markers_rx emss mulpdu \
		ulpdus_tx ulpdus_rx bytes_tx bytes_rx mismatches mpa_error \
		peer_pdata rtt_min_ns rtt_avg_ns rtt_max_ns elapsed_ns \
		bytes_ooo; do
		[[ -v R[$name] ]] ||
			{ show_result; fail "the result lacks $name"; }
	done
	((${R[rtt_max_ns]} > 0 && ${R[rtt_min_ns]} <= ${R[rtt_avg_ns]} &&
		${R[rtt_avg_ns]} <= ${R[rtt_max_ns]})) ||
		{ show_result; fail "odd times"; }
	command_in b "serve port=$PORT mode=echo" 2>/dev/null &&
		fail "the port is served twice"
	return 0
}

# Root alone may open the files. One that is open acts where it was opened, and keeps
# the module.
device_files() {
	local file left

	network pair 1500
	serve mode=echo
	ping_ok "$B4" count=3
	# busybox wants a name for the user
	grep -q ^user: /etc/passwd || echo "user:x:1000:1000::/:/bin/sh" >>/etc/passwd
	for file in $PING/*; do
		same "$(stat -c '%a %u' "$file")" "600 0" "mode of $file"
		chmod 666 "$file"
		start-stop-daemon -S -c 1000:1000 -x /bin/dd -- "if=$file" count=0 \
			2>"$STATE/error" && fail "$file opens without a capability"
		grep -q 'not permitted' "$STATE/error" || fail "$(<"$STATE/error")"
		chmod 600 "$file"
	done
	like "$(ns a sh -c "nsenter --net=/run/netns/b cat <$PING/result")" \
		"*ulpdus_tx=3*" "result of a, read in b"
	ns b sh -c "echo 'stop port=$PORT' |
		nsenter --net=/run/netns/a cat >$PING/cmd" || fail "stop"
	ping_to "$B4" && fail "the server still answers"
	exec {left}<$PING/result
	rmmod mpa_ping && fail "unloaded with a file open"
	exec {left}<&-
	rm "$STATE/serving"
	reload
}

test_case close.half "TD-01 TD-02 OO-06 ER-02 ER-13" half_close
test_case close.blackhole "ER-02 CS-33" black_hole
test_case race.stop "ER-02 TX-01" stop_under_traffic
test_case race.unload "TX-01" unload_under_traffic
test_case race.unload-startup "" unload_in_startup
test_case race.namespaces "" namespaces_gone
test_case counters "ER-01 FR-01" counters
test_case trace "ER-01" trace_events
test_case commands.invalid "DD-09" invalid_commands
test_case commands.results "DD-05 DD-09" result_names
test_case commands.files "" device_files
