#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles misuse.cpp and holds the compiler's errors against the lines that are marked wrong.

    run.py COMPILER INCLUDE-DIRECTORY"""
import pathlib
import re
import subprocess
import sys


def main():
    compiler, include = sys.argv[1:]
    source = pathlib.Path(__file__).with_name("misuse.cpp")
    marked = {number for number, line in enumerate(source.read_text().splitlines(), 1)
              if re.search(r"\S.*// wrong:", line) and not line.startswith("//")}
    done = subprocess.run([compiler, "-std=c++23", "-fsyntax-only", "-Werror=unused-result",
                           "-fmax-errors=0", "-fno-diagnostics-show-caret", "-I", include, source],
                          capture_output=True, text=True, check=False)
    errors = {}
    for place, number, text in re.findall(r"^(.*?):(\d+):\d+: error: (.*)$", done.stderr, re.M):
        if pathlib.Path(place) != source:
            print(f"an error elsewhere: {place}:{number}: {text}")
            return 1
        errors[int(number)] = text
    for number in sorted(marked - errors.keys()):
        print(f"misuse.cpp:{number}: compiles, and must not")
    for number in sorted(errors.keys() - marked):
        print(f"misuse.cpp:{number}: must compile: {errors[number]}")
    print(f"{len(marked)} misuses, {len(marked & errors.keys())} refused")
    return 0 if marked == errors.keys() and marked else 1


if __name__ == "__main__":
    sys.exit(main())
