#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: sweep.sh [-q] [-j JOBS] [lengths | bits]
#
# Compiles the pure core for user space and compares it with the reference of kunit/;
# sweep.c describes the tests. -q takes a sample only (seconds instead of minutes).
# Status 0 when nothing differs.

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM

cd "$top"
shim=tests/core
"$shim/cc.sh" "$tmp/include" -O2 -g -fsanitize=undefined \
	-fno-sanitize-recover=all -o "$tmp/sweep" \
	"$shim/sweep.c" "$shim/shim.c" kunit/mpa_ref.c \
	mpa_crc.c mpa_fpdu.c mpa_fpdu_enc.c mpa_fpdu_dec.c
"$tmp/sweep" "$@"
