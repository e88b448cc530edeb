#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test tests/interop/decode.py; the result is TAP.

This program builds good captures, with an encoder of its own. decode.py has to
find each breakage of one of them.
"""

import itertools
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

DECODE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "decode.py")
PORT, IMMEDIATE = 5044, 5045
FIN, SYN, RST, ACK = 1, 2, 4, 16
ISN = 0xFFFFF000


# Octets

def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xFFFFFFFF)


def fpdus(lengths, markers=False, crc=True):
    """The FPDUs of ULPDUs of these lengths, a list."""
    found, at = [], 0
    for number, length in enumerate(lengths):
        plain = struct.pack(">H", length)
        plain += bytes((number + n) & 0xFF for n in range(length))
        plain += bytes(-len(plain) % 4)
        octets, header = b"", 0
        for word in range(0, len(plain) + 1, 4):
            if markers and (at + len(octets)) % 512 == 0:
                header = header or 4 * (not octets)
                octets += struct.pack(">HH", 0, len(octets) - header
                                      if octets else 0)
            octets += plain[word:word + 4]
        octets += crc32c(octets) if crc else bytes(4)
        found.append(octets)
        at += len(octets)
    return found


def frame(kind, flags, rev=1, private=b""):
    return (b"MPA ID Re%s Frame" % kind + struct.pack(
        ">BBH", flags, rev, len(private)) + private)


# Captures

def pcap(packets):
    octets = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, content in enumerate(packets):
        octets += struct.pack("<IIII", 1, number, len(content),
                              len(content)) + content
    return octets


class Talk:
    """A connection: segments of both ends in the order of the capture."""

    def __init__(self, forward=(), back=(), port=PORT, end=FIN):
        self.port, self.client, self.next = port, 0, [0, 0]
        self.sent = []
        self.send(0, b"", SYN, -1)
        self.send(1, b"", SYN | ACK, -1)
        self.send(0)
        self.run(forward[:1], back[:1])
        self.run(forward[1:], back[1:])
        for side in (0, 1) if end else ():
            self.send(side, b"", end | ACK)
            self.next[side] += end == FIN
        self.send(0)

    def send(self, side, payload=b"", flags=ACK, at=None):
        """A segment, at the end of the stream or at an offset."""
        offset = self.next[side] if at is None else at
        self.sent.append((side, ISN + 1 + offset, ISN + 1 + self.next[1 - side],
                          flags, payload))
        self.next[side] = max(self.next[side], offset + len(payload))

    def run(self, *sides):
        for side, segments in enumerate(sides):
            for segment in segments:
                if isinstance(segment, tuple):
                    self.send(side, segment[1], ACK, segment[0])
                else:
                    self.send(side, segment)

    def packet(self, side, seq, ack, flags, payload):
        ends = [(b"\x0a\0\0\1", 40000 + self.client),
                (b"\x0a\0\1\2", self.port)]
        source, to = ends[side], ends[1 - side]
        tcp = struct.pack(">HHIIBBHHH", source[1], to[1], seq & 0xFFFFFFFF,
                          ack & 0xFFFFFFFF, 0x50, flags, 8192, 0, 0) + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6,
                         0)
        return bytes(12) + b"\x08\0" + ip + source[0] + to[0] + tcp

    def packets(self):
        return [self.packet(*sent) for sent in self.sent]


def interleaved(talks):
    """A capture of concurrent connections."""
    for number, talk in enumerate(talks):
        talk.client = number
    rows = itertools.zip_longest(*(talk.packets() for talk in talks))
    return pcap([packet for row in rows for packet in row if packet])


# Good connections, as segments of each end

LENGTHS = 1, 42, 700, 1200, 300, 2, 900
REV2 = bytes.fromhex("8010c008"), bytes.fromhex("80088010")

# markers in both directions, CRC, revision, private data; the decoder that decides
TERMS = {
    "none": ((0, 0), 1, 1, (b"a", b""), "tshark"),
    "none-nocrc": ((0, 0), 0, 1, (b"", b"b"), "tshark"),
    "both": ((1, 1), 1, 1, (b"", b""), "tshark"),
    "both-nocrc": ((1, 1), 0, 1, (b"", b""), "tshark"),
    "there": ((1, 0), 1, 1, (b"", b"abc"), "reference"),
    "back-nocrc": ((0, 1), 0, 1, (b"", b""), "reference"),
    "rev0": ((1, 1), 1, 0, (b"", b""), "reference"),
    "rev2": ((0, 0), 1, 2, REV2, "tshark"),
    "rev2-both": ((1, 1), 1, 2, REV2, "tshark"),
}


def startup(markers=(0, 0), crc=1, rev=1, private=(b"", b""), _=None):
    enhanced = 0x10 if rev == 2 else 0
    return [frame(kind, wants * 0x80 | crc * 0x40 | enhanced, rev, octets)
            for kind, wants, octets
            in zip((b"q", b"p"), markers[::-1], private)]


def segments(name):
    """A startup frame and FPDUs, for each end."""
    markers, crc = TERMS[name][:2]
    return [[first, *fpdus(lengths, marked, crc)] for first, lengths, marked
            in zip(startup(*TERMS[name]), (LENGTHS, LENGTHS[::-1]), markers)]


def glue(found, *cuts):
    """The FPDUs of an end as other segments, cut at offsets."""
    octets = b"".join(found[1:])
    edges = [0, *cuts, len(octets)]
    return found[:1] + [octets[a:b] for a, b in zip(edges, edges[1:])]


def flip(found, offset, mask=1):
    """Alter the octet at an offset after the startup frame."""
    result = found[:1]
    for segment in found[1:]:
        if 0 <= offset < len(segment):
            segment = (segment[:offset] + bytes([segment[offset] ^ mask])
                       + segment[offset + 1:])
        offset -= len(segment)
        result.append(segment)
    return result


def good_cases():
    """Name, words of the result, connection."""
    for name, (markers, crc, rev, _, decoder) in TERMS.items():
        words = "rev=%d crc=%d markers=%d+%d fpdus=7+7 decoder=%s" % (
            rev, crc, *markers, decoder)
        yield name, words, Talk(*segments(name))
    there, back = segments("none")
    yield "packed", "fpdus=7+7 decoder=tshark", Talk(glue(there), back)
    yield "cut", "fpdus=7+7 decoder=tshark", Talk(
        there, glue(back, 500, 1200, 1400))
    yield "one-octet-segments", "fpdus=7+7 decoder=reference", Talk(
        there, glue(back, *range(3, 400, 3)))
    yield "repeated", "fpdus=7+7 decoder=tshark", Talk(
        there[:4] + [(21, there[1])] + there[4:], back)
    yield "overtaken", "fpdus=7+7 decoder=tshark", Talk(
        there[:1] + [(29, there[2]), (21, there[1])] + there[3:], back)
    yield "reset", "fpdus=7+6 decoder=tshark", Talk(
        there, back[:-1] + [back[-1][:-1]], end=RST)
    yield "rejected", "rev=1 reply=reject", Talk(there[:1], [frame(b"p", 0x60)])
    yield "unanswered", "rev=1 reply=none", Talk(there[:1])
    yield "enhanced", "ird=16+8 ord=8+16 rtr=ACD+AC", Talk(*segments("rev2"))
    there, back = segments("both")
    yield "marked-packed", "fpdus=7+7 decoder=reference", Talk(
        glue(there), back)
    yield "marked-overtaken", "fpdus=7+7 decoder=reference", Talk(
        there[:1] + [(32, there[2]), (20, there[1])] + there[3:], back)
    yield "responder-first", "fpdus=0+7 decoder=tshark", Talk(there[:1], back)
    yield "marker-end", "fpdus=4+1 marks=4+1 decoder=reference", Talk(
        there[:1] + fpdus([502] * 4, True), back[:1] + fpdus([8], True))
    yield "rev0-unsolicited", "rev=0 crc=1 markers=1+1 fpdus=7+7", Talk(
        [frame(b"q", 0, 0)] + there[1:], [frame(b"p", 0, 0)] + back[1:])
    yield "immediate", "rev=none fpdus=7+7 decoder=reference", Talk(
        there[1:], back[1:], port=IMMEDIATE)


# Bad ones

def without(talk, payload):
    """The capture has missed a segment."""
    talk.sent = [sent for sent in talk.sent if sent[4] != payload]
    return talk


def broken_octets(name):
    """Terms, alteration, words: a breakage of each kind of field."""
    markers, crc = TERMS[name][:2]
    wrong = "wrong CRC" if crc else "differ" if not any(markers) else "offset"
    second = 12 if markers[0] else 8
    yield "length", second + 1, 0x10, "offset"
    if crc:
        yield "crc", second - 1, 0x80, wrong
        yield "ulpdu", second + 9, 0x01, wrong
    else:
        yield "pad", second - 5, 0x01, "is sent where 00 has to be"
    if markers[0]:
        words = wrong if crc else "a marker is wrong"
        yield "fpduptr", 512 + 3, 0x04, words
        yield "marker-type", 512, 0x01, (wrong if crc else
                                         "is sent where 00 has to be")


def broken_frames():
    """Name, Request, Reply, words."""
    request, reply = startup()
    asked, answered = startup((0, 0), 1, 2, REV2)
    yield "key", b"MPA ID Rek" + request[10:], reply, "no Request but 4d50"
    yield "two-requests", request, request, "no Reply but 4d50"
    yield "request-short", request[:19], b"", "the Request is cut short"
    yield "reply-short", request, reply[:-1], "the Reply is cut short"
    yield ("private-short", request, frame(b"p", 0x40, 1, b"abc")[:-1],
           "the Reply is cut short")
    yield "reserved", request, frame(b"p", 0x41), "the Reply has flags 41"
    yield "s-in-rev1", frame(b"q", 0x50), reply, "the Request has flags 50"
    yield "r-in-request", frame(b"q", 0x60), reply, "the Request has flags 60"
    yield "revision", frame(b"q", 0x40, 3), reply, "has revision 3"
    yield ("private-long", frame(b"q", 0x40, 1, bytes(513)), reply,
           "513 octets of private data")
    yield ("s-alone", frame(b"q", 0x50, 2, b"abc"), answered,
           "S, and PD_Length 3")
    yield "s-missing", asked, frame(b"p", 0x40, 2), "with 40"
    yield ("rev-answered", frame(b"q", 0x40, 2), reply,
           "a Reply of revision 1")


def bad_cases():
    """Name, words of the complaint, connection."""
    for name in TERMS:
        there, back = segments(name)
        for what, offset, mask, words in broken_octets(name):
            yield "%s-%s" % (name, what), words, Talk(
                flip(there, offset, mask), back)
        yield name + "-missed", "octets are missing", without(
            Talk(there, back), there[4])
        yield name + "-last-missed", "octets are missing", without(
            Talk(there, back), there[-1])
        yield name + "-short", "of an FPDU at offset", Talk(
            there[:-1] + [there[-1][:-4]], back)
    for name, request, reply, words in broken_frames():
        yield "frame-" + name, words, Talk([request], [reply] if reply else [])
    there, back = segments("none")
    yield "reset-crc", "wrong CRC", Talk(flip(there, 9), back, end=RST)
    yield "reset-missed", "and acknowledged", without(
        Talk(there, back, end=RST), there[-1])
    unacknowledged = Talk(there[:1], back[:1], end=0)
    unacknowledged.run(there[1:])
    yield "gap", "octets are missing at 785", without(unacknowledged, there[4])
    yield "altered", "a retransmission differs", Talk(
        there + [(21, flip(there, 2)[1])], back)
    yield "after-reject", "octets after the startup frame", Talk(
        there, [frame(b"p", 0x60)])
    yield "no-reply", "octets after the startup frame", Talk(there)
    early = Talk(end=0)
    early.run(there, back)
    yield "early", "FPDUs before the Reply", early
    yield "immediate", "wrong CRC", Talk(flip(segments("both")[0], 9)[1:], [],
                                         port=IMMEDIATE)
    yield "undeclared-immediate", "no Request but 0000", Talk(segments("both")[0][1:])


# Runs

def decode(files, path=None):
    """Status and output of tests/interop/decode.py for some files."""
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as directory:
        if path:
            environment["PATH"] = path + ":" + environment["PATH"]
        for name, contents in files.items():
            with open(os.path.join(directory, name), "wb") as file:
                file.write(contents)
        done = subprocess.run(
            [DECODE, "--immediate", str(IMMEDIATE),
             *(os.path.join(directory, name) for name in files
               if name.endswith(".pcap"))],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False)
    return done.returncode, done.stdout


def apart(output):
    """The result of each connection with the lines before it."""
    return re.findall(r"^(?:#.*\n)*(?:not )?ok .*\n", output, re.M)


def connection_cases(kind, cases, good):
    """All of them in one capture; status and results have to say so."""
    names, words, talks = zip(*cases)
    status, output = decode({"it.pcap": interleaved(talks)})
    results = apart(output)
    yield kind + ".status", status == (not good), output
    yield kind + ".count", len(results) == len(names), output
    for name, wanted, said in zip(names, words, results):
        result = said.splitlines()[-1]
        # Of a good one the result has to say it, of a bad one the complaint
        if good:
            fine = set(wanted.split()) < set(result.split())
        else:
            fine = wanted in said[:-len(result) - 1]
        begin = "ok " if good else "not ok "
        yield "%s.%s" % (kind, name), fine and result.startswith(begin), said


# name, files, words of the complaint
GOOD = Talk(*segments("none"))
CAPTURE = pcap(GOOD.packets())
FILES = [
    ("empty", {"it.pcap": pcap([])}, "no MPA connection"),
    ("refused", {"it.pcap": pcap(Talk(end=RST).packets())},
     "no MPA connection"),
    ("no-pcap", {"it.pcap": b"x" * 100}, "no pcap file"),
    ("snapped", {"it.pcap": CAPTURE.replace(
        struct.pack("<II", 74, 74), struct.pack("<II", 74, 75))},
     "captured to 74"),
    ("cut", {"it.pcap": CAPTURE[:-10]}, "ends in a frame"),
    ("late", {"it.pcap": pcap(GOOD.packets()[1:])}, "lacks the SYN"),
    ("first", {"it.pcap": pcap(Talk(*segments("none")[:1]).packets()),
               "well.pcap": CAPTURE}, "octets after the startup frame"),
    ("other", {"it.pcap": pcap(Talk([b"GET / HTTP/1.0\r\n\r\n"]).packets())},
     "no Request but 474554"),
    ("want-word", {"it.pcap": CAPTURE, "it.want": b"rev=1 fpdus=7+8\n"},
     "it has to be fpdus=7+8"),
    ("want-line", {"it.pcap": CAPTURE, "it.want": b"rev=1\nrev=1\n"},
     "1 connections, not the 2"),
]


def file_cases():
    for name, files, words in FILES:
        status, output = decode(files)
        yield "file." + name, status == 1 and words in output and re.search(
            "^not ok", output, re.M), output
    status, output = decode({"it.pcap": CAPTURE, "it.want": b"crc=1 rev=1\n"})
    yield "file.want", status == 0, output


# Alterations of tshark's output (sed), words of the complaint
LIES = [
    ("crc", "s/(Good CRC32)/(Bad CRC32)/", "tshark has 7 bad CRCs"),
    ("length", 's/show="1200"/show="1201"/', "ULPDU_Length 1201"),
    ("size", '/name="iwarp_mpa"/s/size="48"/size="52"/', "52 octets, ULPDU"),
    ("silent", '/name="iwarp_mpa.ulpdulength"/d', "tshark has 0 FPDUs"),
    ("frame", '/name="num"/s/show="12"/show="13"/', "differ"),
    ("marker-flag", '/marker_flag/s/show="0"/show="1"/', "has the startup"),
    ("marker-count", '/marker_fpduptr/d', "0 markers"),
]


def lie_cases():
    """tshark's word counts."""
    for name, script, words in LIES:
        talk = Talk(*segments("both" if "count" in name else "none"))
        with tempfile.TemporaryDirectory() as directory:
            fake = os.path.join(directory, "tshark")
            with open(fake, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n%s \"$@\" | sed -E '%s'\n" % (
                    shutil.which("tshark"), script))
            os.chmod(fake, 0o755)
            status, output = decode({"it.pcap": pcap(talk.packets())},
                                    directory)
        yield "tshark." + name, status == 1 and words in output, output


def main():
    count = failed = 0
    for name, good, said in itertools.chain(
            connection_cases("good", good_cases(), True),
            connection_cases("bad", bad_cases(), False),
            file_cases(), lie_cases()):
        count += 1
        failed += not good
        if not good:
            print("".join("# %s\n" % line for line in said.splitlines()),
                  end="")
        print("%sok %d - decode-test.%s"
              % ("" if good else "not ", count, name))
    print("1..%d" % count)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
