#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Applications that scribble over their queues, at both ends of their connections, beside
# one that keeps the rules. The kernel has to survive (KASAN, lockdep and others watch), the
# honest one must not notice, and nothing may be left.
set -euo pipefail
. /root/test/lib.sh
. "${0%/*}/tap.sh"

TIME=300 ENTRIES=50000	# of the client; which of them comes first
((!${SECONDS_MAX:-0})) || TIME=$SECONDS_MAX ENTRIES=4000000000
((!${COUNT:-0})) || ENTRIES=$COUNT TIME=86400

# scribbles NS ROLE SECONDS SEED ENTRIES
scribbles() {
	ns "$1" timeout -s KILL $((TIME + 30)) /root/scribble "$2" "$B4" 5000 \
		"$3" "$4" "$5" >"$STATE/scribble.$2" 2>&1
}

# did ROLE: its last line: "N connections, M entries"
did() { grep connections "$STATE/scribble.$1" | tail -n 1; }

enough() { did "$1" | awk '{ exit !($1 >= 20 && $3 >= 2000) }'; }

progress() {
	while sleep 30; do
		echo "client so far: $(did client)"
	done
}

# As long as the others go on, and once more after that
honest() {
	local over=

	while [[ -z $over ]]; do
		[[ ! -e $STATE/over ]] || over=1
		ns b rping -s -a "$B4" -V -C 300 >"$STATE/rping.s" 2>&1 &
		until_true 30 listens b 7174 || return
		ns a rping -c -a "$B4" -V -C 300 >"$STATE/rping.c" 2>&1 && wait $! ||
			return
		echo >>"$STATE/honest"
	done
}

nothing_left() {
	rdma resource | grep -vq 'pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0' && return 1
	return 0
}

modprobe mpa_rnic
network pair 1500
for side in a b; do
	ns $side rdma link add iw$side type mpa netdev v$side
done
honest &
honest=$!
progress &
progress=$!
# The server goes on until the client has ended, and then waits for another
scribbles b server $((TIME + 20)) "$SEED" 4000000000 &
server=$!
until_true 30 listens b 5000
scribbles a client "$TIME" $((SEED + 1)) "$ENTRIES" || true
touch "$STATE/over"
until_true 10 enough server || true	# it counts a connection at its end
kill -9 "$(pidof scribble)" $progress 2>/dev/null || true
wait $server || true
status=0
wait $honest || status=$?
verdict honest $status "rping ended with $status"
echo "# honest: $(wc -l <"$STATE/honest") programs, one after the other"
for role in client server; do
	echo "# $role: $(did $role)"
	status=0
	enough $role || status=1
	verdict $role $status "too little was done"
done
status=0
until_true 30 nothing_left || status=1
verdict left $status "$(rdma resource)"
status=0
rdma link delete iwa && rdma link delete iwb && rmmod mpa_rnic || status=1
verdict gone $status "link or module stay"
all_judged
