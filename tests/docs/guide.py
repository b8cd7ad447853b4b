#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes programs of the code in docs/guide, runs them, and compares what they print.

    guide.py extract ROOT DIRECTORY     writes guide.cpp and guide.c there
    guide.py run ROOT PROGRAM PYTHON    runs each page; PYTHON: where the package is, or nothing

The cpp blocks of a page are one function, top to bottom, the c blocks another; lines with
#include, and blocks marked "global", stand before it. Blocks marked text are
what the page prints, together."""
import pathlib
import re
import subprocess
import sys
import tempfile

from check_console import make_sample

BLOCK = re.compile(r"^```(\w+)(?: (global))?\n(.*?)^```$", re.M | re.S)


def pages(root):
    return sorted(path for path in (root / "docs" / "guide").glob("*.md")
                  if path.name != "README.md")


def blocks(page, language):
    """The number of the first line, whether it is global, and the code of each block."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start()) + 2, match[2] is not None, match[3]


def function(page, language, head, tail):
    """The lines that stand before the function, and the function."""
    before, body = [], []
    for line, is_global, code in blocks(page, language):
        for include in re.findall(r"^#include .*$", code, re.M):
            before.append(include)
        code = re.sub(r"^#include .*$", "", code, flags=re.M)
        placed = f'#line {line} "docs/guide/{page.name}"\n{code}'
        (before if is_global else body).append(placed)
    return before, "\n".join([head, *body, tail]) if body else ""


def extract(root, out):
    includes = {"#include <cstdio>", "#include <cstring>", "#include <memory>", "#include <span>",
                "#include <string>"}
    functions, table = [], []
    for page in pages(root):
        name = page.stem.replace("-", "_")
        before, code = function(page, "cpp", f"static varve::Result<void> page_{name}() {{",
                                "return {};\n}\n")
        if code:
            includes.update(before)
            functions.append(code)
            table.append(f'    {{"{page.stem}", page_{name}}},')
    before, c_code = function(root / "docs" / "guide" / "c.md", "c", "int page_c(void) {",
                              "return 0;\n}")
    (out / "guide.c").write_text("\n".join([*before, "int page_c(void);", c_code]) + "\n",
                                 encoding="utf-8")
    (out / "guide.cpp").write_text("\n".join([
        *sorted(includes), "#include <varve/result.hpp>", 'extern "C" int page_c(void);',
        *functions, '#line 1 "guide.cpp"', "struct Page {", "  const char* name;",
        "  varve::Result<void> (*run)();", "};",
        "static constexpr Page k_pages[] = {", *table, "};",
        "int main(int, char** argv) {", '  if (std::strcmp(argv[1], "c") == 0) {',
        "    return page_c();", "  }", "  for (const Page& page : k_pages) {",
        "    if (std::strcmp(page.name, argv[1]) == 0) {",
        "      const varve::Result<void> done = page.run();", "      if (!done) {",
        '        std::fprintf(stderr, "%s\\n", done.error().text().c_str());', "      }",
        "      return done ? 0 : 1;", "    }", "  }", "  return 64;", "}", ""]), encoding="utf-8")


def run(root, program, package):
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        make_sample(root, pathlib.Path(scratch))
        for page in pages(root):
            command = [program, page.stem]
            code = "\n".join(code for _, _, code in blocks(page, "python"))
            if code:
                if not package:
                    print(f"{page.name}: skipped, the Python package is not built")
                    continue
                code = f"import sys\nsys.path.insert(0, {package!r})\n{code}"
                command = ["/usr/bin/python3", "-c", code]
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  cwd=pathlib.Path(scratch, "build", "sample"))
            wanted = "".join(code for _, _, code in blocks(page, "text"))
            if done.returncode != 0 or done.stdout != wanted or not wanted:
                failed += 1
                print(f"{page.name}: exit code {done.returncode}\n{done.stderr}--- printed\n"
                      f"{done.stdout}--- in the page\n{wanted}")
    print(f"{len(pages(root))} pages, {failed} differ")
    return 1 if failed or not pages(root) else 0


if __name__ == "__main__":
    if sys.argv[1] == "extract":
        extract(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        sys.exit(run(pathlib.Path(sys.argv[2]), sys.argv[3], "".join(sys.argv[4:])))
