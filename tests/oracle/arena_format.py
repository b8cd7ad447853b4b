# SPDX-License-Identifier: MIT OR Apache-2.0
"""The arena journal: frames, ends, segment images, the walk and the scan.

An Image is a segment file as recovery sees it: its bytes up to the last non-zero
one, and the logical length that the file has or would be extended to.
"""
import os
import struct
import zlib

import lz4.block

HEADER = struct.Struct("<IIII")               # crc32, raw_len, comp_len, seq
MAX_PAYLOAD = 52_428_800
MARKER_SEQ = 0x454E444C
MARKER = HEADER.pack(0, 0, 0, MARKER_SEQ)
MIB, GIB = 1 << 20, 1 << 30
STEP = 64 * MIB
SEGMENT_SIZE = {1: GIB, 2: GIB, 3: STEP, 4: GIB}


# ---------------------------------------------------------------- writing

def pack_frame(payload, seq):
    if not 1 <= len(payload) <= MAX_PAYLOAD:
        raise ValueError("payload of %d bytes" % len(payload))
    block = lz4.block.compress(payload, store_size=False)
    stored = block if len(block) < len(payload) else payload
    return HEADER.pack(zlib.crc32(payload), len(payload), len(stored), seq & 0xFFFFFFFF) + stored


# ---------------------------------------------------------------- images

def target_length(version, size, final):
    """The legal length that a file of `size` bytes is extended to."""
    whole = SEGMENT_SIZE[version]
    if version == 4 and final:
        return min(whole, max(STEP, -(-size // STEP) * STEP))
    return whole


class Image:
    def __init__(self, data, length):
        self.data, self.length = data.rstrip(b"\0"), length

    @classmethod
    def read(cls, path, version, final):
        """Reads the extents that hold data; a segment is mostly holes."""
        size = os.path.getsize(path)
        if size > SEGMENT_SIZE[version]:
            raise OverflowError(size)
        data, at = bytearray(), 0
        with open(path, "rb", buffering=0) as stream:
            while at < size:
                try:
                    at = os.lseek(stream.fileno(), at, os.SEEK_DATA)
                except OSError:
                    break
                end = os.lseek(stream.fileno(), at, os.SEEK_HOLE)
                data.extend(bytes(at - len(data)))
                stream.seek(at)
                while at < end:
                    piece = stream.read(end - at)
                    if not piece:
                        break
                    data += piece
                    at += len(piece)
        return cls(bytes(data), target_length(version, size, final))

    def get(self, at, size):
        piece = self.data[at:at + size]
        return piece + bytes(size - len(piece))


# ---------------------------------------------------------------- one position

class Frame:
    kind = "frame"

    def __init__(self, offset, seq, payload, comp_len):
        self.offset, self.seq, self.payload, self.comp_len = offset, seq, payload, comp_len
        self.end = offset + 16 + comp_len


class End:
    """`kind` is marker, zero or short."""

    def __init__(self, kind, offset):
        self.kind, self.offset = kind, offset


class Invalid:
    kind = "invalid"

    def __init__(self, offset, reason):
        self.offset, self.reason = offset, reason


def judge(image, at):
    """Frame, End or Invalid at one offset; the order decides the reason."""
    left = image.length - at
    if left < 16:
        return End("short", at)
    crc, raw, comp, seq = HEADER.unpack(image.get(at, 16))
    if raw == 0 and comp == 0:
        if crc == 0 and seq in (0, MARKER_SEQ):
            return End("marker" if seq else "zero", at)
        return Invalid(at, "both-lengths-zero")
    if raw == 0 or raw > MAX_PAYLOAD:
        return Invalid(at, "raw_len")
    if comp == 0 or comp > raw:
        return Invalid(at, "comp_len")
    if comp < raw and raw > 255 * comp:
        return Invalid(at, "ratio")
    if comp > left - 16:
        return Invalid(at, "bounds")
    payload = image.get(at + 16, comp)
    if comp < raw:
        try:
            payload = lz4.block.decompress(payload, uncompressed_size=raw)
        except (lz4.block.LZ4BlockError, ValueError):
            return Invalid(at, "lz4")
        if len(payload) != raw:
            return Invalid(at, "lz4")
    if zlib.crc32(payload) != crc:
        return Invalid(at, "crc")
    return Frame(at, seq, payload, comp)


# ---------------------------------------------------------------- a segment

class Proof:
    """Why a bad frame had been committed: a marker or a frame behind it."""

    def __init__(self, kind, offset):
        self.kind, self.offset = kind, offset


def scan(image, after, frames_only=False):
    """The first marker or valid frame at any byte offset above `after`."""
    data, limit = image.data, len(image.data)
    padded = data + bytes(16)
    unpack = HEADER.unpack_from
    for p in range(after + 1, limit):
        if image.length - p < 16:
            return None
        crc, raw, comp, seq = unpack(padded, p)
        if comp == 0:
            if raw == 0 and crc == 0 and seq == MARKER_SEQ and not frames_only:
                return Proof("marker", p)
        elif comp <= raw <= MAX_PAYLOAD and comp <= image.length - p - 16:
            if _plausible(image, p, crc, raw, comp) and judge(image, p).kind == "frame":
                return Proof("frame", p)
    return None


def _times(matrix, vector):
    out = row = 0
    while vector:
        if vector & 1:
            out ^= matrix[row]
        vector >>= 1
        row += 1
    return out


def _zero_powers():
    """Matrices that carry a CRC register over 1, 2, 4, ... zero bytes."""
    power = [0xEDB88320] + [1 << n for n in range(31)]         # one zero bit
    for step in range(3 + 31):
        if step >= 3:
            yield power
        power = [_times(power, column) for column in power]


_ZEROS = tuple(_zero_powers())


def _shift_zeros(crc, count):
    """The CRC-32 of a message followed by `count` zero bytes, from its own CRC."""
    register = crc ^ 0xFFFFFFFF
    for power in _ZEROS:
        if count & 1:
            register = _times(power, register)
        count >>= 1
    return register ^ 0xFFFFFFFF


def _block_fits(image, at, comp, raw):
    """Whether the sequences of an LZ4 block end where they should, without decoding."""
    data, have, end, out = image.data, len(image.data), at + comp, 0

    def number(value, at):
        while value >= 15:
            byte = data[at] if at < have else 0
            value, at = value + byte, at + 1
            if byte < 255 or at >= end:
                break
        return value, at

    while at < end:
        token = data[at] if at < have else 0
        literals, at = number(token >> 4, at + 1)
        at, out = at + literals, out + literals
        if at >= end or out > raw:
            return at == end and out == raw
        offset = int.from_bytes(image.get(at, 2), "little")
        if not 0 < offset <= out:
            return False
        length, at = number(token & 15, at + 2)
        out += length + 4
    return False


def _plausible(image, at, crc, raw, comp):
    """Cheap conditions that a frame at `at` must meet: a payload that reaches far into
    the zeros behind the data is never built."""
    if comp < raw:
        return raw <= 255 * comp and _block_fits(image, at + 16, comp, raw)
    known = image.data[at + 16:at + 16 + comp]
    return _shift_zeros(zlib.crc32(known), comp - len(known)) == crc


class Walk:
    """Frames from offset 0; `end` is the End or Invalid that stopped them.
    In a final segment an Invalid is torn (no proof) or committed damage."""

    def __init__(self, image, final):
        self.image, self.final, self.frames, self.proof = image, final, [], None
        at = 0
        while True:
            found = judge(image, at)
            if found.kind != "frame":
                break
            self.frames.append(found)
            at = found.end
        self.end, self.log_end = found, at
        if found.kind == "invalid" and final:
            self.proof = scan(image, at)

    @property
    def next_seq(self):
        return (1 + max(f.seq for f in self.frames)) & 0xFFFFFFFF if self.frames else 0

    @property
    def verdict(self):
        """clean, torn, corrupt-committed, or corrupt-frame (not the final segment)"""
        if self.end.kind != "invalid":
            return "clean"
        if not self.final:
            return "corrupt-frame"
        return "corrupt-committed" if self.proof else "torn"

    def behind(self):
        """The first valid frame behind a marker or zero end, if one is there."""
        if self.end.kind in ("marker", "zero") and len(self.image.data) > self.log_end + 16:
            return scan(self.image, self.log_end + 15, frames_only=True)
        return None

    def salvaged(self):
        """All frames, those behind gaps and ends too, in order of offset."""
        out, at = [], 0
        while True:
            found = judge(self.image, at)
            if found.kind == "frame":
                out.append(found)
                at = found.end
                continue
            gap = 0 if found.kind == "invalid" else 15
            following = scan(self.image, at + gap, frames_only=True)
            if following is None:
                return out
            at = following.offset
