#!/usr/bin/env python3
"""What a check leaves when it is cut off, and programs measured in turn. usage: common_test.py"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True

import advice
import advised
import common
import in_turn

HERE = os.path.dirname(os.path.abspath(__file__))

# A check of two cases whose second never ends; its table is made of both.
CHECK = """
import sys, time
sys.path.insert(0, sys.argv[1])
from common import Checks, Started
seen = []
def table():
    checks.add("all", True, f"{len(seen)} cases")
    print("the table:", *seen)
checks = Checks(sys.argv[2], table, {"seen": seen})
seen.append("first")
slow = Started(["sleep", "100"])
checks.add("first", True, "done")
slow.finish(100)
checks.finish()
"""

PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import types
sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(synchronize=lambda: None))
import in_turn

class Step:
    def step(self): pass

def make(changes):
    if "broken" in changes: sys.exit("cannot be made")
    return Step()

in_turn.run(in_turn.options_of(in_turn.parser_of("doc"), ("one", "broken")), make, lambda _: Step())
"""


class CutOff(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.json = os.path.join(self.folder.name, "rows.json")

    def rows(self):
        with open(self.json) as file:
            return json.load(file)

    def test_a_check_that_is_ended_says_what_it_has_and_judges_it(self):
        with subprocess.Popen([sys.executable, "-c", CHECK, HERE, self.json], stdout=subprocess.PIPE, text=True) as check:
            self.assertIn("first", check.stdout.readline())
            self.assertEqual([row["check"] for row in self.rows()["rows"]], ["first"], "a row is kept as soon as it is known")
            self.assertFalse(self.rows()["complete"])
            check.send_signal(signal.SIGTERM)
            rest = check.stdout.read()
        self.assertEqual(check.returncode, 124)
        self.assertIn("all            pass  1 cases\nthe table: first\n", rest)
        self.assertIn("cut off after 2 rows", rest)
        kept = self.rows()
        self.assertEqual((kept["complete"], kept["cut"], kept["seen"], len(kept["rows"])), (False, True, ["first"], 2))

    def test_a_check_that_ends_by_itself_is_complete(self):
        done = subprocess.run([sys.executable, "-c", CHECK.replace('"sleep", "100"', '"true"'), HERE, self.json], stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count("the table:"), 1)
        kept = self.rows()
        self.assertEqual((kept["complete"], "cut" in kept, len(kept["rows"])), (True, False, 2))

    def test_a_check_without_rows_fails(self):
        with self.assertRaises(SystemExit) as ended:
            common.Checks(self.json).finish()
        self.assertEqual(ended.exception.code, 1)


class Options(unittest.TestCase):
    def test_programs_are_required_and_cases_are_named(self):
        parser = common.options_of("What it does.\n\nMore.", "ridgeline", "trainer", only=("one", "two"))
        options = parser.parse_args(["--ridgeline", "r", "--trainer", "t", "--only", "two,one"])
        self.assertEqual((options.out, options.json), (".", None))
        self.assertEqual(common.chosen(parser, options.only, ("one", "two")), ["one", "two"])
        self.assertIn("of one, two", parser.format_help())
        for wrong in (["--ridgeline", "r"], ["--ridgeline", "r", "--trainer", "t", "--only", "three"]):
            with self.assertRaises(SystemExit), mock.patch("sys.stderr"):
                common.chosen(parser, parser.parse_args(wrong).only, ("one", "two"))


class InTurn(unittest.TestCase):
    def test_the_order_is_turned_round_each_round(self):
        order = []
        sides = {name: types.SimpleNamespace(step=lambda name=name: order.append(name)) for name in ("with", "without")}
        torch = types.SimpleNamespace(cuda=types.SimpleNamespace(synchronize=lambda: None))
        with mock.patch.dict(sys.modules, torch=torch):
            series = in_turn.series_of(sides, 3, 1, 0)
        self.assertEqual(order, ["with", "without", "without", "with", "with", "without"])
        self.assertEqual([len(series[name]) for name in ("with", "without")], [3, 3])

    def test_a_gain_that_the_rounds_do_not_agree_on_is_no_truth_to_be_held_against(self):
        alike = {"with": [10.6, 10.7, 10.6, 10.7], "without": [10.0, 10.1, 10.0, 10.0]}
        apart = {"with": [10.2, 12.3, 10.2, 12.0], "without": [10.2, 10.2, 10.2, 10.2]}
        for series, sure in ((alike, True), (apart, False)):
            self.assertEqual(advised.certain(advised.gain_ms(series, "with", "without"), advised.interval_ms(series, "with", "without")), sure)
        self.assertEqual(advised.interval_ms({"with": [1], "without": [0]}, "with", "without"), float("inf"))
        cases = [{"rule": "sync-in-step", "net": {"low_ns": 3e5, "mid_ns": 6e5, "high_ns": 7e5}}]
        self.assertTrue(advice.judge(cases, "sync-in-step", 0.62, 0.05)[0])
        passed, text = advice.judge(cases, "sync-in-step", 0.62, 0.9)
        self.assertFalse(passed)
        self.assertIn("too uncertain", text)

    def test_what_was_measured_before_a_program_failed_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program.py")
            with open(program, "w") as file:
                file.write(PROGRAM)
            series, why = advised.measured_in_turn([program, HERE], ["one", "broken"], 60, "--rounds", "2")
            self.assertEqual((list(series), len(series["one"]["with"])), (["one"], 2))
            self.assertIn("cannot be made", why)
            _, why = advised.measured_in_turn([program, HERE], ["one"], 60)
            self.assertEqual(why, "")
            alone = common.run([sys.executable, program, HERE, "--with", "one", "--steps", "2"])
            self.assertIn("mean_ms", alone.last_json())

    def test_the_loop_says_what_the_device_takes_of_a_host_that_is_far_ahead(self):
        sys.path.insert(0, os.path.join(HERE, "kinds"))
        import loop
        now, ends = 0.0, []  # the clock, and when the device is done with each step

        def wait(left=0):
            nonlocal now
            now = max(now, ends[-1 - left]) if len(ends) > left else now

        with mock.patch.object(loop.time, "perf_counter", lambda: now), mock.patch("builtins.print") as said:
            for step in loop.steps(300, wait):
                now += 0.0001 if step != 150 else 0.02
                ends.append(max(now, ends[-1] if ends else 0) + 0.001)
                wait(left=80)
        said = json.loads(said.call_args[0][0])
        self.assertEqual((said["steps"], said["mean_ms"], said["longest_ms"], said["longest_step"]), (300, 1.001, 20.0, 150))

    def test_gains(self):
        series = {"with": [3.0, 5.0, 4.0], "without": [2.0, 2.0, 2.0]}
        self.assertEqual(advised.gain_ms(series, "with", "without"), 2.0)
        self.assertEqual(advised.gain_ms(series, "without", "with"), -2.0)


if __name__ == "__main__":
    unittest.main()
