#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the examples as their first lines say, and checks what they leave with the program.

    run.py VARVE EXAMPLES"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

VARVE = EXAMPLES = ""


def run(*command, code=0, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def example(name, *arguments, **more):
    return run(f"{EXAMPLES}/example_{name}", *arguments, **more)


class Examples(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.store = f"{scratch.name}/store"

    def verify(self):
        run(VARVE, "verify", self.store)

    def test_job_worker(self):
        out = example("tay_worker", self.store, "3")
        self.assertEqual(out, "finished 1\nfinished 2\nfinished 3\n")
        self.assertEqual(example("tay_worker", self.store, "4"), "finished 4\n")
        self.verify()

    def test_document(self):
        for words in ["add one", "add two", "add three", "set 2 TWO", "remove 1"]:
            example("kladde_document", self.store, *words.split())
        self.assertEqual(example("kladde_document", self.store, "show"), "1  TWO\n2  three\n")
        example("kladde_document", self.store, "remove", "3", code=64)
        self.verify()

    def test_archiver(self):
        lines = [f"did:plc:{n} org.example.post k{n} text {n} {'x' * n}\n" for n in range(300)]
        out = example("jss_archiver", self.store, text="".join(lines[:250]))
        self.assertEqual(out, "durable 100\ndurable 200\ndurable 250\n")
        # The same input, longer: what is in the archive does not come twice.
        out = example("jss_archiver", self.store, text="".join(lines))
        self.assertEqual(out, "durable 300\ndurable 300\n")
        rows = run(VARVE, "cat", self.store).splitlines()
        self.assertEqual(len(rows), 300)
        self.assertIn(f'"record":{{"text":"text 299 {"x" * 299}"}}', rows[-1])
        self.verify()

    def test_audit_log(self):
        example("arena_audit", self.store, "record", "ada", "opened the door")
        example("arena_audit", self.store, "record", "bob", "closed it")
        shown = example("arena_audit", self.store, "show").splitlines()
        self.assertEqual([line.split(" ", 9)[0] for line in shown], ["ok", "ok"])
        self.assertTrue(shown[1].endswith("bob: closed it"))
        self.verify()
        segment = pathlib.Path(self.store, "seg_0.bin")
        data = bytearray(segment.read_bytes())
        data[data.index(b"opened")] ^= 1
        segment.write_bytes(data)
        example("arena_audit", self.store, "show", code=2)


if __name__ == "__main__":
    VARVE, EXAMPLES = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
