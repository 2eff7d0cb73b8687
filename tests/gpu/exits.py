#!/usr/bin/env python3
"""A recorded program ends as it would alone, whenever and however it ends.

usage: exits.py --ridgeline RIDGELINE --exiter EXITER [--out DIR] [--json FILE] [--lanes N] [--step MS] [--from MS] [--until MS]
                [--no-python] [KIND...]

Every run records one program that ends at a chosen moment between 0 and 3 s after its first kernel, in which the agent sets up
sampling and replay, samples, replays and decodes. A run is wrong if
- the exit status is not the program's own (an abort that is not its own, above all). A program whose threads launch while it
  ends crashes now and then when it is not recorded, too: its kind runs alone as often, and may crash then,
- the program takes more than a second longer to end than the same program alone (from the note it writes to the launcher's
  end of the run),
- the capture cannot be ranked, or, where the program ended in order, a launch that was seen has no record.
The first kind runs alone on the GPU, so that every phase gets the counters, every 50 ms; the others in several lanes at once.
"""
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from common import Checks, Facts, end_in_order, open_capture, options_of, run

STATUS = 7  # the exiter's own
HANG_S = 1.0
PYTHON = {
    # What a newcomer tries first, and the same with the compiler's threads under way; `%d` milliseconds before the end.
    "python": "import torch, time\na = torch.randn(4096, 4096, device='cuda')\nfor _ in range(300): b = a @ a\n"
              "torch.cuda.synchronize()\ntime.sleep(%d / 1000)\n",
    "python-exit": "import torch, time, os\na = torch.randn(4096, 4096, device='cuda')\nfor _ in range(300): b = a @ a\n"
                   "torch.cuda.synchronize()\ntime.sleep(%d / 1000)\nos._exit(0)\n",
    "python-jit": "import torch, time\nf = torch.compile(lambda x: (x * 2 + 1).relu().sum())\na = torch.randn(1 << 20, device='cuda')\n"
                  "f(a)\ntorch.cuda.synchronize()\ntime.sleep(%d / 1000)\n",
}


class Kind:
    def __init__(self, arguments, status=STATUS, orderly=True, crashes=False):
        self.arguments, self.status, self.orderly = arguments, status, orderly
        self.crashes = crashes  # by itself, too

    def statuses(self):
        return {self.status, 128 + signal.SIGSEGV} if self.crashes else {self.status}


KINDS = {
    "return": Kind(["--how", "return"]),
    "exit": Kind(["--how", "exit"]),
    "exit-thread": Kind(["--how", "exit-thread"]),
    "_exit": Kind(["--how", "_exit"], orderly=False),
    "quick_exit": Kind(["--how", "quick_exit"]),
    "abort": Kind(["--how", "abort"], 128 + 6, orderly=False),
    "throw": Kind(["--how", "throw"], 128 + 6, orderly=False),
    "sigterm": Kind(["--how", "sigterm"], 128 + 15, orderly=False),
    "reset": Kind(["--how", "reset"]),
    "pthread_exit": Kind(["--how", "pthread_exit"]),
    "launching": Kind(["--how", "exit", "--launching", "2"], orderly=False, crashes=True),
    "elsewhere": Kind(["--how", "return", "--elsewhere"], orderly=False, crashes=True),
}


class Exits:
    def __init__(self, options):
        self.o, self.alone_s, self.crashes = options, {}, {}

    def note_s(self, path):
        try:
            with open(path) as file:
                return int(file.read()) / 1e9
        except (OSError, ValueError):
            return None

    def exiter(self, kind, after_ms, note):
        return [self.o.exiter, *KINDS[kind].arguments, "--after", str(after_ms), "--note", note]

    def time_alone(self, kind):
        """Unrecorded, four times or forty: the most seconds from the note to the end, and how often with which status."""
        note, longest, statuses = os.path.join(self.o.out, f"exit-{kind}-alone.note"), 0, {}
        for after_ms in range(0, 800, 20) if KINDS[kind].crashes else (0, 100, 300, 600):
            done = run(self.exiter(kind, after_ms, note), timeout=60)
            longest = max(longest, time.time() - (self.note_s(note) or time.time()))
            status = done.status if done.status >= 0 else 128 - done.status
            statuses[status] = statuses.get(status, 0) + 1
        return longest, statuses

    def one(self, kind, after_ms):
        """Records it once; what is wrong, and how long the end took."""
        stem = os.path.join(self.o.out, f"exit-{kind}-{after_ms}")
        capture, note = stem + ".ridge", stem + ".note"
        done = run([self.o.ridgeline, "record", *self.o.record_options, "--force", "-o", capture, "--", *self.exiter(kind, after_ms, note)],
                   timeout=60)
        wrong, took = self.judge(kind, capture, done, KINDS[kind].statuses(), KINDS[kind].orderly)
        began = self.note_s(note)
        if began is None:
            wrong.append("the program did not reach its end")
        elif os.path.exists(capture):
            db = open_capture(capture)
            end_ns = db.execute("SELECT end_ns FROM run").fetchone()[0]
            db.close()
            took = (end_ns or 0) / 1e9 - began - self.alone_s[kind]
            if took > HANG_S:
                wrong.append(f"the end took {took:.2f} s longer than alone")
        return self.tidy(stem, wrong), took

    def judge(self, kind, capture, done, statuses, orderly):
        wrong = []
        if done.status not in statuses:
            wrong.append(f"exit {done.status}, not {' or '.join(map(str, sorted(statuses)))}: {done.tail()}")
        if done.status == 128 + signal.SIGSEGV:
            self.crashes[kind] = self.crashes.get(kind, 0) + 1
        if not os.path.exists(capture):
            return [*wrong, "no capture"], 0
        facts = Facts(capture)
        if orderly and not facts.complete():
            wrong.append(f"records are missing: {facts.completeness}")
        rank = run([self.o.ridgeline, "rank", capture], timeout=60)
        if orderly and rank.status != 0:
            wrong.append(f"rank exits {rank.status}: {rank.tail()}")
        return wrong, 0

    def tidy(self, stem, wrong):
        if not wrong:
            for ending in (".ridge", ".note"):
                if os.path.exists(stem + ending):
                    os.remove(stem + ending)
        return wrong

    def python(self, name, sleep_ms):
        stem = os.path.join(self.o.out, f"exit-{name}-{sleep_ms}")
        done = run([self.o.ridgeline, "record", *self.o.record_options, "--force", "-o", stem + ".ridge", "--", sys.executable, "-c",
                    PYTHON[name] % sleep_ms], timeout=120)
        wrong, _ = self.judge(name, stem + ".ridge", done, {0}, name != "python-exit")
        return self.tidy(stem, wrong), 0


def main(argv=None):
    parser = options_of(__doc__, "ridgeline", "exiter")
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--step", type=int, default=50, help="ms between the moments of the first kind")
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--until", type=int, default=3000)
    parser.add_argument("--no-python", action="store_true")
    parser.add_argument("--record-option", action="append", default=[], dest="record_options")
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    options = parser.parse_args(argv)
    options.ridgeline, options.exiter = os.path.abspath(options.ridgeline), os.path.abspath(options.exiter)
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown:
        parser.error(f"unknown kind {unknown[0]}: one of {', '.join(KINDS)}")
    os.makedirs(options.out, exist_ok=True)
    signal.signal(signal.SIGTERM, end_in_order)  # Started would, but not on the lanes' threads
    exits, raw, begin = Exits(options), [], time.monotonic()
    checks = Checks(options.json, figures={"kinds": raw})
    kinds = options.kinds or list(KINDS)
    with ThreadPoolExecutor(options.lanes) as pool:
        alone = dict(zip(kinds, pool.map(exits.time_alone, kinds)))
    alone_text = {}
    exits.alone_s = {kind: seconds for kind, (seconds, _) in alone.items()}
    for kind, (_, statuses) in alone.items():
        if KINDS[kind].crashes:
            alone_text[kind] = f"; of {sum(statuses.values())} runs alone {statuses.get(128 + signal.SIGSEGV, 0)} crashed"
        elif set(statuses) != {KINDS[kind].status}:
            checks.add(f"{kind} alone", False, f"ends with {sorted(statuses)} when it is not recorded: the check of its end says nothing")

    def report(name, moments, results):
        bad = [(moment, wrong) for moment, (wrong, _) in zip(moments, results) if wrong]
        longest = max((took for _, took in results), default=0)
        raw.append({"kind": name, "moments_ms": list(moments), "seconds_longer": [round(t, 3) for _, t in results],
                    "wrong": {str(m): w for m, w in bad}})
        detail = f"{len(results)} runs, {len(bad)} wrong; the end took at most {longest:.2f} s longer than alone"
        if name in KINDS and KINDS[name].crashes:
            detail += f"; {exits.crashes.get(name, 0)} crashed{alone_text[name]}"
        if bad:
            detail += f" -- WRONG: after {bad[0][0]} ms: " + "; ".join(bad[0][1])[:300]
        checks.add(name, not bad, detail)

    first, *others = kinds
    moments = range(options.first, options.until + 1, options.step)
    report(first, moments, [exits.one(first, moment) for moment in moments])
    coarse = range(options.first, options.until + 1, 3 * options.step)
    with ThreadPoolExecutor(options.lanes) as pool:
        pending = {kind: [pool.submit(exits.one, kind, moment) for moment in coarse] for kind in others}
        for kind, futures in pending.items():
            report(kind, coarse, [future.result() for future in futures])
        if not options.no_python:
            sleeps = (0, 50, 150, 300, 600)
            pending = {name: [pool.submit(exits.python, name, s) for s in sleeps] for name in PYTHON}
            for name, futures in pending.items():
                report(name, sleeps, [future.result() for future in futures])
    runs = sum(len(r["moments_ms"]) for r in raw)
    checks.add("all", not checks.failed(), f"{runs} runs in {time.monotonic() - begin:.0f} s")
    checks.finish(alone_seconds=exits.alone_s)


if __name__ == "__main__":
    main()
