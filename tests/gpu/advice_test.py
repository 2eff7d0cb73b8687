#!/usr/bin/env python3
"""What advice.py and carried_out.py take for right, of made cases. usage: advice_test.py"""
import sys
import unittest

sys.dont_write_bytecode = True

import advice
import advised
import carried_out


def case(rule, ms):
    return {"rule": rule, "action": "Do it.", "net": {"low_ns": ms * 5e5, "mid_ns": ms * 1e6, "high_ns": ms * 2e6}}


class Judged(unittest.TestCase):
    def test_found_first_and_within_a_factor_of_two(self):
        cases = [case("sync-in-step", 1.0), case("casts", 0.2)]
        self.assertTrue(advice.judge(cases, "sync-in-step", 1.9)[0])
        self.assertTrue(advice.judge(cases, "sync-in-step", 0.51)[0])
        self.assertFalse(advice.judge(cases, "sync-in-step", 2.1)[0], "half of what there was")
        self.assertFalse(advice.judge(cases, "sync-in-step", 0.49)[0], "twice what there was")
        self.assertFalse(advice.judge(cases, "sync-in-step", -0.5)[0], "there was nothing to gain")

    def test_not_found_or_not_first(self):
        cases = [case("sync-in-step", 1.0), case("casts", 0.2)]
        self.assertFalse(advice.judge(cases, "casts", 0.2)[0])
        passed, text = advice.judge([], "casts", 0.2)
        self.assertFalse(passed)
        self.assertIn("not found", text)

    def test_cases_of_one_rule_are_added_up(self):
        cases = [case("too-few-blocks", 1.0), case("too-few-blocks", 0.8)]
        self.assertTrue(advice.judge(cases, "too-few-blocks", 3.0)[0])

    def test_silence(self):
        self.assertEqual(advice.silent([]), (True, "silent"))
        passed, text = advice.silent([case("clock-down", 1.0)])
        self.assertFalse(passed)
        self.assertIn("clock-down 1.000 ms", text)


class CarriedOut(unittest.TestCase):
    def test_a_gain_lies_in_the_interval_or_within_a_factor_of_two_of_its_middle(self):
        promised = advised.promise_of([case("casts", 1.0), case("optimiser", 9.0), case("casts", 3.0)], "casts")
        self.assertEqual(promised, [2.0, 4.0, 8.0])
        for gain, right in ((1.9, False), (2.0, True), (8.0, True), (8.1, False), (-1.0, False)):
            self.assertEqual(carried_out.judged(promised, gain), right, gain)
        self.assertTrue(carried_out.judged([3.0, 4.0, 5.0], 2.1), "beside a narrow interval, within the factor")


if __name__ == "__main__":
    unittest.main()
