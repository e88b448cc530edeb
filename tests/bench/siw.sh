# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154
# The rows of siw and of the RDMA device on MPA, which have the same consumer; they use
# functions of guest.sh. siw-crc is unmodified siw with CRC; siw-one is the same, but each
# Send is posted by itself and its completion handled in a work queue. siw-gso is not
# compliant: its FPDUs are larger than a segment; siw-gso-pages is the same, sent from
# pages. siw-write and siw-read carry messages by
# RDMA Write and RDMA Read. rnic, rnic-one, rnic-write and rnic-read are the device's.

SIW=			# the loaded copy of siw, or rnic
SIW_NETWORK=		# its network

# siw releases connections with a delay
siw_unload() {
	local link try module=siw

	for link in $(rdma link show | sed -nE 's/^link ([^/]*).*/\1/p'); do
		rdma link delete "$link"
	done
	SIW_NETWORK=
	[[ -n $SIW ]] || return 0
	[[ $SIW != rnic ]] || module=mpa_rnic
	SIW=
	for ((try = 0; try < 200; try++)); do
		rmmod $module 2>/dev/null && return
		sleep 0.05
	done
	fail "$module does not unload"
}

# siw_load crc|gso|rnic: load this copy of siw, or the device on MPA
siw_load() {
	if [[ $1 == rnic ]]; then
		modprobe mpa_rnic || fail "mpa_rnic does not load"
	else
		insmod "/root/copies/$1/siw.ko" || fail "siw ($1) does not load"
	fi
	SIW=$1
	[[ -d /sys/module/mpa_bench_verbs ]] ||
		insmod /root/modules/mpa_bench_verbs.ko ||
		fail "no consumer of verbs"
}

# siw_link NS NETDEV
siw_link() {
	local type=siw

	[[ $SIW != rnic ]] || type=mpa
	ns "$1" rdma link add "bench_$1" type $type netdev "$2" ||
		fail "no device of type $type on $2"
}

# RDMA CM looks for the neighbour but once.
siw_link_veth() {
	bench tcp kind=stream size=64 warm=1 messages=4
	siw_link a va
	siw_link b vb
}

# siw_on COPY veth MTU: the network, with that copy of siw on it
siw_on() {
	[[ "$SIW $SIW_NETWORK" != "$*" ]] || return 0
	siw_unload
	network "$2" "$3"
	siw_load "$1"
	"siw_link_$2"
	SIW_NETWORK="$2 $3"
}

# Octets of a row; those of the others would take it minutes
siw_octets() {
	case $1 in
	64) echo 262144 ;;
	512) echo 1048576 ;;
	1408) echo 2883584 ;;
	4096) echo 6291456 ;;
	*) echo 8388608 ;;
	esac
}

# siw_copy HOW: which copy of siw it takes
siw_copy() {
	case $1 in
	rnic*) echo rnic ;;
	gso*) echo gso ;;
	*) echo crc ;;
	esac
}

# siw_name HOW: the transport
siw_name() {
	case $1 in
	rnic*) echo "$1" ;;
	*) echo "siw-$1" ;;
	esac
}

# siw_stream HOW NET MTU SIZE PART
siw_stream() {
	local transport name

	transport=$(siw_name "$1")
	name="stream/$2/$3/$4/$transport"

	[[ $5 == both ]] || name+="/$5"
	wanted "$name" || return 0
	siw_on "$(siw_copy "$1")" "$2" "$3"
	stream "$transport" "$2" "$3" "$4" "$5" "$(siw_octets "$4")"
}

# siw_pingpong HOW NET SIZE
siw_pingpong() {
	wanted "pingpong/$2/$3/$(siw_name "$1")" || return 0
	siw_on "$(siw_copy "$1")" "$2" 1500
	pingpong "$(siw_name "$1")" "$2" "$3" 2000
}

# siw_notices HOW: siw has to notice a wrong octet, and only the gso copy may send
# FPDUs of several segments.
siw_notices() {
	local large=0 name

	name=$(siw_name "$1")
	siw_on "$(siw_copy "$1")" veth 1500
	bench "$name" kind=stream size=65536 warm=1 messages=64 corrupt=1
	((!R[verified])) || fail "$name: not noticed"
	# siw gives TCP the pages of a Read Response, and its framing, one by one
	[[ $1 != gso* && $1 != read ]] || large=1
	(((R[segments] >= 2 * R[fpdus]) == large)) ||
		fail "$name: ${R[fpdus]} FPDUs in ${R[segments]} segments"
	# An answer is sent: the other end cannot read it
	[[ $1 != *read ]] || return 0
	bench "$name" kind=pingpong size=64 messages=2048 corrupt=1
	((!R[verified])) || fail "$name, pingpong: not noticed"
}

siw_quick() {
	local how

	for how in crc gso; do
		siw_stream $how veth 1500 65536 both
		siw_stream $how veth 1500 65536 tx
		siw_stream $how veth 1500 64 both
		siw_pingpong $how veth 64
	done
	siw_stream gso-pages veth 1500 65536 both
	siw_stream one veth 1500 64 both
	siw_stream write veth 1500 65536 both
	siw_stream read veth 1500 65536 both
	siw_stream rnic veth 1500 65536 both
	siw_stream rnic veth 1500 64 both
	siw_stream rnic-one veth 1500 64 both
	siw_stream rnic-write veth 1500 65536 both
	siw_stream rnic-read veth 1500 65536 both
	siw_pingpong rnic veth 64
}

# siw_full_on HOW NET MTU...
siw_full_on() {
	local mtu size

	for mtu in "${@:3}"; do
		for size in 65536 8192 4096 1408 512 64; do
			siw_stream "$1" "$2" "$mtu" $size both
		done
		[[ $1 == rnic* ]] || siw_stream "$1" "$2" "$mtu" 65536 tx
	done
	siw_pingpong "$1" "$2" 64
}

# siw_tagged PREFIX NET: by RDMA Write and RDMA Read
siw_tagged() {
	local mtu op

	for mtu in 1500 9000; do
		for op in write read; do
			siw_stream "$1$op" "$2" $mtu 65536 both
		done
	done
}

siw_full() {
	siw_full_on crc veth 1500 9000
	siw_full_on one veth 1500
	siw_tagged "" veth
	siw_full_on gso veth 1500 9000
	siw_stream gso-pages veth 1500 65536 both
	siw_stream gso-pages veth 9000 65536 both
	siw_full_on rnic veth 1500 9000
	siw_full_on rnic-one veth 1500
	siw_tagged rnic- veth
}

siw_rows() {
	local how

	if ((!${#PATTERNS[@]})); then
		for how in crc one write read gso gso-pages rnic rnic-one rnic-write \
			rnic-read; do
			siw_notices $how
		done
	fi
	"siw_$MODE"
	siw_unload
}
