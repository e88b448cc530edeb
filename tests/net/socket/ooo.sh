# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# ULPDUs passed out of order after a hole of the TCP stream; Delivery stays in order.
# The router makes the holes. make net has more kinds of them, also on devices.

TRACE=/sys/kernel/tracing

# Making a network takes time: the one of these cases is put right instead
network_mended() { network_routed "$1"; }
names_mended() { names_routed; }

mended() {
	local space

	network mended 1500
	for space in a b; do
		ip -n $space tcp_metrics flush all
		set_sysctl $space net.ipv4.tcp_rmem="4096 131072 6291456"
		set_sysctl $space net.ipv4.tcp_comp_sack_delay_ns=1000000
	done
	ns r tc qdisc del dev ra root 2>/dev/null
	ns r tc qdisc del dev rb root 2>/dev/null
	drop_no_more
	ns b ethtool -K vb gro off >/dev/null
}

# rough NETEM...: on the way from a to b; WAY=both: and back
rough() {
	ns r tc qdisc replace dev rb root netem "$@" limit 20000 &&
		[[ ${WAY-} != both ]] ||
		ns r tc qdisc replace dev ra root netem "$@" limit 20000 ||
		fail "netem $*"
}

# drop MATCH...: the router drops those packets that come from a (IPv4)
drop() {
	drop_no_more
	ns r tc qdisc add dev ra clsact &&
		ns r tc filter add dev ra ingress protocol ip prio 1 \
			u32 "$@" action drop || fail "drop $*"
}

drop_no_more() { ns r tc qdisc del dev ra clsact 2>/dev/null; }

# Packets of N octets, as often as they come
drop_of_length() { drop match u16 "$1" ffff at 2; }

# loses PERCENT DELAY: each 128th or 16th packet of 1024 octets or more: the IPv4 ID
# counts them, and sent again it has another. (A mask is in hexadecimal always.)
loses() {
	local mask=7f

	[[ $1 == 1% ]] || mask=f
	rough delay "$2"
	drop match u16 0x0400 fc00 at 2 match u16 0 $mask at 4
}

new_payload() {
	head -c "$1" /dev/urandom >"$STATE/payload"
	ns a cp "$STATE/payload" "$PING/payload"
}

# captured_is FILE
captured_is() {
	ns b cat "$PING"/captured | cmp - "$1" || fail "other octets than were sent"
}

# Each of those that were passed out of order, if any were, was delivered
all_delivered() {
	same "${R[ooo_suppressed]}" "${R[ulpdus_ooo]}" \
		"delivered of those passed out of order"
}

# Some were passed out of order
some_ooo() {
	((R[ulpdus_ooo] > 0 && R[bytes_ooo] >= R[ulpdus_ooo])) ||
		{ show_result; fail "nothing was passed out of order"; }
	all_delivered
}

none_ooo() { expect ulpdus_ooo=0 bytes_ooo=0 ooo_suppressed=0; }

# sink ADDRESS OCTETS PING-OPTION...: the receiver captures OCTETS sent, in order
sink() {
	local address=$1 octets=$2

	shift 2
	new_payload "$octets"
	serve mode=sink capture=1 "${SERVE:-ooo=1}"
	ping_ok "$address" mode=sink payload=1 timeout=$((30 * SLOW)) "$@"
	served
	expect status=0 reason=ok "bytes_rx=$octets"
	captured_is "$STATE/payload"
	stop_serving
}

# until_ooo COMMAND...: do that until some are passed out of order; a busy
# machine may not have looked before a hole closes
until_ooo() {
	local try

	for ((try = 0; try < 10; try++)); do
		"$@"
		((R[ulpdus_ooo] == 0)) || break
	done
	some_ooo
}

sink_ooo() { until_ooo sink "$@"; }

# both_ways: octets and order of the echoes are those sent. True if each end got some
# ULPDUs out of order.
both_ways() {
	local count=400 came

	serve mode=echo ooo=1
	ping_ok "$B4" ooo=1 size=1400 count=$count verify=1 batch=60 depth=120 \
		timeout=$((30 * SLOW))
	expect "ulpdus_tx=$count" "ulpdus_rx=$count" "bytes_rx=${R[bytes_tx]}"
	all_delivered
	came=${R[ulpdus_ooo]}
	served
	expect status=0 "ulpdus_rx=$count" "ulpdus_tx=$count"
	all_delivered
	stop_serving
	((came && R[ulpdus_ooo]))
}

echoes() {
	local try=0

	mended
	WAY=both rough delay 20ms reorder 80% 50% gap 4 loss 1%
	until both_ways; do
		((++try < 10)) || fail "nothing was passed out of order"
	done
}

one_way() {
	mended
	loses 1% 10ms
	sink_ooo "$B4" 600000
}

# Nothing is lost, but each fifth packet overtakes those of 20 ms
overtaken() {
	mended
	rough delay 20ms reorder 100% gap 5
	sink_ooo "$B4" 300000
	sink_ooo "$B6" 300000
}

# Nothing arrives out of order, so nothing is passed so
in_order() {
	mended
	sink "$B4" 300000
	none_ooo
	sink "$B6" 300000
	none_ooo
}

# FPDUs of many segments, of a part of one, and some in between
sizes() {
	local pair

	mended
	loses 5% 10ms
	for pair in 30:50000 500:150000 9000:300000 64768:900000; do
		DOING="size ${pair%:*}"
		sink_ooo "$B4" "${pair#*:}" "size=${pair%:*}"
	done
}

# GRO merges segments: an skb after the hole has several
coalesced() {
	mended
	ns b ethtool -K vb gro on >/dev/null || fail "no GRO"
	loses 1% 10ms
	sink_ooo "$B4" 800000
}

# Plain TCP at the same time as a connection that passes ULPDUs out of order, with the
# same loss: its octets are read in order.
with_plain_tcp() {
	local sum had ping server

	mended
	loses 5% 20ms
	head -c 400000 /dev/urandom >"$STATE/file"
	sum=$(sha256sum <"$STATE/file")
	serve mode=echo ooo=1
	had=$(counter b MpaOooUlpdus)
	ns b nc -l -p 7777 -e sh -c "sha256sum >$STATE/sum" &
	server=$!
	until ns b netstat -ltn | grep -q ':7777 '; do sleep 0.05; done
	command_in a "ping addr=$B4 port=$PORT size=1400 count=20000 batch=60 \
depth=120 timeout=$((35 * SLOW))" 2>/dev/null &
	ping=$!
	more_ooo "$had"
	had=$(counter b MpaOooUlpdus)
	ns a nc "$B4" 7777 <"$STATE/file"
	wait $server
	same "$(cat "$STATE/sum")" "$sum" "the file's SHA-256"
	(($(counter b MpaOooUlpdus) > had)) || fail "nothing was passed then"
	stop_serving	# the ping ends with it, as it may
	wait $ping || :
}

# delivery OPTION: send the payload; DELIVERED tells how Delivery advanced. Only one
# ULPDU fits into a segment: otherwise a source would be asked for a ULPDU as long as
# the rest, and the end of a train would depend on the window.
delivery() {
	echo >$TRACE/trace
	echo 1 >$TRACE/events/mpa/mpa_recv/enable
	SERVE=$1 sink "$B4" 400000 size=1400
	echo 0 >$TRACE/events/mpa/mpa_recv/enable
	DELIVERED=$(sed -n 's/.*mpa_recv:.*delivered=//p' $TRACE/trace |
		awk '$1 < last { print "back from", last, "to", $1 }
			{ last = $1 }
			END { print "up to", last }')
}

# It never goes back, and ends where it does in order
same_delivery() {
	local in_order

	mended
	loses 5% 10ms
	delivery "markers=1 place=1"
	none_ooo
	in_order=$DELIVERED
	like "$in_order" "up to [1-9]*" "Delivery in order"
	delivery ooo=1
	some_ooo
	same "$DELIVERED" "$in_order" "Delivery"
}

# netstat_of NS NAME: a counter of TcpExt
netstat_of() {
	ns "$1" awk -v name="$2" '/^TcpExt:/ && !n { for (i in fields) delete fields[i]
			n = split($0, fields); next }
		/^TcpExt:/ { for (i = 2; i <= n; i++)
			if (fields[i] == name) print $i
			exit }' /proc/net/netstat
}

# after_hole COUNT STEP...: lose an FPDU of 1000 octets of the peer, but nothing after
# it, up to a push; wait until COUNT ULPDUs after it were passed out of order. The
# peer prepares all FPDUs and sends them in two pieces, the lost one and the rest: TCP
# sends nothing new after the first loss, which it may notice soon.
# STEPS: steps before that; MODE: of the server
after_hole() {
	local count=$1 had

	shift
	serve "mode=${MODE:-sink}" capture=1 ooo=1
	had=$(counter b MpaOooUlpdus)
	# 1008 octets and two markers, TCP and IP with a time stamp
	drop_of_length 1068
	# TCP may take long to retransmit after losses in a row
	# shellcheck disable=SC2086
	command ns a mpa-peer -t $((60 * SLOW)) connect "$B4" \
		$PORT request expect-reply:m=1 ${STEPS-} \
		hold split:1016 fpdu:size=1000 "$@" >"$STATE/client" &
	PEER=$!
	! until_true 30 has_grown b MpaOooUlpdus "$had" "$count" || return 0
	ns a ss -tinoH dport = "$PORT"
	cat "$STATE/client"
	fail "$(($(counter b MpaOooUlpdus) - had)) passed, not $count"
}

tcp_pages() { awk '/^TCP:/ { print $NF }' /proc/net/sockstat; }
many_pages() { (($(tcp_pages) >= 512)); }

# TCP accounts memory by the megabyte: a connection that is never read occupies some,
# so that usage exceeds the limit
ballast() {
	set_sysctl r net.ipv4.tcp_rmem="4096 8388608 8388608"
	set_sysctl r net.ipv4.tcp_wmem="4096 8388608 8388608"
	ns r mpa-peer listen 127.0.0.1 "$PORT" pause:600 >/dev/null &
	until ns r ss -tln | grep -q ":$PORT "; do nap; done
	ns r bash -c "cat /dev/zero >/dev/tcp/127.0.0.1/$PORT" &
	until_true 30 many_pages || fail "only $(tcp_pages) pages"
}

# TCP finds no memory for the octets of the hole, so it prunes its out-of-order queue.
# All of that had been passed, and is received again.
queue_pruned() {
	local memory count pruned before

	mended
	memory=$(sysctl -n net.ipv4.tcp_mem)
	before=$(netstat_of b OfoPruned)
	set_sysctl b net.ipv4.tcp_rmem="4096 131072 131072"
	ballast
	# The memory that TCP has reserved may suffice in one run
	for count in 8 7 9 10 8 7 9 10; do
		serve mode=sink capture=1 markers=1
		client request expect-reply:m=1 fpdu:size=1000 hold \
			fpdu:size=1200,count=$count push fin end
		served
		ns b cat "$PING"/captured >"$STATE/payload"
		stop_serving
		after_hole $count fpdu:size=1200,count=$count push fin end
		sysctl -qw net.ipv4.tcp_mem="1 1 1"
		drop_no_more
		until pruned=$(($(netstat_of b OfoPruned) - before)); ((pruned)) ||
			[[ $(last_served) != "$BEFORE" ]]; do
			sleep 0.05
		done
		sysctl -qw net.ipv4.tcp_mem="$memory"
		wait $PEER || fail "mpa-peer: $(tail -n 2 "$STATE/client")"
		served
		expect status=0 "ulpdus_rx=$((count + 1))" \
			"ulpdus_ooo=$count" "ooo_suppressed=$count"
		captured_is "$STATE/payload"
		((!pruned)) || return 0
		stop_serving
	done
	fail "TCP has not dropped its queue"
}

# TCP puts no duplicate ACKs together, by which the module hears of segments. It
# does so from the beginning of full operation, of which the peer knows when an
# FPDU comes back: the Reply may get there before.
immediate_acks() {
	local before

	mended
	# TCP would wait for 5 % of the round trip: long enough for all to come
	set_sysctl b net.ipv4.tcp_comp_sack_delay_ns=1000000000
	rough delay 200ms
	before=$(netstat_of b TCPAckCompressed)
	# Of a length that leaves the lost one its two markers
	STEPS="fpdu:size=10 expect-fpdu:size=10" MODE=echo \
		after_hole 9 fpdu:size=1200,count=9 push fin end:fin,rest
	drop_no_more
	wait $PEER || fail "mpa-peer: $(tail -n 2 "$STATE/client")"
	served
	expect status=0 ulpdus_ooo=9
	same "$(netstat_of b TCPAckCompressed)" "$before" "ACKs put together"
}

# A window that is small for the delay, and always something lost in it
small_buffers() {
	mended
	set_sysctl b net.ipv4.tcp_rmem="4096 32768 32768"
	loses 5% 10ms
	sink_ooo "$B4" 200000
}

# Detach the server's end with a hole open, while ss reads its sockets
detached() {
	local round looking

	mended
	while ns b ss -tinmo >/dev/null; do
		sleep 0.02
	done &
	looking=$!
	for round in 1 2 3; do
		after_hole 2 fpdu:size=1200,count=2 push pause:$((20 * SLOW))
		command_in b "stop port=$PORT" || fail "stop, round $round"
		served
		expect ulpdus_rx=0 ulpdus_ooo=2
		kill $PEER
		drop_no_more
	done
	kill $looking
	sink "$B4" 100000
}

# Under loss, with holes all the time, the modules go
unloaded() {
	local round number had

	mended
	WAY=both rough delay 10ms loss 10%
	for round in 1 2 3; do
		had=$(counter b MpaOooUlpdus)
		serve mode=echo ooo=1
		for number in 1 2 3; do
			play request expect-reply:m=1 hold \
				fpdu:size=900,count=250 push \
				pause:$((5 * SLOW)) >/dev/null &
		done
		more_ooo "$had"
		rm "$STATE/serving"
		reload
	done
}

# more_ooo COUNT: wait until the total exceeds COUNT
more_ooo() { until_grown b MpaOooUlpdus "$1" 1; }

# The namespaces go under loss, too
namespaces_under_loss() {
	local number had

	mended
	had=$(counter b MpaOooUlpdus)
	WAY=both rough delay 10ms loss 10%
	serve mode=echo ooo=1
	# Several clients: a single one may lose its SYN repeatedly
	for number in 1 2 3; do
		play request expect-reply:m=1 hold fpdu:size=900,count=250 \
			push pause:$((5 * SLOW)) >/dev/null &
	done
	more_ooo "$had"
	links_down
	rm -f "$STATE/serving"
	reload
}

test_case ooo.sink "OO-03 OO-05 OO-07 OO-17" one_way
test_case ooo.echo "OO-02 OO-03 OO-17" echoes
test_case ooo.reorder "OO-03 OO-10 OO-17" overtaken
test_case ooo.in-order "no hole, so nothing out of order" in_order
test_case ooo.sizes "OO-19 OO-20 RX-07 RX-08" sizes
test_case ooo.coalesced "OO-20" coalesced
test_case ooo.with-plain-tcp "OO-14 TX-14" with_plain_tcp
test_case ooo.delivery "OO-05 OO-12 OO-17" same_delivery
test_case ooo.pruned "OO-09 OO-08" queue_pruned
test_case ooo.hole.immediate-acks "OO-07 OO-11" immediate_acks
test_case ooo.small-buffers "OO-08 OO-17" small_buffers
test_case ooo.detach "OO-15" detached
test_case ooo.unload "OO-15" unloaded
test_case ooo.namespace "OO-15" namespaces_under_loss
