#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The part of tests/demo/demo.sh that runs in the guest, with /root/file to send.
set -euo pipefail

PING=/dev/mpa_ping
PORT=5044
SIZE=$(stat -c %s /root/file)

connect() {
	local end

	for end in initiator router responder; do
		ip netns add $end
		ip -n $end link set lo up
	done
	ip link add eth0 netns initiator type veth peer name left netns router
	ip link add eth0 netns responder type veth peer name right netns router
	ip -n initiator addr add 10.0.1.1/24 dev eth0
	ip -n router addr add 10.0.1.2/24 dev left
	ip -n router addr add 10.0.2.2/24 dev right
	ip -n responder addr add 10.0.2.1/24 dev eth0
	# Without offloads each packet of the capture is one of the wire
	for end in initiator:eth0 router:left router:right responder:eth0; do
		ip -n "${end%:*}" link set "${end#*:}" up
		ns "${end%:*}" ethtool -K "${end#*:}" tso off gso off gro off \
			>/dev/null
	done
	# An emulated processor is late at times. TCP would then repeat segments
	# that are not lost, and the SACK block for each takes room from data
	# that is waiting in full segments.
	for end in initiator responder; do
		ns $end sysctl -qw net.ipv4.tcp_early_retrans=0 \
			net.ipv4.tcp_dsack=0
	done
	ns router sysctl -qw net.ipv4.ip_forward=1
	ip -n initiator route add default via 10.0.1.2
	ip -n responder route add default via 10.0.2.2
}

# shellcheck disable=SC2016
counter() {
	ns "$1" awk -v name="$2" '$1 == name { print $2 }' /proc/net/mpa_stat
}

show_progress() {
	local back percent

	# Octets of FPDUs that came back: slightly more than the file's
	back=$(counter initiator MpaRxOctets)
	percent=$((100 * back / SIZE))
	printf '\r  %3d %%, %d FPDUs with %d octets are back ' \
		$((percent > 100 ? 100 : percent)) \
		"$(counter initiator MpaRxUlpdus)" "$back"
}

# A line that is written over until process $1 ends
progress() {
	while kill -0 "$1" 2>/dev/null; do
		show_progress
		sleep 0.2
	done
	show_progress
	echo
}

value() { ns "$1" sed -n "s/^$3=//p" $PING/"$2"; }

negotiated() {
	local key

	echo "$1 negotiated:"
	for key in revision markers_tx markers_rx emss mulpdu peer_pdata; do
		printf '  %-10s %s\n' $key "$(value "$1" "$2" $key)"
	done
}

throughput() {
	local ns octets

	ns=$(value initiator result elapsed_ns)
	octets=$(value initiator result bytes_tx)
	echo "$octets octets in $(value initiator result ulpdus_tx) ULPDUs there" \
		"and back in $((ns / 1000000)) ms:" \
		"$((octets * 1000 / (ns / 1000))) kB/s each way" \
		"(an emulated processor)"
}

captured_sum() { ns responder cat $PING/captured | sha256sum | cut -c1-64; }

echo "Loading mpa.ko and mpa_ping.ko"
modprobe mpa_ping
connect
ns initiator sh -c "cat /root/file >$PING/payload"
ns router tcpdump -i left -s 10000 -B 16384 --immediate-mode -w /root/mpa.pcap tcp 2>/tmp/tcpdump &
capture=$!
until grep -q '^tcpdump: listening' /tmp/tcpdump; do sleep 0.05; done

serve="serve port=$PORT markers=1 mode=echo capture=1"
ping="ping addr=10.0.2.1 port=$PORT markers=1 mode=echo payload=1 verify=1 \
size=mulpdu batch=16 timeout=90 pdata=hello"
echo "responder: $serve"
ns responder sh -c "echo $serve >$PING/cmd"
echo "initiator: $ping"
ns initiator sh -c "echo $ping >$PING/cmd" &
progress $!
status=0
wait $! || status=$?

# The last packets still have to reach tcpdump
sleep 1
kill $capture
wait $capture || true
negotiated initiator result
negotiated responder serve_result
throughput
for side in initiator responder; do
	echo "Counters of the $side (/proc/net/mpa_stat):"
	# shellcheck disable=SC2016
	ns $side awk '$2 { print "  " $0 }' /proc/net/mpa_stat
done
sent=$(sha256sum </root/file | cut -c1-64)
echo "SHA-256 at initiator:   $sent"
echo "SHA-256 at responder:   $(captured_sum)"
[[ $(captured_sum) == "$sent" ]] || status=1
grep -q '^0 packets dropped by kernel' /tmp/tcpdump ||
	{ cat /tmp/tcpdump; status=1; }
((status == 0)) || { echo "FAILED:"; ns initiator cat $PING/result; }

# rdma SERVER... -- CLIENT...: two programs over the RDMA devices
rdma_pair() {
	local server=()

	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	echo "$*:"
	ns responder timeout 60 "${server[@]}" >/tmp/server 2>&1 &
	until ns responder ss -Hltn | grep -qE ':(7174|18515) '; do sleep 0.1; done
	ns initiator timeout 60 "$@" >/tmp/client 2>&1 && wait $! && return
	tail -n 5 /tmp/server /tmp/client
	return 1
}

# perftest gives up where its clock is uneven, and crashes where its client is faster than
# its server, which listens twice: see perf() in tests/interop/rnic/programs.sh.
perftest() {
	for _ in 1 2 3 4 5; do
		rdma_pair "$@" && return
		grep -qE "Can't produce a report|CM_EVENT_REJECTED; error: -111" \
			/tmp/server /tmp/client || return 1
		pkill -x ib_write_bw
		while ns responder ss -Hltn | grep -q ':18515 '; do sleep 0.1; done
	done
	return 1
}

# The lines of README.md
echo "RDMA devices on MPA, and programs for any RDMA device:"
modprobe mpa_rnic
for side in initiator responder; do
	ns $side rdma link add mpa_$side type mpa netdev eth0
done
rdma link
rdma_pair rping -s -a 10.0.2.1 -V -C 10 -- rping -c -a 10.0.2.1 -V -C 10 || status=1
((status)) || echo "  10 times 64 octets came back by RDMA Read and Write"
perftest ib_write_bw -R -d mpa_responder -n 50 -- \
	ib_write_bw -R -d mpa_initiator -n 50 10.0.2.1 || status=1
grep -E '^ *(#bytes|65536)' /tmp/client || status=1
exit $status
