#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The part of tests/demo/demo.sh that runs in the guest, with /root/file to send from a, the
# initiator, over the router r to b, the responder.
set -euo pipefail
. /root/test/lib.sh

SIZE=$(stat -c %s /root/file)

show_progress() {
	local back percent

	# Octets of FPDUs that came back: slightly more than the file's
	back=$(counter a MpaRxOctets)
	percent=$((100 * back / SIZE))
	printf '\r  %3d %%, %d FPDUs with %d octets are back ' \
		$((percent > 100 ? 100 : percent)) "$(counter a MpaRxUlpdus)" "$back"
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

# negotiated WHO NS RESULT
negotiated() {
	local key

	read_result "$2" "$3"
	echo "$1 negotiated:"
	for key in revision markers_tx markers_rx emss mulpdu peer_pdata; do
		printf '  %-10s %s\n' $key "${R[$key]}"
	done
}

throughput() {
	local ns

	read_result a result
	ns=${R[elapsed_ns]}
	echo "${R[bytes_tx]} octets in ${R[ulpdus_tx]} ULPDUs there" \
		"and back in $((ns / 1000000)) ms:" \
		"$((R[bytes_tx] * 1000 / (ns / 1000))) kB/s each way" \
		"(an emulated processor)"
}

# counters_of WHO NS
counters_of() {
	echo "Counters of the $1 (/proc/net/mpa_stat):"
	# shellcheck disable=SC2016
	ns "$2" awk '$2 { print "  " $0 }' /proc/net/mpa_stat
}

captured_sum() { ns b cat $PING/captured | sha256sum | cut -c1-64; }

echo "Loading mpa.ko and mpa_ping.ko"
modprobe mpa_ping
network routed 1500
no_probes
ns a sh -c "cat /root/file >$PING/payload"
capture_start r ra mpa

serve="markers=1 mode=echo capture=1"
ping="addr=$B4 port=$PORT markers=1 mode=echo payload=1 verify=1 \
size=mulpdu batch=16 timeout=90 pdata=hello"
echo "responder: serve port=$PORT $serve"
serve "$serve"
echo "initiator: ping $ping"
command_in a "ping $ping" &
progress $!
status=0
wait $! || status=$?

capture_stop mpa
negotiated initiator a result
negotiated responder b serve_result
throughput
counters_of initiator a
counters_of responder b
sent=$(sha256sum </root/file | cut -c1-64)
echo "SHA-256 at initiator:   $sent"
echo "SHA-256 at responder:   $(captured_sum)"
[[ $(captured_sum) == "$sent" ]] || status=1
((status == 0)) || { echo "FAILED:"; ns a cat $PING/result; }

# rdma_pair SERVER... -- CLIENT...: two programs over the RDMA devices
rdma_pair() {
	local server=()

	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	echo "$*:"
	ns b timeout 60 "${server[@]}" >/tmp/server 2>&1 &
	until listens b 7174 || listens b 18515; do nap; done
	ns a timeout 60 "$@" >/tmp/client 2>&1 && wait $! && return
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
		while listens b 18515; do nap; done
	done
	return 1
}

# The lines of README.md
echo "RDMA devices on MPA, and programs for any RDMA device:"
modprobe mpa_rnic
ns a rdma link add mpa_initiator type mpa netdev va
ns b rdma link add mpa_responder type mpa netdev vb
rdma link
rdma_pair rping -s -a "$B4" -V -C 10 -- rping -c -a "$B4" -V -C 10 || status=1
((status)) || echo "  10 times 64 octets came back by RDMA Read and Write"
perftest ib_write_bw -R -d mpa_responder -n 50 -- \
	ib_write_bw -R -d mpa_initiator -n 50 "$B4" || status=1
grep -E '^ *(#bytes|65536)' /tmp/client || status=1
exit $status
