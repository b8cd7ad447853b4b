#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Doxygen's input filter: the plain comments of the public headers as Doxygen wants them.

    comments.py HEADER"""
import pathlib
import re
import sys


def plain(text):
    """Nothing in a comment is a command, a tag or a link; `this` is code."""
    text = re.sub(r"([\\@<>#%&$])", r"\\\1", text)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", text)


def cpp_line(line, inside):
    """A line of C++ and whether the comment before it was one behind code."""
    own = re.match(r"( *)//( .*)?$", line)
    if own:
        mark = "///<" if inside else "///"
        return f"{own[1]}{mark}{plain(own[2] or '')}", inside
    behind = re.match(r"(.*?[;,{)}a-z_0-9]) +// (.*)$", line)
    if behind and '"' not in behind[1]:
        return f"{behind[1]}  ///< {plain(behind[2])}", True
    return line, False


def cpp(lines):
    inside = False
    for number, line in enumerate(lines):
        # The first lines tell what the file is for.
        if number == 0 and "SPDX" in line:
            yield "/// @file"
            continue
        # A comment of its own belongs to what follows, except where it goes on from one behind code
        # in the same column.
        text, inside = cpp_line(line, inside and line.startswith(" " * 20))
        yield text


def c(text):
    def comment(match):
        before, body = match[1], match[2]
        body = "\n".join(plain(line) for line in body.split("\n"))
        if "SPDX" in body:
            return f"/** \\file{body.split('Apache-2.0', 1)[1]}*/"
        return f"{before}/**{'<' if before.strip() else ''}{body}*/"
    return re.sub(r"^([^\n]*?)/\*(.*?)\*/", comment, text, flags=re.M | re.S)


def main():
    path = pathlib.Path(sys.argv[1])
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".h":
        print(c(text))
    else:
        print("\n".join(cpp(text.split("\n"))))


if __name__ == "__main__":
    main()
