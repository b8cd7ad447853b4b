# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks of what the tools share: help, repeatable output, the damage operations."""
import glob
import os
import subprocess
import sys

import hurt

HERE = os.path.dirname(os.path.abspath(__file__))
MAKERS = (("make_jss.py", ["--events", "900", "--active-tail"]),
          ("make_tay.py", ["--rotate", "9000"]),
          ("make_arena.py", ["--format", "3", "--roll-after", "5", "--generation"]),
          ("make_kladde.py", ["--interior", "--torn"]), ("make_kladde.py", ["--dialect", "b"]))
OPERATIONS = (
    ("flip 1.7", "00810203"), ("flip -1", "00010202"), ("zero 1..3", "00000003"),
    ("fill 1..4 aabb", "00aabbaa"), ("set 2 ff", "0001ff03"), ("add 1 2 -2", "00ff0103"),
    ("cut 0x2", "0001"), ("drop 1..3", "0003"), ("insert end 0405", "000102030405"),
    ("append 09", "0001020309"), ("pad 2", "000102030000"), ("copy 0..2 2", "00010001"),
    ("swap 0..1 2..4", "02030100"))


def _run(name, arguments, seed="0"):
    return subprocess.run([sys.executable, os.path.join(HERE, name)] + arguments,
                          capture_output=True, env=dict(os.environ, PYTHONHASHSEED=seed))


def _content(path):
    """{relative name: bytes} of a file or a tree."""
    if os.path.isfile(path):
        files = [path]
    else:
        files = [os.path.join(top, name) for top, _, names in os.walk(path) for name in names]
    out = {}
    for file in files:
        with open(file, "rb") as stream:
            out[os.path.relpath(file, path)] = stream.read()
    return out


def run(suite):
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        name = os.path.basename(path)
        if name.startswith(("make_", "read_")) or name in ("hurt.py", "selftest.py"):
            suite.check("%s --help" % name, _run(name, ["--help"]).returncode == 0)
    out = suite.folder("tools")
    for number, (name, arguments) in enumerate(MAKERS):
        trees = []
        for seed in ("1", "2"):
            path = os.path.join(out, "%d-%s" % (number, seed))
            made = _run(name, ["--out", path] + arguments, seed)
            trees.append(_content(path) if made.returncode == 0 else made.stderr)
        suite.check("%s %s repeats" % (name, " ".join(arguments)), trees[0] == trees[1]
                    and isinstance(trees[0], dict))
    for operation, wanted in OPERATIONS:
        suite.equal("hurt %s" % operation, hurt.hurt(bytes(range(4)), [operation]).hex(), wanted)
    for operation in ("flip 4", "flip 0.8", "zero 3..2", "cut 5", "set 3 aabb", "swap 0..2 1..3",
                      "melt 3", "flip", "set 0 xy"):
        try:
            hurt.hurt(bytes(range(4)), [operation])
            refused = False
        except hurt.Usage:
            refused = True
        suite.check("hurt refuses %s" % operation, refused)
