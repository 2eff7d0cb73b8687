#!/usr/bin/env python3
"""What a launch costs by part, in a PyTorch program whose host is the limit, rounds in turn.

usage: launch_cost.py --ridgeline RIDGELINE --parts AGENT_PARTS [--rounds 5] [--out DIR] [--json FILE]
Parts: the program alone; a subscriber to CUPTI; with an empty callback of launches; CUPTI's kernel records; records and callback;
`record --tiers T0`. Rows: one a part, with the medians, and
  own-part    T0 above CUPTI's kernel records: at most 0.2 us a launch, the median of the rounds' differences
"""
import argparse
import os
import sys
from statistics import median

from common import Checks, run

MOST_NS = 200.0
PARTS = {"alone": None, "subscriber": "subscriber", "callback": "callback", "kernels": "kernels", "kernels-callback": "kernels+callback"}


def own_part(taken):
    """ns a launch that T0 takes above CUPTI's kernel records, round by round."""
    return [mine - records for mine, records in zip(taken["record-T0"], taken["kernels"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--parts", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    options = parser.parse_args()
    checks = Checks()
    program = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds", "launches.py")]
    capture = os.path.join(options.out, "launch-cost.ridge")
    recorded = [options.ridgeline, "record", "--force", "--tiers", "T0", "--alone-steps", "0", "-o", capture, "--", *program]
    taken = {name: [] for name in [*PARTS, "record-T0"]}
    for number in range(options.rounds):
        # Each round another one begins: a drift of the clock hits all alike.
        names = list(taken)
        for name in names[number % len(names):] + names[:number % len(names)]:
            if name == "record-T0":
                done = run(recorded, timeout=60)
            else:
                parts = PARTS[name]
                done = run(program, env={"CUDA_INJECTION64_PATH": options.parts, "PARTS": parts} if parts else None, timeout=60)
            said = done.last_json()
            if done.status != 0 or said is None:
                checks.add(name, False, f"exit {done.status}: {done.tail()}")
                checks.finish(options.json)
            taken[name].append(said["ns_a_launch"])
    for name, values in taken.items():
        above = median(value - alone for value, alone in zip(values, taken["alone"]))
        checks.add(name, True, f"{median(values):.0f} ns a launch, {above:+.0f} to alone; {', '.join(f'{v:.0f}' for v in values)}")
    own = own_part(taken)
    checks.add("own-part", median(own) <= MOST_NS,
               f"T0 above CUPTI's kernel records: {median(own):+.0f} ns a launch ({', '.join(f'{v:+.0f}' for v in own)}); at most {MOST_NS:g}")
    checks.finish(options.json, ns_a_launch=taken)


if __name__ == "__main__":
    main()
