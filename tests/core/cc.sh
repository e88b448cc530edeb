#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: cc.sh DIR ARGUMENT...
#
# The compiler ($CC, or gcc) for the pure core in user space, called in the top
# directory: shim.h stands for the kernel. DIR gets empty headers of its names.

set -eu
shim=$(dirname "$0")
dir=$1
shift
[ -d "$dir" ] || "$shim/headers.sh" "$dir" mpa_crc.c mpa_fpdu*.[ch] \
	mpa_wire.h mpa_compat.h include/net/mpa.h kunit/mpa_ref.[ch]
exec "${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -Wall -I"$dir" -Iinclude -I. -Ikunit \
	-DMPA_HAVE_CRC32C_LIB -D'EXPORT_SYMBOL_IF_KUNIT(symbol)=struct shim_export' \
	-include "$shim/shim.h" "$@"
