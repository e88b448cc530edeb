# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Devices on netdevs other than a veth, each with an rping over it.

# add SIDE ARGUMENT...: a netdev, where the kernel has that kind
add() {
	ip -n "$1" link add "${@:2}" && return
	echo "this kernel has none"
	exit 77
}

# The RDMA core takes 127.0.0.1 for any address, and needs a P_Key to connect to it
made_lo() {
	B4=10.0.5.1
	ip -n a addr add $B4/32 dev lo
}

made_vlan() {
	local side

	for side in a b; do
		add $side link v$side name over type vlan id 5
		address $side over 1500 "10.0.5.$2" "fd05::$2"
		shift
	done
	B4=10.0.5.2
}

made_bond() {
	local side

	for side in a b; do
		add $side name over type bond mode active-backup
		ip -n $side link set v$side down
		ip -n $side link set v$side master over
		address $side over 1500 "10.0.5.$2" "fd05::$2"
		shift
	done
	B4=10.0.5.2
}

# over KIND SIDE NETDEV: rping between a and SIDE, over NETDEV in each
over() {
	local server

	without_devices
	network pair 1500
	spoil
	"made_$1" "$1" 1 2
	KINDS="mpa to mpa, $1"
	ns a rdma link add iwa type mpa netdev "$3" || fail "no device on $3"
	[[ $2 == a ]] || ns b rdma link add iwb type mpa netdev "$3" ||
		fail "no device on $3 in b"
	command ns "$2" rping -s -a "$B4" -V -S 65535 -C 20 >"$STATE/theirs" 2>&1 &
	server=$!
	until_true 30 listens "$2" || { show_theirs; fail "no listener"; }
	asks rping -c -a "$B4" -V -S 65535 -C 20
	wait $server || fail "the server: $?"
	(($(counted a rx_write))) || fail "nothing went over $3"
	without_devices
	passed rping 80 2621400
}

listens() { ns "$1" ss -Hltn "sport = :7174" | grep -q .; }

test_case netdev.lo "both ends on lo" over lo a lo
test_case netdev.vlan "a VLAN" over vlan b over
test_case netdev.bond "a bond" over bond b over
