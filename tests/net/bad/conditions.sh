# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# The conditions of the matrix: condition_NAME() makes the network, EVENTS is a
# function that changes it during the stream, and check_NAME() asks for evidence of
# the condition; see net.sh

EVENTS=
SERVE=()		# options for the server, if it has them

condition_clean() { chain; }

# loss-PERCENT[-both]
condition_loss() {
	local share=${CONDITION#loss-}

	chain
	there loss "${share%-both}%"
	[[ $share != *-both ]] || back loss "${share%-both}%"
	case $share in
	10*) OCTETS=150000 ;;
	0.1) OCTETS=3000000 ;;
	esac
}

check_loss() {
	[[ $CONDITION != loss-@(3|10)* ]] || ((RETRANSMITTED)) ||
		fail "nothing was sent again"
}

condition_reorder() { chain; both delay 5ms reorder 25% 50%; }
condition_duplicate() { chain; both duplicate 20%; }
condition_jitter() { chain; both delay 20ms 10ms; }

condition_corrupt() { chain; both corrupt 2%; }
check_corrupt() { ((ALTERED)) || fail "no octet was altered"; }

# A queue too short for all that TCP would like to send
condition_rate() {
	chain
	tc -n "${P}s" qdisc replace dev sb root tbf rate 10mbit burst 20kb \
		limit 30kb || fail "tbf"
}

# A router puts segments together; it has got some of them twice, or not at all
condition_gro() {
	chain
	emulate r rs loss 1% duplicate 2%
	emulate s sr loss 1% duplicate 2%
}

# A box between the ends

condition_resegment() { box; }
check_resegment() { was_cut; }

# Most of the bits flipped are in headers; a checksum of TCP's has to find some
condition_bit-flips() { box; there corrupt 2%; }
check_bit-flips() { was_cut && check_corrupt; }

condition_combined() {
	box
	there loss 1% duplicate 5% corrupt 0.2% delay 3ms reorder 10% 50%
	# What is altered before the box would leave it with a right checksum
	emulate s sm loss 1% duplicate 5% delay 3ms reorder 10% 50%
	OCTETS=300000
}
check_combined() { was_cut; }

# Receivers that do not read

small_windows() {
	in_a sysctl -qw net.ipv4.tcp_rmem="4096 32768 32768"
	in_b sysctl -qw net.ipv4.tcp_rmem="4096 32768 32768"
}

# It reads nothing until the window is full
condition_full-window() {
	chain
	small_windows
	SERVE=(lazy=1)
}

# It reads nothing for a minute; for 4 s on all but the first connection
condition_zero-window() {
	chain
	small_windows
	SERVE=(hold=60000)
	OCTETS=200000
}

check_zero-window() {
	[[ $WAY == rdma ]] || ((PROBES > 3)) || fail "the window was not probed"
}

# check_hold SECONDS: the first connection had its minute
check_hold() {
	[[ $WAY == rdma || ${SERVE[0]} != hold=60000 ]] || (($1 >= 58)) ||
		fail "delivery was held for less than $1 s"
	SERVE=(hold=4000)
}

# Changes during the stream, which is slow then: octets are left to send

slow() { both delay 5ms rate "${1-256kbit}"; }

# netem keeps the rate that is not given
fast() { both delay 5ms rate 1gbit; }

# Fails the connection unless it was still open during the event
still_there() {
	[[ -e $LOG.over ]] || echo "met at $SECONDS s" | tee "$LOG.met"
}

# The link after the second router goes down, for a time that no end knows
condition_flap() {
	chain
	small_windows
	EVENTS=flap
	OCTETS=600000
}

flap() {
	local turn

	for turn in 5 15; do
		reached $turn || return 0
		ip -n "${P}s" link set sb down || return
		sleep $((turn / 5))
		ip -n "${P}s" link set sb up || return
	done
	still_there
}

# The sender's own device goes down, and its routes with it
condition_link-down() {
	condition_flap
	EVENTS=link_down
}

link_down() {
	reached 10 || return 0
	ip -n "${P}a" link set va down || return
	sleep 2
	ip -n "${P}a" link set va up || return
	in_a sh -e -c "$(routes 1 2)" || return
	still_there
}

# The path MTU shrinks and grows again; both ends cache it for 2 s
condition_pmtu() {
	chain
	small_windows
	in_a sysctl -qw net.ipv4.route.mtu_expires=2 net.ipv6.route.mtu_expires=2
	in_b sysctl -qw net.ipv4.route.mtu_expires=2 net.ipv6.route.mtu_expires=2
	EVENTS=narrow_and_wide
	OCTETS=600000
}

# The same without ICMP errors
condition_pmtu-blackhole() {
	local end

	chain
	small_windows
	for end in a b; do
		ns "$P$end" sysctl -qw net.ipv4.tcp_mtu_probing=1
		tc -n "$P$end" qdisc add dev v$end clsact
		tc -n "$P$end" filter add dev v$end ingress protocol ip prio 1 \
			u32 match ip protocol 1 ff action drop
		# Drops Packet Too Big, not neighbour discovery
		tc -n "$P$end" filter add dev v$end ingress protocol ipv6 prio 2 \
			u32 match u8 58 ff at 6 match u8 2 ff at 40 action drop
	done
	EVENTS=narrow_unseen
	OCTETS=600000
}

# path add|del [mtu MTU]: routes from the routers to the two ends
path() {
	ip -n "${P}s" -batch - <<-END || return
		route $1 10.0.2.1/32 dev sb ${*:2}
		route $1 fd02::1/128 dev sb ${*:2}
	END
	ip -n "${P}r" -batch - <<-END
		route $1 10.0.1.1/32 dev ra ${*:2}
		route $1 fd01::1/128 dev ra ${*:2}
	END
}

narrowest() { ((FAMILY)) && echo 576 || echo 1280; }

# sender_knows MTU: wait for that
sender_knows() {
	until in_a ss -tinOH "dport = $PORT" | grep -q "pmtu:$1 "; do
		[[ ! -e $LOG.over ]] || return 1
		sleep 0.3
	done
}

# Short messages, a few at a time: the sender may never exceed the path MTU
never_too_long() { [[ $SIZE == 64 && $WAY != one ]]; }

narrow_and_wide() {
	local mtu

	reached 20 || return 0
	mtu=$(narrowest)
	slow 24kbit
	echo "narrow at $SECONDS s"
	path add mtu "$mtu" || return
	never_too_long || sender_knows "$mtu" || return 0
	noticed || return 0
	echo "wide at $SECONDS s"
	path del || return
	never_too_long || sender_knows "$MTU" || return 0
	still_there
}

# MPA reads TCP's path MTU when it sends the next FPDU, and some FPDUs are long
noticed() {
	local share=20

	[[ $SIZE != mulpdu ]] || share=10
	[[ $SIZE != 64 && $WAY != rdma ]] || share=2
	FROM=$(received)
	reached $share
}

# check_path CHANGES: the path became narrow, and wide again, and the sender knew.
check_path() {
	[[ $WAY == rdma ]] || never_too_long || (($1 >= 2)) ||
		fail "MULPDU has changed $1 times"
}

narrow_unseen() {
	reached 10 || return 0
	path add mtu "$(narrowest)" || return
	reached 20 || return 0
	path del || return
	still_there
}
