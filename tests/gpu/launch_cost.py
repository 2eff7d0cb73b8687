#!/usr/bin/env python3
"""What a launch costs by part, in a PyTorch program whose host is the limit.

usage: launch_cost.py --ridgeline RIDGELINE --parts AGENT_PARTS --where AGENT_WHERE [--rounds 5] [--out DIR] [--json FILE]
In each round a process with the parts of CUPTI in turn (a subscriber that does nothing; an empty callback of launches; kernel records; both),
one with `record --tiers T0`, whose capture says what a launch takes alone and recorded, from blocks of launches in turn as well, and one in
which CUPTI's kernel records stay on in the blocks "alone", so that its capture says what the agent itself and being called take above them. So
all is compared within one process: two processes of the same program differ by a third on some machines, whatever is recorded. At the end one
more recording, whose first thread's program counter is read as it goes. Some four minutes; cut off, it judges the rounds that there are.

Rows: one a part, and
  own-part    what recording T0 adds to a launch above CUPTI's kernel records: at most 0.2 us, mean of the rounds
  agent-code  the time of the launching thread that is spent in the agent's own code, by the readings of its program counter: at most 0.2 us
"""
import glob
import os
import sys
from statistics import mean, median, stdev

from common import Checks, options_of, run
from price import own_figure

MOST_NS = 200.0
LAUNCHES = 1000  # of a step of kinds/launches.py
STEPS = "450"
RECORDED = ["--schedule", "warmup=20,timeline=320"]  # with the blocks that run alone between its parts
# With the agent's callbacks off in three steps of seven, CUPTI's records on in all.
OWN_STEPS, OWN_RECORDED = "2800", ["--schedule", "warmup=20,timeline=1500"]
PART_ROUNDS = "60"
STUDENT_95 = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36}  # by the count of values
AGENT = "libridgeline_agent"


def own_part(above):
    """ns a launch that recording adds above CUPTI's kernel records, of each round: mean and half of its 95 % interval (None: one round)."""
    error = STUDENT_95.get(len(above), 2.3) * stdev(above) / len(above) ** 0.5 if len(above) > 1 else None
    return mean(above), error


def share_of(library, lines):
    """Of the readings, `share name` a line, those in libraries whose names begin so; None if there are no readings."""
    shares = [line.split(None, 1) for line in lines if line.strip()]
    return sum(float(share) for share, name in shares if name.startswith(library)) / 100 if shares else None


def judge(checks, parts, prices, owns):
    """A row of each part, of the rounds so far, and the verdict."""
    for part in parts[0]["ns_a_launch"] if parts else ():
        above = [said["above_subscriber"][part] for said in parts]
        checks.add(f"part-{part}", True, f"{median(said['ns_a_launch'][part] for said in parts):.0f} ns a launch, {median(above):+.0f} to a "
                   f"subscriber that does nothing; {', '.join(f'{ns:+.0f}' for ns in above)}")
    if prices:
        each = ", ".join(f"{p['above']:+.0f} +- {p['error']:.0f}" for p in prices)
        checks.add("record-T0", True, f"{median(p['recorded'] for p in prices):.0f} ns a launch, {median(p['above'] for p in prices):+.0f} to alone; "
                   f"{each}")
    if owns:
        own, error = own_part([o["above"] for o in owns])
        checks.add("own-part", own <= MOST_NS, f"T0 above CUPTI's kernel records: {own:+.0f} ns a launch" +
                   (f" +- {error:.0f}" if error is not None else "") + f" of {len(owns)} rounds; at most {MOST_NS:g}; " +
                   ", ".join(f"{o['above']:+.0f} +- {o['error']:.0f}" for o in owns))


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


def price_of(capture):
    """What the capture says of a launch, in ns: recorded, above the steps that ran alone, half of the 95 % interval; None without a figure. What CUPTI
    keeps taking when its records are off is in those steps, as it is in the parts' subscriber that does nothing, since other parts were used before."""
    figure = own_figure(capture)
    if figure is None:
        return None
    return {"recorded": figure["recorded_ns"] / LAUNCHES,
            "above": (figure["recorded_ns"] - figure["alone_ns"] - figure.get("kept_ns", 0)) / LAUNCHES, "error": figure["error_ns"] / LAUNCHES}


def main():
    parser = options_of(__doc__, "ridgeline", "parts", "where")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.parts, options.where = os.path.abspath(options.parts), os.path.abspath(options.where)
    parts, prices, owns = [], [], []
    checks = Checks(options.json, lambda: judge(checks, parts, prices, owns), {"parts": parts, "record": prices, "own": owns})
    program = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds", "launches.py")]
    capture = os.path.join(options.out, "launch-cost.ridge")
    record = [options.ridgeline, "record", "--force", "--tiers", "T0", "--step-range", "round", "-o", capture]
    recorded = [*record, *RECORDED, "--", *program, STEPS]
    series = {"parts": parts, "record": prices, "own": owns}
    for number in range(options.rounds):
        # Each round the other one begins: a drift of the clock hits both alike.
        for name in list(series)[::1 if number % 2 == 0 else -1]:
            if name == "record":
                done = run(recorded, timeout=60)
                said = price_of(capture) if done.status == 0 else None
            elif name == "own":
                done = run([*record, *OWN_RECORDED, "--", *program, OWN_STEPS], env={"RIDGELINE_ALONE_KEEPS_RECORDS": "1"}, timeout=90)
                said = price_of(capture) if done.status == 0 else None
            else:
                done = run([*program, PART_ROUNDS, options.parts],
                           env={"CUDA_INJECTION64_PATH": options.parts, "PARTS": "subscriber"}, timeout=60)
                said = done.last_json() if done.status == 0 else None
            if said is None:
                checks.add(name, False, f"exit {done.status}: {done.tail()}")
                checks.finish()
            series[name].append(said)
            print(f"round {number + 1} {name}: {said}", file=sys.stderr, flush=True)
    add_agent_code(checks, options, recorded)
    checks.finish()


if __name__ == "__main__":
    main()
