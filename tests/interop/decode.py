#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Decode the MPA connections of captures with two decoders; the result is TAP.

usage: decode.py [--immediate PORT]... PCAP...

One is tshark's. It decides for connections without markers, and for those with
markers in both directions that have one FPDU in each segment, none of them
ending on a marker position; for others it is known to be wrong. The other is the
reference of kunit/, compiled for this machine. It decides for the rest, and
both have to agree on each FPDU if tshark decides. Neither shares code with the
module.

A connection passes if its startup frames are valid, its FPDUs are good to the
last octet (a reset may truncate it), and are built as a sender has to build
them. A line of PCAP's companion NAME.want has words that the result of the
connection must have, line by line:
    rev=1 crc=1 markers=1+0 fpdus=40+40 decoder=reference

The Initiator's direction comes first. Connections to a PORT start without
startup frames, with markers and CRC.
"""

import argparse
import bisect
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from decoders import Reference, Tshark, placed, show
from streams import Bad, connections

KEYS = b"MPA ID Req Frame", b"MPA ID Rep Frame"
KINDS = "Request", "Reply"
M, C, R, S, RESERVED = 0x80, 0x40, 0x20, 0x10, 0x0F
PRIVATE_MAX = {0: 65535, 1: 512, 2: 512}
SPAN = 512
SHOWN = 5       # FPDUs complained of


# Startup frames

class Frame:
    """The Request or Reply at the beginning of a stream."""

    def __init__(self, octets, side):
        self.kind = KINDS[side]
        if not octets.startswith(KEYS[side]):
            raise Bad("no %s but %s" % (self.kind, octets[:20].hex()))
        if len(octets) < 20:
            raise Bad("the %s is cut short" % self.kind)
        self.flags, self.rev, private = struct.unpack(">BBH", octets[16:20])
        self.length = 20 + private
        self.private = octets[20:self.length]
        self.check()
        if len(octets) < self.length:
            raise Bad("the %s is cut short" % self.kind)

    def check(self):
        reserved = RESERVED if self.rev == 2 else RESERVED | S
        if self.kind == "Request":
            reserved |= R
        if self.rev not in PRIVATE_MAX:
            raise Bad("the %s has revision %d" % (self.kind, self.rev))
        if self.flags & reserved:
            raise Bad("the %s has flags %02x" % (self.kind, self.flags))
        if self.length - 20 > PRIVATE_MAX[self.rev]:
            raise Bad("the %s has %d octets of private data"
                      % (self.kind, self.length - 20))
        if self.flags & S and self.length < 24:
            raise Bad("the %s has S, and PD_Length %d"
                      % (self.kind, self.length - 20))

    def enhanced(self):
        """IRD, ORD and the letters of the flags next to them."""
        ird, ord_ = struct.unpack(">HH", self.private[:4])
        bits = (ird >> 14) << 2 | ord_ >> 14
        letters = "".join(letter for letter, bit in zip("ABCD", (8, 4, 2, 1))
                          if bits & bit)
        return ird & 0x3FFF, ord_ & 0x3FFF, letters or "0"


class Terms:
    """The terms that two startup frames, or their absence, negotiate."""

    def __init__(self, request, reply):
        self.frames = request, reply
        self.bases = [frame.length if frame else 0 for frame in self.frames]
        self.rev, self.markers, self.crc = "none", (True, True), True
        if not request:
            return
        self.rev = request.rev
        if not reply:
            return
        if reply.rev != request.rev or (reply.flags ^ request.flags) & S:
            raise Bad("a Request of revision %d with flags %02x, a Reply of "
                      "revision %d with %02x" % (request.rev, request.flags,
                                                 reply.rev, reply.flags))
        if reply.rev:
            self.markers = bool(reply.flags & M), bool(request.flags & M)
            self.crc = bool((request.flags | reply.flags) & C)

    def words(self):
        if not self.frames[0]:
            return ["rev=none"]
        words = ["rev=%d" % self.rev]
        if all(self.frames) and self.frames[0].flags & S:
            both = zip(*(frame.enhanced() for frame in self.frames))
            words += ["%s=%s+%s" % (name, *values)
                      for name, values in zip(("ird", "ord", "rtr"), both)]
        if not self.frames[1]:
            return words + ["reply=none"]
        if self.frames[1].flags & R:
            return words + ["reply=reject"]
        return words


# Connections

def head_cut(direction, base, fpdus):
    """A segment ends within the first 8 octets of an FPDU."""
    starts = [base + fpdu.offset for fpdu in fpdus]
    for offset, payload, _ in direction.pieces:
        end = offset + len(payload)
        before = bisect.bisect_left(starts, end)
        if before and end - starts[before - 1] < 8:
            return True
    return False


def limit_with_markers(direction, base, fpdus):
    """Why a direction with markers is beyond tshark, or nothing."""
    segments = [(offset - base, len(payload)) for offset, payload, _
                in direction.pieces if offset >= base]
    if set(segments) != {(fpdu.offset, fpdu.size) for fpdu in fpdus}:
        return "segments with markers are not one FPDU each"
    if any((fpdu.offset + fpdu.size) % SPAN == 0 for fpdu in fpdus):
        return "an FPDU ends on a marker position"
    if sorted(set(segments)) != list(dict.fromkeys(segments)):
        return "segments with markers are out of order"
    return None


def decider(terms, pair, fpdus):
    """Which decoder decides, and why."""
    if terms.rev in (0, "none"):
        return "reference", "Rev 0" if terms.rev == 0 else "no startup frames"
    if any(terms.markers) and not all(terms.markers):
        return "reference", "markers in one direction"
    for direction, base, found in zip(pair, terms.bases, fpdus):
        if any((offset, len(payload)) != (0, base) for offset, payload, _
               in direction.pieces if offset < base):
            return "reference", "a startup frame is no segment of its own"
        limit = None
        if any(terms.markers):
            limit = limit_with_markers(direction, base, found)
        elif head_cut(direction, base, found):
            limit = "a segment ends less than 8 octets into an FPDU"
        if limit:
            return "reference", limit
    return "tshark", ("an FPDU in each segment" if any(terms.markers)
                      else "no markers")


class Connection:
    """A connection of a capture and its verdict."""

    def __init__(self, pair, immediate):
        self.pair, self.faults, self.notes = pair, [], []
        self.words = []
        self.cut = any(direction.reset for direction in pair)
        self.immediate = pair[0].to[1] in immediate
        self.streams = None

    def judge(self, reference, shown):
        self.streams = [direction.contiguous() for direction in self.pair]
        for direction, octets in zip(self.pair, self.streams):
            self.check_complete(direction, len(octets))
        terms = self.terms()
        self.words = terms.words()
        if not self.immediate and "reply=" in self.words[-1]:
            self.nothing_behind(terms)
            return
        self.check_order(terms)
        fpdus = [self.take_apart(side, terms, reference) for side in (0, 1)]
        self.words += self.figures(terms, fpdus)
        decoder, why = decider(terms, self.pair, fpdus)
        self.words.append("decoder=" + decoder)
        self.notes.append("the %s decides: %s" % (decoder, why)
                          if decoder == "reference"
                          else "tshark decides: %s; held against the reference"
                          % why)
        if decoder == "tshark":
            self.hold_against(shown, terms, fpdus)

    def check_complete(self, direction, have):
        """All octets are there, except those that a reset truncated."""
        end = direction.fin
        if end is None:
            end = max(direction.highest, direction.acked)
        if have < min(direction.acked, end):
            self.faults.append("%s: octets are missing at %d, and acknowledged"
                               % (direction.name, have))
        elif have < end and not self.cut:
            self.faults.append("%s: octets are missing at %d"
                               % (direction.name, have))

    def terms(self):
        if self.immediate:
            return Terms(None, None)
        request = Frame(self.streams[0], 0)
        return Terms(request,
                     Frame(self.streams[1], 1) if self.streams[1] else None)

    def nothing_behind(self, terms):
        for direction, octets, base in zip(self.pair, self.streams,
                                           terms.bases):
            if len(octets) > base:
                self.faults.append("%s: %d octets after the startup frame"
                                   % (direction.name, len(octets) - base))

    def check_order(self, terms):
        """The order of the first FPDUs, RFC 5044 section 7.1.2."""
        first = [min((number for offset, _, number in direction.pieces
                      if offset >= base), default=None)
                 for direction, base in zip(self.pair, terms.bases)]
        if terms.frames[1] and first[0] and \
                first[0] < self.pair[1].pieces[0][2]:
            self.faults.append("the Initiator sends FPDUs before the Reply")
        if first[1] and (not first[0] or first[1] < first[0]):
            self.notes.append("the Responder sends the first FPDU")

    def take_apart(self, side, terms, reference):
        octets = self.streams[side][terms.bases[side]:]
        fpdus, complaints, cut = reference.take_apart(
            octets, terms.markers[side], terms.crc)
        name = self.pair[side].name
        self.faults += ["%s: %s" % (name, said) for said in complaints[:SHOWN]]
        if cut is not None:
            tail = "%s: %d octets of an FPDU at offset %d are all there is" % (
                name, len(octets) - cut, cut)
            (self.notes if self.cut else self.faults).append(tail)
        return fpdus

    @staticmethod
    def figures(terms, fpdus):
        def both(name, values):
            return "%s=%d+%d" % (name, *values)

        return ["crc=%d" % terms.crc, both("markers", terms.markers),
                both("fpdus", map(len, fpdus)),
                both("octets", (sum(fpdu.size for fpdu in side)
                                for side in fpdus)),
                both("marks", (sum(fpdu.markers for fpdu in side)
                               for side in fpdus))]

    def hold_against(self, shown, terms, fpdus):
        """tshark, if it decides, and the reference have equal results."""
        for direction, frame, base, found in zip(self.pair, terms.frames,
                                                 terms.bases, fpdus):
            wanted = [(frame.kind[:3].lower(), bool(frame.flags & M),
                       bool(frame.flags & C), bool(frame.flags & R), frame.rev,
                       frame.length - 20)]
            startup = shown.startup(direction)
            if startup != wanted:
                self.faults.append("%s: tshark has the startup %s, not %s"
                                   % (direction.name, startup, wanted))
            self.compare(direction.name, shown.fpdus(direction),
                         placed(direction, base, found))

    def compare(self, name, shown, found):
        """Name the first FPDU where tshark and the reference differ."""
        bad = sum(fpdu.crc is False for _, fpdu in shown)
        if bad:
            self.faults.append("%s: tshark has %d bad CRCs" % (name, bad))
        if shown == found:
            return
        at = next((n for n, both in enumerate(zip(shown, found))
                   if both[0] != both[1]), min(len(shown), len(found)))
        self.faults.append("%s: tshark has %d FPDUs, the reference %d; they "
                           "differ from number %d on"
                           % (name, len(shown), len(found), at + 1))
        for who, fpdus in (("tshark", shown), ("reference", found)):
            if at < len(fpdus):
                self.faults.append("%s: frame %d, %s" % (
                    who, fpdus[at][0], show(fpdus[at][1])))

    def want(self, words):
        lacking = [word for word in words if word not in self.words]
        if lacking:
            self.faults.append("it has to be " + " ".join(lacking))


# Files

def wanted(path):
    """The lines of NAME.want, or None."""
    name = os.path.splitext(path)[0] + ".want"
    try:
        with open(name, encoding="utf-8") as lines:
            return [line.split() for line in lines]
    except FileNotFoundError:
        return None


def judged(path, immediate, reference, tshark):
    """The connections of a capture, judged."""
    found = [Connection(pair, immediate) for pair in connections(path)
             if pair[0].pieces or pair[1].pieces]
    shown = tshark.dissect(path)
    for connection in found:
        try:
            connection.judge(reference, shown)
        except Bad as bad:
            connection.faults.append(str(bad))
    if not found:
        raise Bad("no MPA connection")
    return found


def check_wanted(path, found):
    """Faults of a capture's connections compared with NAME.want."""
    lines = wanted(path)
    if lines is None:
        return []
    for connection, words in zip(found, lines):
        connection.want(words)
    if len(lines) == len(found):
        return []
    return ["%d connections, not the %d of its .want"
            % (len(found), len(lines))]


class Tap:
    """Results, and whether one was bad."""

    def __init__(self):
        self.count, self.failed = 0, False

    def result(self, name, words, faults, notes=()):
        self.count += 1
        self.failed = self.failed or bool(faults)
        for said in [*notes, *faults]:
            print("# " + said)
        verdict = "not ok" if faults else "ok"
        print(" ".join([verdict, "decode." + name, *words]))

    def file(self, path, *tools):
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            found = judged(path, *tools)
            faults = check_wanted(path, found)
        except (Bad, OSError, struct.error, IndexError) as bad:
            found, faults = [], [str(bad)]
        for number, connection in enumerate(found, 1):
            notes = [connection.pair[0].name, *connection.notes]
            self.result("%s.%d" % (name, number), connection.words,
                        connection.faults, notes)
        if faults:
            self.result(name, [], faults)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--immediate", type=int, metavar="PORT", default=[],
                        action="append",
                        help="connections to it start without frames")
    parser.add_argument("pcap", nargs="+")
    options = parser.parse_args()
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        try:
            tools = Reference(directory), Tshark(directory)
        except (OSError, subprocess.CalledProcessError) as error:
            tap.result("tools", [], [str(error)])
            return True
        for path in options.pcap:
            tap.file(path, options.immediate, *tools)
    print("1..%d" % tap.count)
    return tap.failed


if __name__ == "__main__":
    sys.exit(main())
