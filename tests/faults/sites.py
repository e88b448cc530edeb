#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""sites.py MODULE: places where a module calls functions that may allocate.

A line for each call: section, return address in it, function and offset, called
function, and "itself" if that function allocates, or "below" if it may call one
that does.
"""
import re
import subprocess
import sys

ITSELF = re.compile(r"alloc|memdup|skb_clone|page_frag_refill|"
                    r"^register_net_sysctl|^proc_create|"
                    r"^__percpu_counter_init")
# Except functions that free, only count, or have their memory already
NOT = re.compile(r"free|trace|caches|_asan|might_alloc|perf_")
BELOW = re.compile(r"^tcp_|^kernel_|^sock_|^sk_net|^release_sock$|^ip_queue|"
                   r"^register_pernet|^unregister_|^destroy_workqueue|"
                   r"^synchronize_|^__put_net$")

SECTION = re.compile(r"^Disassembly of section (\S+):")
FUNCTION = re.compile(r"^([0-9a-f]+) <(\S+)>:")
CALL = re.compile(r"^\s*[0-9a-f]+:\s+call\s")
TARGET = re.compile(r"^\s+([0-9a-f]+): R_X86_64_P\S+\s+(\w+)-0x4$")


def kind(callee):
    """Why a call is on the list, or None."""
    if NOT.search(callee):
        return None
    if ITSELF.search(callee):
        return "itself"
    return "below" if BELOW.search(callee) else None


def sites(lines):
    """Calls of functions outside the module, in the order of their places."""
    section = name = ""
    begin, called = 0, False
    own = set()
    found = []
    for line in lines:
        if match := SECTION.match(line):
            section = match[1]
        elif match := FUNCTION.match(line):
            begin, name = int(match[1], 16), match[2]
            own.add(name)
        elif (match := TARGET.match(line)) and called:
            back = int(match[1], 16) + 4
            found.append((section, back, f"{name}+{back - begin:#x}", match[2]))
        called = bool(CALL.match(line))
    return [site for site in found if site[3] not in own]


def main():
    """Print them."""
    said = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", sys.argv[1]],
                          check=True, capture_output=True, text=True).stdout
    for section, back, place, callee in sites(said.splitlines()):
        why = kind(callee)
        if why:
            print(section, f"{back:#x}", place, callee, why)


if __name__ == "__main__":
    main()
