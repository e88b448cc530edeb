# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash disable=SC2016
# Nothing passes from memory that is not initialised to the wire; see dos.sh

# ping NS OPTION...: from there; R has the result
ping() {
	local status=0

	command_in "$1" "ping addr=$B4 port=$PORT timeout=$((120 * SLOW)) \
${*:2}" 2>/dev/null || status=$?
	read_result "$1" result
	return $status
}

# Fill free memory with a pattern: new pages, and objects that other connections have
# freed
POISON=d15ea5edd15ea5ed
poison() {
	local octets mb

	echo 3 >/proc/sys/vm/drop_caches
	mb=$(awk '$1 == "MemFree:" { print int($2 * 0.9 / 1024) }' /proc/meminfo)
	mkdir -p /tmp/poison
	mount -t tmpfs -o size="${mb}m" poison /tmp/poison
	yes "$(poison_hex 4096 | xxd -r -p)" |
		dd of=/tmp/poison/octets bs=1M count="$mb" iflag=fullblock 2>/dev/null
	umount /tmp/poison || fail "no memory to write over"
	start_server b
	poison_hex 60000 | xxd -r -p | ns a sh -c "cat >$PING/payload"
	for octets in 8 40 104 232 488 512; do
		ping a pdatahex="$(poison_hex $octets)" payload=1 size=1000 ||
			fail "no ping of $octets octets"
	done
	stop_server b
}

# poison_hex OCTETS
poison_hex() { printf "%$(($1 / 8))s" | sed "s/ /$POISON/g"; }

# Patterns of uninitialised memory: POISON, and on the debug kernel those that
# slub_debug=P leaves in objects
poisons() {
	local slub=/sys/kernel/slab/kmalloc-1k/poison

	echo "${POISON:0:10}"
	[[ ! -e $slub || $(<$slub) == 0 ]] || echo 5a5a5a5a5a 6b6b6b6b6b
}

# poisoned FILE: true if one of them is in it
poisoned() {
	local words

	words=$(poisons)
	xxd -p "$1" | tr -d '\n' | grep -qE "${words//[[:space:]]/|}"
}

# some_hex OCTETS: private data
some_hex() { printf "%0$((2 * $1))d" $((SEED % 100)); }

# initiate FLAGS OCTETS OPTION...: a ping, with OCTETS of private data, to a peer
# that checks each octet of frame, pads and markers
initiate() {
	: >"$WORK/peer"
	ns b mpa-peer -t $((60 * SLOW)) listen "$B4" $PORT \
		"expect-request:rev=1,flags=$1,pd=$(some_hex "$2")" \
		reply:m=1,c=1 serve end >"$WORK/peer" &
	until_true 120 grep -q '^listening' "$WORK/peer" || fail "no mpa-peer"
	ping a verify=1 pdatahex="$(some_hex "$2")" "${@:3}" ||
		fail "ping $*: $(show_result)"
	wait $! || fail "ping $*: $(tail -n 1 "$WORK/peer")"
}

# respond MARKERS OCTETS: the peer checks a server in the same way
respond() {
	start_server b markers="$1"
	ns a mpa-peer -t $((60 * SLOW)) connect "$B4" $PORT \
		request:m=1,c=1,pd="$(some_hex "$2")" \
		expect-reply:rev=1,flags=$((64 + 128 * $1)),pd="$(some_hex "$2")" \
		"echo:count=$(pick 300 1500),size=1,step=1" fin end:fin \
		>"$WORK/peer" || fail "markers=$1: $(tail -n 1 "$WORK/peer")"
	stop_server b
}

# Frames and FPDUs that mpa-peer does not check octet by octet
other_frames() {
	start_server b
	talk connections=50 rounds=2 ulpdus=4 size=3000 vary=1
	ping a rev=0 pdatahex="$(some_hex 50)" size=501 count=20 || fail "rev 0"
	expect "peer_pdata=$(some_hex 50)"
	stop_server b
	start_server b rev=2 pdatahex="$(some_hex 60)"
	ping a rev=2 pdatahex="$(some_hex 70)" ird=3 ord=4 rtr=read \
		size=501 count=20 || fail "rev 2"
	expect "peer_pdata=$(some_hex 60)"
	stop_server b
	start_server b reject=1 pdatahex="$(some_hex 80)"
	! ping a pdatahex="$(some_hex 90)" || fail "it was not rejected"
	expect "peer_pdata=$(some_hex 80)"
}

# No uninitialised memory goes onto the wire
wire() {
	local markers flags hex

	poison
	capture_start a va wire -s 0
	for markers in 0 1; do
		flags=$((64 + 128 * markers))
		respond $markers 33
		respond $markers 512
		initiate $flags 1 markers=$markers size=777 count=50
		initiate $flags 450 markers=$markers size=1 count=50
		initiate $flags 100 markers=$markers size=9001 count=20 \
			zerocopy=1
		initiate $flags 512 markers=$markers size=20000 count=20 \
			source=1
	done
	other_frames
	# The last packets still have to reach tcpdump, which may miss some of many.
	sleep 1
	kill "$(<"$STATE/wire.pid")"
	wait "$(<"$STATE/wire.pid")"
	(($(sed -n 's/ packets captured//p' "$STATE/wire.err") > 2000)) ||
		fail "tcpdump: $(<"$STATE/wire.err")"
	figure octets="$(stat -c %s "$STATE/wire.pcap")" poisons="$(poisons | wc -w)"
	! poisoned "$STATE/wire.pcap" || fail "octets of old memory in the capture"
	# They would have been found
	for hex in $(poisons); do
		echo "78$hex${hex:0:2}" | xxd -r -p >"$WORK/proof"
		poisoned "$WORK/proof" || fail "the search is blind for $hex"
	done
}
