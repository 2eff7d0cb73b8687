#!/usr/bin/env python3
"""Records programs with and without steps within a budget, and says what counting cost and what it knows.

usage: budget.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--out DIR] [--json FILE] [--budget SECONDS] [--only NAME,...]

For each program: its time alone and recorded, what the recording took on top, the coverage of T1 and T2, what T2 says of its budget.
Verdicts: the program ends as it does alone; all records are there; T2 is within the budget; T1 and T2 know 95 % of the kernel time of
what is ranked. The trainer is recorded with a budget that is enough for all its launches, and with 10 s and 2 s, whose values are held
against the first's, kernel by kernel and launch by launch: 95 % of the time is in values that are within their stated errors, and the
errors say something. By default lstm, bert, server and trainer, about three minutes.
"""
import json
import os
import sys
import tempfile

from common import Checks, Facts, chosen, open_capture, options_of, reason_words, run

GOOD_COVERAGE = 0.95
SETUP_S = 3.0  # of what is on top: starting the agent, sampling, reading, the end
WHOLE_S = 60  # enough to count all launches of the trainer
PARTS_S = (10, 2)
GOOD_SHARE = 0.95  # of the time in values that are within their stated errors
SLACK_RATIO = 0.01  # two recordings of the same program differ by that, whatever is counted
MOST_ERROR_RATIO, MOST_OFF_RATIO = 0.10, 0.03  # means over the time: of what is stated, of what it is
SMALL_SHARE = 0.02
VALUES = (("dram_t2_utilisation_ratio", "dram_t2_error_ratio"), ("compute_utilisation_ratio", "compute_utilisation_error_ratio"))


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
    for tier in ("T1", "T2"):
        if shares[tier] < GOOD_COVERAGE:
            wrong.append(f"{tier} knows too little")
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


def held_against(whole, part, key_of):
    """Values by kind beside those of all launches, over the rows of both: shares and means over the time, and what differs most."""
    known = {key_of(row): row for row in whole}
    total = sum(row["time_ns"] for row in whole) or 1
    time = within = stated_sum = off_sum = 0.0
    worst, lines = 0.0, []
    for row in part:
        other = known.get(key_of(row))
        for value, error in VALUES if other else ():
            if row.get(value) is None or other.get(value) is None:
                continue
            ns, off = other["time_ns"], abs(row[value] - other[value])
            stated = row.get(error) or 0.0
            time += ns
            off_sum += ns * off
            stated_sum += ns * stated
            within += ns if off <= stated + (other.get(error) or 0.0) + SLACK_RATIO else 0
            if ns >= SMALL_SHARE * total:
                worst = max(worst, off)
                if off > 0.02:
                    lines.append(f"    {str(row.get('kernel'))[:60]}: {value} {other[value]:.3f} of all, {row[value]:.3f} +- {stated:.3f} by kind")
    time = time or 1
    return {"within": within / time, "stated": stated_sum / time, "off": off_sum / time, "worst": worst, "lines": lines, "any": time > 1}


def is_true(found):
    return (found["any"] and found["within"] >= GOOD_SHARE and found["stated"] <= MOST_ERROR_RATIO and found["off"] <= MOST_OFF_RATIO)


def compare(checks, ridgeline, whole, part, name):
    """Values of all launches against those by kind."""
    for by in ("kernel-grid", "launch"):
        sides = [ranking(ridgeline, capture, by) for capture in (whole, part)]
        if not all(sides):
            checks.add(f"{name} {by}", False, "no ranking")
            continue
        found = held_against(sides[0]["rows"], sides[1]["rows"], lambda row: row["key"])
        print("\n".join(found["lines"][:20]), flush=True)
        checks.add(f"{name} {by}", is_true(found),
                   f"{found['within']:.1%} of the time in values within their stated errors, which are {100 * found['stated']:.1f} points in the mean; "
                   f"off by {100 * found['off']:.1f} points in the mean, by {100 * found['worst']:.1f} at most")


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", only=programs(""))
    parser.add_argument("--budget", type=float, default=10)
    parser.set_defaults(out=tempfile.gettempdir(), only="lstm,bert,server,trainer")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    checks = Checks(options.json)
    all_programs = programs(options.trainer)
    for name in chosen(parser, options.only, all_programs):
        command = all_programs[name]
        alone = run(command, timeout=200, log=os.path.join(options.out, f"budget-{name}-alone.log"))
        if alone.status != 0:
            checks.add(name, False, f"alone: exit {alone.status}: {alone.tail()}")
            continue
        if name != "trainer":
            record(checks, options, name, command, options.budget, alone.seconds)
            continue
        whole = record(checks, options, "trainer-all", command, WHOLE_S, alone.seconds)
        for seconds in PARTS_S if whole else ():
            part = record(checks, options, f"trainer-{seconds}s", command, seconds, alone.seconds)
            if part:
                compare(checks, options.ridgeline, whole, part, f"by kind, {seconds} s")
    checks.finish()


if __name__ == "__main__":
    main()
