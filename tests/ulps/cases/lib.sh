# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Common functions of the cases, on top of net/socket/lib.sh. NVMe and iSER live in the
# first namespace alone, so both ends of the wire are there: va with the client's device
# iwa, vb with the server's, iwb. Rules of routing make packets cross it all the same.

OUT=/root/out
LIMIT=$((SLOW * (900 + 120 * ${MINUTES:-0})))	# seconds for a case
CONFIG=/sys/kernel/config
A4=10.0.0.1 B4=10.0.0.2 A6=fd00::1 B6=fd00::2
NAME=iqn.2024-01.test:disk	# of the iSCSI target
# Devices at the client's end and the server's
ENDS=("mpa mpa" "mpa siw" "siw mpa" "mpa_nocrc siw" "siw mpa_nocrc" "siw_crc mpa_nocrc")
# Without one of ours: is a failure siw's own?
[[ -z ${LONG-} ]] || ENDS+=("mpa_nocrc siw_crc" "siw siw" "siw_crc siw_crc")
# Fewer: where devices, targets and paths are lost, networks lose packets, and for SRP
FEW_ENDS=("mpa mpa")
[[ -z ${LONG-} ]] || FEW_ENDS+=("mpa siw" "siw mpa" "siw siw")
HOSTNQN=nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-000000000001

. "$CASES/conditions.sh"
. "$CASES/memory.sh"

begin_all() {
	mkdir -p "$OUT" "$CONFIG" /var/lib /mnt
	mount -t configfs configfs $CONFIG
	sysctl -qw kernel.modprobe="$(command -v modprobe)"
	modprobe -a mpa mpa_rnic
	modprobe null_blk nr_devices=0
}

end_all() {
	wire_down
	[[ -z ${PAIR-} ]] || ask_b exit
}

end_case() {
	cp "$log" "$OUT/$CASE.log"
	{ rdma statistic; grep Crc /proc/net/mpa_stat; } >>"$OUT/$CASE.log"
	((!$1)) || dmesg | tail -n 30 | sed 's/^/# /'
	clean_up >"$STATE/left" || {
		sed "s/^/# FAILED: $CASE: left: /" "$STATE/left"
		# Its line is out. The status of this script tells
		failed=$((failed + 1))
	}
}

# clean_up: nothing is left that the next case would meet, and the devices are unused.
# Each part has a PART_down.
clean_up() {
	local status=0

	[[ -z ${PAIR-} ]] || ask_b clean_up || status=1
	{
		killall -9 fio
		for part_down in memory_down nvme_down nfs_down iser_down \
			smb_down srp_down; do
			! declare -F $part_down || $part_down
		done
	} >/dev/null 2>&1
	until_true 20 unused || {
		mpa
		rdma resource
		rdma resource show qp
		rdma resource show cm_id
		status=1
	}
	disk_down
	wire_down
	return $status
}

# soon COMMAND...: of cleaning up, which must not take all the time there is
soon() { timeout -s KILL $((60 * SLOW)) "$@"; }

# unused: the devices have no connections, and nothing that users of verbs leave behind
unused() {
	[[ $(conns) == '[]' ]] && rdma -j resource | jq -e 'all(.[] | select(.ifname | startswith("iw"));
		.qp + .mr + .cm_id == 0)' >/dev/null
}

# Two guests (PAIR is not empty): at_b() and ask_b() have b.sh do something in the other

# ask_b COMMAND...: prints what it said; the status is its own
ask_b() {
	local socket line tries=$((200 * SLOW))

	# It listens again when the last answer has ended
	until { exec {socket}<>"/dev/tcp/$B4/9100"; } 2>/dev/null; do
		((tries--)) || return
		sleep 0.1
	done
	printf '%q ' "${CASE%%.*}" "$@" >&"$socket"
	echo >&"$socket"
	while read -ru "$socket" line; do
		[[ $line == status\ * ]] && return "${line#status }"
		echo "b: $line"
	done
	return 1
}

at_b() {
	if [[ -n ${PAIR-} ]]; then
		ask_b "$@" || fail "$1 at the other end"
	else
		"$@"
	fi
}

# The wire

# routes DEV HERE THERE TABLE: which go with the link; HERE4 and HERE6 are its addresses
routes() {
	local family here there

	for family in 4 6; do
		here=$2$family there=$3$family
		ip route replace "${!there}" dev "$1" src "${!here}" table "$4"
	done
}

routes_a() { routes va A B 101; }
routes_b() { routes vb B A 102; }

# half DEV OTHER HERE THERE TABLE: one end
half() {
	local mac family here there

	mac=$(cat "/sys/class/net/$2/address")
	sysctl -qw "net.ipv4.conf.$1.accept_local=1" "net.ipv4.conf.$1.rp_filter=0" \
		"net.ipv6.conf.$1.accept_dad=0"
	for family in 4 6; do
		here=$3$family there=$4$family
		ip addr add "${!here}/24" dev "$1"
		ip neigh add "${!there}" lladdr "$mac" dev "$1" nud permanent
		ip -$family rule add pref 1 iif "$1" lookup local
		ip -$family rule add pref 2 to "${!there}" lookup "$5"
	done
}

# device NAME KIND NETDEV: mpa asks for CRCs, mpa_nocrc and siw do not; siw_crc has been
# changed to
device() {
	case $2 in
	mpa_nocrc) sysctl -qw net.mpa.crc=0 ;;
	siw) modprobe siw ;;
	siw_crc) [[ -d /sys/module/siw ]] || insmod /root/copies/crc/siw.ko ;;
	esac || fail "no $2"
	rdma link add "$1" type "${2%_*}" netdev "$3" || fail "no $2 on $3"
}

no_siw() { [[ ! -d /sys/module/siw ]] || fail "siw is left, and which one?"; }

# wire KIND_A KIND_B [MTU]: devices at both ends
wire() {
	local family

	KINDS="$1 $2"
	no_siw
	[[ -z ${PAIR-} ]] || {
		at_b no_siw
		device iwa "$1" eth0
		at_b device iwb "$2" eth0
		[[ $1 != mpa* || ! -e /sys/class/infiniband/iwa/device ]] ||
			fail "udev would name iwa after its parent"
		return
	}
	ip link add va mtu "${3:-1500}" type veth peer name vb mtu "${3:-1500}"
	ip link set va up
	ip link set vb up
	sysctl -qw net.ipv4.conf.all.rp_filter=0
	half va vb A B 101
	half vb va B A 102
	routes_a
	routes_b
	for family in 4 6; do
		ip -$family rule add pref 10 lookup local
		ip -$family rule del pref 0
	done
	device iwa "$1" va
	device iwb "$2" vb
}

wire_down() {
	local family pref

	soon rdma link delete iwa
	soon rdma link delete iwb
	# It holds on to connections for a moment
	[[ ! -d /sys/module/siw ]] || until_true 30 rmmod siw
	sysctl -qw net.mpa.crc=1
	# Without a wire the rule is the kernel's own, and would be there twice
	[[ ! -e /sys/class/net/va ]] || for family in 4 6; do
		ip -$family rule add pref 0 lookup local
		for pref in 1 1 2 2 10; do
			ip -$family rule del pref $pref
		done
	done
	ip link del va
	links_down
	sysctl -qw net.mpa.markers=0 net.mpa.ooo=0
} 2>/dev/null

# qdisc KIND ARGUMENT...: in both directions, and each segment a packet of its own
qdisc() {
	for dev in va vb; do
		ethtool -K $dev tso off gso off gro off >/dev/null
		tc qdisc replace dev $dev root "$@" || fail "qdisc $*"
	done
}

netem() { qdisc netem "$@" limit 10000; }

# What must not be done to a pair: its wire is no veth, and settings are of one guest. So in
# cases that change the wire, a setting of both ends, or a device named by its veth
one_guest() {
	[[ -z ${PAIR-} ]] || { echo "needs both ends in one guest"; exit 77; }
}

# Connections

# everywhere COMMAND...: in each guest
everywhere() {
	"$@" || fail "$*"
	[[ -z ${PAIR-} ]] || at_b "$@"
}

# conns: of MPA, as JSON
conns() {
	if [[ -e /run/netns/a ]]; then
		{ ns a mpa -j; ns b mpa -j; } | jq -s add
	else
		mpa -j
	fi
}

# all FILTER: of jq, true for each connection of MPA, of which there are some
all() {
	conns | tee >(cat >&2) | jq -e "length > 0 and all(.[]; $*)" >/dev/null
}

# counts: of each device of ours, those that change when a connection begins or fails
counts() {
	local dev

	for dev in iwa iwb; do
		rdma -j statistic show link $dev/1 2>/dev/null |
			jq -r '.[] | select(has("connected")) | [.ifname, .connected,
				.tx_terminate, .rx_terminate, .cq_overrun] | @tsv'
	done
}

# noted: the connections are up that are to stay, or to be made again
noted() { everywhere note; }

note() {
	counts >"$STATE/noted"
	echo "ulps: noted" >/dev/kmsg
}

# steady: none of them has ended, and CRCs are in use as the devices want. Where siw is the
# server, it does not ask for what it has been changed to require.
steady() {
	local crc=false

	case $KINDS in
	"mpa "* | *" mpa" | "siw_crc "*) crc=true ;;
	esac
	everywhere stayed $crc
}

# stayed CRC: in this guest
stayed() {
	[[ -s $STATE/noted ]] || return 0	# siw does not count
	counts | diff "$STATE/noted" - || fail "connections have ended"
	all ".flags | contains([\"crc\"]) == $1" || fail "crc is not $1"
}

# again: our devices have connected again since noted
again() { everywhere grown_since; }

grown_since() {
	[[ -s $STATE/noted ]] || return 0
	counts | awk 'NR == FNR { was[$1] = $2; next } { print $1, was[$1], $2 }
		$2 <= was[$1] { bad = 1 } END { exit bad || FNR == NR }' \
		"$STATE/noted" - || fail "has not connected again"
}

since_noted() { dmesg | tac | sed '/ulps: noted/q' | tac; }

# logged PATTERN: the kernel has said so since noted
logged() {
	since_noted | grep -E "$1" || {
		since_noted
		fail "not in the kernel's log: $1"
	}
}

# Disks, trees

# disk MB [KEEPS]: /dev/nullb0 keeps what is written to it, unless KEEPS is 0
disk() {
	local dir=$CONFIG/nullb/nullb0

	mkdir $dir || fail "no disk"
	echo "$1" >$dir/size
	echo "${2:-1}" >$dir/memory_backed
	echo 4096 >$dir/blocksize
	echo 1 >$dir/power || fail "no disk"
}

disk_down() {
	[[ ! -e $CONFIG/nullb/nullb0 ]] || rmdir $CONFIG/nullb/nullb0
}

# Two, in turn: fio takes a block of the pass before for one of this pass if both were
# written in the same order, which a seed does not change, and with the same hash. The
# seed changes the octets, so a block is not made of those of two passes either.
HASHES=(crc32c xxhash)
PASS=0

# verified FILE NAME=VALUE...: fio writes, reads and compares
verified() {
	local file=$1 said=$STATE/fio.$BASHPID

	shift
	PASS=$((PASS + 1))
	fio --name=verified --filename="$file" --direct=1 --ioengine=libaio \
		--verify="${HASHES[PASS % 2]}" --verify_fatal=1 --randseed=$PASS \
		--output="$said" "${@/#/--}" 2>&1 || {
		cat "$said"
		fail "fio $*"
	}
	! grep -qE 'verify:|err= *[1-9]' "$said" || fail "$(cat "$said")"
}

# The rows that each way of storing has to do
verified_all() {
	verified "$1" rw=randwrite bs=4k iodepth=1 size=1m
	verified "$1" rw=randwrite bs=4k iodepth=32 size=8m
	verified "$1" rw=write bs=128k iodepth=1 size=8m
	verified "$1" rw=write bs=128k iodepth=32 size=32m
	verified "$1" rw=randwrite bsrange=4k-1m iodepth=8 size=32m
	verified "$1" rw=randrw bs=8k iodepth=16 numjobs=2 offset_increment=8m size=8m
}

# works: the disk FILE, which stop() then disconnects
works() {
	verified "$FILE" rw=randwrite bs=4k iodepth=32 size=2m
	steady
	stop
}

# sums DIRECTORY: of all that is in it
sums() {
	(
		cd "$1" || exit
		find . -type f -print0 | sort -z | xargs -0 sha256sum
		find . -type d ! -name lost+found | sort
		find . -type l | sort | while read -r link; do
			echo "$link $(readlink "$link")"
		done
	)
}

# tree DIRECTORY: unpack there
tree() { tar -C "$1" -xf /root/tree.tar || fail "tar"; }

# same DIRECTORY [EXCEPT]: as it was unpacked, but for lines with that pattern
same() {
	[[ -s $STATE/sums ]] || {
		mkdir "$STATE/tree"
		tree "$STATE/tree"
		sums "$STATE/tree" >"$STATE/sums"
		rm -r "$STATE/tree"
	}
	(($(wc -l <"$STATE/sums") > 500)) || fail "no sums"
	diff <(sums "$1" | grep -ve "${2-^$}") <(grep -ve "${2-^$}" "$STATE/sums") |
		head -n 20 >"$STATE/diff"
	[[ ! -s $STATE/diff ]] || fail "not as unpacked: $(cat "$STATE/diff")"
}

# passes FILE NAME=VALUE...: fio writes, reads and compares again and again, until
# loads_end(). Not "time_based": then fio does not look which pass a block is of.
passes() {
	rm -f "$STATE/enough"
	(
		PASS=0
		: >"$STATE/passes.$BASHPID"
		until [[ -e $STATE/enough ]]; do
			echo >>"$STATE/passes.$BASHPID"
			verified "$@"
		done
		echo "$PASS passes of fio"
	) &
	LOADS+=($!)
}

# loads_end: none has failed, and each compares what it has begun to write
loads_end() {
	local load

	for load in "${LOADS[@]}"; do
		kill -0 "$load" || fail "a load has ended early"
	done
	: >"$STATE/enough"
	for load in "${LOADS[@]}"; do
		wait "$load" || fail "a load has failed"
	done
	LOADS=()
}
LOADS=()

# load FILE: in the background
load() {
	passes "$1" rw=randwrite bs=16k iodepth=16 size=4m
	sleep 2
}

# begun FILE NUMBER: so many passes, or the load has ended
begun() { (($(wc -l <"$1") >= $2)) || ! kill -0 "${1##*.}" 2>/dev/null; }

# load_good: a pass that began after what has happened is good as well
load_good() {
	local file=$STATE/passes.${LOADS[0]}

	until_true 180 begun "$file" $(($(wc -l <"$file") + 2)) || fail "the load is stuck"
	loads_end
}

# cut_load DISK: reads and writes, of which some will fail
cut_load() {
	fio --name=cut --filename="$1" --direct=1 --ioengine=libaio \
		--rw=randrw --bs=16k --iodepth=32 --time_based --runtime=60 \
		>"$STATE/cut" 2>&1 &
	CUT=$!
	sleep 3
}

# load_cut: it has seen that the disk is gone
load_cut() {
	! wait "$CUT" || fail "the load has seen no error"
}
