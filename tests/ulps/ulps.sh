#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Storage over RDMA devices: NVMe, NFS and iSER, in a guest. Results in build/ulps:
# results.tap and the log of each case.
#
# usage: ulps.sh [--kernel FLAVOUR] [--long] [PATTERN...]
#
# A pattern is of cases ('nvme.*ext4'); a name of a part (nvme) is all of it.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$TOP/tests/runner/jobs.sh"

OUT=$TOP/build/ulps
PARTS=(nvme nfs iser)
kernel=ulps long=''

# A guest has two processors
slots() { echo $(((JOBS + 1) / 2)); }

# job_part PART PATTERN...
job_part() {
	local name=$1 rc=0

	shift
	{
		echo "#!/bin/bash"
		printf 'LONG=%q CASES=/root/ulps exec /root/test/run-all.sh' "$long"
		printf ' %q' "$@"
		echo
	} >"$OUT/$name.script"
	VM_KEEP=$OUT/$name.guest "$VM_DIR/run" --kernel "$kernel" --mem 1536 \
		--timeout 3000 --file "$TOP/tests/net/socket:/root/test" \
		--file "$TOP/tests/ulps/cases:/root/ulps" --file "$OUT/tree.tar" \
		--get "/root/out:$OUT/$name" -- "$OUT/$name.script" \
		>"$OUT/$name.out" || rc=$?
	grep '^#' "$OUT/$name.out" >&2 || true
	judged "$name" ulps "$rc"
}

prepare() {
	local src

	"$TOP/tests/runner/deps.sh" modules kernel guest ulps
	"$VM_DIR/kernel" "$kernel" >/dev/null
	"$VM_DIR/modules" "$kernel" >/dev/null
	src=$(kernel_source "$kernel")
	rm -rf "$OUT"
	mkdir -p "$OUT"
	tar -C "$src" -cf "$OUT/tree.tar" lib net/sunrpc fs/nfs
}

parse() {
	while (($#)); do
		case $1 in
		--kernel) kernel=${2?}; shift ;;
		--long) long=1 ;;
		*) patterns+=("$1") ;;
		esac
		shift
	done
	((${#patterns[@]})) || patterns=("${PARTS[@]}")
}

main() {
	local part pattern mine

	parse "$@"
	prepare
	begin_jobs
	for part in "${PARTS[@]}"; do
		mine=()
		for pattern in "${patterns[@]}"; do
			case $pattern in
			"$part") mine+=("$part.*") ;;
			"$part".*) mine+=("$pattern") ;;
			esac
		done
		((!${#mine[@]})) || job "$part" job_part "$part" "${mine[@]}"
	done
	end_jobs
	finish
}

patterns=() only='*'
main "$@"
