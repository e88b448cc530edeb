#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Tables, results and plot data, from the output of the guests of tests/bench/bench.sh.

DIRECTORY has the lines of all parts in "rows"; results.csv, tables.rst and the data of
the plot are written next to it. --compare shows instead the additional cost of each row
over another directory, --doc puts the tables into a text and records the ceilings.
--above prints only the rows above their ceilings.

A row costs the mean of its runs in the first boot, which differ a little. Its ceiling is
1 % above the dearest run of any boot that was recorded, and the best run of a later
measurement must not exceed it.

The status is 1 if a goal was missed, a row was lost or is above its ceiling, or the run
is not valid, and 2 if the input is invalid; each reason is printed at the end, after
"not ok".
"""

import argparse
import csv
import os
import re
import statistics
import sys
import textwrap

HERE = os.path.dirname(os.path.realpath(__file__))
LOSS = 0.02             # tolerance of a row's cost over the base's
LETTERS = {"tcp": "A", "mpa": "B", "mpa-crc": "C", "mpa-pages": "C1",
           "mpa-markers": "D",
           "tcp-crc": "E", "tcp-pages": "E1", "siw-crc": "F", "siw-one": "F1",
           "siw-gso": "F2", "siw-write": "F3", "siw-read": "F4",
           "siw-gso-pages": "F5", "ktls": "G", "rnic": "H", "rnic-one": "H1",
           "rnic-write": "H3", "rnic-read": "H4"}
# Required words of the lines of each kind
NEEDED = {
    "stream": "transport net mtu size conns part octets messages insns fpdus "
              "calls segments emss_start emss_end verified",
    "pingpong": "transport net size rounds insns",
    "memory": "transport conns octets_idle",
    "native": "what size layout ns",
}
# Words that identify a row, but for part=
SAME = "kind transport net mtu size conns".split()
COLUMNS = """row kind transport letter net mtu size conns part octets messages
insns insns_again same boots insn_per_octet tx_insn_per_octet rx_insn_per_octet
insn_per_fpdu tx_insn_per_fpdu rx_insn_per_fpdu insn_per_message
tx_insn_per_message rx_insn_per_message fpdus calls segments calls_per_fpdu
segments_per_fpdu emss_start emss_end verified rounds insn_per_round octets_idle
octets_used what layout ns ns_again skip""".split()
MAIN = {"kind": "stream", "net": "veth", "mtu": 1500, "size": 65536,
        "conns": 1, "part": "both"}


class Bad(Exception):
    """Invalid input."""


# Rows

def parse_line(line):
    found = {}
    for word in line.split():
        key, _, text = word.partition("=")
        if not text or key in found:
            raise Bad("cannot parse: " + line)
        found[key] = (int(text) if re.fullmatch(r"-?\d+", text) else
                      float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text)
    needed = "row kind" + ("" if "skip" in found else
                           " run " + NEEDED.get(found.get("kind"), ""))
    missing = set(needed.split()) - found.keys()
    if missing or found["kind"] not in NEEDED:
        raise Bad("without %s: %s" % (", ".join(sorted(missing)) or "a known kind",
                                      line))
    return found


def merge(turns):
    """A row: its first run, and whether the others had the same results."""
    if (1, 1) not in turns:
        raise Bad("without its first run: %s" % turns)
    first, again = turns[1, 1], turns.get((1, 2))
    row = {**first, "letter": LETTERS.get(first.get("transport"))}
    if "insns" in row:
        runs = {turn: found["insns"] for turn, found in turns.items()
                if "insns" in found}
        # Of the first boot alone: bench.sh measures some rows again, and not those
        # that they are compared with
        row.update(least=min(runs.values()), most=max(runs.values()),
                   mean=statistics.mean(cost for (boot, _), cost in runs.items()
                                        if boot == 1))
    if again:
        row["same"] = "yes" if first == again else "no"
        row.update((key + "_again", again[key]) for key in ("insns", "ns")
                   if key in again)
    if (2, 1) in turns:
        row["boots"] = "yes" if all(turns[1, run] == turns.get((2, run))
                                    for boot, run in turns if boot == 1) else "no"
    return row


def ratio(part, whole):
    return part / whole if part is not None and whole else None


def stream_figures(row, tx):
    """Figures of a row of streams; those of sending alone are in another."""
    costs = {"": ratio(row["mean"], row["octets"])}
    if tx:
        costs["tx_"] = ratio(tx["mean"], tx["octets"])
        costs["rx_"] = costs[""] - costs["tx_"]
    found = {side + "insn_per_octet": cost for side, cost in costs.items()}
    for side, cost in costs.items():
        for unit in ("fpdu", "message"):
            each = ratio(row["octets"], row[unit + "s"])
            found["%sinsn_per_%s" % (side, unit)] = each and cost * each
    for made in ("calls", "segments"):
        found[made + "_per_fpdu"] = ratio(row[made], row["fpdus"])
    return found


def figures(row, rows):
    if "skip" in row:
        return {}
    if row["kind"] == "stream":
        tx = find(rows, part="tx", **{key: row[key] for key in SAME})
        return stream_figures(row, tx if row["part"] == "both" else None)
    if row["kind"] == "pingpong":
        return {"insn_per_round": ratio(row["mean"], row["rounds"])}
    return {}


def build(text):
    """The rows of the guests' output, with all figures."""
    turns = {}
    for line in filter(str.strip, text.splitlines()):
        found = parse_line(line)
        turn = found.pop("boot", 1), found.pop("run", 1)
        if turn in turns.setdefault(found["row"], {}):
            raise Bad("%s: run %d twice" % (found["row"], turn[1]))
        turns[found["row"]][turn] = found
    rows = [merge(turn) for turn in turns.values()]
    wrong = [row["row"] for row in matching(rows, kind="stream")
             if row["verified"] != 1]
    if wrong:
        raise Bad("the octets were not those sent: " + ", ".join(wrong))
    return [dict(row, **figures(row, rows)) for row in rows]


def matching(rows, **where):
    return [row for row in rows if "skip" not in row
            and all(row.get(key) == wanted for key, wanted in where.items())]


def find(rows, **where):
    found = matching(rows, **where)
    if len(found) > 1:
        raise Bad("%s and %s are the same" % (found[0]["row"], found[1]["row"]))
    return found[0] if found else {}


# Goals: each function takes the rows and gives the figure, or None

def more_per_fpdu(more, less):
    """Instructions of an FPDU of @more beyond those of its octets in @less"""
    def goal(rows):
        mine, other = (find(rows, transport=name, **MAIN) for name in (more, less))
        return (mine["insn_per_octet"] - other["insn_per_octet"]) * mine["octets"] / \
            mine["fpdus"] if mine and other else None
    return goal


def against(name, ours, theirs, **where):
    return lambda rows: ratio(*(
        find(rows, transport=transport, **{**MAIN, **where}).get(name)
        for transport in (ours, theirs)))


def octet(ours, theirs, **where):
    return against("insn_per_octet", ours, theirs, **where)


def small(ours, theirs):
    return against("insn_per_message", ours, theirs, size=64)


def ping(ours, theirs, part=None):
    """@part is of our row alone: their thread or softirq receives and posts."""
    return lambda rows: ratio(*(
        find(rows, kind="pingpong", size=64, net="veth", transport=transport, part=who)
        .get("insn_per_round") for transport, who in ((ours, part), (theirs, None))))


def by_conns(rows, transport):
    """{connections: cost of an octet}, or None if a number is missing"""
    many = matching(rows, kind="stream", transport=transport, part="both")
    sizes = {row["size"] for row in many if row["conns"] > 1}
    costs = {row["conns"]: row["insn_per_octet"] for row in many
             if row["size"] in sizes and row["net"] == "veth"}
    return costs if {1, 64, 1024} <= costs.keys() else None


def spread(rows):
    """Ratio of the cost of an octet with many and few connections."""
    costs = by_conns(rows, "mpa-crc")
    return costs and max(costs.values()) / min(costs.values()) - 1


def growth(rows):
    """By how much more than TCP's the cost of an octet grows with connections. Where
    TCP's falls, ours need not."""
    ours, tcp = by_conns(rows, "mpa-crc"), by_conns(rows, "tcp")
    return ours and tcp and max(ours[conns] / ours[1] - max(tcp[conns] / tcp[1], 1)
                                for conns in (64, 1024))


def memory(rows):
    return max((row["octets_idle"] for row in matching(
        rows, kind="memory", transport="mpa-crc")), default=None)


# name, description, function
GOALS = [
    ("more_per_fpdu", "(B - A) per FPDU, instructions",
     more_per_fpdu("mpa", "tcp")),
    ("crc_per_fpdu", "(C - B) per FPDU, instructions",
     more_per_fpdu("mpa-crc", "mpa")),
    ("c_to_e", "C/E", octet("mpa-crc", "tcp-crc")),
    ("equal_1408", "C/E, 1408 octets with MTU 1500",
     octet("mpa-crc", "tcp-crc", size=1408)),
    ("equal_4096", "C/E, 4096 octets with MTU 9000",
     octet("mpa-crc", "tcp-crc", size=4096, mtu=9000)),
    ("equal_8192", "C/E, 8192 octets with MTU 9000",
     octet("mpa-crc", "tcp-crc", size=8192, mtu=9000)),
    ("d_to_c", "D/C", octet("mpa-markers", "mpa-crc")),
    ("pages", "C1/C (zero copy), MTU 9000 of NICs",
     octet("mpa-pages", "mpa-crc", net="nic", mtu=9000)),
    # Where nothing is zero copy it costs nothing
    ("pages_8192", "C1/C, 8192 octets with MTU 9000",
     octet("mpa-pages", "mpa-crc", mtu=9000, size=8192)),
    ("pages_1500", "C1/C", octet("mpa-pages", "mpa-crc")),
    ("f_to_c", "F/C", octet("siw-crc", "mpa-crc")),
    ("c_to_gso", "C/F2 (siw with FPDU > MSS)", octet("mpa-crc", "siw-gso")),
    ("small", "64 B in lists, C/F1 per message", small("mpa-crc", "siw-one")),
    ("small_lists", "the same, C/F (siw with lists as well)",
     small("mpa-crc", "siw-crc")),
    ("pingpong", "64 B ping-pong, C/A", ping("mpa-crc", "tcp")),
    ("pingpong_thread", "the same, posted by a thread",
     ping("mpa-crc", "tcp", "thread")),
    ("pingpong_softirq", "the same, answered in softirq",
     ping("mpa-crc", "tcp", "softirq")),
    ("rnic", "H/C (the RDMA device, Sends of 64 KB)",
     octet("rnic", "mpa-crc")),
    ("siw_rnic", "F/H", octet("siw-crc", "rnic")),
    ("rnic_write", "H3/C (RDMA Write)", octet("rnic-write", "mpa-crc")),
    ("siw_rnic_write", "F3/H3", octet("siw-write", "rnic-write")),
    ("rnic_read", "H4/C (RDMA Read)", octet("rnic-read", "mpa-crc")),
    ("siw_rnic_read", "F4/H4", octet("siw-read", "rnic-read")),
    ("rnic_small", "64 B in lists, H/F per message", small("rnic", "siw-crc")),
    ("rnic_one", "64 B one by one, H1/F1 per message", small("rnic-one", "siw-one")),
    ("rnic_pingpong", "64 B ping-pong, H/F", ping("rnic", "siw-crc")),
    ("conns", "cost per octet with 1, 64, 1024 connections, apart", spread),
    ("conns_to_tcp", "its growth with connections, less TCP's if any", growth),
    ("memory", "memory of an idle connection, octets", memory),
]


def lines_of(text):
    """Each line of @text, and its words, without comments and what is empty then"""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            yield line, words


def parse_bounds(text):
    """{name: (sense, bound, aim, recorded)} of tests/bench/bounds"""
    bounds = {}
    for line, words in lines_of(text):
        if (len(words) != 5 or words[1] not in ("<=", ">=") or words[2] == "-" or
                words[0] in bounds):
            raise Bad("bounds: cannot parse: " + line)
        goal = (words[1], *(None if word == "-" else float(word) for word in words[2:]))
        if goal[3] is not None and verdict(goal[3], *goal) == "MISSED":
            raise Bad("bounds: the record misses the bound: " + line)
        bounds[words[0]] = goal
    return bounds


def bounds_of(options):
    """Those of another kernel take the place of some, and what was recorded with this
    one is none of its."""
    bounds = parse_bounds(read(options.bounds))
    if options.elsewhere is None:
        return bounds
    other = parse_bounds(read(options.elsewhere))
    if other.keys() - bounds.keys():
        raise Bad("%s: unknown goals" % options.elsewhere)
    return {name: (*found[:3], None) for name, found in {**bounds, **other}.items()}


def parse_ceilings(text):
    """{row: most} of tests/bench/ceilings"""
    found = {}
    for line, (where, *hows) in lines_of(text):
        for how, _, most in (word.partition("=") for word in hows):
            name = where + "/" + how
            if not most.isdecimal() or name in found:
                raise Bad("ceilings: cannot parse: " + line)
            found[name] = int(most)
    return found


def ceilings_of(rows, more=1.01):
    """The lines of tests/bench/ceilings for these costs"""
    groups = {}
    for name, cost in sorted(our_costs(rows, "most").items()):
        where, how = re.fullmatch(r"(.*\d|[^/]*)/(.*)", name).groups()
        groups.setdefault(where + " ", []).append("%s=%d" % (how, more * cost))
    return "".join(textwrap.fill(
        " ".join(hows), 88, initial_indent=where, subsequent_indent=where,
        break_long_words=False, break_on_hyphens=False) + "\n"
        for where, hows in groups.items())


def is_ours(row):
    return row.get("transport", "mpa").startswith(("mpa", "rnic"))


def our_costs(rows, run="least"):
    """{row: instructions of a message or a round trip}, which ceilings are of, in its
    @run"""
    unit = {"stream": "messages", "pingpong": "rounds"}
    return {row["row"]: ratio(row[run], row[unit[row["kind"]]])
            for row in rows
            if "skip" not in row and row["kind"] in unit and is_ours(row)}


def above(costs, ceilings):
    """Names of rows that cost more than their ceilings"""
    return [name for name, most in ceilings.items() if costs.get(name, 0) > most]


def too_high(rows, ceilings, quick):
    """What is wrong with ceilings; each row of ours must have one, if there are any."""
    costs = our_costs(rows)
    for name in above(costs, ceilings):
        yield "ABOVE its ceiling: %s, %.0f, not %d" % (name, costs[name], ceilings[name])
    for name in () if quick else ceilings.keys() - costs.keys():
        yield "%s has a ceiling, and is not measured" % name
    for name in costs.keys() - ceilings.keys() if ceilings else ():
        yield "%s, %.0f, has no ceiling" % (name, costs[name])


def verdict(measured, sense, bound, aim, recorded):
    def within(limit):
        return limit is None or (
            measured <= limit if sense == "<=" else measured >= limit)
    if measured is None:
        return "not measured"
    if not within(recorded):
        return "WORSE than recorded"
    if not within(bound):
        return "MISSED"
    return "met" if within(aim) else "bound met"


def judge(rows, bounds):
    """A dict for each goal."""
    if {name for name, *_ in GOALS} != bounds.keys():
        raise Bad("bounds: not those of the goals")
    found = []
    for name, what, function in GOALS:
        measured = function(rows)
        found.append(dict(zip(("is", "bound", "aim", "recorded"), bounds[name]),
                          name=name, goal=what, measured=measured,
                          verdict=verdict(measured, *bounds[name])))
    return found


def missed(goals):
    """A line for each goal missed"""
    for goal in goals:
        if goal["verdict"] not in ("met", "bound met"):
            yield "%s %s: %s, to be %s %s, recorded %s" % (
                goal["verdict"], goal["goal"], cell(goal["measured"], "short"),
                goal["is"], goal["bound"], goal["recorded"])


def assert_rows_matter(bounds):
    """Without rows no goal is measured, and each fails."""
    for goal in judge([], bounds):
        assert goal["verdict"] == "not measured" and list(missed([goal])), goal


# Instructions per octet between which the run can be believed: plain TCP has to be
# efficient, and siw near what was measured before, or the ratios mislead
VALID = [
    ({"kind": "stream", "transport": "tcp", "net": "veth", "part": "both",
      "size": 65536, "conns": 1}, 0, 1.35),
    ({**MAIN, "transport": "siw-crc"}, 9.25, 11.31),
    ({**MAIN, "transport": "siw-one"}, 9.25, 11.31),
]


def invalid(rows):
    return ["NOT VALID: %s costs %.3f instructions per octet, not %g to %g" % (
        row["row"], row["insn_per_octet"], least, most)
        for where, least, most in VALID for row in matching(rows, **where)
        if not least <= row["insn_per_octet"] <= most]


# Tables, of reStructuredText

def table(head, lines):
    cells = [head] + [[str(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = " ".join("=" * width for width in widths)
    text = [" ".join(cell.ljust(width) for cell, width in zip(line, widths))
            .rstrip() for line in cells]
    return "\n".join([rule, text[0], rule, *text[1:], rule]) + "\n"


def short(figure):
    """Four figures, or all in front of the point."""
    return "%.0f" % figure if abs(figure) >= 1000 else "%.4g" % figure


def cell(figure, how=""):
    if figure is None:
        return "-"
    if how == "%":
        return "%.3f" % (100 * figure)
    return short(figure) if how == "short" else format(figure, how)


def plain_table(columns, rows):
    """A column is HEAD:KEY:FORMAT, with _ for a space in the head; the key is the head
    if there is none."""
    split = [(column + "::").split(":")[:3] for column in columns]
    return table([head.replace("_", " ") for head, _, _ in split], [
        [cell(row.get(key or head), how) for head, key, how in split]
        for row in rows])


def named(rows):
    """The rows with cells that are made of two."""
    for row in rows:
        ends = [str(row[key]) for key in ("emss_start", "emss_end") if key in row]
        yield {**row, "named": "%s %s" % (row["letter"] or "-", row.get("transport")),
               "emss": "-".join(dict.fromkeys(ends))}


def streams(rows, name):
    return [row for row in matching(rows, kind="stream", part="both")
            if row["row"].startswith(name)]


def native_table(rows):
    """A line for each thing done to an FPDU, a column for each layout."""
    lines = {}
    for row in matching(rows, kind="native"):
        best = min(row["ns"], row.get("ns_again", row["ns"]))
        lines.setdefault((row["what"], row["size"]), {})[row["layout"]] = \
            "%.*f" % (best < 100, best)
    layouts = list(dict.fromkeys(name for line in lines.values() for name in line))
    return table(["ns of", "octets", *layouts], [
        [*key, *(line.get(layout, "-") for layout in layouts)]
        for key, line in lines.items()])


# Of rows that differ in the transport alone
RATIOS = [("B/A", "mpa", "tcp"), ("C/E", "mpa-crc", "tcp-crc"),
          ("C/E1", "mpa-crc", "tcp-pages"),
          ("C/A", "mpa-crc", "tcp"), ("C1/C", "mpa-pages", "mpa-crc"),
          ("D/C", "mpa-markers", "mpa-crc"),
          ("H/C", "rnic", "mpa-crc"), ("F/C", "siw-crc", "mpa-crc"),
          ("C/F2", "mpa-crc", "siw-gso"), ("G/C", "ktls", "mpa-crc")]


def ratios(rows):
    groups = {}
    for row in matching(rows, kind="stream", part="both"):
        key = tuple(row[name] for name in ("net", "mtu", "size", "conns"))
        groups.setdefault(key, {})[row["transport"]] = row["insn_per_octet"]
    return [{**dict(zip(("net", "mtu", "size", "conns"), key)),
             **{name: ratio(costs.get(a), costs.get(b)) for name, a, b in RATIOS}}
            for key, costs in groups.items() if len(costs) > 1]


STREAM = """transport:named net MTU:mtu EMSS:emss size insn/octet:insn_per_octet:.3f
tx:tx_insn_per_octet:.3f rx:rx_insn_per_octet:.3f /FPDU:insn_per_fpdu:.0f
tx:tx_insn_per_fpdu:.0f rx:rx_insn_per_fpdu:.0f /message:insn_per_message:.0f
tx:tx_insn_per_message:.0f rx:rx_insn_per_message:.0f calls:calls_per_fpdu:short
segments:segments_per_fpdu:short again:same boots"""
# name, title, rows, columns
TABLES = [
    ("streams", "Streams", lambda rows: streams(rows, "stream/"), STREAM),
    ("ratios", "Ratios", ratios, "net MTU:mtu size connections:conns " +
     " ".join(name + "::.2f" for name, _, _ in RATIOS)),
    ("conns", "Many connections", lambda rows: streams(rows, "conns/"),
     "transport:named connections:conns size insn/octet:insn_per_octet:.3f "
     "again:same boots"),
    ("pingpong", "Ping-pong", lambda rows: matching(rows, kind="pingpong"),
     "transport:named net size part insn/round_trip:insn_per_round:.0f again:same boots"),
    ("memory", "Memory of an idle connection without its socket's",
     lambda rows: matching(rows, kind="memory"),
     "transport:named connections:conns octets_each:octets_idle again:same boots"),
]


def tables(rows, goals):
    """{title: (name, text)}, of those that have lines."""
    found = {}
    for name, title, some, columns in TABLES:
        lines = some(rows)
        if lines:
            found[title] = name, plain_table(columns.split(), lines if some is ratios
                                             else named(lines))
    if matching(rows, kind="native"):
        found["Native, in ns"] = "native", native_table(rows)
    found["Goals"] = "goals", plain_table(
        ["goal", "is", "bound::short", "aim::short", "measured::short", "verdict"],
        goals)
    return found


def remarks(rows):
    for key, how in (("same", "twice in one boot"), ("boots", "in two boots")):
        twice = [row for row in rows if key in row and row["kind"] != "native"]
        apart = [row["row"] for row in twice if row[key] == "no"]
        if twice:
            yield "%d rows ran %s, %d agree exactly%s" % (
                len(twice), how, len(twice) - len(apart),
                "".join("\nnot the same: " + name for name in apart))
    for row in rows:
        if "skip" in row:
            yield "not possible: %s, %s" % (row["row"], row["skip"])


# Files

def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_plot(out, rows):
    def data(name, lines):
        write(os.path.join(out, name + ".dat"), "".join(
            " ".join(map(str, line)) + "\n" for line in lines))
    main = matching(rows, **MAIN)
    label = {row["row"]: '"%s"' % (row["letter"] or row["transport"]) for row in main}
    sums = {row["transport"]: (label[row["row"]],
                               row.get("tx_insn_per_octet", 0),
                               row.get("rx_insn_per_octet", row["insn_per_octet"]))
            for row in main}
    data("octet", sums.values())
    data("crc", [sums[name] for name in ("tcp", "tcp-crc", "mpa", "mpa-crc")
                 if name in sums])
    data("markers", [(row["size"], row["D/C"]) for row in ratios(rows)
                     if row["D/C"] and (row["net"], row["mtu"], row["conns"]) ==
                     ("veth", 1500, 1)])
    for name in LETTERS:
        data("size-" + name, sorted(
            (row["size"], row["insn_per_message"]) for row in streams(rows, "stream/")
            if (row["net"], row["mtu"], row["transport"]) == ("veth", 1500, name)))


# Commands

def report(out, options):
    rows = build(read(out, "rows"))
    bounds = bounds_of(options)
    assert_rows_matter(bounds)
    goals = judge(rows, bounds)
    text = "\n".join("%s\n%s\n%s" % (title, "-" * len(title), lines)
                     for title, (_, lines) in tables(rows, goals).items())
    with open(os.path.join(out, "results.csv"), "w", encoding="ascii",
              newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore",
                                lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_plot(out, rows)
    write(os.path.join(out, "tables.rst"), text)
    wrong = [*invalid(rows), *missed(goals),
             *too_high(rows, parse_ceilings(read(options.ceilings)), options.quick)]
    print(text, *remarks(rows), *("not ok " + line for line in wrong), sep="\n")
    return bool(wrong)


def price(row):
    """Cost of a row (lower is better)"""
    if row["kind"] == "memory":
        return row["octets_idle"]
    return ratio(row["least"], row["octets" if row["kind"] == "stream" else "rounds"])


def compare(base, new):
    """Prints each row of either directory. Rows without MPA show the size of random
    differences."""
    old, now = [{row["row"]: row for row in build(read(path, "rows"))
                 if "skip" not in row and row["kind"] != "native"}
                for path in (base, new)]
    lines, bad = [], []
    for name in {**now, **old}:
        before, after = [price(rows[name]) if name in rows else None
                         for rows in (old, now)]
        more = None
        if name not in old:
            said = "new"
        elif name not in now:
            said = "LOST"
        else:
            more = after / before - 1 if before else float(after and "inf")
            # The limit itself is allowed, however it is rounded
            said = ("not ours" if not is_ours(now[name]) else
                    "WORSE" if more > LOSS + 1e-9 else
                    "better" if more < -LOSS else "same")
        lines.append([name, cell(before, "short"), cell(after, "short"),
                      cell(more, "%"), said])
        bad += [name] if said in ("WORSE", "LOST") else []
    print(table(["row", "before", "after", "more %", ""], lines))
    print("%d of %d rows cost at least %.0f %% more, or are lost" % (
        len(bad), len(lines), 100 * LOSS), *bad, sep="\n")
    return bool(bad)


def doc(out, path, options):
    """Replace the text between ".. bench NAME" and ".. bench end", and the ceilings."""
    rows = build(read(out, "rows"))
    found = dict(tables(rows, judge(rows, bounds_of(options))).values())

    def put(match):
        if match[2] not in found:
            raise Bad("no table %s" % match[2])
        return "%s\n\n%s\n.. bench end\n" % (match[1], found[match[2]])
    write(path, re.sub(r"^(\.\. bench (?!end)(\w+))\n.*?^\.\. bench end\n", put,
                       read(path), flags=re.S | re.M))
    head = re.match("(#.*\n)*", read(options.ceilings))[0]
    write(options.ceilings, head + ceilings_of(rows))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bounds", default=os.path.join(HERE, "bounds"))
    parser.add_argument("--elsewhere", metavar="BOUNDS",
                        help="on another kernel, with these in place of some bounds")
    parser.add_argument("--ceilings", default=os.path.join(HERE, "ceilings"))
    parser.add_argument("--compare", metavar="BASE")
    parser.add_argument("--doc", metavar="TEXT")
    parser.add_argument("--above", action="store_true")
    parser.add_argument("directory")
    options = parser.parse_args()
    if options.compare:
        return compare(options.compare, options.directory)
    if options.above:
        for name in above(our_costs(build(read(options.directory, "rows"))),
                          parse_ceilings(read(options.ceilings))):
            print(name)
        return 0
    if options.doc:
        return doc(options.directory, options.doc, options)
    return report(options.directory, options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, Bad) as bad:
        print("report: %s" % bad, file=sys.stderr)
        sys.exit(2)
