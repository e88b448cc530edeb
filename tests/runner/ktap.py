#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Flatten the results of KUnit: one line a case, or a row of its parameters.

usage: ktap.py [SUITE...] <RESULTS

RESULTS holds the files /sys/kernel/debug/kunit/*/results one after the other.
Prints "ok SUITE.CASE" and "ok SUITE.CASE ROW", with "not" before and "# SKIP
reason" after it. A named suite without results, a suite that aborted and a plan
that was not kept are failures of their own. Status 1 if anything failed.
"""

import re
import sys

RESULT = re.compile(r"^( *)(not )?ok (\d+)(?: -)? ?(.*)$")
SUBTEST = re.compile(r"^( *)# Subtest: (\S+)")
PLAN = re.compile(r"^( *)1\.\.(\d+)")
STEP = 4


class Suite:
    """Results of one suite so far."""

    def __init__(self, name):
        self.name = name
        self.plan = None
        self.cases = 0
        self.rows = []
        self.lines = []

    def put(self, good, what):
        self.lines.append("%sok %s.%s" % ("" if good else "not ", self.name,
                                          what))

    def row(self, bad, number, what):
        """A row is reported with its case, whose name follows."""
        self.rows.append((bad, number, what))

    def case(self, bad, what):
        name, _, directive = what.partition(" # ")
        name = name.strip()
        self.cases += 1
        for index, (bad_row, number, text) in enumerate(self.rows, 1):
            self.put(not bad_row, "%s %s" % (name, text))
            if number != index:
                self.put(False, "%s row %d is missing" % (name, index))
        failed_row = any(row[0] for row in self.rows)
        if not self.rows or (bad and not failed_row):
            self.put(not bad, name + (" # " + directive if directive else ""))
        self.rows = []

    def end(self, bad):
        if self.rows:
            self.put(False, "the last case broke off")
        if self.plan is None or self.plan != self.cases:
            self.put(False, "%d cases ran of %s planned" % (self.cases,
                                                            self.plan))
        elif bad and not any(line.startswith("not") for line in self.lines):
            self.put(False, "the suite failed")


def flatten(lines):
    """The suites in RESULTS, in order; one that did not end is in there."""
    suites, open_suite, ended = [], None, True
    for line in lines:
        line = line.rstrip("\n")
        started = SUBTEST.match(line)
        if started and len(started[1]) == STEP:
            if open_suite and not ended:
                open_suite.put(False, "the suite broke off")
            open_suite, ended = Suite(started[2]), False
            suites.append(open_suite)
            continue
        plan, result = PLAN.match(line), RESULT.match(line)
        if not open_suite or ended:
            continue
        if plan and len(plan[1]) == STEP:
            open_suite.plan = int(plan[2])
        elif result:
            depth = len(result[1]) // STEP
            if depth >= 2:
                open_suite.row(bool(result[2]), int(result[3]), result[4])
            elif depth == 1:
                open_suite.case(bool(result[2]), result[4])
            else:
                open_suite.end(bool(result[2]))
                ended = True
    if open_suite and not ended:
        open_suite.put(False, "the suite broke off")
    return suites


def main(wanted):
    suites = flatten(sys.stdin)
    out = [line for suite in suites for line in suite.lines]
    seen = {suite.name for suite in suites if suite.lines}
    out += ["not ok %s.suite no results" % name for name in wanted
            if name not in seen]
    if not out:
        out = ["not ok kunit.results none"]
    print("\n".join(out))
    return any(line.startswith("not") for line in out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
