#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# tree.sh DIR [FROM]: a copy of the sources (of FROM) in DIR, whose modules report code
# coverage; for VM_TREE of tests/vm/run.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
to=${1:?usage: tree.sh DIR [FROM]} from=${2:-$(cd "$here/../../.." && pwd)}

mkdir -p "$to"
for part in include samples; do
	cp -ru --preserve=timestamps "$from/$part" "$to"
done
cp -u --preserve=timestamps "$from"/*.[ch] "$from/Kconfig" \
	"$here"/mpa_cover.[ch] "$to"
{ grep -vE 'kunit|vectors' "$from/Kbuild"; cat "$here/kbuild.add"; } >"$to/Kbuild.new"
cmp -s "$to/Kbuild.new" "$to/Kbuild" || mv "$to/Kbuild.new" "$to/Kbuild"
rm -f "$to/Kbuild.new"
