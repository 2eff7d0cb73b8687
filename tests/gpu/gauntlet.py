#!/usr/bin/env python3
"""What a program does while its kernels are counted ends as it does alone: same output, same exit status.

usage: gauntlet.py --ridgeline RIDGELINE --gauntlet AGENT_GAUNTLET [--out DIR] [--json FILE] [--runs N] [--seconds S] [--seed N]
                   [--lanes N] [--at-once N] [--no-python] [--stalls] [--later] [KIND...]
       gauntlet.py --add FILE... [--runs N] [--json FILE]

Every run records one program with a schedule drawn at random, so that counters come on and go off at other moments each time:
with steps that NVTX marks or that are found by their period, with or without samples, now and then with cold caches, stall reasons
or a recording that begins later. A run is wrong if what the program prints, or its exit status, is not what it is alone, if
it takes 30 s longer than alone and twice as long, before it and, in a turn of its own, just after it, or if the records of many kernels are of
one call that launches one. What is drawn depends on --seed and on the run's number alone. The runs go on until --runs (500) are made
or --seconds (480) have passed. A row a kind says how many runs there were, how many were wrong, and how many replay steps gave
counters, so that a gauntlet in which nothing was counted shows. What a wrong run printed and its capture stay in DIR.

Every GPU has --lanes runs at once (half as many as there are cores a GPU, 12 at most), but its counters serve one process at a
time, so that the programs take turns: one that has loaded its libraries waits for the device until the one before is done with it (turns.py).
With --at-once N the device has N of them at a time, whose agents take turns with the counters themselves; fewer of their steps are counted.
The seconds of a run's parts are in the JSON: until it wanted the device, waiting for it, its turn, and what came after.

Results are compared to the bit, but where a compiler chose among algorithms by their time (`close`). A kind whose results differ alone, too,
says nothing and fails. --stalls has stall reasons sampled in every run and --later has every recording begin later, to look for what goes wrong beside
that alone. --add adds up what several calls wrote with --json, of other seeds, and judges all of it.
"""
import json
import os
import random
import shutil
import signal
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import collectives
from common import Checks, end_in_order, ending, open_capture, options_of, run
from turns import Turn

STATUS = 7
HANG_S = 30
LONGEST_ALONE_S = 300  # beside a dozen others: where each makes contexts, one takes seconds
NOT_RECORDED = 3  # ridgeline's own exit status
KINDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")
ENVIRONMENT = {"PYTHONPATH": KINDS, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}
CACHES = ("JAX_COMPILATION_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR")
FRESH = 0.25  # of the runs of a kind that compiles find nothing compiled
# Of a program whose steps are searched for, or whose recording begins later: a step takes some 0.1 ms, and the search wants 0.12 s of evidence, then
# the schedule's steps of a millisecond each. Each of those named takes long, the more so where several processes map memory at once.
LONG_STEPS = {"context": 15, "library": 400, "host-waits-long": 600, "graph-memory": 1000, "pool": 1000, "pool-own": 1000, "all": 600}
# Of a program whose steps are marked, instead of 60: where each step makes a context, their number is what the run takes, and a short schedule has
# 33 at most.
SLOW_STEPS = {"context": 40}
MANY_STEPS = 6000
MANY_KERNELS = 20  # of a call, in the records: no call that launches kernels without a graph launches as many
PYTHON_A_ROUND = 6  # beside one run of each case in C++; they take three times as long


class Kind:
    """A program and what became of its runs. `marks`: it is one of agent_gauntlet's cases. `compiles`: into caches on the disk.
    `close`: how much its results may differ, relative, when something was compiled anew. `later`: every recording begins after so many ms."""

    def __init__(self, name, command, status=0, marks=False, compiles=False, close=0.0, later=None):
        self.name, self.command, self.status, self.marks, self.compiles, self.close = name, command, status, marks, compiles, close
        self.later = later
        self.alone, self.lock = {}, threading.Lock()  # by arguments: exit status, results, seconds
        self.unsteady = ""
        self.runs = self.wrong = self.counted = self.given_up = 0
        self.why = ""
        self.parts_s = []  # of each run, as turns.py has them
        self.took_s = []  # of each run, recorded and alone

    def document(self):
        return {"kind": self.name, "runs": self.runs, "wrong": self.wrong, "counted": self.counted, "given_up": self.given_up,
                "why": self.why, "unsteady": self.unsteady, "parts_s": self.parts_s, "took_s": self.took_s}


def python_kinds():
    kinds = []

    def add(name, file, *arguments, **more):
        kinds.append(Kind(name, [sys.executable, os.path.join(KINDS, file), *arguments], **more))

    add("torch-eager", "torch_graphs.py", "1500", "eager")
    add("torch-graphs", "torch_graphs.py", "1500", "graphs")
    add("torch-workers", "torch_graphs.py", "1500", "workers")
    add("torch-compiled", "torch_exact.py", "1500", "compiled", compiles=True)
    add("torch-recompile", "torch_exact.py", "1500", "recompile", compiles=True)
    add("torch-reduce-overhead", "torch_exact.py", "1500", "reduce-overhead", compiles=True)
    add("jax-scan", "jax_scan.py", "150", compiles=True, close=0.02)
    for mode in ("while", "cond", "donated", "shapes"):
        add(f"jax-{mode}", "jax_shapes.py", "3000", mode, compiles=True)
    add("triton-tuning", "triton_tuning.py", "2000", compiles=True)
    add("cupy", "cupy_solver.py", "600")
    add("torch-waits", "torch_waits.py", "1200", later=(800, 2500))  # outside a window callbacks are off from half a second on
    return kinds


def kinds_of(options):
    cases = run([options.gauntlet, "--list"], timeout=60).out.split()
    kinds = [Kind(name, [options.gauntlet, "--case", name], STATUS, marks=True) for name in ["all", *cases]]
    kinds += [] if options.no_python else python_kinds()
    return [kind for kind in kinds if not options.kind or kind.name in options.kind]


def result_of(text):
    """What a program computed, without what it says of its speed."""
    return [line for line in text.splitlines() if line.startswith(("hash", "result", "loss"))]


def agree(expected, found, close):
    """The same lines; with `close`, numbers that differ by no more than that."""
    if expected == found or not close:
        return expected == found
    words = [[word for line in lines for word in line.split()] for lines in (expected, found)]
    if len(words[0]) != len(words[1]):
        return False
    for a, b in zip(*words):
        try:
            x, y = float.fromhex(a), float.fromhex(b)
        except ValueError:
            if a != b:
                return False
            continue
        if not abs(x - y) <= close * abs(x):
            return False
    return True


def drawn(kind, seed, number, stalls=False, begins_later=False):
    """Arguments of the program, of the recording, and whether nothing is compiled yet. `stalls`: sampled, `begins_later`: begun later, whatever
    is drawn."""
    random_ = random.Random(f"{seed}-{number}")
    arguments, options = [], []
    # From 20 timeline steps on some run without being recorded, from 72 on more in a row.
    timeline = random_.randrange(20, 41) if random_.random() < 0.4 else random_.randrange(3, 9)
    if kind.name in SLOW_STEPS:  # a hundred of them take minutes beside a dozen other programs
        timeline = min(timeline, 8)
    if timeline >= 20 and kind.name not in LONG_STEPS and random_.random() < 0.3:
        timeline = random_.randrange(72, 121)
    parts = [f"warmup={random_.randrange(1, 12)}", f"timeline={timeline}"]
    if random_.random() < 0.6:
        parts.append(f"sample={random_.randrange(1, 5)}")
    parts.append(f"replay={random_.randrange(2, 9)}")
    if random_.random() < 0.15:
        parts.append("cold=2")
    if random_.random() < 0.1 or stalls:
        parts.append("stalls=2")
    later = random_.random() < 0.2 or begins_later or kind.later is not None
    if kind.marks:
        many = str(LONG_STEPS.get(kind.name, MANY_STEPS))
        if random_.random() < 0.3:
            arguments = ["--unmarked", "--steps", many]
        else:
            arguments = ["--steps", many if later else str(SLOW_STEPS.get(kind.name, 60)) if timeline < 20 else "110" if timeline < 72 else "330"]
        if kind.name == "all":
            arguments += ["--seed", str(random_.randrange(1, 6))]
    if later:
        options += ["--after", f"{random_.randrange(*kind.later or (1, 400 if kind.marks else 6000))}ms"]
    if random_.random() < 0.9:  # the others have the default, which is what a run may take of its turn
        options += ["--budget", random_.choice(("1.5", "2", "3"))]
    fresh = kind.compiles and random_.random() < FRESH
    return arguments, ["--schedule", ",".join(parts), *options], fresh


def order_of(kinds, seed, runs):
    """Which kind each run is of: rounds of all cases in C++ and some of the programs in Python, shuffled."""
    random_ = random.Random(seed)
    cases, python = [k for k in kinds if k.marks], [k for k in kinds if not k.marks]
    order, turn = [], random_.randrange(len(python)) if python else 0
    while len(order) < runs:
        batch = list(cases)
        for _ in range(min(PYTHON_A_ROUND if cases else len(python), len(python))):
            batch.append(python[turn % len(python)])
            turn += 1
        random_.shuffle(batch)
        order += batch
    return order[:runs]


class Gauntlet:
    def __init__(self, options, kinds):
        self.o, self.kinds = options, kinds
        self.end = time.monotonic() + options.seconds
        self.order = list(enumerate(order_of(kinds, options.seed, options.runs)))[::-1]
        self.lock = threading.Lock()

    def environment(self, kind, uuid, caches):
        visible = {"CUDA_VISIBLE_DEVICES": uuid} if uuid else {}
        return {**ENVIRONMENT, **visible, **{name: os.path.join(caches, name.lower()) for name in CACHES}} if not kind.marks else visible

    def lane(self, uuid, turn):
        while time.monotonic() < self.end:
            with self.lock:
                if not self.order:
                    return
                number, kind = self.order.pop()
            if kind.unsteady:
                continue
            try:
                self.one(kind, number, uuid, turn)
            except Exception as error:  # a check that dies is a run that went wrong
                self.note(kind, number, f"the check itself failed: {type(error).__name__}: {error}", (0, 0))

    def alone(self, kind, arguments, uuid):
        """Exit status, results and seconds of the program alone; it runs once."""
        key = tuple(arguments)
        with kind.lock:
            if key not in kind.alone:
                done = self.run_alone(kind, arguments, uuid)
                kind.alone[key] = (done.status, result_of(done.out), done.seconds)
                if done.status != kind.status or not result_of(done.out):
                    kind.unsteady = f"alone it exits {done.status} with {result_of(done.out)}: {done.tail()}"
        return kind.alone[key]

    def run_alone(self, kind, arguments, uuid):
        return run([*kind.command, *arguments], timeout=LONGEST_ALONE_S, env=self.environment(kind, uuid, os.path.join(self.o.out, "caches")))

    def one(self, kind, number, uuid, turn):
        arguments, recording, fresh = drawn(kind, self.o.seed, number, self.o.stalls, self.o.later)
        status, expected, alone_s = self.alone(kind, arguments, uuid)
        if kind.unsteady:
            return
        stem = os.path.join(self.o.out, f"gauntlet-{kind.name}-{self.o.seed}-{number}")
        caches = stem + "-caches" if fresh else os.path.join(self.o.out, "caches")
        command = [self.o.ridgeline, "record", "-q", "-f", "-o", stem + ".ridge", *recording, "--", *kind.command, *arguments]
        # A case waits with its context, from which --after counts; the programs in Python wait before they have one.
        made = turn.run(command, self.environment(kind, uuid, caches), alone_s + 2 * max(HANG_S, alone_s), stem, waits=not (kind.marks and "--after" in recording))
        shutil.rmtree(stem + "-caches", ignore_errors=True)
        why = ""
        if takes_long(made.seconds, alone_s):  # or is it the machine that is slow by now, or what else is on the device?
            with turn.lock:
                alone_s = max(alone_s, self.run_alone(kind, arguments, uuid).seconds)
        if takes_long(made.seconds, alone_s):
            why = f"took {made.seconds:.0f} s instead of {alone_s:.1f}{where_it_went(stem + '.ridge')}"
        elif nothing_recorded(made, status) and agree(expected, result_of(made.out), 0):
            pass  # it ended, as it does alone, before its recording window opened
        elif made.status != status:
            why = f"exit status {made.status} instead of {status}: {made.tail()}"
        elif not agree(expected, result_of(made.out), kind.close if fresh else 0):
            again = [result_of(self.run_alone(kind, arguments, uuid).out) for _ in range(2)]
            if any(other != expected for other in again):
                kind.unsteady = f"alone it gives {expected} and {again}"
                return
            why = f"{result_of(made.out)} instead of {expected}"
        why = why or records_wrong(stem + ".ridge")
        kind.parts_s.append([round(part, 2) for part in made.parts_s])
        kind.took_s.append([round(made.seconds, 2), round(alone_s, 2)])
        self.note(kind, number, why, counted_steps(stem + ".ridge"), made.seconds)
        if why:
            with open(stem + ".log", "w") as log:
                log.write(f"{' '.join(command)}\n{why}\n{made.out[-4000:]}\n{made.err[-4000:]}\n")
        elif os.path.exists(stem + ".ridge"):
            os.remove(stem + ".ridge")

    def note(self, kind, number, why, steps, seconds=0.0):
        if ending.is_set():  # by the check's own limit
            return
        with self.lock:
            kind.runs += 1
            kind.wrong += bool(why)
            kind.why = kind.why or (f"run {number}: {why}" if why else "")
            kind.counted += steps[0]
            kind.given_up += steps[1]
            print(f"{kind.name} run {number}: {seconds:.1f} s, {steps[0]} steps counted, {steps[1]} not" + (f": WRONG: {why}" if why else ""),
                  file=sys.stderr, flush=True)
            if self.o.json:  # what is known so far, should the check be ended
                with open(self.o.json, "w") as file:
                    json.dump({"rows": [], "kinds": [k.document() for k in self.kinds]}, file, indent=1)


def takes_long(seconds, alone_s):
    """On a host whose lanes are all busy what takes a minute varies by half of it, alone too."""
    return seconds > alone_s + max(HANG_S, alone_s)


def nothing_recorded(made, status):
    """True if the program came to its own end, with the exit status that it has alone, before there was anything to record. Ridgeline names
    an exit status that is not 0."""
    return (made.status == NOT_RECORDED and (status == 0 or f"(exit status {status})" in made.err)
            and any(said in made.err for said in ("no recording window was open", "ran no kernel", "ended before")))


def records_wrong(capture):
    """What the capture's records contradict: each is of the call that launched it."""
    try:
        with open_capture(capture) as db:
            most = db.execute("SELECT coalesce(max(n), 0) FROM (SELECT count(*) n FROM v_launch WHERE graph_id IS NULL AND correlation_id > 0 "
                              "GROUP BY process_id, correlation_id)").fetchone()[0]
            return f"{most} kernels in no graph are of one call" if most > MANY_KERNELS else ""
    except Exception:  # no capture: the run is judged by what the program did
        return ""


def where_it_went(capture):
    """Of a run that took too long: the seconds between its first step and its last, and those of each phase, as its capture has them. What is
    missing lies outside of the recording: before it, behind it, or where nothing was recorded."""
    try:
        with open_capture(capture) as db:
            first, last = db.execute("SELECT min(host_start_ns), max(host_end_ns) FROM step").fetchone()
            phases = db.execute("SELECT phase, total(host_end_ns - host_start_ns) FROM step GROUP BY phase ORDER BY min(host_start_ns)").fetchall()
            return f", {1e-9 * (last - first):.1f} s from its first recorded step to its last: " + ", ".join(f"{phase} {1e-9 * ns:.1f}" for phase, ns in phases)
    except Exception:  # no capture, or one without steps
        return ""


def counted_steps(capture):
    """Steps that were to be counted: those with values of counters, those without."""
    try:
        with open_capture(capture) as db:
            due = {row[0] for row in db.execute("SELECT id FROM step WHERE phase IN ('replay', 'cold', 'flops')")}
            known = {row[0] for row in db.execute("SELECT DISTINCT step_id FROM graph_metric")}
            known |= {row[0] for row in db.execute("SELECT DISTINCT l.step_id FROM launch_metric m JOIN launch l ON l.id = m.launch_id "
                                                   "WHERE m.tier IN ('T2', 'T3')")}
            return len(due & known), len(due - known)
    except Exception:  # the run is judged by what the program did
        return 0, 0


def judge(checks, kinds, min_runs):
    """A row a kind and one of all. `kinds`: as Kind.document() has them."""
    for kind in kinds:
        name = f"gauntlet-{kind['kind']}"
        if kind["unsteady"]:
            checks.add(name, False, f"says nothing: {kind['unsteady'][:300]}")
        elif kind["runs"]:
            checks.add(name, kind["wrong"] == 0, f"{kind['runs']} runs, {kind['wrong']} wrong, {kind['counted']} replay steps counted, "
                       f"{kind['given_up']} not" + (f"; first: {kind['why'][:300]}" if kind["why"] else ""))
        else:
            checks.add(name, True, "no run in this time")
    runs, wrong, counted = (sum(kind[key] for kind in kinds) for key in ("runs", "wrong", "counted"))
    never = [kind["kind"] for kind in kinds if kind["runs"] and not kind["counted"]]
    checks.add("gauntlet", wrong == 0 and counted > 0 and runs >= min_runs,
               f"{runs} runs{f' of {min_runs}' if runs < min_runs else ''}, {wrong} wrong, {counted} replay steps counted"
               + (f"; nothing was ever counted of {', '.join(never)}" if never else "") + seconds_of_parts(kinds))


def seconds_of_parts(kinds):
    parts = [run_ for kind in kinds for run_ in kind.get("parts_s", []) if len(run_) == 4]
    if not parts:
        return ""
    medians = [statistics.median(part) for part in zip(*parts)]
    return "; a run {:.1f} s until it wanted the device, {:.1f} waiting for it, {:.1f} its turn, {:.1f} after it (medians)".format(*medians)


def added_up(files):
    total = {}
    for name in files:
        with open(name) as file:
            for kind in json.load(file)["kinds"]:
                sum_ = total.setdefault(kind["kind"], {**kind, "runs": 0, "wrong": 0, "counted": 0, "given_up": 0, "parts_s": [], "took_s": []})
                for key in ("parts_s", "took_s"):
                    sum_[key] = sum_[key] + kind.get(key, [])
                for key in ("runs", "wrong", "counted", "given_up"):
                    sum_[key] += kind[key]
                for key in ("why", "unsteady"):
                    sum_[key] = sum_[key] or kind[key]
    return list(total.values())


def main(argv=None):
    parser = options_of(__doc__)
    parser.add_argument("--ridgeline")
    parser.add_argument("--gauntlet")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, help="runs at once on each GPU")
    parser.add_argument("--at-once", type=int, default=1, help="programs that have the device at once")
    parser.add_argument("--no-python", action="store_true")
    parser.add_argument("--stalls", action="store_true", help="sample stall reasons in every run")
    parser.add_argument("--later", action="store_true", help="begin every recording later")
    parser.add_argument("--add", nargs="+", metavar="FILE", help="judge what earlier calls wrote instead of running anything")
    parser.add_argument("kind", nargs="*")
    options = parser.parse_args(argv)
    checks = Checks(options.json)
    if options.add:
        kinds = added_up(options.add)
        judge(checks, kinds, options.runs)
        checks.finish(kinds=kinds)
    if not options.ridgeline or not options.gauntlet:
        parser.error("--ridgeline and --gauntlet are needed")
    signal.signal(signal.SIGTERM, end_in_order)  # Started would, but not on the lanes' threads
    options.out = os.path.abspath(options.out)
    os.makedirs(options.out, exist_ok=True)
    kinds = kinds_of(options)
    if not kinds:
        parser.error("no such kind")

    def at_end():
        checks.figures["kinds"] = [kind.document() for kind in kinds]  # for --add, should the check be cut off
        judge(checks, checks.figures["kinds"], 1)

    checks.at_end = at_end
    gauntlet, uuids = Gauntlet(options, kinds), collectives.gpus() or [""]  # no GPU: the programs say so themselves
    options.lanes = options.lanes or min(max((os.cpu_count() or 1) // len(uuids) // 2, 3), 12)
    with ThreadPoolExecutor(len(uuids) * options.lanes) as pool:
        lanes = [pool.submit(gauntlet.lane, uuid, turn) for uuid, turn in [(uuid, Turn(options.at_once)) for uuid in uuids] for _ in range(options.lanes)]
        for lane in lanes:
            lane.result()
    checks.finish()


if __name__ == "__main__":
    main()
