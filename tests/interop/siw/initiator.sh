# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# siw connects, with the stock programs; we listen.

# from KIND PORT APP REV CRC OPTION... -- PROGRAM...: serve one connection of
# theirs, R is how it went for us
from() {
	local kind=$1 port=$2 app=$3 rev=$4 crc=$5 options=()

	shift 5
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	ends "$kind" a
	crc "$crc"
	record
	rdmap_serve "port=$port" "app=$app" rev="$rev" "${options[@]}"
	theirs_connects "$@"
	theirs_ended
	rdmap_served "$port"
	record_stop
	show_theirs
}

# from_rdma_client KIND REV CRC USED: we ask for CRC or not; it is in use or not
from_rdma_client() {
	from "$1" 7471 rdma_server 2 "$3" -- rdma_client -s "$B4"
	((!STATUS)) || fail "rdma_client ended with $STATUS"
	good "$2" "$4"
	expect messages_tx=1 messages_rx=1 bytes_tx=16 bytes_rx=16
	our_row rdma_client initiator
}

# from_rping KIND REV CRC USED SIZE COUNT. rping compares the echoes.
from_rping() {
	local KEPT=$KEPT

	(($5 < 10000)) || KEPT=$FEW
	from "$1" 7174 rping 2 "$3" timeout=180 -- \
		rping -c -V -a "$B4" -S "$5" -C "$6"
	((!STATUS)) || fail "rping ended with $STATUS"
	good "$2" "$4"
	expect iterations="$6" reads_tx="$6" writes_tx="$6"
	our_row "rping -c" initiator
}

# from_ucmatose CRC USED SIZE COUNT: their RTR lets us speak first
from_ucmatose() {
	from p2p 7471 ucmatose 2 "$1" size="$3" count="$4" timeout=60 -- \
		ucmatose -s "$B4" -S "$3" -C "$4"
	((!STATUS)) || fail "ucmatose ended with $STATUS"
	good 2 "$2"
	expect messages_tx="$4" messages_rx="$4" bytes_tx=$(($3 * $4)) \
		bytes_rx=$(($3 * $4)) rtr=write
	our_row ucmatose initiator
}

# Without an RTR neither side may begin, and our end times out. The status of ucmatose
# is ignored: it counts flushed receives as messages.
from_ucmatose_waiting() {
	from stock 7471 ucmatose 2 1 timeout=3 -- ucmatose -s "$B4"
	expect reason=timeout revision=2 rtr=none messages_tx=0 messages_rx=0 \
		ulpdus_tx=0 ulpdus_rx=0 terminate_tx=none terminate_rx=none
	((R[elapsed_ns] >= 3000000000)) || fail "too early"
	none_seen "src host $B4 and tcp[tcpflags] & tcp-rst != 0"
	our_row ucmatose initiator "both wait; we end it"
}

# from_private KIND REV: rstream compares the beginning of ours. It then writes to
# where we have nothing, and polls for ever if our Terminate comes early.
from_private() {
	from "$1" 7471 echo 2 1 "pdatahex=$STREAM_PD" -- \
		timeout -s KILL 10 rstream -s "$B4" -k 1
	expect revision="$2" crc=1
	like "${R[peer_pdata]}" "01*" "their private data"
	same ${#R[peer_pdata]} 80 "digits of it"
	row rstream initiator "$2" 1 0 0 0 "private data both ways"
}

for crc in 1 0; do
	test_case "from.rdma_client.crc$crc" "rdma_client to us, C=$crc" \
		from_rdma_client stock 2 $crc $crc
	test_case "from.rping.crc$crc" \
		"RDMA Read and Write for rping, 1000 times 64 KB, C=$crc" \
		from_rping stock 2 $crc $crc 65535 1000
done
test_case from.rping.small "RDMA Read and Write for rping, 1000 times 100 octets" \
	from_rping stock 2 1 1 100 1000
test_case from.private.rev1 "Rev 1 from rstream, with private data" \
	from_private rev1 1
test_case from.private.rev2 "Rev 2 from rstream, with private data" \
	from_private stock 2
test_case from.ucmatose.stock "ucmatose without an RTR: both wait" \
	from_ucmatose_waiting
for crc in 1 0; do
	test_case "from.ucmatose.crc$crc" \
		"ucmatose with an RTR, 1000 messages of 5000 octets, C=$crc" \
		from_ucmatose $crc $crc 5000 1000
done
for size in $SIZES; do
	test_case "from.ucmatose.size$size" \
		"ucmatose with an RTR, 100 messages of $size octets" \
		from_ucmatose 1 1 "$size" 100
done
for crc in 1 0; do
	test_case "from.rping.asked.crc$crc" \
		"rping asks for CRC, we with C=$crc" \
		from_rping crc 2 $crc 1 4096 100
	test_case "from.rping.rev1.crc$crc" \
		"Rev 1 from rping, 1000 times 64 KB, C=$crc" \
		from_rping rev1 1 $crc $crc 65535 1000
	test_case "from.rdma_client.rev1.crc$crc" \
		"Rev 1 from rdma_client, C=$crc" \
		from_rdma_client rev1 1 $crc $crc
done
