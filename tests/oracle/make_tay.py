#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write a Tay v1 data directory from random legal events.

  make_tay.py --out DIR --jobs 40 --seed 1 --rotate 20000

Jobs run through the whole state machine: retries, timeouts, interruptions,
cancellations, expedites, new cycles, clocks that step back. A segment is sealed
before the record that would not fit under the rotation target together with a
footer. Real rotation targets are at least 16777352; smaller ones are legal on disk.
From about 15000 jobs on, the engine's default replay budgets are used up.
"""
import argparse
import json
import os
import random
import sys

import tay_record
from checksums import crc32c
from tay_event import EVENTS, POLICY, T, apply, check_event, retry_interval
from tay_store import LOCK
from tay_value import F64, encode

_WORDS = "mail report invoice thumbnail sync cleanup export digest reindex backup".split()
_QUEUES = ("default", "slow", "mail", "größer", "night shift")


class Writer:
    """Appends records to segments; never writes a name that exists."""

    def __init__(self, path, store_id, target):
        self.path, self.store_id, self.target = path, store_id, target
        os.makedirs(os.path.join(path, "segments"))
        self._new(LOCK, b"")
        self._new("STORE", tay_record.pack_store(store_id))
        self.number, self.next = 1, 1
        self._begin()

    def _new(self, name, data):
        with open(os.path.join(self.path, name), "xb") as stream:
            stream.write(data)

    def _begin(self):
        self.first, self.count = self.next, 0
        head = tay_record.pack_header(self.number, self.first, self.store_id)
        self.parts, self.size, self.crc = [head], len(head), crc32c(head)

    def seal(self):
        footer = tay_record.pack_footer(self.number, self.first, self.count, self.store_id,
                                       self.crc)
        self.parts.append(footer)
        self._flush()

    def _flush(self):
        self._new("segments/" + tay_record.segment_name(self.number), b"".join(self.parts))
        self.parts = None

    def append(self, kind, payload):
        frame = tay_record.pack_record(kind, self.next, payload)
        if self.count and self.size + len(frame) + tay_record.FOOTER_BYTES > self.target:
            self.seal()
            self.number += 1
            self._begin()
        self.parts.append(frame)
        self.size += len(frame)
        self.crc = crc32c(frame, self.crc)
        self.count += 1
        self.next += 1

    def close(self, sealed):
        if sealed and self.count:
            self.seal()
        else:
            self._flush()


class Producer:
    """Draws events that the state machine accepts."""

    def __init__(self, seed, big):
        self.random, self.jobs = random.Random(seed), {}
        self.now, self.sequence, self.big = 1_783_000_000_000, 1, big

    def clock(self):
        self.now += self.random.randrange(0, 4000)
        if self.random.random() < 0.05:
            self.now -= self.random.randrange(0, 3000)
        return self.now

    def args(self, depth=0):
        r = self.random
        out = {}
        for _ in range(r.randrange(1, 5)):
            out[r.choice(("n", "to", "path", "ratio", "tags", "deep", "ü", "", "$bytes", "zz"))] = \
                r.choice((lambda: None, lambda: r.random() < 0.5, lambda: r.randrange(1 << 64),
                          lambda: -1 - r.randrange(1 << 63), lambda: F64.of(r.uniform(-1e9, 1e9)),
                          lambda: F64.of(r.choice((0.0, -0.0, 1e300, 5e-324, 2.0))),
                          lambda: "text %d … ✓" % r.randrange(100),
                          lambda: "a" * r.randrange(self.big + 1),
                          lambda: [r.randrange(5), "x", None, []],
                          lambda: self.args(depth + 1) if depth < 4 else {}))()
        return out

    def insert(self):
        r, at = self.random, self.clock()
        later = r.random()
        scheduled = None if later < 0.6 else at + r.randrange(1, 60000) if later < 0.9 \
            else max(0, at - 5000)
        definition = {"args": self.args(), "definition_version": 1,
                      "max_attempts": r.choice((1, 2, 3, 10, 65535)),
                      "queue_key": r.choice(_QUEUES), "retry_policy": dict(POLICY),
                      "scheduled_at": scheduled,
                      "timeout_ms": r.choice((1, 1000, 30000, 86_400_000)),
                      "worker_key": "%s.%s" % (r.choice(_WORDS), r.choice(_WORDS))}
        return 1, {"at": at, "expected_revision": 0, "job_id": r.randbytes(15) + b"\1",
                   "definition": definition,
                   "eligible_at": at if scheduled is None else scheduled}

    def finish(self, job, at):
        r = self.random
        outcome = r.choices((0, 1, 2, 3), (5, 4, 2, 1))[0]
        out = {"outcome": outcome, "execution_token": job.execution, "disposition": 0,
               "diagnostic": None, "next_attempt": None, "next_due_at": None}
        if outcome:
            code = {1: r.choice((1, 2, 3, 4, 6)), 2: 5, 3: 7}[outcome]
            out["diagnostic"] = {"code": code, "version": 1}
            again = outcome == 3 or job.attempt < job.definition["max_attempts"]
            out["disposition"] = 1 if again else 2
            if again:
                low, high = retry_interval(job.attempt, at)
                out["next_attempt"] = job.attempt + (outcome != 3)
                out["next_due_at"] = r.choice((low, high, r.randint(low, high)))
        return 4, out

    def step(self, job):
        """An event for a job that is not at its end, or None."""
        r, state = self.random, job.state
        at = self.clock()
        if state in ("completed", "cancelled"):
            return None
        if state != "discarded" and r.random() < 0.06:
            kind, out = 5, {"execution_token": job.execution}
        elif state in ("scheduled", "retryable"):
            if state == "retryable" and r.random() < 0.2:
                kind, out = 6, {"mode": 0, "new_due_at": at}
            else:
                at = self.now = max(at, job.eligible_at)
                kind, out = 2, {"due_at": job.eligible_at}
        elif state == "available":
            at = self.now = max(at, job.eligible_at)
            kind, out = 3, {"attempt": job.next_attempt, "cycle_token": job.cycle}
        elif state == "executing":
            kind, out = self.finish(job, at)
        elif r.random() < 0.3:
            kind, out = 6, {"mode": 1, "new_due_at": at}
        else:
            return None
        out.update(at=min(at, T), expected_revision=job.revision, job_id=job.id)
        return kind, out

    def bind(self, kind, event):
        check_event(kind, event)
        apply(self.jobs, kind, event, self.sequence)
        self.sequence += 1


def produce(producer, jobs):
    """Yields (type, event): inserts mixed with steps of the jobs at hand."""
    waiting, left = [], jobs
    while left or waiting:
        if left and (not waiting or producer.random.random() < 0.3):
            kind, event = producer.insert()
            left -= 1
            if producer.random.random() > 0.04:
                waiting.append(event["job_id"])
        else:
            at = producer.random.randrange(len(waiting))
            drawn = producer.step(producer.jobs[waiting[at]])
            if drawn is None or producer.random.random() < 0.04:
                waiting.pop(at)
            if drawn is None:
                continue
            kind, event = drawn
        producer.bind(kind, event)
        yield kind, event


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="data directory; must not exist")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rotate", type=int, default=16_777_352, metavar="BYTES",
                        help="rotation target (default 16777352)")
    parser.add_argument("--limit", type=int, default=0, metavar="N",
                        help="stop after N records (default: when the jobs are done)")
    parser.add_argument("--big", type=int, default=40, help="longest plain text in args")
    parser.add_argument("--sealed", action="store_true", help="seal the highest segment")
    parser.add_argument("--stages", action="store_true",
                        help="leave staging files of an interrupted rotation")
    args = parser.parse_args()
    producer = Producer(args.seed, args.big)
    store_id = producer.random.randbytes(15) + b"\7"
    writer = Writer(args.out, store_id, args.rotate)
    kinds = {}
    for kind, event in produce(producer, args.jobs):
        writer.append(kind, encode(event))
        kinds[EVENTS[kind]] = kinds.get(EVENTS[kind], 0) + 1
        if args.limit and writer.next > args.limit:
            break
    writer.close(args.sealed)
    if args.stages:
        head = tay_record.pack_header(writer.number + 1, writer.next, store_id)
        for nonce, data in ((1, head), (2, head[:20]), (3, b"")):
            writer._new("segments/.tay-new-%020d-%032x.tmp" % (writer.number + 1, nonce), data)
        writer._new(".tay-store-%032x.tmp" % 4, b"TAYI")
    print(json.dumps({"records": writer.next - 1, "segments": writer.number,
                      "jobs": len(producer.jobs), "store_id": store_id.hex(),
                      "events": kinds}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileExistsError as error:
        print("exists: %s" % error.filename, file=sys.stderr)
        sys.exit(1)
