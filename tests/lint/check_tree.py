#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks the habits of the house on the source tree; prints each breach, exits 1 if there is any.

    check_tree.py [ROOT]

Rules: who may include whom; no format named by the neutral parts; licence line; file length;
line length; nothing left open; every folder of code has a README."""
import pathlib
import re
import subprocess
import sys

FORMATS = {"arena", "kladde", "tay", "jss"}
# What a folder of src/ may include besides itself and the public headers of its own layer.
ALLOWED = {
    "base": set(),
    "io": {"base"},
    "model": {"base", "io"},
    "store": {"base", "io", "model"} | FORMATS,
    "query": {"base", "io", "model", "store"},
    "output": {"base", "io", "model", "store"},
    "serve": {"base", "io", "model", "store", "query", "output", "jss"},
    **{name: {"base", "io", "model"} for name in FORMATS},
}
# Public headers that name a format, by their prefix: varve/tay.hpp, varve/tay_store.hpp...
PUBLIC_BASE = {"result.hpp"}
PUBLIC_IO = PUBLIC_BASE | {"file_system.hpp"}
# Files over the limit that are known and explained; the number may only go down.
LONG_FILES = {}
MAX_LINES = 500
MAX_COLUMNS = 100
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)


def public_format(header):
    """The format that a public header belongs to, or None."""
    for name in FORMATS:
        if re.fullmatch(rf"varve/{name}(_\w+)?\.hpp", header):
            return name
    return None


def check_includes(path, text):
    parts = path.parts
    if parts[0] == "tools":
        for header in INCLUDE.findall(text):
            if public_format(header) or header.split("/")[0] in FORMATS:
                yield f"the program may not include a format: {header}"
    if parts[0] != "src":
        return
    room = parts[1]
    for header in INCLUDE.findall(text):
        target = header.split("/")[0]
        if target == "varve":
            owner = public_format(header)
            if owner and owner != room and room not in {"store", "query", "output", "serve"}:
                yield f"{room} may not include the public header of {owner}: {header}"
            if room == "base" and header[6:] not in PUBLIC_BASE:
                yield f"base may only include varve/result.hpp, not {header}"
            if room == "io" and header[6:] not in PUBLIC_IO:
                yield f"io may not include {header}"
        elif target in ALLOWED and target != room:
            if target not in ALLOWED.get(room, set()):
                yield f"{room} may not include {header}"
            if target in FORMATS and room != "serve" and path.name != "registry.cpp":
                yield f"only the registration table may include a format: {header}"


def check_neutrality(path, text):
    """base, io and model never name a format; the neutral engines never compare with one."""
    code = re.sub(r"//[^\n]*", "", text)
    parts = path.parts
    if parts[0] == "src" and parts[1] in {"base", "io", "model"}:
        for name in FORMATS:
            if re.search(rf"\b{name}\b", code):
                yield f"names the format {name}"
    engines = {"store", "query", "output"}
    neutral = parts[0] == "tools" or (parts[0] == "src" and parts[1] in engines)
    if neutral and path.name != "registry.cpp":
        for name in FORMATS:
            if re.search(rf'[=!]=\s*"{name}"', code):
                yield f"compares with the format name {name}"


def check_text(path, text):
    lines = text.splitlines()
    first = "\n".join(lines[:2])
    if "SPDX-License-Identifier: MIT OR Apache-2.0" not in first:
        yield "no licence line"
    if len(lines) > LONG_FILES.get(str(path), MAX_LINES):
        yield f"{len(lines)} lines"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield f"line {number} has {len(line)} columns"
    if re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text) and path.name != "check_tree.py":
        yield "something left open"


def tracked(root):
    out = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                         capture_output=True, text=True, check=False)
    if out.returncode == 0 and out.stdout:
        return [pathlib.PurePosixPath(p) for p in out.stdout.split("\n") if p]
    return [pathlib.PurePosixPath(p.relative_to(root).as_posix()) for p in root.rglob("*")
            if p.is_file() and "build" not in p.relative_to(root).parts]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    breaches = 0
    folders = set()
    for path in tracked(root):
        if path.suffix not in {".cpp", ".hpp", ".h", ".c", ".py"} or not (root / path).exists():
            continue
        text = (root / path).read_text(encoding="utf-8")
        checks = list(check_text(path, text))
        if path.suffix in {".cpp", ".hpp"}:
            folders.add(path.parent)
            checks += check_includes(path, text)
            checks += check_neutrality(path, text)
        for breach in checks:
            print(f"{path}: {breach}")
            breaches += 1
    for folder in sorted(folders):
        if folder.parts[0] in {"src", "tools"} and not (root / folder / "README.md").exists():
            print(f"{folder}: no README.md")
            breaches += 1
    print(f"{breaches} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
