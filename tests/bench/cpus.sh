#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Streams on several CPUs, in MB/s, by where connections run: see place() in guest.sh. Time
# depends on the machine and its load: only ratios of one boot say something, the best of
# three runs each; with "duplex" the rate of each direction.
#
# usage: cpus.sh [CPUS [PATTERN]]     PATTERN, of the shell: some rows alone
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"

OUT=$TOP/build/bench-cpus
FLAVOUR=plain+rps

table() {
	awk '
	{
		split($1, row, "/")
		split($4, ns, "=")
		rate = substr($3, 10) * 65536 * 1000 / ns[2]
		key = row[2] " " row[3]
		if (!(key in seen))
			keys[++nr] = key
		seen[key] = 1
		if (rate > best[key, row[4]])
			best[key, row[4]] = rate
	}
	END {
		printf "%-12s %-10s %6s %6s %6s\n", "connections", "transport", "none", "mpa",
			"rps"
		for (i = 1; i <= nr; i++) {
			split(keys[i], of, " ")
			printf "%-12s %-10s %6.0f %6.0f %6.0f\n", of[1], of[2],
				best[keys[i], "none"], best[keys[i], "mpa"], best[keys[i], "rps"]
		}
	}' "$1"
}

"$TOP/tests/runner/deps.sh" modules kernel guest
consumers=$("$TOP/tests/modules/build.sh" bench $FLAVOUR)
mkdir -p "$OUT"
printf '#!/bin/bash\nexec /root/bench/guest.sh cpus %q\n' "${2:-*}" >"$OUT/guest.sh"
VM_KEEP=$OUT/guest "$VM_DIR/run" --kernel $FLAVOUR --smp "${1:-2}" --mem 1536 --timeout 1800 \
	--file "$TOP/tests/bench:/root/bench" --file "$consumers:/root/modules" \
	--get "/root/out:$OUT/out" -- "$OUT/guest.sh"
table "$OUT/out/rows"
