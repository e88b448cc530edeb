#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: headers.sh DIR FILE...
#
# Puts into DIR the kernel headers that the FILEs include, for user space: each is an
# empty file, and shim.h has all definitions; two of them also include those of the C
# library.

set -eu
dir=$1
shift
sed -n 's/^#include <\(.*\)>.*/\1/p' "$@" |
sort -u | while read -r header; do
	mkdir -p "$dir/$(dirname "$header")"
	case $header in
	net/mpa.h) ;;
	linux/errno.h | linux/types.h)
		echo "#include_next <$header>" >"$dir/$header" ;;
	*)
		: >"$dir/$header" ;;
	esac
done
