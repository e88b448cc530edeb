# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# MPA over IPsec: ESP in transport mode between the two ends.

NULL_CIPHER=(enc "ecb(cipher_null)" "" auth-trunc "hmac(sha256)" \
	0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128)
AES_GCM=(aead "rfc4106(gcm(aes))" \
	0x000102030405060708090a0b0c0d0e0f10111213 128)

# associate SPI ALGORITHM...: both directions, at both ends
associate() {
	local space pair spi

	for space in a b; do
		spi=$1
		for pair in "$A4 $B4" "$B4 $A4"; do
			ip -n $space xfrm state add src "${pair% *}" \
				dst "${pair#* }" proto esp spi $((spi++)) \
				reqid 1 mode transport "${@:2}" ||
				fail "no association"
		done
	done
}

# A policy that lets no TCP through without ESP
protect() {
	local space pair way

	links_down
	network routed 1500
	spoil
	no_probes
	for space in a b; do
		for pair in "$A4 $B4" "$B4 $A4"; do
			way="in"
			[[ $space$pair != "a$A4"* && $space$pair != "b$B4"* ]] ||
				way=out
			ip -n $space xfrm policy add src "${pair% *}" \
				dst "${pair#* }" proto 6 dir $way \
				tmpl src "${pair% *}" dst "${pair#* }" \
				proto esp reqid 1 mode transport ||
				fail "no policy"
		done
	done
	associate 256 "$@"
}

packets() { tcpdump -r "$STATE/wire.pcap" -nn "$1" 2>/dev/null | wc -l; }

# over_esp MARKERS ALGORITHM...: an echo, captured where it is protected
over_esp() {
	local markers=$1

	protect "${@:2}"
	serve markers="$markers" mode=echo
	capture_start r ra wire esp or
	ping_ok "$B4" markers="$markers" size=mulpdu count=60 batch=10 verify=1
	expect ulpdus_rx=60 "markers_tx=$markers" "markers_rx=$markers"
	served
	capture_stop wire
	same "$(packets tcp)" 0 "packets of TCP alone"
	(($(packets esp) > 120)) || fail "only $(packets esp) packets of ESP"
}

# ESP that only authenticates: the segments are shorter than they would be without
# it, and each of them still holds one FPDU.
decoded() {
	local from

	over_esp "$1" "${NULL_CIPHER[@]}"
	for from in "$A4" "$B4"; do
		walk wire "$from" "$1" 1500
		aligned
		same "$((S[segments] - S[again])) ${S[fpdus]}" "60 60" \
			"segments and FPDUs of $from"
	done
}

# An IKE daemon deletes the associations of an idle connection, and creates new ones
# when there is traffic again.
deleted_association() {
	local space peer

	protect "${AES_GCM[@]}"
	serve mode=echo
	client "send:${REQ_KEY}40010000" "data:${REP_KEY}40010000" \
		"send:$FPDU" "data:$FPDU" pause:$((8 * SLOW)) \
		"send:$FPDU" "data:$FPDU" &
	peer=$!
	until_grown b MpaTxUlpdus 0 1
	sleep 0.5
	for space in a b; do
		ip -n $space xfrm state deleteall || fail "it stays"
	done
	# The peer sends in this time
	sleep $((9 * SLOW))
	same "$(counter b MpaEndFin)$(counter b MpaErrReset)" 00 "ends"
	associate 512 "${AES_GCM[@]}"
	wait $peer || fail "mpa-peer: $(tail -n 2 "$STATE/client")"
	served
	expect status=0 reason=ok ulpdus_rx=2
}

test_case ipsec.decoded "SE-01 SE-10" decoded 0
test_case ipsec.decoded.markers "SE-01 SE-10 MK-09" decoded 1
test_case ipsec.encrypted "SE-01 SE-08" over_esp 0 "${AES_GCM[@]}"
test_case ipsec.encrypted.markers "SE-01 SE-08" over_esp 1 "${AES_GCM[@]}"
test_case ipsec.deleted "SE-04 SE-05" deleted_association
