#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# layers.sh DIR MODULE FOLDER: calls between the objects of mpa.ko, or of mpa_rnic.ko, go
# down only. Kbuild lists them from the top layer to the bottom; DIR has them, built. Data
# counts as well. Prints one case for each object: a symbol of an object above it makes it
# fail. A file NAME_gen.c, generated, is of the layer of NAME.c.
set -euo pipefail

dir=${1:?usage: layers.sh DIR MODULE FOLDER} module=$2 folder=$3
top=$(dirname "$0")/../..
mapfile -t order < <(sed -nE "s,^$module-y [+:]= ($folder/)?(\w+)\.o\$,\2,p" "$top/Kbuild")
sources=$(cd "$top/$folder" && printf '%s\n' *.c | grep -v '\.mod\.c$' | LC_ALL=C sort)
if [[ $(printf '%s.c\n' "${order[@]}" | LC_ALL=C sort) != "$sources" ]]; then
	echo "not ok layers.$module.order Kbuild lists other objects than ${sources//$'\n'/ }"
	exit 1
fi

for name in "${order[@]}"; do
	symbols=$(nm -P "$dir/$folder/$name.o") || exit 2
	sed "s/^/$name /" <<<"$symbols"
done >"$dir/layers.symbols"

awk -v order="${order[*]}" '
BEGIN {
	n = split(order, name)
	for (i = 1; i <= n; i++) {
		base = name[i]
		sub(/_gen$/, "", base)
		# mawk makes the element on the left before it looks at the right
		of = base in layer ? layer[base] : i
		layer[name[i]] = of
	}
}
$3 ~ /^[A-TV-Z]$/ { owner[$2] = $1 }
$3 == "U" { used[$1] = used[$1] " " $2 }
END {
	for (i = 1; i <= n; i++) {
		up = ""
		nr = split(used[name[i]], symbol, " ")
		for (k = 1; k <= nr; k++)
			if (symbol[k] in owner && layer[owner[symbol[k]]] < layer[name[i]])
				up = up " " symbol[k] " (" owner[symbol[k]] ")"
		if (up) {
			print "not ok layers." name[i] " uses from above:" up
			bad = 1
		} else {
			print "ok layers." name[i]
		}
	}
	exit bad
}' "$dir/layers.symbols"
