#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Judge a checker's output; the result is a line of TAP.

usage: findings.py TOOL DIRECTORY <OUTPUT

DIRECTORY has the sources as the checker saw them. Findings that are not in the
list of known ones are shown, and so are known ones that the checker no longer
reports.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
FINDING = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+):\d+(-\d+)?: "
                     r"(?P<what>.*) \[(?P<id>[^\]\s]+)\]")
# A checker that could not do its work may name nothing else
OTHER = re.compile(r"([^\s:]+:\d+|^\w+): (fatal )?(error|warning)\b")


def known_findings(tool):
    """{(id, file, line of the source): False} of the list."""
    known = {}
    with open(os.path.join(HERE, "known"), encoding="utf-8") as text:
        for line in text:
            if line.strip() and not line.startswith("#"):
                by, kind, file, source = line.strip().split(None, 3)
                if by == tool:
                    known[kind, file, source] = False
    return known


def source_line(path, number):
    try:
        with open(path, encoding="utf-8") as source:
            return source.read().split("\n")[number - 1].strip()
    except (OSError, IndexError):
        return ""


def new_findings(lines, top, known):
    """Unknown findings, each once; marks the known ones."""
    seen = set()
    for line in lines:
        found = FINDING.match(line)
        if not found:
            if OTHER.search(line):
                seen.add(line)
            continue
        path = os.path.join(top, found["file"])
        file = os.path.relpath(path, top)
        # Inside a macro or an inline function of the kernel
        if file.startswith(os.pardir) or found["what"].startswith("note:"):
            continue
        source = source_line(path, int(found["line"]))
        key = found["id"].partition(",")[0], file, source
        if key in known:
            known[key] = True
        else:
            seen.add("%s:%s: %s [%s]\n    %s" % (
                file, found["line"], found["what"], found["id"], source))
    return sorted(seen)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, top = sys.argv[1:]
    known = known_findings(tool)
    wrong = new_findings(sys.stdin.read().splitlines(), top, known)
    wrong += ["no longer found: %s %s %s" % key
              for key, found in known.items() if not found]
    for line in wrong:
        print(line, file=sys.stderr)
    print("%sok lint.%s %d findings" % ("not " if wrong else "", tool,
                                        len(wrong)))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
