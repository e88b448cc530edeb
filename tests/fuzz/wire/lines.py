#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Name the lines that the fuzzer has reached.

usage: lines.py MPA.KO PLACES [FILE]

MPA.KO is the module that was run, with line numbers, PLACES the output of
mpa-fuzz -l. Prints for each file the share of reached lines, of those at which a
block of code begins, or, for FILE, the lines not reached.
"""

import collections
import re
import subprocess
import sys

CALL = re.compile(r"^\s*([0-9a-f]+):\s+R_X86_64_P\w+\s+__sanitizer_cov_trace_pc")
JUMP = re.compile(r"^\s*[0-9a-f]+:\s+jmp")
SECTION = re.compile(r"^Disassembly of section (\S+):")
SECTIONS = (".text", ".text.unlikely")


def run(*command, text=None):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def blocks(module):
    """Where blocks begin: {section: offsets that the calls return to}. A block
    that ends in a jump to the function is known by its caller's place only."""
    found, section = collections.defaultdict(list), None
    jump = False
    for line in run("objdump", "-dr", "--no-show-raw-insn",
                    module).splitlines():
        match = SECTION.match(line)
        if match:
            section = match[1]
        match = CALL.match(line)
        if match and section in SECTIONS and not jump:
            found[section].append(int(match[1], 16) + 4)
        jump = JUMP.match(line)
    return found


def places(name):
    """Places reached, and addresses of the sections."""
    base, reached = {}, set()
    with open(name, encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if words[0] == "section":
                base[words[1]] = int(words[2], 16)
            else:
                reached.add(int(words[0], 16))
    return base, reached


def line_of(module, section, offsets):
    """The line that each call is in."""
    text = "".join("%x\n" % (offset - 1) for offset in offsets)
    said = run("addr2line", "-e", module, "-j", section, text=text)
    return [line.split(" ")[0] for line in said.splitlines()]


def main(module, name, wanted=None):
    base, reached = places(name)
    total, hit = collections.defaultdict(set), collections.defaultdict(set)
    nr_blocks = nr_hit = 0
    for section, offsets in blocks(module).items():
        for offset, line in zip(offsets, line_of(module, section, offsets)):
            path, number = line.rsplit(":", 1)
            path = path.rsplit("/", 1)[-1]
            total[path].add(number)
            nr_blocks += 1
            if base.get(section, 0) + offset in reached:
                hit[path].add(number)
                nr_hit += 1
    if wanted:
        for number in sorted(total[wanted] - hit[wanted], key=int):
            print("%s:%s" % (wanted, number))
        return
    for path in sorted(total):
        print("%-16s %4d of %4d" % (path, len(hit[path]), len(total[path])))
    print("%-16s %4d of %4d lines, %d of %d blocks" % (
        "all", sum(map(len, hit.values())), sum(map(len, total.values())),
        nr_hit, nr_blocks))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
