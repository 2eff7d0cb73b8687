#!/usr/bin/env python3
"""scripts/check-functions on a small tree: long functions however their heads are written, and rows of the table that are out of date."""

import subprocess
import sys
import unittest

from small_tree import SCRIPTS, SmallTree

SCRIPT = SCRIPTS / "check-functions"
PAGE = "docs/design/033-words-and-keys.md"
BODY = "  call();\n" * 79  # with the lines of its braces, 81


def source(head, body=BODY):
    return f"namespace a {{\n\n{head} {{\n{body}}}\n\n}}  // namespace a\n"


class CheckFunctions(SmallTree):
    def setUp(self):
        super().setUp()
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write(PAGE, "| function | file | why |\n")

    def found(self, text, path="base/src/a.cpp"):
        self.write(path, text)
        subprocess.run(["git", "-C", str(self.root), "add", "."], check=True)
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), "--root", str(self.root)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1 if done.stdout else 0, done.stderr)
        return done.stdout

    def test_81_lines_are_too_many_and_80_are_not(self):
        self.assertIn("base/src/a.cpp:3: far() has 81 lines", self.found(source("int far(int x)")))
        self.assertEqual(self.found(source("int far(int x)", BODY[:-10])), "")

    def test_heads_of_all_kinds(self):
        for head, name in (("template <class T, int n = 3>\nT far(T x)", "far"), ("Row::Row(int x) : a_{x}, b_(x)", "Row"),
                           ("auto Row::far(int x) const noexcept -> Row", "far"), ("struct Row far(\n    int x)", "far"),
                           ("__global__ void __launch_bounds__(4 * kWarp, 1)\n    far_kernel(int x)", "far_kernel"),
                           ("class Row {\n  int far(int x) const", "far")):
            with self.subTest(head=head):
                text = source(head) + ("};\n" if head.startswith("class") else "")
                self.assertIn(f" {name}() has ", self.found(text))

    def test_a_class_a_namespace_and_a_table_are_no_functions(self):
        for head in ("class Row final : public Base", "namespace b", "constexpr Row kRows[] ="):
            with self.subTest(head=head):
                self.assertEqual(self.found(source(head)), "")

    def test_braces_in_text_comments_and_macros_count_for_nothing(self):
        for line in ('  say("}");\n', "  say('}');\n", "  // }\n", '  say(R"(}\n})");\n', "#define CLOSE \\\n  }\n", "  take(1'000, '{');\n"):
            with self.subTest(line=line):
                self.assertIn("far() has ", self.found(source("int far(int x)", line + BODY)))

    def test_the_table_is_what_there_is(self):
        self.write(PAGE, "| `far()` | `base/src/a.cpp` | a list |\n")
        self.assertEqual(self.found(source("int far(int x)")), "")
        self.assertIn("far() of base/src/a.cpp is not over 80 lines any more", self.found(source("int near(int x)", "")))

    def test_tests_are_left_out(self):
        self.assertEqual(self.found(source("int far(int x)"), "tests/base/a.cpp"), "")


if __name__ == "__main__":
    unittest.main()
