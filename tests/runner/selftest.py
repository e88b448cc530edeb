#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Test that documents and breakages fit the sources, and what make does; TAP."""

import fnmatch
import glob
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import yaml

sys.dont_write_bytecode = True
TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
TOP = os.path.dirname(TESTS)
PLAIN = {"PATH": os.environ["PATH"]}    # without variables from the caller


def text_of(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def write(top, name, text):
    """A file there, or a program."""
    path = os.path.join(top, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)


def ran(*command, **how):
    """The status of a program, and what it said"""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, **how)
    return done.returncode, done.stdout


def load(name):
    """A program, named by its path below tests/."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TESTS, name))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(tool)
    return tool


def readme_cases():
    """The README shows code that the build compiles."""
    shown = re.search(r"^```c\n(.*?)\n```$", text_of("README.md"), re.S | re.M)
    code = re.search(r"/\* README: begin \*/\n(.*?)\n+/\* README: end",
                     text_of("samples/mpa_hello.c"), re.S)
    yield ("readme.sample", shown and code and shown[1] == code[1],
           "README.md and samples/mpa_hello.c differ")


def counter_cases():
    """The documentation lists all counters, and no others."""
    made = re.findall(r'"(Mpa\w+)"', text_of("mpa_net.c"))
    named = re.findall(r"^(Mpa\w+) ", text_of("Documentation/networking/mpa.rst"), re.M)
    yield ("docs.counters", made and made == named,
           "mpa_net.c and mpa.rst differ in %s" % (set(made) ^ set(named)))


def device_counter_cases():
    """So it does of those of the RDMA device."""
    made = re.findall(r'\.name\s*= "(\w+)"', text_of("rnic/rnic_stat.c"))
    table = re.search(r"rdma statistic show link iw0/1``:\n\n=.*?\n(.*?)\n=",
                      text_of("Documentation/networking/mpa-rnic.rst"), re.S)
    named = re.findall(r"\w+", " ".join(line[:33] for line in table[1].split("\n")))
    yield ("docs.counters of the device", made and sorted(made) == sorted(named),
           "rnic_stat.c and mpa-rnic.rst differ in %s" % (set(made) ^ set(named)))


def setting_cases():
    """The example of settings has all of them, and so have the documents."""
    made = set(re.findall(r'procname\s*= "(\w+)"', text_of("mpa_net.c")) +
               re.findall(r'rnic_net_switch\("(\w+)"', text_of("rnic/rnic_net.c")))
    named = {"conf/sysctl.conf": r"^#net\.mpa\.(\w+) =.*$",
             "Documentation/networking/mpa*.rst": r"^``net\.mpa\.(\w+)`` \("}
    for name, pattern in named.items():
        files = glob.glob(os.path.join(TOP, name))
        said = re.findall(pattern, "".join(map(text_of, files)), re.M)
        yield ("docs.settings " + name, len(made) > 5 and sorted(said) == sorted(made),
               "%s differs in %s" % (name, set(said) ^ made))
    said = re.findall(r"``net\.mpa\.(\w+)``",
                      text_of("Documentation/networking/mpa.rst"))
    yield ("docs.settings all in mpa.rst", made <= set(said),
           "mpa.rst lacks %s" % (made - set(said)))


def copyright_cases():
    """debian/copyright names the files whose licence has an exception."""
    have = {name for pattern in ("*.[ch]", "*/**/*.h", "Documentation/**/*.yaml")
            for name in glob.glob(pattern, root_dir=TOP, recursive=True)
            if not name.startswith("build/") and
            re.match(r".*SPDX.* WITH ", text_of(name))}
    named = {name for text in text_of("debian/copyright").split("\n\n")
             if re.search("^License: .* exception", text, re.M)
             for name in re.findall(r"^(?:Files:)? (\S+)$", text.split("\nCopy")[0], re.M)
             if text.startswith("Files:")}
    yield ("docs.copyright", have and have == named,
           "debian/copyright differs in %s" % (have ^ named))


def api_cases():
    """The reference has the kernel-doc of each file that exports functions."""
    exports = {name for name in glob.glob("mpa_*.c", root_dir=TOP)
               if "EXPORT_SYMBOL_GPL(" in text_of(name)}
    named = set(re.findall(r"^\.\. kernel-doc:: (mpa_\w+\.c)\n   :export:$",
                           text_of("Documentation/networking/mpa-api.rst"), re.M))
    yield ("docs.api", exports and exports == named,
           "exports and mpa-api.rst differ in %s" % (exports ^ named))


def column_cases():
    """The reference of the benchmark has the columns of results.csv, in their order."""
    text = text_of("Documentation/networking/mpa-performance.rst")
    named = [word.strip("`,") for row in text.split(".. bench columns")[1].splitlines()
             if row.startswith("``") for word in row.split() if word.startswith("``")]
    made = load("bench/report.py").COLUMNS
    yield ("docs.columns", made and named == made,
           "mpa-performance.rst differs in %s" % (set(named) ^ set(made)))


def function_cases():
    """Of two functions with one name bash takes the second, for callers of the first, too."""
    twice = []
    for path in sorted(glob.glob("**/*.sh", root_dir=TESTS, recursive=True)):
        named = re.findall(r"^(\w+)\(\) ?[{(]", text_of("tests", path), re.M)
        twice += ["%s: %s" % (path, name)
                  for name in sorted(set(named)) if named.count(name) > 1]
    yield "scripts.functions", not twice, "\n".join(twice)


VERSIONS = {
    "mpa_main.c": r'^MODULE_VERSION\("(.*)"\)',
    "rnic/rnic_main.c": r'^MODULE_VERSION\("(.*)"\)',
    "samples/mpa_hello.c": r'^MODULE_VERSION\("(.*)"\)',
    "samples/mpa_ping.c": r'^MODULE_VERSION\("(.*)"\)',
    "tools/mpa/mpa.c": r'^#define MPA_VERSION\t"(.*)"',
    "tools/mpa/mpa.8": r'^\.TH .*"mpa (\S+)"',
    "dkms.conf": r'^PACKAGE_VERSION="(.*)"',
    "debian/changelog": r"^mpa \((.*)\)",
    "CHANGELOG.md": r"^## (.*)",
    "Documentation/networking/mpa.rst": r"/usr/src/mpa-(.*?)``",
    "tests/peer/mpa-peer.1": r'^\.TH .*"mpa (\S+)"',
}


def version_cases():
    """All that name the version agree; the newest stands first."""
    found = {}
    for name, pattern in VERSIONS.items():
        named = re.search(pattern, text_of(name), re.M)
        found[name] = named and named[1]
    yield ("docs.version", len(set(found.values())) == 1 and all(found.values()),
           "the versions differ: %s" % found)


def kernel_cases():
    """All that name the kernels agree with what DKMS builds for."""
    conf = dict(re.findall(r'^BUILD_EXCLUSIVE_KERNEL(\w*)="(.*)"', text_of("dkms.conf"),
                           re.M))
    oldest, newest = conf["_MIN"], conf["_MAX"].removesuffix(".9999")
    for name in ("dkms.conf", "README.md", "debian/control",
                 "Documentation/networking/mpa.rst"):
        said = set(re.findall(r"Linux\s+(6\.\d+(?: (?:to [\d.]*\d|or later|on)\b)|"
                              r"\d\.\d+ on\b)", text_of(name)))
        yield ("docs.kernels " + name, said == {"%s to %s" % (oldest, newest)},
               "%s says %s, dkms.conf %s to %s" % (name, said, oldest, newest))
    major, minor = newest.split(".")
    beyond = "%s.%d.1" % (major, int(minor) + 1)
    fits = [name for name in ("6.11.9", oldest, oldest + ".1-amd64", newest + ".4",
                              newest + "-rc1", beyond)
            if re.search(conf[""], name)]
    yield ("docs.kernels expression", len(fits) == 4 and fits[0] == oldest and
           beyond not in fits, "it fits %s" % fits)


# Arguments of make install, and where modules and documents go, TOP for this tree
INSTALLS = [
    ("plain", "", "", ""),
    ("destdir", "DESTDIR=a/b", "TOP/a/b", "TOP/a/b"),
    ("mod-path", "INSTALL_MOD_PATH=a/b", "TOP/a/b", "TOP/a/b"),
    ("absolute", "INSTALL_MOD_PATH=/a", "/a", "/a"),
    ("both", "DESTDIR=a INSTALL_MOD_PATH=b", "TOP/b", "TOP/a"),
]


def install_cases():
    """make install and uninstall stay below the directory that they are given."""
    with tempfile.TemporaryDirectory() as kernel:
        write(kernel, "include/config/kernel.release", "6.12.1\n")
        write(kernel, "Makefile", "modules_install:\n"
              "\techo to $(INSTALL_MOD_PATH)/lib/modules/6.12.1\n")
        for name, options, modules, documents in INSTALLS:
            status, said = ran("make", "-C", TOP, "-n", "install", "uninstall",
                               "KDIR=" + kernel, *options.split())
            found = [set(re.findall(r"(?<![\w*])(/?[\w/.-]*?)/%s" % under, said))
                     for under in ("lib/modules/6", "usr/share/doc/mpa")]
            wanted = [{path.replace("TOP", TOP)} for path in (modules, documents)]
            yield ("install." + name, not status and found == wanted,
                   "to %s: %s" % (found, said))
        yield from tools_install_cases(kernel)


def tools_install_cases(kernel):
    """A relative DESTDIR is one of this directory; a blank in a path is refused."""
    for goal in "tools_install", "tools_uninstall":
        status, said = ran("make", "-C", TOP, "-n", goal, "DESTDIR=a")
        yield ("install.%s-destdir" % goal, not status and
               " %s/a/usr/local/sbin/mpa" % TOP in said, said)
        for path in "DESTDIR=a b", "INSTALL_MOD_PATH=/a b", "PREFIX=/usr ":
            for which in goal, goal.removeprefix("tools_"):
                status, said = ran("make", "-C", TOP, "-n", which, path,
                                   "KDIR=" + kernel)
                yield ("install.%s '%s'" % (which, path), status == 2 and
                       "%s may have no blank" % path.split("=", maxsplit=1)[0] in said
                       and "rm" not in said.split(), said)


def makes(files, command):
    """
    The status of make in a directory TOP with these files, this Makefile if they have none
    and /lib and /var there, on Linux 9.9-run; what it said; and which files are left
    """
    own = {"Makefile": text_of("Makefile"), "uname": "#!/bin/sh\necho 9.9-run\n"}
    with tempfile.TemporaryDirectory() as top:
        for name, text in {**own, **files}.items():
            write(top, name, re.sub("(/var)?/lib/(dkms|modules)", top + r"\g<0>", text))
        status, said = ran(
            "make", "-s", "-C", top, *command.replace("TOP", top).split(),
            env={"PATH": "%s:%s" % (top, os.environ["PATH"]), "LC_ALL": "C"})
        left = {os.path.relpath(os.path.join(at, name), top)
                for at, _, names in os.walk(top) for name in names} - set(own)
    return status, re.sub(r"^make(\[\d\])?: .*\n", "", said.replace(top, "TOP"),
                          flags=re.M), left


def empty(*names):
    return dict.fromkeys(names, "")


def headers(path, release):
    """The build directory of a kernel"""
    return {path + "/include/config/kernel.release": release + "\n",
            path + "/Makefile": "modules modules_install:; @echo \"the kernel's make\"\n"}


def built_for(vermagic, *others):
    """What make install finds, and what modinfo says of mpa.ko"""
    return {**headers("k", "6.12.1"), **empty("mpa.ko", *others),
            "modules.order": "mpa.o\n", "modinfo": "#!/bin/sh\necho '%s'\n" % vermagic}


def consumer(*versions):
    """A tree of mpa, and versions of it whose symbols DKMS has kept"""
    return {"Makefile": text_of("samples/consumer.mk"), **empty("tree/Module.symvers", *(
        "var/lib/dkms/mpa/%s/6.12.1/x86_64/Module.symvers" % name for name in versions)),
            "lib/modules/6.12.1/build/Makefile":
            "modules clean:; @echo SYMBOLS=$(KBUILD_EXTRA_SYMBOLS)\n"}


BUILT = ["mpa.o", "mpa.ko", "mpa.mod", "mpa.mod.c", "mpa_ping.mod.c", ".mpa.o.cmd",
         "rnic/rnic_tx.o", "rnic/.rnic_tx.o.cmd", "kunit/mpa_vectors.h", "Module.symvers",
         "modules.order"]
KEPT = ["mpa_rx.c", "rnic/rnic.h", "kunit/mpa_ref.h", "README.md", ".gitignore"]
BUILD = "lib/modules/9.9-run/build"
INSTALL = "modules_install KDIR=TOP/k "
INSTALLED = "the kernel's make\n*"
OTHER = "mpa.ko is built for Linux %s, not 6.12.1: *"
BY_DKMS = "DKMS has installed TOP/lib/modules/6.12.1/%s: remove that first, *"
REMOVED = "lib/modules/%s/updates/mpa.ko.xz"
CONSUMER = "-k modules clean KVER=6.12.1 "
NO_SYMBOLS = "There is no Module.symvers of mpa for Linux 6.12.1: *MPA=DIR\nSYMBOLS=%s\n"
# Case, files, arguments of make, whether it fails, what it says as a pattern of the shell,
# and which files are left
MAKES = [
    # make install refuses modules that were built for another kernel
    *(("install.built-for-" + name, built_for(vermagic), INSTALL + "DESTDIR=TOP/root",
       words != INSTALLED, words) for name, vermagic, words in (
           ("same", "6.12.1 SMP preempt", INSTALLED),
           ("newer", "6.12.10 SMP preempt", OTHER % "6.12.10"),
           ("unknown", "", OTHER % "[?]"))),
    # and leaves alone what DKMS has installed
    *(("install.beside-%s %s" % (name, there),
       built_for("6.12.1 SMP", "lib/modules/6.12.1/" + there), INSTALL + options,
       name == "dkms", BY_DKMS % there if name == "dkms" else INSTALLED)
      for name, options, there in (
          ("dkms", "", "updates/dkms/mpa.ko.xz"),
          ("dkms", "", "extra/mpa.ko.xz"),
          ("again", "INSTALL_MOD_DIR=extra", "extra/mpa.ko.xz"),
          ("again", "INSTALL_MOD_DIR=updates/dkms", "updates/dkms/mpa.ko.xz"),
          ("alone", "", "updates/mpa.ko"))),
    # Headers of another kernel, or none, in the words of the programs that are there
    ("make.other-headers", headers(BUILD, "9.9-other"), "modules", True,
     "TOP/" + BUILD + " is of Linux 9.9-other, but 9.9-run is running: name the kernel's "
     "build directory, make KDIR=DIR\n"),
    ("make.named-headers", headers("k", "9.9-other"), "modules KDIR=TOP/k", False,
     "For Linux 9.9-other, TOP/k\nthe kernel's make\n"),
    ("make.own-headers", headers(BUILD, "9.9-run"), "modules", False,
     "For Linux 9.9-run, TOP/" + BUILD + "\nthe kernel's make\n"),
    *(("make.no-headers " + name, dict.fromkeys((name, "ls", "sed"), "#!/bin/sh\n"),
       "modules PATH=TOP", True, "*\n    " + words + "\n*make KDIR=DIR*")
      for name, words in (("apt-get", "apt-get install linux-headers-9.9-run"),
                          ("dnf", "dnf install kernel-devel-9.9-run"),
                          ("zypper", "zypper install kernel-default-devel"),
                          ("none", "in the way of your distribution"))),
    # make uninstall and make clean need no headers
    *(("make.uninstall-" + name, empty(REMOVED % release),
       "uninstall PREFIX=TOP/usr " + options, False, "*", [])
      for name, options, release in (
          ("default", "", "9.9-run"),
          ("path", "KDIR=TOP/lib/modules/9.8-old/build", "9.8-old"),
          ("release", "KVER=9.7", "9.7"))),
    ("make.uninstall-unknown", {}, "uninstall PREFIX=TOP/usr KDIR=TOP/k", True,
     "TOP/k does not say of which kernel it is: make uninstall KVER=RELEASE\n"),
    ("make.clean-no-headers", empty(*BUILT, *KEPT), "clean", False, "*", KEPT),
    # samples/consumer.mk finds the symbols of the newest mpa, or says that it has none
    ("consumer.newest", consumer("0.9", "0.10", "0.2"), CONSUMER, False,
     2 * "SYMBOLS=TOP/var/lib/dkms/mpa/0.10/6.12.1/x86_64/Module.symvers\n"),
    ("consumer.tree", consumer("0.1"), CONSUMER + "MPA=TOP/tree", False,
     2 * "SYMBOLS=TOP/tree/Module.symvers\n"),
    ("consumer.none", consumer(), CONSUMER, True, NO_SYMBOLS % ""),
    ("consumer.unbuilt", consumer("0.1"), CONSUMER + "MPA=TOP", True,
     NO_SYMBOLS % "TOP/Module.symvers"),
]


def make_cases():
    """What make does and says in a tree without headers, and the like."""
    for name, files, command, fails, words, *kept in MAKES:
        status, said, left = makes(files, command)
        yield (name, bool(status) == fails and fnmatch.fnmatchcase(said, words) and
               (not kept or left == set(*kept)),
               "status %d, left %s: %s" % (status, left, said))


def copy_tree_cases():
    """tests/packages/copy-tree, without git, leaves out what .gitignore names."""
    for name, path in ("", "build/x"), (" of-another", ".git/index"):
        yield from copied_without_git(name, path)


def copied_without_git(case, extra):
    """The file @extra, beside what is built, is not to be copied."""
    with tempfile.TemporaryDirectory() as work:
        top, kept = os.path.join(work, "a"), ["mpa_rx.c", "tools/mpa/mpa.8", "kunit/mpa.h"]
        for path in BUILT + kept + [extra, "tools/mpa/mpa"]:
            write(top, path, "")
        for path in ("tests/packages/copy-tree", ".gitignore"):
            write(top, path, text_of(path))
            kept.append(path)
        status, said = ran(os.path.join(top, "tests/packages/copy-tree"),
                           os.path.join(work, "b"))
        copied = {os.path.relpath(os.path.join(at, name), work + "/b") for at, _, names in
                  os.walk(work + "/b") for name in names}
        yield ("packages.copy-tree" + case, not status and copied == set(kept),
               "%s\n%s" % (copied ^ set(kept), said))


def kunit_cases():
    """make builds, and so installs, unit tests only if it is asked to."""
    with tempfile.TemporaryDirectory() as kernel:
        write(kernel, "include/config/kernel.release", "6.12.1\n")
        write(kernel, "include/config/auto.conf", "CONFIG_KUNIT=y\n")
        for name, options, wanted in (("plain", [], 0), ("asked", ["KUNIT=1"], 2)):
            _, said = ran("make", "-C", TOP, "-n", "modules", "KDIR=" + kernel,
                          *options, env=PLAIN)
            yield ("options.kunit-" + name, "CONFIG_MPA=m" in said and
                   said.count("KUNIT_TEST=m") == wanted, said)


def option_cases():
    """Without variables from the caller, make gives the tests no option."""
    for target in ("check", "harden", "bench", "interop", "ulps", "matrix", "patches"):
        status, said = ran("make", "-C", TOP, "-n", target, env=PLAIN)
        options = re.findall(r"^tests/\S+.*?( --\w+)", said, re.M)
        yield "options." + target, not status and not options, said


# What mpa.rst's line for Prometheus is to make of a file
STAT = "MpaTxUlpdus              5\nMpaErrCrc                0\nMpaRxPinned         4096\n"
PROM = "mpa_tx_ulpdus 5\nmpa_err_crc 0\nmpa_rx_pinned 4096\n"


def prometheus_cases():
    """The line for Prometheus in mpa.rst, run with other files. For cron it is one."""
    lines = re.search(r"(?s)^For Prometheus.*?::\n\n((?-s:\t.*\n)+)",
                      text_of("Documentation/networking/mpa.rst"), re.M)[1]
    line = re.sub(r"^(\* ){5}", "", lines.strip())
    yield ("docs.prometheus-cron", lines.count("\n") == 1 and line != lines.strip() and
           "%" not in line, lines)
    with tempfile.TemporaryDirectory() as top:
        write(top, "mpa_stat", STAT)
        _, said = ran("sh", "-e", "-c", line.replace("/proc/net", top).replace(
            "/var/lib/prometheus/node-exporter", top))
        if os.path.exists(os.path.join(top, "mpa.prom")):
            said += text_of(top, "mpa.prom")
        yield ("docs.prometheus", said == PROM and
               sorted(os.listdir(top)) == ["mpa.prom", "mpa_stat"], said)


def workflow_cases():
    """The files of .github are YAML, and call targets that the Makefile has."""
    targets = set(" ".join(re.findall(
        r"^([\w -]+):(?!=)", text_of("Makefile").replace("\\\n", " "), re.M)).split())
    for path in sorted(glob.glob(TOP + "/.github/**/*.yml", recursive=True)):
        name, called = "workflow." + os.path.basename(path), set()
        try:
            file = yaml.safe_load(text_of(path))
        except yaml.YAMLError as fault:
            yield (name, False, str(fault))
            continue
        for job in file.get("jobs", {}).values():
            matrix = job.get("strategy", {}).get("matrix", {})
            for step in job["steps"]:
                for target in re.findall(r"^make +(\$\{\{.*?\}\}|[\w-]+)",
                                         step.get("run", ""), re.M):
                    given = re.fullmatch(r"\$\{\{ *matrix\.(\w+) *\}\}", target)
                    called |= set(matrix.get(given[1], [target])) if given else {target}
        yield (name, file and called <= targets and bool(called) == ("jobs" in file),
               "%s calls %s" % (path, called - targets))


# Headers of 6.12, and what vendors' kernels of that version may have as backports; what
# Kbuild.compat is to find in them
HEADERS = [
    ("nothing", {
        "linux/module.h":
        "#define MODULE_IMPORT_NS(ns)\tMODULE_INFO(import_ns, __stringify(ns))\n",
        "linux/crc32.h":
        "u32 __pure __crc32c_le(u32 crc, unsigned char const *p, size_t len);\n",
        "net/inet_hashtables.h":
        "\treturn __inet_lookup_established(net, hashinfo, saddr, sport, daddr,\n",
    }, set()),
    ("import-ns", {"linux/module.h":
                   "#define MODULE_IMPORT_NS(ns)\tMODULE_INFO(import_ns, ns)\n"},
     {"IMPORT_NS_STRING"}),
    ("crc32c", {"linux/crc32.h": "#define CRC32C_OPTIMIZATION\tBIT(2)\n"},
     {"CRC32C_LIB"}),
    ("lookup", {"net/inet_hashtables.h":
                "\treturn __inet_lookup_established(net, saddr, sport, daddr,\n"},
     {"LOOKUP_BY_NET"}),
]


def compat_cases():
    """Only mpa_compat.h asks what Kbuild.compat has found."""
    asked = {path for path in glob.glob("**/*.[ch]", root_dir=TOP, recursive=True)
             if not path.startswith("build/") and "MPA_HAVE_" in text_of(path)}
    yield ("compat.one-header", asked == {"mpa_compat.h"}, "in %s" % asked)
    versions = re.findall(r"^#.*LINUX_VERSION_CODE.*", text_of("mpa_compat.h"), re.M)
    yield ("compat.no-version", versions ==
           ["#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)"], "\n".join(versions))
    patches = load("../tools/patches/patches.py")
    for name, headers, wanted in HEADERS:
        with tempfile.TemporaryDirectory() as kernel:
            for path, text in dict({"net/sock.h": ""}, **headers).items():
                write(kernel, "include/" + path, text)
            done = subprocess.run(
                ["make", "-s", "-f", "-", "srctree=" + kernel], text=True, check=False,
                input="comma := ,\ninclude %s/Kbuild.compat\nall:; @echo $(ccflags-y)\n" %
                TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            series = {name for name, found in patches.features(kernel).items() if found}
        found = set(re.findall(r"-DMPA_HAVE_(\w+)", done.stdout))
        yield ("compat.finds-" + name, found == series == wanted,
               "make %s, patches.py %s, not %s" % (found, series, wanted))


def mutant_cases():
    """The breakages fit the sources as they are."""
    mutants = load("mutants/mutants.py")
    for mutant in mutants.load(mutants.LIST).values():
        times = mutant.fits(TOP)
        yield ("mutants." + mutant.name, times == 1,
               "its text is in %s %d times" % (mutant.file, times))


def main():
    cases = [*readme_cases(), *counter_cases(), *device_counter_cases(),
             *setting_cases(), *copyright_cases(),
             *api_cases(), *version_cases(), *mutant_cases(), *kernel_cases(),
             *install_cases(), *option_cases(), *kunit_cases(), *make_cases(),
             *copy_tree_cases(), *prometheus_cases(), *workflow_cases(), *compat_cases(),
             *column_cases(), *function_cases()]
    print("1..%d" % len(cases))
    for name, good, said in cases:
        if not good:
            print("".join("# %s\n" % line for line in said.splitlines()),
                  end="")
        print("%sok - tools.%s" % ("" if good else "not ", name))
    return not all(good for _, good, _ in cases)


if __name__ == "__main__":
    sys.exit(main())
