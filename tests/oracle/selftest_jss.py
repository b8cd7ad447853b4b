# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks of the jss oracle: vectors, round trips, and the fixtures if present."""
import csv
import glob
import hashlib
import json
import os
import subprocess
import sys

import dagcbor
import gloom
import hurt
import jss_oracle
import zstd_frame
from checksums import crc32c
from jss_check import Sealed
from jss_lines import Fold, dump, fixture_line
from jss_sample import World
from jss_verify import Walk, deep_verify
from read_jss import Result

HERE = os.path.dirname(os.path.abspath(__file__))

# blocks, k, member keys, count, SHA-256 of the blob (edge keys included)
GOLDEN = (
    (1, 7, 300, 316, "7f20618e7a3e127d866d8b977ec1dbf8dda353241eb266442246c7e090576db3"),
    (3, 3, 600, 616, "b6c91efe97f97caa03d2aebee3c9adb24a1e0c67d5ba5e4ebed0830ba66b4664"),
    (3, 4, 450, 466, "f82f65b54eadcb517af9667b5f4ce623b5675e9fa9c75cef0724811410b01ab6"),
    (3, 5, 360, 376, "4cd34f31582c81281a1d6089dbad9ea336c260ce6b76d7345240a7cbc33c7fbe"),
    (3, 6, 300, 316, "c45370a839d89ab8c51a680e69b89f3a42bbc78e52e12b2f496bf0e1ab30ecc8"),
    (3, 7, 257, 273, "ac78d12ffad066308f76c84b3cb62854dff47777ce89acee32e47ace16a46285"),
    (3, 8, 225, 241, "2e8d1e52455e6594974963e9184a8a4959aaab779fd57aef6189c5f8ed72ef9c"),
    (3, 9, 200, 216, "21f3e37342749004225c8da9ce316b67d33add3990f7ec14f40eb8726695f876"),
    (3, 10, 180, 196, "7c17dea347c8ca01665ad42f173a0d723fe9ac47604ee583a00d0e3809b90dc4"),
    (3, 11, 163, 179, "3dda49aade9f1ad74ecf25854f5980b6ae2285df9d10a1742a1427a0a928eda2"),
    (3, 12, 150, 166, "b12eea802b766affa4122a45f18e369c5cc544ba107076a611d0f93f2705e6a3"),
    (3, 13, 138, 154, "43b935ff589557d141e40ca144326b8a465175b5406c6393674cd945b074e906"),
    (3, 14, 128, 144, "e1eb3bd8334ffd06ee01f750731fab2622af21fdb4b10edce0e13450276fa6d9"),
    (3, 15, 120, 136, "6183536b5be40f307e9783ec566ea84c2e3e5cfed23cf77548b3e5849303ce15"),
    (3, 16, 112, 128, "1b07c85cc4cdce3175f242c3a63a24401a967e9cdf9e3285eee0dc03744d7c38"),
    (3, 17, 105, 121, "a2fc71f8cf9eccc5a2c7f962db73d2374df7b6166964f21eb8e428bb5446be59"),
    (212, 7, 10000, 10016, "e7bcfb681cb8943f87dd08303439a3ea99a78d57fd4236b950af7dc4129040b5"),
    (1009, 10, 50000, 50016, "86b031495e3280022e5a5e501848be3c8952217e3568a2abb9cfa3dea65acfc9"),
)
EDGE = (b"", b"\0", b"\xff", b"a", b"ab", b"abc", b"abcd", bytes(8), b"\xff" * 9,
        b"0123456789abcdef", b"0123456789abcdefg", b"x" * 128, b"y" * 129, b"z" * 240,
        b"w" * 241, "hello, 世界".encode())
PARAMETERS = ((0, 1, 15), (1, 1, 15), (10, 1, 15), (11, 1, 13), (15, 1, 13), (16, 1, 11),
              (27, 1, 11), (28, 1, 9), (32, 1, 9), (33, 2, 11), (64, 2, 9), (100, 4, 11),
              (270, 10, 11), (271, 10, 9), (284, 10, 9), (285, 9, 9), (512, 17, 9),
              (1000, 33, 9), (2048, 66, 9), (4096, 131, 9), (10000, 317, 9),
              (100000, 3161, 9), (200000, 6320, 9), (1000000, 31593, 9))


def _key(prefix, i):
    return b"%s-%d:" % (prefix, i) + bytes(j % 256 for j in range(7 * i % 1031))


def _golden(blocks, k, members):
    bloom = gloom.Bloom(blocks, k)
    for key in EDGE:
        bloom.insert(key)
    for i in range(members):
        bloom.insert(_key(b"member", i))
    return bloom


def _blooms(suite):
    suite.equal("jss crc32c", crc32c(b"123456789"), 0xE3069283)
    empty = gloom.Bloom(1, 7).marshal()
    suite.equal("jss bloom, no key", hashlib.sha256(empty).hexdigest(),
                "49f479c6d76ec695ccdaec9383a1dc532d9246f3cbda3daa0bb1b4a86c1b3f74")
    for blocks, k, members, count, digest in GOLDEN:
        bloom = _golden(blocks, k, members)
        blob = bloom.marshal()
        suite.check("jss golden bloom, %d blocks, k %d" % (blocks, k), bloom.count == count
                    and hashlib.sha256(blob).hexdigest() == digest
                    and gloom.Bloom.unmarshal(blob).marshal() == blob)
    bloom, hits = _golden(3, 10, 180), bytearray(30)
    for i in range(240):
        if bloom.test(_key(b"probe", i)):
            hits[i // 8] |= 1 << (i % 8)
    suite.equal("jss bloom false positives", hits.hex(),
                "000100002820000020000008000000000000000800000000000008802000")
    suite.equal("jss bloom positions", gloom.positions(b"did:web:example.net", 131, 9),
                (74, [17, 54, 103, 144, 208, 275, 369, 430, 464]))
    for n, blocks, k in PARAMETERS:
        suite.equal("jss bloom parameters for %d" % n, gloom.parameters(n), (blocks, k))
    suite.equal("jss bloom parameters at 0.01", gloom.parameters(10000, 0.01), (212, 7))


def _cbor(suite):
    value = {"text": "näïve", "n": [0, 23, 24, 255, 256, 65536, 1 << 32, -1, -25, -1 << 40],
             "$type": "a.b.c", "raw": b"\0\xff", "none": None, "yes": True, "no": False,
             "link": dagcbor.Link(dagcbor.cid_of(b"x")), "deep": {"bb": {}, "a": []}}
    raw = dagcbor.encode(value)
    suite.equal("dag-cbor round trip", dagcbor.decode(raw), value)
    suite.check("dag-cbor JSON round trip", dagcbor.faithful(value, raw))
    suite.check("dag-cbor a record that imitates bytes",
                not dagcbor.faithful({"$bytes": "AA"}, dagcbor.encode({"$bytes": "AA"})))
    for text in ("1800", "190017", "5f40ff", "f93c00", "fb3ff0000000000000", "c100", "f7",
                 "a2616200616100", "a2616100616100", "a10000", "d82a4101", "d82a42000f", "61ff",
                 "8101ff", "0000", "", "62c3", "9bffffffffffffffff"):
        try:
            dagcbor.decode(bytes.fromhex(text))
            refused = False
        except dagcbor.CborError:
            refused = True
        suite.check("dag-cbor refuses %s" % (text or "nothing"), refused)
    world = World(5)
    rows = [world.next() for _ in range(300)]
    suite.check("sample payloads are strict", all(
        dagcbor.encode(dagcbor.decode(r.payload)) == r.payload for r in rows if r.payload))


def _names(suite):
    for number, name in ((0, "seg_0000000000.jss"), (35, "seg_000000000z.jss"),
                         (36, "seg_0000000010.jss"), (82, "seg_000000002a.jss"),
                         (3656158440062975, "seg_zzzzzzzzzz.jss")):
        suite.check("jss name %s" % name, jss_oracle.segment_name(number) == name
                    and jss_oracle.segment_number(name) == number)
    for name in ("seg_000000002A.jss", "seg_2a.jss", "seg_00000000002a.jss",
                 "seg_000000002a.jss.tmp", "seg_-000000001.jss"):
        suite.equal("jss no name %s" % name, jss_oracle.segment_number(name), None)


def _round_trip(suite):
    world = World(9)
    first, second = [world.next() for _ in range(90)], [world.next() for _ in range(40)]
    blocks = [jss_oracle.make_block(first), jss_oracle.make_block([], (91, 91, 5, 5)),
              jss_oracle.make_block(second)]
    sealed = jss_oracle.sealed_file(blocks)
    rows, errors, warnings = deep_verify(Sealed(sealed))
    suite.check("jss sealed round trip", rows == [first, [], second]
                and not errors and not warnings, (errors, warnings))
    active = jss_oracle.active_file([blocks[0], blocks[2]])
    walk = Walk(active)
    suite.check("jss active round trip", walk.blocks == [first, second] and walk.tail is None)
    footer = jss_oracle.seal_parts([blocks[0], blocks[2]], len(active) - 256)[1]
    tails = {"torn-tail": active[:-3], "zero-tail": active + bytes(40),
             "orphaned-footer": active + footer}
    for tail, data in tails.items():
        suite.equal("jss active %s" % tail, Walk(data).tail, tail)
    prefix = hurt.hurt(active, ["flip 260.0"])
    suite.equal("jss damaged length prefix", Walk(prefix).tail, "damage")
    flips = 0
    for bit in range(8 * jss_oracle.HEADER_BYTES):
        result = Result(hurt.hurt(sealed, ["flip %d.%d" % (bit // 8, bit % 8)]))
        flips += bool(result.errors)
    suite.equal("jss each header bit is covered", flips, 8 * jss_oracle.HEADER_BYTES)
    for body in (b"", bytes(4), b"ab" * 100, b"abc" * 90, bytes(300000)):
        frame = zstd_frame.compress(body)
        suite.check("zstd frame of %d bytes" % len(body), zstd_frame.decompress(frame)[0] == body
                    and zstd_frame.inspect(frame).size == len(frame))
    suite.equal("zstd raw frame", zstd_frame.decompress(zstd_frame.raw_frame(b"varve"))[0],
                b"varve")


def _tools(suite):
    out = suite.folder("jss")
    for extra in ([], ["--reuse", "3", "--noise", "20"]):
        target = os.path.join(out, "reuse" if extra else "plain")
        made = subprocess.run([sys.executable, os.path.join(HERE, "make_jss.py"), "--out", target,
                               "--events", "1500", "--events-per-block", "100", "--active-tail",
                               "--manifest", target + ".json"] + extra, capture_output=True)
        read = subprocess.run([sys.executable, os.path.join(HERE, "read_jss.py"), target,
                               "--strict"], capture_output=True)
        rows, fold = [json.loads(line) for line in read.stdout.splitlines()], Fold()
        for name in sorted(os.listdir(target)):
            with open(os.path.join(target, name), "rb") as stream:
                for _, _, row in Result(stream.read()).rows():
                    fold.add(row)
        with open(target + ".json", encoding="utf-8") as stream:
            manifest = json.load(stream)
        suite.check("make_jss %s" % " ".join(extra), made.returncode == read.returncode == 0
                    and [r["seq"] for r in rows] == list(range(1, 1501))
                    and {r["kind_name"] for r in rows} == set(manifest["kinds"])
                    and len(manifest["kinds"]) == 7, read.stderr[-300:])
        if not extra:
            suite.equal("make_jss, live records", sum(1 for _ in fold.lines()),
                        manifest["live_records"])


def _fixtures(suite):
    folder = os.path.join(suite.fixtures, "jss")
    for path in sorted(glob.glob(os.path.join(folder, "*.jss"))):
        name = os.path.basename(path)
        with open(path, "rb") as stream:
            result = Result(stream.read())
        suite.check("jss fixture %s" % name, not result.errors, result.errors)
        rows = path[:-4] + ".events.jsonl"
        if os.path.exists(rows):
            with open(rows, encoding="utf-8") as stream:
                wanted = stream.read().splitlines()
            got = [dump(fixture_line(row, number, index)) for number, index, row in result.rows()]
            suite.equal("jss fixture %s, rows" % name, got, wanted)
    with open(os.path.join(folder, "gloom_params_fpr0.001.tsv"), encoding="utf-8") as stream:
        wrong = [n for line in csv.DictReader(stream, delimiter="\t")
                 for n in range(int(line["n_first"]), int(line["n_last"]) + 1)
                 if gloom.parameters(n) != (int(line["num_blocks"]), int(line["k"]))]
    suite.equal("jss table of bloom parameters", wrong, [])
    _invalid(suite, os.path.join(folder, "invalid"))
    _reseal(suite, folder)


def _invalid(suite, folder):
    with open(os.path.join(folder, "cases.tsv"), encoding="utf-8") as stream:
        cases = list(csv.DictReader(stream, delimiter="\t"))
    for case in cases:
        with open(os.path.join(folder, case["file"]), "rb") as stream:
            data = stream.read()
        got = []
        for checksum_first in (False, True):
            result = Result(data, checksum_first)
            got.append(result.errors[0].kind if result.errors else "-")
        suite.equal("jss invalid %s" % case["file"], got,
                    [case["error"], case["error_if_checksum_is_first"]])


def _reseal(suite, folder):
    """Everything of a fixture but its frames and the collection frame is rebuilt."""
    for path in sorted(glob.glob(os.path.join(folder, "*.jss"))
                       + glob.glob(os.path.join(folder, "plan", "*.jss"))):
        with open(path, "rb") as stream:
            data = stream.read()
        name = os.path.basename(path)
        if not any(data[4:12]) or name.startswith("legacy"):
            continue
        segment = Sealed(data)
        blocks = []
        for i, entry in enumerate(segment.index):
            block = jss_oracle.make_block(segment.rows(i), entry[4:], lambda _: b"")
            block.frame = segment.frame(i)
            blocks.append(block)
        header = segment.header
        built = jss_oracle.sealed_file(blocks, header[6:10])
        suite.check("jss reseal %s" % name, built[256:header.coll_off + 16]
                    == data[256:header.coll_off + 16])


def run(suite):
    _blooms(suite)
    _cbor(suite)
    _names(suite)
    _round_trip(suite)
    _tools(suite)
    if suite.fixtures:
        _fixtures(suite)
