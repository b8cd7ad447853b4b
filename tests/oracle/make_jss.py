#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write an archive of jss segments with invented events.

  make_jss.py --out DIR --segments 3 --events 6000 --seed 1
  make_jss.py --out DIR --segments 4 --events 1000000 --reuse 24 --noise 140

The events have all seven kinds, accounts that come back, updates and deletes of
earlier records, one account deletion and one sync with its resync rows. The same
options give the same rows; the frames' bytes also depend on the zstd library.

--reuse R makes R distinct blocks and repeats their bodies under new seq and
witnessed_at columns; the deletion and the sync then stand in the last block.
"""
import argparse
import json
import os
import sys
from collections import Counter

from jss_oracle import (KINDS, BlockInfo, Header, HEADER, active_file, body_of, body_tail,
                        make_block, names_of, seal_parts, frame_bytes, segment_name)
from jss_sample import World
from zstd_frame import compress


class Maker:
    """Hands out blocks of rows, made anew or repeated."""

    def __init__(self, args):
        self.args = args
        self.world = World(args.seed, args.accounts, args.words, args.start_seq,
                           rate=args.rate, noise=args.noise)
        self.made, self.templates, self.turn = 0, [], 0
        self.kinds = Counter()
        total = args.events
        if args.reuse:
            self.sync_at, self.gone_at = total - min(9, total), total - min(3, total)
        else:
            self.sync_at, self.gone_at = total * 2 // 5, total * 3 // 5

    def _row(self):
        world, at = self.world, self.made
        self.made += 1
        if not self.args.reuse and self.args.events >= 24 and at in (8, 9, 10, 11):
            return (world.identity, world.account_event, world.update, world.delete)[at - 8]()
        if at == self.gone_at and self.args.events >= 24:
            return world.account_deletion()
        if at == self.sync_at and self.args.events >= 24:
            return world.sync()
        return world.next()

    def block(self, count):
        whole = count == self.args.events_per_block
        last = self.made + count >= self.args.events
        if self.args.reuse and whole and not last and len(self.templates) >= self.args.reuse:
            return self._repeat(count)
        rows = [self._row() for _ in range(count)]
        self.kinds.update(row.kind for row in rows)
        if self.args.reuse and whole and not last:
            first = rows[0].witnessed_at
            self.templates.append((body_tail(rows), [r.witnessed_at - first for r in rows],
                                   {r.did for r in rows if r.did}, names_of(rows),
                                   Counter(r.kind for r in rows)))
        return make_block(rows)

    def _repeat(self, count):
        tail, steps, dids, names, kinds = self.templates[self.turn % len(self.templates)]
        self.turn += 1
        world = self.world
        first, start = world.seq, world.now + 500
        times = [start + step for step in steps]
        world.seq, world.now = first + count, times[-1]
        self.made += count
        self.kinds.update(kinds)
        body = body_of(range(first, first + count), times, tail)
        return BlockInfo(compress(body), len(body), count,
                         (first, first + count - 1, start, times[-1]), dids, names)


def shares(total, parts):
    """`total` in `parts` nearly equal shares."""
    return [total * (i + 1) // parts - total * i // parts for i in range(parts)]


def segment_json(name, blocks, header, size):
    table = {}
    for block in blocks:
        for key, count in block.names.items():
            table[key] = table.get(key, 0) + count
    out = {"name": name, "size": size, "sealed": header is not None, "blocks": len(blocks),
           "events": sum(b.events for b in blocks),
           "min_seq": blocks[0].bounds[0] if blocks else None,
           "max_seq": blocks[-1].bounds[1] if blocks else None,
           "collections": {k.decode(): v for k, v in table.items()}}
    if header is not None:
        out["header"] = Header(*HEADER.unpack_from(header))._asdict()
        out["header"]["magic"] = "jss0"
        out["header"]["checksum"] = "%016x" % out["header"]["checksum"]
    return out


def write_segment(maker, path, events, per_block, sealed):
    blocks, left = [], events
    while left:
        count = min(left, per_block)
        blocks.append(maker.block(count))
        left -= count
    if not sealed:
        with open(path, "xb") as stream:
            stream.write(active_file(blocks))
        return blocks, None
    header, footer = seal_parts(blocks, sum(8 + len(b.frame) for b in blocks))
    with open(path, "xb") as stream:
        stream.write(header)
        for block in blocks:
            stream.write(frame_bytes(block))
        stream.write(footer)
    for block in blocks:
        block.frame = b""
    return blocks, header


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="directory; made if absent")
    parser.add_argument("--segments", type=int, default=3, help="sealed segments (default 3)")
    parser.add_argument("--events", type=int, default=6000,
                        help="events in all, the active tail included (default 6000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events-per-block", type=int, default=512, metavar="N",
                        help="default 512; the archive's own default is 4096")
    parser.add_argument("--active-tail", action="store_true",
                        help="one more, unsealed segment with a tenth of the events")
    parser.add_argument("--manifest", metavar="FILE", help="write what was made as JSON")
    parser.add_argument("--reuse", type=int, default=0, metavar="R",
                        help="repeat R distinct blocks (default 0: all rows are made anew)")
    parser.add_argument("--accounts", type=int, default=0,
                        help="size of the account pool (default: by events)")
    parser.add_argument("--words", type=int, default=14,
                        help="most words a text has (default 14)")
    parser.add_argument("--rate", type=float, default=2.0,
                        help="events a second of witnessed time (default 2)")
    parser.add_argument("--noise", type=int, default=0, metavar="N",
                        help="N bytes that do not compress in each record (default 0)")
    parser.add_argument("--start-seq", type=int, default=1)
    args = parser.parse_args()
    if not 1 <= args.events_per_block <= 1 << 18:
        parser.error("--events-per-block is 1..262144")
    if args.segments < 0 or args.events < 0 or args.segments + args.active_tail == 0:
        parser.error("nothing to write")
    if args.start_seq < 1:
        parser.error("seq starts at 1")
    if args.rate <= 0 or args.words < 1 or args.reuse < 0:
        parser.error("--rate, --words and --reuse are positive")
    args.accounts = args.accounts or max(6, min(args.events // 15, 20000))
    return args


def main():
    args = arguments()
    os.makedirs(args.out, exist_ok=True)
    tail = (args.events // 10 if args.segments else args.events) if args.active_tail else 0
    plan = [(n, True) for n in shares(args.events - tail, args.segments)] if args.segments else []
    if args.active_tail:
        plan.append((tail, False))
    maker, listing = Maker(args), []
    for number, (events, sealed) in enumerate(plan):
        name = segment_name(number)
        path = os.path.join(args.out, name)
        blocks, header = write_segment(maker, path, events, args.events_per_block, sealed)
        listing.append(segment_json(name, blocks, header, os.path.getsize(path)))
    summary = {"segments": listing, "events": maker.made, "seed": args.seed,
               "bytes": sum(s["size"] for s in listing),
               "first_seq": args.start_seq, "last_seq": maker.world.seq - 1,
               "kinds": {KINDS[k]: maker.kinds[k] for k in sorted(maker.kinds)},
               "deleted_did": maker.world.deleted_did, "synced_did": maker.world.synced_did}
    if not args.reuse:
        summary["live_records"] = sum(len(a.records) for a in maker.world.accounts)
    if args.manifest:
        with open(args.manifest, "w", encoding="utf-8") as stream:
            json.dump(summary, stream, indent=1, ensure_ascii=False)
            stream.write("\n")
    print("%d events, %d segments, %d bytes in %s"
          % (maker.made, len(listing), summary["bytes"], args.out))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileExistsError as error:
        print("exists: %s" % error.filename, file=sys.stderr)
        sys.exit(1)
