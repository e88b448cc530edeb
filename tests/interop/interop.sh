#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Interoperability: the RDMA device with the programs of rdma-core and others, and with
# siw at the other end, in two guests; and independent decoders for their captures, and for
# captures of mpa_ping in another guest. Results in build/interop: results.tap, table, a
# capture and a log of each case.
#
# usage: interop.sh [PATTERN...]
#
# With shell patterns only the matching cases run, without those of mpa_ping.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$TOP/tests/runner/jobs.sh"

OUT=$TOP/build/interop
KERNEL=plain
HEAD='case	ends	program	rev	crc	markers	messages	octets	result'

# guest NAME OPTION... -- SCRIPT: its output is in NAME.out
guest() {
	local name=$1

	shift
	VM_KEEP=$OUT/$name.guest "$VM_DIR/run" --kernel $KERNEL --smp 2 \
		--mem 1024 --timeout 1500 \
		--file "$TOP/tests/net/socket:/root/test" "$@" >"$OUT/$name.out"
}

# job_rnic I/N [PATTERN...]: each N-th case, in a guest that has siw and its copies
job_rnic() {
	local name=rnic-${1%/*} rc=0

	{
		echo "#!/bin/bash"
		printf 'LONG=%q SHARD=%q CASES=/root/rnic exec /root/test/run-all.sh' \
			"${LONG-}" "$1"
		(($# == 1)) || printf ' %q' "${@:2}"
		echo
	} >"$OUT/$name.script"
	guest "$name" --file "$TOP/tests/interop/rnic:/root/rnic" \
		--file "$copies:/root/copies" --file "$python/lib:/usr/lib" \
		--file "$python/bin/python3:/usr/bin/python3" \
		--file "$python/tests:/root/pyverbs/tests" --file "$python/ynl:/root/ynl" \
		--file "$TOP/Documentation/netlink/specs/mpa.yaml:/root/mpa.yaml" \
		--get "/root/out:$OUT/$name" \
		-- "$OUT/$name.script" || rc=$?
	grep '^#' "$OUT/$name.out" >&2 || true
	judged "$name" interop "$rc"
}

# Its status is 0 if all pings succeeded
job_ping() {
	local rc=0

	guest ping --get "/root/captures:$OUT/ping" \
		-- "$TOP/tests/interop/captures.sh" || rc=$?
	healthy ping "$rc"
}

# job_decode [PATTERN...]: single cases may have no capture
job_decode() {
	local pcaps

	mapfile -t pcaps < <(find "$OUT"/rnic-* "$OUT/ping" -name '*.pcap' 2>/dev/null | sort)
	if ((!${#pcaps[@]})); then
		((!$#)) || echo "ok decode.none # SKIP no capture"
		return
	fi
	"$TOP/tests/interop/decode.sh" "${pcaps[@]}" \
		>"$OUT/decode.out" || true
	sed -nE 's/^(not )?ok( [0-9]+)?( -)? /\1ok /p' "$OUT/decode.out"
}

# One line for a capture of mpa_ping, from the decoders' results: the Initiator's
# direction and the Responder's
decoded() {
	awk -v OFS='\t' '
	function value(name) {
		if (!match($0, " " name "=[^ ]*"))
			return ""
		return substr($0, RSTART + length(name) + 2,
			      RLENGTH - length(name) - 2)
	}
	{ name = $1 == "not" ? $3 : $2 }
	name !~ /^decode\.(single|batch|rev2|loss)/ { next }
	{
		sub(/\.[0-9]+$/, "", name)
		sub(/^decode\./, "", name)
		if (!(name in rev))
			order[n++] = name
		rev[name] = value("rev")
		crc[name] = value("crc")
		marks[name] = value("markers")
		split(value("fpdus"), f, "+")
		split(value("octets"), o, "+")
		fpdus[name] += f[1] + f[2]
		octets[name] += o[1] + o[2]
		by[name] = value("decoder")
		if ($1 == "not")
			bad[name] = 1
	}
	END {
		for (i = 0; i < n; i++) {
			name = order[i]
			print name, "mpa to mpa", "mpa_ping", rev[name], crc[name],
				marks[name], fpdus[name], octets[name],
				(bad[name] ? "decoded wrong by " : "ok, by ") by[name]
		}
	}' "$OUT/decode.tap"
}

# Rows of the conformance tables that name cases of these
conformance() {
	local result='not ok'

	"$TOP/tests/mutants/conformance.py" "$OUT/results.tap" >"$OUT/conformance.log" &&
		result=ok
	cat "$OUT/conformance.log" >&2
	echo "$result conformance.interop cases that the tables name" >>"$OUT/results.tap"
}

table() {
	echo "$HEAD"
	sort "$OUT"/rnic-*/table 2>/dev/null || true
	decoded
}

prepare() {
	"$TOP/tests/runner/deps.sh" modules kernel guest decode python
	mkdir -p "$OUT"
	exec 7>"$OUT.lock"
	flock -n 7 || die "another make interop runs in this tree"
	rm -rf "$OUT"
	mkdir -p "$OUT"
	copies=$("$TOP/tests/interop/copies.sh" $KERNEL)
	python=$("$TOP/tests/interop/python.sh")
	"$VM_DIR/userland" >/dev/null
	"$VM_DIR/modules" $KERNEL >/dev/null
}

main() {
	prepare
	begin_jobs
	if (($#)); then
		job rnic-1 job_rnic 1/1 "$@"
	else
		job rnic-1 job_rnic 1/2
		job rnic-2 job_rnic 2/2
		job ping job_ping
	fi
	wait_below 1
	job decode job_decode "$@"
	end_jobs
	(($#)) || conformance
	table >"$OUT/table"
	column -t -s $'\t' "$OUT/table"
	finish
}

copies='' python='' only='*'
main "$@"
