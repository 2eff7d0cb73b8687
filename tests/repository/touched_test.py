#!/usr/bin/env python3
"""scripts/touched-sources on a small tree: sources that differ, sources that include what does, and nothing else."""

import subprocess
import sys
import unittest

from small_tree import SCRIPTS, SmallTree

SCRIPT = SCRIPTS / "touched-sources"
FILES = {
    ".clang-tidy": "Checks: -*\n",
    "store/include/ridgeline/store/a.h": "int a();\n",
    "store/src/a.cpp": '#include "ridgeline/store/a.h"\n',
    "store/src/inner/part.h": '  #  include "ridgeline/store/a.h"\n',
    "store/src/inner/part.cpp": '#include "part.h"\n',
    "store/src/other.cpp": '#include <vector>\n',
    "cli/src/main.cpp": '#include "inner/part.h"\n',
    "cli/src/part.h": "int part();\n",
    "cli/src/own.cpp": '#include "part.h"\n',
}


class TouchedSources(SmallTree):
    FILES = FILES

    def setUp(self):
        super().setUp()
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True)

    def touched(self, *folders):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), "HEAD", *folders], cwd=self.root, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_nothing_changed(self):
        self.assertEqual(self.touched(), [])

    def test_who_includes_it_however_indirectly(self):
        self.write("store/include/ridgeline/store/a.h", "long a();\n")
        # own.cpp too: its "part.h" could be the one that does.
        self.assertEqual(self.touched(), ["cli/src/main.cpp", "cli/src/own.cpp", "store/src/a.cpp", "store/src/inner/part.cpp"])
        self.assertEqual(self.touched("store"), ["store/src/a.cpp", "store/src/inner/part.cpp"])

    def test_of_one_name_in_two_folders_both_users(self):
        self.write("cli/src/part.h", "long part();\n")
        self.assertEqual(self.touched(), ["cli/src/own.cpp", "store/src/inner/part.cpp"], "rather one too many than one too few")

    def test_new_sources_and_none_that_are_gone(self):
        self.write("store/src/new.cpp", "int n;\n")
        (self.root / "store/src/other.cpp").unlink()
        self.assertEqual(self.touched(), ["store/src/new.cpp"])

    def test_the_checks_are_of_every_source(self):
        self.write(".clang-tidy", "Checks: '*'\n")
        self.assertEqual(self.touched(), sorted(name for name in FILES if name.endswith(".cpp")))


if __name__ == "__main__":
    unittest.main()
