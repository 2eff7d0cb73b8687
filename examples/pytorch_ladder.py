#!/usr/bin/env python3
"""GPT-2 in PyTorch, written as people write it first, with a switch for each of the usual optimisations.

  ridgeline ladder examples/pytorch-ladder.toml
  python3 examples/pytorch_ladder.py --tf32 --bf16 --sdpa --fused-optimizer --compile --cuda-graphs

Without a switch: FP32 products on the FP32 pipes, attention with all scores stored, the optimizer that PyTorch takes by itself
(a launch per operation and group of tensors), every other operation a kernel of its own. It ends with one line: steps, loss, peak of memory.
"""
import argparse
import contextlib
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from pytorch_gpt2 import SIZES, VOCAB, synthetic_batch


class Block(nn.Module):
    def __init__(self, channels, heads, sdpa):
        super().__init__()
        self.heads, self.sdpa = heads, sdpa
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def attend(self, q, k, v):
        if self.sdpa:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        length = q.size(-2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        later = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
        return scores.masked_fill(later, float("-inf")).softmax(-1) @ v

    def forward(self, x):
        batch, length, channels = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(self.attend(q, k, v).transpose(1, 2).reshape(batch, length, channels))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, size, length, sdpa):
        super().__init__()
        layers, heads, channels = SIZES[size]
        self.tokens, self.positions = nn.Embedding(VOCAB, channels), nn.Embedding(length, channels)
        self.blocks = nn.ModuleList(Block(channels, heads, sdpa) for _ in range(layers))
        self.norm = nn.LayerNorm(channels)
        for p in self.parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, inputs, targets):
        x = self.tokens(inputs) + self.positions.weight[: inputs.size(1)]
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.view(-1, VOCAB).float(), targets.view(-1))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--model", choices=sorted(SIZES), default="124M")
    parser.add_argument("-B", "--batch", type=int, default=8, help="sequences of a step")
    parser.add_argument("-T", "--sequence", type=int, default=1024, help="tokens of a sequence")
    parser.add_argument("--steps", type=int, default=70)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tf32", action="store_true", help="TF32 tensor cores in FP32 products")
    parser.add_argument("--bf16", action="store_true", help="autocast to BF16")
    parser.add_argument("--sdpa", action="store_true", help="scaled_dot_product_attention instead of stored scores")
    parser.add_argument("--fused-optimizer", action="store_true", help="AdamW in one kernel")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    parser.add_argument("--cuda-graphs", action="store_true", help='with --compile: its mode "reduce-overhead"')
    options = parser.parse_args()
    if options.cuda_graphs and not options.compile:
        parser.error("--cuda-graphs needs --compile")
    if min(options.batch, options.sequence, options.steps) < 1:
        parser.error("-B, -T and --steps must be at least 1")
    return options


def main():
    options = arguments()
    if not torch.cuda.is_available():
        sys.exit("pytorch_ladder: PyTorch finds no CUDA device")
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    device = torch.device("cuda")
    model = Model(options.model, options.sequence, options.sdpa).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1,
                                  fused=True if options.fused_optimizer else None)
    step_model = torch.compile(model, mode="reduce-overhead" if options.cuda_graphs else None) if options.compile else model
    generator = torch.Generator().manual_seed(options.seed)
    loss = None
    for _ in range(options.steps):
        with torch.cuda.nvtx.range("step"):
            inputs, targets = synthetic_batch(generator, options.batch, options.sequence, device)
            with torch.autocast("cuda", dtype=torch.bfloat16) if options.bf16 else contextlib.nullcontext():
                loss = step_model(inputs, targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    print(f"{options.steps} steps, loss {loss.item():.6f}, peak {torch.cuda.max_memory_allocated() >> 20} MiB, "
          f"{torch.cuda.get_device_name(device)}, PyTorch {torch.__version__}", flush=True)


if __name__ == "__main__":
    main()
