#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Demonstrate MPA: send a file from one network namespace of a guest to another,
# through a router where each packet is captured.
#
# usage: demo.sh [FILE]
#
# FILE is a file of this machine, /usr/bin/perl unless named. Leaves
# build/demo/mpa.pcap.
set -euo pipefail

TESTS=$(cd "$(dirname "$0")/.." && pwd)
TOP=${TESTS%/*}
OUT=$TOP/build/demo
FILE=${1:-/usr/bin/perl}
rc=0

# on_wire ADDRESS: all segments that it sent hold whole FPDUs, which are right
on_wire() {
	local said

	said=$("$("$TESTS/peer/build.sh")" segments "$OUT/mpa.pcap" "$1") || rc=$?
	echo "  $1: $said"
	[[ $said =~ ^segments=([0-9]+)\ aligned=([0-9]+)\  &&
		${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]] || rc=1
}

[[ -f $FILE ]] || { echo "demo: no such file: $FILE" >&2; exit 1; }
"$TESTS/runner/deps.sh" modules kernel guest
mkdir -p "$OUT"
rm -f "$OUT/mpa.pcap"

cat <<SAY
MPA (RFC 5044) over in-kernel TCP, in a guest with three network namespaces:

    initiator ---- router ---- responder

$(basename "$FILE") ($(stat -Lc %s "$FILE") octets) goes to the responder and comes back, as ULPDUs.
SAY
# One processor: with two, segments may overtake each other on a veth
"$TESTS/vm/run" --smp 1 --timeout 120 --file "$FILE:root/file" \
	--file "$TESTS/net/socket:/root/test" --get "/tmp/mpa-test/mpa.pcap:$OUT/mpa.pcap" \
	-- "$TESTS/demo/guest.sh" || rc=$?
if ((rc)); then
	echo "demo: failed in the guest, status $rc" >&2
	exit $rc
fi

echo
echo "On the router's wire (build/demo/mpa.pcap, read by mpa-peer):"
on_wire 10.0.1.1
on_wire 10.0.2.1
sum=$(sha256sum <"$FILE" | cut -c1-64)
echo "SHA-256 here:           $sum"
((rc == 0)) && echo "All segments hold whole FPDUs, and the file is the same."
exit $rc
