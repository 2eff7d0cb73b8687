#!/usr/bin/env python3
"""scripts/unite-for-tidy on a small tree: sources are together that mean the same by what they include, and clang-tidy finds in a united file what it
finds in each source by itself."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts/unite-for-tidy"
# As scripts/lint has it.
LEFT_OUT = re.search(r"-checks=(\S+?)\)", (ROOT / "scripts/lint").read_text())[1]

# Findings, one for each line that names a check behind it.
HEADER = """#pragma once
#include <string>
#include <utility>
#include <vector>
namespace planted {
struct Small {
  int value = 0;
};
inline int moved_in_header(Small small) {
  Small other = std::move(small);  // performance-move-const-arg
  return other.value;
}
}  // namespace planted
"""
SOURCE = """#include "planted.h"
namespace planted {
namespace {
const int NAME_constant = 3;  // readability-identifier-naming
std::string NAME_concatenate(const std::string& a) {
  std::string all;
  for (int i = 0; i < NAME_constant; ++i) {
    all = all + a + "x";  // performance-inefficient-string-concatenation
  }
  return all;
}
int NAME_moved(Small small) {
  const Small other = std::move(small);  // performance-move-const-arg
  return other.value;
}
std::size_t NAME_after_move(std::string text) {
  const std::string other = std::move(text);
  return text.size() + other.size();  // bugprone-use-after-move
}
bool NAME_empty(const std::vector<int>& values) {
  return values.size() == 0;  // readability-container-size-empty
}
int NAME_copies(const std::vector<std::string>& values) {
  int sum = 0;
  for (const std::string value : values) {  // performance-for-range-copy
    sum += static_cast<int>(value.size());
  }
  return sum;
}
int NAME_unused(int used, int not_used) {  // misc-unused-parameters
  return used;
}
void NAME_misleading(int a, int& b) {
  if (a > 0)
    b = 1;
    b = 2;  // readability-misleading-indentation
}
double NAME_divided(int a, int b) {
  double ratio = a / b;  // bugprone-integer-division
  return ratio;
}
struct NAME_root {  // readability-identifier-naming cppcoreguidelines-virtual-class-destructor
  virtual int f() { return 1; }
};
}  // namespace
}  // namespace planted
"""


def expected(file, text):
    return {(file, number, check) for number, line in enumerate(text.splitlines(), 1) if "  // " in line
            for check in line.split("  // ")[1].split() if "-" in check}


class UniteForTidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name).resolve()
        (self.root / "build").mkdir()
        (self.root / "store").mkdir()
        shutil.copy(ROOT / ".clang-tidy", self.root)
        self.commands = []

    def tearDown(self):
        self.folder.cleanup()

    def add(self, name, text, flags=""):
        path = self.root / "store" / name
        path.write_text(text)
        if name.endswith(".cpp"):
            self.commands.append({"directory": str(self.root / "build"), "file": str(path),
                                  "command": f"/usr/bin/c++ -std=c++20 {flags} -o store/{name}.o -c {path}"})
            (self.root / "build/compile_commands.json").write_text(json.dumps(self.commands))
        return str(path)

    def unite(self, sources, code=0):
        done = subprocess.run([sys.executable, "-B", str(SCRIPT), str(self.root / "build"), *sources], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code != 0:
            return done.stderr
        return json.loads((self.root / "build/united/compile_commands.json").read_text())

    def included(self, command):
        return re.findall(r'#include "(.*)"', Path(command["file"]).read_text())

    def files(self, sources):
        return [self.included(command) for command in self.unite(sources)]

    def test_sources_that_are_compiled_alike_are_one_file(self):
        plain = [self.add(f"plain{i}.cpp", "") for i in range(3)]
        other = self.add("other.cpp", "", "-funsigned-char")
        commands = self.unite(plain + [other])
        self.assertEqual([self.included(command) for command in commands], [plain, [other]])
        self.assertEqual(commands[1]["arguments"], ["/usr/bin/c++", "-std=c++20", "-funsigned-char", "-c", commands[1]["file"]])

    def test_what_one_of_them_has_more_of_all_have(self):
        folders = [self.root / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
            (folder / f"{folder.name}.h").write_text("")
        a = self.add("a.cpp", '#include "one.h"\n', f"-DFIRST='a b' -I{folders[0]} -fPIC")
        b = self.add("b.cpp", '#include "two.h"\n', f"-DSECOND -I {folders[1]} -fPIE")
        (command,) = self.unite([a, b])
        self.assertEqual(command["arguments"], ["/usr/bin/c++", "-DFIRST=a b", "-DSECOND", f"-I{folders[0]}", f"-I{folders[1]}", "-std=c++20",
                                                "-c", command["file"]])

    def test_sources_are_apart_that_mean_something_else_by_a_name(self):
        for folder in ("one/parts", "two/parts", "library"):
            (self.root / folder).mkdir(parents=True)
        for name in ("one", "two"):
            (self.root / name / "parts/text.h").write_text("")
        one, two = (self.add(f"{name}.cpp", "", f"-I{self.root / name}") for name in ("one", "two"))
        value, other = self.add("value.cpp", "", "-DVALUE=1"), self.add("other.cpp", "", "-DVALUE=2")
        library = self.add("library.cpp", "", f"-isystem {self.root / 'library'}")
        self.assertEqual(self.files([one, two]), [[one], [two]])
        self.assertEqual(self.files([value, other]), [[value], [other]])
        self.assertEqual(self.files([value, library]), [[value], [library]])
        self.assertEqual(self.files([one, value]), [[one, value]])

    def test_a_file_has_one_main(self):
        sources = [self.add("a.cpp", ""), self.add("b.cpp", "int main(int argc, char** argv) {\n}\n"), self.add("c.cpp", "int main() {\n}\n"),
                   self.add("d.cpp", "int domain();\nint f() { return main(); }\n")]
        files = self.files(sources)
        self.assertEqual(sorted(name for file in files for name in file), sources)
        self.assertEqual(sorted(sum("/b.cpp" in name or "/c.cpp" in name for name in file) for file in files), [1, 1])

    def test_each_of_many_is_in_one_file_and_the_files_are_even(self):
        many = [self.add(f"s{i:03}.cpp", "") for i in range(193)]
        files = [self.included(command) for command in self.unite(many)]
        self.assertEqual(sorted(name for file in files for name in file), many)
        self.assertEqual({len(file) for file in files}, {64, 65})

    def test_what_was_united_before_is_gone(self):
        first, second = self.add("a.cpp", ""), self.add("b.cpp", "", "-DB")
        self.unite([first, second])
        self.unite([first])
        self.assertEqual(len(list((self.root / "build/united").glob("*.cpp"))), 1)

    def test_a_source_that_is_not_compiled_is_an_error(self):
        self.add("a.cpp", "")
        self.assertIn("missing.cpp", self.unite([str(self.root / "store/missing.cpp")], code=4))

    @unittest.skipUnless(shutil.which("clang-tidy"), "clang-tidy is not installed")
    def test_each_planted_finding_is_found(self):
        want = expected("planted.h", HEADER)
        self.add("planted.h", HEADER)
        sources = []
        for name in ("first", "second"):
            text = SOURCE.replace("NAME", name)
            sources.append(self.add(f"{name}.cpp", text))
            want |= expected(f"{name}.cpp", text)
        (command,) = self.unite(sources)
        done = subprocess.run(["clang-tidy", "-p", str(self.root / "build/united"), "-quiet", f"-checks={LEFT_OUT}", command["file"]],
                              capture_output=True, text=True)
        found = {(Path(path).name, int(line), check) for path, line, checks in
                 re.findall(r"^(\S+?):(\d+):\d+: (?:warning|error): .* \[(.*)\]$", done.stdout, re.MULTILINE) for check in checks.split(",")
                 if check != "-warnings-as-errors"}
        self.assertEqual(found, want)


if __name__ == "__main__":
    unittest.main()
