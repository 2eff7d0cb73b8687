#!/usr/bin/env python3
"""Without a GPU: the verdicts on loss curves can fail, and the plot shows what it is given."""
import math
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True

import curve_plot
import loss_curves
from common import Checks

STEPS = 500


class Quiet(Checks):
    def add(self, name, passed, detail):
        self.rows.append({"check": name, "passed": bool(passed), "detail": detail})


def curve():
    return [4 + 7 * math.exp(-step / 80) for step in range(STEPS)]


def verdicts(mine, theirs):
    checks = Quiet()
    loss_curves.judge(checks, mine, theirs)
    return {row["check"]: row["passed"] for row in checks.rows}


class Curves(unittest.TestCase):
    def test_equal_curves_pass(self):
        self.assertEqual(verdicts(curve(), curve()), {"first-steps": True, "last-steps": True, "learned": True})

    def test_each_verdict_can_fail(self):
        early = curve()
        early[3] *= 1.006
        self.assertEqual(verdicts(early, curve()), {"first-steps": False, "last-steps": True, "learned": True})
        late = [v * (1.011 if step > 300 else 1) for step, v in enumerate(curve())]
        self.assertEqual(verdicts(late, curve()), {"first-steps": True, "last-steps": False, "learned": True})
        spike = curve()
        spike[450] *= 1.04
        self.assertFalse(verdicts(spike, curve())["last-steps"])
        flat = [11.0] * STEPS
        self.assertEqual(verdicts(flat, flat), {"first-steps": True, "last-steps": True, "learned": False})
        self.assertEqual(verdicts(curve()[:-1], curve()), {"curves": False})
        self.assertEqual(verdicts([math.nan, *curve()[1:]], curve()), {"curves": False})

    def test_fp8_is_held_against_each_other_curve(self):
        def of(*curves):
            checks = Quiet()
            loss_curves.judge_fp8(checks, dict(zip(("pytorch", "fast", "fp8"), ({"loss": c} for c in curves))))
            return {row["check"]: row["passed"] for row in checks.rows}

        near, far = ([v * factor for v in curve()] for factor in (1.002, 1.004))
        self.assertEqual(of(curve(), near, near), {"fp8-pytorch": True, "fp8-fast": True})
        self.assertEqual(of(curve(), near, far), {"fp8-pytorch": False, "fp8-fast": True})
        self.assertEqual(of(near, far, curve()), {"fp8-pytorch": True, "fp8-fast": False})
        self.assertEqual(of(curve(), curve()[:-1], curve()), {"fp8-pytorch": True, "fp8-fast": False})
        # Only the last hundred count.
        early = [v * (1.1 if step < STEPS - 100 else 1) for step, v in enumerate(curve())]
        self.assertEqual(of(curve(), curve(), early), {"fp8-pytorch": True, "fp8-fast": True})

    def test_curves_are_kept_for_calls_with_the_same_arguments(self):
        class Arguments:
            model, B, T, steps, lr, warmup, seed, trainer_options = "tiny", 2, 16, 5, 1e-3, 1, 7, ""

        with tempfile.TemporaryDirectory() as parent:
            folder = os.path.join(parent, "loss-curves")
            first = loss_curves.Kept(Arguments, folder)
            self.assertIsNone(first.get("fp8"))
            first.put("fp8", {"loss": [1.5]})
            self.assertEqual(loss_curves.Kept(Arguments, folder).get("fp8"), {"loss": [1.5]})
            Arguments.lr = 2e-3
            self.assertIsNone(loss_curves.Kept(Arguments, folder).get("fp8"))

    def test_the_learning_rate_is_the_trainers(self):
        class Arguments:
            lr, warmup, steps = 1.0, 4, 25

        # The values that tests/gpt2/model_data_test.cpp holds the trainer's cosine to.
        for step, want in ((0, 0.25), (3, 1.0), (4, 1.0), (14, 0.55), (24, 0.1)):
            self.assertAlmostEqual(loss_curves.learning_rate(Arguments, step), want)

    def test_the_plot_is_an_svg_with_both_curves(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plot.svg")
            lower = [v - 0.01 for v in curve()]
            lower[7] = math.nan
            curve_plot.draw(path, "a <title> & more", ("first", curve()), ("second", lower))
            root = xml.etree.ElementTree.parse(path).getroot()
            lines = [e.get("points").split() for e in root.iter("{http://www.w3.org/2000/svg}polyline")]
            self.assertEqual(sorted(map(len, lines)), [STEPS - 1, STEPS - 1, STEPS, STEPS])
            for points in lines:
                for point in points:
                    x, y = map(float, point.split(","))
                    self.assertTrue(curve_plot.LEFT <= x <= curve_plot.WIDTH and 0 <= y <= float(root.get("height")), point)
            text = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
            for wanted in ("a <title> & more", "first", "second", "loss, nats a token", "optimizer step", "difference"):
                self.assertIn(wanted, text)

    def test_ticks_are_round_and_inside(self):
        for low, high in ((3.2, 11.1), (-0.013, 0.02), (1, 500), (1, 2), (5, 5)):
            values = curve_plot.ticks(low, high)
            self.assertLessEqual(len(values), 12)
            self.assertTrue(all(low - 1e-6 <= v <= high + 1 for v in values), values)
            self.assertEqual(len({curve_plot.label(v, values) for v in values}), len(values), values)


if __name__ == "__main__":
    unittest.main()
