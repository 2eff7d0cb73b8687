#!/usr/bin/env python3
"""Runs of the trainer to hold `ridgeline compare` against: identical code, and one kernel made slower by known amounts.

usage: compare_runs.py build --source DIR --out FILE [--cmake-arguments "--preset portable"]
       compare_runs.py record --ridgeline RIDGELINE --trainer GPT2_TRAIN --out DIR [--seconds 420] [--planted 1,2,3,5,10]
                              [--tiers T0] [--program-arguments "--model 124M -B 32 -T 1024"]
       compare_runs.py judge DIR --ridgeline RIDGELINE [--window 5] [--base p1] [--json FILE]

record: rounds of runs in fresh processes, each with `ridgeline record` (timeline only, 8 steps of warm-up, 12 recorded). A round is
A, each planted amount, and A again; every other round runs backwards, so that a drift falls on all. For --planted the trainer is one that
`build` has made of a commit's source and planted_slowdown.patch: its layernorm_forward moves about that much more, by the environment variable
PLANTED_PERCENT (0 to 50, in steps of 0.05), and results stay the same to the last bit. A of such rounds runs it with nothing to do. The first
rows that have something to do cost about 2 % whatever their number: amounts below are there between two planted ones (judge --base p1). With
--planted "" A is the trainer as it is. Products are cuBLASLt's first choices. The first run of all is not kept. Rounds follow while --seconds last; a run that
fails is a line and is left out, and a round without its two A does not count. DIR holds a capture a run and runs.json. On a machine
with a GPU, about 4 s a run:

  compare_runs.py build --source . --out gpt2_train-planted
  compare_runs.py record --ridgeline build/bin/ridgeline --trainer gpt2_train-planted --out planted --planted 0.5,1,2,3,5,10 --seconds 400
  compare_runs.py record --ridgeline build/bin/ridgeline --trainer build/bin/gpt2_train --out identical --planted "" --seconds 400

judge needs no GPU. A/A: windows of --window rounds that have none in common, A against the A at the other end of the round: verdict and kernels that
were blamed, all of them false alarms. Planted: the first 3, 5 and all rounds: found or not, estimate with its interval beside the mean over
all rounds. The same data by three other rules: Mann-Whitney p < .05, 2 % of the median, and nvbench's rule as its documentation has it (the
medians differ by more than the larger relative spread). Power: pairs drawn anew from the A/A differences of the kernel, with the planted
size added. Exits 1 if more than one of twenty A/A windows raises an alarm.
"""
import argparse
import itertools
import json
import math
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from common import run

KERNEL = "layernorm_forward"
PATCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "planted_slowdown.patch")
WARM, STEPS = 8, 12


def build(options):
    """The trainer of a commit with the patch, built in a work tree of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, "tree")
        git = ["git", "-C", options.source]
        subprocess.run([*git, "worktree", "add", "--detach", "--quiet", tree], check=True)
        try:
            subprocess.run(["git", "-C", tree, "apply", PATCH], check=True)
            subprocess.run(["cmake", "-S", tree, *shlex.split(options.cmake_arguments), "-B", os.path.join(folder, "build"),
                            "-DRIDGELINE_WITH_GUI=OFF", "-DRIDGELINE_BUILD_TESTS=OFF"], cwd=tree, check=True)
            subprocess.run(["cmake", "--build", os.path.join(folder, "build"), "--target", "gpt2_train"], check=True)
            shutil.copy2(os.path.join(folder, "build", "bin", "gpt2_train"), options.out)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", tree], check=True)
    return 0


def record(options):
    os.makedirs(options.out, exist_ok=True)
    percents = [float(text) for text in options.planted.split(",") if text]
    begin = time.monotonic()
    runs, seconds = [], []

    def one(number, kind, keep=True):
        file = os.path.join(options.out, f"r{number:03d}-{kind}.ridge")
        percent = "0" if kind in ("a", "b") else kind[1:]
        planted = {"PLANTED_PERCENT": percent} if percents else {}
        command = [options.ridgeline, "record", "-q", "-f", "-o", file, "--tiers", options.tiers, "--schedule", f"warmup={WARM},timeline={STEPS}",
                   "--", options.trainer, *shlex.split(options.program_arguments), "--steps", str(WARM + STEPS + 2), "--no-cuda-graph",
                   "--matmul-search", "off"]
        done = run(command, planted, timeout=180)
        if done.status != 0:
            print(f"{kind:<6} FAIL  {done.tail()}", flush=True)
            return None
        seconds.append(done.seconds)
        if not keep:
            os.remove(file)
            return None
        print(f"{kind:<6} {done.seconds:5.1f} s  {file}", flush=True)
        return {"round": number, "kind": kind, "file": os.path.basename(file), "start_s": time.monotonic() - begin}

    one(0, "a", keep=False)
    seconds.clear()
    kinds = ["a", *[f"p{percent:g}" for percent in percents], "b"]
    for number in itertools.count(1):
        order = kinds if number % 2 else kinds[::-1]
        if number > options.rounds or time.monotonic() - begin + 1.1 * len(order) * (max(seconds) if seconds else 10) > options.seconds:
            break
        made = [one(number, kind) for kind in order]
        runs += [each for each in made if each]
        with open(os.path.join(options.out, "runs.json"), "w") as file:
            json.dump({"planted": percents, "command": options.program_arguments, "runs": runs}, file, indent=1)
        if not any(made):
            break
    print(f"{len(runs)} runs in {time.monotonic() - begin:.0f} s, {options.out}/runs.json")
    return 0 if runs else 1


def compare(options, first, second):
    """Of two lists of captures: the JSON of `ridgeline compare`."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as project:
        project.write(f"[compare]\nkernel_step_share = {options.kernel_step_share}\n")
        project.flush()
        return printed([options.ridgeline, "compare", *first, "--against", *second, "--format", "json", "--fail-on", "none",
                        "--project", project.name])


def printed(command):
    """What the command printed, as JSON."""
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        sys.exit(f"compare_runs: {done.stderr.strip()}")
    return json.loads(done.stdout)


def kernel_times(options, capture):
    """Kernel family -> median over the timeline steps of its time in a step, ns; and the step's under ''."""
    query = ("SELECT normalised_name, step_index, sum(duration_ns) AS ns FROM v_kernel_step WHERE phase = 'timeline' "
             "GROUP BY normalised_name, step_index")
    done = subprocess.run([options.ridgeline, "sql", capture, query, "--format", "json", "--max-rows", "0"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare_runs: {done.stderr.strip()}")
    times = {}
    for row in json.loads(done.stdout)["rows"]:
        times.setdefault(row["normalised_name"], []).append(row["ns"])
    return {name: statistics.median(values) for name, values in times.items()}


def mann_whitney_p(first, second):
    """Exact two-sided p by the distribution of U without ties; ties count half."""
    u = sum(1.0 if b > a else 0.5 if b == a else 0.0 for a in first for b in second)
    n, m = len(first), len(second)
    # ways[i][u]: to order i of the first and j of the second so that u pairs have the second above, j growing.
    ways = [[1] + [0] * (n * m) for _ in range(n + 1)]
    for j in range(1, m + 1):
        row = [ways[0]]
        for i in range(1, n + 1):
            # The largest is one of the second, above all i of the first, or one of the first.
            row.append([(ways[i][k - i] if k >= i else 0) + row[i - 1][k] for k in range(n * m + 1)])
        ways = row
    total, middle = sum(ways[n]), n * m / 2
    return sum(count for k, count in enumerate(ways[n]) if abs(k - middle) >= abs(u - middle) - 1e-9) / total


def other_rules(first, second):
    """Which of the three rules call a difference one."""
    a, b = statistics.median(first), statistics.median(second)
    spread = max(statistics.stdev(first) / statistics.mean(first), statistics.stdev(second) / statistics.mean(second))
    return {"Mann-Whitney": mann_whitney_p(first, second) < 0.05, "2 %": abs(b / a - 1) > 0.02, "nvbench": abs(b / a - 1) > spread}


def blamed(comparison):
    return [row for row in comparison["rows"] if row["outcome"] in ("regressed", "improved")]


def is_kernel(row):
    return KERNEL in row["kernel"]


def planted_rows(comparison):
    return [row for row in comparison["rows"] if is_kernel(row) and row["time_a_ns"] and row["time_b_ns"]]


def power(differences, planted, pairs, trials=2000):
    """Share of trials in which a t-test of that many pairs, drawn from the centred A/A differences and with the planted size added, finds
    a difference of more than 2 % at p < .05."""
    centre = statistics.mean(differences)
    critical = {3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 10: 2.262, 15: 2.145, 20: 2.093}[pairs]
    random.seed(pairs * 1000 + round(planted * 1e4))
    found = 0
    for _ in range(trials):
        d = [random.choice(differences) - centre + math.log1p(planted) for _ in range(pairs)]
        error = statistics.stdev(d) / math.sqrt(pairs)
        mean = statistics.mean(d)
        found += abs(mean) >= math.log1p(0.02) and (error == 0 or abs(mean) / error > critical)
    return found / trials


def judge(options):
    with open(os.path.join(options.directory, "runs.json")) as file:
        noted = json.load(file)
    rounds = {}
    for each in noted["runs"]:
        rounds.setdefault(each["round"], {})[each["kind"]] = os.path.join(options.directory, each["file"])
    rounds = [rounds[number] for number in sorted(rounds) if {"a", "b"} <= rounds[number].keys()]
    times = {path: kernel_times(options, path) for each in rounds for path in each.values()}
    result = {"rounds": len(rounds), "a_a": [], "planted": [], "other_rules": {}, "power": [], "noise": {}}

    # The first of a round against the last, whichever kind ran first.
    pairs = options.window
    windows = [rounds[i:i + pairs] for i in range(0, len(rounds) - pairs + 1, pairs)]
    alarms = 0
    counts = {"Mann-Whitney": [0, 0], "2 %": [0, 0], "nvbench": [0, 0]}
    for window in windows:
        comparison = compare(options, [each["a"] for each in window], [each["b"] for each in window])
        false = blamed(comparison)
        step_moved = comparison["parts"][0]["outcome"] in ("regressed", "improved")
        alarms += bool(false) or step_moved
        result["a_a"].append({"verdict": comparison["verdict"], "step_ratio": comparison["parts"][0]["change_ratio"],
                              "blamed": [row["kernel"] for row in false]})
        for family in set.intersection(*[set(times[each["a"]]) for each in window]):
            first = [times[each["a"]][family] for each in window]
            second = [times[each["b"]].get(family, 0) for each in window]
            if min(second) <= 0:
                continue
            for rule, said in other_rules(first, second).items():
                counts[rule][0] += said
                counts[rule][1] += 1
    print(f"A/A: {len(windows)} windows of {options.window} pairs, {alarms} with an alarm")
    for rule, (said, of) in counts.items():
        print(f"  {rule:<14} {said} of {of} kernel comparisons called a difference")
    result["other_rules"]["a_a"] = counts

    for percent in noted["planted"]:
        kind = f"p{percent:g}"
        usable = [each for each in rounds if kind in each and (options.base is None or options.base in each)]
        if len(usable) < 3 or (options.base and percent <= float(options.base[1:])):
            continue
        # Whichever A ran next to it in time stands in the middle of the round: A of the beginning, by turns of the end.
        sides = [options.base or ("a" if i % 2 == 0 else "b") for i in range(len(usable))]
        ratios = [times[each[kind]].get(family, 0) / times[each[side]][family] for each, side in zip(usable, sides)
                  for family in times[each[side]] if KERNEL in family and family in times[each[kind]]]
        truth = math.exp(statistics.mean(map(math.log, ratios))) - 1 if ratios else float("nan")
        for pairs in sorted({3, 5, len(usable)}):
            if pairs > len(usable):
                continue
            part = usable[:pairs]
            comparison = compare(options, [each[side] for each, side in zip(part, sides)], [each[kind] for each in part])
            rows = planted_rows(comparison)
            worst = max(rows, key=lambda row: row["time_a_ns"]) if rows else None
            found = any(row["outcome"] == "regressed" for row in rows)
            false = [row["kernel"] for row in blamed(comparison) if not is_kernel(row)]
            first = [sum(v for k, v in times[each[side]].items() if KERNEL in k) for each, side in zip(part, sides)]
            second = [sum(v for k, v in times[each[kind]].items() if KERNEL in k) for each in part]
            rules = other_rules(first, second)
            row = {"planted_ratio": percent / 100, "pairs": pairs, "found": found, "mean_over_all_ratio": truth, "false": false,
                   "estimate_ratio": worst and worst["change_ratio"], "low_ratio": worst and worst["low_ratio"],
                   "high_ratio": worst and worst["high_ratio"], "outcome": worst and worst["outcome"], "cause": worst and worst["cause"],
                   "verdict": comparison["verdict"], "rules": rules}
            result["planted"].append(row)
            estimate = "not matched" if not worst else f"{100 * worst['change_ratio']:+.2f} %"
            if worst and worst["low_ratio"] is not None:
                estimate += f" [{100 * worst['low_ratio']:+.2f}, {100 * worst['high_ratio']:+.2f}]"
            print(f"planted {percent:g} %, {pairs} pairs: {'found' if found else 'not found':<9} {estimate}, over all rounds "
                  f"{100 * truth:+.2f} %, cause {row['cause']}, false {len(false)}; "
                  + ", ".join(f"{rule} {'yes' if said else 'no'}" for rule, said in rules.items()))

    differences = []
    for each in rounds:
        first = sum(v for k, v in times[each["a"]].items() if KERNEL in k)
        second = sum(v for k, v in times[each["b"]].items() if KERNEL in k)
        if first and second:
            differences.append(math.log(second / first))
    if len(differences) >= 3:
        result["noise"] = {"kernel_deviation_ratio": statistics.stdev(differences), "pairs": len(differences)}
        print(f"noise of the kernel: {100 * statistics.stdev(differences):.2f} % a pair, {len(differences)} pairs")
        for planted in (0.01, 0.02, 0.03, 0.05, 0.10):
            line = {"planted_ratio": planted, **{str(pairs): power(differences, planted, pairs) for pairs in (3, 5, 8, 10)}}
            result["power"].append(line)
            print(f"power at {100 * planted:g} %: " + ", ".join(f"{pairs} pairs {line[str(pairs)]:.2f}" for pairs in (3, 5, 8, 10)))
    if options.json:
        result["times"] = {os.path.basename(path): values for path, values in times.items()}
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
    return 1 if alarms > max(1, len(windows) / 20) or not windows else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    building = actions.add_parser("build")
    building.add_argument("--source", required=True)
    building.add_argument("--out", required=True)
    building.add_argument("--cmake-arguments", default="--preset portable")
    recording = actions.add_parser("record")
    recording.add_argument("--ridgeline", required=True)
    recording.add_argument("--trainer", required=True)
    recording.add_argument("--out", required=True)
    recording.add_argument("--seconds", type=float, default=420)
    recording.add_argument("--rounds", type=int, default=10000, help="at most, if time allows them")
    recording.add_argument("--planted", default="1,2,3,5,10")
    recording.add_argument("--tiers", default="T0")
    recording.add_argument("--program-arguments", default="--model 124M -B 32 -T 1024")
    judging = actions.add_parser("judge")
    judging.add_argument("directory")
    judging.add_argument("--ridgeline", required=True)
    judging.add_argument("--window", type=int, default=5)
    judging.add_argument("--base", metavar="KIND", help="hold the planted amounts against this one (p1) in place of A: smaller changes")
    judging.add_argument("--kernel-step-share", type=float, default=0,
                         help="of ridgeline.toml. 0: whether the planted kernel is found does not depend on what the step feels of it")
    judging.add_argument("--json")
    options = parser.parse_args()
    sys.exit({"build": build, "record": record, "judge": judge}[options.action](options))


if __name__ == "__main__":
    main()
