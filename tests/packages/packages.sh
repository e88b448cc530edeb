#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# packages.sh [PART...]: build the Debian packages (deb); install modules by hand
# (install) and the packages (dkms) in a chroot of Debian 12 with the headers of two
# kernels; boot one of these with the modules of DKMS, and lock it down (lockdown, which
# needs dkms). Results are TAP, the output of the commands is in build/packages/log.
#
# The chroot is made once, and kept in the cache of the tests.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$VM_DIR/debian.sh"

OUT=$TOP/build/packages
ROOT=$CACHE/chroot-bookworm
VERSION=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$TOP/dkms.conf")

# in_root COMMAND...: the shell that dkms is written for wants /proc
in_root() {
	# shellcheck disable=SC2016
	LC_ALL=C DEBIAN_FRONTEND=noninteractive INITRD=No \
		unshare --mount --fork sh -c '
		mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' \
		"$ROOT" "$@" </dev/null
}

make_root() {
	local mirror

	mirror=$(debian_mirror)
	rm -rf "$ROOT.new"
	debootstrap --variant=minbase --include=ca-certificates bookworm "$ROOT.new" \
		$mirror/debian
	{
		echo "deb $mirror/debian bookworm main"
		echo "deb $mirror/debian-security bookworm-security main"
	} >"$ROOT.new/etc/apt/sources.list"
	# No service starts in there
	printf '#!/bin/sh\nexit 101\n' >"$ROOT.new/usr/sbin/policy-rc.d"
	chmod +x "$ROOT.new/usr/sbin/policy-rc.d"
	mv "$ROOT.new" "$ROOT"
}

# The oldest and the newest 6.12 that Debian 12 has, and 6.1, which is too old
fill_root() {
	local all

	in_root apt-get update
	mapfile -t all < <(in_root apt-cache search --names-only \
		'^linux-headers-6\.12\.[0-9]+\+deb12-amd64$' |
		sed 's/^linux-headers-\([^ ]*\) .*/\1/' | sort -V)
	in_root apt-get install -y --no-install-recommends dkms make gcc libc6-dev \
		linux-headers-amd64 "linux-headers-${all[0]}" \
		"linux-headers-${all[-1]}"
	echo "${all[0]} ${all[-1]}" >"$ROOT/kernels"
}

prepare() {
	exec 8>"$ROOT.lock"
	flock 8
	[[ -e $ROOT ]] || make_root
	[[ -e $ROOT/kernels ]] || fill_root
	read -ra KERNELS <"$ROOT/kernels"
	OLD=$(cd "$ROOT/lib/modules" && echo 6.1.*)
	# Also after a run that was interrupted
	in_root dpkg --purge --force-remove-reinstreq mpa-dkms mpa-dev mpa-tools || true
	rm -rf "$ROOT"/root/* "$ROOT"/lib/modules/*/updates \
		"$ROOT"/var/lib/dkms/mpa "$ROOT"/usr/src/mpa-*
}

# case_ NAME COMMAND...: one case; the first command of it that fails ends it
case_() {
	local name=$1 rc=0

	shift
	echo "== $name"
	(set -e; "$@") &
	wait $! || rc=$?
	if ((rc)); then
		echo "not ok packages.$name"
	else
		echo "ok packages.$name"
	fi | tee -a "$OUT/results.tap" >&3
}

fail() { echo "FAILED: $*"; exit 1; }

# By hand

in_tree() { in_root make -C /root/mpa "$@"; }

# The chroot has no headers of the running kernel, but those of others
refuses_other_kernels() {
	! in_tree >"$OUT/make" 2>&1 || fail "make builds"
	cat "$OUT/make"
	grep "no kernel to build for" "$OUT/make"
	grep "make KDIR=/lib/modules/${KERNELS[0]}/build" "$OUT/make"
}

builds_for() {
	in_tree KDIR="/lib/modules/$1/build" >"$OUT/make" 2>&1 || fail "$(<"$OUT/make")"
	cat "$OUT/make"
	grep "^For Linux $1" "$OUT/make"
	! grep -i warning "$OUT/make" || fail "make warns"
}

# right DIR RELEASE: the modules in DIR are those of this tree, for that kernel, and
# stripped. Debian's kernels have them compressed.
right() {
	local file=$OUT/mpa.ko size

	xz -dc "$1/mpa.ko.xz" >"$file"
	size=$(stat -c %s "$file")
	echo "mpa.ko.xz: $(stat -c %s "$1/mpa.ko.xz") octets, mpa.ko: $size"
	! readelf -SW "$file" | grep debug_info || fail "not stripped"
	[[ $(modinfo -F version "$file") == "$VERSION" ]] || fail "version"
	[[ $(modinfo -F author "$file") == "the mpa project" ]] || fail "author"
	[[ $(modinfo -F vermagic "$file") == "$2 "* ]] || fail "vermagic"
}

# known ROOT RELEASE: depmod has been there
known() {
	grep '/mpa_ping\.ko[.xz]*:.*/mpa\.ko' "$1/lib/modules/$2/modules.dep" ||
		fail "modules.dep does not know it"
}

# make_install RELEASE ARGUMENT...: the arguments are for uninstall as well
make_install() {
	local args=("KDIR=/lib/modules/$1/build" "${@:2}")

	in_tree install "${args[@]}" >"$OUT/make" 2>&1 || fail "$(<"$OUT/make")"
	cat "$OUT/make"
	! grep -iE 'ssl|sign-file|error|warning' "$OUT/make" || fail "make complains"
	grep "^Not signed" "$OUT/make"
}

make_uninstall() {
	in_tree uninstall "KDIR=/lib/modules/$1/build" "${@:2}"
}

installs_for() {
	local examples=$ROOT/usr/share/doc/mpa/examples

	make_install "$1"
	right "$ROOT/lib/modules/$1/updates" "$1"
	known "$ROOT" "$1"
	[[ -e $examples/sysctl.d/mpa.conf && -e $examples/modules-load.d/mpa.conf ]] ||
		fail "no examples"
	make_uninstall "$1"
	[[ ! -e $ROOT/usr/share/doc/mpa ]] || fail "uninstall leaves documents"
	! ls "$ROOT/lib/modules/$1/updates"/* || fail "uninstall leaves modules"
	! grep /mpa "$ROOT/lib/modules/$1/modules.dep" || fail "modules.dep knows them"
}

installs_in_directory() {
	local dest=$ROOT/root/dest

	make_install "$1" DESTDIR=/root/dest
	right "$dest/lib/modules/$1/updates" "$1"
	[[ ! -e $dest/lib/modules/$1/modules.dep ]] || fail "depmod was there"
	make_uninstall "$1" DESTDIR=/root/dest
	! find "$dest" -type f | grep . || fail "uninstall leaves that"
}

# Packages

packages_in() {
	in_root sh -c 'apt-get install -y --no-install-recommends \
		/root/packages/mpa-d*.deb /root/packages/mpa-tools_*.deb'
	in_root mpa-peer crc 313233343536373839 | grep 839206e3
	in_root mpa help | grep monitor
	(cd "$ROOT/usr/share/man" && ls man1/mpa-peer.1.gz man8/mpa.8.gz)
}

# The package has added it, and built it for some kernels: from the beginning
dkms_cycle() {
	local kernel

	in_root dkms remove "mpa/$VERSION" --all
	! in_root dkms status | grep mpa || fail "still there"
	in_root dkms add "mpa/$VERSION"
	for kernel in "${KERNELS[@]}"; do
		in_root dkms build "mpa/$VERSION" -k "$kernel" >"$OUT/dkms" 2>&1 ||
			fail "$(<"$OUT/dkms")"
		cat "$OUT/dkms"
		! grep "bad exit status" "$OUT/dkms" || fail "make clean fails"
		! grep -i "warning:" "$ROOT/var/lib/dkms/mpa/$VERSION/$kernel"/*/log/make.log ||
			fail "the build warns"
		in_root dkms install "mpa/$VERSION" -k "$kernel"
		in_root dkms status -k "$kernel" mpa | grep ": installed"
		right "$ROOT/lib/modules/$kernel/updates/dkms" "$kernel"
		known "$ROOT" "$kernel"
		modinfo -F signer "$OUT/mpa.ko" | grep . || fail "not signed"
	done
}

# A kernel that is too old has its own status, which the package's script accepts
dkms_excluded() {
	local rc=0

	in_root dkms build "mpa/$VERSION" -k "$OLD" >"$OUT/dkms" 2>&1 || rc=$?
	cat "$OUT/dkms"
	((rc == 77)) || fail "status $rc"
	[[ ! -e $ROOT/lib/modules/$OLD/updates ]] || fail "installed"
}

# The example of mpa-dev, by the symbols that DKMS has kept
consumer_for() {
	rm -rf "$ROOT/root/hello"
	in_root cp -r /usr/share/doc/mpa-dev/examples/mpa_hello /root/hello
	in_root make -C /root/hello KVER="$1" >"$OUT/make" 2>&1 || fail "$(<"$OUT/make")"
	cat "$OUT/make"
	! grep -iE 'warning|undefined' "$OUT/make" || fail "make warns"
	[[ $(modinfo -F depends "$ROOT/root/hello/mpa_hello.ko") == mpa ]] ||
		fail "depends"
}

purged() {
	in_root apt-get purge -y 'mpa-*'
	! find "$ROOT"/{lib/modules,var/lib/dkms,usr/src,etc} -name '*mpa[-_.]*' \
		-path '*mpa*' ! -path '*/kernel/*' ! -name '*compa*' | grep . ||
		fail "purge leaves that"
}

# A guest with Debian's kernel and the modules that DKMS has installed

guest_files() {
	local root=$OUT/guest lib=lib/modules/$1

	rm -rf "$root"
	mkdir -p "$root"/{bin,proc,sys,dev} "$root/$lib/kernel"
	cp -r "$ROOT/$lib"/kernel/{lib,crypto,arch} "$root/$lib/kernel"
	cp -r "$ROOT/$lib"/{updates,modules.order,modules.builtin*} "$root/$lib"
	# modprobe of busybox reads no .xz
	find "$root/$lib" -name '*.ko.xz' -exec xz -d {} +
	cp /bin/busybox "$root/bin"
	cp "$TOP/tests/packages/lockdown-init" "$root/init"
	depmod -b "$root" -F "$ROOT/boot/System.map-$1" "$1"
	(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$OUT/guest.cpio"
}

# boot RELEASE: false if the kernel did not come to the guest's init
boot() {
	timeout 600 qemu-system-x86_64 -accel tcg -cpu max -m 512 -display none \
		-no-reboot -nodefaults -serial stdio -kernel "$ROOT/boot/vmlinuz-$1" \
		-initrd "$OUT/guest.cpio" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off" \
		</dev/null >"$OUT/console" || true
	cat "$OUT/console"
	grep "^The guest runs $1" "$OUT/console"
}

# QEMU runs code that is being patched wrong, now and then, which Debian's kernels do
# while they boot
locked_down() {
	guest_files "$1"
	boot "$1" || boot "$1" || boot "$1" || fail "it does not boot"
	grep "^all as it should be" "$OUT/console"
}

want() { [[ -z ${wanted[*]-} || " ${wanted[*]-} " == *" $1 "* ]]; }

tests() {
	local kernel last=${KERNELS[-1]}

	if want install; then
		cp -r "$TOP/build/deb/mpa" "$ROOT/root/mpa"
		case_ make.refused refuses_other_kernels
		case_ make.kdir builds_for "$last"
		case_ make.install installs_for "$last"
		case_ make.install.destdir installs_in_directory "$last"
	fi
	want dkms || return 0
	mkdir -p "$ROOT/root/packages"
	cp "$TOP"/build/deb/*.deb "$ROOT/root/packages"
	case_ dkms.package packages_in
	case_ dkms.cycle dkms_cycle
	case_ dkms.excluded dkms_excluded
	for kernel in "${KERNELS[@]}"; do
		case_ "consumer.$kernel" consumer_for "$kernel"
	done
	! want lockdown || case_ lockdown locked_down "$last"
	case_ dkms.purge purged
}

wanted=("$@")
((!EUID)) || die "needs root, for a chroot"
"$TOP/tests/runner/deps.sh" deb packages
mkdir -p "$OUT" "$CACHE"
: >"$OUT/results.tap"
say "output: $OUT/log"
exec 3>&1 >"$OUT/log" 2>&1
case_ deb "$TOP/tests/packages/deb.sh"
prepare
tests
exec >&3
good=$(grep -c '^ok' "$OUT/results.tap" || true)
bad=$(grep -c '^not ok' "$OUT/results.tap" || true)
((!bad)) || grep -v '^ *$' "$OUT/log" | tail -n 60
echo "$good passed, $bad failed"
((good && !bad))
