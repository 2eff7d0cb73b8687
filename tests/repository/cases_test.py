#!/usr/bin/env python3
"""cmake/list_cases.py: one entry of ctest for each case, or for each source, and each case in one of them."""
import fnmatch
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LIST_CASES = Path(__file__).resolve().parent.parent.parent / "cmake/list_cases.py"
# Suite: {case: source}. One suite has cases in two sources.
SUITES = {"Own": {"A": "first", "B": "first"}, "Shared": {"C": "first", "D": "second"}, "Kinds/Own": {"E/0": "second"}}
PROGRAM = """#!/usr/bin/env python3
import sys
output = next(word.split(":", 1)[1] for word in sys.argv if word.startswith("--gtest_output=json:"))
open(output, "w").write('''{listing}''')
"""


class Cases(unittest.TestCase):
    def entries(self, *more):
        with tempfile.TemporaryDirectory() as folder:
            program, output = Path(folder) / "test_thing", Path(folder) / "cases.cmake"
            listing = {"testsuites": [{"name": suite, "testsuite": [{"name": case, "file": f"tests/thing/{source}_test.cpp"}
                                                                   for case, source in cases.items()]} for suite, cases in SUITES.items()]}
            program.write_text(PROGRAM.format(listing=json.dumps(listing)))
            program.chmod(0o755)
            subprocess.run([sys.executable, "-B", LIST_CASES, program, output, "--module", "thing", "--label", "cpu", "--timeout", "120", *more], check=True)
            text = output.read_text()
            beside = Path(f"{program}.files")
            self.beside = dict(line.split(" ", 1) for line in beside.read_text().splitlines()) if beside.is_file() else {}
        return dict(re.findall(r"add_test\(\[==\[(.*?)\]==\].*?--gtest_filter=(.*?)\]==\]", text))

    def chosen(self, pattern):
        return [f"{suite}.{case}" for suite, cases in SUITES.items() for case in cases
                if any(fnmatch.fnmatchcase(f"{suite}.{case}", each) for each in pattern.split(":"))]

    def test_an_entry_for_each_case(self):
        entries = self.entries()
        self.assertEqual(entries, {f"thing.{source}: {suite}.{case}": f"{suite}.{case}"
                                   for suite, cases in SUITES.items() for case, source in cases.items()})
        self.assertEqual(self.beside, {}, "nothing runs a file there")

    def test_an_entry_for_each_source_runs_its_cases_and_no_others(self):
        entries = self.entries("--by-file")
        self.assertEqual(sorted(entries), ["thing.first", "thing.second"])
        self.assertEqual(self.chosen(entries["thing.first"]), ["Own.A", "Own.B", "Shared.C"])
        self.assertEqual(self.chosen(entries["thing.second"]), ["Shared.D", "Kinds/Own.E/0"])
        self.assertIn("Own.*", entries["thing.first"].split(":"), "short where a suite is of one source")
        self.assertEqual({f"thing.{file}": cases for file, cases in self.beside.items()}, entries)

    def test_a_program_that_cannot_be_listed_has_no_list_beside_it_and_is_run_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            program, output = Path(folder) / "test_thing", Path(folder) / "cases.cmake"
            program.write_text("#!/bin/sh\nexit 3\n")
            program.chmod(0o755)
            beside = Path(f"{program}.files")
            beside.write_text("first Own.*\n")  # of an earlier build
            subprocess.run([sys.executable, "-B", LIST_CASES, program, output, "--module", "thing", "--label", "gpu", "--timeout", "1", "--by-file"], check=True)
            self.assertIn("all of its cases", output.read_text())
            self.assertFalse(beside.exists())


if __name__ == "__main__":
    unittest.main()
