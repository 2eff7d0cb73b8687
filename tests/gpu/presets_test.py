#!/usr/bin/env python3
"""The presets' comparison without a GPU: the bundled capture, and one made slower.

usage: presets_test.py RIDGELINE CAPTURE
"""
import contextlib
import io
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import presets

RIDGELINE, CAPTURE = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))


class Presets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def compare(self, naive, fast):
        out, printed = os.path.join(self.folder.name, "presets.json"), io.StringIO()
        with contextlib.redirect_stdout(printed), self.assertRaises(SystemExit) as ended:
            presets.main(["--ridgeline", RIDGELINE, "--captures", naive, fast, "--json", out])
        with open(out) as file:
            return ended.exception.code, printed.getvalue(), {row["check"]: row["passed"] for row in json.load(file)["rows"]}

    def slower(self):
        """The bundled capture with half the busy cycles and bytes at half the speed: nothing reaches its target."""
        path = os.path.join(self.folder.name, "slow.ridge")
        shutil.copy(CAPTURE, path)
        db = sqlite3.connect(path)
        db.execute("UPDATE launch_metric SET value = value / 2 WHERE tier IN ('T1', 'T2')")
        first = db.execute("SELECT min(start_ns) FROM launch WHERE start_ns > 0").fetchone()[0]
        for table in ("launch", "memcpy", "memset"):
            db.execute(f"UPDATE {table} SET start_ns = 2 * start_ns - {first}, end_ns = 2 * end_ns - {first} WHERE start_ns >= {first}")
        db.commit()
        db.close()
        return path

    def test_the_faster_side_passes(self):
        status, text, passed = self.compare(self.slower(), CAPTURE)
        self.assertEqual((status, passed), (0, {"naive": True, "fast": True, "shares": True}), text)
        for words in ("kernels of the naive preset", "kernels of the fast preset", "layernorm_backward", "attention_backward", "2.12"):
            self.assertIn(words, text)

    def test_no_gain_fails(self):
        status, text, passed = self.compare(CAPTURE, CAPTURE)
        self.assertEqual((status, passed), (1, {"naive": True, "fast": True, "shares": False}), text)

    def test_a_capture_that_cannot_be_read_fails(self):
        broken = os.path.join(self.folder.name, "broken.ridge")
        with open(broken, "w") as file:
            file.write("nothing")
        status, _, passed = self.compare(broken, CAPTURE)
        self.assertEqual((status, passed["naive"]), (1, False))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
