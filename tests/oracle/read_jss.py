#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Read jss segments strictly and print their rows.

  read_jss.py seg_0000000000.jss
  read_jss.py ARCHIVE_DIR --sums

Rows go to stdout as JSON Lines (keys sorted), violations to stderr. Active files
are walked up to the end of their whole frames.

Exit codes: 0 clean, 1 a rule is broken, 2 only an unfinished tail of an active
file (torn, zero or an orphaned footer).
"""
import argparse
import hashlib
import json
import os
import sys

import dagcbor
from jss_check import JssError, Sealed, Walk, deep_verify
from jss_oracle import HEADER_BYTES, KINDS, segment_name, segment_number


def row_json(row, block, index):
    """The row in the form of the `*.events.jsonl` files."""
    out = {"block": block, "row": index, "seq": row.seq, "witnessed_at": row.witnessed_at,
           "indexed_at": row.indexed_at, "kind": row.kind, "kind_name": KINDS[row.kind],
           "payload_len": len(row.payload)}
    for name in ("did", "collection", "rkey", "rev"):
        raw = getattr(row, name)
        try:
            out[name] = raw.decode("utf-8")
        except UnicodeDecodeError:
            out[name] = {"$bytes": dagcbor.b64(raw)}
    if row.payload:
        try:
            value = dagcbor.decode(row.payload)
        except dagcbor.CborError:
            value = None
        else:
            if not dagcbor.faithful(value, row.payload):
                value = None
        if value is None and row.payload != b"\xf6":
            out["payload_hex"] = row.payload.hex()
        else:
            out["payload_sha256"] = hashlib.sha256(row.payload).hexdigest()
            out["value"] = dagcbor.to_json(value)
            if row.kind in (1, 2, 7):
                out["cid"] = dagcbor.cid_text(dagcbor.cid_of(row.payload))
    return out


def dump(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Result:
    """Rows per block, errors, warnings, tail of one file."""

    def __init__(self, data, checksum_first=True):
        self.blocks, self.errors, self.warnings, self.tail = [], [], [], None
        self.sealed = len(data) < HEADER_BYTES or any(data[4:12]) or data[:4] != b"jss0"
        self.header = None
        try:
            if self.sealed:
                segment = Sealed(data, checksum_first)
                self.header = segment.header
                self.blocks, self.errors, self.warnings = deep_verify(segment)
            else:
                walk = Walk(data)
                self.blocks, self.tail, self.warnings = walk.blocks, walk.tail, walk.warnings
                self.good_end = walk.good_end
                if walk.error:
                    self.errors.append(walk.error)
        except JssError as error:
            self.errors.append(error)

    def rows(self):
        for number, block in enumerate(self.blocks):
            for index, row in enumerate(block or ()):
                yield number, index, row


def archive_files(path):
    if not os.path.isdir(path):
        return [path]
    names = sorted(n for n in os.listdir(path) if segment_number(n) is not None)
    return [os.path.join(path, name) for name in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="+", help="segment file, or directory of segments")
    parser.add_argument("--sums", action="store_true", help="one line a segment, no rows")
    parser.add_argument("--strict", action="store_true",
                        help="count the stricter checks of section 11 as violations")
    parser.add_argument("--segment-key", action="store_true", help="add `segment` to each row")
    args = parser.parse_args()
    code, last_seq = 0, None
    for path in args.path:
        files = archive_files(path)
        for position, file in enumerate(files):
            with open(file, "rb") as stream:
                result = Result(stream.read())
            name = os.path.basename(file)
            if os.path.isdir(path):
                last_seq = order(result, last_seq, not result.sealed
                                 and position + 1 < len(files))
            for number, index, row in () if args.sums else result.rows():
                line = row_json(row, number, index)
                if args.segment_key:
                    line["segment"] = name
                print(dump(line))
            if args.sums:
                rows = [row for _, _, row in result.rows()]
                print(dump({"name": name, "sealed": result.sealed, "rows": len(rows),
                            "blocks": len(result.blocks), "tail": result.tail,
                            "first_seq": rows[0].seq if rows else None,
                            "last_seq": rows[-1].seq if rows else None}))
            code = max_code(code, report(name, result, args.strict))
    return code


def order(result, last_seq, misplaced):
    """Seq ascends from segment to segment; only the last may be active."""
    if misplaced:
        result.errors.append(JssError("CorruptSegment", "active, but not the last segment"))
    seqs = [row.seq for _, _, row in result.rows()]
    if not seqs:
        return last_seq
    if last_seq is not None and seqs[0] <= last_seq:
        result.errors.append(JssError("Order", "seq %d after %d" % (seqs[0], last_seq)))
    return max(seqs)


def max_code(a, b):
    return 1 if 1 in (a, b) else max(a, b)


def report(name, result, strict):
    for error in result.errors:
        print("%s: %s" % (name, error), file=sys.stderr)
    for warning in result.warnings:
        print("%s: %s" % (name, warning), file=sys.stderr)
    if result.tail and not result.errors:
        print("%s: %s at %d" % (name, result.tail, result.good_end), file=sys.stderr)
    if result.errors or strict and result.warnings:
        return 1
    return 2 if result.tail else 0


assert segment_number(segment_name(82)) == 82

if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
