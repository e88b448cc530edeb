# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash disable=SC2016
# Connections, one after the other, and what the counters say after them; see net.sh

PATIENCE=$((300 * SLOW))	# seconds for all of a connection
OCTETS=800000	# approximate number to send each way
FROM=0		# b's MpaRxOctets before this connection
TARGET=		# address of b
FAMILY=1 OOO=0 ZERO_COPY=0
ALTERED=0 RETRANSMITTED=0 PROBES=0	# segments, as TCP counts them

# draw: parameters of a connection that the cell does not name
draw() {
	chance FAMILY
	chance OOO
	chance ZERO_COPY
	# Only IPv4 knows a path as narrow as 576 octets
	[[ $CONDITION != pmtu ]] || FAMILY=1
	((MARKERS && CRC)) || OOO=0
	TARGET=$V4
	((FAMILY)) || TARGET=$V6
}

# Octets that b has received in FPDUs
received() { in_b awk '$1 == "MpaRxOctets" { print $2 }' /proc/net/mpa_stat; }

# reached PERCENT: wait until so much of this connection has got to b; fails if it
# is over
reached() {
	in_b sh -c 'while [ ! -e "$1" ]; do
			while read -r name value; do
				[ $name != MpaRxOctets ] || break
			done </proc/net/mpa_stat
			[ "$value" -lt "$2" ] || exit 0
			sleep 0.2
		done
		exit 1' - "$LOG.over" $((FROM + OCTETS * $1 / 100))
}

# tell SPACE DIRECTORY FILE SHELL WORD...: do SHELL there, give the command, and
# show FILE; the status is the command's
tell() {
	ns "$P$1" sh -c 'eval "$3"
		echo "$4" >"$1/cmd"
		status=$?
		cat "$1/$2" 2>/dev/null
		exit $status' - "$2" "$3" "$4" "${*:5}"
}

# take TEXT: a result; R has it
take() {
	local key value

	R=()
	while IFS='=' read -r key value; do
		[[ -z $key ]] || R[$key]=$value
	done <<<"$1"
}

want_crc() { echo "echo $CRC >/proc/sys/net/mpa/crc"; }

# Server options of the condition, for those servers that have them
serve_options() {
	[[ $WAY == one || ($WAY == two && $CONDITION == zero-window) ]] || SERVE=()
	echo "${SERVE[@]}"
}

# begin OPTION...: the server
begin() {
	# The messages may be of any size
	((!ZERO_COPY)) || in_a sysctl -qw net.mpa.zerocopy_min=0
	BEFORE=$(tell b $PING serve_result "$(want_crc)" \
		serve "port=$PORT" "$@" "markers=$MARKERS" "ooo=$OOO" \
		"$(serve_options)") || fail "serve $*"
}

end() { tell b "$1" nothing : stop "port=$PORT" || fail "stop"; }

# Prints the state of a connection that hangs, before its timeout
watch() {
	sleep $((PATIENCE / 2))
	echo "after $((PATIENCE / 2)) s:"
	diagnose
}

# run DIRECTORY COMMAND OPTION...: to the end; R has the result
run() {
	local status=0 watcher text

	watch &
	watcher=$!
	text=$(tell a "$1" result "$(want_crc)" "$2" \
		"addr=$TARGET" "port=$PORT" "markers=$MARKERS" "ooo=$OOO" \
		"timeout=$PATIENCE" "${@:3}") || status=$?
	: >"$LOG.over"
	kill $watcher
	take "$text"
	CHANGES=${R[mulpdu_changes]-}
	echo "$2: $(show_result)"
	return $status
}

run_ok() {
	run "$@" || fail "${*:2}: status $?"
	expect status=0 reason=ok
}

served() {
	local try text

	for ((try = 0; try < 600 * SLOW; try++)); do
		text=$(in_b cat "$1/serve_result" 2>/dev/null)
		[[ $text == "$BEFORE" ]] || break
		sleep 0.1
	done
	((try < 600 * SLOW)) || fail "the server has not finished"
	take "$text"
	echo "serve: $(show_result)"
	expect status=0 reason=ok
}

# Octets to send one way, and ULPDUs of maximal length, which no source makes
make_octets() {
	local count=$((3000000 / LONG + 2))

	head -c 4000000 /dev/urandom >"$TEMP/octets"
	P=netx
	spaces x
	set_up
	tell x $PING nothing : serve "port=$PORT" mode=sink capture=1
	tell x $PING nothing : ping addr=127.0.0.1 "port=$PORT" mode=sink size=$LONG \
		"count=$count" timeout=60 || fail "no ULPDUs to compare with"
	ns netxx cat $PING/captured >"$TEMP/long"
	tell x $PING nothing : stop "port=$PORT"
	spaces_gone
	same "$(stat -c %s "$TEMP/long")" $((count * LONG)) "octets to compare with"
}

# payload OPTION...: a file that MPA cuts into ULPDUs; LOG.sent is a copy
payload() {
	in_a sh -c "head -c $OCTETS $TEMP/octets | tee $LOG.sent >$PING/payload"
	run_ok $PING ping mode=sink payload=1 "$@"
}

long_ones() {
	local count=$((OCTETS / LONG + 1))

	head -c $((count * LONG)) "$TEMP/long" >"$LOG.sent"
	run_ok $PING ping mode=sink size=$LONG count=$count batch=4 \
		zerocopy=$ZERO_COPY
	expect ulpdus_tx=$count
}

way_one() {
	local ulpdus octets

	begin mode=sink capture=1
	case $SIZE in
	64) payload size=64 ;;
	mulpdu) payload zerocopy=$ZERO_COPY ;;
	64768) long_ones ;;
	mix) payload mix=$((RANDOM + 1)) ;;
	esac
	ulpdus=${R[ulpdus_tx]} octets=$(stat -c %s "$LOG.sent")
	expect "bytes_tx=$octets"
	served $PING
	expect "ulpdus_rx=$ulpdus" "bytes_rx=$octets"
	in_b cat $PING/captured | cmp - "$LOG.sent" ||
		fail "other octets than were sent"
	figure compared "$octets"
}

way_two() {
	local size=("size=$SIZE") count=$((OCTETS / 1500))

	begin mode=echo
	case $SIZE in
	64) count=$((OCTETS / 128)) size+=(batch=32 depth=512) ;;
	64768) count=$((OCTETS / LONG + 1)) ;;
	mix)
		count=$((OCTETS / 8000 + 8))
		size=("size=$LONG" "mix=$((RANDOM + 1))" batch=8)
		;;
	esac
	run_ok $PING ping mode=echo verify=1 "${size[@]}" "count=$count" \
		"zerocopy=$ZERO_COPY"
	expect mismatches=0 "ulpdus_tx=$count" "ulpdus_rx=$count" \
		"bytes_rx=${R[bytes_tx]}"
	figure compared $((R[bytes_rx] * 2))
	served $PING
	expect "ulpdus_rx=$count" "ulpdus_tx=$count"
}

# An RDMA device at each end, once in a cell; the namespaces take them along
rdma_devices() {
	local end

	[[ ! -e $LOG.devices ]] || return 0
	for end in a b; do
		ns "$P$end" rdma link add "$P$end" type mpa netdev v$end ||
			fail "no device in $end"
	done
	: >"$LOG.devices"
}

rdma_settings() {
	local end

	for end in a b; do
		ns "$P$end" sysctl -qw "net.mpa.crc=$CRC" \
			"net.mpa.markers=$MARKERS" "net.mpa.ooo=$OOO" ||
			fail "settings of $end"
	done
}

rping_listens() { in_b ss -Hltn "sport = :$PORT" | grep -q .; }

# RDMA Writes and Reads of rping, at most 65535 octets each; both ends compare.
way_rdma() {
	local octets=$SIZE count server watcher options status=0

	case $SIZE in
	mulpdu) octets=1400 ;;
	64768) octets=65535 ;;
	mix) octets=$((64 + RANDOM * 2 % 65400)) ;;
	esac
	count=$((OCTETS / octets + 1))
	((count < 1500)) || count=1500
	options=(-a "$TARGET" -p "$PORT" -V -S "$octets" -C "$count")
	rdma_devices
	rdma_settings
	in_b rping -s "${options[@]}" >"$LOG.rping" 2>&1 &
	server=$!
	until_true 60 rping_listens || fail "no server: $(<"$LOG.rping")"
	watch &
	watcher=$!
	in_a timeout $PATIENCE rping -c "${options[@]}" || status=$?
	: >"$LOG.over"
	kill $watcher
	((!status)) || fail "rping ${options[*]}: $status, $(<"$LOG.rping")"
	wait $server || fail "its server: $?, $(<"$LOG.rping")"
	CHANGES=0
	figure compared $((octets * count * 2))
}

# counters SPACE: all of MPA and of TCP there; K has them
counters() {
	local name value text

	text=$(ns "$P$1" cat /proc/net/mpa_stat /proc/net/snmp /proc/net/netstat) ||
		fail "no counters"
	K=()
	while read -r name value; do
		K[$name]=$value
	done < <(awk '/^Mpa/ { print } /^Tcp(Ext)?:/ {
		if ($1 != group) { group = $1; n = split($0, names); next }
		for (i = 2; i <= n; i++) print names[i], $i
		group = "" }' <<<"$text")
}

no_errors() {
	local name

	for name in "${!K[@]}"; do
		[[ $name != MpaErr* ]] || ((!K[$name])) || echo "$name=${K[$name]}"
	done
}

# Each ULPDU was received once, each message was handed back, all are released
settled() {
	local end try sent=()
	declare -A K=()

	for end in a b; do
		for ((try = 0; try < 300 * SLOW; try++)); do
			counters $end
			((K[MpaReleased] < K[MpaAttached])) || break
			sleep 0.1
		done
		same "${K[MpaReleased]}" "${K[MpaAttached]}" "released in $end"
		same "${K[MpaTxCanceled]}" 0 "ULPDUs taken back in $end"
		same "$(no_errors)" "" "errors counted in $end"
		sent+=("${K[MpaTxUlpdus]}" "${K[MpaRxUlpdus]}")
		figure ulpdus "${K[MpaRxUlpdus]}"
		figure ooo "${K[MpaOooUlpdus]}"
		figure again "${K[RetransSegs]}"
		figure checksums "${K[InCsumErrors]}"
		figure probes "${K[TCPWinProbe]}"
		[[ $end != a ]] || RETRANSMITTED=${K[RetransSegs]} PROBES=${K[TCPWinProbe]}
		ALTERED=$((ALTERED + K[InCsumErrors]))
	done
	same "${sent[0]} ${sent[2]}" "${sent[3]} ${sent[1]}" "ULPDUs sent and received"
}
