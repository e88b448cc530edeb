# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Allocations that fail on purpose. The return addresses on the stack select which.

DEBUGFS=/sys/kernel/debug

knob() {
	echo "$2" >"$DEBUGFS/failslab/$1"
	echo "$2" >"$DEBUGFS/fail_page_alloc/$1"
}

prepare_faults() {
	knob times 0
	knob probability 100
	knob interval 1
	knob space 0
	knob verbose 0
	knob task-filter N
	knob stacktrace-depth 32
	knob ignore-gfp-wait N
	echo N >$DEBUGFS/fail_page_alloc/ignore-gfp-highmem
	echo 0 >$DEBUGFS/fail_page_alloc/min-order
}

# Allocations that may still fail
count_left() {
	local slab pages

	read -r slab <$DEBUGFS/failslab/times
	read -r pages <$DEBUGFS/fail_page_alloc/times
	LEFT=$((slab + pages))
}

# arm FROM TO TIMES: allocations called from between these addresses fail
arm() {
	knob times 0
	knob require-start "$1"
	knob require-end "$2"
	knob times "$3"
	count_left
	ARMED=$LEFT
}

disarm() { knob times 0; }

# Sets MET to the number of failed allocations, and disarms
count_met() {
	count_left
	disarm
	MET=$((ARMED - LEFT))
}

met() {
	count_met
	((MET))
}
