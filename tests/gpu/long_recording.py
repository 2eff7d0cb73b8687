#!/usr/bin/env python3
"""A long recording in bounded memory: resident size of program and launcher, and growth of the spool.

usage: long_recording.py --ridgeline RIDGELINE --trainer GPT2_TRAIN [--seconds 600] [--out DIR] [--json FILE]

Records the trainer for the given time with the default schedule, the timeline going on after it. After a settling time
neither process may grow by more than 32 MiB, plus what the launcher needs for its list of libraries; the spool grows with
the records and its rate is printed. Then ends the program (SIGTERM) and holds the capture to its promise.
"""
import glob
import os
import signal
import time

from common import Checks, Facts, Started, children, options_of

SETTLE_SHARE = 0.3  # of the time: start-up, warm-up and the measuring phases of the schedule
MOST_GROWTH_BYTES = 32 << 20
FLUSHED_WITHIN_S = 0.5


def resident_bytes(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def spool_bytes(pattern):
    return sum(os.stat(path).st_blocks * 512 for path in glob.glob(pattern) if os.path.exists(path))


def main():
    parser = options_of(__doc__, "ridgeline", "trainer")
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    checks, samples = Checks(options.json), []
    capture = os.path.join(options.out, "long.ridge")
    started = Started([options.ridgeline, "record", "--force", "-o", capture, "--", options.trainer, "--model", "124M", "-B", "32",
                       "-T", "1024", "--no-cuda-graph", "--steps", "10000000", "--matmul-search", "off", "--matmul-cache", "none"])
    launcher, begin = started.process.pid, time.monotonic()
    program = None
    while time.monotonic() - begin < options.seconds and started.process.poll() is None:
        time.sleep(1)
        program = program or next(iter(children(launcher)), None)
        if program:
            samples.append({"s": time.monotonic() - begin, "program_bytes": resident_bytes(program),
                            "launcher_bytes": resident_bytes(launcher),
                            "spool_bytes": spool_bytes(os.path.join(options.out, "long-*.spool", "*.spool"))})
    if started.process.poll() is not None or not program:
        done = started.finish(5)
        checks.add("long", False, f"it ended by itself, exit {done.status}: {done.tail()}")
        checks.finish(samples=samples)
    os.kill(program, signal.SIGTERM)
    done = started.finish(200)
    settled = [s for s in samples if s["s"] > SETTLE_SHARE * options.seconds and s["program_bytes"] and s["launcher_bytes"]]
    if len(settled) < 5:
        checks.add("memory", False, f"only {len(settled)} samples after settling")
        checks.finish(samples=samples)
    grown = [s for before, s in zip(settled, settled[1:]) if s["spool_bytes"] > before["spool_bytes"]] + settled[-1:]
    growth = {key: settled[-1][key] - settled[0][key] for key in ("program_bytes", "launcher_bytes", "spool_bytes")}
    span = settled[-1]["s"] - settled[0]["s"]
    # A minute without a new chunk of the spool: nothing was recorded in it, and memory that does not grow says nothing.
    idle = max((b["s"] - a["s"] for a, b in zip(grown, grown[1:])), default=span)
    checks.add("progress", idle < 60, f"the longest time without a new chunk of the spool: {idle:.0f} s")
    checks.add("memory", max(growth["program_bytes"], growth["launcher_bytes"]) <= MOST_GROWTH_BYTES,
               f"over {span:.0f} s after settling: program {growth['program_bytes'] / 2**20:+.1f} MiB (at {settled[-1]['program_bytes'] / 2**20:.0f}), "
               f"launcher {growth['launcher_bytes'] / 2**20:+.1f} MiB (at {settled[-1]['launcher_bytes'] / 2**20:.0f}); "
               f"spool {growth['spool_bytes'] / span / 1e6:.2f} MB/s")
    wrong = []
    if not os.path.exists(capture):
        checks.add("capture", False, f"none was made: {done.tail()}")
        checks.finish(samples=samples)
    facts = Facts(capture)
    if facts.run["exit_signal"] != signal.SIGTERM:
        wrong.append(f"exit signal {facts.run['exit_signal']}")
    if facts.problem:
        wrong.append(facts.problem)
    missing = facts.total("launches_seen") - facts.total("kernel_records")
    # What the GPU had not done when the signal came, since the trainer runs up to four steps ahead, and what the last flush, every
    # 0.2 s, had not fetched.
    steps = max(sum(facts.steps.values()), 1)
    most = 4 * facts.total("launches_seen") / steps + FLUSHED_WITHIN_S * facts.total("launches_seen") / options.seconds
    if missing > most or facts.total("dropped_records") or facts.total("lost_spool_records"):
        wrong.append(f"{missing} launches without a record, {facts.total('dropped_records')} dropped")
    if len(done.said()) != 1:
        wrong.append(f"{len(done.said())} lines: " + " | ".join(line[:120] for line in done.said()))
    ranked = facts.steps.get("timeline", 0)
    if not ranked:
        wrong.append("no timeline step")
    checks.add("capture", not wrong, f"{facts.step_text()}; {facts.counts()}; {os.path.getsize(capture) / 1e6:.0f} MB"
               + (" -- WRONG: " + "; ".join(wrong) if wrong else ""))
    os.unlink(capture)
    checks.finish(samples=samples)


if __name__ == "__main__":
    main()
