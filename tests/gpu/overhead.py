#!/usr/bin/env python3
"""What recording costs a step: the same program unrecorded and recorded, interleaved ABBA.

usage: overhead.py --ridgeline RIDGELINE [--pairs 10] [--limit 0.01] [--schedule warmup=5,timeline=1000]
                   -- PROGRAM ARGS...

The program must print one JSON line with "median_ms" (gpt2_train --json does). Prints each run, the ratio of each
pair, and the mean ratio with its 95 % confidence interval (bootstrap over the pairs); writes the same as JSON with
--json FILE. Exits 1 if the interval reaches above the limit.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile


RESAMPLES = 20000


def bootstrap_interval(values, share=0.95):
    """Percentile interval of the mean under resampling of the pairs; the seed is fixed, so a table repeats."""
    source = random.Random(1)
    means = sorted(statistics.fmean(source.choices(values, k=len(values))) for _ in range(RESAMPLES))
    edge = int(RESAMPLES * (1 - share) / 2)
    return means[edge], means[-edge - 1]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"overhead: {' '.join(command)} exited {done.returncode}: {done.stderr.strip()[-400:]}")
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    sys.exit(f"overhead: {command[0]} printed no JSON line")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--limit", type=float, default=0.01, help="as a ratio")
    parser.add_argument("--schedule", default="warmup=5,timeline=1000")
    parser.add_argument("--json")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        parser.error("no program given")

    plain, recorded = [], []
    with tempfile.TemporaryDirectory() as directory:
        for pair in range(options.pairs):
            capture = os.path.join(directory, f"{pair}.ridge")
            with_tool = [options.ridgeline, "record", "--schedule", options.schedule, "-o", capture, "--", *program]
            # ABBA: a drift of the clock hits both sides alike.
            order = [(plain, program), (recorded, with_tool)]
            for series, command in order if pair % 2 == 0 else reversed(order):
                series.append(run(command)["median_ms"])
            print(f"pair {pair}: unrecorded {plain[-1]:.3f} ms, recorded {recorded[-1]:.3f} ms, "
                  f"{(recorded[-1] / plain[-1] - 1) * 100:+.2f} %", flush=True)
    ratios = [r / p for r, p in zip(recorded, plain)]
    low, high = bootstrap_interval(ratios)
    summary = {
        "pairs": options.pairs,
        "unrecorded_ms": plain,
        "recorded_ms": recorded,
        "mean_overhead_ratio": statistics.fmean(ratios) - 1,
        "interval_95_ratio": [low - 1, high - 1],
        "median_overhead_ratio": statistics.median(ratios) - 1,
        "min_overhead_ratio": min(ratios) - 1,
        "max_overhead_ratio": max(ratios) - 1,
        "limit_ratio": options.limit,
        "schedule": options.schedule,
        "program": program,
    }
    print(f"timeline tier: mean {summary['mean_overhead_ratio'] * 100:+.2f} %, 95 % interval {(low - 1) * 100:+.2f} .. "
          f"{(high - 1) * 100:+.2f} %, {options.pairs} pairs ({statistics.median(plain):.3f} ms a step unrecorded)")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(summary, file, indent=1)
    sys.exit(1 if high - 1 > options.limit else 0)


if __name__ == "__main__":
    main()
