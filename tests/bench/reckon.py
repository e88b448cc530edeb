# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The rows of tests/bench/bench.sh, with figures computed from them."""

import re

LETTERS = {"tcp": "A", "mpa": "B", "mpa-crc": "C", "mpa-markers": "D",
           "tcp-crc": "E", "siw-crc": "F", "siw-one": "F1", "siw-gso": "F2",
           "ktls": "G", "rnic": "H", "rnic-one": "H1"}
# Required words of the lines of each kind
NEEDED = {
    "stream": "transport net mtu size conns part octets messages insns fpdus "
              "calls segments emss_start emss_end verified",
    "pingpong": "transport net size rounds insns",
    "memory": "transport conns bytes",
    "align": "traffic loss slow segments aligned",
    "native": "what size layout ns",
}
COMMON = {"net": "veth", "mtu": 1500, "conns": 1, "part": "both"}
# Words that identify a row, but for part=
SAME = "kind transport net mtu size conns".split()
COLUMNS = """row kind transport letter net mtu size conns part octets messages
insns insns_again same boots insn_per_octet tx_insn_per_octet rx_insn_per_octet
insn_per_fpdu tx_insn_per_fpdu rx_insn_per_fpdu insn_per_message
tx_insn_per_message rx_insn_per_message fpdus calls segments calls_per_fpdu
segments_per_fpdu emss_start emss_end verified rounds insn_per_round bytes
bytes_used traffic loss slow aligned aligned_share begin again again_aligned
full tight what layout ns ns_again skip""".split()
MAIN = {"kind": "stream", "net": "veth", "mtu": 1500, "size": 65536,
        "conns": 1, "part": "both"}


class Bad(Exception):
    """Invalid lines."""


# Lines

def value(text):
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return float(text)
    return text


def parse_line(line):
    pairs = [word.partition("=") for word in line.split()]
    found = {key: value(text) for key, _, text in pairs}
    if len(found) < len(pairs) or "" in found.values():
        raise Bad("cannot parse: " + line)
    missing = {"row", "kind"} - found.keys()
    if not missing and "skip" not in found:
        if found["kind"] not in NEEDED:
            raise Bad("no such kind: " + line)
        missing = {"run", *NEEDED[found["kind"]].split()} - found.keys()
    if missing:
        raise Bad("without %s: %s" % (", ".join(sorted(missing)), line))
    return {**COMMON, **found} if found["kind"] == "stream" else found


def parse(text):
    return [parse_line(line) for line in text.splitlines() if line.strip()]


# Rows

def turns(lines):
    """{name: {boot: {run: line}}}"""
    found = {}
    for line in lines:
        boots = found.setdefault(line["row"], {})
        runs = boots.setdefault(line.pop("boot", 1), {})
        run = line.pop("run", 1)
        if run in runs:
            raise Bad("%s: run %s twice" % (line["row"], run))
        runs[run] = line
    return found


def yes_no(same):
    return "yes" if same else "no"


def merge(boots):
    """A row: its first run, and the results of the others."""
    if 1 not in boots or 1 not in boots[1]:
        raise Bad("without its first run: %s" % boots)
    row = dict(boots[1][1])
    row["letter"] = LETTERS.get(row.get("transport"))
    if 2 in boots[1]:
        row["same"] = yes_no(boots[1][1] == boots[1][2])
        for key in {"insns", "ns"} & boots[1][2].keys():
            row[key + "_again"] = boots[1][2][key]
    if 2 in boots:
        row["boots"] = yes_no(boots[1] == boots[2])
    return row


def ratio(part, whole):
    return part / whole if part is not None and whole else None


def times(factor, rate):
    return factor * rate if factor is not None and rate is not None else None


def stream_figures(row, tx):
    """Figures of a row of streams; those of sending alone are in another."""
    costs = {"": ratio(row["insns"], row["octets"])}
    if tx:
        costs["tx_"] = ratio(tx["insns"], tx["octets"])
        costs["rx_"] = costs[""] - costs["tx_"]
    found = {}
    for side, cost in costs.items():
        found[side + "insn_per_octet"] = cost
        for unit in ("fpdu", "message"):
            found["%sinsn_per_%s" % (side, unit)] = times(
                cost, ratio(row["octets"], row[unit + "s"]))
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
        return {"insn_per_round": ratio(row["insns"], row["rounds"])}
    if row["kind"] == "align":
        return {"aligned_share": ratio(row["aligned"], row["segments"])}
    return {}


def build(text):
    """The rows of the guests' output, with all figures."""
    rows = [merge(boots) for boots in turns(parse(text)).values()]
    wrong = [row["row"] for row in rows
             if row["kind"] == "stream" and "skip" not in row
             and row["verified"] != 1]
    if wrong:
        raise Bad("the octets were not those sent: " + ", ".join(wrong))
    return [dict(row, **figures(row, rows)) for row in rows]


def matching(rows, **where):
    return [row for row in rows if "skip" not in row
            and all(row.get(key) == wanted for key, wanted in where.items())]


def find(rows, **where):
    found = matching(rows, **where)
    if len(found) > 1:
        raise Bad("%s and %s are the same"
                  % (found[0]["row"], found[1]["row"]))
    return found[0] if found else None


def figure(rows, name, **where):
    row = find(rows, **where)
    return row.get(name) if row else None


# Goals: each function takes the rows and gives the figure, or None

def per_octet(rows, transport, **where):
    return figure(rows, "insn_per_octet", transport=transport,
                  **{**MAIN, **where})


def more_per_fpdu(rows):
    """Instructions of an FPDU beyond those of its octets in plain TCP."""
    ours = find(rows, transport="mpa", **MAIN)
    plain = per_octet(rows, "tcp")
    if not ours or plain is None:
        return None
    return times(ours["insn_per_octet"] - plain,
                 ratio(ours["octets"], ours["fpdus"]))


def against(ours, theirs):
    return lambda rows: ratio(per_octet(rows, ours), per_octet(rows, theirs))


def small(ours, theirs):
    return lambda rows: ratio(*(
        figure(rows, "insn_per_message", transport=transport,
               **{**MAIN, "size": 64}) for transport in (ours, theirs)))


def ping(ours, theirs):
    return lambda rows: ratio(*(
        figure(rows, "insn_per_round", kind="pingpong", size=64, net="veth",
               transport=transport) for transport in (ours, theirs)))


def aligned(**where):
    return lambda rows: min(
        (row["aligned_share"]
         for row in matching(rows, kind="align", **where)), default=None)


def spread(rows):
    """Ratio of the cost of an octet with many and few connections."""
    many = matching(rows, kind="stream", transport="mpa-crc", part="both")
    alike = [row for row in many if row["conns"] > 1]
    if not alike:
        return None
    alike += [row for row in many if row["conns"] == 1 and all(
        row[key] == alike[0][key] for key in ("net", "mtu", "size"))]
    costs = {row["conns"]: row["insn_per_octet"] for row in alike}
    if not {1, 64, 1024} <= costs.keys():
        return None
    return max(costs.values()) / min(costs.values()) - 1


def memory(rows):
    return max((row["bytes"] for row in
                matching(rows, kind="memory", transport="mpa-crc")),
               default=None)


# name, description, function, whether quick mode has it
GOALS = [
    ("more_per_fpdu", "(B - A) per FPDU, instructions", more_per_fpdu, True),
    ("c_to_e", "C/E", against("mpa-crc", "tcp-crc"), True),
    ("d_to_c", "D/C", against("mpa-markers", "mpa-crc"), True),
    ("f_to_c", "F/C", against("siw-crc", "mpa-crc"), True),
    ("c_to_gso", "C/F2 (siw with FPDU > MSS)",
     against("mpa-crc", "siw-gso"), True),
    ("small", "64 B in lists, C/F1 per message", small("mpa-crc", "siw-one"),
     True),
    ("small_lists", "the same, C/F (siw with lists as well)",
     small("mpa-crc", "siw-crc"), True),
    ("pingpong", "64 B ping-pong, C/A", ping("mpa-crc", "tcp"), True),
    ("rnic", "H/C (the RDMA device, Sends of 64 KB)",
     against("rnic", "mpa-crc"), True),
    ("siw_rnic", "F/H", against("siw-crc", "rnic"), True),
    ("rnic_small", "64 B in lists, H/F per message", small("rnic", "siw-crc"),
     True),
    ("rnic_pingpong", "64 B ping-pong, H/F", ping("rnic", "siw-crc"), True),
    ("aligned", "aligned segments, no loss", aligned(loss=0, slow=0), True),
    ("aligned_oneway", "aligned, 1 % loss, one way",
     aligned(loss=1, slow=0, traffic="oneway"), False),
    ("aligned_twoway", "aligned, 1 % loss, two ways",
     aligned(loss=1, slow=0, traffic="twoway"), True),
    ("aligned_slow", "aligned, slow receiver", aligned(slow=1), False),
    ("conns", "cost per octet with 1, 64, 1024 connections, apart", spread,
     False),
    ("memory", "memory of an idle connection, octets", memory, True),
]


def parse_bounds(text):
    """{name: (sense, bound, aim, recorded)} of tests/bench/bounds"""
    bounds = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 5 or words[1] not in ("<=", ">="):
            raise Bad("bounds: cannot parse: " + line)
        limits = [None if word == "-" else float(word) for word in words[2:]]
        if limits[0] is None:
            raise Bad("bounds: without a bound: " + line)
        bounds[words[0]] = (words[1], *limits)
    return bounds


def within(measured, sense, limit):
    return measured <= limit if sense == "<=" else measured >= limit


def verdict(measured, sense, bound, aim, recorded):
    if measured is None:
        return "not measured"
    if recorded is not None and not within(measured, sense, recorded):
        return "WORSE than recorded"
    if not within(measured, sense, bound):
        return "MISSED"
    if aim is not None and not within(measured, sense, aim):
        return "bound met"
    return "met"


def judge(rows, bounds, quick=False):
    """A dict for each goal."""
    if {name for name, *_ in GOALS} != bounds.keys():
        raise Bad("bounds: not those of the goals")
    found = []
    for name, what, function, is_quick in GOALS:
        sense, bound, aim, recorded = bounds[name]
        measured = function(rows)
        said = verdict(measured, sense, bound, aim, recorded)
        if said == "not measured" and quick and not is_quick:
            said = "not in quick mode"
        found.append({"name": name, "what": what, "sense": sense,
                      "bound": bound, "aim": aim, "recorded": recorded,
                      "measured": measured, "verdict": said})
    return found


def reached(goals, quick=False, recorded=False):
    """With either, a missed bound passes if the record misses it as well."""
    good = ("met", "bound met", "not in quick mode")
    return all(goal["verdict"] in good or (
        (quick or recorded) and goal["verdict"] == "MISSED" and
        goal["recorded"] is not None)
        for goal in goals)


# Whether the run can be believed

PLAIN_AT_MOST = 0.85
SIW_ANCHOR = 10.28      # with Linux 6.1
SIW_FPDU = 14600
SIW_APART = 0.1
# Instructions per octet by which a copy of Linux 6.12 (memcpy_orig, 12 for 32
# octets) exceeds one of the kernel of these limits (rep movsq, 1 for 8)
COPY_MORE = 12 / 32 - 1 / 8


def check(row, limit, valid, as_then):
    return {"row": row["row"], "measured": row["insn_per_octet"],
            "limit": limit, "as_then": as_then,
            "valid": "yes" if valid(row["insn_per_octet"])
            else "explained" if as_then is not None and valid(as_then)
            else "no"}


def valid_plain(rows):
    """Plain TCP has to be efficient, or the ratios mislead."""
    for row in matching(rows, kind="stream", transport="tcp", part="both",
                        size=65536, conns=1):
        # Into TCP's buffers and out of them
        yield check(row, "<= %.2f" % PLAIN_AT_MOST,
                    lambda cost: cost <= PLAIN_AT_MOST,
                    row["insn_per_octet"] - 2 * COPY_MORE)


def valid_siw(rows):
    for row in [*matching(rows, transport="siw-crc", **MAIN),
                *matching(rows, transport="siw-one", **MAIN)]:
        yield check(row, "%.2f +- %.0f %%" % (SIW_ANCHOR, 100 * SIW_APART),
                    lambda cost: abs(cost / SIW_ANCHOR - 1) <= SIW_APART, None)


def validity(rows):
    return [*valid_plain(rows), *valid_siw(rows)]


# Ratios of rows that differ in the transport alone

RATIOS = [("B/A", "mpa", "tcp"), ("C/E", "mpa-crc", "tcp-crc"),
          ("C/A", "mpa-crc", "tcp"), ("D/C", "mpa-markers", "mpa-crc"),
          ("F/C", "siw-crc", "mpa-crc"), ("C/F2", "mpa-crc", "siw-gso"),
          ("G/C", "ktls", "mpa-crc")]


def ratios(rows):
    groups = {}
    for row in matching(rows, kind="stream", part="both"):
        key = (row["net"], row["mtu"], row["size"], row["conns"])
        groups.setdefault(key, {})[row["transport"]] = row["insn_per_octet"]
    return [{**dict(zip(("net", "mtu", "size", "conns"), key)),
             **{name: ratio(costs.get(a), costs.get(b))
                for name, a, b in RATIOS}}
            for key, costs in groups.items() if len(costs) > 1]


# Two runs against each other

def price(row):
    """Cost of a row, the better one of two runs (lower is better)."""
    if row["kind"] == "memory":
        return row["bytes"]
    if row["kind"] == "align":
        return ratio(row["segments"], row["aligned"])
    return ratio(min(row["insns"], row.get("insns_again", row["insns"])),
                 row["octets" if row["kind"] == "stream" else "rounds"])


def worse(before, after):
    if before is None or after is None:
        return None
    if before <= 0:
        return 0.0 if after <= before else float("inf")
    return after / before - 1


def ours(row):
    return row.get("transport", "mpa").startswith("mpa")


def change(row, known, more, limit):
    if not known:
        return "new"
    if more is None:
        return "LOST"
    # Rows without MPA show the size of random differences
    if not ours(row):
        return "not ours"
    # The limit itself is allowed, however it is rounded
    if more > limit + 1e-9:
        return "WORSE"
    return "better" if more < -limit else "same"


def compare(base, new, limit):
    """Yield (row, before, after, more, verdict) for each row of either."""
    old, now = [{row["row"]: row for row in rows
                 if "skip" not in row and row["kind"] != "native"}
                for rows in (base, new)]
    for name in [*now, *(name for name in old if name not in now)]:
        before, after = [price(rows[name]) if name in rows else None
                         for rows in (old, now)]
        more = worse(before, after)
        said = change(now.get(name, {}), name in old, more, limit)
        yield name, before, after, more, said
