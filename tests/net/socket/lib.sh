# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Common functions of the socket tests. They run in a guest of tests/vm, as root.

PING=/dev/mpa_ping
STATE=/tmp/mpa-test
PORT=5044
SLOW=1			# the debug kernel is
[[ ! -e /sys/kernel/debug/kmemleak ]] || SLOW=4
mkdir -p "$STATE"

declare -A R=()		# the result read last
declare -A S=()		# figures about segments, see judge()

REQ_KEY=4d504120494420526571204672616d65
REP_KEY=4d504120494420526570204672616d65

DOING=			# current step, if a case has many

fail() {
	echo "FAILED: ${DOING:+$DOING: }$*"
	# The last output of a peer that listens
	[[ ! -e $STATE/server ]] || tail -n 3 "$STATE/server"
	exit 1
}

# The same as the guest's program ns, without starting a shell for it. "command ns" is
# the program, which has the pid of its command.
ns() { nsenter --net="/run/netns/$1" -- "${@:2}"; }

set_sysctl() { ns "$1" sysctl -qw "$2" || fail "sysctl $2 in $1"; }

# A while, without starting a process
exec {NAP}<> <(:)
nap() { read -rt 0.05 -u $NAP || true; }

# until_true SECONDS COMMAND...: on the debug kernel it may take longer, and where the
# machine stalls, too: there are four looks for each second, even if the time is over.
# slowwait() of the kernel's selftests starts three processes for each look, which
# emulation makes slow.
until_true() {
	local end=$((SECONDS + $1 * SLOW)) looks=$((4 * $1))

	until "${@:2}"; do
		((looks-- > 0 || SECONDS < end)) || return 1
		nap
	done
}

# listens NS PORT
listens() { ns "$1" ss -Hltn "sport = :$2" | grep -q .; }

# unload MODULE, whatever goes on
unload() { timeout $((60 * SLOW)) rmmod "$1" || fail "rmmod $1"; }

reload() {
	unload mpa_ping
	unload mpa
	[[ ! -e /proc/net/mpa_stat ]] || fail "/proc/net/mpa_stat is left"
	modprobe -a mpa mpa_ping || fail "modprobe"
}

# Networks. A network stays up until a case needs a different one.

links_down() {
	local space

	for space in a b r; do
		[[ ! -e /run/netns/$space ]] || ip netns del "$space"
	done
	rm -f "$STATE"/network "$STATE"/no-crc.*
}

# Drop the network after this case: something in it was changed.
spoil() { : >"$STATE/network"; }

new_space() {
	local space

	for space; do
		ip netns add "$space"
		ip -n "$space" link set lo up
		ns "$space" sysctl -qw net.ipv6.conf.default.accept_dad=0 \
			net.ipv6.conf.all.accept_dad=0
		# Small messages are to be zero copy, too; -e: mpa may not be there
		ns "$space" sysctl -qew net.mpa.zerocopy_min=0
	done
}

# network KIND MTU: a and b connected (pair), through the router r (routed),
# or a alone (lo).
network() {
	local key="$1 ${2-}"

	if [[ $(cat "$STATE/network" 2>/dev/null) != "$key" ]]; then
		links_down
		"network_$1" "${2-}" || fail "no network $key"
		echo "$key" >"$STATE/network"
	fi
	"names_$1"
}

names_lo() { A4=127.0.0.1 B4=127.0.0.1 B6=::1 SERVER=a; }
names_pair() { A4=10.0.0.1 B4=10.0.0.2 A6=fd00::1 B6=fd00::2 SERVER=b; }
names_routed() { A4=10.0.1.1 B4=10.0.2.1 A6=fd01::1 B6=fd02::1 SERVER=b; }

network_lo() { new_space a; }

# address NS DEV MTU IPV4 IPV6
address() {
	ip -n "$1" -batch - <<-ADDRESSES
		addr add $4/24 dev $2
		link set $2 mtu $3 up
	ADDRESSES
	(($3 < 1280)) || ip -n "$1" addr add "$5/64" dev "$2" nodad
}

network_pair() {
	new_space a b
	# Not vb's number: siw, asked to listen on all addresses, binds to that of its
	# netdev, but in the namespace of the program
	ip link add va index 11 netns a type veth peer name vb netns b
	address a va "$1" 10.0.0.1 fd00::1
	address b vb "$1" 10.0.0.2 fd00::2
}

# Sender, router, receiver, with each wire segment a packet of its own.
network_routed() {
	local end

	new_space a b r
	ns r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip link add va netns a type veth peer name ra netns r
	ip link add vb netns b type veth peer name rb netns r
	address a va "$1" 10.0.1.1 fd01::1
	address r ra "$1" 10.0.1.2 fd01::2
	address r rb "$1" 10.0.2.2 fd02::2
	address b vb "$1" 10.0.2.1 fd02::1
	for end in a:va r:ra r:rb b:vb; do
		ns "${end%:*}" ethtool -K "${end#*:}" \
			tso off gso off gro off >/dev/null || return
	done
	ip -n a route add default via 10.0.1.2
	ip -n b route add default via 10.0.2.2
	if (($1 >= 1280)); then
		ip -n a route add default via fd01::2
		ip -n b route add default via fd02::2
	fi
}

# mpa_ping

command_in() {
	note_no_crc "$1"
	ns "$1" bash -c 'echo "$1" >"$2"' - "$2" $PING/cmd
}

# Consumers do not see whether CRCs are in use. Administrators do, and so do the
# tests: R[crc] is 0 if there was a connection without since this was called.
note_no_crc() { counter "$1" MpaNoCrc >"$STATE/no-crc.$1"; }

# serve OPTION...: start a server on the server's side; it ends with the case.
serve() {
	BEFORE=$(last_served)
	serve_in "$SERVER" "port=$PORT" "$@"
}

serve_in() {
	local space=$1

	shift
	command_in "$space" "serve $*" || fail "serve $* in $space"
	echo "$space ${1#port=}" >>"$STATE/serving"
}

stop_serving() {
	local space port

	[[ -e $STATE/serving ]] || return 0
	while read -r space port; do
		[[ ! -e /run/netns/$space ]] ||
			command_in "$space" "stop port=$port" 2>/dev/null
	done <"$STATE/serving"
	rm "$STATE/serving"
}

read_result() {
	local key value text noted now

	text=$(ns "$1" cat "$PING/$2") || fail "no $2 in $1"
	R=()
	while IFS='=' read -r key value; do
		[[ -z $key ]] || R[$key]=$value
	done <<<"$text"
	noted=$(cat "$STATE/no-crc.$1" 2>/dev/null)
	now=$(counter "$1" MpaNoCrc)
	R[crc]=$((${now:-0} <= ${noted:-0}))
}

show_result() {
	local key

	for key in "${!R[@]}"; do
		echo -n "$key=${R[$key]} "
	done
	echo
}

# expect KEY=VALUE...: fail unless the result has these values
expect() {
	local pair

	for pair; do
		[[ ${R[${pair%%=*}]-none} == "${pair#*=}" ]] && continue
		show_result
		fail "$pair expected, ${pair%%=*}=${R[${pair%%=*}]-(nothing)} found"
	done
}

# ping ADDRESS OPTION...: run it from a; R has the result, the status is kept
ping_to() {
	local address=$1 status=0

	shift
	[[ " $*" == *" timeout="* ]] || set -- "$@" timeout=$((30 * SLOW))
	command_in a "ping addr=$address port=$PORT $*" 2>"$STATE/ping.err" ||
		status=$?
	read_result a result
	return $status
}

ping_ok() {
	ping_to "$@" || { show_result; fail "ping $*"; }
	expect status=0 reason=ok mismatches=0 mpa_error=0
}

last_served() { ns "$SERVER" cat $PING/serve_result 2>/dev/null; }

# The connection that the server has finished since it was started, or since
# this was called last; R has its result.
served() {
	until_true 30 served_another ||
		fail "the server has not finished a connection"
	BEFORE=$(last_served)
	read_result "$SERVER" serve_result
}

served_another() { [[ $(last_served) != "$BEFORE" ]]; }

# Counters

counter() {
	ns "$1" awk -v name="$2" '$1 == name { print $2 }' /proc/net/mpa_stat
}

# grown NS NAME BEFORE AMOUNT
grown() {
	local now

	now=$(counter "$1" "$2")
	((now - $3 == $4)) || fail "$2 in $1 went from $3 to $now, not by $4"
}

# until_grown NS NAME BEFORE AMOUNT: wait until it is that much more, or above
until_grown() {
	until_true 30 has_grown "$@" || fail "$2 in $1 does not grow by $4"
}

has_grown() { (($(counter "$1" "$2") - $3 >= $4)); }

# The test peer, tests/peer, which lists its steps

# play STEP...: connect from a to the server, and do that
play() { ns a mpa-peer -t $((20 * SLOW)) connect "$B4" $PORT "$@"; }

# client STEP...: play, and fail if anything differs from the steps
client() {
	local status=0

	play "$@" >"$STATE/client" || status=$?
	((status == 0)) || { tail "$STATE/client"; fail "mpa-peer: $status"; }
}

# zeroes N: that many octets
zeroes() { (($1 == 0)) || printf "%0$(($1 * 2))d" 0; }

# same GOT WANTED WHAT
same() { [[ $1 == "$2" ]] || fail "$3: '$1', not '$2'"; }

# like GOT PATTERN WHAT
like() {
	# shellcheck disable=SC2053
	[[ $1 == $2 ]] || fail "$3: '$1', not '$2'"
}

# Emulation is late at times; TCP would then repeat a segment, and the SACK
# block for it split one of the other direction.
no_probes() {
	local space

	for space in a b; do
		set_sysctl $space net.ipv4.tcp_early_retrans=0
		set_sysctl $space net.ipv4.tcp_dsack=0
	done
}

# Captures

# capture_start NS DEVICE NAME [OPTION...]
capture_start() {
	rm -f "$STATE/$3.err"
	command ns "$1" tcpdump -i "$2" -s 10000 -B 8192 \
		--immediate-mode -w "$STATE/$3.pcap" "${@:4}" tcp \
		2>"$STATE/$3.err" &
	echo $! >"$STATE/$3.pid"
	until_true 30 grep -qs '^tcpdump: listening' "$STATE/$3.err" ||
		fail "tcpdump does not start: $(cat "$STATE/$3.err")"
}

# all_captured PID ERRORS: true if this tcpdump has ended, or has nothing left to do. It
# answers the signal with a line of numbers in ERRORS, and takes all packets that wait
# before it sleeps again: then the next answers are the same. It may be interrupted
# before it takes one, hence four of them.
all_captured() {
	kill -USR1 "$1" 2>/dev/null || return 0
	tail -n 4 "$2" | uniq -c | grep -q '^ *4 .*captured'
}

capture_stop() {
	local pid

	pid=$(<"$STATE/$1.pid")
	until_true 30 all_captured "$pid" "$STATE/$1.err" ||
		fail "tcpdump is late: $(cat "$STATE/$1.err")"
	kill "$pid" 2>/dev/null
	wait "$pid"
	grep -q '^0 packets dropped by kernel' "$STATE/$1.err" ||
		fail "tcpdump lost packets: $(cat "$STATE/$1.err")"
}

# judge CAPTURE ADDRESS: the octets that ADDRESS sent have to be startup frames and
# FPDUs, right to the last octet; S has the figures about its segments.
judge() {
	local said pair

	said=$(mpa-peer segments "$STATE/$1.pcap" "$2") ||
		fail "capture $1: $(tail -n 1 <<<"$said")"
	echo "$1, $2:"
	echo "$said"
	S=()
	for pair in $said; do
		S[${pair%%=*}]=${pair#*=}
	done
}

# walk CAPTURE ADDRESS MARKERS MTU: the same, with markers or without, and no packet
# longer than the MTU
walk() {
	judge "$1" "$2"
	(((S[markers] > 0) == $3)) || fail "capture $1 has ${S[markers]} markers"
	((S[longest] <= $4)) || fail "a packet of ${S[longest]} octets"
}

aligned() {
	((S[segments] > 0 && S[segments] == S[aligned])) ||
		fail "${S[aligned]} of ${S[segments]} segments hold whole FPDUs only"
}

# An FPDU without markers, 48 octets with a ULPDU of 42; its CRC was computed
# once, by another program
FPDU=002a4143$(zeroes 40)92efe534
