#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# matrix.sh [ROW...]: build the modules, the samples, the test modules and KUnit with
# W=1 for the kernels of Debian, each by the compiler that its headers name. A row
# is SUITE/FLAVOUR, or a pattern of these; all of them without an argument. "ends" are
# the oldest and the newest; it fails unless it can build for two different kernels.
#
# Headers, compiler and what these need are unpacked into a directory for each suite
# (~/.cache/mpa/debian/SUITE), where make runs by chroot: none of it is
# installed. What this script needs itself deps.sh installs, if it is root.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$VM_DIR/debian.sh"

OUT=$TOP/build/matrix
COMPLAINT='(warning|error): |WARNING: |ERROR: |undefined!|multiple modules'

# Suite, the suites below it, package of the headers, of the real-time ones
KERNELS='
bookworm-security  bookworm                         linux-headers-6.12-amd64 linux-headers-6.12-rt-amd64
bookworm-backports bookworm,bookworm-security       linux-headers-amd64      linux-headers-rt-amd64
trixie             trixie-security                  linux-headers-amd64      linux-headers-rt-amd64
trixie-backports   trixie,trixie-security           linux-headers-amd64      linux-headers-rt-amd64
sid                sid                              linux-headers-amd64      linux-headers-rt-amd64
'

TOOLS=(base-files bash binutils coreutils dash diffutils dpkg findutils gawk grep libelf1 make
	pahole perl python3 sed tar)

# The packages that PACKAGE needs by names that fit the pattern
needs() {
	debian_apt apt-cache show --no-all-versions "$1" |
		sed -n 's/^Depends: //p' | tr ',|' '\n' | awk '{ print $1 }' |
		grep -xE "$2"
}

# The headers that a package without a version stands for
headers() { needs "$1" 'linux-headers-[0-9.]+.*'; }

# What a suite's directory holds, as PACKAGE=VERSION
contents() {
	local package compilers=()

	for package; do
		needs "$(headers "$package")" 'linux-(headers|kbuild)-.*'
		headers "$package"
		mapfile -t -O ${#compilers[@]} compilers < \
			<(needs "$(headers "$package")" 'gcc-[0-9]+(-for-host)?')
	done
	debian_apt apt-get --no-install-recommends -s install \
		"${TOOLS[@]}" "${compilers[@]}" |
		sed -nE 's/^Inst ([^ ]+) \(([^ ]+).*/\1=\2/p'
}

# What maintainers' scripts do in an installed system
finish_root() {
	ln -sfn gawk "$1/usr/bin/awk"
	[[ -e $1/bin/sh ]] || ln -s dash "$1/bin/sh"
	mkdir -p "$1"/{dev,proc,tmp}
}

make_root() {
	local root=$1 list

	shift
	mapfile -t list < <(contents "$@" | sort -u)
	((${#list[@]} > 20)) || return
	[[ $(cat "$root/list" 2>/dev/null) != "${list[*]}" ]] || return 0
	rm -rf "$root"
	debian_unpack "$root" "${list[@]}" || return
	finish_root "$root"
	echo "${list[*]}" >"$root/list"
}

# in_root ROOT COMMAND...; its mounts end with it
in_root() {
	# shellcheck disable=SC2016
	unshare "${as_root[@]}" --mount env -i LC_ALL=C \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -ec '
		mount --rbind /dev "$0/dev"
		mount --rbind /proc "$0/proc"
		exec chroot "$0" "$@"' "$@"
}

# The tree of sources in one directory, with a Kbuild for all
copy_sources() {
	local to=$1

	rm -rf "$to"
	mkdir -p "$to/mpa" "$to/kunit"
	(cd "$TREE" && sources -print | cpio --quiet -pdm "$to/mpa" &&
		cp -r tests/modules/* tests/fuzz/wire/mpa_cover.[ch] \
			tests/bench/mark.h "$to" &&
		sed -n '/UBSAN/p' tests/fuzz/wire/kbuild.add >"$to/Kbuild")
	cp -r "$to/mpa/." "$to/kunit"
	mv "$to/mark.h" "$to/bench"
	printf 'obj-m += %s\n' mpa/ races/ bench/ vm_fault/ exit_order/ mpa_cover.o \
		>>"$to/Kbuild"
}

# compile ROOT KDIR MAKE-ARGUMENT...
compile() {
	local root=$1 kdir=$2

	shift 2
	in_root "$root" make -C "$kdir" -k -j"$JOBS" W=1 "$@" modules
}

# Debian's kernels have no KUnit. Its tests are built as if they had: with symbols for
# all that KUnit's headers name.
compile_kunit() {
	local root=$1

	grep -ohE '\<_*kunit_\w+' "$root"/usr/src/*/include/kunit/*.h | sort -u |
		sed 's/.*/0x00000000\t&\tkunit\tEXPORT_SYMBOL_GPL\t/' \
		>"$root/build/kunit/kunit.symvers"
	compile "$@" M=/build/kunit CONFIG_MPA=m CONFIG_MPA_KUNIT_TEST=m \
		CONFIG_MPA_RNIC=m CONFIG_MPA_RNIC_KUNIT_TEST=m \
		KCFLAGS=-DCONFIG_KUNIT=1 \
		KBUILD_EXTRA_SYMBOLS=/build/kunit/kunit.symvers
}

compile_all() {
	compile "$@" M=/build MPA=/build/mpa CONFIG_MPA=m CONFIG_MPA_RNIC=m \
		CONFIG_MPA_SAMPLES=m &&
		compile_kunit "$@"
}

# What vendors' kernels of 6.12 lack (RHEL 10), although each of Debian has it: the
# objects that use it, as if Kbuild.compat had not found it
LACKED=(NET_REFCNT_UPGRADE WQ_PERCPU DFL_WQ)
LACKED_IN=(mpa_sock.o mpa_conn.o)
compile_lacking() {
	local root=$1 kdir=$2 mpa=$1/build/mpa name

	for name in "${LACKED[@]}"; do
		if ! grep -q ",$name," "$mpa/Kbuild.compat"; then
			echo "error: Kbuild.compat does not look for $name"
			return 1
		fi
		sed -i "/,$name,/d" "$mpa/Kbuild.compat"
	done
	(cd "$mpa" && rm -f "${LACKED_IN[@]}")
	in_root "$root" make -C "$kdir" W=1 M=/build/mpa CONFIG_MPA=m "${LACKED_IN[@]}" &&
		(cd "$mpa" && ls "${LACKED_IN[@]}")
}

modules_made() {
	local module want=(mpa/mpa mpa/mpa_ping mpa/mpa_hello mpa/mpa_rnic
		races/mpa_races bench/mpa_bench bench/mpa_bench_verbs vm_fault/vm_fault
		exit_order/exit_order mpa_cover kunit/mpa_kunit kunit/mpa_rnic_kunit)

	for module in "${want[@]}"; do
		[[ -e $1/$module.ko ]] || { echo "error: no $module.ko"; return 1; }
	done
}

# row SUITE FLAVOUR ROOT HEADERS: one line of the table
row() {
	local log=$OUT/$1-$2.log begun=$SECONDS result=ok n=0

	copy_sources "$3/build"
	{
		compile_all "$3" "/usr/src/$4" && modules_made "$3/build" &&
			{ [[ $4 != linux-headers-6.12.* ]] ||
				compile_lacking "$3" "/usr/src/$4"; }
	} >"$log" 2>&1 </dev/null || result=failed
	n=$(grep -cE "$COMPLAINT" "$log" || true)
	if ((n)) || [[ $result != ok ]]; then
		result="FAILED, $n warnings: build/matrix/${log##*/}"
		grep -m 20 -E "$COMPLAINT" "$log" >&2 || tail -n 20 "$log" >&2
	fi
	table+=("$(printf '%-18s %-7s %-22s %7d  %s' "$1" "$2" "${4#linux-headers-}" \
		$((SECONDS - begun)) "$result")")
}

wanted() {
	local row

	for row in "${rows[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 != $row ]] || return 0
	done
	return 1
}

# Suites of KERNELS that have packages, the one with the lowest version first. A suite that
# has vanished from the mirror may be among them by a list of yesterday.
by_version() {
	local package suite

	DEBIAN_SUITE='' debian_update "${SUITES[@]}" || say "not all suites are to be had"
	DEBIAN_SUITE='' debian_apt apt-cache madison linux-headers-amd64 \
		linux-headers-6.12-amd64 |
		awk '{ sub("/.*", "", $6); print $3, $1, $6 }' | sort -V |
		while read -r _ package suite; do
			! grep -qE "^$suite +[^ ]+ +$package " <<<"$KERNELS" || echo "$suite"
		done
}

# The lists of packages of a suite and of those below it
update() {
	local below

	below=$(awk -v suite="$1" '$1 == suite { print $2 }' <<<"$KERNELS")
	# shellcheck disable=SC2046,SC2086
	DEBIAN_SUITE=$1 debian_update $(printf '%s\n' "$1" ${below//,/ } | sort -u)
}

# The row of the first of these suites that is to be had
first_row() {
	local suite

	for suite; do
		! update "$suite" || { echo "$suite/amd64"; return; }
	done
}

# The rows that CI has
ends() {
	local found newest=() suite

	two_kernels=1
	mapfile -t found < <(by_version)
	for suite in "${found[@]}"; do
		newest=("$suite" "${newest[@]}")
	done
	mapfile -t rows < <(first_row "${found[@]}"; first_row "${newest[@]}")
	((${#rows[@]})) || table+=("ends: skipped, the lists of packages are not to be had")
}

# A row of "ends" that is skipped is no success of the other one. Where neither is built
# main says so.
both_built() {
	local kernels

	kernels=$(printf '%s\n' "${built[@]}" | sort -u | grep -c .) || true
	((kernels != 1)) || table+=("ends: FAILED, built for one kernel alone: ${built[0]}")
}

# with_packages SUITE ROOT PACKAGE...: lists of yesterday may name packages that have gone
with_packages() {
	update "$1" && make_root "${@:2}" && return
	rm -f "$DEBIAN/lists/$1/fresh"
	update "$1" && make_root "${@:2}"
}

suite() {
	local suite=$1 packages=("$3" "$4") root=$DEBIAN/$1 flavours=(amd64 rt) i
	local headers

	wanted "$suite/amd64" || wanted "$suite/rt" || return 0
	export DEBIAN_SUITE=$suite
	say "$suite: packages"
	if ! with_packages "$suite" "$root" "${packages[@]}"; then
		table+=("$suite: skipped, its packages are not to be had")
		return
	fi
	for i in 0 1; do
		wanted "$suite/${flavours[i]}" || continue
		say "$suite: ${flavours[i]}"
		headers=$(headers "${packages[i]}")
		row "$suite" "${flavours[i]}" "$root" "$headers"
		built+=("$headers")
	done
}

main() {
	local fields good bad skipped

	"$TOP/tests/runner/deps.sh" modules matrix
	mkdir -p "$OUT" "$DEBIAN"
	exec 9>"$DEBIAN/lock"
	flock -n 9 || { say "waiting for another matrix"; flock 9; }
	unshare "${as_root[@]}" --mount true ||
		die "no mount is allowed here, so nothing was built: it wants root or user" \
			"namespaces, in a container --privileged"
	[[ ${rows[*]} != ends ]] || ends
	while read -ra fields; do
		((!${#fields[@]})) || suite "${fields[@]}"
	done <<<"$KERNELS"
	[[ -z $two_kernels ]] || both_built
	printf '%-18s %-7s %-22s %7s  %s\n' suite flavour version seconds result
	printf '%s\n' "${table[@]}"
	((${#table[@]})) || say "there is no row ${rows[*]}"
	bad=$(printf '%s\n' "${table[@]}" | grep -c FAILED || true)
	skipped=$(printf '%s\n' "${table[@]}" | grep -c skipped || true)
	good=$((${#table[@]} - bad - skipped))
	echo "$good passed, $bad failed, $skipped skipped"
	# A suite that a mirror lacks is no fault of ours; to have built none is no success
	((good + bad)) || say "nothing was built"
	((good && !bad))
}

table=() built=() two_kernels='' rows=("$@") as_root=()
((!EUID)) || as_root=(--map-root-user)
(($#)) || rows=('*')
main
