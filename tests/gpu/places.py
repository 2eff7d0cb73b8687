#!/usr/bin/env python3
"""Five kernels whose places on the roofline are known, recorded, and the same launches by Nsight Compute.

usage: places.py --ridgeline RIDGELINE --places AGENT_PLACES [--ncu-csv FILE] [--out DIR] [--json FILE]
Rows:
  record      the recording is complete
  triad       12 bytes and 2 FLOP an element within 3 %, at 1/6 FLOP/byte and near the DRAM roof
  product     2 n^3 FLOP within 3 %, bound by the tensor pipe
  strided     whole sectors within 3 % though an eighth of them is asked for; on the rail of kernels without operations, near the roof
  chase       a sector or two a hop; on the rail, at hardly anything
  nothing     no bytes, as long as a launch takes at the least
  ncu         with --ncu-csv (a step, `ncu --cache-control none`): DRAM bytes of all five within 2 %, or 1 MB of what moves hardly any
"""
import json
import os
import re

from common import Checks, Facts, options_of, run
from ncu import read as read_ncu

CLOSE, NCU_CLOSE, HARDLY_BYTES = 0.03, 0.02, 1e6
NEAR_ROOF = (0.80, 1.03)
HARDLY_INTENSITY = 1e-3  # FLOP/byte
KERNELS = ("place_triad", "place_product", "place_strided", "place_chase", "place_nothing")


def declared(output):
    """Bytes and FLOP that each kernel must move and compute, by its name."""
    return {name: (float(size), float(flops)) for name, size, flops in re.findall(r"^(place_\w+) bytes (\d+) flops (\d+)$", output, re.MULTILINE)}


def place_of(name):
    """Which of the five a kernel is: what has none of our names is the library's product."""
    return next((kernel for kernel in KERNELS if kernel in name), "place_product")


def by_place(rows, key):
    return {place_of(row[key]): row for row in rows}


def close(value, wanted, ratio=CLOSE):
    return value is not None and abs(value - wanted) <= ratio * wanted


def judge(kernel, want, rank, roof, floor_ns):
    """Whether the kernel stands where it belongs; and in words."""
    wanted_bytes, wanted_flops = want
    moved = rank["dram_bytes"] if rank["dram_bytes"] is not None else float("nan")
    flops = roof["flops_per_s"] * roof["time_ns"] / 1e9 if roof["flops_per_s"] is not None else None
    of_roof, intensity = roof["dram_ratio"], roof["intensity_flop_per_byte"]
    near = of_roof is not None and NEAR_ROOF[0] <= of_roof <= NEAR_ROOF[1]
    right = {
        "place_triad": close(moved, wanted_bytes) and close(flops, wanted_flops) and close(intensity, 1 / 6) and near and roof["bound"] == "DRAM",
        "place_product": close(flops, wanted_flops) and str(roof["bound"]).startswith("tensor"),
        "place_strided": close(moved, wanted_bytes) and intensity is None and near and roof["bound"] == "DRAM",
        # A conversion of the block's number is a floating-point operation or two.
        "place_chase": wanted_bytes * 0.97 <= moved <= wanted_bytes * 2.2 and (intensity is None or intensity < HARDLY_INTENSITY) and of_roof is not None and of_roof <= 0.05,
        "place_nothing": (moved != moved or moved <= HARDLY_BYTES) and intensity is None and roof["time_ns"] / roof["calls"] <= 3 * floor_ns,
    }[kernel]
    return right, (f"{moved / 1e6:.3f} MB of {wanted_bytes / 1e6:.3f}, {'no' if flops is None else f'{flops / 1e9:.3f}'} GFLOP of {wanted_flops / 1e9:.3f}, "
                   f"{'on the rail' if intensity is None else f'{intensity:.4f} FLOP/byte'}, DRAM {of_roof}, bound {roof['bound']}, "
                   f"{roof['time_ns'] / 1e3:.1f} us, at its roofs {(roof['sol_ns'] or 0) / 1e3:.1f}")


def judge_ncu(rank, rows):
    """Ours beside Nsight Compute's, kernel by kernel."""
    theirs, right, texts = by_place(rows, "name"), True, []
    for kernel in KERNELS:
        if kernel not in theirs or kernel not in rank or rank[kernel]["dram_bytes"] is None:
            moves_none = kernel == "place_nothing" and kernel in theirs  # shorter than what counters are read for
            right = right and moves_none
            texts.append(f"{kernel} {'not measured by us, as it is too short' if moves_none else 'not measured by both'}")
            continue
        mine, their = rank[kernel]["dram_bytes"], theirs[kernel]["read"] + theirs[kernel]["write"]
        right = right and abs(mine - their) <= max(NCU_CLOSE * their, HARDLY_BYTES)
        texts.append(f"{kernel} {mine / 1e6:.3f} MB, ncu {their / 1e6:.3f} ({100 * (mine / their - 1) if their else 0:+.2f} %)")
    return right, "; ".join(texts)


def main():
    parser = options_of(__doc__, "ridgeline", "places")
    parser.add_argument("--ncu-csv")
    options = parser.parse_args()
    checks = Checks(options.json)
    capture = os.path.join(options.out, "places.ridge")
    # Counters of pipes do not tell a multiplication from a fused one: operations in FP32 are counted by instruction.
    done = run([options.ridgeline, "record", "--force", "-o", capture, "--schedule", "warmup=3,timeline=8,sample=4,replay=6", "--sass-flops", "--",
                options.places, "30"], timeout=120)
    if done.status != 0:
        checks.add("record", False, f"exit {done.status}: {done.tail()}")
        checks.finish()
    facts = Facts(capture)
    checks.add("record", facts.complete() and facts.problem is None, f"{facts.step_text()}; {facts.counts()}; {facts.tier_text()}")
    documents = {}
    for verb in ("rank", "roofline"):
        said = run([options.ridgeline, verb, capture, "--format", "json"], timeout=60)
        if said.status != 0:
            checks.add(verb, False, f"exit {said.status}: {said.tail()}")
            checks.finish()
        documents[verb] = json.loads(said.out)
    run([options.ridgeline, "roofline", capture, "-o", os.path.join(options.out, "places.svg")])
    rank, roofs = by_place(documents["rank"]["rows"], "kernel"), by_place(documents["roofline"]["rows"], "kernel")
    for kernel, want in declared(done.out).items():
        if kernel not in rank or kernel not in roofs:
            checks.add(kernel.removeprefix("place_"), False, "not in the ranking or not on the roofline")
            continue
        checks.add(kernel.removeprefix("place_"), *judge(kernel, want, rank[kernel], roofs[kernel], documents["roofline"]["roofline"]["launch_floor_ns"]))
    if options.ncu_csv:
        checks.add("ncu", *judge_ncu(rank, read_ncu(options.ncu_csv)))
    checks.finish(ranking=documents["rank"]["rows"], points=documents["roofline"]["rows"])


if __name__ == "__main__":
    main()
