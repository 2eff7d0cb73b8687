#!/usr/bin/env python3
"""Defects planted into programs, and what `ridgeline advise` says of them.

usage: advice.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--only NAME,...]
A row each. First the steps without a defect: the PyTorch step (planted.py), the same in FP32 with its GEMMs in TF32, a light one, and the
trainer. They pass if every rule is silent. Then a step with one defect each: it passes if its rule finds it, comes first, and promises a
gain within a factor of two of what taking the defect out gains, measured on the same programs unrecorded, in 48 rounds in turn whose mean
is known to half of it. advice-*.json in --out has what was advised of each, whatever the verdict. About 300 s; a row is printed as soon as
it is known. --only healthy: the steps without a defect alone, 80 s.
"""
import os
import sys
from statistics import median

from advised import Recorder, certain, gain_ms, interval_ms, measured_in_turn, promise_of, within_factor, words_of
from common import Checks, chosen, options_of, run

HERE = os.path.dirname(os.path.abspath(__file__))
PLANTED = os.path.join(HERE, "planted.py")
SCHEDULE = "warmup=6,timeline=24,sample=2,replay=9"  # 20 timeline steps and more: what recording costs is measured, where no graph is
PYTORCH = ("sync-in-step", "pageable-copy", "loader-wait", "ugly-dimension", "launch-overhead", "optimiser", "copy-exposed",
           "too-few-blocks", "fp32-gemm")
# Switches of the trainer that take an optimisation out, and the rule that should see it.
TRAINER = {
    "bias-kernel": ["--bias", "separate", "--gelu", "separate"],
    "unfused-attention": ["--attention", "unfused"],
}
# What the switches are held against: one that needs another switch is measured beside the step that has that alone.
TRAINER_WITHOUT = {"bias-kernel": ["--gelu", "separate"], "unfused-attention": []}
RULES = [*PYTORCH, *TRAINER]
# Steps without a defect: the clean step of planted.py with these, and the trainer.
HEALTHY = {"clean": [], "clean-fp32": ["--fp32"], "clean-light": ["--light"], "clean-trainer": None}
NAMES = ["healthy", *RULES]


def judge(cases, rule, measured_ms, interval=0.0):
    """Of what was advised, most first: whether the rule is there and first, and its gain within the factor of one that is known to half of
    itself at least; and in words."""
    place = next((i for i, case in enumerate(cases) if case["rule"] == rule), None)
    if place is None:
        return False, f"not found; measured {measured_ms:.3f} ms; advised: {words_of(cases)}"
    low_ms, told_ms, high_ms = promise_of(cases, rule)
    within = within_factor(told_ms, measured_ms) and certain(measured_ms, interval)
    text = f"{'first' if place == 0 else f'place {place + 1}'}; promised {told_ms:.3f} ms ({low_ms:.3f} to {high_ms:.3f}), measured {measured_ms:.3f} +- {interval:.3f} ms"
    if not certain(measured_ms, interval):
        text += ", which is too uncertain to be judged by"
    if not (within and place == 0):
        text += f"; advised: {words_of(cases)}"
    return within and place == 0, text


def silent(cases):
    """Whether no rule says anything, planted here or not; and what is said."""
    return not cases, "; ".join(f"{case['rule']} {case['net']['mid_ns'] / 1e6:.3f} ms ({case['action']})" for case in cases) or "silent"


def trainer(options):
    return [options.trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none", "--no-cuda-graph",
            "--json"]


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


def check_healthy(options, checks, recorder):
    for label, arguments in HEALTHY.items():
        command = [*trainer(options), "--steps", "60"] if arguments is None else [sys.executable, PLANTED, *arguments]
        cases, why = recorder.advised(label, command)
        checks.add(label, *(silent(cases) if cases is not None else (False, why)))


def check_planted(checks, recorder, name, command, measured_ms, why, interval=0.0):
    cases, failed = recorder.advised(name, command)
    if cases is None or measured_ms is None:
        checks.add(name, False, failed or why or "no time was measured")
        return
    checks.add(name, *judge(cases, name, measured_ms, interval))


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", only=NAMES)
    options = parser.parse_args()
    measured = {}
    checks = Checks(options.json, figures={"measured": measured})
    names = chosen(parser, options.only, NAMES)
    recorder = Recorder(options, "advice", SCHEDULE)
    if "healthy" in names:
        check_healthy(options, checks, recorder)
    for name in (name for name in names if name in PYTORCH):
        series, why = measured_in_turn([PLANTED], [name], 60, "--rounds", "48", "--measured-steps", "20")
        measured.update(series)
        gain = gain_ms(series[name], "with", "without") if name in series else None
        interval = interval_ms(series[name], "with", "without") if name in series else 0.0
        check_planted(checks, recorder, name, [sys.executable, PLANTED, "--with", name], gain, why, interval)
    for name in (name for name in names if name in TRAINER):
        check_planted(checks, recorder, name, [*trainer(options), *TRAINER[name], "--steps", "60"], trainer_gain(options, name), "")
    checks.finish()


if __name__ == "__main__":
    main()
