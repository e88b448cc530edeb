# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# The share of segments that hold whole FPDUs in bulk transfers. Each segment is
# captured on the wire before any loss; retransmissions count as well.

# A frame of 1500 octets to a slot, and room for all that may have to wait
SMALL=(-s 1600 -B 32768)
JUMBO=(-s 9100 -B 32768)

# bulk ADDRESS MARKERS OCTETS SERVE-OPTION...: MPA cuts OCTETS into segments; with
# source=1 the other side sends OCTETS at the same time
bulk() {
	local markers=$2 octets=$3 data=(source=1 size=50000)

	data+=("count=$((octets / 50000))")
	[[ " $* " != *" source=1 "* ]] || set -- "$@" "${data[@]:1}"
	serve "markers=$markers" mode=sink "${@:4}"
	ping_ok "$1" "markers=$markers" mode=sink "${data[@]}" \
		timeout=$((100 * SLOW))
	served
	expect status=0 reason=ok "bytes_rx=$octets"
}

# complete NAME ADDRESS OCTETS: judge the segments of ADDRESS
complete() {
	judge "$1" "$2"
	((S[octets] > $3)) || fail "capture $1 is not complete"
}

# share PERCENT: fail unless at least PERCENT of the segments are aligned
share() {
	((S[segments] && S[aligned] * 100 >= S[segments] * $1)) ||
		fail "${S[aligned]} of ${S[segments]} segments are aligned"
}

# Without loss the stack or a device cuts trains, and each piece is whole.
cut_trains() {
	local markers=$1 octets=3000000 device

	network routed 1500
	spoil
	for device in a:va r:ra; do
		ns "${device%:*}" ethtool -K "${device#*:}" tso on gso on
	done
	capture_start r rb wire "${SMALL[@]}"
	bulk "$B4" "$markers" $octets
	capture_stop wire
	complete wire "$A4" $octets
	share 100
	# But for the last, and 7 octets with markers
	((S[full] + 2 >= S[segments])) || fail "only ${S[full]} are full"
}

# Payload sent from the consumer's own pages
own_pages() {
	local count=500

	network routed 1500
	spoil
	capture_start r rb wire "${SMALL[@]}"
	serve markers=1 mode=sink
	ping_ok "$B4" markers=1 mode=sink size=mulpdu count=$count batch=50 \
		zerocopy=1
	served
	expect ulpdus_rx=$count
	capture_stop wire
	complete wire "$A4" "${R[bytes_rx]}"
	share 100
}

# few_fragments CASE...: with an skb that takes fewer pages than a train has, or a
# ULPDU with markers. The limit is global: restore it even after fail(), which exits
# the subshell.
few_fragments() {
	local limit status=0

	limit=$(sysctl -n net.core.max_skb_frags)
	sysctl -qw net.core.max_skb_frags=4
	("$@") || status=1
	sysctl -qw net.core.max_skb_frags="$limit"
	return $status
}

# lossy PERCENT: on the router, in both directions
lossy() {
	local device

	for device in ra rb; do
		ns r tc qdisc replace dev $device root netem loss "$1%" limit 10000 ||
			fail "netem"
	done
}

# Both ends send, and loss in one direction shortens segments of the other, which need
# room for SACK blocks: both_with_loss MARKERS [MTU [FAMILY]]
both_with_loss() {
	local mtu=${2-1500} from to frames=("${SMALL[@]}") octets

	octets=$((mtu * 4000))	# so that some are lost
	network routed "$mtu"
	spoil
	lossy 1
	from=$A4 to=$B4
	[[ ${3-} != 6 ]] || from=$A6 to=$B6
	((mtu == 1500)) || frames=("${JUMBO[@]}")
	capture_start a va there "${frames[@]}"
	capture_start b vb back "${frames[@]}"
	bulk "$to" "$1" $octets source=1
	expect "bytes_tx=$octets"
	capture_stop there
	capture_stop back
	complete there "$from" $octets
	((S[again])) || fail "nothing was sent again"
	share 98
	complete back "$to" $octets
	share 98
}

# short_with_loss SIZE MTU: ULPDUs of one length, of which some fill each segment only if
# MPA lowers the EMSS, and does so again after each hole
short_with_loss() {
	local size=$1 count=4000 frames=("${SMALL[@]}")

	network routed "$2"
	spoil
	lossy 1
	(($2 == 1500)) || frames=("${JUMBO[@]}")
	capture_start a va wire "${frames[@]}"
	serve mode=sink
	ping_ok "$B4" mode=sink size=$size count=$count timeout=$((100 * SLOW))
	served
	expect ulpdus_rx=$count
	capture_stop wire
	complete wire "$A4" $((size * count))
	((S[again])) || fail "nothing was sent again"
	share 98
}

# AccECN puts an option into most segments, which the MSS does not allow for.
accecn() {
	local octets=3000000 space

	network routed 1500
	spoil
	for space in a b; do
		ns $space sysctl -qw net.ipv4.tcp_ecn=3 2>/dev/null ||
			{ echo "this kernel has no AccECN"; exit 77; }
	done
	capture_start r rb wire "${SMALL[@]}"
	bulk "$B4" "$1" $octets
	capture_stop wire
	has_accecn wire
	complete wire "$A4" $octets
	share 100
}

# has_accecn CAPTURE: fail unless most segments with data have an AccECN option
# (kind 172 or 174)
has_accecn() {
	local said

	said=$(tcpdump -nr "$STATE/$1.pcap" "src $A4" 2>/dev/null |
		awk '/length [1-9]/ { n++; with += /unknown-17[24]|accecn/ }
			END { print n + 0, with + 0 }')
	echo "segments, and those with an AccECN option: $said"
	((${said#* } * 2 > ${said% *})) || fail "AccECN is not in use: $said"
}

# The window closes again and again, and opens for other than whole segments.
slow_receiver() {
	local octets=3000000

	network routed 1500
	spoil
	set_sysctl b "net.ipv4.tcp_rmem=4096 100000 100000"
	capture_start a va wire "${SMALL[@]}"
	bulk "$B4" "$1" $octets lazy=1
	capture_stop wire
	complete wire "$A4" $octets
	((S[tight] * 100 > S[segments])) ||
		fail "the window was full ${S[tight]} times only"
	share 98
}

test_case align.trains "TX-02 TX-15 SZ-23" cut_trains 0
test_case align.trains.markers "TX-02 TX-15" cut_trains 1
test_case align.trains.fragments "TX-02 TX-15" few_fragments cut_trains 1
test_case align.pages "TX-02 TX-15" own_pages
test_case align.pages.fragments "TX-02 TX-15" few_fragments own_pages
test_case align.loss "TX-02 TX-11" both_with_loss 0
test_case align.loss.markers "TX-02 TX-11" both_with_loss 1
test_case align.loss.jumbo "TX-02 TX-11" both_with_loss 0 9000
test_case align.loss.ipv6 "TX-02 TX-11" both_with_loss 0 1500 6
test_case align.loss.1408 "TX-02 TX-11" short_with_loss 1408 1500
test_case align.loss.4096 "TX-02 TX-11" short_with_loss 4096 9000
test_case align.accecn "TX-02 TX-15" accecn 0
test_case align.accecn.markers "TX-02 TX-15" accecn 1
test_case align.slow-reader "TX-02" slow_receiver 0
test_case align.slow-reader.markers "TX-02" slow_receiver 1
