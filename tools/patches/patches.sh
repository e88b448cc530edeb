#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Write MPA as a series of patches for a kernel, into build/patches, and judge each
# with that kernel's checkpatch.pl. Prints TAP, and last the numbers of cases.
#
# usage: patches.sh [--build] [KERNEL]
#
# KERNEL is a kernel's source, 6.12 or later, or "newest", which is Debian's newest;
# without it that of the guest's kernel.
# --build applies one after the other to a copy, builds net/mpa with W=1 C=1 each time,
# and what they touch of TCP, which may warn of no more than it did before them. Then it
# runs the KUnit tests of the whole by the kernel's kunit.py (some minutes).
set -euo pipefail
. "$(dirname "$0")/../../tests/vm/lib.sh"
. "$TOP/tests/static/static.sh"

OUT=$TOP/build/patches
COPY=$OUT/kernel	# hard links to KERNEL, with the patches applied
TCP=(net/ipv4/tcp_input.o net/ipv4/tcp_diag.o)	# what uses the headers that change
# CONFIG_* that sparse and the warnings are to see, beside those of the guest
CONFIG='CONFIG_MPA=m CONFIG_MPA_KUNIT_TEST=m'

# CONST_STRUCT: a newer checkpatch.pl (7.3) wants each struct ctl_table const. That of a
# namespace is a copy of a const one, whose @data mpa_sysctl_init() sets before it registers
# it.
judge_patch() {
	perl "$kernel/scripts/checkpatch.pl" --strict --quiet --terse --no-tree \
		--ignore "$(ignored "$(trace_in "$1")"),CONST_STRUCT" "$1" >&2
}

# Trace events have a form of their own, see ignored()
trace_in() { sed -nE 's|^\+\+\+ b/(include/trace/.*)|\1|p' "$1" | head -n 1; }

# verdict NAME COMMAND...
verdict() {
	local name=$1

	shift
	if "$@"; then
		good=$((good + 1))
		echo "ok $name"
	else
		bad=$((bad + 1))
		echo "not ok $name"
	fi
}

finish() {
	echo "$good passed, $bad failed"
	((good && !bad))
	exit
}

in_copy() { make -C "$COPY" O="$OUT/obj" -j"$JOBS" "$@"; }

checked() { in_copy W=1 C=1 CF=-D__CHECK_ENDIAN__ "$@"; }

# The warnings in LOG, without the lines that they are at
warnings() { sed -nE '/(warning|error): /s/:[0-9]+(:[0-9]+)?:/:/p' "$1" | sort -u; }

configure() {
	cp -al "$kernel" "$COPY"
	mkdir -p "$OUT/obj"
	# shellcheck disable=SC2046
	{ cat $(fragments plain); tr ' ' '\n' <<<"$CONFIG"; } >"$OUT/fragments"
	patch -d "$COPY" -p1 -s --dry-run <"$1"
	in_copy KCONFIG_ALLCONFIG="$OUT/fragments" allnoconfig
	in_copy modules_prepare
	checked "${TCP[@]}" >"$OUT/tcp.log" 2>&1
	warnings "$OUT/tcp.log" >"$OUT/tcp.before"
}

# One patch more: its own folder without a warning, TCP without a new one
build_patch() {
	local log=$OUT/${1##*/}.log

	patch -d "$COPY" -p1 -s <"$1" || return
	in_copy KCONFIG_ALLCONFIG="$OUT/fragments" allnoconfig >"$log.config" 2>&1 &&
		checked net/mpa/ >"$log" 2>&1 && checked "${TCP[@]}" >"$log.tcp" 2>&1 &&
		! grep -E '(warning|error): ' "$log" >&2 &&
		! warnings "$log.tcp" | comm -23 - "$OUT/tcp.before" | grep . >&2
}

# Prints kunit.py's summary; its status is 1 if a test failed
kunit() {
	python3 "$COPY/tools/testing/kunit/kunit.py" run --jobs "$JOBS" \
		--build_dir "$OUT/um" --kunitconfig net/mpa/kunit >"$OUT/kunit.log" 2>&1
}

# What every entry of the series' Kconfig selects is there, and named once
kconfig_selects() {
	local symbol bad=0 selected

	selected=$(sed -nE 's/^\tselect (\w+).*/\1/p' "$OUT/tree/net/mpa/Kconfig")
	for symbol in $selected; do
		grep -rqxE --include='Kconfig*' "(menu)?config $symbol" "$kernel" ||
			{ say "Kconfig selects $symbol, which is not there"; bad=1; }
	done
	symbol=$(sort <<<"$selected" | uniq -d)
	[[ -z $symbol ]] || { say "Kconfig selects $symbol twice"; bad=1; }
	return $bad
}

# The entry is between its neighbours in the order of the alphabet
maintainers_order() {
	local near

	near=$(grep -E -B 1 '^[A-Z]:\s' "$OUT/tree/MAINTAINERS" | grep -E '^[A-Z0-9][^:]' |
		grep -C 1 '^IWARP MPA')
	LC_ALL=C sort -f -c <<<"$near" && [[ $near == I* ]]
}

# The documents name no other, no source and no file of this tree that the kernel lacks.
docs_references() {
	local dir=Documentation/networking name bad=0

	for name in $(cd "$OUT/tree" && grep -ohE '\<mpa[a-z-]*\.rst' $dir/mpa*.rst |
		sort -u); do
		[[ -e $OUT/tree/$dir/$name ]] ||
			{ say "documents refer to $name, which is not there"; bad=1; }
	done
	for name in $(cd "$OUT/tree" && grep -ohE 'Documentation/[a-z0-9_/-]+\.(rst|yaml)' \
		-r $dir/mpa*.rst include net/mpa | sort -u); do
		[[ -e $OUT/tree/$name || -e $kernel/$name ]] ||
			{ say "a file refers to $name, which is not there"; bad=1; }
	done
	for name in $(cd "$OUT/tree" && grep -ohE '\<mpa_\w+\.[ch]\>' -r $dir | sort -u); do
		[[ -n $(find "$OUT/tree" -name "$name") ]] ||
			{ say "documents refer to $name, which is not there"; bad=1; }
	done
	! (cd "$OUT/tree" && grep -nE '\<(Kbuild\>|README\.md|samples/)|make (install|tools)' \
		$dir/mpa*.rst) >&2 || bad=1
	return $bad
}

build='' good=0 bad=0
if [[ ${1-} == --build ]]; then
	build=1
	shift
fi
kernel=${1:-plain}
[[ $kernel != @(plain|newest) ]] || kernel=$("$VM_DIR/kernel" --source "$kernel")
[[ -f $kernel/net/ipv4/tcp_input.c ]] || die "$kernel: not a kernel's source"
kernel=$(realpath "$kernel")
rm -rf "$OUT"
mapfile -t patches < <("$TOP/tools/patches/patches.py" "$kernel" "$OUT")
((${#patches[@]})) || exit 1
for file in "${patches[@]}"; do
	verdict "patches.checkpatch ${file##*/}" judge_patch "$file"
done
verdict "patches.kconfig all that is selected exists" kconfig_selects
verdict "patches.maintainers the entry is in its place" maintainers_order
verdict "patches.docs no reference to what is not there" docs_references
[[ -n $build ]] || finish
progress "$OUT/configure.log" "configure the kernel" configure "${patches[0]}"
for file in "${patches[@]}"; do
	say "build ${file##*/}"
	verdict "patches.build ${file##*/}" build_patch "$file"
done
verdict "patches.kunit by kunit.py, on user mode Linux" \
	progress "$OUT/kunit.progress" "build and run KUnit" kunit
finish
