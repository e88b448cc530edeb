# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034
# Common to the commands of this directory. Messages go to stderr only:
# stdout belongs to the answer of a command.

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$VM_DIR/../.." && pwd)
TREE=${VM_TREE:-$TOP}	# the tree to build modules of
CACHE=${MPA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/mpa}
JOBS=${JOBS:-$(nproc)}
SRC_TAR=/usr/src/linux-source-6.12.tar.xz	# of all flavours but newest
MODULE_CONFIG=(CONFIG_MPA=m CONFIG_MPA_KUNIT_TEST=m CONFIG_MPA_SAMPLES=m CONFIG_MPA_RNIC=m
	CONFIG_MPA_RNIC_KUNIT_TEST=m)

say() { echo "${0##*/}: $*" >&2; }

die() {
	say "$*"
	exit 1
}

# number OPTION VALUE: the value, if it is one
number() {
	[[ $2 =~ ^[0-9]{1,9}$ ]] || die "$1 wants a number, not '$2'"
	echo "$((10#$2))"
}

# A short name for all that the arguments and stdin hold.
digest() { { printf '%s\n' "$@"; cat; } | sha256sum | cut -c1-12; }

# kernel_version [FLAVOUR]; that of newest is what tests/vm/kernel found last
kernel_version() {
	if [[ ${1-} == *newest* ]]; then
		cat "$CACHE/newest" 2>/dev/null || echo none
	else
		dpkg-query -W -f '${Version}' linux-source-6.12
	fi
}

kernel_source() { echo "$CACHE/linux-$(kernel_version "${1-}")"; }

# The fragments of a flavour: the base and config.FLAVOUR; "debug+gcov" has both.
fragments() {
	local part parts

	echo "$VM_DIR/config.base"
	IFS=+ read -ra parts <<<"$1"
	for part in "${parts[@]}"; do
		[[ -f $VM_DIR/config.$part ]] || die "no kernel flavour '$part'"
		echo "$VM_DIR/config.$part"
	done
}

# Build directory of a flavour's kernel; the name depends on its sources and
# configuration.
kernel_dir() {
	local files key

	files=$(fragments "$1") || exit 1
	# shellcheck disable=SC2086
	key=$(cat $files | digest "$(kernel_version "$1")" "$(gcc -dumpfullversion)" \
		"$(ld --version | head -n 1)")
	echo "$CACHE/kernel-$1-$key"
}

# progress LOG LABEL CMD...: run CMD into LOG, with a line now and then.
progress() {
	local log=$1 label=$2 start=$SECONDS pid rc=0 next=20

	shift 2
	say "$label (log: $log)"
	"$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		if ((SECONDS - start >= next)); then
			say "$label: $((SECONDS - start)) s, $(wc -l <"$log") lines of log"
			next=$((next + 20))
		fi
	done
	wait "$pid" || rc=$?
	if ((rc)); then
		tail -n 30 "$log" >&2
		say "$label: failed after $((SECONDS - start)) s, status $rc"
	else
		say "$label: done in $((SECONDS - start)) s"
	fi
	return "$rc"
}

# The sources of the modules; arguments are further find expressions
sources() {
	(cd "$TREE" && find . \
		-path ./build -prune -o -path './.*' -prune -o \
		-path ./tests -prune -o -path ./Documentation -prune -o \
		-path ./tools -prune -o -path ./debian -prune -o \
		-type f \( -name 'Kbuild*' -o -name Kconfig -o -name '*.h' \
		-o -name '*vectors*' -o -name '*.c' ! -name '*.mod.c' \) \
		"$@" | LC_ALL=C sort)
}

# Make a directory of links to the sources in which Kbuild may write.
sync_farm() {
	local farm=$1 file

	mkdir -p "$farm"
	find "$farm" -type l -xtype l -delete
	sources -print | while read -r file; do
		[[ -L $farm/$file ]] && continue
		mkdir -p "$farm/${file%/*}"
		ln -sfn "$TREE/$file" "$farm/$file"
	done
}
