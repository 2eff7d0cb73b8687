#!/usr/bin/env python3
"""Holds a capture of the bundled trainer to what a recording promises.

usage: capture_checks.py CAPTURE --ridgeline RIDGELINE [--json FILE]

Reads the capture's tables directly and computes each figure again, apart from the program's own analysis:
  records       launches seen by the launch calls = kernel records received, none dropped, none without a time
  values        every launch of the median timeline step has a duration, and DRAM and compute utilisation or a reason
  accounting    union of GPU work + gaps = step time; the program's own accounting agrees
  gemm-ops      tensor operations of each matrix product = 2 M N K as the program declares it, or that in whole tiles and
                slices of K
  tensor-pipe   the tensor pipe's utilisation that `rank` prints = counted operations / (SMs x the pipe's peak a cycle x the
                row's SM clock x its time): what a reader works out from one row
  tokens        tokens a step as `rank` has them from the program's declaration = B * T of the command, and the rate is that ÷ step
  bytes         DRAM bytes of kernels that stream more than L2 holds many times over = what the program declares, within what
                L2 can have kept from before or keep for later
Prints one line a check: name, pass or FAIL, figures. Exits 1 if any failed.
"""
import argparse
import json
import math
import re
import sqlite3
import statistics
import subprocess
import sys

from common import Checks

STEP_TOLERANCE = 0.01
GEMM_TOLERANCE = 0.001
MOST_SLICES = 64  # of K
PIPE_TOLERANCE = 0.005  # of the median product; pipe and operations are counted in different replay steps
SHORTEST_PRODUCT_NS = 50_000
TENSOR_OPS_PER_CYCLE = {"9.0": 4096}  # BF16 dense, a cycle and SM; the data sheet's 989.4 TFLOP/s = 132 SMs x 4096 x 1.83 GHz
TOKENS_SINCE_SCHEMA = 7
STREAMS = 20  # times L2: a kernel whose declared bytes are fewer may find too much of them in the cache


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
    work = db.execute("""SELECT start_ns, end_ns FROM launch WHERE end_ns > :begin AND start_ns < :end
                         UNION ALL SELECT start_ns, end_ns FROM memcpy WHERE end_ns > :begin AND start_ns < :end
                         UNION ALL SELECT start_ns, end_ns FROM memset WHERE end_ns > :begin AND start_ns < :end
                         ORDER BY 1""", {"begin": begin, "end": end}).fetchall()
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
    ranking = ridgeline_json(ridgeline, "rank", capture, "--by", "launch")
    rows = ranking["rows"]

    def known(row):
        return row.get("dram_utilisation_ratio") is not None and row.get("compute_utilisation_ratio") is not None

    measured = [r for r in rows if known(r)]
    stated = [r for r in rows if not known(r) and r.get("reason")]
    silent = len(rows) - len(measured) - len(stated)
    timed = sum(1 for r in rows if r["time_ns"] > 0)
    checks.add("values", rows and silent == 0 and timed == len(rows),
               f"{len(rows)} launches in the median step: {timed} with a duration, {len(measured)} with DRAM and compute "
               f"utilisation, {len(stated)} with a stated reason, {silent} without either")


def tile_of(kernel):
    """What a kernel's name says of its tile: rows, columns, depth, and the two sides of a cluster; None if nothing.

    nvjet_..._128x64_64x5_2x1_... works in clusters of 2x1 tiles of 128x64, 64 deep in K; either side may lie along the rows.
    cutlass_80_..._128x256_32x3_nt_... and ampere_..._128x128_ldg8_stages_32x5_nt know no clusters.
    """
    tile = re.search(r"_(\d+)x(\d+)_(?:\w*?stages_)?(\d+)x\d+(?:_(\d+)x(\d+))?_", kernel)
    return tuple(int(part or 1) for part in tile.groups()) if tile else None


def padded_ratios(kernel, outputs):
    """What whole tiles and clusters make of an output (rows, columns): (operations done over those asked for, tiles, output)."""
    tile = tile_of(kernel)
    if not tile:
        return []
    high, wide, _, cluster_high, cluster_wide = tile
    out = []
    for rows, columns in outputs:
        for x, y in ((high * cluster_high, wide * cluster_wide), (wide * cluster_wide, high * cluster_high)):
            down, across = math.ceil(rows / x), math.ceil(columns / y)
            out.append((down * x * across * y / (rows * columns), down * across * cluster_high * cluster_wide, (rows, columns)))
    return out


def sliced_ratios(kernel, outputs, declared, grid, multiprocessors):
    """What slices of K (split-K) make of it beside the tiles: each slice is rounded up to the tile's depth.

    A grid of more than one layer has a layer a slice. Another that is smaller than the chip has a block for each tile of each
    slice, which gives their number. A larger product's grid only fills the chip: then any number of slices up to MOST_SLICES
    may be it, with which there is work for every block.
    """
    tile, out = tile_of(kernel), []
    blocks = math.prod(grid)
    for padding, tiles, (rows, columns) in padded_ratios(kernel, outputs):
        steps = math.ceil(declared / (2 * rows * columns) / tile[2])
        full = blocks + tile[3] * tile[4] > multiprocessors
        for slices in range(2, MOST_SLICES + 1):
            if slices == grid[2] if grid[2] > 1 else slices * tiles == blocks or (full and slices * tiles > blocks):
                out.append(padding * slices * math.ceil(steps / slices) / steps)
    return out


def judge_product(declared, kernels, widths, channels, tokens, multiprocessors):
    """'exact', 'padded', 'sliced' or 'wrong' of one product, its ratio, and the kernel that does it.

    kernels: (name, operations, grid) of the launches in its range. A split product has a second one that adds up
    the slices.
    """
    kernel, _, grid = max(kernels, key=lambda each: each[1])
    ratio = sum(each[1] for each in kernels) / declared
    outputs = [(tokens, w) for w in widths] + [(channels, w) for w in widths]
    outputs = [(m, n) for m, n in outputs if declared % (2 * m * n) == 0]

    def explained(ratios):
        return any(abs(ratio / expected - 1) <= GEMM_TOLERANCE for expected in ratios)

    if explained([1]):
        return "exact", ratio, kernel
    if explained(expected for expected, _, _ in padded_ratios(kernel, outputs)):
        return "padded", ratio, kernel
    split = any("splitk" in name.lower() for name, _, _ in kernels)
    if split and explained(sliced_ratios(kernel, outputs, declared, grid, multiprocessors)):
        return "sliced", ratio, kernel
    return "wrong", ratio, kernel


def check_gemm(db, channels, tokens, vocabulary, checks):
    """Tensor operations counted in one range against the 2MNK that the range declares.

    Operations are counted where they are done, so a product whose output is no whole number of tiles counts its padding
    too, and one whose K is split that of each slice. Such a product passes only if the surplus is what the tile and cluster
    in its kernel's name, and a number of slices that fits its grid, make of its shape.
    """
    # Both sides are narrowed to the steps that counted these operations before they meet.
    rows = db.execute("""
        WITH counted AS MATERIALIZED (
          SELECT l.id, l.process_id, l.thread_id, l.host_start_ns, l.step_id, l.grid_x, l.grid_y, l.grid_z,
                 k.demangled_name, m.value
          FROM launch_metric m
          JOIN metric n ON n.id = m.metric_id AND n.name = 'sm__ops_path_tensor_src_bf16_dst_fp32.sum'
          JOIN launch l ON l.id = m.launch_id
          JOIN kernel k ON k.id = l.kernel_id AND k.class = 'gemm'
          WHERE m.tier = 'T2'),
        declared AS MATERIALIZED (
          SELECT a.nvtx_range_id AS id, name.value AS op, a.flops, r.process_id, r.thread_id, r.step_id, r.start_ns, r.end_ns
          FROM annotation a
          JOIN nvtx_range r ON r.id = a.nvtx_range_id
          JOIN string name ON name.id = r.name_id
          WHERE name.value LIKE 'matmul%' AND a.flops > 0 AND r.step_id IN (SELECT step_id FROM counted))
        SELECT d.id, d.op, d.flops AS declared, c.value AS counted, c.demangled_name AS kernel, c.grid_x, c.grid_y, c.grid_z
        FROM declared d
        JOIN counted c ON c.process_id = d.process_id AND c.thread_id = d.thread_id AND c.step_id = d.step_id
                      AND c.host_start_ns BETWEEN d.start_ns AND d.end_ns""").fetchall()
    multiprocessors = db.execute("SELECT max(sm_count) FROM device").fetchone()[0]
    products, found = {}, {"exact": [], "padded": [], "sliced": [], "wrong": []}
    for row in rows:
        _, _, kernels = products.setdefault(row["id"], (row["op"], row["declared"], []))
        kernels.append((row["kernel"], row["counted"], (row["grid_x"], row["grid_y"], row["grid_z"])))
    products = {key: product for key, product in products.items() if max(each[1] for each in product[2]) > 0}
    widths = [channels, 3 * channels, 4 * channels, vocabulary]
    for op, declared, kernels in products.values():
        kind, ratio, kernel = judge_product(declared, kernels, widths, channels, tokens, multiprocessors)
        found[kind].append((ratio, op, kernel[:44]))
    detail = f"{len(products)} matrix products counted: {len(found['exact'])} do 2MNK operations within {GEMM_TOLERANCE * 100:g} %"
    for kind, said in (("padded", "pad to whole tiles as their names say"), ("sliced", "round slices of K up as well")):
        if found[kind]:
            ratio, _, kernel = max(found[kind])
            detail += f", {len(found[kind])} {said} (most: {ratio:.4f} x 2MNK, {kernel})"
    if found["wrong"]:
        ratio, op, kernel = max(found["wrong"], key=lambda w: abs(w[0] - 1))
        detail += f", {len(found['wrong'])} are unexplained (worst: {ratio:.4f} x 2MNK, {op}, {kernel})"
    checks.add("gemm-ops", found["exact"] and not found["wrong"], detail)


def check_tensor_pipe(db, launches, checks):
    device = db.execute("SELECT sm_count, compute_capability FROM device").fetchone()
    per_cycle = TENSOR_OPS_PER_CYCLE.get(device["compute_capability"])
    if per_cycle is None:
        checks.add("tensor-pipe", True, f"not judged: the operations a cycle of compute capability {device['compute_capability']} are not known here")
        return
    ratios = []
    for row in launches:
        printed = row.get("tensor_t2_utilisation_ratio")
        if row["time_ns"] >= SHORTEST_PRODUCT_NS and printed and row.get("tensor_ops") and row.get("sm_clock_hz"):
            cycles = row["sm_clock_hz"] * row["time_ns"] / 1e9
            ratios.append(printed / (row["tensor_ops"] / (device["sm_count"] * per_cycle * cycles)))
    ratios.sort()
    if not ratios:
        checks.add("tensor-pipe", False, "no launch on the tensor pipe")
        return
    median, edge = statistics.median(ratios), len(ratios) // 20
    checks.add("tensor-pipe", abs(median - 1) <= PIPE_TOLERANCE,
               f"{len(ratios)} launches on the tensor pipe: printed / (operations / (SMs x {per_cycle} x clock x time)) = {median:.4f} in the "
               f"median, {ratios[edge]:.4f} to {ratios[-1 - edge]:.4f} for nine in ten")


def check_tokens(schema, throughput, step_ns, tokens, checks):
    if schema < TOKENS_SINCE_SCHEMA:
        checks.add("tokens", True, f"not judged: a capture of schema {schema} does not say how many tokens a step has")
        return
    said, rate = throughput.get("tokens"), throughput.get("tokens_per_s")
    good = said == tokens and rate and abs(rate / (tokens / (step_ns / 1e9)) - 1) <= STEP_TOLERANCE
    checks.add("tokens", good, f"{said} tokens a step ({tokens} launched), {rate or 0:.0f} a second")


def check_bytes(db, kernels, checks):
    l2 = db.execute("SELECT l2_bytes FROM device").fetchone()[0]
    found = []
    for row in kernels:
        # Kernels that work on their own in their range, and stream.
        if not row.get("declared_bytes") or row["other_kernels"] or row["compute_pipe"] == "tensor" or row["calls"] != 1:
            continue
        if row["declared_bytes"] >= STREAMS * l2:
            found.append(((row["range_dram_bytes"] - row["declared_bytes"]) / l2, row["range_dram_bytes"] / row["declared_bytes"], row["kernel"]))
    worst = max(found, key=lambda each: abs(each[0]), default=None)
    checks.add("bytes", worst is not None and abs(worst[0]) <= 1,
               f"{len(found)} kernels stream {STREAMS} x L2 or more: counted / declared {min(f[1] for f in found):.4f} to {max(f[1] for f in found):.4f}, "
               f"at most {abs(worst[0]):.2f} of L2 apart" if worst else f"no kernel declares {STREAMS} x L2")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("capture")
    parser.add_argument("--ridgeline", required=True)
    parser.add_argument("--json")
    parser.add_argument("--channels", type=int, default=768, help="of the recorded model; default: 124M's")
    parser.add_argument("--tokens", type=int, default=32 * 1024, help="of one micro-batch: B * T")
    parser.add_argument("--vocabulary", type=int, default=50304, help="padded")
    options = parser.parse_args()
    db = sqlite3.connect(f"file:{options.capture}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    checks = Checks(options.json)
    check_records(db, checks)
    step, _ = median_step(db)
    check_values(options.ridgeline, options.capture, checks)
    check_accounting(db, step, checks)
    check_gemm(db, options.channels, options.tokens, options.vocabulary, checks)
    check_tensor_pipe(db, ridgeline_json(options.ridgeline, "rank", options.capture, "--by", "launch")["rows"], checks)
    ranking = ridgeline_json(options.ridgeline, "rank", options.capture)
    check_tokens(db.execute("PRAGMA user_version").fetchone()[0], ranking["throughput"], step["duration_ns"], options.tokens, checks)
    check_bytes(db, ranking["rows"], checks)
    checks.finish()


if __name__ == "__main__":
    main()
