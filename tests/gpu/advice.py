#!/usr/bin/env python3
"""Defects planted into programs, and what `ridgeline advise` says of them.

usage: advice.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--only NAME,...]
A row each. A PyTorch step (planted.py) and the trainer are recorded with one defect each and without any. A defect passes if its rule finds
it, comes first, and promises a gain within a factor of two of what taking the defect out gains, measured on the same programs
unrecorded and in turn. The steps without a defect pass if every planted rule is silent there. advice-*.json in --out has what was
advised of each, whatever the verdict. About 240 s.
"""
import argparse
import json
import os
import sys
from statistics import median

from common import Checks, chosen, run

HERE = os.path.dirname(os.path.abspath(__file__))
PLANTED = os.path.join(HERE, "planted.py")
SCHEDULE = "warmup=6,timeline=12,sample=2,replay=9"
FACTOR = 2.0
PYTORCH = ("sync-in-step", "pageable-copy", "loader-wait", "ugly-dimension", "launch-overhead", "optimiser", "copy-exposed",
           "too-few-blocks", "fp32-gemm")
# Switches of the trainer that take an optimisation out, and the rule that should see it.
TRAINER = {
    "bias-kernel": ["--bias", "separate", "--gelu", "separate"],
    "unfused-attention": ["--attention", "unfused"],
}
# What the switches are held against: one that needs another switch is measured beside the step that has that alone.
TRAINER_WITHOUT = {"bias-kernel": ["--gelu", "separate"], "unfused-attention": []}


def judge(cases, rule, measured_ms):
    """Of what was advised, most first: whether the rule is there and first, and its gain within the factor; and in words."""
    place = next((i for i, case in enumerate(cases) if case["rule"] == rule), None)
    others = ", ".join(f"{case['rule']} {case['net']['mid_ns'] / 1e6:.2f}" for case in cases[:4]) or "nothing"
    if place is None:
        return False, f"not found; measured {measured_ms:.3f} ms; advised: {others}"
    told_ms = sum(case["net"]["mid_ns"] for case in cases if case["rule"] == rule) / 1e6
    within = measured_ms > 0 and measured_ms / FACTOR <= told_ms <= measured_ms * FACTOR
    text = f"{'first' if place == 0 else f'place {place + 1}'}; promised {told_ms:.3f} ms, measured {measured_ms:.3f} ms"
    if not (within and place == 0):
        text += f"; advised: {others}"
    return within and place == 0, text


def silent(cases, rules):
    """Whether none of the rules says anything; and what they say."""
    said = [case for case in cases if case["rule"] in rules]
    return not said, "; ".join(f"{case['rule']} {case['net']['mid_ns'] / 1e6:.3f} ms ({case['action']})" for case in said) or "silent"


class Recorder:
    def __init__(self, options):
        self.options = options

    def advised(self, name, command):
        """The cases, most first; None and why."""
        capture = os.path.join(self.options.out, f"advice-{name}.ridge")
        done = run([self.options.ridgeline, "record", "-q", "--force", "--schedule", SCHEDULE, "--budget", "3", "-o", capture, "--", *command],
                   timeout=60)
        if not os.path.exists(capture):
            return None, f"record exited {done.status}: {done.tail()}"
        said = run([self.options.ridgeline, "advise", capture, "--all", "--format", "json"], timeout=30)
        if said.status != 0:
            return None, f"advise exited {said.status}: {said.tail()}"
        with open(os.path.join(self.options.out, f"advice-{name}.json"), "w") as file:
            file.write(said.out)
        return json.loads(said.out)["advice"]["cases"], ""


def measured_in_turn(options, names):
    """ms of each of these defects, the median of the rounds' differences; by name."""
    done = run([sys.executable, PLANTED, "--measure", ",".join(names)], timeout=120)
    series = done.last_json()
    if series is None:
        return None, f"planted.py --measure exited {done.status}: {done.tail()}"
    with open(os.path.join(options.out, "advice-measured.json"), "w") as file:
        json.dump(series, file)
    return {name: median(a - b for a, b in zip(one["with"], one["without"])) for name, one in series.items()}, ""


def trainer_gain(options, name):
    base = trainer(options)
    series = {"with": [], "without": []}
    for number in range(2):
        order = [("with", TRAINER[name]), ("without", TRAINER_WITHOUT[name])]
        for which, switches in order if number % 2 == 0 else reversed(order):
            said = run([*base, *switches, "--steps", "30"], timeout=60).last_json() or {}
            if "median_ms" not in said:
                return None
            series[which].append(said["median_ms"])
    return median(series["with"]) - median(series["without"])


def trainer(options):
    return [options.trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none", "--no-cuda-graph",
            "--json"]


def check_pytorch(options, checks, recorder, names):
    planted = [name for name in names if name in PYTORCH]
    if not planted:
        return
    gains, why = measured_in_turn(options, planted)
    if gains is None:
        checks.add("measured", False, why)
        return
    for name in planted:
        cases, why = recorder.advised(name, [sys.executable, PLANTED, "--defect", name])
        if cases is None:
            checks.add(name, False, why)
            continue
        checks.add(name, *judge(cases, name, gains[name]))
    for label, arguments in (("clean", []), ("clean-fp32", ["--fp32"]), ("clean-light", ["--light"])):
        cases, why = recorder.advised(label, [sys.executable, PLANTED, *arguments])
        checks.add(label, *(silent(cases, planted) if cases is not None else (False, why)))


def check_trainer(options, checks, recorder, names):
    planted = [name for name in names if name in TRAINER]
    for name in planted:
        gain = trainer_gain(options, name)
        cases, why = recorder.advised(name, [*trainer(options), *TRAINER[name], "--steps", "60"])
        if cases is None or gain is None:
            checks.add(name, False, why or "the trainer said no time")
            continue
        checks.add(name, *judge(cases, name, gain))
    if planted:
        cases, why = recorder.advised("clean-trainer", [*trainer(options), "--steps", "60"])
        checks.add("clean-trainer", *(silent(cases, [*TRAINER, *PYTORCH]) if cases is not None else (False, why)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--only")
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    options = parser.parse_args()
    checks = Checks()
    names = chosen(parser, options.only, [*PYTORCH, *TRAINER])
    recorder = Recorder(options)
    check_pytorch(options, checks, recorder, names)
    check_trainer(options, checks, recorder, names)
    checks.finish(options.json)


if __name__ == "__main__":
    main()
