# SPDX-License-Identifier: MIT OR Apache-2.0
"""One zstd frame: where it ends, what its header says, strict decompression.

The frame walk follows the public zstd format description (RFC 8878); only the
decompression itself is the library's.
"""
import struct

import zstandard

MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK_MAX = 128 * 1024
CAP = 1 << 30
EMPTY_FRAME = bytes.fromhex("28b52ffd2000010000")

_with_size = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
_without_size = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False)


class FrameError(ValueError):
    """Not one whole, intact zstd frame."""


class FrameInfo:
    """`size` of the whole frame, `content_size` or None, `checksum` on or off,
    `blocks`, and `bound`, the most that its blocks can decompress to."""

    def __init__(self, size, content_size, checksum, blocks, bound):
        self.size, self.content_size, self.checksum = size, content_size, checksum
        self.blocks, self.bound = blocks, bound


def inspect(data, start=0):
    """FrameInfo of the frame at `start`; FrameError if none is complete there."""
    if data[start:start + 4] != MAGIC:
        raise FrameError("no zstd magic")
    end = len(data)
    if start + 5 > end:
        raise FrameError("ends inside the frame header")
    descriptor = data[start + 4]
    if descriptor & 0x08:
        raise FrameError("reserved bit set in the frame descriptor")
    single = bool(descriptor & 0x20)
    checksum = bool(descriptor & 0x04)
    at = start + 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3]
    flag = descriptor >> 6
    width = (1 if single else 0, 2, 4, 8)[flag]
    if at + width > end:
        raise FrameError("ends inside the frame header")
    content = None
    if width:
        content = int.from_bytes(data[at:at + width], "little") + (256 if width == 2 else 0)
    at += width
    blocks = bound = 0
    while True:
        if at + 3 > end:
            raise FrameError("ends inside a block header")
        head = int.from_bytes(data[at:at + 3], "little")
        at += 3
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        if kind == 3:
            raise FrameError("reserved block type")
        if size > BLOCK_MAX:
            raise FrameError("block of %d bytes" % size)
        bound += BLOCK_MAX if kind == 2 else size
        blocks += 1
        at += 1 if kind == 1 else size
        if at > end:
            raise FrameError("ends inside a block")
        if last:
            break
    at += 4 if checksum else 0
    if at > end:
        raise FrameError("ends inside the content checksum")
    return FrameInfo(at - start, content, checksum, blocks, bound)


def decompress(frame, cap=CAP):
    """The content of exactly one frame. Returns (bytes, FrameInfo)."""
    frame = bytes(frame)
    info = inspect(frame)
    if info.size != len(frame):
        raise FrameError("%d bytes behind the frame" % (len(frame) - info.size))
    if info.content_size is not None and info.content_size > cap:
        raise FrameError("content of %d bytes is above the cap" % info.content_size)
    out, total = [], 0
    step = len(frame) if info.bound <= cap else 4096
    engine = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
    try:
        for at in range(0, len(frame), step):
            piece = engine.decompress(frame[at:at + step])
            total += len(piece)
            if total > cap:
                raise FrameError("content is above the cap")
            out.append(piece)
    except zstandard.ZstdError as error:
        raise FrameError(str(error)) from None
    if info.content_size is not None and total != info.content_size:
        raise FrameError("content of %d bytes, %d stated" % (total, info.content_size))
    return b"".join(out), info


def compress(body):
    """As the archive's own writer does: content checksum always, content size
    only from 256 bytes up, the fixed frame for an empty body."""
    if not body:
        return EMPTY_FRAME
    return (_with_size if len(body) >= 256 else _without_size).compress(bytes(body))


def raw_frame(body, checksum=True):
    """A frame of raw blocks, without the library (bodies below 256 bytes)."""
    import xxhash
    if len(body) > 255:
        raise ValueError("raw_frame is for small bodies")
    out = MAGIC + bytes([0x24 if checksum else 0x20, len(body)])
    out += (len(body) << 3 | 1).to_bytes(3, "little") + bytes(body)
    if checksum:
        out += struct.pack("<I", xxhash.xxh64_intdigest(bytes(body)) & 0xFFFFFFFF)
    return out
