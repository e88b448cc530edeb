#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh: compile the test peer, if it has changed, and print its name. It is static
# for the guest; PEER_FLAGS replace that, and CC names the compiler.
set -euo pipefail

from=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$from/../.." && pwd)
to=$top/build/mpa-peer
reference=$top/kunit/mpa_ref

mkdir -p "${to%/*}"
exec 9>"$to.lock"
flock 9
if [[ ! -e $to || -n $(find "$from" "$reference".[ch] -newer "$to" \
		-print -quit) ]]; then
	read -ra flags <<<"${PEER_FLAGS--static}"
	${CC:-gcc} -std=gnu11 -O2 -Wall -Wextra -Werror "${flags[@]}" -o "$to.new" \
		-include "$from/types.h" "$from"/*.c "$reference.c" >&2
	mv "$to.new" "$to"
fi
echo "$to"
