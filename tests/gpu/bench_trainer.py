#!/usr/bin/env python3
"""ms a step of the trainer: both presets, every switch alone, larger sizes, PyTorch beside it, interleaved.

usage: bench_trainer.py --trainer GPT2_TRAIN [--pytorch-program FILE] [--seconds 300] [--out DIR] [--json FILE]
                        [--from-naive] [--full-search] [--no-sustained] [--sustain ROW,...] [--deadline SECONDS] [--only ROW,...] [--list]

The first round runs every row with at least 30 timed steps; further rounds follow while --seconds last, in the opposite order,
so that a drift of clock or temperature falls on all rows. The fast preset runs again between them: each row's factor is
against the fast runs next to it, and how far those lie apart is printed. Steps are timed on the GPU, gaps included; the first
ones, in which libraries build their plans, are left out. So a figure is of a fresh process, whose first steps the power limit
lets run faster than it will later: the fast preset and PyTorch run once more for 220 steps or 11 seconds, of which the last 100 give a
sustained figure beside the main one, with joules a step by the card's counter; --sustain names rows that do so too. A row that is rejected or fails is a FAIL with its line, and the exit status is then 1.
It ends by --deadline: rows for which there is no time are a FAIL that says so, and the time of the long runs is kept free. The
JSON is written again after every row; SIGTERM and SIGINT end the run under way and print the table of what has run.
MFU: (6N + 6LCT) FLOPs a token over the dense peak of the precision that the trainer prints (989.4 TFLOP/s in BF16); PyTorch's
by the trainer's FLOPs a token and BF16 peak.
"""
import argparse
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time

from common import kill_all, run

LEAST_STEPS = 30
WARM_STEPS = 5   # as the trainer's own summary leaves out
PYTORCH_WARM_STEPS = 10
SLOW_WARM_STEPS = 2  # of rows whose step takes a second: they build no plans
FAST_EVERY = 5   # rows between two runs of the fast preset
SUSTAINED_STEPS, SUSTAINED_LAST = 220, 100  # of a run, at least; and those at its end that count
SUSTAINED_S = 11  # at least, too: the card's counter of energy wants ten seconds
SLACK = 1.2      # a run may take so many times what it took before

# The slow sides of the switches: option and value as on the command line.
SLOW_SIDES = (
    "--gelu own", "--gelu fused", "--gelu separate", "--attention cudnn", "--attention own", "--attention unfused", "--matmul cublas", "--matmul-search off",
    "--bias separate", "--vocabulary plain", "--kernels scalar", "--residual fused", "--residual separate", "--classifier separate",
    "--bias-gradient naive", "--bias-gradient fused", "--bias-gradient separate", "--optimizer per-tensor", "--recompute 1",
    "--recompute 2", "--cuda-graph", "--no-cuda-graph", "--l2-persist none", "--l2-persist residual",
    "--precision fp8", "--precision fp8 --attention cudnn", "--precision fp8 --fp8-classifier none",
    "--precision fp8 --fp8-hidden bf16", "--precision fp8 --fp8-classifier none --fp8-hidden bf16", "--precision fp8 --residual fused", "--precision tf32", "--precision fp32", "--stochastic-rounding", "--deterministic")
# The fast sides, given beside --preset naive. With BF16 come the kernels that need it.
FAST_SIDES = (
    "--precision tf32", "--precision bf16", "--matmul cublaslt", "--matmul cublaslt --bias fused",
    "--matmul cublaslt --bias fused --gelu fused", "--attention own", "--precision bf16 --attention cudnn", "--precision bf16 --attention hopper", "--vocabulary padded",
    "--kernels packed", "--residual fused", "--matmul cublaslt --bias fused --residual gemm", "--classifier fused", "--bias-gradient separate", "--optimizer multi", "--cuda-graph")
FAST, NAIVE, PYTORCH = "preset fast", "preset naive", "PyTorch"


class Row:
    """One line of the table: how it is run and the steps of all its runs."""

    def __init__(self, name, arguments, group, batch=32, pytorch=False, slow=False):
        self.name, self.arguments, self.group, self.batch = name, arguments, group, batch
        self.pytorch, self.slow = pytorch, slow
        self.command, self.failure, self.summary = [], "", {}
        # {"time_s": since the start, "step_ms": [...], "fast_run_before": position of the fast preset's run before it}
        self.runs = []
        self.sustained, self.sustained_failure = None, ""  # as one of `runs`, with its command and all steps
        self.wall_s = 0.0  # of the last short run

    def times(self):
        return [ms for one in self.runs for ms in one["step_ms"]]

    def long_s(self):
        """What a sustained run will take, judged by the last short one."""
        steps = self.runs[-1]["step_ms"]
        return self.wall_s + (self.long_steps() - len(steps)) * quantile(steps, 0.5) / 1e3

    def long_steps(self):
        return max(SUSTAINED_STEPS, math.ceil(1e3 * SUSTAINED_S / quantile(self.runs[-1]["step_ms"], 0.5)))


class Ended(BaseException):
    """SIGTERM or SIGINT came."""


def end(number, _):
    signal.signal(number, signal.SIG_IGN)  # once is enough: what has run is still to be printed
    raise Ended(number)


def quantile(values, share):
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def switch_of(option):
    """'--gelu fused' -> ('gelu', 'fused'), as the trainer's JSON names it; flags are on or off."""
    words = option.split()
    name = words[0].removeprefix("--")
    if len(words) == 1:
        return (name.removeprefix("no-"), "off" if name.startswith("no-") else "on")
    return name, words[1]


def value_text(value):
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def rows_of(options):
    """All rows, in the order they run: what the fast preset does already is left out once its switches are known."""
    # What the others are read against comes first, in case the time runs out.
    rows = [Row(NAIVE, ["--preset", "naive"], "preset", slow=True)]
    if options.pytorch_program:
        rows.append(Row(PYTORCH, [], "PyTorch", pytorch=True))
    rows.append(Row("B = 64", ["--preset", "fast"], "size", batch=64))
    rows.append(Row("774M at B = 16", ["--preset", "fast", "--model", "774M"], "size", batch=16))
    rows.append(Row("fp8 at B = 64", ["--preset", "fast", "--precision", "fp8"], "size", batch=64))
    rows.append(Row("fp8 774M at B = 16", ["--preset", "fast", "--model", "774M", "--precision", "fp8"], "size", batch=16))
    for option in SLOW_SIDES:
        rows.append(Row(option, ["--preset", "fast", *option.split()], "from fast", slow="fp32" in option))
    if options.from_naive:
        for option in FAST_SIDES:
            rows.append(Row("naive " + option, ["--preset", "naive", *option.split()], "from naive", slow=True))
    if options.only:
        wanted = named(options.only, rows)
        rows = [row for row in rows if row.name in wanted]
    return rows


def named(names, rows):
    """The rows of a comma-separated list."""
    wanted = [name.strip() for name in names.split(",")]
    unknown = [name for name in wanted if name not in [row.name for row in rows]]
    if unknown:
        raise ValueError(f"no row '{unknown[0]}': --list prints them")
    return wanted


class Bench:
    def __init__(self, options, say, keep=lambda bench: None):
        self.options, self.say, self.keep = options, say, keep  # keep: called after each row
        self.begin = time.monotonic()
        self.fast = Row(FAST, ["--preset", "fast"], "preset")
        self.rows = rows_of(options)
        self.also_long = named(options.sustain, self.rows) if options.sustain else []
        self.search_s = None

    def passed_s(self):
        return time.monotonic() - self.begin

    def to_sustain(self):
        long = lambda row: row.pytorch or row.name in self.also_long
        rows = [self.fast, *filter(long, self.rows)] if self.options.sustained else []
        return [row for row in rows if row.runs and not (row.failure or row.sustained or row.sustained_failure)]

    def left_s(self):
        """Until the deadline, less what the long runs still to come will take."""
        return self.options.deadline - self.passed_s() - SLACK * sum(row.long_s() for row in self.to_sustain())

    def fits(self, row):
        """A row that has not run yet may take as long as the fast preset."""
        return self.left_s() > SLACK * (row.wall_s or self.fast.wall_s)

    def too_late(self):
        return f"not run: no time left before the deadline of {self.options.deadline:.0f} s"

    def tell(self, name, times):
        """What survives if nothing else does."""
        self.say(f"{self.passed_s():5.0f} s  {name}: {quantile(times, 0.5):.3f} ms ({quantile(times, 0.1):.1f}..{quantile(times, 0.9):.1f})")

    def command(self, row, steps, log):
        o = self.options
        if row.pytorch:
            return [sys.executable, o.pytorch_program, "--mode", "compile", "--master-weights", "--attention", "cudnn", "--clip", "1.0",
                    "-B", str(row.batch), "-T", "1024", "--steps", str(steps), "--json"]
        cache = os.path.join(o.out, "bench-plans")
        search = ["--matmul-search", "full"] if o.full_search and "--matmul-search" not in row.arguments else []
        size = [] if "--model" in row.arguments else ["--model", "124M"]
        return [o.trainer, *size, "-B", str(row.batch), "-T", "1024", "--steps", str(steps), "--json", "--log", log,
                "--matmul-cache", cache, *search, *row.arguments]

    def run_steps(self, row, steps, left_s):
        """(seconds at the start, ms of all steps, summary) of one run; ValueError with what went wrong."""
        log = os.path.join(self.options.out, "bench-steps.jsonl")
        if os.path.exists(log):
            os.remove(log)
        row.command = self.command(row, steps, log)
        at = self.passed_s()
        done = run(row.command, timeout=max(min(self.options.limit, left_s), 1))
        summary = done.last_json()
        if done.status != 0 or not summary:
            raise ValueError(re.sub(r"\s+", " ", f"exit {done.status}: {done.tail()}"))
        if row.pytorch:
            times = summary.pop("step_ms", [])
        else:
            with open(log) as file:
                times = [step["time_ms"] for step in map(json.loads, file) if "time_ms" in step]
        if len(times) != steps or not all(ms > 0 for ms in times):
            raise ValueError(f"{len(times)} usable step times of {steps}")
        return round(at, 2), [round(ms, 4) for ms in times], summary

    def measure(self, row):
        """One run; False if it failed."""
        warm = PYTORCH_WARM_STEPS if row.pytorch else SLOW_WARM_STEPS if row.slow else WARM_STEPS
        try:
            at, times, row.summary = self.run_steps(row, warm + LEAST_STEPS, self.left_s())
        except ValueError as error:
            row.failure = str(error)
            return False
        row.wall_s = self.passed_s() - at
        row.runs.append({"time_s": at, "step_ms": times[warm:]})
        if row is not self.fast:
            row.runs[-1]["fast_run_before"] = len(self.fast.runs) - 1
        self.tell(row.name, row.runs[-1]["step_ms"])
        return True

    def sustain(self):
        """A long run of the fast preset, of PyTorch and of the rows asked for each."""
        for row in self.to_sustain():
            left_s = self.options.deadline - self.passed_s()
            if left_s < row.long_s():
                row.sustained_failure = self.too_late()
                continue
            short = row.command
            try:
                at, times, summary = self.run_steps(row, row.long_steps(), left_s)
                row.sustained = {"time_s": at, "command": shlex.join(map(str, row.command)), "step_ms": times,
                                 "joules_per_step": summary.get("joules_per_step"), "energy_seconds": summary.get("energy_seconds")}
                self.tell(f"{row.name}, sustained (last {SUSTAINED_LAST} of {len(times)} steps)", times[-SUSTAINED_LAST:])
            except ValueError as error:
                row.sustained_failure = str(error)
            finally:
                row.command = short
            self.keep(self)

    def search(self):
        """Fills the cache of plans; False if it failed."""
        begin = self.passed_s()
        command = self.command(self.fast, 2, os.path.join(self.options.out, "bench-search.jsonl"))
        done = run(command, timeout=max(min(400, self.left_s()), 1))
        self.search_s = self.passed_s() - begin
        self.say(f"{self.passed_s():5.0f} s  full search of the products' algorithms: {self.search_s:.0f} s")
        if done.status != 0:
            self.fast.failure = f"--matmul-search full: exit {done.status}: {done.tail()}"
        return done.status == 0

    def drop_what_is_fast(self):
        """Rows that give what the fast preset has anyway."""
        switches = self.fast.summary.get("switches", {})
        kept = []
        for row in self.rows:
            if row.group == "from fast":
                name, value = switch_of(row.name)
                mine = next((value_text(v) for k, v in switches.items() if k.replace("_", "-") == name), None)
                if mine == value:
                    continue
            kept.append(row)
        self.rows = kept

    def round(self, number):
        """All rows once, the fast preset at both ends and between; False if the time ran out."""
        order = self.rows if number % 2 == 0 else self.rows[::-1]
        alone = 0  # rows measured since the fast preset was
        if not self.measure(self.fast):
            return False
        for i, row in enumerate(order):
            late = not self.fits(row)
            if late and number > 0:
                return False
            if late and not row.failure:
                row.failure = self.too_late()
            if not row.failure and self.measure(row):
                alone += 1
            elif not row.runs or len(row.runs) <= number:
                self.say(f"{self.passed_s():5.0f} s  {row.name}: FAIL  {row.failure}")
            if (alone == FAST_EVERY or (alone and i + 1 == len(order))) and self.fits(self.fast):
                alone = 0
                if not self.measure(self.fast):
                    return False
            self.keep(self)
            if number > 0 and self.passed_s() > self.options.seconds:
                return False
        return True

    def all_rounds(self):
        number, length = 0, 0.0
        while number == 0 or self.passed_s() + length < self.options.seconds:
            begin = self.passed_s()
            if number == 0:
                if self.options.full_search and not self.search():
                    return
                # The first run also fills the caches and says what the fast preset is.
                if not self.measure(self.fast):
                    return
                self.drop_what_is_fast()
                self.fast.runs.clear()
            elif not self.fits(self.fast):
                return
            whole = self.round(number)
            if number == 0:
                self.sustain()
            if not whole:
                return
            length = self.passed_s() - begin
            number += 1


def speed(times, row, fast):
    """Quantiles of some steps of a row, and what follows from their median."""
    median = quantile(times, 0.5)
    tokens_per_s = row.batch * 1024 / median * 1e3
    # PyTorch trains the same model: it is held against the same FLOPs and the same peak.
    source = fast.summary if row.pytorch else row.summary
    flops, peak = source.get("flops_per_token"), source.get("mfu_peak_flops_per_s")
    return {"timed_steps": len(times), "median_ms": median, "p10_ms": quantile(times, 0.1), "p90_ms": quantile(times, 0.9),
            "tokens_per_s": tokens_per_s, "mfu_ratio": tokens_per_s * flops / peak if flops and peak else None,
            "mfu_peak_flops_per_s": peak, "flops_per_token": flops}


def sustained_figures(row, fast):
    """None if the row was not asked for a long run."""
    if row.sustained_failure:
        return {"failure": row.sustained_failure}
    if not row.sustained:
        return None
    last = row.sustained["step_ms"][-SUSTAINED_LAST:]
    out = {"failure": None, **speed(last, row, fast), "against_fast": None,
           "joules_per_step": row.sustained.get("joules_per_step"), "run": row.sustained}
    if row is not fast and fast.sustained:
        out["against_fast"] = out["median_ms"] / quantile(fast.sustained["step_ms"][-SUSTAINED_LAST:], 0.5)
    return out


def figures(row, fast):
    """What the table and the JSON say of one row."""
    times = row.times()
    out = {"row": row.name, "group": row.group, "command": shlex.join(map(str, row.command)), "failure": row.failure or None,
           "batch": row.batch, "sequence": 1024, "runs": row.runs, "sustained": sustained_figures(row, fast)}
    if not times:
        return out
    fast_medians, beside = [quantile(one["step_ms"], 0.5) for one in fast.runs], []
    if row is not fast:
        for one in row.runs:
            near = fast_medians[one["fast_run_before"]:][:2]
            beside.append(quantile(one["step_ms"], 0.5) * len(near) / sum(near))
    mine, theirs = row.summary.get("switches", {}), fast.summary.get("switches", {})
    out.update(speed(times, row, fast))
    out.update({
        "against_fast": sum(beside) / len(beside) if beside and row.group != "size" else None,
        "final_loss": row.summary.get("final_loss"), "switches": mine,
        "differs_from_fast": {k: value_text(v) for k, v in mine.items() if theirs.get(k) != v}})
    return out


def other_switches(row):
    """Switches that changed beside those asked for."""
    asked = set()
    for word in row["command"].split():
        if word.startswith("--"):
            asked.add(word.removeprefix("--").removeprefix("no-").replace("-", "_"))
    if row["group"] != "from fast":
        return {}
    return {k: v for k, v in row.get("differs_from_fast", {}).items() if k.replace("-", "_") not in asked}


def line(name, row):
    """A row's, or its sustained figures'."""
    name = name if len(name) <= 30 else name[:29] + "…"
    if row["failure"]:
        return f"{name:<30} FAIL  {row['failure']}"[:80]
    mfu = "–" if row["mfu_ratio"] is None else f"{100 * row['mfu_ratio']:.1f}"
    factor = "" if row["against_fast"] is None else f"{row['against_fast']:.3f}"
    return (f"{name:<30} {row['median_ms']:8.3f} {row['p10_ms']:8.3f} {row['p90_ms']:8.3f} "
            f"{row['tokens_per_s'] / 1e3:7.1f} {mfu:>6} {factor:>6}")


def convention(sustained):
    """Which steps the figures are of."""
    fresh = f"Medians of {LEAST_STEPS} steps a fresh process, its first {WARM_STEPS} left out (PyTorch {PYTORCH_WARM_STEPS}, slow {SLOW_WARM_STEPS})"
    if not sustained:
        return [fresh + "."]
    return [fresh + ";", f"sustained: the last {SUSTAINED_LAST} of {SUSTAINED_STEPS} or more, when the power limit has settled."]


def table(rows):
    """At most 80 columns."""
    lines = [f"{'':<30} {'ms/step':>8} {'p10':>8} {'p90':>8} {'ktok/s':>7} {'MFU %':>6} {'÷ fast':>6}", "─" * 79]
    group = rows[0]["group"] if rows else ""
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            lines.append("")
        lines.append(line(row["row"], row))
        if row["sustained"]:
            joules = row["sustained"].get("joules_per_step")
            lines.append(line("  sustained" + (f", {joules:.1f} J a step" if joules else ""), row["sustained"]))
    for row in rows:
        if others := other_switches(row):
            lines.append(f"{row['row']}: with it {', '.join(f'{k} {v}' for k, v in others.items())}"[:80])
    return lines


def machine():
    """GPU and driver, and this source's commit."""
    def ask(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            return ""
    fields = [part.strip() for part in (ask("nvidia-smi", "--query-gpu=name,driver_version,power.limit", "--format=csv,noheader")
                                        .splitlines() or [""])[0].split(",")]
    fields += [""] * (3 - len(fields))
    return {"gpu": fields[0], "driver": fields[1], "power_limit": fields[2],
            "commit": ask("git", "rev-parse", "--short=10", "HEAD"), "dirty": bool(ask("git", "status", "--porcelain", "-uno"))}


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--pytorch-program", help="examples/pytorch_gpt2.py; without it PyTorch is left out")
    parser.add_argument("--seconds", type=float, default=300, help="further rounds start and go on until then")
    parser.add_argument("--deadline", type=float, default=3600, help="seconds by which it ends; rows without time before it do not run")
    parser.add_argument("--limit", type=float, default=200, help="seconds of one run")
    parser.add_argument("--out", default=".")
    parser.add_argument("--json")
    parser.add_argument("--from-naive", action="store_true", help="also the naive preset with each fast side alone")
    parser.add_argument("--full-search", action="store_true", help="plans of --matmul-search full for all rows (over a minute, once)")
    parser.add_argument("--sustained", action=argparse.BooleanOptionalAction, default=True,
                        help="also a long run of the fast preset and of PyTorch")
    parser.add_argument("--sustain", help="these rows too, comma-separated")
    parser.add_argument("--only", help="these rows, comma-separated, beside the fast preset")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    return parser.parse_args(argv)


def result(bench, where, state):
    """All that is known so far, as the JSON has it."""
    order = {"preset": 0, "from fast": 1, "size": 2, "PyTorch": 3, "from naive": 4}
    rows = [figures(row, bench.fast) for row in sorted([bench.fast, *bench.rows], key=lambda row: order[row.group])]
    if state == "complete":
        for row in rows:  # a fast preset that fails ends everything before its rows have run
            if not row["failure"] and "median_ms" not in row:
                row["failure"] = "not run: the fast preset failed"
    fast_medians = [quantile(one["step_ms"], 0.5) for one in bench.fast.runs]
    return {**where, "state": state, "convention": "(6N + 6LCT) FLOPs a token over mfu_peak_flops_per_s",
            "steps": " ".join(convention(bench.options.sustained)), "least_steps": LEAST_STEPS, "full_search_s": bench.search_s,
            "fast_drift_ratio": max(fast_medians) / min(fast_medians) - 1 if fast_medians else None,
            "seconds": round(bench.passed_s(), 1), "not_run": [row["row"] for row in rows if not row["failure"] and "median_ms" not in row],
            "rows": [row for row in rows if row["failure"] or "median_ms" in row]}


def write(path, content):
    """In one step: whoever looks, or whatever ends this, finds the old file or the new one."""
    with open(path + ".new", "w") as file:
        json.dump(content, file, indent=1)
    os.replace(path + ".new", path)


def print_result(known, fast_runs):
    print(f"{known['gpu']}, driver {known['driver']}, {known['power_limit']}, commit {known['commit']}"
          f"{' (modified)' if known['dirty'] else ''}")
    print("124M, B = 32, T = 1024 unless named. MFU: (6N + 6LCT) over the dense peak of\nthe precision (BF16 989.4 TFLOP/s). ÷ fast: by the fast runs next to it.\n")
    if known["full_search_s"] is not None:
        print(f"Plans of a full search ({known['full_search_s']:.0f} s, once).\n")
    print("\n".join(table(known["rows"])))
    print("\n" + "\n".join(convention(any(row["sustained"] for row in known["rows"]))))
    if known["fast_drift_ratio"] is not None:
        print(f"The fast preset ran {fast_runs} times; its medians lie {100 * known['fast_drift_ratio']:.1f} % apart.")
    if known["state"] != "complete":
        print(f"{known['state']} after {known['seconds']:.0f} s: {len(known['not_run'])} rows have not run.", flush=True)


def main(argv=None, say=lambda line: print(line, file=sys.stderr, flush=True)):
    options = arguments(argv)
    if options.list:
        print("\n".join(row.name for row in rows_of(options)))
        return 0
    where = machine()

    def keep(bench, state="under way"):
        known = result(bench, where, state)
        if options.json:
            write(options.json, known)
        return known

    try:
        bench = Bench(options, say, keep)
    except ValueError as error:
        print(f"bench_trainer: {error}", file=sys.stderr)
        return 2
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    state, ended = "complete", 0
    try:
        bench.all_rounds()
    except Ended as error:
        ended = error.args[0]
        state = f"Ended early by {signal.Signals(ended).name}"
        kill_all()
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if ended else handler)
    known = keep(bench, state)
    print_result(known, len(bench.fast.runs))
    if ended:
        return 128 + ended
    return 1 if any(row["failure"] or (row["sustained"] and row["sustained"]["failure"]) for row in known["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
