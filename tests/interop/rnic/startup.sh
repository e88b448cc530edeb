# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Startups with a peer that does as it is told. The programs send and take a Send of 16
# octets, all zero.

ZEROS=$(seg_untagged 4143 0 1 0 "$(zeroes 16)")
ASKED=expect-request:rev=2,s=1,A=1,B=0,C=1,D=1
# The program's Send, its answer, and the end
GO=("expect-fpdu:ulpdu=$ZEROS" "fpdu:ulpdu=$ZEROS" end:fin)

# dials STATUS STEP...: rdma_client connects, with SETTING; its status is 0 or not
dials() {
	local wanted=$1 peer status=0

	devices mpa none
	[[ -z ${SETTING-} ]] || both "$SETTING"
	[[ -z ${DELAY-} ]] || ns b tc qdisc add dev vb root netem delay "$DELAY"
	: >"$STATE/server"
	ns b mpa-peer -t 20 listen "$B4" 7471 "${@:2}" >"$STATE/server" &
	peer=$!
	until_peer_listens
	ns a timeout 30 rdma_client -s "$B4" >"$STATE/ours" 2>&1 || status=$?
	cat "$STATE/ours"
	wait $peer || fail "the peer: $?"
	rm "$STATE/server"
	(((status == 0) == (wanted == 0))) || fail "the program ended with $status"
}

# accepts REQUEST REPLY STEP...: rdma_server does
accepts() {
	devices none mpa
	serves 7471 rdma_server -s "$B4"
	ns a mpa-peer -t 20 connect "$B4" 7471 "request:$1" "expect-reply:$2" \
		"${@:3}" || fail "the peer: $?"
	theirs_ended
}

# A Responder sends nothing before it has had an FPDU, whatever its program has posted.
waits() {
	devices none mpa
	serves 7471 ucmatose -b "$B4"
	ns a mpa-peer -t 20 connect "$B4" 7471 "$@" || fail "the peer: $?"
	theirs_ended
}

test_case start.rtr.write "the Reply names RDMA Write" dials 0 $ASKED \
	reply:rev=2,s=1,A=1,C=1,ird=1,ord=1 expect-fpdu:rtr=write "${GO[@]}"
test_case start.rtr.read "the Reply names RDMA Read" dials 0 $ASKED \
	reply:rev=2,s=1,A=1,D=1,ird=1,ord=1 expect-fpdu:rtr=read \
	"fpdu:ulpdu=$(seg_tagged c142 1 0)" "${GO[@]}"
test_case start.rtr.none "the Reply names Send alone" dials 1 $ASKED \
	reply:rev=2,s=1,A=1,B=1,ird=1,ord=1 \
	"expect-fpdu:ulpdu=$(seg_terminate 2/0/7)" end:fin
test_case start.ird "the Reply asks for more Reads than we take" dials 1 $ASKED \
	reply:rev=2,s=1,A=1,C=1,ird=1,ord=16382 \
	"expect-fpdu:ulpdu=$(seg_terminate 2/0/6)" end:fin
test_case start.fallback "a peer that resets at Rev 2" dials 0 expect-request:rev=2 \
	rst again expect-request:rev=1 reply "${GO[@]}"
test_case start.no_reply "octets that are no Reply" dials 1 expect-request:rev=2 \
	"send:${REQ_KEY}40010000" end:reset
# A peer that says nothing is taken for one that does not know Rev 2, once.
silent() {
	local SETTING=net.mpa.startup_timeout_ms=1000

	dials 1 expect-request:rev=2 end:reset again expect-request:rev=1 end:reset
}
test_case start.silent "no Reply" silent
# The first connection must not have the port of the second when that begins.
misread() {
	local DELAY=100ms

	dials 0 expect-request:rev=2 reply:rev=1,r=1 end:reset \
		again expect-request:rev=1 reply "${GO[@]}"
}
test_case start.misread "R in a Reply of Rev 1" misread
rejected() {
	dials 1 "$ASKED" reply:rev=2,s=1,r=1,A=1,C=1,ird=1,ord=1 end:fin
	grep -q 'Connection refused' "$STATE/ours" || fail "the program is not told"
}
test_case start.rejected "R in the Reply" rejected

ENHANCED=rev=2,s=1,A=1,ird=1,ord=1
BACK=("fpdu:ulpdu=$ZEROS" "expect-fpdu:ulpdu=$ZEROS" fin end:fin)
test_case start.accept.write "RTR by RDMA Write" accepts $ENHANCED,C=1 \
	rev=2,s=1,A=1,C=1,r=0 fpdu:rtr=write "${BACK[@]}"
test_case start.accept.read "RTR by RDMA Read, which is answered" accepts \
	$ENHANCED,D=1 rev=2,s=1,A=1,D=1,r=0 quiet:0.3 fpdu:rtr=read \
	"expect-fpdu:ulpdu=$(seg_tagged c142 1 0)" "${BACK[@]}"
test_case start.accept.send "RTR by Send, which is not taken" accepts \
	$ENHANCED,B=1 rev=2,s=1,A=1,B=0,C=1,D=1,r=0 \
	"fpdu:ulpdu=$(seg_terminate 2/0/7)" end:fin
test_case start.accept.rev0 "Rev 0: version 0 of DDP and RDMAP" accepts rev=0,m=1 \
	rev=0,r=0 "fpdu:ulpdu=4003${ZEROS:4}" "expect-fpdu:ulpdu=4003${ZEROS:4}" \
	fin end:fin
test_case start.waits.rev1 "no FPDU, and Sends to send" waits request \
	expect-reply:r=0 quiet:0.7 rst
test_case start.waits.rtr "until the RTR comes" waits request:$ENHANCED,C=1 \
	expect-reply:A=1,C=1 quiet:0.7 fpdu:rtr=write \
	"data:0076$(seg_untagged 4143 0 1 0)" rst

# The peer's host goes, and says nothing of it: the program at the other end waits for a
# message. Nothing is under way that TCP could send again: its keepalive finds out.

short_keepalive() {
	both net.ipv4.tcp_keepalive_time=1
	both net.ipv4.tcp_keepalive_intvl=1
	both net.ipv4.tcp_keepalive_probes=2
}

# cut_off SIDE PID: no packet of the peer comes to it any longer; the program ends
cut_off() {
	until_true 30 connected_at "$1" || fail "no connection"
	sleep 1
	ns a tc qdisc replace dev va root netem loss 100% || fail "no netem"
	ns b tc qdisc replace dev vb root netem loss 100% || fail "no netem"
	until_true 20 program_ended "$2" || fail "the program still waits"
	spoil
}
connected_at() { (($(counted "$1" connected))); }
program_ended() { ! kill -0 "$1" 2>/dev/null; }

vanished_client() {
	rm -f "$STATE/devices"
	devices none mpa
	short_keepalive
	serves 7471 rdma_server -s "$B4"
	ns a mpa-peer -t 100 connect "$B4" 7471 request:$ENHANCED,C=1 \
		expect-reply:A=1,C=1 fpdu:rtr=write pause:90 &
	cut_off b "$PROGRAM"
}

vanished_server() {
	local program

	rm -f "$STATE/devices"
	devices mpa none
	short_keepalive
	: >"$STATE/server"
	ns b mpa-peer -t 100 listen "$B4" 7471 $ASKED \
		reply:rev=2,s=1,A=1,C=1,ird=1,ord=1 expect-fpdu:rtr=write \
		"expect-fpdu:ulpdu=$ZEROS" pause:90 >"$STATE/server" &
	until_peer_listens
	command ns a rdma_client -s "$B4" &
	program=$!
	cut_off a $program
	rm "$STATE/server"
}
test_case start.vanished.client "a client's host vanishes: keepalive" vanished_client
test_case start.vanished.server "a server's host vanishes: keepalive" vanished_server

# rdma_cm chooses a port without a look at those of TCP.
ports_taken() {
	local i listener taker

	devices mpa mpa
	ns a sysctl -qw net.ipv4.ip_local_port_range="40000 40031"
	: >"$STATE/server"
	ns b mpa-peer -t 200 listen "$B4" 9100 expect-request >"$STATE/server" &
	listener=$!
	until_peer_listens
	ns a bash -c "for i in {1..8}; do exec {fd}<>/dev/tcp/$B4/9100; done
		echo taken; exec sleep 200" >"$STATE/taken" &
	taker=$!
	until_true 30 grep -q taken "$STATE/taken" || fail "no ports taken"
	serves 7174 rping -s -P -a "$B4"
	for i in {1..16}; do
		asks rping -c -a "$B4" -C 1
	done
	kill -9 "$PROGRAM" $listener $taker
}
test_case start.ports "TCP has a quarter of the ports" ports_taken
