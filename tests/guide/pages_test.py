#!/usr/bin/env python3
"""usage: pages_test.py RIDGELINE FABRICATE_CAPTURE [--only PAGE] [--accept]

Runs every command of the README and of docs/guide, and compares what it prints with what the page shows.

  ```console   "$ command" lines, "> " lines that go on with one, and below each what it prints. A line "…" stands for lines that
               are left out; a command without output is not compared. It must exit 0 unless `echo $?` comes next.
               "# needs a GPU" behind a command: a stand-in records (stand_ins/), and nothing else differs.
  ```python    a program: run with a stand-in for torch, and kept as train.py for the commands after it.
  ```yaml FILE, ```toml FILE, ```c++ FILE   part of that file of the repository, word for word.
  ```toml, ```json  a file: kept under the name in its first line ("# name", for JSON in the sentence before: "`name`:").
Blocks of other kinds, or of none, are refused: what nobody runs drifts.

The blocks of a page run one after the other in one folder, each in a shell of its own. --accept writes the outputs as they are now into the pages.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
STAND_INS = Path(__file__).resolve().parent / "stand_ins"
ELIDED = "…"
GPU = re.compile(r"#.*\bneeds a GPU\b")
FENCE = re.compile(r"^( *)```(.*)$")
# What records in a page: `./train` is the trainer of the bundled capture, the others are made up for comparisons.
PROGRAMS = {
    "train": "bundled",
    "train-unpadded": "layers=12 declared unpadded",
    "train-before": "codes",
    "train-after": "codes slow=classifier:0.8",
}


class Block:
    def __init__(self, page, first, indent, info, lines):
        self.page, self.first, self.indent, self.lines = page, first, indent, lines
        self.kind, _, self.argument = info.strip().partition(" ")

    @property
    def where(self):
        return f"{self.page}:{self.first}"


class Command:
    def __init__(self, line, text):
        self.line, self.text, self.shown = line, text, []
        self.output, self.code = [], None


def blocks_of(name, lines):
    found, opened = [], None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if fence and opened is None:
            opened = (number, fence[1], fence[2], [])
        elif fence:
            found.append(Block(name, opened[0], opened[1], opened[2], opened[3]))
            opened = None
        elif opened is not None:
            opened[3].append(line[len(opened[1]):] if line.startswith(opened[1]) else line)
    if opened is not None:
        raise SystemExit(f"{name}:{opened[0]}: a block that does not end")
    return found


def commands_of(block):
    commands = []
    for number, line in enumerate(block.lines, block.first + 1):
        if line.startswith("$ "):
            commands.append(Command(number, line[2:]))
        elif not commands:
            raise SystemExit(f"{block.page}:{number}: output before a command")
        elif line.startswith("> ") and not commands[-1].shown:
            commands[-1].text += "\n" + line[2:]
        else:
            commands[-1].shown.append(line)
    return commands


def agree(shown, output):
    """Whether the output is what is shown, where "…" alone on a line stands for any number of lines."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == ELIDED else re.escape(line.rstrip()) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in output)) is not None


def filled(shown, output):
    """What a page shows of a new output: as many lines before, between and after each "…" as were shown."""
    if ELIDED not in (line.strip() for line in shown):
        return output
    parts, part = [], []
    for line in shown:
        if line.strip() == ELIDED:
            parts.append(part)
            part = []
        else:
            part.append(line)
    parts.append(part)
    result, at = output[: len(parts[0])], len(parts[0])
    for index, part in enumerate(parts[1:], 1):
        result.append(ELIDED)
        if index == len(parts) - 1:
            start = len(output) - len(part)
        elif part and (close := difflib.get_close_matches(part[0], output[at:], 1, 0.5)):
            start = output.index(close[0], at)
        else:
            start = at
        start = max(start, at)
        result += output[start : start + len(part)]
        at = start + len(part)
    return result


class Session:
    """The shell of one page, in a folder that looks like a clone of the repository in which Ridgeline was built."""

    def __init__(self, folder, ridgeline, fabricate):
        self.folder = folder
        self.environment = {**{k: v for k, v in os.environ.items() if k in ("LD_LIBRARY_PATH", "TMPDIR", "MUTANT_ON", "MUTANTS_REACHED")},
                            "PATH": f"{folder / 'build/bin'}:{STAND_INS}:{os.environ['PATH']}", "COLUMNS": "100", "TZ": "UTC",
                            "LC_ALL": "C.UTF-8", "HOME": str(folder), "RIDGELINE_REAL": str(ridgeline), "ROOT": str(ROOT),
                            "RIDGELINE_FABRICATE": str(fabricate), "PYTHONPATH": str(STAND_INS / "python"),
                            "RIDGELINE_BUILD": str(ridgeline.parent.parent), "PYTHONDONTWRITEBYTECODE": "1",
                            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "a@b",
                            "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "a@b",
                            **{f"GIT_{who}_DATE": "2026-11-23T12:00:00Z" for who in ("AUTHOR", "COMMITTER")}}
        for name in ("build/bin", "scripts"):
            (folder / name).mkdir(parents=True)
        shutil.copytree(ROOT / "examples", folder / "examples")
        (folder / "build/bin/ridgeline").symlink_to(STAND_INS / "ridgeline")
        (folder / "scripts/profile").symlink_to(STAND_INS / "profile")
        for name, records in PROGRAMS.items():
            self.keep(name, f"#!/bin/sh\n# records as: {records}\n", executable=True)
        self.keep(".gitignore", "build/\nridgeline-commits/\n*.ridge\n")

    def keep(self, name, text, executable=False):
        path = self.folder / name
        if path.is_symlink() or not path.parent.is_dir():
            raise SystemExit(f"a page may not write {name}")
        path.write_text(text)
        if executable:
            path.chmod(0o755)

    def run(self, commands):
        """Runs the commands of a block in one shell; each gets its output and exit code."""
        marker = "\x01ended "
        script = ["true"]
        for command in commands:
            stand_in = 1 if GPU.search(command.text) else 0
            script += [f"export STAND_IN={stand_in}; (exit ${{code:-0}})", command.text,
                       f"code=$?; printf '\\n{marker}%s\\n' $code"]
        done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240)
        parts = done.stdout.decode("utf-8", "replace").split("\n" + marker)
        for command, part in zip(commands, parts):
            command.output = part.split("\n", 1)[1] if command is not commands[0] else part
        for command, part in zip(commands, parts[1:]):
            command.code = int(part.split("\n", 1)[0])
        for command in commands:
            text = command.output if isinstance(command.output, str) else ""
            command.output = [line.replace(str(self.folder) + "/", "") for line in text.rstrip("\n").split("\n")] if text.strip() else []


class Page:
    def __init__(self, path):
        self.path, self.name = path, str(path.relative_to(ROOT))
        self.lines = path.read_text().split("\n")
        self.failures, self.counts = [], {"commands": 0, "outputs": 0}

    def fail(self, where, text):
        self.failures.append(f"{where}: {text}")

    def check(self, folder, ridgeline, fabricate):
        session, replaced = Session(folder, ridgeline, fabricate), []
        for block in blocks_of(self.name, self.lines):
            if block.kind == "console":
                self.console(session, block, replaced)
            elif block.kind == "python":
                self.python(session, block)
            elif block.kind in ("yaml", "toml", "c++", "json") and block.argument:
                text = (ROOT / block.argument).read_text()
                flat = lambda lines: "\n".join(line.strip() for line in lines if line.strip())
                if flat(block.lines) not in flat(text.split("\n")):
                    self.fail(block.where, f"is no part of {block.argument}")
            elif block.kind == "toml":
                session.keep(re.fullmatch(r"# ([\w.]+)", block.lines[0])[1], "\n".join(block.lines) + "\n")
            elif block.kind == "json":
                before = next(line for line in reversed(self.lines[: block.first - 1]) if line.strip())
                session.keep(re.search(r"`([\w.]+)`:?$", before)[1], "\n".join(block.lines) + "\n")
            else:
                self.fail(block.where, f"a block of kind '{block.kind}', which nothing runs")
        return replaced

    def console(self, session, block, replaced):
        commands = commands_of(block)
        session.run(commands)
        new = []
        for index, command in enumerate(commands):
            where = f"{self.name}:{command.line}"
            self.counts["commands"] += 1
            asked = index + 1 < len(commands) and commands[index + 1].text == "echo $?"
            if command.code != 0 and not asked:
                self.fail(where, f"{command.text!r} ends with {command.code}:\n    " + "\n    ".join(command.output[-12:]))
            new += [("> " if i else "$ ") + part for i, part in enumerate(command.text.split("\n"))]
            if not command.shown:
                continue
            self.counts["outputs"] += 1
            if agree(command.shown, command.output):
                new += command.shown
                continue
            now = filled(command.shown, command.output)
            new += now
            difference = difflib.unified_diff(command.shown, now, "page", "now", n=1, lineterm="")
            self.fail(where, f"{command.text!r} prints something else:\n    " + "\n    ".join(list(difference)[2:30]))
        if new != block.lines:
            replaced.append((block, new))

    def python(self, session, block):
        session.keep("train.py", "\n".join(block.lines) + "\n")
        self.counts["commands"] += 1
        done = subprocess.run([sys.executable, STAND_INS / "python/run_page.py", "train.py"], cwd=session.folder,
                              env=session.environment, capture_output=True, text=True)
        if done.returncode != 0:
            self.fail(block.where, "the program fails:\n    " + done.stderr.replace("\n", "\n    "))

    def accept(self, replaced):
        for block, lines in reversed(replaced):
            self.lines[block.first : block.first + len(block.lines)] = [(block.indent + line).rstrip() for line in lines]
        if replaced:
            self.path.write_text("\n".join(self.lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ridgeline", type=Path)
    parser.add_argument("fabricate", type=Path)
    parser.add_argument("--only", action="append", metavar="PAGE", help="README.md, docs/guide/first-profile.md …")
    parser.add_argument("--accept", action="store_true", help="write the outputs as they are now")
    options = parser.parse_args()
    pages = [Page(path) for path in [ROOT / "README.md", *sorted((ROOT / "docs/guide").glob("*.md"))]]
    if options.only:
        pages = [page for page in pages if page.name in options.only]

    def check(page):
        with tempfile.TemporaryDirectory() as folder:
            replaced = page.check(Path(folder), options.ridgeline.resolve(), options.fabricate.resolve())
        if options.accept:
            page.accept(replaced)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(check, pages))
    for page in pages:
        for failure in page.failures:
            print(failure)
    commands, outputs = (sum(page.counts[what] for page in pages) for what in ("commands", "outputs"))
    failures = sum(len(page.failures) for page in pages)
    print(f"{len(pages)} pages, {commands} commands, {outputs} outputs compared, {failures} failures")
    if failures and not options.accept:
        print("If the outputs are meant: scripts/accept-documents, and read git diff README.md docs/guide")
    return 1 if failures or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
