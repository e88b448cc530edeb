# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The two decoders of tests/interop/decode.py."""

import bisect
import collections
import ctypes
import heapq
import os
import re
import subprocess

from streams import Bad

KUNIT = os.path.join(os.path.dirname(os.path.realpath(__file__)), os.pardir,
                     os.pardir, "kunit")

# An FPDU as a decoder sees it: offset after the startup frame, size on the wire,
# ULPDU_Length, whether the CRC is good (None: not in use), markers
Fpdu = collections.namedtuple("Fpdu", "offset size length crc markers")


def show(fpdu):
    crc = {True: "good", False: "bad", None: "unused"}[fpdu.crc]
    return ("offset %d, %d octets, ULPDU_Length %d, CRC %s, %d markers"
            % (fpdu.offset, fpdu.size, fpdu.length, crc, fpdu.markers))


# The reference decoder

class Reference:
    """kunit/mpa_ref.c, compiled for this machine."""

    GOOD, MORE, CRC, MARKER = range(4)

    def __init__(self, directory):
        library = os.path.join(directory, "mpa_ref.so")
        subprocess.run(
            [os.environ.get("CC", "gcc"), "-std=gnu11", "-O2", "-Wall",
             "-shared", "-fPIC", "-include", "stdbool.h", "-include",
             "stddef.h", "-Du8=unsigned char", "-Du32=unsigned int",
             "-Du64=unsigned long long", "-o", library,
             os.path.join(KUNIT, "mpa_ref.c")], check=True)
        self.library = ctypes.CDLL(library)
        self.ulpdu = ctypes.create_string_buffer(1 << 16)
        self.built = ctypes.create_string_buffer(1 << 17)

    def decode(self, address, have, at, markers, crc):
        """Verdict, size and ULPDU_Length of the FPDU at an offset."""
        length, size = ctypes.c_uint(), ctypes.c_uint()
        verdict = self.library.mpa_ref_decode(
            ctypes.c_void_p(address), ctypes.c_uint(have),
            ctypes.c_ulonglong(at), ctypes.c_bool(markers), ctypes.c_bool(crc),
            self.ulpdu, ctypes.byref(length), ctypes.byref(size))
        return verdict, size.value, length.value

    def encode(self, at, length, markers, crc):
        """The FPDU of the ULPDU decoded last, as a sender builds it."""
        size = self.library.mpa_ref_encode(
            self.built, ctypes.c_ulonglong(at), self.ulpdu,
            ctypes.c_uint(length), ctypes.c_bool(markers), ctypes.c_bool(crc))
        return ctypes.string_at(self.built, size)

    def take_apart(self, octets, markers, crc):
        """The FPDUs of a stream, complaints, and where it is cut short."""
        kept = ctypes.create_string_buffer(octets, len(octets))
        fpdus, complaints, at = [], [], 0
        while at < len(octets):
            verdict, size, length = self.decode(
                ctypes.addressof(kept) + at, len(octets) - at, at, markers, crc)
            if verdict == self.MORE:
                return fpdus, complaints, at
            if not size:
                complaints.append("offset %d: ULPDU_Length %d" % (at, length))
                break
            found = octets[at:at + size]
            if crc and verdict == self.CRC:
                complaints.append("offset %d: wrong CRC" % at)
            if verdict == self.MARKER:
                complaints.append("offset %d: a marker is wrong" % at)
            if verdict == self.GOOD:
                complaints += self.compare(at, found, length, markers, crc)
            extra = size - (6 + length + -(2 + length) % 4)
            fpdus.append(Fpdu(at, size, length, verdict != self.CRC
                              if crc else None, extra // 4))
            if verdict == self.MARKER:
                break
            at += size
        return fpdus, complaints, None

    def compare(self, at, found, length, markers, crc):
        """Violations by the sender that a receiver does not check."""
        end = len(found) - (0 if crc else 4)
        built = self.encode(at, length, markers, crc)
        if found[:end] == built[:end]:
            return []
        place = next(n for n in range(end) if found[n] != built[n])
        return ["offset %d: %02x is sent where %02x has to be"
                % (at + place, found[place], built[place])]


# tshark

class Tshark:
    """tshark, with settings of ours alone."""

    def __init__(self, directory):
        self.errors = os.path.join(directory, "errors")
        self.environment = {**os.environ, "HOME": directory,
                            "XDG_CONFIG_HOME": directory, "LC_ALL": "C"}
        self.command = ["tshark", "-T", "pdml", "-J", "iwarp_mpa",
                        "-o", "tcp.try_heuristic_first:TRUE",
                        "-o", "tcp.reassemble_out_of_order:TRUE"]
        for protocol in self.others():
            self.command += ["--disable-protocol", protocol]

    def others(self):
        """Other protocols that might claim an FPDU, or its contents."""
        listed = subprocess.run(
            ["tshark", "-G", "heuristic-decodes"], env=self.environment,
            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True)
        return ["iwarp_ddp_rdmap"] + [
            line.split("\t")[1] for line in listed.stdout.splitlines()
            if line.startswith("tcp\t") and "\tiwarp_mpa\t" not in line]

    def dissect(self, path):
        shown = Shown()
        with open(self.errors, "w+", encoding="utf-8") as errors, \
                subprocess.Popen(self.command + ["-r", path], text=True,
                                 env=self.environment, stderr=errors,
                                 stdout=subprocess.PIPE) as tshark:
            for line in tshark.stdout:
                shown.line(line)
            if tshark.wait():
                errors.seek(0)
                raise Bad("tshark: " + errors.read().splitlines()[-1])
        return shown


class Shown:
    """The fields of MPA that tshark shows in a capture."""

    PROTOCOL = re.compile(r'<proto name="iwarp_mpa" .*?size="(\d+)"')
    FIELD = re.compile(r'<field name="(?:iwarp_mpa\.)?(\w+)" '
                       r'(?:showname="([^"]*)")?.*? show="([^"]*)"')

    def __init__(self):
        self.frames = collections.defaultdict(list)
        self.number = 0

    def line(self, line):
        """Take a line of PDML, which has a tag on each."""
        if '"num"' not in line and "iwarp_mpa" not in line:
            return
        protocol = self.PROTOCOL.search(line)
        if protocol:
            self.frames[self.number].append({"size": int(protocol[1]),
                                             "markers": 0})
            return
        field = self.FIELD.search(line)
        if not field:
            return
        name, text, value = field.groups()
        if name == "num":
            self.number = int(value)
        elif self.number in self.frames:
            self.field(self.frames[self.number][-1], name, text, value)

    @staticmethod
    def field(item, name, text, value):
        if name == "marker_fpduptr":
            item["markers"] += 1
        elif name == "crc_check":
            item["crc"] = "(Good CRC32)" in text
        elif name in ("req", "rep"):
            item["kind"] = name
        elif name in ("ulpdulength", "rev", "pdlength", "marker_flag",
                      "crc_flag", "rej_flag"):
            item[name] = int(value)

    def startup(self, direction):
        """The startup frames of a direction, as Frame has them."""
        return [tuple(map(item.get, ("kind", "marker_flag", "crc_flag",
                                     "rej_flag", "rev", "pdlength")))
                for _, item in self.items(direction) if "kind" in item]

    def fpdus(self, direction):
        """Pairs of a frame's number and the FPDU that ends in it."""
        at, found = 0, []
        for number, item in self.items(direction):
            if "ulpdulength" in item:
                found.append((number, Fpdu(
                    at, item["size"], item["ulpdulength"], item.get("crc"),
                    item["markers"])))
                at += item["size"]
        return found

    def items(self, direction):
        for _, _, number in direction.pieces:
            for item in self.frames.get(number, ()):
                yield number, item


def completed(direction):
    """Pairs of an offset and the frame with which all up to it was there."""
    waiting, reach, found = [], 0, []
    for offset, payload, number in direction.pieces:
        heapq.heappush(waiting, (offset, len(payload)))
        before = reach
        while waiting and waiting[0][0] <= reach:
            reach = max(reach, sum(heapq.heappop(waiting)))
        if reach > before:
            found.append((reach, number))
    return found


def placed(direction, base, fpdus):
    """The same pairs as Shown.fpdus(), for FPDUs of the reference."""
    reaches, numbers = zip(*completed(direction))
    return [(numbers[bisect.bisect_left(
        reaches, base + fpdu.offset + fpdu.size)], fpdu) for fpdu in fpdus]
