# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Break functions of the module, and look which test case fails then.

Renames the function and adds one of its name that calls it and returns another
value. A function that returns nothing, or a bool after changing something, is
not called.
"""

import glob
import importlib.machinery
import importlib.util
import os
import random
import re
import subprocess

TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
DRAWN = 10
WAYS = {
    "void": ("(void)%s;", "does nothing"),
    "const bool": ("return !%s(%s);", "is negated"),
    "bool": ("(void)%s;\n\treturn false;", "does nothing, returns false"),
    "enum": ("return !%s(%s);", "is negated"),
    "int": ("return %s(%s) ? 0 : -EPROTO;", "fails, or returns 0"),
    "*": ("(void)%s;\n\treturn NULL;", "returns NULL"),
    "u": ("return %s(%s) ^ 4;", "is 4 off"),
}
DEFINED = (r"^(?P<type>[a-z_][a-z_0-9 *\n]*?[ *\n])%s\((?P<args>[^;{}()]*)\)"
           r"\n\{\n")
QUALIFIER = r"\b(static|noinline|inline|__always_inline|const) "


def definition(function, texts):
    """The file that defines a function, and the match of its head there."""
    for name, text in texts.items():
        found = re.search(DEFINED % function, text, re.M)
        if found:
            return name, found
    return None, None


def broken(function, texts):
    """The file of a function, its text with the function broken, and how."""
    name, found = definition(function, texts)
    kind = re.sub(QUALIFIER, "", found["type"]).strip()
    way = "*" if kind.endswith("*") else kind.split()[0]
    pure = found["args"].count("*") == found["args"].count("const ")
    if way == "bool" and pure:
        way = "const bool"
    code, how = WAYS.get(way, WAYS["u"])
    args = [re.search(r"(\w+)(\[\w*\])?$", arg.strip())[1]
            for arg in found["args"].split(",") if arg.strip() != "void"]
    whole = function + "_whole"
    code %= (whole, ", ".join(args)) if "(%s)" in code else whole
    head = "%s%s(%s)" % (re.sub(r"\b(noinline|__always_inline) ", "",
                                found["type"]), function, found["args"])
    text = texts[name]
    end = text.index("\n}\n", found.end()) + 3
    body = text[found.start():end].replace(function + "(", whole + "(", 1)
    return name, how, "%s%s;\n\n%s\n%s\n{\n\t%s\n}\n%s" % (
        text[:found.start()], head, body, head, code, text[end:])


def load(name):
    """A program, named by its path below tests/."""
    loader = importlib.machinery.SourceFileLoader(name,
                                                  os.path.join(TESTS, name))
    tool = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, loader))
    loader.exec_module(tool)
    return tool


def glob_of(suite, name):
    """A kunit.filter_glob that runs a case and as few others as possible; a case
    without parameters may have IDs before the words of its name."""
    word = name.split()[0]
    top = os.path.join(TESTS, os.pardir)
    for path in (glob.glob(os.path.join(top, "kunit", "*.c")) +
                 glob.glob(os.path.join(top, "rnic", "kunit", "*.c"))):
        with open(path, encoding="utf-8") as source:
            if re.search(r"_CASE(_PARAM)?\(%s\b" % word, source.read()):
                return "%s.%s" % (suite, word)
    return "%s.*%s" % (suite, name.replace(" ", "?"))


def run(case, mutants, log):
    """Run a case in a guest: the lines of its results, and the status."""
    suite, name = case.split(".", 1)
    script = os.path.join(mutants.WORK, "guest")
    kind = "socket" if suite == "socket" else "kunit"
    with open(script, "w", encoding="utf-8") as text:
        text.write(mutants.GUEST[kind].replace("%s", name))
    more = (["--append", "kunit.filter_glob=" + glob_of(suite, name)]
            if kind == "kunit" else
            ["--file", os.path.join(TESTS, "net", "socket") + ":root/test"])
    done = subprocess.run(
        [os.path.join(mutants.TREE, "tests", "vm", "run"), "--timeout",
         str(mutants.TIMEOUT), *more, "--", script],
        stdout=subprocess.PIPE, stderr=log, text=True, check=False)
    said = re.sub(r"^(not ok|ok) - ", r"\1 socket.", done.stdout, flags=re.M)
    if kind == "kunit":
        said = subprocess.run([os.path.join(TESTS, "runner", "ktap.py")], input=said,
                              stdout=subprocess.PIPE, text=True,
                              check=False).stdout
    log.write(done.stdout)
    log.flush()
    return said


def seen_by(row, mutants, log, read_results):
    """The first of a row's cases that fails in a guest, or None. A guest that
    dies or hangs, or does not run the case, shows nothing about the rule."""
    said = os.path.join(mutants.WORK, "said")
    for case in row.cases:
        mutants.rewrite(said, run(case, mutants, log))
        if case in read_results(said)[1]:
            return case
    return None


def break_rows(seed, rows, read_results):
    """Break functions of rows drawn by a seed; returns how many no case saw."""
    mutants = load("mutants/mutants.py")
    os.makedirs(mutants.WORK, exist_ok=True)
    mutants.copy_tree()
    for row in rows:
        row.cases = [case for case in row.cases
                     if not case.startswith("interop.")]
    rows = [row for row in rows if row.functions and row.cases]
    draw, missed = random.Random(seed), 0
    for row in draw.sample(rows, DRAWN):
        function = draw.choice(row.functions)
        name, how, text = broken(function, row.texts)
        path = os.path.join(mutants.TREE, name)
        mutants.rewrite(path, text)
        try:
            with mutants.log_of("conformance." + row.ident) as log:
                built = mutants.build(log)
                seen = built and seen_by(row, mutants, log, read_results)
        finally:
            mutants.rewrite(path, row.texts[name])
        missed += not seen
        print("%-5s  %s() %s: %s" % (
            row.ident, function, how, "does not build" if not built else
            "seen by " + seen if seen else
            "NOT SEEN by " + ", ".join(row.cases)), flush=True)
    print("conformance: seed %s: %d of %d breaks seen" % (
        seed, DRAWN - missed, DRAWN))
    return missed
