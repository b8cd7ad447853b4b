#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Appends to a shared object what DuckDB wants behind an extension: eight fields of 32 bytes, the
last first, and room for a signature, wrapped as a custom section of WebAssembly.

    add_footer.py FILE PLATFORM VERSION"""
import sys

C_API = "v1.2.0"  # the oldest interface that has all we use; newer ones keep it
SECTION = b"\x00\x93\x04\x10duckdb_signature\x80\x04"


def main():
    path, platform, version = sys.argv[1:]
    fields = ["", "", "", "C_STRUCT", version, C_API, platform, "4"]
    footer = SECTION + b"".join(field.encode().ljust(32, b"\0") for field in fields) + bytes(256)
    assert len(footer) == 534
    with open(path, "r+b") as file:
        if SECTION in file.read():
            return  # linked once, built twice
        file.write(footer)


if __name__ == "__main__":
    main()
