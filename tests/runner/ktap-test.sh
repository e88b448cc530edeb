#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Tests that tests/runner/ktap.py reports failures. The result is TAP.
set -euo pipefail

KTAP=$(dirname "$0")/ktap.py
failed=0

# expect NAME STATUS OUTPUT [SUITE...] with results on stdin
expect() {
	local name=$1 status=$2 output=$3 got rc=0

	shift 3
	got=$("$KTAP" "$@") || rc=$?
	if [[ $rc == "$status" && $got == "$output" ]]; then
		echo "ok tools.ktap.$name"
	else
		echo "not ok tools.ktap.$name"
		printf '# %s\n' "status $rc" "$got"
		failed=1
	fi
}

# suite NAME RESULT LINE...: print a suite with these lines
suite() {
	printf 'KTAP version 1\n1..1\n    KTAP version 1\n    # Subtest: %s\n' "$1"
	printf '    %s\n' "${@:3}"
	[[ -z $2 ]] || printf '%s 1 %s\n' "$2" "$1"
}

expect good 0 $'ok mpa_a.one\nok mpa_a.two' mpa_a < <(
	suite mpa_a ok '1..2' 'ok 1 one' 'ok 2 two')
expect rows 0 $'ok mpa_a.one CR-01 first\nok mpa_a.one second' < <(
	suite mpa_a ok '1..1' '    KTAP version 1' '    # Subtest: one' \
		'    ok 1 CR-01 first' '    ok 2 second' \
		'# one: pass:2 fail:0 skip:0 total:2' 'ok 1 one')
expect failed_row 1 $'ok mpa_a.one a\nnot ok mpa_a.one b' < <(
	suite mpa_a 'not ok' '1..1' '    # Subtest: one' '    ok 1 a' \
		'    not ok 2 b' 'not ok 1 one')
expect lost_row 1 $'ok mpa_a.one a\nok mpa_a.one c\nnot ok mpa_a.one row 2 is missing' < <(
	suite mpa_a ok '1..1' '    # Subtest: one' '    ok 1 a' '    ok 3 c' \
		'ok 1 one')
expect skipped 0 'ok mpa_a.one # SKIP no such thing' < <(
	suite mpa_a ok '1..1' 'ok 1 one # SKIP no such thing')
expect plan 1 $'ok mpa_a.one\nnot ok mpa_a.1 cases ran of 2 planned' < <(
	suite mpa_a ok '1..2' 'ok 1 one')
expect broken_off 1 $'ok mpa_a.one\nnot ok mpa_a.the suite broke off' < <(
	suite mpa_a '' '1..2' 'ok 1 one')
expect suite_failed 1 $'ok mpa_a.one\nnot ok mpa_a.the suite failed' < <(
	suite mpa_a 'not ok' '1..1' 'ok 1 one')
expect no_suite 1 $'ok mpa_a.one\nnot ok mpa_b.suite no results' mpa_a mpa_b < <(
	suite mpa_a ok '1..1' 'ok 1 one')
expect nothing 1 'not ok mpa_a.suite no results' mpa_a </dev/null
exit $failed
