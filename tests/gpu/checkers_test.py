#!/usr/bin/env python3
"""The checkers of this folder can fail: each verdict is shown a capture, or ncu's rows, made wrong.

usage: checkers_test.py CAPTURE GENERATE. The capture is copied; T1 values and ncu's rows are made from its own T2 values. It may be
of an older schema: what the checkers ask is asked of a capture that GENERATE (ridgeline_generate) writes in the present one, too.
"""
import argparse
import contextlib
import csv
import io
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import budget
import capture_checks
import cost
import crosscheck
import dependencies
import gauntlet
import launch_cost
import ncu
import overhead
import places
import price
import programs
import shared_gpu
import streams
import what_if
from common import Checks, Run, chosen, open_capture

CAPTURE, GENERATE = sys.argv.pop(1), sys.argv.pop(1)


class Quiet(Checks):
    def add(self, name, passed, detail):
        self.rows.append({"check": name, "passed": bool(passed), "detail": detail})


def verdicts(path, ncu_csv=None):
    db = open_capture(path)
    checks, places, peak = Quiet(), crosscheck.step_of(db), crosscheck.dram_peak(db)
    rows = {}
    if ncu_csv:
        rows, _ = ncu.align([key[1] for key in sorted(places)], ncu.read(ncu_csv))
    table = crosscheck.table_of(places, peak, rows)
    if ncu_csv:
        crosscheck.compare(checks, table, "bytes_difference", crosscheck.MOST_BYTES_DIFFERENCE, 100, "%", "bytes")
    crosscheck.compare(checks, table, "points", crosscheck.MOST_POINTS, 1, "points", "T1-T2")
    total, covered, error = crosscheck.t1_coverage(db, peak)
    checks.add("T1-cover", total and covered >= crosscheck.LEAST_T1_COVERAGE * total, "")
    return {row["check"]: row["passed"] for row in checks.rows}, table, error


class Dependencies(unittest.TestCase):
    """Two steps of a program that gives one kernel to a side stream, and launches a graph of two nodes."""

    OUTPUT = ("wait first side\nedge node_a node_b\ninside node_b\nsteps 2\nhost_functions_a_step 1\nmemory peak 96 end 0\n")

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.directory.name, "made.ridge")
        self.db = sqlite3.connect(self.path)
        self.db.executescript("""
            CREATE TABLE step (id); INSERT INTO step VALUES (1), (2);
            CREATE TABLE v_launch (correlation_id, stream_id, kernel, graph_node_id, graph_id);
            CREATE TABLE v_stream_wait (correlation_id, stream_id, source_correlation_id, source_stream_id, step_index);
            CREATE TABLE v_graph_edge (from_node_id, from_kind, to_node_id, to_kind);
            CREATE TABLE graph_node (node_id, parent_node_id, graph DEFAULT 1, kind DEFAULT 'kernel');
            CREATE TABLE v_stream (kind); CREATE TABLE v_host_function (call); CREATE TABLE v_memory_use (correlation_id, allocated_bytes);
            INSERT INTO v_stream VALUES ('non_blocking'), ('non_blocking'), ('non_blocking'), ('blocking'), ('legacy');
            INSERT INTO v_host_function VALUES ('host_function'), ('host_function');
            INSERT INTO v_memory_use VALUES (1, 64), (2, 96), (3, 0);
            INSERT INTO v_graph_edge VALUES (11, 'kernel', 12, 'kernel');
            INSERT INTO graph_node (node_id, parent_node_id) VALUES (11, NULL), (12, 11);""")
        for step in (0, 1):
            base = 100 * step
            self.db.executemany("INSERT INTO v_launch VALUES (?, ?, ?, ?, NULL)",
                                [(base + 1, 7, "first()", None), (base + 4, 9, "side()", None), (base + 5, 7, "node_a", 11),
                                 (base + 5, 7, "node_b", 12), (base + 6, 7, "last()", None)])
            self.db.execute("INSERT INTO v_stream_wait VALUES (?, 9, ?, 7, ?)", (base + 3, base + 2, step))
        self.db.commit()

    def tearDown(self):
        self.db.close()
        self.directory.cleanup()

    def failed_rows(self):
        checks = Quiet()
        dependencies.judge(checks, self.path, self.OUTPUT)
        return sorted(row["check"] for row in checks.failed())

    def test_what_the_program_says_passes(self):
        self.assertEqual(self.failed_rows(), [])

    def test_each_change_fails_its_row(self):
        for change, row in (("UPDATE v_stream_wait SET source_correlation_id = 0 WHERE step_index = 1", "waits"),
                            ("UPDATE v_stream_wait SET stream_id = 7", "waits"), ("DELETE FROM v_stream_wait WHERE step_index = 0", "waits"),
                            ("UPDATE v_stream_wait SET source_correlation_id = NULL WHERE step_index = 0", "waits"),
                            ("UPDATE v_graph_edge SET from_node_id = 12, to_node_id = 11", "graphs"), ("DELETE FROM v_graph_edge", "graphs"),
                            ("UPDATE graph_node SET parent_node_id = NULL", "graphs"), ("DELETE FROM v_stream WHERE kind = 'legacy'", "streams"),
                            ("DELETE FROM v_host_function WHERE rowid = 1", "streams"),
                            ("UPDATE v_memory_use SET allocated_bytes = 97 WHERE correlation_id = 2", "memory"),
                            ("UPDATE v_memory_use SET allocated_bytes = 1 WHERE correlation_id = 3", "memory")):
            self.tearDown()
            self.setUp()
            self.db.execute(change)
            self.db.commit()
            self.assertEqual(self.failed_rows(), [row], change)


class WhatIfPredictions(unittest.TestCase):
    """Two switches predicted within a tenth, and one whose gain is in the noise."""

    def failed_rows(self, **changes):
        results = {name: {"replay": {"known": True, "why": [], "worst": None}, "power": "clear", "asked": ["--graph"], "naive_ms": 2 * gain, "bound_ms": gain,
                          "simulated_ms": gain, "predicted_ms": gain * 1.1, "low_ms": gain, "high_ms": gain * 1.2, "measured_ms": gain,
                          "slow_ms": 50.0, "fast_ms": 50.0 - gain, "noise_ms": 0.1}
                   for name, gain in (("attention", 2.0), ("gelu", 3.0), ("optimizer", 0.05))}
        results["attention"].update(changes)
        checks = Quiet()
        what_if.judge(checks, results)
        with contextlib.redirect_stdout(io.StringIO()) as table:
            what_if.print_table(results)
        self.assertEqual(len(table.getvalue().splitlines()), 4)
        return sorted(row["check"] for row in checks.failed())

    def test_near_predictions_pass(self):
        self.assertEqual(self.failed_rows(), [])

    def test_each_fault_fails_its_row(self):
        self.assertEqual(self.failed_rows(predicted_ms=-2.2, low_ms=-2.4, high_ms=-2.0), ["median", "sign"])
        self.assertEqual(self.failed_rows(predicted_ms=-0.2, low_ms=-0.5, high_ms=0.5), ["median"], "the interval holds both signs")
        self.assertEqual(self.failed_rows(predicted_ms=4.0, low_ms=3.8, high_ms=4.2), ["median"])
        unknown = {"known": False, "why": ["a reason"], "worst": None}
        self.assertEqual(self.failed_rows(replay=unknown, predicted_ms=None, simulated_ms=None, low_ms=None, high_ms=None), ["replay"])

    def test_kernels_that_differ_are_so_many_times_faster(self):
        part = ("attention", "forward")
        slow = {part: {"own": 4e6, "same": 1e6}, ("gemm", "forward"): {"product": 9e6}}
        fast = {part: {"hopper": 2e6, "same": 1.01e6}, ("gemm", "forward"): {"product": 9.1e6}}
        self.assertEqual(what_if.changes_between(slow, fast), ["own=2.0000x"])
        self.assertEqual(what_if.changes_between({part: {"gone": 1e6}}, {}), ["gone=1000.0000x"])


class Limits(unittest.TestCase):
    LAUNCHES = [{"kernel": "near", "time_ns": 1000, "dram_utilisation_ratio": 0.65, "compute_utilisation_ratio": 0.1},
                {"kernel": "far", "time_ns": 300, "dram_utilisation_ratio": 0.14, "compute_utilisation_ratio": None},
                {"kernel": "far", "time_ns": 200, "dram_utilisation_ratio": None, "compute_utilisation_ratio": 0.35},
                {"kernel": "unknown", "time_ns": 5000},
                {"kernel": "ncclDevKernel_AllReduce", "class": "communication", "time_ns": 9000, "dram_utilisation_ratio": 0.05},
                {"kernel": "short", "time_ns": 900, "dram_utilisation_ratio": 0.01, "launch_bound_calls": 1}]

    def found(self, **more):
        by_hand = [[name, ns / 1e6, 0.0] for name, ns in programs.first_by_hand(self.LAUNCHES)]
        return {"shares": {"T0": 1.0, "T1": 0.96, "T2": 0.97}, "by_hand": by_hand, "first": "far", "first_name": "far",
                "first_reached_ns": 0.0, "may_hide": True, "tiers_apart": None, **more}

    def wrong(self, program, **more):
        wrong = []
        programs.judge_limits(program, self.found(**more), wrong)
        return wrong

    def test_the_first_row_by_hand_is_what_the_launches_add_up_to(self):
        self.assertEqual([(name, round(ns)) for name, ns in programs.first_by_hand(self.LAUNCHES)], [("far", 340), ("near", 71)])

    def test_each_limit_is_asked_for(self):
        program = programs.Program([])
        self.assertEqual(self.wrong(program), [])
        self.assertEqual(self.wrong(program, shares={"T0": 0.999, "T1": 0.9, "T2": 0.94}), ["T0 of 99.9 %", "T1 of 90.0 %", "T2 of 94.0 %"])
        self.assertEqual(self.wrong(program, shares={"T0": 1.0, "T1": 1.0, "T2": None}), [], "all in graphs")
        self.assertEqual(self.wrong(program, first="near", first_name="near"), ["the ranking puts near first, by hand it is far"])
        self.assertEqual(len(self.wrong(programs.Program([], first="gemv"))), 1)

    def test_samples_and_counters_that_differ_on_the_tensor_pipe_fail(self):
        def launch(time_ns, t1, t2, concurrent_ns=0):
            return {"time_ns": time_ns, "tensor_t1_utilisation_ratio": t1, "tensor_t2_utilisation_ratio": t2, "t1_time_ns": time_ns,
                    "t1_concurrent_time_ns": concurrent_ns}

        idle = launch(1000, 0.0, 0.01)
        self.assertAlmostEqual(programs.tiers_apart([launch(300, 0.7, 0.6), launch(100, 0.5, 0.7), idle]), (300 * 0.1 + 100 * 0.2) / 400)
        self.assertIsNone(programs.tiers_apart([idle, launch(300, None, 0.6), launch(300, 0.6, None)]), "no launch that uses the pipe has both")
        self.assertIsNone(programs.tiers_apart([idle, launch(1, 0.9, 0.1)]), "what has both is next to nothing of the time")
        self.assertAlmostEqual(programs.tiers_apart([launch(300, 0.7, 0.6, 30), launch(700, 0.9, 0.3, 71)]), 0.1, msg="beside others")
        self.assertIsNone(programs.tiers_apart([launch(300, 0.9, 0.3, 300), idle]), "none was alone on the device when sampled")
        self.assertEqual(self.wrong(programs.Program([]), tiers_apart=0.099), [])
        self.assertEqual(self.wrong(programs.Program([]), tiers_apart=0.144), ["T1 and T2 are 14.4 points apart on the tensor pipe"])
        self.assertEqual(self.wrong(programs.Program([], tiers=("T0", "T1")), tiers_apart=0.144), [], "counters are not asked for")

    def test_the_price_of_the_timeline_is_told_apart_from_the_rest(self):
        class Done:
            def __init__(self, seconds, mean_ms):
                self.seconds, self.out = seconds, '{"steps": 500, "median_ms": 1.0, "mean_ms": %g}' % mean_ms

        def price(seconds, mean_ms, phases):
            table, wrong = {}, []
            programs.judge_price(table, Done(seconds, mean_ms), [Done(30.0, 10.0)], phases, seconds - 2, wrong)
            return table, wrong

        table, wrong = price(45.0, 24.0, {"after": 400})
        self.assertEqual((table["on_top_s"], table["timeline_s"], table["writing_s"], wrong), (15.0, 7.0, 2.0, []))
        self.assertEqual(len(price(48.0, 24.0, {"after": 400})[1]), 1)
        self.assertEqual(len(price(45.0, 9.0, {"after": 400})[1]), 1, "a timeline that seems to cost nothing pays for nothing")
        self.assertEqual(len(price(45.0, 24.0, {"after": 10})[1]), 1, "the steps at the end had counters")

    def test_a_saving_may_hide_only_where_there_is_room(self):
        self.assertFalse(programs.may_hide(990, 1000))
        self.assertTrue(programs.may_hide(900, 1000), "the GPU waits")
        self.assertTrue(programs.may_hide(1200, 1000), "several streams")
        near = {"first": "near", "first_name": "near"}
        program = programs.Program([])
        self.assertEqual(self.wrong(program, **near, first_reached_ns=2000.0), [])
        self.assertEqual(len(self.wrong(program, **near, first_reached_ns=900.0)), 1, "no more than what is first by hand")
        self.assertEqual(len(self.wrong(program, **near, first_reached_ns=2000.0, may_hide=False)), 1)
        self.assertEqual(len(self.wrong(program, **near, first_reached_ns=None)), 1)

    def test_what_a_program_cannot_have_is_not_asked_for(self):
        self.assertEqual(self.wrong(programs.Program([], tiers=("T0",)), shares={"T0": 1.0, "T1": 0.0, "T2": 0.0}, first_name="near"), [])
        self.assertEqual(self.wrong(programs.Program([], ranks=2), shares={"T0": 1.0, "T1": 1.0, "T2": 0.5}), ["T2 of 50.0 %"])

    def test_shares_are_all_of_it_once(self):
        names = [str(i) for i in range(11)]
        shares = [programs.share_of(names, f"{k}/3") for k in (1, 2, 3)]
        self.assertEqual(sorted(sum(shares, []), key=int), names)
        for share in ("0/3", "4/3", "1", "a/b"):
            with self.assertRaises(ValueError):
                programs.share_of(names, share)

    def test_every_program_that_is_named_is_there(self):
        options = argparse.Namespace(trainer="t", exiter="e", python_program="p")
        every = programs.programs(options)
        self.assertGreaterEqual(sum(1 for program in every.values() if program.takes_gpus == 1), 40)
        lines = [program.command for program in every.values()] + [kind.command for kind in gauntlet.python_kinds()]
        for path in {word for line in lines for word in line if "kinds" in str(word)}:
            with open(path, encoding="utf-8") as file:
                compile(file.read(), path, "exec")


class Chosen(unittest.TestCase):
    CASES = {"fast": [], "fp8": ["--precision", "fp8"], "naive": []}

    def test_of_a_checkers_cases_those_that_are_named_run_in_its_order(self):
        parser = argparse.ArgumentParser()
        self.assertEqual(chosen(parser, None, self.CASES), ["fast", "fp8", "naive"])
        self.assertEqual(chosen(parser, "naive,fast", self.CASES), ["fast", "naive"])

    def test_a_case_that_is_none_ends_with_the_names_of_those_that_are(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            chosen(argparse.ArgumentParser(), "fast,slow", self.CASES)
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("--only slow: one of fast, fp8, naive", said.getvalue())


class Checkers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "copy.ridge")
        shutil.copy(CAPTURE, self.path)
        self.db = sqlite3.connect(self.path)
        self.places = crosscheck.step_of(open_capture(self.path))
        ids = dict(self.db.execute("SELECT name, id FROM metric WHERE name IN (?, ?)", (crosscheck.READ, crosscheck.WRITE)))
        step = self.db.execute("SELECT step_index FROM v_step WHERE phase = 'timeline' ORDER BY step_index LIMIT 1 OFFSET 4").fetchone()[0]
        # In place of its own samples, a sampled step whose utilisation is that of T2: bytes in proportion to its durations.
        self.db.execute("DELETE FROM launch_metric WHERE tier = 'T1'")
        for launch, o, k, g, ns in self.db.execute("SELECT launch_id, ordinal_in_step, kernel, grid_x || 'x' || grid_y || 'x' || grid_z, "
                                                   "duration_ns FROM v_launch WHERE step_index = ?", (step,)).fetchall():
            place = self.places[o, k, g]
            for metric, values in place.t2.items():
                value = statistics.fmean(values) * ns / place.ns()
                self.db.execute("INSERT INTO launch_metric(launch_id, metric_id, tier, value, error, sample_count) VALUES (?, ?, 'T1', ?, ?, 7)",
                                (launch, ids[metric], value, 0.01 * value))
        self.db.commit()
        self.longest = max(self.places, key=lambda key: self.places[key].ns())

    def tearDown(self):
        self.db.close()
        self.folder.cleanup()

    def ncu_csv(self, factor=1.0, rotate=100, rename=None):
        path = os.path.join(self.folder.name, "ncu.csv")
        ordered = sorted(self.places)
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(["ID", "Kernel Name", "dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum"])
            writer.writerow(["", "", "byte", "byte", "ns"])
            for i, key in enumerate(ordered[rotate:] + ordered[:rotate]):
                place = self.places[key]
                by = factor if key == self.longest else 1.0
                name = rename if rename and key == self.longest else key[1]
                writer.writerow([i, name, *(f"{by * statistics.fmean(v):,.0f}" for v in place.t2.values()), f"{place.ns():.0f}"])
        return path

    def test_agreement_passes(self):
        passed, table, error = verdicts(self.path, self.ncu_csv())
        self.assertEqual(passed, {"bytes": True, "T1-T2": True, "T1-cover": True})
        self.assertGreater(len(table), 20)
        self.assertLess(max(abs(row["points"]) for row in table), 1.0)
        self.assertGreater(error, 0)

    def test_other_bytes_fail(self):
        self.assertFalse(verdicts(self.path, self.ncu_csv(factor=1.05))[0]["bytes"])

    def test_a_missing_kernel_fails(self):
        self.assertFalse(verdicts(self.path, self.ncu_csv(rename="void another_kernel<int>(float *)"))[0]["bytes"])

    def test_other_samples_fail(self):
        self.db.execute("UPDATE launch_metric SET value = value * 1.5 WHERE tier = 'T1' AND launch_id IN "
                        "(SELECT launch_id FROM v_launch WHERE ordinal_in_step = ?)", (self.longest[0],))
        self.db.commit()
        self.assertFalse(verdicts(self.path)[0]["T1-T2"])

    def test_low_coverage_fails(self):
        self.db.execute("UPDATE launch_metric SET error = NULL WHERE tier = 'T1' AND launch_id IN "
                        "(SELECT launch_id FROM v_launch WHERE ordinal_in_step = ?)", (self.longest[0],))
        self.db.commit()
        self.assertFalse(verdicts(self.path)[0]["T1-cover"])

    def test_nothing_measured_fails(self):
        self.db.execute("DELETE FROM launch_metric WHERE tier = 'T1'")
        self.db.commit()
        passed, _, _ = verdicts(self.path)
        self.assertFalse(passed["T1-T2"])
        self.assertFalse(passed["T1-cover"])

    def test_cost_counts_what_replay_adds(self):
        before, launches, steps, step_ms = cost.launch_cost_ms(self.path)
        self.assertGreater(before, 0.1)
        a_step = self.db.execute("SELECT count(*) FROM v_launch WHERE step_index = 12").fetchone()[0]
        self.assertGreater(a_step, 100)
        self.assertEqual(launches, a_step * steps)
        last = self.db.execute("SELECT max(step_index) FROM step WHERE phase = 'replay'").fetchone()[0]
        self.db.execute("UPDATE step SET host_start_ns = host_start_ns + 1000000000 WHERE step_index > ?", (last,))
        self.db.commit()
        self.assertAlmostEqual(cost.launch_cost_ms(self.path)[0], before + 1000 / launches, places=6)
        self.assertGreater(step_ms, 10)
        self.db.execute("UPDATE step SET phase = 'timeline' WHERE phase = 'replay'")
        self.db.commit()
        with self.assertRaises(ValueError):
            cost.launch_cost_ms(self.path)

    def test_a_price_is_held_against_runs_alone(self):
        own = [{"alone_ns": 35.4e6, "recorded_ns": 38.5e6, "error_ns": 0.2e6}, {"alone_ns": 48.0e6, "recorded_ns": 50.0e6, "error_ns": 0.2e6}]
        self.assertTrue(price.agreement([35.0, 35.8], [38.0, 38.6], own)[3])
        self.assertFalse(price.agreement([35.0, 35.8], [36.0, 36.2], own)[3])
        self.assertTrue(price.agreement([49.0, 35.0], [38.0, 50.0], own)[3], "slow processes are none of it")
        self.assertFalse(price.agreement([49.0, 35.0], [50.0, 38.0], own)[3], "the capture is that of the quickest")
        own[0]["error_ns"] = 4e6
        self.assertTrue(price.agreement([35.0, 35.8], [36.0, 36.2], own)[3], "it says itself how little it knows")

    def test_what_a_step_takes_is_of_the_last_third(self):
        def said(**values):
            return price.step_ms(Run(0, 1, "compiling\n" + json.dumps({"steps": 9, **values}), ""))

        self.assertEqual(said(step_ms=[40, 9, 9, 9, 9, 9, 1, 2, 6], median_ms=9), 3)
        self.assertEqual(said(median_ms=9, mean_ms=8), 8)
        self.assertEqual(said(median_ms=9), 9)
        self.assertIsNone(said())

    def test_five_prices_are_wanted_within_two_points(self):
        def passes(*points):
            checks = Quiet()
            price.add_verdict(checks, {f"program {number}": {"points": off} for number, off in enumerate(points)})
            return checks.rows[0]["passed"]

        self.assertTrue(passes(0.1, -1.9, 2, 0, 1.5, 8, -7, 4, 30))
        self.assertFalse(passes(0.1, -1.9, 2, 0, 2.1, 8, -7, 4, 30))
        self.assertTrue(passes(-0.5), "no more were asked for")
        self.assertFalse(passes(-2.5))
        self.assertFalse(passes())

    def test_the_end_of_a_program_is_behind_the_blocks_that_run_alone(self):
        for name, program in price.programs("gpt2_train", "pytorch_gpt2.py").items():
            steps = int([word for word in program.command if word.isdigit()][-1])
            of_block = min(max(program.timeline // 12 - 2, 3), 10)
            blocks = min(program.timeline // (of_block + 2), 64) - 1
            self.assertLessEqual(10 + program.timeline + (of_block + 1) * blocks, steps * 2 // 3, name)

    def test_the_own_part_of_a_launch_is_what_is_above_the_records(self):
        self.assertEqual(launch_cost.own_part([150]), (150, None), "one round has no interval")
        own, error = launch_cost.own_part([100, 200, 150])
        self.assertEqual(own, 150, "a slow process is held against its own")
        self.assertAlmostEqual(error, 4.30 * 50 / 3 ** 0.5)
        self.assertAlmostEqual(launch_cost.share_of("libridgeline_agent", ["60.5 python3\n", "2.25 libridgeline_agent.so\n", "1 libc.so.6\n"]), 0.0225)
        self.assertEqual(launch_cost.share_of("libridgeline_agent", ["100 python3\n"]), 0)
        self.assertIsNone(launch_cost.share_of("libridgeline_agent", []))

    def test_turns_want_every_tier_of_every_process(self):
        for processes, passed in ((1, True), (2, False)):
            checks = Quiet()
            shared_gpu.judge(checks, "alone", [self.path], processes)
            self.assertEqual(checks.rows[0]["passed"], passed, checks.rows)
        self.assertGreater(len(shared_gpu.counted_bytes(self.path)), 5)
        self.db.execute("UPDATE tier_status SET status = 'refused' WHERE tier = 'T2'")
        self.db.commit()
        checks = Quiet()
        shared_gpu.judge(checks, "alone", [self.path], 1)
        self.assertFalse(checks.rows[0]["passed"])

    def test_a_program_that_stall_reasons_kill_or_change_is_wrong(self):
        class Said:
            problem, messages = None, []

            def __init__(self, complete=True, *messages):
                self.whole, self.messages = complete, [("warning", text) for text in messages]

            def complete(self):
                return self.whole

            def counts(self):
                return "launches 7 seen, 3 recorded"

        alone = Run(7, 1, "hash 1f\n", "")
        self.assertEqual(shared_gpu.wrong_beside(alone, Run(7, 1, "hash 1f\n", "ridgeline record: the program ended"), Said()), [])
        self.assertEqual(len(shared_gpu.wrong_beside(alone, Run(139, 1, "", "killed"), Said())), 2, "its status, and what it printed")
        self.assertEqual(len(shared_gpu.wrong_beside(alone, alone, Said(False))), 1)
        self.assertEqual(len(shared_gpu.wrong_beside(alone, alone, Said(True, "no stall reasons: starting PC sampling failed: BUSY"))), 1)
        self.assertEqual(shared_gpu.wrong_beside(alone, alone, None), ["no capture"])

    def test_streams_are_held_against_what_they_declare(self):
        for tier in ("T1", "T2"):
            found = streams.measured(self.path, tier)
            kernel, (read, written, _) = max(found.items(), key=lambda item: item[1][0] + item[1][1])
            for wanted, passes in (({kernel: (read, written)}, True), ({kernel: (read * 1.003, written * 1.003)}, True),
                                   ({kernel: (read * 1.006, written * 1.006)}, False),
                                   ({kernel: (read, written), "stream_missing": (read, written)}, False), ({}, False)):
                checks = Quiet()
                streams.judge(checks, tier, wanted, found)
                self.assertEqual(not checks.failed(), passes, checks.rows)
        self.assertEqual(streams.declared("no error\nstream_copy reads 16 writes 8\nL2 holds 4\n"), {"stream_copy": (16, 8)})

    def test_kernels_of_known_place_are_held_against_what_they_declare(self):
        wanted = places.declared("no error\nplace_triad bytes 1200 flops 200\nplace_chase bytes 320 flops 0\nplace_nothing bytes 0 flops 0\n")
        self.assertEqual(wanted["place_triad"], (1200, 200))

        def verdict(kernel, moved, **more):
            roof = {"flops_per_s": None, "time_ns": 100, "calls": 1, "dram_ratio": 0.9, "intensity_flop_per_byte": None, "bound": "DRAM", "sol_ns": 90}
            return places.judge(kernel, wanted[kernel], {"dram_bytes": moved}, {**roof, **more}, 50)[0]

        triad = {"flops_per_s": 2e9, "intensity_flop_per_byte": 0.1667}
        self.assertTrue(verdict("place_triad", 1210, **triad))
        self.assertFalse(verdict("place_triad", 1300, **triad), "more bytes than it moves")
        self.assertFalse(verdict("place_triad", 1200, **{**triad, "flops_per_s": 1e9}), "half of the operations")
        self.assertFalse(verdict("place_triad", 1200, **{**triad, "intensity_flop_per_byte": 0.2}), "at another place")
        self.assertFalse(verdict("place_triad", 1200, dram_ratio=0.5, **triad), "far from the roof")
        self.assertTrue(verdict("place_chase", 640, dram_ratio=0.01))
        self.assertFalse(verdict("place_chase", 640, dram_ratio=0.2))
        self.assertTrue(verdict("place_nothing", None))
        self.assertFalse(verdict("place_nothing", 0, time_ns=1000), "longer than launches take")

    def test_bytes_of_five_kernels_are_held_against_ncu(self):
        rank = {kernel: {"dram_bytes": 1e9} for kernel in places.KERNELS}
        rank["place_nothing"]["dram_bytes"] = None
        rows = [{"name": kernel, "read": 0.6e9, "write": 0.4e9} for kernel in places.KERNELS if kernel != "place_product"]
        rows.append({"name": "nvjet_gemm", "read": 0.6e9, "write": 0.4e9})
        self.assertTrue(places.judge_ncu(rank, rows)[0])
        rank["place_chase"]["dram_bytes"] = 1.03e9
        self.assertFalse(places.judge_ncu(rank, rows)[0], "3 % off")
        rank["place_chase"]["dram_bytes"] = None
        self.assertFalse(places.judge_ncu(rank, rows)[0], "not measured")
        rank["place_chase"]["dram_bytes"] = 1e9
        self.assertFalse(places.judge_ncu(rank, rows[1:])[0], "one that ncu has not")

    def test_a_mean_with_replay_steps_in_it_is_no_cost_of_the_timeline(self):
        self.assertTrue(programs.ends_in_timeline({"steps": 300, "mean_ms": 11.0}, {"replay": 8, "after": 100}))
        self.assertFalse(programs.ends_in_timeline({"steps": 300, "mean_ms": 43.7}, {"replay": 8, "after": 99}))
        self.assertFalse(programs.ends_in_timeline({"steps": 300, "mean_ms": 43.7}, {"timeline": 20}))
        self.assertTrue(programs.ends_in_timeline({"steps": 200, "median_ms": 15.2}, {"replay": 8, "after": 20}))

    def test_the_interval_holds_the_mean(self):
        ratios = [1.001, 0.999, 1.004, 1.002, 0.998, 1.003, 1.001, 1.000, 1.002, 1.005]
        low, high = overhead.bootstrap_interval(ratios)
        self.assertLess(low, statistics.fmean(ratios))
        self.assertGreater(high, statistics.fmean(ratios))
        self.assertGreater(low, min(ratios))
        self.assertLess(high, max(ratios))


# The weight gradient of the attention's output projection, B * T = 32768: 768 x 768, K in 512 steps of 64.
DECLARED = 2 * 768 * 768 * 32768
CUT_192 = "nvjet_sm90_tss_192x192_64x3_1x2_h_bz_coopB_splitK_NTN"  # 16 tiles


class PresentSchema(unittest.TestCase):
    """Every query of the checkers finds its tables and columns in a capture of today."""

    def test_the_checkers_read_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "made.ridge")
            subprocess.run([GENERATE, "capture", path, "--shape", "timeline", "--launches", "6000", "--step-launches", "100", "--replay", "4",
                            "--sample", "2", "--ranges", "--annotations"], check=True, stdout=subprocess.DEVNULL)
            db, checks = open_capture(path), Quiet()
            capture_checks.check_records(db, checks)
            step, steps = capture_checks.median_step(db)
            capture_checks.check_accounting(db, step, checks)
            capture_checks.check_gemm(db, 768, 32768, 50304, checks)
            capture_checks.check_tensor_pipe(db, [], checks)
            capture_checks.check_bytes(db, [], checks)
            verdict = {row["check"]: row["passed"] for row in checks.rows}
            self.assertTrue(verdict["records"] and steps, verdict)
            self.assertFalse(verdict["gemm-ops"] or verdict["bytes"], "there is no product and no stream in it")
            self.assertEqual(len(crosscheck.step_of(db)), 100)
            db.close()


class ByKind(unittest.TestCase):
    """Values of some launches of a kind, held against those of all."""

    @staticmethod
    def rows(*values):
        return [{"key": f"k{i}", "kernel": f"k{i}", "time_ns": ns, "dram_t2_utilisation_ratio": value, "dram_t2_error_ratio": error}
                for i, (ns, value, error) in enumerate(values)]

    def found(self, *part):
        return budget.held_against(self.rows((900, 0.5, 0.001), (100, 0.8, None)), self.rows(*part), lambda row: row["key"])

    def test_what_is_within_its_error_is_true(self):
        self.assertTrue(budget.is_true(self.found((900, 0.53, 0.03), (100, 0.8, None))))
        found = self.found((900, 0.52, 0.03), (100, 0.3, 0.1))
        self.assertAlmostEqual(found["within"], 0.9)
        self.assertFalse(budget.is_true(found), "a tenth of the time is not")

    def test_an_error_that_says_nothing_is_none(self):
        self.assertFalse(budget.is_true(self.found((900, 0.5, 0.4), (100, 0.8, 0.4))))

    def test_values_that_are_far_off_are_no_good_whatever_they_state(self):
        self.assertFalse(budget.is_true(self.found((900, 0.58, 0.09), (100, 0.8, 0.09))))

    def test_no_value_is_no_answer(self):
        self.assertFalse(budget.is_true(self.found((900, None, None))))


class Tokens(unittest.TestCase):
    def passes(self, throughput, schema=7):
        checks = Quiet()
        capture_checks.check_tokens(schema, throughput, 50_000_000, 32768, checks)
        return not checks.failed()

    def test_what_the_program_launched_is_what_is_declared(self):
        self.assertTrue(self.passes({"tokens": 32768.0, "tokens_per_s": 655360.0}))
        self.assertFalse(self.passes({"tokens": 1024.0, "tokens_per_s": 20480.0}))
        self.assertFalse(self.passes({"tokens": 32768.0, "tokens_per_s": 32768.0}))
        self.assertFalse(self.passes({"tokens": None, "tokens_per_s": None}))
        self.assertTrue(self.passes({"tokens": None, "tokens_per_s": None}, schema=6))


class SplitProducts(unittest.TestCase):
    """Rows made up: the operations of a product whose K is cut in slices, beside the kernel that adds them up."""

    def kind(self, kernel, ratio, grid, reduced=True, declared=DECLARED):
        kernels = [(kernel, ratio * declared, grid)]
        if reduced:
            # Its name is the last in the alphabet, and says nothing of tiles.
            kernels.append(("void cublasLt::splitKreduce_kernel<32, 16, int, float>(T1 *)", 0.0, (24, 24, 1)))
        return capture_checks.judge_product(declared, kernels, [768, 2304, 3072, 50304], 768, 32768, 132)[0]

    def test_whole_slices_do_what_the_product_asks(self):
        self.assertEqual(self.kind(CUT_192, 1.0, (2, 64, 1)), "exact")

    def test_slices_rounded_up_are_explained_by_the_grid(self):
        seven = 7 * 74 / 512  # 7 * 16 blocks
        self.assertEqual(self.kind(CUT_192, seven, (2, 56, 1)), "sliced")
        self.assertEqual(self.kind(CUT_192, seven, (2, 64, 1)), "wrong", "the grid is of 8 slices")
        self.assertEqual(self.kind(CUT_192, seven + 0.002, (2, 56, 1)), "wrong")
        self.assertEqual(self.kind("nvjet_sm90_tss_192x192_64x3_1x2_h_bz_coopB_NTN", seven, (2, 56, 1), reduced=False), "wrong",
                         "nothing says that K is split")

    def test_a_grid_that_fills_the_chip_leaves_the_slices_open(self):
        kernel = "nvjet_sm90_tss_128x128_64x6_1x1_h_bz_splitK_NTN"  # 36 tiles
        self.assertEqual(self.kind(kernel, 14 * 37 / 512, (132, 1, 1)), "sliced")
        self.assertEqual(self.kind(kernel, 1.0225, (132, 1, 1)), "wrong", "no number of slices gives it")
        self.assertEqual(self.kind(kernel, 17 * 31 / 512, (108, 1, 1)), "wrong")

    def test_a_layer_of_the_grid_is_a_slice(self):
        kernel = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_nt_align8>(T1::Params)"
        self.assertEqual(self.kind(kernel, 14 * 37 / 512, (24, 1, 14)), "sliced")
        self.assertEqual(self.kind(kernel, 14 * 37 / 512, (24, 1, 13)), "wrong")

    def test_tiles_and_slices_together(self):
        wide, kernel = 3 * DECLARED, "nvjet_sm90_tss_128x112_64x6_2x1_h_bz_splitK_NTT"  # 6 x 21 tiles make 2352 of 2304 columns
        self.assertEqual(self.kind(kernel, 2352 / 2304, (2, 63, 1), declared=wide), "padded", "the kernel's name, not its helper's")
        self.assertEqual(self.kind(kernel, 2352 / 2304 * 14 * 37 / 512, (2, 66, 1), declared=wide), "sliced")
        self.assertEqual(self.kind(kernel, 2352 / 2304 * 1.0225, (2, 66, 1), declared=wide), "wrong")


class PlantedSlowdown(unittest.TestCase):
    def test_its_patch_applies_to_the_source(self):
        here = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run(["git", "apply", "--check", os.path.join(here, "planted_slowdown.patch")], cwd=os.path.join(here, "..", ".."),
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
