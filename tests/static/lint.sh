#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2317
# Findings of static checkers that are too slow for make check: clang and its analyzer,
# gcc's, the kernel's semantic patches; shellcheck and pylint for the tools. Results in
# build/lint, with a log of each. Known findings are listed in tests/static/known,
# including the defects of planted.c there, one for each checker.
#
# usage: lint.sh [JOB]
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$TOP/tests/runner/jobs.sh"
. "$TOP/tests/static/static.sh"

OUT=$TOP/build/lint
PARTS=$TOP/tests/static
TIDY='-*,clang-analyzer-*,linuxkernel-*,bugprone-*'
# Without checks that do not fit kernel code: for functions of later C libraries,
# members sorted by size, few parameters and casts in all arithmetic; against
# READ_ONCE() of a pointer, memcmp() as a condition, and sources that include others.
for check in clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling \
	clang-analyzer-optin.performance.Padding \
	bugprone-{easily-swappable-parameters,narrowing-conversions} \
	bugprone-{reserved-identifier,macro-parentheses,branch-clone} \
	bugprone-{sizeof-expression,suspicious-string-compare} \
	bugprone-{implicit-widening-of-multiplication-result,suspicious-include}; do
	TIDY+=,-$check
done

# judge TOOL DIRECTORY STATUS: the result of the output in TOOL.said
judge() {
	local rc=$3

	"$PARTS/findings.py" "$1" "$2" <"$OUT/$1.said" || true
	((!rc)) || echo "not ok lint.$1.ran status $rc: see build/lint/$1.log"
}

# farm NAME: the modules' sources, as Kbuild wants them, and the planted defects
farm() {
	local to=$OUT/$1.d

	sync_farm "$to"
	rm -f "$to/Kbuild"
	{ cat "$TOP/Kbuild"; echo "obj-m += planted.o"; } >"$to/Kbuild"
	cp -p "$PARTS/planted.c" "$to"
	echo "$to"
}

in_farm() { (cd "$1" && find -L . -name '*.c' ! -name '*.mod.c' -printf '%P\n'); }

# A kernel for clang, prepared for the headers only
clang_kernel() {
	local src out

	src=$(kernel_source)
	out=$CACHE/clang-$(digest "$(kernel_version)" "$(clang -dumpversion)" \
		<"$VM_DIR/config.base")
	exec 9>"$out.lock"
	flock 9
	if [[ ! -e $out/.prepared ]]; then
		mkdir -p "$out"
		progress "$out.log" "prepare a kernel for clang" \
			prepare_kernel "$src" "$out" >&2
		touch "$out/.prepared"
	fi
	exec 9>&-
	echo "$out"
}

prepare_kernel() {
	make -C "$1" O="$2" LLVM=1 KCONFIG_ALLCONFIG="$VM_DIR/config.base" \
		allnoconfig
	make -C "$1" O="$2" LLVM=1 -j"$JOBS" modules_prepare
}

job_clang() {
	local to rc=0

	to=$(farm clang)
	# Nothing has been linked, so no symbol is known
	make -C "$clang" M="$to" LLVM=1 W=1 -j"$JOBS" -k KBUILD_MODPOST_WARN=1 \
		"${MODULE_CONFIG[@]}" clean modules compile_commands.json \
		>"$OUT/clang.make" 2>&1 || rc=$?
	sed "s:^$to/::" "$OUT/clang.make" | tee "$OUT/clang.said" >&2
	judge clang "$to" "$rc"
	job_tidy "$to"
}

job_tidy() {
	local rc=0

	in_farm "$1" | sort | (cd "$1" && xargs -P "$JOBS" -n 1 clang-tidy -p . \
		--quiet -checks="$TIDY" -header-filter="^$1/") \
		>"$OUT/tidy.make" 2>&1 || rc=$?
	sed "s:^$1/::" "$OUT/tidy.make" | tee "$OUT/tidy.said" >&2
	judge tidy "$1" "$rc"
}

job_gcc() {
	local to rc=0

	to=$(farm gcc)
	make -C "$plain" M="$to" KCFLAGS=-fanalyzer -j"$JOBS" -k \
		"${MODULE_CONFIG[@]}" clean modules >"$OUT/gcc.make" 2>&1 || rc=$?
	sed "s:^$to/::" "$OUT/gcc.make" | tee "$OUT/gcc.said" >&2
	judge gcc "$to" "$rc"
}

# One semantic patch of the kernel's. Two of them need a compiler for OCaml: one is
# for a chip, the other for something that sparse warns of.
semantic_patch() {
	local name

	name=$(basename "$1" .cocci)
	make -s -C "$2" LLVM=1 coccicheck MODE=report M="$3" J=1 COCCI="$1" \
		>"$OUT/cocci.parts/$name" 2>&1 || echo "$name: error: status $?"
	sed -n "/:[0-9]*:[0-9]/s/$/ [$name]/; s:^$3/::p" "$OUT/cocci.parts/$name"
}

job_cocci() {
	local to rc=0 file

	# It follows no links
	to=$(farm cocci)
	(cd "$to" && find . -type l) | while read -r file; do
		cp --remove-destination "$TOP/$file" "$to/$file"
	done
	rm -rf "$OUT/cocci.parts"
	mkdir "$OUT/cocci.parts"
	export -f semantic_patch
	export OUT
	find "$(kernel_source)/scripts/coccinelle" -name '*.cocci' \
		! -name check_bq27xxx_data.cocci ! -name badzero.cocci -print0 |
		xargs -0 -P "$JOBS" -I{} bash -c "semantic_patch {} '$clang' '$to'" |
		sort | tee "$OUT/cocci.said" >&2 || rc=$?
	judge cocci "$to" "$rc"
}

# The programs of tests/ in user space
programs() {
	find tests/{peer,vm,net,dos,fuzz/wire} tests/static/program.c -name '*.c' |
		grep -vxF "$(kernel_sources)"
}

program_cc() { "$CC" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Itests/peer "$@"; }

# and those that have the core in user space
core_programs() { find tests/core tests/bench/native -name '*.c'; }

core_cc() {
	tests/core/cc.sh "$OUT/programs.d" -Itests/core -msse4.2 "$@"
}

# analyze COMPILER: the sources of stdin, by both. Memory that a program keeps until
# it exits is no leak.
analyze() {
	local file

	while read -r file; do
		CC=gcc "$1" -O2 -fanalyzer -Wno-analyzer-{malloc,file}-leak \
			-c -o /dev/null "$file"
		CC=clang "$1" --analyze -Xclang -analyzer-output=text \
			-o /dev/null "$file"
	done
}

job_programs() {
	local rc=0

	cd "$TOP"
	rm -rf "$OUT/programs.d"
	{
		programs | analyze program_cc
		core_programs | analyze core_cc
	} 2>&1 | tee "$OUT/programs.said" >&2 || rc=$?
	judge programs "$TOP" "$rc"
}

scripts() {
	(cd "$TOP" && git ls-files -co --exclude-standard tests .ci |
		while read -r file; do
			head -n 3 "$file" | grep -aqE "$1" || continue
			echo "$file"
		done)
}

job_shell() {
	local rc=0

	(cd "$TOP" && scripts '^#!/bin/(ba)?sh|^# shellcheck shell=' |
		xargs -P "$JOBS" -n 8 shellcheck -x -S warning -f gcc) >&2 || rc=$?
	if ((rc)); then echo "not ok lint.shell"; else echo "ok lint.shell"; fi
}

# It takes main(*words) for one word.
job_python() {
	local rc=0

	(cd "$TOP" && scripts '^#!.*python3' |
		xargs pylint --errors-only --disable=too-many-function-args) >&2 || rc=$?
	if ((rc)); then echo "not ok lint.python"; else echo "ok lint.python"; fi
}

main() {
	local name

	[[ ${1-} != -* ]] || { sed -n '9s/^# //p' "$0" >&2; exit 2; }
	only=${1:-*}
	"$TOP/tests/runner/deps.sh" modules kernel lint
	mkdir -p "$OUT"
	exec 7>"$OUT.lock"
	flock -n 7 || die "another make lint runs in this tree"
	plain=$("$VM_DIR/kernel" plain)
	clang=$(clang_kernel)
	begin_jobs
	for name in clang cocci gcc programs shell python; do
		job "$name" "job_$name"
	done
	end_jobs
	finish
	exit
}

main "$@"
