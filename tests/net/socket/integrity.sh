# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# No altered octet gets to a consumer: those that a middlebox has altered, and
# those that the sender's consumer alters while, or after, MPA has them.

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

# A consumer that changes its payload

# payload OCTETS OPTION...: send random octets from a to b, which captures them; the
# status is the ping's
payload() {
	head -c "$1" /dev/urandom >"$STATE/file"
	ns a sh -c "cat $STATE/file >$PING/payload"
	ping_to "$B4" mode=sink payload=1 timeout=$((30 * SLOW)) "${@:2}"
}

# It is kept as it was sent.
captured() {
	ns b cat "$PING/captured" | cmp - "$STATE/file" || fail "other octets"
}

# overwritten_before_send MARKERS ZEROCOPY: the first octet changes when its FPDU is
# laid out. A copied ULPDU goes out unchanged; any other is not delivered.
overwritten_before_send() {
	network pair 1500
	serve mode=sink capture=1 "markers=$1"
	payload 20000 size=1000 spoil=early "zerocopy=$2" || true
	served
	if (($1 && !$2)); then
		expect status=0 reason=ok bytes_rx=20000
		captured
	else
		expect mpa_error=2 reason=crc ulpdus_rx=0 bytes_rx=0
	fi
}

# overwritten_after_sent MARKERS ZEROCOPY: octets handed back may be changed. Most of
# them are still in TCP then: the other side's window is small, and its delivery is on
# hold.
overwritten_after_sent() {
	local pages

	network pair 1500
	spoil
	set_sysctl a "net.ipv4.tcp_wmem=4096 1000000 1000000"
	set_sysctl b "net.ipv4.tcp_rmem=4096 65536 65536"
	serve mode=sink capture=1 "markers=$1" hold=$((500 * SLOW))
	pages=$(counter a MpaTxZeroCopy)
	payload 200000 size=1000 spoil=late "zerocopy=$2" ||
		{ show_result; fail "the ping"; }
	served
	expect status=0 reason=ok bytes_rx=200000
	captured
	pages=$(($(counter a MpaTxZeroCopy) - pages))
	(((pages > 50) == $2)) || fail "pages of $pages ULPDUs were sent"
}

for pair in "0 there" "0 back" "1 there" "1 back"; do
	test_case "integrity.corrupted.${pair/ /.}" "ER-03 ER-11 CR-20 RX-03" \
		corrupted "${pair% *}" "${pair#* }"
done
for pair in "0 0" "0 1" "1 0" "1 1"; do
	test_case "integrity.overwritten.before-send.${pair/ /-}" "ER-03 CR-10" \
		overwritten_before_send "${pair% *}" "${pair#* }"
	test_case "integrity.overwritten.after-sent.${pair/ /-}" "TX-01 CR-10" \
		overwritten_after_sent "${pair% *}" "${pair#* }"
done
