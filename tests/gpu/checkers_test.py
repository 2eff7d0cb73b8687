#!/usr/bin/env python3
"""The checkers of this folder can fail: each verdict is shown a capture, or ncu's rows, made wrong.

usage: checkers_test.py CAPTURE. The capture is copied; T1 values and ncu's rows are made from its own T2 values.
"""
import csv
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import cost
import crosscheck
import ncu
import overhead
from common import Checks, open_capture

CAPTURE = sys.argv.pop(1)


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
        self.assertEqual(launches, 313 * steps)
        last = self.db.execute("SELECT max(step_index) FROM step WHERE phase = 'replay'").fetchone()[0]
        self.db.execute("UPDATE step SET host_start_ns = host_start_ns + 1000000000 WHERE step_index > ?", (last,))
        self.db.commit()
        self.assertAlmostEqual(cost.launch_cost_ms(self.path)[0], before + 1000 / launches, places=6)
        self.assertGreater(step_ms, 10)
        self.db.execute("UPDATE step SET phase = 'timeline' WHERE phase = 'replay'")
        self.db.commit()
        with self.assertRaises(ValueError):
            cost.launch_cost_ms(self.path)

    def test_the_interval_holds_the_mean(self):
        ratios = [1.001, 0.999, 1.004, 1.002, 0.998, 1.003, 1.001, 1.000, 1.002, 1.005]
        low, high = overhead.bootstrap_interval(ratios)
        self.assertLess(low, statistics.fmean(ratios))
        self.assertGreater(high, statistics.fmean(ratios))
        self.assertGreater(low, min(ratios))
        self.assertLess(high, max(ratios))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
