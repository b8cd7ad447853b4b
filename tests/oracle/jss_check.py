# SPDX-License-Identifier: MIT OR Apache-2.0
"""A strict reader of jss segments: checks at open in the description's order,
block decoding, deep verification, the walk over an active file."""
import struct
from array import array

from gloom import Bloom, GloomError
from jss_oracle import (HEADER, HEADER_BYTES, INDEX, KINDS, MAGIC, MAX_BLOCKS, MAX_BODY,
                        MAX_NAMES, MAX_ROWS, SENTINELS, Header, IndexEntry, Row, _SWAP,
                        block_index, checksum_of, make_block, names_of)
from zstd_frame import MAGIC as ZSTD_MAGIC, FrameError, decompress, inspect


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
    if _SWAP:
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


# ---------------------------------------------------------------- deep verification

class _Deep:
    def __init__(self, segment):
        self.s, self.errors, self.warnings = segment, [], []
        self.dids, self.counts = set(), {}
        self.total, self.last_seq = 0, None

    def error(self, text, block=None):
        self.errors.append(JssError("VerifyMismatch", text, block))

    def warn(self, text, block=None):
        self.warnings.append(JssError("Warning", text, block))

    def block(self, i, rows, usize, checksummed):
        s, e, h = self.s, self.s.index[i], self.s.header
        self.total += len(rows)
        if len(rows) != e.events:
            self.error("%d rows, index says %d" % (len(rows), e.events), i)
        for r in rows:
            if not (e.min_seq <= r.seq <= e.max_seq and e.min_wit <= r.witnessed_at <= e.max_wit):
                self.error("row of seq %d is outside the block's bounds" % r.seq, i)
            if not (h.min_seq <= r.seq <= h.max_seq and h.min_wit <= r.witnessed_at <= h.max_wit):
                self.error("row of seq %d is outside the header's bounds" % r.seq, i)
            if self.last_seq is not None and r.seq <= self.last_seq:
                self.warn("seq %d after %d" % (r.seq, self.last_seq), i)
            self.last_seq = r.seq
        names = names_of(rows)
        for name, count in names.items():
            self.counts[name] = self.counts.get(name, 0) + count
        table = [name for name, _ in s.names]
        marked = [table[b] for b in range(len(table)) if s.masks[i] >> b & 1]
        if sorted(marked) != sorted(names):
            self.error("bitmask says %r, rows have %r" % (sorted(marked), sorted(names)), i)
        self.block_bloom(i, {r.did for r in rows if r.did})
        prefix, = struct.unpack_from("<Q", s.data, e.offset)
        if prefix != e.csize:
            self.warn("length prefix %d, index says %d" % (prefix, e.csize), i)
        if usize != e.usize:
            self.warn("body of %d bytes, index says %d" % (usize, e.usize), i)
        if not checksummed:
            self.warn("no-content-checksum", i)

    def block_bloom(self, i, dids):
        self.dids |= dids
        try:
            bloom = Bloom.unmarshal(self.s.bloom_blobs[i])
        except GloomError as error:
            self.error("block bloom: %s" % error, i)
            return
        for did in sorted(dids):
            if not bloom.test(did):
                self.error("block bloom denies %r" % did, i)
        if bloom.count != len(dids):
            self.warn("block bloom counts %d of %d dids" % (bloom.count, len(dids)), i)

    def whole(self, decoded_all):
        s, h = self.s, self.s.header
        if decoded_all:
            if self.total != h.event_count:
                self.error("event_count %d, rows %d" % (h.event_count, self.total))
            if len(self.dids) != h.unique_did_count:
                self.error("unique_did_count %d, rows have %d"
                           % (h.unique_did_count, len(self.dids)))
            self.table()
        if s.segment_bloom is None:
            if self.dids:
                self.error("no segment bloom although there are dids")
        else:
            for did in sorted(self.dids):
                if not s.segment_bloom.test(did):
                    self.error("segment bloom denies %r" % did)
            if decoded_all and s.segment_bloom.count != len(self.dids):
                self.warn("segment bloom counts %d of %d dids"
                          % (s.segment_bloom.count, len(self.dids)))
        if h.event_count != sum(e.events for e in s.index):
            self.warn("event_count is not the sum of the index")
        end = HEADER_BYTES
        for i, e in enumerate(s.index):
            if e.offset != end:
                self.warn("%d bytes before the frame" % (e.offset - end), i)
            end = e.offset + 8 + e.csize
        if end != h.footer_off:
            self.warn("%d bytes between the frames and the footer" % (h.footer_off - end))
        if h.did_bloom_off != h.footer_off + INDEX.size * h.block_count:
            self.warn("the segment bloom does not follow the index directly")
        if any(s.data[HEADER.size:HEADER_BYTES]):
            self.warn("reserved header bytes are not zero")

    def table(self):
        table = {}
        for name, count in self.s.names:
            if name in table:
                self.error("name %r twice" % name)
            table[name] = count
            if name not in self.counts:
                self.error("name %r is in no row" % name)
            elif count != self.counts[name]:
                self.error("name %r counts %d, rows %d" % (name, count, self.counts[name]))
        for name in self.counts:
            if name not in table:
                self.error("name %r is missing" % name)


def deep_verify(segment):
    """(rows per block or None, errors, warnings)"""
    deep, blocks = _Deep(segment), []
    for i in range(len(segment.index)):
        try:
            rows, usize, checksummed = decode_frame(segment.frame(i), i)
        except JssError as error:
            deep.errors.append(error)
            blocks.append(None)
            continue
        deep.block(i, rows, usize, checksummed)
        blocks.append(rows)
    deep.whole(None not in blocks)
    return blocks, deep.errors, deep.warnings


# ---------------------------------------------------------------- active files

class Walk:
    """Rows per block of an active file, `good_end`, and what ends it: `tail` is
    None, torn-tail, zero-tail, orphaned-footer, or damage (with `error`)."""

    def __init__(self, data):
        self.blocks, self.infos, self.tail, self.error = [], [], None, None
        self.warnings = []
        if len(data) < HEADER_BYTES:
            raise JssError("CorruptSegment", "file of %d bytes" % len(data))
        if data[:4] != MAGIC:
            raise JssError("CorruptSegment", "magic %s" % data[:4].hex())
        if any(data[4:12]):
            raise JssError("SegmentSealed", "sealed")
        if any(data[12:HEADER_BYTES]):
            raise JssError("InvalidFooter", "checksum 0, but the header is filled")
        self.data, at = data, HEADER_BYTES
        while at < len(data):
            following = self._frame(at)
            if following is None:
                break
            at = following
        self.good_end = at

    def _frame(self, at):
        data = self.data
        rest = len(data) - at
        if not any(data[at:]) or rest >= 8 and not any(data[at + 8:]) and rest > 8:
            return self._end("zero-tail")
        if rest < 8:
            return self._end("torn-tail")
        size, = struct.unpack_from("<Q", data, at)
        if data[at + 8:at + 12] != ZSTD_MAGIC and self._is_footer(at):
            return self._end("orphaned-footer")
        if size > rest - 8:
            try:
                whole = inspect(data, at + 8)
            except FrameError:
                return self._end("torn-tail")
            return self._damage("length prefix %d, but a frame of %d bytes follows"
                                % (size, whole.size))
        try:
            rows, _, checksummed = decode_frame(data[at + 8:at + 8 + size], len(self.blocks))
        except JssError as error:
            return self._damage(error.text)
        if not rows:
            return self._damage("a frame without rows")
        if not checksummed:
            self.warnings.append(JssError("Warning", "no-content-checksum", len(self.blocks)))
        info = make_block(rows, compressor=len)
        info.frame = data[at + 8:at + 8 + size]
        self.infos.append(info)
        self.blocks.append(rows)
        return at + 8 + size

    def _is_footer(self, at):
        """Do the bytes at `at` begin with the block index of the frames so far?"""
        index = block_index(self.infos)
        present = min(len(self.data) - at, len(index)) // INDEX.size * INDEX.size
        return present >= INDEX.size and self.data[at:at + present] == index[:present]

    def _end(self, tail):
        self.tail = tail

    def _damage(self, text):
        self.tail, self.error = "damage", JssError("Decode", text, len(self.blocks))


__all__ = ["JssError", "Sealed", "Walk", "deep_verify", "decode_frame", "decode_body", "KINDS",
           "SENTINELS"]
