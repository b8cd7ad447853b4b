# SPDX-License-Identifier: MIT OR Apache-2.0
"""Deep verification of sealed jss segments, and the walk over active ones."""
import struct

from gloom import Bloom, GloomError
from jss_check import JssError, decode_frame
from jss_oracle import (HEADER, HEADER_BYTES, INDEX, MAGIC, block_index, make_block, names_of)
from zstd_frame import MAGIC as ZSTD_MAGIC, FrameError, inspect


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
