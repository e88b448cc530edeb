# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Memory that is short because of what goes to a disk, while going there takes memory:
# dirty pages of a file, and swap, several times the memory that is left for them.

CGROUP=/sys/fs/cgroup/load
TRACING=/sys/kernel/tracing
RECLAIM=("$TRACING"/events/vmscan/mm_vmscan_{direct,memcg}_reclaim_begin)
DISK_MB=256
PRESSED=20		# seconds
[[ -z ${LONG-} ]] || PRESSED=150
((!${MINUTES:-0})) || PRESSED=$((60 * MINUTES))

# trace ENABLE: when a process begins to reclaim pages
trace() {
	for event in "${RECLAIM[@]}"; do
		echo "$1" >"$event/enable"
	done
}

memory_down() {
	trace 0
	swapoff /mnt/swap
	umount /mnt /tmp/swapped
	rmdir $CGROUP
} 2>/dev/null

# ext4_on DISK: mounted. A disk in memory takes some for each block that is written
# first, so all have been.
ext4_on() {
	dd if=/dev/zero of="$1" bs=1M count=$DISK_MB oflag=direct 2>/dev/null &&
		mkfs.ext4 -q "$1" && mount -t ext4 "$1" /mnt || fail "no ext4"
}

# swapping: to a file of what is mounted
swapping() {
	dd if=/dev/zero of=/mnt/swap bs=1M count=96 conv=fsync 2>/dev/null &&
		chmod 600 /mnt/swap && mkswap /mnt/swap >/dev/null &&
		swapon /mnt/swap || fail "no swap"
}

with_cgroups() {
	[[ -e /sys/fs/cgroup/cgroup.procs ]] ||
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
	echo +memory +io >/sys/fs/cgroup/cgroup.subtree_control
}

# limited MB: what this process starts from now on may use so much
limited() {
	with_cgroups
	mkdir $CGROUP && echo "$1M" >$CGROUP/memory.max &&
		echo $BASHPID >$CGROUP/cgroup.procs || fail "no cgroup"
}

vm() { awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat; }

dirty() { passes "$1" direct=0 ioengine=psync rw=randwrite bs=16k size="$2"; }

# reclaims COMMAND...: pages are written out and reclaimed meanwhile
reclaims() {
	local in out written

	in=$(vm pswpin) out=$(vm pswpout) written=$(vm nr_written)
	[[ -e ${RECLAIM[0]} ]] || mount -t tracefs tracefs $TRACING
	echo >$TRACING/trace
	trace 1
	"$@"
	in=$(($(vm pswpin) - in)) out=$(($(vm pswpout) - out))
	written=$(($(vm nr_written) - written - out))
	echo "swapped in $in, out $out pages, wrote back $written," \
		"reclaimed $(grep -c reclaim_begin: $TRACING/trace) times"
	grep -q reclaim_begin: $TRACING/trace || fail "memory was not short"
	((in && out)) || fail "nothing was swapped"
	((written > 0)) || fail "nothing was written back"
}

# pressed: a file, and pages in the swap file
pressed() {
	mkdir -p /tmp/swapped
	mount -t tmpfs -o size=80m swapped /tmp/swapped
	dirty /tmp/swapped/file 64m
	dirty /mnt/file 96m
	sleep "$PRESSED"
	loads_end
	umount /tmp/swapped || fail "umount"
	swapoff /mnt/swap || fail "swapoff"
}

# short: for what writes to FILE
short() {
	wire mpa mpa
	start "$B4" $DISK_MB
	[[ ! -b $FILE ]] || ext4_on "$FILE"
	swapping
	everywhere all '.flags | contains(["memalloc"])'
	limited 48
	reclaims pressed
	steady
	[[ ! -b $FILE ]] || umount /mnt || fail "umount"
	stop
}
