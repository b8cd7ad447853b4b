# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks of the Tay oracle: vectors, round trips, and the fixtures if present."""
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys

import hurt
import tay_record
from read_tay import Inspection
from tay_event import InvalidEvent, InvalidTransition, apply, check_event
from tay_store import Segment
from tay_value import F64, ValueRefused, decode, decode_measured, encode

HERE = os.path.dirname(os.path.abspath(__file__))
STORE_ID = bytes.fromhex("00112233445566778899aabbccddeeff")
VALUES = (
    ("00", None), ("01", False), ("02", True), ("038000000000000000", -1 << 63),
    ("03ffffffffffffffff", -1), ("040000000000000000", 0), ("047fffffffffffffff", (1 << 63) - 1),
    ("048000000000000000", 1 << 63), ("04ffffffffffffffff", (1 << 64) - 1),
    ("050000000000000000", F64(0)), ("058000000000000000", F64(1 << 63)),
    ("053ff0000000000000", F64.of(1.0)), ("050000000000000001", F64(1)),
    ("057fefffffffffffff", F64(0x7FEFFFFFFFFFFFFF)), ("0600000000", ""),
    ("060000000100", "\0"), ("0600000002c3a9", "é"), ("060000000365cc81", "e\u0301"),
    ("0600000002d087", "\u0407"), ("0600000004f09f9880", "😀"),
    ("0600000004f48fbfbf", "\U0010ffff"), ("0800000000", []), ("0900000000", {}),
    ("070000000100", b"\0"),
    ("0900000002060000000261610006000000016200", {"aa": None, "b": None}))
REFUSED = (
    ("030000000000000000", "noncanonical_integer"), ("057ff0000000000000", "nonfinite_float"),
    ("057ff8000000000000", "nonfinite_float"), ("0600000002c080", "utf8"),
    ("0600000003eda080", "utf8"), ("0600000004f4908080", "utf8"), ("0600000001c3", "utf8"),
    ("060000000180", "utf8"), ("0400", "truncated_value"), ("060000000261", "truncated_value"),
    ("09000000010000", "truncated_value"), ("0900000001000000000000", "map_key"),
    ("09000000020600000001610006000000016100", "map_order"),
    ("09000000020600000001620006000000016100", "map_order"),
    ("090000000000", "trailing_bytes"), ("0a", "unknown_tag"), ("", "truncated_value"))
RECORDS = (
    ("544159000101000100000000000000010000000044ea307b44ea307b", (1, 1, 1, 0)),
    ("5441590001010001000000000000000200000009746b5b4300ff544159007f800a4e6783e1", (1, 1, 2, 9)),
    ("5441590001fe00ffffffffffffffffff00000000fa875c6bfa875c6b", (254, 255, (1 << 64) - 1, 0)),
    ("544159000101000100000000000000010000000144ea307b44ea307b", ["corrupt", "header_checksum"]),
    ("5441590001010001000000000000000200000009746b5b4300ff544159007f800a4e6783e0",
     ["corrupt", "record_checksum"]),
    ("54415900020100010000000000000001000000005712508857125088", ["unsupported", ["format", 2]]),
    ("5441590001020001000000000000000100000000ec793778ec793778", (2, 1, 1, 0)),
    ("544159000101010100000000000000010000000010ed653d10ed653d", ["unsupported", ["flags", 1]]),
    ("5441590001010002000000000000000100000000159c78d4159c78d4", (1, 2, 1, 0)),
    ("5441590001fe00ffffffffffffffffff0100000027c2f6d3", "payload"),
    ("54415900010100010000000000000001fffffffff3728443",
     ["corrupt", ["payload_length_exceeds_format", 4294967295, 16777216]]),
    ("54415900010100010000000000000001010000016bc419c0",
     ["corrupt", ["payload_length_exceeds_format", 16777217, 16777216]]),
    ("5441590000010001000000000000000100000000b6e63d85b6e63d85",
     ["corrupt", ["invalid_format", 0]]),
    ("54415900010000010000000000000001000000002364cd7a2364cd7a",
     ["corrupt", ["reserved_type", 0]]),
    ("5441590001ff0001000000000000000100000000321c5547321c5547",
     ["corrupt", ["reserved_type", 255]]),
    ("54415900010100000000000000000001000000007438081e7438081e",
     ["corrupt", ["invalid_schema", 0]]),
    ("54415900010100010000000000000000000000007cfb5fd77cfb5fd7",
     ["corrupt", ["invalid_sequence", 0]]),
    ("544159000101000100000000000000030000000034c8ef2334c8ef23", (1, 1, 3, 0)))
POLICY = {"base_ms": 1000, "cap_ms": 60000, "jitter_divisor": 4, "version": 1}
ID = bytes(15) + b"\1"
LIFE = (
    (1, {"at": 0, "definition": {
        "args": {}, "definition_version": 1, "max_attempts": 2, "queue_key": "q",
        "retry_policy": POLICY, "scheduled_at": 10, "timeout_ms": 30000, "worker_key": "w"},
        "eligible_at": 10, "expected_revision": 0, "job_id": ID},
     "1b59a812f2b2129532a243c4586f5c8a7702ab99550e6593495715a0c111280e"),
    (2, {"at": 10, "due_at": 10, "expected_revision": 1, "job_id": ID},
     "54c6cac6d57c283e777c1d85621589f8234ec4d786766488b36d604ca67a6a06"),
    (3, {"at": 10, "attempt": 1, "cycle_token": 1, "expected_revision": 2, "job_id": ID},
     "d1097553e8e4201339b9fbab03425523d2e49b8f6d7e0d59b9596c3872b9540f"),
    (4, {"at": 11, "diagnostic": {"code": 1, "version": 1}, "disposition": 1,
         "execution_token": 3, "expected_revision": 3, "job_id": ID, "next_attempt": 2,
         "next_due_at": 1011, "outcome": 1},
     "1884923c049b0500e4e61872b09285c68f1bbc715cd00448edbf8f6d0a1db73a"),
    (6, {"at": 12, "expected_revision": 4, "job_id": ID, "mode": 0, "new_due_at": 12},
     "bb31c3ba2edb45900164723f1150d13b4418540387f04ad57b3732fcd04d0a5f"),
    (5, {"at": 13, "execution_token": None, "expected_revision": 5, "job_id": ID},
     "999d5dd5da12cb2b80070ea90fe60c8eec97112e1cffe8d236e5ef8da7f3d757"))


def _refusal(call, *args):
    try:
        return "accepted %r" % (call(*args),)
    except ValueRefused as fault:
        return fault.reason
    except tay_record.RecordFault as fault:
        return fault.reason


def _values(suite):
    for text, value in VALUES:
        raw = bytes.fromhex(text)
        suite.check("tay value %s" % text, decode(raw) == value and encode(value) == raw
                    and type(decode(raw)) is type(value))
    for text, reason in REFUSED:
        suite.equal("tay refuses %s" % (text or "nothing"), _refusal(decode, bytes.fromhex(text)),
                    reason)
    raw = encode(LIFE[0][1])
    suite.equal("tay cost of E1", decode_measured(raw)[1:], (4, 35, 185))
    for budgets, word in (((3, 35, 185), "depth"), ((4, 34, 185), "output_nodes"),
                          ((4, 35, 184), "binary_bytes")):
        suite.equal("tay budget %s" % word, _refusal(decode, raw, *budgets), word)


def _records(suite):
    for number, (text, wanted) in enumerate(RECORDS, 1):
        raw = bytes.fromhex(text)
        try:
            r = tay_record.decode_record(raw)
            got = (r.kind, r.schema, r.sequence, len(r.payload))
            same = tay_record.pack_record(r.kind, r.sequence, r.payload, r.schema) == raw
        except tay_record.RecordFault as fault:
            got, same = fault.reason, True
        suite.check("tay record f%02d" % number, got == wanted and same, got)
    raw = tay_record.pack_record(1, 2, b"payload")
    cuts = [_refusal(tay_record.decode_record, raw[:n]) for n in range(len(raw))]
    suite.equal("tay cut records", cuts,
                ["header"] * 24 + ["payload"] * 7 + ["checksum"] * 4)
    flips = [bit for bit in range(8 * len(raw)) if str(_refusal(
        tay_record.decode_record, hurt.hurt(raw, ["flip %d.%d" % (bit // 8, bit % 8)])
    )).startswith("accepted")]
    suite.equal("tay flipped records", flips, [])


def _events(suite):
    jobs = {}
    for sequence, (kind, event, digest) in enumerate(LIFE, 1):
        frame = tay_record.pack_record(kind, sequence, encode(event))
        check_event(kind, event)
        apply(jobs, kind, event, sequence)
        suite.equal("tay event frame %d" % sequence, hashlib.sha256(frame).hexdigest(), digest)
    job = jobs[ID]
    suite.equal("tay job after six events",
                (job.state, job.revision, job.attempt, job.next_attempt, job.cycle,
                 job.execution, job.attempted_at, job.diagnostic["code"]),
                ("cancelled", 6, 1, None, 1, None, 10, 1))
    for name, kind, change in (("missing key", 5, {"execution_token": KeyError}),
                               ("extra key", 5, {"x": None}), ("success retryable", 4,
                                                               {"outcome": 0}),
                               ("boolean for a number", 3, {"attempt": True}),
                               ("zero id", 2, {"job_id": bytes(16)}),
                               ("float for a time", 2, {"due_at": F64.of(10.0)})):
        event = dict(next(e for k, e, _ in LIFE if k == kind))
        event.update(change)
        event = {k: v for k, v in event.items() if v is not KeyError}
        try:
            check_event(kind, event)
            good = False
        except InvalidEvent:
            good = True
        suite.check("tay invalid event: %s" % name, good)
    jobs = {}
    for sequence, (kind, event, _) in enumerate(LIFE[:2], 1):
        apply(jobs, kind, event, sequence)
    try:
        apply(jobs, 3, dict(LIFE[2][1], attempt=2), 3)
        good = False
    except InvalidTransition:
        good = True
    suite.check("tay N7 is refused", good)


def _segments(suite):
    head = tay_record.pack_header(1, 1, STORE_ID)
    one = head + tay_record.pack_record(1, 1, b"")
    sealed = one + tay_record.pack_footer(1, 1, 1, STORE_ID, 0xCB674BB0)
    suite.equal("tay STORE", tay_record.pack_store(STORE_ID).hex(),
                "544159490100000000112233445566778899aabbccddeeffae533c93")
    suite.equal("tay segment CRCs", (head[40:].hex(), sealed[-4:].hex()),
                ("3d7c68b9", "5c6fd9b9"))
    whole = Segment(1, sealed, STORE_ID, True)
    suite.check("tay sealed segment", whole.fault is None and whole.sealed)
    flips = [bit for bit in range(8 * len(sealed)) if not Segment(
        1, hurt.hurt(sealed, ["flip %d.%d" % (bit // 8, bit % 8)]), STORE_ID, True).fault]
    suite.equal("tay flipped segments", flips, [])
    for cut in range(1, 64):
        fault = Segment(1, sealed[:72 + cut], STORE_ID, True).fault
        word = "ambiguous_short_tail" if cut < 4 else "incomplete_footer"
        suite.check("tay footer of %d bytes" % cut, fault and fault.offset == 72
                    and (fault.kind, fault.reason) == ("incomplete_tail", word))


def _tools(suite):
    out = suite.folder("tay")
    for name, extra in (("active", []), ("sealed", ["--sealed", "--stages"])):
        path = os.path.join(out, name)
        made = subprocess.run([sys.executable, os.path.join(HERE, "make_tay.py"), "--out", path,
                               "--jobs", "60", "--rotate", "9000"] + extra, capture_output=True)
        facts = json.loads(made.stdout)
        found = Inspection(path)
        got = found.expected()
        suite.check("make_tay %s" % name, not found.refused and facts["segments"] > 3
                    and got["record_count"] == facts["records"]
                    and got["jobs"] == facts["jobs"] and len(facts["events"]) == 6
                    and found.store.segments[-1].sealed == (name == "sealed"), got)
    path = os.path.join(out, "torn")
    shutil.copytree(os.path.join(out, "active"), path)
    top = sorted(glob.glob(os.path.join(path, "segments", "*.tay")))[-1]
    os.truncate(top, os.path.getsize(top) - 1)
    suite.equal("tay torn tail", Inspection(path).expected()["kind"], "incomplete_tail")


def _fixtures(suite):
    folder = os.path.join(suite.fixtures, "tay")
    for path in sorted(glob.glob(os.path.join(folder, "stores", "*", "*.json"))):
        with open(path, encoding="utf-8") as stream:
            wanted = json.load(stream)
        found = Inspection(path[:-5])
        got = found.expected()
        differs = [k for k in wanted["expected"] if got.get(k) != wanted["expected"][k]]
        if "jobs" in wanted:
            parts = {"jobs": found.sorted_jobs(), "segments": found.segments(),
                     "records": list(found.records())}
            differs += [key for key, value in parts.items() if value != wanted[key]]
        suite.check("tay store %s" % wanted["name"], not differs, (differs, got))
    for path in sorted(glob.glob(os.path.join(folder, "events", "*.hex"))):
        with open(path, encoding="ascii") as stream:
            raw = bytes.fromhex("".join(stream.read().split()))
        name = os.path.basename(path)[:-4]
        if name[0] == "E" or name == "N7":
            record = tay_record.decode_record(raw)
            event = decode(record.payload)
            check_event(record.kind, event)
            good = encode(event) == record.payload
        elif name[0] == "V":
            good = encode(decode(raw)) == raw
        elif name in ("N5", "N6", "N8"):
            try:
                check_event(4 if name == "N8" else 5, decode(raw))
                good = False
            except InvalidEvent:
                good = True
        else:
            good = not str(_refusal(decode, raw)).startswith("accepted")
        suite.check("tay vector %s" % name, good)


def run(suite):
    _values(suite)
    _records(suite)
    _events(suite)
    _segments(suite)
    _tools(suite)
    if suite.fixtures:
        _fixtures(suite)
