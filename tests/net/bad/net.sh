#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Connections over networks with faults: the part of harden.sh that runs in the
# guest.
#
# usage: net.sh [ROUND=N] [CELL...]
#
# A cell is CONDITION.MARKERS.CRC.SIZE.WAY, like loss-1.m1.c0.mix.two: the condition
# of the network; markers and CRC or not; ULPDUs of 64 octets, of a MULPDU, of 64768
# or of all lengths; sent one way, sent back (two), or by rping over RDMA devices.
# SIZE and WAY can be all. SEED, CELL and the round determine the rest (IP version,
# out-of-order passing, zero copy, offloads). Each octet that arrives is compared with
# the octet sent.
#
# Without cells: SECONDS_MAX=S or COUNT=N runs cells of the matrix for that many
# seconds or up to that number, in an order drawn from SEED; otherwise a short list
# of cells runs. ROUND=N begins with that round. Cells that are named run COUNT
# times, or for SECONDS_MAX, or once.

TESTS=/root/test
# shellcheck source=tests/net/socket/lib.sh
. $TESTS/lib.sh
# shellcheck source=tests/net/bad/links.sh
. /root/bad/links.sh
# shellcheck source=tests/net/bad/conditions.sh
. /root/bad/conditions.sh
# shellcheck source=tests/net/bad/traffic.sh
. /root/bad/traffic.sh
# shellcheck source=tests/net/bad/cells.sh
. /root/bad/cells.sh

export SEED=${SEED:-1} SECONDS_MAX=${SECONDS_MAX:-0} COUNT=${COUNT:-0}
export WORK=${WORK:-/root/kept/net}	# logs of failed cells
TEMP=/tmp/net
SLOTS=4		# cells at the same time: much of it is waiting
LONG=64768

SIZES=(64 mulpdu 64768 mix) WAYS=(one two rdma)
CONDITIONS=(clean loss-0.1 loss-1 loss-3 loss-10 loss-1-both loss-3-both loss-10-both
	reorder duplicate corrupt jitter rate flap link-down pmtu pmtu-blackhole
	full-window zero-window resegment bit-flips gro combined)

# Each condition but clean and combined (of the losses two), and each size and way, at
# least once, with and without markers and CRC.
# zero-window is first: it takes a minute, mostly idle.
SHORT=(zero-window.m1.c1.mix.one pmtu.m1.c1.mulpdu.one blackhole.m1.c1.64.one
	pmtu-blackhole.m0.c1.mix.two flap.m1.c1.mix.two
	loss-1.m1.c1.64768.one loss-3-both.m1.c1.mix.rdma reorder.m1.c1.mulpdu.two
	duplicate.m1.c0.64.one corrupt.m1.c1.64768.rdma jitter.m0.c0.64768.two
	rate.m0.c1.mulpdu.rdma link-down.m0.c0.mix.one full-window.m1.c1.mulpdu.one
	resegment.m1.c1.mix.two bit-flips.m1.c1.64.one gro.m1.c1.64.two
	stall.m0.c1.any.two)

# chance VARIABLE: 0 or 1. Not $(...): a subshell would have another random sequence.
chance() { printf -v "$1" %d $((RANDOM % 2)); }

# parse CELL; all that is drawn depends on it
parse() {
	local rest=${1#loss-0.1.}

	RANDOM=$((16#$(md5sum <<<"$SEED $ROUND $1" | cut -c 1-4)))
	[[ $rest != "$1" ]] || rest=${1#*.}
	CONDITION=${1%".$rest"}
	IFS=. read -r MARKERS CRC SIZE WAY <<<"$rest"
	MARKERS=${MARKERS#m} CRC=${CRC#c}
	chance TRAINS
	chance GRO
	chance GSO
}

cell() {
	parse "$1"
	echo "seed $SEED round $ROUND: trains=$TRAINS"
	case $CONDITION in
	long-stream | blackhole | stall) "${CONDITION}_cell" ;;
	*) matrix_cell ;;
	esac
}

# figure NAME NUMBER: adds to a figure of the whole run
figure() { echo "$1 $2" >>"$TEMP/figures"; }

# run_cell ROUND CELL: in a process of its own
run_cell() {
	local began=$SECONDS verdict=ok

	# 255 tells xargs to begin no other
	((!SECONDS_MAX || EPOCHSECONDS < END)) || exit 255
	ROUND=$1 P=net$$_ LOG=$TEMP/$2.$1.log
	printf -v CELL_MAC %02x:%02x $(($$ >> 8 & 255)) $(($$ & 255))
	(cell "$2") >"$LOG" 2>&1 || verdict="not ok"
	: >"$LOG.over"
	if [[ $verdict != ok ]]; then
		diagnose >>"$LOG" 2>&1
		cp "$LOG" "$WORK/$2.log"
		sed 's/^/    /' "$LOG"
	fi
	spaces_gone
	rm -f "$LOG" "$LOG".*
	echo "$verdict - net.$2" | tee -a "$TEMP/results"
	echo "$2: $((SECONDS - began)) s" >&2
}

# Which cells, in which order: lines of ROUND and CELL

# cells SIZES WAYS: all cells with these
cells() {
	local condition size way

	for condition in "${CONDITIONS[@]}"; do
		for size in $1; do
			for way in $2; do
				printf "%s.$size.$way\\n" "$condition".m{0,1}.c{0,1}
			done
		done
	done
	printf '%s\n' long-stream.m{0,1}.c{0,1}.any.{one,two} \
		blackhole.m{0,1}.c{0,1}.64.{one,two} \
		stall.m{0,1}.c1.any.two
}

# Fails now for an unknown cell, not when its turn comes
there_are() {
	local name names

	names=$(cells "${SIZES[*]} all" "${WAYS[*]} all")
	for name; do
		grep -qxF -- "$name" <<<"$names" || {
			echo "there is no cell '$name'" >&2
			exit 2
		}
	done
}

# In a short time a cell is a single connection.
cells_of_matrix() {
	if ((SECONDS_MAX && SECONDS_MAX < 600)); then
		cells "${SIZES[*]}" "${WAYS[*]}"
	else
		cells all all
	fi
}

# They take long, and far longer without a processor that knows CRC32c
no_long_streams() { ((SLOW > 1 || (SECONDS_MAX && SECONDS_MAX < 1200))); }

# A round of the matrix, in an order that SEED and the round say
matrix() {
	local without=none

	! no_long_streams || without='^long-stream'
	cells_of_matrix | grep -v $without |
		awk -v seed="$SEED" -v round="$1" '
		BEGIN { srand(seed * 1000 + round) }
		{ print rand(), round, $0 }' | sort -n | cut -d " " -f 2-
}

# plan [CELL...]
plan() {
	local round=$ROUND rounds=1

	((!COUNT && !SECONDS_MAX)) || rounds=${COUNT/#0/1000}
	if (($#)); then
		for ((; round < ROUND + rounds; round++)); do
			printf "$round %s\\n" "$@"
		done
	elif ((COUNT || SECONDS_MAX)); then
		for ((; round < ROUND + rounds; round++)); do
			matrix "$round"
		done | head -n $((COUNT ? COUNT : 100000))
	else
		printf '0 %s\n' "${SHORT[@]}"
	fi
}

# The sums of all figures; status 1 if a cell failed
finish() {
	local cells failed

	cells=$(wc -l <"$TEMP/results")
	failed=$(grep -c ^not "$TEMP/results")
	echo "# cells=$cells failed=$failed seconds=$SECONDS $(awk '
		{ sum[$1] += $2 }
		END { for (name in sum) printf "%s=%.0f ", name, sum[name] }' \
		"$TEMP/figures")"
	# xargs gives up if a cell's shell is killed. With a time limit it begins fewer.
	((SECONDS_MAX)) || cells=$(wc -l <"$TEMP/plan")
	echo "1..$cells"
	((!failed))
}

main() {
	ROUND=0
	if [[ ${1-} == ROUND=* ]]; then
		ROUND=${1#*=}
		shift
	fi
	there_are "$@" "${SHORT[@]}"
	rm -rf "$TEMP"
	mkdir -p "$WORK" "$TEMP"
	touch "$TEMP"/{figures,results}
	modprobe -a mpa mpa_ping mpa_rnic || exit 1
	make_octets
	echo "seed $SEED"
	export END=$((EPOCHSECONDS + SECONDS_MAX))
	plan "$@" >"$TEMP/plan"
	xargs -P $SLOTS -n 2 bash "$0" run <"$TEMP/plan"
	finish
}

if [[ ${1-} == run ]]; then
	run_cell "${@:2}" </dev/null
else
	main "$@"
fi
