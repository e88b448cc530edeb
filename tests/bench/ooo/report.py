#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Tables, results and plot data, from the output of the guests of ooo.sh.

usage: report.py DIRECTORY

The status is 1 if a goal was missed, 2 if the input is invalid.
"""

import collections
import csv
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import stream  # noqa: E402
from rst import table  # noqa: E402

LOSSY = "row mode rate loss delay size octets".split()
COST = "row mode network size octets".split()
MAIN = {"rate": "100mbit", "loss": "1", "delay": "10", "size": "mulpdu"}


def rows(path, names):
    with open(path, encoding="ascii") as file:
        return [dict(zip(names, line.split())) for line in file]


def find(out, name):
    paths = glob.glob(os.path.join(out, "lossy-*", name))
    if len(paths) != 1:
        raise stream.Bad("%d files %s" % (len(paths), name))
    return paths[0]


def seen(out, row):
    """The results of a connection: both views of it."""
    view = stream.holes(stream.captured(find(out, row["row"] + ".pcap")))
    with open(find(out, row["row"] + ".trace"), encoding="ascii") as file:
        passed = stream.Passed(*stream.events(file.read()))
    return view, passed


def counters(out, row):
    with open(find(out, row["row"] + ".result"), encoding="ascii") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file)


def check(row, view, passed, result):
    """The module's own counters have to agree."""
    ooo = sum(e.end - e.start for e in passed.ooo)
    if result["ulpdus_ooo"] != result["ooo_suppressed"]:
        raise stream.Bad("%s: passed out of order and never delivered" % row["row"])
    if ooo < int(result["bytes_ooo"]) or bool(ooo) != bool(
            int(result["bytes_ooo"])):
        raise stream.Bad("%s: %d octets ooo, but %s counted"
                         % (row["row"], ooo, result["bytes_ooo"]))
    if row["mode"] == "in-order" and ooo:
        raise stream.Bad("%s: %d octets ooo" % (row["row"], ooo))
    if not view.closed:
        raise stream.Bad("%s: no hole" % row["row"])


def lossy(out):
    """A dict for each connection; and the times of the main ones, to plot."""
    found, times = [], {}
    for row in rows(os.path.join(out, "lossy"), LOSSY):
        view, passed = seen(out, row)
        result = counters(out, row)
        check(row, view, passed, result)
        found.append({**row, **stream.figures(view, passed),
                      "ulpdus_ooo": int(result["ulpdus_ooo"]),
                      "bytes_ooo": int(result["bytes_ooo"])})
        if MAIN.items() <= row.items():
            times[row["mode"]] = (
                [time for time, _ in stream.passing_times(view, passed)],
                list(stream.delivery_times(view, passed)))
    return found, times


def slope(text):
    """Instructions per octet: of lines "instructions octets", the second's
    more than the first's."""
    (few, first), (many, second) = [map(int, line.split())
                                    for line in text.splitlines()]
    return (many - few) / (second - first)


def cost(out):
    found = []
    for row in rows(os.path.join(out, "cost.rows"), COST):
        texts = []
        for turn in ("cost", "again"):
            path = os.path.join(out, turn, row["row"] + ".cost")
            with open(path, encoding="ascii") as file:
                texts.append(file.read())
        found.append({**row, "per_octet": slope(texts[0]),
                      "same_again": texts[0] == texts[1]})
    for row in found:
        base = [r for r in found if r["mode"] == "in-order"
                and all(r[k] == row[k] for k in ("network", "size"))]
        row["more"] = row["per_octet"] / base[0]["per_octet"] - 1
    return found


# Tables of reStructuredText

def percent(part, digits=1):
    return "-" if part is None else "%.*f" % (digits, 100 * part)


def us(ns):
    return "-" if ns is None else "%.0f" % (ns / 1000)


def left(row):
    return row["left"] / row["work"] if row["work"] else None


def passing_table(found):
    head = ["told by", "link", "loss %", "ms", "FPDU", "holes", "ooo %",
            "after us", "95 %", "left %", "done us", "95 %", "per KB"]
    return table(head, [[
        r["mode"], r["rate"], r["loss"], r["delay"], r["size"], r["holes"],
        percent(r["share"]), us(r["wait_p50"]), us(r["wait_p95"]),
        percent(left(r)), us(r["deliver_p50"]), us(r["deliver_p95"]),
        "-" if r["deliver_kb"] is None else "%.2f" % (r["deliver_kb"] / 1000)]
        for r in found])


def cost_table(found):
    head = ["mode", "network", "ULPDU", "insn/octet", "more %", "twice the same"]
    return table(head, [[
        r["mode"], r["network"], r["size"], "%.4f" % r["per_octet"],
        percent(r["more"], 2), "yes" if r["same_again"] else "no"]
        for r in found])


def goals(found, costs):
    """Yield (text, reached)."""
    hook = [r for r in found if r["mode"] == "hook"
            and MAIN.items() <= r.items()][0]
    yield ("passed out of order, of the octets after a hole: %s %%, goal 95"
           % percent(hook["share"]), hook["share"] >= 0.95)
    yield ("work left when the hole closes: %s %%, goal 10"
           % percent(left(hook)), left(hook) <= 0.1)
    for row in costs:
        if row["mode"] == "hook" and row["size"] == "mulpdu":
            yield ("cost with nothing lost, %s: %s %% more, goal 2"
                   % (row["network"], percent(row["more"], 2)),
                   row["more"] <= 0.02)
    yield ("instructions twice the same",
           all(row["same_again"] for row in costs))


# Files

def write_csv(path, dicts):
    with open(path, "w", encoding="ascii", newline="") as file:
        writer = csv.DictWriter(file, dicts[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(dicts)


def write_plot(out, found, times, costs):
    """For gnuplot: bars of the shares, distributions of the times, costs."""
    groups = collections.defaultdict(dict)
    for r in found:
        if (r["mode"] != "in-order" and r["rate"] == MAIN["rate"]
                and r["size"] == MAIN["size"]):
            groups["%s %% %s ms" % (r["loss"], r["delay"])][r["mode"]] = r
    with open(os.path.join(out, "share.dat"), "w", encoding="ascii") as file:
        for name, pair in groups.items():
            file.write('"%s" %f %f\n' % (name.replace(" % ", " %\\n"),
                                         100 * pair["hook"]["share"],
                                         100 * pair["look"]["share"]))
    for mode, pair in times.items():
        for name, values in zip(("passing", "delivery"), pair):
            path = os.path.join(out, "%s-%s.dat" % (name, mode))
            with open(path, "w", encoding="ascii") as file:
                for at, value in enumerate(sorted(values), 1):
                    file.write("%f %f\n" % (max(value, 1000) / 1e6,
                                            100 * at / len(values)))
    with open(os.path.join(out, "cost.dat"), "w", encoding="ascii") as file:
        for row in costs:
            if row["mode"] == "in-order" and row["network"] == "pair":
                same = {r["mode"]: r["per_octet"] for r in costs if all(
                    r[k] == row[k] for k in ("network", "size"))}
                file.write('"%s" %f %f %f\n' % (
                    row["size"], same["in-order"], same["hook"], same["look"]))


def main():
    out = sys.argv[1]
    found, times = lossy(out)
    costs = cost(out)
    write_csv(os.path.join(out, "results.csv"), found)
    write_csv(os.path.join(out, "cost.csv"), costs)
    with open(os.path.join(out, "results.json"), "w", encoding="ascii") as file:
        json.dump({"passing": found, "cost": costs}, file, indent=1)
    write_plot(out, found, times, costs)
    text = passing_table(found) + "\n" + cost_table(costs)
    with open(os.path.join(out, "tables.rst"), "w", encoding="ascii") as file:
        file.write(text)
    print(text)
    reached = True
    for what, good in goals(found, costs):
        print("%s: %s" % ("reached" if good else "MISSED", what))
        reached = reached and good
    return not reached


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, stream.Bad) as bad:
        print("report: %s" % bad, file=sys.stderr)
        sys.exit(2)
