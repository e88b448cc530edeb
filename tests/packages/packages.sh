#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# packages.sh [--suite SUITE] [PART...]: in a bare Debian 12 (bookworm) and a bare Debian
# 13 (trixie), with the packages that README.md names: build and install modules by hand
# (install); build the Debian packages and use them (dkms); boot kernels with the modules
# of DKMS, and lock them down (lockdown, which needs dkms). Results are TAP, the output of
# the commands is in build/packages/log.
#
# Each Debian is a chroot, made once and kept in the cache of the tests. The cases run in
# a copy of it.
set -euo pipefail
. "$(dirname "$0")/../vm/lib.sh"
. "$VM_DIR/debian.sh"

VERSION=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' "$TOP/dkms.conf")
RESULTS=$TOP/build/packages

# in_root COMMAND...: the shell that dkms is written for wants /proc
in_root() {
	# shellcheck disable=SC2016
	LC_ALL=C DEBIAN_FRONTEND=noninteractive INITRD=No \
		unshare --mount --fork sh -c '
		mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' \
		"$ROOT" "$@" </dev/null
}

apt_install() { in_root apt-get install -y --no-install-recommends "$@"; }

# The kernel that README.md names for a Debian, and what it wants for make and make install
own_kernel() {
	apt_install make xz-utils
	case $SUITE in
	bookworm) apt_install linux-image-6.12-amd64 linux-headers-6.12-amd64 ;;
	trixie) apt_install linux-image-amd64 linux-headers-amd64 ;;
	esac
}

# Debian 12: its oldest Linux 6.12. Debian 13: the newest kernel of its backports.
other_kernel() {
	local oldest

	case $SUITE in
	bookworm)
		oldest=$(in_root apt-cache search --names-only \
			'^linux-headers-6\.12\.[0-9]+\+deb12-amd64$' |
			sed 's/^linux-headers-\([^ ]*\) .*/\1/' | sort -V | sed -n 1p)
		apt_install "linux-image-$oldest" "linux-headers-$oldest"
		;;
	trixie) apt_install -t trixie-backports linux-image-amd64 linux-headers-amd64 ;;
	esac
}

# Debian 12: headers of its Linux 6.1
too_old() { [[ $SUITE != bookworm ]] || apt_install linux-headers-amd64; }

suites_of() {
	echo "$1" "$1-security"
	[[ $1 != trixie ]] || echo trixie-backports
}

# shellcheck disable=SC2046
make_root() {
	local ROOT=$BASE.new own other

	rm -rf "$ROOT"
	debootstrap --variant=minbase --include=ca-certificates "$SUITE" "$ROOT" \
		"$(debian_mirror)/debian"
	debian_sources $(suites_of "$SUITE") >"$ROOT/etc/apt/sources.list"
	# No service starts in there
	printf '#!/bin/sh\nexit 101\n' >"$ROOT/usr/sbin/policy-rc.d"
	chmod +x "$ROOT/usr/sbin/policy-rc.d"
	in_root apt-get update
	own_kernel
	own=$(ls "$ROOT/lib/modules")
	other_kernel
	other=$(cd "$ROOT/lib/modules" && ls --ignore="$own")
	too_old
	echo "$own $other" >"$ROOT/kernels"
	fetch_packages
	mv "$ROOT" "$BASE"
}

# The chroots of another recipe are others
recipe() {
	declare -f own_kernel other_kernel too_old suites_of make_root fetch_packages |
		digest "$SUITE"
}

# What the cases install, so that they need no network: README.md's for make tools, the
# build's of the packages, and dkms
fetch_packages() {
	in_root apt-get clean
	apt_install --download-only build-essential libmnl-dev debhelper dh-dkms lintian dkms
}

# A copy for the cases to change, with the tree as git would commit it
copy_root() {
	rm -rf "$ROOT"
	(
		flock 8
		[[ -e $BASE ]] || make_root
	) 8>"$BASE.lock"
	cp -a --reflink=auto "$BASE" "$ROOT"
	"$TOP/tests/packages/copy-tree" "$ROOT/root/mpa"
}

# case_ NAME COMMAND...: one case; the first command of it that fails ends it.
case_() {
	local name=$1 rc=0

	shift
	echo "== $SUITE.$name"
	(set -e; "$@") &
	wait $! || rc=$?
	if ((rc)); then
		echo "not ok packages.$SUITE.$name"
	else
		echo "ok packages.$SUITE.$name"
	fi | tee -a "$RESULTS/results.tap" >&3
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

# Linux 6.1: one line says what to install, and nothing is compiled
refuses_old_kernels() {
	! in_tree -s KDIR="/lib/modules/$1/build" >"$OUT/make" 2>&1 || fail "make builds"
	cat "$OUT/make"
	[[ $(grep -vcE '^make(\[[0-9]+\])?: \*\*\*' "$OUT/make") == 1 ]] ||
		fail "make says more"
	grep '^mpa needs Linux 6.12, not 6\.1\..* linux-headers-6.12-amd64' "$OUT/make"
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
	local module file

	for module in mpa mpa_ping mpa_rnic; do
		file=$OUT/$module.ko
		xz -dc "$1/$module.ko.xz" >"$file"
		echo "$module.ko.xz: $(stat -c %s "$1/$module.ko.xz") octets," \
			"$module.ko: $(stat -c %s "$file")"
		! readelf -SW "$file" | grep debug_info || fail "not stripped"
		[[ $(modinfo -F author "$file") == "the mpa project" ]] || fail "author"
		[[ $(modinfo -F vermagic "$file") == "$2 "* ]] || fail "vermagic"
		[[ $(modinfo -F version "$file") == "$VERSION" ]] || fail "version"
	done
}

# known ROOT RELEASE: depmod has been there, and each module's symbols are found
known() {
	local dep=$1/lib/modules/$2/modules.dep

	grep '/mpa_ping\.ko[.xz]*:.*/mpa\.ko' "$dep" ||
		fail "modules.dep does not know mpa_ping"
	grep '/mpa_rnic\.ko[.xz]*:.*/mpa\.ko' "$dep" | grep '/rdma_cm\.ko.*/ib_core\.ko' ||
		fail "modules.dep does not know mpa_rnic"
}

# What make KDIR has built, for a kernel that is not that one
refuses_other_modules() {
	[[ ${#KERNELS[@]} == 2 && -e $ROOT/root/mpa/mpa.ko ]] || fail "nothing to refuse"
	! in_tree -s install KDIR="/lib/modules/${KERNELS[1]}/build" >"$OUT/make" 2>&1 ||
		fail "make installs"
	cat "$OUT/make"
	[[ $(grep -vcE '^make(\[[0-9]+\])?: \*\*\*' "$OUT/make") == 1 ]] ||
		fail "make says more"
	grep "^mpa.ko is built for Linux $1, not ${KERNELS[1]}: .*KDIR" "$OUT/make"
	[[ ! -e $ROOT/lib/modules/${KERNELS[1]}/updates ]] || fail "installed"
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
	[[ -z $(find "$dest" -type f) ]] || fail "uninstall leaves $(find "$dest" -type f)"
}

# The command mpa, with what README.md says that it needs
tools() {
	apt_install gcc libc6-dev libmnl-dev
	in_tree tools >"$OUT/make" 2>&1 || fail "$(<"$OUT/make")"
	cat "$OUT/make"
	! grep -i warning "$OUT/make" || fail "make warns"
	in_root /root/mpa/tools/mpa/mpa help | grep monitor
	in_tree tools_install
	in_root /usr/local/sbin/mpa help | grep monitor
	in_tree tools_uninstall
	[[ ! -e $ROOT/usr/local/sbin/mpa ]] || fail "uninstall leaves the command"
}

# Packages: make deb installs what it needs

packages_of() {
	"$TOP/tests/packages/copy-tree" "$ROOT/root/deb"
	in_root env LINTIAN=fatal make -C /root/deb deb
}

packages_in() {
	local debs=("$ROOT"/root/deb/build/deb/mpa-{dkms,dev,tools}_*.deb)

	apt_install "${debs[@]#"$ROOT"}"
	in_root mpa-peer crc 313233343536373839 | grep 839206e3
	in_root mpa help | grep monitor
	in_root mpa -V | grep -x "mpa $VERSION"
	(cd "$ROOT/usr/share/man" && ls man1/mpa-peer.1.gz man8/mpa.8.gz)
	[[ -e $ROOT/usr/share/mpa/mpa.yaml ]] || fail "no mpa.yaml"
	documents_in
}

# What administrators are pointed to; debhelper compresses the longer ones
documents_in() {
	local doc=$ROOT/usr/share/doc/mpa-dkms name

	for name in mpa mpa-rnic mpa-storage mpa-interop; do
		compgen -G "$doc/$name.rst*" || fail "no $name.rst"
	done
	compgen -G "$doc/README.md*" || fail "no README.md"
	for name in README mpa_ping; do
		compgen -G "$doc/samples/$name.md*" || fail "no samples/$name.md"
	done
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

# A kernel that was configured without RDMA gets the other modules
dkms_without_rdma() {
	local dest=$ROOT/lib/modules/$1/updates/dkms

	in_root dkms remove "mpa/$VERSION" -k "$1"
	in_root sed -i '/^CONFIG_INFINIBAND/d' \
		"/lib/modules/$1/build/include/config/auto.conf"
	in_root dkms install "mpa/$VERSION" -k "$1"
	[[ -e $dest/mpa.ko.xz && -e $dest/mpa_ping.ko.xz ]] || fail "not all are there"
	[[ ! -e $dest/mpa_rnic.ko.xz ]] || fail "mpa_rnic is there"
}

nothing_left() {
	local left

	left=$(cd "$ROOT" && find lib/modules/ var/lib/dkms usr/src etc -name '*mpa[-_.]*' \
		! -path '*/kernel/*' ! -name '*compa*')
	[[ -z $left ]] || fail "left: $left"
}

purged() {
	in_root apt-get purge -y mpa-dkms mpa-dev mpa-tools
	nothing_left
}

# Without packages, as mpa.rst has it for other distributions
dkms_tree() {
	local dest=$ROOT/usr/src/mpa-$VERSION

	"$TOP/tests/packages/copy-tree" "$dest"
	in_root dkms install "mpa/$VERSION" -k "$1"
	right "$ROOT/lib/modules/$1/updates/dkms" "$1"
	known "$ROOT" "$1"
	in_root dkms remove "mpa/$VERSION" --all
	rm -rf "$dest"
	nothing_left
}

# A guest with Debian's kernel and the modules that DKMS has installed

# program ROOT FILE: with the libraries that it loads
program() {
	cp "$2" "$1/bin"
	ldd "$2" | grep -o '/[^ ]*' | xargs -I{} cp --parents -L {} "$1"
}

guest_files() {
	local root=$OUT/guest lib=lib/modules/$1

	rm -rf "$root"
	mkdir -p "$root"/{bin,proc,sys,dev} "$root/$lib/kernel"
	cp -r "$ROOT/$lib"/kernel/{lib,crypto,arch} "$root/$lib/kernel"
	(cd "$ROOT/$lib" && sed -n 's/.*\/mpa_rnic\.ko[^:]*: *//p' modules.dep | tr ' ' '\n' |
		cpio --quiet -pdmu "$root/$lib")
	cp -r "$ROOT/$lib"/{updates,modules.order,modules.builtin*} "$root/$lib"
	# modprobe of busybox reads no .xz
	find "$root/$lib" -name '*.ko.xz' -exec xz -d {} +
	cp /bin/busybox "$root/bin"
	program "$root" "$(command -v rdma)"
	cp "$TOP/tests/packages/lockdown-init" "$root/init"
	depmod -b "$root" "$1"
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

tests_install() {
	case_ make.refused refuses_other_kernels
	[[ -z $OLD ]] || case_ make.too_old refuses_old_kernels "$OLD"
	case_ make.kdir builds_for "$1"
	case_ make.install.kdir refuses_other_modules "$1"
	case_ make.install installs_for "$1"
	case_ make.install.destdir installs_in_directory "$1"
	case_ make.tools tools
}

# Of Debian 12 the kernel that README.md names, of Debian 13 that of its backports as well
tests_lockdown() {
	case_ "lockdown.${KERNELS[0]}" locked_down "${KERNELS[0]}"
	[[ $SUITE == bookworm ]] ||
		case_ "lockdown.${KERNELS[1]}" locked_down "${KERNELS[1]}"
}

tests_dkms() {
	local kernel

	case_ deb packages_of
	case_ dkms.package packages_in
	case_ dkms.cycle dkms_cycle
	[[ -z $OLD ]] || case_ dkms.excluded dkms_excluded
	for kernel in "${KERNELS[@]}"; do
		case_ "consumer.$kernel" consumer_for "$kernel"
	done
	! want lockdown || tests_lockdown
	case_ dkms.without_rdma dkms_without_rdma "${KERNELS[1]}"
	case_ dkms.purge purged
	case_ dkms.tree dkms_tree "${KERNELS[0]}"
}

# tests SUITE
tests() {
	SUITE=$1
	BASE=$CACHE/chroot-$SUITE-$(recipe)
	OUT=$RESULTS/$SUITE
	ROOT=$OUT/root
	mkdir -p "$OUT"
	case_ chroot copy_root
	[[ -e $ROOT ]] || return 0
	read -ra KERNELS <"$ROOT/kernels"
	OLD=$(cd "$ROOT/lib/modules" && { compgen -G '6.1.*' || true; })
	! want install || tests_install "${KERNELS[0]}"
	! want dkms || tests_dkms
}

suites=(bookworm trixie)
if [[ ${1-} == --suite ]]; then
	[[ " ${suites[*]} " == *" ${2-} "* ]] || die "no suite '${2-}'"
	suites=("$2")
	shift 2
fi
wanted=("$@")
((!EUID)) || die "needs root, for a chroot"
"$TOP/tests/runner/deps.sh" packages
mkdir -p "$RESULTS" "$CACHE"
: >"$RESULTS/results.tap"
say "output: $RESULTS/log"
exec 3>&1 >"$RESULTS/log" 2>&1
for suite in "${suites[@]}"; do
	tests "$suite"
done
exec >&3
good=$(grep -c '^ok' "$RESULTS/results.tap" || true)
bad=$(grep -c '^not ok' "$RESULTS/results.tap" || true)
if ((bad)); then
	grep -v '^ *$' "$RESULTS/log" | tail -n 60
else
	rm -rf "$RESULTS"/*/root
fi
echo "$good passed, $bad failed"
((good && !bad))
