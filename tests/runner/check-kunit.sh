#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# In the guest: run the KUnit suites and keep their results.
# Print the log as it comes: the guest may crash
cat /dev/kmsg &
modprobe mpa_kunit || exit 1
cat /sys/kernel/debug/kunit/mpa*/results >/root/results
[ -s /root/results ]
