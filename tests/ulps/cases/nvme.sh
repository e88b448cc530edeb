# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# NVMe over Fabrics: nvmet and nvme, by configfs and nvme-cli

NVMET=$CONFIG/nvmet
TRTYPE=rdma

nvme_down() {
	timeout 60 nvme disconnect-all
	rm -f "$NVMET/ports/1/subsystems/"*
	rmdir "$NVMET/ports/1"
	[[ ! -e "$NVMET/subsystems/disk" ]] || {
		echo 0 >"$NVMET/subsystems/disk/namespaces/1/enable"
		rmdir "$NVMET/subsystems/disk/namespaces/1" "$NVMET/subsystems/disk"
	}
	modprobe -r nvme_rdma nvme_tcp
	modprobe -r nvmet_rdma nvmet_tcp nvmet
}

# target [ADDRESS]
target() {
	local addr=${1:-$B4} family=ipv4

	[[ $addr != *:* ]] || family=ipv6
	modprobe -a nvmet "nvmet-$TRTYPE"
	mkdir -p "$NVMET/subsystems/disk/namespaces/1"
	echo 1 >"$NVMET/subsystems/disk/attr_allow_any_host"
	echo /dev/nullb0 >"$NVMET/subsystems/disk/namespaces/1/device_path"
	echo 1 >"$NVMET/subsystems/disk/namespaces/1/enable"
	mkdir "$NVMET/ports/1"
	echo $TRTYPE >"$NVMET/ports/1/addr_trtype"
	echo $family >"$NVMET/ports/1/addr_adrfam"
	echo "$addr" >"$NVMET/ports/1/addr_traddr"
	echo 4420 >"$NVMET/ports/1/addr_trsvcid"
	target_up
}

target_up() {
	ln -s "$NVMET/subsystems/disk" "$NVMET/ports/1/subsystems/" ||
		fail "no target"
}

target_gone() { rm "$NVMET/ports/1/subsystems/disk"; }

# connect [ADDRESS [OPTION...]]
connect() {
	local addr=${1:-$B4}

	modprobe "nvme-$TRTYPE"
	timeout 60 nvme connect -t $TRTYPE -a "$addr" -s 4420 -n disk \
		--hostnqn="$HOSTNQN" --hostid="${HOSTNQN##*:}" \
		--reconnect-delay=1 --keep-alive-tmo=2 "${@:2}" ||
		fail "connect"
	until_true 20 test -b /dev/nvme0n1 || fail "no /dev/nvme0n1"
}

state() { cat /sys/class/nvme/nvme0/state; }
is() { [[ $(state) == "$1" ]]; }
is_live() { until_true 60 is live || fail "$(state), not live"; }

disconnect() {
	timeout 60 nvme disconnect -n disk >/dev/null || fail "disconnect"
	until_true 20 test ! -e /dev/nvme0 || fail "not disconnected"
}

# up KIND_A KIND_B [MTU]: a target, connected
up() {
	wire "$1" "$2" "${3:-1500}"
	at_b disk 64
	at_b target
	connect
}

io() {
	up "$@"
	verified_all /dev/nvme0n1
	disconnect
}

discover() {
	wire mpa mpa
	at_b disk 64
	at_b target "$1"
	modprobe nvme-rdma
	timeout 60 nvme discover -t rdma -a "$1" -s 4420 --hostnqn="$HOSTNQN" \
		--hostid="${HOSTNQN##*:}" | tee /dev/stderr |
		grep -q 'subnqn: *disk' || fail "not discovered"
	connect "$1" -i 2
	verified /dev/nvme0n1 rw=randwrite bs=4k iodepth=32 size=2m
	disconnect
}

ext4() {
	up "$@"
	mkfs.ext4 -q /dev/nvme0n1 || fail "mkfs"
	mount -t ext4 /dev/nvme0n1 /mnt || fail "mount"
	tree /mnt
	umount /mnt || fail "umount"
	disconnect
	connect
	mount -t ext4 /dev/nvme0n1 /mnt || fail "mount"
	same /mnt
	umount /mnt
	disconnect
}

# What may happen under load, without any of it being lost

resets() {
	up "$@"
	load /dev/nvme0n1 15
	for n in 1 2 3 4; do
		nvme reset /dev/nvme0 || fail "reset $n"
		is_live
		sleep 1
	done
	load_good
	disconnect
}

link_down() {
	up "$1" "$2"
	load /dev/nvme0n1 $(($3 + 20))
	ip link set vb down
	sleep "$3"
	! is live || fail "still live"
	ip link set vb up
	routes_b
	is_live
	load_good
	disconnect
}

target_lost() {
	up "$@"
	load /dev/nvme0n1 15
	target_gone
	sleep 3
	target_up
	is_live
	load_good
	disconnect
}

# no_path SECONDS
no_path() {
	up mpa mpa
	load /dev/nvme0n1 $(($1 + 20))
	netem loss 100%
	sleep "$1"
	! is live || fail "still live"
	netem loss 0%
	is_live
	load_good
	disconnect
}

# start ADDRESS [MB], stop: for conditions.sh and memory.sh
FILE=/dev/nvme0n1
start() {
	at_b disk "${2:-64}"
	at_b target "$1"
	connect "$1" -i 2
}
stop() { disconnect; }

# What loses it: only what follows must work

disconnect_loaded() {
	up "$@"
	cut_load /dev/nvme0n1
	disconnect
	wait
	connect
	verified /dev/nvme0n1 rw=randwrite bs=4k iodepth=32 size=2m
	disconnect
}

device_gone() {
	up "$1" "$2"
	cut_load /dev/nvme0n1
	timeout 60 rdma link delete "iw$3" || fail "the device does not go"
	nvme disconnect -n disk
	wait
}

for ends in "${ENDS[@]}"; do
	name=nvme.${ends/ /.}
	# shellcheck disable=SC2086
	{
		test_case "$name.io" "fio, 4 KB to 1 MB, depth 1 to 32, compared" \
			io $ends
		test_case "$name.resets" "the controller is reset under load" \
			resets $ends
	}
done
test_case nvme.mpa.mpa.ext4 "a tree on ext4, compared after reconnecting" ext4 mpa mpa
test_case nvme.mpa.mpa.discover "discovery" discover "$B4"
test_case nvme.mpa.mpa.disconnect "disconnect under load" disconnect_loaded mpa mpa
test_case nvme.mpa.mpa.target_lost "the target goes and comes back under load" \
	target_lost mpa mpa
test_case nvme.mpa.mpa.link_down "no link for 30 s, under load" link_down mpa mpa 30
test_case nvme.mpa.mpa.no_path "no packet arrives for 10 s, under load" no_path 10
test_case nvme.mpa.mpa.device_gone.a "the client's device goes under load" \
	device_gone mpa mpa a
test_case nvme.mpa.mpa.device_gone.b "the target's device goes under load" \
	device_gone mpa mpa b
condition_cases nvme
test_case nvme.mpa.mpa.limited "ext4 and swap of a cgroup that has 48 MB" short
