#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Compare the conformance tables with the results of a test run.

usage: conformance.py [--fill] RESULTS [TABLE]

RESULTS is the output of tests/check.sh, or of tests/interop/interop.sh: of the cases
that begin with "interop." only those are judged. Without a TABLE both are compared,
MPA's and the device's. A case is named as there, without the IDs:
"mpa_rx.rx_length_checked 64769" is the row "64769" of a KUnit case with
parameters, "socket.echo.bound" is one of tests/net/socket. The last column of the
table names the functions that implement the rule, and the cases that show it:

    ``function()``, ``other()``: ``mpa_tx.tx_known_mulpdu EMSS 140``

Every requirement of level MUST, MUST NOT, SHOULD or SHOULD NOT needs both
("below MPA" stands for the functions if TCP or IP implement the rule), or says
why it does not apply. Status 1 if a row names a case that did not run, did not
pass or does not carry the row's ID, or a function that is not in the sources; if
a case carries the ID of a row that does not apply; and if a row about the sender
names a case of the receiver, or the other way round. Cases of the device carry no IDs.

A row is about one side if it is in SENDER or RECEIVER below; the rest of the
rows bind both. A case tests one side if it drives only that side of the module
(the other end is a reference or a bare socket), or if it examines a capture of
that side: CASE_OF names these, the rest of the cases drive both.

--fill rewrites the cases of each row: it drops cases with a fault, and adds for
each suite without a remaining case the one with the fewest IDs. The functions
stay.
"""

import csv
import glob
import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), os.pardir,
                   os.pardir)
TABLES = [os.path.join(TOP, "Documentation", "networking", name)
          for name in ("mpa-conformance.rst", "mpa-rnic-conformance.rst")]
GROUPS = "SZ|FR|MK|CR|TX|RX|OO|CS|RF|VN|TD|ER|SE|DD|E"
COUNT = 269 + 44
RNIC_GROUPS = "D[LHSTEP]|R[HTWRSOMEPC]"
RNIC_COUNT = 272
BINDING = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT")
EXCUSE = "does not apply"
BELOW = "below MPA"

SENDER = re.compile(r"SZ-|TX-|FR-0[59]|MK-0[2579]|CR-13|RF-0[78]|CS-29")
RECEIVER = re.compile(r"RX-|OO-|ER-|FR-06|MK-0[36]|MK-1[25]|CR-19|CR-2|DD-0[2-47]"
                      r"|TD-02|VN-12")
CASE_OF = {
    "sender": re.compile(r"mpa_tx\.|mpa_conn\.(send|train|series|template|zerocopy|queue|"
                         r"scribble) |"
                         r"socket\.align\."),
    "receiver": re.compile(r"mpa_(rx|ooo)\.|mpa_conn\.(recv|keep|error|fin|"
                           r"splice|ooo|ooo_end) |"
                           r"socket\.ooo\."),
}

ROW = re.compile(r"^   (?=(?:%s|%s)-\d\d, )" % (GROUPS, RNIC_GROUPS))
ID = re.compile(r"(?<![A-Za-z0-9_-])((?:%s)-\d\d)(?!\d)" % GROUPS)
RESULT = re.compile(r"^(not )?ok\b(?:\s+\d+)?(?:\s+-)?\s*(.*)$")
SKIP = re.compile(r"#\s*SKIP\b", re.I)
ELSEWHERE = "interop."
DEFINED = r"^[a-z_][a-z_0-9 *\n]*?[ *\n]%s\([^;{}()]*\)\n\{\n"


class Row:
    """A row of the table."""

    def __init__(self, line):
        fields = next(csv.reader([line.strip()], skipinitialspace=True))
        self.fields = len(fields)
        self.ident, self.level, self.text, self.shown = (fields + [""] * 3)[:4]
        self.binding = self.level.rstrip("*") in BINDING
        self.excused = self.shown.startswith(EXCUSE)
        names = [] if self.excused else re.findall("``([^`]+)``", self.shown)
        self.functions = [n[:-2] for n in names if re.fullmatch(r"\w+\(\)", n)]
        self.cases = [n for n in names if not re.fullmatch(r"\w+\(\)", n)]
        self.below = self.shown.startswith(BELOW)
        self.carried = re.match("(?:%s)-" % GROUPS, self.ident)

    def right(self, case):
        """True if the case is of a side that the row is about."""
        side = ("sender" if SENDER.match(self.ident) else
                "receiver" if RECEIVER.match(self.ident) else None)
        return not side or not any(pattern.match(case) for other, pattern
                                   in CASE_OF.items() if other != side)

    def line(self):
        keep = [BELOW] if self.below else ["``%s()``" % f for f in self.functions]
        shown = ": ".join(part for part in (
            ", ".join(keep), ", ".join("``%s``" % c for c in self.cases)) if part)
        return '   %s, %s, "%s", "%s"\n' % (self.ident, self.level, self.text,
                                            shown)


def read_table(path):
    with open(path, encoding="utf-8") as table:
        return [Row(line) for line in table if ROW.match(line)]


def read_results(path):
    """The IDs of each case that passed, and of each that failed."""
    passed, failed = {}, {}
    with open(path, encoding="utf-8", errors="replace") as results:
        for line in results:
            case = RESULT.match(line)
            if not case or SKIP.search(case[2]):
                continue
            text = re.sub(r" \((debug|kcsan|gcov)\)$", "", case[2].strip())
            name = re.sub(r"\b(?:%s)-\d\d:?( |$)" % GROUPS, "", text).strip()
            if name.startswith(("socket.", ELSEWHERE)):
                name = name.split()[0]
            into = failed if case[1] else passed
            into.setdefault(name, set()).update(ID.findall(text))
    for name in failed:
        passed.pop(name, None)
    return passed, failed


def sources(folders):
    """Text of each file of the module, and of the consumers in these folders."""
    texts = {}
    for name in (sorted(glob.glob("mpa_*.[ch]", root_dir=TOP)) +
                 [name for folder in folders for name in
                  sorted(glob.glob(folder + "/*.c", root_dir=TOP))]):
        with open(os.path.join(TOP, name), encoding="utf-8") as source:
            texts[name] = source.read()
    return texts


def fill(path, passed):
    with open(path, encoding="utf-8") as table:
        lines = table.readlines()
    for number, line in enumerate(lines):
        row = Row(line) if ROW.match(line) else None
        if not row or row.excused:
            continue
        shows = [name for name, ids in passed.items()
                 if row.ident in ids and row.right(name)]
        row.cases = [name for name in row.cases if name in shows]
        had = {name.split(".")[0] for name in row.cases}
        for name in sorted(shows, key=lambda name: len(passed[name])):
            if name.split(".")[0] not in had:
                row.cases.append(name)
                had.add(name.split(".")[0])
        row.cases.sort(key=lambda name: name.split(".")[0])
        lines[number] = row.line()
    with open(path, "w", encoding="utf-8") as table:
        table.writelines(lines)


def elsewhere(passed, failed):
    """True if these are the results of tests/interop/interop.sh."""
    return any(name.startswith(ELSEWHERE) for name in [*passed, *failed])


def judge_row(row, passed, failed, texts):
    """The faults of a row."""
    if row.fields != 4:
        yield "%d columns, not 4" % row.fields
    if row.excused:
        if len(row.shown) < len(EXCUSE) + 10:
            yield "the reason why it does not apply is missing"
        for name in sorted(n for n, ids in passed.items() if row.ident in ids):
            yield "does not apply, but %s carries it" % name
        return
    for name in row.cases:
        if name.startswith(ELSEWHERE) != elsewhere(passed, failed):
            continue
        if name not in passed:
            yield "%s %s" % (name, "failed" if name in failed else "did not run")
        elif row.carried and row.ident not in passed[name]:
            yield "%s does not carry it" % name
        elif not row.right(name):
            yield "%s drives the other side alone" % name
    for function in row.functions:
        if not any(re.search(DEFINED % function, text, re.M) for text in texts.values()):
            yield "there is no %s()" % function
    if row.binding and not row.cases:
        yield "%s, and no case: %s" % (row.level, row.text)
    if row.cases and not row.functions and not row.below:
        yield "no function keeps it: %s" % row.text


def judge(rows, passed, failed, texts):
    known = {row.ident for row in rows}
    ours = any(row.carried for row in rows)
    count = COUNT if ours else RNIC_COUNT
    if len(rows) != count or len(known) != count:
        yield "the table has %d rows with %d IDs, not %d" % (
            len(rows), len(known), count)
    for ident in sorted(set().union(*passed.values(), *failed.values()) - known):
        if ours:
            yield "%s: a case carries it, but there is no such requirement" % ident
    for row in rows:
        for fault in judge_row(row, passed, failed, texts):
            yield "%s: %s" % (row.ident, fault)
    if not passed:
        yield "no case has passed"


def main(args):
    filled = args[:1] == ["--fill"] and args.pop(0)
    if len(args) not in (1, 2) or args[0].startswith("-"):
        sys.exit(__doc__)
    passed, failed = read_results(args[0])
    bad = 0
    for table in args[1:] or TABLES:
        if filled and table != TABLES[1]:
            fill(table, passed)
        rows = read_table(table)
        # Some names are in both folders
        texts = sources(["samples", "rnic"] if any(row.carried for row in rows)
                        else ["rnic"])
        faults = list(judge(rows, passed, failed, texts))
        for fault in faults:
            print("conformance: " + fault)
        print("conformance: %d requirements, %d binding, %d do not apply, %d name "
              "a case of %d, %d faults" % (
                  len(rows), sum(row.binding for row in rows),
                  sum(row.excused for row in rows),
                  sum(bool(row.cases) for row in rows), len(passed), len(faults)))
        bad += len(faults)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
