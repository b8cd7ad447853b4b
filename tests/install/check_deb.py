#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the Debian packages twice, compares the bytes, and uses what is in them: the program, a
manual page, the completion.

    check_deb.py BUILD SCRATCH"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

EXPECTED = {
    "varve": ["usr/bin/varve", "usr/lib*/libvarve.so.*", "usr/share/man/man1/varve.1.gz",
              "usr/share/man/man1/varve-verify.1.gz",
              "usr/share/bash-completion/completions/varve",
              "usr/share/zsh/vendor-completions/_varve",
              "usr/share/fish/vendor_completions.d/varve.fish", "usr/share/doc/varve/LICENSE-MIT"],
    "libvarve-dev": ["usr/include/varve.h", "usr/include/varve/store.hpp", "usr/lib*/libvarve.a",
                     "usr/lib*/libvarve.so", "usr/lib*/pkgconfig/varve.pc",
                     "usr/lib*/cmake/varve/varve-config.cmake"],
}
COMPLETE = """
source "$1"
COMP_WORDS=(varve verify --exit-codes '') COMP_CWORD=3
_varve
echo "${COMPREPLY[*]}"
COMP_WORDS=(varve ver) COMP_CWORD=1
_varve
echo "${COMPREPLY[*]}"
"""


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def pack(build, target):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    run("cpack", "-G", "DEB", "-B", str(target), cwd=build, env=environment)
    return {path.name: path for path in target.glob("*.deb")}


def wrong(packages, root):
    """What is not as it should be in the packages, which are unpacked into `root`."""
    for name, wanted in EXPECTED.items():
        found = [path for file, path in packages.items() if file.startswith(f"{name}_")]
        if len(found) != 1:
            yield f"no package {name} in {sorted(packages)}"
            return
        run("dpkg-deb", "-x", str(found[0]), str(root))
        listed = run("dpkg-deb", "--contents", str(found[0]))
        if any("root/root" not in line for line in listed.splitlines()):
            yield f"{name}: not all files are root's"
        for pattern in wanted:
            if not list(root.glob(pattern)):
                yield f"{name}: no {pattern}"
        depends = run("dpkg-deb", "-f", str(found[0]), "Depends")
        if ("libc6" if name == "varve" else "varve (= ") not in depends:
            yield f"{name}: depends on '{depends.strip()}'"
    if "varve 0." not in run(str(root / "usr/bin/varve"), "--version"):
        yield "the program does not say its version"
    page = run("man", "-l", str(root / "usr/share/man/man1/varve-verify.1.gz"))
    if "varve verify" not in page:
        yield "the manual page is not one"
    script = root / "usr/share/bash-completion/completions/varve"
    if run("bash", "-c", COMPLETE, "bash", str(script)) != "hms\nverify\n":
        yield "the completion does not complete"


def main():
    build, scratch = map(pathlib.Path, sys.argv[1:])
    wanted = "dpkg-deb", "dpkg-shlibdeps", "file", "man"
    missing = [tool for tool in wanted if not shutil.which(tool)]
    if missing:
        print(f"debian packages: skipped, no {', '.join(missing)} here")
        return 0
    packages, again = (pack(build, scratch / name) for name in ("deb", "deb2"))
    faults = list(wrong(packages, scratch / "root"))
    for name, path in packages.items():
        one, two = (hashlib.sha256(file.read_bytes()).digest() for file in (path, again[name]))
        if one != two:
            faults.append(f"{name}: packed twice, the bytes differ")
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"debian packages: {', '.join(sorted(packages))}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
