#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Benefit and cost of passing ULPDUs out of order; see "Passing ULPDUs out of order" in
# Documentation/networking/mpa-performance.rst. Prints tables; these, results and a
# plot are in build/ooo. The guests count instructions, so the same sources give the
# same figures. The status is 1 if a goal was missed.
#
# usage: ooo.sh [--doc]
#
# --doc copies the plot to Documentation/networking/mpa-ooo.svg.
set -euo pipefail
. "$(dirname "$0")/../../vm/lib.sh"

OUT=$TOP/build/ooo
SHARDS=3
WAYS=(hook look in-order)

# NAME MODE RATE LOSS DELAY SIZE OCTETS; loss in percent, delay in ms, one way.
# The main ones first, as the plot and the goals have them.
lossy_rows() {
	local way loss delay size

	for way in "${WAYS[@]}"; do
		for loss in 0.1:24000000 1:10000000 5:4000000; do
			for delay in 1 10 50; do
				echo "$way 100mbit ${loss%:*} $delay mulpdu ${loss#*:}"
			done
		done
	done
	for way in hook look; do
		for size in 64:2000000 512:6000000 9000:10000000 64768:20000000; do
			echo "$way 100mbit 1 10 ${size/:/ }"
		done
		for rate in 1gbit any; do
			echo "$way $rate 1 10 mulpdu 10000000"
		done
	done
}

# NAME MODE NETWORK SIZE OCTETS
cost_rows() {
	local network way

	for network in "pair mulpdu" "pair 512" "pair 64768" "routed mulpdu"; do
		for way in in-order hook look; do
			echo "$way $network 16000000"
		done
	done
}

# guest NAME KIND: the lines of NAME.rows. In the guest nothing may differ but
# these, not even the name of the script.
guest() {
	"$VM_DIR/run" --icount --mem 768 --timeout 100000 \
		--file "$TOP/tests/net/socket:/root/test" \
		--file "$TOP/tests/bench/ooo:/root/ooo" \
		--file "$OUT/$1.rows:/root/rows" --get "/root/out:$OUT/$1" \
		-- "$OUT/$2.sh" >"$OUT/$1.out" 2>"$OUT/$1.log" && return
	tail -n 5 "$OUT/$1.out" "$OUT/$1.log" >&2
	die "$1 failed, see build/ooo/$1.log"
}

number() { awk '{ print "row" NR, $0 }'; }

measure() {
	local i name guests=() kind pids=()

	for kind in lossy cost; do
		printf '#!/bin/bash\nexec /root/ooo/guest.sh %s\n' $kind \
			>"$OUT/$kind.sh"
	done
	lossy_rows | number >"$OUT/lossy"
	for ((i = 0; i < SHARDS; i++)); do
		awk -v n=$SHARDS -v i=$i 'NR % n == i' "$OUT/lossy" >"$OUT/lossy-$i.rows"
		guests+=("lossy-$i")
	done
	# Twice, to compare the results
	for name in cost again; do
		cost_rows | number >"$OUT/$name.rows"
		guests+=("$name")
	done
	for name in "${guests[@]}"; do
		kind=${name%-*}
		guest "$name" "${kind/again/cost}" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || die "nothing was measured"
	done
}

main() {
	local status=0

	[[ -z $* || $* == --doc ]] || { sed -n '8s/^# //p' "$0" >&2; exit 2; }
	"$TOP/tests/runner/deps.sh" modules kernel guest ooo
	rm -rf "$OUT"
	mkdir -p "$OUT"
	"$VM_DIR/modules" plain >/dev/null
	say "measuring, for some minutes"
	measure
	"$TOP/tests/bench/ooo/report.py" "$OUT" || status=$?
	((status <= 1)) || exit $status
	(cd "$OUT" && gnuplot "$TOP/tests/bench/ooo/plot.gp")
	[[ ${1-} != --doc ]] ||
		cp "$OUT/mpa-ooo.svg" "$TOP/Documentation/networking/mpa-ooo.svg"
	say "$SECONDS s; results.csv, results.json, tables.rst and mpa-ooo.svg are in build/ooo"
	exit $status
}

main "$@"
