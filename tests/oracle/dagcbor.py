# SPDX-License-Identifier: MIT OR Apache-2.0
"""DAG-CBOR, strict both ways, and the atproto JSON form of its values.

Values are Python's own: None, bool, int, str, bytes, list, dict, and Link for
a CID. The decoder refuses everything that has a second spelling: integers that
are not minimal, indefinite lengths, keys out of order or twice, other tags,
floats (records have none), simple values other than false, true and null.
"""
import base64
import hashlib

MAX_DEPTH = 256


class CborError(ValueError):
    """The bytes are not strict DAG-CBOR."""


class Link:
    """A CID link. `raw` is the binary CID without the leading zero byte."""

    __slots__ = ("raw",)

    def __init__(self, raw):
        self.raw = bytes(raw)

    def __eq__(self, other):
        return isinstance(other, Link) and other.raw == self.raw

    def __hash__(self):
        return hash(self.raw)

    def __repr__(self):
        return "Link(%s)" % cid_text(self.raw)


# ---------------------------------------------------------------- CIDs

def cid_of(payload):
    """Binary CIDv1 of a record block: dag-cbor, sha2-256."""
    return b"\x01\x71\x12\x20" + hashlib.sha256(payload).digest()


def cid_text(raw):
    """Text form: `b`, then base32 in lower case without padding."""
    return "b" + base64.b32encode(raw).decode().lower().rstrip("=")


def cid_parse(text):
    if not text.startswith("b") or text != text.lower():
        raise ValueError("not a base32 CID: %r" % text)
    body = text[1:].upper()
    raw = base64.b32decode(body + "=" * (-len(body) % 8))
    check_cid(raw)
    if cid_text(raw) != text:
        raise ValueError("base32 with stray bits: %r" % text)
    return raw


def check_cid(raw):
    """Refuses what is not version 1, codec, hash code, digest of its stated length."""
    at, numbers = 0, []
    for _ in range(4):
        value = shift = 0
        while True:
            if at >= len(raw) or shift > 56:
                raise CborError("link: CID ends inside a varint")
            byte = raw[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise CborError("link: varint not minimal")
                break
            shift += 7
        numbers.append(value)
    if numbers[0] != 1:
        raise CborError("link: CID version %d" % numbers[0])
    if len(raw) - at != numbers[3]:
        raise CborError("link: digest of %d bytes, %d stated" % (len(raw) - at, numbers[3]))


# ---------------------------------------------------------------- encoding

def _head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << (8 * size):
            return bytes([major << 5 | info]) + value.to_bytes(size, "big")
    raise CborError("integer beyond 64 bits")


def _encode(value, out):
    if value is None:
        out.append(b"\xf6")
    elif value is False:
        out.append(b"\xf4")
    elif value is True:
        out.append(b"\xf5")
    elif isinstance(value, int):
        out.append(_head(0, value) if value >= 0 else _head(1, -1 - value))
    elif isinstance(value, str):
        raw = value.encode("utf-8")
        out.append(_head(3, len(raw)))
        out.append(raw)
    elif isinstance(value, (bytes, bytearray)):
        out.append(_head(2, len(value)))
        out.append(bytes(value))
    elif isinstance(value, Link):
        out.append(b"\xd8\x2a")
        out.append(_head(2, len(value.raw) + 1))
        out.append(b"\x00" + value.raw)
    elif isinstance(value, (list, tuple)):
        out.append(_head(4, len(value)))
        for item in value:
            _encode(item, out)
    elif isinstance(value, dict):
        out.append(_head(5, len(value)))
        pairs = sorted((len(k), k, v) for k, v in
                       ((key.encode("utf-8"), key) for key in value))
        for size, raw, key in pairs:
            out.append(_head(3, size))
            out.append(raw)
            _encode(value[key], out)
    else:
        raise CborError("no DAG-CBOR form for %s" % type(value).__name__)


def encode(value):
    out = []
    _encode(value, out)
    return b"".join(out)


# ---------------------------------------------------------------- decoding

class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise CborError("ends inside an item at %d" % self.at)
        piece = self.data[self.at:self.at + size]
        self.at += size
        return piece

    def head(self):
        first = self.take(1)[0]
        major, info = first >> 5, first & 31
        if major == 7:
            return major, info
        if info < 24:
            return major, info
        if info > 27:
            raise CborError("indefinite or reserved length at %d" % (self.at - 1))
        size = 1 << (info - 24)
        value = int.from_bytes(self.take(size), "big")
        if value < (24 if size == 1 else 1 << (4 * size)):
            raise CborError("length or integer not minimal at %d" % (self.at - size - 1))
        return major, value

    def text(self, size):
        try:
            return bytes(self.take(size)).decode("utf-8")
        except UnicodeDecodeError as error:
            raise CborError("text is not UTF-8: %s" % error) from None

    def item(self, depth):
        if depth > MAX_DEPTH:
            raise CborError("nested deeper than %d" % MAX_DEPTH)
        start = self.at
        major, value = self.head()
        if major == 0:
            return value
        if major == 1:
            return -1 - value
        if major == 2:
            return bytes(self.take(value))
        if major == 3:
            return self.text(value)
        if major == 4:
            if value > len(self.data) - self.at:
                raise CborError("array longer than the data at %d" % start)
            return [self.item(depth + 1) for _ in range(value)]
        if major == 5:
            return self.map(value, depth)
        if major == 6:
            return self.link(value)
        if value in (20, 21, 22):
            return (False, True, None)[value - 20]
        raise CborError("simple value or float at %d" % start)

    def map(self, count, depth):
        if count > len(self.data) - self.at:
            raise CborError("map longer than the data at %d" % self.at)
        out, before = {}, None
        for _ in range(count):
            major, size = self.head()
            if major != 3:
                raise CborError("map key is not text at %d" % self.at)
            key = self.text(size)
            rank = (size, key.encode("utf-8"))
            if before is not None and rank <= before:
                raise CborError("map keys out of order or twice: %r" % key)
            before = rank
            out[key] = self.item(depth + 1)
        return out

    def link(self, tag):
        if tag != 42:
            raise CborError("tag %d" % tag)
        major, size = self.head()
        if major != 2:
            raise CborError("tag 42 over something other than bytes")
        raw = bytes(self.take(size))
        if not raw or raw[0] != 0:
            raise CborError("link without the leading zero byte")
        check_cid(raw[1:])
        return Link(raw[1:])


def decode(data):
    reader = _Reader(bytes(data))
    value = reader.item(0)
    if reader.at != len(data):
        raise CborError("%d bytes behind the value" % (len(data) - reader.at))
    return value


# ---------------------------------------------------------------- JSON form

def b64(raw):
    return base64.b64encode(raw).decode().rstrip("=")


def to_json(value):
    if isinstance(value, Link):
        return {"$link": cid_text(value.raw)}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": b64(value)}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return value


def from_json(value):
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if list(value) == ["$link"] and isinstance(value["$link"], str):
            return Link(cid_parse(value["$link"]))
        if list(value) == ["$bytes"] and isinstance(value["$bytes"], str):
            text = value["$bytes"]
            raw = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
            if b64(raw) != text.rstrip("="):
                raise ValueError("base64 with stray bits")
            return raw
        return {key: from_json(item) for key, item in value.items()}
    if isinstance(value, float):
        raise ValueError("DAG-CBOR records have no floats")
    return value


def faithful(value, payload):
    """True if the JSON form leads back to the same bytes. A record whose own
    map is {"$bytes": ...} has a JSON form that means something else."""
    try:
        return encode(from_json(to_json(value))) == bytes(payload)
    except (ValueError, CborError):
        return False
