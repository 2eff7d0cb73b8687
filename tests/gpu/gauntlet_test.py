#!/usr/bin/env python3
"""gauntlet.py without a GPU: stand-ins for the program and for the recording, and the rows that follow.

usage: gauntlet_test.py
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

sys.dont_write_bytecode = True

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import gauntlet
import turns

# Cases of a program: one that a recording leaves alone, ones that it changes, kills or hangs, and one that is never the same.
PROGRAM = """#!/usr/bin/env python3
import os, random, sys, time
if "--list" in sys.argv:
    sys.exit(print("good\\nother\\nkilled\\nchance"))
name = sys.argv[sys.argv.index("--case") + 1]
recorded = "RECORDED" in os.environ
if name == "killed" and recorded:
    os.abort()
print("hash", {"other": int(recorded), "chance": random.random()}.get(name, 5))
sys.exit(7)
"""
# Writes a capture in which two of three replay steps have counters.
RECORDER = """#!/usr/bin/env python3
import os, sqlite3, subprocess, sys
db = sqlite3.connect(sys.argv[sys.argv.index("-o") + 1])
db.executescript('''CREATE TABLE step(id, phase); INSERT INTO step VALUES (1, 'timeline'), (2, 'replay'), (3, 'replay'), (4, 'replay');
CREATE TABLE graph_metric(step_id); INSERT INTO graph_metric VALUES (3);
CREATE TABLE launch(id, step_id); INSERT INTO launch VALUES (1, 1), (2, 2), (3, 4);
CREATE TABLE launch_metric(launch_id, tier); INSERT INTO launch_metric VALUES (2, 'T2'), (3, 'T1');''')
db.commit()
status = subprocess.call(sys.argv[sys.argv.index("--") + 1:], env={**os.environ, "RECORDED": "1"})
sys.exit(128 - status if status < 0 else status)
"""


class Gauntlet(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name, text in {"program": PROGRAM, "recorder": RECORDER}.items():
            path = os.path.join(self.folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)

    def rows(self, *arguments):
        report = os.path.join(self.folder, "rows.json")
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "gauntlet.py"), "--json", report, *arguments], capture_output=True, text=True)
        with open(report, encoding="utf-8") as file:
            document = json.load(file)
        return done, {row["check"]: row for row in document["rows"]}, {kind["kind"]: kind for kind in document["kinds"]}

    def run_some(self, *kinds, runs=6, seed=1):
        return self.rows("--ridgeline", os.path.join(self.folder, "recorder"), "--gauntlet", os.path.join(self.folder, "program"), "--out", self.folder,
                         "--no-python", "--runs", str(runs), "--seed", str(seed), *kinds)

    def test_a_program_that_ends_as_alone_passes(self):
        done, rows, kinds = self.run_some("good")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((kinds["good"]["runs"], kinds["good"]["wrong"]), (6, 0))
        self.assertEqual((kinds["good"]["counted"], kinds["good"]["given_up"]), (12, 6))
        self.assertFalse([name for name in os.listdir(self.folder) if name.endswith((".ridge", ".log"))])

    def test_another_result_or_end_fails_and_is_kept(self):
        for kind, said in {"other": "['hash 1'] instead of ['hash 0']", "killed": "exit status 134 instead of 7"}.items():
            done, rows, kinds = self.run_some(kind, runs=3)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(kinds[kind]["wrong"], 3)
            self.assertIn(said, rows[f"gauntlet-{kind}"]["detail"])
            self.assertFalse(rows["gauntlet"]["passed"])
            self.assertEqual(len([name for name in os.listdir(self.folder) if name.startswith(f"gauntlet-{kind}-") and name.endswith(".log")]), 3)

    def test_a_program_that_ended_before_its_window_opened_is_judged_by_its_output(self):
        recorder = os.path.join(self.folder, "recorder")
        for output, exit_status_said, wrong in (("hash 5", "(exit status 7)", 0), ("hash 6", "(exit status 7)", 3), ("hash 5", "(exit status 9)", 3)):
            with open(recorder, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho {output}\necho 'no recording window was open while program ran {exit_status_said}' >&2\nexit 3\n")
            _, _, kinds = self.run_some("good", runs=3)
            self.assertEqual(kinds["good"]["wrong"], wrong, (output, exit_status_said))

    def test_a_program_that_is_never_the_same_says_nothing(self):
        done, rows, kinds = self.run_some("chance")
        self.assertEqual(done.returncode, 1)
        self.assertIn("says nothing", rows["gauntlet-chance"]["detail"])
        self.assertEqual(kinds["chance"]["wrong"], 0)

    def test_a_run_that_the_checks_own_limit_ended_counts_for_nothing(self):
        kind = SimpleNamespace(name="good", runs=0, wrong=0, why="", counted=0, given_up=0)
        judge = SimpleNamespace(lock=threading.Lock(), o=SimpleNamespace(json=None), kinds=[])
        gauntlet.Gauntlet.note(judge, kind, 1, "exit status -9 instead of 0", (0, 0))
        self.assertEqual(kind.wrong, 1)
        gauntlet.ending.set()
        self.addCleanup(gauntlet.ending.clear)
        gauntlet.Gauntlet.note(judge, kind, 2, "exit status -9 instead of 0", (0, 0))
        self.assertEqual((kind.runs, kind.wrong), (1, 1))

    def test_stall_reasons_are_sampled_in_every_run_where_that_is_asked_for(self):
        kind = gauntlet.Kind("good", ["good"], marks=True)
        some = [gauntlet.drawn(kind, 1, number) for number in range(60)]
        every = [gauntlet.drawn(kind, 1, number, stalls=True) for number in range(60)]
        self.assertTrue(0 < sum("stalls=2" in words[1] for _, words, _ in some) < 20)
        self.assertTrue(all(words[1].count("stalls=2") == 1 for _, words, _ in every))
        # Nothing else is drawn otherwise.
        self.assertEqual([(a, [w.replace(",stalls=2", "") for w in r], f) for a, r, f in every],
                         [(a, [w.replace(",stalls=2", "") for w in r], f) for a, r, f in some])

    def test_a_recording_begins_later_where_that_is_asked_for_or_the_program_wants_it(self):
        kinds = gauntlet.Kind("good", ["good"]), gauntlet.Kind("waits", ["waits"], later=(800, 2500))
        began = [["--after" in gauntlet.drawn(kind, 1, number, begins_later=asked)[1] for number in range(60)]
                 for kind, asked in ((kinds[0], False), (kinds[0], True), (kinds[1], False))]
        self.assertTrue(0 < sum(began[0]) < 30)
        self.assertTrue(all(began[1]) and all(began[2]))
        for number in range(60):
            words = gauntlet.drawn(kinds[1], 1, number)[1]
            self.assertTrue(800 <= int(words[words.index("--after") + 1].removesuffix("ms")) < 2500)

    def test_what_takes_a_minute_alone_may_take_another_one(self):
        for seconds, alone_s, long in ((31, 2, False), (33, 2, True), (116, 68.4, False), (137, 68.4, True)):
            self.assertEqual(gauntlet.takes_long(seconds, alone_s), long, (seconds, alone_s))

    def test_of_a_run_that_took_long_it_is_said_where_the_time_went(self):
        capture = os.path.join(self.folder, "slow.ridge")
        with sqlite3.connect(capture) as db:
            db.executescript("""CREATE TABLE step(phase, host_start_ns, host_end_ns);
                INSERT INTO step VALUES ('replay', 4000000000, 9000000000), ('timeline', 1000000000, 1500000000), ('timeline', 1500000000, 2000000000),
                                        ('replay', 9000000000, NULL)""")
        self.assertEqual(gauntlet.where_it_went(capture), ", 8.0 s from its first recorded step to its last: timeline 1.0, replay 5.0")
        with sqlite3.connect(capture) as db:
            db.execute("INSERT INTO step VALUES ('sample', 9000000000, NULL)")
        self.assertIn("replay 5.0, sample 0.0", gauntlet.where_it_went(capture), "a phase without a step that ended")
        self.assertEqual(gauntlet.where_it_went(os.path.join(self.folder, "none.ridge")), "")

    def test_several_calls_add_up(self):
        reports = []
        for seed in (1, 2):
            self.run_some("good", "killed", seed=seed)
            reports.append(os.path.join(self.folder, f"call-{seed}.json"))
            os.rename(os.path.join(self.folder, "rows.json"), reports[-1])
        done, rows, kinds = self.rows("--add", *reports, "--runs", "12")
        self.assertEqual(sum(kind["runs"] for kind in kinds.values()), 12)
        self.assertIn("6 wrong", rows["gauntlet"]["detail"])
        _, rows, _ = self.rows("--add", *reports, "--runs", "500")
        self.assertIn("12 runs of 500", rows["gauntlet"]["detail"])

    def test_results_of_a_compiler_that_chooses_by_time_may_differ_a_little(self):
        loss = ["loss 0x1.8p+1"]
        self.assertTrue(gauntlet.agree(loss, ["loss 0x1.8p+1"], 0))
        self.assertFalse(gauntlet.agree(loss, ["loss 0x1.80001p+1"], 0))
        self.assertTrue(gauntlet.agree(loss, ["loss 0x1.80001p+1"], 0.01))
        for other in (["loss 0x1.9p+1"], ["loss nan"], [], ["result 0x1.8p+1"]):
            self.assertFalse(gauntlet.agree(loss, other, 0.01), other)

    def test_the_same_seed_draws_the_same_runs(self):
        kinds = [gauntlet.Kind(name, [], marks=name != "python", compiles=True) for name in ("all", "one", "python")]
        self.assertEqual(gauntlet.order_of(kinds, 3, 50), gauntlet.order_of(kinds, 3, 50))
        draws = [gauntlet.drawn(kinds[0], 3, number) for number in range(50)]
        self.assertEqual(draws, [gauntlet.drawn(kinds[0], 3, number) for number in range(50)])
        self.assertGreater(len({str(draw) for draw in draws}), 40)


class Turns(unittest.TestCase):
    # A recording whose program loads for a while, then has the device to itself, and that then writes for a while.
    RECORDING = """
import os, subprocess, sys, time
subprocess.call([sys.executable, "-c", '''
import sys, time
time.sleep(0.3)
sys.path.insert(0, sys.argv[1])
import loop
begin = time.time()
time.sleep(0.4)
open(sys.argv[2], "w").write(f"{begin} {time.time()}")
''', *sys.argv[1:]])
time.sleep(0.5)
"""

    def test_programs_have_the_device_one_after_the_other_and_nothing_else_waits(self):
        with tempfile.TemporaryDirectory() as folder:
            turn, begin = turns.Turn(), time.monotonic()

            def one(number):
                stem = os.path.join(folder, str(number))
                return turn.run([sys.executable, "-c", self.RECORDING, os.path.join(HERE, "kinds"), stem + ".times"], {}, 30, stem, True)

            with ThreadPoolExecutor(3) as pool:
                done = list(pool.map(one, range(3)))
            took = time.monotonic() - begin
            times = []
            for number in range(3):
                with open(os.path.join(folder, f"{number}.times"), encoding="utf-8") as file:
                    times.append(tuple(map(float, file.read().split())))
            self.assertFalse([name for name in os.listdir(folder) if not name.endswith(".times")])
        for (_, end), (start, _) in zip(sorted(times), sorted(times)[1:]):
            self.assertLess(end, start)
        self.assertEqual([each.status for each in done], [0, 0, 0])
        self.assertLess(sum(each.seconds for each in done), 3 * took)  # without what they waited

    def test_they_come_in_the_order_in_which_they_asked(self):
        lock, came = turns.InOrder(), []

        def one(number):
            with lock:
                came.append(number)

        with ThreadPoolExecutor(20) as pool:
            with lock:
                for number in range(20):
                    pool.submit(one, number)
                    while lock.next < number + 2:
                        time.sleep(0.001)
        self.assertEqual(came, list(range(20)))

    def test_two_may_come_at_once_and_no_third(self):
        lock, inside, most, guard = turns.InOrder(2), [], [], threading.Lock()

        def owner(number):
            with lock:
                with guard:
                    inside.append(number)
                    most.append(len(inside))
                time.sleep(0.05)
                with guard:
                    inside.remove(number)

        threads = [threading.Thread(target=owner, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(max(most), 2)
        self.assertEqual(len(most), 6)

    def test_a_turn_does_not_end_with_a_helper_that_comes_before_the_program(self):
        recorder = "import subprocess, time; subprocess.call(['sleep', '0.05']); time.sleep(0.15); subprocess.call(['sleep', '1'])"
        done = turns.Turn().run([sys.executable, "-c", recorder], {}, 30, "unused", False)
        self.assertEqual(done.status, 0)
        self.assertGreater(done.parts_s[2], 1)

    def test_one_that_does_not_end_is_ended(self):
        done = turns.Turn().run([sys.executable, "-c", "import subprocess; subprocess.call(['sleep', '60'])"], {}, 1, "unused", False)
        self.assertEqual(done.status, 124)
        self.assertLess(done.seconds, 10)


if __name__ == "__main__":
    unittest.main()
