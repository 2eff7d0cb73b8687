#!/usr/bin/env python3
"""Stall reasons and instruction counts of a program whose instructions are known.

usage: instructions.py --ridgeline RIDGELINE --counted AGENT_COUNTED [--out DIR] [--json FILE]
"""
import json
import os
import re

from common import Checks, Facts, open_capture, options_of, run

KINDS = ("ffma", "fadd", "fmul", "dfma", "dadd", "dmul", "hfma")


def rows(capture, sql):
    db = open_capture(capture)
    try:
        return [dict(row) for row in db.execute(sql)]
    finally:
        db.close()


def counts(capture, expected):
    """Kernels whose count differs from what they execute; kernels that were counted."""
    seen = {}
    for row in rows(capture, "SELECT kernel, metric, value FROM v_launch_metric WHERE tier = 'T3' AND phase = 'flops'"):
        kind = re.fullmatch(r"smsp__sass_thread_inst_executed_op_(\w+)_pred_on\.sum", row["metric"])
        if kind:
            seen.setdefault(row["kernel"], {})[kind[1]] = row["value"]
    wrong = []
    for kind in KINDS:
        of_kernel = seen.get(f"count_{kind}", {})
        if of_kernel.get(kind) != expected or any(value for other, value in of_kernel.items() if other != kind):
            wrong.append(f"count_{kind}: {of_kernel}")
    if seen.get("half_ffma", {}).get("ffma") != expected / 2:
        wrong.append(f"half_ffma: {seen.get('half_ffma')}")
    if any(seen.get("count_none", {"": 1}).values()):
        wrong.append(f"count_none: {seen.get('count_none')}")
    return wrong, len(seen)


def stalls(capture, ridgeline):
    wrong = []
    document = run([ridgeline, "rank", capture, "--stalls", "--format", "json"], timeout=60)
    found = json.loads(document.out)["stalls"] if document.status == 0 else {"kernels": []}
    chase = next((k for k in found["kernels"] if k["kernel"].startswith("chase")), None)
    if chase is None:
        return [f"no stall reasons of chase: {found.get('reason', document.tail())}"], ""
    main = chase["reasons"][0] if chase["reasons"] else {"label": "none", "share_ratio": 0}
    if main["label"] != "long scoreboard" or main["share_ratio"] < 0.8:
        wrong.append(f"chase waits for {main['label']} in {100 * main['share_ratio']:.0f} % of its samples")
    total = chase["issuing_ratio"] + chase["ready_ratio"] + chase["stalled_ratio"]
    if abs(total - 1) > 1e-9:
        wrong.append(f"shares add up to {total}")
    if not chase["lines"] or not (chase["lines"][0]["file"] or "").endswith("counted.cu"):
        wrong.append("no source line of chase")
    line = chase["lines"][0]["line"] if chase["lines"] else 0
    return wrong, (f"{found['samples']} samples, {found['dropped_samples']} dropped; chase: {main['label']} "
                   f"{100 * main['share_ratio']:.0f} %, line {line}")


def main():
    parser = options_of(__doc__, "ridgeline", "counted")
    options = parser.parse_args()
    checks = Checks(options.json)
    capture = os.path.join(options.out, "instructions.ridge")
    done = run([options.ridgeline, "record", "--force", "-o", capture, "--schedule", "warmup=3,timeline=4,replay=1",
                "--stalls", "--sass-flops", "--", options.counted], timeout=120)
    if done.status != 0:
        checks.add("record", False, f"exit {done.status}: {done.tail()}")
        checks.finish()
    facts = Facts(capture)
    checks.add("record", facts.tiers.get("T3", ("", ""))[0] == "ok" and facts.complete() and facts.problem is None,
               f"{facts.step_text()}; {facts.counts()}; T3 {': '.join(facts.tiers.get('T3', ('absent', '')))}")
    threads = re.search(r"threads (\d+) loops (\d+)", done.out)
    wrong, kernels = counts(capture, float(threads[1]) * float(threads[2])) if threads else (["no output"], 0)
    checks.add("sass-flops", not wrong, "; ".join(wrong) or f"{kernels} kernels, every count exact")
    wrong, text = stalls(capture, options.ridgeline)
    checks.add("stalls", not wrong, "; ".join(wrong + [text]))
    checks.finish()


if __name__ == "__main__":
    main()
