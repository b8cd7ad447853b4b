# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks of the kladde oracle: vectors, round trips, and the fixtures if present."""
import glob
import hashlib
import json
import os
import random
import struct
import subprocess
import sys

from checksums import crc32c
from kladde_format import (DATA, PAGE, KladdeError, Statement, VarintError, decode_table,
                           encode_table, pack_page, pack_slot, read_varint, unpack_page, varint)
from kladde_reader import Kladde
from kladde_state import by_id, decode_records, encode_record, resolve
from kladde_writer import Journal, Writer
from make_kladde import Source
from read_kladde import describe

HERE = os.path.dirname(os.path.abspath(__file__))
CONDITIONS = {
    "not a kladde file": "not-a-kladde-file", "unsupported version": "unsupported-version",
    "damaged or unsupported": "unsupported-page-size",
    "damaged: no valid header": "no-valid-header",
    "damaged: malformed transaction": "malformed-transaction",
    "damaged: referenced page fails its check": "page-check",
    "damaged: page newer than its header": "page-newer-than-header",
    "damaged: wrong page kind": "wrong-page-kind", "damaged: not a tree": "not-a-tree",
    "damaged: child reference out of range": "child-out-of-range",
    "damaged: malformed table page": "malformed-table-page",
    "damaged: reference outside the file": "reference-outside-file",
    "damaged: byte without statement": "byte-without-statement"}
RECORDS = (
    (("free", 5), "020105ca348c29"), (("free", 300), "0301" "ac02" "e249bbcc"),
    (("resize", 5, 0), "0302050052bb50cd"),
    (("resize", 1, 4294967295), "070201ffffffff0f91d47db6"),
    (("write", 5, 3, b"abc"), "0703050303616263c0df2bf4"),
    (("write", 5, 1000, b""), "050305e807000d673883"),
    (("splice", 5, 2, 4, b"XYZ"), "0804050204035859" "5a1b93ecb6"),
    (("copy", 5, 1, 6, 9, 200), "070505010609c801a24b1cf7"),
    (("move", 5, 0, 8, 5, 4), "060605000805047edb6206"))
TABLE_A = ("0405" "00" "030000648ba001" "00010014" "000200" "0404" "020700010203" "00032f"
           "df070007018b40")
TABLE_B = ("00" "030000648ba001" "00030014" "0404" "020a00010203" "00052f" "0109004142"
           "010500" "dd070107018b40")


def _s(kind, offset=0, what=0, epoch=0, ident=7):
    if isinstance(what, str):
        return Statement(kind, ident, offset, len(what), payload=what.encode(), epoch=epoch)
    return Statement(kind, ident, offset, what, epoch=epoch)


RESOLUTION = (
    ("overlap", [_s("Inline", 0, "abcdefgh", 1), _s("Inline", 2, "XY", 2)], "abXYefgh"),
    ("zero over data", [_s("Inline", 0, "abcdefgh", 1), _s("Zero", 3, 2, 2)], "abc..fgh"),
    ("shrink then grow", [_s("Inline", 0, "abcdefghij", 3), _s("Shrink", 3, 0, 5),
                          _s("Grow", 8, 0, 8)], "abc....."),
    ("write beyond a shrink", [_s("Inline", 0, "abcdefghij", 3), _s("Shrink", 2, 0, 5),
                               _s("Inline", 6, "QR", 9)], "ab....QR"),
    ("extents under an anchor", [_s("Inline", 0, "abcdefghij", 3), _s("Shrink", 4, 0, 5)],
     "abcd"),
    ("shrink raises size", [_s("Shrink", 6, 0, 10), _s("Inline", 0, "ab", 11)], "ab...."),
    ("tombstone", [_s("Inline", 0, "abcd", 3), _s("Tombstone", epoch=5)], None),
    ("new incarnation", [_s("Inline", 0, "abcdef", 3), _s("Tombstone", epoch=5),
                         _s("Grow", 5, 0, 6), _s("Inline", 1, "Z", 8)], ".Z..."),
    ("sole grow", [_s("Grow", 4, 0, 4)], "...."), ("existing empty", [_s("Grow", 0, 0, 4)], ""),
    ("empty after tombstone", [_s("Inline", 0, "abc", 3), _s("Tombstone", epoch=4),
                               _s("Grow", 0, 0, 5)], ""),
    ("two shrinks", [_s("Inline", 0, "abcdefghij", 2), _s("Shrink", 3, 0, 4),
                     _s("Grow", 9, 0, 6), _s("Inline", 8, "K", 7), _s("Shrink", 7, 0, 8)],
     "abc...."),
    ("grow below the anchor", [_s("Grow", 9, 0, 2), _s("Shrink", 3, 0, 4)], "..."),
    ("shrink and content of one epoch", [_s("Inline", 0, "abcdef", 2), _s("Inline", 1, "XY", 4),
                                         _s("Shrink", 3, 0, 4)], "aXY"))
RESOLUTION_B = (
    ("size", [_s("Inline*", 0, "abcdefghij", 3), _s("Size", 3, 0, 5)], "abc"),
    ("regrown", [_s("Inline*", 0, "abcdefghij", 3), _s("Size", 3, 0, 5),
                 _s("Zero*", 3, 5, 8)], "abc....."),
    ("regrown without cover", [_s("Inline*", 0, "abcdefghij", 3), _s("Size", 3, 0, 5),
                               _s("Size", 8, 0, 8)], "abcdefgh"),
    ("uncovered", [_s("Inline*", 0, "abcdefghij", 3), _s("Size", 12, 0, 8)],
     "byte-without-statement"))


def _text(statements, dialect):
    try:
        found = resolve(statements, dialect)
    except KladdeError as error:
        return error.code
    if found is None:
        return None
    out = ["."] * found[0]
    for start, end, s in found[1]:
        for b in range(start, end):
            if s.payload:
                out[b] = chr(s.payload[b - s.offset])
    return "".join(out)


def _numbers(suite):
    for text, value in ((b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA),
                        (b"\xff" * 32, 0x62A8AB43), (struct.pack("<Q", 7), 0x7671B78E)):
        suite.equal("kladde crc of %d bytes" % len(text), crc32c(text), value)
    for value, text in ((0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (4081, "f11f"),
                        (16384, "808001"), (4294967295, "ffffffff0f"),
                        ((1 << 64) - 1, "ffffffffffffffffff01")):
        raw = bytes.fromhex(text)
        suite.check("kladde varint %d" % value, varint(value) == raw
                    and read_varint(raw, 0) == (value, len(raw)))
    for text, value in (("8000", 0), ("858000", 5), ("80", None), ("", None),
                        ("80808080808080808002", None), ("8080808080808080808001", None)):
        try:
            got = read_varint(bytes.fromhex(text), 0)[0]
        except VarintError:
            got = None
        suite.equal("kladde varint %s" % (text or "of nothing"), got, value)


def _journal(suite):
    seed = crc32c(struct.pack("<Q", 7))
    for record, text in RECORDS:
        raw = encode_record(*record)
        framed = varint(len(raw)) + raw
        framed += struct.pack("<I", crc32c(framed, seed))
        suite.check("kladde %s record" % record[0], framed.hex() == text
                    and decode_records(raw)[0][1] == record[0], framed.hex())
    writer = _Pages()
    for records in ([("resize", 1, 10)],
                    [("write", 1, 2, b"hi"), ("move", 1, 2, 2, 1, 6), ("write", 2, 0, b"two")],
                    [("splice", 2, 1, 1, b"WELVE"), ("free", 9)]):
        writer.append(records)
    suite.equal("kladde three transactions", writer.page()[:49].hex(),
                "0302010ab6f238e8" "130301020268690601020201060302000374776ff93ecead"
                "0c0402010105" "57454c56450109" "a29bd3c1")
    slot = pack_slot(6, b"\0", 2)
    file = slot + bytes(PAGE) + writer.page()
    recovered = Kladde(file).recovered
    suite.equal("kladde replay", {k: v.hex() for k, v in recovered.items()},
                {1: "00000000000068690000", 2: "7457454c56456f"})
    for change, count in ((b"", 3), (b"\1", 1)):
        data = bytearray(file)
        if change:
            data[2 * PAGE + 12] ^= 1
        suite.equal("kladde transactions before damage", len(
            Kladde(bytes(data)).journal.transactions), count)
    other = pack_slot(7, b"\0", 2)
    suite.equal("kladde segment of another epoch", len(Kladde(
        bytes(PAGE) + other + writer.page()).journal.transactions), 0)


class _Pages:
    """Just enough of a file for one journal segment of epoch 7 in page 2."""

    def __init__(self):
        self.pages = [bytearray(PAGE) for _ in range(3)]
        self.journal = Journal(self, 7, 2)

    def grow_to(self, count):
        assert count <= len(self.pages)

    def append(self, records):
        self.journal.append(b"".join(encode_record(*r) for r in records))

    def page(self):
        return bytes(self.pages[2])


def _tables(suite):
    page = pack_page(DATA, 7, b"hello")
    suite.equal("kladde data page", hashlib.sha256(page).hexdigest(),
                "735914a5d54c1fa1a302994848201c58f37b2fba2f77741bb9fe732b35678b4e")
    suite.equal("kladde page round trip", unpack_page(page), (DATA, 7, b"hello"))
    fresh = pack_slot(0, b"\0", 2) + bytes(PAGE)
    suite.equal("kladde new file", hashlib.sha256(fresh).hexdigest(),
                "c5c40aaf53777f2a8fbd8bc43e003d62d08f3ee752dafb97714ccbdac8edaa95")
    for dialect, text in (("a", TABLE_A), ("b", TABLE_B)):
        raw = bytes.fromhex(text)
        children, statements = decode_table(raw, dialect)
        suite.check("kladde table content, dialect %s" % dialect,
                    encode_table(children, statements, dialect) == raw, statements)
    suite.equal("kladde table page", hashlib.sha256(pack_page(
        1, 4, bytes.fromhex(TABLE_A))).hexdigest(),
        "c1addeefbd62eb073121b8b615237d41ca097d802f46b9d627a37d43e1c73a1b")
    for dialect, cases in (("a", RESOLUTION), ("b", RESOLUTION_B)):
        for name, statements, wanted in cases:
            suite.equal("kladde resolution: %s" % name, _text(statements, dialect), wanted)


def conflicts(store):
    """Breaches of the writer's duties: one epoch contradicts itself, or two live
    Refs share a byte."""
    out = []
    for ident, statements in by_id(store.statements).items():
        for epoch in {s.epoch for s in statements}:
            here = [s for s in statements if s.epoch == epoch]
            content = sorted((s for s in here if s.content), key=lambda s: s.offset)
            bounds = [s for s in here if s.kind in ("Shrink", "Grow", "Size")]
            tomb = any(s.kind == "Tombstone" for s in here)
            if any(a.end > b.offset for a, b in zip(content, content[1:])) \
                    or len(bounds) > 1 or tomb and len(here) > 1 \
                    or any(c.end > b.offset for b in bounds for c in content):
                out.append((ident, epoch))
    refs = sorted((p.statement.address + p.start - p.statement.offset, p.end - p.start)
                  for pieces in store.fragments.values() for p in pieces
                  if p.statement.base == "Ref")
    return out + [a for a, b in zip(refs, refs[1:]) if a[0] + a[1] > b[0]]


def _state(allocations):
    return {ident: bytes(data) for ident, data in allocations.items()}


def _writer(suite):
    """After each flush the file reads back, obeys the duties, and survives the loss of
    the header just written."""
    for seed in range(8):
        dialect = "ab"[seed % 2]
        rng = random.Random(seed)
        writer = Writer(rng, dialect, seed % 4 > 1, rng.choice((300, 900, 3000)))
        source, good = Source(rng, rng.choice((4, 30, 90)), rng.choice((100, 5000))), True
        for _ in range(8):
            for _ in range(rng.randrange(12)):
                writer.transact(source.transaction(writer.state))
            writer.flush()
            image, wanted = bytearray(writer.image()), _state(writer.state)
            store = Kladde(bytes(image), dialect)
            good &= _state(store.recovered) == _state(store.flushed) == wanted \
                and not conflicts(store) and not store.warnings
            image[writer.epoch % 2 * PAGE + 20] ^= 0x55
            lost = Kladde(bytes(image), dialect)
            good &= lost.epoch == writer.epoch - 1 and _state(lost.recovered) == wanted
        suite.check("kladde flushes, seed %d" % seed, good)


def _cuts(suite):
    """Every cut of the journal's last page gives the state after a prefix."""
    rng = random.Random(3)
    writer, states = Writer(rng), []
    source = Source(rng, 5, 100)
    for _ in range(12):
        states.append(_state(writer.state))
        writer.transact(source.transaction(writer.state))
    states.append(_state(writer.state))
    image, seen = writer.image(), []
    for cut in range(2 * PAGE, 2 * PAGE + 4088 - writer.journal.room + 1):
        got = _state(Kladde(image[:cut] + bytes(len(image) - cut)).recovered)
        seen.append(max(i for i, s in enumerate(states) if s == got) if got in states else -1)
    suite.check("kladde journal cuts", -1 not in seen and seen == sorted(seen))


def _tools(suite):
    out = suite.folder("kladde")
    for name, extra in (("plain", []), ("b", ["--dialect", "b", "--interior"]),
                        ("torn", ["--torn"]), ("lost", ["--lost-header"]),
                        ("closed", ["--closed"])):
        path = os.path.join(out, name + ".kladde")
        made = subprocess.run([sys.executable, os.path.join(HERE, "make_kladde.py"), "--out",
                               path, "--manifest", path + ".json"] + extra, capture_output=True)
        with open(path + ".json", encoding="ascii") as stream:
            wanted = json.load(stream)
        with open(path, "rb") as stream:
            got = describe(Kladde(stream.read(), "b" if name == "b" else "a"))
        recovered = got["flushed"] if got["recovered"] == "same as flushed" else got["recovered"]
        suite.check("make_kladde %s" % name, made.returncode == 0
                    and got["flushed"] == wanted["flushed"]
                    and recovered == wanted["recovered"], made.stderr)


def _fixtures(suite):
    folder = os.path.join(suite.fixtures, "kladde")
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))
                       + glob.glob(os.path.join(folder, "*", "*.json"))):
        with open(path, encoding="utf-8") as stream:
            wanted = json.load(stream)
        with open(path[:-5] + ".kladde", "rb") as stream:
            data = stream.read()
        name = os.path.relpath(path[:-5], folder)
        try:
            got = describe(Kladde(data, wanted["table_dialect"].lower()))
            differs = [key for key in wanted if key in got and got[key] != wanted[key]]
            suite.check("kladde fixture %s" % name, not differs and wanted["expect"] == "opens",
                        differs)
        except KladdeError as error:
            suite.equal("kladde fixture %s" % name, error.code,
                        CONDITIONS.get(wanted.get("condition")))


def run(suite):
    _numbers(suite)
    _journal(suite)
    _tables(suite)
    _writer(suite)
    _cuts(suite)
    _tools(suite)
    if suite.fixtures:
        _fixtures(suite)
