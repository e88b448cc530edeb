# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# ULPDUs across networks of all kinds, and the options of the sample consumer.

# Both ways, both with markers: lengths around the corners of pad and markers
echo_sizes() {
	local address=$1 size

	serve markers=1 mode=echo
	for size in 1 2 3 4 5 127 128 498 502 506 507 1000 mulpdu 4096 64768; do
		ping_ok "$address" markers=1 "size=$size" count=5 verify=1
		expect ulpdus_tx=5 ulpdus_rx=5 markers_tx=1 markers_rx=1 crc=1 \
			revision=1
		[[ $size == mulpdu ]] ||
			expect "bytes_tx=$((size * 5))" "bytes_rx=$((size * 5))"
	done
	served
	expect status=0 ulpdus_rx=5 ulpdus_tx=5 bytes_rx=$((64768 * 5))
}

echo_on() {
	network "$1" "$2"
	case $3 in
	4) echo_sizes "$B4" ;;
	6) echo_sizes "$B6" ;;
	esac
}

echo_linklocal() {
	local address

	network pair 1500
	address=$(ns b ip -6 -o addr show dev vb scope link |
		awk '{ sub("/.*", "", $4); print $4 }')
	serve mode=echo
	ping_ok "$address%va" size=1000 count=10 verify=1
	expect ulpdus_rx=10
	ping_to "$address" size=1000 && fail "no device, yet it works"
	return 0
}

echo_bound() {
	network pair 1500
	serve addr="$B4" mode=echo
	ping_ok "$B4" size=100
	ping_to "$B6" size=100 && fail "the server has another address"
	expect reason=refused
}

# The consumer's results are the same with CRC and without
crc_transparent() {
	local crc

	network pair 1500
	spoil
	for crc in 1 0; do
		set_sysctl a "net.mpa.crc=$crc"
		set_sysctl b "net.mpa.crc=$crc"
		serve mode=echo markers=1
		ping_ok "$B4" size=1000 count=5 verify=1
		expect "crc=$crc" ulpdus_rx=5
		ns a cat $PING/result | grep -vE '^(rtt_|elapsed_ns|local)' \
			>"$STATE/seen.$crc"
		stop_serving
	done
	cmp "$STATE/seen.0" "$STATE/seen.1" || fail "the consumer sees it"
}

crc_default() {
	network pair 1500
	same "$(ns a cat /proc/sys/net/mpa/crc)" 1 "net.mpa.crc"
	serve mode=echo
	ping_ok "$B4"
	expect crc=1
	ns a sysctl -qw net.mpa.crc=2 2>/dev/null && fail "crc=2 was taken"
	ns a sysctl -qw net.mpa.startup_timeout_ms=0 2>/dev/null &&
		fail "a timeout of 0 was taken"
	ns a sysctl -qw net.mpa.cpus=0-1000000 2>/dev/null &&
		fail "a CPU that cannot be was taken"
	set_sysctl a net.mpa.cpus=0-1
	same "$(ns a cat /proc/sys/net/mpa/cpus)" 0-1 "net.mpa.cpus"
	same "$(ns a cat /proc/sys/net/mpa/crc)" 1 "net.mpa.crc"
}

# Many posts at a time
zero_copy() {
	network pair 1500
	serve mode=echo markers=1
	ping_ok "$B4" size=1000 count=200 batch=32 verify=1 zerocopy=1
	expect ulpdus_tx=200 ulpdus_rx=200
	ping_ok "$B4" size=30000 count=10 batch=4 verify=1 zerocopy=1
	expect ulpdus_tx=10 ulpdus_rx=10 bytes_rx=300000
}

# Two tasks write to one open file.
payload_twice() {
	network pair 1500
	ns a bash -c "{ head -c 2097152 /dev/zero & head -c 2097152 /dev/zero; wait; } \
		>$PING/payload" ||
		fail "not written"
	serve mode=sink
	ping_ok "$B4" mode=sink payload=1
	served
	expect bytes_rx=4194304
}

# Mixed lengths in a row; another number gives other lengths
mixed_lengths() {
	local octets

	network pair 1500
	serve mode=echo markers=1
	ping_ok "$B4" size=20000 mix=1 count=100 batch=10 verify=1
	expect ulpdus_tx=100 ulpdus_rx=100 "bytes_rx=${R[bytes_tx]}"
	octets=${R[bytes_tx]}
	((octets > 100000 && octets < 1000000)) || fail "$octets octets"
	ping_ok "$B4" size=20000 mix=1 count=100 batch=10 verify=1 zerocopy=1
	expect "bytes_tx=$octets"
	ping_ok "$B4" source=1 mix=2 count=100 size=20000 verify=1
	((R[ulpdus_tx] > 100 && R[bytes_tx] == 2000000)) ||
		fail "${R[ulpdus_tx]} ULPDUs for ${R[bytes_tx]} octets"
}

# rx_mem_max of the initial namespace limits all namespaces. Echoes keep batches
# for one delay; whether FPDUs arrive within it is chance, so there are more pings.
initial_rx_mem() {
	local max before count

	max=$(sysctl -n net.mpa.rx_mem_max)
	# shellcheck disable=SC2064
	trap "sysctl -qw net.mpa.rx_mem_max=$max" EXIT
	network pair 1500
	spoil
	ns b tc qdisc replace dev vb root netem delay 20ms || fail "netem"
	sysctl -qw net.mpa.rx_mem_max=1 || fail "rx_mem_max"
	serve mode=echo
	before=$(counter b MpaRxLimited)
	for ((count = 0; count < 20; count++)); do
		ping_ok "$B4" size=1000 count=400 batch=200 verify=1
		(($(counter b MpaRxLimited) > before)) && return
	done
	fail "there was no limit"
}

# Connections without MPA behave as without the module
plain_tcp() {
	local sum server full

	network pair 1500
	head -c 2000000 /dev/urandom >"$STATE/file"
	sum=$(sha256sum <"$STATE/file")
	ns b nc -l -p 7777 -e sh -c "sha256sum >$STATE/sum" &
	until ns b netstat -ltn | grep -q ':7777 '; do sleep 0.05; done
	server=$!
	capture_start b vb plain
	ns a nc "$B4" 7777 <"$STATE/file"
	wait $server
	capture_stop plain
	same "$(cat "$STATE/sum")" "$sum" "the file's SHA-256"
	# Segments are as long as TCP likes, not cut for MPA
	full=$(tcpdump -r "$STATE/plain.pcap" -nn \
		"src host $A4 and greater 1514" 2>/dev/null | wc -l)
	((full >= 10)) || fail "$full full segments"
}

for mtu in 576 1500 9000; do
	test_case "echo.ipv4.mtu$mtu" "DD-01 DD-02 DD-03 FR-01 FR-02 SZ-05 \
MK-09 MK-21 CR-01 RX-01 FR-10" echo_on pair $mtu 4
done
# A payload is there until the next one is written, and an empty one is none.
payload_kept() {
	network pair 1500
	serve mode=sink
	printf %01000d 0 | ns a bash -c "cat >$PING/payload" || fail "not written"
	! ns a cat $PING/payload 2>"$STATE/error" || fail "it was read"
	ping_ok "$B4" mode=sink payload=1
	served
	expect bytes_rx=1000
	ns a bash -c ": >$PING/payload" || fail "not emptied"
	! command_in a "ping addr=$B4 port=$PORT mode=sink payload=1" 2>"$STATE/error" ||
		fail "nothing was sent: status 0"
	grep -q 'No data available' "$STATE/error" || fail "$(<"$STATE/error")"
}

# Nothing after a NUL in a command is left out silently: the command fails.
command_nul() {
	network pair 1500
	serve mode=sink
	! ns a bash -c "printf 'ping addr=$B4 port=$PORT mode=sink\\0 count=5' >$PING/cmd" \
		2>"$STATE/error" || fail "status 0"
	grep -q 'Invalid argument' "$STATE/error" || fail "$(<"$STATE/error")"
}

for mtu in 1280 1500 9000; do
	test_case "echo.ipv6.mtu$mtu" "DD-01 DD-02 DD-03 FR-01 SZ-05 MK-09" \
		echo_on pair $mtu 6
done
test_case echo.lo.ipv4 "DD-01 DD-02 SZ-05 RX-16" echo_on lo 0 4
test_case echo.lo.ipv6 "DD-01 DD-02 SZ-05" echo_on lo 0 6
test_case echo.linklocal "DD-09" echo_linklocal
test_case echo.bound "DD-09" echo_bound
test_case crc.transparent "CR-09" crc_transparent
test_case crc.default "CR-03 CR-04 CR-08" crc_default
test_case send.zerocopy "TX-01 DD-01 OO-17" zero_copy
test_case send.mix "DD-01 SZ-05" mixed_lengths
test_case send.payload "of mpa_ping: two write" payload_twice
test_case send.payload.kept "of mpa_ping: a read, and none" payload_kept
test_case send.nul "of mpa_ping: a NUL in a command" command_nul
test_case receive.limit "rx_mem_max of the initial namespace" initial_rx_mem
test_case plain.tcp "TX-14" plain_tcp
