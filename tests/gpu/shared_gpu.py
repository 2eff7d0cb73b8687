#!/usr/bin/env python3
"""Two processes on one GPU take turns with its counters: within one recording and between two.

usage: shared_gpu.py --ridgeline RIDGELINE --trainer GPT2_TRAIN --gauntlet AGENT_GAUNTLET [--out DIR] [--json FILE]
Rows:
  alone           the program by itself: every tier
  one-recording   two processes of one recording: T1 and T2 in both, all launches recorded, each says when it had the counters
  two-recordings  two recordings at once: the same of both
  values          DRAM bytes of the counted launches, kernel by kernel, within 5 % of those alone (kernels of 1 MB and more)
  stalls-beside   stall reasons, asked for beside a recording that takes no turns with this one and counts all the while: programs end
                  as alone, all launches are recorded, and none says that sampling could not start, which CUPTI does not survive
  stalls-after    once that recording is over they are sampled
"""
import glob
import os
import time
from statistics import median

from common import Checks, Facts, Started, kernel_base, open_capture, options_of, run

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
MOST_DIFFERENCE = 0.05
LEAST_BYTES = 1e6


def counted_bytes(capture):
    """Medians over the counted launches, by process, kernel and grid: bytes read and written."""
    db = open_capture(capture)
    rows = db.execute("SELECT process_id, m.kernel, grid_x, grid_y, grid_z, metric, value FROM v_launch_metric m "
                      "JOIN v_launch USING (launch_id) WHERE tier = 'T2' AND metric IN (?, ?)", (READ, WRITE)).fetchall()
    db.close()
    values = {}
    for row in rows:
        key = (row["process_id"], kernel_base(row["kernel"]), row["grid_x"], row["grid_y"], row["grid_z"])
        values.setdefault(key, {READ: [], WRITE: []})[row["metric"]].append(row["value"])
    return {key: median(of[READ]) + median(of[WRITE]) for key, of in values.items() if of[READ] and of[WRITE]}


def tiers_of_processes(capture):
    db = open_capture(capture)
    tiers = {}
    for row in db.execute("SELECT process_id, tier, status FROM tier_status"):
        tiers.setdefault(row["process_id"], {})[row["tier"]] = row["status"]
    db.close()
    return list(tiers.values())


def judge(checks, name, captures, processes):
    tiers, complete, told, texts = [], True, 0, []
    for capture in captures:
        facts = Facts(capture)
        complete = complete and facts.complete() and facts.problem is None
        own = tiers_of_processes(capture)
        tiers += own
        said = [text for _, text in facts.messages if "counters were this process's from" in text]
        told += bool(said)
        beside = [text for _, text in facts.messages if "beside other processes on the GPU" in text]
        missing = any(of.get(tier) != "ok" for of in own for tier in ("T1", "T2"))
        why = "; all that was said: " + " / ".join(text for _, text in facts.messages) if missing else ""
        texts.append(f"{facts.step_text()}; {facts.counts()}; " + "; ".join(", ".join(f"{t} {s}" for t, s in sorted(of.items())) for of in own)
                     + f"; {len(said)} turns told of" + (f", the first: {said[0]}" if said else "")
                     + f"; beside others: {beside[0] if beside else 'not said'}" + why)
    known = len(tiers) == processes and all(of.get("T1") == "ok" and of.get("T2") == "ok" for of in tiers)
    checks.add(name, complete and known and (processes == 1 or told == len(captures)), " | ".join(texts))


# Steps of a case so that it lasts longer than the device takes to be described, and of every case as often.
CASES, ROUNDS = {"context": 8, "streams": 5000, "threads": 2000, "graph-update": 2000}, 3
LONGEST_START_S = 20


def wrong_beside(alone, done, facts):
    """What a program with stall reasons asked for, ended as `done`, did not do as `alone`, or what its capture lacks."""
    wrong = []
    if done.status != alone.status:
        wrong.append(f"exit status {done.status} instead of {alone.status}: {done.tail()}")
    if alone.out.split() != done.out.split():
        wrong.append(f"printed {done.out.strip()!r} instead of {alone.out.strip()!r}")
    if facts is None:
        return wrong + ["no capture"]
    if not facts.complete() or facts.problem:
        wrong.append(f"its timeline is not complete: {facts.problem or facts.counts()}")
    wrong += [text for _, text in facts.messages if "PC sampling failed" in text]
    return wrong


def judge_stalls(checks, options):
    def case(name, steps):
        return [options.gauntlet, "--case", name, "--steps", str(steps)]

    def sampled(name, steps, stem):
        capture = os.path.join(options.out, f"turns-{stem}.ridge")
        done = run([options.ridgeline, "record", "-q", "--force", "-o", capture, "--schedule", "warmup=3,stalls=2", "--", *case(name, steps)],
                   timeout=120)
        return done, Facts(capture) if os.path.exists(capture) else None

    alone = {name: run(case(name, steps), timeout=120) for name, steps in CASES.items()}
    locks = os.path.join(options.out, "locks-of-another")
    os.makedirs(locks, exist_ok=True)
    counts = Started([options.ridgeline, "record", "--force", "-o", os.path.join(options.out, "turns-counts.ridge"), "--budget", "3600",
                      "--schedule", "warmup=2,replay=100000", "--", *case("streams", 100000)], {"RIDGELINE_LOCK_DIR": locks})
    deadline = time.monotonic() + LONGEST_START_S
    while not glob.glob(os.path.join(locks, "ridgeline-gpu-*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)  # from the turn to the first counters
    wrong, waited = [], 0
    for number in range(ROUNDS):
        for name, steps in CASES.items():
            done, facts = sampled(name, steps, f"beside-{name}-{number}")
            wrong += [f"{name}: {text}" for text in wrong_beside(alone[name], done, facts)]
            waited += facts is not None and any("counters of this GPU were in use" in text for _, text in facts.messages)
    beside = counts.process.poll() is None
    counts.kill()
    counts.finish()
    runs = ROUNDS * len(CASES)
    checks.add("stalls-beside", beside and not wrong and waited > 0,
               f"{runs} runs, {waited} say that they waited for the counters" + ("" if beside else "; the other recording ended before them")
               + "".join(f"; {text}" for text in wrong[:5]))
    done, facts = sampled("threads", CASES["threads"], "after")
    status, why = facts.tiers.get("T3", ("none", "")) if facts else ("none", "no capture")
    wrong = wrong_beside(alone["threads"], done, facts)
    checks.add("stalls-after", status == "ok" and not wrong, f"T3 {status} {why}" + "".join(f"; {text}" for text in wrong))


def main():
    parser = options_of(__doc__, "ridgeline", "trainer", "gauntlet")
    options = parser.parse_args()
    checks = Checks(options.json)
    program = [options.trainer, "--model", "124M", "-B", "4", "-T", "1024", "--matmul-search", "off", "--matmul-cache", "none",
               "--no-cuda-graph", "--steps", "600"]

    def record(name, command):
        capture = os.path.join(options.out, f"turns-{name}.ridge")
        return capture, [options.ridgeline, "record", "--force", "-o", capture, "--", *command]

    def ended(name, done):
        if done.status != 0:
            checks.add(name, False, f"exit {done.status}: {done.tail()}")
        return done.status == 0

    alone, command = record("alone", program)
    if not ended("alone", run(command, timeout=60)):
        checks.finish()
    judge(checks, "alone", [alone], 1)

    both, command = record("both", ["sh", "-c", '"$@" & "$@"; status=$?; wait; exit $status', "sh", *program])
    if ended("one-recording", run(command, timeout=90)):
        judge(checks, "one-recording", [both], 2)

    pairs = [record(name, program) for name in ("first", "second")]
    started = [Started(command) for _, command in pairs]
    ends = [one.finish(timeout=90) for one in started]
    captures = [capture for capture, _ in pairs]
    if all([ended("two-recordings", done) for done in ends]):
        judge(checks, "two-recordings", captures, 2)

    wanted = {key[1:]: value for key, value in counted_bytes(alone).items() if value >= LEAST_BYTES}
    compared, worst, of = 0, 0.0, ""
    for capture in [both, *captures]:
        if not os.path.exists(capture):
            continue
        for key, value in counted_bytes(capture).items():
            if key[1:] in wanted:
                compared += 1
                difference = abs(value / wanted[key[1:]] - 1)
                if difference > worst:
                    worst, of = difference, f"{key[1]} {key[2]}x{key[3]}x{key[4]} of {os.path.basename(capture)}"
    checks.add("values", compared >= len(wanted) > 0 and worst <= MOST_DIFFERENCE,
               f"{compared} kernels compared, {len(wanted)} alone; the furthest {100 * worst:.2f} %: {of}")
    judge_stalls(checks, options)
    checks.finish()


if __name__ == "__main__":
    main()
