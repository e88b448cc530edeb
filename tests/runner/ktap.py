#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Print the results of KUnit in a kernel's log, one line for each case or row of
its parameters: "ok SUITE.CASE ROW", with "not" before and "# SKIP" after it.

usage: ktap.py [SUITE...] <LOG, where a SUITE may be a pattern

The parser of the kernel's kunit.py reads the log; its report goes to stderr. That
program accepts a log with rows that are missing or out of order, and cannot know
which SUITEs there should be. Here both are failures. Status 1 if anything failed.
A log has parts, one for each module with suites, which lines of check-kunit.sh divide.
"""

import contextlib
import fnmatch
import os
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def kernel_source():
    return subprocess.run(
        ["bash", "-c", '. "$0/vm/lib.sh" && kernel_source', TESTS],
        stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def results(test, name, between=" "):
    """The lines of a test's parts, and its own if they do not say that it failed."""
    lines = []
    for part in test.subtests:
        lines += results(part, name + between + (part.name or "did not run"))
    good = test.ok_status() and not test.counts.errors
    if not lines or not (good or any(line.startswith("not") for line in lines)):
        skipped = " # SKIP" * (test.status.name == "SKIPPED")
        lines.append("%sok %s%s" % ("" if good else "not ", name, skipped))
    return lines


def parts(log):
    """The lists of lines that lines of check-kunit.sh divide"""
    part = []
    for line in log:
        if "guest: the suites of " in line:
            yield part
            part = []
        part.append(line)
    yield part


def main(wanted):
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.path.join(kernel_source(), "tools/testing/kunit"))
    sys.stdin.reconfigure(errors="backslashreplace")
    suites = []
    # It takes the stdout of its import for its report
    with contextlib.redirect_stdout(sys.stderr):
        # pylint: disable=import-error,import-outside-toplevel
        from kunit_parser import parse_run_tests
        for part in parts(sys.stdin):
            suites += parse_run_tests(part).subtests
    lines = []
    for suite in suites:
        lines += results(suite, suite.name or "kunit did not run", ".")
    lines += ["not ok %s did not run" % name for name in wanted
              if not fnmatch.filter([suite.name or "" for suite in suites], name)]
    # Of parts without a name there may be many
    lines = list(dict.fromkeys(lines)) or ["not ok kunit did not run"]
    print("\n".join(lines))
    return any(line.startswith("not") for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
