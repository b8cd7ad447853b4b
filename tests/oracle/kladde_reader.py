# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads a kladde file: slots, table tree, data pages, journal."""
import struct

from checksums import crc32c
from kladde_format import (BLOCK, DATA, MAGIC, PAGE, TABLE, TOP, Header, KladdeError, decode_table,
                           unpack_page)
from kladde_state import BIG, TooBig, apply, by_id, decode_records, resolve

STREAM = 4088


class Slot:
    """One header slot; `valid`, or why not: short, check, magic, page-size, kind, parity."""

    def __init__(self, data, number):
        self.number, self.header, self.epoch, self.problem = number, None, None, None
        page = data[number * PAGE:(number + 1) * PAGE]
        self.magic = page[:len(MAGIC)] == MAGIC
        framed = unpack_page(page, BLOCK.size) if len(page) == PAGE else None
        if framed is None:
            self.problem = "check" if len(page) == PAGE else "short"
            return
        kind, self.epoch, self.content = framed
        self.header = Header(*BLOCK.unpack_from(page))
        if not self.magic:
            self.problem = "magic"
        elif self.header.log2_page_size != 12:
            self.problem = "page-size"
        elif kind != TABLE:
            self.problem = "kind"
        elif self.epoch % 2 != number:
            self.problem = "parity"

    @property
    def valid(self):
        return self.problem is None


class Kladde:
    """Everything a read-only open learns. Raises KladdeError where it refuses."""

    def __init__(self, data, dialect="a"):
        self.data, self.dialect, self.pages = data, dialect, len(data) // PAGE
        self.warnings = []
        self._govern()
        self._tree()
        self._resolve()
        self.journal = Journal(self)
        self.recovered = {key: bytearray(value) for key, value in self.flushed.items()}
        for transaction in self.journal.transactions:
            for _, op, fields in transaction.records:
                apply(self.recovered, op, fields)
        self._pointers()

    def page(self, number):
        return self.data[number * PAGE:(number + 1) * PAGE]

    # ------------------------------------------------ header

    def _govern(self):
        if len(self.data) < PAGE:
            raise KladdeError("not-a-kladde-file", "%d bytes" % len(self.data))
        slots = [Slot(self.data, n) for n in (0, 1)]
        valid = [s for s in slots if s.valid]
        if not valid:
            if any(s.problem == "page-size" for s in slots):
                raise KladdeError("unsupported-page-size", "log2 is not 12")
            if any(s.magic for s in slots):
                raise KladdeError("no-valid-header", ", ".join(
                    "slot %d: %s" % (s.number, s.problem) for s in slots))
            raise KladdeError("not-a-kladde-file", "no magic in either slot")
        self.slot = max(valid, key=lambda s: s.epoch)
        self.header, self.epoch = self.slot.header, self.slot.epoch
        if self.header.min_reader_version > 0:
            raise KladdeError("unsupported-version", "reader version %d wanted"
                              % self.header.min_reader_version, self.slot.number)

    # ------------------------------------------------ tables

    def _tree(self):
        self.child_refs, self.statements, self.table_pages = {}, [], []
        seen, queue = set(), [(self.slot.number, self.slot.content, self.epoch)]
        while queue:
            number, content, epoch = queue.pop(0)
            children, statements = decode_table(content, self.dialect, epoch, number)
            self.statements += statements
            if children:
                self.child_refs[number] = children
            for child in children:
                if child >= self.pages or child in seen:
                    raise KladdeError("not-a-tree", "page %d names page %d" % (number, child),
                                      number)
                seen.add(child)
                _, epoch, content = self._framed(child, TABLE)
                self.table_pages.append(child)
                queue.append((child, content, epoch))
        self.table_pages.sort()

    def _framed(self, number, wanted):
        framed = unpack_page(self.page(number))
        if framed is None:
            raise KladdeError("page-check", "checksum", number)
        if framed[0] != wanted:
            raise KladdeError("wrong-page-kind", "kind %d" % framed[0], number)
        if framed[1] > self.epoch:
            raise KladdeError("page-newer-than-header", "epoch %d" % framed[1], number)
        return framed

    # ------------------------------------------------ allocations

    def _resolve(self):
        self.flushed, self.data_pages = {}, set()
        self.fragments = {}
        for ident, statements in sorted(by_id(self.statements).items()):
            found = resolve(statements, self.dialect)
            if found is None:
                continue
            size, pieces = found
            if size > BIG:
                raise TooBig("id %d of %d bytes" % (ident, size))
            data = bytearray(size)
            for piece in pieces:
                self._fill(data, piece)
            self.flushed[ident], self.fragments[ident] = data, pieces
        self.data_pages = sorted(self.data_pages)

    def _fill(self, data, piece):
        s = piece.statement
        skip, size = piece.start - s.offset, piece.end - piece.start
        if s.base == "Inline":
            data[piece.start:piece.end] = s.payload[skip:skip + size]
        elif s.base == "Ref":
            number = s.address // PAGE
            if not 2 <= number < self.pages:
                raise KladdeError("reference-outside-file", "page %d of %d"
                                  % (number, self.pages), s.page)
            if number not in self.data_pages:
                content = self._framed(number, DATA)[2]
                self.data_pages.add(number)
                if not 11 <= s.address % PAGE <= s.address % PAGE + s.size <= 11 + len(content):
                    self.warnings.append("Ref outside the content of page %d" % number)
            start = s.address + skip
            data[piece.start:piece.end] = self.data[start:start + size]

    def _pointers(self):
        """Journal pages that the governing world uses would be overwritten."""
        used = set(self.table_pages) | set(self.data_pages)
        for number in [self.header.journal_pointer] + self.journal.pages:
            if number in used:
                self.warnings.append("journal page %d is in use" % number)


class Transaction:
    def __init__(self, records, start, where):
        self.records, self.start, self.where = records, start, where


class _Stop(Exception):
    pass


class Journal:
    """The segment behind the governing header. `ended` says why the walk stopped,
    `pages` are those of the complete transactions, `proven` is true if a trailer
    that matched was crossed behind the last of them."""

    def __init__(self, store):
        self.store, self.transactions = store, []
        self.chain = crc32c(struct.pack("<Q", store.epoch + 1))
        self.visited, self.position = [], 0
        pages_done = 0
        first = store.header.journal_pointer
        try:
            if first < 2:
                raise _Stop("journal pointer below 2")
            if first >= store.pages:
                raise _Stop("journal pointer past the end of the file")
            self.visited.append(first)
            while True:
                self._transaction()
                pages_done = len(self.visited)
        except _Stop as stop:
            self.ended = str(stop)
        self.pages = self.visited[:pages_done]
        self.proven = len(self.visited) > max(pages_done, 1)

    def _take(self, size, feed=True):
        """Stream bytes, at most to the end of a page at a time."""
        out = bytearray()
        while size:
            offset = self.position % STREAM
            if offset == 0 and self.position // STREAM == len(self.visited):
                self._cross()
            page = self.store.page(self.visited[-1])
            piece = page[offset:min(STREAM, offset + size)]
            if feed:
                self.chain = crc32c(piece, self.chain)
            out += piece
            self.position += len(piece)
            size -= len(piece)
        return bytes(out)

    def _cross(self):
        page = self.store.page(self.visited[-1])
        following, stored = struct.unpack_from("<II", page, STREAM)
        chain = crc32c(page[STREAM:STREAM + 4], self.chain)
        if chain != stored:
            raise _Stop("trailer check failed")
        if following >= self.store.pages:
            raise _Stop("next past the end of the file")
        if following < 2 or following in self.visited:
            raise _Stop("next page not usable")
        self.chain = chain
        self.visited.append(following)

    def place(self, position):
        """(page, offset in page) of a stream position."""
        return self.visited[position // STREAM], position % STREAM

    def _transaction(self):
        start, length, shift = self.position, 0, 0
        while True:
            byte = self._take(1)[0]
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift == 35:
                raise _Stop("length over five bytes")
        if length > TOP:
            raise _Stop("length over 2^32-1")
        body = self.position
        data = self._take(length)
        value = self.chain
        stored = self._take(4, feed=False)
        if struct.unpack("<I", stored)[0] != value:
            raise _Stop("transaction check failed")
        try:
            records = decode_records(data)
        except KladdeError as error:
            raise KladdeError(error.code, error.text, self.place(body)[0]) from None
        self.transactions.append(Transaction(records, start, [
            self.place(body + offset) for offset, _, _ in records]))
