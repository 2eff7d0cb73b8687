#!/usr/bin/env python3
"""Ridgeline, PyTorch's profiler and Nsight Compute on the same PyTorch step: what each costs, and whether they agree.

usage: profilers.py --ridgeline RIDGELINE --capture FILE --ncu-csv FILE --ncu-seconds S --record-seconds S
                    [--out DIR] [--json FILE] -- PROGRAM...

PROGRAM is examples/pytorch_gpt2.py with its arguments; FILE a recording of it and ncu's CSV of one of its steps. Runs the
program alone, under `record` with timeline only, and under PyTorch's profiler, and prints one table of costs and one of
kernels. Verdicts: both timelines have the same launches of every kernel; the step's kernel time agrees within 5 % (they
are different runs, at different clocks); ncu's rows are the step's.
"""
import argparse
import json
import os
import statistics

import crosscheck
import ncu
from common import Checks, kernel_base, open_capture, options_of, run

SHOWN = 10
TORCH = "PyTorch's profiler, 5 steps"


def torch_kernels(path):
    """{name: (launches a step, ns a step)} of PyTorch's profiler, ms of its steps."""
    with open(path) as file:
        data = json.load(file)
    totals = {}
    for kernel in data["kernels"]:
        if kernel["name"].startswith(("Memcpy", "Memset")):
            continue
        count, ns = totals.get(kernel_base(kernel["name"]), (0, 0))
        totals[kernel_base(kernel["name"])] = (count + 1, ns + kernel["ns"])
    steps = data["steps"]
    return {name: (count / steps, ns / steps) for name, (count, ns) in totals.items()}, statistics.median(data["step_ms"])


def main():
    parser = options_of(__doc__, "ridgeline", "capture", "ncu-csv")
    parser.add_argument("--ncu-seconds", type=float, required=True, help="wall time of ncu's run")
    parser.add_argument("--record-seconds", type=float, required=True, help="wall time of the recording")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    checks = Checks(options.json)
    kernels_path = os.path.join(options.out, "torch-profiler.json")
    timeline_path = os.path.join(options.out, "profilers-timeline.ridge")
    alone = run([*program, "--json"])
    timeline = run([options.ridgeline, "record", "--force", "--tiers", "T0", "--schedule", "warmup=5,timeline=100000", "-o", timeline_path,
                    "--", *program, "--json"])
    torch = run([*program, "--json", "--torch-profiler", kernels_path])
    for name, done in (("alone", alone), ("record", timeline), ("torch", torch)):
        if done.status != 0 or done.last_json() is None:
            checks.add(name, False, f"exit {done.status}: {done.tail()}")
            checks.finish()

    places = crosscheck.step_of(open_capture(options.capture))
    found, matched = ncu.align([key[1] for key in sorted(places)], ncu.read(options.ncu_csv))
    mine = {}  # name -> launches, T0 ns, T2 bytes, ncu ns, ncu bytes, of one step
    for key, launch in places.items():
        entry = mine.setdefault(kernel_base(key[1]), {"launches": 0, "t0_ns": 0, "t2_bytes": 0, "ncu_ns": 0, "ncu_bytes": 0})
        row = found.get(key[0], {"ns": float("nan"), "read": 0, "write": float("nan")})
        entry["launches"] += 1
        entry["t0_ns"] += launch.ns()
        entry["t2_bytes"] += launch.t2_bytes() if launch.t2_bytes() is not None else float("nan")
        entry["ncu_ns"] += row["ns"]
        entry["ncu_bytes"] += row["read"] + row["write"]
    theirs, torch_ms = torch_kernels(kernels_path)

    base_ms = alone.last_json()["median_ms"]
    costs = [
        {"tool": "program alone", "step_ms": base_ms, "seconds": alone.seconds},
        {"tool": "ridgeline, timeline", "step_ms": timeline.last_json()["median_ms"], "seconds": timeline.seconds},
        {"tool": "ridgeline, timeline + T1 + T2", "step_ms": None, "seconds": options.record_seconds},
        {"tool": TORCH, "step_ms": torch_ms, "seconds": torch.seconds},
        {"tool": "ncu, 3 metrics, one step", "step_ms": None, "seconds": options.ncu_seconds},
    ]
    print(f"{'tool':<32} {'ms a step':>10} {'':>8} {'wall s':>8} {'on top s':>9}")
    for row in costs:
        step = f"{row['step_ms']:10.3f} {100 * (row['step_ms'] / base_ms - 1):+7.2f}%" if row["step_ms"] else f"{'-':>10} {'':>8}"
        print(f"{row['tool']:<32} {step} {row['seconds']:8.1f} {row['seconds'] - alone.seconds:+9.1f}")
    print(f"\n{'kernel':<44} {'n':>4} {'T0 us':>9} {'torch us':>9} {'diff %':>7} {'ncu us':>9} {'T2 MB':>10} {'ncu MB':>10} {'diff %':>7}")
    kernels = []
    for name, entry in sorted(mine.items(), key=lambda item: -item[1]["t0_ns"]):
        count, ns = theirs.get(name, (0, float("nan")))
        kernels.append({"kernel": name, **entry, "torch_launches": count, "torch_ns": ns})
    for row in kernels[:SHOWN]:
        print(f"{row['kernel'][:44]:<44} {row['launches']:>4} {row['t0_ns'] / 1e3:9.1f} {row['torch_ns'] / 1e3:9.1f} "
              f"{100 * (row['t0_ns'] / row['torch_ns'] - 1):+7.2f} {row['ncu_ns'] / 1e3:9.1f} {row['t2_bytes'] / 1e6:10.2f} "
              f"{row['ncu_bytes'] / 1e6:10.2f} {100 * (row['t2_bytes'] / row['ncu_bytes'] - 1):+7.2f}")
    print()
    t0, torch_total = sum(row["t0_ns"] for row in kernels), sum(ns for _, ns in theirs.values())
    missing = [row["kernel"] for row in kernels if row["torch_launches"] != row["launches"]]
    checks.add("records", not missing, f"{len(kernels)} kernel names, {sum(row['launches'] for row in kernels)} launches a step; PyTorch's profiler "
               f"has other counts for {len(missing)}" + (f" (first: {missing[0][:60]})" if missing else ""))
    checks.add("durations", abs(t0 / torch_total - 1) <= 0.05,
               f"kernel time of a step: ridgeline {t0 / 1e6:.3f} ms, PyTorch's profiler {torch_total / 1e6:.3f} ms ({100 * (t0 / torch_total - 1):+.2f} %)")
    checks.add("ncu-match", matched >= 0.99 * len(places), f"{matched} of {len(places)} launches found in ncu's rows; ncu took "
               f"{(options.ncu_seconds - alone.seconds) / max(matched, 1) * 1e3:.0f} ms a launch on top")
    overhead = {row["tool"]: row["step_ms"] / base_ms - 1 for row in costs if row["step_ms"]}
    checks.add("cost", True, f"a step costs {100 * overhead['ridgeline, timeline']:+.2f} % under ridgeline's timeline, "
               f"{100 * overhead[TORCH]:+.2f} % under PyTorch's profiler")
    os.unlink(timeline_path)
    checks.finish(costs=costs, kernels=kernels)


if __name__ == "__main__":
    main()
