#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# deps SET...: check that the Debian packages of these sets are installed. As root it
# installs missing packages, otherwise it prints the command that does.
set -euo pipefail

packages_of() {
	case $1 in
	modules) echo make gcc libc6-dev kmod python3 ;;
	kernel) echo linux-source-6.12 make gcc libc6-dev flex bison bc perl \
		libelf-dev libssl-dev xz-utils kmod ;;
	tools) echo make gcc libc6-dev libmnl-dev ;;
	guest) echo qemu-system-x86 busybox-static bash cpio kmod iproute2 \
		ethtool tcpdump util-linux jq rdmacm-utils ibverbs-providers \
		perftest libfabric-bin ibverbs-utils ;;
	python) echo python3-pyverbs python3-yaml ;;
	ulps) echo e2fsprogs fio nvme-cli nfs-kernel-server nfs-common open-iscsi \
		cifs-utils ksmbd-tools \
		netbase rpcbind ;;
	lint) echo clang clang-tidy lld llvm coccinelle shellcheck pylint gcc \
		libc6-dev git python3 ;;
	check) echo sparse cppcheck codespell perl python3 python3-yaml \
		python3-jsonschema git patch ;;
	coverage) echo lcov ;;
	htmldocs) echo python3-sphinx linux-source-6.12 perl xz-utils ;;
	decode) echo python3 tshark gcc libc6-dev bsdextrautils ;;
	deb) echo build-essential debhelper dh-dkms lintian libmnl-dev ;;
	packages) echo debootstrap debian-archive-keyring kmod binutils xz-utils \
		qemu-system-x86 busybox-static cpio iproute2 ;;
	rnic) echo gcc libc6-dev libibverbs-dev librdmacm-dev ;;
	bench) echo python3 git gnuplot-nox ;;
	matrix) echo apt dpkg debian-archive-keyring cpio util-linux ;;
	*)
		echo "deps: no set '$1'" >&2
		exit 1
		;;
	esac
}

missing() {
	local package

	for package in $(printf '%s\n' "$@" | sort -u); do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
			grep -qx installed || echo "$package"
	done
}

wanted=()
for set in "$@"; do
	read -ra list <<<"$(packages_of "$set" | tr '\n' ' ')"
	wanted+=("${list[@]}")
done
mapfile -t lacking < <(missing "${wanted[@]}")
((${#lacking[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
	echo "deps: needs ${lacking[*]} (names of Debian 12)" >&2
	exit 1
fi
install="apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends ${lacking[*]}"
if ((EUID)); then
	echo "deps: packages are missing; run: sudo $install" >&2
	exit 1
fi
echo "deps: installing ${lacking[*]}" >&2
{
	flock 9
	export DEBIAN_FRONTEND=noninteractive
	$install >&2 || { apt-get update >&2 && $install >&2; }
} 9<"$0"
