#!/usr/bin/env python3
"""What `ridgeline what-if` predicts for switches of the trainer, written down before they are measured.

usage: what_if.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--steps 24] [--pairs 1] [--only SWITCH,...]

1. The slow side of each switch is recorded, and the fast one once: times of kernels, and counters where a prediction needs them.
2. `what-if` of the slow recording predicts the gain. A switch that replaces kernels is asked as "these kernels so many times faster": how many
   comes from the kernels' times in the recordings, never from the step's. The others are asked as what they are: fused, a graph, another type.
   All predictions are written to OUT/what-if-predictions.json.
3. Only then are both sides timed, unrecorded, in turn: the median of the GPU's step times after the first six.
Rows:
  replay      the unchanged simulation gives the recorded step, for each slow recording
  sign        no switch whose gain is beyond the noise has a prediction of the other sign, beyond its interval
  median      the median of |predicted - measured| / |measured| over switches that are worth at least 1 % of the step: at most 25 %
  naive       beside it: the same of the naive sums; this row says, it does not judge
The table behind the rows has, for each switch, what was asked, bound, naive sum, simulated, after power with its interval, measured, and the
signed errors of the prediction and of the naive sum.
"""
import json
import os
import time
from collections import defaultdict
from statistics import median

from common import Checks, chosen, options_of, run

WARM_STEPS = 6
LEAST_SHARE = 0.01     # of the step: a switch worth less has no error that says anything
MOST_MEDIAN = 0.25
TIMELINE = "warmup=3,timeline=12"
COUNTED = "warmup=3,timeline=12,replay=4"

# name: (slow side, fast side, what is asked). "kernels": as many times faster as the recordings say.
BATCH = ["-B", "16"]
SWITCHES = {
    "attention": (["--attention", "own"], [], "kernels"),
    "residual": (["--residual", "separate"], [], ["--fuse", "*,residual_kernel"]),
    "gelu": (["--gelu", "separate"], ["--gelu", "fused"], ["--fuse-kept", "*,gelu_forward_kernel"]),
    "classifier": (["--classifier", "separate"], [], "kernels"),
    "scalar": (["--kernels", "scalar"], [], "kernels"),
    "optimizer": (["--optimizer", "per-tensor"], [], "kernels"),
    "graph": (["--no-cuda-graph", "-B", "1"], ["--cuda-graph", "-B", "1"], ["--graph"]),
    "precision": (["--precision", "tf32"], ["--precision", "bf16"], ["--precision", "*=bf16"]),
}


class Failed(Exception):
    """A command that did not do what it should."""


class Trainer:
    def __init__(self, options):
        self.options = options
        self.cache = os.path.join(options.out, "what-if-plans")

    def command(self, arguments, steps):
        batch = [] if "-B" in arguments else BATCH
        return [self.options.trainer, "--preset", "fast", "--model", "124M", "-T", "1024", *batch, *arguments, "--steps", str(steps),
                "--matmul-cache", self.cache]

    def record(self, name, arguments, schedule):
        """The capture of a side. Without a graph: the recorder takes launches apart there, and what is asked is of launches."""
        capture = os.path.join(self.options.out, f"what-if-{name}.ridge")
        graph = [] if any("cuda-graph" in a for a in arguments) else ["--no-cuda-graph"]
        done = run([self.options.ridgeline, "record", "-q", "--force", "-o", capture, "--schedule", schedule, "--",
                    *self.command([*arguments, *graph], 24)], timeout=120)
        if done.status != 0 or not os.path.exists(capture):
            raise Failed(f"recording {name}: exit {done.status}: {done.tail()}")
        return capture

    def time_ms(self, arguments):
        """Step times of one run, the first ones left out."""
        log = os.path.join(self.options.out, "what-if-steps.jsonl")
        if os.path.exists(log):
            os.remove(log)
        graph = [] if any("cuda-graph" in a for a in arguments) else ["--no-cuda-graph"]
        done = run([*self.command([*arguments, *graph], self.options.steps), "--log", log], timeout=120)
        if done.status != 0 or not os.path.exists(log):
            raise Failed(f"{' '.join(arguments)}: exit {done.status}: {done.tail()}")
        with open(log) as file:
            times = [step["time_ms"] for step in map(json.loads, file) if "time_ms" in step]
        if len(times) <= WARM_STEPS:
            raise Failed(f"{' '.join(arguments)}: {len(times)} step times")
        return times[WARM_STEPS:]


def asked(ridgeline, *arguments):
    done = run([ridgeline, *arguments, "--format", "json"], timeout=120)
    if done.status != 0:
        raise Failed(f"{' '.join(arguments)}: exit {done.status}: {done.tail()}")
    return json.loads(done.out)


def kernels_of(ridgeline, capture):
    """{(class, phase): {family: ns in the step}}"""
    sums = defaultdict(lambda: defaultdict(float))
    for row in asked(ridgeline, "rank", capture, "--by", "class,phase,family")["rows"]:
        sums[row["by_class"], row["by_phase"]][row["by_family"]] += row["time_ns"]
    return sums


def changes_between(slow, fast):
    """The kernels of the slow side that the fast one has not, or has otherwise, and how many times faster what stands for them is."""
    changes = []
    for part, kernels in slow.items():
        others = fast.get(part, {})
        same = {name for name, ns in kernels.items() if name in others and abs(ns - others[name]) <= 0.05 * ns}
        before = sum(ns for name, ns in kernels.items() if name not in same)
        after = sum(ns for name, ns in others.items() if name not in same)
        if before <= 0:
            continue
        times = min(max(before / after if after > 0 else 1000.0, 0.001), 1000.0)
        changes += [f"{name}={times:.4f}x" for name in kernels if name not in same]
    return sorted(changes)


def prediction_of(options, trainer, name, fast_kernels):
    slow, fast, question = SWITCHES[name]
    capture = trainer.record(name, slow, TIMELINE if question in ("kernels", ["--graph"]) else COUNTED)
    if question == "kernels":
        if not fast_kernels:
            fast_kernels.update(kernels_of(options.ridgeline, trainer.record("fast", fast, TIMELINE)))
        question = changes_between(kernels_of(options.ridgeline, capture), fast_kernels)
    answer = asked(options.ridgeline, "what-if", capture, *question)
    together = answer["together"]
    best = together["after_power"] or together["simulated"]
    return {"asked": question, "replay": answer["replay"], "power": answer["power"]["limit"], "step_ms": answer["replay"]["measured_ns"] / 1e6,
            "bound_ms": together["bound_ns"] / 1e6, "naive_ms": together["naive_ns"] / 1e6,
            "simulated_ms": together["simulated"]["value_ns"] / 1e6 if together["simulated"] else None,
            "predicted_ms": best["value_ns"] / 1e6 if best else None,
            "low_ms": (best["low_ns"] if best["low_ns"] is not None else best["value_ns"]) / 1e6 if best else None,
            "high_ms": (best["high_ns"] if best["high_ns"] is not None else best["value_ns"]) / 1e6 if best else None}


def spread(times):
    """Half of what the middle half of the steps spans."""
    ordered = sorted(times)
    return (ordered[3 * len(ordered) // 4] - ordered[len(ordered) // 4]) / 2


def measure(trainer, name, pairs):
    """What the switch is worth: both sides in turn, the order reversed each time."""
    sides = dict(zip(("slow", "fast"), SWITCHES[name][:2]))
    times = {"slow": [], "fast": []}
    for pair in range(pairs):
        for side in ("slow", "fast") if pair % 2 == 0 else ("fast", "slow"):
            times[side] += trainer.time_ms(sides[side])
    slow, fast = median(times["slow"]), median(times["fast"])
    return {"slow_ms": slow, "fast_ms": fast, "measured_ms": slow - fast,
            "noise_ms": max(spread(times["slow"]) + spread(times["fast"]), 0.002 * slow)}


def judge(checks, results):
    unknown = [f"{name} ({'; '.join(r['replay']['why'])}, worst {r['replay']['worst']})" for name, r in results.items() if not r["replay"]["known"]]
    checks.add("replay", bool(results) and not unknown, "; ".join(unknown) or f"{len(results)} recordings within 1 % and 2 % of each phase")
    known = {name: r for name, r in results.items() if r["predicted_ms"] is not None and "measured_ms" in r}
    wrong = [name for name, r in known.items() if abs(r["measured_ms"]) > 2 * r["noise_ms"]
             and ((r["measured_ms"] > 0 and r["high_ms"] < 0) or (r["measured_ms"] < 0 and r["low_ms"] > 0))]
    checks.add("sign", bool(known) and not wrong, f"wrong: {', '.join(wrong)}" if wrong else f"{len(known)} predictions")
    counted = {name: r for name, r in known.items() if abs(r["measured_ms"]) >= LEAST_SHARE * r["slow_ms"]}
    errors = [abs(r["predicted_ms"] / r["measured_ms"] - 1) for r in counted.values()]
    naive = [abs(r["naive_ms"] / r["measured_ms"] - 1) for r in counted.values()]
    checks.add("median", bool(errors) and median(errors) <= MOST_MEDIAN,
               f"{100 * median(errors):.1f} % over {', '.join(counted)}" if errors else "no switch is worth 1 % of the step")
    checks.add("naive", True, f"{100 * median(naive):.1f} % over the same" if naive else "none")


def print_table(results):
    print("switch      power    bound    naive  simulated  predicted [low .. high]         measured ± noise   error %  naive %  asked")
    for name, r in results.items():
        number = lambda key: "       –" if r.get(key) is None else f"{r[key]:8.3f}"
        error = lambda key: "      –" if r.get(key) is None or not r.get("measured_ms") else f"{100 * (r[key] / r['measured_ms'] - 1):+7.1f}"
        words = " ".join(r["asked"])
        print(f"{name:10} {r['power']:7} {number('bound_ms')} {number('naive_ms')}   {number('simulated_ms')}  {number('predicted_ms')} "
              f"[{number('low_ms')} .. {number('high_ms')}] {number('measured_ms')} ± {r.get('noise_ms', 0):.3f} ms  {error('predicted_ms')}  "
              f"{error('naive_ms')}  {words[:160]}{'…' if len(words) > 160 else ''}")


def conclude(checks, results):
    judge(checks, results)
    print_table(results)


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", only=SWITCHES)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--pairs", type=int, default=1)
    options = parser.parse_args()
    trainer = Trainer(options)
    results, fast_kernels, begin = {}, {}, time.monotonic()
    checks = Checks(options.json, lambda: conclude(checks, results), {"switches": results})
    for name in chosen(parser, options.only, SWITCHES):
        try:
            results[name] = prediction_of(options, trainer, name, fast_kernels)
        except Failed as failed:
            checks.add(f"predict-{name}", False, str(failed))
    path = os.path.join(options.out, "what-if-predictions.json")
    with open(path, "w") as file:
        json.dump({"written_after_s": time.monotonic() - begin, "predictions": results}, file, indent=2)
    for name in results:
        try:
            results[name].update(measure(trainer, name, options.pairs))
        except Failed as failed:
            checks.add(f"measure-{name}", False, str(failed))
    print(f"predictions: {path}; {time.monotonic() - begin:.0f} s")
    checks.finish()


if __name__ == "__main__":
    main()
