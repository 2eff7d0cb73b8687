#!/usr/bin/env python3
"""What a launch costs by part, in a PyTorch program whose host is the limit.

usage: launch_cost.py --ridgeline RIDGELINE --parts AGENT_PARTS [--rounds 3] [--out DIR] [--json FILE]
The program alone, with CUPTI's kernel records, and with `record --tiers T0`, each a process, rounds in turn; then the parts of CUPTI (a
subscriber; an empty callback of launches; kernel records; both) in turn within one process. Some 90 s; cut off, it judges the rounds that
there are. Rows: one a part, and
  own-part    T0 above CUPTI's kernel records: at most 0.2 us a launch, the median of the rounds' differences
"""
import os
import resource
import sys
from statistics import median

from common import Checks, options_of, run

MOST_NS = 200.0
PARTS = {"alone": None, "kernels": "kernels"}


def own_part(taken):
    """ns a launch that T0 takes above CUPTI's kernel records, round by round."""
    return [mine - records for mine, records in zip(taken["record-T0"], taken["kernels"])]


def processor_s():
    """Of all children so far, on all their threads."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def with_parts(options, program, parts, *arguments):
    return run([*program, *arguments], env={"CUDA_INJECTION64_PATH": options.parts, "PARTS": parts}, timeout=90)


def add_parts(checks, options, program):
    """The parts of CUPTI within one process."""
    done = with_parts(options, program, "subscriber", "60", options.parts)
    said = done.last_json()
    if done.status != 0 or said is None:
        checks.add("parts", False, f"exit {done.status}: {done.tail()}")
        return None
    for part, ns in said["ns_a_launch"].items():
        checks.add(f"part-{part}", True, f"{ns:.0f} ns a launch, {said['above_subscriber'][part]:+.0f} to a subscriber that does nothing")
    return said


def judge(checks, taken, processor):
    """A row of each way to run the program, of the rounds so far, and the verdict."""
    for name, values in taken.items():
        if not values:
            continue
        above = median(value - alone for value, alone in zip(values, taken["alone"])) if taken["alone"] else 0
        checks.add(name, True, f"{median(values):.0f} ns a launch, {above:+.0f} to alone; {', '.join(f'{v:.0f}' for v in values)}; "
                   f"{median(processor[name]):.1f} s of processor time on all threads")
    own = own_part(taken)
    if own:
        checks.add("own-part", median(own) <= MOST_NS, f"T0 above CUPTI's kernel records: {median(own):+.0f} ns a launch "
                   f"({', '.join(f'{v:+.0f}' for v in own)}); at most {MOST_NS:g}")


def main():
    parser = options_of(__doc__, "ridgeline", "parts")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.parts = os.path.abspath(options.parts)
    checks = Checks(options.json)
    program = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds", "launches.py")]
    capture = os.path.join(options.out, "launch-cost.ridge")
    recorded = [options.ridgeline, "record", "--force", "--tiers", "T0", "--alone-steps", "0", "-o", capture, "--", *program]
    taken = {name: [] for name in [*PARTS, "record-T0"]}
    processor = {name: [] for name in taken}
    checks.at_end = lambda: judge(checks, taken, processor)
    for number in range(options.rounds):
        # Each round another one begins: a drift of the clock hits all alike.
        names = list(taken)
        for name in names[number % len(names):] + names[:number % len(names)]:
            before = processor_s()
            if name == "record-T0":
                done = run(recorded, timeout=60)
            else:
                done = with_parts(options, program, PARTS[name]) if PARTS[name] else run(program, timeout=60)
            said = done.last_json()
            if done.status != 0 or said is None:
                checks.add(name, False, f"exit {done.status}: {done.tail()}")
                checks.finish()
            taken[name].append(said["ns_a_launch"])
            processor[name].append(processor_s() - before)
            print(f"round {number + 1} {name}: {said['ns_a_launch']:.0f} ns a launch", file=sys.stderr, flush=True)
    checks.finish(ns_a_launch=taken, in_process=add_parts(checks, options, program), processor_s=processor)


if __name__ == "__main__":
    main()
