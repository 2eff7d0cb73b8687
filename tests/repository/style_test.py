#!/usr/bin/env python3
"""scripts/check-style on a small tree: what it finds, what it leaves alone, what --fix makes of it."""

import subprocess
import sys
import unittest

from small_tree import SCRIPTS, SmallTree

SCRIPT = SCRIPTS / "check-style"

HEADER = """// thing.h: what the file is.
#pragma once

// Documents the class.
class Thing {
 public:
  // Documents the function,
  // in two lines.
  int value() const {
    // Inside a body.
    return value_;
  }
  /// Already right.
  int other(int a,
            // beside an argument
            int b);

 private:
  // About the member.
  int value_ = 0;
  // Ends the class.
};
// Of values.
enum class Kind {
  // Of one.
  one,
};
inline constexpr int kTable[] = {
    // inside an initialiser
    1,
};
// A section

// NOLINTNEXTLINE
int f();
"""
FIXED_LINES = {4, 7, 8, 19, 23, 25}
TEST = "TEST(Thing, has_a_value) {}\nTEST_F(Thing, IsRight) {}\n"


class CheckStyle(SmallTree):
    FILES = {"store/thing.h": HEADER, "tests/store/thing_test.cpp": TEST, "store/thing.cpp": "// a\n// Above a function.\nint f();\n"}

    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def run_check(self, *arguments):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), *arguments, str(self.root)], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_a_type_is_defined_once_in_a_program(self):
        self.write("store/a.h", "namespace store {\nstruct Shape {\n  int a;\n};\n}\n")
        self.write("store/b.h", "namespace store {\nstruct Shape {\n  long b;\n};\n}\n")
        self.write("store/c.cpp", "namespace store {\nnamespace {\nstruct Shape {\n};\n}\nstruct Shape::Part {\n};\n}\n")
        self.write("store/d.h", "namespace other {\nstruct Shape {\n};\n}\n")
        self.write("tests/store/e_test.cpp", "namespace store {\nstruct Shape {\n};\n}\n")
        out = self.run_check()[1]
        self.assertIn("store/b.h: store::Shape is defined in store/a.h too", out)
        self.assertEqual(out.count("is defined in"), 1)

    def test_names_in_unnamed_namespaces_of_a_library_differ(self):
        def source(*lines):
            return "namespace store {\nnamespace {\n\n" + "\n".join(lines) + "\n\n}  // namespace\n}  // namespace store\n"
        self.write("store/a.cpp", source("constexpr int kMost = 3;", "using Rows = std::vector<int>;", "struct Part {", "  int kInside;", "};",
                                         "template <class T>", "T of(const T& value,", "     int base) {", "  return value;", "}",
                                         "int once(int a) {", "  return a;", "}", 'const char* kText = R"(', "int kQuoted = 1;", ')";'))
        self.write("store/b.cpp", source("constexpr long kMost = 4;", "using Rows = std::vector<int>;", "struct Part {", "};",
                                         "template <class T>", "T of(const T& other, int b) {", "  return other;", "}",
                                         "int once(long a) {", "  return 1;", "}", 'const char* kOther = R"(', "int kQuoted = 1;", ')";'))
        self.write("store/c.cpp", source("using Rows = std::vector<long>;") + "constexpr int kMost = 5;\n")
        self.write("reports/a.cpp", source("constexpr int kMost = 3;"))
        self.write("tests/store/a_test.cpp", source("constexpr int kMost = 3;"))
        self.write("store/src/parts.h", "namespace store {\ninline constexpr int kShared = 1;\n}\n")
        self.write("store/d.cpp", source("constexpr int kFirst = f(1, kIn), kSecond = 2, kShared = 3;", "constexpr int kThird[] = {kFirst, kSecond};"))
        self.write("store/e.cpp", source("constexpr int kSecond = 4, kIn = 1;"))
        out = [line for line in self.run_check()[1].splitlines() if line.startswith("store/") and " has a " in line]
        self.assertEqual(out, ["store/b.cpp: the unnamed namespace of store/a.cpp has a Part too",
                               "store/c.cpp: the unnamed namespace of store/a.cpp has a Rows too",
                               "store/b.cpp: the unnamed namespace of store/a.cpp has a kMost too",
                               "store/e.cpp: the unnamed namespace of store/d.cpp has a kSecond too",
                               "store/d.cpp: store/src/parts.h has a kShared too",
                               "store/b.cpp: the unnamed namespace of store/a.cpp has a of(const T&,int) too"])

    def test_an_unnamed_function_is_not_called_as_one_of_a_header_that_the_library_reads(self):
        self.write("base/include/ridgeline/base/text.h", "namespace base {\n/// Words.\nint split(int text);\n}\n")
        self.write("store/src/parts.h", '#include "ridgeline/base/text.h"\nnamespace base::store {\n/// Of a part.\ntemplate <typename T>\nT of(const T& part);\n}\n')
        self.write("store/src/unread.h", "namespace base::store {\n/// Unread.\nint unread(int a);\n}\n")
        self.write("store/src/a.cpp", '#include "parts.h"\nint a();\n')
        self.write("store/src/b.cpp", "namespace base::store {\nnamespace {\n\nint split(int text, char at) {\n  return of(text);\n}\n\nint of(long part) {\n  return 1;\n}\n\n"
                                      "int unread(int a) {\n  return a;\n}\n\nint own(int a) {\n  return unread(a);\n}\n\n}  // namespace\n\nint named(int of) { return own(of); }\n}\n")
        self.write("store/src/c.cpp", "namespace other {\nnamespace {\n\nint split(int text, char at) {\n  return 1;\n}\n\n}  // namespace\n}\n")
        out = [line for line in self.run_check()[1].splitlines() if "hides or overloads" in line]
        self.assertEqual(out, ["store/src/b.cpp: of of the unnamed namespace hides or overloads the one of store/src/parts.h",
                               "store/src/b.cpp: split of the unnamed namespace hides or overloads the one of base/include/ridgeline/base/text.h"])

    def test_each_broken_convention_is_found(self):
        code, out = self.run_check()
        self.assertEqual(code, 1)
        found = {int(line.split(":")[1]) for line in out.splitlines() if line.startswith("store/thing.h")}
        self.assertEqual(found, FIXED_LINES)
        self.assertIn("tests/store/thing_test.cpp:1: test has_a_value: HasAValue was expected", out)
        self.assertNotIn("IsRight", out)
        self.assertNotIn("thing.cpp:2", out)

    def test_fix_rewrites_and_is_done_once(self):
        self.assertEqual(self.run_check("--fix")[0], 0)
        self.assertEqual(self.run_check()[0], 0)
        fixed = (self.root / "store/thing.h").read_text().split("\n")
        for number, (before, after) in enumerate(zip(HEADER.split("\n"), fixed), 1):
            self.assertEqual(after, before.replace("//", "///") if number in FIXED_LINES else before, f"line {number}")
        self.assertIn("TEST(Thing, HasAValue)", (self.root / "tests/store/thing_test.cpp").read_text())

    def test_words_that_are_not_written(self):
        wrong = ["// At the begin of a step.", 'int f();  // "a row a range"', "// One element an access.", "// Several runs a side.",
                 "// The saving that is not hidden.", "// A launch-bound kernel.", "// Its SOL is 70 %.", "// A matrix product.",
                 "// They form two heaps.", "// It ran on another grid.", "// That is nothing to rank by.",
                 "// What ends with another code than 0.", "// Those are in no time below."]
        right = ["// At the start of a step, where steps begin.", "// One row per range, ten times a second.", "// ncu's SOL is another figure.",
                 "// The button is not hidden below the others.", "// A launch-bound gap.", "// A product of two numbers.",
                 "for (auto it = the.begin(); it != the.end(); ++it) {}", "// A key, `the begin`.", 'call("at the begin of it");']
        self.write("store/thing.cpp", "\n".join(wrong + right) + "\n")
        self.write("docs/page.md", "A page says it too: the begin of a step.\n```\nthe begin\n```\nAnd its begin.\n")
        self.write("docs/results/log.md", "A log of the begin has the words of its day.\n")
        out = self.run_check()[1]
        found = [int(line.split(":")[1]) for line in out.splitlines() if line.startswith("store/thing.cpp")]
        self.assertEqual(found, list(range(1, len(wrong) + 1)), out)
        self.assertIn("store/thing.cpp:1: 'the begin': write start", out)
        self.assertIn("docs/page.md:1: 'the begin'", out)
        self.assertEqual(out.count("docs/page.md:"), 2, "what a page quotes is the program's")
        self.assertNotIn("log.md", out)

    def test_one_spelling(self):
        wrong = ["// The optimiser of a step.", "// What is initialized first.", 'fail("the behavior of a kernel");', "// A color, in the center.",
                 "// It was canceled.", "// How people analyze it.", "// A synchronization.", "// What was learnt."]
        right = ["// The optimizer, whose class is \"optimiser\", as `optimiser` says.", "// cudaStreamSynchronize() and torch.cuda.synchronize().",
                 "// The sanitizers resized what the analyzer analysed: its size.", "box.center();",
                 'set("color");', "style(\"color:red;text-align:center\");", "// optimiser.cpp: a file's name.",
                 'says("CUDA C++ Best Practices Guide, Execution Configuration Optimizations");', "// The behaviour of an initialised neighbour."]
        self.write("store/thing.cpp", "\n".join(wrong + right) + "\n")
        self.write("docs/page.md", "A page says it too: the optimiser.\n```\noptimiser 3\n```\nAnd `optimiser`.\n")
        self.write("tests/gpu/thing.py", "x = optimiser  # of the optimiser\n")
        out = self.run_check()[1]
        found = [int(line.split(":")[1]) for line in out.splitlines() if line.startswith("store/thing.cpp")]
        self.assertEqual(sorted(set(found)), list(range(1, len(wrong) + 1)), out)
        self.assertIn("store/thing.cpp:1: 'optimiser': write optimizer", out)
        self.assertEqual(out.count("docs/page.md:"), 1, out)
        self.assertEqual(out.count("thing.py:1: 'optimiser'"), 1, out)

    def test_bounds_are_min_and_max(self):
        wrong = ["constexpr int kMostRanks = 3;", "int f(int least_steps);", "double most_hz = 2e9;  // the highest", "constexpr int kFewest = 2;"]
        right = ["constexpr double kMostlyNew = 0.6, kMostOfIt = 0.6;", 'out["least_pairs"] = min_pairs;', "// the least_pairs of the document",
                 "const auto most = most_of(times);", "int at_least = 3;"]
        self.write("store/thing.cpp", "\n".join(wrong + right) + "\n")
        self.write("tests/gpu/thing.py", "least_runs = 3\nmin_runs = 3  # least_runs\n")
        out = self.run_check()[1]
        found = [line.split(": ")[0:2] for line in out.splitlines() if "min_, max_" in line]
        self.assertEqual(found, [["store/thing.cpp:1", "kMostRanks"], ["store/thing.cpp:2", "least_steps"], ["store/thing.cpp:3", "most_hz"],
                                 ["store/thing.cpp:4", "kFewest"], ["tests/gpu/thing.py:1", "least_runs"]], out)

    def test_long_comments_are_broken_up_to_the_next_item(self):
        self.write("store/thing.h", "// thing.h\n#pragma once\n\n///  1. " + "word " * 30 + "end\n///     goes on.\n///  2. next\nint f();\n")
        self.assertEqual(self.run_check("--fix")[0], 0)
        lines = (self.root / "store/thing.h").read_text().split("\n")[3:]
        self.assertEqual([line[:10] for line in lines[:3]], ["///  1. wo", "///     wo", "///  2. ne"])
        self.assertTrue(lines[1].endswith("end goes on."))
        self.assertTrue(all(len(line) <= 110 for line in lines))

    def test_long_columns_stay_to_be_broken_by_hand(self):
        self.write("store/thing.h", "// thing.h\n#pragma once\n\n/// name   " + "word " * 30 + "\nint f();\n")
        code, out = self.run_check("--fix")
        self.assertEqual(code, 1)
        self.assertIn("store/thing.h:4: comment of", out)


if __name__ == "__main__":
    unittest.main()
