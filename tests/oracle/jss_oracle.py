# SPDX-License-Identifier: MIT OR Apache-2.0
"""jss segments, version 1: layout, block bodies, footer sections, sealing.

This module writes; jss_check.py reads. Both come from the format description
alone. Block statistics are kept per block (BlockInfo), so that a generator can
reuse a block's body under new seq and witnessed_at columns.
"""
import struct
import sys
from array import array
from collections import namedtuple

import xxhash

from gloom import Bloom
from zstd_frame import compress

MAGIC = b"jss0"
HEADER = struct.Struct("<4sQHIIIQQqqQQQQQ")          # 98 bytes, then 158 reserved
HEADER_BYTES = 256
HEADER_FIELDS = ("magic", "checksum", "version", "block_count", "event_count",
                 "unique_did_count", "min_seq", "max_seq", "min_wit", "max_wit",
                 "footer_off", "did_bloom_off", "block_bloom_off", "coll_off",
                 "block_index_off")
INDEX = struct.Struct("<QIIIQQqq")                    # 52 bytes
INDEX_FIELDS = ("offset", "csize", "usize", "events", "min_seq", "max_seq",
                "min_wit", "max_wit")
MAX_BLOCKS = 1 << 20
MAX_NAMES = 1 << 20
MAX_ROWS = 1 << 18
MAX_BODY = 1 << 30
RATE = 0.001

KINDS = (None, "create", "update", "delete", "identity", "account", "sync", "create_resync")
SENTINELS = {4: b"$identity", 5: b"$account", 6: b"$sync"}

Row = namedtuple("Row", "seq witnessed_at indexed_at kind did collection rkey rev payload")
Header = namedtuple("Header", HEADER_FIELDS)
IndexEntry = namedtuple("IndexEntry", INDEX_FIELDS)

SWAP = sys.byteorder == "big"


def _column(code, values):
    out = array(code, values)
    if SWAP:
        out.byteswap()
    return out.tobytes()


# ---------------------------------------------------------------- block bodies

def body_tail(rows):
    """Everything behind the witnessed_at column."""
    for row in rows:
        if not 1 <= row.kind <= 7:
            raise ValueError("InvalidKind %d" % row.kind)
        for value, top in ((row.collection, 255), (row.did, 65535), (row.rkey, 255),
                           (row.rev, 255), (row.payload, 0xFFFFFFFF)):
            if len(value) > top:
                raise ValueError("FieldTooLong: %d bytes" % len(value))
    return b"".join((
        _column("q", (r.indexed_at for r in rows)),
        bytes(r.kind for r in rows),
        bytes(len(r.collection) for r in rows),
        _column("H", (len(r.did) for r in rows)),
        bytes(len(r.rkey) for r in rows),
        bytes(len(r.rev) for r in rows),
        _column("I", (len(r.payload) for r in rows)),
        b"".join(r.collection for r in rows),
        b"".join(r.did for r in rows),
        b"".join(r.rkey for r in rows),
        b"".join(r.rev for r in rows),
        b"".join(r.payload for r in rows)))


def body_of(seqs, times, tail):
    if len(seqs) > MAX_ROWS:
        raise ValueError("block of %d rows" % len(seqs))
    if not seqs:
        return bytes(4)
    return struct.pack("<I", len(seqs)) + _column("Q", seqs) + _column("q", times) + tail


def encode_body(rows):
    return body_of([r.seq for r in rows], [r.witnessed_at for r in rows], body_tail(rows))


def names_of(rows):
    """{name: rows of it} in order of first appearance; sentinels count 0."""
    out = {}
    for row in rows:
        if row.collection:
            out[row.collection] = out.get(row.collection, 0) + 1
        if row.kind in SENTINELS:
            out.setdefault(SENTINELS[row.kind], 0)
    return out


class BlockInfo:
    """What the footer needs to know of one block. `bounds` is (min_seq,
    max_seq, min_witnessed_at, max_witnessed_at), and may be wider than the rows."""

    def __init__(self, frame, usize, events, bounds, dids, names):
        self.frame, self.usize, self.events = frame, usize, events
        self.bounds, self.dids, self.names = bounds, dids, names


def make_block(rows, bounds=None, compressor=compress):
    body = encode_body(rows)
    if bounds is None:
        seqs = [r.seq for r in rows] or [0]
        times = [r.witnessed_at for r in rows] or [0]
        bounds = (min(seqs), max(seqs), min(times), max(times))
    return BlockInfo(compressor(body), len(body), len(rows), bounds,
                     {r.did for r in rows if r.did}, names_of(rows))


# ---------------------------------------------------------------- footer sections

def pack_header(values):
    return HEADER.pack(*values) + bytes(HEADER_BYTES - HEADER.size)


def active_header():
    return MAGIC + bytes(HEADER_BYTES - 4)


def frame_bytes(block):
    return struct.pack("<Q", len(block.frame)) + block.frame


def block_index(blocks, start=HEADER_BYTES):
    out, offset = [], start
    for block in blocks:
        out.append(INDEX.pack(offset, len(block.frame), block.usize, block.events,
                              *block.bounds))
        offset += 8 + len(block.frame)
    return b"".join(out)


_bloom_cache = {}


def _bloom(dids, size_for, cache_key=None):
    key = (cache_key, size_for)
    if cache_key is not None and key in _bloom_cache:
        return _bloom_cache[key][1]
    bloom = Bloom.sized(size_for, RATE)
    for did in sorted(dids):
        bloom.insert(did)
    blob = bloom.marshal()
    if cache_key is not None:
        _bloom_cache[key] = (dids, blob)      # the set is held, so its id stays its own
    return blob


def block_blooms(blocks):
    largest = max([len(b.dids) for b in blocks] + [1])
    blobs = [_bloom(b.dids, largest, id(b.dids)) for b in blocks]
    return struct.pack("<II", len(blocks), len(blobs[0]) if blobs else 0) + b"".join(blobs)


def collection_body(blocks):
    """(collection_count, body) of the collection index."""
    table = {}
    for block in blocks:
        for name, count in block.names.items():
            table[name] = table.get(name, 0) + count
    ids = {name: i for i, name in enumerate(table)}
    width = (len(ids) + 7) // 8
    parts = [struct.pack("<BI", len(name), count) + name for name, count in table.items()]
    for block in blocks:
        mask = bytearray(width)
        for name in block.names:
            mask[ids[name] >> 3] |= 1 << (ids[name] & 7)
        parts.append(bytes(mask))
    return len(ids), b"".join(parts)


def collection_index(blocks, compressor=compress):
    count, body = collection_body(blocks)
    head = struct.pack("<IIII", count, len(blocks), (count + 7) // 8, len(body))
    return head + compressor(body)


def checksum_of(header, footer):
    h = xxhash.xxh3_64()
    h.update(header[12:HEADER_BYTES])
    h.update(footer)
    return h.intdigest()


def seal_parts(blocks, frames_bytes, bounds=None, compressor=compress):
    """(header, footer) for frames of `frames_bytes` bytes in all, prefixes included."""
    blocks = list(blocks)
    filled = [b for b in blocks if b.events]
    if bounds is None:
        span = filled or blocks
        bounds = (min(b.bounds[0] for b in span), max(b.bounds[1] for b in span),
                  min(b.bounds[2] for b in span), max(b.bounds[3] for b in span)) \
            if span else (0, 0, 0, 0)
    everyone = set().union(*(b.dids for b in blocks)) if blocks else set()
    footer_off = HEADER_BYTES + frames_bytes
    index = block_index(blocks)
    segment_bloom = _bloom(everyone, max(len(everyone), 1))
    blooms = block_blooms(blocks)
    did_off = footer_off + len(index)
    block_off = did_off + len(segment_bloom)
    coll_off = block_off + len(blooms)
    footer = index + segment_bloom + blooms + collection_index(blocks, compressor)
    values = [MAGIC, 0, 1, len(blocks), sum(b.events for b in blocks), len(everyone),
              *bounds, footer_off, did_off, block_off, coll_off, footer_off]
    values[1] = checksum_of(pack_header(values), footer)
    if values[1] == 0:
        raise ValueError("the checksum is 0, which cannot be stored")
    return pack_header(values), footer


def sealed_file(blocks, bounds=None, compressor=compress):
    frames = b"".join(frame_bytes(b) for b in blocks)
    header, footer = seal_parts(blocks, len(frames), bounds, compressor)
    return header + frames + footer


def active_file(blocks):
    return active_header() + b"".join(frame_bytes(b) for b in blocks)


# ---------------------------------------------------------------- names

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def segment_name(number):
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return "seg_" + digits.rjust(10, "0") + ".jss"


def segment_number(name):
    """The number of a valid segment name, else None."""
    if not (name.startswith("seg_") and name.endswith(".jss")):
        return None
    digits = name[4:-4]
    if len(digits) != 10 or any(c not in _DIGITS for c in digits):
        return None
    return int(digits, 36)
