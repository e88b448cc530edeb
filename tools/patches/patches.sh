#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Write MPA as a series of patches for a kernel, into build/patches, and judge each
# with that kernel's checkpatch.pl. Prints TAP.
#
# usage: patches.sh [--build] [KERNEL]
#
# KERNEL is a kernel's source, 6.12 or later; without it that of the guest's kernel.
# --build applies one after the other to a copy, builds net/mpa with W=1 C=1 each time,
# and runs the KUnit tests of the whole by the kernel's kunit.py (some minutes).
set -euo pipefail
. "$(dirname "$0")/../../tests/vm/lib.sh"
. "$TOP/tests/static/static.sh"

OUT=$TOP/build/patches
COPY=$OUT/kernel	# hard links to KERNEL, with the patches applied
# CONFIG_* that sparse and the warnings are to see, beside those of the guest
CONFIG='CONFIG_MPA=m CONFIG_MPA_KUNIT_TEST=m'

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
	if "$@"; then echo "ok $name"; else echo "not ok $name"; fi
}

in_copy() { make -C "$COPY" O="$OUT/obj" -j"$JOBS" "$@"; }

configure() {
	cp -al "$kernel" "$COPY"
	mkdir -p "$OUT/obj"
	# shellcheck disable=SC2046
	{ cat $(fragments plain); tr ' ' '\n' <<<"$CONFIG"; } >"$OUT/fragments"
	patch -d "$COPY" -p1 -s --dry-run <"$1"
	in_copy KCONFIG_ALLCONFIG="$OUT/fragments" allnoconfig
	in_copy modules_prepare
}

# One patch more: its own folder, and TCP, without a warning
build_patch() {
	local log=$OUT/${1##*/}.log

	patch -d "$COPY" -p1 -s <"$1"
	in_copy KCONFIG_ALLCONFIG="$OUT/fragments" allnoconfig >"$log.config" 2>&1
	in_copy W=1 C=1 CF=-D__CHECK_ENDIAN__ net/mpa/ >"$log" 2>&1 &&
		in_copy net/ipv4/tcp_input.o >>"$log" 2>&1 &&
		! grep -E '(warning|error): ' "$log" >&2
}

# Prints kunit.py's summary; its status is 1 if a test failed
kunit() {
	python3 "$COPY/tools/testing/kunit/kunit.py" run --jobs "$JOBS" \
		--build_dir "$OUT/um" --kunitconfig net/mpa/kunit >"$OUT/kunit.log" 2>&1
}

build=''
if [[ ${1-} == --build ]]; then
	build=1
	shift
fi
kernel=${1:-$(kernel_source)}
[[ -f $kernel/net/ipv4/tcp_input.c ]] || die "$kernel: not a kernel's source"
kernel=$(realpath "$kernel")
rm -rf "$OUT"
mapfile -t patches < <("$TOP/tools/patches/patches.py" "$kernel" "$OUT")
((${#patches[@]})) || exit 1
for file in "${patches[@]}"; do
	verdict "patches.checkpatch ${file##*/}" judge_patch "$file"
done
[[ -n $build ]] || exit 0
progress "$OUT/configure.log" "configure the kernel" configure "${patches[0]}"
for file in "${patches[@]}"; do
	say "build ${file##*/}"
	verdict "patches.build ${file##*/}" build_patch "$file"
done
verdict "patches.kunit by kunit.py, on user mode Linux" \
	progress "$OUT/kunit.progress" "build and run KUnit" kunit
