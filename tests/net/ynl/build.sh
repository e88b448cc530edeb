#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh: compile mpa-ynl, with the code that the kernel's generator makes of the
# specification, and print its name.
set -euo pipefail

from=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$from/../../.." && pwd)
to=$top/build/mpa-ynl
work=$top/build/ynl

mkdir -p "$work"
exec 9>"$to.lock"
flock 9
if [[ ! -e $to || -n $(find "$from" "$top/Documentation/netlink" "$top/include/uapi" \
		"$top/tests/static/ynl.sh" -newer "$to" -print -quit) ]]; then
	"$top/tests/static/ynl.sh" --user "$work" >&2
	gcc -std=gnu11 -O2 -static -o "$to.new" -D_GNU_SOURCE \
		-I"$top/include/uapi" -I"$work" \
		"$from/mpa-ynl.c" "$work/mpa-user.c" "$work/ynl.c" >&2
	mv "$to.new" "$to"
fi
echo "$to"
