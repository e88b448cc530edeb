#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# The framing core on this machine, in user space: CRC and copies, whose cost a count
# of instructions cannot judge, in ns per FPDU (native/native.c), and messages over a TCP
# connection, in ns per message (native/loopback.c). The CRC is the kernel's own, assembled
# from its source.
#
# usage: native.sh [quick|full]
#
# Rows go to stdout, a table to stderr. Both modes are the same.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

HERE=$TOP/tests/bench/native
SHIM=$TOP/tests/core
CRC=arch/x86/crypto/crc32c-pcl-intel-asm_64.S

# The tree may be gone since a kernel was built.
crc_source() {
	local tree

	tree=$(kernel_source)
	if [[ -f $tree/$CRC ]]; then
		cat "$tree/$CRC"
	else
		tar -xOf "$SRC_TAR" --wildcards "*/$CRC"
	fi
}

build() {
	cd "${VM_TREE:-$TOP}"
	"$SHIM/headers.sh" "$work/include" mpa_crc.c mpa_fpdu*.c mpa_wire.h mpa_fpdu.h mpa_compat.h \
		include/net/mpa.h
	crc_source >"$work/crc.S"
	gcc -c -I"$HERE/include" -o "$work/crc.o" "$work/crc.S"
	gcc -std=gnu11 -O2 -mmemcpy-strategy=libcall:-1:noalign \
		-Dcrc32c=crc32c_by_table -I"$work/include" -c \
		-o "$work/shim.o" "$SHIM/shim.c"
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -msse4.2 \
		-mmemcpy-strategy=libcall:-1:noalign -no-pie -z noexecstack \
		-I"$work/include" -Iinclude -I. -I"$SHIM" \
		-DMPA_HAVE_CRC32C_LIB -D'EXPORT_SYMBOL_IF_KUNIT(symbol)=struct shim_export' \
		-include "$SHIM/shim.h" -o "$work/native" "$HERE"/*.c \
		mpa_crc.c mpa_fpdu*.c "$work/shim.o" "$work/crc.o"
}

if ! grep -qw pclmulqdq /proc/cpuinfo; then
	echo "row=native kind=native skip=no-pclmulqdq"
	exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build >&2
"$work/native"
