"""Decides many changes with one build, for scripts/mutate: each behind a switch (mutation_switches.py).

First the compiler says of each changed source, which it parses and no more, what does not compile with its switches. Then everything is
built once, and the tests are run once with no change on, writing down which changes each of them comes by. After that a change costs only
the tests that come by it, until one fails. What has no switch gets a build of its own.
"""

import hashlib
import json
import os
import re
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutation_rules import applied
from mutation_switches import switched

ROUNDS = 5  # of taking switches out of a source until it compiles


class Compiler:
    """Commands of the build, for one source by itself: several may be compiled as one there."""

    def __init__(self, run, limit_s):
        self.run = run
        self.limit_s = limit_s
        self.commands = {}  # by source: words, folder, what they compile

    def read(self, entries):
        for entry in entries:
            words = shlex.split(entry["command"])
            source = Path(entry["file"])
            sources = [source]
            if source.parent.name == "Unity" and source.is_file():
                sources = [Path(name) for name in re.findall(r'^#include "(.*)"$', source.read_text(), re.MULTILINE)]
            for each in sources:
                self.commands.setdefault(each, (words, entry["directory"], entry["file"]))

    def command(self, path, folders):
        """Words that compile `path`, without what they make; for a header those of a source in the nearest folder above it."""
        found = self.commands.get(path)
        if found is None:
            for folder in [path.parent, *path.parent.parents]:
                if folder not in folders and not any(str(folder).startswith(str(f)) for f in folders):
                    break
                found = next((self.commands[p] for p in sorted(self.commands) if folder in p.parents), None)
                if found:
                    break
        if found is None:
            return None
        words, folder, source = found
        kept, skip = [], False
        for word in words:
            if skip:
                skip = False
            elif word in ("-o", "-MF", "-MT", "-MQ"):
                skip = True
            elif word not in ("-c", "-MD", "-MMD", source):
                kept.append(word)
        return kept, folder

    def says(self, path, folders):
        """None if the text at `path` compiles, else what the compiler says."""
        found = self.command(path, folders)
        if found is None:
            return "no command compiles it"
        words, folder = found
        language = ["-x", "c++"] if path.suffix == ".h" else []
        status, output = self.run([*words, "-fsyntax-only", "-w", *language, str(path)], self.limit_s, folder)
        return None if status == 0 else output

    def object_code(self, path, text, folders, out):
        """Bytes of what a text makes at -O2 in place of `path`; None if it does not compile."""
        found = self.command(path, folders)
        if found is None or path.suffix == ".h":
            return None
        words, folder = found
        beside = path.with_name(f"{path.stem}_as_changed{path.suffix}")
        beside.write_text(text)
        try:
            status, _ = self.run([*words, "-O2", "-g0", "-w", "-c", "-o", str(out), str(beside)], self.limit_s, folder)
            return out.read_bytes() if status == 0 else None
        finally:
            beside.unlink()


class Record:
    """A named pipe to which the processes of a test write the numbers that they come by: a test may limit how large a file gets."""

    def __init__(self, path):
        self.path = path
        self.text = b""

    def __enter__(self):
        self.path.unlink(missing_ok=True)
        os.mkfifo(self.path)
        self.end = os.open(self.path, os.O_RDWR)  # held open for writing as well: the end of one process is not the end of the record
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        return self

    def read(self):
        while not self.text.endswith(b"end\n"):
            self.text += os.read(self.end, 1 << 16)

    def __exit__(self, *_):
        os.write(self.end, b"end\n")
        self.reader.join()
        os.close(self.end)
        self.path.unlink()

    def numbers(self):
        return {int(word) for word in self.text.split() if word != b"end"}


class Together:
    """Changes by their number, which is what a switch is set by."""

    def __init__(self, tree, compiler, folders, jobs, say, kept):
        self.tree = tree
        self.kept = kept  # folder: what was found of a source, for a run that goes on where this one stops
        self.compiler = compiler
        self.folders = folders
        self.jobs = jobs
        self.say = say
        self.texts = {}  # the unchanged ones, by file
        self.switched_texts = {}
        self.numbers = {}  # number by mutant's key
        self.unbuilt = {}  # what the compiler says, by mutant's key
        self.reached = {}  # numbers by program

    def place(self, mutants):
        """Puts every change behind a switch that can be, and finds those that do not compile at all."""
        by_file = {}
        for number, mutant in enumerate(mutants, 1):
            by_file.setdefault(mutant.file, []).append((number, mutant))
        for file in set(self.tree.left_switched) - set(by_file):
            (self.tree.copy / file).write_text((self.tree.root / file).read_text())
        # Headers one after the other: what includes them is compiled with them.
        for file in [f for f in by_file if f.endswith(".h")]:
            self.place_in(file, by_file[file])
        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(lambda f: self.place_in(f, by_file[f]), [f for f in by_file if not f.endswith(".h")]))
        placed = sum(m.key() in self.numbers for m in mutants)
        self.say(f"{len(mutants)} changes of {len(by_file)} sources: {placed} behind switches, {len(self.unbuilt)} do not compile")

    def place_in(self, file, numbered):
        path = self.tree.copy / file
        original = self.texts.setdefault(file, (self.tree.root / file).read_text())
        known = self.kept / (hashlib.sha256(repr((file, original, [(n, m.key()) for n, m in numbered])).encode()).hexdigest() + ".json")
        if known.is_file():
            found = json.loads(known.read_text())
        else:
            found = self.find_places(path, original, numbered)
            self.kept.mkdir(parents=True, exist_ok=True)
            known.write_text(json.dumps(found))
        if path.read_text() != found["text"]:  # untouched, what was built of it stays good
            path.write_text(found["text"])
        if found["numbers"]:
            self.switched_texts[file] = found["text"]
        self.numbers.update(found["numbers"])
        self.unbuilt.update(found["unbuilt"])

    def find_places(self, path, original, numbered):
        """The source with the switches that it compiles with, the numbers of these by key, and what the compiler says of the changes that
        do not compile at all."""
        left, found = list(numbered), {"text": original, "numbers": {}, "unbuilt": {}}
        for _ in range(ROUNDS):
            text, lines = switched(original, left)
            if not lines:
                break
            path.write_text(text)
            said = self.compiler.says(path, self.folders)
            if said is None:
                found["text"] = text
                found["numbers"] = {mutant.key(): number for number, mutant in left if number in lines}
                break
            wrong = {int(n) for n in re.findall(rf"{re.escape(path.name)}:(\d+):", said)}
            kept = [(number, mutant) for number, mutant in left if number in lines and not wrong & set(lines[number])]
            left = kept if len(kept) < len(lines) else []
        for _, mutant in numbered:
            if mutant.key() not in found["numbers"]:
                found["unbuilt"].update(self.does_not_compile(mutant, path, original))
        return found

    def does_not_compile(self, mutant, path, original):
        changed = applied(original, mutant)
        if changed is None:
            return {mutant.key(): "the line is not what it was"}
        path.write_text(changed)
        said = self.compiler.says(path, self.folders)
        if said is None:
            return {}
        return {mutant.key(): next((line for line in said.split("\n") if "error" in line), "")[:200]}

    def restore(self):
        for file, text in self.texts.items():
            (self.tree.copy / file).write_text(text)

    def trace(self, programs, test, folder):
        """Runs each program with no change on; `test` says whether it passes, and raises what ends the run if it is told to.

        A test that counts the program's own system calls fails where the switches make some: it is asked about no change.
        """
        def one(program):
            with Record(folder / f"reached-{threading.get_ident()}") as record:
                passed = test(program, {"MUTANTS_REACHED": str(record.path)}, needed=False)
            if not passed:
                test(program, {}, needed=True)
                self.say(f"{program.name} passes, but not with the switches' record: it is asked about no change")
            return record.numbers() if passed else set()

        # Documents take longest: nobody waits for one at the end.
        longest_first = sorted(programs, key=lambda program: not program.name.startswith("golden."))
        with ThreadPoolExecutor(self.jobs) as pool:
            for program, numbers in zip(longest_first, pool.map(one, longest_first)):
                self.reached[id(program)] = numbers

    def notice(self, mutant, programs, test):
        """What notices a change that has a switch, or None, and how many of the programs come by it."""
        number = self.numbers[mutant.key()]
        coming_by = [p for p in programs if number in self.reached[id(p)]]
        for program in sorted(coming_by, key=lambda p: p.rank(mutant.file)):
            status, failed = test(program, {"MUTANT_ON": str(number)})
            if status != 0:
                program.kills[mutant.file] += 1
                what = failed[0] if failed else "never ends" if status == 124 else "ends early"
                return f"{program.name}: {what}", len(coming_by)
        return None, len(coming_by)

    def same_code(self, mutant, out):
        """True if the unchanged source and the changed one make the same object code at -O2."""
        path = self.tree.copy / mutant.file
        original = self.texts[mutant.file]
        before = self.compiler.object_code(path, original, self.folders, out)
        return before is not None and before == self.compiler.object_code(path, applied(original, mutant), self.folders, out)
