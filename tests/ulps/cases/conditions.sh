# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# What each protocol meets on a network. A row has the MTU, the family of addresses, the
# settings net.mpa.*, and how packets are queued; its evidence tells, while the
# connections are up after the load, that the condition was there.

CONDITIONS=(loss reorder duplicate rate mtu9000 markers ooo ipv6 together)
declare -A WIRE=(
	[loss]="1500 4 - netem loss 1% limit 10000"
	[reorder]="1500 4 - netem delay 5ms reorder 25% 50% limit 10000"
	[duplicate]="1500 4 - netem duplicate 20% limit 10000"
	[rate]="1500 4 - tbf rate 20mbit burst 20kb limit 60kb"
	[mtu9000]="9000 4 -"
	[markers]="1500 4 markers"
	[ooo]="1500 4 ooo netem loss 1% limit 10000"
	[ipv6]="1500 6 -"
	[together]="9000 6 ooo netem delay 2ms reorder 10% loss 1% duplicate 5% limit 10000"
)
declare -A EVIDENCE=(
	[loss]="tcp TcpRetransSegs 100"
	[reorder]="tcp TcpExtTCPOFOQueue 100"
	[duplicate]="tcp TcpExtTCPDSACKOldSent 100"
	[rate]="overlimits"
	[mtu9000]="all .emss > 8000"
	[markers]='all .flags|contains(["markers-tx","markers-rx"])'
	[ooo]="placed_early"
	[ipv6]='all .peer_addr|startswith("fd00::")'
)
EVIDENCE[together]="${EVIDENCE[loss]}; ${EVIDENCE[reorder]}; ${EVIDENCE[duplicate]};
	${EVIDENCE[mtu9000]}; ${EVIDENCE[markers]}; ${EVIDENCE[ipv6]}; placed_early"

# condition CONDITION KIND_A KIND_B: a load in it, compared
condition() {
	local mtu family setting queue evidence

	one_guest
	read -r mtu family setting queue <<<"${WIRE[$1]}"
	[[ $setting == - ]] || sysctl -qw "net.mpa.$setting=1" || fail "$setting"
	wire "$2" "$3" "$mtu"
	# shellcheck disable=SC2086
	[[ -z $queue ]] || qdisc $queue
	nstat -rn
	family=B$family
	start "${!family}"
	verified "$FILE" rw=randwrite bs=4k iodepth=32 size=4m
	verified "$FILE" rw=write bs=128k iodepth=8 size=16m
	while read -rd ';' evidence; do
		# shellcheck disable=SC2086
		[[ "$2 $3 $evidence" == siw\ siw\ all* ]] ||
			${evidence%% *} ${evidence#* } || fail "$1: not $evidence"
	done <<<"${EVIDENCE[$1]};"
	steady
	stop
}

# tcp COUNTER MORE: it has increased by more. Some is also seen on a good wire,
# if the machine is slow.
tcp() { nstat -jsz "$1" | tee >(cat >&2) | jq -e ".kernel.$1 > $2" >/dev/null; }

overlimits() { tc -j -s qdisc show dev va | jq -e '.[].overlimits > 0' >/dev/null; }

placed_early() {
	rdma -j statistic | tee >(cat >&2) |
		jq -e 'length > 0 and all(.[]; .rx_ahead > 0)' >/dev/null
}

# condition_cases PART: with siw at an end only what siw can have, and what it counts
condition_cases() {
	local name ends

	for name in "${CONDITIONS[@]}"; do
		test_case "$1.mpa.mpa.$name" "fio, compared: ${WIRE[$name]}" \
			condition "$name" mpa mpa
	done
	for ends in "${FEW_ENDS[@]:1}"; do
		for name in loss ipv6; do
			# shellcheck disable=SC2086
			test_case "$1.${ends/ /.}.$name" "fio, compared: ${WIRE[$name]}" \
				condition "$name" $ends
		done
	done
}
