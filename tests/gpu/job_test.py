#!/usr/bin/env python3
"""Verdicts on what `ranks` answers, without a GPU: jobs that nobody ran, asked as recorded ones are, then made wrong.

usage: job_test.py RIDGELINE GENERATE (ridgeline_generate)
"""
import contextlib
import copy
import io
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.dont_write_bytecode = True

import job
from common import Checks, Run

RIDGELINE, GENERATE = sys.argv.pop(1), sys.argv.pop(1)
LATE_MS = 1.0


def answer_of(*made):
    with tempfile.TemporaryDirectory() as folder:
        whole = os.path.join(folder, "job.ridge")
        subprocess.run([GENERATE, "ranks", folder, "--ranks", "2", *made], check=True, capture_output=True)
        parts = [os.path.join(folder, f"rank{rank:04}.ridge") for rank in range(2)]
        subprocess.run([RIDGELINE, "merge", *parts, "-o", whole], check=True, capture_output=True)
        return json.loads(subprocess.run([RIDGELINE, "ranks", whole, "--format", "json"], check=True, capture_output=True, text=True).stdout)


HEALTHY = answer_of()
LATE = answer_of("--cause", "host-gaps", "--late-ns", str(1e6 * LATE_MS))


class Quiet(Checks):
    def add(self, name, passed, detail):
        self.rows.append({"check": name, "passed": bool(passed), "detail": detail})


def set_all(key, value):
    return lambda answer: [row.update({key: value}) for row in answer["collectives"]]


def scaled(key, times):
    return lambda answer: [row.update({key: row[key] * times}) for row in answer["collectives"]]


class Collectives(unittest.TestCase):
    def wrong(self, change=lambda answer: None):
        answer = copy.deepcopy(HEALTHY)
        change(answer)
        return job.collective_problems(answer, ("all_reduce",))

    def test_a_job_that_is_whole_passes(self):
        self.assertEqual(self.wrong(), [])

    def test_each_fault_is_found(self):
        for change, says in ((lambda answer: answer["job"].update(ranks=1), "1 ranks of 2"), (lambda answer: answer["job"].update(world_size=None), "2 ranks of None"),
                             (lambda answer: answer["job"].update(missing=[1]), "1 missing"), (lambda answer: answer["job"].update(steps=[0, 1]), "2 steps"),
                             (set_all("function", "all_gather"), "no all_reduce"), (set_all("bus_bytes_per_s", None), "have no bus bandwidth"),
                             (lambda answer: answer["collectives"][0].update(bytes=None), "1 of 7 all_reduce have no bus bandwidth"),
                             (lambda answer: answer["collectives"][0].update(bus_bytes_per_s=9e11), "beyond the links"),
                             (lambda answer: answer["collectives"][2].update(ranks=1), "1 of 7 collectives are not joined"),
                             (lambda answer: answer["mismatches"].append({"rank": 1, "step_index": 3, "kind": "lost"}), "1 mismatches, first: rank 1, step 3, lost"),
                             (scaled("hidden_ns", 0.9), "exposed_ns + hidden_ns are"), (set_all("exposed_transfer_ns", 0), "exposed_wait_ns + exposed_transfer_ns are"),
                             (set_all("skew_ns", 349e9), "more than a step apart"), (set_all("protocol", None), "7 of 7 have no protocol"), (lambda answer: answer["collectives"][1].update(element_type=None), "1 of 7 have no type"),
                             (lambda answer: answer["account"][0].update(time_ns=0), "account")):
            self.assertIn(says, "; ".join(self.wrong(change)))


class Ways(unittest.TestCase):
    LOSSES = [(0, 11.0, 2.0), (1, 10.5, 1.9)]

    def wrong(self, change=lambda answer: None, change_without=lambda answer: None, losses=LOSSES):
        forced, without = copy.deepcopy(HEALTHY), copy.deepcopy(HEALTHY)
        set_all("algorithm", None)(without)
        set_all("protocol", None)(without)
        change(forced)
        change_without(without)
        return job.ways_problems(forced, without, losses, self.LOSSES)

    def test_rings_with_the_same_losses_pass_and_each_fault_is_found(self):
        self.assertEqual(self.wrong(), [])
        self.assertEqual(self.wrong(set_all("function", "all_gather")), ["no all_reduce"])
        self.assertEqual(self.wrong(set_all("algorithm", None)), ["7 of 7 have no algorithm"])
        self.assertEqual(self.wrong(lambda answer: answer["collectives"][0].update(algorithm="tree")), ["1 of 7 algorithm are tree"])
        self.assertEqual(self.wrong(lambda answer: answer["collectives"][0].update(protocol="ll")), ["1 of 7 protocol are ll"])
        self.assertEqual(self.wrong(change_without=set_all("protocol", "ll")), ["an algorithm or protocol without the plugin"])
        self.assertEqual(self.wrong(losses=[(0, 11.0, 2.0)]), ["losses differ with the plugin"])
        self.assertEqual(self.wrong(losses=[]), ["no losses"])


class Traffic(unittest.TestCase):
    """Generated ranks send 1.125 bytes for each that is due."""

    def test_a_sampled_job_passes_and_each_fault_is_found(self):
        sampled = answer_of("--sampled-steps", "2")
        self.assertEqual(job.traffic_problems(sampled), [])
        self.assertEqual(job.traffic_problems(HEALTHY), ["no large collective was sampled alone"])
        for change, says in ((set_all("nvlink_ratio", 1.9), "1.90 bytes sent for each that is due"), (set_all("nvlink_ratio", None), "no NVLink bytes"),
                             (lambda answer: answer["ranks"][1].update(nvlink_sent_bytes=None), "rank 1 has no NVLink bytes"),
                             (lambda answer: answer["ranks"][0].update(pcie_sent_bytes=None), "rank 0 has no PCIe bytes")):
            answer = copy.deepcopy(sampled)
            change(answer)
            self.assertIn(says, "; ".join(job.traffic_problems(answer)))

    def test_the_row_says_what_was_seen(self):
        checks = Quiet()
        with mock.patch.object(job, "recorded", return_value=(Run(0, 1, "", ""), "capture", answer_of("--sampled-steps", "1"))):
            job.check_traffic(checks, None)
        self.assertTrue(checks.rows[0]["passed"], checks.rows[0]["detail"])
        # A sample at an end is shared out by time: of calls of ten samples that takes up to a thirtieth.
        self.assertRegex(checks.rows[0]["detail"], r" 1\.(09|1[012])\d for each byte that is due \(\d+ calls\)")


class Curve(unittest.TestCase):
    def test_a_size_without_a_bandwidth_or_with_another_is_named_and_short_ones_are_not_compared(self):
        rows = {size: {"bus_bytes_per_s": bus} for size, bus in ((1 << 20, 40e9), (1 << 26, 250e9), (1 << 30, 320e9))}
        self.assertEqual(job.curve_problems({1 << 20: 20e9, 1 << 26: 251e9, 1 << 30: 321e9}, rows), [])
        wrong = job.curve_problems({1 << 20: 20e9, 1 << 26: 200e9, 1 << 30: 321e9, 1 << 33: 325e9}, rows)
        self.assertEqual(wrong, ["8589.93 MB: no bus bandwidth", "67.11 MB: 250.0 GB/s, by the program's events 200.0"])

    def test_the_row_has_each_size(self):
        answer = copy.deepcopy(HEALTHY)
        size = answer["collectives"][0]["bytes"]
        for row in answer["collectives"]:
            row.update(bytes=size)
        checks, said = Quiet(), {"bus_bytes_per_s": {str(size): answer["collectives"][-1]["bus_bytes_per_s"]}}
        with mock.patch.object(job, "recorded", return_value=(Run(0, 1, json.dumps(said), ""), "capture", answer)):
            job.check_curve(checks, None)
        self.assertTrue(checks.rows[0]["passed"], checks.rows[0]["detail"])
        self.assertIn(f"{size / 1048576:g} MiB", checks.rows[0]["detail"])


class Ordinals(unittest.TestCase):
    calls = [(rank, "c0ffee", ordinal, "all_reduce", 1024, 1000 * ordinal + 10 * rank, 1000 * ordinal + 500) for rank in range(2) for ordinal in range(20)]

    def changed(self, place, value, of=lambda row: row[0] == 1):
        return [row[:place] + (value(row[place]),) + row[place + 1:] if of(row) else row for row in self.calls]

    def test_the_same_calls_pass_and_each_fault_is_found(self):
        self.assertEqual(job.ordinal_problems(self.calls), [])
        self.assertIn("0 calls have an ordinal in both", job.ordinal_problems([row for row in self.calls if row[0] == 0])[0])
        self.assertIn("0 calls have an ordinal in both", job.ordinal_problems(self.changed(1, lambda _: "beef"))[0])
        self.assertIn("of different calls", "; ".join(job.ordinal_problems(self.changed(4, lambda size: size + 1))))
        early = self.changed(6, lambda end: end - 495, lambda row: row[0] == 0)
        self.assertIn("20 of 20 calls are over", job.ordinal_problems(early)[0])
        self.assertEqual(job.ordinal_problems([row[:3] + ("broadcast",) + row[4:] for row in early]), [], "its root does not wait")
        off_by_one = job.ordinal_problems(self.changed(2, lambda ordinal: ordinal + 1))
        self.assertIn("19 of 19 calls are over in one rank before the other is in them", off_by_one)
        self.assertIn("20 ordinals are there twice", job.ordinal_problems(self.calls + [row for row in self.calls if row[0] == 1])[0])

    def test_they_are_read_of_a_job_that_nobody_ran(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([GENERATE, "ranks", folder, "--ranks", "2"], check=True, capture_output=True)
            calls = [call for rank in range(2) for call in job.numbered_calls(os.path.join(folder, f"rank{rank:04}.ridge"))]
        self.assertEqual(job.ordinal_problems(calls), [])


class Windows(unittest.TestCase):
    own = {"kind": "copy-engine", "right": True}

    @staticmethod
    def answer(**of_gather):
        gather = {"function": "all_gather", "bytes": 33554432, "copies": 1, "ranks": 2, "steps": 15, "bus_bytes_per_s": 366.9e9, **of_gather}
        return {"job": {"steps": list(range(15))}, "collectives": [gather, {**gather, "function": "all_reduce", "bytes": 16777216, "copies": None}]}

    def test_a_gather_by_copies_passes_and_each_fault_is_found(self):
        self.assertEqual(job.window_problems(self.own, self.answer()), [])
        for fault, words in (({"copies": None}, "is no copy"), ({"bytes": 16777216}, "has 16777216 bytes"), ({"steps": 14}, "in 14 of 15 steps"), ({"ranks": 1}, "of 1 ranks"),
                             ({"bus_bytes_per_s": None}, "at 0.0 GB/s"), ({"bus_bytes_per_s": 900e9}, "at 900.0 GB/s"), ({"function": "broadcast"}, "0 all_gather a step")):
            with self.subTest(fault):
                self.assertIn(words, "; ".join(job.window_problems(self.own, self.answer(**fault))))
        self.assertIn("wrong", job.window_problems({"right": False}, self.answer())[0])


class Fsdp(unittest.TestCase):
    """Four of the seven all-reduces are taken for gathers, so that three blocks and what is around them are gathered."""

    def answer(self):
        answer = copy.deepcopy(HEALTHY)
        for i, row in enumerate(answer["collectives"]):
            gathers = i < 4
            row.update(function="all_gather" if gathers else "reduce_scatter", bytes=100e6 if gathers else 150e6, bus_bytes_per_s=300e9)
        return answer

    def test_a_good_one_passes_and_each_fault_is_found(self):
        self.assertEqual(job.fsdp_problems(self.answer()), [])
        for change, says in ((set_all("function", "all_reduce"), "no all_gather; no reduce_scatter"),
                             (lambda answer: answer["collectives"][0].update(function="reduce_scatter"), "3 gathers and 4 scatters"),
                             (lambda answer: answer["collectives"][0].update(bytes=200e6), "500.0 MB gathered and 450.0 MB scattered"),
                             (lambda answer: [row.update(bytes=50e6) for row in answer["collectives"][:4]], "200.0 MB gathered and 450.0 MB")):
            answer = self.answer()
            change(answer)
            self.assertIn(says, "; ".join(job.fsdp_problems(answer)))

    def check(self, answer, calls=Ordinals.calls):
        checks = Quiet()
        with mock.patch.object(job, "recorded", return_value=(Run(0, 1, "", ""), "capture", answer)), \
                mock.patch.object(job, "numbered_calls", return_value=calls):
            job.check_fsdp2(checks, None)
        return checks.rows[0]["passed"], checks.rows[0]["detail"]

    def test_the_row_says_what_was_seen(self):
        passed, detail = self.check(self.answer())
        self.assertTrue(passed, detail)
        self.assertIn("4 all_gather a step, the largest 100.0 MB at 300.0 GB/s on the bus; 3 reduce_scatter a step, the largest 150.0 MB", detail)
        self.assertEqual(self.check("exit 1: no torch"), (False, "exit 1: no torch"))
        self.assertFalse(self.check(HEALTHY)[0])
        self.assertIn("0 calls have an ordinal in both", self.check(self.answer(), [])[1])

    def test_a_mesh_whose_communicator_was_not_split_off_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            capture = os.path.join(folder, "mesh.ridge")
            with contextlib.closing(sqlite3.connect(capture)) as db:
                db.execute("CREATE TABLE communicator (id INTEGER, process_id INTEGER, ranks INTEGER)")
                db.executemany("INSERT INTO communicator VALUES (?, ?, ?)", [(1, 1, 2), (2, 1, 2), (3, 1, 1), (4, 2, 2), (5, 2, 2)])
                db.commit()
                self.assertEqual(job.split_problems(capture), [])
                db.execute("UPDATE communicator SET ranks = NULL WHERE id = 5")
                db.commit()
                self.assertIn("1 of 2 processes have less than two communicators of 2 ranks", job.split_problems(capture)[0])
                db.execute("DELETE FROM communicator WHERE process_id = 2")
                db.commit()
                self.assertIn("0 of 1 processes", job.split_problems(capture)[0])


class BesideHealthy(unittest.TestCase):
    def test_generated_kernels_are_the_same_and_nothing_is_missing(self):
        beside = job.beside_healthy(HEALTHY, LATE, LATE_MS)
        self.assertLess(abs(beside["missing_ns"]), 0.05e6)
        self.assertLess(abs(beside["rank0_more_ns"]["own"]), 0.02e6)
        self.assertLess(abs(beside["rank1_beyond_planted_ns"]), 0.02e6)
        self.assertLess(max(abs(row[f"rank{rank}_ns"] - row[f"rank{rank}_healthy_ns"]) for row in beside["kernels"] for rank in range(2)), 0.02e6)

    def grown(self):
        """Rank 0's longest kernel takes 0.4 ms longer, and so much less is said of rank 1's lateness."""
        answer = copy.deepcopy(LATE)
        kernel, rank0, rank1 = answer["kernels"][0], answer["ranks"][0], answer["ranks"][1]
        least = job.kernel_ns(kernel, 1)
        kernel.update(best_ns=least, worst_ns=job.kernel_ns(kernel, 0) + 0.4e6, worst_rank=0)
        rank0["own_ns"], rank0["compute_ns"] = rank0["own_ns"] + 0.4e6, rank0["compute_ns"] + 0.4e6
        rank1["late_ns"] -= 0.4e6
        return answer

    def test_what_rank_0_computes_longer_is_what_is_missing(self):
        answer = self.grown()
        beside = job.beside_healthy(HEALTHY, answer, LATE_MS)
        first = beside["kernels"][0]
        self.assertEqual(first["kernel"], HEALTHY["kernels"][0]["kernel"])
        self.assertAlmostEqual(first["rank0_ns"] - first["rank0_healthy_ns"], 0.4e6, delta=0.02e6)
        self.assertAlmostEqual(first["rank1_ns"] - first["rank1_healthy_ns"], 0, delta=0.02e6)
        self.assertAlmostEqual(beside["missing_ns"], 0.4e6, delta=0.05e6)
        self.assertAlmostEqual(beside["rank0_more_ns"]["compute"], beside["missing_ns"], delta=0.05e6)

    def test_a_kernel_of_one_rank_is_none_of_the_other(self):
        row = {"worst_rank": 1, "worst_ns": 5.0, "best_ns": 5.0, "ranks": 1}
        self.assertEqual([job.kernel_ns(row, rank) for rank in range(2)], [0.0, 5.0])

    def late_row(self, answer, healthy, planted=LATE_MS):
        checks = Quiet()
        with mock.patch.object(job, "program_answer", return_value=("capture", [{"late_ms": planted}, {"late_ms": 0}], answer)), \
                contextlib.redirect_stdout(io.StringIO()) as printed:
            job.check_late(checks, types.SimpleNamespace(), "host-gaps", healthy)
        return checks.rows[0], printed.getvalue(), checks.figures

    def test_the_row_the_table_and_the_figures(self):
        row, printed, figures = self.late_row(LATE, HEALTHY)
        self.assertTrue(row["passed"], row["detail"])
        self.assertIn("beside healthy rank 0 computes", row["detail"])
        self.assertIn("--- host-gaps beside healthy: ", printed)
        self.assertIn("attention_backward", printed)
        self.assertIn("host-gaps", figures["beside_healthy"])
        row, printed, figures = self.late_row(self.grown(), HEALTHY)
        self.assertFalse(row["passed"], "0.6 of 1 ms are said")
        self.assertIn("beside healthy rank 0 computes +0.40 ms", row["detail"])
        self.assertRegex(printed.splitlines()[4], r"\+0\.400     2\.346   2\.346  [+-]0\.000   gemm_gradient", "the one that differs most comes first")
        row, printed, figures = self.late_row(LATE, None)
        self.assertTrue(row["passed"])
        self.assertEqual((printed, figures), ("", {}))
        self.assertFalse(self.late_row(HEALTHY, HEALTHY)[0]["passed"], "nobody is late")
        self.assertFalse(self.late_row(LATE, HEALTHY, planted=2.0)[0]["passed"])


if __name__ == "__main__":
    unittest.main()
