# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# What administrators see of connections: the command mpa, netlink, trace events, log.

# seen NS FILTER [WORD...]: what jq makes of "mpa -j WORD..." there
seen() {
	local json

	json=$(ns "$1" mpa -j "${@:3}") || fail "mpa -j ${*:3} in $1"
	jq -c "$2" <<<"$json" || fail "no JSON: $json"
}

# shows NS FILTER WORD...: true if jq's FILTER is true for it
shows() { [[ $(seen "$@") == true ]]; }

# until_shown NS FILTER WORD...
until_shown() {
	until_true 30 shows "$@" || { ns "$1" mpa; fail "not so in $1: $2"; }
}

# hold PORT: a connection of mpa_ping to the server of that port, which holds delivery
hold() {
	command_in a "ping addr=$B4 port=$1 timeout=$((110 * SLOW)) ${*:2}" &
	until_shown b "length == 1 and .[0].state == \"full\"" sport "$1"
}

# In both namespaces, while delivery is on hold: all that both ends agree on
show() {
	local a b end

	network pair 1500
	serve addr="$B4" mode=echo markers=1 hold=$((100000 * SLOW))
	hold $PORT size=1000 "$@"
	until_shown a '.[0].tx_ulpdus == 1'
	for end in a b; do
		same "$(seen $end length)" 1 "connections in $end"
		same "$(seen $end '.[0] | [.state, .revision, .peer_revision]')" \
			'["full",1,1]' "state and revisions in $end"
	done
	a=$(seen a '.[0] | [.local_addr, .local_port, .peer_addr, .peer_port]')
	b=$(seen b '.[0] | [.peer_addr, .peer_port, .local_addr, .local_port]')
	same "$a" "$b" "the addresses of both ends"
	like "$a" "[[]\"$A4\",*,\"$B4\",$PORT]" "the addresses"
	same "$(seen a '.[0] | [.role, .flags]')" \
		'["initiator",["crc","markers-tx"]]' "the Initiator"
	same "$(seen b '.[0] | [.role, .flags]')" \
		'["responder",["crc","markers-rx","hold"]]' "the Responder"
	same "$(seen a '.[0].emss')" 1448 "EMSS"
	# 6 for length and CRC, 12 for three markers
	same "$(seen a '.[0].mulpdu')" 1430 "MULPDU"
	same "$(seen a '.[0] | [.tx_ulpdus, .tx_octets]')" '[1,1016]' "sent"
	same "$(seen b '.[0] | [.rx_ulpdus, .rx_octets]')" '[0,0]' "delivered"
	same "$(seen b '.[0].end_reason')" null "the end"
	stop_serving
	until_shown b '. == []'
	until_shown a '. == []'
	same "$(ns b mpa | wc -l)" 1 "lines without connections"
}

# Numbers that mpa_ping has as well, after two ULPDUs of 48 octets
show_counters() {
	network pair 1500
	serve addr="$B4" mode=echo
	play "send:${REQ_KEY}40010000" read:20 "send:$FPDU$FPDU" read:96 \
		pause:$((60 * SLOW)) &
	until_shown b '.[0].tx_ulpdus == 2'
	same "$(seen b '.[0] | [.rx_ulpdus, .rx_octets, .tx_ulpdus, .tx_octets]')" \
		'[2,96,2,96]' "ULPDUs and octets"
	until_shown b '.[0] | [.ooo_ulpdus, .ooo_octets, .rx_pinned] == [0,0,0]'
}

# Both revisions with enhanced data, and the ends without frames
show_kinds() {
	network pair 1500
	serve addr="$B4" mode=echo rev=2 ird=5 ord=3 hold=$((100000 * SLOW))
	hold $PORT rev=2 ird=3 ord=5
	same "$(seen b '.[0] | [.revision, .ird, .ord]')" '[2,5,3]' "Rev 2"
	until_shown a '.[0].state == "full"'
	like "$(seen a '.[0].flags')" '*"enhanced"*' "flags"
	stop_serving
	wait $!
	serve addr="$B4" mode=echo start=immediate hold=$((100000 * SLOW))
	hold $PORT start=immediate
	same "$(seen b '.[0] | [.revision, .role, .flags]')" \
		'[null,null,["crc","markers-tx","markers-rx","hold"]]' "no frames"
}

# Startup, and a Request that is not answered
show_startup() {
	network pair 1500
	serve addr="$B4" mode=echo
	play "send:${REQ_KEY:0:10}" pause:$((60 * SLOW)) &
	until_shown b '.[0].state == "startup"'
	same "$(seen b '.[0] | [.role, .revision, .flags]')" \
		'["responder",null,["hold"]]' "half a Request"
}

# IPv6, with the interface where an address needs it
show_ipv6() {
	local address

	network pair 1500
	address=$(ns b ip -6 -o addr show dev vb scope link |
		awk '{ sub("/.*", "", $4); print $4 }')
	serve mode=echo hold=$((100000 * SLOW))
	B4=$B6 hold $PORT
	same "$(seen a '.[0] | [.local_addr, .peer_addr]')" '["fd00::1","fd00::2"]' \
		"addresses"
	like "$(ns a mpa | tail -n 1)" "*[[]fd00::1]:* [[]fd00::2]:$PORT *" "the table"
	stop_serving
	wait $!
	serve mode=echo hold=$((100000 * SLOW))
	B4=$address%va hold $PORT
	same "$(seen a '.[0].peer_addr')" "\"$address%va\"" "link-local"
}

# One address is a link-local one, the other is not
show_half_local() {
	local address

	network pair 1500
	spoil
	address=$(ns b ip -6 -o addr show dev vb scope link |
		awk '{ sub("/.*", "", $4); print $4 }')
	ip -n a -6 addr flush dev va scope link || fail "ip addr"
	ip -n a -6 route replace fe80::/64 dev va || fail "ip route"
	# Bound, as the kernel has no interface for the other end otherwise
	serve addr="$address%vb" mode=echo hold=$((100000 * SLOW))
	B4=$address%va hold $PORT
	same "$(seen a '.[0] | [.local_addr, .peer_addr]')" "[\"fd00::1\",\"$address%va\"]" \
		"its peer's"
	same "$(seen b '.[0] | [.local_addr, .peer_addr]')" "[\"$address%vb\",\"fd00::1\"]" \
		"its own"
}

# An interface may have a name with what JSON escapes.
show_name() {
	local name='q"\v' address

	network pair 1500
	spoil
	ip -n a link set va down
	ip -n a link set va name "$name" || fail "ip link"
	ip -n a link set "$name" up
	until_true 30 has_link_local a "$name" || fail "no link-local address"
	address=$(ns b ip -6 -o addr show dev vb scope link |
		awk '{ sub("/.*", "", $4); print $4 }')
	serve mode=echo hold=$((100000 * SLOW))
	B4=$address%$name hold $PORT
	same "$(seen a '.[0].peer_addr')" "\"$address%q\\\"\\\\v\"" "JSON"
	same "$(seen a '.[0].peer_addr' | jq -r .)" "$address%$name" "the name in JSON"
	like "$(ns a mpa | tail -n 1)" "*[[]*]:* [[]$address%q\"\\\\v]:$PORT *" "the table"
	ip -n a link set "$name" name $'q\xff' || fail "ip link"
	same "$(seen a '.[0].peer_addr')" \
		"\"$address%$(ns a ip -o link | sed -n 's/^\([0-9]*\): q.*/\1/p')\"" "a name not in UTF-8"
}

# has_link_local NS DEV: it can be used, too
has_link_local() {
	ip -n "$1" -6 -o addr show dev "$2" scope link -tentative | grep -q inet6
}

# The table has the values of JSON, and ss the same cookie
show_table() {
	local cookie row

	network pair 1500
	serve addr="$B4" mode=echo hold=$((100000 * SLOW))
	# Gives the listening socket a cookie, so that the connection's is not 1
	ns b ss -tnelH >/dev/null
	hold $PORT
	printf -v cookie %x "$(seen b '.[0].cookie')"
	row=$(ns b mpa | tail -n 1)
	like "$(tr -s ' ' <<<"$row")" "full responder 1 $B4:$PORT $A4:* crc,hold *- $cookie" \
		"the row"
	same "$(ns b mpa | head -n 1 | wc -w)" "$(wc -w <<<"$row")" "columns"
	ns b ss -tneH state established "sport = :$PORT" | grep -q "sk:$cookie " ||
		fail "ss -e has no sk:$cookie"
	same "$(ns b mpa show sk "$cookie" | tail -n 1)" "$row" "sk"
	ns b mpa sk "$(printf %x $((16#$cookie - 1)))" >/dev/null 2>&1
	same $? 1 "status for the cookie below"
	jq -e '.[0].cookie' >/dev/null <<<"$(ns b mpa -j -p)" || fail "-p"
	(($(ns b mpa -j -p | wc -l) > 10)) || fail "-p in one line"
}

# filtered COUNT WORD...: so many connections fit
filtered() {
	same "$(seen b length "${@:2}")" "$1" "${*:2}"
	same "$(ns b mpa "${@:2}" | wc -l)" $(($1 + 1)) "lines of ${*:2}"
}

filters() {
	local ports cookie word

	network pair 1500
	serve addr="$B4" mode=echo hold=$((100000 * SLOW))
	serve_in b port=$((PORT + 1)) addr="$B4" mode=echo hold=$((100000 * SLOW))
	hold $PORT
	hold $((PORT + 1))
	mapfile -t ports < <(seen b '.[].peer_port')
	filtered 2
	filtered 1 sport $PORT
	filtered 1 dport "${ports[0]}"
	filtered 0 sport 7
	filtered 0 dport $PORT
	filtered 0 sport $PORT dport "$(seen b '.[0].peer_port' sport $((PORT + 1)))"
	same "$(seen b '.[].local_port' sport $((PORT + 1)))" $((PORT + 1)) sport
	# With a cookie the kernel is asked for that connection, whatever its ports
	printf -v cookie %x "$(seen b '.[0].cookie' sport $PORT)"
	filtered 1 sk "$cookie" sport $PORT
	for word in "sport $((PORT + 1))" "dport $PORT"; do
		# shellcheck disable=SC2086
		! ns b mpa -j sk "$cookie" $word >"$STATE/shown" 2>"$STATE/error" ||
			fail "sk and $word: status 0"
		same "$(<"$STATE/shown")" '[]' "sk and $word"
		grep -q 'no such connection' "$STATE/error" || fail "$(<"$STATE/error")"
	done
}

# Each namespace has its own connections alone, whatever is asked for
isolation() {
	local cookie

	network pair 1500
	new_space r
	spoil
	serve addr="$B4" mode=echo hold=$((100000 * SLOW))
	hold $PORT
	cookie=$(printf %x "$(seen b '.[0].cookie')")
	ns b mpa sk "$cookie" >/dev/null || fail "sk there"
	same "$(seen a '.[].role')" '"initiator"' "connections of a"
	same "$(seen r .)" '[]' "connections of r"
	same "$(mpa -j)" '[]' "connections of the initial namespace"
	! ns r mpa sk "$cookie" 2>"$STATE/error" >/dev/null || fail "r sees it"
	grep -q 'no such connection' "$STATE/error" || fail "$(<"$STATE/error")"
	! ns a mpa sk "$cookie" 2>/dev/null >/dev/null || fail "a sees it"
}

# CAP_NET_ADMIN in the namespace is needed, for all of it
denied() {
	local word

	network pair 1500
	for word in show monitor 'sk 1'; do
		# shellcheck disable=SC2086
		! timeout 20 nsenter --net=/run/netns/b -S 65534 -G 65534 -- \
			mpa $word >/dev/null 2>"$STATE/error" || fail "$word"
		grep -q 'CAP_NET_ADMIN is needed' "$STATE/error" ||
			fail "$word: $(<"$STATE/error")"
	done
}

# Events

# listen_in NS: events from there, in $STATE/events.NS; $! is the command itself
listen_in() {
	# Or the line of the command before may be taken for this one's
	rm -f "$STATE/events.err"
	command ns "$1" mpa -j monitor >"$STATE/events.$1" 2>"$STATE/events.err" &
	until_true 30 grep -qs '^mpa: listening' "$STATE/events.err" ||
		fail "monitor: $(<"$STATE/events.err")"
}

# events NS: those so far, as EVENT REASON CODE ERRNO
events() {
	jq -r '[.event, .end_reason, .end_code, .end_errno] | map(tostring) | join(" ")' \
		<"$STATE/events.$1" || fail "no JSON: $(<"$STATE/events.$1")"
}

# until_events NS LINE...: these, and no others, come
until_events() {
	local want

	want=$(printf '%s\n' "${@:2}")
	until_true 20 has_events "$1" "$want" ||
		same "$(events "$1")" "$want" "events in $1"
}

has_events() { [[ $(events "$1") == "$2" ]]; }

monitor() {
	network pair 1500
	new_space r
	spoil
	serve addr="$B4" mode=echo
	listen_in r
	listen_in b
	listen_in a
	ping_ok "$B4" size=1000 count=5
	until_events a "established null null null" "ended fin 1 0"
	until_events b "established null null null" "ended fin 1 0"
	same "$(events r)" "" "events in r"
	same "$(jq -s 'map(.cookie) | unique | length' "$STATE/events.b")" 1 cookies
	same "$(jq -c 'select(.event == "ended") | [.rx_ulpdus, .tx_ulpdus, .peer_port]' \
		"$STATE/events.b")" "[5,5,$(jq -s '.[0].local_port' "$STATE/events.a")]" \
		"the last event"
}

# ended_by LINE STEP...: the events at a server to which a client does this
ended_by() {
	network pair 1500
	spoil
	serve addr="$B4" mode=echo
	listen_in b
	play "send:${REQ_KEY}40010000" read:20 "${@:2}" >/dev/null
	until_events b "established null null null" "$1"
}

# A startup that fails has no other event than its end; so has a rejected one.
monitor_startup() {
	network pair 1500
	spoil
	serve addr="$B4" mode=echo
	listen_in b
	play "send:$(zeroes 20)" pause:1 >/dev/null
	until_events b "ended key 4 71"
	stop_serving
	serve addr="$B4" reject=1
	! ping_to "$B4" || fail "not rejected"
	until_events b "ended key 4 71" "ended none null null"
}

# The filters apply to events, which are lines of text without -j.
monitor_text() {
	local line

	network pair 1500
	spoil
	serve addr="$B4" mode=echo
	rm -f "$STATE/events.err" "$STATE/none.err"
	ns b mpa monitor sport $PORT >"$STATE/text" 2>"$STATE/events.err" &
	ns b mpa monitor sport 7 >"$STATE/none" 2>"$STATE/none.err" &
	until_true 30 grep -qs '^mpa: listening' "$STATE/events.err" || fail "monitor"
	until_true 30 grep -qs '^mpa: listening' "$STATE/none.err" || fail "monitor"
	ping_ok "$B4" size=100
	until_true 20 grep -q '^ended' "$STATE/text" || fail "no end"
	line=$(head -n 1 "$STATE/text")
	like "$line" "established sk * local $B4:$PORT peer $A4:* role responder rev 1 \
flags crc*" "the first line"
	like "$(tail -n 1 "$STATE/text")" "ended sk * reason fin code 1 errno 0 \
tx-octets 108 rx-octets 108" "the last line"
	# An end that has no code
	stop_serving
	serve addr="$B4" reject=1
	! ping_to "$B4" || fail "not rejected"
	until_true 20 grep -q '^ended .* reason none' "$STATE/text" || fail "no second end"
	like "$(tail -n 1 "$STATE/text")" "ended sk * reason none tx-octets *" "no code"
	same "$(<"$STATE/none")" "" "events that do not fit"
}

# overrun: leaves a listener in b that has learned of a loss, with $PID and at $FIFO its
# output. Its queue is not empty: it holds more than the FIFO takes.
overrun() {
	local line

	network pair 1500
	spoil
	# shellcheck disable=SC2064
	trap "sysctl -qw net.core.rmem_default=$(sysctl -n net.core.rmem_default)" EXIT
	sysctl -qw net.core.rmem_default=16384 || fail "rmem_default"
	rm -f "$STATE/fifo"
	mkfifo "$STATE/fifo" || fail mkfifo
	exec {FIFO}<>"$STATE/fifo"
	command ns b mpa -j monitor >&"$FIFO" 2>&1 &
	PID=$!
	read -rt $((30 * SLOW)) -u "$FIFO" line
	same "$line" "mpa: listening" "the first line"
	kill -STOP $PID
	serve addr="$B4" mode=echo
	ns a mpa-peer -t $((20 * SLOW)) -f 1..600 connect "$B4" $PORT request \
		expect-reply fin end >"$STATE/peers" || fail "$(tail -n 3 "$STATE/peers")"
	kill -CONT $PID
	read -rt $((30 * SLOW)) -u "$FIFO" line
	like "$line" '{*"established"*' "what comes before the loss"
}

# drained PATTERN: the listener's output has a line like that, after at least 200 events
drained() {
	local line events=1

	while read -rt $((30 * SLOW)) -u "$FIFO" line; do
		# shellcheck disable=SC2053
		[[ $line != $1 ]] || break
		events=$((events + 1))
	done
	like "$line" "$1" "the line after $events events"
	((events >= 200)) || fail "after $events events: $line"
}

# A listener that reads nothing loses events, which it learns, and delays no connection
monitor_stopped() {
	local line

	overrun
	drained "mpa: events were lost up to here"
	ping_ok "$B4" size=100
	read -rt $((30 * SLOW)) -u "$FIFO" line
	like "$line" '{*"established"*' "an event after the loss"
	kill $PID
}

# The notice that the module goes is lost, too
monitor_stopped_unload() {
	local line rc=0

	overrun
	stop_serving
	reload
	drained "mpa: events were lost up to here"
	read -rt $((30 * SLOW)) -u "$FIFO" line
	same "$line" "mpa: the module mpa was unloaded" "the last line"
	wait $PID || rc=$?
	same $rc 1 "status of monitor"
}

# A socket that was opened without CAP_NET_ADMIN gets no event, even if an administrator
# has it join
opener() {
	local uid

	command -v mpa-ynl >/dev/null || { echo "mpa-ynl is not here"; exit 77; }
	network pair 1500
	spoil
	serve addr="$B4" mode=echo
	for uid in 0 65534; do
		ns b mpa-ynl opener $uid >"$STATE/opened.$uid" &
		until_true 30 grep -qs '^listening' "$STATE/opened.$uid" || fail "opener $uid"
	done
	ping_ok "$B4" size=100
	until_true 20 has_both_events || fail "root gets $(<"$STATE/opened.0")"
	same "$(<"$STATE/opened.65534")" listening "what the other one gets"
}

has_both_events() { [[ $(<"$STATE/opened.0") == $'listening\nevent\nevent' ]]; }

# By code that is generated from the specification
ynl() {
	local cookie line

	command -v mpa-ynl >/dev/null || { echo "mpa-ynl is not here"; exit 77; }
	network pair 1500
	serve addr="$B4" mode=echo markers=1
	play "send:${REQ_KEY}40010000" read:20 pause:$((60 * SLOW)) &
	until_shown b '.[0].state == "full"'
	line=$(ns b mpa-ynl) || fail "mpa-ynl"
	cookie=$(seen b '.[0].cookie')
	like "$line" "cookie=$cookie local_port=$PORT peer_port=$(seen b \
		'.[0].peer_port') state=full flags=0x* rx_ulpdus=0 rx_octets=0 \
role=responder" "the dump"
	same "$(ns b mpa-ynl "$cookie")" "$line" "one connection"
	! ns b mpa-ynl $((cookie + 1)) 2>/dev/null || fail "a higher cookie"
}

# A connection is the same one in trace events, and the log has both ends. A frame is
# there once, also one that is refused by its header.
traced() {
	local tracing=/sys/kernel/tracing cookie lines event

	network pair 1500
	spoil
	serve addr="$B4" mode=echo
	[[ -e $tracing/events ]] || mount -t tracefs tracefs $tracing
	echo >$tracing/trace
	echo 1 >$tracing/events/mpa/enable
	listen_in b
	play "send:${REQ_KEY}40010000" read:20 "send:$FPDU" "data:$FPDU" \
		"send:${FPDU:0:88}deadbeef" pause:1 >/dev/null
	until_events b "established null null null" "ended crc 2 74"
	play "send:${REQ_KEY}40030000" pause:1 >/dev/null
	until_events b "established null null null" "ended crc 2 74" "ended revision 4 71"
	echo 0 >$tracing/events/mpa/enable
	same "$(grep -c 'mpa_frame: .* rx flags=0x40 rev=1 pd_len=0' $tracing/trace)" 1 \
		"trace of the Request"
	same "$(grep -c 'mpa_frame: .* rx flags=0x40 rev=3 pd_len=0' $tracing/trace)" 1 \
		"trace of the refused one"
	cookie=$(printf %x "$(jq -s '.[0].cookie' "$STATE/events.b")")
	lines=$(grep "conn=$cookie " $tracing/trace)
	for event in "state: .* state=startup" "state: .* state=full" \
		"frame: .* rx flags=0x40 rev=1 pd_len=0" \
		"frame: .* tx flags=0x40 rev=1 pd_len=0" \
		"terms: .* rev=1 crc=1 markers_tx=0 markers_rx=0" \
		"recv: .* ulpdus=1 delivered=48" "sent: .* pos=0 octets=48"; do
		grep -q "mpa_$event" <<<"$lines" || fail "no $event in: $lines"
	done
	like "$lines" "*mpa_terms: conn=$cookie local=$B4:$PORT peer=$A4:* rev=1 *" terms
	like "$lines" "*mpa_ended: conn=$cookie local=$B4:$PORT peer=$A4:* error=2 *" ended
	dmesg | tail -n 20 | grep -q "mpa: peer $A4:[0-9]*, local $B4:$PORT: error 2 (crc)" ||
		fail "the log: $(dmesg | tail -n 5)"
}

# The netlink family goes with the module, also while a process listens, which ends then
unloaded() {
	local pid rc=0

	links_down
	network pair 1500
	spoil
	listen_in b
	pid=$!
	reload
	until_true 20 not_running $pid || fail "monitor goes on after the reload"
	wait $pid || rc=$?
	same $rc 1 "status of monitor"
	same "$(tail -n 1 "$STATE/events.err")" "mpa: the module mpa was unloaded" \
		"what monitor says"
	! ns b mpa sk 1 2>/dev/null || fail "a connection of another life"
	same "$(ns b mpa -j)" '[]' "after the reload"
	unload mpa_ping
	unload mpa
	! ns b mpa 2>"$STATE/error" || fail "no module"
	grep -q 'module mpa is not loaded' "$STATE/error" || fail "$(<"$STATE/error")"
	modprobe -a mpa mpa_ping
}

# No file descriptor to ask for the family again is no unload.
no_descriptor() {
	network pair 1500
	! ns b bash -c 'ulimit -n 4; exec timeout 20 mpa monitor' 2>"$STATE/error" ||
		fail "status 0"
	grep -q 'Too many open files' "$STATE/error" || fail "$(<"$STATE/error")"
	! grep -q unloaded "$STATE/error" || fail "$(<"$STATE/error")"
}

not_running() { ! kill -0 "$1" 2>/dev/null; }

test_case netlink.show "addresses, state, terms and counters of both ends" show
test_case netlink.counters "ULPDUs and octets" show_counters
test_case netlink.kinds "Rev 2, and without frames" show_kinds
test_case netlink.startup "a Request that is not complete" show_startup
test_case netlink.ipv6 "IPv6, and link-local" show_ipv6
test_case netlink.ipv6.half "one address is link-local" show_half_local
test_case netlink.name "the name of an interface in JSON" show_name
test_case netlink.table "the table, ss and -p" show_table
test_case netlink.filter "by ports, also with a cookie" filters
test_case netlink.isolation "other namespaces" isolation
test_case netlink.denied "without CAP_NET_ADMIN" denied
test_case netlink.monitor "established and ended" monitor
test_case netlink.monitor.reset "the reason of an end" ended_by "ended reset 1 104" \
	"send:$FPDU" rst
test_case netlink.monitor.truncated "the reason of an end" ended_by \
	"ended truncated 1 71" "send:${FPDU:0:40}" fin pause:1
test_case netlink.monitor.startup "ends before full operation" monitor_startup
test_case netlink.monitor.text "lines, and filters" monitor_text
test_case netlink.monitor.stopped "a listener that reads nothing" monitor_stopped
test_case netlink.monitor.stopped.unload "the module goes in a loss" monitor_stopped_unload
test_case netlink.monitor.opener "a socket opened without CAP_NET_ADMIN" opener
test_case netlink.ynl "code generated from the specification" ynl
test_case netlink.monitor.descriptors "no file descriptor is left" no_descriptor
test_case netlink.trace "trace events and the log" traced
test_case netlink.unload "the module goes" unloaded
