#!/usr/bin/env python3
"""commits.py without a GPU: a stand-in records what each commit of its repository would show, and its rows follow.

usage: commits_test.py RIDGELINE FABRICATE_CAPTURE
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

RIDGELINE, FABRICATE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
HERE = os.path.dirname(os.path.abspath(__file__))

# Makes captures up by what the checkout's train.py says; "a-a" is the trainer. BROKEN: what a recording does that shows nothing.
RECORDER = """#!/bin/bash
[ "$1" != record ] || shift
echo "$*" >> "{folder}/calls"
dir=.
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift ;; --directory) dir=$2; shift ;; --) shift; break ;; esac; shift; done
run=$(wc -l < "{folder}/calls")
more=()
if [ "$1" = python3 ]; then
  ! grep -q 'def gelu' "$dir/train.py" || more+=(extra=tanh_kernel)
  ! grep -q 'kept = ' "$dir/train.py" || more+=({copies})
  ! grep -q '{stops_at}' "$dir/train.py" || exit 7
  ! grep -q 'default=24' "$dir/train.py" || more+=(factor=0.75 grid=0.75)
  more+=(commit=$(git -C "$dir" rev-parse HEAD))
fi
exec "{fabricate}" "$out" codes layers=2 run=$run start=$((run * 60)) ${{more[@]+"${{more[@]}}"}}
"""
# compare_runs.py asks the program itself to record.
PROGRAM = """#!/bin/bash
if [ "$1" = record ]; then exec "{folder}/recorder" "$@"; fi
exec "{ridgeline}" "$@"
"""


class Commits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def rows(self, *arguments, copies="copies=8", stops_at="no such text"):
        filled = {"folder": self.folder.name, "fabricate": FABRICATE, "ridgeline": RIDGELINE, "copies": copies, "stops_at": stops_at}
        for name, text in {"recorder": RECORDER, "program": PROGRAM}.items():
            path = os.path.join(self.folder.name, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.format(**filled))
            os.chmod(path, 0o755)
        out = os.path.join(self.folder.name, "out")
        report = os.path.join(self.folder.name, "rows.json")
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "commits.py"), "--ridgeline", os.path.join(self.folder.name, "program"), "--out", out,
                               "--recorder", os.path.join(self.folder.name, "recorder"), "--json", report, *arguments], capture_output=True, text=True)
        with open(report, encoding="utf-8") as file:
            rows = {row["check"]: row for row in json.load(file)["rows"]}
        return done, rows, out

    def test_each_commit_has_its_verdict(self):
        done, rows, out = self.rows("--only", "comment,copies,fused,batch", "--budget", "20")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(list(rows), ["comment", "copies", "fused", "batch"])
        with open(os.path.join(out, "commits-comparisons.json"), encoding="utf-8") as file:
            self.assertEqual(set(json.load(file)), set(rows))
        with open(os.path.join(out, "commits.md"), encoding="utf-8") as file:
            self.assertEqual(file.read().count("\n# "), 3)

    def test_copies_that_nobody_sees_fail(self):
        done, rows, _ = self.rows("--only", "copies", "--budget", "20", copies="")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(rows["copies"]["passed"], done.stdout)

    def test_what_there_is_no_time_for_fails_and_says_how_to_run_it(self):
        done, rows, out = self.rows("--only", "comment,copies", "--seconds", "10")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--only comment,copies", rows["comment"]["detail"])
        self.assertIn("--only copies", rows["copies"]["detail"])
        with open(os.path.join(out, "commits.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "")

    def test_a_program_that_fails_leaves_the_rows_before_it(self):
        done, rows, out = self.rows("--only", "comment,copies", "--budget", "20", stops_at="kept = ")
        self.assertEqual(done.returncode, 1)
        self.assertTrue(rows["comment"]["passed"], done.stdout)
        self.assertIn("ended with 7", rows["copies"]["detail"])
        with open(os.path.join(out, "commits-comparisons.json"), encoding="utf-8") as file:
            documents = json.load(file)
        self.assertEqual(set(documents), {"comment"})
        self.assertTrue(any("of the budget is left" in line for line in documents["comment"]["said"]), documents["comment"]["said"])

    def test_the_trainer_against_itself(self):
        done, rows, out = self.rows("--only", "a-a", "--trainer", "/bin/true", "--seconds", "30")
        self.assertIn("with an alarm", rows["a-a"]["detail"], done.stdout + done.stderr)
        with open(os.path.join(out, "a-a.json"), encoding="utf-8") as file:
            self.assertGreaterEqual(len(json.load(file)["a_a"]), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
