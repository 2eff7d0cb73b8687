#!/usr/bin/env python3
"""Verdicts on recordings of several processes and GPUs can fail: the bundled capture made into one of two processes.
And a program that hangs is ended and leaves what it printed.

usage: collectives_test.py CAPTURE
"""
import contextlib
import io
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True

import collectives
import power
import programs

CAPTURE = os.path.abspath(sys.argv.pop(1))
with sqlite3.connect(f"file:{CAPTURE}?immutable=1", uri=True) as bundled:
    FIRST = bundled.execute("SELECT uuid FROM device").fetchone()[0]
SECOND = "GPU-00000000-bff2-c836-a83a-3874cd9b1808"
MORE = 10_000_000  # between an id of the first process and that of its copy


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "two.ridge")
        shutil.copy(CAPTURE, self.path)
        self.db = sqlite3.connect(self.path)
        # A short kernel of every step becomes a collective, as such are recorded: timed, sampled, not counted alone.
        self.kernel = self.db.execute("SELECT id FROM kernel WHERE demangled_name LIKE '%position_gradient_kernel%'").fetchone()[0]
        self.db.execute("UPDATE kernel SET mangled_name = '_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LLv' WHERE id = ?", (self.kernel,))
        self.db.execute("DELETE FROM launch_metric WHERE tier = 'T2' AND launch_id IN (SELECT id FROM launch WHERE kernel_id = ?)", (self.kernel,))
        self.db.execute("INSERT INTO replay_exclusion VALUES (1, ?, 'name')", (self.kernel,))
        self.db.execute("UPDATE process SET rank = 0")

    def tearDown(self):
        self.db.close()
        self.folder.cleanup()

    def copied(self, table, **changes):
        columns = [row[1] for row in self.db.execute(f"PRAGMA table_info({table})")]
        self.db.execute(f"INSERT INTO {table} SELECT {', '.join(changes.get(c, c) for c in columns)} FROM {table}")

    def second_process(self):
        self.copied("process", id="2", pid="pid + 1", rank="1")
        self.copied("device", id="2", device_index="1", uuid=f"'{SECOND}'")
        self.copied("clock_sample", device_id="2")
        self.copied("completeness", process_id="2")
        self.copied("replay_exclusion", process_id="2")
        self.copied("step", id=f"id + {MORE}", process_id="2")
        self.copied("launch", id=f"id + {MORE}", process_id="2", device_id="2", step_id=f"step_id + {MORE}")
        self.copied("launch_metric", launch_id=f"launch_id + {MORE}")
        self.db.commit()

    def wrong(self, change=None, uuids=(FIRST, SECOND), samples=True):
        if change:
            self.db.execute(change)
        self.db.commit()
        return collectives.judge(self.path, list(uuids), samples)[0]

    def test_two_processes_pass(self):
        self.second_process()
        wrong, text = collectives.judge(self.path, [FIRST, SECOND])
        self.assertEqual(wrong, [])
        for words in ("rank 0 on device 0", "rank 1 on device 1", "1 collectives a step", "measured (name)"):
            self.assertIn(words, text)

    def test_a_timeline_step_that_waited_for_a_peer_fails(self):
        self.second_process()
        wrong = self.wrong("UPDATE step SET gpu_end_ns = gpu_end_ns + 3000000000, host_end_ns = host_end_ns + 3000000000 WHERE id = "
                           "(SELECT max(id) FROM step WHERE process_id = 2 AND phase = 'timeline' AND status = 'ok')")
        self.assertEqual(len(wrong), 1)
        self.assertRegex(wrong[0], r"rank 1: a timeline step of 30\d\d ms, 5\d in the median")
        wrong, _ = collectives.judge(self.path, [FIRST, SECOND], own_longest_ms=2500)
        self.assertEqual(wrong, [], "the program has such steps without a recording, too")
        wrong, _ = collectives.judge(self.path, [FIRST, SECOND], own_longest_ms=100)
        self.assertEqual(len(wrong), 1)

    def test_replay_steps_are_compared_with_those_of_one_process(self):
        def of(ms):
            return {"replay": {"steps": 8, "median_ms": ms, "longest_ms": ms}}

        wrong = []
        self.assertEqual(collectives.judge_replay([of(1900), of(1000)], of(1000), wrong),
                         "replay steps of the ranks take 1.90, 1.00 times those of one process")
        self.assertEqual(wrong, [])
        collectives.judge_replay([of(1000), of(2100)], of(1000), wrong)
        self.assertEqual(wrong, ["replay steps of a rank take 2.10 times those of one process"])
        collectives.judge_replay([of(1000), {}], of(1000), wrong)
        self.assertEqual(wrong[1:], ["no replay steps to compare"])

    def test_one_process_fails(self):
        self.assertEqual(self.wrong(), ["1 processes used a GPU"])

    def test_a_collective_measured_alone_fails(self):
        self.second_process()
        wrong = self.wrong(f"""INSERT INTO launch_metric(launch_id, metric_id, tier, value) SELECT l.id, (SELECT min(id) FROM metric), 'T2', 1
                               FROM launch l JOIN step s ON s.id = l.step_id
                               WHERE s.phase = 'replay' AND l.kernel_id = {self.kernel} AND l.process_id = 2""")
        self.assertEqual(len(wrong), 1)
        self.assertRegex(wrong[0], "rank 1: [1-9][0-9]* of .* were measured alone")

    def test_other_reasons_fail(self):
        self.second_process()
        self.assertIn("concurrent", " ".join(self.wrong("UPDATE replay_exclusion SET reason = 'concurrent' WHERE process_id = 1")))
        self.assertIn("none", " ".join(self.wrong("DELETE FROM replay_exclusion WHERE process_id = 1")))

    def test_no_collectives_fail(self):
        self.second_process()
        wrong = " ".join(self.wrong(f"UPDATE kernel SET mangled_name = 'another' WHERE id = {self.kernel}"))
        self.assertIn("rank 0: 0 of 0 collectives have a time", wrong)
        self.assertIn("rank 1: 0 of 0 collectives in replay steps", wrong)

    def test_nothing_counted_beside_them_fails(self):
        self.second_process()
        self.assertIn("of the other kernels 0.0 % of the time was counted", " ".join(self.wrong(f"DELETE FROM launch_metric WHERE tier = 'T2' AND launch_id > {MORE}")))

    def test_samples_are_demanded_where_promised(self):
        self.second_process()
        wrong = self.wrong(f"""DELETE FROM launch_metric WHERE tier = 'T1' AND launch_id IN
                               (SELECT id FROM launch WHERE kernel_id = {self.kernel} AND process_id = 1)""")
        self.assertEqual(len(wrong), 1)
        self.assertIn("rank 0: no collective", wrong[0])
        self.assertEqual(self.wrong(samples=False), [])

    def test_wrong_devices_fail(self):
        self.second_process()
        self.assertIn("which this machine has not", " ".join(self.wrong(uuids=(FIRST,))))
        self.assertIn("rank 1 ran on device 0", " ".join(self.wrong("UPDATE device SET device_index = 0")))
        self.db.execute("UPDATE device SET device_index = id - 1")
        self.assertIn("no clocks", " ".join(self.wrong("UPDATE clock_sample SET power_mw = NULL WHERE device_id = 2")))
        self.assertIn("device of another process", " ".join(self.wrong("UPDATE launch SET device_id = 1")))
        self.assertIn("2 devices", " ".join(self.wrong("UPDATE launch SET device_id = 2 WHERE id % 2 = 0")))

    def one_gpu(self, uuid, max_w):
        watch = power.PowerWatch()
        watch.max_w = max_w
        return programs.judge_one_gpu(self.path, uuid, watch)[0]

    def test_a_program_that_sees_one_gpu(self):
        self.db.commit()
        drawn = self.db.execute("SELECT max(power_mw) FROM clock_sample").fetchone()[0] / 1e3
        idle = 80.0
        self.assertEqual(self.one_gpu(FIRST, {FIRST: drawn, SECOND: idle}), [])
        self.assertIn("another card", " ".join(self.one_gpu(FIRST, {FIRST: idle, SECOND: drawn})))
        self.assertIn("not " + SECOND, " ".join(self.one_gpu(SECOND, {FIRST: idle, SECOND: drawn})))
        self.assertIn("no power", " ".join(self.one_gpu(FIRST, {})))
        self.db.execute("UPDATE pm_window SET shift_correlation = 0.1")
        self.db.commit()
        self.assertIn("correlation of 0.10", " ".join(self.one_gpu(FIRST, {FIRST: drawn, SECOND: idle})))


FAKE_RECORD = r"""#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
"$@"
status=$?
echo "ridgeline record: the program ended" >&2
exit $status
"""
# Starts a process in a group of its own, as torchrun does, and hangs when it has seen its own line in the log.
FAKE_TRAINER = r"""#!/usr/bin/env python3
import os, subprocess, time
here = os.path.dirname(os.path.abspath(__file__))
other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("step 7 of 60")
while "step 7" not in open(os.path.join(here, "program-trainer-graph.log")).read():
    time.sleep(0.01)
with open(os.path.join(here, "pids"), "w") as file:
    file.write(f"{os.getpid()} {other.pid}")
def waits_for_ever():
    time.sleep(1000)
waits_for_ever()
"""


class Hangs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.record, self.trainer = (os.path.join(self.folder.name, name) for name in ("ridgeline", "trainer"))
        for path, text in ((self.record, FAKE_RECORD), (self.trainer, FAKE_TRAINER)):
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def read(self, name):
        with open(os.path.join(self.folder.name, name)) as file:
            return file.read()

    def running(self, pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_a_program_that_hangs_is_ended_with_all_its_processes(self):
        printed, said = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended,
              mock.patch.object(collectives, "gpus", lambda: [FIRST])):
            programs.main(["--ridgeline", self.record, "--trainer", self.trainer, "--exiter", "-", "--python-program", "-", "--out", self.folder.name,
                           "--limit", "3", "--no-overhead", "trainer-graph"])
        self.assertEqual(ended.exception.code, 1)
        self.assertIn("row trainer-graph: begins at 0 s, 3 s at most", said.getvalue())
        self.assertRegex(printed.getvalue(), "trainer-graph +FAIL +exit 124: ended by the check after 3 s; last line: step 7 of 60")
        log = self.read("program-trainer-graph.log")
        self.assertTrue(log.startswith("step 7 of 60\n"), log)
        self.assertIn("waits_for_ever", log, "where it hung")
        self.assertIn("ridgeline record: the program ended", log, "the recording was left time to end in order")
        pids = self.read("pids").split()
        for _ in range(500):  # a killed process is there until the system has taken it away
            if not any(map(self.running, pids)):
                return
            time.sleep(0.01)
        self.fail(f"of {pids} some are still running")


class Machine(unittest.TestCase):
    def test_visible_devices(self):
        every = [FIRST, SECOND]
        self.assertEqual(collectives.visible_gpus(every, None), every)
        self.assertEqual(collectives.visible_gpus(every, "1"), [SECOND])
        self.assertEqual(collectives.visible_gpus(every, "1, 0"), [SECOND, FIRST])
        self.assertEqual(collectives.visible_gpus(every, SECOND), [SECOND])
        self.assertEqual(collectives.visible_gpus(every, FIRST[:8]), [FIRST])
        self.assertEqual(collectives.visible_gpus(every, "0,7,1"), [FIRST])
        self.assertEqual(collectives.visible_gpus(every, ""), [])

    def test_the_most_of_what_nvidia_smi_prints(self):
        watch = power.PowerWatch()
        watch.read([f"{FIRST}, 80.5", f"{SECOND}, 75.1", f"{FIRST}, 640.25", f"{SECOND}, [N/A]", f"{SECOND}, 76"])
        self.assertEqual(watch.max_w, {FIRST: 640.25, SECOND: 76.0})
        watch.max_w[SECOND], wrong = 630.0, []
        self.assertIn("undecided", watch.judge(FIRST, 640, wrong))
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
