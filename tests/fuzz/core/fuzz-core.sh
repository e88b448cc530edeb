#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The pure core under libFuzzer in user space, with ASan and UBSan: the targets of
# tests/fuzz/core, see Documentation/networking/mpa-reliability.rst. Prints TAP, then
# counters. Inputs that break a target are left in build/fuzz-core.
#
# usage: fuzz-core.sh [--minutes N] [--seed S] [--jobs N] [TARGET...]
#        fuzz-core.sh --coverage   the lines of the core that are reached
#        fuzz-core.sh --keep       add new inputs found there to tests/fuzz/core/corpus
#
# Without --minutes each target runs its corpus and a fixed number of inputs.
set -euo pipefail
. "$(dirname "$0")/../../vm/lib.sh"

HERE=$TOP/tests/fuzz/core
OUT=$TOP/build/fuzz-core
CORE=(mpa_crc.c mpa_fpdu.c mpa_fpdu_enc.c mpa_fpdu_dec.c mpa_frame.c mpa_ooo_map.c)
TARGETS=(stream frame ooo encode)
# Inputs of the short form, and the share of the time in the long one
declare -A RUNS=([stream]=12000 [frame]=200000 [ooo]=8000 [encode]=15000)
declare -A SHARE=([stream]=50 [frame]=10 [ooo]=25 [encode]=15)
declare -A LENGTH=([stream]=200 [frame]=80 [ooo]=300 [encode]=300)
export ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=16

# A line is "DESCRIPTION: HEX"; print the hex

lines() { grep -vE '^#|^$' "$HERE/corpus/$1"; }

# unpack TARGET: each one as a file, which has the number of its line
unpack() {
	local n=0 line octets

	rm -rf "$OUT/seeds/$1"
	mkdir -p "$OUT/seeds/$1" "$OUT/corpus/$1"
	while read -r line; do
		# shellcheck disable=SC2001
		octets=$(sed 's/../\\x&/g' <<<"${line##*: }")
		n=$((n + 1))
		# shellcheck disable=SC2059
		printf "$octets" >"$OUT/seeds/$1/$(printf %04d $n)"
	done < <(lines "$1")
}

# Building

# compile OBJECT SOURCE OPTION...
compile() { CC=clang "$TOP/tests/core/cc.sh" "$OUT/include" -c -o "$@"; }

# The reference is not worth the sanitizers' time.
build_target() {
	local target=$1 dir=$OUT/$1.o file others=()

	shift
	mkdir -p "$dir"
	[[ $target != ooo ]] || others=(kunit/mpa_ooo_model.c)
	for file in "${CORE[@]}"; do
		compile "$dir/core-${file%.c}.o" "$file" "$@"
	done
	for file in "tests/fuzz/core/$target.c" tests/fuzz/core/fuzz.c \
		tests/core/shim.c "${others[@]}"; do
		compile "$dir/$(basename "$file" .c).o" "$file" \
			-Itests/core "${CHECKED[@]}"
	done
	compile "$dir/mpa_ref.o" kunit/mpa_ref.c -O2
	clang -fsanitize=fuzzer "$@" -o "$OUT/$target" "$dir"/*.o
}

# shellcheck disable=SC2054
CHECKED=(-O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all
	-D__SANITIZE_ADDRESS__)

build() {
	local target

	cd "$TOP"
	rm -rf "$OUT/include"
	for target; do
		build_target "$target" "${CHECKED[@]}" -fsanitize=fuzzer-no-link
	done >"$OUT/build.log" 2>&1 || { cat "$OUT/build.log" >&2; exit 1; }
}

# Running

result() { echo "$([[ $1 == 0 ]] || echo 'not ')ok - fuzz-core.$2"; }

# The report of a sanitizer or of a comparison
tell_failure() {
	grep -avE '^("|###|#[0-9]+\s|INFO|Executed|\*\*\*|stat::)|NEW_FUNC' "$1" |
		head -n 40 >&2
}

# Each line of the corpus has the effect described. Without leak detection, which
# would repeat inputs.
replay() {
	local target=$1 rc=0

	FUZZ_SAY=1 "$OUT/$target" -artifact_prefix="$OUT/$target-" \
		-detect_leaks=0 "$OUT/seeds/$target"/* \
		>"$OUT/$target.said" 2>"$OUT/$target.seeds.log" || rc=$?
	diff <(lines "$target" | sed 's/: [^:]*$//') "$OUT/$target.said" \
		>"$OUT/$target.diff" || rc=1
	((!rc)) || { head -n 20 "$OUT/$target.diff"
		tell_failure "$OUT/$target.seeds.log"; } >&2
	result $rc "$target.corpus $(lines "$target" | wc -l) inputs have the effect described"
	return $rc
}

# fuzz TARGET SEED OPTION...
fuzz() {
	local target=$1 seed=$2

	shift 2
	"$OUT/$target" -seed="$seed" -max_len="${LENGTH[$target]}" -timeout=120 \
		-artifact_prefix="$OUT/$target-" -print_final_stats=1 "$@" \
		"$OUT/corpus/$target" "$OUT/seeds/$target" \
		>"$OUT/$target.$seed.log" 2>&1
}

counted() {
	awk '/^counted / { n[$3] += $2 }
	END { for (what in n) printf "%s%d %s", sep, n[what], what, sep = ", " }' \
		"$@"
}

# The short form: always the same inputs, and no new corpus
short() {
	local target=$1 rc=0 bad=0

	replay "$target" || bad=1
	rm -rf "$OUT/corpus/$target"
	mkdir "$OUT/corpus/$target"
	fuzz "$target" "$seed" -runs="${RUNS[$target]}" || rc=$?
	((!rc)) || tell_failure "$OUT/$target.$seed.log"
	result $rc "$target.inputs $(counted "$OUT/$target.$seed.log")"
	return $((rc || bad))
}

shorts() {
	local target pids=() rc=0

	for target; do
		short "$target" >"$OUT/$target.tap" &
		pids+=($!)
		# Two at a time
		((${#pids[@]} % 2)) || wait "${pids[-2]}" || rc=1
	done
	for target in "${pids[@]}"; do wait "$target" || rc=1; done
	for target; do cat "$OUT/$target.tap"; done
	return $rc
}

# long TARGET: all jobs at it, and a line about one of them now and then
long() {
	local target=$1 i rc=0 bad=0 pids=() pid begun=$SECONDS time

	time=$((minutes * 60 * SHARE[$target] / share))
	replay "$target" || bad=1
	for ((i = 0; i < JOBS; i++)); do
		fuzz "$target" $((seed + i)) -max_total_time=$time -reload=10 &
		pids+=($!)
	done
	while sleep 2 && kill -0 "${pids[@]}" 2>/dev/null; do
		((++i % 10)) || say "$target, $((SECONDS - begun)) of $time s:" \
			"$(grep -a '^#[0-9]' "$OUT/$target.$seed.log" | tail -n 1)"
	done
	for pid in "${pids[@]}"; do wait "$pid" || rc=$?; done
	for ((i = 0; i < JOBS; i++)); do
		((!rc)) || tell_failure "$OUT/$target.$((seed + i)).log"
	done
	result $rc "$target.inputs $(counted "$OUT/$target".[0-9]*.log) in $((SECONDS - begun)) s"
	return $((rc || bad))
}

# Lines of the core that all known inputs reach, with the targets themselves
coverage() {
	local target objects=()

	CHECKED=(-O1 -g)
	cd "$TOP"
	for target in "${TARGETS[@]}"; do
		unpack "$target"
		build_target "$target" -O1 -g -fsanitize=fuzzer-no-link \
			-fprofile-instr-generate -fcoverage-mapping
		LLVM_PROFILE_FILE=$OUT/$target.profraw "$OUT/$target" -runs=0 \
			"$OUT/corpus/$target" "$OUT/seeds/$target" 2>/dev/null
		objects+=(-object "$OUT/$target")
	done
	llvm-profdata merge -o "$OUT/profdata" "$OUT"/*.profraw
	objects=("${objects[@]:1}" -instr-profile="$OUT/profdata" "${CORE[@]}")
	llvm-cov report "${objects[@]}" | cut -c1-24,52-
	llvm-cov show "${objects[@]}" >"$OUT/coverage.txt"
	grep -E '^ +[0-9]+\| +0\|' "$OUT/coverage.txt" || true
}

# Inputs found by the last long run, as lines of the corpus
keep() {
	local target file

	build "${TARGETS[@]}"
	for target in "${TARGETS[@]}"; do
		unpack "$target"
		rm -rf "$OUT/merged"
		mkdir "$OUT/merged"
		cp "$OUT/seeds/$target"/* "$OUT/merged"
		"$OUT/$target" -merge=1 "$OUT/merged" "$OUT/corpus/$target" 2>/dev/null
		for file in "$OUT/merged"/*; do
			[[ ! -e $OUT/seeds/$target/${file##*/} ]] || continue
			echo "$(FUZZ_SAY=1 "$OUT/$target" "$file" 2>/dev/null):" \
				"$(od -An -v -tx1 "$file" | tr -d ' \n')"
		done >>"$HERE/corpus/$target"
		say "$target: $(lines "$target" | wc -l) inputs"
	done
}

parse() {
	while (($#)); do
		case $1 in
		--minutes) minutes=$(number "$1" "${2-}"); shift ;;
		--seed) seed=$(number "$1" "${2-}"); shift ;;
		--jobs) JOBS=$(number "$1" "${2-}"); shift ;;
		--coverage | --keep) what=${1#--} ;;
		-*)
			sed -n '7,11s/^# \{0,1\}//p' "$0" >&2
			exit 2
			;;
		*)
			[[ -n ${SHARE[$1]-} ]] || die "there is no target '$1'"
			chosen+=("$1")
			;;
		esac
		shift
	done
}

main() {
	local target rc=0

	parse "$@"
	((${#chosen[@]})) || chosen=("${TARGETS[@]}")
	"$TOP/tests/runner/deps.sh" fuzz-core
	mkdir -p "$OUT"
	exec 7>"$OUT.lock"
	flock -n 7 || die "another run of this is in this tree"
	[[ $what == fuzz ]] || { $what; exit; }
	say "seed $seed"
	for target in "${chosen[@]}"; do
		unpack "$target"
		share=$((share + SHARE[$target]))
	done
	build "${chosen[@]}"
	rm -f "$OUT"/*-{crash,leak,oom,timeout}-* "$OUT"/*.[0-9]*.log
	echo "1..$((2 * ${#chosen[@]}))"
	if ((!minutes)); then
		shorts "${chosen[@]}" || rc=1
	else
		for target in "${chosen[@]}"; do long "$target" || rc=1; done
	fi
	echo "# $(counted "$OUT"/*.[0-9]*.log)"
	exit $rc
}

minutes=0 seed=5044 what=fuzz chosen=() share=0
main "$@"
