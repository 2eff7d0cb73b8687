#!/usr/bin/env python3
"""Verdicts on ranks of the trainer without a GPU: speeds made good and bad, and a made-up compute-sanitizer. usage: ranks_test.py"""
import contextlib
import io
import json
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True

import ranks
from common import Checks, Run, options_of

# In the place of compute-sanitizer: starts what it is given, and says what TOOL_SAYS has.
TOOL = """#!/usr/bin/env python3
import os, subprocess, sys
words = sys.argv[1:]
program = next(i for i, word in enumerate(words) if word.endswith("gpt2_train"))
status = subprocess.call(words[program:])
print(os.environ.get("TOOL_SAYS", "========= ERROR SUMMARY: 0 errors").replace("|", chr(10)))
sys.exit(9 if "Invalid" in os.environ.get("TOOL_SAYS", "") else status)
"""

# In the place of the trainer: ranks that it forks, or itself, which map the tool's library if it follows so far, and write the log.
TRAINER = """#!/usr/bin/env python3
import json, mmap, os, sys, time
def rank_main(rank, forked):
    follows = os.environ.get("TOOL_FOLLOWS", "forked launched").split()
    if ("forked" if forked else "launched") in follows and not (rank == 1 and "not-rank-1" in follows):
        with open(os.environ["TOOL_LIBRARY"], "rb") as file:
            kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    time.sleep(0.4)
    if rank == 0:
        with open(sys.argv[sys.argv.index("--log") + 1], "w") as log:
            for step in range(int(os.environ.get("STEPS", "2"))):
                log.write(json.dumps({"step": step, "loss": 5.5, "norm": 1}) + chr(10))
    os._exit(0)
if "--ranks" not in sys.argv:
    rank_main(int(os.environ["RANK"]), False)
for rank in range(2):
    if os.fork() == 0:
        rank_main(rank, True)
for _ in range(2):
    os.wait()
sys.exit(int(os.environ.get("ENDS", "0")))
"""


class Quiet(Checks):
    def add(self, name, passed, detail):
        self.rows.append({"check": name, "passed": bool(passed), "detail": detail})


class Sanitizer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.mkdir(os.path.join(folder.name, "ranks"))
        for name, text in (("compute-sanitizer", TOOL), ("gpt2_train", TRAINER), ("libsanitizer-collection.so", "made up")):
            path = os.path.join(folder.name, name)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o755)
        self.environment = {"PATH": folder.name + ":" + os.environ["PATH"], "TOOL_LIBRARY": os.path.join(folder.name, "libsanitizer-collection.so")}
        self.trainer = ranks.Trainer(types.SimpleNamespace(trainer=os.path.join(folder.name, "gpt2_train"), out=folder.name, nccl_library=None))

    def row(self, **environment):
        checks = Quiet()
        with mock.patch.dict(os.environ, {**self.environment, **environment}):
            ranks.check_sanitizer(checks, self.trainer)
        self.assertEqual(len(checks.rows), 1)
        return checks.rows[0]["passed"], checks.rows[0]["detail"]

    def test_forked_ranks_that_the_tool_follows_pass(self):
        passed, detail = self.row()
        self.assertTrue(passed, detail)
        self.assertIn("forked: memcheck in both ranks, 0 errors, 2 steps", detail)
        self.assertNotIn("launched", detail)

    def test_where_it_does_not_follow_forks_each_rank_is_started_under_it(self):
        passed, detail = self.row(TOOL_FOLLOWS="launched")
        self.assertTrue(passed, detail)
        self.assertIn("forked: the tool was in 0 of 2 ranks", detail)
        self.assertIn("launched: memcheck in both ranks, 0 errors", detail)

    def test_each_fault_fails(self):
        error = "========= Invalid __global__ read of size 4 bytes|=========     at void gpt2::triad<float>(float *)+0x10|========= ERROR SUMMARY: 1 error"
        for environment, says in (({"TOOL_FOLLOWS": ""}, "the tool was in 0 of 2"), ({"TOOL_FOLLOWS": "forked launched not-rank-1"}, "the tool was in 1 of 2"),
                                  ({"TOOL_SAYS": error}, "1 errors, in gpt2::triad"), ({"TOOL_SAYS": "========= COMPUTE-SANITIZER"}, "no summary"),
                                  ({"STEPS": "1"}, "1 of 2 steps"), ({"ENDS": "6"}, "exit 6")):
            passed, detail = self.row(**environment)
            self.assertFalse(passed, environment)
            self.assertIn(says, detail)

    def test_without_the_tool_and_one_that_does_not_end(self):
        with mock.patch.object(ranks.shutil, "which", return_value=None):
            self.assertFalse(self.row()[0])
        with mock.patch.object(ranks, "SANITIZER_S", 0.2):
            passed, detail = self.row()
        self.assertFalse(passed)
        self.assertIn("exit 124", detail)


class MadeTrainer:
    """Milliseconds of a step by number of ranks and switch; None: it fails."""

    def __init__(self, **milliseconds):
        self.milliseconds = {"one": 40.0, "overlap": 42.0, "no_overlap": 49.0, "zero1": 43.0, "forward": 42.5, "zero2": 44.0, **milliseconds}
        self.commands = []

    def run(self, count, *arguments):
        self.commands.append(arguments)
        name = f"zero{arguments[arguments.index('--zero') + 1]}" if "--zero" in arguments else "no_overlap" if "--no-overlap" in arguments else "overlap" if count else "one"
        name = "forward" if "forward" in arguments else name
        ms = self.milliseconds[name]
        if ms is None:
            return Run(1, 1, "", "gpt2_train: out of memory\n"), []
        return Run(0, 1, json.dumps({"median_ms": ms, "p10_ms": ms, "p90_ms": ms, "tokens_per_s": 1e6 / ms, "host_late_steps": 0, "final_loss": 9}), ""), []


class Memory(unittest.TestCase):
    def test_what_is_held_falls_as_announced(self):
        planned = {0: 5000e6, 1: 4000e6, 2: 3400e6}
        held = {stage: bytes + 900e6 for stage, bytes in planned.items()}
        passed, detail = ranks.memory_verdict(held, planned, None)
        self.assertTrue(passed, detail)
        self.assertIn("ZeRO-2 4300 (3400) MB", detail)
        for wrong, says in (({**held, 2: held[1]}, "ZeRO-2 saves 0 MB beside ZeRO-1, announced 600"), ({**held, 1: held[0]}, "ZeRO-1 saves 0 MB")):
            passed, detail = ranks.memory_verdict(wrong, planned, None)
            self.assertFalse(passed)
            self.assertIn(says, detail)
        self.assertFalse(ranks.memory_verdict(held, {**planned, 2: planned[1]}, None)[0], "nothing was announced")
        self.assertEqual(ranks.memory_verdict({}, {}, "--zero 1: exit 4"), (False, "--zero 1: exit 4"))

    def test_a_run_of_one_process_has_no_switches_of_ranks(self):
        self.assertEqual(ranks.without_ranks_own(["-B", "4", "--zero", "2", "--wire", "bf16", "--model", "124M"]), ("-B", "4", "--model", "124M"))


class Losses(unittest.TestCase):
    """What one H200 and two said in FP8: the loss bends in step 12, whose gradient is a hundred times the others'."""
    one = [(0, 10.94, 14.6), (1, 10.0893, 4.56), (2, 9.5331, 2.06), (3, 9.1657, 1.96), (4, 8.8386, 2.11), (5, 8.3536, 1.52), (6, 8.0128, 1.38),
           (10, 7.2447, 0.68), (11, 7.1130, 0.74), (12, 7.5368, 41.5), (13, 7.1254, 0.70), (14, 7.1501, 0.74)]
    two = [(0, 10.94, 14.6), (1, 10.0899, 4.55), (2, 9.5330, 2.06), (3, 9.1653, 1.96), (4, 8.8382, 2.04), (5, 8.3517, 1.52), (6, 8.0093, 1.38),
           (10, 7.2434, 0.68), (11, 7.1119, 0.75), (12, 8.3316, 72.0), (13, 7.1248, 0.71), (14, 7.1495, 0.76)]

    def test_the_step_where_the_loss_bends_is_left_out(self):
        self.assertAlmostEqual(ranks.loss_deviation("fp8", self.two, self.one), 8.0128 / 8.0093 - 1, places=5)

    def test_in_fp32_it_counts(self):
        self.assertAlmostEqual(ranks.loss_deviation("fp32", self.two, self.one), 8.3316 / 7.5368 - 1)

    def test_what_stays_off_behind_it_is_seen(self):
        lost = [row if row[0] <= 12 else (row[0], row[1] * 1.02, row[2]) for row in self.two]
        self.assertGreater(ranks.loss_deviation("fp8", lost, self.one), ranks.TOLERANCE["fp8"][0])

    def test_a_first_step_counts_whatever_its_gradient(self):
        off = [(0, 11.2, 14.6), *self.two[1:]]
        self.assertGreater(ranks.loss_deviation("fp8", off, self.one), ranks.TOLERANCE["fp8"][0])


class Gathers(unittest.TestCase):
    def verdict(self, files=None, **forward):
        run = {"status": 0, "losses": [(step, 9.0 - step, 1.0) for step in range(ranks.STEPS)], "validations": [{"val_loss": 9.5}], "samples": [{"sample": [1, 2]}]}

        def of(place):
            return (Run(place["status"], 1, "", "out of memory\n"), place["losses"], place["validations"], place["samples"])

        return ranks.gathers_verdict({"update": of(run), "forward": of({**run, **forward})}, files)

    def test_equal_runs_pass(self):
        passed, detail = self.verdict()
        self.assertTrue(passed, detail)
        self.assertIn("the same bits in 20 losses, 1 validations, 1 samples", detail)
        self.assertNotIn("checkpoints", detail)
        self.assertIn("two checkpoints", self.verdict([])[1])

    def test_each_fault_fails(self):
        for faults, says in (({"losses": [(0, 9.0, 1.0)]}, "differs: losses"), ({"validations": [{"val_loss": 9.4}]}, "differs: validations"), ({"samples": []}, "differs: samples"),
                             ({"files": ["gathers-fp32-forward.bin"]}, "differs: gathers-fp32-forward.bin"), ({"status": 1}, "exit 1: out of memory")):
            passed, detail = self.verdict(**faults)
            self.assertFalse(passed, faults)
            self.assertIn(says, detail)

    def test_a_file_that_one_lacks_differs(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ["a-update.bin", "a-forward.bin", *(os.path.join(f"a-{place}", f"step_{step:08}", file) for place in ("update", "forward")
                                                        for step in (10, ranks.STEPS) for file in ("model.bin", "state.bin"))]
            for name in names:
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write("same")
            self.assertEqual(ranks.differing_files(folder, "a", 10), [])
            os.remove(os.path.join(folder, "a-forward.bin"))
            with open(os.path.join(folder, names[-1]), "w") as file:
                file.write("else")
            self.assertEqual(ranks.differing_files(folder, "a", 10), ["a-forward.bin", os.path.join("a-forward", f"step_{ranks.STEPS:08}", "state.bin")])
            ranks.remove(folder, "a")
            self.assertEqual(os.listdir(folder), [])


class Speed(unittest.TestCase):
    def rows(self, wanted=None, **milliseconds):
        checks, table, trainer = Quiet(), [], MadeTrainer(**milliseconds)
        ranks.check_speed(checks, trainer, wanted or {"774M": (4,)}, None, table)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            ranks.print_speed(table)
        return checks.rows, table, printed.getvalue().splitlines(), trainer

    def test_a_good_one_passes_beside_what_is_expected(self):
        rows, table, printed, trainer = self.rows()
        self.assertEqual([(row["check"], row["passed"]) for row in rows], [("speed-774m-b4", True)])
        self.assertAlmostEqual(table[0]["expected_no_overlap"], 40 / (40 + 9.01), places=3)
        self.assertAlmostEqual(table[0]["efficiency_overlap"], 40 / 42)
        self.assertIn("0.952, 0.816, 0.930, 0.941, 0.909   0.95, 0.816", printed[1])
        self.assertEqual([command[3] for command in trainer.commands], [4, 8, 8, 8, 8, 8], "the same batch a rank")

    def test_each_fault_fails(self):
        for milliseconds, says in (({"overlap": 54.0, "no_overlap": 60.0}, "0.741"), ({"overlap": 45.0, "no_overlap": 43.0}, "0.889"), ({"forward": 44.0}, "0.909 with its gathers"),
                                   ({"overlap": None}, "overlap: exit 1: gpt2_train: out of memory"), ({"one": None}, "one: exit 1")):
            rows, _, printed, _ = self.rows(**milliseconds)
            self.assertEqual([row["passed"] for row in rows], [False], milliseconds)
            self.assertIn(says, rows[0]["detail"])
            self.assertEqual(len(printed), 1 if None in milliseconds.values() else 2)

    def test_what_is_asked_for_is_measured(self):
        parser = options_of("doc")
        self.assertEqual(ranks.speed_wanted(parser, None), {"124M": (4, 8, 32), "774M": (4, 8)})
        self.assertEqual(ranks.speed_wanted(parser, ["774M:4", "124M:8,32"]), {"774M": (4,), "124M": (8, 32)})
        for wrong in ("774M", "774M:", "774M:0", "775M:4", "774M:4,,8"):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
                ranks.speed_wanted(parser, [wrong])
            self.assertIn(f"--speed {wrong}: MODEL:B,...", said.getvalue())


if __name__ == "__main__":
    unittest.main()
