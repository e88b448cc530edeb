#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""pyverbs' own tests on a device, judged by a list of those that do not apply.

usage: pyverbs-tests.py TESTS LIST DEVICE ADDRESS
       pyverbs-tests.py TESTS

TESTS is the folder above rdma-core's tests. Each test has to pass. Those in LIST must not,
and each of its patterns has to match some test. Without a list: prints the files that all
of this consists of.

Told instead of found out by the tests: ADDRESS, that of the device's netdev, which they
look for below the device's parent, and a veth has none; the GID, since they take one for
empty that ends in zeros, and iWARP's does; and no flags for QPs, which they choose by
chance, and libsiw knows none.
"""

import fnmatch
import multiprocessing.heap  # pylint: disable=unused-import
import multiprocessing.popen_fork  # pylint: disable=unused-import
import multiprocessing.queues  # pylint: disable=unused-import
from multiprocessing.context import BaseContext
from multiprocessing.synchronize import Barrier
import os
import random
import sys
import time
import unittest


class Result(unittest.TestResult):
    """Says of each test how it ended."""

    def __init__(self, reasons):
        super().__init__()
        self.reasons = reasons
        self.used = set()
        self.listed = set()
        self.bad = 0
        self.begun = 0

    def startTest(self, test):
        super().startTest(test)
        name = test.id().removeprefix("tests.")
        self.listed = {p for p in self.reasons if fnmatch.fnmatchcase(name, p)}
        self.begun = time.monotonic()

    def barrier(self, context, parties, timeout):
        """If one side of a listed test has failed the other need not wait long."""
        return Barrier(parties, timeout=2 if self.listed else timeout,
                       ctx=context.get_context())

    def judge(self, test, ended, why=""):
        """A listed test must not pass, any other must."""
        name = test.id().removeprefix("tests.")
        listed = self.listed
        self.used |= listed
        good = bool(listed) != (ended == "passed")
        self.bad += not good
        took = int((time.monotonic() - self.begun) * 1000)
        print("" if good else "WRONG:", name, ended, *sorted(listed),
              f"{took} ms", why, flush=True)

    def addSuccess(self, test):
        self.judge(test, "passed")

    def addSkip(self, test, reason):
        self.judge(test, "skipped", reason)

    def addError(self, test, err):
        self.judge(test, "failed", repr(err[1]))

    addFailure = addError


def read_list(name):
    """Pattern and reason of each line."""
    with open(name, encoding="utf-8") as lines:
        pairs = [line.split(None, 1) for line in lines if line[0] not in "#\n"]
    return {pattern: reason.strip() for pattern, reason in pairs}


def main(folder, *args):
    """The exit status is 0 if the list was right."""
    sys.path[:0] = [folder, os.path.join(folder, "tests")]
    sys.argv[1:] = ["--dev", args[1], "--gid", "0"] if args else []
    # pylint: disable=import-error,import-outside-toplevel
    import tests
    from args_parser import parser
    from pyverbs.enums import IBV_QP_INIT_ATTR_PD
    from tests import base, utils

    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromModule(tests)
    if not args:
        for module in list(sys.modules.values()):
            print(getattr(module, "__cached__", None) or
                  getattr(module, "__file__", None) or "")
        return 0
    base.RDMATestCase._get_ip_mac = lambda self, dev, port, gid: \
        self.args.append([dev, port, gid, args[2], None])
    utils.random_qp_create_mask = lambda *_: IBV_QP_INIT_ATTR_PD
    random.seed(0)
    result = Result(read_list(args[0]))
    BaseContext.Barrier = lambda context, parties, timeout: \
        result.barrier(context, parties, timeout)
    suite.run(result)
    unused = result.reasons.keys() - result.used
    print(f"{result.testsRun} tests, {result.bad} not as listed;",
          "of no test:", *(unused or ["none"]))
    return 1 if result.bad or unused else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
