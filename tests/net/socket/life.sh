# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Ends of all kinds, and races with them.

# The network drops all packets during startup; the ping's timeout ends it
black_hole() {
	local begun

	network pair 1500
	spoil
	serve mode=echo
	begun=$SECONDS
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

test_case close.blackhole "ER-02 CS-33" black_hole
test_case race.unload "TX-01" unload_under_traffic
test_case race.namespaces "" namespaces_gone
