#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Instructions of a row of the benchmark, by function.

The guest runs ROW with two amounts of data. The table shows the difference:
instructions by function of the kernel, largest first; instructions per octet and
per FPDU (per segment without FPDUs); calls of the function for one; and the same by
module. All of it is in build/bench-profile/ROW.txt. A function's instructions are
its own, including functions that the compiler inlined, without those it calls.
"""

import argparse
import bisect
import collections
import os
import re
import subprocess
import sys

BENCH = os.path.dirname(os.path.realpath(__file__))
TESTS = os.path.dirname(BENCH)
TOP = os.path.dirname(TESTS)
OUT = os.path.join(TOP, "build/bench-profile")
HEX = re.compile("[0-9a-f]+")
USER = ("(user space)", "")
OFF = 0.0005            # tolerance of the sum
IDLE = "idle"


def fail(message):
    sys.exit(f"bench-profile: {message}")


def run(*command, **how):
    done = subprocess.run(command, check=False, text=True, **how)
    if done.returncode:
        fail(f"{command[0]}: status {done.returncode}")
    return done.stdout


def ask(*command):
    return run(*command, stdout=subprocess.PIPE).strip()


# Measuring

def guest_options():
    """Files that the guest needs, and its NICs"""
    consumers = ask(f"{TESTS}/modules/build.sh", "bench", "plain")
    copies = ask(f"{TESTS}/interop/copies.sh", "plain")
    nics = ask(f"{BENCH}/nics.sh", "plain").splitlines()
    flag = os.path.join(OUT, "wanted")
    with open(flag, "w"):
        pass
    return ["--file", f"{consumers}:/root/modules",
            "--file", f"{copies}:/root/copies",
            "--file", f"{flag}:/root/bench.profile", *nics]


def measure(row, kernel, kept):
    """Run the guest; its results are in kept."""
    os.makedirs(kept, exist_ok=True)
    plugin = os.path.join(OUT, "profile.so")
    run("gcc", "-std=gnu11", "-O2", "-Wall", "-shared", "-fPIC", "-fvisibility=hidden",
        "-o", plugin, os.path.join(BENCH, "profile.c"))
    script = os.path.join(OUT, "guest")
    with open(script, "w") as file:
        file.write(f"#!/bin/sh\nexec /root/bench/guest.sh full '{row}'\n")
    log = os.path.join(kept, "log")
    print(f"bench-profile: measuring (log: {log})", file=sys.stderr)
    with open(log, "w") as file:
        run(f"{TESTS}/vm/run", "--icount", "--mem", "1536", "--kernel", kernel,
            "--timeout", "100000",
            "--qemu", "-plugin", "--qemu", f"file={plugin},out={kept}/counts",
            "--file", f"{BENCH}:/root/bench", *guest_options(),
            "--get", f"/root/out:{kept}/out", "--", script,
            stdout=file, stderr=subprocess.STDOUT)


# Measured counts

def intervals(path):
    """Instructions executed between marks: [{address: times}], without idle"""
    found = []
    with open(path) as file:
        for line in file:
            first, number = line.split()
            if first == "interval":
                found.append(collections.Counter({IDLE: int(number)}))
            else:
                found[-1][int(first, 16)] = int(number)
    return found


def times_of(row, kept):
    """Executions of code that grow with the amount, in the last run"""
    found = intervals(f"{kept}/counts")
    # Each run has five phases, of which the third and fourth are measured
    last = found[len(found) - 3:len(found) - 1]
    if len(last) < 2 or len(found) % 5:
        fail(f"{row} is not measured between marks, see {kept}/log")
    last[1].subtract(last[0])
    return last[1]


def amounts_of(kept):
    """The guest's results of the last run: {key: number}"""
    with open(f"{kept}/out/rows") as file:
        *_, last = file
    return {key: int(number) for key, _, number in
            (pair.partition("=") for pair in last.split()) if number.isdecimal()}


class Symbols:
    """Functions by address, as the guest's /proc/kallsyms has them."""

    def __init__(self, path):
        self.names = {}
        with open(path) as file:
            for line in file:
                addr, kind, name, *module = line.split()
                if kind in "tTwW":
                    # The first of several names for an address
                    self.names.setdefault(int(addr, 16),
                                          (name, "".join(module).strip("[]")))
        self.starts = sorted(self.names)

    def function(self, addr):
        """(start, (name, module)) of the code at an address"""
        if not addr:
            return 0, USER
        i = bisect.bisect_right(self.starts, addr) - 1
        if i < 0:
            return addr, (f"{addr:x}", "")
        return self.starts[i], self.names[self.starts[i]]


class Profile:
    """Where the instructions of a row went."""

    def __init__(self, row, kept):
        if not os.path.exists(f"{kept}/out/kallsyms"):
            fail(f"{row} has not been measured, see {kept}/log")
        self.times = times_of(row, kept)
        self.symbols = Symbols(f"{kept}/out/kallsyms")
        self.amounts = amounts_of(kept)
        self.idle = self.times.pop(IDLE)
        self.functions, self.calls = self.by_function(self.times)
        self.sum = sum(self.functions.values())
        self.base = "octet" if "octets" in self.amounts else "round"
        self.unit = next((unit for unit in ("fpdu", "segment", "round")
                          if self.amounts.get(unit + "s")), "octet")

    def per(self, unit):
        return self.amounts[unit + "s"]

    def by_function(self, times):
        """{(name, module): instructions}, {(name, module): calls}"""
        functions, calls = collections.Counter(), collections.Counter()
        for addr, number in times.items():
            start, key = self.symbols.function(addr)
            functions[key] += number
            calls[key] += number if addr == start and addr else 0
        return functions, calls

    def by_module(self):
        modules = collections.Counter()
        for (name, module), number in self.functions.items():
            modules[module or (name if name == USER[0] else "(kernel)")] += \
                number
        return modules

    def good(self):
        """The sum has to be the count of the guest's clock."""
        off = abs(self.sum - self.amounts["insns"])
        return off <= self.sum * OFF

    def less(self, other):
        """Show only what this costs more than another, for as many octets."""
        share = self.per(self.base) / other.per(self.base)
        for mine, others in ((self.functions, other.functions),
                             (self.calls, other.calls)):
            for key, number in others.items():
                mine[key] -= number * share
        self.sum -= other.sum * share
        self.idle -= other.idle * share
        self.amounts["insns"] -= other.amounts["insns"] * share


# Showing it

def figures(profile, number):
    return (f"{number:12.0f} {number / profile.sum:7.2%} "
            f"{number / profile.per(profile.base):9.4f} "
            f"{number / profile.per(profile.unit):10.2f}")


def report(profile, title, lines, path, compared):
    """The whole table goes to a file, the first lines of functions to stdout."""
    title += ": " + " ".join(f"{key}={number}" for key, number
                             in profile.amounts.items() if key != "insns")
    head = (f"{'insns':>12} {'share':>7} {'/' + profile.base:>9} "
            f"{'/' + profile.unit:>10} {'calls':>8} function")
    ranked = sorted(profile.functions.items(), key=lambda pair: -pair[1])
    functions = [
        f"{figures(profile, number)} "
        f"{profile.calls[key] / profile.per(profile.unit):8.3f} "
        f"{key[0]}{f' [{key[1]}]' if key[1] else ''}"
        for key, number in ranked if round(number)]
    ends = [f"{figures(profile, profile.sum)} the sum",
            f"{figures(profile, profile.amounts['insns'])} counted by the guest",
            f"{figures(profile, profile.idle)} while idle, in neither",
            "by module:",
            *(f"{figures(profile, number)} {name}" for name, number
              in profile.by_module().most_common() if round(number))]
    with open(path, "w") as file:
        print(title, head, *functions, *ends, sep="\n", file=file)
    if len(functions) > lines:
        # Where something is compared the end is of interest as well
        first = lines // 2 if compared else lines
        functions[first:len(functions) - (lines - first)] = [
            f"... {len(functions) - lines} more, in {path}"]
    print(title, head, *functions, *ends, sep="\n")


def binary(module, kernel):
    """The file of a module, or of the kernel"""
    kdir = ask(f"{TESTS}/vm/kernel", kernel)
    if not module:
        return f"{kdir}/vmlinux"
    for top in (ask(f"{TESTS}/vm/modules", kernel),
                ask(f"{TESTS}/modules/build.sh", "bench", kernel), kdir):
        for where, _, files in os.walk(top):
            for file in files:
                if file.replace("-", "_") == f"{module}.ko":
                    return os.path.join(where, file)
    return fail(f"no module {module}")


def show_function(profile, name, kernel):
    """
    Each instruction of a function, how often it was executed and how often for
    an FPDU; as it is before the kernel patches itself.
    """
    known = profile.symbols.names
    start = next((addr for addr in map(profile.symbols.function, profile.times)
                  if addr[0] and addr[1][0] == name), [None])[0]
    if start is None:
        fail(f"{name} was not executed")
    text = ask("objdump", "-dr", "--no-show-raw-insn", f"--disassemble={name}",
               binary(known[start][1], kernel))
    base = last = None
    for line in text.splitlines():
        addr, colon, what = line.strip().partition(":")
        if not colon or not HEX.fullmatch(addr):
            continue
        addr, what = int(addr, 16), what.strip()
        if not what.startswith("R_X86"):
            base = addr if base is None else base
            last = addr
            times = profile.times.get(start + addr - base, 0)
            print(f"{times:10d} {times / profile.per(profile.unit):9.3f} "
                  f"+{addr - base:x} {what}")
        elif last is not None and last < addr < last + 16:
            print(f"{'':22} {what.split()[-1]}")


def kept_of(row):
    return os.path.join(OUT, row.replace("/", "-"))


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--kernel", default="plain", metavar="FLAVOUR", help="of the guest")
    add("--lines", type=int, default=60, metavar="N", help="number of functions")
    add("--again", action="store_true",
        help="the row as it was measured last")
    add("--than", metavar="ROW",
        help="additional cost of ROW over this one, as measured last")
    add("--of", metavar="FUNCTION", help="each instruction of it")
    add("row", metavar="ROW")
    return parser.parse_args()


def main():
    args = arguments()
    run(f"{TESTS}/runner/deps.sh", "modules", "kernel", "guest", "bench")
    if not args.again:
        measure(args.row, args.kernel, kept_of(args.row))
    profile, title, path = (Profile(args.row, kept_of(args.row)), args.row,
                            kept_of(args.row))
    if not profile.good():
        fail("%s: instructions are missing, %d are shown, the guest counted %d"
             % (args.row, profile.sum, profile.amounts["insns"]))
    if args.of:
        show_function(profile, args.of, args.kernel)
        return
    if args.than:
        profile.less(Profile(args.than, kept_of(args.than)))
        title += " less " + args.than
        path += "-less"
    report(profile, title, args.lines, f"{path}.txt", args.than)


if __name__ == "__main__":
    main()
