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
MTU=1500
FILE=${1:-/usr/bin/perl}
rc=0

[[ -f $FILE ]] || { echo "demo: no such file: $FILE" >&2; exit 1; }
"$TESTS/runner/deps.sh" modules kernel guest demo
mkdir -p "$OUT"
rm -f "$OUT/mpa.pcap"

cat <<SAY
MPA (RFC 5044) over in-kernel TCP, in a guest with three network namespaces:

    initiator ---- router ---- responder

$(basename "$FILE") ($(stat -Lc %s "$FILE") octets) goes to the responder and comes back, as ULPDUs.
SAY
# One processor: with two, segments may overtake each other on a veth
"$TESTS/vm/run" --smp 1 --timeout 120 --file "$FILE:root/file" \
	--get "/root/mpa.pcap:$OUT/mpa.pcap" -- "$TESTS/demo/guest.sh" || rc=$?
if ((rc)); then
	echo "demo: failed in the guest, status $rc" >&2
	exit $rc
fi

echo
echo "On the router's wire (build/demo/mpa.pcap, read by a parser of its own):"
"$TESTS/interop/alignment.py" --mtu $MTU --min 100 "$OUT/mpa.pcap" | sed 's/^/  /' ||
	rc=$?
sum=$(sha256sum <"$FILE" | cut -c1-64)
echo "SHA-256 here:           $sum"
((rc == 0)) && echo "All segments hold whole FPDUs, and the file is the same."
exit $rc
