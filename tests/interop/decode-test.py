#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test what reads captures, mpa-peer and tests/interop/decode.sh; the result is TAP.

The captures are built from FPDUs whose CRCs are known from elsewhere: the octets
printed in RFC 5044, figures 5 and 6, with zeroes between them, and messages of
RDMAP.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
FIN, SYN, RST, ACK = 1, 2, 4, 16
ISN = 0xFFFFFF00


def octets(text, *zeroes):
    """Octets from hexadecimal, with a number of zeroes for each %."""
    return bytes.fromhex(text.replace("%", "{}").format(
        *("00" * n for n in zeroes)))


FIGURE5 = octets("00000000002a4143%01%52239983", 11, 28)
# From figure 5 to figure 6: ULPDU_Length 434
BETWEEN = octets("01b2%8e8a157c", 434)
FIGURE6 = octets("002a4143%02%00000014%84925898", 11, 4, 24)
FIGURES = [FIGURE5, BETWEEN, FIGURE6]
WHOLE = b"".join(FIGURES)
PADDED = octets("000000000001aa015a491be5")
PING = octets("00164143%0100000000" "70696e67a5487fa7", 11)
HELLO = octets("00174143%0100000000" "68656c6c6f000000b990b10c", 11)
LONG = octets("1116%b8c1fa3c", 4374)     # as long as three full segments


def changed(old, at, mask=1):
    return old[:at] + bytes([old[at] ^ mask]) + old[at + 1:]


def frame(kind, flags, rev=1, private=b""):
    return (b"MPA ID Re%s Frame" % kind
            + struct.pack(">BBH", flags, rev, len(private)) + private)


# Captures

def packet(client, side, seq, flags, payload, window=0, options=b"", ack=0):
    ends = (b"\x0a\0\0\1", 1000 + client), (b"\x0a\0\1\2", 5044)
    source, to = ends[side], ends[1 - side]
    tcp = struct.pack(">HHIIBBHHH", source[1], to[1], seq & 0xFFFFFFFF,
                      ack & 0xFFFFFFFF, 0x50 + 4 * len(options), flags, window,
                      0, 0)
    tcp += options + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0)
    return bytes(12) + b"\x08\0" + ip + source[0] + to[0] + tcp


def talk(there, back, window=0, end=FIN, client=0):
    """The frames of a connection whose directions consist of these segments.

    A segment is its octets, or its offset and octets.
    The Reply follows the Request, then come the FPDUs of both.
    """
    mss = bytes.fromhex("020405b4")
    frames = [packet(client, 0, ISN, SYN, b"", options=mss),
              packet(client, 1, ISN, SYN | ACK, b"", window, mss, ISN + 1)]
    upto = [0, 0]

    def send(side, segment, flags=ACK):
        at = upto[side]
        if isinstance(segment, tuple):
            at, segment = segment
        frames.append(packet(client, side, ISN + 1 + at, flags, segment,
                             ack=ISN + 1 + upto[1 - side]))
        upto[side] = at + len(segment)

    for side, segments in (0, there[:1]), (1, back[:1]), (0, there[1:]), (
            1, back[1:]):
        for segment in segments:
            send(side, segment)
    for side in (0, 1) if end else ():
        send(side, b"", end | ACK)
    return frames


def pcap(frames):
    file = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for one in frames:
        file += struct.pack("<IIII", 0, 0, len(one), len(one)) + one
    return file


# Startup

REQUEST, REPLY = frame(b"q", 0xC0, 1, b"abc"), frame(b"p", 0xC0)
PLAIN = frame(b"q", 0x40), frame(b"p", 0x40)
NO_CRC = frame(b"q", 0), frame(b"p", 0)
ENHANCED = (frame(b"q", 0x50, 2, octets("8010c008")),
            frame(b"p", 0x50, 2, octets("80088010")))
START = len(REQUEST)


def marked(*segments, back=(REPLY, FIGURE5), **more):
    """A connection with markers both ways"""
    return talk([REQUEST, *segments], back, **more)


def plain(there, back=(PING,), frames=PLAIN, **more):
    return talk([frames[0], *there], [frames[1], *back], **more)


def without(number, frames):
    return frames[:number] + frames[number + 1:]


# A capture, its frames, the words of mpa-peer segments for the Initiator, and of
# decode.sh; empty: not asked. Complaints have no "=". Captures with nothing wrong, of all
# terms, are those of captures.sh and of the socket tests wire.* and ipsec.*.
CASES = [
    ("aligned", marked(*FIGURES),
     "segments=3 begin=3 aligned=3 again=0 again_aligned=0 fpdus=3 markers=2 "
     "octets=%d longest=%d" % (len(WHOLE), 40 + len(BETWEEN)),
     "rev=1 crc=1 markers=1+1 fpdus=3+1 decoder=reference"),
    ("window", talk([NO_CRC[0], LONG[:1460], LONG[1460:2920], LONG[2920:]],
                    [NO_CRC[1]], window=3000), "begin=1 aligned=0 full=3 tight=2", ""),
    ("split", marked(WHOLE[:99], WHOLE[99:]),
     "segments=2 begin=1 aligned=0", "fpdus=3+1"),
    ("joined", talk([REQUEST + FIGURE5, BETWEEN, FIGURE6], [REPLY, FIGURE5]),
     "segments=3 begin=2 aligned=2", "FPDUs before the Reply"),
    ("retransmitted", marked(*FIGURES, (START, FIGURE5)),
     "segments=4 begin=4 aligned=4 again=1 again_aligned=1", "fpdus=3+1"),
    ("reordered", marked((START + len(WHOLE) - 52, FIGURE6), (START, FIGURE5),
                         (START + 52, BETWEEN), end=None),
     "segments=3 begin=3 aligned=3", "fpdus=3+1"),
    ("two", marked(*FIGURES) + marked(FIGURE5, client=1),
     "segments=4 begin=4 aligned=4", "fpdus=3+1 decode.it.2 fpdus=1+1"),
    ("reused", marked(*FIGURES) + [
        packet(0, 0, 7, SYN, b"", options=octets("020405b4"))],
     "segments=3 begin=3 aligned=3", "fpdus=3+1"),
    ("pieces", plain([PING[:9], PING[9:] + HELLO[:20], HELLO[20:]]),
     "segments=3 begin=1 aligned=0", "fpdus=2+1 decoder=tshark"),
    ("rejected", talk(PLAIN[:1], [frame(b"p", 0x60)]), "segments=0",
     "rev=1 reply=reject"),
    ("unanswered", talk(PLAIN[:1], []), "segments=0", "rev=1 reply=none"),
    ("reset", plain([PING, HELLO[:-1]], end=RST), "cut short",
     "fpdus=1+1 decoder=tshark"),
    # Octets that are not right
    ("crc", marked(changed(FIGURE5, 10), BETWEEN, FIGURE6),
     "wrong CRC, in the FPDU at 0", "wrong CRC, in the FPDU at 0"),
    ("crc-field", marked(FIGURE5, changed(BETWEEN, len(BETWEEN) - 1), FIGURE6),
     "wrong CRC, in the FPDU at 52", "wrong CRC"),
    ("marker", marked(FIGURE5, BETWEEN, changed(FIGURE6, 23)),
     "the marker at 512 is 00000015, not 00000014", "the marker at 512"),
    ("marker-no-crc", talk([frame(b"q", 0x80), FIGURE5, BETWEEN,
                            changed(FIGURE6, 21)], [frame(b"p", 0x80)]),
     "the marker at 512 is 00010014", "the marker at 512"),
    ("reserved", marked(changed(FIGURE5, 0), BETWEEN, FIGURE6),
     "the marker at 0 is 01000000, not 00000000", "the marker at 0"),
    ("shifted", marked(FIGURE5, BETWEEN[:-4], FIGURE6),
     "wrong CRC, in the FPDU at 52", "wrong CRC"),
    ("pad", marked(PADDED), "a pad is not zero", "a pad is not zero"),
    ("length", marked(bytes(60)), "ULPDU_Length is 0", "ULPDU_Length is 0"),
    ("no-mpa", talk([b"GET / HTTP/1.0\r\n"], [b"HTTP/1.0 200 OK\r\n"]),
     "the marker at 0 is 47455420", "the marker at 0 is 47455420"),
    # Octets that are not there, or not again the same
    ("cut", marked(FIGURE5[:-1]), "the last FPDU is cut short",
     "the last FPDU is cut short, at 0"),
    ("altered", marked(*FIGURES, (START, changed(FIGURE5, 9))),
     "a retransmission differs at 32", "a retransmission differs"),
    ("hole", marked(FIGURE5, (START + 52 + len(BETWEEN), FIGURE6)),
     "octets are missing", "octets are missing at 75, from 10.0.0.1:1000"),
    ("last-missed", without(5, plain([PING, HELLO])), "",
     "octets are missing at 48"),
    ("missed-reset", without(5, plain([PING, HELLO], end=RST)), "",
     "octets are missing at 48"),
    ("reset-crc", plain([PING, changed(HELLO, 9)], end=RST), "wrong CRC",
     "wrong CRC"),
    ("late", marked(*FIGURES)[1:], "lacks a SYN", "lacks a SYN"),
    ("refused", talk([], [], end=RST), "no connection of 10.0.0.1",
     "no MPA connection"),
    # The startup
    ("no-reply", talk([REQUEST, *FIGURES], []), "octets after the startup frame",
     "octets after the startup frame"),
    ("after-reject", talk([PLAIN[0], PING], [frame(b"p", 0x60)]),
     "28 octets after the startup", "28 octets after the startup frame"),
    ("two-requests", talk([REQUEST], [REQUEST]), "not a Request and a Reply",
     "not a Request and a Reply"),
    ("key", talk([changed(PLAIN[0], 9), PING], [PLAIN[1]]), "",
     "not a Request and a Reply"),
    ("frame-split", talk([REQUEST[:7], REQUEST[7:], *FIGURES],
                         [REPLY, FIGURE5]), "the startup frame is cut at 7", ""),
    ("request-short", talk([PLAIN[0][:19]], []), "",
     "the Request is cut short"),
    ("private-short", talk([frame(b"q", 0x40, 1, b"abc")[:-1]], []), "",
     "the Request is cut short"),
    ("res-flag", plain([], frames=(PLAIN[0], frame(b"p", 0x41))), "",
     "the Reply has flags 41"),
    ("s-in-rev1", plain([], frames=(frame(b"q", 0x50), PLAIN[1])), "",
     "the Request has flags 50"),
    ("r-in-request", plain([], frames=(frame(b"q", 0x60), PLAIN[1])), "",
     "the Request has flags 60"),
    ("revision", plain([], frames=(frame(b"q", 0x40, 3), PLAIN[1])), "",
     "the Request has revision 3"),
    ("private-long", plain([], frames=(frame(b"q", 0x40, 1, bytes(513)),
                                       PLAIN[1])), "",
     "the Request has 513 octets of private data"),
    ("s-alone", plain([], frames=(frame(b"q", 0x50, 2, b"abc"), ENHANCED[1])),
     "", "the Request has S, and PD_Length 3"),
    ("s-missing", plain([], frames=(ENHANCED[0], frame(b"p", 0x40, 2))), "",
     "a Reply of revision 2 with 40"),
    ("rev-answered", plain([], frames=(frame(b"q", 0x40, 2), PLAIN[1])), "",
     "a Reply of revision 1 with 40"),
]
# Files that are no capture, and contents of the .want: name, capture, .want, words
NONE = pcap(plain([PING, HELLO]))
FILES = [
    ("no-pcap", b"x" * 100, "", "no capture"),
    ("snapped", NONE.replace(struct.pack("<II", 74, 74),
                             struct.pack("<II", 73, 74), 1), "", "captured to 59"),
    ("cut", NONE[:-10], "", "ends in a frame"),
    ("want-word", NONE, "rev=1 fpdus=2+2\n", ", not fpdus=2+2"),
    ("want-decoder", NONE, "decoder=reference\n", ", not decoder=reference"),
    ("want-line", NONE, "rev=1\nrev=1\n", "1 connections, not 2"),
    # tshark takes the marker for figure 5's
    ("want-tshark", pcap(marked(WHOLE)), "decoder=tshark\n",
     "tshark differs"),
]
# Alterations of tshark's output (sed)
LIES = [
    ("crc", "s/(Good CRC32)/(Bad CRC32)/"),
    ("length", "s/ULPDU length: 22/ULPDU length: 23/"),
    ("silent", "/ULPDU length/d"),
    ("marker", "s/ULPDU length.*/&\\n        FPDU back pointer: 0/"),
    ("flag", "s/Marker flag: False/Marker flag: True/"),
]


# Runs

def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          **more)
    return done.returncode, done.stdout + done.stderr


def segments(top, frames):
    path = os.path.join(top, "it.pcap")
    with open(path, "wb") as file:
        file.write(pcap(frames))
    return run(PEER, "segments", path, "10.0.0.1")


def decode(top, contents, want="", lie=None):
    """decode.sh, with a tshark that lies"""
    for name, text in (("it.pcap", contents), ("it.want", want.encode())):
        with open(os.path.join(top, name), "wb") as file:
            file.write(text)
    if not want:
        os.remove(os.path.join(top, "it.want"))
    environment = dict(os.environ)
    if lie:
        fake = os.path.join(top, "tshark")
        with open(fake, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n%s \"$@\" | sed -E '%s'\n" % (
                shutil.which("tshark"), lie))
        os.chmod(fake, 0o755)
        environment["PATH"] = top + ":" + environment["PATH"]
    return run(os.path.join(HERE, "decode.sh"), os.path.join(top, "it.pcap"),
               env=environment)


def fits(words, status, said):
    """A complaint of a failure, or all of the words"""
    if "=" not in words:
        return status == 1 and words in said
    return status == 0 and set(words.split()) <= set(said.split())


def segments_cases(top):
    for name, frames, words, _ in CASES:
        if words:
            status, said = segments(top, frames)
            yield "segments." + name, fits(words, status, said), said


def decode_cases(top):
    for name, frames, _, words in CASES:
        if words:
            status, said = decode(top, pcap(frames))
            yield name, fits(words, status, said), said
    for name, contents, want, words in FILES:
        status, said = decode(top, contents, want)
        yield "file." + name, status == 1 and words in said, said
    status, said = decode(top, pcap(marked(*FIGURES)),
                          "crc=1 decoder=tshark\n")
    yield "file.want", not status, said
    for name, script in LIES:
        status, said = decode(top, NONE, lie=script)
        yield ("tshark." + name,
               status == 1 and "decode.it tshark differs" in said, said)


def main():
    count = failed = 0
    with tempfile.TemporaryDirectory() as top:
        for name, good, said in (*segments_cases(top), *decode_cases(top)):
            count += 1
            failed += not good
            if not good:
                print("".join("# %s\n" % line for line in said.splitlines()),
                      end="")
            print("%sok %d - decode-test.%s"
                  % ("" if good else "not ", count, name))
    print("1..%d" % count)
    return failed > 0


PEER = run(os.path.join(HERE, os.pardir, "peer", "build.sh"))[1].strip()

if __name__ == "__main__":
    sys.exit(main())
