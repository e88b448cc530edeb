# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# SRP: ib_srpt by configfs, ib_srp by sysfs

LIO=$CONFIG/target
ANYONE=0x$(printf '%032d' 0)		# devices of iWARP have no other name

srp_down() {
	for port in /sys/class/srp_remote_ports/port-*/delete; do
		echo 1 >"$port"
	done
	echo 0 >"$LIO/srpt/discovery_auth/rdma_cm_port"
	echo 0 >"$(echo "$LIO"/srpt/0x*/*/enable)"
	rm -f "$LIO"/srpt/0x*/*/acls/*/lun_0/disk "$LIO"/srpt/0x*/*/lun/lun_0/disk
	rmdir "$LIO"/srpt/0x*/*/acls/*/lun_0 "$LIO"/srpt/0x*/*/acls/*
	rmdir "$LIO"/srpt/0x*/*/lun/lun_0 "$LIO"/srpt/0x*/* "$LIO"/srpt/0x* "$LIO"/srpt
	rmdir "$LIO"/core/rd_mcp_0/disk "$LIO"/core/rd_mcp_0
	modprobe -r ib_srp
	modprobe -r ib_srpt
	modprobe -r target_core_mod
}

# srpt DEVICE: a target
srpt() {
	local gid tpg

	modprobe -a target_core_mod ib_srpt
	mkdir -p "$LIO"/core/rd_mcp_0/disk
	echo rd_pages=16384 >"$LIO"/core/rd_mcp_0/disk/control
	echo 1 >"$LIO"/core/rd_mcp_0/disk/enable || fail "no backstore"
	gid=0x$(sed 's/://g' "/sys/class/infiniband/$1/ports/1/gids/0")
	tpg=$LIO/srpt/$gid/$gid
	mkdir -p "$tpg/lun/lun_0" || fail "no target"
	ln -s "$LIO"/core/rd_mcp_0/disk "$tpg/lun/lun_0/disk"
	mkdir -p "$tpg/acls/$ANYONE/lun_0" || fail "no acl"
	ln -s "$tpg/lun/lun_0" "$tpg/acls/$ANYONE/lun_0/disk"
	echo 1 >"$tpg/enable" || fail "not enabled"
	echo 5555 >"$LIO/srpt/discovery_auth/rdma_cm_port" || fail "no port"
}

# ib_srpt listens at ::. siw tells the RDMA CM of an IPv4 host by its mapped address, which
# it refuses.
srp() {
	local guid dest=$B4

	[[ $2 != siw ]] || dest=[$B6]

	wire "$1" "$2"
	at_b srpt iwb
	modprobe ib_srp
	guid=$(at_b cat /sys/module/ib_srpt/parameters/srpt_service_guid) || exit
	guid=${guid#b: }
	echo "id_ext=${guid#0x},ioc_guid=${guid#0x},dest=$dest:5555" \
		>/sys/class/infiniband_srp/srp-iwa-1/add_target || fail "no login"
	until_true 20 test -b /dev/sda || fail "no /dev/sda"
	noted
	verified_all /dev/sda
	steady
	echo 1 >"$(echo /sys/class/srp_remote_ports/port-*/delete)"
	until_true 20 test ! -e /dev/sda || fail "/dev/sda is left"
}

for ends in "${FEW_ENDS[@]}"; do
	# shellcheck disable=SC2086
	test_case "srp.${ends/ /.}" "fio, compared" srp $ends
done
