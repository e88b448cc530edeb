#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# In the guest: run the KUnit suites. The console has their results: it has all that
# was said before a crash, and the crash.
dmesg -n 8
for module in mpa_kunit mpa_rnic_kunit; do
	# KUnit numbers the suites of each module from 1
	echo "guest: the suites of $module" >/dev/kmsg
	modprobe $module || exit
done
