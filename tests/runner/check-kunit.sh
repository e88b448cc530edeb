#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# In the guest: run the KUnit suites. The console has their results: it has all that
# was said before a crash, and the crash.
FAILSLAB=/sys/kernel/debug/failslab
dmesg -n 8
# For a test that lets some fail, without a trace that looks like a bug's
if [ -e $FAILSLAB ]; then
	echo N >$FAILSLAB/ignore-gfp-wait
	echo 0 >$FAILSLAB/verbose
fi
for module in mpa_kunit mpa_rnic_kunit; do
	# KUnit numbers the suites of each module from 1
	echo "guest: the suites of $module" >/dev/kmsg
	modprobe $module || exit
done
