#!/usr/bin/env python3
"""Records programs of all kinds as they are, and holds each capture to what a recording promises.

usage: programs.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --python-program pytorch_gpt2.py [--out DIR] [--json FILE]
                   [--limit SECONDS] [PROGRAM...]

For each: the program ends well, every launch seen has its record, steps are found, and their timeline is there. Of the Python
programs only the one of `collectives` marks its steps, so that its processes sample the same ones. `--list` names the programs.
On a machine with two GPUs `torchrun` and `collectives` take one for each process and NCCL between them, and their captures must
show it (collectives.py); `second-gpu` sees the last one alone, as its device 0. With one GPU the last two say so and run nothing.

What a program prints is in program-NAME.log while it runs. One that has not ended within its limit is ended with all its
processes and fails; Python's then print where they are.
"""
import argparse
import os
import sys
import time

import collectives
from common import Checks, Facts, open_capture, run
from power import PowerWatch

# What is printed comes at once; a process that is told to abort says where it is; NCCL tells how far it came.
TALKATIVE = {"PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", "NCCL_DEBUG": "INFO"}
LAST_WORDS_S = 15  # for the tracebacks, and for the capture of what happened until then
LEAST_CORRELATION = 0.3  # of samples and kernels; the import warns below it


class Program:
    """How a program is started and what its capture must hold."""

    def __init__(self, command, processes=1, source="period", graphs=False, takes_gpus=1, ranks=0, samples=True, visible=None,
                 limit_s=120):
        self.command, self.limit_s = command, limit_s
        self.alone = visible is not None  # sees one GPU of several
        self.env = {**TALKATIVE, **(visible or {})}
        self.processes = processes  # that use the GPU
        self.source = source  # where its steps come from
        self.graphs = graphs  # must kernels come out of graphs
        self.takes_gpus = takes_gpus
        self.ranks, self.samples = ranks, samples  # with so many GPUs: what collectives.judge() is asked


def programs(options, uuids):
    trainer = [options.trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none"]
    python = [sys.executable, options.python_program, "-B", "8", "-T", "512"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", options.python_program]
    alone = {"CUDA_VISIBLE_DEVICES": uuids[-1]} if uuids else {}
    return {
        "eager": Program([*python, "--mode", "eager", "--steps", "200"]),
        "compile": Program([*python, "--mode", "compile", "--steps", "300"], limit_s=180),
        "cudagraph": Program([*python, "--mode", "cudagraph", "--steps", "800"], graphs=True),
        "trainer-graph": Program([*trainer, "--cuda-graph", "--steps", "60"], source="nvtx", graphs=True),
        "torchrun": Program([*torchrun, "--model", "tiny", "-B", "4", "-T", "128", "--steps", "300"], processes=2, ranks=2, samples=False),
        "collectives": Program([*torchrun, "-B", "8", "-T", "512", "--steps", "100", "--nvtx"], processes=2, source="nvtx", takes_gpus=2,
                               ranks=2, limit_s=180),
        "second-gpu": Program([*trainer, "--no-cuda-graph", "--steps", "200"], source="nvtx", takes_gpus=2, visible=alone),
    }


def record(name, program, options, capture, say):
    """Records it, with what it prints in program-NAME.log as it comes."""
    limit_s = min(program.limit_s, options.limit)
    say(f"row {name}: begins at {time.monotonic() - options.begin:.0f} s, {limit_s:g} s at most")
    return run([options.ridgeline, "record", "--force", "-o", capture, "--", *program.command], env=program.env, timeout=limit_s,
               log=os.path.join(options.out, f"program-{name}.log"), last_words_s=min(LAST_WORDS_S, limit_s))


def judge_one_gpu(capture, uuid, watch):
    """The device of a program that sees one GPU of several is that one, by counters and clocks too."""
    db, wrong = open_capture(capture), []
    seen = [row[0] for row in db.execute("SELECT uuid FROM device")]
    if seen != [uuid]:
        wrong.append(f"devices {', '.join(map(str, seen))}, not {uuid}")
    fits = [row[0] for row in db.execute("SELECT shift_correlation FROM pm_window WHERE sample_count > 0")]
    if not fits or min(fits) < LEAST_CORRELATION:
        wrong.append(f"samples fit the kernels with a correlation of {min(fits, default=0):.2f}")
    power_w = (db.execute("SELECT max(power_mw) FROM clock_sample").fetchone()[0] or 0) / 1e3
    db.close()
    said = watch.judge(uuid, power_w, wrong)
    return wrong, f"on {uuid[:12]}, samples correlate {min(fits, default=0):.2f}, {power_w:.0f} W at most ({said})"


def judge(checks, name, ridgeline, capture, done, program, uuids, watch):
    if done.status != 0 or not os.path.exists(capture):
        checks.add(name, False, f"exit {done.status}: {done.tail()}")
        return
    facts, wrong, more = Facts(capture), [], ""
    if facts.problem:
        wrong.append(facts.problem)
    if not facts.complete():
        wrong.append("records are missing: " + str(facts.completeness))
    launching = [c["process_id"] for c in facts.completeness if c["launches_seen"] + c["graph_launches"] > 0]
    if len(launching) != program.processes:
        wrong.append(f"{facts.processes} processes, {program.processes} expected")
    if program.source not in facts.sources:
        wrong.append(f"steps come from {', '.join(sorted(facts.sources)) or 'nowhere'}, not {program.source}")
    if facts.steps.get("timeline", 0) < 5 * program.processes:
        wrong.append(f"{facts.steps.get('timeline', 0)} timeline steps")
    if program.graphs and facts.total("graph_kernel_records") == 0:
        wrong.append("no kernel of a CUDA graph")
    for process in launching:
        rank = run([ridgeline, "rank", capture, "--process", process], timeout=60)
        if rank.status != 0:
            wrong.append(f"rank --process {process} exits {rank.status}: {rank.tail()}")
    if program.ranks and len(uuids) >= program.ranks:
        bad, more = collectives.judge(capture, uuids, program.samples)
        wrong += bad
    elif program.ranks:
        more = "one GPU: no collectives on devices"
    if watch:
        bad, more = judge_one_gpu(capture, uuids[-1], watch)
        wrong += bad
    said = f'; said: {len(done.said())} lines, first: "{done.said()[0][:160]}"' if done.said() else ""
    checks.add(name, not wrong, f"{facts.step_text()} (by {', '.join(sorted(facts.sources))}); {facts.counts()}; {facts.tier_text()}; "
               + (more + "; " if more else "") + f"{done.seconds:.0f} s{said}" + (" -- WRONG: " + "; ".join(wrong) if wrong else ""))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--python-program", required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    parser.add_argument("--limit", type=float, default=600, help="seconds of a program at most; each has its own limit besides")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args(argv)
    options.begin = time.monotonic()
    uuids = collectives.gpus()
    every = programs(options, uuids)
    if options.list:
        print("\n".join(every))
        return
    unknown = [name for name in options.programs if name not in every]
    if unknown:
        parser.error(f"no such program: {unknown[0]}; there are {', '.join(every)}")
    checks = Checks()
    for name in options.programs or every:
        program = every[name]
        if len(uuids) < program.takes_gpus:
            checks.add(name, True, f"not run: it takes {program.takes_gpus} GPUs, this machine shows {len(uuids)}")
            continue
        capture = os.path.join(options.out, f"program-{name}.ridge")
        try:
            watch = PowerWatch() if program.alone else None
            if watch:
                watch.start()
            try:
                done = record(name, program, options, capture, say=lambda line: print(line, file=sys.stderr, flush=True))
            finally:
                if watch:
                    watch.stop()
            judge(checks, name, options.ridgeline, capture, done, program, uuids, watch)
        except Exception as error:  # a checker that dies half-way fails its row
            checks.add(name, False, f"the check itself failed: {type(error).__name__}: {error}")
    checks.finish(options.json)


if __name__ == "__main__":
    main()
