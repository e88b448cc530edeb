#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# In the guest: the parts of harden.sh again and again, with other seeds each time;
# nothing may be left after them.
#
# usage: soak.sh [PART...]
#
# The parts of soak.parts, or those named. In each round those that are not "alone"
# run at the same time, then the others in their short forms, one after the other.
# SEED decides on the seeds. It ends SECONDS_MAX after its begin, and after one round
# at least, or with the first round in which a part fails.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOGETHER=120	# seconds of those that run at the same time
GRACE=3600	# seconds that a part may exceed that by
# Caches whose objects a connection allocates and frees
CACHES='TCP|TCPv6|request_sock_TCP|request_sock_TCPv6|tw_sock_TCP|tw_sock_TCPv6'
CACHES+='|sock_inode_cache|net_namespace|skbuff_head_cache|skbuff_fclone_cache'

cases=0 failed=0 left=0
# result STATUS NAME
result() {
	cases=$((cases + 1))
	if (($1)); then
		echo "not ok - soak.${*:2}"
		failed=1
	else
		echo "ok - soak.${*:2}"
	fi
}

# chosen KIND PART...: the parts of that kind ("alone" or none), of those named
chosen() {
	local part kind

	while read -r part kind; do
		[[ $kind == "$1" ]] || continue
		[[ $# == 1 || " ${*:2} " == *" $part "* ]] || continue
		echo "$part"
	done <"$HERE/soak.parts"
}

# run_part PART SEED SECONDS: status 0 if it ran all of its cases and none failed
run_part() {
	export SEED=$2 SECONDS_MAX=$3 COUNT=0 WORK=$WORK/$round.$1
	mkdir -p "$WORK"
	timeout -k 30 $(($3 + GRACE)) bash "$HERE/$1.sh" >"$WORK/out" 2>&1 || return
	awk '/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0 }
		/^(not )?ok - / { n++ }
		/^not ok/ { bad = 1 }
		END { exit bad || !n || n != plan }' "$WORK/out"
}

# run_parts SECONDS PART...: at the same time, to their ends
run_parts() {
	local part rc pids=() seeds=()

	# Set if other parts run: a part then leaves modules loaded and judges less
	export BESIDE=
	(($# < 3)) || BESIDE=1
	for part in "${@:2}"; do
		seeds+=($((RANDOM << 15 | RANDOM)))
		(run_part "$part" "${seeds[-1]}" "$1") &
		pids+=($!)
	done
	for part in "${@:2}"; do
		rc=0
		wait "${pids[0]}" || rc=$?
		((!rc)) || sed "s/^/# $part: /" "$WORK/$round.$part/out"
		result $rc "$part round $round seed ${seeds[0]}: status $rc"
		pids=("${pids[@]:1}") seeds=("${seeds[@]:1}")
	done
	tidy
}

# Processes in a namespace other than this one
elsewhere() {
	local dir ours

	ours=$(readlink /proc/$$/ns/net)
	for dir in /proc/[0-9]*; do
		[[ $(readlink "$dir/ns/net" 2>/dev/null) == @("$ours"|) ]] ||
			echo "${dir#/proc/} $(<"$dir/comm")"
	done 2>/dev/null
}

# Reports and removes processes and namespaces that a part left
tidy() {
	local space pid name

	while read -r pid name; do
		echo "# round $round left the process $name"
		left=1
		kill -9 "$pid"
	done < <(elsewhere)
	for space in $(ip netns list | cut -d' ' -f1); do
		echo "# round $round left the namespace $space"
		left=1
		ip netns del "$space"
	done
}

# rounds [PART...]
rounds() {
	local together alone part

	mapfile -t together < <(chosen "" "$@")
	mapfile -t alone < <(chosen alone "$@")
	RANDOM=$SEED
	for ((round = 1; round == 1 || (SECONDS < SECONDS_MAX && !failed); round++)); do
		((!${#together[@]})) || run_parts $TOGETHER "${together[@]}"
		for part in "${alone[@]}"; do
			run_parts 0 "$part"
		done
	done
	echo "# rounds=$((round - 1))"
}

loaded() { awk '{ print $1 }' /proc/modules; }

# Unload all modules that came with the parts; retries find an order that works
unload() {
	local try now

	for ((try = 0; try < 120; try++)); do
		now=$(loaded | grep -vxF "$modules")
		[[ -n $now ]] || return 0
		# shellcheck disable=SC2086
		rmmod $now 2>/dev/null
		sleep 0.5
	done
	echo "# still there: ${now//$'\n'/, }"
	return 1
}

# Objects in use of each of these caches, after shrinking them. The last deleted
# namespaces are freed when another one is deleted.
objects() {
	local file

	ip netns add soak-last
	ip netns del soak-last
	sleep 2
	for file in /sys/kernel/slab/*; do
		[[ ! ${file##*/} =~ ^($CACHES)$ ]] || echo 1 >"$file/shrink"
	done
	awk -v names="^($CACHES)\$" '$1 ~ names { print $1, $2 }' /proc/slabinfo
}

# more BEFORE AFTER: caches that have grown. Each processor keeps 64 skbs for itself.
more() {
	awk -v skbs="$((64 * $(nproc)))" 'NR == FNR { had[$1] = $2; next }
		$1 == "skbuff_head_cache" { had[$1] += skbs }
		$2 > had[$1] { print $1 ": " had[$1] " to " $2 }' \
		<(echo "$1") <(echo "$2")
}

# Namespaces and sockets are freed some time after their last user
slab_returns() {
	local grown end=$((SECONDS + 300))

	[[ -n $before ]] || { echo "# slabinfo has none of the caches"; return 1; }
	while ((SECONDS < end)); do
		grown=$(more "$before" "$(objects)")
		[[ -n $grown ]] || return 0
		echo "slab: ${grown//$'\n'/, }"
	done
	echo "# slab: ${grown//$'\n'/, }"
	return 1
}

main() {
	modules=$(echo none && loaded)
	modprobe -a mpa mpa_ping && unload
	[[ ! -e /proc/slabinfo ]] || before=$(objects)
	rounds "$@"
	result $left "leftovers"
	unload
	result $? "unload"
	if [[ -e /proc/slabinfo ]]; then
		slab_returns
		result $? "slab"
	else
		result 0 "slab # SKIP this kernel has no slabinfo"
	fi
	echo "1..$cases"
}

# tests/runner/selftest.py calls its functions
[[ ${BASH_SOURCE[0]} != "$0" ]] || main "$@"
