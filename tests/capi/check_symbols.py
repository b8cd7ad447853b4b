#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds together the C names that the library defines, those that varve.h declares, and the list.

    check_symbols.py LIBRARY HEADER LIST"""
import pathlib
import re
import subprocess
import sys


def main():
    library, header, listed = sys.argv[1:]
    command = ["nm", "-g", "--defined-only"] + (["-D"] if ".so" in library else [])
    text = subprocess.run([*command, library], capture_output=True, text=True, check=True).stdout
    defined = set(re.findall(r" T (varve_\w+)$", text, re.M))
    code = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(encoding="utf-8"), flags=re.S)
    declared = set(re.findall(r"\b(varve_\w+)\(", code))
    wanted = set(pathlib.Path(listed).read_text(encoding="utf-8").split())
    for where, names in ("library", defined), ("header", declared):
        for name in sorted(wanted - names):
            print(f"{name}: in the list, not in the {where}")
        for name in sorted(names - wanted):
            print(f"{name}: in the {where}, not in the list")
    return 0 if defined == declared == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
