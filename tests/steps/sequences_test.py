#!/usr/bin/env python3
"""sequences.py: what it makes of launches, of graphs, and of the moments at which a program says that its steps began."""
import gzip
import json
import os
import sqlite3
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import sequences

MS = 1_000_000


class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.capture = os.path.join(self.folder, "capture.ridge")
        db = sqlite3.connect(self.capture)
        db.executescript("CREATE TABLE process(id); INSERT INTO process VALUES (1); CREATE TABLE v_launch(process_id, kernel_id, grid_x, grid_y, "
                         "grid_z, host_start_ns, context_id, graph_id, correlation_id)")
        rows = []
        for step in range(3):
            at = 1000 * MS + step * 10 * MS
            rows += [(1, 5, 8, 1, 1, at + MS, 1, None, 10 * step), (1, 6, 16, 2, 1, at + 2 * MS + 345, 1, None, 10 * step + 1),
                     (1, 7, 1, 1, 1, at + 3 * MS, 1, 99, 10 * step + 2), (1, 8, 1, 1, 1, at + 3 * MS, 1, 99, 10 * step + 2),
                     (1, 5, 8, 1, 1, at + 4 * MS, 2, None, 10 * step + 3)]  # of another context
        db.executemany("INSERT INTO v_launch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        db.commit()
        db.close()
        self.steps = os.path.join(self.folder, "steps.json")
        self.note([7 * MS + step * 10 * MS for step in range(3)])

    def note(self, begins):
        with open(self.steps, "w", encoding="utf-8") as file:
            json.dump({"monotonic_ns": 7 * MS, "realtime_ns": 1000 * MS, "begins_ns": begins}, file)

    def lines(self, **more):
        counts = sequences.export(self.capture, "one", self.folder, self.steps, **more)
        with gzip.open(os.path.join(self.folder, "one.txt.gz"), "rt") as file:
            return counts, file.read().splitlines()

    def test_launches_of_the_first_context_a_graph_once(self):
        counts, lines = self.lines()
        self.assertEqual(counts, (9, 3))
        self.assertEqual(lines, ["steady 2", "k 5 8 1 1", "0 0 *", "k 6 16 2 1", "1 1000", "g 99", "2 1000",
                                 "0 8000 *", "1 1000", "2 1000", "0 8000 *", "1 1000", "2 1000"])

    def test_no_more_than_so_many(self):
        counts, lines = self.lines(most=4)
        self.assertEqual(counts, (4, 2))
        self.assertEqual(lines[-1], "0 8000 *")

    def test_without_steps_nothing_is_written(self):
        self.note([70_000 * MS])
        self.assertEqual(sequences.export(self.capture, "none", self.folder, self.steps), (0, 0))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "none.txt.gz")))

    def test_two_digits_of_a_pause(self):
        self.assertEqual([sequences.rounded(us) for us in (0, 7, 99, 104, 106, 1049, 123456)], [0, 7, 99, 100, 110, 1000, 120000])

    def test_rounding_does_not_add_up(self):
        launches = [(("k", 1, 1, 1, 1), at * 1_049_000) for at in range(2000)]
        total_us = sum(int(line.split()[1]) for line in sequences.lines_of(launches, [], 2) if line[0] in "0123456789")
        self.assertLess(abs(total_us - 1999 * 1049), 1000)


if __name__ == "__main__":
    unittest.main()
