#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# python.sh: Debian's Python, pyverbs with rdma-core's tests of it, and the kernel's ynl as
# a folder for the guest, made once; prints its name. Its lib belongs in /usr/lib of the
# guest, bin in /usr/bin, tests and ynl anywhere.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

PYTHON=/usr/bin/python3
TESTS=/usr/share/doc/rdma-core/tests
RUNNER=$TOP/tests/interop/rnic/pyverbs-tests.py
YNL=$(kernel_source)/tools/net/ynl

# The guest's files have other times, so Python must not compare them.
compile() { "$PYTHON" -m compileall -q --invalidation-mode unchecked-hash "$1"; }

# Those of other makes' devices are left out: only their helpers are used by all.
make_tests() {
	mkdir -p "$1"
	cp "$TESTS"/*.py* "$1"
	rm "$1"/test_{mlx5,efa,cuda}*
	gunzip "$1"/*.gz
	compile "$1"
}

make_ynl() {
	mkdir -p "$1/lib"
	cp "$YNL/cli.py" "$1"
	cp "$YNL"/lib/*.py "$1/lib"
	compile "$1"
}

# The files of Python itself that the tests in folder $1 and ynl load
modules() {
	"$PYTHON" "$RUNNER" "$1" | grep '^/usr/lib/'
	"$PYTHON" -v "$1/ynl/cli.py" --help 2>&1 >/dev/null |
		grep -oE "/usr/lib/[^ ']*\.(pyc|so)"
}

# Modules are copied compiled, without their sources where these can be missed. Libraries
# are what they and the program are linked with.
build() {
	local dir=$1 file to

	make_tests "$dir/tests"
	make_ynl "$dir/ynl"
	mkdir -p "$dir/bin"
	cp -L "$PYTHON" "$dir/bin/python3"
	modules "$dir" | sort -u >"$dir/modules"
	while read -r file; do
		to=$dir/${file#/usr/}
		to=${to/__pycache__\//}
		to=${to/.cpython-311.pyc/.pyc}
		mkdir -p "${to%/*}"
		cp "$file" "$to"
	done <"$dir/modules"
	{ grep '\.so$' "$dir/modules" && readlink -f "$PYTHON"; } |
		xargs ldd | grep -o ' /[^ ]*' | sort -u | while read -r file; do
		mkdir -p "$dir/lib/${file#/lib/}"
		rmdir "$dir/lib/${file#/lib/}"
		cp -L "$file" "$dir/lib/${file#/lib/}"
	done
}

key=$(stat -Lc '%n %s %Y' "$PYTHON" "$TESTS"/* "$YNL"/{cli.py,lib/*} "$RUNNER" "$0" | digest)
out=$CACHE/python-$key
if [[ ! -e $out ]]; then
	say "collecting Python, pyverbs and ynl"
	mkdir -p "$CACHE"
	work=$(mktemp -d "$CACHE/python.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	build "$work/files"
	mv -T "$work/files" "$out"
fi
echo "$out"
