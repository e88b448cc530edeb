#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Break the module in small ways and see that a named test notices.

usage: mutants.py [NAME...]
       mutants.py --fuzz [NAME...]

Each file of tests/mutants/breakages has the mutants of one source: for each its name,
the test that has to fail, a description, and the lines that change, as in a diff. It
is applied to a copy of the tree under build/mutants, which is built and tested
in a guest. Status 1 if a test does not fail, does not pass without any mutant,
or if the original lines do not occur exactly once. With --fuzz the short form of
the fuzzer is the test, on the kernel KERNEL in the environment.
"""

import filecmp
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LIST = os.path.join(HERE, "breakages")
WORK = os.path.join(TOP, "build", "mutants")
TREE = os.path.join(WORK, "tree")
NOT_COPIED = ("build", ".git")
TIMEOUT = 240

FORM = re.compile(r"\n(?P<name>\S+) (?P<kind>kunit|socket|fuzz) (?P<test>\S+): "
                  r"(?P<what>[^\n]+)\n(?P<diff>(?:[ +-][^\n]*\n)+)")

# What the fuzzer finds in its short form on the plain kernel
FUZZED = ["crc-skipped", "length-zero", "lost-wakeup",
          "marker-unchecked", "no-startup-timer", "pd-length-unchecked",
          "startup-leaked"]

# Both print all results if a case failed or was skipped, and "ran N" at the end
GUEST = {
    "kunit": r"""#!/bin/bash
modprobe -a mpa_kunit mpa_rnic_kunit
cat /sys/kernel/debug/kunit/mpa*/results >/tmp/results
grep -qE '^ *not ok|# SKIP' /tmp/results && cat /tmp/results
echo "ran $(grep -cE '^ +(not )?ok' /tmp/results)"
""",
    "socket": r"""#!/bin/bash
chmod +x /root/test/*
/root/test/run-all.sh %s >/tmp/results
grep -qE '^not ok|# SKIP' /tmp/results && cat /tmp/results
echo "ran $(grep -cE '^(not )?ok' /tmp/results)"
""",
}


class Fault(Exception):
    """A breakage that cannot be tried."""


class Mutant:
    """One breakage."""

    def __init__(self, source, found):
        self.file = source
        self.name, self.what = found["name"], found["what"]
        self.kind, self.test = found["kind"], found["test"]
        lines = found["diff"].splitlines(keepends=True)
        self.old = "".join(line[1:] for line in lines if line[0] != "+")
        self.new = "".join(line[1:] for line in lines if line[0] != "-")

    def fits(self, top):
        """Occurrences of its text in the source; 1 is right."""
        with open(os.path.join(top, self.file), encoding="utf-8") as source:
            return source.read().count(self.old)

    def apply(self):
        """Apply it to the copy; returns a function that reverts it."""
        path = os.path.join(TREE, self.file)
        if self.fits(TREE) != 1:
            raise Fault("%s: its text is in %s %d times" % (
                self.name, self.file, self.fits(TREE)))
        with open(path, encoding="utf-8") as source:
            text = source.read()
        rewrite(path, text.replace(self.old, self.new))
        return lambda: rewrite(path, text)


def load(folder):
    """The breakages in the files of a folder, by name."""
    mutants = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as forms:
            text = forms.read()
        head = re.match(r"# SPDX.*\nfile (\S+)\n", text)
        found = list(FORM.finditer(text, head.end() if head else 0))
        if not head or text != head[0] + "".join(m[0] for m in found):
            raise Fault("%s: not in the form of breakages" % name)
        for form in found:
            if form["name"] in mutants:
                raise Fault("%s: %s is another's name" % (name, form["name"]))
            mutants[form["name"]] = Mutant(head[1], form)
    return mutants


def rewrite(path, text):
    with open(path, "w", encoding="utf-8") as source:
        source.write(text)


def files_of(top):
    """Names of the files of a tree, without build results."""
    names = set()
    for path, folders, files in os.walk(top):
        if path == top:
            folders[:] = [name for name in folders if name not in NOT_COPIED]
        names.update(os.path.relpath(os.path.join(path, name), top)
                     for name in files)
    return names


def copy_tree():
    """Synchronise the copy with the tree. Unchanged files keep their time, and
    others get a new one, so that make rebuilds only those."""
    wanted = files_of(TOP)
    for name in files_of(TREE) - wanted:
        os.remove(os.path.join(TREE, name))
    for name in wanted:
        path, to = os.path.join(TOP, name), os.path.join(TREE, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if not os.path.exists(to) or not filecmp.cmp(path, to, shallow=False):
            shutil.copyfile(path, to)
        shutil.copymode(path, to)


def run_tests(kind, tests, log):
    """Returns (cases run, names of those that failed, of those that were
    skipped, status of the guest)."""
    script = os.path.join(WORK, "guest")
    with open(script, "w", encoding="utf-8") as text:
        text.write(GUEST[kind].replace("%s", " ".join(tests)))
    command = [os.path.join(TREE, "tests", "vm", "run"),
               "--timeout", str(TIMEOUT)]
    if kind == "kunit":
        command += ["--append", "kunit.filter_glob=" + tests[0]]
    else:
        tool = subprocess.run([os.path.join(TREE, "tests", "net", "ynl",
                                            "build.sh")],
                              stdout=subprocess.PIPE, stderr=log, text=True,
                              check=True).stdout.strip()
        command += ["--file", tool + ":/usr/bin/mpa-ynl",
                    "--file", os.path.join(TREE, "tests", "net", "socket")
                    + ":root/test"]
    for _ in range(2):
        done = subprocess.run(command + ["--", script], stdout=subprocess.PIPE,
                              stderr=log, text=True, check=False)
        log.write(done.stdout)
        log.flush()
        # A guest that dies without a word may have died on its own
        if done.stdout or done.returncode != 125:
            break
    ran = re.findall(r"^ran (\d+)$", done.stdout, re.M)
    failed = re.findall(r"^ *not ok(?: \d+)?(?: -)? (\S+)", done.stdout, re.M)
    skipped = re.findall(r"^ *ok(?: \d+)?(?: -)? (\S+).*# SKIP", done.stdout,
                         re.M)
    return int(ran[-1]) if ran else 0, failed, skipped, done.returncode


def run_fuzz(log):
    """As run_tests() for the fuzzer's short form in the copy, which skips no
    case; returns no names of skipped ones."""
    done = subprocess.run([os.path.join(TREE, "tests", "harden.sh"),
                           "--kernel", os.environ.get("KERNEL", "plain"),
                           "fuzz"], stdout=log, stderr=log, check=False)
    with open(os.path.join(TREE, "build", "harden", "results.tap"),
              encoding="utf-8") as results:
        cases = re.findall(r"^(ok|not ok) (\S+)", results.read(), re.M)
    failed = [name for verdict, name in cases if verdict == "not ok"]
    return len(cases), failed, done.returncode


def build(log):
    """Returns whether the copy can be built."""
    done = subprocess.run([os.path.join(TREE, "tests", "vm", "modules"),
                           "plain"], stdout=log, stderr=log, check=False)
    return done.returncode == 0


def judge(mutant, log):
    """Returns (killed, description of the result)."""
    undo = mutant.apply()
    try:
        if not build(log):
            return False, "does not build"
        if mutant.kind == "fuzz":
            ran, failed, status = run_fuzz(log)
        else:
            ran, failed, _, status = run_tests(mutant.kind, [mutant.test],
                                               log)
    finally:
        undo()
    if failed:
        return True, "failed: " + failed[0]
    if status in (124, 125):
        return True, "the guest hung" if status == 124 else "the guest's report"
    return False, "%d cases passed" % ran


def check_unbroken(mutants, log):
    """Tests that do not pass though nothing is broken, with the reason."""
    if not build(log):
        sys.exit("mutants: the tree does not build")
    tests = {kind: sorted({m.test for m in mutants if m.kind == kind})
             for kind in GUEST}
    # One guest for a suite, and one for all socket tests
    runs = [("kunit", [suite], [test for test in tests["kunit"]
                                if test.split(".")[0] == suite])
            for suite in sorted({test.split(".")[0]
                                 for test in tests["kunit"]})]
    runs += [("socket", tests["socket"], tests["socket"])]
    unfit = {}
    for kind, patterns, judges in runs:
        if not judges:
            continue
        ran, failed, skipped, status = run_tests(kind, patterns, log)
        for test in judges:
            case = test.partition(".")[2] if kind == "kunit" else test
            if case in failed:
                unfit[test] = "it fails"
            elif case in skipped:
                unfit[test] = "it is skipped"
            elif ran < len(judges) or (status and not failed):
                unfit[test] = "%d cases ran, status %d" % (ran, status)
    return unfit


def log_of(name):
    return open(os.path.join(WORK, name + ".log"), "w", encoding="utf-8")


def main(args):
    fuzz = args[:1] == ["--fuzz"]
    if fuzz:
        args = args[1:] or FUZZED
    if args and args[0].startswith("-"):
        sys.exit(__doc__)
    os.makedirs(WORK, exist_ok=True)
    copy_tree()
    survived = 0
    try:
        known = load(LIST)
        mutants = [known[name] for name in args or sorted(known)
                   if args or known[name].kind != "fuzz"]
        # All of them, before hours are spent
        for mutant in mutants:
            mutant.apply()()
            if fuzz:
                mutant.kind = "fuzz"
    except (Fault, KeyError, OSError) as fault:
        sys.exit("mutants: %s" % fault)
    # What tests/net/ynl/build.sh needs
    subprocess.run([os.path.join(TREE, "tests", "runner", "deps.sh"), "tools",
                    "check"], stdout=subprocess.DEVNULL, check=True)
    with log_of("unbroken") as log:
        unfit = {} if fuzz else check_unbroken(mutants, log)
    for test in sorted(unfit):
        print("mutants: %s is no judge, nothing is broken: %s"
              % (test, unfit[test]), flush=True)
    for mutant in mutants:
        begun = time.monotonic()
        if mutant.test in unfit:
            killed, how = False, "not tried"
        else:
            with log_of(mutant.name) as log:
                killed, how = judge(mutant, log)
        survived += not killed
        print("%-8s  %s: %s (%s %s; %s; %.0f s)" % (
            "killed" if killed else "SURVIVED", mutant.name, mutant.what,
            mutant.kind, mutant.test, how, time.monotonic() - begun),
            flush=True)
    print("mutants: %d killed, %d survived" % (len(mutants) - survived,
                                               survived))
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
