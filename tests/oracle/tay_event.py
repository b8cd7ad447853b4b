# SPDX-License-Identifier: MIT OR Apache-2.0
"""Event v1: field rules of the six payloads, and the state machine over them."""
from tay_value import F64, count_nodes, encode

T = (1 << 63) - 1
U64 = (1 << 64) - 1
EVENTS = (None, "inserted", "available", "started", "finished", "cancelled", "retried")
STATES = ("available", "scheduled", "executing", "retryable", "completed", "discarded",
          "cancelled")
POLICY = {"base_ms": 1000, "cap_ms": 60000, "jitter_divisor": 4, "version": 1}
COMMON = {"at", "expected_revision", "job_id"}
KEYS = (None, COMMON | {"definition", "eligible_at"}, COMMON | {"due_at"},
        COMMON | {"attempt", "cycle_token"},
        COMMON | {"diagnostic", "disposition", "execution_token", "next_attempt",
                  "next_due_at", "outcome"},
        COMMON | {"execution_token"}, COMMON | {"mode", "new_due_at"})
DEFINITION_KEYS = {"args", "definition_version", "max_attempts", "queue_key", "retry_policy",
                   "scheduled_at", "timeout_ms", "worker_key"}


class InvalidEvent(Exception):
    """A field rule is broken."""


class InvalidTransition(Exception):
    """The event does not fit the job's state."""


# ---------------------------------------------------------------- field rules

def _need(condition, what):
    if not condition:
        raise InvalidEvent(what)


def _is_int(value, low, high):
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _same(value, wanted):
    """Equal, and of the same encoding (True is not 1)."""
    return type(value) is type(wanted) and value == wanted


def _key(value):
    return isinstance(value, str) and 1 <= len(value.encode()) <= 255 and "\0" not in value


def _args_ok(value):
    if isinstance(value, bytes):
        return False
    if isinstance(value, list):
        return all(map(_args_ok, value))
    if isinstance(value, dict):
        return all(map(_args_ok, value.values()))
    return value is None or isinstance(value, (bool, int, F64, str))


def check_definition(d):
    _need(isinstance(d, dict) and set(d) == DEFINITION_KEYS, "definition keys")
    _need(isinstance(d["args"], dict) and _args_ok(d["args"]), "args")
    _need(_is_int(d["definition_version"], 1, 1), "definition_version")
    _need(_is_int(d["max_attempts"], 1, 65535), "max_attempts")
    _need(_key(d["queue_key"]) and _key(d["worker_key"]), "queue_key or worker_key")
    policy = d["retry_policy"]
    _need(isinstance(policy, dict) and set(policy) == set(POLICY)
          and all(_same(policy[k], POLICY[k]) for k in POLICY), "retry_policy")
    _need(d["scheduled_at"] is None or _is_int(d["scheduled_at"], 0, T), "scheduled_at")
    _need(_is_int(d["timeout_ms"], 1, 86_400_000), "timeout_ms")


def _check_finished(e):
    outcome, disposition, diagnostic = e["outcome"], e["disposition"], e["diagnostic"]
    _need(_is_int(outcome, 0, 3) and _is_int(disposition, 0, 2), "outcome or disposition")
    _need(_is_int(e["execution_token"], 1, U64), "execution_token")
    code = None
    if diagnostic is not None:
        _need(isinstance(diagnostic, dict) and set(diagnostic) == {"code", "version"},
              "diagnostic keys")
        _need(_is_int(diagnostic["version"], 1, 1) and _is_int(diagnostic["code"], 1, 7),
              "diagnostic")
        code = diagnostic["code"]
    legal = {0: ((0,), (None,)), 1: ((1, 2), (1, 2, 3, 4, 6)), 2: ((1, 2), (5,)),
             3: ((1,), (7,))}[outcome]
    _need(disposition in legal[0] and code in legal[1], "outcome, disposition, code")
    if disposition == 1:
        _need(_is_int(e["next_attempt"], 1, 65535) and _is_int(e["next_due_at"], 0, T),
              "next_attempt or next_due_at")
    else:
        _need(e["next_attempt"] is None and e["next_due_at"] is None,
              "next_attempt or next_due_at")


def check_event(kind, e):
    """Raises InvalidEvent unless `e` is a legal payload of type `kind`, schema 1."""
    _need(isinstance(e, dict) and set(e) == KEYS[kind], "keys")
    _need(_is_int(e["at"], 0, T), "at")
    _need(_is_int(e["expected_revision"], 0, 0) if kind == 1
          else _is_int(e["expected_revision"], 1, U64), "expected_revision")
    _need(isinstance(e["job_id"], bytes) and len(e["job_id"]) == 16 and any(e["job_id"]),
          "job_id")
    if kind == 1:
        check_definition(e["definition"])
        scheduled = e["definition"]["scheduled_at"]
        _need(_is_int(e["eligible_at"], 0, T)
              and e["eligible_at"] == (e["at"] if scheduled is None else scheduled),
              "eligible_at")
    elif kind == 2:
        _need(_is_int(e["due_at"], 0, e["at"]), "due_at")
    elif kind == 3:
        _need(_is_int(e["attempt"], 1, 65535) and _is_int(e["cycle_token"], 1, U64),
              "attempt or cycle_token")
    elif kind == 4:
        _check_finished(e)
    elif kind == 5:
        _need(e["execution_token"] is None or _is_int(e["execution_token"], 1, U64),
              "execution_token")
    else:
        _need(_is_int(e["mode"], 0, 1) and _is_int(e["new_due_at"], e["at"], e["at"]),
              "mode or new_due_at")


# ---------------------------------------------------------------- state machine

class Job:
    def __init__(self, e, sequence):
        d = e["definition"]
        ready = e["eligible_at"] <= e["at"]
        self.id, self.definition = e["job_id"], d
        self.definition_bytes, self.nodes = encode(d), count_nodes(d)
        self.state = "available" if ready else "scheduled"
        self.attempt, self.next_attempt = 0, 1
        self.cycle, self.execution = sequence, None
        self.eligible_at = e["eligible_at"]
        self.available_sequence = sequence if ready else None
        self.inserted_at = e["at"]
        self.attempted_at = self.completed_at = self.diagnostic = None
        self.revision = sequence

    @property
    def charge(self):
        return 2 * len(self.definition_bytes) + 64 * self.nodes + 2048, self.nodes + 64

    def as_json(self):
        d = self.definition
        return {"job_id": self.id.hex(), "state": self.state, "revision": self.revision,
                "attempt": self.attempt, "next_attempt": self.next_attempt,
                "cycle_token": self.cycle, "execution_token": self.execution,
                "eligible_at": self.eligible_at,
                "available_sequence": self.available_sequence,
                "inserted_at": self.inserted_at, "attempted_at": self.attempted_at,
                "completed_at": self.completed_at,
                "diagnostic_code": self.diagnostic and self.diagnostic["code"],
                "worker_key": d["worker_key"], "queue_key": d["queue_key"],
                "max_attempts": d["max_attempts"], "timeout_ms": d["timeout_ms"],
                "scheduled_at": d["scheduled_at"],
                "definition_hex": self.definition_bytes.hex(),
                "args_hex": encode(d["args"]).hex(),
                "charge_bytes": self.charge[0], "charge_nodes": self.charge[1]}


def retry_interval(attempt, at):
    delay = 60000 if attempt >= 7 else 1000 * 2 ** (attempt - 1)
    jitter = min(delay // 4, 60000 - delay)
    return min(T, at + delay), min(T, at + delay + jitter)


def _fits(condition, what):
    if not condition:
        raise InvalidTransition(what)


def _available(job, e, s):
    _fits(job.state in ("scheduled", "retryable"), "state")
    _fits(e["due_at"] == job.eligible_at, "due_at")
    job.state, job.available_sequence = "available", s


def _started(job, e, s):
    _fits(job.state == "available", "state")
    _fits(e["attempt"] == job.next_attempt
          and e["attempt"] <= job.definition["max_attempts"], "attempt")
    _fits(e["cycle_token"] == job.cycle and e["at"] >= job.eligible_at, "cycle or time")
    job.state, job.attempt, job.execution = "executing", e["attempt"], s
    job.attempted_at = e["at"]
    job.available_sequence = job.eligible_at = None


def _finished(job, e, s):
    _fits(job.state == "executing" and e["execution_token"] == job.execution, "state or token")
    n, most = job.attempt, job.definition["max_attempts"]
    if e["outcome"] == 0:
        legal = (0, None)
    elif e["outcome"] == 3:
        legal = (1, n)
    else:
        legal = (1, n + 1) if n < most else (2, None)
    _fits((e["disposition"], e["next_attempt"]) == legal, "disposition")
    if e["disposition"] == 1:
        low, high = retry_interval(n, e["at"])
        _fits(low <= e["next_due_at"] <= high, "next_due_at")
    job.state = ("completed", "retryable", "discarded")[e["disposition"]]
    job.next_attempt, job.eligible_at = e["next_attempt"], e["next_due_at"]
    job.execution = None
    if job.state == "completed":
        job.completed_at = e["at"]
    if e["diagnostic"] is not None:
        job.diagnostic = e["diagnostic"]


def _cancelled(job, e, s):
    _fits(job.state in ("available", "scheduled", "retryable", "executing"), "state")
    _fits(e["execution_token"] == job.execution, "token")
    job.state = "cancelled"
    job.execution = job.next_attempt = job.eligible_at = job.available_sequence = None


def _retried(job, e, s):
    _fits(job.state == ("retryable", "discarded")[e["mode"]], "state")
    if e["mode"] == 1:
        job.attempt, job.next_attempt, job.cycle = 0, 1, s
        job.attempted_at = job.completed_at = None
    job.state, job.eligible_at, job.available_sequence = "available", e["at"], s
    job.execution = None


_STEP = (None, None, _available, _started, _finished, _cancelled, _retried)


def apply(jobs, kind, e, sequence):
    """Applies a checked event to {id: Job}; InvalidTransition leaves it unchanged."""
    job = jobs.get(e["job_id"])
    if kind == 1:
        _fits(job is None, "job exists")
        jobs[e["job_id"]] = Job(e, sequence)
        return
    _fits(job is not None, "no such job")
    _fits(e["expected_revision"] == job.revision < sequence, "expected_revision")
    _STEP[kind](job, e, sequence)
    job.revision = sequence
