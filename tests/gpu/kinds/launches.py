"""PyTorch whose host is the limit: small additions one after the other, a synchronisation every thousand. Prints what a launch takes."""
import json
import statistics
import sys
import time

import torch

from loop import wait_for_turn  # noqa: F401  (waits when it is loaded)

LAUNCHES = 1000
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 250

x = torch.zeros(1024, device="cuda")
took = []
for i in range(ROUNDS):
    begin = time.perf_counter()
    for _ in range(LAUNCHES):
        x.add_(1)
    torch.cuda.synchronize()
    took.append(1e9 * (time.perf_counter() - begin) / LAUNCHES)
print(json.dumps({"ns_a_launch": round(statistics.median(took[ROUNDS // 3:]), 1), "sum": float(x.sum())}), flush=True)
