# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes kladde files: journal appends, and flushes that keep old pages.

A flush restates an id as a whole if the previous header or a dropped leaf names it,
and states only what changed if all its older statements stay in leaves.
"""
import struct

from checksums import crc32c
from kladde_format import (DATA, MAX_CONTENT, MAX_HEADER_CONTENT, MAX_INLINE, PAGE, TABLE,
                           Statement, encode_table, pack_page, pack_slot, varint)
from kladde_reader import STREAM
from kladde_state import apply, by_id, decode_records, resolve


class Journal:
    """The stream of one segment, appended to pages as it grows."""

    def __init__(self, writer, epoch, first):
        self.writer, self.first, self.pages, self.room = writer, first, [], 0
        self.chain = crc32c(struct.pack("<Q", epoch))

    def _page(self):
        w = self.writer
        if self.pages:
            number = w.take_page()
            w.pages[self.pages[-1]][STREAM:STREAM + 4] = struct.pack("<I", number)
            self.chain = crc32c(struct.pack("<I", number), self.chain)
            w.pages[self.pages[-1]][STREAM + 4:] = struct.pack("<I", self.chain)
        else:
            number = self.first
            w.grow_to(number + 1)
        self.pages.append(number)
        self.room = STREAM

    def _put(self, data, feed=True):
        while data:
            if self.room == 0:
                self._page()
            piece, data = data[:self.room], data[self.room:]
            if feed:
                self.chain = crc32c(piece, self.chain)
            at = STREAM - self.room
            self.writer.pages[self.pages[-1]][at:at + len(piece)] = piece
            self.room -= len(piece)

    def append(self, records, cut=None):
        """`cut` bytes only of the records, as a torn append leaves them."""
        self._put(varint(len(records)))
        if cut is not None:
            self._put(records[:cut])
            return
        self._put(records)
        self._put(struct.pack("<I", self.chain), feed=False)


class Writer:
    def __init__(self, rng, dialect="a", interior=False, leaf_bytes=900):
        self.random, self.dialect, self.interior = rng, dialect, interior
        self.leaf_bytes, self.epoch, self.pages = leaf_bytes, 0, []
        self.state, self.committed, self.freed = {}, {}, set()
        self.leaves, self.header_statements, self.upper = {}, [], []
        self.ready, self.retiring, self.world = set(), set(), set()
        self.fields = {}
        self.grow_to(2)
        self.pages[0][:] = pack_slot(0, b"\0", 2)
        self.journal = Journal(self, 1, 2)

    # ------------------------------------------------ pages

    def grow_to(self, count):
        while len(self.pages) < count:
            number = len(self.pages)
            self.pages.append(bytearray(PAGE))
            if number >= 2 and number != self.first_page():
                self.ready.add(number)

    def first_page(self):
        return self.journal.first if hasattr(self, "journal") else -1

    def take_page(self):
        self.grow_to(self.first_page() + 1)
        if not self.ready:
            self.grow_to(len(self.pages) + 1)
        number = min(self.ready)
        self.ready.discard(number)
        return number

    # ------------------------------------------------ records

    def transact(self, records, cut=None):
        """`records` is a list of encoded records."""
        raw = b"".join(records)
        self.journal.append(raw, cut)
        if cut is not None:
            return
        for _, op, fields in decode_records(raw):
            if op == "free":
                self.freed.add(fields["id"])
            apply(self.state, op, fields)

    # ------------------------------------------------ flush

    def flush(self, lose_header=False):
        epoch = self.epoch + 1
        dropped = {page for page in self.leaves if self.random.random() < 0.15}
        kept = by_id([s for page, found in self.leaves.items() if page not in dropped
                      for s in found])
        before = by_id(self._all())
        whole = {s.id for s in self.header_statements} \
            | {s.id for page in dropped for s in self.leaves[page]}
        changed = {i for i in set(self.state) | set(self.committed)
                   if self.state.get(i) != self.committed.get(i) or i in self.freed}
        pack = _DataPages(self, epoch)
        statements = []
        for ident in sorted(whole | changed):
            if ident in whole or ident in self.freed or ident not in self.committed \
                    or ident not in self.state:
                statements += self._whole(ident, kept.get(ident), before.get(ident, ()), pack)
            else:
                statements += self._delta(ident, pack)
        pack.close()
        for s in statements:
            s.epoch = epoch
            if s.base == "Ref":
                s.address = pack.address(s.address)
        self._commit(epoch, dropped, statements, lose_header)

    def _all(self):
        return self.header_statements + [s for found in self.leaves.values() for s in found]

    def _commit(self, epoch, dropped, statements, lose_header):
        old_world = set(self.world) | set(self.journal.pages)
        if self.journal.first < len(self.pages):
            old_world.add(self.journal.first)
        for page in dropped:
            del self.leaves[page]
        children, header = self._tables(epoch, statements)
        slot = None
        if self.ready and self.random.random() < 0.7:
            first = self.take_page()
            self.pages[first][:] = bytes(PAGE)
        else:
            self.grow_to(self.first_page() + 1)
            first = len(self.pages) + self.random.choice((0, 0, 0, 1))
        slot = pack_slot(epoch, encode_table(children, header, self.dialect), first,
                         **self.fields)
        if lose_header:
            return
        self.pages[epoch % 2][:] = slot
        self.epoch, self.header_statements = epoch, header
        self.committed = {i: bytes(d) for i, d in self.state.items()}
        self.freed = set()
        self.world = set(self.leaves) | set(self.upper) | self._data_in_use()
        self.journal = Journal(self, epoch + 1, first)
        self.ready |= self.retiring
        self.retiring = old_world - self.world - {first}

    def _data_in_use(self):
        out = set()
        for statements in by_id(self._all()).values():
            found = resolve(statements, self.dialect)
            for piece in found[1] if found else ():
                if piece.statement.base == "Ref":
                    out.add(piece.statement.address // PAGE)
        return out

    # ------------------------------------------------ statements of one id

    def _whole(self, ident, kept, before, pack):
        """Everything about the id anew; `kept` are older statements that stay."""
        if ident not in self.state:
            return [Statement("Tombstone", ident)] if kept else []
        data, out, at = bytes(self.state[ident]), [], 0
        if ident in self.committed and ident not in self.freed:
            for piece in resolve(before, self.dialect)[1]:
                s = piece.statement
                same = data[piece.start:piece.end] == self.committed[ident][piece.start:piece.end]
                if s.base == "Ref" and same and piece.end <= len(data):
                    out += self._content(ident, data, at, piece.start, pack)
                    out.append(Statement("Ref", ident, piece.start, piece.end - piece.start,
                                         s.address + piece.start - s.offset))
                    at = piece.end
        out += self._content(ident, data, at, len(data), pack)
        if self.dialect == "b":
            return self._star(ident, out, len(data))
        if kept or len(data) < len(self.committed.get(ident, b"")):
            out.append(Statement("Shrink", ident, len(data)))
            return out
        if self.random.random() < 0.5:
            out = [s for s in out if s.kind != "Zero"]
        return self._grown(ident, out, len(data))

    def _delta(self, ident, pack):
        old, new = self.committed[ident], bytes(self.state[ident])
        common, out, at = min(len(old), len(new)), [], 0
        while at < common:
            if old[at] == new[at]:
                at += 1
                continue
            end, same = at + 1, 0
            while end + same < common and same < 8:
                if old[end + same] == new[end + same]:
                    same += 1
                else:
                    end, same = end + same + 1, 0
            out += self._content(ident, new, at, end, pack)
            at = end
        out += [s for s in self._content(ident, new, len(old), len(new), pack)
                if self.dialect == "b" or s.kind != "Zero"]
        if len(new) == len(old):
            return out
        if self.dialect == "b":
            return self._star(ident, out, len(new))
        if len(new) < len(old):
            return out + [Statement("Shrink", ident, len(new))]
        return self._grown(ident, out, len(new))

    @staticmethod
    def _grown(ident, out, size):
        if not any(s.end >= size for s in out):
            out.append(Statement("Grow", ident, size))
        return out

    @staticmethod
    def _star(ident, out, size):
        for s in out:
            if s.end == size and s.size:
                s.kind += "*"
                return out
        return out + [Statement("Size", ident, size)]

    def _content(self, ident, data, start, end, pack):
        """Content statements that cover [start, end)."""
        out = []
        while start < end:
            stop = min(end, start + self.random.choice((40, 200, 2000, MAX_CONTENT)))
            piece = data[start:stop]
            if not any(piece):
                while stop < end and data[stop] == 0:
                    stop += 1
                out.append(Statement("Zero", ident, start, stop - start))
            elif len(piece) <= min(100, MAX_INLINE[self.dialect]):
                out.append(Statement("Inline", ident, start, len(piece), payload=piece))
            else:
                out.append(Statement("Ref", ident, start, len(piece), pack.add(piece)))
            start = stop
        return out

    # ------------------------------------------------ table pages

    def _tables(self, epoch, statements):
        """Moves ids into new leaves while the header is too full; (children, header)."""
        groups = [found for _, found in sorted(by_id(statements).items())]
        sizes = [len(encode_table([], g, self.dialect)) + 5 for g in groups]
        budget = self.random.choice((200, 1200, MAX_HEADER_CONTENT - 1200))
        while groups and sum(sizes) > budget:
            leaf, used = [], 0
            while groups and (not leaf or used + sizes[0] < self.leaf_bytes):
                used += sizes.pop(0)
                leaf += groups.pop(0)
            self._leaf(epoch, leaf)
        for page in self.upper:
            self.world.add(page)
        self.upper, children = [], sorted(self.leaves)
        if self.interior and len(children) > 3:
            children = [self._interior(epoch, children[i:i + 4])
                        for i in range(0, len(children), 4)]
        return children, [s for g in groups for s in g]

    def _leaf(self, epoch, statements):
        page = self.take_page()
        for s in statements:
            s.page = page
        self.pages[page][:] = pack_page(TABLE, epoch,
                                        encode_table([], statements, self.dialect))
        self.leaves[page] = statements

    def _interior(self, epoch, children):
        page = self.take_page()
        self.pages[page][:] = pack_page(TABLE, epoch, encode_table(children, [], self.dialect))
        self.upper.append(page)
        return page

    # ------------------------------------------------ the file

    def close(self):
        """Cuts the pages behind the world off, as a clean close may."""
        keep = max([1] + [p for p in self.world | set(self.journal.pages)]) + 1
        del self.pages[keep:]
        self.ready = {p for p in self.ready if p < keep}
        self.retiring = {p for p in self.retiring if p < keep}

    def image(self):
        return b"".join(map(bytes, self.pages))


class _DataPages:
    """Collects pieces into data pages; addresses are known once a page is full."""

    def __init__(self, writer, epoch):
        self.writer, self.epoch, self.content, self.places = writer, epoch, bytearray(), {}
        self.waiting, self.next = [], -1

    def add(self, piece):
        """A negative handle, to be turned into an address after `close`."""
        if len(self.content) + len(piece) > MAX_CONTENT:
            self.close()
        handle, self.next = self.next, self.next - 1
        self.waiting.append((handle, len(self.content)))
        self.content += piece
        return handle

    def close(self):
        if not self.content:
            return
        page = self.writer.take_page()
        self.writer.pages[page][:] = pack_page(DATA, self.epoch, bytes(self.content))
        for handle, offset in self.waiting:
            self.places[handle] = page * PAGE + 11 + offset
        self.content, self.waiting = bytearray(), []

    def address(self, value):
        return self.places[value] if value < 0 else value
