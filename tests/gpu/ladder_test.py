#!/usr/bin/env python3
"""The ladder's verdicts without a GPU: ladders made right and wrong, and a climb with a fake trainer and a fake recorder.

usage: ladder_test.py
"""
import contextlib
import copy
import io
import json
import math
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import ladder


def made():
    """A good one: two rungs, 20 and 10 %."""
    facts = {fact: 1.0 for fact in ladder.FACTS}
    rows = [{"rung": "(bottom)", "saved_ratio": None, "verdict": "", "kernels_came": None, **facts},
            {"rung": "a", "saved_ratio": 0.2, "verdict": "faster", "kernels_came": "gemm", **facts},
            {"rung": "b", "saved_ratio": 0.1, "verdict": "no effect", "kernels_came": "", **facts}]
    return {"rounds": 5, "whole": {"speedup": math.exp(-math.log(0.8) - math.log(0.9))}, "rows": rows, "notes": ["It is faster."]}


# Writes a good document where -o says, in the place of `ridgeline ladder`.
FAKE = """#!/usr/bin/env python3
import json, os, sys
out = sys.argv[sys.argv.index("-o") + 1]
os.makedirs(out, exist_ok=True)
for name in ("ladder.html", "ladder.svg", "ladder.csv"):
    open(os.path.join(out, name), "w").close()
if "--show" not in sys.argv:
    with open(os.path.join(out, "runs.json"), "w") as file:
        json.dump({"rungs": ["a"], "arms": [], "rounds": 2, "seconds": 3.0, "runs": [
            {"round": 1, "gpu": os.environ.get("CUDA_VISIBLE_DEVICES")}, {"round": 2}]}, file)
document = json.load(open(os.path.join(os.path.dirname(out), "document.json")))
json.dump(document, open(os.path.join(out, "ladder.json"), "w"))
print("the table", " ".join(sys.argv[1:]))
sys.exit(document.get("status", 0))
"""


class Verdicts(unittest.TestCase):
    def wrong(self, change):
        document = made()
        change(document)
        return ladder.problems(document, ("a",), ("a",))

    def test_a_good_one_passes(self):
        self.assertEqual(self.wrong(lambda document: None), [])

    def test_each_fault_is_found(self):
        def rows(index, **values):
            return lambda document: document["rows"][index].update(values)
        for change, words in ((lambda document: document.update(rounds=2), "2 rounds"),
                              (rows(1, saved_ratio=0.3), "add up"),
                              (rows(2, power_w=None), "b has no power_w"),
                              (rows(0, loss=None), "(bottom) has no loss"),
                              (rows(1, verdict="open"), "a is 'open'"),
                              (rows(1, kernels_came=""), "a brings no kernel")):
            found = self.wrong(change)
            self.assertEqual(len(found), 1, found)
            self.assertIn(words, found[0])

    def test_rounds_of_several_gpus_count_together(self):
        def record(rounds, seconds, **more):
            return {"rungs": ["a"], "arms": [0], "rounds": rounds, "seconds": seconds, "runs": [{"round": each + 1, "step_ns": seconds} for each in range(rounds)], **more}
        both = ladder.together([record(2, 7.0), record(1, 9.0), record(1, 8.0)])
        self.assertEqual((both["rounds"], both["seconds"]), (4, 9.0))
        self.assertEqual([(each["round"], each["step_ns"]) for each in both["runs"]], [(1, 7.0), (2, 7.0), (3, 9.0), (4, 8.0)])
        with self.assertRaisesRegex(ValueError, "rungs"):
            ladder.together([record(1, 1.0), record(1, 1.0, rungs=["b"])])

    def climb(self, change, *more):
        with tempfile.TemporaryDirectory() as folder:
            document = made()
            for row, name in zip(document["rows"][1:], ("BF16", "attention for Hopper")):
                row.update(rung=name, verdict="faster", kernels_came="gemm")
            document["rows"].append({**copy.deepcopy(document["rows"][1]), "rung": "classifier fused", "saved_ratio": 0.0})
            change(document)
            for name, text in (("document.json", json.dumps(document)), ("ridgeline", FAKE)):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            program = os.path.join(folder, "ridgeline")
            os.chmod(program, 0o755)
            out, printed = os.path.join(folder, "out.json"), io.StringIO()
            with contextlib.redirect_stdout(printed), self.assertRaises(SystemExit) as ended:
                ladder.main(["--ridgeline", program, "--trainer", "/t/gpt2_train", "--out", folder, "--json", out, "--only", "trainer", *more])
            with open(out) as file:
                return ended.exception.code, printed.getvalue(), json.load(file)

    def test_a_climb_is_judged(self):
        status, printed, document = self.climb(lambda document: None)
        self.assertEqual(status, 0, printed)
        self.assertIn("--set trainer=/t/gpt2_train", printed)
        self.assertIn("--only BF16,attention for Hopper", printed)
        self.assertIn("It is faster.", document["rows"][0]["detail"])
        status, printed, _ = self.climb(lambda document: document.update(status=3))
        self.assertEqual(status, 1, printed)
        status, printed, _ = self.climb(lambda document: document["rows"][1].update(verdict="open"))
        self.assertEqual(status, 1, printed)
        status, printed, _ = self.climb(lambda document: document["rows"][1].update(verdict="open"), "--whole")
        self.assertEqual(status, 0, printed)
        self.assertIn("--cumulative", printed)
        status, printed, _ = self.climb(lambda document: None, "--gpus", "2")
        self.assertEqual(status, 0, printed)
        self.assertRegex(printed, "the table ladder --show .*runs.json")


if __name__ == "__main__":
    unittest.main()
