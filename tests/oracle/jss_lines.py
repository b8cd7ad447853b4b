# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of jss segments as JSON: the form of the fixtures' `*.events.jsonl`, the log
line and the state line of the product's contract, and the fold behind the latter."""
import hashlib
import json

import dagcbor
from jss_oracle import KINDS

MATERIAL = (1, 2, 7)


def text(raw):
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"$bytes": dagcbor.b64(raw)}


def payload_value(payload):
    """(True, value) if the JSON form of the payload leads back to its bytes."""
    try:
        value = dagcbor.decode(payload)
    except dagcbor.CborError:
        return False, None
    return dagcbor.faithful(value, payload), value


def cid(row):
    if row.kind not in MATERIAL or not row.payload:
        return None
    return dagcbor.cid_text(dagcbor.cid_of(row.payload))


def fixture_line(row, block, index):
    out = {"block": block, "row": index, "seq": row.seq, "witnessed_at": row.witnessed_at,
           "indexed_at": row.indexed_at, "kind": row.kind, "kind_name": KINDS[row.kind],
           "payload_len": len(row.payload)}
    for name in ("did", "collection", "rkey", "rev"):
        out[name] = text(getattr(row, name))
    if not row.payload:
        return out
    good, value = payload_value(row.payload)
    if not good:
        out["payload_hex"] = row.payload.hex()
        return out
    out["payload_sha256"] = hashlib.sha256(row.payload).hexdigest()
    out["value"] = dagcbor.to_json(value)
    if row.kind in MATERIAL:
        out["cid"] = cid(row)
    return out


def _record(out, row):
    good, value = payload_value(row.payload) if row.payload else (True, None)
    out["cid"] = cid(row) if good else None
    out["record"] = dagcbor.to_json(value) if good else None
    if not good:
        out["payload"] = {"$bytes": dagcbor.b64(row.payload)}


def log_line(row, segment, block, index):
    out = {"seq": row.seq, "witnessed_at": row.witnessed_at, "indexed_at": row.indexed_at,
           "kind": KINDS[row.kind]}
    for name in ("did", "collection", "rkey", "rev"):
        out[name] = text(getattr(row, name))
    _record(out, row)
    out["at"] = {"segment": segment, "block": block, "row": index}
    return out


# ---------------------------------------------------------------- state

def is_deletion(row):
    """An account row that removes the account for good."""
    if row.kind != 5:
        return False
    try:
        value = dagcbor.decode(row.payload)
    except dagcbor.CborError:
        return False
    return isinstance(value, dict) and value.get("active") is False \
        and value.get("status") == "deleted"


class Fold:
    """Live records: {did: {(collection, rkey): row}}, rows given in order of seq."""

    def __init__(self):
        self.accounts = {}

    def add(self, row):
        if row.kind in MATERIAL:
            self.accounts.setdefault(row.did, {})[row.collection, row.rkey] = row
        elif row.kind == 3:
            self.accounts.get(row.did, {}).pop((row.collection, row.rkey), None)
        elif row.kind == 6 or is_deletion(row):
            self.accounts.pop(row.did, None)

    def lines(self):
        for did in sorted(self.accounts):
            for collection, rkey in sorted(self.accounts[did]):
                row = self.accounts[did][collection, rkey]
                out = {"did": text(did), "collection": text(collection), "rkey": text(rkey),
                       "rev": text(row.rev)}
                _record(out, row)
                out["seq"] = row.seq
                yield out


def dump(value):
    """The form of the fixtures: keys sorted."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
