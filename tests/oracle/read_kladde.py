#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Read a kladde file strictly, journal replayed in memory.

  read_kladde.py FILE                   one JSON document: header, pages, journal, allocations
  read_kladde.py FILE --log             the journal's records as JSON Lines
  read_kladde.py FILE --state           the recovered allocations as JSON Lines
  read_kladde.py FILE --dialect b       the other revision of the address table

Exit codes: 0 opens, 2 refused (class on stderr), 3 unsupported or too large here.
"""
import argparse
import hashlib
import json
import sys

import dagcbor
from kladde_format import KladdeError
from kladde_reader import Kladde
from kladde_state import TooBig

UNSUPPORTED = ("unsupported-version", "unsupported-page-size")


def allocations(state):
    out = {}
    for ident in sorted(state):
        data = bytes(state[ident])
        out[str(ident)] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if len(data) <= 64:
            out[str(ident)]["hex"] = data.hex()
    return out


def counts(names):
    out = {}
    for name in names:
        out[name] = out.get(name, 0) + 1
    return out


def describe(store):
    """The file in the words of the fixtures' manifests."""
    h, journal = store.header, store.journal
    out = {"bytes": len(store.data), "pages": store.pages,
           "table_dialect": store.dialect.upper(), "expect": "opens",
           "header": {"governing_slot": store.slot.number, "epoch": store.epoch,
                      "format_version": h.format_version,
                      "min_reader_version": h.min_reader_version,
                      "root_allocation": h.root_allocation, "schema_table": h.schema_table,
                      "consolidator_state": h.consolidator_state,
                      "root_fingerprint": h.root_fingerprint.hex(),
                      "journal_pointer": h.journal_pointer},
           "table_pages": store.table_pages,
           "child_refs": {str(page): refs for page, refs in store.child_refs.items()},
           "data_pages": store.data_pages, "statements": counts(s.kind for s in store.statements),
           "journal": {"segment_epoch": store.epoch + 1, "pages_of_valid_prefix": journal.pages,
                       "complete_transactions": len(journal.transactions),
                       "records_per_transaction": [len(t.records)
                                                   for t in journal.transactions],
                       "records": counts(op for t in journal.transactions
                                         for _, op, _ in t.records),
                       "walk_ends_because": journal.ended},
           "tail_proven": journal.proven,
           "flushed": allocations(store.flushed)}
    recovered = allocations(store.recovered)
    out["recovered"] = "same as flushed" if recovered == out["flushed"] else recovered
    return out


def log_lines(store):
    for number, transaction in enumerate(store.journal.transactions):
        for index, (_, op, fields) in enumerate(transaction.records):
            line = {"txn": number, "index": index, "op": op}
            line.update(fields)
            if "bytes" in line:
                line["bytes"] = {"$bytes": dagcbor.b64(line["bytes"])}
            page, offset = transaction.where[index]
            line["at"] = {"page": page, "offset": offset}
            yield line


def state_lines(store, digest):
    for ident in sorted(store.recovered):
        data = bytes(store.recovered[ident])
        line = {"id": ident, "size": len(data)}
        if digest:
            line["sha256"] = hashlib.sha256(data).hexdigest()
        else:
            line["bytes"] = {"$bytes": dagcbor.b64(data)}
        yield line


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--dialect", choices=("a", "b"), default="a")
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--state", action="store_true")
    parser.add_argument("--sha256", action="store_true", help="digests instead of bytes")
    args = parser.parse_args()
    with open(args.path, "rb") as stream:
        data = stream.read()
    try:
        store = Kladde(data, args.dialect)
    except KladdeError as error:
        print("refused: %s" % error, file=sys.stderr)
        if not args.log and not args.state:
            print(json.dumps({"expect": "refused", "code": error.code,
                              "description": error.text, "page": error.page}))
        return 3 if error.code in UNSUPPORTED else 2
    except TooBig as error:
        print("limit: %s" % error, file=sys.stderr)
        return 3
    for warning in store.warnings:
        print("warning: %s" % warning, file=sys.stderr)
    if args.log or args.state:
        for line in log_lines(store) if args.log else state_lines(store, args.sha256):
            print(json.dumps(line, separators=(",", ":")))
    else:
        print(json.dumps(describe(store), indent=1))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
