#!/usr/bin/env python3
"""Programs that no rule of advice was made on, and each remedy as a switch: one of Triton's kernels, one of CUTLASS's.

usage: held_out.py triton|cutlass [--with RULE,...] [--steps N]
       held_out.py triton|cutlass --measure RULE,... [--rounds 4]   (in_turn.py)

triton: a product of FP32 matrices in full precision, a scale and a GELU as kernels of their own, a sum over the rows by as many blocks as
columns are divided into. cutlass: attention blocks in FP32 by PyTorch's memory-efficient attention, which is CUTLASS's, forward and backward, with
a fused optimizer. A remedy goes by the name of the rule of `ridgeline advise` that asks for it.
"""
import torch
import triton
import triton.language as tl
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import in_turn
from carried_out import HELD_OUT_REMEDIES


@triton.jit
def matmul_kernel(a, b, c, M, N, K, precision: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        sums = tl.dot(left, right, sums, input_precision=precision)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def scaled(x, scale, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < count) * tl.load(scale), mask=at < count)


@triton.jit
def gelu(x, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < count)
    tl.store(out + at, value / (1 + tl.exp(-1.702 * value)), mask=at < count)


@triton.jit
def scaled_gelu(x, scale, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < count) * tl.load(scale)
    tl.store(out + at, value / (1 + tl.exp(-1.702 * value)), mask=at < count)


@triton.jit
def column_sums(x, out, rows, columns, rows_each, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.program_id(1) * rows_each
    sums = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(first, first + rows_each):
        sums += tl.load(x + row * columns + at)
    tl.atomic_add(out + at, sums)


class Triton:
    ROWS, COLUMNS, INNER = 8192, 8192, 2048

    def __init__(self, remedies):
        self.remedies = set(remedies)
        torch.manual_seed(1)
        self.x = torch.randn(self.ROWS, self.INNER, device="cuda")
        self.w = torch.randn(self.INNER, self.COLUMNS, device="cuda") / 45
        self.scale = torch.full((1,), 0.5, device="cuda")
        self.y, self.z = (torch.empty(self.ROWS, self.COLUMNS, device="cuda") for _ in range(2))
        self.sums = torch.zeros(self.COLUMNS, device="cuda")

    def step(self):
        count, block = self.y.numel(), 1024
        precision = "tf32" if "fp32-gemm" in self.remedies else "ieee"
        matmul_kernel[(self.ROWS // 64, self.COLUMNS // 64)](self.x, self.w, self.y, self.ROWS, self.COLUMNS, self.INNER, precision, 64, 64, 32)
        if "fold-elementwise" in self.remedies:
            scaled_gelu[(count // block,)](self.y, self.scale, self.y, count, block)
        else:
            scaled[(count // block,)](self.y, self.scale, self.z, count, block)
            gelu[(count // block,)](self.z, self.y, count, block)
        parts = 64 if "too-few-blocks" in self.remedies else 1
        column_sums[(self.COLUMNS // 256, parts)](self.y, self.sums, self.ROWS, self.COLUMNS, self.ROWS // parts, 256)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Cutlass:
    def __init__(self, remedies):
        self.remedies = set(remedies)
        torch.manual_seed(1)
        self.model = nn.Sequential(*[Block(768, 12) for _ in range(4)]).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.x = torch.randn(8, 1024, 768, device="cuda")

    def step(self):
        # Of the process, which measures two programs in turn.
        torch.backends.cuda.matmul.allow_tf32 = "fp32-gemm" in self.remedies
        with torch.autocast("cuda", torch.bfloat16, enabled="casts" in self.remedies):
            loss = self.model(self.x).float().square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


PROGRAMS = {"triton": Triton, "cutlass": Cutlass}


def main():
    parser = in_turn.parser_of(__doc__)
    parser.add_argument("program", choices=sorted(PROGRAMS))
    options = in_turn.options_of(parser, HELD_OUT_REMEDIES)
    in_turn.run(options, PROGRAMS[options.program], lambda _: PROGRAMS[options.program]([]), warm=8)


if __name__ == "__main__":
    main()
