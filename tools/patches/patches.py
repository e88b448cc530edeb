#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Write MPA as a series of patches for the source of a kernel.

usage: patches.py KERNEL OUT

KERNEL is a kernel's source, 6.12 or later, as a folder; it is only read. OUT gets
the patches, to be applied with git am or patch -p1, and a repository, OUT/tree, of
the few files that they touch. The series has neither mpa_compat.h nor Kbuild: what
the compat header selects is written out for that kernel. A patch of its own shows
connections to ss. Out-of-order receiving comes last of the code, with a callback
of TCP's in place of the hook (mpa_hook.c). The unit tests and the documents follow,
whole: most files of both are about receiving in order and out of order.
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MPA = "net/mpa"

# What the patches change in files that a kernel has
TOUCHED = ["MAINTAINERS", "net/Kconfig", "net/Makefile", "include/net/tcp.h",
           "include/uapi/linux/inet_diag.h", "net/ipv4/tcp_input.c",
           "Documentation/networking/index.rst"]

# The tests of mpa_hook.c, what a build leaves, and documents of the RDMA device
NOT_IN_TREE = re.compile(r"kunit/mpa_conn_hook\.c|.*\.mod\.c|.*\.o|.*\.cmd|"
                         r"kunit/mpa_vectors\.h|"
                         r"Documentation/networking/mpa-(rnic.*|storage)\.rst")

# What the documents say of the module alone: from here up to there
CUTS = [("mpa.rst", "Installing\n===", "Settings\n==="),
        ("mpa-design.rst", "*Lifetime of the copied", "Receive errors\n===")]


class Bad(Exception):
    """This tree or that kernel is not as the series expects."""


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def change(text, *pairs):
    """Replace each old text, which stands there once."""
    for old, new in pairs:
        if text.count(old) != 1:
            raise Bad("%d times, not once: %s" % (text.count(old), old.strip()))
        text = text.replace(old, new)
    return text


def cut(text, begin, end):
    """Without what is from begin up to end."""
    left, found, rest = text.partition(begin)
    at = rest.find(end)
    if not found or at < 0:
        raise Bad("not from %s to %s" % (begin.strip(), end.strip()))
    return left + rest[at:]


# The kernel's own names in place of those of mpa_compat.h

def features(kernel):
    """What Kbuild.compat looks for in a kernel's headers, by its names."""
    found = {}
    for name, header, pattern in re.findall(
            r"\$\(call mpa-have,(\w+),([^,]+),(.*)\)$", read(TOP, "Kbuild.compat"),
            re.M):
        pattern = re.sub(r"\\[<>]", r"\\b", pattern.replace("$(comma)", ","))
        path = os.path.join(kernel, "include", header)
        found[name] = os.path.exists(path) and bool(
            re.search(pattern, read(path), re.M))
    return found


def refcnt_upgrade(compat):
    """What sk_net_refcnt_upgrade() does, as a function for a kernel without it."""
    body = re.search(r"^#define mpa_net_refcnt_upgrade\(sk\)\t+\\\n"
                     r"do {\t+\\\n((?:\t.*\\\n)+)} while \(0\)$", compat, re.M)[1]
    body = re.sub(r"\t*\\$", "", body, flags=re.M).replace("(sk)->", "sk->")
    return ("\n/* Have a socket of the kernel hold its namespace. */\n"
            "static void sock_net_upgrade(struct sock *sk)\n{\n%s}\n" % body)


def regenerate(kernel):
    """The line that a kernel's generator of netlink code writes below YNL-GEN, if any."""
    for name in ("pyynl/ynl_gen_c.py", "ynl-gen-c.py"):
        path = os.path.join(kernel, "tools/net/ynl", name)
        if os.path.exists(path):
            line = re.search(r"'(/\* To regenerate run: .* \*/)'", read(path))
            return line[1] + "\n" if line else ""
    return ""


class Native:
    """What mpa_compat.h selects for one kernel."""

    def __init__(self, kernel):
        def has(name, path):
            return re.search(r"\b%s\b" % name, read(kernel, path))

        self.library = not has("config LIBCRC32C", "lib/Kconfig")
        have = features(kernel)
        any_name = "sockaddr_unsized" if have["SOCKADDR_UNSIZED"] else "sockaddr"
        timer = "timer_container_of" if has(
            "timer_container_of", "include/linux/timer.h") else "from_timer"
        percpu = have["WQ_PERCPU"]
        unbound = "system_dfl_wq" if have["DFL_WQ"] else "system_unbound_wq"
        params = "struct kunit *test, " if have["KUNIT_PARAMS_TEST"] else ""
        accecn = "(tcp_ecn_mode_accecn(tp) ?\n\t\t    " \
            "ALIGN((u32)TCP_ACCECN_MAXSIZE, 4) : 0U)" if have["ACCECN"] else "0U"
        ns_count = "0U" if have["NS_REF_READ"] \
            else r"refcount_read(&(\1)->ns.count)"
        self.rules = [
            (r'#include "mpa_compat\.h"\n', ""),
            (r"MPA_CRC32C_SOFTDEP;\n", ""),
            (r"extern struct mpa_crc32c mpa_crc;\n", ""),
            (r"\bmpa_crc32c\(&mpa_crc, ", "crc32c("),
            (r"\bmpa_sockaddr\(([^()]+)\)", r"(struct %s *)\1" % any_name),
            (r"\btimer_container_of\b", timer),
            (r"( \| )?\bMPA_WQ_PERCPU\b",
             lambda match: (match[1] or "") + "WQ_PERCPU" if percpu
             else "" if match[1] else "0"),
            (r"\bmpa_unbound_wq\b", unbound),
            (r" MPA_KUNIT_PARAMS\t+", "(%sconst void *prev, char *desc) " % params),
            (r" MPA_KUNIT_PARAMS\b", "(%sconst void *prev, char *desc)" % params),
            (r"\bmpa_ns_count\(([^()]+|[^()]*\([^()]*\)[^()]*)\)", ns_count),
            (r"\bmpa_accecn_octets\(tp\)", accecn),
            (r"\bMPA_IMPORT_NS\((\w+)\)", r'MODULE_IMPORT_NS("\1")' if
             have["IMPORT_NS_STRING"] else r"MODULE_IMPORT_NS(\1)"),
            (r"(?m)^(/\* YNL-GEN .* \*/\n)", r"\1" + regenerate(kernel)),
        ]
        if not has(r"get_info\)\(.*net_admin", "include/net/tcp.h"):
            self.rules += [(r",\s+bool net_admin\b", ""),
                           (r"(get_info_size\(\w+), true\)", r"\1)"),
                           (r"\tif \(!net_admin\)\n\t\treturn 0;\n", "")]
        if has("kzalloc_obj", "include/linux/slab.h"):
            self.rules.append((r"\b(k[mz]alloc)\(sizeof\((\*[\w>-]+)\), ([\w>-]+)\)",
                               r"\1_obj(\2, \3)"))
        compat = read(TOP, "mpa_compat.h")
        if have["NET_REFCNT_UPGRADE"]:
            self.rules.append((r"\bmpa_(net_refcnt_upgrade)\b", r"sk_\1"))
        else:
            # The function comes before the first one of those that make a socket
            self.rules.append((
                r"(?s)(\nstatic int sock_configure\(.*?)\bmpa_net_refcnt_upgrade\b",
                lambda match: refcnt_upgrade(compat) + match[1] + "sock_net_upgrade"))
        self.names = set(re.findall(r"^(?:#define|static inline .*?) ?\b(mpa_\w+"
                                    r"|MPA_[A-Z]\w+)", compat, re.M))

    def here(self, name):
        """A file of this folder for that kernel."""
        return self.text(os.path.relpath(os.path.join(HERE, name), TOP))

    def text(self, path):
        """A file of this tree for that kernel."""
        text = read(TOP, path)
        for pattern, new in self.rules:
            text = re.sub(pattern, new, text)
        left = self.names & set(re.findall(r"\w+", text))
        if left:
            raise Bad("%s uses %s, for which there is no rule" % (path, left))
        return text


# The series

class Patch:
    """One entry of the file series."""

    def __init__(self, text):
        subject, files, message = text.split("\n", 2)
        if not files.startswith("+ "):
            raise Bad("no files: %s" % subject)
        self.subject, self.files = subject, files[2:].split()
        self.message = message.strip()


def series():
    text = re.sub(r"^#.*\n", "", read(HERE, "series"), flags=re.M)
    return [Patch(entry) for entry in re.split(r"^= ", text, flags=re.M)[1:]]


def objects():
    """The core's objects, from top to bottom, with what a kernel alone has."""
    names = re.findall(r"^mpa-y [+:]= (mpa_\w+)\.o$", read(TOP, "Kbuild"), re.M)
    names.insert(names.index("mpa_nl"), "mpa_diag")
    return names


class Tree:
    """The files of a kernel that the series touches, patch by patch."""

    def __init__(self, kernel, out):
        self.top, self.native = os.path.join(out, "tree"), Native(kernel)
        self.placed, self.kunit = ["mpa_main"], False
        self.author = re.search(r"^M:\t(.*)$", read(TOP, "MAINTAINERS"), re.M)[1]
        self.steps = {"@build": self.build, "@maintainers": self.maintainers,
                      "@kunit": self.kunit_tests, "@docs": self.docs}
        for path in TOUCHED:
            write(read(kernel, path), self.top, path)
        self.git("init", "-q")
        self.commit("base", "")

    def git(self, *words):
        """With the committer that is configured; the author is always the project."""
        name = subprocess.run(["git", "config", "user.email"], cwd=TOP,
                              stdout=subprocess.PIPE, check=False).stdout
        author, email = re.fullmatch(r"(.*) <(.*)>", self.author).groups()
        default = [] if name.strip() else [
            "-c", "user.name=" + author, "-c", "user.email=" + email]
        subprocess.run(["git", *default, *words], cwd=self.top, check=True, env=dict(
            os.environ, GIT_AUTHOR_NAME=author, GIT_AUTHOR_EMAIL=email))

    def commit(self, subject, message):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject, *(
            ["-m", message] if message else []),
            "-m", "Signed-off-by: " + self.author)

    def put(self, text, *path):
        write(text, self.top, MPA, *path)

    def edit(self, path, *pairs):
        write(change(read(self.top, path), *pairs), self.top, path)

    def add(self, name):
        """A file or folder of this tree, to where a kernel has it."""
        if name in self.steps:
            self.steps[name]()
        elif name.endswith(".diff"):
            # No compiler sees that patch has put words in another place
            fuzz = "--fuzz=%d" % (0 if name == "docs.diff" else 2)
            subprocess.run(["patch", "-p1", "-s", "-N", fuzz,
                            "--no-backup-if-mismatch", "-i", os.path.join(HERE, name)], cwd=self.top,
                           check=True)
        elif name.startswith("<"):
            self.put(self.native.here(name[1:]), name[1:])
            if name.endswith(".c"):
                self.place(name[1:-2])
        elif name in objects():
            self.put(self.native.text(name + ".c"), name + ".c")
            self.place(name)
        elif os.path.isdir(os.path.join(TOP, name)):
            for file in sorted(os.listdir(os.path.join(TOP, name))):
                path = os.path.join(name, file)
                if os.path.isfile(os.path.join(TOP, path)) and \
                        not NOT_IN_TREE.fullmatch(path):
                    self.add(path)
        elif name.startswith(("include/", "Documentation/")):
            text = self.native.text(name)
            # gnuplot leaves blanks at the ends of lines
            text = re.sub(r"[ \t]+$", "", text, flags=re.M).rstrip("\n") + "\n"
            write(text, self.top, name)
        else:
            self.put(self.native.text(name), name)

    def place(self, name):
        """List an object in the Makefile."""
        self.placed = [o for o in objects() if o in self.placed + [name]]
        self.makefile()

    def makefile(self):
        lines = ["# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause\n"
                 "obj-$(CONFIG_MPA) += mpa.o\n"]
        lines += ["mpa-y %s %s.o\n" % ("+=" if i else ":=", name)
                  for i, name in enumerate(self.placed)]
        if self.kunit:
            kbuild = read(TOP, "Kbuild")
            tests = sorted(file[:-2] for file in os.listdir(os.path.join(
                self.top, MPA, "kunit")) if file.endswith(".c"))
            lines += ["\nccflags-y += -I$(src) "
                      "-I$(obj)/kunit\n\n"
                      "obj-$(CONFIG_MPA_KUNIT_TEST) += mpa_kunit.o\n"]
            lines += ["mpa_kunit-y %s kunit/%s.o\n" % ("+=" if i else ":=", name)
                      for i, name in enumerate(tests)]
            at = kbuild.index("quiet_cmd_vectors")
            lines += ["\n" + kbuild[at:kbuild.index("\n\n", at) + 1]]
        self.put("".join(lines), "Makefile")

    def kconfig(self, *names):
        text = read(TOP, "Kconfig")
        entries = {m[1]: m[0].rstrip() + "\n" for m in re.finditer(
            r"^config (\w+)\n(?:\t.*\n|\n)+", text + "\n", re.M)}
        crc = "select CRC32" if self.native.library else "select LIBCRC32C"
        text = "\n".join(entries[name] for name in names)
        text = text.replace("select CRC32\n", crc + "\n")
        text = re.sub(r"\tselect LIBCRC32C\t.*\n", "", text)
        self.put("# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause\n" + text,
                 "Kconfig")

    # Steps: what is in no file of this tree as a kernel needs it

    def build(self):
        self.kconfig("MPA")
        self.edit("net/Kconfig", ('source "net/mptcp/Kconfig"\n',
                                  'source "net/mpa/Kconfig"\n'
                                  'source "net/mptcp/Kconfig"\n'))
        self.edit("net/Makefile", ("obj-$(CONFIG_MPTCP)",
                                   "obj-$(CONFIG_MPA)\t\t+= mpa/\n"
                                   "obj-$(CONFIG_MPTCP)"))
        main = read(TOP, "mpa_main.c")
        self.put("".join([
            "// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause\n",
            "#include <linux/module.h>\n\n",
            *re.findall(r"^MODULE_(?:DESCRIPTION|LICENSE).*\n", main, re.M)]),
            "mpa_main.c")

    def maintainers(self):
        entry = ("IWARP MPA (MARKER PDU ALIGNED FRAMING FOR TCP)\n"
                 "L:\tnetdev@vger.kernel.org\nL:\tlinux-rdma@vger.kernel.org\n"
                 "S:\tMaintained\nF:\tDocumentation/netlink/specs/mpa.yaml\n"
                 "F:\tDocumentation/networking/mpa*\nF:\tinclude/net/mpa.h\n"
                 "F:\tinclude/trace/events/mpa.h\nF:\tinclude/uapi/linux/mpa.h\n"
                 "F:\tnet/mpa/\n\n")
        text = read(self.top, "MAINTAINERS")
        # Not all of the list is in order: between neighbours, after its letter
        before = ""
        for match in re.finditer(r"(?<=\n\n)([A-Z0-9].*)\n[A-Z]:\t", text):
            if before[:1] == entry[0] and before < entry < match[1].upper():
                break
            before = match[1].upper()
        else:
            raise Bad("no place in MAINTAINERS for: %s" % entry.split("\n")[0])
        text = text[:match.start()] + entry + text[match.start():]
        write(text, self.top, "MAINTAINERS")

    def kunit_tests(self):
        # mpa_conn.diag in place of mpa_conn.hook
        for name, old in (("mpa_conn_kunit.c", "CONN_CASE(hook)"),
                          ("mpa_conn_test.h", "conn_hook_rows")):
            self.edit(os.path.join(MPA, "kunit", name),
                      (old, old.replace("hook", "diag")))
        self.put(self.native.here("mpa_conn_diag.c"), "kunit", "mpa_conn_diag.c")
        self.kunit = True
        self.makefile()
        self.kconfig("MPA", "MPA_KUNIT_TEST")
        self.put(read(HERE, "kunitconfig"), "kunit", ".kunitconfig")

    def docs(self):
        for name, begin, end in CUTS:
            path = os.path.join("Documentation/networking", name)
            write(cut(read(self.top, path), begin, end), self.top, path)
        names = sorted(file[:-4] for file in os.listdir(
            os.path.join(TOP, "Documentation/networking"))
            if file.endswith(".rst") and not
            NOT_IN_TREE.fullmatch("Documentation/networking/" + file))
        self.edit("Documentation/networking/index.rst", (
            "   mpls-sysctl\n", "".join("   %s\n" % n for n in names) +
            "   mpls-sysctl\n"))


def main(args):
    if len(args) != 2 or args[0].startswith("-"):
        sys.exit(__doc__)
    kernel, out = args
    shutil.rmtree(out, ignore_errors=True)
    patches = series()
    unplaced = set(objects()) - {f.removeprefix("<").removesuffix(".c")
                                 for p in patches for f in p.files} - {
        "mpa_hook"}
    if unplaced:
        raise Bad("in no patch: %s" % unplaced)
    tree = Tree(kernel, out)
    for patch in patches:
        for name in patch.files:
            tree.add(name)
        tree.commit(patch.subject, patch.message)
    tree.git("format-patch", "-q", "-o", os.path.abspath(out),
             "HEAD~%d" % len(patches))
    for name in sorted(os.listdir(out)):
        if name.endswith(".patch"):
            print(os.path.join(out, name))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Bad, OSError, subprocess.CalledProcessError) as fault:
        sys.exit("patches: %s" % fault)
