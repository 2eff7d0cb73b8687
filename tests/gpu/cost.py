#!/usr/bin/env python3
"""What counters and the whole recording cost.

usage: cost.py --ridgeline RIDGELINE [--rounds 2] [--out DIR] [--json FILE] -- PROGRAM ARGS...

  launch   T2, all in: host time from the first replay step's begin to the begin of the step after the last, less as many
           timeline steps, over the launches of those replay steps; at most 2 ms
  total    `ridgeline record` with the default schedule plus `ridgeline rank`, less the program alone with the same number
           of steps; at most 20 s. Mean over the rounds, interleaved.
"""
import argparse
import os
import statistics

from common import Checks, open_capture, options_of, run

MOST_MS_A_LAUNCH = 2.0
MOST_SECONDS = 20.0


def launch_cost_ms(capture):
    """(milliseconds a launch, launches, replay steps, ms of a timeline step), from host times of the steps."""
    db = open_capture(capture)
    steps = db.execute("SELECT id, step_index, phase, host_start_ns FROM step ORDER BY step_index").fetchall()
    starts = {row["step_index"]: row["host_start_ns"] for row in steps}
    phases = {row["step_index"]: row["phase"] for row in steps}

    def period(index):
        return starts[index + 1] - starts[index] if starts.get(index) and starts.get(index + 1) else None

    timeline = [period(i) for i in phases if phases[i] == "timeline" and phases.get(i + 1) == "timeline" and period(i)]
    replay = [i for i in phases if phases[i] == "replay" and period(i)]
    if not timeline or not replay:
        raise ValueError(f"{len(timeline)} timeline and {len(replay)} replay steps with a length: not enough")
    launches = db.execute("SELECT count(*) FROM launch l JOIN step s ON s.id = l.step_id WHERE s.phase = 'replay' "
                          f"AND s.step_index IN ({','.join(map(str, replay))})").fetchone()[0]
    if launches == 0:
        raise ValueError("no launch in the replay steps")
    step_ns = statistics.median(timeline)
    extra = sum(period(i) for i in replay) - len(replay) * step_ns
    return extra / launches / 1e6, launches, len(replay), step_ns / 1e6


def main():
    parser = options_of(__doc__, "ridgeline")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        parser.error("no program given")
    checks = Checks(options.json)
    capture = os.path.join(options.out, "cost.ridge")
    alone, recorded, ranked, per_launch = [], [], [], []
    for _ in range(options.rounds):
        plain = run(program)
        record = run([options.ridgeline, "record", "--force", "-o", capture, "--", *program])
        rank = run([options.ridgeline, "rank", capture])
        for done in (plain, record, rank):
            if done.status != 0:
                checks.add("total", False, f"exit {done.status}: {done.tail()}")
                checks.finish()
        alone.append(plain.seconds)
        recorded.append(record.seconds)
        ranked.append(rank.seconds)
        try:
            per_launch.append(launch_cost_ms(capture))
        except ValueError as error:
            checks.add("launch", False, str(error))
            break
    if len(per_launch) == options.rounds:
        cost = statistics.fmean(c[0] for c in per_launch)
        _, launches, steps, step_ms = per_launch[-1]
        checks.add("launch", cost <= MOST_MS_A_LAUNCH,
                   f"T2 costs {cost:.3f} ms a launch all in ({', '.join(f'{c[0]:.3f}' for c in per_launch)}; {launches} launches in "
                   f"{steps} replay steps, a timeline step {step_ms:.2f} ms); at most {MOST_MS_A_LAUNCH:g}")
    extra = statistics.fmean(recorded) + statistics.fmean(ranked) - statistics.fmean(alone)
    checks.add("total", extra <= MOST_SECONDS,
               f"record {statistics.fmean(recorded):.1f} s + rank {statistics.fmean(ranked):.2f} s, the program alone "
               f"{statistics.fmean(alone):.1f} s: {extra:.1f} s on top; at most {MOST_SECONDS:g}")
    checks.finish(alone_s=alone, record_s=recorded, rank_s=ranked,
                  launch_ms=[c[0] for c in per_launch])


if __name__ == "__main__":
    main()
