# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks of the arena oracle: vectors, round trips, and the fixtures if present."""
import json
import os
import subprocess
import sys
import zlib

import hurt
from arena_format import GIB, HEADER, MARKER, Image, Walk, judge, pack_frame, target_length
from arena_state import BODY_KEYS, PayloadError, decode, encode
from arena_store import ArenaError, Store
from read_arena import Reading, fold

HERE = os.path.dirname(os.path.abspath(__file__))
THREE = bytes.fromhex(
    "86a6103605000000050000000000000068656c6c6fe0b89354300200001a000000"
    "01000000ef6172656e61206a6f75726e616c200e00ffff0c50726e616c20"
    "1bd376f20b0000000b000000020000007468697264206672616d65")
IMAGE = THREE + MARKER
HEADERS = (
    ("0000000000000000000000004c444e45", "marker"), ("00" * 16, "zero"),
    ("00000000000000000000000001000000", "both-lengths-zero"),
    ("01000000000000000000000000000000", "both-lengths-zero"),
    ("0100000000000000000000004c444e45", "both-lengths-zero"),
    ("00000000000000000100000000000000", "raw_len"),
    ("00000000010000000000000000000000", "comp_len"),
    ("00000000050000000600000000000000", "comp_len"),
    ("00000000010020030100200300000000", "raw_len"),
    ("00000000000020030000200300000000", "bounds"),
    ("00000000fd0300000400000000000000", "ratio"),
    ("00000000fc0300000400000000000000", "lz4"),
    ("00000000200000002000000000000000", "bounds"),
    ("000000001f0000001f00000000000000", "crc"))
# change of IMAGE + 32 zeros -> frames, log end, reason, proof, next seq
DAMAGE = (
    (["flip 16.0"], (0, 0, "crc", "frame", 21, None)),
    (["flip 21.0"], (1, 21, "crc", "frame", 63, None)),
    (["flip 25.0"], (1, 21, "lz4", "frame", 63, None)),
    (["flip 29.0"], (1, 21, "lz4", "frame", 63, None)),
    (["flip 32.7"], (1, 21, "comp_len", "frame", 63, None)),
    (["flip 33.6"], (3, 90, "marker", None, None, 66)),
    (["flip 38.0"], (1, 21, "crc", "frame", 63, None)),
    (["flip 79.0"], (2, 63, "crc", "marker", 90, None)),
    (["flip 79.0", "zero 90..106"], (2, 63, "crc", None, None, 2)),
    (["flip 90.0"], (3, 90, "both-lengths-zero", None, None, 3)),
    (["flip 102.0"], (3, 90, "both-lengths-zero", None, None, 3)),
    (["zero 21..37"], (1, 21, "zero", None, None, 1)),
    (["set 21 0000000000000000000000004c444e45"], (1, 21, "marker", None, None, 1)))


def _walk(data, length=GIB):
    return Walk(Image(data, length), True)


def _outcome(data):
    walk = _walk(data)
    proof = walk.proof
    return (len(walk.frames), walk.log_end, getattr(walk.end, "reason", walk.end.kind),
            proof and proof.kind, proof and proof.offset, None if proof else walk.next_seq)


def _frames(suite):
    for text, crc in ((b"123456789", 0xCBF43926), (b"hello", 0x3610A686), (b"a", 0xE8B7BE43)):
        suite.equal("arena crc of %s" % text.decode(), zlib.crc32(text), crc)
    suite.equal("arena first frame", pack_frame(b"hello", 0).hex(),
                "86a6103605000000050000000000000068656c6c6f")
    for text, size, block in ((b"a", 1, 1), (b"hello", 5, 5), (b"a" * 12, 12, 12),
                              (b"a" * 16, 16, 10), (b"a" * 100, 100, 11),
                              (b"arena journal " * 40, 560, 26)):
        _, raw, comp, _ = HEADER.unpack(pack_frame(text, 0)[:16])
        suite.equal("arena stored form of %d bytes" % size, (raw, comp), (size, block))
    for text, wanted in HEADERS:
        found = judge(Image(bytes.fromhex(text) + b"x" * 31, 47), 0)
        suite.equal("arena header %s" % text, getattr(found, "reason", found.kind), wanted)
    odd = HEADER.pack(0x3610A686, 5, 5, 0x454E444C) + b"hello"
    suite.equal("arena frame with the marker's seq", judge(Image(odd, GIB), 0).kind, "frame")
    walk = _walk(IMAGE)
    suite.equal("arena three frames", [(f.offset, len(f.payload), f.comp_len, f.seq, f.end)
                                       for f in walk.frames],
                [(0, 5, 5, 0, 21), (21, 560, 26, 1, 63), (63, 11, 11, 2, 90)])
    suite.equal("arena marker end", _outcome(IMAGE), (3, 90, "marker", None, None, 3))
    suite.equal("arena zero end", _outcome(THREE), (3, 90, "zero", None, None, 3))
    short = Walk(Image(THREE, 90), True)
    suite.equal("arena short end", (short.end.kind, short.log_end), ("short", 90))
    cut = pack_frame(b"hello", 0) + pack_frame(b"ends in zeros" + bytes(7), 1)[:29]
    suite.equal("arena frame cut within its zeros", _outcome(cut), (2, 57, "zero", None, None, 2))


def _torn(suite):
    old, new = IMAGE[:63] + MARKER, IMAGE[63:]
    for k in range(44):
        data = old[:63] + new[:k] + (old[63:] + bytes(64))[k:]
        wanted = (2, 63, "marker", None, None, 2) if k == 0 else \
            (2, 63, "both-lengths-zero", None, None, 2) if k <= 4 else \
            (2, 63, "comp_len", None, None, 2) if k <= 8 else \
            (2, 63, "crc", None, None, 2) if k <= 26 else \
            (3, 90, "zero", None, None, 3) if k <= 39 else \
            (3, 90, "both-lengths-zero", None, None, 3) if k <= 42 else \
            (3, 90, "marker", None, None, 3)
        suite.equal("arena append torn after %d" % k, _outcome(data), wanted)
    for change, wanted in DAMAGE:
        suite.equal("arena %s" % ", ".join(change), _outcome(
            hurt.hurt(IMAGE + bytes(32), change)), wanted)
    hidden = _walk(hurt.hurt(IMAGE, ["zero 21..37"]))
    suite.check("arena frames behind an end", hidden.behind() and hidden.behind().offset == 63)
    salvaged = _walk(hurt.hurt(IMAGE, ["flip 38.0"])).salvaged()
    suite.equal("arena salvage", [f.offset for f in salvaged], [0, 63])
    inner = b"AAAA" + MARKER + b"BBBBBBBB"
    nested = HEADER.pack(0x9A6B9349, 28, 28, 2) + inner
    for size, wanted in ((26, (2, 63, "crc", None, None, 2)),
                         (40, (2, 63, "crc", "marker", 83, None))):
        suite.equal("arena nested marker, %d bytes" % size,
                    _outcome(IMAGE[:63] + nested[:size]), wanted)


def _geometry(suite):
    for version, size, final, wanted in (
            (2, 100, True, GIB), (3, 0, True, 67108864), (4, 0, True, 67108864),
            (4, 67108865, True, 134217728), (4, 5, False, GIB), (4, GIB, True, GIB)):
        suite.equal("arena length, version %d, %d bytes" % (version, size),
                    target_length(version, size, final), wanted)


def _payloads(suite):
    one = encode([{"Vector": {"id": "v1", "vector": {"dim": 4096, "indices": [3, 77, 1024]}}}])
    suite.equal("arena transaction", (len(one), zlib.crc32(one)), (78, 0xC7477F0A))
    suite.equal("arena delete", zlib.crc32(encode([{"Delete": {"id": "v1"}}])), 0x3F5A167D)
    for bad in (b"", b"HMS-TXN-2\0", b"HMS-TXN-3\0\1", b"HMS-TXN-2\0[]", b"HMS-TXN-2\0[{}]",
                b"HMS-TXN-2\0[{\"Nope\":{}}]", b"HMS-TXN-2\0[{\"Delete\":{}}]",
                b"HMS-TXN-2\0[{\"Delete\":{\"id\":\"a\"}}] x", b"HMS-TXN-2\0[NaN]"):
        try:
            decode(bad)
            good = False
        except PayloadError:
            good = True
        suite.check("arena refuses payload %r" % bad[:24], good)


def _make(path, *extra):
    made = subprocess.run([sys.executable, os.path.join(HERE, "make_arena.py"), "--out", path]
                          + list(extra), capture_output=True)
    return json.loads(made.stdout) if made.returncode == 0 else {"error": made.stderr}


def _tools(suite):
    out = suite.folder("arena")
    for name, extra in (("f1", ["--format", "1", "--end", "zero"]), ("f2", ["--format", "2"]),
                        ("f3", ["--format", "3", "--roll-after", "7", "--sparse"]),
                        ("f4", ["--format", "4", "--generation", "--sparse"]),
                        ("alone", ["--arena-only"])):
        path = os.path.join(out, name)
        facts = _make(path, *extra)
        reading = Reading(path)
        state, error = fold(reading) if reading.store else (None, "no store")
        seen = {key for _, f in reading.frames() for m in decode(f.payload) for key in m}
        suite.check("make_arena %s" % name, reading.code == 0 and not error
                    and sum(1 for _ in reading.frames()) == facts.get("frames")
                    and len(reading.walks) == facts["segments"] and seen == set(BODY_KEYS)
                    and any(True for _ in state.lines()), (facts, reading.problems, error))
    path = os.path.join(out, "txn3")
    _make(path, "--txn3")
    suite.check("make_arena with opaque payloads", Reading(path).code == 0
                and fold(Reading(path))[1])
    for name, content in (("newline", "gen-1-2\n"), ("dots", "gen-../x"), ("old", "old-1-2"),
                          ("empty", ""), ("absent", "gen-1-3")):
        arena = suite.folder("arena/pointer-" + name)
        os.makedirs(os.path.join(arena, "gen-1-2"))
        with open(os.path.join(arena, "CURRENT"), "w", encoding="ascii") as stream:
            stream.write(content)
        try:
            code = "accepted %s" % Store(arena).generation
        except ArenaError as error:
            code = error.code
        suite.equal("arena pointer %s" % name, code, "bad-pointer")


def _fixtures(suite):
    folder = os.path.join(suite.fixtures, "arena")
    for name, frames, log_end, code, proof, next_seq in (
            ("a-plain-zero-end", 5, 394, 0, None, 5), ("b-txn2-format2", 8, 6678, 0, None, 8),
            ("c-stale-after-overwrite", 2, 44, 2, ["frame", 63], 2),
            ("d-stale-resurrected", 3, 90, 0, None, 3),
            ("e-marker-then-old-append", 4, 132, 0, None, 4)):
        got = Reading(os.path.join(folder, name)).summary()
        last = got["segments"][0]
        suite.equal("arena fixture %s" % name, (got["frames"], last["log_end"], got["exit"],
                                                last["proof"], got["next_seq"]),
                    (frames, log_end, code, proof, next_seq))
    state, _ = fold(Reading(os.path.join(folder, "b-txn2-format2")))
    suite.equal("arena fixture b, state",
                (sorted(state.vectors), sorted(state.atoms), sorted(state.composites),
                 sorted(state.documents), sorted(state.relations), sorted(state.relation_types),
                 [t["composite_id"] for t in state.triples], [r["name"] for r in state.rules]),
                (["t1", "v2"], ["capital_of", "france", "paris", "v2"], ["t1"], [], [],
                 ["knows"], ["t1"], ["grandparent"]))


def run(suite):
    _frames(suite)
    _torn(suite)
    _geometry(suite)
    _payloads(suite)
    _tools(suite)
    if suite.fixtures:
        _fixtures(suite)
