#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh FLAVOUR: build mpa_races for the guest kernel of that flavour, with
# MPA as it is there, and print where it is.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

kmod=$TOP/tests/modules/races

build() {
	mkdir -p "$out"
	find "$out" -type l -xtype l -delete
	ln -sfn "$kmod"/* "$out"
	make -C "$kdir" M="$out" MPA="$TREE" -j"$JOBS" W=1 \
		KBUILD_EXTRA_SYMBOLS="$mpa/Module.symvers" modules
}

flavour=${1:?usage: build.sh FLAVOUR}
mpa=$("$VM_DIR/modules" "$flavour")
kdir=$("$VM_DIR/kernel" "$flavour")
out=$TREE/build/harden/races-$flavour
mkdir -p "${out%/*}"
exec 9>"$out.lock"
flock 9
[[ $(cat "$out.kdir" 2>/dev/null) == "$kdir" ]] || rm -rf "$out"
echo "$kdir" >"$out.kdir"
: >"$out.log"
progress "$out.log" "mpa_races for the $flavour kernel" build
echo "$out/mpa_races.ko"
