#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# deb.sh: build the Debian packages of this tree in build/deb, and have lintian look at
# them and at the source; its findings fail, down to the kind "info". The version of
# Debian's policy is left out: Debian 13's lintian wants one that Debian 12's has not heard
# of.
set -euo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
OUT=$TOP/build/deb

# The files of the tree, without what was built in it
copy_tree() {
	cd "$TOP"
	if [[ -e .git ]]; then
		git ls-files -z --cached --others --exclude-standard
	else
		find . -path ./build -prune -o -type f -print0
	fi | tar --null --ignore-failed-read -T - -c | tar -x -C "$1"
}

"$TOP/tests/runner/deps.sh" deb
rm -rf "$OUT"
mkdir -p "$OUT/mpa"
copy_tree "$OUT/mpa"
cd "$OUT/mpa"
dpkg-buildpackage -us -uc
lintian --fail-on error,warning,info --display-info \
	--suppress-tags out-of-date-standards-version "$OUT"/*.changes
echo "lintian has no finding"
ls -l "$OUT"/*.deb
