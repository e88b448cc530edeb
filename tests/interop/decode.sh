#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Decode the MPA connections of captures with two decoders; the result is TAP, a line
# for each connection with its terms, the Initiator's values first.
#
# usage: decode PCAP...
#
# mpa-peer decode checks startup frames and FPDUs to the last octet, with the
# reference of kunit/. tshark, which shares nothing with this project, has to find
# the same frames, lengths and CRCs where there are no markers. With markers it is
# right only if each segment is one FPDU, in order, and none ends on a marker
# position: NAME.want says so by decoder=tshark. In a line of NAME.want are words
# that the result of a connection must have:
#
#	rev=1 crc=1 markers=1+0 fpdus=40+40 decoder=reference
set -euo pipefail

PEER=$("$(dirname "$0")/../peer/build.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CONFIG_HOME=$work LC_ALL=C	# tshark's defaults
count=0 failed=0

# result STATUS NAME WORD...: status 0 is good
result() {
	count=$((count + 1))
	failed=$((failed + !!$1))
	echo "$([[ $1 == 0 ]] || echo 'not ')ok decode.${*:2}"
}

# Other protocols might claim an FPDU, or what is in it.
tshark_options() {
	echo -o tcp.try_heuristic_first:TRUE \
		-o tcp.reassemble_out_of_order:TRUE \
		--disable-protocol iwarp_ddp_rdmap
	tshark -G heuristic-decodes 2>/dev/null |
		awk '$1 == "tcp" && $2 != "iwarp_mpa" {
			print "--disable-protocol", $2 }'
}

# by_tshark PCAP: frames and FPDUs in the words of mpa-peer
by_tshark() {
	# shellcheck disable=SC2046
	tshark $(tshark_options) -O iwarp_mpa -r "$1" 2>"$work/errors" | awk '
	function flush() {
		if (len)
			print ports, "FPDU of " len ", " markers " markers, CRC " crc
		len = 0
	}
	/^Frame / { flush() }
	/^Transmission Control Protocol/ { ports = ($6 + 0) "-" ($9 + 0) }
	/^    (Request|Reply) frame header/ { frame = $1 }
	/ = Marker flag:/ { frame = frame " M=" ($NF == "True") }
	/ = CRC flag:/ { frame = frame " C=" ($NF == "True") }
	/ = Connection rejected flag:/ { frame = frame " R=" ($NF == "True") }
	/^        Revision:/ { frame = frame " Rev=" $2 }
	/^        Private data length:/ { print ports, frame " PD_Length=" $4 }
	/^        ULPDU length:/ {
		flush()
		len = $3
		markers = 0
		crc = "unused"
	}
	/^        CRC check:/ { crc = /Good/ ? "good" : "bad" }
	/^        FPDU back pointer:/ { markers++ }
	END { flush() }'
}

# agree PCAP: tshark has the frames and FPDUs of $work/said, in each direction
agree() {
	by_tshark "$1" >"$work/shown" || { sed 's/^/# /' "$work/errors"; return 1; }
	diff <(grep -E '^[0-9]+-[0-9]+ ' "$work/said" | sort -s -k 1,1) \
		<(sort -s -k 1,1 "$work/shown") >"$work/diff" && return
	head -n 6 "$work/diff" | sed 's/^/# /'
	return 1
}

# lacking WORDS WANTED: those of WANTED that are not among WORDS
lacking() {
	local word

	for word in $2; do
		[[ " $1 " == *" $word "* ]] || echo -n " $word"
	done
}

decode() {
	local pcap=$1 name decoder=tshark found wanted=() words lacks i

	name=$(basename "$pcap" .pcap)
	if ! "$PEER" decode "$pcap" >"$work/said"; then
		result 1 "$name" "$(tail -n 1 "$work/said")"
		return
	fi
	mapfile -t found < <(grep '^rev=' "$work/said")
	[[ ! -e ${pcap%.pcap}.want ]] || mapfile -t wanted <"${pcap%.pcap}.want"
	if [[ ${found[*]} =~ markers=(1|0\+1) &&
		${wanted[*]} != *decoder=tshark* ]]; then
		decoder=reference
	elif ! agree "$pcap"; then
		result 1 "$name" "tshark differs"
	fi
	for i in "${!found[@]}"; do
		words="${found[i]} decoder=$decoder"
		lacks=$(lacking "$words" "${wanted[i]-}")
		result "${#lacks}" "$name.$((i + 1))" "$words${lacks:+, not$lacks}"
	done
	((!${#wanted[@]} || ${#wanted[@]} == ${#found[@]})) ||
		result 1 "$name" "${#found[@]} connections, not ${#wanted[@]}"
}

for pcap; do
	decode "$pcap"
done
echo "1..$count"
((!failed))
