# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kladde pages: varints, framing, header slots, address-table content.

Both dialects of the table are here; which one a file uses must be told, since
nothing in the file says it.
"""
import struct
from collections import namedtuple

from checksums import crc32c

PAGE = 4096
MAX_CONTENT, MAX_HEADER_CONTENT = 4081, 4033
MAGIC = bytes.fromhex("8b4b4c414444450d0a1a0a")
BLOCK = struct.Struct("<11sBHHIII16sI")                     # 48 bytes
TABLE, DATA = 1, 2
TOP = (1 << 32) - 1


class KladdeError(Exception):
    """`code` is the class of damage, `page` where it was met, if anywhere."""

    def __init__(self, code, text, page=None):
        super().__init__("%s: %s%s" % (code, text, "" if page is None else " (page %d)" % page))
        self.code, self.text, self.page = code, text, page


class VarintError(ValueError):
    pass


# ---------------------------------------------------------------- varints

def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(data, at, end=None):
    """(value, next position); redundant zero groups are accepted."""
    end = len(data) if end is None else end
    value = shift = 0
    while True:
        if at >= end:
            raise VarintError("varint ends inside")
        byte = data[at]
        at += 1
        if shift == 63 and byte > 1 or shift > 63:
            raise VarintError("varint over 64 bits")
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


# ---------------------------------------------------------------- pages

def pack_page(kind, epoch, content, block=b""):
    """A framed page; `block` is the 48-byte header block of a slot."""
    if len(content) > (MAX_HEADER_CONTENT if block else MAX_CONTENT):
        raise ValueError("content of %d bytes" % len(content))
    head = block + struct.pack("<BQ", kind, epoch)
    crc = crc32c(content, crc32c(head))
    out = head + struct.pack("<H", len(content)) + content + struct.pack("<I", crc)
    return out + bytes(PAGE - len(out))


def unpack_page(page, base=0):
    """(kind, epoch, content) of a framed page, or None if it fails its check.
    `base` is 48 in a slot."""
    kind, epoch, size = struct.unpack_from("<BQH", page, base)
    start = base + 11
    if start + size + 4 > PAGE:
        return None
    content = page[start:start + size]
    stored, = struct.unpack_from("<I", page, start + size)
    if crc32c(content, crc32c(page[:base + 9])) != stored:
        return None
    return kind, epoch, content


Header = namedtuple("Header", "magic log2_page_size format_version min_reader_version "
                    "root_allocation schema_table consolidator_state root_fingerprint "
                    "journal_pointer")


def pack_slot(epoch, content, journal_pointer, root=0, schema=0, consolidator=0,
              fingerprint=bytes(16), version=0):
    block = BLOCK.pack(MAGIC, 12, version, 0, root, schema, consolidator, fingerprint,
                       journal_pointer)
    return pack_page(TABLE, epoch, content, block)


# ---------------------------------------------------------------- statements

class Statement:
    """`kind`: Ref, Zero, Shrink, Grow, Tombstone, Inline (dialect A); Ref, Zero,
    Inline with or without `*`, Size, Tombstone (dialect B). `offset` is n where
    there is no range."""

    __slots__ = ("kind", "id", "offset", "size", "address", "payload", "epoch", "page")

    def __init__(self, kind, ident, offset=0, size=0, address=0, payload=b"", epoch=0, page=0):
        self.kind, self.id, self.offset, self.size = kind, ident, offset, size
        self.address, self.payload, self.epoch, self.page = address, payload, epoch, page

    @property
    def base(self):
        return self.kind.rstrip("*")

    @property
    def end(self):
        return self.offset + self.size

    @property
    def content(self):
        return self.base in ("Ref", "Zero", "Inline")

    def __repr__(self):
        return "%s(%d, %d, %d)@%d" % (self.kind, self.id, self.offset, self.size, self.epoch)


_TAGS = {"a": {"Ref": 0, "Zero": 1, "Shrink": 2, "Grow": 3, "Tombstone": 4},
         "b": {"Ref": 0, "Ref*": 1, "Zero": 2, "Zero*": 3, "Tombstone": 4, "Size": 5}}
_KINDS = {dialect: {tag: kind for kind, tag in tags.items()} for dialect, tags in _TAGS.items()}
MAX_INLINE = {"a": 251, "b": 125}


def _tag(statement, dialect):
    if statement.base == "Inline":
        if not 1 <= statement.size <= MAX_INLINE[dialect]:
            raise ValueError("inline of %d bytes" % statement.size)
        if dialect == "a":
            return 4 + statement.size
        return 4 + 2 * statement.size + statement.kind.endswith("*")
    return _TAGS[dialect][statement.kind]


def encode_table(children, statements, dialect="a"):
    out, cursor = bytearray(), 0
    for child in sorted(children):
        out += varint(child - cursor)
        cursor = child
    out.append(0)
    ident = offset = 0
    for s in sorted(statements, key=lambda s: (s.id, s.offset, s.size)):
        out += varint(s.id - ident)
        if s.id != ident:
            offset = 0
        ident = s.id
        tag = _tag(s, dialect)
        out.append(tag)
        if s.kind == "Tombstone":
            continue
        out += varint(s.offset - offset)
        offset = s.offset
        if s.base in ("Ref", "Zero"):
            out += varint(s.size)
        if s.base == "Ref":
            out += varint(s.address)
        out += s.payload
        if s.content:
            offset += s.size
    return bytes(out)


class _Table:
    """Decodes one page's content into `children` and `statements`."""

    def __init__(self, content, dialect, epoch, page):
        self.data, self.at, self.page = content, 0, page
        self.children, self.statements = [], []
        try:
            self._children()
            self._statements(dialect, epoch)
        except VarintError as error:
            self._bad(str(error))

    def _bad(self, text):
        raise KladdeError("malformed-table-page", text, self.page)

    def _varint(self):
        value, self.at = read_varint(self.data, self.at)
        return value

    def _children(self):
        cursor = 0
        while True:
            if self.at >= len(self.data):
                self._bad("child list without delimiter")
            delta = self._varint()
            if delta == 0:
                return
            cursor += delta
            if not 2 <= cursor <= TOP:
                raise KladdeError("child-out-of-range", "child %d" % cursor, self.page)
            self.children.append(cursor)

    def _statements(self, dialect, epoch):
        ident = offset = 0
        while self.at < len(self.data):
            delta = self._varint()
            ident += delta
            if not 1 <= ident <= TOP:
                self._bad("id %d" % ident)
            offset = 0 if delta else offset
            if self.at >= len(self.data):
                self._bad("statement without a tag")
            tag = self.data[self.at]
            self.at += 1
            kind = _KINDS[dialect].get(tag)
            size = 0
            if kind is None:
                star = dialect == "b" and tag & 1
                kind, size = ("Inline*" if star else "Inline"), \
                    (tag - 4 if dialect == "a" else (tag - 4) >> 1)
            s = Statement(kind, ident, size=size, epoch=epoch, page=self.page)
            if kind != "Tombstone":
                offset = self._place(s, offset)
            self.statements.append(s)

    def _place(self, s, offset):
        offset += self._varint()
        if offset > TOP:
            self._bad("offset %d" % offset)
        s.offset = offset
        if s.base in ("Ref", "Zero"):
            s.size = self._varint()
        if s.base == "Ref":
            s.address = self._varint()
            if s.address % PAGE + s.size > PAGE:
                self._bad("Ref across a page boundary")
        if s.base == "Inline":
            s.payload = self.data[self.at:self.at + s.size]
            if len(s.payload) < s.size:
                self._bad("inline payload past the content")
            self.at += s.size
        if s.end > TOP:
            self._bad("range ends at %d" % s.end)
        return s.end


def decode_table(content, dialect="a", epoch=0, page=0):
    table = _Table(content, dialect, epoch, page)
    return table.children, table.statements
