#!/usr/bin/env python3
"""Ends `ridgeline history` at its writes and looks at what is left.

Each verb that writes (the first add, an add to a file that is there, one that converts an older file, accept, merge) is
run once to count the calls that change the history's files, then once for each of them and each way to fail: killed before
the call, killed when half of a write is done, the disk full from there on. Afterwards the history must hold all of what
the verb was to do or nothing of it, and everything that was there before; show must read it, SQLite must find it whole,
the verb must do its work when it is run again, and no other file may be left. Then many first adds at once.
"""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

WAYS = ("kill", "torn", "full")
# The tables of version 1, as it wrote them.
VERSION_1 = pathlib.Path(__file__).with_name("history_v1.sql")


class Failed(Exception):
    pass


class Trial:
    """Files of one experiment, and the program run among them."""

    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = pathlib.Path(directory)
        self.captures = []

    def fabricate(self, count):
        for i in range(count):
            capture = self.directory / f"c{i}.ridge"
            subprocess.run([self.arguments.fabricate, capture, f"run={i + 1}", f"start={3600 * i}", f"commit={i:040x}"],
                           check=True, stdout=subprocess.DEVNULL)
            self.captures.append(str(capture))

    def run(self, words, fail_at=0, how="count"):
        environment = dict(os.environ, LD_PRELOAD=self.arguments.shim, RIDGELINE_FAIL_PATH="h.db", RIDGELINE_FAIL_AT=str(fail_at),
                           RIDGELINE_FAIL_HOW=how, RIDGELINE_FAIL_COUNT=str(self.directory / "calls"))
        options = environment.get("ASAN_OPTIONS")
        environment["ASAN_OPTIONS"] = (options + ":" if options else "") + "verify_asan_link_order=0"
        return subprocess.run([self.arguments.program, "history", *words], cwd=self.directory, env=environment,
                              capture_output=True, text=True, timeout=120)

    def calls(self):
        return int((self.directory / "calls").read_text())

    def clear(self):
        for path in self.directory.glob("h.db*"):
            path.unlink()

    def starts(self):
        """Of the runs that `show` knows."""
        if not (self.directory / "h.db").exists():
            return []
        shown = self.run(["show", "h.db", "--format", "json"])
        if shown.returncode == 3 and ("no run in it" in shown.stderr or "nothing was added" in shown.stderr):
            return []
        if shown.returncode != 0:
            raise Failed(f"show ended with {shown.returncode}: {shown.stderr}")
        series = json.loads(shown.stdout)["series"]
        return sorted(value["start_ns"] for one in series if one["name"] == "step" for value in one["values"])

    def rows(self):
        """Every table, read by SQLite itself."""
        path = self.directory / "h.db"
        if not path.exists():
            return {}
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            found = [row[0] for row in database.execute("PRAGMA integrity_check")]
            if found != ["ok"]:
                raise Failed(f"integrity_check: {found}")
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
            return {table: sorted(map(repr, database.execute(f"SELECT * FROM {table}"))) for table in tables}

    def leftovers(self):
        return sorted(path.name for path in self.directory.glob("h.db*") if path.name not in ("h.db",))


def prepare_nothing(trial):
    trial.clear()


def prepare_three(trial):
    trial.clear()
    done = trial.run(["add", "h.db", *trial.captures[:3]])
    if done.returncode != 0:
        raise Failed(done.stderr)


def prepare_version_1(trial):
    trial.clear()
    with sqlite3.connect(trial.directory / "h.db") as database:
        database.executescript(VERSION_1.read_text())
        for i in range(3):
            database.execute("INSERT INTO run VALUES (?, ?, 'box', 'NVIDIA H200', 'GPU-1', '580', '13.0', '', './train', ?, 0)",
                             (i + 1, 1_600_000_000_000_000_000 + i, f"{i:040x}"))
        database.execute("INSERT INTO series VALUES (1, 'step')")
        database.executemany("INSERT INTO value VALUES (?, 1, ?)", [(1, 5e7), (2, 5.1e7), (3, 5e7)])
        database.execute("INSERT INTO accepted VALUES (?, '', 'meant')", (f"{1:040x}",))


def prepare_merge(trial):
    prepare_three(trial)
    other = trial.directory / "other.db"
    other.unlink(missing_ok=True)
    if trial.run(["add", "other.db", *trial.captures[2:]]).returncode != 0:
        raise Failed("other.db was not made")


def cases(trial):
    new = trial.captures[3:]
    return {
        "first add": (prepare_nothing, ["add", "h.db", *trial.captures[:2]]),
        "add": (prepare_three, ["add", "h.db", *new]),
        "add to version 1": (prepare_version_1, ["add", "h.db", *new]),
        "accept": (prepare_three, ["accept", "h.db", "--commit", f"{1:040x}", "--reason", "meant"]),
        "merge": (prepare_merge, ["merge", "h.db", "other.db"]),
    }


def one(trial, prepare, words, call, how, before, after):
    """Fails at one call, and holds what is left against what was there and what was to be."""
    prepare(trial)
    ended = trial.run(words, call, how)
    if how in ("kill", "torn") and ended.returncode >= 0:
        raise Failed(f"was not killed: {ended.returncode} {ended.stderr}")
    if how == "full" and ended.returncode not in (0, 4):
        raise Failed(f"a full disk ended it with {ended.returncode}: {ended.stderr}")
    starts = trial.starts()
    if starts not in (before[0], after[0]):
        raise Failed(f"{len(starts)} runs are left, neither the {len(before[0])} before nor the {len(after[0])} after")
    rows = trial.rows()
    if rows not in (before[1], after[1]) and rows and any(rows.values()):
        raise Failed("what is left is neither what was there nor what was to be")
    again = trial.run(words)
    if again.returncode != 0:
        raise Failed(f"run again it ended with {again.returncode}: {again.stderr}")
    if trial.starts() != after[0] or trial.rows() != after[1]:
        raise Failed("run again it has not done its work")
    if trial.leftovers():
        raise Failed(f"left behind: {trial.leftovers()}")


def at_once(trial, writers):
    """First adds at once, each of one capture; a capture of each must be there."""
    trial.clear()
    commands = [[trial.arguments.program, "history", "add", "h.db", trial.captures[i % len(trial.captures)]] for i in range(writers)]
    started = [subprocess.Popen(command, cwd=trial.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for command in commands]
    for process in started:
        error = process.communicate(timeout=120)[1]
        if process.returncode != 0:
            raise Failed(f"one of {writers} adds at once ended with {process.returncode}: {error}")
    expected = min(writers, len(trial.captures))
    if len(trial.starts()) != expected:
        raise Failed(f"{len(trial.starts())} of {expected} runs are kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--fabricate", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--runs", type=int, default=0, help="at most so many, spread over all (default: every call, every way)")
    arguments = parser.parse_args()
    for name in ("program", "fabricate", "shim"):
        setattr(arguments, name, os.path.abspath(getattr(arguments, name)))
    failures = []
    with tempfile.TemporaryDirectory(prefix="ridgeline-power-fail-") as directory:
        trial = Trial(arguments, directory)
        trial.fabricate(5)
        plan = []
        expected = {}
        for name, (prepare, words) in cases(trial).items():
            prepare(trial)
            rows = trial.rows()
            before = (trial.starts(), rows)
            prepare(trial)  # show may have recovered or converted nothing, but who knows
            done = trial.run(words)
            if done.returncode != 0:
                sys.exit(f"{name}: {done.stderr}")
            calls = trial.calls()
            expected[name] = (before, (trial.starts(), trial.rows()), calls)
            plan += [(name, call, how) for call in range(1, calls + 1) for how in WAYS]
        if arguments.runs and arguments.runs < len(plan):
            plan = [plan[i * len(plan) // arguments.runs] for i in range(arguments.runs)]
        for name, call, how in plan:
            prepare, words = cases(trial)[name]
            before, after, calls = expected[name]
            try:
                one(trial, prepare, words, call, how, before, after)
            except Failed as problem:
                failures.append(f"{name}, {how} at call {call} of {calls}: {problem}")
        rounds = max(1, len(plan) // 50)
        for _ in range(rounds):
            try:
                at_once(trial, 8)
            except Failed as problem:
                failures.append(f"at once: {problem}")
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory, exist_ok=True)
    for name, (_, _, calls) in expected.items():
        print(f"{name}: {calls} calls")
    print(f"{len(plan)} failures in writing and {rounds} times 8 adds at once: {len(failures)} wrong")
    for failure in failures[:20]:
        print("  " + failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
