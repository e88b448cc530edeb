# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Octets received after holes of a TCP stream, and when MPA passed them.

Stream positions count from the first octet of full operation; times are ns.
"""

import bisect
import collections
import re
import subprocess

FRAME = 20      # octets of a startup frame without private data

# Octets of a segment that arrived after a hole, which was filled at `closed`
Piece = collections.namedtuple("Piece", "time start end closed")
# A hole that closed: the stream is complete from `start` to `end` since `time`
Closed = collections.namedtuple("Closed", "time start end")
# ULPDUs passed before their turn; and the stream passed and delivered up to
Ooo = collections.namedtuple("Ooo", "time start end")
Delivered = collections.namedtuple("Delivered", "time upto")


class Bad(Exception):
    """Invalid input."""


def captured(path):
    """Time, sequence number (the SYN has 0) and octets of each segment."""
    done = subprocess.run(
        ["tshark", "-r", path, "-T", "fields", "-e", "frame.time_epoch", "-e",
         "tcp.seq", "-e", "tcp.len"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode:
        raise Bad("tshark cannot read %s" % path)
    return done.stdout.splitlines()


def arrivals(lines):
    """Yield (time, start, end) for each segment of the one connection."""
    for number, line in enumerate(lines):
        time, seq, length = line.split()
        if number == 0 and seq != "0":
            raise Bad("the capture lacks the SYN")
        second, fraction = time.split(".")
        start = int(seq) - 1 - FRAME
        if start >= 0 and length != "0":
            yield (int(second) * 10**9 + int(fraction.ljust(9, "0")), start,
                   start + int(length))


class Holes:
    """A receiver's view of the stream."""

    def __init__(self):
        self.next = 0           # next position expected
        self.behind = []        # [start, end] of octets received past that
        self.open = []          # (time, start, end) of it, as it arrived
        self.pieces = []
        self.closed = []

    def arrive(self, time, start, end):
        start = max(start, self.next)
        if start >= end:
            return
        if start > self.next:
            self._keep(time, start, end)
        else:
            self._advance(time, end)

    def _keep(self, time, start, end):
        """Record the new octets in it."""
        at = start
        for known, upto in self.behind + [[end, end]]:
            if at < min(known, end):
                self.open.append((time, at, min(known, end)))
            at = max(at, min(upto, end))
        self.behind = merge(self.behind + [[start, end]])

    def _advance(self, time, end):
        first = self.next
        self.next = end
        while self.behind and self.behind[0][0] <= self.next:
            self.next = max(self.next, self.behind.pop(0)[1])
        if not [o for o in self.open if o[1] < self.next]:
            return
        self.closed.append(Closed(time, first, self.next))
        self.pieces += [Piece(*o, time) for o in self.open
                        if o[1] < self.next]
        self.open = [o for o in self.open if o[1] >= self.next]


def merge(ranges):
    merged = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def holes(lines):
    view = Holes()
    for arrival in arrivals(lines):
        view.arrive(*arrival)
    return view


EVENT = re.compile(r" (\d+)\.(\d{6}): (mpa_recv|mpa_recv_ooo): (.*)")


def events(text):
    """The events of the connection that received most: ooo, delivered."""
    found = collections.defaultdict(lambda: ([], []))
    for second, us, name, said in EVENT.findall(text):
        time = int(second) * 10**9 + int(us) * 1000
        field = dict(pair.split("=", 1) for pair in said.split())
        ooo, delivered = found[field["conn"]]
        if name == "mpa_recv_ooo":
            ooo.append(Ooo(time, int(field["from"]), int(field["to"])))
        else:
            delivered.append(Delivered(time, int(field["delivered"])))
    if not found:
        raise Bad("no events")
    return max(found.values(), key=lambda lists: len(lists[1]))


class Passed:
    """Octets passed out of order, by position; and Delivery, by time."""

    def __init__(self, ooo, delivered):
        self.ooo = sorted(ooo, key=lambda e: e.start)
        self.starts = [e.start for e in self.ooo]
        self.delivered = delivered
        self.upto = [d.upto for d in delivered]
        for one, other in zip(self.ooo, self.ooo[1:]):
            if one.end > other.start:
                raise Bad("passed twice: %d" % other.start)
        if self.upto != sorted(self.upto):
            raise Bad("Delivery went back")

    def octets(self, start, end, before):
        """How many of these octets were passed out of order before that time."""
        at = max(0, bisect.bisect_right(self.starts, start) - 1)
        total = 0
        while at < len(self.ooo) and self.ooo[at].start < end:
            e = self.ooo[at]
            if e.time < before:
                total += max(0, min(end, e.end) - max(start, e.start))
            at += 1
        return total

    def time_ooo(self, octet):
        at = bisect.bisect_right(self.starts, octet) - 1
        if at < 0 or self.ooo[at].end <= octet:
            return None
        return self.ooo[at].time

    def time_delivered(self, upto):
        at = bisect.bisect_left(self.upto, upto)
        return self.delivered[at].time if at < len(self.upto) else None

    def whole(self, start, end):
        """The last position in there that was ever delivered up to."""
        at = bisect.bisect_right(self.upto, end) - 1
        return self.upto[at] if at >= 0 and self.upto[at] > start else end


def percentile(values, share):
    """The least value that this share of them is not above."""
    ordered = sorted(values)
    at = max(0, -int(-len(ordered) * share // 1) - 1)
    return ordered[at] if ordered else None


def passing_times(view, passed):
    """From arrival to being passed, out of order or not, of each piece."""
    for piece in view.pieces:
        time = passed.time_ooo(piece.end - 1)
        if time is None:
            time = passed.time_delivered(piece.end)
        if time is not None:
            yield time - piece.time, time < piece.closed


def delivery_times(view, passed):
    """From a hole's closing to Delivery of all that then was complete."""
    for hole in view.closed:
        time = passed.time_delivered(passed.whole(hole.start, hole.end))
        if time is not None:
            yield max(0, time - hole.time)


def figures(view, passed):
    """All results for one connection."""
    behind = sum(p.end - p.start for p in view.pieces)
    ooo = sum(passed.octets(p.start, p.end, p.closed) for p in view.pieces)
    whole = sum(h.end - h.start for h in view.closed)
    times = list(passing_times(view, passed))
    at_once = [time for time, was_ooo in times if was_ooo]
    last = list(delivery_times(view, passed))
    return {
        "holes": len(view.closed),
        "behind": behind,
        "ooo": ooo,
        "share": ooo / behind if behind else None,
        "work": whole,
        "left": whole - ooo,
        "wait_p50": percentile(at_once, 0.5),
        "wait_p95": percentile(at_once, 0.95),
        "all_p50": percentile([time for time, _ in times], 0.5),
        "all_p95": percentile([time for time, _ in times], 0.95),
        "deliver_p50": percentile(last, 0.5),
        "deliver_p95": percentile(last, 0.95),
        "deliver_kb": sum(last) * 1000 // whole if last else None,
    }
