#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Runs in the guest of cost: both ends, which are in namespaces of their own.
set -euo pipefail

SERVER=10.77.1.1 PORT=5044

network() {
	ip netns add dos1
	ip netns add dos2
	ip link add dosa netns dos1 type veth peer name dosb netns dos2
	ip -n dos1 addr add 10.77.0.1/16 dev dosa
	ip -n dos2 addr add $SERVER/16 dev dosb
	ip -n dos1 link set dosa up
	ip -n dos2 link set dosb up
}

# Instructions since the boot
busy() {
	awk '/^now at/ { now = $3 } /idle_sleeptime/ { idle = $3 }
		END { printf "%.0f\n", now - idle }' /proc/timer_list
}

# talk ROUNDS OPTION...: its instructions in COST, its octets in OCTETS
talk() {
	local before

	before=$(busy)
	OCTETS=$(ns dos1 mpa-many talk $SERVER $PORT rounds="$1" "${@:2}" |
		sed -n 's/.*octets=\([0-9]*\) .*/\1/p')
	COST=$(($(busy) - before))
}

# per_octet OPTION...: the difference of a short and a long talk
per_octet() {
	local cost octets

	talk 2 "$@"
	cost=$COST octets=$OCTETS
	talk 10 "$@"
	awk -v cost=$((COST - cost)) -v octets=$((OCTETS - octets)) \
		'BEGIN { printf "%.1f\n", cost / octets }'
}

# compare NAME TIMES OPTION...: fail if MPA costs more than TIMES plain TCP's cost
compare() {
	local name=$1 most=$2 mpa plain times

	shift 2
	ns dos2 bash -c "echo 'serve port=$PORT' >/dev/mpa_ping/cmd"
	mpa=$(per_octet "$@")
	ns dos2 bash -c "echo 'stop port=$PORT' >/dev/mpa_ping/cmd"
	nsenter --net=/run/netns/dos2 -- nc -ll -p $PORT -e cat &
	until ns dos2 ss -Hltn | grep -q :$PORT; do sleep 0.1; done
	plain=$(per_octet raw=1 "$@")
	kill $!
	wait $! || :
	times=$(awk -v a="$mpa" -v b="$plain" 'BEGIN { printf "%.2f", a / b }')
	echo "$name: $mpa, plain TCP: $plain, $times times"
	awk -v is="$times" -v most="$most" 'BEGIN { exit !(is > 0 && is <= most) }' ||
		missed "$name: more than $most times"
}

missed() {
	echo "MISSED: $*"
	status=1
}

status=0
modprobe -a mpa mpa_ping
network
compare "segments of 1 octet, FPDUs of 64" 0.8 ulpdus=20 size=58 piece=1
compare "ULPDUs of 1 octet" 7.5 ulpdus=1000 size=1
compare "ULPDUs of 58 octets" 2.4 ulpdus=200 size=58
compare "ULPDUs of 1000 octets" 1.7 ulpdus=20 size=1000
exit $status
