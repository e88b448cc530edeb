# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Jobs that print results, for check.sh, harden.sh and others. They run side by side,
# one to a slot; the results are put together in order. OUT is where they leave
# them: NAME.tap, and stderr in NAME.log.

names=()
declare -A pids=() begun=()

slots() { echo "$JOBS"; }

# doing NAME: status of a running job, printed after its time
doing() { :; }

summary() {
	local good bad

	good=$(grep -c '^ok' "$OUT/$1.tap" || true)
	bad=$(grep -c '^not ok' "$OUT/$1.tap" || true)
	echo "$good ok, $bad failed"
}

# What is at hand where only the output is kept: the cases, and from the log what they
# said of themselves and why they failed, or its end
show_failed() {
	local cases said

	cases=$(grep '^not ok' "$OUT/$1.tap") || return 0
	sed 's/^/    /' <<<"$cases" >&2
	said=$(grep -E '^#|FAILED: |FOUND: |REPLAY=' "$OUT/$1.log" 2>/dev/null | tail -n 60) ||
		said=$(tail -n 60 "$OUT/$1.log" 2>/dev/null) || return 0
	sed 's/^/    | /' <<<"$said" >&2
}

reap() {
	local name

	for name in "${!pids[@]}"; do
		kill -0 "${pids[$name]}" 2>/dev/null && continue
		wait "${pids[$name]}" || true
		unset "pids[$name]"
		grep -qE '^(not )?ok' "$OUT/$name.tap" ||
			echo "not ok $name produced no result" >>"$OUT/$name.tap"
		say "$name: $(summary "$name") ($((SECONDS - begun[$name])) s)"
		show_failed "$name"
	done
}

ticker=0
wait_below() {
	local name running

	while reap; ((${#pids[@]} >= $1)); do
		sleep 0.2
		((SECONDS - ticker < 20)) && continue
		ticker=$SECONDS
		running=
		for name in "${!pids[@]}"; do
			running+=" $name ($((SECONDS - begun[$name])) s$(doing "$name"))"
		done
		say "$SECONDS s, running:$running"
	done
}

# job NAME FUNCTION ARGUMENT...
job() {
	local name=$1

	shift
	# shellcheck disable=SC2053,SC2154
	[[ $name == $only ]] || return 0
	wait_below "$(slots)"
	names+=("$name")
	begun[$name]=$SECONDS
	"$@" >"$OUT/$name.tap" 2>"$OUT/$name.log" </dev/null &
	pids[$name]=$!
}

# One group of processes for each job, which ends with this program
begin_jobs() {
	set -m
	trap stop INT TERM
}

end_jobs() {
	local name

	wait_below 1
	for name in "${names[@]}"; do
		cat "$OUT/$name.tap"
	done >"$OUT/results.tap"
}

stop() {
	local pid

	trap - INT TERM
	for pid in "${pids[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
	done
	say "interrupted"
	exit 130
}

# The status of the guest is a case: reports of the kernel may belong to any test
healthy() {
	local place=${OUT#"$TOP"/}

	case $2 in
	0) echo "ok vm.$1 the guest had nothing to report" ;;
	124) echo "not ok vm.$1 time is over: see $place/$1.log" ;;
	*) echo "not ok vm.$1 status $2: see $place/$1.log" ;;
	esac
}

# planned NAME PREFIX: results of a script that prints a plan; the prefix makes names
# like those of other jobs
planned() {
	awk -v name="$1" -v prefix="$2" '
	/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; planned = 1 }
	/^(not )?ok - / { n++; sub(/ - /, " " prefix); print }
	/^Bail out!/ { print "not ok " name "." $0 }
	END {
		if (!planned || n != plan)
			printf "not ok %s.plan %d cases ran of %d\n",
				name, n, plan
	}'
}

# judged NAME PREFIX STATUS: results of a script whose guest printed NAME.out
judged() {
	local rc=$3

	planned "${2:-$1}" "${2:+$2.}" <"$OUT/$1.out"
	# Status 1 says that cases failed, which they did themselves
	((rc != 1)) || ! grep -q '^not ok' "$OUT/$1.out" || rc=0
	# A pattern that no case has must not pass because its guest was well
	((rc)) || ! grep -qx '1\.\.0' "$OUT/$1.out" || return 0
	healthy "$1" "$rc"
}

finish() {
	local good bad skipped

	good=$(grep -E '^ok' "$OUT/results.tap" | grep -cvi '# skip' || true)
	bad=$(grep -c '^not ok' "$OUT/results.tap" || true)
	skipped=$(grep -ciE '^ok.*# skip' "$OUT/results.tap" || true)
	grep -E '^not ok|^ok.*# (SKIP|skip)' "$OUT/results.tap" || true
	((good + bad + skipped)) || say "there is no job or case '$only'"
	echo "$good passed, $bad failed$( ((skipped)) && echo ", $skipped skipped")"
	((bad == 0 && good > 0))
}
