#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# mpa is unloaded while tc, which deletes a qdisc, has dropped the last reference on
# a zero-copy message and has not yet queued the work item: exit_order.ko delays it.
# Another run of the work item has released the connection by then.
# shellcheck source=tests/net/socket/lib.sh
. /root/test/lib.sh
. "${0%/*}/tap.sh"
STAGE=/sys/module/exit_order/parameters/stage

queued() { tc -n a -s qdisc show dev va | grep -q 'backlog .* 1p '; }
ended() { ! kill -0 "$1" 2>/dev/null; }
unloading() { grep -qs going /sys/module/mpa/initstate; }

unload_late() {
	local ping rmmod

	network pair 1500
	# The queue is for packets of 1024 to 2047 octets.
	tc -n a -batch - <<-TC || fail "no queue"
		qdisc add dev va root handle 1: prio
		qdisc add dev va parent 1:3 netem delay 100s
		filter add dev va parent 1: protocol ip u32 match u16 0x0400 0xfc00 at 2 flowid 1:3
	TC
	serve mode=sink
	command_in a "ping addr=$B4 port=$PORT mode=sink size=1200 zerocopy=1" \
		2>/dev/null &
	ping=$!
	until_true 60 queued || fail "no message in the queue"
	# The reset drops TCP's references, tc that of the queue.
	ns a bash -c "ss -HKtn 'dport = :$PORT'; tc qdisc del dev va root" \
		>/dev/null &
	until_true 60 grep -q 1 $STAGE || fail "tc has not dropped the last reference"
	# The timer queues the work item a second after the detach.
	until_true 60 ended $ping || fail "the connection is not released"
	timeout 60 rmmod mpa_ping || fail "rmmod mpa_ping"
	rmmod mpa &
	rmmod=$!
	until_true 60 unloading || fail "mpa_exit() does not begin"
	sleep 3
	unloading || fail "mpa_exit() does not wait"
	echo 2 >$STAGE
	until_true 60 ended $rmmod || fail "mpa_exit() does not end"
	wait $rmmod || fail "rmmod mpa"
	wait
}

modprobe -qr mpa_ping mpa_hello mpa
sysctl -qw debug.kprobes-optimization=0
modprobe mpa_ping && insmod /root/exit_order.ko || exit
status=0
(unload_late) || status=$?
verdict unload $status
echo 2 >$STAGE
links_down
rmmod exit_order
all_judged
