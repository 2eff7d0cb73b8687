"""A Triton kernel that is tuned when it first meets a size, in the middle of the run as well; prints what it computed, to the bit."""
import torch
import triton
import triton.language as tl

from loop import count, steps


# Tuning runs a configuration many times, so that the kernel must not read what it writes.
@triton.autotune([triton.Config({"block": block}, num_warps=warps) for block in (256, 512, 1024, 2048) for warps in (2, 4, 8)], key=["n"])
@triton.jit
def mix(x, out, n, salt, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    values = tl.load(x + at, mask=at < n, other=0)
    values = (values ^ salt) * 1103515245 + at
    tl.store(out + at, values, mask=at < n)


@triton.jit
def fold(x, out, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    values = tl.load(x + at, mask=at < n, other=0)
    tl.store(out + at, values ^ (values >> 7), mask=at < n)


total = count(2000)
a = torch.arange(1 << 22, device="cuda", dtype=torch.int32)
b = torch.zeros_like(a)
for i in steps(total, torch.cuda.synchronize):
    n = a.numel() >> (4 * i // total)
    for k in range(3):
        mix[lambda meta: (triton.cdiv(n, meta["block"]),)](a, b, n, i + k)
        fold[(triton.cdiv(n, 1024),)](b, a, n, 1024)
print("result", int((a.long() * torch.arange(1, a.numel() + 1, device="cuda")).sum()))
