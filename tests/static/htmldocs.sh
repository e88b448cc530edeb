#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Documentation/ as HTML in build/htmldocs, with the kernel-doc of the interface.
# Any warning is an error. kernel-doc and the extensions of Sphinx are the kernel's:
# from its unpacked source, or else out of Debian's archive of it.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

OUT=$TOP/build/htmldocs

"$TOP/tests/runner/deps.sh" htmldocs
KERNEL_SOURCE=$(kernel_source)
if [[ ! -d $KERNEL_SOURCE ]]; then
	KERNEL_SOURCE=$TOP/build/htmldocs.kernel
	mkdir -p "$KERNEL_SOURCE"
	tar -C "$KERNEL_SOURCE" --strip-components=1 --wildcards -xf "$SRC_TAR" \
		'*/scripts/kernel-doc' '*/Documentation/sphinx/*.py'
fi
export KERNEL_SOURCE PYTHONDONTWRITEBYTECODE=1
rm -rf "$OUT"
sphinx-build -q -E -W --keep-going -d "$OUT.doctrees" -b html \
	"$TOP/Documentation" "$OUT"
say "build/htmldocs/index.html"
