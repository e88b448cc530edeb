#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# copies FLAVOUR: build siw again from the sources of the guest's kernel, each
# time with some of its constants changed, for it has no settings. Prints the
# directory, which holds NAME/siw.ko.
#
# "gso" is for measuring alone: its FPDUs are larger than a segment, which does
# not comply with RFC 5044.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

# name, then each constant and its value
COPIES='
p2p	peer_to_peer=true
crc	mpa_crc_required=true
gso	mpa_crc_required=true try_gso=true
rev1	mpa_version=MPA_REVISION_1
'

# change FILE CONSTANT=VALUE...
change() {
	local file=$1 pair

	shift
	for pair; do
		sed -i -E "s/^([a-z_ ]+ ${pair%=*})( = \w+)?;/\1 = ${pair#*=};/" \
			"$file"
		[[ $(grep -c "^[a-z_ ]* ${pair%=*} = ${pair#*=};" "$file") == 1 ]] ||
			return
	done
}

build() {
	local dir=$1 name pairs

	rm -rf "$dir" && mkdir -p "$dir"
	while read -r name pairs; do
		[[ -n $name ]] || continue
		cp -r "$(kernel_source "$flavour")/drivers/infiniband/sw/siw" "$dir/$name"
		# shellcheck disable=SC2086
		change "$dir/$name/siw_main.c" $pairs
		make -C "$kdir" M="$dir/$name" -j"$JOBS" CONFIG_RDMA_SIW=m modules
		find "$dir/$name" -type f ! -name siw.ko -delete
	done <<<"$COPIES"
	touch "$dir/.built"
}

flavour=${1:?usage: copies FLAVOUR}
kdir=$("$VM_DIR/kernel" "$flavour")
dir=$kdir.copies-$(digest "$COPIES" <"$0")
exec 9>"$kdir.copies.lock"
flock 9
[[ -e $dir/.built ]] ||
	progress "$kdir.copies.log" "copies of siw" build "$dir"
echo "$dir"
