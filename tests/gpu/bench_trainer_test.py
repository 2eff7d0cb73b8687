#!/usr/bin/env python3
"""The trainer's benchmark and the presets' comparison without a GPU: a fake trainer, the bundled capture.

usage: bench_trainer_test.py RIDGELINE CAPTURE
"""
import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True

import bench_trainer
import presets
from common import Run, run

RIDGELINE, CAPTURE = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))

# Takes 50 ms a step in the fast preset, 10 % more with one attention, 6 % more from step 100 on, is rejected with another
# attention, does not end with stochastic rounding if there is a file `hang`; drifts by 1 % a run.
FAKE_TRAINER = r'''#!/usr/bin/env python3
import json, os, sys, time
args = sys.argv[1:]
def value(option, default):
    return args[args.index(option) + 1] if option in args else default
if value("--attention", "") == "unfused":
    sys.exit("gpt2_train: --attention unfused: not on this machine")
here = os.path.dirname(os.path.abspath(__file__))
if "--stochastic-rounding" in args and os.path.exists(os.path.join(here, "hang")):
    with open(os.path.join(here, "hangs.new"), "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, os.path.join(here, "hangs"))
    time.sleep(1000)
counter = os.path.join(here, "runs")
runs = int(open(counter).read()) if os.path.exists(counter) else 0
open(counter, "w").write(str(runs + 1))
ms = 50.0 * (1 + 0.01 * runs)
if value("--preset", "fast") == "naive":
    ms *= 20
if value("--attention", "cudnn") == "own":
    ms *= 1.1
batch = int(value("-B", "4"))
ms *= batch / 32
steps = int(value("--steps", "50"))
with open(value("--log", ""), "a") as log:
    for step in range(steps):
        log.write(json.dumps({"step": step, "time_ms": 9999 if step < 2 else ms * (1.06 if step >= 100 else 1) + 0.1 * (step % 3)}) + "\n")
        if os.path.exists(counter + "-short") and step == 150:
            sys.exit("gpt2_train: out of time")
        if "--deterministic" in args and step == 20:
            sys.exit("gpt2_train: the loss is not finite")
switches = {"gelu": "fused", "attention": value("--attention", "hopper"), "bias": value("--bias", "fused"), "cuda_graph": "off",
            "matmul": value("--matmul", "cublaslt")}
if switches["matmul"] == "cublas":
    switches["bias"] = "separate"
print(json.dumps({"median_ms": ms, "switches": switches, "flops_per_token": 803.5e6, "mfu_peak_flops_per_s": 989.4e12,
                  "final_loss": 5.5, "joules_per_step": 33.25 if steps > 200 else None, "energy_seconds": 10.5 if steps > 200 else None}))
'''
FAKE_PYTORCH = r'''
import json, sys
steps = int(sys.argv[sys.argv.index("--steps") + 1])
print(json.dumps({"step_ms": ([900.0] * 10 + [60.0] * 90 + [66.0] * steps)[:steps], "median_ms": 60.0}))
'''


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.trainer, self.pytorch = os.path.join(self.folder.name, "trainer"), os.path.join(self.folder.name, "torch.py")
        for path, text in ((self.trainer, FAKE_TRAINER), (self.pytorch, FAKE_PYTORCH)):
            with open(path, "w") as file:
                file.write(text)
        os.chmod(self.trainer, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def bench(self, *more, trainer=None):
        out = os.path.join(self.folder.name, "bench.json")
        printed, self.log = io.StringIO(), []
        with contextlib.redirect_stdout(printed):
            status = bench_trainer.main(["--trainer", trainer or self.trainer, "--pytorch-program", self.pytorch, "--out", self.folder.name,
                                         "--seconds", "0", "--json", out, *more], say=self.log.append)
        with open(out) as file:
            return status, printed.getvalue(), json.load(file)

    def test_rows_factors_and_figures(self):
        status, text, result = self.bench("--only", "preset naive,--attention own,--gelu separate,B = 64,PyTorch")
        rows = {row["row"]: row for row in result["rows"]}
        self.assertEqual(status, 0, text)
        self.assertEqual(list(rows), ["preset fast", "preset naive", "--gelu separate", "--attention own", "B = 64", "PyTorch"])
        own = rows["--attention own"]
        self.assertEqual(own["timed_steps"], bench_trainer.LEAST_STEPS)
        self.assertEqual(len(own["runs"][0]["step_ms"]), bench_trainer.LEAST_STEPS)
        self.assertLess(own["p90_ms"], 100, "the first steps are not among the timed ones")
        # 10 % slower at its time, whatever the drift between the first and the last run of the fast preset.
        self.assertAlmostEqual(own["against_fast"], 1.1, delta=0.02)
        self.assertGreater(result["fast_drift_ratio"], 0.03)
        self.assertAlmostEqual(own["tokens_per_s"], 32 * 1024 / own["median_ms"] * 1e3)
        self.assertAlmostEqual(own["mfu_ratio"], own["tokens_per_s"] * 803.5e6 / 989.4e12)
        self.assertEqual(own["differs_from_fast"], {"attention": "own"})
        self.assertIsNone(rows["B = 64"]["against_fast"])
        self.assertAlmostEqual(rows["PyTorch"]["median_ms"], 60.0)
        self.assertAlmostEqual(rows["PyTorch"]["mfu_ratio"], 32 * 1024 / 60e-3 * 803.5e6 / 989.4e12)
        self.assertIn("--master-weights", rows["PyTorch"]["command"])
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)
        self.assertGreater(len(rows["preset fast"]["runs"]), 1, "the fast preset runs between the others")

    def test_the_steps_after_a_while_are_figures_of_their_own(self):
        status, text, result = self.bench("--only", "--attention own,PyTorch")
        rows = {row["row"]: row for row in result["rows"]}
        self.assertEqual(status, 0, text)
        fast, pytorch = rows["preset fast"]["sustained"], rows["PyTorch"]["sustained"]
        for sustained in (fast, pytorch):
            self.assertEqual((sustained["timed_steps"], len(sustained["run"]["step_ms"])), (100, 220))
            self.assertIn("--steps 220", sustained["run"]["command"])
        self.assertLess(rows["preset fast"]["p90_ms"], 1.05 * rows["preset fast"]["p10_ms"], "the short runs are without it")
        self.assertGreater(fast["median_ms"] / rows["preset fast"]["median_ms"], 1.05)
        self.assertEqual((pytorch["median_ms"], rows["PyTorch"]["median_ms"]), (66.0, 60.0))
        self.assertAlmostEqual(pytorch["against_fast"], 66.0 / fast["median_ms"])
        self.assertAlmostEqual(pytorch["mfu_ratio"], 32 * 1024 / 66e-3 * 803.5e6 / 989.4e12)
        self.assertIsNone(rows["--attention own"]["sustained"])
        self.assertEqual((fast["joules_per_step"], pytorch["joules_per_step"]), (33.25, None))
        self.assertEqual((text.count("\n  sustained, 33.2 J a step"), text.count("\n  sustained  ")), (1, 1), text)
        self.assertIn("last 100 of 220", text)
        self.assertNotIn("--steps 220", rows["preset fast"]["command"])
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()), text)

        status, text, result = self.bench("--only", "PyTorch", "--no-sustained")
        self.assertEqual([row["sustained"] for row in result["rows"]], [None, None])
        self.assertNotIn("sustained", text)

    def test_rows_that_are_named_run_long_too(self):
        status, text, result = self.bench("--only", "--attention own,B = 64", "--sustain", "--attention own")
        rows = {row["row"]: row for row in result["rows"]}
        self.assertEqual(status, 0, text)
        self.assertIsNone(rows["B = 64"]["sustained"])
        own = rows["--attention own"]["sustained"]
        self.assertEqual((own["timed_steps"], own["joules_per_step"]), (100, 33.25))
        self.assertAlmostEqual(own["against_fast"], own["median_ms"] / rows["preset fast"]["sustained"]["median_ms"])
        self.assertIn("--attention own", own["run"]["command"])
        self.assertEqual(text.count("\n  sustained, 33.2 J a step"), 2, text)

        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(bench_trainer.main(["--trainer", self.trainer, "--only", "B = 64", "--sustain", "--attention own"]), 2)
        self.assertIn("no row '--attention own'", said.getvalue())

    def test_a_long_run_that_fails_leaves_the_figures_of_the_short_ones(self):
        with open(os.path.join(self.folder.name, "runs-short"), "w"):
            pass
        status, text, result = self.bench("--only", "PyTorch")
        fast = result["rows"][0]
        self.assertEqual((status, fast["failure"], fast["sustained"]["failure"]), (1, None, "exit 1: gpt2_train: out of time"))
        self.assertEqual(text.count(" FAIL  "), 1, text)
        self.assertGreater(fast["median_ms"], 0)
        self.assertIsNone(result["rows"][1]["sustained"]["against_fast"])

    def running(self, pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return " Z " not in file.read()
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_the_log_has_the_figures(self):
        self.bench("--only", "--attention own,PyTorch")
        log = "\n".join(self.log)
        self.assertRegex(log, r"(?m)^ +\d+ s  preset fast: 5\d\.\d{3} ms \(5\d\.\d\.\.5\d\.\d\)$")
        self.assertRegex(log, r"(?m)^ +\d+ s  --attention own: \d+\.\d{3} ms \([\d.]+\.\.[\d.]+\)$")
        self.assertIn("PyTorch, sustained (last 100 of 220 steps): 66.000 ms (66.0..66.0)", log)
        self.assertEqual(log.count("sustained"), 2)

    def on_a_clock(self, *more):
        """As long as an H200 takes for it, by a clock of its own: seconds at the end, and what came of it."""
        clock = [1000.0]

        def timed(command, timeout):
            steps, naive = int(command[command.index("--steps") + 1]), "naive" in command
            seconds = 15 + 0.06 * steps if self.pytorch in command else 60 if "full" in command and steps == 2 else 3 + (1.0 if naive else 0.05) * steps
            clock[0] += min(seconds, timeout)
            if seconds > timeout:
                return Run(124, timeout, "", f"ended by the check after {timeout} s")
            return run(command, timeout=60)

        with mock.patch.object(bench_trainer, "run", timed), mock.patch.object(bench_trainer.time, "monotonic", lambda: clock[0]):
            status, text, result = self.bench(*more)
        return clock[0] - 1000, status, text, result

    def test_it_ends_by_its_deadline_and_keeps_time_for_the_long_runs(self):
        passed_s, status, text, result = self.on_a_clock("--full-search", "--seconds", "150", "--deadline", "190")
        rows = {row["row"]: row for row in result["rows"]}
        self.assertLessEqual(passed_s, 190)
        self.assertGreater(passed_s, 160, "what time there was has been used")
        self.assertEqual((status, result["state"]), (1, "complete"))
        for name in ("preset fast", "PyTorch"):
            self.assertEqual(rows[name]["sustained"]["failure"], None)
            self.assertEqual(rows[name]["sustained"]["timed_steps"], 100)
        late = [name for name, row in rows.items() if row["failure"] and "no time left before the deadline of 190 s" in row["failure"]]
        self.assertIn("--deterministic", late)
        self.assertNotIn("B = 64", late)
        # Everything runs where there is time for it, but for what this trainer rejects.
        passed_s, _, _, result = self.on_a_clock("--full-search")
        failed = [row["row"] for row in result["rows"] if row["failure"]]
        self.assertEqual(failed, ["--attention unfused", "--deterministic"])
        self.assertGreater(passed_s, 190)

    def test_a_row_that_takes_too_long_is_ended_by_the_deadline(self):
        passed_s, status, _, result = self.on_a_clock("--only", "preset naive,--gelu separate", "--deadline", "35")
        self.assertLessEqual(passed_s, 35)
        rows = {row["row"]: row for row in result["rows"]}
        self.assertIn("exit 124", rows["preset naive"]["failure"])
        self.assertIsNone(rows["preset fast"]["failure"])

    def test_no_long_run_begins_behind_the_deadline(self):
        # Two short runs take 9.5 s, a long one 13.
        _, status, _, result = self.on_a_clock("--only", "--attention own", "--deadline", "12")
        self.assertEqual(status, 1)
        self.assertIn("no time left", result["rows"][0]["sustained"]["failure"])
        self.assertGreater(result["rows"][0]["median_ms"], 0)

    def test_what_ends_it_leaves_the_rows_that_ran(self):
        out = os.path.join(self.folder.name, "bench.json")
        with open(os.path.join(self.folder.name, "hang"), "w"):
            pass
        for number in (signal.SIGTERM, signal.SIGINT):
            hangs = os.path.join(self.folder.name, "hangs")
            bench = subprocess.Popen([sys.executable, "-B", bench_trainer.__file__, "--trainer", self.trainer, "--out", self.folder.name,
                                      "--only", "--gelu separate,--stochastic-rounding,--deterministic", "--json", out],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while not os.path.exists(hangs):
                self.assertIsNone(bench.poll())
                time.sleep(0.02)
            with open(hangs) as file:
                pid = file.read()
            with open(out) as file:
                before = json.load(file)
            self.assertEqual(before["state"], "under way")
            self.assertEqual([row["row"] for row in before["rows"]], ["preset fast", "--gelu separate"])
            bench.send_signal(number)
            text, log = bench.communicate(timeout=60)
            self.assertEqual(bench.returncode, 128 + number, log)
            self.assertRegex(text.splitlines()[-1], f"Ended early by {number.name} after [0-9]+ s: 2 rows have not run")
            self.assertRegex(text, r"(?m)^--gelu separate +5\d\.")
            self.assertNotIn("--deterministic", text)
            with open(out) as file:
                after = json.load(file)
            self.assertEqual(after["state"], f"Ended early by {number.name}")
            self.assertEqual(after["not_run"], ["--stochastic-rounding", "--deterministic"])
            self.assertEqual(after["rows"], before["rows"])
            for _ in range(500):  # killed, and taken away by the system soon
                if not self.running(pid):
                    break
                time.sleep(0.01)
            self.assertFalse(self.running(pid))
            os.remove(hangs)

    def test_a_full_search_serves_all_rows_but_those_about_searches(self):
        status, text, result = self.bench("--full-search", "--only", "--matmul-search off,--attention own")
        self.assertEqual(status, 0, text)
        self.assertIn("Plans of a full search", text)
        self.assertIsNotNone(result["full_search_s"])

        def plans_of(name):
            command = next(row for row in result["rows"] if row["row"] == name)["command"].split()
            self.assertEqual(command.count("--matmul-search"), 1, command)
            return command[command.index("--matmul-search") + 1], os.path.basename(command[command.index("--matmul-cache") + 1])

        self.assertEqual(plans_of("preset fast"), ("full", "bench-plans"))
        self.assertEqual(plans_of("--attention own"), ("full", "bench-plans"))
        self.assertEqual(plans_of("--matmul-search off")[0], "off")

    def test_what_is_rejected_or_breaks_off_is_a_failed_row(self):
        status, text, result = self.bench("--only", "--attention unfused,--deterministic,--attention own")
        rows = {row["row"]: row for row in result["rows"]}
        self.assertEqual(status, 1)
        self.assertIn("not on this machine", rows["--attention unfused"]["failure"])
        self.assertIn("not finite", rows["--deterministic"]["failure"])
        self.assertIsNone(rows["--attention own"]["failure"])
        self.assertEqual(text.count(" FAIL  "), 2, text)
        self.assertNotIn("median_ms", rows["--deterministic"])

    def test_what_the_fast_preset_does_anyway_is_left_out(self):
        _, text, result = self.bench("--only", "--gelu fused,--gelu separate,--no-cuda-graph,--cuda-graph,--matmul cublas")
        self.assertEqual([row["row"] for row in result["rows"]], ["preset fast", "--gelu separate", "--matmul cublas", "--cuda-graph"])
        self.assertIn("--matmul cublas: with it bias separate", text)

    def test_more_rounds_while_time_is_left(self):
        _, _, result = self.bench("--only", "--attention own", "--seconds", "3")
        own = result["rows"][1]
        self.assertGreater(len(own["runs"]), 1)
        self.assertEqual(own["timed_steps"], bench_trainer.LEAST_STEPS * len(own["runs"]))

    def test_a_fast_preset_that_fails_fails_all(self):
        broken = os.path.join(self.folder.name, "broken")
        with open(broken, "w") as file:
            file.write("#!/bin/sh\necho 'no GPU here' >&2\nexit 4\n")
        os.chmod(broken, 0o755)
        status, text, result = self.bench("--only", "--attention own", trainer=broken)
        self.assertEqual(status, 1)
        self.assertTrue(all(row["failure"] for row in result["rows"]), text)
        self.assertIn("exit 4: no GPU here", text)

    def test_an_unknown_row_is_usage(self):
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(bench_trainer.main(["--trainer", self.trainer, "--only", "nothing"]), 2)


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
