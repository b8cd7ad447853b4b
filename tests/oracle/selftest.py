#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks of the oracles themselves.

  selftest.py                  vectors that are small enough to stand here, round trips
  selftest.py --shared DIR     also every fixture under DIR/fixtures
  selftest.py --only jss       one format, or `tools`

Prints a line a check and a closing count; exit 1 if one failed.
"""
import argparse
import importlib
import os
import sys
import tempfile
import time

PARTS = ("jss", "tay", "arena", "kladde", "tools")


class Suite:
    """Collects results; `shared` is the fixtures folder or None."""

    def __init__(self, shared, quiet):
        self.fixtures = os.path.join(shared, "fixtures") if shared else None
        self.quiet, self.passed, self.failed = quiet, 0, []
        self.scratch = tempfile.TemporaryDirectory(prefix="oracle-")

    def check(self, name, good, detail=""):
        if good:
            self.passed += 1
        else:
            self.failed.append(name)
        if not good or not self.quiet:
            print("%s %s%s" % ("ok  " if good else "FAIL", name,
                               "" if good or detail == "" else ": %s" % (detail,)))
        return good

    def equal(self, name, got, wanted):
        return self.check(name, got == wanted, "got %.300r, wanted %.300r" % (got, wanted))

    def folder(self, name):
        path = os.path.join(self.scratch.name, name)
        os.makedirs(path, exist_ok=True)
        return path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", metavar="DIR", help="folder that holds fixtures/")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--quiet", action="store_true", help="print failures and the count only")
    args = parser.parse_args()
    suite, start = Suite(args.shared, args.quiet), time.monotonic()
    for name in args.only or PARTS:
        importlib.import_module("selftest_" + name).run(suite)
    print("%d checks, %d failed, %.1f s" % (suite.passed + len(suite.failed),
                                            len(suite.failed), time.monotonic() - start))
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
