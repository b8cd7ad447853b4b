#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Read an arena journal (formats 1 to 4): an arena directory or the store around it.

  read_arena.py STORE            frames as JSON Lines
  read_arena.py STORE --cat      frames with decoded transactions
  read_arena.py STORE --state    the live state of HMS-TXN-2 transactions
  read_arena.py STORE --summary  one JSON document: geometry, ends, verdict

Segments are judged on their zero-extended image. --salvage also prints frames
behind damage and behind an end. Findings go to stderr.

Exit codes: 0 clean, 1 torn tail, 2 damaged or refused, 3 not understood
(newer format, documents.ckpt).
"""
import argparse
import hashlib
import json
import sys

import dagcbor
from arena_state import MAGIC, MAGIC_3, PayloadError, State, compact, decode
from arena_store import ArenaError, Store

SMALL = 4096


def frame_line(number, frame):
    out = {"segment": number, "offset": frame.offset, "seq": frame.seq,
           "raw_len": len(frame.payload), "comp_len": frame.comp_len,
           "payload_sha256": hashlib.sha256(frame.payload).hexdigest()}
    if len(frame.payload) <= SMALL:
        out["payload_b64"] = dagcbor.b64(frame.payload)
    return out


def payload_json(payload, encrypted):
    raw = {"$bytes": dagcbor.b64(payload)}
    if payload.startswith(MAGIC_3):
        return dict({"txn": 3}, **raw)
    if payload.startswith(MAGIC):
        try:
            mutations = decode(payload)
        except PayloadError:
            return raw
        if MAGIC + compact(mutations).encode("utf-8") == payload:
            return {"txn": 2, "mutations": mutations}
        return raw
    return dict({"encrypted": True}, **raw) if encrypted else raw


def cat_line(index, number, frame, store):
    return {"frame": index, "seq": frame.seq, "raw_len": len(frame.payload),
            "comp_len": frame.comp_len,
            "payload": payload_json(frame.payload, bool(store.schema
                                                        and store.schema.get("encrypted"))),
            "at": {"segment": number, "offset": frame.offset,
                   "global": number * store.segment_size + frame.offset}}


class Reading:
    """All segments of a store, walked. `problems` holds (exit code, text)."""

    def __init__(self, path):
        self.store, self.walks, self.problems, self.refused = None, [], [], None
        try:
            self.store = Store(path)
            if self.store.schema_problem:
                problem = self.store.schema_problem
                self.problems.append((problem.exit, str(problem)))
            for number, walk in self.store.walks():
                self.walks.append(walk)
                self._judge(number, walk)
        except ArenaError as error:
            self.refused = error
            self.problems.append((error.exit, str(error)))
        if self.store and "checkpoint-unsupported" in self.store.notes:
            self.problems.append((3, "checkpoint-unsupported"))

    def _judge(self, number, walk):
        end = walk.end
        if walk.verdict == "torn":
            self.problems.append((1, "torn at segment %d, %d: %s"
                                  % (number, end.offset, end.reason)))
        elif walk.verdict != "clean":
            proof = ", proof: %s at %d" % (walk.proof.kind, walk.proof.offset) \
                if walk.proof else ""
            self.problems.append((2, "%s at segment %d, %d: %s%s" % (
                walk.verdict, number, end.offset, end.reason, proof)))
        behind = walk.behind()
        if behind:
            self.problems.append((0, "frames-behind-end at segment %d, %d"
                                  % (number, behind.offset)))

    def frames(self, salvage=False):
        """Frames in log order; without salvage up to the first damage."""
        for number, walk in enumerate(self.walks):
            for frame in walk.salvaged() if salvage else walk.frames:
                yield number, frame
            if walk.end.kind == "invalid" and not salvage:
                return

    @property
    def code(self):
        codes = [code for code, _ in self.problems]
        return next((code for code in (2, 3, 1) if code in codes), 0)

    def summary(self):
        store = self.store
        out = {"exit": self.code, "problems": [text for _, text in self.problems]}
        if store is None:
            return out
        out.update(version=store.version, segment_size=store.segment_size,
                   generation=store.generation, schema=store.schema, notes=store.notes,
                   frames=sum(len(w.frames) for w in self.walks),
                   next_seq=self.walks[-1].next_seq if self.walks else 0,
                   segments=[{"frames": len(w.frames), "log_end": w.log_end,
                              "end": w.end.kind, "reason": getattr(w.end, "reason", None),
                              "verdict": w.verdict, "length": w.image.length,
                              "proof": w.proof and [w.proof.kind, w.proof.offset]}
                             for w in self.walks])
        return out


def fold(reading):
    """(State, error): every transaction up to the first that is not understood."""
    schema = reading.store.schema or {}
    state = State(schema.get("meaning_enabled", True), schema.get("dimensions"))
    for number, frame in reading.frames():
        try:
            state.apply(decode(frame.payload))
        except PayloadError as error:
            return state, "segment %d, %d: %s" % (number, frame.offset, error)
    return state, None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="store or arena directory")
    parser.add_argument("--cat", action="store_true")
    parser.add_argument("--state", action="store_true")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--salvage", action="store_true")
    args = parser.parse_args()
    reading, code = Reading(args.path), None
    if args.summary:
        print(json.dumps(reading.summary(), indent=1))
    elif reading.store is None:
        pass
    elif args.state:
        state, error = fold(reading)
        if error:
            print(error, file=sys.stderr)
            code = 2
        else:
            for line in state.lines():
                print(compact(line))
    else:
        for index, (number, frame) in enumerate(reading.frames(args.salvage)):
            print(compact(cat_line(index, number, frame, reading.store) if args.cat
                          else frame_line(number, frame)))
    for _, text in reading.problems:
        print(text, file=sys.stderr)
    return code or reading.code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
