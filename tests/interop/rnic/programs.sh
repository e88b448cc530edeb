# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# rdma-core's programs, perftest and libfabric, unchanged. All compare what they get, or
# end with an error.

# run_rping ADDRESS SIZE COUNT [LISTEN]: both ends compare
run_rping() {
	local KEPT=$KEPT

	(($2 < 10000)) || KEPT=$FEW
	record
	serves 7174 rping -s -a "${4:-$1}" -V -S "$2" -C "$3"
	asks rping -c -a "$1" -V -S "$2" -C "$3"
	theirs_good
	captured_as
	passed rping $(($3 * 4)) $(($2 * $3 * 2))
}

rping() {
	devices "$1" "$2" "${5:-1500}"
	run_rping "${6:-$B4}" "$3" "$4" "${7-}"
}

# rping_set KIND KIND SYSCTL=VALUE [MTU] [CRC in use]
rping_set() {
	devices "$1" "$2" "${4:-1500}"
	both "$3"
	CRC=${5:-$CRC}
	run_rping "$B4" 65535 50
}

# ahead PROGRAM...: with holes in the stream both ways what is behind them is placed, and
# still delivered in order
ahead() {
	local side

	devices mpa mpa
	both net.mpa.ooo=1
	MARKERS=1
	for side in a b; do
		ns $side tc qdisc replace dev v$side root netem loss 2% delay 1ms \
			limit 10000 || fail "netem"
	done
	"$@"
	for side in a b; do
		(($(counted $side rx_ahead))) || fail "nothing placed ahead in $side"
	done
	without_devices
}

ahead_rping() {
	serves 7174 rping -s -a "$B4" -V -S 65535 -C 100
	asks rping -c -a "$B4" -V -S 65535 -C 100
	theirs_good
	passed rping 400 13107000
}

ahead_rstream() {
	local options=(-T v -S 262144 -I 8 -C 5)

	serves 7471 rstream "${options[@]}"
	asks rstream -s "$B4" "${options[@]}"
	theirs_good
	passed rstream - -
}

# ucmatose KIND KIND CONNECTIONS COUNT ADDRESS SIZE...: COUNT messages of each size, the
# server's first
ucmatose() {
	local size options messages octets=0 CONNECTIONS=$3

	devices "$1" "$2"
	for size in "${@:6}"; do
		options=(-c "$3" -C "$4" -S "$size")
		serves 7471 ucmatose -b "$5" "${options[@]}"
		asks ucmatose -s "$5" "${options[@]}"
		theirs_good
		octets=$((octets + size * 2 * $3 * $4))
	done
	messages=$((2 * $3 * $4 * ($# - 5)))
	passed ucmatose $messages $octets
}

rdma_client() {
	devices "$1" "$2"
	record
	serves 7471 rdma_server
	asks rdma_client -s "$B4"
	theirs_good
	captured_as
	passed rdma_client 2 32
}

rdma_xclient() {
	devices "$1" "$2"
	serves 7471 rdma_xserver -c r
	asks rdma_xclient -s "$B4" -c r
	theirs_good
	passed rdma_xclient 2 32
}

# rsockets PROGRAM KIND KIND SIZE: both ends need the same options. -T v compares. Each end
# looks at the other's private data, too.
rsockets() {
	local options=(-T v -S "$4" -I 5 -C 5)

	devices "$2" "$3"
	serves 7471 "$1" "${options[@]}"
	asks "$1" -s "$B4" "${options[@]}"
	theirs_good
	passed "$1" - -
}

# Its server never ends
cmtime() {
	devices "$1" "$2"
	serves 7471 cmtime -b "$B4" -c 100
	asks cmtime -s "$B4" -c 100
	kill "$PROGRAM"
	passed cmtime 0 0
}

# perf_once PROGRAM SIZES: one connection to exchange addresses, one to be measured
perf_once() {
	local CONNECTIONS=2

	# shellcheck disable=SC2086
	serves 18515 "$1" -R -n 5 -d iwb $2
	# shellcheck disable=SC2086
	asks "$1" -R -n 5 -d iwa $2 "$B4"
	theirs_good
}

# perf KIND KIND PROGRAM SIZES [MTU]: -a is all sizes from 2 octets to 8 MB. perftest gives
# up if its clock is uneven, as that of a guest may be. Its server listens a second time
# for the connection to be measured; a client that is refused because it was faster tries
# again, and crashes in librdmacm.
perf() {
	local try own="Can't produce a report|CM_EVENT_REJECTED; error: -111"

	devices "$1" "$2" "${5:-1500}"
	for ((try = 0; try < 5; try++)); do
		(perf_once "$3" "$4") && break
		grep -qsE "$own" "$STATE/ours" "$STATE/theirs" || fail "$3"
		pkill -x "$3"
		until_true 30 free 18515 || fail "its server listens still"
	done
	((try < 5)) || fail "no figures in $try runs"
	grep -qE '^ *(8388608|65536) ' "$STATE/ours" || fail "no figures"
	passed "$3" - -
}

fi_pingpong() {
	devices "$1" "$2"
	serves 47592 fi_pingpong -p verbs -e msg -I 5 -c
	asks fi_pingpong -p verbs -e msg -I 5 -c "$B4"
	theirs_good
	passed fi_pingpong - -
}

for ends in "mpa mpa" "mpa stock" "stock mpa" "rev1 mpa"; do
	name=${ends/ /.}
	name=${name/stock/siw}
	# shellcheck disable=SC2086
	{
		test_case "$name.rping" "rping -V, 100 times 64 KB" \
			rping $ends 65535 100
		test_case "$name.rdma_client" "a Send each way" rdma_client $ends
		test_case "$name.rstream" "rsockets, all sizes, compared" \
			rsockets rstream $ends all
		[[ $ends != rev1* ]] || continue
		test_case "$name.rping.small" "rping -V, 100 times 100 octets" \
			rping $ends 100 100
		test_case "$name.rdma_xclient" "rdma_xclient -c r" rdma_xclient $ends
		test_case "$name.fi_pingpong" "libfabric over verbs, compared" \
			fi_pingpong $ends
		for op in send write read; do
			for kind in bw lat; do
				# Its server speaks first
				[[ $ends.$op.$kind != "stock mpa.write.lat" ]] ||
					continue
				sizes="-s 65536"
				[[ -z ${LONG-} && $name.$kind != mpa.mpa.bw ]] ||
					sizes=-a
				test_case "$name.ib_${op}_$kind" \
					"perftest with $sizes" \
					perf $ends ib_${op}_$kind "$sizes"
			done
		done
		test_case "$name.rping.ipv6" "rping over IPv6" \
			rping $ends 65535 20 1500 "$B6"
		test_case "$name.rping.mtu9000" "rping, MTU 9000" \
			rping $ends 65535 20 9000
	}
done
# The core must get addresses of IPv4 for it
test_case mpa.mpa.rping.mapped "rping over IPv4 to a listener on ::" \
	rping mpa mpa 100 20 1500 "" ::
for ends in "mpa mpa" "mpa stock" "p2p mpa"; do
	name=${ends/ /.}
	name=${name/stock/siw}
	# shellcheck disable=SC2086
	{
		test_case "$name.ucmatose" \
			"4 connections, 100 messages of 5000 octets each way" \
			ucmatose $ends 4 100 "$B4" 5000
		test_case "$name.ucmatose.sizes" "messages of 1 to 65535 octets" \
			ucmatose $ends 1 20 "$B4" 1 63 1441 16384 65535
	}
done
test_case p2p.mpa.ib_write_lat "perftest with -s 65536" \
	perf p2p mpa ib_write_lat "-s 65536"
test_case mpa.mpa.ucmatose.ipv6 "IPv6" ucmatose mpa mpa 4 100 "$B6" 5000
test_case mpa.mpa.riostream "RDMA Writes of rsockets, compared" \
	rsockets riostream mpa mpa 65536
test_case mpa.mpa.cmtime "100 connections at once" cmtime mpa mpa
test_case mpa.mpa.ib_send_bw.srq "perftest with a shared receive queue" \
	perf mpa mpa ib_send_bw "-s 65536 --use-srq"
test_case mpa.mpa.ib_write_bw.mtu9000 "perftest, MTU 9000" \
	perf mpa mpa ib_write_bw "-s 65536" 9000
test_case mpa.mpa.rping.markers "with markers in both directions" \
	rping_set mpa mpa net.mpa.markers=1
test_case mpa.mpa.rping.mtu576 "markers, and an MTU of 576" \
	rping_set mpa mpa net.mpa.markers=1 576
test_case mpa.mpa.rping.ooo "2 % of the segments lost: placed ahead, verified" \
	ahead ahead_rping
test_case mpa.mpa.rstream.ooo "2 % of the segments lost: placed ahead, compared" \
	ahead ahead_rstream
# siw asks for CRC only where it is built so, and then has it
for ends in "mpa mpa 0" "mpa stock 0" "stock mpa 0" "rev1 mpa 0" "crc mpa 1"; do
	read -r a b crc <<<"$ends"
	name=$a.$b
	test_case "${name/stock/siw}.rping.crc0" "we ask for no CRC" \
		rping_set "$a" "$b" net.mpa.crc=0 1500 "$crc"
done
