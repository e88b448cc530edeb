#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# ynl.sh [--write]: the netlink code that the kernel's generator makes of
# Documentation/netlink/specs/mpa.yaml is the one in the tree, and the specification fits
# the kernel's schema. Prints a case for each file. With --write it is put into the tree.
# ynl.sh --user DIR writes the code for programs there, with the kernel's library.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

source=$(kernel_source)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The generator looks for the schema beside the specification, and for the top of the
# tree above it
mkdir -p "$work/Documentation/netlink/specs"
spec=$work/Documentation/netlink/specs/mpa.yaml
cp "$TOP/Documentation/netlink/specs/mpa.yaml" "$spec"
cp "$source/Documentation/netlink/genetlink.yaml" "$work/Documentation/netlink"
touch "$work/MAINTAINERS"

# The packages of tests/runner/deps.sh are for Debian's own python
generate() {
	PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 \
		"$source/tools/net/ynl/ynl-gen-c.py" --spec "$spec" "$@"
}

if [[ ${1-} == --user ]]; then
	generate --mode user --header -o "$2/mpa-user.h"
	generate --mode user --source --user-header mpa-user.h -o "$2/mpa-user.c"
	cp "$source"/tools/net/ynl/lib/ynl{.c,.h,-priv.h} "$2"
	exit
fi

# made FILE OPTION...
made() {
	local file=$1 made=$work/${1##*/}

	if ! generate "${@:2}" -o "$made" >&2; then
		echo "not ok ynl.$file the generator failed"
	elif [[ -n $write ]]; then
		cp "$made" "$TOP/$file"
	elif diff -u "$TOP/$file" "$made" >&2; then
		echo "ok ynl.$file"
	else
		echo "not ok ynl.$file differs: run tests/static/ynl.sh --write"
	fi
}

write=${1-}
made include/uapi/linux/mpa.h --mode uapi --header
made mpa_nl_gen.h --mode kernel --header
made mpa_nl_gen.c --mode kernel --source
