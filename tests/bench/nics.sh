#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# nics.sh FLAVOUR: print options of tests/vm/run, one a line, that give the guest two NICs
# which a hub of QEMU joins. The emulated e1000 segments for TCP and makes its
# checksums. The guest's kernel has no driver of it: one is built from the kernel's sources,
# and is /root/nic/e1000.ko in the guest.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

SOURCE=drivers/net/ethernet/intel/e1000

# Other NICs check TCP's checksums. QEMU's does not, and tells the driver so, but damages
# no packet either: the driver says that the checksums are right.
trust() {
	sed -i 's/^\tskb_checksum_none_assert(skb);/\tskb->ip_summed = CHECKSUM_UNNECESSARY;/' \
		"$1"
	grep -q $'^\tskb->ip_summed = CHECKSUM_UNNECESSARY;' "$1"
}

build() {
	rm -rf "$dir" && mkdir -p "$dir"
	cp -r "$(kernel_source "$flavour")/$SOURCE" "$dir/e1000"
	trust "$dir/e1000/e1000_main.c"
	make -C "$kdir" M="$dir/e1000" -j"$JOBS" CONFIG_E1000=m modules
	mv "$dir/e1000/e1000.ko" "$dir"
	rm -r "$dir/e1000"
	touch "$dir/.built"
}

flavour=${1:?usage: nics.sh FLAVOUR}
kdir=$("$VM_DIR/kernel" "$flavour")
dir=$kdir.nics-$(digest <"$0")
exec 9>"$kdir.nics.lock"
flock 9
[[ -e $dir/.built ]] || progress "$kdir.nics.log" "driver of the NICs" build
for name in h0 h1; do
	printf -- '--qemu\n%s\n' -netdev "hubport,id=$name,hubid=0" \
		-device "e1000,netdev=$name"
done
printf -- '--file\n%s\n' "$dir/e1000.ko:/root/nic/e1000.ko"
