#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# build.sh: compile the fuzzer, if it has changed, and print its name.
set -euo pipefail

from=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$from/../../.." && pwd)
to=$top/build/harden/fuzz/mpa-fuzz
reference=$top/kunit/mpa_ref

mkdir -p "${to%/*}"
exec 9>"$to.lock"
flock 9
if [[ ! -e $to || -n $(find "$from" "$top/tests/peer" "$reference".[ch] \
		-newer "$to" -print -quit) ]]; then
	gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -static \
		-pthread -include "$top/tests/peer/types.h" -o "$to.new" \
		"$from"/{main,worker,corpus,play,model,mutate,seed,setups}.c \
		"$top"/tests/peer/{fpdu,fields,conn,say}.c "$reference.c" >&2
	mv "$to.new" "$to"
fi
echo "$to"
