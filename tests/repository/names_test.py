#!/usr/bin/env python3
"""scripts/check-names on a small tree: includes that only a neighbour has, and using-declarations that nothing uses."""

import subprocess
import sys
import unittest

from small_tree import SCRIPTS, SmallTree

SCRIPT = SCRIPTS / "check-names"
FILES = {
    "store/include/ridgeline/store/row.h": "struct Row {\n  int count_rows() const;\n};\nint first_row(const Row& row);\nstruct Later;\n",
    "store/include/ridgeline/store/rows.h": '#include "ridgeline/store/row.h"\n',
    "store/include/ridgeline/store/later.h": "struct Later {\n};\n",
    "store/src/row.cpp": '#include "ridgeline/store/row.h"\nint first_row(const Row& row) { return row.count_rows(); }\n',
    "reports/src/a.cpp": '#include "ridgeline/store/rows.h"\nint a(const Row& row) { return first_row(row); }\n',
    "reports/src/private.h": "struct Private {\n};\n",
    "cli/src/main.cpp": '// Row and Private\nconst char* text = "first_row(Row)";\n',
}


class CheckNames(SmallTree):
    FILES = FILES

    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def found(self, code):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), str(self.root)], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return [line for line in done.stdout.splitlines() if not line.startswith("check-names:")]

    def test_a_tree_whose_sources_include_what_they_name(self):
        self.assertEqual(self.found(0), [])

    def test_a_type_and_a_function_of_a_header_that_only_a_neighbour_includes(self):
        self.write("reports/src/b.cpp", "int b(const Row& row) { return first_row(row); }\n")
        header = "store/include/ridgeline/store/row.h"
        self.assertEqual(self.found(1), [f"reports/src/b.cpp: names Row and does not include {header}",
                                         f"reports/src/b.cpp: names first_row and does not include {header}"])

    def test_a_private_header_counts_in_its_own_folder(self):
        self.write("reports/src/b.cpp", "Private make_private();\n")
        self.write("store/src/b.cpp", "Private other_private();\n")
        self.assertEqual(self.found(1), ["reports/src/b.cpp: names Private and does not include reports/src/private.h"])

    def test_a_name_that_a_header_declares_or_the_source_has_itself_is_no_finding(self):
        self.write("reports/src/b.cpp", '#include "ridgeline/store/row.h"\nint later(const Later& later);\n')
        self.write("reports/src/c.cpp", "struct Row;\nint first_row(const Row& row);\nint c(const Row& row) { return first_row(row); }\n")
        self.assertEqual(self.found(0), [])

    def test_a_name_of_two_headers_says_nothing(self):
        self.write("store/src/other.h", "struct Row {\n};\n")
        self.write("reports/src/b.cpp", "int b(const Row& row) { return 1; }\n")
        self.assertEqual(self.found(0), [])

    def test_a_library_that_only_a_neighbour_includes(self):
        self.write("reports/src/b.cpp", 'auto text() { return fmt::format("{}", 1); }\n')
        self.write("reports/src/c.cpp", '#include <fmt/core.h>\nauto other_text() { return fmt::format("{}", 1); }\n')
        self.assertEqual(self.found(1), ["reports/src/b.cpp: names fmt:: and includes nothing of <fmt/>"])

    def test_using_declarations_and_aliases_of_namespaces_that_nothing_uses(self):
        self.write("reports/src/b.cpp", "using std::string;\nusing std::vector;\nnamespace fs = std::filesystem;\nnamespace ch = std::chrono;\n"
                                        "// string, fs\nvector<int> b(fs::path path);\n")
        self.assertEqual(self.found(1), ["reports/src/b.cpp: using std::string; is not used",
                                         "reports/src/b.cpp: namespace ch = std::chrono; is not used"])


if __name__ == "__main__":
    unittest.main()
