#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Read a Tay v1 data directory strictly, as an offline inspection would.

  read_tay.py DIR              one JSON document: expected, segments, jobs, records
  read_tay.py DIR --log        JSON Lines, one event a line
  read_tay.py DIR --state      JSON Lines, one job a line

Nothing is locked or written. A refused store still shows the records that were
proven before the fault.

Exit codes: 0 valid, 2 refused (kind and reason on stderr and under `expected`).
"""
import argparse
import json
import sys

import dagcbor
from tay_event import EVENTS, STATES, InvalidEvent, InvalidTransition, apply, check_event
from tay_record import MAX_PAYLOAD, Refused
from tay_store import Store
from tay_value import BYTES, DEPTH, F64, NODES, ValueRefused, decode


class Inspection:
    """Physical pass, then replay. `refused` is the first refusal or None."""

    def __init__(self, path, depth=DEPTH, nodes=NODES, size=BYTES, payload=MAX_PAYLOAD):
        self.store = Store(path, payload)
        self.budgets = (depth, nodes, size)
        self.refused, self.jobs, self.events = self.store.refused, {}, []
        if self.refused is None:
            try:
                for record in self.store.records():
                    self._replay(record)
            except Refused as refused:
                self.refused = refused

    def _replay(self, record):
        def refuse(kind, reason):
            raise Refused(kind, None, reason, record.segment, record.offset, record.sequence)

        if not 1 <= record.kind <= 6:
            refuse("unsupported_semantics", "unknown_event_type")
        if record.schema != 1:
            refuse("unsupported_semantics", "unsupported_payload_schema")
        try:
            event = decode(record.payload, *self.budgets)
            check_event(record.kind, event)
            apply(self.jobs, record.kind, event, record.sequence)
        except ValueRefused as fault:
            refuse(fault.kind, fault.reason)
        except InvalidEvent:
            refuse("invalid_payload", "invalid_event")
        except InvalidTransition:
            refuse("consumer_rejected", "invalid_transition")
        self.events.append(event)

    def expected(self):
        if self.refused:
            return self.refused.as_json()
        store, jobs = self.store, self.jobs.values()
        states = {state: 0 for state in STATES}
        for job in jobs:
            states[job.state] += 1
        return {"state": "valid", "scope": "physical_and_semantic", "mutation": "none",
                "activation": "not_attempted", "store_id": store.store_id.hex(),
                "record_count": sum(len(s.records) for s in store.segments),
                "segment_count": len(store.segments),
                "total_segment_bytes": sum(len(s.data) for s in store.segments),
                "next_sequence": "exhausted" if store.exhausted else store.next_sequence,
                "staging_count": store.staging, "ignored_count": store.ignored,
                "jobs": len(self.jobs), "states": states,
                "state_bytes_charged": sum(job.charge[0] for job in jobs),
                "state_nodes_charged": sum(job.charge[1] for job in jobs)}

    def segments(self):
        return [{"file": "segments/%020d.tay" % s.number, "id": s.number,
                 "state": "sealed" if s.sealed else "active", "first_sequence": s.first,
                 "last_sequence": s.last, "record_count": len(s.records), "bytes": len(s.data)}
                for s in self.store.segments]

    def sorted_jobs(self):
        return [self.jobs[key].as_json() for key in sorted(self.jobs)]

    def records(self):
        for record in self.store.records():
            out = {"sequence": record.sequence, "segment_id": record.segment,
                   "offset": record.offset, "frame_bytes": record.size, "type": record.kind,
                   "event": EVENTS[record.kind] if 1 <= record.kind <= 6 else None,
                   "schema": record.schema}
            event = event_of(record, self.budgets)
            if event is not None:
                out.update(job_id=event["job_id"].hex(), at=event["at"])
            yield out


def event_of(record, budgets=(DEPTH, NODES, BYTES)):
    """The payload's fields if it is a legal event by itself, else None."""
    if not 1 <= record.kind <= 6 or record.schema != 1:
        return None
    try:
        event = decode(record.payload, *budgets)
        check_event(record.kind, event)
    except (ValueRefused, InvalidEvent):
        return None
    return event


def json_form(value, top=True):
    if isinstance(value, F64):
        return value.number
    if isinstance(value, bytes):
        return value.hex() if top and len(value) == 16 else {"$bytes": dagcbor.b64(value)}
    if isinstance(value, list):
        return [json_form(item, False) for item in value]
    if isinstance(value, dict):
        return {key: json_form(item, top and key == "job_id") for key, item in value.items()}
    return value


def log_line(record):
    event = event_of(record)
    out = {"seq": record.sequence, "type": EVENTS[record.kind] if 1 <= record.kind <= 6
           else record.kind, "schema": record.schema,
           "event": None if event is None else json_form(event)}
    if event is None:
        out["payload"] = {"$bytes": dagcbor.b64(record.payload)}
    out["at"] = {"segment": record.segment, "offset": record.offset, "length": record.size}
    return out


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", help="data directory")
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--state", action="store_true")
    parser.add_argument("--depth", type=int, default=DEPTH, help="event depth budget")
    parser.add_argument("--nodes", type=int, default=NODES, help="event node budget")
    parser.add_argument("--bytes", type=int, default=BYTES, help="event byte budget")
    parser.add_argument("--payload", type=int, default=MAX_PAYLOAD,
                        help="payload bytes a record may have")
    args = parser.parse_args()
    found = Inspection(args.path, args.depth, args.nodes, args.bytes, args.payload)
    if args.log:
        for record in found.store.records():
            print(compact(log_line(record)))
    elif args.state:
        for job in found.sorted_jobs() if not found.refused else ():
            print(compact(job))
    else:
        out = {"expected": found.expected(), "segments": found.segments(),
               "records": list(found.records())}
        if not found.refused:
            out["jobs"] = found.sorted_jobs()
        print(json.dumps(out, indent=1, ensure_ascii=False))
    if found.refused:
        print("refused: %s %s" % (found.refused.kind, compact(found.refused.reason)),
              file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
