# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Devices on netdevs other than a veth, each with an rping over it; what the tools say of a
# device and its connection; the kernel's ynl; and pyverbs' own tests.

# add SIDE ARGUMENT...: a netdev
add() { ip -n "$1" link add "${@:2}" || fail "no netdev: ${*:2}"; }

# The RDMA core takes 127.0.0.1 for any address, and needs a P_Key to connect to it
made_lo() {
	B4=10.0.5.1
	ip -n a addr add $B4/32 dev lo
}

made_vlan() {
	local side

	modprobe 8021q
	for side in a b; do
		add $side link v$side name over type vlan id 5
		address $side over 1500 "10.0.5.$2" "fd05::$2"
		shift
	done
	B4=10.0.5.2
}

made_bond() {
	local side

	modprobe bonding max_bonds=0
	for side in a b; do
		add $side name over type bond mode active-backup
		ip -n $side link set v$side down
		ip -n $side link set v$side master over
		address $side over 1500 "10.0.5.$2" "fd05::$2"
		shift
	done
	B4=10.0.5.2
}

# over KIND SIDE NETDEV: rping between a and SIDE, over NETDEV in each; @ in its name is
# the end
over() {
	local server

	without_devices
	network pair 1500
	spoil
	"made_$1" "$1" 1 2
	KINDS="mpa to mpa, $1"
	ns a rdma link add iwa type mpa netdev "${3/@/a}" || fail "no device on $3"
	[[ $2 == a ]] || ns b rdma link add iwb type mpa netdev "${3/@/b}" ||
		fail "no device on $3 in b"
	command ns "$2" rping -s -a "$B4" -V -S 65535 -C 20 >"$STATE/theirs" 2>&1 &
	server=$!
	until_true 30 listens "$2" 7174 || { show_theirs; fail "no listener"; }
	asks rping -c -a "$B4" -V -S 65535 -C 20
	wait $server || fail "the server: $?"
	(($(counted a rx_write))) || fail "nothing went over $3"
	without_devices
	passed rping 80 2621400
}

# The RDMA core has each device listen to a loopback address, one that is added later as
# well; only that of lo can hear.
loopback() {
	local netdev address

	without_devices
	network pair 1500
	spoil
	KINDS="mpa alone"
	ip -n a link add second type dummy && ip -n a link set second up
	for netdev in va lo; do
		ns a rdma link add "on-$netdev" type mpa netdev $netdev ||
			fail "no device on $netdev"
	done
	! ns a rdma link add "$(printf '%032d' 1)" type mpa netdev second ||
		fail "iw_cm takes no name as long"
	for address in 127.0.0.1 ::1; do
		command ns a rdma_server -s $address >"$STATE/theirs" 2>&1 &
		PROGRAM=$!
		until_true 30 listen_at $address 2 || { show_theirs; fail "not two"; }
		ns a rdma link add later type mpa netdev second || fail "no third"
		until_true 30 listen_at $address 3 || fail "not the third"
		# A dummy has no limit.
		says 'max_mtu:.*4096' ibv_devinfo -d later
		ns a mpa-peer -t 20 connect $address 7471 "request:$ENHANCED,C=1" \
			"expect-reply:rev=2,s=1,A=1,C=1,r=0" fpdu:rtr=write \
			"${BACK[@]}" || fail "the peer: $?"
		theirs_ended
		rdma link delete later
	done
	rdma link delete on-va
	rdma link delete on-lo
	passed rdma_server 2 32
}

# A listener on all addresses is one of each device, but takes no port in the namespace of
# another, and does not keep that namespace.
elsewhere() {
	devices mpa mpa
	serves 7174 rping -s
	! listens a 7174 || fail "$(ns a ss -ltn)"
	spoil
	ip netns delete a
	until_true 10 eval '[[ -z $(rdma link) ]]' || fail "they stay: $(rdma link)"
	kill "$PROGRAM"
	rm "$STATE/devices"
}

# A peer may send to an address of another netdev of the host. Its Request is rejected at
# once: the core would give it to that netdev's device, with the cm_id of this one, which
# may go before the program answers.
astray() {
	devices mpa mpa
	spoil
	add b other type dummy
	ip -n b addr add 10.0.5.2/24 dev other && ip -n b link set other up
	ip -n a route add 10.0.5.2 dev va
	ns b rdma link add iwo type mpa netdev other || fail "no device on a dummy"
	serves 7471 ucmatose -c 9
	kill -STOP "$PROGRAM"
	ns a mpa-peer -t 20 connect 10.0.5.2 7471 request expect-reply:r=1 end:fin,rest ||
		fail "the peer: $?"
	kill -KILL "$PROGRAM"
	rdma link delete iwo
	rm "$STATE/devices"
}

# Of two devices, one on a VLAN and one below, the core would use the older one only.
related() {
	local first second

	modprobe 8021q
	without_devices
	network pair 1500
	spoil
	add a link va name over type vlan id 5
	for first in va over; do
		[[ $first == va ]] && second=over || second=va
		ns a rdma link add iwa type mpa netdev $first || fail "no device on $first"
		! ns a rdma link add second type mpa netdev $second || fail "one on each"
		rdma link delete iwa
	done
}

# A VLAN has the link-local address of the netdev below, which the core finds for it.
link_local() {
	local side address

	without_devices
	network pair 1500
	spoil
	made_vlan vlan 1 2
	KINDS="mpa to mpa, vlan"
	for side in a b; do
		ns $side rdma link add iw$side type mpa netdev over ||
			fail "no device on over in $side"
	done
	address=$(ip -n b -6 -o addr show dev over scope link | awk '{ print $4 }')
	ip -n b -6 -o addr show dev vb scope link | grep -q "$address" ||
		fail "$address is not that of vb: $(ip -n b addr)"
	serves 7471 rdma_server -s ::
	asks rdma_client -s "${address%/*}%over"
	theirs_good
	passed rdma_client 2 32
}

# TCP has the port of a listener on all addresses: a device that is added does without that
# listener, and is of use.
taken() {
	local taker

	devices mpa mpa
	spoil
	rdma link delete iwb
	theirs rping -s
	until_true 30 listen_on_all || { show_theirs; fail "no listener"; }
	: >"$STATE/server"
	ns b mpa-peer -t 100 listen "$B4" 7174 expect-request >"$STATE/server" &
	taker=$!
	until_peer_listens
	ns b rdma link add iwb type mpa netdev vb || fail "no device"
	dmesg | tail -n 20 | grep -q 'iwb: .*port 7174' || fail "it does not warn"
	kill "$PROGRAM" $taker
	rm "$STATE/server" "$STATE/devices"
	KINDS="mpa to mpa"
	serves 7471 rdma_server -s "$B4"
	asks rdma_client -s "$B4"
	theirs_good
}
listen_on_all() {
	rdma resource show cm_id | grep -q 'state LISTEN .*src-addr 0.0.0.0:7174'
}

# listen_at ADDRESS N: so many devices
listen_at() {
	(($(rdma resource show cm_id | grep -c "state LISTEN .*src-addr $1:7471") == $2))
}

# says PATTERN COMMAND...: so does a line of it
says() {
	local said

	said=$("${@:2}" 2>&1) || fail "${*:2}: $? $said"
	grep -qE "$1" <<<"$said" || fail "not '$1' in ${*:2}: $said"
}

tools() {
	local client some="[1-9][0-9]*"

	devices mpa mpa
	serves 7174 rping -s -a "$B4" -V -C 1000000
	command ns a rping -c -a "$B4" -V -C 1000000 >"$STATE/ours" 2>&1 &
	client=$!
	until_true 30 connected || fail "no connection"
	says '^link iwa/1 state ACTIVE physical_state LINK_UP netdev va' \
		ns a rdma link show iwa/1
	says 'type RC state RTS .*comm rping' rdma resource show qp link iwa/1
	says 'state CONNECT .*comm rping' rdma resource show cm_id link iwa
	says ': iwa: .* qp 1 .* ctx 1' rdma resource show iwa
	# rping's client is written to and read from, and sends
	says "connected 1 tx_send $some tx_write 0 tx_read 0 tx_terminate 0 rx_send $some \
rx_write $some rx_read $some rx_terminate 0 rx_ahead 0 cq_overrun 0" \
		rdma statistic show link iwa/1
	says 'iwa[[:space:]]+[0-9a-f]{16}$' ibv_devices
	says 'state:.*PORT_ACTIVE' ibv_devinfo -v -d iwa
	says 'transport:.*iWARP' ibv_devinfo -v -d iwa
	# rping that is told of the end does not always end
	kill $client "$PROGRAM"
	wait $client "$PROGRAM"
	passed "rdma, ibv_devinfo" - -
}

# The cm_id is in state CONNECT before it is connected
connected() {
	rdma resource show qp link iwa/1 | grep -q 'state RTS .*comm rping' &&
		(($(counted a rx_write)))
}

# The port's events: 9 is ACTIVE, 10 is ERR.
WATCH='
from pyverbs.device import Context
with Context(name="iwa") as context:
    print("begun", flush=True)
    while True:
        print(context.get_async_event().event_type, flush=True)
'

# events WANTED: these, and no other
events() { [[ $(tr '\n' ' ' <"$STATE/events") == "$1 " ]]; }

port_events() {
	local watch step side to event want=begun

	devices mpa mpa
	command ns a python3 -c "$WATCH" >"$STATE/events" &
	watch=$!
	until_true 20 grep -q begun "$STATE/events" || fail "no context"
	# The carrier goes, so that the netdev comes up without one
	for step in "b down 10" "a down -" "a up -" "b up 9" "a down 10" "a up 9"; do
		read -r side to event <<<"$step"
		ip -n "$side" link set "v$side" "$to"
		if [[ $event == - ]]; then
			sleep 2
		else
			want+=" $event"
		fi
		until_true 20 events "$want" ||
			fail "$step: $want, and not $(tr '\n' ' ' <"$STATE/events")"
	done
	kill $watch
	passed "port events" - -
}

# In a: a device that is connected to itself. Python's semaphores are files.
pyverbs() {
	devices mpa mpa
	mkdir -p /dev/shm
	ns a python3 "$CASES/pyverbs-tests.py" /root/pyverbs "$CASES/pyverbs.list" \
		iwa "$A4" || fail "not as listed"
	passed pyverbs - -
}

# The kernel's program for any netlink specification says of begins and ends of
# connections, with all that is known of these, what the command mpa does.
ynl_events() {
	local program

	without_devices
	network pair 1500
	serve addr="$B4" mode=echo
	command ns b mpa -j monitor >"$STATE/mpa" 2>"$STATE/listening" &
	until_true 30 grep -q '^mpa: listening' "$STATE/listening" || fail "monitor"
	specified b --subscribe events --sleep 2 >"$STATE/ynl" 2>"$STATE/theirs" &
	program=$!
	while kill -0 $program 2>/dev/null; do
		play "send:${REQ_KEY}40010000" read:20 >/dev/null
	done
	wait $program || fail "$(<"$STATE/theirs")"
	# It does not listen as early, nor as long
	alike 'map({event: (.name | ltrimstr("conn-") | rtrimstr("-ntf"))} + .msg | plain) |
		(. - ($mpa | map(plain)) | length == 0) and
		(map(.event) | unique == ["ended", "established"])'
}

# specified NS OPTION...
specified() {
	ns "$1" python3 /root/ynl/cli.py --no-schema --spec /root/mpa.yaml --output-json "${@:2}"
}

# alike FILTER: true of what the program said, where $mpa is what the command did, and
# plain has the words of both be the same
alike() {
	jq -e --slurpfile mpa "$STATE/mpa" '
	def plain: with_entries(.key |= (gsub("-"; "_") | sub("addr[46]$"; "addr"))) |
		.flags |= sort;
	'"$1" "$STATE/ynl" >/dev/null || fail "$(tail -n +1 "$STATE"/{ynl,mpa})"
}

test_case netdev.lo "both ends on lo" over lo a lo
test_case netdev.vlan "a VLAN" over vlan b over
test_case netdev.below "addresses of a VLAN on it" over vlan b v@
test_case netdev.related "a VLAN and the netdev below it" related
test_case netdev.bond "a bond" over bond b over
test_case netdev.loopback "three devices listen to 127.0.0.1, and to ::1" loopback
test_case netdev.elsewhere "a listener on all addresses in another namespace" elsewhere
test_case netdev.linklocal "the link-local address of a VLAN" link_local
test_case netdev.taken "a device is added, and TCP has a listener's port" taken
test_case netdev.astray "a Request for an address of another netdev" astray
test_case tools "rdma, ibv_devices and ibv_devinfo" tools
test_case port_events "a port's events follow its netdev and carrier" port_events
if [[ -n ${LONG-} ]]; then
	test_case ynl.events "connections, by the kernel's program for any specification" \
		ynl_events
fi
test_case pyverbs "pyverbs' own tests, but for those listed" pyverbs
