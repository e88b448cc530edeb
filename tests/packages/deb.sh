#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# deb.sh: build the Debian packages of this tree in build/deb, and have lintian look at
# them and at the source. With LINTIAN=fatal its findings fail, down to the kind "info". The
# version of Debian's policy is left out: Debian 13's lintian wants one that Debian 12's has
# not heard of.
set -euo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
OUT=$TOP/build/deb

"$TOP/tests/runner/deps.sh" deb
rm -rf "$OUT"
"$TOP/tests/packages/copy-tree" "$OUT/mpa"
cd "$OUT/mpa"
dpkg-buildpackage -us -uc
rc=0
lintian --fail-on error,warning,info --display-info \
	--suppress-tags out-of-date-standards-version "$OUT"/*.changes || rc=$?
((rc)) || echo "lintian has no finding"
ls -l "$OUT"/*.deb
[[ ${LINTIAN-} != fatal ]] || exit $rc
