#!/usr/bin/env python3
"""pages_test.py on small pages: what it runs, what it finds, what --accept writes."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pages_test as pages  # noqa: E402

PROGRAM = """#!/bin/sh
# A program in ridgeline's place: `rank` prints a table, `record` says that there is no GPU.
case "$1" in
  rank) printf 'head\\nrow 1\\nrow 2\\nrow 3\\nfoot\\n' ;;
  check) exit 1 ;;
  record) [ "$2" = --wrong ] && exit 2; exit 4 ;;
esac
"""
FABRICATE = "#!/bin/sh\necho \"$@\" > \"$1\"\n"


def block(kind, *lines):
    return "\n".join(["```" + kind, *lines, "```", ""])


class Pages(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            for name, program in (("ridgeline", PROGRAM), ("fabricate", FABRICATE)):
                (folder / name).write_text(program)
                (folder / name).chmod(0o755)
            page = pages.Page.__new__(pages.Page)
            page.path, page.name, page.lines = folder / "page.md", "page.md", text.split("\n")
            page.failures, page.counts = [], {"commands": 0, "outputs": 0}
            (folder / "sandbox").mkdir()
            replaced = page.check(folder / "sandbox", folder / "ridgeline", folder / "fabricate")
            page.accept(replaced)
            return page

    def test_what_is_shown_is_compared(self):
        page = self.check(block("console", "$ ridgeline rank", "head", "row 1", "row 2", "row 3", "foot"))
        self.assertEqual((page.failures, page.counts), ([], {"commands": 1, "outputs": 1}))
        page = self.check(block("console", "$ ridgeline rank", "head", "row 1", "row two", "row 3", "foot"))
        self.assertEqual(len(page.failures), 1)
        self.assertIn("page.md:2:", page.failures[0])
        self.assertIn("+row 2", page.failures[0])
        self.assertIn("row 2", page.lines, "--accept writes what is printed now")

    def test_dots_stand_for_any_lines(self):
        for shown in (["head", "…", "foot"], ["…"], ["…", "row 2", "…"], ["head", "row 1", "row 2", "row 3", "foot", "…"]):
            self.assertEqual(self.check(block("console", "$ ridgeline rank", *shown)).failures, [], shown)
        page = self.check(block("console", "$ ridgeline rank", "…", "row 22", "…", "boot"))
        self.assertEqual(len(page.failures), 1)
        self.assertEqual(page.lines[1:6], ["$ ridgeline rank", "…", "row 2", "…", "foot"])

    def test_a_command_that_fails(self):
        self.assertEqual(len(self.check(block("console", "$ ridgeline check")).failures), 1)
        self.assertEqual(self.check(block("console", "$ ridgeline check", "$ echo $?", "1")).failures, [])
        self.assertEqual(len(self.check(block("console", "$ ridgeline check", "$ echo $?", "0")).failures), 1)

    def test_recording_needs_a_mark_and_right_options(self):
        self.assertEqual(len(self.check(block("console", "$ ridgeline record -o a.ridge -- ./train-before")).failures), 1)
        marked = self.check(block("console", "$ ridgeline record -o a.ridge -- ./train-before   # needs a GPU", "$ cat a.ridge", "…"))
        self.assertEqual(marked.failures, [])
        wrong = self.check(block("console", "$ ridgeline record --wrong -o a.ridge -- ./train-before   # needs a GPU"))
        self.assertEqual(len(wrong.failures), 1)

    def test_commands_of_several_lines_and_files(self):
        self.assertEqual(self.check(block("console", "$ for i in 1 2; do", ">   echo $i", "> done", "1", "2")).failures, [])
        self.assertEqual(self.check(block("toml", "# ridgeline.toml", "pairs = 1") +
                                    block("console", "$ tail -n 1 ridgeline.toml", "pairs = 1")).failures, [])

    def test_programs_run(self):
        good = ["for batch in loader:", "    with torch.cuda.nvtx.range('step'): model(batch)"]
        self.assertEqual(self.check(block("python", *good)).failures, [])
        self.assertEqual(len(self.check(block("python", good[0], "    torch.cuda.nvtx.range_push('step')")).failures), 1)
        self.assertEqual(len(self.check(block("python", good[0], "    torch.nvtx(batch)")).failures), 1)

    def test_what_nobody_runs_is_refused(self):
        self.assertEqual(len(self.check(block("", "ridgeline rank")).failures), 1)
        self.assertEqual(len(self.check(block("sh", "ridgeline rank")).failures), 1)
        self.assertEqual(self.check(block("yaml examples/ci/gitlab.yml", "budget: 30m")).failures, [])
        self.assertEqual(len(self.check(block("yaml examples/ci/gitlab.yml", "tags: [cpu]")).failures), 1)


if __name__ == "__main__":
    unittest.main()
