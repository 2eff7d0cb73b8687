"""Compiled PyTorch, which may recompile for new shapes or capture graphs in mid-run, on numbers that every algorithm computes alike: prints
what it computed, to the bit."""
import sys

import torch

from loop import count, steps

MODE = sys.argv[2] if len(sys.argv) > 2 else "compiled"
SHAPES = 4


def advance(x, salt):
    """Whole numbers below 2^24 only where floats add them up, so that no order of summing and no kind of product shows."""
    small = (x & 3).float()
    product = small @ small.T
    rows = product.sum(1, keepdim=True)
    return x * 1103515245 + product[:, : x.shape[1]].int() + rows.int() + salt


call = torch.compile(advance, dynamic=False, mode="reduce-overhead" if MODE == "reduce-overhead" else None)
total = count(1500)
# Square, so that the product has the shape of x. With MODE recompile a part of it is worked on, another in each quarter of the run.
x = torch.arange(512 * 512, device="cuda", dtype=torch.int32).reshape(512, 512)
salts = torch.arange(16, device="cuda", dtype=torch.int32)
with torch.no_grad():
    for i in steps(total, done=torch.cuda.synchronize):
        side = 512 - 64 * (SHAPES * i // total) if MODE == "recompile" else 512
        torch.compiler.cudagraph_mark_step_begin()
        part = call(x[:side, :side].contiguous(), salts[i % 16])
        x[:side, :side] = part
print("result", int((x.long() * torch.arange(1, x.numel() + 1, device="cuda").reshape(x.shape)).sum()))
