#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# modules.sh FLAVOUR: build the modules of the benchmark for the guest kernel of that
# flavour, with MPA as it is there, and print the directory that holds them.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

kmod=$TOP/tests/modules/bench

link() {
	local file

	mkdir -p "$out"
	find "$out" -type l -xtype l -delete
	for file in "$kmod"/* "$TOP/tests/bench/mark.h"; do
		ln -sfn "$file" "$out/${file##*/}"
	done
}

build() {
	link
	make -C "$kdir" M="$out" MPA="$TREE" -j"$JOBS" \
		KBUILD_EXTRA_SYMBOLS="$mpa/Module.symvers" modules
}

flavour=${1:?usage: modules.sh FLAVOUR}
mpa=$("$VM_DIR/modules" "$flavour")
kdir=$("$VM_DIR/kernel" "$flavour")
out=$TREE/build/bench/modules/$flavour
mkdir -p "${out%/*}"
exec 9>"$out.lock"
flock 9
[[ $(cat "$out/kdir" 2>/dev/null) == "$kdir" ]] || rm -rf "$out"
mkdir -p "$out"
echo "$kdir" >"$out/kdir"
: >"$out.log"
progress "$out.log" "modules of the benchmark" build
echo "$out"
