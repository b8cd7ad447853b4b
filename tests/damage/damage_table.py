#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/tables/damage.md from the case files, which the tests run.

    damage_table.py ROOT            writes the table
    damage_table.py ROOT --check    says whether it is what the case files say; 1 if not
"""
import pathlib
import re
import sys

FORMATS = ["arena", "kladde", "tay", "jss"]
CASE = re.compile(r"^(.*?)\s*-> (\S+) ?(\S*)(?: @(\S+))?(?: records=(\d+))?\s*$")


def rows(path):
    """Headings (store, comment) and rows of one case file."""
    comment, fresh = [], True
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            comment = [*([] if fresh else comment), line[1:].strip()]
            fresh = False
        elif line.startswith("store "):
            yield "store", line[6:], " ".join(comment)
            comment, fresh = [], True
        elif match := CASE.match(line):
            damage, verdict, code, offset, records = match.groups()
            yield "case", " ".join(comment), [damage or "nothing", verdict, code or "-",
                                              offset or "", records or ""]
            comment, fresh = [], True


def page(root):
    lines = ["# Every case of damage", "",
             "Each line is done to a healthy store of that format, and Varve must say what",
             "stands behind it: the verdict, the first error finding (`*`: one of several;",
             "`-`: none), where, and how many records `cat` still prints. The language is that of",
             "[tests/damage](../../tests/damage/README.md). Made by `tests/damage/damage_table.py`",
             "from the case files that the tests run.", ""]
    for name in FORMATS:
        lines += [f"## {name}", ""]
        for kind, first, second in rows(root / f"tests/damage/cases/{name}.cases"):
            if kind == "store":
                lines += ["", f"`{first}`" + (f": {second}" if second else ""), "",
                          "| what is done | verdict | finding | at | records | |",
                          "|---|---|---|---|---|---|"]
            else:
                damage, *rest = second
                lines.append(f"| `{damage}` | " + " | ".join(
                    one.replace("*", "\\*") for one in rest) + f" | {first} |")
        lines.append("")
    text = "\n".join(lines).rstrip() + "\n"
    return re.sub(r"\n{3,}", "\n\n", text)


def main():
    root = pathlib.Path(sys.argv[1])
    path = root / "docs/tables/damage.md"
    if "--check" in sys.argv[2:]:
        same = path.exists() and path.read_text(encoding="utf-8") == page(root)
        print(f"{path.name}: " + ("as the case files say" if same else
                                  "not what the case files say; run tests/damage/damage_table.py"))
        return 0 if same else 1
    path.write_text(page(root), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
