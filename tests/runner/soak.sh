#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# In the guest: parts of tests/harden.sh at the same time, a new choice every few
# minutes; nothing may be left after them.
#
# usage: soak.sh [--choices] PART[=short][=alone]...
#
# SEED makes the choices. SECONDS_MAX limits the whole soak, which ends with the first
# slice that fails. SLICE=N runs that slice alone.
# --choices prints the first 20 slices.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GRACE=3600	# seconds that a part may exceed its limit by
# Caches whose objects a connection allocates and frees
CACHES='TCP|TCPv6|request_sock_TCP|request_sock_TCPv6|tw_sock_TCP|tw_sock_TCPv6'
CACHES+='|sock_inode_cache|net_namespace|skbuff_head_cache|skbuff_fclone_cache'

cases=0 failed=0 left=0
result() {
	cases=$((cases + 1))
	if (($1)); then
		echo "not ok - soak.${*:2}"
		failed=1
	else
		echo "ok - soak.${*:2}"
	fi
}

# choose SLICE: sets how long it takes, and its parts with a seed each
choose() {
	local part

	RANDOM=$((SEED + $1 * 7919))
	slice_seconds=$((60 + RANDOM % 120))
	chosen=()
	if ((${#alone[@]} && (!${#beside[@]} || RANDOM % 4 == 0))); then
		chosen=("${alone[RANDOM % ${#alone[@]}]}")
	fi
	until ((${#chosen[@]})); do
		for part in "${beside[@]}"; do
			((RANDOM % 3 == 0)) || chosen+=("$part")
		done
	done
	for part in "${!chosen[@]}"; do
		chosen[part]+=" $((RANDOM << 15 | RANDOM))"
	done
}

choices() {
	local slice

	for ((slice = 1; slice <= 20; slice++)); do
		choose $slice
		echo "$slice: $slice_seconds s, ${chosen[*]}"
	done
}

# run_part SLICE NAME SEED: status 0 if it ran all of its cases and none failed
run_part() {
	local name=$1.${2%%=*}

	export SEED=$3 SECONDS_MAX=$slice_seconds COUNT=0 WORK=$WORK/$name
	[[ $2 != *=short* ]] || SECONDS_MAX=0
	mkdir -p "$WORK"
	timeout -k 30 $((slice_seconds + GRACE)) \
		bash "$HERE/${2%%=*}.sh" >"$WORK/out" 2>&1 || return
	awk '/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0 }
		/^(not )?ok - / { n++ }
		/^not ok/ { bad = 1 }
		END { exit bad || !n || n != plan }' "$WORK/out"
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

# tidy SLICE: reports and removes processes and namespaces that a part left
tidy() {
	local space pid name

	while read -r pid name; do
		echo "# slice $1 left the process $name"
		left=1
		kill -9 "$pid"
	done < <(elsewhere)
	for space in $(ip netns list | cut -d' ' -f1); do
		echo "# slice $1 left the namespace $space"
		left=1
		ip netns del "$space"
	done
}

run_slice() {
	local slice=$1 part name seed pids=() i=0 rc

	# Set if other parts run: a part then leaves modules loaded and judges less
	export BESIDE=
	((${#chosen[@]} == 1)) || BESIDE=1
	for part in "${chosen[@]}"; do
		read -r name seed <<<"$part"
		(run_part "$slice" "$name" "$seed") &
		pids+=($!)
	done
	for part in "${chosen[@]}"; do
		read -r name seed <<<"$part"
		rc=0 name=${name%%=*}
		wait "${pids[i++]}" || rc=$?
		((!rc)) || sed "s/^/# $slice.$name: /" "$WORK/$slice.$name/out"
		result $rc "$slice.$name seed $seed, $slice_seconds s: status $rc"
	done
	tidy "$slice"
}

slices() {
	local slice end=$((SECONDS + SECONDS_MAX))

	if [[ ${SLICE:-0} != 0 ]]; then
		choose "$SLICE"
		run_slice "$SLICE"
		return
	fi
	for ((slice = 1; SECONDS < end && !failed; slice++)); do
		choose $slice
		((slice_seconds < end - SECONDS)) ||
			slice_seconds=$((end - SECONDS))
		echo "slice $slice, $slice_seconds s: ${chosen[*]}"
		run_slice $slice
	done
	echo "# slices=$((slice - 1))"
}

loaded() { awk '{ print $1 }' /proc/modules; }

# Unload all modules that came with the parts; retries find an order that works
unload() {
	local try now

	for ((try = 0; try < 60; try++)); do
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

parts() {
	local part

	alone=() beside=()
	for part; do
		case $part in
		*=alone*) alone+=("$part") ;;
		*) beside+=("$part") ;;
		esac
	done
}

main() {
	if [[ ${1-} == --choices ]]; then
		parts "${@:2}"
		choices
		return
	fi
	parts "$@"
	modules=$(echo none && loaded)
	modprobe -a mpa mpa_ping mpa_rdmap && unload
	[[ ! -e /proc/slabinfo ]] || before=$(objects)
	slices
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
