#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The lines of the module that the KUnit suites and the socket tests reach. Prints
# the share of each file and of all, and fails below 90 %. A record for other
# programs is build/coverage/mpa.info.
#
# usage: coverage.sh [PERCENT]
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

OUT=$TOP/build/coverage
GOAL=${1:-90}
SHARDS=3

# Counters of all objects, as the kernel shows them when the tests are over.
keep_counters='
cd /sys/kernel/debug/gcov && mkdir /root/gcov &&
find . -name "*.gcda" | while read -r file; do
	mkdir -p "/root/gcov/${file%/*}" && cat "$file" >"/root/gcov/$file"
done'

part() {
	local name=$1

	shift
	printf '#!/bin/bash\n%s\nstatus=$?\n%s\nexit $status\n' "$1" \
		"$keep_counters" >"$OUT/$name.sh"
	shift
	"$VM_DIR/run" --kernel gcov --timeout 1200 --get "/root/gcov:$OUT/$name.gcda" \
		"$@" -- "$OUT/$name.sh" >"$OUT/$name.out" 2>"$OUT/$name.log" ||
		say "$name: status $?, see build/coverage/$name.log"
}

# Put the counters next to the compiler's notes, then write a record of each part
capture() {
	local name=$1 file dir=$OUT/$1.d

	rm -rf "$dir"
	(cd "$farm" && find . -name '*.gcno') | while read -r file; do
		mkdir -p "$dir/${file%/*}"
		cp "$farm/$file" "$dir/$file"
		file=${file%.gcno}.gcda
		[[ ! -e $OUT/$name.gcda/$farm/$file ]] ||
			cp "$OUT/$name.gcda/$farm/$file" "$dir/$file"
	done
	lcov --quiet --capture --directory "$dir" --base-directory "$farm" \
		--output-file "$OUT/$name.info" 2>>"$OUT/lcov.log"
}

# The module's own sources: no headers, no tests, no samples
own_files() {
	(cd "$TOP" && for file in *.c; do
		[[ $file == *.mod.c ]] || printf '%s\n' "*/$file"
	done)
}

table() {
	awk -F'[:,]' -v goal="$GOAL" '
	/^SF:/ { n = split($2, path, "/"); file = path[n] }
	/^DA:/ { lines[file]++; hit[file] += $3 > 0 }
	END {
		for (file in lines) {
			printf "%-24s %5.1f %% of %4d lines\n", file,
				100 * hit[file] / lines[file], lines[file] | "sort"
			all += lines[file]
			reached += hit[file]
		}
		close("sort")
		if (!all) {
			print "no lines at all"
			exit 1
		}
		printf "%-24s %5.1f %% of %4d lines\n", "total",
			100 * reached / all, all
		exit 100 * reached / all < goal
	}' "$1"
}

main() {
	local i name parts=(kunit) traces=() files

	"$TOP/tests/runner/deps.sh" modules kernel guest coverage
	rm -rf "$OUT"
	mkdir -p "$OUT"
	farm=$("$VM_DIR/modules" gcov)
	say "KUnit suites and socket tests on the gcov kernel"
	part kunit 'modprobe mpa_kunit' &
	for ((i = 1; i <= SHARDS; i++)); do
		parts+=("socket-$i")
		part "socket-$i" "SHARD=$i/$SHARDS /root/test/run-all.sh" \
			--file "$TOP/tests/net/socket:/root/test" &
	done
	for ((i = 1; ; i++)); do
		[[ -n $(jobs -rp) ]] || break
		sleep 1
		((i % 20)) ||
			say "$SECONDS s, $(cat "$OUT"/*.out | grep -c '^ok') cases passed"
	done
	for name in "${parts[@]}"; do
		capture "$name"
		traces+=(--add-tracefile "$OUT/$name.info")
	done
	lcov --quiet "${traces[@]}" --output-file "$OUT/all.info"
	mapfile -t files < <(own_files)
	lcov --quiet --extract "$OUT/all.info" "${files[@]}" --output-file "$OUT/mpa.info"
	table "$OUT/mpa.info" || { say "below $GOAL %"; exit 1; }
	exit
}

main
