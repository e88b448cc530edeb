# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The TCP connections of a capture file, for the programs next to this one."""

import collections
import struct

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

# One TCP segment: number of its frame, (address, port) of both ends, TCP's
# fields and octets, and the length of its IP packet
Segment = collections.namedtuple(
    "Segment", "number source to seq ack flags payload length")


class Bad(Exception):
    """Invalid input."""


# Capture file, link layer, IP

def packets(path):
    """Yield (link type, octets) for each frame of a pcap file."""
    with open(path, "rb") as pcap:
        head = pcap.read(24)
        if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
            order = "<"
        elif head[:4] in (b"\xa1\xb2\xc3\xd4", b"\xa1\xb2\x3c\x4d"):
            order = ">"
        else:
            raise Bad("%s is no pcap file" % path)
        link = struct.unpack(order + "I", head[20:24])[0] & 0xFFFF
        while True:
            record = pcap.read(16)
            if not record:
                return
            kept, length = struct.unpack(order + "8xII", record.ljust(16))
            frame = pcap.read(kept)
            if len(frame) < kept:
                raise Bad("%s ends in a frame" % path)
            if kept != length:
                raise Bad("a frame of %d octets was captured to %d only"
                          % (length, kept))
            yield link, frame


def ip_packet(link, frame):
    """The IP packet of a frame, or None."""
    if link == 1:
        at = 14
        kind = frame[12:14]
        while kind == b"\x81\x00":
            kind = frame[at + 2:at + 4]
            at += 4
        return frame[at:] if kind in (b"\x08\x00", b"\x86\xdd") else None
    offset = {101: 0, 228: 0, 229: 0, 113: 16, 276: 20}.get(link)
    if offset is None:
        raise Bad("link type %d is not known" % link)
    return frame[offset:]


def tcp_of_ipv4(packet):
    length = struct.unpack(">H", packet[2:4])[0]
    fragment = struct.unpack(">H", packet[6:8])[0]
    if packet[9] != 6:
        return None
    if fragment & 0x3FFF:
        raise Bad("the capture has IP fragments")
    head = (packet[0] & 15) * 4
    return packet[12:16], packet[16:20], packet[head:length], length


def tcp_of_ipv6(packet):
    length = struct.unpack(">H", packet[4:6])[0] + 40
    kind, at = packet[6], 40
    while kind in (0, 43, 60):
        kind, at = packet[at], at + 8 + packet[at + 1] * 8
    if kind == 44:
        raise Bad("the capture has IP fragments")
    if kind != 6:
        return None
    return packet[8:24], packet[24:40], packet[at:length], length


def tcp_segments(path):
    """Yield each Segment of a capture."""
    for number, (link, frame) in enumerate(packets(path), 1):
        packet = ip_packet(link, frame)
        if not packet or packet[0] >> 4 not in (4, 6):
            continue
        found = (tcp_of_ipv4 if packet[0] >> 4 == 4 else tcp_of_ipv6)(packet)
        if not found:
            continue
        source, to, tcp, length = found
        sport, dport, seq, ack = struct.unpack(">HHII", tcp[:12])
        yield Segment(number, (source, sport), (to, dport), seq, ack, tcp[13],
                      tcp[(tcp[12] >> 4) * 4:], length)


# TCP

class Direction:
    """The octets of one direction and the segments that brought them."""

    def __init__(self, source, to):
        self.source, self.to = source, to
        self.name = "%s > %s" % (address(source), address(to))
        self.isn = None
        self.pieces = []        # (offset, payload, frame's number), as captured
        self.highest = 0
        self.longest = 0
        self.acked = 0          # octets that the other end has acknowledged
        self.fin = None         # offset of the FIN
        self.reset = False

    def offset(self, seq):
        """The stream offset that a sequence number near the end means."""
        near = (seq - self.isn - 1 - self.highest) & 0xFFFFFFFF
        if near & 0x80000000:
            near -= 1 << 32
        return self.highest + near

    def add(self, segment):
        self.longest = max(self.longest, segment.length)
        self.reset = self.reset or bool(segment.flags & RST)
        if segment.flags & SYN:
            self.isn = segment.seq
            return
        if self.isn is None:
            if segment.payload:
                raise Bad("%s: the capture lacks the SYN" % self.name)
            return
        if segment.flags & RST:
            return
        offset = self.offset(segment.seq)
        if offset < 0:
            return
        end = offset + len(segment.payload)
        if segment.flags & FIN:
            self.fin = end
        if segment.payload:
            self.pieces.append((offset, segment.payload, segment.number))
            self.highest = max(self.highest, end)

    def acknowledge(self, segment):
        """Take the ACK of a segment of the other direction."""
        if segment.flags & ACK and self.isn is not None:
            self.acked = max(self.acked, self.offset(segment.ack))

    def contiguous(self):
        """The octets from the first to the end, or to the first gap."""
        octets = bytearray()
        for offset, payload, _ in sorted(self.pieces, key=lambda p: p[0]):
            if offset > len(octets):
                break
            known = len(octets) - offset
            overlap = min(known, len(payload))
            if octets[offset:offset + overlap] != payload[:overlap]:
                raise Bad("%s: a retransmission differs at %d"
                          % (self.name, offset))
            octets += payload[overlap:]
        return bytes(octets)

    def stream(self):
        """All octets in order; raises where some are missing or differ."""
        octets = self.contiguous()
        if len(octets) < self.highest:
            raise Bad("%s: octets are missing at %d" % (self.name, len(octets)))
        return octets


def address(end):
    octets, port = end
    if len(octets) == 4:
        return "%s:%d" % (".".join(map(str, octets)), port)
    words = struct.unpack(">8H", octets)
    return "[%s]:%d" % (":".join("%x" % word for word in words), port)


def connections(path):
    """Pairs of directions, the connecting side first."""
    found, pairs = {}, []
    for segment in tcp_segments(path):
        ends = segment.source, segment.to
        key = ends if ends in found else ends[::-1]
        opens = segment.flags & (SYN | ACK) == SYN
        # Another connection with the same ports
        if (opens and key in found
                and found[key][0].isn not in (None, segment.seq)):
            del found[key]
        if key not in found:
            key = ends
            found[key] = Direction(*ends), Direction(*ends[::-1])
            pairs.append(found[key])
        side = key != ends
        found[key][side].add(segment)
        found[key][1 - side].acknowledge(segment)
    return pairs
