#!/usr/bin/env python3
"""Values of T1, T2 and Nsight Compute side by side, for every kernel of a step that takes 20 us and more.

usage: crosscheck.py CAPTURE [--ncu-csv FILE] [--json FILE]        the table and its verdicts
       crosscheck.py CAPTURE --print-filter [--in-steps]           print "SKIP COUNT": the launches ncu should take, of
                                                                   the program or of its step ranges

Reads the capture's tables, apart from the program's own analysis. A row is a kernel with one grid: its launches of a step
taken together. FILE is ncu's CSV of as many launches as a step has (see ncu.py). Verdicts:
  bytes     DRAM bytes of T2 within 2 % of ncu's
  T1-T2     DRAM utilisation of T1 (its own step's durations) within 3 points of T2's (timeline durations), same peak
  T1-cover  kernel time of the sampled steps with a T1 value and its error: at least 95 %
  T2-cover  kernel time of the timeline's step with a T2 value: 100 %
"""
import argparse
import math
import statistics

import ncu
from common import Checks, kernel_base, open_capture

MIN_NS = 20_000
MOST_BYTES_DIFFERENCE = 0.02
MOST_POINTS = 3.0
LEAST_T1_COVERAGE = 0.95
STEADY_STEP = 3  # the timeline step whose launches ncu should take

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"


def usual_launches(db):
    counts = [row[0] for row in db.execute("SELECT launches FROM v_step WHERE phase = 'timeline' AND status = 'ok'")]
    if not counts:
        raise SystemExit("crosscheck: the capture has no timeline step")
    return statistics.mode(counts)


def launch_filter(db, in_steps):
    """Kernel launches before timeline step STEADY_STEP of the process, and launches of a step."""
    if in_steps:
        return STEADY_STEP * usual_launches(db), usual_launches(db)
    step = db.execute("SELECT process_id, host_start_ns FROM step WHERE phase = 'timeline' AND status = 'ok' ORDER BY step_index "
                      "LIMIT 1 OFFSET ?", (STEADY_STEP,)).fetchone()
    if step is None:
        raise SystemExit("crosscheck: the capture has too few timeline steps")
    before = db.execute("SELECT count(*) FROM launch WHERE process_id = ? AND host_start_ns < ?", tuple(step)).fetchone()[0]
    return before, usual_launches(db)


class Launch:
    """One place in the step: medians over timeline steps, means over replay and sampled steps."""

    def __init__(self):
        self.t0_ns, self.t1_ns = [], []
        self.t2 = {READ: [], WRITE: []}
        self.t1 = {READ: [], WRITE: []}
        self.t1_error = {READ: [], WRITE: []}

    def ns(self):
        return statistics.median(self.t0_ns)

    def t2_bytes(self):
        return sum(statistics.fmean(v) for v in self.t2.values()) if all(self.t2.values()) else None

    def t1_bytes(self):
        return sum(statistics.fmean(v) for v in self.t1.values()) if all(self.t1.values()) else None

    def t1_bytes_error(self):
        return math.hypot(*(statistics.fmean(v) for v in self.t1_error.values())) if all(self.t1_error.values()) else None


def step_of(db):
    """{(ordinal, kernel, grid): Launch} of the steps that have the usual number of launches."""
    usual, places = usual_launches(db), {}
    columns = "v.launch_id, v.ordinal_in_step o, v.kernel k, v.grid_x || 'x' || v.grid_y || 'x' || v.grid_z g, v.duration_ns d"
    good = "JOIN step s ON s.step_index = v.step_index AND s.process_id = v.process_id AND s.status = 'ok'"
    for row in db.execute(f"SELECT {columns} FROM v_launch v {good} JOIN v_step w ON w.step_id = s.id WHERE v.phase = 'timeline' "
                          "AND w.launches = ? AND v.duration_ns IS NOT NULL", (usual,)):
        places.setdefault((row["o"], row["k"], row["g"]), Launch()).t0_ns.append(row["d"])
    for row in db.execute(f"SELECT {columns}, n.name m, t.tier, t.value, t.error FROM launch_metric t JOIN v_launch v ON "
                          "v.launch_id = t.launch_id JOIN metric n ON n.id = t.metric_id "
                          f"{good} WHERE n.name IN (?, ?) AND t.tier IN ('T1', 'T2')", (READ, WRITE)):
        place = places.get((row["o"], row["k"], row["g"]))
        if place is None:
            continue
        if row["tier"] == "T2":
            place.t2[row["m"]].append(row["value"])
            continue
        place.t1[row["m"]].append(row["value"])
        if row["error"] is not None:
            place.t1_error[row["m"]].append(row["error"])
        if row["m"] == READ and row["d"]:
            place.t1_ns.append(row["d"])
    return places


def dram_peak(db):
    row = db.execute("SELECT value FROM device_peak WHERE quantity = 'dram_bytes_per_s' ORDER BY source = 'spec' DESC LIMIT 1").fetchone()
    return row[0] if row else None


def table_of(places, peak, ncu_rows):
    """Rows a kernel and grid, longest first. Utilisation in percent of the peak."""
    groups = {}
    for key, launch in places.items():
        groups.setdefault(key[1:], []).append((key[0], launch))
    rows = []
    for (kernel, grid), members in groups.items():
        ns = sum(launch.ns() for _, launch in members)
        if ns / len(members) < MIN_NS:
            continue
        row = {"kernel": kernel, "grid": grid, "launches": len(members), "t0_ns": ns}
        if all(launch.t2_bytes() is not None for _, launch in members):
            row["t2_bytes"] = sum(launch.t2_bytes() for _, launch in members)
            row["t2_percent"] = 100 * row["t2_bytes"] / (ns * 1e-9) / peak
        sampled = [launch for _, launch in members if launch.t1_bytes() is not None and launch.t1_ns]
        if len(sampled) == len(members):
            t1_ns = sum(statistics.fmean(launch.t1_ns) for launch in sampled)
            row["t1_percent"] = 100 * sum(launch.t1_bytes() for launch in sampled) / (t1_ns * 1e-9) / peak
            errors = [launch.t1_bytes_error() for launch in sampled]
            if all(e is not None for e in errors):
                row["t1_error_points"] = 100 * math.sqrt(sum(e * e for e in errors)) / (t1_ns * 1e-9) / peak
        if ncu_rows and all(ordinal in ncu_rows for ordinal, _ in members):
            row["ncu_bytes"] = sum(ncu_rows[o]["read"] + ncu_rows[o]["write"] for o, _ in members)
            row["ncu_ns"] = sum(ncu_rows[o]["ns"] for o, _ in members)
        if "ncu_bytes" in row and "t2_bytes" in row and row["ncu_bytes"] > 0:
            row["bytes_difference"] = row["t2_bytes"] / row["ncu_bytes"] - 1
        if "t1_percent" in row and "t2_percent" in row:
            row["points"] = row["t1_percent"] - row["t2_percent"]
        rows.append(row)
    return sorted(rows, key=lambda row: -row["t0_ns"])


def print_table(rows):
    def cell(row, key, scale, form):
        return format(row[key] * scale, form) if key in row else "-".rjust(int(form.split(".")[0].lstrip("+")))

    print(f"{'kernel':<44} {'n':>4} {'us each':>9} {'T2 MB':>10} {'ncu MB':>10} {'diff %':>7} {'T1 DRAM%':>9} {'+-':>5} {'T2 DRAM%':>9} {'points':>7}")
    for row in rows:
        print(f"{kernel_base(row['kernel'])[:44]:<44} {row['launches']:>4} {row['t0_ns'] / row['launches'] / 1e3:9.1f} "
              f"{cell(row, 't2_bytes', 1e-6, '10.2f')} {cell(row, 'ncu_bytes', 1e-6, '10.2f')} {cell(row, 'bytes_difference', 100, '+7.2f')} "
              f"{cell(row, 't1_percent', 1, '9.2f')} {cell(row, 't1_error_points', 1, '5.2f')} {cell(row, 't2_percent', 1, '9.2f')} "
              f"{cell(row, 'points', 1, '+7.2f')}")
    print()


def t1_coverage(db, peak):
    """(kernel ns, ns with a value and an error, time-weighted mean error in points of DRAM utilisation) of sampled steps."""
    rows = db.execute("""
        WITH value AS MATERIALIZED (
          SELECT t.launch_id, t.error FROM launch_metric t JOIN metric n ON n.id = t.metric_id WHERE t.tier = 'T1' AND n.name = ?),
        sampled AS (SELECT DISTINCT l.step_id FROM launch l JOIN value v ON v.launch_id = l.id WHERE l.step_id IS NOT NULL)
        SELECT l.end_ns - l.start_ns AS ns, v.error AS error FROM launch l JOIN sampled s ON s.step_id = l.step_id
        LEFT JOIN value v ON v.launch_id = l.id WHERE l.end_ns > l.start_ns""", (READ,)).fetchall()
    total = sum(row["ns"] for row in rows)
    covered = sum(row["ns"] for row in rows if row["error"] is not None)
    points = sum(100 * row["error"] / peak * 1e9 for row in rows if row["error"] is not None)
    return total, covered, points / covered if covered else None


def compare(checks, rows, key, most, scale, unit, what):
    """One verdict over all rows: each has the difference, and none is above the limit."""
    compared = [row for row in rows if key in row]
    if not compared:
        checks.add(what, False, f"{len(rows)} kernels of {MIN_NS // 1000} us and more, none could be compared")
        return
    worst = max(compared, key=lambda row: abs(row[key]))
    beyond = [row for row in compared if abs(row[key]) > most]
    time = sum(row["t0_ns"] for row in rows)
    share = 100 * sum(row["t0_ns"] for row in compared if abs(row[key]) <= most) / time
    checks.add(what, not beyond and len(compared) == len(rows),
               f"{len(compared)} of {len(rows)} kernels of {MIN_NS // 1000} us and more compared, {len(compared) - len(beyond)} within "
               f"{most * scale:g} {unit} ({share:.1f} % of their time); worst {worst[key] * scale:+.2f} ({kernel_base(worst['kernel'])[:44]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--ncu-csv")
    parser.add_argument("--print-filter", action="store_true")
    parser.add_argument("--in-steps", action="store_true", help="ncu will count launches in step ranges only")
    parser.add_argument("--json")
    options = parser.parse_args()
    db = open_capture(options.capture)
    if options.print_filter:
        print(*launch_filter(db, options.in_steps))
        return
    checks = Checks(options.json)
    places, peak = step_of(db), dram_peak(db)
    if not places or not peak:
        raise SystemExit("crosscheck: no launches in usual timeline steps, or no peak of DRAM")
    ncu_rows, matched = {}, 0
    if options.ncu_csv:
        ordered = sorted(places)
        names = [key[1] for key in ordered]
        if [key[0] for key in ordered] != list(range(len(ordered))):
            raise SystemExit("crosscheck: the places of the step are not numbered 0, 1, 2 ...: several grids at one place")
        ncu_rows, matched = ncu.align(names, ncu.read(options.ncu_csv))
    rows = table_of(places, peak, ncu_rows)
    print_table(rows)
    if options.ncu_csv:
        checks.add("ncu-match", matched >= 0.99 * len(places), f"{matched} of {len(places)} launches of the step found in ncu's rows by order and name")
        compare(checks, rows, "bytes_difference", MOST_BYTES_DIFFERENCE, 100, "%", "bytes")
    compare(checks, rows, "points", MOST_POINTS, 1, "points", "T1-T2")
    total, covered, error = t1_coverage(db, peak)
    checks.add("T1-cover", total and covered >= LEAST_T1_COVERAGE * total,
               f"{100 * covered / total:.2f} % of the sampled steps' kernel time has a T1 value, mean error {error:.2f} points of DRAM utilisation"
               if covered else "no launch has a T1 value with an error")
    time = sum(launch.ns() for launch in places.values())
    measured = sum(launch.ns() for launch in places.values() if launch.t2_bytes() is not None)
    checks.add("T2-cover", measured == time, f"{100 * measured / time:.2f} % of the step's kernel time has a T2 value")
    checks.finish(kernels=rows, launches=len(places))


if __name__ == "__main__":
    main()
