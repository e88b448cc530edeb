# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Common functions of the cases, on top of those of siw's: namespaces a, where clients
# run, and b, where servers do, with an RDMA device in each.

. /root/interop/lib.sh

PORTS='7174|7471|7475|18515|47592'

# The runner: as for siw's cases

begin_all() {
	mkdir -p "$OUT"
	modprobe -a mpa mpa_rnic
}

end_all() {
	without_devices
	links_down
}

after_failure() { without_devices; }

without_devices() {
	rdma link delete iwa 2>/dev/null
	rdma link delete iwb 2>/dev/null
	rm -f "$STATE/devices"
	links_down
	[[ ! -d /sys/module/siw ]] ||
		until_true 30 rmmod siw 2>/dev/null || fail "siw does not unload"
}

# device SIDE KIND: mpa, or that kind of siw
device() {
	local type=siw

	case $2 in
	mpa) type=mpa ;;
	*) [[ -d /sys/module/siw ]] || load_siw "$2" || fail "no siw ($2)" ;;
	esac
	ns "$1" rdma link add "iw$1" type $type netdev "v$1" ||
		fail "no device of type $type in $1"
}

# devices KIND_A KIND_B [MTU]
devices() {
	local key="$*" side

	KINDS="$1 to $2"
	if [[ $(cat "$STATE/devices" 2>/dev/null) != "$key" ]]; then
		without_devices
		network pair "${3:-1500}"
		for side in a b; do
			ns $side ethtool -K v$side tso off gso off gro off \
				>/dev/null
		done
		device a "$1"
		device b "$2"
		echo "$key" >"$STATE/devices"
	fi
	names_pair
	until_true 30 free "$PORTS" || fail "somebody still listens"
	ns b tc qdisc del dev vb root 2>/dev/null
	OURS=a THEIRS=b
}

# serves PORT PROGRAM...: a server of the case, in b
serves() {
	theirs "${@:2}"
	until_listening "$1"
	# siw overlooks an FPDU right behind its Reply
	[[ $KINDS != *"to mpa" ]] && late_reply
	return 0
}

# asks PROGRAM...: its client, in a
asks() {
	local status=0

	ns a timeout $((LIMIT / 2)) "$@" >"$STATE/ours" 2>&1 || status=$?
	((!status)) && return
	cut -c1-200 "$STATE/ours" | tail -n 20
	show_theirs
	fail "$1 ended with $status"
}

# captured_as MARKERS: what the decoders must find in the capture
captured_as() {
	local decoder=tshark

	record_stop
	[[ $1 == 0 ]] || decoder=reference
	echo "rev=${REV:-2} crc=${CRC:-1} markers=$1+$1 decoder=$decoder" \
		>"$OUT/$CASE.want"
}

# counted SIDE NAME: a counter of its device
counted() {
	ns "$1" rdma statistic show link "iw$1/1" | grep -o "$2 [0-9]*" | cut -d' ' -f2
}

# passed PROGRAM MESSAGES OCTETS
passed() { row "$KINDS" "$1" "${REV:-2}" "${CRC:-1}" "${MARKERS:-0}" "$2" "$3" ok; }
