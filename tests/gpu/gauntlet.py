#!/usr/bin/env python3
"""What a program does while its kernels are counted ends as it does alone: same output, same exit status.

usage: gauntlet.py --ridgeline RIDGELINE --gauntlet AGENT_GAUNTLET [--out DIR] [--json FILE] [--runs N] [--seconds S] [--seed N]
                   [--no-python] [KIND...]

Every run records one program with a schedule drawn at random, so that counters come on and go off at other moments each time:
with steps that NVTX marks or that are found by their period, with or without samples, now and then with cold caches, stall reasons
or a recording that begins later. A run is wrong if what the program prints, or its exit status, is not what it is alone, or if
it takes 30 s longer. The kinds take turns until --runs (500) runs are made or --seconds (540) have passed. A row a kind says
how many runs there were, how many were wrong, and how many replay steps gave counters, so that a gauntlet in which nothing was
counted shows. What a wrong run printed and its capture stay in DIR.

The program compares bits. A kind whose result alone differs between two runs is left out, and the row says so.
"""
import argparse
import os
import random
import signal
import sys
import time

from common import Checks, end_in_order, open_capture, run

STATUS = 7
HANG_S = 30
NOT_RECORDED = 3  # ridgeline's own exit status
KINDS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")
ENVIRONMENT = {"PYTHONPATH": KINDS}


def python_kinds():
    return {
        "torch-graphs": ["torch_graphs.py", "200", "graphs"],
        "torch-recompile": ["torch_graphs.py", "200", "recompile"],
        "torch-workers": ["torch_graphs.py", "200", "workers"],
        "jax-scan": ["jax_scan.py", "150"],
        "jax-while": ["jax_shapes.py", "400", "while"],
        "jax-cond": ["jax_shapes.py", "400", "cond"],
        "jax-donated": ["jax_shapes.py", "400", "donated"],
        "jax-shapes": ["jax_shapes.py", "300", "shapes"],
        "triton-tuning": ["triton_kernels.py", "400"],
        "cupy": ["cupy_solver.py"],
    }


class Kind:
    def __init__(self, name, command, status, marks):
        self.name, self.command, self.status, self.marks = name, command, status, marks
        self.alone = {}  # by arguments: what it prints
        self.unsteady = False
        self.runs = self.wrong = self.counted = self.given_up = 0
        self.why = ""


def result_of(text):
    """What a program computed, without what it says of its speed."""
    return [line for line in text.splitlines() if line.startswith(("hash", "result", "loss"))]


def drawn(random_, kind):
    """Arguments of the program and of the recording."""
    arguments, options = [], []
    parts = [f"warmup={random_.randrange(0, 12)}", f"timeline={random_.randrange(3, 9)}"]
    if random_.random() < 0.6:
        parts.append(f"sample={random_.randrange(1, 5)}")
    parts.append(f"replay={random_.randrange(4, 17)}")
    if random_.random() < 0.15:
        parts.append("cold=2")
    if random_.random() < 0.1:
        parts.append("stalls=2")
    if kind.marks:
        if random_.random() < 0.3:
            arguments = ["--unmarked", "--steps", "1500"]
        else:
            arguments = ["--steps", "60"]
        if kind.name == "all":
            arguments += ["--seed", str(random_.randrange(1, 6))]
    if random_.random() < 0.2:
        options += ["--after", f"{random_.randrange(1, 400 if kind.marks else 6000)}ms"]
    return arguments, ["--schedule", ",".join(parts), *options]


def one_run(options, kind, random_, number):
    arguments, recording = drawn(random_, kind)
    key = tuple(arguments)
    if key not in kind.alone:
        alone, again = (run([*kind.command, *arguments], timeout=120, env=ENVIRONMENT) for _ in range(2))
        if result_of(again.out) != result_of(alone.out) or not result_of(alone.out):
            kind.unsteady = True
            kind.why = f"alone it gives {result_of(alone.out)} and {result_of(again.out)}: {alone.tail()}"
            return
        kind.alone[key] = (alone.status, result_of(alone.out), alone.seconds)
    status, expected, alone_s = kind.alone[key]
    capture = os.path.join(options.out, f"gauntlet-{kind.name}-{number}.ridge")
    command = [options.ridgeline, "record", "-q", "-f", "-o", capture, *recording, "--", *kind.command, *arguments]
    made = run(command, timeout=alone_s + HANG_S + 30, env=ENVIRONMENT)
    kind.runs += 1
    try:
        with open_capture(capture) as db:
            for state, count in db.execute("SELECT status, count(*) FROM counter_step GROUP BY status"):
                if state == "ok":
                    kind.counted += count
                else:
                    kind.given_up += count
    except Exception:  # the run is judged by what the program did
        pass
    why = ""
    if made.seconds > alone_s + HANG_S:
        why = f"took {made.seconds:.0f} s instead of {alone_s:.1f}"
    elif made.status == NOT_RECORDED and f"(exit status {status})" in made.err:
        pass  # it ended, as it does alone, before its recording window opened
    elif made.status != status:
        why = f"exit status {made.status} instead of {status}"
    elif result_of(made.out) != expected:
        why = f"{result_of(made.out)} instead of {expected}"
    if why:
        kind.wrong += 1
        kind.why = kind.why or why
        with open(os.path.join(options.out, f"gauntlet-{kind.name}-{number}.log"), "w") as log:
            log.write(f"{' '.join(command)}\n{why}\n{made.out[-4000:]}\n{made.err[-4000:]}\n")
        print(f"{kind.name} run {number}: {why}", file=sys.stderr, flush=True)
    elif os.path.exists(capture):
        os.remove(capture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--gauntlet", required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-python", action="store_true")
    parser.add_argument("kind", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, end_in_order)
    os.makedirs(options.out, exist_ok=True)
    cases = run([options.gauntlet, "--list"], timeout=60).out.split()
    kinds = [Kind(name, [options.gauntlet, "--case", name], STATUS, True) for name in ["all", *cases]]
    if not options.no_python:
        kinds += [Kind(name, [sys.executable, os.path.join(KINDS, command[0]), *command[1:]], 0, False)
                  for name, command in python_kinds().items()]
    if options.kind:
        kinds = [kind for kind in kinds if kind.name in options.kind]
    random_ = random.Random(options.seed)
    end = time.monotonic() + options.seconds
    made = 0
    while made < options.runs and time.monotonic() < end and not all(kind.unsteady for kind in kinds):
        # Python takes ten times as long to start: one of them to a round of the others.
        slow = [kind for kind in kinds if not kind.marks and not kind.unsteady]
        batch = [kind for kind in kinds if kind.marks and not kind.unsteady]
        batch += [min(slow, key=lambda kind: kind.runs)] if slow else []
        for kind in batch:
            if made >= options.runs or time.monotonic() >= end:
                break
            one_run(options, kind, random_, made)
            made += 1
    checks = Checks()
    for kind in kinds:
        if kind.unsteady:
            checks.add(f"gauntlet-{kind.name}", True, f"left out: {kind.why}")
            continue
        detail = (f"{kind.runs} runs, {kind.wrong} wrong, {kind.counted} replay steps counted, {kind.given_up} given up"
                  + (f"; first: {kind.why}" if kind.why else ""))
        checks.add(f"gauntlet-{kind.name}", kind.wrong == 0, detail)
    runs, wrong = sum(k.runs for k in kinds), sum(k.wrong for k in kinds)
    counted = sum(k.counted for k in kinds)
    checks.add("gauntlet", wrong == 0 and counted > 0, f"{runs} runs, {wrong} wrong, {counted} replay steps counted")
    checks.finish(options.json, kinds=[{"kind": k.name, "runs": k.runs, "wrong": k.wrong, "counted": k.counted, "given_up": k.given_up,
                                        "why": k.why, "left_out": k.unsteady} for k in kinds])


if __name__ == "__main__":
    main()
