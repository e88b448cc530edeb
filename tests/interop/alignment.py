#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Show how FPDUs are aligned to the TCP segments of a capture.

usage: alignment.py [--mtu N] [--min PERCENT] PCAP

Parses the MPA connections of a capture that begins before their SYN: startup
frames, FPDUs, markers, CRCs. Prints for each direction the share of TCP
segments that begin with an FPDU and hold only whole ones. Status 1 for octets
that are no valid MPA, for an IP packet longer than N octets, for a share below
PERCENT, or without an MPA connection. It shares no code with the module.
"""

import argparse
import struct
import sys

sys.dont_write_bytecode = True
from streams import Bad, connections

REQUEST = b"MPA ID Req Frame"
REPLY = b"MPA ID Rep Frame"
M, C, R, RES = 0x80, 0x40, 0x20, 0x1F
SPAN = 512


def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


CRC_TABLE = crc_table()


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


# MPA

class Frame:
    """A Request or Reply at the start of a stream."""

    def __init__(self, name, octets):
        self.request = octets.startswith(REQUEST)
        self.kind = "Request" if self.request else "Reply"
        if len(octets) < 20:
            raise Bad("%s: the %s is cut short" % (name, self.kind))
        self.flags, self.rev, private = struct.unpack(">BBH", octets[16:20])
        self.length = 20 + private
        if len(octets) < self.length:
            raise Bad("%s: the %s is cut short" % (name, self.kind))
        if self.flags & (RES | (R if self.request else 0)):
            raise Bad("%s: the %s has flags %02x" % (name, self.kind,
                                                     self.flags))

    def __str__(self):
        bits = "M=%d C=%d R=%d" % tuple(bool(self.flags & bit)
                                        for bit in (M, C, R))
        return "%s Rev %d %s, %d octets of private data" % (
            self.kind, self.rev, bits, self.length - 20)


def is_frame(octets):
    return octets.startswith(REQUEST) or octets.startswith(REPLY)


class Fpdus:
    """The FPDUs of one direction."""

    def __init__(self, name, octets, base, markers, crc):
        self.name, self.octets, self.base = name, octets, base
        self.markers_on, self.crc_on = markers, crc
        self.starts, self.ends = set(), set()
        self.markers = self.crcs = 0
        self.complaints = []
        at = base
        while at < len(octets):
            if self.is_last_marker(at):
                break
            at = self.take(at)

    def is_last_marker(self, at):
        return (self.markers_on and (at - self.base) % SPAN == 0
                and self.octets[at:] == bytes(4))

    def complain(self, at, what):
        self.complaints.append("%s: stream offset %d: %s" % (
            self.name, at - self.base, what))

    def marker(self, at, header):
        self.markers += 1
        reserved, pointer = struct.unpack(">HH", self.octets[at:at + 4])
        wanted = at - header if at > header else 0
        if reserved or pointer != wanted:
            self.complain(at, "marker %04x %04x, not 0000 %04x"
                          % (reserved, pointer, wanted))

    def take(self, start):
        """Take the FPDU at an offset apart; its end."""
        at = start
        leading = self.markers_on and (at - self.base) % SPAN == 0
        header = at + 4 if leading else at
        if header + 2 > len(self.octets):
            raise Bad("%s: the last FPDU is cut short" % self.name)
        length = struct.unpack(">H", self.octets[header:header + 2])[0]
        if not 1 <= length <= 64768:
            raise Bad("%s: stream offset %d: ULPDU_Length %d"
                      % (self.name, start - self.base, length))
        left = 2 + length + -(2 + length) % 4 + 4
        pad_at, inside = left - 4 - (-(2 + length) % 4), 0
        pads = bytearray()
        while left:
            if at >= len(self.octets):
                raise Bad("%s: the last FPDU is cut short" % self.name)
            to_marker = left
            if self.markers_on:
                to_marker = -(at - self.base) % SPAN
                if not to_marker:
                    if at + 4 > len(self.octets):
                        raise Bad("%s: a marker is cut short" % self.name)
                    self.marker(at, header)
                    at += 4
                    to_marker = SPAN - 4
            step = min(left, to_marker)
            # Octets of the pad that lie in this piece
            low = max(pad_at - inside, 0)
            high = max(pad_at + -(2 + length) % 4 - inside, 0)
            pads += self.octets[at + low:at + min(high, step)]
            at, left, inside = at + step, left - step, inside + step
        self.finish(start, at, pads)
        return at

    def finish(self, start, end, pads):
        if end > len(self.octets):
            raise Bad("%s: the last FPDU is cut short" % self.name)
        if any(pads):
            self.complain(start, "pad %s" % pads.hex())
        if self.crc_on:
            self.crcs += 1
            field = struct.unpack("<I", self.octets[end - 4:end])[0]
            if crc32c(self.octets[start:end - 4]) != field:
                self.complain(start, "wrong CRC")
        self.starts.add(start)
        self.ends.add(end)


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def report(direction, fpdus):
    """Print a direction's figures; the share of good segments."""
    seen, total, begin, whole, again = set(), 0, 0, 0, 0
    for offset, payload, _ in direction.pieces:
        end = offset + len(payload)
        if end <= fpdus.base:
            continue
        total += 1
        again += offset in seen
        seen.add(offset)
        begin += offset in fpdus.starts
        whole += offset in fpdus.starts and end in fpdus.ends
    print("%s" % direction.name)
    print("  %d FPDUs, markers %s, CRC %s" % (
        len(fpdus.starts),
        "on (%d)" % fpdus.markers if fpdus.markers_on else "off",
        "on (%d checked)" % fpdus.crcs if fpdus.crc_on else "off"))
    print("  %d segments (%d retransmitted), %.2f %% begin with an FPDU, "
          "%.2f %% hold whole FPDUs" % (
              total, again, percent(begin, total), percent(whole, total)))
    return percent(whole, total)


def check_frame_segment(direction, frame):
    """A startup frame leaves in one segment of its own."""
    cuts = {offset + len(payload) for offset, payload, _ in direction.pieces}
    inside = [cut for cut in cuts if 0 < cut < frame.length]
    # A frame longer than a segment cannot help it
    if inside and frame.length <= max(len(p) for _, p, _ in direction.pieces):
        yield "%s: the %s is cut at octet %d" % (direction.name, frame.kind,
                                                 min(inside))


def take_apart(pair):
    """Shares and complaints of one connection; None if it is not MPA."""
    streams = [direction.stream() for direction in pair]
    complaints, frames = [], [None, None]
    for side in (0, 1):
        if is_frame(streams[side]):
            frames[side] = Frame(pair[side].name, streams[side])
            print("%s: %s" % (pair[side].name, frames[side]))
            complaints += check_frame_segment(pair[side], frames[side])
    if any(frames):
        if not all(frames) or frames[0].request == frames[1].request:
            raise Bad("%s: the startup is not a Request and a Reply"
                      % pair[0].name)
        reply = frames[0] if frames[1].request else frames[1]
        if reply.flags & R:
            return [], complaints
        rdmac = reply.rev == 0
        markers = [bool(frames[1 - side].flags & M) or rdmac
                   for side in (0, 1)]
        crc = bool((frames[0].flags | frames[1].flags) & C) or rdmac
    elif all(not s or s.startswith(bytes(4)) for s in streams) and any(streams):
        markers, crc = [True, True], True
    else:
        return None
    shares = []
    for side in (0, 1):
        base = frames[side].length if frames[side] else 0
        fpdus = Fpdus(pair[side].name, streams[side], base, markers[side], crc)
        complaints += fpdus.complaints
        shares.append(report(pair[side], fpdus))
    return shares, complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mtu", type=int, metavar="N",
                        help="longest IP packet allowed")
    parser.add_argument("--min", type=float, metavar="PERCENT", default=0,
                        help="lowest share of segments with whole FPDUs")
    parser.add_argument("pcap")
    options = parser.parse_args()
    faults, found = [], 0
    try:
        for pair in connections(options.pcap):
            longest = max(direction.longest for direction in pair)
            if options.mtu and longest > options.mtu:
                faults.append("an IP packet of %d octets, the MTU is %d"
                              % (longest, options.mtu))
            result = take_apart(pair)
            if result is None:
                continue
            found += 1
            faults += result[1]
            faults += ["%.2f %% is less than %.2f %%" % (share, options.min)
                       for share in result[0] if share < options.min]
    except (Bad, OSError, struct.error) as error:
        faults.append(str(error))
    if not found and not faults:
        faults.append("no MPA connection in %s" % options.pcap)
    for fault in faults[:20]:
        print("alignment: " + fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
