#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Read jss segments strictly and print their rows.

  read_jss.py seg_0000000000.jss
  read_jss.py ARCHIVE_DIR --sums
  read_jss.py ARCHIVE_DIR --cat       rows as the contract's log lines
  read_jss.py ARCHIVE_DIR --state     live records as the contract's state lines

Rows go to stdout as JSON Lines (keys sorted), violations to stderr. Active files
are walked up to the end of their whole frames.

Exit codes: 0 clean, 1 a rule is broken, 2 only an unfinished tail of an active
file (torn, zero or an orphaned footer).
"""
import argparse
import os
import sys

from jss_check import JssError, Sealed
from jss_lines import Fold, compact, dump, fixture_line, log_line
from jss_oracle import HEADER_BYTES, segment_name, segment_number
from jss_verify import Walk, deep_verify


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
    parser.add_argument("--cat", action="store_true")
    parser.add_argument("--state", action="store_true")
    args = parser.parse_args()
    code, last_seq, fold = 0, None, Fold()
    for path in args.path:
        files = archive_files(path)
        for position, file in enumerate(files):
            with open(file, "rb") as stream:
                result = Result(stream.read())
            name = os.path.basename(file)
            if os.path.isdir(path):
                last_seq = order(result, last_seq, not result.sealed
                                 and position + 1 < len(files))
            if args.sums:
                print(dump(sums(name, result)))
            for number, index, row in () if args.sums else result.rows():
                if args.state:
                    fold.add(row)
                else:
                    print(compact(log_line(row, name, number, index)) if args.cat
                          else dump(fixture_line(row, number, index)))
            code = max_code(code, report(name, result, args.strict))
    for line in fold.lines():
        print(compact(line))
    return code


def sums(name, result):
    rows = [row for _, _, row in result.rows()]
    return {"name": name, "sealed": result.sealed, "rows": len(rows),
            "blocks": len(result.blocks), "tail": result.tail,
            "first_seq": rows[0].seq if rows else None,
            "last_seq": rows[-1].seq if rows else None}


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
