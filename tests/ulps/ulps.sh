#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Storage over RDMA devices: NVMe, NFS, iSER, SMB Direct and SRP, in a guest. Results in
# build/ulps: results.tap and the log of each case.
#
# usage: ulps.sh [--kernel FLAVOUR] [--long] [--minutes N] [PATTERN...]
#
# --minutes: for how long the cases of cases/memory.sh write while memory is short
# A pattern is of cases ('nvme.*ext4', 'pair.nvme.*'); a name of a part (nvme) is all of it.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$TOP/tests/runner/jobs.sh"

OUT=$TOP/build/ulps
# "figures" counts instructions, and so needs a guest of its own kind
PARTS=(vm figures nvme iser pair smb srp rings nfs)	# vm is the test of tests/vm/pair
# What "pair" runs between two guests; pair.CASE is any other
PAIRED=({nvme,iser}.{mpa.mpa,mpa.siw,siw.mpa}{,.io} {nvme,iser}.mpa.mpa.limited
	nfs.mpa.mpa.v4.2)
kernel=ulps long='' minutes=0

# A guest has two processors
slots() { echo $(((JOBS + 1) / 2)); }

# job_part PART PATTERN...: in a guest; pair between two
job_part() {
	local name=$1 rc=0 pair='' limit=$((9000 + 120 * minutes)) guest=(run --mem 1536) other=()

	shift
	case $name in
	pair) pair=1 guest=(pair --mem 1024) other=("$TOP/tests/ulps/b.sh") ;;
	figures) guest+=(--icount) limit=100000 ;;
	esac
	[[ $kernel != *debug* ]] || limit=$((4 * limit))
	{
		echo "#!/bin/bash"
		[[ -z $pair ]] || echo "meet 0 || exit"
		printf 'LONG=%q PAIR=%q MINUTES=%q CASES=/root/ulps' "$long" "$pair" "$minutes"
		printf ' exec /root/test/run-all.sh'
		printf ' %q' "$@"
		echo
	} >"$OUT/$name.script"
	VM_KEEP=$OUT/$name.guest "$VM_DIR/${guest[0]}" "${guest[@]:1}" \
		--kernel "$kernel" --with ulps --timeout $limit \
		--file "$TOP/tests/net/socket:/root/test" \
		--file "$TOP/tests/ulps/cases:/root/ulps" --file "$OUT/tree.tar" \
		--file "$copies:/root/copies" --get "/root/out:$OUT/$name" \
		-- "$OUT/$name.script" "${other[@]}" >"$OUT/$name.out" || rc=$?
	grep '^#' "$OUT/$name.out" >&2 || true
	judged "$name" "ulps${pair:+.pair}" "$rc"
}

prepare() {
	local src

	"$TOP/tests/runner/deps.sh" modules kernel guest ulps
	"$VM_DIR/kernel" "$kernel" >/dev/null
	"$VM_DIR/modules" "$kernel" >/dev/null
	copies=$("$TOP/tests/interop/copies.sh" "$kernel")
	src=$(kernel_source "$kernel")
	rm -rf "$OUT"
	mkdir -p "$OUT"
	tar -C "$src" -cf "$OUT/tree.tar" lib net/sunrpc fs/nfs \
		scripts/dtc/include-prefixes
}

parse() {
	while (($#)); do
		case $1 in
		--kernel) kernel=${2?}; shift ;;
		--long) long=1 ;;
		--minutes) minutes=${2?}; shift ;;
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
			case $part:$pattern in
			pair:pair) mine+=("${PAIRED[@]}") ;;
			pair:pair.*) mine+=("${pattern#pair.}") ;;
			"$part:$part") mine+=("$part.*") ;;
			"$part:$part".*) mine+=("$pattern") ;;
			esac
		done
		((${#mine[@]})) || continue
		if [[ $part == vm ]]; then
			job vm "$VM_DIR/selftest" ulps
		else
			job "$part" job_part "$part" "${mine[@]}"
		fi
	done
	end_jobs
	finish
}

patterns=() copies='' only='*'
main "$@"
