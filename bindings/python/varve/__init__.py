# SPDX-License-Identifier: MIT OR Apache-2.0
"""Varve: append-only stores of four formats, opened, checked, read, saved and written.

    import varve

    with varve.open("events.jss") as store:
        for row in store.log(did="did:plc:abc", limit=10):
            print(row["kind"])
        frame = polars.DataFrame(store.log(columns=["seq", "did"]))  # Arrow, not copied
        print(store.verify().verdict)

Rows are what the program's `cat` and `state` print, as dicts. Options and filters of a format are
keywords: what is `--next-seq` on the command line is `next_seq=` here. Failures are varve.Error;
damage that a call can read around is data, in `findings`. Everything that reads or writes lets
other threads run."""
import datetime
import json
import os

from . import _varve
from ._varve import Error

__all__ = ["Error", "Scan", "Store", "VerifyReport", "Writer", "backup", "compact", "create",
           "formats", "open", "recover", "salvage", "seal", "version", "writer"]
__version__ = _varve.version()

for _name, _default in {"code": "io", "exit_code": 70, "path": "", "offset": 0, "length": 0,
                        "unit": "", "reason": "", "expected": "", "actual": "", "errno": 0}.items():
    setattr(Error, _name, _default)


def version():
    """The version of the library, "0.1.0"."""
    return _varve.version()


def formats():
    """The names of the formats, in the order of detection."""
    return _varve.formats()


def _words(more):
    """Keywords as the names and values of the command line."""
    words = []
    for name, value in more.items():
        name = name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, os.PathLike):
                one = os.fspath(one)
            words.append((name, "1" if one is True else str(one)))
    return words


def _microseconds(time):
    if isinstance(time, datetime.datetime):
        if time.tzinfo is None:
            raise ValueError("a time needs a time zone: datetime(..., tzinfo=timezone.utc)")
        since = time - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return since // datetime.timedelta(microseconds=1)
    return time


class Scan:
    """Rows of a store, as many times as they are asked for: iterate for dicts, `lines()` for JSON
    text, or hand it to anything that takes Arrow (`pyarrow.table(scan)`, `polars.DataFrame(scan)`).
    Each time the store is looked at anew."""

    def __init__(self, store, arguments):
        self._store = store
        self._arguments = arguments
        self._findings = None

    def lines(self):
        """The rows as JSON text, as the program prints them, without newlines."""
        scan = _varve.LineScan(self._store, self._arguments)
        self._findings = lambda: json.loads(scan.findings())
        try:
            while chunk := scan.next():
                for line in chunk[:-1].split(b"\n"):
                    yield line.decode()
        finally:
            scan.close()

    def __iter__(self):
        return map(json.loads, self.lines())

    def __arrow_c_stream__(self, requested_schema=None):
        findings = _varve.Findings()
        self._findings = lambda: json.loads(findings.json())
        return self._store.arrow(self._arguments, findings)

    @property
    def findings(self):
        """What the last reading met: damage that it went around, as dicts. Complete once it has
        ended."""
        return self._findings() if self._findings else []

    def plan(self):
        """What this scan would read and why, for formats that plan (jss)."""
        return json.loads(self._store.plan(self._arguments))


class VerifyReport:
    """What `Store.verify` found. `document` is all of it, schema varve.verify/1."""

    def __init__(self, document):
        self.document = document
        self.verdict = document["verdict"]
        self.findings = document["findings"]

    @property
    def clean(self):
        return self.verdict == "clean"

    def __repr__(self):
        return f"<varve.VerifyReport {self.verdict}, {len(self.findings)} findings>"


class Store:
    """A store open for reading, made by `varve.open`. Nothing in it is written or locked."""

    def __init__(self, path, format="", threads=0, max_memory_bytes=1 << 30, **options):
        self.path = os.fspath(path)
        self._native = _varve.Store(os.fsencode(path), format, threads, max_memory_bytes,
                                    _words(options))

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def __repr__(self):
        return f"<varve.Store {self.format} {self.path!r}>"

    def close(self):
        self._native.close()

    @property
    def format(self):
        return self._native.format()

    def info(self):
        """What the store is: a document of schema varve.info/1."""
        return json.loads(self._native.info())

    def verify(self, quick=False, threads=0):
        """Checks every byte that a checksum or a rule covers. Damage is in the report."""
        return VerifyReport(json.loads(self._native.verify(quick, threads)))

    def log(self, **arguments):
        """All records in order; see `scan` for what it takes."""
        return self.scan("log", **arguments)

    def state(self, **arguments):
        """What the records add up to; see `scan` for what it takes."""
        return self.scan("state", **arguments)

    def scan(self, face="log", *, seq=(None, None), since=None, until=None, limit=None,
             reverse=False, strict=False, partial=False, threads=0, payload="json", columns=(),
             **more):
        """A Scan. `seq`: first and last number; `since` (inclusive) and `until` (exclusive): a
        datetime with a time zone, or microseconds since 1970; `columns`: for Arrow only; further
        keywords are the format's filters and options, a list where one may be given several
        times."""
        if face not in ("log", "state"):
            raise ValueError("face is 'log' or 'state'")
        arguments = _varve.ScanArguments()
        arguments.face = face
        arguments.seq_first, arguments.seq_last = seq
        arguments.since_us, arguments.until_us = _microseconds(since), _microseconds(until)
        arguments.limit, arguments.reverse = limit, reverse
        arguments.strict, arguments.partial = strict, partial
        arguments.threads, arguments.payload = threads, payload
        arguments.columns = list(columns)
        arguments.words = _words(more)
        return Scan(self._native, arguments)

    def plan(self, **arguments):
        """What a scan with these arguments would read and why, for formats that plan (jss)."""
        return self.scan(**arguments).plan()

    def get(self, key="", payload="json"):
        """One record, job, allocation or document, by its key, as `varve get` prints it."""
        return json.loads(self._native.get(str(key), payload)[0])

    def get_bytes(self, key=""):
        """The bytes of what has bytes of its own (an allocation, a payload), else None."""
        return self._native.get(str(key), "json")[1]

    def salvage(self, target=None, **options):
        """As `varve.salvage` of this store."""
        return salvage(self.path, target, format=self.format, **options)


class Writer:
    """A store open for appending, made by `varve.writer`. As a context manager it makes everything
    durable at the end; after an exception it lets go, and what was not synced may be lost."""

    def __init__(self, path, format="", threads=0, **options):
        self._native = _varve.Writer(os.fsencode(path), format, threads, _words(options))

    def append(self, record):
        """Takes one record: a dict of the shape that `log` gives, or its JSON text."""
        if isinstance(record, dict):
            record = json.dumps(record, separators=(",", ":"))
        self._native.append(record)

    def flush(self):
        """Hands what was appended to the system; gives the number of records written."""
        return self._native.flush()

    def sync(self):
        """Makes what was appended durable; gives the number of records that are."""
        return self._native.sync()

    def close(self):
        """Makes all durable and lets go of the store."""
        self._native.close()

    def abandon(self):
        """Lets go of the store; what was not synced may be lost."""
        self._native.abandon()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
        else:
            self.abandon()


def open(path, format="", **options):
    """Opens a store for reading; its format is found by looking unless it is given."""
    return Store(path, format, **options)


def writer(path, format="", **options):
    """Opens a store for appending: takes its lock, and recovers it, which may write."""
    return Writer(path, format, **options)


def salvage(path, target=None, format="", threads=0, **options):
    """What a salvage would do; with a `target`, which must not exist, it does it: a new store of
    every intact record. Gives the report, schema varve.salvage/1."""
    return json.loads(_varve.salvage(os.fsencode(path), format, os.fsencode(target or ""), threads,
                                     _words(options)))


def _keep_up(verb, path, format, target="", threads=0, dry_run=False, **options):
    return json.loads(_varve.keep_up(verb, os.fsencode(path), format, os.fsencode(target), threads,
                                     dry_run, _words(options)))


def create(path, format, **options):
    """Makes an empty store where nothing is. Gives what was written, schema varve.write/1, as the
    calls below do; with dry_run=True what would be."""
    return _keep_up("init", path, format, **options)


def seal(path, format="", **options):
    """Closes the growing segment for good."""
    return _keep_up("seal", path, format, **options)


def recover(path, format="", **options):
    """What the format's own engine does when it opens a store after a crash."""
    return _keep_up("recover", path, format, **options)


def compact(path, format="", **options):
    """Leaves out what the state no longer needs."""
    return _keep_up("compact", path, format, **options)


def backup(path, target, format="", **options):
    """Copies a store, which may be in use, into the new directory `target`."""
    return _keep_up("backup", path, format, target, **options)
