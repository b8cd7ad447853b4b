#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds together the C names that the library defines, those that varve.h declares, and the list.
The list names each with the version since which it is there, and its comment says the same.

    check_symbols.py LIBRARY HEADER LIST"""
import pathlib
import re
import subprocess
import sys

# The end of a comment, and the declaration behind it.
DOCUMENTED = re.compile(r"Since ([\d.]+)\.\s*\*/\n(?:struct \w+;\n)?[\w ]+\*? ?(varve_\w+)\(")


def main():
    library, header, listed = sys.argv[1:]
    command = ["nm", "-g", "--defined-only"] + (["-D"] if ".so" in library else [])
    text = subprocess.run([*command, library], capture_output=True, text=True, check=True).stdout
    defined = set(re.findall(r" T (varve_\w+)$", text, re.M))
    text_of_header = pathlib.Path(header).read_text(encoding="utf-8")
    code = re.sub(r"/\*.*?\*/", "", text_of_header, flags=re.S)
    declared = set(re.findall(r"\b(varve_\w+)\(", code))
    since = dict(line.split() for line in pathlib.Path(listed).read_text().splitlines())
    wanted = set(since)
    documented = {name: version for version, name in DOCUMENTED.findall(text_of_header)}
    for where, names in ("library", defined), ("header", declared):
        for name in sorted(wanted - names):
            print(f"{name}: in the list, not in the {where}")
        for name in sorted(names - wanted):
            print(f"{name}: in the {where}, not in the list")
    for name in sorted(wanted):
        if documented.get(name) != since[name]:
            print(f"{name}: the header says since {documented.get(name)}, the list {since[name]}")
    return 0 if defined == declared == wanted and documented == since else 1


if __name__ == "__main__":
    sys.exit(main())
