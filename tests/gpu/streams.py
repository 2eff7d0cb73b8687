#!/usr/bin/env python3
"""DRAM bytes of kernels that stream several hundred times what L2 holds, beside what they read and write.

usage: streams.py --ridgeline RIDGELINE --streamer AGENT_STREAMER [--out DIR] [--json FILE]
Rows:
  record      the recording is complete, with every tier
  T2-bytes    replayed counters: read and written bytes together within 0.5 % of what each kernel moves
  T1-bytes    sampled counters: the same
"""
import os
import re
from statistics import median

from common import Checks, Facts, kernel_base, open_capture, options_of, run

MOST_DIFFERENCE = 0.005
READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
TIERS = ("T1", "T2")


def declared(output):
    """Bytes that each kernel reads and writes, by its name."""
    found = re.findall(r"^(stream_\w+) reads (\d+) writes (\d+)$", output, re.MULTILINE)
    return {kernel: (int(read), int(write)) for kernel, read, write in found}


def measured(capture, tier):
    """Medians over the launches with values of that tier: kernel -> (bytes read, bytes written, launches)."""
    db = open_capture(capture)
    rows = db.execute("SELECT kernel, metric, value FROM v_launch_metric WHERE tier = ? AND metric IN (?, ?)", (tier, READ, WRITE)).fetchall()
    db.close()
    values = {}
    for row in rows:
        values.setdefault(kernel_base(row["kernel"]), {READ: [], WRITE: []})[row["metric"]].append(row["value"])
    return {kernel: (median(of[READ]), median(of[WRITE]), len(of[READ])) for kernel, of in values.items() if of[READ] and of[WRITE]}


def judge(checks, tier, wanted, found):
    worst, texts = 0.0, []
    missing = sorted(set(wanted) - set(found))
    for kernel, (reads, writes) in sorted(wanted.items()):
        if kernel in found:
            read, written, launches = found[kernel]
            ratio = (read + written) / (reads + writes)
            worst = max(worst, abs(ratio - 1))
            texts.append(f"{kernel} {ratio:.4f} of {(reads + writes) / 1e9:.2f} GB (read {read / 1e9:.3f}, written {written / 1e9:.3f}; {launches} launches)")
    checks.add(f"{tier}-bytes", bool(wanted) and not missing and worst <= MOST_DIFFERENCE,
               "; ".join(texts + [f"no {tier} value of {kernel}" for kernel in missing]) or "the program declared nothing")


def main():
    parser = options_of(__doc__, "ridgeline", "streamer")
    options = parser.parse_args()
    checks = Checks(options.json)
    capture = os.path.join(options.out, "streams.ridge")
    done = run([options.ridgeline, "record", "--force", "-o", capture, "--schedule", "warmup=3,timeline=6,sample=4,replay=4", "--",
                options.streamer], timeout=120)
    if done.status != 0:
        checks.add("record", False, f"exit {done.status}: {done.tail()}")
        checks.finish()
    facts = Facts(capture)
    checks.add("record", facts.complete() and facts.problem is None, f"{facts.step_text()}; {facts.counts()}; {facts.tier_text()}")
    wanted = declared(done.out)
    for tier in TIERS:
        judge(checks, tier, wanted, measured(capture, tier))
    checks.finish()


if __name__ == "__main__":
    main()
