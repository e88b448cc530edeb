#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2317
# Tests that try to break the module: each part (PART.conf and PART.sh) runs in a
# guest of its own, see Documentation/networking/mpa-reliability.rst. Results are in
# build/harden/results.tap, with the output, the kernel log and the files of each part.
#
# usage: harden.sh [--seed S] [--minutes N] [--count N] [--kernel FLAVOUR] [--long]
#                  [PART...]
#        harden.sh --only 'CASE...' [the same] PART
#
# Without --minutes and --count a part runs its short form. Without --seed the seed is
# fixed. Without PART all parts run that this kernel can run; a part that needs a
# kernel of its own (kcsan) runs only with --long. --only runs some cases of a part, if
# the part has cases to choose from (net, dos, life). REPLAY='...' in the environment is
# a seed of the fuzzer: the part fuzz then runs that seed alone.
# A failure is printed with the command that repeats it.
set -euo pipefail
. "$(dirname "$0")/vm/lib.sh"
. "$TOP/tests/runner/jobs.sh"

OUT=$TOP/build/harden
DAY=86400

doing() {
	local line

	line=$(tail -n 1 "$OUT/$1.log" 2>/dev/null | tr -cd '[:print:]')
	[[ -z $line ]] || echo ": ${line:0:60}"
}

all_parts() {
	find "$TOP/tests" -maxdepth 3 -name '*.conf' -printf '%f\n' |
		sed 's/\.conf$//' | LC_ALL=C sort
}

# place PART: its folder; nothing if there is no such part
place() { find "$TOP/tests" -maxdepth 3 -name "$1.conf" -printf '%h\n'; }

# settings PART: reads the settings of a part; run it in a subshell. A part may list
# the KERNELS it runs on, and have CASES to choose from. A part with LATER runs only if
# it is named, or with --long.
settings() {
	# shellcheck disable=SC2034
	KERNEL=plain KERNELS='*' SMP=2 MEM='' APPEND='' LIMIT=300 CASES='' LATER=''
	FILES=()
	prepare() { :; }
	# shellcheck disable=SC1090
	. "$(place "$1")/$1.conf"
	KERNEL=${flavour:-$KERNEL}
}

# fits PART: true if it can run on this kernel; prints the reason if it cannot
fits() (
	settings "$1"
	# shellcheck disable=SC2053
	[[ $KERNEL == $KERNELS ]] ||
		{ say "no $1 on the $KERNEL kernel, only on $KERNELS"; exit 1; }
)

has_cases() (settings "$1" && [[ -n $CASES ]])

is_for_later() (
	settings "$1"
	[[ -n $LATER && -z $long ]]
)

# by_limit: the parts of stdin, those that may take longest first
by_limit() {
	local part

	while read -r part; do
		(settings "$part" && echo "$LIMIT $part")
	done | LC_ALL=C sort -k1,1nr -k2 | cut -d' ' -f2
}

kernels() {
	local part

	for part; do
		(settings "$part" && echo "$KERNEL")
	done | sort -u
}

# The long form ends by itself; a count has no time limit
time_limit() {
	if [[ $count != 0 && $minutes == 0 ]]; then
		echo "$DAY"
	else
		echo $((LIMIT + minutes * 60))
	fi
}

# guest_script NAME [WORD...]
guest_script() {
	cat <<-END
		#!/bin/bash
		export SEED=$seed SECONDS_MAX=$((minutes * 60)) COUNT=$count
		export PART=$1 WORK=/root/kept/$1
		mkdir -p "\$WORK"
		exec bash /root/harden.d/$(printf '%q ' "$1.sh" "${@:2}")
	END
}

# boot NAME [WORD...]: the guest's script with these words
boot() {
	local name=$1 rc=0 options=() file

	guest_script "$@" >"$OUT/$name.sh"
	for file in "${FILES[@]}"; do
		options+=(--file "$file")
	done
	for file in $(all_parts); do
		options+=(--file "$(place "$file")/$file.sh:/root/harden.d/$file.sh")
	done
	for file in failing memory netstat tap; do
		options+=(--file "$TOP/tests/runner/$file.sh:/root/harden.d/$file.sh")
	done
	VM_KEEP=$OUT/$name.guest "$VM_DIR/run" --kernel "$KERNEL" --smp "$SMP" \
		${MEM:+--mem "$MEM"} ${APPEND:+--append "$APPEND"} \
		--timeout "$(time_limit)" \
		"${options[@]}" \
		--get "/root/kept:$OUT/$name.work" -- "$OUT/$name.sh" |
		tee "$OUT/$name.out" >&2 || rc=$?
	judged "$name" '' "$rc"
	grep -qE '^(not )?ok - ' "$OUT/$name.out" ||
		echo "not ok $name.none there was no case"
}

job_part() {
	settings "$1"
	prepare >&2
	boot "$1" "${cases[@]}"
}

# The measured figures, each with the name of its part
figures() {
	local name

	for name in "${names[@]}"; do
		sed -n "s/^# /$name: /p" "$OUT/$name.out" 2>/dev/null || true
	done
}

# failed_cases PART: if nothing else failed
failed_cases() {
	awk -v part="$1." '
	!/^not ok/ { next }
	index($3, part) != 1 || $3 ~ /\.(plan|none|Bail)$/ { other = 1 }
	{ list = list sep substr($3, length(part) + 1); sep = " " }
	END { if (!other) print list }' "$OUT/$1.tap"
}

# again NAME: the command for it
again() {
	local how="SEED=$seed${flavour:+ KERNEL=$flavour}" only=''

	! has_cases "$1" || only=$(failed_cases "$1")
	((!minutes)) || how+=" MINUTES=$minutes"
	((!count)) || how+=" COUNT=$count"
	echo "again: make $1 $how${only:+ ONLY='$only'}"
}

parse() {
	while (($#)); do
		case $1 in
		--seed) seed=$(number "$1" "${2-}"); shift ;;
		--minutes) minutes=$(number "$1" "${2-}"); shift ;;
		--count) count=$(number "$1" "${2-}"); shift ;;
		--kernel) flavour=${2?}; shift ;;
		--only) read -ra cases <<<"${2?}"; shift ;;
		--long) long=1 ;;
		-*)
			sed -n '8,17s/^# \{0,1\}//p' "$0" >&2
			exit 2
			;;
		*)
			[[ -n $(place "$1") ]] || die "there is no part '$1'"
			named+=("$1")
			;;
		esac
		shift
	done
	[[ -n $seed ]] || choose_seed
	choose_parts
}

# The parts named, or all that can run
choose_parts() {
	local part

	for part in "${named[@]}"; do
		fits "$part" || exit 1
		((!${#cases[@]})) || has_cases "$part" ||
			die "$part has no cases to choose from"
	done
	parts=("${named[@]}")
	((!${#parts[@]})) || return 0
	((!${#cases[@]})) || die "--only is for a part"
	for part in $(all_parts | by_limit); do
		is_for_later "$part" || ! fits "$part" || parts+=("$part")
	done
}

choose_seed() {
	seed=1
	((minutes == 0 && count == 0)) || seed=$((SRANDOM % 1000000000))
}

ready() {
	local kernel

	mkdir -p "$OUT"
	exec 7>"$OUT.lock"
	flock -n 7 || die "another run of this is in this tree"
	# Keeps what the parts have built
	rm -rf "$OUT"/*.{tap,out,log,sh,guest,work}
	"$TOP/tests/runner/deps.sh" modules kernel guest
	"$VM_DIR/userland" >/dev/null
	for kernel in $(kernels "${parts[@]}"); do
		"$VM_DIR/kernel" "$kernel" >/dev/null
		"$VM_DIR/modules" "$kernel" >/dev/null
	done
}

main() {
	local name

	parse "$@"
	((${#parts[@]})) || { say "there are no parts"; exit 0; }
	say "seed $seed: ${parts[*]}"
	ready
	begin_jobs
	for name in "${parts[@]}"; do
		job "$name" job_part "$name"
	done
	end_jobs
	figures
	for name in "${names[@]}"; do
		! grep -q '^not ok' "$OUT/$name.tap" || again "$name"
	done
	finish
	exit
}

seed='' minutes=0 count=0 flavour='' long=''
named=() parts=() cases=() only='*'
main "$@"
