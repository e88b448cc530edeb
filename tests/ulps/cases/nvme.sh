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
	modprobe "nvme-$TRTYPE"
	connects "$@" || fail "connect"
	until_true 20 test -b /dev/nvme0n1 || fail "no /dev/nvme0n1"
	noted
}

# A host that is late for KEEP_ALIVE seconds loses its connection: only where that is
# waited for are they few.
connects() {
	timeout 60 nvme connect -t $TRTYPE -a "${1:-$B4}" -s 4420 -n disk \
		--hostnqn="$HOSTNQN" --hostid="${HOSTNQN##*:}" \
		--reconnect-delay=1 --keep-alive-tmo="${KEEP_ALIVE:-30}" "${@:2}"
}

# queues NUMBER: of the controller, with that for administration
queues() {
	local number

	number=$(</sys/class/nvme/nvme0/queue_count)
	((number == $1)) || fail "$number queues, not $1"
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
	steady
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
	queues 3
	works
}

ext4() {
	up "$@"
	mkfs.ext4 -q /dev/nvme0n1 || fail "mkfs"
	mount -t ext4 /dev/nvme0n1 /mnt || fail "mount"
	tree /mnt
	umount /mnt || fail "umount"
	steady
	disconnect
	connect
	mount -t ext4 /dev/nvme0n1 /mnt || fail "mount"
	same /mnt
	umount /mnt || fail "umount"
	steady
	disconnect
}

# What may happen under load, without any of it being lost

resets() {
	up "$@"
	load /dev/nvme0n1
	for n in 1 2 3 4; do
		nvme reset /dev/nvme0 || fail "reset $n"
		is_live
		sleep 1
	done
	recovered
}

# loaded KIND_A KIND_B: connected, with a load; an end that is lost is soon noticed
loaded() {
	local KEEP_ALIVE=$((2 * SLOW))

	up "$1" "$2"
	load /dev/nvme0n1
}

# not_live: the host has noticed
not_live() { until_true 15 eval '! is live' || fail "still live"; }

# recovered [COMMAND...]: nothing is lost by the new connections, and the command succeeds
recovered() {
	is_live
	load_good
	again
	"$@"
	disconnect
}

# link_down KIND_A KIND_B SECONDS
link_down() {
	one_guest
	loaded "$1" "$2"
	ip link set vb down
	sleep $(($3 * SLOW))
	not_live
	ip link set vb up
	routes_b
	recovered expired
}

# expired: both ends say why there were new connections
expired() {
	logged 'nvme nvme0: (starting error recovery|I/O .* timeout|failed nvme_keep_alive)'
	at_b logged 'nvmet: .*keep-alive timer .* expired'
}

target_lost() {
	loaded "$@"
	at_b target_gone
	not_live
	sleep 3
	at_b target_up
	recovered logged 'nvme nvme0: Reconnecting in'
}

# no_path KIND_A KIND_B SECONDS
no_path() {
	one_guest
	loaded "$1" "$2"
	netem loss 100%
	sleep $(($3 * SLOW))
	not_live
	netem loss 0%
	recovered expired
}

# start ADDRESS [MB], stop: for conditions.sh and memory.sh
FILE=/dev/nvme0n1
start() {
	at_b disk "${2:-64}"
	at_b target "$1"
	connect "$1" -i 2
	queues 3
}
stop() { disconnect; }

is_polled() { [[ $(</sys/block/nvme0n1/queue/io_poll) == 1 ]]; }

# polled: queues for reads, for writes, and such as have no interrupts
polled() {
	wire mpa mpa
	at_b disk 64
	at_b target
	connect "$B4" -i 2 -W 2 -P 2
	queues 7
	is_polled || fail "not polled"
	verified_all /dev/nvme0n1
	verified /dev/nvme0n1 ioengine=pvsync2 hipri=1 rw=randwrite bs=4k size=2m
	verified /dev/nvme0n1 ioengine=pvsync2 hipri=1 rw=randwrite bs=128k size=4m \
		numjobs=2 offset_increment=4m
	steady
	disconnect
}

# shared: queues of the target share a queue of Receives
shared() {
	wire mpa mpa
	at_b modprobe nvmet-rdma use_srq=1
	start "$B4"
	at_b has_srq
	verified_all /dev/nvme0n1
	steady
	disconnect
}

has_srq() {
	rdma resource show srq
	rdma resource show srq | grep -q 'dev iwb ' || fail "no SRQ"
}

# What loses it: only what follows must work

disconnect_loaded() {
	up "$@"
	cut_load /dev/nvme0n1
	disconnect
	load_cut
	connect
	works
}

# The client's device goes: the controller with it, and a new one must be made
device_gone_a() {
	one_guest
	up "$@"
	cut_load /dev/nvme0n1
	soon rdma link delete iwa || fail "the device does not go"
	until_true 20 test ! -e /dev/nvme0 || fail "the controller has not gone"
	load_cut
	device iwa "$1" va
	connect
	works
}

# The target's goes, and comes back: the client connects again, and nothing is lost.
# nvmet_rdma_device_removal() gives up listening, until the port is made to again.
device_gone_b() {
	one_guest
	loaded "$@"
	soon rdma link delete iwb || fail "the device does not go"
	not_live
	device iwb "$2" vb
	target_gone
	target_up
	is_live
	load_good
	logged 'nvme nvme0: Successfully reconnected'
	disconnect
}

# What the other cases rely on: that a connection has ended, or was made again, is seen

# noticed COMMAND...: fails, as FAILED: says
noticed() {
	local said

	said=$("$@" 2>&1) && fail "not noticed: $*"
	grep -q "^FAILED: $NOTICE" <<<"$said" || fail "$* says: $said"
}

end_noticed() {
	local NOTICE

	unused || fail "used by nothing"
	up mpa mpa
	! unused || fail "not used by connections"
	steady
	NOTICE="crc is not" noticed stayed false
	NOTICE="has not connected" noticed again
	NOTICE="not in the kernel's log" noticed logged 'resetting controller'
	nvme reset /dev/nvme0 || fail "reset"
	is_live
	again
	logged 'resetting controller|nvme nvme0: creating'
	NOTICE="connections have ended" noticed steady
	disconnect
}

test_case nvme.mpa.mpa.end_noticed "connections that end are noticed" end_noticed
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
test_case nvme.mpa.mpa.discover6 "discovery over IPv6" discover "$B6"
test_case nvme.mpa.mpa.polled "queues for writes, and polled ones" polled
test_case nvme.mpa.mpa.srq "queues of the target share Receives" shared
test_case nvme.mpa.mpa.disconnect "disconnect under load" disconnect_loaded mpa mpa
for ends in "${FEW_ENDS[@]}"; do
	name=nvme.${ends/ /.}
	# shellcheck disable=SC2086
	{
		test_case "$name.target_lost" \
			"the target goes and comes back under load" target_lost $ends
		test_case "$name.link_down" "no link for 30 s, under load" \
			link_down $ends 30
		# With siw at both ends nvmet has waited for ever for a queue of siw's.
		[[ $ends == "siw siw" ]] || test_case "$name.no_path" \
			"no packet arrives for 10 s, under load" no_path $ends 10
	}
done
test_case nvme.mpa.mpa.device_gone.a "the client's device goes under load" \
	device_gone_a mpa mpa
test_case nvme.mpa.mpa.device_gone.b "the target's device goes under load, and comes back" \
	device_gone_b mpa mpa
condition_cases nvme
test_case nvme.mpa.mpa.limited "ext4 and swap of a cgroup that has 48 MB" short
