#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The pure core under libFuzzer in user space, with ASan and UBSan: the targets of
# tests/fuzz/core, see Documentation/networking/mpa-reliability.rst. Prints TAP, then
# counters. Inputs that break a target are left in build/fuzz-core, with the logs.
#
# usage: fuzz-core.sh [--minutes N] [--seed S] [--jobs N] [TARGET...]
#
# Without --minutes each target runs its corpus and a fixed number of inputs.
set -euo pipefail
. "$(dirname "$0")/../../vm/lib.sh"

HERE=$TOP/tests/fuzz/core
OUT=$TOP/build/fuzz-core
TARGETS=(stream frame ooo)
# Inputs of the short form, the share of the time in the long one, octets of an input
declare -A RUNS=([stream]=12000 [frame]=200000 [ooo]=8000)
declare -A SHARE=([stream]=60 [frame]=10 [ooo]=30)
declare -A LENGTH=([stream]=200 [frame]=80 [ooo]=300)
SANITIZE=(-O2 -g '-fsanitize=address,undefined' -fno-sanitize-recover=all
	-D__SANITIZE_ADDRESS__)
export ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=16

# compile SOURCE OPTION...
compile() {
	CC=clang "$TOP/tests/core/cc.sh" "$OUT/include" -Itests/core -c \
		-o "$OUT/$(basename "$1" .c).o" "$@"
}

# libFuzzer looks at the core's coverage only. The reference is not worth the
# sanitizers' time.
build() {
	local file target pids=() core=(mpa_crc.c mpa_fpdu.c mpa_fpdu_enc.c
		mpa_fpdu_dec.c mpa_frame.c mpa_ooo_map.c)
	local checked=(tests/fuzz/core/fuzz.c tests/core/shim.c
		kunit/mpa_{ooo,rx}_model.c "${TARGETS[@]/#/tests/fuzz/core/}")

	cd "$TOP"
	rm -rf "$OUT/include" "$OUT"/*.o
	compile kunit/mpa_ref.c -O2
	for file in "${core[@]}"; do
		compile "$file" "${SANITIZE[@]}" -fsanitize=fuzzer-no-link & pids+=($!)
	done
	for file in "${checked[@]}"; do
		compile "${file%.c}.c" "${SANITIZE[@]}" & pids+=($!)
	done
	for file in "${pids[@]}"; do wait "$file" || return; done
	for target; do
		clang -fsanitize=fuzzer "${SANITIZE[@]}" -o "$OUT/$target" "$OUT/$target.o" \
			"$OUT"/{mpa_*,fuzz,shim}.o & pids+=($!)
	done
	for file in "${pids[@]}"; do wait "$file" || return; done
}

result() { echo "$([[ $1 == 0 ]] || echo 'not ')ok - fuzz-core.$2"; }

# The report of a sanitizer or of a comparison
tell_failure() {
	cat "$@" | grep -avE '^("|###|#[0-9]+\s|INFO|Executed|\*\*\*|stat::)|NEW_FUNC' |
		head -n 40 >&2
}

# A line of the corpus is "DESCRIPTION: HEX". Each has the effect described. Without
# leak detection, which would repeat inputs.
replay() {
	local target=$1 rc=0 n=0 line lines

	lines=$(grep -vE '^#|^$' "$HERE/corpus/$target")
	while read -r line; do
		n=$((n + 1))
		printf '%b' "$(sed 's/.*: //; s/../\\x&/g' <<<"$line")" \
			>"$OUT/seeds/$target/$((1000 + n))"
	done <<<"$lines"
	FUZZ_SAY=1 "$OUT/$target" -artifact_prefix="$OUT/$target-" \
		-detect_leaks=0 "$OUT/seeds/$target"/* \
		>"$OUT/$target.said" 2>"$OUT/$target.seeds.log" || rc=$?
	diff <(sed 's/: [^:]*$//' <(echo "$lines")) "$OUT/$target.said" >&2 || rc=1
	((!rc)) || tell_failure "$OUT/$target.seeds.log"
	result $rc "$target.corpus $n inputs have the effect described"
	return $rc
}

counted() {
	awk '/^counted / { n[$3] += $2 }
	END { for (what in n) printf "%s%d %s", sep, n[what], what, sep = ", " }' \
		"$@"
}

# try TARGET: its corpus, then inputs made of it. In the short form always the same.
try() {
	local target=$1 rc=0 bad=0 i pids=() begun=$SECONDS
	local jobs=1 limit=(-runs="${RUNS[$1]}")

	rm -rf "$OUT/seeds/$target" "$OUT/corpus/$target" "$OUT/$target"[.-]*log \
		"$OUT/$target"-{crash,leak,oom,timeout}-*
	mkdir -p "$OUT/seeds/$target" "$OUT/corpus/$target"
	replay "$target" || bad=1
	((!minutes)) || jobs=$JOBS limit=(-reload=10
		-max_total_time=$((minutes * 60 * SHARE[$target] / share)))
	for ((i = 0; i < jobs; i++)); do
		"$OUT/$target" -seed=$((seed + i)) -max_len="${LENGTH[$target]}" \
			-timeout=120 -artifact_prefix="$OUT/$target-" "${limit[@]}" \
			"$OUT/corpus/$target" "$OUT/seeds/$target" \
			>"$OUT/$target.$i.log" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || rc=$?; done
	((!rc)) || tell_failure "$OUT/$target".[0-9]*.log
	result $rc "$target.inputs $(counted "$OUT/$target".[0-9]*.log) in $((SECONDS - begun)) s"
	return $((rc || bad))
}

main() {
	local target pids=() rc=0

	while (($#)); do
		case $1 in
		--minutes) minutes=$(number "$1" "${2-}"); shift ;;
		--seed) seed=$(number "$1" "${2-}"); shift ;;
		--jobs) JOBS=$(number "$1" "${2-}"); shift ;;
		*)
			[[ -n ${SHARE[$1]-} ]] || die "there is no target '$1'"
			chosen+=("$1")
			;;
		esac
		shift
	done
	((${#chosen[@]})) || chosen=("${TARGETS[@]}")
	"$TOP/tests/runner/deps.sh" fuzz-core
	mkdir -p "$OUT"
	exec 7>"$OUT.lock"
	flock -n 7 || die "another run of this is in this tree"
	say "seed $seed"
	build "${chosen[@]}" >"$OUT/build.log" 2>&1 || { cat "$OUT/build.log" >&2; exit 1; }
	for target in "${chosen[@]}"; do
		share=$((share + SHARE[$target]))
	done
	echo "1..$((2 * ${#chosen[@]}))"
	# Side by side in the short form, one after the other in the long one
	for target in "${chosen[@]}"; do
		try "$target" >"$OUT/$target.tap" &
		pids+=($!)
		((!minutes)) || wait $! || rc=1
	done
	for target in "${pids[@]}"; do wait "$target" || rc=1; done
	for target in "${chosen[@]}"; do cat "$OUT/$target.tap"; done
	exit $rc
}

minutes=0 seed=5044 chosen=() share=0
main "$@"
