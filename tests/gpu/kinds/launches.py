"""PyTorch whose host is the limit: small additions one after the other, a synchronisation every thousand, which are a range "round". Prints what a launch takes.

usage: launches.py [ROUNDS [LIBRARY]]
With the library of tests/collector/gpu/parts.cpp, which CUDA has loaded, the parts of CUPTI are used in turn, round by round, and what a
launch takes is printed for each.
"""
import ctypes
import json
import statistics
import sys
import time

import torch

from loop import wait_for_turn  # noqa: F401  (waits when it is loaded)

LAUNCHES = 1000
PARTS = ("subscriber", "callback", "kernels", "kernels+callback")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 250

x = torch.zeros(1024, device="cuda")


def round_ns():
    begin = time.perf_counter()
    torch.cuda.nvtx.range_push("round")
    for _ in range(LAUNCHES):
        x.add_(1)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
    return 1e9 * (time.perf_counter() - begin) / LAUNCHES


if len(sys.argv) > 2:
    library = ctypes.CDLL(sys.argv[2])  # it is in the process already
    taken = {parts: [] for parts in PARTS}
    for i in range(ROUNDS // 3):
        round_ns()  # settles
    for i in range(ROUNDS):
        # Each turn another one begins, and its first round, in which CUPTI sets itself up, is none of it.
        for parts in PARTS[i % len(PARTS):] + PARTS[:i % len(PARTS)]:
            if not library.use_parts(parts.encode()):
                sys.exit(f"CUPTI refuses {parts}")
            round_ns()
            taken[parts].append(round_ns())
    print(json.dumps({"ns_a_launch": {parts: round(statistics.median(values), 1) for parts, values in taken.items()},
                      "above_subscriber": {parts: round(statistics.median(a - b for a, b in zip(values, taken["subscriber"])), 1)
                                           for parts, values in taken.items()}, "sum": float(x.sum())}), flush=True)
else:
    took = [round_ns() for i in range(ROUNDS)]
    print(json.dumps({"ns_a_launch": round(statistics.median(took[ROUNDS // 3:]), 1),
                      "mean_ms": round(1e-6 * LAUNCHES * statistics.mean(took[-ROUNDS // 3:]), 4), "sum": float(x.sum())}), flush=True)
