#!/usr/bin/env python3
"""scripts/mutate on a toy repository: what it changes, what it counts, and that it leaves the tree alone."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
from mutation_rules import applied, mutants_of  # noqa: E402
from mutation_switches import PROLOGUE, switched  # noqa: E402
from mutation_together import Record, Together  # noqa: E402

CMAKE = """cmake_minimum_required(VERSION 3.20)
set(CMAKE_CXX_COMPILER_WORKS ON)  # nobody needs to try that
project(toy CXX)
enable_testing()
add_library(toy STATIC store/src/toy.cpp)
target_include_directories(toy PUBLIC store/src)
add_executable(test_store.toy tests/toy_test.cpp)
target_link_libraries(test_store.toy toy)
add_test(NAME "store.toy" COMMAND test_store.toy)
add_executable(test_store.text tests/text_test.cpp)
target_link_libraries(test_store.text toy)
add_test(NAME "store.text" COMMAND test_store.text)
set_tests_properties("store.text" PROPERTIES LABELS "cpu;text")
add_executable(test_queries.toy tests/queries_test.cpp)
target_link_libraries(test_queries.toy toy)
add_test(NAME "queries.toy" COMMAND test_queries.toy)
add_library(unlinked STATIC store/src/unlinked.cpp)
add_executable(test_store.unlinked tests/toy_test.cpp)
target_link_libraries(test_store.unlinked toy)
add_test(NAME "store.unlinked" COMMAND test_store.unlinked)
add_executable(test_store.more tests/more_test.cpp)
target_link_libraries(test_store.more unlinked)
add_test(NAME "store.more" COMMAND test_store.more)
"""
UNLINKED_CPP = "int more(int a) { return a + 5; }\n"
MORE_TEST = "int more(int a);\nint main() { return more(1) == 6 ? 0 : 1; }\n"
TOY_CPP = """#include "toy.h"
int tested(int a) { return a + 1; }
int forgotten(int a) { return a - 1; }
int in_text_only() { return 7; }
int same(unsigned a) { return a > 0u; }
static int idle() { return 3; }
void endless(int n) {
  volatile long i = 0 * idle();
  while (i < n) i = i + 1;
}
int elsewhere(int a) { return a * 5; }
"""
TOY_H = """int tested(int a);
int forgotten(int a);
int in_text_only();
int same(unsigned a);
void endless(int n);
int elsewhere(int a);
"""
TOY_TEST = """#include "toy.h"
int main() { endless(3); return tested(1) == 2 && same(2u) == 1 && same(0u) == 0 ? 0 : 1; }
"""
QUERIES_TEST = """#include "toy.h"
int main() { forgotten(2); return elsewhere(2) == 10 ? 0 : 1; }
"""
TEXT_TEST = """#include "toy.h"
int main() { return in_text_only() == 7 ? 0 : 1; }
"""


def proposals(text):
    return [(m.old, m.new) for m in mutants_of("store", "a.cpp", text)]


class Rules(unittest.TestCase):
    def test_what_is_returned_becomes_nothing_unless_it_is_nothing_already(self):
        def returned(value):
            return [m.new for m in mutants_of("store", "a.cpp", f"auto f() {{ return {value}; }}\n") if m.rule == "returned value"]

        for value in ('""', "{}", "0", "0u", "0ULL", "0.0", "0.", "0.0F", "nullptr", "std::nullopt", "true", "false", "*this"):
            self.assertEqual(returned(value), [], value)
        for value in ('"a"', '" "', "1", "0x1", "10", "0.5", "a", "-0.0", "f()", '"" + a', "a ? 0 : 1"):
            self.assertEqual(returned(value), ["{}"], value)

    def test_operators_and_words(self):
        found = proposals("bool f(int a, int b) { return a < b && g(a - 1, b); }\n")
        for change in [("<", "<="), ("-", "+"), (" - 1", ""), (" && g(a - 1, b)", ""), ("a < b && ", ""), ("1", "2")]:
            self.assertIn(change, found)
        self.assertIn(("max", "min"), proposals("auto x = std::max(a, b);\n"))
        self.assertIn(("true", "false"), proposals("return true;\n"))
        self.assertIn(("a.b", "!(a.b)"), proposals("if (a.b) g();\n"))
        self.assertIn(("0.95", "0.475"), proposals("double x = 0.95;\n"))
        self.assertIn(("1e3", "500.0"), proposals("double x = y * 1e3;\n"))

    def test_sql_in_literals(self):
        sql = 'auto q = "SELECT a.x, a.y FROM t WHERE a.status = 1 AND a.n >= 3 ORDER BY a.x DESC";\n'
        found = proposals(sql)
        for change in [("a.x, a.y", "a.y, a.x"), ("=", "<>"), (">=", ">"), ("a.n >= 3", "1 "), (" DESC", "")]:
            self.assertIn(change, found)
        self.assertIn((" IS NULL", " IS NOT NULL"), proposals('q("SELECT x FROM t WHERE y IS NULL");\n'))

    def test_what_is_no_code_stays(self):
        self.assertEqual(proposals("// a < b && 3\n/* 1 + 2 */\n#define N 3\nstatic_assert(N == 3);\n"), [])
        self.assertEqual(proposals('auto text = "1 + 2 < 3 and so on";\n'), [])
        self.assertEqual(proposals("std::vector<int> v;\nv.reserve(64);\n"), [])
        self.assertEqual(proposals('R"(SELECT x -- 3 rows AND more\n)";\n'), [])

    def test_a_change_is_made_where_it_was_found(self):
        text = "int a = 1;\nint b = 1;\n"
        mutant = [m for m in mutants_of("store", "a.cpp", text) if m.line == 2][0]
        self.assertEqual(applied(text, mutant), "int a = 1;\nint b = 0;\n")
        self.assertIsNone(applied("int a = 1;\nint c;\n", mutant))


class Switches(unittest.TestCase):
    def switch(self, text, old, new):
        """The text with this change behind switch 1, without the prologue; None if it has none."""
        mutant = next(m for m in mutants_of("store", "a.cpp", text) if (m.old, m.new) == (old, new))
        out, lines = switched(text, [(1, mutant)])
        self.assertEqual(bool(lines), out != text)
        return out[len(PROLOGUE) :] if lines else None

    def test_a_change_is_one_of_two_values(self):
        on = "mutant_switch::on(1) ?"
        self.assertEqual(self.switch("bool f() { return a + 1 < b && c; }\n", "<", "<="),
                         f"bool f() {{ return ({on} (a + 1 <= b) : (a + 1 < b)) && c; }}\n")
        self.assertEqual(self.switch("if (c) x += f(1, 2);\n", "+=", "-="), f"if (c) ({on} (x -= f(1, 2)) : (x += f(1, 2)));\n")
        self.assertEqual(self.switch("int a = b * 3;\n", "3", "4"), f"int a = ({on} (b * 4) : (b * 3));\n")
        self.assertEqual(self.switch("auto a = v.front().x;\n", "front", "back"), f"auto a = ({on} (v.back().x) : (v.front().x));\n")
        self.assertEqual(self.switch("if (a.b) g();\n", "a.b", "!(a.b)"),
                         f"if (({on} static_cast<bool>(!(a.b)) : static_cast<bool>(a.b))) g();\n")
        self.assertEqual(self.switch("bool a = b && c;\n", " && c", ""),
                         f"bool a = ({on} static_cast<bool>(b) : static_cast<bool>(b && c));\n")

    def test_a_returned_value_is_a_second_statement(self):
        self.assertEqual(self.switch("if (a) return b + c;\n", "b + c", "{}"),
                         "if (a) { if (mutant_switch::on(1)) return {}; return b + c; }\n")

    def test_literals_of_sql_are_written_twice(self):
        self.assertEqual(self.switch('q("SELECT x FROM t "\n  "WHERE y IS NULL");\n', " IS NULL", " IS NOT NULL"),
                         'q((mutant_switch::on(1) ? "SELECT x FROM t " "WHERE y IS NOT NULL" : "SELECT x FROM t "\n  "WHERE y IS NULL"));\n')
        self.assertEqual(self.switch('constexpr const char* kQ = R"(SELECT "a"\nFROM t WHERE b = 1)";\n', "=", "<>"),
                         'const char* const kQ = (mutant_switch::on(1) ? "SELECT \\"a\\"\\nFROM t WHERE b <> 1" : '
                         'R"(SELECT "a"\nFROM t WHERE b = 1)");\n')

    def test_lines_stay_and_no_two_changes_share_a_place(self):
        text = "int f(int a) {\n  return g(a < 1,\n           a - 2);\n}\n"
        found = mutants_of("store", "a.cpp", text)
        out, lines = switched(text, list(enumerate(found, 1)))
        self.assertEqual(out[len(PROLOGUE) :].count("\n"), text.count("\n"))
        places = [m for number, m in enumerate(found, 1) if number in lines]
        self.assertEqual(len(places), 2, "one on each line")
        self.assertTrue(all(found[number - 1].line in lines[number] for number in lines))


class Recording(unittest.TestCase):
    def test_a_limit_on_the_size_of_files_does_not_touch_it(self):
        with tempfile.TemporaryDirectory() as folder:
            with Record(Path(folder) / "reached") as record:
                done = subprocess.run(["bash", "-c", 'ulimit -f 0; echo 3 >>"$0"; (echo 5 >>"$0")', record.path], check=False)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(record.numbers(), {3, 5})
            self.assertFalse(record.path.exists())


class Placing(unittest.TestCase):
    """What the compiler said of a source is kept for a run that goes on where this one stops."""

    class FakeTree:
        def __init__(self, root, copy):
            self.root, self.copy, self.left_switched = root, copy, []

    class FakeCompiler:
        def __init__(self):
            self.asked = 0

        def says(self, path, folders):
            """Takes no 7, wherever it is."""
            self.asked += 1
            wrong = [f"{path.name}:{n}: error: 7" for n, line in enumerate(path.read_text()[len(PROLOGUE) :].split("\n"), 1) if "7" in line]
            wrong += [] if path.read_text().startswith(PROLOGUE) else [f"{path.name}:{n}: error: 7" for n, line in
                                                                     enumerate(path.read_text().split("\n"), 1) if "7" in line]
            return "\n".join(wrong) or None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root, self.copy = Path(self.folder.name) / "root", Path(self.folder.name) / "copy"
        for folder in (self.root, self.copy):
            folder.mkdir()
            for name in ("a.cpp", "b.cpp"):
                (folder / name).write_text("int f() {\n  return g(6);\n}\nint h() {\n  return k(2);\n}\n")

    def tearDown(self):
        self.folder.cleanup()

    def placed(self, mutants, left=()):
        tree, compiler = self.FakeTree(self.root, self.copy), self.FakeCompiler()
        tree.left_switched = list(left)
        together = Together(tree, compiler, {self.copy}, 1, lambda text: None, Path(self.folder.name) / "placed")
        together.place(mutants)
        return together, compiler.asked

    def test_a_second_run_asks_nothing_and_finds_the_same(self):
        mutants = [m for name in ("a.cpp", "b.cpp") for m in mutants_of("store", name, (self.root / name).read_text()) if m.rule == "constant"]
        first, asked = self.placed(mutants)
        self.assertGreater(asked, 2)
        self.assertEqual({m.new for m in mutants if m.key() in first.unbuilt}, {"7"})
        self.assertTrue(first.numbers)
        written = {name: (self.copy / name).stat().st_mtime_ns for name in ("a.cpp", "b.cpp")}
        again, asked = self.placed(mutants)
        self.assertEqual(asked, 0)
        self.assertEqual((again.numbers, again.unbuilt, again.switched_texts), (first.numbers, first.unbuilt, first.switched_texts))
        self.assertEqual(written, {name: (self.copy / name).stat().st_mtime_ns for name in written}, "what was built stays good")
        again.restore()
        self.assertEqual((self.copy / "a.cpp").read_text(), (self.root / "a.cpp").read_text())

    def test_other_changes_are_asked_about_and_what_is_not_changed_now_is_as_it_was(self):
        mutants = [m for name in ("a.cpp", "b.cpp") for m in mutants_of("store", name, (self.root / name).read_text()) if m.new == "3"]
        self.placed(mutants)
        only, asked = self.placed([m for m in mutants if m.file == "b.cpp"], ["a.cpp", "b.cpp"])
        self.assertGreater(asked, 0, "its number is another")
        self.assertEqual(list(only.numbers.values()), [1])
        self.assertEqual((self.copy / "a.cpp").read_text(), (self.root / "a.cpp").read_text())


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name) / "toy"
        for name, text in {"CMakeLists.txt": CMAKE, "store/src/toy.cpp": TOY_CPP, "store/src/toy.h": TOY_H,
                           "tests/toy_test.cpp": TOY_TEST, "tests/text_test.cpp": TEXT_TEST, "tests/queries_test.cpp": QUERIES_TEST,
                           "store/src/unlinked.cpp": UNLINKED_CPP, "tests/more_test.cpp": MORE_TEST,
                           ".gitignore": "/build-*/\n"}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def tearDown(self):
        self.folder.cleanup()

    def mutate(self, *arguments, expect=0):
        done = subprocess.run(
            [sys.executable, str(ROOT / "scripts/mutate"), "--root", str(self.root), "--modules", "store", "--limit", "1",
             *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        self.said = done.stderr
        return done.stdout

    def document(self):
        return json.loads((self.root / "build-mutate/mutants.json").read_text())

    def verdicts(self):
        document = self.document()
        return {(e["mutant"]["line"], e["mutant"]["old"], e["mutant"]["new"]): e["verdict"] for e in document["mutants"]}

    def test_verdicts_table_and_resuming(self):
        out = self.mutate(*(f"--only=store/src/toy.cpp:{line}" for line in (2, 3, 4, 5, 6, 9, 11)))
        found = self.verdicts()
        self.assertRegex(self.said, r"changes of 1 sources: ([5-9]|\d\d) behind switches")
        self.assertEqual(found[(2, "+", "-")], "killed")
        self.assertEqual(found[(3, "-", "+")], "survived")
        self.assertEqual(found[(4, "7", "8")], "survived", "a text comparison does not count")
        self.assertEqual(found[(5, ">", ">=")], "killed")
        self.assertEqual(found[(5, "0u", "1u")], "survived")
        self.assertEqual(found[(9, "+", "-")], "killed", "it never ends")
        self.assertEqual(found[(6, "3", "4")], "equivalent", "the optimizer makes the same code")
        self.assertIn("store/src/toy.cpp:3: arithmetic: `-` -> `+`", out)
        self.assertEqual(found[(11, "5", "6")], "killed", "a test of another module notices it")
        asked = {(e["mutant"]["line"], e["mutant"]["old"]): (e["asked"], e["why"]) for e in self.document()["mutants"]}
        self.assertEqual(asked[(2, "+")][0], "own")
        self.assertEqual(asked[(11, "5")], ("all", "queries.toy: ends early"))
        self.assertEqual({e["asked"] for e in self.document()["mutants"] if e["mutant"]["line"] == 3}, {"all"})
        self.assertIn("0 tests come by it in its module, 1 tests come by it in others",
                      [e["why"] for e in self.document()["mutants"] if e["mutant"]["line"] == 3])
        own, total, any_test = (int(n) for n in re.search(r"^all +(\d+) +(\d+) +\S+ +(\d+)", out, re.MULTILINE).groups())
        elsewhere = [e for e in self.document()["mutants"] if e["verdict"] == "killed" and e["mutant"]["line"] == 11]
        self.assertEqual(any_test - own, len(elsewhere))
        self.assertEqual(any_test, sum(v == "killed" for v in found.values()))
        self.assertGreater(total, any_test)
        self.assertEqual((self.root / "store/src/toy.cpp").read_text(), TOY_CPP, "the user's tree is left alone")

        # A new test is taken over, and only survivors are decided again.
        (self.root / "tests/toy_test.cpp").write_text(TOY_TEST.replace("? 0", "&& forgotten(3) == 2 && in_text_only() == 7 ? 0"))
        self.mutate("--survivors")
        again = self.verdicts()
        self.assertEqual(again[(3, "-", "+")], "killed")
        self.assertEqual(again[(4, "7", "8")], "killed")
        self.assertEqual(len(again), len(found))

        # Nor are they asked, if the user does not want that.
        self.assertRegex(self.mutate("--only=store/src/toy.cpp:11", "--own"), r"not asked about [1-9]\d* survivors")
        self.assertEqual(self.verdicts()[(11, "5", "6")], "survived")

        (self.root / "tests/toy_test.cpp").write_text("int main() { return 1; }\n")
        self.mutate("--count", "1", expect=4)

    def test_a_program_without_the_source_says_nothing_of_it(self):
        # store.unlinked comes first for its name; it is linked anew, for toy.cpp is what it was again.
        self.mutate("--only=store/src/toy.cpp:2", "--only=store/src/unlinked.cpp:1")
        found = self.verdicts()
        self.assertEqual(found[(2, "+", "-")], "killed")
        self.assertEqual(found[(1, "+", "-")], "killed")

    def test_wrong_use(self):
        self.mutate("--only", "store/src/toy.cpp", expect=2)
        self.mutate("--only", "store/src/toy.cpp:400", expect=4)
        self.mutate("--modules", "nothing", "--list", expect=2)

    def test_the_draw_depends_on_the_seed_only(self):
        first = self.mutate("--list", "--count", "5", "--seed", "3")
        self.assertEqual(first, self.mutate("--list", "--count", "5", "--seed", "3"))
        self.assertEqual(len({line.split(": ")[0] for line in first.splitlines()}), 5, "one change a line")
        self.assertFalse((self.root / "build-mutate").exists(), "--list builds nothing")


if __name__ == "__main__":
    unittest.main()
