# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# NFS over RDMA: nfsd on port 20049, mount -o rdma

nfs_down() {
	soon umount -f /mnt
	soon rpc.nfsd 0
	exportfs -au
	[[ ! -e /run/netns/b ]] || ns b exportfs -au
	killall rpc.mountd
	killall nfsdcld
	killall rpcbind
	umount /export
	umount /proc/fs/nfsd
	umount /var/lib/nfs/rpc_pipefs
	modprobe -r rpcrdma
}

nfsd() {
	mkdir -p /export /var/lib/nfs/{rpc_pipefs,nfsdcld,sm,v4recovery}
	touch /etc/exports /var/lib/nfs/{etab,rmtab}
	modprobe rpcrdma
	mount -t tmpfs export /export
	mount -t rpc_pipefs pipefs /var/lib/nfs/rpc_pipefs
	mount -t nfsd nfsd /proc/fs/nfsd
	grep -q _rpc /etc/passwd ||
		echo "_rpc:x:0:0::/run/rpcbind:/bin/sh" >>/etc/passwd
	mkdir -p /run/rpcbind
	rpcbind -w
	nfsdcld
	rpc.mountd -p 20048
	exportfs -o rw,no_root_squash,no_subtree_check,fsid=1 '*:/export' ||
		fail "exportfs"
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	nfsd_up
}

nfsd_up() { rpc.nfsd --rdma=20049 4 || fail "rpc.nfsd"; }

AT_A=()		# what starts a program at the client's end
# In 0.1 s: a client that waits longer for an answer connects again. On a slow machine a
# large one may take more than 5 s.
TIMEO=200

# mounted VERSION [ADDRESS]
mounted() {
	local addr=${2:-$B4} proto=rdma options

	# mount.nfs wants to know
	[[ $addr != *:* ]] || addr=[$addr] proto=rdma6
	options=proto=$proto,port=20049,vers=$1,timeo=$TIMEO
	[[ $1 != 3 ]] || options+=,nolock,mountport=20048,mountproto=tcp
	mkdir -p /mnt
	timeout 100 "${AT_A[@]}" mount.nfs "$addr:/export" /mnt -o "$options" ||
		fail "mount -o $options"
	grep -q ' /mnt nfs.*proto=rdma' /proc/mounts ||
		fail "$(grep /mnt /proc/mounts)"
	noted
}

unmounted() { timeout 60 umount /mnt || fail "umount"; }

# stored VERSION: a tree, then files with O_DIRECT
stored() {
	mounted "$1"
	tree /mnt
	steady
	unmounted
	at_b same /export
	mounted "$1"
	same /mnt
	rm -r /mnt/* || fail "rm"
	verified_all /mnt/file
	steady
	unmounted
}

# nfs VERSION KIND_A KIND_B
nfs() {
	wire "$2" "$3"
	at_b nfsd
	stored "$1"
}

# namespaces VERSION: the server in b, the client in a
namespaces() {
	local end

	one_guest
	network pair 1500
	KINDS="mpa mpa"
	for end in a b; do
		ns $end rdma link add iw$end type mpa netdev v$end ||
			fail "no device in $end"
	done
	ns b bash -c "$(declare -f); nfsd" || fail "no server in b"
	AT_A=(nsenter --net=/run/netns/a --)
	stored "$1"
}

# connections: how often the client has connected
connections() { awk '$1 == "xprt:" && $2 == "rdma" { print $5 }' /proc/self/mountstats; }

# restarted VERSION KIND_A KIND_B
restarted() {
	local before TIMEO=50

	wire "$2" "$3"
	at_b nfsd
	mounted "$1"
	before=$(connections)
	load /mnt/file
	at_b rpc.nfsd 0
	sleep 2
	at_b nfsd_up
	load_good
	(($(connections) > before)) || fail "the client has not connected again"
	again
	unmounted
}

# device_gone SIDE: it comes back, and the client connects again
device_gone() {
	local TIMEO=50

	one_guest
	wire mpa mpa
	nfsd
	mounted 4.2
	load /mnt/file
	soon rdma link delete "iw$1" || fail "the device does not go"
	sleep 3
	device "iw$1" mpa "v$1"
	load_good
	unmounted
}

# The client waits for a host that does not answer: its module is younger than ours, so the
# core asks it first to let go of the device.
module_removed() {
	one_guest
	wire mpa mpa
	modprobe rpcrdma
	ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va
	mount.nfs 10.0.0.9:/ /mnt -o proto=rdma,port=20049,vers=4.2 &
	until_true 10 connects || fail "nothing connects"
	timeout $((10 * SLOW)) rmmod mpa_rnic || fail "rmmod: $?"
	modprobe mpa_rnic
	kill -9 $! 2>/dev/null
	until_true 30 gone $! || fail "mount.nfs cannot be killed"
}

connects() { rdma resource show cm_id link iwa | grep -q 'state CONNECT.*rpcrdma'; }
gone() { ! kill -0 "$1" 2>/dev/null; }

# start ADDRESS, stop: for conditions.sh and memory.sh
FILE=/mnt/file VERSION=4.2
start() {
	at_b nfsd
	mounted $VERSION "$1"
}
stop() { unmounted; }

condition_of_v3() {
	VERSION=3
	condition "$@"
}

# tree_cases VERSION ENDS...
tree_cases() {
	local ends

	for ends in "${@:2}"; do
		# shellcheck disable=SC2086
		test_case "nfs.${ends/ /.}.v$1" "a tree and O_DIRECT, compared" \
			nfs "$1" $ends
	done
}

tree_cases 4.2 "${ENDS[@]}"
tree_cases 3 "${ENDS[@]}"
for version in 4.2 3; do
	for ends in "${FEW_ENDS[@]}"; do
		# shellcheck disable=SC2086
		test_case "nfs.${ends/ /.}.restart.v$version" \
			"the server restarts under load" restarted $version $ends
	done
	test_case nfs.mpa.mpa.namespaces.v$version "between two namespaces" \
		namespaces $version
done
for side in a b; do
	test_case nfs.mpa.mpa.device_gone.$side \
		"the device of this end goes under load, and comes back" device_gone $side
done
test_case nfs.mpa.mpa.module_removed "rmmod does not wait for an attempt to connect" \
	module_removed
condition_cases nfs
test_case nfs.mpa.mpa.loss.v3 "fio, compared: ${WIRE[loss]}" condition_of_v3 loss mpa mpa
test_case nfs.mpa.mpa.limited "a file and swap of a cgroup that has 48 MB" short
