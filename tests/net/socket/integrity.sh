# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# No octet that a middlebox has altered gets to a consumer.

# The relay's address; with it everything else is as without it
RELAY=10.0.1.2

relay() {
	: >"$STATE/server"
	ns r mpa-peer -t $((2 * SLOW)) -f "$1" relay "$RELAY" "$PORT" \
		"$B4" "$PORT" "$2" >"$STATE/server" &
	PEER=$!
	until_peer_listens
}

# One ping through the relay
relayed_ping() {
	ping_to "$RELAY" mode=echo verify=1 count=2 size=10 "$1" \
		timeout=$((${2-2} * SLOW))
}

# corrupted MARKERS WAY: flip a bit, once in each octet of two FPDUs that go this WAY
# after the startup frames. One end reports an error, and no consumer gets a ULPDU
# other than the one sent.
corrupted() {
	local at first=20 last=$((51 + 4 * $1))

	network routed 1500
	serve mode=echo "markers=$1"
	relay $first..$last "$2:%"
	for ((at = first; at <= last; at++)); do
		DOING="octet $at"
		! relayed_ping "markers=$1" || fail "it was not noticed"
		expect mismatches=0
		[[ ${R[reason]} != mismatch ]] || fail "it was delivered"
	done
	DOING=
	wait "$PEER" || fail "mpa-peer: $?"
	same "$(grep -c altered "$STATE/server")" $((last + 1 - first)) altered
	relay 1000..1000 "$2:%"
	relayed_ping "markers=$1" 10 || { show_result; fail "a good ping"; }
	expect status=0 reason=ok mismatches=0 ulpdus_rx=2
	peer_served
}

# Half a minute each: the short form has those with markers
pairs=("1 there" "1 back")
[[ -z ${LONG-} ]] || pairs+=("0 there" "0 back")
for pair in "${pairs[@]}"; do
	test_case "integrity.corrupted.${pair/ /.}" "ER-03 ER-11 CR-20 RX-03" \
		corrupted "${pair% *}" "${pair#* }"
done
