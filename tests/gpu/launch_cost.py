#!/usr/bin/env python3
"""What a launch costs by part, in a PyTorch program whose host is the limit.

usage: launch_cost.py --ridgeline RIDGELINE --parts AGENT_PARTS --where AGENT_WHERE [--rounds 5] [--out DIR] [--json FILE]
The program alone, with CUPTI's kernel records, with these and an empty callback a launch, and with `record --tiers T0`, each a process, rounds in
turn; once more with `record`, its first thread's program counter read as it goes; then the parts of CUPTI (a subscriber; an empty
callback of launches; kernel records; both) in turn within one process. Some two and a half minutes; cut off, it judges the rounds that there are.

A process is quick or slow as a whole, by a third on some machines, whatever is recorded: of each way to run it the quickest round counts, and
all are printed. Rows: one a part, and
  own-part    T0 above CUPTI's kernel records: at most 0.2 us a launch, quickest round against quickest
  agent-code  the time of the launching thread that is spent in the agent's own code, by the readings of its program counter: at most 0.2 us
"""
import glob
import os
import resource
import sys
from statistics import median

from common import Checks, options_of, run

MOST_NS = 200.0
LAUNCH_ROUNDS = "150"  # of a process, of a thousand launches each
PARTS = {"alone": None, "kernels": "kernels", "kernels+callback": "kernels+callback"}
AGENT = "libridgeline_agent"


def own_part(taken):
    """ns a launch that T0 takes above CUPTI's kernel records, each by its quickest round."""
    return min(taken["record-T0"]) - min(taken["kernels"])


def share_of(library, lines):
    """Of the readings, `share name` a line, those in libraries whose names begin so; None if there are no readings."""
    shares = [line.split(None, 1) for line in lines if line.strip()]
    return sum(float(share) for share, name in shares if name.startswith(library)) / 100 if shares else None


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
        above = min(values) - min(taken["alone"]) if taken["alone"] else 0
        checks.add(name, True, f"{min(values):.0f} ns a launch, {above:+.0f} to alone; {', '.join(f'{v:.0f}' for v in values)}; "
                   f"{median(processor[name]):.1f} s of processor time on all threads")
    if taken["record-T0"] and taken["kernels"]:
        own = own_part(taken)
        checks.add("own-part", own <= MOST_NS, f"T0 above CUPTI's kernel records: {own:+.0f} ns a launch; at most {MOST_NS:g}")


def add_agent_code(checks, options, recorded):
    """Where the launching thread of a recorded program spends its time."""
    where = os.path.join(options.out, "launch-cost-where")
    for old in glob.glob(where + ".*"):
        os.remove(old)
    done = run(recorded, env={"LD_PRELOAD": options.where, "WHERE_OUT": where, "WHERE_PROGRAM": "python"}, timeout=60)
    said, lines = done.last_json(), []
    for name in glob.glob(where + ".*"):
        with open(name, encoding="utf-8") as file:
            lines += file.readlines()
    share = share_of(AGENT, lines)
    if done.status != 0 or said is None or share is None:
        checks.add("agent-code", False, f"exit {done.status}: {done.tail()}")
        return
    ns = share * said["ns_a_launch"]
    largest = "; ".join(f"{float(line.split()[0]):.1f} % {line.split()[1]}" for line in lines[:6])
    checks.add("agent-code", ns <= MOST_NS, f"{100 * share:.2f} % of {said['ns_a_launch']:.0f} ns a launch: {ns:.0f} ns in the agent's own code, at most "
               f"{MOST_NS:g} ({largest})")


def main():
    parser = options_of(__doc__, "ridgeline", "parts", "where")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.parts, options.where = os.path.abspath(options.parts), os.path.abspath(options.where)
    checks = Checks(options.json)
    program = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds", "launches.py")]
    capture = os.path.join(options.out, "launch-cost.ridge")
    recorded = [options.ridgeline, "record", "--force", "--tiers", "T0", "--alone-steps", "0", "-o", capture, "--", *program, LAUNCH_ROUNDS]
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
                done = with_parts(options, program, PARTS[name], LAUNCH_ROUNDS) if PARTS[name] else run([*program, LAUNCH_ROUNDS], timeout=60)
            said = done.last_json()
            if done.status != 0 or said is None:
                checks.add(name, False, f"exit {done.status}: {done.tail()}")
                checks.finish()
            taken[name].append(said["ns_a_launch"])
            processor[name].append(processor_s() - before)
            print(f"round {number + 1} {name}: {said['ns_a_launch']:.0f} ns a launch", file=sys.stderr, flush=True)
    add_agent_code(checks, options, recorded)
    checks.finish(ns_a_launch=taken, in_process=add_parts(checks, options, program), processor_s=processor)


if __name__ == "__main__":
    main()
