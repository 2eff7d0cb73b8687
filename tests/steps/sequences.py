#!/usr/bin/env python3
"""Launch sequences of recorded programs as fixtures for the search for steps: keys and times, no names.

usage: sequences.py CAPTURE NAME [--steps FILE] [-o DIR] [--process N] [--most LAUNCHES] [--steady STEPS]

Writes DIR/NAME.txt.gz, which step_corpus reads: a line `steady N` (first step after the start-up), then in order of launch
  k KERNEL X Y Z   the next key, counted from 0: kernel and grid
  g GRAPH          the same: an executable graph
  KEY US [*]       a launch: its key, microseconds since the launch before (two digits); *: a step begins with it
Launches are those of the process's first context. Where steps begin is what the program itself noted in --steps (kinds/loop.py does, if
$STEP_TIMES names a file): the first launch at or after each of its moments.
"""
import argparse
import bisect
import gzip
import json
import os
import sqlite3
import sys

MOST = 40_000


def rounded(us):
    """Two digits say enough of a pause, and compress."""
    unit = 10 ** max(len(str(us)) - 2, 0)
    return (us + unit // 2) // unit * unit


def lines_of(launches, begins, steady):
    """`launches`: (key, host ns), with a key ('k', kernel, x, y, z) or ('g', graph). `begins`: positions of steps' first launches."""
    yield f"steady {steady}"
    keys, begins, at_ns = {}, set(begins), launches[0][1]
    for position, (key, ns) in enumerate(launches):
        if key not in keys:
            keys[key] = len(keys)
            yield " ".join(map(str, key))
        us = rounded(max(0, round((ns - at_ns) / 1000)))
        at_ns += 1000 * us
        yield f"{keys[key]} {us}" + (" *" if position in begins else "")


def write(path, launches, begins, steady=2):
    with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
        file.write(("\n".join(lines_of(launches, begins, steady)) + "\n").encode())


def launches_of(db, process):
    """As the agent sees them: a graph launch is one, whatever kernels it has."""
    rows = db.execute("SELECT kernel_id, grid_x, grid_y, grid_z, host_start_ns, context_id, graph_id, correlation_id FROM v_launch "
                      "WHERE process_id = ? AND host_start_ns IS NOT NULL ORDER BY host_start_ns, correlation_id", (process,))
    launches, context, graph = [], None, None
    for kernel, x, y, z, ns, in_context, graph_id, correlation in rows:
        context = in_context if context is None else context
        if in_context != context:
            continue
        if graph_id is None:
            graph = None
            launches.append((("k", kernel, x, y, z), ns))
        elif graph != (graph_id, correlation):
            graph = graph_id, correlation
            launches.append((("g", graph_id), ns))
    return launches


def positions(launches, moments_ns):
    """Of the first launches at or after these moments, once each."""
    times = [ns for _, ns in launches]
    found = sorted({bisect.bisect_left(times, moment) for moment in moments_ns})
    return [position for position in found if position < len(launches)]


def noted_steps(path):
    """Where the program says that its steps began, ns since the epoch."""
    with open(path, encoding="utf-8") as file:
        noted = json.load(file)
    return [ns - noted["monotonic_ns"] + noted["realtime_ns"] for ns in noted["begins_ns"]]


def export(capture, name, directory, steps=None, process=None, most=MOST, steady=2):
    """Returns launches and steps written; (0, 0) and no file if there are none."""
    db = sqlite3.connect(f"file:{capture}?mode=ro", uri=True)
    if process is None:
        process = db.execute("SELECT min(id) FROM process").fetchone()[0]
    launches = launches_of(db, process)
    db.close()
    begins = positions(launches, noted_steps(steps)) if steps else []
    if not launches or not begins:
        return 0, 0
    launches = launches[:most]
    begins = [position for position in begins if position < len(launches)]
    os.makedirs(directory, exist_ok=True)
    write(os.path.join(directory, name + ".txt.gz"), launches, begins, steady)
    return len(launches), len(begins)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("name")
    parser.add_argument("--steps", required=True)
    parser.add_argument("-o", "--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "sequences"))
    parser.add_argument("--process", type=int)
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--steady", type=int, default=2)
    options = parser.parse_args()
    launches, steps = export(options.capture, options.name, options.out, options.steps, options.process, options.most, options.steady)
    if not launches:
        sys.exit(f"sequences.py: {options.capture} has no launch at or after a step's begin")
    print(f"{options.name}: {launches} launches, {steps} steps")


if __name__ == "__main__":
    main()
