#!/usr/bin/env python3
"""Both presets of the trainer, recorded and checked: kernel by kernel, beside each other.

usage: presets.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--captures NAIVE FAST]
                  [--also NAME=OPTIONS ...] [--only NAME,...]

Records the naive and the fast preset, 124M, B = 32, T = 1024, and runs `ridgeline check` on both. Prints for each preset the
share of the kernel time at 70 % and at 85 % of peak and its kernels with their verdicts, and each operation's time and
efficiency in both. The fast preset runs without its CUDA graph, if it has one: a graph's kernels are neither replayed one by one
nor in their ranges; the kernels are the same. A row passes if the capture is complete and measured, and the fast one if more
of its kernel time is at 70 % and 85 % than of the naive one's. --captures compares two captures that are there. --also adds the
fast preset with other options (fp8=--precision fp8), --only leaves out what it does not name.
"""
import json
import os
import shlex

from common import Checks, Facts, chosen, options_of, run

# Steps of the naive preset take a second each.
SCHEDULES = {"naive": "warmup=3,timeline=5,sample=2,replay=9", "fast": "warmup=10,timeline=12,sample=4,replay=9"}
STEPS_BEHIND = 3
LEAST_COVERAGE = 0.95  # of the kernel time with both utilisations
KERNEL_WIDTH = 42


def record(options, preset, capture, more):
    schedule = SCHEDULES.get(preset, SCHEDULES["fast"])
    steps = sum(int(part.split("=")[1]) for part in schedule.split(",")) + STEPS_BEHIND
    program = [options.trainer, "--model", "124M", "-B", "32", "-T", "1024", "--preset", "naive" if preset == "naive" else "fast",
               *more, "--no-cuda-graph", "--steps", steps, "--json"]
    if options.plans and preset != "naive":
        program += ["--matmul-search", "full", "--matmul-cache", options.plans]
    return run([options.ridgeline, "record", "--force", "--schedule", schedule, "-o", capture, "--", *program], timeout=280)


def document(options, capture):
    """`ridgeline check` and the report of one capture."""
    check = run([options.ridgeline, "check", "--format", "json", capture])
    report = run([options.ridgeline, "report", "--format", "json", "-o", "-", capture])
    if check.status not in (0, 1):  # 1: the target is missed, which is no failure of the recording
        raise ValueError(f"ridgeline check exited {check.status}: {check.tail()}")
    if report.status != 0:
        raise ValueError(f"ridgeline report exited {report.status}: {report.tail()}")
    return {**json.loads(check.out), "operations": json.loads(report.out)["declared_operations"]}


def shortened(name, width):
    """A kernel without return type, namespaces and arguments; what does not fit is cut from its middle."""
    base, _, rest = name.replace("(anonymous namespace)::", "").replace("void ", "", 1).partition("<")
    name = base.split("(")[0].split("::")[-1] + ("<" + rest.split("(")[0] if rest else "")
    return name if len(name) <= width else name[: width // 2] + "…" + name[len(name) - (width - width // 2 - 1):]


def number(value, form, missing="–"):
    return missing if value is None else form.format(value)


def shares(documents):
    lines = [f"{'':<8} {'step ms':>9} {'launches':>9} {'time ≥70 %':>11} {'time ≥85 %':>11} {'met':>5} {'missed':>7}"]
    for preset, d in documents.items():
        v = d["verdict"]
        lines.append(f"{preset:<8} {d['step']['median_ns'] / 1e6:9.3f} {d['step']['launches']:9d} {100 * v['time_at_target_ratio']:11.1f} "
                     f"{100 * v['time_at_stretch_ratio']:11.1f} {v['met_count'] + v['stretch_count']:5d} {v['missed_count']:7d}")
    return lines


def kernels(preset, d):
    lines = [f"kernels of the {preset} preset".ljust(KERNEL_WIDTH) + f"  {'step %':>6} {'ms':>8} {'peak %':>6}  limit   verdict"]
    judged = [row for row in d["rows"] if row["verdict"] != "below_min_share"]
    for row in sorted(judged, key=lambda row: -row["time_ns"]):
        peak = None if row["utilisation_ratio"] is None else 100 * row["utilisation_ratio"]
        lines.append(f"{shortened(row['key'], KERNEL_WIDTH):<{KERNEL_WIDTH}}  {100 * row['step_share_ratio']:6.1f} "
                     f"{row['time_ns'] / 1e6:8.3f} {number(peak, '{:6.1f}'):>6}  {row['limiter']:<7} {row['verdict'].replace('_', ' ')}")
    small = [row for row in d["rows"] if row["verdict"] == "below_min_share"]
    if small:
        lines.append(f"{len(small)} more below {100 * d['verdict']['min_share_ratio']:g} % of the step: "
                     f"{sum(row['time_ns'] for row in small) / 1e6:.3f} ms")
    return lines


def operations(documents):
    """Each operation that either preset declares: time, and how near it is to its declared work at the roofs."""
    by_preset = {preset: {row["operation"]: row for row in d["operations"]} for preset, d in documents.items()}
    by_preset = {preset: {name: row for name, row in rows.items() if row["time_ns"] > 0} for preset, rows in by_preset.items()}
    names = sorted(set().union(*by_preset.values()), key=lambda name: -max(p[name]["time_ns"] for p in by_preset.values() if name in p))
    presets = list(documents)
    lines = [f"{'operation':<26}" + "".join(f"  {preset + ' ms':>9} {'bytes ×':>7} {'eff. %':>6}" for preset in presets)]
    for name in names:
        line = f"{name[:26]:<26}"
        for preset in presets:
            row = by_preset[preset].get(name)
            if row is None:
                line += f"  {'–':>9} {'–':>7} {'–':>6}"
                continue
            reached = None if row["minimum_ratio"] is None else 100 * row["minimum_ratio"]
            line += f"  {row['time_ns'] / 1e6:9.3f} {number(row['bytes_ratio'], '{:7.2f}'):>7} {number(reached, '{:6.1f}'):>6}"
        lines.append(line)
    return lines


def judge(checks, documents, facts):
    for preset, d in documents.items():
        covered = d["quality"]["coverage_ratio"]
        v = d["verdict"]
        complete = facts[preset].complete() and not facts[preset].problem
        checks.add(preset, complete and covered >= LEAST_COVERAGE and v["overall"] != "not_enough_data",
                   f"{d['step']['median_ns'] / 1e6:.3f} ms a step; kernel time at 70 %: {100 * v['time_at_target_ratio']:.1f} %, at 85 %: "
                   f"{100 * v['time_at_stretch_ratio']:.1f} %; {v['missed_count']} of "
                   f"{v['missed_count'] + v['met_count'] + v['stretch_count']} kernels miss 70 %; "
                   f"{'complete' if complete else 'INCOMPLETE'}, {100 * covered:.1f} % measured")
    if {"naive", "fast"} <= set(documents):
        naive, fast = documents["naive"]["verdict"], documents["fast"]["verdict"]
        # The shares themselves are no verdict: FP32 products keep the FMA pipe busy at a tenth of the speed.
        checks.add("shares", documents["fast"]["step"]["median_ns"] < documents["naive"]["step"]["median_ns"],
                   f"fast beside naive: {100 * fast['time_at_target_ratio']:.1f} and {100 * naive['time_at_target_ratio']:.1f} % at 70 %, "
                   f"{100 * fast['time_at_stretch_ratio']:.1f} and {100 * naive['time_at_stretch_ratio']:.1f} % at 85 %; the step is "
                   f"{documents['naive']['step']['median_ns'] / documents['fast']['step']['median_ns']:.1f} times as fast")


def conclude(checks, documents, facts):
    if documents:
        print("\n".join(shares(documents)) + "\n")
        for preset, d in documents.items():
            print("\n".join(kernels(preset, d)) + "\n")
        print("\n".join(operations(documents)) + "\n")
    judge(checks, documents, facts)


def main(argv=None):
    parser = options_of(__doc__, "ridgeline")
    parser.add_argument("--trainer")
    parser.add_argument("--plans", help="the fast preset takes its products' algorithms from this file, which --matmul-search full has left")
    parser.add_argument("--also", metavar="NAME=OPTIONS", action="append", default=[], help="the fast preset with these options too")
    parser.add_argument("--captures", nargs=2, metavar=("NAIVE", "FAST"), help="compare these instead of recording")
    parser.add_argument("--only", help="these of naive, fast and --also, comma-separated")
    options = parser.parse_args(argv)
    if not options.captures and not options.trainer:
        parser.error("give --trainer, or --captures")
    documents, facts = {}, {}
    checks = Checks(options.json, lambda: conclude(checks, documents, facts))
    presets = {"naive": [], "fast": []}
    for text in options.also:
        name, equals, value = text.partition("=")
        if not (name.isidentifier() and equals):
            parser.error(f"--also {text}: not NAME=OPTIONS")
        presets[name] = shlex.split(value)
    presets = {name: presets[name] for name in chosen(parser, options.only, presets)}
    for i, (preset, more) in enumerate(presets.items()):
        capture = options.captures[i] if options.captures else os.path.join(options.out, f"preset-{preset}.ridge")
        if not options.captures:
            done = record(options, preset, capture, more)
            if done.status != 0:
                checks.add(preset, False, f"ridgeline record exited {done.status}: {done.tail()}")
                continue
        try:
            documents[preset], facts[preset] = document(options, capture), Facts(capture)
        except (ValueError, KeyError, OSError) as error:
            checks.add(preset, False, str(error))
    checks.finish(presets={preset: {"step": d["step"], "verdict": d["verdict"], "rows": d["rows"], "operations": d["operations"]}
                             for preset, d in documents.items()})


if __name__ == "__main__":
    main()
