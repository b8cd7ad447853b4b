# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tay v1 on disk: walking segments, judging directories.

The physical pass of recovery: everything here is checked before any payload has a
meaning.
"""
import os
import re
import stat
import struct

from checksums import crc32c
from tay_record import (FOOTER, FOOTER_BYTES, FRAME_BYTES, HEADER_BYTES, MAX_PAYLOAD, RECORD,
                        SEGMENT, STORE_BYTES, U64, Bad, Incomplete, RecordFault, Refused,
                        check_store, decode_record, fixed_object, kind_of, segment_name)

MAX_RECORDS = 38_347_918
MAX_SEALED, MAX_ACTIVE = 1_073_741_824, 1_073_741_760
LOCK = ".tay-owner.lock"


# ---------------------------------------------------------------- segments

class Segment:
    """Result of walking one segment: records so far stay there after a refusal."""

    def __init__(self, number, data, store_id, highest, budget=MAX_PAYLOAD):
        self.number, self.data, self.highest, self.budget = number, data, highest, budget
        self.store_id, self.records, self.sealed, self.fault = store_id, [], False, None
        self.first = self.last = None
        try:
            self._header()
            self._walk()
        except Refused as refused:
            self.fault = refused

    def _refuse(self, kind, physical, reason, offset, **more):
        raise Refused(kind, physical, reason, self.number, offset, **more)

    def _incomplete(self, word, offset, expected):
        if not self.highest:
            self._refuse("physical_corruption", "sealed_history_error", word, offset,
                         available=len(self.data) - offset, expected=expected)
        self._refuse("incomplete_tail", word, word, offset,
                     available=len(self.data) - offset, expected=expected)

    def _header(self):
        data, physical = self.data[:HEADER_BYTES], "corrupt_segment_header"
        try:
            fixed_object(data, SEGMENT, HEADER_BYTES, 40)
        except Incomplete:
            self._incomplete("incomplete_segment_header", 0, HEADER_BYTES)
        except Bad as bad:
            word = str(bad)
            physical = {"unsupported_version": "unsupported_segment_version",
                        "unsupported_flags": "unsupported_segment_flags"}.get(word, physical)
            self._refuse(kind_of(word), physical, word, 0)
        number, self.first = struct.unpack_from(">QQ", data, 8)
        checks = ((number != 0, physical, "invalid_segment_id"),
                  (self.first != 0, physical, "invalid_first_sequence"),
                  (any(data[24:40]), physical, "invalid_store_id"),
                  (number == self.number, "id_or_store_mismatch", "id"),
                  (data[24:40] == self.store_id, "id_or_store_mismatch", "store_id"),
                  (len(self.data) <= MAX_SEALED, "record_or_sequence_error",
                   "segment_size_exceeds_format"))
        for good, kind, word in checks:
            if not good:
                self._refuse("physical_corruption", kind, word, 0)

    def _walk(self):
        data, at = self.data, HEADER_BYTES
        while True:
            head = bytes(data[at:at + 4])
            if not head:
                return self._active(at)
            if len(head) < 4:
                if RECORD.startswith(head):
                    self._incomplete("ambiguous_short_tail", at, 4)
                self._magic(at)
            if head == FOOTER:
                return self._footer(at)
            if head != RECORD:
                self._magic(at)
            at = self._record(at)

    def _magic(self, at):
        self._refuse("physical_corruption", "record_or_sequence_error",
                     ["corrupt", "invalid_magic"], at)

    def _active(self, at):
        if not self.highest:
            self._refuse("physical_corruption", "sealed_history_error",
                         "earlier_active_segment", at)
        if at > MAX_ACTIVE:
            self._refuse("physical_corruption", "record_or_sequence_error",
                         "active_size_exceeds_format", at)

    def _record(self, at):
        try:
            record = decode_record(self.data, at, self.budget)
        except RecordFault as fault:
            if fault.kind == "incomplete":
                size = 24
                if len(self.data) - at >= 24:
                    size = FRAME_BYTES + struct.unpack_from(">I", self.data, at + 16)[0]
                self._incomplete("incomplete_record", at, size)
            self._refuse(fault.kind, "record_or_sequence_error"
                         if fault.kind != "resource_limit" else "io_or_resource_error",
                         fault.reason, at)
        expected = self.first + len(self.records)
        if record.sequence != expected:
            self._refuse("continuity", "record_or_sequence_error",
                         ["sequence", expected, record.sequence], at)
        if len(self.records) >= MAX_RECORDS:
            self._refuse("physical_corruption", "record_or_sequence_error",
                         "record_count_exceeds_format", at)
        record.segment = self.number
        self.records.append(record)
        self.last = record.sequence
        return at + record.size

    def _footer(self, at):
        data, left = self.data[at:], len(self.data) - at
        if left < FOOTER_BYTES:
            self._incomplete("incomplete_footer", at, FOOTER_BYTES)

        def bad(word, physical="corrupt_footer"):
            self._refuse(kind_of(word), physical, word, at)

        if left > FOOTER_BYTES:
            bad("trailing_footer_bytes")
        try:
            fixed_object(data, FOOTER, FOOTER_BYTES, 60)
        except Bad as word:
            bad(str(word))
        number, first, last, count = struct.unpack_from(">QQQQ", data, 8)
        owner, stored = data[40:56], struct.unpack_from(">I", data, 56)[0]
        if number == 0:
            bad("invalid_segment_id")
        if first == 0:
            bad("invalid_first_sequence")
        if last == 0:
            bad("invalid_last_sequence")
        if not 1 <= count <= MAX_RECORDS:
            bad("invalid_record_count")
        if number != self.number:
            bad("mismatch_id")
        if first != self.first:
            bad("mismatch_first_sequence")
        if not any(owner):
            bad("invalid_store_id")
        if owner != self.store_id:
            bad("mismatch_store_id")
        if last != first + count - 1:
            bad("count_sequence_relation")
        if count != len(self.records):
            bad("mismatch_count")
        if last != self.last:
            bad("mismatch_last_sequence")
        if stored != crc32c(self.data[:at]):
            bad("mismatch_segment_crc", "segment_crc")
        self.sealed = True


# ---------------------------------------------------------------- directory

_CANONICAL = re.compile(r"[0-9]{20}\.tay\Z")
_STAGE_SEGMENT = re.compile(r"\.tay-new-([0-9]{20})-[0-9a-f]{32}\.tmp\Z")
_STAGE_STORE = re.compile(r"\.tay-store-[0-9a-f]{32}\.tmp\Z")
_STAGE_V2 = re.compile(r"\.tay-(adoption|v2-marker|current)-[0-9a-f]{32}\.tmp\Z")


def _discovery(word, argument=None, offset=None):
    return Refused("discovery", "discovery_error",
                   word if argument is None else [word, argument], offset=offset)


def _valid_id(digits):
    return 1 <= int(digits) <= U64


class Listing:
    """Names of one directory, judged in order of their raw bytes."""

    def __init__(self, path, root):
        self.path, self.root = path, root
        self.names, self.ids, self.staging, self.ignored = set(), [], 0, 0
        for raw in sorted(os.listdir(os.fsencode(path))):
            self._judge(raw)
        self.ids.sort()

    def _judge(self, raw):
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise _discovery("invalid_name_encoding", raw.hex()) from None
        facts = os.lstat(os.path.join(os.fsencode(self.path), raw))
        regular, folder = stat.S_ISREG(facts.st_mode), stat.S_ISDIR(facts.st_mode)
        if not (regular or folder):
            raise _discovery("unsupported_entry_type", name)
        if regular and facts.st_nlink != 1:
            raise _discovery("hard_link", name)
        self.names.add(name)
        if self.root and name in ("segments", "STORE", LOCK):
            if folder != (name == "segments"):
                raise _discovery("unsupported_entry_type", name)
            return
        if self.root and (folder and name == "epochs" or regular and _STAGE_V2.match(name)):
            self.ignored += 1
            return
        if name.startswith((".tay-new-", ".tay-store-")):
            self._stage(name, regular, facts.st_size)
        elif not self.root and regular and _CANONICAL.match(name) and _valid_id(name[:20]):
            if facts.st_size == 0:
                raise _discovery("zero_byte_segment", int(name[:20]))
            self.ids.append(int(name[:20]))
        elif ".tay" in name.lower():
            raise _discovery("malformed_segment_name", name)
        elif folder:
            raise _discovery("unexpected_directory", name)
        else:
            self.ignored += 1

    def _stage(self, name, regular, size):
        match = (_STAGE_STORE if self.root else _STAGE_SEGMENT).match(name)
        cap = STORE_BYTES if self.root else HEADER_BYTES
        if not regular or not match or size > cap or \
                not self.root and not _valid_id(match.group(1)):
            raise _discovery("invalid_staging_file", name)
        self.staging += 1


class Store:
    """The physical pass over a data directory. `refused` is the first refusal, if
    any; `segments` holds what was walked up to then."""

    def __init__(self, path, budget=MAX_PAYLOAD):
        self.path, self.budget = path, budget
        self.segments, self.refused, self.store_id = [], None, None
        self.staging = self.ignored = 0
        try:
            self._inspect()
        except Refused as refused:
            self.refused = refused

    def _read(self, *parts):
        with open(os.path.join(self.path, *parts), "rb") as stream:
            return stream.read()

    def _inspect(self):
        if not os.path.isdir(self.path) or not os.path.lexists(os.path.join(self.path, LOCK)):
            raise Refused("ownership_unavailable", None, "existing_root_or_lock_missing")
        root = Listing(self.path, True)
        if root.names & {"STORE-V2", "CURRENT"}:
            raise _discovery("store_v2_requires_v2_recovery", offset=0)
        ids = []
        self.staging, self.ignored = root.staging, root.ignored
        if "segments" in root.names:
            inner = Listing(os.path.join(self.path, "segments"), False)
            ids = inner.ids
            self.staging += inner.staging
            self.ignored += inner.ignored
        if ids != list(range(1, len(ids) + 1)):
            raise _discovery("noncontiguous_ids", ids)
        if "STORE" not in root.names:
            raise Refused("initialization_required", None, "missing_store_marker")
        self.store_id = check_store(self._read("STORE"))
        if not ids:
            raise _discovery("missing_history")
        for number in ids:
            self._segment(number, number == ids[-1])
        self._topology()

    def _segment(self, number, highest):
        data = self._read("segments", segment_name(number))
        segment = Segment(number, data, self.store_id, highest, self.budget)
        self.segments.append(segment)
        if segment.fault:
            raise segment.fault

    def _topology(self):
        expected = 1
        for segment in self.segments:
            if segment.first != expected:
                raise Refused("continuity", "discovery_error",
                              ["first_sequence", segment.number, expected, segment.first],
                              offset=0)
            expected = (segment.last or expected - 1) + 1
        self.next_sequence = expected
        top = self.segments[-1]
        self.exhausted = expected > U64 or top.sealed and top.number == U64

    def records(self):
        for segment in self.segments:
            yield from segment.records
