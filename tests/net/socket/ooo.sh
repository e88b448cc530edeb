# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# ULPDUs passed out of order after a hole of the TCP stream; Delivery stays in order.
# The router makes the holes. KUnit injects holes of all kinds (mpa_conn.ooo, .ooo_end),
# and make net makes them by what networks do, also to devices.

# Making a network takes time: the one of these cases is put right instead
network_mended() { network_routed "$1"; }
names_mended() { names_routed; }

mended() {
	local space

	network mended 1500
	for space in a b; do
		ip -n $space tcp_metrics flush all
		set_sysctl $space net.ipv4.tcp_comp_sack_delay_ns=1000000
	done
	ns r tc qdisc del dev ra root 2>/dev/null
	ns r tc qdisc del dev rb root 2>/dev/null
	drop_no_more
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

# Each 16th packet of 1024 octets or more: the IPv4 ID counts them, and sent again it has
# another. (A mask is in hexadecimal always.)
drop_some() { drop match u16 0x0400 fc00 at 2 match u16 0 f at 4; }

# Each of those that were passed out of order, if any were, was delivered
all_delivered() {
	same "${R[ooo_suppressed]}" "${R[ulpdus_ooo]}" \
		"delivered of those passed out of order"
}

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

# Plain TCP at the same time as a connection that passes ULPDUs out of order, with the
# same loss: its octets are read in order.
with_plain_tcp() {
	local sum had ping server

	mended
	rough delay 20ms
	drop_some
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

# netstat_of NS NAME: a counter of TcpExt
netstat_of() {
	ns "$1" awk -v name="$2" '/^TcpExt:/ { for (i = 2; i <= NF; i++) {
		if (field[i] == name) print $i
		field[i] = $i } }' /proc/net/netstat
}

# after_hole COUNT STEP...: lose an FPDU of 1000 octets of the peer, but nothing after
# it, up to a push; wait until COUNT ULPDUs after it were passed out of order. The
# peer prepares all FPDUs and sends them in two pieces, the lost one and the rest: TCP
# sends nothing new after the first loss, which it may notice soon.
# STEPS: steps before that; MODE: of the server
after_hole() {
	local count=$1 had

	shift
	serve "mode=${MODE:-sink}" ooo=1
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
	both_ways || :	# nothing is lost now
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

test_case ooo.echo "OO-02 OO-03 OO-10 OO-17" echoes
test_case ooo.with-plain-tcp "OO-14 TX-14" with_plain_tcp
test_case ooo.hole.immediate-acks "OO-07 OO-11" immediate_acks
test_case ooo.detach "OO-15" detached
test_case ooo.unload "OO-15" unloaded
