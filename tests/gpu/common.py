"""What the checks on a GPU machine share: options, running a recording, reading a capture, printing a row a check."""
import argparse
import contextlib
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True


class Checks:
    """Rows of name, pass or FAIL, and what was seen. Each is printed and written to `json_path` as it comes, so that a check that is
    cut off leaves what it has done. `at_end` adds the rows and prints the tables that are made of all cases: finish() calls it, or the
    end by SIGTERM (a time limit), of what there is by then."""

    unfinished = []

    def __init__(self, json_path=None, at_end=None, figures=None):
        self.rows, self.json_path, self.at_end, self.figures = [], json_path, at_end, {} if figures is None else figures
        self.ended, self.writing = False, threading.RLock()
        Checks.unfinished.append(self)
        end_by_sigterm()

    def add(self, name, passed, detail):
        self.rows.append({"check": name, "passed": bool(passed), "detail": detail})
        self.keep()  # first: who reads the line may look for the row
        print(f"{name:<14} {'pass' if passed else 'FAIL'}  {detail}", flush=True)

    def failed(self):
        return [row for row in self.rows if not row["passed"]]

    def keep(self, **more):
        """Writes the rows, and `figures` beside them."""
        with self.writing:  # rows may come from several threads
            self.figures.update(more)
            if self.json_path:
                beside = f"{self.json_path}.tmp"
                with open(beside, "w") as file:
                    json.dump({"rows": self.rows, "complete": self.ended, **self.figures}, file, indent=1)
                os.replace(beside, self.json_path)

    def end(self):
        if self.at_end and not self.ended:
            self.at_end()

    def cut(self):
        """The check is ended before its time: what it has is judged, and written as incomplete."""
        self.end()
        print(f"cut off after {len(self.rows)} rows: what was to come was not run", flush=True)
        self.keep(cut=True)

    def finish(self, **more):
        """Writes the rows, and exits 1 if any failed or there is none."""
        self.end()
        self.ended = True
        self.keep(**more)
        sys.exit(1 if self.failed() or not self.rows else 0)


def options_of(doc, *programs, only=None):
    """The parser of what checkers share: the programs, which are required, --out and --json; with `only`, names of cases, --only."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for program in programs:
        parser.add_argument(f"--{program}", required=True)
    parser.add_argument("--out", default=".", help="folder of what is recorded and measured")
    parser.add_argument("--json", help="file of the rows, written as they come")
    if only:
        parser.add_argument("--only", metavar="NAME,...", help=f"of {', '.join(only)}")
    return parser


def chosen(parser, only, names):
    """Of a checker's cases those that --only names, comma-separated, in the checker's order; all without it."""
    wanted = only.split(",") if only else list(names)
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"--only {unknown[0]}: one of {', '.join(names)}")
    return [name for name in names if name in wanted]


class Run:
    """A program that has ended: exit status (negative: by that signal), wall seconds, output."""

    def __init__(self, status, seconds, out, err):
        self.status, self.seconds, self.out, self.err = status, seconds, out, err

    def said(self):
        """What ridgeline itself had to say on stderr."""
        return [line for line in self.err.splitlines() if re.match(r"ridgeline [a-z]+: ", line)]

    def last_json(self):
        for line in reversed(self.out.splitlines()):
            if line.startswith("{"):
                return json.loads(line)
        return None

    def tail(self):
        lines = [line for line in (self.err or self.out).splitlines() if line.strip()]
        return lines[-1][:200] if lines else "no output"


def kill_all():
    for started in list(Started.running):
        started.kill()


ending = threading.Event()  # set before the programs that run are killed: what becomes of them then says nothing of them


def end_in_order(*_):
    """A check that is ended by SIGTERM (a time limit) leaves no recording behind that holds the counters, and says what it has."""
    ending.set()
    kill_all()
    said = io.StringIO()  # the signal may have come while standard output was written to
    with contextlib.redirect_stdout(said):
        for checks in Checks.unfinished:
            with contextlib.suppress(Exception):
                checks.cut()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os.write(1, said.getvalue().encode())
    os._exit(124)


def end_by_sigterm():
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end_in_order)  # a check may have an end of its own


class Started:
    """A running program in a process group of its own, so that nothing of it outlives the check. It prints into files: into a
    pipe that nobody reads until the end, a program of many lines would stop at the 65536th byte. With `log` that is one file of
    this name, which holds all it has printed so far, whatever becomes of the check."""

    running = set()

    def __init__(self, command, env=None, limits=None, log=None):
        self.begin = time.monotonic()
        self.printed = [open(log, "w+", errors="replace")] if log else [tempfile.TemporaryFile("w+", errors="replace") for _ in range(2)]
        self.process = subprocess.Popen(command, stdout=self.printed[0], stderr=self.printed[-1], env={**os.environ, **(env or {})},
                                        start_new_session=True, preexec_fn=limits)
        Started.running.add(self)
        end_by_sigterm()

    def finish(self, timeout=240, last_words_s=0):
        """Waits for the end, which comes after `timeout` seconds at the latest. With `last_words_s` what the command started is
        told to abort first, and the command has so long for what it makes of that."""
        late = ""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            late = f"ended by the check after {timeout:g} s; last line: {Run(0, 0, *self.texts()).tail()}"
            if last_words_s:
                self.abort(last_words_s)
            self.kill()
            self.process.wait()
            status = 124
        Started.running.discard(self)
        texts = self.texts()
        for file in self.printed:
            file.close()
        return Run(status, time.monotonic() - self.begin, texts[0], texts[1] + ("\n" + late if late else ""))

    def texts(self):
        """Standard output and standard error; with a log, that is both."""
        texts = []
        for file in self.printed:
            file.flush()
            with open(f"/proc/self/fd/{file.fileno()}", errors="replace") as again:  # at an offset of its own: the program's stays
                texts.append(again.read())
        return [texts[0], texts[-1]]

    def abort(self, seconds):
        for pid in children(self.process.pid):
            try:
                os.kill(pid, signal.SIGABRT)
            except ProcessLookupError:
                pass
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass

    def kill(self):
        # torchrun puts its processes into groups of their own.
        for end, pid in [(os.kill, pid) for pid in children(self.process.pid)] + [(os.killpg, self.process.pid)]:
            try:
                end(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def run(command, env=None, timeout=240, limits=None, log=None, last_words_s=0):
    return Started([str(part) for part in command], env, limits, log).finish(timeout, last_words_s)


def children(pid):
    """Processes that `pid` started and theirs, oldest first."""
    found, queue = [], [pid]
    while queue:
        parent = queue.pop(0)
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{parent}/task/{task}/children") as file:
                    mine = [int(word) for word in file.read().split()]
            except OSError:
                continue
            found += mine
            queue += mine
    return found


def open_capture(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    return db


def reason_words(db, reason_id):
    """The collector's own words of a reason, else its code with its values; then what explains it further."""
    if reason_id is None:
        return ""
    code, text = db.execute("SELECT code, text FROM reason WHERE id = ?", (reason_id,)).fetchone()
    values = db.execute("SELECT name, value FROM reason_value WHERE reason_id = ? ORDER BY position", (reason_id,)).fetchall()
    below = db.execute("SELECT id FROM reason WHERE parent_id = ? ORDER BY id", (reason_id,)).fetchall()
    words = text or " ".join([code, *(f"{name}={value}" for name, value in values)])
    return "; ".join([words, *(reason_words(db, row[0]) for row in below)])


class Facts:
    """What a capture says of itself, read with SQL and not through ridgeline."""

    def __init__(self, path):
        db = open_capture(path)
        self.problem = None
        check = db.execute("PRAGMA quick_check").fetchone()[0]
        if check != "ok":
            self.problem = f"SQLite finds it damaged: {check}"
        self.run = dict(db.execute("SELECT * FROM run").fetchone())
        self.steps = {}  # phase -> number of steps that are ok
        for row in db.execute("SELECT phase, count(*) n FROM step WHERE status = 'ok' GROUP BY phase"):
            self.steps[row["phase"]] = row["n"]
        self.sources = {row[0] for row in db.execute("SELECT DISTINCT source FROM step")}
        self.launches = db.execute("SELECT count(*) FROM launch").fetchone()[0]
        self.processes = db.execute("SELECT count(*) FROM process").fetchone()[0]
        self.completeness = [dict(row) for row in db.execute("SELECT * FROM completeness")]
        self.tiers = {}
        # Before schema 9 reasons were sentences, and messages too.
        coded = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'reason'").fetchone()[0] == 1
        why, said = ("reason_id", "reason_id") if coded else ("reason", "text")
        words = (lambda reason: reason_words(db, reason)) if coded else (lambda sentence: sentence or "")
        for row in db.execute(f"SELECT tier, status, {why} FROM tier_status ORDER BY process_id"):
            self.tiers.setdefault(row["tier"], (row["status"], words(row[why])))
        self.messages = [(row["severity"], words(row[said])) for row in db.execute(f"SELECT severity, {said} FROM message")]
        db.close()

    def total(self, column):
        return sum(row[column] for row in self.completeness)

    def complete(self):
        """Every launch that was seen has its record, with a time."""
        return bool(self.completeness) and self.total("launches_seen") == self.total("kernel_records") and not any(
            self.total(c) for c in ("dropped_records", "lost_spool_records", "zero_timestamps", "truncated_bytes"))

    def counts(self):
        text = f"launches {self.total('launches_seen')} seen, {self.total('kernel_records')} recorded"
        if self.total("graph_kernel_records"):
            text += f", {self.total('graph_kernel_records')} in {self.total('graph_launches')} graph launches"
        return text

    def step_text(self):
        order = ("warmup", "timeline", "sample", "replay", "cold", "stalls", "flops", "after")
        return ", ".join(f"{self.steps[p]} {p}" for p in order if p in self.steps) or "no steps"

    def tier_text(self):
        return ", ".join(f"{tier} {status}" for tier, (status, _) in self.tiers.items() if status != "not_requested")


def kernel_base(name):
    """Function name without return type, namespaces and arguments: every tool prints its own form."""
    for unnamed in ("(anonymous namespace)::", "<unnamed>::"):
        name = name.replace(unnamed, "")
    return name.split("<")[0].split("(")[0].replace("void ", "").split("::")[-1].strip()
