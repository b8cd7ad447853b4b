# SPDX-License-Identifier: MIT OR Apache-2.0
"""What kladde statements and journal records add up to.

Resolution paints statements in order of epoch; replay works on byte arrays. Both
are as plain as can be, on purpose.
"""
from collections import namedtuple

from kladde_format import TOP, KladdeError, VarintError, read_varint, varint

BIG = 1 << 30


class TooBig(Exception):
    """An allocation above what this plain code wants to hold in memory."""


# ---------------------------------------------------------------- resolution

Piece = namedtuple("Piece", "start end statement")


def _paint(pieces, start, end, statement):
    """Lays [start, end) over the sorted pieces."""
    if start >= end:
        return pieces
    out = []
    for p in pieces:
        if p.end <= start or p.start >= end:
            out.append(p)
            continue
        if p.start < start:
            out.append(Piece(p.start, start, p.statement))
        if p.end > end:
            out.append(Piece(end, p.end, p.statement))
    out.append(Piece(start, end, statement))
    return sorted(out, key=lambda p: p.start)


def size_a(statements):
    anchors = [s for s in statements if s.kind in ("Shrink", "Tombstone")]
    anchor = max(anchors, key=lambda s: s.epoch) if anchors else None
    epoch = anchor.epoch if anchor else -1
    bound = anchor.offset if anchor and anchor.kind == "Shrink" else 0
    return max([bound] + [s.end for s in statements
                          if (s.content or s.kind == "Grow") and s.epoch > epoch])


def size_b(statements):
    sizing = [s for s in statements if s.kind.endswith("*")
              or s.kind in ("Size", "Tombstone")]
    if not sizing:
        return 0
    top = max(s.epoch for s in sizing)
    newest = [s for s in sizing if s.epoch == top]
    if len(newest) > 1:
        raise KladdeError("malformed-table-page", "two sizes of id %d in epoch %d"
                          % (newest[0].id, top), newest[0].page)
    return 0 if newest[0].kind == "Tombstone" else newest[0].end


def resolve(statements, dialect):
    """(size, pieces) of one id, or None if it does not exist. Pieces cover what a
    statement decides; in dialect A the rest is zero."""
    ordered = sorted(statements, key=lambda s: s.epoch)
    top = [s for s in ordered if s.epoch == ordered[-1].epoch]
    if any(s.kind == "Tombstone" for s in top):
        if dialect == "b":
            size_b(ordered)
        return None
    size = size_a(ordered) if dialect == "a" else size_b(ordered)
    pieces = []
    for s in ordered:
        if s.content:
            pieces = _paint(pieces, s.offset, min(s.end, size), s)
        elif dialect == "a" and s.kind in ("Shrink", "Tombstone"):
            pieces = _paint(pieces, s.offset if s.kind == "Shrink" else 0, size, s)
    if dialect == "b":
        at = 0
        for p in pieces:
            if p.start > at:
                break
            at = p.end
        if at < size:
            raise KladdeError("byte-without-statement", "id %d, byte %d of %d"
                              % (ordered[0].id, at, size), ordered[-1].page)
    return size, pieces


def by_id(statements):
    out = {}
    for s in statements:
        out.setdefault(s.id, []).append(s)
    return out


# ---------------------------------------------------------------- journal records

OPS = (None, "free", "resize", "write", "splice", "copy", "move")
FIELDS = {"free": ("id",), "resize": ("id", "size"), "write": ("id", "offset", "len"),
          "splice": ("id", "offset", "old_len", "len"),
          "copy": ("src", "src_offset", "len", "dst", "dst_offset"),
          "move": ("src", "src_offset", "len", "dst", "dst_offset")}


def encode_record(op, *values):
    """encode_record("write", id, offset, payload); splice: id, offset, old_len, payload."""
    out = bytes([OPS.index(op)])
    payload = b""
    if op in ("write", "splice"):
        payload = values[-1]
        values = values[:-1] + (len(payload),)
    return out + b"".join(map(varint, values)) + payload


def _check_bounds(op, r):
    ids = [r[key] for key in ("id", "src", "dst") if key in r]
    if not all(1 <= value <= TOP for value in ids):
        raise KladdeError("malformed-transaction", "id out of range in %s" % op)
    sums = {"free": (), "resize": ("size",), "write": ("offset len",),
            "splice": ("offset old_len", "offset len"),
            "copy": ("src_offset len", "dst_offset len"),
            "move": ("src_offset len", "dst_offset len")}[op]
    for terms in sums:
        if sum(r[key] for key in terms.split()) > TOP:
            raise KladdeError("malformed-transaction", "%s: %s over 2^32-1" % (op, terms))


def decode_records(data):
    """[(offset in data, op, fields)]; payload under `bytes`."""
    out, at = [], 0
    while at < len(data):
        start, tag = at, data[at]
        if not 1 <= tag <= 6:
            raise KladdeError("malformed-transaction", "reserved tag %d" % tag)
        op, r = OPS[tag], {}
        at += 1
        for key in FIELDS[op]:
            try:
                r[key], at = read_varint(data, at)
            except VarintError as error:
                raise KladdeError("malformed-transaction", "%s: %s" % (op, error)) from None
        _check_bounds(op, r)
        if op in ("write", "splice"):
            if r["len"] > len(data) - at:
                raise KladdeError("malformed-transaction", "%s: bytes cut off" % op)
            r["bytes"] = data[at:at + r["len"]]
            at += r["len"]
        out.append((start, op, r))
    return out


# ---------------------------------------------------------------- replay

def _grown(state, ident, end):
    data = state.setdefault(ident, bytearray())
    if end > BIG:
        raise TooBig("id %d of %d bytes" % (ident, end))
    if end > len(data):
        data.extend(bytes(end - len(data)))
    return data


def apply(state, op, r):
    """Applies one record to {id: bytearray}."""
    if op == "free":
        state.pop(r["id"], None)
    elif op == "resize":
        data = _grown(state, r["id"], r["size"])
        del data[r["size"]:]
    elif op == "write":
        end = r["offset"] + r["len"]
        _grown(state, r["id"], end)[r["offset"]:end] = r["bytes"]
    elif op == "splice":
        end = r["offset"] + r["old_len"]
        data = _grown(state, r["id"], end)
        if len(data) - r["old_len"] + r["len"] > TOP:
            raise KladdeError("malformed-transaction", "splice beyond 2^32-1")
        if len(data) + r["len"] > BIG:
            raise TooBig("splice to %d bytes" % (len(data) + r["len"]))
        data[r["offset"]:end] = r["bytes"]
    else:
        _copy(state, r, op == "move")


def _copy(state, r, vacate):
    start, size, at = r["src_offset"], r["len"], r["dst_offset"]
    source = state.get(r["src"])
    piece = bytes(source[start:start + size]) if source is not None else b""
    target = _grown(state, r["dst"], at + size)
    if size > BIG:
        raise TooBig("copy of %d bytes" % size)
    if vacate and source is not None:
        end = min(start + size, len(source))
        if end > start:
            source[start:end] = bytes(end - start)
    target[at:at + size] = piece + bytes(size - len(piece))
