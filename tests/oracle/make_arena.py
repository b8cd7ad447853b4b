#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write a small arena store with invented transactions.

  make_arena.py --out DIR --format 4 --frames 40 --seed 1
  make_arena.py --out DIR --format 3 --fill 9 --frames 20      a genuine rollover
  make_arena.py --out DIR --format 2 --roll-after 10 --generation --end zero

--roll-after N begins a new segment every N frames (the readers' rules allow an early
end). --fill N writes opaque frames until exactly N bytes of the first segment are
free, so that the next transaction rolls over or just fits (they are no transactions:
a fold of the state refuses such a store). Files are trimmed behind their last
non-zero byte; --sparse gives them their legal length.
"""
import argparse
import json
import os
import random
import sys

from arena_format import HEADER, MARKER, MAX_PAYLOAD, SEGMENT_SIZE, STEP, pack_frame, target_length
from arena_sample import World
from arena_state import MAGIC_3
from arena_store import ARENA

SCHEMA = {"version": 2, "dimensions": 4096, "text_encoder": "multiscale-words-v1",
          "vector_encoder": "signed-projection-v2", "metric": "jaccard", "encrypted": False,
          "meaning_enabled": True, "embedding_space": None}


class Journal:
    def __init__(self, version, roll_after, markers):
        self.version, self.size = version, SEGMENT_SIZE[version]
        self.roll_after, self.markers = roll_after, markers
        self.segments, self.seq = [bytearray()], 0
        self.in_segment = 0

    def append(self, payload):
        frame = pack_frame(payload, self.seq)
        self.seq += 1
        if len(self.segments[-1]) + len(frame) > self.size or \
                self.roll_after and self.in_segment >= self.roll_after:
            self.segments.append(bytearray())
            self.in_segment = 0
        self.segments[-1] += frame
        self.in_segment += 1

    def fill(self, free, rng):
        """Opaque frames until exactly `free` bytes are left in this segment."""
        while True:
            room = self.size - len(self.segments[-1]) - free
            if room <= 0:
                return
            take = min(room, 16 + MAX_PAYLOAD)
            if 0 < room - take < 17:
                take -= 64
            if take < 40:
                raise ValueError("no room for a filler that does not compress")
            self.append(rng.randbytes(take - 16))

    def images(self):
        for segment in self.segments:
            ended = bytes(segment)
            if self.markers and len(ended) + 16 <= self.size:
                ended += MARKER
            yield ended


def write_file(path, data, text=False):
    with open(path, "x" if text else "xb") as stream:
        stream.write(data)


def write_segments(folder, journal, sparse):
    for number, data in enumerate(journal.images()):
        path = os.path.join(folder, "seg_%d.bin" % number)
        final = number + 1 == len(journal.segments)
        with open(path, "xb") as stream:
            stream.write(data if sparse else data.rstrip(b"\0"))
            if sparse:
                stream.truncate(target_length(journal.version, len(data), final))


def manifest(version):
    return json.dumps({"magic": "HMS_ARENA", "version": version,
                       "segment_size": SEGMENT_SIZE[version]}, indent=2)


def garbage(arena, version, rng):
    """What an interrupted compaction and a removed generation leave behind."""
    orphan = os.path.join(arena, "gen-77-1600000000000000000")
    os.mkdir(orphan)
    write_file(os.path.join(orphan, "format.json"), manifest(version), True)
    write_file(os.path.join(orphan, "seg_0.bin"), pack_frame(rng.randbytes(50), 0)[:40])
    write_file(os.path.join(arena, "seg_0.bin"), pack_frame(b"an old generation", 0))


def payloads(args, rng):
    world = World(args.seed)
    for number in range(args.frames):
        if args.encrypted:
            yield rng.randbytes(12) + rng.randbytes(rng.randrange(20, 200)) + rng.randbytes(16)
        elif args.txn3 and number % 5 == 4:
            yield MAGIC_3 + rng.randbytes(rng.randrange(1, 120))
        else:
            yield world.transaction()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="store directory; must not exist")
    parser.add_argument("--format", type=int, choices=(1, 2, 3, 4), default=4,
                        help="1 has no format.json")
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--end", choices=("marker", "zero"), default="marker")
    parser.add_argument("--sparse", action="store_true", help="legal file lengths")
    parser.add_argument("--roll-after", type=int, default=0, metavar="N")
    parser.add_argument("--fill", type=int, default=-1, metavar="N")
    parser.add_argument("--generation", action="store_true",
                        help="live data in gen-*, named by CURRENT, with old leftovers")
    parser.add_argument("--arena-only", action="store_true", help="no store.json around it")
    parser.add_argument("--txn3", action="store_true",
                        help="every fifth payload is an opaque HMS-TXN-3")
    parser.add_argument("--encrypted", action="store_true",
                        help="payloads look like encrypted ones (they are random)")
    return parser.parse_args()


def main():
    args = arguments()
    rng = random.Random(args.seed * 7919 + 1)
    journal = Journal(args.format, args.roll_after, args.end == "marker")
    if args.fill >= 0:
        journal.fill(args.fill, rng)
    for payload in payloads(args, rng):
        journal.append(payload)
    os.makedirs(args.out)
    arena = args.out if args.arena_only else os.path.join(args.out, ARENA)
    if not args.arena_only:
        os.mkdir(arena)
        schema = dict(SCHEMA, encrypted=args.encrypted, version=3 if args.txn3 else 2)
        write_file(os.path.join(args.out, "store.json"), json.dumps(schema, indent=2), True)
        write_file(os.path.join(args.out, ".hms.lock"), "pid=1\n", True)
    live = arena
    if args.format > 1:
        write_file(os.path.join(arena, "format.json"), manifest(args.format), True)
    if args.generation:
        name = "gen-4711-1790000000000000000"
        live = os.path.join(arena, name)
        os.mkdir(live)
        if args.format > 1:
            write_file(os.path.join(live, "format.json"), manifest(args.format), True)
        garbage(arena, args.format, rng)
        write_file(os.path.join(arena, "CURRENT"), name, True)
    write_segments(live, journal, args.sparse)
    print(json.dumps({"frames": journal.seq, "segments": len(journal.segments),
                      "bytes": [len(s) for s in journal.segments]}))
    return 0


assert HEADER.size == 16 and STEP % 16 == 0

if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileExistsError as error:
        print("exists: %s" % error.filename, file=sys.stderr)
        sys.exit(1)
