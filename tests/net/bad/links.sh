# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Namespaces, the links between them, and what netem does to packets; see net.sh

P=			# prefix of the names of a cell's namespaces
# Two octets of its addresses: librdmacm may take RDMA devices with one GUID for one
CELL_MAC=00:00
V4='' V6=''		# addresses of b
MTU=1500
TRAINS=0 GRO=0 GSO=0	# offloads of the ends, and of the routers

in_a() { ns "${P}a" "$@"; }
in_b() { ns "${P}b" "$@"; }

# Starting a process is slow under emulation: setup() collects the commands for each
# namespace, and set_up() runs them in one shell each.
declare -A COMMANDS=()

setup() { COMMANDS[$1]+="
${*:2}"; }

set_up() {
	local name

	for name in "${!COMMANDS[@]}"; do
		ns "$P$name" sh -e -c "${COMMANDS[$name]}" || fail "namespace $name"
	done
	COMMANDS=()
}

spaces() {
	local name

	for name; do
		echo "netns add $P$name"
	done | ip -batch - || fail "no namespaces"
	for name; do
		setup "$name" "ip link set lo up
echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save
echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad
echo 1 >/proc/sys/net/ipv6/conf/all/keep_addr_on_down"
	done
}

spaces_gone() {
	local space

	for space in "/run/netns/$P"*; do
		[[ ! -e $space ]] || echo "netns del ${space##*/}"
	done | ip -batch -
}

# wires SPACE DEVICE SPACE DEVICE [OPTION...]: and more of them, a line each
wires() {
	local a va b vb options

	while read -r a va b vb options; do
		echo "link add $va netns $P$a mtu $MTU $options type veth" \
			"peer name $vb netns $P$b mtu $MTU $options"
	done | ip -batch - || fail "no veths"
}

# wire_end SPACE DEVICE NET.HOST [GATEWAY's HOST]: one of two ends, 1 and 2. They
# know each other, for to ask may take longer than a connection waits.
wire_end() {
	local net=${3%.*} host=${3#*.} peer mac

	peer=$((3 - host)) mac=02:00:$CELL_MAC:0$net
	setup "$1" "echo 0 >/proc/sys/net/ipv6/conf/$2/accept_dad"
	setup "$1" "ip -batch - <<END
link set dev $2 address $mac:0$host up
addr add 10.0.$3/24 dev $2
addr add fd0$net::$host/64 dev $2 nodad
neigh add 10.0.$net.$peer lladdr $mac:0$peer dev $2 nud permanent
neigh add fd0$net::$peer lladdr $mac:0$peer dev $2 nud permanent
END"
	[[ ! ${4-} ]] || setup "$1" "$(routes "$net" "$4")"
}

# routes NET HOST: the commands for default routes
routes() {
	echo "ip route add default via 10.0.$1.$2"
	echo "ip route add default via fd0$1::$2"
}

# offload SPACE DEVICE 0|1 FEATURE...
offload() {
	local feature args=() states=(off on)

	for feature in "${@:4}"; do
		args+=("$feature" "${states[$3]}")
	done
	setup "$1" "ethtool -K $2 ${args[*]} >/dev/null"
}

# a, two routers r and s, and b. a and b may use segmentation offloads; between the
# routers each wire segment is a packet of its own.
chain() {
	spaces a r s b
	wires <<-END
		a va r ra
		r rs s sr gso_max_segs 1
		s sb b vb
	END
	wire_end a va 1.1 2
	wire_end r ra 1.2
	wire_end r rs 3.1 2
	wire_end s sr 3.2 1
	wire_end s sb 2.2
	wire_end b vb 2.1 2
	setup r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	setup s sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	((TRAINS)) || offload a va 0 tso gso
	((TRAINS)) || offload b vb 0 tso gso
	offload b vb "$GRO" gro
	[[ $CONDITION != gro ]] || routers_merge
	set_up
	V4=10.0.2.1 V6=fd02::1
}

routers_merge() {
	offload r rs 1 gro
	offload s sr 1 gro
	offload s sb "$GSO" gso tso
}

# a, a box that cuts segments again (net_cut), a router, and b. Between the router and
# b each segment that the box has made is a packet of its own.
box() {
	spaces a m s b
	wires <<-END
		a va m ma
		m ms s sm
		s sb b vb
	END
	wire_end a va 1.1 2
	wire_end s sm 1.2
	wire_end s sb 2.2
	wire_end b vb 2.1 2
	setup s sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	setup m sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	offload m ma 0 tso gso
	offload m ms 0 tso gso
	setup m "ip link set dev ma up; ip link set dev ms up"
	set_up
	# Not ns(): kill would end the function's shell and not net_cut
	nsenter --net="/run/netns/${P}m" -- \
		net_cut "$RANDOM" ma ms >"$LOG.box" 2>&1 &
	BOX=$!
	trap 'kill $BOX' EXIT
	until grep -q ready "$LOG.box"; do
		kill -0 $BOX || fail "net_cut: $(<"$LOG.box")"
		sleep 0.05
	done
	V4=10.0.2.1 V6=fd02::1
}

# The box has made more segments than had come
was_cut() {
	local came made

	kill $BOX
	wait $BOX || fail "net_cut: status $?"
	trap - EXIT
	read -r came made < <(sed -n 's/^came=\(.*\) made=/\1 /p' "$LOG.box")
	figure cut "${made:-0}"
	((made > came)) || fail "of $came segments $made were made"
}

# emulate SPACE DEVICE NETEM...: for packets that leave by the device
emulate() {
	tc -n "$P$1" qdisc replace dev "$2" root netem "${@:3}" limit 20000 ||
		fail "netem ${*:3}"
}

# there NETEM..., back NETEM...: for packets to b, and for those to a
there() { emulate s sb "$@"; }
back() { emulate r ra "$@"; }
both() { there "$@" && back "$@"; }

diagnose() {
	local space

	for space in "/run/netns/$P"*; do
		space=${space##*/}
		[[ $space != *[ab] ]] ||
			ns "$space" ss -tinmoHO | sed "s/^/$space /"
		ip -n "$space" -6 route show | sed "s/^/$space /"
		ip -n "$space" neigh show | sed "s/^/$space /"
		tc -n "$space" -s qdisc show | grep -A 2 -E 'netem|tbf'
	done 2>&1 | head -n 60
	dmesg | tail -n 5
}
