# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# SMB Direct: ksmbd on port 5445, mount -t cifs -o rdma

smb_down() {
	soon umount -f /mnt
	soon ksmbd.control -s
	killall ksmbd.mountd
	umount /export
	rm -rf /etc/ksmbd
	modprobe -r cifs
	modprobe -r ksmbd
}

ksmbd() {
	mkdir -p /export /etc/ksmbd
	mount -t tmpfs export /export
	modprobe ksmbd || fail "no ksmbd"
	cat >/etc/ksmbd/ksmbd.conf <<-CONF
		[share]
			path = /export
			read only = no
	CONF
	ksmbd.adduser -a root -p secret || fail "no user"
	ksmbd.mountd || fail "no ksmbd.mountd"
}

# mfsymlinks: links are files at the server
mounts() {
	mount.cifs "//$B4/share" /mnt \
		-o rdma,vers=3.1.1,username=root,password=secret,mfsymlinks && return
	REFUSED=$((REFUSED + 1))
	false
}

# mounted: ksmbd.mountd may not be ready the first time
mounted() {
	REFUSED=0
	until_true 20 mounts || fail "no mount"
	echo "$REFUSED mounts failed before"
	grep ' /mnt cifs.*,rdma' /proc/mounts || fail "$(grep /mnt /proc/mounts)"
	noted
}

unmounted() { timeout 60 umount /mnt || fail "umount"; }

# By its name: the kernel's client lists no files after it has mounted again, with siw at
# both ends, too.
readable() {
	local left

	left=$(grep -E '^[0-9a-f]{64} ' "$STATE/sums" | (cd /mnt && sha256sum -c - 2>&1) |
		grep -v ': OK$')
	[[ -z $left ]] || fail "not as unpacked: $(head -n 20 <<<"$left")"
}

smb() {
	wire "$1" "$2"
	at_b ksmbd
	modprobe cifs
	mounted
	tree /mnt
	steady
	unmounted
	at_b same /export include-prefixes/
	mounted
	((REFUSED == 0)) || fail "the second mount was refused"
	readable
	steady
	unmounted
}

test_case smb.mpa.mpa "a tree, compared" smb mpa mpa
