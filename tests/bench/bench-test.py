#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test the computations of report.py and ooo/stream.py; TAP."""

import contextlib
import csv
import io
import os
import re
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True
BENCH = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [BENCH, os.path.join(BENCH, "ooo")]
# pylint: disable=wrong-import-position
import report  # noqa: E402
import stream  # noqa: E402

# Instructions of sending and receiving, and of sending, for 10000 octets of
# messages of 64 KB; FPDUs of it
COSTS = {"tcp": (8000, 3000, 0), "mpa": (8600, 3200, 8),
         "mpa-crc": (10000, 4000, 8), "mpa-markers": (11000, 4400, 8),
         "mpa-pages": (10100, 4000, 8),
         "tcp-crc": (9600, 3900, 0), "siw-crc": (100000, 60000, 8),
         "siw-gso": (12500, 6000, 1), "siw-write": (90000, 60000, 8),
         "siw-read": (80000, 60000, 8), "rnic": (12000, 5000, 8),
         "rnic-write": (12300, 5000, 8), "rnic-read": (12600, 5000, 8)}
# Each goal with the rows below: bound in the form of the file, measured, verdict
GOALS = {
    "more_per_fpdu": ("<= 400 120 -  # instructions", 75, "met"),
    "crc_per_fpdu": ("<= 700 500 -", 175, "met"),
    "c_to_e": ("<= 1.3 1.1 -", 10 / 9.6, "met"),
    "equal_1408": ("<= 1.5 1 -", 1.2, "bound met"),
    "equal_4096": ("<= 1.25 1.05 -", 1.05, "met"),
    "equal_8192": ("<= 1.25 1.05 -", 1.2, "bound met"),
    "d_to_c": ("<= 1.2 1.1 1.1", 1.1, "met"),
    "pages": ("<= 0.85 - -", 0.8, "met"),
    "pages_8192": ("<= 1.01 - -", 1, "met"),
    "pages_1500": ("<= 1.01 - -", 1.01, "met"),
    "f_to_c": (">= 5 10 -", 10, "met"),
    "c_to_gso": ("<= 1 - -", 0.8, "met"),
    "small": ("<= 0.2 0.1 -", 0.1, "met"),
    "small_lists": ("<= 0.2 0.1 -", 0.15, "bound met"),
    "pingpong": ("<= 1.35 1.15 1.24", 1.25, "WORSE than recorded"),
    "pingpong_thread": ("<= 1.35 1.15 -", 1.3, "bound met"),
    "rnic": ("<= 1.25 - -", 1.2, "met"),
    "siw_rnic": (">= 4.5 - 8.4", 100 / 12, "WORSE than recorded"),
    "rnic_write": ("<= 1.25 - -", 1.23, "met"),
    "siw_rnic_write": (">= 4.5 - -", 900 / 123, "met"),
    "rnic_read": ("<= 1.26 - -", 1.26, "met"),
    "siw_rnic_read": (">= 4.5 - -", 800 / 126, "met"),
    "rnic_one": ("<= 0.5 - -", 0.3, "met"),
    "rnic_small": ("<= 0.25 - -", 0.2, "met"),
    "rnic_pingpong": ("<= 1.05 - 1.1", 1.1, "MISSED"),
    "aligned": (">= 1 - -", 1, "met"),
    "aligned_oneway": (">= 0.98 0.995 -", 0.996, "met"),
    "aligned_twoway": (">= 0.98 0.995 -", 0.99, "bound met"),
    "aligned_slow": (">= 0.98 0.995 -", 0.97, "MISSED"),
    "conns": ("<= 0.15 0.05 -", 0.1, "bound met"),
    "memory": ("<= 1024 512 -", 600, "bound met"),
}
BOUNDS = "\n".join("%s %s" % (name, goal[0]) for name, goal in GOALS.items())


def line(name, **keys):
    return " ".join(["row=" + name, *("%s=%s" % pair for pair in keys.items())])


def flow(name, insns, transport, **keys):
    return line(name, **{
        "run": 1, "kind": "stream", "transport": transport, "net": "veth",
        "mtu": 1500, "size": 65536, "conns": 1, "part": "both",
        "octets": 10000, "messages": 2, "insns": insns, "fpdus": 8, "calls": 1,
        "segments": 9, "emss_start": 1448, "emss_end": 1448, "verified": 1,
        **keys})


def ping(name, insns, transport, rounds=2, **keys):
    return line(name, run=1, kind="pingpong", transport=transport, net="veth",
                size=64, rounds=rounds, insns=insns, **keys)


def align(name, loss, slow, good):
    return line(name, run=1, kind="align", loss=loss, slow=slow,
                traffic=name.rpartition("/")[2], segments=1000, aligned=good)


def memory(name, octets):
    return line(name, run=1, kind="memory", transport="mpa-crc", conns=1024,
                bytes=octets)


def made():
    lines = []
    for transport, (both, tx, fpdus) in COSTS.items():
        name = "stream/veth/1500/65536/" + transport
        lines += [flow(name, both, transport, fpdus=fpdus),
                  flow(name + "/tx", tx, transport, fpdus=fpdus, part="tx"),
                  flow(name, both, transport, fpdus=fpdus, run=2)]
    lines += [flow("stream/veth/1500/64/" + transport, insns, transport, size=64,
                   octets=640, messages=10) for transport, insns in (
                       ("mpa-crc", 3000), ("siw-crc", 20000), ("siw-one", 30000),
                       ("rnic", 4000), ("rnic-one", 9000))]
    for size, mtu, insns in ((1408, 1500, 12000), (4096, 9000, 10500),
                             (8192, 9000, 12000)):
        lines += [flow("stream/veth/%d/%d/%s" % (mtu, size, transport), cost,
                       transport, size=size, mtu=mtu)
                  for transport, cost in (("mpa-crc", insns), ("tcp-crc", 10000))]
    lines += [flow("stream/%s/9000/%d/%s" % (net, size, transport), cost, transport,
                   net=net, size=size, mtu=9000)
              for net, size, transport, cost in (
                  ("nic", 65536, "mpa-crc", 10000), ("nic", 65536, "mpa-pages", 8000),
                  ("veth", 65536, "mpa-crc", 10000), ("veth", 65536, "mpa-pages", 10500),
                  ("veth", 8192, "mpa-pages", 12000))]
    lines += [ping("ping/" + transport, insns, transport) for transport, insns in (
        ("mpa-crc", 25000), ("tcp", 20000), ("siw-crc", 40000), ("rnic", 44000))]
    lines += [ping("ping/mpa-crc/thread", 26000, "mpa-crc", part="thread")]
    lines += [flow("conns/%d" % conns, insns, "mpa-crc", size=8192, octets=1000,
                   conns=conns) for conns, insns in (
                       (1, 1000), (64, 1100), (1024, 1050))]
    native = dict(kind="native", what="crc", size=1448, layout="pieces")
    return "\n".join(lines + [
        align("none/twoway", 0, 0, 1000), align("loss/oneway", 1, 0, 996),
        align("loss/twoway", 1, 0, 990), align("more/twoway", 1, 0, 995),
        align("slow/oneway", 0, 1, 970),
        memory("memory", 600), line("native", run=1, ns=190.5, **native),
        line("native", run=2, ns=180.1, **native),
        line("ktls", kind="stream", transport="ktls", skip="no-kTLS")]) + "\n"


ROWS = report.build(made())


def near(a, b):
    return a == b or (None not in (a, b) and abs(a - b) < 1e-9)


# Cases: name, result, message for a failure

def figure_cases():
    row = report.find(ROWS, row="stream/veth/1500/65536/mpa-crc")
    wanted = {"insn_per_octet": 1, "tx_insn_per_octet": 0.4,
              "rx_insn_per_octet": 0.6, "rx_insn_per_fpdu": 750,
              "tx_insn_per_message": 2000, "calls_per_fpdu": 1 / 8,
              "segments_per_fpdu": 9 / 8, "same": "yes", "insns_again": 10000}
    yield ("figures", all(near(row[name], figure) if name != "same" else
                          row[name] == figure for name, figure in wanted.items())
           and "boots" not in row, str(row))
    row = report.find(ROWS, row="stream/veth/1500/65536/tcp")
    yield "figures.no-fpdus", row["insn_per_fpdu"] is None, str(row)
    for goal in report.judge(ROWS, report.parse_bounds(BOUNDS)):
        _, measured, said = GOALS[goal["name"]]
        yield ("goal." + goal["name"], near(goal["measured"], measured)
               and goal["verdict"] == said, str(goal))
    said = {goal["name"]: goal["verdict"] for goal in report.judge(
        [], report.parse_bounds(BOUNDS), True)}
    yield ("goal.quick", said["conns"] == "not in quick mode"
           and said["aligned"] == "not measured", str(said))


# name, the second run of the first boot, then of the second: same, boots
RUNS = [
    ("runs.agree", 8000, 8000, "yes", "yes"), ("runs.run", 8001, 8001, "no", "yes"),
    ("runs.boot", 8000, 8001, "yes", "no"),
]
# name, wrong input, complaint
WRONG = [
    ("key", flow("a", 1, "tcp").replace(" calls=1", ""), "without calls"),
    ("kind", flow("a", 1, "tcp").replace("=stream", "=river"), "a known kind"),
    ("word", "row=a run=1 kind=stream verified", "cannot parse"),
    ("twice", "\n".join([flow("a", 1, "tcp")] * 2), "run 1 twice"),
    ("first", flow("a", 1, "tcp", run=2), "without its first"),
    ("verified", flow("a", 1, "tcp", verified=0), "not those sent"),
    ("alike", "\n".join(flow(name, 1, "tcp", part="tx") for name in "ac") + "\n"
     + flow("b", 1, "tcp"), "are the same"),
]


def input_cases():
    for name, again, other, same, boots in RUNS:
        row = report.build("\n".join(
            flow("it", insns, "tcp", run=run, boot=boot) for boot, run, insns in (
                (1, 1, 8000), (1, 2, again), (2, 1, 8000), (2, 2, other))))[0]
        yield name, (row["same"], row["boots"]) == (same, boots), str(row)
    for name, text, words in WRONG:
        try:
            said = "not noticed: %s" % report.build(text)
        except report.Bad as bad:
            said = str(bad)
        yield "wrong." + name, words in said, said


def run(*words):
    """The program: its status, and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), mock.patch("sys.argv", ["", *words]):
        try:
            return report.main(), said.getvalue()
        except report.Bad as bad:
            return 2, str(bad)


DOC = """Text.

.. bench goals

old

.. bench end

More.

.. bench native
.. bench end
"""
FINE = BOUNDS.replace("8.4", "8.3").replace("1.24", "1.25")
CEILINGS = "# row  most\n" + report.ceilings_of(ROWS, 1)
# name, replaced in the rows, by what; options; status, words. rnic_pingpong is missed by
# the record as well.
PROGRAM = [
    ("missed", "aligned=990", "aligned=970", ("--quick",), 1, "MISSED"),
    ("full", "", "", (), 1, "MISSED"),
    ("known", "", "", ("--quick",), 0, "MISSED"),
    ("recorded", "", "", ("--recorded",), 0,
     "13 rows ran twice in one boot, 13 agree exactly\nnot possible: ktls, no-kTLS"),
    ("not-valid", "insns=8000 ", "insns=14000 ", ("--quick",), 1,
     "NOT VALID: stream/veth/1500/65536/tcp costs 1.400"),
    ("above", "run=1 kind=pingpong transport=mpa-crc net=veth size=64 rounds=2 "
     "insns=25000", "run=1 kind=pingpong transport=mpa-crc net=veth size=64 rounds=2 "
     "insns=25002", ("--quick",), 1, "ABOVE its ceiling: ping/mpa-crc, 12501, not 12500"),
    ("lost-row", "row=conns/64 ", "row=conns/65 ", ("--quick",), 1,
     "conns/65, 550, has no ceiling"),
    ("lacking", "transport=mpa-crc conns", "transport=mpa conns", ("--quick",), 1,
     "not measured"),
]


def program_cases():
    with tempfile.TemporaryDirectory() as out:
        def write(name, text):
            path = os.path.join(out, name)
            report.write(path, text)
            return path
        bounds = write("bounds", FINE)
        files = "--bounds", bounds, "--ceilings", write("ceilings", CEILINGS)
        for name, old, new, options, wanted, words in PROGRAM:
            write("rows", made().replace("=970", "=990").replace(old or "\0", new))
            status, said = run(*files, *options, out)
            yield "program." + name, status == wanted and words in said, said
        with open(os.path.join(out, "results.csv"), encoding="ascii") as file:
            found = {row["row"]: row for row in csv.DictReader(file)}
        row = found["stream/veth/1500/65536/mpa-crc"]
        yield ("program.csv", len(found) == len(ROWS) and row["letter"] == "C"
               and list(row) == report.COLUMNS and row["insn_per_octet"] == "1.0",
               str(row))
        doc = write("doc.rst", DOC)
        run(*files, "--doc", doc, out)
        text = report.read(doc)
        yield ("program.doc", "\nold\n" not in text and "\ncrc   1448   180" in text
               and text.startswith("Text.\n\n.. bench goals\n\n====")
               and "\n.. bench end\n\nMore.\n" in text, text)
        text = report.read(files[-1])
        yield "program.ceilings", "# row  most\nconns 1=" in text and (
            "\nping mpa-crc=12625 mpa-crc/thread=13130 rnic=22220\n" in text), text
        doc = write("doc.rst", DOC.replace("native", "other"))
        yield "program.no-table", run(*files, "--doc", doc, out)[0] == 2, doc
        # The project's own bounds fit the goals, whatever the verdicts
        yield "program.bounds", run(out)[0] < 2, ""


# Rows before and after: name, lines, verdict
COMPARED = [
    (flow("same", 10000, "mpa"), flow("same", 10200, "mpa"), "same"),
    (flow("less", 10000, "mpa", size=2), flow("less", 9900, "mpa", size=2), "same"),
    (flow("dear", 10000, "mpa", net="lo"), flow("dear", 10210, "mpa", net="lo"),
     "WORSE"),
    (flow("cheap", 10000, "mpa", conns=2), flow("cheap", 9000, "mpa", conns=2),
     "better"),
    (flow("best", 10000, "mpa", size=1) + "\n" + flow("best", 9000, "mpa", size=1,
                                                      run=2),
     flow("best", 9100, "mpa", size=1), "same"),
    (flow("gone", 10000, "mpa", conns=3), "", "LOST"),
    ("", flow("more", 10000, "mpa", conns=4), "new"),
    (flow("tls", 1, "ktls"), flow("tls", 2, "ktls"), "not ours"),
    (ping("ping", 1000, "mpa", 100), ping("ping", 1000, "mpa", 97), "WORSE"),
    (align("x/oneway", 0, 0, 990), align("x/oneway", 0, 0, 960), "WORSE"),
    (memory("memory", 0), memory("memory", 1), "WORSE"),
]


def compare_cases():
    with tempfile.TemporaryDirectory() as top:
        for at, name in enumerate(("old", "new")):
            os.mkdir(os.path.join(top, name))
            report.write(os.path.join(top, name, "rows"),
                         "\n".join(pair[at] for pair in COMPARED) + "\n")
        dirs = [os.path.join(top, name) for name in ("old", "new")]
        status, said = run("--compare", *dirs)
        for old, new, wanted in COMPARED:
            name = (old or new).split()[0][4:]
            yield ("compare." + name, status == 1 and re.search(
                r"^%s .* %s$" % (name, wanted), said, re.M), said)
        yield "compare.count", "\n5 of 11 rows cost at least 2 % more" in said, said
        yield "compare.same", run("--compare", dirs[0], dirs[0])[0] == 0, said


# Segments of 100 octets: the second is lost and comes last, the fifth twice
OOO_ARRIVED = ["7.000000000\t0\t0\n"] + [
    "7.0000%d\t%d\t100\n" % (us, 21 + at) for us, at in (
        (10, 0), (20, 200), (30, 300), (40, 400), (50, 400), (60, 100))]
OOO_TRACE = """
 kworker/0:1-9 [000] ..... 7.000011: mpa_recv: conn=0a ulpdus=1 delivered=100
 kworker/0:1-9 [000] ..... 7.000012: mpa_recv: conn=0b ulpdus=1 delivered=9999
 kworker/0:1-9 [000] ..... 7.000024: mpa_recv_ooo: conn=0a ulpdus=1 from=200 to=300
 kworker/0:1-9 [000] ..... 7.000036: mpa_recv_ooo: conn=0a ulpdus=1 from=300 to=400
%s kworker/0:1-9 [000] ..... 7.000067: mpa_recv: conn=0a ulpdus=2 delivered=500
"""
LATE = (" kworker/0:1-9 [000] ..... 7.000063: mpa_recv_ooo: conn=0a ulpdus=1"
        " from=400 to=500\n")
OOO_FIGURES = {"holes": 1, "behind": 300, "ooo": 200, "work": 400,
               "left": 200, "wait_p50": 4000, "wait_p95": 6000,
               "all_p50": 6000, "all_p95": 27000, "deliver_p50": 7000,
               "deliver_kb": 17500}


def ooo_cases():
    view = stream.holes(OOO_ARRIVED)
    # A ULPDU passed when the hole had closed is not passed out of order
    for name, trace in (("figures", OOO_TRACE % ""), ("late", OOO_TRACE % LATE)):
        found = stream.figures(view, stream.Passed(*stream.events(trace)))
        yield ("ooo." + name, found.items() >= OOO_FIGURES.items() if name != "late"
               else found["ooo"] == 200, str(found))
    for name, trace in (("twice", OOO_TRACE % LATE.replace("400", "390")),
                        ("back", OOO_TRACE.replace("=100", "=600") % "")):
        try:
            stream.Passed(*stream.events(trace))
            yield "ooo." + name, False, "not noticed"
        except stream.Bad as bad:
            yield "ooo." + name, True, str(bad)


def columns_case():
    """The columns are documented, in their order."""
    text = report.read(BENCH, os.pardir, os.pardir, "Documentation", "networking",
                       "mpa-performance.rst").split(".. bench columns")[1]
    named = [word.strip("`,") for row in text.splitlines() if row.startswith("``")
             for word in row.split() if word.startswith("``")]
    yield ("docs.columns", named == report.COLUMNS,
           "the text has %s" % (set(named) ^ set(report.COLUMNS)))


def main():
    cases = [*figure_cases(), *input_cases(), *program_cases(), *compare_cases(),
             *ooo_cases(), *columns_case()]
    print("1..%d" % len(cases))
    for name, good, said in cases:
        if not good:
            print("".join("# %s\n" % text for text in said.splitlines()), end="")
        print("%sok - bench.%s" % ("" if good else "not ", name))
    return not all(good for _, good, _ in cases)


if __name__ == "__main__":
    sys.exit(main())
