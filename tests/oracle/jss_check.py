# SPDX-License-Identifier: MIT OR Apache-2.0
"""A strict reader of jss segments: block decoding, and the checks at open of a
sealed file in the description's order."""
import struct
from array import array

from gloom import Bloom, GloomError
from jss_oracle import (HEADER, HEADER_BYTES, INDEX, MAGIC, MAX_BLOCKS, MAX_BODY, MAX_NAMES,
                        MAX_ROWS, SWAP, Header, IndexEntry, Row, checksum_of)
from zstd_frame import FrameError, decompress


class JssError(Exception):
    """`kind` is the error class of the description, `block` a block number or None."""

    def __init__(self, kind, text, block=None):
        where = "" if block is None else "block %d: " % block
        super().__init__("%s: %s%s" % (kind, where, text))
        self.kind, self.text, self.block = kind, text, block


# ---------------------------------------------------------------- bodies

def _column(code, data, at, n):
    out = array(code)
    out.frombytes(data[at:at + n * out.itemsize])
    if SWAP:
        out.byteswap()
    return out


def decode_body(body):
    """Rows of a decompressed body; JssError Decode for whatever breaks a rule."""
    if len(body) < 4:
        raise JssError("Decode", "body of %d bytes" % len(body))
    n, = struct.unpack_from("<I", body)
    if n > MAX_ROWS:
        raise JssError("Decode", "event_count %d" % n)
    if len(body) - 4 < 34 * n:
        raise JssError("Decode", "the fixed columns do not fit")
    if n == 0:
        if len(body) > 4:
            raise JssError("Decode", "no rows, but %d bytes follow" % (len(body) - 4))
        return []
    kinds = body[4 + 24 * n:4 + 25 * n]
    for i, kind in enumerate(kinds):
        if not 1 <= kind <= 7:
            raise JssError("Decode", "kind %d in row %d" % (kind, i))
    lengths = (body[4 + 25 * n:4 + 26 * n], _column("H", body, 4 + 26 * n, n),
               body[4 + 28 * n:4 + 29 * n], body[4 + 29 * n:4 + 30 * n],
               _column("I", body, 4 + 30 * n, n))
    at, texts = 4 + 34 * n, []
    for column in lengths:
        if sum(column) > len(body) - at:
            raise JssError("Decode", "the blobs do not fit")
        pieces = []
        for size in column:
            pieces.append(body[at:at + size])
            at += size
        texts.append(pieces)
    if at != len(body):
        raise JssError("Decode", "%d bytes left over" % (len(body) - at))
    collections, dids, rkeys, revs, payloads = texts
    return list(map(Row, _column("Q", body, 4, n), _column("q", body, 4 + 8 * n, n),
                    _column("q", body, 4 + 16 * n, n), kinds, dids, collections, rkeys,
                    revs, payloads))


def decode_frame(frame, number=None):
    """(rows, body length, has a content checksum)"""
    try:
        body, info = decompress(frame)
        return decode_body(body), len(body), info.checksum
    except FrameError as error:
        raise JssError("Decode", str(error), number) from None
    except JssError as error:
        raise JssError("Decode", error.text, number) from None


# ---------------------------------------------------------------- sealed files

class Sealed:
    """A sealed file that passed the checks of opening."""

    def __init__(self, data, checksum_first=True):
        self.data = data
        self._header()
        if checksum_first:
            self._checksum()
        self._index()
        self._segment_bloom()
        self._bloom_region()
        if not checksum_first:
            self._checksum()
        self._collections()

    def _header(self):
        data = self.data
        if len(data) < HEADER_BYTES:
            raise JssError("CorruptSegment", "file of %d bytes" % len(data))
        h = self.header = Header(*HEADER.unpack_from(data))
        if h.magic != MAGIC:
            raise JssError("CorruptSegment", "magic %s" % h.magic.hex())
        if h.checksum == 0:
            raise JssError("ActiveSegment", "not sealed")
        if h.version != 1:
            raise JssError("InvalidFooter", "version %d" % h.version)
        if not HEADER_BYTES <= h.footer_off <= len(data):
            raise JssError("InvalidFooter", "footer_offset %d" % h.footer_off)
        if h.block_index_off != h.footer_off:
            raise JssError("InvalidFooter", "block_index_offset %d" % h.block_index_off)
        if not (h.block_index_off <= h.did_bloom_off <= h.block_bloom_off <= h.coll_off
                <= len(data)):
            raise JssError("InvalidFooter", "sections out of order")

    def _checksum(self):
        actual = checksum_of(self.data, self.data[self.header.footer_off:])
        if actual != self.header.checksum:
            raise JssError("ChecksumMismatch", "stored %016x, computed %016x"
                           % (self.header.checksum, actual))

    def _index(self):
        h = self.header
        if h.block_count > MAX_BLOCKS:
            raise JssError("InvalidFooter", "block_count %d" % h.block_count)
        if h.footer_off + INDEX.size * h.block_count > len(self.data):
            raise JssError("Read", "the block index ends behind the file")
        self.index, end, last_seq = [], HEADER_BYTES, None
        for i in range(h.block_count):
            e = IndexEntry(*INDEX.unpack_from(self.data, h.footer_off + INDEX.size * i))
            if not HEADER_BYTES <= e.offset < h.footer_off \
                    or e.offset + 8 + e.csize > h.footer_off:
                raise JssError("InvalidBlockIndex", "offset %d, %d bytes" % (e.offset, e.csize), i)
            if e.offset < end:
                raise JssError("InvalidBlockIndex", "begins inside the block before", i)
            end = e.offset + 8 + e.csize
            if e.max_seq < e.min_seq or e.max_wit < e.min_wit:
                raise JssError("InvalidBlockIndex", "bounds inverted", i)
            if e.events:
                if last_seq is not None and e.min_seq <= last_seq:
                    raise JssError("InvalidBlockIndex", "min_seq %d after %d"
                                   % (e.min_seq, last_seq), i)
                last_seq = e.max_seq
            self.index.append(e)

    def _segment_bloom(self):
        h = self.header
        blob = self.data[h.did_bloom_off:h.block_bloom_off]
        try:
            self.segment_bloom = Bloom.unmarshal(blob) if blob else None
        except GloomError as error:
            raise JssError("Decode", "segment bloom: %s" % error) from None

    def _bloom_region(self):
        h = self.header
        region = self.data[h.block_bloom_off:h.coll_off]
        if len(region) < 8:
            raise JssError("InvalidFooter", "bloom region of %d bytes" % len(region))
        count, size = struct.unpack_from("<II", region)
        if count != h.block_count:
            raise JssError("InvalidFooter", "%d blooms for %d blocks" % (count, h.block_count))
        if len(region) != 8 + count * size:
            raise JssError("InvalidFooter", "bloom region of %d bytes" % len(region))
        self.bloom_bytes = size
        self.bloom_blobs = [region[8 + i * size:8 + (i + 1) * size] for i in range(count)]

    def _collections(self):
        region = self.data[self.header.coll_off:]
        if len(region) < 16:
            raise JssError("InvalidFooter", "collection index of %d bytes" % len(region))
        count, blocks, width, usize = struct.unpack_from("<IIII", region)
        if count > MAX_NAMES or blocks > MAX_BLOCKS or usize > MAX_BODY:
            raise JssError("InvalidFooter", "collection index: a count above its cap")
        if width != (count + 7) // 8:
            raise JssError("InvalidFooter", "bitmask_len %d for %d names" % (width, count))
        body = b""
        if len(region) > 16 or usize:
            try:
                body, _ = decompress(region[16:])
            except FrameError as error:
                raise JssError("Decode", "collection index: %s" % error) from None
        if len(body) != usize:
            raise JssError("InvalidFooter", "collection index of %d bytes, %d stated"
                           % (len(body), usize))
        self.names, at = [], 0
        for _ in range(count):
            if at + 5 > len(body) or at + 5 + body[at] > len(body):
                raise JssError("InvalidFooter", "collection table does not fit")
            size, events = struct.unpack_from("<BI", body, at)
            self.names.append((body[at + 5:at + 5 + size], events))
            at += 5 + size
        self.masks = []
        for _ in range(blocks):
            if at + width > len(body):
                raise JssError("InvalidFooter", "a bitmask does not fit")
            mask = int.from_bytes(body[at:at + width], "little")
            if mask >> count:
                raise JssError("InvalidFooter", "bitmask bit without a name")
            self.masks.append(mask)
            at += width
        if at != len(body):
            raise JssError("InvalidFooter", "%d bytes behind the bitmasks" % (len(body) - at))
        if blocks != self.header.block_count:
            raise JssError("InvalidFooter", "collection index for %d blocks" % blocks)

    # ------------------------------------------------ blocks

    def frame(self, i):
        e = self.index[i]
        return self.data[e.offset + 8:e.offset + 8 + e.csize]

    def rows(self, i):
        return decode_frame(self.frame(i), i)[0]
