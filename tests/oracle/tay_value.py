# SPDX-License-Identifier: MIT OR Apache-2.0
"""The canonical bounded value encoding of Tay payloads.

None, bool, int, str, bytes, list and dict stand for themselves. Floats are F64,
which keeps the exact bits: -0.0, +0.0 and integer 0 are three values.
"""
import struct

DEPTH, NODES, BYTES = 64, 100_000, 16_777_216


class ValueRefused(Exception):
    """`kind` is invalid_payload or resource_limit, `reason` the format's word."""

    def __init__(self, reason, kind="invalid_payload"):
        super().__init__(reason)
        self.reason, self.kind = reason, kind


class F64:
    __slots__ = ("bits",)

    def __init__(self, bits):
        self.bits = bits

    @classmethod
    def of(cls, number):
        return cls(struct.unpack(">Q", struct.pack(">d", number))[0])

    @property
    def number(self):
        return struct.unpack(">d", struct.pack(">Q", self.bits))[0]

    def __eq__(self, other):
        return isinstance(other, F64) and other.bits == self.bits

    def __hash__(self):
        return hash(self.bits)

    def __repr__(self):
        return "F64(%016x)" % self.bits


def encode(value):
    if value is None:
        return b"\x00"
    if value is False:
        return b"\x01"
    if value is True:
        return b"\x02"
    if isinstance(value, int):
        if value < 0:
            return b"\x03" + struct.pack(">q", value)
        return b"\x04" + struct.pack(">Q", value)
    if isinstance(value, F64):
        if value.bits >> 52 & 0x7FF == 0x7FF:
            raise ValueError("float is not finite")
        return b"\x05" + struct.pack(">Q", value.bits)
    if isinstance(value, str):
        raw = value.encode("utf-8")
        return b"\x06" + struct.pack(">I", len(raw)) + raw
    if isinstance(value, bytes):
        return b"\x07" + struct.pack(">I", len(value)) + value
    if isinstance(value, list):
        return b"\x08" + struct.pack(">I", len(value)) + b"".join(map(encode, value))
    if isinstance(value, dict):
        pairs = sorted((key.encode("utf-8"), key) for key in value)
        return b"\x09" + struct.pack(">I", len(pairs)) + b"".join(
            encode(key) + encode(value[key]) for _, key in pairs)
    raise TypeError("no value form for %s" % type(value).__name__)


class _Decoder:
    def __init__(self, data, depth, nodes, size):
        self.data, self.at = data, 0
        self.depth, self.node_budget, self.byte_budget = depth, nodes, size
        self.nodes = self.bytes = self.deepest = 0

    def _take(self, size):
        if size > len(self.data) - self.at:
            raise ValueRefused("truncated_value")
        piece = self.data[self.at:self.at + size]
        self.at += size
        return piece

    def node(self, depth):
        if depth > self.depth:
            raise ValueRefused("depth", "resource_limit")
        if self.nodes >= self.node_budget:
            raise ValueRefused("output_nodes", "resource_limit")
        self.nodes += 1
        self.deepest = max(self.deepest, depth)
        tag = self._take(1)[0]
        if tag > 9:
            raise ValueRefused("unknown_tag")
        if tag <= 2:
            return (None, False, True)[tag]
        if tag <= 5:
            return self._number(tag)
        size, = struct.unpack(">I", self._take(4))
        if tag <= 7:
            return self._string(tag, size)
        if tag == 8:
            return self._list(size, depth)
        return self._map(size, depth)

    def _number(self, tag):
        raw = self._take(8)
        if tag == 3:
            value, = struct.unpack(">q", raw)
            if value >= 0:
                raise ValueRefused("noncanonical_integer")
            return value
        value, = struct.unpack(">Q", raw)
        if tag == 4:
            return value
        if value >> 52 & 0x7FF == 0x7FF:
            raise ValueRefused("nonfinite_float")
        return F64(value)

    def _string(self, tag, size):
        if size > len(self.data) - self.at:
            raise ValueRefused("truncated_value")
        self.bytes += size
        if self.bytes > self.byte_budget:
            raise ValueRefused("binary_bytes", "resource_limit")
        raw = bytes(self._take(size))
        if tag == 7:
            return raw
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueRefused("utf8") from None

    def _room(self, unit_bytes, count, unit_nodes):
        if unit_bytes * count > len(self.data) - self.at:
            raise ValueRefused("truncated_value")
        if unit_nodes * count > self.node_budget - self.nodes:
            raise ValueRefused("output_nodes", "resource_limit")

    def _list(self, count, depth):
        self._room(1, count, 1)
        return [self.node(depth + 1) for _ in range(count)]

    def _map(self, count, depth):
        self._room(6, count, 2)
        out, before = {}, None
        for _ in range(count):
            if self.at >= len(self.data):
                raise ValueRefused("truncated_value")
            if self.data[self.at] != 6:
                raise ValueRefused("map_key")
            key = self.node(depth + 1)
            rank = key.encode("utf-8")
            if before is not None and rank <= before:
                raise ValueRefused("map_order")
            before = rank
            out[key] = self.node(depth + 1)
        return out


def decode_measured(data, depth=DEPTH, nodes=NODES, size=BYTES):
    """(value, depth, nodes, bytes) that the value costs."""
    decoder = _Decoder(bytes(data), depth, nodes, size)
    value = decoder.node(1)
    if decoder.at != len(decoder.data):
        raise ValueRefused("trailing_bytes")
    return value, decoder.deepest, decoder.nodes, decoder.bytes


def decode(data, depth=DEPTH, nodes=NODES, size=BYTES):
    return decode_measured(data, depth, nodes, size)[0]


def count_nodes(value):
    if isinstance(value, list):
        return 1 + sum(map(count_nodes, value))
    if isinstance(value, dict):
        return 1 + sum(1 + count_nodes(item) for item in value.values())
    return 1
