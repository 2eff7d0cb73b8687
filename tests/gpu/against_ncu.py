#!/usr/bin/env python3
"""DRAM bytes and duration of a capture's kernels beside Nsight Compute's on the same kernels of the same program.

usage: against_ncu.py CAPTURE --ncu-csv FILE [--json FILE]

FILE is the output of
  ncu --clock-control none --cache-control none --nvtx --nvtx-include step/ --launch-skip SKIP --launch-count COUNT
      --metrics dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum --csv --page raw --print-units base
(`crosscheck.py CAPTURE --print-filter --in-steps` names SKIP and COUNT), so it holds one whole step; launches are matched by their order in the step and their name. Prints ten kernels, the
longest launch of each name and grid among those of 20 us and more. A difference over 5 % is marked; what explains it belongs in the results.
"""
import argparse
import json
import sqlite3
import statistics
import sys

from common import kernel_base as base
from ncu import read as read_ncu

MIN_NS = 20_000
KERNELS = 10
MARK = 0.05


def step_launches(db):
    """(ordinal, name, grid) -> median in-situ ns over the timeline steps, mean T2 values over replay steps."""
    timeline = {}
    for row in db.execute("SELECT ordinal_in_step o, kernel k, grid_x x, grid_y y, grid_z z, duration_ns d FROM v_launch "
                          "WHERE phase = 'timeline' AND duration_ns IS NOT NULL"):
        timeline.setdefault((row["o"], row["k"], (row["x"], row["y"], row["z"])), []).append(row["d"])
    values = {}
    for row in db.execute("SELECT v.ordinal_in_step o, v.kernel k, v.grid_x x, v.grid_y y, v.grid_z z, n.name m, t.value "
                          "FROM launch_metric t JOIN v_launch v ON v.launch_id = t.launch_id "
                          "JOIN metric n ON n.id = t.metric_id WHERE t.tier = 'T2' AND n.name IN "
                          "('dram__bytes_read.sum','dram__bytes_write.sum','gpu__time_duration.sum')"):
        values.setdefault((row["o"], row["k"], (row["x"], row["y"], row["z"])), {}).setdefault(row["m"], []).append(row["value"])
    return timeline, values


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--ncu-csv", required=True)
    parser.add_argument("--json")
    options = parser.parse_args()
    db = sqlite3.connect(f"file:{options.capture}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    counts = [row[0] for row in db.execute("SELECT launches FROM v_step WHERE phase = 'timeline'")]
    if not counts:
        sys.exit("against_ncu: the capture has no timeline step")
    launches = statistics.mode(counts)
    timeline, values = step_launches(db)
    ncu = read_ncu(options.ncu_csv)
    if len(ncu) != launches:
        print(f"against_ncu: ncu has {len(ncu)} launches, a step has {launches}", file=sys.stderr)
    by_kind = {}
    for key, durations in timeline.items():
        ns = statistics.median(durations)
        if ns < MIN_NS or key not in values:
            continue
        if (key[1], key[2]) not in by_kind or ns > by_kind[key[1], key[2]][0]:
            by_kind[key[1], key[2]] = (ns, key)
    chosen = sorted(by_kind.values(), reverse=True)[:KERNELS]

    table = []
    for ns, key in chosen:
        ordinal, name, _ = key
        mean = {metric: statistics.mean(series) for metric, series in values[key].items()}
        mine = mean["dram__bytes_read.sum"] + mean["dram__bytes_write.sum"]
        row = {"ordinal": ordinal, "kernel": name, "bytes": mine, "timeline_ns": ns, "replay_ns": mean["gpu__time_duration.sum"]}
        if ordinal < len(ncu) and base(ncu[ordinal]["name"]) == base(name):
            row["ncu_bytes"] = ncu[ordinal]["read"] + ncu[ordinal]["write"]
            row["ncu_ns"] = ncu[ordinal]["ns"]
            row["bytes_difference"] = mine / row["ncu_bytes"] - 1
            row["duration_difference"] = ns / row["ncu_ns"] - 1
        else:
            row["unmatched"] = ncu[ordinal]["name"] if ordinal < len(ncu) else "missing"
        table.append(row)

    print(f"{'kernel':<44} {'MB':>9} {'ncu MB':>9} {'diff':>7} {'T0 us':>8} {'T2 us':>8} {'ncu us':>8} {'diff':>7}")
    for row in table:
        head = f"{base(row['kernel'])[:44]:<44} {row['bytes'] / 1e6:9.2f} "
        if "unmatched" in row:
            print(head + f"not matched: ncu has {row['unmatched'][:30]} at this place")
            continue
        mark = " *" if max(abs(row["bytes_difference"]), abs(row["duration_difference"])) > MARK else ""
        print(head + f"{row['ncu_bytes'] / 1e6:9.2f} {row['bytes_difference'] * 100:+6.1f}% {row['timeline_ns'] / 1e3:8.1f} "
              f"{row['replay_ns'] / 1e3:8.1f} {row['ncu_ns'] / 1e3:8.1f} {row['duration_difference'] * 100:+6.1f}%{mark}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(table, file, indent=1)
    sys.exit(0 if table and not any("unmatched" in row for row in table) else 1)


if __name__ == "__main__":
    main()
