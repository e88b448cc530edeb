# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# SMB Direct: ksmbd on port 5445, mount -t cifs -o rdma

smb_down() {
	umount -f /mnt
	ksmbd.control -s
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

smb() {
	wire "$1" "$2"
	ksmbd
	modprobe cifs
	until_true 20 mount.cifs "//$B4/share" /mnt \
		-o rdma,vers=3.1.1,username=root,password=secret || fail "no mount"
	grep ' /mnt cifs.*,rdma' /proc/mounts || fail "$(grep /mnt /proc/mounts)"
	tree /mnt
	timeout 60 umount /mnt || fail "umount"
	same /export
}

test_case smb.mpa.mpa "a tree, compared" smb mpa mpa
