#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test the computations of tests/bench/report.py with made-up rows; TAP."""

import csv
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
PARTS = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, PARTS)
# pylint: disable=wrong-import-position
import reckon  # noqa: E402

# Instructions of sending and receiving, and of sending, for 10000 octets of
# messages of 64 KB; FPDUs of it
COSTS = {"tcp": (8000, 3000, 0), "mpa": (8600, 3200, 8),
         "mpa-crc": (10000, 4000, 8), "mpa-markers": (11000, 4400, 8),
         "tcp-crc": (9600, 3900, 0), "siw-crc": (100000, 60000, 8),
         "siw-gso": (12500, 6000, 1), "rnic": (12000, 5000, 8)}
BOUNDS = """
more_per_fpdu <= 400 120 -  # instructions
c_to_e <= 1.3 1.1 -
d_to_c <= 1.2 1.1 -
f_to_c >= 5 9 -
c_to_gso <= 1 - -
small <= 0.2 0.1 -
small_lists <= 0.2 0.1 -
pingpong <= 1.35 1.15 -
rnic <= 1.25 - -
siw_rnic >= 4.5 - -
rnic_small <= 0.25 - -
rnic_pingpong <= 1.2 - -
aligned >= 1 - -
aligned_oneway >= 0.98 0.995 -
aligned_twoway >= 0.98 0.995 -
aligned_slow >= 0.98 0.995 -
conns <= 0.15 0.05 -
memory <= 1024 512 -
"""
# Each goal with the rows below: measured, verdict
GOALS = {
    "more_per_fpdu": (75, "met"), "c_to_e": (10 / 9.6, "met"),
    "d_to_c": (1.1, "met"), "f_to_c": (10, "met"), "c_to_gso": (0.8, "met"),
    "small": (0.1, "met"), "small_lists": (0.15, "bound met"),
    "pingpong": (1.25, "bound met"),
    "rnic": (1.2, "met"), "siw_rnic": (100 / 12, "met"),
    "rnic_small": (0.2, "met"), "rnic_pingpong": (1.1, "met"),
    "aligned": (1, "met"), "aligned_oneway": (0.996, "met"),
    "aligned_twoway": (0.99, "bound met"), "aligned_slow": (0.97, "MISSED"),
    "conns": (0.1, "bound met"), "memory": (600, "bound met"),
}


def line(name, **keys):
    return " ".join(["row=" + name, *("%s=%s" % pair for pair in
                                      keys.items())])


def stream(name, insns, transport, **keys):
    return line(name, **{
        "run": 1, "kind": "stream", "transport": transport, "net": "veth",
        "mtu": 1500, "size": 65536, "conns": 1, "part": "both",
        "octets": 10000, "messages": 2, "insns": insns, "fpdus": 8, "calls": 1,
        "segments": 9, "emss_start": 1448, "emss_end": 1448, "verified": 1,
        **keys})


def made():
    """{(row, run): line} of a whole run."""
    lines = []
    for transport, (both, tx, fpdus) in COSTS.items():
        name = "stream/veth/1500/65536/" + transport
        lines += [stream(name, both, transport, fpdus=fpdus),
                  stream(name + "/tx", tx, transport, fpdus=fpdus, part="tx"),
                  stream(name, both, transport, fpdus=fpdus, run=2)]
    for transport, insns in (("mpa-crc", 3000), ("siw-crc", 20000),
                             ("siw-one", 30000), ("rnic", 4000)):
        lines.append(stream("stream/veth/1500/64/" + transport, insns,
                            transport, size=64, octets=640, messages=10))
    for transport, insns in (("mpa-crc", 25000), ("tcp", 20000),
                             ("siw-crc", 40000), ("rnic", 44000)):
        lines.append(line("pingpong/veth/64/" + transport, run=1,
                          kind="pingpong", transport=transport, net="veth",
                          size=64, rounds=2, insns=insns))
    for conns, insns in ((1, 1000), (64, 1100), (1024, 1050)):
        lines.append(stream("conns/%d/mpa-crc" % conns, insns, "mpa-crc",
                            size=8192, octets=1000, conns=conns))
    lines += [align("loss0/twoway", 0, 0, 1000),
              align("loss1/oneway", 1, 0, 996),
              align("loss1/twoway", 1, 0, 990), align("slow", 0, 1, 970),
              line("memory/mpa-crc", run=1, kind="memory",
                   transport="mpa-crc", conns=1024, bytes=600),
              line("native/crc", run=1, kind="native", what="crc", size=1448,
                   layout="pieces", ns=190.5),
              line("native/crc", run=2, kind="native", what="crc", size=1448,
                   layout="pieces", ns=180.1),
              line("stream/lo/ktls", kind="stream", transport="ktls",
                   skip="no-kTLS")]
    return lines


def align(name, loss, slow, good):
    return line("align/" + name, run=1, kind="align", loss=loss, slow=slow,
                traffic=name.partition("/")[2] or "oneway", segments=1000,
                aligned=good, more=1)


ROWS = reckon.build("\n".join(made()))


def near(a, b):
    return a == b or (None not in (a, b) and abs(a - b) < 1e-9)


# Cases: name, result, message for a failure

def figure_cases():
    row = reckon.find(ROWS, row="stream/veth/1500/65536/mpa-crc")
    for name, wanted in {
            "insn_per_octet": 1, "tx_insn_per_octet": 0.4,
            "rx_insn_per_octet": 0.6, "insn_per_fpdu": 1250,
            "tx_insn_per_fpdu": 500, "rx_insn_per_fpdu": 750,
            "insn_per_message": 5000, "tx_insn_per_message": 2000,
            "rx_insn_per_message": 3000, "calls_per_fpdu": 1 / 8,
            "segments_per_fpdu": 9 / 8}.items():
        yield "figure." + name, near(row[name], wanted), str(row[name])
    plain = reckon.find(ROWS, row="stream/veth/1500/65536/tcp")
    yield "figure.no-fpdus", plain["insn_per_fpdu"] is None, str(plain)
    tx = reckon.find(ROWS, row="stream/veth/1500/65536/tcp/tx")
    yield ("figure.tx-alone", near(tx["insn_per_octet"], 0.3)
           and "rx_insn_per_octet" not in tx, str(tx))
    found = [row for row in reckon.ratios(ROWS) if row["size"] == 65536]
    yield ("figure.ratios", len(found) == 1 and near(found[0]["B/A"], 1.075)
           and near(found[0]["D/C"], 1.1) and found[0]["G/C"] is None,
           str(found))


def goal_cases():
    goals = reckon.judge(ROWS, reckon.parse_bounds(BOUNDS))
    for goal in goals:
        measured, said = GOALS[goal["name"]]
        yield ("goal." + goal["name"], near(goal["measured"], measured)
               and goal["verdict"] == said, str(goal))
    yield "goal.reached", not reckon.reached(goals), "slow was missed"
    good = [dict(goal, verdict=said) for goal, said in zip(
        goals, ("met", "bound met", "not in quick mode"))]
    yield "goal.all-reached", reckon.reached(good), str(good)
    for said in ("not measured", "WORSE than recorded"):
        bad = good + [dict(goals[0], verdict=said)]
        yield "goal." + said.replace(" ", "-"), not reckon.reached(bad), said


def verdict_cases():
    for name, arguments, wanted in [
            ("most", (1.1, "<=", 1.3, 1.1, None), "met"),
            ("most-aim", (1.11, "<=", 1.3, 1.1, None), "bound met"),
            ("most-bound", (1.31, "<=", 1.3, 1.1, None), "MISSED"),
            ("recorded", (1.06, "<=", 1.3, 1.1, 1.05), "WORSE than recorded"),
            ("recorded-miss", (1.41, "<=", 1.3, 1.1, 1.4),
             "WORSE than recorded"),
            ("known-miss", (1.4, "<=", 1.3, 1.1, 1.4), "MISSED"),
            ("within-recorded", (1.05, "<=", 1.3, 1.1, 1.05), "met"),
            ("least", (9.1, ">=", 5, 9, 9), "met"),
            ("least-aim", (8.9, ">=", 5, 9, None), "bound met"),
            ("least-recorded", (8.9, ">=", 5, 9, 9), "WORSE than recorded"),
            ("least-bound", (4.9, ">=", 5, 9, None), "MISSED"),
            ("nothing", (None, ">=", 5, 9, None), "not measured")]:
        said = reckon.verdict(*arguments)
        yield "verdict." + name, said == wanted, said


def quick_cases():
    """Quick mode may lack rows that it does not measure, and no others."""
    some = [row for row in ROWS if row.get("conns", 1) in (1, 1024)
            and row["kind"] != "align"]
    bounds = reckon.parse_bounds(BOUNDS)
    for name, quick, wanted in (("conns", True, "not in quick mode"),
                                ("conns", False, "not measured"),
                                ("aligned", True, "not measured")):
        said = {goal["name"]: goal["verdict"]
                for goal in reckon.judge(some, bounds, quick)}[name]
        yield "quick.%s-%s" % (name, quick), said == wanted, said
    for name, quick, recorded, wanted in (
            ("known", True, 1.4, True), ("known-full", False, 1.4, False),
            ("unknown", True, None, False)):
        goal = {"verdict": "MISSED", "recorded": recorded}
        yield ("quick." + name, reckon.reached([goal], quick) == wanted,
               str(goal))


def run_cases():
    """Two runs of a row with equal and with different results."""
    base = made()
    name = "stream/veth/1500/65536/mpa"
    for case, change, wanted in (
            ("agree", {}, "yes"), ("insns", {"insns": 8601}, "no"),
            ("segments", {"segments": 10}, "no")):
        lines = [text for text in base if not text.startswith(
            "row=%s run=2" % name)]
        lines.append(stream(name, **{"insns": 8600, "transport": "mpa",
                                     "run": 2, **change}))
        row = reckon.find(reckon.build("\n".join(lines)), row=name)
        yield ("runs." + case, row["same"] == wanted
               and row["insns_again"] == change.get("insns", 8600), str(row))
    once = reckon.find(ROWS, row="align/slow")
    yield ("runs.once", "same" not in once and "boots" not in once, str(once))


def boot_cases():
    """So are the rows of two boots, with both runs of each."""
    lines = [stream("it", 8000, "tcp"), stream("it", 8001, "tcp", run=2)]
    for case, change, wanted in (
            ("agree", {}, "yes"), ("first", {"insns": 8002}, "no"),
            ("second", {"run": 2, "insns": 8002}, "no")):
        other = {1: 8000, 2: 8001, change.get("run", 1): change.get(
            "insns", 8000)}
        row = reckon.build("\n".join(lines + [
            stream("it", insns, "tcp", run=run, boot=2)
            for run, insns in other.items()]))[0]
        yield ("boots." + case, row["boots"] == wanted and row["same"] == "no"
               and row["insns"] == 8000 and row["insns_again"] == 8001,
               str(row))


def valid_cases():
    for name, row, insns, wanted in (
            ("plain", "tcp", 8500, "yes"), ("copies", "tcp", 8501, "explained"),
            ("plain-dear", "tcp", 13501, "no"),
            ("plain-copies", "tcp", 13499, "explained"),
            ("siw", "siw-crc", 113000, "yes"),
            ("siw-one", "siw-one", 92500, "no"),
            ("siw-dear", "siw-crc", 113100, "no"),
            ("siw-cheap", "siw-crc", 92500, "no")):
        rows = reckon.build(stream("it", insns, row))
        found = reckon.validity(rows)
        yield ("valid." + name, [check["valid"] for check in found] == [wanted],
               str(found))


WRONG = [
    ("key-missing", stream("a", 1, "tcp").replace(" calls=1", ""), "calls"),
    ("kind", stream("a", 1, "tcp").replace("=stream", "=river"), "no such"),
    ("word", "row=a run=1 kind=stream verified", "cannot parse"),
    ("empty", "row=a run=1 kind=memory transport=mpa conns=1 bytes=",
     "cannot parse"),
    ("twice", "\n".join([stream("a", 1, "tcp")] * 2), "run 1 twice"),
    ("no-first", stream("a", 1, "tcp", run=2), "without its first"),
    ("not-verified", stream("a", 1, "tcp", verified=0), "not those sent"),
    ("two-alike", "\n".join(stream(name, 1, "tcp", part="tx")
                            for name in ("a", "c")) + "\n"
     + stream("b", 1, "tcp"), "are the same"),
]


def wrong_cases():
    for name, text, words in WRONG:
        try:
            said = "not noticed: %s" % reckon.build(text)
        except reckon.Bad as bad:
            said = str(bad)
        yield "wrong." + name, words in said, said
    for name, text, words in (("sense", "a < 1 2 3", "cannot parse"),
                              ("words", "a <= 1 2", "cannot parse"),
                              ("no-bound", "a <= - 2 3", "without a bound")):
        try:
            said = "not noticed: %s" % reckon.parse_bounds(text)
        except reckon.Bad as bad:
            said = str(bad)
        yield "wrong.bounds-" + name, words in said, said
    try:
        reckon.judge(ROWS, {"c_to_e": ("<=", 1, 1, 1)})
        said = "not noticed"
    except reckon.Bad as bad:
        said = str(bad)
    yield "wrong.bounds-lacking", "not those of the goals" in said, said


def compare_cases():
    def costing(name, factor, **keys):
        return stream(name, int(10000 * factor), "mpa", **keys)

    def rest(name, size, rounds, aligned, octets):
        return [line(name + "ping", run=1, kind="pingpong", transport="mpa",
                     net="veth", size=size, rounds=rounds, insns=1000),
                align(name, 0, 0, aligned),
                line(name + "memory", run=1, kind="memory", conns=1,
                     transport="mpa", bytes=octets)]

    before = [stream("tls", 1, "ktls"), costing("same", 1),
              costing("once", 1, size=1), costing("once", 0.9, size=1, run=2),
              costing("dear", 1, net="lo"), costing("cheap", 1, conns=2),
              costing("gone", 1, conns=3), *rest("x", 64, 100, 990, 0),
              align("bad", 0, 0, 990)]
    after = [stream("tls", 2, "ktls"), costing("same", 1.02),
             costing("once", 0.9, size=1), costing("once", 1, size=1, run=2),
             costing("dear", 1.021, net="lo"), costing("cheap", 0.9, conns=2),
             costing("more", 1, conns=4), *rest("x", 64, 97, 980, 1),
             align("bad", 0, 0, 960)]
    said = {name: word for name, _, _, _, word in reckon.compare(
        reckon.build("\n".join(before)), reckon.build("\n".join(after)), 0.02)}
    for name, wanted in {
            "same": "same", "once": "same", "dear": "WORSE", "gone": "LOST",
            "cheap": "better", "more": "new", "tls": "not ours",
            "xping": "WORSE", "xmemory": "WORSE", "align/x": "same",
            "align/bad": "WORSE"}.items():
        yield "compare." + name, said.get(name) == wanted, str(said)


# The program

def run(*words):
    done = subprocess.run([os.path.join(PARTS, "report.py"), *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, done.stdout


def write(directory, name, text):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


DOC = """Text.

.. bench goals

old

.. bench end

More.

.. bench native
.. bench end
"""


def program_cases():
    with tempfile.TemporaryDirectory() as top:
        lines = "\n".join(made()) + "\n"
        bounds = write(top, "bounds", BOUNDS)
        write(top, "all/rows", lines)
        out = os.path.join(top, "all")
        status, said = run("--bounds", bounds, "--commit", "abc", out)
        yield "program.missed", status == 1 and "MISSED" in said, said
        yield ("program.says", "8 rows ran twice in one boot, 8 agree" in said
               and "two boots" not in said
               and "not possible: stream/lo/ktls, no-kTLS" in said, said)
        yield from file_cases(out)
        doc = write(top, "doc.rst", DOC)
        status, said = run("--doc", doc, out)
        with open(doc, encoding="utf-8") as file:
            text = file.read()
        yield ("program.doc", status == 0 and "\nold\n" not in text
               and "\ncrc   1448   180" in text and "MISSED" in text
               and text.startswith("Text.\n\n.. bench goals\n\n====")
               and "\n.. bench end\n\nMore.\n" in text, said + text)
        doc = write(top, "doc.rst", DOC.replace("native", "other"))
        status, said = run("--doc", doc, out)
        yield "program.no-table", status == 2 and "other" in said, said
        yield from status_cases(top, lines, bounds)
        # The project's own bounds fit the goals, whatever the verdicts
        status, said = run(out)
        yield "program.bounds", status == 1, said


def file_cases(out):
    with open(os.path.join(out, "results.json"), encoding="ascii") as file:
        whole = json.load(file)
    yield ("program.json", whole["commit"] == "abc" and whole["mode"] == "full"
           and whole["version"] == 1 and len(whole["rows"]) == len(ROWS),
           str(whole.keys()))
    with open(os.path.join(out, "results.csv"), encoding="ascii") as file:
        found = {row["row"]: row for row in csv.DictReader(file)}
    row = found["stream/veth/1500/65536/mpa-crc"]
    yield ("program.csv", len(found) == len(ROWS)
           and list(row) == reckon.COLUMNS and row["insn_per_octet"] == "1.0"
           and row["letter"] == "C" and row["same"] == "yes", str(row))


def status_cases(top, lines, bounds):
    """The status follows the bounds, validity and missing rows."""
    fine = lines.replace("aligned=970", "aligned=999")
    for name, text, status, words in (
            ("reached", fine, 0, "met"),
            ("explained", fine.replace("insns=8000 ", "insns=8600 "), 0,
             "with 0.125, with which it were 0.360"),
            ("not-valid", fine.replace("insns=8000 ", "insns=14000 "), 1,
             "NOT VALID: stream/veth/1500/65536/tcp costs 1.400"),
            ("lacking", fine.replace("row=memory", "row=m").replace(
                "kind=memory transport=mpa-crc", "kind=memory transport=mpa"),
             1, "not measured"),
            ("broken", fine + "row=x\n", 2, "report: without kind")):
        write(top, name + "/rows", text)
        got, said = run("--bounds", bounds, os.path.join(top, name))
        yield "program." + name, got == status and words in said, said
    known = write(top, "known", BOUNDS.replace("aligned_slow >= 0.98 0.995 -",
                                               "aligned_slow >= 1 - 0.99"))
    for name, options, status in (("full", (), 1), ("quick", ("--quick",), 0),
                                  ("record", ("--recorded",), 0)):
        got, said = run("--bounds", known, *options,
                        os.path.join(top, "reached"))
        yield "program.recorded-" + name, got == status, said
    write(top, "dear/rows", fine.replace("insns=8600 ", "insns=8800 "))
    for name, status in (("reached", 0), ("not-valid", 0), ("dear", 1)):
        got, said = run("--compare", os.path.join(top, "reached"),
                        os.path.join(top, name))
        yield "program.compare-" + name, got == status, said


def columns_case():
    """The columns are documented, in their order."""
    with open(os.path.join(PARTS, os.pardir, os.pardir, "Documentation", "networking",
                           "mpa-performance.rst"), encoding="utf-8") as text:
        parts = text.read().split(".. bench columns")
    named = [word.strip("`,") for part in parts[1:2]
             for row in part.splitlines() if row.startswith("``")
             for word in row.split() if word.startswith("``")]
    yield ("docs.columns", named == reckon.COLUMNS,
           "the text has %s" % (set(named) ^ set(reckon.COLUMNS)))


def main():
    cases = [*figure_cases(), *goal_cases(), *verdict_cases(), *quick_cases(),
             *run_cases(), *boot_cases(), *valid_cases(), *wrong_cases(),
             *compare_cases(), *program_cases(), *columns_case()]
    print("1..%d" % len(cases))
    for name, good, said in cases:
        if not good:
            print("".join("# %s\n" % text for text in said.splitlines()),
                  end="")
        print("%sok - bench.%s" % ("" if good else "not ", name))
    return not all(good for _, good, _ in cases)


if __name__ == "__main__":
    sys.exit(main())
