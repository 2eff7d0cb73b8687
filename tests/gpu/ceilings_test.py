#!/usr/bin/env python3
"""usage: ceilings_test.py RIDGELINE MACHINE_FILE. What the checker of roofs makes of documents, on the machine file of the tests and
on ones made wrong."""
import copy
import json
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import ceilings

RIDGELINE, MACHINE = sys.argv[1:3]


def document():
    done = subprocess.run([RIDGELINE, "ceilings", "--show", MACHINE, "--format", "json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


class Checker(unittest.TestCase):
    def changed(self, roof, state, **values):
        other = copy.deepcopy(document())
        for row in other["rows"]:
            if (row["roof"], row["state"]) == (roof, state):
                row.update(values)
        return other

    def test_the_same_is_not_apart(self):
        differences, alone = ceilings.apart(document(), document())
        self.assertEqual(len(differences), 18)  # one of 19 is void
        self.assertEqual((differences[0][0], alone, ceilings.too_far(differences)), (0, [], []))

    def test_a_roof_that_is_three_per_cent_off_is_too_far_and_a_launch_is_not(self):
        differences, _ = ceilings.apart(document(), self.changed("dram.copy", "sustained", value=4e12 * 1.03))
        self.assertEqual([key for _, key in ceilings.too_far(differences)], [("dram.copy", "sustained")])
        differences, _ = ceilings.apart(document(), self.changed("launch.graph", "burst", value=1360 * 1.03))
        self.assertEqual(ceilings.too_far(differences), [])
        differences, _ = ceilings.apart(document(), self.changed("launch.graph", "burst", value=1360 * 1.2))
        self.assertEqual(len(ceilings.too_far(differences)), 1)

    def test_a_second_run_is_held_against_what_it_measured_only(self):
        part = document()
        part["rows"] = [row for row in part["rows"] if ceilings.measured_again(row["roof"], ["dram", "compute.bf16"])]
        differences, alone = ceilings.apart(document(), part, ["dram", "compute.bf16"])
        self.assertEqual(alone, [])
        self.assertEqual({key[0].split(".")[0] for _, key in differences}, {"dram", "compute"})
        self.assertEqual({key[0] for _, key in differences if key[0].startswith("compute")}, {"compute.bf16"})

    def test_streams_off_their_roof_are_named(self):
        rows = [{"key": f"step / dram.{mix}", "dram_utilisation_ratio": ratio}
                for mix, ratio in (("read", 0.99), ("write", 1.02), ("copy", 0.90), ("triad", None))]
        self.assertEqual(ceilings.streams_off(rows), ["dram.copy 90.0 %", "dram.triad not measured", "dram.3:1 not measured"])

    def test_the_reason_is_that_of_the_rule_and_not_of_another(self):
        made = document()
        made["voids"] = [{"roof": "a", "state": "burst", "rule": "no_burst", "detail": "1900 MHz"},
                         {"roof": "a", "state": "burst", "rule": "counters_disagree", "detail": "200 %"}]
        self.assertEqual(ceilings.reasons(made, "counters_disagree"), "200 %")
        self.assertEqual(ceilings.reasons(made, "foreign_process"), "")

    def test_what_is_void_in_one_run_stands_alone(self):
        _, alone = ceilings.apart(document(), self.changed("l2.read", "burst", verdict="void: rounds_disagree"))
        self.assertEqual(alone, [("l2.read", "burst")])

    def test_a_fault_counts_only_if_every_reading_is_void_by_its_rule(self):
        half = self.changed("dram.read", "burst", verdict="void: above_possible, no_burst")
        self.assertFalse(ceilings.all_void(half, ["dram.read"], "above_possible"))
        for row in half["rows"]:
            if row["roof"] == "dram.read":
                row["verdict"] = "void: above_possible"
        self.assertTrue(ceilings.all_void(half, ["dram.read"], "above_possible"))
        self.assertFalse(ceilings.all_void(half, ["dram.read"], "foreign_process"))
        self.assertFalse(ceilings.all_void(half, ["no.such"], "above_possible"))

    def test_bands_name_what_is_outside_or_missing(self):
        found = ceilings.outside(self.changed("dram.read", "sustained", value=4.3e12))
        self.assertTrue(any(line.startswith("dram.read sustained 4.3e+12, not 4.365e+12 or more") for line in found), found)
        self.assertTrue(any("compute.fp8 sustained is no roof" in line for line in found), found)

    def test_counts_are_those_of_the_document(self):
        self.assertEqual(ceilings.counted(document()), {})
        self.assertEqual(ceilings.counted(self.changed("dram.read", "burst", counted_ratio=1.01)), {"dram.read": 1.01})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
