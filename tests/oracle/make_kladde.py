#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write a small valid kladde file from random records and flushes.

  make_kladde.py --out FILE --flushes 6 --transactions 30 --seed 1
  make_kladde.py --out FILE --dialect b --manifest FILE.json
  make_kladde.py --out FILE --lost-header          the last flush lost its header
  make_kladde.py --out FILE --closed               no journal, spare pages cut off

The manifest has the allocations before (`flushed`) and after (`recovered`) replay of
the journal, from the writer's own model.
"""
import argparse
import json
import random
import sys

from kladde_state import encode_record
from kladde_writer import Writer
from read_kladde import allocations


class Source:
    """Draws transactions of records; sizes stay small enough for a small file."""

    def __init__(self, rng, ids, big):
        self.random, self.ids, self.big = rng, ids, big

    def bytes(self):
        r = self.random
        size = r.choice((0, 1, 5, 30, 90, 200, 900, r.randrange(1, self.big + 1)))
        kind = r.random()
        if kind < 0.15:
            return bytes(size)
        if kind < 0.4:
            return (b"kladde " * (size // 7 + 1))[:size]
        return r.randbytes(size)

    def record(self, state):
        r = self.random
        ident, other = r.randrange(1, self.ids + 1), r.randrange(1, self.ids + 1)
        if r.random() < 0.05:
            ident = 5_000_000_000 % (1 << 32) - r.randrange(3)
        size = len(state.get(ident, b""))
        place = r.choice((0, size, r.randrange(size + 1), min(size + 7, self.big)))
        op = r.choices(("write", "resize", "splice", "copy", "move", "free"),
                       (10, 4, 4, 2, 2, 2))[0]
        if op == "write":
            return encode_record("write", ident, place, self.bytes())
        if op == "resize":
            return encode_record("resize", ident, r.choice((0, size // 2, size + 100,
                                                            r.randrange(self.big))))
        if op == "splice":
            return encode_record("splice", ident, place, r.choice((0, 3, 50)), self.bytes()[:300])
        if op == "free":
            return encode_record("free", ident)
        length = r.choice((0, 4, 60, 700))
        return encode_record(op, ident, r.choice((0, place)), length, other,
                             r.choice((0, 5, 2 * length)))

    def transaction(self, state):
        count = self.random.choice((1, 1, 1, 2, 4, 0))
        return [self.record(state) for _ in range(count)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flushes", type=int, default=5)
    parser.add_argument("--transactions", type=int, default=12, help="per flush (default 12)")
    parser.add_argument("--journal", type=int, default=8, metavar="N",
                        help="transactions left unfolded (default 8)")
    parser.add_argument("--ids", type=int, default=25)
    parser.add_argument("--big", type=int, default=6000, help="largest write (default 6000)")
    parser.add_argument("--dialect", choices=("a", "b"), default="a")
    parser.add_argument("--interior", action="store_true", help="a layer of interior pages")
    parser.add_argument("--torn", action="store_true",
                        help="one more transaction whose end is missing")
    parser.add_argument("--lost-header", action="store_true")
    parser.add_argument("--closed", action="store_true")
    parser.add_argument("--manifest", metavar="FILE")
    return parser.parse_args()


def build(args):
    rng = random.Random(args.seed)
    writer = Writer(rng, args.dialect, args.interior)
    source = Source(rng, args.ids, args.big)
    for _ in range(args.flushes):
        for _ in range(args.transactions):
            writer.transact(source.transaction(writer.state))
        if writer.state and rng.random() < 0.5:
            writer.fields = {"root": min(writer.state), "fingerprint": rng.randbytes(16)}
        writer.flush()
    if not args.closed:
        for _ in range(args.journal):
            writer.transact(source.transaction(writer.state))
    if args.torn:
        record = encode_record("write", 1, 0, b"never finished" * 9)
        writer.transact([record], cut=len(record) - 5)
    if args.lost_header:
        writer.flush(lose_header=True)
    if args.closed:
        writer.close()
    return writer


def main():
    args = arguments()
    if args.torn and args.closed:
        print("--torn and --closed exclude each other", file=sys.stderr)
        return 64
    writer = build(args)
    image = writer.image()
    with open(args.out, "xb") as stream:
        stream.write(image)
    if args.manifest:
        value = {"bytes": len(image), "table_dialect": args.dialect.upper(),
                 "epoch": writer.epoch, "flushed": allocations(writer.committed),
                 "recovered": allocations(writer.state)}
        with open(args.manifest, "w", encoding="ascii") as stream:
            json.dump(value, stream, indent=1)
            stream.write("\n")
    print(json.dumps({"bytes": len(image), "epoch": writer.epoch,
                      "allocations": len(writer.state), "leaves": len(writer.leaves)}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileExistsError as error:
        print("exists: %s" % error.filename, file=sys.stderr)
        sys.exit(1)
