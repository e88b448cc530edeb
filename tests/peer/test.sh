#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Test what the test peer sends, and takes for right, against octets known from
# elsewhere; the result is TAP.
set -uo pipefail

PEER=$("$(dirname "$0")/build.sh") || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0

REQ_KEY=4d504120494420526571204672616d65
REP_KEY=4d504120494420526570204672616d65
zeroes() { printf "%0$(($1 * 2))d" 0; }
# RFC 5044, figures 5 and 6: their ULPDUs, and the octets sent
ULPDU5=4143$(zeroes 11)01$(zeroes 28)
ULPDU6=4143$(zeroes 11)02$(zeroes 28)
FIGURE5=00000000002a${ULPDU5}52239983
FIGURE6=002a${ULPDU6:0:36}00000014${ULPDU6:36}84925898

# agree NAME LISTENER-STEP... -- STEP...: each end finds what it expects
agree() {
	local name=$1 listener=() pid port got

	shift
	while [[ $1 != -- ]]; do
		listener+=("$1")
		shift
	done
	shift
	: >"$work/listen"
	"$PEER" -t 5 listen 127.0.0.1 0 "${listener[@]}" >"$work/listen" &
	pid=$!
	until port=$(sed -n 's/^listening //p' "$work/listen")
		[[ $port ]]; do
		kill -0 "$pid" || break
		sleep 0.01
	done
	"$PEER" -t 5 connect 127.0.0.1 "$port" "$@" >"$work/connect"
	got=$?
	wait "$pid"
	got="$? $got"
	n=$((n + 1))
	if [[ $got == "0 0" ]]; then
		echo "ok $n peer.$name"
		return
	fi
	failed=$((failed + 1))
	sed 's/^/# /' "$work/listen" "$work/connect"
	echo "not ok $n peer.$name status $got"
}

# An FPDU of 440 octets is between them
agree octets.figures "data:$FIGURE5" data:01b2 read:438 "data:$FIGURE6" \
	end:fin -- set:out=1,crc=1 "fpdu:ulpdu=$ULPDU5" fpdu:size=434 \
	"fpdu:ulpdu=$ULPDU6" fin
agree octets.figures-read set:in=1,crc=1 "expect-fpdu:ulpdu=$ULPDU5" \
	-- "send:$FIGURE5" fin end
agree octets.request "data:${REQ_KEY}c0010000" \
	"data:${REQ_KEY}120200078003c00411" "data:2233" end:fin \
	-- request:m=1 \
	request:rev=2,s=1,c=0,res=2,A=1,ird=3,C=1,D=1,ord=4,pd=112233 fin
agree octets.reply "data:${REP_KEY}60010000" -- reply:r=1
agree octets.rtr "data:00124143$(zeroes 11)0100000000587be8c4" \
	"data:000ec14000000001$(zeroes 8)ebd34c5f" \
	"data:002e4141$(zeroes 7)0100000001$(zeroes 4)" \
	"data:00000001$(zeroes 12)00000001$(zeroes 8)27dbd7e7" \
	-- set:crc=1 fpdu:rtr=send fpdu:rtr=write fpdu:rtr=read
agree octets.kept expect-request reply expect-fpdu:ulpdu=0012ff03 keep:k=0-3 \
	"fpdu:ulpdu=aa{k+0001}{k-0004}bb" \
	-- request expect-reply fpdu:ulpdu=0012ff03 \
	expect-fpdu:ulpdu=aa0012ff040012feffbb
# STags and offsets are the other side's choice, but for an STag of 0
agree octets.rtr-tags set:crc=1 expect-fpdu:rtr=read \
	-- "send:002e4141$(zeroes 7)0100000001$(zeroes 7)07$(zeroes 12)" \
	"send:00000001$(zeroes 8)69626d03"

# status NAME WANTED OUTPUT ARGUMENT...: so the command ends, with such a line
status() {
	local name=$1 wanted=$2 output=$3 got

	: >"$work/out"
	"$PEER" "${@:4}" >"${STDOUT:-$work/out}" 2>"$work/error"
	got=$?
	cat "$work/error" >>"$work/out"
	n=$((n + 1))
	if [[ $got == "$wanted" ]] && grep -qe "$output" "$work/out"; then
		echo "ok $n peer.$name"
		return
	fi
	failed=$((failed + 1))
	sed 's/^/# /' "$work/out"
	echo "not ok $n peer.$name status $got"
}

# packet HEX: a capture of one frame: HEX from Ethernet's type on, then zeroes
packet() {
	local frame

	frame=$(zeroes 12)$1
	frame+=$(zeroes $((74 - ${#frame} / 2)))
	printf '%b' "$(sed 's/../\\x&/g' <<<"d4c3b2a1020004000000000000000000000004$(
		)0001000000$(zeroes 8)4a0000004a000000$frame")" >"$work/pcap"
}

# ESP in an IPv4 packet of 17 octets
packet 080045000011$(zeroes 5)32$(zeroes 10)
status decode.esp-short 1 'an ESP packet is cut short' decode "$work/pcap"
STDOUT=/dev/full status crc.full 1 'could not be written' crc 00
status range 2 'is no range' -f 5..3 connect 127.0.0.1 9 fin
echo "1..$n"
((!failed))
