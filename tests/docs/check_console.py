#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs every command of the console blocks of a document and compares what it prints.

    check_console.py VARVE ROOT DOCUMENT...

A block is fenced with ```console; a line that begins with "$ " is a command, the lines behind it
are what it prints (stdout and stderr together). Lines "..." stand for any number of lines. Digits
are compared as '#', since sizes and times differ from machine to machine. The commands run in a
scratch directory that holds the sample of scripts/quickstart, so that they read as in the document.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def blocks(text):
    """The commands of a document with the lines that they are said to print."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        command = None
        lines = []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield command, lines
                command, lines = line[2:], []
            else:
                lines.append(line)
        if command:
            yield command, lines


def normal(line):
    line = re.sub(r"\d[\d,.]*(e-\d+)?", "#", line.rstrip())
    line = re.sub(r"[0-9a-f#]*#[0-9a-f#]*", "#", line)
    line = re.sub(r"\b(k|M|G)?B/s", "B/s", line)
    return re.sub(r"\s+", " ", line)


def same(expected, printed):
    """Compares line by line; "..." on the expected side swallows lines up to the next match."""
    at = 0
    skipping = False
    for line in expected:
        if line.strip() == "...":
            skipping = True
            continue
        while skipping and at < len(printed) and normal(printed[at]) != normal(line):
            at += 1
        if at == len(printed) or normal(printed[at]) != normal(line):
            shown = printed[at] if at < len(printed) else "(nothing)"
            return f"expected: {line}\nprinted:  {shown}"
        skipping = False
        at += 1
    if not skipping and any(line.strip() for line in printed[at:]):
        return f"printed more: {printed[at]}"
    return None


def make_sample(root, directory):
    """What scripts/quickstart makes: an archive, and a copy with one flipped bit."""
    python = "/usr/bin/python3"
    sample = directory / "build" / "sample"
    sample.mkdir(parents=True)
    oracle = root / "tests" / "oracle"
    subprocess.run([python, oracle / "make_jss.py", "--out", sample / "archive", "--segments", "3",
                    "--events", "6000", "--seed", "1"], check=True, capture_output=True)
    subprocess.run(["cp", "-r", sample / "archive", sample / "hurt"], check=True)
    hurt = sample / "hurt" / "seg_0000000001.jss"
    subprocess.run([python, oracle / "hurt.py", hurt, "flip 5000.3", "-o", hurt], check=True,
                   capture_output=True)


def main():
    varve, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    ran = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        directory = pathlib.Path(scratch)
        make_sample(root, directory)
        (directory / "bin").mkdir()
        (directory / "bin" / "varve").symlink_to(varve)
        for name in sys.argv[3:]:
            for command, lines in blocks((root / name).read_text(encoding="utf-8")):
                out = subprocess.run(["sh", "-c", f"PATH=$PWD/bin:$PATH; {command}"],
                                     cwd=directory, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, check=False)
                ran += 1
                difference = same(lines, out.stdout.splitlines())
                if difference:
                    failed += 1
                    print(f"{name}: $ {command}\n{difference}")
    print(f"{ran} commands, {failed} differ")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
