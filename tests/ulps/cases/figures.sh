# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Instructions for a read of NVMe over null_blk. The guest counts them (run --icount): an
# instruction takes 1 ns, and what else takes time is idle.

declare -A COST=()
# Row, requests, and what fio is told
READS="
qd1	15000	--rw=randread --bs=4k --iodepth=1
qd32	12000	--rw=randread --bs=4k --iodepth=32
128k	600	--rw=read --bs=128k --iodepth=4
"

# spent: instructions since the guest was booted
spent() {
	local idle

	idle=$(awk '$1 == "cpu0" { print $5 + $6 }' /proc/stat)
	echo $((${EPOCHREALTIME/./} * 1000 - idle * 10000000))
}

# reads FILE NUMBER OPTION...
reads() {
	fio --name=reads --filename="$1" --direct=1 --ioengine=libaio --randseed=1 \
		--norandommap --number_ios="$2" "${@:3}" >/dev/null || fail "fio $*"
}

# cost ROW FILE NUMBER OPTION...: instructions that one more read takes
cost() {
	local begun some

	reads "${@:2}"
	begun=$(spent)
	reads "${@:2}"
	some=$(($(spent) - begun))
	begun=$(spent)
	reads "$2" $((3 * $3)) "${@:4}"
	COST[$1]=$((($(spent) - begun - some) / (2 * $3)))
	echo "$1 ${COST[$1]}" | tee -a $OUT/figures >&2
}

# costs NAME DISK
costs() {
	local row number options

	while read -r row number options; do
		# shellcheck disable=SC2086
		[[ -z $row ]] || cost "$1.$row" "$2" "$number" $options
	done <<<"$READS"
}

# over NAME KIND_A KIND_B [OPTION...]: of connect()
over() {
	wire "$2" "$3"
	target
	connect $B4 "${@:4}"
	costs "$1" /dev/nvme0n1
	[[ $TRTYPE == tcp ]] || steady
	disconnect
	nvme_down
	until_true 20 unused || fail "$1: not cleaned up"
	wire_down
}

# at_most NAME BASE ROW PERMILLE: without what null_blk costs
at_most() {
	local disk=${COST[local.$3]-} ours=${COST[$1.$3]-} theirs=${COST[$2.$3]-} share

	((disk > 0 && ours > disk && theirs > disk)) ||
		fail "no figures: $1.$3 $ours, $2 $theirs, null_blk $disk"
	share=$((1000 * (ours - disk) / (theirs - disk)))
	echo "$1.$3: $share per mille of $2, at most $4" | tee -a $OUT/figures >&2
	((share <= $4)) || MISSED+=" $1.$3"
}

figures() {
	local kind MISSED=

	one_guest
	disk 256 0
	costs local /dev/nullb0
	TRTYPE=tcp over tcp mpa mpa --data-digest --hdr-digest
	for kind in siw siw_crc mpa; do
		over $kind $kind $kind
	done
	at_most mpa siw_crc qd1 600
	at_most mpa siw_crc qd32 300
	at_most mpa siw_crc 128k 400
	at_most mpa tcp qd32 1600
	[[ -z $MISSED ]] || fail "goals missed:$MISSED"
}

test_case figures.nvme "instructions for a read of NVMe" figures
