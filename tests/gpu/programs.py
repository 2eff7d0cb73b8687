#!/usr/bin/env python3
"""Records programs of all kinds as they are, and holds each capture to what a recording promises.

usage: programs.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --python-program pytorch_gpt2.py [--out DIR] [--json FILE]
                   [PROGRAM...]

For each: the program ends well, every launch seen has its record, steps are found, and their timeline is there. None of
the Python programs marks its steps. `--list` names the programs.
"""
import argparse
import os
import sys

from common import Checks, Facts, run


def programs(options):
    trainer = [options.trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none"]
    python = [sys.executable, options.python_program, "-B", "8", "-T", "512"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", options.python_program,
                "--model", "tiny", "-B", "4", "-T", "128", "--steps", "300"]
    return {
        # name: (program, processes that use the GPU, where its steps come from, must kernels come out of graphs)
        "eager": ([*python, "--mode", "eager", "--steps", "200"], 1, "period", False),
        "compile": ([*python, "--mode", "compile", "--steps", "300"], 1, "period", False),
        "cudagraph": ([*python, "--mode", "cudagraph", "--steps", "800"], 1, "period", True),
        "trainer-graph": ([*trainer, "--cuda-graph", "--steps", "60"], 1, "nvtx", True),
        "torchrun": (torchrun, 2, "period", False),
    }


def judge(checks, name, ridgeline, capture, done, processes, source, graphs):
    if done.status != 0 or not os.path.exists(capture):
        checks.add(name, False, f"exit {done.status}: {done.tail()}")
        return
    facts, wrong = Facts(capture), []
    if facts.problem:
        wrong.append(facts.problem)
    if not facts.complete():
        wrong.append("records are missing: " + str(facts.completeness))
    if sum(1 for c in facts.completeness if c["launches_seen"] + c["graph_launches"] > 0) != processes:
        wrong.append(f"{facts.processes} processes, {processes} expected")
    if source not in facts.sources:
        wrong.append(f"steps come from {', '.join(sorted(facts.sources)) or 'nowhere'}, not {source}")
    if facts.steps.get("timeline", 0) < 5 * processes:
        wrong.append(f"{facts.steps.get('timeline', 0)} timeline steps")
    if graphs and facts.total("graph_kernel_records") == 0:
        wrong.append("no kernel of a CUDA graph")
    rank = run([ridgeline, "rank", capture], timeout=60)
    if rank.status != 0:
        wrong.append(f"rank exits {rank.status}: {rank.tail()}")
    said = f'; said: {len(done.said())} lines, first: "{done.said()[0][:160]}"' if done.said() else ""
    checks.add(name, not wrong, f"{facts.step_text()} (by {', '.join(sorted(facts.sources))}); {facts.counts()}; {facts.tier_text()}; "
               f"{done.seconds:.0f} s{said}" + (" -- WRONG: " + "; ".join(wrong) if wrong else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--python-program", required=True)
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    options = parser.parse_args()
    every = programs(options)
    if options.list:
        print("\n".join(every))
        return
    unknown = [name for name in options.programs if name not in every]
    if unknown:
        parser.error(f"no such program: {unknown[0]}; there are {', '.join(every)}")
    checks = Checks()
    for name in options.programs or every:
        program, processes, source, graphs = every[name]
        capture = os.path.join(options.out, f"program-{name}.ridge")
        try:
            done = run([options.ridgeline, "record", "--force", "-o", capture, "--", *program], timeout=200)
            with open(os.path.join(options.out, f"program-{name}.log"), "w") as log:
                log.write(done.out + done.err)
            judge(checks, name, options.ridgeline, capture, done, processes, source, graphs)
        except Exception as error:  # a checker that dies half-way fails its row
            checks.add(name, False, f"the check itself failed: {type(error).__name__}: {error}")
    checks.finish(options.json)


if __name__ == "__main__":
    main()
