#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Instructions that MPA costs, compared with TCP, siw and others; see
# Documentation/networking/mpa-performance.rst. Prints tables and whether the goals
# in tests/bench/bounds are met; these, results and a plot are in build/bench.
# The guests count instructions, so the same sources give the same figures. The
# status is 1 if a goal was missed.
#
# usage: bench.sh [--quick] [--doc | --kernel FLAVOUR]
#        bench.sh --compare COMMIT
#
# --quick measures little more than the goals need. --doc puts the tables and the plot
# into Documentation/networking and records the ceilings, which are those of the plain
# kernel; --kernel measures with another: plain+newest, with bounds.newest, or
# plain+retpoline.
# --compare measures the same rows of this tree and of COMMIT, and fails if a row costs
# 2 % more in this tree.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

OUT=$TOP/build/bench
BASE=$TOP/build/bench-base
PARTS=$TOP/tests/bench

# part NAME [ROW...]: the output of a guest goes to NAME/rows. Between runs only the
# modules in the guest may differ, so even the script's name is fixed.
# shellcheck disable=SC2317
part() {
	printf '#!/bin/bash\nexec /root/bench/guest.sh %s\n' "$mode ${*:2}" >"$out/guest.sh"
	VM_KEEP=$out/$1.guest VM_BOOT_TIMEOUT=600 "$VM_DIR/run" --kernel "$flavour" \
		--icount --mem 1536 --timeout 100000 \
		--file "$PARTS:/root/bench" --file "$consumers:/root/modules" \
		--file "$copies:/root/copies" "${nics[@]}" \
		--get "/root/out:$out/$1" -- "$out/guest.sh"
}

# Build all files that the guests need
build() {
	"$VM_DIR/modules" "$flavour" >/dev/null
	consumers=$("$TOP/tests/modules/build.sh" bench "$flavour")
}

# measure OUT LABEL: a guest, for out/rows; unless mode is quick a second one beside it.
measure() {
	local out=$1 label=$2 name pid pids=() rc=0 names=(count)

	mkdir -p "$out"
	[[ $mode == quick ]] || names+=(again)
	for name in "${names[@]}"; do
		progress "$out/$name.log" "$label, $name" part "$name" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=1
	done
	cat "$out/count/rows" >"$out/rows" || true
	((rc)) || [[ $flavour != *retpoline* ]] || grep -q Retpolines "$out/count/spectre_v2" ||
		die "this kernel makes no retpolines: $(cat "$out/count/spectre_v2")"
	[[ $mode == quick ]] ||
		sed 's/$/ boot=2/' "$out/again/rows" >>"$out/rows"
	return $rc
}

not_measured() { die "not measured; the logs are in ${1#"$TOP"/}"; }

# Some rows cost up to 2 % more after certain others in the same guest. A row above its
# ceiling counts as dearer only if it is so in a guest of its own as well.
measure_again() {
	local out=$OUT above

	mapfile -t above < <("$PARTS/report.py" --above "$OUT")
	((${#above[@]})) || return 0
	progress "$OUT/again.log" "${above[*]}, again" part again "${above[@]}" ||
		not_measured "$OUT"
	sed 's/$/ boot=2/' "$OUT/again/rows" >>"$OUT/rows"
}

# shellcheck disable=SC2317
native() { "$PARTS/native.sh" >"$OUT/native.rows"; }

report() {
	local status=0 options=()

	[[ $flavour == plain ]] || options+=(--ceilings /dev/null --elsewhere /dev/null)
	[[ $flavour != *newest* ]] || options+=(--elsewhere "$PARTS/bounds.newest")
	"$PARTS/report.py" ${quick:+--quick} "${options[@]}" "$OUT" || status=$?
	((status <= 1)) || exit $status
	# Quick rows do not fill it
	[[ -n $quick ]] || (cd "$OUT" && gnuplot "$PARTS/plot.gp")
	say "$SECONDS s; results.csv, tables.rst and the like are in build/bench"
	return $status
}

doc() {
	local text=$TOP/Documentation/networking/mpa-performance

	"$PARTS/report.py" --doc "$text.rst" "$OUT"
	cp "$OUT"/mpa-performance-*.svg "${text%/*}"
}

bench() {
	local status=0

	prepare "$OUT"
	build
	measure "$OUT" "$mode" || not_measured "$OUT"
	[[ $quick$flavour != 1plain ]] || measure_again
	# On its own, because it measures time
	if [[ -z $quick ]]; then
		progress "$OUT/native.log" "native, time" native ||
			say "no native rows"
		cat "$OUT/native.rows" >>"$OUT/rows"
	fi
	report || status=$?
	[[ -z $with_doc ]] || doc
	exit $status
}

# The sources of a commit, as they were
check_out() {
	[[ $(cat "$BASE/.commit" 2>/dev/null) != "$1" ]] || return 0
	rm -rf "$BASE"
	mkdir -p "$BASE"
	git -C "$TOP" archive "$1" | tar -C "$BASE" -x
	echo "$1" >"$BASE/.commit"
}

compare() {
	local commit

	commit=$(git -C "$TOP" rev-parse --verify --quiet "$1^{commit}") ||
		die "no commit '$1'"
	prepare "$OUT-compare"
	build
	measure "$OUT-compare/new" "this tree" || not_measured "$OUT-compare/new"
	check_out "$commit"
	export VM_TREE=$BASE
	build || die "nothing to compare with: the benchmark needs more than $1 has"
	# The other commit may lack features that some rows need
	measure "$OUT-compare/base" "$1" ||
		say "not all of $1 could be measured, see build/bench-compare/base"
	[[ -s $OUT-compare/base/rows ]] || not_measured "$OUT-compare/base"
	"$PARTS/report.py" --compare "$OUT-compare"/{base,new}
	exit
}

prepare() {
	local text

	"$TOP/tests/runner/deps.sh" modules kernel guest bench
	mkdir -p "$TOP/build"
	exec 7>"$1.lock"
	flock -n 7 || die "this runs already in this tree"
	rm -rf "$1"
	mkdir "$1"
	copies=$("$TOP/tests/interop/copies.sh" "$flavour")
	text=$("$PARTS/nics.sh" "$flavour")
	mapfile -t nics <<<"$text"
	"$VM_DIR/userland" >/dev/null
}

usage() {
	sed -n '9,10s/^# //p' "$0" >&2
	exit 2
}

mode=full flavour=plain quick='' with_doc='' base='' consumers='' copies=''
nics=()
while (($#)); do
	case $1 in
	--quick) mode=quick quick=1 ;;
	--doc) with_doc=1 ;;
	--kernel) flavour=${2:?--kernel wants a flavour}; shift ;;
	--compare) mode=quick base=${2:?--compare wants a commit}; shift ;;
	*) usage ;;
	esac
	shift
done
[[ -z $with_doc || $flavour$quick == plain ]] ||
	die "the documentation has all rows of the plain kernel"
if [[ -n $base ]]; then
	compare "$base"
else
	bench
fi
