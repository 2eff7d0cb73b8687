#!/usr/bin/env python3
"""Holds a capture of the bundled trainer to what a recording promises.

usage: capture_checks.py CAPTURE --ridgeline RIDGELINE [--json FILE]

Reads the capture's tables directly and computes each figure again, apart from the program's own analysis:
  records       launches seen by the launch calls = kernel records received, none dropped, none without a time
  values        every launch of the median timeline step has a duration, and DRAM and compute utilisation or a reason
  accounting    union of GPU work + gaps = step time; the program's own accounting agrees
  gemm-ops      tensor operations of each matrix product = 2 M N K as the program declares it
Prints one line a check: name, pass or FAIL, figures. Exits 1 if any failed.
"""
import argparse
import json
import sqlite3
import statistics
import subprocess
import sys

STEP_TOLERANCE = 0.01
GEMM_TOLERANCE = 0.001


class Checks:
    def __init__(self):
        self.rows = []

    def add(self, name, passed, detail):
        self.rows.append({"check": name, "passed": bool(passed), "detail": detail})
        print(f"{name:<14} {'pass' if passed else 'FAIL'}  {detail}", flush=True)

    def failed(self):
        return [row for row in self.rows if not row["passed"]]


def ridgeline_json(ridgeline, *arguments):
    done = subprocess.run([ridgeline, *arguments, "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"capture_checks: {' '.join(arguments)} exited {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def check_records(db, checks):
    for row in db.execute("SELECT * FROM completeness"):
        good = (row["launches_seen"] == row["kernel_records"] and row["dropped_records"] == 0
                and row["lost_spool_records"] == 0 and row["zero_timestamps"] == 0 and row["truncated_bytes"] == 0)
        checks.add("records", good, f"launches seen {row['launches_seen']}, kernel records {row['kernel_records']}, "
                   f"profiler's own {row['profiler_records']}, dropped {row['dropped_records']}, "
                   f"lost {row['lost_spool_records']}, without time {row['zero_timestamps']}")


def median_step(db):
    steps = db.execute("SELECT * FROM v_step WHERE phase = 'timeline' AND status = 'ok' ORDER BY duration_ns").fetchall()
    if not steps:
        sys.exit("capture_checks: the capture has no timeline step")
    return steps[(len(steps) - 1) // 2], steps


def check_accounting(db, step, checks):
    begin, end = step["gpu_start_ns"], step["gpu_start_ns"] + step["duration_ns"]
    work = db.execute("""SELECT start_ns, end_ns FROM launch WHERE end_ns > ?1 AND start_ns < ?2
                         UNION ALL SELECT start_ns, end_ns FROM memcpy WHERE end_ns > ?1 AND start_ns < ?2
                         UNION ALL SELECT start_ns, end_ns FROM memset WHERE end_ns > ?1 AND start_ns < ?2
                         ORDER BY 1""", (begin, end)).fetchall()
    busy, gaps, at = 0, 0, begin
    for start, stop in work:
        start, stop = max(start, begin), min(stop, end)
        if start > at:
            gaps += start - at
        if stop > at:
            busy += stop - max(start, at)
            at = stop
    gaps += end - at
    # Against the step's length as the host saw it: the period of the steps' NVTX ranges.
    hosts = [r[0] for r in db.execute("SELECT host_start_ns FROM step WHERE phase = 'timeline' ORDER BY step_index")]
    host_ms = statistics.median(b - a for a, b in zip(hosts, hosts[1:])) / 1e6
    gpu_ms = step["duration_ns"] / 1e6
    sums = abs(busy + gaps - step["duration_ns"]) <= STEP_TOLERANCE * step["duration_ns"]
    agrees = abs(gpu_ms / host_ms - 1) <= STEP_TOLERANCE
    checks.add("accounting", sums and agrees, f"GPU busy {busy / 1e6:.3f} ms + gaps {gaps / 1e6:.3f} ms = {(busy + gaps) / 1e6:.3f} ms; "
               f"step {gpu_ms:.3f} ms on the GPU, {host_ms:.3f} ms between step ranges on the host")


def check_values(ridgeline, capture, checks):
    ranking = ridgeline_json(ridgeline, "rank", capture, "--by", "launch", "--top", "0")
    rows = ranking["rows"]
    measured = [r for r in rows if r.get("dram") is not None and r.get("compute") is not None]
    stated = [r for r in rows if (r.get("dram") is None or r.get("compute") is None) and r.get("reason")]
    silent = len(rows) - len(measured) - len(stated)
    timed = sum(1 for r in rows if r["time_ns"] > 0)
    checks.add("values", rows and silent == 0 and timed == len(rows),
               f"{len(rows)} launches in the median step: {timed} with a duration, {len(measured)} with DRAM and compute "
               f"utilisation, {len(stated)} with a stated reason, {silent} without either")


def check_gemm(db, checks):
    """Tensor operations counted in one range against the operations the range declares."""
    metric = "n.name LIKE 'sm__ops_path_tensor_src_%dst_fp32.sum'"
    rows = db.execute(f"""
        SELECT a.name AS op, a.flops AS declared, sum(m.value) AS counted, count(DISTINCT l.id) AS launches
        FROM annotation a
        JOIN nvtx_range r ON r.id = a.nvtx_range_id
        JOIN launch l ON l.process_id = r.process_id AND l.thread_id = r.thread_id
                     AND l.host_start_ns BETWEEN r.start_ns AND r.end_ns
        JOIN kernel k ON k.id = l.kernel_id
        JOIN launch_metric m ON m.launch_id = l.id AND m.tier = 'T2'
        JOIN metric n ON n.id = m.metric_id
        WHERE a.name LIKE 'matmul%' AND {metric}
        GROUP BY a.id""").fetchall()
    if not rows:
        checks.add("gemm-ops", False, "no matrix product has both declared operations and a tensor counter")
        return
    errors = [(abs(r["counted"] / r["declared"] - 1), r) for r in rows if r["declared"]]
    worst_error, worst = max(errors, key=lambda e: e[0])
    good = all(error <= GEMM_TOLERANCE for error, _ in errors)
    checks.add("gemm-ops", good, f"{len(errors)} matrix products counted: largest difference from 2MNK "
               f"{worst_error * 100:.4f} % ({worst['op']}: counted {worst['counted']:.6g}, declared {worst['declared']:.6g})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--json")
    options = parser.parse_args()
    db = sqlite3.connect(f"file:{options.capture}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    checks = Checks()
    check_records(db, checks)
    step, _ = median_step(db)
    check_values(options.ridgeline, options.capture, checks)
    check_accounting(db, step, checks)
    check_gemm(db, checks)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(checks.rows, file, indent=1)
    sys.exit(1 if checks.failed() else 0)


if __name__ == "__main__":
    main()
