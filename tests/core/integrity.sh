#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: integrity.sh [-q] [-j JOBS]
#
# Compiles the pure core for user space and tests that it detects wrong bits in an
# FPDU; integrity.c describes the tests. -q takes a sample only (seconds
# instead of minutes). Status 0 if all are detected.

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM

cd "$top"
shim=tests/core
"$shim/cc.sh" "$tmp/include" -O2 -g -o "$tmp/integrity" "$shim/integrity.c" \
	"$shim/slices.c" "$shim/shim.c" kunit/mpa_ref.c mpa_crc.c \
	mpa_fpdu.c mpa_fpdu_enc.c mpa_fpdu_dec.c
"$tmp/integrity" "$@"
