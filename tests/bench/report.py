#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Tables, results and plot data, from the output of the guests of tests/bench/bench.sh.

DIRECTORY has the lines of all parts in "rows"; results.csv, results.json,
tables.rst and the data of the plot are written next to it. --compare shows
instead the additional cost of each row over another directory, --doc puts the
tables into a text.

The status is 1 if a bound was missed, a row was lost or the run is not valid,
and 2 if the input is invalid. With --quick or --recorded a bound may be missed if
the recorded value misses it as well.
"""

import argparse
import csv
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import reckon  # noqa: E402
from rst import table  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
VERSION = 1             # of results.json and results.csv
LOSS = 0.02             # tolerance of a row's cost over the base's


AGAIN = ["again", "boots"]

# Tables

def number(figure, digits=0):
    return "-" if figure is None else "%.*f" % (digits, figure)


def short(figure):
    """Four figures, or all in front of the point."""
    if figure is None:
        return "-"
    return "%.0f" % figure if abs(figure) >= 1000 else "%.4g" % figure


def percent(part, digits=2):
    return "-" if part is None else "%.*f" % (digits, 100 * part)


def again(row):
    """Whether the second run, and another boot, had the same result."""
    return row.get("same", "-"), row.get("boots", "-")


def letter(row):
    return "%s %s" % (row["letter"] or "-", row["transport"])


def streams(rows, name):
    return [row for row in reckon.matching(rows, kind="stream", part="both")
            if row["row"].startswith(name)]


def stream_table(rows):
    head = ["transport", "net", "MTU", "EMSS", "size", "insn/octet", "tx", "rx",
            "/FPDU", "tx", "rx", "/message", "tx", "rx", "calls", "segments",
            *AGAIN]
    return table(head, [[
        letter(row), row["net"], row["mtu"], emss(row), row["size"],
        *(number(row.get(side + "insn_per_octet"), 3)
          for side in ("", "tx_", "rx_")),
        *(number(row.get("%sinsn_per_%s" % (side, unit)))
          for unit in ("fpdu", "message") for side in ("", "tx_", "rx_")),
        short(row["calls_per_fpdu"]), short(row["segments_per_fpdu"]),
        *again(row)] for row in streams(rows, "stream/")])


def emss(row):
    ends = row["emss_start"], row["emss_end"]
    return "%s" % ends[0] if ends[0] == ends[1] else "%s-%s" % ends


def conns_table(rows):
    return table(["transport", "connections", "size", "insn/octet", *AGAIN], [[
        letter(row), row["conns"], row["size"],
        number(row["insn_per_octet"], 3), *again(row)]
        for row in streams(rows, "conns/")])


def ping_table(rows):
    return table(["transport", "net", "size", "insn/round trip", *AGAIN], [[
        letter(row), row["net"], row["size"], number(row["insn_per_round"]),
        *again(row)]
        for row in reckon.matching(rows, kind="pingpong")])


def memory_table(rows):
    return table(["transport", "connections", "octets each", *AGAIN], [[
        letter(row), row["conns"], row["bytes"], *again(row)]
        for row in reckon.matching(rows, kind="memory")])


def align_table(rows):
    head = ["row", "traffic", "loss %", "slow", "segments", "aligned %", *AGAIN]
    return table(head, [[
        row["row"], row["traffic"], row["loss"], "yes" if row["slow"] else "no",
        row["segments"], percent(row["aligned_share"], 3),
        *again(row)]
        for row in reckon.matching(rows, kind="align")])


def native_table(rows):
    """A line for each thing done to an FPDU, a column for each layout."""
    found = reckon.matching(rows, kind="native")
    layouts = list(dict.fromkeys(row["layout"] for row in found))
    lines = {}
    for row in found:
        best = min(row["ns"], row.get("ns_again", row["ns"]))
        line = lines.setdefault((row["what"], row["size"]), {})
        line[row["layout"]] = "%.*f" % (best < 100, best)
    return table(["ns of", "octets", *layouts], [
        [*key, *(line.get(layout, "-") for layout in layouts)]
        for key, line in lines.items()])


def ratio_table(rows):
    names = [name for name, _, _ in reckon.RATIOS]
    return table(["net", "MTU", "size", "connections", *names], [[
        line["net"], line["mtu"], line["size"], line["conns"],
        *(number(line[name], 2) for name in names)]
        for line in reckon.ratios(rows)])


def goal_table(goals):
    return table(["goal", "is", "bound", "aim", "measured", "verdict"], [[
        goal["what"], goal["sense"], short(goal["bound"]), short(goal["aim"]),
        short(goal["measured"]), goal["verdict"]] for goal in goals])


# name, title, function
TABLES = [
    ("streams", "Streams", stream_table),
    ("ratios", "Ratios", ratio_table),
    ("conns", "Many connections", conns_table),
    ("pingpong", "Ping-pong", ping_table),
    ("memory", "Memory of an idle connection without its socket's",
     memory_table),
    ("align", "Segments that start with an FPDU and hold whole ones",
     align_table),
    ("native", "Native, for an FPDU", native_table),
]


def tables(rows, goals):
    """{name: text}, of those that have lines."""
    found = {name: function(rows) for name, _, function in TABLES}
    found = {name: text for name, text in found.items()
             if text.count("\n") > 4}
    return {**found, "goals": goal_table(goals)}


def titled(found):
    titles = {name: title for name, title, _ in TABLES}
    return "\n".join("%s\n%s\n%s" % (title, "-" * len(title), found[name])
                     for name, title in [*titles.items(), ("goals", "Goals")]
                     if name in found)


# Messages

def explain(check, row):
    """Components of the cost of a row that missed its bound."""
    text = "%s costs %.3f instructions per octet and should be %s" % (
        check["row"], check["measured"], check["limit"])
    if check["valid"] == "explained":
        return text + (": this kernel copies with 0.375 per octet, that of the "
                       "limit with 0.125, with which it were %.3f"
                       % check["as_then"])
    if row["fpdus"]:
        return text + (": %.0f (%d then) per FPDU of %.0f octets, with %.2f "
                       "socket calls and %.2f segments" % (
                           row["insn_per_fpdu"], reckon.SIW_FPDU,
                           row["octets"] / row["fpdus"],
                           row["calls_per_fpdu"], row["segments_per_fpdu"]))
    return text + ": %.0f octets per segment, %.0f per call" % (
        row["octets"] / max(row["segments"], 1),
        row["octets"] / max(row["calls"], 1))


def agreement(rows):
    for key, how in (("same", "twice in one boot"), ("boots", "in two boots")):
        twice = [row for row in rows if key in row and row["kind"] != "native"]
        apart = [row for row in twice if row[key] == "no"]
        if twice:
            yield "%d rows ran %s, %d agree exactly" % (
                len(twice), how, len(twice) - len(apart))
        for row in apart:
            yield "not the same %s: %s%s" % (how, row["row"], differ(row, key))


def differ(row, key):
    if key == "boots" or "insns_again" not in row:
        return ""
    first, second = row["insns"], row["insns_again"]
    return ", %d and %d instructions, %.2g %% apart" % (
        first, second, 100 * abs(second / first - 1))


def remarks(rows, checks):
    yield from agreement(rows)
    for row in rows:
        if "skip" in row:
            yield "not possible: %s, %s" % (row["row"], row["skip"])
    for check in checks:
        if check["valid"] != "yes":
            row = reckon.find(rows, row=check["row"])
            yield "%s: %s" % ("valid" if check["valid"] == "explained"
                              else "NOT VALID", explain(check, row))


# Files

def write_csv(path, rows):
    with open(path, "w", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, reckon.COLUMNS, extrasaction="ignore",
                                lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_json(path, whole):
    with open(path, "w", encoding="ascii") as file:
        json.dump(whole, file, indent=1)


def write_data(path, lines):
    with open(path, "w", encoding="ascii") as file:
        for line in lines:
            file.write(" ".join("?" if cell is None else str(cell)
                                for cell in line) + "\n")


def label(row):
    return '"%s"' % (row["letter"] or row["transport"])


def write_plot(out, rows):
    main = reckon.matching(rows, **reckon.MAIN)
    write_data(os.path.join(out, "octet.dat"), [
        (label(row), row.get("tx_insn_per_octet", row["insn_per_octet"]),
         row.get("rx_insn_per_octet", 0)) for row in main])
    plain = reckon.per_octet(rows, "tcp")
    write_data(os.path.join(out, "fpdu.dat"), [
        (label(row), (row["insn_per_octet"] - (plain or 0))
         * row["octets"] / row["fpdus"]) for row in main
        if row["octets"] <= row["fpdus"] * row["emss_end"]])
    write_data(os.path.join(out, "align.dat"), [
        ('"%s"' % row["row"].partition("/")[2],
         100 * row["aligned_share"])
        for row in reckon.matching(rows, kind="align")])
    lines = [row for row in streams(rows, "stream/")
             if row["net"] == "veth" and row["mtu"] == 1500]
    for name in reckon.LETTERS:
        write_data(os.path.join(out, "size-%s.dat" % name), sorted(
            (row["size"], row["insn_per_message"])
            for row in lines if row["transport"] == name))


def write_all(out, whole, found):
    write_csv(os.path.join(out, "results.csv"), whole["rows"])
    write_json(os.path.join(out, "results.json"), whole)
    write_plot(out, whole["rows"])
    with open(os.path.join(out, "tables.rst"), "w", encoding="ascii") as file:
        file.write(titled(found))


# Commands

def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def report(out, options):
    rows = reckon.build(read(out, "rows"))
    goals = reckon.judge(rows, reckon.parse_bounds(read(options.bounds)),
                         options.quick)
    checks = reckon.validity(rows)
    found = tables(rows, goals)
    whole = {"version": VERSION, "commit": options.commit,
             "mode": "quick" if options.quick else "full", "rows": rows,
             "ratios": reckon.ratios(rows), "valid": checks, "goals": goals}
    write_all(out, whole, found)
    print(titled(found))
    print("\n".join(remarks(rows, checks)))
    valid = all(check["valid"] != "no" for check in checks)
    return not (reckon.reached(goals, options.quick, options.recorded) and valid)


def compare(base, new):
    found = list(reckon.compare(*(reckon.build(read(path, "rows"))
                             for path in (base, new)), LOSS))
    print(table(["row", "before", "after", "more %", ""], [
        [name, short(before), short(after), percent(more), said]
        for name, before, after, more, said in found]))
    bad = [name for name, *_, said in found if said in ("WORSE", "LOST")]
    print("%d of %d rows cost at least %.0f %% more, or are lost%s" % (
        len(bad), len(found), 100 * LOSS, "".join("\n" + name for name in bad)))
    return bool(bad)


def put_tables(text, found):
    """Replace the text between ".. bench NAME" and ".. bench end"."""
    def put(match):
        if match[2] not in found:
            raise reckon.Bad("no table %s" % match[2])
        return "%s\n\n%s\n.. bench end\n" % (match[1], found[match[2]])
    return re.sub(r"^(\.\. bench (?!end)(\w+))\n.*?^\.\. bench end\n", put,
                  text, flags=re.S | re.M)


def doc(out, path):
    with open(os.path.join(out, "results.json"), encoding="ascii") as file:
        whole = json.load(file)
    text = put_tables(read(path), tables(whole["rows"], whole["goals"]))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--recorded", action="store_true")
    parser.add_argument("--commit", default="")
    parser.add_argument("--bounds", default=os.path.join(HERE, "bounds"))
    parser.add_argument("--compare", metavar="BASE")
    parser.add_argument("--doc", metavar="TEXT")
    parser.add_argument("directory")
    options = parser.parse_args()
    if options.compare:
        return compare(options.compare, options.directory)
    if options.doc:
        return doc(options.directory, options.doc)
    return report(options.directory, options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, reckon.Bad) as bad:
        print("report: %s" % bad, file=sys.stderr)
        sys.exit(2)
