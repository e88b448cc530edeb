#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh NAME FLAVOUR: build tests/modules/NAME for the guest kernel of that flavour,
# with MPA as it is there, and print the directory that holds the modules.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

build() {
	mkdir -p "$out"
	find "$out" -type l -xtype l -delete
	ln -sfn "$TOP/tests/modules/$name"/* "$out"
	[[ $name != bench ]] || ln -sfn "$TOP/tests/bench/mark.h" "$out"
	make -C "$kdir" M="$out" MPA="$TREE" -j"$JOBS" W=1 \
		KBUILD_EXTRA_SYMBOLS="$mpa/Module.symvers" modules
}

name=${1:?usage: build.sh NAME FLAVOUR} flavour=${2:?usage: build.sh NAME FLAVOUR}
mpa=$("$VM_DIR/modules" "$flavour")
kdir=$("$VM_DIR/kernel" "$flavour")
out=$TREE/build/modules/$name-$flavour
exec 9>"$out.lock"
flock 9
[[ $(cat "$out.kdir" 2>/dev/null) == "$kdir" ]] || rm -rf "$out"
echo "$kdir" >"$out.kdir"
: >"$out.log"
progress "$out.log" "test module $name for the $flavour kernel" build
echo "$out"
