#!/usr/bin/env python3
"""From a recording to advice to a faster step: the first advice for two programs as people first write them, carried out.

usage: carried_out.py --ridgeline RIDGELINE [--out DIR] [--json FILE] [--only gpt2,resnet50]
Each program (first_version.py) is recorded as it is; the first case of `ridgeline advise` that has a remedy there is carried out, and what it
gains is measured on unrecorded runs, in turn. A row passes if the measured gain lies in the promised interval or within a factor of two of
its middle. What was advised, ranked and measured is left in --out, whatever the verdict. 100 s.
"""
import argparse
import json
import os
import sys
from statistics import mean, median, stdev

from common import Checks, chosen, run

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "first_version.py")
SCHEDULE = "warmup=8,timeline=60,sample=4,replay=9"  # of a host-bound program the median is not known from fewer
FACTOR = 2.0
PROGRAMS = ("gpt2", "resnet50")
# The rules whose advice first_version.py can carry out.
REMEDIES = ("launch-overhead", "sync-in-step", "optimiser", "fp32-gemm", "pageable-copy", "copy-exposed", "unfused-attention", "casts",
            "fold-elementwise", "bias-kernel", "faster-library")


def promise_of(cases, rule):
    """low, mid, high in ms of all cases of the rule: carrying it out ends them all."""
    return [sum(case["net"][key] for case in cases if case["rule"] == rule) / 1e6 for key in ("low_ns", "mid_ns", "high_ns")]


def judged(promised, gain_ms):
    low, mid, high = promised
    return low <= gain_ms <= high or (gain_ms > 0 and mid / FACTOR <= gain_ms <= mid * FACTOR)


def keep(options, name, text):
    with open(os.path.join(options.out, name), "w") as file:
        file.write(text)


def carry_out(options, checks, name):
    capture = os.path.join(options.out, f"carried-out-{name}.ridge")
    done = run([options.ridgeline, "record", "-q", "--force", "--schedule", SCHEDULE, "--budget", "5", "-o", capture, "--", sys.executable, PROGRAM, name, "--steps", "140"],
               timeout=90)
    if not os.path.exists(capture):
        return checks.add(name, False, f"record exited {done.status}: {done.tail()}")
    for verb in ("rank", "steps", "roofline"):
        keep(options, f"carried-out-{name}-{verb}.txt", run([options.ridgeline, verb, capture], timeout=60).out)
    keep(options, f"carried-out-{name}-advise.txt", run([options.ridgeline, "advise", capture], timeout=60).out)
    said = run([options.ridgeline, "advise", capture, "--all", "--format", "json"], timeout=60)
    if said.status != 0:
        return checks.add(name, False, f"advise exited {said.status}: {said.tail()}")
    keep(options, f"carried-out-{name}.json", said.out)
    cases = json.loads(said.out)["advice"]["cases"]
    advised = ", ".join(f"{case['rule']} {case['net']['mid_ns'] / 1e6:.2f} ms" for case in cases[:5]) or "nothing"
    # In the order of the advice, so that what has no remedy here is said and not passed over.
    rules = list(dict.fromkeys(case["rule"] for case in cases))
    rule = next((rule for rule in rules if rule in REMEDIES), None)
    if rule is None:
        return checks.add(name, False, f"no remedy for what was advised: {advised}")
    measured = run([sys.executable, PROGRAM, name, "--measure", rule], timeout=120)
    series = measured.last_json()
    if series is None:
        return checks.add(name, False, f"--measure {rule} exited {measured.status}: {measured.tail()}")
    differences = [a - b for a, b in zip(series["without"], series["with"])]
    promised = promise_of(cases, rule)
    gain = median(differences)
    checks.add(name, judged(promised, gain),
               f"{rule}, place {rules.index(rule) + 1}: promised {promised[1]:.2f} ms ({promised[0]:.2f} to {promised[2]:.2f}), gained {gain:.2f} "
               f"+- {stdev(differences):.2f} of {mean(series['without']):.2f} ms; advised: {advised}")
    return {"rule": rule, "promised_ms": promised, "series": series, "advised": advised}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--only")
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    options = parser.parse_args()
    checks = Checks()
    figures = {name: carry_out(options, checks, name) for name in chosen(parser, options.only, PROGRAMS)}
    checks.finish(options.json, programs=figures)


if __name__ == "__main__":
    main()
