#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Break the module in small ways and see that the fuzzer notices.

usage: planted.py [--kernel FLAVOUR] [NAME...]

A breakage is one of planted/ or of tests/mutants/breakages, in the form of the latter.
It is applied to a copy of the tree, and the short form of the fuzzer runs in a
guest with that copy's modules. Status 1 where nothing was found.
"""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
OUT = os.path.join(TOP, "build", "harden", "fuzz.planted")
OWN = os.path.join(HERE, "planted")
TREE = os.path.join(OUT, "tree")

DEFAULT = ["leak", "lost-wakeup", "length-zero", "pd-length-unchecked",
           "marker-unchecked", "crc-skipped", "no-startup-timer"]

GUEST = """#!/bin/bash
export SEED=1 SECONDS_MAX=0 COUNT=0 WORK=/root/kept
mkdir -p $WORK
exec bash /root/harden.d/fuzz.sh
"""


def load_mutants():
    path = os.path.join(TOP, "tests", "mutants", "mutants.py")
    loader = importlib.machinery.SourceFileLoader("mutants", path)
    spec = importlib.util.spec_from_loader("mutants", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    module.TREE = os.path.join(OUT, "copy")
    return module


def fuzz(kernel, log):
    """Returns the finding, or None."""
    script = os.path.join(OUT, "guest")
    with open(script, "w", encoding="utf-8") as text:
        text.write(GUEST)
    built = subprocess.run([os.path.join(HERE, "build.sh")], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.strip()
    command = [os.path.join(TOP, "tests", "vm", "run"), "--kernel", kernel,
               "--mem", "1024" if kernel == "plain" else "1536",
               "--timeout", "600", "--file", built + ":root/mpa-fuzz",
               "--file", os.path.join(HERE, "seeds") + ":root/harden.d/seeds"]
    for name in ("fuzz/wire/fuzz.sh", "runner/memory.sh", "runner/netstat.sh"):
        command += ["--file", os.path.join(TOP, "tests", name)
                    + ":root/harden.d/" + os.path.basename(name)]
    command += ["--", script]
    done = subprocess.run(command, env={**os.environ, "VM_TREE": TREE},
                          stdout=subprocess.PIPE, stderr=log, text=True,
                          check=False)
    log.write(done.stdout)
    if done.returncode in (124, 125):
        return "the guest hung" if done.returncode == 124 else "the guest died"
    found = re.search(r"^FOUND: (.*)$", done.stdout, re.M)
    if found:
        return found[1]
    failed = re.search(r"^not ok - (\S+)$", done.stdout, re.M)
    return failed and failed[1]


def try_one(mutants, name, kernel):
    mutant = {**mutants.load(mutants.LIST), **mutants.load(OWN)}[name]
    undo = mutant.apply()
    try:
        subprocess.run([os.path.join(HERE, "tree.sh"), TREE, mutants.TREE],
                       check=True)
        with open(os.path.join(OUT, name + ".log"), "w",
                  encoding="utf-8") as log:
            return mutant, fuzz(kernel, log)
    finally:
        undo()


def main(args):
    kernel = "plain"
    if args[:1] == ["--kernel"]:
        kernel, args = args[1], args[2:]
    os.makedirs(OUT, exist_ok=True)
    mutants = load_mutants()
    missed = 0
    for name in args or DEFAULT:
        mutants.copy_tree()
        begun = time.monotonic()
        mutant, found = try_one(mutants, name, kernel)
        missed += not found
        print("%-6s  %s: %s (%s, %.0f s)" % (
            "found" if found else "MISSED", name, mutant.what,
            found or "nothing", time.monotonic() - begun), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
