#!/usr/bin/env python3
"""From a recording to advice to a faster step: the first advice for four programs, carried out.

usage: carried_out.py --ridgeline RIDGELINE [--out DIR] [--json FILE] [--only gpt2,resnet50,triton,cutlass]
Two are as people first write them (first_version.py), two of kernels that no rule was made on (held_out.py). Each is recorded as it is; the
first case of `ridgeline advise` that has a remedy there is carried out, and what it gains is measured on unrecorded runs, in turn. A row
passes if the measured gain lies in the promised interval or within a factor of two of its middle. What was advised, ranked and measured is
left in --out, whatever the verdict. 160 s.
"""
import os
import sys
from statistics import mean, stdev

from advised import Recorder, differences, gain_ms, measured_in_turn, promise_of, within_factor, words_of
from common import Checks, chosen, options_of

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST_VERSION, HELD_OUT = (os.path.join(HERE, name) for name in ("first_version.py", "held_out.py"))
SCHEDULE = "warmup=8,timeline=60,sample=4,replay=9"  # of a host-bound program the median is not known from fewer
PROGRAMS = {"gpt2": FIRST_VERSION, "resnet50": FIRST_VERSION, "triton": HELD_OUT, "cutlass": HELD_OUT}
# The rules whose advice first_version.py can carry out; held_out.py has its own.
REMEDIES = ("launch-overhead", "sync-in-step", "optimiser", "fp32-gemm", "pageable-copy", "copy-exposed", "unfused-attention", "casts",
            "fold-elementwise", "bias-kernel", "faster-library")
STEPS = {"triton": "500"}  # none waits for the GPU: the CPU is far ahead until its queue of launches is full
HELD_OUT_REMEDIES = ("fp32-gemm", "fold-elementwise", "too-few-blocks", "casts")


def judged(promised, gain):
    low, mid, high = promised
    return low <= gain <= high or within_factor(mid, gain)


def carry_out(checks, recorder, name):
    """Adds the row; returns what was promised and measured, None if it did not come to that."""
    program = PROGRAMS[name]
    remedies = REMEDIES if program == FIRST_VERSION else HELD_OUT_REMEDIES
    cases, why = recorder.advised(name, [sys.executable, program, name, "--steps", STEPS.get(name, "140")])
    if cases is None:
        return checks.add(name, False, why)
    for verb in ("rank", "steps", "roofline", "advise"):
        recorder.keep(name, f"-{verb}.txt", verb)
    # In the order of the advice, so that what has no remedy here is said and not passed over.
    rules = list(dict.fromkeys(case["rule"] for case in cases))
    rule = next((rule for rule in rules if rule in remedies), None)
    if rule is None:
        return checks.add(name, False, f"no remedy for what was advised: {words_of(cases)}")
    measured, why = measured_in_turn([program, name], [rule], 120, "--rounds", "4", "--measured-steps", "20")
    if rule not in measured:
        return checks.add(name, False, why)
    series, promised = measured[rule], promise_of(cases, rule)
    gain = gain_ms(series, "without", "with")
    checks.add(name, judged(promised, gain),
               f"{rule}, place {rules.index(rule) + 1}: promised {promised[1]:.2f} ms ({promised[0]:.2f} to {promised[2]:.2f}), gained {gain:.2f} "
               f"+- {stdev(differences(series, 'without', 'with')):.2f} of {mean(series['without']):.2f} ms; advised: {words_of(cases)}")
    return {"rule": rule, "promised_ms": promised, "series": series, "advised": words_of(cases)}


def main():
    parser = options_of(__doc__, "ridgeline", only=list(PROGRAMS))
    options = parser.parse_args()
    figures = {}
    checks = Checks(options.json, figures={"programs": figures})
    recorder = Recorder(options, "carried-out", SCHEDULE, budget_s=5)
    for name in chosen(parser, options.only, list(PROGRAMS)):
        figures[name] = carry_out(checks, recorder, name)
    checks.finish()


if __name__ == "__main__":
    main()
