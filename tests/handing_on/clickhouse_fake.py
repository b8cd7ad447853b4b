#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""`varve export --to clickhouse` against a server of this test's own, which fails as told: what is
tried again, what is not, where requests are cut, and that the bytes are the rows of `cat`.

    clickhouse_fake.py VARVE"""
import base64
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

ORACLE = pathlib.Path(__file__).resolve().parent.parent / "oracle"
EVENTS, PER_BLOCK = 3000, 256


class Server:
    """Takes statements; `plan` has an answer for each of the next requests: (status, text), or None
    to close the connection without one. Afterwards all is well."""

    def __init__(self):
        self.taken = []  # (statement, body) of the requests that were answered with 200
        self.seen = 0
        self.plan = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["query"][0]
                outer.seen += 1
                answer = outer.plan.pop(0) if outer.plan else (200, "")
                if answer is None:
                    self.close_connection = True
                    return
                if answer[0] == 200:
                    outer.taken.append((query, body))
                text = answer[1].encode()
                self.send_response(answer[0])
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def load(self, varve, store, *options, plan=()):
        self.taken, self.seen, self.plan = [], 0, list(plan)
        return subprocess.run([varve, "export", "--to", "clickhouse", "--url", self.url, "--table",
                               "db.events", *options, store], capture_output=True, text=True,
                              check=False)


class RowBinary:
    def __init__(self, data):
        self.data, self.at = data, 0

    def integer(self, size, signed=False):
        self.at += size
        return int.from_bytes(self.data[self.at - size:self.at], "little", signed=signed)

    def string(self):
        size = shift = 0
        while True:
            byte = self.integer(1)
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        self.at += size
        return self.data[self.at - size:self.at]


def rows_of(body):
    """The rows of a jss log in one request."""
    reader, rows = RowBinary(body), []
    while reader.at < len(body):
        row = [reader.integer(8), reader.integer(8, True), reader.integer(8, True)]
        row += [reader.string().decode() for _ in range(5)]
        row.append(base64.b64encode(reader.string()).decode().rstrip("="))
        row += [reader.string().decode(), reader.integer(4), reader.integer(4)]
        rows.append(row)
    return rows


def rows_of_cat(varve, store):
    out = subprocess.run([varve, "cat", "--payload", "base64", store], capture_output=True,
                         text=True, check=True).stdout
    rows = []
    for line in out.splitlines():
        event = json.loads(line)
        names = ("seq", "witnessed_at", "indexed_at", "kind", "did", "collection", "rkey", "rev")
        payload = event["payload"] if "payload" in event else event["record"]
        if isinstance(payload, dict):
            payload = payload["$bytes"]
        at = event["at"]
        rows.append([event[name] for name in names] +
                    [payload or "", at["segment"], at["block"], at["row"]])
    return rows


def expect(condition, *said):
    if not condition:
        raise SystemExit(f"failed: {said}")


def check(varve, store):
    server = Server()
    wanted = rows_of_cat(varve, store)
    expect(len(wanted) == EVENTS, len(wanted))

    # Every row once and in order; requests are cut where a block begins in another thousand.
    run = server.load(varve, store, "--create", "--batch", "1000")
    expect(run.returncode == 0, run.stderr)
    create, *inserts = server.taken
    expect(create[0].startswith("CREATE TABLE IF NOT EXISTS `db`.`events` (`seq` UInt64, "
                                "`witnessed_at` Int64, "), create)
    expect(create[0].endswith("ENGINE = ReplacingMergeTree() ORDER BY (`seq`)"), create)
    batches = [rows_of(body) for _, body in inserts]
    expect([row for batch in batches for row in batch] == wanted, "rows differ from cat's")
    firsts = [batch[0][0] for batch in batches]
    expect(firsts == [1, 4 * PER_BLOCK + 1, 8 * PER_BLOCK + 1], firsts)

    # A run from the middle cuts at the same places.
    begin = firsts[1]
    run = server.load(varve, store, "--batch", "1000", "--seq", f"{begin}..")
    expect(server.taken == inserts[1:], "a later run cuts elsewhere", run.stderr)

    # What may pass is tried again, with the same bytes.
    busy = (500, "Code: 202, e.displayText() = DB::Exception: Too many simultaneous queries")
    run = server.load(varve, store, "--batch", "1000",
                      plan=[(503, ""), None, busy, (200, ""), None])
    expect(run.returncode == 0 and server.taken == inserts and server.seen == len(inserts) + 4,
           server.seen, run.stderr)

    # What will not pass is not.
    gone = (404, "Code: 60, e.displayText() = DB::Exception: Table db.events doesn't exist.")
    run = server.load(varve, store, plan=[gone])
    expect(run.returncode == 74 and server.seen == 1 and "doesn't exist" in run.stderr, run)
    run = server.load(varve, store, "-o", "file")
    expect(run.returncode == 64 and server.seen == 0, run)
    run = server.load(varve, store, "--columns", "did")
    expect(run.returncode == 64 and "--key" in run.stderr, run)
    print(f"{EVENTS} rows in {len(inserts)} requests, faults and repeats as they should be")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        store = str(pathlib.Path(scratch) / "jss")
        subprocess.run([sys.executable, str(ORACLE / "make_jss.py"), "--out", store, "--segments",
                        "1", "--events", str(EVENTS), "--events-per-block", str(PER_BLOCK),
                        "--seed", "7"], check=True, stdout=subprocess.DEVNULL)
        check(sys.argv[1], store)


if __name__ == "__main__":
    main()
