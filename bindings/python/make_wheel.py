#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packs the built Python package as a wheel, the same bytes from the same files. Run by the
interpreter that the module was built for."""
import argparse
import base64
import hashlib
import os
import pathlib
import sys
import sysconfig
import time
import zipfile

METADATA = """Metadata-Version: 2.1
Name: varve
Version: {version}
Summary: Append-only stores: verify, read, recover and write four on-disk formats
License: MIT OR Apache-2.0
Requires-Python: >=3.9
Description-Content-Type: text/markdown

Python for Varve. `help(varve)` begins; the guide is docs/guide/python.md in the source.
"""
WHEEL = """Wheel-Version: 1.0
Generator: varve
Root-Is-Purelib: false
Tag: {tag}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("version", "package", "licenses", "out"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tag = f"{python}-{python}-{platform}"
    info = f"varve-{options.version}.dist-info"

    files = {}
    for path in sorted(pathlib.Path(options.package).iterdir()):
        if path.suffix in {".py", ".pyi", ".so", ".typed"}:
            files[f"varve/{path.name}"] = path.read_bytes()
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        files[f"{info}/{name}"] = pathlib.Path(options.licenses, name).read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=options.version).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

    epoch = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)  # zip begins in 1980
    out = pathlib.Path(options.out)
    out.mkdir(exist_ok=True)
    for old in out.glob("varve-*.whl"):
        old.unlink()
    wheel = pathlib.Path(out, f"varve-{options.version}-{tag}.whl")
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(entry, content)
    print(wheel)


if __name__ == "__main__":
    main()
