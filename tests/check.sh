#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2317
# All tests; see "make help". Results in build/check/results.tap, logs next to it.
#
# usage: check.sh [--kernel FLAVOUR] [--long] [--only JOB | --case CASE]
#
# JOB is a shell pattern for the names of jobs (kunit-plain-*). CASE is one case,
# named as in the results: mpa_conn.ooo of KUnit, with all rows of its table,
# "mpa_conn.ooo after a hole, *" for some rows, without their IDs, or
# socket.echo.bound; it runs on the plain kernel unless --kernel is given.
# On the newest kernel of Debian (--kernel newest) only what runs in a guest does.
# Without --kernel everything runs on the plain kernel, and the KUnit suites and
# the socket tests of tests/net/socket/debug-subset on the debug kernel as well. --long
# adds the exhaustive sweeps, and the tests of the guest on the debug kernel.
set -euo pipefail
. "$(dirname "$0")/vm/lib.sh"
. "$TOP/tests/static/static.sh"
. "$TOP/tests/runner/jobs.sh"

OUT=$TOP/build/check
BOX=1500		# seconds for a job on the debug kernel, if the plain one runs too

# Of the jobs that are asked for; static ones have the plain kernel's headers and modules
flavours() {
	local names

	# shellcheck disable=SC2053
	names=$(job() { [[ $1 != $only ]] || echo "$1"; }; run_jobs)
	echo "${flavour:-plain}"
	[[ -n $flavour || $names != *-debug* ]] || echo debug
}

# Appends the flavour to the names of cases, if it is not the plain kernel
mark() {
	if [[ $1 == plain ]]; then
		cat
	else
		sed -E "s/^((not )?ok [^#]*[^# ]) *(#.*)?$/\1 ($1) \3/; s/ +$//"
	fi
}

# Guests. Each function below prints results; its stderr goes into a log.

guest() {
	local name=$1

	shift
	VM_KEEP=$OUT/$name.guest "$VM_DIR/run" --smp 2 "$@"
}

suites() {
	cat "$TOP"/kunit/*.c "$TOP"/rnic/kunit/*.c | tr '\n' ' ' |
		grep -oE 'struct kunit_suite \w+ = \{[^}]*' |
		sed -nE 's/.*\.name\s*=\s*"([^"]*)".*/\1/p'
}

# job_kunit KERNEL NAME LIMIT SUITE...; a single one may be SUITE.CASE ROW
job_kunit() {
	local kernel=$1 name=$2 limit=$3 rc=0 glob row less=

	shift 3
	# It knows one pattern, and no choice in it
	glob='mpa_*' row='*'
	# Beside the plain kernel's, the debug kernel's short form leaves out what takes 5 s
	# and more there: rows marked .slow, and cases of KUNIT_SPEED_SLOW
	[[ $kernel != debug || $flavour$long ]] ||
		less='mpa_kunit.slow=0 kunit.filter=speed>slow'
	if (($# == 1)); then
		glob=${1%% *}
		[[ $1 != *' '* ]] || row="*${1#* }"
	fi
	guest "$name" --kernel "$kernel" --timeout "$limit" \
		--append "kunit.filter_glob=$glob $less" \
		--append "mpa_kunit.row=${row// /?} mpa_rnic_kunit.row=${row// /?}" \
		-- "$TOP/tests/runner/check-kunit.sh" || rc=$?
	"$TOP/tests/runner/ktap.py" "${@%%.*}" <"$OUT/$name.guest/console" |
		mark "$kernel" || true
	healthy "$name" "$rc"
}

job_socket() {
	local kernel=$1 shard=$2 limit=$3 name=socket-$1-${2%/*} rc=0 ynl

	shift 3
	{
		echo "#!/bin/bash"
		printf 'LONG=%q SHARD=%q exec /root/test/run-all.sh' \
			"$long$one" "$shard"
		((!$#)) || printf ' %q' "$@"
		echo
	} >"$OUT/$name.sh"
	ynl=$("$TOP/tests/net/ynl/build.sh") || return
	guest "$name" --kernel "$kernel" --timeout "$limit" --file "$ynl:/usr/bin/mpa-ynl" \
		--file "$TOP/tests/net/socket:/root/test" -- "$OUT/$name.sh" \
		>"$OUT/$name.out" || rc=$?
	grep '^#' "$OUT/$name.out" >&2 || true
	judged "$name" socket "$rc" | mark "$kernel"
}

job_selftest() { "$VM_DIR/selftest" "$1" | mark "$1"; }

# A program that prints TAP itself and fails if a case fails
job_tap() {
	local name=$1 rc=0 results

	shift
	results=$("$@") || rc=$?
	sed -nE "s/^(not )?ok( [0-9]+)?( -)? /\1ok /p" <<<"$results"
	((!rc)) || grep -q '^not ok' <<<"$results" ||
		echo "not ok $name.status $rc"
}

job_status() {
	local name=$1

	shift
	if "$@" >&2; then echo "ok $name"; else echo "not ok $name"; fi
}

# socket_jobs KERNEL LIMIT SHARDS [NAME...]
socket_jobs() {
	local kernel=$1 limit=$2 shards=$3 i

	shift 3
	for ((i = 1; i <= shards; i++)); do
		job "socket-$kernel-$i" job_socket "$kernel" "$i/$shards" \
			"$limit" "$@"
	done
}

# One guest for all suites; with --only a guest for one of them (kunit-plain-mpa_rx)
kunit_jobs() {
	local suite all

	mapfile -t all < <(suites)
	if [[ $only != kunit-$1-* ]]; then
		job "kunit-$1" job_kunit "$1" "kunit-$1" "$2" "${all[@]}"
		return
	fi
	for suite in "${all[@]}"; do
		job "kunit-$1-$suite" job_kunit "$1" "kunit-$1-$suite" "$2" \
			"$suite"
	done
}

# The case of --case alone; ktap misses a suite that is not there itself
job_case() {
	local results

	if [[ $one != socket.* ]]; then
		job_kunit "$2" "$1" 300 "$one"
		return
	fi
	results=$(job_socket "$2" 1/1 300 "${one#socket.}")
	echo "$results"
	grep -qE '^(not )?ok socket\.' <<<"$results" ||
		echo "not ok $one no such case"
}

debug_box() {
	local subset=()

	mapfile -t subset < <(sed "/^#/d; ${long:+s/^long //;} /^long /d" \
		"$TOP/tests/net/socket/debug-subset")
	kunit_jobs debug $BOX
	socket_jobs debug $BOX 1 "${subset[@]}"
	[[ -z $long ]] || job selftest-debug job_selftest debug
}

full() {
	job "selftest-$1" job_selftest "$1"
	socket_jobs "$1" 1800 $((2 * JOBS))
	kunit_jobs "$1" 1800
}

# The longest first, and jobs without a guest between them
run_jobs() {
	local part

	if [[ -n $one ]]; then
		part=socket-$flavour-1
		[[ $one == socket.* ]] || part=kunit-$flavour-case
		job "$part" job_case "$part" "$flavour"
		return
	fi
	# What needs no guest's kernel is the same there, but for tests/matrix
	if [[ $flavour == *newest* ]]; then
		full "$flavour"
		return
	fi
	[[ -n $flavour ]] || debug_box
	for part in "${STATIC[@]}"; do
		job "$part" "static_$part"
	done
	job tools job_tap tools "$TOP/tests/runner/selftest.py"
	job peer job_tap peer "$TOP/tests/peer/test.sh"
	job patches job_tap patches "$TOP/tools/patches/patches.sh" ${long:+--build}
	if [[ -n $long ]]; then
		job sweep job_status "sweep.full every offset, length, split and wrong bit" \
			"$TOP/tests/core/sweep.sh"
		# On the debug kernel the kernel's watch takes it for a task that hangs
		[[ ${flavour:-plain} != plain ]] ||
			job kunit-long job_kunit plain kunit-long 600 \
				"mpa_conn.run a source of 4 GB"
	else
		job sweep job_status "sweep.sample offsets, lengths, splits and wrong bits" \
			"$TOP/tests/core/sweep.sh" -q
	fi
	full "${flavour:-plain}"
}

conformance() {
	[[ -x $TOP/tests/mutants/conformance.py && $only == '*' && -z $one && $flavour != *newest* ]] ||
		return 0
	names+=(conformance)
	job_status "conformance.table every requirement has its case" \
		"$TOP/tests/mutants/conformance.py" "$OUT/results.tap" \
		>"$OUT/conformance.tap" 2>"$OUT/conformance.log"
	tail -n 40 "$OUT/conformance.log" >&2
	cat "$OUT/conformance.tap" >>"$OUT/results.tap"
}

prepare() {
	local kernel

	"$TOP/tests/runner/deps.sh" modules kernel guest tools check
	rm -rf "$OUT"
	mkdir -p "$OUT"
	for kernel in $(flavours); do
		"$VM_DIR/kernel" "$kernel" >/dev/null
	done
	"$VM_DIR/userland" >/dev/null
	for kernel in $(flavours); do
		"$VM_DIR/modules" "$kernel" >/dev/null ||
			echo "not ok build.$kernel the modules do not build"
	done >"$OUT/results.tap"
}

main() {
	while (($#)); do
		case $1 in
		--kernel) flavour=${2?}; shift ;;
		--long) long=1 ;;
		--only) only=${2?}; shift ;;
		--case) one=${2?}; shift ;;
		*)
			sed -n '4,15s/^# \{0,1\}//p' "$0" >&2
			exit 2
			;;
		esac
		shift
	done
	[[ -z $one ]] || flavour=${flavour:-plain}
	mkdir -p "$OUT"
	exec 7>"$OUT.lock"
	flock -n 7 || die "another make check runs in this tree"
	prepare
	# Without modules no test can run
	[[ ! -s $OUT/results.tap ]] || { finish; exit; }
	begin_jobs
	run_jobs
	end_jobs
	conformance
	finish
	exit
}

flavour='' long='' only='*' one=''
main "$@"
