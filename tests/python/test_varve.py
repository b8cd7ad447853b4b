#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Python package: what it gives is what the program prints, and what it writes the program
reads.

    test_varve.py VARVE DIRECTORY-OF-THE-WHEEL SHARED [unittest arguments]

VARVE_PYTHON_OPENS is the number of opens that may not leak (200)."""
import ast
import base64
import datetime
import gc
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

VARVE, WHEELS, SHARED = sys.argv[1:4]
(WHEEL,) = pathlib.Path(WHEELS).glob("*.whl")
UNPACKED = tempfile.TemporaryDirectory()
with zipfile.ZipFile(WHEEL) as archive:
    archive.extractall(UNPACKED.name)
sys.path.insert(0, UNPACKED.name)
import arrow_reader  # noqa: E402
import varve  # noqa: E402

LINES = {  # a record of each format, with a number in it
    "arena": '{"payload":{"mutations":[{"Atom":{"id":"a%d","vector":{"dim":4096,'
             '"indices":[1]}}}]}}',
    "kladde": '{"op":"write","id":%d,"offset":0,"bytes":{"$bytes":"aGVsbG8"}}',
    "tay": '{"type":"inserted","schema":1,"event":{"at":1000,"definition":{"args":{},'
           '"definition_version":1,"max_attempts":1,"queue_key":"q","retry_policy":{"base_ms":1000,'
           '"cap_ms":60000,"jitter_divisor":4,"version":1},"scheduled_at":null,"timeout_ms":30000,'
           '"worker_key":"w"},"eligible_at":1000,"expected_revision":0,"job_id":"%032d"}}',
    "jss": '{"kind":"create","did":"did:plc:a%d","collection":"c.d","rkey":"k",'
           '"record":{"text":"hello"}}',
}


def printed(verb, store):
    done = subprocess.run([VARVE, verb, store], capture_output=True, check=False)
    return done.returncode, done.stdout.decode().splitlines()


def open_or_none(path):
    try:
        return varve.open(path)
    except varve.Error:
        return None


def read(scan):
    """The lines of a scan, and whether it ended without an error."""
    lines = []
    try:
        for line in scan.lines():
            lines.append(line)
    except varve.Error:
        return lines, False
    return lines, True


def at(row, name):
    """A member of a struct, or a key with dots, of a line of JSON."""
    for part in name.split("."):
        row = row.get(part) if isinstance(row, dict) else None
    return row


def flat(row, prefix=""):
    for name, value in row.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def filled(self, name, records=5):
        path = self.scratch / f"store.{name}"
        varve.create(path, name)
        with varve.writer(path) as writer:
            for number in range(1, records + 1):
                writer.append(LINES[name] % number)
        return path


@unittest.skipUnless(os.path.isdir(f"{SHARED}/fixtures"), "the shared fixtures are absent")
class Fixtures(unittest.TestCase):
    def test_rows_are_those_of_the_program(self):
        rows = {name: 0 for name in varve.formats()}
        cells = 0
        for path in sorted(pathlib.Path(SHARED, "fixtures").rglob("*")):
            store = open_or_none(path)
            if store is None:
                continue
            for verb, scan in (("cat", store.log()), ("state", store.state())):
                with self.subTest(store=str(path), verb=verb):
                    code, expected = printed(verb, path)
                    lines, whole = read(scan)
                    self.assertEqual(lines, expected)
                    self.assertTrue(whole or code != 0)
                    self.assertTrue(code <= 1 or not whole or scan.findings)
                    rows[store.format] += len(lines)
                    cells += self.compare_arrow(scan, lines, whole)
            store.close()
        self.assertGreater(min(rows.values()), 0, rows)
        self.assertGreater(cells, 1000)

    def compare_arrow(self, scan, lines, whole):
        """Numbers and text that both have are the same."""
        compared = 0
        try:
            rows = list(arrow_reader.rows(scan))
        except OSError:
            self.assertFalse(whole)
            return 0
        self.assertEqual(len(rows), len(lines))
        for row, line in zip(rows, map(json.loads, lines)):
            for name, value in flat(row):
                printed_value = at(line, name)
                if type(value) in (int, str) and type(printed_value) is type(value):
                    self.assertEqual(value, printed_value, name)
                    compared += 1
        return compared

    def test_verify_and_plan(self):
        for path in sorted(pathlib.Path(SHARED, "fixtures", "jss").glob("*.jss")):
            with varve.open(path) as store:
                text = subprocess.run([VARVE, "verify", "--json", path], capture_output=True,
                                      check=False).stdout
                expected, document = json.loads(text), store.verify().document
                for timed in ("elapsed_s", "bytes_per_s"):
                    expected.pop(timed), document.pop(timed)
                self.assertEqual(document, expected)


class Writing(Scratch):
    def test_every_format(self):
        for name in varve.formats():
            with self.subTest(name):
                path = self.filled(name)
                state = list(varve.open(path).state())
                self.assertEqual(len(state), 5)
                self.assertEqual(printed("state", path)[1],
                                 list(varve.open(path).state().lines()))
                self.assertTrue(varve.recover(path, dry_run=True)["dry_run"])
                copy = self.scratch / f"copy-{name}"
                self.assertEqual(varve.backup(path, copy)["verb"], "backup")
                with varve.open(copy) as store:
                    self.assertTrue(store.verify().clean)
                    self.assertEqual(len(list(store.state())), 5)
                    self.assertEqual(store.info()["format"], name)

    def test_sync_tells_what_is_durable(self):
        path = self.filled("jss")
        with varve.writer(path) as writer:
            self.assertEqual(writer.sync(), 0)
            writer.append({"kind": "sync", "did": "did:plc:dict"})
            self.assertEqual(writer.sync(), 1)
            with self.assertRaises(varve.Error) as refused:
                varve.writer(path)
            self.assertEqual((refused.exception.code, refused.exception.exit_code), ("locked", 75))
        with self.assertRaises(varve.Error):
            writer.append("{}")
        with self.assertRaises(varve.Error):
            with varve.writer(path) as writer:
                writer.append("{")
        varve.writer(path).close()  # the lock was let go of

    def test_salvage(self):
        path = self.filled("jss")
        with path.open("ab") as file:
            file.write(b"torn!")
        with varve.open(path) as store:
            report = store.verify()
            self.assertEqual((report.verdict, report.clean), ("torn", False))
            rows = store.log()
            self.assertEqual(len(list(rows)), 5)
            self.assertTrue(rows.findings)
            self.assertEqual(store.salvage()["kept"]["records"], 5)
            target = self.scratch / "saved.jss"
            store.salvage(target)
        self.assertTrue(varve.open(target).verify().clean)


class Reading(Scratch):
    def test_filters_bounds_and_keys(self):
        utc = datetime.timezone.utc
        with varve.open(self.filled("jss")) as store:
            numbers = lambda **more: [row["seq"] for row in store.log(**more)]  # noqa: E731
            self.assertEqual(numbers(), [1, 2, 3, 4, 5])
            self.assertEqual(numbers(did=["did:plc:a2", "did:plc:a4"]), [2, 4])
            self.assertEqual(numbers(seq=(2, 3)), [2, 3])
            self.assertEqual(numbers(reverse=True, limit=2), [5, 4])
            self.assertEqual(numbers(since=datetime.datetime(2100, 1, 1, tzinfo=utc)), [])
            self.assertEqual(numbers(until=datetime.datetime(2100, 1, 1, tzinfo=utc)),
                             [1, 2, 3, 4, 5])
            with self.assertRaises(ValueError):
                store.log(since=datetime.datetime(2100, 1, 1))
            with self.assertRaises(TypeError):
                store.log(limit="many")
            with self.assertRaises(varve.Error) as unknown:
                numbers(no_such_filter="x")
            self.assertEqual(unknown.exception.reason, "no-such-filter")
            self.assertEqual(store.get(4)["did"], "did:plc:a4")
            self.assertEqual(store.plan(did="did:plc:a1")["schema"], "varve.plan/1")
            self.assertNotIn("hello", "".join(store.log(payload="none").lines()))
        with self.assertRaises(varve.Error):
            store.info()
        with varve.open(self.filled("kladde")) as store:
            self.assertEqual(store.get_bytes(3), b"hello")

    def test_scans_are_independent(self):
        with varve.open(self.filled("jss", 3)) as store:
            one, two = iter(store.log()), iter(store.log())
            self.assertEqual([next(one)["seq"], next(two)["seq"], next(one)["seq"]], [1, 1, 2])
        self.assertEqual(next(one)["seq"], 3)
        rows = list(arrow_reader.rows(store_columns(self.scratch / "store.jss", "did", "seq")))
        self.assertEqual(rows[2], {"did": "did:plc:a3", "seq": 3})

    def test_what_is_not_there(self):
        with self.assertRaises(varve.Error) as failed:
            varve.open("/no/such/store")
        self.assertEqual(failed.exception.code, "io")
        self.assertEqual(failed.exception.path, "/no/such/store")
        self.assertNotEqual(failed.exception.errno, 0)

    def test_other_threads_run(self):
        """Nothing takes the interpreter's lock from a thread that does not let go of it."""
        store = varve.open(self.filled("jss"))
        ran = threading.Event()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        self.addCleanup(sys.setswitchinterval, interval)
        threading.Thread(target=ran.set).start()
        for _ in range(1000):
            if ran.is_set():
                break
            store.verify()
        self.assertTrue(ran.is_set())

    def test_opens_do_not_leak(self):
        path = self.filled("jss")

        def use(times):
            for _ in range(times):
                with varve.open(path) as store:
                    next(iter(store.log()))
                    next(arrow_reader.batches(store.log()))
                    store.log().__arrow_c_stream__()
            gc.collect()
            pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
            return len(os.listdir("/proc/self/fd")), pages * os.sysconf("SC_PAGE_SIZE")

        files, memory = use(50)
        files_after, memory_after = use(int(os.environ.get("VARVE_PYTHON_OPENS", "200")))
        self.assertEqual(files_after, files)
        self.assertLess(memory_after - memory, 8 << 20)
        print(f"resident: {memory >> 10} KiB, then {memory_after >> 10} KiB", file=sys.stderr)


def store_columns(path, *columns):
    return varve.open(path).log(columns=columns)


class Package(unittest.TestCase):
    def test_the_wheel_holds_what_its_record_says(self):
        root = pathlib.Path(UNPACKED.name)
        record = next(root.glob("*.dist-info/RECORD")).read_text().splitlines()
        listed = set()
        for line in record:
            name, digest, size = line.split(",")
            listed.add(name)
            content = (root / name).read_bytes()
            if not name.endswith("RECORD"):
                code = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
                self.assertEqual((digest, int(size)), (f"sha256={code.decode()}", len(content)))
        there = {str(path.relative_to(root)) for path in root.rglob("*")
                 if path.is_file() and "__pycache__" not in path.parts}
        self.assertEqual(there, listed)
        self.assertIn("varve/py.typed", listed)

    def test_the_stubs_name_what_there_is(self):
        tree = ast.parse(pathlib.Path(UNPACKED.name, "varve", "__init__.pyi").read_text())
        for node in tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.assertIn(node.name, varve.__all__)
                real = getattr(varve, node.name)
                for member in node.body if isinstance(node, ast.ClassDef) else []:
                    if isinstance(member, ast.FunctionDef):
                        self.assertTrue(hasattr(real, member.name), f"{node.name}.{member.name}")
        stubbed = {node.name for node in tree.body if hasattr(node, "name")}
        self.assertEqual(stubbed, set(varve.__all__))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
