# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# The kernel's own memory, in KB, for the parts that measure it: all memory in use
# that is not of user space. Much of it is pages of no slab. Pages in per-CPU lists
# are free, but not in MemFree.

kernel_kb() {
	awk 'FILENAME ~ /zoneinfo/ { kept += $1 == "count:" ? $2 * 4 : 0; next }
		{ kb[$1] = $2 } END {
		print kb["MemTotal:"] - kb["MemFree:"] - kb["Buffers:"] - kept \
			- kb["Cached:"] - kb["AnonPages:"] - kb["PageTables:"]
	}' /proc/zoneinfo /proc/meminfo
}

# The same without caches that the kernel can drop
kernel_kb_at_least() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	kernel_kb
}
