#!/usr/bin/env python3
"""Climbs the ladders of examples/ on a GPU and judges what they say.

usage: ladder.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--only NAME,...] [--seconds S]
                 [--whole] [--each-way] [--set NAME=VALUE] [--gpus N]

  trainer   three rungs of the bundled trainer at a small batch, each way: BF16 and attention for Hopper are faster
  pytorch   two rungs of a PyTorch program, the climb alone: BF16 autocast and SDPA are faster
Each ends within --seconds (140) and passes if: the program exits 0 with three rounds or more; the contributions add up to the
whole; every arm has a clock, watts, joules, launches, memory and a loss; the rungs that must help do and bring kernels; and
ladder.html, .svg, .csv and runs.json are there. --whole climbs all rungs of both at their own sizes, one way, in --seconds each,
--each-way does so and measures each rung alone and left out as well, in three times the programs; neither judges a rung. --gpus climbs on so many GPUs at once; each has rounds of its own, within which all is compared, and they count together. The
tables are printed.
"""
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor

from common import Checks, chosen, options_of, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAST_ROUNDS = 3
FACTS = ("sm_clock_hz", "power_w", "joules_per_step", "launches", "peak_memory_bytes", "loss")
SLACK_S = 60  # a round that takes longer than the one before it
# Options of the short climb, the rungs that must be faster, and those of them that bring kernels.
CLIMBS = {
    "trainer": ("gpt2-ladder.toml", ["--only", "BF16,attention for Hopper,classifier fused", "--set", "batch=8", "--set", "steps=40"],
                ("BF16", "attention for Hopper"), ("BF16", "attention for Hopper", "classifier fused")),
    "pytorch": ("pytorch-ladder.toml", ["--only", "BF16 autocast,SDPA", "--set", "sequence=512", "--set", "steps=30", "--cumulative"],
                ("BF16 autocast", "SDPA"), ("BF16 autocast", "SDPA")),
}


def problems(document, faster, with_kernels):
    """What is wrong with a ladder's JSON, a sentence each."""
    found = []
    rows = document["rows"]
    if document["rounds"] < LEAST_ROUNDS:
        found.append(f"{document['rounds']} rounds")
    climbed = sum(-math.log1p(-row["saved_ratio"]) for row in rows[1:] if row["saved_ratio"] is not None)
    if abs(climbed - math.log(document["whole"]["speedup"])) > 1e-4 * len(rows):
        found.append(f"the contributions add up to {math.exp(climbed):.5f}, the whole is {document['whole']['speedup']:.5f}")
    for row in rows:
        missing = [fact for fact in FACTS if row[fact] is None]
        if missing:
            found.append(f"{row['rung']} has no {', '.join(missing)}")
    by_name = {row["rung"]: row for row in rows}
    for name in faster:
        if by_name[name]["verdict"] != "faster":
            found.append(f"{name} is '{by_name[name]['verdict']}'")
    for name in with_kernels:
        if not by_name[name]["kernels_came"]:
            found.append(f"{name} brings no kernel")
    return found


def together(records):
    """The runs of one ladder, climbed on several GPUs, as of one: the rounds of each behind those of the others."""
    first, *others = records
    for other in others:
        for member in ("rungs", "arms"):
            if other[member] != first[member]:
                raise ValueError(f"the ladders differ in their {member}")
        first["runs"] += [dict(each, round=each["round"] + first["rounds"]) for each in other["runs"]]
        first["rounds"] += other["rounds"]
        first["seconds"] = max(first["seconds"], other["seconds"])
    return first


def climbed(command, out, options):
    """Runs the ladder, on each of several GPUs at once where that is asked for; what it says of all rounds, and the seconds that took."""
    if options.gpus == 1:
        return run([*command, "-o", out], timeout=options.seconds + SLACK_S, env={"COLUMNS": "160"})
    def of_gpu(gpu):
        return run([*command, "--order-seed", str(gpu + 1), "-o", f"{out}-{gpu}"], timeout=options.seconds + SLACK_S,
                   env={"COLUMNS": "160", "CUDA_VISIBLE_DEVICES": str(gpu)})

    with ThreadPoolExecutor(options.gpus) as pool:
        done = list(pool.map(of_gpu, range(options.gpus)))
    bad = next((each for each in done if each.status not in (0, 3)), None)
    if bad:
        return bad
    records = []
    for gpu in range(options.gpus):
        with open(os.path.join(f"{out}-{gpu}", "runs.json")) as file:
            records.append(json.load(file))
    os.makedirs(out, exist_ok=True)
    runs = os.path.join(out, "runs.json")
    with open(runs, "w") as file:
        json.dump(together(records), file)
    shown = run([options.ridgeline, "ladder", "--show", runs, "-o", out], timeout=SLACK_S, env={"COLUMNS": "160"})
    shown.seconds += max(each.seconds for each in done)
    shown.err = "".join(each.err for each in done) + shown.err
    return shown


def climb(options, name):
    """(problems, the document, seconds) of one ladder."""
    example, short, faster, with_kernels = CLIMBS[name]
    out = os.path.join(options.out, f"ladder-{name}")
    command = [options.ridgeline, "ladder", os.path.join(ROOT, "examples", example), "--budget", f"{options.seconds}s"]
    if name == "trainer":
        command += ["--set", f"trainer={options.trainer}"]
    if options.whole:
        command += ["--cumulative"]
    elif not options.each_way:
        command += short
    command += [word for setting in options.set for word in ("--set", setting)]
    done = climbed(command, out, options)
    print(done.out)
    with open(os.path.join(options.out, f"ladder-{name}.log"), "w") as log:
        log.write(done.err)
    if done.status not in (0, 3):
        return [f"exit {done.status}: {done.tail()}"], None, done.seconds
    with open(os.path.join(out, "ladder.json")) as file:
        document = json.load(file)
    all_rungs = options.whole or options.each_way
    found = problems(document, () if all_rungs else faster, () if all_rungs else with_kernels)
    if done.status == 3:
        found.append("exit 3: " + " ".join(document["notes"][1:])[:300])
    found += [f"{file} is missing" for file in ("ladder.html", "ladder.svg", "ladder.csv", "runs.json")
              if not os.path.exists(os.path.join(out, file))]
    return found, document, done.seconds


def main(argv=None):
    parser = options_of(__doc__, "ridgeline", "trainer", only=CLIMBS)
    parser.add_argument("--seconds", type=int, default=140, help="of each")
    parser.add_argument("--whole", action="store_true", help="all rungs at their own sizes")
    parser.add_argument("--each-way", action="store_true", help="all rungs, also alone and left out")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another setting of the ladder, as batch=8")
    parser.add_argument("--gpus", type=int, default=1, help="climb on so many at once")
    options = parser.parse_args(argv)
    documents = {}
    checks = Checks(options.json, figures={"ladders": documents})
    for name in chosen(parser, options.only, CLIMBS):
        found, document, seconds = climb(options, name)
        documents[name] = document
        said = document["notes"][0] if document else ""
        checks.add(name, not found, f"{said} {seconds:.0f} s" + ("; " + "; ".join(found) if found else ""))
    checks.finish()


if __name__ == "__main__":
    main()
