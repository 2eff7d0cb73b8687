#!/usr/bin/env python3
"""Records programs with and without steps within a budget, and says what counting cost and what it knows.

usage: budget.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--budget SECONDS] [--only NAME,...]

For each program: its time alone (before and after) and recorded, what the recording took on top, the coverage of T1 and T2, what
T2 says of its budget. Verdicts: the program ends as it does alone; all records are there; T2 is within the budget; T2 knows 95 %
of the kernel time of what is ranked. The trainer is recorded twice: with a budget that is enough for all its launches and with
one of 2 s, whose values are held against the first's kernel by kernel.
"""
import argparse
import json
import os
import sys
import tempfile

from common import Checks, Facts, chosen, open_capture, reason_words, run

GOOD_COVERAGE = 0.95
SETUP_S = 3.0  # of what is on top: starting the agent, sampling, reading, the end
MOST_POINTS = 5.0  # between values of all launches and of some, for kernels of 2 % of the step and more
SMALL_SHARE = 0.02


def programs(trainer):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kinds")

    def kind(name):
        return [sys.executable, os.path.join(here, name + ".py")]

    train = [trainer, "--model", "124M", "-B", "8", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none", "--no-cuda-graph",
             "--steps", "300"]
    return {"lstm": kind("lstm"), "huggingface": kind("huggingface"), "bert": kind("bert_lengths"), "server": kind("server"),
            "trainer": train}


def program_seconds(capture):
    """Of the recorded program itself, from its process's begin to its end: without making the capture."""
    db = open_capture(capture)
    row = db.execute("SELECT start_ns, end_ns FROM run").fetchone()
    return (row["end_ns"] - row["start_ns"]) / 1e9 if row and row["end_ns"] else None


def said_of_counting(capture):
    db = open_capture(capture)
    lines = []
    for row in db.execute("SELECT * FROM message"):
        text = row["text"] if "text" in row.keys() else reason_words(db, row["reason_id"])
        if text and ("kinds of launch" in text or "--budget" in text or "counters" in text):
            lines.append(text)
    steps = {}
    for row in db.execute("SELECT phase, source, status, count(*) n FROM step GROUP BY 1, 2, 3"):
        steps[f"{row['phase']}/{row['source']}/{row['status']}"] = row["n"]
    counted = db.execute("SELECT count(DISTINCT launch_id) FROM launch_metric").fetchone()[0]
    return lines, steps, counted


def ranking(ridgeline, capture, by):
    done = run([ridgeline, "rank", capture, "--by", by, "--format", "json"], timeout=200)
    return json.loads(done.out) if done.status == 0 else None


def coverage(rows):
    total = sum(row["time_ns"] for row in rows) or 1
    return {tier: sum(row["time_ns"] for row in rows if row.get(key) is not None) / total
            for tier, key in (("T1", "dram_t1_utilisation_ratio"), ("T2", "dram_t2_utilisation_ratio"),
                              ("pipes", "compute_utilisation_ratio"))}


def record(checks, options, name, command, budget_s, alone_s=None):
    capture = os.path.join(options.out, f"budget-{name}.ridge")
    log = os.path.join(options.out, f"budget-{name}.log")
    done = run([options.ridgeline, "record", "--force", "--budget", str(budget_s), "-o", capture, "--", *command], timeout=240, log=log)
    if done.status != 0 or not os.path.exists(capture):
        checks.add(name, False, f"exit {done.status}: {done.tail()}")
        return None
    facts = Facts(capture)
    seconds = program_seconds(capture)
    if seconds is None:
        seconds = done.seconds
    lines, steps, counted = said_of_counting(capture)
    document = ranking(options.ridgeline, capture, "launch")
    shares = coverage(document["rows"]) if document else {"T1": 0, "T2": 0, "pipes": 0}
    wrong = []
    if facts.problem:
        wrong.append(facts.problem)
    if not facts.complete():
        wrong.append("records are missing")
    if shares["T2"] < GOOD_COVERAGE:
        wrong.append("T2 knows too little")
    on_top = seconds - alone_s if alone_s else 0
    if alone_s and on_top > budget_s + SETUP_S:
        wrong.append("over its budget")
    first = ranking(options.ridgeline, capture, "kernel")
    first = first["rows"][0] if first and first["rows"] else {}
    detail = (f"alone {alone_s or 0:.1f} s, recorded {seconds:.1f} s ({on_top:+.1f}), T1 {100 * shares['T1']:.0f} % T2 {100 * shares['T2']:.0f} % "
              f"pipes {100 * shares['pipes']:.0f} %, {counted} launches counted, steps {steps}, first {str(first.get('kernel'))[:40]} "
              f"DRAM {first.get('dram_utilisation_ratio')}, compute {first.get('compute_utilisation_ratio')}; {'; '.join(lines)}"
              f"{'; WRONG: ' + ', '.join(wrong) if wrong else ''}")
    checks.add(name, not wrong, detail)
    return capture


def compare(checks, ridgeline, whole, part):
    """Values of all launches against those by kind."""
    sides = []
    for capture in (whole, part):
        document = ranking(ridgeline, capture, "kernel-grid")
        sides.append({(row["kernel"], row.get("grid"), row.get("launch_configuration")): row for row in document["rows"]})
    total = sum(row["time_ns"] for row in sides[0].values())
    worst, rows = 0.0, 0
    for key, row in sides[0].items():
        other = sides[1].get(key)
        if other is None or row["time_ns"] < SMALL_SHARE * total:
            continue
        for column in ("dram_t2_utilisation_ratio", "compute_utilisation_ratio"):
            if row.get(column) is None or other.get(column) is None:
                continue
            rows += 1
            points = 100 * abs(row[column] - other[column])
            worst = max(worst, points)
            if points > 2:
                print(f"    {str(key[0])[:60]}: {column} {row[column]:.3f} of all, {other[column]:.3f} by kind", flush=True)
    checks.add("by kind", rows > 0 and worst <= MOST_POINTS, f"{rows} values of kernels of {SMALL_SHARE:.0%} and more, worst difference {worst:.1f} points")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--trainer", required=True)
    parser.add_argument("--out", default=tempfile.gettempdir())
    parser.add_argument("--json")
    parser.add_argument("--budget", type=float, default=10)
    parser.add_argument("--only")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    checks = Checks()
    all_programs = programs(options.trainer)
    for name in chosen(parser, options.only, all_programs):
        command = all_programs[name]
        alone = run(command, timeout=200, log=os.path.join(options.out, f"budget-{name}-alone.log"))
        if alone.status != 0:
            checks.add(name, False, f"alone: exit {alone.status}: {alone.tail()}")
            continue
        whole = record(checks, options, name, command, options.budget, alone.seconds)
        if name == "trainer" and whole:
            part = record(checks, options, "trainer-2s", command, 2, alone.seconds)
            if part:
                compare(checks, options.ridgeline, whole, part)
    checks.finish(options.json)


if __name__ == "__main__":
    main()
