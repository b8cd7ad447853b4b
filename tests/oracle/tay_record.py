# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tay v1 bytes: STORE, segment header, record, segment footer, both ways.

Refusals carry what an inspection reports.
"""
import struct

from checksums import crc32c

U64 = (1 << 64) - 1
RECORD, SEGMENT, FOOTER, STORE = b"TAY\0", b"TAYS", b"TAYF", b"TAYI"
HEADER_BYTES, FOOTER_BYTES, STORE_BYTES, FRAME_BYTES = 44, 64, 28, 28
MAX_PAYLOAD = 16_777_216


class Refused(Exception):
    def __init__(self, kind, physical, reason, segment=None, offset=None, sequence=None,
                 **more):
        super().__init__("%s: %s" % (kind, reason))
        self.kind, self.physical, self.reason = kind, physical, reason
        self.segment, self.offset, self.sequence, self.more = segment, offset, sequence, more

    def as_json(self):
        out = {"state": "refused", "kind": self.kind, "physical_kind": self.physical,
               "reason": self.reason, "segment_id": self.segment, "offset": self.offset,
               "sequence": self.sequence, "mutation": "none", "action": "preserve_and_stop"}
        out.update(self.more)
        return out


# ---------------------------------------------------------------- writing

def pack_store(store_id):
    body = STORE + b"\1\0\0\0" + store_id
    return body + struct.pack(">I", crc32c(body))


def pack_header(segment, first, store_id):
    body = SEGMENT + b"\1\0\0\0" + struct.pack(">QQ", segment, first) + store_id
    return body + struct.pack(">I", crc32c(body))


def pack_record(kind, sequence, payload, schema=1):
    if not (1 <= kind <= 254 and 1 <= schema <= 255 and 1 <= sequence <= U64
            and len(payload) <= MAX_PAYLOAD):
        raise ValueError("a record that cannot be written")
    head = RECORD + bytes([1, kind, 0, schema]) + struct.pack(">QI", sequence, len(payload))
    head_crc = crc32c(head)
    return b"".join((head, struct.pack(">I", head_crc), payload,
                     struct.pack(">I", crc32c(payload, head_crc))))


def pack_footer(segment, first, count, store_id, segment_crc):
    body = FOOTER + b"\1\0\0\0" + struct.pack(
        ">QQQQ", segment, first, first + count - 1, count) + store_id \
        + struct.pack(">I", segment_crc)
    return body + struct.pack(">I", crc32c(body))


def segment_name(number):
    return "%020d.tay" % number


# ---------------------------------------------------------------- fixed objects

class Incomplete(Exception):
    pass


class Bad(Exception):
    """A word of the fixed-object order."""


def fixed_object(data, magic, size, crc_at):
    if data[:4] != magic[:len(data[:4])]:
        raise Bad("invalid_magic")
    if len(data) < 5:
        raise Incomplete()
    if data[4] == 0:
        raise Bad("invalid_version")
    if data[4] > 1:
        raise Bad("unsupported_version")
    if len(data) < size:
        raise Incomplete()
    if struct.unpack_from(">I", data, crc_at)[0] != crc32c(data[:crc_at]):
        raise Bad("checksum")
    if data[5]:
        raise Bad("unsupported_flags")
    if data[6:8] != b"\0\0":
        raise Bad("reserved_bytes")


def kind_of(word):
    return "unsupported_physical" if word.startswith("unsupported_") else "physical_corruption"


def check_store(data):
    """The STORE_ID."""
    try:
        fixed_object(data, STORE, STORE_BYTES, 24)
        if len(data) > STORE_BYTES:
            raise Bad("trailing_store_bytes")
        if not any(data[8:24]):
            raise Bad("invalid_store_id")
    except Incomplete:
        raise Refused("physical_corruption", "corrupt_store", "incomplete_store",
                      offset=0) from None
    except Bad as bad:
        raise Refused(kind_of(str(bad)), "corrupt_store", str(bad), offset=0) from None
    return data[8:24]


# ---------------------------------------------------------------- records

class RecordFault(Exception):
    """`reason` as an inspection reports it: incomplete_*, or [class, detail]."""

    def __init__(self, kind, reason):
        super().__init__(str(reason))
        self.kind, self.reason = kind, reason


class Record:
    __slots__ = ("kind", "schema", "sequence", "payload", "size", "segment", "offset")


def decode_record(data, at=0, budget=MAX_PAYLOAD):
    """The record at `at`; the order of the checks decides which fault is told."""
    def corrupt(reason):
        raise RecordFault("physical_corruption", ["corrupt", reason])

    def unsupported(reason):
        raise RecordFault("unsupported_physical", ["unsupported", reason])

    def incomplete(part):
        raise RecordFault("incomplete", part)

    available = len(data) - at
    head = bytes(data[at:at + 24])
    if head[:4] != RECORD[:len(head[:4])]:
        corrupt("invalid_magic")
    if available < 5:
        incomplete("header")
    if head[4] == 0:
        corrupt(["invalid_format", 0])
    if head[4] > 1:
        unsupported(["format", head[4]])
    if available < 24:
        incomplete("header")
    sequence, size, stored = struct.unpack_from(">QII", head, 8)
    head_crc = crc32c(head[:20])
    if stored != head_crc:
        corrupt("header_checksum")
    if head[6]:
        unsupported(["flags", head[6]])
    if head[5] in (0, 255):
        corrupt(["reserved_type", head[5]])
    if head[7] == 0:
        corrupt(["invalid_schema", 0])
    if sequence == 0:
        corrupt(["invalid_sequence", 0])
    if size > MAX_PAYLOAD:
        corrupt(["payload_length_exceeds_format", size, MAX_PAYLOAD])
    if size > budget:
        raise RecordFault("resource_limit", ["resource_limit", size, budget])
    if available < 24 + size:
        incomplete("payload")
    if available < FRAME_BYTES + size:
        incomplete("checksum")
    out = Record()
    out.payload = bytes(data[at + 24:at + 24 + size])
    if struct.unpack_from(">I", data, at + 24 + size)[0] != crc32c(out.payload, head_crc):
        corrupt("record_checksum")
    out.kind, out.schema, out.sequence = head[5], head[7], sequence
    out.size, out.segment, out.offset = FRAME_BYTES + size, None, at
    return out
